"""Column generation under rows with auxiliary variables: in-out, over policies.

    max cᵀx   s.t.   A x + E u ≤ b,   u ≥ 0,   x an occupancy measure

is what constraints over a set of databases become (:mod:`dp_cmdp._src.program.rows`):
thousands of rows and auxiliary variables u, but x is still a mixture Σ w_p x_p of policies. The
*master* is the program in w and u, kept warm in HiGHS. Its multipliers y ≥ 0 price new policies,

    optimum ≤ max_π (c − Aᵀy)ᵀx_π + bᵀy        for every y ≥ 0 with Eᵀy ≥ 0,

one unconstrained MDP (``kernels/columns.c``). Priced is not y itself but a point
between y and the best y so far (in-out; Wentges 1997): where y jumps about, as it does in thousands
of dimensions, that point does not. When its policy does not improve the master, the next point is
closer to y. Where no mixture satisfies the rows, the same loop first removes the excess.

A run that stops early returns the best mixture it has and a bound that holds.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dp_cmdp._src.base.errors import ConvergenceError
from dp_cmdp._src.base.validation import FloatArray, frozen
from dp_cmdp._src.cmdp.solvers.horizon import EpisodePool
from dp_cmdp._src.cmdp.solvers.occupancy_lp import FEASIBILITY, Solution, infeasible
from dp_cmdp._src.cmdp.solvers.pool import PolicyPool
from dp_cmdp._src.program.highs import _STATUS, Scale, _quiet_highs
from dp_cmdp._src.program.linear import LinearProgram

#: Weight of the best multipliers so far in the point that is priced.
STABILITY = 0.8
#: Pricing accuracy, relative to the present distance between bound and value.
PRICING_SHARE = 0.05
#: Pricing problems at most.
ROW_ITERATIONS = 600
#: A run ends where so many columns close less than a share of the gap: this one, or the larger one
#: once the gap is good enough.
PATIENCE, PROGRESS, MORE_PROGRESS, GOOD_GAP = 10, 0.2, 0.5, 1e-4
#: A column that improves the master by less, relative to the distance, is a misprice; so many in a
#: row at y itself mean that doubles are exhausted.
MISPRICE, MISPRICES = 1e-3, 4
#: Primal and dual feasibility asked of HiGHS, in units of size 1.
MASTER_TOLERANCE = 1e-10
#: Simplex iterations per row at most: a master that needs more is cycling (usual are 1 or 2).
MASTER_ITERATIONS = 20
#: Excess that a first phase leaves to the margin, in units of the rows.
LEFT_EXCESS = 1e-9


class RowColumns:
    """One solve on the dynamics of `pool`, which learns from it.

    The columns of `matrix` are those of x, then those of u; its first `num_rows` rows bound costs,
    the others define u.
    """

    def __init__(
        self,
        pool: PolicyPool | EpisodePool,
        matrix: sparse.csr_array,
        b: FloatArray,
        *,
        num_rows: int,
        gap: float,
    ) -> None:
        pairs, objective = pool.reward.size, pool.reward
        whole = sparse.csc_array(matrix)
        self.pool, self.gap, self.objective = pool, gap, objective
        self.A = sparse.csr_array(whole[:, :pairs])
        self.E = sparse.csc_array(whole[:, pairs:])
        self.b, self.num_rows = b, num_rows
        self.reward_scale = float(np.abs(objective).max())
        self.unit = self.reward_scale * pool.mdp.steps or 1.0
        self.iterations = 0
        pool.make_room()
        if not len(pool):  # the first policy is good without costs
            pool.price(objective, tolerance=self.unit)
            pool.take(np.empty(0, np.int64), np.empty(0))
        self.rows = [pool.row(self.A, p) for p in range(len(pool))]
        self.master = _Master(self)

    def run(self) -> Solution:
        """Find a mixture that satisfies the rows, then the best one."""
        excess = -self._improve(np.zeros_like(self.objective), elastic=True)[0]
        if excess > LEFT_EXCESS:
            raise ConvergenceError("double precision cannot decide whether the rows can be kept")
        self.master.fix_excess(max(excess, 0.0))
        _, bound, dual = self._improve(self.objective, elastic=False)
        names, mix = self._mixture()
        mixed = self.pool.mixed(names, mix)
        mixed["auxiliary"] = frozen(self.master.auxiliary)
        return Solution.of(self.pool.mdp, mixed.pop("occupancy"), dual, bound, **mixed)

    def _improve(self, reward: FloatArray, *, elastic: bool) -> tuple[float, float, FloatArray]:
        """Add columns until bound and value meet, or none helps: value, bound and its y."""
        bound, best, stability, misprices = np.inf, np.zeros(self.b.size), 0.0, 0
        distances: list[float] = []
        value = -np.inf
        while True:
            try:
                value, dual = self.master.solve()
            except ConvergenceError:
                if elastic or value == -np.inf:
                    raise
                return value, bound, best  # of the last mixture
            allowed = self.gap * (max(abs(value), self.reward_scale) or 1.0)
            if elastic:
                allowed = 0.1 * FEASIBILITY
                if value >= -FEASIBILITY:
                    return value, bound, best
                if bound < -FEASIBILITY and bound < 0.5 * value:
                    raise infeasible(best[: self.num_rows], -bound)
            if bound - value <= allowed or misprices > MISPRICES:
                return value, bound, best
            distances.append(bound - value)
            if self.iterations >= ROW_ITERATIONS or self._is_slow(distances, value):
                return value, bound, best
            point = stability * best + (1.0 - stability) * dual
            distance = bound - value if bound < np.inf else abs(value)
            upper = self._price(reward, point, tolerance=max(PRICING_SHARE * distance, allowed / 4))
            if upper < bound:
                bound, best = upper, point
            gain = self._add(reward, dual, value=value)
            if gain > MISPRICE * (bound - value):
                stability, misprices = STABILITY, 0
            else:
                misprices += stability < 0.05
                stability = 0.5 * stability if stability >= 0.05 else 0.0

    def _is_slow(self, distances: list[float], value: float) -> bool:
        """Whether the last columns closed too little of the gap to go on."""
        if len(distances) <= PATIENCE:
            return False
        good = distances[-1] <= GOOD_GAP * max(abs(value), self.reward_scale)
        share = MORE_PROGRESS if good else PROGRESS
        return distances[-1] > (1.0 - share) * distances[-1 - PATIENCE]

    def _price(self, reward: FloatArray, dual: FloatArray, *, tolerance: float) -> float:
        """The best policy for reward − Aᵀy; an upper bound on the optimum."""
        self.iterations += 1
        upper = self.pool.price(reward - self.A.T @ dual, tolerance=tolerance)
        return float(upper + self.b @ dual + self._allowance(dual))

    def _allowance(self, dual: FloatArray) -> float:
        """What auxiliary variables may still earn at y, because HiGHS keeps Eᵀy ≥ 0 roughly."""
        earned = np.maximum(-(self.E.T @ dual), 0.0)
        return float(earned @ (2.0 * np.abs(self.master.auxiliary)))

    def _add(self, reward: FloatArray, dual: FloatArray, *, value: float) -> float:
        """Make the policy just priced a column; return what it gains at the multipliers y."""
        p = self.pool.take(*self._mixture())
        if p == len(self.rows):
            self.rows.append(self.pool.row(self.A, p))
            self.master.add(self.pool.values[p], self.rows[p])
        worth = self.pool.values[p] if reward.any() else 0.0
        return float(worth - dual @ self.rows[p] - (value - self.b @ dual))

    def _mixture(self) -> tuple[NDArray[np.int64], FloatArray]:
        """Policies of the present mixture, and their weights."""
        weights = self.master.weights
        names = np.flatnonzero(weights > 0.0)
        if not names.size:
            return np.array([0]), np.ones(1)
        return names, weights[names] / weights[names].sum()


class _Master:
    """The program in weights and auxiliary variables, kept warm in HiGHS while it gains columns.

    Rows are in units of what the first columns put into them, auxiliary variables in those of their
    largest coefficient. The column after them is the excess of the sensitive rows, which is
    minimised first, and then fixed. The last row says that weights sum to 1.
    """

    def __init__(self, solve: RowColumns) -> None:
        b, m, count = solve.b, solve.num_rows, solve.E.shape[1]
        size = np.abs(solve.rows).max(axis=0)
        size[:m] = np.maximum(size[:m], np.abs(b[:m]))
        self._unit = _power_of_two(np.maximum(size, 1e-3 * np.median(size[size > 0.0])))
        self._value_unit = float(_power_of_two(np.array(solve.unit)))
        scaled = sparse.csc_array(solve.E / self._unit[:, None])
        largest = np.zeros(0)
        if count:
            largest = np.asarray(abs(scaled).max(axis=0).toarray(), np.float64).ravel()
        self._columns = 1.0 / _power_of_two(largest)
        excess = sparse.csc_array(-np.repeat([1.0, 0.0], [m, b.size - m])[:, None])
        rows = sparse.csr_array(sparse.hstack([sparse.csc_array(scaled * self._columns), excess]))
        none, top = np.zeros(count + 1), np.full(count + 1, np.inf)
        lp = LinearProgram(
            none, rows, b / self._unit, sparse.csr_array((1, count + 1)), np.ones(1), none, top
        )
        self._elastic, self._num_auxiliary = True, count
        self._values: list[float] = []
        self._highs: Any = _quiet_highs(lp, Scale.unit(lp), MASTER_TOLERANCE)
        for name, option in (
            ("presolve", "off"),
            ("simplex_strategy", 4),  # primal: new columns leave the last basis feasible
            ("simplex_iteration_limit", int(MASTER_ITERATIONS * (b.size + 100))),
        ):
            self._highs.setOptionValue(name, option)
        for p, row in enumerate(solve.rows):
            self.add(solve.pool.values[p], row)
        self._highs.changeColCost(count, -1.0)
        self.weights, self.auxiliary = np.zeros(len(solve.rows)), np.zeros(count)

    def add(self, value: float, row: FloatArray) -> None:
        """A column of the given value, which puts `row` into the rows."""
        column = np.append(row / self._unit, 1.0)
        at = np.flatnonzero(column).astype(np.int32)
        self._values.append(value / self._value_unit)
        worth = 0.0 if self._elastic else self._values[-1]
        self._highs.addCol(worth, 0.0, np.inf, at.size, at, column[at])

    def fix_excess(self, most: float) -> None:
        """From now on, maximise the value."""
        self._elastic, first = False, self._num_auxiliary
        self._highs.changeColBounds(first, 0.0, most)
        for place, cost in enumerate([0.0, *self._values]):
            self._highs.changeColCost(first + place, cost)

    def solve(self) -> tuple[float, FloatArray]:
        """Optimise: the value (or minus the excess), and the multipliers of the rows."""
        for _ in range(2):
            self._highs.run()
            if self._highs.getModelStatus() == _STATUS.kOptimal:
                break
            self._highs.clearSolver()
        else:
            raise ConvergenceError("HiGHS found no optimum of the master program")
        found = self._highs.getSolution()
        values, dual = np.asarray(found.col_value), np.asarray(found.row_dual)[:-1]
        unit = 1.0 if self._elastic else self._value_unit
        self.auxiliary = values[: self._num_auxiliary] * self._columns
        self.weights = np.maximum(values[self._num_auxiliary + 1 :], 0.0)
        value = unit * float(self._highs.getInfo().objective_function_value)
        return value, np.maximum(unit * dual, 0.0) / self._unit


def _power_of_two(size: FloatArray) -> FloatArray:
    return np.exp2(np.round(np.log2(np.where(size > 0.0, size, 1.0))))
