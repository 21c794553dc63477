"""Rows A(θ)x ≤ b(θ) that hold for every θ with lower ≤ θ ≤ upper and Wθ ≤ q.

With w_ik(x) = Σ_j g_kij x_j − h_ik the weight of θ_k in row i, linear programming duality gives

    max Σ_k w_ik θ_k = min{ Σ_j λ_ij q_j + Σ_k max{z_ik θ_k : lower_k ≤ θ_k ≤ upper_k} : λ_i ≥ 0 }
    z_ik = w_ik(x) − Σ_j λ_ij W_jk,     max{…} = lower_k z_ik + (upper_k − lower_k) max(z_ik, 0)

so that the robust counterpart is linear: a multiplier λ_ij for every *link* of a row and an
inequality, and a variable z⁺_ik ≥ 0, z⁺_ik ≥ z_ik for every *hard* pair of row and entry. All
places where θ_k meets row i are optimised jointly. A pair in no inequality whose sign is fixed by
the bounds of x is easy: it takes one end of its interval, without further variables.

**Certificate.** Any λ ≥ 0 bounds the maximum from above (weak duality). So the solver's λ, whatever
its accuracy, proves a row when that bound, evaluated in exact arithmetic, is at most b0_i − A0_i x.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from dp_cmdp._src.base import exact
from dp_cmdp._src.base.errors import InfeasibleError, InvalidArgumentError, SolverError
from dp_cmdp._src.base.validation import FloatArray
from dp_cmdp._src.data.affine import Affine, IntArray, spans
from dp_cmdp._src.data.envelope import UncertaintySet
from dp_cmdp._src.program.highs import HighsEngine
from dp_cmdp._src.program.linear import LinearProgram

#: Beyond so many variables a row is linked only with inequalities all of whose entries it reads.
MOST_MEETINGS = 1 << 18
#: Inequalities that contradict each other by less than this, relative to how far their terms vary,
#: are not refused: no solver tells them from inequalities that just hold together.
TOO_CLOSE_TO_CALL = 2.0**-24
#: Nor where they do by less than this, relative to each of their terms: what sums of floats round
#: off, a product and a sum of 2^-53 each for every term, with a margin of two.
ROUNDED_OFF = 2.0**-51
CONTRADICTION = (
    "the released bounds and inequalities contradict each other: no database satisfies all of "
    "them, so they cannot come from one database that did not change in between; use one "
    "release only"
)
#: csr_array, of whose arguments its stubs know less.
_table: Any = sparse.csr_array
#: Units in the last place by which multipliers are moved: what a solver's rounding may cost.
NUDGES = (1, -1, 2, -2, 4, -4, 8, -8, 16, -16)


class UncertainRows:
    """Rows A(θ)x ≤ b(θ), seen as pairs p = (row i, entry k), for x between `lower` and `upper`.

    A pair collects every coefficient g_kij of A and h_ik of b through which θ_k enters row i;
    `A_pair` and `b_pair` say which pair each of their terms belongs to.
    """

    def __init__(
        self, A: Affine, b: Affine, *, entries: int, lower: FloatArray, upper: FloatArray
    ) -> None:
        self.A: Affine = A
        self.b: Affine = b
        self.entries: int = entries
        self.num_rows: int = b.shape[0]
        self.constant: FloatArray = b.constant.toarray().ravel()
        keys = np.concatenate([A.row * entries + A.entry, b.row * entries + b.entry])
        found, pair = np.unique(keys, return_inverse=True)
        self.keys: IntArray = found
        self.row: IntArray = self.keys // max(entries, 1)
        self.entry: IntArray = self.keys % max(entries, 1)
        self.A_pair: IntArray = pair[: A.row.size]
        self.b_pair: IntArray = pair[A.row.size :]
        at_lower, at_upper = A.coefficient * lower[A.col], A.coefficient * upper[A.col]
        pairs = self.keys.size
        h = np.bincount(self.b_pair, b.coefficient, pairs)
        least = np.bincount(self.A_pair, np.minimum(at_lower, at_upper), pairs) - h
        most = np.bincount(self.A_pair, np.maximum(at_lower, at_upper), pairs) - h
        #: 1 or −1 where w_p has that sign for every x within its bounds, 0 where both occur.
        self.sign: IntArray = np.where(least >= 0, 1, np.where(most <= 0, -1, 0))

    def table(self, numbers: NDArray[Any]) -> sparse.csr_array:
        """A number per pair as rows × entries, zeros stored."""
        indptr = np.searchsorted(self.row, np.arange(self.num_rows + 1))
        shape = (self.num_rows, self.entries)
        return _table((numbers, self.entry.copy(), indptr), shape)

    def weights(self, x: FloatArray) -> FloatArray:
        """w_p(x) of every pair, in floats."""
        w = np.bincount(self.A_pair, self.A.coefficient * x[self.A.col], self.keys.size)
        h = np.bincount(self.b_pair, self.b.coefficient, self.keys.size)
        return np.subtract(w, h, dtype=np.float64)  # of nothing bincount makes integers

    def weight_terms(self, x: FloatArray) -> tuple[IntArray, list[FloatArray]]:
        """The terms of which w_p(x) is the sum: their pairs and their factors, but for x_j = 0."""
        x_term = x[self.A.col]
        used = np.flatnonzero(x_term)
        ones = np.ones(self.b.coefficient.size)
        return np.concatenate([self.A_pair[used], self.b_pair]), [
            np.concatenate([self.A.coefficient[used], -self.b.coefficient]),
            np.concatenate([x_term[used], ones]),
        ]

    def slack_terms(self, x: FloatArray, theta: FloatArray) -> tuple[IntArray, list[FloatArray]]:
        """The terms of b_i(θ) − A_i(θ)x, θ given per pair: rows and factors, but for x_j = 0."""
        A, b, m = self.A, self.b, self.num_rows
        x_base, x_term = x[A.constant.indices], x[A.col]
        fixed, used = np.flatnonzero(x_base), np.flatnonzero(x_term)
        base = np.repeat(np.arange(m), np.diff(A.constant.indptr))[fixed]
        return np.concatenate([base, np.arange(m), A.row[used], b.row]), [
            np.concatenate(
                [-A.constant.data[fixed], self.constant, -A.coefficient[used], b.coefficient]
            ),
            np.concatenate([x_base[fixed], np.ones(m), x_term[used], np.ones(b.row.size)]),
            np.concatenate([np.ones(base.size + m), theta[self.A_pair[used]], theta[self.b_pair]]),
        ]


class RobustRows:
    """The rows for every θ of an uncertainty set.

    Pairs of row and entry are those of `rows`, then those of inequalities that a row is linked
    with. Variables of the counterpart: x, then z⁺ of the hard pairs, then λ of the links.

    Attributes
    ----------
    link_row, link_inequality : int arrays
    complete : bool
        Whether every inequality that could help a row is linked with it.
    """

    def __init__(self, rows: UncertainRows, known: UncertaintySet) -> None:
        self.rows, self.known = rows, known
        self.link_row, self.link_inequality, self.complete = _links(rows, known.W)
        W, count = known.W, rows.entries
        link, at = spans(W.indptr[self.link_inequality], np.diff(W.indptr)[self.link_inequality])
        keys = self.link_row[link] * count + W.indices[at]
        own = rows.keys.size
        extra = np.setdiff1d(keys, rows.keys)
        every = np.concatenate([rows.keys, extra])
        order = np.argsort(every, kind="stable")
        meeting = order[np.searchsorted(every[order], keys)]
        self.row = every // max(count, 1)
        self.entry = every % max(count, 1)
        #: Pair, link and weight W_jk of every meeting of a linked inequality with an entry.
        self.pull = meeting, link, W.data[at]
        self.low, self.high = known.lower[self.entry], known.upper[self.entry]
        linked = np.zeros(every.size, dtype=bool)
        linked[meeting] = True
        sign = np.zeros(every.size, dtype=np.int64)
        sign[:own] = rows.sign
        #: Pairs with a variable of their own; each other one stands at one end of its interval.
        self.hard = np.flatnonzero((linked | (sign == 0)) & (self.low < self.high))
        self.links = self.link_row.size
        #: Variables beside x.
        self.extra = self.hard.size + self.links
        self.base = np.where((sign > 0) & ~linked, self.high, self.low)

    @cached_property
    def counterpart(self) -> tuple[sparse.csr_array, FloatArray]:
        """A, b over (x, z⁺, λ): the rows, then z_p ≤ z⁺_p of the hard pairs."""
        rows, hard, (meeting, link, weight) = self.rows, self.hard, self.pull
        A, constant, pairs = rows.A, rows.A.constant, self.row.size
        m, n = rows.num_rows, A.shape[1]
        place = np.full(pairs, -1)  # of the row z_p ≤ z⁺_p
        place[hard] = m + np.arange(hard.size)
        steep, pulled = np.flatnonzero(place[rows.A_pair] >= 0), np.flatnonzero(place[meeting] >= 0)
        z, every = n + np.arange(hard.size), np.arange(self.links)
        first = n + hard.size  # of the multipliers
        blocks = (
            (np.repeat(np.arange(m), np.diff(constant.indptr)), constant.indices, constant.data),
            (A.row, A.col, A.coefficient * self.base[rows.A_pair]),
            (self.row[hard], z, (self.high - self.low)[hard]),
            (self.link_row, first + every, self.known.q[self.link_inequality]),
            (self.row[meeting], first + link, -weight * self.base[meeting]),
            (place[rows.A_pair[steep]], A.col[steep], A.coefficient[steep]),
            (place[hard], z, np.full(hard.size, -1.0)),
            (place[meeting[pulled]], first + link[pulled], -weight[pulled]),
        )
        row, column, number = map(np.concatenate, zip(*blocks, strict=True))
        h: Any = np.bincount(rows.b_pair, weights=rows.b.coefficient, minlength=pairs)
        least = np.bincount(self.row, weights=self.base * h, minlength=m)
        shape = (m + hard.size, first + self.links)
        return _table((number, (row, column)), shape), np.concatenate(
            [rows.constant + least, h[hard]]
        )

    def program(
        self,
        c: FloatArray,
        *,
        lower: FloatArray,
        upper: FloatArray,
        A_eq: sparse.csr_array,
        b_eq: FloatArray,
    ) -> LinearProgram:
        """The robust program: maximise cᵀx over the counterpart and public equalities."""
        A, b = self.counterpart
        none = np.zeros(self.extra)
        return LinearProgram(
            np.concatenate([c, none]),
            A,
            b,
            _table((A_eq.data, A_eq.indices, A_eq.indptr), (b_eq.size, c.size + self.extra)),
            b_eq,
            np.concatenate([lower, none]),
            np.concatenate([upper, np.full(self.extra, np.inf)]),
        )

    def split(self, point: FloatArray) -> tuple[FloatArray, FloatArray]:
        """x and λ ≥ 0 of a point of the program."""
        size = point.size
        return point[: size - self.extra], np.maximum(point[size - self.links :], 0.0)

    def slack(self, x: FloatArray, links: FloatArray) -> FloatArray:
        """Certain lower bounds on b_i(θ) − A_i(θ)x over the set; signs and minimum are exact."""
        rows, (meeting, link, weight) = self.rows, self.pull
        pair, (left, right) = rows.weight_terms(x)
        z = exact.row_signs(
            np.concatenate([pair, meeting]),
            [np.concatenate([left, -weight]), np.concatenate([right, links[link]])],
            num_rows=self.row.size,
        )
        theta = np.where(z > 0, self.high, self.low)
        at, terms = rows.slack_terms(x, theta)
        more = (
            [weight, -self.known.q[self.link_inequality]],
            [links[link], links],
            [theta[meeting], np.ones(self.links)],
        )
        return exact.tight_sums(
            np.concatenate([at, self.link_row[link], self.link_row]),
            [np.concatenate([own, *added]) for own, added in zip(terms, more, strict=True)],
            num_rows=rows.num_rows,
        )

    def slack_at(self, point: FloatArray) -> FloatArray:
        """:meth:`slack` at a point of the program."""
        return self.slack(*self.split(point))

    def multipliers(self, links: FloatArray) -> sparse.csr_array:
        """λ as rows × inequalities."""
        shape = (self.rows.num_rows, self.known.q.size)
        return sparse.csr_array((links, (self.link_row, self.link_inequality)), shape=shape)

    def links_of(self, multipliers: sparse.csr_array) -> FloatArray:
        """λ per link; multipliers of rows and inequalities that are not linked are left out."""
        given, count = sparse.coo_array(multipliers), self.known.q.size
        if not np.isfinite(given.data).all():
            raise InvalidArgumentError("multipliers must be finite")
        keys = self.link_row * count + self.link_inequality
        wanted = given.coords[0].astype(np.int64) * count + given.coords[1]
        order, found = np.argsort(keys), np.zeros(keys.size)
        kept = np.isin(wanted, keys)
        place = order[np.searchsorted(keys[order], wanted[kept])]
        found[place] = given.data[kept]
        return np.maximum(found, 0.0)

    def nudged_links(self, x: FloatArray, links: FloatArray) -> FloatArray:
        """Of λ and its neighbours among floats, what bounds each row best: some rounding of it."""
        best, slack = links, self.slack(x, links)
        for units in NUDGES:
            moved = np.maximum(links + units * np.spacing(links), 0.0)
            found = self.slack(x, moved)
            best = np.where((found > slack)[self.link_row], moved, best)
            slack = np.maximum(found, slack)
        return best

    def best_links(self, x: FloatArray) -> FloatArray:
        """λ that bound the rows well at a given x; zeros where the solver finds none."""
        if not self.links:
            return np.zeros(0)
        A, b = self.counterpart
        m, none = self.rows.num_rows, np.zeros(self.extra)
        right, own = b - A[:, : x.size] @ x, sparse.csr_array(A[:, x.size :])
        lp = LinearProgram(
            -np.asarray(own[:m].sum(axis=0), dtype=np.float64).ravel(),
            sparse.csr_array(own[m:]),
            right[m:],
            sparse.csr_array((0, self.extra)),
            np.zeros(0),
            none,
            np.full(self.extra, np.inf),
        )
        try:
            return np.maximum(HighsEngine(lp).run().x[self.hard.size :], 0.0)
        except SolverError:
            return np.zeros(self.links)


def _links(rows: UncertainRows, W: sparse.csr_array) -> tuple[IntArray, IntArray, bool]:
    """Every row with every inequality that can say something about its entries.

    Inequalities that share an entry may be combined, so a row is linked with all of the connected
    components (of inequalities and entries) that it meets. Where these are too many, it is linked
    with the inequalities all of whose entries it reads.
    """
    if not W.shape[0]:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), True
    graph = sparse.block_array([[None, W], [W.T, None]], format="csr")
    labels = csgraph.connected_components(graph, directed=False)[1].astype(np.int64)
    of_inequality, of_entry = labels[: W.shape[0]], labels[W.shape[0] :]
    met = np.unique(rows.row * (labels.max() + 1) + of_entry[rows.entry])
    met_row, met_label = np.divmod(met, labels.max() + 1)
    order = np.argsort(of_inequality, kind="stable")
    first = np.searchsorted(of_inequality[order], met_label, side="left")
    count = np.searchsorted(of_inequality[order], met_label, side="right") - first
    size = np.bincount(of_inequality, weights=np.diff(W.indptr), minlength=labels.max() + 1)
    if size[met_label].sum() > MOST_MEETINGS:
        pattern = sparse.csr_array((np.ones(W.nnz), W.indices, W.indptr), shape=W.shape)
        shared = (rows.table(np.ones(rows.row.size)) @ pattern.T).tocoo()
        row, inequality = (part.astype(np.int64) for part in shared.coords)
        own = (shared.data == np.diff(W.indptr)[inequality]) & (shared.data > 0)
        return row[own], inequality[own], False
    met, at = spans(first, count)
    return met_row[met], order[at], True


def check_consistent(known: UncertaintySet) -> FloatArray:
    """A database in the set, as far inside as may be, to the accuracy of the solver.

    Entries are measured from the lower ends of their intervals in units of their widths, queries in
    units of their largest part: the verdict does not depend on the scale of the data.

    Raises
    ------
    InvalidArgumentError
        If there is none.
    SolverError
        If the solver does not find out.
    """
    if (known.lower > known.upper).any():
        raise InvalidArgumentError(CONTRADICTION)
    width = known.upper - known.lower
    if known.is_box:
        return known.lower + width / 2
    largest = np.maximum(np.abs(known.lower), np.abs(known.upper))
    rounded = (np.diff(known.W.indptr) + 4) * ROUNDED_OFF * (abs(known.W) @ largest)
    spare = TOO_CLOSE_TO_CALL * (abs(known.W) @ width) + rounded
    left = known.q - known.W @ known.lower + spare
    parts = sparse.csr_array(known.W.multiply(width[None, :]))
    unit = abs(parts).max(axis=1).toarray().ravel()
    unit[unit == 0.0] = np.abs(left[unit == 0.0])
    unit[unit == 0.0] = 1.0
    parts.data = parts.data / np.repeat(unit, np.diff(parts.indptr))
    one = np.ones(width.size + 1)
    deepest = LinearProgram(
        np.append(np.zeros(width.size), 1.0),
        sparse.csr_array(sparse.hstack([parts, sparse.csr_array(np.ones((unit.size, 1)))])),
        left / unit,
        sparse.csr_array((0, one.size)),
        np.zeros(0),
        np.zeros(one.size),
        one,
    )
    try:
        share = HighsEngine(deepest).run().x[:-1]
    except InfeasibleError:
        raise InvalidArgumentError(CONTRADICTION) from None
    return np.clip(known.lower + share * width, known.lower, known.upper)
