"""Linear programs whose data are affine in a private database.

    maximise  c(θ)ᵀx   subject to   A(θ)x ≤ b(θ)                       (sensitive rows)
                                    A_ub x ≤ b_ub,  A_eq x = b_eq,  lower ≤ x ≤ upper   (public)

The robust counterpart over a box of databases is built in :mod:`dp_cmdp.program.counterpart`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from dp_cmdp import _check
from dp_cmdp._check import FloatArray
from dp_cmdp._documents import Document, unpacked
from dp_cmdp._door import door
from dp_cmdp.accounting.budget import BLOCKS
from dp_cmdp.data.affine import Affine
from dp_cmdp.data.database import Database
from dp_cmdp.data.envelope import Envelope
from dp_cmdp.data.labels import Labels
from dp_cmdp.data.polytope import Polytope
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.program.counterpart import Counterpart, UncertainRows
from dp_cmdp.program.linear_program import LinearProgram, inequality_slack
from dp_cmdp.program.parametric_file import arguments, packed, read
from dp_cmdp.program.polytope_rows import PolytopeRows


@dataclass(frozen=True, slots=True, eq=False)
class ParametricLP:
    """A linear program with private data, as public structure.

    Parameters
    ----------
    envelope : Envelope
        Public bounds, radius and records of the database.
    c : Affine or array_like
    A, b : Affine (or array_like for a public b), optional
        The sensitive rows A(θ)x ≤ b(θ).
    A_ub, b_ub, A_eq, b_eq : optional
        Public rows.
    lower, upper : array_like
        Bounds of the variables; 0 and ∞ by default.
    row_names : sequence of str, optional
        Names of the sensitive rows, for messages.
    variables : sequence, pandas Index or mapping, optional
        Labels of the variables, as an :class:`Envelope` has them of its entries; a solution's
        table shows them.

    Notes
    -----
    **Paper.** ``opt:primal``; ``eq:ahat``. **Privacy.** *Public*: it holds no value of any
    database.

    Examples
    --------
    maximise 3x + 2y subject to θ₀x + θ₁y ≤ θ₂, where the three θ are private:

    >>> from dp_cmdp import Affine, Envelope, ParametricLP
    >>> program = ParametricLP(
    ...     Envelope([0.5, 0.5, 8], [2, 2, 12], radius=[0.1, 0.1, 0.5]),
    ...     c=[3, 2],
    ...     A=Affine((1, 2), at=([0, 0], [0, 1]), entry=[0, 1]),
    ...     b=Affine(1, at=[0], entry=[2]),
    ... )
    >>> program.sensitive_blocks
    ('A', 'b')
    """

    envelope: Envelope
    c: Affine
    A: Affine
    b: Affine
    A_ub: sparse.csr_array
    b_ub: FloatArray
    A_eq: sparse.csr_array
    b_eq: FloatArray
    lower: FloatArray
    upper: FloatArray
    row_names: tuple[str, ...]
    variables: Labels
    _pairs: UncertainRows | None = field(init=False, repr=False)

    @door
    def __init__(
        self,
        envelope: Envelope,
        *,
        c: Affine | ArrayLike,
        A: Affine | None = None,
        b: Affine | ArrayLike | None = None,
        A_ub: Any = None,
        b_ub: ArrayLike | None = None,
        A_eq: Any = None,
        b_eq: ArrayLike | None = None,
        lower: ArrayLike = 0.0,
        upper: ArrayLike = np.inf,
        row_names: Sequence[str] | None = None,
        variables: Any = None,
    ) -> None:
        _check.instance("envelope", envelope, Envelope)
        objective = _affine_vector("c", c)
        n = objective.shape[0]
        rows = Affine((0, n)) if A is None else A
        if not isinstance(rows, Affine) or rows.shape[1:] != (n,):
            raise InvalidArgumentError(f"A must be an Affine matrix with {n} columns")
        right = _affine_vector("b", np.empty(0) if b is None else b)
        if right.shape[0] != rows.shape[0]:
            raise InvalidArgumentError(f"b must have {rows.shape[0]} entries, one per row of A")
        for name, part in (("c", objective), ("A", rows), ("b", right)):
            if part.entry.size and part.entry.max() >= envelope.num_entries:
                raise InvalidArgumentError(
                    f"{name} reads database entry {part.entry.max()}, but the envelope has only "
                    f"{envelope.num_entries}"
                )
        given = () if row_names is None else _check.names("row_names", row_names)
        names = given or tuple(f"row {i}" for i in range(rows.shape[0]))
        if len(names) != rows.shape[0]:
            raise InvalidArgumentError(f"row_names must hold {rows.shape[0]} names")
        labels = Labels.of(variables, name="variables")
        if labels and prod(labels.shape) != n:
            raise InvalidArgumentError(f"variables must have {n} labels, got {prod(labels.shape)}")
        # the public part of the program is checked by LinearProgram itself
        public = LinearProgram(
            objective.constant, A_ub, b=b_ub, A_eq=A_eq, b_eq=b_eq, lower=lower, upper=upper
        )
        for name, value in (
            ("envelope", envelope),
            ("c", objective),
            ("A", rows),
            ("b", right),
            ("A_ub", public.A),
            ("b_ub", public.b),
            ("A_eq", public.A_eq),
            ("b_eq", public.b_eq),
            ("lower", public.lower),
            ("upper", public.upper),
            ("row_names", names),
            ("variables", labels),
            ("_pairs", None),
        ):
            object.__setattr__(self, name, value)

    @property
    def num_variables(self) -> int:
        return self.c.shape[0]

    @property
    def sensitive_blocks(self) -> tuple[str, ...]:
        """The blocks among A, b and c that read the database."""
        return tuple(block for block in BLOCKS if not getattr(self, block).is_public)

    @property
    def equal_shares(self) -> dict[str, Fraction]:
        """The same share of ε for every sensitive block (paper: α = 1/3 each)."""
        return dict.fromkeys(self.sensitive_blocks, Fraction(1, len(self.sensitive_blocks) or 1))

    @door
    def at(self, values: ArrayLike) -> LinearProgram:
        """The program at given database values: *curator only* when they are the true ones.

        Examples
        --------
        >>> from dp_cmdp import Affine, Envelope, ParametricLP, solve
        >>> price = Affine((1, 2), at=([0, 0], [0, 1]), entry=[0, 1])
        >>> program = ParametricLP(Envelope(1, 2, shape=2), c=[3, 2], A=price, b=[8])
        >>> solve(program.at([1, 2])).x.round(6)
        array([8., 0.])
        """
        theta = _check.vector("values", values, size=self.envelope.num_entries, private=True)
        return LinearProgram(
            self.c.at(theta),
            sparse.vstack([self.A.at(theta), self.A_ub], format="csr"),
            b=np.concatenate([self.b.at(theta), self.b_ub]),
            A_eq=self.A_eq,
            b_eq=self.b_eq,
            lower=self.lower,
            upper=self.upper,
        )

    @door
    def robust(
        self, lower: ArrayLike, upper: ArrayLike, *, estimate: ArrayLike | None = None
    ) -> LinearProgram:
        """The robust counterpart over the box [lower, upper].

        Parameters
        ----------
        lower, upper : array_like
            The box of databases.
        estimate : array_like, optional
            Database values for the objective; the middle of the box by default.

        Returns
        -------
        LinearProgram
            Rows: the sensitive rows, the public rows, then the rows that define auxiliary
            variables. Variables: x, then the auxiliary ones. Every feasible point's x satisfies
            the sensitive rows for every θ in the box.

        Notes
        -----
        **Paper.** ``eq:abarpost``, ``eq:bbarpost`` are the case of one database entry per LP
        entry. **Privacy.** *Post-processing*.

        Examples
        --------
        >>> from dp_cmdp import Affine, Envelope, ParametricLP, solve
        >>> price = Affine((1, 2), at=([0, 0], [0, 1]), entry=[0, 1])
        >>> program = ParametricLP(Envelope(1, 2, shape=2), c=[3, 2], A=price, b=[8])
        >>> robust = program.robust([1, 1], [2, 2])  # feasible whatever the prices are
        >>> round(solve(robust).objective, 6), round(solve(program.at([1, 1])).objective, 6)
        (12.0, 24.0)
        """
        low, high = self._box(lower, upper)
        return self.robust_over(Polytope(low, high), estimate=estimate)

    @door
    def robust_over(
        self, polytope: Polytope, *, estimate: ArrayLike | None = None
    ) -> LinearProgram:
        """The robust counterpart over a polytope of databases.

        Like :meth:`robust`; the last variables are the multipliers of the row facts, as many as
        ``program.polytope_rows(polytope).num_multipliers``. The polytope must hold a database
        (:func:`dp_cmdp.program.polytope_rows.check_consistent`).

        Notes
        -----
        **Privacy.** *Post-processing*.

        Examples
        --------
        >>> from dp_cmdp import Affine, Envelope, ParametricLP, solve
        >>> from dp_cmdp.data.polytope import Polytope
        >>> price = Affine((1, 2), at=([0, 0], [0, 1]), entry=[0, 1])
        >>> program = ParametricLP(Envelope(1, 2, shape=2), c=[1, 1], A=price, b=[6], upper=2)
        >>> box, total = Polytope([1, 1], [2, 2]), Polytope([1, 1], [2, 2], W=[[1, 1]], q=[3])
        >>> [round(solve(program.robust_over(known)).objective, 6) for known in (box, total)]
        [3.0, 4.0]
        """
        middle = (polytope.lower + polytope.upper) / 2 if estimate is None else estimate
        theta = _check.vector("estimate", middle, size=self.envelope.num_entries)
        return self.with_rows(self.polytope_rows(polytope).counterpart(), self.c.at(theta))

    def with_rows(self, rows: Counterpart, objective: FloatArray) -> LinearProgram:
        """The program with a counterpart in place of its sensitive rows."""
        aux = rows.num_auxiliary
        floor = np.full(aux, -np.inf)
        floor[aux - rows.num_positive :] = 0.0
        return LinearProgram(
            np.concatenate([objective, np.zeros(aux)]),
            sparse.vstack([rows.A, _widen(self.A_ub, aux), rows.A_aux], format="csr"),
            b=np.concatenate([rows.b, self.b_ub, rows.b_aux]),
            A_eq=_widen(self.A_eq, aux),
            b_eq=self.b_eq,
            lower=np.concatenate([self.lower, floor]),
            upper=np.concatenate([self.upper, np.full(aux, np.inf)]),
        )

    def polytope_rows(self, polytope: Polytope) -> PolytopeRows:
        """The sensitive rows over a polytope of databases."""
        if polytope.num_entries != self.envelope.num_entries:
            raise InvalidArgumentError(f"polytope must have {self.envelope.num_entries} entries")
        return PolytopeRows(self.uncertain_rows, polytope)

    @door
    def worst_case_slack(self, x: ArrayLike, *, lower: ArrayLike, upper: ArrayLike) -> FloatArray:
        """Smallest b(θ) − A(θ)x over the box, then b_ub − A_ub x: exact values, rounded once.

        Examples
        --------
        >>> from dp_cmdp import Affine, Envelope, ParametricLP
        >>> price = Affine((1, 2), at=([0, 0], [0, 1]), entry=[0, 1])
        >>> program = ParametricLP(Envelope(1, 2, shape=2), c=[3, 2], A=price, b=[8])
        >>> program.worst_case_slack([3, 0], lower=[1, 1], upper=[2, 2])
        array([2.])
        """
        point = _check.vector("x", x, size=self.num_variables)
        low, high = self._box(lower, upper)
        sensitive = self.uncertain_rows.exact_slack(point, low, high)
        return np.concatenate([sensitive, inequality_slack(self.A_ub, self.b_ub, x=point)])

    @door
    def certain_slack(
        self, x: ArrayLike, polytope: Polytope, *, multipliers: ArrayLike = ()
    ) -> FloatArray:
        """Lower bounds on b(θ) − A(θ)x over a polytope, then b_ub − A_ub x, in exact arithmetic.

        Any multipliers ≥ 0 of the row facts prove a bound; those of the solver prove a good one.
        Over a box it is :meth:`worst_case_slack`.
        """
        point = _check.vector("x", x, size=self.num_variables)
        rows = self.polytope_rows(polytope)
        factors = _check.vector("multipliers", multipliers, size=rows.num_multipliers)
        if (factors < 0.0).any():
            raise InvalidArgumentError("multipliers must not be negative")
        sensitive = rows.exact_slack(point, factors)
        return np.concatenate([sensitive, inequality_slack(self.A_ub, self.b_ub, x=point)])

    @door
    def check_owns(self, database: Database) -> None:
        """Raise unless `database` is one of this program: of the same public facts."""
        database.check_envelope(self.envelope)

    @property
    def uncertain_rows(self) -> UncertainRows:
        """The sensitive rows as pairs of row and database entry, made at the first use."""
        if self._pairs is None:
            rows = UncertainRows(
                self.A,
                self.b,
                num_entries=self.envelope.num_entries,
                x_lower=self.lower,
                x_upper=self.upper,
            )
            object.__setattr__(self, "_pairs", rows)
            return rows
        return self._pairs

    def _box(self, lower: ArrayLike, upper: ArrayLike) -> tuple[FloatArray, FloatArray]:
        size = self.envelope.num_entries
        low = _check.vector("lower", lower, size=size, private=True)
        high = _check.vector("upper", upper, size=size, private=True)
        if (low > high).any():
            raise InvalidArgumentError("lower must not exceed upper")
        return low, high

    @door
    def sensitivity(self, block: str) -> float:
        """ℓ1-sensitivity of one block when one record of the database changes.

        Examples
        --------
        >>> from dp_cmdp import Affine, Envelope, ParametricLP
        >>> price = Affine((1, 2), at=([0, 0], [0, 1]), entry=[0, 1])
        >>> program = ParametricLP(Envelope(1, 2, radius=0.25, shape=2), c=[3, 2], A=price, b=[8])
        >>> program.sensitivity("A"), program.sensitivity("b")
        (0.25, 0.0)
        """
        part: Affine = getattr(self, _check.one_of("block", block, BLOCKS))
        return part.sensitivity(self.envelope.radius, self.envelope.records)

    def check_robust_feasibility(self) -> None:
        """Raise unless some x is feasible for every database in the envelope.

        That is what a database release needs. Algorithm 1 sees LP entries instead of the database
        and needs more: call it on :func:`dp_cmdp.program.entrywise.entrywise` of this program.

        Examples
        --------
        >>> from dp_cmdp import Affine, Envelope, ParametricLP
        >>> need = Affine(1, at=[0], entry=[0], coefficient=-1.0)  # -x ≤ -θ: at least θ
        >>> at_least = Affine((1, 1), constant=[[-1.0]])
        >>> program = ParametricLP(Envelope(1, 5, shape=1), c=[-1], A=at_least, b=need, upper=4)
        >>> program.check_robust_feasibility()
        Traceback (most recent call last):
            ...
        dp_cmdp.errors.AssumptionError: no point is feasible for every database ...
        """
        from dp_cmdp.program.assumptions import check_robust_feasibility

        check_robust_feasibility(self)

    @door
    def check_boundedness(self, *, any_objective: bool = False) -> None:
        """Raise unless the program is bounded for every database; see `assumptions`.

        Examples
        --------
        >>> from dp_cmdp import Affine, Envelope, ParametricLP
        >>> price = Affine((1, 1), at=([0], [0]), entry=[0])
        >>> program = ParametricLP(Envelope(1, 2, shape=1), c=[3], A=price, b=[8])
        >>> program.check_boundedness()  # nothing to say: prices are at least 1
        """
        from dp_cmdp.program.assumptions import check_boundedness

        check_boundedness(self, any_objective=any_objective)

    def document(self) -> Document:
        """The content of the program's file; its digest names the program."""
        return packed(self)

    @door
    def save(self, path: str | Path) -> Path:
        """Write the program to an ``.npz`` file, atomically and without pickle.

        Examples
        --------
        >>> from dp_cmdp import Affine, Envelope, ParametricLP
        >>> price = Affine((1, 2), at=([0, 0], [0, 1]), entry=[0, 1])
        >>> program = ParametricLP(Envelope(1, 2, shape=2), c=[3, 2], A=price, b=[8])
        >>> program.save("program.npz").name
        'program.npz'
        """
        return self.document().write(path)

    @classmethod
    @door
    def load(cls, path: str | Path) -> ParametricLP:
        """Read a program written by :meth:`save`; everything in it is checked again.

        Examples
        --------
        >>> from dp_cmdp import Affine, Envelope, ParametricLP
        >>> price = Affine((1, 2), at=([0, 0], [0, 1]), entry=[0, 1])
        >>> program = ParametricLP(Envelope(1, 2, shape=2), c=[3, 2], A=price, b=[8])
        >>> ParametricLP.load(program.save("program.npz")).envelope == program.envelope
        True
        """
        return unpacked(path, read(path), lambda source: cls(**arguments(source)))

    def __repr__(self) -> str:
        return (
            f"ParametricLP({self.num_variables} variables, {self.A.shape[0]} sensitive rows, "
            f"{self.b_ub.size + self.b_eq.size} public rows, "
            f"{self.envelope.num_entries} database entries)"
        )


def _affine_vector(name: str, value: Affine | ArrayLike) -> Affine:
    if isinstance(value, Affine):
        if len(value.shape) != 1:
            raise InvalidArgumentError(f"{name} must be a vector, got shape {value.shape}")
        return value
    vector = _check.vector(name, value)
    return Affine(vector.size, constant=vector)


def _widen(matrix: sparse.csr_array, columns: int) -> sparse.csr_array:
    """The same rows with zero columns appended."""
    shape = (matrix.shape[0], matrix.shape[1] + columns)
    return sparse.csr_array((matrix.data, matrix.indices, matrix.indptr), shape=shape)
