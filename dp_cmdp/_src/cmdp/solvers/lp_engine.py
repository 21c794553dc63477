"""The occupancy linear program, handed to HiGHS: the second engine and cross-check.

    max Σ r x   s.t.   Σ_a x(s', a) − γ Σ T(s, a, s') x(s, a) = μ(s'),   Σ f_i x ≤ f0_i,   x ≥ 0.

The multipliers of the flow rows are values v(s). Whatever they are, weak duality gives

    optimum ≤ μᵀv + λᵀf0 + max δ/(1 − γ),   δ(s, a) = r − Σ λ_i f_i + γ T v − v,

which is the bound reported, so the gap does not rest on HiGHS's own tolerances. Nor do value and
costs: they are those of the policy that its answer describes, evaluated anew.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dp_cmdp._check import FloatArray, frozen
from dp_cmdp.cmdp.model import CMDP
from dp_cmdp.cmdp.occupancy import flow_matrix, occupancy_of
from dp_cmdp.cmdp.policy import Policy
from dp_cmdp.cmdp.solvers.exact_columns import refined_bound
from dp_cmdp.cmdp.solvers.solution import FEASIBILITY, CMDPSolution, distance, infeasible
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
    v, dual = answer.dual_eq, answer.dual
    x, policy = _attained(cmdp, answer)
    if (rows @ x - b > FEASIBILITY * scale / (1.0 - cmdp.gamma)).any():
        raise ConvergenceError(
            "the answer of HiGHS does not keep its own rows: rescale the costs, or use "
            "engine='policies'"
        )
    value, costs = float(cmdp.r.ravel() @ x), rows @ x
    b = np.maximum(b, costs)
    bound = lagrangian_bound(cmdp, dual, v=v, b=b)
    largest = float(np.abs(cmdp.r).max())
    if distance(bound, value, reward_scale=largest) > gap:
        bound = min(bound, refined_bound(cmdp, dual, policy=policy, f0=b))
    reached = distance(bound, value, reward_scale=largest)
    if reached > gap:
        raise ConvergenceError(
            f"HiGHS reached a relative gap of {reached:.2g}, above the {gap:g} asked for; use "
            "engine='policies'"
        )
    return CMDPSolution(
        occupancy=frozen(x.reshape(cmdp.r.shape)),
        value=value,
        costs=frozen(costs),
        dual=frozen(dual),
        upper_bound=bound,
        gap=reached,
        engine="lp",
        iterations=engine.iterations,
    )


def _attained(cmdp: CMDP, answer: RawSolution) -> tuple[FloatArray, NDArray[np.int32]]:
    """The flat measure of the policy that an answer describes, and the best action in each state.

    The answer keeps the flow equations within HiGHS's tolerances, this measure within rounding.
    """
    net = cmdp.r - np.tensordot(answer.dual, cmdp.f, axes=1)
    best = (net + cmdp.gamma * (cmdp.T @ answer.dual_eq).reshape(net.shape)).argmax(axis=1)
    table = np.maximum(answer.x, 0.0).reshape(net.shape)
    silent = np.flatnonzero(table.sum(axis=1) == 0.0)
    table[silent, best[silent]] = 1.0
    policy = Policy(table / table.sum(axis=1, keepdims=True))
    return occupancy_of(cmdp, policy).ravel(), best.astype(np.int32)


def lagrangian_bound(
    cmdp: CMDP, dual: FloatArray, *, v: FloatArray, b: FloatArray, reward: bool = True
) -> float:
    """μᵀv + λᵀb + max δ Σγᵗ: no policy has a larger Lagrangian value at `dual`, rounding included.

    In extended precision, where there is one; sums of N products are off by at most N units of
    rounding times the sum of their sizes.
    """
    r = cmdp.r.ravel() if reward else np.zeros(cmdp.r.size)
    f, T, mu = cmdp.f.reshape(dual.size, -1), cmdp.T, cmdp.mu.astype(np.longdouble)
    multiplier, discount = dual.astype(np.longdouble), np.longdouble(cmdp.gamma)
    unit, states = np.finfo(np.longdouble).eps, np.repeat(np.arange(mu.size), cmdp.num_actions)
    values, length, largest = v.astype(np.longdouble), np.diff(T.indptr), np.abs(v).max()
    delta = r - multiplier @ f + discount * row_sums(T, values) - values[states]
    off = (length + dual.size + 9) * unit
    delta = delta + off * (np.abs(r) + multiplier @ np.abs(f) + 3 * largest)
    sums, most = row_sums(T, np.ones(mu.size, np.longdouble)), delta.max()
    edge = (sums * (1 + off)).max() if most > 0 else (sums * (1 - off)).min()
    slack = (mu.size + 8) * unit
    left = 1 - discount * edge - (4 * unit if most > 0 else -4 * unit)
    if not left > 0:
        return np.inf
    visits = mu.sum() / left * (1 + slack if most > 0 else 1 - slack)
    bound = mu @ values + most * visits + multiplier @ b
    bound += slack * largest * mu.sum()
    bound += (dual.size + 2) * unit * (multiplier @ np.abs(b) + np.abs(bound))
    return float(np.nextafter(float(bound), np.inf))


def row_sums(T: sparse.csr_array, v: np.ndarray) -> np.ndarray:
    """T v, every product and sum in long double."""
    terms = T.data * v[T.indices]
    sums = np.zeros(T.shape[0], np.longdouble)
    filled = np.flatnonzero(np.diff(T.indptr))
    sums[filled] = np.add.reduceat(terms, T.indptr[filled]) if filled.size else 0.0
    return sums


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

    The proof is the dual of the program that minimises the sum of the excesses, in units of
    `scale`, as ``kernels/columns.c`` does.
    """
    beyond, rows = sparse.diags_array(-scale, format="csr"), scale.size
    elastic = LinearProgram(
        np.append(np.zeros(program.num_variables), -np.ones(rows)),
        A=sparse.hstack([program.A, beyond], format="csr"),
        b=program.b,
        A_eq=sparse.hstack([program.A_eq, sparse.csr_array((cmdp.num_states, rows))], format="csr"),
        b_eq=program.b_eq,
    )
    answer = _run(HighsEngine(elastic, tolerance=OCCUPANCY_TOLERANCE), program.b)
    if answer is None:
        return
    v, dual = answer.dual_eq, answer.dual
    excess = -lagrangian_bound(cmdp, dual, v=v, b=program.b, reward=False)
    if excess > FEASIBILITY * float((dual * scale).max()) / (1.0 - cmdp.gamma):
        raise infeasible(dual, excess)
