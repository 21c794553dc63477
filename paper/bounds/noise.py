"""How far a release may move the data it protects, known before any of it is read.

Entry k is published as θ_k + N_k and as an interval of half-width s_k cut to the envelope: it lies
inside the *worst box* [θ_k ± 2s_k] ∩ [lo_k, hi_k].

``entries``  the database released once: σ_k = m r_k/ε, s_k = σ_k ln(1 + m(e^(ε/m) − 1)/(2δ)), with
             r_k the radius of entry k and m = max_R Σ_k C_Rk/r_k
``blocks``   Algorithm 1: the coefficients of A, b and c themselves, σ = Δ/(αε) per block,
             s = σ ln(1 + k(e^ε − 1)/δ); plain Laplace noise on c

All that bounds ask of the law are its tail P(N > t) and its excess E(N − t)⁺: for instance
E min(N⁺, r) = E(N)⁺ − E(N − r)⁺. The law is symmetric: lower ends are upper ends of −N.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

import dp_cmdp as dp
from paper.blocks import Form, allocated, entrywise, equal_shares, form
from paper.linear import Floats, Integers

#: Relative room for the rounding of released numbers: a lattice step is 2^-16 of a radius.
LATTICE_ROUNDING = 2.0**-15


@dataclass(frozen=True, slots=True, eq=False)
class Law:
    """Density ∝ exp(−|z|/σ) on [−s, s], one (σ, s) per entry; s = ∞ is allowed."""

    scale: Floats
    support: Floats

    @property
    def variance(self) -> Floats:
        decay = np.exp(-self.support / self.scale)
        s = np.where(decay > 0, self.support, 0.0)
        inner = 2 * self.scale**2 - decay * (s**2 + 2 * s * self.scale + 2 * self.scale**2)
        return np.where(self.support < 1e-4 * self.scale, s**2 / 3.0, inner / (1.0 - decay))

    def tail(self, t: Floats | float) -> Floats:
        """P(N > t)."""
        decay = np.exp(-self.support / self.scale)
        near = np.exp(-np.minimum(np.abs(t), self.support) / self.scale)
        half = (near - decay) / (1.0 - decay) / 2
        return np.where(np.less(t, 0), 1.0 - half, half)

    def excess(self, t: Floats | float) -> Floats:
        """E(N − t)⁺."""
        size = np.minimum(np.abs(t), self.support)
        decay = np.exp(-self.support / self.scale)
        with np.errstate(invalid="ignore", over="ignore"):
            rest = np.where(np.isinf(self.support), np.inf, (self.support - size) / self.scale)
            lost = np.where(decay > 0, decay * (1.0 + rest), 0.0)
            small = decay * (np.expm1(np.minimum(rest, 1.0)) - rest)
        part = np.where(rest < 1.0, small, np.exp(-size / self.scale) - lost)
        found = self.scale * part / (2.0 * (1.0 - decay))
        return found + np.maximum(-np.asarray(t), 0.0)

    def only(self, which: Integers) -> Law:
        """The noise of chosen entries."""
        return Law(self.scale[which], self.support[which])

    def end_mean(self, room: Floats) -> Floats:
        """E D, D = min(s + N, room)."""
        known = np.isfinite(self.support)
        with np.errstate(invalid="ignore"):
            cut = self.excess(np.where(known, room - self.support, 0.0))
            return np.where(known, self.support - cut, room)

    def end_below(self, distance: Floats, *, room: Floats | float) -> Floats:
        """P(D ≤ distance)."""
        return np.where(distance >= room, 1.0, 1.0 - self.tail(distance - self.support))

    def end_probability(self, room: Floats) -> Floats:
        """P(D = room): the end reaches an envelope `room` away from the value."""
        known = np.isfinite(self.support)
        with np.errstate(invalid="ignore"):
            return np.where(known, self.tail(np.where(known, room - self.support, 0.0)), 1.0)

    def mean_up_to(self, room: Floats | float) -> Floats:
        """E min(N⁺, room)."""
        return self.excess(0.0) - self.excess(room)


@dataclass(frozen=True, eq=False)
class ReleaseNoise:
    """The noise of a release that has not been made yet: *public*."""

    program: dp.ParametricLP  # whose database is protected
    target: dp.ParametricLP  # over the released entries: itself, or entrywise
    mechanism: str
    law: Law

    @property
    def envelope(self) -> dp.Envelope:
        return self.target.envelope

    @cached_property
    def part(self) -> Form:
        """The blocks of the target."""
        return form(self.target)

    def entries(self, values: Floats) -> Floats:
        """The released entries at given database values."""
        return values if self.mechanism == "entries" else entrywise(self.program).values(values)

    def worst_box(self, entries: Floats) -> tuple[Floats, Floats]:
        """A box that contains every released box."""
        far = 2.0 * self.law.support * (1.0 + LATTICE_ROUNDING) + 2.0**-48 * np.abs(entries)
        low, high = self.envelope.lower, self.envelope.upper
        return np.clip(entries - far, low, high), np.clip(entries + far, low, high)

    def mean_box(self, entries: Floats) -> tuple[Floats, Floats]:
        """Mean lower and upper ends of the released intervals."""
        up, down = self.room(entries)
        return entries - self.law.end_mean(down), entries + self.law.end_mean(up)

    def in_rows(self) -> np.ndarray:
        """Which released entries a row reads."""
        read = np.zeros(self.envelope.size, dtype=bool)
        read[self.part.A.entry] = True
        read[self.part.b.entry] = True
        return read

    def room(self, entries: Floats) -> tuple[Floats, Floats]:
        """Distance from the values up and down to the envelope."""
        return self.envelope.upper - entries, entries - self.envelope.lower

    def error_room(self, entries: Floats) -> tuple[Floats, Floats]:
        """Where the estimates are cut: nowhere for blocks."""
        if self.mechanism == "entries":
            return self.room(entries)
        everywhere = np.full(entries.size, np.inf)
        return everywhere, everywhere

    def error_means(self, entries: Floats) -> tuple[Floats, Floats]:
        """(E e⁺, E e⁻) of the estimates."""
        up, down = self.error_room(entries)
        return self.law.mean_up_to(up), self.law.mean_up_to(down)

    def error_limits(self, entries: Floats) -> tuple[Floats, Floats]:
        """The largest e⁺ and e⁻ that can occur."""
        up, down = self.error_room(entries)
        most = self.law.support * (1.0 + LATTICE_ROUNDING)
        return np.minimum(up, most), np.minimum(down, most)


def release_noise(
    program: dp.ParametricLP,
    budget: dp.PrivacyBudget,
    *,
    mechanism: str = "entries",
    alphas: Mapping[str, Fraction] | None = None,
) -> ReleaseNoise:
    """The noise that a release of this program's database would carry: *public*."""
    if mechanism == "blocks":
        return _blocks(program, budget, alphas or equal_shares(form(program)))
    envelope, epsilon, delta = program.envelope, float(budget.epsilon), float(budget.delta)
    radius = envelope.radius
    share = envelope.change.data / radius[envelope.change.indices]
    moved = np.split(share, envelope.change.indptr[1:-1])
    most = envelope.entries_per_record or radius.size
    m = max((float(np.sort(part)[::-1][:most].sum()) for part in moved), default=1.0)
    support = m / epsilon * math.log1p(m * math.expm1(epsilon / m) / (2 * delta))
    return ReleaseNoise(program, program, mechanism, Law(m / epsilon * radius, support * radius))


def block_noise(
    program: dp.ParametricLP, budget: dp.PrivacyBudget, alphas: Mapping[str, Fraction]
) -> dict[str, tuple[float, float]]:
    """σ and s of every private block in Algorithm 1; s = ∞ for c."""
    part = form(program)
    m, n = part.A.shape
    counts, found = {"A": m * n, "b": m}, {}
    for block, share in allocated(budget, alphas).items():
        epsilon, delta = float(share.epsilon), float(share.delta)
        sigma = part.sensitivity(block) / epsilon
        odds = math.expm1(epsilon) / delta
        s = math.inf if block == "c" else sigma * math.log1p(counts[block] * odds)
        found[block] = (sigma, s)
    return found


def _blocks(
    program: dp.ParametricLP, budget: dp.PrivacyBudget, alphas: Mapping[str, Fraction]
) -> ReleaseNoise:
    part, found = form(program), block_noise(program, budget, alphas)
    if set(found) != set(part.sensitive):
        raise dp.errors.InvalidArgumentError(
            "alphas must give budget to the sensitive blocks and to no other"
        )
    sizes = [getattr(part, block).places[0].size for block in part.sensitive]
    ends = [found[block] for block in part.sensitive]
    scale, support = (np.repeat([end[k] for end in ends], sizes) for k in (0, 1))
    return ReleaseNoise(program, entrywise(program).program, "blocks", Law(scale, support))
