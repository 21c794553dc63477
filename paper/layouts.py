"""The layouts that the package ships, as models with the invented hazards that come with them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import dp_cmdp as dp
from paper.linear import Floats
from paper.policies import optimum


@dataclass(frozen=True, slots=True, eq=False)
class Scenario:
    """A grid, its true database, and the value of the best policy for it."""

    layout: Any
    model: dp.ParametricCMDP
    values: Floats
    optimum: float

    @property
    def digest(self) -> str:
        """Of model and hazards, so that records never mix two grids."""
        parts = (self.model.T.data, self.model.r, self.model.start, self.values)
        return hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest()[:12]


@lru_cache(maxsize=16)
def scenario(name: str = "paper") -> Scenario:
    """A named layout with the hazards that come with it."""
    curator = dp.envs.HazardGridEnv(name, access="curator")
    model, values = curator.model(), curator.database().read()
    return Scenario(dp.envs.named_layout(name), model, values, optimum(model, values))
