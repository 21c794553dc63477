"""What certainty costs: the mean shift of a published bound, in units of the sensitivity Δ.

A bound that never loosens must be shifted. No (ε, δ)-private mechanism has a smaller mean shift
than Δ·Σ_{j≥1} (1 − π_j), where π_j = T^j(0) and

    T(a) = min(1,  δ + e^ε·a,  1 − e^(−ε)·(1 − δ − a)).

*Proof.* Fix the value φ and let U be its published bound. For θ = φ + jΔ consider the event "the
bound is below θ". When the value is θ its probability is 0, by certainty; each step of Δ towards
φ raises it from a to at most T(a), by privacy applied to the event and to its complement.
So U ≥ φ + jΔ with probability at least 1 − π_j; sum over j. ∎
"""

from __future__ import annotations

import math
from typing import Any

from dp_cmdp import _check
from dp_cmdp._door import door
from dp_cmdp.noise.certificate import checked_budget
from dp_cmdp.noise.optimal import OptimalNoise

KINDS = ("paper", "tight", "optimal", "bound")
#: Lattice steps per Δ of the ``optimal`` noise that is measured.
STEPS = 1 << 20


def mean_shift_lower_bound(epsilon: Any, delta: Any) -> float:
    """Δ-units below which no mechanism that never loosens can bring the mean shift.

    Notes
    -----
    **Privacy.** *Public*.

    Examples
    --------
    >>> from dp_cmdp.noise.mean_shift import mean_shift_lower_bound
    >>> round(mean_shift_lower_bound(1, "1/1000"), 2)
    6.2
    """
    eps, dlt = (float(value) for value in checked_budget(epsilon, delta))
    total, reached = 0.0, 0.0
    while True:
        reached = min(
            1.0,
            dlt + math.exp(eps) * reached,
            1.0 - math.exp(-eps) * (1.0 - dlt - reached),
        )
        if reached >= 1.0:
            return total
        total += 1.0 - reached


@door
def mean_shift(kind: str, *, epsilon: Any, delta: Any, entries: int = 1) -> float:
    """Mean shift of one end of a certain interval, in units of Δ.

    Parameters
    ----------
    kind : {"paper", "tight", "optimal", "bound"}
        Truncated Laplace noise with the support of the paper or the tight one, the optimal noise
        for one changing entry, or the bound below which nothing can go.
    entries : int
        For ``paper`` the number of perturbed entries; for ``tight`` the number that change
        together, each by at most Δ. The others know one entry only.

    Notes
    -----
    **Paper.** ``lem:matrix_lap``. **Privacy.** *Public*.

    Examples
    --------
    >>> from dp_cmdp.noise.mean_shift import mean_shift
    >>> for kind in ("paper", "tight", "optimal", "bound"):
    ...     print(f"{kind}: {mean_shift(kind, epsilon=1, delta='1/1000'):.2f}")
    paper: 7.45
    tight: 6.76
    optimal: 6.66
    bound: 6.20
    """
    _check.one_of("kind", kind, KINDS)
    exact_eps, exact_dlt = checked_budget(epsilon, delta)
    eps, dlt = float(exact_eps), float(exact_dlt)
    most = 1 if kind in ("optimal", "bound") else _check.MOST
    m = _check.integer("entries", entries, low=1, high=most)
    if kind == "paper":
        return math.log1p(m * math.expm1(eps) / dlt) / eps
    if kind == "tight":
        return m / eps * math.log1p(m * math.expm1(eps / m) / (2 * dlt))
    if kind == "optimal":
        return OptimalNoise.calibrate(exact_eps, exact_dlt, steps=STEPS).mean_shift / STEPS
    return mean_shift_lower_bound(exact_eps, exact_dlt)
