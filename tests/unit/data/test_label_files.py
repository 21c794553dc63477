"""Files with labels: written bit for bit, refused when edited; files without are as they were."""

import json
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dp_cmdp import (
    Affine,
    Database,
    Envelope,
    ParametricCMDP,
    ParametricLP,
    PrivacyBudget,
    Release,
    Solution,
    release_database,
    solve_private,
    verify,
)
from dp_cmdp._documents import Document, format_of, read_document
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.program.solution_file import SolutionFile

#: Written by the library before there were labels.
BEFORE = Path(__file__).parent / "before_labels"
FORMATS = {
    "envelope": "dp_cmdp.Envelope/1",
    "release": "dp_cmdp.Release/4",
    "program": "dp_cmdp.ParametricLP/2",
    "solution": "dp_cmdp.Solution/3",
    "model": "dp_cmdp.ParametricCMDP/2",
}
READ: dict[str, Callable[[Any], Any]] = {
    "envelope": Envelope.load,
    "release": Release.load,
    "program": ParametricLP.load,
    "solution": SolutionFile.load,
    "model": ParametricCMDP.load,
}
KINDS = list(READ)
DAY = "2024-01-01T00:00:00"
#: What no label, and no name of a level, is written as.
WRONG: list[Any] = [
    None, [], {}, [["x"]], {"time": "now"}, {"time": "never"}, {"time": 0}, {"date": 1},
    {"date": ""},
    {"span": "1 day"}, {"span": "P1D"}, {"zone": "UTC"}, {"time": DAY, "date": "2024-01-01"},
    {"time": DAY, "zone": "Europe"}, {"time": DAY, "zone": "dateutil//dev/zero"},
    {"time": DAY, "zone": "../etc/localtime"}, {"time": DAY, "zone": 1}, {"other": "x"},
    {"time": "9999-99-99T00:00:00"}, {"span": "P999999999DT0H0M0S"}, 2**64, 10**400,
]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """One file of each kind, with labels."""
    made = tmp_path_factory.mktemp("labelled")
    need = Envelope.from_frame(
        pd.DataFrame({"upper": [2.0, 2.0]}, index=pd.Index(["chair", "table"], name="thing")),
        lower=0.5,
        radius=0.1,
    )
    hours = Envelope([8.0], [12.0], radius=0.5, labels=[pd.Timestamp("2024-01-01", tz="UTC")])
    envelope = Envelope.join({"need": need, "hours": hours})
    program = ParametricLP(
        envelope,
        c=[3.0, 2.0],
        A=Affine((1, 2), at=([0, 0], [0, 1]), entry=[0, 1]),
        b=Affine(1, at=[0], entry=[2]),
        variables={"made": ["chair", "table"]},
    )
    release = release_database(Database([1.0, 1.25, 10.0], envelope), PrivacyBudget(2, "1/1000"))
    T = np.array([[[1.0, 0.0], [0.5, 0.5]], [[0.0, 1.0], [0.0, 1.0]]])
    model = ParametricCMDP(
        Envelope([0.0, 1.0], [1.0, 2.0], radius=0.25, labels=["severity", "tolerance"]),
        T=T,
        r=np.array([[1.0, 0.0], [0.0, 2.0]]),
        mu=[0.5, 0.5],
        gamma=0.5,
        cost=Affine((1, 4), at=([0, 0], [0, 1]), entry=[0, 0]),
        tolerance=Affine(1, at=[0], entry=[1]),
    )
    for name, thing in (
        ("envelope", envelope),
        ("release", release),
        ("program", program),
        ("model", model),
    ):
        thing.save(made / f"{name}.npz")
    solution = solve_private(program, release)
    solution.save(made / "solution.npz", release=release, program=program)
    return made


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_read_is_written_again_bit_for_bit(kind, folder, tmp_path):
    read = READ[kind](folder / f"{kind}.npz")
    again = read.document().write(tmp_path / "again.npz")
    assert again.read_bytes() == (folder / f"{kind}.npz").read_bytes()
    assert format_of(again) == FORMATS[kind]


def test_labels_are_read_back(folder):
    release, program = (
        Release.load(folder / "release.npz"),
        ParametricLP.load(folder / "program.npz"),
    )
    assert release.envelope == program.envelope == Envelope.load(folder / "envelope.npz")
    assert release.to_frame().index[0] == ("need", "chair")
    assert program.variables.names == ("made",)
    assert Solution.load(folder / "solution.npz").to_frame().index.tolist() == ["chair", "table"]
    model = ParametricCMDP.load(folder / "model.npz")
    assert model.envelope.to_frame().index.tolist() == ["severity", "tolerance"]


def test_files_with_labels_are_verified_like_others(folder):
    report = verify(*(folder / f"{name}.npz" for name in ("release", "program", "solution")))
    assert report.passed
    assert any("exact" in found.claim or found.holds for found in report.findings)


def paths(content: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where every label and every name of a level stands in the facts."""
    if isinstance(content, dict | list):
        items = content.items() if isinstance(content, dict) else enumerate(content)
        return [found for key, part in items for found in paths(part, (*at, key))]
    return [at] if {"labels", "variables"} & set(at) else []


def edited(facts: Any, at: tuple[Any, ...], value: Any) -> Any:
    copy = json.loads(json.dumps(facts))
    part = copy
    for key in at[:-1]:
        part = part[key]
    part[at[-1]] = value
    return copy


def source(kind: str, folder: Path) -> Document:
    """The content of a file, whatever arrays it has."""
    path = folder / f"{kind}.npz"
    with zipfile.ZipFile(path) as archive:
        names = {info.filename.removesuffix(".npy") for info in archive.infolist()}
    return read_document(path, FORMATS[kind], arrays=names - {"format", "facts", "digest"})


@pytest.mark.parametrize("kind", KINDS)
def test_labels_that_are_no_labels_are_refused(kind, folder, tmp_path):
    """Each edited file has a fitting digest: only what it says can give it away."""
    said = source(kind, folder)
    places = paths(said.facts)
    assert places
    for at in places:
        for wrong in WRONG:
            facts = edited(said.facts, at, wrong)
            path = Document(said.format, facts, said.arrays).write(tmp_path / "edited.npz")
            with pytest.raises(InvalidArgumentError, match="damaged or edited"):
                READ[kind](path)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "envelope"])
def test_a_format_that_does_not_fit_the_labels_is_refused(kind, folder, tmp_path):
    said = source(kind, folder)
    name, version = said.format.split("/")
    older = Document(f"{name}/{int(version) - 1}", said.facts, said.arrays)
    with pytest.raises(InvalidArgumentError, match="damaged or edited"):
        READ[kind](older.write(tmp_path / "older.npz"))


def test_two_labels_alike_or_too_few_are_refused(folder, tmp_path):
    said = source("program", folder)
    for at, labels in (
        (("variables", 0, "labels"), ["chair", "chair"]),
        (("variables", 0, "labels"), ["chair"]),
        (("variables", 0, "names"), ["a", "b"]),
        (("envelope", "labels"), []),
        (("envelope", "labels", 0, 0, "labels"), ["a", "b", "c"]),
    ):
        path = Document(said.format, edited(said.facts, at, labels), said.arrays).write(
            tmp_path / "edited.npz"
        )
        with pytest.raises(InvalidArgumentError, match="damaged or edited"):
            ParametricLP.load(path)


@pytest.mark.parametrize("kind", KINDS)
def test_one_byte_changed_is_refused(kind, folder, tmp_path):
    raw = (folder / f"{kind}.npz").read_bytes()
    with zipfile.ZipFile(folder / f"{kind}.npz") as archive:
        infos = archive.infolist()
    for info in infos:
        changed = bytearray(raw)
        changed[info.header_offset + 60 + len(info.filename)] ^= 1
        path = tmp_path / "changed.npz"
        path.write_bytes(bytes(changed))
        with pytest.raises(InvalidArgumentError):
            READ[kind](path)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "envelope"])
def test_files_from_before_labels_are_read_and_written_as_they_were(kind, tmp_path):
    path = BEFORE / f"{kind}.npz"
    read = READ[kind](path)
    with zipfile.ZipFile(path) as archive, archive.open("digest.npy") as stream:
        digest = np.lib.format.read_array(stream).tobytes().decode()
    assert read.document().digest == digest
    assert read.document().format == format_of(path)
    assert int(read.document().format.split("/")[1]) == int(FORMATS[kind].split("/")[1]) - 1


def test_answers_from_before_labels_still_prove_what_they_claim(tmp_path):
    for name in ("release", "program", "solution"):
        shutil.copy(BEFORE / f"{name}.npz", tmp_path)
    assert verify(*sorted(tmp_path.iterdir())).passed
