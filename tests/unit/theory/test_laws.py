"""Laws of the noise and what follows from them, against numerical integration of their draws."""

from fractions import Fraction

import numpy as np
import pytest

from dp_cmdp.accounting.budget import PrivacyBudget
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.noise.laws import TruncatedLaplace
from dp_cmdp.noise.optimal import OptimalNoise
from dp_cmdp.theory.laws import (
    Histogram,
    LaplaceLaw,
    TableLaw,
    end_below,
    end_mean,
    end_probability,
    mean_up_to,
)
from dp_cmdp.theory.positive_part import EntryNoise
from dp_cmdp.theory.release_noise import release_noise
from tests.problems import knapsack

#: Midpoints: the average over them of f(quantile(u)) is E f(N) up to about 1/GRID.
GRID = (np.arange(40_001) + 0.5) / 40_001
NEAR = 5e-4


LAWS = {
    "truncated": LaplaceLaw(np.array([0.25]), np.array([0.5])),
    "flat": LaplaceLaw(np.array([1e5]), np.array([0.5])),
    "plain": LaplaceLaw(np.array([0.25]), np.array([np.inf])),
    "optimal": release_noise(knapsack(), PrivacyBudget(1, 0.1), calibration="optimal").law.only(
        np.array([0])
    ),
    "optimal, lower": release_noise(
        knapsack(), PrivacyBudget(1, 0.1), calibration="optimal", close="lower"
    ).law.only(np.array([0])),
}


@pytest.fixture(params=LAWS, scope="module")
def law(request):
    found = LAWS[request.param]
    return found, found.quantile(GRID)


def test_noise_has_mean_zero_and_stays_inside_its_ends(law):
    found, z = law
    assert z.mean() == pytest.approx(0.0, abs=NEAR)
    assert (z >= -found.below).all()
    assert (z <= found.above).all()
    assert z.var() == pytest.approx(float(found.variance[0]), rel=1e-2)


def test_tail_and_excess_agree_with_draws_on_both_sides(law):
    found, z = law
    turned = found.facing(np.array([False]))
    for t in (-3.0, -0.4, -0.1, 0.0, 0.03, 0.3, 3.0):
        assert found.tail(t)[0] == pytest.approx((z > t).mean(), abs=NEAR)
        assert found.excess(t)[0] == pytest.approx(np.maximum(z - t, 0).mean(), abs=NEAR)
        assert turned.tail(t)[0] == pytest.approx((-z > t).mean(), abs=NEAR)
        assert turned.excess(t)[0] == pytest.approx(np.maximum(-z - t, 0).mean(), abs=NEAR)
        room = np.array([abs(t)])
        assert mean_up_to(found, room)[0] == pytest.approx(np.clip(z, 0, room).mean(), abs=NEAR)


@pytest.mark.parametrize("name", [name for name in LAWS if name != "plain"])
def test_ends_of_intervals_agree_with_draws(name):
    found = LAWS[name]
    z = found.quantile(GRID)
    for r in (0.05, 0.4, 0.9, 5.0):
        room = np.array([r])
        distance = np.minimum(found.below + z, room)
        assert end_mean(found, room)[0] == pytest.approx(distance.mean(), abs=NEAR)
        at = (distance >= r).mean()
        assert end_probability(found, room)[0] == pytest.approx(at, abs=NEAR)
        for t in (0.01, 0.3, 0.8):
            below = end_below(found, np.array([t]), room=room)[0]
            assert below == pytest.approx((distance <= t).mean(), abs=NEAR)


def test_a_tiny_excess_keeps_its_digits():
    law = LaplaceLaw(np.ones(1), np.full(1, 30.0))
    # E(N − t)⁺ = e^−s(e^u − 1 − u)/(2(1 − e^−s)), u = s − t
    u = 1e-3
    assert law.excess(30.0 - u)[0] == pytest.approx(np.exp(-30.0) * u**2 / 4, rel=1e-3)
    assert law.excess(31.0)[0] == 0.0


@pytest.mark.parametrize("side", ["upper", "lower"])
def test_the_histogram_is_the_law_of_optimal_noise(side):
    noise = OptimalNoise.calibrate(Fraction(1), Fraction(1, 10), steps=1024)
    table = Histogram.of(noise)
    law = TableLaw(table, np.ones(1), np.array([side == "upper"]))
    close, far = (law.below, law.above) if side == "upper" else (law.above, law.below)
    assert close[0] == pytest.approx(noise.mean_shift / 1024, abs=2 / 1024)
    assert far[0] == pytest.approx((noise.width - noise.mean_shift) / 1024, abs=2 / 1024)
    pmf = np.array([float(noise.pmf(w)) for w in range(noise.width + 1)])
    shift = (np.arange(pmf.size) - noise.mean_shift) / 1024
    z = shift if side == "upper" else -shift
    for t in (-1.0, 0.0, 0.5):
        assert law.excess(t)[0] == pytest.approx(pmf @ np.maximum(z - t, 0), abs=2 / 1024)
        assert law.tail(t)[0] == pytest.approx(pmf @ (z > t), abs=2 / 1024)


def test_the_laplace_law_is_that_of_the_mechanism():
    law, same = LAWS["truncated"], TruncatedLaplace(0.25, 0.5)
    np.testing.assert_allclose(law.quantile(GRID), same.ppf(GRID), atol=1e-12)
    assert law.variance[0] == pytest.approx(same.variance)


@pytest.mark.parametrize("name", LAWS)
def test_the_mean_of_a_positive_part_and_its_slopes_agree_with_draws(name):
    law = LAWS[name]
    z = law.quantile(GRID)
    rng = np.random.default_rng(3)
    for _ in range(25):
        a, p, q, r = rng.normal(0, 0.3), *rng.normal(0, 1.0, 3)
        if np.isinf(law.below[0]):
            q = r = 0.0
        cut, room = rng.uniform(0.05, 0.6, 2), rng.uniform(0.05, 0.9, 2)
        noise = EntryNoise(law, (cut[:1], cut[1:]), (room[:1], room[1:]))
        found = noise.positive_part(
            np.array([a]), p=np.array([p]), q=np.array([q]), r=np.array([r])
        )
        e = np.clip(z, -cut[1], cut[0])
        up, down = np.minimum(law.below + z, room[0]), np.minimum(law.above - z, room[1])
        f = a + p * e - q * up + r * down
        assert found.mean[0] == pytest.approx(np.maximum(f, 0).mean(), abs=3 * NEAR)
        for part, slope in ((1.0, found.chance), (e, found.error)):
            assert slope[0] == pytest.approx((part * (f > 0)).mean(), abs=3 * NEAR)
        if np.isfinite(law.below[0]):
            assert found.up[0] == pytest.approx((up * (f > 0)).mean(), abs=3 * NEAR)
            assert found.down[0] == pytest.approx((down * (f > 0)).mean(), abs=3 * NEAR)


def test_optimal_noise_is_for_databases_whose_records_hold_one_entry():
    with pytest.raises(InvalidArgumentError, match="calibration"):
        release_noise(knapsack(), PrivacyBudget(1, 0.1), mechanism="blocks", calibration="optimal")
    with pytest.raises(InvalidArgumentError, match="records"):
        release_noise(knapsack(records=[0, 0]), PrivacyBudget(1, 0.1), calibration="optimal")
