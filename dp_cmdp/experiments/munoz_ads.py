"""The ad experiment of Muñoz Medina et al. 2021: an independent check of the noise and its shift.

200 groups, 10 advertisers, 1e7 visitors per group; a price is 0 with probability 0.2 and uniform on
[0, 1] otherwise. Prices are public, budgets are private: uniform within Δ/2 = 50 of 1e7, and the
same bounds are their envelope. δ = 1e-4. There is far more supply than money, so that every
advertiser spends all of b̃: the revenue is Σ b̃, and a budget is overrun exactly when b̃ > b. With
b̃ = b − s + η that has probability e^(−s/σ)/2 for Laplace noise η, and 0 when η is truncated at s.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from dp_cmdp.accounting.budget import PrivacyBudget
from dp_cmdp.baselines import METHODS
from dp_cmdp.data.database import Database
from dp_cmdp.data.envelope import Envelope
from dp_cmdp.errors import SolverError
from dp_cmdp.experiments.sweep import Row, Setting, Sweep, stream
from dp_cmdp.metrics import mean_interval
from dp_cmdp.noise.laws import TruncatedLaplace
from dp_cmdp.problems.ad_auction import BUDGET, VISITORS, auction_program, random_prices
from dp_cmdp.program.linear_program import solve
from dp_cmdp.program.parametric import ParametricLP

if TYPE_CHECKING:
    import pandas as pd

#: Groups and advertisers, the most a budget moves, and δ: all of their experiment.
N, M = 200, 10
RADIUS = 100.0
DELTA = "1/10000"
EPSILONS = ("0.00003", "0.00005", "0.00007", "0.0001", "0.00015", "0.0002")
#: Their reported share of violated constraints without truncation, percent.
PUBLISHED = {"0.00003": 12.5, "0.0001": 4.7, "0.0002": 2.0}


@lru_cache(maxsize=4)
def munoz_program(seed: int = 0) -> ParametricLP:
    """The auction with public prices drawn from `seed` and private budgets: *public*."""
    return auction_program(
        Envelope(BUDGET - RADIUS / 2, BUDGET + RADIUS / 2, radius=RADIUS, shape=M),
        private={"b": np.arange(M)},
        prices=random_prices((N, M), stream(seed, 0, "public prices")),
        visitors=VISITORS,
    )


def sweep(*, draws: int, seed: int = 0, epsilons: tuple[str, ...] = EPSILONS) -> Sweep:
    """The sweep behind ``dp-cmdp reproduce munoz-ads``."""
    settings = tuple({"epsilon": e, "truncated": kind} for e in epsilons for kind in (True, False))
    return Sweep("munoz-ads", draw_budgets, settings, draws, seed, chunk=20)


def quick_sweep(*, draws: int, seed: int = 0) -> Sweep:
    """The same at the three ε whose violations were published."""
    return sweep(draws=draws, seed=seed, epsilons=tuple(PUBLISHED))


def draw_budgets(setting: Setting, seed: int, draws: Sequence[int]) -> list[Row]:
    """Revenue ratio and exact violations of the budgets, one row per draw."""
    program = munoz_program(seed)
    budget = PrivacyBudget(setting["epsilon"], DELTA)
    low, high = program.envelope.lower, program.envelope.upper
    rows: list[Row] = []
    for draw in draws:
        database = Database(stream(seed, draw).uniform(low, high), program.envelope)
        rng = stream(seed, draw, "noise", setting["epsilon"])
        options = {"truncated": setting["truncated"]}
        answer = METHODS["munoz2021"].run(program, database, budget, rng=rng, **options)
        if (x := answer.x) is None:
            raise SolverError(answer.note)
        truth = program.at(database.values)
        slack = program.worst_case_slack(x, lower=database.values, upper=database.values)
        rows.append(
            {
                "revenue_ratio": float(truth.c @ x) / solve(truth, certify=False).objective,
                "violated_budgets": float((slack[:M] < 0).mean()),
                "violated_supplies": float((slack[M:] < 0).mean()),
            }
        )
    return rows


def expected_percent(epsilon: str) -> float:
    """100 e^(−s/σ)/2: how often Laplace noise exceeds the shift s: *public*."""
    share = PrivacyBudget(epsilon, DELTA)
    law = TruncatedLaplace.calibrate(
        RADIUS, share.epsilon, delta=share.delta, calibration="paper", num_entries=M
    )
    return 50.0 * math.exp(-law.support / law.scale)


def rows(frame: pd.DataFrame) -> list[Row]:
    """One row per noise and ε, with the published and the expected share of violated budgets."""
    table: list[Row] = []
    for (epsilon, truncated), part in frame.groupby(["epsilon", "truncated"], sort=False):
        text = str(epsilon)
        broken = mean_interval(100.0 * part["violated_budgets"].to_numpy(dtype=float))
        ratio = mean_interval(part["revenue_ratio"].to_numpy(dtype=float))
        table.append(
            {
                "epsilon": float(Fraction(text)),
                "noise": "truncated Laplace" if truncated else "Laplace, same shift",
                "draws": broken.draws,
                **broken.row("violated_percent", ends="ci"),
                "expected_percent": 0.0 if truncated else expected_percent(text),
                "published_percent": 0.0 if truncated else PUBLISHED.get(text),
                "violated_supplies_percent": 100.0 * float(part["violated_supplies"].mean()),
                **ratio.row("revenue_ratio", ends="revenue_ci"),
            }
        )
    return table
