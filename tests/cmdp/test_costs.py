"""Private costs: what is charged where, what is public about it, and what is refused."""

from fractions import Fraction
from typing import Any

import gymnasium
import numpy as np
import pytest

import dp_cmdp as dp
from dp_cmdp._src.cmdp.charges import EXCESS
from dp_cmdp._src.cmdp.costs import constraints_of
from dp_cmdp._src.cmdp.model import MDP
from dp_cmdp._src.cmdp.parametric import ParametricCMDP
from tests.cmdp.models import bounds, line, two_ways

InvalidArgumentError = dp.errors.InvalidArgumentError
ONLY = dp.Policy(np.ones((4, 1)))


def tables(env: Any) -> dict[str, Any]:
    """T, r, start and arrivals of a Gymnasium table; the last state is the time after the end."""
    P = env.unwrapped.P
    n, actions = len(P), len(P[0])
    T, arrivals, r = np.zeros((n + 1, actions, n + 1)), np.zeros((n + 1, actions, n + 1)), None
    r = np.zeros((n + 1, actions))
    for s in P:
        for a in P[s]:
            for p, successor, reward, over in P[s][a]:
                T[s, a, n if over else successor] += p
                arrivals[s, a, successor] += p
                r[s, a] += p * reward
    T[n, :, n] = 1.0
    start = np.append(env.unwrapped.initial_state_distrib, 0.0)
    return {"T": T, "r": r, "start": start, "arrivals": arrivals}


def lake(name: str = "4x4", slippery: bool = True) -> Any:
    return gymnasium.make("FrozenLake-v1", map_name=name, is_slippery=slippery)


def holes_of(env: Any) -> np.ndarray:
    return np.flatnonzero(np.ravel(env.unwrapped.desc) == b"H")


def charged(
    facts: dict[str, Any], states: Any, *, on: Any, limit: Any = (0.01, 0.5), top: float = 1.0
) -> dp.ParametricCMDP:
    cost = dp.PrivateCost(
        states=states,
        on=on,
        cost=dp.Envelope(0.0, top, radius=0.1 * top),
        limit=dp.Envelope(*limit, radius=0.01),
    )
    return dp.ParametricCMDP(**facts, costs=cost)


# --------------------------------------------------------------------------------- what is charged


@pytest.mark.parametrize(
    ("state", "on", "cost"),
    [
        (1, "occupying", 0.5),  # γ¹, acted in at step 1
        (1, "entering", 1.0),  # γ⁰, entered by the move of step 0
        (0, "occupying", 1.0),
        (2, "occupying", 0.5),  # γ² + γ³ + …
        (2, "entering", 1.0),  # γ + γ² + …: staying enters again
    ],
)
def test_a_charge_has_the_weight_of_the_step_that_causes_it(state, on, cost):
    model = charged(line(), [state], on=on)
    assert dp.evaluate(model.at([1.0, 0.5]), ONLY).costs[0] == pytest.approx(cost)
    assert bounds(model.at([1.0, 0.5]), ONLY)[0] >= cost


def test_acting_charges_one_action_everywhere_or_in_a_state():
    T, r = two_ways()
    everywhere = dp.PrivateCost(actions=[1], cost=dp.Envelope(0, 1), limit=dp.Envelope(1, 9))
    model = dp.ParametricCMDP(T, r, gamma=0.9, costs=everywhere)
    assert model.at([0.5, 2.0]).cost[0].tolist() == [[0, 0.5]] * 3
    one = dp.PrivateCost(states=[0, 2], actions=[0, 1], cost=dp.Envelope([0, 0], [1, 2]), limit=1.0)
    model = dp.ParametricCMDP(T, r, gamma=0.9, costs=one)
    assert model.at([0.5, 2.0]).cost[0].tolist() == [[0.5, 0], [0, 0], [0, 2.0]]
    assert [group.name for group in model.envelope.groups] == ["cost"]


# -------------------------------------------------------------------- rounding is on the safe side


@pytest.mark.parametrize(
    "p",
    [
        [1 / 3] * 3,
        [0.1] * 10,
        [0.7, 0.2, 0.1],
        [1.0],
        [0.333333333] * 3,
        [1 - 9e-10],
        [1 + 9e-10],
        [1 - 1e-16, 1e-310],
    ],
)
@pytest.mark.parametrize(
    ("low", "high"), [(-1.0, -0.5), (-1.0, 1.0), (-0.7, 0.0), (0.1, 1.0), (-1e9, 1)]
)
@pytest.mark.parametrize("over", [False, True])
def test_entering_is_charged_in_full_whatever_the_sign_of_the_cost(p, low, high, over):
    """State 0 moves to 1, 2, … with given probabilities; all of these moves end there, or none."""
    n = len(p)
    T = np.zeros((n + 2, 1, n + 2))
    T[0, 0, 1 : n + 1] = p
    T[0, 0] /= 1.0 if abs(sum(p) - 1) < 1e-9 else sum(p)
    arrivals = T.copy()
    arrivals[n + 1] = 0.0
    if over:
        T[0, 0] = np.eye(n + 2)[n + 1] * T[0, 0].sum()
    T[1:, 0, n + 1] = 1.0
    start = np.eye(n + 2)[0]
    cost = dp.PrivateCost(
        states=np.arange(1, n + 1),
        on="entering",
        cost=dp.Envelope(low, high, shape=n),
        limit=dp.Envelope(0.1, 0.2),
    )
    model = dp.ParametricCMDP(
        T, np.zeros((n + 2, 1)), gamma=0.5, start=start, costs=cost, arrivals=arrivals
    )
    row = [Fraction(x) for x in T[0, 0].tolist() if x]
    shares = [Fraction(x) / sum(row) for x in arrivals[0, 0, 1 : n + 1].tolist()]
    alternating = np.where(np.arange(n) % 2, low, high)
    for theta in (np.full(n, low), np.full(n, high), alternating):
        point = np.append(theta, 0.1)
        known = type(model.envelope.uncertainty).box(point, point)
        paid = Fraction(float(model.worst(known).cost[0, 0, 0]))
        due = sum(s * Fraction(x) for s, x in zip(shares, theta.tolist(), strict=True))
        assert due <= paid <= due + Fraction(1, 10**11) * Fraction(max(abs(low), high))


def test_certain_entries_are_counted_exactly():
    facts = tables(lake(slippery=False)) | {"gamma": 0.9}
    cost = charged(facts, [5, 7], on="entering").at([0.3, 0.3, 0.5]).cost
    assert set(cost.ravel()) == {0.0, 0.3}
    slippery: dict[str, Any] = tables(lake()) | {"gamma": 0.9}
    cost = charged(slippery, [5, 7], on="entering").at([1.0, 1.0, 0.5]).cost[0]
    assert (cost >= slippery["arrivals"][:, :, [5, 7]].sum(axis=2)).all()
    assert cost[4] == pytest.approx([0.0, 1 / 3, 1 / 3, 1 / 3], rel=1e-12)


def test_a_certified_credit_is_no_larger_than_the_true_one():
    T = np.zeros((3, 2, 3))
    T[0, 0, 1] = T[0, 0, 2] = 0.5
    T[0, 1, 2] = T[1, :, 2] = T[2, :, 2] = 1.0
    cost = dp.PrivateCost(
        states=[1], on="entering", cost=dp.Envelope(-1.0, -0.5), limit=dp.Envelope(-0.2, -0.1)
    )
    model = dp.ParametricCMDP(T, np.zeros((3, 2)), gamma=0.5, costs=cost)
    for k in range(0, 60, 3):
        p = 0.8 * (1 - k * 1e-15)
        policy = dp.Policy([[p, 1 - p], [1, 0], [1, 0]])
        share = Fraction(p) / (Fraction(p) + Fraction(1 - p))
        for theta in (-1.0, -0.5):
            point = np.array([theta, -0.2])
            known = type(model.envelope.uncertainty).box(point, point)
            bound = bounds(model.worst(known), policy)[0]
            assert Fraction(float(bound)) >= share * Fraction(theta) / 2
    assert EXCESS < 1e-12


# -------------------------------------------------------------------- keys, envelopes, expressions


def test_expressions_share_numbers_between_costs_and_limits():
    T, r = two_ways()
    theta = dp.Envelope.join(
        {"bad": dp.Envelope(0, 1, radius=0.1, shape=1), "most": dp.Envelope(1, 2, shape=1)}
    )
    costs = {
        "one": dp.PrivateCost(theta["bad"][[0, 0]], 6 * theta["most"][0], states=[1, 2]),
        "two": dp.PrivateCost(0.5 * theta["bad"] + 0.25, theta["most"], actions=[1]),
    }
    model = dp.ParametricCMDP(T, r, gamma=0.9, costs=costs)
    assert model.envelope == theta
    at = model.at([0.5, 1.5])
    assert at.cost[:, :, 1].tolist() == [[0, 0.5, 0.5], [0.5, 0.5, 0.5]]
    assert at.limit.tolist() == [9.0, 1.5]
    assert model.answer(model.envelope.uncertainty).certificate.verified


def test_a_whole_table_may_cost():
    T, r = two_ways()
    theta = dp.Envelope(0, 1, radius=0.1, shape=2)
    table = np.arange(6.0).reshape(3, 2) * theta[0] + theta[1]
    model = dp.ParametricCMDP(T, r, gamma=0.9, costs=dp.PrivateCost(table, 70))
    assert model.at([0.5, 0.25]).cost[0].tolist() == [[0.25, 0.75], [1.25, 1.75], [2.25, 2.75]]
    with pytest.raises(InvalidArgumentError, match=r"cost.* must have shape \(3, 2\).*pass cost.T"):
        dp.ParametricCMDP(T, r, gamma=0.9, costs=dp.PrivateCost(table.T, 70))


def test_mixing_envelopes_or_nothing_private_is_refused():
    T, r = two_ways()
    theta = dp.Envelope(0, 1, shape=1)
    mixed = dp.PrivateCost(theta[:], dp.Envelope(0, 1), states=[1])
    with pytest.raises(InvalidArgumentError, match=r"Envelope\.join"):
        dp.ParametricCMDP(T, r, gamma=0.9, costs=mixed)
    with pytest.raises(InvalidArgumentError, match="nothing private"):
        dp.ParametricCMDP(T, r, gamma=0.9, costs=dp.PrivateCost(1.0, 2.0, states=[1]))
    with pytest.raises(InvalidArgumentError, match="costs must be a PrivateCost"):
        dp.ParametricCMDP(T, r, gamma=0.9, costs={})


# ---------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"states": [1], "on": "leaving"}, "on must be one of"),
        ({"states": [0.5]}, "integers"),
        ({}, "states, cells or actions must be given"),
        ({"states": [1], "on": "acting"}, "actions must be given"),
        ({"states": [1], "cells": [(0, 1)]}, "cells must be given alone"),
    ],
)
def test_candidates_that_contradict_each_other_are_refused(options, rule):
    with pytest.raises(InvalidArgumentError, match=rule):
        dp.PrivateCost(dp.Envelope(0, 1), 1.0, **options)
    with pytest.raises(InvalidArgumentError, match="limit must be one number"):
        dp.PrivateCost(dp.Envelope(0, 1), dp.Envelope(0, 1, shape=2), states=[1])


@pytest.mark.parametrize(
    ("states", "on", "facts", "named"),
    [
        ([1, 3], "occupying", {}, "state 3,"),
        ([0, 1], "entering", {}, "state 0 .*starting there is no entry.*'occupying'"),
        ([1], "occupying", {"gamma": 0.0}, "state 1,"),
        ([1, 4], "entering", {}, r"in \[0, 3\]"),
        ([1, 1], "occupying", {}, "distinct"),
    ],
)
def test_what_can_never_be_met_is_refused_by_name(states, on, facts, named):
    with pytest.raises(InvalidArgumentError, match=named):
        charged(line(**facts), states, on=on)


def test_holes_that_end_the_episode_are_refused_as_occupied_states():
    env = lake()
    facts, holes = tables(env) | {"gamma": 0.95}, holes_of(env)
    with pytest.raises(InvalidArgumentError, match=f"'entering'.*{holes[0]}, {holes[1]}"):
        charged(facts, holes, on="occupying")
    with pytest.raises(InvalidArgumentError, match=f"'entering'.*state {holes[0]},"):
        charged(facts, [1, int(holes[0])], on="occupying")
    for on in ("occupying", "entering"):
        with pytest.raises(InvalidArgumentError, match="state 16 "):
            charged(facts, [4, 16], on=on)


def test_a_state_where_only_some_moves_end_is_not_charged_in_part():
    # 1 is acted in after most visits, but one move in ten ends the episode there (in state 2)
    T = np.array([[[0.0, 0.9, 0.1]], [[1.0, 0.0, 0.0]], [[0.0, 0.0, 1.0]]])
    arrivals = np.array([[[0.0, 1.0, 0.0]], [[1.0, 0.0, 0.0]], [[0.0, 0.0, 0.0]]])
    facts = {"T": T, "r": np.zeros((3, 1)), "gamma": 0.5, "arrivals": arrivals}
    with pytest.raises(InvalidArgumentError, match=r"'entering'.*state 1,"):
        charged(facts, [1], on="occupying")
    model = charged(facts, [1], on="entering")
    cost = dp.evaluate(model.at([1.0, 0.5]), dp.Policy(np.ones((3, 1)))).costs[0]
    assert cost == pytest.approx(1 / (1 - 0.9 * 0.25))
    with pytest.raises(InvalidArgumentError, match="state 2 "):
        charged(facts, [2], on="entering")  # the end is no place that is entered


def test_cells_need_a_grid_and_stand_for_all_their_states():
    T, r = two_ways()
    cost = dp.PrivateCost(cells=[(0, 1)], cost=dp.Envelope(0, 1), limit=dp.Envelope(9, 10))
    with pytest.raises(InvalidArgumentError, match="without a grid; give states"):
        dp.ParametricCMDP(T, r, gamma=0.9, costs=cost)
    mdp = MDP(T, r, gamma=0.9)
    kinds = constraints_of(mdp, cost, lambda row, col: np.array([1, 2]))
    model = ParametricCMDP._made(mdp, kinds)
    assert model.envelope.size == 2
    assert model.at([0.5, 9.0]).cost[0, :, 0].tolist() == [0, 0.5, 0.5]
    assert model.envelope.groups[0].labels[0].names == ["row", "col"]


def test_policies_need_no_row_for_the_time_after_the_end():
    facts = tables(lake()) | {"gamma": 0.9}
    model = charged(facts, [5, 7], on="entering", limit=(0.2, 0.5))
    whole, part = dp.Policy.uniform(17, 4), dp.Policy.uniform(16, 4)
    known = model.envelope.uncertainty
    assert model.certify(part, known).slack.tolist() == model.certify(whole, known).slack.tolist()
    assert model.value(part, known.lower) == model.value(whole, known.lower)
    plain = charged(line(), [1], on="entering")
    with pytest.raises(InvalidArgumentError, match="policy must have probabilities"):
        plain.certify(dp.Policy.uniform(2, 1), plain.envelope.uncertainty)


def test_models_at_private_numbers_take_all_forms_of_data_and_quote_none():
    T, r = two_ways()
    cost = dp.PrivateCost(states=[1, 2], cost=dp.Envelope(0, 1), limit=dp.Envelope(1, 2))
    model = dp.ParametricCMDP(T, r, gamma=0.9, costs=cost)
    values = {"cost": [0.25, 0.5], "limit": 1.5}
    for given in ([0.25, 0.5, 1.5], values, dp.Database(values, model)):
        at = model.at(given)
        assert at.cost[0, :, 0].tolist() == [0, 0.25, 0.5]
        assert at.limit.tolist() == [1.5]
    for wrong in ([0.12345], {"cost": [0.12345, 7.0], "limit": 1.5}, ["0.12345"] * 3):
        with pytest.raises(dp.errors.Error) as caught:
            model.at(wrong)
        assert "12345" not in str(caught.value)
