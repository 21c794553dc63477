"""The command line: what it prints, what it writes, how it refuses."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dp_cmdp.cli import main
from dp_cmdp.cli.main import COMMANDS, build_parser
from dp_cmdp.cli.parser import Parser
from dp_cmdp.cli.tables import WIDTH
from dp_cmdp.cmdp.policy import Policy
from dp_cmdp.envs import named_layout


def run_json(capsys, *arguments):
    assert main([*map(str, arguments), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def told_curator(capsys, *arguments):
    where = run_json(capsys, *arguments, "--curator")["curator_only"]
    return json.loads(Path(where).read_text())


def test_synthesize_reports_what_it_promises(capsys, tmp_path):
    report = run_json(
        capsys, "synthesize", "--layout", "corridor", "--epsilon", "2", "--delta", "1/1000",
        "--out", tmp_path, "--compare",
    )  # fmt: skip
    assert report["epsilon"] == 2.0
    assert report["delta"] == 0.001
    assert report["secure"] is True
    assert report["certificate"]["verified"] is True
    proof = report["certificate"]
    assert proof["worst_case_cost"] <= proof["tolerance"] or proof["joint"] <= 0.0
    assert report["value"] >= report["robust_value"] - 1e-9
    curator = json.loads((tmp_path / "curator_only" / "comparison.json").read_text())
    assert curator["nonprivate_value"] >= report["value"] - 1e-9
    assert curator["cost_of_privacy_percent"] >= 0.0
    assert curator["within_tolerance"]
    written = {path.name for path in tmp_path.iterdir()}
    assert written == {
        "policy.npz", "release.npz", "layout.json", "certificate.json", "policy.png",
        "curator_only",
    }  # fmt: skip
    public = json.loads((tmp_path / "certificate.json").read_text())
    assert not set(curator) & set(public) - {"value"}


@pytest.mark.parametrize("layout", ["corridor", "two_hazards"])
def test_what_synthesize_prints_fits_a_terminal(capsys, tmp_path, layout):
    arguments = ["--layout", layout, "--epsilon", "2", "--delta", "1/1000", "--out", str(tmp_path)]
    assert main(["synthesize", *arguments, "--plan", "totals"]) == 0
    told = capsys.readouterr().out
    assert max(map(len, told.splitlines())) <= WIDTH
    assert "differential privacy when one entry changes by at most its radius" in " ".join(
        told.split()
    )


def test_a_seed_makes_a_reproducible_simulation_and_says_so(capsys, tmp_path):
    arguments = ["synthesize", "--layout", "corridor", "--epsilon", "2", "--delta", "1/1000"]
    reports = [
        run_json(capsys, *arguments, "--seed", "5", "--out", tmp_path / str(i)) for i in range(2)
    ]
    assert reports[0] == reports[1]
    assert reports[0]["secure"] is False
    assert main([*arguments, "--seed", "5", "--out", str(tmp_path)]) == 0
    assert "a simulation only" in capsys.readouterr().out


@pytest.mark.parametrize("method", ["benvenuti2025", "robust"])
def test_other_methods(capsys, tmp_path, method):
    report = run_json(
        capsys, "synthesize", "--layout", "corridor", "--epsilon", "2", "--delta", "1/1000",
        "--method", method, "--out", tmp_path,
    )  # fmt: skip
    assert report["method"] == method
    assert report["certificate"]["verified"]
    if method == "robust":
        assert report["epsilon"] == 0.0
        assert not (tmp_path / "release.npz").exists()


def test_the_ledger_is_debited_and_refuses(capsys, tmp_path):
    ledger = tmp_path / "ledger.sqlite"
    create = ["ledger", "create", str(ledger), "--identity", "site-7", "--unit", "one crew"]
    assert main([*create, "--epsilon", "1", "--delta", "1/100"]) == 0
    capsys.readouterr()
    arguments = [
        "synthesize", "--layout", "corridor", "--epsilon", "2/3", "--delta", "1/1000",
        "--ledger", str(ledger), "--identity", "site-7", "--out",
    ]  # fmt: skip
    assert main([*arguments, str(tmp_path / "a")]) == 0
    assert main([*arguments, str(tmp_path / "b")]) == 2
    assert "remain" in capsys.readouterr().err
    assert not (tmp_path / "b").exists()


def test_rollout_and_evaluate_use_what_synthesize_wrote(capsys, tmp_path):
    problem = ["--layout", "corridor"]
    run_json(
        capsys, "synthesize", *problem, "--epsilon", "2", "--delta", "1/1000", "--out", tmp_path
    )
    policy, release = tmp_path / "policy.npz", tmp_path / "release.npz"
    judged = run_json(capsys, "evaluate", policy, *problem, "--release", release)
    assert judged["certificate"]["verified"]
    true = told_curator(capsys, "evaluate", policy, *problem)
    assert true["certificate"]["verified"]
    assert true["value"] == pytest.approx(judged["value"])
    played = told_curator(capsys, "rollout", policy, *problem, "--episodes", "200")
    # a 95 % interval widened fourfold: beyond 1e-6 in a normal law
    mean, high = played["return"]["mean"], played["return"]["ci_high"]
    assert abs(mean - true["value"]) <= 4 * (high - mean)


BAD_LAYOUT = '{"format": "dp_cmdp.Layout/1", "map": ["S.", "G"]}'


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--layout", "nowhere"], "nowhere"),
        (["--layout", "BAD_LAYOUT"], "map"),
        (["--env", "dp_cmdp/Nothing-v0"], "env must be one of"),
        (["--env", "CartPole-v1"], "env must be one of"),
        (["--hazards", "no-such-file.json"], "hazards"),
        (["--epsilon", "-1"], "epsilon must be positive"),
        (["--epsilon", "nan"], "epsilon"),
        (["--delta", "0"], "delta must lie in"),
        (["--delta", "0.7"], "delta must lie in"),
        (["--ledger", "no/such/ledger.sqlite"], "identity"),
        (["--ledger", "ledger.sqlite", "--identity", "nobody"], "ledger"),
        (["--identity", "site-7"], "--identity needs --ledger"),
        (["--hazards", "²"], "hazards must name"),
        (["--epsilon", "1e-100000000"], "epsilon must have an exponent"),
    ],
)
def test_bad_input_is_refused_with_nothing_written(capsys, tmp_path, monkeypatch, arguments, said):
    monkeypatch.chdir(tmp_path)
    bad = tmp_path / "bad.json"
    bad.write_text(BAD_LAYOUT)
    arguments = [str(bad) if word == "BAD_LAYOUT" else word for word in arguments]
    defaults = ["--epsilon", "1", "--delta", "1/1000", "--out", str(tmp_path / "out")]
    assert main(["synthesize", *defaults, *arguments]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("command", ["rollout", "evaluate"])
@pytest.mark.parametrize("content", [None, b"", b"no policy"])
def test_corrupt_policy_files_are_refused(capsys, tmp_path, command, content):
    path = tmp_path / "policy.npz"
    if content is not None:
        path.write_bytes(content)
    assert main([command, str(path)]) == 2
    assert "error:" in capsys.readouterr().err


def test_a_folder_is_no_policy_and_no_release(capsys, tmp_path):
    policy = tmp_path / "policy.npz"
    Policy.uniform(named_layout("corridor").num_cells, 4).save(policy)
    folder = tmp_path / "folder"
    folder.mkdir()
    release = ["evaluate", str(policy), "--layout", "corridor", "--release", str(folder)]
    for command in (["rollout", str(folder)], ["evaluate", str(folder)], release):
        assert main(command) == 2
        said = capsys.readouterr().err
        assert f"{folder} is a folder" in said
        assert "does not exist" not in said


def test_a_policy_for_another_grid_is_refused(capsys, tmp_path):
    run_json(
        capsys, "synthesize", "--layout", "corridor", "--epsilon", "2", "--delta", "1/1000",
        "--out", tmp_path,
    )  # fmt: skip
    assert main(["evaluate", str(tmp_path / "policy.npz"), "--layout", "islands"]) == 2
    assert "policy must" in capsys.readouterr().err

    assert main(["rollout", str(tmp_path / "policy.npz"), "--layout", "islands"]) == 2
    said = capsys.readouterr().err
    for name in ("corridor", "islands"):
        assert str(named_layout(name).num_cells) in said


SYNTHESIZE = ["synthesize", "--layout", "corridor", "--epsilon", "2", "--delta", "1/1000"]


def test_a_folder_that_cannot_be_is_refused_before_the_ledger_is_debited(capsys, tmp_path):
    ledger, file = tmp_path / "ledger.sqlite", tmp_path / "file"
    file.write_text("in the way")
    create = ["ledger", "create", str(ledger), "--identity", "site-7", "--unit", "one crew"]
    assert main([*create, "--epsilon", "2", "--delta", "1/100"]) == 0
    for out in (file, file / "inside"):
        capsys.readouterr()
        arguments = ["--ledger", str(ledger), "--identity", "site-7", "--out", str(out)]
        assert main([*SYNTHESIZE, *arguments]) == 2
        assert "--out must name a folder that can be written" in capsys.readouterr().err
    (tmp_path / "out" / "policy.png").mkdir(parents=True)
    arguments = ["--ledger", str(ledger), "--identity", "site-7", "--out", str(tmp_path / "out")]
    assert main([*SYNTHESIZE, *arguments]) == 2
    assert "has a folder called policy.png" in capsys.readouterr().err
    shown = run_json(capsys, "ledger", "show", ledger)
    assert shown["balances"][0]["exact_spent"] == ["0", "0"]
    assert file.read_text() == "in the way"


@pytest.mark.parametrize(
    "command",
    [
        ["reproduce", "ad-headline", "--quick"],
        ["audit", "--quick"],
        ["advise", "--auction", "2", "2"],
    ],
)
def test_a_folder_that_cannot_be_is_refused_in_one_line(capsys, tmp_path, command):
    file = tmp_path / "file"
    file.touch()
    for out in (file, file / "inside"):
        assert main([*command, "--out", str(out)]) == 2
        said = capsys.readouterr().err
        assert "--out must name a folder" in said
        assert said.count("\n") == 1


def test_an_error_of_the_system_is_one_line(capsys, tmp_path):
    (tmp_path / "advice.png").mkdir()  # in the way of the picture
    assert main(["advise", "--auction", "2", "2", "--out", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert "error: path must name a file" in said
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    "command",
    [
        [*SYNTHESIZE, "--seed", "-1"],
        ["rollout", "policy.npz", "--seed", "-1"],
        ["rollout", "policy.npz", "--episodes", "0"],
        ["rollout", "policy.npz", "--episodes", "many"],
        ["advise", "--draws", "0"],
        ["advise", "--draws", "-1"],
        ["advise", "--seed", "-1"],
        ["advise", "--auction", "0", "5"],
        ["audit", "--workers", "-7"],
        ["audit", "--seed", "-1"],
        ["reproduce", "ad-headline", "--draws", "0"],
        ["reproduce", "ad-headline", "--workers", "-7"],
        ["reproduce", "ad-headline", "--seed", "-1"],
    ],
)
def test_numbers_out_of_range_are_refused_by_option(capsys, command):
    with pytest.raises(SystemExit) as stop:
        main(command)
    assert stop.value.code == 2
    said = capsys.readouterr().err
    assert "must be an integer ≥" in said
    assert next(word for word in reversed(command) if word.startswith("--")) in said


PROBLEM = ("--layout", "--env", "--hazards")
TEXTS = {
    "synthesize": (
        ["--epsilon", "1", "--delta", "1/1000"],
        (*PROBLEM, "--epsilon", "--delta", "--ledger", "--identity", "--out"),
    ),
    "rollout": (["policy.npz"], (*PROBLEM, "--out")),
    "evaluate": (["policy.npz"], (*PROBLEM, "--release", "--out")),
    "advise": ([], (*PROBLEM, "--epsilons", "--deltas", "--radii", "--delta", "--out")),
    "audit": (["--quick"], ("--out",)),
    "ledger": (
        ["create", "l.sqlite", "--identity", "a", "--epsilon", "1", "--delta", "1/10"],
        ("--identity", "--epsilon", "--delta"),
    ),
    "reproduce": (["ad-headline", "--quick"], ("--out", "--scheduler")),
    "explore": ([], ("--layout", "--hazards", "--ledger", "--identity", "--out")),
}


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ([command, *given, *empty], name)
        for command, (given, names) in TEXTS.items()
        for name in names
        for empty in ([name, ""], [name + "="], [name, " "])
    ]
    + [
        (["rollout", ""], "policy"),
        (["evaluate", ""], "policy"),
        (["reproduce", ""], "NAME"),
        (["ledger", "show", ""], "FILE"),
        (["ledger", "verify", "l.sqlite", "--pinned", ""], "--pinned"),
    ],
)
def test_an_empty_value_is_refused_by_name_with_nothing_written(
    capsys, tmp_path, monkeypatch, arguments, name
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    said = capsys.readouterr().err
    assert f"argument {name}: must not be empty" in said
    assert said.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_every_command_is_read_by_the_parser_that_refuses_empty_values():
    def parsers(parser):
        yield parser
        for action in parser._actions:
            if isinstance(action.choices, dict) and action.dest in ("command", "action"):
                for inner in action.choices.values():
                    yield from parsers(inner)

    found = list(parsers(build_parser()))
    assert len(found) == 1 + len(COMMANDS) + 3  # the ledger has three actions
    assert {type(parser) for parser in found} == {Parser}


def test_an_empty_layout_does_not_debit_the_ledger(capsys, tmp_path):
    ledger = tmp_path / "ledger.sqlite"
    create = ["ledger", "create", str(ledger), "--identity", "site-7", "--unit", "one crew"]
    assert main([*create, "--epsilon", "2", "--delta", "1/100"]) == 0
    capsys.readouterr()
    with pytest.raises(SystemExit):
        main(
            ["synthesize", "--layout", "", "--epsilon", "1", "--delta", "1/1000", "--ledger",
             str(ledger), "--identity", "site-7", "--out", str(tmp_path / "out")]
        )  # fmt: skip
    capsys.readouterr()
    shown = run_json(capsys, "ledger", "show", ledger)
    assert shown["balances"][0]["exact_spent"] == ["0", "0"]


@pytest.mark.parametrize("option", ["--layout", "--env", "--hazards"])
def test_an_auction_is_no_grid(capsys, tmp_path, option):
    assert main(["advise", "--auction", "3", "2", option, "x", "--out", str(tmp_path)]) == 2
    assert f"leave {option} out" in capsys.readouterr().err


def test_radii_beyond_the_floats_are_refused(capsys, tmp_path):
    assert main(["advise", "--auction", "3", "2", "--radii", "1e400", "--out", str(tmp_path)]) == 2
    assert "radii must be finite" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["rollout", "evaluate"])
def test_hazards_that_nothing_would_read_are_refused(capsys, tmp_path, command):
    path = tmp_path / "policy.npz"
    layout = named_layout("corridor")
    Policy.uniform(layout.num_cells, 4).save(path)
    for option in ("--hazards", "--out"):
        assert main([command, str(path), "--layout", "corridor", option, "3"]) == 2
        assert f"{option} needs --curator" in capsys.readouterr().err


def test_evaluate_alarms_nobody_about_a_policy_that_totals_prove_safe(capsys, tmp_path):
    arguments = ["--layout", "islands", "--epsilon", "4", "--delta", "1/1000", "--seed", "0"]
    main(["synthesize", *arguments, "--plan", "totals", "--out", str(tmp_path)])
    capsys.readouterr()
    files = [str(tmp_path / name) for name in ("policy.npz", "release.npz")]
    assert main(["evaluate", files[0], "--release", files[1]]) == 0
    said = capsys.readouterr().out
    assert "EXCEEDS" not in said
    assert "of one database, cost − tolerance ≤ -" in said
    assert main(["evaluate", files[0]]) == 1  # over all databases it is not safe
    assert "EXCEEDS" in capsys.readouterr().out


def test_evaluate_says_by_its_exit_code_that_a_policy_is_not_verified(capsys, tmp_path):
    path = tmp_path / "policy.npz"
    Policy.uniform(named_layout("islands").num_cells, 4).save(path)  # walks into everything
    for more in ([], ["--json"]):
        assert main(["evaluate", str(path), "--layout", "islands", *more]) == 1
        said = capsys.readouterr().out
        assert "NOT verified" in said or '"verified": false' in said


@pytest.mark.parametrize("command", COMMANDS)
def test_help_teaches(capsys, command):
    with pytest.raises(SystemExit) as stop:
        main([command, "--help"])
    assert stop.value.code == 0
    text = capsys.readouterr().out
    assert "examples:" in text
    assert max(map(len, text.splitlines())) <= WIDTH
    if command not in ("ledger", "explore"):  # its actions have their own; a page has none
        assert "--json" in text


def test_control_c_is_clean(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-c", "from dp_cmdp.cli import main; raise SystemExit(main())",
         "reproduce", "ad-headline", "--draws", "5000", "--workers", "1", "--out", str(tmp_path)],
        stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's & ignores it
    )  # fmt: skip
    store = tmp_path / "ad-headline.sqlite"
    deadline = time.monotonic() + 60
    while not store.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "finished work is kept" in err
    assert "Traceback" not in err
