"""Commands say nothing that depends on the truth: output, exit code and public files.

The truths of the gate are extreme, adjacent, or no hazards at all. Where two of them gave the same
release, what everybody sees must be the same byte for byte.
"""

from __future__ import annotations

import json
import os
import stat
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import dp_cmdp as dp
from dp_cmdp._src.data.database import Database

#: (severity, limit): best value 0; a neighbour; best value 0.9, at either end of the limit.
TRUTHS = {"closed": (1.0, 0.0), "adjacent": (0.9, 0.0), "open": (0.0, 1.0), "strict": (0.0, 0.0)}
NO_HAZARDS = '{"format": "dp_cmdp.Hazards/2", "kinds": {"hazard": {"severity": 0.7351}}}'
GRID = ("gate.json", "--data", "hazards.json", "--out", "out")
BUDGET = ("--epsilon", "1", "--delta", "1/1000")
PAID = ("--ledger", "one.ledger", "--account", "account")


def public_files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def kept(folder: Path, name: str) -> Any:
    return json.loads((folder / "out/curator_only" / name).read_text())


@pytest.fixture
def one_release(gate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is read and measured, the release that comes of it is the same."""
    from dp_cmdp._src.verbs import spend

    real, first = spend.published, []

    def publish(*arguments: Any, **more: Any) -> Any:
        first.append(real(*arguments, **more))
        return first[0]

    monkeypatch.setattr(spend, "published", publish)


@pytest.mark.parametrize("more", [(), ("--json",), ("--compare",), ("--compare", "--json")])
def test_of_truths_with_one_release_nothing_tells_which_it_was(
    gate: Path, one_release: None, set_truth: Any, say: Any, more: tuple[str, ...]
) -> None:
    found, best = [], []
    for values in TRUTHS.values():
        set_truth(*values)
        found.append((say("solve", *GRID, *BUDGET, *more), public_files(gate / "out")))
        if "--compare" in more:  # the curator is told
            best.append(kept(gate, "comparison.json")["best"])
            assert (gate / "out/curator_only/comparison.png").exists()
    assert found[0][0][0] == 0
    assert best in ([], [0.0, 0.0, pytest.approx(0.9), pytest.approx(0.9)])
    assert all(each == found[0] for each in found)
    assert set(found[0][1]) == {
        "problem.npz", "release.npz", "answer.npz", "certificate.json", "layout.json", "answer.png",
    }  # fmt: skip


def test_a_comparison_that_fails_fails_in_the_curators_folder(
    gate: Path, set_truth: Any, say: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_truth(*TRUTHS["open"])
    good = say("solve", *GRID, *BUDGET, "--strategy", "entries", "--compare")
    monkeypatch.setattr(dp.curator, "compare", lambda *_: 1 / 0)
    bad = say("solve", *GRID, *BUDGET, "--strategy", "entries", "--compare")
    assert (good[0], bad[0], bad[2]) == (0, 0, good[2])
    assert list(kept(gate, "comparison.json")) == ["failed"]


def test_all_that_is_printed_can_be_computed_from_the_public_files(
    gate: Path, set_truth: Any, said: Any
) -> None:
    set_truth(0.2, 0.8)
    printed = said("solve", *GRID, "--epsilon", "8", "--delta", "1/1000", "--compare")
    assert printed.pop("comparison") == "out/curator_only"
    assert printed == json.loads((gate / "out/certificate.json").read_text())
    model, release = dp.envs.HazardGridEnv("gate.json").model(), dp.Release.load("out/release.npz")
    found = dp.answer(model, release)
    assert printed["value"] == pytest.approx(max(found.value, found.robust.value), abs=1e-9)
    assert printed["robust"] == {"value": found.robust.value}
    assert printed["release"]["saturation"] == release.saturation
    assert (printed["epsilon"], printed["delta"]) == (8.0, 0.001)


# --- the order: public checks, debit, data ------------------------------------------------------


@pytest.mark.filterwarnings("default")
def test_what_reading_private_files_warns_of_is_not_shown(
    gate: Path, set_truth: Any, say: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = dp.envs.Hazards.values

    def values(self: Any) -> Any:
        warnings.warn("7351 is a strange number", RuntimeWarning, stacklevel=1)
        return real(self)

    set_truth(*TRUTHS["open"])
    monkeypatch.setattr(dp.envs.Hazards, "values", values)
    code, out, err = say("publish", *GRID, *BUDGET, "--strategy", "entries")
    assert (code, "7351" in out + err) == (0, False)


@pytest.mark.parametrize("refusal", ["budget", "layout", "folder", "curator folder", "prior"])
def test_hazards_are_not_read_before_all_public_checks_and_the_debit(
    gate: Path, account: dp.PrivacyLedger, set_truth: Any, say: Any, refusal: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    set_truth(*TRUTHS["open"])
    monkeypatch.setattr(Database, "read", lambda self: pytest.fail("the data were read"))
    options = [*BUDGET, *PAID]
    if refusal == "budget":
        options[1] = "5"
    if refusal == "layout":  # no policy is safe for every database: it starts in the hazard
        layout = json.loads((gate / "gate.json").read_text())
        layout["kinds"][0]["cells"] = [[0, 0]]
        (gate / "gate.json").write_text(json.dumps(layout))
    if refusal == "folder":
        (gate / "out").touch()
    if refusal == "curator folder":
        (gate / "out").mkdir()
        (gate / "out/curator_only").symlink_to(gate)
    if refusal == "prior":
        options += ["--prior", "nowhere.json"]
    code, _, err = say("solve", *GRID, *options)
    assert (code, err.count("error: ")) == (2, 1), err
    assert account.spent.epsilon == 0


def placed(*hazards: Any, limit: Any = 0.5, kind: str = "hazard") -> str:
    kinds = {kind: {"severity": list(hazards), "limit": limit}}
    return json.dumps({"format": "dp_cmdp.Hazards/2", "kinds": kinds})


#: Every way in which a file of hazards can be wrong.
WRONG: list[str] = [
    NO_HAZARDS,
    "not JSON: 0.7351",
    "",
    placed([0, 1, 7351.0]),
    placed([0, 1, 0.5], limit=-7351.0),
    placed([0, 1, 0.5], [0, 1, 0.5]),
    placed([0, 0, 0.5]),
    placed([7351, 1, 0.5]),
    placed([0, 1, "0.7351"], limit="much"),
    placed([0, 1, 0.5], limit=[0.5, 0.5]),
    placed([0, 1, 0.5], kind="fire"),
    placed([0, 1, 0.5]).replace('"kinds": {', '"kinds": {"fire": {}, '),
]


def test_hazards_that_are_wrong_have_cost_their_budget_and_nothing_tells_how_they_are(
    gate: Path, say: Callable[..., Any]
) -> None:
    total = 2 * len(WRONG)
    ledger = dp.PrivacyLedger.create("one.ledger", "account", epsilon=total, delta="1/10")
    told = set()
    for content in WRONG:
        (gate / "hazards.json").write_text(content)
        told.add(say("solve", *GRID, *BUDGET, *PAID, "--strategy", "entries"))
        told.add(say("publish", *GRID, *BUDGET, *PAID, "--strategy", "entries"))
    assert len({(code, out, err.partition(": ")[2]) for code, out, err in told}) == 1
    code, out, err = told.pop()
    assert (code, out) == (2, "")
    assert "cannot be used" in err
    assert "nothing is refunded" in err
    assert ledger.spent.epsilon == total
    assert not (gate / "out").exists()


def test_a_table_of_hazards_is_read_by_its_labels_and_refused_in_the_same_text(
    gate: Path, said: Any, say: Any
) -> None:
    good = "group,row,col,value\nlimit,,,0.7\ncost,0,1,0.25\n"
    table = ("gate.json", "--data", "hazards.csv")
    (gate / "hazards.csv").write_text(good)
    once = (*table, *BUDGET, "--strategy", "entries", "--out", "out")
    assert said("solve", *once)["certificate"]["verified"]
    assert said("evaluate", "out", "--curator", *table[1:])
    assert "0.7" in (gate / "out/curator_only/evaluation.json").read_text()
    wrong = ["", good + "cost,0,1,0.25\n", "group,row,value\ncost,0,0.25\n"]
    wrong += [good.replace(*pair) for pair in (("0.25", "1e30"), ("0.25", "nan"), ("0,1,", "7,7,"))]
    ledger = dp.PrivacyLedger.create("one.ledger", "account", epsilon=9, delta="1/10")
    told = set()
    for content in wrong:
        (gate / "hazards.csv").write_text(content)
        told.add(say("solve", *once[:-1], "other", *PAID))
    ((code, out, err),) = told
    assert (code, out, "cannot be used" in err) == (2, "", True)
    assert ledger.spent.epsilon == len(wrong)


# --- what the curator asks for ------------------------------------------------------------------

CURATOR = {
    "evaluate": (("evaluate", "gate.json", "policy.npz"), "evaluation.json"),
    "rollout": (("rollout", "gate.json", "policy.npz", "--episodes", "3"), "rollout.json"),
}


@pytest.mark.parametrize("json_too", [(), ("--json",)])
@pytest.mark.parametrize("command", CURATOR)
def test_what_a_curator_asks_for_is_told_to_the_curator_alone(
    gate: Path, set_truth: Any, say: Any, command: str, json_too: tuple[str, ...]
) -> None:
    """Right through the gate: true cost 0.9 where closed, 0 where open."""
    dp.Policy.deterministic([2, 2, 2], 4).save(gate / "policy.npz")
    arguments, name = CURATOR[command]
    told, found = set(), []
    for values in (TRUTHS["closed"], TRUTHS["open"], None):
        if values is None:
            (gate / "hazards.json").write_text(NO_HAZARDS)
        else:
            set_truth(*values)
        told.add(say(*arguments, "--curator", *GRID[1:], *json_too))
        found.append((gate / "out/curator_only" / name).read_text())
    ((code, out, err),) = told
    assert (code, err, out.count("\n")) == (0, "", 1)
    assert f"out/curator_only/{name}" in out
    assert len(set(found)) == 3
    assert "failed" in found[2]
    assert public_files(gate / "out") == {}


def test_the_curators_folder_and_files_are_open_to_their_owner_alone(
    gate: Path, set_truth: Any, say: Any
) -> None:
    set_truth(*TRUTHS["open"])
    old = os.umask(0)
    try:
        (gate / "out/curator_only").mkdir(parents=True)  # of mode 777
        assert say("solve", *GRID, *BUDGET, "--compare")[0] == 0
        for command in ("rollout", "evaluate"):
            assert say(command, "out", "--curator", "--data", "hazards.json")[0] == 0
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


def test_nothing_of_an_earlier_run_is_left_beside_a_new_answer(
    gate: Path, set_truth: Any, say: Any
) -> None:
    set_truth(*TRUTHS["open"])
    assert say("solve", *GRID, *BUDGET, "--compare")[0] == 0
    assert say("evaluate", "out", "--curator", "--data", "hazards.json")[0] == 0
    (gate / "out/notes.txt").write_text("mine")
    assert say("answer", "gate.json", "--out", "out")[0] == 0
    assert {path.name for path in (gate / "out").iterdir()} == {
        "problem.npz", "answer.npz", "layout.json", "certificate.json", "answer.png", "notes.txt",
    }  # fmt: skip
