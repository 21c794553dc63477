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
from dp_cmdp.cmdp.solvers.refined_bound import refined_bound, row_sums
from dp_cmdp.cmdp.solvers.solution import FEASIBILITY, CMDPSolution, infeasible, relative_gap
from dp_cmdp.errors import ConvergenceError, InfeasibleError, SolverError
from dp_cmdp.program.engines.highs import HighsEngine
from dp_cmdp.program.linear_program import LinearProgram, RawSolution

#: Primal and dual feasibility asked of HiGHS: less than the gaps asked of this engine.
OCCUPANCY_TOLERANCE = 1e-10


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
    value = float(cmdp.r.ravel() @ x)
    bound = lagrangian_bound(cmdp, dual, v=v, b=b)
    largest = float(np.abs(cmdp.r).max())
    reached = relative_gap(bound, value, reward_scale=largest)
    if reached > gap:
        flat = cmdp.r.ravel()
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
    multiplier, values = dual.astype(np.longdouble), v.astype(np.longdouble)
    gamma, unit = np.longdouble(cmdp.gamma), np.finfo(np.longdouble).eps
    own = cmdp.r.ravel().astype(np.longdouble) if reward else np.zeros(1, np.longdouble)
    rows = cmdp.f.reshape(dual.size, -1)
    length, largest = np.diff(cmdp.T.indptr), np.abs(values).max()
    states = np.repeat(np.arange(cmdp.num_states), cmdp.num_actions)
    delta = own - multiplier @ rows + gamma * row_sums(cmdp.T, values) - values[states]
    off = (length + dual.size + 9) * unit
    delta = delta + off * (np.abs(own) + multiplier @ np.abs(rows) + 3 * largest)
    sums, most = row_sums(cmdp.T, np.ones(cmdp.num_states, np.longdouble)), delta.max()
    edge = (sums * (1 + off)).max() if most > 0 else (sums * (1 - off)).min()
    mu, slack = cmdp.mu.astype(np.longdouble), (cmdp.num_states + 8) * unit
    left = 1 - gamma * edge - (4 * unit if most > 0 else -4 * unit)
    visits = mu.sum() / left * (1 + slack if most > 0 else 1 - slack)
    paid, size = multiplier @ b, multiplier @ np.abs(b)
    bound = mu @ values + slack * largest * mu.sum() + most * visits + paid
    bound += (dual.size + 2) * unit * (size + np.abs(bound))
    return float(np.nextafter(float(bound), np.inf))


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
