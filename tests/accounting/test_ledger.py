"""The ledger adds up exactly, refuses what exceeds, and notices every kind of tampering."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dp_cmdp._src.accounting.budget import NOTHING, PrivacyBudget, amount, shown_down, shown_up
from dp_cmdp._src.accounting.hashchain import genesis, link
from dp_cmdp._src.accounting.ledger import PrivacyLedger
from dp_cmdp._src.accounting.ledger_file import transaction
from dp_cmdp._src.base.errors import (
    BudgetExceededError,
    InvalidArgumentError,
    LedgerBusyError,
    LedgerCorruptError,
    LedgerError,
)
from dp_cmdp._src.data.envelope import Envelope

TENTH = PrivacyBudget("1/10", "1/100")


def create(path: Path, account: str, total: PrivacyBudget, **more: Any) -> PrivacyLedger:
    more = {"unit": "one person"} | more
    return PrivacyLedger.create(path, account, epsilon=total.epsilon, delta=total.delta, **more)


@pytest.fixture(scope="module")
def six_entries(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The file of a ledger of two accounts and four debits."""
    path = tmp_path_factory.mktemp("ledger") / "ledger.db"
    accounts = {
        "a": create(path, "a", PrivacyBudget(1, "1/10")),
        "b": create(path, "b", PrivacyBudget(2, "1/5")),
    }
    for account in "aabb":
        accounts[account].debit(TENTH, note=f"for {account}")
    return path.read_bytes()


@pytest.fixture
def ledger(tmp_path: Path, six_entries: bytes) -> PrivacyLedger:
    """The first account of a copy that a test may spoil."""
    (tmp_path / "ledger.db").write_bytes(six_entries)
    return PrivacyLedger(tmp_path / "ledger.db", "a")


def other(ledger: PrivacyLedger) -> PrivacyLedger:
    """The second account."""
    return PrivacyLedger(ledger.path, "b")


# --- sums ---------------------------------------------------------------------------------------


def test_a_tenth_can_be_debited_from_one_exactly_ten_times(tmp_path: Path) -> None:
    ledger = create(tmp_path / "ledger.db", "ads", PrivacyBudget(1, 0.1))
    for _ in range(10):
        ledger.debit(PrivacyBudget(0.1, 0.01))
    assert ledger.remaining == NOTHING
    with pytest.raises(BudgetExceededError):
        ledger.debit(PrivacyBudget("1e-200", "1e-200"))
    assert ledger.spent == ledger.total == PrivacyBudget(1, 0.1)


@pytest.mark.parametrize(
    "asked", [PrivacyBudget("0.9000001", "1/100"), PrivacyBudget("1/10", "1/11")]
)
def test_exceeding_in_either_coordinate_is_refused_and_not_recorded(
    tmp_path: Path, asked: PrivacyBudget
) -> None:
    ledger = create(tmp_path / "ledger.db", "x", PrivacyBudget(1, "1/10"))
    ledger.debit(TENTH)
    before = ledger.head
    with pytest.raises(BudgetExceededError) as caught:
        ledger.debit(asked)
    assert caught.value.requested == asked
    assert caught.value.remaining == amount(Fraction(9, 10), Fraction(9, 100))
    assert ledger.head == before


def test_the_refusal_rounds_the_request_up_and_the_rest_down(tmp_path: Path) -> None:
    ledger = create(tmp_path / "ledger.db", "x", PrivacyBudget("1/3", "1/3"))
    with pytest.raises(BudgetExceededError) as caught:
        ledger.debit(PrivacyBudget(Fraction(1, 3) + Fraction(1, 10**30), "1/3"))
    assert "(ε = 0.333334, δ = 1/3)" in str(caught.value)
    assert "(ε = 0.333333, δ = 0.333333)" in str(caught.value)
    assert pickle.loads(pickle.dumps(caught.value)).remaining == caught.value.remaining


@given(st.fractions(min_value=0, max_value=10**6), st.fractions(min_value=0, max_value=10**6))
def test_a_refused_request_is_always_shown_larger_than_what_remains(
    first: Fraction, second: Fraction
) -> None:
    small, large = sorted((first, second))
    assert Fraction(shown_down(small)) <= small
    if small < large:
        assert Fraction(shown_down(small)) < Fraction(shown_up(large))


def test_accounts_do_not_share_their_budgets(ledger: PrivacyLedger) -> None:
    assert ledger.spent == amount(Fraction(1, 5), Fraction(1, 50))
    assert other(ledger).remaining == amount(Fraction(9, 5), Fraction(9, 50))
    balances = ledger.verify().balances
    assert [(x.account, x.debits) for x in balances] == [("a", 2), ("b", 2)]
    assert all(x.spent + x.remaining == x.total for x in balances)


def test_entries_say_what_was_debited_in_order(ledger: PrivacyLedger) -> None:
    assert [e.index for e in ledger.entries()] == [3, 4]
    assert {e.note for e in other(ledger).entries()} == {"for b"}
    reference = ledger.debit(TENTH, note="Grüße")
    entry = ledger.entries()[-1]
    assert entry.time.endswith("+00:00")
    assert reference == str(ledger.head) == f"7:{entry.hash}"
    assert ledger.verify(reference).pinned


def test_the_frame_keeps_exact_fractions(ledger: PrivacyLedger) -> None:
    frame = ledger.to_frame()
    assert list(frame.columns) == [
        "index", "time", "account", "epsilon", "delta", "note", "hash",
    ]  # fmt: skip
    assert frame["epsilon"].sum() == Fraction(1, 5)
    assert create(ledger.path, "new", TENTH).to_frame().empty


def test_creating_again_is_idempotent_but_never_changes_a_total(ledger: PrivacyLedger) -> None:
    before = ledger.head
    assert create(ledger.path, "a", PrivacyBudget("1.0", 0.1)).spent == ledger.spent
    for total in (PrivacyBudget(2, "1/10"), PrivacyBudget(1, "1/11")):
        with pytest.raises(InvalidArgumentError, match="never changes"):
            create(ledger.path, "a", total)
    assert ledger.head == before


def test_a_ledger_survives_pickling_a_new_object_and_a_change_of_folder(
    ledger: PrivacyLedger, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    relative = PrivacyLedger("ledger.db", "a")
    monkeypatch.chdir("/")
    for again in (relative, pickle.loads(pickle.dumps(ledger)), PrivacyLedger(ledger.path, "a")):
        assert again.head == ledger.head


def test_a_commit_waits_for_the_disk(ledger: PrivacyLedger) -> None:
    with transaction(ledger.path, timeout_seconds=1) as database:
        assert database.execute("PRAGMA synchronous").fetchone() == (3,)
        assert database.execute("PRAGMA journal_mode").fetchone() == ("delete",)


# --- bad input ----------------------------------------------------------------------------------


@pytest.mark.parametrize("account", ["", "  ", "x" * 201, "a\nb", "a\0", "\ud800", None, 3, b"a"])
def test_an_account_must_be_a_short_printable_text(ledger: PrivacyLedger, account: Any) -> None:
    before = ledger.head
    for call in (
        lambda: PrivacyLedger(ledger.path, account),
        lambda: create(ledger.path, account, TENTH),
    ):
        with pytest.raises(InvalidArgumentError, match="account"):
            call()
    assert ledger.head == before


LONG = Fraction(10**399 + 1, 10**400)  # a tenth and a hair: too long to store


@pytest.mark.parametrize(
    ("budget", "note", "word"),
    [
        (0.1, "", "budget"),
        ((1, 0.1), "", "budget"),
        (None, "", "budget"),
        (PrivacyBudget(LONG, "1/10"), "", "epsilon"),
        (PrivacyBudget("1", LONG), "", "delta"),
        (NOTHING, "", "epsilon"),
        (TENTH, None, "note"),
        (TENTH, "\ud800", "note"),
        (TENTH, "two\nlines", "note"),
        (TENTH, "x" * 2001, "note"),
    ],
)
def test_a_bad_budget_or_note_is_refused_by_name(
    ledger: PrivacyLedger, budget: Any, note: Any, word: str
) -> None:
    before = ledger.head
    with pytest.raises(InvalidArgumentError, match=word):
        ledger.debit(budget, note=note)
    assert ledger.head == before


def test_a_directory_or_a_pipe_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe"):
        with pytest.raises(InvalidArgumentError, match="file"):
            PrivacyLedger(path, "a")


def test_only_create_makes_a_file(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match=r"no ledger.*create"):
        PrivacyLedger(tmp_path / "typo.db", "a")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(LedgerError, match="folder"):
        create(tmp_path / "missing" / "x.db", "a", TENTH)


def test_a_blank_file_left_by_a_crash_is_filled_by_create_only(tmp_path: Path) -> None:
    path = tmp_path / "blank.db"
    path.touch()
    with pytest.raises(LedgerError, match="blank"):
        PrivacyLedger(path, "a")
    assert create(path, "a", TENTH).verify().head.count == 1


def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "text.db"
    path.write_text("these are notes, not a database\n" * 100)
    before = path.read_bytes()
    with pytest.raises(LedgerCorruptError):
        PrivacyLedger(path, "a")
    assert path.read_bytes() == before


def test_every_damaged_page_is_named_or_harmless(ledger: PrivacyLedger) -> None:
    """Flip one byte in each 61st place: either an error of ours, or the history unchanged."""
    whole, head, named = ledger.path.read_bytes(), ledger.head, 0
    for place in range(0, len(whole), 61):
        damaged = bytearray(whole)
        damaged[place] ^= 0xFF
        ledger.path.write_bytes(damaged)
        try:
            assert ledger.verify().head == head
        except LedgerError:
            named += 1
    assert named > 0


def test_a_reader_that_blocks_the_commit_leaves_no_half_debit(ledger: PrivacyLedger) -> None:
    impatient = PrivacyLedger(ledger.path, "a", timeout_seconds=0.05)
    with closing(sqlite3.connect(ledger.path, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM entries").fetchone()
        with pytest.raises(LedgerBusyError):
            impatient.debit(TENTH)
    assert ledger.verify().head.count == 6


# --- tampering ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET epsilon = '1/100' WHERE position = 3",
        "DELETE FROM entries WHERE position = 6",
        "DELETE FROM entries",
        "INSERT OR REPLACE INTO entries SELECT position, time, kind, identity, '1/9', delta, "
        "note, hash, protects FROM entries WHERE position = 3",
        "UPDATE head SET count = 2",
        "UPDATE head SET count = count + 1, ledger_id = 'x'",
        "DELETE FROM head",
        "INSERT OR REPLACE INTO head VALUES (1, 'x', 0, 'y')",
    ],
)
def test_the_fence_refuses_to_change_the_past(ledger: PrivacyLedger, statement: str) -> None:
    with (
        closing(sqlite3.connect(ledger.path)) as database,
        pytest.raises(sqlite3.IntegrityError, match=r"ledger|head"),
    ):
        database.execute(statement)
    assert ledger.verify().head.count == 6


def tamper(ledger: PrivacyLedger, *statements: str) -> None:
    """Take the fence down, change the past, put the fence back as it was."""
    with closing(sqlite3.connect(ledger.path, isolation_level=None)) as database:
        database.execute("PRAGMA synchronous = OFF")
        database.execute("BEGIN")
        fence = database.execute(
            "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"
        ).fetchall()
        for name, _ in fence:
            database.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            database.execute(statement)
        for _, sql in fence:
            database.execute(sql)
        database.execute("COMMIT")


SWAP = (
    "UPDATE entries SET position = -3 WHERE position = 3",
    "UPDATE entries SET position = 3 WHERE position = 5",
    "UPDATE entries SET position = 5 WHERE position = -3",
)
TAMPERINGS = {
    "a smaller debit": (("UPDATE entries SET epsilon = '1/100' WHERE position = 4",), 4),
    "a smaller delta": (("UPDATE entries SET delta = '1/1000' WHERE position = 5",), 5),
    "an equal fraction": (("UPDATE entries SET epsilon = '2/20' WHERE position = 4",), 4),
    "a larger total": (("UPDATE entries SET epsilon = '5/1' WHERE position = 1",), 1),
    "another identity": (("UPDATE entries SET identity = 'b' WHERE position = 3",), 3),
    "another note": (("UPDATE entries SET note = '' WHERE position = 6",), 6),
    "another time": (("UPDATE entries SET time = '2000' WHERE position = 6",), 6),
    "another kind": (("UPDATE entries SET kind = 'total' WHERE position = 6",), 6),
    "another hash": (("UPDATE entries SET hash = lower(hex(zeroblob(32))) WHERE position = 4",), 4),
    "another type": (("UPDATE entries SET note = x'00ff' WHERE position = 4",), 4),
    "text that is not UTF-8": (
        ("UPDATE entries SET note = CAST(x'ff' AS TEXT) WHERE position = 4",),
        None,
    ),
    "a deleted first entry": (("DELETE FROM entries WHERE position = 1",), 1),
    "a deleted middle entry": (("DELETE FROM entries WHERE position = 4",), 4),
    "a deleted entry with the gap closed": (
        (
            "DELETE FROM entries WHERE position = 4",
            "UPDATE entries SET position = 4 WHERE position = 5",
            "UPDATE entries SET position = 5 WHERE position = 6",
        ),
        4,
    ),
    "a deleted tail": (("DELETE FROM entries WHERE position > 4",), 5),
    "a deleted tail, count mended": (
        ("DELETE FROM entries WHERE position > 4", "UPDATE head SET count = 4"),
        4,
    ),
    "all entries deleted": (("DELETE FROM entries",), 1),
    "an entry repeated at the end": (
        (
            "INSERT INTO entries SELECT 7, time, kind, identity, epsilon, delta, note, hash, "
            "protects FROM entries WHERE position = 6",
        ),
        7,
    ),
    "two entries swapped": (SWAP, 3),
    "another ledger id": (("UPDATE head SET ledger_id = 'x'",), 1),
    "another head hash": (("UPDATE head SET hash = 'x'",), 6),
    "another head count": (("UPDATE head SET count = 5",), 6),
    "a head of the wrong type": (("UPDATE head SET count = 'six'",), None),
    "no head": (("DELETE FROM head",), None),
}


@pytest.mark.parametrize("name", TAMPERINGS)
def test_tampering_is_found_where_it_happened_and_blocks_debits(
    ledger: PrivacyLedger, name: str
) -> None:
    statements, index = TAMPERINGS[name]
    tamper(ledger, *statements)
    with pytest.raises(LedgerCorruptError) as caught:
        ledger.verify()
    assert caught.value.index == index
    for call in (lambda: other(ledger).debit(TENTH), lambda: other(ledger).remaining):
        with pytest.raises(LedgerCorruptError):
            call()


@pytest.mark.parametrize(
    "statement",
    ["DROP TRIGGER entries_update", "CREATE TRIGGER t AFTER INSERT ON entries BEGIN SELECT 1; END"],
)
def test_a_changed_fence_is_found(ledger: PrivacyLedger, statement: str) -> None:
    with closing(sqlite3.connect(ledger.path)) as database:
        database.execute(statement)
    for call in (ledger.verify, lambda: ledger.debit(TENTH)):
        with pytest.raises(LedgerCorruptError, match="triggers"):
            call()


COLUMNS = "position, time, kind, identity, epsilon, delta, note, protects, hash"


def rewrite(ledger: PrivacyLedger, change: Callable[[list[list[Any]]], list[list[Any]]]) -> None:
    """Forge a history with all its hashes and its head: what someone with the file can do."""
    with closing(sqlite3.connect(ledger.path)) as database:
        rows = [
            list(r) for r in database.execute(f"SELECT {COLUMNS} FROM entries ORDER BY position")
        ]
        (ledger_id,) = database.execute("SELECT ledger_id FROM head").fetchone()
    previous = genesis(ledger_id)
    statements = ["DELETE FROM entries"]
    forged = change(rows)
    for row in forged:
        row[-1] = previous = link(previous, row[:-1])
        statements.append(f"INSERT INTO entries ({COLUMNS}) VALUES {tuple(row)!r}")
    statements.append(f"UPDATE head SET count = {len(forged)}, hash = '{previous}'")
    tamper(ledger, *statements)


def test_a_forged_amount_is_seen_by_a_pinned_head_only(ledger: PrivacyLedger) -> None:
    pin = str(ledger.head)
    other(ledger).debit(TENTH)

    def cheaper(rows: list[list[Any]]) -> list[list[Any]]:
        rows[2][4] = "1/1000000"
        return rows

    rewrite(ledger, cheaper)
    assert not ledger.verify().pinned
    with pytest.raises(LedgerCorruptError, match="rewritten"):
        ledger.verify(pin)


@pytest.mark.parametrize(
    ("column", "value", "row"),
    [(4, "9/1", 2), (4, "-1/10", 3), (4, "0/1", 3), (4, "1/0", 3), (3, "z", 3), (2, "gift", 3)],
)
def test_a_forged_history_must_still_add_up(
    ledger: PrivacyLedger, column: int, value: str, row: int
) -> None:
    def nonsense(rows: list[list[Any]]) -> list[list[Any]]:
        rows[row][column] = value
        return rows

    rewrite(ledger, nonsense)
    with pytest.raises(LedgerCorruptError) as caught:
        ledger.verify()
    assert caught.value.index == row + 1


def test_an_older_copy_put_back_is_seen_by_a_pinned_head(ledger: PrivacyLedger) -> None:
    old = ledger.path.read_bytes()
    ledger.debit(TENTH)
    pin = ledger.head
    ledger.path.write_bytes(old)
    with pytest.raises(LedgerCorruptError, match="older copy"):
        ledger.verify(pin)


@pytest.mark.parametrize("pin", ["", "6", "0:" + "0" * 64, "6:xyz", 6, b"6:"])
def test_a_malformed_pin_is_refused(ledger: PrivacyLedger, pin: Any) -> None:
    with pytest.raises(InvalidArgumentError):
        ledger.verify(pin)


# --- version 0.1 ----------------------------------------------------------------------------------

ORACLES = Path(__file__).parents[1] / "oracles"
OLD = ORACLES / "files/ledger.sqlite"


def test_a_ledger_of_version_0_1_counts_unchanged_and_goes_on(tmp_path: Path) -> None:
    path = Path(shutil.copy(OLD, tmp_path / "old.sqlite"))
    for said in json.loads((ORACLES / "data/ledger.json").read_text()):
        found = PrivacyLedger(path, said["account"])
        for name in ("total", "spent", "remaining"):
            budget = getattr(found, name)
            assert [str(budget.epsilon), str(budget.delta)] == said[name]
        assert len(found.entries()) == said["debits"]
        assert found.head.hash == said["head"]
    assert path.read_bytes() == OLD.read_bytes()
    prices = Envelope.join({"price": Envelope(0, 2, radius=0.1, shape=3)})
    untouched = PrivacyLedger(path, "untouched")
    untouched.debit(PrivacyBudget("1/2", "1/4000"), prices)
    assert untouched.spent.epsilon == Fraction(1, 2)


def test_an_adjacency_is_written_as_version_0_1_wrote_it(tmp_path: Path) -> None:
    """So that an account goes on with the digests that it knows."""
    envelope = Envelope.join({"price": Envelope(0, 1, radius=0.1, labels=["Bern", "Basel"])})
    said = (
        '[{"labels":[["Bern","Basel"]],"levels":[[""]],"name":"price","radius":[0.1,0.1],'
        '"records":[0,1],"shape":[2]}]'
    )
    assert envelope.adjacency().text == said
    dated = Envelope(0, 1, radius=0.1, labels={"day": [10.0, 11]})
    assert '"labels":[[10,11]],"levels":[["day"]]' in dated.adjacency().text
