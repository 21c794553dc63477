"""What privacy with certainty costs as problems grow: auctions, grids, and all shipped layouts.

Every draw of an auction has fresh prices; every five draws of a grid are a fresh grid, whose means
make the intervals; layouts, and the known 12 × 12 grid (on which strategies were developed), are
fixed, and draws differ in the noise. Losses are in percent of the true optimum. ``limit`` is no
method: no mechanism with certain answers loses less on average (:func:`dp_cmdp.curator.limit`); it
is computed where that takes seconds. The robust answer uses no data: (ε, δ) = (0, 0).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

import dp_cmdp as dp
from paper.baselines import METHODS as SYSTEMS
from paper.baselines.ours import chosen, entries, simulated
from paper.blocks import equal_shares, form, true_slack
from paper.linear import Floats, solve
from paper.metrics import Interval, mean_interval, relative_loss
from paper.policies import kept, occupancy_program, optimum, perturbed_costs
from paper.problems.auction import growing_auction, random_auction
from paper.problems.grids import random_grid, scenario
from paper.runner import Row, Setting, Sweep, stream
from paper.study import Study

if TYPE_CHECKING:
    import pandas as pd

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
LONG_AUCTION, LONG_GRID, LONG_EPSILON = 1000, 30, "1"
#: Losses below this share count as none when two methods are compared draw by draw.
NEGLIGIBLE = 1e-6
KEYS = ("problem", "size", "radius", "epsilon", "delta", "method")


def sweeps(draws: int, quick: bool) -> tuple[Sweep, ...]:
    """In a quick run small problems at ε = 1, without limits of fresh grids."""
    if quick:
        problems = (
            *(part for part in _auctions((10, 30, 100), (0.1,)) if part["delta"] == DELTA),
            *_grids((12,), RADII),
            *_layouts(),
            *_known_grids(),
        )
        return _sweeps(problems, draws=draws, epsilons=("1",), limit_grid=0)
    problems = (*_auctions(AUCTIONS, RADII), *_grids(GRIDS, RADII), *_layouts(), *_known_grids())
    return _sweeps(problems, draws=draws, epsilons=EPSILONS, limit_grid=LIMIT_GRID)


def _sweeps(
    problems: Iterable[Setting], *, draws: int, epsilons: Sequence[str], limit_grid: int
) -> tuple[Sweep, ...]:
    listed = list(problems)

    def settings(methods: Sequence[str], parts: Iterable[Setting]) -> tuple[Setting, ...]:
        return tuple(
            {**part, "epsilon": epsilon, "method": method}
            for part in parts
            for epsilon in epsilons
            for method in methods
            if epsilon == LONG_EPSILON or not _takes_long(part)
        )

    public = {tuple(part.values())[:3]: part for part in listed}.values()  # whatever δ
    robust = tuple({**p, "delta": "0", "epsilon": "0", "method": "robust"} for p in public)
    limits = settings(("limit",), [part for part in listed if _has_limit(part, limit_grid)])
    every = tuple(
        part for part in limits if _is_fresh_grid(part) and part["epsilon"] == EVERY_LIMIT_EPSILON
    )
    some = tuple(part for part in limits if part not in every)
    return (
        Sweep(draw_loss, settings(METHODS, listed), draws, chunk=10),
        Sweep(draw_loss, robust, draws, chunk=10),
        Sweep(draw_loss, some, min(draws, LIMIT_DRAWS), chunk=10),
        Sweep(draw_loss, every, draws, chunk=10),
    )


def _auctions(sizes: Sequence[int], radii: Sequence[float]) -> Iterable[Setting]:
    for size in sizes:
        for radius in radii:
            for delta in (DELTA, WEAK_DELTA):
                yield {"problem": "auction", "size": size, "radius": radius, "delta": delta}


def _grids(sizes: Sequence[int], radii: Sequence[float]) -> Iterable[Setting]:
    for start in STARTS:
        for size in sizes:
            for radius in radii:
                name = f"grid {start}"
                yield {"problem": name, "size": size, "radius": radius, "delta": DELTA}


def _known_grids() -> Iterable[Setting]:
    for part in _grids((12,), RADII):
        yield {**part, "problem": f"known {part['problem']}"}


def _layouts() -> Iterable[Setting]:
    """All of the package; their size is the number of candidates, their radius the severities'."""
    for name in dp.envs.layout_names():
        layout = dp.envs.named_layout(name)
        size = sum(len(kind.cells) for kind in layout.kinds)
        radius = float(scenario(name).model.envelope.radius[0])
        yield {"problem": f"layout {name}", "size": size, "radius": radius, "delta": DELTA}


def _takes_long(problem: Setting) -> bool:
    kind, size = problem["problem"].split()[0], problem["size"]
    return size >= {"auction": LONG_AUCTION, "grid": LONG_GRID}.get(kind, size + 1)


def _is_fresh_grid(problem: Setting) -> bool:
    return problem["problem"].split()[0] == "grid"


def _has_limit(problem: Setting, limit_grid: int) -> bool:
    kind, size = problem["problem"].split()[0], problem["size"]
    most = {"auction": LIMIT_AUCTION, "grid": limit_grid}
    return size <= most.get(kind, size)


@dataclass(frozen=True, slots=True, eq=False)
class AuctionCase:
    """An auction with its prices and the true optimum."""

    problem: dp.ParametricLP
    values: Floats
    optimum: float

    def outcome(self, method: str, budget: dp.PrivacyBudget, rng: np.random.Generator) -> Row:
        """What one answer loses, the rows it violates exactly, and its strategy."""
        answer = SYSTEMS[method].run(self.problem, self.values, budget, rng=rng)
        if answer.x is None:
            raise dp.errors.SolverError(answer.note)
        achieved = float(form(self.problem).at(self.values).c @ answer.x)
        return {
            "suboptimality": relative_loss(self.optimum, achieved),
            "violated": int((true_slack(self.problem, self.values, answer.x) < 0).sum()),
            "plan": chosen(self.problem, budget).name if method == "planned" else None,
        }


@dataclass(frozen=True, slots=True, eq=False)
class PolicyCase:
    """A grid with its hazards and the value of the best policy."""

    problem: dp.ParametricCMDP
    values: Floats
    optimum: float

    def outcome(self, method: str, budget: dp.PrivacyBudget, rng: np.random.Generator) -> Row:
        """What one policy loses, whether it is unsafe, and its strategy."""
        found = self._answer(method, budget, rng)
        value = self.problem.value(found.policy, self.values)
        safe = bool(found.certificate) and kept(self.problem, self.values, found.policy)
        return {
            "suboptimality": max(relative_loss(self.optimum, value), 0.0),
            "violated": int(not safe),
            "plan": chosen(self.problem, budget).name if method == "planned" else None,
        }

    def _answer(self, method: str, budget: dp.PrivacyBudget, rng: np.random.Generator) -> Any:
        model = self.problem
        if method == "robust":
            return _robust(model)
        if method == "benvenuti2025":
            alphas = equal_shares(form(occupancy_program(model)))
            made, found = perturbed_costs(model, self.values, budget, alphas=alphas, rng=rng)
            return made.answer(found.known)
        strategy = (chosen if method == "planned" else entries)(model, budget)
        return simulated(model, self.values, budget, strategy, rng)


@lru_cache(maxsize=16)
def _robust(model: dp.ParametricCMDP) -> Any:
    return dp.answer(model)


Case = AuctionCase | PolicyCase


def auction_case(size: int, *, radius: float, seed: int, draw: int) -> AuctionCase:
    """An auction of `size` groups with the prices of a draw."""
    program = growing_auction(size, radius=radius)
    values = random_auction(program, stream(seed, FIRST + draw))
    return AuctionCase(program, values, solve(form(program).at(values)).objective)


@lru_cache(maxsize=8)
def grid_case(
    size: int, *, radius: float, start: str, seed: int = 0, draw: int | None = None
) -> PolicyCase:
    """The grid of a draw, or the known one."""
    rng = np.random.default_rng(KNOWN_GRID) if draw is None else stream(seed, FIRST + draw)
    model, values = random_grid(size, rng, radius=radius, start=start)
    return PolicyCase(model, values, optimum(model, values))


@lru_cache(maxsize=8)
def layout_case(name: str) -> PolicyCase:
    """A layout of the package with the hazards that come with it."""
    found = scenario(name)
    return PolicyCase(found.model, found.values, found.optimum)


def draw_loss(setting: Setting, seed: int, draw: int) -> Row:
    """Loss, exact violations and strategy of one method on one problem."""
    method = setting["method"]
    # the robust answer needs a budget to be called with, and does not use it
    budget = (
        dp.PrivacyBudget(1, DELTA)
        if method == "robust"
        else dp.PrivacyBudget(setting["epsilon"], setting["delta"])
    )
    case = _case(setting, seed, draw)
    if method == "limit":
        return {"suboptimality": _limit(case, budget), "violated": 0, "plan": None}
    return case.outcome(method, budget, stream(seed, FIRST + draw, "noise"))


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
    rows: list[Row] = []
    for values, part in frame.groupby(list(KEYS), sort=False):
        key: Row = dict(zip(KEYS, values, strict=True))
        mean = _mean(key, part)
        rows.append(
            {
                **{name: key[name] for name in ("problem", "size")},
                **{name: float(Fraction(str(key[name]))) for name in ("epsilon", "delta")},
                **{name: key[name] for name in ("radius", "method")},
                "suboptimality_percent": mean.mean,
                "ci_low": max(mean.low, 0.0),
                "ci_high": mean.high,
                "draws": len(part),
                "violations": int(part["violated"].sum()),
                "plan": _plans(part["plan"].dropna().tolist()),
                "ratio_95": _ratio(frame, key) if key["method"] == "planned" else None,
            }
        )
    return rows


def _mean(key: Row, part: pd.DataFrame) -> Interval:
    """The mean loss in percent; draws on the same fresh grid count as one."""
    lost = 100.0 * part["suboptimality"]
    if _is_fresh_grid(key):
        lost = lost.groupby(part["draw"] // NOISES_PER_GRID).mean()
    return mean_interval(lost.to_numpy())


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
    worst = max(ratios, key=ratios.__getitem__, default=None)
    said = {
        "violations": sum(row["violations"] for row in rows),
        "planned_over_database": {
            "median": float(np.median(list(ratios.values()))) if ratios else None,
            "largest": None if worst is None else ratios[worst],
            "where": None if worst is None else dict(zip(KEYS, worst, strict=False)),
        },
    }
    return said | {"note": _sentence(said)}


def _sentence(said: dict[str, Any]) -> str:
    found = said["planned_over_database"]
    text = f"Violations, in exact arithmetic: {said['violations']}."
    if found["where"] is not None:
        place = ", ".join(f"{name} {value}" for name, value in found["where"].items())
        text += (
            " Mean loss of the chosen strategy over that of the database release: median "
            f"{found['median']:.3g}, at most {found['largest']:.3g} ({place})."
        )
    return text


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
