"""Environments as models with private costs: what is charged, and proved, on their own P."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import dp_cmdp as dp
from dp_cmdp import Envelope, PrivateCost
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.gymnasium import load
from tests.cmdp.models import solved
from tests.frontends import rooms

HOLES = [5, 7, 11, 12]


def newest(name):
    """The newest registered version of an environment."""
    versions = [s.version for s in gym.registry.values() if s.name == name]
    return f"{name}-v{max(v for v in versions if v is not None)}"


ENVIRONMENTS = [newest(name) for name in ("FrozenLake", "CliffWalking", "Taxi")]


def lake(costs, *, slippery=True, gamma=0.95):
    return load(gym.make("FrozenLake-v1", is_slippery=slippery), gamma=gamma, costs=costs)


def holes(**change: Any):
    arguments: dict[str, Any] = {
        "states": HOLES,
        "on": "entering",
        "cost": Envelope(0, 1, radius=0.1),
        "limit": Envelope(0.05, 0.5, radius=0.01),
    }
    return PrivateCost(**{**arguments, **change})


def table_of(env):
    """P as lists, and where episodes begin."""
    P: Any = env.unwrapped.P
    rows = [[P[s][a] for a in range(len(P[0]))] for s in range(len(P))]
    return rows, env.unwrapped.initial_state_distrib


def swept(P, start, probabilities, price, gamma, steps=600):
    """Discounted cost by sweeps; price(s, a, n)."""
    value = np.zeros(len(P))
    for _ in range(steps):
        fresh = np.zeros(len(P))
        for s, actions in enumerate(P):
            for a, moves in enumerate(actions):
                for p, n, _, over in moves:
                    later = 0.0 if over else gamma * value[n]
                    fresh[s] += probabilities[s, a] * p * (price(s, a, n) + later)
        value = fresh
    return float(np.dot(start, value))


def exact_cost(P, start, probabilities, price, gamma):
    """Discounted cost of a policy on a table P, in fractions, by elimination."""
    size, gamma = len(P), Fraction(gamma)
    rows = []
    for state in range(size):
        row = [Fraction(int(state == n)) for n in range(size)] + [Fraction(0)]
        weights = [Fraction(float(p)) for p in probabilities[state]]
        for action, weight in enumerate(weights):
            mass = sum(Fraction(float(p)) for p, *_ in P[state][action])
            for p, successor, _, over in P[state][action]:
                chance = weight / sum(weights) * Fraction(float(p)) / mass
                row[-1] += chance * price(state, action, successor)
                if not over:
                    row[successor] -= gamma * chance
        rows.append(row)
    costs: Any = solved([row[:-1] for row in rows], [row[-1] for row in rows])
    masses = [Fraction(float(p)) for p in start]
    return sum(p * cost for p, cost in zip(masses, costs, strict=True)) / sum(masses)


# ---------------------------------------------------------------------------------- public models


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_values_match_sweeps_over_the_environments_own_table(name):
    gamma, env = 0.9, gym.make(name)
    P, start = table_of(env)
    model = load(env, gamma=gamma)
    assert (model.num_states, model.num_actions) == (len(P) + 1, len(P[0]))
    rng = np.random.default_rng(0)
    policy = dp.Policy(rng.dirichlet(np.ones(len(P[0])), len(P) + 1))
    rewards = {(s, a, n): r for s, row in enumerate(P) for a, moves in enumerate(row)
               for _, n, r, _ in moves}  # fmt: skip
    price = lambda *move: rewards[move]  # noqa: E731
    value = swept(P, start, policy.probabilities, price, gamma, steps=120)
    error = 2 * gamma**120 / (1 - gamma) * np.abs(model.r).max() + 1e-9
    assert dp.evaluate(model.at([]), policy).value == pytest.approx(value, abs=error)


def test_the_added_terminal_state_absorbs_and_is_never_entered():
    model = load("FrozenLake-v1", gamma=0.9)
    T, arrivals = (part.toarray().reshape(17, 4, 17) for part in (model.T, model.mdp.arrivals))
    assert (T[16, :, 16] == 1.0).all()
    assert not model.r[16].any()
    assert (T[5, :, 16] == 1.0).all()  # a hole ends the episode
    assert model.start[0] == 1.0
    assert T[4, 1, 16] == arrivals[4, 1, 5] == pytest.approx(1 / 3)
    assert T[4, 1, 5] == arrivals[4, 1, 16] == 0.0
    assert (T[0] == arrivals[0]).all()


@pytest.mark.parametrize(
    ("env", "change", "rule"),
    [
        ("NoSuchLake-v9", {}, "could not be made"),
        ("CartPole-v1", {}, "key must be given"),
        ("FrozenLake-v1", {"gamma": 1.0}, "gamma"),
        ("FrozenLake-v1", {"costs": 3}, "costs must be"),
    ],
)
def test_what_cannot_be_read_is_refused_with_a_reason(env, change, rule):
    with pytest.raises(InvalidArgumentError, match=rule):
        load(env, **{"gamma": 0.9, **change})


# ----------------------------------------------------------------------------------- private costs


@pytest.mark.parametrize("slippery", [True, False])
def test_the_certificate_holds_in_fractions_on_the_environments_own_table(slippery):
    P, start = table_of(gym.make("FrozenLake-v1", is_slippery=slippery))
    true = dict(zip(HOLES, map(Fraction, (1.0, 0.25, 0.75, 0.5)), strict=True))
    limit = 0.1
    data = {"cost": [float(c) for c in true.values()], "limit": limit}
    model = lake(holes(), slippery=slippery)
    found = dp.solve(model, data, epsilon=4, delta="1/1000", strategy="entries")
    assert found.certificate.verified
    price = lambda state, action, successor: true.get(successor, 0)  # noqa: E731
    cost = exact_cost(P, start, found.policy.probabilities, price, 0.95)
    assert cost <= Fraction(limit)
    careless = exact_cost(P, start, dp.Policy.uniform(17, 4).probabilities, price, 0.95)
    assert careless > Fraction(limit)  # the check can fail


KINDS: dict[str, tuple[dict[str, Any], Any]] = {
    "occupying": ({"states": [0, 1, 4]}, lambda s, a, n: {0: 0, 1: 1, 4: 2}.get(s)),
    "entering": (
        {"states": [5, 0, 1], "on": "entering"},
        lambda s, a, n: {5: 0, 0: 1, 1: 2}.get(n),
    ),
    "acting": ({"actions": [1, 3]}, lambda s, a, n: {1: 0, 3: 1}.get(a)),
    "pairs": (
        {"states": [0, 0, 4], "actions": [1, 2, 1]},
        lambda s, a, n: {(0, 1): 0, (0, 2): 1, (4, 1): 2}.get((s, a)),
    ),
    "cells": (
        {"cells": [(0, 0), (1, 1)], "on": "entering"},
        lambda s, a, n: {0: 0, 5: 1}.get(n),
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_charges_what_it_says(kind):
    places, owner = KINDS[kind]
    model = lake(PrivateCost(cost=Envelope(0, 1, radius=0.1), limit=5.0, **places))
    costs = np.linspace(0.25, 1.0, model.envelope.size)
    policy = dp.Policy(np.random.default_rng(3).dirichlet(np.ones(4), 17))
    P, start = table_of(gym.make("FrozenLake-v1", is_slippery=True))
    expected = swept(
        P,
        start,
        policy.probabilities,
        lambda s, a, n: 0.0 if (i := owner(s, a, n)) is None else costs[i],
        0.95,
    )
    found = dp.evaluate(model.at(costs), policy)
    assert found.costs[0] == pytest.approx(expected, rel=1e-9)
    assert expected > 0.05


def test_several_kinds_are_several_constraints_by_name():
    model = lake(
        {
            "hole": holes(limit=Envelope(0.1, 0.5)),
            "left": PrivateCost(actions=[0], cost=[1.0], limit=Envelope(2.0, 9.0)),
            "ice": PrivateCost(states=[0, 1], cost=Envelope(0, 1, radius=0.1), limit=8.0),
        }
    )
    assert model.names == ("hole", "left", "ice")
    groups = [group.name for group in model.envelope.groups]
    assert groups == ["hole.cost", "hole.limit", "left.limit", "ice.cost"]
    truth = model.at([0.5, 0.0, 0.0, 1.0, 0.3, 5.0, 0.0, 0.75])
    assert truth.limit.tolist() == [0.3, 5.0, 8.0]
    assert not truth.cost[1, :, 1:].any()
    assert not truth.cost[1, 16].any()  # the time after the end is free
    assert dp.answer(model).certificate.verified


def test_one_candidate_is_all_states_in_its_cell():
    key, cell = (lambda env: (env.place, env.opened)), (lambda key: key[0])
    cost = PrivateCost(cells=[(0, 1), (0, 2)], on="entering", cost=Envelope(0, 1), limit=1.0)
    model = load(rooms.Locked(), gamma=0.9, key=key, cell=cell, costs=cost)
    table = model.at([0.25, 1.0]).cost[0]
    for state, (place, _) in enumerate(model.environment.keys):
        if place == (0, 0):
            assert table[state].tolist() == [0.0, 0.0, 0.25, 0.0]
        if place == (0, 1):
            assert table[state, 2] == 1.0


def test_a_cell_in_which_some_episodes_end_is_charged_on_entering_it_only():
    """A taxi's drop-off ends the episode in its cell, where nobody acts any more."""

    def taxi(**change):
        places: dict[str, Any] = {"cells": [(0, 0)], "cost": Envelope(0, 1), "limit": 9.0}
        costs = PrivateCost(**{**places, **change})
        cell = lambda s: (s // 100, s // 20 % 5)  # noqa: E731
        return load(ENVIRONMENTS[2], gamma=0.9, cell=cell, costs=costs)

    with pytest.raises(InvalidArgumentError, match="moves end the episode in"):
        taxi()
    taxi(on="entering")
    taxi(cells=[(2, 2)])


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"states": [5, 5, 7, 11]}, "distinct"),
        ({"states": [0, 1, 2, 15], "on": "occupying"}, "moves end the episode in state 15"),
        ({"states": [5, 16]}, "state 16"),
        ({"cost": Envelope(-1, 1)}, "must not be negative"),
        (
            {"states": None, "cells": [(0, 1), (1, 1), (3, 3)], "on": "occupying"},
            r"cells must be left by an action.*in cells \(1, 1\), \(3, 3\), where",
        ),
        ({"states": None, "cells": [(0, 9)]}, "row 0, column 9 has none"),
    ],
)
def test_what_a_certificate_could_not_cover_is_refused(change, rule):
    with pytest.raises(InvalidArgumentError, match=rule):
        lake(holes(**change))


# ---------------------------------------------------------------------------------------- MiniGrid


def lava_room(**change: Any):
    lava = PrivateCost(
        cells=[(1, 3), (2, 3), (4, 3)], on="entering", cost=Envelope(0, 1, radius=0.1), limit=0.01
    )
    options = {"gamma": 0.97, "seed": 0, "reward": lambda paid: float(paid > 0), "costs": lava}
    return load("MiniGrid-LavaGapS6-v0", **{**options, **change})


def test_a_room_of_minigrid_is_explored_and_answered():
    room = lava_room()
    assert room.environment.shape == (6, 6)
    found = dp.answer(room)
    assert found.certificate.verified
    assert found.value > 0.5
    env = dp.gymnasium.StateObservation(gym.make("MiniGrid-LavaGapS6-v0"), room)
    played = dp.rollout(env, found, episodes=20, seed=1)
    assert played.mean_costs[0] <= 0.01 + 1e-9


def test_the_horizon_is_the_time_limit_of_a_wrapper_around_a_class_without_a_spec():
    base = gym.make("FrozenLake-v1").unwrapped
    base.spec = None
    limited = gym.wrappers.TimeLimit(gym.wrappers.OrderEnforcing(base), max_episode_steps=30)
    assert "horizon=30" in repr(load(gym.wrappers.RecordEpisodeStatistics(limited)))
    with pytest.raises(InvalidArgumentError, match="gamma, horizon or total must be given"):
        load(base)
