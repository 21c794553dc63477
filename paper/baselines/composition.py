"""How much privacy one step of an iteration may spend.

k steps that are each (ε', 0)-private are together (ε, δ)-private with

    ε = min(kε',  ε'√(2k ln(1/δ)) + kε'(e^ε' − 1))

(basic and advanced composition). Hsu et al. use the simpler ε' = ε/√(8k ln(1/δ)), which follows
from it while ε is small and is more cautious; solving for ε' holds for every ε.
"""

from __future__ import annotations

import math

from scipy.optimize import brentq


def epsilon_per_step(epsilon: float, delta: float, *, steps: int) -> float:
    """The largest ε' for which `steps` steps stay (ε, δ)-private; ∞ when ε is."""
    basic = epsilon / steps
    most = math.log(2)  # from here on, advanced composition is worse than basic
    if basic >= most:
        return basic
    root = math.sqrt(2 * steps * math.log(1 / delta))

    def excess(step: float) -> float:
        return step * root + steps * step * math.expm1(step) - epsilon

    return basic if excess(basic) >= 0 else float(brentq(excess, basic, most))
