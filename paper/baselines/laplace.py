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

from paper.baselines.method import Answer, Method, Task
from paper.baselines.perturb import perturbed
from paper.blocks import equal_shares


def answer(task: Task, *, shift: float = 1.0) -> Answer:
    """Algorithm 1 without truncation, shifted by `shift`·s; 0 is plain Laplace noise."""
    return perturbed(task, alphas=equal_shares(task.part), truncated=False, shift=shift)


METHOD = Method(
    name="laplace",
    label="Untruncated Laplace, shifted",
    private=("A", "b", "c"),
    promises_feasibility=False,
    solver=answer,
)
