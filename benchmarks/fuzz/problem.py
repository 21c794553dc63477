"""The problem of a key: small/FAMILY/NUMBER (a few states) or large/FAMILY/NUMBER (hundreds).

Beside the families' own limits there is the *brink*: the exact costs of the safest policy,
rounded to a float, or missed by a little more or less.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from benchmarks.families import FAMILIES, LIMITS, STARTS
from benchmarks.families.case import constrained, start_of
from benchmarks.families.planning import Dynamics
from benchmarks.families.structure import Structure
from benchmarks.fuzz.exact_model import exact_worth
from dp_cmdp import CMDP

GAMMAS = (0.0, 0.5, 0.9, 0.99, 0.999, 0.9999)
SIZES = {"small": (2, 26), "large": (60, 800)}
#: How far limits at the brink lie beside the least cost, relative to it.
BESIDE = (0.0, 0.0, 1e-15, -1e-15, 1e-12, -1e-12, 1e-9, -1e-9, 1e-6, -1e-6)
STYLES = ("plain", "integers", "scaled", "signed", "sparse reward")
KINDS = (*LIMITS, "tight", "brink")
#: Draws of a problem that goes through a pool.
DRAWS = 4


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """A model, whether it shares a pool with others, and in words what it is."""

    model: CMDP
    shares: bool
    gap: float
    words: str

    @property
    def draws(self) -> list[CMDP]:
        """The model itself, and for a pool a few with other costs and limits."""
        if not self.shares:
            return [self.model]
        rng, model = np.random.default_rng(0), self.model
        draws = [model]
        for _ in range(DRAWS - 1):
            cost = model.cost * rng.uniform(0.9, 1.1, model.cost.shape)
            limit = model.limit * rng.uniform(0.98, 1.1, model.limit.shape)
            draws.append(model._with_costs(cost, limit))
        return draws


def problem(key: str) -> Problem:
    """Build the problem of a key; the same key always gives the same one."""
    tier, family, number = key.split("/")
    rng = np.random.default_rng([int(number), zlib.crc32(f"{tier}/{family}".encode())])
    low, high = SIZES[tier]
    size = int(np.exp(rng.uniform(np.log(low), np.log(high))))
    K, gamma = int(rng.integers(1, 6)), float(rng.choice(GAMMAS[1 if tier == "large" else 0 :]))
    kind, style = str(rng.choice(KINDS)), str(rng.choice(STYLES))
    if kind == "brink" and tier == "large":
        kind = "tight"
    kind_of_start = str(rng.choice(STARTS))
    structure = _styled(FAMILIES[family](size, K, rng), style, rng)
    start = start_of(structure, kind_of_start, rng)
    if kind == "brink":
        model = _brink(structure, start, gamma, rng)
    else:
        model = constrained(structure, start, gamma=gamma, limits=kind, rng=rng)
    shares = bool(rng.integers(4) == 3)
    gap = float(rng.choice([1e-8, 1e-8, 1e-6, 1e-10])) if gamma < 0.999 else 1e-8
    words = f"S={model.num_states} K={K} γ={gamma:g} {kind} {style} {kind_of_start} gap={gap:g}"
    return Problem(model, shares, gap, words + " pool" * shares)


def _styled(structure: Structure, style: str, rng: np.random.Generator) -> Structure:
    """Ties everywhere, costs on unlike scales, costs of both signs, or rewards nearly nowhere."""
    r, f = structure.r, structure.cost
    if style == "integers":
        r, f = np.round(2.0 * r), np.ceil(f)
    if style == "scaled":
        f = f * np.power(10.0, rng.integers(-4, 5, (len(f), 1, 1)))
        r = r * 10.0 ** float(rng.integers(-3, 4))
    if style == "signed":
        f = f - rng.uniform(0.0, 0.5, f.shape)
    if style == "sparse reward":
        r = np.where(rng.random(r.shape) < 0.1, r, 0.0)
    return Structure(structure.T, r, f, structure.far, structure.tangled)


def _brink(structure: Structure, start: np.ndarray, gamma: float, rng: np.random.Generator) -> CMDP:
    """Limits at the exact costs of the safest policy."""
    dynamics, f = Dynamics(structure, gamma, start), structure.cost
    wide = np.full(len(f), 1e9)
    model = CMDP(structure.T, structure.r, cost=f, limit=wide, start=start, gamma=gamma)
    actions = dynamics.best(-f.sum(axis=0))[0]
    costs = exact_worth(model, np.eye(model.num_actions)[actions])[1:]
    beside = Fraction(float(rng.choice(BESIDE)))
    return model._with_costs(f, np.array([float(cost + abs(cost) * beside) for cost in costs]))
