"""Check on public data, spend, answer: a cvxpy problem solved with private values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import cvxpy as cp
import numpy as np

from dp_cmdp._door import door
from dp_cmdp.accounting.budget import Number, PrivacyBudget
from dp_cmdp.accounting.ledger import PrivacyLedger
from dp_cmdp.data.database import Database
from dp_cmdp.data.release import Release
from dp_cmdp.errors import AssumptionError, InvalidArgumentError, SolverError
from dp_cmdp.frontends.cvxpy.compiled import CompiledProblem, compile
from dp_cmdp.frontends.cvxpy.curved import curved_over, robust_curved
from dp_cmdp.frontends.cvxpy.user_words import in_user_words
from dp_cmdp.frontends.cvxpy.values import deferred_database
from dp_cmdp.program.linear_program import FeasibilityCertificate, Solution
from dp_cmdp.program.parametric import ParametricLP
from dp_cmdp.release.looks import checked_guess, objective_estimate
from dp_cmdp.release.paid import carrying, handed_on
from dp_cmdp.release.plan import Plan
from dp_cmdp.release.planned import release_for_checked
from dp_cmdp.release.planner import Choice
from dp_cmdp.release.solve import release_and_solve, robust_solution

#: Answer, robust answer, release, choice of its plan.
_Parts = tuple[Solution, Solution, Release, Choice | None]


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """A private answer to a cvxpy problem; the variables of the problem hold it too.

    Attributes
    ----------
    value : float
        The objective at the answer and the *released estimate* of the private values: what
        ``problem.value`` says.
    robust_value : float
        The same of the best answer without any data (ε = 0): what a release must beat.
    solution, robust : Solution
        Both answers in the variables of `program`, certified.
    release : Release
    program : ParametricLP
    choice : Choice or None
        How the plan of the release was chosen; None for curved objectives.

    Notes
    -----
    **Privacy.** *Public*: safe to publish.

    Examples
    --------
    >>> import cvxpy as cp
    >>> import dp_cmdp as dp
    >>> capacity = dp.cvxpy.PrivateParameter(3, lower=1, upper=10, radius=0.2)
    >>> flow = cp.Variable(3, nonneg=True)
    >>> problem = cp.Problem(cp.Maximize(cp.sum(flow)), [flow <= capacity])
    >>> answer = dp.cvxpy.solve(problem, {capacity: [4, 6, 8]}, epsilon=1, delta="1/1000")
    >>> answer.value >= answer.robust_value
    True
    """

    value: float
    robust_value: float
    solution: Solution
    robust: Solution
    release: Release
    program: ParametricLP
    choice: Choice | None

    @property
    def certificate(self) -> FeasibilityCertificate | None:
        """Proof that every inequality holds for all data that the release allows."""
        return self.solution.certificate

    def __repr__(self) -> str:
        return f"Answer(value={self.value:.10g}, robust_value={self.robust_value:.10g})"


@dataclass(frozen=True, slots=True, eq=False)
class Checked:
    """What public data alone says about a problem.

    Attributes
    ----------
    value : float
        The objective of the best answer without data, at the middle of the public bounds.
    robust : Solution
        That answer, certified for every database within the bounds.
    program : ParametricLP

    Notes
    -----
    **Privacy.** *Public*.

    Examples
    --------
    >>> import cvxpy as cp
    >>> import dp_cmdp as dp
    >>> capacity = dp.cvxpy.PrivateParameter(3, lower=1, upper=10, radius=0.2)
    >>> flow = cp.Variable(3, nonneg=True)
    >>> problem = cp.Problem(cp.Maximize(cp.sum(flow)), [flow <= capacity])
    >>> dp.cvxpy.check(problem).robust.certificate.verified
    True
    """

    value: float
    robust: Solution
    program: ParametricLP

    def __repr__(self) -> str:
        return f"Checked(value={self.value:.10g}, {self.program!r})"


@door
def check(problem: cp.Problem | CompiledProblem) -> Checked:
    """Whether a problem has a private answer: everything but the spending, from public data.

    Raises
    ------
    InvalidArgumentError
        If the problem cannot be made private.
    AssumptionError
        If no answer is feasible for all data within the public bounds: which constraints fail and
        the smallest repair; or if the objective may be unbounded.

    Notes
    -----
    Variables are left as they are. **Privacy.** *Public*.

    Examples
    --------
    >>> import cvxpy as cp
    >>> import dp_cmdp as dp
    >>> capacity = dp.cvxpy.PrivateParameter(3, lower=1, upper=10, radius=0.2)
    >>> flow = cp.Variable(3, nonneg=True)
    >>> problem = cp.Problem(cp.Maximize(cp.sum(flow)), [flow <= capacity])
    >>> round(dp.cvxpy.check(problem).value, 6)  # of the best answer without data
    3.0
    """
    compiled = problem if isinstance(problem, CompiledProblem) else compile(problem)
    try:
        linear = compiled.is_linear
        robust = robust_solution(compiled.program) if linear else robust_curved(compiled)
    except AssumptionError as error:
        raise in_user_words(compiled, error) from None
    middle = (compiled.envelope.lower + compiled.envelope.upper) / 2
    return Checked(compiled.user_value(robust.x, middle), robust, compiled.program)


@door
def solve(
    problem: cp.Problem | CompiledProblem,
    values: Mapping[Any, Any],
    *,
    epsilon: Number,
    delta: Number,
    plan: str | Plan = "auto",
    guess: Mapping[Any, Any] | None = None,
    rng: np.random.Generator | None = None,
    calibration: str | None = None,
    ledger: PrivacyLedger | None = None,
    identity: str | None = None,
    progress: bool = False,
) -> Answer:
    """Solve a cvxpy problem with private values under (ε, δ)-differential privacy.

    Parameters
    ----------
    problem : cvxpy.Problem or CompiledProblem
        Its variables, ``status``, ``value`` and dual values are set as cvxpy sets them.
    values : mapping
        From each private parameter, or its name, to its values.
    epsilon, delta : Number
        The budget of this call.
    plan, rng, calibration, ledger, progress
        As in :func:`dp_cmdp.release.solve.release_and_solve`. Curved objectives take the plan
        "database" only, which "auto" means for them.
    guess : mapping, optional
        Public guesses of the values, for the planning.
    identity : str, optional
        The label under which the ledger keeps the budget of these values.

    Returns
    -------
    Answer

    Raises
    ------
    InvalidArgumentError, AssumptionError
        As :func:`check`, before anything is read or spent; so are missing values and wrong shapes.
        Values that leave their public bounds are refused when they are read, after the debit; why
        is said only where no ledger is: ``compile(problem).database(values)`` tells their curator.

    Notes
    -----
    **Paper.** ``thm:feasible``, corrected. **Privacy.** *Spends the budget*.

    Examples
    --------
    >>> import cvxpy as cp
    >>> import dp_cmdp as dp
    >>> capacity = dp.cvxpy.PrivateParameter(3, lower=1, upper=10, radius=0.2)
    >>> flow = cp.Variable(3, nonneg=True)
    >>> problem = cp.Problem(cp.Maximize(cp.sum(flow)), [flow <= capacity])
    >>> answer = dp.cvxpy.solve(problem, {capacity: [4, 6, 8]}, epsilon=1, delta="1/1000")
    >>> bool((flow.value <= [4, 6, 8]).all()), problem.status
    (True, 'optimal')
    >>> answer.certificate.verified
    True
    """
    budget = PrivacyBudget(epsilon, delta)
    compiled = problem if isinstance(problem, CompiledProblem) else compile(problem)
    public = None if guess is None else checked_guess(compiled.envelope, compiled.flat(guess))
    if not compiled.is_linear and not (isinstance(plan, str) and plan in ("auto", "database")):
        raise InvalidArgumentError(
            'plan must be "auto" or "database" for a curved objective: totals are proposed by '
            "linear programs"
        )
    database = deferred_database(compiled, values, identity=identity)
    source: dict[str, Any] = {"rng": rng, "calibration": calibration, "ledger": ledger}
    linear = {"plan": plan, "guess": public, "progress": progress} if compiled.is_linear else {}
    answer = _linear_answer if compiled.is_linear else _curved_answer
    found: _Parts | InvalidArgumentError
    try:
        found = answer(compiled, database, budget, **source, **linear)
    except AssumptionError as error:
        raise handed_on(error, in_user_words(compiled, error)) from None
    except InvalidArgumentError as error:
        found = error
    if isinstance(found, InvalidArgumentError):
        if ledger is None:
            compiled.database(values)  # says what is wrong with the values, if that was the reason
        raise found
    with carrying(found[2]):
        return _unpacked(compiled, *found)


def _linear_answer(
    compiled: CompiledProblem, database: Database, budget: PrivacyBudget, **how: Any
) -> _Parts:
    found = release_and_solve(compiled.program, database, budget, **how)
    return found.solution, found.robust, found.release, found.choice


def _curved_answer(
    compiled: CompiledProblem, database: Database, budget: PrivacyBudget, **source: Any
) -> _Parts:
    """Check, release and solve with a curved objective."""
    robust = robust_curved(compiled)
    release, _ = release_for_checked(
        database, budget, program=compiled.program, plan="database", **source
    )
    with carrying(release):
        estimate = objective_estimate(compiled.program, release)
        robust = replace(robust, objective=-compiled.least_value(robust.x, estimate))
        try:
            return curved_over(compiled, release.polytope, estimate=estimate), robust, release, None
        except SolverError:  # the robust answer is feasible for whatever the release says
            return robust, robust, release, None


def _unpacked(
    compiled: CompiledProblem,
    solution: Solution,
    robust: Solution,
    release: Release,
    choice: Choice | None,
) -> Answer:
    estimate = objective_estimate(compiled.program, release)
    value = compiled.user_value(solution.x, estimate)
    status = cp.OPTIMAL_INACCURATE if solution.x is robust.x else cp.OPTIMAL  # as a last resort
    compiled.unpack(solution, value=value, status=status)
    return Answer(
        value=value,
        robust_value=compiled.user_value(robust.x, estimate),
        solution=solution,
        robust=robust,
        release=release,
        program=compiled.program,
        choice=choice,
    )
