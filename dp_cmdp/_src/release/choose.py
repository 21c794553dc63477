"""Which strategy suits a problem: chosen from public data and earlier outcomes.

One simulator serves choices, advice, curves and studies. A :class:`Trial` is one invented database.
Its releases draw their noise from streams that depend on the trial's seed and on the number of the
step only: strategies and budgets are compared with common random numbers, and what several of them
measure first is measured once. Queries are few, so that their luck would decide a trial: their
noise is of a middling quantile, the same for all strategies.

Before anything is read (:func:`choose`) databases are invented within the public bounds, at levels
and of shapes as different as bounds allow, and strategies race: all are tried on the first
database, the better half on the second, and so on. What queries to measure after the entries is not
chosen then, but when the entries are known (:class:`BestQueries`): candidates race on databases
drawn from the belief. Both are functions of public data and of what was published, of a seed of
their own: the noise of a release shares nothing with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache, cached_property
from operator import attrgetter
from typing import Any

import numpy as np
from scipy import sparse

from dp_cmdp._src.accounting.budget import PrivacyBudget
from dp_cmdp._src.base.errors import InvalidArgumentError, RefusedError, SolverError
from dp_cmdp._src.base.validation import FloatArray
from dp_cmdp._src.data.envelope import UncertaintySet
from dp_cmdp._src.noise.laws import Laplace, Sensitivity
from dp_cmdp._src.program.answer import Answer, Problem
from dp_cmdp._src.release.belief import NOTHING_KNOWN, STRATA, Prior, believed, objective_entries
from dp_cmdp._src.release.measurement import Measurement, Simulated
from dp_cmdp._src.release.publish import amended, answered, attempted
from dp_cmdp._src.release.release import Release
from dp_cmdp._src.release.strategy import LinearQueries, Step, Strategy, WorstRow, first_entries

#: Where the robust answer loses less, relative, there is nothing to win.
NOTHING_TO_WIN = 1e-9
#: Losses are told apart to this share of the robust answer's: what differs by less is rounding.
DIGITS = 6
#: Losses are compared by their ratios, but below about this share: there is little left to win.
UNIMPORTANT = 0.01
#: Batches per worker: enough to even out, few enough that a problem is sent seldom.
BATCHES = 4
#: Quantiles between which noises of queries lie, trial by trial. In a choice the middle: neither
#: luck nor misfortune. In that of queries, databases are alike, and noise is what differs: thirds.
MIDDLE, THIRDS = ((0.2, 0.8),) * len(STRATA), ((1 / 3, 2 / 3), (0.0, 1 / 3), (2 / 3, 1.0))
#: Shares of ε for the entries that are tried: three, as between them losses are flat. On problems
#: that constants were chosen on, 1/10 mostly lost more than 1/5, and 9/10 never won.
SHARES = tuple(map(Fraction, ("1/5", "7/20", "13/20")))
#: (safety, shift) of queries in trials, and of those without a look at the entries.
USUAL = (1.0, 0.25)
#: (safety, shift) between which is chosen once the entries are known: safety says how much noise
#: the answer can pay, and no fixed one is right, as too little is dearer than too much.
QUERIES = LinearQueries(0.6, 0.0), LinearQueries(*USUAL), LinearQueries(1.4, 0.75)
WORST_ROWS = WorstRow(*USUAL), WorstRow(1.5, 1.0)
#: How many are tried again after each trial: strategies, and candidates once entries are known.
KEPT, KEPT_QUERIES = (4, 2, 1), (3, 3, 1)
#: Problems in which rows and entries meet so often, or more, are tried in short, once: a trial
#: tells more there, and an answer over queries takes 20 to 40 times as long as the robust one.
MANY_MEETINGS = 10_000
#: From here on a proposal, a program with a row and a variable per meeting, takes half a minute or
#: more: entries are released without a trial, and queries where they are asked for.
TOO_MANY_MEETINGS = 50_000


def spread(job: Callable[[range], list[Any]], count: int, workers: int) -> list[Any]:
    """job(0 … count − 1), in batches of numbers over processes of joblib."""
    if workers == 1:
        return job(range(count))
    from joblib import Parallel, delayed, effective_n_jobs

    size = max(1, -(-count // (BATCHES * max(1, effective_n_jobs(workers)))))
    batches = [range(first, min(first + size, count)) for first in range(0, count, size)]
    parts = Parallel(n_jobs=workers)(delayed(job)(batch) for batch in batches)
    return [found for part in parts for found in part or ()]


class Quantiles(np.random.Generator):
    """A stream whose uniform numbers lie between two quantiles."""

    def __init__(self, seed: list[int], low: float = 0.0, high: float = 1.0) -> None:
        super().__init__(np.random.PCG64(seed))
        self._low, self._high = low, high

    def random(self, *how: Any, **named: Any) -> Any:
        return self._low + (self._high - self._low) * super().random(*how, **named)


class Simulator:
    """A problem, the robust answer to it, what was published, and invented databases."""

    def __init__(
        self,
        problem: Problem,
        prior: Prior,
        *,
        seed: int = 0,
        robust: Answer | None = None,
        before: Release | None = None,
    ) -> None:
        self.problem, self.prior, self.seed = problem, prior, seed
        self.robust = robust or problem.answer(problem.envelope.uncertainty, certify=False)
        self.before = replace(before or Release(problem.envelope), simulated=True)
        #: Where the solver starts from in trials: answers are alike from one to the next.
        self.latest = self.robust
        published = self.before.outcomes
        self._belief = believed(problem, self.before, prior) if published else None
        self._trials: dict[int, Trial] = {}
        self._first: dict[Any, Any] = {}

    def trial(self, number: int) -> Trial:
        """Invented database `number`: believed after what was published, or of the strata."""
        if number not in self._trials:
            rng = np.random.default_rng([self.seed, number])
            if self._belief is not None:
                values, spans = self._belief.sample(rng), THIRDS
            else:
                values, spans = self.prior.sample(self.problem, rng, number), MIDDLE
            self._trials[number] = Trial(self, values, number, spans[number % len(spans)])
        return self._trials[number]

    def of(self, values: FloatArray, number: int) -> Trial:
        """A given database, and draw `number` of the noise."""
        return Trial(self, values, number)

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

    def measurement(self, before: Release, step: Step, budget: PrivacyBudget) -> Any:
        """What a step would measure; found once for all trials where they do not differ yet."""
        key = _key((step,), budget) if before is self.before else None
        if key in self._first:
            return self._first[key]
        found, _ = attempted(self.problem, before, step.propose, step.part(budget))
        if key is not None:
            self._first[key] = found
        return found


@dataclass(eq=False)
class Trial:
    """Releases and answers of one invented database.

    Noises of queries lie between the quantiles of `span`.
    """

    simulator: Simulator
    values: FloatArray
    number: int
    span: tuple[float, float] = (0.0, 1.0)
    releases: dict[Any, Release] = field(default_factory=dict)

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
        return replace(release, strategy_document=strategy.document(budget))

    def answer(
        self,
        strategy: Strategy,
        budget: PrivacyBudget,
        *,
        start: Answer | None = None,
        certify: bool = False,
    ) -> Answer:
        """The answer from that; the robust one where the solver gives up."""
        own, release = self.simulator, self.after(strategy.steps, budget)
        return answered(own.problem, release, own.robust, own.prior, start=start, certify=certify)

    def loss(self, strategy: Strategy, budget: PrivacyBudget) -> float:
        """(v* − v)/(v* − v_robust): 0 is as good as without privacy, 1 as without data."""
        try:
            answer = self.answer(strategy, budget, start=self.simulator.latest)
        except (SolverError, RefusedError, InvalidArgumentError):
            return 1.0
        if answer.source == "release":
            self.simulator.latest = answer
        lost = self.best - self.simulator.problem.value(answer.decision, self.values)
        return round(lost / (self.best - self.robust), DIGITS)

    def after(self, steps: tuple[Step, ...], budget: PrivacyBudget) -> Release:
        """What is published after some steps; the same for all strategies that begin so."""
        own = self.simulator
        if not steps:
            return own.before
        key = _key(steps, budget)
        if key not in self.releases:
            before = self.after(steps[:-1], budget)
            found = own.measurement(before, steps[-1], budget)
            if found is not None:
                query, seed = found.query, [own.seed, self.number, len(steps)]
                alone = query.linear and np.diff(query.weights.indptr).max(initial=0) <= 1
                rng = Quantiles(seed) if alone else Quantiles(seed, *self.span)
                before = before + found.draw(self.values, Simulated(rng))
            self.releases[key] = before
        return self.releases[key]


def _key(steps: tuple[Step, ...], budget: PrivacyBudget) -> Any:
    """Of equal steps the same; a user's proposal need not be hashable."""
    try:
        return hash(steps), steps, budget
    except TypeError:
        return tuple(map(id, steps)), budget


@dataclass(frozen=True)
class Score:
    """How a strategy did: losses as shares of the robust answer's loss, trial by trial.

    `taken` is what is done where it wins: what was tried, or queries chosen among more candidates.
    """

    strategy: Strategy
    taken: Strategy
    losses: tuple[float, ...] = ()

    @property
    def mean(self) -> float:
        """For databases that are alike."""
        return float(np.mean(self.losses)) if self.losses else 1.0

    @property
    def typical(self) -> float:
        """For databases that are not: the geometric mean, so that none decides by its size."""
        lost = np.maximum(self.losses, 0.0) + UNIMPORTANT
        return float(np.exp(np.log(lost).mean())) if self.losses else 1.0


def raced(
    simulator: Simulator,
    scores: Sequence[Score],
    budget: PrivacyBudget,
    kept: Sequence[int],
    by: Callable[[Score], float],
) -> Iterator[Score]:
    """Scores as trials find them, of so many after each that tells something; the best at last."""
    alive, left, number = list(scores), list(kept), 0
    while left and number < len(MIDDLE) and len(alive) > 1:
        trial, number = simulator.trial(number), number + 1
        if abs(trial.best - trial.robust) <= NOTHING_TO_WIN * (1.0 + abs(trial.best)):
            continue  # there is nothing to win
        for place, score in enumerate(alive):
            lost = trial.loss(score.strategy, budget)
            alive[place] = replace(score, losses=(*score.losses, lost))
            yield alive[place]
        better: dict[Strategy, Score] = {}
        for score in sorted(alive, key=by):
            better.setdefault(score.taken, score)  # one is enough of what is done alike
        alive = list(better.values())[: left.pop(0)]
    yield alive[0]


@dataclass(frozen=True)
class BestQueries:
    """Of several candidates the one that promises most, once something is published.

    They are compared on databases drawn from the belief.
    """

    candidates: tuple[LinearQueries, ...] = QUERIES + WORST_ROWS
    prior: Prior = NOTHING_KNOWN

    def __call__(
        self, problem: Problem, release: Release, budget: PrivacyBudget
    ) -> Measurement | None:
        simulator = Simulator(problem, self.prior, before=release)
        scores = []
        shared, many = meetings(problem)[0], problem.signs.nnz >= MANY_MEETINGS
        for candidate in self.candidates:
            if candidate.alone and shared <= 1:
                continue
            if many and (candidate.alone or (candidate.safety, candidate.shift) != USUAL):
                continue
            own = Strategy(Step(replace(candidate, prior=self.prior)), name=candidate.word)
            scores.append(Score(own, own))
        *_, best = raced(simulator, scores, budget, KEPT_QUERIES, attrgetter("mean"))
        return simulator.measurement(simulator.before, best.taken.steps[0], budget)


@dataclass(frozen=True)
class Choice:
    """The strategy chosen, and the scores of all that were tried."""

    strategy: Strategy
    scores: tuple[Score, ...] = ()

    def document(self) -> dict[str, Any]:
        """The scores as JSON, for the files of releases."""
        trials: list[dict[str, Any]] = []
        for score in self.scores:
            trials.append({"strategy": score.strategy.name, "losses": list(score.losses)})
        return {"trials": trials}

    @property
    def reason(self) -> str:
        """Why, in one sentence."""
        if not self.scores:
            return "nothing was tried: rows read one number each, or far too many"
        best, *others = sorted(self.scores, key=lambda score: (-len(score.losses), score.typical))
        plain = next(score for score in self.scores if len(score.strategy.steps) == 1)
        text = f"{best.taken} loses {best.mean:.0%} of what the robust answer does"
        if others:
            text += f", {plain.strategy} {plain.mean:.0%}"
        return f"on {len(best.losses)} invented databases {text}"


@cache
def menu(shared: bool, short: bool = False) -> tuple[Score, ...]:
    """What is tried, the plain release of the entries first; with `shared` records, worst rows."""
    found = [Strategy.entries()]
    found.append(Strategy.queries(share=0, safety=USUAL[0], shift=USUAL[1]))
    kinds: list[type[LinearQueries]] = [LinearQueries]
    if shared and not short:
        found.append(Strategy.worst_row(share=0, safety=USUAL[0], shift=USUAL[1]))
        kinds.append(WorstRow)
    scores = list(map(Score, found, found))
    for share in SHARES[1:] if short else SHARES:
        taken = Strategy.best_queries(share=share)
        for kind in kinds:
            steps = first_entries(share, kind(*USUAL, passes=1))
            scores.append(Score(Strategy(*steps, name=f"{kind.word}(share={share})"), taken))
    return tuple(scores)


def choose(simulator: Simulator, budget: PrivacyBudget, *, progress: bool = False) -> Choice:
    """The strategy that promises to lose least; the release of entries where nothing is solved."""
    signs = simulator.problem.signs
    short = signs.nnz >= MANY_MEETINGS
    shared, read, owned = meetings(simulator.problem)
    tried = menu(shared > 1, short)
    plain, prior = tried[0].taken, simulator.prior
    if signs.nnz >= TOO_MANY_MEETINGS or max(read, owned) <= 1:
        return Choice(plain)
    able: list[Score] = []
    for score in tried:
        with suppress(InvalidArgumentError):  # no exact noise is built for a part of the budget
            for step in score.taken.steps:
                Laplace.calibrate(Sensitivity(1, 1, 1, 1), step.part(budget))
            if prior.values is not None:
                score = Score(score.strategy.given(prior), score.taken.given(prior))
            able.append(score)
    found: dict[Strategy, Score] = {}
    best = able[0]
    try:
        race = raced(simulator, able, budget, KEPT[2:] if short else KEPT, attrgetter("typical"))
        if progress:
            from dp_cmdp._src.base.progress import with_bar

            total = len(able) + sum(KEPT)
            race = with_bar(race, progress, total=total, name="strategies")
        for score in race:
            found[score.strategy] = best = score
    except (SolverError, RefusedError):
        return Choice(plain)
    return Choice(best.taken if best.losses else plain, tuple(found.values()))


def meetings(problem: Problem) -> list[int]:
    """At most: rows that read a record, entries that a row reads, entries of a record.

    Where rows share no record, a query per row costs no more than the worst row; where rows read
    one entry each and records are one, a query is that entry.
    """
    change, signs = abs(problem.envelope.change), abs(problem.signs)
    most = []
    for matrix in (change @ signs.T, signs, change):
        most.append(int(np.diff(sparse.csr_array(matrix).indptr).max(initial=0)))
    return most


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
