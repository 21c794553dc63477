"""What a certificate says of hazards that are entered, against episodes of the real environment.

Each comparison is the Chernoff–Hoeffding bound P(mean beyond q) ≤ exp(−n·KL(q‖p)) for n episodes
with values in [0, 1] and expectation p, at false-alarm probability 10⁻⁶ for all of them together.
"""

import math

import gymnasium
import numpy as np
import pytest

from dp_cmdp import Database, Envelope, PrivacyBudget, release_database
from dp_cmdp.cmdp.evaluation import evaluate
from dp_cmdp.cmdp.parametric import ParametricCMDP
from dp_cmdp.cmdp.policy import Policy
from dp_cmdp.cmdp.rollout import rollout
from dp_cmdp.cmdp.synthesis import safe_policy, synthesize
from dp_cmdp.frontends.gymnasium import cmdp_from_gymnasium

FALSE_ALARM = 1e-6
COMPARISONS = 12
BUDGET = PrivacyBudget(6, "1/100")


class Falls(gymnasium.Wrapper):
    """Reports the severity of the cliff cell behind every move that pays −100."""

    def __init__(self, env, severity):
        super().__init__(env)
        self.severity, self.state = severity, 36

    def reset(self, **options):
        self.state, info = self.env.reset(**options)
        return self.state, info

    def step(self, action):
        before = self.state
        self.state, reward, over, cut, info = self.env.step(action)
        cell = fallen(before, action, self.state, reward)
        cost = 0.0 if cell is None else self.severity[cell]
        return self.state, reward, over, cut, {**info, "cost": cost}


def fallen(state, action, next_state, reward):
    return (37 if state >= 36 else state + 12) if reward == -100 else None


def entered(severity):
    """cost(state, action, next_state) of what a move enters."""
    return lambda state, action, successor: severity.get(int(successor), 0.0)


def improbable(mean, expected, episodes):
    """Whether a mean of values in [0, 1] is too far from what is expected to be chance."""
    q, p = min(max(mean, 0.0), 1.0), min(max(expected, 1e-12), 1 - 1e-12)
    divergence = sum(x * math.log(x / y) for x, y in ((q, p), (1 - q, 1 - p)) if x > 0)
    return episodes * divergence > math.log(COMPARISONS / FALSE_ALARM)


def compare(played, *, exact, bound, largest):
    """Episodes of cost 0 … largest agree with `exact` and do not exceed the certified `bound`.

    What is cut off costs at most `largest` times its weight.
    """
    mean, episodes = played.mean_costs[0] / largest, played.lengths.size
    nearest = min(max(mean, exact / largest - played.tail_weight), exact / largest)
    assert not improbable(mean, nearest, episodes)
    assert mean <= bound / largest or not improbable(mean, bound / largest, episodes)


@pytest.mark.parametrize(
    ("size", "gamma", "tolerance", "steps", "episodes"),
    [("4x4", 0.95, 0.005, 100, 500), ("8x8", 0.97, 0.005, 150, 500)],
)
def test_falls_into_the_lakes_holes_are_within_the_certified_cost(
    size, gamma, tolerance, steps, episodes
):
    options = {"map_name": size, "is_slippery": True}
    env = gymnasium.make("FrozenLake-v1", max_episode_steps=steps, **options)
    holes = np.flatnonzero(np.ravel(env.unwrapped.desc) == b"H")  # type: ignore[attr-defined]
    public = cmdp_from_gymnasium(env, cost=lambda s, a: 0.0, f0=0.0, gamma=gamma)
    model = ParametricCMDP.for_states(
        public,
        holes,
        severity=Envelope(0.0, 1.0, radius=0.1, shape=holes.size),
        tolerance=Envelope([0.5 * tolerance], [1.0], radius=0.01),
        on="entering",
    )
    values = np.append(np.ones(holes.size), tolerance)
    rng = np.random.default_rng(0)
    safe = synthesize(model, release_database(Database(values, model.envelope), BUDGET, rng=rng))
    assert safe.certificate.worst_case_cost[0] <= tolerance
    price = entered(dict.fromkeys(holes.tolist(), 1.0))
    careless = safe_policy(public).policy
    for policy, bound in ((safe.policy, safe.certificate.worst_case_cost[0]), (careless, 1.0)):
        played = rollout(env, policy, episodes=episodes, seed=4, gamma=gamma, cost=price)
        exact = float(evaluate(model.at(values), policy).costs[0])
        compare(played, exact=exact, bound=bound, largest=1.0)  # one falls at most once
        assert exact > 0.4 * tolerance  # a certificate of 0 would be untrue
    # and such a certificate for the policy that ignores holes would be noticed
    assert improbable(played.mean_costs[0], tolerance, episodes)


@pytest.mark.parametrize("slippery", [False, True])
def test_falls_from_the_cliff_are_within_the_certified_cost(slippery):
    gamma, cliff = 0.8, np.arange(37, 47)
    plain = gymnasium.make("CliffWalking-v1", is_slippery=slippery)
    public = cmdp_from_gymnasium(plain, cost=lambda s, a: 0.0, f0=0.0, gamma=gamma, through=fallen)
    model = ParametricCMDP.for_states(
        public,
        cliff,
        severity=Envelope(0.0, 1.0, radius=0.1, shape=cliff.size),
        tolerance=Envelope([1.0], [3.0], radius=0.1),
        on="entering",
    )
    values = np.append(np.linspace(0.5, 1.0, cliff.size), 1.5)
    severity = dict(zip(cliff.tolist(), values[:-1], strict=True))
    rng = np.random.default_rng(1)
    safe = synthesize(model, release_database(Database(values, model.envelope), BUDGET, rng=rng))
    env = Falls(plain, severity)
    for policy, bound in (
        (safe.policy, safe.certificate.worst_case_cost[0]),
        (Policy.uniform(public.num_states, 4), 1 / (1 - gamma)),
    ):
        played = rollout(env, policy, episodes=500, seed=2, gamma=gamma, max_steps=30)
        exact = float(evaluate(model.at(values), policy).costs[0])
        # a walker may fall at every step, so an episode costs at most 1/(1 − γ)
        compare(played, exact=exact, bound=bound, largest=1 / (1 - gamma))
    assert improbable(0.0, exact * (1 - gamma), 500)  # a roll-out without falls would be noticed
