"""What privacy with certainty costs as problems grow: auctions, grids, and all shipped layouts.

Every draw of an auction has fresh prices; every five draws of a grid are a fresh grid, whose means
make the intervals; layouts, and the known 12 × 12 grid (on which strategies were developed), are
fixed, and draws differ in the noise. Losses are in percent of the true optimum. ``limit`` is no
method: no mechanism with certain answers loses less on average (:func:`dp_cmdp.curator.limit`); it
is computed where that takes seconds. The robust answer uses no data: (ε, δ) = (0, 0).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

import dp_cmdp as dp
from paper.baselines import METHODS as SYSTEMS
from paper.baselines.ours import chosen, entries, simulated
from paper.blocks import equal_shares, form
from paper.linear import Floats, solve
from paper.metrics import mean_interval, outcome
from paper.policies import occupancy_program, optimum, perturbed_costs
from paper.problems.auction import growing_auction, random_auction
from paper.problems.grids import random_grid, scenario
from paper.runner import Row, Setting, Sweep, stream
from paper.study import Study, tabled

#: Draws before this number are those on which constants were chosen.
FIRST = 1000
#: The grid of the measurements that the menu was chosen on, beside the fresh ones.
KNOWN_GRID = 0
METHODS = ("benvenuti2025", "database", "planned")
AUCTIONS = (10, 30, 100, 300, 1000)
GRIDS = (12, 20, 30, 40)
EPSILONS = ("1/2", "1", "2", "4")
DELTA, WEAK_DELTA = "1/1000", "1/10"
RADII = (0.1, 1.0)
STARTS = ("corner", "uniform")
#: The largest auction and grid whose limit is computed.
LIMIT_AUCTION, LIMIT_GRID = 100, 12
#: Limits are computed in so many draws; of fresh grids at this ε, where they are compared with them
#: one by one, in all.
LIMIT_DRAWS, EVERY_LIMIT_EPSILON = 20, "1"
#: Noises drawn for every fresh grid.
NOISES_PER_GRID = 5
#: Auctions and grids from these sizes on are run at ε = 1 only: they take most of the time.
LONG, LONG_EPSILON = {"auction": 1000, "grid": 30}, "1"
#: Losses below this share count as none when two methods are compared draw by draw.
NEGLIGIBLE = 1e-6
KEYS = ("problem", "size", "epsilon", "delta", "radius", "method")


def sweeps(draws: int, quick: bool) -> tuple[Sweep, ...]:
    """In a quick run small problems at ε = 1, without limits of fresh grids."""
    sizes, radii, deltas = AUCTIONS, RADII, (DELTA, WEAK_DELTA)
    grids, epsilons, limit_grid = GRIDS, EPSILONS, LIMIT_GRID
    if quick:
        sizes, radii, deltas = (10, 30, 100), (0.1,), (DELTA,)
        grids, epsilons, limit_grid = (12,), ("1",), 0
    problems = [
        {"problem": "auction", "size": size, "radius": radius, "delta": delta}
        for size, radius, delta in product(sizes, radii, deltas)
    ]
    problems += [*_grids("grid", grids), *_layouts(), *_grids("known grid", (12,))]
    largest = {"auction": LIMIT_AUCTION, "grid": limit_grid}

    def settings(methods: Sequence[str], parts: Iterable[Setting]) -> tuple[Setting, ...]:
        return tuple(
            {**part, "epsilon": epsilon, "method": method}
            for part, epsilon, method in product(parts, epsilons, methods)
            if epsilon == LONG_EPSILON or part["size"] < LONG.get(_kind(part), math.inf)
        )

    public = {tuple(part.values())[:3]: part for part in problems}.values()  # whatever δ
    robust = tuple({**p, "delta": "0", "epsilon": "0", "method": "robust"} for p in public)
    limited = [part for part in problems if part["size"] <= largest.get(_kind(part), math.inf)]
    limits = settings(("limit",), limited)
    every = tuple(s for s in limits if (_kind(s), s["epsilon"]) == ("grid", EVERY_LIMIT_EPSILON))
    some = tuple(part for part in limits if part not in every)
    return (
        Sweep(draw_loss, settings(METHODS, problems), draws, chunk=10),
        Sweep(draw_loss, robust, draws, chunk=10),
        Sweep(draw_loss, some, min(draws, LIMIT_DRAWS), chunk=10),
        Sweep(draw_loss, every, draws, chunk=10),
    )


def _grids(name: str, sizes: Sequence[int]) -> Iterable[Setting]:
    for start, size, radius in product(STARTS, sizes, RADII):
        yield {"problem": f"{name} {start}", "size": size, "radius": radius, "delta": DELTA}


def _layouts() -> Iterable[Setting]:
    """All of the package; their size is the number of candidates, their radius the severities'."""
    for name in dp.envs.layout_names():
        layout = dp.envs.named_layout(name)
        size = sum(len(kind.cells) for kind in layout.kinds)
        radius = float(scenario(name).model.envelope.radius[0])
        yield {"problem": f"layout {name}", "size": size, "radius": radius, "delta": DELTA}


def _kind(problem: Setting) -> str:
    """The kind of a problem: auction, (fresh) grid, known (grid), or layout."""
    return problem["problem"].split()[0]


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """A problem with its private numbers and the best value."""

    problem: Any
    values: Floats
    optimum: float

    def answer(self, method: str, budget: dp.PrivacyBudget, rng: np.random.Generator) -> Any:
        """One answer of a method."""
        if method != "benvenuti2025":
            strategy = (chosen if method == "planned" else entries)(self.problem, budget)
            return simulated(self.problem, self.values, budget, strategy, rng)
        if isinstance(self.problem, dp.ParametricLP):
            return SYSTEMS[method].run(self.problem, self.values, budget, rng=rng)
        alphas = equal_shares(form(occupancy_program(self.problem)))
        made, found = perturbed_costs(self.problem, self.values, budget, alphas=alphas, rng=rng)
        return made.answer(found.known)


@lru_cache(maxsize=16)
def _robust(problem: Any) -> Any:
    return dp.answer(problem)


def auction_case(size: int, *, radius: float, seed: int, draw: int) -> Case:
    """An auction of `size` groups with the prices of a draw."""
    program = growing_auction(size, radius=radius)
    values = random_auction(program, stream(seed, FIRST + draw))
    return Case(program, values, solve(form(program).at(values)).objective)


@lru_cache(maxsize=8)
def grid_case(
    size: int, *, radius: float, start: str, seed: int = 0, draw: int | None = None
) -> Case:
    """The grid of a draw, or the known one."""
    rng = np.random.default_rng(KNOWN_GRID) if draw is None else stream(seed, FIRST + draw)
    model, values = random_grid(size, rng, radius=radius, start=start)
    return Case(model, values, optimum(model, values))


@lru_cache(maxsize=8)
def layout_case(name: str) -> Case:
    """A layout of the package with the hazards that come with it."""
    found = scenario(name)
    return Case(found.model, found.values, found.optimum)


def draw_loss(setting: Setting, seed: int, draw: int) -> Row:
    """Loss, exact violations and strategy of one method on one problem."""
    method, case, plan = setting["method"], _case(setting, seed, draw), None
    if method == "robust":  # without a budget
        found = _robust(case.problem)
    else:
        budget = dp.PrivacyBudget(setting["epsilon"], setting["delta"])
        if method == "limit":
            return {"suboptimality": _limit(case, budget), "violated": 0, "plan": None}
        found = case.answer(method, budget, stream(seed, FIRST + draw, "noise"))
        plan = chosen(case.problem, budget).name if method == "planned" else None
    return outcome(case.problem, case.values, found, case.optimum) | {"plan": plan}


def _case(setting: Setting, seed: int, draw: int) -> Case:
    kind, *words = setting["problem"].split()
    size, radius = setting["size"], setting["radius"]
    if kind == "auction":
        return auction_case(size, radius=radius, seed=seed, draw=draw)
    if kind == "layout":
        return layout_case(words[0])
    if kind == "known":
        return grid_case(size, radius=radius, start=words[-1])
    return grid_case(size, radius=radius, start=words[-1], seed=seed, draw=draw // NOISES_PER_GRID)


@lru_cache(maxsize=16)
def _limit(case: Case, budget: dp.PrivacyBudget) -> float:
    """The least mean loss of any mechanism, as a share of the optimum; once per fixed problem."""
    return float(
        dp.curator.limit(case.problem, case.values, epsilon=budget.epsilon, delta=budget.delta)
    )


def table(frame: pd.DataFrame) -> list[Row]:
    """The printed table: means in percent with 95 % intervals, exact violations, plans."""

    def row(key: Row, part: pd.DataFrame) -> Row:
        lost = 100.0 * part["suboptimality"]
        if _kind(key) == "grid":  # draws on the same fresh grid count as one
            lost = lost.groupby(part["draw"] // NOISES_PER_GRID).mean()
        return {
            **mean_interval(lost).row("suboptimality_percent", least=0.0),
            "draws": len(part),
            "violations": int(part["violated"].sum()),
            "plan": _plans(part["plan"].dropna().tolist()),
            "ratio_95": _ratio(frame, key) if key["method"] == "planned" else None,
        }

    return tabled(frame, KEYS, row)


def _plans(chosen: Sequence[str]) -> str | None:
    """The plans of all draws, most frequent first, with shares where there are several."""
    counts = Counter(chosen).most_common()
    if len(counts) <= 1:
        return counts[0][0] if counts else None
    return ", ".join(f"{name} in {count} of {len(chosen)}" for name, count in counts)


def _ratio(frame: pd.DataFrame, key: Row) -> float | None:
    """95th percentile, over draws, of what the strategy loses relative to the database release.

    None where the database release loses nothing worth counting in any draw.
    """
    place = list(KEYS[:-1])
    is_here = (frame[place] == [key[name] for name in place]).all(axis=1)
    lost = frame[is_here].pivot(index="draw", columns="method", values="suboptimality")
    if "database" not in lost:
        return None
    seen = lost[lost["database"] > NEGLIGIBLE].dropna(subset=["planned"])
    return float(np.quantile(seen["planned"] / seen["database"], 0.95)) if len(seen) else None


def summary(rows: Sequence[Row]) -> dict[str, Any]:
    """Violations, and where the chosen strategy loses more than the database release."""
    at = {tuple(row[name] for name in KEYS): row["suboptimality_percent"] for row in rows}
    ratios = {
        key[:-1]: lost / base
        for key, lost in at.items()
        if key[-1] == "planned" and (base := at.get((*key[:-1], "database"), 0.0)) > NEGLIGIBLE
    }
    violations = sum(row["violations"] for row in rows)
    text = f"Violations, in exact arithmetic: {violations}."
    found: Row = dict.fromkeys(("median", "largest", "where"))
    if ratios:
        worst = max(ratios, key=ratios.__getitem__)
        where = dict(zip(KEYS, worst, strict=False))
        middle = float(np.median(list(ratios.values())))
        found = {"median": middle, "largest": ratios[worst], "where": where}
        place = ", ".join(f"{name} {value}" for name, value in where.items())
        text += (
            " Mean loss of the chosen strategy over that of the database release: median "
            f"{middle:.3g}, at most {ratios[worst]:.3g} ({place})."
        )
    return {"violations": violations, "planned_over_database": found, "note": text}


STUDY = Study(
    name="scale",
    about="what privacy costs as problems grow: auctions, grids, layouts, the limit",
    sweeps=sweeps,
    table=table,
    figure="scale:scale_figure",
    draws=100,
    quick_draws=6,
    summary=summary,
    columns=(
        "problem", "size", "radius", "epsilon", "method", "suboptimality_percent", "delta",
        "violations", "plan",
    ),
    fewest_draws=6,
)  # fmt: skip
