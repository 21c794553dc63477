"""The private numbers, the public facts about them, and what is published of them.

* :class:`Envelope`: public bounds lo_k ≤ θ_k ≤ hi_k, public radius Δ_k (how far one entry may move
  between adjacent databases) and public records (which entries may move together).
* :class:`Database`: the private values θ inside an envelope. It shows no value and cannot be
  pickled.
* :class:`Release`: public intervals [lower_k, upper_k] that contain θ_k with certainty, an
  estimate, and the guarantee under which they were published.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from fractions import Fraction
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dp_cmdp import _check
from dp_cmdp._check import FloatArray
from dp_cmdp.errors import InvalidArgumentError, PrivacyLeakError
from dp_cmdp.privacy import PrivacyBudget
from dp_cmdp.storage import read_npz, write_npz

if TYPE_CHECKING:
    import pandas as pd

Shape = tuple[int, ...]
FORMAT = "dp_cmdp.Release/1"


@dataclass(frozen=True, slots=True, eq=False)
class Envelope:
    """Public facts about a database: bounds, radius and records of its entries.

    Parameters
    ----------
    lower, upper : array_like
        Public bounds of the entries, broadcast to `shape`.
    radius : array_like, optional
        How far one entry may move between adjacent databases. The default is the whole range:
        "one entry may change to anything" (paper: ``def:adj2``), the strongest promise.
    shape : int or tuple of int, optional
        Shape of the group of entries; by default that of the broadcast bounds.
    name : str
        Name of the group.
    records : array_like of int, optional
        Public label of each entry; entries with one label belong to one person and may change
        together. By default every entry is its own record.

    Notes
    -----
    **Paper.** ``ass:bounded``, ``def:adj2``. **Privacy.** Public.
    """

    lower: FloatArray
    upper: FloatArray
    radius: FloatArray
    groups: tuple[tuple[str, Shape], ...]
    records: NDArray[np.int64]

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
        lo, hi = _bounds("lower", lower), _bounds("upper", upper)
        rad = hi - lo if radius is None else _bounds("radius", radius)
        try:
            full = np.broadcast_shapes(lo.shape, hi.shape, rad.shape)
            full = full if shape is None else (shape,) if isinstance(shape, int) else tuple(shape)
            lo, hi, rad = (np.broadcast_to(part, full).ravel() for part in (lo, hi, rad))
        except (ValueError, TypeError):
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
        groups: tuple[tuple[str, Shape], ...],
        records: NDArray[np.int64],
    ) -> None:
        if lower.size == 0:
            raise InvalidArgumentError("an Envelope must hold at least one entry")
        if (lower >= upper).any():
            raise InvalidArgumentError(
                "lower must be below upper for every entry; first offending entry "
                f"{int(np.argmax(lower >= upper))} (leave entries that cannot vary out)"
            )
        if (radius <= 0).any():
            raise InvalidArgumentError("radius must be positive for every entry")
        if (radius > (upper - lower) * (1 + 1e-12)).any():
            raise InvalidArgumentError("radius must not exceed upper − lower for any entry")
        for name, part in (("lower", lower), ("upper", upper), ("radius", radius)):
            object.__setattr__(self, name, _check.frozen(np.array(part, dtype=np.float64)))
        object.__setattr__(self, "groups", groups)
        object.__setattr__(self, "records", _check.frozen(np.array(records, dtype=np.int64)))

    @classmethod
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
    def largest_record(self) -> int:
        """m: the most entries that may change together."""
        return int(np.unique(self.records, return_counts=True)[1].max())

    def index(self, name: str) -> NDArray[np.int64]:
        """Positions of a group's entries in the flat database, in the group's own shape."""
        start = 0
        for group, shape in self.groups:
            if group == name:
                return np.arange(start, start + prod(shape)).reshape(shape)
            start += prod(shape)
        known = ", ".join(group for group, _ in self.groups)
        raise InvalidArgumentError(f"name must be one of the groups {known}; got {name!r}")

    def contains(self, values: FloatArray) -> bool:
        """Whether a flat vector lies inside the bounds."""
        return bool(((self.lower <= values) & (values <= self.upper)).all())

    def __repr__(self) -> str:
        return f"Envelope({_describe(self.groups)}, largest_record={self.largest_record})"


def _bounds(name: str, value: ArrayLike) -> FloatArray:
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidArgumentError(f"{name} must be an array of real numbers") from None
    _check.reject_non_finite(name, array.ravel())
    return array


def _labels(records: ArrayLike, shape: Shape) -> NDArray[np.int64]:
    try:
        array = np.asarray(records)
        labels = np.broadcast_to(array, shape).ravel()
    except ValueError:
        raise InvalidArgumentError(f"records must broadcast to the shape {shape}") from None
    if not np.issubdtype(labels.dtype, np.integer) or (labels.size and labels.min() < 0):
        raise InvalidArgumentError("records must be non-negative integer labels")
    return labels.astype(np.int64)


def _describe(groups: tuple[tuple[str, Shape], ...]) -> str:
    return ", ".join(f"{name}{list(shape)}" for name, shape in groups)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Database:
    """Private values inside a public envelope.

    Parameters
    ----------
    values : array_like or mapping of array_like
        The private numbers, flat or by group name. Numbers outside the envelope, NaN and wrong
        shapes are refused without being quoted.
    envelope : Envelope
    identity : str, optional
        Public label under which a :class:`~dp_cmdp.ledger.PrivacyLedger` keeps its budget.

    Notes
    -----
    **Privacy.** *Curator only.* ``repr``, ``str`` and every error text are free of values; pickling
    and copying are refused (hand a worker a seed, not a database).
    """

    values: FloatArray = field(repr=False)
    envelope: Envelope
    identity: str | None

    def __init__(
        self,
        values: ArrayLike | Mapping[str, ArrayLike],
        envelope: Envelope,
        *,
        identity: str | None = None,
    ) -> None:
        if not isinstance(envelope, Envelope):
            raise InvalidArgumentError("envelope must be an Envelope")
        if identity is not None and (not isinstance(identity, str) or not identity.strip()):
            raise InvalidArgumentError("identity must be a non-empty text or None")
        flat = (
            _flatten(values, envelope)
            if isinstance(values, Mapping)
            else _private_array("values", values, None)
        )
        if flat.size != envelope.num_entries:
            raise InvalidArgumentError(
                f"values must have {envelope.num_entries} entries ({_describe(envelope.groups)}), "
                f"got {flat.size}"
            )
        if not envelope.contains(flat):  # NaN fails too
            raise InvalidArgumentError(
                "values must lie inside the envelope; some do not (their values and positions are "
                "private and not shown): clip them or widen the public bounds"
            )
        object.__setattr__(self, "values", _check.frozen(flat))
        object.__setattr__(self, "envelope", envelope)
        object.__setattr__(self, "identity", identity)

    def __repr__(self) -> str:
        label = "" if self.identity is None else f", identity={self.identity!r}"
        return f"Database(<private>, {_describe(self.envelope.groups)}{label})"

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise PrivacyLeakError(
            "a Database refuses to be pickled or copied; pass the seed or the loader that makes it"
        )


def _private_array(name: str, value: Any, shape: Shape | None) -> FloatArray:
    """A flat private float array; the error texts say what is wrong without quoting anything."""
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InvalidArgumentError(f"{name} must be an array of real numbers") from None
    if shape is not None and array.shape != shape:
        raise InvalidArgumentError(f"{name} must have shape {shape}, got {array.shape}")
    return array.ravel()


def _flatten(values: Mapping[str, ArrayLike], envelope: Envelope) -> FloatArray:
    expected = [name for name, _ in envelope.groups]
    if set(values) != set(expected):
        raise InvalidArgumentError(f"values must name exactly the groups {', '.join(expected)}")
    return np.concatenate(
        [
            _private_array(f"values[{name!r}]", values[name], shape)
            for name, shape in envelope.groups
        ]
    )


@dataclass(frozen=True, slots=True)
class Guarantee:
    """What was promised: (ε, δ), under which adjacency."""

    epsilon: Fraction
    delta: Fraction
    record_size: int

    @property
    def budget(self) -> PrivacyBudget:
        return PrivacyBudget(self.epsilon, self.delta)

    def __str__(self) -> str:
        who = (
            "one entry changes by at most its radius"
            if self.record_size == 1
            else f"one record (up to {self.record_size} entries) changes, each entry by at most "
            "its radius"
        )
        return f"({float(self.epsilon):g}, {float(self.delta):g})-differential privacy when {who}"


@dataclass(frozen=True, slots=True)
class Noise:
    """Public facts about the noise of one block of a release."""

    block: str
    law: str
    calibration: str
    scale: float
    support: float
    certificate: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Release:
    """Intervals that certainly contain the private entries, and an estimate of each.

    Attributes
    ----------
    estimate, lower, upper : FloatArray
        One number per released entry.
    guarantee : Guarantee
    method : str
        ``"database"``: the entries are those of the database. ``"blocks"``: they are the sensitive
        entries of A, b and c, in that order (Algorithm 1).
    groups : tuple
        Names and shapes of the released groups.
    noise : tuple of Noise
    secure : bool
        True when the noise was exact and drawn from the operating system. False: a simulation.
    leaks : tuple of str
        What the caller allowed to be published unprotected; empty for a private release.

    Notes
    -----
    **Privacy.** Public: safe to publish, save and pickle (unless `leaks` says otherwise).
    """

    estimate: FloatArray
    lower: FloatArray
    upper: FloatArray
    guarantee: Guarantee
    method: str
    groups: tuple[tuple[str, Shape], ...]
    noise: tuple[Noise, ...]
    secure: bool
    leaks: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("estimate", "lower", "upper"):
            object.__setattr__(self, name, _check.vector(name, getattr(self, name)))
        if not self.estimate.size == self.lower.size == self.upper.size:
            raise InvalidArgumentError("estimate, lower and upper must have one size")
        if (self.lower > self.upper).any():
            raise InvalidArgumentError("lower must not exceed upper")

    def group(self, name: str) -> dict[str, FloatArray]:
        """``estimate``, ``lower`` and ``upper`` of one group, in its own shape."""
        start = 0
        for group, shape in self.groups:
            part = slice(start, start + prod(shape))
            if group == name:
                return {key: getattr(self, key)[part].reshape(shape) for key in _INTERVAL}
            start = part.stop
        known = ", ".join(group for group, _ in self.groups)
        raise InvalidArgumentError(f"name must be one of the groups {known}; got {name!r}")

    def facts(self) -> dict[str, Any]:
        """Everything but the numbers, ready for JSON."""
        return {
            "method": self.method,
            "epsilon": str(self.guarantee.epsilon),
            "delta": str(self.guarantee.delta),
            "record_size": self.guarantee.record_size,
            "secure": self.secure,
            "leaks": list(self.leaks),
            "groups": [[name, list(shape)] for name, shape in self.groups],
            "noise": [
                {key.name: getattr(part, key.name) for key in fields(part)} for part in self.noise
            ],
        }

    def to_frame(self) -> pd.DataFrame:
        """One row per released entry."""
        import pandas as pd

        names = np.concatenate([np.repeat(name, prod(shape)) for name, shape in self.groups])
        inside = np.concatenate([np.arange(prod(shape)) for _, shape in self.groups])
        columns = {key: getattr(self, key) for key in _INTERVAL}
        return pd.DataFrame({"group": names, "entry": inside, **columns})

    def save(self, path: str | Path) -> Path:
        """Write the release to an ``.npz`` file, atomically and without pickle."""
        numbers = {key: getattr(self, key) for key in _INTERVAL}
        return write_npz(path, FORMAT, facts=np.array(json.dumps(self.facts())), **numbers)

    @classmethod
    def load(cls, path: str | Path) -> Release:
        """Read a release written by :meth:`save`."""
        part = read_npz(path, FORMAT, ("facts", *_INTERVAL))
        try:
            facts = json.loads(str(part["facts"]))
            return cls(
                **{key: part[key] for key in _INTERVAL},
                guarantee=Guarantee(
                    Fraction(facts["epsilon"]), Fraction(facts["delta"]), facts["record_size"]
                ),
                method=facts["method"],
                groups=tuple((name, tuple(shape)) for name, shape in facts["groups"]),
                noise=tuple(Noise(**noise) for noise in facts["noise"]),
                secure=bool(facts["secure"]),
                leaks=tuple(facts["leaks"]),
            )
        except (KeyError, TypeError, json.JSONDecodeError) as error:
            raise InvalidArgumentError(
                f"path must name a {FORMAT} file; {path} is damaged ({type(error).__name__})"
            ) from None

    def __repr__(self) -> str:
        leak = f", LEAKS {', '.join(self.leaks)}" if self.leaks else ""
        return (
            f"Release({self.method}: {_describe(self.groups)}; {self.guarantee}; "
            f"secure={self.secure}{leak})"
        )


_INTERVAL = ("estimate", "lower", "upper")
