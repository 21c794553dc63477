"""A MiniGrid room with lava, explored by its steps (needs `pip install minigrid`).

Private: how bad it is to step into each lava cell, for some may only be painted. Public: where lava
is drawn, and that costs lie in [0, 1]. The radius: one cell's cost may differ by 0.1, and nobody
can tell from the release.
Run it:  python examples/gymnasium/minigrid_room.py
"""

import sys

import gymnasium as gym

import dp_cmdp as dp

try:
    import minigrid  # noqa: F401  # pyright: ignore[reportMissingImports]
except ImportError:
    sys.exit("this example needs MiniGrid: pip install minigrid")

env = gym.make("MiniGrid-LavaGapS6-v0")
lava = dp.PrivateCost(
    cells=[(1, 3), (2, 3), (4, 3)],  # a candidate is a cell, whichever way the agent faces
    on="entering",  # lava ends the episode
    cost=dp.Envelope(0, 1, radius=0.1),
    limit=0.01,  # public
)
# the room is drawn, so seed says which; MiniGrid pays less the later, so reward says what to earn
model = dp.gymnasium.load(env, gamma=0.97, seed=0, reward=lambda paid: float(paid > 0), costs=lava)
found = dp.solve(model, {"cost": [1.0, 0.0, 0.7]}, epsilon=2, delta=1e-3)  # the curator's
print(found)

dp.figures.save_figure(found.plot(), "minigrid_room.png")
# observes the number of the state instead of pixels, and reports released costs
env = dp.gymnasium.StateObservation(env, model)
env = dp.gymnasium.ReleasedCosts(env, model, found.release)
print(dp.rollout(env, found.policy, episodes=20, gamma=0.97))
