"""Cells and moves are counted in integers, exactly: MATH 12 and 17.8, literally."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dp_cmdp._src.base.errors import InvalidArgumentError
from dp_cmdp._src.data.envelope import Envelope


def moves_by_hand(envelope: Envelope) -> dict[tuple[int, int], int]:
    """⌈C/h⌉, and no more than the cells between the bounds, in fractions."""
    table, found = envelope.change.tocoo(), {}
    for record, entry, far in zip(*table.coords, table.data, strict=True):
        ends = envelope.step, envelope.upper, envelope.lower
        h, high, low = (Fraction(part.tolist()[entry]) for part in ends)
        top, bottom = math.floor(high / h), math.floor(low / h)
        found[record, entry] = min(math.ceil(Fraction(far) / h), top - bottom)
    return found


def moves(envelope: Envelope) -> dict[tuple[int, int], int]:
    table = envelope.moves.tocoo()
    assert table.data.dtype == np.int64
    return {
        (int(record), int(entry)): int(step)
        for record, entry, step in zip(*table.coords, table.data, strict=True)
    }


BOUNDS = st.floats(-1e6, 1e6, allow_subnormal=False)


@given(BOUNDS, BOUNDS, st.floats(1e-12, 1), st.floats(0, 1))
def test_moves_and_cells_are_exact(one: float, other: float, share: float, place: float) -> None:
    lower, upper = sorted((one, other))
    if not lower < upper:
        return
    try:
        envelope = Envelope([lower], [upper], radius=[max((upper - lower) * share, 5e-324)])
    except InvalidArgumentError:
        assert max(abs(lower), abs(upper)) / ((upper - lower) * share) >= 2.0**44
        return
    mantissa, _ = math.frexp(envelope.step[0])
    assert mantissa == 0.5
    assert 2.0**-17 <= envelope.step[0] / envelope.radius[0] <= 2.0**-16
    assert moves(envelope) == moves_by_hand(envelope)
    theta = min(max(lower + place * (upper - lower), lower), upper)
    (cell,) = envelope._cells(np.array([theta])).tolist()
    assert type(cell) is int
    assert cell == math.floor(Fraction(theta) / Fraction(envelope.step[0]))


def test_a_hair_above_a_step_is_one_more_step() -> None:
    """A change of 1 + 2^-52 is more than a whole number of steps, and another's 2^-1000 is one."""
    envelope = Envelope(0, 8, change=[[1 + 2.0**-52, 1.0], [2.0**-1000, 1.0]])
    assert envelope.step.tolist() == [2.0**-16, 2.0**-16]
    assert moves(envelope) == {(0, 0): 65537, (0, 1): 65536, (1, 0): 1, (1, 1): 65536}


def test_a_change_to_anything_moves_no_further_than_the_bounds() -> None:
    """From 0.7 to 1.3 there are fewer cells than in a radius rounded up."""
    envelope = Envelope(0.7, 1.3, shape=1)
    assert moves(envelope) == moves_by_hand(envelope)
    narrow = Envelope(-(2.0**-20), 2.0**-20, radius=2.0**-19, shape=1)
    assert moves(narrow) == moves_by_hand(narrow)


def test_entries_whose_cells_leave_the_integers_are_refused_with_what_to_do() -> None:
    """Cells of value 10^6 and radius 10^-9: 6.5·10^19 > 2^63."""
    with pytest.raises(InvalidArgumentError, match=r"within 2\^45 radii of 0.*larger radius"):
        Envelope(0, 1e6, radius=1e-9, shape=1)
    with pytest.raises(InvalidArgumentError, match="subtract a public constant"):
        Envelope(1e6, 1e6 + 1e-6, radius=1e-9, shape=1)
    assert Envelope(0, 1e6 - 1e6 + 1e-3, radius=1e-9, shape=1).size == 1


@pytest.mark.parametrize("radius", [5e-324, 1e-320, 1e-310])
def test_radii_whose_step_is_no_float_are_refused_or_exact(radius: float) -> None:
    try:
        envelope = Envelope(0, 4 * radius, radius=radius, shape=1)
    except InvalidArgumentError:
        return
    assert envelope.step[0] > 0
    assert moves(envelope) == moves_by_hand(envelope)


def test_cells_are_exact_where_quotients_underflow() -> None:
    envelope = Envelope(-(2.0**1000), 2.0**1000, radius=2.0**1000, shape=3)
    assert envelope._cells(np.array([-5e-324, 5e-324, -0.0])).tolist() == [-1, 0, 0]
