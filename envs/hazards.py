"""The private side of a hazard grid: which candidates are hazardous, how much, and the limit.

The database has one severity per candidate cell of each kind, and one limit per kind, inside the
envelope of the layout's model. A cell that is no hazard has the lowest severity. Everything private
is read when a database is read, after a ledger's debit: a table that does not fit is refused there,
without a word on why; ``dp_cmdp.curator.check`` tells its curator.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from dp_cmdp._src.base import validation as check
from dp_cmdp._src.base.errors import InvalidArgumentError, PrivacyLeakError
from dp_cmdp._src.base.storage import parse_json, read_text
from dp_cmdp._src.base.validation import FloatArray, validated
from dp_cmdp.envs.catalogue import data_file
from dp_cmdp.envs.layout import HazardKind, Layout

if TYPE_CHECKING:
    import pandas as pd

FORMAT = "dp_cmdp.Hazards/2"
Cell = tuple[int, int]
Severities = Mapping[Cell, float]
#: Severities of the candidates of each kind, and one limit per kind.
Numbers = tuple[list[FloatArray], ArrayLike]


class Hazards:
    """Severities of the candidate cells and limits of the kinds of one layout.

    Parameters
    ----------
    layout : Layout
        The public grid that they belong to.
    severity : array_like
        One severity per candidate, kind by kind, cells in order.
    limit : float or array_like
        The highest discounted severity that is allowed, per kind.

    Notes
    -----
    **Privacy.** *Curator only*. ``repr`` shows nothing; pickling is refused. A copy inside the
    process is the object itself.

    Examples
    --------
    >>> import dp_cmdp as dp
    >>> layout = dp.envs.parse_map(["S?G", ".?."])
    >>> dp.envs.Hazards(layout, [0.7, 0.0], limit=0.8)  # nothing is shown
    Hazards(<private>, layout='custom')
    """

    __slots__ = ("_numbers", "layout")

    @validated
    def __init__(self, layout: Layout, severity: ArrayLike, *, limit: ArrayLike) -> None:
        ends = np.cumsum([len(kind.cells) for kind in layout.kinds])[:-1]
        self.layout: Layout = layout
        self._numbers: Callable[[], Numbers] = lambda: (
            np.split(np.asarray(severity, dtype=np.float64), ends),
            limit,
        )

    @classmethod
    def _of(cls, layout: Layout, numbers: Callable[[], Numbers]) -> Hazards:
        made = cls.__new__(cls)
        made.layout, made._numbers = layout, numbers
        return made

    @classmethod
    @validated
    def place(
        cls, layout: Layout, severities: Severities | Sequence[Severities], *, limit: ArrayLike
    ) -> Hazards:
        """Hazards at given (row, column) cells: one mapping, or one per kind.

        Parameters
        ----------
        layout : Layout
            The public grid that they belong to.
        severities : mapping of (int, int) to float, or a sequence of them
            Severities by row and column; the rest have the lowest one.
        limit : float or array_like
            One per kind.

        Returns
        -------
        Hazards
            Of this layout.

        Raises
        ------
        InvalidArgumentError
            If there is another number of mappings than of kinds.
        """
        per_kind: Any = (severities,) if check.is_mapping(severities) else tuple(severities)
        if len(per_kind) != layout.num_kinds:
            raise InvalidArgumentError(
                f"severities must hold one mapping per hazard kind, {layout.num_kinds}; "
                f"got {len(per_kind)}"
            )

        def numbers() -> Numbers:
            kinds = zip(layout.kinds, per_kind, strict=True)
            return [
                _placed(layout, kind, [(*cell, value) for cell, value in given.items()])
                for kind, given in kinds
            ], limit

        return cls._of(layout, numbers)

    @classmethod
    @validated
    def from_frame(
        cls, layout: Layout, hazards: pd.DataFrame | str | Path, *, limit: ArrayLike
    ) -> Hazards:
        """Hazards of a DataFrame, or of a CSV file.

        Parameters
        ----------
        layout : Layout
            The public grid that they belong to.
        hazards : DataFrame or path
            With the columns ``row`` and ``col``, counted from 0 (or ``state``, the number of the
            cell), and ``severity``; and ``kind``, where the layout has several. A candidate that
            is not named has the lowest severity.
        limit : array_like
            One per kind.

        Returns
        -------
        Hazards
            Read when the database is.

        Notes
        -----
        **Privacy.** *Curator only*.

        Examples
        --------
        >>> import pandas as pd
        >>> import dp_cmdp as dp
        >>> layout = dp.envs.parse_map(["S?G", ".?."])
        >>> private = pd.DataFrame({"row": [0], "col": [1], "severity": [0.7]})
        >>> dp.envs.Hazards.from_frame(layout, private, limit=0.8)
        Hazards(<private>, layout='custom')
        """
        source = _readable("hazards", hazards) if isinstance(hazards, str | Path) else hazards
        return cls._of(layout, lambda: (_of_table(layout, source), limit))

    @classmethod
    @validated
    def draw(cls, layout: Layout, *, seed: int, share: float = 0.5) -> Hazards:
        """Simulated hazards: each candidate is hazardous with probability `share`.

        A hazard's severity is uniform in the upper half of its bounds; the limit is uniform in its
        bounds. The seed determines everything, so it is as private as what it draws.

        Parameters
        ----------
        layout : Layout
            The public grid that they belong to.
        seed : int
            Of the drawing.
        share : float
            Probability that a candidate is hazardous.

        Returns
        -------
        Hazards
            Simulated ones.
        """
        drawn = check.seed("seed", seed)
        share = check.real("share", share, low=0.0, high=1.0)

        def numbers() -> Numbers:
            rng, severity = np.random.default_rng(drawn), []
            for kind in layout.kinds:
                low, high = kind.severity
                high_half = rng.uniform((low + high) / 2, high, len(kind.cells))
                severity.append(np.where(rng.random(len(kind.cells)) < share, high_half, low))
            return severity, [rng.uniform(*kind.limit) for kind in layout.kinds]

        return cls._of(layout, numbers)

    @classmethod
    @validated
    def load(cls, layout: Layout, path: str | Path) -> Hazards:
        """Hazards of a JSON file, which is read when the database is.

        The file holds ``"format"`` and ``"kinds"``: for each kind's name an object with
        ``"severity"``, a list of [row, column, severity], and ``"limit"``. It names exactly the
        kinds of the layout and no cell of a kind twice.

        Parameters
        ----------
        layout : Layout
            The public grid that they belong to.
        path : str or Path
            The file.

        Returns
        -------
        Hazards
            Read when the database is.
        """
        source = _readable("hazards", path)
        return cls._of(layout, partial(_of_json, layout, source))

    @classmethod
    def of(cls, layout: Layout, source: Any) -> Hazards:
        """Hazards from themselves, a seed, a file, or (None) the simulation that comes along.

        Parameters
        ----------
        layout : Layout
            The public grid that they belong to.
        source : Hazards, int, str, Path or None
            Where they come from.

        Returns
        -------
        Hazards
            Of this layout.

        Raises
        ------
        InvalidArgumentError
            If they belong to another layout, or it is none of these.
        """
        if isinstance(source, Hazards):
            if source.layout.kinds != layout.kinds:
                raise InvalidArgumentError(
                    "hazards must belong to the layout: its kinds, candidates and bounds differ"
                )
            return source
        if source is None:
            shipped = data_file("hazards", layout.name)
            source = shipped if shipped.is_file() else 0
        if isinstance(source, str | Path):
            if Path(source).suffix.lower() == ".csv":
                raise InvalidArgumentError(
                    "hazards of a CSV file come with a limit, which it does not hold: give "
                    "hazards=Hazards.from_frame(layout, path, limit=...)"
                )
            return cls.load(layout, source)
        if not check.is_integer(source) or source < 0:
            raise InvalidArgumentError(
                "hazards must be Hazards, a file, or a seed: an integer of at least 0 (the value "
                "given is not shown)"
            )
        return cls.draw(layout, seed=source)

    def values(self) -> dict[str, FloatArray]:
        """The private numbers by group, as they stand: curator only.

        Returns
        -------
        dict of str to float array
            What `solve` takes as data.
        """
        severity, limit = self._numbers()
        kinds, found = self.layout.kinds, {}
        limits = np.atleast_1d(np.asarray(limit, dtype=np.float64))
        for kind, part, most in zip(kinds, severity, limits, strict=True):
            key = f"{kind.name}." if len(kinds) > 1 else ""
            found |= {f"{key}cost": part, f"{key}limit": most}
        return found

    def __repr__(self) -> str:
        return f"Hazards(<private>, layout={self.layout.name!r})"

    def __copy__(self) -> Hazards:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Hazards:
        return self

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise PrivacyLeakError(
            "Hazards refuse to be pickled; hand a worker the seed or the file they come from"
        )


def _readable(name: str, source: str | Path) -> Path:
    """The path of a file that is there and may be read; it is not opened."""
    path = Path(source).absolute()
    try:
        readable = path.is_file() and os.access(path, os.R_OK)
    except (OSError, ValueError):
        readable = False
    if not readable:
        raise InvalidArgumentError(
            f"{name} must name a file that can be read; {Path(source).name} cannot"
        )
    return path


# What follows raises whatever it raises: Database.read, which calls it, shows nothing of that.


def _placed(layout: Layout, kind: HazardKind, places: Any) -> FloatArray:
    """One severity per candidate of a kind from (row, col, severity); the lowest by default."""
    found = np.full(len(kind.cells), kind.severity[0])
    left = dict(zip(kind.cells, range(found.size), strict=True))
    for row, col, severity in places:
        if (row, col) != divmod(row * layout.cols + col, layout.cols):
            raise ValueError("a cell is outside of the layout")
        found[left.pop(row * layout.cols + col)] = severity  # KeyError: no candidate, or twice
    return found


def _of_json(layout: Layout, source: Path) -> Numbers:
    content = parse_json(read_text(source))
    if content["format"] != FORMAT or len(content["kinds"]) != len(layout.kinds):
        raise ValueError("a file of another kind, or of other kinds of hazards")
    severity, limit = [], []
    for kind in layout.kinds:
        given = content["kinds"][kind.name]
        severity.append(_placed(layout, kind, given["severity"]))
        limit.append(given["limit"])
    return severity, limit


def _of_table(layout: Layout, source: Any) -> list[FloatArray]:
    """Severities by kind from a table with row and col (or state), severity, and perhaps kind."""
    import pandas as pd

    frame = pd.read_csv(source, skipinitialspace=True) if isinstance(source, Path) else source
    frame = frame.rename(columns=lambda name: str(name).strip().lower())
    frame = frame.rename(columns={"column": "col"})
    if "row" in frame.columns:
        places = list(zip(frame["row"].tolist(), frame["col"].tolist(), strict=True))
    else:
        places = [divmod(state, layout.cols) for state in frame["state"].tolist()]
    several = layout.num_kinds > 1
    owner = frame["kind"].tolist() if several else [layout.kinds[0].name] * len(places)
    if not set(owner) <= {kind.name for kind in layout.kinds}:
        raise ValueError("a hazard of an unknown kind")
    rows = list(zip(owner, places, frame["severity"].tolist(), strict=True))
    return [
        _placed(
            layout, kind, [(*place, severity) for own, place, severity in rows if own == kind.name]
        )
        for kind in layout.kinds
    ]
