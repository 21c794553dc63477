"""Small CMDPs as rational numbers: the exact optimum, the least cost, the worth of a policy."""

from __future__ import annotations

from fractions import Fraction

import highspy
import numpy as np

from benchmarks.families.planning import Dynamics
from benchmarks.families.structure import Structure
from benchmarks.fuzz.rational import ExactProgram, Row, SingularError, solve_exactly
from benchmarks.peers import highs_program
from dp_cmdp import CMDP

#: Feasibility asked of HiGHS: a good basis saves exact pivots.
TOLERANCE = 1e-10


def exact_optimum(model: CMDP) -> Fraction | None:
    """The optimum of the occupancy program, whose data are the floats of `model`."""
    return exact_program(model).maximum(float_basis(model))


def least_exactly(model: CMDP, weights: np.ndarray) -> Fraction:
    """The least of Σ weights·cost over all policies."""
    combined = [
        sum((Fraction(w) * Fraction(float(v)) for w, v in zip(weights.tolist(), pair, strict=True)),
            Fraction(0))
        for pair in model.cost.reshape(len(weights), -1).T
    ]  # fmt: skip
    rounded = -np.array([float(value) for value in combined])
    free = CMDP(model.T, rounded.reshape(model.r.shape), cost=np.zeros_like(model.r), limit=1.0,
                start=model.start, gamma=model.gamma)  # fmt: skip
    program = exact_program(free)
    program.c = [-value for value in combined] + [Fraction(0)]
    found = program.maximum(float_basis(free))
    assert found is not None
    return -found


def exact_program(model: CMDP) -> ExactProgram:
    """The flow rows, the cost rows and a slack for each of the latter."""
    S, A, K = model.num_states, model.num_actions, model.num_constraints
    gamma, f = Fraction(model.gamma), model.cost.reshape(K, -1)
    columns: list[dict[int, Fraction]] = []
    for pair in range(S * A):
        own = slice(model.T.indptr[pair], model.T.indptr[pair + 1])
        column = {pair // A: Fraction(1)}
        for to, chance in zip(
            model.T.indices[own].tolist(), model.T.data[own].tolist(), strict=True
        ):
            column[to] = column.get(to, Fraction(0)) - gamma * Fraction(chance)
        column |= {S + k: Fraction(float(f[k, pair])) for k in range(K) if f[k, pair]}
        columns.append(column)
    columns += [{S + k: Fraction(1)} for k in range(K)]
    b = [Fraction(float(value)) for value in (*model.start, *model.limit)]
    c = [Fraction(float(value)) for value in model.r.ravel()] + [Fraction(0)] * K
    return ExactProgram(columns, b, c)


def float_basis(model: CMDP) -> list[int]:
    """The basis that HiGHS ends with, optimal or not, made non-singular."""
    S, K = model.num_states, model.num_constraints
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("solver", "simplex")
    solver.setOptionValue("presolve", "off")  # so that there is a basis even without a solution
    for kind in ("primal", "dual"):
        solver.setOptionValue(f"{kind}_feasibility_tolerance", TOLERANCE)
    solver.passModel(highs_program(scaled(model)))
    solver.run()
    found = solver.getBasis()
    basic = highspy.HighsBasisStatus.kBasic
    basis = [j for j, status in enumerate(found.col_status) if status == basic]
    rows = [i for i, status in enumerate(found.row_status) if status == basic]
    if unvisited := [row for row in rows if row < S]:
        dual = -np.abs(np.array(solver.getSolution().row_dual[S:]))
        basis += _pairs(model, unvisited, dual)
    basis += [model.r.size + row - S for row in rows if row >= S]
    if len(set(basis)) == S + K and _spans(model, basis):
        return basis
    return list(range(0, model.r.size, model.num_actions)) + [model.r.size + k for k in range(K)]


def _pairs(model: CMDP, states: list[int], dual: np.ndarray) -> list[int]:
    """What is best to do in states that HiGHS leaves out, at its multipliers."""
    own = scaled(model)
    dynamics = Dynamics(Structure(own.T, own.r, own.cost), own.gamma, own.start)
    actions, _, _ = dynamics.best(own.r + np.tensordot(dual, own.cost, axes=1))
    return [state * model.num_actions + int(actions[state]) for state in states]


def scaled(model: CMDP) -> CMDP:
    """The model with rewards and costs on one scale, as HiGHS's tolerances want it."""
    unit = np.abs(model.cost).max(axis=(1, 2))
    unit = np.where(unit > 0.0, unit, 1.0)
    largest = float(np.abs(model.r).max()) or 1.0
    cost, limit = model.cost / unit[:, None, None], model.limit / unit
    return CMDP(
        model.T, model.r / largest, cost=cost, limit=limit, start=model.start, gamma=model.gamma
    )


def _spans(model: CMDP, basis: list[int]) -> bool:
    program = exact_program(model)
    program.basis = basis
    try:
        program.point()
    except SingularError:
        return False
    return True


def exact_worth(model: CMDP, probs: np.ndarray) -> Row:
    """Value and costs of a stationary policy whose weights are normalised exactly."""
    S, A = model.r.shape
    weights = [[Fraction(max(float(p), 0.0)) for p in row] for row in probs]
    weights = [[p / sum(row) for p in row] for row in weights]
    gamma, T = Fraction(model.gamma), model.T.toarray().reshape(S, A, S)
    chain = [[sum((weights[s][a] * Fraction(float(T[s, a, t])) for a in range(A) if weights[s][a]),
                  Fraction(0)) for t in range(S)] for s in range(S)]  # fmt: skip
    transposed = [[int(s == t) - gamma * chain[s][t] for s in range(S)] for t in range(S)]
    visits = solve_exactly(transposed, [Fraction(float(m)) for m in model.start])
    return [
        sum((visits[s] * weights[s][a] * Fraction(float(table[s, a]))
             for s in range(S) for a in range(A)), Fraction(0))
        for table in (model.r, *model.cost)
    ]  # fmt: skip
