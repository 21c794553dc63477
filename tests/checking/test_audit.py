"""The audit: its layers see what they are for, and mechanisms broken on purpose are caught."""

from __future__ import annotations

import math
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from dp_cmdp._src.accounting.budget import PrivacyBudget
from dp_cmdp._src.base.errors import InvalidArgumentError
from dp_cmdp._src.checking.audit.black_box import (
    epsilon_bound,
)
from dp_cmdp._src.checking.audit.measured import Measured, exact_divergence
from dp_cmdp._src.checking.audit.mechanism import audit
from dp_cmdp._src.data.envelope import Envelope
from dp_cmdp._src.noise.laws import Laplace, Sensitivity
from dp_cmdp._src.noise.one_sided import OneSided
from dp_cmdp._src.noise.unbounded import UnboundedLaplace
from dp_cmdp._src.release.measurement import LargestQuery, Measurement, Query
from dp_cmdp._src.verbs import suite
from dp_cmdp._src.verbs.suite import BUDGET, RECORDS
from tests.checking.made import array, envelope

CLAIM = {"epsilon": 1, "delta": "1/10"}


# ------------------------------------------------------------------------------------ statistics


def test_the_bound_on_epsilon_is_where_the_hockey_stick_meets_delta() -> None:
    bound = epsilon_bound(0.4, 0.1, 0.05)
    assert 0.4 - math.exp(bound) * 0.1 == pytest.approx(0.05)
    assert epsilon_bound(0.05, 0.1, 0.05) == 0.0
    assert epsilon_bound(0.3, 0.9, 0.05) == 0.0


# ------------------------------------------------------------------------------------ any callable


def test_a_private_mechanism_passes_and_is_described() -> None:
    law = Laplace.calibrate(Sensitivity(1, 1, 1, 1), PrivacyBudget(1, "1/10"))

    def private(values: Any, rng: np.random.Generator) -> Any:
        return np.rint(values) + law.sample(values.size, rng.bytes)

    report = audit(private, ([0.0], [1.0]), **CLAIM)
    assert report
    assert report.findings[0].outcome == "passed"
    assert "1e-06" in repr(report)
    assert not audit(private, ([0.0], [2.0]), epsilon="1/10", delta="1/1000")


MECHANISMS = {
    "the data": lambda values, rng: values,
    "scale x 0.5": lambda values, rng: values + rng.laplace(scale=0.5, size=1),
    "realised zeros": lambda values, rng: np.where(values == 0, 0.0, values + rng.laplace(size=1)),
    "a size": lambda values, rng: np.zeros(1 + int(values[0])),
    "an exception": lambda values, rng: 1 / values[0] if values[0] < 1 else rng.laplace(size=1),
    "a text": lambda values, rng: "high" if values[0] > 0.75 else "low",
    "an imaginary part": lambda values, rng: 1j * values + 1,
    "a mask": lambda values, rng: np.ma.masked_array(np.zeros(1), mask=values > 0.75),
}


@pytest.mark.parametrize("name", list(MECHANISMS))
def test_a_mechanism_that_leaks_is_accused(name: str) -> None:
    with np.errstate(all="ignore"):
        report = audit(MECHANISMS[name], ([0.0], [1.0]), epsilon=1, delta="1/1000")
    assert not report
    assert report.findings[0].numbers["epsilon_lower_bound"] > 1


def test_noise_in_floats_leaks_through_their_last_bits() -> None:
    def floats(values: Any, rng: np.random.Generator) -> Any:
        return values + rng.laplace(scale=3, size=1)

    assert not audit(floats, ([0.0], [1.0]), epsilon="1/3", delta="1/20")


def test_the_text_of_an_exception_is_an_output_and_is_not_quoted() -> None:
    def telling(values: Any, rng: np.random.Generator) -> Any:
        raise ValueError(f"cannot use {values[0]}")

    report = audit(telling, ([0.0], [1.0]), **CLAIM)
    assert not report
    assert "cannot use" not in repr(report)


def test_a_mechanism_that_always_fails_is_refused_by_the_kind_of_its_error_only() -> None:
    def failing(values: Any, rng: np.random.Generator) -> Any:
        raise KeyError(f"secret {rng.random()}")

    with pytest.raises(InvalidArgumentError, match=r"\(KeyError\)") as caught:
        audit(failing, ([0.0], [1.0]), **CLAIM)
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


# ------------------------------------------------------------------------------------ measurements


def measurement(
    weights: Any = ((1, 1, 0, 2, 0, 1), (0, 3, 1, 0, 1, 0)), **more: Any
) -> Measurement:
    return Measurement(Query(envelope(), array(weights)), Laplace, BUDGET, "queries", **more)


def layers(found: Any, pair: Any = None, runs: int = 300) -> dict[str, bool | None]:
    """The verdict of each layer."""
    findings = Measured("subject", found).judge(pair, runs=runs, rng=np.random.default_rng(0))
    return {finding.claim.split(":")[0]: finding.holds for finding in findings}


def test_a_measurement_passes_every_layer_of_the_face() -> None:
    theta = envelope()
    pair = (theta.lower + 0.1, theta.lower + 0.1 + np.array([0.04, -0.04, 0.02, 0, 0, 0]))
    report = audit(measurement(), pair, **CLAIM)
    assert report
    assert len(report.findings) == 5
    with pytest.raises(InvalidArgumentError, match="spends"):
        audit(measurement(), pair, epsilon="1/2", delta="1/10")


def broken(honest: Measurement, **parts: Any) -> Any:
    """A measurement with other parts, as whoever made a mistake would write it."""
    own = {name: getattr(honest, name) for name in ("query", "law", "budget", "name")}
    made = SimpleNamespace(**(own | parts))
    if "draw" not in parts:
        made.draw = lambda values, source: drawn(made, values, source)
    return made


def drawn(made: Any, values: Any, source: Any) -> Any:
    noise = source.draw(made.law, made.query.size)
    true = made.query.true_integers(values)
    return SimpleNamespace(integers=[n + z for n, z in zip(true, noise, strict=True)])


def neighbours(entry: int, one: float, other: float) -> tuple[Any, Any]:
    """Databases of .4 but for one entry."""
    first, second = np.full(6, 0.4), np.full(6, 0.4)
    first[entry], second[entry] = one, other
    return first, second


def halved_count() -> Any:
    """Noise for half of what a record moves."""
    honest = measurement()
    s = honest.query.sensitivity()
    half = Sensitivity(s.l1 // 2, s.l2_squared // 4, s.largest // 2, s.count)
    query = SimpleNamespace(
        **{n: getattr(honest.query, n) for n in ("envelope", "weights", "size", "true_integers")},
        sensitivity=lambda: half,
    )
    return broken(honest, query=query, law=Laplace.calibrate(half, BUDGET))


def one_short() -> Any:
    """A support that is short by one step in a million."""
    law: Any = measurement().law
    return broken(measurement(), law=Laplace(law.support - 1, law.thresholds))


def other_sampler() -> Any:
    """One law certified, another sampled: four fifths of its scale."""
    law: Any = measurement().law
    narrow = Laplace.calibrate(Sensitivity(*([law.support // 12] * 4)), BUDGET)
    told = SimpleNamespace(
        **{n: getattr(law, n) for n in ("low", "high", "variance", "document", "delta")},
        sample=lambda size, source: [4 * z // 5 for z in law.sample(size, source)],
    )
    assert narrow.support
    return broken(measurement(), law=told)


def realised_mask() -> Any:
    """No noise where the true integer is 0."""
    theta = Envelope([0] * 6, [1] * 6, change=envelope().change)
    honest = Measurement(Query(theta, array([[1, 0, 0, 0, 0, 0]])), Laplace, BUDGET)

    def draw(values: Any, source: Any) -> Any:
        true = honest.query.true_integers(values)
        noise = source.draw(honest.law, 1)
        return SimpleNamespace(
            integers=[n + z * (n != 0) for n, z in zip(true, noise, strict=True)]
        )

    return broken(honest, draw=draw, pair=neighbours(0, 0.0, 0.05))


def guard_that_reads_the_truth() -> Any:
    """Integers are raised to what is true, as floats with tolerances tempt to do."""
    honest = measurement()

    def draw(values: Any, source: Any) -> Any:
        true = honest.query.true_integers(values)
        noisy = honest.draw(values, source).integers
        return SimpleNamespace(integers=[max(y, n) for y, n in zip(noisy, true, strict=True)])

    return broken(honest, draw=draw)


def noise_that_reads_the_data() -> Any:
    """The law is calibrated to the values found."""
    honest = measurement()

    def draw(values: Any, source: Any) -> Any:
        most = int(abs(honest.query.true_integers(values)[0])) // 1000 + 1
        law = Laplace.calibrate(Sensitivity(most, most * most, most, 1), BUDGET)
        return drawn(broken(honest, law=law), values, source)

    return broken(honest, draw=draw)


def exception_on_the_data() -> Any:
    """Good noise, and a complaint about a large value."""
    honest, pair = measurement(), neighbours(0, 0.48, 0.52)

    def draw(values: Any, source: Any) -> Any:
        if values[0] > 0.5:
            raise ValueError("value out of range")
        return honest.draw(values, source)

    return broken(honest, draw=draw, pair=pair)


def weights_of_the_data() -> Any:
    """The queries weigh whatever is largest."""
    honest, pair = measurement(), neighbours(0, 0.38, 0.42)

    def draw(values: Any, source: Any) -> Any:
        weights: Any = np.zeros((2, 6), dtype=np.int64)
        weights[:, int(np.argmax(values))] = 1
        return Measurement(Query(honest.query.envelope, weights), honest.law, BUDGET).draw(
            values, source
        )

    return broken(honest, draw=draw, pair=pair)


def half_a_cell() -> Any:
    """A query of 3/2 cells, rounded after reading: it moves by one cell more than is counted."""
    theta = Envelope(0, 1, radius=2.0**-16 * 3, shape=1)
    honest = Measurement(Query(theta, array([[2]])), Laplace, BUDGET)
    s = Sensitivity(*([honest.query.sensitivity().l1 * 3 // 4] * 4))
    query = SimpleNamespace(
        envelope=theta,
        weights=honest.query.weights,
        size=1,
        sensitivity=lambda: s,
        true_integers=lambda values: [-(-n * 3 // 4) for n in honest.query.true_integers(values)],
    )
    return broken(honest, query=query, law=Laplace.calibrate(s, BUDGET))


def which_row_attained_it() -> Any:
    """Half-integer centres: the parity of the published integer tells which row was largest."""
    theta = envelope()
    honest = Measurement(LargestQuery(theta, array([[1] * 6, [2] * 6]), (0, 7)), Laplace, BUDGET)

    def draw(values: Any, source: Any) -> Any:
        rows = Query.true_integers(honest.query, values)
        noise = source.draw(honest.law, 1)
        return SimpleNamespace(integers=[2 * (max(rows) + noise[0]) + int(np.argmax(rows))])

    return broken(honest, draw=draw)


#: The mutants, and layers of which each must object.
MUTANTS = {
    halved_count: {"certificate", "worst records"},
    one_short: {"certificate"},
    other_sampler: {"noise law"},
    realised_mask: {"coupling"},
    guard_that_reads_the_truth: {"black box"},
    noise_that_reads_the_data: {"coupling"},
    exception_on_the_data: {"coupling", "black box"},
    weights_of_the_data: {"coupling"},
    half_a_cell: {"certificate"},
    which_row_attained_it: {"coupling"},
}


def far_pair() -> tuple[Any, Any]:
    """One record moves all of its entries as far as it can."""
    first = np.full(6, 0.4)
    return first, first + np.array([0.05, 0.05, 0.025, 0, 0, 0])


@pytest.mark.parametrize("mutant", list(MUTANTS), ids=lambda mutant: mutant.__name__)
def test_the_audit_catches_every_mutant(mutant: Any) -> None:
    made = mutant()
    pair = getattr(made, "pair", None if made.query.envelope.size == 1 else far_pair())
    found = layers(made, pair)
    objecting = {name for name, holds in found.items() if holds is False}
    assert MUTANTS[mutant] <= objecting, found


@pytest.mark.parametrize(
    "kind", [Laplace, OneSided, UnboundedLaplace], ids=lambda kind: kind.__name__
)
def test_the_honest_ones_pass_every_layer(kind: Any) -> None:
    weights = array([[1, 0, 2, -1, 0, 3]])
    made = Measurement(Query(envelope(), weights), kind, BUDGET)
    assert not [name for name, holds in layers(made).items() if holds is False]
    largest = LargestQuery(envelope(), array([[1] * 6, [-2] * 6]), (7, -9))
    assert not [k for k, v in layers(Measurement(largest, kind, BUDGET)).items() if v is False]


def test_exact_divergences_see_what_a_law_does_not_cover() -> None:
    law = Laplace.calibrate(Sensitivity(2, 4, 2, 1), BUDGET)
    inside = exact_divergence("law", law, [(2,), (1, 1), (-2,)], BUDGET)
    assert inside.holds
    assert exact_divergence("law", law, [(3,)], BUDGET).holds is False
    assert exact_divergence("law", law, [(2, 2)], BUDGET).holds is False
    assert exact_divergence("law", law, [(0, 0)], BUDGET).numbers["delta"] == 0
    table = OneSided.calibrate(Sensitivity(2, 4, 2, 1), BUDGET)
    assert exact_divergence("law", table, [(2,), (-2,), (1,)], BUDGET).holds
    assert exact_divergence("law", table, [(1, 1)], BUDGET).holds is False
    unbounded = UnboundedLaplace.calibrate(Sensitivity(2, 4, 2, 1), BUDGET)
    assert exact_divergence("law", unbounded, [(1,)], BUDGET).holds is None


def test_worst_records_are_made_for_every_record_and_sign() -> None:
    """The worst pair reaches what is counted, for each kind of record."""
    for own, limit in RECORDS.values():
        record = np.repeat(np.arange(len(own)), [len(each) for each in own])
        entry = np.concatenate(own)
        change = sparse.csr_array((np.full(entry.size, 0.25), (record, entry)), shape=(len(own), 5))
        theta = Envelope([0] * 5, [1] * 5, change=change, entries_per_record=limit)
        query = Query(theta, array([[3, -2, 0, 0, 5]]))
        subject = Measured("queries", Measurement(query, Laplace, BUDGET))
        finding = subject.worst_records()
        assert finding.holds
        assert finding.numbers["reached"] == 1.0
        first, second = subject.farthest_pair()
        ends = [subject.integers(side.tolist()) for side in (first, second)]
        apart = [abs(a - b) for a, b in zip(*ends, strict=True)]
        assert sum(apart) == query.sensitivity().l1
        assert subject.integers(first.tolist()) == query.true_integers(first)


# ------------------------------------------------------------------------------------ the suite


def test_what_is_shipped_passes_for_records_of_every_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suite, "STRATEGY_RUNS", 20)
    report = suite.audit_release(runs=100)
    assert report, report.failed
    subjects = " ".join({finding.subject for finding in report})
    for kind in ("entries", "one-sided", "unbounded", "queries", "worst row", "Algorithm 1"):
        assert kind in subjects
    for owned in RECORDS:
        assert owned in subjects
    for name in ("entries", "queries", "worst row"):
        assert f"strategy {name}" in subjects
    exact = [f for f in report if f.claim.startswith("exact")]
    assert exact
    assert all(f.numbers["delta"] > 0.05 for f in exact)  # nearly all of δ is used


def test_a_delta_of_fractions_is_compared_exactly() -> None:
    law = Laplace.calibrate(Sensitivity(1, 1, 1, 1), BUDGET)
    needed = Fraction(law.delta(Sensitivity(1, 1, 1, 1), Fraction(1)))
    exact = exact_divergence("law", law, [(1,)], SimpleNamespace(epsilon=1, delta=needed))  # type: ignore[arg-type]
    assert exact.holds
