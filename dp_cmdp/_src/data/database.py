"""The private numbers, kept where nothing shows them."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from dp_cmdp._src.accounting.ledger import PrivacyLedger
from dp_cmdp._src.base import validation as check
from dp_cmdp._src.base.errors import InvalidTypeError, PrivacyLeakError, RefusedError
from dp_cmdp._src.base.validation import FloatArray
from dp_cmdp._src.data.envelope import Envelope


class Database:
    """first cut"""

    __slots__ = ("_source", "envelope", "ledger")

    envelope: Envelope
    ledger: PrivacyLedger | None

    def __init__(self, values: Any, problem: Any, *, ledger: PrivacyLedger | None = None) -> None:
        envelope = problem if isinstance(problem, Envelope) else getattr(problem, "envelope", None)
        if not isinstance(envelope, Envelope):
            raise InvalidTypeError("problem must be a problem or an Envelope")
        self._source = values
        self.envelope = envelope
        self.ledger = ledger

    @classmethod
    def of(cls, data: Any, envelope: Envelope) -> Database:
        """Data of any form as a database of this envelope."""
        return data if isinstance(data, Database) else cls(data, envelope)

    def read(self) -> FloatArray:
        """The private numbers, or one refusal that does not say which or why."""
        found = self._found()
        if found is None:
            raise RefusedError(
                "the private values cannot be used: they cannot be read, do not fit the envelope "
                "or leave its bounds (which of it is private and not shown)"
            )
        return found

    def _found(self) -> FloatArray | None:
        try:
            source = self._source() if callable(self._source) else self._source
            flat = self._flat(source)
            inside = flat.shape == self.envelope.lower.shape and bool(
                ((self.envelope.lower <= flat) & (flat <= self.envelope.upper)).all()
            )
            return flat if inside else None
        except Exception:
            return None

    def _flat(self, source: Any) -> FloatArray:
        if check.is_mapping(source):
            named = {key if isinstance(key, str) else key.name(): source[key] for key in source}
            parts = [np.asarray(named[g.name], dtype=float) for g in self.envelope.groups]
            return np.concatenate([part.ravel() for part in parts])
        return np.asarray(source, dtype=float).ravel()

    def __repr__(self) -> str:
        return f"Database(<private>, {self.envelope!r})"

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise PrivacyLeakError(
            "a Database refuses to be pickled or copied; pass the seed or the loader that makes it"
        )
