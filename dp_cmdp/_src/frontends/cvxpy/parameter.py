"""A cvxpy parameter that knows what is public about private values, and never the values."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import cvxpy as cp
import numpy as np
from numpy.typing import ArrayLike, NDArray

from dp_cmdp._src.base import validation as check
from dp_cmdp._src.base.errors import InvalidArgumentError, PrivacyLeakError
from dp_cmdp._src.base.validation import validated
from dp_cmdp._src.data.envelope import Envelope
from dp_cmdp._src.data.labels import check_normal
from dp_cmdp._src.data.records import owners_of, record_names

_INSTEAD = "call dp_cmdp.solve(problem, {parameter: values}, epsilon=…, delta=…)"


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
        range.
    records : array_like, optional
        Whose value it is, by labels of any hashable type, broadcast to `shape`, all of one kind.
        Values with one label may change together, also across the parameters of a problem (an
        advertiser's prices and its budget). By default every value is a record of its own.
    entries_per_record, change : optional
        As in :class:`~dp_cmdp.Envelope`.
    name : str, optional
        In messages, and as a key of values.
    **attributes
        Refused, by name: ``value``, ``symmetric``, … of ``cvxpy.Parameter``.

    Raises
    ------
    InvalidArgumentError, PrivacyLeakError
        If bounds, radius and records do not fit each other, or a value is given.

    Notes
    -----
    The sign that the bounds imply is known to cvxpy: ``price @ cp.abs(x)`` is convex if
    ``lower >= 0``. **Privacy.** *Public*: values are given to ``dp_cmdp.solve``, and setting
    ``value`` is refused.

    Examples
    --------
    >>> import dp_cmdp as dp
    >>> capacity = dp.cvxpy.PrivateParameter(3, lower=1, upper=10, radius=0.2, name="capacity")
    >>> capacity.value is None  # values are handed to solve, and kept nowhere
    True
    """

    @validated
    def __init__(
        self,
        shape: int | tuple[int, ...] = (),
        *,
        lower: ArrayLike,
        upper: ArrayLike,
        radius: ArrayLike | None = None,
        records: Any = None,
        entries_per_record: int | None = None,
        change: Any = None,
        name: str | None = None,
        **attributes: Any,
    ) -> None:
        if attributes:
            _refuse_attributes(attributes)
        size = check.shape("shape", shape)
        if name is not None and not check_normal("name", name):
            raise InvalidArgumentError("name must be a non-empty text or None")
        self.has_name: bool = name is not None
        named = {"group": "values", "shape": size}
        self.labels: NDArray[Any] | None = (
            None if records is None else record_names("records", records, **named)
        )
        self.states_change: bool = entries_per_record is not None or change is not None
        self.envelope: Envelope = Envelope(
            lower,
            upper,
            radius=radius,
            shape=size,
            records=None if self.labels is None else self.labels.reshape(size),
            entries_per_record=entries_per_record,
            change=change,
        )
        low, high = self.envelope.lower, self.envelope.upper
        signs = {"nonneg": bool((low >= 0).all()), "nonpos": bool((high <= 0).all())}
        super().__init__(size, name=name, **signs)

    @property
    def value(self) -> None:  # pyright: ignore[reportIncompatibleVariableOverride]
        """None: the values of a private parameter are kept nowhere.

        Raises
        ------
        PrivacyLeakError
            If `problem.solve()` of cvxpy asks for it.
        """
        if sys._getframe(1).f_code.co_name == "_solve":  # cvxpy's own, which asks for it first
            raise PrivacyLeakError(
                f"{self.name()} is private, so problem.solve() has no value for it: {_INSTEAD}"
            )
        return

    @value.setter
    def value(self, val: Any) -> None:
        self.save_value(val)

    def save_value(self, val: Any, sparse_path: bool = False) -> None:
        """Refused: a stored value would be seen by whoever sees the problem.

        Parameters
        ----------
        val : object
            Only None, which changes nothing.
        sparse_path : bool
            As cvxpy passes it.

        Raises
        ------
        PrivacyLeakError
            If a value is given.
        """
        if val is not None:
            raise PrivacyLeakError(
                f"{self.name()} is private, so its values are not stored: {_INSTEAD}"
            )

    def __repr__(self) -> str:
        low, high = self.envelope.lower.min(), self.envelope.upper.max()
        return f"PrivateParameter({self.name()}, {self.shape}, within [{low:g}, {high:g}])"


def _refuse_attributes(attributes: Mapping[str, Any]) -> None:
    """Raise: what ``cvxpy.Parameter`` takes and a private one does not."""
    if "value" in attributes:
        raise PrivacyLeakError(
            f"value: the values of a private parameter are not stored: {_INSTEAD}"
        )
    raise InvalidArgumentError(
        f"PrivateParameter takes no {', '.join(sorted(attributes))}: signs follow from lower and "
        "upper, and entries that are equal or zero are stated by an expression of a smaller "
        "parameter (cp.diag(p), cp.vec_to_upper_tri(p), …)"
    )


def joined(parameters: Sequence[PrivateParameter]) -> Envelope:
    """One envelope of several parameters, with records that may cross them."""
    _check_names(parameters)
    groups, alone = {}, True
    for parameter in parameters:
        groups[parameter.name()] = parameter.envelope
        alone &= parameter.labels is None
    if alone:
        return Envelope.join(groups)
    if any(p.states_change for p in parameters):
        raise InvalidArgumentError(
            "entries_per_record and change must be left out where parameters name records: whose "
            "entries change together is said once"
        )
    labelled = [p for p in parameters if p.labels is not None]
    owners = owners_of([p.labels for p in labelled if p.labels is not None])
    cuts = np.cumsum([p.size for p in labelled])[:-1]
    known = dict(zip((p.id for p in labelled), np.split(owners, cuts), strict=True))
    records, count = {}, int(owners.max()) + 1
    for parameter in parameters:
        own = known.get(parameter.id)
        if own is None:
            own = np.arange(count, count + parameter.size)
            count += parameter.size
        records[parameter.name()] = own.reshape(parameter.shape)
    return Envelope.join(groups, records=records)


def _check_names(parameters: Sequence[PrivateParameter]) -> None:
    """Name parameters without a name by their place, as keys of values and in files."""
    for number, parameter in enumerate(parameters):
        if not parameter.has_name:
            parameter._name = f"parameter {number}"
    names, twice = set(), set()
    for parameter in parameters:
        (twice if parameter.name() in names else names).add(parameter.name())
    if twice:
        raise InvalidArgumentError(
            "private parameters of one problem need different names; used twice: "
            + ", ".join(sorted(twice))
        )
