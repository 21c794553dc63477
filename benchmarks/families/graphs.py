"""Structures without geometry: Garnets, models full of ends, deterministic graphs."""

from __future__ import annotations

import numpy as np

from benchmarks.families.structure import Moves, Structure, hazards, transitions

#: Actions, and successors per action, of a Garnet.
ACTIONS, SUCCESSORS = 4, 5
#: Share of absorbing states where there are many.
ENDS = 0.4


def garnet(size: int, num_costs: int, rng: np.random.Generator) -> Structure:
    """Random successors with random chances; rewards and costs of every pair are random."""
    S = max(2, size)
    moves = _random_moves(S, SUCCESSORS, rng=rng)
    shape = (S, ACTIONS)
    T = transitions(moves, num_states=S, num_actions=ACTIONS)
    r, f = rng.uniform(0.0, 1.0, shape), rng.uniform(0.0, 1.0, (num_costs, *shape))
    return Structure(T, r, f, tangled=True)


def absorbing(size: int, num_costs: int, rng: np.random.Generator) -> Structure:
    """A random graph in which two states of five are ends; some of them pay or cost for ever."""
    S = max(4, size)
    ends = rng.random(S) < ENDS
    ends[:2] = False, True
    moves = _random_moves(S, 2, rng=rng)
    own = np.repeat(np.arange(S) * ACTIONS, ACTIONS) + np.tile(np.arange(ACTIONS), S)
    own_state = own // ACTIONS
    stays = ends[own_state]
    kept = [(p[~ends[p // ACTIONS]], t[~ends[p // ACTIONS]], c[~ends[p // ACTIONS]])
            for p, t, c in moves]  # fmt: skip
    moves = [*kept, (own[stays], own_state[stays], np.ones(int(stays.sum())))]
    paid = np.where(ends, rng.choice([0.0, 0.0, 0.5, 1.0], S), rng.uniform(-0.5, 0.5, S))
    f = hazards(num_costs, moving=np.ones(S, dtype=bool), num_actions=ACTIONS, rng=rng)
    r = np.repeat(paid[:, None], ACTIONS, axis=1)
    T = transitions(moves, num_states=S, num_actions=ACTIONS)
    return Structure(T, r, f, tangled=True)


def deterministic(size: int, num_costs: int, rng: np.random.Generator) -> Structure:
    """Every action has one successor: the next state, the last, or a random one."""
    S = max(3, size)
    own = np.arange(S)
    targets = [(own + 1) % S, (own - 1) % S, rng.integers(S, size=S), rng.integers(S, size=S)]
    moves: list[Moves] = [
        (own * ACTIONS + a, target, np.ones(S)) for a, target in enumerate(targets)
    ]
    pay = np.where(rng.random(S) < 0.1, rng.uniform(0.2, 1.0, S), 0.0)
    pay[int(rng.integers(S))] = 1.0
    f = hazards(num_costs, moving=np.ones(S, dtype=bool), num_actions=ACTIONS, rng=rng)
    r = np.repeat(pay[:, None], ACTIONS, axis=1)
    return Structure(transitions(moves, num_states=S, num_actions=ACTIONS), r, f)


def _random_moves(num_states: int, successors: int, *, rng: np.random.Generator) -> list[Moves]:
    pairs = np.arange(num_states * ACTIONS)
    chances = rng.standard_exponential((successors, pairs.size)) + 0.01
    return [(pairs, rng.integers(num_states, size=pairs.size), c) for c in chances]
