"""Planned releases as files: what they prove, and that every edited number is refused."""

import json
import os
from dataclasses import replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import pytest
from scipy import sparse

from dp_cmdp import (
    Database,
    Envelope,
    ParametricLP,
    PrivacyBudget,
    PrivacyLedger,
    Release,
    Solution,
)
from dp_cmdp._documents import Document
from dp_cmdp.data.affine import Affine
from dp_cmdp.data.totals import Totals
from dp_cmdp.errors import BudgetExceededError, InvalidArgumentError
from dp_cmdp.noise.lattice import Lattice
from dp_cmdp.release import looks
from dp_cmdp.release.looks import release_looks
from dp_cmdp.release.plan import Plan
from dp_cmdp.release.solve import solve_private
from dp_cmdp.release.totals import integer_totals
from dp_cmdp.verification.claims import release_claims
from dp_cmdp.verification.files import verify
from tests.marked import DIGITS, MARKS, leaks_from_error, leaks_from_object, leaks_from_pickle
from tests.unit.verification.test_verification import PROPOSED, edited_facts

BUDGET = PrivacyBudget(2, "1/1000")
SIZE = 12
SHARES = [0, "0.35", 1]


def program(records: Any = None) -> ParametricLP:
    """Two weighted sums of the same entries, never without need of being measured."""
    place = np.arange(SIZE)
    return ParametricLP(
        Envelope(0.05, 1.0, radius=0.25, shape=SIZE, records=records),
        c=np.linspace(1.0, 2.0, SIZE),
        A=Affine(
            (2, SIZE),
            at=(np.repeat([0, 1], SIZE), np.tile(place, 2)),
            entry=np.tile(place, 2),
            coefficient=np.concatenate([np.ones(SIZE), np.linspace(0.5, 1.0, SIZE)]),
        ),
        b=[1.5, 1.0],
        upper=1.0,
    )


def released(share: Any = "0.35", *, target: ParametricLP | None = None, **options) -> Release:
    made = program() if target is None else target
    database = Database(MARKS[:SIZE], made.envelope, identity="marked")
    return release_looks(database, BUDGET, program=made, plan=Plan(share), **options)


def is_read(release: Release, path) -> bool:
    try:
        return bool(Release.load(release.save(path)))
    except InvalidArgumentError:
        return False


def totals_of(release: Release, **changes: Any) -> Release:
    """The release with other totals."""
    totals = release.totals
    assert totals is not None
    said = {name: getattr(totals, name) for name in ("counts", "index", "support", "step", "grid")}
    return replace(release, totals=Totals(**said | changes))


@pytest.mark.parametrize("seed", [None, 0])
@pytest.mark.parametrize("share", SHARES)
def test_a_planned_release_is_read_back_and_proves_its_answer(tmp_path, share, seed):
    rng = None if seed is None else np.random.default_rng(seed)
    target, release = program(), released(share, rng=rng)
    assert (release.totals is None) is (share == 1)
    assert (release.guarantee.epsilon, release.guarantee.delta) == (BUDGET.epsilon, BUDGET.delta)
    assert release.polytope.contains(MARKS[:SIZE])
    read = Release.load(release.save(tmp_path / "release.npz"))
    assert read.document().digest == release.document().digest
    answer = solve_private(target, read)
    answer.save(tmp_path / "solution.npz", release=release, program=target)
    again = Solution.load(tmp_path / "solution.npz")
    assert again.multipliers.tobytes() == answer.multipliers.tobytes()
    files = [tmp_path / "solution.npz", tmp_path / "release.npz"]
    report = verify(*files, target.save(tmp_path / "program.npz"))
    failed = [found.claim for found in report.findings if found.holds is False]
    assert failed == ([] if seed is None else ["the noise is exact"])


def test_what_two_looks_spend_adds_up_to_the_budget_and_one_look_is_no_more_than_its_share():
    first, second = released().noise
    assert (first.block, second.block) == ("database", "totals")
    assert first.epsilon == Fraction("0.35") * BUDGET.epsilon
    assert first.epsilon + second.epsilon == BUDGET.epsilon
    assert first.delta + second.delta == BUDGET.delta
    assert all(claim.holds for claim in release_claims(released()))


def edits(release: Release) -> dict[str, Release]:
    """Releases with one thing changed, each of which would prove something untrue."""
    totals = release.totals
    assert totals is not None
    entries, sums = release.noise
    proof = dict(sums.certificate or {})
    V, index = totals.counts, totals.index
    far = np.abs(V.data).max()
    doubled = sparse.csr_array((2 * V.data, V.indices, V.indptr), V.shape)
    one_less = sparse.csr_array((V.data - (V.data == far), V.indices, V.indptr), V.shape)
    reach = int(4 * totals.support + 2 * np.abs(V.data).sum() * 2**22)

    def proved(**changes: Any) -> Release:
        return replace(release, noise=(entries, replace(sums, certificate=proof | changes)))

    def spent(**changes: Any) -> Release:
        return replace(release, noise=(entries, replace(sums, **changes)))

    return {
        "index far above": totals_of(release, index=index + reach),
        "index far below": totals_of(release, index=index - reach),
        "one index below what the box allows": totals_of(
            release, index=index - np.array([reach, 0])
        ),
        "counts doubled": totals_of(release, counts=doubled),
        "the largest count one less": totals_of(release, counts=one_less),
        "grid finer": totals_of(release, grid=totals.grid / 2),
        "grid coarser": totals_of(release, grid=totals.grid * 2),
        "support shorter": totals_of(release, support=totals.support - 1),
        "support longer": totals_of(release, support=totals.support + 1),
        "no support": totals_of(release, support=0),
        "fewer steps": proved(steps=proof["steps"] - 1),
        "more steps": proved(steps=proof["steps"] + 1),
        "fewer entries": proved(entries="1"),
        "shorter support in the proof": proved(support=proof["support"] - 1),
        "smaller mass in the proof": proved(outer_mass="0"),
        "no certificate": spent(certificate=None),
        "another law": spent(law="laplace"),
        "another calibration": spent(calibration="optimal"),
        "another scale": spent(scale=sums.scale / 2),
        "another split": replace(
            release,
            noise=(
                replace(entries, epsilon=entries.epsilon / 2),
                replace(sums, epsilon=sums.epsilon + entries.epsilon / 2),
            ),
        ),
        "another share": replace(release, plan={**dict(release.plan or {}), "share": "1/2"}),
        "a share of nothing": replace(release, plan={**dict(release.plan or {}), "share": "0"}),
        "smaller epsilon": replace(
            release, guarantee=replace(release.guarantee, epsilon=entries.epsilon)
        ),
        "smaller delta": replace(
            release, guarantee=replace(release.guarantee, delta=entries.delta)
        ),
        "one look hidden": replace(release, noise=(sums,)),
        "totals hidden": replace(release, totals=None),
        "noise of totals hidden": replace(release, noise=(entries,)),
        "looks in another order": replace(release, noise=(sums, entries)),
        "a look told twice": replace(release, noise=(entries, sums, sums)),
        "draws moved": replace(release, draws=np.asarray(release.draws) + release.step),
        "an entry narrower": replace(
            release, upper=np.where(np.arange(SIZE) == 3, release.lower, release.upper)
        ),
    }


def test_no_edited_number_of_a_planned_release_is_read(tmp_path):
    release = released()
    path = tmp_path / "release.npz"
    assert is_read(release, path)
    made = edits(release)
    assert len(made) > 30
    assert [name for name, edited in made.items() if is_read(edited, path)] == []


def test_an_index_that_no_database_leads_to_is_not_read(tmp_path):
    """One step beyond what the ends of the public bounds and the longest noise make of it."""
    release = released(0)
    totals = release.totals
    assert totals is not None
    ends = []
    for bound in (program().envelope.lower, program().envelope.upper):
        cells = Lattice(totals.grid, 1).index(bound)
        ends.append(np.array(integer_totals(totals.counts, cells)))
    lowest, highest = ends[0] - totals.support, ends[1] + totals.support
    assert (totals.counts.data > 0).all()
    first = np.arange(len(totals)) == 0
    for index, holds in (
        (lowest, True),
        (highest, True),
        (lowest - first, False),
        (highest + first, False),
    ):
        assert is_read(totals_of(release, index=index), tmp_path / "release.npz") is holds


def test_a_plan_that_looked_at_entries_alone_says_so(tmp_path):
    release = released(1)
    for share, holds in (("1", True), ("1/2", True), ("0", False)):
        forged = replace(release, plan={**dict(release.plan or {}), "share": share})
        assert is_read(forged, tmp_path / "release.npz") is holds


def test_no_edited_fact_of_a_planned_release_is_read(tmp_path):
    made = released(target=program(records=np.arange(SIZE) // 3)).document()
    read = set()
    for place, facts in edited_facts(json.loads(json.dumps(made.facts))):
        Document(made.format, facts, made.arrays).write(tmp_path / "release.npz")
        try:
            Release.load(tmp_path / "release.npz")
        except InvalidArgumentError:
            continue
        read.add(place)
    free = {("version",), ("ledger",), *PROPOSED}
    assert {place for place in read if place[-1] != "outer_mass"} <= free


def test_no_edited_number_of_a_release_of_totals_alone_is_read(tmp_path):
    release = released(0)
    path = tmp_path / "release.npz"
    assert is_read(release, path)
    drawn = np.asarray(release.draws)
    wrong = {
        "a narrower interval": replace(release, upper=release.upper / 2),
        "another estimate": replace(release, estimate=release.estimate * 0.9),
        "a guess beyond the bounds": replace(release, draws=drawn + 1.0),
        "a share of something": replace(release, plan={**dict(release.plan or {}), "share": "1"}),
        "no noise": replace(release, noise=()),
        "other records": replace(
            release,
            envelope=program(records=np.arange(SIZE) // 2).envelope,
            guarantee=replace(release.guarantee, record_size=2),
        ),
        "a wider radius": replace(release, envelope=Envelope(0.05, 1.0, radius=0.5, shape=SIZE)),
    }
    assert [name for name, edited in wrong.items() if is_read(edited, path)] == []


@pytest.mark.parametrize(
    "said",
    [
        {"secret": [1.0]},
        [{"plan": "database", "losses": [], "proposed": None, "<b>": 1e308}],
        [{"plan": "database", "losses": [True], "proposed": None}],
        [{"plan": "database", "losses": None, "proposed": None}],
        [{"plan": "x" * 1000, "losses": [0.5], "proposed": 0.5}],
        [{"plan": 3, "losses": [0.5], "proposed": 0.5}],
        [{"plan": "database", "losses": [0.5], "proposed": "0.5"}],
    ],
)
def test_scores_say_nothing_but_names_and_losses(tmp_path, said):
    release, path = released(), tmp_path / "release.npz"
    assert release.plan is not None
    score = {"plan": "database", "losses": [0.5], "proposed": None}
    assert is_read(replace(release, plan={**release.plan, "trials": [score]}), path)
    assert not is_read(replace(release, plan={**release.plan, "trials": said}), path)


def test_a_step_is_a_unit_its_change_changes_no_fact_and_a_long_one_is_refused(tmp_path):
    release = released()
    totals = release.totals
    assert totals is not None
    twice = totals_of(release, step=2 * totals.step)
    assert is_read(twice, tmp_path / "release.npz")
    assert twice.totals is not None
    assert (twice.totals.W.toarray() == 2 * totals.W.toarray()).all()
    assert np.allclose(twice.totals.q, 2 * totals.q, rtol=2.0**-50)
    made = release.document()
    for step in (totals.step * (1 + 2.0**-40), -totals.step, 0 * totals.step, totals.step[:1]):
        Document(made.format, made.facts, {**made.arrays, "totals.step": step}).write(
            tmp_path / "release.npz"
        )
        with pytest.raises(InvalidArgumentError):
            Release.load(tmp_path / "release.npz")


def test_multipliers_that_prove_less_than_an_answer_says_are_found_out(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "urandom", np.random.default_rng(0).bytes)
    target, release = program(), released()
    answer = solve_private(target, release)
    assert answer.multipliers.size
    assert answer.multipliers.max() > 0
    files = [release.save(tmp_path / "release.npz"), target.save(tmp_path / "program.npz")]

    def passes(multipliers: np.ndarray) -> bool:
        edited = replace(answer, multipliers=multipliers)
        edited.save(tmp_path / "solution.npz", release=release, program=target)
        return verify(*files, tmp_path / "solution.npz").passed

    used = answer.multipliers
    assert passes(used)
    for other in (0 * used, used * 1.01, used * 0.99, -used, used + 1.0, used[:-1], [*used, 0.0]):
        assert not passes(np.array(other))


@pytest.mark.parametrize("share", SHARES)
def test_nothing_private_is_in_what_a_planned_release_shows(share):
    target = program()
    for rng in (None, np.random.default_rng(0)):
        release = released(share, target=target, rng=rng)
        answer = solve_private(target, release)
        for shown in (release, answer, release.polytope, release.totals):
            assert leaks_from_object(shown) == []
            assert not leaks_from_pickle(shown)
        text = f"{release!r}{release.totals!r}{release.polytope!r}{answer!r}{release.facts()}"
        assert DIGITS not in text


class WritingLedger(PrivacyLedger):
    """Writes down when it is debited."""

    order: ClassVar[list[str]] = []

    def debit(self, *arguments: Any, **named: Any) -> Any:
        WritingLedger.order.append("debit")
        return super().debit(*arguments, **named)


def deferred(target: ParametricLP) -> Database:
    """A database that writes down when it is read."""

    def read() -> np.ndarray:
        WritingLedger.order.append("read")
        return MARKS[:SIZE]

    return Database.deferred(read, target.envelope, identity="marked")


@pytest.fixture
def ledger(tmp_path) -> WritingLedger:
    WritingLedger.order = []
    made = WritingLedger(tmp_path / "ledger.sqlite")
    made.create("marked", PrivacyBudget(3, "1/100"), "one person")
    return made


@pytest.mark.parametrize("share", SHARES)
def test_the_whole_budget_is_debited_once_and_before_the_data_are_read(ledger, share):
    target = program()
    release = release_looks(
        deferred(target), BUDGET, program=target, plan=Plan(share), ledger=ledger
    )
    assert ledger.order[0] == "debit"
    assert ledger.order.count("debit") == 1
    assert "read" in ledger.order
    spent = ledger.spent("marked")
    assert (spent.epsilon, spent.delta) == (BUDGET.epsilon, BUDGET.delta)
    assert release.ledger is not None
    with pytest.raises(BudgetExceededError) as caught:
        release_looks(deferred(target), BUDGET, program=target, plan=Plan(share), ledger=ledger)
    assert not leaks_from_error(caught.value)
    assert ledger.order[-1] == "debit"


REFUSED = {
    "another program's database": {"program": program(records=np.zeros(SIZE, dtype=int))},
    "an unknown calibration": {"calibration": "loose"},
    "a generator that is none": {"rng": 7},
    "a guess of another size": {"guess": [0.5]},
    "a guess that is no number": {"guess": [np.nan] * SIZE},
    "a delta too small for exact noise": {"budget": PrivacyBudget(1, Fraction(1, 2**64))},
    "no epsilon to speak of": {"budget": PrivacyBudget(1000, "1/1000")},
}


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("name", REFUSED)
def test_what_can_be_refused_is_refused_before_the_debit(ledger, name, share):
    target = program()
    options = {"budget": BUDGET, "program": target, "plan": Plan(share), "ledger": ledger}
    with pytest.raises(InvalidArgumentError) as caught:
        release_looks(deferred(target), **(options | REFUSED[name]))
    assert ledger.order == []
    assert not leaks_from_error(caught.value)


def test_optimal_noise_for_large_records_is_refused_before_the_debit(ledger):
    target = program(records=np.arange(SIZE) // 2)
    options: dict[str, Any] = {"program": target, "plan": Plan("1/2"), "ledger": ledger}
    with pytest.raises(InvalidArgumentError, match="records"):
        release_looks(deferred(target), BUDGET, calibration="optimal", **options)
    assert ledger.order == []


def test_totals_beyond_what_noise_is_built_for_are_left_to_the_intervals(ledger):
    """Bounds 2^45 times the radius: entries can be perturbed, sums of them not."""
    envelope = Envelope(-(2.0**45), 2.0**45, radius=1.0, shape=2)
    target = ParametricLP(
        envelope, c=[1.0, 1.0], A=Affine((1, 2), at=([0, 0], [0, 1]), entry=[0, 1]), b=[3.0],
        upper=1.0,
    )  # fmt: skip
    database = Database([2.0, 3.0], envelope, identity="marked")
    options: dict[str, Any] = {"program": target, "plan": Plan("1/2"), "ledger": ledger}
    release = release_looks(database, BUDGET, **options)
    assert release.totals is None
    assert release.guarantee.epsilon == BUDGET.epsilon / 2
    assert all(claim.holds for claim in release_claims(release))


@pytest.mark.parametrize("share", [0, "0.35"])
def test_what_is_measured_depends_on_what_was_published_only(monkeypatch, share):
    """Two databases, one first release: the same totals, in the same units."""
    target, first = program(), released(1)
    monkeypatch.setattr(looks, "drawn_entries", lambda *_, **__: first)
    found = []
    for values in (MARKS[:SIZE], np.full(SIZE, 0.9)):
        database = Database(values, target.envelope)
        made = release_looks(database, BUDGET, program=target, plan=Plan(share)).totals
        assert made is not None
        found.append(made)
    for name in ("W", "step", "grid"):
        one, two = (getattr(made, name) for made in found)
        assert (one != two).sum() == 0
    assert found[0].support == found[1].support
    assert found[0].index.tolist() != found[1].index.tolist()


def test_totals_that_contradict_the_entries_are_not_read(tmp_path):
    """A total of the envelope's lowest database, entries that are certainly high."""
    target = program()
    database = Database(np.full(SIZE, 0.9), target.envelope)
    release = release_looks(database, PrivacyBudget(60, "1/1000"), program=target, plan=Plan("1/2"))
    totals = release.totals
    assert totals is not None
    lowest = Lattice(totals.grid, 1).index(target.envelope.lower)
    edited = totals_of(release, index=integer_totals(totals.counts, lowest))
    assert is_read(release, tmp_path / "release.npz")
    with pytest.raises(InvalidArgumentError, match="cannot come from one database"):
        Release.load(edited.save(tmp_path / "release.npz"))
