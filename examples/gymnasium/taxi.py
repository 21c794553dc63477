"""Taxi, where driving through some blocks and calling at some doors is a nuisance.

Private: how much each of four blocks complains per step of a taxi in it, and how much complaint is
allowed; and what a ring at a door costs (a pick-up or a drop-off). Public: which blocks,
that no block counts more than 1 and no ring more than 2, and that rings may cost 8 in all. The
radius: one block's complaint may differ by 0.2, and nobody can tell from the release.
Run it:  python examples/gymnasium/taxi.py
"""

import gymnasium as gym

import dp_cmdp as dp

PICK_UP, DROP_OFF = 4, 5
BLOCKS = [(1, 1), (2, 1), (2, 2), (1, 2)]

noise = dp.PrivateCost(
    cells=BLOCKS,  # a candidate is a cell: all states in which the taxi is there
    cost=dp.Envelope(0, 1, radius=0.2),
    limit=dp.Envelope(0.8, 4, radius=0.1),
)
ringing = dp.PrivateCost(
    actions=[PICK_UP, DROP_OFF],  # charged wherever they are taken
    cost=dp.Envelope(0, 2, radius=0.2),
    limit=8.0,  # public
)
env = gym.make("Taxi-v4")
model = dp.gymnasium.load(
    env,
    gamma=0.95,
    cell=lambda state: (state // 100, state // 20 % 5),
    costs={"noise": noise, "ringing": ringing},
)
complaints = {"noise.cost": [0.9, 0.0, 0.4, 0.0], "noise.limit": 1.5, "ringing.cost": [0.5, 1.0]}
found = dp.solve(model, complaints, epsilon=4, delta=1e-3, strategy="entries")
print(found, found.to_frame(), sep="\n")

dp.figures.save_figure(found.plot(), "taxi.png")
print(dp.rollout(env, found, episodes=50))
