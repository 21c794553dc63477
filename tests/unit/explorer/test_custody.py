"""A real database behind the page: the debit comes first, and nothing private is shown."""

import json

import pytest

from dp_cmdp import PrivacyBudget, PrivacyLedger
from dp_cmdp.cli import main
from dp_cmdp.envs import named_layout
from dp_cmdp.errors import (
    BudgetExceededError,
    DPCMDPError,
    InvalidArgumentError,
    LedgerError,
)
from dp_cmdp.explorer import map_svg
from dp_cmdp.explorer.cell_words import cell_words
from dp_cmdp.explorer.custody import Custody
from dp_cmdp.explorer.files import GRID_FILES
from dp_cmdp.explorer.words import refusal
from dp_cmdp.verification.files import verify
from tests.marked import DIGITS, MARKS, marked_in_bytes

BUDGET = PrivacyBudget("1/2", "1/10000")
LAYOUT = named_layout("islands")


@pytest.fixture
def place(tmp_path):
    """A ledger with room for three releases, and marked hazards."""
    cells = LAYOUT.kinds[0].cells[:20]
    severity = [[c // 10, c % 10, float(m)] for c, m in zip(cells, MARKS, strict=False)]
    kinds = {"hazard": {"severity": severity, "tolerance": 0.7 + float(MARKS[10])}}
    (tmp_path / "mine.json").write_text(json.dumps({"format": "dp_cmdp.Hazards/1", "kinds": kinds}))
    PrivacyLedger(tmp_path / "l.sqlite").create("site", PrivacyBudget("3/2", "3/10000"))
    return tmp_path


def custody(place, **changes):
    facts = {
        "layout": LAYOUT,
        "hazards": place / "mine.json",
        "ledger": place / "l.sqlite",
        "identity": "site",
        "out": place / "out",
    }
    return Custody(**{**facts, **changes})


def test_each_release_spends_and_is_written_before_it_is_shown(place):
    kept = custody(place)
    for count in (1, 2, 3):
        made = kept.release(BUDGET, "database")
        assert made.private.release.secure
        assert kept.remaining().epsilon == (3 - count) * BUDGET.epsilon
        assert {path.name for path in made.folder.iterdir()} == set(GRID_FILES)
        assert verify(*(made.folder / name for name in GRID_FILES[:3])) is not None
    assert kept.share_left() == 0
    assert "remaining ε = 0" in kept.account()
    assert len(kept.made) == 3
    with pytest.raises(BudgetExceededError):
        kept.release(BUDGET, "database")


def test_nothing_that_is_shown_or_written_carries_a_private_number(place):
    kept = custody(place)
    made = kept.release(PrivacyBudget("3/2", "3/10000"), "database")
    release = made.private.release
    shown = map_svg.data_map(LAYOUT, release=release)
    shown += "".join(
        cell_words(LAYOUT, cell, release=release, severity=None) for cell in range(100)
    )
    assert DIGITS not in shown + kept.account() + repr(kept) + repr(made)
    for path in made.folder.iterdir():
        assert not marked_in_bytes(path.read_bytes())


def test_looking_spends_nothing_and_reads_nothing(place):
    kept = custody(place)
    (place / "mine.json").write_text("not read: " + DIGITS)
    looked = [kept.remaining(), kept.account(), kept.share_left(), kept.model]
    assert DIGITS not in repr(looked)
    assert kept.remaining().epsilon == PrivacyBudget("3/2", "1/2").epsilon


def test_the_debit_comes_before_the_first_read_and_a_bad_file_tells_nothing(place):
    kept = custody(place)
    (place / "mine.json").write_text('{"format": "dp_cmdp.Hazards/1", "kinds": "' + DIGITS)
    with pytest.raises(DPCMDPError) as error:
        kept.release(BUDGET, "database")
    assert DIGITS not in refusal(error.value)
    assert error.value.__context__ is None
    assert kept.remaining().epsilon == 2 * BUDGET.epsilon
    assert kept.made == []


def test_over_budget_is_refused_before_the_file_is_read(place):
    kept = custody(place)
    (place / "mine.json").write_text("unreadable")
    with pytest.raises(BudgetExceededError):
        kept.release(PrivacyBudget(2, "1/10000"), "database")
    assert kept.remaining().epsilon == 3 * BUDGET.epsilon


def test_two_presses_at_once_are_one_release(place):
    kept = custody(place)
    assert kept._lock.acquire(blocking=False)
    with pytest.raises(InvalidArgumentError, match="under way"):
        kept.release(BUDGET, "database")
    kept._lock.release()
    assert kept.remaining().epsilon == 3 * BUDGET.epsilon


def test_what_was_paid_for_is_kept_when_the_disk_refuses(place):
    kept = custody(place)
    (place / "out").write_text("a file where a folder should be")
    with pytest.raises(OSError):
        kept.release(BUDGET, "database")
    assert len(kept.made) == 1


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"identity": "nobody"}, DPCMDPError),
        ({"ledger": "none.sqlite"}, LedgerError),
        ({"hazards": "none.json"}, InvalidArgumentError),
    ],
)
def test_what_is_missing_is_refused_at_the_start(place, changes, error):
    given = {k: place / v if k != "identity" else v for k, v in changes.items()}
    with pytest.raises(error):
        custody(place, **given)


def test_of_foreign_errors_only_the_kind_is_said():
    assert DIGITS not in refusal(ValueError(DIGITS))
    assert "ValueError" in refusal(ValueError(DIGITS))


@pytest.mark.parametrize("given", ["--hazards", "--ledger", "--identity", "--layout"])
def test_the_command_asks_for_a_ledger_and_all_else_that_a_real_database_needs(
    given, capsys, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    assert main(["explore", "--no-browser", given, "islands"]) == 2
    said = capsys.readouterr().err
    assert "released against a ledger only" in said
    assert not list(tmp_path.iterdir())


def test_a_port_out_of_range_is_refused(capsys):
    assert main(["explore", "--no-browser", "--port", "70000"]) == 2
    assert "--port" in capsys.readouterr().err
