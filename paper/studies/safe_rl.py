"""Training on private costs: what episodes cost while a learner trains, with a shield and without.

Private numbers are invented, and entries published with simulated noise. An episode has a fixed
number of steps, and its cost and return are sums over them, as safe reinforcement learning reports
them; costs are charged at the worst database that the release allows, with the limit of that
database. Policies that are solved for are evaluated exactly: for the release (*synthesised*),
without data (*robust*) and at the truth (*non-private*, which knows it). Tabular Q-learning
explores less and less and learns from the action that was played; PPO runs where Stable-Baselines3
is installed, and sees the banks and the time under a shield. Without a shield nothing keeps a
limit: the learner does not know the costs. After training the last third of the episodes counts.
"""

from __future__ import annotations

from functools import cache, lru_cache, partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np

import dp_cmdp as dp
from paper.metrics import mean_interval
from paper.runner import Row, Setting, Sweep
from paper.study import Study

if TYPE_CHECKING:
    import pandas as pd

EPSILON, DELTA = 4, "1/1000"
#: Steps of an episode.
HORIZON = 100
LAYOUTS = ("corridor", "crossing", "rooms", "islands")
#: Of Gymnasium's own: places that may cost something, on what they are charged, and the limit.
LAKE = {"states": [5, 7, 11, 12], "on": "entering", "limit": 0.1}
EDGE = {"states": list(range(25, 35)), "on": "occupying", "limit": 1.0}
TABLES = {"FrozenLake-v1": LAKE, "CliffWalking-v1": EDGE}
SOLVED = ("synthesised", "robust", "non-private")
LEARNERS = ("Q", "Q, shield", "Q, shield, improve")
DEEP, DEEP_WORLDS = ("PPO", "PPO, shield, improve"), ("crossing", "FrozenLake-v1")
#: Environment steps of a training run, of one of PPO, and of a quick one; points of a curve.
STEPS, DEEP_STEPS, QUICK_STEPS, BINS = 100_000, 5_000, 2_000, 10
#: Training runs of PPO per setting: one takes ten times as long per step.
DEEP_DRAWS = 2
#: Of Q-learning; the learners' own discount.
RATE, EXPLORED, GAMMA = 0.2, (1.0, 0.05), 0.97


@cache
def world(name: str) -> tuple[Any, dp.ParametricCMDP]:
    """How an environment is made, and its model with private costs."""
    if name in TABLES:
        said = dict(TABLES[name])
        cost = dp.PrivateCost(dp.Envelope(0, 1, radius=0.1), said.pop("limit"), **said)
        return partial(gym.make, name), dp.gymnasium.load(name, horizon=HORIZON, costs=cost)
    make = partial(dp.envs.HazardGridEnv, name)
    return make, make().model(horizon=HORIZON)


@lru_cache(maxsize=64)
def published(name: str, seed: int, draw: int) -> tuple[Any, Any]:
    """Invented numbers, and the answer from a simulated release of them."""
    _, model = world(name)
    low, high = model.envelope.lower, model.envelope.upper
    values = low + (high - low) * np.random.default_rng([seed, draw]).beta(0.7, 1.3, low.size)
    runs = dp.simulate(model, values, epsilon=EPSILON, delta=DELTA, draws=1, seed=seed + draw,
                       strategy="entries")  # fmt: skip
    return values, runs[0]


class Recorded(gym.Wrapper[Any, Any, Any, Any]):
    """What each episode earns and costs, and the step at which it ends."""

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self.episodes: list[tuple[float, float, int]] = []
        self.steps = 0

    def reset(self, **options: Any) -> Any:
        self.earned = self.spent = 0.0
        return self.env.reset(**options)

    def step(self, action: Any) -> Any:
        seen, reward, terminated, truncated, info = self.env.step(int(action))
        self.earned += float(reward)
        self.spent += info["cost"]
        self.steps += 1
        if terminated or truncated:
            self.episodes.append((self.earned, self.spent, self.steps))
        return seen, reward, terminated, truncated, info


def draw_run(setting: Setting, seed: int, draw: int) -> Row:
    """One policy, or one training run, in one environment."""
    name, method = setting["environment"], setting["method"]
    make, model = world(name)
    values, found = published(name, seed, draw)
    worst = model.at(found.worst_databases()[0])
    before = dp.evaluate(worst, found.policy).value
    said = {"limit": float(worst.limit[0]), "policy_return": before}
    if method in SOLVED:
        policy = {"synthesised": found, "robust": found.robust,
                  "non-private": dp.answer(model.at(values))}[method].policy  # fmt: skip
        done = dp.evaluate(worst, policy)
        return said | _row(np.full(BINS, done.value), np.full(BINS, done.costs[0]))
    env: Any = gym.wrappers.TimeLimit(make().unwrapped, HORIZON)
    env = dp.gymnasium.ReleasedCosts(env, model, found.release)
    if "shield" in method:
        options: Any = {"improve": "improve" in method, "observe_bank": method in DEEP}
        env = dp.gymnasium.Shield(env, found, **options, seed=seed + draw)
    env = Recorded(env)
    learn = _learn_ppo if method in DEEP else _learn_q
    learn(env, model, setting["steps"], seed + draw)
    earned, spent, steps = (np.array(part) for part in zip(*env.episodes, strict=True))
    bins = np.minimum(BINS * steps // setting["steps"], BINS - 1).astype(int)
    count = np.maximum(np.bincount(bins, minlength=BINS), 1)
    returns, costs = (np.bincount(bins, part, BINS) / count for part in (earned, spent))
    return said | _row(returns, costs, training=(float(earned.mean()), float(spent.mean())))


def _row(earned: np.ndarray, spent: np.ndarray, training: tuple[float, float] | None = None) -> Row:
    mean = training or (float(earned.mean()), float(spent.mean()))
    last = slice(-(BINS // 3), None)
    return {
        "training_return": float(mean[0]),
        "training_cost": float(mean[1]),
        "return": float(earned[last].mean()),
        "cost": float(spent[last].mean()),
        **{f"cost_{k}": float(part) for k, part in enumerate(spent)},
        **{f"return_{k}": float(part) for k, part in enumerate(earned)},
    }


def _learn_q(env: Any, model: dp.ParametricCMDP, steps: int, seed: int) -> None:
    """Tabular Q-learning from the actions that are played."""
    rng, table = np.random.default_rng(seed), np.zeros((model.num_states, model.num_actions))
    state, _ = env.reset(seed=seed)
    first, last = EXPLORED
    for step in range(steps):
        explore = first + (last - first) * min(2.0 * step / steps, 1.0)
        proposed = int(table[state].argmax())
        if rng.random() < explore:
            proposed = int(rng.integers(model.num_actions))
        seen, reward, terminated, truncated, info = env.step(proposed)
        played = info.get("shield", {}).get("played", proposed)
        ahead = 0.0 if terminated else GAMMA * table[seen].max()
        table[state, played] += RATE * (float(reward) + ahead - table[state, played])
        state = env.reset()[0] if terminated or truncated else seen


def _learn_ppo(env: Any, model: dp.ParametricCMDP, steps: int, seed: int) -> None:
    import torch  # pyright: ignore[reportMissingImports]
    from stable_baselines3 import PPO  # pyright: ignore[reportMissingImports]

    torch.set_num_threads(1)
    kind = "MultiInputPolicy" if isinstance(env.observation_space, gym.spaces.Dict) else "MlpPolicy"
    PPO(kind, env, gamma=GAMMA, n_steps=500, batch_size=100, seed=seed, device="cpu").learn(steps)


def sweeps(draws: int, quick: bool) -> tuple[Sweep, ...]:
    """Every method in every environment; PPO in two, in full runs, where it is installed."""
    steps = QUICK_STEPS if quick else STEPS
    plans: list[tuple[tuple[str, ...], tuple[str, ...], int, int]]
    plans = [((*LAYOUTS, *TABLES), (*SOLVED, *LEARNERS), steps, draws)]
    if find_spec("stable_baselines3") and not quick:
        plans.append((DEEP_WORLDS, DEEP, DEEP_STEPS, min(draws, DEEP_DRAWS)))
    return tuple(
        Sweep(
            draw_run,
            tuple(
                {"environment": name, "method": method, "steps": steps}
                for name in names
                for method in methods
            ),
            draws=seeds,
            chunk=1,
        )
        for names, methods, steps, seeds in plans
    )


def table(records: pd.DataFrame) -> list[Row]:
    """Means over seeds with 95 % intervals."""
    rows: list[Row] = []
    for (name, method), part in records.groupby(["environment", "method"], sort=False):
        row: Row = {"environment": name, "method": method, "limit": float(part["limit"].mean())}
        for column in ("training_return", "training_cost", "return", "cost"):
            found = mean_interval(part[column])
            row |= {column: found.mean, f"{column}_low": found.low, f"{column}_high": found.high}
        spent = mean_interval(part["training_cost"] / part["limit"])
        row |= spent.row("training_share", ends="share")
        gained = mean_interval(part["training_return"] - part["policy_return"])
        row |= gained.row("training_gain", ends="gain")
        for what, scale in (("cost", part["limit"]), ("return", 1.0)):
            ends = [mean_interval(part[f"{what}_{k}"] / scale) for k in range(BINS)]
            row[f"{what}_curve"] = [[each.low, each.mean, each.high] for each in ends]
        rows.append(row)
    return rows


def summary(rows: list[Row]) -> dict[str, Any]:
    """In how many environments training surely exceeds the limit, and surely earns less."""
    methods = dict.fromkeys(row["method"] for row in rows)
    of = {method: [row for row in rows if row["method"] == method] for method in methods}
    over = {method: sum(row["share_low"] > 1 for row in of[method]) for method in methods}
    less = {method: sum(row["gain_high"] < 0 for row in of[method]) for method in methods}
    told = ", ".join(f"{method} {over[method]} and {less[method]}" for method in methods)
    note = f"environments where training exceeds the limit, and earns less than its policy: {told}"
    return {"over": over, "less": less, "note": note}


STUDY = Study(
    name="safe-rl",
    about="costs of episodes while learners train, with a shield and without",
    sweeps=sweeps,
    table=table,
    figure="safe_rl:safe_rl_figure",
    draws=3,
    quick_draws=3,
    summary=summary,
    columns=("environment", "method", "training_share", "training_gain", "return", "cost"),
)
