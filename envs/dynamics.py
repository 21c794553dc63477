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
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.sparse.linalg import spsolve

from dp_cmdp import _check
from dp_cmdp._check import FloatArray
from dp_cmdp._door import door
from dp_cmdp.cmdp.model import CMDP
from dp_cmdp.cmdp.parametric import ParametricCMDP
from dp_cmdp.data.affine import Affine
from dp_cmdp.envs.layout import MOVES, Layout

NUM_ACTIONS = len(MOVES)
#: What a cautious policy would pay in cost to save a step: it does not stand still for ever.
STEP_PRICE = 0.1
#: Policy iteration stops when no action improves by more than this.
IMPROVEMENT = 1e-10


@dataclass(frozen=True, slots=True, eq=False)
class GridModel:
    """Transitions, rewards and cost positions of a layout.

    Attributes
    ----------
    layout : Layout
    T : csr_array, (num_states·4, num_states)
    levels : (number of non-zeros of T,)
        Cumulative sums of each row of T, beside its data.
    r : (num_states, 4)
        Expected reward of each pair.
    absorbing : (num_states,) bool
        Goals and walls.
    kinds, cells : (num_candidates,) int
        Which constraint and which state the k-th severity of the database belongs to.

    Notes
    -----
    **Paper.** ``app:cmdp``. **Privacy.** *Public*.

    Examples
    --------
    >>> from dp_cmdp.envs import GridModel, named_layout
    >>> grid = GridModel(named_layout("corridor"))
    >>> grid.T.shape, grid.r.shape
    ((180, 45), (45, 4))
    """

    layout: Layout
    T: sparse.csr_array
    levels: FloatArray
    r: FloatArray
    absorbing: NDArray[np.bool_]
    kinds: NDArray[np.int64]
    cells: NDArray[np.int64]

    @door
    def __init__(self, layout: Layout) -> None:
        absorbing = np.zeros(layout.num_cells, dtype=bool)
        absorbing[[*layout.goals, *layout.walls]] = True
        T = _transitions(layout, absorbing)
        goal = np.zeros(layout.num_cells)
        goal[list(layout.goals)] = layout.goal_reward
        r = layout.step_reward + (T @ goal).reshape(-1, NUM_ACTIONS)
        r[absorbing] = 0.0
        kinds = np.repeat(np.arange(layout.num_kinds), [len(kind.cells) for kind in layout.kinds])
        cells = np.concatenate([np.array(kind.cells) for kind in layout.kinds])
        for name, value in (
            ("layout", layout),
            ("T", _check.frozen_sparse(T)),
            ("levels", _check.frozen(_levels(T))),
            ("r", _check.frozen(r)),
            ("absorbing", _check.frozen(absorbing)),
            ("kinds", _check.frozen(kinds)),
            ("cells", _check.frozen(cells)),
        ):
            object.__setattr__(self, name, value)

    @property
    def num_states(self) -> int:
        return self.r.shape[0]

    @door
    def cost_table(self, severity: ArrayLike) -> FloatArray:
        """Cost of a step spent in each state, (num_kinds, num_states), for given severities.

        Examples
        --------
        >>> from dp_cmdp.envs import GridModel, parse_map
        >>> grid = GridModel(parse_map("S?G"))
        >>> grid.cost_table([0.7])  # one kind of hazard, three cells
        array([[0. , 0.7, 0. ]])
        """
        table = np.zeros((self.layout.num_kinds, self.num_states))
        table[self.kinds, self.cells] = _check.vector(
            "severity", severity, size=self.cells.size, private=True
        )
        return _check.frozen(table)

    def worst_cost_table(self) -> FloatArray:
        """:meth:`cost_table` with every severity at its public upper bound."""
        return self.cost_table([self.layout.kinds[kind].severity[1] for kind in self.kinds])

    @door
    def cmdp(self, severity: ArrayLike, *, tolerance: ArrayLike) -> CMDP:
        """The constrained MDP with given severities and tolerances.

        Examples
        --------
        >>> from dp_cmdp.envs import GridModel, parse_map
        >>> grid = GridModel(parse_map("S?G"))
        >>> grid.cmdp([0.7], tolerance=[0.8])
        CMDP(num_states=3, num_actions=4, num_constraints=1, gamma=0.95)
        """
        f = np.repeat(self.cost_table(severity)[:, :, None], NUM_ACTIONS, axis=2)
        layout = self.layout
        return CMDP(self.T, self.r, f=f, f0=tolerance, mu=layout.mu, gamma=layout.gamma)

    def parametric(self) -> ParametricCMDP:
        """The constrained MDP as a function of the private database.

        Notes
        -----
        **Paper.** ``opt:MDP-D``. **Privacy.** *Public*.

        Examples
        --------
        >>> from dp_cmdp.envs import GridModel, parse_map
        >>> GridModel(parse_map("S?G")).parametric().envelope
        Envelope(severity[1], tolerance[1], record_size=1)
        """
        layout, envelope = self.layout, self.layout.envelope()
        K, actions = layout.num_kinds, np.arange(NUM_ACTIONS)
        columns = (self.cells[:, None] * NUM_ACTIONS + actions).ravel()
        return ParametricCMDP(
            envelope,
            T=self.T,
            r=self.r,
            mu=layout.mu,
            gamma=layout.gamma,
            cost=Affine(
                (K, self.num_states * NUM_ACTIONS),
                at=(np.repeat(self.kinds, NUM_ACTIONS), columns),
                entry=np.repeat(envelope.index("severity"), NUM_ACTIONS),
            ),
            tolerance=Affine(K, at=np.arange(K), entry=envelope.index("tolerance")),
            names=[kind.name for kind in layout.kinds],
        )

    def sample(self, state: int, action: int, *, rng: np.random.Generator) -> int:
        """Draw a successor from the row of T."""
        pair = state * NUM_ACTIONS + action
        first, last = self.T.indptr[pair], self.T.indptr[pair + 1] - 1
        place = bisect_right(self.levels, rng.random() * self.levels[last], first, last)
        return int(self.T.indices[place])

    @door
    def cautious_costs(self, step_price: float = STEP_PRICE) -> FloatArray:
        """Worst-case discounted cost of each kind under a policy that goes to the goal with care.

        The policy minimises the sum of the worst-case costs plus `step_price` per step. A tolerance
        that is publicly at least this large can be met whatever the database is.
        """
        step_price = _check.real("step_price", step_price, low=0.0, high=1e6)
        table = self.worst_cost_table()
        priced = np.vstack([table, np.where(self.absorbing, 0.0, step_price)])
        policy = np.zeros(self.num_states, dtype=np.int64)
        while True:
            value = self._values(policy, priced)
            total = (self.T @ value.sum(axis=1)).reshape(-1, NUM_ACTIONS)
            better = total.argmin(axis=1)
            states = np.arange(self.num_states)
            improve = total[states, policy] - total[states, better] > IMPROVEMENT
            if not improve.any():
                return self.layout.mu @ value[:, :-1]
            policy = np.where(improve, better, policy)

    def _values(self, policy: NDArray[np.int64], table: FloatArray) -> FloatArray:
        """(num_states, num_kinds) discounted costs of a deterministic policy."""
        rows = np.arange(self.num_states) * NUM_ACTIONS + policy
        system = sparse.eye_array(self.num_states) - self.layout.gamma * self.T[rows]
        solved = spsolve(sparse.csc_array(system), table.T)
        return np.asarray(solved).reshape(self.num_states, -1)


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
