"""Which strategy suits a problem: chosen from public data, before anything is read.

Strategies are tried on invented databases (:mod:`dp_cmdp._src.release.simulate`). In the first
trial queries are proposed as each strategy would have it; of the two whose proposed answers are
best, the answers over measured queries are found, and the better one is tried again. It is taken
when it loses clearly less than the plain release of the entries; otherwise, or where that loses
something in fewer than two of three trials (one alone would decide by chance), the plain release
is. Trials
are few, so a strategy that rests on more than they show must do a little better than the others:
without a look at the entries everything rests on the prior, and with a small safety factor an
unlucky noise is dear.

Where proposals take long, the choice is *short*: one trial, three strategies, judged by their
proposed answers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dp_cmdp._src.accounting.budget import PrivacyBudget
from dp_cmdp._src.base.errors import InvalidArgumentError, RefusedError, SolverError
from dp_cmdp._src.base.progress import with_bar
from dp_cmdp._src.noise.laws import Laplace, Sensitivity
from dp_cmdp._src.release.belief import STRATA
from dp_cmdp._src.release.publish import tells_nothing
from dp_cmdp._src.release.simulate import Simulator, Trial
from dp_cmdp._src.release.strategy import MENU, SHORT_MENU, LinearQueries, Strategy

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
    def rank(self) -> tuple[float, bool]:
        """The lower, the better: what is predicted, more where trials do not show everything."""
        lost = 0.0 if self.predicted <= NOTHING else self.predicted
        if len(self.strategy.steps) == 1:
            return WITHOUT_LOOK * lost, True
        propose: Any = self.strategy.steps[-1].propose
        return lost * (WITH_LITTLE_CAUTION if propose.safety < 1.5 else 1.0), False


@dataclass(frozen=True)
class Choice:
    """The strategy chosen, and the scores of all that were tried."""

    strategy: Strategy
    scores: tuple[Score, ...] = ()

    def document(self) -> dict[str, Any]:
        """The scores as JSON, for the files of releases."""
        return {
            "trials": [
                {
                    "strategy": score.strategy.name,
                    "proposed": score.proposed,
                    "losses": list(score.losses),
                }
                for score in self.scores
            ]
        }


def choose(simulator: Simulator, budget: PrivacyBudget, *, progress: bool = False) -> Choice:
    """The strategy that promises to lose least; the release of entries where nothing is solved."""
    short = simulator.problem.signs.nnz >= MANY_MEETINGS
    plain, *menu = (s.given(simulator.prior) for s in (SHORT_MENU if short else MENU))
    menu = [strategy for strategy in menu if _possible(strategy, budget)]
    scores: dict[Strategy, Score] = {}
    tried = _tried(simulator, budget, plain, menu, short=short)
    steps = 1 + len(menu) + (0 if short else min(FINALISTS, len(menu)) + TRIALS - 1)
    try:
        for score in with_bar(tried, progress, total=steps, name="strategies"):
            scores[score.strategy] = score
    except (SolverError, RefusedError):
        return Choice(plain)
    # of those tried most, the one that promises most
    others = [score for score in scores.values() if score.strategy is not plain]
    best = min(others, key=lambda s: (-len(s.losses), *s.rank), default=None)
    losses = scores[plain].losses
    threshold = GUARD * (float(np.mean(losses)) if losses else 0.0)
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
    count = 1 if short else TRIALS
    telling = _telling(simulator, budget, plain, count=count, most=1 if short else len(STRATA))
    yield Score(plain, tuple(trial.loss(plain, budget) for trial in telling))
    if len(telling) < count:
        return
    first = telling[0]
    proposed = [Score(s, proposed=first.proposed_loss(s, budget)) for s in menu]
    yield from proposed
    if short:
        return
    able = [score for score in proposed if score.proposed is not None]
    finalists = sorted(able, key=lambda score: score.rank)[:FINALISTS]
    answered = [replace(s, losses=(first.loss(s.strategy, budget),)) for s in finalists]
    yield from answered
    if answered:
        best = min(answered, key=lambda score: score.rank)
        later = (trial.loss(best.strategy, budget) for trial in telling[1:])
        yield replace(best, losses=(*best.losses, *later))


def _telling(
    simulator: Simulator, budget: PrivacyBudget, plain: Strategy, *, count: int, most: int
) -> list[Trial]:
    """The first trials in which the plain release loses something, of a few."""
    found: list[Trial] = []
    for number in range(most):
        trial = simulator.trial(number)
        if trial.loss(plain, budget) > NOTHING:
            found.append(trial)
        if len(found) == count:
            break
    return found


def _possible(strategy: Strategy, budget: PrivacyBudget) -> bool:
    """Whether exact noise is built for the parts of the budget."""
    try:
        for step in strategy.steps:
            Laplace.calibrate(Sensitivity(1, 1, 1, 1), step.part(budget))
    except InvalidArgumentError:
        return False
    return isinstance(strategy.steps[-1].propose, LinearQueries)


def promises_nothing(simulator: Simulator, strategy: Strategy, budget: PrivacyBudget) -> bool:
    """Whether the releases of all invented databases leave the whole envelope possible."""
    problem, steps = simulator.problem, strategy.steps
    if not problem.signs.nnz:
        return False
    parts = [steps[:count] for count in range(1, len(steps) + 1)]
    trials = (simulator.trial(number) for number in range(len(STRATA)))
    return all(tells_nothing(problem, t.after(part, budget)) for t in trials for part in parts)
