"""The bound in extended precision is a bound, and tight where doubles are not."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from dp_cmdp.cmdp.solvers.refined_bound import STATES, refined_bound

GAMMA = 1 - 2.0**-10


def best_lagrangian(T, reward, gamma, start):
    """The best policy's value from state `start`, in fractions: two states, by elimination."""
    values = []
    for policy in itertools.product(range(2), repeat=2):
        rows = [[Fraction(float(p)) for p in T[2 * s + a]] for s, a in enumerate(policy)]
        gain = [reward[2 * s + a] for s, a in enumerate(policy)]
        g = Fraction(gamma)
        a, b = 1 - g * rows[0][0], -g * rows[0][1]
        c, d = -g * rows[1][0], 1 - g * rows[1][1]
        det = a * d - b * c
        v = [(d * gain[0] - b * gain[1]) / det, (a * gain[1] - c * gain[0]) / det]
        values.append(v[start])
    return max(values)


@pytest.mark.parametrize("seed", range(20))
def test_the_bound_is_never_below_the_best_policy_and_close_at_huge_multipliers(seed):
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 257, 4) / 256  # dyadic: the rows of T sum to 1 exactly
    T = np.stack([first, 1 - first], axis=1)
    r, f = rng.random(4), rng.random((1, 4))
    dual, f0 = np.array([10.0 ** rng.integers(0, 9)]), np.array([rng.random() / (1 - GAMMA)])
    reward = [Fraction(a) - Fraction(dual[0]) * Fraction(b) for a, b in zip(r, f[0], strict=True)]
    exact = best_lagrangian(T, reward, GAMMA, 0) + Fraction(dual[0]) * Fraction(f0[0])
    bound = refined_bound(
        sparse.csr_array(T),
        r,
        f=f,
        f0=f0,
        dual=dual,
        mu=np.array([1.0, 0.0]),
        gamma=GAMMA,
        v=np.zeros(2),
    )
    size = float(dual[0]) / (1 - GAMMA)
    assert Fraction(bound) >= exact - Fraction(size * 2.0**-58)
    assert bound - float(exact) <= size * 2.0**-45


def test_a_model_too_large_to_factorise_gets_no_bound():
    n = STATES + 1
    bound = refined_bound(
        sparse.eye_array(n, format="csr"),
        np.zeros(n),
        f=np.zeros((1, n)),
        f0=np.zeros(1),
        dual=np.zeros(1),
        mu=np.full(n, 1 / n),
        gamma=0.9,
        v=np.zeros(n),
    )
    assert bound == np.inf
