"""What is public of a hazard grid: its geometry, its dynamics and bounds of its private numbers.

Cells are numbered row·cols + col and are the states of the CMDP. What is *not* here is which
candidate cells are hazardous, how severe they are and how much of it is allowed: that is the
private database (:mod:`dp_cmdp.envs.hazards`), of which a layout knows only the public bounds

    severity_k ∈ [lo, hi] for each candidate cell of each kind,  limit_i ∈ [inf, sup] per kind,

and the radius by which an entry may differ between adjacent databases.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from dp_cmdp._src.base import validation as check
from dp_cmdp._src.base.errors import InvalidArgumentError
from dp_cmdp._src.base.validation import FloatArray
from dp_cmdp._src.data.envelope import whole_range

Interval = tuple[float, float]
Start = int | Sequence[int] | Sequence[tuple[int, float]] | Mapping[int, float]
#: Row and column step of each action: left, down, right, up.
MOVES = ((0, -1), (1, 0), (0, 1), (-1, 0))
ROUNDING = 1e-9
#: Larger grids are beyond what the solvers here can do.
MOST_CELLS = 10**7


@dataclass(frozen=True, slots=True, kw_only=True)
class HazardKind:
    """One kind of hazard: where it may be and how bad it may be. One constraint of the CMDP.

    Parameters
    ----------
    name : str
        Names the constraint where there are several kinds.
    cells : iterable of int
        Public candidate cells; everywhere else this kind costs nothing, publicly.
    severity : (float, float)
        Public bounds of the cost of a step spent in a hazard.
    severity_radius : float, optional
        How far one severity may move between adjacent databases; by default anywhere in its bounds.
    limit : (float, float)
        Public bounds of the highest cost that is allowed, discounted or per episode.
    limit_radius : float, optional
        As `severity_radius`, of the limit.

    Notes
    -----
    **Paper.** β_s and f_0 of ``app:cmdp``; sup A(D) = ``severity[1]``, inf b(D) = ``limit[0]``.
    **Privacy.** *Public*.

    Examples
    --------
    Cells 3 and 4 may be icy; a step spent there costs between 0 and 2:

    >>> from dp_cmdp.envs import HazardKind
    >>> ice = HazardKind(name="ice", cells=[3, 4], severity=(0, 2), limit=(1, 3))
    >>> ice.severity_radius  # by default anywhere in the bounds
    2.0
    """

    name: str = "hazard"
    cells: Sequence[int]
    severity: Interval = (0.0, 1.0)
    severity_radius: float | None = None
    limit: Interval = (0.5, 1.0)
    limit_radius: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise InvalidArgumentError("the name of a hazard kind must be a non-empty text")
        listed = check.items(f"{self.name}: cells", self.cells)
        cells = tuple(sorted(check.integer(f"{self.name}: cell", cell) for cell in listed))
        if not cells:
            raise InvalidArgumentError(
                f"kind {self.name!r} must have at least one candidate cell ('?' in a map)"
            )
        if len(set(cells)) != len(cells):
            raise InvalidArgumentError(f"kind {self.name!r} must not name a candidate cell twice")
        object.__setattr__(self, "cells", cells)
        for part in ("severity", "limit"):
            bounds = _interval(f"{self.name}: {part}", getattr(self, part))
            width = float(whole_range(np.array(bounds[0]), np.array(bounds[1])))
            radius = getattr(self, f"{part}_radius")
            name = f"{self.name}: {part}_radius"
            radius = width if radius is None else check.real(name, radius, high=width)
            if radius <= 0:
                raise InvalidArgumentError(f"{name} must be positive, got {radius:g}")
            object.__setattr__(self, part, bounds)
            object.__setattr__(self, f"{part}_radius", radius)


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """A hazard grid, as everybody may know it.

    Parameters
    ----------
    rows, cols : int
        Size of the grid.
    kinds : iterable of HazardKind
        The hazard kinds, one constraint each.
    goals : iterable of int
        Absorbing cells: entering one pays `goal_reward` and ends the episode.
    start : int, iterable of int, or mapping of int to float
        A cell, several equally likely cells, or a distribution over cells.
    walls : iterable of int
        Cells that cannot be entered.
    slip : float
        Probability of moving at right angles to the chosen direction (half of it to each side).
    gamma : float
        Discount, 0 ≤ γ < 1.
    step_reward, goal_reward : float
        Paid for every step, and for the step that enters a goal.
    name : str
        Of the layout.

    Notes
    -----
    **Paper.** ``app:cmdp``. **Privacy.** *Public*.

    Examples
    --------
    >>> from dp_cmdp.envs import HazardKind, Layout
    >>> kind = HazardKind(cells=[1], severity=(0, 1), limit=(0.5, 1))
    >>> layout = Layout(rows=2, cols=3, kinds=[kind], goals=[2], start=0)
    >>> layout.candidates
    (1,)
    """

    rows: int
    cols: int
    kinds: Sequence[HazardKind]
    goals: Sequence[int]
    start: Start
    walls: Sequence[int] = ()
    slip: float = 0.1
    gamma: float = 0.95
    step_reward: float = -1.0
    goal_reward: float = 20.0
    name: str = "custom"

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "name", check.text("name", self.name))
        put(self, "rows", check.integer("rows", self.rows, low=1, high=MOST_CELLS))
        put(self, "cols", check.integer("cols", self.cols, low=1, high=MOST_CELLS // self.rows))
        put(self, "slip", check.real("slip", self.slip, low=0.0, high=1.0))
        put(self, "gamma", check.real("gamma", self.gamma, low=0.0))
        if self.gamma >= 1.0:
            raise InvalidArgumentError(f"gamma must be below 1, got {self.gamma:g}")
        for field in ("step_reward", "goal_reward"):
            put(self, field, check.real(field, getattr(self, field)))
        for field in ("walls", "goals"):
            listed = check.items(field, getattr(self, field))
            cells = tuple(sorted({self._inside(field, cell) for cell in listed}))
            put(self, field, cells)
        put(self, "start", self._distribution(self.start))
        put(self, "kinds", check.items("kinds", self.kinds))
        self._check_cells()

    def _inside(self, name: str, cell: Any) -> int:
        return check.integer(f"a cell of {name}", cell, high=self.num_cells - 1)

    def _distribution(self, start: Any) -> tuple[tuple[int, float], ...]:
        """Normalise the three forms of a start to (cell, probability) pairs."""
        if check.is_mapping(start):
            pairs = list(start.items())
        elif isinstance(start, Iterable):
            cells = check.items("start", start)
            if cells and all(isinstance(cell, tuple | list) and len(cell) == 2 for cell in cells):
                pairs = cells
            else:
                pairs = [(cell, 1.0 / len(cells)) for cell in cells]
        else:
            pairs = [(start, 1.0)]
        chances: dict[int, float] = {}
        for cell, chance in pairs:
            index = self._inside("start", cell)
            chances[index] = chances.get(index, 0.0) + check.real("start", chance, low=0.0)
        if abs(sum(chances.values()) - 1.0) > ROUNDING:
            raise InvalidArgumentError(
                f"start must be a distribution; its probabilities sum to {sum(chances.values()):g}"
            )
        return tuple(sorted((cell, chance) for cell, chance in chances.items() if chance > 0))

    def _check_cells(self) -> None:
        if not self.goals:
            raise InvalidArgumentError("goals must name at least one cell ('G' in a map)")
        if not self.kinds or not all(isinstance(kind, HazardKind) for kind in self.kinds):
            raise InvalidArgumentError("kinds must hold at least one HazardKind")
        names = [kind.name for kind in self.kinds]
        if len(set(names)) != len(names):
            raise InvalidArgumentError("kinds must have different names")
        walls, goals = set(self.walls), set(self.goals)
        self._refuse("goals", goals & walls, "must not lie in a wall")
        for name, cells in (
            ("start", {cell for cell, _ in self.starts}),
            *((f"candidates of {kind.name!r}", set(kind.cells)) for kind in self.kinds),
        ):
            self._refuse(name, {c for c in cells if c >= self.num_cells}, "must lie in the grid")
            self._refuse(name, cells & walls, "must not lie in a wall")
            self._refuse(name, cells & goals, "must not be a goal (a goal ends the episode)")
        starts, shape = {cell for cell, _ in self.starts}, (self.rows, self.cols)
        lost = starts - connected(self.goals, shape=shape, walls=self.walls)
        self._refuse("start", lost, "must be able to reach a goal; open the walls around it")
        met = connected(starts, shape=shape, walls=self.walls, ends=self.goals)
        for kind in self.kinds:
            self._refuse(
                f"candidates of {kind.name!r}",
                set(kind.cells) - met,
                "must be within reach of the start: a hazard that nobody can meet costs nothing, "
                "whatever it is",
            )

    def _refuse(self, name: str, cells: set[int], rule: str) -> None:
        if cells:
            row, col = divmod(min(cells), self.cols)
            raise InvalidArgumentError(f"{name} {rule}; found row {row}, column {col}")

    @property
    def num_cells(self) -> int:
        """Number of cells, walls included."""
        return self.rows * self.cols

    @property
    def num_kinds(self) -> int:
        """Number of kinds of hazards."""
        return len(self.kinds)

    @property
    def starts(self) -> tuple[tuple[int, float], ...]:
        """The start cells with their probabilities."""
        return cast(tuple[tuple[int, float], ...], self.start)

    @property
    def candidates(self) -> tuple[int, ...]:
        """Cells that are a candidate of some kind."""
        return tuple(sorted({cell for kind in self.kinds for cell in kind.cells}))

    @property
    def start_distribution(self) -> FloatArray:
        """The probability of starting in each cell."""
        found = np.zeros(self.num_cells)
        for cell, chance in self.starts:
            found[cell] = chance
        return check.frozen(found)

    def neighbour(self, cell: int, action: int) -> int:
        """Where a step leads; walls and the border leave the agent where it is.

        Parameters
        ----------
        cell : int
            Where the agent is.
        action : int
            0 left, 1 down, 2 right, 3 up.

        Returns
        -------
        int
            The cell after the step.
        """
        cell = check.integer("cell", cell, high=self.num_cells - 1)
        action = check.integer("action", action, high=len(MOVES) - 1)
        return _step(cell, action, shape=(self.rows, self.cols), walls=self.walls)

    def replace(self, **changes: Any) -> Layout:
        """The same layout with some parts changed; everything is checked again.

        Parameters
        ----------
        **changes : object
            Arguments of :class:`Layout`.

        Returns
        -------
        Layout
            A new one.
        """
        return replace(self, **changes)


def connected(
    cells: Iterable[int],
    *,
    shape: tuple[int, int],
    walls: Iterable[int],
    ends: Iterable[int] = (),
) -> set[int]:
    """Cells on some path around the walls from the given ones; nothing leads on from `ends`."""
    blocked, last = frozenset(walls), frozenset(ends)
    seen, queue = set(cells), deque(cells)
    while queue:
        cell = queue.popleft()
        for action in range(len(MOVES) if cell not in last else 0):
            near = _step(cell, action, shape=shape, walls=blocked)
            if near not in seen:
                seen.add(near)
                queue.append(near)
    return seen


def _step(cell: int, action: int, *, shape: tuple[int, int], walls: Container[int]) -> int:
    row, col = divmod(cell, shape[1])
    row, col = row + MOVES[action][0], col + MOVES[action][1]
    if not (0 <= row < shape[0] and 0 <= col < shape[1]):
        return cell
    target = row * shape[1] + col
    return cell if target in walls else target


def _interval(name: str, value: Any) -> Interval:
    ends = check.items(name, value, most=2)
    if len(ends) != 2:
        raise InvalidArgumentError(f"{name} must be two numbers (lowest, highest)")
    low, high = ends
    low = check.real(f"{name} (lowest)", low, low=0.0)
    high = check.real(f"{name} (highest)", high)
    if low >= high:
        raise InvalidArgumentError(f"{name} must have lowest < highest, got {low:g} and {high:g}")
    return low, high
