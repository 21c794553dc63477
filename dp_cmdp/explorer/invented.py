"""What a design with invented data leads to: a simulated release, its answer, and what it loses.

All of it comes from :func:`dp_cmdp.simulate`, so that the answer that is shown, the curve over ε
and the advice are one simulator's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import dp_cmdp as dp
from dp_cmdp.errors import InvalidArgumentError, SolverError
from dp_cmdp.explorer.grid_design import GridDesign
from dp_cmdp.explorer.program_design import AuctionDesign, FileDesign
from dp_cmdp.explorer.settings import Settings

Design = GridDesign | AuctionDesign | FileDesign
#: Simulated releases per point of the curve.
DRAWS = 6
#: Entries from which no limit is looked for at other ε, and advice rests on few trials.
LARGE = 150
#: Standard deviations on either side of a mean of DRAWS in its 95 % interval (Student, 5 degrees).
STUDENT = 2.571


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """The simulated answer to a design, beside the robust one and the best one.

    Attributes
    ----------
    private, best : Answer
    values : (private, robust, best)
        What they are worth for the invented data.
    loss, robust_loss : float or None
        In percent of the best value; None where that is 0.
    truth : float array
        The invented data, in the order of the envelope.
    """

    private: Any
    best: Any
    values: tuple[float, float, float]
    loss: float | None
    robust_loss: float | None
    truth: Any


def answer_to(design: Design) -> Found:
    """Simulate the release that a design asks for, and answer."""
    design.check()
    problem = design.problem()
    runs = _simulated(design, draws=1)
    best = dp.answer(problem.at(runs.values))
    row = runs.to_frame().iloc[0]
    return Found(
        private=runs[0],
        best=best,
        values=(row["value"], row["robust"], row["best"]),
        loss=_percent(row["loss"]),
        robust_loss=_percent(_lost(runs)),
        truth=runs.values,
    )


def _simulated(design: Design, *, draws: int, **changes: Any) -> Any:
    asked: dict[str, Any] = {
        "epsilon": design.epsilon,
        "delta": design.delta,
        "strategy": design.strategy,
        "seed": design.noise,
    }
    return dp.simulate(design.problem(), design.values(), draws=draws, **asked | changes)


def _lost(runs: Any) -> float:
    """Share of the best value that the robust answer loses."""
    if runs.best == runs.robust:
        return 0.0
    return abs(runs.best - runs.robust) / abs(runs.best) if runs.best else float("nan")


def _percent(share: float) -> float | None:
    return 100.0 * float(share) if np.isfinite(share) else None


@dataclass(frozen=True, slots=True)
class Point:
    """Mean loss in percent at one ε with a 95 % confidence interval, and the robust answer's."""

    epsilon: float
    loss: float
    low: float
    high: float
    robust: float


def curve_point(design: Design, epsilon: str) -> Point:
    """The loss at one ε, over a few simulated releases."""
    runs = _simulated(design, draws=DRAWS, epsilon=epsilon)
    losses = 100.0 * np.nan_to_num(runs.to_frame()["loss"].to_numpy())
    mean, half = losses.mean(), STUDENT * losses.std(ddof=1) / np.sqrt(DRAWS)
    at = float(dp.PrivacyBudget(epsilon, design.delta).epsilon)
    return Point(at, mean, max(mean - half, 0.0), mean + half, _percent(_lost(runs)) or 0.0)


def anywhere(design: Design) -> Design:
    """The same at one ε for all: what the curve depends on."""
    return design.replace(epsilon=Settings().epsilon)


def limit_percent(design: Design, epsilon: str | None = None) -> float | None:
    """No private mechanism with certain answers loses less on average, in percent; None: unknown.

    *Curator only*, of data that were invented here.
    """
    asked: dict[str, Any] = {"epsilon": epsilon or design.epsilon, "delta": design.delta}
    try:
        return 100.0 * dp.curator.limit(design.problem(), design.values(), **asked)
    except (InvalidArgumentError, SolverError):  # a value that cannot be bounded
        return None


def advice_on(problem: Any, epsilon: str, delta: str) -> tuple[Any, float]:
    """The adviser's row at a budget, and the ε that wins back half of the robust loss."""
    draws = 4 if problem.envelope.size > LARGE else 8
    advice = dp.advise(problem, epsilon=epsilon, delta=delta, draws=draws)
    row = advice.rows[0]
    return row, advice.smallest_epsilon(loss=row.robust_loss / 2)
