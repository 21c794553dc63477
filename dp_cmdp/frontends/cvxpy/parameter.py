"""A cvxpy parameter that knows public facts about private values, and never the values."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np
from numpy.typing import ArrayLike

from dp_cmdp import _check
from dp_cmdp._door import door
from dp_cmdp.data.envelope import Envelope
from dp_cmdp.data.names import check_normal
from dp_cmdp.data.records import numbered, record_names
from dp_cmdp.errors import InvalidArgumentError, PrivacyLeakError


@dataclass(frozen=True)
class _Own:
    """The name of a record that nobody named: no label of a user equals it."""

    parameter: int
    place: int


class PrivateParameter(cp.Parameter):
    """A parameter whose values are private: bounds, radius and records are public.

    Parameters
    ----------
    shape : int or tuple of int
        As in ``cvxpy.Parameter``; ``()`` is one number.
    lower, upper : array_like
        Public bounds of the values, broadcast to `shape`.
    radius : array_like, optional
        How far one value may move between databases that must look alike; by default its whole
        range (see :class:`~dp_cmdp.data.envelope.Envelope`).
    records : array_like, optional
        Whose value it is, by labels of any hashable type, broadcast to `shape`, all of one kind
        (see :class:`~dp_cmdp.data.envelope.Envelope`). Values with one label may change together,
        also across the parameters of a problem (an advertiser's prices and its budget). By default
        every value is a record of its own.
    name : str, optional
        In messages, and as a key of values.
    **attributes
        Refused, by name: ``value``, ``symmetric``, … of ``cvxpy.Parameter``.

    Notes
    -----
    The sign that the bounds imply is known to cvxpy: ``price @ cp.abs(x)`` is convex if
    ``lower >= 0``. **Privacy.** *Public*: values are given to ``dp_cmdp.cvxpy.solve``, and setting
    ``value`` is refused.

    Examples
    --------
    >>> import dp_cmdp as dp
    >>> capacity = dp.cvxpy.PrivateParameter(3, lower=1, upper=10, radius=0.2, name="capacity")
    >>> capacity.envelope
    Envelope(values[3], record_size=1)
    >>> capacity.value is None  # values are handed to solve, and kept nowhere
    True
    """

    @door
    def __init__(
        self,
        shape: int | tuple[int, ...] = (),
        *,
        lower: ArrayLike,
        upper: ArrayLike,
        radius: ArrayLike | None = None,
        records: Any = None,
        name: str | None = None,
        **attributes: Any,
    ) -> None:
        if attributes:
            _refuse_attributes(attributes)
        size = _check.shape("shape", shape)
        if name is not None and not check_normal("name", name):
            raise InvalidArgumentError("name must be a non-empty text or None")
        self._facts = Envelope(lower, upper, radius=radius, shape=size)
        self._labels = None if records is None else _labels(records, size)
        self._named = name is not None
        low, high = self._facts.lower, self._facts.upper
        signs = {"nonneg": bool((low >= 0).all()), "nonpos": bool((high <= 0).all())}
        super().__init__(size, name=name, **signs)

    @property
    def envelope(self) -> Envelope:
        """The public facts of this parameter alone."""
        return self._facts

    @property
    def labels(self) -> tuple[Hashable, ...] | None:
        """Whose value each entry is, in the order of rows; None if each is its own record."""
        return self._labels

    @property
    def has_name(self) -> bool:
        """Whether the name was given (cvxpy makes one up otherwise)."""
        return self._named

    @property
    def value(self) -> None:  # pyright: ignore[reportIncompatibleVariableOverride]
        """None: the values of a private parameter are kept nowhere."""
        return

    @value.setter
    def value(self, val: Any) -> None:
        self.save_value(val)

    @door
    def save_value(self, val: Any, sparse_path: bool = False) -> None:
        """Refused: a stored value would be seen by whoever sees the problem."""
        if val is not None:
            raise PrivacyLeakError(
                f"{self.name()} is private, so its values are not stored: hand them to "
                "dp_cmdp.cvxpy.solve(problem, {parameter: values}, epsilon=…, delta=…)"
            )

    def __repr__(self) -> str:
        low, high = self._facts.lower.min(), self._facts.upper.max()
        return f"PrivateParameter({self.name()}, {self.shape}, within [{low:g}, {high:g}])"


def _refuse_attributes(attributes: Mapping[str, Any]) -> None:
    """Raise: what ``cvxpy.Parameter`` takes and a private one does not."""
    if "value" in attributes:
        raise PrivacyLeakError(
            "value: the values of a private parameter are not stored: hand them to "
            "dp_cmdp.cvxpy.solve(problem, {parameter: values}, epsilon=…, delta=…)"
        )
    raise InvalidArgumentError(
        f"PrivateParameter takes no {', '.join(sorted(attributes))}: signs follow from lower and "
        "upper, and entries that are equal or zero are stated by an expression of a smaller "
        "parameter (cp.diag(p), cp.vec_to_upper_tri(p), …)"
    )


def _labels(records: Any, shape: tuple[int, ...]) -> tuple[Hashable, ...]:
    """One label per entry, in the order of rows."""
    found = record_names("records", records, group="values", shape=shape).tolist()
    numbered(found)  # refuses what names nobody
    return tuple(found)


def joined(parameters: Sequence[PrivateParameter]) -> Envelope:
    """One envelope of several parameters, with records that may cross them."""
    names = group_names(parameters)
    numbers: dict[Hashable, int] = {}
    records = {}
    for name, parameter in zip(names, parameters, strict=True):
        own = parameter.labels or tuple(_Own(parameter.id, k) for k in range(parameter.size))
        found = np.array([numbers.setdefault(label, len(numbers)) for label in own])
        records[name] = found.reshape(parameter.shape)
    numbered(label for p in parameters for label in p.labels or ())  # refuses names of two kinds
    facts = {n: p.envelope for n, p in zip(names, parameters, strict=True)}
    return Envelope.join(facts, records=records)


def group_names(parameters: Sequence[PrivateParameter]) -> list[str]:
    """Names of the groups: those given, else numbers in the order of the problem."""
    names = [p.name() if p.has_name else f"parameter {k}" for k, p in enumerate(parameters)]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise InvalidArgumentError(
            "private parameters of one problem need different names; used twice: "
            + ", ".join(sorted(twice))
        )
    return names
