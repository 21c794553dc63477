"""The one file of the oracles that knows the package; the redesign rewrites it and nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import dp_cmdp as dp
from dp_cmdp.cmdp.certificate import certify_policy
from dp_cmdp.cmdp.facts_synthesis import row_solver
from dp_cmdp.data.polytope import Polytope
from dp_cmdp.envs import HazardGridEnv
from dp_cmdp.noise.optimal import OptimalNoise
from dp_cmdp.noise.truncated import LatticeTruncatedLaplace
from dp_cmdp.problems.ad_auction import growing_auction, random_auction
from dp_cmdp.release.planner import planned
from tests.oracles import problems
from tests.oracles.frozen.noise import Certificate

LAYOUTS = ("cliff", "corridor", "crossing", "islands", "paper", "rooms", "two_hazards")
BUDGET = dp.PrivacyBudget(problems.EPSILON, problems.DELTA)
#: Problems whose choice of a strategy is timed, and those whose values are recorded.
NAMES = (*LAYOUTS, "auction 30", "knapsack 20 x 1000", "staffing")
VALUED = (*NAMES, "auction 10", "auction 100")


@dataclass(frozen=True)
class Problem:
    """A problem with an invented truth; `model` is None for linear programs."""

    program: dp.ParametricLP
    database: dp.Database
    model: dp.ParametricCMDP | None = None

    def choose(self) -> str:
        """The strategy that the package chooses from public data, in its own words."""
        solver = None if self.model is None else row_solver(self.model)
        return str(planned("auto", self.program, BUDGET, solver=solver).plan)

    def robust_value(self) -> float:
        """What the answer that needs no data is worth in the middle of the public bounds."""
        if self.model is not None:
            return dp.robust_policy(self.model).value
        box = self.program.envelope
        return dp.solve(self.program.robust(box.lower, box.upper)).objective

    def optimum(self) -> float:
        """What the best answer is worth without privacy."""
        return dp.solve(self.program.at(self.database.values), certify=False).objective

    def peer(self) -> dict[str, Any]:
        """The robust linear program as arrays: private limits low, private costs and prices high.

        The objective is that of the middle of the public bounds. Of these problems this corner is
        the robust one; of others it need not be.
        """
        box = self.program.envelope
        middle = self.program.at((box.lower + box.upper) / 2)
        ends = [np.array(box.upper)]
        if "tolerance" in dict(box.groups):
            ends[0][box.index("tolerance")] = box.lower[box.index("tolerance")]
        worst = self.program.at(ends[0])
        return {
            "c": middle.c,
            "A": worst.A,
            "b": worst.b,
            "A_eq": worst.A_eq,
            "b_eq": worst.b_eq,
            "upper": worst.upper,
        }


@cache
def problem(name: str) -> Problem:
    """A problem of :data:`VALUED`."""
    if name in LAYOUTS:
        env = HazardGridEnv(name, access="curator")
        model = env.model()
        return Problem(model.program(), env.database(), model)
    if name.startswith("auction"):
        program = growing_auction(int(name.split()[1]), radius=0.1)
        return Problem(program, random_auction(program, np.random.default_rng(30)))
    numbers = problems.knapsack() if name.startswith("knapsack") else problems.staffing()
    return Problem(linear_program(numbers), dp.Database(numbers.values, _envelope(numbers)))


def linear_program(numbers: problems.Numbers) -> dp.ParametricLP:
    """Plain numbers as a program of the package."""
    rows, columns = numbers.A.shape
    every = np.arange(numbers.low.size)
    A: Any = dp.Affine((rows, columns), constant=numbers.A)
    b: Any = numbers.b
    if numbers.private == "A":
        A = dp.Affine((rows, columns), at=np.divmod(every, columns), entry=every)
    else:
        b = dp.Affine(rows, constant=numbers.b, at=[every], entry=every, coefficient=-1.0)
    return dp.ParametricLP(_envelope(numbers), c=numbers.c, A=A, b=b, upper=numbers.upper)


def _envelope(numbers: problems.Numbers) -> dp.Envelope:
    return dp.Envelope(numbers.low, numbers.high, radius=numbers.radius)


def small_programs() -> dict[str, problems.Numbers]:
    """Programs whose certificates are recorded in fractions."""
    return {"knapsack 3 x 12": problems.knapsack(3, 12), "staffing": problems.staffing()}


def calibrated(law: str, epsilon: str, delta: str, *, steps: int, entries: str) -> Certificate:
    """The noise that the package calibrates, as the facts of its certificate."""
    if law == "table":
        noise = OptimalNoise.calibrate(epsilon, delta, steps=steps, resolution=steps)
    else:
        moved = Fraction(entries)
        noise = LatticeTruncatedLaplace.calibrate(epsilon, delta, steps=steps, entries=moved)
    return Certificate.from_facts(json.loads(noise.certificate.to_json()))


def slack(
    numbers: problems.Numbers, x: Any, *, lower: Any, upper: Any, W: Any, q: Any, multipliers: Any
) -> np.ndarray:
    """What the package certifies of every row over an uncertainty set."""
    program = linear_program(numbers)
    known = Polytope(lower, upper, W=np.reshape(W, (len(q), len(lower))), q=q)
    links = program.polytope_rows(known).links
    factors = np.reshape(multipliers, (numbers.b.size, len(q)))[links.row, links.fact]
    return program.certain_slack(x, known, multipliers=factors)


def worst_cost(name: str, policy: Any, *, lower: Any, upper: Any) -> np.ndarray:
    """Upper bounds that the package proves of a policy's costs over released intervals."""
    model = problem(name).model
    assert model is not None
    return certify_policy(model.robust(lower, upper), dp.Policy(policy)).worst_case_cost


def verdict(paths: Iterable[Path]) -> dict[str, Any]:
    """What `verify` says of files that are judged together."""
    report = dp.verify(*paths)
    findings = [[Path(each.file).name, each.claim, each.outcome] for each in report.findings]
    return {"passed": report.passed, "findings": findings}


def ledger_rows(path: Path) -> list[dict[str, Any]]:
    """What is granted, spent and left on each account of an intact ledger, and its last hash."""
    report = dp.PrivacyLedger(path).verify()
    return [
        {
            "account": balance.identity,
            "debits": balance.debits,
            "total": [str(balance.total.epsilon), str(balance.total.delta)],
            "spent": [str(balance.spent.epsilon), str(balance.spent.delta)],
            "remaining": [str(balance.remaining.epsilon), str(balance.remaining.delta)],
            "head": report.head.hash,
        }
        for balance in report.balances
    ]


def debit(path: Path, account: str, epsilon: str, delta: str) -> None:
    """Spend from an account."""
    dp.PrivacyLedger(path).debit(account, dp.PrivacyBudget(epsilon, delta))
