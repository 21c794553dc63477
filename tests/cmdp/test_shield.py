"""The expected cost of an episode under a shield, against the worst learner there is, in fractions.

A learner may propose what it likes, having seen everything that happened. Its worst is found by
dynamic programming over (step, state, bank), for every extreme database of the set; after the last
step it asks for the certified policy for ever, unless that is the horizon. The bank is moved by the
code that the shield runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import dp_cmdp as dp
from dp_cmdp._src.cmdp.shield import Guard
from tests.cmdp.models import known_set, solved, vertices

STEPS, MODELS = 4, 100


def shielded(seed: int) -> tuple[dp.ParametricCMDP, dp.Policy, Any]:
    """A model with one or two costs under one of the criteria, a policy with some room, and a box
    or a polytope. Of total costs there is one state more, where the episode has ended."""
    rng = np.random.default_rng(seed)
    K, states, entries = 1 + seed % 2, 2, 2
    theta = dp.Envelope(0.0, 1.0, shape=entries)
    lower = rng.uniform(0, 0.3, entries)
    W, q = np.ones((1, entries)), np.array([lower.sum() + rng.uniform(0.3, 0.8)])
    known = known_set(lower, np.ones(entries), *((W, q) if seed % 4 >= 2 else ()))
    size = (STEPS, states) if seed % 3 == 1 else states + (seed % 3 == 2)
    policy = dp.Policy(rng.dirichlet(np.full(2, 0.7), size=size))

    def model(limits: Any) -> dp.ParametricCMDP:
        rng = np.random.default_rng(1000 + seed)
        ends = int(seed % 3 == 2)
        wide = states + ends
        live = (np.arange(wide) < states)[:, None]
        costs = {}
        for k in range(K):
            table = sum(theta[j] * (live * rng.uniform(0, 1, (wide, 2))) for j in range(entries))
            limit = limits[k] + theta[0] * float(rng.uniform(-0.1, 0.1))
            costs[f"kind{k}"] = dp.PrivateCost(table, limit)
        T = rng.dirichlet(np.full(states, 0.5), size=(wide, 2))
        start = rng.dirichlet(np.full(states, 0.5))
        gamma = float(rng.choice([0.5, 0.9]))
        r = live * rng.uniform(0, 1, (wide, 2))
        if ends:
            T = np.concatenate([0.8 * T, np.full((wide, 2, 1), 0.2)], axis=2)
            T[states], start = np.eye(wide)[states], np.append(start, 0.0)
        criterion: Any = ({"gamma": gamma}, {"horizon": STEPS}, {"total": True})[seed % 3]
        return dp.ParametricCMDP(T, r, **criterion, start=start, costs=costs)

    excess = -model(np.zeros(K)).certify(policy, known).slack
    return model(excess + rng.uniform(0, 0.6, K)), policy, known


@dataclass
class Game:
    """The dearest way to propose actions, for one cost at one database."""

    model: dp.ParametricCMDP
    guard: Guard
    theta: list[Fraction]
    kind: int
    broken: str
    banks: dict[Any, Any]

    def __post_init__(self) -> None:
        mdp = self.model.mdp
        size, actions = mdp.num_states, mdp.num_actions
        T = [[Fraction(p) for p in row] for row in mdp.T.toarray().tolist()]
        self.moves = [[p / sum(row) for p in row] for row in T]
        start = [Fraction(p) for p in mdp.start.tolist()]
        self.start = [p / sum(start) for p in start]
        table = np.broadcast_to(self.guard.policy.probabilities, (STEPS, size, actions)).tolist()
        self.odds = [[[Fraction(p) / sum(map(Fraction, row)) for p in row] for row in own]
                     for own in table]  # fmt: skip
        flat = self.at(self.model.cost, size * actions)
        self.costs = [flat[s * actions : (s + 1) * actions] for s in range(size)]
        self.gamma, self.memo = Fraction(mdp.gamma), {}
        live = [self.moves[s * actions][s] != 1 for s in range(size)]
        odds = self.odds[-1]
        rows = [[Fraction(int(s == j)) - live[s] * self.gamma * sum(
                    odds[s][a] * self.moves[s * actions + a][j] for a in range(actions))
                 for j in range(size)] for s in range(size)]  # fmt: skip
        right = [sum((p * c for p, c in zip(odds[s], self.costs[s], strict=True)), Fraction(0))
                 for s in range(size)]  # fmt: skip
        self.last = [Fraction(0)] * size if mdp.horizon else solved(rows, right)

    def at(self, table: Any, width: int) -> list[Fraction]:
        """One row of an affine table at the database."""
        wide = table.reshape(-1, width)[self.kind]
        found = [Fraction(x) for x in wide.constant.toarray().ravel().tolist()]
        terms = zip(wide.row.tolist(), wide.entry.tolist(), wide.coefficient.tolist(), strict=True)
        for place, entry, factor in terms:
            found[place] += Fraction(factor) * self.theta[entry]
        return found

    def excess(self) -> Fraction:
        """Expected cost of the worst learner, less the limit."""
        bank = self.guard.first
        worst = [p * self.worst(0, s, bank) for s, p in enumerate(self.start)]
        return sum(worst, -self.at(self.model.limit, 1)[0])

    def worst(self, step: int, state: int, bank: np.ndarray) -> Fraction:
        if step == STEPS:
            assert self.last is not None
            return self.last[state]
        key = step, state, bank.tobytes()
        if key not in self.memo:
            self.memo[key] = self._worst(step, state, bank)
        return self.memo[key]

    def _worst(self, step: int, state: int, bank: np.ndarray) -> Fraction:
        guard, actions = self.guard, range(self.model.num_actions)
        key = step, state, bank.tobytes()
        if key not in self.banks:  # they are the same whatever the database
            allowed = np.flatnonzero(guard.allowed(bank, state, step)).tolist()
            spent = {a: guard.after(bank, state, a, step) for a in allowed}
            self.banks[key] = guard.after(bank, state, None, step), spent
        kept, spent = self.banks[key]

        def ahead(action: int, bank: np.ndarray) -> Fraction:
            row = self.moves[state * len(actions) + action]
            later = sum(p * self.worst(step + 1, j, bank) for j, p in enumerate(row) if p)
            return self.costs[state][action] + self.gamma * later

        proposed = [ahead(a, bank) for a, bank in spent.items()]
        drawn = {a: ahead(a, kept) for a in actions}
        if self.broken == "a draw of the policy is booked":
            drawn |= {a: ahead(a, bank) for a, bank in spent.items()}
        if self.broken == "draws are known before":
            drawn = {a: max([cost, *proposed]) for a, cost in drawn.items()}
        fallback = sum((self.odds[step][state][a] * c for a, c in drawn.items()), Fraction(0))
        if self.broken == "the bank is kept after a share of it was spent":
            dear = guard.advantages(state, step)[..., 0]
            for a in set(actions) - set(spent):
                with np.errstate(all="ignore"):
                    share = float(np.clip(np.min(bank[:, 0] / dear[a]), 0.0, 1.0))
                proposed.append(Fraction(share) * ahead(a, kept) + (1 - Fraction(share)) * fallback)
        return max([fallback, *proposed])


def guarded(model: dp.ParametricCMDP, policy: dp.Policy, known: Any) -> Guard:
    """The rule around a policy that is no answer."""
    found: Any = SimpleNamespace(problem=model, policy=policy, known=known, estimate=known.lower)
    return Guard(found)


def excesses(seed: int, broken: str = "") -> list[Fraction]:
    """Of every cost at every extreme database."""
    model, policy, known = shielded(seed)
    moved_by = known
    if broken == "true costs move the bank":
        true = (known.lower + known.upper) / 2 if known.is_box else known.lower
        moved_by = known_set(true, true)
    guard, banks = guarded(model, policy, moved_by), {}
    return [
        Game(model, guard, theta, kind, broken, banks).excess()
        for kind in range(len(model.names))
        for theta in vertices(known)
    ]


def test_no_learner_exceeds_a_limit_in_expectation_whatever_the_database():
    found = [max(excesses(seed)) for seed in range(MODELS)]
    assert max(found) <= 0
    # and the room between π and the limit can be spent
    assert sum(excess > Fraction(-1, 100) for excess in found) >= MODELS // 20


@pytest.mark.parametrize(
    "broken",
    [
        "a draw of the policy is booked",
        "the bank is kept after a share of it was spent",
        "draws are known before",
        "true costs move the bank",
    ],
)
def test_every_broken_rule_is_caught_by_the_worst_learner(broken: str):
    assert any(max(excesses(seed, broken)) > 0 for seed in range(MODELS))


def earned(model: dp.ParametricCMDP, policy: dp.Policy, guard: Guard, pick: Any) -> float:
    """The least (pick=min) or greatest return of learners that may only improve, over π's."""
    mdp, found = model.mdp, dp.evaluate(model.at(np.zeros(2)), policy)
    T = mdp.T.toarray().reshape(*mdp.r.shape, -1)
    last = found.value_function * (mdp.horizon is None)
    odds = np.broadcast_to(policy.probabilities, (STEPS, *mdp.r.shape))
    first = STEPS - 3 if mdp.horizon is None else 0

    def from_here(step: int, state: int, bank: np.ndarray) -> float:
        if step == STEPS:
            return last[state]

        def ahead(action: int, bank: np.ndarray) -> float:
            row = T[state, action]
            later = sum(row[j] * from_here(step + 1, j, bank) for j in np.flatnonzero(row).tolist())
            return mdp.r[state, action] + mdp.gamma * later

        kept = guard.after(bank, state, None, step)
        drawn = odds[step, state] @ [ahead(a, kept) for a in range(2)]
        may = guard.allowed(bank, state, step) & guard.improving(state, step)
        spent = {a: guard.after(bank, state, a, step) for a in np.flatnonzero(may).tolist()}
        return pick([drawn, *(ahead(a, bank) for a, bank in spent.items())])

    start = np.flatnonzero(mdp.start).tolist()
    return sum(mdp.start[s] * from_here(first, s, guard.first) for s in start) - found.value


def test_learners_that_may_only_improve_earn_no_less_than_the_policy():
    models = [shielded(seed) for seed in range(12)]
    gains = [
        [earned(model, policy, guarded(model, policy, known), pick) for pick in (min, max)]
        for model, policy, known in models
    ]
    assert min(least for least, _ in gains) >= -1e-9
    assert max(most for _, most in gains) > 0.1


def test_a_policy_without_room_is_played_for_ever():
    model, policy, known = shielded(0)
    tight = model.certify(policy, known).slack
    limit = dp.PrivateCost(model.cost[[0]].reshape(2, 2), model.limit[0] - 1.001 * float(tight[0]))
    other = dp.ParametricCMDP(model.T, model.r, gamma=model.gamma, start=model.start, costs=limit)
    guard = guarded(other, policy, known)
    assert guard.first[0, 0] == -np.inf
    later = guard.after(guard.first, 0, None)
    assert not any(guard.allowed(bank, s).any() for bank in (guard.first, later) for s in (0, 1))
