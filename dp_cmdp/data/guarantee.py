"""What a release says about itself: what was promised, by which noise, and who was debited."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any

from dp_cmdp import _check
from dp_cmdp.accounting.budget import PrivacyBudget, exact
from dp_cmdp.errors import InvalidArgumentError


@dataclass(frozen=True, slots=True)
class Guarantee:
    """What was promised: (ε, δ), under which adjacency; (0, 0) when no data was used.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from dp_cmdp.data.release import Guarantee
    >>> Guarantee(Fraction(1), Fraction(1, 1000), record_size=1).adjacency
    'one entry changes by at most its radius'
    """

    epsilon: Fraction
    delta: Fraction
    record_size: int

    def __post_init__(self) -> None:
        for name in ("epsilon", "delta"):
            _check.instance(name, getattr(self, name), Fraction)
        if self.epsilon < 0:
            raise InvalidArgumentError("epsilon must not be negative")
        if not 0 <= self.delta <= 1:
            raise InvalidArgumentError("delta must lie in [0, 1]")
        _check.integer("record_size", self.record_size, low=1)

    @property
    def budget(self) -> PrivacyBudget:
        return PrivacyBudget(self.epsilon, self.delta)

    @property
    def adjacency(self) -> str:
        """Which databases must look alike, in words."""
        if self.record_size == 1:
            return "one entry changes by at most its radius"
        return (
            f"one record (up to {self.record_size} entries) changes, each entry by at most "
            "its radius"
        )

    def __str__(self) -> str:
        pair = f"({float(self.epsilon):g}, {float(self.delta):g})"
        return f"{pair}-differential privacy when {self.adjacency}"


@dataclass(frozen=True, slots=True)
class Noise:
    """Public facts about the noise of one block of a release.

    `epsilon` and `delta` are what the block spends; the parts of a release add up to its guarantee.
    """

    block: str
    law: str
    calibration: str
    scale: float
    support: float | None
    certificate: Mapping[str, Any] | None = None
    epsilon: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)

    def facts(self) -> dict[str, Any]:
        """Ready for JSON."""
        said = {key.name: getattr(self, key.name) for key in fields(self)}
        return said | {"epsilon": str(self.epsilon), "delta": str(self.delta)}

    @classmethod
    def from_facts(cls, said: Mapping[str, Any]) -> Noise:
        spent = {key: exact(key, said[key]) for key in ("epsilon", "delta")}
        return cls(**{**said, **spent})


@dataclass(frozen=True, slots=True)
class Debit:
    """Where a ledger wrote down what the release spent: its id, and the entry's place and hash."""

    ledger: str
    index: int
    hash: str

    def __post_init__(self) -> None:
        _check.integer("index", self.index, low=1)
        for name in ("ledger", "hash"):
            said = getattr(self, name)
            if not isinstance(said, str) or not said.isprintable() or not 0 < len(said) <= 200:
                raise InvalidArgumentError(f"{name} must be a short printable text")

    def facts(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {key.name: getattr(self, key.name) for key in fields(self)}
