"""What a picture of a policy shows, cell by cell: of a hazard grid, or of any imported grid."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dp_cmdp import _check
from dp_cmdp._check import FloatArray
from dp_cmdp.cmdp.policy import Policy
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.frontends.kinds import group_of
from dp_cmdp.frontends.private_costs import TabularCMDP
from dp_cmdp.frontends.tabular import TabularModel

if TYPE_CHECKING:
    from dp_cmdp.envs.layout import Layout

#: (dx, dy) of left, down, right, up on axes whose rows grow downwards.
ARROWS = np.array([(-1, 0), (0, 1), (1, 0), (0, -1)])


@dataclass(frozen=True, slots=True, eq=False)
class GridView:
    """Cells are numbered row·cols + col.

    Attributes
    ----------
    walls, goals, candidates : tuple of int
    starts : tuple of (int, float)
    visits : (num_cells,)
        Discounted visits; NaN where none are shown.
    weights : (num_cells, 4)
        Length of the arrows to the left, down, right and up.
    path : tuple of int
        The likeliest way from the start.
    kinds : mapping of str to tuple of int
        The candidates of each kind of hazard, by its name.
    entries : mapping of str to tuple of int
        The cell of each private severity, by the name of its group in a release.
    entry_kinds : mapping of str to tuple of str
        The kind of hazard of each of them, likewise.
    """

    rows: int
    cols: int
    walls: tuple[int, ...]
    goals: tuple[int, ...]
    candidates: tuple[int, ...]
    starts: tuple[tuple[int, float], ...]
    visits: FloatArray
    weights: FloatArray
    path: tuple[int, ...]
    kinds: Mapping[str, tuple[int, ...]]
    entries: Mapping[str, tuple[int, ...]]
    entry_kinds: Mapping[str, tuple[str, ...]]


def policy_view(
    layout: Layout | TabularModel | TabularCMDP, policy: Policy, occupancy: ArrayLike
) -> GridView:
    """The view of a policy, or a refusal of what does not fit the grid."""
    if isinstance(layout, TabularModel):
        return _imported_view(layout, {}, policy, occupancy)
    if isinstance(layout, TabularCMDP):
        parts = zip(layout.kinds, layout.candidates, strict=True)
        places = {name: part for name, part in parts if part.actions is None}
        states = {name: part.states for name, part in places.items()}
        view = _imported_view(layout.source, states, policy, occupancy)
        private = {name for name, _ in layout.envelope.groups}
        entries: dict[str, tuple[int, ...]] = {}
        owners: dict[str, tuple[str, ...]] = {}
        for name, part in places.items():
            if (group := group_of(layout.kinds, name, "severity")) in private:
                _, first = np.unique(part.owner, return_index=True)
                entries[group] = tuple(view.kinds[name][k] for k in first)
                owners[group] = (name,) * len(first)
        return replace(view, entries=entries, entry_kinds=owners)
    return _layout_view(layout, policy, occupancy)


def _layout_view(layout: Layout, policy: Policy, occupancy: ArrayLike) -> GridView:
    pairs = _check.array("occupancy", occupancy)
    if pairs.shape != (layout.num_cells, len(ARROWS)):
        raise InvalidArgumentError("occupancy must have one row per cell, one column per action")
    if policy.probs.shape != pairs.shape:
        raise InvalidArgumentError("policy must have one row per cell, one column per action")
    path = [max(layout.starts, key=lambda start: start[1])[0]]
    while path[-1] not in layout.goals:
        following = layout.neighbour(path[-1], int(np.argmax(policy.probs[path[-1]])))
        if following in path:
            break
        path.append(following)
    return GridView(
        rows=layout.rows,
        cols=layout.cols,
        walls=tuple(layout.walls),
        goals=tuple(layout.goals),
        candidates=layout.candidates,
        starts=layout.starts,
        visits=_hidden(pairs.sum(axis=1), layout.goals, layout.walls),
        weights=policy.probs,
        path=tuple(path),
        kinds={kind.name: tuple(kind.cells) for kind in layout.kinds},
        entries={"severity": tuple(cell for kind in layout.kinds for cell in kind.cells)},
        entry_kinds={"severity": tuple(kind.name for kind in layout.kinds for _ in kind.cells)},
    )


def _imported_view(
    model: TabularModel, candidates: Mapping[str, Any], policy: Policy, occupancy: ArrayLike
) -> GridView:
    """Several states of one cell are shown as one."""
    if model.cells is None or model.shape is None:
        raise InvalidArgumentError(
            "layout must have a grid: import the environment with cell=lambda key: (row, col)"
        )
    rows, cols = model.shape
    cells = model.cells[:, 0] * cols + model.cells[:, 1]
    if policy.probs.shape != model.public.r.shape:
        raise InvalidArgumentError(f"policy must have probs of shape {model.public.r.shape}")
    pairs = _check.array("occupancy", occupancy)
    if pairs.shape != policy.probs.shape:
        raise InvalidArgumentError(f"occupancy must have the shape {policy.probs.shape}")
    counts: Any = np.bincount(cells, pairs.sum(axis=1)[: cells.size], minlength=rows * cols)
    kinds = {name: tuple(cells[states].tolist()) for name, states in candidates.items()}
    marked = {cell for part in kinds.values() for cell in part}
    goals = tuple(sorted({int(cells[state]) for state in model.ends} - marked))
    walls = tuple(sorted(set(range(rows * cols)) - set(cells.tolist())))
    single = np.unique(cells).size == cells.size
    weights = _chosen(model, cells, policy) if single else _left(model, cells, pairs)
    mu = model.public.mu[: cells.size]
    starts = {int(cells[s]): float(mu[cells == cells[s]].sum()) for s in np.flatnonzero(mu)}
    return GridView(
        rows=rows,
        cols=cols,
        walls=walls,
        goals=goals,
        candidates=tuple(sorted(marked)),
        starts=tuple(starts.items()),
        visits=_hidden(counts, goals, walls),
        weights=weights,
        path=_followed(
            max(starts, key=starts.__getitem__), weights, (rows, cols), {*goals, *walls}
        ),
        kinds=kinds,
        entries={},
        entry_kinds={},
    )


def _hidden(visits: FloatArray, goals: Any, walls: Any) -> FloatArray:
    """Visits without those of goals and walls, which are not coloured."""
    visits[[*goals, *walls]] = np.nan
    return visits


def _steps(model: TabularModel, cells: NDArray[np.int64]) -> tuple[Any, Any, Any, Any]:
    """Every move to an adjacent cell: its pair, cell, direction and probability."""
    moves: Any = model.public.arrivals.tocoo()
    inside = (moves.row < cells.size * model.num_actions) & (moves.col < cells.size)
    pair, entered, chance = moves.row[inside], moves.col[inside], moves.data[inside]
    state = pair // model.num_actions
    assert model.cells is not None
    rows, cols = (model.cells[entered] - model.cells[state]).T
    match = (ARROWS[:, 0, None] == cols) & (ARROWS[:, 1, None] == rows)
    near = match.any(axis=0)
    return pair[near], cells[state][near], match.argmax(axis=0)[near], chance[near]


def _chosen(model: TabularModel, cells: NDArray[np.int64], policy: Policy) -> FloatArray:
    """Probabilities of the actions, each in the direction in which it leads most."""
    pair, _, toward, chance = _steps(model, cells)
    action = pair % model.num_actions
    weights = np.zeros((int(np.prod(model.shape or (0, 0))), len(ARROWS)))
    for number in range(model.num_actions):
        mine = action == number
        share = np.bincount(toward[mine], chance[mine], minlength=len(ARROWS))
        opposite = share - share[[2, 3, 0, 1]]
        if opposite.max() > 0.0:
            weights[cells, int(opposite.argmax())] += policy.probs[: cells.size, number]
    return weights


def _left(model: TabularModel, cells: NDArray[np.int64], pairs: FloatArray) -> FloatArray:
    """Where each cell is left to, as shares of all moves out of it."""
    pair, cell, toward, chance = _steps(model, cells)
    weights = np.zeros((int(np.prod(model.shape or (0, 0))), len(ARROWS)))
    np.add.at(weights, (cell, toward), pairs.ravel()[pair] * chance)
    total = weights.sum(axis=1, keepdims=True)
    return np.divide(weights, total, out=np.zeros_like(weights), where=total > 0.0)


def _followed(
    start: int, weights: FloatArray, shape: tuple[int, int], last: set[int]
) -> tuple[int, ...]:
    """Along the longest arrow of each cell."""
    path = [start]
    while path[-1] not in last and weights[path[-1]].any():
        row, col = divmod(path[-1], shape[1])
        dx, dy = ARROWS[int(weights[path[-1]].argmax())]
        inside = 0 <= row + dy < shape[0] and 0 <= col + dx < shape[1]
        following = int((row + dy) * shape[1] + col + dx)
        if not inside or following in path:
            break
        path.append(following)
    return tuple(path)
