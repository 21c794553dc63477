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
    from dp_cmdp.advice.adviser import advise
    from dp_cmdp.answer import PrivateAnswer, release_and_solve
    from dp_cmdp.cmdp.evaluation import evaluate
    from dp_cmdp.cmdp.model import CMDP
    from dp_cmdp.cmdp.policy import Policy
    from dp_cmdp.database import Database
    from dp_cmdp.envelope import Envelope
    from dp_cmdp.ledger.ledger import PrivacyLedger
    from dp_cmdp.lp import LinearProgram, Solution, solve
    from dp_cmdp.mechanisms import Laplace, TruncatedLaplace
    from dp_cmdp.metrics import cost_of_privacy, saturation, suboptimality, violation
    from dp_cmdp.parametric import ParametricLP
    from dp_cmdp.privacy import PrivacyBudget
    from dp_cmdp.privatizer import release_blocks, release_database, solve_private
    from dp_cmdp.release import Release
    from dp_cmdp.theory.accuracy import accuracy_bound

__version__ = "0.1.0"

#: The public face: name → module that defines it.
_HOME = {
    "LinearProgram": "lp",
    "Solution": "lp",
    "solve": "lp",
    "PrivacyBudget": "privacy",
    "PrivacyLedger": "ledger",
    "Laplace": "mechanisms",
    "TruncatedLaplace": "mechanisms",
    "Envelope": "envelope",
    "Database": "database",
    "Release": "release",
    "ParametricLP": "parametric",
    "release_database": "privatizer",
    "release_blocks": "privatizer",
    "solve_private": "privatizer",
    "release_and_solve": "answer",
    "PrivateAnswer": "answer",
    "CMDP": "cmdp.model",
    "Policy": "cmdp.policy",
    "evaluate": "cmdp.evaluation",
    "suboptimality": "metrics",
    "violation": "metrics",
    "cost_of_privacy": "metrics",
    "saturation": "metrics",
    "accuracy_bound": "theory",
    "advise": "advice",
}

__all__ = [
    "CMDP",
    "Database",
    "Envelope",
    "Laplace",
    "LinearProgram",
    "ParametricLP",
    "Policy",
    "PrivacyBudget",
    "PrivacyLedger",
    "PrivateAnswer",
    "Release",
    "Solution",
    "TruncatedLaplace",
    "accuracy_bound",
    "advise",
    "cost_of_privacy",
    "evaluate",
    "release_and_solve",
    "release_blocks",
    "release_database",
    "saturation",
    "solve",
    "solve_private",
    "suboptimality",
    "violation",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'dp_cmdp' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"dp_cmdp.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
