"""Run by the Python of an environment with dp-cmdp and no extra, in an empty folder.

The core must answer, and what an extra is needed for must say which, before budget is spent.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import requires
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import gymnasium as gym

import dp_cmdp as dp
from dp_cmdp.envs import HazardGridEnv, RandomHazardGridEnv
from dp_cmdp.errors import MissingExtraError

BUDGET = dp.PrivacyBudget(2, "1/1000")
COMMAND = Path(sys.executable).with_name("dp-cmdp")


def check(holds: object, claim: str) -> None:
    """One claim, said and judged."""
    print(f"{'ok' if holds else 'NOT'}: {claim}")
    if not holds:
        sys.exit(f"not so: {claim}")


def refused(extra: str, call: Callable[[], Any]) -> bool:
    """Whether `call` is refused with the command that installs the extra."""
    try:
        call()
    except MissingExtraError as error:
        return f"pip install '.[{extra}]'" in str(error)
    return False


def command(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([COMMAND, *words], capture_output=True, text=True, check=False)


def the_core_answers() -> dp.Release:
    envelope = dp.Envelope([0.5, 0.5, 8.0], [2.0, 2.0, 12.0], radius=[0.1, 0.1, 0.5])
    program = dp.ParametricLP(
        envelope,
        c=[3.0, 2.0],
        A=dp.Affine((1, 2), at=([0, 0], [0, 1]), entry=[0, 1]),
        b=dp.Affine(1, at=[0], entry=[2]),
    )
    answer = dp.release_and_solve(program, dp.Database([1.0, 1.2, 10.0], envelope), BUDGET)
    proof = answer.solution.certificate
    check(proof is not None and proof.verified, "a private linear program is solved and certified")
    check(len(answer.release.to_frame()) == 3, "a release is a table")
    curator = HazardGridEnv(access="curator")
    private = dp.release_and_synthesize(curator.model(), curator.database(), BUDGET)
    check(private.safe.certificate.verified, "a private policy is synthesised and certified")
    large = dp.robust_policy(RandomHazardGridEnv(size=30).model())
    check(large.certificate.verified, "a model of 900 states is solved by the compiled engine")
    env = gym.make("dp_cmdp/HazardGrid-v0")
    observation, _ = env.reset(seed=0)
    action, _ = private.safe.policy.predict(observation)
    check(len(env.step(action)) == 5, "and played")
    return answer.release


def missing_extras_are_named(release: dp.Release) -> None:
    from dp_cmdp.experiments import mean_shift
    from dp_cmdp.experiments.runner import run_sweep

    program = dp.LinearProgram([1.0], upper=1)
    cluster = {"engine": "dask", "scheduler": "tcp://127.0.0.1:8786"}
    for claim, extra, call in (
        ("dp_cmdp.cvxpy", "cvxpy", lambda: dp.cvxpy.solve),
        ("engine='cvxpy'", "cvxpy", lambda: dp.solve(program, engine="cvxpy")),
        ("release.plot()", "figures", release.plot),
        ("engine='dask'", "dask", lambda: run_sweep(mean_shift.sweep(), **cluster)),
    ):
        check(refused(extra, call), f"{claim} names the extra {extra}")


def commands_that_draw_refuse_before_they_spend() -> None:
    told = "pip install '.[figures]'"
    account = ("--ledger", "ledger.sqlite", "--identity", "probe")
    amount = ("--epsilon", "1", "--delta", "1e-3")
    command("ledger", "create", account[1], "--identity", "probe", "--unit", "one", *amount)
    before = command("ledger", "show", account[1]).stdout
    for words in (
        ("synthesize", *amount, *account),
        ("advise",),
        ("audit", "--quick"),
        ("reproduce", "mean-shift"),
    ):
        done = command(*words)
        check(done.returncode == 2 and told in done.stderr, f"dp-cmdp {words[0]} names the extra")
    after = command("ledger", "show", account[1]).stdout
    check(before and before == after, "and the ledger was not debited")


def main() -> None:
    home = Path(dp.__file__).resolve()
    check(home.is_relative_to(Path(sys.prefix).resolve()), "dp_cmdp is the installed one")
    for package in ("cvxpy", "matplotlib", "distributed"):
        optional = any(each.startswith(package) for each in requires("dp-cmdp") or [])
        check(optional and find_spec(package) is None, f"{package} is an extra, and not here")
    release = the_core_answers()
    missing_extras_are_named(release)
    commands_that_draw_refuse_before_they_spend()


if __name__ == "__main__":
    main()
