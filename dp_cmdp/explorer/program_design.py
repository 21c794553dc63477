"""Linear programs under design: the paper's ad auction with invented prices, and uploaded files."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from dp_cmdp import _check
from dp_cmdp._check import FloatArray
from dp_cmdp.accounting.budget import PrivacyBudget, weak_budgets
from dp_cmdp.data.database import Database
from dp_cmdp.errors import AssumptionError, InvalidArgumentError
from dp_cmdp.explorer.settings import Settings, number, read_settings, whole
from dp_cmdp.frontends.lp_file import read_lp
from dp_cmdp.frontends.lp_spec import read_spec
from dp_cmdp.frontends.private_lp import PrivateLp, private_program
from dp_cmdp.metrics import saturation, suboptimality
from dp_cmdp.problems.ad_auction import ad_auction_program, random_auction
from dp_cmdp.program.linear_program import solve
from dp_cmdp.program.parametric import ParametricLP
from dp_cmdp.release.plan import Plan
from dp_cmdp.release.solve import PrivateAnswer, release_and_solve, robust_solution

MOST_GROUPS, MOST_ADVERTISERS = 100, 20
#: Uploaded files may be so long.
MOST_BYTES = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class AuctionDesign(Settings):
    """What the tab *Ad auction* shows; prices are drawn by `seed`.

    Notes
    -----
    **Privacy.** *Public*: its prices are invented.
    """

    delta: str = "1/10"
    groups: int = 10
    advertisers: int = 5
    radius: float = 0.1
    seed: int = 0

    def check(self) -> None:
        """Raise unless everything is usable."""
        Settings.check(self)
        _check.integer("groups", self.groups, low=1, high=MOST_GROUPS)
        _check.integer("advertisers", self.advertisers, low=1, high=MOST_ADVERTISERS)
        _check.real("radius", self.radius, low=0.001, high=1.0)
        _check.integer("seed", self.seed, low=0, high=10**9)

    def program(self) -> ParametricLP:
        """The public program."""
        return ad_auction_program(self.groups, self.advertisers, price_radius=self.radius)

    def database(self) -> Database:
        """The invented prices. *Curator only.*"""
        return random_auction(self.program(), np.random.default_rng(self.seed))

    def shown(self, objective: float) -> float:
        """An objective as the tab shows it."""
        return objective

    @classmethod
    def from_query(cls, parts: Mapping[str, Any]) -> AuctionDesign:
        """The design of an address."""
        read = read_settings(parts)
        most = {"groups": MOST_GROUPS, "advertisers": MOST_ADVERTISERS, "seed": 10**9}
        for name, high in most.items():
            if name in parts:
                read[name] = whole(name, parts[name], high=high)
        if "radius" in parts:
            read["radius"] = number("radius", parts["radius"], low=0.001, high=1.0)
        design = cls(**read)
        design.check()
        return design


@dataclass(frozen=True, slots=True, kw_only=True)
class FileDesign(Settings):
    """What the tab *Files* shows: an MPS or LP file, what is private in it, and invented values.

    Notes
    -----
    **Privacy.** *Public*: whoever uploads the files says that they are public or invented.
    """

    model_name: str = ""
    model: str = ""
    spec: str = ""
    values: str = ""

    def check(self) -> None:
        """Raise unless everything is there and usable."""
        Settings.check(self)
        missing = [name for name in ("model", "spec", "values") if not getattr(self, name)]
        if missing:
            raise InvalidArgumentError(f"upload the files first; missing: {', '.join(missing)}")
        self.read()

    def read(self) -> tuple[PrivateLp, FloatArray]:
        """The program with its private places, and the values."""
        return _read(self.model_name, self.model, self.spec, self.values)

    def program(self) -> ParametricLP:
        """The public program."""
        return self.read()[0].program

    def database(self) -> Database:
        """The uploaded values. *Curator only.*"""
        return Database(self.read()[1], self.program().envelope)

    def shown(self, objective: float) -> float:
        """An objective in the file's sense, with its offset."""
        return self.read()[0].value(objective)


@lru_cache(maxsize=8)
def _read(name: str, model: str, spec: str, values: str) -> tuple[PrivateLp, FloatArray]:
    ending = ".lp" if name.lower().endswith(".lp") else ".mps"
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        files = {f"model{ending}": model, "spec.toml": spec, "values.csv": values}
        for file, text in files.items():
            (place / file).write_text(text, encoding="utf-8")
        lp = private_program(
            read_lp(place / f"model{ending}"), read_spec(place / "spec.toml"), public_model=True
        )
        return lp, lp.values(place / "values.csv")


@dataclass(frozen=True, slots=True, eq=False)
class ProgramAnswer:
    """All that is shown of a design of a linear program: its truth is invented.

    Attributes
    ----------
    private : PrivateAnswer
    best : (num_variables,)
        The answer without privacy.
    values : tuple of float
        True objectives of the private, the robust and the best answer.
    loss_percent, robust_percent : float or None
        What privacy, and using no data, costs; None where it has no meaning.
    saturation : float
        Share of the intervals that say nothing at all.
    """

    private: PrivateAnswer
    best: FloatArray
    values: tuple[float, float, float]
    loss_percent: float | None
    robust_percent: float | None
    saturation: float


def answer_program(design: AuctionDesign | FileDesign) -> ProgramAnswer:
    """Simulate the release that a design asks for, and solve.

    Notes
    -----
    **Privacy.** *Curator only*, of a database that was invented in the explorer.
    """
    design.check()
    program, database = design.program(), design.database()
    try:
        with weak_budgets():
            made = release_and_solve(
                program,
                database,
                design.budget(),
                plan=design.plan,
                rng=np.random.default_rng(design.noise),
            )
    except AssumptionError as error:
        if isinstance(design, FileDesign):
            raise design.read()[0].renamed(error) from None
        raise
    truth = program.at(database.values)
    best = solve(truth, certify=False)
    points = (made.solution.x, made.robust.x, best.x)
    lost = [_percent(program, database, x, best.objective) for x in points[:2]]
    values = [design.shown(float(truth.c @ x)) for x in points]
    return ProgramAnswer(
        private=made,
        best=best.x,
        values=(values[0], values[1], values[2]),
        loss_percent=lost[0],
        robust_percent=lost[1],
        saturation=saturation(made.release, program.envelope).whole,
    )


def _percent(
    program: ParametricLP, database: Database, x: FloatArray, optimum: float
) -> float | None:
    if optimum == 0.0:
        return None
    return max(100.0 * float(suboptimality(program, database, x=x, optimum=optimum)), 0.0)


@dataclass(frozen=True, slots=True)
class InventedProgram:
    """A design as the curve sees it (:class:`dp_cmdp.explorer.curve.Invented`)."""

    design: AuctionDesign | FileDesign

    def budget(self) -> PrivacyBudget:
        return self.design.budget()

    def public(self) -> ParametricLP:
        return self.design.program()

    def anywhere(self) -> InventedProgram:
        return InventedProgram(self.design.replace(epsilon=Settings().epsilon))

    def trial(self, budget: PrivacyBudget, plan: str | Plan, seed: int) -> float:
        """Loss in percent of one simulated release. *Curator only.*"""
        made = release_and_solve(
            self.public(),
            self.design.database(),
            budget,
            plan=plan,
            rng=np.random.default_rng([self.design.noise, seed]),
        )
        return self._loss(made.solution.x)

    def robust_loss(self) -> float:
        """Loss in percent of the answer without data. *Curator only.*"""
        return self._loss(robust_solution(self.public()).x)

    def limit(self, find: Callable[..., Any], **how: Any) -> Any:
        """`find` of the program and the invented database. *Curator only.*"""
        return find(self.public(), self.design.database(), **how)

    def _loss(self, x: FloatArray) -> float:
        database = self.design.database()
        best = solve(self.public().at(database.values), certify=False).objective
        return _percent(self.public(), database, x, best) or 0.0
