"""What privacy with certainty costs as problems grow: auctions, grids, and all shipped layouts.

Every draw of an auction has fresh prices; every five draws of a grid are a fresh grid, whose means
make the intervals; layouts, and the known 12 × 12 grid (on which plans were developed), are fixed,
and draws differ in the noise. Losses are in percent of the true optimum. ``limit`` is no method: no
mechanism with certain answers loses less on average (:mod:`dp_cmdp.theory.certainty_limit`); it is
computed where that takes seconds. The robust answer uses no data: (ε, δ) = (0, 0).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from dp_cmdp.accounting.budget import PrivacyBudget
from dp_cmdp.experiments.scale_cases import (
    FIRST,
    Case,
    auction_case,
    grid_case,
    layout_case,
)
from dp_cmdp.experiments.sweep import Row, Setting, Sweep, stream
from dp_cmdp.metrics import Interval, mean_interval
from dp_cmdp.theory.certainty_limit import certainty_limit

if TYPE_CHECKING:
    import pandas as pd

METHODS = ("benvenuti2025", "database", "planned")
AUCTIONS = (10, 30, 100, 300, 1000)
GRIDS = (12, 20, 30, 40)
EPSILONS = ("1/2", "1", "2", "4")
DELTA, WEAK_DELTA = "1/1000", "1/10"
RADII = (0.1, 1.0)
STARTS = ("corner", "uniform")
#: The largest auction and grid whose limit is computed, and with how many neighbours.
LIMIT_AUCTION, LIMIT_GRID, LIMIT_NEIGHBOURS = 100, 12, 4
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


def sweep(*, draws: int, seed: int = 0) -> Sweep:
    """The sweep behind ``dp-cmdp reproduce scale``."""
    problems = (
        *_auctions(AUCTIONS, RADII),
        *_grids(GRIDS, RADII),
        *_layouts(),
        *_known_grids(),
    )
    return _sweep(problems, draws=draws, seed=seed, epsilons=EPSILONS)


def quick_sweep(*, draws: int, seed: int = 0) -> Sweep:
    """Small problems at ε = 1, without limits of fresh grids."""
    problems = (
        *(part for part in _auctions((10, 30, 100), (0.1,)) if part["delta"] == DELTA),
        *_grids((12,), RADII),
        *_layouts(),
        *_known_grids(),
    )
    return _sweep(problems, draws=draws, seed=seed, epsilons=("1",), limit_grid=0)


def _sweep(
    problems: Iterable[Setting],
    *,
    draws: int,
    seed: int,
    epsilons: Sequence[str],
    limit_grid: int = LIMIT_GRID,
) -> Sweep:
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
    small = [part for part in listed if _has_limit(part, limit_grid)]
    limits = settings(("limit",), small)
    every = tuple(
        part for part in limits if _is_fresh_grid(part) and part["epsilon"] == EVERY_LIMIT_EPSILON
    )
    return Sweep(
        name="scale",
        function=draw_losses,
        settings=settings(METHODS, listed),
        draws=draws,
        seed=seed,
        chunk=10,
        beside=(
            Sweep("robust", draw_losses, robust, draws=draws, seed=seed, chunk=10),
            Sweep(
                "limit",
                draw_losses,
                tuple(part for part in limits if part not in every),
                draws=min(draws, LIMIT_DRAWS),
                seed=seed,
                chunk=10,
            ),
            Sweep("limit of every grid", draw_losses, every, draws=draws, seed=seed, chunk=10),
        ),
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
    from dp_cmdp.envs.catalogue import layout_names, named_layout

    for name in layout_names():
        envelope = named_layout(name).envelope()
        entry = envelope.index("severity").ravel()
        radius = float(envelope.radius[entry[0]])
        yield {
            "problem": f"layout {name}",
            "size": entry.size,
            "radius": radius,
            "delta": DELTA,
        }


def _takes_long(problem: Setting) -> bool:
    kind, size = problem["problem"].split()[0], problem["size"]
    return size >= {"auction": LONG_AUCTION, "grid": LONG_GRID}.get(kind, size + 1)


def _is_fresh_grid(problem: Setting) -> bool:
    return problem["problem"].split()[0] == "grid"


def _has_limit(problem: Setting, limit_grid: int) -> bool:
    kind, size = problem["problem"].split()[0], problem["size"]
    most = {"auction": LIMIT_AUCTION, "grid": limit_grid}
    return size <= most.get(kind, size)


def draw_losses(setting: Setting, seed: int, draws: Sequence[int]) -> list[Row]:
    """Loss, exact violations and plan of one method on one problem, one row per draw."""
    method = setting["method"]
    # the robust answer needs a budget to be called with, and does not use it
    budget = (
        PrivacyBudget(1, DELTA)
        if method == "robust"
        else PrivacyBudget(setting["epsilon"], setting["delta"])
    )
    rows: list[Row] = []
    for draw in draws:
        case = _case(setting, seed, draw)
        if method == "limit":
            rows.append({"suboptimality": _limit(case, budget), "violated": 0, "plan": None})
        else:
            rows.append(case.outcome(method, budget, stream(seed, FIRST + draw, "noise")))
    return rows


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
def _limit(case: Case, budget: PrivacyBudget) -> float:
    """The least mean loss of any mechanism, as a share of the optimum; once per fixed problem."""
    bound = certainty_limit(case.program, case.database, budget, neighbours=LIMIT_NEIGHBOURS)
    return float(bound.suboptimality_percent) / 100.0


def rows(frame: pd.DataFrame) -> list[Row]:
    """The printed table: means in percent with 95 % intervals, exact violations, plans."""
    table: list[Row] = []
    for values, part in frame.groupby(list(KEYS), sort=False):
        key: Row = dict(zip(KEYS, values, strict=True))
        mean = _mean(key, part)
        table.append(
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
    return table


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
    """95th percentile, over draws, of what the plan loses relative to the database release.

    None where the database release loses nothing worth counting in any draw.
    """
    place = list(KEYS[:-1])
    is_here = (frame[place] == [key[name] for name in place]).all(axis=1)
    lost = frame[is_here].pivot(index="draw", columns="method", values="suboptimality")
    if "database" not in lost:
        return None
    seen = lost[lost["database"] > NEGLIGIBLE].dropna(subset=["planned"])
    return float(np.quantile(seen["planned"] / seen["database"], 0.95)) if len(seen) else None


def summary(table: Sequence[Row]) -> dict[str, Any]:
    """Violations, and where the plan loses more than the database release."""
    at = {tuple(row[name] for name in KEYS): row["suboptimality_percent"] for row in table}
    ratios = {
        key[:-1]: lost / base
        for key, lost in at.items()
        if key[-1] == "planned" and (base := at.get((*key[:-1], "database"), 0.0)) > NEGLIGIBLE
    }
    worst = max(ratios, key=ratios.__getitem__, default=None)
    facts = {
        "violations": sum(row["violations"] for row in table),
        "planned_over_database": {
            "median": float(np.median(list(ratios.values()))) if ratios else None,
            "largest": None if worst is None else ratios[worst],
            "where": None if worst is None else dict(zip(KEYS, worst, strict=False)),
        },
    }
    return facts | {"note": _sentence(facts)}


def _sentence(facts: dict[str, Any]) -> str:
    found = facts["planned_over_database"]
    told = f"Violations, in exact arithmetic: {facts['violations']}."
    if found["where"] is not None:
        place = ", ".join(f"{name} {value}" for name, value in found["where"].items())
        told += (
            " Mean loss of the plan over that of the database release: median "
            f"{found['median']:.3g}, at most {found['largest']:.3g} ({place})."
        )
    return told
