"""Benvenuti, Bialy, Dennis and Hale 2025: Algorithm 1, noise on A, b and c separately.

    Ã = min(A + s_A + Z, Â),   b̃ = max(b − s_b + z, b_inf),   c̃ = c + Laplace(σ_c)

Protected: A, b and c. Adjacency: one record of the database changes, each entry by at most its
radius. Guaranteed: (ε, δ)-differential privacy; every answer is feasible for the true constraints
with certainty.

Differences from the publication
1. Which entries are sensitive is public structure. The published numbers fit a little better if the
   zeros of the realised data stay zeros, which publishes the zero pattern; that variant is the
   option ``realised_mask_NOT_PRIVATE`` (see ``docs/reproduction.md``).
2. The sup of b in their b̂ is an inf, as their proof needs.
3. A bounded-change radius is allowed; the publication's adjacency is the radius "whole range".
4. Robust feasibility of the public envelope replaces their assumption ``ass:feast``, which is too
   weak for their theorem.
5. Answers are certified in exact arithmetic, after shrinking right-hand sides if need be.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dp_cmdp._door import door
from dp_cmdp.accounting.budget import Number, PrivacyBudget
from dp_cmdp.baselines.parts.blocks import solved
from dp_cmdp.baselines.parts.method import Answer, Method
from dp_cmdp.data.database import Database
from dp_cmdp.program.parametric import ParametricLP
from dp_cmdp.release.blocks import release_blocks


@door
def answer(
    program: ParametricLP,
    database: Database,
    budget: PrivacyBudget,
    *,
    rng: np.random.Generator,
    alphas: Mapping[str, Number] | None = None,
    calibration: str = "paper",
    realised_mask_NOT_PRIVATE: bool = False,
) -> Answer:
    """Algorithm 1.

    Parameters
    ----------
    alphas : mapping, optional
        Shares of ε per block; equal over the sensitive blocks by default (paper: 1/3 each).
    calibration : {"paper", "tight"}
        Support of the noise.
    realised_mask_NOT_PRIVATE : bool
        Leave the zeros of A and c unprotected, as the published numbers suggest.

    Notes
    -----
    **Paper.** ``algo:solve``, ``rem:modify``. **Privacy.** *Spends the budget*.
    """
    release = release_blocks(
        database,
        budget,
        program=program,
        alphas=program.equal_shares if alphas is None else alphas,
        rng=rng,
        calibration=calibration,
        realised_mask_NOT_PRIVATE=realised_mask_NOT_PRIVATE,
    )
    return solved(program, release)


METHOD = Method(
    name="benvenuti2025",
    label="Benvenuti et al. 2025 (Algorithm 1)",
    private=("A", "b", "c"),
    promises_feasibility=True,
    model="differential privacy",
    solver=answer,
)
