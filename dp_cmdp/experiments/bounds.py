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

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from dp_cmdp.accounting.budget import PrivacyBudget
from dp_cmdp.data.affine import Affine
from dp_cmdp.data.database import Database
from dp_cmdp.data.envelope import Envelope
from dp_cmdp.experiments.sweep import Row, Setting, Sweep, stream
from dp_cmdp.metrics import mean_interval
from dp_cmdp.problems.ad_auction import BUDGET, ad_auction_program, random_auction
from dp_cmdp.program.linear_program import solve
from dp_cmdp.program.parametric import ParametricLP
from dp_cmdp.release.blocks import release_blocks
from dp_cmdp.release.entries import release_database
from dp_cmdp.release.solve import solve_private
from dp_cmdp.theory.accuracy import accuracy_bound
from dp_cmdp.theory.one_release import instance_bound
from dp_cmdp.theory.paper.printed_bound import paper_bound

if TYPE_CHECKING:
    import pandas as pd

#: The δ of the paper's experiments.
DELTA = "1/10"
#: The release of each problem.
PROBLEMS = {
    "small": "blocks",
    "auction": "database",
    "list-price": "database",
    "hazard-grid": "database",
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


def sweep(
    *,
    draws: int,
    seed: int = 0,
    epsilons: Sequence[str] = EPSILONS,
    simulated: int = SIMULATED,
) -> Sweep:
    """The sweep behind ``dp-cmdp reproduce bounds``."""
    settings = tuple(
        {"problem": p, "epsilon": e, "simulated": simulated} for p in PROBLEMS for e in epsilons
    )
    return Sweep("bounds", draw, settings, draws, seed, chunk=2)


def quick_sweep(*, draws: int, seed: int = 0) -> Sweep:
    """Every other ε and fewer simulated releases."""
    return sweep(draws=draws, seed=seed, epsilons=EPSILONS[::2], simulated=QUICK_SIMULATED)


def draw(setting: Setting, seed: int, draws: Sequence[int]) -> list[Row]:
    """Loss and bounds, relative to the optimum, one row per random database."""
    name, budget = setting["problem"], PrivacyBudget(setting["epsilon"], DELTA)
    rows: list[Row] = []
    for number in draws:
        program, database = problem(name, stream(seed, number, name))
        bound = accuracy_bound(
            program,
            database,
            budget,
            mechanism=PROBLEMS[name],
            draws=setting["simulated"],
            rng=stream(seed, number, name, "simulation"),
        )
        assert bound.sampled is not None
        size = abs(float(bound.optimum))
        loss = float(bound.sampled.estimate)
        noise = stream(seed, number, name, "noise")
        excess = _instance_excess(name, program, database, budget, noise, float(bound.optimum))
        rows.append(
            {
                "loss": loss / size,
                "instance": (loss + excess) / size,
                "sampled": float(bound.sampled.limit) / size,
                "certified_mean": float(bound.mean) / size,
                "certified_certain": float(bound.certain) / size,
                **_theorem(name, program, database, budget, size),
            }
        )
    return rows


def _instance_excess(
    name: str,
    program: ParametricLP,
    database: Database,
    budget: PrivacyBudget,
    rng: np.random.Generator,
    optimum: float,
) -> float:
    """By how much the instance bound exceeds the loss, on average over a few releases."""
    c = program.at(database.values).c
    found = []
    for _ in range(RELEASES):
        if PROBLEMS[name] == "database":
            release = release_database(database, budget, rng=rng)
        else:
            shares = program.equal_shares
            release = release_blocks(database, budget, program=program, alphas=shares, rng=rng)
        if name == "hazard-grid":
            lp = program.robust(release.lower, release.upper)
            x = solve(lp, certify=False).x[: program.num_variables]
        else:
            x = solve_private(program, release).x
        bound = instance_bound(program, release, database=database, x=x)
        found.append(float(bound) - (optimum - float(c @ x)))
    return float(np.mean(found))


def _theorem(
    name: str, program: ParametricLP, database: Database, budget: PrivacyBudget, size: float
) -> Row:
    if name != "small":
        return {"repaired": None, "printed": None}
    repaired = paper_bound(program, database, budget=budget)
    printed = paper_bound(
        program, database, budget=budget, form="printed-slater", hoffman=repaired.hoffman
    )
    return {"repaired": float(repaired.value) / size, "printed": float(printed.value) / size}


def problem(name: str, rng: np.random.Generator) -> tuple[ParametricLP, Database]:
    """A named problem with a random database: *curator only*."""
    if name == "small":
        program = _small()
        envelope = program.envelope
        return program, Database(rng.uniform(envelope.lower, envelope.upper), envelope)
    if name == "auction":
        program = ad_auction_program()
        return program, random_auction(program, rng)
    if name == "list-price":
        program = list_price_auction()
        shape = dict(program.envelope.groups)["prices"]
        prices = np.clip(
            program.c.constant.reshape(shape) + rng.uniform(-0.2, 0.2, shape), 0.0, 1.0
        )
        values = {"prices": prices, "budgets": np.full(shape[1], BUDGET)}
        return program, Database(values, program.envelope)
    return _hazard_grid()


@lru_cache(maxsize=1)
def _small() -> ParametricLP:
    envelope = Envelope.join(
        {
            "A": Envelope(0.2, 1.0, radius=0.02, shape=(2, 2)),
            "b": Envelope(0.8, 1.2, radius=0.02, shape=2),
            "c": Envelope(0.5, 1.5, radius=0.02, shape=2),
        }
    )
    return ParametricLP(
        envelope,
        c=Affine(2, at=[0, 1], entry=envelope.index("c")),
        A=Affine((2, 2), at=tuple(np.indices((2, 2))), entry=envelope.index("A")),
        b=Affine(2, at=[0, 1], entry=envelope.index("b")),
    )


@lru_cache(maxsize=1)
def list_price_auction() -> ParametricLP:
    """The auction with public list prices as objective; true prices, near them, are private."""
    base = ad_auction_program()
    listed = np.random.default_rng(99).random(base.num_variables)
    return replace(base, c=listed)


def _hazard_grid() -> tuple[ParametricLP, Database]:
    """The grid of the CMDP experiment with its own database."""
    from dp_cmdp.experiments.cost_of_privacy import scenario

    found = scenario()
    return found.program, found.database


def rows(frame: pd.DataFrame) -> list[Row]:
    """Means over databases, in percent of the optimum, and ratios of bounds of the mean to losses.

    ``ratio`` (certified) and ``sampled_ratio`` are medians over the databases that lose at least
    0.0001 % of their optimum (less is too little to be measured), and ratios of means over the
    draws of a problem that has one database only.
    """
    found: list[Row] = []
    for (name, epsilon), part in frame.groupby(["problem", "epsilon"], sort=False):
        judged = _pooled(part) if name in ONE_DATABASE else part
        losing = judged[judged["loss"] >= NOTHING]
        found.append(
            {
                "problem": name,
                "epsilon": float(Fraction(str(epsilon))),
                **{f"{key}_percent": _percent(part[key]) for key in COLUMNS},
                **_interval(part["loss"]),
                "ratio": _median_ratio(losing, "certified_mean"),
                "sampled_ratio": _median_ratio(losing, "sampled"),
                "databases": len(judged),
                "losing": len(losing),
            }
        )
    return found


def summary(found: list[Row]) -> dict[str, Any]:
    """The ratios of each problem in words."""
    texts = []
    for name in dict.fromkeys(row["problem"] for row in found):
        part = [row for row in found if row["problem"] == name and row["ratio"] is not None]
        if part:
            spans = (_span([row[key] for row in part]) for key in ("ratio", "sampled_ratio"))
            texts.append("{}: certified {}, sampled {}".format(name, *spans))
    note = "Bound of the mean over mean loss, median of databases, from smallest to largest: "
    return {"note": note + "; ".join(texts) + "."}


def _span(ratios: list[float]) -> str:
    return f"{min(ratios):.2f} to {max(ratios):.2f}"


def _pooled(part: pd.DataFrame) -> pd.DataFrame:
    """Draws of one database as one row of means."""
    return part[["loss", "sampled", "certified_mean"]].mean().to_frame().T


def _median_ratio(part: pd.DataFrame, column: str) -> float | None:
    return float((part[column] / part["loss"]).median()) if len(part) else None


def _interval(column: pd.Series[Any]) -> Row:
    """95 % interval of the mean loss over draws; none from a single one."""
    if len(column) < 2:
        return {"loss_low_percent": None, "loss_high_percent": None}
    mean = mean_interval(100.0 * column.to_numpy(dtype=float))
    return {"loss_low_percent": max(mean.low, 0.0), "loss_high_percent": mean.high}


def _percent(column: pd.Series[Any]) -> float | None:
    values = np.array([v for v in column.tolist() if v is not None], dtype=float)
    return None if values.size == 0 or np.isnan(values).all() else float(100 * np.mean(values))
