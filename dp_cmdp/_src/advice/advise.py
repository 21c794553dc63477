"""What a release would be worth, before any data are read: the simulator that `solve` uses.

For every budget the strategy is chosen as :func:`~dp_cmdp.solve` would choose it, and followed on
public reference databases, drawn uniformly within the bounds or around the prior. These come in
antithetic pairs and are the same for every budget, so that curves are smooth; intervals are
Student's, of ratios of means over pairs.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dp_cmdp._src.accounting.budget import Number, PrivacyBudget
from dp_cmdp._src.base import validation as check
from dp_cmdp._src.base.errors import InvalidArgumentError, PrivacyWarning
from dp_cmdp._src.base.extras import lazily
from dp_cmdp._src.base.html import rows_table
from dp_cmdp._src.base.validation import FloatArray, validated
from dp_cmdp._src.release.belief import AROUND_PRIOR, Prior
from dp_cmdp._src.release.choose import Simulator, choose, spread
from dp_cmdp._src.release.strategy import Strategy
from dp_cmdp._src.verbs.arguments import (
    Data,
    Problem,
    as_problem,
    budget_of,
    draws_of,
    prior_of,
    workers_of,
)
from dp_cmdp._src.verbs.spend import robust_answer

if TYPE_CHECKING:
    import pandas as pd

#: Of every interval.
CONFIDENCE = 0.95
#: Range of ε that is searched: beyond what anybody promises on either side.
SMALLEST_TRIED, LARGEST_TRIED = 0.01, 100.0
#: The smallest ε is found to within this factor.
CLOSE = 1.1


@dataclass(frozen=True)
class Row:
    """One budget.

    Attributes
    ----------
    epsilon, delta : float
    strategy : Strategy
        What `solve` would follow.
    loss, loss_low, loss_high : float
        Mean of best − value over mean |best|, and its interval.
    robust_loss : float
        The same of the robust answer, which needs no data.
    recovered, recovered_low, recovered_high : float
        Share of the robust answer's loss that a release wins back.
    saturation : float
        Mean share of the entries of which the release says nothing.
    reason : str
        Why `solve` would follow it, in one sentence.
    """

    epsilon: float
    delta: float
    strategy: Strategy
    loss: float
    loss_low: float
    loss_high: float
    robust_loss: float
    recovered: float
    recovered_low: float
    recovered_high: float
    saturation: float
    reason: str


@dataclass(frozen=True)
class Advice:
    """What releases would be worth, by budget.

    Attributes
    ----------
    rows : tuple of Row
        One per ε, in the order asked for.
    strategy : Strategy
        What suits the middle one of the budgets.
    draws : int
        Reference databases.

    Notes
    -----
    **Privacy.** *Public*: no data was read.
    """

    rows: tuple[Row, ...]
    strategy: Strategy
    draws: int
    _row: Callable[[float], Row] = field(repr=False, compare=False)

    def to_frame(self) -> pd.DataFrame:
        """One row per ε: strategy, loss and share recovered with their intervals.

        Returns
        -------
        pandas.DataFrame
        """
        import pandas as pd

        return pd.DataFrame([vars(row) | {"strategy": row.strategy.name} for row in self.rows])

    @validated
    def smallest_epsilon(self, *, loss: float) -> float:
        """The smallest ε whose mean loss is at most `loss`, to within a tenth.

        Parameters
        ----------
        loss : float
            Share of the best value, such as 0.05.

        Returns
        -------
        float
            0 where the robust answer, which spends nothing, does; inf where no ε up to 100 does.
        """
        goal = check.real("loss", loss, low=0.0)
        rows = sorted(self.rows, key=lambda row: row.epsilon)
        if rows[0].robust_loss <= goal:
            return 0.0
        good = next((row.epsilon for row in rows if row.loss <= goal), None)
        low = max((row.epsilon for row in rows if good is None or row.epsilon < good), default=0.0)
        while good is None and low < LARGEST_TRIED:
            tried = min(2 * low, LARGEST_TRIED)
            if self._row(tried).loss <= goal:
                good = tried
            else:
                low = tried
        if good is None:
            return math.inf
        low = low or min(SMALLEST_TRIED, good / 2)
        while good > CLOSE * low:
            middle = float(f"{math.sqrt(low * good):.3g}")
            if not low < middle < good:
                break
            if self._row(middle).loss <= goal:
                good = middle
            else:
                low = middle
        return good

    @validated
    def plot(self) -> Any:
        """The loss by ε, between that of the robust answer and none (needs matplotlib).

        Returns
        -------
        matplotlib.figure.Figure
        """
        return lazily("dp_cmdp._src.figures.results", "advice_figure")(self)

    def _lines(self) -> list[tuple[str, ...]]:
        return [
            (
                f"{row.epsilon:g}",
                f"{row.delta:g}",
                row.strategy.name,
                f"{row.loss:.2%} [{row.loss_low:.2%}, {row.loss_high:.2%}]",
                f"{row.robust_loss:.2%}",
                f"{row.recovered:.0%} [{row.recovered_low:.0%}, {row.recovered_high:.0%}]",
            )
            for row in self.rows
        ]

    _HEADS = ("epsilon", "delta", "strategy", "loss", "robust loss", "recovered")

    def __repr__(self) -> str:
        lines = [self._HEADS, *self._lines()]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        table = (
            "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip()
            for line in lines
        )
        return "\n".join([f"Advice from public data, {self.draws} invented databases", *table])

    def _repr_html_(self) -> str:
        rows = self._lines()
        return rows_table("Advice", list(self._HEADS), rows, count=len(rows))


@validated
def advise(
    problem: Problem,
    *,
    epsilon: Number | Sequence[Number],
    delta: Number,
    prior: Data | None = None,
    draws: int = 16,
    seed: int = 0,
    workers: int = 1,
) -> Advice:
    """Estimate what :func:`solve` would achieve, and with which strategy; reads no data.

    Parameters
    ----------
    problem : ParametricLP, ParametricCMDP, cvxpy.Problem or extend.Problem
        The problem; only its public envelope and structure are read.
    epsilon : number, or a sequence of them
        Budgets to compare.
    delta : number
        The same for every ε.
    prior : array_like, mapping from group to numbers, table or path of a csv file, optional
        Public numbers around which databases are invented; by default they are uniform within the
        bounds.
    draws : int
        Number of invented databases, at least 4, in antithetic pairs.
    seed : int
        Seed of the databases and of the noise.
    workers : int
        Processes, by joblib: −1 for one per processor.

    Returns
    -------
    Advice
        One row per budget, and the strategy that `solve` would use.

    Raises
    ------
    RefusedError
        No decision is safe for every database of the envelope.
    InvalidArgumentError
        An argument is refused.

    Notes
    -----
    **Paper.** Ours; it answers the use of ``prob:accurate``. **Privacy.** *Public*: advice can be
    published, and asked for as often as one likes.

    Examples
    --------
    >>> import dp_cmdp as dp
    >>> theta = dp.Envelope([0.5, 0.5, 8], [2, 2, 12], radius=[0.1, 0.1, 0.5])
    >>> lp = dp.ParametricLP(maximize=[3, 2], A=[[theta[0], theta[1]]], b=[theta[2]])
    >>> advice = dp.advise(lp, epsilon=[1, 4], delta=1e-3, draws=8)
    >>> advice.to_frame()["epsilon"].tolist()
    [1.0, 4.0]
    >>> advice.smallest_epsilon(loss=0.9)  # the robust answer does
    0.0
    """
    asked = as_problem(problem)
    asked_for: Any = epsilon
    several = isinstance(epsilon, Sequence | np.ndarray) and not isinstance(epsilon, str)
    budgets = [budget_of("advise", e, delta) for e in (asked_for if several else [epsilon])]
    if not budgets:
        raise InvalidArgumentError("epsilon must hold at least one number")
    belief, seed = prior_of(prior, asked.envelope), check.seed("seed", seed)
    count = draws_of(draws, least=4)
    robust = robust_answer(asked)
    simulator = Simulator(asked, belief, seed=seed, robust=robust)
    references = reference_databases(asked, belief, count, seed)
    ends = _ends(simulator, references, workers_of(workers))
    judged = partial(_judged, simulator, references, ends, workers=workers)
    rows = tuple(judged(budget) for budget in budgets)
    middle = sorted(rows, key=lambda row: row.epsilon)[len(rows) // 2]
    exact = budgets[0].delta

    def row(epsilon: float) -> Row:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PrivacyWarning)
            return judged(PrivacyBudget(epsilon, exact))

    return Advice(rows, middle.strategy, count, row)


def reference_databases(problem: Any, prior: Prior, draws: int, seed: int) -> FloatArray:
    """Public databases, two by two on opposite sides of the middle, or of the prior."""
    envelope, rng = problem.envelope, np.random.default_rng(seed)
    width, half = envelope.upper - envelope.lower, -(-draws // 2)
    if prior.values is None:
        share = rng.random((half, width.size))
        pairs = np.stack([envelope.lower + part * width for part in (share, 1.0 - share)], axis=1)
    else:
        moved = AROUND_PRIOR * width * rng.standard_normal((half, width.size))
        pairs = np.stack([prior.values + moved, prior.values - moved], axis=1)
    return np.clip(pairs.reshape(-1, width.size)[:draws], envelope.lower, envelope.upper)


def _ends(simulator: Simulator, references: FloatArray, workers: int) -> FloatArray:
    """Values of the best and of the robust answer, per reference database."""

    def batch(numbers: range) -> list[Any]:
        trials = [simulator.of(references[number], number) for number in numbers]
        return [(trial.best, trial.robust) for trial in trials]

    return np.array(spread(batch, len(references), workers))


def _judged(
    simulator: Simulator,
    references: FloatArray,
    ends: FloatArray,
    budget: PrivacyBudget,
    *,
    workers: int,
) -> Row:
    problem, prior = simulator.problem, simulator.prior
    chooser = Simulator(problem, prior, robust=simulator.robust)  # as `solve` does
    choice = choose(chooser, budget)
    strategy = choice.strategy
    answers = simulator.runs(references, strategy, budget, workers=workers)
    pairs = zip(answers, references, strict=True)
    value = np.array([problem.value(answer.decision, known) for answer, known in pairs])
    better = problem.sense
    lost, room = better * (ends[:, 0] - value), better * (ends[:, 0] - ends[:, 1])
    size = np.abs(ends[:, 0])
    loss, loss_low, loss_high = ratio(lost, size)
    recovered, recovered_low, recovered_high = ratio(room - lost, room)
    return Row(
        epsilon=float(budget.epsilon),
        delta=float(budget.delta),
        strategy=strategy,
        loss=loss,
        loss_low=loss_low,
        loss_high=loss_high,
        robust_loss=ratio(room, size)[0],
        recovered=recovered,
        recovered_low=recovered_low,
        recovered_high=recovered_high,
        saturation=float(np.mean([answer.release.saturation for answer in answers])),
        reason=choice.reason,
    )


def ratio(part: FloatArray, whole: FloatArray) -> tuple[float, float, float]:
    """mean(part)/mean(whole) over antithetic pairs, with Student's interval of a ratio."""
    from scipy import stats

    pairs = part.size // 2
    part, whole = (each[: 2 * pairs].reshape(pairs, 2).mean(axis=1) for each in (part, whole))
    if not whole.mean():
        return (0.0, 0.0, 0.0) if not part.any() else (math.nan, -math.inf, math.inf)
    found = float(part.mean() / whole.mean())
    error = float(stats.sem(part - found * whole) / abs(whole.mean()))
    half = float(stats.t.ppf((1 + CONFIDENCE) / 2, pairs - 1)) * error
    return found, found - half, found + half
