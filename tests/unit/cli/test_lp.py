"""``dp-cmdp lp``: files in, certified public files out, and nothing said of private numbers."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from dp_cmdp import ParametricLP, PrivacyBudget, Release, Solution
from dp_cmdp.accounting.ledger import PrivacyLedger
from dp_cmdp.cli import main
from dp_cmdp.cli.lp import FILES
from tests.lp_files import planning

HOURS = '[[private]]\nkind = "rhs"\nname = "hours"\nrows = ["HOURS"]\nlower = 80\nupper = 120\n'
CHAIR = '[[private]]\nkind = "coefficient"\nname = "chair"\nentries = [["HOURS", "CHAIR"]]\n' + (
    "lower = 1.5\nupper = 2.5\n"
)
BUDGET = ("--epsilon", "1", "--delta", "1/1000")
#: Noise so wide that with this seed every truth has the same release: the whole envelope.
SAME_RELEASE = ("--epsilon", "1/1000", "--delta", "1/10000", "--seed", "2", "--plan", "database")
#: Private numbers within their bounds, at both ends and between; and the same places outside.
TRUTHS: list[dict[str, Any]] = [
    {"hours": 80, "chair": 2.5},
    {"hours": 120, "chair": 1.5},
    {"hours": 97.25, "chair": 2},
]
OUTSIDE: list[dict[str, Any]] = [
    {"hours": 7351, "chair": 2},
    {"hours": 97, "chair": 7351},
    {"hours": -7351, "chair": 2},
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "spec.toml").write_text(HOURS + CHAIR)
    planning(tmp_path)
    (tmp_path / "values.csv").write_text(
        "group,row,column,value\nhours,HOURS,,97.25\nchair,HOURS,CHAIR,2.125\n"
    )
    return tmp_path


def run(capsys, *arguments: str) -> tuple[int, str, str]:
    code = main(["lp", "planning.mps", "--private", "spec.toml", "--out", "out", *arguments])
    found = capsys.readouterr()
    return code, found.out, found.err


@pytest.mark.parametrize("data", [(), ("--data", "values.csv")])
@pytest.mark.parametrize("plan", ["auto", "database", "totals"])
def test_it_writes_a_solution_that_verify_proves(folder, capsys, data, plan):
    code, out, _ = run(capsys, *BUDGET, *data, "--plan", plan)
    assert code == 0
    assert "every row holds with certainty" in out
    assert sorted(path.name for path in (folder / "out").iterdir()) == sorted(FILES)
    files = [str(folder / "out" / f"{name}.npz") for name in ("solution", "release", "program")]
    assert main(["verify", *files]) == 0
    assert "all that can be proved holds" in capsys.readouterr().out


def test_files_and_json_say_the_same(folder, capsys):
    code, out, _ = run(capsys, *BUDGET, "--data", "values.csv", "--json", "--noise", "optimal")
    assert code == 0
    report = json.loads(out)
    assert report == json.loads((folder / "out/certificate.json").read_text())
    assert report["private"] == {"hours": 1, "chair": 1}
    assert (report["epsilon"], report["delta"], report["secure"]) == (1.0, 0.001, True)
    solution = Solution.load(folder / "out/solution.npz")
    release, program = Release.load("out/release.npz"), ParametricLP.load("out/program.npz")
    assert report["objective"] == solution.objective + 7.0
    assert report["certificate"]["worst_slack"] == float(
        program.certain_slack(solution.x, release.polytope, multipliers=solution.multipliers).min()
    )
    with (folder / "out/solution.csv").open() as lines:
        table = {row["column"]: float(row["value"]) for row in csv.DictReader(lines)}
    assert table == dict(zip(("CHAIR", "TABLE", "STOCK"), solution.x.tolist(), strict=True))


def test_check_reads_no_private_number_spends_nothing_and_writes_nothing(folder, capsys):
    (folder / "values.csv").write_text("this is no table")
    code, out, _ = run(capsys, "--data", "values.csv", "--check")
    assert code == 0
    assert "ready" in out
    assert not (folder / "out").exists()
    code, out, _ = run(capsys, "--data", "values.csv", "--check", "--json")
    assert json.loads(out)["record_size"] == 1


@pytest.mark.parametrize("json_too", [(), ("--json",)])
def test_the_curators_check_is_free_and_only_the_curator_learns_of_it(folder, capsys, json_too):
    wrong = {
        "97.25": '"usable": true',
        "7351": "the right-hand side of HOURS (hours, line 2)",
        "97,25": "values.csv",
        "abc": "values.csv, line 2: the value is not a finite number",
    }
    printed = set()
    for text, verdict in wrong.items():
        lines = f'group,row,column,value\nhours,HOURS,,"{text}"\nchair,HOURS,CHAIR,2\n'
        (folder / "values.csv").write_text(lines)
        printed.add(run(capsys, "--data", "values.csv", "--check", "--curator", *json_too))
        report = folder / "out/curator_only/values.json"
        assert verdict in json.loads(report.read_text()).get("failed", report.read_text())
        assert "7351" not in report.read_text()
        assert report.stat().st_mode & 0o77 == 0
    ((code, out, err),) = printed
    assert (code, err) == (0, "")
    assert "curator_only/values.json" in out
    planning(folder, hours=7351)
    assert run(capsys, "--check", "--curator")[0] == 0
    assert "HOURS (hours)" in (folder / "out/curator_only/values.json").read_text()
    code, _, err = run(capsys, *BUDGET, "--curator")
    assert (code, "--curator needs --check" in err) == (2, True)


def test_the_ledger_is_debited_once_and_not_for_what_public_data_refuse(folder, capsys):
    ledger = PrivacyLedger(folder / "ledger.sqlite")
    ledger.create("plant", PrivacyBudget(3, "1/100"), "one person")
    account = ("--ledger", "ledger.sqlite", "--identity", "plant", "--data", "values.csv")
    assert run(capsys, *BUDGET, *account)[0] == 0
    assert ledger.remaining("plant").epsilon == 2
    account = (*account, "--out", "other")
    for wrong in (
        ("--data", "nothing.csv"),
        ("--private", "values.csv"),
        ("--private", "nothing.toml"),
        ("--noise", "optimal", "--epsilon", "0"),
    ):
        code, _, err = run(capsys, *BUDGET, *account, *wrong)
        assert code == 2, wrong
        assert err.startswith("dp-cmdp lp: error: ")
    (folder / "spec.toml").write_text(HOURS.replace("80", "1").replace("120", "2"))
    code, _, err = run(capsys, *BUDGET, *account)
    assert code == 2
    assert "raise the right-hand side of HOURS by" in err
    assert ledger.remaining("plant").epsilon == 2


@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        ((), "--epsilon and --delta must be given"),
        (("--epsilon", "1"), "--epsilon and --delta must be given"),
        ((*BUDGET, "--ledger", "l.sqlite"), "--identity must name the database"),
        ((*BUDGET, "--identity", "me"), "--identity needs --ledger"),
        ((*BUDGET, "--out", "spec.toml"), "--out must name a folder"),
    ],
)
def test_calls_that_say_too_little_are_refused(folder, capsys, arguments, rule):
    code, _, err = run(capsys, *arguments)
    assert code == 2
    assert rule in err
    assert not (folder / "out").exists()


def said(folder: Path, capsys, *arguments: str) -> list[tuple[int, str, str]]:
    """What is said for every truth, with the private numbers in either place."""
    found = []
    for truth in TRUTHS:
        planning(folder, **truth)
        found.append(run(capsys, *arguments))
    return found


def but_for_their_names(folder: Path) -> dict[str, object]:
    """The public files, without what names this release: its measured estimates and digest."""
    made, answer = Release.load(folder / "release.npz"), Solution.load(folder / "solution.npz")
    alike = ("solution.csv", "program.npz", "certificate.json")
    return {
        **{name: (folder / name).read_bytes() for name in alike},
        "facts": made.facts(),
        "intervals": (made.lower.tolist(), made.upper.tolist()),
        "solution": (answer.x.tolist(), answer.dual.tolist(), answer.certificate),
    }


def test_with_the_same_intervals_output_and_files_are_the_same_for_every_truth(folder, capsys):
    seen = []
    for truth in TRUTHS:
        planning(folder, **truth)
        seen.append((run(capsys, *SAME_RELEASE), but_for_their_names(folder / "out")))
    assert seen[0][0][0] == 0
    assert all(each == seen[0] for each in seen)


@pytest.mark.parametrize(
    "spec",
    [
        HOURS + "relative = true\nradius = 0.1\n",
        HOURS.replace("HOURS", "BALANCE"),
        HOURS.replace("HOURS", "HOURZ"),
        HOURS.replace("HOURS", "SPACE") + 'side = "upper"\n',
        HOURS.replace("80", "1").replace("120", "2"),
        HOURS.replace('"rhs"', '"coefficient"', 1),
        HOURS + "radius = 4000\n",
        CHAIR.replace("HOURS", "BALANCE"),
    ],
)
def test_every_refusal_says_the_same_for_every_truth(folder, capsys, spec):
    (folder / "spec.toml").write_text(spec + (CHAIR if "chair" not in spec else HOURS))
    if "chair" in spec:
        (folder / "spec.toml").write_text(spec)
    seen = said(folder, capsys, *BUDGET)
    assert seen[0][0] == 2
    assert set(seen) == {seen[0]}


@pytest.mark.parametrize("place", ["model", "table", "file"])
def test_numbers_that_cannot_be_used_are_refused_in_the_same_words(folder, capsys, place):
    seen = set()
    for truth in OUTSIDE:
        if place == "model":
            planning(folder, **truth)
            seen.add(run(capsys, *BUDGET))
        elif place == "table":
            text = f"group,row,column,value\nhours,HOURS,,{truth['hours']}\n"
            for line in (f"chair,HOURS,CHAIR,{truth['chair']}\n", "chair,HOURS,CHAIR,x\n", ""):
                (folder / "values.csv").write_text(text + line)
                seen.add(run(capsys, *BUDGET, "--data", "values.csv"))
        else:
            planning(folder, "true.mps", **truth, space=3)
            seen.add(run(capsys, *BUDGET, "--data", "true.mps"))
    ((code, out, err),) = seen
    assert (code, out) == (2, "")
    assert "the private values cannot be used" in err
    assert not (folder / "out").exists()


def test_integer_columns_need_a_word(folder, capsys):
    text = (folder / "planning.mps").read_text()
    text = text.replace(" TABLE PROFIT", " M1 'MARKER' 'INTORG'\n TABLE PROFIT")
    text = text.replace(" STOCK BALANCE", " M2 'MARKER' 'INTEND'\n STOCK BALANCE")
    (folder / "planning.mps").write_text(text)
    code, _, err = run(capsys, *BUDGET)
    assert code == 2
    assert "integer columns (TABLE)" in err
    code, out, _ = run(capsys, *BUDGET, "--relax", "--json")
    assert code == 0
    assert json.loads(out)["relaxed"] is True
