"""The headline table: Algorithm 1, with either mask, against the database and planned releases."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from dp_cmdp._check import FloatArray
from dp_cmdp.accounting.budget import PrivacyBudget
from dp_cmdp.data.database import Database
from dp_cmdp.errors import SolverError
from dp_cmdp.experiments.auction_comparison import variant
from dp_cmdp.experiments.sweep import Row, Setting, Sweep, stream
from dp_cmdp.metrics import mean_interval, suboptimality, violation
from dp_cmdp.problems.ad_auction import (
    DELTA,
    THIRD,
    ad_auction_program,
    random_auction,
    split,
)
from dp_cmdp.program.linear_program import solve
from dp_cmdp.program.parametric import ParametricLP

if TYPE_CHECKING:
    import pandas as pd

#: The rows of the headline table: method, ε, α_c.
HEADLINE = (
    *(("benvenuti2025-realised-mask", eps, THIRD) for eps in ("1/4", "1/2", "1", "2", "4")),
    ("benvenuti2025-realised-mask", "1", "99/100"),
    *(("benvenuti2025", eps, THIRD) for eps in ("1/4", "1/2", "1", "2", "4")),
    *(("database", eps, None) for eps in ("1/4", "1/2", "1", "2", "4")),
    *(("planned", eps, None) for eps in ("1/4", "1/2", "1", "2", "4")),
)


def sweep(*, draws: int, seed: int = 0) -> Sweep:
    """The sweep behind ``dp-cmdp reproduce ad-headline``."""
    return Sweep(
        name="ad-headline",
        function=draw,
        settings=tuple({"method": m, "epsilon": e, "alpha": a} for m, e, a in HEADLINE),
        draws=draws,
        seed=seed,
    )


def draw(setting: Setting, seed: int, draws: Sequence[int]) -> list[Row]:
    """Sub-optimality and exact violations of one method, one row per draw."""
    program = ad_auction_program()
    found: list[Row] = []
    for number in draws:
        database = random_auction(program, stream(seed, number))
        x = _answer(setting, program, database, stream(seed, number, "noise"))
        best = solve(program.at(database.values), certify=False).objective
        broken = violation(program, database, x=x)
        found.append(
            {
                "suboptimality": float(suboptimality(program, database, x=x, optimum=best)),
                "violated_rows": broken.violated_rows,
            }
        )
    return found


def _answer(
    setting: Setting, program: ParametricLP, database: Database, rng: np.random.Generator
) -> FloatArray:
    method, options = variant(setting["method"])
    if setting["alpha"] is not None:
        options["alphas"] = split(setting["alpha"])
    budget = PrivacyBudget(setting["epsilon"], DELTA)
    answer = method.run(program, database, budget, rng=rng, **options)
    if answer.x is None:
        raise SolverError(answer.note)
    return answer.x


def rows(frame: pd.DataFrame) -> list[Row]:
    """The printed table: means in percent with 95 % intervals, violations counted exactly."""
    table: list[Row] = []
    for (method, epsilon, alpha), part in frame.groupby(
        ["method", "epsilon", "alpha"], sort=False, dropna=False
    ):
        mean = mean_interval(100.0 * part["suboptimality"].to_numpy())
        table.append(
            {
                "method": method,
                "epsilon": float(Fraction(str(epsilon))),
                "alpha": None if not isinstance(alpha, str) else float(Fraction(alpha)),
                "suboptimality_percent": mean.mean,
                "ci_low": mean.low,
                "ci_high": mean.high,
                "draws": mean.draws,
                "violations": int(part["violated_rows"].sum()),
            }
        )
    return table
