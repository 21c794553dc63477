"""Linear programs under design: the auction, and uploaded files."""

import pytest

from dp_cmdp.errors import AssumptionError, InvalidArgumentError
from dp_cmdp.explorer.curve import curve_point, limit_percent
from dp_cmdp.explorer.files import PROGRAM_FILES, program_file
from dp_cmdp.explorer.program_design import (
    AuctionDesign,
    FileDesign,
    InventedProgram,
    answer_program,
)
from dp_cmdp.explorer.snippets import program_code
from dp_cmdp.verification.files import verify

MODEL = """NAME WORKSHOP
OBJSENSE
    MAX
ROWS
 N PROFIT
 L HOURS
COLUMNS
 CHAIR PROFIT 20 HOURS 2
 TABLE PROFIT 50 HOURS 3
RHS
 RHS HOURS 100
ENDATA
"""
SPEC = """[[private]]
kind = "rhs"
name = "capacity"
rows = ["HOURS"]
lower = 80
upper = 120
radius = 1
"""
VALUES = "group,row,column,value\ncapacity,HOURS,,103.5\n"
FILES = FileDesign(model_name="model.mps", model=MODEL, spec=SPEC, values=VALUES)
DESIGNS = {"auction": AuctionDesign(groups=4, advertisers=3), "files": FILES}


@pytest.fixture(params=DESIGNS)
def case(request):
    design = DESIGNS[request.param]
    return design, answer_program(design)


def test_the_answer_is_feasible_and_privacy_costs_no_less_than_nothing(case):
    _, found = case
    proof = found.private.solution.certificate
    assert proof is not None
    assert proof.worst_slack >= 0
    assert found.loss_percent is not None
    assert found.robust_percent is not None
    assert found.loss_percent >= 0
    assert found.values[2] >= found.values[0]


def test_the_code_does_what_the_page_shows(case, tmp_path, monkeypatch):
    design, found = case
    monkeypatch.chdir(tmp_path)
    for name, text in (("model.mps", MODEL), ("spec.toml", SPEC), ("values.csv", VALUES)):
        (tmp_path / name).write_text(text)
    made = {}
    exec(program_code(design), made)  # what a user copies
    assert (made["answer"].solution.x == found.private.solution.x).all()


def test_the_files_verify(case, tmp_path):
    design, found = case
    for name in PROGRAM_FILES:
        content = program_file(name, design.program(), found.private)
        (tmp_path / name).write_bytes(content)
    assert verify(*(tmp_path / name for name in PROGRAM_FILES[:3])) is not None


def test_the_curve_of_a_program(case):
    design, _ = case
    invented = InventedProgram(design)
    point = curve_point(invented, "8", None)
    assert 0 <= point.low <= point.loss <= point.high
    assert point.loss <= invented.robust_loss()
    limit = limit_percent(invented, "8")
    assert limit is None or limit <= point.high


def test_an_address_brings_back_the_same_auction():
    design = AuctionDesign(groups=7, advertisers=2, radius=0.25, seed=5, epsilon="1", plan="auto")
    assert AuctionDesign.from_query(design.query()) == design


@pytest.mark.parametrize(
    ("parts", "named"),
    [
        ({"groups": "0"}, "groups"),
        ({"groups": "x"}, "groups"),
        ({"advertisers": "21"}, "advertisers"),
        ({"radius": "2"}, "radius"),
        ({"seed": "-1"}, "seed"),
        ({"delta": "1"}, "delta"),
    ],
)
def test_an_address_that_cannot_be_used_is_refused_by_name(parts, named):
    with pytest.raises(InvalidArgumentError, match=named):
        AuctionDesign.from_query(parts)


@pytest.mark.parametrize("part", ["model", "spec", "values"])
def test_files_that_are_missing_or_wrong_are_refused(part):
    with pytest.raises(InvalidArgumentError, match=part):
        FILES.replace(**{part: ""}).check()
    with pytest.raises(InvalidArgumentError):
        FILES.replace(**{part: "nonsense"}).check()


def test_an_infeasible_program_is_refused_in_the_words_of_its_file():
    order = MODEL.replace(" L HOURS\n", " L HOURS\n G ORDER\n")
    order = order.replace("CHAIR PROFIT 20 HOURS 2", "CHAIR PROFIT 20 HOURS 2\n CHAIR ORDER 1")
    order = order.replace(" RHS HOURS 100", " RHS HOURS 100 ORDER 60")
    with pytest.raises(AssumptionError, match="HOURS"):
        answer_program(FILES.replace(model=order))
