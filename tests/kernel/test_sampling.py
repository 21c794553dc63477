"""The samplers as shipped: exactly their laws by enumeration, and on the system's randomness.

Statistical tests count draws in cells and compare each count with its binomial law. Over all cells
the false-alarm probability of a test is at most 1e-6, by the union bound: no approximation.
"""

from __future__ import annotations

import os
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from dp_cmdp._src.base.errors import InvalidArgumentError
from dp_cmdp._src.noise import laws as laws_module
from dp_cmdp._src.noise.laws import (
    ONE,
    TAIL,
    WORD,
    Laplace,
    Sensitivity,
    digit_thresholds,
    draw_magnitudes,
    draw_signs,
    exp_lower,
    toss,
    weight_below,
)
from dp_cmdp._src.noise.one_sided import OneSided, draw_cells, draw_inside, integer_weights
from dp_cmdp._src.noise.unbounded import UnboundedLaplace
from dp_cmdp._src.release.measurement import Simulated
from tests.kernel.worlds import budget

FALSE_ALARM = 1e-6
SIZE = 300_000


def calibrated(law: Any, epsilon: Any, delta: Any, steps: int) -> Any:
    return law.calibrate(Sensitivity(steps, steps * steps, steps, 1), budget(epsilon, delta))


class RefusedError(Exception):
    """The sampler asks for another proposal."""


def first_proposal(law: Any, words: list[int], sign: int) -> int | None:
    """What `law.sample` makes of one proposal: its words, ties broken low, and its sign."""
    waiting: list[bytes] = []
    asked = [0]

    def source(count: int) -> bytes:
        if not waiting:
            asked[0] += 1
            if asked[0] > 1:
                raise RefusedError
            batch = count // (4 * len(words)) if words else 0
            table = np.repeat(np.array(words, dtype=np.uint32), batch)
            waiting.extend([table.tobytes(), bytes([sign]) * batch])
        if count == TAIL // 8:
            return bytes(count)
        return waiting.pop(0)

    try:
        return law.sample(1, source)[0]
    except RefusedError:
        return None


def sampled_law(law: Laplace) -> dict[int, Fraction]:
    """The exact law of what `sample` draws, over every pattern of its coins."""
    weight: dict[int, Fraction] = {}
    for bits in product((0, 1), repeat=len(law.thresholds)):
        chance = Fraction(1)
        for bit, threshold in zip(bits, law.thresholds, strict=True):
            chance *= Fraction(threshold if bit else ONE - threshold, ONE)
        for sign in (0, 1):
            drawn = first_proposal(law, [0 if bit else 2**WORD - 1 for bit in bits], sign)
            if drawn is not None:
                weight[drawn] = weight.get(drawn, Fraction(0)) + chance / 2
    whole = sum(weight.values())
    return {z: part / whole for z, part in weight.items()}


CERTIFIED = [("1", "1/10", 1), ("2", "1/10", 3), ("3", "1/100", 4), ("1/2", "1/4", 2)]


@pytest.mark.parametrize(("epsilon", "delta", "steps"), CERTIFIED)
def test_what_is_sampled_is_exactly_what_is_certified(epsilon, delta, steps):
    law = calibrated(Laplace, epsilon, delta, steps)
    assert law.support <= 20
    drawn = sampled_law(law)
    assert drawn == {z: law.pmf(z) for z in range(-law.support, law.support + 1)}
    ratio = exp_lower(Fraction(epsilon))
    for far in range(1, steps + 1):
        excess = sum(max(p - ratio * drawn.get(z - far, 0), 0) for z, p in drawn.items())
        assert excess <= Fraction(delta)


def test_a_sampler_that_keeps_a_second_zero_draws_from_another_law(monkeypatch):
    """A planted fault: 0 would have twice its weight."""

    def careless(magnitude, source, keep):
        negative = np.frombuffer(source(magnitude.size), dtype=np.uint8) & 1 == 1
        return np.where(negative, -magnitude, magnitude)[keep]

    law = calibrated(Laplace, "2", "1/10", 3)
    monkeypatch.setattr(laws_module, "draw_signs", careless)
    drawn = sampled_law(law)
    assert drawn[0] > law.pmf(0)
    assert drawn[0] / drawn[1] == 2 * law.pmf(0) / law.pmf(1)


@pytest.mark.parametrize("threshold", [1, ONE // 3, ONE - 1, (12345 << TAIL) + (1 << (TAIL - 1))])
def test_a_coin_shows_heads_for_exactly_its_threshold_of_the_2_256_patterns(threshold):
    head, tail = divmod(threshold, 1 << TAIL)

    def shows(pattern: int) -> bool:
        word, rest = divmod(pattern, 1 << TAIL)
        words = np.array([word], dtype=np.uint32)
        return bool(toss(words, threshold, lambda count: rest.to_bytes(count, "little"))[0])

    edges = {0, threshold - 1, threshold, threshold + 1, ONE - 1, head << TAIL, tail}
    for pattern in edges & {pattern for pattern in edges if 0 <= pattern < ONE}:
        assert shows(pattern) == (pattern < threshold)


def test_a_negative_zero_is_drawn_again():
    magnitude, signs = np.array([0, 0, 3, 3, 0]), bytes([1, 0, 1, 0, 1])
    kept = draw_signs(magnitude, lambda count: signs[:count], keep=None)
    assert kept.tolist() == [0, -3, 3]
    kept = draw_signs(magnitude, lambda count: signs[:count], keep=magnitude < 3)
    assert kept.tolist() == [0]


@pytest.mark.parametrize("blocks", [1, 2, 5, 80])
def test_unbounded_noise_goes_on_beyond_its_digits_and_beyond_64_bits(blocks):
    law = calibrated(UnboundedLaplace, 1, 0, 1 << 50)
    left = [blocks - 1]

    def source(count: int) -> bytes:
        """Every coin shows heads, but "once more" only as often as is left."""
        if count != 32:
            return bytes(count)
        left[0] -= 1
        return (b"\0" if left[0] >= 0 else b"\xff") * count

    assert law.sample(1, source) == [(blocks + 1) * 2 ** len(law.thresholds) - 1]


def test_a_tie_of_the_inversion_is_broken_exactly():
    weights = integer_weights([Fraction(1), Fraction(0), Fraction(2)])
    head, rest = divmod(weights[0], 1 << 192)
    for tail, cell in ((rest - 1, 0), (rest, 2), (rest + 1, 2)):
        stream = [head.to_bytes(8, "little"), tail.to_bytes(24, "little")]
        assert draw_cells(weights, 1, lambda count, s=stream: s.pop(0)[:count]).tolist() == [cell]


def test_words_beyond_the_last_multiple_are_drawn_again():
    stream = [b"\xff" * 16, b"\xff" * 8 + bytes(8), (7).to_bytes(8, "little")]
    assert draw_inside(5, 2, lambda count: stream.pop(0)).tolist() == [2, 0]


@pytest.mark.parametrize("law", [Laplace, UnboundedLaplace, OneSided])
def test_a_source_that_returns_fewer_bytes_is_refused(law):
    made = calibrated(law, 1, "1/10", 8)
    with pytest.raises(InvalidArgumentError, match="source"):
        made.sample(3, lambda count: bytes(count - 1))


@pytest.mark.parametrize("law", [Laplace, UnboundedLaplace, OneSided])
@pytest.mark.parametrize("size", [0, 1, 3, 20_000])
def test_draws_are_python_integers_of_the_support(law, size):
    made = calibrated(law, 1, "1/10", 1 << 20)
    exact = made.sample(size, os.urandom)
    rough = made.sample_floats(np.random.default_rng(0), size)
    assert len(exact) == rough.size == size
    assert all(type(z) is int for z in exact)
    assert (rough == np.rint(rough)).all()
    if made.low is not None:
        assert all(made.low <= z <= made.high for z in (*exact, *rough.tolist()))


@pytest.mark.parametrize("quantile", [0.0, 2.0**-53, 0.5, 1 - 2.0**-53])
@pytest.mark.parametrize("steps", [1, 1000, 1 << 40, (1 << 57) + 12345])
def test_noise_of_simulations_stays_in_the_support_at_both_ends(quantile, steps):
    class Chosen(np.random.Generator):
        def random(self, size: Any, *_: Any, **__: Any) -> Any:
            return np.full(size, quantile)

    rng = Chosen(np.random.PCG64(0))
    for law in (calibrated(Laplace, 3, "1/100", steps), calibrated(OneSided, 3, "1/100", steps)):
        assert all(law.low <= z <= law.high for z in Simulated(rng).draw(law, 100))


def fits(counts: Any, chances: Any, size: int) -> bool:
    """Whether every count is a plausible binomial draw, jointly at level 1e-6."""
    counts, chances = np.asarray(counts), np.asarray(chances, dtype=float)
    low, high = binom.cdf(counts, size, chances), binom.sf(counts - 1, size, chances)
    return bool(np.all(np.minimum(low, high) >= FALSE_ALARM / (2 * counts.size)))


def law_fits(law: Laplace, draws: Any) -> bool:
    """In about sixty cells over the support, with exact probabilities."""
    support, thresholds = law.support, law.thresholds
    edges = sorted({round(support * part / 30) for part in range(30)} - {0} | {support + 1})
    below = [weight_below(thresholds, edge) for edge in edges]
    whole = 2 * weight_below(thresholds, support + 1) - weight_below(thresholds, 1)
    half = [Fraction(b - a, whole) for a, b in pairwise(below)]
    middle = 2 * Fraction(below[0], whole) - law.pmf(0)
    chances = [float(chance) for chance in (*half[::-1], middle, *half)]
    bins = np.array([1 - edge for edge in edges[::-1]] + edges) - 0.5
    counts, _ = np.histogram(draws, bins=bins)
    assert sum(chances) == pytest.approx(1.0)
    return counts.sum() == len(draws) and fits(counts, chances, len(draws))


def biased(count: int) -> bytes:
    """System randomness with the top bit of every fourth word cleared."""
    raw = np.frombuffer(os.urandom(count), dtype=np.uint8).copy()
    raw[3::16] &= 0x7F
    return raw.tobytes()


@pytest.mark.parametrize(
    ("epsilon", "delta", "steps"),
    [("1", "0.1", 1), ("20", "1e-9", 1), ("1/3", "1/2", 10), ("5", "0.1", 1 << 20),
     ("1", "1e-6", 1 << 40)],
)  # fmt: skip
def test_truncated_draws_follow_the_exact_law(epsilon, delta, steps):
    law = calibrated(Laplace, epsilon, delta, steps)
    assert law_fits(law, law.sample(SIZE, os.urandom))


@pytest.mark.parametrize("steps", [10, 1 << 20])
def test_a_scale_too_small_is_detected(steps):
    """Missed with probability below 1e-6."""
    claimed = calibrated(Laplace, 1, "0.01", steps)
    faulty = np.array(calibrated(Laplace, "1.1", "0.01", steps).sample(SIZE, os.urandom))
    assert not law_fits(claimed, faulty[np.abs(faulty) <= claimed.support])


def test_a_biased_generator_is_detected():
    law = calibrated(Laplace, 1, "0.1", 1 << 20)
    assert not law_fits(law, law.sample(SIZE, biased))


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
def test_unbounded_draws_follow_the_exact_law(epsilon, steps):
    law = calibrated(UnboundedLaplace, epsilon, 0, steps)
    draws, points = np.array(law.sample(SIZE, os.urandom)), np.arange(-40, 41)
    counts = [(draws == point).sum() for point in points]
    assert fits(counts, [float(law.pmf(int(point))) for point in points], SIZE)


def test_unbounded_draws_on_a_fine_lattice_follow_the_laplace_law():
    law = calibrated(UnboundedLaplace, 1, 0, 1 << 40)
    scaled = np.array(law.sample(SIZE, os.urandom), dtype=float) / 2.0**40
    edges = np.array([-np.inf, -4, -2, -1, -0.5, 0, 0.5, 1, 2, 4, np.inf])
    cdf = np.where(edges < 0, 0.5 * np.exp(-np.abs(edges)), 1 - 0.5 * np.exp(-np.abs(edges)))
    counts = np.diff([(scaled < edge).sum() for edge in edges])
    assert fits(counts, np.diff(cdf), SIZE)


@pytest.mark.parametrize(("epsilon", "delta"), [("2", "0.1"), ("10", "1e-3")])
def test_one_sided_draws_follow_the_exact_law(epsilon, delta):
    law = calibrated(OneSided, epsilon, delta, 1 << 20)
    draws, cell, weights = np.array(law.sample(SIZE, os.urandom)), law.cell, law.weights
    counts = np.bincount(draws // cell, minlength=len(weights))
    assert fits(counts, [weight / ONE for weight in weights], SIZE)
    inside = np.bincount(draws % cell * 8 // cell, minlength=8)
    share = [len(range(-(-cell * k // 8), -(-cell * (k + 1) // 8))) / cell for k in range(8)]
    assert fits(inside, share, SIZE)
    assert not fits(np.roll(counts, 1), [weight / ONE for weight in weights], SIZE)


@pytest.mark.parametrize("law", [Laplace, UnboundedLaplace, OneSided])
def test_draws_of_simulations_look_like_the_exact_ones(law):
    """Two samples between ten quantiles; 5.5 deviations, in the normal approximation below 1e-6."""
    made = calibrated(law, 2, "0.01", 1 << 20)
    exact = np.array(made.sample(SIZE, os.urandom), dtype=float)
    rough = made.sample_floats(np.random.default_rng(1), SIZE)
    edges = np.quantile(exact, np.linspace(0.05, 0.95, 10))
    counts = np.array([(rough < edge).sum() for edge in edges])
    chance = np.array([(exact < edge).mean() for edge in edges])
    spread = np.sqrt(2 * SIZE * chance * (1 - chance))  # both sides are drawn
    assert (np.abs(counts - chance * SIZE) < 5.5 * spread).all()


@pytest.mark.oracle
def test_unbounded_draws_agree_with_opendp():
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    law = calibrated(UnboundedLaplace, "1/2", 0, 3)
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
    theirs = np.array(dp.m.make_laplace(*space, scale=6.0)([0] * 100_000))
    points = np.arange(-60, 61)
    counts = [(theirs == point).sum() for point in points]
    assert fits(counts, [float(law.pmf(int(point))) for point in points], theirs.size)
