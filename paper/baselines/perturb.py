"""Noise on A, b and c separately: what Algorithm 1 and its relatives publish, simulated.

The database is the coefficients themselves (:func:`paper.blocks.entrywise`); each protected block
is one measurement with its share of (ε, δ). Truncated Laplace noise has the support of the paper,

    s = σ ln(1 + k(e^ε − 1)/δ),   σ = Δ/ε,

which is the narrowest for ℓ1-sensitivity Δ and the δ/(2k) that a union bound over k entries leaves.
Blocks without a share are read as they are: they leak.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, cast

import numpy as np
from scipy import sparse

import dp_cmdp as dp
from dp_cmdp.extend import (
    Laplace,
    Measurement,
    Query,
    Sensitivity,
    UnboundedLaplace,
    UncertaintySet,
)
from paper.baselines.method import Answer, Task, unprotected
from paper.blocks import Entrywise, allocated, entrywise
from paper.linear import Floats

#: Lattice steps that one record moves an entry by, in bits.
ENTRY_BITS = 27


class Simulated:
    """Fast noise in floats: not private."""

    simulated = True

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng

    def draw(self, law: dp.extend.Law, size: int) -> list[int]:
        return [int(z) for z in law.sample_floats(self.rng, size).tolist()]


def support(sensitivity: Sensitivity, budget: dp.PrivacyBudget, count: int) -> float:
    """The paper's s, in the units of the sensitivity."""
    epsilon, delta = float(budget.epsilon), float(budget.delta)
    return sensitivity.l1 / epsilon * math.log1p(count * math.expm1(epsilon) / delta)


@lru_cache(maxsize=256)
def measurement(
    envelope: dp.Envelope,
    entry: tuple[int, ...],
    budget: dp.PrivacyBudget,
    *,
    count: int | None,
    name: str,
) -> Measurement:
    """Every chosen entry by itself; Laplace noise without bounds where `count` is None."""
    chosen = np.array(entry)
    moves = envelope.moves.max(axis=0).toarray().ravel()[chosen]
    weight = np.maximum((1 << ENTRY_BITS) // moves, 1)
    shape = (chosen.size, envelope.size)
    query = Query(envelope, sparse.csr_array((weight, (np.arange(chosen.size), chosen)), shape))
    if count is None:
        return Measurement(query, UnboundedLaplace, budget, name=name)
    l1 = query.sensitivity().l1
    part = dp.PrivacyBudget(budget.epsilon, budget.delta / (2 * count))
    law = Laplace.calibrate(Sensitivity(l1, l1 * l1, l1, 1), part)
    return Measurement(query, law, budget, name=name)


def intervals(outcome: Any, half: float) -> tuple[Floats, Floats, Floats]:
    """Noisy entries, and the ends of intervals that reach `half` integers to either side."""
    query = outcome.measurement.query
    weight, step = query.weights.data.astype(float), query.envelope.step[query.weights.indices]
    y = np.array([float(n) for n in outcome.integers])
    low, high = step * (y - half) / weight, step * ((y + half) / weight + 1.0)
    pad = 2.0**-50 * (np.abs(low) + np.abs(high))  # more than the rounding of the sums
    return step * (y / weight + 0.5), low - pad, high + pad


@dataclass(frozen=True, slots=True, eq=False)
class Perturbed:
    """What is known of the coefficients, and taken for them in the objective, after all blocks."""

    known: UncertaintySet
    estimate: Floats
    outcomes: tuple[Any, ...]
    leaks: tuple[str, ...]


def perturb(
    whole: Entrywise,
    values: Floats,
    shares: Mapping[str, dp.PrivacyBudget],
    *,
    envelope: dp.Envelope,
    rng: np.random.Generator,
    truncated: bool = True,
    shift: float = 1.0,
    count: int | None = None,
    unread: str = "",
    realised_mask_NOT_PRIVATE: bool = False,
) -> Perturbed:
    """Noise on every block with a share; those without one leak.

    `envelope` is that of the coefficients, perhaps with another adjacency. Without truncation A
    and b get Laplace noise with the same σ, and the intervals reach `shift`·s: they may miss the
    truth. `count` is k of the support, by default all m·n entries of A and all m of b, as the paper
    counts. Blocks `unread` are taken to be at their worst.
    """
    entries, (lower, upper) = whole.values(values), whole.around(values)
    estimate, outcomes, leaks = entries.copy(), [], []
    m, n = whole.part.A.shape
    counts = {"A": m * n, "b": m}
    for block in whole.part.sensitive:
        at = np.arange(envelope.size)[whole.span(block)]
        if block in unread:
            lower[at], upper[at] = envelope.lower[at], envelope.upper[at]
            continue
        if block not in shares:
            leaks.append(unprotected(block))
            continue
        if realised_mask_NOT_PRIVATE and block != "b":
            leaks.append(f"realised zero pattern of {block}")
            at = at[entries[at] != 0.0]
        k = None if block == "c" or not truncated else count or counts[block]
        made = measurement(envelope, tuple(at.tolist()), shares[block], count=k, name=block)
        half = math.inf
        if k is not None:
            half = float(made.law.high or 0)
        elif block != "c":
            half = shift * support(made.sensitivity, shares[block], count or counts[block])
        outcomes.append(made.draw(entries, cast(Any, Simulated(rng))))
        estimate[at], low, high = intervals(outcomes[-1], half)
        lower[at] = np.clip(low, envelope.lower[at], envelope.upper[at])
        upper[at] = np.clip(high, envelope.lower[at], envelope.upper[at])
    known = UncertaintySet.box(lower, upper)
    return Perturbed(known, estimate, tuple(outcomes), tuple(leaks))


def perturbed(task: Task, *, alphas: Mapping[str, Fraction], **options: Any) -> Answer:
    """The answer for blocks perturbed with shares `alphas` of ε; A and b share δ."""
    whole, shares = entrywise(task.program), allocated(task.budget, alphas)
    target = whole.program
    found = perturb(whole, task.values, shares, envelope=target.envelope, rng=task.rng, **options)
    return Answer(
        target.answer(found.known, found.estimate).x,
        note="; ".join(found.leaks),
        outcomes=found.outcomes,
        known=found.known,
        estimate=found.estimate,
    )
