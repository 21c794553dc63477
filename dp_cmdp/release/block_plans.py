"""Noise for the blocks A, b and c of Algorithm 1, planned from public data alone."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import numpy as np

from dp_cmdp._check import FloatArray
from dp_cmdp.accounting.budget import Share
from dp_cmdp.data.affine import Affine
from dp_cmdp.data.release import unprotected
from dp_cmdp.errors import InvalidArgumentError, PrivacyLeakError
from dp_cmdp.noise.movement import Movement
from dp_cmdp.noise.plans import NoisePlan, Query, Unprotected, laplace_plan, truncated_plan
from dp_cmdp.program.entrywise import entrywise
from dp_cmdp.program.parametric import ParametricLP


def plan_block(
    program: ParametricLP,
    block: str,
    *,
    share: Share,
    calibration: str,
    rng: np.random.Generator | None,
) -> NoisePlan:
    """Noise of one block of Algorithm 1, from public data."""
    if share.epsilon == 0:
        return Unprotected()
    query = _block_query(program, block)
    if block == "c":
        return laplace_plan(query, epsilon=share.epsilon, rng=rng)
    m, n = program.A.shape[0] + program.b_ub.size, program.num_variables
    return truncated_plan(
        query,
        epsilon=share.epsilon,
        delta=share.delta,
        calibration=calibration,
        num_entries=m * n if block == "A" else m,
        rng=rng,
    )


@lru_cache(maxsize=64)
def _block_query(program: ParametricLP, block: str) -> Query:
    """Sensitivity and bounds of the sensitive entries of one block: public data only."""
    part: Affine = getattr(program, block)
    low, high = part.bounds(program.envelope.lower, program.envelope.upper)
    movement = Movement.of_block(part, program.envelope)
    unit = np.full(low.size, movement.total)
    return Query(unit, np.maximum(np.abs(low), np.abs(high)), movement)


def block_rounding(program: ParametricLP, block: str) -> FloatArray:
    """How far the float entries of a block may be from the real ones: public data only."""
    part: Affine = getattr(program, block)
    return part.rounding(program.envelope.lower, program.envelope.upper)


@lru_cache(maxsize=32)
def checked_entrywise(program: ParametricLP) -> ParametricLP:
    """The entrywise program, once its assumptions are known to hold: public data only."""
    target = entrywise(program)
    target.check_robust_feasibility()
    target.check_boundedness(any_objective=True)
    return target


def unprotected_blocks(
    program: ParametricLP, shares: Mapping[str, Share], *, allow_leak: bool
) -> tuple[str, ...]:
    """Sensitive blocks that got no budget: refused unless allowed, and then named."""
    sensitive = program.sensitive_blocks
    for block, share in shares.items():
        if share.epsilon > 0 and block not in sensitive:
            raise InvalidArgumentError(
                f"alphas gives budget to block {block}, which is public here; set it to 0"
            )
    blocks = tuple(block for block in sensitive if shares[block].epsilon == 0)
    if blocks and not allow_leak:
        raise PrivacyLeakError(
            f"block {', '.join(blocks)} reads the database but has no budget: give it a share in "
            "alphas, or say allow_leak=True to publish it unprotected"
        )
    return tuple(map(unprotected, blocks))
