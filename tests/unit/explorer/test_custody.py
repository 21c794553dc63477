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
from dp_cmdp.explorer.sources import AuctionSource, FileSource, GridSource
from dp_cmdp.explorer.words import refusal
from dp_cmdp.verification.files import verify
from tests.marked import DIGITS, MARKS, marked_in_bytes
from tests.unit.explorer.test_program_design import MODEL, SPEC

BUDGET = PrivacyBudget("1/2", "1/10000")
LAYOUT = named_layout("islands")


@pytest.fixture
def place(tmp_path):
    """A ledger with room for three releases, and files whose private numbers are marked."""
    cells = LAYOUT.kinds[0].cells[:20]
    severity = [[c // 10, c % 10, float(m)] for c, m in zip(cells, MARKS, strict=False)]
    kinds = {"hazard": {"severity": severity, "tolerance": 0.7 + float(MARKS[10])}}
    prices = [[i, j, float(MARKS[2 * i + j])] for i in (1, 0) for j in (0, 1)]
    files = {
        "mine.json": json.dumps({"format": "dp_cmdp.Hazards/1", "kinds": kinds}),
        "mine.csv": _csv("row,col,severity", severity),
        "limits.csv": _csv("kind,tolerance", [["hazard", 0.7 + float(MARKS[10])]]),
        "model.mps": MODEL,
        "spec.toml": SPEC,
        "values.csv": _csv("group,row,column,value", [["capacity", "HOURS", "", f"100.{DIGITS}"]]),
        "prices.csv": _csv("group,advertiser,price", prices),
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    PrivacyLedger(tmp_path / "l.sqlite").create(
        "site", PrivacyBudget("3/2", "3/10000"), "one person"
    )
    return tmp_path


def _csv(head, rows):
    return "\n".join([head, *(",".join(map(str, row)) for row in rows)]) + "\n"


SOURCES = {
    "grid": lambda place: GridSource(LAYOUT, place / "mine.json"),
    "table": lambda place: GridSource(LAYOUT, place / "mine.csv", place / "limits.csv"),
    "file": lambda place: FileSource(
        *(place / name for name in ("model.mps", "spec.toml", "values.csv"))
    ),
    "auction": lambda place: AuctionSource(2, 2, 0.1, place / "prices.csv"),
}
#: The private files of each.
PRIVATE = {
    "grid": ("mine.json",),
    "table": ("mine.csv", "limits.csv"),
    "file": ("values.csv",),
    "auction": ("prices.csv",),
}
KINDS = pytest.mark.parametrize("kind", SOURCES)


def custody(place, kind="grid", **changes):
    facts = {
        "source": SOURCES[kind](place),
        "ledger": place / "l.sqlite",
        "identity": "site",
        "out": place / "out",
    }
    return Custody(**{**facts, **changes})


@KINDS
def test_each_release_spends_and_is_written_before_it_is_shown(place, kind):
    kept = custody(place, kind)
    for count in (1, 2, 3):
        made = kept.release(BUDGET, "database")
        assert made.private.release.secure
        assert kept.remaining().epsilon == (3 - count) * BUDGET.epsilon
        assert {path.name for path in made.folder.iterdir()} == set(kept.source.files)
        assert verify(*(made.folder / name for name in kept.source.files[:3])) is not None
    assert kept.share_left() == 0
    assert "remaining ε = 0" in kept.account()
    assert len(kept.made) == 3
    with pytest.raises(BudgetExceededError):
        kept.release(BUDGET, "database")


@KINDS
def test_nothing_that_is_written_carries_a_private_number(place, kind):
    kept = custody(place, kind)
    assert any(DIGITS in (place / name).read_text() for name in PRIVATE[kind])
    made = kept.release(PrivacyBudget("3/2", "3/10000"), "database")
    assert DIGITS not in kept.account() + repr(kept) + repr(made) + repr(kept.source)
    for path in made.folder.iterdir():
        assert not marked_in_bytes(path.read_bytes())


def test_nothing_that_is_shown_of_a_grid_carries_a_private_number(place):
    release = custody(place).release(PrivacyBudget("3/2", "3/10000"), "database").private.release
    shown = map_svg.data_map(LAYOUT, release=release)
    shown += "".join(
        cell_words(LAYOUT, cell, release=release, severity=None) for cell in range(100)
    )
    assert DIGITS not in shown


@KINDS
def test_released_intervals_hold_what_the_private_files_say(place, kind):
    kept = custody(place, kind)
    values = kept.source.database("site").values
    assert values.size == kept.source.public().envelope.num_entries
    release = kept.release(BUDGET, "database").private.release
    assert (release.lower <= values).all()
    assert (values <= release.upper).all()


def test_a_table_of_hazards_and_a_file_of_hazards_are_the_same_database(place):
    one, other = (SOURCES[kind](place).database("site").values for kind in ("grid", "table"))
    assert (one == other).all()


def test_prices_are_found_by_their_numbers_in_any_order(place):
    values = SOURCES["auction"](place).database("site").values
    assert values.tolist() == [float(mark) for mark in MARKS[:4]]


@KINDS
def test_looking_spends_nothing_and_reads_nothing(place, kind):
    for name in PRIVATE[kind]:
        (place / name).write_text("not read: " + DIGITS)
    kept = custody(place, kind)
    looked = [kept.remaining(), kept.account(), kept.share_left(), kept.source.public()]
    looked.append(kept.source.database("site"))
    assert DIGITS not in repr(looked)
    assert kept.remaining().epsilon == PrivacyBudget("3/2", "1/2").epsilon


BROKEN = {
    "mine.json": '{"format": "dp_cmdp.Hazards/1", "kinds": "' + DIGITS,
    "mine.csv": f"row,col,severity\n0,6,{DIGITS}\n",
    "limits.csv": f"kind,tolerance\nhazard,0.7\nhazard,{DIGITS}\n",
    "values.csv": f"group,row,column,value\ncapacity,{DIGITS},,100\n",
    "prices.csv": f"group,advertiser,price\n0,-1,0.{DIGITS}\n0,0,1\n1,0,1\n1,1,1\n",
}


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind, names in PRIVATE.items() for name in names]
)
def test_the_debit_comes_before_the_first_read_and_a_bad_file_tells_nothing(place, kind, name):
    kept = custody(place, kind)
    (place / name).write_text(BROKEN[name])
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
    ("changes", "error"), [({"identity": "nobody"}, DPCMDPError), ({"ledger": "none"}, LedgerError)]
)
def test_an_unknown_account_is_refused_at_the_start(place, changes, error):
    given = {k: place / v if k != "identity" else v for k, v in changes.items()}
    with pytest.raises(error):
        custody(place, **given)


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind, names in PRIVATE.items() for name in names]
)
def test_a_missing_file_is_refused_at_the_start(place, kind, name):
    (place / name).unlink()
    with pytest.raises(InvalidArgumentError):
        custody(place, kind)


def test_tolerances_come_with_tables_of_hazards_and_only_with_them(place):
    for name, limits in (("mine.csv", None), ("mine.json", place / "limits.csv")):
        with pytest.raises(InvalidArgumentError, match="tolerances"):
            GridSource(LAYOUT, place / name, limits)


def test_of_foreign_errors_only_the_kind_is_said():
    assert DIGITS not in refusal(ValueError(DIGITS))
    assert "ValueError" in refusal(ValueError(DIGITS))


@pytest.mark.parametrize(
    "given",
    [
        ("--hazards", "mine.json"),
        ("--ledger", "l.sqlite"),
        ("--identity", "site"),
        ("--layout", "islands"),
        ("--layout", "islands", "--hazards", "mine.json"),
        ("--model", "model.mps", "--private", "spec.toml", "--data", "values.csv"),
        ("--auction", "2x2", "--data", "prices.csv"),
        ("--data", "prices.csv", "--ledger", "l.sqlite", "--identity", "site"),
        ("--price-radius", "0.1"),
    ],
)
def test_the_command_asks_for_a_ledger_and_all_else_that_a_real_database_needs(
    given, capsys, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    assert main(["explore", "--no-browser", *given]) == 2
    said = capsys.readouterr().err
    assert "released against a ledger only" in said
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "given",
    [
        ("--auction", "2x2", "--hazards", "mine.json"),
        ("--model", "model.mps", "--layout", "islands"),
        ("--model", "model.mps", "--price-radius", "0.1"),
        ("--auction", "2x2", "--tolerances", "limits.csv"),
    ],
)
def test_two_databases_at_once_are_refused(given, capsys):
    assert main(["explore", "--no-browser", *given]) == 2
    assert "one database is named at a time" in capsys.readouterr().err


@pytest.mark.parametrize("size", ["10", "0x5", "10x21", "101x2", "tenxfive", "-1x2"])
def test_the_size_of_an_auction_is_checked(size, capsys):
    with pytest.raises(SystemExit):
        main(["explore", f"--auction={size}"])
    assert "GROUPSxADVERTISERS" in capsys.readouterr().err


def test_a_port_out_of_range_is_refused(capsys):
    assert main(["explore", "--no-browser", "--port", "70000"]) == 2
    assert "--port" in capsys.readouterr().err


def test_the_address_is_said_in_words_or_as_json(capsys, monkeypatch):
    pytest.importorskip("nicegui")
    from dp_cmdp.explorer.page import app

    monkeypatch.setattr(app, "serve", lambda *, say, **_: say("http://127.0.0.1:1/key/"))
    assert main(["explore", "--no-browser", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"address": "http://127.0.0.1:1/key/"}
    assert main(["explore", "--no-browser"]) == 0
    assert "explorer  http://127.0.0.1:1/key/" in capsys.readouterr().out
