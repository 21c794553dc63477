"""Linear programs under design: the paper's ad auction with invented prices, and uploaded files."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

import dp_cmdp as dp
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.explorer.auction import auction
from dp_cmdp.explorer.settings import LARGEST_SEED, Settings, number, read_settings, whole

MOST_GROUPS, MOST_ADVERTISERS = 100, 20
SMALLEST_RADIUS = 0.001
#: Uploaded files may be so long.
MOST_BYTES = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class AuctionDesign(Settings):
    """What the tab *Ad auction* shows; public, because its prices are drawn by `seed`."""

    delta: str = "1/10"
    groups: int = 10
    advertisers: int = 5
    radius: float = 0.1
    seed: int = 0

    def check(self) -> None:
        """Raise unless everything is usable."""
        Settings.check(self)
        whole("groups", self.groups, low=1, high=MOST_GROUPS)
        whole("advertisers", self.advertisers, low=1, high=MOST_ADVERTISERS)
        number("radius", self.radius, low=SMALLEST_RADIUS, high=1.0)
        whole("seed", self.seed, high=LARGEST_SEED)

    def problem(self) -> dp.ParametricLP:
        """The public program."""
        return kept_auction(self.groups, self.advertisers, self.radius)

    def values(self) -> dict[str, Any]:
        """The invented prices: 0 with probability 1/5, uniform on [0, 1] otherwise."""
        rng, shape = np.random.default_rng(self.seed), (self.groups, self.advertisers)
        return {"price": np.where(rng.random(shape) < 0.2, 0.0, rng.random(shape))}

    @classmethod
    def from_query(cls, parts: Mapping[str, Any]) -> AuctionDesign:
        """The design of an address."""
        read = read_settings(parts)
        most = {"groups": MOST_GROUPS, "advertisers": MOST_ADVERTISERS, "seed": LARGEST_SEED}
        for name, high in most.items():
            if name in parts:
                read[name] = whole(name, parts[name], high=high)
        if "radius" in parts:
            read["radius"] = number("radius", parts["radius"], low=SMALLEST_RADIUS, high=1.0)
        design = cls(**read)
        design.check()
        return design


@lru_cache(maxsize=8)
def kept_auction(groups: int, advertisers: int, radius: float) -> dp.ParametricLP:
    """The auction; the last few are kept."""
    return auction(groups, advertisers, radius)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileDesign(Settings):
    """What the tab *Files* shows: an MPS or LP file, what is private in it, and invented values.

    It is public: whoever uploads the files says that they are public or invented.
    """

    model_name: str = ""
    model: str = ""
    spec: str = ""
    table: str = ""

    @property
    def missing(self) -> list[str]:
        """What was not uploaded yet."""
        parts = {"model": self.model, "specification": self.spec, "values": self.table}
        return [name for name, text in parts.items() if not text]

    def check(self) -> None:
        """Raise unless everything is there and usable."""
        Settings.check(self)
        if self.missing:
            raise InvalidArgumentError(
                f"upload the files first; missing: {', '.join(self.missing)}"
            )
        self.values()

    def problem(self) -> dp.ParametricLP:
        """The public program."""
        return _program(self.model_name, self.model, self.spec)

    def values(self) -> Any:
        """The uploaded values, in the order of the envelope."""
        return _values(self.problem(), self.table)


@lru_cache(maxsize=8)
def _program(name: str, model: str, spec: str) -> dp.ParametricLP:
    ending = ".lp" if name.lower().endswith(".lp") else ".mps"
    with tempfile.TemporaryDirectory() as folder:
        files = Path(folder) / f"model{ending}", Path(folder) / "spec.toml"
        for path, text in zip(files, (model, spec), strict=True):
            path.write_text(text, encoding="utf-8")
        return dp.lpfile.load(files[0], private=files[1], relative_to_model=True)


@lru_cache(maxsize=8)
def _values(program: dp.ParametricLP, table: str) -> Any:
    """One number per entry: what a simulation says of the table that it was given."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "values.csv"
        path.write_text(table, encoding="utf-8")
        budget: dict[str, Any] = {"epsilon": 1, "delta": "1/1000"}
        return dp.simulate(program, path, **budget, strategy="entries", draws=1).values
