"""A deep safe-RL learner on private costs: PPO with a Lagrange multiplier (needs the extra `rl`).

Private: how bad a fall into each hole of FrozenLake is. Public: where holes are, that severities
lie in [0, 1], and the tolerance. The radius says that one severity could as well be 0.1 higher or
lower, for all that the learner ever sees. Its policy carries no promise of its own: it is read as a
table and certified, or not, for everything the release allows. It trains for a minute or two.
Run it:  python examples/gymnasium/ppo_lagrangian.py
"""

import sys

import gymnasium as gym
import numpy as np

import dp_cmdp as dp
from dp_cmdp import envs
from dp_cmdp.cmdp.certificate import certify_policy

try:
    from stable_baselines3 import PPO  # pyright: ignore[reportMissingImports]
except ImportError:
    sys.exit("this example needs Stable-Baselines3: pip install '.[rl]'")

GAMMA, ROUNDS, STEPS = 0.95, 6, 2048


class Priced(gym.Wrapper):
    """Reward less a price per unit of cost; remembers what episodes cost, discounted."""

    def __init__(self, env, price=0.0):
        super().__init__(env)
        self.price, self.costs, self.spent, self.weight = price, [], 0.0, 1.0

    def reset(self, **options):
        self.spent, self.weight = 0.0, 1.0
        return self.env.reset(**options)

    def step(self, action):
        observation, reward, terminated, truncated, info = self.env.step(action)
        self.spent, self.weight = self.spent + self.weight * info["cost"], self.weight * GAMMA
        if terminated or truncated:
            self.costs.append(self.spent)
        return observation, reward - self.price * info["cost"], terminated, truncated, info


lake = gym.make("FrozenLake-v1", is_slippery=False)
holes = np.flatnonzero(lake.get_wrapper_attr("desc") == b"H")
model = dp.import_gymnasium(lake, gamma=GAMMA).with_private_costs(
    states=holes,
    on="entering",
    severity=dp.Envelope(0, 1, radius=0.1, shape=holes.size),
    tolerance=0.1,
)
database = model.database([1.0, 0.3, 0.9, 0.6])  # the curator's
release = dp.release_database(database, dp.PrivacyBudget(4, "1/1000"))

env = Priced(envs.PrivateCostWrapper(lake, release, model))  # public from here on
learner = PPO("MlpPolicy", env, gamma=GAMMA, n_steps=512, ent_coef=0.02, seed=0, device="cpu")
for _ in range(ROUNDS):
    env.costs.clear()
    learner.learn(STEPS, reset_num_timesteps=False)
    env.price = max(0.0, env.price + 2.0 * (float(np.mean(env.costs)) - 0.1))

policy = dp.Policy.from_sb3(learner, num_states=model.public.num_states)
tight = model.tightened(release)
proof = certify_policy(tight, policy)
print("learned", dp.evaluate(tight, policy).value, "certified safe:", proof.verified)
print("synthesized", dp.synthesize(model, release).value, "certified safe: True")
print(dp.rollout(env, policy, episodes=20, seed=0, gamma=GAMMA))
