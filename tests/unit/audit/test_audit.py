"""The audit: its layers, its report, its command."""

import json
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

from dp_cmdp import Laplace, TruncatedLaplace
from dp_cmdp.audit.layers.black_box import epsilon_bound, lower_limit, upper_limit
from dp_cmdp.audit.layers.certificates import certify
from dp_cmdp.audit.layers.coupling import Coupling, RecordedGenerator, coupling
from dp_cmdp.audit.layers.events import lowest_bit
from dp_cmdp.audit.layers.noise_law import law_facts
from dp_cmdp.audit.outcomes import NORMAL, Outcomes, repeated
from dp_cmdp.audit.report import LAYERS
from dp_cmdp.audit.subject import audit
from dp_cmdp.audit.suite import makers
from dp_cmdp.baselines import METHODS
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.noise.laplace import LatticeLaplace
from dp_cmdp.noise.optimal import OptimalNoise
from dp_cmdp.noise.truncated import LatticeTruncatedLaplace

HONEST = TruncatedLaplace.calibrate(1.0, 1, delta="1/20")


def add(values, rng):
    return values + HONEST.sample(rng, values.size)


def run(mechanism, **options):
    given = {"epsilon": 1, "delta": "1/20", "rng": np.random.default_rng(0), "runs": 400}
    return audit(mechanism, ([0.0], [1.0]), **(given | options))


def test_clopper_pearson_limits_are_the_binomial_tails():
    for count, runs in ((0, 50), (3, 50), (50, 50), (700, 1000)):
        low, high = (limit(count, runs, alpha=0.01) for limit in (lower_limit, upper_limit))
        assert low <= count / runs <= high
        if count:
            assert binom.sf(count - 1, runs, low) == pytest.approx(0.01)
        if count < runs:
            assert binom.cdf(count, runs, high) == pytest.approx(0.01)


def test_the_bound_on_epsilon_is_where_the_hockey_stick_meets_delta():
    bound = epsilon_bound(0.4, 0.1, 0.05)
    assert 0.4 - math.exp(bound) * 0.1 == pytest.approx(0.05)
    assert epsilon_bound(0.05, 0.1, 0.05) == 0.0
    assert epsilon_bound(0.3, 0.9, 0.05) == 0.0


def test_the_lowest_bit_of_a_float_is_found():
    values = np.array([1.0, 6.0, -0.75, 2.0**-60, 1 + 2.0**-52, 0.0, np.nan])
    assert lowest_bit(values).tolist() == [0, 1, -2, -60, -52, 2000, 2000]


def test_exceptions_and_odd_shapes_are_outputs():
    def mechanism(values, rng):
        if values[0] == 1:
            raise KeyError("no")
        return values if rng.random() < 0.5 else [1.0, 2.0]

    zero, one = repeated(mechanism, (np.zeros(1), np.ones(1)))(50, np.random.default_rng(0))
    assert set(zero.kind) == {NORMAL, "1 entries"}
    assert set(one.kind) == {"KeyError"}
    assert np.isnan(one.values).all()


def test_a_recorded_generator_draws_what_a_plain_one_does():
    recorded, plain = RecordedGenerator(3), np.random.Generator(np.random.PCG64(3))
    assert recorded.laplace(0.0, 2.0, size=3).tolist() == plain.laplace(0.0, 2.0, size=3).tolist()
    assert recorded.bytes(5) == plain.bytes(5)
    assert [call[0] for call in recorded.calls][:2] == ["laplace", "bytes"]


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (lambda v, rng: np.where(v == 0, 0.0, v + rng.laplace(size=1)), "move with the data"),
        (lambda v, rng: v + rng.laplace(scale=1 + v[0], size=1), "other noise"),
        (lambda v, rng: v + rng.laplace(size=1 + int(v[0]))[:1], "other noise"),
        (lambda v, rng: v / (1 - v[0]) if v[0] else 1 / 0, "one database and not on the other"),
        (lambda v, rng: np.zeros(1 + int(v[0])), "size depends"),
    ],
)
def test_the_coupling_layer_sees_every_use_of_the_data(broken, said):
    def side_run(side, rng):
        with np.errstate(all="ignore"):
            return broken(np.array([float(side)]), rng)

    verdict = coupling((Coupling("output", side_run, np.ones(1)),), seeds=3, seed=0)
    assert verdict.passed is False
    assert said in verdict.detail


def test_an_exact_coupling_allows_no_rounding():
    def off(side, rng):
        return np.array([side * (1 + 2.0**-50)])

    assert coupling((Coupling("x", off, np.ones(1)),), seeds=1, seed=0).passed
    exact = Coupling("x", off, np.ones(1), is_exact=True)
    assert coupling((exact,), seeds=1, seed=0).passed is False


@pytest.mark.parametrize(
    "law",
    [
        TruncatedLaplace(0.7, 2.0),
        Laplace(1.5),
        LatticeTruncatedLaplace.calibrate(1, "1/20", steps=5),
        LatticeLaplace.calibrate(1, steps=4),
        OptimalNoise.calibrate(1, "1/10", steps=8),
    ],
    ids=lambda law: type(law).__name__,
)
def test_the_facts_of_a_law_are_its_sums_and_integrals(law):
    facts = law_facts(law)
    if isinstance(law, TruncatedLaplace | Laplace):
        end = 2.0 if isinstance(law, TruncatedLaplace) else 60.0
        z = (np.arange(400_000) + 0.5) / 400_000 * end
        mass = 2 * law.pdf(z) * end / z.size
    else:
        end = int(facts.support or 400)
        z = np.arange(end + 1)
        two_sided = not isinstance(law, OptimalNoise)
        mass = np.array([float(law.pmf(int(k))) * (2 if k and two_sided else 1) for k in z])
    assert mass.sum() == pytest.approx(1, rel=1e-6)
    assert facts.mean == pytest.approx(mass @ z, rel=1e-5)
    assert facts.variance == pytest.approx(mass @ z**2 - (mass @ z) ** 2, rel=1e-4)
    for radius, tail in zip(facts.radii, facts.tails, strict=True):
        assert tail == pytest.approx(mass[z >= radius].sum(), rel=1e-3, abs=1e-9)


def test_the_certificate_layer_sees_a_support_that_is_short_by_one_step():
    proof = LatticeTruncatedLaplace.calibrate(1, "1e-6", steps=64).certificate
    claim = {"epsilon": Fraction(1), "delta": Fraction(1, 10**6)}
    assert certify((proof,), **claim).passed
    short = replace(proof, support=(proof.support or 0) - 1)
    assert certify((short,), **claim).passed is False
    assert certify((proof, proof), **claim).passed is False
    assert certify((proof,), epsilon=Fraction(99, 100), delta=proof.delta).passed is False
    assert certify((), **claim).passed is None


def test_layers_that_do_not_apply_say_so():
    found = run(add)
    assert found.layers["certificate"].passed is None
    assert found.layers["coupling"].passed is None
    assert found.layers["noise_law"].passed is None


def test_a_private_mechanism_of_the_user_passes_and_is_described():
    found = run(add, additive=True, law=HONEST, representation=False, name="mine")
    assert found.passed
    assert found.objecting == ()
    text = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert set(text) == {
        "name",
        "claimed_epsilon",
        "claimed_delta",
        "passed",
        "epsilon_lower_bound",
        "layers",
    }
    assert tuple(text["layers"]) == LAYERS


def test_publishing_the_data_is_seen_with_few_runs():
    found = run(lambda values, rng: values, runs=100)
    assert found.objecting == ("black_box",)
    assert found.epsilon_lower_bound > 1


def test_the_text_of_an_exception_is_an_output():
    def mechanism(values, rng):
        raise ValueError(f"cannot use {values[0]}")

    found = run(mechanism, runs=100)
    assert not found.passed
    assert "cannot use" not in json.dumps(found.to_dict())


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"epsilon": -1}, "epsilon"),
        ({"delta": 2}, "delta"),
        ({"rng": 7}, "rng"),
        ({"runs": 3}, "runs"),
        ({"law": HONEST}, "additive"),
        ({"law": object(), "additive": True}, "law must be one of"),
    ],
)
def test_bad_audits_are_refused(change, named):
    with pytest.raises(InvalidArgumentError, match=named):
        run(add, **change)


@pytest.mark.parametrize("pair", [None, ([1.0],), ([1.0], [1.0, 2.0]), ([], []), (["a"], [1.0])])
def test_bad_pairs_are_refused(pair):
    with pytest.raises(InvalidArgumentError, match="pair"):
        audit(add, pair, epsilon=1, delta="1/20", rng=np.random.default_rng(0))


def test_every_private_method_of_the_comparison_is_audited():
    names = " ".join(make().name for make in makers())
    for name, method in METHODS.items():
        assert (f"{name} (simulation)" in names) == (method.model == "differential privacy")
    for calibration in ("tight", "paper", "optimal"):
        assert f"release_database, {calibration}" in names
    assert "release_blocks, paper" in names
    assert "release_blocks, tight" in names
    assert "release_looks, share 0" in names
    assert "release_looks, share 0.35" in names


def test_outcomes_are_cut_together():
    part = Outcomes.of(np.arange(6.0).reshape(3, 2))[1:]
    assert part.runs == 2
    assert part.kind.size == 2


@pytest.mark.parametrize("options", [{}, {"additive": True, "law": HONEST}])
def test_a_mechanism_that_always_fails_is_refused_by_the_kind_of_its_error_only(options):
    with pytest.raises(InvalidArgumentError, match=r"every run.*\(TypeError\)"):
        run(lambda values: values, delta="1/1000", **options)

    def noisy(values, rng):
        raise KeyError(f"secret {rng.random()}")

    with pytest.raises(InvalidArgumentError, match=r"\(KeyError\)") as caught:
        run(noisy, **options)
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def test_a_mechanism_that_fails_on_one_database_only_is_accused():
    def picky(values, rng):
        if values[0] > 0.5:
            raise KeyError
        return values * 0.0

    assert not run(picky, epsilon=1, delta="1/1000").passed


@pytest.mark.parametrize(
    "shown",
    [
        lambda values: 1j * values,
        lambda values: np.ma.masked_array(np.zeros(2), mask=values > 0.75),
        lambda values: "high" if values[0] > 0.75 else "low",
    ],
    ids=["imaginary part", "mask", "text"],
)
def test_what_a_vector_of_floats_would_drop_is_an_output_too(shown):
    found = audit(
        lambda values, rng: shown(values),
        ([0.0, 0.5], [1.0, 0.5]),
        epsilon=1,
        delta="1/1000",
        rng=np.random.default_rng(0),
        runs=1000,
    )
    assert found.layers["black_box"].passed is False
