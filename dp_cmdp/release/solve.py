"""Private answers: from a release, and in one call (check, plan, release, solve).

:func:`solve_private` sees the Release only. In one call, what can be refused is refused from public
data, before the ledger is debited and a value is read: another program's database, a program that
no point satisfies for every database, one whose objective may grow without limit. The check is the
*robust* answer itself, certified for the whole envelope (ε = 0). It is feasible for whatever the
release will say, so that after the debit there is always an answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from dp_cmdp import _check
from dp_cmdp._check import FloatArray
from dp_cmdp._door import door
from dp_cmdp._html import facts_table
from dp_cmdp.accounting.budget import PrivacyBudget
from dp_cmdp.accounting.ledger import PrivacyLedger
from dp_cmdp.data.database import Database
from dp_cmdp.data.polytope import Polytope
from dp_cmdp.data.release import Release
from dp_cmdp.errors import AssumptionError, InvalidArgumentError, SolverError
from dp_cmdp.program.certified import solve_certified
from dp_cmdp.program.linear_program import Solution, tight_slack
from dp_cmdp.program.parametric import ParametricLP
from dp_cmdp.program.polytope_rows import check_consistent
from dp_cmdp.release.block_plans import checked_entrywise
from dp_cmdp.release.looks import objective_estimate
from dp_cmdp.release.paid import Keep, carrying
from dp_cmdp.release.plan import Plan
from dp_cmdp.release.planned import release_for_checked
from dp_cmdp.release.planner import Choice


@dataclass(frozen=True, slots=True, eq=False)
class PrivateAnswer:
    """A private solution, what was released for it, and what costs no privacy at all.

    Attributes
    ----------
    solution : Solution
        Certified for everything the release allows, hence for the true database.
    release : Release
    robust : Solution
        Certified for every database of the envelope: made without data.
    choice : Choice
        The plan of the release, and the public trials it was chosen by.

    Notes
    -----
    **Privacy.** *Public*: safe to publish.

    Examples
    --------
    >>> from dp_cmdp import Affine, Database, Envelope, ParametricLP, PrivacyBudget
    >>> from dp_cmdp import release_and_solve
    >>> price = Affine((1, 2), at=([0, 0], [0, 1]), entry=[0, 1])
    >>> program = ParametricLP(Envelope(1, 2, radius=0.02, shape=2), c=[3, 2], A=price, b=[8])
    >>> database = Database([1.2, 1.1], program.envelope)
    >>> answer = release_and_solve(program, database, PrivacyBudget(1, "1/1000"))
    >>> print(answer.release.guarantee)
    (1, 0.001)-differential privacy when one entry changes by at most its radius
    """

    solution: Solution
    release: Release
    robust: Solution
    choice: Choice

    def __repr__(self) -> str:
        return f"PrivateAnswer({self.solution!r}, robust: {self.robust.objective:.10g})"

    def _repr_html_(self) -> str:
        facts = [
            ("objective", self.solution.objective),
            ("objective without data", self.robust.objective),
            ("plan", self.choice.plan),
            ("guarantee", self.release.guarantee),
        ]
        return facts_table("PrivateAnswer", facts) + self.solution._repr_html_()


@door
def release_and_solve(
    program: ParametricLP,
    database: Database,
    budget: PrivacyBudget,
    *,
    plan: str | Plan = "auto",
    guess: ArrayLike | None = None,
    rng: np.random.Generator | None = None,
    calibration: str | None = None,
    close: str | Mapping[str, str] | None = None,
    ledger: PrivacyLedger | None = None,
    progress: bool = False,
    keep: Keep | None = None,
) -> PrivateAnswer:
    """Check a program with private data, release facts about its database, and solve for them.

    Parameters
    ----------
    program : ParametricLP
    database : Database
        Of the program's envelope.
    budget : PrivacyBudget
    plan, guess, rng, calibration, close, ledger, progress
        As in :func:`dp_cmdp.release.planned.release_planned`; planning takes about as long as
        one to six private answers (``benchmarks/planning.py``).
    keep : callable, optional
        Gets the release as soon as there is one, before it is answered from: to write it to a
        disk, for example. Whatever is raised after the debit, Control-C too, carries the release
        as its attribute ``release``.

    Returns
    -------
    PrivateAnswer
        Both objectives are at the same estimate, so that they can be compared. Should the engine
        fail on the released program, `solution` is the robust one.

    Raises
    ------
    InvalidArgumentError
        If the database belongs to another program.
    AssumptionError
        If no x is feasible for every database of the envelope, or the objective may be unbounded
        for one of them. Like every other refusal, from public data: nothing is read or spent.

    Notes
    -----
    **Paper.** ``ass:feast``, ``thm:feasible``, corrected. **Privacy.** *Spends the budget*.

    Examples
    --------
    >>> from dp_cmdp import Affine, Database, Envelope, ParametricLP, PrivacyBudget
    >>> from dp_cmdp import release_and_solve
    >>> price = Affine((1, 2), at=([0, 0], [0, 1]), entry=[0, 1])
    >>> program = ParametricLP(Envelope(1, 2, radius=0.02, shape=2), c=[3, 2], A=price, b=[8])
    >>> database = Database([1.2, 1.1], program.envelope)
    >>> answer = release_and_solve(program, database, PrivacyBudget(1, "1/1000"))
    >>> answer.solution.certificate.verified
    True
    >>> answer.solution.objective >= answer.robust.objective  # with and without data
    True
    """
    program.check_owns(database)
    robust = robust_solution(program)
    release, choice = release_for_checked(
        database,
        budget,
        program=program,
        plan=plan,
        guess=guess,
        rng=rng,
        calibration=calibration,
        close=close,
        ledger=ledger,
        progress=progress,
        keep=keep,
    )
    with carrying(release):
        value = float(program.c.at(objective_estimate(program, release)) @ robust.x)
        robust = replace(robust, objective=value)
        try:
            solution = solve_private(program, release)
        except (SolverError, InvalidArgumentError):  # too tight for the engine to tell from none
            solution = _certified_over(program, release, robust)
        return PrivateAnswer(solution=solution, release=release, robust=robust, choice=choice)


def _certified_over(program: ParametricLP, release: Release, robust: Solution) -> Solution:
    """The robust answer with its certificate for what a release allows."""
    count = program.polytope_rows(release.polytope).num_multipliers
    slack = program.certain_slack(robust.x, release.polytope, multipliers=np.zeros(count))
    proof = robust.certificate and replace(
        robust.certificate, worst_slack=float(slack.min(initial=np.inf))
    )
    return replace(robust, certificate=proof, multipliers=_check.frozen(np.zeros(count)))


@door
def solve_private(program: ParametricLP, release: Release) -> Solution:
    """Solve the program so that its constraints hold for everything the release allows.

    Parameters
    ----------
    program : ParametricLP
    release : Release
        Of the database (``release_planned``, ``release_database``, ``release_looks``) or of the
        blocks (``release_blocks``) of `program`.

    Returns
    -------
    Solution
        With a certificate, in exact arithmetic, that A(θ)x ≤ b(θ) for every θ that satisfies the
        released facts, hence for the true database.

    Notes
    -----
    **Paper.** ``opt:DP``, ``thm:feasible``. **Privacy.** *Post-processing*: no private
    value is seen.

    Examples
    --------
    >>> from dp_cmdp import Affine, Database, Envelope, ParametricLP, PrivacyBudget
    >>> from dp_cmdp import release_database, solve_private
    >>> price = Affine((1, 2), at=([0, 0], [0, 1]), entry=[0, 1])
    >>> program = ParametricLP(Envelope(1, 2, radius=0.02, shape=2), c=[3, 2], A=price, b=[8])
    >>> database = Database([1.2, 1.1], program.envelope)
    >>> release = release_database(database, PrivacyBudget(1, "1/1000"))
    >>> solve_private(program, release).certificate.verified
    True
    """
    target = program if release.method == "database" else checked_entrywise(program)
    release.check_fits(target.envelope)
    return solve_over(target, release.polytope, estimate=objective_estimate(target, release))


@door
def robust_solution(program: ParametricLP) -> Solution:
    """The best point that is feasible for every database of the envelope (ε = 0), certified.

    The objective is that of the middle of the envelope.

    Raises
    ------
    AssumptionError
        If there is none, or the objective may be unbounded for some database.

    Notes
    -----
    **Paper.** ``ass:feast``, corrected. **Privacy.** *Public*: no data is read.
    """
    program.check_robust_feasibility()
    program.check_boundedness()
    low, high = program.envelope.lower, program.envelope.upper
    try:
        return solve_over(program, Polytope(low, high))
    except SolverError as error:
        raise AssumptionError(
            f"no point could be certified for every database in the envelope: {error}. No data "
            "was read",
            label="ass:feast",
        ) from None


def solve_over(
    program: ParametricLP, polytope: Polytope, *, estimate: FloatArray | None = None
) -> Solution:
    """The best point for every database of a polytope, certified; without auxiliary variables."""
    check_consistent(polytope)
    n, rows = program.num_variables, program.A.shape[0] + program.b_ub.size
    uncertain = program.polytope_rows(polytope)
    count = uncertain.num_multipliers

    def slack_of(x: FloatArray) -> FloatArray:
        sensitive = uncertain.tight_slack(x[:n], np.maximum(x[x.size - count :], 0.0))
        return np.concatenate([sensitive, tight_slack(program.A_ub, program.b_ub, x=x[:n])])

    middle = (polytope.lower + polytope.upper) / 2 if estimate is None else estimate
    lp = program.with_rows(uncertain.counterpart(), program.c.at(middle))
    solution = solve_certified(lp, slack_of=slack_of)
    return replace(
        solution,
        x=_check.frozen(solution.x[:n]),
        dual=solution.dual[:rows],
        multipliers=_check.frozen(np.maximum(solution.x[solution.x.size - count :], 0.0)),
        variables=program.variables,
    )
