"""Releases of A, b and c in which each block is treated in its own way.

Several systems of the comparison are Algorithm 1 with some blocks left unprotected or with another
noise: they differ in the intervals of each block only, so they share everything that follows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from dp_cmdp._check import FloatArray
from dp_cmdp.accounting.budget import PrivacyBudget, Share
from dp_cmdp.baselines.parts.method import Answer
from dp_cmdp.data.database import Database
from dp_cmdp.data.envelope import Envelope
from dp_cmdp.data.release import Guarantee, Noise, Release, unprotected
from dp_cmdp.noise.laws import Laplace, TruncatedLaplace
from dp_cmdp.noise.plans import Intervals
from dp_cmdp.program.entrywise import entry_values, entrywise
from dp_cmdp.program.parametric import ParametricLP
from dp_cmdp.release.block_plans import block_rounding
from dp_cmdp.release.solve import solve_private

#: Noisy intervals of the true entries of one block.
BlockNoise = Callable[[FloatArray], Intervals]


def publish_blocks(
    program: ParametricLP,
    database: Database,
    budget: PrivacyBudget,
    *,
    noise: Mapping[str, BlockNoise],
) -> Release:
    """A release of A, b, c: the blocks in `noise` perturbed by it, the others unprotected.

    Notes
    -----
    **Privacy.** *Spends the budget* on the blocks in `noise`; the Release names the others in
    its ``leaks``.
    """
    envelope = entrywise(program).envelope
    values = entry_values(program, database.values)
    parts: list[Intervals] = []
    leaks: list[str] = []
    for block in program.sensitive_blocks:
        if block in noise:
            drawn = noise[block](values[block]).widened(block_rounding(program, block))
            parts.append(drawn.clipped(*block_bounds(envelope, block)))
        else:
            parts.append(_unprotected(program, block, database.values, values[block]))
            leaks.append(unprotected(block))
    return Release(
        estimate=np.concatenate([part.estimate for part in parts]),
        lower=np.concatenate([part.lower for part in parts]),
        upper=np.concatenate([part.upper for part in parts]),
        guarantee=Guarantee(budget.epsilon, budget.delta, program.envelope.record_size),
        method="blocks",
        groups=envelope.groups,
        noise=tuple(part.noise for part in parts),
        secure=False,
        leaks=tuple(leaks),
    )


def solved(program: ParametricLP, release: Release) -> Answer:
    """The answer for what was published; its note names what leaks.

    Notes
    -----
    **Privacy.** *Post-processing*.
    """
    x = solve_private(program, release).x
    return Answer(x, converged=True, note="; ".join(release.leaks), release=release)


def _unprotected(
    program: ParametricLP, block: str, theta: FloatArray, values: FloatArray
) -> Intervals:
    """True entries, as intervals that hold them however their sums were rounded: NOT PRIVATE."""
    lower, upper = getattr(program, block).bounds(theta, theta)
    return Intervals(values, lower, upper, Noise(block, "none", "none", 0.0, 0.0))


def block_bounds(envelope: Envelope, block: str) -> tuple[FloatArray, FloatArray]:
    """Public bounds of the entries of one block of an entrywise program."""
    index = envelope.index(block)
    return envelope.lower[index], envelope.upper[index]


def shifted_noise(
    program: ParametricLP,
    block: str,
    *,
    share: Share,
    num_entries: int,
    truncated: bool,
    shift: float = 1.0,
    rng: np.random.Generator,
) -> BlockNoise:
    """Noise of one block, with intervals of the half-width s = σ ln(1 + k(e^ε − 1)/δ).

    Parameters
    ----------
    num_entries : int
        k of the support's formula.
    truncated : bool
        Truncated Laplace noise on [−s, s]: the intervals contain the truth with certainty.
        Otherwise Laplace noise with the same σ, shifted by the same s: they may miss it.
    shift : float
        Half-width of the intervals as a multiple of s.
    """
    unit = program.sensitivity(block)
    law = TruncatedLaplace.calibrate(
        unit, share.epsilon, delta=share.delta, calibration="paper", num_entries=num_entries
    )
    drawn = law if truncated else Laplace(law.scale)
    name = "truncated Laplace (float)" if truncated else "Laplace (float)"
    half_width = shift * law.support

    def perturb(values: FloatArray) -> Intervals:
        estimate = values + drawn.sample(rng, values.size)
        pad = 2.0**-50 * (np.abs(estimate) + half_width)  # more than the rounding of the sums
        return Intervals(
            estimate,
            estimate - half_width - pad,
            estimate + half_width + pad,
            Noise(block, name, "paper", law.scale, law.support if truncated else None),
        )

    return perturb


def plain_noise(
    program: ParametricLP, block: str, *, share: Share, rng: np.random.Generator
) -> BlockNoise:
    """Laplace noise of one block, no interval: what every system does to an objective."""
    law = Laplace.calibrate(program.sensitivity(block), share.epsilon)

    def perturb(values: FloatArray) -> Intervals:
        estimate = values + law.sample(rng, values.size)
        everywhere = np.full(values.size, np.inf)
        noise = Noise(block, "Laplace (float)", "pure", law.scale, None)
        return Intervals(estimate, -everywhere, everywhere, noise)

    return perturb
