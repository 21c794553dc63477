"""Robust counterparts of rows A(θ)x ≤ b(θ) over a polytope of databases.

Row i must hold for every θ with low ≤ θ ≤ high and Wθ ≤ q. With w_ik(x) as in
:mod:`dp_cmdp.program.counterpart`, linear programming duality gives

    max Σ_k w_ik θ_k  =  min { Σ_j λ_ij q_j + Σ_k max{ z_ik θ_k : low_k ≤ θ_k ≤ high_k } : λ_i ≥ 0 }
    z_ik = w_ik(x) − Σ_j λ_ij W_jk,        max{…} = low_k z_ik + (high_k − low_k) max(z_ik, 0)

so that the counterpart is linear: a multiplier λ_ij for every *link* of a row and a fact, and a
variable p_ik ≥ 0, p_ik ≥ z_ik for every *meeting* of a row with an entry of its facts. Pairs of row
and entry outside all facts stay as they are over a box.

**Certificate.** Any λ ≥ 0 bounds the maximum from above (weak duality). So the solver's λ, whatever
its accuracy, proves a row when the right-hand side above, evaluated in exact arithmetic, is at most
b0_i − A0_i x.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from dp_cmdp import _exact as exact
from dp_cmdp._check import FloatArray
from dp_cmdp.data.affine import IntArray
from dp_cmdp.data.polytope import Polytope
from dp_cmdp.errors import InvalidArgumentError, SolverError
from dp_cmdp.program.counterpart import Counterpart, UncertainRows
from dp_cmdp.program.linear_program import LinearProgram, make_engine

#: Facts that contradict each other by less than this, relative to their terms, are not refused: no
#: solver tells them from facts that just hold together.
TOO_CLOSE_TO_CALL = 2.0**-24


@dataclass(frozen=True, slots=True)
class Links:
    """Which row uses which fact."""

    row: IntArray
    fact: IntArray

    @classmethod
    def of(cls, rows: UncertainRows, W: sparse.csr_array) -> Links:
        """Every row with every fact that can tell something about its entries.

        Facts that share an entry may be combined, so a row is linked with all facts of the
        connected components (of facts and entries) that it meets.
        """
        if not W.shape[0]:
            return cls(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))
        graph = sparse.block_array([[None, W], [W.T, None]], format="csr")
        labels = csgraph.connected_components(graph, directed=False)[1]
        of_fact, of_entry = labels[: W.shape[0]], labels[W.shape[0] :]
        met = np.unique(np.stack([rows.row, of_entry[rows.entry]]), axis=1)
        order = np.argsort(of_fact, kind="stable")
        first = np.searchsorted(of_fact[order], met[1], side="left")
        count = np.searchsorted(of_fact[order], met[1], side="right") - first
        inside = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
        return cls(np.repeat(met[0], count), order[np.repeat(first, count) + inside])


class PolytopeRows:
    """Rows A(θ)x ≤ b(θ) for every θ in a polytope.

    Parameters
    ----------
    rows : UncertainRows
    polytope : Polytope
    low, high : FloatArray, optional
        An interval per pair of row and entry instead of the polytope's.
    links : Links, optional
        Which row uses which fact; by default every one that can help.

    Attributes
    ----------
    meeting_row, meeting_entry : IntArray
        Row and entry of each meeting.
    pull : csr_array, (meetings, links)
        W_jk: how much of a meeting's weight one unit of a link's multiplier takes over.
    """

    def __init__(
        self,
        rows: UncertainRows,
        polytope: Polytope,
        *,
        low: FloatArray | None = None,
        high: FloatArray | None = None,
        links: Links | None = None,
    ) -> None:
        self._rows, self._q, W = rows, polytope.q, polytope.W
        self.links = Links.of(rows, W) if links is None else links
        self._low = polytope.lower[rows.entry] if low is None else low
        self._high = polytope.upper[rows.entry] if high is None else high
        count = np.diff(W.indptr)[self.links.fact]
        link = np.repeat(np.arange(count.size), count)
        inside = np.arange(link.size) - np.repeat(np.cumsum(count) - count, count)
        at = W.indptr[self.links.fact][link] + inside
        n = polytope.num_entries
        keys, meeting = np.unique(self.links.row[link] * n + W.indices[at], return_inverse=True)
        self.meeting_row: IntArray = keys // n
        self.meeting_entry: IntArray = keys % n
        self.pull = sparse.csr_array(
            (W.data[at], (meeting, link)), shape=(keys.size, self.links.fact.size)
        )
        own = rows.row * n + rows.entry  # sorted, as UncertainRows makes them
        place = np.minimum(np.searchsorted(own, keys), max(own.size - 1, 0))
        met = own[place] == keys if own.size else np.zeros(keys.size, dtype=bool)
        self._met = np.flatnonzero(met)  # meetings whose row reads their entry
        self._pair = place[self._met]
        self._meeting_low = polytope.lower[self.meeting_entry]
        self._meeting_high = polytope.upper[self.meeting_entry]
        self._meeting_low[self._met] = self._low[self._pair]
        self._meeting_high[self._met] = self._high[self._pair]

    @property
    def num_multipliers(self) -> int:
        return self.links.fact.size

    def counterpart(self) -> Counterpart:
        """The rows over x, the auxiliary variables of the box, p and λ (the last two ≥ 0)."""
        rows, low, width = self._rows, self._meeting_low, self._meeting_high - self._meeting_low
        box = rows.counterpart(self._low, self._high, at_low=self._pair)
        if not self.num_multipliers:
            return box
        meetings, links = self.pull.shape
        G, h = rows.weight_rows(self._pair)
        own = np.zeros(meetings)
        own[self._met] = h
        aux = box.num_auxiliary
        spread = sparse.csr_array(
            (np.ones(self._met.size), (self._met, np.arange(self._met.size))),
            shape=(meetings, self._met.size),
        )
        defining = sparse.hstack(
            [
                spread @ G,
                sparse.csr_array((meetings, aux)),
                -sparse.eye_array(meetings),
                -self.pull,
            ]
        )
        price = self._q[self.links.fact] - self.pull.T @ low
        columns = sparse.csr_array(
            (
                np.concatenate([width, price]),
                (
                    np.concatenate([self.meeting_row, self.links.row]),
                    np.arange(meetings + links),
                ),
            ),
            shape=(rows.num_rows, meetings + links),
        )
        wider = sparse.csr_array((box.b_aux.size, meetings + links))
        return Counterpart(
            A=sparse.hstack([box.A, columns], format="csr"),
            b=box.b,
            A_aux=sparse.vstack([sparse.hstack([box.A_aux, wider]), defining], format="csr"),
            b_aux=np.concatenate([box.b_aux, own]),
            num_auxiliary=aux + meetings + links,
            num_positive=meetings + links,
            num_multipliers=links,
        )

    def exact_slack(self, x: FloatArray, multipliers: FloatArray) -> FloatArray:
        """Certain lower bounds on b_i(θ) − A_i(θ)x over the polytope, in exact arithmetic."""
        at, factors = self._slack_terms(x, multipliers)
        return exact.row_sums(at, factors, num_rows=self._rows.num_rows)

    def tight_slack(self, x: FloatArray, multipliers: FloatArray) -> FloatArray:
        """The same where a row is tight or may have the least slack, elsewhere a lower bound.

        Signs and minimum are those of :meth:`exact_slack`.
        """
        at, factors = self._slack_terms(x, multipliers)
        return exact.tight_sums(at, factors, num_rows=self._rows.num_rows)

    def _slack_terms(
        self, x: FloatArray, multipliers: FloatArray
    ) -> tuple[IntArray, list[FloatArray]]:
        """The terms of the bounds on the slacks: rows and factors."""
        rows = self._rows
        theta = np.where(rows.weight_signs(x) > 0, self._high, self._low)
        if not self.num_multipliers:
            return rows.slack_terms(x, theta)
        pull = self.pull.tocoo()
        meeting, link = pull.row.astype(np.intp), pull.col.astype(np.intp)
        pair, factors = rows.weight_terms(x)
        meeting_of = np.full(rows.row.size, -1)
        meeting_of[self._pair] = self._met
        kept = meeting_of[pair] >= 0
        z = exact.row_signs(
            np.concatenate([meeting_of[pair[kept]], meeting]),
            [
                np.concatenate([factors[0][kept], -pull.data]),
                np.concatenate([factors[1][kept], multipliers[link]]),
            ],
            num_rows=self.meeting_row.size,
        )
        end = np.where(z > 0, self._meeting_high, self._meeting_low)
        theta[self._pair] = end[self._met]
        at, terms = rows.slack_terms(x, theta)
        ones = np.ones(multipliers.size)
        return np.concatenate([at, self.links.row[link], self.links.row]), [
            np.concatenate([terms[0], pull.data, -self._q[self.links.fact]]),
            np.concatenate([terms[1], multipliers[link], multipliers]),
            np.concatenate([terms[2], end[meeting], ones]),
        ]


def check_consistent(polytope: Polytope) -> None:
    """Raise unless some database satisfies all facts, to the accuracy of the solver.

    Entries are measured from the lower ends of their intervals in units of their widths, totals in
    units of their largest part: the verdict does not depend on the scale of the data.
    """
    if polytope.is_box:
        return
    width = polytope.upper - polytope.lower
    largest = np.maximum(np.abs(polytope.lower), np.abs(polytope.upper))
    room = polytope.q - polytope.W @ polytope.lower
    room += TOO_CLOSE_TO_CALL * (abs(polytope.W) @ largest)
    parts = sparse.csr_array(polytope.W * width)
    unit = np.asarray(abs(parts).max(axis=1).todense()).ravel()
    unit[unit == 0.0] = np.abs(room[unit == 0.0])
    unit[unit == 0.0] = 1.0
    row = np.repeat(np.arange(unit.size), np.diff(parts.indptr))
    parts.data = parts.data / unit[row]
    point = LinearProgram(np.zeros(width.size), parts, b=room / unit, upper=np.ones(width.size))
    try:
        make_engine(point, "highs").run(point.b)
    except SolverError:
        raise InvalidArgumentError(
            "the facts contradict each other: no database satisfies all of them, so they cannot "
            "come from one database; use the facts of one release only"
        ) from None
