"""One draw of any compared system on the ad auction, and the summary of many.

A setting names a method of :data:`paper.baselines.METHODS` or a variant of one, the budget, the
size of the auction and what is private in it: prices (case (i) of the paper) or prices and budgets
(case (ii)). Draw k has the same prices in every setting, and every method gets the same stream of
noise, so that differences between settings are not differences between auctions.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

import dp_cmdp as dp
from paper.baselines import METHODS, Answer, Method
from paper.blocks import form, true_slack
from paper.linear import Floats, solve
from paper.metrics import mean_interval, relative_loss
from paper.problems.auction import BUDGET, DELTA, ad_auction, random_auction, split
from paper.runner import Row, Setting, stream
from paper.study import tabled

#: Methods under options that change what they are: name of the variant, method, options.
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "benvenuti2025-realised-mask": ("benvenuti2025", {"realised_mask_NOT_PRIVATE": True}),
    "hsu2014-true-optimum": ("hsu2014", {"realised_optimum_NOT_PRIVATE": True}),
    "munoz2021-private-c": ("munoz2021", {"objective_share": "1/3"}),
    "laplace-unshifted": ("laplace", {"shift": 0.0}),
}


def variant(name: str) -> tuple[Method, dict[str, Any]]:
    """The method behind a name, and the options that the name stands for."""
    method, options = VARIANTS.get(name, (name, {}))
    return METHODS[method], dict(options)


def auction_setting(
    method: str,
    epsilon: str = "1",
    *,
    case: str = "ii",
    size: tuple[int, int] = (10, 5),
    alpha: str | None = None,
    rounds: int | None = None,
) -> Setting:
    """What one curve or row runs: `size` is (groups, advertisers), `alpha` the share of c."""
    return {
        "method": method,
        "epsilon": epsilon,
        "case": case,
        "groups": size[0],
        "advertisers": size[1],
        "alpha": alpha,
        "rounds": rounds,
    }


def draw_auction(setting: Setting, seed: int, draw: int) -> Row:
    """Loss, exact violations, convergence and time of one setting."""
    size, case = (setting["groups"], setting["advertisers"]), setting["case"]
    program = ad_auction(*size, private_budgets=case == "ii")
    method, options = variant(setting["method"])
    options |= _auction_options(setting)
    budget = dp.PrivacyBudget(setting["epsilon"], DELTA)
    values = random_auction(program, stream(seed, draw))
    start = time.perf_counter()
    answer = method.run(program, values, budget, rng=stream(seed, draw, "noise"), **options)
    seconds = time.perf_counter() - start
    return judge(program, values, answer) | {"seconds": seconds}


def _auction_options(setting: Setting) -> dict[str, Any]:
    options: dict[str, Any] = {}
    if setting["alpha"] is not None:
        options["alphas"] = split(setting["alpha"])
    if setting["rounds"] is not None:
        options["rounds"] = setting["rounds"]
    if setting["method"] == "cummings2015":  # an advertiser is a player and keeps its own budget
        options["players"] = np.tile(np.arange(setting["advertisers"]), setting["groups"])
    return options


def judge(program: dp.ParametricLP, values: Floats, answer: Answer) -> Row:
    """The true worth of an answer.

    Violations are counted in exact arithmetic, and measured in units of the right-hand sides,
    which are all 1e7; the budgets are the first rows.
    """
    if answer.x is None:
        return {"converged": False}
    truth = form(program).at(values)
    slack = true_slack(program, values, answer.x)
    budgets = slack[: np.unique(form(program).A.row).size]  # the rows that read prices
    return {
        "converged": answer.converged,
        "suboptimality": relative_loss(solve(truth).objective, float(truth.c @ answer.x)),
        "violated": float((slack < 0).mean()),
        "violated_rows": int((slack < 0).sum()),
        "violated_budgets": float((budgets < 0).mean()),
        "worst_violation": float(np.abs(slack.min(initial=0.0))) / BUDGET,
    }


def comparison_rows(frame: pd.DataFrame, keys: Sequence[str]) -> list[Row]:
    """One row per combination of `keys`: means in percent with 95 % intervals.

    Draws without an answer count in ``converged_percent`` alone. ``seconds`` is the median time of
    the method itself, on whatever machine ran it.
    """

    def row(key: Row, part: pd.DataFrame) -> Row:
        answered = part.dropna(subset=["suboptimality"])
        return {
            "draws": len(part),
            **_percent("suboptimality", answered, "ci"),
            **_percent("violated", answered, "violated_ci"),
            **_percent("violated_budgets", answered, "violated_budgets_ci"),
            "worst_violation": float(answered["worst_violation"].max()),
            "converged_percent": 100.0 * float(part["converged"].mean()),
            "seconds": float(part["seconds"].median()),
        }

    return tabled(frame, keys, row)


def _percent(column: str, part: pd.DataFrame, ends: str) -> Row:
    mean = mean_interval(100.0 * part[column].to_numpy(dtype=float))
    return mean.row(f"{column}_percent", ends=ends)
