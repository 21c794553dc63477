"""Each test of the noise law layer objects alone, to draws that the others let pass."""

import numpy as np
import pytest

from dp_cmdp.audit.layers.noise_law import law_facts, noise_law
from dp_cmdp.noise.laws import TruncatedLaplace

LAW = TruncatedLaplace(0.7, 2.0)
FACTS = law_facts(LAW)


def spread(runs: int = 20_000) -> np.ndarray:
    """The quantiles of the law, as even as draws can be."""
    places = np.linspace(-LAW.support, LAW.support, 200_001)
    return np.interp((np.arange(runs) + 0.5) / runs, LAW.cdf(places), places)


def test_draws_spread_as_the_law_is_pass():
    assert noise_law(spread(), FACTS, alpha=0.01).passed


@pytest.mark.parametrize("outside", [np.nextafter(2.0, 3.0) * (1 + 1e-11), 2.1, -3.9, 5.0, np.nan])
def test_one_draw_outside_the_support_is_enough(outside):
    draws = spread()
    draws[0] = outside
    verdict = noise_law(draws, FACTS, alpha=0.01)
    assert verdict.passed is False
    assert "outside the support" in verdict.detail


def test_draws_of_the_right_mean_in_the_wrong_shells_are_seen():
    size = np.full(20_000, FACTS.mean)
    verdict = noise_law(size * np.resize([1, -1], size.size), FACTS, alpha=0.01)
    assert verdict.passed is False
    assert "shell" in verdict.detail


def test_draws_within_the_support_of_another_mean_are_seen():
    verdict = noise_law(0.8 * spread(), FACTS, alpha=0.01)
    assert verdict.passed is False
    assert "mean" in verdict.detail
