"""FrozenLake with private holes.

Private: how bad a fall into each hole is, and how much of it is allowed. Public: where holes are,
and that costs lie in [0, 1]. The radius says what stays hidden: whoever sees the release cannot
tell whether one cost is 0.1 higher or lower (or the limit 0.01).
Run it:  python examples/gymnasium/frozen_lake.py
"""

import gymnasium as gym
import numpy as np

import dp_cmdp as dp

env = gym.make("FrozenLake-v1", is_slippery=True)
falls = dp.PrivateCost(
    states=np.flatnonzero(env.get_wrapper_attr("desc") == b"H"),
    on="entering",  # falling in ends the episode: nobody ever acts in a hole
    cost=dp.Envelope(0, 1, radius=0.1),
    limit=dp.Envelope(0.05, 0.2, radius=0.01),
)
model = dp.gymnasium.load(env, gamma=0.99, costs=falls)
private = {"cost": [1.0, 0.2, 0.8, 0.0], "limit": 0.1}  # the curator's
found = dp.solve(model, private, epsilon=4, delta=1e-3)
print(found)

dp.figures.save_figure(found.plot(), "frozen_lake.png")
print(dp.rollout(env, found, episodes=200))
