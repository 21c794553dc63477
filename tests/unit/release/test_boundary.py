"""Nothing that leaves the private side shows a private value.

Databases hold marked numbers; every public object and file is searched for them, as decimal text
and as raw bytes, through everything that can be reached from it.
"""

import copy
import functools
import json
import pickle
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dp_cmdp import (
    Database,
    Envelope,
    ParametricLP,
    Policy,
    PrivacyBudget,
    PrivacyLedger,
    Release,
    release_blocks,
    release_database,
    solve_private,
    suboptimality,
    violation,
)
from dp_cmdp.baselines import METHODS
from dp_cmdp.cmdp.parametric import ParametricCMDP
from dp_cmdp.cmdp.synthesis import synthesize
from dp_cmdp.data.affine import Affine
from dp_cmdp.data.curator import CuratorOnly, refuse_curator_values, write_public_json
from dp_cmdp.errors import PrivacyLeakError
from dp_cmdp.experiments import ad_headline
from dp_cmdp.experiments.records import RecordStore, export
from dp_cmdp.experiments.runner import run_sweep
from dp_cmdp.experiments.sweep import stream
from dp_cmdp.figures.ad_auction import ad_headline_figure, allocation_figure
from dp_cmdp.figures.style import save_figure
from dp_cmdp.problems.ad_auction import ad_auction_program, random_auction
from tests.marked import (
    MARKS,
    is_marked,
    leaks_from_file,
    leaks_from_object,
    leaks_from_pickle,
    marked_in_bytes,
    png_chunks,
)

THIRDS = {"A": "1/3", "b": "1/3", "c": "1/3"}
BUDGET = PrivacyBudget(1, "1/1000")


def program() -> ParametricLP:
    envelope = Envelope.join(
        {"a": Envelope(0.05, 1.0, radius=0.25, shape=6), "b": Envelope(0.05, 1.0, shape=2)}
    )
    a, b = envelope.index("a"), envelope.index("b")
    return ParametricLP(
        envelope,
        c=Affine(3, constant=np.ones(3), at=np.arange(3), entry=a[:3]),
        A=Affine((2, 3), at=(np.repeat([0, 1], 3), np.tile([0, 1, 2], 2)), entry=a),
        b=Affine(2, constant=np.ones(2), at=[0, 1], entry=b),
        upper=4.0,
    )


def marked_database(target: ParametricLP, **options) -> Database:
    return Database(MARKS[: target.envelope.num_entries], target.envelope, **options)


def cmdp_model() -> ParametricCMDP:
    envelope = Envelope(0.0, 1.0, radius=0.1, shape=4)
    T = np.zeros((3, 2, 3))
    T[:, 0] = [[0.9, 0.1, 0.0], [0.0, 0.9, 0.1], [0.1, 0.0, 0.9]]
    T[:, 1] = [[0.1, 0.9, 0.0], [0.0, 0.1, 0.9], [0.9, 0.0, 0.1]]
    r = np.array([[0.0, 1.0], [0.2, 2.0], [0.1, 0.0]])
    cost = Affine((1, 6), at=(np.zeros(4, int), [1, 2, 3, 5]), entry=np.arange(4))
    tolerance = Affine(1, constant=[6.0])
    return ParametricCMDP(
        envelope, T=T, r=r, mu=np.ones(3) / 3, gamma=0.9, cost=cost, tolerance=tolerance
    )


def releases() -> dict[str, Release]:
    target = program()
    database = marked_database(target)
    rng = np.random.default_rng(0)
    made = {
        f"database {kind} {'float' if source else 'exact'}": release_database(
            database, BUDGET, calibration=kind, rng=source
        )
        for kind in ("tight", "paper", "optimal")
        for source in (None, rng)
    }
    for kind in ("paper", "tight"):
        for source in (None, rng):
            made[f"blocks {kind} {'float' if source else 'exact'}"] = release_blocks(
                database, BUDGET, program=target, alphas=THIRDS, calibration=kind, rng=source
            )
    return made


def test_the_search_finds_values_that_are_really_there(tmp_path):
    secret = float(MARKS[3])
    array = np.array([0.0, secret])

    class Slotted:
        __slots__ = ("hidden",)

    slotted = Slotted()
    slotted.hidden = {"deep": [secret]}

    def closure():
        return array

    planted = [
        array[:1],  # through its base
        slotted,
        closure,
        functools.partial(print, secret),
        ValueError(f"bad {secret}"),
        {"a": ({secret},)},
        np.array([{"x": secret}], dtype=object),
        array.tobytes(),
        lambda x=array: x,
        [marked_database(program())],
    ]
    for thing in planted:
        assert leaks_from_object(thing), thing
    assert not leaks_from_object([0.5, "0.5", np.arange(9.0), slotted.__class__])
    assert leaks_from_pickle(array)
    np.savez_compressed(tmp_path / "a.npz", array=array)
    assert leaks_from_file(tmp_path / "a.npz")
    (tmp_path / "a.json").write_text(json.dumps([secret]))
    assert leaks_from_file(tmp_path / "a.json")
    assert all(is_marked(float(mark)) and is_marked(repr(float(mark))) for mark in MARKS)


@pytest.mark.parametrize("name", releases())
def test_no_release_reaches_a_private_value(name, tmp_path):
    release = releases()[name]
    assert leaks_from_object(release) == []
    assert not leaks_from_pickle(release)
    for text in (repr(release), str(release), json.dumps(release.facts())):
        assert not is_marked(text)
    assert not leaks_from_file(release.save(tmp_path / "release.npz"))
    assert leaks_from_object(release.to_frame().to_dict("list")) == []
    assert not is_marked(release.to_frame().to_csv())
    for method in (release.save, release.group, release.facts, release.to_frame):
        assert leaks_from_object(method) == []
    for group, _ in release.groups:
        assert leaks_from_object(release.group(group)) == []


@pytest.mark.parametrize("name", releases())
def test_no_solution_reaches_a_private_value(name):
    solution = solve_private(program(), releases()[name])
    assert leaks_from_object(solution) == []
    assert not leaks_from_pickle(solution)
    assert not is_marked(repr(solution))


@pytest.mark.parametrize(
    "name",
    [
        name
        for name, method in METHODS.items()
        # a joint model hands each player a function of that player's own data
        if set(method.private) == {"A", "b", "c"} and method.model == "differential privacy"
    ],
)
def test_no_answer_of_a_method_that_protects_everything_reaches_a_private_value(name):
    target = program()
    answer = METHODS[name].run(
        target, marked_database(target), BUDGET, rng=np.random.default_rng(0)
    )
    assert leaks_from_object(answer) == []
    assert not leaks_from_pickle(answer)


def test_no_policy_reaches_a_private_value(tmp_path):
    model = cmdp_model()
    database = Database(MARKS[:4], model.envelope)
    for rng in (None, np.random.default_rng(0)):
        release = release_database(database, BUDGET, rng=rng)
        safe = synthesize(model, release)
        assert leaks_from_object(safe) == []
        assert leaks_from_object(safe.policy.predict) == []
        assert not leaks_from_pickle(safe.policy)
        assert not is_marked(json.dumps(safe.facts()))
        safe.policy.save(tmp_path / "policy.npz")
        assert not leaks_from_file(tmp_path / "policy.npz")
        assert leaks_from_object(Policy.load(tmp_path / "policy.npz")) == []
        assert leaks_from_object(model) == []


def test_the_public_structure_never_learns_a_value():
    """Plans, caches and programs stay clean after they have been used with private data."""
    target = program()
    database = marked_database(target)
    for release in (
        release_database(database, BUDGET),
        release_blocks(database, BUDGET, program=target, alphas=THIRDS),
    ):
        solve_private(target, release)
    assert leaks_from_object(target) == []
    assert leaks_from_object(database.envelope) == []


def test_the_ledger_learns_no_value(tmp_path):
    ledger = PrivacyLedger(tmp_path / "ledger.sqlite")
    ledger.create("clinic", PrivacyBudget(2, "1/100"), "one person")
    database = marked_database(program(), identity="clinic")
    release = release_database(database, BUDGET, ledger=ledger)
    assert leaks_from_object([ledger, ledger.entries(), release]) == []
    assert not leaks_from_file(tmp_path / "ledger.sqlite")


def auction_marks(draws: int) -> list[float]:
    """True prices of the databases that a sweep with seed 0 draws."""
    target = ad_auction_program()
    found = [random_auction(target, stream(0, draw)).values[:50] for draw in range(draws)]
    return [float(value) for values in found for value in values if value > 0]


def test_records_and_their_files_hold_no_private_value(tmp_path):
    sweep = ad_headline.sweep(draws=2)
    frame = run_sweep(sweep, store=tmp_path / "records.sqlite", workers=1)
    export(frame, sweep, folder=tmp_path)
    with sqlite3.connect(tmp_path / "records.sqlite") as database:
        rows = " ".join(text for (text,) in database.execute("SELECT rows FROM chunks"))
    texts = [rows, *(path.read_text() for path in tmp_path.glob("ad-headline.*"))]
    assert len(texts) == 3
    raw = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    for value in auction_marks(2):
        assert not any(repr(value)[:10] in text for text in texts)
        assert np.float64(value).tobytes() not in raw


def test_figure_files_hold_nothing_but_pixels(tmp_path):
    x = solve_private(program(), releases()["database tight exact"]).x
    rows = [
        {
            "method": method,
            "alpha": None,
            "epsilon": epsilon,
            "suboptimality_percent": 5.0,
            "ci_low": 4.0,
            "ci_high": 6.0,
        }
        for method in ("benvenuti2025", "benvenuti2025-realised-mask", "database", "planned")
        for epsilon in (1.0, 2.0)
    ]
    figures = {
        "headline": ad_headline_figure(rows),
        "allocation": allocation_figure({"private": x[None, :]}, title="marked"),
    }
    for name, figure in figures.items():
        path = save_figure(figure, tmp_path / f"{name}.png")
        assert not leaks_from_file(path)
        texts = [c for kind, c in png_chunks(path.read_bytes()) if kind in (b"tEXt", b"iTXt")]
        assert texts == [b"Software\x00dp_cmdp"]
        kinds = {kind for kind, _ in png_chunks(path.read_bytes())}
        assert kinds <= {b"IHDR", b"pHYs", b"tEXt", b"IDAT", b"IEND"}


def test_a_database_cannot_be_pickled_copied_or_printed():
    database = marked_database(program())
    for act in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(PrivacyLeakError):
            act(database)
    for text in (repr(database), str(database), f"{database}", "%r" % (database,)):  # noqa: UP031
        assert not is_marked(text)


def test_curator_only_results_refuse_every_public_artefact(tmp_path):
    target = program()
    database = marked_database(target)
    x = solve_private(target, release_database(database, BUDGET)).x
    loss, broken = suboptimality(target, database, x=x), violation(target, database, x=x)
    contents: list[Any] = [
        {"loss": loss},
        {"deep": [{"er": (1, {"x": loss})}]},
        {"set": {loss}},
        {"table": np.array([loss], dtype=object)},
        {"worst": broken.worst},
        {"record": broken},
        {loss: "as a key"},
        {"curator_only": {}},
    ]
    for content in contents:
        with pytest.raises(PrivacyLeakError):
            write_public_json(tmp_path / "public.json", content)
        with pytest.raises(PrivacyLeakError):
            refuse_curator_values(content)
    assert not list(tmp_path.iterdir())
    store = RecordStore(tmp_path / "records.sqlite")
    chunk = ad_headline.sweep(draws=1).chunks()[0]
    with pytest.raises(PrivacyLeakError):
        store.add(chunk, [{"loss": loss}])
    assert store.done() == set()
    store.close()


def test_arithmetic_keeps_curator_results_marked():
    """Means and differences of marked numbers are marked; only float() takes the mark off."""
    loss = CuratorOnly(0.25)
    for result in (
        loss + 1,
        1 + loss,
        loss - 0.1,
        0.1 - loss,
        100 * loss,
        loss / 3,
        -loss,
        abs(loss),
        round(loss, 3),
        round(loss),
        loss**2,
        2**loss,
        loss // 0.1,
        loss % 0.1,
        *divmod(loss, 1),
        *divmod(1, loss),
        np.float64(2) * loss,
        loss * np.float64(2),
        np.int64(2) / loss,
        np.multiply(loss, 2.0),
        np.sqrt(loss),
        *(loss * np.ones(2)),
        *(np.ones(2) - loss),
    ):
        assert isinstance(result, CuratorOnly)
    assert np.multiply(loss, 2.0) == np.float64(2) * loss == 0.5
    assert type(float(loss)) is float


def test_arrays_computed_from_curator_results_refuse_public_files(tmp_path):
    with pytest.raises(PrivacyLeakError):
        write_public_json(tmp_path / "facts.json", {"losses": CuratorOnly(0.25) * np.ones((2, 2))})
    assert not list(tmp_path.iterdir())


def test_comparisons_with_curator_results_are_plain_answers():
    above = np.array([0.0, 1.0]) > CuratorOnly(0.25)
    assert above.dtype == bool
    assert above.tolist() == [False, True]


def test_the_documentation_names_tests_that_exist():
    text = Path(__file__).parents[3].joinpath("docs/promise.md").read_text()
    names = {word.strip("`|,.() ") for word in text.split() if word.startswith("`test_")}
    tests = "\n".join(p.read_text() for p in Path(__file__).parents[2].rglob("test_*.py"))
    assert names
    assert {name for name in names if f"def {name}(" not in tests} == set()


def test_raw_bytes_are_searched_in_both_byte_orders():
    assert marked_in_bytes(MARKS[5].tobytes())
    assert marked_in_bytes(MARKS[5].byteswap().tobytes())
    assert not marked_in_bytes(np.float64(0.5).tobytes())
