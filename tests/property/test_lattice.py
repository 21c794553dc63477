"""Rounding for any radius and any pair of adjacent values."""

from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dp_cmdp.noise.lattice import Lattice
from dp_cmdp.noise.movement import Movement
from dp_cmdp.noise.plans import Query

radii = st.floats(1e-6, 1e6)
places = st.floats(-1000.0, 1000.0)


@settings(max_examples=300)
@given(radii, places, st.floats(-1.0, 1.0), st.integers(0, 30))
def test_values_within_a_radius_are_within_the_promised_steps(radius, place, move, bits):
    lattice = Lattice.of(radius, largest=2000.0 * radius, bits=bits)
    one = place * radius
    two = one + move * radius
    if abs(Fraction(one) - Fraction(two)) > Fraction(radius):
        two = one
    first, second = (int(lattice.index([value])[0]) for value in (one, two))
    assert abs(first - second) <= lattice.steps


@settings(max_examples=200)
@given(st.lists(st.tuples(places, st.floats(1e-3, 100.0)), min_size=2, max_size=6), st.randoms())
def test_a_record_of_several_numbers_stays_within_the_counted_steps(numbers, rng):
    values, amounts = map(np.array, zip(*numbers, strict=True))
    count = values.size
    movement = Movement(np.zeros(count, dtype=np.int64), np.arange(count), amounts)
    unit = np.full(count, movement.total)
    assert Fraction(movement.total) >= sum(map(Fraction, amounts.tolist()))
    lattice = Query(unit, np.full(count, 2000.0), movement).lattice()
    moved = values + np.array([rng.choice((-1, 1)) for _ in range(count)]) * amounts
    for place, (one, two) in enumerate(zip(values.tolist(), moved.tolist(), strict=True)):
        if abs(Fraction(one) - Fraction(two)) > Fraction(float(amounts[place])):
            moved[place] = np.nextafter(two, one)
    total = np.abs(lattice.index(values) - lattice.index(moved)).sum()
    assert total <= lattice.steps <= 2**20 + count


@settings(max_examples=300)
@given(radii, places)
def test_the_cell_of_a_value_contains_it(radius, place):
    lattice = Lattice.of(radius, largest=2000.0 * radius)
    value = place * radius
    index = lattice.index([value])
    assert lattice.floor(index)[0] <= value <= lattice.ceil(index + 1)[0]
