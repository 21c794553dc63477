"""``dp-cmdp rollout``: play a saved policy and see what happens."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dp_cmdp.cli.problem import (
    OF_THE_POLICY,
    add_curator_options,
    add_problem_options,
    open_policy,
    tell_curator,
)
from dp_cmdp.cli.tables import print_json
from dp_cmdp.cli.values import at_least

if TYPE_CHECKING:
    from dp_cmdp.cmdp.policy import Policy
    from dp_cmdp.envs.hazard_grid import HazardGridEnv

EPILOG = """examples:
  dp-cmdp rollout out/synthesize/policy.npz --episodes 500 --seed 0
  dp-cmdp rollout out/rooms/policy.npz --episodes 500 --seed 0 --curator

The public sees the largest costs that the public bounds allow. With --curator the true hazards are
met, and the numbers are written to curator_only/rollout.json, for the curator only."""

REPORT = "rollout.json"


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
    add_problem_options(parser, default=OF_THE_POLICY)
    parser.add_argument("--episodes", type=at_least(1), default=200)
    parser.add_argument("--seed", type=at_least(0), default=0)
    add_curator_options(parser, help="meet the true hazards")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    policy, env = open_policy(options)
    if options.curator:
        return tell_curator(options, REPORT, lambda _: _played(options, env, policy))
    report = _played(options, env, policy)
    if options.json:
        print_json(report)
    else:
        _print_report(report)
    return 0


def _played(options: argparse.Namespace, env: HazardGridEnv, policy: Policy) -> dict[str, Any]:
    """What was met in the environment, with intervals."""
    from dp_cmdp.cmdp.rollout import rollout

    played = rollout(
        env,
        policy,
        episodes=options.episodes,
        seed=options.seed,
        gamma=env.layout.gamma,
        progress=not (options.json or options.curator),
    )
    low, high = played.return_interval()
    return {
        "layout": env.layout.name,
        "episodes": options.episodes,
        "seed": options.seed,
        "return": {"mean": played.mean_return, "ci_low": low, "ci_high": high},
        "costs": [
            {"mean": float(mean), "ci_low": float(a), "ci_high": float(b)}
            for mean, (a, b) in zip(played.mean_costs, played.cost_intervals(), strict=True)
        ],
        "tolerance": env.tolerance.tolist(),
        "mean_length": float(played.lengths.mean()),
        "cut_off_weight": played.tail_weight,
        "true_hazards": options.curator,
    }


def _print_report(report: dict[str, Any]) -> None:
    gain = report["return"]
    print(f"return  {gain['mean']:.5g}  [{gain['ci_low']:.5g}, {gain['ci_high']:.5g}]")
    for cost, tolerance in zip(report["costs"], report["tolerance"], strict=True):
        print(
            f"cost    {cost['mean']:.5g}  [{cost['ci_low']:.5g}, {cost['ci_high']:.5g}]  largest "
            f"possible (public), tolerance {tolerance:.5g}"
        )
    print(f"{report['episodes']} episodes, {report['mean_length']:.1f} steps on average")
