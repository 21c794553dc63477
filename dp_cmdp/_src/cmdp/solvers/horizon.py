"""The best policy over a horizon: backward passes, and no time-expanded program.

For a reward `income` one backward pass gives the best table of actions, a row per step, and for the
chosen actions alone what they cost: that is all a multiplier's subgradient needs. With one cost the
two supporting lines that meet at the limit are intersected until bound and value agree; with more
rows, :mod:`dp_cmdp._src.cmdp.solvers.row_columns` generates columns. A column is its income, its
value and what it puts into the rows; the tables of those that are mixed in the end are found anew.

**One mixed pair.** With one cost, every policy that plays the dear table before step t and the
cheap one from t on is best for the same multiplier. So steps are changed over one by one, then the
states of one step, and a single pair of step and state is drawn.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dp_cmdp._src.base.validation import FloatArray, frozen
from dp_cmdp._src.cmdp.episode import EpisodeChain
from dp_cmdp._src.cmdp.model import MDP
from dp_cmdp._src.cmdp.policy import Policy, Schedule, Step
from dp_cmdp._src.cmdp.solvers.occupancy_lp import FEASIBILITY, Solution, infeasible
from dp_cmdp._src.cmdp.solvers.steps import Stepper

#: Costs of so many rows are found on the way back; of more, from the visits of a pass forwards.
FEW_ROWS = 8
#: Intersections of supporting lines at most; usual are 6 to 20.
LINES = 100
#: Shift of the multiplier, relative, at which the dear and the cheap table are told apart.
APART = 1e-9

Table = NDArray[Any]


class Line(NamedTuple):
    """A policy's value and cost, and its table of actions."""

    value: float
    cost: float
    table: Table


class EpisodePool:
    """Policies of one MDP with a horizon, of which each is best for some income.

    `rows` (few, pairs) are costs found on the way back.
    """

    def __init__(self, mdp: MDP, rows: sparse.csr_array) -> None:
        self.mdp, self.shape, self.reward = mdp, mdp.r.shape, mdp.r.ravel()
        self.reward_scale = float(np.abs(self.reward).max())
        self.stepper = Stepper(mdp)
        few = 0 < rows.shape[0] <= FEW_ROWS
        self._costs = np.ascontiguousarray(rows.toarray().T) if few else np.empty((mdp.r.size, 0))
        #: The reward, then costs: what is found on the way back of a column.
        self._both = np.column_stack([self.reward, self._costs]) if few else self._costs
        self.values: list[float] = []
        self._incomes: list[FloatArray] = []
        self._rows: list[FloatArray] = []
        self._priced: tuple[FloatArray, Table, FloatArray] | None = None
        #: No places that mix, and their odds.
        self._pure = np.empty(0, np.int64), np.empty((0, self.shape[1]))

    def __len__(self) -> int:
        return len(self.values)

    def make_room(self) -> None:
        """Nothing is dropped: a pool serves one solve."""

    def back(self, income: FloatArray, costs: FloatArray) -> tuple[float, Table, FloatArray]:
        """The best value for an income, its table of actions, and what that costs."""
        table, value, paid = self.stepper.back(np.ascontiguousarray(income), costs)
        return float(self.mdp.start @ value), table, self.mdp.start @ paid

    def best(self, income: FloatArray) -> Policy:
        """The best policy for an income."""
        return self._plain(frozen(self.back(income, np.empty((income.size, 0)))[1]))

    def price(self, income: FloatArray, *, tolerance: float) -> float:
        """Find the best policy for an income (pairs,); what it earns, to rounding."""
        value, table, paid = self.back(income, self._both)
        self._priced = income, table, paid
        return value

    def take(self, names: NDArray[np.int64], weights: FloatArray) -> int:
        """Number of the policy priced last; no mixture is needed as a guess."""
        assert self._priced is not None
        income, table, paid = self._priced
        self._incomes.append(income)
        if paid.size:
            self.values.append(float(paid[0]))
            self._rows.append(paid[1:])
        else:
            x = self._chain(table).occupancy().ravel()
            self.values.append(float(self.reward @ x))
            self._rows.append(x)
        return len(self.values) - 1

    def row(self, A: sparse.csr_array, p: int) -> FloatArray:
        """A x of one policy."""
        return self._rows[p] if self._costs.shape[1] else A @ self._rows[p]

    def mixed(self, names: NDArray[np.int64], weights: FloatArray) -> dict[str, Any]:
        """What a solution says of a mixture."""
        order = np.argsort(-weights, kind="stable")
        none = np.empty((self.reward.size, 0))
        tables = [self.back(self._incomes[p], none)[1] for p in names[order]]
        policy, x = self._mixture(tables, weights[order])
        return {"occupancy": frozen(x), "policy": policy}

    def _chain(self, table: Table) -> EpisodeChain:
        return EpisodeChain(self.mdp, self._plain(table), self.stepper)

    def _plain(self, table: Table) -> Policy:
        return Policy._scheduled(Schedule(table, *self._pure), self.shape[1])

    def _mixture(self, tables: list[Table], weights: FloatArray) -> tuple[Policy, FloatArray]:
        """The Markov policy with the visits of a mixture, the heaviest table first; and these."""
        n, A = self.shape
        visits, x, weight = [w * self.mdp.start for w in weights], np.zeros(n * A), 1.0
        steps = []
        for t in range(self.mdp.horizon or 0):
            rows = [table[t] for table in tables]
            steps.append(_merged(rows, visits, A))
            visits = [self.stepper.visits(Step(row, *self._pure), own, x, weight)
                      for row, own in zip(rows, visits, strict=True)]  # fmt: skip
            weight *= self.mdp.gamma
        return Policy._scheduled(Schedule.of(steps), A), x.reshape(n, A)

    def solve(self, limit: float, *, gap: float) -> Solution:
        """The best policy that costs at most a limit."""
        cost, scale = self._costs.ravel(), self.reward_scale
        dear = self._line(0.0)
        upper, multiplier = dear.value, 0.0
        if dear.cost <= limit:
            return self._solution(self.best(self.reward), 0.0, upper)
        cheap = self._line(math.inf)
        size = FEASIBILITY * float(np.abs(cost).max()) * self.mdp.steps
        if cheap.cost > limit + size:
            raise infeasible(np.ones(1), cheap.cost - limit - 0.5 * size)
        for _ in range(LINES):
            at = (dear.value - cheap.value) / max(dear.cost - cheap.cost, size)
            value = dear.value - at * (dear.cost - limit)
            found = self._line(at)
            bound = found.value - at * (found.cost - limit)
            if bound < upper:
                upper, multiplier = bound, at
            if upper - value <= gap * (max(abs(value), scale) or 1.0):
                break
            if found.cost > limit:
                dear = found
            else:
                cheap = found
        above = self._line(multiplier * (1.0 - APART))
        below = self._line(multiplier * (1.0 + APART))
        dear = above if above.cost > limit else dear
        cheap = below if below.cost <= limit else cheap
        return self._solution(self._changed(dear.table, cheap.table, limit), multiplier, upper)

    def _line(self, multiplier: float) -> Line:
        """The best policy for a multiplier of the cost; at infinity, the cheapest."""
        cost = self._costs.ravel()
        if multiplier == math.inf:
            _, table, paid = self.back(-cost, self._both)
            return Line(float(paid[0]), float(paid[1]), table)
        net, table, paid = self.back(self.reward - multiplier * cost, self._costs)
        return Line(net + multiplier * float(paid[0]), float(paid[0]), table)

    def _changed(self, dear: Table, cheap: Table, limit: float) -> Policy:
        """The dear table up to a step and some of its states, the cheap one from there on."""
        first, last = 0, len(dear)  # changed over at `first` it keeps the limit, at `last` not
        while last - first > 1:
            t = (first + last) // 2
            kept = self._cost_of(np.concatenate([dear[:t], cheap[t:]])) <= limit
            first, last = (t, last) if kept else (first, t)
        return self._drawn(dear, cheap, first, limit)

    def _cost_of(self, table: Table) -> float:
        costs = self._costs.reshape(*self.shape)
        return float(self.mdp.start @ self._chain(table).table_values(costs))

    def _drawn(self, dear: Table, cheap: Table, t: int, limit: float) -> Policy:
        """Both tables, with step t between them: states one by one, one of them by a draw."""
        n, A = self.shape
        table = np.concatenate([dear[:t], cheap[t:]])
        ahead, visits = np.zeros((n, 1)), self.mdp.start
        for step in reversed(table[t + 1 :]):
            ahead = self.stepper.costs(Step(step, *self._pure), self._costs, ahead)
        for step in table[:t]:
            visits = self.mdp.gamma * self.stepper.visits(Step(step, *self._pure), visits)
        costs = [self.stepper.costs(Step(row, *self._pure), self._costs, ahead)[:, 0]
                 for row in (dear[t], cheap[t])]  # fmt: skip
        more = visits * (costs[0] - costs[1])
        left = limit - self._cost_of(table)
        order = np.argsort(-more, kind="stable")
        spent = np.cumsum(more[order])
        count = int(np.argmax(spent > left)) if (spent > left).any() else n - 1
        state, share = int(order[count]), left - (spent[count] - more[order[count]])
        table[t, order[:count]] = dear[t, order[:count]]
        odds = np.zeros((1, A))
        part = min(max(share / more[state], 0.0), 1.0) if more[state] > 0.0 else 0.0
        odds[0, dear[t, state]] += part
        odds[0, cheap[t, state]] += 1.0 - part
        table[t, state] = odds[0].argmax()
        mixed = np.array([t * n + state])[: int(0.0 < part < 1.0)]
        return Policy._scheduled(Schedule(frozen(table), mixed, odds[: mixed.size]), A)

    def _solution(self, policy: Policy, multiplier: float, bound: float) -> Solution:
        x = EpisodeChain(self.mdp, policy, self.stepper).occupancy()
        return Solution.of(self.mdp, x, np.array([multiplier]), bound, policy=policy)


def _merged(rows: list[Table], visits: list[FloatArray], num_actions: int) -> Step:
    """One step of a mixture: actions of the first table, odds where visited tables differ."""
    apart = np.zeros(rows[0].size, bool)
    for row in rows[1:]:
        apart |= row != rows[0]
    states = np.flatnonzero(apart)
    odds = np.zeros((states.size, num_actions))
    for row, own in zip(rows, visits, strict=True):
        np.add.at(odds, (np.arange(states.size), row[states]), own[states])
    total, actions = odds.sum(axis=1), rows[0].copy()
    states, odds = states[total > 0.0], odds[total > 0.0] / total[total > 0.0, None]
    actions[states] = odds.argmax(axis=1)
    mixed = np.count_nonzero(odds, axis=1) > 1
    return Step(actions, states[mixed], np.ascontiguousarray(odds[mixed]))
