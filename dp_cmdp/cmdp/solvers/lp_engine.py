"""The occupancy linear program, handed to HiGHS: the second engine and cross-check.

    max Σ r x   s.t.   Σ_a x(s', a) − γ Σ T(s, a, s') x(s, a) = μ(s'),   Σ f_i x ≤ f0_i,   x ≥ 0.

The multipliers of the flow rows are values v(s). Whatever they are, weak duality gives

    optimum ≤ μᵀv + λᵀf0 + max δ/(1 − γ),   δ(s, a) = r − Σ λ_i f_i + γ T v − v,

which is the bound reported, so the gap does not rest on HiGHS's own tolerances.
"""

from __future__ import annotations

import math

import highspy
import numpy as np
from scipy import sparse

from dp_cmdp._check import FloatArray, frozen
from dp_cmdp.cmdp.model import CMDP
from dp_cmdp.cmdp.occupancy import flow_matrix
from dp_cmdp.cmdp.solvers.refined_bound import refined_bound
from dp_cmdp.cmdp.solvers.solution import FEASIBILITY, CMDPSolution, infeasible, relative_gap
from dp_cmdp.errors import ConvergenceError, SolverError

#: Primal and dual feasibility asked of HiGHS, on rows scaled to max|f_i| = 1.
OCCUPANCY_TOLERANCE = 1e-10


def solve_lp(cmdp: CMDP, b: FloatArray, *, gap: float) -> CMDPSolution:
    """Solve `cmdp` with tolerances `b` as one linear program.

    Notes
    -----
    **Paper.** The occupancy LP of ``app:cmdp``. **Privacy.** *Post-processing* of `cmdp`.
    """
    scale = np.abs(cmdp.f).max(axis=(1, 2))
    scale = np.where(scale > 0.0, scale, 1.0)
    highs = _run(cmdp, b, scale=scale, elastic=False)
    if highs.getModelStatus() == highspy.HighsModelStatus.kInfeasible:
        _prove_infeasible(cmdp, b, scale=scale)
        b = b + FEASIBILITY * scale / (1.0 - cmdp.gamma)
        highs = _run(cmdp, b, scale=scale, elastic=False)
    x, v, dual = _answer(cmdp, highs, scale=scale)
    v, dual = v * _reward_unit(cmdp), dual * _reward_unit(cmdp)
    value = float(cmdp.r.ravel() @ x)
    bound = lagrangian_bound(cmdp, dual, v=v) + float(dual @ b)
    largest = float(np.abs(cmdp.r).max())
    reached = relative_gap(bound, value, reward_scale=largest)
    if reached > gap:
        flat, rows = cmdp.r.ravel(), cmdp.f.reshape(b.size, -1)
        bound = min(
            bound,
            refined_bound(cmdp.T, flat, f=rows, f0=b, dual=dual, mu=cmdp.mu, gamma=cmdp.gamma, v=v),
        )
        reached = relative_gap(bound, value, reward_scale=largest)
    if reached > gap:
        raise ConvergenceError(
            f"HiGHS reached a relative gap of {reached:.2g}, above the {gap:g} asked for; use "
            "engine='policies'"
        )
    return CMDPSolution(
        occupancy=frozen(x.reshape(cmdp.r.shape)),
        value=value,
        costs=frozen(cmdp.f.reshape(b.size, -1) @ x),
        dual=frozen(dual),
        upper_bound=bound,
        gap=reached,
        engine="lp",
        iterations=max(highs.getInfo().simplex_iteration_count, 0),
    )


def lagrangian_bound(cmdp: CMDP, dual: FloatArray, *, v: FloatArray, reward: bool = True) -> float:
    """μᵀv + max δ/(1 − γ): no policy has a larger Lagrangian value at `dual`."""
    table = (cmdp.r if reward else 0.0) - np.tensordot(dual, cmdp.f, axes=1)
    residual = table + cmdp.gamma * (cmdp.T @ v).reshape(table.shape) - v[:, None]
    return float(cmdp.mu @ v + residual.max() / (1.0 - cmdp.gamma))


def _run(cmdp: CMDP, b: FloatArray, *, scale: FloatArray, elastic: bool) -> highspy.Highs:
    """Optimise; `elastic` minimises the largest scaled excess instead of maximising the reward."""
    costs = sparse.csr_array(cmdp.f.reshape(b.size, -1) / scale[:, None])
    rows = sparse.vstack([flow_matrix(cmdp), costs], format="csr")
    gain = cmdp.r.ravel() / _reward_unit(cmdp)
    if elastic:
        excess = np.repeat([0.0, -1.0], [cmdp.num_states, b.size])[:, None]
        rows = sparse.hstack([rows, sparse.csr_array(excess)], format="csr")
        gain = np.append(np.zeros_like(gain), -1.0)
    model = highspy.HighsLp()
    model.num_row_, model.num_col_ = rows.shape
    model.sense_ = highspy.ObjSense.kMaximize
    model.col_cost_ = gain
    model.col_lower_ = np.zeros(gain.size)
    model.col_upper_ = np.full(gain.size, highspy.kHighsInf)
    model.row_lower_ = np.concatenate([cmdp.mu, np.full(b.size, -highspy.kHighsInf)])
    model.row_upper_ = np.concatenate([cmdp.mu, b / scale])
    model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    model.a_matrix_.start_ = rows.indptr
    model.a_matrix_.index_ = rows.indices
    model.a_matrix_.value_ = rows.data
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.setOptionValue("primal_feasibility_tolerance", OCCUPANCY_TOLERANCE)
    highs.setOptionValue("dual_feasibility_tolerance", OCCUPANCY_TOLERANCE)
    highs.passModel(model)
    highs.run()
    if highs.getModelStatus() == highspy.HighsModelStatus.kUnboundedOrInfeasible:
        highs.setOptionValue("presolve", "off")
        highs.run()
    return highs


def _reward_unit(cmdp: CMDP) -> float:
    """The power of two next to max|r|: HiGHS sees rewards of size 1, scaled without rounding."""
    largest = float(np.abs(cmdp.r).max())
    return math.ldexp(1.0, math.frexp(largest)[1]) if largest > 0.0 else 1.0


def _answer(
    cmdp: CMDP, highs: highspy.Highs, *, scale: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Occupancies, values of the states and multipliers of the costs."""
    if highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        raise SolverError(
            f"HiGHS stopped with status {highs.getModelStatus().name}; use engine='policies'"
        )
    solution = highs.getSolution()
    x = np.maximum(np.asarray(solution.col_value)[: cmdp.r.size], 0.0)
    rows = np.asarray(solution.row_dual)
    return x, rows[: cmdp.num_states], np.maximum(rows[cmdp.num_states :], 0.0) / scale


def _prove_infeasible(cmdp: CMDP, b: FloatArray, *, scale: FloatArray) -> None:
    """Raise with a proof, unless the excess over the tolerances is no more than rounding."""
    _, v, dual = _answer(cmdp, _run(cmdp, b, scale=scale, elastic=True), scale=scale)
    excess = -lagrangian_bound(cmdp, dual, v=v, reward=False) - float(dual @ b)
    if excess > FEASIBILITY * float(dual @ scale) / (1.0 - cmdp.gamma):
        raise infeasible(dual, excess)
