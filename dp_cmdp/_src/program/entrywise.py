"""A linear program in which every private coefficient of A, b and c is an entry of its own.

That is how Algorithm 1 sees a program: it perturbs the coefficients A(θ), b(θ), c(θ), affine in θ
with matrix M, and never looks at the database behind them. One record of the database changes
coefficient j by at most Σ_k C_Rk |M_jk|; where it changes c entries at once, by at most the sum of
the c largest of these terms, and at most as many coefficients as the c largest counts
#{j : M_jk ≠ 0} of its entries add up to. Coefficients that are computed as sums of floats may be
off by their rounding, on both sides; bounds and changes cover it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dp_cmdp._src.base import exact
from dp_cmdp._src.base.validation import FloatArray
from dp_cmdp._src.data.affine import Affine
from dp_cmdp._src.data.envelope import Envelope, Group

if TYPE_CHECKING:
    from dp_cmdp._src.program.parametric import ParametricLP

#: Four times what one product of floats that underflows can miss.
UNDERFLOW = 2.0**-1073


def entrywise(
    program: ParametricLP,
) -> tuple[ParametricLP, sparse.csr_array, FloatArray]:
    """The problem with groups A, b and c of coefficients, and θ ↦ Mθ + m."""
    parts = {"A": program.A, "b": program.b, "c": program.objective}
    groups, places, constants, terms, start = [], [], [], [], 0
    for name, part in parts.items():
        width = part.constant.shape[1]
        keys, position = np.unique(part.row * width + part.col, return_inverse=True)
        row, col = np.divmod(keys, max(width, 1))
        places.append((row, col, start + np.arange(keys.size)))
        constants.append(_at(part.constant, row, col))
        terms.append((start + position, part.entry, part.coefficient))
        if keys.size:
            groups.append(Group(name, (keys.size,), start))
        start += keys.size
    m = np.concatenate(constants)
    place, entry, coefficient = (np.concatenate(part) for part in zip(*terms, strict=True))
    envelope = _image(program.envelope, place, entry, coefficient, m, tuple(groups))
    objective, A, b = (
        _own(part, envelope, *where)
        for part, where in zip(
            (program.objective, program.A, program.b), places[2:] + places[:2], strict=True
        )
    )
    matrix = sparse.csr_array((coefficient, (place, entry)), shape=(m.size, program.envelope.size))
    return program._with(envelope=envelope, objective=objective, A=A, b=b), matrix, m


def _at(matrix: sparse.csr_array, row: NDArray[np.int64], col: NDArray[np.int64]) -> FloatArray:
    if not (row.size and matrix.nnz):
        return np.zeros(row.size)
    found = matrix[row, col]
    dense = found.toarray() if sparse.issparse(found) else found
    return np.asarray(dense, dtype=np.float64).ravel()


def _own(
    part: Affine,
    envelope: Envelope,
    row: NDArray[np.int64],
    col: NDArray[np.int64],
    entry: NDArray[np.int64],
) -> Affine:
    """Constants stay where nothing is read; each private coefficient reads its own entry."""
    fixed = part.constant.tocoo()
    width = part.constant.shape[1]
    at, own = (np.asarray(c, dtype=np.int64) for c in fixed.coords), row * width + col
    fixed_row, fixed_col = at
    public = ~np.isin(fixed_row * width + fixed_col, own)
    constant = sparse.csr_array(
        (fixed.data[public], (fixed_row[public], fixed_col[public])), shape=part.constant.shape
    )
    return Affine._of(envelope, part.shape, row, col, entry, np.ones(entry.size), constant)


def _image(
    envelope: Envelope,
    place: NDArray[np.int64],
    entry: NDArray[np.int64],
    coefficient: FloatArray,
    m: FloatArray,
    groups: tuple[Group, ...],
) -> Envelope:
    """The envelope of Mθ + m: intervals rounded outwards, changes rounded up."""
    rounding = _rounding(envelope, place, entry, coefficient, m)
    positive = coefficient > 0.0
    low = np.where(positive, envelope.lower[entry], envelope.upper[entry])
    high = np.where(positive, envelope.upper[entry], envelope.lower[entry])
    at = np.concatenate([place, np.arange(m.size), np.arange(m.size)])
    ends = [
        sign
        * exact.row_sums_up(
            at,
            [
                np.concatenate([sign * coefficient, sign * m, rounding]),
                np.concatenate([end, np.ones(2 * m.size)]),
            ],
            num_rows=m.size,
        )
        for sign, end in ((-1.0, low), (1.0, high))
    ]
    change, most = _change(envelope, place, entry, coefficient, rounding)
    return Envelope._of(*ends, change, entries_per_record=most, groups=groups)


def _rounding(
    envelope: Envelope,
    place: NDArray[np.int64],
    entry: NDArray[np.int64],
    coefficient: FloatArray,
    m: FloatArray,
) -> FloatArray:
    """How far a coefficient computed in floats may be off.

    Nothing where it is a single entry with coefficient ±1. Of n terms and a constant, each passes
    at most n + 1 roundings of 2^-53, relative; the bound is four times that.
    """
    largest = np.maximum(np.abs(envelope.lower), np.abs(envelope.upper))[entry]
    weights = np.abs(coefficient)
    size = np.bincount(place, weights=weights * largest, minlength=m.size)
    count = np.bincount(place, minlength=m.size)
    unit = np.bincount(place, weights=weights, minlength=m.size) == 1.0
    error = (count + 1) * 2.0**-51 * (np.abs(m) + size) + count * UNDERFLOW
    return np.where((count == 1) & (m == 0.0) & unit, 0.0, error)


def _change(
    envelope: Envelope,
    place: NDArray[np.int64],
    entry: NDArray[np.int64],
    coefficient: FloatArray,
    rounding: FloatArray,
) -> tuple[sparse.csr_array, int | None]:
    """C′ and the number of coefficients that a record changes at once."""
    of_entry = sparse.csc_array(envelope.change)
    count = np.diff(of_entry.indptr)[entry]
    term = np.repeat(np.arange(entry.size), count)
    at = of_entry.indptr[entry[term]] + np.arange(term.size)
    at -= np.repeat(np.cumsum(count) - count, count)
    record = of_entry.indices[at].astype(np.int64)
    moved = [np.abs(coefficient[term]), of_entry.data[at]]
    places, records = rounding.size, envelope.change.shape[0]
    pair_keys, pair = np.unique(record * places + place[term], return_inverse=True)
    most = envelope.entries_per_record
    if most is not None:
        triples, position = np.unique(
            pair * np.int64(envelope.size) + entry[term], return_inverse=True
        )
        moved = [exact.row_sums_up(position, moved, num_rows=triples.size)]
        pair = triples // envelope.size
        order = np.lexsort((-moved[0], pair))
        first = np.searchsorted(pair[order], np.arange(pair_keys.size))
        rank = np.arange(order.size) - first[pair[order]]
        kept = order[rank < most]
        moved, pair = [moved[0][kept]], pair[kept]
    number = pair_keys % max(places, 1)
    ones = np.ones(pair_keys.size)
    factors = [*moved, np.ones(moved[0].size)] if len(moved) == 1 else moved
    amount = exact.row_sums_up(
        np.concatenate([pair, np.arange(pair_keys.size)]),
        [
            np.concatenate([factors[0], 2.0 * ones]),
            np.concatenate([factors[1], rounding[number]]),
        ],
        num_rows=pair_keys.size,
    )
    owner = pair_keys // max(places, 1)
    change = sparse.csr_array((amount, (owner, number)), shape=(records, places))
    if most is None:
        return change, None
    return change, _together(envelope, place, entry, change, most)


def _together(
    envelope: Envelope,
    place: NDArray[np.int64],
    entry: NDArray[np.int64],
    change: sparse.csr_array,
    most: int,
) -> int:
    """max over records of min(#{j : C′_Rj > 0}, the c largest #{j : M_jk ≠ 0} of its k)."""
    keys = np.unique(entry * (int(place.max(initial=0)) + 1) + place)
    reads = np.bincount(keys // (int(place.max(initial=0)) + 1), minlength=envelope.size)
    table = envelope.change
    record = np.repeat(np.arange(table.shape[0]), np.diff(table.indptr))[table.data > 0.0]
    counts = reads[table.indices[table.data > 0.0]]
    order = np.lexsort((-counts, record))
    first = np.searchsorted(record[order], np.arange(table.shape[0]))
    rank = np.arange(order.size) - first[record[order]]
    kept = order[rank < most]
    several = np.bincount(record[kept], weights=counts[kept], minlength=table.shape[0])
    positive = np.add.reduceat(
        np.append(change.data > 0.0, False).astype(np.int64),
        np.minimum(change.indptr[:-1], change.data.size),
    ) * (np.diff(change.indptr) > 0) if table.shape[0] else np.zeros(0)  # fmt: skip
    return max(int(np.minimum(several, positive).max(initial=0)), 1)
