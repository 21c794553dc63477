"""A linear program in which every private coefficient of A, b and c is an entry of its own.

That is how Algorithm 1 sees a program: it perturbs the coefficients A(θ), b(θ), c(θ), affine in θ
with matrix M, and never looks at the database behind them. One record of the database changes
coefficient j by at most Σ_k C_Rk |M_jk|; where it changes c entries at once, by at most the sum of
the c largest of these terms, and at most as many coefficients as the c largest counts
#{j : M_jk ≠ 0} of its entries add up to. Coefficients that are computed as sums of floats may be
off by their rounding, on both sides; bounds and changes cover it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dp_cmdp._src.base import exact
from dp_cmdp._src.base.validation import FloatArray
from dp_cmdp._src.data.affine import Affine, IntArray, spans
from dp_cmdp._src.data.envelope import Envelope, Group

if TYPE_CHECKING:
    from dp_cmdp._src.program.parametric import ParametricLP

#: Four times what one product of floats that underflows can miss.
UNDERFLOW = 2.0**-1073


def entrywise(
    program: ParametricLP,
) -> tuple[ParametricLP, sparse.csr_array, FloatArray]:
    """The problem with groups A, b and c of coefficients, and θ ↦ Mθ + m."""
    terms, constants, groups, start = [], [np.zeros(0)], [], 0
    own: dict[str, tuple[Any, ...]] = {}
    for name, field in (("A", "A"), ("b", "b"), ("c", "objective")):
        part = getattr(program, field)
        width = part.constant.shape[1]
        keys, position = np.unique(part.row * width + part.col, return_inverse=True)
        at, place = np.divmod(keys, max(width, 1)), start + np.arange(keys.size)
        constant, fixed = part.constant.tocoo(), np.zeros(keys.size)
        used = constant.coords[0].astype(np.int64) * width + constant.coords[1]
        read = np.isin(used, keys)
        fixed[np.searchsorted(keys, used[read])] = constant.data[read]
        public = sparse.csr_array(
            (constant.data * ~read, constant.coords), shape=part.constant.shape
        )
        public.eliminate_zeros()
        own[field] = part.shape, *at, place, np.ones(keys.size), public
        terms.append((start + position, part.entry, part.coefficient))
        constants.append(fixed)
        if keys.size:
            groups.append(Group(name, (keys.size,), start))
        start += keys.size
    m = np.concatenate(constants)
    place, entry, factor = (np.concatenate(part) for part in zip(*terms, strict=True))
    M = _Map(place, entry, factor, m, program.envelope)
    envelope = M.image(tuple(groups))
    made = {field: Affine._of(envelope, *parts) for field, parts in own.items()}
    matrix = sparse.csr_array((M.factor, (M.place, M.entry)), shape=(m.size, M.envelope.size))
    return program._with(envelope=envelope, **made), matrix, m


@dataclass(frozen=True)
class _Map:
    """θ ↦ Mθ + m, by terms factor·θ_entry at a place."""

    place: IntArray
    entry: IntArray
    factor: FloatArray
    m: FloatArray
    envelope: Envelope

    def image(self, groups: tuple[Group, ...]) -> Envelope:
        """The envelope of Mθ + m: intervals rounded outwards, changes rounded up."""
        size, box = self.m.size, self.envelope
        low, high = box.lower[self.entry], box.upper[self.entry]
        at, ones = np.concatenate([self.place, *[np.arange(size)] * 2]), np.ones(2 * size)
        ends = []
        for sign in (-1.0, 1.0):
            end = np.where(sign * self.factor > 0.0, high, low)
            parts = [sign * self.factor, sign * self.m, self.rounding]
            factors = [np.concatenate(parts), np.concatenate([end, ones])]
            ends.append(sign * exact.row_sums_up(at, factors, num_rows=size))
        (least, largest), change = ends, self.change
        most = None if box.entries_per_record is None else self.changed_at_once(change)
        return Envelope._of(least, largest, change, entries_per_record=most, groups=groups)

    @cached_property
    def rounding(self) -> FloatArray:
        """How far a coefficient computed in floats may be off.

        Nothing where it is a single entry with coefficient ±1. Of n terms and a constant, each
        passes at most n + 1 roundings of 2^-53, relative; the bound is four times that.
        """
        box, weights = self.envelope, np.abs(self.factor)
        largest = np.maximum(np.abs(box.lower), np.abs(box.upper))[self.entry]
        size, weight, count = (
            np.bincount(self.place, weights=part, minlength=self.m.size)
            for part in (weights * largest, weights, np.ones(weights.size))
        )
        error = (count + 1) * 2.0**-51 * (np.abs(self.m) + size) + count * UNDERFLOW
        return np.where((count == 1) & (self.m == 0.0) & (weight == 1.0), 0.0, error)

    @cached_property
    def change(self) -> sparse.csr_array:
        """C′: the most that each record changes each coefficient."""
        by_entry, places = sparse.csc_array(self.envelope.change), self.m.size
        first, count = by_entry.indptr[self.entry], np.diff(by_entry.indptr)[self.entry]
        term, at = spans(first, count)
        record = by_entry.indices[at].astype(np.int64)
        pairs, pair = np.unique(record * places + self.place[term], return_inverse=True)
        size = self.envelope.size
        triples, of_triple = np.unique(pair * size + self.entry[term], return_inverse=True)
        moved = exact.row_sums_up(
            of_triple, [np.abs(self.factor[term]), by_entry.data[at]], num_rows=triples.size
        )
        pair = triples // max(size, 1)
        if self.envelope.entries_per_record is not None:
            kept = largest(pair, moved, self.envelope.entries_per_record)
            moved, pair = moved[kept], pair[kept]
        owner, number = np.divmod(pairs, max(places, 1))
        amount = exact.row_sums_up(
            np.concatenate([pair, *[np.arange(pairs.size)] * 2]),
            [np.concatenate([moved, *[self.rounding[number]] * 2])],
            num_rows=pairs.size,
        )
        shape = (self.envelope.change.shape[0], places)
        return sparse.csr_array((amount, (owner, number)), shape=shape)

    def changed_at_once(self, change: sparse.csr_array) -> int:
        """max over records of min(#{j : C′_Rj > 0}, the c largest #{j : M_jk ≠ 0} of its k)."""
        table, most = self.envelope.change, self.envelope.entries_per_record
        assert most is not None
        read = np.unique(self.entry * max(self.m.size, 1) + self.place) // max(self.m.size, 1)
        counts = np.bincount(read, minlength=self.envelope.size)[table.indices]
        counts = counts * (table.data > 0.0)
        record = np.repeat(np.arange(table.shape[0]), np.diff(table.indptr))
        kept = largest(record, counts, most)
        several = np.bincount(record[kept], weights=counts[kept], minlength=table.shape[0])
        every = np.bincount(change.tocoo().coords[0], minlength=table.shape[0])
        return max(int(np.minimum(several, every).max(initial=0)), 1)


def largest(group: NDArray[np.integer[Any]], values: NDArray[Any], most: int) -> IntArray:
    """The places of the so many largest values of each group."""
    order = np.lexsort((-values, group))
    new = np.diff(group[order], prepend=-1) != 0
    first = np.flatnonzero(new)[np.cumsum(new) - 1]
    return order[np.arange(order.size) - first < most]
