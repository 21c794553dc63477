"""The private numbers, kept where nothing shows them.

Even which labels a private table has may be private (a row exists because somebody is a patient):
:func:`private_group` gives None for whatever does not fit, and no error of pandas leaves.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from itertools import islice
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dp_cmdp._src.base import validation as check
from dp_cmdp._src.base.errors import (
    InvalidArgumentError,
    InvalidTypeError,
    PrivacyLeakError,
    RefusedError,
)
from dp_cmdp._src.base.storage import check_is_file
from dp_cmdp._src.base.validation import FloatArray, is_table, validated
from dp_cmdp._src.data.envelope import Envelope

if TYPE_CHECKING:
    from dp_cmdp._src.accounting.ledger import PrivacyLedger
    from dp_cmdp._src.data.envelope import Group

#: What knows the envelope of a problem that is no class of this package (cvxpy registers itself).
ENVELOPES: list[Callable[[Any], Envelope | None]] = []
#: A mapping of more groups than this is none of ours; an endless one is not waited for.
MANY_GROUPS = 100_000


class Database:
    """Private numbers, their envelope, and the ledger that pays for reading them.

    Parameters
    ----------
    values : array_like, DataFrame, Series, mapping, path or callable
        The private numbers: one vector, the only group in its own shape, or a mapping from group
        (or private parameter of cvxpy) to numbers. Tables are read by the labels of the envelope,
        in their index or in columns with their names; a path is a CSV file of such a table. A
        callable returns any of these and is called at each reading. Numbers of exact type
        (fractions, decimals, large integers) are taken as their nearest floats.
    problem : problem or Envelope
        Whose envelope says what is public about the numbers.
    ledger : PrivacyLedger, optional
        The account that every release of these numbers is debited from.

    Raises
    ------
    InvalidTypeError
        `values` is no such kind of object. Nothing else is checked here: numbers are looked at
        after the debit, and refused without a word on which or why.

    Notes
    -----
    **Privacy.** *Curator only*. Every text is free of values; pickling and copying are refused
    (hand a worker the loader, not the numbers).

    Examples
    --------
    >>> import dp_cmdp as dp
    >>> envelope = dp.Envelope(0, 10, radius=0.5, shape=3)
    >>> dp.Database([1.5, 0.0, 7.2], envelope)
    Database(<private>, Envelope(values[3], one entry changes))
    """

    __slots__ = ("_source", "envelope", "ledger")

    envelope: Envelope
    ledger: PrivacyLedger | None
    _source: Any

    @validated
    def __init__(self, values: Any, problem: Any, *, ledger: PrivacyLedger | None = None) -> None:
        envelope = envelope_of(problem)
        if isinstance(values, str | Path):
            values = check_is_file(values, "CSV")
        elif check.is_mapping(values):
            _check_groups(values, envelope)
        elif not (callable(values) or _is_numeric(values)):
            raise InvalidTypeError(
                "values must be numbers, a table of pandas, a mapping from group to numbers, "
                f"the path of a CSV file or a callable, got {type(values).__name__}"
            )
        for name, part in (("envelope", envelope), ("ledger", ledger), ("_source", values)):
            object.__setattr__(self, name, part)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError("a Database does not change; make another")

    @classmethod
    def _of(cls, data: Any, envelope: Envelope) -> Database:
        """Data of any form as a database of this envelope: `data` itself where it is one."""
        if not isinstance(data, Database):
            return cls(data, envelope)
        if data.envelope != envelope:
            raise InvalidArgumentError(
                "problem and database must share one Envelope; of the two, "
                f"{envelope._difference(data.envelope)}: build it with Database(values, problem)"
            )
        return data

    def read(self) -> FloatArray:
        """The private numbers, or one refusal that does not say which or why.

        Returns
        -------
        float array
            One number per entry of the envelope.

        Raises
        ------
        RefusedError
            If they cannot be read, do not fit, or leave the bounds.
        """
        found = self._found()
        if found is None:
            raise RefusedError(
                "the private values cannot be used: they cannot be read, do not fit the envelope "
                "or leave its bounds (which of it is private and not shown; dp_cmdp.curator.check "
                "tells it to the curator, unpaid). What a ledger was debited for them is spent: "
                "nothing is refunded"
            )
        return found

    def _found(self) -> FloatArray | None:
        """The numbers, or None: no exception is under way when the caller raises its own."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what numpy or pandas warns of may depend on the data
            try:
                source = self._source
                values = source() if callable(source) and not is_table(source) else source
                flat = _flat(values, self.envelope)
                if flat is None:
                    return None
                inside = (self.envelope.lower <= flat) & (flat <= self.envelope.upper)
                return check.frozen(flat) if inside.all() else None  # NaN fails too
            except KeyboardInterrupt:
                raise
            except BaseException:  # a loader may exit, with the reason in words
                return None

    def __repr__(self) -> str:
        return f"Database(<private>, {self.envelope!r})"

    def _repr_html_(self) -> str:
        from dp_cmdp._src.data.frames import frame_table

        return frame_table(repr(self), self.envelope.to_frame())

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise PrivacyLeakError(
            "a Database refuses to be pickled or copied; pass the seed or the loader that makes it"
        )


def envelope_of(problem: Any) -> Envelope:
    """The envelope of a problem, or the envelope itself."""
    if isinstance(problem, Envelope):
        return problem
    if isinstance(found := getattr(problem, "envelope", None), Envelope):
        return found
    for known in ENVELOPES:
        if (found := known(problem)) is not None:
            return found
    raise InvalidTypeError(
        f"problem must be a problem with private numbers or an Envelope, got "
        f"{type(problem).__name__}"
    )


def _is_numeric(values: Any) -> bool:
    """Whether `values` is of a kind that may hold numbers; none is looked at."""
    listed = isinstance(values, list | tuple) or hasattr(type(values), "__array__")
    return listed or is_table(values) or check.is_real(values)


def _check_groups(values: Mapping[Any, Any], envelope: Envelope) -> None:
    """The keys of a mapping are public, and compared before anything is spent; nothing is read."""
    if _names_of(values) != sorted(group.name for group in envelope.groups):
        names = ", ".join(repr(group.name) for group in envelope.groups)
        raise InvalidArgumentError(f"values must name exactly the groups {names}")


def _names_of(values: Mapping[Any, Any]) -> list[str] | None:
    try:
        keys = islice(values, MANY_GROUPS)
        return sorted(key if isinstance(key, str) else key.name() for key in keys)
    except Exception:
        return None


def _by_group(values: Mapping[Any, Any], envelope: Envelope) -> list[Any] | None:
    """The items of a mapping in the order of the groups; None if it has others."""
    try:
        count, named, found = len(envelope.groups), {}, []
        for key in islice(values, count + 1):
            named[key if isinstance(key, str) else key.name()] = values[key]
        for group in envelope.groups:
            found.append(named[group.name])
        return found if len(values) == len(named) == count else None
    except Exception:
        return None


def _flat(values: Any, envelope: Envelope) -> FloatArray | None:
    """One vector of all entries in the order of the envelope; None if `values` do not fit."""
    groups = envelope.groups
    if isinstance(values, str | Path):
        from dp_cmdp._src.data.private_tables import read_table

        values = read_table(values, groups)
    if check.is_mapping(values):
        given = _by_group(values, envelope)
    elif len(groups) == 1:
        alone = np.ndim(values) == 1 and len(groups[0].shape) > 1 and not is_table(values)
        given = None if alone else [values]
    else:
        given = None
    if given is None:  # one vector of all entries, which a table with labels is not
        if is_table(values) and any(group.labels for group in groups):
            return None
        array = check.private_array("values", values)
        return array if array.shape == envelope.lower.shape else None
    parts = []
    for part, group in zip(given, groups, strict=True):
        parts.append(private_group(part, group))
        if parts[-1] is None:
            return None
    return np.concatenate(parts)


def private_group(data: Any, group: Group) -> FloatArray | None:
    """The private values of a group from a table or an array, in its order; None if none fit.

    Groups with labels take tables by their labels, others by place. Arrays have the group's shape.
    """
    if not is_table(data):
        return _fitting(data, group.shape)
    from dp_cmdp._src.data.private_tables import cells_of

    cells = cells_of(data, group)
    shape = (prod(group.shape),) if group.labels else group.shape
    return None if cells is None else _fitting(cells, shape)


def _fitting(data: Any, shape: tuple[int, ...]) -> FloatArray | None:
    """Numbers of that shape, flat; one number may stand for a vector of one."""
    array = check.private_array("values", data)
    fits = array.shape == shape or (array.size == 1 and shape in ((), (1,)) and array.ndim < 2)
    return array.ravel() if fits else None
