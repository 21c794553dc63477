"""How far a release may move the data it protects, known before any of it is read.

Entry k is published as θ_k + N_k with noise N_k in [−below_k, above_k] of known law
(:mod:`dp_cmdp.theory.laws`), and as the interval [θ_k + N_k − above_k, θ_k + N_k + below_k] cut to
the envelope [lo_k, hi_k]. Everything the bounds and the adviser need follows from that law:

* every released interval lies inside the *worst box* [θ_k ± (below_k + above_k)] ∩ [lo_k, hi_k];
* an upper end reaches the envelope with probability P(N_k ≥ (hi_k − θ_k) − below_k);
* the error e_k of the (clipped) estimate has E e_k⁺ = ∫_0^a P(N_k > t) dt, a = hi_k − θ_k.

For truncated Laplace noise below_k = above_k = s_k; plain Laplace noise has s_k = ∞.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dp_cmdp import _check
from dp_cmdp._check import FloatArray
from dp_cmdp.accounting.budget import BLOCKS, Number, PrivacyBudget, Share, allocate
from dp_cmdp.data.envelope import Envelope
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.noise.laws import CALIBRATIONS, Laplace, TruncatedLaplace
from dp_cmdp.noise.optimal import OptimalNoise
from dp_cmdp.noise.plans import LatticeBounded, Query, truncated_plan
from dp_cmdp.program.entrywise import entry_values, entrywise
from dp_cmdp.program.parametric import ParametricLP
from dp_cmdp.release.entries import close_ends
from dp_cmdp.theory.laws import (
    BoolArray,
    Histogram,
    LaplaceLaw,
    Law,
    TableLaw,
    end_mean,
    end_probability,
    mean_up_to,
)

MECHANISMS = ("database", "blocks")
#: Relative room for the rounding of released numbers: lattice steps are below 2^-18 of a radius.
LATTICE_ROUNDING = 2.0**-16


@dataclass(frozen=True, slots=True, eq=False)
class ReleaseNoise:
    """The noise of a release that has not been made yet.

    Attributes
    ----------
    program : ParametricLP
        The program whose database entries are released.
    target : ParametricLP
        The program over the released entries: `program` itself, or its entrywise form.
    mechanism : {"database", "blocks"}
    law : Law
        The noise of every released entry, in its own units.

    Notes
    -----
    **Privacy.** *Public*: it depends on structure, envelope and budget only.

    Examples
    --------
    >>> import numpy as np
    >>> from dp_cmdp import Affine, Envelope, ParametricLP, PrivacyBudget
    >>> from dp_cmdp.theory.release_noise import release_noise
    >>> price = Affine((1, 2), at=([0, 0], [0, 1]), entry=[0, 1])
    >>> program = ParametricLP(Envelope(1, 2, radius=0.02, shape=2), c=[3, 2], A=price, b=[8])
    >>> noise = release_noise(program, PrivacyBudget(1, "1/1000"))
    >>> lower, upper = noise.worst_box(np.array([1.5, 1.5]))
    >>> lower.round(2), upper.round(2)  # every box that could be released lies in this one
    (array([1.23, 1.23]), array([1.77, 1.77]))
    """

    program: ParametricLP
    target: ParametricLP
    mechanism: str
    law: Law

    @property
    def size(self) -> int:
        """Number of released entries."""
        return self.envelope.num_entries

    @property
    def support(self) -> FloatArray:
        """Half the width of a released interval that no envelope cuts."""
        return (self.law.below + self.law.above) / 2.0

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
        lower = np.clip(estimate - self.law.above, low, high)
        upper = np.clip(estimate + self.law.below, low, high)
        kept = np.clip(estimate, low, high) if self.mechanism == "database" else estimate
        return lower, upper, kept

    def worst_box(self, entries: FloatArray) -> tuple[FloatArray, FloatArray]:
        """A box that contains every released box."""
        far = 2.0 * self.support * (1.0 + LATTICE_ROUNDING) + 2.0**-48 * np.abs(entries)
        low, high = self.envelope.lower, self.envelope.upper
        return np.clip(entries - far, low, high), np.clip(entries + far, low, high)

    def mean_box(self, entries: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean lower and upper ends of the released intervals."""
        up, down = self.room(entries)
        return entries - end_mean(self.ends(up=False), down), entries + end_mean(self.law, up)

    def ends(self, *, up: BoolArray | bool) -> Law:
        """The law whose distance D is that of the upper end, or of the lower one."""
        return self.law.facing(np.broadcast_to(up, self.size))

    def saturation(self, room: FloatArray) -> tuple[FloatArray, FloatArray]:
        """P(the lower, the upper end of an interval reaches a bound that is `room` away)."""
        return end_probability(self.ends(up=False), room), end_probability(self.law, room)

    def noise(self, uniforms: FloatArray) -> FloatArray:
        """Noise by inversion, entry by entry: common random numbers over ε and δ."""
        return self.law.quantile(uniforms)

    def in_rows(self) -> NDArray[np.bool_]:
        """Which released entries a sensitive row reads."""
        read = np.zeros(self.size, dtype=bool)
        read[self.target.A.entry] = True
        read[self.target.b.entry] = True
        return read

    def room(self, entries: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Distance from the values up and down to the envelope."""
        return self.envelope.upper - entries, entries - self.envelope.lower

    def error_room(self, entries: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Where the estimates are cut: nowhere for blocks."""
        if self.mechanism == "database":
            return self.room(entries)
        everywhere = np.full(entries.size, np.inf)
        return everywhere, everywhere

    def error_means(self, entries: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(E e⁺, E e⁻) of the estimates."""
        up, down = self.error_room(entries)
        return mean_up_to(self.law, up), mean_up_to(self.ends(up=False), down)

    def error_limits(self, entries: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The largest e⁺ and e⁻ that can occur."""
        up, down = self.error_room(entries)
        above, below = (end * (1.0 + LATTICE_ROUNDING) for end in (self.law.above, self.law.below))
        return np.minimum(up, above), np.minimum(down, below)


def release_noise(
    program: ParametricLP,
    budget: PrivacyBudget,
    *,
    mechanism: str = "database",
    alphas: Mapping[str, Number] | None = None,
    calibration: str | None = None,
    close: str | Mapping[str, str] = "upper",
    radius: ArrayLike | None = None,
) -> ReleaseNoise:
    """The noise that a release of this program's database would carry.

    Parameters
    ----------
    program : ParametricLP
    budget : PrivacyBudget
    mechanism : {"database", "blocks"}
        :func:`~dp_cmdp.release.entries.release_database` or
        :func:`~dp_cmdp.release.blocks.release_blocks`.
    alphas : mapping, optional
        Shares of ε (blocks only); equal shares of the sensitive blocks by default.
    calibration : {"tight", "paper", "optimal"}, optional
        ``tight`` for a database and ``paper`` for blocks by default, as in the releases;
        ``optimal`` for a database only.
    close : {"upper", "lower"} or mapping
        For ``optimal``, see :func:`~dp_cmdp.release.entries.release_database`.
    radius : array_like, optional
        Radius per database entry instead of the envelope's, to see what it would change.

    Notes
    -----
    **Paper.** ``lem:matrix_lap``, ``lem:vec_lap``, ``lem:lap_mech``, ``algo:solve``.
    **Privacy.** *Public*.

    Examples
    --------
    >>> from dp_cmdp import Affine, Envelope, ParametricLP, PrivacyBudget
    >>> from dp_cmdp.theory.release_noise import release_noise
    >>> price = Affine((1, 2), at=([0, 0], [0, 1]), entry=[0, 1])
    >>> program = ParametricLP(Envelope(1, 2, radius=0.02, shape=2), c=[3, 2], A=price, b=[8])
    >>> noise = release_noise(program, PrivacyBudget(1, "1/1000"))
    >>> noise.support.round(3)  # half the width of an interval, before there is one
    array([0.135, 0.135])
    """
    _check.one_of("mechanism", mechanism, MECHANISMS)
    envelope = program.envelope
    rad = envelope.radius if radius is None else _check.vector("radius", radius)
    rad = np.broadcast_to(rad, envelope.lower.shape)
    usual = "tight" if mechanism == "database" else "paper"
    kind = usual if calibration is None else calibration
    known = (*CALIBRATIONS, "optimal") if mechanism == "database" else CALIBRATIONS
    _check.one_of("calibration", kind, known)
    if mechanism == "blocks":
        return _blocks(program, allocate(budget, alphas or program.equal_shares), kind, rad)
    if alphas is not None:
        raise InvalidArgumentError("alphas belongs to blocks; a database release has one budget")
    if kind == "optimal":
        law = _optimal_law(envelope, budget, radius=rad, close=close)
        return ReleaseNoise(program, program, mechanism, law)
    law = TruncatedLaplace.calibrate(
        float(envelope.record_size),
        budget.epsilon,
        delta=budget.delta,
        calibration=kind,
        num_entries=envelope.num_entries,
        record_size=envelope.record_size,
    )
    return ReleaseNoise(program, program, mechanism, LaplaceLaw(law.scale * rad, law.support * rad))


def _optimal_law(
    envelope: Envelope,
    budget: PrivacyBudget,
    *,
    radius: FloatArray,
    close: str | Mapping[str, str],
) -> TableLaw:
    """The noise of ``calibration="optimal"``, from the plan of the release itself."""
    up = close_ends(envelope, close)
    plan = truncated_plan(
        Query.of_entries(envelope, radius=radius),
        epsilon=budget.epsilon,
        delta=budget.delta,
        calibration="optimal",
        num_entries=envelope.num_entries,
        high=up,
        rng=None,
    )
    assert isinstance(plan, LatticeBounded)
    assert isinstance(plan.noise, OptimalNoise)
    return TableLaw(Histogram.of(plan.noise), radius, up)


def _blocks(
    program: ParametricLP, shares: Mapping[str, Share], calibration: str, radius: FloatArray
) -> ReleaseNoise:
    target = entrywise(program)
    m, n = program.A.shape[0] + program.b_ub.size, program.num_variables
    counts = {"A": m * n, "b": m}
    scale: list[FloatArray] = []
    support: list[FloatArray] = []
    for block in BLOCKS:
        part, share = getattr(program, block), shares[block]
        if part.is_public != (share.epsilon == 0):
            raise InvalidArgumentError(
                f"alphas must give budget to the sensitive blocks and to no other; check {block}"
            )
        if part.is_public:
            continue
        size = int(part.sensitive()[0].size)
        unit = part.sensitivity(radius, program.envelope.records)
        if block == "c":
            sigma, s = Laplace.calibrate(unit, share.epsilon).scale, np.inf
        else:
            law = TruncatedLaplace.calibrate(
                unit,
                share.epsilon,
                delta=share.delta,
                calibration=calibration,
                num_entries=counts[block],
            )
            sigma, s = law.scale, law.support
        scale.append(np.full(size, sigma, dtype=np.float64))
        support.append(np.full(size, s, dtype=np.float64))
    law = LaplaceLaw(np.concatenate(scale), np.concatenate(support))
    return ReleaseNoise(program, target, "blocks", law)
