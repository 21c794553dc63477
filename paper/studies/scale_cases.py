"""The problems of the scale study, each with its invented truth.

Strategies are chosen from public data, once per problem and budget.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

import dp_cmdp as dp
from paper.baselines import METHODS
from paper.baselines.ours import chosen, entries, simulated
from paper.blocks import equal_shares, form, true_slack
from paper.layouts import scenario
from paper.linear import Floats, solve
from paper.metrics import relative_loss
from paper.policies import kept, occupancy_program, optimum, perturbed_costs
from paper.problems.auction import growing_auction, random_auction
from paper.problems.grids import random_grid
from paper.runner import Row, stream

#: Draws before this number are those on which constants were chosen.
FIRST = 1000
#: The grid of the measurements that the menu was chosen on, beside the fresh ones.
KNOWN_GRID = 0


@dataclass(frozen=True, slots=True, eq=False)
class AuctionCase:
    """An auction with its prices and the true optimum."""

    problem: dp.ParametricLP
    values: Floats
    optimum: float

    def outcome(self, method: str, budget: dp.PrivacyBudget, rng: np.random.Generator) -> Row:
        """What one answer loses, the rows it violates exactly, and its strategy."""
        answer = METHODS[method].run(self.problem, self.values, budget, rng=rng)
        if answer.x is None:
            raise dp.errors.SolverError(answer.note)
        achieved = float(form(self.problem).at(self.values).c @ answer.x)
        return {
            "suboptimality": relative_loss(self.optimum, achieved),
            "violated": int((true_slack(self.problem, self.values, answer.x) < 0).sum()),
            "plan": chosen(self.problem, budget).name if method == "planned" else None,
        }


@dataclass(frozen=True, slots=True, eq=False)
class PolicyCase:
    """A grid with its hazards and the value of the best policy."""

    problem: dp.ParametricCMDP
    values: Floats
    optimum: float

    def outcome(self, method: str, budget: dp.PrivacyBudget, rng: np.random.Generator) -> Row:
        """What one policy loses, whether it is unsafe, and its strategy."""
        found = self._answer(method, budget, rng)
        value = self.problem.value(found.policy, self.values)
        safe = bool(found.certificate) and kept(self.problem, self.values, found.policy)
        return {
            "suboptimality": max(relative_loss(self.optimum, value), 0.0),
            "violated": int(not safe),
            "plan": chosen(self.problem, budget).name if method == "planned" else None,
        }

    def _answer(self, method: str, budget: dp.PrivacyBudget, rng: np.random.Generator) -> Any:
        model = self.problem
        if method == "robust":
            return _robust(model)
        if method == "benvenuti2025":
            alphas = equal_shares(occupancy_program(model))
            made, found = perturbed_costs(model, self.values, budget, alphas=alphas, rng=rng)
            return made.answer(found.known)
        strategy = (chosen if method == "planned" else entries)(model, budget)
        return simulated(model, self.values, budget, strategy, rng)


@lru_cache(maxsize=16)
def _robust(model: dp.ParametricCMDP) -> Any:
    return dp.answer(model)


Case = AuctionCase | PolicyCase


def auction_case(size: int, *, radius: float, seed: int, draw: int) -> AuctionCase:
    """An auction of `size` groups with the prices of a draw."""
    program = growing_auction(size, radius=radius)
    values = random_auction(program, stream(seed, FIRST + draw))
    return AuctionCase(program, values, solve(form(program).at(values)).objective)


@lru_cache(maxsize=8)
def grid_case(
    size: int, *, radius: float, start: str, seed: int = 0, draw: int | None = None
) -> PolicyCase:
    """The grid of a draw, or the known one."""
    rng = np.random.default_rng(KNOWN_GRID) if draw is None else stream(seed, FIRST + draw)
    model, values = random_grid(size, rng, radius=radius, start=start)
    return PolicyCase(model, values, optimum(model, values))


@lru_cache(maxsize=8)
def layout_case(name: str) -> PolicyCase:
    """A layout of the package with the hazards that come with it."""
    found = scenario(name)
    return PolicyCase(found.model, found.values, found.optimum)
