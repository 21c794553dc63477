"""Solving a constrained MDP: policies mixed by compiled code, or one linear program.

Dynamics are public, so the occupancy measure of a policy is a valid column for every choice of
costs and limits, and a good start for the next: the best mixture of pooled policies gives the first
multipliers and policy of Newton's method (``kernels/newton.c``; where that does not settle, column
generation, ``kernels/columns.c``). What rounding does not let the kernels decide is solved as one
linear program, in models of at most :data:`LP_LIMIT` states; without the kernels everything is.
"""

from __future__ import annotations

import numpy as np

from dp_cmdp._src.base.errors import ConvergenceError, SolverError
from dp_cmdp._src.base.validation import FloatArray, frozen
from dp_cmdp._src.cmdp.model import MDP
from dp_cmdp._src.cmdp.solvers.compiled import INFEASIBLE, SOLVED, Outcome, kernels
from dp_cmdp._src.cmdp.solvers.library import PolicyLibrary
from dp_cmdp._src.cmdp.solvers.occupancy_lp import solve_lp
from dp_cmdp._src.cmdp.solvers.solution import FEASIBILITY, Solution, infeasible, relative_gap

#: Models with more states are not handed to HiGHS.
LP_LIMIT = 20_000


class PolicyPool:
    """Policies of one MDP, and the solves they serve; it learns from each.

    What an answer is may depend on the policies that a pool has seen, so one that has seen private
    numbers must serve nothing that is published.
    """

    def __init__(self, mdp: MDP, *, capacity: int | None = None) -> None:
        self.mdp = mdp
        self.library = None if kernels() is None else PolicyLibrary(mdp, capacity=capacity)

    def learn(self, policies: np.ndarray, occupancies: FloatArray) -> None:
        """Take in policies with their exact occupancies."""
        if self.library is not None:
            for policy, y in zip(policies, occupancies, strict=True):
                self.library.insert(policy, y)

    def known(self, most: int) -> tuple[np.ndarray, FloatArray]:
        """The policies used last, with their occupancies, for :meth:`learn`."""
        if self.library is None:
            n = self.mdp.num_states
            return np.zeros((0, n), np.int32), np.zeros((0, n))
        last = self.library.last_used(most)
        return self.library.policies[last], self.library.occupancies[last]

    def solve(self, cost: FloatArray, limit: FloatArray, *, gap: float = 1e-8) -> Solution:
        """The best policy with costs (K, num_states, num_actions) of at most `limit`.

        Raises InfeasibleError with a proof if there is none, ConvergenceError if double precision
        does not decide. A gap above the one asked for is reported by the answer.
        """
        library, rows = self.library, len(limit)
        if library is None:
            return solve_lp(self.mdp, cost, limit)
        library.make_room()
        table, x = cost.reshape(rows, -1), np.zeros((library.shape[0], rows + 1))
        outcome = library.workspace.solve(table, limit, gap=gap, given=library.given(table), x=x)
        if outcome.status == SOLVED:
            library.touch(list(map(library.insert, outcome.policies, outcome.occupancies)))
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
        try:
            other = solve_lp(self.mdp, cost, limit)
        except SolverError:
            if found is None:
                raise
            return found
        return other if found is None or other.gap < found.gap else found

    def _solution(self, outcome: Outcome) -> Solution:
        assert self.library is not None
        scale = self.library.reward_scale
        return Solution(
            occupancy=frozen(outcome.measure),
            value=outcome.value,
            dual=frozen(outcome.multiplier),
            bound=outcome.bound,
            gap=relative_gap(outcome.bound, outcome.value, reward_scale=scale),
            engine="policies",
            iterations=outcome.steps,
            auxiliary=np.empty(0),
            policies=outcome.policies,
            occupancies=outcome.occupancies,
        )
