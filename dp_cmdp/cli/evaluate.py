"""``dp-cmdp evaluate``: exact value and certified cost of a saved policy."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from dp_cmdp.cli.problem import add_problem_options, open_for
from dp_cmdp.cli.tables import print_json

EPILOG = """examples:
  dp-cmdp evaluate out/synthesize/policy.npz --release out/synthesize/release.npz
  dp-cmdp evaluate out/synthesize/policy.npz                  safe for every possible database?
  dp-cmdp evaluate out/synthesize/policy.npz --curator --json against the true hazards

Exit code 1 when the policy is NOT verified as safe (0 when it is, 2 on errors)."""

EXIT_NOT_VERIFIED = 1


def add_parser(commands) -> None:
    parser = commands.add_parser(
        "evaluate",
        help="exact value and certified worst-case cost of a saved policy",
        description="Evaluate a saved policy exactly and bound its costs rigorously: over what a "
        "release allows, over all databases (default), or for the true hazards (--curator).",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("policy", type=Path, help="a policy.npz")
    add_problem_options(parser)
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--release", type=Path, metavar="FILE", help="a release.npz")
    what.add_argument("--curator", action="store_true", help="judge by the true hazards")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from dp_cmdp.cmdp.certificate import certify_policy
    from dp_cmdp.cmdp.evaluation import evaluate
    from dp_cmdp.cmdp.policy import Policy

    policy = Policy.load(options.policy)
    cmdp, scope = _judge(options)
    value = evaluate(cmdp, policy).value
    proof = certify_policy(cmdp, policy)
    report: dict[str, Any] = {
        "scope": scope,
        "value": value,
        "certificate": {
            "verified": proof.verified,
            "worst_case_cost": proof.worst_case_cost.tolist(),
            "tolerance": proof.tolerance.tolist(),
        },
    }
    code = 0 if proof.verified else EXIT_NOT_VERIFIED
    if options.json:
        print_json({"curator_only": report} if options.curator else report)
        return code
    print(f"value  {value:.8g}")
    for cost, tolerance in zip(proof.worst_case_cost, proof.tolerance, strict=True):
        sign = "≤" if cost <= tolerance else "EXCEEDS"
        print(f"cost   {cost:.8g} {sign} tolerance {tolerance:.8g}  ({scope})")
    print("safe: " + ("verified, rigorously" if proof.verified else "NOT verified"))
    return code


def _judge(options: argparse.Namespace) -> tuple[Any, str]:
    """The CMDP by which the policy is judged, and what that means."""
    from dp_cmdp.release import Release

    env = open_for(options)
    if options.curator:
        return env.cmdp(), "true hazards, curator only"
    model = env.model()
    if options.release is None:
        return model.robust(), "worst case over all databases"
    return model.tightened(Release.load(options.release)), "worst case over the release"
