"""The samplers as shipped, on the randomness of the system, against their exact laws.

Every test counts draws in cells and compares each count with its binomial law. Over all cells
the false-alarm probability of a test is at most 1e-6, by the union bound: no approximation.
The planted faults are missed with probability below 1e-6.
"""

import os
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import binom

from dp_cmdp.noise.digits import ONE, digit_thresholds, draw_magnitudes, exp_lower, weight_below
from dp_cmdp.noise.laplace import LatticeLaplace
from dp_cmdp.noise.optimal import OptimalNoise
from dp_cmdp.noise.truncated import LatticeTruncatedLaplace

FALSE_ALARM = 1e-6
SIZE = 300_000


def fits(counts, chances, size) -> bool:
    """Whether every count is a plausible binomial draw, jointly at level 1e-6."""
    counts, chances = np.asarray(counts), np.asarray(chances, dtype=float)
    low, high = binom.cdf(counts, size, chances), binom.sf(counts - 1, size, chances)
    return bool(np.all(np.minimum(low, high) >= FALSE_ALARM / (2 * counts.size)))


def cells_of(law: LatticeTruncatedLaplace) -> tuple[np.ndarray, np.ndarray]:
    """About sixty cells over the support, and their exact probabilities."""
    support, thresholds = law.support, law.certificate.thresholds
    edges = sorted({round(support * part / 30) for part in range(30)} - {0} | {support + 1})
    below = [weight_below(thresholds, edge) for edge in edges]
    whole = 2 * weight_below(thresholds, support + 1) - weight_below(thresholds, 1)
    half = [Fraction(b - a, whole) for a, b in pairwise(below)]
    edges_of_both = [1 - edge for edge in edges[::-1]] + edges
    middle = 2 * Fraction(below[0], whole) - law.pmf(0)
    chances = [*half[::-1], middle, *half]
    return np.array(edges_of_both), np.array([float(chance) for chance in chances])


def law_fits(law: LatticeTruncatedLaplace, draws: np.ndarray) -> bool:
    edges, chances = cells_of(law)
    counts, _ = np.histogram(draws, bins=edges - 0.5)
    assert chances.sum() == pytest.approx(1.0)
    return counts.sum() == draws.size and fits(counts, chances, draws.size)


def biased(count: int) -> bytes:
    """System randomness with the top bit of every fourth word cleared."""
    raw = np.frombuffer(os.urandom(count), dtype=np.uint8).copy()
    raw[3::16] &= 0x7F
    return raw.tobytes()


CASES = [
    ("1", "0.1", 1),
    ("20", "1e-9", 1),
    ("1/3", "1/2", 10),
    ("1", "1e-3", 1 << 10),
    ("5", "0.1", 1 << 20),
    ("1", "1e-6", 1 << 40),
]


@pytest.mark.parametrize(("epsilon", "delta", "steps"), CASES)
def test_truncated_draws_follow_the_exact_law(epsilon, delta, steps):
    law = LatticeTruncatedLaplace.calibrate(epsilon, delta, steps=steps)
    assert law_fits(law, law.sample(SIZE))


@pytest.mark.parametrize("steps", [10, 1 << 20])
def test_a_scale_too_small_is_detected(steps):
    claimed = LatticeTruncatedLaplace.calibrate(1, "0.01", steps=steps)
    faulty = LatticeTruncatedLaplace.calibrate("1.1", "0.01", steps=steps).sample(SIZE)
    assert not law_fits(claimed, faulty[np.abs(faulty) <= claimed.support])


def test_a_biased_generator_is_detected():
    law = LatticeTruncatedLaplace.calibrate(1, "0.1", steps=1 << 20)
    assert not law_fits(law, law.sample(SIZE, source=biased))


def test_digits_are_independent_coins():
    thresholds = digit_thresholds(exp_lower(Fraction(1, 1 << 12)), 16)
    draws = draw_magnitudes(thresholds, SIZE, os.urandom)
    digits = np.array([draws >> place & 1 for place in range(16)])
    chance = np.array([threshold / ONE for threshold in thresholds])
    both = [(i, j) for i in range(16) for j in range(i)]
    counts = [*digits.sum(axis=1), *(int((digits[i] & digits[j]).sum()) for i, j in both)]
    chances = [*chance, *(chance[i] * chance[j] for i, j in both)]
    assert fits(counts, chances, SIZE)


@pytest.mark.parametrize(("epsilon", "steps"), [("1", 1), ("20", 1), ("1/3", 5)])
def test_plain_draws_follow_the_exact_law(epsilon, steps):
    law = LatticeLaplace.calibrate(epsilon, steps=steps)
    draws = law.perturb(np.zeros(SIZE, dtype=np.int64))
    points = np.arange(-40, 41)
    counts = [(draws == point).sum() for point in points]
    assert fits(counts, [float(law.pmf(int(point))) for point in points], SIZE)


@pytest.mark.parametrize("steps", [1 << 20, 1 << 40])
def test_plain_draws_on_a_fine_lattice_follow_the_laplace_law(steps):
    law = LatticeLaplace.calibrate(1, steps=steps)
    scaled = law.perturb(np.zeros(SIZE, dtype=np.int64)) / law.scale
    edges = np.array([-np.inf, -4, -2, -1, -0.5, 0, 0.5, 1, 2, 4, np.inf])
    cdf = np.where(edges < 0, 0.5 * np.exp(-np.abs(edges)), 1 - 0.5 * np.exp(-np.abs(edges)))
    counts = np.diff([(scaled < edge).sum() for edge in edges])
    assert fits(counts, np.diff(cdf), SIZE)


@pytest.mark.parametrize(("epsilon", "delta"), [("2", "0.1"), ("10", "1e-3")])
def test_optimal_draws_follow_the_exact_law(epsilon, delta):
    law = OptimalNoise.calibrate(epsilon, delta, steps=1 << 20)
    draws = law.sample_shift(SIZE)
    cell, weights = law.certificate.cell, law.certificate.thresholds
    counts = np.bincount(draws // cell, minlength=len(weights))
    assert fits(counts, [weight / ONE for weight in weights], SIZE)
    inside = np.bincount(draws % cell * 8 // cell, minlength=8)
    share = [len(range(-(-cell * k // 8), -(-cell * (k + 1) // 8))) / cell for k in range(8)]
    assert fits(inside, share, SIZE)
    assert not fits(np.roll(counts, 1), [weight / ONE for weight in weights], SIZE)


@pytest.mark.oracle
def test_plain_draws_agree_with_opendp():
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    law = LatticeLaplace.calibrate("1/2", steps=3)
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
    theirs = np.array(dp.m.make_laplace(*space, scale=6.0)([0] * 100_000))
    points = np.arange(-60, 61)
    counts = [(theirs == point).sum() for point in points]
    assert fits(counts, [float(law.pmf(int(point))) for point in points], theirs.size)
