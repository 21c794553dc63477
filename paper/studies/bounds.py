"""How far the accuracy bounds are from what privacy really costs.

Each draw is a random database of one problem; for it, the mean loss of simulated releases, the
certified bounds, the upper limit that the simulation gives (too small with probability 1e-6 at
most), the instance bound of a few releases and, where the paper's theorem applies (Algorithm 1 on a
small program, where its Hoffman constant is exact), that theorem as repaired and as printed. The
printed Λ divides by zero; ``printed`` uses Λ at the Slater point and is otherwise as printed.

==================  ============================================================================
``small``           two variables, everything private, Algorithm 1
``auction``         ad auction, private prices also in the objective, database release
``list-price``      the same with public list prices as objective
``hazard-grid``     the grid of the CMDP experiment with its own database, database release
==================  ============================================================================
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

import dp_cmdp as dp
from paper.baselines import METHODS
from paper.blocks import entrywise, form
from paper.bounds.accuracy import accuracy_bound, sampled_limit
from paper.bounds.instance import instance_bound
from paper.bounds.theorem import paper_bound
from paper.linear import Floats
from paper.metrics import mean_interval
from paper.policies import occupancy_program
from paper.problems.auction import BUDGET, ad_auction, random_auction
from paper.problems.grids import scenario
from paper.runner import Row, Setting, Sweep, stream
from paper.study import Study, tabled

#: The δ of the paper's experiments.
DELTA = "1/10"
#: The release of each problem.
PROBLEMS = {
    "small": "blocks",
    "auction": "entries",
    "list-price": "entries",
    "hazard-grid": "entries",
}
#: Powers of two, from strong to weak privacy.
EPSILONS = ("1/4", "1/2", "1", "2", "4", "8")
#: Releases per database: simulated for the loss and its limit, and made for the instance bound.
SIMULATED, QUICK_SIMULATED, RELEASES = 500, 200, 10
COLUMNS = (
    "loss",
    "instance",
    "sampled",
    "certified_mean",
    "certified_certain",
    "repaired",
    "printed",
)
#: Databases that lose less than this share of their optimum are left out of ratios.
NOTHING = 1e-6
#: Problems with one database: their draws are pooled.
ONE_DATABASE = ("hazard-grid",)


def sweeps(draws: int, quick: bool) -> tuple[Sweep, ...]:
    """In a quick run every other ε and fewer simulated releases."""
    epsilons, simulated = (EPSILONS[::2], QUICK_SIMULATED) if quick else (EPSILONS, SIMULATED)
    settings = tuple(
        {"problem": p, "epsilon": e, "simulated": simulated} for p in PROBLEMS for e in epsilons
    )
    return (Sweep(draw_bounds, settings, draws, chunk=2),)


def draw_bounds(setting: Setting, seed: int, draw: int) -> Row:
    """Loss and bounds of one random database, relative to its optimum."""
    name, budget = setting["problem"], dp.PrivacyBudget(setting["epsilon"], DELTA)
    program, values = problem(name, stream(seed, draw, name))
    bound = accuracy_bound(program, values, budget, mechanism=PROBLEMS[name])
    rng, size = stream(seed, draw, name, "simulation"), abs(bound.optimum)
    runs = _runs(name, program, values, budget, setting["simulated"], rng)
    c = form(program).at(values).c
    losses = np.array([bound.optimum - float(c @ run[0]) for run in runs])
    excess = [_instance(name, program, values, run) for run in runs[:RELEASES]]
    limit = sampled_limit(losses, optimum=bound.optimum, largest=bound.certain)
    row: Row = {
        "loss": float(losses.mean()),
        "instance": float(losses.mean() + np.mean(excess - losses[:RELEASES])),
        "sampled": limit,
        "certified_mean": bound.mean,
        "certified_certain": bound.certain,
    }
    scaled = {key: value / size for key, value in row.items()}
    return scaled | _theorem(name, program, values, budget, size)


#: The answer, what was known of the released entries, and what was taken for them.
Run = tuple[Any, Any, Any]


def _runs(
    name: str,
    program: dp.ParametricLP,
    values: Floats,
    budget: dp.PrivacyBudget,
    count: int,
    rng: np.random.Generator,
) -> list[Run]:
    """Simulated releases and their answers."""
    if PROBLEMS[name] == "blocks":
        made = (
            METHODS["benvenuti2025"].run(program, values, budget, rng=rng) for _ in range(count)
        )
        return [(run.x, run.known, run.estimate) for run in made]
    found: Any = dp.simulate(
        program,
        values,
        epsilon=budget.epsilon,
        delta=budget.delta,
        strategy=dp.Strategy.entries(law="laplace"),
        draws=count,
        seed=int(rng.integers(2**31)),
    )
    return [(run.x, run.release.uncertainty, run.estimate) for run in found]


def _instance(name: str, program: dp.ParametricLP, values: Floats, run: Run) -> float:
    """The instance bound of one release."""
    x, known, estimate = run
    if PROBLEMS[name] == "blocks":
        whole = entrywise(program)
        program, values = whole.program, whole.values(values)
    return instance_bound(program, known, entries=values, estimate=estimate, x=x)


def _theorem(
    name: str, program: dp.ParametricLP, values: Floats, budget: dp.PrivacyBudget, size: float
) -> Row:
    if name != "small":
        return {"repaired": None, "printed": None}
    repaired = paper_bound(program, values, budget=budget)
    printed = paper_bound(
        program, values, budget=budget, form="printed-slater", hoffman=repaired.hoffman
    )
    return {"repaired": repaired.value / size, "printed": printed.value / size}


def problem(name: str, rng: np.random.Generator) -> tuple[dp.ParametricLP, Floats]:
    """A named problem with a random database."""
    if name == "small":
        envelope = small_program().envelope
        return small_program(), rng.uniform(envelope.lower, envelope.upper)
    if name == "auction":
        return ad_auction(), random_auction(ad_auction(), rng)
    if name == "list-price":
        listed = form(list_price_auction()).c.constant.toarray().ravel()
        prices = np.clip(listed + rng.uniform(-0.2, 0.2, listed.size), 0.0, 1.0)
        budgets = np.full(list_price_auction().envelope.size - prices.size, BUDGET)
        return list_price_auction(), np.concatenate([prices, budgets])
    grid = scenario()
    return occupancy_program(grid.model), grid.values


@lru_cache(maxsize=1)
def small_program() -> dp.ParametricLP:
    """Two variables, two private rows, private right-hand sides and objective."""
    theta = dp.Envelope.join(
        {
            "A": dp.Envelope(0.2, 1.0, radius=0.02, shape=(2, 2)),
            "b": dp.Envelope(0.8, 1.2, radius=0.02, shape=2),
            "c": dp.Envelope(0.5, 1.5, radius=0.02, shape=2),
        }
    )
    return dp.ParametricLP(maximize=theta["c"], A=theta["A"], b=theta["b"])


@lru_cache(maxsize=1)
def list_price_auction() -> dp.ParametricLP:
    """The auction with public list prices as objective; true prices, near them, are private."""
    base = ad_auction()
    return base.with_objective(maximize=np.random.default_rng(99).random(base.lower.size))


def table(frame: pd.DataFrame) -> list[Row]:
    """Means over databases, in percent of the optimum, and ratios of bounds of the mean to losses.

    ``ratio`` (certified) and ``sampled_ratio`` are medians over the databases that lose at least
    0.0001 % of their optimum (less is too little to be measured), and ratios of means over the
    draws of a problem that has one database only.
    """

    def row(key: Row, part: pd.DataFrame) -> Row:
        judged = part
        if key["problem"] in ONE_DATABASE:
            judged = part[["loss", "sampled", "certified_mean"]].mean().to_frame().T
        losing = judged[judged["loss"] >= NOTHING]
        return {
            **{f"{name}_percent": _percent(part[name]) for name in COLUMNS},
            **_interval(part["loss"]),
            "ratio": _median_ratio(losing, "certified_mean"),
            "sampled_ratio": _median_ratio(losing, "sampled"),
            "databases": len(judged),
            "losing": len(losing),
        }

    return tabled(frame, ("problem", "epsilon"), row)


def summary(rows: list[Row]) -> dict[str, Any]:
    """The ratios of each problem in words."""
    texts = []
    for name in dict.fromkeys(row["problem"] for row in rows):
        part = [row for row in rows if row["problem"] == name and row["ratio"] is not None]
        if part:
            spans = (_span([row[key] for row in part]) for key in ("ratio", "sampled_ratio"))
            texts.append("{}: certified {}, sampled {}".format(name, *spans))
    note = "Bound of the mean over mean loss, median of databases, from smallest to largest: "
    return {"note": note + "; ".join(texts) + "."}


def _span(ratios: list[float]) -> str:
    return f"{min(ratios):.2f} to {max(ratios):.2f}"


def _median_ratio(part: pd.DataFrame, column: str) -> float | None:
    return float((part[column] / part["loss"]).median()) if len(part) else None


def _interval(column: pd.Series[Any]) -> Row:
    """95 % interval of the mean loss over draws."""
    mean = mean_interval(100.0 * column)
    return {"loss_low_percent": max(mean.low, 0.0), "loss_high_percent": mean.high}


def _percent(column: pd.Series[Any]) -> float | None:
    mean = 100.0 * float(column.astype(float).mean())
    return None if np.isnan(mean) else mean


STUDY = Study(
    name="bounds",
    about="accuracy bounds and what is lost: certified, repaired, printed",
    sweeps=sweeps,
    table=table,
    figure="bounds:bounds_figure",
    draws=20,
    quick_draws=3,
    summary=summary,
    columns=(
        "problem", "epsilon", "loss_percent", "sampled_percent", "certified_mean_percent",
        "certified_certain_percent", "repaired_percent", "printed_percent", "ratio",
    ),
)  # fmt: skip
