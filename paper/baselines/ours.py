"""This project's own releases: of the database, not of A, b and c.

``database``  every entry once, with the whole budget: θ̃_k = θ_k + Δ_k Z_k, then the robust program
              over the intervals that certainly hold the truth
``planned``   the strategy that public simulations choose: entries, or linear queries besides
``totals``    a strategy with linear queries in any case: the one of the menu that loses least

Protected: A, b and c, through the database they read. Adjacency: one record changes, each entry by
at most its radius. Guaranteed: (ε, δ)-differential privacy; every answer is certainly feasible.

Differences from the publication
1. They have none. Against Algorithm 1 they spend the budget once instead of three times, and the
   support of their noise does not grow with the number of entries.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

import dp_cmdp as dp
from paper.baselines.method import Answer, Method, Task
from paper.linear import Floats

#: What linear queries are measured with: no entries first, or a share for them.
QUERIES: tuple[dict[str, Any], ...] = (
    {"share": 0},
    {},
    {"safety": 1.5, "shift": 1.0},
    {"share": "13/20", "safety": 1.5, "shift": 1.0},
)
#: Invented databases on which they are compared.
TRIALS = 3


def simulated(
    problem: Any,
    values: Floats,
    budget: dp.PrivacyBudget,
    strategy: dp.Strategy,
    rng: np.random.Generator,
) -> Any:
    """One answer from one simulated release."""
    (found,) = dp.simulate(
        problem,
        values,
        epsilon=budget.epsilon,
        delta=budget.delta,
        strategy=strategy,
        draws=1,
        seed=int(rng.integers(2**31)),
    )
    return found


@lru_cache(maxsize=256)
def chosen(problem: Any, budget: dp.PrivacyBudget) -> dp.Strategy:
    """The strategy meant by "auto", chosen once per problem and budget: *public*."""
    middle = (problem.envelope.lower + problem.envelope.upper) / 2
    return dp.simulate(
        problem, middle, epsilon=budget.epsilon, delta=budget.delta, draws=1
    ).strategy


@lru_cache(maxsize=64)
def totals(problem: Any, budget: dp.PrivacyBudget) -> dp.Strategy:
    """The strategy of linear queries that loses least on invented databases: *public*."""
    envelope, rng = problem.envelope, np.random.default_rng(0)
    invented = [rng.uniform(envelope.lower, envelope.upper) for _ in range(TRIALS)]

    def loss(strategy: dp.Strategy) -> float:
        options = {"epsilon": budget.epsilon, "delta": budget.delta, "strategy": strategy}
        runs = [dp.simulate(problem, values, draws=1, **options) for values in invented]
        return float(np.mean([run.to_frame()["loss"] for run in runs]))

    return min((dp.Strategy.queries(**options) for options in QUERIES), key=loss)


def _method(name: str, strategy: Any) -> Method:
    def answer(task: Task) -> Answer:
        chosen = strategy(task.program, task.budget)
        found = simulated(task.program, task.values, task.budget, chosen, task.rng)
        return Answer(found.x, outcomes=found.release.outcomes, known=found.release.uncertainty)

    return Method(name, private="Abc", promises_feasibility=True, solver=answer)


def entries(problem: Any, budget: dp.PrivacyBudget) -> dp.Strategy:
    """Every entry by itself, with truncated Laplace noise."""
    return dp.Strategy.entries(law="laplace")


DATABASE = _method("database", entries)
PLANNED = _method("planned", chosen)
TOTALS = _method("totals", totals)
