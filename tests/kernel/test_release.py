"""Releases: composed, kept in files that are proved again, and told in tables and words."""

from __future__ import annotations

import copy
import json
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import pytest

from dp_cmdp._src.base.documents import write_document
from dp_cmdp._src.base.errors import InvalidArgumentError
from dp_cmdp._src.data.envelope import Envelope
from dp_cmdp._src.noise.laws import Laplace
from dp_cmdp._src.noise.one_sided import OneSided
from dp_cmdp._src.noise.unbounded import UnboundedLaplace
from dp_cmdp._src.release.measurement import LargestQuery, Measurement, Query, System
from dp_cmdp._src.release.release import Release, is_empty
from tests.kernel.worlds import budget

ENVELOPE = Envelope.join(
    {
        "price": Envelope(0, 8, radius=1, shape=2),
        "limit": Envelope(-1, 9, radius=0.5, shape=1),
    }
)
VALUES = np.array([1.25, 6.5, 3.0])
WEIGHTS = np.array([[2, 1, 0], [0, -1, 3]])
HALF = budget("1/2", "1/2000")
EXACT = System()


def entries(law: Any = Laplace, spent: Any = HALF, envelope: Envelope = ENVELOPE) -> Measurement:
    return Measurement(Query(envelope, np.diag([4, 4, 8])), law, spent, "entries")


def full() -> Release:
    """Entries, queries and the worst row, of exact noise."""
    release = Release(ENVELOPE, strategy_document={"name": "mine"}, ledger_reference="a:1:ff")
    measured = [
        entries(),
        Measurement(Query(ENVELOPE, WEIGHTS), Laplace, HALF, "queries"),
        Measurement(LargestQuery(ENVELOPE, WEIGHTS, (7, -(1 << 70))), Laplace, HALF, "worst row"),
        entries(OneSided, budget(10, "1/100")),
        entries(UnboundedLaplace, budget(1, 0)),
    ]
    for measurement in measured:
        release = release + measurement.draw(VALUES, EXACT)
    return release


class TestWhatItSays:
    def test_budgets_add_up_exactly_and_the_truth_is_inside(self):
        release = full()
        assert release.budget.epsilon == Fraction(25, 2)
        assert release.budget.delta == Fraction(3, 2000) + Fraction(1, 100)
        assert VALUES in release.uncertainty
        assert (release.lower <= VALUES).all()
        assert (release.upper >= VALUES).all()

    def test_nothing_read_is_the_envelope_and_costs_nothing(self):
        release = Release(ENVELOPE)
        assert release.budget == budget(0, 0)
        assert release.guarantee == "nothing was read"
        assert release.lower.tolist() == ENVELOPE.lower.tolist()
        assert release.estimate.tolist() == [4.0, 4.0, 4.0]
        assert release.saturation == 1.0
        assert release.uncertainty.is_box

    def test_estimates_weigh_measurements_by_their_precision(self):
        fine, rough = entries(spent=budget(8, "1/100")), entries(spent=budget("1/8", "1/100"))
        release = Release(ENVELOPE)
        for measurement, far in ((fine, 0), (rough, 10**5)):
            noise: Any = type(
                "Noise", (), {"simulated": False, "draw": lambda s, law, n, f=far: [f] * n}
            )
            release = release + measurement.draw(VALUES, noise())
        inside = (release.lower < release.estimate) & (release.estimate < release.upper)
        assert inside.all()
        assert np.abs(release.estimate - VALUES).max() < 0.01

    def test_saturation_counts_entries_of_which_nothing_more_is_known(self):
        """One entry in an interval, one in an inequality that binds, one in none."""
        narrow = Measurement(Query(ENVELOPE, np.array([[64, 0, 0]])), Laplace, budget(50, "1/2"))
        release = Release(ENVELOPE) + narrow.draw(VALUES, EXACT)
        assert release.saturation == pytest.approx(2 / 3)
        binding = Measurement(Query(ENVELOPE, np.array([[0, 1, 1]])), Laplace, budget(50, "1/2"))
        assert (release + binding.draw(VALUES, EXACT)).saturation == 0.0

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            ({"shape": 3}, "one entry changes over its whole range"),
            ({"radius": [1, 8, 8]}, "one entry changes by at most its radius"),
            ({"shape": 3, "radius": 1, "records": [0, 0, 1]}, "one record of up to 2 entries"),
            ({"shape": 3, "radius": 1, "entries_per_record": 2}, "up to 2 of its entries"),
            ({"change": [[1, 1, 0], [0, 1, 1.0]]}, "one record of up to 2 entries changes"),
        ],
    )
    def test_the_guarantee_names_the_adjacency(self, arguments, words):
        envelope = Envelope(0, 8, **arguments)
        assert (
            words in (Release(envelope) + entries(envelope=envelope).draw(VALUES, EXACT)).guarantee
        )


class TestTogether:
    def test_two_releases_of_one_database_say_what_both_say_and_cost_what_both_cost(self):
        one, two = full(), Release(ENVELOPE) + entries().draw(VALUES, EXACT)
        both = one & two
        assert both.budget == one.budget + two.budget
        assert VALUES in both.uncertainty
        assert both.lower.tolist() == np.maximum(one.lower, two.lower).tolist()
        assert both.ledger_reference == "a:1:ff"
        assert not both.simulated
        assert (one & Release(ENVELOPE, simulated=True)).simulated

    @pytest.mark.parametrize(
        ("other", "words"),
        [
            ({"lower": 0}, "lower of entry 2 is 0.0, not -1.0"),
            ({"radius": [1, 1, 0.25]}, "radius of entry 2 is 0.25, not 0.5"),
            ({"records": [0, 0, 1]}, "differ"),
            ({"entries_per_record": 1}, "differ"),
            ({}, "labels differ"),
        ],
    )
    def test_releases_of_another_adjacency_or_of_other_names_are_refused(self, other, words):
        own = {"lower": [0, 0, -1], "upper": [8, 8, 9], "radius": [1, 1, 0.5]}
        with pytest.raises(InvalidArgumentError, match=f"one envelope: .*{words}"):
            _ = full() & Release(Envelope(**own | other))

    @pytest.mark.parametrize("weights", [[[64, 0, 0]], [[32, 32, 0]]])
    def test_releases_that_contradict_each_other_say_that_the_data_changed(self, weights):
        measurement = Measurement(Query(ENVELOPE, np.array(weights)), Laplace, budget(50, "1/2"))
        one, two = (
            Release(ENVELOPE) + measurement.draw(np.array(values), EXACT)
            for values in ([0.5, 0.5, 0.0], [7.5, 7.5, 0.0])
        )
        with pytest.raises(InvalidArgumentError, match="data changed"):
            _ = one & two
        again = Release(ENVELOPE) + measurement.draw(np.array([0.5, 0.5, 0.0]), EXACT)
        assert (one & again).budget == budget(100, 1)
        assert (one & one).budget == one.budget  # one outcome is paid for once

    def test_thin_sets_are_not_taken_for_empty_ones(self):
        """Noise of a few cells: the truth is on an edge of what is allowed, and nowhere else."""
        rng = np.random.default_rng(0)
        exact = budget(100, "1/2")
        for _ in range(20):
            weights = rng.integers(-99, 99, (5, 3))
            values = rng.uniform(ENVELOPE.lower, ENVELOPE.upper)
            release = Release(ENVELOPE)
            for row in weights:
                query = Query(ENVELOPE, row[None, :])
                release = release + Measurement(query, Laplace, exact).draw(values, EXACT)
            assert not is_empty(release.uncertainty)
            assert not is_empty((release & release).uncertainty)


class TestFiles:
    def test_a_file_says_all_of_a_release(self, tmp_path):
        release = full()
        again = Release.load(release.save(tmp_path / "release.npz"))
        assert again.envelope == release.envelope
        assert again.budget == release.budget
        assert again.ledger_reference == release.ledger_reference
        assert again.strategy_document == release.strategy_document
        for one, two in zip(release.outcomes, again.outcomes, strict=True):
            assert one.integers == two.integers
            assert one.measurement.law == two.measurement.law
            assert one.measurement.name == two.measurement.name
            assert one.measurement.sensitivity == two.measurement.sensitivity
        for name in ("lower", "upper", "q"):
            a, b = (getattr(each.uncertainty, name) for each in (release, again))
            assert a.tobytes() == b.tobytes()
        assert (
            again.save(tmp_path / "2.npz").read_bytes() == (tmp_path / "release.npz").read_bytes()
        )

    def test_simulations_stay_marked(self, tmp_path):
        made = Release(ENVELOPE, simulated=True)
        assert Release.load(made.save(tmp_path / "made.npz")).simulated

    def test_a_document_is_json_but_for_its_arrays(self):
        said = full().document()
        for outcome in said["outcomes"]:
            plain = {k: v for k, v in outcome.items() if not isinstance(v, np.ndarray)}
            assert json.loads(json.dumps(plain)) == plain
            assert all(outcome[k].dtype == np.int64 for k in outcome if k not in plain)

    def forged(self, change: Any) -> dict[str, Any]:
        said = copy.deepcopy(full().document())
        change(said)
        return said

    CHANGES: ClassVar[dict[str, Any]] = {
        "a shorter support": lambda s: _law(s, 0, support=lambda x: f"{int(x, 16) - 1:x}"),
        "steeper noise": lambda s: _law(
            s, 0, thresholds=lambda t: [f"{int(t[0], 16) * 99 // 100:x}", *t[1:]]
        ),
        "a law of another kind": lambda s: _law(s, 0, law=lambda _: "gaussian"),
        "a table moved towards 0": lambda s: _law(
            s, 3, weights=lambda w: [f"{int(w[0], 16) + int(w[-1], 16):x}", *w[1:-1], "0"]
        ),
        "coarser cells": lambda s: _law(s, 3, cell=lambda c: f"{int(c, 16) - 1:x}"),
        "an unbounded law that stops": lambda s: _law(s, 4, onward=lambda _: "1"),
        "less spent": lambda s: _edit(s, 0, epsilon="1/3"),
        "less delta spent": lambda s: _edit(s, 0, delta="1/3000"),
        "more delta than a budget may have": lambda s: _edit(s, 0, delta="2/3"),
        "a name that moves the cursor": lambda s: _edit(s, 0, name="\x1b[2Jproved"),
        "a name without end": lambda s: _edit(s, 0, name="a" * 201),
        "nothing spent": lambda s: _edit(s, 0, epsilon="0"),
        "less than nothing spent": lambda s: _edit(s, 0, epsilon="-1/2"),
        "a budget in other words": lambda s: _edit(s, 0, epsilon="2/4"),
        "heavier weights": lambda s: _edit(s, 0, weight=s["outcomes"][0]["weight"] * 2),
        "a weight twice": lambda s: _again(s, 1),
        "a weight of 0": lambda s: _edit(s, 1, weight=s["outcomes"][1]["weight"] * 0),
        "weights in floats": lambda s: _edit(s, 1, weight=s["outcomes"][1]["weight"] * 1.0),
        "weights beyond the entries": lambda s: _edit(
            s, 1, weight_entry=s["outcomes"][1]["weight_entry"] + 1
        ),
        "rows beyond all memory": lambda s: _edit(s, 1, rows=10**15),
        "fewer rows": lambda s: _edit(s, 1, rows=1),
        "an integer less": lambda s: _edit(s, 0, integers=s["outcomes"][0]["integers"][1:]),
        "an integer more": lambda s: _edit(s, 2, integers=s["outcomes"][2]["integers"] * 2),
        "an integer that is none": lambda s: _edit(s, 2, integers=["1.0"]),
        "an integer in other words": lambda s: _edit(s, 2, integers=["+1"]),
        "an integer without end": lambda s: _edit(s, 2, integers=["9" * 5000]),
        "an integer out of reach": lambda s: _edit(s, 0, integers=["-" + "9" * 15] * 3),
        "a row out of reach": lambda s: _edit(s, 1, integers=["-" + "9" * 15] * 2),
        "half a centre": lambda s: _edit(s, 2, centres=["7", "1/2"]),
        "a centre less": lambda s: _edit(s, 2, centres=["7"]),
        "centres of linear queries": lambda s: _edit(s, 1, centres=["7"]),
        "linear queries with one integer": lambda s: _edit(s, 2, kind="linear", centres=[]),
        "queries of another kind": lambda s: _edit(s, 2, kind="least"),
        "a maximum of entries of one noise": lambda s: _edit(s, 1, kind="largest", centres=["0"]),
        "a wider change": lambda s: s["envelope"].update(change=s["envelope"]["change"] * 1.5),
        "one record for all": lambda s: s["envelope"].update(
            change_record=np.zeros(3, dtype=np.int64), records=1
        ),
        "other bounds": lambda s: s["envelope"].update(lower=s["envelope"]["upper"]),
        "more than a release": lambda s: s.update(values=[1.0]),
        "no outcomes": lambda s: s.pop("outcomes"),
        "a mark that is none": lambda s: s.update(simulated="no"),
        "a number for a ledger": lambda s: s.update(ledger=3),
        "a ledger on two lines": lambda s: s.update(ledger="one\ntwo"),
        "a list for a strategy": lambda s: s.update(strategy=[1]),
    }

    @pytest.mark.parametrize("name", CHANGES)
    def test_files_that_claim_more_than_they_prove_are_refused(self, name, tmp_path):
        path = write_document(tmp_path / "forged.npz", "release", self.forged(self.CHANGES[name]))
        with pytest.raises(InvalidArgumentError, match="release file"):
            Release.load(path)

    def test_a_law_of_somebody_else_is_saved_by_name_and_not_read_again(self, tmp_path):
        class Mine(Laplace):
            document: Any = None

        Mine.document = property(lambda self: _absent())
        made: Any = entries().law
        law = Mine(made.support, made.thresholds)
        release = Release(ENVELOPE) + entries(law).draw(VALUES, EXACT)
        assert VALUES in release.uncertainty
        path = release.save(tmp_path / "mine.npz")
        with pytest.raises(InvalidArgumentError, match="law of a measurement"):
            Release.load(path)


def _absent() -> None:
    raise AttributeError


def _law(said: dict[str, Any], number: int, **changes: Any) -> None:
    law = said["outcomes"][number]["law"]
    for name, change in changes.items():
        law[name] = change(law[name])


def _edit(said: dict[str, Any], number: int, **changes: Any) -> None:
    said["outcomes"][number].update(changes)


def _again(said: dict[str, Any], number: int) -> None:
    outcome = said["outcomes"][number]
    for name in ("weight_row", "weight_entry", "weight"):
        outcome[name] = np.append(outcome[name], outcome[name][:1])
