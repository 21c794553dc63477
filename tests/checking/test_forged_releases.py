"""Release files: honest ones are proved, every edit of one number is refused or not provable."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dp_cmdp._src.accounting.budget import PrivacyBudget
from dp_cmdp._src.base.documents import write_document
from dp_cmdp._src.checking.verify import verify
from dp_cmdp._src.data.affine import Affine
from dp_cmdp._src.data.database import Database
from dp_cmdp._src.data.envelope import Envelope
from dp_cmdp._src.noise.laws import Laplace
from dp_cmdp._src.program.parametric import ParametricLP
from dp_cmdp._src.release.measurement import Measurement, Query, Simulated, System
from dp_cmdp._src.release.publish import publish
from dp_cmdp._src.release.release import Release
from dp_cmdp._src.release.strategy import Strategy
from tests.checking.made import (
    BUDGET,
    SIZE,
    array,
    changed,
    content,
    edits,
    envelope,
    forged,
    leaves,
    program,
    release,
)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return release().save(tmp_path_factory.mktemp("release") / "release.npz")


@pytest.fixture(scope="module")
def said(path: Path) -> dict[str, Any]:
    return content(path)


@pytest.mark.parametrize("strategy", ["entries", "queries", "worst row"])
def test_what_is_shipped_is_proved(strategy: str, tmp_path: Path) -> None:
    made = release(strategy).save(tmp_path / "release.npz")
    assert verify(made, problem=program()), verify(made, problem=program())
    assert verify(made, problem=program().envelope)
    assert verify(made)


def test_entries_queries_and_a_worst_row_of_overlapping_people_are_proved(path: Path) -> None:
    report = verify(path, problem=program())
    assert report, report
    assert len([f for f in report if "-private for every record" in f.claim]) == 3
    assert verify(release(), problem=program())


#: Leaves that state nothing which a file could prove: words, and where it was entered.
WORDS = {"name", "strategy", "ledger"}
#: Integers, weights and centres are what was measured: only impossible ones can be told.
MEASURED = {"integers", "weight", "weight_row", "weight_entry", "centres"}


def is_seen(path: Path, said: Any) -> bool:
    try:
        return not verify(forged(path, said), problem=program())
    except TypeError:
        return True  # cannot even be written


def test_every_edit_of_one_fact_is_refused(path: Path, said: dict[str, Any]) -> None:
    tried = 0
    for place, leaf in leaves(said):
        if WORDS & set(place) or MEASURED & set(place) or (place[-1] == "simulated"):
            continue
        for value in edits(leaf):
            tried += 1
            if place[-1] == "epsilon" and value == f"{leaf}1":
                continue  # a larger ε than is needed is true
            assert is_seen(path, changed(said, place, value)), (place, value)
    assert tried > 150


def test_every_part_that_is_left_out_is_refused(path: Path, said: dict[str, Any]) -> None:
    parts = [((), said), (("envelope",), said["envelope"]), (("outcomes", 0), said["outcomes"][0])]
    for place, part in parts:
        for name in part:
            made = deepcopy(said)
            target = made
            for key in place:
                target = target[key]
            del target[name]
            assert is_seen(path, made), (place, name)
        made = deepcopy(said)
        target = made
        for key in place:
            target = target[key]
        target["more"] = 1
        assert is_seen(path, made), place


def test_a_strategy_must_leave_every_measurement_its_share(
    path: Path, said: dict[str, Any]
) -> None:
    steps = said["strategy"]["steps"]
    assert len(steps) == len(said["outcomes"]) == 3
    for place in range(3):
        for name in ("epsilon", "delta"):
            for share in ("1/1000", "99/100"):  # too little for it; more than all
                where = ("strategy", "steps", place, name)
                assert is_seen(path, changed(said, where, share)), (where, share)
        assert is_seen(
            path, changed(said, ("strategy", "steps"), steps[:place] + steps[place + 1 :])
        )
    assert is_seen(path, changed(said, ("strategy", "steps"), steps[::-1]))
    assert is_seen(path, changed(said, ("strategy", "epsilon"), "1/2"))
    assert not is_seen(path, changed(said, ("strategy", "steps"), [*steps, steps[0] | {
        "epsilon": "0", "delta": "0"}]))  # fmt: skip


def test_integers_that_no_database_gives_are_refused(path: Path, said: dict[str, Any]) -> None:
    for number, outcome in enumerate(said["outcomes"]):
        for place, text in enumerate(outcome["integers"]):
            for far in (10**12, -(10**12)):
                made = deepcopy(said)
                made["outcomes"][number]["integers"][place] = str(int(text) + far)
                assert is_seen(path, made), (number, place, far)
            made = deepcopy(said)
            made["outcomes"][number]["integers"][place] = f"0{text}"
            assert is_seen(path, made)


def test_the_ends_of_what_noise_and_bounds_allow_are_exact(tmp_path: Path) -> None:
    bounds = Envelope(0, 1, radius=0.25, shape=1)
    law: Any = Measurement(Query(bounds, array([[-3]])), Laplace, BUDGET).law
    measurement = Measurement(Query(bounds, array([[-3]])), law, BUDGET, "one")
    outcome = measurement.draw(np.array([0.3]), System())
    top = int(1 / bounds.step[0])
    path = Release(bounds, (outcome,)).save(tmp_path / "release.npz")
    said = content(path)
    for integer, possible in (
        (law.high, True),
        (law.high + 1, False),
        (-3 * top - law.high, True),
        (-3 * top - law.high - 1, False),
    ):
        said["outcomes"][0]["integers"] = [str(integer)]
        assert bool(verify(forged(path, said))) is possible, integer


def test_larger_weights_need_more_noise(path: Path, said: dict[str, Any]) -> None:
    """Twice the weight of whatever the worst record moves most; and dropped weights are seen."""
    for number, outcome in enumerate(said["outcomes"]):
        made = deepcopy(said)
        made["outcomes"][number]["weight"] = outcome["weight"] * 2
        assert is_seen(path, made)
        made = deepcopy(said)
        made["outcomes"][number]["weight"] = outcome["weight"].astype(float)
        assert is_seen(path, made)
        for name, value in (("rows", 99), ("weight_row", 2), ("weight_entry", SIZE)):
            made = deepcopy(said)
            if name == "rows":
                made["outcomes"][number][name] = value
            else:
                made["outcomes"][number][name][-1] += value
            assert is_seen(path, made), (number, name)


def test_outcomes_that_contradict_each_other_are_refused(path: Path, said: dict[str, Any]) -> None:
    """Two copies of the queries, far apart: each possible alone, together by an exact proof."""
    made = deepcopy(said)
    queries = deepcopy(made["outcomes"][1])
    theta, rows = program().envelope, np.array([[3, 2, 1, 4, 0, 1], [0, 1, 0, 1, -2, 5]])
    far = int(queries["law"]["support"], 16)
    for side, noise in ((theta.lower, -far), (theta.upper, far)):
        copy = deepcopy(queries)
        first, second = (int(row @ theta._cells(side)) for row in rows)
        copy["integers"] = [str(first + noise), str(second)]
        made["outcomes"].append(copy)
    report = verify(forged(path, made))
    assert not report
    assert "contradict" in repr(report)
    for outcome in made["outcomes"][3:]:
        assert verify(forged(path, said | {"outcomes": [outcome]}))


def adjacency_edits(said: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Tables of changes that would protect fewer people."""
    table = said["envelope"]
    record, entry, far = (table[name] for name in ("change_record", "change_entry", "change"))

    def with_rows(keep: Any, **more: Any) -> dict[str, Any]:
        kept = {"change_record": record[keep], "change_entry": entry[keep], "change": far[keep]}
        return {**table, **kept, **more}

    return {
        "a person left out": with_rows(record != 0),
        "an entry that nobody changes": with_rows(entry != 4),
        "one entry of one person left out": with_rows(np.arange(far.size) != 1),
        "one entry at once": {**table, "entries_per_record": 1},
        "negated": {**table, "change": np.where(np.arange(far.size) == 0, -far, far)},
        "halved": {**table, "change": far / 2},
        "nothing": {**table, "change": far * 0},
        "twice": with_rows(np.append(np.arange(far.size), 0)),
        "everybody alone": {**table, "change_record": np.arange(far.size), "records": far.size},
    }


@pytest.mark.parametrize(
    "edit",
    [
        *("a person left out", "an entry that nobody changes", "one entry at once", "negated"),
        *("halved", "nothing", "twice", "everybody alone", "one entry of one person left out"),
    ],
)
def test_a_file_with_a_weaker_adjacency_is_refused_by_who_knows_it(
    edit: str, path: Path, said: dict[str, Any]
) -> None:
    made = forged(path, said | {"envelope": adjacency_edits(said)[edit]})
    assert not verify(made, problem=program())
    alone = verify(made)
    if edit in ("an entry that nobody changes", "negated", "nothing", "twice", "a person left out"):
        assert not alone  # impossible whatever the adjacency
    assert "not compared with yours" in repr(alone).splitlines()[0]


@pytest.mark.parametrize("strategy", ["entries", "queries"])
@pytest.mark.parametrize("apart", [True, False])
def test_noise_for_single_entries_does_not_protect_records_of_two(
    tmp_path: Path, strategy: str, apart: bool
) -> None:
    """Whether a record meets one sum with both of its entries, or two sums with one each."""
    own, half = np.arange(12), 6
    theta = Envelope(np.full(12, 0.05), np.ones(12), radius=0.25)
    rows = np.kron(np.eye(2), np.ones(half))
    A = Affine.sparse(theta[own], (own // half, own), rows.shape)
    lp = ParametricLP(np.ones(12), A=A, b=[1.0, 1.0], upper=1.0)
    budget, values = PrivacyBudget(2, "1/1000"), Database._of(np.full(12, 0.5), theta)
    made = publish(lp, values, budget, Strategy.named(strategy), System())
    for records, proved in ((own, True), (own % half if apart else own // 2, False)):
        claimed = Envelope(theta.lower, theta.upper, radius=theta.radius, records=records)
        said = made.document() | {"envelope": claimed.document()}
        assert bool(verify(write_document(tmp_path / "release.npz", "release", said))) is proved


def test_noise_for_half_of_what_a_record_moves_is_seen_by_the_checkers_own_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever counted wrong when the noise was made: the checker does not share the count."""
    honest = Query.sensitivity

    def halved(self: Query) -> Any:
        found = honest(self)
        parts = (found.l1, found.l2_squared, found.largest, found.count)
        return type(found)(*(-(-part // 2) for part in parts))

    theta = envelope()
    weights = array([[1] * SIZE, [2] * SIZE])
    for count, proved in ((honest, True), (halved, False)):
        monkeypatch.setattr(Query, "sensitivity", count)
        measurement = Measurement(Query(theta, weights), Laplace, BUDGET)
        outcome = measurement.draw(np.full(SIZE, 0.5), System())
        made = Release(theta, (outcome,)).save(tmp_path / "release.npz")
        assert bool(verify(made, problem=theta)) is proved


def test_a_simulated_release_says_so_and_is_not_proved(tmp_path: Path) -> None:
    theta = program().envelope
    source = Simulated(np.random.default_rng(0))
    made = publish(
        program(), Database._of([0.4] * SIZE, theta), BUDGET, Strategy.entries(), source
    ).save(tmp_path / "release.npz")
    report = verify(made, problem=program())
    assert not report
    assert "SIMULATED" in repr(report)
    assert "not private" in repr(report)


class Uniform:
    """A law of the user's own: uniform on −n … n, private for δ = largest/(2n + 1)·count."""

    def __init__(self, n: int) -> None:
        self.low, self.high, self.n = -n, n, n

    def delta(self, sensitivity: Any, epsilon: Any) -> Any:
        from fractions import Fraction

        return Fraction(sensitivity.l1, 2 * self.n + 1)

    def sample(self, size: int, source: Any) -> list[int]:
        return [0] * size

    def document(self) -> dict[str, Any]:
        return {"law": "uniform", "n": str(self.n)}

    @classmethod
    def from_document(cls, said: dict[str, Any]) -> Uniform | None:
        return cls(int(said["n"])) if said["law"] == "uniform" else None


@pytest.mark.parametrize(("n", "private"), [(10**11, True), (10**9, False)])
def test_a_law_of_ones_own_is_proved_only_where_it_is_trusted(
    n: int, private: bool, path: Path, said: dict[str, Any]
) -> None:
    outcome = deepcopy(said["outcomes"][1])
    outcome["law"], outcome["integers"] = Uniform(n).document(), ["0", "0"]
    made = forged(path, said | {"outcomes": [outcome]})
    report = verify(made, problem=program())
    assert not report
    assert "not proved" in repr(report)
    assert "FAILED" not in repr(report)
    for trusted in (Uniform, Uniform(n)):
        assert bool(verify(made, problem=program(), trusted_laws=[trusted])) is private
    assert not verify(made, trusted_laws=[Uniform(n + 1), Uniform(1)])


def test_a_release_of_nothing_states_nothing(tmp_path: Path) -> None:
    made = Release(envelope()).save(tmp_path / "release.npz")
    assert verify(made, problem=envelope())


def test_algorithm_1_is_a_release_of_the_problem_of_its_coefficients(tmp_path: Path) -> None:
    coefficients, M, m = program().entrywise()
    values = M @ np.full(SIZE, 0.4) + m
    values = np.clip(values, coefficients.envelope.lower, coefficients.envelope.upper)
    database = Database._of(values, coefficients.envelope)
    made = publish(coefficients, database, BUDGET, Strategy.entries(law="laplace"), System())
    path = made.save(tmp_path / "release.npz")
    assert verify(path, problem=coefficients)
    assert not verify(path, problem=program())  # another database than that of the program


def test_a_measured_entry_that_nobody_changes_is_refused(tmp_path: Path) -> None:
    """Its lattice step would be the same without its owner: the count alone cannot tell."""
    theta = Envelope(0, 4, shape=2, radius=1.0)
    problem = ParametricLP([1.0], A=[[theta[0]]], b=[theta[1]])
    database, budget = Database([1, 2], theta), PrivacyBudget(1, "1/1000")
    release = publish(problem, database, budget, Strategy.entries(), System())
    said = release.document()
    table = said["envelope"]
    kept = table["change_entry"] != 1
    for name in ("change_record", "change_entry", "change"):
        table[name] = table[name][kept]
    path = write_document(tmp_path / "release.npz", "release", said)
    assert verify(release.save(tmp_path / "honest.npz"))
    report = verify(path)
    assert not report
    assert "noise protects nobody" in " ".join(str(report).split())
