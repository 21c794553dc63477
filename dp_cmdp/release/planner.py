"""Which plan suits a program: chosen from public data, before anything is read.

Plans are tried on databases drawn from a public prior, or around a public guess
(:mod:`dp_cmdp.release.trials`). In the first trial totals are proposed as each plan would have it;
of the two plans whose proposed answers are best, the answers over measured totals are found, and
the better one is tried again. It is taken when it loses clearly less than the database release;
otherwise, or where the database release loses something in fewer than two of three trials (one
alone would decide by chance), the database release is. Trials are few, so a plan that rests on more
than they show must do a little better than the others: without a look at the entries everything
rests on the prior, and with little caution an unlucky noise is dear.

With the four plans for totals of the menu that is eight solves over totals, five more that start
next to their answer, and five to seven over boxes, which share their bases. Where proposals take
long, planning is *short*: one trial, three plans for totals, judged by their proposed answers. What
that takes in private answers is measured by ``benchmarks/planning.py``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from dp_cmdp import _check
from dp_cmdp._door import door
from dp_cmdp._html import rows_table
from dp_cmdp._progress import with_bar
from dp_cmdp.accounting.budget import PrivacyBudget
from dp_cmdp.errors import InvalidArgumentError, SolverError
from dp_cmdp.noise.certificate import checked_budget
from dp_cmdp.program.parametric import ParametricLP
from dp_cmdp.release.looks import checked_guess
from dp_cmdp.release.plan import DATABASE, MENU, SHORT_MENU, Plan, check_menu
from dp_cmdp.release.row_solver import Solver
from dp_cmdp.release.trials import LEVELS, Trial, Trials

if TYPE_CHECKING:
    import pandas as pd

#: Trials of a choice, in each of which the database release loses something.
TRIALS = 2
#: Totals are measured when they promise to lose at most this share of what entries lose.
GUARD = 0.85
#: A score below this is none: what differs is rounding.
NOTHING = 1e-6
#: Plans for totals whose answers over measured totals are found in the first trial.
FINALISTS = 2
#: Among plans for totals, losses count by so much more: of those without a look at the entries, …
WITHOUT_LOOK = 1.1
#: … and of those whose caution is below 1.5 supports.
WITH_LITTLE_CAUTION = 1.05
#: Programs in which rows and entries meet so often, or more, are planned in short: a trial tells
#: more there, and proposals take longer than answers (auctions of 300 and 1,000 groups).
MANY_MEETINGS = 1_000
PLANS = ("auto", "database", "totals")


@dataclass(frozen=True, slots=True)
class Score:
    """How a plan did in its trials: losses as shares of the robust answer's loss.

    Parameters
    ----------
    plan : Plan
    losses : tuple of float
        Of its answers, trial by trial; none of a plan that was not kept.
    proposed : float, optional
        Of the answer that totals were proposed for in the first trial; None where there was
        nothing to measure: such a plan is a database release with less of the budget.

    Examples
    --------
    >>> from dp_cmdp import Plan
    >>> from dp_cmdp.release.planner import Score
    >>> Score(Plan("0.25"), losses=(0.25, 0.75)).predicted
    0.5
    >>> Score(Plan("0.25"), proposed=0.5).predicted  # not tried, only proposed
    0.5
    """

    plan: Plan
    losses: tuple[float, ...] = ()
    proposed: float | None = None

    @property
    def mean(self) -> float:
        return float(np.mean(self.losses)) if self.losses else 0.0

    @property
    def predicted(self) -> float:
        """The mean loss of its answers, or else that of the proposed one."""
        if self.losses:
            return self.mean
        return math.inf if self.proposed is None else self.proposed

    @property
    def rank(self) -> tuple[float, bool]:
        """The lower, the better: what is predicted, more where trials do not show everything."""
        lost = 0.0 if self.predicted <= NOTHING else self.predicted
        if self.plan.share == 0:
            return WITHOUT_LOOK * lost, True
        return lost * (WITH_LITTLE_CAUTION if self.plan.caution < 1.5 else 1.0), False


@dataclass(frozen=True, slots=True)
class Choice:
    """The plan chosen, and the scores of all that were tried, the chosen one among them.

    Notes
    -----
    **Privacy.** *Public*.

    Examples
    --------
    >>> from dp_cmdp import Affine, Envelope, ParametricLP, PrivacyBudget, choose_plan
    >>> price = Affine((1, 2), at=([0, 0], [0, 1]), entry=[0, 1])
    >>> program = ParametricLP(Envelope(1, 2, radius=0.02, shape=2), c=[3, 2], A=price, b=[8])
    >>> choice = choose_plan(program, PrivacyBudget(1, "1/1000"))
    >>> len(choice.scores)
    5
    """

    plan: Plan
    scores: tuple[Score, ...]

    def facts(self) -> dict[str, Any]:
        """The plan and the scores of the trials, ready for JSON."""
        tried = [
            {"plan": str(score.plan), "proposed": score.proposed, "losses": list(score.losses)}
            for score in self.scores
        ]
        return self.plan.facts() | {"trials": tried}

    def _repr_html_(self) -> str:
        frame = self.to_frame()
        rows = frame.itertuples(index=False)
        return rows_table(f"Choice: {self.plan}", list(frame.columns), rows, count=len(frame))

    def to_frame(self) -> pd.DataFrame:
        """One row per plan tried: the loss of its proposed answer, and the mean of its answers.

        Examples
        --------
        >>> from dp_cmdp import Affine, Envelope, ParametricLP, Plan, PrivacyBudget, choose_plan
        >>> price = Affine((1, 2), at=([0, 0], [0, 1]), entry=[0, 1])
        >>> program = ParametricLP(Envelope(1, 2, radius=0.02, shape=2), c=[3, 2], A=price, b=[8])
        >>> choice = choose_plan(program, PrivacyBudget(1, "1/1000"), menu=[Plan(1), Plan(0)])
        >>> choice.to_frame()[["plan", "chosen"]]
                                              plan  chosen
        0                                 database    True
        1  totals(share=0, caution=1.25, lift=0.5)   False
        """
        import pandas as pd

        return pd.DataFrame(
            {
                "plan": [str(score.plan) for score in self.scores],
                "proposed": [score.proposed for score in self.scores],
                "loss": [score.mean if score.losses else None for score in self.scores],
                "trials": [len(score.losses) for score in self.scores],
                "chosen": [score.plan == self.plan for score in self.scores],
            }
        )


@door
def choose_plan(
    program: ParametricLP,
    budget: PrivacyBudget,
    *,
    menu: Sequence[Plan] | None = None,
    guess: ArrayLike | None = None,
    guard: float | None = GUARD,
    seed: int = 0,
    solver: Solver | None = None,
    short: bool | None = None,
    progress: bool = False,
) -> Choice:
    """The plan that promises to lose least, from public data alone.

    Parameters
    ----------
    program : ParametricLP
    budget : PrivacyBudget
    menu : sequence of Plan, optional
        By default :data:`~dp_cmdp.release.plan.MENU`, or its short form.
    guess : array_like, optional
        A public guess of the database, within its bounds, around which plans are tried.
    guard : float
        A plan for totals is taken when its mean score is at most this share of the database
        release's; None: always.
    seed : int
    solver : callable, optional
        Solves the programs of the trials; HiGHS by default. Releases of a CMDP take
        :func:`dp_cmdp.cmdp.facts_synthesis.row_solver` of their model.
    short : bool, optional
        One trial only, in which no program over measured totals is solved: by default where
        rows and entries meet a thousand times or more, and proposals take long.
    progress : bool
        Show a bar when it takes longer than two seconds.

    Notes
    -----
    **Privacy.** *Public*: no data is read.

    Examples
    --------
    >>> from dp_cmdp import Affine, Envelope, ParametricLP, PrivacyBudget, choose_plan
    >>> price = Affine((1, 2), at=([0, 0], [0, 1]), entry=[0, 1])
    >>> program = ParametricLP(Envelope(1, 2, radius=0.02, shape=2), c=[3, 2], A=price, b=[8])
    >>> choice = choose_plan(program, PrivacyBudget(1, "1/1000"))
    >>> choice.to_frame()[["plan", "chosen"]]
                                             plan  chosen
    0                                    database    True
    1     totals(share=0, caution=1.25, lift=0.5)   False
    2  totals(share=0.35, caution=1.25, lift=0.5)   False
    3     totals(share=0.35, caution=1.5, lift=1)   False
    4     totals(share=0.65, caution=1.5, lift=1)   False
    """
    if guard is not None:
        _check.real("guard", guard, low=0.0)
    if short is None:
        short = program.uncertain_rows.entry.size >= MANY_MEETINGS
    if menu is None:
        menu = SHORT_MENU if short else MENU
    plans = [plan for plan in check_menu(menu) if _measurable(plan, budget)]
    scores: dict[Plan, Score] = {}

    def tried() -> Iterator[Score]:
        trials = Trials(program, guess=guess, seed=seed, solver=solver)
        return _tried(trials, budget, plans, short=short, undecided=guard is not None)

    steps = 1 + len(plans) + (0 if short else min(FINALISTS, len(plans)) + TRIALS - 1)
    for score in with_bar(tried(), progress, total=steps, name="plans"):
        scores[score.plan] = score
    chosen = _best(scores.values())
    if guard is not None and chosen.predicted > guard * scores[DATABASE].mean:
        chosen = scores[DATABASE]
    return Choice(chosen.plan, tuple(scores.values()))


def planned(
    plan: str | Plan,
    program: ParametricLP,
    budget: PrivacyBudget,
    *,
    guess: ArrayLike | None = None,
    seed: int = 0,
    solver: Solver | None = None,
    short: bool = False,
    progress: bool = False,
) -> Choice:
    """The plan meant by a word: "auto", "database" or "totals" (the best plan that has some).

    Where the trials cannot be solved, "auto" is the database release.
    """
    checked_guess(program.envelope, guess)
    if isinstance(plan, Plan):
        return Choice(plan, ())
    if _check.one_of("plan", plan, PLANS) == "database":
        return Choice(DATABASE, ())
    try:
        return choose_plan(
            program,
            budget,
            guess=guess,
            guard=GUARD if plan == "auto" else None,
            seed=seed,
            solver=solver,
            short=short or None,
            progress=progress,
        )
    except SolverError:
        if plan == "auto":
            return Choice(DATABASE, ())
        raise


def _tried(
    trials: Trials,
    budget: PrivacyBudget,
    plans: Sequence[Plan],
    *,
    short: bool,
    undecided: bool,
) -> Iterator[Score]:
    """Scores of the database release and of plans for totals, those of the better ones again."""
    count = 1 if short else TRIALS
    told = _telling(trials, budget, count=count, most=1 if short else len(LEVELS))
    yield Score(DATABASE, tuple(trial.loss(DATABASE) for trial in told))
    if undecided and len(told) < count:
        return
    first = told[0] if told else trials.trial(0, budget)
    proposed = [Score(plan, proposed=first.proposed_loss(plan)) for plan in plans]
    yield from proposed
    if short:
        return
    able = [score for score in proposed if score.proposed is not None]
    finalists = sorted(able, key=lambda score: score.rank)[:FINALISTS]
    answered = [replace(score, losses=(first.loss(score.plan),)) for score in finalists]
    yield from answered
    if answered:
        best = min(answered, key=lambda score: score.rank)
        later = (trial.loss(best.plan) for trial in told[1:])
        yield replace(best, losses=(*best.losses, *later))


def _telling(trials: Trials, budget: PrivacyBudget, *, count: int, most: int) -> list[Trial]:
    """The first trials in which the database release loses something, of a few."""
    told: list[Trial] = []
    for number in range(most):
        trial = trials.trial(number, budget)
        if trial.loss(DATABASE) > NOTHING:
            told.append(trial)
        if len(told) == count:
            break
    return told


def _best(scores: Iterable[Score]) -> Score:
    """Of the plans for totals that were tried most, the one that promises most."""
    totals = [score for score in scores if score.plan != DATABASE]
    if not totals:
        return next(iter(scores))
    return min(totals, key=lambda score: (-len(score.losses), *score.rank))


def _measurable(plan: Plan, budget: PrivacyBudget) -> bool:
    """Whether a plan measures totals, and exact noise is built for the budgets of its looks."""
    try:
        for part in filter(None, plan.budgets(budget)):
            checked_budget(part.epsilon, part.delta)
    except InvalidArgumentError:
        return False
    return plan.measures_totals
