"""The frozen verifier and the package judge alike; what the writer writes is what was read."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.oracles import adapter
from tests.oracles.frozen.document import Document
from tests.oracles.frozen.noise import Certificate
from tests.oracles.frozen.release import Release, load
from tests.oracles.frozen.verifier import passed, verify
from tests.oracles.frozen.writer import (
    EntriesMeasured,
    Law,
    TotalsMeasured,
    grid_of,
    write_release,
)

FILES = Path(__file__).parent / "files"
GOOD = ("entries", "optimal", "records", "paper", "queries", "both", "severities")
ANSWERS = ("solution", "policy")
FORGED = [path.stem for path in FILES.glob("forged-*") if not any(a in path.stem for a in ANSWERS)]


@pytest.mark.parametrize("name", GOOD)
def test_what_the_package_released_is_proved(name: str) -> None:
    path = FILES / f"{name}.npz"
    assert [claim for claim in verify(path) if not claim.holds] == []
    assert adapter.verdict([path])["passed"]


@pytest.mark.parametrize("name", FORGED)
def test_what_was_forged_is_refused_by_both(name: str) -> None:
    path = FILES / f"{name}.npz"
    assert not passed(path)
    assert not adapter.verdict([path])["passed"]


def test_other_releases_are_not_proved_by_the_frozen_verifier() -> None:
    """Labels, Algorithm 1 and simulations are beyond it."""
    assert not any(passed(FILES / f"{name}.npz") for name in ("labels", "blocks", "simulated"))


@pytest.mark.parametrize("name", [name for name in GOOD if name != "paper"])
def test_what_is_written_again_is_the_same_file(name: str, tmp_path: Path) -> None:
    """`paper` noise is calibrated for another δ than it spends: the writer has no word for it."""
    was = load(FILES / f"{name}.npz")
    made = write_release(tmp_path / "again.npz", **measured(was))
    assert load(made).document().digest == was.document().digest
    assert passed(made)
    assert adapter.verdict([made])["passed"]


def measured(release: Release) -> dict[str, Any]:
    """The arguments of `write_release`, from what a release holds."""
    envelope, looks = release.envelope, {part.block: part for part in release.noise}
    found = {name: getattr(envelope, name) for name in ("lower", "upper", "radius", "records")}
    found |= {"groups": envelope.groups, "guess": release.draws, "version": release.version}
    found |= {"plan": release.plan, "ledger": release.ledger}
    if "database" in looks:
        proof = looks["database"].certificate
        place = release.draws / release.step - 0.5
        tops = [place + shift for shift in (proof.mean_shift, proof.width - proof.mean_shift)]
        off = [abs(top - np.rint(top)) for top in tops]
        high = off[0] <= off[1]  # the mean of a table is no integer
        top = np.rint(np.where(high, *tops))
        found["entries"] = EntriesMeasured(top, release.step, _law(proof), high)
    if release.totals is not None:
        counts, index = release.totals.counts, release.totals.index
        law = _law(looks["totals"].certificate)
        found["totals"] = TotalsMeasured(counts, index, release.totals.step, law)
    return found


def _law(proof: Certificate) -> Law:
    names = ("thresholds", "epsilon", "delta", "steps", "entries", "support", "cell")
    return Law(proof.law, *(getattr(proof, name) for name in names))


def test_measurements_of_a_kernel_are_judged(tmp_path: Path) -> None:
    """From integers and thresholds alone: a release of entries and queries, then forgeries of it.

    Records 0 and 1 have two entries each. Query 0 weighs entries 0 and 1 alike, query 1 entry 3.
    """
    entries, radius, step = 2, 2.0**-4, 2.0**-24
    proof = adapter.calibrated("truncated-laplace", "1", "1/1000", steps=2**20, entries="2")
    values = np.array([0.25, 0.5, 0.75, 0.5])
    grid = grid_of(0.0, 1.0, np.full(4, radius))
    assert (grid == step).all()
    cells = np.floor(values / step)
    look = EntriesMeasured(cells + proof.support + [5, -7, 0, 9], np.full(4, step), _law(proof))
    counts = np.array([[3.0, 3.0, 0.0, 0.0], [0.0, 0.0, 0.0, 4.0]])
    moved = 3 * 2 * 2**20  # record 0 moves query 0 with both of its entries
    law = _law(adapter.calibrated("truncated-laplace", "1", "1/1000", steps=moved, entries="1"))
    index = (counts @ cells).astype(np.int64) + np.array([11, -13])
    facts: dict[str, Any] = {"lower": 0.0, "upper": 1.0, "radius": np.full(4, radius)}
    facts |= {"records": [0, 0, 1, 1], "entries": look}
    facts["totals"] = TotalsMeasured(counts, index, np.full(2, 2.0**-20), law)

    def verdicts(**other: Any) -> tuple[bool, bool]:
        path = write_release(tmp_path / "made.npz", **{**facts, **other})
        return passed(path), adapter.verdict([path])["passed"]

    assert load(write_release(tmp_path / "made.npz", **facts)).epsilon == entries
    assert verdicts() == (True, True)
    assert verdicts(records=[0, 0, 0, 1]) == (False, False)
    assert verdicts(radius=np.full(4, 2 * radius)) == (False, False)
    low = EntriesMeasured(look.top - 2.0**40, look.step, look.law)
    assert verdicts(entries=low) == (False, False)
    weak = Law(law.name, law.thresholds, law.epsilon, Fraction(1, 2000), *_rest(law))
    assert verdicts(totals=TotalsMeasured(counts, index, np.full(2, 2.0**-20), weak)) == (
        False,
        False,
    )


def _rest(law: Law) -> tuple[Any, ...]:
    return law.steps, law.entries, law.support, law.cell


@pytest.mark.parametrize("every", [29, pytest.param(1, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", ["entries", "optimal", "records", "queries", "both"])
def test_every_edit_is_judged_alike(name: str, every: int, tmp_path: Path) -> None:
    """One fact or number changed, the digest made to fit: both refuse it, or both let it pass."""
    was = load(FILES / f"{name}.npz").document()
    path, refused = tmp_path / "edited.npz", 0
    for facts, arrays in islice(edits(was), None, None, every):
        Document(was.format, facts, arrays).write(path)
        ours = passed(path)
        assert ours == adapter.verdict([path])["passed"], [c.why for c in verify(path)]
        refused += not ours
    assert refused > 180 / every


def edits(was: Document) -> Iterator[tuple[Any, dict[str, np.ndarray]]]:
    text = json.dumps(was.facts)
    for place in leaves(was.facts):
        for other in (0, 1, -1, "1/2", "0", None, [], True):
            facts = inner = json.loads(text)
            for key in place[:-1]:
                inner = inner[key]
            if inner[place[-1]] != other:
                inner[place[-1]] = other
                yield facts, dict(was.arrays)
    for name, array in was.arrays.items():
        for place in {0, array.size - 1}:
            for change in (lambda a: np.nextafter(a, 9), lambda a: a + 1, lambda a: -2 * a - 1):
                changed = np.array(array)
                value = change(array.flat[place])
                changed.flat[place] = value
                if changed.flat[place] != array.flat[place]:
                    yield was.facts, {**was.arrays, name: changed}


def leaves(said: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Places of the facts; of the thresholds the first and the last."""
    if place and place[-1] == "thresholds":
        yield from ((*place, number) for number in (0, len(said) - 1))
    elif isinstance(said, dict):
        for key, value in said.items():
            yield from leaves(value, (*place, key))
    elif isinstance(said, list) and said:
        for number, value in enumerate(said):
            yield from leaves(value, (*place, number))
    else:
        yield place


def test_nothing_frozen_imports_the_package() -> None:
    for path in (FILES.parent / "frozen").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [part.name for part in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not [name for name in names if name.startswith("dp_cmdp")], path
