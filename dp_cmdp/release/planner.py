"""Which plan suits a program: chosen from public data, before anything is read.

Plans are tried on databases drawn from a public prior (or around a public guess), with common
random numbers. The score of a trial is (v* − v)/(v* − v_robust): 0 is as good as without privacy, 1
as the robust answer, which uses no data. After each trial the worse half of the plans for totals is
dropped; the database release stays. The best plan for totals is taken when its mean score is
clearly below that of the database release, which loses something in at least two trials (one alone
would decide by chance); otherwise the database release is. Trials are few, so a plan that rests on
more than they show must do a little better than the others: without a look at the entries
everything rests on the prior, and with little caution an unlucky noise is dear.

The prior: entries stand at a level l of their bounds, Beta(al, a(1 − l)) each, so that small a
makes some entries large and most small; entries that only widen a row (tolerances) are uniform.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from dp_cmdp import _check
from dp_cmdp._check import FloatArray
from dp_cmdp._door import door
from dp_cmdp._html import rows_table
from dp_cmdp._progress import with_bar
from dp_cmdp.accounting.budget import PrivacyBudget
from dp_cmdp.data.database import Database
from dp_cmdp.data.polytope import Polytope
from dp_cmdp.errors import InvalidArgumentError, SolverError
from dp_cmdp.noise.certificate import checked_budget
from dp_cmdp.program.parametric import ParametricLP
from dp_cmdp.program.polytope_rows import PolytopeRows
from dp_cmdp.release.looks import (
    checked_guess,
    objective_estimate,
    propose_totals,
    public_release,
    release_looks,
)
from dp_cmdp.release.plan import DATABASE, MENU, SHORT_MENU, Plan, check_menu
from dp_cmdp.release.proposal import Solver, solve_rows, solved

if TYPE_CHECKING:
    import pandas as pd

#: (level, concentration) of the prior in each trial; with five plans, ten trial runs in all.
LEVELS = ((0.35, 2.0), (0.35, 0.5), (0.5, 2.0))
#: Totals are measured when they promise to lose at most this share of what entries lose, …
GUARD = 0.9
#: … and entries lose something in so many trials: one alone would decide by chance.
TELLING = 2
#: A score below this is none: what differs is rounding.
NOTHING = 1e-6
#: Among plans for totals, scores count by so much more: of those without a look at the entries, …
WITHOUT_LOOK = 1.1
#: … and of those whose caution is below 1.5 supports.
WITH_LITTLE_CAUTION = 1.05
#: Standard deviation of the databases around a public guess, as a share of their bounds.
AROUND_GUESS = 0.1
PLANS = ("auto", "database", "totals")


@dataclass(frozen=True, slots=True)
class Score:
    """How a plan did in its trials: losses as shares of the robust answer's loss."""

    plan: Plan
    losses: tuple[float, ...]

    @property
    def mean(self) -> float:
        return float(np.mean(self.losses))

    @property
    def weighed(self) -> float:
        """The mean, more where the plan rests on what trials do not show; 0 if next to nothing."""
        if self.mean <= NOTHING:
            return 0.0
        if self.plan.share == 0:
            return WITHOUT_LOOK * self.mean
        return self.mean * (WITH_LITTLE_CAUTION if self.plan.caution < 1.5 else 1.0)


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
        tried = [{"plan": str(score.plan), "losses": list(score.losses)} for score in self.scores]
        return self.plan.facts() | {"trials": tried}

    def _database(self, trials: int) -> float:
        """The mean score of the database release in the first trials."""
        losses = next((score.losses for score in self.scores if score.plan == DATABASE), ())
        return float(np.mean(losses[:trials]))

    def _repr_html_(self) -> str:
        frame = self.to_frame()
        rows = frame.itertuples(index=False)
        return rows_table(f"Choice: {self.plan}", list(frame.columns), rows, count=len(frame))

    def to_frame(self) -> pd.DataFrame:
        """One row per plan tried: its mean score, and that of the database release in those trials.

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
                "loss": [score.mean for score in self.scores],
                "database": [self._database(len(score.losses)) for score in self.scores],
                "trials": [len(score.losses) for score in self.scores],
                "chosen": [score.plan == self.plan for score in self.scores],
            }
        )


@door
def choose_plan(
    program: ParametricLP,
    budget: PrivacyBudget,
    *,
    menu: Sequence[Plan] = MENU,
    guess: ArrayLike | None = None,
    guard: float | None = GUARD,
    seed: int = 0,
    solver: Solver = solve_rows,
    short: bool = False,
    progress: bool = False,
) -> Choice:
    """The plan that promises to lose least, from public data alone.

    Parameters
    ----------
    program : ParametricLP
    budget : PrivacyBudget
    menu : sequence of Plan
    guess : array_like, optional
        A public guess of the database, within its bounds, around which plans are tried.
    guard : float
        A plan for totals is taken when its mean score is at most this share of the database
        release's; None: always.
    seed : int
    solver : callable
        Solves the programs of the trials; HiGHS by default.
    short : bool
        One trial only, in which no program over totals is solved: for programs whose solves are
        long.
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
    plans = [plan for plan in check_menu(menu) if _measurable(plan, budget)]
    losses: dict[Plan, list[float]] = {plan: [] for plan in (DATABASE, *plans)}
    count = 1 if short else len(LEVELS)

    def runs() -> Iterator[None]:
        trials = Trials(program, guess=guess, seed=seed, solver=solver, short=short)
        for trial in range(count):
            for plan, loss in trials.losses(trial, budget, (DATABASE, *plans)):
                losses[plan].append(loss)
                yield
            plans.sort(key=lambda plan: (Score(plan, tuple(losses[plan])).weighed, plan.share == 0))
            del plans[_kept(len(plans)) :]

    for _ in with_bar(runs(), progress, total=_num_runs(len(plans), count), name="plans"):
        pass
    scores = {plan: Score(plan, tuple(part)) for plan, part in losses.items()}
    chosen = DATABASE
    if plans and (guard is None or _promises(scores[plans[0]], scores[DATABASE], guard)):
        chosen = plans[0]
    return Choice(chosen, tuple(scores.values()))


def planned(
    plan: str | Plan,
    program: ParametricLP,
    budget: PrivacyBudget,
    *,
    guess: ArrayLike | None = None,
    seed: int = 0,
    solver: Solver = solve_rows,
    short: bool = False,
    progress: bool = False,
) -> Choice:
    """The plan meant by a word: "auto", "database" or "totals" (the best plan that has some).

    `short`: two plans for totals, and one trial, for programs whose solves are long. Where the
    trials cannot be solved, "auto" is the database release.
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
            menu=SHORT_MENU if short else MENU,
            guess=guess,
            guard=GUARD if plan == "auto" else None,
            seed=seed,
            solver=solver,
            short=short,
            progress=progress,
        )
    except SolverError:
        if plan == "auto":
            return Choice(DATABASE, ())
        raise


def prior_database(
    program: ParametricLP,
    rng: np.random.Generator,
    *,
    level: float,
    concentration: float,
    guess: ArrayLike | None = None,
) -> FloatArray:
    """A database drawn from the public prior, or around a guess."""
    envelope, pairs = program.envelope, program.uncertain_rows
    width = envelope.upper - envelope.lower
    centre = checked_guess(envelope, guess)
    if centre is not None:
        moved = centre + AROUND_GUESS * width * rng.standard_normal(width.size)
        return np.clip(moved, envelope.lower, envelope.upper)
    share = rng.beta(concentration * level, concentration * (1.0 - level), size=width.size)
    widening = np.ones(width.size, dtype=bool)
    widening[pairs.entry[pairs.signs() >= 0]] = False
    widening[program.c.entry] = False
    share = np.where(widening, rng.random(width.size), share).round(6)  # no entries of 1e-30
    return np.clip(envelope.lower + share * width, envelope.lower, envelope.upper)


def _kept(plans: int) -> int:
    """How many plans for totals are left after a trial."""
    return max(1, plans // 2)


def _num_runs(plans: int, trials: int) -> int:
    """Trial runs in all: those of the database release and of the plans left in each trial."""
    return 0 if trials == 0 else 1 + plans + _num_runs(min(plans, _kept(plans)), trials - 1)


def _promises(totals: Score, database: Score, guard: float) -> bool:
    """Whether totals lose clearly less; not where entries lose nothing in nearly all trials."""
    telling = sum(loss > NOTHING for loss in database.losses)
    is_told = telling >= min(TELLING, len(database.losses))
    return is_told and totals.mean <= guard * database.mean


def _measurable(plan: Plan, budget: PrivacyBudget) -> bool:
    """Whether a plan measures totals, with a budget for which exact noise is built."""
    _, totals = plan.budgets(budget)
    try:
        return totals is not None and bool(checked_budget(totals.epsilon, totals.delta))
    except InvalidArgumentError:
        return False


class Trials:
    """Public databases on which plans are tried; trial t is the same for every budget and plan.

    In `short` trials the answer that totals are proposed for stands for the answer over them.

    Notes
    -----
    **Privacy.** *Public*.
    """

    def __init__(
        self,
        program: ParametricLP,
        *,
        guess: ArrayLike | None,
        seed: int,
        solver: Solver,
        short: bool = False,
    ) -> None:
        _check.seed("seed", seed)
        self._short = short
        envelope = program.envelope
        self._program, self._seed, self._solver = program, seed, solver
        self._guess = checked_guess(envelope, guess)
        public = Polytope(envelope.lower, envelope.upper)
        self._robust = self._best(public, (envelope.lower + envelope.upper) / 2)

    def losses(
        self, trial: int, budget: PrivacyBudget, plans: Sequence[Plan]
    ) -> Iterator[tuple[Plan, float]]:
        """What each plan loses, as a share of what the robust answer loses."""
        program = self._program
        level, concentration = LEVELS[trial % len(LEVELS)]
        rng = np.random.default_rng([self._seed, trial])
        theta = prior_database(
            program, rng, level=level, concentration=concentration, guess=self._guess
        )
        objective = program.c.at(theta)
        best = float(objective @ self._best(Polytope(theta, theta), theta))
        lost = best - float(objective @ self._robust)
        nothing = lost <= 1e-9 * (1.0 + abs(best))
        for plan in plans:
            x = self._robust if nothing else self._answer(theta, trial, budget, plan)
            yield plan, 0.0 if nothing else (best - float(objective @ x)) / lost

    def _answer(
        self, theta: FloatArray, trial: int, budget: PrivacyBudget, plan: Plan
    ) -> FloatArray:
        """The answer of one trial; the robust one where the solver gives up."""
        program, rng = self._program, np.random.default_rng([self._seed, trial, 1])
        database = Database(theta, program.envelope)
        try:
            if self._short and plan.measures_totals:
                return self._proposed(database, budget, plan, rng)
            release = release_looks(
                database,
                budget,
                program=program,
                plan=plan,
                guess=self._guess,
                rng=rng,
                solver=self._solver,
            )
            return self._best(release.polytope, objective_estimate(program, release))
        except SolverError:
            return self._robust

    def _proposed(
        self, database: Database, budget: PrivacyBudget, plan: Plan, rng: np.random.Generator
    ) -> FloatArray:
        """The answer that the totals are proposed for: it pays for more than their usual noise."""
        program = self._program
        first, second = plan.budgets(budget)
        seen = public_release(program.envelope, self._guess)
        if first is not None:
            looked = Plan(1)
            seen = release_looks(database, first, program=program, plan=looked, rng=rng)
        found = second and propose_totals(program, seen, second, plan=plan, solver=self._solver)
        return found.x if found else self._robust

    def _best(self, polytope: Polytope, estimate: FloatArray) -> FloatArray:
        rows = PolytopeRows(self._program.uncertain_rows, polytope)
        return solved(self._solver, self._program, rows, self._program.c.at(estimate))[0]
