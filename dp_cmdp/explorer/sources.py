"""Real databases that a page may release: what is public about them, and where the values lie.

A source holds paths and public facts. Its values are read by a release, after the ledger's debit.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from dp_cmdp import _check
from dp_cmdp._check import FloatArray
from dp_cmdp._storage import check_is_file
from dp_cmdp.accounting.budget import PrivacyBudget
from dp_cmdp.accounting.ledger import PrivacyLedger
from dp_cmdp.cmdp.parametric import ParametricCMDP
from dp_cmdp.cmdp.private_policy import PrivatePolicy, release_and_synthesize
from dp_cmdp.data.database import Database
from dp_cmdp.envs import HazardGridEnv, Hazards, Layout
from dp_cmdp.errors import AssumptionError, InvalidArgumentError
from dp_cmdp.explorer.files import GRID_FILES, PROGRAM_FILES, grid_file, program_file
from dp_cmdp.explorer.grid_answer import grid_model
from dp_cmdp.frontends.lp_file import read_lp
from dp_cmdp.frontends.lp_spec import read_spec
from dp_cmdp.frontends.private_lp import PrivateLp, private_program
from dp_cmdp.problems.ad_auction import ad_auction_program
from dp_cmdp.program.parametric import ParametricLP
from dp_cmdp.release.paid import Keep, handed_on
from dp_cmdp.release.solve import PrivateAnswer, release_and_solve

TABLE = ".csv"


class Source(Protocol):
    """A database that is not read before it is paid for."""

    @property
    def files(self) -> tuple[str, ...]:
        """Names of the public files of a release."""
        ...

    def public(self) -> ParametricLP | ParametricCMDP:
        """What the database is about. *Public*."""
        ...

    def database(self, identity: str) -> Database:
        """The database, unread. *Curator only.*"""
        ...

    def release(
        self,
        database: Database,
        budget: PrivacyBudget,
        *,
        plan: str,
        ledger: PrivacyLedger,
        keep: Keep | None = None,
    ) -> Any:
        """Debit, read, release, keep it, and what follows from it. *Spends the budget.*"""
        ...

    def file(self, name: str, made: Any) -> bytes:
        """One of :attr:`files`. *Post-processing.*"""
        ...


@dataclass(frozen=True)
class GridSource:
    """Hazards of a grid: a JSON file, or a CSV table with another one of the tolerances.

    Notes
    -----
    **Privacy.** *Curator only*: it can reach the private files.
    """

    layout: Layout
    hazards: Path
    tolerances: Path | None = None

    files = GRID_FILES

    def __post_init__(self) -> None:
        if self._is_table() != (self.tolerances is not None):
            raise InvalidArgumentError(
                "hazards of a CSV file, and only those, need tolerances: a CSV file with the "
                "columns kind and tolerance"
            )
        if self.tolerances is None:  # that the file is there
            HazardGridEnv(self.layout, access="curator", hazards=self.hazards)
        else:
            for path in (self.hazards, self.tolerances):
                check_is_file(path, "CSV")

    def _is_table(self) -> bool:
        return self.hazards.suffix.lower() == TABLE

    def public(self) -> ParametricCMDP:
        return grid_model(self.layout)

    def database(self, identity: str) -> Database:
        if self.tolerances is None:
            env = HazardGridEnv(self.layout, access="curator", hazards=self.hazards)
            unread = env.database()
            return Database.deferred(lambda: unread.values, unread.envelope, identity=identity)
        return Database.deferred(self._table, self.layout.envelope(), identity=identity)

    def _table(self) -> FloatArray:
        """Severities and tolerances of the two tables. *Curator only.*"""
        assert self.tolerances is not None
        names = [kind.name for kind in self.layout.kinds]
        rows = _rows(self.tolerances)
        found = {row["kind"]: float(row["tolerance"]) for row in rows}
        if len(rows) != len(names) or set(found) != set(names):
            raise InvalidArgumentError("tolerances must name every kind of the layout once")
        tolerance = [found[name] for name in names]
        return Hazards.from_frame(self.layout, self.hazards, tolerance=tolerance).database().values

    def release(
        self,
        database: Database,
        budget: PrivacyBudget,
        *,
        plan: str,
        ledger: PrivacyLedger,
        keep: Keep | None = None,
    ) -> PrivatePolicy:
        return release_and_synthesize(
            self.public(), database, budget, plan=plan, ledger=ledger, keep=keep
        )

    def file(self, name: str, made: PrivatePolicy) -> bytes:
        return grid_file(name, self.layout, self.public(), made)


class _ProgramSource:
    """What linear programs have in common: how they are released, and their files."""

    files = PROGRAM_FILES

    def public(self) -> ParametricLP:
        raise NotImplementedError

    def release(
        self,
        database: Database,
        budget: PrivacyBudget,
        *,
        plan: str,
        ledger: PrivacyLedger,
        keep: Keep | None = None,
    ) -> PrivateAnswer:
        return release_and_solve(
            self.public(), database, budget, plan=plan, ledger=ledger, keep=keep
        )

    def file(self, name: str, made: PrivateAnswer) -> bytes:
        return program_file(name, self.public(), made)

    def shown(self, objective: float) -> float:
        """An objective as its owner knows it. *Post-processing.*"""
        return objective

    def column_names(self) -> tuple[str, ...]:
        """Names of the variables. *Public*."""
        raise NotImplementedError


@dataclass(frozen=True)
class AuctionSource(_ProgramSource):
    """Prices of the paper's ad auction, from a CSV table; every budget is publicly 10⁷.

    Parameters
    ----------
    groups, advertisers : int
    radius : float
        How far a price may move between adjacent databases.
    prices : Path
        With the columns group and advertiser, counted from 0, and price; every pair once.

    Notes
    -----
    **Privacy.** *Curator only*: it can reach the private file.
    """

    groups: int
    advertisers: int
    radius: float
    prices: Path

    def __post_init__(self) -> None:
        _check.real("price_radius", self.radius, low=0.001, high=1.0)
        check_is_file(self.prices, "CSV")

    def public(self) -> ParametricLP:
        return ad_auction_program(
            self.groups, self.advertisers, price_radius=self.radius, private_budgets=False
        )

    def database(self, identity: str) -> Database:
        return Database.deferred(self._table, self.public().envelope, identity=identity)

    def _table(self) -> FloatArray:
        """The prices. *Curator only.*"""
        found = np.full((self.groups, self.advertisers), np.nan)
        rows = _rows(self.prices)
        for row in rows:
            group, advertiser = int(row["group"]), int(row["advertiser"])
            if min(group, advertiser) < 0:
                raise InvalidArgumentError("group and advertiser must be counted from 0")
            found[group, advertiser] = float(row["price"])
        if len(rows) != found.size or np.isnan(found).any():
            raise InvalidArgumentError("prices must name every group and advertiser once")
        return found.ravel()

    def column_names(self) -> tuple[str, ...]:
        return tuple(
            f"group {i}, advertiser {j}"
            for i in range(self.groups)
            for j in range(self.advertisers)
        )


@dataclass(frozen=True)
class FileSource(_ProgramSource):
    """Private numbers of an MPS or LP file, which is public itself, from a file of their own.

    Parameters
    ----------
    model, spec, data : Path
        As ``dp-cmdp lp MODEL --private SPEC --data DATA`` takes them.

    Notes
    -----
    **Privacy.** *Curator only*: it can reach the private file.
    """

    model: Path
    spec: Path
    data: Path

    def __post_init__(self) -> None:
        check_is_file(self.data, "CSV, MPS or LP")
        _ = self.private

    @cached_property
    def private(self) -> PrivateLp:
        """The public side of the files. *Public*."""
        return private_program(read_lp(self.model), read_spec(self.spec), public_model=True)

    def public(self) -> ParametricLP:
        return self.private.program

    def database(self, identity: str) -> Database:
        return self.private.database(self.data, identity=identity)

    def release(
        self,
        database: Database,
        budget: PrivacyBudget,
        *,
        plan: str,
        ledger: PrivacyLedger,
        keep: Keep | None = None,
    ) -> PrivateAnswer:
        try:
            return super().release(database, budget, plan=plan, ledger=ledger, keep=keep)
        except AssumptionError as error:
            raise handed_on(error, self.private.renamed(error)) from None

    def shown(self, objective: float) -> float:
        return self.private.value(objective)

    def column_names(self) -> tuple[str, ...]:
        return tuple(self.private.model.column_names)


def _rows(path: Path) -> list[dict[str, str]]:
    """Rows of a private CSV file; whoever asks sees to it that no error leaves."""
    with path.open(encoding="utf-8-sig", newline="") as stream:
        return list(csv.DictReader(stream))
