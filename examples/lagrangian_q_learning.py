"""Train a safe-RL learner on private costs: a tabular Lagrangian Q-learner behind the wrapper.

The learner walks in a public environment and sees released costs only, so whatever it learns is
as private as the release. Its policy carries no promise of its own; a certificate is computed
afterwards.
Run it:  python examples/lagrangian_q_learning.py --quick
"""

import argparse

import gymnasium as gym
import numpy as np

import dp_cmdp as dp

#: Share of the limit the learner aims at: its estimates are noisy.
MARGIN = 0.9


def learn(env: dp.gymnasium.ReleasedCosts, *, gamma: float, episodes: int, seed: int) -> dp.Policy:
    """max_π min_λ  E[Σ γ^t r] − λ(E[Σ γ^t cost] − limit), by sampling.

    Two tables are learnt for the greedy policy of Q_r − λ·Q_c; λ follows the estimated cost from
    the start. The greedy actions of the second half of the training are averaged state by state: a
    heuristic, since with a binding constraint no deterministic policy is optimal.
    """
    rng = np.random.default_rng(seed)
    shape = (env.problem.num_states, env.problem.num_actions)
    reward_table, cost_table, visits = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    price, target_cost = 0.0, MARGIN * float(env.limit[0])
    votes = np.full(shape, 1e-9)
    for episode in range(episodes):
        state, _ = env.reset(seed=seed if episode == 0 else None)
        start, over = state, False
        explore = max(0.05, 1.0 - 2.0 * episode / episodes)
        while not over:
            blend = reward_table[state] - price * cost_table[state]
            action = int(rng.integers(shape[1])) if rng.random() < explore else int(blend.argmax())
            following, reward, terminated, truncated, info = env.step(action)
            best = int((reward_table[following] - price * cost_table[following]).argmax())
            ahead = 0.0 if terminated else gamma
            visits[state, action] += 1
            rate = 1.0 / visits[state, action] ** 0.6
            for table, gain in ((reward_table, reward), (cost_table, info["cost"])):
                target = gain + ahead * table[following, best]
                table[state, action] += rate * (target - table[state, action])
            state, over = following, terminated or truncated
        greedy = (reward_table - price * cost_table).argmax(axis=1)
        price = max(0.0, price + 0.05 * (cost_table[start, greedy[start]] - target_cost))
        if episode >= episodes // 2:
            votes[np.arange(shape[0]), greedy] += 1.0
    return dp.Policy(votes / votes.sum(axis=1, keepdims=True))


parser = argparse.ArgumentParser(description="Lagrangian Q-learning on private costs")
parser.add_argument("--layout", default="corridor", help="a layout with one hazard kind")
parser.add_argument("--epsilon", default="4")
parser.add_argument("--delta", default="1/1000")
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--quick", action="store_true", help="train for a few seconds only")
options = parser.parse_args()

# The curator's side: it alone holds the hazards, and spends the budget once.
curator = dp.envs.HazardGridEnv(options.layout, access="curator", hazards=options.seed)
model = curator.model()  # public
release = dp.publish(model, curator.database(), epsilon=options.epsilon, delta=options.delta)

# The public side: environment, release, learner.
grid = gym.make("dp_cmdp/HazardGrid-v0", layout=options.layout)
env = dp.gymnasium.ReleasedCosts(grid, model, release)
gamma = curator.layout.gamma
policy = learn(env, gamma=gamma, episodes=3000 if options.quick else 20_000, seed=options.seed)

# What policies are worth, and what is proved of them for everything the release allows.
print(release)
best = dp.answer(model, release)
policies = {
    "uniform": dp.Policy.uniform(model.num_states, model.num_actions),
    "learner": policy,
    "solved": best.policy,
}
for name, each in policies.items():
    print(
        f"{name}: value {model.value(each, best.estimate):.3f}, {dp.certify(model, each, release)}"
    )
print(dp.rollout(env, policy, episodes=50, seed=0, gamma=gamma))
