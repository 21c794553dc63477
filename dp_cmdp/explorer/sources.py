"""Real databases that a page may release: what is public of them, and where the values lie.

A source holds paths and what is public. Its values are read by a release, after the ledger's debit,
and refused in one text whatever is wrong with them: :class:`dp_cmdp.Database` sees to it.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import dp_cmdp as dp
from dp_cmdp.envs import Hazards, Layout, as_layout
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.explorer.files import GRID_FILES, PROGRAM_FILES
from dp_cmdp.explorer.grid_design import grid_model
from dp_cmdp.explorer.paid import PaidReleases
from dp_cmdp.explorer.program_design import (
    MOST_ADVERTISERS,
    MOST_GROUPS,
    SMALLEST_RADIUS,
    kept_auction,
)
from dp_cmdp.explorer.settings import number

TABLE = ".csv"
PRICE_RADIUS = 0.1
#: What names each kind of real database, what may be said besides, and who pays.
KINDS = {
    "grid": ("layout", "hazards"),
    "auction": ("auction", "data"),
    "program": ("model", "private", "data"),
}
OPTIONAL = {"grid": ("limits",), "auction": ("price_radius",), "program": ()}
ACCOUNT = ("ledger", "account")
ALL = {name for part in (*KINDS.values(), *OPTIONAL.values(), ACCOUNT) for name in part}


class Source(Protocol):
    """A database that is not read before it is paid for."""

    @property
    def files(self) -> tuple[str, ...]:
        """Names of the public files of a release."""
        ...

    def problem(self) -> Any:
        """What the database is about. *Public*."""
        ...

    def database(self, ledger: dp.PrivacyLedger) -> dp.Database:
        """The database, unread. *Curator only*."""
        ...


@dataclass(frozen=True)
class GridSource:
    """Hazards of a grid: a JSON file, or a CSV table with another one of the limits."""

    layout: Layout
    hazards: Path
    limits: Path | None = None

    files = GRID_FILES

    def __post_init__(self) -> None:
        if (self.hazards.suffix.lower() == TABLE) != (self.limits is not None):
            raise InvalidArgumentError(
                "hazards of a CSV file, and only those, need limits: a CSV file with the columns "
                "kind and limit"
            )
        for path in (self.hazards, self.limits):
            check_is_there(path)

    def problem(self) -> dp.ParametricCMDP:
        return grid_model(self.layout)

    def database(self, ledger: dp.PrivacyLedger) -> dp.Database:
        return dp.Database(self._values, self.problem(), ledger=ledger)

    def _values(self) -> Any:
        """Severities and limits by group; whatever it raises is not shown. *Curator only*."""
        if self.limits is None:
            return Hazards.load(self.layout, self.hazards).values()
        with self.limits.open(encoding="utf-8-sig", newline="") as stream:
            rows = list(csv.DictReader(stream))
        names = [kind.name for kind in self.layout.kinds]
        found = {row["kind"]: float(row["limit"]) for row in rows}
        if len(rows) != len(names) or set(found) != set(names):
            raise ValueError
        limit = [found[name] for name in names]
        return Hazards.from_frame(self.layout, self.hazards, limit=limit).values()


@dataclass(frozen=True)
class AuctionSource:
    """Prices of an ad auction, from a CSV table: group and advertiser, counted from 0, and price.

    `radius` says how far a price may move between adjacent databases.
    """

    groups: int
    advertisers: int
    radius: float
    prices: Path

    files = PROGRAM_FILES

    def __post_init__(self) -> None:
        number("price_radius", self.radius, low=SMALLEST_RADIUS, high=1.0)
        check_is_there(self.prices)

    def problem(self) -> dp.ParametricLP:
        return kept_auction(self.groups, self.advertisers, self.radius)

    def database(self, ledger: dp.PrivacyLedger) -> dp.Database:
        import pandas as pd

        return dp.Database(lambda: pd.read_csv(self.prices), self.problem(), ledger=ledger)


@dataclass(frozen=True)
class FileSource:
    """Private numbers of an MPS or LP file, which is public itself, from a file of their own."""

    model: Path
    spec: Path
    data: Path

    files = PROGRAM_FILES

    def __post_init__(self) -> None:
        check_is_there(self.data)
        _ = self._program

    @cached_property
    def _program(self) -> dp.ParametricLP:
        return dp.lpfile.load(self.model, private=self.spec, relative_to_model=True)

    def problem(self) -> dp.ParametricLP:
        return self._program

    def database(self, ledger: dp.PrivacyLedger) -> dp.Database:
        if self.data.suffix.lower() == TABLE:
            return dp.Database(self.data, self._program, ledger=ledger)
        return dp.Database(
            lambda: dp.lpfile.values(self.data, private=self.spec, model=self.model),
            self._program,
            ledger=ledger,
        )


def check_is_there(path: Path | None) -> None:
    """Raise unless the file is there; it is not read."""
    if path is not None and not path.is_file():
        raise InvalidArgumentError(f"{path} must be a file, and there is none")


def named_database(named: Mapping[str, Any], out: Path) -> PaidReleases | None:
    """The real database, if one is named; it is named wholly or not at all."""
    given = {name for name, value in named.items() if value is not None}
    if unknown := given - ALL:
        raise InvalidArgumentError(
            f"a database is named by {_options(ALL)}; got {_options(unknown)}"
        )
    if not given:
        return None
    said = {kind: given & {*own, *OPTIONAL[kind]} - {"data"} for kind, own in KINDS.items()}
    kind = next((kind for kind, names in said.items() if names), "program")
    own = KINDS[kind]
    foreign = given - {*own, *OPTIONAL[kind], *ACCOUNT}
    if foreign:
        raise InvalidArgumentError(
            f"{_options(foreign)} must not be given for a {kind}: one database is named at a time"
        )
    missing = [name for name in (*own, *ACCOUNT) if name not in given]
    if missing:
        raise InvalidArgumentError(
            f"a real database needs {_options(missing)} too: it is released against a ledger only"
        )
    source = _source(kind, named)
    return PaidReleases(source, Path(named["ledger"]), named["account"], out)


def _options(names: Iterable[str]) -> str:
    """Names as the command has them; in its order, or sorted."""
    listed = sorted(names) if isinstance(names, set) else names
    return ", ".join("--" + name.replace("_", "-") for name in listed)


def _source(kind: str, named: Mapping[str, Any]) -> Source:
    path = {name: Path(value) for name, value in named.items() if isinstance(value, str | Path)}
    if kind == "grid":
        return GridSource(as_layout(named["layout"]), path["hazards"], path.get("limits"))
    if kind == "program":
        return FileSource(path["model"], path["private"], path["data"])
    radius = named.get("price_radius")
    size = auction_size(named["auction"])
    return AuctionSource(*size, PRICE_RADIUS if radius is None else radius, path["data"])


def auction_size(text: str) -> tuple[int, int]:
    """Groups and advertisers of ``"10x5"``."""
    found = re.fullmatch(r"(\d{1,3})x(\d{1,3})", text)
    size = (int(found[1]), int(found[2])) if found else (0, 0)
    if not (1 <= size[0] <= MOST_GROUPS and 1 <= size[1] <= MOST_ADVERTISERS):
        raise InvalidArgumentError(
            f"--auction must be GROUPSxADVERTISERS, such as 10x5: at most {MOST_GROUPS} groups "
            f"and {MOST_ADVERTISERS} advertisers; got {text[:40]!r}"
        )
    return size
