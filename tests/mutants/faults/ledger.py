"""Faults in the ledger: sums, refusals, the chain, the file."""

# ruff: noqa: E501  (lines of the package are quoted as they stand, under more indentation)

from tests.mutants.fault import Fault, in_file

PROMISES = "tests/unit/accounting/test_ledger_promises.py"
LEDGER = "tests/unit/accounting/test_ledger.py"
UNITS = "tests/promises/test_units.py"
LOCK = "tests/unit/accounting/test_lock.py"
CRASHES = "tests/statistical/test_ledger_crashes.py"

FAULTS = (
    *in_file(
        "dp_cmdp/accounting/hashchain.py",
        (PROMISES, LEDGER),
        Fault(
            "delta-uncovered",
            "a debit fits in ε and in δ",
            "return other.epsilon <= self.epsilon and other.delta <= self.delta",
            "return other.epsilon <= self.epsilon",
        ),
        Fault(
            "epsilon-or-delta",
            "a debit fits in ε and in δ",
            "return other.epsilon <= self.epsilon and other.delta <= self.delta",
            "return other.epsilon <= self.epsilon or other.delta <= self.delta",
        ),
        Fault(
            "last-unit-refused",
            "a budget can be spent to its last unit",
            "return other.epsilon <= self.epsilon and other.delta <= self.delta",
            "return other.epsilon < self.epsilon and other.delta <= self.delta",
        ),
        Fault(
            "delta-not-summed",
            "spent is the exact sum of all debits",
            "return Amount(self.epsilon + other.epsilon, self.delta + other.delta)",
            "return Amount(self.epsilon + other.epsilon, max(self.delta, other.delta))",
        ),
        Fault(
            "debits-summed-in-floats",
            "sums of debits are exact",
            "return Amount(self.epsilon + other.epsilon, self.delta + other.delta)",
            "return Amount(Fraction(float(self.epsilon + other.epsilon)), self.delta + other.delta)",
        ),
        Fault(
            "spent-forgotten",
            "what was spent stays spent",
            "balances[entry.identity] = replace(old, spent=spent, debits=old.debits + 1)",
            "balances[entry.identity] = replace(old, spent=entry.amount, debits=old.debits + 1)",
        ),
        Fault(
            "overspent-history-accepted",
            "a history that exceeds its total is refused",
            "if not old.total.covers(spent):",
            "if not old.total.covers(entry.amount):",
        ),
        Fault(
            "second-total-accepted",
            "an identity has one total",
            'if (old is None) != (entry.kind == "total"):',
            'if old is None and entry.kind != "total":',
        ),
        Fault(
            "hash-unchecked",
            "an altered entry is found",
            "if link(previous, row[:-1]) != stored:",
            "if False:",
        ),
        Fault(
            "hash-of-the-note-only",
            "the hash of an entry stands for all of it",
            "return _sha256([previous, said])",
            'return _sha256([previous, said["note"]])',
        ),
        Fault(
            "chain-not-linked",
            "an entry is tied to all before it",
            "return _sha256([previous, said])",
            "return _sha256([said])",
        ),
        Fault(
            "chain-previous-fixed",
            "an entry is tied to all before it",
            "previous = entry.hash",
            "pass",
        ),
        Fault(
            "missing-entry-accepted",
            "a missing entry is found",
            "if found != index:",
            "if found < index:",
            "a gap breaks the hash of the entry after it, whose facts hold its own number and whose "
            "predecessor is gone; the error then names the hash instead of the gap",
        ),
        Fault(
            "pin-beyond-the-end",
            "a ledger cut below a pinned head is found",
            "if pinned.count > len(self.entries):",
            "if pinned.count > len(self.entries) + 1:",
        ),
        Fault(
            "pin-unchecked",
            "a rewritten history does not match a pinned head",
            "if self.entries[pinned.count - 1].hash != pinned.hash:",
            "if self.entries[pinned.count - 1].index != pinned.count:",
        ),
        Fault(
            "fractions-floored",
            "amounts are stored exactly",
            'return f"{value.numerator}/{value.denominator}"',
            'return f"{value.numerator * 10**6 // value.denominator}/{10**6}"',
        ),
    ),
    *in_file(
        "dp_cmdp/accounting/budget.py",
        (PROMISES, LEDGER),
        Fault(
            "remaining-rounded-up",
            "what remains is never shown too large",
            "return _shown(value, math.floor)",
            "return _shown(value, math.ceil)",
        ),
    ),
    *in_file(
        "dp_cmdp/accounting/adjacency.py",
        (UNITS,),
        Fault(
            "other-radius-accepted",
            "an entry changes by one radius in all debits of an identity",
            "if (known := radius.setdefault(entry, own)) != own:",
            "if (known := radius.setdefault(entry, own)) > own * 2:",
        ),
        Fault(
            "joined-records-accepted",
            "entries are of one record in all debits of an identity, or in none",
            "if known != record:",
            "if False:",
        ),
        Fault(
            "first-adjacency-only",
            "a debit is compared with all earlier ones",
            "known += found",
            "known = known or found",
        ),
    ),
    *in_file(
        "dp_cmdp/accounting/ledger.py",
        (PROMISES, LEDGER),
        Fault(
            "remaining-unchecked",
            "a debit above what remains is refused",
            "if not remaining.covers(requested):",
            "if not _balance(chain, identity).total.covers(requested):",
        ),
        Fault(
            "total-changed",
            "a total never changes",
            "if chain.balances[identity].total != total:",
            "if not chain.balances[identity].total.covers(total):",
        ),
        Fault(
            "debit-recorded-as-total",
            "a debit is recorded as one",
            'kind="debit",',
            'kind="total",',
        ),
        Fault(
            "debit-of-nothing",
            "the debit recorded is the one asked for",
            "identity, requested, note = _identity(identity), Amount.of(budget), _note(note)",
            "identity, requested, note = _identity(identity), Amount(), _note(note)",
        ),
        Fault(
            "verify-ignores-its-pin",
            "a pinned head is compared",
            "chain.check_contains(pin)",
            "pass",
        ),
        Fault(
            "verify-skips-the-pages",
            "the pages of the file are checked",
            "check_pages(database)",
            "pass",
        ),
    ),
    *in_file(
        "dp_cmdp/accounting/ledger_file.py",
        (PROMISES, LEDGER, LOCK, CRASHES),
        Fault(
            "head-not-moved",
            "the head follows every entry",
            'database.execute("UPDATE head SET count = ?, hash = ?", (entry.index, entry.hash))',
            "pass",
        ),
        Fault(
            "entry-not-written",
            "a debit that returns is on disk",
            'database.execute("COMMIT")',
            'database.execute("ROLLBACK")',
        ),
        Fault(
            "commit-not-forced",
            "a commit is forced to disk before a debit returns",
            '"PRAGMA synchronous = EXTRA",',
            '"PRAGMA synchronous = OFF",',
        ),
        Fault(
            "lock-beside-the-ledger-not-taken",
            "a reader of the file cannot let a second writer in",
            "with exclusive(path, deadline=deadline, write=True):",
            "with exclusive(path.with_name(str(deadline)), deadline=deadline, write=True):",
        ),
        Fault(
            "debit-not-read-back",
            "a committed entry is read back",
            "_read_back(path, entry, timeout_seconds=timeout_seconds)",
            "pass",
        ),
        Fault(
            "read-back-of-any-entry",
            "the entry read back is the one that was written",
            "found = is_ledger(database, path) and load(database).entries[entry.index - 1] == entry",
            "found = is_ledger(database, path) and bool(load(database).entries[entry.index - 1])",
        ),
        Fault(
            "hard-links-accepted",
            "a ledger of two names is refused: each would have its own lock",
            "if names > 1:",
            "if names > 2:",
        ),
        Fault(
            "cut-end-unseen",
            "entries cut off the end are missed",
            "if count != chain.head.count:",
            "if count < chain.head.count:",
        ),
        Fault(
            "head-hash-unchecked",
            "the stored head is that of the chain",
            "if last != chain.head.hash:",
            "if not last:",
        ),
        Fault(
            "other-files-overwritten",
            "a SQLite file that is no ledger is left as it is",
            "if mark != APPLICATION_ID:",
            "if mark == -1:",
        ),
        Fault(
            "schema-unchecked",
            "a changed table or trigger is found",
            "if set(found) not in (set(_SCHEMA), set(_OLD_SCHEMA)):",
            "if not found:",
        ),
        Fault(
            "ledger-made-by-accident",
            "a debit makes no ledger",
            "if may_create:",
            "if may_create or True:",
        ),
    ),
    *in_file(
        "dp_cmdp/accounting/lock.py",
        (PROMISES, LOCK, LEDGER),
        Fault(
            "lock-shared",
            "one writer at a time",
            "fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)",
            "fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)",
        ),
        Fault(
            "lock-of-a-removed-file",
            "a lock on a file that was replaced is no lock",
            "if _locked(handle, path) and _is_current(handle, path):",
            "if _locked(handle, path):",
        ),
        Fault(
            "lock-of-one-name-for-all",
            "every ledger has its own lock",
            'return path.with_name(path.name + ".lock")',
            'return path.with_name("ledger.lock")',
        ),
        Fault(
            "writer-without-a-lock",
            "a writer does not go without the lock",
            "if not write and error.errno in denied:",
            "if error.errno in denied:",
        ),
    ),
)
