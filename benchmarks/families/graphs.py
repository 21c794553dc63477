"""Structures without geometry: Garnets, many ends, deterministic graphs, hubs, cliques."""

from __future__ import annotations

import numpy as np

from benchmarks.families.structure import Moves, Structure, hazards, transitions

#: Actions, and successors per action, of a Garnet.
ACTIONS, SUCCESSORS = 4, 5
#: States of a clique, and the chance to leave it.
CLIQUE, RARE = 10, 1e-3
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


def cliques(size: int, num_costs: int, rng: np.random.Generator) -> Structure:
    """Groups that mix at once, in a ring: one step in a thousand leads to the next, or to the last.

    Every group pays, and costs in one row: what is kept to is how long one stays where.
    """
    groups = max(3, size // CLIQUE)
    S = groups * CLIQUE
    own = np.arange(S)
    first = own // CLIQUE * CLIQUE
    moves: list[Moves] = []
    for action, way in enumerate((0, 1, -1, 0)):
        pairs, rare = own * ACTIONS + action, RARE * abs(way)
        moves += [(pairs, first + k, np.full(S, (1.0 - rare) / CLIQUE)) for k in range(CLIQUE)]
        if way:
            moves.append((pairs, (first + way * CLIQUE) % S, np.full(S, rare)))
    r = np.repeat(rng.uniform(0.0, 1.0, groups), CLIQUE)[:, None]
    r = r * rng.uniform(0.8, 1.0, (S, ACTIONS))
    row = np.repeat(rng.integers(num_costs, size=groups), CLIQUE)
    cost = (row == np.arange(num_costs)[:, None]) * rng.uniform(0.5, 1.0, S)
    f = np.repeat(cost[:, :, None], ACTIONS, axis=2)
    return Structure(transitions(moves, num_states=S, num_actions=ACTIONS), r, f)


def hubs(size: int, num_costs: int, rng: np.random.Generator) -> Structure:
    """Many places, each of which leads back to one of a few hubs, and hubs lead anywhere."""
    S = max(ACTIONS + 2, size)
    count = max(2, int(np.sqrt(S)) // 4)
    own, A = np.arange(S), ACTIONS
    moves: list[Moves] = []
    for action in range(A):
        pairs = own * A + action
        moves.append((pairs, rng.integers(count, size=S), np.full(S, 0.6)))
        moves.append((pairs, np.minimum(own + 1, S - 1), np.full(S, 0.4)))
        at = np.repeat(np.arange(count), S // count)
        anywhere = rng.integers(S, size=at.size)
        moves.append((at * A + action, anywhere, rng.standard_exponential(at.size)))
    r = rng.uniform(0.0, 1.0, (S, A)) * rng.uniform(0.0, 1.0, S)[:, None]
    f = rng.uniform(0.0, 1.0, (num_costs, S, A)) * (rng.random((num_costs, S, 1)) < 0.3)
    return Structure(transitions(moves, num_states=S, num_actions=A), r, f, tangled=True)


def _random_moves(num_states: int, successors: int, *, rng: np.random.Generator) -> list[Moves]:
    pairs = np.arange(num_states * ACTIONS)
    chances = rng.standard_exponential((successors, pairs.size)) + 0.01
    return [(pairs, rng.integers(num_states, size=pairs.size), c) for c in chances]
