"""The ad experiment of Muñoz Medina et al. 2021: an independent check of the noise and its shift.

200 groups, 10 advertisers, 1e7 visitors per group; a price is 0 with probability 0.2 and uniform on
[0, 1] otherwise. Prices are public, budgets are private: uniform within Δ/2 = 50 of 1e7, and the
same bounds are their envelope. δ = 1e-4. There is far more supply than money, so that every
advertiser spends all of b̃: the revenue is Σ b̃, and a budget is overrun exactly when b̃ > b. With
b̃ = b − s + η that has probability e^(−s/σ)/2 for Laplace noise η, and 0 when η is truncated at s.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import pandas as pd

import dp_cmdp as dp
from paper.baselines import METHODS
from paper.blocks import form, true_slack
from paper.linear import solve
from paper.metrics import mean_interval
from paper.problems.auction import BUDGET, VISITORS, auction, random_prices
from paper.runner import Row, Setting, Sweep, stream
from paper.study import Study, tabled

#: Groups and advertisers, the most a budget moves, and δ: all of their experiment.
N, M = 200, 10
RADIUS = 100.0
DELTA = "1/10000"
EPSILONS = ("0.00003", "0.00005", "0.00007", "0.0001", "0.00015", "0.0002")
#: Their reported share of violated constraints without truncation, percent.
PUBLISHED = {"0.00003": 12.5, "0.0001": 4.7, "0.0002": 2.0}


@lru_cache(maxsize=4)
def munoz_program(seed: int = 0) -> dp.ParametricLP:
    """The auction with public prices drawn from `seed` and private budgets."""
    envelope = dp.Envelope(BUDGET - RADIUS / 2, BUDGET + RADIUS / 2, radius=RADIUS, shape=M)
    prices = random_prices((N, M), stream(seed, 0, "public prices"))
    return auction({"b": envelope[:]}, prices=prices, visitors=VISITORS)


def sweeps(draws: int, quick: bool) -> tuple[Sweep, ...]:
    """In a quick run the three ε whose violations were published."""
    epsilons = tuple(PUBLISHED) if quick else EPSILONS
    settings = tuple({"epsilon": e, "truncated": kind} for e in epsilons for kind in (True, False))
    return (Sweep(draw_budgets, settings, draws, chunk=20),)


def draw_budgets(setting: Setting, seed: int, draw: int) -> Row:
    """Revenue ratio and exact violations of the budgets."""
    program = munoz_program(seed)
    budget = dp.PrivacyBudget(setting["epsilon"], DELTA)
    values = stream(seed, draw).uniform(program.envelope.lower, program.envelope.upper)
    rng = stream(seed, draw, "noise", setting["epsilon"])
    options = {"truncated": setting["truncated"]}
    answer = METHODS["munoz2021"].run(program, values, budget, rng=rng, **options)
    if (x := answer.x) is None:
        raise dp.errors.SolverError(answer.note)
    truth, slack = form(program).at(values), true_slack(program, values, x)
    return {
        "revenue_ratio": float(truth.c @ x) / solve(truth).objective,
        "violated_budgets": float((slack[:M] < 0).mean()),
        "violated_supplies": float((slack[M:] < 0).mean()),
    }


def expected_percent(epsilon: str) -> float:
    """100 e^(−s/σ)/2: how often Laplace noise exceeds the shift s."""
    odds = math.expm1(float(Fraction(epsilon))) / float(Fraction(DELTA))
    return 50.0 / (1.0 + M * odds)


def table(frame: pd.DataFrame) -> list[Row]:
    """One row per noise and ε, with the published and the expected share of violated budgets."""

    def row(key: Row, part: pd.DataFrame) -> Row:
        plain = key["noise"] == "Laplace, same shift"
        return {
            "draws": len(part),
            **mean_interval(100.0 * part["violated_budgets"]).row("violated_percent"),
            "expected_percent": expected_percent(key["epsilon"]) if plain else 0.0,
            "published_percent": PUBLISHED.get(key["epsilon"]) if plain else 0.0,
            "violated_supplies_percent": 100.0 * float(part["violated_supplies"].mean()),
            **mean_interval(part["revenue_ratio"]).row("revenue_ratio", ends="revenue_ci"),
        }

    noise = frame["truncated"].map({True: "truncated Laplace", False: "Laplace, same shift"})
    return tabled(frame.assign(noise=noise), ("epsilon", "noise"), row)


STUDY = Study(
    name="munoz-ads",
    about="the ad experiment of Muñoz Medina et al. 2021: independent ground truth",
    sweeps=sweeps,
    table=table,
    figure="single:munoz_ads_figure",
    draws=400,
    quick_draws=40,
)
