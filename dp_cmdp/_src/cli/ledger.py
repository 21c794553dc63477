"""``dp-cmdp ledger``: the budgets of private databases, to be set, read and checked."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from dp_cmdp._src.base.errors import LedgerError
from dp_cmdp._src.cli import report
from dp_cmdp._src.cli.parser import command

EPILOG = """examples:
  dp-cmdp ledger create clinic.ledger --account patients --unit "one patient" \\
      --epsilon 2 --delta 1/1000
  dp-cmdp ledger show clinic.ledger
  dp-cmdp ledger verify clinic.ledger --pinned 2:9f3c...

A total and its unit, whom a record is, are set once and never change; for a total from before units
were stated, the same command adds the unit. Releases debit the ledger before they read data;
nothing is refunded, and what protects another change than earlier debits is refused. Note the head
that `show` prints where the ledger's writer cannot reach it, and give it to `verify` later: without
it, a whole file that was replaced goes unseen."""


def add_parsers(commands: Any) -> None:
    text = "create, show or verify a privacy ledger"
    parser = commands.add_parser(
        "ledger", help=text, description="The budgets of private databases, in one SQLite file.",
        epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    text = "set the total budget of a database, once"
    created = command(actions, "create", create, text, EPILOG, "--epsilon", "--delta")
    created.add_argument("--account", required=True, help="public name of the database")
    created.add_argument("--unit", required=True, help='whom a record is: "one patient"')
    shown = command(actions, "show", show, "totals, debits, what remains, and the head", EPILOG)
    text = "check every link, sum and page of the file"
    verified = command(actions, "verify", verify, text, EPILOG)
    verified.add_argument("--pinned", metavar="HEAD", help="a head that was noted earlier")
    for part in (created, shown, verified):
        part.add_argument("file", type=Path, metavar="FILE")


def create(options: argparse.Namespace) -> int:
    from dp_cmdp import PrivacyLedger

    names = ("epsilon", "delta", "unit")
    chosen = {name: getattr(options, name) for name in names}
    PrivacyLedger.create(options.file, options.account, **chosen)
    return _say(options, _chain(options.file))


def show(options: argparse.Namespace) -> int:
    chain = _chain(options.file)
    names = ("index", "time", "account", "epsilon", "delta", "note")
    debits = [entry for entry in chain.entries if entry.kind == "debit"]
    rows = [{name: str(getattr(entry, name)) for name in names} for entry in debits]
    lines = [
        (f"debit {row['index']}", f"{row['time']}  {row['account']}: {entry.budget}, {row['note']}")
        for row, entry in zip(rows, debits, strict=True)
    ]
    return _say(options, chain, *lines, debits=rows)


def verify(options: argparse.Namespace) -> int:
    from dp_cmdp import PrivacyLedger

    chain = _chain(options.file)
    account = next(iter(chain.balances))  # any of them: the whole file is verified
    PrivacyLedger(options.file, account).verify(options.pinned)
    against = "itself only: no head was pinned" if options.pinned is None else "the pinned head"
    line = ("verified", f"the ledger is whole; checked against {against}")
    return _say(options, chain, line, verified=True, pinned=options.pinned is not None)


def _chain(file: Path) -> Any:
    """All accounts of a file; every link is checked on the way."""
    from dp_cmdp._src.accounting.ledger_file import is_ledger, load, resolved, transaction

    with transaction(resolved(file), timeout_seconds=30.0) as database:
        if is_ledger(database, file):
            chain = load(database)
            if chain.balances:
                return chain
    raise LedgerError(f"{file} is a ledger without accounts; dp-cmdp ledger create makes one")


def _say(options: argparse.Namespace, chain: Any, *lines: tuple[str, str], **more: Any) -> int:
    accounts, told = [], []
    for balance in chain.balances.values():
        sums = {name: getattr(balance, name) for name in ("total", "spent", "remaining")}
        exact = {n: {"epsilon": str(b.epsilon), "delta": str(b.delta)} for n, b in sums.items()}
        accounts.append({"account": balance.account, "unit": balance.unit or None, **exact})
        told += [
            ("account", f"{balance.account}, one record: {balance.unit or 'not stated'}"),
            ("  total", balance.total.rounded_down()),
            ("  spent", str(balance.spent)),
            ("  left", balance.remaining.rounded_down()),
        ]
    summary = {"accounts": accounts, "head": str(chain.head), **more}
    report.say(options, summary, *told, *lines, ("head", f"{chain.head} (to be pinned)"))
    return 0
