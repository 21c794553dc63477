"""The occupancy linear program, handed to HiGHS: the second engine and cross-check.

    max Σ r x   s.t.   Σ_a x(s', a) − γ Σ T(s, a, s') x(s, a) = μ(s'),   Σ f_i x ≤ f0_i,   x ≥ 0.

The multipliers of the flow rows are values v(s). Whatever they are, weak duality gives

    optimum ≤ μᵀv + λᵀf0 + max δ/(1 − γ),   δ(s, a) = r − Σ λ_i f_i + γ T v − v,

which is the bound reported, so the gap does not rest on HiGHS's own tolerances.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from dp_cmdp._check import FloatArray, frozen
from dp_cmdp.cmdp.model import CMDP
from dp_cmdp.cmdp.occupancy import flow_matrix
from dp_cmdp.cmdp.solvers.refined_bound import certain_bound, refined_bound
from dp_cmdp.cmdp.solvers.solution import FEASIBILITY, CMDPSolution, distance, infeasible
from dp_cmdp.errors import ConvergenceError, InfeasibleError, SolverError
from dp_cmdp.program.engines.highs import HighsEngine
from dp_cmdp.program.linear_program import LinearProgram, RawSolution

#: Primal and dual feasibility asked of HiGHS: less than the gaps asked of this engine.
OCCUPANCY_TOLERANCE = 1e-10
#: Flow residual ‖μ − Σ_a x + γ Tᵀx‖₁ accepted of its answer.
ACCEPTED_FLOW = 1e-8


def solve_lp(cmdp: CMDP, b: FloatArray, *, gap: float) -> CMDPSolution:
    """Solve `cmdp` with tolerances `b` as one linear program.

    Notes
    -----
    **Paper.** The occupancy LP of ``app:cmdp``. **Privacy.** *Post-processing* of `cmdp`.
    """
    scale = np.abs(cmdp.f).max(axis=(1, 2))
    scale = np.where(scale > 0.0, scale, 1.0)
    rows = cmdp.f.reshape(b.size, -1)
    program = LinearProgram(cmdp.r.ravel(), A=rows, b=b, A_eq=flow_matrix(cmdp), b_eq=cmdp.mu)
    engine = HighsEngine(program, tolerance=OCCUPANCY_TOLERANCE)
    answer = _run(engine, b)
    if answer is None:
        _prove_infeasible(cmdp, program, scale=scale)
        b = b + FEASIBILITY * scale / (1.0 - cmdp.gamma)
        answer = _run(engine, b)
    if answer is None:
        raise SolverError("HiGHS finds no policy where there is one; use engine='policies'")
    x, v, dual = np.maximum(answer.x, 0.0), answer.dual_eq, answer.dual
    flow = np.abs(flow_matrix(cmdp) @ x - cmdp.mu).sum()
    over = rows @ x - b > FEASIBILITY * scale / (1.0 - cmdp.gamma)
    if flow > ACCEPTED_FLOW or over.any():
        raise ConvergenceError(
            "the answer of HiGHS does not keep its own rows: rescale the costs, or use "
            "engine='policies'"
        )
    value = float(cmdp.r.ravel() @ x)
    bound = lagrangian_bound(cmdp, dual, v=v, b=b)
    largest = float(np.abs(cmdp.r).max())
    reached = distance(bound, value, reward_scale=largest)
    if reached > gap:
        flat = cmdp.r.ravel()
        bound = min(
            bound,
            refined_bound(cmdp.T, flat, f=rows, f0=b, dual=dual, mu=cmdp.mu, gamma=cmdp.gamma, v=v),
        )
        reached = distance(bound, value, reward_scale=largest)
    if reached > gap:
        raise ConvergenceError(
            f"HiGHS reached a relative gap of {reached:.2g}, above the {gap:g} asked for; use "
            "engine='policies'"
        )
    return CMDPSolution(
        occupancy=frozen(x.reshape(cmdp.r.shape)),
        value=value,
        costs=frozen(rows @ x),
        dual=frozen(dual),
        upper_bound=bound,
        gap=reached,
        engine="lp",
        iterations=engine.iterations,
    )


def lagrangian_bound(
    cmdp: CMDP, dual: FloatArray, *, v: FloatArray, b: FloatArray, reward: bool = True
) -> float:
    """μᵀv + λᵀb + max δ Σγᵗ: no policy has a larger Lagrangian value at `dual`, rounding included.

    In extended precision, where there is one; sums of N products are off by at most N units of
    rounding times the sum of their sizes.
    """
    own = cmdp.r.ravel() if reward else np.zeros(cmdp.r.size)
    rows = cmdp.f.reshape(dual.size, -1)
    return certain_bound(cmdp.T, own, f=rows, dual=dual, mu=cmdp.mu, gamma=cmdp.gamma, v=v, paid=b)


def _run(engine: HighsEngine, b: FloatArray) -> RawSolution | None:
    """The optimum; None where HiGHS calls the program infeasible, which is no proof."""
    try:
        return engine.run(b)
    except InfeasibleError:
        return None
    except SolverError as error:
        raise SolverError(f"{error}; or use engine='policies'") from None


def _prove_infeasible(cmdp: CMDP, program: LinearProgram, *, scale: FloatArray) -> None:
    """Raise with a proof, unless the excess over the tolerances is no more than rounding.

    The proof is the dual of the program that minimises the largest excess, in units of `scale`.
    """
    beyond = sparse.csr_array(-scale[:, None])
    elastic = LinearProgram(
        np.append(np.zeros(program.num_variables), -1.0),
        A=sparse.hstack([program.A, beyond], format="csr"),
        b=program.b,
        A_eq=sparse.hstack([program.A_eq, sparse.csr_array((cmdp.num_states, 1))], format="csr"),
        b_eq=program.b_eq,
    )
    answer = _run(HighsEngine(elastic, tolerance=OCCUPANCY_TOLERANCE), program.b)
    if answer is None:
        return
    v, dual = answer.dual_eq, answer.dual
    excess = -lagrangian_bound(cmdp, dual, v=v, b=program.b, reward=False)
    if excess > FEASIBILITY * float(dual @ scale) / (1.0 - cmdp.gamma):
        raise infeasible(dual, excess)
