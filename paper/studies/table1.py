"""The paper's Table 1 with a measurement under every tick.

All systems answer the same ad auctions (10 groups, 5 advertisers, private prices and budgets) at
ε = 1, δ = 0.1. What each protects is not taken from its word but from the records of
:mod:`.exposure`; whether it satisfies the constraints is counted exactly, row by row, draw by draw.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from paper.runner import Row, Sweep
from paper.studies import exposure
from paper.studies.comparison import auction_setting, comparison_rows, draw_auction, variant
from paper.studies.exposure import HIDDEN
from paper.study import Study

#: The ticks of the paper's table: private blocks, and whether the constraints are satisfied.
PAPER_TICKS: dict[str, tuple[str, bool]] = {
    "hsu2014": ("Abc", False),
    "cummings2015": ("Abc", False),
    "dvorkin2020": ("b", False),
    "munoz2021": ("b", True),
    "benvenuti2024": ("A", True),
    "benvenuti2025": ("Abc", True),
}
#: The rows: the systems of the paper in its order, ours, and the references.
SYSTEMS = (
    *PAPER_TICKS,
    "benvenuti2025-realised-mask",
    "database",
    "planned",
    "totals",
    "robust",
    "nonprivate",
    "laplace",
    "laplace-unshifted",
    "sup_A_exact_c",
)
NOTE = (
    "Cummings et al. promise joint differential privacy, a weaker model: what the other players "
    "receive hides a player, the whole answer does not (players are the advertisers). 'coupled': "
    "the published numbers pass a coupling test; 'noisy': other noise, other answer, and "
    "nothing else is published; 'unread': never used; 'unprotected': read as it is; 'leaking': the "
    "coupling test objects. worst_violation is in units of the right-hand sides. A negative "
    "sub-optimality is bought with violations. seconds are medians of this run: indicative only."
)


def sweeps(draws: int, quick: bool) -> tuple[Sweep, ...]:
    settings = tuple(auction_setting(name) for name in SYSTEMS)
    return Sweep(draw_auction, settings, draws), exposure.sweep(SYSTEMS)


def table(frame: pd.DataFrame) -> list[Row]:
    """The table: what is promised, what was measured."""
    is_verdict = frame["verdict"].notna()
    shown: dict[str, dict[str, str]] = {}
    for record in frame[is_verdict].to_dict("records"):
        shown.setdefault(record["method"], {})[record["block"]] = record["verdict"]
    measured = comparison_rows(frame[~is_verdict], ("method", "case"))
    return [_row(row, shown[row["method"]]) for row in measured]


def _row(measured: Row, shown: Mapping[str, str]) -> Row:
    name = measured["method"]
    method, _ = variant(name)
    ticks = PAPER_TICKS.get(name)
    found = ("violated_percent", "worst_violation", "suboptimality_percent", "ci_low", "ci_high")
    return {
        "method": name,
        "model": "none" if "leaking" in shown.values() else method.model,
        "private": [block for block, verdict in shown.items() if verdict in HIDDEN],
        "evidence": ", ".join(f"{block} {verdict}" for block, verdict in shown.items()),
        "paper_private": None if ticks is None else list(ticks[0]),
        "promises_feasibility": method.promises_feasibility,
        "paper_feasible": None if ticks is None else ticks[1],
        "draws": measured["draws"],
        **{key: measured[key] for key in found},
        "converged_percent": measured["converged_percent"],
        "seconds": measured["seconds"],
    }


def summary(rows: Sequence[Row]) -> dict[str, Any]:
    """How to read the table, and where it disagrees with the paper's ticks."""
    differs = [
        row["method"]
        for row in rows
        if row["paper_private"] is not None
        and (row["paper_private"], row["paper_feasible"])
        != (row["private"], row["violated_percent"] == 0)
    ]
    return {"note": NOTE, "differs_from_paper": differs}


STUDY = Study(
    name="table1",
    about="the paper's Table 1, with a measurement under every tick",
    sweeps=sweeps,
    table=table,
    figure="table1:table1_figure",
    draws=400,
    quick_draws=15,
    summary=summary,
    columns=(
        "method", "private", "paper_private", "suboptimality_percent", "violated_percent",
        "worst_violation", "converged_percent",
    ),
)  # fmt: skip
