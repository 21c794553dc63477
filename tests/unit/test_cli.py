"""The command line: what it prints, what it writes, how it refuses."""

import json
import signal
import subprocess
import sys
import time

import pytest

from dp_cmdp.cli import main
from dp_cmdp.cli.main import COMMANDS


def run_json(capsys, *arguments):
    assert main([*map(str, arguments), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_synthesize_reports_what_it_promises(capsys, tmp_path):
    report = run_json(
        capsys, "synthesize", "--layout", "corridor", "--epsilon", "2", "--delta", "1/1000",
        "--out", tmp_path,
    )  # fmt: skip
    assert report["epsilon"] == 2.0
    assert report["delta"] == 0.001
    assert report["secure"] is True
    assert report["certificate"]["verified"] is True
    assert report["certificate"]["worst_case_cost"] <= report["certificate"]["tolerance"]
    assert report["value"] >= report["robust_value"] - 1e-9
    curator = report["curator_only"]
    assert curator["nonprivate_value"] >= report["value"] - 1e-9
    assert curator["cost_of_privacy_percent"] >= 0.0
    written = {path.name for path in tmp_path.iterdir()}
    assert written == {
        "policy.npz", "release.npz", "certificate.json", "policy.png",
        "CURATOR_ONLY_comparison.png",
    }  # fmt: skip
    public = json.loads((tmp_path / "certificate.json").read_text())
    assert "curator_only" not in public


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
    create = ["ledger", "create", str(ledger), "--identity", "site-7"]
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
    true = run_json(capsys, "evaluate", policy, *problem, "--curator")["curator_only"]
    assert true["certificate"]["verified"]
    assert true["value"] == pytest.approx(judged["value"])
    played = run_json(capsys, "rollout", policy, *problem, "--episodes", "200", "--curator")
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


def test_a_policy_for_another_grid_is_refused(capsys, tmp_path):
    run_json(
        capsys, "synthesize", "--layout", "corridor", "--epsilon", "2", "--delta", "1/1000",
        "--out", tmp_path,
    )  # fmt: skip
    assert main(["evaluate", str(tmp_path / "policy.npz"), "--layout", "islands"]) == 2
    assert "policy must" in capsys.readouterr().err


@pytest.mark.parametrize("command", COMMANDS)
def test_help_teaches(capsys, command):
    with pytest.raises(SystemExit) as stop:
        main([command, "--help"])
    assert stop.value.code == 0
    text = capsys.readouterr().out
    assert "examples:" in text
    if command != "ledger":  # its actions have their own
        assert "--json" in text


def test_control_c_is_clean(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-c", "from dp_cmdp.cli import main; raise SystemExit(main())",
         "reproduce", "ad-headline", "--draws", "5000", "--workers", "1", "--out", str(tmp_path)],
        stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
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
