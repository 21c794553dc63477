"""One function per solver of a single CMDP: ``prepare(model)`` returns a run without arguments.

A run returns (value, gap): the optimal discounted reward, −∞ where the solver says that there is no
solution, and the certified relative gap (None for solvers that certify none). Building a peer's
input is left out of its time; ours has no such step.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from dp_cmdp import CMDP
from dp_cmdp._src.cmdp.solvers.occupancy_lp import flow_matrix

Answer = tuple[float, float | None]
Run = Callable[[], Answer]

#: From this limit on, in seconds, HiGHS is asked how long it took; below, the clock stops it at so
#: many times the limit: a busy machine may give it a third of its time.
ASKED, CLOCK = 1.0, 4.0
#: Precision asked of Storm, absolute.
STORM_PRECISION = "1/1000000"


def ours(model: CMDP, *, gap: float = 1e-8) -> Run:
    """Mixing policies, from nothing."""
    from dp_cmdp._src.cmdp.solvers.pool import PolicyPool
    from dp_cmdp.errors import InfeasibleError

    def run() -> Answer:
        try:
            solution = PolicyPool(model).solve(model.cost, model.limit, gap=gap)
        except InfeasibleError:
            return -np.inf, 0.0
        return solution.value, solution.gap

    return run


def highs_program(model: CMDP) -> Any:
    """The occupancy program as a HighsLp; the K rows of costs come last."""
    import highspy

    K = model.num_constraints
    rows = sparse.vstack(
        [flow_matrix(model), sparse.csr_array(model.cost.reshape(K, -1))], format="csr"
    )
    lp = highspy.HighsLp()
    lp.num_row_, lp.num_col_ = rows.shape
    lp.sense_ = highspy.ObjSense.kMaximize
    lp.col_cost_ = model.r.ravel()
    lp.col_lower_ = np.zeros(model.r.size)
    lp.col_upper_ = np.full(model.r.size, highspy.kHighsInf)
    lp.row_lower_ = np.concatenate([model.start, np.full(K, -highspy.kHighsInf)])
    lp.row_upper_ = np.concatenate([model.start, model.limit])
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_, lp.a_matrix_.index_ = rows.indptr, rows.indices
    lp.a_matrix_.value_ = rows.data
    return lp


def highs(
    model: CMDP, *, method: str, tolerance: float | None = None, limit: float = np.inf
) -> Run:
    """HiGHS by one of its methods; interior points without crossover; its own tolerances.

    A run that takes more than `limit` seconds of processor time raises TimeoutError.
    """
    import highspy

    lp = highs_program(model)
    stopped = (highspy.HighsModelStatus.kTimeLimit, highspy.HighsModelStatus.kInterrupt)
    # without crossover HiGHS calls its own answer unknown; the suite compares it with ours
    accepted = (highspy.HighsModelStatus.kOptimal, highspy.HighsModelStatus.kUnknown)

    def run() -> Answer:
        solver = highspy.Highs()
        solver.setOptionValue("output_flag", False)
        if solver.setOptionValue("solver", method) != highspy.HighsStatus.kOk:
            raise ImportError(f"HiGHS without {method}")
        solver.setOptionValue("run_crossover", "off")
        if tolerance is not None:
            solver.setOptionValue("primal_feasibility_tolerance", tolerance)
            solver.setOptionValue("dual_feasibility_tolerance", tolerance)
        solver.passModel(lp)
        _limit(solver, limit)
        solver.run()
        if solver.getModelStatus() in stopped:
            raise TimeoutError
        if solver.getModelStatus() == highspy.HighsModelStatus.kInfeasible:
            return -np.inf, None
        if solver.getModelStatus() not in accepted:
            raise RuntimeError("HiGHS did not reach optimality")
        return float(solver.getInfo().objective_function_value), None

    return run


def _limit(solver: Any, limit: float) -> None:
    """Stop at so many processor seconds; HiGHS itself looks at the clock, which is less exact.

    Asking at every iteration is noticed in short runs only: there the clock must do.
    """
    if limit < ASKED:
        solver.setOptionValue("time_limit", CLOCK * limit)
        return
    begin = time.process_time()

    def ask(event: Any) -> None:
        if time.process_time() - begin > limit:
            event.interrupt()

    solver.cbSimplexInterrupt.subscribe(ask)
    solver.cbIpmInterrupt.subscribe(ask)


def highs_within(problem: tuple[CMDP, float], *, method: str) -> Run:
    """HiGHS with a time limit of its own, so that its process can go on with the next model."""
    model, limit = problem
    return highs(model, method=method, limit=limit)


def scipy_linprog(model: CMDP) -> Run:
    """``scipy.optimize.linprog`` as it comes."""
    from scipy.optimize import linprog

    flow: Any = flow_matrix(model)
    gain, costs = model.r.ravel(), model.cost.reshape(model.num_constraints, -1)

    def run() -> Answer:
        result: Any = linprog(-gain, A_ub=costs, b_ub=model.limit, A_eq=flow, b_eq=model.start)
        return -float(result.fun), None

    return run


def clarabel(model: CMDP) -> Run:
    """cvxpy with Clarabel, problem construction and canonicalization included."""
    import cvxpy as cp

    flow, gain = flow_matrix(model), model.r.ravel()
    costs = model.cost.reshape(model.num_constraints, -1)

    def run() -> Answer:
        x = cp.Variable(gain.size, nonneg=True)
        rows = [flow @ x == model.start, costs @ x <= model.limit]
        problem = cp.Problem(cp.Maximize(gain @ x), rows)
        return float(problem.solve(solver=cp.CLARABEL)), None  # pyright: ignore[reportArgumentType]

    return run


def storm(model: CMDP) -> Run:
    """Storm's multi-objective engine: total reward with termination probability 1 − γ."""
    import stormpy  # pyright: ignore[reportMissingImports]

    mdp = _storm_model(stormpy, model)
    bounds = "".join(f', R{{"cost{i}"}}<={b:.17g} [C]' for i, b in enumerate(model.limit))
    query = stormpy.parse_properties(f'multi(R{{"loss"}}min=? [C]{bounds})')[0]
    shift = float(model.r.max()) / (1.0 - model.gamma)

    def run() -> Answer:
        environment = stormpy.environments.sound()
        environment.modelchecker().multi().precision = stormpy.Rational(STORM_PRECISION)
        result = stormpy.model_checking(mdp, query, environment=environment)
        return shift - float(result.get_value(model.num_states + 1)), None

    return run


def _storm_model(stormpy: Any, model: CMDP) -> Any:
    """The model with a sink, reached with probability 1 − γ, and a state that draws from μ."""
    S, A, pairs = model.num_states, model.num_actions, model.r.size
    stop = sparse.csr_array(np.full((pairs, 1), 1.0 - model.gamma))
    moves = sparse.hstack([model.gamma * model.T, stop, sparse.csr_array((pairs, 1))])
    sink = sparse.csr_array(([1.0], ([0], [S])), shape=(1, S + 2))
    start = sparse.hstack([sparse.csr_array(model.start[None]), sparse.csr_array((1, 2))])
    T = sparse.csr_array(sparse.vstack([moves, sink, start], format="csr"))
    T.sort_indices()
    builder = stormpy.datastructures.SparseMatrixBuilder[float](
        rows=T.shape[0],
        columns=S + 2,
        entries=T.nnz,
        has_custom_row_grouping=True,
        row_groups=S + 2,
    )
    number = np.repeat(np.arange(T.shape[0]), np.diff(T.indptr))
    groups = np.append(np.arange(S) * A, [pairs, pairs + 1])
    builder.add_next_values(number.tolist(), T.indices.tolist(), T.data.tolist(), groups.tolist())
    labels = stormpy.models.StateLabeling(S + 2)
    labels.add_label("init")
    labels.add_label_to_state("init", S + 1)
    tables = {"loss": model.r.max() - model.r} | {f"cost{i}": f for i, f in enumerate(model.cost)}
    rewards = {
        name: stormpy.models.SparseRewardModel[float](
            optional_state_action_reward_vector=[*table.ravel().tolist(), 0.0, 0.0]
        )
        for name, table in tables.items()
    }
    parts = stormpy.models.SparseModelComponents[float](
        transition_matrix=builder.build(), state_labeling=labels, reward_models=rewards
    )
    return stormpy.models.SparseMdp[float](parts)


#: HiGHS's methods, the most promising first.
METHODS = ("hipo", "ipx", "simplex")
#: General LP solvers.
GENERAL: dict[str, Callable[[CMDP], Run]] = {
    **{f"highs {method}": partial(highs, method=method) for method in METHODS},
    "cvxpy clarabel": clarabel,
    "scipy linprog": scipy_linprog,
}
