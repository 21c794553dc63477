"""Measured totals: no record moves more than is certified, and their bounds are facts."""

import math
import os
import pickle
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from dp_cmdp import Envelope, PrivacyBudget
from dp_cmdp.audit.subjects.awkward import NUMBERS, RECORDS
from dp_cmdp.data.polytope import Polytope
from dp_cmdp.data.totals import Totals, short_steps
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.noise.lattice import Lattice
from dp_cmdp.release.totals import TotalsPlan, integer_totals, plan_totals
from tests.chosen_noise import choosing

BUDGET = PrivacyBudget(1, "1/1000")
#: Weights of totals of the five awkward entries.
WEIGHTS = {
    "a sum": [[1, 1, 1, 1, 1]],
    "two sums that share": [[1, 0.5, 0, 0, 2], [0, 0.3, 0.7, 1, 1]],
    "both signs": [[1, -1, 0.1, -0.7, 1], [-1, 0.3, 0, 1e-3, 2]],
    "one of two": [[0, 0, 1, 0, 0], [0, 1, 0, 0, 0]],
    "very unequal": [[1e6, 1, 1, 1e-6, 0], [1, 1, 1, 1, 1e-3]],
}


def made(numbers: str, records: str, weights: str) -> tuple[Envelope, TotalsPlan]:
    upper, radius = NUMBERS[numbers]
    envelope = Envelope(0.0, upper, radius=radius, records=RECORDS[records])
    W = np.array(WEIGHTS[weights], dtype=float)
    scale = np.abs(W) @ (envelope.radius + 2.0**-30 * envelope.upper)
    return envelope, plan_totals(envelope, BUDGET, W=W, scale=scale)


def far_apart(envelope: Envelope, grid: np.ndarray, entry: int) -> tuple[float, float]:
    """Two values within a radius of each other with as many cell boundaries between as can be."""
    low, high = float(envelope.lower[entry]), float(envelope.upper[entry])
    radius, cell = Fraction(float(envelope.radius[entry])), Fraction(float(grid[entry]))
    best = (low, low)
    for share in (0.0, 0.25, 0.5, 0.9):
        edge = (
            math.floor((Fraction(low) + Fraction(share) * (Fraction(high) - Fraction(low))) / cell)
            + 1
        ) * cell
        for start in (float(edge), math.nextafter(float(edge), -math.inf), low):
            start = min(max(start, low), high)
            end = min(float(Fraction(start) + radius), high)
            while Fraction(end) - Fraction(start) > radius:
                end = math.nextafter(end, -math.inf)
            if crossed(start, end, cell) > crossed(*best, cell):
                best = (start, end)
    return best


def crossed(start: float, end: float, cell: Fraction) -> int:
    return math.floor(Fraction(end) / cell) - math.floor(Fraction(start) / cell)


def worst_moves(envelope: Envelope, plan: TotalsPlan):
    """Integers that each record moves by each of its sign patterns, in every total."""
    pairs = [far_apart(envelope, plan.grid, k) for k in range(envelope.num_entries)]
    middle = np.array([low for low, _ in pairs])
    for record in np.unique(envelope.records):
        own = np.flatnonzero(envelope.records == record)
        for signs in product((0, 1), repeat=own.size):
            ends = [middle.copy(), middle.copy()]
            for entry, sign in zip(own.tolist(), signs, strict=True):
                ends[0][entry], ends[1][entry] = pairs[entry][:: 1 if sign else -1]
            shown = [plan.draw(end, np.random.default_rng(3)).index for end in ends]
            yield np.abs([int(b) - int(a) for a, b in zip(*shown, strict=True)])


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("numbers", NUMBERS)
def test_no_record_moves_more_integers_than_are_certified_and_some_record_moves_as_many(
    numbers, weights
):
    reached = 0
    for records in RECORDS:
        envelope, plan = made(numbers, records, weights)
        proof = plan.noise.certificate
        moves = list(worst_moves(envelope, plan))
        assert max(int(each.max()) for each in moves) <= proof.steps
        most = max(int(each.sum()) for each in moves)
        assert most <= proof.steps * proof.entries
        reached += most == proof.steps * proof.entries
    if weights in ("a sum", "two sums that share", "one of two"):
        # between floats next to 1 there is no pair as near as a subnormal radius
        assert reached == len(RECORDS) or (numbers == "subnormal" and reached > 0)


def adversarial(envelope: Envelope, grid: np.ndarray) -> list[np.ndarray]:
    """Databases at bounds, on cell boundaries, and a hair on either side of them."""
    low, high = envelope.lower, envelope.upper
    on = np.clip(np.floor((low + high) / 2 / grid) * grid, low, high)
    below, above = np.nextafter(on, -np.inf), np.nextafter(on, np.inf)
    mixed = np.where(np.arange(low.size) % 2, low, high)
    return [low, high, mixed, *(np.clip(v, low, high) for v in (on, below, above))]


ENVELOPES = {
    "units": Envelope(0.0, 1.0, radius=0.25, shape=5),
    "negative": Envelope(-3.0, -0.1, radius=0.7, shape=5),
    "around zero": Envelope(-1.0, 1 / 3, radius=0.1, shape=5),
    "huge": Envelope(-1e12, 1e12, radius=[1e12, 1e9, 3e4, 1e6, 0.1], shape=5),
    "tiny": Envelope(0.0, 1e-300, radius=1e-301, shape=5),
    "mixed": Envelope([0, -5, 1e6, 1e-9, 0], [1e-9, 5, 2e6, 1, 0.3], radius=[1e-9, 1, 1, 0.7, 0.1]),
}


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("name", ENVELOPES)
def test_whatever_the_noise_was_the_bound_on_a_total_holds_in_fractions(name, weights):
    envelope = ENVELOPES[name]
    W = np.array(WEIGHTS[weights], dtype=float)
    plan = plan_totals(envelope, BUDGET, W=W, scale=np.abs(W) @ envelope.radius)
    support = plan.noise.support
    for theta, number in product(adversarial(envelope, plan.grid), (0, support, 2 * support)):
        totals = plan.draw(theta, choosing(plan, number))  # type: ignore[arg-type]
        assert Polytope(envelope.lower, envelope.upper, W=totals.W, q=totals.q).contains(theta)
        rows, counts = totals.W.toarray().tolist(), totals.counts.toarray().tolist()
        for i, row in enumerate(rows):
            step = Fraction(float(totals.step[i]))
            true = sum(Fraction(w) * Fraction(v) for w, v in zip(row, theta.tolist(), strict=True))
            cells = sum(abs(int(v)) for v in counts[i])
            room = Fraction(float(totals.q[i])) - true
            assert (
                0
                <= room
                <= (cells + number) * step * (1 + Fraction(1, 2**50))
                + abs(Fraction(float(totals.q[i]))) * Fraction(1, 2**51)
            )
            assert number or room <= cells * step + abs(true) * Fraction(1, 2**50)


@pytest.mark.parametrize("name", ENVELOPES)
def test_weights_are_counts_times_step_over_grid_and_never_larger_than_asked(name):
    envelope = ENVELOPES[name]
    for weights in WEIGHTS.values():
        W = np.array(weights, dtype=float)
        scale = np.abs(W) @ envelope.radius
        plan = plan_totals(envelope, BUDGET, W=W, scale=scale)
        zeros = np.zeros(len(weights), dtype=int)
        totals = Totals(plan.counts, zeros, support=1, step=plan.step, grid=plan.grid)
        V = plan.counts.toarray().tolist()
        for i, k in np.ndindex(W.shape):
            step, cell = Fraction(float(plan.step[i])), Fraction(float(plan.grid[k]))
            given, kept = Fraction(float(W[i, k])), Fraction(float(totals.W[i, k]))
            assert kept == int(V[i][k]) * step / cell
            assert abs(kept) <= abs(given)
            assert abs(given - kept) < step / cell
            assert kept * given >= 0


def test_a_step_has_twelve_bits_and_is_not_below_what_was_asked():
    sizes = np.array([1.0, 1 / 3, 0.1, 1e-300, 4097.0, 4096.0, 2.0**52 + 1])
    for size, step in zip(sizes.tolist(), short_steps(sizes).tolist(), strict=True):
        numerator = Fraction(step).numerator
        assert size <= step <= size * (1 + 2.0**-11)
        assert (numerator // (numerator & -numerator)).bit_length() <= 12


def test_without_a_generator_the_noise_of_totals_is_that_of_the_operating_system(monkeypatch):
    _, plan = made("tenths", "own", "a sum")
    theta, asked = np.full(5, 0.5), []

    def urandom(count: int) -> bytes:
        asked.append(count)
        return np.random.default_rng(len(asked)).bytes(count)

    monkeypatch.setattr(os, "urandom", urandom)
    plan.draw(theta)
    assert asked


def test_every_total_gets_a_noise_of_its_own():
    _, plan = made("tenths", "own", "two sums that share")
    theta = np.full(5, 0.5)
    true = integer_totals(plan.counts, Lattice(plan.grid, 1).index(theta))
    drawn = [
        tuple(int(n) - t for n, t in zip(plan.draw(theta).index, true, strict=True))
        for _ in range(20)
    ]
    assert sum(first == second for first, second in drawn) <= 1
    assert max(abs(n) for pair in drawn for n in pair) <= plan.noise.support


def test_two_entries_of_a_record_pay_together_and_two_records_do_not():
    apart, together = (
        plan_totals(
            Envelope(0.0, 1.0, radius=0.5, shape=2, records=records),
            BUDGET,
            W=[[1.0, 0.0], [0.0, 1.0]],
            scale=[1.0, 1.0],
        ).noise.certificate
        for records in ([0, 1], [0, 0])
    )
    assert (apart.steps, apart.entries) == (together.steps, together.entries / 2)


REFUSED = {
    "nothing to measure": ({"W": [[0.0, 0.0]]}, "W must hold weights"),
    "weights too small to see": ({"W": [[1e-30, 0.0]]}, "W must hold weights"),
    "no totals": ({"W": np.zeros((0, 2)), "scale": []}, "scale must be positive"),
    "scale of 0": ({"scale": [0.0]}, "scale must be positive"),
    "negative scale": ({"scale": [-1.0]}, "scale must be positive"),
    "scale far below the total": ({"scale": [1e-13]}, "2\\^-39 of the totals"),
    "too many weights": ({"W": [[1.0, 1.0, 1.0]]}, "W"),
    "too many scales": ({"scale": [1.0, 1.0]}, "scale"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_totals_that_cannot_be_measured_are_refused_by_name(name):
    change, said = REFUSED[name]
    envelope = Envelope(0.0, 1.0, radius=0.25, shape=2)
    with pytest.raises(InvalidArgumentError, match=said):
        plan_totals(envelope, BUDGET, **({"W": [[1.0, 1.0]], "scale": [1.0]} | change))


def test_data_next_to_zero_are_refused_before_they_are_read():
    envelope = Envelope(0.0, 1e-320, shape=2)
    with pytest.raises(InvalidArgumentError, match="rescale"):
        plan_totals(envelope, BUDGET, W=[[1.0, 1.0]], scale=[1.0])


WRONG = {
    "counts": [[[0.5, 1.0]], [[2.0**42, 1.0]]],
    "index": [[1.5], [2**62], [1, 2], []],
    "support": [-1, 2**62, 1.5],
    "step": [[0.0], [-0.125], [0.1], [np.nan], [1.0, 1.0]],
    "grid": [[0.25, 0.3], [0.25, 0.0], [0.25, -0.5], [0.25], [2.0**-1000, 0.5]],
}


@pytest.mark.parametrize("name", WRONG)
def test_numbers_that_no_measurement_makes_are_refused(name):
    good = {"counts": [[3.0, -2.0]], "index": [4], "support": 9, "step": [0.125],
            "grid": [0.25, 0.5]}  # fmt: skip
    totals = Totals(**good)
    assert totals.q.tolist() == [0.125 * (4 + 9 + 3)]
    assert totals.estimate.tolist() == [0.125 * (4 + 0.5)]
    for wrong in WRONG[name]:
        with pytest.raises(InvalidArgumentError):
            Totals(**good | {name: wrong})


def test_counts_that_floats_may_not_add_up_exactly_are_refused():
    """The bound of a total rests on the sum of its positive counts."""
    counts = np.full((1, 4096), 2.0**41)
    facts = {"index": [0], "support": 1, "step": [0.125], "grid": np.full(4096, 0.25)}
    with pytest.raises(InvalidArgumentError, match="less than 2\\^53"):
        Totals(counts, **facts)
    counts[0, -1] -= 1
    assert Totals(counts, **facts).q.tolist() == [0.125 * 2.0**53]


def test_totals_show_their_sizes_only_and_survive_pickling():
    _, plan = made("tenths", "own", "a sum")
    totals = plan.draw(np.full(5, 0.5))
    again = pickle.loads(pickle.dumps(totals))
    assert again.q.tolist() == totals.q.tolist()
    assert len(totals) == 1


@pytest.mark.parametrize("odd", [1, 3, -1])
def test_a_bound_between_two_floats_is_the_upper_one(odd):
    beyond = 2**53 + odd - 1
    totals = Totals([[1.0]], [beyond], support=0, step=[1.0], grid=[1.0])
    assert int(totals.q[0]) >= beyond + 1
    low = Totals([[1.0]], [-(2**53) - odd - 1], support=0, step=[1.0], grid=[1.0])
    assert int(low.q[0]) >= -(2**53) - odd
