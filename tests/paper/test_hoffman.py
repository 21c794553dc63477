"""Hoffman constants: known values, never exceeded, attained, refused when the system is large."""

from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import nnls

import dp_cmdp as dp
from paper.bounds.hoffman import _certificate, _inverse_norms, hoffman_constant


def distance(z, G, g, C, d) -> float:
    """Euclidean distance of z from {Gx ≤ g, Cx = d}: least-distance programming by NNLS."""
    rows = -np.vstack([G, C, -C])
    sides = -np.concatenate([g, d, -d]) - rows @ z  # rows·y ≥ sides for y = x − z
    stacked = np.vstack([rows.T, sides])
    target = np.append(np.zeros(z.size), 1.0)
    residual = stacked @ nnls(stacked, target, maxiter=10_000)[0] - target
    return float(np.linalg.norm(residual[:-1] / residual[-1]))


@pytest.mark.parametrize(
    ("G", "expected"),
    [
        (np.eye(3), 1.0),
        ([[3.0, 4.0]], 0.2),
        ([[1.0], [-1.0]], 1.0),
        # two half-planes meeting at angle 2φ: the worst direction is their bisector
        ([[1.0, 0.1], [-1.0, 0.1]], 1 / (0.1 * np.sqrt(2))),
    ],
)
def test_hoffman_constants_of_known_systems(G, expected):
    assert hoffman_constant(G) == pytest.approx(expected)


def test_an_equality_row_counts():
    assert hoffman_constant(np.zeros((0, 2)), [[0.0, 0.5]]) == pytest.approx(2.0)


@pytest.mark.parametrize("equalities", [0, 1])
def test_no_point_is_further_away_than_the_constant_says(equalities):
    rng = np.random.default_rng(equalities)
    for _ in range(6):
        G, C = rng.normal(size=(5, 3)), rng.normal(size=(equalities, 3))
        H = hoffman_constant(G, C)
        for _ in range(15):
            inside = rng.normal(size=3)
            g = G @ inside + np.where(rng.random(5) < 0.6, 0.0, rng.random(5))
            z = inside + rng.normal(size=3)
            residual = np.concatenate([np.maximum(G @ z - g, 0.0), C @ z - C @ inside])
            far = distance(z, G, g, C, C @ inside)
            assert far <= H * np.linalg.norm(residual) * (1 + 1e-5) + 1e-6


@pytest.mark.parametrize("equalities", [0, 1])
def test_the_constant_is_attained(equalities):
    rng = np.random.default_rng(10 + equalities)
    for _ in range(5):
        G, C = rng.normal(size=(5, 3)), rng.normal(size=(equalities, 3))
        H = hoffman_constant(G, C)
        best, worst = (), 0.0
        for size in range(4 - equalities):
            for K in combinations(range(5), size):
                if _certificate(G, C, frozenset(K)) is None:
                    value = _inverse_norms(G, C, supports=[K])[0]
                    best, worst = (K, value) if value > worst else (best, worst)
        assert worst == pytest.approx(H)
        M = np.vstack([G[list(best)], C])
        vector = np.linalg.eigh(M @ M.T)[1][:, 0]
        v = vector if vector[: len(best)].sum() >= 0 else -vector
        g = np.full(5, 1e3)
        g[list(best)] = -v[: len(best)]
        far = distance(np.zeros(3), G, g, C, -v[len(best) :])
        assert far == pytest.approx(H, rel=1e-4)  # the residual at 0 has norm 1


def test_a_large_system_is_refused():
    G = np.random.default_rng(3).integers(-3, 4, size=(40, 12)).astype(float)
    with pytest.raises(dp.errors.RefusedError, match="too many rows"):
        hoffman_constant(G, max_programs=20)
