"""The privacy of measurements, counted over all adjacent databases of tiny worlds, in fractions."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

import dp_cmdp as dp
from dp_cmdp._src.base.errors import InvalidArgumentError
from dp_cmdp._src.data import envelope as envelopes
from dp_cmdp._src.data.envelope import Envelope
from dp_cmdp._src.noise.laws import Laplace, Sensitivity
from dp_cmdp._src.noise.one_sided import OneSided
from dp_cmdp._src.release import strategy as strategies
from dp_cmdp._src.release.choose import QUERIES, WORST_ROWS, BestQueries
from dp_cmdp._src.release.measurement import LargestQuery, Measurement, Outcome, Query
from dp_cmdp._src.release.release import Release, is_empty
from tests.kernel.enumeration import divergence, exp_below, worst
from tests.kernel.worlds import (
    ADJACENCY,
    CELLS,
    CENTRES,
    SHARED,
    budget,
    moves_of,
    neighbours,
    queries,
    weights_of,
    world,
)

BUDGETS = [("1", "1/10"), ("2", "1/4"), ("3", "1/100")]
WHAT = ["entries", "queries", "one query", "worst row"]


@pytest.fixture(autouse=True)
def coarse(monkeypatch):
    """One lattice step per radius, about."""
    monkeypatch.setattr(envelopes, "BITS", 0)


@pytest.mark.parametrize("what", WHAT)
@pytest.mark.parametrize("name", ADJACENCY)
@pytest.mark.parametrize("law", [Laplace, OneSided])
def test_no_pair_of_adjacent_databases_tells_more_than_is_promised(name, what, law):
    query = queries(world(name))[what]
    if law is OneSided and query.sensitivity().count > 1:
        with pytest.raises(InvalidArgumentError, match="one-sided"):
            Measurement(query, law, budget(1, "1/10"))
        return
    moves = moves_of(query)
    for epsilon, delta in BUDGETS:
        measurement = Measurement(query, law, budget(epsilon, delta))
        found = worst(weights_of(measurement.law), Fraction(epsilon), moves)
        certified = measurement.law.delta(measurement.sensitivity, Fraction(epsilon))
        assert 0 < found <= certified <= Fraction(delta)


@pytest.mark.parametrize("name", ADJACENCY)
@pytest.mark.parametrize("what", WHAT)
def test_a_sensitivity_covers_every_move_and_its_largest_is_reached(name, what):
    query = queries(world(name))[what]
    counted = query.sensitivity()
    moves = [tuple(map(abs, move)) for move in moves_of(query)]
    assert max(map(sum, moves)) <= counted.l1
    assert max(sum(m * m for m in move) for move in moves) <= counted.l2_squared
    assert max(map(max, moves)) == counted.largest
    assert max(sum(m > 0 for m in move) for move in moves) <= counted.count


@pytest.mark.parametrize("name", ["disjoint records", "overlapping people", "two of three"])
@pytest.mark.parametrize("what", ["queries", "worst row"])
def test_noise_for_half_of_what_moves_is_refused_and_would_tell_too_much(name, what):
    query, spent = queries(world(name))[what], budget(1, "1/10")
    full = query.sensitivity()
    half = Sensitivity(-(-full.l1 // 2), full.l2_squared, -(-full.largest // 2), full.count)
    law = Laplace.calibrate(half, spent)
    with pytest.raises(InvalidArgumentError, match="private"):
        Measurement(query, law, spent)
    assert worst(weights_of(law), spent.epsilon, moves_of(query)) > spent.delta


def test_forgetting_that_a_record_moves_several_entries_would_tell_too_much():
    """A count that reads the radii alone, as if every entry had a record of its own."""
    alone, shared = world("own entries"), world("disjoint records")
    spent = budget(1, "1/10")
    law = Laplace.calibrate(Query(alone, SHARED).sensitivity(), spent)
    assert worst(weights_of(law), spent.epsilon, moves_of(Query(shared, SHARED))) > spent.delta
    with pytest.raises(InvalidArgumentError, match="private"):
        Measurement(Query(shared, SHARED), law, spent)


class TestOneSidedNoise:
    """A law that is neither symmetric nor monotone is judged at every shift, in both directions."""

    LARGEST = 5
    SPENT = budget(1, "1/10")

    def law(self) -> OneSided:
        one = Sensitivity(self.LARGEST, self.LARGEST**2, self.LARGEST, 1)
        return OneSided.calibrate(one, self.SPENT)

    def shifts(self, largest: int) -> set[tuple[int]]:
        return {(sign * far,) for far in range(1, largest + 1) for sign in (1, -1)}

    def test_every_shift_in_both_directions_is_private(self):
        law = self.law()
        assert law.cell == 1
        exact = [divergence(weights_of(law), Fraction(1), move) for move in self.shifts(5)]
        assert max(exact) <= self.SPENT.delta

    def test_a_dilated_table_is_not(self):
        """Every other integer never appears: one step tells everything."""
        law = self.law()
        table = [weight if j % 2 == 0 else 0 for j, weight in enumerate(np.repeat(law.weights, 2))]
        dilated = OneSided(1, tuple(int(weight) for weight in table))
        even = [divergence(table, Fraction(1), (2 * far,)) for far in range(1, 6)]
        assert max(even) <= self.SPENT.delta  # at even shifts all looks well
        assert divergence(table, Fraction(1), (1,)) == 1
        for largest in (1, 2, 5):
            wide = Sensitivity(largest, largest**2, largest, 1)
            assert dilated.delta(wide, Fraction(1)) == 1

    def test_cells_that_are_spread_evenly_are_private_at_every_shift_they_are_certified_for(self):
        law = self.law()
        spread = OneSided(3, law.weights)
        for largest in (1, 3, 4, 14, 15):
            moved = Sensitivity(largest, largest**2, largest, 1)
            assert spread.delta(moved, Fraction(1)) <= self.SPENT.delta
            found = worst(weights_of(spread), Fraction(1), self.shifts(largest))
            assert found <= spread.delta(moved, Fraction(1))
        beyond = Sensitivity(16, 256, 16, 1)
        assert spread.delta(beyond, Fraction(1)) > self.SPENT.delta

    @pytest.mark.parametrize("mirrored", [False, True])
    def test_what_is_private_in_one_direction_is_judged_in_the_other_too(self, mirrored):
        quarter = (1 << 256) // 4
        weights = (3 * quarter, quarter)[:: -1 if mirrored else 1]
        one = Sensitivity(1, 1, 1, 1)
        directions = [divergence(weights, Fraction(1), (move,)) for move in (1, -1)]
        assert min(directions) < max(directions) == Fraction(3, 4)
        assert OneSided(1, weights).delta(one, Fraction(1)) == Fraction(3, 4)

    def test_what_is_private_at_the_largest_shift_is_judged_at_smaller_ones_too(self):
        comb = tuple((1 << 256) // 4 if j % 2 == 0 else 0 for j in range(8))
        assert divergence(comb, Fraction(1), (2,)) < divergence(comb, Fraction(1), (1,)) == 1
        assert OneSided(1, comb).delta(Sensitivity(2, 4, 2, 1), Fraction(1)) == 1

    def test_two_moves_of_one_record_are_not_covered(self):
        law = self.law()
        for count in (2, 3):
            both = Sensitivity(2 * self.LARGEST, 2 * self.LARGEST**2, self.LARGEST, count)
            assert law.delta(both, Fraction(1)) == 1
            with pytest.raises(InvalidArgumentError, match="one-sided"):
                OneSided.calibrate(both, self.SPENT)
        moves = {(a, b) for a in (-5, 5) for b in (-5, 5)}
        assert worst(weights_of(law), Fraction(1), moves) > self.SPENT.delta
        query = Query(world("own entries"), np.array([[1, 0, 0], [1, 0, 0]]))
        with pytest.raises(InvalidArgumentError, match="private"):
            Measurement(query, law, self.SPENT)


class TestTheWorstRow:
    """Centres are whole numbers: with halves the outcome tells which row attained the maximum."""

    def pairs(self, centres: tuple[Any, ...]) -> set[tuple[Fraction, Fraction]]:
        """True largest excess of adjacent databases, centres taken as they stand."""
        envelope, found = world("disjoint records"), set()
        for here, there in set(neighbours(envelope)):
            excess = [
                max(Fraction(int(row @ cells)) - Fraction(e) for row, e in zip(SHARED, centres))  # noqa: B905
                for cells in (here, there)
            ]
            found.add(tuple(excess))
        return found

    def test_the_outcomes_of_adjacent_databases_share_a_lattice(self):
        assert all((b - a).denominator == 1 for a, b in self.pairs(CENTRES))

    def test_half_centres_would_tell_the_row_and_are_refused(self):
        """Some adjacent databases would have disjoint supports: δ = 1."""
        halves = (1, Fraction(1, 2), 2)
        assert any((b - a).denominator == 2 for a, b in self.pairs(halves))
        refused: list[Any] = [halves, (1, 0.5, 2), (1, 1.0, 2), (True, 0, 2), (1, 0), ()]
        for centres in refused:
            with pytest.raises(InvalidArgumentError, match="centres"):
                LargestQuery(world("disjoint records"), SHARED, centres)


def test_measurements_chosen_after_an_outcome_add_up():
    """Entries first; then a query whose weights are any function of what was published."""
    envelope = world("one of three")
    part = budget("1/2", "1/20")
    first = Measurement(Query(envelope, np.array([[1, 0, 0]])), Laplace, part)
    choices = [
        Measurement(Query(envelope, np.array([weights])), Laplace, part)
        for weights in ([1, 1, 0], [2, -1, 1], [0, 0, 1], [-3, 0, 0])
    ]
    noise, support = weights_of(first.law), first.law.high
    assert support is not None
    ratio, whole, reached = exp_below(Fraction(1)), sum(noise), Fraction(0)

    def chance(z: int) -> Fraction:
        return Fraction(noise[z + support], whole) if abs(z) <= support else Fraction(0)

    pairs = [(a, b) for a, b in set(neighbours(envelope)) if a[0] in (0, 1) and a[1] == a[2] == 1]
    for here, there in pairs:
        total = Fraction(0)
        for y in range(-support, CELLS + support):
            p, q = chance(y - here[0]), chance(y - there[0])
            if p:
                second = choices[(7 * y) % len(choices)]
                total += _mixed(second, here, there, p, ratio * q)
        reached = max(reached, total)
    assert Fraction(1, 20) < reached <= Fraction(1, 10)


def _mixed(
    measurement: Measurement,
    here: tuple[int, ...],
    there: tuple[int, ...],
    p: Fraction,
    q: Fraction,
) -> Fraction:
    """Σ max(p·P(y) − q·Q(y), 0) over the second outcome."""
    weights = weights_of(measurement.law)
    row = measurement.query.weights.toarray()[0]
    far, whole, size = int(row @ there) - int(row @ here), sum(weights), len(weights)
    pairs = ((w, weights[z - far] if 0 <= z - far < size else 0) for z, w in enumerate(weights))
    return sum((max(p * a - q * b, Fraction(0)) for a, b in pairs), Fraction(0)) / whole


@pytest.mark.parametrize("rows", [False, True], ids=["queries", "worst row"])
def test_queries_chosen_after_the_entries_are_private_over_all_adjacent_databases(
    rows, monkeypatch
):
    """The default's second stage, run for every outcome of the first that has a chance."""
    monkeypatch.setattr(strategies, "ENTRY_BITS", 0)
    monkeypatch.setattr(strategies, "QUERY_BITS", 1)
    theta = Envelope(0.0, 3.5, radius=1.0, shape=2)
    A = dp.Affine.of([[theta[0], theta[1]], [theta[0] * 0.5, theta[1]]], theta)
    problem = dp.ParametricLP(maximize=[3.0, 2.0], A=A, b=[4.0, 3.0], upper=2.0)
    spent, candidates = budget(4, "1/4"), WORST_ROWS if rows else QUERIES
    first, second = strategies.first_entries(Fraction(7, 20), BestQueries(candidates))
    none = Release(theta)
    look: Any = first.propose(problem, none, first.part(spent))
    noise, reach = weights_of(look.law), look.law.high
    follow = {}
    for y in product(range(-reach, CELLS + reach), repeat=2):
        released = none + Outcome(look, y)
        if not is_empty(released.uncertainty):
            follow[y] = second.propose(problem, released, second.part(spent))
    assert any(found is not None and found.query.linear is not rows for found in follow.values())
    pairs = [(a, b) for a in product(range(CELLS), repeat=2) for b in near(a)]
    told = {pair: sum(excess(*pair, noise, reach, follow, spent.epsilon, float)) for pair in pairs}
    worst_pair = max(told, key=told.__getitem__)
    exact = sum(excess(*worst_pair, noise, reach, follow, spent.epsilon, Fraction))
    assert Fraction(1, 20) < exact <= spent.delta


def near(cells):
    """Databases in which one entry is a cell further up or down."""
    for k, far in product(range(2), (-1, 1)):
        moved = tuple(n + far * (k == i) for i, n in enumerate(cells))
        if 0 <= moved[k] < CELLS:
            yield moved


def excess(here, there, noise, reach, follow, epsilon, kind):
    """max(P(first, second) − e^ε Q(first, second), 0), summed over the second outcome."""
    ratio, whole = kind(exp_below(epsilon)), sum(noise)
    chance = [kind(Fraction(weight, whole)) for weight in noise]

    def law_at(y, cells):
        place = [a - b + reach for a, b in zip(y, cells, strict=True)]
        inside = all(0 <= z < len(chance) for z in place)
        return chance[place[0]] * chance[place[1]] if inside else 0

    for y, measured in follow.items():
        p, q = law_at(y, here), law_at(y, there)
        if not p:
            continue
        if measured is None:
            yield max(p - ratio * q, 0)
            continue
        step = np.asarray(measured.query.envelope.step)
        ends = [measured.query.true_integers((np.array(c) + 0.25) * step) for c in (here, there)]
        own = weights_of(measured.law)
        share = [kind(Fraction(weight, sum(own))) for weight in own]
        both = [(p, ratio * q)]
        for a, b in zip(*ends, strict=True):
            shifted = [
                share[z + a - b] if 0 <= z + a - b < len(own) else 0 for z in range(len(own))
            ]
            both = [(u * s, v * t) for u, v in both for s, t in zip(share, shifted, strict=True)]
        yield sum((max(u - v, 0) for u, v in both), kind(0))


def test_the_enumeration_itself_finds_a_known_divergence():
    """Noise 0 or 1 with equal chance, moved by one: half of its mass is certain of it."""
    assert divergence([1, 1], Fraction(1), (1,)) == Fraction(1, 2)
    assert divergence([1, 1], Fraction(1), (1, 1)) == Fraction(3, 4)
    ratio = exp_below(Fraction(1))
    assert 0 < 1 - divergence([1, 2, 1], Fraction(1, 10), (1,)) < 1
    assert float(ratio) == pytest.approx(2.718281828459045, rel=1e-15)
