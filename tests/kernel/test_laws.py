"""Laws of noise: certified against enumeration and the recorded laws, refused when forged."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dp_cmdp._src.base.errors import InvalidArgumentError
from dp_cmdp._src.noise import one_sided
from dp_cmdp._src.noise.laws import (
    ONE,
    Laplace,
    Sensitivity,
    digit_thresholds,
    exp_lower,
    outer_mass,
    steps_hold,
    weight_below,
)
from dp_cmdp._src.noise.one_sided import OneSided, hockey_stick
from dp_cmdp._src.noise.unbounded import UnboundedLaplace
from dp_cmdp._src.release.documents import law_from_document
from tests.kernel.enumeration import allowed_moves, divergence, exp_below, worst
from tests.kernel.worlds import budget, weights_of

HALF = Fraction(1, 2)
#: What the package before this one calibrated: (ε, δ), sensitivity, law.
RECORDED = json.loads((Path(__file__).parents[1] / "oracles/data/laws.json").read_text())
BUDGETS = [("1", "0.1"), ("2", "0.1"), ("5", "0.1"), ("10", "1e-3"), ("1", "1e-6"), ("20", "1/2")]
LAWS: list[Any] = [Laplace, UnboundedLaplace, OneSided]


def moved(l1: int, largest: int | None = None, count: int = 1) -> Sensitivity:
    return Sensitivity(l1, l1 * l1, largest or l1, count)


def named(row: dict[str, Any]) -> str:
    proof = row["certificate"]
    return "-".join(str(proof[key]) for key in ("law", "epsilon", "delta", "steps", "entries"))


@pytest.mark.parametrize("row", RECORDED, ids=named)
def test_a_law_is_private_by_enumeration_and_as_narrow_as_recorded(row):
    was = row["certificate"]
    kind = OneSided if was["law"] == "table" else Laplace
    spent, sensitivity = (
        budget(was["epsilon"], was["delta"]),
        moved(row["l1"], row["largest"], row["count"]),
    )
    law: Any = kind.calibrate(sensitivity, spent)
    sizes = allowed_moves(l1=row["l1"], largest=row["largest"], count=row["count"])
    signed = {
        tuple(s * d for s, d in zip(signs, move, strict=True))
        for move in sizes
        for signs in product((1, -1), repeat=row["count"])
    }
    found = worst(weights_of(law), spent.epsilon, signed)
    assert found <= law.delta(sensitivity, spent.epsilon) <= spent.delta
    assert law.high <= was["support"]
    if kind is Laplace:  # digit for digit what was drawn from before
        assert [f"{each:x}" for each in law.thresholds] == was["thresholds"]
        assert law.support == was["support"]


@pytest.mark.parametrize("law", [Laplace, OneSided])
@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_the_support_is_the_narrowest_that_is_proved(law, epsilon, delta):
    spent, sensitivity = budget(epsilon, delta), moved(12)
    made = law.calibrate(sensitivity, spent)
    assert made.delta(sensitivity, spent.epsilon) <= spent.delta
    if law is Laplace and made.support > sensitivity.largest:
        shorter = Laplace(
            made.support - 1,
            digit_thresholds(exp_lower(spent.epsilon / 12), (made.support - 1).bit_length()),
        )
        assert shorter.delta(sensitivity, spent.epsilon) > spent.delta


@pytest.mark.parametrize("law", LAWS)
def test_probabilities_sum_to_one_and_moments_are_theirs(law):
    made = law.calibrate(moved(6), budget(2, "1/50"))
    if law is UnboundedLaplace:
        points = range(-400, 401)
    else:
        points = range(made.low, made.high + 1)
        assert sum(made.pmf(z) for z in points) == 1
        assert made.pmf(made.low - 1) == made.pmf(made.high + 1) == 0
    chances = {z: float(made.pmf(z)) for z in points}
    mean = sum(z * p for z, p in chances.items())
    variance = sum((z - mean) ** 2 * p for z, p in chances.items())
    assert made.mean == pytest.approx(mean, abs=1e-9)
    assert made.variance == pytest.approx(variance, rel=1e-9)
    weight = made.log_weight(np.array([2.0, 5.0]))
    assert weight[1] - weight[0] == pytest.approx(math.log(chances[5] / chances[2]), rel=1e-6)


sensitivities = st.builds(
    lambda largest, more, count: Sensitivity(largest + more, 1, largest, count),
    st.integers(1, 40), st.integers(0, 200), st.integers(1, 3),
)  # fmt: skip


@given(
    made_for=sensitivities,
    asked=sensitivities,
    more=st.tuples(*[st.integers(0, 5)] * 4),
    law=st.sampled_from(LAWS),
    epsilon=st.sampled_from([Fraction(1, 3), Fraction(1), Fraction(4)]),
)
def test_delta_never_falls_when_more_may_move_or_less_is_spent(made_for, asked, more, law, epsilon):
    if law is OneSided:
        made_for = replace(made_for, count=1, largest=1 + made_for.largest % 6)
    made = law.calibrate(made_for, budget(1, "1/10"))
    larger = Sensitivity(
        *(getattr(asked, name) + extra for name, extra in zip(asked.__slots__, more, strict=True))
    )
    assert 0 <= made.delta(asked, epsilon) <= made.delta(larger, epsilon) <= 1
    assert made.delta(asked, epsilon + 1) <= made.delta(asked, epsilon)


@pytest.mark.parametrize("law", LAWS)
def test_documents_say_all_of_a_law(law):
    made = law.calibrate(moved(5), budget(1, "1/10"))
    said = json.loads(json.dumps(made.document()))
    assert law_from_document(said) == made
    for change in (
        {"law": "gaussian"},
        {"more": 1},
        {next(key for key in said if key != "law"): "zz"},
        {next(key for key in said if key != "law"): None},
        {next(key for key in said if isinstance(said[key], list)): ["1" * 70]},
        {next(key for key in said if isinstance(said[key], list)): "11"},
    ):
        with pytest.raises(InvalidArgumentError):
            law_from_document({**said, **change})


class TestForgedLaws:
    """Each passes all comparisons but one."""

    def test_honest_laws_of_small_integers_are_certified(self):
        assert Laplace(1, (ONE // 4,)).delta(moved(1), Fraction(4)) < HALF
        assert OneSided(1, (ONE // 2, ONE // 2)).delta(moved(1), Fraction(1)) == HALF

    def test_a_law_that_rises_away_from_zero(self):
        assert Laplace(1, (3 * ONE // 4,)).delta(moved(1), Fraction(4)) == 1

    def test_a_law_that_falls_faster_than_epsilon_allows(self):
        assert Laplace(1, (ONE // 100,)).delta(moved(1), Fraction(4)) == 1
        steep = Laplace.calibrate(moved(4), budget("11/10", "1/10"))
        assert steep.delta(moved(4), Fraction(1)) == 1

    def test_a_support_that_the_digits_cannot_reach(self):
        for support in (2, -1, 1 << 62):
            with pytest.raises(InvalidArgumentError, match="support"):
                Laplace(support, (ONE // 2,))

    @pytest.mark.parametrize("steps", [2, 3, 100])
    def test_a_support_shorter_than_one_move(self, steps):
        assert Laplace(1, (ONE // 2,)).delta(moved(steps), Fraction(50)) == 1

    def test_one_step_less_of_support_than_calibrated(self):
        law = Laplace.calibrate(moved(4), budget(1, "1/100"))
        shorter = Laplace(law.support - 1, law.thresholds)
        assert shorter.delta(moved(4), Fraction(1)) > Fraction(1, 100)

    def test_a_mass_is_rounded_up(self):
        stated = outer_mass((ONE // 3,), 1, l1=1, largest=1)
        whole = 2 * ONE - (ONE - ONE // 3)
        assert 0 <= stated - Fraction(ONE // 3, whole) < Fraction(1, ONE)

    @pytest.mark.parametrize("threshold", [0, ONE, -1])
    def test_thresholds_that_are_no_chances(self, threshold):
        with pytest.raises(InvalidArgumentError, match="thresholds"):
            Laplace(0, (threshold,))
        with pytest.raises(InvalidArgumentError, match="thresholds"):
            UnboundedLaplace((ONE // 3,), threshold)

    @pytest.mark.parametrize("onward", [1, ONE // 2, ONE - 1])
    def test_an_unbounded_law_that_breaks_between_its_blocks(self, onward):
        law = UnboundedLaplace.calibrate(moved(4), budget(1, 0))
        assert law.delta(moved(4), Fraction(1)) == 0
        assert replace(law, onward=onward).delta(moved(4), Fraction(1)) == 1

    def test_an_unbounded_law_for_less_than_what_moves(self):
        law = UnboundedLaplace.calibrate(moved(4), budget(1, 0))
        assert law.delta(moved(5), Fraction(1)) == 1
        assert law.delta(moved(4), Fraction(99, 100)) == 1

    @pytest.mark.parametrize("off", [-1, 1])
    def test_a_table_that_does_not_sum_to_one(self, off):
        with pytest.raises(InvalidArgumentError, match="sum"):
            OneSided(1, (ONE // 2, ONE // 2 + off))

    def test_a_table_with_negative_weights(self):
        with pytest.raises(InvalidArgumentError, match="non-negative"):
            OneSided(1, (ONE // 2, -1, ONE // 2 + 1))

    def test_a_table_is_judged_by_whole_cells_rounded_up(self):
        """One step inside a cell of three is private, two cells apart is not."""
        law = OneSided(3, (ONE // 2, ONE // 4, ONE // 4))
        inside = law.delta(moved(3), Fraction(1))
        assert law.delta(moved(4), Fraction(1)) > inside == law.delta(moved(1), Fraction(1))

    @pytest.mark.parametrize(
        ("cell", "weights"), [(0, (ONE,)), (1, ()), (1 << 60, (ONE, 0, 0)), (1, (0,) * 200_000)]
    )
    def test_a_table_that_is_too_large_or_none(self, cell, weights):
        with pytest.raises(InvalidArgumentError, match=r"weights|noise"):
            OneSided(cell, weights)

    def test_noise_of_nothing_is_certified_where_nothing_moves_only(self):
        law = Laplace(0, ())
        assert law.sample(3, bytes) == [0, 0, 0]
        assert law.sample_floats(np.random.default_rng(0), 3).tolist() == [0, 0, 0]
        assert law.delta(Sensitivity(0, 0, 0, 0), Fraction(1)) == 0
        assert law.delta(moved(1), Fraction(1)) == 1
        assert Laplace.calibrate(Sensitivity(0, 0, 0, 0), budget(1, "1/10")).support > 0

    def test_a_table_whose_check_would_take_hours_is_not_certified(self):
        law = OneSided(1, (ONE, *[0] * 9999))
        assert law.delta(moved(9999), Fraction(1)) == 1

    @pytest.mark.parametrize("law", LAWS)
    @pytest.mark.parametrize("epsilon", [Fraction(0), Fraction(-1), Fraction(101)])
    def test_an_epsilon_that_no_noise_is_built_for(self, law, epsilon):
        made = law.calibrate(moved(4), budget(1, "1/10"))
        assert made.delta(moved(4), epsilon) == 1


@pytest.mark.parametrize(
    ("law", "epsilon", "delta", "steps"),
    [
        (Laplace, 0, "1/10", 4),
        (Laplace, 101, "1/10", 4),
        (Laplace, 1, 0, 4),
        (Laplace, 1, "0.51", 4),
        (Laplace, 1, Fraction(1, 2**64), 4),
        (Laplace, "1e-9", "1e-9", 2**40),
        (Laplace, 1, "1/10", 2**60),
        (UnboundedLaplace, 0, 0, 1),
        (UnboundedLaplace, "1e-9", 0, 2**40),
        (OneSided, 1, 0, 4),
        (OneSided, "1e-9", "1e-12", 1000),
    ],
)
def test_noise_that_cannot_be_built_is_refused(law, epsilon, delta, steps):
    with pytest.raises(InvalidArgumentError, match=r"epsilon|delta|steps|integers"):
        law.calibrate(moved(steps), budget(epsilon, delta))


@pytest.mark.parametrize("epsilon", ["1/20", "1", "7"])
@pytest.mark.parametrize("steps", [1, 3, 20])
def test_every_unit_step_of_the_unbounded_law_is_bounded_also_between_blocks(epsilon, steps):
    law = UnboundedLaplace.calibrate(moved(steps), budget(epsilon, 0))
    block = 1 << len(law.thresholds)
    bound = exp_below(Fraction(epsilon) / steps) + Fraction(1, 10**50)
    near = [*range(8), *range(block - 3, block + 3), *range(2 * block - 2, 2 * block + 2)]
    for k in near:
        assert law.pmf(k + 1) <= law.pmf(k) <= bound * law.pmf(k + 1)
        assert law.pmf(-k) == law.pmf(k)


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
    bound, term = exp_lower(Fraction(x)), Fraction(1)
    total = term
    for k in range(1, 500):
        term = term * Fraction(x) / k
        total += term
    assert bound <= total
    assert total - bound <= total / 2**300


class TestLeastMean:
    """One-sided noise: exactly private, and between truncated Laplace and what nothing can beat."""

    STEPS = 1 << 20

    def bound(self, epsilon: float, delta: float) -> float:
        """Least mean shift of any certain bound: Σ (1 − π_j), π_j = T^j(0), in sensitivities."""
        total = reached = 0.0
        while reached < 1.0:
            reached = min(
                1.0,
                delta + math.exp(epsilon) * reached,
                1.0 - math.exp(-epsilon) * (1.0 - delta - reached),
            )
            total += 1.0 - reached
        return total

    @pytest.mark.parametrize(("epsilon", "delta"), [*BUDGETS, ("1/20", "1e-9"), ("1/200", "1e-9")])
    def test_its_mean_lies_between_the_bound_and_truncated_laplace(self, epsilon, delta):
        spent = budget(epsilon, delta)
        law = OneSided.calibrate(moved(self.STEPS), spent)
        laplace = Laplace.calibrate(moved(self.STEPS), spent)
        bound = self.bound(float(spent.epsilon), float(spent.delta)) * self.STEPS
        assert bound <= law.mean <= laplace.support * 1.001

    @pytest.mark.parametrize(
        ("epsilon", "delta", "share"),
        [("2", "0.1", 0.12), ("10", "1e-3", 0.36), ("20", "1/2", 0.45)],
    )
    def test_it_saves_what_it_is_built_for(self, epsilon, delta, share):
        spent = budget(epsilon, delta)
        law = OneSided.calibrate(moved(self.STEPS), spent)
        assert law.mean <= (1 - share) * Laplace.calibrate(moved(self.STEPS), spent).support

    @pytest.mark.parametrize("excess", [1.0001, 1.5, 4.0])
    def test_a_solver_that_overspends_delta_is_mended_or_replaced(self, monkeypatch, excess):
        honest = one_sided._solve

        def overspending(epsilon, delta, **options):
            return honest(epsilon, excess * delta, **options)

        monkeypatch.setattr(one_sided, "_solve", overspending)
        spent = budget("3/2", "1/37")
        for cache in (one_sided._least_mean, one_sided._optimal_weights):
            cache.cache_clear()
        law = OneSided.calibrate(moved(64), spent)
        for cache in (one_sided._least_mean, one_sided._optimal_weights):
            cache.cache_clear()
        assert law.delta(moved(64), spent.epsilon) <= spent.delta

    def test_without_a_solver_truncated_laplace_noise_steps_in(self, monkeypatch):
        monkeypatch.setattr(one_sided, "_solve", lambda *_, **__: None)
        spent = budget("7/5", "1/41")
        law = OneSided.calibrate(moved(64), spent)
        assert law.delta(moved(64), spent.epsilon) <= spent.delta
        wide = 2 * Laplace.calibrate(moved(64), spent).support
        assert wide <= law.high <= wide + 4 * law.cell

    def test_a_shift_inside_a_cell_is_a_mixture_of_two_whole_ones(self):
        law = OneSided.calibrate(moved(160), budget(2, "1/10"))
        assert law.cell > 1
        whole = [hockey_stick(law.weights, [d], exp_lower(Fraction(2))) for d in (1, 2)]
        for part in range(law.cell + 1):
            mixed = Fraction(law.cell - part, law.cell) * whole[0]
            mixed += Fraction(part, law.cell) * whole[1]
            for sign in (1, -1):
                shift = (sign * (law.cell + part),)
                assert divergence(weights_of(law), Fraction(2), shift) <= mixed + Fraction(
                    1, 10**50
                )
