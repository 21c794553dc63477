"""The systems of the paper's Table 1, side by side, with this project's methods and references.

``METHODS`` maps names to :class:`~paper.baselines.method.Method` records, in the order of the table
(``table:related_work``), then ours, then the references.
"""

from __future__ import annotations

from paper.baselines import (
    benvenuti2024,
    benvenuti2025,
    cummings2015,
    dvorkin2020,
    hsu2014,
    munoz2021,
    ours,
    references,
)
from paper.baselines.method import Answer, Method

METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        hsu2014.METHOD,
        cummings2015.METHOD,
        dvorkin2020.METHOD,
        munoz2021.METHOD,
        benvenuti2024.METHOD,
        benvenuti2025.METHOD,
        ours.DATABASE,
        ours.PLANNED,
        ours.TOTALS,
        references.ROBUST,
        references.NONPRIVATE,
        references.LAPLACE,
        references.SUP_A,
    )
}

__all__ = ["METHODS", "Answer", "Method"]
