"""A hazard grid under design: public bounds, invented hazards, and the request for a release.

A design is plain data: it goes into an address, to another process, and back. Its hazards are
invented in the explorer; a real database never becomes a design.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

import dp_cmdp as dp
from dp_cmdp import envs
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.explorer.settings import (
    LARGEST_FACTOR,
    LARGEST_SEED,
    SMALLEST_FACTOR,
    Settings,
    number,
    one_of,
    read_settings,
    short_text,
    whole,
)

#: (kind, cell, severity) of an invented hazard.
Placed = tuple[int, int, float]
#: The largest grid of the page, per side.
MOST_SIDE = 64
#: The longest episode of the page.
MOST_STEPS = 400
RANDOM = re.compile(r"random-(\d{1,3})-(\d{1,9})")
BLANK = re.compile(r"blank-(\d{1,3})x(\d{1,3})")
#: What a click may make of a cell.
TOOLS = ("hazard", "candidate", "wall", "free", "start", "goal")
#: In an address: no hazard at all.
NONE = "none"
LETTERS = {"wall": "#", "free": ".", "start": "S", "goal": "G"}


@dataclass(frozen=True, slots=True, kw_only=True)
class GridDesign(Settings):
    """What the tab *Grid* shows; public, because its hazards are invented.

    Parameters
    ----------
    layout : str
        A layout of the package, ``random-SIZE-SEED`` or ``blank-ROWSxCOLS``.
    rows : tuple of str
        The map, where it was drawn on; else empty.
    hazards : tuple of (kind, cell, severity), optional
        The invented hazards; None: those that come with the layout, or are drawn by `seed`.
    seed : int, optional
    horizon : int, optional
        Steps of an episode whose costs and rewards are summed; by default the layout's discount.
    radius, limit : float
        Factors of the layout's radii, and of its limits with their bounds.
    """

    layout: str = "islands"
    rows: tuple[str, ...] = ()
    hazards: tuple[Placed, ...] | None = None
    seed: int | None = None
    horizon: int | None = None
    radius: float = 1.0
    limit: float = 1.0

    def check(self) -> None:
        """Raise unless everything is usable."""
        Settings.check(self)
        for name in ("radius", "limit"):
            number(name, getattr(self, name), low=SMALLEST_FACTOR, high=LARGEST_FACTOR)
        if self.horizon is not None:
            steps_of(self.horizon)
        self.grid()

    def grid(self) -> envs.Layout:
        """The layout with its map, radii and limits as designed."""
        return _grid(self.layout, self.rows, self.radius, self.limit)

    def problem(self) -> dp.ParametricCMDP:
        """The public model."""
        return grid_model(self.grid(), self.horizon)

    def values(self) -> dict[str, Any]:
        """The invented database, by group."""
        return self.invented().values()

    def invented(self) -> envs.Hazards:
        """The invented hazards on the grid; one whose cell is no candidate any more is none."""
        grid = self.grid()
        placed = {(kind, cell): severity for kind, cell, severity in self.placed()}
        severity = [
            min(max(placed.get((k, cell), kind.severity[0]), kind.severity[0]), kind.severity[1])
            for k, kind in enumerate(grid.kinds)
            for cell in kind.cells
        ]
        limit = [
            float(np.clip(self.limit * given, *kind.limit))
            for given, kind in zip(_limits(self.layout, self.seed), grid.kinds, strict=True)
        ]
        return envs.Hazards(grid, severity, limit=limit)

    def placed(self) -> tuple[Placed, ...]:
        """The invented hazards one by one."""
        return _drawn(self.layout, self.seed) if self.hazards is None else self.hazards

    def clicked(self, cell: int, tool: str, *, kind: int = 0, severity: float = 1.0) -> GridDesign:
        """What a click with a tool makes of the design; a second click takes it back."""
        grid = self.grid()
        whole("cell", cell, high=grid.num_cells - 1)
        whole("kind", kind, high=grid.num_kinds - 1)
        if one_of("tool", tool, TOOLS) == "hazard":
            return self._with_hazard(grid, cell, kind=kind, severity=severity)
        drawn = self.replace(rows=_redrawn(grid, cell, tool, kind))
        drawn.grid()  # refuses what is no layout
        return drawn

    def _with_hazard(
        self, grid: envs.Layout, cell: int, *, kind: int, severity: float
    ) -> GridDesign:
        if cell not in grid.kinds[kind].cells:
            row, col = divmod(cell, grid.cols)
            raise InvalidArgumentError(
                f"only a candidate can be a hazard; make row {row}, column {col} a candidate first"
            )
        low, high = grid.kinds[kind].severity
        level = number("severity", severity, low=low, high=high)
        kept = tuple(part for part in self.placed() if part[:2] != (kind, cell))
        there = {part[:2]: part[2] for part in self.placed()}.get((kind, cell), low)
        return self.replace(hazards=kept if there > low else (*kept, (kind, cell, level)))

    def query(self) -> dict[str, str]:
        """What the address says. Hazards are in it because they are invented."""
        parts = Settings.query(self)
        if self.rows:
            parts["rows"] = "/".join(self.rows)
        if self.hazards is not None:
            listed = ",".join(f"{k}.{cell}:{s!r}" for k, cell, s in self.hazards)
            parts["hazards"] = listed or NONE
        return parts

    @classmethod
    def from_query(cls, parts: Mapping[str, Any]) -> GridDesign:
        """The design of an address; parts that it does not name are the defaults."""
        read = read_settings(parts)
        if "layout" in parts:
            read["layout"] = short_text("layout", parts["layout"])
        for name in ("radius", "limit"):
            if name in parts:
                read[name] = number(name, parts[name], low=SMALLEST_FACTOR, high=LARGEST_FACTOR)
        if "seed" in parts:
            read["seed"] = whole("seed", parts["seed"], high=LARGEST_SEED)
        if "horizon" in parts:
            read["horizon"] = steps_of(parts["horizon"])
        if "rows" in parts:
            read["rows"] = tuple(short_text("rows", parts["rows"]).split("/"))
        if "hazards" in parts:
            read["hazards"] = _read_hazards(short_text("hazards", parts["hazards"]))
        design = cls(**read)
        design.check()
        return design


def steps_of(given: Any) -> int:
    """The steps of an episode, or a refusal by name."""
    return whole("horizon", given, low=1, high=MOST_STEPS)


@lru_cache(maxsize=16)
def grid_model(layout: envs.Layout, horizon: int | None = None) -> dp.ParametricCMDP:
    """The public model of a layout; the last few are kept, with their robust policies."""
    return dynamics(layout).parametric(horizon=horizon)


@lru_cache(maxsize=16)
def dynamics(layout: envs.Layout) -> envs.GridModel:
    """Public transitions and rewards of a layout; the last few are kept."""
    return envs.GridModel(layout)


def base_layout(name: str) -> envs.Layout:
    """A layout of the package, a random one or a blank one, by name."""
    if found := RANDOM.fullmatch(name):
        size = whole("size", found[1], low=3, high=MOST_SIDE)
        return envs.random_layout(size, seed=int(found[2]))
    if found := BLANK.fullmatch(name):
        return _blank(*(whole("size", part, low=3, high=MOST_SIDE) for part in found.groups()))
    if name in envs.layout_names():
        return envs.named_layout(name)
    raise InvalidArgumentError(
        f"layout must be one of {', '.join(envs.layout_names())}, random-SIZE-SEED or "
        f"blank-ROWSxCOLS with sizes from 3 to {MOST_SIDE}; got {name[:40]!r}"
    )


def _blank(rows: int, cols: int) -> envs.Layout:
    """A grid to draw on: start below, goal above, one candidate in the middle."""
    middle = (rows // 2) * cols + cols // 2
    kind = envs.HazardKind(cells=[middle], severity_radius=0.1, limit=(0.3, 0.6), limit_radius=0.03)
    return envs.Layout(
        rows=rows,
        cols=cols,
        kinds=[kind],
        start=(rows - 1) * cols,
        goals=[cols - 1],
        name=f"blank-{rows}x{cols}",
    )


@lru_cache(maxsize=64)
def _base(name: str) -> envs.Layout:
    return base_layout(name)


@lru_cache(maxsize=64)
def _grid(name: str, rows: tuple[str, ...], radius: float, limit: float) -> envs.Layout:
    base = _base(name)
    kinds = [_scaled(kind, radius=radius, limit=limit) for kind in base.kinds]
    if not rows:
        return base.replace(kinds=kinds)
    if len(rows) > MOST_SIDE or max(map(len, rows)) > MOST_SIDE:
        raise InvalidArgumentError(f"rows must make a map of at most {MOST_SIDE} × {MOST_SIDE}")
    return envs.parse_map(
        rows,
        kinds=[public_bounds(kind) for kind in kinds],
        slip=base.slip,
        gamma=base.gamma,
        step_reward=base.step_reward,
        goal_reward=base.goal_reward,
        name=f"{base.name}-drawn",
    )


def public_bounds(kind: envs.HazardKind) -> dict[str, Any]:
    """What is public of a kind besides its cells."""
    names = ("name", "severity", "severity_radius", "limit", "limit_radius")
    return {name: getattr(kind, name) for name in names}


def _scaled(kind: envs.HazardKind, *, radius: float, limit: float) -> envs.HazardKind:
    low, high = (limit * end for end in kind.limit)
    assert kind.severity_radius is not None
    assert kind.limit_radius is not None
    return envs.HazardKind(
        name=kind.name,
        cells=kind.cells,
        severity=kind.severity,
        severity_radius=min(radius * kind.severity_radius, kind.severity[1] - kind.severity[0]),
        limit=(low, high),
        limit_radius=min(radius * limit * kind.limit_radius, high - low),
    )


@lru_cache(maxsize=64)
def _drawn(name: str, seed: int | None) -> tuple[Placed, ...]:
    """Hazards that come with a layout, or are drawn by a seed."""
    return _above_least(_base(name), envs.Hazards.of(_base(name), seed))


def _above_least(layout: envs.Layout, hazards: envs.Hazards) -> tuple[Placed, ...]:
    """Candidates whose severity is more than the least possible one."""
    severity = by_kind(layout, hazards.values(), "cost")
    return tuple(
        (k, int(cell), float(level))
        for k, kind in enumerate(layout.kinds)
        for cell, level in zip(kind.cells, severity[k], strict=True)
        if level > kind.severity[0]
    )


def by_kind(layout: envs.Layout, values: Mapping[str, Any], part: str) -> list[Any]:
    """The "cost" or "limit" of each kind, from numbers by group."""
    several = layout.num_kinds > 1
    return [values[f"{kind.name}.{part}" if several else part] for kind in layout.kinds]


@lru_cache(maxsize=64)
def _limits(name: str, seed: int | None) -> tuple[float, ...]:
    layout = _base(name)
    found = by_kind(layout, envs.Hazards.of(layout, seed).values(), "limit")
    return tuple(float(part) for part in found)


def _redrawn(grid: envs.Layout, cell: int, tool: str, kind: int) -> tuple[str, ...]:
    """The map after a click."""
    rows = [list(line) for line in envs.format_map(grid).splitlines()]
    row, col = divmod(cell, grid.cols)
    candidate = "?" if grid.num_kinds == 1 else str(kind + 1)
    letter = LETTERS.get(tool, candidate)
    if tool in ("start", "goal"):  # there is one of each, and a click moves it
        rows = [["." if old == letter else old for old in line] for line in rows]
    again = rows[row][col] == letter and tool in ("wall", "candidate")
    rows[row][col] = "." if again else letter
    return tuple("".join(line) for line in rows)


def _read_hazards(text: str) -> tuple[Placed, ...]:
    placed: list[Placed] = []
    for part in () if text == NONE else text.split(","):
        found = re.fullmatch(r"(\d)\.(\d{1,5}):([0-9.e+-]{1,24})", part)
        if found is None:
            raise InvalidArgumentError(
                f"hazards must be KIND.CELL:SEVERITY, separated by commas; got {part[:40]!r}"
            )
        severity = number("severity", found[3], low=0.0, high=1e9)
        placed.append((int(found[1]), int(found[2]), severity))
    return tuple(placed)


def with_table(design: GridDesign, csv: Path) -> GridDesign:
    """The design with the hazards of a CSV file that is public or invented, as its owner says.

    It has the columns row, col and severity (and kind, where the grid has several). Errors show
    nothing of the table, should it have been private after all.
    """
    grid = design.grid()
    limit = by_kind(grid, design.values(), "limit")
    hazards = envs.Hazards.from_frame(grid, csv, limit=np.ravel(limit))
    if not dp.curator.check(lambda: hazards.values(), grid_model(grid)):
        raise InvalidArgumentError(
            "the table must have the columns row, col and severity (and kind, where the grid has "
            "several), name candidates only, each once, and keep to the public bounds; nothing of "
            "it is shown, in case it is private"
        )
    return design.replace(hazards=_above_least(grid, hazards))
