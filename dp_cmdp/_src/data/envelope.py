"""What is public about private numbers: bounds of its entries, and what one record can change.

Every entry θ_k of a database lies in a public interval [L_k, U_k]. Two databases are *adjacent*
when they differ in one record R, in each entry by at most C_Rk (`change`), and, where
`entries_per_record` = c is stated, in at most c entries. One entry per record with C = U − L is the
paper's ``def:adj2``: one entry may change to anything.

Private numbers are read on a lattice of cells n_k = ⌊θ_k/h_k⌋, h_k a power of two of about 2^-16
radii; record R moves n_k by at most t_Rk = min(⌈C_Rk/h_k⌉, ⌊U_k/h_k⌋ − ⌊L_k/h_k⌋) integers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from dp_cmdp._src.base import validation as check
from dp_cmdp._src.base.errors import InvalidArgumentError
from dp_cmdp._src.base.validation import FloatArray, validated
from dp_cmdp._src.data.uncertainty import UncertaintySet

if TYPE_CHECKING:
    import pandas as pd

    from dp_cmdp._src.data.affine import Affine

Shape = tuple[int, ...]
#: Lattice steps per radius, in bits: rounding an entry costs at most 2^-16 radii.
BITS = 16
#: Cells and moves stay below this, so that sums of two are still 64-bit integers.
MOST_CELLS = 2.0**62


@dataclass(frozen=True, eq=False)
class Group:
    """Entries of one name: an array of this shape, from `start` on in the flat database."""

    name: str
    shape: Shape
    start: int
    labels: tuple[pd.Index, ...] = ()

    @property
    def size(self) -> int:
        return prod(self.shape)

    @property
    def stop(self) -> int:
        return self.start + self.size


class Envelope:
    """first cut"""

    lower: FloatArray
    upper: FloatArray
    change: sparse.csr_array
    entries_per_record: int | None
    groups: tuple[Group, ...]

    def __init__(
        self,
        lower: ArrayLike,
        upper: ArrayLike,
        *,
        radius: ArrayLike | None = None,
        shape: int | Shape | None = None,
        labels: Any = None,
        records: Any = None,
        entries_per_record: int | None = None,
        change: Any = None,
    ) -> None:
        from dp_cmdp._src.data.records import numbered

        lo = check.rounded_array("lower", lower, up=False)
        hi = check.rounded_array("upper", upper, up=True)
        rad = whole_range(lo, hi) if radius is None else check.rounded_array("radius", radius, up=True)
        full = np.broadcast_shapes(lo.shape, hi.shape, rad.shape) if shape is None else check.shape("shape", shape)
        lo, hi, rad = (np.broadcast_to(part, full).ravel() for part in (lo, hi, rad))
        if change is not None:
            matrix = check.matrix("change", change, columns=lo.size)
        else:
            if records is not None:
                owners = numbered(list(np.broadcast_to(np.asarray(records, dtype=object), full).ravel()))
                owners = np.unique(owners, return_inverse=True)[1]
            elif entries_per_record is not None:
                owners = np.zeros(lo.size, dtype=np.int64)
            else:
                owners = np.arange(lo.size)
            matrix = sparse.csr_array((rad, (owners, np.arange(lo.size))), shape=(int(owners.max(initial=-1)) + 1, lo.size))
        self._fill(lo, hi, matrix, entries_per_record, (Group("values", tuple(full), 0),))

    @classmethod
    def _of(
        cls,
        lower: FloatArray,
        upper: FloatArray,
        change: sparse.csr_array,
        *,
        entries_per_record: int | None = None,
        groups: tuple[Group, ...] | None = None,
    ) -> Envelope:
        """An envelope from its parts."""
        made = cls.__new__(cls)
        whole = (Group("values", (lower.size,), 0),) if groups is None else groups
        made._fill(lower, upper, change, entries_per_record, whole)
        return made

    @classmethod
    def _empty(cls) -> Envelope:
        """The envelope of a program without private numbers."""
        none = np.zeros(0)
        return cls._of(none, none, sparse.csr_array((0, 0)))

    def _fill(self, lower: Any, upper: Any, change: Any, entries_per_record: int | None, groups: tuple[Group, ...]) -> None:
        self.lower = check.frozen(np.array(lower, dtype=np.float64))
        self.upper = check.frozen(np.array(upper, dtype=np.float64))
        self.change = check.frozen_sparse(sparse.csr_array(change, dtype=np.float64))
        self.entries_per_record = entries_per_record
        self.groups = groups

    @classmethod
    def join(cls, groups: Mapping[str, Envelope], *, records: Any = None, entries_per_record: int | None = None, change: Any = None) -> Envelope:
        parts = list(groups.values())
        found, start = [], 0
        for name, part in groups.items():
            found.append(Group(name, part.groups[0].shape, start))
            start += part.size
        lower = np.concatenate([part.lower for part in parts])
        upper = np.concatenate([part.upper for part in parts])
        matrix = sparse.csr_array(sparse.block_diag([part.change for part in parts], format="csr"))
        return cls._of(lower, upper, matrix, entries_per_record=entries_per_record, groups=tuple(found))

    @property
    def size(self) -> int:
        """Number of entries."""
        return self.lower.size

    @cached_property
    def radius(self) -> FloatArray:
        """The most that any record changes each entry."""
        most = np.zeros(self.size)
        np.maximum.at(most, self.change.indices, self.change.data)
        return check.frozen(most)

    @cached_property
    def step(self) -> FloatArray:
        """Lattice step of each entry: a power of two, so that dividing by it is exact."""
        exponent = np.frexp(np.where(self.radius > 0, self.radius, 1.0))[1]
        return check.frozen(np.ldexp(1.0, exponent - 1 - BITS))

    @cached_property
    def moves(self) -> sparse.csr_array:
        """Lattice steps that a record can move an entry, counted exactly."""
        step = self.step
        cells = np.floor(self.upper / step) - np.floor(self.lower / step)
        entry = self.change.indices
        steps = np.minimum(np.ceil(self.change.data / step[entry]), cells[entry]).astype(np.int64)
        return sparse.csr_array((steps, entry, self.change.indptr), shape=self.change.shape)

    def cells(self, values: FloatArray) -> list[int]:
        """⌊θ/step⌋, exactly."""
        return [int(cell) for cell in np.floor(values / self.step).tolist()]

    @cached_property
    def uncertainty(self) -> UncertaintySet:
        """Every database of the envelope: the box of its bounds."""
        return UncertaintySet.box(self.lower, self.upper)

    @cached_property
    def adjacency_digest(self) -> str:
        """SHA-256 of bounds and adjacency."""
        whole = hashlib.sha256(str(self.entries_per_record).encode())
        table = self.change.tocoo()
        for part in (self.lower, self.upper, table.data):
            whole.update((np.asarray(part, dtype="<f8") + 0.0).tobytes())
        for part in (*table.coords, np.array(self.change.shape)):
            whole.update(np.asarray(part, dtype="<i8").tobytes())
        return whole.hexdigest()

    def group(self, name: str) -> Group:
        """The group of that name."""
        for group in self.groups:
            if group.name == name:
                return group
        known = ", ".join(repr(group.name) for group in self.groups)
        raise InvalidArgumentError(f"name must be one of the groups {known}; got {name[:60]!r}")

    def __getitem__(self, key: Any) -> Affine:
        """Entries as affine terms: ``theta[0]``, ``theta[:]``, ``theta["price"]``."""
        from dp_cmdp._src.data.affine import Affine

        if isinstance(key, str):
            group = self.group(key)
            return Affine._entries(self, np.arange(group.start, group.stop), group.shape)
        single = len(self.groups) == 1 and self.groups[0].shape
        whole = Affine._entries(self, np.arange(self.size), single or (self.size,))
        return whole[key]

    def __eq__(self, other: object) -> bool:
        """Whether `other` states the same about the same entries."""
        if not isinstance(other, Envelope):
            return NotImplemented
        if self is other:
            return True
        names = [[(g.name, g.shape) for g in e.groups] for e in (self, other)]
        return names[0] == names[1] and self.adjacency_digest == other.adjacency_digest

    def __hash__(self) -> int:
        return hash(self.adjacency_digest)

    def document(self) -> dict[str, Any]:
        """What files hold."""
        table = self.change.tocoo()
        return {
            "lower": self.lower,
            "upper": self.upper,
            "change_record": table.coords[0].astype(np.int64),
            "change_entry": table.coords[1].astype(np.int64),
            "change": table.data,
            "records": int(self.change.shape[0]),
            "entries_per_record": self.entries_per_record,
            "groups": [{"name": g.name, "shape": list(g.shape), "labels": None} for g in self.groups],
        }

    @classmethod
    def from_document(cls, said: Mapping[str, Any]) -> Envelope:
        """What :meth:`document` wrote, checked again."""
        size = len(said["lower"])
        at = said["change_record"], said["change_entry"]
        change = sparse.csr_array((said["change"], at), shape=(said["records"], size))
        groups, start = [], 0
        for part in said["groups"]:
            groups.append(Group(part["name"], tuple(part["shape"]), start))
            start = groups[-1].stop
        return cls._of(said["lower"], said["upper"], change, entries_per_record=said["entries_per_record"], groups=tuple(groups))

    def __repr__(self) -> str:
        return f"Envelope({', '.join(f'{g.name}{list(g.shape)}' for g in self.groups)})"


def whole_range(lower: FloatArray, upper: FloatArray) -> FloatArray:
    """upper − lower, never rounded down: a radius must cover the whole range."""
    with np.errstate(over="ignore", invalid="ignore"):  # the Envelope refuses what is too wide
        width = upper - lower
        part = width - upper  # Knuth's exact error of the difference
        error = (upper - (width - part)) - (lower + part)
    return np.where(error > 0.0, np.nextafter(width, np.inf), width)
