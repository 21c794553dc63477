"""Taxi, where driving through some blocks and calling at some doors is a nuisance.

Private: how much each of four blocks complains per step of a taxi in it, and how much complaint is
tolerated; and what a ring at a door costs (a pick-up or a drop-off). Public: which blocks,
that no block counts more than 1 and no ring more than 2, and that rings may cost 8 in all. The
radius: one block's complaint may differ by 0.2, and nobody can tell from the release.
Run it:  python examples/gymnasium/taxi.py
"""

import gymnasium as gym
import pandas as pd

import dp_cmdp as dp
from dp_cmdp.figures import policy_figure, save_figure

PICK_UP, DROP_OFF = 4, 5
BLOCKS = [(1, 1), (2, 1), (2, 2), (1, 2)]

env = gym.make("Taxi-v4")
taxi = dp.import_gymnasium(env, gamma=0.95, cell=lambda state: (state // 100, state // 20 % 5))
model = taxi.with_private_costs(
    {
        "noise": dp.PrivateCost(
            cells=BLOCKS,  # a candidate is a cell: all states in which the taxi is there
            severity=dp.Envelope(0, 1, radius=0.2, shape=len(BLOCKS)),
            tolerance=dp.Envelope(0.8, 4, radius=0.1),
        ),
        "ringing": dp.PrivateCost(
            actions=[PICK_UP, DROP_OFF],  # charged wherever they are taken
            severity=dp.Envelope(0, 2, radius=0.2, shape=2),
            tolerance=8.0,  # public
        ),
    }
)
complaints = pd.DataFrame({"row": [1, 2], "col": [1, 2], "severity": [0.9, 0.4]})
database = model.database({"noise": complaints, "ringing": [0.5, 1.0]}, tolerance=1.5)
budget = dp.PrivacyBudget(4, "1/1000")
private = dp.release_and_synthesize(model, database, budget, plan="database")
proof = private.safe.certificate
print(proof.verified, dict(zip(model.names, proof.worst_case_cost.round(3), strict=True)))
print("value", private.safe.value, "without data:", private.robust.value)

figure = policy_figure(private, layout=model, title="Taxi")
save_figure(figure, "taxi.png")
cost = model.cost_at(private.release)
print(dp.rollout(env, private.safe.policy, episodes=50, seed=0, gamma=0.95, cost=cost))
