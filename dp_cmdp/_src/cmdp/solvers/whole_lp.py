"""The occupancy linear program, handed to HiGHS: the second engine and cross-check.

x(s, a) = E[Σ_t γ^t 1{s_t = s, a_t = a}] are the measures x ≥ 0 that some policy attains:

    max Σ r x   s.t.   Σ_a x(s', a) − γ Σ T(s, a, s') x(s, a) = start(s'),   Σ cost_i x ≤ limit_i.

The multipliers of the flow rows are values v(s). Whatever they are, weak duality gives

    optimum ≤ startᵀv + λᵀlimit + max δ/(1 − γ),   δ(s, a) = r − Σ λ_i cost_i + γ T v − v,

which is the bound reported, so it does not rest on HiGHS's own tolerances. Nor do value and costs:
they are those of the policy that its answer describes, evaluated anew.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from dp_cmdp._src.base.errors import ConvergenceError, InfeasibleError, SolverError
from dp_cmdp._src.base.validation import FloatArray
from dp_cmdp._src.cmdp.chain import discounted_chain
from dp_cmdp._src.cmdp.model import MDP
from dp_cmdp._src.cmdp.policy import Policy
from dp_cmdp._src.cmdp.solvers.occupancy_lp import (
    FEASIBILITY,
    Solution,
    flow_matrix,
    infeasible,
)
from dp_cmdp._src.program.highs import HighsEngine
from dp_cmdp._src.program.linear import LinearProgram, RawSolution

#: Primal and dual feasibility asked of HiGHS: less than the gaps asked of this engine.
OCCUPANCY_TOLERANCE = 1e-10


def solve_lp(mdp: MDP, cost: FloatArray, limit: FloatArray) -> Solution:
    """The best occupancy with costs (K, num_states, num_actions) of at most `limit`."""
    largest = np.abs(cost).max(axis=(1, 2))
    scale = np.where(largest > 0.0, largest, 1.0)
    rounding = FEASIBILITY * scale / (1.0 - mdp.gamma)
    table, none = cost.reshape(limit.size, -1), np.zeros(mdp.r.size)
    rows, top, flow = sparse.csr_array(table), np.full(mdp.r.size, np.inf), flow_matrix(mdp)
    program = LinearProgram(mdp.r.ravel(), rows, limit, flow, mdp.start, none, top)
    engine = HighsEngine(program, tolerance=OCCUPANCY_TOLERANCE)
    answer = _run(engine, limit)
    if answer is None:
        _prove_infeasible(mdp, program, cost, scale=scale)
        answer = _run(engine, limit + rounding)
    if answer is None:
        raise SolverError("HiGHS finds no policy where there is one: rescale the costs")
    dual = answer.dual
    x = _attained(mdp, cost, answer)
    costs = table @ x
    if (costs > limit + 2.0 * rounding).any():
        raise ConvergenceError("the answer of HiGHS does not keep its own rows: rescale the costs")
    bound = lagrangian_bound(mdp, cost, dual, v=answer.dual_eq, limit=np.maximum(limit, costs))
    return Solution.of(mdp, x, dual, bound, engine="lp")


def _attained(mdp: MDP, cost: FloatArray, answer: RawSolution) -> FloatArray:
    """The flat measure of the policy that an answer describes.

    The answer keeps the flow equations within HiGHS's tolerances, this measure within rounding.
    """
    net = mdp.r - np.tensordot(answer.dual, cost, axes=1)
    best = (net + mdp.gamma * (mdp.T @ answer.dual_eq).reshape(net.shape)).argmax(axis=1)
    table = np.maximum(answer.x, 0.0).reshape(net.shape)
    silent = np.flatnonzero(table.sum(axis=1) == 0.0)
    table[silent, best[silent]] = 1.0
    policy = Policy(table / table.sum(axis=1, keepdims=True))
    visits = np.maximum(discounted_chain(mdp, policy).visits(mdp.start), 0.0)
    return (visits[:, None] * policy.probabilities).ravel()


def lagrangian_bound(
    mdp: MDP,
    cost: FloatArray,
    dual: FloatArray,
    *,
    v: FloatArray,
    limit: FloatArray,
    reward: bool = True,
) -> float:
    """startᵀv + λᵀlimit + max δ Σγᵗ: no policy has a larger Lagrangian value, rounding included.

    In extended precision, where there is one; sums of N products are off by at most N units of
    rounding times the sum of their sizes.
    """
    r = mdp.r.ravel() if reward else np.zeros(mdp.r.size)
    f, T, start = cost.reshape(dual.size, -1), mdp.T, mdp.start.astype(np.longdouble)
    multiplier, discount = dual.astype(np.longdouble), np.longdouble(mdp.gamma)
    unit, states = np.finfo(np.longdouble).eps, np.repeat(np.arange(start.size), mdp.num_actions)
    values, length, largest = v.astype(np.longdouble), np.diff(T.indptr), np.abs(v).max()
    delta = r - multiplier @ f + discount * _row_sums(T, values) - values[states]
    off = (length + dual.size + 9) * unit
    delta = delta + off * (np.abs(r) + multiplier @ np.abs(f) + 3 * largest)
    sums, most = _row_sums(T, np.ones(start.size, np.longdouble)), delta.max()
    edge = (sums * (1 + off)).max() if most > 0 else (sums * (1 - off)).min()
    slack = (start.size + 8) * unit
    left = 1 - discount * edge - (4 * unit if most > 0 else -4 * unit)
    if not left > 0:
        return np.inf
    visits = start.sum() / left * (1 + slack if most > 0 else 1 - slack)
    bound = start @ values + most * visits + multiplier @ limit
    bound += slack * largest * start.sum()
    bound += (dual.size + 2) * unit * (multiplier @ np.abs(limit) + np.abs(bound))
    return float(np.nextafter(float(bound), np.inf))


def _row_sums(T: sparse.csr_array, v: np.ndarray) -> np.ndarray:
    """T v, every product and sum in long double."""
    terms = T.data * v[T.indices]
    sums = np.zeros(T.shape[0], np.longdouble)
    filled = np.flatnonzero(np.diff(T.indptr))
    sums[filled] = np.add.reduceat(terms, T.indptr[filled]) if filled.size else 0.0
    return sums


def _run(engine: HighsEngine, limit: FloatArray) -> RawSolution | None:
    """The optimum; None where HiGHS calls the program infeasible, which is no proof."""
    try:
        return engine.run(limit)
    except InfeasibleError:
        return None


def elastic(program: LinearProgram, rows: int, *, scale: FloatArray) -> LinearProgram:
    """The program that minimises the sum of the excesses of the first `rows` rows, in `scale`s."""
    extra = sparse.csr_array((-scale, (np.arange(rows), np.arange(rows))),
                             shape=(program.b.size, rows))  # fmt: skip
    none = sparse.csr_array((program.b_eq.size, rows))
    return LinearProgram(
        np.append(np.zeros(program.c.size), -np.ones(rows)),
        sparse.csr_array(sparse.hstack([program.A, extra])),
        program.b,
        sparse.csr_array(sparse.hstack([program.A_eq, none])),
        program.b_eq,
        np.append(program.lower, np.zeros(rows)),
        np.append(program.upper, np.full(rows, np.inf)),
    )


def _prove_infeasible(
    mdp: MDP, program: LinearProgram, cost: FloatArray, *, scale: FloatArray
) -> None:
    """Raise with a proof, unless the excess over the limits is no more than rounding.

    The proof is the dual of the elastic program, as in ``kernels/columns.c``.
    """
    relaxed = elastic(program, scale.size, scale=scale)
    answer = _run(HighsEngine(relaxed, tolerance=OCCUPANCY_TOLERANCE), program.b)
    if answer is None:
        return
    v, dual = answer.dual_eq, answer.dual
    excess = -lagrangian_bound(mdp, cost, dual, v=v, limit=program.b, reward=False)
    if excess > FEASIBILITY * float((dual * scale).max()) / (1.0 - mdp.gamma):
        raise infeasible(dual, excess)
