"""The black box: a lower bound on ε from runs alone.

A mechanism is (ε, δ)-private only if p − e^ε q ≤ δ for every event, p and q being its probabilities
on two adjacent databases. Half of the runs choose a few events
(:mod:`dp_cmdp._src.checking.audit.events`); the other half give one-sided Clopper–Pearson limits p ≥ p_lo,
q ≤ q_hi, which hold for all of the chosen events together with probability 1 − α. The layer objects
iff p_lo − e^ε q_hi > δ for one of them, so a private mechanism is accused with probability at most
α. Equivalently the lower bound

    ε ≥ ln((p_lo − δ)/q_hi)

exceeds the claim. A pass proves nothing: an event that was not looked for may exist.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.stats import beta

from dp_cmdp._src.base.errors import InvalidArgumentError
from dp_cmdp._src.checking.audit.events import Event, candidates
from dp_cmdp._src.checking.audit.outcomes import VECTOR, Outcomes, Sampler
from dp_cmdp._src.checking.report import Finding

#: Confidence with which training counts are compared.
TRAINING_ALPHA = 0.01
#: The claim that the black box judges.
CLAIM = "black box: runs do not tell two adjacent databases apart further than (ε, δ)"


def lower_limit(count: int, runs: int, *, alpha: float) -> float:
    """Clopper–Pearson: the probability is at least this, with confidence 1 − alpha."""
    return 0.0 if count == 0 else float(beta.ppf(alpha, count, runs - count + 1))


def upper_limit(count: int, runs: int, *, alpha: float) -> float:
    """Clopper–Pearson: the probability is at most this, with confidence 1 − alpha."""
    return 1.0 if count == runs else float(beta.ppf(1 - alpha, count + 1, runs - count))


def epsilon_bound(p_low: float, q_high: float, delta: float) -> float:
    """The ε below which p_low − e^ε q_high > δ; 0 when there is none."""
    return max(0.0, math.log((p_low - delta) / q_high)) if p_low > delta else 0.0


def black_box(
    subject: str,
    sample: Sampler,
    *,
    epsilon: float,
    delta: float,
    runs: int,
    rng: np.random.Generator,
    alpha: float,
    representation: bool = True,
) -> Finding:
    """Judge a mechanism by `runs` training and `runs` held-out runs on each database.

    `alpha` is the probability of accusing a private mechanism; `representation`: look at the bits
    of floats, too. A mechanism that raised in every run, and so never answered, is refused.
    """
    one, two = sample(2 * runs, rng)
    chosen = [
        (event, a, b)
        for a, b in ((one, two), (two, one))
        for event in _best_events(
            a[:runs], b[:runs], epsilon=epsilon, delta=delta, representation=representation
        )
    ]
    share = alpha / max(2 * len(chosen), 1)
    best, words = 0.0, "no event told the databases apart"
    numbers = {"runs": float(2 * runs)}
    for event, a, b in chosen:
        low = lower_limit(event.count(a[runs:]), runs, alpha=share)
        high = upper_limit(event.count(b[runs:]), runs, alpha=share)
        bound = epsilon_bound(low, high, delta)
        if bound > best:
            best, words = bound, f"best event: {event.name}"
            numbers |= {"p_low": low, "q_high": high}
    kinds = sorted({*one.kind.tolist(), *two.kind.tolist()})
    if best <= epsilon and kinds and VECTOR not in kinds:
        raise InvalidArgumentError(
            "mechanism raised in every run on both databases, or returned what is no vector "
            f"({', '.join(kinds)}), so there is nothing to audit; it is called as "
            "mechanism(values, rng) and must return a vector"
        )
    numbers["epsilon_lower_bound"] = best
    why = f"{2 * runs} runs on each; {words}; ε ≥ {best:.3g} with certainty 1 − {alpha:.0e}"
    word = "passed" if best <= epsilon else None
    return Finding(subject, CLAIM, best <= epsilon, why, word, numbers=numbers)


def _best_events(
    first: Outcomes, second: Outcomes, *, epsilon: float, delta: float, representation: bool
) -> list[Event]:
    """On training runs, the event of greatest excess and the one of greatest bound."""
    found = list(candidates(first, second, epsilon=epsilon, representation=representation))
    if not found:
        return []
    hits = np.array([count for _, count, _ in found], dtype=float)
    misses = np.array([count for _, _, count in found], dtype=float)
    n, m = first.runs, second.runs
    low = np.nan_to_num(beta.ppf(TRAINING_ALPHA, hits, n - hits + 1), nan=0.0)
    high = np.nan_to_num(beta.ppf(1 - TRAINING_ALPHA, misses + 1, m - misses), nan=1.0)
    excess = low - math.exp(epsilon) * high - delta
    bound = np.log(np.maximum(low - delta, 1e-300) / high)
    return [found[place][0] for place in sorted({int(excess.argmax()), int(bound.argmax())})]
