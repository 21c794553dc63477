"""``dp-cmdp rollout``: play a saved policy and see what happens."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from dp_cmdp.cli.problem import add_problem_options, open_for
from dp_cmdp.cli.tables import print_json
from dp_cmdp.cli.values import at_least
from dp_cmdp.errors import InvalidArgumentError

EPILOG = """examples:
  dp-cmdp rollout out/synthesize/policy.npz --episodes 500 --seed 0
  dp-cmdp rollout out/rooms/policy.npz --layout rooms --episodes 500 --seed 0 --curator --json

The public sees the largest costs that the public bounds allow; with --curator the true hazards are
met, and the numbers are for the curator only."""


def add_parser(commands) -> None:
    parser = commands.add_parser(
        "rollout",
        help="play a saved policy in its environment",
        description="Play a saved policy in a Gymnasium loop: discounted return and costs with "
        "95 % intervals.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("policy", type=Path, help="a policy.npz")
    add_problem_options(parser)
    parser.add_argument("--episodes", type=at_least(1), default=200)
    parser.add_argument("--seed", type=at_least(0), default=0)
    parser.add_argument("--curator", action="store_true", help="meet the true hazards")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from dp_cmdp.cmdp.policy import Policy
    from dp_cmdp.cmdp.rollout import rollout

    policy = Policy.load(options.policy)
    env = open_for(options)
    if policy.num_states != env.layout.num_cells:
        raise InvalidArgumentError(
            f"the policy must fit the environment; it has {policy.num_states} states, layout "
            f"{env.layout.name!r} has {env.layout.num_cells}: choose with --layout or --env"
        )
    played = rollout(
        env,
        policy,
        episodes=options.episodes,
        seed=options.seed,
        gamma=env.layout.gamma,
        progress=not options.json,
    )
    low, high = played.return_interval()
    report: dict[str, Any] = {
        "layout": env.layout.name,
        "episodes": options.episodes,
        "seed": options.seed,
        "return": {"mean": played.mean_return, "ci_low": low, "ci_high": high},
        "costs": [
            {"mean": float(mean), "ci_low": float(a), "ci_high": float(b)}
            for mean, (a, b) in zip(played.mean_costs, played.cost_intervals(), strict=True)
        ],
        "mean_length": float(played.lengths.mean()),
        "cut_off_weight": played.tail_weight,
        "true_hazards": options.curator,
    }
    if options.json:
        print_json(report)
        return 0
    whose = "true (curator only)" if options.curator else "largest possible (public)"
    print(f"return  {played.mean_return:.5g}  [{low:.5g}, {high:.5g}]")
    for cost, tolerance in zip(report["costs"], env.tolerance, strict=True):
        print(
            f"cost    {cost['mean']:.5g}  [{cost['ci_low']:.5g}, {cost['ci_high']:.5g}]  {whose}, "
            f"tolerance {tolerance:.5g}"
        )
    print(f"{options.episodes} episodes, {report['mean_length']:.1f} steps on average")
    return 0
