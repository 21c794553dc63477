"""What solving would give, many times, on invented data and with simulated noise."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dp_cmdp._src.accounting.budget import Number
from dp_cmdp._src.base import validation as check
from dp_cmdp._src.base.html import values_table
from dp_cmdp._src.base.validation import FloatArray, validated
from dp_cmdp._src.program.answer import Answer
from dp_cmdp._src.release.choose import Simulator, choose
from dp_cmdp._src.release.strategy import Strategy
from dp_cmdp._src.verbs.arguments import (
    Data,
    Problem,
    as_problem,
    budget_of,
    draws_of,
    prior_of,
    public_values,
    strategy_of,
    workers_of,
)
from dp_cmdp._src.verbs.spend import finished, robust_answer

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Simulation:
    """Answers from simulated releases of one invented database; iterating gives them in turn.

    Attributes
    ----------
    answers : tuple of Answer
        Their releases are marked simulated.
    values : float array
        The invented database.
    achieved : float array
        The value of each answer at `values`.
    best, robust : float
        The value of the best answer to `values`, and that of the robust answer.
    strategy : Strategy
        What was measured.

    Notes
    -----
    **Privacy.** *Public*, as the values are invented.
    """

    answers: tuple[Answer[Any], ...]
    values: FloatArray
    achieved: FloatArray
    best: float
    robust: float
    strategy: Strategy

    def __iter__(self) -> Iterator[Answer[Any]]:
        return iter(self.answers)

    def __len__(self) -> int:
        return len(self.answers)

    def __getitem__(self, number: int) -> Answer[Any]:
        return self.answers[number]

    def to_frame(self) -> pd.DataFrame:
        """One row per draw.

        Returns
        -------
        pandas.DataFrame
            ``value`` of the answer at the invented values; ``loss``, the share of |best| that it
            stays below the best; ``recovered``, the share of the robust answer's loss that it wins
            back; ``saturation`` of the release; ``source`` of the answer.
        """
        import pandas as pd

        value = self.achieved
        lost = np.abs(self.best - value)
        room = abs(self.best - self.robust)
        size = abs(self.best)
        return pd.DataFrame(
            {
                "value": value,
                "best": self.best,
                "robust": self.robust,
                "loss": lost / size if size else np.where(lost == 0, 0.0, np.nan),
                "recovered": 1 - lost / room if room else np.full(value.size, np.nan),
                "saturation": [a.release.saturation for a in self.answers],
                "source": [a.source for a in self.answers],
            }
        )

    def __repr__(self) -> str:
        loss = self.to_frame()["loss"].mean()
        drawn = f"{len(self)} draws of {self.strategy.name}"
        return f"Simulation(SIMULATED: {drawn}, mean loss {loss:.3g})"

    def _repr_html_(self) -> str:
        frame = self.to_frame()
        shown = [("strategy", self.strategy.name), ("draws", len(self)), ("best", self.best)]
        shown += [("mean loss", frame["loss"].mean()), ("robust", self.robust)]
        return values_table("Simulation (SIMULATED)", shown)


@validated
def simulate(
    problem: Problem,
    values: Data,
    *,
    epsilon: Number,
    delta: Number,
    strategy: str | Strategy = "auto",
    prior: Data | None = None,
    draws: int = 100,
    seed: int = 0,
    workers: int = 1,
) -> Simulation:
    """Repeat what :func:`solve` does on invented values, with simulated noise from a seed.

    Parameters
    ----------
    problem : ParametricLP, ParametricCMDP, cvxpy.Problem or extend.Problem
        The problem.
    values : array_like, mapping from group to numbers, table or path of a csv file
        Invented or public numbers, within the envelope's bounds.
    epsilon, delta : number or text
        The budget of each release.
    strategy, prior : of the same kinds
        As in :func:`solve`.
    draws : int
        Number of releases; each has its own noise.
    seed : int
        Seed of the noise. Draw i does not depend on the number of draws and workers. All budgets
        and strategies use the same random numbers, which makes them comparable.
    workers : int
        Processes, by joblib: −1 for one per processor. Within
        ``joblib.parallel_config("dask")`` the workers of a cluster.

    Returns
    -------
    Simulation
        An iterable of answers, whose releases are marked SIMULATED; see its ``to_frame()``.

    Raises
    ------
    RefusedError
        No decision is safe for every database of the envelope.
    InvalidArgumentError
        An argument is refused; for example, the values leave the public bounds.

    Notes
    -----
    **Privacy.** *Public*, for invented values: the results reveal them. Nothing is spent.

    Examples
    --------
    >>> import dp_cmdp as dp
    >>> theta = dp.Envelope([0.5, 0.5, 8], [2, 2, 12], radius=[0.1, 0.1, 0.5])
    >>> lp = dp.ParametricLP(maximize=[3, 2], A=[[theta[0], theta[1]]], b=[theta[2]])
    >>> runs = dp.simulate(lp, [1, 1.2, 10], epsilon=2, delta=1e-3, strategy="entries", draws=4)
    >>> len(runs), all(found.release.simulated for found in runs)
    (4, True)
    """
    asked = as_problem(problem)
    budget = budget_of("simulate", epsilon, delta)
    invented = public_values("values", values, asked.envelope)
    belief = prior_of(prior, asked.envelope)
    wanted = strategy_of(strategy, belief)
    count, seed = draws_of(draws), check.seed("seed", seed)
    workers = workers_of(workers)
    robust = robust_answer(asked)
    chosen = wanted or choose(Simulator(asked, belief, robust=robust), budget).strategy
    simulator = Simulator(asked, belief, seed=seed, robust=robust)
    table = np.broadcast_to(invented, (count, invented.size))
    found = simulator.runs(table, chosen, budget, workers=workers, certify=True)
    return Simulation(
        tuple(finished(asked, part, robust, part.release, chosen, budget) for part in found),
        invented,
        np.array([asked.value(part.decision, invented) for part in found]),
        simulator.of(invented, 0).best,
        asked.value(robust.decision, invented),
        chosen,
    )
