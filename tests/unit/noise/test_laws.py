"""Laws and calibrations of the noise."""

import math
from typing import Any, cast

import numpy as np
import pytest
from scipy import integrate, stats

from dp_cmdp import Laplace, TruncatedLaplace
from dp_cmdp.errors import InvalidArgumentError

LAWS = [
    Laplace(0.7),
    TruncatedLaplace(0.7, 1.3),
    TruncatedLaplace(3.0, 0.01),
    TruncatedLaplace(0.05, 40 * 0.05),
]


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_density_cdf_quantile_and_moments_belong_together(law):
    end = getattr(law, "support", 60 * law.scale)
    grid = np.linspace(-end, end, 41)
    for z in grid:
        mass = integrate.quad(law.pdf, -end, z, points=sorted({0.0, min(z, 0.0)}))[0]
        assert law.cdf(z) == pytest.approx(mass, abs=1e-8)
    p = np.linspace(0.001, 0.999, 97)
    assert law.cdf(law.ppf(p)) == pytest.approx(p, abs=1e-12)
    second = integrate.quad(lambda z: z * z * law.pdf(z), -end, end, points=[0.0])[0]
    assert law.variance == pytest.approx(second, rel=1e-6)
    assert law.mean == 0.0


def test_truncated_noise_never_leaves_its_support():
    law = TruncatedLaplace(1.0, 0.5)
    assert np.abs(law.sample(np.random.default_rng(0), 100_000)).max() <= 0.5
    assert law.ppf([0.0, 1.0]).tolist() == [-0.5, 0.5]
    assert law.pdf([0.500001, -3.0]).tolist() == [0.0, 0.0]
    assert law.cdf([-9.0, 9.0]).tolist() == [0.0, 1.0]


def test_the_supports_of_the_tables():
    # MATH: ε = 1/3, 750 entries, δ split half and half: 26.1 against 4.8
    paper = TruncatedLaplace.calibrate(1, "1/3", delta="1/20", calibration="paper", num_entries=750)
    tight = TruncatedLaplace.calibrate(1, "1/3", delta="1/20")
    assert paper.support == pytest.approx(26.1, abs=0.05)
    assert tight.support == pytest.approx(4.8, abs=0.05)
    assert paper.scale == tight.scale == 3.0


def test_the_refined_support_at_large_epsilon():
    plain = TruncatedLaplace.calibrate(1, 10, delta=0.1)
    refined = TruncatedLaplace.calibrate(1, 10, delta=0.1, record_size=5)
    assert plain.support == pytest.approx(1.16, abs=0.005)
    assert refined.support == pytest.approx(0.51, abs=0.005)


@pytest.mark.parametrize("epsilon", [0.01, 0.3, 1, 7, 20, 2000])
@pytest.mark.parametrize("delta", [1e-9, 0.01, 0.5])
def test_the_mass_that_leaves_the_support_is_exactly_delta(epsilon, delta):
    law = TruncatedLaplace.calibrate(2.0, epsilon, delta=delta)
    assert math.isfinite(law.support)
    if epsilon <= 20:
        assert float(law.outside_mass(2.0)) == pytest.approx(delta, rel=1e-6)


def test_float_sampling_follows_the_law():
    # Kolmogorov–Smirnov with a false-alarm probability of 1e-6 per law
    for number, law in enumerate(LAWS):
        sample = law.sample(np.random.default_rng(number), 20_000)
        assert stats.kstest(sample, law.cdf).pvalue > 1e-6
        assert stats.kstest(1.1 * sample, law.cdf).pvalue < 1e-6, "the test must see a wrong scale"


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: Laplace(0.0), "scale must be positive"),
        (lambda: Laplace(float("nan")), "scale must be finite"),
        (lambda: TruncatedLaplace(1.0, -1.0), "support must be positive"),
        (lambda: TruncatedLaplace.calibrate(0, 1, delta=0.1), "sensitivity must be positive"),
        (lambda: TruncatedLaplace.calibrate(1, 0, delta=0.1), "epsilon must be positive"),
        (lambda: TruncatedLaplace.calibrate(1, 1, delta=0), "delta must lie in"),
        (lambda: TruncatedLaplace.calibrate(1, 1, delta=0.6), "delta must lie in"),
        (lambda: TruncatedLaplace.calibrate(1, 1, delta=0.1, calibration="loose"), "calibration"),
        (
            lambda: Laplace(1.0).sample(cast(Any, np.random.RandomState(0)), 3),
            "rng must be a numpy",
        ),
        (lambda: Laplace(1.0).ppf([1.5]), "p must lie in"),
    ],
)
def test_bad_parameters_are_refused_by_name(call, named):
    with pytest.raises(InvalidArgumentError, match=named):
        call()
