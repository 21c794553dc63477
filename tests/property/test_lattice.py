"""Rounding for any radius and any pair of adjacent values."""

from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dp_cmdp.sampling.lattice import Lattice

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
@given(st.floats(0.01, 100.0), st.lists(places, min_size=2, max_size=6), st.randoms())
def test_an_l1_change_stays_within_the_promised_total(radius, values, rng):
    size = len(values)
    lattice = Lattice.of(np.full(size, radius), largest=2000.0, bits=6, changed=size)
    shares = [rng.random() for _ in values]
    whole = sum(shares) * 1.000001 + 1e-9
    moved = [
        v + rng.choice((-1, 1)) * radius * s / whole for v, s in zip(values, shares, strict=True)
    ]
    apart = sum(abs(Fraction(a) - Fraction(b)) for a, b in zip(values, moved, strict=True))
    if apart > Fraction(radius):
        return
    total = np.abs(lattice.index(values) - lattice.index(moved)).sum()
    assert total <= lattice.steps


@settings(max_examples=300)
@given(radii, places)
def test_the_cell_of_a_value_contains_it(radius, place):
    lattice = Lattice.of(radius, largest=2000.0 * radius)
    value = place * radius
    index = lattice.index([value])
    assert lattice.floor(index)[0] <= value <= lattice.ceil(index + 1)[0]
