"""Metrics and their intervals."""

import numpy as np
import pytest

from dp_cmdp import (
    Database,
    Envelope,
    ParametricLP,
    PrivacyBudget,
    cost_of_privacy,
    release_database,
    saturation,
    suboptimality,
    violation,
)
from dp_cmdp._student import quantile
from dp_cmdp.data.affine import Affine
from dp_cmdp.data.curator import CuratorOnly, write_public_json
from dp_cmdp.errors import InvalidArgumentError, PrivacyLeakError
from dp_cmdp.metrics import mean_interval


def knapsack() -> ParametricLP:
    """max x, θx ≤ 1."""
    A = Affine((1, 1), at=([0], [0]), entry=[0])
    return ParametricLP(Envelope([0.25], [1.0]), c=[1.0], A=A, b=[1.0])


def test_suboptimality_in_closed_form():
    program = knapsack()
    database = Database([0.5], program.envelope)  # optimum 2
    assert suboptimality(program, database, x=[1.5]) == pytest.approx(0.25)
    assert suboptimality(program, database, x=[1.5], optimum=3.0) == pytest.approx(0.5)


def test_violation_is_exact():
    program = knapsack()
    database = Database([0.3], program.envelope)
    just_inside, just_outside = 1 / 0.3, np.nextafter(1 / 0.3, 4.0)
    found = {x: violation(program, database, x=[x]).violated_rows for x in (3.0, just_outside)}
    assert found == {3.0: 0, just_outside: 1}
    assert violation(program, database, x=[just_inside]).num_rows == 1
    assert float(violation(program, database, x=[10.0]).worst) == pytest.approx(2.0)


def test_cost_of_privacy_is_never_negative_and_handles_negative_values():
    assert cost_of_privacy(-4.0, -5.0) == pytest.approx(0.25)
    assert cost_of_privacy(10.0, 10.0 + 1e-13) == 0.0
    with pytest.raises(InvalidArgumentError, match="best value is 0"):
        cost_of_privacy(0.0, -1.0)


def test_saturation_counts_the_ends_that_say_nothing():
    envelope = Envelope(0.0, 1.0, shape=1000, radius=0.1)
    database = Database(np.full(1000, 0.5), envelope)
    rng = np.random.default_rng(0)
    strong = release_database(database, PrivacyBudget("1/10", "1e-9"), rng=rng)
    weak = release_database(database, PrivacyBudget(20, "1/10"), rng=rng)
    assert saturation(strong, envelope).whole == 1.0
    assert saturation(weak, envelope).upper == 0.0
    with pytest.raises(InvalidArgumentError, match="envelope must be the one"):
        saturation(weak, Envelope([0.0], [1.0]))


def test_intervals_cover_the_mean_as_often_as_they_say():
    # 2,000 intervals at 95 %: P(coverage outside [0.92, 0.975]) < 1e-6
    rng = np.random.default_rng(1)
    samples = rng.normal(3.0, 2.0, (2000, 40))
    inside = [i.low <= 3.0 <= i.high for i in map(mean_interval, samples)]
    assert 0.92 < np.mean(inside) < 0.975


@pytest.mark.parametrize("count", [2, 3, 40])
def test_intervals_are_students(count):
    from scipy import stats

    samples = np.random.default_rng(count).normal(3.0, 2.0, (count, 2))
    scale = samples.std(axis=0, ddof=1) / np.sqrt(count)
    ends = np.array(stats.t.interval(0.9, count - 1, loc=samples.mean(axis=0), scale=scale))
    found = [mean_interval(column, confidence=0.9) for column in samples.T]
    np.testing.assert_allclose([[i.low for i in found], [i.high for i in found]], ends, rtol=1e-13)
    assert quantile(count, 0.9) == stats.t.ppf(0.95, count - 1)


@pytest.mark.parametrize(
    ("samples", "options", "named"),
    [
        ([1.0], {}, "at least two"),
        ([1.0, np.nan], {}, "finite"),
        ([1.0, 2.0], {"confidence": 1.5}, "confidence"),
    ],
)
def test_bad_samples_are_refused(samples, options, named):
    with pytest.raises(InvalidArgumentError, match=named):
        mean_interval(samples, **options)


def test_public_files_refuse_what_only_the_curator_may_see(tmp_path):
    path = tmp_path / "public.json"
    secret = suboptimality(knapsack(), Database([0.5], Envelope([0.25], [1.0])), x=[1.5])
    assert isinstance(secret, CuratorOnly)
    for content in ({"loss": secret}, {"rows": [{"a": (1, secret)}]}, {"curator_only": {}}):
        with pytest.raises(PrivacyLeakError):
            write_public_json(path, content)
    assert not path.exists()
    write_public_json(path, {"value": 1.0})
    assert "curator only" in repr(secret)
