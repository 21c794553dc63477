"""Solving a constrained MDP: policies mixed by compiled code, or one linear program.

Dynamics are public, so the occupancy measure of a policy is a valid column for every choice of
costs and limits, and a good start for the next: the best mixture of pooled policies gives the first
multipliers and policy of Newton's method (``kernels/newton.c``; where that does not settle, column
generation, ``kernels/columns.c``). What rounding does not let the kernels decide is solved as one
linear program, in models of at most :data:`LP_LIMIT` states; without the kernels everything is.

A deterministic policy is kept as its actions π(s) and exact state occupancy y(s). Its costs under
any table f are Σ_s f(s, π(s)) y(s), so it serves every draw of the costs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dp_cmdp._src.base.errors import ConvergenceError, SolverError
from dp_cmdp._src.base.validation import FloatArray, frozen
from dp_cmdp._src.cmdp.model import MDP
from dp_cmdp._src.cmdp.solvers.compiled import (
    INFEASIBLE,
    SOLVED,
    Given,
    Outcome,
    Workspace,
    address,
    kernels,
)
from dp_cmdp._src.cmdp.solvers.occupancy_lp import (
    FEASIBILITY,
    Solution,
    infeasible,
)

COLUMN_ARRAYS = ("_policies", "_occupancies", "_values", "_used")
#: Flow residual ‖μ − (I − γT_πᵀ)y‖₁ of the occupancies.
FLOW = 1e-14


#: Models with more states are not handed to HiGHS.
LP_LIMIT = 20_000


class PolicyPool:
    """Policies of one MDP with their occupancies, and the solves they serve; it learns from each.

    The least recently useful beyond `capacity` are dropped. What an answer is may depend on the
    policies that a pool has seen, so one that has seen private numbers must serve nothing that is
    published. Without the compiled kernels there is no `workspace`, and no policy is kept.
    """

    def __init__(self, mdp: MDP, *, capacity: int | None = None) -> None:
        if capacity is None:
            few, many = 2**26 // mdp.num_states, 2**18 // mdp.num_states
            capacity = max(min(256, max(16, few)), min(1024, many))
        self.mdp, self.capacity, self.shape = mdp, capacity, mdp.r.shape
        library = kernels()
        self.workspace = None if library is None else Workspace(library, mdp)
        self.reward = mdp.r.ravel()
        self.reward_scale = float(np.abs(self.reward).max())
        self.guess = np.zeros(mdp.num_states)  # values of the last reward priced
        self._priced = np.zeros(mdp.num_states, np.int32)
        self._size = 0
        self._clock = 0
        self._numbers: dict[bytes, int] = {}
        self._policies = np.empty((4, mdp.num_states), np.int32)
        self._occupancies = np.empty((4, mdp.num_states))
        self._values = np.empty(4)
        self._used = np.zeros(4, np.int64)

    def __len__(self) -> int:
        return self._size

    @property
    def policies(self) -> NDArray[np.int32]:
        """Actions (size, num_states) of the pooled policies."""
        return self._policies[: self._size]

    @property
    def occupancies(self) -> FloatArray:
        """State occupancies (size, num_states)."""
        return self._occupancies[: self._size]

    @property
    def values(self) -> FloatArray:
        """Discounted rewards (size,)."""
        return self._values[: self._size]

    def given(self, tables: FloatArray) -> Given:
        """All of them, as solves of costs `tables` (..., pairs) start from them: in other states
        than some nothing costs anything."""
        states = np.empty(0, np.int64)
        if self._size:
            costly = tables.any(axis=tuple(range(tables.ndim - 1))).reshape(self.shape)
            states = np.flatnonzero(costly.any(axis=-1))
        count = self._size
        policies, occupancies = self._policies[:count], self._occupancies[:count]
        there = (states.astype(np.uint32), policies[:, states], occupancies[:, states])
        arrays = (policies, occupancies, self._values[:count], *map(np.ascontiguousarray, there))
        made = Given(count, states.size, *map(address, arrays))
        made.arrays = arrays
        return made

    def make_room(self) -> None:
        """Drop the least recently useful half where there are more than the capacity."""
        if self._size > self.capacity:
            keep = np.sort(np.argsort(self._used[: self._size])[-(self.capacity // 2) :])
            for array in (getattr(self, name) for name in COLUMN_ARRAYS):
                array[: keep.size] = array[keep]
            self._size = keep.size
            self._numbers = {row.tobytes(): p for p, row in enumerate(self.policies)}

    def learn(self, policies: NDArray[np.int32], occupancies: FloatArray) -> None:
        """Take in policies with their exact occupancies, as useful now."""
        if self.workspace is not None:
            self.touch(list(map(self.insert, policies, occupancies)))

    def price(self, income: FloatArray, *, tolerance: float) -> float:
        """Find the best policy for an income (pairs,); an upper bound on what it earns."""
        assert self.workspace is not None
        return self.workspace.price(income, self.guess, self._priced, tolerance=tolerance)

    def take(self, names: Sequence[int] | NDArray[np.int64], weights: FloatArray) -> int:
        """Number of the policy priced last, new or known; a new one's occupancy is found from that
        of a mixture, if there is any."""
        p = self._numbers.get(self._priced.tobytes())
        if p is None:
            assert self.workspace is not None
            y = weights @ self.occupancies[names] if len(self) else self.mdp.start * self.mdp.steps
            exact = self.workspace.occupancy(self._priced, y, residual=FLOW)
            p = self.insert(self._priced, exact)
        self.touch([p])
        return p

    def row(self, A: sparse.csr_array, p: int) -> FloatArray:
        """A x of one policy."""
        return A @ self.measure([p], np.ones(1)).ravel()

    def mixed(self, names: NDArray[np.int64], weights: FloatArray) -> dict[str, Any]:
        """What a solution says of a mixture."""
        self.touch(names)
        return {
            "occupancy": frozen(self.measure(names, weights)),
            "policies": self.policies[names],
            "occupancies": self.occupancies[names],
        }

    def insert(self, policy: NDArray[np.int32], occupancy: FloatArray) -> int:
        """Number of a policy, new or known, whose exact occupancy is given."""
        key = policy.tobytes()
        p = self._numbers.setdefault(key, self._size)
        if p == self._size:
            if p == len(self._values):
                self._resize(2 * p)
            self._size += 1
            self._policies[p], self._occupancies[p] = policy, occupancy
            chosen = np.arange(self.shape[0]) * self.shape[1] + policy
            self._values[p] = self.reward[chosen] @ occupancy
        return p

    def known(self, most: int) -> tuple[NDArray[np.int32], FloatArray]:
        """The policies that were useful last, with their occupancies, for :meth:`learn`."""
        last = np.sort(np.argsort(self._used[: self._size], kind="stable")[-most:])
        return self._policies[last], self._occupancies[last]

    def touch(self, names: Sequence[int] | NDArray[np.int64]) -> None:
        """Mark policies as useful now."""
        self._clock += 1
        self._used[names] = self._clock

    def measure(self, names: Sequence[int] | NDArray[np.int64], weights: FloatArray) -> FloatArray:
        """The occupancy measure of a mixture, x(s, a) = Σ_p w_p y_p(s) [π_p(s) = a]."""
        assert self.workspace is not None
        x = np.zeros(self.shape)
        mixed = self.policies[names], self.occupancies[names], np.ascontiguousarray(weights)
        library = self.workspace.library
        library.measure_of(*self.shape, len(mixed[0]), *map(address, mixed), address(x))
        return x

    def _resize(self, rows: int) -> None:
        for name in COLUMN_ARRAYS:
            old = getattr(self, name)
            new = np.empty((rows, *old.shape[1:]), old.dtype)
            new[: len(old)] = old
            setattr(self, name, new)

    def solve(self, cost: FloatArray, limit: FloatArray, *, gap: float = 1e-8) -> Solution:
        """The best policy with costs (K, num_states, num_actions) of at most `limit`.

        Raises InfeasibleError with a proof if there is none, ConvergenceError if double precision
        does not decide. A gap above the one asked for is reported by the answer.
        """
        if self.workspace is None:
            from dp_cmdp._src.cmdp.solvers.whole_lp import solve_lp

            return solve_lp(self.mdp, cost, limit)
        self.make_room()
        table, x = cost.reshape(limit.size, -1), np.zeros((self.shape[0], limit.size + 1))
        outcome = self.workspace.solve(table, limit, gap=gap, given=self.given(table), x=x)
        if outcome.status == SOLVED:
            self.learn(outcome.policies, outcome.occupancies)
            return self._solution(outcome)
        if outcome.status == INFEASIBLE:
            raise infeasible(outcome.multiplier, outcome.value)
        return self._undecided(outcome, cost, limit)

    def _undecided(self, outcome: Outcome, cost: FloatArray, limit: FloatArray) -> Solution:
        """The better of what the kernels and HiGHS came to."""
        most = FEASIBILITY * np.abs(cost).max(axis=(1, 2)) / (1.0 - self.mdp.gamma)
        kept = outcome.weights.size and (outcome.costs - limit <= most).all()
        found = self._solution(outcome) if kept else None
        if self.mdp.num_states > LP_LIMIT:
            if found is None:
                raise ConvergenceError(
                    "double precision cannot decide whether the limits can be kept"
                )
            return found
        from dp_cmdp._src.cmdp.solvers.whole_lp import solve_lp

        try:
            other = solve_lp(self.mdp, cost, limit)
        except SolverError:
            if found is None:
                raise
            return found
        return other if found is None or other.gap < found.gap else found

    def _solution(self, outcome: Outcome) -> Solution:
        return Solution(
            occupancy=frozen(outcome.measure),
            value=outcome.value,
            dual=frozen(outcome.multiplier),
            bound=outcome.bound,
            reward_scale=self.reward_scale,
            policies=outcome.policies,
            occupancies=outcome.occupancies,
        )
