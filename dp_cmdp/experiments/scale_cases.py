"""The problems of the scale study, each with its invented truth: *curator only*.

An auction is answered by the compared methods as they are; a grid by the same releases and the
policy synthesised from them. Plans are chosen from public data, once per program and budget.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from dp_cmdp.accounting.budget import PrivacyBudget
from dp_cmdp.baselines import METHODS
from dp_cmdp.baselines.planned import plan_of
from dp_cmdp.cmdp.certificate import certify_policy
from dp_cmdp.cmdp.exact_costs import verify_exact
from dp_cmdp.cmdp.facts_synthesis import row_solver
from dp_cmdp.cmdp.parametric import ParametricCMDP
from dp_cmdp.cmdp.private_policy import release_and_synthesize
from dp_cmdp.cmdp.synthesis import SafePolicy, robust_policy, safe_policy, synthesize
from dp_cmdp.data.database import Database
from dp_cmdp.errors import SolverError
from dp_cmdp.experiments.cost_of_privacy import named_hazards
from dp_cmdp.experiments.sweep import Row, stream
from dp_cmdp.metrics import cost_of_privacy, suboptimality, violation
from dp_cmdp.problems.ad_auction import growing_auction, random_auction
from dp_cmdp.problems.hazard_grids import random_grid
from dp_cmdp.program.linear_program import solve
from dp_cmdp.program.parametric import ParametricLP
from dp_cmdp.release.blocks import release_blocks
from dp_cmdp.release.plan import Plan
from dp_cmdp.release.planner import planned

#: Draws before this number are those on which constants were chosen.
FIRST = 1000
#: The grid of the measurements that the plans' menu was chosen on, beside the fresh ones.
KNOWN_GRID = 0


@dataclass(frozen=True, slots=True, eq=False)
class AuctionCase:
    """An auction with its prices.

    Attributes
    ----------
    program : ParametricLP
    database : Database
    optimum : float
    """

    program: ParametricLP
    database: Database
    optimum: float

    def outcome(self, method: str, budget: PrivacyBudget, rng: np.random.Generator) -> Row:
        """What one answer loses, the rows it violates exactly, and its plan."""
        answer = METHODS[method].run(self.program, self.database, budget, rng=rng)
        if answer.x is None:
            raise SolverError(answer.note)
        lost = suboptimality(self.program, self.database, x=answer.x, optimum=self.optimum)
        plan = str(plan_of("auto", self.program, budget)) if method == "planned" else None
        broken = violation(self.program, self.database, x=answer.x)
        return {"suboptimality": float(lost), "violated": broken.violated_rows, "plan": plan}


@dataclass(frozen=True, slots=True, eq=False)
class PolicyCase:
    """A grid with its hazards.

    Attributes
    ----------
    model : ParametricCMDP
    program : ParametricLP
        Its occupancy program.
    database : Database
    optimum : float
    """

    model: ParametricCMDP
    program: ParametricLP
    database: Database
    optimum: float

    def outcome(self, method: str, budget: PrivacyBudget, rng: np.random.Generator) -> Row:
        """What one policy loses, whether it is unsafe, and its plan.

        Safety is judged by a proven bound, and in rational arithmetic where that does not decide.
        """
        plan = _policy_plan(self, budget) if method == "planned" else None
        made = self._policy(method, budget, rng, plan)
        truth = self.model.at(self.database.values)
        kept = certify_policy(truth, made.policy).verified or verify_exact(truth, made.policy)
        return {
            "suboptimality": float(cost_of_privacy(self.optimum, made.value)),
            "violated": int(not (kept and made.certificate.verified)),
            "plan": None if plan is None else str(plan),
        }

    def _policy(
        self, method: str, budget: PrivacyBudget, rng: np.random.Generator, plan: Plan | None
    ) -> SafePolicy:
        if method == "robust":
            return robust_policy(self.model)
        if method == "benvenuti2025":
            shares = self.program.equal_shares
            release = release_blocks(
                self.database, budget, program=self.program, alphas=shares, rng=rng
            )
            return synthesize(self.model, release)
        return release_and_synthesize(
            self.model,
            self.database,
            budget,
            rng=rng,
            plan="database" if plan is None else plan,
            calibration="tight" if plan is None else None,
        ).safe


@lru_cache(maxsize=16)
def _policy_plan(case: PolicyCase, budget: PrivacyBudget) -> Plan:
    """Chosen once per grid and budget: *public*."""
    return planned("auto", case.program, budget, solver=row_solver(case.model)).plan


Case = AuctionCase | PolicyCase


def auction_case(size: int, *, radius: float, seed: int, draw: int) -> AuctionCase:
    """An auction of `size` groups with the prices of a draw."""
    program = growing_auction(size, radius=radius)
    database = random_auction(program, stream(seed, FIRST + draw))
    best = solve(program.at(database.values), certify=False).objective
    return AuctionCase(program, database, best)


@lru_cache(maxsize=4)
def grid_case(
    size: int, *, radius: float, start: str, seed: int = 0, draw: int | None = None
) -> PolicyCase:
    """The grid of a draw, or the known one."""
    rng = np.random.default_rng(KNOWN_GRID) if draw is None else stream(seed, FIRST + draw)
    model, database = random_grid(size, rng, radius=radius, start=start)
    return _policy_case(model, database)


@lru_cache(maxsize=8)
def layout_case(name: str) -> PolicyCase:
    """A layout of the package with the hazards that come with it."""
    from dp_cmdp.envs.dynamics import GridModel

    hazards = named_hazards(name)
    return _policy_case(GridModel(hazards.layout).parametric(), hazards.database())


def _policy_case(model: ParametricCMDP, database: Database) -> PolicyCase:
    best = safe_policy(model.at(database.values)).value
    return PolicyCase(model, model.program(), database, best)
