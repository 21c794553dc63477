"""Hsu et al. 2014 on the hazard grid: does it converge?

The paper reports that it did not, for any sample at any ε. Its method meets constraints only up to
an error, and the balance equations of an occupancy measure are constraints: a "solution" that
misses them is no policy at all. Recorded per draw: whether the method's own (noisy) test is passed,
by how much the balance equations are missed in total (Σ|residual|, where Σμ = 1), and whether a
constraint of the true program is violated.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

import dp_cmdp as dp
from paper.baselines import METHODS
from paper.blocks import true_slack
from paper.policies import occupancy_program
from paper.problems.grids import scenario
from paper.runner import Row, Setting, Sweep, stream
from paper.study import Study, tabled

#: As in the experiment on the cost of privacy.
DELTA = "1/10"
#: A decade to either side of ε = 1.
EPSILONS = ("1/10", "1", "10")
#: An occupancy measure that misses the balance equations by more than this is no policy.
CONVERGED = 1e-2


def sweeps(draws: int, quick: bool) -> tuple[Sweep, ...]:
    settings = tuple({"digest": scenario().digest, "epsilon": epsilon} for epsilon in EPSILONS)
    return (Sweep(draw_answer, settings, draws, chunk=10),)


def draw_answer(setting: Setting, seed: int, draw: int) -> Row:
    """One run of Hsu's method."""
    grid, epsilon = scenario(), setting["epsilon"]
    program, rng = occupancy_program(grid.model), stream(seed, draw, epsilon)
    budget = dp.PrivacyBudget(epsilon, DELTA)
    answer = METHODS["hsu2014"].run(program, grid.values, budget, rng=rng)
    if answer.x is None:
        return {"own_test": int(answer.converged), "residual": None, "violated": None}
    missed = program.A_eq @ answer.x - program.b_eq
    return {
        "own_test": int(answer.converged),
        "residual": float(np.abs(missed).sum()),
        "violated": int((true_slack(program, grid.values, answer.x) < 0).any()),
    }


def table(frame: pd.DataFrame) -> list[Row]:
    """Per ε: how often its own test passes, and how far the answers are from being policies."""

    def row(key: Row, part: pd.DataFrame) -> Row:
        residual = part["residual"].astype(float)
        usable = (residual <= CONVERGED) & (part["own_test"] == 1)
        return {
            "draws": len(part),
            "own_test_passed_percent": 100.0 * float(part["own_test"].mean()),
            "converged_percent": 100.0 * float(usable.mean()),
            "balance_missed_median": float(residual.median()),
            "balance_missed_least": float(residual.min()),
            "violated_percent": 100.0 * float(part["violated"].astype(float).mean()),
        }

    return tabled(frame.assign(method="hsu2014"), ("method", "epsilon"), row)


STUDY = Study(
    name="hsu-cmdp",
    about="Hsu 2014 on the hazard grid: how far its answers are from being policies",
    sweeps=sweeps,
    table=table,
    figure="single:hsu_cmdp_figure",
    draws=200,
    quick_draws=20,
)
