"""Gymnasium's tabular environments, imported and compared with their own P."""

import gymnasium
import numpy as np
import pytest

from dp_cmdp.cmdp.evaluation import evaluate
from dp_cmdp.cmdp.policy import Policy
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.frontends.gymnasium import cmdp_from_gymnasium


def newest(name):
    """The newest registered version of an environment."""
    versions = [s.version for s in gymnasium.registry.values() if s.name == name]
    return f"{name}-v{max(v for v in versions if v is not None)}"


ENVIRONMENTS = [newest(name) for name in ("FrozenLake", "CliffWalking", "Taxi")]


def free(state, action):
    return 0.0


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_values_match_sweeps_over_the_environments_own_table(name):
    gamma = 0.9
    env = gymnasium.make(name)
    P = env.unwrapped.P  # type: ignore[attr-defined]
    cmdp = cmdp_from_gymnasium(env, cost=lambda s, a: float(s % 3 == a % 3), f0=1.0, gamma=gamma)
    num_states, num_actions = len(P), len(P[0])
    assert (cmdp.num_states, cmdp.num_actions) == (num_states + 1, num_actions)
    policy = Policy(np.random.default_rng(0).dirichlet(np.ones(num_actions), num_states + 1))
    value, cost = np.zeros(num_states), np.zeros(num_states)
    for _ in range(120):
        new_value, new_cost = np.zeros(num_states), np.zeros(num_states)
        for s in range(num_states):
            for a in range(num_actions):
                weight = policy.probs[s, a]
                new_cost[s] += weight * (s % 3 == a % 3)
                for p, successor, reward, terminated in P[s][a]:
                    new_value[s] += weight * p * reward
                    if not terminated:
                        new_value[s] += weight * p * gamma * value[successor]
                        new_cost[s] += weight * p * gamma * cost[successor]
        value, cost = new_value, new_cost
    start = env.unwrapped.initial_state_distrib  # type: ignore[attr-defined]
    result = evaluate(cmdp, policy)
    error = 2 * gamma**120 / (1 - gamma) * np.abs(cmdp.r).max() + 1e-9
    assert result.value_function[:-1] == pytest.approx(value, abs=error)
    assert result.cost_functions[0, :-1] == pytest.approx(cost, abs=error)
    assert result.costs[0] == pytest.approx(start @ cost, abs=error)


def test_the_added_terminal_state_absorbs_and_is_free():
    cmdp = cmdp_from_gymnasium(ENVIRONMENTS[0], cost=lambda s, a: 1.0, f0=[1.0], gamma=0.9)
    T = cmdp.T.toarray().reshape(17, 4, 17)
    assert (T[16, :, 16] == 1.0).all()
    assert not cmdp.r[16].any()
    assert not cmdp.f[:, 16].any()
    assert (T[5, :, 16] == 1.0).all()  # a hole ends the episode
    assert cmdp.mu[0] == 1.0


def test_a_cost_of_the_next_state_is_averaged_over_the_transitions():
    options = {"is_slippery": True}
    holes = (5, 7, 11, 12)
    cmdp = cmdp_from_gymnasium(
        ENVIRONMENTS[0],
        cost=lambda s, a, n: [float(n in holes and s not in holes), float(n == 15)],
        f0=[0.1, 1.0],
        gamma=0.99,
        options=options,
    )
    assert cmdp.f[0, 4] == pytest.approx([0.0, 1 / 3, 1 / 3, 1 / 3])  # right of cell 4 is a hole
    assert not cmdp.f[0, list(holes)].any()
    assert cmdp.f[1, 14] == pytest.approx([0.0, 1 / 3, 1 / 3, 1 / 3])
    firm = cmdp_from_gymnasium(
        ENVIRONMENTS[0], cost=free, f0=0.0, gamma=0.9, options={"is_slippery": False}
    )
    assert set(firm.T.data) == {1.0}


class Corridor:
    """A bare model with a start state and no distribution."""

    P = {0: {0: [(1.0, 1, 0.0, False)]}, 1: {0: [(1.0, 1, 1.0, True)]}}  # noqa: RUF012
    start_state = 1


def test_the_start_comes_from_the_environment_or_from_mu():
    model = Corridor()
    assert cmdp_from_gymnasium(model, cost=free, f0=0, gamma=0.5).mu.tolist() == [0, 1, 0]
    given = cmdp_from_gymnasium(model, cost=free, f0=0, gamma=0.5, mu=[0.5, 0.5])
    assert given.mu.tolist() == [0.5, 0.5, 0.0]
    del Corridor.start_state
    try:
        with pytest.raises(InvalidArgumentError, match="mu must be given"):
            cmdp_from_gymnasium(model, cost=free, f0=0, gamma=0.5)
    finally:
        Corridor.start_state = 1


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"env": "NoSuchLake-v9"}, "could not be made"),
        ({"env": "CartPole-v1"}, "must be tabular"),
        ({"env": object()}, "must be tabular"),
        ({"options": {"no_such_option": 1}}, "could not be made"),
        ({"env": Corridor(), "options": {}}, "options"),
        ({"cost": 3.0}, "cost must be a function"),
        ({"cost": lambda s: 0.0}, "cost must take two"),
        ({"cost": lambda s, a: [0.0, 1.0]}, "cost must return 1 numbers"),
        ({"cost": lambda s, a: np.nan}, "finite"),
        ({"gamma": 1.0}, "gamma"),
    ],
)
def test_what_cannot_be_imported_is_refused_with_a_reason(change, rule):
    arguments = {"env": ENVIRONMENTS[0], "cost": free, "f0": 1.0, "gamma": 0.9} | change
    with pytest.raises(InvalidArgumentError, match=rule):
        cmdp_from_gymnasium(arguments.pop("env"), **arguments)


HOLES = (5, 7, 11, 12)


@pytest.mark.parametrize(
    "cost",
    [
        lambda s, a: float(s in HOLES),
        lambda s, a, n: float(s in HOLES),
        lambda s, a: 1.0 if s in HOLES else 0.1,
        lambda s, a: [1.0, float(s in HOLES)],
    ],
)
def test_a_cost_of_states_in_which_episodes_end_is_refused_by_name(cost):
    f0 = np.ones(np.size(cost(0, 0, 0) if cost.__code__.co_argcount == 3 else cost(0, 0)))
    with pytest.raises(
        InvalidArgumentError, match=r"state 5 costs.*cost\(state, action, next_state"
    ):
        cmdp_from_gymnasium(ENVIRONMENTS[0], cost=cost, f0=f0, gamma=0.9)


@pytest.mark.parametrize(
    "cost",
    [
        lambda s, a: 0.7,  # per step
        lambda s, a: float(a == 2),  # per action
        lambda s, a, n: float(n in HOLES),
        lambda s, a, n: float(n in HOLES and s not in HOLES),
        lambda s, a: 0.1 if s in (1, 2, 3) else 0.0,  # thin ice, where one walks on
    ],
)
def test_costs_that_are_all_charged_are_accepted(cost):
    cmdp_from_gymnasium(ENVIRONMENTS[0], cost=cost, f0=1.0, gamma=0.9)


def test_arrivals_say_what_is_entered_and_transitions_where_it_goes_on():
    cmdp = cmdp_from_gymnasium(ENVIRONMENTS[0], cost=free, f0=0, gamma=0.9)
    T, arrivals = (part.toarray().reshape(17, 4, 17) for part in (cmdp.T, cmdp.arrivals))
    assert T[4, 1, 16] == arrivals[4, 1, 5] == pytest.approx(1 / 3)
    assert T[4, 1, 5] == arrivals[4, 1, 16] == 0.0
    assert not arrivals[16].any()
    assert (T[0] == arrivals[0]).all()


def test_a_state_passed_on_the_way_must_be_one_of_the_environment():
    with pytest.raises(InvalidArgumentError, match="through"):
        cmdp_from_gymnasium(
            ENVIRONMENTS[0], cost=free, f0=0, gamma=0.9, through=lambda s, a, n, reward: 16
        )
    with pytest.raises(InvalidArgumentError, match="through"):
        cmdp_from_gymnasium(Corridor(), cost=free, f0=0, gamma=0.9, through=3)  # type: ignore[arg-type]
