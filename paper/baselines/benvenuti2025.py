"""Benvenuti, Bialy, Dennis and Hale 2025: Algorithm 1, noise on A, b and c separately.

    Ã = min(A + s_A + Z, Â),   b̃ = max(b − s_b + z, b_inf),   c̃ = c + Laplace(σ_c)

Protected: A, b and c. Adjacency: one record of the database changes, each entry by at most its
radius. Guaranteed: (ε, δ)-differential privacy; every answer is feasible with certainty.

Differences from the publication
1. Which entries are sensitive is public structure. The published numbers fit a little better if the
   zeros of the realised data stay zeros, which publishes the zero pattern; that variant is the
   option ``realised_mask_NOT_PRIVATE`` (see ``docs/reproduction.md``).
2. The sup of b in their b̂ is an inf, as their proof needs.
3. A bounded-change radius is allowed; the publication's adjacency is the radius "whole range".
4. Robust feasibility of the public envelope replaces their assumption ``ass:feast``, which is too
   weak for their theorem.
5. Entries of a block that a record moves by different amounts carry noise in proportion.
6. Answers are certified in exact arithmetic.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from paper.baselines.method import Answer, Method, Task
from paper.baselines.perturb import perturbed
from paper.blocks import equal_shares


def answer(
    task: Task,
    *,
    alphas: Mapping[str, Fraction] | None = None,
    realised_mask_NOT_PRIVATE: bool = False,
) -> Answer:
    """Algorithm 1 (``algo:solve``, ``rem:modify``).

    Parameters
    ----------
    alphas : mapping, optional
        Shares of ε per block; equal over the sensitive blocks by default (paper: 1/3 each).
    realised_mask_NOT_PRIVATE : bool
        Leave the zeros of A and c unprotected, as the published numbers suggest.
    """
    return perturbed(
        task,
        alphas=alphas or equal_shares(task.part),
        realised_mask_NOT_PRIVATE=realised_mask_NOT_PRIVATE,
    )


METHOD = Method("benvenuti2025", private="Abc", promises_feasibility=True, solver=answer)
