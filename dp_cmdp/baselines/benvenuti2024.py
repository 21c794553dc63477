"""Benvenuti et al. 2024: truncated Laplace noise on the entries of A, nothing else.

    Ã = min(A + s + Z, Â) entrywise,   s = σ ln(1 + k(e^ε − 1)/δ),   σ = Δ_A/ε

Protected: A. b and c are read as they are: where they depend on the database they leak it (the
answer's note and its Release say so). Adjacency: entries of A move by at most Δ_A in total.
Guaranteed: (ε, δ)-differential privacy of A; every answer is feasible with certainty.

Differences from the publication
1. k counts all m·n entries of A, zeros included, as in the 2025 paper's accounting.
2. Its convex objective is linear here.
3. The mask of sensitive entries is public structure, never the realised zero pattern.
4. Answers are certified in exact arithmetic.
"""

from __future__ import annotations

import numpy as np

from dp_cmdp._door import door
from dp_cmdp.accounting.budget import PrivacyBudget, allocate
from dp_cmdp.baselines.parts.blocks import BlockNoise, publish_blocks, shifted_noise, solved
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
) -> Answer:
    """Perturb A, solve with the true b and c.

    Notes
    -----
    **Privacy.** *Spends the budget* on A; leaks what b and c read.
    """
    noise: dict[str, BlockNoise] = {}
    if "A" in program.sensitive_blocks:
        rows = program.A.shape[0] + program.b_ub.size
        noise["A"] = shifted_noise(
            program,
            "A",
            share=allocate(budget, {"A": 1})["A"],
            num_entries=rows * program.num_variables,
            truncated=True,
            rng=rng,
        )
    return solved(program, publish_blocks(program, database, budget, noise=noise))


METHOD = Method(
    name="benvenuti2024",
    label="Benvenuti et al. 2024",
    private=("A",),
    promises_feasibility=True,
    model="differential privacy",
    solver=answer,
)
