"""Which strategy suits a problem: chosen from public data, before anything is read.

Strategies are tried on invented databases (:class:`Trial`). In the first trial queries are proposed
as each strategy would have it; of the two whose proposed answers are best, the answers over
measured queries are found, and the better one is tried again. It is taken when it loses clearly
less than the plain release of the entries; otherwise, or where that loses something in fewer than
two of three trials (one alone would decide by chance), the plain release is. Trials are few, so a
strategy that rests on more than they show must do a little better than the others: without a look
at the entries everything rests on the prior, and with a small safety factor an unlucky noise is
dear.

Where proposals take long, the choice is *short*: one trial, three strategies, judged by their
proposed answers.

What would a release be worth? One simulator, for choices, advice, curves and studies.

A :class:`Trial` is one invented database. Its releases draw their noise from streams that depend on
the trial's seed and on the number of the step only: strategies and budgets are compared with common
random numbers, and what several of them measure first is measured once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from operator import attrgetter
from typing import Any

import numpy as np

from dp_cmdp._src.accounting.budget import PrivacyBudget
from dp_cmdp._src.base.errors import InvalidArgumentError, RefusedError, SolverError
from dp_cmdp._src.base.validation import FloatArray
from dp_cmdp._src.data.envelope import UncertaintySet
from dp_cmdp._src.noise.laws import Laplace, Sensitivity
from dp_cmdp._src.program.answer import Answer, Problem
from dp_cmdp._src.release.belief import STRATA, Prior, objective_entries
from dp_cmdp._src.release.measurement import Simulated
from dp_cmdp._src.release.publish import amended, answered, attempted
from dp_cmdp._src.release.release import Release
from dp_cmdp._src.release.strategy import LinearQueries, Step, Strategy

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

    def runs(
        self,
        table: FloatArray,
        strategy: Strategy,
        budget: PrivacyBudget,
        *,
        workers: int,
        certify: bool = False,
    ) -> list[Answer]:
        """The answer from a simulated release of each database of a table, whoever computes it."""

        def batch(numbers: range) -> list[Answer]:
            trials = [self.of(table[number], number) for number in numbers]
            answers = [trial.answer(strategy, budget, certify=certify) for trial in trials]
            released = [trial.release(strategy, budget) for trial in trials]
            pairs = zip(answers, released, strict=True)
            return [amended(answer, release=release) for answer, release in pairs]

        found = spread(batch, len(table), workers)
        return [amended(answer, problem=self.problem) for answer in found]


@dataclass(eq=False)
class Trial:
    """Releases and answers of one invented database.

    With `middling`, queries are measured with the middle of their noise: they are few, so that with
    a noise of their own one trial would tell of luck more than of strategies.
    """

    simulator: Simulator
    values: FloatArray
    number: int
    middling: bool
    releases: dict[Any, Release] = field(default_factory=dict)
    proposals: dict[Any, Any] = field(default_factory=dict)

    @cached_property
    def best(self) -> float:
        """Of the best answer for this database."""
        known, own = UncertaintySet.box(self.values, self.values), self.simulator
        found = own.problem.answer(known, self.values, start=own.robust, certify=False)
        return own.problem.value(found.decision, self.values)

    @cached_property
    def robust(self) -> float:
        """Of the robust answer on this database."""
        return self.simulator.problem.value(self.simulator.robust.decision, self.values)

    def release(self, strategy: Strategy, budget: PrivacyBudget) -> Release:
        """What the strategy would publish."""
        release = self.after(strategy.steps, budget)
        return replace(release, strategy_document=strategy.document())

    def answer(self, strategy: Strategy, budget: PrivacyBudget, *, certify: bool = False) -> Answer:
        """The answer from that; the robust one where the solver gives up."""
        own, release = self.simulator, self.after(strategy.steps, budget)
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
        return (self.best - self.simulator.problem.value(answer.decision, self.values)) / lost

    def _proposal(self, steps: tuple[Step, ...], budget: PrivacyBudget) -> Any:
        key = _key(steps, budget)
        if key not in self.proposals:
            problem, seen = self.simulator.problem, self.after(steps[:-1], budget)
            propose: Any = steps[-1].propose
            self.proposals[key] = propose.proposal(problem, seen, steps[-1].part(budget))
        return self.proposals[key]

    def after(self, steps: tuple[Step, ...], budget: PrivacyBudget) -> Release:
        """What is published after some steps; the same for all strategies that begin so."""
        own = self.simulator
        if not steps:
            return Release(own.problem.envelope, simulated=True)
        key = _key(steps, budget)
        if key not in self.releases:
            before, propose = self.after(steps[:-1], budget), steps[-1].propose
            if isinstance(propose, LinearQueries):
                propose = partial(propose.measurement, found=self._proposal(steps, budget))
            found, _ = attempted(own.problem, before, propose, steps[-1].part(budget))
            if found is not None:
                terms = np.diff(found.query.weights.indptr)
                luck = not found.query.linear or terms.max(initial=0) > 1
                rng = None
                if not (self.middling and luck):
                    rng = np.random.default_rng([own.seed, self.number, len(steps)])
                before = before + found.draw(self.values, Simulated(rng))
            self.releases[key] = before
        return self.releases[key]


def _key(steps: tuple[Step, ...], budget: PrivacyBudget) -> Any:
    """Of equal steps the same; a user's proposal need not be hashable."""
    try:
        return hash(steps), steps, budget
    except TypeError:
        return tuple(map(id, steps)), budget


#: Trials of a choice, in each of which the plain release loses something.
TRIALS = 2
#: Queries are measured when they promise to lose at most this share of what entries lose.
GUARD = 0.85
#: A score below this is none: what differs is rounding.
NOTHING = 1e-6
#: Strategies whose answers over measured queries are found in the first trial.
FINALISTS = 2
#: Losses count by so much more of strategies without a look at the entries, …
WITHOUT_LOOK = 1.1
#: … and of those whose safety factor is below 1.5.
WITH_LITTLE_CAUTION = 1.05
#: Problems in which rows and entries meet so often, or more, are tried in short: a trial tells
#: more there, and proposals take longer than answers (auctions of 300 and 1,000 groups).
MANY_MEETINGS = 1_000
#: From here on a proposal, a program with a row and a variable per meeting, takes half a minute or
#: more: entries are released without a trial, and queries where they are asked for.
TOO_MANY_MEETINGS = 50_000


@dataclass(frozen=True)
class Score:
    """How a strategy did: losses as shares of the robust answer's loss, trial by trial.

    `proposed` is that of the answer that queries were proposed for in the first trial; None where
    there was nothing to measure: such a strategy releases entries with less of the budget.
    """

    strategy: Strategy
    losses: tuple[float, ...] = ()
    proposed: float | None = None

    @property
    def predicted(self) -> float:
        """The mean loss of its answers, or else that of the proposed one."""
        if self.losses:
            return float(np.mean(self.losses))
        return math.inf if self.proposed is None else self.proposed

    @property
    def rank(self) -> tuple[int, float, bool]:
        """Lowest is best: tried most, then what is predicted, more where trials do not show all."""
        lost, tried = 0.0 if self.predicted <= NOTHING else self.predicted, -len(self.losses)
        if len(self.strategy.steps) == 1:
            return tried, WITHOUT_LOOK * lost, True
        propose: Any = self.strategy.steps[-1].propose
        return tried, lost * (WITH_LITTLE_CAUTION if propose.safety < 1.5 else 1.0), False


@dataclass(frozen=True)
class Choice:
    """The strategy chosen, and the scores of all that were tried."""

    strategy: Strategy
    scores: tuple[Score, ...] = ()

    def document(self) -> dict[str, Any]:
        """The scores as JSON, for the files of releases."""
        trials = []
        for score in self.scores:
            name, losses = score.strategy.name, list(score.losses)
            trials.append({"strategy": name, "proposed": score.proposed, "losses": losses})
        return {"trials": trials}


@cache
def menu(short: bool = False) -> tuple[Strategy, ...]:
    """What a strategy is chosen from, the plain release of the entries first."""
    queries = Strategy.queries
    usual = () if short else (queries(safety=1.5, shift=1.0),)
    last = queries(share="13/20", safety=1.5, shift=1.0)
    return Strategy.entries(), queries(share=0), queries(), *usual, last


def choose(simulator: Simulator, budget: PrivacyBudget, *, progress: bool = False) -> Choice:
    """The strategy that promises to lose least; the release of entries where nothing is solved."""
    meetings = simulator.problem.signs.nnz
    short = meetings >= MANY_MEETINGS
    plain, *rest = menu(short)
    if meetings >= TOO_MANY_MEETINGS:
        return Choice(plain)
    able = []
    for strategy in rest:
        with suppress(InvalidArgumentError):  # no exact noise is built for a part of the budget
            for step in strategy.steps:
                Laplace.calibrate(Sensitivity(1, 1, 1, 1), step.part(budget))
            able.append(strategy.given(simulator.prior))
    scores: dict[Strategy, Score] = {}
    tried = _tried(simulator, budget, plain, able, short=short)
    steps = 1 + len(able) + (0 if short else min(FINALISTS, len(able)) + TRIALS - 1)
    try:
        if progress:
            from dp_cmdp._src.base.progress import with_bar

            tried = with_bar(tried, progress, total=steps, name="strategies")
        for score in tried:
            scores[score.strategy] = score
    except (SolverError, RefusedError):
        return Choice(plain)
    found, *others = scores.values()
    threshold = GUARD * found.predicted if found.losses else 0.0
    best = min(others, key=attrgetter("rank"), default=None)
    chosen = plain if best is None or best.predicted > threshold else best.strategy
    return Choice(chosen, tuple(scores.values()))


def _tried(
    simulator: Simulator,
    budget: PrivacyBudget,
    plain: Strategy,
    menu: Sequence[Strategy],
    *,
    short: bool,
) -> Iterator[Score]:
    """Scores of the plain release and of the others, those of the better ones again."""
    count, most = (1, 1) if short else (TRIALS, len(STRATA))
    telling: list[Trial] = []  # the first trials in which the plain release loses something
    losses: list[float] = []
    for number in range(most):
        trial = simulator.trial(number)
        lost = trial.loss(plain, budget) or 0.0
        if lost > NOTHING and len(telling) < count:
            telling.append(trial)
            losses.append(lost)
        if len(telling) == count:
            break
    yield Score(plain, tuple(losses))
    if len(telling) < count:
        return
    able: list[Score] = []
    for strategy in menu:
        score = Score(strategy, (), telling[0].loss(strategy, budget, proposed=True))
        able += [score] if score.proposed is not None else []
        yield score
    if short:
        return
    answered: list[Score] = []
    for score in sorted(able, key=attrgetter("rank"))[:FINALISTS]:
        answered.append(replace(score, losses=(telling[0].loss(score.strategy, budget),)))
        yield answered[-1]
    if answered:
        best = min(answered, key=attrgetter("rank"))
        for trial in telling[1:]:
            best = replace(best, losses=(*best.losses, trial.loss(best.strategy, budget)))
        yield best


def promises_nothing(simulator: Simulator, strategy: Strategy, budget: PrivacyBudget) -> bool:
    """Whether the releases of all invented databases leave the whole envelope possible.

    Lower bounds of entries that only harm rows do not matter, nor upper ones of those that help.
    """
    problem, steps = simulator.problem, strategy.steps
    envelope, signs = problem.envelope, problem.signs.tocoo()
    matters = np.zeros((2, envelope.size), dtype=bool)  # upper, lower
    matters[0, signs.col[signs.data >= 0]] = True
    matters[1, signs.col[signs.data <= 0]] = True
    matters[:, objective_entries(problem)] = True
    for number in range(len(STRATA) if signs.nnz else 0):
        for count in range(1, len(steps) + 1):
            known = simulator.trial(number).after(steps[:count], budget).uncertainty
            tighter = np.stack([known.upper < envelope.upper, known.lower > envelope.lower])
            largest = known.W.maximum(0) @ envelope.upper + known.W.minimum(0) @ envelope.lower
            if (tighter & matters).any() or (largest > known.q).any():
                return False
    return bool(signs.nnz)
