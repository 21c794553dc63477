"""The Hoffman constant of a system of linear constraints, exact, of small systems.

For {z : G z ≤ g, C z = d} ≠ ∅ it is the smallest H with, for every z and all right-hand sides,
dist(z, solutions) ≤ H · ‖([G z − g]⁺, C z − d)‖₂. With the formula and the search of
``docs/theory.md`` (section 6), after Peña, Vera and Zuluaga: start from all rows; a set J that is
not surjective has a certificate v ≥ 0, G_Jᵀv + Cᵀu = 0, and every surjective subset misses a row of
its support, so branch on that row. Then H = max 1/√λ_min(M_K M_Kᵀ), M_K = [G_K; C], over the
K ⊆ J whose eigenvector has v ≥ 0. The number of sets grows exponentially: larger systems are
refused.
"""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np

import dp_cmdp as dp
from paper.linear import Floats, LinearProgram, solve

Rows = frozenset[int]
#: A residual below this counts as zero when surjectivity is decided (rows have unit norm).
ZERO_RESIDUAL = 1e-9


def hoffman_constant(
    G: Any, C: Any = None, *, max_programs: int = 3000, max_supports: int = 300_000
) -> float:
    """The Hoffman constant of G z ≤ g, C z = d in Euclidean norms; C has independent rows.

    What takes more than so many programs and eigenvalue problems is refused.
    """
    rows = np.atleast_2d(np.asarray(G, dtype=float))
    equal = np.zeros((0, rows.shape[1])) if C is None else np.atleast_2d(np.asarray(C, dtype=float))
    if equal.shape[0] and np.linalg.matrix_rank(equal) < equal.shape[0]:
        raise dp.errors.InvalidArgumentError("C must have linearly independent rows")
    largest = _largest_surjective(rows, equal, max_programs)
    most = rows.shape[1] - equal.shape[0]
    if largest is None or _count(largest, most) > max_supports:
        raise dp.errors.RefusedError(f"G has too many rows ({len(rows)}) for its Hoffman constant")
    return float(
        max(
            _inverse_norms(rows, equal, supports=_supports(largest, size)).max(initial=0.0)
            for size in range(min(most, rows.shape[0]) + 1)
        )
    )


def _largest_surjective(rows: Floats, equal: Floats, limit: int) -> list[Rows] | None:
    """The maximal surjective sets, or None when more than `limit` programs are needed."""
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    unit = rows / np.where(norms > 0, norms, 1.0)
    surjective: list[Rows] = []
    refuted: list[Rows] = []
    seen: set[Rows] = set()
    open_sets, programs = [frozenset(range(rows.shape[0]))], 0
    while open_sets:
        open_sets.sort(key=len)
        chosen = open_sets.pop()
        if any(known >= chosen for known in surjective):
            continue
        core = next((known for known in refuted if known <= chosen), None)
        if core is None:
            programs += 1
            if programs > limit:
                return None
            core = _certificate(unit, equal, chosen)
            if core is None:
                surjective.append(chosen)
                continue
            refuted.append(core)
        smaller = {chosen - {i} for i in core} - seen
        seen |= smaller
        open_sets.extend(smaller)
    return surjective


def _certificate(unit: Floats, equal: Floats, chosen: Rows) -> Rows | None:
    """Support of some v ≥ 0, Σv = 1 with G_Jᵀv + Cᵀu = 0; None when it is surjective.

    One linear program: the smallest largest coordinate t of |G_Jᵀv + Cᵀu|.
    """
    order = sorted(chosen)
    if not order:
        return None
    n, p, k = unit.shape[1], equal.shape[0], len(order)
    block = np.hstack([unit[order].T, equal.T])
    ones = np.ones((n, 1))
    found = solve(
        LinearProgram.of(
            np.concatenate([np.zeros(k + p), [-1.0]]),
            np.vstack([np.hstack([block, -ones]), np.hstack([-block, -ones])]),
            np.zeros(2 * n),
            A_eq=np.concatenate([np.ones(k), np.zeros(p + 1)])[None],
            b_eq=[1.0],
            lower=np.concatenate([np.zeros(k), np.full(p, -np.inf), [0.0]]),
        )
    )
    if found.x[-1] > ZERO_RESIDUAL:
        return None
    return frozenset(order[i] for i in np.flatnonzero(found.x[:k] > ZERO_RESIDUAL))


def _count(largest: list[Rows], most: int) -> int:
    """How many supports there are, those of several sets counted several times."""
    return sum(math.comb(len(rows), size) for rows in largest for size in range(most + 1))


def _supports(largest: list[Rows], size: int) -> list[tuple[int, ...]]:
    """Every set of `size` rows inside some surjective set."""
    return sorted({K for rows in largest for K in combinations(sorted(rows), size)})


def _inverse_norms(rows: Floats, equal: Floats, *, supports: list[tuple[int, ...]]) -> Floats:
    """1/√λ_min(M_K M_Kᵀ) for supports K of one size; 0 where the eigenvector lacks v ≥ 0."""
    size = len(supports[0]) if supports else 0
    if not supports or size + equal.shape[0] == 0:
        return np.zeros(len(supports))
    chosen = rows[np.array(supports, dtype=np.intp).reshape(len(supports), size)]
    below = np.broadcast_to(equal, (len(supports), *equal.shape))
    M = np.concatenate([chosen, below], axis=1)
    values, vectors = np.linalg.eigh(M @ M.transpose(0, 2, 1))
    v = vectors[:, :size, 0]
    tiny = 1e-9 * np.abs(vectors[:, :, 0]).max(axis=1, keepdims=True)
    one_sign = (v >= -tiny).all(axis=1) | (v <= tiny).all(axis=1)
    valid = one_sign & (values[:, 0] > 1e-13 * values[:, -1])
    return np.where(valid, 1.0 / np.sqrt(np.where(valid, values[:, 0], 1.0)), 0.0)
