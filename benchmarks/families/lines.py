"""Structures along a line: corridors, rings, trees, inventories, nearly uncontrolled walks."""

from __future__ import annotations

import numpy as np

from benchmarks.families.structure import Moves, Structure, hazards, transitions

#: Children of a node of a tree.
BRANCHES = 3
#: Largest demand and largest order of an inventory, per step.
DEMAND, ORDERS = 9, 5
#: Share of states in which a nearly uncontrolled walk can be steered.
STEERED = 0.02


def corridor(size: int, num_costs: int, rng: np.random.Generator) -> Structure:
    """A goal at the end of a chain; back, ahead, or ahead with care: half the speed and cost."""
    S = max(3, size)
    own = np.arange(S)
    moving = own < S - 1
    back = np.where(moving, np.maximum(own - 1, 0), own)
    ahead = np.minimum(own + 1, S - 1)
    moves = _line_moves((back, ahead), chances=((0.9, 0.1), (0.1, 0.9), (0.05, 0.5)))
    f = hazards(num_costs, moving=moving, num_actions=3, rng=rng)
    f[:, :, 2] *= 0.4
    r = np.repeat(np.where(moving, -1.0, 0.0)[:, None], 3, axis=1)
    return Structure(transitions(moves, num_states=S, num_actions=3), r, f)


def catastrophe(size: int, num_costs: int, rng: np.random.Generator) -> Structure:
    """A chain that pays more the further one is; who hurries may lose all, and begins anew."""
    S = max(3, size)
    own = np.arange(S)
    ahead, back = np.minimum(own + 1, S - 1), np.maximum(own - 1, 0)
    moves: list[Moves] = []
    for action, (on, lost) in enumerate(((0.9, 1e-3), (0.5, 1e-4), (0.1, 1e-6))):
        for place, chance in ((ahead, on), (0 * own, lost), (back, 0.05)):
            moves.append((own * 3 + action, place, np.full(S, chance)))
        moves.append((own * 3 + action, own, np.full(S, 0.95 - on - lost)))
    f = hazards(num_costs, moving=np.ones(S, dtype=bool), num_actions=3, rng=rng)
    f *= np.array([1.0, 0.6, 0.3])
    r = np.repeat(((own / S) * rng.uniform(0.8, 1.0, S))[:, None], 3, axis=1)
    return Structure(transitions(moves, num_states=S, num_actions=3), r, f)


def ring(size: int, num_costs: int, rng: np.random.Generator) -> Structure:
    """A circle on which a few places pay; left, right, or rest."""
    S = max(3, size)
    own = np.arange(S)
    sides = (own - 1) % S, (own + 1) % S
    moves = _line_moves(sides, chances=((0.8, 0.1), (0.1, 0.8), (0.1, 0.1)))
    pay = np.where(rng.random(S) < 0.03, rng.uniform(0.2, 1.0, S), 0.0)
    pay[int(rng.integers(S))] = 1.0
    f = hazards(num_costs, moving=np.ones(S, dtype=bool), num_actions=3, rng=rng)
    r = np.repeat(pay[:, None], 3, axis=1)
    return Structure(transitions(moves, num_states=S, num_actions=3), r, f)


def _line_moves(
    sides: tuple[np.ndarray, np.ndarray], *, chances: tuple[tuple[float, float], ...]
) -> list[Moves]:
    """Per action, the chances of either side; otherwise one stays."""
    own, actions = np.arange(sides[0].size), len(chances)
    found: list[Moves] = []
    for action, (left, right) in enumerate(chances):
        stays = 1.0 - left - right
        for place, chance in ((sides[0], left), (sides[1], right), (own, stays)):
            if chance > 1e-12:
                found.append((own * actions + action, place, np.full(own.size, chance)))
    return found


def tree(size: int, num_costs: int, rng: np.random.Generator) -> Structure:
    """Down a tree by choosing children; leaves pay and lead back to the root."""
    S = max(1 + BRANCHES, size)
    own = np.arange(S)
    leaf = own * BRANCHES + 1 >= S
    children = [np.where(leaf, 0, np.minimum(own * BRANCHES + 1 + b, S - 1)) for b in range(3)]
    slip = 0.1 / (BRANCHES - 1)
    moves = [
        (own * BRANCHES + a, children[b], np.full(S, 0.9 if a == b else slip))
        for a in range(BRANCHES)
        for b in range(BRANCHES)
    ]
    pay = np.where(leaf, rng.uniform(0.0, 1.0, S), 0.0)
    f = hazards(num_costs, moving=np.ones(S, dtype=bool), num_actions=BRANCHES, rng=rng)
    f[:, ~leaf, 1:] *= 0.5  # a cheaper way down
    r = np.repeat(pay[:, None], BRANCHES, axis=1)
    return Structure(transitions(moves, num_states=S, num_actions=BRANCHES), r, f)


def inventory(size: int, num_costs: int, rng: np.random.Generator) -> Structure:
    """Stock, random demand, and orders of several sizes: sales pay, stock and orders cost.

    The first cost is storage, the second orders, the others lost sales beyond levels of their own.
    """
    S = max(DEMAND + 2, size)
    own, A = np.arange(S), ORDERS
    order = np.linspace(0, min(2 * DEMAND, S - 1), A).astype(int)
    demand = rng.dirichlet(np.full(DEMAND + 1, 2.0))
    stock = np.minimum(own[:, None] + order[None, :], S - 1)
    pairs = (own[:, None] * A + np.arange(A)[None, :]).ravel()
    moves: list[Moves] = [
        (pairs, np.maximum(stock - d, 0).ravel(), np.full(pairs.size, chance))
        for d, chance in enumerate(demand)
    ]
    sold = sum(c * np.minimum(stock, d) for d, c in enumerate(demand))
    lost = sum(c * np.maximum(d - stock, 0) for d, c in enumerate(demand))
    price = rng.uniform(0.2, 0.4, A)[None, :] * order[None, :]
    r = (sold - 0.5 * np.broadcast_to(price, stock.shape)) / DEMAND
    storage = np.minimum(stock / (4.0 * DEMAND), 1.0)
    rows = [storage, np.broadcast_to(order / order.max(), stock.shape)]
    weights = rng.uniform(0.5, 1.5, max(num_costs, 2))
    rows += [lost * weights[k] / DEMAND + 0.1 * k * storage for k in range(2, num_costs)]
    f = np.array([np.asarray(row, dtype=float) for row in rows[:num_costs]])
    return Structure(transitions(moves, num_states=S, num_actions=A), r, f)


def uncontrolled(size: int, num_costs: int, rng: np.random.Generator) -> Structure:
    """A random walk that can be steered in one state in fifty; elsewhere all actions are equal."""
    S = max(5, size)
    own = np.arange(S)
    reach = [(own + step) % S for step in (-2, -1, 1, 2)]
    chances = rng.dirichlet(np.ones(4), size=S)
    steered = rng.random(S) < STEERED
    steered[int(rng.integers(S))] = True
    moves: list[Moves] = []
    for action in range(3):
        for k, place in enumerate(reach):
            biased = np.where(k < 2, (0.1, 0.25, 0.4)[action], (0.4, 0.25, 0.1)[action])
            moves.append((own * 3 + action, place, np.where(steered, biased, chances[:, k])))
    f = hazards(num_costs, moving=np.ones(S, dtype=bool), num_actions=3, rng=rng)
    r = np.repeat(rng.uniform(0.0, 1.0, S)[:, None], 3, axis=1)
    return Structure(transitions(moves, num_states=S, num_actions=3), r, f)
