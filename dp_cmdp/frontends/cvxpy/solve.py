"""Check on public data, spend, answer: a cvxpy problem solved with private values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import cvxpy as cp
import numpy as np

from dp_cmdp._check import SHOWN
from dp_cmdp._door import door
from dp_cmdp.accounting.budget import Number, PrivacyBudget
from dp_cmdp.accounting.ledger import PrivacyLedger
from dp_cmdp.data.database import Database
from dp_cmdp.data.release import Release
from dp_cmdp.errors import AssumptionError, InvalidArgumentError, SolverError
from dp_cmdp.frontends.cvxpy.compiled import CompiledProblem, compile
from dp_cmdp.frontends.cvxpy.curved import curved_over, robust_curved
from dp_cmdp.program.engines.elastic import elastic_program
from dp_cmdp.program.linear_program import FeasibilityCertificate, Solution
from dp_cmdp.program.linear_program import solve as solve_linear
from dp_cmdp.program.parametric import ParametricLP
from dp_cmdp.release.looks import checked_guess, objective_estimate
from dp_cmdp.release.plan import Plan
from dp_cmdp.release.planned import release_for_checked
from dp_cmdp.release.planner import Choice
from dp_cmdp.release.solve import release_and_solve, robust_solution


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
    """
    compiled = problem if isinstance(problem, CompiledProblem) else compile(problem)
    try:
        linear = compiled.is_linear
        robust = robust_solution(compiled.program) if linear else robust_curved(compiled)
    except AssumptionError as error:
        raise _in_user_words(compiled, error) from None
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
        As :func:`check`, before anything is read or spent; and if the values do not fit.

    Notes
    -----
    **Paper.** ``thm:feasible``, corrected. **Privacy.** *Spends the budget*.
    """
    budget = PrivacyBudget(epsilon, delta)
    compiled = problem if isinstance(problem, CompiledProblem) else compile(problem)
    public = None if guess is None else checked_guess(compiled.envelope, compiled.flat(guess))
    if not compiled.is_linear and not (isinstance(plan, str) and plan in ("auto", "database")):
        raise InvalidArgumentError(
            'plan must be "auto" or "database" for a curved objective: totals are proposed by '
            "linear programs"
        )
    database = compiled.database(values, identity=identity)
    source: dict[str, Any] = {"rng": rng, "calibration": calibration, "ledger": ledger}
    try:
        if compiled.is_linear:
            private = release_and_solve(
                compiled.program,
                database,
                budget,
                plan=plan,
                guess=public,
                progress=progress,
                **source,
            )
            parts = private.solution, private.robust, private.release, private.choice
        else:
            parts = (*_curved_answer(compiled, database, budget, **source), None)
    except AssumptionError as error:
        raise _in_user_words(compiled, error) from None
    return _unpacked(compiled, *parts)


def _curved_answer(
    compiled: CompiledProblem, database: Database, budget: PrivacyBudget, **source: Any
) -> tuple[Solution, Solution, Release]:
    """Check, release and solve with a curved objective."""
    robust = robust_curved(compiled)
    release, _ = release_for_checked(
        database, budget, program=compiled.program, plan="database", **source
    )
    estimate = objective_estimate(compiled.program, release)
    robust = replace(robust, objective=-compiled.least_value(robust.x, estimate))
    try:
        return curved_over(compiled, release.polytope, estimate=estimate), robust, release
    except SolverError:  # the robust answer is feasible for whatever the release says
        return robust, robust, release


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


def _in_user_words(compiled: CompiledProblem, error: AssumptionError) -> AssumptionError:
    """The same refusal about the user's constraints and variables."""
    if error.label == "ass:feast" and error.relaxation:
        text = (
            "no answer is feasible for all data within the public bounds, so none could be "
            f"feasible with certainty. Smallest repair: relax {_listed(error)}; or narrow the "
            "public bounds of the parameters in them; or give them a slack variable that the "
            "objective charges. No data was read"
        )
        return AssumptionError(
            text, label=error.label, rows=error.rows, relaxation=error.relaxation
        )
    if error.label == "ass:feast" and (public := _public_repair(compiled)):
        found = AssumptionError("", label=error.label, rows=public[0], relaxation=public[1])
        text = (
            "the public constraints contradict each other, whatever the private data is. Smallest "
            f"repair: relax {_listed(found)}. No data was read"
        )
        return AssumptionError(text, label=error.label, rows=found.rows, relaxation=public[1])
    if error.label == "ass:bounded" and error.rows:
        names = tuple(compiled.variable_name(int(row[2:-1])) for row in error.rows)
        text = (
            "the objective may be unbounded for some data within the public bounds: "
            f"{', '.join(names[:SHOWN])} can grow without limit. Give them bounds. No data was read"
        )
        return AssumptionError(text, label=error.label, rows=names)
    return error


def _listed(error: AssumptionError) -> str:
    """Rows and by how much each must give way, as text."""
    pairs = list(zip(error.rows, error.relaxation, strict=True))
    shown = ", ".join(f"{name} by {amount:.6g}" for name, amount in pairs[:SHOWN])
    return shown + (f" and {len(pairs) - SHOWN} more" if len(pairs) > SHOWN else "")


def _public_repair(compiled: CompiledProblem) -> tuple[tuple[str, ...], tuple[float, ...]] | None:
    """Public rows that must give way, and by how much; None if the public rows agree."""
    program = compiled.program
    n, m, k = program.num_variables, program.b_ub.size, program.b_eq.size
    elastic = elastic_program(
        program.A_ub,
        program.b_ub,
        A_eq=program.A_eq,
        b_eq=program.b_eq,
        lower=program.lower,
        upper=program.upper,
    )
    try:
        given = solve_linear(elastic, certify=False).x[n:]
    except SolverError:
        return None
    amount = np.concatenate([given[:m], given[m : m + k] + given[m + k :]])
    failing = np.flatnonzero(amount > 1e-8 * (1 + np.abs(np.append(program.b_ub, program.b_eq))))
    names = compiled.public_row_names()
    return (
        (tuple(names[i] for i in failing), tuple(amount[failing].tolist()))
        if failing.size
        else None
    )
