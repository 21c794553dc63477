"""Column generation (Dantzig–Wolfe) over policies.

Every occupancy measure is a mixture Σ w_p x_p of those of deterministic policies, so the CMDP is a
linear program in w with K + 1 rows (:mod:`dp_cmdp.cmdp.master`). Its multipliers λ price new
policies: the best one solves an unconstrained MDP (:mod:`dp_cmdp.cmdp.pricing`), whose optimal
value bounds the answer,

    optimum ≤ max_π (c_π − λᵀa_π) + λᵀf0,

and the loop stops when the best bound and the mixture's value are `gap` apart. When no mixture
meets f0, the same loop runs on costs alone, minimising the largest excess; multipliers λ ≥ 0 with
λᵀ(a_π − f0) > 0 for all π then prove that no policy can.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dp_cmdp._check import FloatArray, frozen
from dp_cmdp.cmdp.master import drive_out, simplex, start_basis
from dp_cmdp.cmdp.pricing import price
from dp_cmdp.cmdp.solution import FEASIBILITY, CMDPSolution, infeasible, relative_gap
from dp_cmdp.errors import ConvergenceError

if TYPE_CHECKING:
    from dp_cmdp.cmdp.pool import PolicyPool

#: A larger excess that is neither removed nor proved is refused.
UNDECIDED = 1e-9
#: Accuracy of the first column, and the loosest flow residual of any column.
FIRST = 1e-3
#: Flow residual ‖μ − (I − γT_πᵀ)y‖₁ of the columns that the answer mixes.
FLOW = 1e-14
#: Flow residual of the other columns, relative to that distance.
LOOSE = 0.01
#: Gains of a new column that are taken for rounding, relative to max|r|/(1 − γ).
NOISE = 1e-14
#: A weight below −1e-12 means that refined columns have left the basis infeasible.
NEGATIVE = 1e-12
ITERATIONS = 2000
#: Pricing accuracy, relative to the present distance between bound and value.
SLACK = 0.1


class ColumnGeneration:
    """One solve: costs `table` (K, pairs) and tolerances `b` (K,) on the dynamics of `pool`."""

    def __init__(self, pool: PolicyPool, table: FloatArray, b: FloatArray, *, gap: float) -> None:
        horizon = 1.0 / (1.0 - pool.dynamics.gamma)
        scale = np.abs(table).max(axis=1) * horizon
        self.pool = pool
        self.table = table
        self.gap = gap
        self.scale = np.where(scale > 0.0, scale, 1.0)
        self.value_scale = pool.reward_scale * horizon or 1.0
        self.b = b / self.scale
        self.costs = pool.costs(table) / self.scale
        self.v = pool.guess
        self.policy = np.zeros(pool.dynamics.num_states, np.int32)
        self.iterations = 0
        self.newest = 0
        self.basis = np.empty(0, np.int64)
        self.weights = self.prices = self.mix = np.empty(0)
        self.names: list[int] = []
        self.origin: dict[int, tuple[FloatArray, FloatArray]] = {}

    def run(self) -> CMDPSolution:
        """Find a feasible mixture, then the best one."""
        if len(self.pool) == 0:
            self._price(np.zeros(self.b.size), tolerance=FIRST * self.value_scale)
            self._add(residual=FIRST)
        self._reach_feasibility()
        return self._optimise()

    def _price(
        self,
        dual: FloatArray,
        *,
        tolerance: float,
        target: float = np.inf,
        reward: bool = True,
    ) -> float:
        """Find the best policy for multipliers `dual`; return an upper bound on its Lagrangian."""
        self.iterations += 1
        if self.iterations > ITERATIONS:
            raise ConvergenceError(f"column generation passed its limit of {ITERATIONS} iterations")
        income = self.pool.reward.copy() if reward else np.zeros(self.pool.reward.size)
        for multiplier, cost in zip(dual, self.table, strict=True):
            income -= multiplier * cost
        pooled = self.iterations == 1 and len(self.names) > 0
        if pooled:
            self.policy[:] = self.pool.policies[self.names[int(self.mix.argmax())]]
        _, upper = price(
            self.pool.dynamics,
            income,
            v=self.v,
            policy=self.policy,
            rank=self.pool.rank,
            tolerance=tolerance,
            target=target,
            trust=pooled,
        )
        return upper

    def _add(self, *, residual: float, dual: FloatArray | None = None) -> None:
        """Make the policy just priced (at `dual`) a column; its occupancy starts from the mean."""
        guess = np.zeros(self.pool.dynamics.num_states)
        for q, weight in zip(self.names, self.mix, strict=True):
            guess += weight * self.pool.occupancies[q]
        p = self.pool.add(self.policy, guess, residual=min(max(FLOW, residual), FIRST))
        self.newest = p
        if p == len(self.costs):
            self.costs = np.concatenate([self.costs, np.empty((1, self.b.size))])
        self.costs[p] = self.pool.costs(self.table, only=p)[0] / self.scale
        if dual is not None:
            self.origin = {q: self.origin[q] for q in self.names if q in self.origin}
            self.origin[p] = dual, self.v.copy()

    def _master(self, *, elastic: bool) -> None:
        """Optimise the master; keep its prices, and the policies and weights of its mixture."""
        values = self.pool.values / self.value_scale
        self.weights, self.prices = simplex(values, self.costs, self.b, self.basis, elastic)
        chosen = (self.basis >= 0) & (self.weights > 0.0)
        self.names, mix = self.basis[chosen].tolist(), self.weights[chosen]
        self.mix = mix / mix.sum()

    def _refine(self) -> bool:
        """Make the columns of the present mixture exact; False when they already are."""
        inexact = [p for p in self.names if self.pool.refine(p, residual=FLOW)]
        for p in inexact:
            self.costs[p] = self.pool.costs(self.table, only=p)[0] / self.scale
        return bool(inexact)

    def _reach_feasibility(self) -> None:
        """Minimise the largest scaled excess until it vanishes or is proved positive."""
        self.basis, stuck = start_basis(self.costs, self.b), False
        if -1 - self.b.size not in self.basis:
            return
        while True:
            self._master(elastic=True)
            elastic = self.basis == -1 - self.b.size
            excess = float(self.weights[elastic].sum())
            if excess <= FEASIBILITY or (stuck and not self._refine()):
                break
            if stuck:
                self.basis, stuck = start_basis(self.costs, self.b), False
                continue
            dual = np.maximum(self.prices[:-1], 0.0)
            upper = self._price(
                dual / self.scale,
                tolerance=0.1 * FEASIBILITY,
                target=self.prices[-1],
                reward=False,
            )
            certain = -upper - float(dual @ self.b)
            self._add(residual=LOOSE * (upper - self.prices[-1]))
            gain = -dual @ self.costs[self.newest] - self.prices[-1]
            if certain > 0.5 * excess or (certain > 0.0 and gain < FEASIBILITY):
                raise infeasible(dual / self.scale, certain)
            stuck = gain <= 1e-3 * FEASIBILITY
        if excess > UNDECIDED:
            raise ConvergenceError(
                "double precision cannot decide whether the tolerances f0 can be kept; raise or "
                "lower them a little"
            )
        if elastic.any():
            self.b = self.b + max(excess, 0.0)
            drive_out(self.costs, self.basis)

    def _guess_values(self, dual: FloatArray) -> None:
        """Start v from the values of the basis columns, interpolated at `dual`."""
        known = [self.origin[p] for p in self.names if p in self.origin]
        if len(known) < 2:
            return
        points = np.array([[*at, 1.0] for at, _ in known]).T
        target = np.append(dual, 1.0)
        share = np.linalg.lstsq(points, target)[0]
        misfit = np.abs(points @ share - target).max()
        if misfit <= 1e-6 * np.abs(target).max() and share.min() > -1.0:
            self.v[:] = sum(w * v for w, (_, v) in zip(share, known, strict=True))

    def _optimise(self) -> CMDPSolution:
        bound, best = np.inf, np.zeros(self.b.size)
        while True:
            self._master(elastic=False)
            if self.weights.min() < -NEGATIVE:
                self.iterations += 1
                self._reach_feasibility()
                continue
            value = float(self.mix @ self.pool.values[self.names])
            allowed = self.gap * max(abs(value), self.pool.reward_scale)
            if bound - value <= allowed:
                if self._refine():
                    continue
                return self._solution(best, bound)
            dual = np.maximum(self.prices[:-1], 0.0) * self.value_scale / self.scale
            self._guess_values(dual)
            share = float(dual @ (self.b * self.scale))
            distance = bound - value if np.isfinite(bound) else 0.0
            upper = self._price(
                dual,
                tolerance=max(0.25 * allowed, SLACK * distance),
                target=value - share,
            )
            if upper + share < bound:
                bound, best = upper + share, dual
            if bound - value <= allowed:
                continue
            self._add(dual=dual, residual=LOOSE * (upper + share - value) / self.value_scale)
            gain = self.pool.values[self.newest] - self.value_scale * (
                self.prices[:-1] @ self.costs[self.newest] + self.prices[-1]
            )
            noise = max(1e-3 * allowed, NOISE * self.value_scale)
            stalled = gain <= noise and bound - value > max(0.9 * distance, allowed)
            if stalled and not self._refine():
                raise ConvergenceError(
                    f"column generation stopped at a relative gap of "
                    f"{relative_gap(bound, value, reward_scale=self.pool.reward_scale):.2g}, "
                    f"above the {self.gap:g} asked for"
                )

    def _solution(self, dual: FloatArray, bound: float) -> CMDPSolution:
        names, mix = self.names, self.mix
        policies = self.pool.policies[names]
        occupancy = np.zeros(self.pool.shape)
        states = np.arange(self.pool.shape[0])
        for p, share, actions in zip(names, mix, policies, strict=True):
            occupancy[states, actions] += share * self.pool.occupancies[p]
            self.pool.touch(p)
        value = float(mix @ self.pool.values[names])
        return CMDPSolution(
            occupancy=frozen(occupancy),
            value=value,
            costs=frozen(mix @ self.costs[names] * self.scale),
            dual=frozen(dual),
            upper_bound=bound,
            gap=relative_gap(bound, value, reward_scale=self.pool.reward_scale),
            engine="columns",
            iterations=self.iterations,
            weights=frozen(mix),
            policies=frozen(policies),
        )
