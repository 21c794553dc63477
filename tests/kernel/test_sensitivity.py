"""What one record moves, in integers: against brute force, and where floats or int64 end."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from dp_cmdp._src.base.errors import InvalidArgumentError
from dp_cmdp._src.data import envelope as envelopes
from dp_cmdp._src.data.envelope import Envelope
from dp_cmdp._src.noise.laws import Laplace, Sensitivity
from dp_cmdp._src.program.parametric import ParametricLP
from dp_cmdp._src.release import measurement as measurements
from dp_cmdp._src.release.measurement import LargestQuery, Measurement, Query
from tests.kernel.enumeration import worst
from tests.kernel.worlds import budget, rows, weights_of

FIELDS = ("l1", "l2_squared", "largest", "count")
Cases = tuple[list[list[int]], list[list[int]], int | None]


def lattice(change: list[list[int]], limit: int | None) -> Envelope:
    """Entries whose lattice steps are the numbers 1, 2, 4, … of their largest change over 8."""
    matrix = np.array(change, dtype=float)
    wide = 64.0 * matrix.max(axis=0)
    return Envelope(-wide, wide, change=sparse.csr_array(matrix), entries_per_record=limit)


@pytest.fixture
def coarse(monkeypatch):
    """Eight lattice steps per radius or a few more."""
    monkeypatch.setattr(envelopes, "BITS", 3)


@st.composite
def cases(draw: st.DrawFn) -> Cases:
    entries, records, count = (draw(st.integers(1, most)) for most in (4, 3, 3))
    row = st.lists(st.integers(0, 3), min_size=entries, max_size=entries)
    change = draw(st.lists(row, min_size=records, max_size=records))
    change.append([0 if any(row[k] for row in change) else 1 for k in range(entries)])
    weight = st.lists(st.integers(-3, 3), min_size=entries, max_size=entries)
    weights = draw(st.lists(weight, min_size=count, max_size=count))
    return change, weights, draw(st.none() | st.integers(1, 3))


def measured(moves: list[int]) -> tuple[int, int, int, int]:
    sizes = [abs(move) for move in moves]
    return sum(sizes), sum(m * m for m in sizes), max(sizes), sum(m > 0 for m in sizes)


def brute_force(envelope: Envelope, weights: np.ndarray) -> list[int]:
    """The greatest of each measure over records, subsets of their entries, and signs."""
    most = [0, 0, 0, 0]
    for record in envelope.moves.toarray():
        owned = np.flatnonzero(record)
        limit = min(envelope.entries_per_record or owned.size, owned.size)
        for chosen in combinations(owned, limit):
            for signs in product((-1, 0, 1), repeat=limit):
                far = np.zeros(record.size, dtype=object)
                for k, sign in zip(chosen, signs, strict=True):
                    far[k] = sign * int(record[k])
                found = measured([int(row @ far) for row in weights.astype(object)])
                most = [max(pair) for pair in zip(most, found, strict=True)]
    return most


@settings(max_examples=150, deadline=None)
@given(case=cases())
def test_no_subset_of_entries_and_no_signs_move_more_than_is_counted(case):
    change, weights, limit = case
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(envelopes, "BITS", 3)
        envelope = lattice(change, limit)
        query = Query(envelope, np.array(weights))
        counted, exact = query.sensitivity(), brute_force(envelope, np.array(weights))
    assert all(getattr(counted, name) >= e for name, e in zip(FIELDS, exact, strict=True))
    assert counted.largest == exact[2]
    if limit is None:
        assert counted.count == max(_touched(envelope, query), default=0)
        positive = Query(envelope, np.abs(weights)).sensitivity()
        assert positive == counted  # signs of weights say nothing: one record may change both ways
        assert [getattr(positive, name) for name in FIELDS[:3]] == brute_force(
            envelope, np.abs(weights)
        )[:3]


def _touched(envelope: Envelope, query: Query) -> list[int]:
    table = (abs(query.weights) @ envelope.moves.T).toarray()
    return [int((column > 0).sum()) for column in table.T]


@settings(max_examples=60, deadline=None)
@given(case=cases(), scale=st.sampled_from([1, 2**20, 2**40, 2**51]))
def test_python_integers_and_int64_count_the_same(case, scale):
    change, weights, limit = case
    query = Query(lattice(change, limit), scale * np.array(weights))
    usual = query.sensitivity()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measurements, "SAFE", 0.0)
        assert query.sensitivity() == usual
    assert usual == recounted(query)


def recounted(query: Query) -> Sensitivity:
    """Dictionaries of Python integers; with a limit, in the words of the module."""
    envelope, limit = query.envelope, query.envelope.entries_per_record
    largest, l1, norm, columns = 0, 0, 0, 0
    whole = [0, 0, 0, 0]
    for record in rows(envelope.moves):
        moved: dict[int, list[int]] = {}
        alone: dict[int, list[int]] = {}
        for k, steps in record:
            for i, row in enumerate(rows(query.weights)):
                for entry, weight in row:
                    if entry == k and steps:
                        moved.setdefault(i, []).append(abs(weight) * steps)
                        alone.setdefault(k, []).append(abs(weight) * steps)
        if moved:
            found = measured([sum(sizes) for sizes in moved.values()])
            whole = [max(pair) for pair in zip(whole, found, strict=True)]

        def top(sizes: list[int]) -> int:
            return sum(sorted(sizes)[-(limit or len(sizes) or 1) :])

        largest = max([largest, *(top(sizes) for sizes in moved.values())])
        l1 = max(l1, top([sum(sizes) for sizes in alone.values()]))
        columns = max(columns, top([len(sizes) for sizes in alone.values()]))
        roots = [sum(s * s for s in sizes) for sizes in alone.values()]
        norm = max(norm, top([_root_above(square) for square in roots]))
    if limit is None:
        return Sensitivity(*whole)
    square = -(-norm * norm // (1 << 64))
    return Sensitivity(l1, min(square, l1 * largest, whole[1]), largest, min(columns, whole[3]))


def _root_above(square: int) -> int:
    """The least r with r² ≥ square·2^64."""
    low, high = 0, 1 << (square.bit_length() // 2 + 34)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if middle**2 >= square << 64 else (middle + 1, high)
    return low


def everyone(entries: int, limit: int) -> Envelope:
    return Envelope(0, 4, shape=entries, radius=1, entries_per_record=limit)


STEP = 1 << 16


def test_a_hundred_entries_of_which_a_person_changes_fifty():
    """The sum of column norms alone would square a sum: 2,500 for 50."""
    counted = Query(everyone(100, 50), np.eye(100, dtype=int)).sensitivity()
    assert counted == Sensitivity(50 * STEP, 50 * STEP**2, STEP, 50)


@pytest.mark.parametrize(
    ("weights", "limit", "square"),
    [
        (np.ones((3, 3), dtype=int), 2, 12),  # (√3 + √3)²
        (np.eye(4, dtype=int), 3, 3),  # ℓ1·largest: 3·1; (1 + 1 + 1)² = 9, all of them 4
        (np.vstack([np.eye(2, dtype=int), [[3, 0]]]), 2, 11),  # all entries: 3² + 1² + 1²
    ],
)
def test_each_bound_of_the_squares_is_the_smallest_somewhere(weights, limit, square):
    counted = Query(everyone(weights.shape[1], limit), weights).sensitivity()
    assert counted.l2_squared == square * STEP**2


@pytest.mark.parametrize(("limit", "count"), [(1, 3), (2, 3), (3, 3)])
def test_entries_that_share_queries_do_not_move_more_queries_than_there_are(limit, count):
    assert Query(everyone(3, limit), np.ones((3, 3), dtype=int)).sensitivity().count == count


def test_a_limit_above_the_entries_of_a_record_is_none():
    limited = Query(everyone(3, 7), np.arange(6).reshape(2, 3)).sensitivity()
    assert limited.l1 == (3 + 5 + 7) * STEP
    assert limited.largest == 12 * STEP
    assert limited.count == 2


def test_a_maximum_moves_as_its_furthest_row_and_is_one_move():
    envelope = Envelope(0, 4, radius=1, shape=3, records=[0, 0, 1])
    weights = np.array([[2, 1, 0], [0, -1, 5], [1, 0, 1]])
    counted = LargestQuery(envelope, weights, (0, 0, 0)).sensitivity()
    assert counted == Sensitivity(5 * STEP, 25 * STEP**2, 5 * STEP, 1)
    assert LargestQuery(envelope, 0 * weights, (0, 0, 0)).sensitivity() == Sensitivity(0, 0, 0, 0)


def test_what_can_hardly_vary_moves_no_further_than_its_range():
    """Radius 1 of a record whose entry lies within three cells."""
    narrow = Envelope([0.0], [3 * 2.0**-17], radius=[3 * 2.0**-17])
    assert Query(narrow, np.array([[5]])).sensitivity().largest == 5 * narrow.moves.max()
    moved = np.array([[1.0, 2.0**-10], [0.0, 1.0]])
    shared = Envelope([0, 0], [1, 2], change=sparse.csr_array(moved))
    assert shared.moves.toarray().tolist() == [[STEP, 64], [0, STEP]]


class TestWhereFloatsEnd:
    """Literal numbers at which a count in floats or in int64 would be short."""

    def test_a_sum_of_changes_is_rounded_up_before_it_is_counted(self):
        """One coefficient θ_0 + θ_1, one record with C = (1, 2^-54): 1 + 2^-54 in floats is 1."""
        theta = Envelope([0, 0], [4, 1], change=sparse.csr_array([[1.0, 2.0**-54], [0.0, 1.0]]))
        program = ParametricLP(maximize=[1.0], A=[[theta[0] + theta[1]]], b=[9.0], upper=5.0)
        entrywise, M, _ = program.entrywise()
        assert M.toarray().tolist() == [[1.0, 1.0]]
        assert entrywise.envelope.change.max() > 1.0 == 1.0 + 2.0**-54
        assert entrywise.envelope.moves.max() == STEP + 1

    def test_sums_of_weights_and_moves_beyond_64_bits_are_counted(self):
        """10 entries of one record, weights 2^53, moves 2^16: 10·2^69 in one query."""
        envelope = Envelope(0, 4, radius=1, shape=10, records=np.zeros(10, dtype=int))
        counted = Query(envelope, np.full((2, 10), 1 << 53)).sensitivity()
        one = 10 * (1 << 69)
        assert counted == Sensitivity(2 * one, 2 * one * one, one, 2)
        values = np.full(10, 4.0)
        query = Query(envelope, np.full((1, 10), 1 << 53))
        assert query.true_integers(values) == [10 * (1 << 53) * 4 * STEP]
        with pytest.raises(InvalidArgumentError, match="smaller integers"):
            Measurement(query, Laplace, budget(1, "1/1000"))

    def test_squares_beyond_64_bits_are_counted(self):
        envelope = Envelope(0, 4, radius=1, shape=2)
        counted = Query(envelope, np.array([[1 << 40, 0], [1 << 40, 1]])).sensitivity()
        assert counted.l2_squared == 2 * (1 << 112)

    @pytest.mark.parametrize("weight", [(1 << 53) + 1, -(1 << 53) - 1, 1 << 62])
    def test_weights_that_are_no_floats_are_refused(self, weight):
        with pytest.raises(InvalidArgumentError, match=r"2\^53"):
            Query(Envelope(0, 4, radius=1, shape=1), np.array([[weight]]))

    @pytest.mark.parametrize("weights", [[[1.0]], [["1"]], [[True]], [[1, 2]], [[1 << 70]]])
    def test_weights_that_are_no_matrix_of_integers_are_refused(self, weights):
        with pytest.raises(InvalidArgumentError, match="weights"):
            Query(Envelope(0, 4, radius=1, shape=1), np.array(weights))


class TestThroughCoefficients:
    """`entries_per_record` of a database says nothing of the coefficients that are made of it."""

    def program(self) -> ParametricLP:
        theta = Envelope(0, 3.5, radius=1, shape=3, entries_per_record=1)
        A = [[theta[0], theta[0]], [theta[1], 2 * theta[0]]]
        return ParametricLP(maximize=[1.0, 1.0], A=A, b=[9.0, 9.0], upper=5.0)

    def test_no_entry_moves_more_coefficients_than_are_counted(self, coarse):
        entrywise, M, _ = self.program().entrywise()
        envelope, query = entrywise.envelope, Query(entrywise.envelope, np.eye(4, dtype=int))
        counted = query.sensitivity()
        step = [Fraction(float(h)) for h in envelope.step]
        places = [Fraction(i, 4) for i in range(15)]
        worst_moves = [0, 0, 0, 0]
        for k in range(3):
            for here, there in product(places, repeat=2):
                if abs(here - there) > 1:
                    continue
                values = [
                    [Fraction(float(w)) * (end if j == k else 1) for j, w in enumerate(row)]
                    for end in (here, there)
                    for row in M.toarray()
                ]
                cells = [sum(value) // step[i % 4] for i, value in enumerate(values)]
                found = measured([b - a for a, b in zip(cells[:4], cells[4:], strict=True)])
                worst_moves = [max(pair) for pair in zip(worst_moves, found, strict=True)]
        assert worst_moves[3] == 3
        assert all(getattr(counted, name) >= e for name, e in zip(FIELDS, worst_moves, strict=True))

    def test_a_limit_that_is_carried_over_would_tell_too_much(self, monkeypatch):
        """One entry in three coefficients, counted as if one coefficient changed."""
        monkeypatch.setattr(envelopes, "BITS", 0)
        entrywise, _, _ = self.program().entrywise()
        envelope = entrywise.envelope
        assert envelope.entries_per_record is None or envelope.entries_per_record >= 3
        carried = Envelope._of(
            envelope.lower, envelope.upper, envelope.change, entries_per_record=1
        )
        weights, spent = np.eye(4, dtype=int), budget(1, "1/10")
        law = Laplace.calibrate(Query(carried, weights).sensitivity(), spent)
        with pytest.raises(InvalidArgumentError, match="private"):
            Measurement(Query(envelope, weights), law, spent)
        three = [(1, 1, 1)]
        assert worst(weights_of(law), spent.epsilon, three) > spent.delta
        honest = Laplace.calibrate(Query(envelope, weights).sensitivity(), spent)
        assert worst(weights_of(honest), spent.epsilon, three) <= spent.delta


def test_records_behind_gaps_in_their_names_are_counted():
    """The sum .1 + .7 of one record, whose names leave numbers out."""
    envelope = Envelope(0, 1, radius=[1, 0.1, 0.7], shape=3, records=[7, 10**9, 10**9])
    counted = Query(envelope, np.array([[0, 7, 1], [1, 0, 0]])).sensitivity()
    steps = [
        -(-Fraction(r) // Fraction(float(h)))
        for r, h in zip((0.1, 0.7), envelope.step[1:], strict=True)
    ]
    assert counted.largest == 7 * steps[0] + steps[1]
    assert counted == recounted(Query(envelope, np.array([[0, 7, 1], [1, 0, 0]])))


def test_many_random_queries_are_counted_as_by_hand():
    rng = np.random.default_rng(0)
    for trial in range(20):
        change = (rng.random((6, 12)) < 0.3) * rng.uniform(0.01, 1.0, (6, 12))
        change[trial % 6, :] = np.maximum(change[trial % 6, :], 0.01)
        limit = (None, 1, 2, 5)[trial % 4]
        wide = 4 * change.max(axis=0)
        envelope = Envelope(-wide, wide, change=sparse.csr_array(change), entries_per_record=limit)
        weights = rng.integers(-9, 10, (5, 12)) * (rng.random((5, 12)) < 0.4)
        query = Query(envelope, weights)
        assert query.sensitivity() == recounted(query)
