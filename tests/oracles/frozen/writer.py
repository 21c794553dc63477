"""Measurements as a release file of commit 2e23627, from plain numbers.

For tests of the redesign: what its kernel measured is written in the old format, so that the frozen
verifier judges it. What the old format can say:

* **Entries**: one integer per entry, ⌊θ/g⌋ + W, W in {0, …, width} (width is 2·support of
  truncated Laplace noise, and the support of a table's). Every radius must be `steps` lattice steps
  exactly, so that power-of-two steps need radii that are equal multiples of their steps.
* **Totals**: integers Σ_k V_k⌊θ_k/g_k⌋ + Z, |Z| ≤ support, on the grid of :func:`grid_of`.
* Records that do not overlap.

A `law` is given by its integer thresholds over 2^256 (digits of truncated Laplace noise, cells of a
table), what is derived from them is computed here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from tests.oracles.frozen.noise import Certificate, exp_lower, outer_mass, worst_hockey_stick
from tests.oracles.frozen.release import Envelope, Noise, Release, Totals
from tests.oracles.frozen.verifier import ENTRIES, TOTALS, entry_grid, published_at


@dataclass(frozen=True)
class Law:
    """Integer noise for one look that spends (epsilon, delta).

    `steps`: the most integers that a record moves one number; `entries`: all numbers together (ℓ1),
    divided by `steps`.
    """

    name: str
    thresholds: Sequence[int]
    epsilon: Fraction
    delta: Fraction
    steps: int
    entries: Fraction
    support: int
    cell: int = 1

    def certificate(self) -> Certificate:
        entries, proved = Fraction(self.entries), tuple(map(int, self.thresholds))
        if self.name == "table":
            ratio = exp_lower(Fraction(self.epsilon))
            spent = worst_hockey_stick(proved, -(-self.steps // self.cell), ratio)
        else:
            ratio = exp_lower(Fraction(self.epsilon) / (entries * self.steps))
            spent = outer_mass(proved, support=self.support, steps=self.steps, entries=entries)
        return Certificate(
            law=self.name,
            epsilon=Fraction(self.epsilon),
            delta=Fraction(self.delta),
            steps=self.steps,
            entries=entries,
            support=self.support,
            cell=self.cell,
            ratio=ratio,
            outer_mass=spent,
            thresholds=proved,
        )

    def noise(self, block: str) -> Noise:
        proof = self.certificate()
        return Noise(
            block=block,
            law=self.name,
            calibration="optimal" if self.name == "table" else "tight",
            scale=float(proof.entries / proof.epsilon),
            support=proof.width / 2 / float(proof.steps),
            certificate=proof,
            epsilon=proof.epsilon,
            delta=proof.delta,
        )


@dataclass(frozen=True)
class EntriesMeasured:
    """⌊θ/step⌋ + W per entry; `high`: the entries whose upper end is kept close (tables only)."""

    top: np.ndarray
    step: np.ndarray
    law: Law
    high: np.ndarray | bool = True


@dataclass(frozen=True)
class TotalsMeasured:
    """Σ_k V_k⌊θ_k/g_k⌋ + Z per total, in steps of 12 bits."""

    counts: Any
    index: np.ndarray
    step: np.ndarray
    law: Law


def grid_of(lower: Any, upper: Any, radius: Any) -> np.ndarray:
    """The grid on which the old format reads the entries of totals."""
    return entry_grid(_envelope(lower, upper, radius, None, None))


def write_release(
    path: Path,
    *,
    lower: Any,
    upper: Any,
    radius: Any,
    records: Any = None,
    groups: Sequence[tuple[str, tuple[int, ...]]] | None = None,
    entries: EntriesMeasured | None = None,
    totals: TotalsMeasured | None = None,
    guess: Any = None,
    plan: Mapping[str, Any] | None = None,
    ledger: Mapping[str, Any] | None = None,
    secure: bool = True,
    version: str = "0.1.0",
) -> Path:
    """Write what was measured of a database within public bounds; nothing is judged here."""
    envelope = _envelope(lower, upper, radius, records, groups)
    bounds = (envelope.lower, envelope.upper)
    middle = (envelope.lower + envelope.upper) / 2
    draws = middle if guess is None else np.asarray(guess, dtype=np.float64)
    estimate, low, high, step = middle, *bounds, np.zeros(middle.size)
    noise = []
    if entries is not None:
        noise.append(entries.law.noise(ENTRIES))
        step = np.asarray(entries.step, dtype=np.float64)
        proof = noise[0].certificate
        top = np.asarray(entries.top, dtype=np.float64)
        shift = np.where(entries.high, proof.mean_shift, proof.width - proof.mean_shift)
        _, low, high = published_at(top, step, width=proof.width, middle=shift, bounds=bounds)
        draws = (top - shift + 0.5) * step
        estimate = np.clip(draws, *bounds)
    if totals is not None:
        noise.append(totals.law.noise(TOTALS))
    release = Release(
        envelope=envelope,
        estimate=estimate,
        lower=low,
        upper=high,
        step=step,
        draws=draws,
        epsilon=sum((part.epsilon for part in noise), Fraction(0)),
        delta=sum((part.delta for part in noise), Fraction(0)),
        noise=tuple(noise),
        totals=None if totals is None else _totals(totals, entry_grid(envelope)),
        plan=plan,
        ledger=ledger,
        secure=secure,
        version=version,
    )
    return release.document().write(path)


def _envelope(lower: Any, upper: Any, radius: Any, records: Any, groups: Any) -> Envelope:
    low, high, far = np.broadcast_arrays(*(np.atleast_1d(part) for part in (lower, upper, radius)))
    owners = np.arange(low.size) if records is None else np.asarray(records)
    return Envelope(
        lower=np.array(low, dtype=np.float64).ravel(),
        upper=np.array(high, dtype=np.float64).ravel(),
        radius=np.array(far, dtype=np.float64).ravel(),
        records=np.unique(owners, return_inverse=True)[1].ravel().astype(np.int64),
        groups=(("values", (low.size,)),) if groups is None else tuple(groups),
    )


def _totals(measured: TotalsMeasured, grid: np.ndarray) -> Totals:
    counts: Any = sparse.csr_array(measured.counts, dtype=np.float64)
    counts.eliminate_zeros()
    counts.sum_duplicates()
    index = np.asarray(measured.index, dtype=np.int64)
    step = np.asarray(measured.step, dtype=np.float64)
    return Totals(counts, index, measured.law.support, step, grid)
