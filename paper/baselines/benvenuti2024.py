"""Benvenuti et al. 2024: truncated Laplace noise on the entries of A, nothing else.

    Ã = min(A + s + Z, Â) entrywise,   s = σ ln(1 + k(e^ε − 1)/δ),   σ = Δ_A/ε

Protected: A. b and c are read as they are: where they depend on the database they leak it (the
answer's note says so). Adjacency: one record changes, which moves A by at most Δ_A in total.
Guaranteed: (ε, δ)-differential privacy of A; every answer is feasible with certainty.

Differences from the publication
1. k counts all m·n entries of A, zeros included, as in the 2025 paper's accounting.
2. Its convex objective is linear here.
3. The mask of sensitive entries is public structure, never the realised zero pattern.
4. Entries of A that a record moves by different amounts carry noise in proportion.
5. Answers are certified in exact arithmetic.
"""

from __future__ import annotations

from fractions import Fraction

from paper.baselines.method import Answer, Method, Task
from paper.baselines.perturb import perturbed


def answer(task: Task) -> Answer:
    """Perturb A, solve with the true b and c."""
    alphas = {} if task.part.A.is_public else {"A": Fraction(1)}
    return perturbed(task, alphas=alphas)


METHOD = Method("benvenuti2024", private="A", promises_feasibility=True, solver=answer)
