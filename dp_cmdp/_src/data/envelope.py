"""What is public about private numbers: their bounds, and what one record can change.

Every entry θ_k of a database lies in a public interval [L_k, U_k]. Two databases are *adjacent*
when they differ in one record R, in each entry by at most C_Rk (`change`), and, where
`entries_per_record` = c is stated, in at most c entries. One entry per record with C = U − L is the
paper's ``def:adj2``: one entry may change to anything.

Private numbers are read on a lattice of cells n_k = ⌊θ_k/h_k⌋, h_k a power of two of about 2^-16
radii; record R moves n_k by at most t_Rk = min(⌈C_Rk/h_k⌉, ⌊U_k/h_k⌋ − ⌊L_k/h_k⌋) integers.

What is known of a database: bounds of its entries and linear inequalities.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from dp_cmdp._src.base import exact
from dp_cmdp._src.base import validation as check
from dp_cmdp._src.base.errors import InvalidArgumentError
from dp_cmdp._src.base.saved import Documented
from dp_cmdp._src.base.validation import FloatArray, validated
from dp_cmdp._src.data.labels import (
    Labels,
    check_normal,
    label_at,
    labels_of,
    level_names,
    pack_labels,
    shape_of,
    unpack_labels,
)

if TYPE_CHECKING:
    import pandas as pd

    from dp_cmdp._src.accounting.adjacency import Adjacency
    from dp_cmdp._src.data.affine import Affine, Located


@dataclass(frozen=True, eq=False)
class UncertaintySet:
    """{θ : lower ≤ θ ≤ upper, Wθ ≤ q}: the databases that a release leaves possible.

    Parameters
    ----------
    lower, upper : float array
        Bounds of every entry.
    W : (inequalities, entries) csr_array
        Weights of the linear inequalities.
    q : (inequalities,) float array
        Their right-hand sides.
    """

    lower: FloatArray
    upper: FloatArray
    W: sparse.csr_array
    q: FloatArray

    @classmethod
    def box(cls, lower: FloatArray, upper: FloatArray) -> UncertaintySet:
        """Bounds alone.

        Parameters
        ----------
        lower, upper : float array
            Bounds of every entry.

        Returns
        -------
        UncertaintySet
            A set without further inequalities.
        """
        return cls(lower, upper, sparse.csr_array((0, lower.size), dtype=np.float64), np.zeros(0))

    @property
    def is_box(self) -> bool:
        """Whether there are no inequalities but the bounds."""
        return self.q.size == 0

    @property
    def is_empty(self) -> bool:
        """Whether the bounds contradict each other; inequalities are not looked at."""
        return bool((self.lower > self.upper).any())

    def __and__(self, other: UncertaintySet) -> UncertaintySet:
        """What both say."""
        return UncertaintySet(
            np.maximum(self.lower, other.lower),
            np.minimum(self.upper, other.upper),
            sparse.csr_array(sparse.vstack([self.W, other.W], format="csr")),
            np.concatenate([self.q, other.q]),
        )

    def __contains__(self, values: FloatArray) -> bool:
        """Whether a database is in the set, exactly."""
        if not ((self.lower <= values) & (values <= self.upper)).all():
            return False
        row = np.repeat(np.arange(self.q.size), np.diff(self.W.indptr))
        terms = [self.W.data, np.asarray(values)[self.W.indices]]
        return bool((exact.residual_signs(self.q, row, terms) <= 0).all())


Shape = tuple[int, ...]
#: Lattice steps per radius, in bits: rounding an entry costs at most 2^-16 radii.
BITS = 16
#: Cells stay below this, so that differences of two are 64-bit integers.
MOST_CELLS = 2.0**62
#: The name of the group of an envelope that was not joined.
ALONE = "values"


@dataclass(frozen=True, eq=False)
class Group:
    """Entries of one name: an array of this shape, from `start` on in the flat database."""

    name: str
    shape: Shape
    start: int
    labels: Labels = ()
    #: Where the next group starts.
    stop: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "stop", self.start + self.size)

    @property
    def size(self) -> int:
        """Number of entries."""
        return prod(self.shape)

    def document(self) -> dict[str, Any]:
        """For a file."""
        return {"name": self.name, "shape": list(self.shape), "labels": pack_labels(self.labels)}


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Envelope(Documented):
    """What is public about private numbers: bounds, and what one record can change.

    Parameters
    ----------
    lower, upper : array_like
        Public bounds of the entries, broadcast to `shape`. Numbers that are no floats (fractions,
        decimals, integers beyond 2^53) are rounded outwards.
    radius : array_like, optional
        How far one record can change each entry. The default is the whole range: an entry may
        change to anything, the strongest promise. Numbers that are no floats are rounded up.
    shape : int or tuple of int, optional
        Shape of the entries; by default that of the labels or of the broadcast bounds.
    labels : sequence, pandas Index or mapping, optional
        Public names of the entries: one axis of labels, or a mapping from the name of each axis to
        its labels, ``{"group": groups, "advertiser": advertisers}``.
    records : array_like or str, optional
        Public name of each entry's record, broadcast to `shape`, or the name of a level of the
        labels. Entries with one name belong to one person and may change together; 10 and 10.0 are
        one name, 10 beside "10" is refused. By default every entry is its own record.
    entries_per_record : int, optional
        How many of its entries one record changes at once; by default all of them. Without
        `records`, every record may change any entry: a person who is counted at 3 of 100 sites.
    change : (records, entries) array or sparse matrix, optional
        Instead of `radius` and `records`: the most that each record changes each entry, also where
        records share entries.

    Attributes
    ----------
    lower, upper, radius : (size,) arrays
        Flat and read-only; `radius` is the most that any record changes an entry.
    change : (records, size) sparse array
    entries_per_record : int or None
    size : int
    groups : tuple of Group

    Raises
    ------
    InvalidArgumentError
        Naming the argument, the rule and the first entry that breaks it.

    Notes
    -----
    Indexing gives affine expressions for models: ``theta[0]``, ``theta[:]``, ``theta["price"]``,
    by labels ``theta.loc["steel"]``. Envelopes that say the same are equal.
    **Paper.** ``ass:bounded``, ``def:adj2``. **Privacy.** *Public*.

    Examples
    --------
    >>> import dp_cmdp as dp
    >>> dp.Envelope(0, 1, shape=3)
    Envelope(values[3], one entry changes, whole range)
    >>> dp.Envelope(0, 1, radius=0.1, labels=["Bern", "Basel"], records=["north", "north"])
    Envelope(values[2], one record of up to 2 entries changes)
    """

    lower: FloatArray
    upper: FloatArray
    size: int
    change: sparse.csr_array
    entries_per_record: int | None
    groups: tuple[Group, ...]
    _has_names: bool

    @validated
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
        low = check.rounded_array("lower", lower, up=False)
        high = check.rounded_array("upper", upper, up=True)
        far = None if radius is None else check.rounded_array("radius", radius, up=True)
        named = labels_of(labels)
        wanted = _wanted_shape(shape, named)
        try:
            far = whole_range(low, high) if far is None else far
            full = np.broadcast_shapes(low.shape, high.shape, far.shape)
            if wanted is None and full == () and change is not None:
                wanted = np.shape(change)[1:]
            full = full if wanted is None else wanted
            low, high, far = (np.broadcast_to(part, full).ravel() for part in (low, high, far))
        except ValueError:
            raise InvalidArgumentError(
                "lower, upper and radius must broadcast to one shape (see the shape argument)"
            ) from None
        if low.size == 0:
            raise InvalidArgumentError("an Envelope must hold at least one entry")
        group = Group(ALONE, tuple(int(size) for size in full), 0, named)
        if change is not None:
            _refuse_beside_change(radius=radius, records=records)
            table = _change_matrix(change, low.size)
        else:
            owners = _owners((group,), records, entries_per_record)
            table = _disjoint(np.arange(low.size) if owners is None else owners, far)
        has_names = records is not None or change is not None
        self._fill(low, high, table, entries_per_record, (group,), has_names)

    @classmethod
    @validated
    def join(
        cls,
        groups: Mapping[str, Envelope],
        *,
        records: str | Mapping[str, Any] | None = None,
        entries_per_record: int | None = None,
        change: Any = None,
    ) -> Envelope:
        """Several named groups of entries as one envelope, for one database and one release.

        Parameters
        ----------
        groups : mapping of str to Envelope
            Envelopes that were not joined themselves.
        records : str or mapping, optional
            Whose entries they are when a record reaches across groups: the name of a level that
            the labels of every group have, or names per group, of which equal ones are one record.
            By default every group keeps its own records.
        entries_per_record : int, optional
            As in :class:`Envelope`.
        change : matrix, optional
            As in :class:`Envelope`, entries in the order of the groups.

        Returns
        -------
        Envelope

        Raises
        ------
        InvalidArgumentError
            Also where several groups state records of their own: one person could be in more than
            one of them, so it must be said again.

        Examples
        --------
        >>> import dp_cmdp as dp
        >>> price = dp.Envelope(0, 1, radius=0.1, shape=(4, 2))
        >>> budget = dp.Envelope(9, 11, radius=1, shape=2)
        >>> dp.Envelope.join({"price": price, "budget": budget})
        Envelope(price[4, 2], budget[2], one entry changes)
        """
        if not groups:
            raise InvalidArgumentError("groups must name at least one envelope")
        found, start = [], 0
        for name, part in groups.items():
            check_normal("the name of a group", name)
            check.instance(f"groups[{name!r}]", part, cls)
            if len(part.groups) != 1:
                raise InvalidArgumentError(f"groups[{name!r}] must hold a single group")
            found.append(Group(name, part.groups[0].shape, start, part.groups[0].labels))
            start = found[-1].stop
        lower, upper, radius = (
            np.concatenate([getattr(part, name) for part in groups.values()])
            for name in ("lower", "upper", "radius")
        )
        stated = [name for name, part in groups.items() if part._states_records]
        if change is not None:
            _refuse_beside_change(records=records)
            table = _change_matrix(change, start)
        elif (owners := _owners(tuple(found), records, entries_per_record)) is not None:
            table = _disjoint(owners, radius)
        else:
            if len(stated) > 1:
                raise InvalidArgumentError(
                    f"records must say again whose entries are whose: {', '.join(stated)} state "
                    "records, and one person may be in several of them; give records={group: "
                    "names, …} for every group, a level of the labels, entries_per_record, or "
                    "change"
                )
            entries_per_record = groups[stated[0]].entries_per_record if stated else None
            table = sparse.csr_array(sparse.block_diag([e.change for e in groups.values()]))
        return cls._of(
            lower,
            upper,
            table,
            entries_per_record=entries_per_record,
            groups=tuple(found),
            has_names=records is not None or change is not None or bool(stated),
        )

    @classmethod
    @validated
    def from_frame(
        cls,
        frame: pd.DataFrame,
        *,
        lower: str | float = "lower",
        upper: str | float = "upper",
        radius: str | float | None = "radius",
        record: str | None = None,
    ) -> Envelope:
        """An envelope from a public table with one row per entry, its index as labels.

        Parameters
        ----------
        frame : DataFrame
            One row per entry.
        lower, upper, radius : str or float
            Names of columns, or numbers that hold for every entry; ``radius=None`` is the whole
            range.
        record : str, optional
            The column, or level of the index, whose values say whose entry it is.

        Returns
        -------
        Envelope

        Raises
        ------
        InvalidArgumentError
            Naming the column and the label that break a rule.

        Notes
        -----
        **Privacy.** *Public*.
        """
        from dp_cmdp._src.data.frames import envelope_arguments

        columns = {"lower": lower, "upper": upper, "radius": radius}
        return cls(**envelope_arguments(frame, columns, record))

    @classmethod
    def _of(
        cls,
        lower: FloatArray,
        upper: FloatArray,
        change: sparse.csr_array,
        *,
        entries_per_record: int | None = None,
        groups: tuple[Group, ...] | None = None,
        has_names: bool = False,
    ) -> Envelope:
        """An envelope from its parts, of which there may be none."""
        made = cls.__new__(cls)
        whole = (Group(ALONE, (lower.size,), 0),) if groups is None else groups
        made._fill(lower, upper, change, entries_per_record, whole, has_names)
        return made

    @classmethod
    def _empty(cls) -> Envelope:
        """The envelope of a program without private numbers."""
        return cls._of(np.zeros(0), np.zeros(0), sparse.csr_array((0, 0)))

    def _fill(
        self,
        lower: FloatArray,
        upper: FloatArray,
        change: sparse.csr_array,
        entries_per_record: int | None,
        groups: tuple[Group, ...],
        has_names: bool,
    ) -> None:
        if entries_per_record is not None:
            check.integer("entries_per_record", entries_per_record, low=1)
        table = sparse.csr_array(change.astype(np.float64), copy=True)
        table.eliminate_zeros()
        self.__dict__.update(
            lower=check.frozen(np.array(lower, dtype=np.float64)),
            upper=check.frozen(np.array(upper, dtype=np.float64)),
            size=lower.size,
            change=check.frozen_sparse(table),
            entries_per_record=entries_per_record,
            groups=groups,
            _has_names=has_names,
        )
        self._check()

    def _check(self) -> None:
        """The rules for numbers; the first entry that breaks one is named."""
        low, high, most = self.lower, self.upper, self.radius
        self._refuse(~(low < high), "lower must be below upper", "leave what cannot vary out")
        with np.errstate(over="ignore"):
            wide = ~np.isfinite(high - low)
        self._refuse(wide, "upper − lower must be a finite float", "rescale the entries")
        self._refuse(
            ~(most > 0), "radius must be positive", "every entry has an owner who can change it"
        )
        if not (np.isfinite(self.change.data).all() and (self.change.data >= 0).all()):
            raise InvalidArgumentError("change must be finite and not negative")
        # a radius above the range promises more than can happen, so its rounding is let pass
        self._refuse(
            most > (high - low) * (1 + 1e-12),
            "radius must not exceed upper − lower",
            "radius=None is the whole range",
        )
        with np.errstate(all="ignore"):
            cells = np.maximum(np.abs(low / self.step), np.abs(high / self.step))
        self._refuse(
            ~(cells < MOST_CELLS),
            "lower and upper must lie within 2^45 radii of 0, or cells cannot be counted exactly",
            "state a larger radius, or subtract a public constant from the entry",
        )

    def _refuse(self, bad: NDArray[np.bool_], rule: str, repair: str) -> None:
        if bad.any():
            entry = int(np.argmax(bad))
            raise InvalidArgumentError(
                f"{rule} for every entry; first offending entry {self._shown(entry)}: lower "
                f"{self.lower[entry]:g}, upper {self.upper[entry]:g}, radius "
                f"{self.radius[entry]:g} ({repair})"
            )

    @property
    def _states_records(self) -> bool:
        """Whether somebody said whose the entries are."""
        limited = self.entries_per_record is not None
        return self._has_names or limited or self.change.shape[0] < self.size

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
        entry, far = self.change.indices, self.change.data
        steps = np.maximum(np.ceil(far / self.step[entry]), 1.0).astype(np.int64)
        range_ = (self._cells(self.upper) - self._cells(self.lower))[entry]
        most = np.minimum(steps, range_)
        found = sparse.csr_array((most, entry, self.change.indptr), shape=self.change.shape)
        return check.frozen_sparse(found)

    def _cells(self, values: FloatArray) -> NDArray[np.int64]:
        """⌊θ/step⌋, exactly, also where the quotient underflows."""
        quotient = values / self.step
        below = (quotient == 0) & (values < 0)
        return np.where(below, -1.0, np.floor(quotient)).astype(np.int64)

    @cached_property
    def uncertainty(self) -> UncertaintySet:
        """Every database of the envelope: the box of its bounds."""
        return UncertaintySet.box(self.lower, self.upper)

    @cached_property
    def owners(self) -> NDArray[np.int64] | None:
        """The record of each entry, where every entry has one owner; else None."""
        if self.change.nnz != self.size:
            return None
        table = self.change.tocoo()
        owners = np.full(self.size, -1)
        owners[table.coords[1]] = table.coords[0]
        return owners

    @property
    def changes(self) -> str:
        """What differs between adjacent databases, in words."""
        most = int(np.diff(self.change.indptr).max(initial=0))
        limit = self.entries_per_record
        if most <= 1 or limit == 1:
            return "one entry changes"
        if limit is not None and limit < most:
            return f"one record changes up to {limit} of its entries"
        return f"one record of up to {most} entries changes"

    def _group(self, name: str) -> Group:
        """The group of that name, or a refusal."""
        for group in self.groups:
            if group.name == name:
                return group
        known = ", ".join(repr(group.name) for group in self.groups)
        raise InvalidArgumentError(
            f"a group must be one of {known}; got {name[:60]!r} (by labels: theta.loc[…])"
        )

    def __getitem__(self, key: Any) -> Affine:
        """Entries as affine terms: ``theta[0]``, ``theta[:]``, ``theta["price"]``."""
        from dp_cmdp._src.data.affine import Affine

        if isinstance(key, str):
            group = self._group(key)
            return Affine._entries(self, np.arange(group.start, group.stop), group.shape)
        shape = self.groups[0].shape if len(self.groups) == 1 else (self.size,)
        return Affine._entries(self, np.arange(self.size), shape or (1,))[key]

    @property
    def loc(self) -> Located:
        """Entries by their labels: ``theta.loc["steel"]``, ``theta.loc["price", "old", "Acme"]``.

        The name of the group comes first where there are several; then one label, list of labels
        or ``:`` per axis.
        """
        from dp_cmdp._src.data.affine import Located

        return Located(self)

    @validated
    def to_frame(self, *, group: str | None = None) -> pd.DataFrame:
        """Bounds, radius and record: one row per entry of all groups or of one, by its labels.

        Parameters
        ----------
        group : str, optional
            Only the entries of that group.

        Returns
        -------
        pandas.DataFrame
            Columns lower, upper, radius and record.
        """
        from dp_cmdp._src.data.frames import entries_frame

        columns: dict[str, Any] = {
            name: getattr(self, name) for name in ("lower", "upper", "radius")
        }
        if self.owners is None:
            columns["records"] = np.bincount(self.change.indices, minlength=self.size)
        else:
            columns["record"] = self.owners
        return entries_frame(self, columns, group)

    def adjacency(self) -> Adjacency:
        """What a ledger records: names, radii and records of the entries; bounds are no part.

        Returns
        -------
        Adjacency
            What two releases must have in common for a ledger to add them up.
        """
        from dp_cmdp._src.accounting import adjacency as accounting

        owners, limit = self.owners, self.entries_per_record
        most = int(np.diff(self.change.indptr).max(initial=0))
        if limit == 1:
            owners = np.arange(self.size)
        elif limit is not None and limit < most:
            owners = None
        if owners is not None:  # numbered in the order of their first entries
            _, first, numbers = np.unique(owners, return_index=True, return_inverse=True)
            owners = np.argsort(np.argsort(first))[numbers]
        groups = tuple(
            accounting.Group(
                name=group.name,
                shape=group.shape,
                levels=tuple(tuple(level_names((axis,))) for axis in group.labels),
                labels=tuple(tuple(axis["labels"]) for axis in stated["labels"]),
                radius=tuple(self.radius[group.start : group.stop].tolist()),
                records=() if owners is None else tuple(owners[group.start : group.stop].tolist()),
            )
            for group, stated in zip(self.groups, self._stated, strict=True)
        )
        if owners is not None:
            return accounting.Adjacency(groups)
        far = zip(self.change.indices.tolist(), self.change.data.tolist(), strict=True)
        change = [tuple(islice(far, count)) for count in np.diff(self.change.indptr).tolist()]
        return accounting.Adjacency(groups, tuple(sorted(filter(None, change))), limit)

    @cached_property
    def _numbers(self) -> tuple[Any, ...]:
        """Bounds and adjacency, to be compared."""
        numbers = (self.lower, self.upper, self.change.data)  # + 0 makes the two zeros one
        places = (self.change.indices, self.change.indptr)
        return (
            self.entries_per_record,
            *((part + 0.0).tobytes() for part in numbers),
            *(part.astype(np.int64).tobytes() for part in places),
        )

    def __eq__(self, other: object) -> bool:
        """Whether `other` states the same about the same entries."""
        if not isinstance(other, Envelope):
            return NotImplemented
        if self is other:
            return True
        return self._numbers == other._numbers and self._stated == other._stated

    def __hash__(self) -> int:
        return hash(self._numbers)

    @property
    def _stated(self) -> list[dict[str, Any]]:
        """Names, shapes and labels, as files state them."""
        return [group.document() for group in self.groups]

    def _difference(self, other: Envelope) -> str:
        """The first that `other`, which is not equal, states otherwise, in words: public."""
        if self.size != other.size:
            return f"one has {other.size} entries, not {self.size}"
        for name in ("lower", "upper", "radius"):
            own, its = getattr(self, name), getattr(other, name)
            for k in np.flatnonzero(own != its)[:1].tolist():
                return f"{name} of entry {k} is {float(its[k])!r}, not {float(own[k])!r}"
        if self._stated != other._stated:
            return "groups, shapes or labels differ"
        return "records, what they change, or entries_per_record differ"

    def document(self) -> dict[str, Any]:
        table = self.change.tocoo()
        return {
            "lower": self.lower,
            "upper": self.upper,
            "change_record": table.coords[0].astype(np.int64),
            "change_entry": table.coords[1].astype(np.int64),
            "change": table.data,
            "records": int(self.change.shape[0]),
            "entries_per_record": self.entries_per_record,
            "groups": self._stated,
        }

    @classmethod
    def from_document(cls, said: Mapping[str, Any]) -> Envelope:
        groups: list[Group] = []
        for part in said["groups"]:
            shape = check.shape("the shape of a group", part["shape"])
            labels = unpack_labels(part["labels"])
            if labels and shape_of(labels) != shape:
                raise InvalidArgumentError("labels must have the shape of their group")
            start = groups[-1].stop if groups else 0
            groups.append(Group(check_normal("a group", part["name"]), shape, start, labels))
        if len({group.name for group in groups}) < len(groups):
            raise InvalidArgumentError("groups must have different names")
        size = groups[-1].stop if groups else 0
        lower, upper = (check.vector(name, said[name], size=size) for name in ("lower", "upper"))
        records = check.size("records", said["records"])
        row = check.integers("change_record", said["change_record"], high=max(records, 1))
        col = check.integers("change_entry", said["change_entry"], high=max(size, 1))
        far = check.vector("change", said["change"], size=row.size)
        table = sparse.coo_array((far, (row, col)), shape=(records, size))
        return cls._of(
            lower,
            upper,
            _change_matrix(table, size),
            entries_per_record=said["entries_per_record"],
            groups=tuple(groups),
            has_names=True,  # no file says that records were not named
        )

    def _shown(self, entry: int) -> str:
        """An entry as messages name it: its position in the database, and its label."""
        for group in self.groups:
            if group.labels and group.start <= entry < group.stop:
                return f"{entry} ({group.name}: {label_at(group.labels, entry - group.start)})"
        return str(entry)

    def __repr__(self) -> str:
        groups = ", ".join(f"{group.name}{list(group.shape)}" for group in self.groups)
        whole = bool((self.radius >= self.upper - self.lower).any())
        return f"Envelope({groups}, {self.changes}{', whole range' * whole})"

    def _repr_html_(self) -> str:
        from dp_cmdp._src.data.frames import frame_table

        return frame_table(repr(self), self.to_frame())


def is_everything(known: UncertaintySet, envelope: Envelope) -> bool:
    """Whether a set is the whole envelope: nothing was published."""
    same = np.array_equal(known.lower, envelope.lower)
    return same and np.array_equal(known.upper, envelope.upper) and known.is_box


def whole_range(lower: FloatArray, upper: FloatArray) -> FloatArray:
    """upper − lower, never rounded down: a radius must cover the whole range."""
    with np.errstate(over="ignore", invalid="ignore"):  # the Envelope refuses what is too wide
        width = upper - lower
        part = width - upper  # Knuth's exact error of the difference
        error = (upper - (width - part)) - (lower + part)
    return np.where(error > 0.0, np.nextafter(width, np.inf), width)


def _wanted_shape(shape: Any, labels: Labels) -> Shape | None:
    """The shape that was asked for, in numbers or by labels; None if it was not."""
    asked = None if shape is None else check.shape("shape", shape)
    if labels and asked not in (None, shape_of(labels)):
        raise InvalidArgumentError(
            f"labels must be of the shape {asked}, they are {shape_of(labels)}"
        )
    return shape_of(labels) if labels else asked


def _owners(
    groups: tuple[Group, ...], records: Any, entries_per_record: int | None
) -> NDArray[np.int64] | None:
    """The record of each entry, or None where nothing is said of them."""
    if records is None:
        return None if entries_per_record is None else np.zeros(groups[-1].stop, dtype=np.int64)
    from dp_cmdp._src.data.records import names_by_level, owners_of, record_names

    if isinstance(records, str):
        return owners_of(names_by_level(records, {group.name: group.labels for group in groups}))
    if len(groups) == 1 and not check.is_mapping(records):
        records = {groups[0].name: records}
    if set(records) != {group.name for group in groups}:
        raise InvalidArgumentError("records must name the same groups as groups")
    return owners_of(
        [
            record_names(
                f"records[{group.name!r}]" if len(groups) > 1 else "records",
                records[group.name],
                group=group.name,
                shape=group.shape,
            )
            for group in groups
        ]
    )


def _disjoint(owners: NDArray[np.int64], radius: FloatArray) -> sparse.csr_array:
    """One owner per entry, who changes it by its radius."""
    shape = int(owners.max()) + 1, owners.size
    return sparse.csr_array((radius, (owners, np.arange(owners.size))), shape=shape)


def _change_matrix(change: Any, size: int) -> sparse.csr_array:
    """The change of each record as stated: nothing twice, and every entry with an owner."""
    if not check.is_sparse(change):
        change = check.rounded_array("change", change, up=True)
    table = check.matrix("change", change)
    compressed = check.is_sparse(change) and change.format in ("csr", "csc", "coo", "bsr")
    if compressed and change.nnz > table.nnz:
        raise InvalidArgumentError("change must state each record and entry once")
    if table.shape[1] != size:
        raise InvalidArgumentError(
            f"change must have {size} columns, one per entry, got {table.shape[1]}"
        )
    if (table.data < 0).any():
        raise InvalidArgumentError("change must not be negative")
    unowned = np.bincount(table.indices[table.data > 0], minlength=size) == 0
    if unowned.any():
        raise InvalidArgumentError(
            "change must have a record for every entry; the first without is entry "
            f"{int(np.argmax(unowned))} (public numbers belong into the problem, not here)"
        )
    return table


def _refuse_beside_change(**given: Any) -> None:
    for name, value in given.items():
        if value is not None:
            raise InvalidArgumentError(f"{name} must be left out where change is given")
