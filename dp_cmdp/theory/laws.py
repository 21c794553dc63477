"""The laws of the noise N_k of the released entries, entry by entry.

N_k has mean 0 and lies in [−below_k, above_k]. Entry k is published as the interval that reaches
from θ_k + N_k up by below_k and down by above_k: it contains θ_k whatever N_k is. All that bounds
ask of a law are its tail P(N > t) and its excess E(N − t)⁺ = ∫_t^∞ P(N > u) du; for instance

    E min(N⁺, r) = E(N)⁺ − E(N − r)⁺,        E[N; N > t] = E(N − t)⁺ + t P(N > t).

A law can be *turned*, N → −N, so that one side is enough. The distance D = min(below + N, r) of
an interval's upper end from its value, cut by an envelope r away, has mean
below − E(N − (r − below))⁺.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from dp_cmdp._check import FloatArray
from dp_cmdp.noise.digits import ONE
from dp_cmdp.noise.optimal import OptimalNoise

BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.int64]


class Law(Protocol):
    """Independent noises, one per entry."""

    @property
    def below(self) -> FloatArray:
        """The largest −N."""
        ...

    @property
    def above(self) -> FloatArray:
        """The largest N."""
        ...

    @property
    def variance(self) -> FloatArray: ...

    def tail(self, t: FloatArray | float) -> FloatArray:
        """P(N > t)."""
        ...

    def excess(self, t: FloatArray | float) -> FloatArray:
        """E(N − t)⁺."""
        ...

    def quantile(self, uniforms: FloatArray) -> FloatArray:
        """Noise by inversion, entry by entry."""
        ...

    def facing(self, up: BoolArray) -> Self:
        """The law of N where `up` and of −N elsewhere."""
        ...

    def only(self, which: IntArray) -> Self:
        """The noise of chosen entries."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class LaplaceLaw:
    """Two-sided exponential noise of scale σ_k conditioned to [−s_k, s_k]; s_k = ∞ is allowed."""

    scale: FloatArray
    support: FloatArray

    @property
    def below(self) -> FloatArray:
        return self.support

    @property
    def above(self) -> FloatArray:
        return self.support

    @property
    def variance(self) -> FloatArray:
        decay = np.exp(-self.support / self.scale)
        s = np.where(decay > 0, self.support, 0.0)
        inner = 2 * self.scale**2 - decay * (s**2 + 2 * s * self.scale + 2 * self.scale**2)
        return np.where(self.support < 1e-4 * self.scale, s**2 / 3.0, inner / (1.0 - decay))

    def tail(self, t: FloatArray | float) -> FloatArray:
        decay = np.exp(-self.support / self.scale)
        near = np.exp(-np.minimum(np.abs(t), self.support) / self.scale)
        half = (near - decay) / (1.0 - decay) / 2
        return np.where(np.less(t, 0), 1.0 - half, half)

    def excess(self, t: FloatArray | float) -> FloatArray:
        size = np.minimum(np.abs(t), self.support)
        decay = np.exp(-self.support / self.scale)
        with np.errstate(invalid="ignore", over="ignore"):
            rest = np.where(np.isinf(self.support), np.inf, (self.support - size) / self.scale)
            lost = np.where(decay > 0, decay * (1.0 + rest), 0.0)
            small = decay * (np.expm1(np.minimum(rest, 1.0)) - rest)
        part = np.where(rest < 1.0, small, np.exp(-size / self.scale) - lost)
        found = self.scale * part / (2.0 * (1.0 - decay))
        return found + np.maximum(-np.asarray(t), 0.0)

    def quantile(self, uniforms: FloatArray) -> FloatArray:
        q = uniforms - 0.5
        inside = -np.expm1(-self.support / self.scale)
        size = -self.scale * np.log1p(-2.0 * np.abs(q) * inside)
        return np.sign(q) * np.minimum(size, self.support)

    def facing(self, up: BoolArray) -> LaplaceLaw:
        return self

    def only(self, which: IntArray) -> LaplaceLaw:
        return LaplaceLaw(self.scale[which], self.support[which])


@dataclass(frozen=True, slots=True, eq=False)
class Histogram:
    """A variable of mean 0 with constant density between neighbouring edges."""

    edges: FloatArray
    mass: FloatArray

    @classmethod
    def of(cls, noise: OptimalNoise) -> Histogram:
        """The centred law of optimal noise, in units of the sensitivity.

        A cell's mass is spread evenly over its lattice points; here over the whole cell, which
        moves nothing by more than one step.
        """
        proof = noise.certificate
        mass = np.array([weight / ONE for weight in proof.thresholds])
        edges = np.arange(mass.size + 1.0) * (proof.cell / proof.steps)
        return cls(edges - (edges[1:] + edges[:-1]) / 2 @ mass, mass)

    def turned(self) -> Histogram:
        return Histogram(-self.edges[::-1], self.mass[::-1])

    @property
    def variance(self) -> float:
        low, high = self.edges[:-1], self.edges[1:]
        return float((low**2 + low * high + high**2) @ self.mass) / 3.0

    def tail(self, t: FloatArray) -> FloatArray:
        return np.interp(t, self.edges, self._beyond())

    def excess(self, t: FloatArray) -> FloatArray:
        beyond, width = self._beyond(), np.diff(self.edges)
        areas = width * (beyond[1:] + beyond[:-1]) / 2
        rest = np.append(np.cumsum(areas[::-1])[::-1], 0.0)
        inside = np.clip(t, self.edges[0], self.edges[-1])
        cell = np.clip(np.searchsorted(self.edges, inside, side="right") - 1, 0, width.size - 1)
        part = (self.edges[cell + 1] - inside) * (self.tail(inside) + beyond[cell + 1]) / 2
        return rest[cell + 1] + part + np.maximum(self.edges[0] - t, 0.0)

    def quantile(self, uniforms: FloatArray) -> FloatArray:
        return np.interp(uniforms, 1.0 - self._beyond(), self.edges)

    def _beyond(self) -> FloatArray:
        """P(Z > edge)."""
        return np.append(np.cumsum(self.mass[::-1])[::-1], 0.0)


@dataclass(frozen=True, slots=True, eq=False)
class TableLaw:
    """N_k = unit_k Z where `up`, −unit_k Z elsewhere, Z with a common histogram."""

    table: Histogram
    unit: FloatArray
    up: BoolArray

    @property
    def below(self) -> FloatArray:
        first, last = float(self.table.edges[0]), float(self.table.edges[-1])
        return self.unit * np.where(self.up, -first, last)

    @property
    def above(self) -> FloatArray:
        first, last = float(self.table.edges[0]), float(self.table.edges[-1])
        return self.unit * np.where(self.up, last, -first)

    @property
    def variance(self) -> FloatArray:
        return self.unit**2 * self.table.variance

    def tail(self, t: FloatArray | float) -> FloatArray:
        z = t / self.unit
        return np.where(self.up, self.table.tail(z), self.table.turned().tail(z))

    def excess(self, t: FloatArray | float) -> FloatArray:
        z = t / self.unit
        sides = self.table.excess(z), self.table.turned().excess(z)
        return self.unit * np.where(self.up, *sides)

    def quantile(self, uniforms: FloatArray) -> FloatArray:
        sides = self.table.quantile(uniforms), self.table.turned().quantile(uniforms)
        return self.unit * np.where(self.up, *sides)

    def facing(self, up: BoolArray) -> TableLaw:
        return replace(self, up=self.up == up)

    def only(self, which: IntArray) -> TableLaw:
        return replace(self, unit=self.unit[which], up=self.up[which])


def end_mean(law: Law, room: FloatArray) -> FloatArray:
    """E D, D = min(below + N, room)."""
    known = np.isfinite(law.below)
    with np.errstate(invalid="ignore"):
        cut = law.excess(np.where(known, room - law.below, 0.0))
        return np.where(known, law.below - cut, room)


def end_below(law: Law, distance: FloatArray, *, room: FloatArray | float) -> FloatArray:
    """P(D ≤ distance)."""
    return np.where(distance >= room, 1.0, 1.0 - law.tail(distance - law.below))


def end_probability(law: Law, room: FloatArray) -> FloatArray:
    """P(D = room): the end reaches an envelope `room` away from the value."""
    known = np.isfinite(law.below)
    with np.errstate(invalid="ignore"):
        return np.where(known, law.tail(np.where(known, room - law.below, 0.0)), 1.0)


def mean_up_to(law: Law, room: FloatArray | float) -> FloatArray:
    """E min(N⁺, room)."""
    return law.excess(0.0) - law.excess(room)
