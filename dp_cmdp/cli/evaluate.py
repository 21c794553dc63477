"""``dp-cmdp evaluate``: exact value and certified cost of a saved policy."""

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
from dp_cmdp.errors import InvalidArgumentError

if TYPE_CHECKING:
    from dp_cmdp.cmdp.certificate import PolicyCertificate
    from dp_cmdp.cmdp.model import CMDP
    from dp_cmdp.cmdp.policy import Policy

EPILOG = """examples:
  dp-cmdp evaluate out/synthesize/policy.npz --release out/synthesize/release.npz
  dp-cmdp evaluate out/synthesize/policy.npz            safe for every possible database?
  dp-cmdp evaluate out/synthesize/policy.npz --curator  against the true hazards

Exit code 1 when the policy is NOT verified as safe (0 when it is, 2 on errors). With --curator the
verdict depends on the truth: it is written to curator_only/evaluation.json, and the exit code is 0
whatever it says."""

EXIT_NOT_VERIFIED = 1
REPORT = "evaluation.json"


def add_parser(commands) -> None:
    parser = commands.add_parser(
        "evaluate",
        help="exact value and certified worst-case cost of a saved policy",
        description="Evaluate a saved policy exactly and bound its costs for certain: over what a "
        "release allows, over all databases (default), or for the true hazards (--curator).",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("policy", type=Path, help="a policy.npz")
    add_problem_options(parser, default=OF_THE_POLICY)
    parser.add_argument("--release", type=Path, metavar="FILE", help="a release.npz")
    add_curator_options(parser, help="judge by the true hazards")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from dp_cmdp.cmdp.facts_certificate import certify_for
    from dp_cmdp.data.release import Release

    if options.curator and options.release is not None:
        raise InvalidArgumentError("--release is not read with --curator; leave one out")
    policy, env = open_policy(options)
    model = env.model()
    if options.curator:
        return tell_curator(
            options, REPORT, lambda _: _judged(env.cmdp(), policy, "true hazards, curator only")
        )
    if options.release is None:
        report = _judged(model.robust(), policy, "worst case over all databases")
    else:
        release = Release.load(options.release)
        scope, proof = "worst case over the release", certify_for(model, policy, release)
        report = _judged(model.tightened(release), policy, scope, proof=proof)
    if options.json:
        print_json(report)
    else:
        _print_report(report)
    return 0 if report["certificate"]["verified"] else EXIT_NOT_VERIFIED


def _judged(
    cmdp: CMDP, policy: Policy, scope: str, *, proof: PolicyCertificate | None = None
) -> dict[str, Any]:
    """Value and certified costs in the CMDP by which the policy is judged."""
    from dp_cmdp.cmdp.certificate import certify_policy
    from dp_cmdp.cmdp.evaluation import evaluate

    return {
        "scope": scope,
        "value": evaluate(cmdp, policy).value,
        "certificate": _facts(proof or certify_policy(cmdp, policy)),
    }


def _facts(proof: PolicyCertificate) -> dict[str, Any]:
    return {
        "verified": proof.verified,
        "worst_case_cost": proof.worst_case_cost.tolist(),
        "tolerance": proof.tolerance.tolist(),
        "joint": None if proof.joint is None else proof.joint.tolist(),
    }


def _print_report(report: dict[str, Any]) -> None:
    proof = report["certificate"]
    print(f"value  {report['value']:.8g}")
    joint = proof["joint"] or [None] * len(proof["tolerance"])
    for cost, tolerance, both in zip(
        proof["worst_case_cost"], proof["tolerance"], joint, strict=True
    ):
        if both is not None and both <= 0 < cost - tolerance:
            print(f"cost   at most {cost:.8g}, tolerance at least {tolerance:.8g}, of different")
            print(f"       databases  ({report['scope']})")
            print(f"       of one database, cost − tolerance ≤ {both:.3g}")
        else:
            sign = "≤" if cost <= tolerance else "EXCEEDS"
            print(f"cost   {cost:.8g} {sign} tolerance {tolerance:.8g}  ({report['scope']})")
    print("safe: " + ("verified, with certainty" if proof["verified"] else "NOT verified"))
