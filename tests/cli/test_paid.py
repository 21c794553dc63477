"""What a release was paid for is on disk once and stays there; nothing that happens loses it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
import weakref
from pathlib import Path
from typing import Any

import pytest

import dp_cmdp as dp
from dp_cmdp._src.release import publish as publishing

LP = ("solve", "farm.lp", "--private", "spec.toml", "--strategy", "entries")
ONCE = ("--epsilon", "1", "--delta", "1/1000", "--out", "out")
PAID = ("--ledger", "one.ledger", "--account", "account")


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def broken(error: BaseException) -> Any:
    def answer(*arguments: Any, **more: Any) -> Any:
        raise error

    return answer


def test_a_release_that_cannot_be_read_may_be_paid_for(farm: Path, say: Any) -> None:
    (farm / "out").mkdir()
    (farm / "out/release.npz").write_bytes(b"of another version")
    assert "never written over" in say(*LP, *ONCE)[2]
    assert (farm / "out/release.npz").read_bytes() == b"of another version"


@pytest.mark.parametrize("which", [LP[1:4], ("corridor",)])
def test_an_interrupted_command_is_gone_on_from_without_spending(
    farm: Path, say: Any, account: dp.PrivacyLedger, monkeypatch: pytest.MonkeyPatch,
    which: tuple[str, ...],
) -> None:  # fmt: skip
    with monkeypatch.context() as patch:
        patch.setattr(publishing, "answered", broken(KeyboardInterrupt()))
        assert say("solve", *which, "--strategy", "entries", *ONCE, *PAID)[0] == 130
    assert list(contents(farm / "out")) == ["release.npz"]
    paid = (farm / "out/release.npz").read_bytes()
    assert say("answer", *which, "--release", "out/release.npz", "--out", "out")[0] == 0
    assert (farm / "out/release.npz").read_bytes() == paid
    assert say("verify", "out")[0] == 0
    assert account.spent.epsilon == 1


def test_a_release_put_there_meanwhile_stays_and_the_new_one_is_written_beside_it(
    farm: Path, say: Any, account: dp.PrivacyLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = dp.publish

    def publish(*arguments: Any, **more: Any) -> Any:
        release = real(*arguments, **more)
        (farm / "out/release.npz").write_bytes(b"of another command")
        return release

    monkeypatch.setattr(dp, "publish", publish)
    code, _, err = say(*LP, *ONCE, *PAID)
    assert code == 2
    assert "never written over" in err
    assert contents(farm / "out") == {"release.npz": b"of another command"}
    (kept,) = farm.glob("out-*/release.npz")
    assert f"out{kept.parent.name[3:]}/release.npz" in err
    assert dp.Release.load(kept).ledger_reference == str(account.head)


def test_an_error_after_the_release_is_one_line_and_where_the_release_is(
    farm: Path, say: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    error = dp.errors.SolverError("no answer")
    monkeypatch.setattr(publishing, "answered", broken(error))
    code, out, err = say(*LP, *ONCE)
    assert (code, out) == (2, "")
    assert err.splitlines()[-2:] == [
        "dp-cmdp: note: what was released is not lost: out/release.npz",
        "dp-cmdp solve: error: no answer",
    ]


def test_control_c_within_a_finalizer_is_not_lost(
    farm: Path, say: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Held:
        """Like a compiled chain: something is freed when it goes."""

    def advise(*_: Any, **__: Any) -> None:
        held = Held()
        weakref.finalize(held, signal.raise_signal, signal.SIGINT)
        del held  # Python drops what a finalizer raises
        time.sleep(20)

    monkeypatch.setattr(dp, "advise", advise)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        code, _, err = say("advise", "rooms")
    finally:
        signal.signal(signal.SIGINT, before)
    assert code == 130
    assert "interrupted" in err


def test_control_c_is_clean(tmp_path: Path) -> None:
    code = "from dp_cmdp._src.cli.main import main; raise SystemExit(main())"
    command = ["advise", "rooms", "--draws", "5000", "--out", str(tmp_path / "out")]
    process = subprocess.Popen(
        [sys.executable, "-c", code, *command],
        stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's & ignores it
    )  # fmt: skip
    while not (tmp_path / "out").exists() and process.poll() is None:
        pass
    process.send_signal(signal.SIGINT)
    try:
        _, err = process.communicate(timeout=60)
    finally:
        process.kill()  # one that does not stop must not disturb the tests after it
    assert process.returncode == 130
    assert "interrupted" in err
    assert "Traceback" not in err
    assert not (tmp_path / "out").exists()


def test_the_ledger_is_debited_once_and_refuses(farm: Path, said: Any, say: Any) -> None:
    create = ("ledger", "create", "l.ledger", "--account", "site-7", "--unit", "one crew")
    made = said(*create, "--epsilon", "1", "--delta", "1/1000")
    assert made["accounts"][0]["remaining"] == {"epsilon": "1", "delta": "1/1000"}
    pay = ("--epsilon", "2/3", "--delta", "1/2000", "--ledger", "l.ledger", "--account", "site-7")
    assert said(*LP, *pay, "--unit", "one crew", "--out", "a")["epsilon"] == pytest.approx(2 / 3)
    code, _, err = say(*LP, *pay, "--out", "b")
    assert (code, "remain" in err) == (2, True)
    code, _, err = say(*LP, *pay, "--unit", "one visit", "--out", "b")
    assert (code, "'one crew'" in err) == (2, True)
    assert not (farm / "b").exists()
    shown = said("ledger", "show", "l.ledger")
    assert shown["accounts"][0]["spent"] == {"epsilon": "2/3", "delta": "1/2000"}
    assert [debit["note"] for debit in shown["debits"]] == ["publish entries"]
    assert said("ledger", "verify", "l.ledger", "--pinned", made["head"])["pinned"]
    assert say("ledger", "verify", "l.ledger", "--pinned", "2:" + 64 * "0")[0] == 2
    assert (
        json.loads((farm / "a/certificate.json").read_text())["release"]["ledger"]
        == (shown["head"])
    )


def test_a_ledger_that_is_none_is_refused_by_name(farm: Path, say: Any) -> None:
    (farm / "blank").touch()
    for file in ("missing", "blank", "spec.toml"):
        code, out, err = say("ledger", "show", file)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert file in err
