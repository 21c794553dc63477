"""A MiniGrid room with lava, explored by its steps (needs `pip install minigrid`).

Private: how bad it is to step into each lava cell, for some may only be painted. Public: where lava
is drawn, and that severities lie in [0, 1]. The radius: one cell's severity may differ by 0.1, and
nobody can tell from the release.
Run it:  python examples/gymnasium/minigrid_room.py
"""

import sys

import gymnasium as gym

import dp_cmdp as dp
from dp_cmdp import envs
from dp_cmdp.figures import policy_figure, save_figure

try:
    import minigrid  # noqa: F401  # pyright: ignore[reportMissingImports]
except ImportError:
    sys.exit("this example needs MiniGrid: pip install minigrid")

env = gym.make("MiniGrid-LavaGapS6-v0")
# the room is drawn, so seed says which; MiniGrid pays less the later, so reward says what to earn
room = dp.import_gymnasium(env, gamma=0.97, seed=0, reward=lambda paid: float(paid > 0))
lava = [(1, 3), (2, 3), (4, 3)]
model = room.with_private_costs(
    cells=lava,  # a candidate is a cell, whichever way the agent faces
    on="entering",  # lava ends the episode
    severity=dp.Envelope(0, 1, radius=0.1, shape=len(lava)),
    tolerance=0.01,  # public
)
database = model.database([1.0, 0.0, 0.7])  # the curator's
private = dp.release_and_synthesize(model, database, dp.PrivacyBudget(2, "1/1000"))
print(private.safe.certificate.verified, private.safe.value)

figure = policy_figure(private, layout=model, title="a lava gap")
save_figure(figure, "minigrid_room.png")
# observes the number of the state instead of pixels, and reports released costs
env = envs.PrivateCostWrapper(envs.StateObservation(env, model), private.release, model)
print(dp.rollout(env, private.safe.policy, episodes=20, seed=0, gamma=0.97))
