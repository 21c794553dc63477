"""What certainty costs, by the noise that is used: the sweep behind ``reproduce mean-shift``.

One row per (ε, δ): the mean shift of one end of a certain interval, in units of the sensitivity Δ,
for the truncated Laplace noise of the paper (one entry), its tight support, and the optimal noise
for one changing entry, next to the bound below which no mechanism can go
(:mod:`dp_cmdp.noise.mean_shift`). The numbers are computed, not sampled: one draw per setting, and
the seed changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from dp_cmdp.experiments.sweep import Row, Setting, Sweep
from dp_cmdp.noise.mean_shift import KINDS, mean_shift

if TYPE_CHECKING:
    import pandas as pd

#: From strong to weak privacy.
EPSILONS = ("1/4", "1/2", "1", "2", "3", "5", "10")
#: The paper's δ, the largest that draws no warning, and a thousandth of that.
DELTAS = ("1/10", "1/1000", "1/1000000")


def sweep(*, draws: int = 1, seed: int = 0) -> Sweep:
    """All settings, once each."""
    settings = tuple({"epsilon": e, "delta": d} for d in DELTAS for e in EPSILONS)
    return Sweep("mean-shift", draw_mean_shift, settings, draws=1, seed=seed)


def draw_mean_shift(setting: Setting, seed: int, draws: Sequence[int]) -> list[Row]:
    """The mean shift of every kind of noise."""
    epsilon, delta = setting["epsilon"], setting["delta"]
    row = {kind: mean_shift(kind, epsilon=epsilon, delta=delta) for kind in KINDS}
    return [row for _ in draws]


def rows(frame: pd.DataFrame) -> list[Row]:
    """The printed table: shifts in units of Δ, and each as a multiple of the bound."""
    rows: list[Row] = []
    for record in frame.to_dict("records"):
        shifts = {kind: float(record[kind]) for kind in KINDS}
        rows.append(
            {
                "delta": float(Fraction(str(record["delta"]))),
                "epsilon": float(Fraction(str(record["epsilon"]))),
                **shifts,
                "optimal_over_bound": shifts["optimal"] / shifts["bound"],
                "optimal_saves_percent": 100 * (1 - shifts["optimal"] / shifts["tight"]),
            }
        )
    return sorted(rows, key=lambda row: (-row["delta"], row["epsilon"]))
