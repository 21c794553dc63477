"""Laws driven with chosen random bytes, and a solver that does not keep its word."""

import numpy as np
import pytest

from dp_cmdp.sampling import LatticeLaplace, LatticeTruncatedLaplace, OptimalNoise, optimal_noise
from dp_cmdp.sampling.digits import PRECISION


@pytest.mark.parametrize("steps", [1, 3])
def test_shifts_are_draws_plus_the_support_and_reach_both_ends(steps):
    law = LatticeTruncatedLaplace.calibrate(1, "1/4", steps=steps)
    draws, shifts = (
        draw(4000, source=np.random.default_rng(0).bytes) for draw in (law.sample, law.sample_shift)
    )
    assert shifts.tolist() == (draws + law.support).tolist()
    assert (shifts.min(), shifts.max()) == (0, law.width)


@pytest.mark.parametrize("blocks", [1, 2, 5])
def test_plain_noise_goes_on_beyond_its_digits(blocks):
    law = LatticeLaplace.calibrate(1, steps=2)
    digits = len(law.certificate.thresholds) - 1
    left = [blocks - 1]

    def source(count: int) -> bytes:
        """Every coin shows heads, but "once more" only as often as is left."""
        if count != PRECISION // 8:
            return bytes(count)
        left[0] -= 1
        return (b"\0" if left[0] >= 0 else b"\xff") * count

    drawn = law.perturb(np.zeros(1, dtype=np.int64), source=source)
    assert drawn.tolist() == [(blocks + 1) * 2**digits - 1]


@pytest.mark.parametrize("excess", [1.0001, 1.5, 4.0])
def test_a_solver_that_overspends_delta_is_mended_or_replaced(monkeypatch, excess):
    honest = optimal_noise._solve

    def overspending(epsilon, delta, **options):
        return honest(epsilon, excess * delta, **options)

    monkeypatch.setattr(optimal_noise, "_solve", overspending)
    optimal_noise._optimal_weights.cache_clear()
    law = OptimalNoise.calibrate("3/2", "1/37", steps=64)
    optimal_noise._optimal_weights.cache_clear()
    assert law.certificate.check()
    assert law.certificate.outer_mass <= law.certificate.delta
