"""Commands say nothing that depends on the truth: output, exit code and public files.

The gate is one candidate cell between start and goal, tolerance in [0, 1]. Closed and not
tolerated, the best true value is 0; open, it is 0.9. Its truths are extreme, adjacent or no
hazards at all; what everybody sees must be the same byte for byte.
"""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dp_cmdp.accounting.budget import PrivacyBudget
from dp_cmdp.accounting.ledger import PrivacyLedger
from dp_cmdp.cli import main
from dp_cmdp.cmdp.policy import Policy
from dp_cmdp.cmdp.synthesis import robust_policy, synthesize
from dp_cmdp.data.release import Release
from dp_cmdp.envs import HazardGridEnv
from dp_cmdp.release.plan import Plan

GATE = {
    "format": "dp_cmdp.Layout/1",
    "name": "gate",
    "map": ["S?G"],
    "slip": 0.0,
    "gamma": 0.9,
    "step_reward": 0.0,
    "goal_reward": 1.0,
    "kinds": [
        {
            "severity": [0.0, 1.0],
            "severity_radius": 0.1,
            "tolerance": [0.0, 1.0],
            "tolerance_radius": 0.1,
        }
    ],
}
#: (severity, tolerance): optimum 0; its neighbour; optimum 0.9, at either end of the tolerance.
TRUTHS = {"closed": (1.0, 0.0), "adjacent": (0.9, 0.0), "open": (0.0, 1.0), "strict": (0.0, 0.0)}
NO_HAZARDS = '{"format": "dp_cmdp.Hazards/1", "kinds": {"hazard": {"severity": 0.7351}}}'
OUTSIDE = (7351.0, 0.5)
#: Noise so wide that with this seed every truth has the same release: the whole envelope.
SAME_RELEASE = ("--epsilon", "1/1000", "--delta", "1/10000", "--seed", "2")


@pytest.fixture
def gate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the layout and a file that will hold the truth."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gate.json").write_text(json.dumps(GATE))
    return tmp_path


def set_truth(folder: Path, truth: tuple[float, float] | str) -> None:
    text = truth
    if not isinstance(truth, str):
        kind = {"severity": [[0, 1, truth[0]]], "tolerance": truth[1]}
        text = json.dumps({"format": "dp_cmdp.Hazards/1", "kinds": {"hazard": kind}})
    (folder / "hazards.json").write_text(str(text))


def problem(*more: str) -> list[str]:
    return ["--layout", "gate.json", "--hazards", "hazards.json", *more]


def public_files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def but_for_their_names(folder: Path) -> dict[str, object]:
    """The public files, without what names this release: ledger entry, estimates, digest."""
    release, policy = (folder / name for name in ("release.npz", "policy.npz"))
    files: dict[str, object] = {**public_files(folder)}
    del files[release.name], files[policy.name]
    made = Release.load(release)
    facts = {name: fact for name, fact in made.facts().items() if name != "ledger"}
    return files | {
        "facts": facts,
        "intervals": (made.lower.tolist(), made.upper.tolist()),
        "policy": Policy.load(policy).probs.tolist(),
    }


def seen(folder: Path, *command: str) -> tuple[int, bytes, bytes, dict[str, bytes]]:
    """All that a stranger sees of a command: exit code, both outputs, public files."""
    done = subprocess.run(
        [sys.executable, "-c", "from dp_cmdp.cli import main; raise SystemExit(main())", *command],
        cwd=folder,
        capture_output=True,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr, public_files(folder / "out")


def test_without_a_release_nothing_that_is_seen_depends_on_the_truth(gate: Path) -> None:
    command = ["synthesize", *problem("--method", "robust", "--compare", "--out", "out")]
    found, kept = [], []
    for truth in (TRUTHS["closed"], TRUTHS["open"], NO_HAZARDS):
        set_truth(gate, truth)
        found.append(seen(gate, *command, "--epsilon", "1", "--delta", "1/1000"))
        kept.append(json.loads((gate / "out/curator_only/comparison.json").read_text()))
    assert found[0] == found[1] == found[2]
    assert found[0][0] == 0
    assert set(found[0][3]) == {"policy.npz", "layout.json", "certificate.json", "policy.png"}
    closed, opened, failed = kept
    assert (closed["nonprivate_value"], closed["cost_of_privacy_percent"]) == (0.0, None)
    assert (closed["true_tolerance"], opened["true_tolerance"]) == ([0.0], [1.0])
    assert opened["cost_of_privacy_percent"] == pytest.approx(100.0)
    assert list(failed) == ["failed"]
    assert not (gate / "out/curator_only/comparison.png").exists()


def test_of_two_truths_with_one_release_nothing_tells_which_it_was(gate: Path) -> None:
    found = []
    for number, truth in enumerate(("closed", "adjacent", "open")):
        set_truth(gate, TRUTHS[truth])
        ledger = PrivacyLedger(gate / "ledger.db")
        ledger.create(f"gate-{number}", PrivacyBudget(1, "1/1000"), "one person")
        more = ("--compare", "--ledger", "ledger.db", "--identity", f"gate-{number}")
        shown = seen(gate, "synthesize", *problem(*SAME_RELEASE, *more, "--out", "out"))[:3]
        found.append((*shown, but_for_their_names(gate / "out")))
        assert ledger.entries()[-1].identity == f"gate-{number}"
        (gate / "out").rename(gate / f"out-{number}")  # a paid release is never written over
    assert found[0] == found[1] == found[2]
    assert found[0][0] == 0
    release = Release.load(gate / "out-0/release.npz")
    assert (release.lower.tolist(), release.upper.tolist()) == ([0.0, 0.0], [1.0, 1.0])


@pytest.mark.parametrize("method", ["database", "benvenuti2025"])
@pytest.mark.parametrize("json_too", [False, True])
def test_every_truth_prints_the_same_by_either_method_and_output(
    gate: Path, capfd: pytest.CaptureFixture[str], method: str, json_too: bool
) -> None:
    """But for the estimates of Algorithm 1, which are not cut to the envelope."""
    found = []
    for truth in TRUTHS.values():
        set_truth(gate, truth)
        more = ["--method", method, "--out", "out", *(["--json"] if json_too else [])]
        code = main(["synthesize", *problem(*SAME_RELEASE, *more)])
        found.append((code, *capfd.readouterr(), but_for_their_names(gate / "out")))
    assert all(one == found[0] for one in found)
    assert found[0][0] == 0


@pytest.mark.parametrize("method", ["database", "benvenuti2025"])
def test_all_that_is_printed_can_be_computed_from_the_public_files(
    gate: Path, capsys: pytest.CaptureFixture[str], method: str
) -> None:
    set_truth(gate, (0.2, 0.8))
    more = ("--epsilon", "8", "--delta", "1/10", "--method", method, "--compare", "--json")
    assert main(["synthesize", *problem(*more)]) == 0
    printed = json.loads(capsys.readouterr().out)
    folder = gate / "out/synthesize"
    model, release = HazardGridEnv("gate.json").model(), Release.load(folder / "release.npz")
    answer, robust = synthesize(model, release), robust_policy(model)
    ends = release.group(release.groups[0][0])["upper"] >= 1.0
    floors = release.group(release.groups[1][0])["lower"] <= 0.0
    expected: dict[str, Any] = {
        "method": method,
        "plan": None if release.plan is None else str(Plan.from_facts(release.plan)),
        "layout": "gate",
        "epsilon": float(release.guarantee.epsilon),
        "delta": float(release.guarantee.delta),
        "secure": release.secure,
        "leaks": list(release.leaks),
        **answer.facts(),
        "robust_value": robust.value,
        "saturation": float(sum(ends) + sum(floors)) / (ends.size + floors.size),
        "release_worth_it": answer.value > robust.value + 1e-9 * abs(robust.value),
        "comparison": "out/synthesize/curator_only",
    }
    assert printed == expected
    del expected["comparison"]
    assert json.loads((folder / "certificate.json").read_text()) == expected


# --- the order: public checks, debit, data ------------------------------------------------------


def spend(gate: Path, total: str) -> list[str]:
    PrivacyLedger(gate / "ledger.db").create("gate", PrivacyBudget(total, "1/10"), "one person")
    return ["--epsilon", "1", "--delta", "1/1000", "--ledger", "ledger.db", "--identity", "gate"]


def spent(gate: Path) -> float:
    return float(PrivacyLedger(gate / "ledger.db").spent("gate").epsilon)


@pytest.mark.parametrize("refusal", ["budget", "layout", "folder", "curator folder"])
def test_hazards_are_not_opened_before_all_public_checks_and_the_debit(
    gate: Path, refusal: str
) -> None:
    """The hazards are a pipe that nobody writes: to open it is to wait for ever."""
    os.mkfifo(gate / "hazards.json")
    options = spend(gate, "1/2" if refusal == "budget" else "2")
    if refusal == "layout":  # no policy is safe for every database: it starts in the hazard
        unsafe = {**GATE["kinds"][0], "cells": [[0, 0]]}
        (gate / "gate.json").write_text(json.dumps({**GATE, "kinds": [unsafe]}))
    if refusal == "folder":
        (gate / "out").touch()
    if refusal == "curator folder":
        (gate / "out").mkdir()
        (gate / "out/curator_only").symlink_to(gate)
    code = "from dp_cmdp.cli import main; raise SystemExit(main())"
    done = subprocess.run(
        [sys.executable, "-c", code, "synthesize", *problem(*options, "--out", "out")],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1, done.stderr
    assert spent(gate) == 0


def placed(*hazards: Any, tolerance: Any = 0.5, kind: str = "hazard") -> str:
    kinds = {kind: {"severity": list(hazards), "tolerance": tolerance}}
    return json.dumps({"format": "dp_cmdp.Hazards/1", "kinds": kinds})


#: Every way in which a file of hazards can be wrong.
WRONG: list[Any] = [
    NO_HAZARDS,
    "not JSON: 0.7351",
    "",
    OUTSIDE,
    (0.5, -7351.0),
    placed([0, 1, 0.5], [0, 1, 0.5]),
    placed([0, 0, 0.5]),
    placed([7351, 1, 0.5]),
    placed([0.5, 1, 0.5]),
    placed([0, 1, "0.7351"]),
    placed([0, 1, True]),
    placed([0, 1, 0.5], tolerance=[0.5, 0.5]),
    placed([0, 1, 0.5], kind="fire"),
    placed([0, 1, 0.5]).replace('"kinds": {', '"kinds": {"fire": {}, '),
]


def test_hazards_that_are_wrong_have_cost_their_budget_and_nothing_tells_how_they_are(
    gate: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    options, said = spend(gate, str(len(WRONG))), set()
    for content in WRONG:
        set_truth(gate, content)
        assert main(["synthesize", *problem(*options, "--out", "out")]) == 2
        said.add(tuple(capfd.readouterr()))
    assert len(said) == 1
    assert "nothing is refunded" in said.pop()[1]
    assert spent(gate) == len(WRONG)
    assert not (gate / "out").exists()


def test_hazards_that_are_missing_or_unreadable_cost_nothing(
    gate: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    options = spend(gate, "2")
    for make in (lambda: None, (gate / "hazards.json").mkdir):
        make()
        assert main(["synthesize", *problem(*options, "--out", "out")]) == 2
        assert "hazards must name" in capfd.readouterr().err
    assert spent(gate) == 0


# --- what the curator asks for ------------------------------------------------------------------

CURATOR_COMMANDS = {
    "evaluate": (["evaluate", "policy.npz", "--curator", "--out", "out"], "evaluation.json"),
    "rollout": (
        ["rollout", "policy.npz", "--curator", "--episodes", "3", "--out", "out"],
        "rollout.json",
    ),
    "advise": (["advise", "--target", "10", "--out", "out"], "plan.json"),
}


@pytest.mark.parametrize(
    ("command", "json_too"),
    [("evaluate", False), ("evaluate", True), ("rollout", False), ("advise", True)],
)
def test_what_a_curator_asks_for_is_told_to_the_curator_alone(
    gate: Path, capfd: pytest.CaptureFixture[str], command: str, json_too: bool
) -> None:
    """Right through the gate: true cost 0.9 where closed, 0 where open."""
    Policy.deterministic([2, 2, 2], 4).save(gate / "policy.npz")
    arguments, name = CURATOR_COMMANDS[command]
    said, kept = set(), []
    for truth in (TRUTHS["closed"], TRUTHS["open"], NO_HAZARDS):
        set_truth(gate, truth)
        more = ["--json"] if json_too else []
        said.add((main([*arguments, *problem(*more)]), *capfd.readouterr()))
        kept.append((gate / "out/curator_only" / name).read_text())
    assert len(said) == 1
    code, out, err = said.pop()
    assert (code, err) == (0, "")
    assert out.count("\n") == 1
    assert f"out/curator_only/{name}" in out
    assert len(set(kept)) == 3
    assert "failed" in kept[2]
    assert public_files(gate / "out") == {}


def test_the_curators_folder_and_files_are_open_to_their_owner_alone(
    gate: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    set_truth(gate, TRUTHS["open"])
    old = os.umask(0)
    try:
        (gate / "out/curator_only").mkdir(parents=True)  # of mode 777
        options = ["--epsilon", "1", "--delta", "1/1000", "--compare", "--out", "out"]
        assert main(["synthesize", *problem(*options)]) == 0
        for command in ("rollout", "evaluate"):
            policy = ["out/policy.npz", "--curator"]
            assert main([command, *policy, *problem()]) == 0
    finally:
        os.umask(old)
    folder = gate / "out/curator_only"
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (folder, *folder.iterdir())}
    assert modes == {
        "curator_only": 0o700,
        "comparison.json": 0o600,
        "comparison.png": 0o600,
        "rollout.json": 0o600,
        "evaluation.json": 0o600,
    }
    assert "curator_only" in capfd.readouterr().out


def test_nothing_of_an_earlier_run_is_left_beside_a_new_policy(
    gate: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    set_truth(gate, TRUTHS["open"])
    out = gate / "out"
    options = ["--epsilon", "1", "--delta", "1/1000", "--out", "out"]
    assert main(["synthesize", *problem(*options, "--compare")]) == 0
    for command in ("rollout", "evaluate"):
        assert main([command, "out/policy.npz", "--curator", *problem()]) == 0
    (out / "CURATOR_ONLY_comparison.png").touch()  # of an older version
    (out / "notes.txt").write_text("mine")
    assert main(["synthesize", *problem(*options, "--method", "robust")]) == 0
    names = {path.name for path in out.iterdir()}
    assert names == {
        "policy.npz", "layout.json", "certificate.json", "policy.png", "notes.txt",
    }  # fmt: skip


def test_a_run_that_is_refused_leaves_the_earlier_one_as_it_was(
    gate: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    set_truth(gate, TRUTHS["open"])
    options = [*spend(gate, "1"), "--out", "out"]
    assert main(["synthesize", *problem(*options, "--compare")]) == 0
    before = public_files(gate / "out") | public_files(gate / "out/curator_only")
    assert main(["synthesize", *problem(*options)]) == 2
    assert "never written over" in capfd.readouterr().err
    after = public_files(gate / "out") | public_files(gate / "out/curator_only")
    assert after == before
    assert len(after) == 7
