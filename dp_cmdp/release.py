"""What is published of a database: intervals that certainly contain its entries.

A :class:`Release` is the only thing that crosses the privacy boundary. Everything computed from
it is post-processing (paper: ``lem:arbitrary``).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dp_cmdp import _check
from dp_cmdp._check import FloatArray
from dp_cmdp._door import door
from dp_cmdp.envelope import Groups, describe
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.privacy import PrivacyBudget, exact
from dp_cmdp.storage import read_npz, write_npz

if TYPE_CHECKING:
    import pandas as pd

FORMAT = "dp_cmdp.Release/1"
METHODS = ("database", "blocks")


@dataclass(frozen=True, slots=True)
class Guarantee:
    """What was promised: (ε, δ), under which adjacency; (0, 0) when no data was used."""

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
    support: float | None
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
    groups: Groups
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
        _check.instance("guarantee", self.guarantee, Guarantee)
        _check.one_of("method", self.method, METHODS)
        _check.flag("secure", self.secure)
        object.__setattr__(self, "leaks", _check.names("leaks", self.leaks))
        object.__setattr__(self, "groups", _groups(self.groups))
        object.__setattr__(self, "noise", _check.items("noise", self.noise))
        for part in self.noise:
            _check.instance("an item of noise", part, Noise)
        grouped = sum(prod(shape) for _, shape in self.groups)
        if grouped != self.estimate.size:
            raise InvalidArgumentError(
                f"groups must hold all entries, {self.estimate.size}; they hold {grouped}"
            )

    @door
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

    @door
    def save(self, path: str | Path) -> Path:
        """Write the release to an ``.npz`` file, atomically and without pickle."""
        numbers = {key: getattr(self, key) for key in _INTERVAL}
        return write_npz(path, FORMAT, facts=np.array(json.dumps(self.facts())), **numbers)

    @classmethod
    @door
    def load(cls, path: str | Path) -> Release:
        """Read a release written by :meth:`save`; everything in it is checked again."""
        part = read_npz(path, FORMAT, ("facts", *_INTERVAL))
        try:
            facts = json.loads(str(part["facts"]))
            for key, kind in (("secure", bool), ("leaks", list)):
                if not isinstance(facts[key], kind):
                    raise InvalidArgumentError(f"{key} must be a {kind.__name__}")
            return cls(
                **{key: part[key] for key in _INTERVAL},
                guarantee=Guarantee(
                    exact("epsilon", facts["epsilon"]),
                    exact("delta", facts["delta"]),
                    facts["record_size"],
                ),
                method=facts["method"],
                groups=_groups(facts["groups"]),
                noise=tuple(Noise(**noise) for noise in facts["noise"]),
                secure=facts["secure"],
                leaks=tuple(str(leak) for leak in facts["leaks"]),
            )
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
            own = isinstance(error, InvalidArgumentError)
            raise InvalidArgumentError(
                f"path must name a {FORMAT} file; {path} is damaged "
                f"({error if own else type(error).__name__})"
            ) from None

    def __repr__(self) -> str:
        leak = f", LEAKS {', '.join(self.leaks)}" if self.leaks else ""
        return (
            f"Release({self.method}: {describe(self.groups)}; {self.guarantee}; "
            f"secure={self.secure}{leak})"
        )


def _groups(parts: Any) -> Groups:
    """Names and shapes of the released groups."""
    pairs = [_check.items("a group", part) for part in _check.items("groups", parts)]
    if not all(len(pair) == 2 for pair in pairs):
        raise InvalidArgumentError("groups must hold pairs of a name and a shape")
    return tuple(
        (_check.text("groups", name), _check.shape("groups", _check.items("groups", shape)))
        for name, shape in pairs
    )


_INTERVAL = ("estimate", "lower", "upper")
