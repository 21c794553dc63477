"""Train a safe-RL learner on private costs: a tabular Lagrangian Q-learner behind the wrapper.

The learner walks in a public environment and sees released costs only, so whatever it learns is
as private as the release. Its policy carries no promise of its own; a certificate is computed
afterwards.
Run it:  python examples/lagrangian_q_learning.py --quick
"""

import argparse
from pathlib import Path

import gymnasium as gym
import numpy as np

from dp_cmdp import PrivacyBudget, envs, release_database
from dp_cmdp.cmdp.certificate import certify_policy
from dp_cmdp.cmdp.evaluation import evaluate
from dp_cmdp.cmdp.model import CMDP
from dp_cmdp.cmdp.policy import Policy
from dp_cmdp.data.curator import report_to_curator

#: Share of the tolerance the learner aims at: its estimates are noisy.
MARGIN = 0.9


def learn(env: envs.PrivateCostWrapper, public: CMDP, *, episodes: int, seed: int) -> Policy:
    """max_π min_λ  E[Σ γ^t r] − λ(E[Σ γ^t cost] − tolerance), by sampling.

    Two tables are learnt for the greedy policy of Q_r − λ·Q_c; λ follows the estimated cost from
    the start. Of `public` only the sizes and γ are used. The greedy actions of the second half of
    the training are averaged state by state: a heuristic, since with a binding constraint no
    deterministic policy is optimal.
    """
    rng = np.random.default_rng(seed)
    shape = (public.num_states, public.num_actions)
    reward_table, cost_table, visits = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    price, target_cost = 0.0, MARGIN * float(env.tolerance[0])
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
            ahead = 0.0 if terminated else public.gamma
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
    return Policy(votes / votes.sum(axis=1, keepdims=True))


def main() -> None:
    parser = argparse.ArgumentParser(description="Lagrangian Q-learning on private costs")
    parser.add_argument("--layout", default="corridor", help="a layout with one hazard kind")
    parser.add_argument("--epsilon", default="4")
    parser.add_argument("--delta", default="1/1000")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="train for a few seconds only")
    parser.add_argument("--compare", action="store_true", help="curator only: OUT/curator_only/")
    parser.add_argument("--out", type=Path, default=Path("out/lagrangian"))
    options = parser.parse_args()

    # The curator's side: it alone holds the hazards, and spends the budget once.
    curator = envs.HazardGridEnv(options.layout, access="curator", hazards=options.seed)
    release = release_database(
        curator.database(),
        PrivacyBudget(options.epsilon, options.delta),
        rng=np.random.default_rng(options.seed),  # a simulation; leave it out for real data
    )

    # The public side: environment, release, learner.
    grid = gym.make("dp_cmdp/HazardGrid-v0", layout=options.layout)
    env = envs.PrivateCostWrapper(grid, release)
    public = envs.HazardGridEnv(options.layout).model().tightened(release)
    episodes = 3000 if options.quick else 20_000
    policy = learn(env, public, episodes=episodes, seed=options.seed)
    walks = {"uniform": Policy.uniform(public.num_states, 4), "learner": policy}

    # What the learner's policy costs for everything the release allows.
    print(f"{release.guarantee}")
    print(f"{'policy':12}{'value':>10}{'released cost':>16}")
    for name, walk in walks.items():
        seen = evaluate(public, walk)
        print(f"{name:12}{seen.value:10.3f}{seen.costs[0]:16.4f}")
    print(f"{'tolerance':22}{public.f0[0]:16.4f}")
    certified = certify_policy(public, policy).verified
    print(
        f"learner certified safe for everything the release allows: {'yes' if certified else 'no'}"
    )

    def compared(_: Path) -> dict[str, float]:
        """Curator only: what the policies truly cost."""
        truth = curator.cmdp()
        costs = {name: float(evaluate(truth, walk).costs[0]) for name, walk in walks.items()}
        return {**costs, "tolerance": float(truth.f0[0])}

    if options.compare:
        print("curator only", report_to_curator(options.out, "comparison.json", compared))


if __name__ == "__main__":
    main()
