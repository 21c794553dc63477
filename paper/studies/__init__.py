"""The studies: ``STUDIES`` maps the name of each to its :class:`~paper.study.Study`."""

from __future__ import annotations

from paper.studies import (
    ad_budget,
    ad_epsilon,
    ad_headline,
    ad_size,
    bounds,
    cost_of_privacy,
    hsu_cmdp,
    mean_shift,
    munoz_ads,
    scale,
    table1,
)
from paper.study import Study

STUDIES: dict[str, Study] = {
    module.STUDY.name: module.STUDY
    for module in (
        ad_headline,
        ad_epsilon,
        ad_size,
        ad_budget,
        cost_of_privacy,
        hsu_cmdp,
        table1,
        munoz_ads,
        mean_shift,
        bounds,
        scale,
    )
}
