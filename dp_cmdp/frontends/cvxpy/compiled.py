"""A cvxpy problem as a linear program with private data: the public step of a private answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.reductions.solution import Solution as CvxpySolution
from scipy import sparse

from dp_cmdp import _check
from dp_cmdp._check import FloatArray
from dp_cmdp._door import door
from dp_cmdp.data.affine import Affine
from dp_cmdp.data.database import Database
from dp_cmdp.data.envelope import Envelope
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.frontends.cvxpy.affine_map import Columns, Rows, Terms
from dp_cmdp.frontends.cvxpy.canonical import Canonical, canonical
from dp_cmdp.frontends.cvxpy.parameter import PrivateParameter, group_names, joined
from dp_cmdp.frontends.cvxpy.refusals import (
    private_parameters,
    refuse_not_finite,
    refuse_unfit,
)
from dp_cmdp.frontends.cvxpy.rows import curve_of, linear_program, row_names, variable_name
from dp_cmdp.frontends.cvxpy.tensors import LINEAR, num_rows
from dp_cmdp.program.linear_program import Solution
from dp_cmdp.program.parametric import ParametricLP


@dataclass(frozen=True, slots=True, eq=False)
class CompiledProblem:
    """A cvxpy problem with private parameters, as public structure.

    Attributes
    ----------
    problem : cvxpy.Problem
    program : ParametricLP
        Variables: those of the problem and those that cvxpy makes for its atoms. It maximises: the
        negative of what is minimised. If the objective is curved, `c` is its linear part only.
    parameters : tuple of PrivateParameter
        In the order of the groups of ``program.envelope``.
    offset : Affine
        One number: the constant of what is minimised.
    curve : csr_array
        P of ½ zᵀPz in what is minimised.

    Notes
    -----
    **Privacy.** *Public*: it holds no private value.

    Examples
    --------
    >>> import cvxpy as cp
    >>> import dp_cmdp as dp
    >>> capacity = dp.cvxpy.PrivateParameter(3, lower=1, upper=10, radius=0.2, name="capacity")
    >>> flow = cp.Variable(3, nonneg=True)
    >>> problem = cp.Problem(cp.Maximize(cp.sum(flow)), [flow <= capacity])
    >>> compiled = dp.cvxpy.compile(problem)
    >>> compiled.is_linear, compiled.envelope
    (True, Envelope(capacity[3], record_size=1))
    """

    problem: cp.Problem
    program: ParametricLP
    parameters: tuple[PrivateParameter, ...]
    offset: Affine
    curve: sparse.csr_array
    _canonical: Canonical
    _rows: Rows
    _cones: tuple[sparse.csr_array, FloatArray]

    @property
    def envelope(self) -> Envelope:
        """The public facts of all private parameters, as one database."""
        return self.program.envelope

    @property
    def is_linear(self) -> bool:
        """Whether the objective is linear after cvxpy's reductions."""
        return self.curve.nnz == 0 and self._rows.cone.size == 0

    @door
    def database(self, values: Mapping[Any, Any], *, identity: str | None = None) -> Database:
        """The private values, by parameter or name, as the database of the program.

        They are read now, and what is wrong with them is said: to their curator. :func:`solve`
        reads them after a ledger's debit.

        Notes
        -----
        **Privacy.** *Curator only*.

        Examples
        --------
        >>> import cvxpy as cp
        >>> import dp_cmdp as dp
        >>> capacity = dp.cvxpy.PrivateParameter(3, lower=1, upper=10, name="capacity")
        >>> flow = cp.Variable(3, nonneg=True)
        >>> problem = cp.Problem(cp.Maximize(cp.sum(flow)), [flow <= capacity])
        >>> dp.cvxpy.compile(problem).database({"capacity": [4, 6, 8]})
        Database(<private>, capacity[3])
        """
        return Database(self.named(values), self.envelope, identity=identity)

    def flat(self, values: Mapping[Any, Any]) -> FloatArray:
        """Public numbers by parameter or name, such as a guess, as one vector."""
        given, parts = self.named(values, "guess"), []
        for name, shape in self.envelope.groups:
            part = _check.array(f"guess[{name!r}]", given[name])
            try:
                parts.append(np.broadcast_to(part, shape).ravel())
            except ValueError:
                raise InvalidArgumentError(
                    f"guess[{name!r}] must broadcast to the shape {shape}, got {part.shape}"
                ) from None
            index = self.envelope.index(name).ravel()
            low, high = self.envelope.lower[index], self.envelope.upper[index]
            if not ((low <= parts[-1]) & (parts[-1] <= high)).all():  # NaN fails too
                raise InvalidArgumentError(
                    f"guess[{name!r}] must lie within the public bounds of {name}"
                )
        return np.concatenate(parts)

    def least_value(self, z: FloatArray, estimate: FloatArray) -> float:
        """What is minimised, without its constant, at a point and an estimate of the database."""
        return float(-self.program.c.at(estimate) @ z + 0.5 * (z @ (self.curve @ z)))

    def user_value(self, z: FloatArray, estimate: FloatArray) -> float:
        """The user's objective at a point of the program and an estimate of the database.

        As the user's expression gives it, if no private parameter is in it: an engine's bound of an
        atom may lie a little beside the atom.
        """
        public = self._public_value(z)
        if public is not None:
            return public
        least = self.least_value(z, estimate) + float(self.offset.at(estimate)[0])
        return (-least if isinstance(self.problem.objective, cp.Maximize) else least) + 0.0

    def _public_value(self, z: FloatArray) -> float | None:
        """The value of an objective that reads no private parameter; None if it does."""
        objective: Any = self._canonical.restated.problem.objective
        if objective.parameters():
            return None
        found = self._inverted(z, {}, value=0.0, status=cp.OPTIMAL).primal_vars
        before = [(variable, variable._value) for variable in objective.variables()]
        try:
            for variable, _ in before:
                variable.save_value(found.get(variable.id))
            value = objective.value
        finally:
            for variable, old in before:
                variable._value = old
        return None if value is None or np.isnan(value) else float(value) + 0.0

    def _inverted(
        self, z: FloatArray, duals: dict[int, Any], *, value: float, status: str
    ) -> CvxpySolution:
        """A point of the program and multipliers as cvxpy's solution of the restated problem."""
        cone = self._canonical.cone
        parts = {
            v.id: (z[start : start + v.size] + 0.0).reshape(v.shape, order="F")
            for v in cone.variables
            for start in (cone.variable_start[v.id],)
        }
        return self._canonical.inverted(CvxpySolution(status, value, parts, duals, {}))

    def cone_constraints(self) -> list[Any]:
        """The canonical constraints that are not linear: of the objective's atoms."""
        return [c for c in self._canonical.cone.constraints if not isinstance(c, LINEAR)]

    def cone_rows(self) -> tuple[sparse.csr_array, FloatArray]:
        """Their rows A z + b, which read no private entry."""
        return self._cones

    def public_row_names(self) -> list[str]:
        """Names of the public rows of the program: inequalities, then equalities."""
        rows = np.concatenate([self._rows.public, self._rows.equality])
        return row_names(self._canonical, rows)

    def variable_name(self, j: int) -> str:
        """Name and index of a variable of the program, as the user knows it."""
        return variable_name(self._canonical.cone, j)

    def unpack(self, solution: Solution, *, value: float, status: str) -> None:
        """Set the values of variables, constraints and problem as cvxpy does."""
        canon = self._canonical
        found = self._inverted(solution.x, self._duals(solution), value=value, status=status)
        for variable in self.problem.variables():
            variable.save_value(found.primal_vars.get(canon.restated.twin(variable).id))
        for constraint in self.problem.constraints:
            for dual in constraint.dual_variables:
                dual.save_value(None)
            if constraint.id in found.dual_vars:
                constraint.save_dual_value(found.dual_vars[constraint.id])
        self.problem._value, self.problem._status = value, status
        self.problem._solution = found

    def _duals(self, solution: Solution) -> dict[int, Any]:
        """Multipliers of canonical constraints all of whose rows are rows of the program."""
        cone, rows = self._canonical.cone, self._rows
        found = np.full(sum(num_rows(c) for c in cone.constraints), np.nan)
        m = rows.sensitive.size
        if solution.dual.size == m + rows.public.size:
            found[rows.sensitive] = solution.dual[:m]
            found[rows.public] = solution.dual[m:]
        if solution.dual_eq.size == rows.equality.size:
            found[rows.equality] = -solution.dual_eq  # the program has the negatives
        parts, start = {}, 0
        for constraint in cone.constraints:
            size = num_rows(constraint)
            part, start = found[start : start + size], start + size
            if size and not np.isnan(part).any():
                parts[constraint.id] = part.reshape(constraint.shape, order="F")
        return parts

    def named(self, values: Mapping[Any, Any], argument: str = "values") -> dict[str, Any]:
        """What is said of each parameter, by the name of its group, in their order."""
        names = [name for name, _ in self.envelope.groups]
        own = {p.id: name for p, name in zip(self.parameters, names, strict=True)}
        given = _items(values)
        if given is None:
            raise InvalidArgumentError(
                f"{argument} cannot be read: the mapping raised an error (not shown)"
            )
        found, unknown = {}, 0
        for key, value in given:
            name = own.get(key.id) if isinstance(key, PrivateParameter) else key
            known = isinstance(name, str) and name in names and name not in found
            unknown += not known
            if known:
                found[name] = value
        missing = [name for name in names if name not in found]
        if missing or unknown:
            lacks = f"; it lacks {', '.join(missing)}" if missing else ""
            more = f"; {unknown} other key(s) are in it, or the same one twice" if unknown else ""
            raise InvalidArgumentError(
                f"{argument} must map each private parameter of the problem, or its name, to an "
                f"array: {', '.join(names)}{lacks}{more}"
            )
        return {name: found[name] for name in names}

    def __repr__(self) -> str:
        kind = "linear" if self.is_linear else "curved"
        return f"CompiledProblem({kind} objective, {self.program!r})"


def _items(values: Mapping[Any, Any]) -> list[tuple[Any, Any]] | None:
    """A mapping's items, None if it fails; no exception is under way when the caller raises."""
    try:
        return list(values.items())
    except Exception:
        return None


@door
def compile(problem: cp.Problem) -> CompiledProblem:
    """The public structure of a cvxpy problem with private parameters; nothing is solved.

    ``compile(problem).program`` is what ``advise``, ``choose_plan``, ``accuracy_bound`` and the
    rest of the package take.

    Raises
    ------
    InvalidArgumentError
        If the problem cannot be made private: which part, why, and what to change.

    Notes
    -----
    Public parameters enter with the values they have now. **Privacy.** *Public*.

    Examples
    --------
    >>> import cvxpy as cp
    >>> import dp_cmdp as dp
    >>> capacity = dp.cvxpy.PrivateParameter(3, lower=1, upper=10, radius=0.2)
    >>> flow = cp.Variable(3, nonneg=True)
    >>> problem = cp.Problem(cp.Maximize(cp.sum(flow)), [flow <= capacity])
    >>> dp.cvxpy.compile(problem).program.sensitive_blocks
    ('b',)
    """
    refuse_unfit(problem)
    parameters = private_parameters(problem)
    envelope = joined(parameters)
    names = dict(zip((p.id for p in parameters), group_names(parameters), strict=True))
    canon = canonical(problem)
    cone, width = canon.cone, canon.cone.size
    columns = Columns.of(cone, envelope, names)
    q = columns.terms(cone.q, height=width + 1)
    if not np.isfinite(q.coefficient).all():
        refuse_not_finite("the objective")
    last = q.where(q.row == width)
    offset = Terms(0 * last.row, last.col, last.entry, last.coefficient).vector(1)
    cost = q.where(q.row < width).negated().vector(width)
    program, rows, cones = linear_program(canon, columns, cost)
    curve = curve_of(cone, columns)
    return CompiledProblem(problem, program, tuple(parameters), offset, curve, canon, rows, cones)
