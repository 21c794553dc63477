"""The one file of the oracles that knows the package; the redesign rewrites it and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

import dp_cmdp as dp
from dp_cmdp.cmdp.facts_synthesis import row_solver
from dp_cmdp.envs import HazardGridEnv
from dp_cmdp.problems.ad_auction import growing_auction, random_auction
from dp_cmdp.release.planner import planned
from tests.oracles import problems

LAYOUTS = ("cliff", "corridor", "crossing", "islands", "paper", "rooms", "two_hazards")
BUDGET = dp.PrivacyBudget(problems.EPSILON, problems.DELTA)
#: What is recorded of every problem, and timed.
NAMES = (*LAYOUTS, "auction 30", "knapsack 20 x 1000", "staffing")


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
    """A problem of :data:`NAMES`."""
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
