"""``dp-cmdp evaluate`` and ``rollout``: what a policy earns and costs, in theory and in play."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from dp_cmdp._src.base.errors import InvalidArgumentError
from dp_cmdp._src.cli import report
from dp_cmdp._src.cli.folder import writable_folder, write_private
from dp_cmdp._src.cli.parser import PROBLEM, at_least, command
from dp_cmdp._src.cli.problem import FORMS, Named
from dp_cmdp._src.cli.public import EXIT_NOT_PROVED, decided

ARGUMENTS = f"""{FORMS}
The problem of a folder is taken if none is named. With --curator the true numbers are used, and
what they say is written to curator_only/ in that folder; the exit code is then 0 whatever it is."""
EVALUATE = f"""examples:
  dp-cmdp evaluate out/solve                     for all that its release allows
  dp-cmdp evaluate rooms policy.npz              safe for every possible database?
  dp-cmdp evaluate out/solve --curator           against the true hazards

{ARGUMENTS}
Exit code 1 when the policy is NOT proved to be safe."""
PLAY = f"""examples:
  dp-cmdp rollout out/solve --episodes 500 --seed 0
  dp-cmdp rollout rooms policy.npz
  dp-cmdp rollout out/solve --curator            meet the true hazards

{ARGUMENTS}
An answer is charged with the worst database of its release, a policy with the public worst case."""
SHARED = (*PROBLEM, "--release", "--curator", "--data")
POLICY = "a folder that holds an answer, or a policy (.npz)"
OUT = "with --curator: the folder to write (default: that of the policy)"


def add_parsers(commands: Any) -> None:
    text = "exact value of a policy, and whether its costs are proved"
    evaluated = command(commands, "evaluate", evaluate, text, EVALUATE, *SHARED)
    text = "play a policy in its grid: return and costs with 95 percent intervals"
    played = command(commands, "rollout", rollout, text, PLAY, *SHARED, "--seed")
    for parser in (evaluated, played):
        parser.add_argument("decision", metavar="POLICY", type=Path, help=POLICY)
        parser.add_argument("--out", metavar="DIR", type=Path, help=OUT)
    played.add_argument("--episodes", type=at_least(2), default=200, help="default: 200")


def _opened(options: argparse.Namespace) -> tuple[Named, Any, Any]:
    """Problem, policy or answer, and release; refused unless it is a policy of that problem."""
    for name in ("data", "out"):
        if getattr(options, name) is not None and not options.curator:
            raise InvalidArgumentError(
                f"--{name} needs --curator: without it the true numbers are not read"
            )
    if options.curator and options.release is not None:
        raise InvalidArgumentError("--release is not read with --curator; leave one out")
    which, decision, release = decided(options)
    policy = getattr(decision, "decision", decision)
    if not (hasattr(which.problem, "mdp") and hasattr(policy, "num_states")):
        raise InvalidArgumentError("POLICY must be a policy, of a problem that is a grid or a CMDP")
    if policy.num_states != which.problem.num_states:
        raise InvalidArgumentError(
            f"the policy must fit the problem; it has {policy.num_states} states, {which.name} has "
            f"{which.problem.num_states}: name its PROBLEM before it"
        )
    return which, decision, release


def _write_for_curator(
    options: argparse.Namespace, name: str, compute: Callable[[Path], Any]
) -> int:
    """Put what looks at the truth where only its curator reads, and say no more than that."""
    path = options.decision
    with writable_folder(options.out or (path if path.is_dir() else path.parent)) as folder:
        written = str(write_private(folder, name, compute))
    report.say(options, {"curator_only": written}, ("curator", f"results written to {written}"))
    return 0


def evaluate(options: argparse.Namespace) -> int:
    import dp_cmdp as dp

    which, decision, release = _opened(options)
    problem, policy = which.problem, getattr(decision, "decision", decision)

    def compute(_: Path) -> dict[str, Any]:
        truth = problem.at(which.database(options.data))
        found = dp.evaluate(truth, policy)
        lists = {"costs": found.costs.tolist(), "limits": truth.limit.tolist()}
        return {"value": found.value, **lists, "slack": found.slack.tolist()}

    def work() -> tuple[Any, float]:
        known = (problem.envelope if release is None else release).uncertainty
        value = dp.evaluate(problem.worst(known), policy).value
        return dp.certify(problem, policy, release), value

    if options.curator:
        return _write_for_curator(options, "evaluation.json", compute)
    proof, value = report.under_bar(options, "proof", work)
    slack = dict(zip(proof.names, proof.slack.tolist(), strict=True))
    summary = {"problem": which.name, "value": value, "slack": slack}
    lines = [("", f"{name}: limit − cost ≥ {least:.6g}") for name, least in slack.items()]
    summary["certificate"] = report.certificate_summary(proof)
    report.say(options, summary, ("value", f"{value:.8g}"), ("costs", repr(proof)), *lines)
    return 0 if proof else EXIT_NOT_PROVED


def rollout(options: argparse.Namespace) -> int:
    which, decision, _ = _opened(options)
    if which.layout is None:
        raise InvalidArgumentError(
            "only grids can be played here: name the grid before the policy, or use "
            "dp_cmdp.rollout(env, …) for other environments"
        )
    compute = partial(_played, options, which, decision)
    if options.curator:
        return _write_for_curator(options, "rollout.json", compute)
    summary = report.under_bar(options, "episodes", compute)
    means = {"return": summary["return"], **summary["costs"]}
    text = "{mean:.5g}  [{low:.5g}, {high:.5g}]"
    lines = [(name, f"  {text.format(**mean)}") for name, mean in means.items()]
    length = f"{options.episodes} episodes, {summary['mean_length']:.1f} steps on average"
    report.say(options, summary, *lines, ("charged", summary["charged"]), ("length", length))
    return 0


def _played(
    options: argparse.Namespace, which: Named, decision: Any, _: Any = None
) -> dict[str, Any]:
    """What was met in the environment, with intervals."""
    import dp_cmdp as dp

    chosen = {name: getattr(options, name) for name in ("episodes", "seed")}
    env = dp.envs.HazardGridEnv(which.layout)
    if options.curator:
        hazards = _hazards(which, options.data)
        env = dp.envs.HazardGridEnv(which.layout, access="curator", hazards=hazards)
        decision = getattr(decision, "decision", decision)  # charged with what it meets
    whole = which.problem.criterion
    said = {} if whole.is_total and hasattr(decision, "decision") else {"gamma": whole.gamma}
    played = dp.rollout(env, decision, **said, **chosen)
    low, high = played.return_interval()
    costs = zip(which.problem.names, played.mean_costs, played.cost_intervals(), strict=True)
    return {
        "problem": which.name,
        **chosen,
        "return": {"mean": played.mean_return, "low": low, "high": high},
        "costs": {
            name: {"mean": float(mean), "low": float(low), "high": float(high)}
            for name, mean, (low, high) in costs
        },
        "charged": "the true costs" if options.curator else played.charged,
        "mean_length": float(played.lengths.mean()),
        "tail_weight": played.tail_weight,
    }


def _hazards(which: Named, source: str | None) -> Any:
    """The true hazards, whatever file they are in. *Curator only.*"""
    import numpy as np

    from dp_cmdp.envs import Hazards

    values, groups = which.database(source).read(), which.problem.envelope.groups
    costs, limits = (
        np.concatenate([values[g.start : g.stop] for g in groups if g.name.endswith(what)])
        for what in ("cost", "limit")
    )
    return Hazards(which.layout, costs, limit=limits)
