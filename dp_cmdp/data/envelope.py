"""Public facts about private numbers: bounds, radius, records.

Every entry θ_k of a database lies in a public interval [lo_k, hi_k]. Two databases are *adjacent*
when they differ in one record, each of its entries by at most its public radius Δ_k. With records
of one entry and Δ_k = hi_k − lo_k that is the paper's ``def:adj2``: one entry may change to
anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dp_cmdp import _check
from dp_cmdp._check import FloatArray
from dp_cmdp._door import door
from dp_cmdp.errors import InvalidArgumentError

Shape = tuple[int, ...]
Groups = tuple[tuple[str, Shape], ...]
_ARRAYS = ("lower", "upper", "radius", "records")


@dataclass(frozen=True, slots=True, eq=False)
class Envelope:
    """Public facts about a database: bounds, radius and records of its entries.

    Parameters
    ----------
    lower, upper : array_like
        Public bounds of the entries, broadcast to `shape`. Numbers that are no floats (fractions,
        decimals, integers beyond 2^53) are rounded outwards, so that what they enclose stays in.
    radius : array_like, optional
        How far one entry may move between adjacent databases. The default is the whole range:
        "one entry may change to anything" (paper: ``def:adj2``), the strongest promise. Numbers
        that are no floats are rounded up.
    shape : int or tuple of int, optional
        Shape of the group of entries; by default that of the broadcast bounds.
    name : str
        Name of the group.
    records : array_like of int, optional
        Public label of each entry; entries with one label belong to one person and may change
        together. By default every entry is its own record.

    Notes
    -----
    Envelopes that say the same are equal, whoever made them: a database belongs to a program when
    their envelopes are. **Paper.** ``ass:bounded``, ``def:adj2``. **Privacy.** *Public*.
    """

    lower: FloatArray
    upper: FloatArray
    radius: FloatArray
    groups: Groups
    records: NDArray[np.int64]

    @door
    def __init__(
        self,
        lower: ArrayLike,
        upper: ArrayLike,
        *,
        radius: ArrayLike | None = None,
        shape: int | Shape | None = None,
        name: str = "values",
        records: ArrayLike | None = None,
    ) -> None:
        lo = _check.rounded_array("lower", lower, up=False)
        hi = _check.rounded_array("upper", upper, up=True)
        rad = None if radius is None else _check.rounded_array("radius", radius, up=True)
        wanted = None if shape is None else _check.shape("shape", shape)
        try:
            rad = whole_range(lo, hi) if rad is None else rad
            full = np.broadcast_shapes(lo.shape, hi.shape, rad.shape) if wanted is None else wanted
            lo, hi, rad = (np.broadcast_to(part, full).ravel() for part in (lo, hi, rad))
        except ValueError:
            raise InvalidArgumentError(
                "lower, upper and radius must broadcast to one shape (see the shape argument)"
            ) from None
        labels = np.arange(lo.size) if records is None else _labels(records, full)
        self._fill(lo, hi, rad, ((name, tuple(int(d) for d in full)),), labels)

    def _fill(
        self,
        lower: FloatArray,
        upper: FloatArray,
        radius: FloatArray,
        groups: Groups,
        records: NDArray[np.int64],
    ) -> None:
        if lower.size == 0:
            raise InvalidArgumentError("an Envelope must hold at least one entry")
        if (lower >= upper).any():
            raise InvalidArgumentError(
                "lower must be below upper for every entry; first offending entry "
                f"{int(np.argmax(lower >= upper))} (leave entries that cannot vary out)"
            )
        if (upper / 2 - lower / 2 > np.finfo(np.float64).max / 2).any():
            raise InvalidArgumentError(
                "upper − lower must be a finite float for every entry; rescale the entries"
            )
        if (radius <= 0).any():
            raise InvalidArgumentError("radius must be positive for every entry")
        # a radius above the range promises more than can happen, so its rounding is let pass
        if (radius > (upper - lower) * (1 + 1e-12)).any():
            raise InvalidArgumentError("radius must not exceed upper − lower for any entry")
        for name, part in (("lower", lower), ("upper", upper), ("radius", radius)):
            object.__setattr__(self, name, _check.frozen(np.array(part, dtype=np.float64)))
        object.__setattr__(self, "groups", groups)
        compact = np.unique(records, return_inverse=True)[1].astype(np.int64)
        object.__setattr__(self, "records", _check.frozen(compact))

    @classmethod
    @door
    def join(
        cls,
        envelopes: Mapping[str, Envelope],
        *,
        records: Mapping[str, ArrayLike] | None = None,
    ) -> Envelope:
        """Several named groups of entries as one envelope, for one database and one release.

        `records` gives labels per group when one record reaches across groups (an advertiser's
        prices and its budget); otherwise each group keeps its own records.
        """
        if not envelopes:
            raise InvalidArgumentError("envelopes must name at least one group")
        for name, part in envelopes.items():
            _check.text("a name of envelopes", name)
            _check.instance(f"envelopes[{name!r}]", part, cls)
        parts = list(envelopes.values())
        groups = tuple((name, part._single_shape(name)) for name, part in envelopes.items())
        if records is None:
            offsets = np.cumsum([0, *(int(part.records.max()) + 1 for part in parts[:-1])])
            labels = [part.records + shift for part, shift in zip(parts, offsets, strict=True)]
        elif set(records) != set(envelopes):
            raise InvalidArgumentError("records must name the same groups as envelopes")
        else:
            labels = [_labels(records[name], shape) for name, shape in groups]
        joined = cls.__new__(cls)
        joined._fill(
            np.concatenate([part.lower for part in parts]),
            np.concatenate([part.upper for part in parts]),
            np.concatenate([part.radius for part in parts]),
            groups,
            np.concatenate(labels),
        )
        return joined

    def _single_shape(self, name: str) -> Shape:
        if len(self.groups) != 1:
            raise InvalidArgumentError(f"envelopes[{name!r}] must hold a single group")
        return self.groups[0][1]

    @property
    def num_entries(self) -> int:
        return self.lower.size

    @property
    def record_size(self) -> int:
        """m: the most entries that may change together."""
        return int(np.unique(self.records, return_counts=True)[1].max())

    def index(self, name: str) -> NDArray[np.int64]:
        """Positions of a group's entries in the flat database, in the group's own shape."""
        _check.text("name", name)
        start = 0
        for group, shape in self.groups:
            if group == name:
                return np.arange(start, start + prod(shape)).reshape(shape)
            start += prod(shape)
        known = ", ".join(group for group, _ in self.groups)
        raise InvalidArgumentError(f"name must be one of the groups {known}; got {name[:60]!r}")

    def encloses(self, lower: ArrayLike, upper: ArrayLike) -> bool:
        """Whether a box lies inside the bounds."""
        return self.contains(lower) and self.contains(upper)

    def contains(self, values: ArrayLike) -> bool:
        """Whether a flat vector lies inside the bounds."""
        flat = _check.array("values", values)
        if flat.shape != self.lower.shape:
            raise InvalidArgumentError(f"values must have {self.num_entries} entries")
        return bool(((self.lower <= flat) & (flat <= self.upper)).all())

    def __eq__(self, other: object) -> bool:
        """Whether `other` states the same public facts about the same entries."""
        if not isinstance(other, Envelope):
            return NotImplemented
        return self is other or (
            self.groups == other.groups
            and all(np.array_equal(getattr(self, part), getattr(other, part)) for part in _ARRAYS)
        )

    def __hash__(self) -> int:
        # + 0 makes the two zeros, which are equal, the same bytes
        return hash((self.groups, *((getattr(self, part) + 0).tobytes() for part in _ARRAYS)))

    def __repr__(self) -> str:
        return f"Envelope({describe(self.groups)}, record_size={self.record_size})"


def whole_range(lower: FloatArray, upper: FloatArray) -> FloatArray:
    """upper − lower, never rounded down: a radius must cover the whole range."""
    with np.errstate(over="ignore", invalid="ignore"):  # the Envelope refuses what is too wide
        width = upper - lower
        part = width - upper  # Knuth's exact error of the difference
        error = (upper - (width - part)) - (lower + part)
    return np.where(error > 0.0, np.nextafter(width, np.inf), width)


def _labels(records: ArrayLike, shape: Shape) -> NDArray[np.int64]:
    labels = _check.integers("records", records)
    try:
        return np.broadcast_to(labels, shape).ravel()
    except ValueError:
        raise InvalidArgumentError(f"records must broadcast to the shape {shape}") from None


def describe(groups: Groups) -> str:
    """Names and shapes of the groups, as text."""
    return ", ".join(f"{name}{list(shape)}" for name, shape in groups)
