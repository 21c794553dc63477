"""Rounding to the lattice, and intervals that certainly contain what was rounded."""

from fractions import Fraction

import numpy as np
import pytest

from dp_cmdp.accounting.budget import PrivacyBudget
from dp_cmdp.data.envelope import Envelope
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.noise.lattice import Lattice
from dp_cmdp.noise.plans import LatticeBounded
from dp_cmdp.release.entries import plan_database


def test_every_radius_is_the_same_number_of_steps_exactly():
    radius = np.array([0.1, 3.0, 1e-9, 12345.678])
    lattice = Lattice.of(radius, largest=20.0 * radius)
    assert lattice.steps == 1 << 20
    for step, each in zip(lattice.step, radius, strict=True):
        assert Fraction(float(step)) * lattice.steps == Fraction(float(each))


def test_the_index_is_the_exact_floor():
    rng = np.random.default_rng(1)
    radius = 10.0 ** rng.uniform(-6, 6, 4000)
    radius[1000:2000] = radius[:1000]
    lattice = Lattice.of(radius, largest=1e5 * radius)
    values = radius * rng.uniform(-1e5, 1e5, 4000)
    values[:1000] = lattice.step[:1000] * rng.integers(-(2**30), 2**30, 1000)
    values[1000:2000] = np.nextafter(values[:1000], -np.inf)
    for index, value, step in zip(lattice.index(values), values, lattice.step, strict=True):
        assert index == Fraction(float(value)) // Fraction(float(step))


def test_the_index_of_a_multiple_of_the_step_is_that_multiple():
    lattice = Lattice.of(np.full(5, 0.75), largest=20.0)
    index = np.array([-(2**24), -3, 0, 1, 2**24])
    assert lattice.index(index * lattice.step).tolist() == index.tolist()


def test_ends_are_rounded_outwards_and_only_when_they_must():
    rng = np.random.default_rng(2)
    step = 10.0 ** rng.uniform(-6, 6, 2000)
    lattice = Lattice(step, 1)
    index = rng.integers(-(2**53), 2**53, 2000)
    lower, upper = lattice.floor(index), lattice.ceil(index)
    for low, up, k, g in zip(lower, upper, index, step, strict=True):
        exact = int(k) * Fraction(float(g))
        assert Fraction(float(low)) <= exact <= Fraction(float(up))
        assert up in (low, np.nextafter(low, np.inf))


def test_multiples_of_a_power_of_two_are_returned_as_they_are():
    lattice = Lattice(np.full(3, 2.0**-20), 1)
    index = np.array([-5, 0, 2**40 + 1])
    assert np.array_equal(lattice.floor(index), index * 2.0**-20)
    assert np.array_equal(lattice.ceil(index), index * 2.0**-20)


@pytest.mark.parametrize("side", ["upper", "lower"])
@pytest.mark.parametrize("kind", ["tight", "optimal"])
def test_intervals_contain_the_values_and_have_the_public_width(kind, side):
    rng = np.random.default_rng(3)
    envelope = Envelope(-10.0, 10.0, radius=rng.uniform(0.5, 2.0, 5000))
    values = rng.uniform(-10, 10, 5000)
    plan = plan_database(envelope, PrivacyBudget(2, "0.1"), calibration=kind, close=side)
    assert isinstance(plan, LatticeBounded)
    noise, step = plan.noise, plan.lattice.step
    drawn = plan.draw(values)
    assert np.all(drawn.lower <= values)
    assert np.all(values <= drawn.upper)
    np.testing.assert_allclose((drawn.upper - drawn.lower) / step, noise.width + 1, rtol=1e-9)
    shift = (drawn.upper - values if side == "upper" else values - drawn.lower) / step
    assert np.mean(shift) == pytest.approx(noise.mean_shift, rel=0.1)
    np.testing.assert_allclose(np.mean((drawn.estimate - values) / envelope.radius), 0, atol=0.1)


def test_bits_shrink_when_values_dwarf_the_radius():
    assert Lattice.of(1.0, largest=2.0**40).steps == 2**8
    assert Lattice.of(1.0, largest=2.0**40, bits=4).steps == 2**4
    with pytest.raises(InvalidArgumentError, match="radius"):
        Lattice.of(1.0, largest=2.0**49)


def test_an_amount_moves_as_many_integers_as_its_exact_quotient_rounded_up():
    step = np.array([0.1, 0.3, 2.0**-20, 1e-7, 1.0])
    lattice = Lattice(step, 1)
    for amount in (step, 3 * step, np.nextafter(3 * step, np.inf), 1e5 * step, step / 7):
        moved = lattice.integers_moved(amount, np.arange(5))
        for count, a, g in zip(moved, amount, step, strict=True):
            assert count == -(-Fraction(float(a)) // Fraction(float(g)))
    tiny = np.array([5e-324, 0.0])
    assert lattice.integers_moved(tiny, np.array([4, 4])).tolist() == [1, 0]
    with pytest.raises(InvalidArgumentError, match="radius"):
        lattice.integers_moved(np.array([2.0**60]), np.array([4]))


@pytest.mark.parametrize(
    ("radius", "largest"),
    [(0.0, 1.0), (-1.0, 1.0), (np.nan, 1.0), (1e-300, 1.0), (1.0, -1.0), (1.0, np.inf)],
)
def test_bad_public_numbers_are_refused(radius, largest):
    with pytest.raises(InvalidArgumentError):
        Lattice.of(radius, largest=largest)


def test_a_refused_value_is_not_quoted():
    lattice = Lattice.of([1.0, 1.0], largest=2.0)
    for bad in (np.nan, 987654321e30):
        with pytest.raises(InvalidArgumentError) as caught:
            lattice.index([0.5, bad])
        assert "98765" not in str(caught.value)
        assert "index" not in str(caught.value)


def test_noise_too_wide_for_floats_is_refused():
    with pytest.raises(InvalidArgumentError, match="fewer bits"):
        Lattice(np.ones(1), 1).floor(np.array([2**53 + 1]))
