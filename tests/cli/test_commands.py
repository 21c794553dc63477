"""What commands print, write and refuse."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import dp_cmdp as dp
from dp_cmdp._src.cli.main import main
from dp_cmdp._src.cli.report import WIDTH

BUDGET = ("--epsilon", "2", "--delta", "1/1000")
COST = "cost ≤ limit for every database the release allows"
NAMES = (
    "solve", "publish", "answer", "certify", "advise", "simulate", "verify", "evaluate", "rollout",
    "ledger", "audit", "explore",
)  # fmt: skip


@pytest.fixture(scope="module")
def solved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an answer for the paper's grid, by linear queries."""
    out = tmp_path_factory.mktemp("solved") / "out"
    budget = ["--epsilon", "8", "--delta", "1/1000", "--strategy", "queries"]
    assert main(["solve", "paper", *budget, "--out", str(out)]) == 0
    return out


def uniform(folder: Path, layout: str) -> Path:
    cells = dp.envs.named_layout(layout).num_cells
    return dp.Policy.uniform(cells, 4).save(folder / "policy.npz")


# --- what is said --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*NAMES, "synthesize", "lp"])
def test_help_teaches(capsys: Any, name: str) -> None:
    with pytest.raises(SystemExit) as stop:
        main([name, "--help"])
    text = capsys.readouterr().out
    assert stop.value.code == 0
    assert "examples:" in text
    assert max(map(len, text.splitlines())) <= WIDTH


def test_a_certificate_says_verified_first_and_then_what(solved: Path, say: Any, said: Any) -> None:
    """Never the highest cost beside the lowest limit, which are of different databases."""
    proof = json.loads((solved / "certificate.json").read_text())["certificate"]
    assert list(proof)[:3] == ["verified", "statement", "slack"]
    assert (proof["verified"], proof["statement"]) == (True, COST)
    found = dp.Answer.load(solved)
    ends = found.to_frame()[["cost", "limit"]].iloc[0].tolist()
    for command in ("certify", "evaluate"):
        code, out, _ = say(command, solved)
        assert code == 0
        assert re.search(r"\bverified: " + COST + r" \(slack \S+\)", " ".join(out.split()))
        numbers = [float(text) for text in re.findall(r"\d+\.\d+(?:e-?\d+)?", out)]
        assert not all(any(abs(x - end) < 1e-3 * end for x in numbers) for end in ends)
        again = said(command, solved)["certificate"]
        assert (list(again), again["statement"]) == (list(proof), COST)
        assert again["slack"] >= 0.0


def test_evaluate_and_certify_say_by_their_exit_code_what_is_not_proved(
    tmp_path: Path, solved: Path, say: Any
) -> None:
    path = uniform(tmp_path, "islands")  # walks into everything
    for command in ("evaluate", "certify"):
        for more in ([], ["--json"]):
            code, out, _ = say(command, "islands", path, *more)
            assert code == 1
            assert "not verified" in out or '"verified": false' in out
    dp.Answer.load(solved).decision.save(tmp_path / "own.npz")
    release = ("--release", solved / "release.npz")
    assert say("evaluate", "paper", tmp_path / "own.npz", *release)[0] == 0
    assert say("evaluate", "paper", tmp_path / "own.npz")[0] == 1  # over all databases


def test_verify_fails_by_its_exit_code(tmp_path: Path, solved: Path, say: Any) -> None:
    assert say("verify", solved)[0] == 0
    code, out, _ = say("verify", solved, "--problem", "paper", "--json")
    assert (code, json.loads(out)["heading"]) == (0, "adjacency compared with that of your problem")
    code, out, _ = say("verify", solved, "--problem", "islands")
    assert (code, "FAILED" in out) == (1, True)
    (tmp_path / "release.npz").write_bytes(b"nothing")
    assert say("verify", tmp_path / "release.npz")[0] == 1


# --- the commands, together ----------------------------------------------------------------------


def test_a_release_is_answered_by_anybody_as_its_curator_would(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: Any, say: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    made = said("publish", "corridor", *BUDGET)
    assert {path.name for path in Path("out/publish").iterdir()} == {
        "release.npz", "problem.npz", "layout.json",
    }  # fmt: skip
    found = said("answer", "out/publish")
    again = ("corridor", "--release", "out/publish/release.npz", "--out", "again")
    assert said("answer", *again) == found
    assert found["certificate"]["verified"]
    assert found["release"] == made["release"]
    robust = said("answer", "corridor", "--out", "robust")
    assert robust["release"] is None
    assert robust["epsilon"] == 0.0
    assert not Path("robust/release.npz").exists()
    for folder in ("out/answer", "again", "robust"):
        assert say("verify", folder)[0] == 0


def test_rollout_and_evaluate_agree(tmp_path: Path, solved: Path, said: Any) -> None:
    value = said("evaluate", solved)["value"]
    found = said("evaluate", solved, "--curator", "--out", tmp_path)
    true = json.loads(Path(found["curator_only"]).read_text())
    assert true["value"] == pytest.approx(value)
    assert min(true["slack"]) >= 0.0
    found = said("rollout", solved, "--curator", "--out", tmp_path, "--episodes", "150")
    played = json.loads(Path(found["curator_only"]).read_text())
    mean, high = played["return"]["mean"], played["return"]["high"]
    assert abs(mean - true["value"]) <= 4 * (high - mean)  # beyond 1e-6 in a normal law
    public = said("rollout", solved, "--episodes", "20")
    assert "worst database of the release" in public["charged"]
    assert public == said("rollout", "paper", solved, "--episodes", "20", "--seed", "0")


def test_advice_and_simulations_are_reproducible_and_say_what_they_are(
    tmp_path: Path, said: Any, say: Any
) -> None:
    advise = ("advise", "corridor", "--draws", "4", "--epsilon", "1,4", "--loss", "0.9")
    first, second = (said(*advise, "--out", tmp_path / str(i)) for i in range(2))
    assert first == second == json.loads((tmp_path / "0/advice.json").read_text())
    assert [row["epsilon"] for row in first["rows"]] == [1.0, 4.0]
    assert first["smallest_epsilon"] == 0.0  # the robust answer does
    simulate = ("simulate", "corridor", *BUDGET, "--draws", "3", "--seed", "5")
    runs = [said(*simulate, "--data", data, "--out", tmp_path / data) for data in ("7", "7", "8")]
    assert runs[0] == runs[1] != runs[2]
    assert runs[0]["simulated"] is True
    assert len((tmp_path / "7/simulation.csv").read_text().splitlines()) == 4
    assert "SIMULATED" in say(*simulate, "--out", tmp_path)[1]


def test_the_audit_has_a_report_and_an_exit_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: Any, say: Any
) -> None:
    from dp_cmdp._src.checking.report import Finding, Report
    from dp_cmdp._src.verbs import suite

    def report(holds: bool) -> Any:
        return lambda **how: Report((Finding("entries", "certificate", holds),))

    monkeypatch.setattr(suite, "audit_release", report(True))
    facts = said("audit", "--quick", "--out", tmp_path)
    assert facts == json.loads((tmp_path / "audit.json").read_text())
    assert (tmp_path / "audit.png").exists()
    monkeypatch.setattr(suite, "audit_release", report(False))
    code, out, _ = say("audit", "--quick", "--out", tmp_path)
    assert (code, "FAILED" in out) == (1, True)


# --- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere"], "nowhere"),
        (["bad.json"], "map"),
        (["missing.mps", "--private", "spec.toml"], "missing.mps"),
        (["model.mps"], "--private must name"),
        (["corridor", "--private", "spec.toml"], "--private belongs to an LP file"),
        (["corridor", "--data", "no-such-file.json"], "hazards"),
        (["corridor", "--data", "²"], "hazards must name"),
        (["corridor", "--epsilon", "-1"], "epsilon must be positive"),
        (["corridor", "--delta", "0.7"], "delta must lie in"),
        (["corridor", "--ledger", "no/such.ledger", "--account", "a"], "ledger"),
        (["corridor", "--ledger", "l.ledger"], "--account must name the database"),
        (["corridor", "--account", "me"], "--account needs --ledger"),
        (["corridor", "--unit", "me"], "--unit needs --ledger"),
        (["corridor", "--epsilon", "1e-100000000"], "epsilon must have an exponent"),
    ],
)
def test_bad_input_is_refused_in_one_line_with_nothing_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, say: Any, arguments: list[str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bad.json").write_text('{"format": "dp_cmdp.Layout/2", "map": ["S.", "G"]}')
    code, out, err = say("solve", *BUDGET, "--out", "out", *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1), err
    assert said in err
    assert not Path("out").exists()


@pytest.mark.parametrize("command", ["rollout", "evaluate", "certify"])
@pytest.mark.parametrize("content", [None, b"", b"no policy", "folder"])
def test_what_is_no_policy_is_refused(tmp_path: Path, say: Any, command: str, content: Any) -> None:
    path = tmp_path / "policy.npz"
    if content == "folder":
        path.mkdir()
    elif content is not None:
        path.write_bytes(content)
    code, out, err = say(command, "corridor", path)
    assert (code, out, err.count("\n")) == (2, "", 1), err


@pytest.mark.parametrize("command", ["rollout", "evaluate"])
def test_data_that_nothing_would_read_are_refused(tmp_path: Path, say: Any, command: str) -> None:
    path = uniform(tmp_path, "corridor")
    for option in ("--data", "--out"):
        assert f"{option} needs --curator" in say(command, "corridor", path, option, "3")[2]
    more = ("--curator", "--release", "release.npz")
    assert "--release is not read with --curator" in say(command, "corridor", path, *more)[2]


def test_a_folder_that_cannot_be_written_is_refused_before_anything_else(
    tmp_path: Path, say: Any
) -> None:
    file = tmp_path / "file"
    file.write_text("in the way")
    commands = ("solve", "publish", "simulate"), ("answer", "advise")
    for number, names in enumerate(commands):
        for name in names:
            for out in (file, file / "inside"):
                code, _, err = say(name, "corridor", *(() if number else BUDGET), "--out", out)
                assert (code, err.count("\n")) == (2, 1)
                assert "--out must name a folder that can be written" in err
    (tmp_path / "out/answer.png").mkdir(parents=True)
    err = say("solve", "corridor", *BUDGET, "--out", tmp_path / "out")[2]
    assert "has a folder called answer.png" in err
    assert file.read_text() == "in the way"


PARSED = [
    ("solve", "--epsilon", "1", "--delta", "1/9", "--strategy", "best"),
    ("solve", "--epsilon", "1", "--delta", "1/9", "--seed", "1"),  # private noise has none
    ("rollout", "policy.npz", "--seed", "-1"),
    ("advise", "--draws", "0"),
    *(("solve", *BUDGET, name, "") for name in ("--data", "--ledger", "--account", "--out")),
    *(("solve", *BUDGET, f"{name}=") for name in ("--private", "--prior", "--unit")),
    ("solve", " ", *BUDGET),
    ("ledger", "show", ""),
    ("explore", "--layout", ""),
]


@pytest.mark.parametrize("arguments", PARSED, ids=" ".join)
def test_options_that_say_nothing_sensible_are_refused_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any, arguments: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_the_explorer_is_handed_what_names_a_real_database(
    monkeypatch: pytest.MonkeyPatch, said: Any
) -> None:
    import dp_cmdp.explorer as explorer

    given: dict[str, Any] = {}

    def run(*, say: Any, **more: Any) -> None:
        given.update(more)
        say("http://127.0.0.1/")

    monkeypatch.setattr(explorer, "run", run)
    arguments = ("--layout", "rooms", "--hazards", "h.json", "--ledger", "l", "--account", "a")
    assert said("explore", "--no-browser", *arguments) == {"address": "http://127.0.0.1/"}
    named = {name: str(value) for name, value in given.items() if value is not None}
    assert named == {
        "port": "8733", "browser": "False", "out": "out/explore", "layout": "rooms",
        "hazards": "h.json", "ledger": "l", "account": "a",
    }  # fmt: skip
