"""A chain of budget entries: each is tied to all before it by SHA-256.

With h₀ = H(ledger id) and hᵢ = H(hᵢ₋₁, entryᵢ), where H is SHA-256 of canonical JSON, no entry can
change, vanish or move without changing every later hash; so the last hash, the *head*, stands for
the whole history. For each account the chain holds one ``total`` and then its ``debit`` entries,
whose exact sum never exceeds the total in ε nor in δ (paper: ``lem:comp``). A total states the
unit that is protected; a ``unit`` entry states it for a total from before there were units.

Nothing here touches a file: :mod:`dp_cmdp._src.accounting.ledger` stores the chain.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal, get_args

from dp_cmdp._src.accounting.budget import NOTHING, PrivacyBudget, amount
from dp_cmdp._src.base import validation as check
from dp_cmdp._src.base.errors import InvalidArgumentError, LedgerCorruptError

#: Numerators and denominators stay below 2^1000, so that every amount is a normal float.
MAX_BITS = 1000
_ZERO = re.compile("0/1")
_FRACTION = re.compile(r"[1-9][0-9]{0,301}/[1-9][0-9]{0,301}")
_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True)
_HEAD = re.compile(r"([1-9][0-9]{0,17}):([0-9a-f]{64})")

Kind = Literal["total", "unit", "debit"]


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """One line of the ledger: its place in the chain (from 1), what it says, its hash.

    `protects` is the unit in words in a total, and in a debit the adjacency as it is stored; empty
    where nothing was stated.
    """

    index: int
    time: str
    kind: Kind
    account: str
    epsilon: Fraction
    delta: Fraction
    note: str
    protects: str
    hash: str

    @property
    def budget(self) -> PrivacyBudget:
        """ε and δ together."""
        return amount(self.epsilon, self.delta)

    def row(self) -> tuple[int, str, str, str, str, str, str, str, str]:
        """The entry as stored: fractions are text ``p/q``."""
        said = self.index, self.time, self.kind, self.account
        return (*said, _text(self.epsilon), _text(self.delta), self.note, self.protects, self.hash)


@dataclass(frozen=True, slots=True)
class LedgerHead:
    """The number of entries and the last hash; ``str(head)`` is ``"<count>:<hash>"``."""

    count: int
    hash: str

    def __str__(self) -> str:
        return f"{self.count}:{self.hash}"

    @classmethod
    def parse(cls, text: str) -> LedgerHead:
        """Read ``"<count>:<hash>"``."""
        match = _HEAD.fullmatch(check.text("head", text).strip())
        if match is None:
            raise InvalidArgumentError('a head must read "<count>:<64 hexadecimal digits>"')
        return cls(int(match[1]), match[2])


@dataclass(frozen=True, slots=True)
class Balance:
    """Where one account stands; `unit` is whom it protects, empty in totals of early files."""

    account: str
    total: PrivacyBudget
    spent: PrivacyBudget = NOTHING
    debits: int = 0
    unit: str = ""

    @property
    def remaining(self) -> PrivacyBudget:
        """What may still be debited."""
        return self.total - self.spent


@dataclass(frozen=True, slots=True)
class Chain:
    """A history whose every link has been checked, and the balances it leads to."""

    ledger_id: str
    entries: tuple[LedgerEntry, ...]
    balances: dict[str, Balance]

    @property
    def head(self) -> LedgerHead:
        """Count and last hash."""
        last = self.entries[-1].hash if self.entries else genesis(self.ledger_id)
        return LedgerHead(len(self.entries), last)

    def next_entry(
        self,
        kind: Kind,
        *,
        account: str,
        amount: PrivacyBudget,
        note: str,
        time: str,
        protects: str = "",
    ) -> LedgerEntry:
        """The entry that would follow the head."""
        index, spent = len(self.entries) + 1, (amount.epsilon, amount.delta)
        entry = LedgerEntry(index, time, kind, account, *spent, note, protects, "")
        return replace(entry, hash=link(self.head.hash, entry.row()[:-1]))

    def check_contains(self, pinned: LedgerHead) -> None:
        """Raise :class:`LedgerCorruptError` unless this history continues the pinned one."""
        count = len(self.entries)
        _refuse_unless(
            pinned.count <= count,
            f"the pinned head counts {pinned.count} entries, the ledger has {count}: it was cut or "
            "replaced by an older copy",
            count + 1,
        )
        _refuse_unless(
            self.entries[pinned.count - 1].hash == pinned.hash,
            f"the hash of entry {pinned.count} is not the pinned one: the history up to that entry "
            "was rewritten, or the pin belongs to another ledger",
            pinned.count,
        )


def storable(budget: PrivacyBudget) -> PrivacyBudget:
    """The budget itself, refused when its fractions are too long to store."""
    for name, value in (("epsilon", budget.epsilon), ("delta", budget.delta)):
        if max(value.numerator.bit_length(), value.denominator.bit_length()) > MAX_BITS:
            raise InvalidArgumentError(
                f"{name} must be a fraction p/q with p and q below 2^{MAX_BITS}; round it"
            )
        if value <= 0:
            raise InvalidArgumentError(f"{name} must be positive to be debited")
    return budget


def genesis(ledger_id: str) -> str:
    """h₀: the hash that stands before the first entry."""
    return _sha256(["dp-cmdp ledger", ledger_id])


def link(previous: str, values: Sequence[Any]) -> str:
    """hᵢ = H(hᵢ₋₁, entryᵢ); an entry that protects nothing is hashed as before there were units."""
    names = ("index", "time", "kind", "identity", "epsilon", "delta", "note", "protects")
    said = dict(zip(names, values, strict=True))
    if not said["protects"]:
        del said["protects"]
    return _sha256([previous, said])


def replay(ledger_id: str, rows: Iterable[Sequence[Any]]) -> Chain:
    """Check stored rows link by link and add them up; the first wrong one is named."""
    entries: list[LedgerEntry] = []
    balances: dict[str, Balance] = {}
    previous = genesis(ledger_id)
    for index, row in enumerate(rows, start=1):
        entry = _entry(row, index, previous)
        _post(balances, entry)
        entries.append(entry)
        previous = entry.hash
    return Chain(ledger_id, tuple(entries), balances)


def _entry(row: Sequence[Any], index: int, previous: str) -> LedgerEntry:
    found, *texts = row
    entry = f"entry {index}"
    _refuse_unless(found == index, f"{entry} is missing", index)
    sound = all(isinstance(text, str) for text in texts)
    _refuse_unless(sound, f"{entry} holds a value of the wrong type", index)
    time, kind, account, epsilon, delta, note, protects, stored = texts
    whole = link(previous, row[:-1]) == stored
    _refuse_unless(whole, f"{entry} does not match its hash: it, or its place, was changed", index)
    amounts = _ZERO if kind == "unit" else _FRACTION
    valid = kind in get_args(Kind) and all(map(amounts.fullmatch, (epsilon, delta)))
    _refuse_unless(valid, f"{entry} is not a valid entry", index)
    spent = Fraction(epsilon), Fraction(delta)
    return LedgerEntry(index, time, kind, account, *spent, note, protects, stored)


def _post(balances: dict[str, Balance], entry: LedgerEntry) -> None:
    """Add one entry to the balances; a debit needs a total before it, and room in it."""
    old, at = balances.get(entry.account), entry.index
    first = (old is None) == (entry.kind == "total")
    _refuse_unless(first, f"entry {at}: an account has one total, and has it before any debit", at)
    if old is None:
        new = Balance(entry.account, entry.budget, unit=entry.protects)
    elif entry.kind == "unit":
        only = entry.protects and not old.unit
        _refuse_unless(only, f"entry {at}: an account has one unit", at)
        new = replace(old, unit=entry.protects)
    else:
        spent = old.spent + entry.budget
        _refuse_unless(spent.fits(old.total), f"entry {at} exceeds the total of its account", at)
        new = replace(old, spent=spent, debits=old.debits + 1)
    balances[entry.account] = new


def _refuse_unless(holds: object, why: str, index: int) -> None:
    if not holds:
        raise LedgerCorruptError(why, index=index)


def _text(value: Fraction) -> str:
    return f"{value.numerator}/{value.denominator}"


def _sha256(content: Any) -> str:
    return hashlib.sha256(_CANONICAL.encode(content).encode("ascii")).hexdigest()
