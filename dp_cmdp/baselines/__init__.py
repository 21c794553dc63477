"""The systems of the paper's Table 1, side by side, with this project's methods and references.

``METHODS`` maps names to :class:`~dp_cmdp.baselines.parts.method.Method` records, in the order of
the table (``table:related_work``), then ours, then the references.
"""

from __future__ import annotations

from dp_cmdp.baselines import (
    benvenuti2024,
    benvenuti2025,
    cummings2015,
    database_release,
    dvorkin2020,
    hsu2014,
    laplace,
    munoz2021,
    nonprivate,
    planned,
    robust,
    sup_A_exact_c,
    totals,
)
from dp_cmdp.baselines.parts.method import Answer, Method

METHODS: dict[str, Method] = {
    module.METHOD.name: module.METHOD
    for module in (
        hsu2014,
        cummings2015,
        dvorkin2020,
        munoz2021,
        benvenuti2024,
        benvenuti2025,
        database_release,
        planned,
        totals,
        robust,
        nonprivate,
        laplace,
        sup_A_exact_c,
    )
}

__all__ = ["METHODS", "Answer", "Method"]
