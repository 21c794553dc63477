"""The private numbers, kept where nothing shows them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike

from dp_cmdp import _check
from dp_cmdp._check import FloatArray
from dp_cmdp._door import door
from dp_cmdp.data.envelope import Envelope, describe
from dp_cmdp.errors import InvalidArgumentError, PrivacyLeakError

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Database:
    """Private values inside a public envelope.

    Parameters
    ----------
    values : array_like or mapping of array_like
        The private numbers: one vector, the only group in its own shape, or a mapping from group
        to array. Numbers outside the envelope, NaN and wrong shapes are refused without being
        quoted; so are tables (:meth:`from_frame` reads them by label; a column,
        ``{"price": table["price"], …}``, is read by position), masked and complex numbers, and
        truth values. Numbers of exact type (fractions, decimals, large integers) are taken as
        their nearest floats: those are the true data of which privacy and feasibility are
        promised.
    envelope : Envelope
    identity : str, optional
        Public label under which a :class:`~dp_cmdp.accounting.ledger.PrivacyLedger` keeps its
        budget.

    Notes
    -----
    **Privacy.** *Curator only*. ``repr``, ``str`` and every error text are free of values; pickling
    and copying are refused (hand a worker a seed, not a database).

    Examples
    --------
    >>> from dp_cmdp import Database, Envelope
    >>> envelope = Envelope(0, 10, radius=0.5, shape=3, name="demand")
    >>> Database([1.5, 0.0, 7.2], envelope, identity="demand 2026")  # no value is shown
    Database(<private>, demand[3], identity='demand 2026')
    """

    values: FloatArray = field(repr=False)
    envelope: Envelope
    identity: str | None

    @door
    def __init__(
        self,
        values: ArrayLike | Mapping[str, ArrayLike],
        envelope: Envelope,
        *,
        identity: str | None = None,
    ) -> None:
        _check_public(envelope, identity)
        flat = (
            _flatten(values, envelope)
            if _check.is_mapping(values)
            else _flat(cast(ArrayLike, values), envelope)
        )
        if not envelope.contains(flat):  # NaN fails too
            raise InvalidArgumentError(
                "values must lie within their public bounds; some do not (which ones is private "
                "and not shown): clip them or widen the public bounds"
            )
        object.__setattr__(self, "values", _check.frozen(flat))
        object.__setattr__(self, "envelope", envelope)
        object.__setattr__(self, "identity", identity)

    @classmethod
    @door
    def from_frame(
        cls,
        frame: pd.DataFrame | pd.Series | Mapping[str, Any],
        envelope: Envelope,
        *,
        column: str | None = None,
        identity: str | None = None,
    ) -> Database:
        """Private values from a table, found by their labels: the order of rows does not matter.

        Parameters
        ----------
        frame : DataFrame, Series, or mapping from group to table
            One row per entry; for a group of two axes also one cell per entry, with rows and
            columns labelled as the envelope says. Labels are the index, or columns with the names
            that the envelope's labels have. Groups without labels take arrays.
        envelope : Envelope
            With labels.
        column : str, optional
            The column with the values; by default the one named as the group, or else ``"value"``.
        identity : str, optional
            As in :class:`Database`.

        Raises
        ------
        InvalidArgumentError
            If labels are missing, unknown or there twice, in one text that does not say which:
            what rows a private table has may be private.

        Notes
        -----
        **Privacy.** *Curator only*.

        Examples
        --------
        >>> import pandas as pd
        >>> from dp_cmdp import Database, Envelope
        >>> cities = {"city": ["Bern", "Basel"]}
        >>> envelope = Envelope(0, 9, radius=0.5, labels=cities, name="demand")
        >>> private = pd.DataFrame({"city": ["Basel", "Bern"], "demand": [2.0, 7.0]})
        >>> Database.from_frame(private, envelope)
        Database(<private>, demand[2])
        """
        from dp_cmdp.data.private_frame import private_values

        _check_public(envelope, identity)
        values = private_values(frame, envelope, column=column)
        return cls(values, envelope, identity=identity)

    @classmethod
    @door
    def deferred(
        cls,
        read: Callable[[], ArrayLike | Mapping[str, ArrayLike]],
        envelope: Envelope,
        *,
        identity: str | None = None,
    ) -> Database:
        """A database that is read at its first use: by a release, after the ledger's debit.

        Parameters
        ----------
        read : callable
            Returns the values; called once, and again only if it failed.
        envelope, identity
            As in :class:`Database`.

        Notes
        -----
        That something is wrong with the values is said at that use, when a ledger has been debited,
        and not what: ``Database(read(), envelope)`` tells it to their curator.
        **Privacy.** *Curator only*.

        Examples
        --------
        >>> from dp_cmdp import Database, Envelope, PrivacyBudget, release_database
        >>> def read():
        ...     print("read")
        ...     return [0.25, 0.75]
        >>> database = Database.deferred(read, Envelope(0, 1, shape=2))
        >>> release = release_database(database, PrivacyBudget(1, "1/1000"))
        read
        """
        return _Deferred(read, envelope, identity=identity)

    @door
    def check_envelope(self, envelope: Envelope) -> None:
        """Raise unless these are the public facts about the values; no value is read."""
        if self.envelope != envelope:
            raise InvalidArgumentError(
                "program and database must share one Envelope: bounds, radius, records and groups "
                "must be the same; build it with Database(values, program.envelope)"
            )

    def __repr__(self) -> str:
        label = "" if self.identity is None else f", identity={self.identity!r}"
        return f"Database(<private>, {describe(self.envelope.groups)}{label})"

    def _repr_html_(self) -> str:
        from dp_cmdp.data.html import database_html

        return database_html(self)

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise PrivacyLeakError(
            "a Database refuses to be pickled or copied; pass the seed or the loader that makes it"
        )


class _Deferred(Database):
    """Values that nobody has looked at yet; the first look keeps them."""

    __slots__ = ("_found", "_read")
    _found: FloatArray | None
    _read: Callable[[], ArrayLike | Mapping[str, ArrayLike]]

    def __init__(
        self,
        read: Callable[[], ArrayLike | Mapping[str, ArrayLike]],
        envelope: Envelope,
        *,
        identity: str | None,
    ) -> None:
        _check_public(envelope, identity)
        facts = {"envelope": envelope, "identity": identity, "_read": read, "_found": None}
        for name, value in facts.items():
            object.__setattr__(self, name, value)

    @property
    def values(self) -> FloatArray:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The private numbers, read now if not before."""
        if self._found is None:
            object.__setattr__(self, "_found", self._look())
        if self._found is None:
            raise InvalidArgumentError(
                "the private values cannot be used: they cannot be read, do not fit the public "
                "facts or leave the public bounds (which of it is private and not shown). What a "
                "ledger was debited for them is spent: nothing is refunded"
            )
        return self._found

    def _look(self) -> FloatArray | None:
        """The values, or None: no exception is under way when the caller raises its own."""
        try:
            return Database(self._read(), self.envelope).values
        except Exception:
            return None


def _check_public(envelope: Envelope, identity: str | None) -> None:
    if not isinstance(envelope, Envelope):
        raise InvalidArgumentError("envelope must be an Envelope")
    if identity is not None and (not isinstance(identity, str) or not identity.strip()):
        raise InvalidArgumentError("identity must be a non-empty text or None")


def _flat(values: Any, envelope: Envelope) -> FloatArray:
    """One vector of all entries, or the only group in its own shape."""
    array = _check.private_array("values", values)
    own = envelope.groups[0][1] if len(envelope.groups) == 1 else ()
    if array.shape not in ((envelope.num_entries,), own):
        raise InvalidArgumentError(
            f"values must have {envelope.num_entries} entries ({describe(envelope.groups)}), got "
            f"shape {array.shape}; pass one vector, or a mapping from group to array"
        )
    return array.ravel()


def _flatten(values: Mapping[str, ArrayLike], envelope: Envelope) -> FloatArray:
    names = [name for name, _ in envelope.groups]
    given = _given(values, names)
    if given is None:
        raise InvalidArgumentError(f"values must name exactly the groups {', '.join(names)}")
    parts = []
    for (name, shape), value in zip(envelope.groups, given, strict=True):
        part = _check.private_array(f"values[{name!r}]", value)
        if part.shape != shape:
            raise InvalidArgumentError(
                f"values[{name!r}] must have shape {shape}, got {part.shape}"
            )
        parts.append(part.ravel())
    return np.concatenate(parts)


def _given(values: Mapping[str, ArrayLike], names: list[str]) -> list[ArrayLike] | None:
    """A mapping's items in order, None if it has others; its own errors, which may quote them, end.

    No exception is under way when this function raises its own.
    """
    try:
        found = set(islice(values, len(names) + 1))
        return [values[name] for name in names] if found == set(names) else None
    except Exception:
        pass
    raise InvalidArgumentError("values cannot be read: the mapping raised an error (not shown)")
