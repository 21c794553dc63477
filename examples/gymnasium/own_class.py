"""Your own environment: a pump between two tanks, without a table.

Private: how much wear each state of the small tank causes. Public: its states, that wear lies in
[0, 1], and that a discounted wear of 10 is allowed. The radius says that the wear of one state
could as well be 0.05 higher or lower, for all that the release tells.
Run it:  python examples/gymnasium/own_class.py
"""

import gymnasium as gym

import dp_cmdp as dp


class Pump(gym.Env):
    """Water is sold from the small tank; a pump that runs keeps running for one more step."""

    observation_space, action_space = gym.spaces.Discrete(12), gym.spaces.Discrete(3)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.level, self.running = 2, False
        return self.observed(), {}

    def observed(self):
        return 2 * self.level + self.running

    def step(self, action):
        """0 does nothing, 1 pumps, 2 sells."""
        if action == 1 or self.running:
            self.level = min(5, self.level + 1)
        self.running = action == 1
        sold = action == 2 and self.level > 0
        self.level -= sold
        reward = 1.0 if sold else -0.1
        return self.observed(), reward, self.level == 0, False, {}


env = Pump()
worn = [2, 4, 5, 6, 7, 8, 9, 10, 11]  # the public candidates: every state but the empty ones
wear = dp.PrivateCost(states=worn, cost=dp.Envelope(0, 1, radius=0.05), limit=10.0)
model = dp.gymnasium.load(env, gamma=0.95, costs=wear)
truth = [[0.0, 0.5, 0.1, 0.2, 0.6, 0.9][state // 2] for state in worn]  # the curator's
found = dp.solve(model, {"cost": truth}, epsilon=2, delta=1e-3)
print(found)

env = dp.gymnasium.ReleasedCosts(env, model, found.release)  # reports info["cost"]
observation, info = env.reset(seed=0)
for _ in range(5):
    action, _ = found.policy.predict(observation)
    observation, reward, terminated, truncated, info = env.step(action)
    print(observation, reward, round(info["cost"], 3))
