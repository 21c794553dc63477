"""What an episode costs, certified and simulated: policies of discounted and of episode costs.

Safe reinforcement learning measures the sum of the costs of an episode. Answers are made for the
discounted cost (the package's layouts have a discount) and for the sum over the horizon, with the
same limits; of both, episodes are simulated at the database of the release that leaves the
constraint the least room. A certified episode cost must lie in its interval, which misses it with a
chance of 10⁻⁶; a discounted one may be exceeded.

Private numbers are invented and public: those of the simulations that come with the layouts, and
the middles of the bounds elsewhere. A draw is a batch of episodes of one answer, whose noise is
that of the study's seed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import dp_cmdp as dp
from paper.problems.grids import scenario
from paper.runner import Row, Setting, Sweep, stream
from paper.study import Study

if TYPE_CHECKING:
    import pandas as pd

    from paper.linear import Floats

#: Episodes of a draw.
BATCH = 10_000
#: Steps of an episode of a layout.
HORIZON = 100
EPSILONS, DELTA, GAMMA = ("4", "20"), "1/1000", 0.95
CRITERIA = ("discounted", "episode")
#: The chance that an interval misses the mean.
ALARM = 1e-6
#: What costs in environments of others, and their own time limits (CliffWalking has none).
UNIT = dp.Envelope(0, 1, radius=0.1)
ENVIRONMENTS: dict[str, Any] = {
    "FrozenLake-v1": ({"states": [5, 7, 11, 12], "on": "entering"}, 0.1, 100),
    "CliffWalking-v1": ({"states": list(range(25, 35))}, 2.0, 100),
    "Taxi-v4": ({"actions": [4, 5]}, 1.0, 200),
    "MiniGrid-LavaGapS6-v0": ({"cells": [(1, 3), (2, 3), (4, 3)], "on": "entering"}, 0.05, 144),
}
KEYS = ("environment", "criterion", "epsilon")


def sweeps(draws: int, quick: bool) -> tuple[Sweep, ...]:
    """In a quick run without MiniGrid and Taxi, at one ε."""
    names = [f"layout {name}" for name in dp.envs.layout_names()] + list(ENVIRONMENTS)
    if quick:
        names = names[:-2]
    settings = tuple(
        {"environment": name, "criterion": criterion, "epsilon": epsilon}
        for name in names
        for criterion in CRITERIA
        for epsilon in (EPSILONS[-1:] if quick else EPSILONS)
    )
    return (Sweep(draw_costs, settings, draws, chunk=5),)


@lru_cache(maxsize=4)
def case(name: str, criterion: str) -> tuple[dp.ParametricCMDP, Floats, int]:
    """Problem, private numbers and the steps of an episode."""
    kind, _, own = name.partition(" ")
    if kind == "layout":
        said: dict[str, Any] = {"horizon": HORIZON} if criterion == "episode" else {}
        return dp.envs.HazardGridEnv(own).model(**said), scenario(own).values, HORIZON
    places, limit, steps = ENVIRONMENTS[name]
    said = {"horizon": steps} if criterion == "episode" else {"gamma": GAMMA}
    more: dict[str, Any] = {}
    if name.startswith("MiniGrid"):
        more = {"seed": 0, "reward": lambda paid: float(paid > 0)}
    costs = dp.PrivateCost(**places, cost=UNIT, limit=limit)
    model = dp.gymnasium.load(name, costs=costs, check=False, **said, **more)
    return model, (model.envelope.lower + model.envelope.upper) / 2, steps


@lru_cache(maxsize=4)
def answered(name: str, criterion: str, epsilon: str, seed: int) -> Any:
    """The answer of one release."""
    model, values, _ = case(name, criterion)
    asked: dict[str, Any] = {"epsilon": epsilon, "delta": DELTA, "strategy": "entries"}
    return next(iter(dp.simulate(model, values, **asked, draws=1, seed=seed)))


def draw_costs(setting: Setting, seed: int, draw: int) -> Row:
    """Sums of the costs of a batch of episodes, and of their squares; what is certified."""
    name, criterion, epsilon = (setting[key] for key in KEYS)
    model, _, steps = case(name, criterion)
    found = answered(name, criterion, epsilon, seed)
    worst = found.worst_databases()
    costs = np.array([model.at(theta).cost[k] for k, theta in enumerate(worst)])
    paid = episodes(model, found.policy, costs, steps, stream(seed, draw, name, criterion, epsilon))
    certified, limit = found.costs_at_worst()
    return {
        "names": list(model.names),
        "horizon": steps,
        "certified": certified.tolist(),
        "limit": limit.tolist(),
        "sum": paid.sum(axis=1).tolist(),
        "squares": (paid**2).sum(axis=1).tolist(),
    }


def episodes(
    model: Any, policy: dp.Policy, costs: Floats, steps: int, rng: np.random.Generator
) -> Floats:
    """The costs (K, episodes) of a batch, stepped at once from the model's transitions."""
    levels, successors = _rows(model.T)
    paid = np.zeros((len(costs), BATCH))
    states = rng.choice(model.num_states, size=BATCH, p=model.start / model.start.sum())
    for t in range(steps):
        time = np.full(BATCH, t) if policy.horizon is not None else None
        actions = policy.sample(states, rng, time)
        paid += costs[:, states, actions]
        pair = states * model.num_actions + actions
        place = (rng.random(BATCH)[:, None] * levels[pair, -1:] >= levels[pair]).sum(axis=1)
        states = successors[pair, place]
    return paid


def _rows(T: Any) -> tuple[Floats, NDArray[np.int64]]:
    """Cumulated chances and successors of every pair, in rows of one length."""
    longest = int(np.diff(T.indptr).max())
    chances, successors = np.zeros((T.shape[0], longest)), np.zeros((T.shape[0], longest), np.int64)
    row = np.repeat(np.arange(T.shape[0]), np.diff(T.indptr))
    place = np.arange(T.nnz) - T.indptr[row]
    chances[row, place], successors[row, place] = T.data, T.indices
    return np.cumsum(chances, axis=1), successors


def table(frame: pd.DataFrame) -> list[Row]:
    """One row per constraint: what is certified, and what episodes cost."""
    rows: list[Row] = []
    z = NormalDist().inv_cdf(1 - ALARM / 2)
    for values, part in frame.groupby(list(KEYS), sort=False):
        key: Row = dict(zip(KEYS, values, strict=True))
        first, count = part.iloc[0], BATCH * len(part)
        certified, limit = (np.mean(part[name].tolist(), axis=0) for name in ("certified", "limit"))
        mean = np.sum(part["sum"].tolist(), axis=0) / count
        spread = np.sum(part["squares"].tolist(), axis=0) / count - mean**2
        half = z * np.sqrt(np.maximum(spread, 0.0) / count) + math.ulp(1.0) * count
        for k, name in enumerate(first["names"]):
            kind = "" if len(first["names"]) == 1 else f" ({name})"
            rows.append(
                {
                    "environment": key["environment"] + kind,
                    "criterion": key["criterion"],
                    "horizon": int(first["horizon"]),
                    "epsilon": float(key["epsilon"]),
                    "certified_cost": float(certified[k]),
                    "simulated_cost": float(mean[k]),
                    "ci_low": float(mean[k] - half[k]),
                    "ci_high": float(mean[k] + half[k]),
                    "limit": float(limit[k]),
                    "episodes": count,
                }
            )
    return rows


def summary(rows: Sequence[Row]) -> dict[str, Any]:
    """Where simulated episodes disagree with the certificate, and where they break the limit."""
    wrong = [row["environment"] for row in rows if row["criterion"] == "episode"
             and not row["ci_low"] <= row["certified_cost"] <= row["ci_high"]]  # fmt: skip
    over = [row for row in rows if row["ci_low"] > row["limit"]]
    worst = max((row["simulated_cost"] / row["limit"] - 1 for row in over), default=0.0)
    own = [row["environment"] for row in over if row["criterion"] == "episode"]
    note = (
        f"Certified episode costs outside of their interval: {len(wrong)}. Limits broken in "
        f"episodes: {len(own)} by policies of episode costs, {len(over) - len(own)} by those of "
        f"discounted costs, by up to {100 * worst:.0f} %."
    )
    return {"disagree": wrong, "broken": len(over), "worst_percent": 100 * worst, "note": note}


STUDY = Study(
    name="episode-costs",
    about="costs of episodes, certified and simulated, under discounted and episode criteria",
    sweeps=sweeps,
    table=table,
    figure="episode_costs:episode_costs_figure",
    draws=10,
    quick_draws=2,
    summary=summary,
    fewest_draws=1,
)
