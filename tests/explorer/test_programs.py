"""Linear programs under design: the auction, and uploaded files."""

import pytest

import dp_cmdp as dp
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.explorer.files import PROGRAM_FILES, answer_file
from dp_cmdp.explorer.invented import answer_to
from dp_cmdp.explorer.program_design import AuctionDesign, FileDesign
from dp_cmdp.explorer.snippets import program_code

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
VALUES = "row,value\nHOURS,103.5\n"
FILES = FileDesign(model_name="model.mps", model=MODEL, spec=SPEC, table=VALUES)
DESIGNS = {"auction": AuctionDesign(groups=4, advertisers=3), "files": FILES}


@pytest.fixture(params=DESIGNS)
def case(request):
    design = DESIGNS[request.param]
    return design, answer_to(design)


def test_the_answer_is_certain_and_lies_between_robust_and_best(case):
    _, found = case
    assert found.private.certificate
    assert found.private.release.simulated
    private, robust, best = found.values
    assert robust - 1e-6 <= private <= best + 1e-6
    assert 0 <= found.loss <= found.robust_loss


def test_the_code_does_what_the_page_shows(case, tmp_path, monkeypatch):
    design, found = case
    monkeypatch.chdir(tmp_path)
    for name, text in (("model.mps", MODEL), ("spec.toml", SPEC), ("values.csv", VALUES)):
        (tmp_path / name).write_text(text)
    made = {}
    exec(program_code(design), made)  # what a user copies
    assert (made["found"].x == found.private.x).all()


def test_the_files_verify(case, tmp_path):
    design, found = case
    for name in PROGRAM_FILES:
        (tmp_path / name).write_bytes(answer_file(name, found.private))
    assert dp.Release.load(tmp_path / "release.npz").simulated
    report = dp.verify(tmp_path, problem=design.problem())
    wrong = [finding for finding in report.findings if finding.holds is False]
    assert [finding.claim for finding in wrong] == ["its noise is exact"]  # it is simulated


def test_an_address_brings_back_the_same_auction():
    design = AuctionDesign(groups=7, advertisers=2, radius=0.25, seed=5, strategy="auto")
    assert AuctionDesign.from_query(design.query()) == design


@pytest.mark.parametrize(
    ("parts", "named"),
    [
        ({"groups": "0"}, "groups"),
        ({"radius": "2"}, "radius"),
        ({"delta": "1"}, "delta"),
    ],
)
def test_an_address_that_cannot_be_used_is_refused_by_name(parts, named):
    with pytest.raises(InvalidArgumentError, match=named):
        AuctionDesign.from_query(parts)


@pytest.mark.parametrize(
    ("part", "name"), [("model", "model"), ("spec", "specification"), ("table", "values")]
)
def test_files_that_are_missing_or_wrong_are_refused(part, name):
    with pytest.raises(InvalidArgumentError, match=name):
        FILES.replace(**{part: ""}).check()
    with pytest.raises(InvalidArgumentError):
        FILES.replace(**{part: "nonsense"}).check()
