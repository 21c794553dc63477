"""What a map shows, cell by cell: of a hazard grid, or of any environment whose states lie in one.

Everything is read from the public model: a wall is a cell without states, or one that nobody enters
and nothing leaves; a goal is a cell in which episodes end, unless it is a candidate.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dp_cmdp._src.base.validation import FloatArray
from dp_cmdp._src.cmdp.chain import chain_of
from dp_cmdp._src.cmdp.charges import ENTERING, acting_states, met_states
from dp_cmdp._src.cmdp.episode import EpisodeChain
from dp_cmdp._src.cmdp.model import MDP
from dp_cmdp._src.cmdp.policy import Policy
from dp_cmdp._src.data.affine import Affine

IntArray = NDArray[np.int64]
#: (dx, dy) of left, down, right, up on axes whose rows grow downwards.
ARROWS = np.array([(-1, 0), (0, 1), (1, 0), (0, -1)])


@dataclass(frozen=True, slots=True, eq=False)
class Kind:
    """Candidates of one private cost: the cell of each, and what it costs."""

    name: str
    cells: tuple[int, ...]
    price: Affine

    def interval(self, lower: FloatArray, upper: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Least and largest cost of each candidate over bounds of the database."""
        price = self.price
        ends = [price.coefficient * end[price.entry] for end in (lower, upper)]
        least, most = (price.constant.toarray().ravel() for _ in ends)
        np.add.at(least, price.row, np.minimum(*ends))
        np.add.at(most, price.row, np.maximum(*ends))
        return least, most


@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """Where the states of a problem lie; cells are numbered row·cols + col.

    Parameters
    ----------
    mdp : MDP
        Dynamics and rewards.
    shape : (int, int)
        Rows and columns.
    cells : int array
        The cell of each state.
    walls, goals, starts : tuple of int
        Cells.
    kinds : tuple of Kind
        The costs, each with its cells.
    """

    mdp: MDP
    shape: tuple[int, int]
    cells: IntArray
    walls: tuple[int, ...]
    goals: tuple[int, ...]
    starts: tuple[int, ...]
    kinds: tuple[Kind, ...]

    @classmethod
    def of(cls, problem: Any) -> Places | None:
        """The places of a problem; None where it is no grid.

        Parameters
        ----------
        problem : object
            Anything that a picture is asked of.

        Returns
        -------
        Places or None
            None where states are no cells of a grid.
        """
        shape, cells = _grid(problem)
        if shape is None or cells is None:
            return None
        mdp, count = problem.mdp, int(np.prod(shape))
        entered, acting, stays = met_states(mdp, on=ENTERING), acting_states(mdp), _stays(mdp)
        ends = entered & (~acting | stays)
        dead = stays & ~entered & ~acting
        alive = np.bincount(cells, ~dead[: cells.size], minlength=count) > 0
        kinds = _kinds(problem, cells)
        marked = {cell for kind in kinds for cell in kind.cells}
        likely = np.argsort(-mdp.start[: cells.size], kind="stable")
        return cls(
            mdp=mdp,
            shape=shape,
            cells=cells,
            walls=tuple(np.flatnonzero(~alive).tolist()),
            goals=tuple(sorted({*cells[ends[: cells.size]].tolist()} - marked)),
            starts=tuple(dict.fromkeys(cells[likely[: np.count_nonzero(mdp.start)]].tolist())),
            kinds=kinds,
        )

    @property
    def candidates(self) -> dict[int, int]:
        """Cells that may cost something, counted row by row."""
        cells = sorted({cell for kind in self.kinds for cell in kind.cells})
        return {cell: number for number, cell in enumerate(cells, start=1)}

    def shares(self, lower: FloatArray, upper: FloatArray) -> FloatArray:
        """The worst cost of each cell by kind, in shares of the worst within the public bounds.

        Parameters
        ----------
        lower, upper : float array
            Bounds of the private numbers.

        Returns
        -------
        (kinds, cells) float array
            Between 0 and 1.
        """
        found = np.zeros((len(self.kinds), int(np.prod(self.shape))))
        for row, kind in zip(found, self.kinds, strict=True):
            envelope = kind.price.envelope
            public = kind.interval(envelope.lower, envelope.upper)[1]
            worst = kind.interval(lower, upper)[1]
            share = np.divide(worst, public, out=np.zeros_like(worst), where=public > 0.0)
            np.maximum.at(row, list(kind.cells), np.clip(share, 0.0, 1.0))
        return found


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """A policy on its grid: visits (NaN where none are shown), arrows, likeliest path.

    Parameters
    ----------
    places : Places
        The grid.
    visits : (cells,) float array
        Expected visits, discounted or per episode; of one step, probabilities.
    weights : (cells, 4) float array
        Lengths of the arrows to the left, down, right and up.
    path : tuple of int
        Cells of the likeliest path.
    """

    places: Places
    visits: FloatArray
    weights: FloatArray
    path: tuple[int, ...]

    @classmethod
    def of(cls, places: Places, policy: Policy, step: int | None = None) -> View:
        """The view of a policy; several states of one cell are shown as one.

        Parameters
        ----------
        places : Places
            The grid.
        policy : Policy
            Of the states of the grid.
        step : int, optional
            Show what a policy that knows the time does at this step, not on average.

        Returns
        -------
        View
            What the picture shows.
        """
        cells, count = places.cells, int(np.prod(places.shape))
        table, pairs = _played(places.mdp, policy, step)
        visits = np.bincount(cells, pairs.sum(axis=1)[: cells.size], minlength=count).astype(float)
        hidden = [*places.goals, *places.walls]
        visits[hidden] = np.nan
        weights = _arrows(places, table, pairs)
        weights[hidden] = 0.0
        path = () if step is not None else _followed(places, weights)
        return cls(places, visits, weights, path)


def _played(mdp: MDP, policy: Policy, step: int | None) -> tuple[FloatArray, FloatArray]:
    """Probabilities and visits of pairs, at one step or at all."""
    chain = chain_of(mdp, policy)
    if step is None or not isinstance(chain, EpisodeChain):
        pairs = chain.occupancy()
        if policy.horizon is None:
            return policy.probabilities, pairs
        visits, first = pairs.sum(axis=1, keepdims=True), policy._step(0).table(mdp.num_actions)
        return np.divide(pairs, visits, out=first, where=visits > 0.0), pairs
    table = policy._step(step).table(mdp.num_actions)
    return table, next(islice(chain.visits(), step, None))[:, None] * table


def _grid(problem: Any) -> tuple[tuple[int, int] | None, IntArray | None]:
    """Shape of the grid, and the cell of each state but the one after the end."""
    layout, known = getattr(problem, "layout", None), getattr(problem, "environment", None)
    if layout is not None:
        return (layout.rows, layout.cols), np.arange(layout.rows * layout.cols)
    if known is None or known.cells is None:
        return None, None
    return known.shape, known.cells[:, 0] * known.shape[1] + known.cells[:, 1]


def _kinds(problem: Any, cells: IntArray) -> tuple[Kind, ...]:
    parts = problem.constraints
    found = []
    for name, places, price in zip(problem.names, parts.candidates, parts.prices, strict=True):
        if places is not None and places.actions is None and (places.states < cells.size).all():
            _, first = np.unique(places.owner, return_index=True)
            found.append(Kind(name, tuple(cells[places.states[first]].tolist()), price))
    return tuple(found)


def _stays(mdp: MDP) -> NDArray[np.bool_]:
    """States that no action leaves."""
    moves: Any = mdp.T.tocoo()
    own = moves.row // mdp.num_actions == moves.col
    kept = np.bincount(moves.col[own], moves.data[own], minlength=mdp.num_states)
    return kept > mdp.num_actions - 1e-9


def _arrows(places: Places, table: FloatArray, pairs: FloatArray) -> FloatArray:
    """Lengths of the arrows of each cell, from its moves to the cells beside it.

    Where a cell is one state: probabilities of the actions, each in the direction in which it leads
    most. Where it is several: where they leave it to, as shares of all moves out of it.
    """
    cells, cols, actions = places.cells, places.shape[1], places.mdp.num_actions
    moves: Any = places.mdp.arrivals.tocoo()
    inside = (moves.row < cells.size * actions) & (moves.col < cells.size)
    pair, chance = moves.row[inside], moves.data[inside]
    before, after = cells[pair // actions], cells[moves.col[inside]]
    step = np.stack([after % cols - before % cols, after // cols - before // cols], axis=1)
    match = (ARROWS[:, None, :] == step).all(axis=2)
    toward, near = match.argmax(axis=0), match.any(axis=0)
    weights = np.zeros((int(np.prod(places.shape)), len(ARROWS)))
    if np.unique(cells).size < cells.size:
        np.add.at(weights, (before[near], toward[near]), (pairs.ravel()[pair] * chance)[near])
        total = weights.sum(axis=1, keepdims=True)
        return np.divide(weights, total, out=np.zeros_like(weights), where=total > 0.0)
    for action in range(actions):
        mine = near & (pair % actions == action)
        share = np.bincount(toward[mine], chance[mine], minlength=len(ARROWS))
        ahead = share - share[[2, 3, 0, 1]]  # less what goes the opposite way
        if ahead.max() > 0.0:
            weights[cells, int(ahead.argmax())] += table[: cells.size, action]
    return weights


def _followed(places: Places, weights: FloatArray) -> tuple[int, ...]:
    """From the likeliest start along the longest arrow of each cell."""
    (rows, cols), last = places.shape, {*places.goals, *places.walls}
    path = [places.starts[0]]
    while path[-1] not in last and weights[path[-1]].any():
        row, col = divmod(path[-1], cols)
        dx, dy = ARROWS[int(weights[path[-1]].argmax())]
        following = int((row + dy) * cols + col + dx)
        inside = 0 <= row + dy < rows and 0 <= col + dx < cols
        if not inside or following in path:
            break
        path.append(following)
    return tuple(path)
