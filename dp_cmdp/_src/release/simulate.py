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
from dp_cmdp._src.release.measurement import LargestQuery, Measurement, Simulated
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


class Middle:
    """A source of no luck: every draw is the middle of its law."""

    simulated = True

    def draw(self, law: Any, size: int) -> list[int]:
        return [round(law.mean)] * size


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

    @property
    def scale(self) -> float:
        """What the robust answer loses; 0 where that is nothing."""
        lost = self.best - self.robust
        return lost if abs(lost) > NOTHING_TO_WIN * (1.0 + abs(self.best)) else 0.0

    def value(self, answer: Answer) -> float:
        return self._simulator.problem.value(answer.decision, self.values)

    def share_lost(self, answer: Answer) -> float:
        """(v* − v)/(v* − v_robust): 0 is as good as without privacy, 1 as without data."""
        return (self.best - self.value(answer)) / self.scale if self.scale else 0.0

    def release(self, strategy: Strategy, budget: PrivacyBudget) -> Release:
        """What the strategy would publish."""
        release = self.after(strategy.steps, budget)
        return replace(release, strategy_document=strategy.document())

    def answer(self, strategy: Strategy, budget: PrivacyBudget, *, certify: bool = False) -> Answer:
        """The answer from that; the robust one where the solver gives up."""
        simulator = self._simulator
        return answered(
            simulator.problem,
            self.release(strategy, budget),
            simulator.robust,
            simulator.prior,
            certify=certify,
        )

    def loss(self, strategy: Strategy, budget: PrivacyBudget) -> float:
        """The share lost by the answer."""
        if not self.scale:
            return 0.0
        try:
            return self.share_lost(self.answer(strategy, budget))
        except (SolverError, RefusedError, InvalidArgumentError):
            return 1.0

    def proposed_loss(self, strategy: Strategy, budget: PrivacyBudget) -> float | None:
        """The share lost by the answer that the last step's queries are proposed for.

        It takes no answer over measured queries. None where there is nothing to measure.
        """
        if not self.scale:
            return 0.0
        if not isinstance(strategy.steps[-1].propose, LinearQueries):
            return None
        found = self._proposal(strategy.steps, budget)
        return None if found is None else self.share_lost(found.answer)

    def _proposal(self, steps: tuple[Step, ...], budget: PrivacyBudget) -> Any:
        key = _key(steps, budget)
        if key not in self._proposals:
            problem, seen = self._simulator.problem, self.after(steps[:-1], budget)
            propose: Any = steps[-1].propose
            self._proposals[key] = propose.proposal(problem, seen, steps[-1].part(budget))
        return self._proposals[key]

    def after(self, steps: tuple[Step, ...], budget: PrivacyBudget) -> Release:
        """What is published after some steps; the same for all strategies that begin so."""
        if not steps:
            return Release(self._simulator.problem.envelope, simulated=True)
        key = _key(steps, budget)
        if key not in self._releases:
            before = self.after(steps[:-1], budget)
            measurement = self._measurement(steps, before, budget)
            if measurement is not None:
                source = self._source(measurement, len(steps))
                before = before + measurement.draw(self.values, source)
            self._releases[key] = before
        return self._releases[key]

    def _measurement(
        self, steps: tuple[Step, ...], before: Release, budget: PrivacyBudget
    ) -> Measurement | None:
        step, propose = steps[-1], steps[-1].propose
        if isinstance(propose, LinearQueries):
            step = replace(
                step,
                propose=lambda problem, seen, part: propose.measurement(
                    problem, self._proposal(steps, budget), seen, part
                ),
            )
        return attempted(self._simulator.problem, before, step, budget)[0]

    def _source(self, measurement: Measurement, step: int) -> Any:
        weights = measurement.query.weights
        alone = not isinstance(measurement.query, LargestQuery)
        if self._middling and not (alone and (np.diff(weights.indptr) <= 1).all()):
            return Middle()
        return Simulated(np.random.default_rng([self._simulator.seed, self._number, step]))


def _key(steps: tuple[Step, ...], budget: PrivacyBudget) -> Any:
    """Of equal steps the same; a user's proposal need not be hashable."""
    try:
        return hash(steps), steps, budget
    except TypeError:
        return tuple(map(id, steps)), budget
