"""A deep safe-RL learner on private costs: PPO with a Lagrange multiplier (needs the extra `rl`).

Private: how bad a fall into each hole of FrozenLake is. Public: where holes are, that costs lie in
[0, 1], and the limit. The radius says that one cost could as well be 0.1 higher or lower, for all
that the learner ever sees. Its policy carries no promise of its own: it is read as a table and
certified, or not, for everything the release allows. It trains for a minute or two.
Run it:  python examples/gymnasium/ppo_lagrangian.py
"""

import sys

import gymnasium as gym
import numpy as np

import dp_cmdp as dp

try:
    from stable_baselines3 import PPO  # pyright: ignore[reportMissingImports]
except ImportError:
    sys.exit("this example needs Stable-Baselines3: pip install '.[rl]'")

GAMMA, LIMIT, ROUNDS, STEPS = 0.95, 0.1, 6, 2048


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
falls = dp.PrivateCost(
    states=np.flatnonzero(lake.get_wrapper_attr("desc") == b"H"),
    on="entering",
    cost=dp.Envelope(0, 1, radius=0.1),
    limit=LIMIT,
)
model = dp.gymnasium.load(lake, gamma=GAMMA, costs=falls)
private = {"cost": [1.0, 0.3, 0.9, 0.6]}  # the curator's
release = dp.publish(model, private, epsilon=4, delta=1e-3)

env = Priced(dp.gymnasium.ReleasedCosts(lake, model, release))  # public from here on
learner = PPO("MlpPolicy", env, gamma=GAMMA, n_steps=512, ent_coef=0.02, seed=0, device="cpu")
for _ in range(ROUNDS):
    env.costs.clear()
    learner.learn(STEPS, reset_num_timesteps=False)
    env.price = max(0.0, env.price + 2.0 * (float(np.mean(env.costs)) - LIMIT))

policy = dp.Policy.from_sb3(learner, num_states=model.num_states)
best = dp.answer(model, release)
print("learned", model.value(policy, best.estimate), dp.certify(model, policy, release))
print("solved", best.value, best.certificate)
print(dp.rollout(env, policy, episodes=20, seed=0, gamma=GAMMA))
