"""A cvxpy problem with private parameters, as one object: what it accepts, its linear program, and
the way back to the user's variables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from pathlib import Path
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.constraints.nonpos import NonNeg
from cvxpy.constraints.zero import Zero
from cvxpy.reductions.solution import Solution
from scipy import sparse

from dp_cmdp._src.base import validation as check
from dp_cmdp._src.base.errors import InvalidArgumentError, RefusedError, SolverError
from dp_cmdp._src.base.validation import FloatArray, validated
from dp_cmdp._src.data.affine import Affine
from dp_cmdp._src.data.envelope import Envelope, UncertaintySet
from dp_cmdp._src.data.labels import labels_of
from dp_cmdp._src.frontends.constant import with_constant
from dp_cmdp._src.frontends.cvxpy.canonical import Canonical, Row, canonical
from dp_cmdp._src.frontends.cvxpy.parameter import joined
from dp_cmdp._src.frontends.cvxpy.refusals import (
    private_parameters,
    refuse_cone,
    refuse_equality,
    refuse_not_finite,
    refuse_unfit,
)
from dp_cmdp._src.frontends.cvxpy.tensors import num_rows
from dp_cmdp._src.frontends.cvxpy.terms import BoolArray, Columns, IntArray, Terms, bounds_of
from dp_cmdp._src.program.answer import Answer, Certificate, Problem
from dp_cmdp._src.program.parametric import ParametricLP


class Values(dict[Any, Any]):
    """The value of each variable of a problem, and the point of its linear program."""

    def __init__(self, values: Mapping[Any, Any], point: FloatArray) -> None:
        super().__init__(values)
        self.point = point


@dataclass(frozen=True, eq=False, repr=False)
class CvxpyAnswer(Answer[Mapping[Any, Any]]):
    """The answer of a cvxpy problem.

    Attributes
    ----------
    values : mapping
        From each variable of the problem to its value; see :class:`Answer` for the rest.
    linear : LPAnswer
        The same answer in the variables of the problem's linear program.

    Notes
    -----
    **Privacy.** *Post-processing*.
    """

    linear: Any = None

    @property
    def values(self) -> Mapping[Any, Any]:
        return self.decision

    def save(self, folder: str | Path) -> Path:
        """Write the answer as one of the problem's linear program."""
        if not self.problem.is_linear:
            raise InvalidArgumentError(
                "only answers of problems with linear objectives are saved; save the release "
                "(found.release.save(path)) and keep the problem's source"
            )
        names = ("release", "strategy", "epsilon", "delta", "source", "estimate")
        kept = {name: getattr(self, name) for name in names}
        value = self.problem.linear.value(self.linear.x, self.estimate)
        return replace(self.linear, value=value, **kept).save(folder)

    def to_frame(self) -> Any:
        """One row per number of a variable, by the variable's name and the place in it."""
        import pandas as pd

        rows = [
            (variable.name() + _index(variable.shape, place), number)
            for variable, value in self.values.items()
            for place, number in enumerate(np.ravel(value, order="F").tolist())
        ]
        names, numbers = zip(*rows, strict=True)
        return pd.DataFrame({"value": numbers}, index=pd.Index(names, name="variable"))


class CvxpyProblem(Problem):
    """A cvxpy problem as a problem of this package.

    `linear` has the variables of the problem and those that cvxpy makes for its atoms; of a curved
    objective it has the linear part only, `curve` is P of ½ zᵀPz in what is minimised, and `cones`
    are the rows of its other atoms.
    """

    def __init__(self, problem: cp.Problem) -> None:
        refuse_unfit(problem)
        parameters = private_parameters(problem)
        self.problem = problem
        self.sense = 1.0 if isinstance(problem.objective, cp.Maximize) else -1.0
        self.envelope: Envelope = joined(parameters)
        self.canonical: Canonical = canonical(problem)
        names = {p.id: p.name() for p in parameters}
        columns = Columns.of(self.canonical.cone, self.envelope, names)
        self.linear, self.cones = _linear_program(self, columns)
        self.curve = _curve(self, columns)

    @property
    def size(self) -> int:
        """Variables without the one of a constant."""
        return self.canonical.cone.size

    @property
    def is_linear(self) -> bool:
        """Whether the objective is linear after cvxpy's reductions."""
        return self.curve.nnz == 0 and self.cones[1].size == 0

    @property
    def signs(self) -> sparse.csr_array:
        return self.linear.signs

    def answer(
        self,
        known: UncertaintySet,
        estimate: FloatArray | None = None,
        *,
        start: CvxpyAnswer | None = None,
        certify: bool = True,
    ) -> CvxpyAnswer:
        """The best values for the estimate among those that hold for every database of the set."""
        from dp_cmdp._src.frontends.cvxpy.curved import curved_answer

        before = None if start is None else start.linear
        try:
            if self.is_linear:
                found = self.linear.answer(known, estimate, start=before, certify=certify)
            else:
                found = curved_answer(self, known, estimate)
        except RefusedError as error:
            raise self._renamed(error) from None
        decision = self._values(found.x)
        value = self.value(decision, found.estimate)
        kept = ("estimate", "bound", "certificate", "weights", "multipliers", "source")
        same: dict[str, Any] = {name: getattr(found, name) for name in kept}
        return CvxpyAnswer(decision=decision, value=value, problem=self, linear=found, **same)

    def refuse_if_unanswerable(self) -> None:
        """Raise RefusedError, about the user's constraints, unless there is a robust answer."""
        try:
            if self.is_linear:
                self.linear.refuse_if_unanswerable()
            else:
                _ = self._robust
        except RefusedError as error:
            raise self._renamed(error) from None

    @cached_property
    def _robust(self) -> CvxpyAnswer:
        return self.answer(self.envelope.uncertainty)

    def _renamed(self, error: RefusedError) -> RefusedError:
        """The refusal, with what else a model can do."""
        text = str(error)
        if error.repairs:
            text = text.replace(
                ". No data was read",
                "; or give the constraint a slack variable that the objective charges. No data was "
                "read",
            )
        return RefusedError(text, repairs=error.repairs)

    def certify(self, decision: Any, known: UncertaintySet) -> Certificate:
        """What is proved of values of the variables for every database of the set.

        Of plain values, which the variables that cvxpy makes for its atoms are not among, those are
        found that keep the rows.
        """
        if isinstance(decision, Values):
            return self.linear.certify(decision.point, known)
        point, linear = self._given(decision), self.linear
        free = np.isnan(point)
        if free.any():
            low, high = (np.where(free, end, point) for end in (linear.lower, linear.upper))
            nothing = Affine.of(np.zeros(point.size), self.envelope)
            try:
                point = linear._with(objective=nothing, lower=low, upper=high).answer(known).x
            except (RefusedError, SolverError):
                none = np.full(len(linear.row_names), -np.inf)
                return Certificate(False, none, linear.row_names, reason="some row may be exceeded")
        return linear.certify(point, known)

    def _given(self, decision: Any) -> FloatArray:
        """The point of plain values; NaN for what only the reductions know."""
        if not check.is_mapping(decision):
            raise InvalidArgumentError(
                "decision must be a mapping from every variable of the problem to its value, such "
                f"as found.values; got {type(decision).__name__}"
            )
        point = np.full(self.linear.lower.size, np.nan)
        point[self.size :] = 1.0  # the variable of a constant
        for variable in self.problem.variables():
            given: Any = decision.get(variable)
            value = check.array("decision", given.toarray() if check.is_sparse(given) else given)
            if value.shape != variable.shape or not np.isfinite(value).all():
                raise InvalidArgumentError(
                    f"decision must have finite numbers of shape {variable.shape} for "
                    f"{variable.name()}"
                )
            first, own = self.canonical.lowered(self.canonical.restated.twin(variable), value)
            point[first : first + own.size] = own
        return point

    def value(self, decision: Any, values: FloatArray) -> float:
        """The user's objective of a decision at a database.

        As the user's expression gives it, if no private parameter is in it: an engine's bound of an
        atom may lie a little beside the atom.
        """
        if not isinstance(decision, Values):
            raise InvalidArgumentError(
                "decision must be the values of an answer to this problem: found.values, or "
                f"found.decision; got {type(decision).__name__}"
            )
        point = decision.point
        public = self._public_value(point)
        if public is not None:
            return public
        curve = 0.5 * float(point[: self.size] @ (self.curve @ point[: self.size]))
        linear = self.linear.value(point, values)
        return linear - self.sense * curve + 0.0

    def _values(self, point: FloatArray) -> Values:
        """What the user's variables are at a point of the linear program."""
        found = self._inverted(point, value=0.0, status=cp.OPTIMAL).primal_vars
        twin = self.canonical.restated.twin
        return Values({v: found.get(twin(v).id) for v in self.problem.variables()}, point)

    def _public_value(self, point: FloatArray) -> float | None:
        """The value of an objective that reads no private parameter; None if it does."""
        objective: Any = self.canonical.restated.problem.objective
        if objective.parameters():
            return None
        found = self._inverted(point, value=0.0, status=cp.OPTIMAL).primal_vars
        before = []
        try:
            for variable in objective.variables():
                before.append((variable, variable._value))
                variable.save_value(found.get(variable.id))
            value = objective.value
        finally:
            for variable, old in before:
                variable._value = old
        return None if value is None or np.isnan(value) else float(value) + 0.0

    def _inverted(self, point: FloatArray, *, value: float, status: str) -> Solution:
        """A point of the program as cvxpy's solution of the restated problem."""
        cone = self.canonical.cone
        parts = {}
        for variable in cone.variables:
            start = cone.variable_start[variable.id]
            own = point[start : start + variable.size] + 0.0
            parts[variable.id] = own.reshape(variable.shape, order="F")
        return self.canonical.inverted(Solution(status, value, parts, {}, {}))

    def apply(self, found: CvxpyAnswer) -> None:
        """Set the values of variables, constraints and problem as cvxpy does; no dual values."""
        status = cp.OPTIMAL_INACCURATE if found.source == "robust" else cp.OPTIMAL
        for variable, value in found.values.items():
            variable.save_value(value)
        for constraint in self.problem.constraints:
            for dual in constraint.dual_variables:
                dual.save_value(None)
        self.problem._value, self.problem._status = found.value, status
        self.problem._solution = self._inverted(found.linear.x, value=found.value, status=status)

    def save(self, path: str | Path) -> Path:
        """Write the problem's linear program."""
        if not self.is_linear:
            raise InvalidArgumentError("a problem with a curved objective cannot be saved")
        return self.linear.save(path)

    def __repr__(self) -> str:
        kind = "linear" if self.is_linear else "curved"
        return f"CvxpyProblem({kind} objective, {self.envelope!r})"


def as_problem(problem: cp.Problem) -> CvxpyProblem:
    """What the verbs make of a cvxpy problem."""
    return CvxpyProblem(problem)


@validated
def load(problem: cp.Problem) -> ParametricLP:
    """The linear program of a cvxpy problem with private parameters; nothing is solved.

    Parameters
    ----------
    problem : cvxpy.Problem
        With a linear objective. Public parameters enter with the values they have now.

    Returns
    -------
    ParametricLP
        Variables: those of the problem and those that cvxpy makes for its atoms, by name; a
        constant of the objective is one more, the last, which is fixed at 1.

    Raises
    ------
    InvalidArgumentError
        If the problem cannot be made private: which part, why, and what to change.

    Notes
    -----
    **Privacy.** *Public*.

    Examples
    --------
    >>> import cvxpy as cp
    >>> import dp_cmdp as dp
    >>> capacity = dp.cvxpy.PrivateParameter(3, lower=1, upper=10, radius=0.2)
    >>> flow = cp.Variable(3, nonneg=True)
    >>> lp = dp.cvxpy.load(cp.Problem(cp.Maximize(cp.sum(flow)), [flow <= capacity]))
    >>> round(dp.answer(lp).value, 6)
    3.0
    """
    made = CvxpyProblem(problem)
    if not made.is_linear:
        raise InvalidArgumentError(
            "the objective is curved, so the problem is no linear program: give the problem itself "
            "to solve, publish, answer or certify"
        )
    return made.linear


# ------------------------------------------------------------------------------ the linear program


def _linear_program(
    made: CvxpyProblem, columns: Columns
) -> tuple[ParametricLP, tuple[sparse.csr_array, FloatArray]]:
    """Rows A z + b ≥ 0 (or = 0) of the cone program as rows and bounds of a linear program, and
    the rows of other cones."""
    canon, envelope = made.canonical, made.envelope
    cone, n = canon.cone, canon.cone.size
    m = sum(map(num_rows, cone.constraints))
    A, b = columns.terms(cone.A, height=max(m, 1)).split(n)
    constant = b.constant((m, 1)).toarray().ravel()
    zero, inequality = _rows_of(canon, Zero), _rows_of(canon, NonNeg)
    private = np.zeros(m, dtype=bool)
    private[A.row[A.private]] = private[b.row[b.private]] = True
    vacuous = inequality & ~private & (constant == np.inf)  # x <= inf
    _refuse_not_finite(canon, (A, b), ~vacuous)
    bounds, lower, upper = bounds_of(A, constant, inequality & ~private, n)
    rows, equality = np.flatnonzero(inequality & ~bounds & ~vacuous), np.flatnonzero(zero)
    others = np.flatnonzero(~zero & ~inequality)
    _refuse_private_rows(canon, columns, (equality, others), (A, b))
    _refuse_contradiction(canon, lower, upper)
    left, q = A.scaled(-1.0), columns.terms(cone.q, height=n + 1)
    if not np.isfinite(q.coefficient).all():
        refuse_not_finite("the objective")
    last = q.where(q.row == n)
    costs = q.where(q.row < n).scaled(-made.sense).affine(envelope, (n,))
    program = ParametricLP._of(
        envelope,
        objective=costs,
        A=left.of_rows(rows, m).affine(envelope, (rows.size, n)),
        b=b.of_rows(rows, m).affine(envelope, (rows.size,)),
        A_eq=left.of_rows(equality, m).constant((equality.size, n)),
        b_eq=constant[equality],
        lower=lower,
        upper=upper,
        minimizes=made.sense < 0,
        variables=labels_of({"variable": variable_names(canon)}, name="variables"),
        row_names=row_names(canon, rows),
    )
    if last.row.size:
        at = Terms(0 * last.row, 0 * last.col, last.entry, -made.sense * last.coefficient)
        program = with_constant(program, at.affine(envelope, (1,)))
    curved = A.of_rows(others, m).constant((others.size, n)), constant[others]
    return program, curved


def _curve(made: CvxpyProblem, columns: Columns) -> sparse.csr_array:
    """P of ½ zᵀPz; refused where it reads a private entry."""
    cone, n = made.canonical.cone, made.size
    if cone.P is None:
        return sparse.csr_array((n, n))
    terms = columns.terms(cone.P, height=n)
    if terms.private.any():
        refuse_cone("the objective", private=columns.names(terms.entry[terms.private]))
    return terms.constant((n, n))


def _rows_of(canon: Canonical, kind: type) -> BoolArray:
    parts = [np.full(num_rows(each), isinstance(each, kind)) for each in canon.cone.constraints]
    return np.concatenate([np.zeros(0, dtype=bool), *parts])


def _refuse_private_rows(
    canon: Canonical, columns: Columns, kinds: tuple[IntArray, IntArray], terms: tuple[Terms, Terms]
) -> None:
    """Raise if an equality or a cone reads a private entry."""
    for number, kind in enumerate(kinds):
        for part in terms:
            read = part.where(part.private & np.isin(part.row, kind))
            if read.row.size:
                ((where, _),) = _places(canon, read.row[:1])
                if number == 0 and not where.inner:
                    refuse_equality(where.name, columns.names(read.entry))
                refuse_cone(where.name, private=columns.names(read.entry))


def _refuse_not_finite(canon: Canonical, terms: tuple[Terms, Terms], kept: BoolArray) -> None:
    """Raise if a number of a row is NaN or infinite, but for bounds that say nothing."""
    A, b = terms
    wrong = [A.row[~np.isfinite(A.coefficient)], b.row[~np.isfinite(b.coefficient) & kept[b.row]]]
    for row in np.concatenate(wrong)[:1]:
        refuse_not_finite(row_names(canon, np.array([row]))[0])


def _refuse_contradiction(canon: Canonical, lower: FloatArray, upper: FloatArray) -> None:
    wrong = np.flatnonzero(lower > upper)
    if wrong.size:
        raise RefusedError(
            f"the public bounds of {variable_names(canon)[int(wrong[0])]} contradict each other. "
            "No data was read"
        )


# -------------------------------------------------------------------------------------------- names


def row_names(canon: Canonical, rows: IntArray) -> list[str]:
    """Names of rows of the cone program: the user's constraint, and the place in it."""
    return [
        f"{row.name}{index}" + (" (inside)" if row.inner else "")
        for row, index in _places(canon, rows)
    ]


def _places(canon: Canonical, rows: IntArray) -> list[tuple[Row, str]]:
    """Where rows of the cone program come from, and the place there."""
    sizes = list(map(num_rows, canon.cone.constraints))
    ends = np.cumsum(sizes)
    which = np.searchsorted(ends, rows, side="right")
    found = []
    for row, k in zip(rows.tolist(), which.tolist(), strict=True):
        constraint = canon.cone.constraints[k]
        index = _index(constraint.shape, row - int(ends[k]) + sizes[k])
        found.append((canon.origin[constraint.id], index))
    return found


def _index(shape: tuple[int, ...], place: int) -> str:
    """[i, j] of a place in Fortran order; nothing for a single number."""
    if prod(shape) <= 1:
        return ""
    index = []
    for size in shape:
        place, at = divmod(place, size)
        index.append(str(at))
    return f"[{', '.join(index)}]"


def variable_names(canon: Canonical) -> list[str]:
    """Name and index of every variable of the cone program, as the user knows it; each once."""
    found = [""] * canon.cone.size
    taken: dict[str, int] = {}
    for variable in canon.cone.variables:
        first, name = canon.cone.variable_start[variable.id], variable.name()
        taken[name] = taken.get(name, 0) + 1
        name += f" ({taken[name]})" if taken[name] > 1 else ""
        for place in range(variable.size):
            found[first + place] = name + _index(variable.shape, place)
    return found
