"""The idea in one picture: hidden hazards, certain facts about them, a certified policy.

The hazards are invented and the noise is simulated from a seed, so that the picture is the same
whenever it is made.

Run it:  python examples/idea.py --out docs
"""

import argparse
from pathlib import Path

import numpy as np

from dp_cmdp import Plan, PrivacyBudget, release_and_synthesize
from dp_cmdp.envs import HazardGridEnv, Hazards, parse_map
from dp_cmdp.figures import idea_figure, save_figure

parser = argparse.ArgumentParser(description="The idea of the package in one picture")
parser.add_argument("--seed", type=int, default=0, help="of the simulated noise")
parser.add_argument("--out", type=Path, default=Path("out/idea"), metavar="DIR")
options = parser.parse_args()

# A short way through places that may be hazardous, a long one around them.
layout = parse_map(
    """
S?.?.G
.####.
.?..?.
.####.
......
""",
    kinds=[{"severity": (0, 1), "severity_radius": 0.05, "tolerance": (0.2, 0.6),
            "tolerance_radius": 0.02}],
    slip=0.02,
    gamma=0.97,
    step_reward=-0.5,
    goal_reward=10.0,
    name="idea",
)  # fmt: skip
hazards = Hazards(layout, [0.05, 0.1, 0.9, 0.3], tolerance=[0.45])
curator = HazardGridEnv(layout, access="curator", hazards=hazards)
private = release_and_synthesize(
    curator.model(),
    curator.database(),
    PrivacyBudget(2, "1/1000"),
    plan=Plan("1/2"),
    rng=np.random.default_rng(options.seed),
)
print(f"value {private.safe.value:.4f}, without data {private.robust.value:.4f}")
print("figure", save_figure(idea_figure(private, layout=layout), options.out / "idea.png"))
