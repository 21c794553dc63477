"""Reference: Algorithm 1 with untruncated Laplace noise, shifted in the same way.

    Ã = min(A + s_A + Z, Â),   b̃ = max(b − s_b + z, b_inf),   c̃ = c + Laplace(σ_c)

with s and σ those of Algorithm 1 and Z, z Laplace(σ) on the whole line. An entry is on the wrong
side of the truth with probability e^(−s/σ)/2: what truncation is for. Rows with many private
entries average that out and are violated rarely; ``shift=0`` is Laplace noise and nothing else,
which violates about every second tight row.

Protected: A, b and c. Adjacency: one record changes, each entry by at most its radius. Guaranteed:
(ε, 0)-differential privacy (δ only sets the shift); no feasibility.

Differences from the publication
1. It has none: a reference.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dp_cmdp import _check
from dp_cmdp._door import door
from dp_cmdp.accounting.budget import Number, PrivacyBudget, allocate
from dp_cmdp.baselines.parts.blocks import (
    BlockNoise,
    plain_noise,
    publish_blocks,
    shifted_noise,
    solved,
)
from dp_cmdp.baselines.parts.method import Answer, Method
from dp_cmdp.data.database import Database
from dp_cmdp.program.parametric import ParametricLP


@door
def answer(
    program: ParametricLP,
    database: Database,
    budget: PrivacyBudget,
    *,
    rng: np.random.Generator,
    alphas: Mapping[str, Number] | None = None,
    shift: float = 1.0,
) -> Answer:
    """Algorithm 1 without truncation.

    Parameters
    ----------
    alphas : mapping, optional
        Shares of ε per block; equal over the sensitive blocks by default.
    shift : float
        How much of the shift s is made; 0 is plain Laplace noise.

    Notes
    -----
    **Privacy.** *Spends the budget*.
    """
    _check.real("shift", shift, low=0.0)
    shares = allocate(budget, program.equal_shares if alphas is None else alphas)
    rows = program.A.shape[0] + program.b_ub.size
    num_entries = {"A": rows * program.num_variables, "b": rows}
    noise: dict[str, BlockNoise] = {}
    for block, share in shares.items():
        if share.epsilon == 0:
            continue
        if block == "c":
            noise[block] = plain_noise(program, block, share=share, rng=rng)
        else:
            noise[block] = shifted_noise(
                program,
                block,
                share=share,
                num_entries=num_entries[block],
                truncated=False,
                shift=shift,
                rng=rng,
            )
    return solved(program, publish_blocks(program, database, budget, noise=noise))


METHOD = Method(
    name="laplace",
    label="Untruncated Laplace, shifted",
    private=("A", "b", "c"),
    promises_feasibility=False,
    model="differential privacy",
    solver=answer,
)
