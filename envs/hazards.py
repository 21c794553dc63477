"""The private side of a hazard grid: which candidates are hazardous, how much, and the tolerance.

The database has one severity per candidate cell and kind (kind by kind, cells in order) and one
tolerance per kind: θ = (severity, tolerance), inside the envelope the layout publishes. A cell that
is no hazard has the lowest severity.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from dp_cmdp import _check
from dp_cmdp._check import FloatArray
from dp_cmdp._door import door
from dp_cmdp._storage import parse_json, read_text
from dp_cmdp.data.database import Database
from dp_cmdp.data.envelope import Envelope
from dp_cmdp.envs.catalogue import data_file
from dp_cmdp.envs.layout import HazardKind, Layout
from dp_cmdp.errors import InvalidArgumentError, PrivacyLeakError
from dp_cmdp.frontends.hazard_table import Columns, filled_severities, read_severities

if TYPE_CHECKING:
    import pandas

FORMAT = "dp_cmdp.Hazards/1"
Cell = tuple[int, int]
Severities = Mapping[Cell, float]
Triple = tuple[int, int, float]


class Hazards:
    """Severities of the candidate cells and tolerances of the kinds of one layout.

    Parameters
    ----------
    layout : Layout
    severity : array_like
        One severity per entry of the group ``severity`` of ``layout.envelope()``.
    tolerance : float or array_like
        One tolerance per kind.
    identity : str, optional
        Public label of the database in a privacy ledger; the layout's name by default.

    Notes
    -----
    **Privacy.** *Curator only*. ``repr`` and error texts show nothing; pickling is refused. A copy
    inside the process is the object itself.

    Examples
    --------
    >>> from dp_cmdp.envs import Hazards, parse_map
    >>> layout = parse_map(["S?G", ".?."])
    >>> Hazards(layout, [0.7, 0.0], tolerance=0.8)  # nothing is shown
    Hazards(<private>, layout='custom')
    """

    __slots__ = ("_database", "layout")

    @door
    def __init__(
        self,
        layout: Layout,
        severity: ArrayLike,
        *,
        tolerance: ArrayLike,
        identity: str | None = None,
    ) -> None:
        envelope = layout.envelope()
        count = envelope.index("severity").size
        parts = (("severity", severity, count), ("tolerance", tolerance, layout.num_kinds))
        values = np.concatenate(
            [
                _check.vector(name, _check.private_array(name, given), size=size, private=True)
                for name, given, size in parts
            ]
        )
        names = ["severity"] * count + ["tolerance"] * layout.num_kinds
        outside = (values < envelope.lower) | (values > envelope.upper)
        if outside.any():
            raise InvalidArgumentError(
                f"{names[int(np.argmax(outside))]} must lie inside the public bounds of layout "
                f"{layout.name!r} ({_bounds(layout)}); some value does not (it is not shown)"
            )
        self.layout = layout
        self._database = Database(values, envelope, identity=identity or f"hazards/{layout.name}")

    @classmethod
    @door
    def place(
        cls,
        layout: Layout,
        severities: Severities | Sequence[Severities],
        *,
        tolerance: ArrayLike,
        identity: str | None = None,
    ) -> Hazards:
        """Hazards at given (row, column) cells: one mapping, or one per kind.

        Examples
        --------
        >>> from dp_cmdp.envs import HazardGridEnv, Hazards, parse_map
        >>> layout = parse_map(["S?G", ".?."])
        >>> hazards = Hazards.place(layout, {(0, 1): 0.7}, tolerance=0.8)
        >>> HazardGridEnv(layout, access="curator", hazards=hazards).database()
        Database(<private>, severity[2], tolerance[1], identity='hazards/custom')
        """
        is_one = _check.is_mapping(severities)
        per_kind = (severities,) if is_one else _check.items("severities", severities)
        if len(per_kind) != layout.num_kinds:
            raise InvalidArgumentError(
                f"severities must hold one mapping per hazard kind, {layout.num_kinds}; "
                f"got {len(per_kind)}"
            )
        values: list[float] = []
        for kind, given in zip(layout.kinds, per_kind, strict=True):
            values += _severities(layout, kind, _triples(kind.name, given))
        return cls(layout, values, tolerance=tolerance, identity=identity)

    @classmethod
    @door
    def from_frame(
        cls,
        layout: Layout,
        hazards: pandas.DataFrame | str | Path,
        *,
        tolerance: ArrayLike,
        identity: str | None = None,
    ) -> Hazards:
        """Hazards of a DataFrame, or of a CSV file.

        Parameters
        ----------
        layout : Layout
        hazards : DataFrame or path
            With the columns ``row`` and ``col``, counted from 0 (or ``state``, the number of the
            cell), and ``severity``; and ``kind``, where the layout has several. A candidate that
            is not named has the lowest severity.
        tolerance : array_like
            One per kind.

        Notes
        -----
        Errors show the public bounds and nothing of the table. **Privacy.** *Curator only*.

        Examples
        --------
        >>> import pandas as pd
        >>> from dp_cmdp.envs import Hazards, parse_map
        >>> layout = parse_map(["S?G", ".?."])
        >>> private = pd.DataFrame({"row": [0], "col": [1], "severity": [0.7]})
        >>> Hazards.from_frame(layout, private, tolerance=0.8).database()
        Database(<private>, severity[2], tolerance[1], identity='hazards/custom')
        """
        found = read_severities(
            hazards, {kind.name: _columns(layout, kind) for kind in layout.kinds}
        )
        severity = [
            filled_severities(kind.name, found[kind.name], _severity_bounds(kind))
            for kind in layout.kinds
        ]
        return cls(layout, np.concatenate(severity), tolerance=tolerance, identity=identity)

    @classmethod
    @door
    def draw(cls, layout: Layout, *, seed: int, share: float = 0.5) -> Hazards:
        """Simulated hazards: each candidate is hazardous with probability `share`.

        A hazard's severity is uniform in the upper half of its bounds; the tolerance is uniform in
        its bounds. The seed determines everything, so it is as private as what it draws.

        Examples
        --------
        >>> from dp_cmdp.envs import Hazards, named_layout
        >>> hazards = Hazards.draw(named_layout("corridor"), seed=1)
        >>> hazards.database().envelope
        Envelope(severity[3], tolerance[1], record_size=1)
        """
        rng = np.random.default_rng(_check.seed("seed", seed))
        share = _check.real("share", share, low=0.0, high=1.0)
        severity: list[float] = []
        for kind in layout.kinds:
            low, high = kind.severity
            size = len(kind.cells)
            drawn = rng.uniform((low + high) / 2, high, size)
            severity += np.where(rng.random(size) < share, drawn, low).tolist()
        tolerance = [rng.uniform(*kind.tolerance) for kind in layout.kinds]
        return cls(layout, severity, tolerance=tolerance)

    @classmethod
    @door
    def load(cls, layout: Layout, path: str | Path) -> Hazards:
        """Read hazards from a JSON file; no value appears in an error text.

        The file holds ``"format"`` and ``"kinds"``: for each kind's name an object with
        ``"severity"``, a list of [row, column, severity], and ``"tolerance"``. It names exactly the
        kinds of the layout and no cell of a kind twice.

        Examples
        --------
        >>> from pathlib import Path
        >>> from dp_cmdp.envs import Hazards, parse_map
        >>> kinds = '{"hazard": {"severity": [[0, 1, 0.7]], "tolerance": 0.8}}'
        >>> text = '{"format": "dp_cmdp.Hazards/1", "kinds": ' + kinds + "}"
        >>> _ = Path("hazards.json").write_text(text)
        >>> Hazards.load(parse_map("S?G"), "hazards.json").database()
        Database(<private>, severity[1], tolerance[1], identity='hazards/custom')
        """
        source = _check.path("hazards", path)
        content = _parsed(layout, source)
        if content is None:
            raise _no_hazards(layout, source)
        triples, tolerance, unknown = content
        if unknown:
            names = ", ".join(kind.name for kind in layout.kinds)
            raise InvalidArgumentError(
                f"hazards must name the kinds of layout {layout.name!r} only, {names}; "
                f"{source.name} names {unknown} more"
            )
        values = [
            _severities(layout, kind, part)
            for kind, part in zip(layout.kinds, triples, strict=True)
        ]
        return cls(layout, list(chain.from_iterable(values)), tolerance=tolerance)

    @classmethod
    @door
    def of(cls, layout: Layout, source: Hazards | int | str | Path | None) -> Hazards:
        """Hazards from themselves, a seed, a file, or (None) the simulation that comes along.

        A file is read, and a seed drawn from, at the first use: by a release, after its debit.
        What can be told without reading, that the file is there and may be read, is told now.
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
                    "hazards of a CSV file come with a tolerance, which it does not hold: give "
                    "hazards=Hazards.from_frame(layout, path, tolerance=...)"
                )
            path = _readable(layout, source)
            return cls._deferred(layout, lambda: cls.load(layout, path))
        if not _is_integer(source) or source < 0:
            raise InvalidArgumentError(
                "hazards must be Hazards, a file, or a seed: an integer of at least 0 (the value "
                "given is not shown)"
            )
        return cls._deferred(layout, lambda: cls.draw(layout, seed=source))

    @classmethod
    def _deferred(cls, layout: Layout, read: Callable[[], Hazards]) -> Hazards:
        hazards = cls.__new__(cls)
        hazards.layout = layout
        hazards._database = Database.deferred(
            lambda: read().database().values, layout.envelope(), identity=f"hazards/{layout.name}"
        )
        return hazards

    @property
    def severity(self) -> FloatArray:
        """The severities. *Curator only.*"""
        return self._database.values[: -self.layout.num_kinds]

    @property
    def tolerance(self) -> FloatArray:
        """The tolerances, one per kind. *Curator only.*"""
        return self._database.values[-self.layout.num_kinds :]

    def database(self) -> Database:
        """The private database, for a mechanism to read. *Curator only.*

        Examples
        --------
        >>> from dp_cmdp import PrivacyBudget, release_database
        >>> from dp_cmdp.envs import Hazards, named_layout
        >>> database = Hazards.draw(named_layout("corridor"), seed=1).database()
        >>> release_database(database, PrivacyBudget(1, "1/1000")).secure
        True
        """
        return self._database

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


def _bounds(layout: Layout) -> str:
    """The public bounds of every kind, in words."""
    return "; ".join(
        f"{kind.name}: severity {kind.severity[0]:g} to {kind.severity[1]:g}, tolerance "
        f"{kind.tolerance[0]:g} to {kind.tolerance[1]:g}"
        for kind in layout.kinds
    )


def _severity_bounds(kind: HazardKind) -> Envelope:
    return Envelope(*kind.severity, radius=kind.severity_radius, shape=len(kind.cells))


def _columns(layout: Layout, kind: HazardKind) -> Columns:
    """How a table may name the candidates of a kind."""
    return {
        ("row", "col"): {divmod(cell, layout.cols): n for n, cell in enumerate(kind.cells)},
        ("state",): {(cell,): n for n, cell in enumerate(kind.cells)},
        ("state", "row", "col"): {
            (cell, *divmod(cell, layout.cols)): n for n, cell in enumerate(kind.cells)
        },
    }


def _readable(layout: Layout, source: str | Path) -> Path:
    """The path of a file that is there and may be read; it is not opened."""
    path = Path(source).absolute()
    try:
        readable = path.exists() and not path.is_dir() and os.access(path, os.R_OK)
    except (OSError, ValueError):
        readable = False
    if not readable:
        raise _no_hazards(layout, Path(source))
    return path


def _no_hazards(layout: Layout, source: Path) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"hazards must name a {FORMAT} file for layout {layout.name!r}; {source.name} is missing, "
        "damaged or of another kind"
    )


def _parsed(layout: Layout, source: Path) -> tuple[list[list[Triple]], list[Any], int] | None:
    """Severities and tolerances by kind, and the number of unknown kinds; None if there are none.

    No exception is under way when the caller raises its own: that of the JSON parser carries the
    whole text of the file.
    """
    try:
        content = parse_json(read_text(source))
        if content["format"] != FORMAT:
            return None
        kinds = [content["kinds"][kind.name] for kind in layout.kinds]
        triples = [[(row, col, value) for row, col, value in kind["severity"]] for kind in kinds]
        return triples, [kind["tolerance"] for kind in kinds], len(content["kinds"]) - len(kinds)
    except Exception:
        return None


def _triples(kind: str, given: Severities) -> list[Triple]:
    """(row, column, severity) of a mapping."""
    try:
        return [(row, col, severity) for (row, col), severity in given.items()]
    except (TypeError, ValueError, AttributeError):
        raise InvalidArgumentError(
            f"severities of kind {kind!r} must map (row, column) to a number"
        ) from None


def _severities(layout: Layout, kind: HazardKind, triples: Iterable[Triple]) -> list[float]:
    """One severity per candidate cell of a kind; the lowest where no hazard is placed."""
    placed: dict[int, float] = {}
    candidates = set(kind.cells)
    for row, col, severity in triples:
        if not (_is_integer(row) and _is_integer(col)):
            raise InvalidArgumentError(
                f"row and column of every hazard of kind {kind.name!r} must be integers; some are "
                "not (which is not shown)"
            )
        inside = 0 <= row < layout.rows and 0 <= col < layout.cols
        cell = int(row) * layout.cols + int(col)
        if not inside or cell not in candidates:
            raise InvalidArgumentError(
                f"a hazard of kind {kind.name!r} lies outside its public candidate cells "
                "(where is not shown); add the cell to the layout or remove the hazard"
            )
        if cell in placed:
            raise InvalidArgumentError(
                f"hazards of kind {kind.name!r} must name each cell once; some cell is named twice "
                "(which is not shown)"
            )
        placed[cell] = severity
    return [placed.get(cell, kind.severity[0]) for cell in kind.cells]


def _is_integer(value: Any) -> bool:
    return _check.is_integer(value)
