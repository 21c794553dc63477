"""The black box layer: a lower bound on ε from runs alone.

A mechanism is (ε, δ)-private only if p − e^ε q ≤ δ for every event, p and q being its probabilities
on two adjacent databases. Half of the runs choose a few events
(:mod:`dp_cmdp.audit.layers.events`); the other half give one-sided Clopper–Pearson limits p ≥ p_lo,
q ≤ q_hi, which hold for all of the chosen events together with probability 1 − α. The layer objects
iff p_lo − e^ε q_hi > δ for one of them, so a private mechanism is accused with probability at most
α. Equivalently the lower bound

    ε ≥ ln((p_lo − δ)/q_hi)

exceeds the claim. A pass proves nothing: an event that was not looked for may exist.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np
from scipy.stats import beta

from dp_cmdp.audit.layers.events import Event, candidates
from dp_cmdp.audit.outcomes import Outcomes, Sampler, refuse_silence
from dp_cmdp.audit.report import Verdict
from dp_cmdp.errors import InvalidArgumentError

#: Confidence with which training counts are compared.
TRAINING_ALPHA = 0.01


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
    sample: Sampler,
    *,
    epsilon: float,
    delta: float,
    runs: int,
    rng: np.random.Generator,
    alpha: float,
    representation: bool = True,
) -> tuple[Verdict, float]:
    """Judge a mechanism by `runs` training and `runs` held-out runs on each database.

    Parameters
    ----------
    sample : Sampler
    epsilon, delta : float
        The claim.
    runs : int
    rng : numpy.random.Generator
    alpha : float
        Probability of accusing a private mechanism.
    representation : bool
        Look at the bits of floats too. False for simulations in floats, which leak there.

    Returns
    -------
    (Verdict, epsilon_lower_bound)

    Raises
    ------
    InvalidArgumentError
        If every run raised and the exceptions do not tell the databases apart: a pass would say
        that a mechanism is private which never answered.
    """
    one, two = _outcomes(sample, 2 * runs, rng)
    best_events = partial(_best_events, epsilon=epsilon, delta=delta, representation=representation)
    chosen = [
        (event, a, b)
        for a, b in ((one, two), (two, one))
        for event in best_events(a[:runs], b[:runs])
    ]
    share = alpha / max(2 * len(chosen), 1)
    best, words, numbers = 0.0, "no event told the databases apart", {}
    for event, a, b in chosen:
        low = lower_limit(event.count(a[runs:]), runs, alpha=share)
        high = upper_limit(event.count(b[runs:]), runs, alpha=share)
        bound = epsilon_bound(low, high, delta)
        if bound > best:
            best, words = bound, event.name
            numbers = {"p_low": low, "q_high": high}
    if best <= epsilon:
        refuse_silence(one, two)
    numbers |= {"runs": float(2 * runs), "epsilon_lower_bound": best}
    return Verdict(best <= epsilon, f"best event: {words}", numbers), best


def _outcomes(sample: Sampler, runs: int, rng: np.random.Generator) -> tuple[Outcomes, Outcomes]:
    match sample(runs, rng):  # somebody else's function
        case (Outcomes() as first, Outcomes() as second):
            return first, second
        case _:
            raise InvalidArgumentError(
                "sampler must return two Outcomes: on a database, its neighbour"
            )


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
