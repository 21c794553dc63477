"""What a release was paid for is on disk once and stays there; nothing that happens loses it."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.promises.adapter import (
    Database,
    Envelope,
    HazardGridEnv,
    Interrupted,
    PrivacyLedger,
    Release,
    breaking_answers,
    command,
    explorer_of_auction,
    linear_program,
    new_account,
    paid_entry,
    pressing_during_noise,
    private_parameter,
    released_by,
    spend,
    spend_cvxpy,
    spend_two_looks,
    spent,
)

PRICES = "group,advertiser,price\n0,0,0.3\n0,1,0.6\n1,0,0.5\n1,1,0.2\n"
SPEC = '[[private]]\nkind = "rhs"\nrows = ["LAND"]\nlower = 3\nupper = 5\nradius = 0.1\n'
FARM = "max\n value: 3 x + 2 y\nst\n LAND: x + y <= 4\n WORK: 2 x + y <= 6\nend\n"


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder to work in, with a small program whose right-hand side is private."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "farm.lp").write_text(FARM)
    (tmp_path / "spec.toml").write_text(SPEC)
    return tmp_path


# ------------------------------------------------------------------------------ never written over


def test_every_release_of_the_explorer_has_a_folder_of_its_own(tmp_path: Path) -> None:
    """Also of an explorer that is started again, and of one whose ledger is another."""
    prices = tmp_path / "prices.csv"
    prices.write_text(PRICES)
    written: dict[Path, dict[str, bytes]] = {}
    for ledger in ("one.sqlite", "one.sqlite", "other.sqlite"):
        explorer = explorer_of_auction(
            prices=prices,
            ledger=tmp_path / ledger,
            account="site",
            total=(4, "4/1000"),
            out=tmp_path / "out",
        )
        for _ in range(2):
            folder = released_by(explorer, epsilon=1, delta="1/1000")
            assert folder not in written
            written[folder] = contents(folder)
            assert "release.npz" in written[folder]
            assert all(contents(earlier) == found for earlier, found in written.items())
    assert len({found["release.npz"] for found in written.values()}) == 6


LP = ("solve", "farm.lp", "--private", "spec.toml", "--strategy", "entries")
GRID = ("solve", "corridor", "--strategy", "entries")
ONCE = ("--epsilon", "1", "--delta", "1/1000", "--out", "out")
PAID = ("--ledger", "one.sqlite", "--account", "account")


@pytest.mark.parametrize("which", [LP, GRID])
def test_a_command_refuses_to_write_over_a_paid_release_before_it_spends(
    place: Path, capsys: Any, which: tuple[str, ...]
) -> None:
    """Whoever paid for it, and whoever pays now; also where nothing is to be released."""
    ledgers = [new_account(place / "one.sqlite"), new_account(place / "other.sqlite")]
    assert command(*which, *ONCE, *PAID) == 0
    found, before = contents(place / "out"), [spent(ledger) for ledger in ledgers]
    other = ("--ledger", "other.sqlite", "--account", "account")
    for account in (PAID, other, ()):
        assert command(*which, *ONCE, *account) == 2
        assert "never written over" in capsys.readouterr().err
    if which is GRID:
        assert command("answer", "corridor", *ONCE[-2:]) == 2
    assert contents(place / "out") == found
    assert [spent(ledger) for ledger in ledgers] == before == [1.0, 0.0]
    assert command(*which, *ONCE[:-1], "another", *other) == 0


# --------------------------------------------------------------------------------- never lost


def small_program() -> Any:
    return linear_program(
        Envelope([0.5, 0.5, 3], [2, 2, 5], radius=0.05),
        maximize=[3, 2],
        rows=[{0: 0, 1: 1}],
        limits=[2],
    )


def capacities() -> tuple[Any, dict[Any, Any]]:
    import cvxpy as cp

    cap = private_parameter(2, lower=1, upper=9, radius=0.2)
    flow = cp.Variable(2, nonneg=True)
    return cp.Problem(cp.Maximize(cp.sum(flow)), [flow <= cap]), {cap: [4, 6]}


def curved() -> tuple[Any, dict[Any, Any]]:
    import cvxpy as cp

    cap = private_parameter(2, lower=1, upper=9, radius=0.2)
    flow = cp.Variable(2, nonneg=True)
    return cp.Problem(cp.Minimize(cp.sum_squares(flow - 5)), [flow <= cap]), {cap: [4, 6]}


def a_program(ledger: PrivacyLedger) -> Any:
    problem = small_program()
    return spend(problem, Database([1, 1.5, 4], problem.envelope), ledger)


def a_model(ledger: PrivacyLedger) -> Any:
    env = HazardGridEnv("corridor", access="curator")
    return spend(env.model(), env.database(), ledger)


def two_looks(ledger: PrivacyLedger) -> Any:
    problem = small_program()
    database = Database([1, 1.5, 4], problem.envelope)
    return spend_two_looks(problem, database, ledger)


CALLS: dict[str, Callable[[PrivacyLedger], Any]] = {
    "program": a_program,
    "model": a_model,
    "cvxpy": lambda ledger: spend_cvxpy(*capacities(), ledger),
    "curved": lambda ledger: spend_cvxpy(*curved(), ledger),
    "values": lambda ledger: spend_cvxpy(*capacities(), ledger),
}


def check_carried(error: BaseException, ledger: PrivacyLedger) -> Release:
    """The exception has the release of the ledger's only debit, and says so."""
    assert spent(ledger) == 1.0
    release = getattr(error, "release", None)
    assert isinstance(release, Release)
    assert paid_entry(release) == ledger.entries()[-1].index
    assert any("release" in note for note in error.__notes__)
    return release


@pytest.mark.parametrize("kind", CALLS)
@pytest.mark.parametrize(
    "error", [KeyboardInterrupt, MemoryError, ValueError, OSError, Interrupted, SystemExit]
)
def test_whatever_is_raised_after_the_debit_carries_the_release(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, error: type[BaseException]
) -> None:
    ledger = new_account(tmp_path / "ledger.sqlite")
    breaking_answers(monkeypatch, kind, error())
    with pytest.raises(error) as raised:
        CALLS[kind](ledger)
    check_carried(raised.value, ledger)


@pytest.mark.parametrize("call", [a_program, a_model, two_looks])
def test_control_c_while_noise_is_drawn_waits_for_the_release(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: Callable[[PrivacyLedger], Any]
) -> None:
    ledger = new_account(tmp_path / "ledger.sqlite")
    pressing_during_noise(monkeypatch, lambda: os.kill(os.getpid(), signal.SIGINT))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs ignore it
    try:
        with pytest.raises(KeyboardInterrupt) as raised:
            call(ledger)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
    check_carried(raised.value, ledger)


def test_the_explorer_keeps_a_release_that_is_not_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "prices.csv").write_text(PRICES)
    explorer = explorer_of_auction(
        prices=tmp_path / "prices.csv",
        ledger=tmp_path / "ledger.sqlite",
        account="account",
        total=(4, "4/1000"),
        out=tmp_path / "out",
    )
    breaking_answers(monkeypatch, "program", MemoryError())
    for _ in range(2):
        with pytest.raises(MemoryError):
            released_by(explorer, epsilon=1, delta="1/1000")
    kept = [Release.load(path) for path in sorted((tmp_path / "out").glob("*/release.npz"))]
    assert [paid_entry(release) for release in kept] == [2, 3]
    assert not np.array_equal(kept[0].estimate, kept[1].estimate)
