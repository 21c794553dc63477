"""One model of a family, named by a key from which it can be built again."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benchmarks.families.graphs import absorbing, cliques, deterministic, garnet, hubs
from benchmarks.families.lines import catastrophe, corridor, inventory, ring, tree, uncontrolled
from benchmarks.families.planes import grid, maze, open_grid, queues, rooms, rough_grid
from benchmarks.families.planning import Dynamics
from benchmarks.families.structure import Floats, Structure, distribution
from dp_cmdp import CMDP

#: From (size, number of costs, randomness) to a structure of about that many states.
FAMILIES: dict[str, Callable[[int, int, np.random.Generator], Structure]] = {
    "grid": grid,
    "rough": rough_grid,
    "open": open_grid,
    "maze": maze,
    "rooms": rooms,
    "corridor": corridor,
    "ring": ring,
    "tree": tree,
    "garnet": garnet,
    "absorbing": absorbing,
    "deterministic": deterministic,
    "uncontrolled": uncontrolled,
    "queues": queues,
    "inventory": inventory,
    "cliques": cliques,
    "catastrophe": catastrophe,
    "hubs": hubs,
}
GAMMAS = (0.9, 0.99, 0.999, 0.9999)
LIMITS = ("tight", "loose", "redundant", "infeasible")
STARTS = ("uniform", "single", "sparse")
#: Seeds on which constants of the solver are chosen, and seeds on which its times are reported.
CHOOSING = (0, 1, 2, 3)
REPORTING = (100, 101, 102)
#: How far just infeasible limits lie below what is possible, and how far loose ones above what
#: the best policy needs, relative to the largest cost at stake.
SHORT, WIDE = 1e-4, 0.05
#: Weight of the costs for the policy that is nearly indifferent to them: it breaks ties.
TIE = 1e-3


@dataclass(frozen=True, slots=True)
class Case:
    """A family, its size and discount, its costs and how tight they are, its start and a seed.

    Limits: *tight* ones lie between the costs of the policy that ignores costs and of the one
    that heeds nothing else, so that they bind and a mixture of both keeps them; *loose* ones do not
    bind; with *redundant* ones the last row follows from the others (or, alone, costs the same
    whatever is done); *infeasible* ones are missed by a little (1e-4, relative) by every policy.
    """

    family: str
    size: int
    gamma: float = 0.99
    costs: int = 1
    limits: str = "tight"
    start: str = "uniform"
    seed: int = 0

    @classmethod
    def of(cls, key: str) -> Case:
        """The case of a key such as ``grid/1000/0.99/1/tight/uniform/0``."""
        family, size, gamma, costs, limits, start, seed = key.split("/")
        return cls(family, int(size), float(gamma), int(costs), limits, start, int(seed))

    @property
    def key(self) -> str:
        parts = (self.family, self.size, f"{self.gamma:g}", self.costs, self.limits)
        return "/".join(map(str, (*parts, self.start, self.seed)))

    def build(self) -> CMDP:
        """The model; the same key always gives the same one."""
        label = zlib.crc32(self.family.encode())
        # structure and costs do not depend on discount, limits and start
        rng = np.random.default_rng([self.seed, label, self.size])
        structure = FAMILIES[self.family](self.size, self.costs, rng)
        start = start_of(structure, self.start, rng)
        return constrained(structure, start, gamma=self.gamma, limits=self.limits, rng=rng)


def start_of(structure: Structure, kind: str, rng: np.random.Generator) -> Floats:
    """Uniform over the states that can be left, one far state, or about √S random states."""
    moving = ~structure.ends
    weights = moving.astype(float)
    if kind == "single":
        weights = np.zeros(moving.size)
        weights[structure.far if moving[structure.far] else np.flatnonzero(moving)[0]] = 1.0
    if kind == "sparse":
        chosen = rng.choice(np.flatnonzero(moving), int(np.sqrt(moving.sum())) or 1, replace=False)
        weights = np.zeros(moving.size)
        weights[chosen] = rng.uniform(0.1, 1.0, chosen.size)
    return distribution(weights)


def constrained(
    structure: Structure, start: Floats, *, gamma: float, limits: str, rng: np.random.Generator
) -> CMDP:
    """The model with limits of one kind."""
    cost = structure.cost
    if limits == "redundant":
        cost = np.array(cost)
        cost[-1] = cost[:-1].mean(axis=0) if len(cost) > 1 else 1.0
    dynamics = Dynamics(structure, gamma, start)
    total = cost.sum(axis=0)
    safe, _, highest = dynamics.best(-total)
    least = dynamics.costs(safe, cost)
    if limits == "infeasible":
        scale = max(float(np.abs(least).max()), float(np.abs(cost).max()))
        short = SHORT * scale + (float(least.sum()) + highest)  # −highest bounds the least sum
        limit = least - short / len(cost) * rng.uniform(1.0, 1.5)
        return _model(structure, start, gamma, cost, limit)
    bold = dynamics.costs(dynamics.best(structure.r - TIE * total)[0], cost)
    room = 1e-9 * np.maximum(np.abs(bold), np.abs(least))
    if limits == "loose":
        limit = bold + WIDE * np.maximum(np.abs(bold), np.abs(least)) + room
    else:
        limit = least + rng.uniform(0.3, 0.7) * (bold - least) + room
    if limits == "redundant":
        limit[-1] = limit[:-1].mean() if len(cost) > 1 else limit[-1]
    return _model(structure, start, gamma, cost, limit)


def _model(structure: Structure, start: Floats, gamma: float, cost: Floats, limit: Floats) -> CMDP:
    return CMDP(structure.T, structure.r, cost=cost, limit=limit, start=start, gamma=gamma)
