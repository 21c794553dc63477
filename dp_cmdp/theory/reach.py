"""How far a release may move the data it protects, known before any of it is read.

Entry k is published as θ_k + N_k with N_k two-sided exponential noise of scale σ_k conditioned to
[−s_k, s_k] (s_k = ∞ for plain Laplace noise), and as the interval [θ_k + N_k ± s_k] cut to the
envelope [lo_k, hi_k]. Everything the bounds and the adviser need follows from (σ_k, s_k):

* every released interval lies inside the *worst box* [θ_k − 2s_k, θ_k + 2s_k] ∩ [lo_k, hi_k];
* with probability 1 − β all of them lie inside [θ_k ± (s_k + q_k)], P(|N_k| ≤ q_k)^K = 1 − β;
* an end of an interval reaches the envelope with probability P(N_k ≥ (hi_k − θ_k) − s_k);
* the error e_k of the (clipped) estimate has E e_k⁺ = ∫_0^a P(N_k > t) dt, a = hi_k − θ_k.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dp_cmdp import _check
from dp_cmdp._check import FloatArray
from dp_cmdp.entrywise import entry_values, entrywise
from dp_cmdp.envelope import Envelope
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.mechanisms import CALIBRATIONS, Laplace, TruncatedLaplace
from dp_cmdp.parametric import BLOCKS, ParametricLP
from dp_cmdp.privacy import Number, PrivacyBudget, Share, allocate

MECHANISMS = ("database", "blocks")
#: Relative room for the rounding of released numbers: lattice steps are below 2^-18 of a radius.
ROUNDING = 2.0**-16


@dataclass(frozen=True, slots=True, eq=False)
class Reach:
    """The noise of a release that has not been made yet.

    Attributes
    ----------
    program : ParametricLP
        The program whose database entries are released.
    target : ParametricLP
        The program over the released entries: `program` itself, or its entrywise form.
    mechanism : {"database", "blocks"}
    scale, support : FloatArray
        σ_k and s_k of every released entry, in its own units; s_k = ∞ without truncation.

    Notes
    -----
    **Privacy.** Public: it depends on structure, envelope and budget only.
    """

    program: ParametricLP
    target: ParametricLP
    mechanism: str
    scale: FloatArray
    support: FloatArray

    @property
    def envelope(self) -> Envelope:
        return self.target.envelope

    def entries(self, values: ArrayLike) -> FloatArray:
        """The released entries at given database values: *curator only* when those are true."""
        size = self.program.envelope.num_entries
        theta = _check.vector("values", values, size=size, private=True)
        if self.mechanism == "database":
            return theta
        parts = entry_values(self.program, theta)
        return np.concatenate([parts[block] for block in BLOCKS])

    def box(
        self, entries: FloatArray, noise: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """(lower, upper, estimate) that a release with this noise would publish."""
        low, high = self.envelope.lower, self.envelope.upper
        estimate = entries + noise
        lower = np.clip(estimate - self.support, low, high)
        upper = np.clip(estimate + self.support, low, high)
        kept = np.clip(estimate, low, high) if self.mechanism == "database" else estimate
        return lower, upper, kept

    def worst_box(
        self, entries: FloatArray, *, failure: float = 0.0
    ) -> tuple[FloatArray, FloatArray]:
        """A box that contains every released box with probability at least 1 − `failure`."""
        far = self.support + self.quantile(failure)
        far = far * (1.0 + ROUNDING) + 2.0**-48 * np.abs(entries)
        low, high = self.envelope.lower, self.envelope.upper
        return np.clip(entries - far, low, high), np.clip(entries + far, low, high)

    def quantile(self, failure: float) -> FloatArray:
        """q_k with P(|N_k| ≤ q_k for every entry that a row reads) = 1 − `failure`."""
        if failure == 0.0:
            return self.support
        count = max(1, int(self.in_rows().sum()))
        return self.noise(np.full(self.scale.size, (1.0 + (1.0 - failure) ** (1.0 / count)) / 2.0))

    def noise(self, uniforms: FloatArray) -> FloatArray:
        """Noise by inversion, entry by entry: common random numbers over ε and δ."""
        q = uniforms - 0.5
        inside = -np.expm1(-self.support / self.scale)
        size = -self.scale * np.log1p(-2.0 * np.abs(q) * inside)
        return np.sign(q) * np.minimum(size, self.support)

    def in_rows(self) -> NDArray[np.bool_]:
        """Which released entries a sensitive row reads."""
        read = np.zeros(self.scale.size, dtype=bool)
        read[self.target.A.entry] = True
        read[self.target.b.entry] = True
        return read

    def error_means(self, entries: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(E e⁺, E e⁻) of the estimates."""
        up, down = self._room(entries)
        return self._mean_up_to(up), self._mean_up_to(down)

    def error_limits(self, entries: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The largest e⁺ and e⁻ that can occur."""
        up, down = self._room(entries)
        return np.minimum(up, self.support), np.minimum(down, self.support)

    def _room(self, entries: FloatArray) -> tuple[FloatArray, FloatArray]:
        if self.mechanism == "blocks":
            everywhere = np.full(entries.size, np.inf)
            return everywhere, everywhere
        return self.envelope.upper - entries, entries - self.envelope.lower

    def _mean_up_to(self, room: FloatArray | float) -> FloatArray:
        """E min(N⁺, room) = ∫_0^room P(N > t) dt."""
        top = np.minimum(room, self.support)
        tail = np.exp(-self.support / self.scale)
        lost = np.where(tail > 0, np.where(np.isfinite(top), top, 0.0) * tail, 0.0)
        return (-self.scale * np.expm1(-top / self.scale) - lost) / (2.0 * (1.0 - tail))

    def end_mean(self, room: FloatArray) -> FloatArray:
        """Mean distance E min(s + N, room) of an interval's end from its value."""
        with np.errstate(invalid="ignore"):
            a = np.where(np.isinf(self.support), np.inf, room - self.support)
            above = self._mean_up_to(np.inf) - self._mean_up_to(np.maximum(a, 0.0))
            below = self._mean_up_to(np.inf) - self._mean_up_to(np.maximum(-a, 0.0))
            # E min(N, a) = −E(N − a)⁺ for a ≥ 0, and a − E(a − N)⁺ otherwise
            shift = np.where(a >= 0, -above, a - below)
            return np.where(np.isinf(self.support), room, self.support + shift)

    def only(self, which: NDArray[np.int64]) -> Reach:
        """The noise of some of the entries; for distributions only, `target` stays as it is."""
        return replace(self, scale=self.scale[which], support=self.support[which])

    def end_below(self, distance: FloatArray, room: FloatArray | float) -> FloatArray:
        """P(min(s + N, room) ≤ distance)."""
        return np.where(distance >= room, 1.0, 1.0 - self._tail(distance - self.support))

    def variance(self) -> FloatArray:
        """Variance of the noise; clipping can only reduce it."""
        decay = np.exp(-self.support / self.scale)
        s = np.where(decay > 0, self.support, 0.0)
        inner = 2 * self.scale**2 - decay * (s**2 + 2 * s * self.scale + 2 * self.scale**2)
        return np.where(self.support < 1e-4 * self.scale, s**2 / 3.0, inner / (1.0 - decay))

    def excess(
        self,
        entries: FloatArray,
        which: NDArray[np.int64],
        *,
        threshold: FloatArray,
        sign: FloatArray,
    ) -> tuple[FloatArray, FloatArray]:
        """E(±e_k − a)⁺ and P(±e_k > a) for chosen entries k and thresholds a."""
        part = self.only(which)
        up, down = (room[which] for room in self._room(entries))
        front, back = np.where(sign > 0, up, down), np.where(sign > 0, down, up)
        ahead = part._mean_up_to(front)
        beyond = ahead - part._mean_up_to(np.clip(threshold, 0.0, front))
        behind = part._mean_up_to(back) - part._mean_up_to(np.clip(-threshold, 0.0, back))
        mean = np.where(threshold >= 0, beyond, ahead - part._mean_up_to(back) - threshold + behind)
        chance = part._tail(threshold)
        return mean, np.where(threshold >= front, 0.0, np.where(threshold < -back, 1.0, chance))

    def _tail(self, t: FloatArray) -> FloatArray:
        """P(N > t)."""
        tail = np.exp(-self.support / self.scale)
        half = (np.exp(-np.minimum(np.abs(t), self.support) / self.scale) - tail) / (1.0 - tail) / 2
        return np.where(t < 0, 1.0 - half, half)

    def end_probability(self, room: FloatArray) -> FloatArray:
        """P(an interval's end reaches an envelope bound that is `room` away from the value)."""
        with np.errstate(invalid="ignore"):
            return np.where(np.isinf(self.support), 1.0, self._tail(room - self.support))


def reach(
    program: ParametricLP,
    budget: PrivacyBudget,
    *,
    mechanism: str = "database",
    alphas: Mapping[str, Number] | None = None,
    calibration: str | None = None,
    radius: ArrayLike | None = None,
) -> Reach:
    """The noise that a release of this program's database would carry.

    Parameters
    ----------
    program : ParametricLP
    budget : PrivacyBudget
    mechanism : {"database", "blocks"}
        :func:`~dp_cmdp.privatizer.release_database` or
        :func:`~dp_cmdp.privatizer.release_blocks`.
    alphas : mapping, optional
        Shares of ε (blocks only); equal shares of the sensitive blocks by default.
    calibration : {"tight", "paper"}, optional
        ``tight`` for a database and ``paper`` for blocks by default, as in the releases.
    radius : array_like, optional
        Radius per database entry instead of the envelope's, to see what it would change.

    Notes
    -----
    **Paper.** ``lem:matrix_lap``, ``lem:vec_lap``, ``lem:lap_mech``, ``algo:solve``.
    **Privacy.** Public.
    """
    _check.one_of("mechanism", mechanism, MECHANISMS)
    envelope = program.envelope
    rad = envelope.radius if radius is None else _check.vector("radius", radius)
    rad = np.broadcast_to(rad, envelope.lower.shape)
    kind = calibration or ("tight" if mechanism == "database" else "paper")
    _check.one_of("calibration", kind, CALIBRATIONS)
    if mechanism == "blocks":
        return _blocks(program, allocate(budget, alphas or equal_split(program)), kind, rad)
    if alphas is not None:
        raise InvalidArgumentError("alphas belongs to blocks; a database release has one budget")
    law = TruncatedLaplace.calibrate(
        float(envelope.largest_record),
        budget.epsilon,
        delta=budget.delta,
        calibration=kind,
        entries=envelope.num_entries,
        together=envelope.largest_record,
    )
    return Reach(program, program, mechanism, law.scale * rad, law.support * rad)


def equal_split(program: ParametricLP) -> dict[str, Number]:
    """Equal shares of ε for the sensitive blocks of a program."""
    used = [block for block in BLOCKS if not getattr(program, block).is_public]
    return {block: f"1/{len(used)}" for block in used}


def _blocks(
    program: ParametricLP, shares: Mapping[str, Share], calibration: str, radius: FloatArray
) -> Reach:
    target = entrywise(program)
    m, n = program.A.shape[0] + program.b_ub.size, program.num_variables
    counts = {"A": m * n, "b": m}
    scale, support = [], []
    for block in BLOCKS:
        part, share = getattr(program, block), shares[block]
        if part.is_public != (share.epsilon == 0):
            raise InvalidArgumentError(
                f"alphas must give budget to the sensitive blocks and to no other; check {block}"
            )
        if part.is_public:
            continue
        size = part.sensitive()[0].size
        unit = part.sensitivity(radius, program.envelope.records)
        if block == "c":
            sigma, s = Laplace.calibrate(unit, share.epsilon).scale, np.inf
        else:
            law = TruncatedLaplace.calibrate(
                unit,
                share.epsilon,
                delta=share.delta,
                calibration=calibration,
                entries=counts[block],
            )
            sigma, s = law.scale, law.support
        scale.append(np.full(size, sigma))
        support.append(np.full(size, s))
    return Reach(program, target, "blocks", np.concatenate(scale), np.concatenate(support))
