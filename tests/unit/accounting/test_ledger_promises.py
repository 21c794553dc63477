"""Histories that are linked correctly and say what no ledger may say."""

from fractions import Fraction

import pytest

from dp_cmdp.accounting.hashchain import Amount, Chain, replay
from dp_cmdp.errors import LedgerCorruptError

ID = "0" * 32


def rows(*entries: tuple[str, str, str, str]) -> list[tuple]:
    """Rows with the right hashes, as somebody who rewrites the whole file would make them."""
    written: list[tuple] = []
    chain = Chain(ID, (), {})
    for kind, identity, epsilon, delta in entries:
        entry = chain.next_entry(
            kind,
            identity=identity,
            amount=Amount(Fraction(epsilon), Fraction(delta)),
            note="",
            time="2025-01-01",
        )
        chain = Chain(ID, (*chain.entries, entry), {})
        written.append(entry.row())
    return written


def test_a_history_within_its_total_is_read():
    chain = replay(ID, rows(("total", "a", "1", "1/2"), ("debit", "a", "1", "1/2")))
    assert chain.balances["a"].remaining == Amount()


@pytest.mark.parametrize(
    "debits",
    [
        [("2/3", "1/8"), ("2/3", "1/8")],
        [("1/3", "2/5"), ("1/3", "2/5")],
        [("1", "1/2"), ("1/1000000", "1/1000000")],
        [("1/3", "1/8"), ("1/3", "1/8"), ("1/3", "1/8"), ("1/1000", "1/8")],
    ],
)
def test_a_history_whose_debits_add_up_to_more_than_the_total_is_refused(debits):
    history = rows(("total", "a", "1", "1/2"), *(("debit", "a", *debit) for debit in debits))
    with pytest.raises(LedgerCorruptError, match="exceeds the total") as caught:
        replay(ID, history)
    assert caught.value.index == len(debits) + 1


def test_debits_of_one_identity_are_not_taken_from_another():
    history = rows(
        ("total", "a", "1", "1/2"), ("total", "b", "1", "1/2"), ("debit", "b", "1", "1/2")
    )
    chain = replay(ID, history)
    assert chain.balances["a"].remaining == Amount(Fraction(1), Fraction(1, 2))


@pytest.mark.parametrize(
    ("history", "index"),
    [
        ([("total", "a", "1", "1/2"), ("total", "a", "9", "1/2")], 2),
        ([("debit", "a", "1", "1/2")], 1),
        ([("total", "a", "1", "1/2"), ("debit", "b", "1", "1/2")], 2),
    ],
)
def test_an_identity_has_one_total_and_has_it_first(history, index):
    with pytest.raises(LedgerCorruptError, match="one total") as caught:
        replay(ID, rows(*history))
    assert caught.value.index == index
