"""The lines of docs/how-to/safe-rl-libraries.md, each with its library."""

import gymnasium as gym
import pytest

import dp_cmdp as dp

pytestmark = [pytest.mark.rl, pytest.mark.filterwarnings("ignore")]


class Seen(gym.Wrapper):
    """What an environment reported as costs."""

    def __init__(self, env):
        super().__init__(env)
        self.costs = []

    def step(self, action):
        found = self.env.step(action)
        self.costs.append(found[-1]["cost"])
        return found


@pytest.fixture(scope="module")
def found():
    holes = dp.PrivateCost(dp.Envelope(0, 1, radius=0.1), 0.3, states=[5, 7, 11, 12], on="entering")
    model = dp.gymnasium.load("FrozenLake-v1", costs=holes)
    data = {"cost": [1, 0.2, 0.8, 0]}
    return dp.solve(model, data, epsilon=4, delta="1/1000", strategy="entries")


@pytest.fixture
def priced(found):
    return Seen(dp.gymnasium.ReleasedCosts(gym.make("FrozenLake-v1"), found.problem, found.release))


def test_maskable_ppo_proposes_what_the_shield_plays(found):
    contrib = pytest.importorskip("sb3_contrib")
    shielded = dp.gymnasium.Shield(gym.make("FrozenLake-v1"), found, seed=0)
    learner = contrib.MaskablePPO("MultiInputPolicy", shielded, n_steps=64, seed=0, device="cpu")
    learner.learn(128)
    observation, _ = shielded.reset(seed=0)
    for _ in range(50):
        allowed = shielded.action_masks()
        action, _ = learner.predict(observation, action_masks=allowed)
        observation, _, terminated, truncated, info = shielded.step(action)
        assert not info["shield"]["replaced"] or allowed.all()  # all where none would be played
        if terminated or truncated:
            observation, _ = shielded.reset()


def test_torchrl_collects_released_costs(priced):
    envs = pytest.importorskip("torchrl.envs")
    torch = pytest.importorskip("torch")
    env = envs.GymWrapper(priced).set_info_dict_reader(
        lambda info, td: td.set("cost", torch.tensor([info.get("cost", 0.0)]))
    )
    env.set_seed(0)
    collected = env.rollout(300, break_when_any_done=False)["next", "cost"].ravel()
    assert collected.tolist() == pytest.approx(priced.costs)
    assert max(priced.costs) > 0.0


def test_masa_sums_the_costs_of_an_episode(priced):
    cmdp = pytest.importorskip("masa.common.constraints.cmdp")
    labelled = pytest.importorskip("masa.common.labelled_env")

    class CostLabels(labelled.LabelledEnv):
        def step(self, action):
            *rest, info = self.env.step(action)
            return *rest, {**info, "labels": {str(info["cost"])}}

    limit = priced.get_wrapper_attr("cost_limit")
    env = cmdp.CumulativeCostEnv(
        CostLabels(priced, lambda seen: set()),
        cost_fn=lambda labels: sum(map(float, labels)),
        budget=limit,
    )
    paid = []
    for episode in range(20):
        env.reset(seed=episode)
        priced.costs.clear()
        over = False
        while not over:
            *_, terminated, truncated, _ = env.step(env.action_space.sample())
            over = terminated or truncated
        paid.append(sum(priced.costs))
        told = env._constraint.episode_metric()
        assert (told["cum_cost"], told["satisfied"]) == (pytest.approx(paid[-1]), paid[-1] <= limit)
    assert max(paid) > 0.0
