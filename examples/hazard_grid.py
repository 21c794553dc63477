"""The main job: a policy for a grid world with private hazards, safe with certainty.

The hazards are released once under differential privacy; the policy is synthesised from the
release, certified, and played in a Gymnasium loop. With --compare the curator sees what privacy
cost, in a folder of their own.

Run it:  python examples/hazard_grid.py --out out/demo --compare
"""

import argparse
from pathlib import Path

import gymnasium as gym

from dp_cmdp import PrivacyBudget, cost_of_privacy, evaluate, release_database, saturation
from dp_cmdp.cmdp.occupancy import occupancy_of
from dp_cmdp.cmdp.rollout import rollout
from dp_cmdp.cmdp.synthesis import robust_policy, safe_policy, synthesize
from dp_cmdp.data.curator import report_to_curator
from dp_cmdp.envs import HazardGridEnv, save_layout
from dp_cmdp.figures import comparison_figure, policy_figure, save_figure

parser = argparse.ArgumentParser(description="A private, certainly safe policy")
parser.add_argument("--epsilon", default="2")
parser.add_argument("--delta", default="1/1000")
parser.add_argument("--episodes", type=int, default=300)
parser.add_argument("--compare", action="store_true", help="curator only: OUT/curator_only/")
parser.add_argument("--out", type=Path, default=Path("out/hazard_grid"))
options = parser.parse_args()

# The curator's side of the environment holds the hazards; its model is public.
curator = HazardGridEnv(access="curator")
model = curator.model()
print(model)

# Before any data is read: is there a policy that is safe for every possible database?
robust = robust_policy(model)
print(f"robust policy (ε = 0, no data): value {robust.value:.4f}")

# The only look at the data. Everything below, unless --compare is given, uses the release alone.
release = release_database(curator.database(), PrivacyBudget(options.epsilon, options.delta))
print(release)
saturated = saturation(release, model.envelope).upper
print(f"{100 * saturated:.0f} % of the released severities reach the public maximum")

safe = synthesize(model, release)
proof = safe.certificate
print(f"private policy: value {safe.value:.4f}")
print(
    f"  worst-case cost {proof.worst_case_cost[0]:.6f} ≤ {proof.tolerance[0]:.6f}: {proof.verified}"
)
if safe.value <= robust.value:
    print("  the robust policy is as good: no budget need be spent here")
# Public files, from which anybody can prove it again: dp-cmdp verify.
layout = curator.layout
safe.policy.save(options.out / "policy.npz", release=release, model=model, layout=layout)
release.save(options.out / "release.npz")
save_layout(layout, options.out / "layout.json")
title = f"private policy, {release.guarantee.budget}"
figure = policy_figure(safe, layout=layout, title=title, release=release, robust=robust)
print("figure", save_figure(figure, options.out / "policy.png"))

# Anybody can play it: the public environment holds no hazard.
env = gym.make("dp_cmdp/HazardGrid-v0")
played = rollout(
    env, safe.policy, episodes=options.episodes, seed=0, gamma=curator.layout.gamma, progress=True
)
low, high = played.return_interval()
print(f"{options.episodes} episodes: return {played.mean_return:.3f} [{low:.3f}, {high:.3f}]")


def compared(folder: Path) -> dict[str, float]:
    """Curator only: the private policy against the truth."""
    truth = curator.cmdp()
    best = safe_policy(truth)
    judged = evaluate(truth, safe.policy)
    policies = (safe.policy, robust.policy, best.policy)
    figure = comparison_figure(
        policies,
        occupancies=[occupancy_of(truth, policy) for policy in policies],
        layout=layout,
        severity=truth.f.max(axis=2),
        title=title,
        values=(judged.value, robust.value, best.value),
    )
    save_figure(figure, folder / "comparison.png", private=True)
    return {
        "value_without_privacy": best.value,
        "cost_of_privacy_percent": 100 * cost_of_privacy(best.value, judged.value),
        "true_cost": float(judged.costs[0]),
        "true_tolerance": float(truth.f0[0]),
    }


if options.compare:
    print("curator only", report_to_curator(options.out, "comparison.json", compared))
