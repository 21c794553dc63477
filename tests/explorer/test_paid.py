"""A real database behind the page: the debit comes first, and nothing private is shown."""

import json

import pytest

import dp_cmdp as dp
from dp_cmdp.envs import named_layout
from dp_cmdp.errors import BudgetExceededError, Error, InvalidArgumentError
from dp_cmdp.explorer import map_svg
from dp_cmdp.explorer.cell_words import cell_words
from dp_cmdp.explorer.episodes import places_of
from dp_cmdp.explorer.paid import PaidReleases, Request
from dp_cmdp.explorer.sources import AuctionSource, FileSource, GridSource, named_database
from dp_cmdp.explorer.words import refusal
from tests.explorer.test_programs import MODEL, SPEC
from tests.marked import DIGITS, MARKS, leaks_from_file

ASKED = Request(epsilon="1/2", delta="1/10000")
ALL = Request(epsilon="3/2", delta="3/10000")
LAYOUT = named_layout("islands")


@pytest.fixture
def place(tmp_path):
    """A ledger with room for three releases, and files whose private numbers are marked."""
    cells = LAYOUT.kinds[0].cells[:20]
    severity = [[c // 10, c % 10, float(m)] for c, m in zip(cells, MARKS, strict=False)]
    kinds = {"hazard": {"severity": severity, "limit": 0.7 + float(MARKS[10])}}
    prices = [[i, j, float(MARKS[2 * i + j])] for i in (1, 0) for j in (0, 1)]
    files = {
        "mine.json": json.dumps({"format": "dp_cmdp.Hazards/2", "kinds": kinds}),
        "mine.csv": _csv("row,col,severity", severity),
        "limits.csv": _csv("kind,limit", [["hazard", 0.7 + float(MARKS[10])]]),
        "model.mps": MODEL,
        "spec.toml": SPEC,
        "values.csv": _csv("row,value", [["HOURS", f"100.{DIGITS}"]]),
        "mine.mps": MODEL.replace("HOURS 100", f"HOURS 100.{DIGITS}"),
        "prices.csv": _csv("group,advertiser,price", prices),
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    dp.PrivacyLedger.create(tmp_path / "l.sqlite", "site", epsilon="3/2", delta="3/10000")
    return tmp_path


def _csv(head, rows):
    return "\n".join([head, *(",".join(map(str, row)) for row in rows)]) + "\n"


SOURCES = {
    "grid": lambda place: GridSource(LAYOUT, place / "mine.json"),
    "table": lambda place: GridSource(LAYOUT, place / "mine.csv", place / "limits.csv"),
    "file": lambda place: FileSource(
        *(place / name for name in ("model.mps", "spec.toml", "values.csv"))
    ),
    "program": lambda place: FileSource(
        *(place / name for name in ("model.mps", "spec.toml", "mine.mps"))
    ),
    "auction": lambda place: AuctionSource(2, 2, 0.1, place / "prices.csv"),
}
#: The private files of each.
PRIVATE = {
    "grid": ("mine.json",),
    "table": ("mine.csv", "limits.csv"),
    "file": ("values.csv",),
    "program": ("mine.mps",),
    "auction": ("prices.csv",),
}
KINDS = pytest.mark.parametrize("kind", SOURCES)
FILES = pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind, names in PRIVATE.items() for name in names]
)


def opened(place, kind="grid", **changes):
    named = {"ledger": place / "l.sqlite", "account": "site", "out": place / "out"}
    return PaidReleases(SOURCES[kind](place), **{**named, **changes})


def left(place):
    return dp.PrivacyLedger(place / "l.sqlite", "site").remaining.epsilon


def values_of(place, kind):
    """The private numbers, as a curator may read them."""
    source = SOURCES[kind](place)
    ledger = dp.PrivacyLedger(place / "l.sqlite", "site")
    return source.problem().at(source.database(ledger))


@KINDS
def test_each_release_spends_and_is_written_before_it_is_shown(place, kind):
    real = opened(place, kind)
    for count in (1, 2, 3):
        made = real.release(ASKED)
        assert not made.answer.release.simulated
        assert left(place) == (3 - count) * ASKED.budget().epsilon
        assert {path.name for path in made.folder.iterdir()} == set(real.source.files)
        assert dp.verify(made.folder, problem=real.source.problem())
        assert f"-{count + 1}" in made.folder.name  # the entry that paid
    assert real.share_left() == 0
    assert "remaining (ε = 0" in real.balance()
    assert len(real.released) == 3
    with pytest.raises(BudgetExceededError):
        real.release(ASKED)


@KINDS
def test_nothing_that_is_written_carries_a_private_number(place, kind):
    real = opened(place, kind)
    assert any(DIGITS in (place / name).read_text() for name in PRIVATE[kind])
    made = real.release(ALL)
    assert DIGITS not in real.balance() + repr(real) + repr(made) + repr(real.source)
    assert not any(map(leaks_from_file, made.folder.iterdir()))


def test_nothing_that_is_shown_of_a_grid_carries_a_private_number(place):
    release, places = opened(place).release(ALL).answer.release, places_of(LAYOUT)
    shown = map_svg.data_map(places, release=release)
    shown += "".join(cell_words(places, cell, release=release) for cell in range(100))
    assert DIGITS not in shown


def test_a_table_of_hazards_and_a_file_of_hazards_are_the_same_database(place):
    one, other = (values_of(place, kind) for kind in ("grid", "table"))
    assert (one.cost == other.cost).all()
    assert (one.limit == other.limit).all()


@KINDS
def test_nothing_is_spent_and_nothing_read_before_a_press(place, kind):
    for name in PRIVATE[kind]:
        (place / name).write_text("not read: " + DIGITS)
    real = opened(place, kind)
    ledger = dp.PrivacyLedger(place / "l.sqlite", "site")
    said = [real.balance(), real.share_left(), real.source.problem(), real.source.database(ledger)]
    assert DIGITS not in repr(said)
    assert left(place) == 3 * ASKED.budget().epsilon


BROKEN = {
    "mine.json": '{"format": "dp_cmdp.Hazards/2", "kinds": "' + DIGITS,
    "mine.csv": f"row,col,severity\n0,6,{DIGITS}\n",
    "limits.csv": f"kind,limit\nhazard,0.7\nhazard,{DIGITS}\n",
    "values.csv": f"row,value\n{DIGITS},100\n",
    "mine.mps": MODEL.replace("TABLE PROFIT 50", f"TABLE PROFIT {DIGITS}"),
    "prices.csv": f"group,advertiser,price\n0,-1,0.{DIGITS}\n0,0,1\n1,0,1\n1,1,1\n",
}


@FILES
def test_the_debit_comes_before_the_first_read_and_a_bad_file_tells_nothing(place, kind, name):
    real = opened(place, kind)
    (place / name).write_text(BROKEN[name])
    with pytest.raises(Error, match="cannot be used") as error:
        real.release(ASKED)
    assert DIGITS not in refusal(error.value)
    assert error.value.__context__ is None
    assert left(place) == 2 * ASKED.budget().epsilon
    assert real.released == []
    assert list((place / "out").iterdir()) == []  # nothing was read, so nothing is kept


def test_over_budget_is_refused_before_the_file_is_read(place):
    real = opened(place)
    (place / "mine.json").write_text("unreadable")
    with pytest.raises(BudgetExceededError):
        real.release(Request(epsilon="2", delta="1/10000"))
    assert left(place) == 3 * ASKED.budget().epsilon
    assert not real.allows(dp.PrivacyBudget(2, "1/10000"))


def test_two_presses_at_once_are_one_release(place):
    real = opened(place)
    assert real._lock.acquire(blocking=False)
    with pytest.raises(InvalidArgumentError, match="under way"):
        real.release(ASKED)
    real._lock.release()
    assert left(place) == 3 * ASKED.budget().epsilon


def test_what_was_paid_for_is_not_lost_when_the_disk_refuses(place):
    real = opened(place)
    (place / "out").rmdir()
    (place / "out").write_text("a file where a folder should be")
    with pytest.raises(OSError):
        real.release(ASKED)
    assert len(real.released) == 1


@FILES
def test_a_missing_file_is_refused_at_the_start(place, kind, name):
    (place / name).unlink()
    with pytest.raises(InvalidArgumentError):
        opened(place, kind)


GRID = {"layout": "islands", "hazards": "mine.json"}
PROGRAM = {"model": "model.mps", "private": "spec.toml", "data": "values.csv"}
AUCTION = {"auction": "2x2", "data": "prices.csv"}
PAYING = {"ledger": "l.sqlite", "account": "site"}


@pytest.mark.parametrize("given", [GRID, PROGRAM, AUCTION, AUCTION | {"price_radius": 0.2}])
def test_a_database_is_named_with_the_account_that_pays(place, monkeypatch, given):
    monkeypatch.chdir(place)
    real = named_database({"layout": None, **given, **PAYING}, place / "out")
    assert real is not None
    assert "remaining" in real.balance()
    assert named_database({"layout": None, "ledger": None}, place / "out") is None


@pytest.mark.parametrize(
    "given",
    [{"hazards": "m.json"}, {"ledger": "l"}, {"account": "a"}, {"layout": "islands"}, GRID,
     PROGRAM, AUCTION, {"data": "p.csv", **PAYING}, {"price_radius": 0.1}],
)  # fmt: skip
def test_a_real_database_is_named_wholly_or_not_at_all(given, tmp_path):
    with pytest.raises(InvalidArgumentError, match="released against a ledger only"):
        named_database(given, tmp_path / "out")
    assert not list(tmp_path.iterdir())
