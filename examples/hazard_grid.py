"""The main job: a policy for a grid world with private hazards, safe with certainty.

One release of the hazards is paid for; the policy is synthesised from it, certified, and played in
a Gymnasium loop. With --compare the curator sees what privacy cost, in a folder of their own.

Run it:  python examples/hazard_grid.py --out out/demo --compare
"""

import argparse
import json
from pathlib import Path

import dp_cmdp as dp

parser = argparse.ArgumentParser(description="A private, certainly safe policy")
parser.add_argument("--layout", default="paper", choices=dp.envs.layout_names())
parser.add_argument("--epsilon", default="2")
parser.add_argument("--delta", default="1/1000")
parser.add_argument("--episodes", type=int, default=300)
parser.add_argument("--compare", action="store_true", help="curator only: OUT/curator_only/")
parser.add_argument("--out", type=Path, default=Path("out/hazard_grid"))
options = parser.parse_args()

# The curator's side of the environment holds the hazards; its model is public.
curator = dp.envs.HazardGridEnv(options.layout, access="curator")
model = curator.model()
print(model)

# Refuses from public data what cannot be answered; then debits, measures once, and answers.
found = dp.solve(model, curator.database(), epsilon=options.epsilon, delta=options.delta)
print(found)
if found.source == "robust":
    print("the robust policy is as good: no budget need be spent here")

# Public files, from which anybody can prove it again: dp-cmdp verify OUT
found.save(options.out)
(options.out / "certificate.txt").write_text(f"{found}\n", encoding="utf-8")
print("figure", dp.figures.save_figure(found.plot(), options.out / "policy.png"))

# Anybody can play it: the public environment holds no hazard.
env = dp.envs.HazardGridEnv(options.layout)
played = dp.rollout(env, found, episodes=options.episodes)
low, high = played.return_interval()
print(f"{options.episodes} episodes: return {played.mean_return:.3f} [{low:.3f}, {high:.3f}]")

if options.compare:  # reads the truth unpaid: not to be published
    against = dp.curator.compare(found, curator.database())
    folder = options.out / "curator_only"
    folder.mkdir(mode=0o700, exist_ok=True)
    numbers = {name: getattr(against, name) for name in ("loss", "violated", "value", "best")}
    (folder / "comparison.json").touch(mode=0o600)
    (folder / "comparison.json").write_text(json.dumps(numbers), encoding="utf-8")
    dp.figures.save_figure(against.plot(), folder / "comparison.png")
    print("curator only", folder)
