"""The benchmark model, an n×n grid with hazards, and private draws of its hazard row.

Four slippery moves, an absorbing goal, a cost for every step (the same everywhere, or rough
terrain) and K rows of hazards. The tolerance of each row lies half-way between the cost of the
policy that ignores hazards and that of the policy that heeds nothing else, so it binds, and half of
either policy shows that it can be kept.
"""

from __future__ import annotations

import warnings

import numpy as np
from scipy import sparse

from dp_cmdp.accounting.budget import PrivacyBudget
from dp_cmdp.cmdp.model import CMDP
from dp_cmdp.cmdp.parametric import ParametricCMDP
from dp_cmdp.data.database import Database
from dp_cmdp.data.envelope import Envelope
from dp_cmdp.errors import PrivacyWarning
from dp_cmdp.release.entries import release_database

SLIP = 0.2
HAZARDS = 0.15
#: Weight of hazards for the policy that is nearly indifferent to them.
TIE = 1e-3
MOVES = ((-1, 0), (0, 1), (1, 0), (0, -1))
#: Radius of a severity, and of the tolerance relative to itself: those of the shipped layouts.
RADIUS = 0.1

#: Costs (K, S, A) and tolerances (K,).
Draw = tuple[np.ndarray, np.ndarray]


def grid_cmdp(
    n: int,
    *,
    seed: int = 0,
    gamma: float = 0.99,
    num_constraints: int = 1,
    rough: bool = False,
    binding: bool = True,
) -> CMDP:
    """The grid with binding tolerances, or with tolerance 0 where nobody solves it.

    On `rough` terrain a step costs between 1/2 and 3/2 instead of 1; large rough grids have valleys
    in which it pays to stay, which slows every iterative method down.
    """
    rng = np.random.default_rng(seed)
    cells, goal = n * n, n * n - 1
    moving = np.arange(cells) < goal
    step_cost = rng.uniform(0.5, 1.5, cells) if rough else np.ones(cells)
    r = np.where(moving, -step_cost, 0.0)
    rows = []
    for _ in range(num_constraints):
        hazard = moving & (rng.random(cells) < HAZARDS)
        rows.append(np.where(hazard, rng.uniform(0.5, 1.0, cells), 0.0))
    f = np.repeat(np.array(rows)[:, :, None], len(MOVES), axis=2)
    mu = np.where(moving, 1.0 / goal, 0.0)
    reward = np.repeat(r[:, None], len(MOVES), axis=1)
    free = np.zeros(num_constraints)
    model = CMDP(_transitions(n), reward, f=f, f0=free, mu=mu, gamma=gamma)
    return model.with_constraints(f, _binding_tolerances(model)) if binding else model


def _transitions(n: int) -> sparse.csr_array:
    """(n²·4, n²): ahead with probability 1 − SLIP, else to either side; walls hold."""
    states = np.arange(n * n)
    row, column = np.divmod(states, n)
    landing = [
        np.clip(row + down, 0, n - 1) * n + np.clip(column + right, 0, n - 1)
        for down, right in MOVES
    ]
    goal = n * n - 1
    moving = states[:goal]
    pairs, successors, chances = [goal * 4 + np.arange(4)], [np.full(4, goal)], [np.ones(4)]
    for action in range(4):
        for turn, chance in ((0, 1.0 - SLIP), (1, SLIP / 2), (3, SLIP / 2)):
            pairs.append(moving * 4 + action)
            successors.append(landing[(action + turn) % 4][:goal])
            chances.append(np.full(goal, chance))
    entries = np.concatenate(chances), (np.concatenate(pairs), np.concatenate(successors))
    return sparse.csr_array(entries, shape=(4 * n * n, n * n))


def _binding_tolerances(model: CMDP) -> np.ndarray:
    """Half-way between the costs of indifference and of utmost caution.

    Ties of the indifferent policy are broken towards low cost, so that the problem does not depend
    on which of its optimal policies a solver finds.
    """
    total = model.f.sum(axis=0)
    return 0.5 * (_costs(model, model.r - TIE * total) + _costs(model, -total))


def _costs(model: CMDP, reward: np.ndarray) -> np.ndarray:
    """Costs of the policy that is best for one reward."""
    from dp_cmdp.cmdp.solvers.pool import PolicyPool

    free = np.full(model.num_constraints, 1e9)
    other = CMDP(model.T, reward, f=model.f, f0=free, mu=model.mu, gamma=model.gamma)
    return PolicyPool(other).solve(model.f, free, gap=1e-7).costs


def private_grid(model: CMDP, *, radius: float = RADIUS) -> tuple[ParametricCMDP, Database]:
    """The severities of a grid and its tolerance as a private database."""
    severity = model.f[0, :, 0]
    candidates = np.flatnonzero(severity)
    f0 = float(model.f0[0]) or 1.0
    program = ParametricCMDP.for_states(
        model,
        candidates,
        severity=Envelope(0.0, 1.0, radius=radius, shape=candidates.size),
        tolerance=Envelope(0.5 * f0, 1.5 * f0, radius=radius * f0, shape=1),
    )
    values = {"severity": severity[candidates], "tolerance": [f0]}
    return program, Database(values, program.envelope)


def private_draws(model: CMDP, number: int, *, radius: float = RADIUS) -> list[Draw]:
    """(f, f0) of the tightened models of simulated releases, each row at ε = 1, δ = 1/10."""
    rng = np.random.default_rng(1)
    rows = []
    for f, f0 in zip(model.f, model.f0, strict=True):
        program, database = private_grid(model.with_constraints(f, f0), radius=radius)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PrivacyWarning)
            budget = PrivacyBudget(1, "1/10")
            releases = (release_database(database, budget, rng=rng) for _ in range(number))
            rows.append([program.tightened(release) for release in releases])
    return [
        (np.concatenate([m.f for m in draw]), np.concatenate([m.f0 for m in draw]))
        for draw in zip(*rows, strict=True)
    ]
