"""Private answers keep the true constraints: counted in fractions, with exact noise, at random.

Problems are drawn so that the constraints bind: records of several entries or shared ones, entries
in several rows and on both sides, sizes from 1e-6 to 1e6, every strategy.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import dp_cmdp as dp
from tests.cmdp.models import solved

STRATEGIES = ("auto", "entries", "queries", "worst row")
EPSILONS = ("1/10", "1", "4", "20")
DRAWS = [pytest.param(range(25), id="few")] + [
    pytest.param(range(100 * k, 100 * (k + 1)), id=f"hundreds {k}", marks=pytest.mark.long)
    for k in range(1, 11)
]


def envelope_of(rng: np.random.Generator, size: int, scale: float) -> dp.Envelope:
    low = rng.uniform(0.1, 1.0, size) * scale
    high = low * rng.uniform(1.5, 4.0, size)
    bounds: dict[str, Any] = {"radius": (high - low) * rng.uniform(0.02, 1.0, size)}
    kind = rng.integers(4)
    if kind == 1:
        bounds["records"] = rng.integers(0, 3, size).tolist()
    elif kind == 2:
        bounds["entries_per_record"] = 2
    elif kind == 3:
        shared = sparse.diags_array(bounds.pop("radius")).toarray()
        shared[0] = (high - low) * (rng.random(size) < 0.5) + shared[0]
        bounds["change"] = np.minimum(shared, high - low)
    return dp.Envelope(low, high, **bounds)


def asked_of(rng: np.random.Generator, *, data: bool = True) -> dict[str, Any]:
    pair = {"epsilon": str(rng.choice(EPSILONS)), "delta": "1/1000"}
    return pair | {"strategy": str(rng.choice(STRATEGIES))} if data else pair


@pytest.mark.parametrize("draws", DRAWS)
def test_private_answers_of_programs_keep_the_true_rows(draws: range) -> None:
    better = 0
    for seed in draws:
        rng = np.random.default_rng(seed)
        rows, columns = (int(count) for count in rng.integers(1, 5, 2))
        size = int(rng.integers(2, 9))
        theta = envelope_of(rng, size, 10.0 ** rng.integers(-6, 7))
        low, high = theta.lower, theta.upper
        read = rng.integers(0, size, (rows, columns))
        factor = rng.choice([0.3, 1.0, -0.1], (rows, columns), p=[0.3, 0.6, 0.1])
        factor[:, 0] = 1.0
        side = rng.integers(0, size, rows)
        A = [
            [float(f) * theta[int(k)] for k, f in zip(*row, strict=True)]
            for row in zip(read, factor, strict=True)
        ]
        lp = dp.ParametricLP(
            maximize=rng.uniform(0.5, 2.0, columns),
            A=A,
            b=[0.7 * theta[int(k)] for k in side],
            upper=rng.choice([0.5, 1.0, 3.0], columns),
        )
        truth = np.clip(low + rng.random(size) * (high - low), low, high)
        found = dp.solve(lp, truth, **asked_of(rng))
        assert found.certificate.verified
        better += found.value > found.robust.value
        x, exact = [Fraction(z) for z in found.x.tolist()], [Fraction(v) for v in truth.tolist()]
        assert all(0 <= z <= Fraction(top) for z, top in zip(x, lp.upper.tolist(), strict=True))
        for row, k in zip(zip(read, factor, strict=True), side.tolist(), strict=True):
            terms = zip(*row, x, strict=True)
            left = sum(Fraction(float(f)) * exact[int(j)] * z for j, f, z in terms)
            assert left <= Fraction(0.7) * exact[k]
        assert truth in found.release.uncertainty
    assert better >= len(draws) / 5


def exact_cost(model: Any, policy: Any, severity: list[Fraction], states: list[int]) -> Fraction:
    """Discounted cost of a policy that pays in `states`, by elimination in fractions."""
    S, A = model.r.shape
    P = model.T.toarray().reshape(S, A, S)
    gamma = Fraction(model.gamma)
    rows = []
    for s in range(S):
        weights = [Fraction(p) for p in policy.probabilities[s].tolist()]
        whole = sum(weights)
        row = [Fraction(int(s == t)) for t in range(S)]
        for a, weight in enumerate(weights):
            chances = [Fraction(p) for p in P[s, a].tolist()]
            for t, chance in enumerate(chances):
                row[t] -= gamma * weight / whole * chance / sum(chances)
        paid = severity[states.index(s)] if s in states else Fraction(0)
        rows.append([*row, paid])
    costs: Any = solved([row[:-1] for row in rows], [row[-1] for row in rows])
    start = [Fraction(p) for p in model.start.tolist()]
    return sum((p * cost for p, cost in zip(start, costs, strict=True)), Fraction(0))


@pytest.mark.parametrize("draws", DRAWS)
def test_private_policies_keep_the_true_limits(draws: range) -> None:
    binding = 0
    for seed in draws:
        rng = np.random.default_rng(10**6 + seed)
        S, A, private = int(rng.integers(4, 7)), int(rng.integers(2, 4)), 2
        T = rng.integers(0, 3, (S, A, S)) / 64.0
        T[:, :, 0] = 1.0 - T[:, :, 1:].sum(axis=2)
        states = [S - 2, S - 1]
        r = rng.random((S, A)) + 3.0 * (T[:, :, states].sum(axis=2))
        known = envelope_of(rng, private, 1.0)
        # the lowest limit is a little above what a careful policy pays at worst
        cautious = dp.ParametricCMDP(
            T, r, gamma=0.9, costs=dp.PrivateCost(known, 1e6, states=states)
        )
        free = dp.CMDP(
            T, -cautious.worst(known.uncertainty).cost[0], cost=0 * r, limit=1, gamma=0.9
        )
        floor = 0.02 - dp.answer(free).value
        limit = dp.Envelope(1.02 * floor, 2 * floor, radius=0.1 * floor)
        costs = dp.PrivateCost(known, limit, states=states)
        model = dp.ParametricCMDP(T, r, gamma=0.9, costs=costs)
        box = model.envelope
        truth = np.clip(box.lower + rng.random(box.size) * (box.upper - box.lower), 0, box.upper)
        found = dp.solve(model, truth, **asked_of(rng))
        assert found.certificate.verified
        exact = [Fraction(v) for v in truth.tolist()]
        cost = exact_cost(model, found.policy, exact[:private], states)
        assert cost <= exact[private]
        binding += found.value > found.robust.value
    assert binding >= len(draws) / 5


def test_elimination_finds_what_is_too_costly() -> None:
    cost = dp.PrivateCost(dp.Envelope(0, 1), dp.Envelope(1, 4), states=[1])
    model = dp.ParametricCMDP([[[0, 1]], [[0, 1]]], [[1.0], [1.0]], gamma=0.5, costs=cost)
    policy = dp.Policy.uniform(2, 1)
    assert exact_cost(model, policy, [Fraction(1)], [1]) == 1
    assert exact_cost(model, policy, [Fraction(3)], [1]) == 3
