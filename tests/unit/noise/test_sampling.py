"""Exact enumeration of the truncated and the plain Laplace law on a lattice."""

import itertools
import math
import pickle
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.noise.certificate import NoiseCertificate
from dp_cmdp.noise.digits import (
    ONE,
    TAIL,
    digit_thresholds,
    exp_lower,
    steps_hold,
    toss,
    weight_below,
)
from dp_cmdp.noise.laplace import LatticeLaplace
from dp_cmdp.noise.truncated import LatticeTruncatedLaplace

EPSILONS = ("0.05", "1/3", "1", "5", "20")
DELTAS = ("1e-9", "1e-3", "0.1", "1/2")


def exponential(x: Fraction) -> Fraction:
    """Lower bound of e^x by plain partial sums, made without the code under test."""
    term = total = Fraction(1)
    for k in range(1, 150):
        term = term * x / k
        total += term
    return Fraction(int(total * 2**300), 2**300)


def integers(law: LatticeTruncatedLaplace) -> tuple[list[int], int]:
    """The law as integers over a common denominator."""
    half = [law.pmf(point) for point in range(law.support + 1)]
    whole = math.lcm(*(mass.denominator for mass in half))
    scaled = [mass.numerator * (whole // mass.denominator) for mass in half]
    return scaled[:0:-1] + scaled, whole


def divergence(masses: list[int], whole: int, *, shift: int, epsilon: Fraction) -> Fraction:
    factor = exponential(epsilon)
    top, bottom = factor.numerator, factor.denominator
    moved = [0] * shift + masses
    total = sum(
        max(mass * bottom - top * other, 0)
        for mass, other in itertools.zip_longest(masses, moved, fillvalue=0)
    )
    return Fraction(total, whole * bottom)


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("steps", [1, 2, 5])
def test_every_shift_is_private_by_exact_enumeration(epsilon, delta, steps):
    law = LatticeTruncatedLaplace.calibrate(epsilon, delta, steps=steps)
    masses, whole = integers(law)
    assert sum(masses) == whole
    for shift in range(1, steps + 1):
        spent = divergence(masses, whole, shift=shift, epsilon=Fraction(epsilon))
        assert spent <= Fraction(delta)


@pytest.mark.parametrize(
    ("epsilon", "delta", "steps"),
    [("2", "0.1", 1000), ("5", "1e-3", 300), ("20", "1e-9", 128), ("0.05", "1/2", 1000)],
)
def test_larger_lattices_are_private_at_small_and_full_shifts(epsilon, delta, steps):
    law = LatticeTruncatedLaplace.calibrate(epsilon, delta, steps=steps)
    masses, whole = integers(law)
    for shift in (1, steps // 2, steps):
        spent = divergence(masses, whole, shift=shift, epsilon=Fraction(epsilon))
        assert spent <= Fraction(delta)


@pytest.mark.parametrize(("epsilon", "delta"), [("1", "0.1"), ("3", "0.01"), ("8", "1/2")])
@pytest.mark.parametrize("entries", [1, 2])
def test_two_entries_that_move_together_are_private_by_exact_enumeration(epsilon, delta, entries):
    steps = 2
    law = LatticeTruncatedLaplace.calibrate(epsilon, delta, steps=steps, entries=entries)
    half = [law.pmf(point) for point in range(-law.support, law.support + 1)]
    factor = exponential(Fraction(epsilon))
    points = range(len(half))

    def mass(point: int) -> Fraction:
        return half[point] if point in points else Fraction(0)

    for one, two in itertools.product(range(steps + 1), repeat=2):
        if one + two > entries * steps:
            continue
        total = sum(
            max(mass(x) * mass(y) - factor * mass(x - one) * mass(y - two), Fraction(0))
            for x in points
            for y in points
        )
        assert total <= Fraction(delta)


@pytest.mark.parametrize("entries", [1, 5, Fraction(7, 2)])
@pytest.mark.parametrize(("epsilon", "delta"), [*itertools.product(EPSILONS, DELTAS)])
def test_the_support_is_within_one_step_of_the_continuous_one(epsilon, delta, entries):
    steps = 1 << 20
    law = LatticeTruncatedLaplace.calibrate(epsilon, delta, steps=steps, entries=entries)
    each, m = float(Fraction(epsilon) / entries), float(entries)
    tight = math.log1p(m * math.expm1(each) / (2 * float(Fraction(delta)))) / each
    assert tight * steps - 1 <= law.support <= tight * steps + 1


@pytest.mark.parametrize("steps", [1, 7, 64])
def test_a_shorter_support_would_not_be_private(steps):
    law = LatticeTruncatedLaplace.calibrate(1, "0.01", steps=steps)
    shorter = law.support - 1
    proof = replace(
        law.certificate,
        support=shorter,
        thresholds=law.certificate.thresholds[: shorter.bit_length()],
    )
    assert law.certificate.verified
    assert not proof.verified


@pytest.mark.parametrize(
    "change",
    [
        {"epsilon": Fraction(99, 100)},
        {"delta": Fraction(1, 11)},
        {"steps": 101},
        {"entries": Fraction(2)},
        {"outer_mass": Fraction(1, 20)},
        {"law": "laplace"},
        {"law": "wishful"},
        {"ratio": Fraction(2)},
        {"support": None},
        {"support": 1 << 40},
    ],
)
def test_a_certificate_that_says_too_much_does_not_check(change):
    proof = LatticeTruncatedLaplace.calibrate(1, "0.1", steps=100).certificate
    assert proof.check()
    assert not replace(proof, **change).check()
    with pytest.raises(InvalidArgumentError):
        LatticeTruncatedLaplace(replace(proof, **change))


def test_a_threshold_moved_by_a_millionth_does_not_check():
    proof = LatticeTruncatedLaplace.calibrate(1, "0.1", steps=100).certificate
    for place in range(len(proof.thresholds)):
        thresholds = list(proof.thresholds)
        thresholds[place] -= thresholds[place] // 10**6
        assert not replace(proof, thresholds=tuple(thresholds)).check()


def test_a_certificate_survives_json_and_pickle():
    for law in (
        LatticeTruncatedLaplace.calibrate("1/3", "1e-6", steps=1 << 20, entries=3),
        LatticeLaplace.calibrate("1/3", steps=1 << 20),
    ):
        proof = law.certificate
        again = NoiseCertificate.from_json(proof.to_json())
        assert again == proof == pickle.loads(pickle.dumps(proof))
        assert again.check()
        assert type(law)(again) == law
    with pytest.raises(InvalidArgumentError, match="to_json"):
        NoiseCertificate.from_json("{}")


def test_the_standard_deviation_is_that_of_the_law():
    law = LatticeTruncatedLaplace.calibrate("1/2", "1e-3", steps=9)
    second = sum(law.pmf(k) * k * k for k in range(-law.support, law.support + 1))
    assert law.std == pytest.approx(math.sqrt(second), rel=1e-12)
    assert law.mean_shift == law.support == law.width / 2
    assert law.pmf(law.support + 1) == 0
    assert law.pmf(-3) == law.pmf(3)


def test_weights_below_are_sums_of_products_of_digits():
    thresholds = digit_thresholds(exp_lower(Fraction(1, 3)), 4)
    total = 0
    for k in range(16):
        assert weight_below(thresholds, k) == total
        digits = [k >> i & 1 for i in range(4)]
        total += math.prod(a if d else ONE - a for a, d in zip(thresholds, digits, strict=True))
    assert weight_below(thresholds, 16) == total == ONE**4
    assert steps_hold(thresholds, exp_lower(Fraction(1, 3)))
    assert not steps_hold(thresholds, exp_lower(Fraction(33, 100)))


@pytest.mark.parametrize("x", ["0", "1e-12", "1/3", "1", "20", "100"])
def test_the_rational_exponential_is_a_close_lower_bound(x):
    bound = exp_lower(Fraction(x))
    term = total = Fraction(1)
    for k in range(1, 500):
        term = term * Fraction(x) / k
        total += term
    assert bound <= total
    assert total - bound <= total / 2**300


def test_a_tie_is_broken_by_the_other_bits():
    head, tail = 12345, 1 << (TAIL - 1)
    threshold = (head << TAIL) + tail
    words = np.array([head - 1, head, head + 1], dtype=np.uint32)
    low = toss(words, threshold, lambda count: bytes(count))
    high = toss(words, threshold, lambda count: b"\xff" * count)
    assert low.tolist() == [True, True, False]
    assert high.tolist() == [True, False, False]


@pytest.mark.parametrize("size", [0, 1, 3, 100_000])
def test_samples_have_the_size_and_range_asked_for(size):
    law = LatticeTruncatedLaplace.calibrate(1, "0.1", steps=1 << 20)
    draws = law.sample(size)
    assert draws.shape == (size,)
    assert draws.dtype == np.int64
    assert np.all(np.abs(draws) <= law.support)
    shifts = law.sample_shift(size)
    assert np.all((shifts >= 0) & (shifts <= law.width))


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": -1}, "epsilon"),
        ({"epsilon": 101}, "epsilon"),
        ({"epsilon": float("nan")}, "epsilon"),
        ({"delta": 0}, "delta"),
        ({"delta": "0.51"}, "delta"),
        ({"delta": Fraction(1, 2**64)}, "delta"),
        ({"steps": 0}, "steps"),
        ({"steps": 1.5}, "steps"),
        ({"steps": 2**40 + 1}, "steps"),
        ({"entries": 0}, "entries"),
        ({"entries": "1/2"}, "entries"),
        ({"epsilon": "1e-9", "delta": "1e-9", "steps": 2**40}, "steps"),
    ],
)
def test_bad_parameters_are_refused_by_name(change, name):
    arguments = {"epsilon": 1, "delta": "0.1", "steps": 4, "entries": 1} | change
    epsilon, delta = arguments.pop("epsilon"), arguments.pop("delta")
    with pytest.raises(InvalidArgumentError, match=name):
        LatticeTruncatedLaplace.calibrate(epsilon, delta, **arguments)


def test_a_negative_sample_size_is_refused():
    with pytest.raises(InvalidArgumentError, match="size"):
        LatticeTruncatedLaplace.calibrate(1, "0.1", steps=1).sample(-1)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("steps", [1, 3, 20])
def test_every_unit_step_of_the_plain_law_is_bounded_also_between_blocks(epsilon, steps):
    law = LatticeLaplace.calibrate(epsilon, steps=steps)
    blocks = 1 << (len(law.certificate.thresholds) - 1)
    bound = exponential(Fraction(epsilon) / steps)
    near = [*range(8), *range(blocks - 3, blocks + 3), *range(2 * blocks - 2, 2 * blocks + 2)]
    for k in near:
        assert law.pmf(k + 1) <= law.pmf(k) <= bound * law.pmf(k + 1)
        assert law.pmf(-k) == law.pmf(k)
    assert law.certificate.verified
    assert law.certificate.delta == 0


def test_the_plain_law_sums_to_one_over_its_blocks():
    law = LatticeLaplace.calibrate(2, steps=1)
    size = 1 << (len(law.certificate.thresholds) - 1)
    again = Fraction(law.certificate.thresholds[-1], ONE)
    block = sum(law.pmf(k) for k in range(size))
    assert 2 * block / (1 - again) - law.pmf(0) == 1


def test_only_the_sum_of_plain_noise_is_clamped():
    law = LatticeLaplace.calibrate("1/1000", steps=1 << 40)
    index = np.array([-(2**60), 0, 2**60])
    largest = law.perturb(index, source=lambda count: bytes(count))
    assert largest.tolist() == [2**61] * 3


def test_plain_noise_keeps_the_shape_and_refuses_huge_indices():
    law = LatticeLaplace.calibrate(1, steps=4)
    assert law.perturb(np.zeros((3, 5), dtype=np.int64)).shape == (3, 5)
    for value in (2**60 + 1, -(2**63)):
        with pytest.raises(InvalidArgumentError, match="index"):
            law.perturb(np.array([value]))


@pytest.mark.parametrize(("epsilon", "steps"), [(0, 1), (1, 0), ("1e-9", 2**40)])
def test_bad_parameters_of_plain_noise_are_refused(epsilon, steps):
    with pytest.raises(InvalidArgumentError):
        LatticeLaplace.calibrate(epsilon, steps=steps)


def test_a_plain_law_needs_its_own_certificate():
    proof = LatticeTruncatedLaplace.calibrate(1, "0.1", steps=4).certificate
    with pytest.raises(InvalidArgumentError, match="laplace"):
        LatticeLaplace(proof)
