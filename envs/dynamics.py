"""How a hazard grid moves, pays and costs: the one table that is both simulated and optimised.

From cell s, action a leads to its own direction with probability 1 − slip and to each of the two
directions at right angles with probability slip/2; a wall or the border leaves the agent in s.
Goals (and walls, which nobody enters) are absorbing and free. At the level of pairs,

    r(s, a) = step_reward + goal_reward · P(next is a goal | s, a),   f_i(s, a) = severity_i(s),

and r = f = 0 in absorbing cells. A step of the environment samples its successor from the same row
of T, pays ``step_reward``, plus ``goal_reward`` if that successor is a goal (mean r(s, a)), and
costs the severity of the cell in which the action was *taken*: Σ γ^t cost_t is the CMDP's cost.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.sparse.linalg import spsolve

from dp_cmdp._src.base import validation as check
from dp_cmdp._src.base.validation import FloatArray, validated
from dp_cmdp._src.cmdp.costs import PrivateCost, constraints_of
from dp_cmdp._src.cmdp.model import MDP
from dp_cmdp._src.cmdp.parametric import ParametricCMDP
from dp_cmdp._src.data.envelope import Envelope
from dp_cmdp.envs.layout import MOVES, HazardKind, Layout

NUM_ACTIONS = len(MOVES)
#: What a cautious policy would pay in cost to save a step: it does not stand still for ever.
STEP_PRICE = 0.1
#: Policy iteration stops when no action improves by more than this.
IMPROVEMENT = 1e-10


class GridCMDP(ParametricCMDP):
    """A ParametricCMDP that knows the grid it was made of (`layout`): its pictures are maps."""

    layout: Layout


class GridModel:
    """Transitions, rewards and cost positions of a layout.

    Parameters
    ----------
    layout : Layout
        The public grid.

    Attributes
    ----------
    T : (num_states·4, num_states) sparse array
    levels : float array
        Cumulative sums of each row of T, beside its data.
    r : (num_states, 4) float array
        Expected reward of each pair.
    absorbing : (num_states,) bool array
        Goals and walls.
    kinds, cells : int arrays
        The constraint of each candidate, and its state.

    Notes
    -----
    **Paper.** ``app:cmdp``. **Privacy.** *Public*.

    Examples
    --------
    >>> from dp_cmdp.envs import GridModel, named_layout
    >>> GridModel(named_layout("corridor")).T.shape
    (180, 45)
    """

    @validated
    def __init__(self, layout: Layout) -> None:
        absorbing = np.zeros(layout.num_cells, dtype=bool)
        absorbing[[*layout.goals, *layout.walls]] = True
        goal = np.zeros(layout.num_cells)
        goal[list(layout.goals)] = layout.goal_reward
        self.layout, self.absorbing = layout, check.frozen(absorbing)
        self.T = check.frozen_sparse(_transitions(layout, absorbing))
        self.levels = check.frozen(_levels(self.T))
        r = layout.step_reward + (self.T @ goal).reshape(-1, NUM_ACTIONS)
        r[absorbing] = 0.0
        self.r = check.frozen(r)
        kinds = np.repeat(np.arange(layout.num_kinds), [len(kind.cells) for kind in layout.kinds])
        self.kinds = check.frozen(kinds)
        self.cells = check.frozen(np.concatenate([np.array(kind.cells) for kind in layout.kinds]))

    @property
    def num_states(self) -> int:
        """Number of states: one per cell."""
        return self.r.shape[0]

    def cost_table(self, severity: ArrayLike | None = None) -> FloatArray:
        """Cost of a step spent in each state, (num_kinds, num_states), for given severities.

        Parameters
        ----------
        severity : array_like, optional
            One number per candidate, kind by kind; by default the public upper bounds.

        Returns
        -------
        (num_kinds, num_states) float array
            0 where there is no candidate.
        """
        table = np.zeros((self.layout.num_kinds, self.num_states))
        if severity is None:
            severity = np.array([kind.severity[1] for kind in self.layout.kinds])[self.kinds]
        table[self.kinds, self.cells] = severity
        return check.frozen(table)

    def _cost(self, kind: HazardKind) -> PrivateCost:
        """What is private of a kind of hazard, as public structure."""
        return PrivateCost(
            cells=[divmod(cell, self.layout.cols) for cell in kind.cells],
            on="occupying",
            cost=Envelope(*kind.severity, radius=kind.severity_radius),
            limit=Envelope(*kind.limit, radius=kind.limit_radius),
        )

    def parametric(self, **criterion: Any) -> ParametricCMDP:
        """The constrained MDP as a function of the private database; it knows its `layout`.

        Parameters
        ----------
        **criterion : object
            `gamma`, `horizon` or `total` of :class:`ParametricCMDP`; else the layout's discount.

        Returns
        -------
        ParametricCMDP
            The public model.
        """
        layout, cols = self.layout, self.layout.cols
        said = {name: value for name, value in criterion.items() if value not in (None, False)}
        said = said or {"gamma": layout.gamma}
        mdp = MDP(self.T, self.r, **said, start=layout.start_distribution)
        costs = {kind.name: self._cost(kind) for kind in layout.kinds}
        at = lambda row, col: np.array([row * cols + col])  # noqa: E731
        kinds = costs if len(costs) > 1 else next(iter(costs.values()))
        model = GridCMDP._made(mdp, constraints_of(mdp, kinds, at))
        model.layout = layout
        return model

    def sample(self, state: int, action: int, *, rng: np.random.Generator) -> int:
        """Draw a successor from the row of T.

        Parameters
        ----------
        state, action : int
            Where the agent is and what it does.
        rng : numpy.random.Generator
            The source of randomness.

        Returns
        -------
        int
            The next state.
        """
        pair = state * NUM_ACTIONS + action
        first, last = self.T.indptr[pair], self.T.indptr[pair + 1] - 1
        place = bisect_right(self.levels, rng.random() * self.levels[last], first, last)
        return int(self.T.indices[place])

    def _cautious_costs(self) -> FloatArray:
        """Worst-case discounted cost of each kind under a policy that goes to the goal with care.

        The policy minimises the sum of the worst-case costs plus a price per step. A limit that is
        publicly at least this large can be met whatever the database is.
        """
        table = self.cost_table()
        priced = np.vstack([table, np.where(self.absorbing, 0.0, STEP_PRICE)])
        policy, states = np.zeros(self.num_states, dtype=np.int64), np.arange(self.num_states)
        while True:
            pairs = states * NUM_ACTIONS + policy
            system = sparse.eye_array(self.num_states) - self.layout.gamma * self.T[pairs]
            value = spsolve(sparse.csc_array(system), priced.T).reshape(self.num_states, -1)
            total = (self.T @ value.sum(axis=1)).reshape(-1, NUM_ACTIONS)
            better = total.argmin(axis=1)
            improve = total[states, policy] - total[states, better] > IMPROVEMENT
            if not improve.any():
                return self.layout.start_distribution @ value[:, :-1]
            policy = np.where(improve, better, policy)


def _levels(T: sparse.csr_array) -> FloatArray:
    return np.concatenate([np.cumsum(row) for row in np.split(T.data, T.indptr[1:-1])])


def _transitions(layout: Layout, absorbing: NDArray[np.bool_]) -> sparse.csr_array:
    pairs, targets, chances = [], [], []
    turns = ((0, 1.0 - layout.slip), (1, layout.slip / 2), (3, layout.slip / 2))
    for cell in range(layout.num_cells):
        for action in range(NUM_ACTIONS):
            for turn, chance in turns:
                toward = (action + turn) % NUM_ACTIONS
                pairs.append(cell * NUM_ACTIONS + action)
                targets.append(cell if absorbing[cell] else layout.neighbour(cell, toward))
                chances.append(chance)
    shape = (layout.num_cells * NUM_ACTIONS, layout.num_cells)
    T = sparse.csr_array((np.array(chances), (np.array(pairs), np.array(targets))), shape=shape)
    T.sum_duplicates()
    T.eliminate_zeros()
    return T
