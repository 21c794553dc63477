"""Measurements: what they publish is certainly true, says nothing else, and is refused unproved."""

from __future__ import annotations

import os
import pickle
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from dp_cmdp._src.base.errors import InvalidArgumentError
from dp_cmdp._src.data.envelope import Envelope
from dp_cmdp._src.noise.laws import Laplace, Sensitivity
from dp_cmdp._src.noise.one_sided import OneSided
from dp_cmdp._src.noise.unbounded import UnboundedLaplace
from dp_cmdp._src.program.parametric import ParametricLP
from dp_cmdp._src.release.measurement import (
    LargestQuery,
    Measurement,
    Outcome,
    Query,
    Simulated,
    System,
)
from dp_cmdp._src.release.release import Release
from tests.kernel.worlds import budget
from tests.marked import reachable

ONE = budget(1, "1/100")
WEIGHTS = np.array([[2, 1, 0], [0, -1, 1], [0, 3, 0], [0, 0, -5], [0, 0, 0]])


class Chosen(System):
    """A source of chosen noise that counts what it is asked for."""

    def __init__(self, *noise: Any) -> None:
        self.noise, self.asked = noise, []

    def draw(self, law: Any, size: int) -> list[int]:
        self.asked.append((law, size))
        return (list(self.noise) * size)[:size]


def end(law: Any, which: str) -> int:
    """The least or greatest noise, or some between; of unbounded noise far out."""
    low = -(10**6) if law.low is None else law.low
    high = 10**6 if law.high is None else law.high
    return {"low": low, "middle": (low + high) // 2 + 1, "high": high}[which]


@st.composite
def databases(draw: st.DrawFn) -> tuple[Envelope, np.ndarray]:
    """Entries of very different size, at their bounds, on lattice points, beside and between."""
    size = draw(st.integers(1, 4))
    scale = np.array([10.0 ** draw(st.integers(-12, 12)) for _ in range(size)])
    lower = scale * [draw(st.sampled_from([-3.0, 0.0, 1.0, 7e5])) for _ in range(size)]
    upper = lower + scale
    share = np.array([draw(st.sampled_from([1.0, 0.3, 1e-4])) for _ in range(size)])
    radius = share * (upper - lower)
    names = [draw(st.sampled_from([3, 4, 10**12])) for _ in range(size)]
    envelope = Envelope(lower, upper, radius=radius, records=names)
    values = lower + (upper - lower) * [draw(st.floats(0, 1)) for _ in range(size)]
    place = draw(st.sampled_from(["between", "on", "below", "above", "bounds"]))
    if place != "between":
        values = np.floor(values / envelope.step) * envelope.step
    if place == "below":
        values = np.nextafter(values, -np.inf)
    elif place == "above":
        values = np.nextafter(values, np.inf)
    elif place == "bounds":
        values = np.where(np.arange(size) % 2, lower, upper)
    return envelope, np.clip(values, lower, upper)


@settings(max_examples=300, deadline=None)
@given(data=st.data(), known=databases(), which=st.sampled_from(["low", "middle", "high"]))
def test_the_truth_is_certainly_among_what_is_allowed(data, known, which):
    envelope, values = known
    weight = st.integers(-9, 9) | st.sampled_from([2**34, -(2**34)])
    rows = data.draw(st.integers(1, 3))
    table = st.lists(weight, min_size=envelope.size, max_size=envelope.size)
    weights = np.array(data.draw(st.lists(table, min_size=rows, max_size=rows)))
    query: Query = Query(envelope, weights)
    if data.draw(st.booleans()):
        centre = st.integers(-(2**60), 2**60)
        centres = data.draw(st.lists(centre, min_size=rows, max_size=rows))
        query = LargestQuery(envelope, weights, tuple(centres))
    kind = data.draw(st.sampled_from([Laplace, OneSided, UnboundedLaplace]))
    if kind is OneSided and query.sensitivity().count > 1:
        kind = Laplace
    measurement = Measurement(query, kind, ONE)
    outcome = measurement.draw(values, Chosen(end(measurement.law, which)))
    found = outcome.inequalities()
    assert values in found
    assert (envelope.lower <= found.lower).all()
    assert (found.lower <= found.upper).all()
    assert (found.upper <= envelope.upper).all()
    release = Release(envelope) + outcome + measurement.draw(values, System())
    assert values in release.uncertainty
    assert ((release.lower <= release.estimate) & (release.estimate <= release.upper)).all()


def test_a_bound_without_the_cell_that_is_rounded_off_would_miss_the_truth():
    envelope = Envelope(0, 4, radius=1, shape=1)
    value = np.array([1.0 + 2.0**-17])  # between two lattice points
    measurement = Measurement(Query(envelope, np.array([[1]])), Laplace, ONE)
    found = measurement.draw(value, Chosen(measurement.law.low)).inequalities()
    careless = measurement.query.true_integers(value)[0] * envelope.step
    assert careless < value <= found.upper == careless + envelope.step


def test_bounds_between_two_floats_are_rounded_outwards():
    """On a lattice finer than floats, what the integers say is not narrowed by rounding."""
    envelope = Envelope(-4, 4, radius=2.0**-42, shape=1)
    step = Fraction(float(envelope.step[0]))
    for noise, value in product(range(20), (3.0, -3.0)):
        measurement = Measurement(Query(envelope, np.array([[1]])), Laplace, ONE)
        outcome = measurement.draw(np.array([value]), Chosen(noise))
        found, law, (y,) = outcome.inequalities(), measurement.law, outcome.integers
        assert law.low is not None
        assert law.high is not None
        assert Fraction(found.lower[0]) <= (y - law.high) * step
        assert (y - law.low + 1) * step <= Fraction(found.upper[0])


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("size", [1, 2, 7])
def test_an_interval_is_as_wide_as_the_noise_and_one_cell(sign, size):
    envelope = Envelope(-100, 100, radius=1, shape=1)
    measurement = Measurement(Query(envelope, np.array([[sign * size]])), Laplace, ONE)
    found = measurement.draw(np.array([0.3]), System()).inequalities()
    cells, high = (found.upper - found.lower)[0] / envelope.step[0], measurement.law.high
    assert found.is_box
    assert high is not None
    assert 2 * high // size <= cells <= 2 * high // size + 2


def test_one_sided_noise_of_small_mean_keeps_the_end_of_the_sign_of_its_weight_close():
    envelope = Envelope(-100, 100, radius=1, shape=2)
    budget_ = budget(10, "1/1000")
    measurement = Measurement(Query(envelope, np.diag([4, -4])), OneSided, budget_)
    law, values = measurement.law, np.array([0.3, 0.3])
    assert law.high is not None
    assert law.mean < 0.48 * law.high
    found = measurement.draw(values, Chosen(round(law.mean))).inequalities()
    far = np.abs(np.array([found.upper, found.lower]) - values)
    assert far[0, 0] < far[1, 0]  # w > 0: the upper end
    assert far[1, 1] < far[0, 1]  # w < 0: the lower end


def test_what_an_outcome_says_is_what_its_integers_allow_and_no_more():
    """Sums of cells at the ends of y − high … y − low, on the lattice, touch both bounds."""
    envelope = Envelope(0, 8, radius=1, shape=3)
    measurement = Measurement(Query(envelope, WEIGHTS[:2]), Laplace, ONE)
    values = np.array([1.0, 2.5, 4.0])
    for which, rows in (("low", [0, 1]), ("high", [2, 3])):
        found = measurement.draw(values, Chosen(end(measurement.law, which))).inequalities()
        slack = found.q - found.W @ values
        cell = np.abs(found.W.toarray()).sum(axis=1) * envelope.step[0]
        assert found.W.shape == (4, 3)
        assert ((slack >= 0) & (slack <= cell))[rows].all()
        assert (slack > cell).sum() == 2


def test_a_row_without_weights_and_unbounded_noise_say_nothing():
    envelope = Envelope(0, 8, radius=1, shape=3)
    for query, law in (
        (Query(envelope, WEIGHTS[4:]), Laplace),
        (Query(envelope, WEIGHTS[:4]), UnboundedLaplace),
        (LargestQuery(envelope, WEIGHTS[:2], (0, 1)), UnboundedLaplace),
    ):
        outcome = Measurement(query, law, ONE).draw(np.array([1.0, 2.0, 3.0]), System())
        found = outcome.inequalities()
        assert found.is_box
        assert found.lower.tolist() == [0, 0, 0]
        assert found.upper.tolist() == [8, 8, 8]


def test_the_worst_row_bounds_every_row_from_above():
    envelope, centres = Envelope(0, 8, radius=1, shape=3), (10, -(2**17), 0, 5, 0)
    measurement = Measurement(LargestQuery(envelope, WEIGHTS, centres), Laplace, ONE)
    outcome = measurement.draw(np.array([1.0, 2.0, 3.0]), System())
    assert len(outcome.integers) == 1
    found = outcome.inequalities()
    assert found.W.shape == (2, 3)  # the rows of one entry tighten intervals, the empty one is none
    assert (found.lower[:2] == 0).all()


class TestCoupling:
    """The same noise, or the same integers, for two databases: only lattice cells come between."""

    envelope = Envelope([1e6, 1e6, 0], [1e6 + 1, 1e6 + 1, 9], radius=[1e-7, 1e-7, 1], shape=3)
    first = np.array([1e6 + 0.123456789, 1e6 + 0.7, 3.3])
    moved = np.array([-7e-8, 3e-8, 0.8])
    second = first + moved
    queries = (Query(envelope, WEIGHTS[:3]), LargestQuery(envelope, WEIGHTS[:3], (1, 2, 3)))

    def test_the_same_noise_gives_outcomes_that_differ_by_the_cells_alone(self):
        for query in self.queries:
            measurement = Measurement(query, Laplace, ONE)
            sources = Chosen(17, -5, 3), Chosen(17, -5, 3)
            one, two = (
                measurement.draw(values, source).integers
                for values, source in zip((self.first, self.second), sources, strict=True)
            )
            true = [query.true_integers(values) for values in (self.first, self.second)]
            moved = [b - a for a, b in zip(one, two, strict=True)]
            assert moved == [b - a for a, b in zip(*true, strict=True)]
            assert sources[0].asked == sources[1].asked == [(measurement.law, query.size)]

    def both(self, query: Query, first: Any, second: Any) -> tuple[Release, Release]:
        """Releases of two databases with noise that makes their integers equal."""
        measurement = Measurement(query, Laplace, ONE)
        true = [query.true_integers(values) for values in (first, second)]
        wanted = [max(pair) + measurement.law.low for pair in zip(*true, strict=True)]
        found = []
        for values, integers in zip((first, second), true, strict=True):
            noise = [y - n for y, n in zip(wanted, integers, strict=True)]
            found.append(Release(self.envelope) + measurement.draw(values, Chosen(*noise)))
        return found[0], found[1]

    def test_the_same_integers_give_equal_bytes(self, tmp_path):
        theta = self.envelope
        lp = ParametricLP(
            maximize=[1.0, 1.0],
            A=[[theta[2], theta[2]], [theta[0] - 1e6, 1.0]],
            b=[9.0, theta[1] - 1e6 + 1],
            upper=5.0,
        )
        for query in self.queries:
            one, two = self.both(query, self.first, self.second)
            for name in ("lower", "upper", "q"):
                a, b = (getattr(release.uncertainty, name) for release in (one, two))
                assert a.tobytes() == b.tobytes()
            assert one.estimate.tobytes() == two.estimate.tobytes()
            files = [release.save(tmp_path / "release.npz").read_bytes() for release in (one, two)]
            assert files[0] == files[1]
            answers = [lp.answer(release.uncertainty, release.estimate) for release in (one, two)]
            assert answers[0].x.tobytes() == answers[1].x.tobytes()
            assert repr(one) == repr(two)

    def test_a_guard_in_floats_that_reads_the_truth_would_be_seen(self):
        """q = max(q, Wθ): where floats round Wθ above q, the release tells that they did."""
        differ, query = 0, Query(self.envelope, np.array([[7, -7, 0], [-11, 11, 0]]))
        for shift in np.arange(50) * 1e-3:
            far = np.array([shift, 0, 0])
            databases = self.first + far, self.second + far
            releases = self.both(query, *databases)
            plain, guarded = set(), set()
            for release, values in zip(releases, databases, strict=True):
                known = release.uncertainty
                plain.add(known.q.tobytes())
                guarded.add(np.maximum(known.q, known.W @ values).tobytes())
            assert len(plain) == 1
            differ += len(guarded) > 1
        assert differ > 5


class Refusing(System):
    """A source that fails before it gives any noise."""

    def draw(self, law: Any, size: int) -> list[int]:
        raise OSError("no entropy")


def test_nothing_is_read_without_noise(monkeypatch):
    read: list[Any] = []
    monkeypatch.setattr(Query, "true_integers", lambda self, values: read.append(values))
    measurement = Measurement(Query(Envelope(0, 8, radius=1, shape=3), WEIGHTS), Laplace, ONE)
    with pytest.raises(OSError, match="entropy"):
        measurement.draw(np.array([1.0, 2.0, 3.0]), Refusing())
    assert not read


def test_noise_for_real_use_is_what_the_operating_system_gives():
    assert System().source is os.urandom
    assert not System.simulated
    assert Simulated.simulated
    measurement = Measurement(Query(Envelope(0, 8, radius=1, shape=3), WEIGHTS[:3]), Laplace, ONE)

    def drawn(seed: int) -> tuple[int, ...]:
        source = System(np.random.default_rng(seed).bytes)
        return measurement.draw(np.array([1.0, 2.0, 3.0]), source).integers

    assert drawn(1) == drawn(1) != drawn(2)


@pytest.mark.parametrize("kind", ["linear", "largest"])
def test_nothing_of_the_truth_can_be_reached_from_an_outcome(kind):
    envelope = Envelope(0, 8, radius=1, shape=3)
    values = np.array([1.2345678901, 2.3456789012, 3.4567890123])
    query = Query(envelope, WEIGHTS)
    if kind == "largest":
        query = LargestQuery(envelope, WEIGHTS, (1, 2, 3, 4, 5))
    outcome = Measurement(query, Laplace, ONE).draw(values, System())
    outcome.inequalities()
    release = Release(envelope) + outcome
    assert release.estimate.size == 3
    true = set(query.true_integers(values)) - {0}
    cells = set(envelope._cells(values))
    for start in (outcome, release):
        things = list(reachable(start))
        assert any(thing is envelope for thing in things)
        for thing in things:
            assert thing is not values
            if isinstance(thing, np.ndarray) and thing.dtype == float:
                assert not np.isin(values, thing).any()
            elif isinstance(thing, float):
                assert thing not in values.tolist()
            elif type(thing) is int:
                assert thing not in true | cells
        packed = pickle.dumps(start)
        assert not any(number.tobytes() in packed for number in values)
    again = pickle.loads(pickle.dumps(release))
    assert again.outcomes[0].integers == outcome.integers


@pytest.mark.parametrize("noise", [[1.0, 0, 0], [0, 0], [0] * 4, [10**9, 0, 0], [True, 0, 0]])
def test_noise_that_is_no_draw_of_the_law_is_refused_before_anything_is_read(monkeypatch, noise):
    read: list[Any] = []
    monkeypatch.setattr(Query, "true_integers", lambda self, values: read.append(values))
    measurement = Measurement(Query(Envelope(0, 8, radius=1, shape=3), WEIGHTS[:3]), Laplace, ONE)
    source: Any = type("Odd", (), {"simulated": False, "draw": lambda self, law, size: noise})()
    with pytest.raises(InvalidArgumentError, match="one integer of its support"):
        measurement.draw(np.ones(3), source)
    assert not read


class TestRefusals:
    envelope = Envelope(0, 8, radius=1, shape=3)
    query = Query(envelope, WEIGHTS)

    @pytest.mark.parametrize("kind", [Laplace, UnboundedLaplace])
    def test_a_law_for_less_than_what_moves_is_refused(self, kind):
        s = self.query.sensitivity()
        short = Sensitivity(s.l1 - 1, s.l2_squared, s.largest, s.count)
        law = kind.calibrate(short, ONE)
        with pytest.raises(InvalidArgumentError, match="private"):
            Measurement(self.query, law, ONE)
        Measurement(self.query, kind.calibrate(s, ONE), ONE)

    @pytest.mark.parametrize(("epsilon", "delta"), [("99/100", "1/100"), (1, "99/10000")])
    def test_a_budget_below_what_the_law_needs_is_refused(self, epsilon, delta):
        law = Laplace.calibrate(self.query.sensitivity(), ONE)
        with pytest.raises(InvalidArgumentError, match="private"):
            Measurement(self.query, law, budget(epsilon, delta))

    @pytest.mark.parametrize(
        ("epsilon", "delta"), [(0, "1/100"), (-1, "1/100"), (1, -1), (1, "2/3")]
    )
    @pytest.mark.parametrize("weights", [WEIGHTS, 0 * WEIGHTS])
    def test_budgets_that_are_none_are_refused_also_where_nothing_moves(
        self, epsilon, delta, weights
    ):
        law = Laplace.calibrate(self.query.sensitivity(), ONE)
        with pytest.raises(InvalidArgumentError, match="epsilon"):
            Measurement(Query(self.envelope, weights), law, budget(epsilon, delta))

    def test_a_law_of_somebody_else_is_believed_its_delta_only_if_it_is_a_number(self):
        class Mine(UnboundedLaplace):
            answer: Any = float("nan")

            def delta(self, sensitivity: Sensitivity, epsilon: Fraction) -> Any:
                return self.answer

        law = UnboundedLaplace.calibrate(self.query.sensitivity(), ONE)
        mine = Mine(law.thresholds, law.onward)
        with pytest.raises(InvalidArgumentError, match="private"):
            Measurement(self.query, mine, ONE)
        Mine.answer = Fraction(1, 100)
        assert Measurement(self.query, mine, ONE).law is mine

    def test_entries_of_extreme_size_are_refused(self):
        tiny = Envelope(0, 1e-200, radius=1e-200, shape=1)
        with pytest.raises(InvalidArgumentError, match="rescale"):
            Query(tiny, np.array([[1]]))

    def test_what_is_measured_cannot_be_changed_afterwards(self):
        given = sparse.csr_array(WEIGHTS)
        query = Query(self.envelope, given)
        given.data[:] = 99
        assert query.weights.toarray().tolist() == WEIGHTS.tolist()
        with pytest.raises(ValueError, match="read-only"):
            query.weights.data[0] = 5
        measurement = Measurement(query, Laplace, ONE)
        for thing, name in ((measurement, "law"), (Outcome(measurement, (1,)), "integers")):
            with pytest.raises(AttributeError):
                setattr(thing, name, None)
