"""Files of linear programs: read as they stand, or refused by line without quoting a number."""

import gzip
from pathlib import Path

import numpy as np
import pytest

import dp_cmdp as dp
from dp_cmdp._src.frontends.lpfile.model import model_of, read_outline
from dp_cmdp.errors import InvalidArgumentError
from tests.frontends.lp_files import plain_optimum, planning, random_model, written

SHARED = Path(__file__).parents[3] / "shared" / "lp"


def read_lp(path, *, relax=False):
    return model_of(read_outline(Path(path), relax=relax), Path(path))


def public_program(path, *, relax=False):
    """The file's program at its own numbers, of which one cost is private."""
    model = read_lp(path, relax=relax)
    column = int(np.argmax(model.c != 0.0))
    cost = float(model.c[column])
    private = {"kind": "objective", "columns": [model.column_names[column]], "relative": True}
    block = {"private": [{**private, "lower": 0.5, "upper": 1.5}]}
    lp = dp.lpfile.load(path, block, relative_to_model=True, relax=relax)
    return lp.at([cost])


def test_rows_sides_sense_offset_and_bounds_are_those_of_the_file(tmp_path):
    model = read_lp(planning(tmp_path))
    assert model.name == "planning"
    assert model.maximize
    assert model.offset == 7.0
    assert model.row_names == ("HOURS", "WOOD", "ORDER", "BALANCE", "SPACE")
    assert model.column_names == ("CHAIR", "TABLE", "STOCK")
    assert model.lower.tolist() == [-np.inf, -np.inf, 5.0, 0.0, -5.0, -3.0, 0.0, 0.0]
    assert model.upper.tolist() == [100.0, 240.0, np.inf, 0.0, 45.0, np.inf, np.inf, 20.0]
    assert np.flatnonzero(model.equal).tolist() == [3]


@pytest.mark.parametrize("ending", ["mps", "lp", "mps.gz"])
@pytest.mark.parametrize("seed", range(6))
def test_a_file_has_the_optimum_that_highs_finds_for_it(tmp_path, seed, ending):
    path = written(random_model(seed), tmp_path / f"model.{ending.removesuffix('.gz')}")
    if ending.endswith(".gz"):
        zipped = tmp_path / f"model.{ending}"
        zipped.write_bytes(gzip.compress(path.read_bytes()))
        path = zipped
    found = dp.answer(public_program(path))
    assert found.value == pytest.approx(plain_optimum(path), rel=1e-7, abs=1e-7)


@pytest.mark.parametrize("name", ["adlittle", "25fv47", "80bau3b", "gesa2"])
def test_the_optimum_of_a_published_file_is_that_of_highs(name):
    path = SHARED / f"{name}.mps.gz"
    if not path.is_file():
        pytest.skip("the files of others are not at hand")
    found = dp.answer(public_program(path, relax=True))
    assert found.value == pytest.approx(plain_optimum(path), rel=1e-9)
    assert found.certificate.verified


def test_integer_columns_are_refused_by_name_unless_relaxed(tmp_path):
    text = planning(tmp_path).read_text()
    text = text.replace(" TABLE PROFIT", " M1 'MARKER' 'INTORG'\n TABLE PROFIT")
    text = text.replace(" STOCK BALANCE", " M2 'MARKER' 'INTEND'\n STOCK BALANCE")
    path = tmp_path / "integer.mps"
    path.write_text(text)
    with pytest.raises(InvalidArgumentError, match=r"integer columns \(TABLE\).*--relax"):
        read_lp(path)
    assert read_lp(path, relax=True).num_columns == 3


@pytest.mark.parametrize(
    ("name", "text", "rule"),
    [
        ("a.mps", "hello", "line 1: a section must begin at the line's start, one of NAME"),
        ("a.mps", "", "ends without ENDATA"),
        ("a.lp", "min\n obj: x + [x^2]/2\nst\n c: x >= 1\nend\n", "quadratic objective"),
        ("a.lp", "min\n obj: x\nst\n c: x >= 1,5\nend\n", "line 4: a number, name or sign is none"),
        (
            "a.lp",
            "min\n obj: x\nst\n c: x >= 1\nbounds\n x <= 4\nsemi-continuous\n x\nend\n",
            r"semi-continuous columns \(x\)",
        ),
        ("a.txt", "min", r"ends in \.mps, \.lp, \.mps\.gz, \.lp\.gz; got 'a\.txt'"),
    ],
)
def test_what_is_no_linear_program_is_refused_with_the_reason(tmp_path, name, text, rule):
    (tmp_path / name).write_text(text)
    with pytest.raises(InvalidArgumentError, match=rule):
        read_lp(tmp_path / name)


@pytest.mark.parametrize("number", ["7351,5", "7351x", "abc", "1.000.000", "nan", "0x10"])
@pytest.mark.parametrize("key", ["profit", "chair", "hours", "order", "room", "stock"])
def test_numbers_that_highs_would_misread_are_refused_by_line_and_not_quoted(tmp_path, key, number):
    with pytest.raises(InvalidArgumentError, match=r"planning\.mps, line \d+") as refusal:
        read_lp(planning(tmp_path, **{key: number}))
    assert number not in str(refusal.value)


#: What HiGHS 1.15 drops, changes or guesses without a word, in a file that is else in order.
WORKSHOP = """Maximize
 obj: 3 x + 2 y - z
Subject To
 cap: 2 x + 1.7 y <= 20
 low: x + z >= -3
Bounds
 0 <= x <= 8
 -5 <= z <= -1
 -2 <= y <= 30
End
"""


@pytest.mark.parametrize(
    ("line", "old", "new"),
    [
        (2, "Maximize", "Minimize\nMaximize"),
        (2, "3 x", "3 x + 73.51 x"),
        (2, "3 x", "3 x 73.51"),
        (4, "1.7 y", "1.7 y + 73.51"),
        (4, "1.7 y", "1 73.51 y"),
        (4, "1.7 y", "1.73.51 y"),
        (4, "1.7 y", "1.7e y"),
        (4, "1.7 y", "1.7 y + 73.51 x"),
        (4, "<= 20", "<= 20 <= 73.51"),
        (4, "<= 20", "<= 73.51 y"),
        (4, "cap: 2 x + 1.7 y <= 20", "20 >= 2 x"),
        (5, "low:", "cap:"),
        (10, "End\n", "Bounds\n x <= 3\nEnd\n"),
        (11, "End\n", "End\n c: x <= 73.51\n"),
    ],
)
def test_lp_files_in_which_highs_would_guess_are_refused_by_line(tmp_path, line, old, new):
    (tmp_path / "a.lp").write_text(WORKSHOP.replace(old, new))
    with pytest.raises(InvalidArgumentError, match=rf"a\.lp, line {line}: ") as refusal:
        read_lp(tmp_path / "a.lp")
    assert "73" not in str(refusal.value)


@pytest.mark.parametrize(
    ("line", "old", "new"),
    [
        (7, " L WOOD", " L WO OD"),
        (13, " HOURS 2", " HOURS 2 WOOD 73.51"),
        (14, " CHAIR WOOD 4", " CHAIR HOURS 73.51\n CHAIR WOOD 4"),
        (14, "WOOD 4", "WOD 4"),
        (21, "HOURS 100 WOOD 240", "HOURS 17 123"),
        (22, " RHS ORDER", " RHS2 ORDER"),
        (22, " RHS ORDER", " RHS HOURS 73.51\n RHS ORDER"),
        (25, " RNG SPACE 50", " RNG PROFIT 50"),
        (27, " UP BND STOCK 20", " UP BND STOKC 73.51"),
        (28, " LO BND CHAIR", " LO BND2 CHAIR"),
        (28, "ENDATA\n", ""),
        (29, "ENDATA\n", "LAZYCONS\n L LAZY\nENDATA\n"),
    ],
)
def test_mps_files_in_which_highs_would_guess_are_refused_by_line(tmp_path, line, old, new):
    text = planning(tmp_path).read_text()
    assert old in text
    (tmp_path / "a.mps").write_text(text.replace(old, new))
    with pytest.raises(InvalidArgumentError, match=rf"a\.mps, line {line}: ") as refusal:
        read_lp(tmp_path / "a.mps")
    assert "73" not in str(refusal.value)


def test_rows_over_several_lines_unnamed_and_empty_rows_are_read(tmp_path):
    text = WORKSHOP.replace(
        "cap: 2 x + 1.7 y <= 20", "\\ so much\n 2 x\n + 1.7 y\n <= 20\n no: <= 4"
    )
    (tmp_path / "a.lp").write_text(text)
    model = read_lp(tmp_path / "a.lp")
    assert model.A.toarray().tolist() == [[2.0, 1.7, 0.0], [0.0, 0.0, 0.0], [1.0, 0.0, 1.0]]
    assert model.upper[: model.num_rows].tolist() == [20, 4, np.inf]
