"""Two looks, the second chosen by what the first published: their privacy counted out exactly.

Three entries on a lattice of few points, two totals, one entry in both. Every outcome of both looks
is met, on every database and its neighbours, in integers.
"""

from collections.abc import Callable
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy import sparse

from dp_cmdp import Envelope
from dp_cmdp.noise.digits import exp_lower
from dp_cmdp.noise.truncated import LatticeTruncatedLaplace
from dp_cmdp.release.totals import integer_totals, record_moves

Cells = tuple[int, ...]
Counts = tuple[Cells, Cells]
#: What a first look makes worth measuring: entry 1 is in both totals.
MENU: list[Counts] = [
    ((1, 1, 0), (0, 1, 1)),
    ((2, 1, 0), (0, -1, 1)),
    ((1, 0, 0), (0, 0, 1)),
    ((0, 2, 0), (0, 1, 0)),
]
EPSILONS, DELTAS = (Fraction(1), Fraction(2)), (Fraction(1, 5), Fraction(1, 5))
HIGHEST = 1
GRID = np.ones(3)

#: What is measured after an outcome of the first look; a broken one looks at the data too.
Table = Callable[[Cells, Cells], Counts]
Law = LatticeTruncatedLaplace
Calibrate = Callable[[Envelope, Counts], Law]


def envelope_of(records: Cells) -> Envelope:
    return Envelope(0.0, float(HIGHEST), radius=1.0, shape=3, records=records)


def matrix(counts: Counts) -> sparse.csr_array:
    return sparse.csr_array(np.array(counts, dtype=float))


def shipped(envelope: Envelope, counts: Counts) -> Law:
    """The noise of a look at totals, as :func:`dp_cmdp.release.totals.plan_totals` makes it."""
    largest, whole = record_moves(envelope, matrix(counts), GRID)
    return Law.calibrate(EPSILONS[1], DELTAS[1], steps=largest, entries=Fraction(whole, largest))


def one_total_at_a_time(envelope: Envelope, counts: Counts) -> Law:
    """Forgets that an entry moves both totals."""
    largest, _ = record_moves(envelope, matrix(counts), GRID)
    return Law.calibrate(EPSILONS[1], DELTAS[1], steps=largest)


def weights(law: Law) -> dict[int, int]:
    """The law in integers, over one denominator."""
    points = range(-law.support, law.support + 1)
    mass = [law.pmf(point) for point in points]
    whole = mass[0].denominator
    for each in mass:
        whole = whole * each.denominator // np.gcd.reduce([whole, each.denominator], dtype=object)
    return {point: int(p * whole) for point, p in zip(points, mass, strict=True)}


def exact_delta(
    pair: tuple[Cells, Cells], envelope: Envelope, table: Table, calibrate: Calibrate
) -> Fraction:
    """The least δ at which both looks together are (ε₁ + ε₂, δ)-private for this pair."""
    size = envelope.record_size
    first = weights(Law.calibrate(EPSILONS[0], DELTAS[0], steps=1, entries=size))
    grow = exp_lower(sum(EPSILONS))
    top, bottom = grow.numerator, grow.denominator
    laws = {counts: weights(calibrate(envelope, counts)) for counts in MENU}
    entered = sum(first.values()) ** 3
    far, found = max(first), Fraction(0)
    for shown in product(range(-far, far + HIGHEST + 1), repeat=3):
        seen = [_chance(first, shown, cells) for cells in pair]
        if not seen[0]:
            continue
        counts, others = (table(shown, cells) for cells in pair)
        if counts != others:  # what is measured is published: the other database never shows it
            found += Fraction(seen[0], entered)
            continue
        law = laws[counts]
        true = [integer_totals(matrix(counts), np.array(cells)) for cells in pair]
        reach = max(law)
        excess = 0
        for totals in product(*(range(n - reach, n + reach + 1) for n in true[0])):
            mine, other = (s * _chance(law, totals, at) for s, at in zip(seen, true, strict=True))
            excess += max(0, mine * bottom - top * other)
        found += Fraction(excess, entered * sum(law.values()) ** 2 * bottom)
    return found


def _chance(law: dict[int, int], shown: Cells, true) -> int:
    chance = 1
    for a, b in zip(shown, true, strict=True):
        chance *= law.get(a - int(b), 0)
    return chance


def neighbours(envelope: Envelope) -> list[tuple[Cells, Cells]]:
    points = list(product(range(HIGHEST + 1), repeat=3))
    return [
        (one, two)
        for one, two in product(points, points)
        if len({envelope.records[k] for k in range(3) if one[k] != two[k]}) == 1
    ]


def arbitrary(shown: Cells, _: Cells) -> Counts:
    """A table without any order in it."""
    return MENU[(7 * shown[0] + 3 * shown[1] + 5 * shown[2] ** 2) % len(MENU)]


def fixed(place: int) -> Table:
    return lambda shown, _: MENU[place]


def worst(envelope: Envelope, table: Table, calibrate: Calibrate, *, some: int = 1) -> Fraction:
    pairs = neighbours(envelope)[::some]
    return max(exact_delta(pair, envelope, table, calibrate) for pair in pairs)


@pytest.mark.parametrize("records", [(0, 1, 2), (0, 0, 1)])
def test_two_looks_the_second_chosen_by_the_first_spend_no_more_than_their_sum(records):
    envelope = envelope_of(records)
    found = worst(envelope, arbitrary, shipped, some=5)
    assert 0 < found <= sum(DELTAS)


@pytest.mark.parametrize("place", range(len(MENU)))
def test_each_choice_of_totals_is_covered(place):
    assert worst(envelope_of((0, 1, 2)), fixed(place), shipped, some=7) <= sum(DELTAS)


def test_an_entry_that_pays_for_one_of_its_two_totals_only_is_seen():
    """The fault the enumeration must be able to see."""
    pair = ((0, 0, 0), (0, 1, 0))
    envelope = envelope_of((0, 1, 2))
    honest, wrong = (
        exact_delta(pair, envelope, fixed(0), made) for made in (shipped, one_total_at_a_time)
    )
    assert honest <= sum(DELTAS) < wrong


def test_weights_that_read_the_data_are_seen():
    """The totals to be measured say what the entry is, whatever their noise."""

    def peeking(shown: Cells, cells: Cells) -> Counts:
        return MENU[(sum(shown) + cells[1]) % len(MENU)]

    pair = ((0, 0, 0), (0, 1, 0))
    assert exact_delta(pair, envelope_of((0, 1, 2)), peeking, shipped) == 1 > sum(DELTAS)


def hockey_stick(law: Law, shift: int) -> Fraction:
    points = range(-law.support, law.support + shift + 1)
    grow = exp_lower(law.certificate.epsilon)
    return sum(
        (max(Fraction(0), law.pmf(p) - grow * law.pmf(p - shift)) for p in points), Fraction(0)
    )


def test_a_total_rounded_after_looking_needs_its_sensitivity_rounded_up():
    """1.5 steps: the rounded total moves by 1 or by 2, and noise for 1.5 does not cover 2."""
    epsilon, delta = Fraction(1), Fraction(7, 20)
    rounded = {int(1.5 * (n + 1)) - int(1.5 * n) for n in range(4)}
    assert rounded == {1, 2}
    trap = Law.calibrate(epsilon, delta, steps=1, entries=Fraction(3, 2))
    assert hockey_stick(trap, 1) <= delta < hockey_stick(trap, 2)
    mended = Law.calibrate(epsilon, delta, steps=2)
    assert max(hockey_stick(mended, shift) for shift in (1, 2)) <= delta


def test_the_shipped_count_rounds_a_radius_that_is_no_whole_number_of_cells_up():
    envelope = Envelope(0.0, 4.0, radius=1.5, shape=1)
    assert record_moves(envelope, sparse.csr_array([[1.0]]), np.ones(1)) == (2, 2)
    assert record_moves(envelope, sparse.csr_array([[3.0]]), np.ones(1)) == (6, 6)
