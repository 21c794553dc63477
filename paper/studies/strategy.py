"""What the default strategy loses beside every strategy that it chooses from, on fresh problems.

Problems are those of :data:`paper.problems.classes.REPORTED`, on whose classes, sizes and seeds no
constant was chosen; every draw is a fresh database and fresh noise, the same for all methods.
Losses are in percent of the true optimum. ``auto`` is the default, ``robust`` reads no data, the
others are what is chosen from. No mechanism with certain answers loses less than ``limit`` in the
mean (:func:`dp_cmdp.curator.limit`), over the first draws. ``choose_seconds`` is what choosing
takes before the debit, ``solve_seconds`` a private answer with its strategy given.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

import dp_cmdp as dp
from paper.baselines.ours import simulated
from paper.metrics import mean_interval, outcome
from paper.problems import classes
from paper.runner import Row, Setting, Sweep, stream
from paper.study import Study, tabled

EPSILONS, DELTA, SMALL_DELTA = ("3/10", "1", "3", "10"), "1/1000", "1/1000000"
#: ε at which the small δ is tried, too, and ε of a quick run.
SMALL_EPSILONS, QUICK_EPSILONS = ("1", "10"), ("1",)
RADIUS = 0.1
#: Draws whose limit is computed.
LIMIT_DRAWS = 5
MENU: dict[str, Any] = {
    strategy.name: strategy
    for strategy in (
        dp.Strategy.entries(),
        dp.Strategy.queries(share=0, safety=1.0, shift=0.25),
        dp.Strategy.worst_row(share=0, safety=1.0, shift=0.25),
        *(dp.Strategy.best_queries(share=part) for part in ("1/5", "7/20", "13/20")),
    )
}
KEYS = ("problem", "class", "size", "epsilon", "delta", "method")
#: Losses in percent below which two methods, or the limit, are not compared.
NEGLIGIBLE = 0.05


def sweeps(draws: int, quick: bool) -> tuple[Sweep, ...]:
    """In a quick run ε = 1 only, without what is chosen from."""
    methods = ("auto", "entries", "robust") if quick else ("auto", *MENU, "robust")
    budgets = [(epsilon, DELTA) for epsilon in (QUICK_EPSILONS if quick else EPSILONS)]
    budgets += [] if quick else [(epsilon, SMALL_DELTA) for epsilon in SMALL_EPSILONS]
    settings = [
        {**problem, "epsilon": epsilon, "delta": delta, "method": method}
        for problem in problems(classes.REPORTED)
        for epsilon, delta in budgets
        for method in methods
    ]
    return (Sweep(draw_loss, tuple(settings), draws, chunk=5),)


def problems(listed: Sequence[tuple[str, dict[str, Any], int]]) -> Iterator[Setting]:
    """Settings of the problems of a list."""
    for name, sizes, seed in listed:
        text = " ".join([name, *map(str, sizes.values())])
        yield {"problem": text, "class": name, "sizes": sizes, "seed": seed}


@lru_cache(maxsize=4)
def _problem(name: str, seed: int, **sizes: Any) -> Any:
    return classes.CLASSES[name](np.random.default_rng(seed), RADIUS, **sizes)


@lru_cache(maxsize=64)
def _chosen(problem: Any, budget: dp.PrivacyBudget) -> tuple[dp.Strategy, float]:
    """The default strategy, and the seconds that its choice takes: from public data."""
    middle = (problem.envelope.lower + problem.envelope.upper) / 2
    asked = {"epsilon": budget.epsilon, "delta": budget.delta, "draws": 1}
    dp.answer(problem)
    began = time.perf_counter()
    strategy = dp.simulate(problem, middle, **asked).strategy
    chosen = time.perf_counter() - began
    began = time.perf_counter()
    dp.simulate(problem, middle, strategy=strategy, **asked)
    return strategy, max(chosen - (time.perf_counter() - began), 0.0)


def draw_loss(setting: Setting, seed: int, draw: int) -> Row:
    """Loss, exact violations and seconds of one method on one database."""
    problem = _problem(setting["class"], setting["seed"], **setting["sizes"])
    values = classes.truth(problem, stream(seed, draw, "database", setting["problem"]))
    budget, method = dp.PrivacyBudget(setting["epsilon"], setting["delta"]), setting["method"]
    chosen, limit = (None, None), None
    if method == "auto":
        chosen = _chosen(problem, budget)
        if draw < LIMIT_DRAWS:
            spent = {"epsilon": budget.epsilon, "delta": budget.delta}
            limit = 100.0 * float(dp.curator.limit(problem, values, **spent))
    began = time.perf_counter()
    if method == "robust":
        found = dp.answer(problem)
    else:
        rng = stream(seed, draw, "noise")
        strategy = MENU[method] if chosen[0] is None else chosen[0]
        found = simulated(problem, values, budget, strategy, rng)
    seconds = time.perf_counter() - began
    best = dp.answer(problem.at(values)).value
    judged = outcome(problem, values, found, best)
    return {
        "loss": 100.0 * judged["suboptimality"],
        "violated": judged["violated"],
        "limit": limit,
        "choose": chosen[1],
        "solve": seconds,
        "size": problem.envelope.size,
        "strategy": None if chosen[0] is None else chosen[0].name,
    }


def table(frame: pd.DataFrame) -> list[Row]:
    """One row per setting; losses are means in percent with 95 % intervals."""
    limits: Any = frame.groupby(["problem", "epsilon", "delta"])["limit"].mean()

    def row(key: Row, part: pd.DataFrame) -> Row:
        limit = limits[key["problem"], key["epsilon"], key["delta"]]
        choose = part["choose"].median()
        return {
            **mean_interval(part["loss"]).row("loss_percent"),
            "draws": len(part),
            "violations": int(part["violated"].sum()),
            "limit_percent": None if np.isnan(limit) else float(limit),
            "choose_seconds": None if np.isnan(choose) else float(choose),
            "solve_seconds": float(part["solve"].median()),
        }

    return tabled(frame, KEYS, row)


def summary(rows: Sequence[Row]) -> dict[str, Any]:
    """The default against the best of its own strategies, the entries, and the limit."""
    at: dict[tuple[Any, ...], dict[str, Row]] = {}
    for row in rows:
        at.setdefault(tuple(row[name] for name in KEYS[:-1]), {})[row["method"]] = row
    hindsight, limits, worse = [], [], 0
    for found in at.values():
        auto = found["auto"]
        others = [found[name]["loss_percent"] for name in (*MENU, "robust") if name in found]
        hindsight.append(_ratio(auto["loss_percent"], min(others)))
        worse += auto["ci_low"] > 1.05 * found["entries"]["ci_high"]
        limit = auto["limit_percent"] or 0.0
        limits += [auto["loss_percent"] / limit] if limit > NEGLIGIBLE else []
    said = {
        "violations": sum(row["violations"] for row in rows),
        "settings": len(at),
        "over_hindsight": float(np.mean(hindsight)),
        "over_hindsight_above_1.1": float(np.mean(np.array(hindsight) > 1.1)),
        "worse_than_entries": worse,
        "over_limit": float(np.exp(np.mean(np.log(limits)))) if limits else None,
        "with_limit": len(limits),
    }
    limited = "" if not limits else f"{said['over_limit']:.3g} times the limit in {len(limits)}; "
    note = (
        f"Violations, in exact arithmetic: {said['violations']}. The default loses "
        f"{said['over_hindsight']:.3g} times what the best of its own strategies does in the mean, "
        f"more than 1.1 times in {said['over_hindsight_above_1.1']:.0%} of {len(at)} settings; "
        f"{limited}it loses clearly more than the entries in {worse}."
    )
    return said | {"note": note}


def _ratio(lost: float, least: float) -> float:
    """Of losses; what is negligible counts as that much."""
    return max(lost, NEGLIGIBLE) / max(least, NEGLIGIBLE)


STUDY = Study(
    name="strategy",
    about="the default strategy beside all that it chooses from, on problems of eleven classes",
    sweeps=sweeps,
    table=table,
    figure="strategy:strategy_figure",
    draws=100,
    quick_draws=3,
    summary=summary,
    columns=(
        "problem", "size", "epsilon", "delta", "method", "loss_percent", "violations",
        "limit_percent", "choose_seconds", "solve_seconds",
    ),
)  # fmt: skip
