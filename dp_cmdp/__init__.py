"""Private safe decisions.

Linear programs and constrained Markov decision processes whose constraints come from private
data, solved under (ε, δ)-differential privacy, with answers that satisfy the true constraints
with certainty. One idea carries the package: *release the private numbers once, as intervals
that certainly contain them; everything after that is ordinary robust optimisation on public
data.*

Names are loaded on first use, so ``import dp_cmdp`` stays light.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dp_cmdp.lp import LinearProgram, Solution, solve
    from dp_cmdp.privacy import PrivacyBudget

__version__ = "0.1.0"

#: The public face: name → module that defines it.
_HOME = {
    "LinearProgram": "lp",
    "Solution": "lp",
    "solve": "lp",
    "PrivacyBudget": "privacy",
}

__all__ = [
    "LinearProgram",
    "PrivacyBudget",
    "Solution",
    "solve",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'dp_cmdp' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"dp_cmdp.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
