"""What would a release be worth? One simulator, for choices, advice, curves and studies.

A :class:`Trial` is one invented database. Its releases draw their noise from streams that depend on
the trial's seed and on the number of the step only: strategies and budgets are compared with common
random numbers, and what several of them measure first is measured once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dp_cmdp._src.accounting.budget import PrivacyBudget
from dp_cmdp._src.base.errors import InvalidArgumentError, RefusedError, SolverError
from dp_cmdp._src.data.uncertainty import UncertaintySet
from dp_cmdp._src.program.answer import Answer, Problem
from dp_cmdp._src.release.belief import Prior
from dp_cmdp._src.release.measurement import LargestQuery, Simulated
from dp_cmdp._src.release.publish import answered, attempted
from dp_cmdp._src.release.release import Release
from dp_cmdp._src.release.strategy import LinearQueries, Step, Strategy

FloatArray = NDArray[np.float64]

#: Where the robust answer loses less, relative, there is nothing to win.
NOTHING_TO_WIN = 1e-9
#: Batches per worker: enough to even out, few enough that a problem is sent seldom.
BATCHES = 4


def spread(job: Callable[[range], list[Any]], count: int, workers: int) -> list[Any]:
    """job(0 … count − 1), in batches of numbers over processes of joblib."""
    if workers == 1:
        return job(range(count))
    from joblib import Parallel, delayed, effective_n_jobs

    size = max(1, -(-count // (BATCHES * max(1, effective_n_jobs(workers)))))
    batches = [range(first, min(first + size, count)) for first in range(0, count, size)]
    parts = Parallel(n_jobs=workers)(delayed(job)(batch) for batch in batches)
    return [found for part in parts for found in part or ()]


class Simulator:
    """A problem, the robust answer to it, and invented databases of it."""

    def __init__(
        self, problem: Problem, prior: Prior, *, seed: int = 0, robust: Answer | None = None
    ) -> None:
        self.problem, self.prior, self.seed = problem, prior, seed
        self.robust = robust or problem.answer(problem.envelope.uncertainty, certify=False)
        self._trials: dict[int, Trial] = {}

    def trial(self, number: int) -> Trial:
        """Invented database `number`, of the prior's strata; queries meet middling noise."""
        if number not in self._trials:
            rng = np.random.default_rng([self.seed, number])
            values = self.prior.sample(self.problem, rng, number)
            self._trials[number] = Trial(self, values, number, middling=True)
        return self._trials[number]

    def of(self, values: FloatArray, number: int) -> Trial:
        """A given database, and draw `number` of the noise."""
        return Trial(self, values, number, middling=False)

    def best(self, values: FloatArray) -> float:
        """The value of the best answer for one database."""
        known = UncertaintySet.box(values, values)
        found = self.problem.answer(known, values, start=self.robust, certify=False)
        return self.problem.value(found.decision, values)


class Trial:
    """Releases and answers of one invented database.

    With `middling`, queries are measured with the middle of their noise: they are few, so that with
    a noise of their own one trial would tell of luck more than of strategies.
    """

    def __init__(
        self, simulator: Simulator, values: FloatArray, number: int, *, middling: bool
    ) -> None:
        self._simulator, self.values, self._number = simulator, values, number
        self._middling = middling
        self._releases: dict[Any, Release] = {}
        self._proposals: dict[Any, Any] = {}

    @cached_property
    def best(self) -> float:
        """Of the best answer for this database."""
        return self._simulator.best(self.values)

    @cached_property
    def robust(self) -> float:
        """Of the robust answer on this database."""
        return self.value(self._simulator.robust)

    def value(self, answer: Answer) -> float:
        return self._simulator.problem.value(answer.decision, self.values)

    def release(self, strategy: Strategy, budget: PrivacyBudget) -> Release:
        """What the strategy would publish."""
        release = self.after(strategy.steps, budget)
        return replace(release, strategy_document=strategy.document())

    def answer(self, strategy: Strategy, budget: PrivacyBudget, *, certify: bool = False) -> Answer:
        """The answer from that; the robust one where the solver gives up."""
        own, release = self._simulator, self.after(strategy.steps, budget)
        return answered(own.problem, release, own.robust, own.prior, certify=certify)

    def loss(
        self, strategy: Strategy, budget: PrivacyBudget, *, proposed: bool = False
    ) -> float | None:
        """(v* − v)/(v* − v_robust): 0 is as good as without privacy, 1 as without data.

        v is the value of the answer. With `proposed`, of the one that the last step's queries are
        proposed for, which takes no answer over measured queries; None where there are none.
        """
        lost = self.best - self.robust
        if abs(lost) <= NOTHING_TO_WIN * (1.0 + abs(self.best)):
            return 0.0
        if proposed:
            found = None
            if isinstance(strategy.steps[-1].propose, LinearQueries):
                found = self._proposal(strategy.steps, budget)
            if found is None:
                return None
            answer = found.answer
        else:
            try:
                answer = self.answer(strategy, budget)
            except (SolverError, RefusedError, InvalidArgumentError):
                return 1.0
        return (self.best - self.value(answer)) / lost

    def _proposal(self, steps: tuple[Step, ...], budget: PrivacyBudget) -> Any:
        key = _key(steps, budget)
        if key not in self._proposals:
            problem, seen = self._simulator.problem, self.after(steps[:-1], budget)
            propose: Any = steps[-1].propose
            self._proposals[key] = propose.proposal(problem, seen, steps[-1].part(budget))
        return self._proposals[key]

    def after(self, steps: tuple[Step, ...], budget: PrivacyBudget) -> Release:
        """What is published after some steps; the same for all strategies that begin so."""
        own = self._simulator
        if not steps:
            return Release(own.problem.envelope, simulated=True)
        key = _key(steps, budget)
        if key not in self._releases:
            before, propose = self.after(steps[:-1], budget), steps[-1].propose
            if isinstance(queries := propose, LinearQueries):
                propose = lambda *given: queries.measurement(*given, self._proposal(steps, budget))  # noqa: E731
            found, _ = attempted(own.problem, before, propose, steps[-1].part(budget))
            if found is not None:
                terms = np.diff(found.query.weights.indptr)
                luck = isinstance(found.query, LargestQuery) or terms.max(initial=0) > 1
                rng = None
                if not (self._middling and luck):
                    rng = np.random.default_rng([own.seed, self._number, len(steps)])
                before = before + found.draw(self.values, Simulated(rng))
            self._releases[key] = before
        return self._releases[key]


def _key(steps: tuple[Step, ...], budget: PrivacyBudget) -> Any:
    """Of equal steps the same; a user's proposal need not be hashable."""
    try:
        return hash(steps), steps, budget
    except TypeError:
        return tuple(map(id, steps)), budget
