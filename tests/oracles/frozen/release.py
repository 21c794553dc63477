"""A release of commit 2e23627 as plain numbers: what its file holds, read and written.

Writing what was read must give the same file: whatever is in a file but not here is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from fractions import Fraction
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from tests.oracles.frozen.document import Document, read
from tests.oracles.frozen.noise import Certificate, RefusedError, fraction

FORMAT = "dp_cmdp.Release/3"
PER_ENTRY = ("estimate", "lower", "upper", "step", "draws")
ENVELOPE = tuple(f"envelope.{name}" for name in ("lower", "upper", "radius", "records"))
TOTALS = ("index", "step", "grid", "counts.data", "counts.indices", "counts.indptr")
#: Bits of a count and of a step, and limits of indices and of steps.
COUNT_LIMIT, STEP_BITS, EXACT_SUM = 2.0**41, 12, 2.0**53
INDEX_LIMIT, LARGEST_STEP = 2**61, 2.0**930


@dataclass(frozen=True, eq=False)
class Envelope:
    """Public bounds, radius and record of every entry."""

    lower: np.ndarray
    upper: np.ndarray
    radius: np.ndarray
    records: np.ndarray
    groups: tuple[tuple[str, tuple[int, ...]], ...]

    def __post_init__(self) -> None:
        sizes = {part.shape for part in (self.lower, self.upper, self.radius, self.records)}
        names = [name for name, _ in self.groups]
        held = sum(prod(shape) for _, shape in self.groups)
        check(sizes == {(held,)} and held > 0, "its envelope must have one number per entry")
        check(len(set(names)) == len(names) and all(names), "its groups must have names, once each")
        check(finite(self.lower, self.upper, self.radius), "its envelope must be finite")
        check(bool((self.lower < self.upper).all()), "lower bounds must be below upper ones")
        wide = self.radius > (self.upper - self.lower) * (1 + 1e-12)
        check(bool((self.radius > 0).all()) and not wide.any(), "a radius must fit its range")
        compact = np.unique(self.records, return_inverse=True)[1]
        check(bool((compact == self.records).all()), "records must be numbered 0, 1, …")

    @property
    def record_size(self) -> int:
        return int(np.bincount(self.records).max())


@dataclass(frozen=True, eq=False)
class Totals:
    """Measured sums Σ_k V_ik ⌊θ_k/g_k⌋ + Z_i in steps h_i, and the bounds Wθ ≤ q that follow."""

    counts: sparse.csr_array
    index: np.ndarray
    support: int
    step: np.ndarray
    grid: np.ndarray

    def __post_init__(self) -> None:
        V, steps = self.counts, self.step
        check(steps.shape == self.index.shape == (V.shape[0],), "one step and index per total")
        check(V.shape[1] == self.grid.size and V.has_canonical_format, "its counts do not fit")
        check(bool((V.data != 0).all()), "a count of 0 is not stored")
        check(bool((abs(self.index) <= INDEX_LIMIT).all()), "an index is too large")
        check(type(self.support) is int and 0 <= self.support <= INDEX_LIMIT, "support is odd")
        short = np.rint(V.data) == V.data
        check(bool((short & (abs(V.data) <= COUNT_LIMIT)).all()), "counts are integers of 41 bits")
        check(finite(self.grid, steps) and bool((self.grid > 0).all()), "grid must be positive")
        check(bool((np.frexp(self.grid)[0] == 0.5).all()), "grid must hold powers of two")
        bits = np.ldexp(np.frexp(steps)[0], STEP_BITS)
        good = (steps > 0) & (steps < LARGEST_STEP) & (np.ceil(bits) == bits)
        check(bool(good.all()), "steps are positive floats of 12 bits below 2^930")
        size = abs(self.W.data)
        check(bool(((size >= 2.0**-900) & (size <= 2.0**900)).all()), "weights leave 2^±900")
        check(bool((self.raised < EXACT_SUM).all()), "counts of a total add up to 2^53")

    @property
    def raised(self) -> np.ndarray:
        """Σ of the positive counts of each total."""
        return self.counts.maximum(0) @ np.ones(self.grid.size)

    @property
    def W(self) -> sparse.csr_array:
        row = np.repeat(np.arange(self.step.size), np.diff(self.counts.indptr))
        with np.errstate(all="ignore"):
            weights = self.counts.data * self.step[row] / self.grid[self.counts.indices]
        parts = (weights, self.counts.indices, self.counts.indptr)
        return sparse.csr_array(parts, shape=self.counts.shape)

    @property
    def q(self) -> list[Fraction]:
        """Certain upper bounds of Wθ, exactly (the package rounds them up to floats)."""
        parts = zip(self.step.tolist(), self.index.tolist(), self.raised.tolist(), strict=True)
        return [Fraction(h) * (n + self.support + int(v)) for h, n, v in parts]


@dataclass(frozen=True)
class Noise:
    """The noise of one look: at entries (``database``) or at ``totals``."""

    block: str
    law: str
    calibration: str
    scale: float
    support: float
    certificate: Certificate
    epsilon: Fraction
    delta: Fraction

    def facts(self) -> dict[str, Any]:
        said = {part.name: getattr(self, part.name) for part in fields(self)}
        spent = {"epsilon": str(self.epsilon), "delta": str(self.delta)}
        return said | spent | {"certificate": self.certificate.facts()}

    @classmethod
    def from_facts(cls, said: Mapping[str, Any]) -> Noise:
        check(said["certificate"] is not None, "noise without a certificate is a simulation")
        spent = {name: fraction(name, said[name]) for name in ("epsilon", "delta")}
        proof = Certificate.from_facts(said["certificate"])
        return cls(**{**said, **spent, "certificate": proof})


@dataclass(frozen=True, eq=False)
class Release:
    """What a file holds."""

    envelope: Envelope
    estimate: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    step: np.ndarray
    draws: np.ndarray
    epsilon: Fraction
    delta: Fraction
    noise: tuple[Noise, ...]
    totals: Totals | None = None
    plan: Mapping[str, Any] | None = None
    ledger: Mapping[str, Any] | None = None
    secure: bool = True
    version: str = field(default="0.1.0")

    def __post_init__(self) -> None:
        for name in PER_ENTRY:
            part = getattr(self, name)
            check(part.shape == self.envelope.lower.shape, f"{name} must have one number per entry")
            check(finite(part), f"{name} must be finite")
        check(bool((self.lower <= self.upper).all()), "lower must not exceed upper")
        check(type(self.secure) is bool, "secure must be true or false")
        check(self.epsilon >= 0 and 0 <= self.delta <= 1, "its guarantee is none")
        fits = self.totals is None or self.totals.grid.size == self.estimate.size
        check(fits, "its totals are of other entries")
        check(self.ledger is None or _is_debit(self.ledger), "its ledger's entry is odd")
        check(0 < len(self.version) <= 100 and self.version.isprintable(), "its version is odd")

    def document(self) -> Document:
        arrays = {name: getattr(self, name) for name in PER_ENTRY}
        arrays |= {name: getattr(self.envelope, name.partition(".")[2]) for name in ENVELOPE}
        groups = [[name, list(shape)] for name, shape in self.envelope.groups]
        size, totals = self.envelope.record_size, None
        if self.totals is not None:
            V = self.totals.counts
            totals = {"counts": list(V.shape), "support": self.totals.support}
            found = (self.totals.index, self.totals.step, self.totals.grid)
            parts = zip(TOTALS, (*found, V.data, V.indices, V.indptr), strict=True)
            arrays |= {f"totals.{name}": part for name, part in parts}
        facts = {
            "method": "database",
            "epsilon": str(self.epsilon),
            "delta": str(self.delta),
            "record_size": size,
            "adjacency": "one entry changes by at most its radius"
            if size == 1
            else f"one record (up to {size} entries) changes, each entry by at most its radius",
            "secure": self.secure,
            "leaks": [],
            "groups": groups,
            "noise": [part.facts() for part in self.noise],
            "ledger": None if self.ledger is None else dict(self.ledger),
            "plan": None if self.plan is None else dict(self.plan),
            "version": self.version,
            "totals": totals,
            "envelope": {"groups": groups},
            "blocks": None,
        }
        return Document(FORMAT, facts, arrays)


def load(path: Path) -> Release:
    """What a file holds, if it holds nothing else; its claims are not judged yet."""
    names = tuple(f"totals.{name}" for name in TOTALS)
    source = read(path, FORMAT, required=(*PER_ENTRY, *ENVELOPE), optional=names)
    facts, arrays = source.facts, source.arrays
    groups = tuple((name, tuple(shape)) for name, shape in facts["groups"])
    totals = None
    if facts["totals"] is not None:
        index, step, grid, *V = (arrays[name] for name in names)
        counts = sparse.csr_array(tuple(V), shape=tuple(facts["totals"]["counts"]))
        counts.check_format(full_check=True)
        totals = Totals(counts, index, facts["totals"]["support"], step, grid)
    made = Release(
        envelope=Envelope(
            **{name.partition(".")[2]: arrays[name] for name in ENVELOPE}, groups=groups
        ),
        **{name: arrays[name] for name in PER_ENTRY},
        epsilon=fraction("epsilon", facts["epsilon"]),
        delta=fraction("delta", facts["delta"]),
        noise=tuple(Noise.from_facts(part) for part in facts["noise"]),
        totals=totals,
        **{name: facts[name] for name in ("plan", "ledger", "secure", "version")},
    )
    check(made.document().digest == source.digest, "it holds more than a release does")
    return made


def check(holds: bool, why: str) -> None:
    if not holds:
        raise RefusedError(why)


def finite(*parts: np.ndarray) -> bool:
    return all(part.dtype == np.float64 and bool(np.isfinite(part).all()) for part in parts)


def _is_debit(said: Mapping[str, Any]) -> bool:
    texts = [said.get("ledger"), said.get("hash")]
    index = said.get("index")
    short = all(isinstance(text, str) and 0 < len(text) <= 200 for text in texts)
    return set(said) == {"ledger", "index", "hash"} and short and type(index) is int and index >= 1
