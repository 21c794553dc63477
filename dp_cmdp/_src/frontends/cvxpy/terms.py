"""From cvxpy's tensors to terms: the coefficient of every private entry in every place.

A column of a tensor is one entry of a parameter, in Fortran order; its rows are the places of the
matrix [A, b], column after column, and the last column is the constant. So the coefficient of
every entry in every place is read off the non-zeros, all at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dp_cmdp._src.base.validation import FloatArray
from dp_cmdp._src.data.affine import Affine
from dp_cmdp._src.data.envelope import Envelope
from dp_cmdp._src.frontends.cvxpy.tensors import ConeProgram

BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Terms:
    """Entries of a matrix: constant ones, and those that read the database (entry ≥ 0)."""

    row: IntArray
    col: IntArray
    entry: IntArray
    coefficient: FloatArray

    def where(self, kept: BoolArray) -> Terms:
        """Some of the terms."""
        return Terms(self.row[kept], self.col[kept], self.entry[kept], self.coefficient[kept])

    def of_rows(self, rows: IntArray, height: int) -> Terms:
        """The terms of some rows, numbered anew in their order; there are `height` now."""
        number = np.full(height, -1)
        number[rows] = np.arange(rows.size)
        part = self.where(number[self.row] >= 0)
        return Terms(number[part.row], part.col, part.entry, part.coefficient)

    @property
    def private(self) -> BoolArray:
        return self.entry >= 0

    def constant(self, shape: tuple[int, int]) -> sparse.csr_array:
        """The constant part as a matrix."""
        fixed = self.where(~self.private)
        return sparse.csr_array((fixed.coefficient, (fixed.row, fixed.col)), shape=shape)

    def affine(self, envelope: Envelope, shape: tuple[int, ...]) -> Affine:
        """All terms as an affine matrix, or vector."""
        moved, table = self.where(self.private), (*shape, 1)[:2]
        return Affine._of(
            envelope,
            shape,
            moved.row,
            moved.col,
            moved.entry,
            moved.coefficient,
            self.constant((table[0], table[1])),
        )

    def split(self, width: int) -> tuple[Terms, Terms]:
        """Terms of [A, b], with `width` columns of A: those of A, and those of b in column 0."""
        A, b = self.where(self.col < width), self.where(self.col == width)
        return A, Terms(b.row, np.zeros_like(b.col), b.entry, b.coefficient)

    def scaled(self, factor: float) -> Terms:
        return Terms(self.row, self.col, self.entry, factor * self.coefficient)


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """What the columns of the tensors stand for: a database entry (−1 for public numbers, of which
    the last column, 1, is one) and the public number (1 for private entries)."""

    envelope: Envelope
    entry: IntArray
    value: FloatArray

    @classmethod
    def of(cls, cone: ConeProgram, envelope: Envelope, names: dict[int, str]) -> Columns:
        """Private parameters have a name here; the others have a value."""
        total = sum(parameter.size for parameter in cone.parameters)
        entry = np.full(total + 1, -1, dtype=np.int64)
        value = np.ones(entry.size)
        for parameter in cone.parameters:
            place = slice(start := cone.parameter_start[parameter.id], start + parameter.size)
            if parameter.id in names:
                group = envelope._group(names[parameter.id])
                index = np.arange(group.start, group.stop).reshape(parameter.shape)
                entry[place] = index.ravel(order="F")
            else:
                value[place] = np.ravel(parameter.value, order="F")
        return cls(envelope, entry, value)

    def names(self, entries: IntArray) -> list[str]:
        """The groups that hold some database entries."""
        return [
            group.name
            for group in self.envelope.groups
            if ((group.start <= entries) & (entries < group.stop)).any()
        ]

    def terms(self, tensor: Any, *, height: int) -> Terms:
        """The terms of a tensor whose matrix has `height` rows."""
        table = sparse.coo_array(tensor)
        place, column = np.array(table.coords, dtype=np.int64)
        data = table.data * self.value[column]
        kept = data != 0.0
        place, column = place[kept], column[kept]
        return Terms(place % height, place // height, self.entry[column], data[kept])


def bounds_of(A: Terms, b: FloatArray, rows: BoolArray, width: int) -> tuple[BoolArray, Any, Any]:
    """Public rows a z_j + b ≥ 0 that are bounds of one variable, and the bounds they make.

    Only where −b/a is no rounded number: b is 0, or a is a power of two and nothing underflows.
    """
    count = np.bincount(A.row, minlength=rows.size)
    alone = A.where((count == 1)[A.row] & rows[A.row])
    limit = -b[alone.row] / alone.coefficient
    is_exact = (np.abs(np.frexp(alone.coefficient)[0]) == 0.5) & (np.abs(limit) > 2.0**-1000)
    is_exact |= b[alone.row] == 0.0
    taken = np.zeros(rows.size, dtype=bool)
    taken[alone.row[is_exact]] = True
    lower, upper = np.full(width, -np.inf), np.full(width, np.inf)
    up = alone.coefficient > 0.0
    np.maximum.at(lower, alone.col[up & is_exact], limit[up & is_exact] + 0.0)
    np.minimum.at(upper, alone.col[~up & is_exact], limit[~up & is_exact] + 0.0)
    return taken, lower, upper
