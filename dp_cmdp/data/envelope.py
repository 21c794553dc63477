"""Public facts about private numbers: bounds, radius, records.

Every entry θ_k of a database lies in a public interval [lo_k, hi_k]. Two databases are *adjacent*
when they differ in one record, each of its entries by at most its public radius Δ_k. With records
of one entry and Δ_k = hi_k − lo_k that is the paper's ``def:adj2``: one entry may change to
anything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dp_cmdp import _check
from dp_cmdp._check import FloatArray
from dp_cmdp._documents import Document
from dp_cmdp._door import door
from dp_cmdp.data.labels import Labels
from dp_cmdp.data.names import check_normal
from dp_cmdp.data.records import joint_numbers, record_names, records_by_level
from dp_cmdp.errors import InvalidArgumentError

if TYPE_CHECKING:
    import pandas as pd

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
    records : array_like or str, optional
        Public name of each entry's record, broadcast to `shape`: integers, texts, or any hashable
        values of one kind (10 beside "10" is refused). Entries with one name belong to one person
        and may change together; 10 and 10.0 are one name, as are texts that differ in white space
        around them or in Unicode's normal form. Or the name of a level of the labels. By default
        every entry is its own record.
    labels : sequence, pandas Index or mapping, optional
        Public names of the entries, for tables and messages: one axis of labels, or a mapping from
        the name of each axis to its labels, ``{"group": groups, "advertiser": advertisers}``. They
        give the shape; those of one level are of one kind, as names of records are. By default
        entries have no labels but their positions.

    Notes
    -----
    Envelopes that say the same are equal, whoever made them: a database belongs to a program when
    their envelopes are. **Paper.** ``ass:bounded``, ``def:adj2``. **Privacy.** *Public*.

    Examples
    --------
    Three prices between 0 and 1; one of them may change to anything, or by 0.1 at most:

    >>> from dp_cmdp import Envelope
    >>> Envelope(0, 1, shape=3, name="price").radius
    array([1., 1., 1.])
    >>> Envelope(0, 1, shape=3, name="price", radius=0.1).radius
    array([0.1, 0.1, 0.1])

    Both prices of Acme belong to one record, which may change as a whole:

    >>> Envelope(0, 1, shape=3, name="price", records=["Acme", "Acme", "Bolt"])
    Envelope(price[3], record_size=2)
    """

    lower: FloatArray
    upper: FloatArray
    radius: FloatArray
    groups: Groups
    records: NDArray[np.int64]
    labels: tuple[Labels, ...]
    _has_names: bool

    @door
    def __init__(
        self,
        lower: ArrayLike,
        upper: ArrayLike,
        *,
        radius: ArrayLike | None = None,
        shape: int | Shape | None = None,
        name: str = "values",
        records: Any = None,
        labels: Any = None,
    ) -> None:
        lo = _check.rounded_array("lower", lower, up=False)
        hi = _check.rounded_array("upper", upper, up=True)
        rad = None if radius is None else _check.rounded_array("radius", radius, up=True)
        named = Labels.of(labels)
        wanted = _wanted_shape(shape, named)
        try:
            rad = whole_range(lo, hi) if rad is None else rad
            full = np.broadcast_shapes(lo.shape, hi.shape, rad.shape) if wanted is None else wanted
            lo, hi, rad = (np.broadcast_to(part, full).ravel() for part in (lo, hi, rad))
        except ValueError:
            raise InvalidArgumentError(
                "lower, upper and radius must broadcast to one shape (see the shape argument)"
            ) from None
        shaped = tuple(int(d) for d in full)
        has_names = isinstance(records, str)
        if records is None:
            owners = np.arange(lo.size)
        elif isinstance(records, str):
            (owners,) = records_by_level(records, {name: named})
        else:
            whose = record_names("records", records, group=name, shape=shaped)
            (owners,), has_names = joint_numbers([whose]), whose.dtype.kind != "i"
        self._fill(lo, hi, rad, ((name, shaped),), owners, (named,))
        object.__setattr__(self, "_has_names", has_names)

    def _fill(
        self,
        lower: FloatArray,
        upper: FloatArray,
        radius: FloatArray,
        groups: Groups,
        records: NDArray[np.int64],
        labels: tuple[Labels, ...],
    ) -> None:
        object.__setattr__(self, "groups", groups)
        object.__setattr__(self, "labels", labels)
        object.__setattr__(self, "_has_names", False)
        for name, _ in groups:
            check_normal("the name of a group", name)
        if lower.size == 0:
            raise InvalidArgumentError("an Envelope must hold at least one entry")
        if (lower >= upper).any():
            raise InvalidArgumentError(
                "lower must be below upper for every entry; first offending entry "
                f"{self._shown(np.argmax(lower >= upper))} (leave entries that cannot vary out)"
            )
        if (upper / 2 - lower / 2 > np.finfo(np.float64).max / 2).any():
            raise InvalidArgumentError(
                "upper − lower must be a finite float for every entry; rescale the entries"
            )
        if (radius <= 0).any():
            raise InvalidArgumentError(
                "radius must be positive for every entry; first offending entry "
                f"{self._shown(np.argmax(radius <= 0))}"
            )
        # a radius above the range promises more than can happen, so its rounding is let pass
        wide = radius > (upper - lower) * (1 + 1e-12)
        if wide.any():
            raise InvalidArgumentError(
                "radius must not exceed upper − lower for any entry; first offending entry "
                f"{self._shown(np.argmax(wide))}"
            )
        for name, part in (("lower", lower), ("upper", upper), ("radius", radius)):
            object.__setattr__(self, name, _check.frozen(np.array(part, dtype=np.float64)))
        compact = np.unique(records, return_inverse=True)[1].astype(np.int64)
        object.__setattr__(self, "records", _check.frozen(compact))

    @classmethod
    @door
    def join(
        cls,
        envelopes: Mapping[str, Envelope],
        *,
        records: str | Mapping[str, Any] | None = None,
    ) -> Envelope:
        """Several named groups of entries as one envelope, for one database and one release.

        `records` says whose entries they are when one record reaches across groups (an
        advertiser's prices and its budget): names of any type per group, of which equal ones are
        one record, or the name of a level that the labels of every group have. Otherwise each
        group keeps its own records, unless several have names for them: one person could be in
        more than one group, so that is refused. Labels are kept.

        Examples
        --------
        >>> from dp_cmdp import Envelope
        >>> price = Envelope(0, 1, radius=0.1, shape=(4, 2))
        >>> budget = Envelope(9, 11, radius=1, shape=2)
        >>> Envelope.join({"price": price, "budget": budget})
        Envelope(price[4, 2], budget[2], record_size=1)
        """
        if not envelopes:
            raise InvalidArgumentError("envelopes must name at least one group")
        for name, part in envelopes.items():
            _check.text("a name of envelopes", name)
            _check.instance(f"envelopes[{name!r}]", part, cls)
        parts = list(envelopes.values())
        groups = tuple((name, part._single_shape(name)) for name, part in envelopes.items())
        if records is None:
            several = [name for name, part in envelopes.items() if part._has_names]
            if len(several) > 1:
                raise InvalidArgumentError(
                    f"records must say again whose entries are whose: {', '.join(several)} have "
                    "names of records, and a name that is in two of them is one person; give "
                    "records={group: names, …} for every group, or a level of the labels"
                )
            offsets = np.cumsum([0, *(int(part.records.max()) + 1 for part in parts[:-1])])
            owners = [part.records + shift for part, shift in zip(parts, offsets, strict=True)]
        elif isinstance(records, str):
            owners = records_by_level(
                records, {name: part.labels[0] for name, part in envelopes.items()}
            )
        elif set(records) != set(envelopes):
            raise InvalidArgumentError("records must name the same groups as envelopes")
        else:
            owners = joint_numbers(
                [
                    record_names(f"records[{name!r}]", records[name], group=name, shape=shape)
                    for name, shape in groups
                ]
            )
        joined = cls.__new__(cls)
        joined._fill(
            np.concatenate([part.lower for part in parts]),
            np.concatenate([part.upper for part in parts]),
            np.concatenate([part.radius for part in parts]),
            groups,
            np.concatenate(owners),
            tuple(part.labels[0] for part in parts),
        )
        return joined

    @classmethod
    @door
    def from_frame(
        cls,
        frame: pd.DataFrame | Mapping[str, pd.DataFrame],
        *,
        lower: str | float = "lower",
        upper: str | float = "upper",
        radius: str | float | None = "radius",
        record: str | Sequence[str] | None = None,
        index: str | Sequence[str] | None = None,
        name: str = "values",
    ) -> Envelope:
        """Public facts from a table, with its index as labels.

        Parameters
        ----------
        frame : DataFrame, or mapping of DataFrames
            One row per entry; or one table per fact, ``{"lower": low, "upper": high}``, with one
            cell per entry: the group then has two axes, and tables are aligned by their labels.
        lower, upper, radius : str or float
            Names of columns (or of the mapping's tables), or numbers that hold for every entry.
            ``radius=None`` is the whole range: an entry may change to anything.
        record : str or sequence of str, optional
            The column, or level of the labels, whose values say whose entry it is; of any type. By
            default every entry is its own record.
        index : str or sequence of str, optional
            Columns that are the labels, where the index is not.
        name : str
            Name of the group.

        Raises
        ------
        InvalidArgumentError
            Naming the column and the label at fault. The table must be a public one.

        Notes
        -----
        **Privacy.** *Public*.

        Examples
        --------
        >>> import pandas as pd
        >>> from dp_cmdp import Envelope
        >>> table = pd.DataFrame({"upper": [1.0, 2.0]}, index=["Bern", "Basel"])
        >>> Envelope.from_frame(table, lower=0, radius=0.1, name="demand")
        Envelope(demand[2], record_size=1)
        """
        from dp_cmdp.data.from_frame import envelope_arguments

        arguments = envelope_arguments(
            frame,
            facts={"lower": lower, "upper": upper, "radius": radius},
            record=record,
            index=index,
        )
        return cls(**arguments, name=name)

    @door
    def to_frame(self, *, group: str | None = None) -> pd.DataFrame:
        """The public facts, one row per entry of all groups or of one, indexed by the labels.

        Examples
        --------
        >>> from dp_cmdp import Envelope
        >>> Envelope(0, [1, 2], radius=0.1, labels=["Bern", "Basel"], name="demand").to_frame()
               lower  upper  radius  record
        Bern     0.0    1.0     0.1       0
        Basel    0.0    2.0     0.1       1
        """
        from dp_cmdp.data.to_frame import envelope_frame

        return envelope_frame(self, group)

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
        """Positions of a group's entries in the flat database, in the group's own shape.

        Examples
        --------
        >>> from dp_cmdp import Envelope
        >>> price, budget = Envelope(0, 1, shape=(2, 2)), Envelope(9, 11, shape=2)
        >>> both = Envelope.join({"price": price, "budget": budget})
        >>> both.index("price")
        array([[0, 1],
               [2, 3]])
        >>> both.index("budget")
        array([4, 5])
        """
        _check.text("name", name)
        start = 0
        for group, shape in self.groups:
            if group == name:
                return np.arange(start, start + prod(shape)).reshape(shape)
            start += prod(shape)
        known = ", ".join(group for group, _ in self.groups)
        raise InvalidArgumentError(f"name must be one of the groups {known}; got {name[:60]!r}")

    def _shown(self, entry: Any) -> str:
        """An entry as messages name it: its position in the database, and its label."""
        place, start = int(entry), 0
        for (group, shape), labels in zip(self.groups, self.labels, strict=True):
            if labels and start <= place < start + prod(shape):
                return f"{place} ({group}: {labels.shown([place - start])})"
            start += prod(shape)
        return str(place)

    def encloses(self, lower: ArrayLike, upper: ArrayLike) -> bool:
        """Whether a box lies inside the bounds.

        Examples
        --------
        >>> from dp_cmdp import Envelope
        >>> Envelope(0, 1, shape=2).encloses([0.1, 0.2], [0.5, 1.0])
        True
        """
        return self.contains(lower) and self.contains(upper)

    def contains(self, values: ArrayLike) -> bool:
        """Whether a flat vector lies inside the bounds.

        Examples
        --------
        >>> from dp_cmdp import Envelope
        >>> Envelope(0, 1, shape=2).contains([0.5, 1.5])
        False
        """
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
            and self.labels == other.labels
            and all(np.array_equal(getattr(self, part), getattr(other, part)) for part in _ARRAYS)
        )

    def __hash__(self) -> int:
        # + 0 makes the two zeros, which are equal, the same bytes
        return hash((self.groups, *((getattr(self, part) + 0).tobytes() for part in _ARRAYS)))

    def document(self) -> Document:
        """The content of the envelope's file."""
        from dp_cmdp.data.packing import ENVELOPE_FORMAT, pack_envelope

        arrays: dict[str, Any] = {}
        return Document(ENVELOPE_FORMAT, {"envelope": pack_envelope(self, arrays)}, arrays)

    @door
    def save(self, path: str | Path) -> Path:
        """Write the envelope to an ``.npz`` file, atomically and without pickle.

        Examples
        --------
        >>> from dp_cmdp import Envelope
        >>> envelope = Envelope(0, 1, radius=0.1, shape=3)
        >>> envelope.save("envelope.npz").name
        'envelope.npz'
        """
        return self.document().write(path)

    @classmethod
    @door
    def load(cls, path: str | Path) -> Envelope:
        """Read an envelope written by :meth:`save`; everything in it is checked again.

        Examples
        --------
        >>> from dp_cmdp import Envelope
        >>> envelope = Envelope(0, 1, radius=0.1, shape=3)
        >>> Envelope.load(envelope.save("envelope.npz")) == envelope
        True
        """
        from dp_cmdp.data.packing import load_envelope

        return load_envelope(path)

    def __repr__(self) -> str:
        return f"Envelope({describe(self.groups)}, record_size={self.record_size})"

    def _repr_html_(self) -> str:
        from dp_cmdp.data.html import envelope_html

        return envelope_html(self)


def whole_range(lower: FloatArray, upper: FloatArray) -> FloatArray:
    """upper − lower, never rounded down: a radius must cover the whole range."""
    with np.errstate(over="ignore", invalid="ignore"):  # the Envelope refuses what is too wide
        width = upper - lower
        part = width - upper  # Knuth's exact error of the difference
        error = (upper - (width - part)) - (lower + part)
    return np.where(error > 0.0, np.nextafter(width, np.inf), width)


def _wanted_shape(shape: int | Shape | None, labels: Labels) -> Shape | None:
    """The shape that was asked for, in numbers or by labels; None if it was not."""
    asked = None if shape is None else _check.shape("shape", shape)
    if labels and asked not in (None, labels.shape):
        raise InvalidArgumentError(f"labels must be of the shape {asked}, they are {labels.shape}")
    return _check.shape("labels", labels.shape) if labels else asked


def describe(groups: Groups) -> str:
    """Names and shapes of the groups, as text."""
    return ", ".join(f"{name}{list(shape)}" for name, shape in groups)
