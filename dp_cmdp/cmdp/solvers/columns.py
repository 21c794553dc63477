"""Column generation (Dantzig–Wolfe) over policies.

Every occupancy measure is a mixture Σ w_p x_p of those of deterministic policies, so the CMDP is a
linear program in w with K + 1 rows (:mod:`dp_cmdp.cmdp.solvers.master`). Its multipliers λ price
new policies: the best one solves an unconstrained MDP (:mod:`dp_cmdp.cmdp.solvers.pricing`), whose
optimal value bounds the answer,

    optimum ≤ max_π (c_π − λᵀa_π) + λᵀf0,

and the loop stops when the best bound and the mixture's value are `gap` apart. When no mixture
meets f0, the same loop runs on costs alone, minimising the largest excess; multipliers λ ≥ 0 with
λᵀ(a_π − f0) > 0 for all π then prove that no policy can.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from dp_cmdp._check import FloatArray
from dp_cmdp.cmdp.solvers.library import FLOW, PolicyLibrary
from dp_cmdp.cmdp.solvers.master import drive_out, simplex, start_basis
from dp_cmdp.cmdp.solvers.mixture import costly_states, interpolate, largest, totals
from dp_cmdp.cmdp.solvers.pricing import price_at
from dp_cmdp.cmdp.solvers.refined_bound import refined_bound
from dp_cmdp.cmdp.solvers.solution import FEASIBILITY, CMDPSolution, infeasible
from dp_cmdp.errors import ConvergenceError

#: A larger excess that is neither removed nor proved is refused.
UNDECIDED = 1e-9
#: The loosest flow residual of any column.
ROUGH = 1e-3
#: Flow residual of loose columns, relative to the distance between bound and value.
LOOSE_COLUMN = 0.01
#: Gains of a new column that are taken for rounding, relative to max|r|/(1 − γ).
GAIN_ROUNDING = 1e-14
#: A weight below −1e-12 may mean that the mixture without it is infeasible.
NEGATIVE = 1e-12
#: Fresh starts of the master when it is; more mean that double precision is not enough.
REPAIRS = 5
#: Pricing problems at most, with exact columns and with loose ones.
ITERATIONS, LOOSE_ITERATIONS = 2000, 300
#: Pricing accuracy, relative to the present distance between bound and value.
SLACK = 0.1


class ColumnGeneration:
    """One solve: costs `table` (K, pairs) and tolerances `b` (K,) on the dynamics of `library`.

    Columns are solved to rounding when `exact`. Otherwise only those of the answer are, which saves
    time in large models, but may fail where policies differ in cost by less than their error.
    """

    def __init__(
        self, library: PolicyLibrary, table: FloatArray, b: FloatArray, *, gap: float, exact: bool
    ) -> None:
        rows, horizon = b.size, 1.0 / (1.0 - library.dynamics.gamma)
        self.library = library
        self.exact = exact
        if exact:
            library.refine_all(residual=FLOW)
        self.table = table
        self.states = costly_states(table, library.shape[0])
        self.gap = gap
        self.scale = np.empty(rows)
        largest(table, self.scale)
        self.scale *= horizon
        self.scale[self.scale == 0.0] = 1.0
        self.value_scale = library.reward_scale * horizon or 1.0
        self.b = b / self.scale
        self.costs = np.empty((len(library), rows))
        self._find_costs(0, len(library))
        self.policy = np.zeros(library.shape[0], np.int32)
        self.iterations = 0
        self.basis = np.empty(rows + 1, np.int64)
        self.weights, self.prices = np.zeros(rows + 1), np.zeros(rows + 1)
        self.names: list[int] = []
        self.mix: list[float] = []
        self.origin: dict[int, tuple[FloatArray, FloatArray]] = {}

    def run(self) -> CMDPSolution:
        """Find a feasible mixture, then the best one."""
        self._find_feasible()
        return self._optimise()

    def _find_costs(self, first: int, last: int) -> None:
        """Price the columns from `first` to before `last` under this draw."""
        own, library = slice(first, last), self.library
        totals(
            self.table,
            self.states,
            library.policies[own],
            library.occupancies[own],
            self.scale,
            self.costs[own],
        )

    def _price(
        self,
        dual: FloatArray,
        *,
        tolerance: float,
        target: float = np.inf,
        weight: float = 1.0,
    ) -> float:
        """Find the best policy for weight·r − Σ dual_i f_i; return an upper bound on its value."""
        self.iterations += 1
        limit = ITERATIONS if self.exact else LOOSE_ITERATIONS
        if self.iterations > limit:
            raise ConvergenceError(f"column generation passed its limit of {limit} iterations")
        library, pooled = self.library, self.iterations == 1 and len(self.names) > 0
        if pooled:
            self.policy = library.policies[self.names[self.mix.index(max(self.mix))]].copy()
        return price_at(
            library.dynamics,
            library.reward,
            weight,
            self.table,
            dual,
            library.guess,
            self.policy,
            library.rank,
            tolerance,
            target,
            pooled,
        )

    def _add(self, *, residual: float) -> int:
        """Make the policy just priced a column; its occupancy starts from the mixture's."""
        accuracy = FLOW if self.exact else min(max(FLOW, residual), ROUGH)
        p = self.library.add(self.policy, self.names, self.mix, residual=accuracy)
        if p == len(self.costs):
            self.costs = np.concatenate([self.costs, np.empty((1, self.b.size))])
        self._find_costs(p, p + 1)
        return p

    def _master(self) -> None:
        """Optimise the master; keep its prices, and the policies and weights of its mixture."""
        simplex(
            self.library.values,
            self.value_scale,
            self.costs,
            self.b,
            self.basis,
            self.weights,
            self.prices,
        )
        basis, weights = self.basis.tolist(), self.weights.tolist()
        mixed = [(p, w) for p, w in zip(basis, weights, strict=True) if p >= 0 and w > 0.0]
        total = sum(w for _, w in mixed)
        self.names, self.mix = [p for p, _ in mixed], [w / total for _, w in mixed]

    def _refine(self) -> bool:
        """Make the columns of the present mixture exact; False when they already are."""
        inexact = [p for p in self.names if self.library.refine(p, residual=FLOW)]
        for p in inexact:
            self._find_costs(p, p + 1)
        return bool(inexact)

    def _find_feasible(self) -> None:
        """Minimise the largest scaled excess until it vanishes or is proved positive."""
        stuck, elastic, target = False, -1 - self.b.size, np.inf
        start_basis(self.costs, self.b, self.basis)
        if elastic not in self.basis:
            return
        while True:
            self._master()
            excess = float(self.weights[self.basis == elastic].sum())
            least = float(self.prices[-1])
            if excess <= FEASIBILITY:
                break
            if stuck and self._refine():
                start_basis(self.costs, self.b, self.basis)
                stuck = False
                continue
            if stuck and target == np.inf:  # not even the best policy reduces the excess
                break
            target = np.inf if stuck else least
            dual = np.maximum(self.prices[:-1], 0.0)
            upper = self._price(
                dual / self.scale, tolerance=0.1 * FEASIBILITY, target=target, weight=0.0
            )
            certain = -upper - float(dual @ self.b)
            newest = self._add(residual=LOOSE_COLUMN * (upper - least))
            gain = -dual @ self.costs[newest] - least
            if certain > 0.5 * excess or (certain > 0.0 and gain < FEASIBILITY):
                raise infeasible(dual / self.scale, certain)
            stuck = gain <= 1e-3 * FEASIBILITY
        if excess > (UNDECIDED if self.exact else FEASIBILITY):
            raise ConvergenceError(
                "double precision cannot decide whether the tolerances f0 can be kept; raise or "
                "lower them a little"
            )
        if elastic in self.basis:
            self.b = self.b + max(excess, 0.0)
            drive_out(self.costs, self.basis)

    def _guess_values(self, dual: FloatArray) -> None:
        """Start v from the values of the mixture's columns, interpolated at `dual`."""
        known = [self.origin[p] for p in self.names if p in self.origin]
        if len(known) == self.b.size + 1:
            points, values = (np.array(part) for part in zip(*known, strict=True))
            interpolate(points, values, dual, self.library.guess)

    def _excess(self) -> float:
        """Largest scaled excess of the mixture, its negative weights cut off."""
        if not self.names:
            return np.inf
        return float((np.array(self.mix) @ self.costs[self.names] - self.b).max())

    def _optimise(self) -> CMDPSolution:
        """Improve a feasible mixture until the bound meets it."""
        library, bound, best, repairs = self.library, np.inf, np.zeros(self.b.size), 0
        while True:
            self._master()
            if not self.weights.min() >= -NEGATIVE and not self._excess() <= FEASIBILITY:
                repairs += 1
                if repairs > REPAIRS:
                    raise ConvergenceError(
                        "the best mixture of policies cannot be told in double precision; use "
                        "engine='lp'"
                    )
                self._find_feasible()
                continue
            values = library.values
            value = sum(w * float(values[p]) for p, w in zip(self.names, self.mix, strict=True))
            allowed = self.gap * (max(abs(value), library.reward_scale) or 1.0)
            distance = bound - value if bound < np.inf else 0.0
            if bound - value > allowed:
                dual = np.maximum(self.prices[:-1], 0.0) * self.value_scale / self.scale
                share = float((dual * self.scale) @ self.b)
                self._guess_values(dual)
                upper = share + self._price(
                    dual, tolerance=max(0.25 * allowed, SLACK * distance), target=value - share
                )
                if upper < bound:
                    bound, best = upper, dual
                if bound - value > allowed:
                    gain = self._extend(dual, distance=upper - value)
                    noise = max(1e-3 * allowed, GAIN_ROUNDING * self.value_scale)
                    stays = bound - value > max(0.9 * distance, allowed)
                    if gain <= noise and stays:
                        if self._refine():
                            self._find_feasible()
                            continue
                        bound = min(bound, self._refined_bound(best))
                        if bound - value > allowed:
                            raise self._stalled(bound, value)
                    else:
                        continue
            if not self._refine():
                rounding = FEASIBILITY * float(best @ self.scale)
                if not bound - value >= -allowed - rounding:
                    raise self._stalled(bound, value)
                return self._solution(value, dual=best, bound=bound)
            self._find_feasible()

    def _refined_bound(self, dual: FloatArray) -> float:
        """The bound at `dual` once more, in extended precision."""
        own = self.library.dynamics
        shape = (self.library.reward.size, own.num_states)
        return refined_bound(
            sparse.csr_array(
                (own.data, own.indices.view(np.int32), own.indptr.view(np.int32)), shape
            ),
            self.library.reward,
            f=self.table,
            f0=self.b * self.scale,
            dual=dual,
            mu=own.mu,
            gamma=own.gamma,
            v=self.library.guess,
        )

    def _extend(self, dual: FloatArray, *, distance: float) -> float:
        """Add the column priced at `dual`; return its gain over the mixture."""
        newest = self._add(residual=LOOSE_COLUMN * distance / self.value_scale)
        self.origin = {p: self.origin[p] for p in self.names if p in self.origin}
        self.origin[newest] = dual, self.library.guess.copy()
        paid = self.prices[:-1] @ self.costs[newest] + self.prices[-1]
        return float(self.library.values[newest] - self.value_scale * paid)

    def _stalled(self, bound: float, value: float) -> ConvergenceError:
        scale = max(abs(value), self.library.reward_scale) or 1.0
        return ConvergenceError(
            f"column generation stopped at a relative gap of {(bound - value) / scale:.2g}; "
            f"{self.gap:g} was asked for"
        )

    def _solution(self, value: float, *, dual: FloatArray, bound: float) -> CMDPSolution:
        mix = np.array(self.mix)
        return self.library.mixture(
            self.names,
            mix,
            value=value,
            costs=mix @ self.costs[self.names] * self.scale,
            dual=dual,
            bound=bound,
            iterations=self.iterations,
        )
