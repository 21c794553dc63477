"""The best value of answers that are feasible for several databases, bounded from above exactly.

An engine's multipliers λ ≥ 0, ν of the rows prove, by weak duality,

    cᵀx  ≤  λᵀb + νᵀb_eq + Σ_j max{r_j x_j : lower_j ≤ x_j ≤ upper_j},    r = c − Aᵀλ − A_eqᵀν

for every feasible x, whatever the multipliers are. r is evaluated exactly from the program's
constants, coefficients and database values, and everything is rounded up. Where rounding leaves an
r_j that points to an infinite bound, multipliers that bound the sum of those variables are added.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
from scipy import sparse

from dp_cmdp import _exact as exact
from dp_cmdp._check import FloatArray
from dp_cmdp.data.affine import Affine, IntArray
from dp_cmdp.errors import SolverError
from dp_cmdp.program.linear_program import RawSolution, make_engine, solve
from dp_cmdp.program.parametric import ParametricLP

#: Row, column, coefficient and database value of products; of right-hand sides without column.
MatrixTerms = tuple[IntArray, IntArray, FloatArray, FloatArray]
VectorTerms = tuple[IntArray, FloatArray, FloatArray]


class GuardedProgram:
    """The true program, with the sensitive rows of other databases added: *curator only*.

    Parameters
    ----------
    program : ParametricLP
    values : FloatArray
        The true database.
    others : sequence of FloatArray
        The databases for which answers shall be feasible too.
    """

    def __init__(
        self, program: ParametricLP, values: FloatArray, others: Sequence[FloatArray]
    ) -> None:
        self._terms = _Terms.of(program, values, others)
        self._truth = program.at(values)
        rows, sides = [self._truth.A], [self._truth.b]
        for theta, kept in zip(others, self._terms.kept, strict=True):
            rows.append(program.A.at(theta)[kept])
            sides.append(program.b.at(theta)[kept])
        matrix = sparse.vstack(rows, format="csr")
        self._lp = replace(self._truth, A=matrix, b=np.concatenate(sides))
        self._engine = make_engine(self._lp, "highs")
        self._bounding: FloatArray | None = None

    def solve(self, ignored: Sequence[int] = ()) -> RawSolution:
        """A best answer that need not be feasible for the databases `ignored`."""
        left_out = np.isin(self._terms.owner, ignored)
        return self._engine.run(np.where(left_out, np.inf, self._lp.b))

    def upper_bound(self, ignored: Sequence[int] = ()) -> tuple[float, IntArray]:
        """A bound of the best such answer's value, and the databases whose rows prove it.

        It holds for every answer that is feasible for the true database and for those named, and
        is ∞ where nothing was proved.
        """
        try:
            raw = self.solve(ignored)
        except SolverError:
            return math.inf, np.empty(0, dtype=np.int64)
        owner = self._terms.owner
        dual = np.where(np.isin(owner, ignored), 0.0, raw.dual)
        prices = np.concatenate([dual, raw.dual_eq])
        residual = self._terms.residual(prices)
        worst = self._pointing_outwards(residual)
        if worst > 0.0:
            prices = prices + 2.0 * worst * self._bounding_prices()
            residual = self._terms.residual(prices)
        needed = np.unique(owner[(dual > 0.0) & (owner >= 0)])
        return self._weak_duality(prices, residual), needed

    def prices(self, raw: RawSolution) -> FloatArray:
        """Multipliers of the sensitive rows, added up over the databases."""
        number = self._terms.number
        own = number >= 0
        total = np.zeros(self._terms.num_rows)
        np.add.at(total, number[own], raw.dual[own])
        return total

    def _pointing_outwards(self, residual: FloatArray) -> float:
        lp = self._lp
        out = np.where(np.isinf(lp.upper), residual, 0.0)
        out = np.maximum(out, np.where(np.isinf(lp.lower), -residual, 0.0))
        return float(out.max(initial=0.0))

    def _bounding_prices(self) -> FloatArray:
        """Prices of the true rows that bound the sum of the variables without finite bounds."""
        if self._bounding is None:
            lp = self._truth
            c = np.isinf(lp.upper).astype(float) - np.isinf(lp.lower)
            found = np.zeros(self._lp.num_rows + lp.b_eq.size)
            try:
                raw = solve(replace(lp, c=c), certify=False)
                found[: lp.num_rows] = raw.dual
                found[self._lp.num_rows :] = raw.dual_eq
            except SolverError:
                pass
            self._bounding = found
        return self._bounding

    def _weak_duality(self, prices: FloatArray, residual: FloatArray) -> float:
        lp = self._lp
        end = np.where(residual > 0.0, lp.upper, lp.lower)
        live = residual != 0.0
        if not np.isfinite(prices).all() or not np.isfinite(end[live]).all():
            return math.inf
        ends = [np.nextafter(residual[live], side) * end[live] for side in (-np.inf, np.inf)]
        parts = np.nextafter(np.maximum(*ends), np.inf)
        return math.nextafter(math.fsum([*parts.tolist(), self._terms.paid(prices)]), math.inf)


@dataclass(frozen=True, slots=True, eq=False)
class _Terms:
    """Rows and objective as products coefficient × database value, one array entry per product.

    `row` is the place of a term's multiplier: rows of the program, then its equality rows, then
    one more place for the objective, whose multiplier is −1.
    """

    owner: IntArray  # per inequality row: the database it belongs to, −1 for the true one
    number: IntArray  # per inequality row: the sensitive row it is, −1 for public ones
    kept: tuple[IntArray, ...]  # per database: the sensitive rows that differ from the true ones
    num_rows: int
    num_variables: int
    left: MatrixTerms
    right: VectorTerms

    @classmethod
    def of(cls, program: ParametricLP, values: FloatArray, others: Sequence[FloatArray]) -> _Terms:
        m, public = program.A.shape[0], program.b_ub.size
        pairs = program.uncertain_rows
        kept = tuple(
            np.unique(pairs.row[theta[pairs.entry] != values[pairs.entry]]) for theta in others
        )
        sizes = [m + public, *(part.size for part in kept)]
        starts = np.cumsum([0, *sizes])
        count = int(starts[-1])
        blocks = [(values, np.arange(m), 0)]
        blocks += [(t, part, int(s)) for t, part, s in zip(others, kept, starts[1:-1], strict=True)]
        left: list[MatrixTerms] = []
        right: list[VectorTerms] = []
        for theta, part, start in blocks:
            place = np.full(m, -1)
            place[part] = start + np.arange(part.size)
            left.append(_matrix_terms(program.A, theta, place))
            right.append(_vector_terms(program.b, theta, place))
        for matrix, sides, start in (
            (program.A_ub, program.b_ub, m),
            (program.A_eq, program.b_eq, count),
        ):
            place = start + np.arange(sides.size)
            left.append(_sparse_terms(matrix, place))
            right.append((place, sides, np.ones(sides.size)))
        c, last = program.c, np.full(1, count + program.b_eq.size)
        row, coefficient, value = _vector_terms(c, values, np.arange(c.shape[0]))
        left.append((np.repeat(last, row.size), row, coefficient, value))
        return cls(
            owner=np.repeat(np.arange(-1, len(others)), sizes),
            number=np.concatenate([np.arange(m), np.full(public, -1), *kept]),
            kept=kept,
            num_rows=m,
            num_variables=program.num_variables,
            left=cast(MatrixTerms, tuple(map(np.concatenate, zip(*left, strict=True)))),
            right=cast(VectorTerms, tuple(map(np.concatenate, zip(*right, strict=True)))),
        )

    def residual(self, prices: FloatArray) -> FloatArray:
        """c − Aᵀλ − A_eqᵀν, exact, each rounded once."""
        row, column, coefficient, value = self.left
        factor = np.append(-prices, 1.0)[row]
        live = factor != 0.0
        parts = [coefficient[live], value[live], factor[live]]
        return exact.row_sums(column[live], parts, num_rows=self.num_variables)

    def paid(self, prices: FloatArray) -> float:
        """λᵀb + νᵀb_eq, rounded up."""
        row, coefficient, value = self.right
        parts = [coefficient, value, prices[row]]
        return float(exact.row_sums_up(np.zeros(row.size, dtype=int), parts, num_rows=1)[0])


def _sparse_terms(matrix: sparse.csr_array, place: IntArray) -> MatrixTerms:
    row = np.repeat(place, np.diff(matrix.indptr))
    return row, matrix.indices.astype(np.int64), matrix.data, np.ones(row.size)


def _matrix_terms(A: Affine, theta: FloatArray, place: IntArray) -> MatrixTerms:
    """Terms of the rows with a place, constants and coefficients apart."""
    row, column, fixed, one = _sparse_terms(A.constant, place)
    row = np.concatenate([row, place[A.row]])
    column = np.concatenate([column, A.col])
    coefficient = np.concatenate([fixed, A.coefficient])
    value = np.concatenate([one, theta[A.entry]])
    kept = row >= 0
    return row[kept], column[kept], coefficient[kept], value[kept]


def _vector_terms(b: Affine, theta: FloatArray, place: IntArray) -> VectorTerms:
    row = np.concatenate([place, place[b.row]])
    coefficient = np.concatenate([b.constant, b.coefficient])
    value = np.concatenate([np.ones(place.size), theta[b.entry]])
    kept = row >= 0
    return row[kept], coefficient[kept], value[kept]
