"""The private numbers, kept where nothing shows them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dp_cmdp import _check
from dp_cmdp._check import FloatArray
from dp_cmdp._door import door
from dp_cmdp.envelope import Envelope, describe
from dp_cmdp.errors import InvalidArgumentError, PrivacyLeakError


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Database:
    """Private values inside a public envelope.

    Parameters
    ----------
    values : array_like or mapping of array_like
        The private numbers: one vector, the only group in its own shape, or a mapping from group
        to array. Numbers outside the envelope, NaN and wrong shapes are refused without being
        quoted; so are tables (name the columns: ``{"price": table["price"], …}``, each read by
        position), masked and complex numbers.
    envelope : Envelope
    identity : str, optional
        Public label under which a :class:`~dp_cmdp.ledger.ledger.PrivacyLedger` keeps its budget.

    Notes
    -----
    **Privacy.** *Curator only.* ``repr``, ``str`` and every error text are free of values; pickling
    and copying are refused (hand a worker a seed, not a database).
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
        if identity is not None and not identity.strip():
            raise InvalidArgumentError("identity must be a non-empty text or None")
        flat = _flatten(values, envelope) if _check.is_mapping(values) else _flat(values, envelope)
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
        return f"Database(<private>, {describe(self.envelope.groups)}{label})"

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise PrivacyLeakError(
            "a Database refuses to be pickled or copied; pass the seed or the loader that makes it"
        )


def _flat(values: Any, envelope: Envelope) -> FloatArray:
    """One vector of all entries, or the only group in its own shape."""
    array = _check.array("values", values)
    own = envelope.groups[0][1] if len(envelope.groups) == 1 else ()
    if array.shape not in ((envelope.num_entries,), own):
        raise InvalidArgumentError(
            f"values must have {envelope.num_entries} entries ({describe(envelope.groups)}), got "
            f"shape {array.shape}; pass one vector, or a mapping from group to array"
        )
    return array.ravel()


def _flatten(values: Mapping[str, ArrayLike], envelope: Envelope) -> FloatArray:
    groups = envelope.groups
    expected = [name for name, _ in groups]
    if set(values) != set(expected):
        raise InvalidArgumentError(f"values must name exactly the groups {', '.join(expected)}")
    parts = []
    for name, shape in groups:
        part = _check.array(f"values[{name!r}]", values[name])
        if part.shape != shape:
            raise InvalidArgumentError(
                f"values[{name!r}] must have shape {shape}, got {part.shape}"
            )
        parts.append(part.ravel())
    return np.concatenate(parts)
