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
from dp_cmdp.envs import HazardGridEnv, random_hazard_grid
from dp_cmdp.errors import MissingExtraError

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
    theta = dp.Envelope([0.5, 0.5, 8.0], [2.0, 2.0, 12.0], radius=[0.1, 0.1, 0.5])
    lp = dp.ParametricLP(maximize=[3.0, 2.0], A=[[theta[0], theta[1]]], b=[theta[2]])
    found = dp.solve(lp, [1.0, 1.2, 10.0], epsilon=2, delta="1/1000")
    check(found.certificate.verified, "a private linear program is solved and certified")
    release = dp.publish(theta, [1.0, 1.2, 10.0], epsilon=2, delta="1/1000", strategy="entries")
    check(len(release.to_frame()) == 3, "a release is a table")
    curator = HazardGridEnv(access="curator")
    private = dp.solve(curator.model(), curator.database(), epsilon=2, delta="1/1000")
    check(private.certificate.verified, "a private policy is solved and certified")
    large = dp.answer(random_hazard_grid(size=30).model())
    check(large.certificate.verified, "a model of 900 states is solved")
    env = gym.make("dp_cmdp/HazardGrid-v0")
    observation, _ = env.reset(seed=0)
    action, _ = private.policy.predict(observation)
    check(len(env.step(action)) == 5, "and played")
    return release


def missing_extras_are_named(release: dp.Release) -> None:
    for claim, extra, call in (
        ("dp_cmdp.cvxpy", "cvxpy", lambda: dp.cvxpy.load),
        ("release.plot()", "figures", release.plot),
    ):
        check(refused(extra, call), f"{claim} names the extra {extra}")


def commands_do_without_pictures() -> None:
    account, amount = ("--account", "probe"), ("--epsilon", "1", "--delta", "1e-3")
    command("ledger", "create", "ledger.sqlite", *account, "--unit", "one", *amount)
    paid = command("solve", *amount, "--ledger", "ledger.sqlite", *account, "--out", "solved")
    check(paid.returncode == 0, "dp-cmdp solve needs no extra")
    check(command("verify", "solved").returncode == 0, "what it wrote is verified")
    before = command("ledger", "show", "ledger.sqlite").stdout
    again = command("solve", *amount, "--ledger", "ledger.sqlite", *account, "--out", "again")
    check(again.returncode == 2, "what the ledger does not allow is refused")
    after = command("ledger", "show", "ledger.sqlite").stdout
    check(before and before == after, "and the ledger was not debited")
    done = command("explore")
    told = "pip install '.[explorer]'"
    check(done.returncode == 2 and told in done.stderr, "dp-cmdp explore names the extra")


def main() -> None:
    home = Path(dp.__file__).resolve()
    check(home.is_relative_to(Path(sys.prefix).resolve()), "dp_cmdp is the installed one")
    check(find_spec("paper") is None, "the laboratory is not in the wheel")
    for package in ("cvxpy", "matplotlib", "distributed"):
        optional = any(each.startswith(package) for each in requires("dp-cmdp") or [])
        check(optional and find_spec(package) is None, f"{package} is an extra, and not here")
    release = the_core_answers()
    missing_extras_are_named(release)
    commands_do_without_pictures()


if __name__ == "__main__":
    main()
