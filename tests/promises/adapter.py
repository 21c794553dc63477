"""The one file through which the tests of promises reach the package.

Tests beside this file say what users are promised and import from here only. Names, arguments and
attributes are those of the public face as it is designed; what the package spells differently today
is translated here, so that a change of the package's inside changes this file and no test.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

import dp_cmdp as dp
from dp_cmdp import Database as Database
from dp_cmdp import Envelope as Envelope
from dp_cmdp import ParametricCMDP as ParametricCMDP
from dp_cmdp import ParametricLP as ParametricLP
from dp_cmdp import PrivacyBudget as PrivacyBudget
from dp_cmdp import PrivacyLedger as PrivacyLedger
from dp_cmdp import errors as errors

# --------------------------------------------------------------------------------------- building


def linear_program(
    envelope: Envelope,
    *,
    maximize: Any,
    rows: list[dict[int, int]],
    limits: list[int | float],
    upper: Any = np.inf,
) -> ParametricLP:
    """maximise over x ≥ 0: each row sums θ[entry]·x[variable] and stays within its limit.

    A row maps variables to database entries; a limit that is an int is a database entry, a limit
    that is a float is public.
    """
    at = [(i, variable, entry) for i, row in enumerate(rows) for variable, entry in row.items()]
    row, col, entry = (list(part) for part in zip(*at, strict=True))
    private = [(i, entry) for i, entry in enumerate(limits) if isinstance(entry, int)]
    constant = np.array([0.0 if isinstance(b, int) else b for b in limits])
    return dp.ParametricLP(
        envelope,
        c=maximize,
        A=dp.Affine((len(rows), len(maximize)), at=(row, col), entry=entry),
        b=dp.Affine(
            len(limits),
            constant=constant,
            at=[[i for i, _ in private]],
            entry=[entry for _, entry in private],
        )
        if private
        else constant,
        upper=upper,
    )


# ------------------------------------------------------------------------------------------ verbs


@dataclass(frozen=True)
class Answer:
    """What `solve` returns, by the names of the designed face."""

    decision: Any
    value: float
    robust_value: float
    release: dp.Release
    certificate: Any
    inner: Any


def solve(
    problem: Any,
    values: Any,
    *,
    epsilon: Any,
    delta: Any,
    ledger: PrivacyLedger | None = None,
    strategy: str = "auto",
    prior: Any = None,
    simulated: int | None = None,
) -> Answer:
    """Refuse, spend, read, answer; with a seed, the noise is `simulated` and not private."""
    plan = {"auto": "auto", "entries": "database", "queries": "totals"}[strategy]
    rng = None if simulated is None else np.random.default_rng(simulated)
    budget = PrivacyBudget(epsilon, delta)
    database = values if isinstance(values, Database) else Database(values, problem.envelope)
    options: Mapping[str, Any] = {"plan": plan, "guess": prior, "rng": rng, "ledger": ledger}
    if isinstance(problem, ParametricCMDP):
        made = dp.release_and_synthesize(problem, database, budget, **options)
        safe, robust = made.safe, made.robust
        return Answer(safe.policy, safe.value, robust.value, made.release, safe.certificate, made)
    answer = dp.release_and_solve(problem, database, budget, **options)
    return Answer(
        answer.solution.x,
        answer.solution.objective,
        answer.robust.objective,
        answer.release,
        answer.solution.certificate,
        answer,
    )
