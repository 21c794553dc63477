"""Solvers of a sweep: ``prepare((model, draws))`` returns a run that solves every draw.

A draw is (costs, limits) on the dynamics of the model. A run returns (values, largest gap or None).
Preparing solves a first draw where a solver keeps state, so that compilation, canonicalization and
the first basis are not counted; the runs of the stateful ones are made once.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.problems import Draw
from dp_cmdp import CMDP
from dp_cmdp._src.cmdp.solvers.occupancy_lp import flow_matrix

Problem = tuple[CMDP, list[Draw]]
Run = Callable[[], tuple[list[float], float | None]]


def pool(problem: Problem) -> Run:
    """Ours: a pool of policies, empty at the start of every run."""
    from dp_cmdp._src.cmdp.solvers.pool import PolicyPool

    model, draws = problem

    def run() -> tuple[list[float], float]:
        own = PolicyPool(model)
        answers = [own.solve(cost, limit) for cost, limit in draws]
        return [answer.value for answer in answers], max(answer.gap for answer in answers)

    return run


def each_cold(problem: Problem, *, solver: Callable[[CMDP], peers.Run]) -> Run:
    """Every draw as a new problem."""
    model, draws = problem
    runs = [solver(model._with_costs(cost, limit)) for cost, limit in draws]
    return lambda: ([run()[0] for run in runs], None)


def highs_warm(problem: Problem) -> Run:
    """HiGHS from its last basis by the primal simplex; only the sensitive entries are replaced."""
    import highspy

    model, draws = problem
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("solver", "simplex")
    solver.setOptionValue("simplex_strategy", 4)
    solver.passModel(peers.highs_program(model))
    solver.run()
    rows = [model.num_states + k for k in range(model.num_constraints)]
    sensitive = [np.flatnonzero(table.ravel()).tolist() for table in model.cost]

    def solve(cost: np.ndarray, limits: np.ndarray) -> float:
        for row, pairs, table, limit in zip(rows, sensitive, cost, limits, strict=True):
            costs = table.ravel()
            for pair in pairs:
                solver.changeCoeff(row, pair, float(costs[pair]))
            solver.changeRowBounds(row, -highspy.kHighsInf, float(limit))
        solver.run()
        return float(solver.getInfo().objective_function_value)

    return lambda: ([solve(cost, limit) for cost, limit in draws], None)


def cvxpy_parameters(problem: Problem, *, solver: str) -> Run:
    """cvxpy with Parameters (DPP), one row of costs: canonicalized once."""
    import cvxpy as cp

    model, draws = problem
    gain, chosen = model.r.ravel(), np.flatnonzero(model.cost[0].ravel())
    x = cp.Variable(gain.size, nonneg=True)
    costs, highest = cp.Parameter(chosen.size, nonneg=True), cp.Parameter()
    rows = [flow_matrix(model) @ x == model.start, costs @ x[chosen] <= highest]
    program: Any = cp.Problem(cp.Maximize(gain @ x), rows)

    def solve(cost: np.ndarray, limit: np.ndarray) -> float:
        costs.value, highest.value = cost.ravel()[chosen], float(limit[0])
        return float(program.solve(solver=solver, warm_start=False))

    solve(*draws[0])
    return lambda: ([solve(cost, limit) for cost, limit in draws], None)


#: The peers of a sweep, the one to beat first.
PEERS: dict[str, Callable[[Problem], Run]] = {
    "highs warm": highs_warm,
    "cvxpy parameters (clarabel)": partial(cvxpy_parameters, solver="CLARABEL"),
    "highs cold": partial(each_cold, solver=partial(peers.highs, method="choose")),
    "cvxpy cold (clarabel)": partial(each_cold, solver=peers.clarabel),
    "cvxpy parameters (highs)": partial(cvxpy_parameters, solver="HIGHS"),
}
