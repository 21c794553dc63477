"""The studies: ``STUDIES`` maps the name of each to its :class:`~paper.study.Study`."""

from __future__ import annotations

from paper.studies import (
    auctions,
    bounds,
    cost_of_privacy,
    episode_costs,
    hsu_cmdp,
    mean_shift,
    munoz_ads,
    safe_rl,
    scale,
    strategy,
    table1,
)
from paper.study import Study

_others = (
    cost_of_privacy, hsu_cmdp, table1, munoz_ads, mean_shift, bounds, scale, strategy,
    episode_costs, safe_rl,
)  # fmt: skip
STUDIES: dict[str, Study] = {
    study.name: study for study in (*auctions.STUDIES, *(module.STUDY for module in _others))
}
