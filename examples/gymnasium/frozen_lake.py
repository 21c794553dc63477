"""FrozenLake with private holes.

Private: how bad a fall into each hole is, and how much of it is tolerated. Public: where holes are,
and that severities lie in [0, 1]. The radius says what stays hidden: whoever sees the release
cannot tell whether one severity is 0.1 higher or lower (or the tolerance 0.01).
Run it:  python examples/gymnasium/frozen_lake.py
"""

import gymnasium as gym
import numpy as np

import dp_cmdp as dp
from dp_cmdp.figures import policy_figure, save_figure

env = gym.make("FrozenLake-v1", is_slippery=True)
holes = np.flatnonzero(env.get_wrapper_attr("desc") == b"H")
model = dp.import_gymnasium(env, gamma=0.99).with_private_costs(
    states=holes,
    on="entering",  # falling in ends the episode: nobody ever acts in a hole
    severity=dp.Envelope(0, 1, radius=0.1, shape=holes.size),
    tolerance=dp.Envelope(0.05, 0.2, radius=0.01),
)
database = model.database([1.0, 0.2, 0.8, 0.0], tolerance=0.1)  # the curator's
private = dp.release_and_synthesize(model, database, dp.PrivacyBudget(4, "1/1000"))
print(private.safe.certificate.verified, private.safe.value, "without data:", private.robust.value)

figure = policy_figure(private, layout=model, title="FrozenLake")
save_figure(figure, "frozen_lake.png")
cost = model.cost_at(private.release)
print(dp.rollout(env, private.safe.policy, episodes=200, seed=0, gamma=0.99, cost=cost))
