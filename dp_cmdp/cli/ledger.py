"""``dp-cmdp ledger``: the budgets of private databases, to be set, read and checked."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dp_cmdp.cli.tables import print_json, print_table

if TYPE_CHECKING:
    from dp_cmdp.accounting.hashchain import Balance, LedgerHead

EPILOG = """examples:
  dp-cmdp ledger create ledger.sqlite --identity clinic-2024 --unit "one patient" \\
      --epsilon 2 --delta 1/1000
  dp-cmdp ledger show ledger.sqlite
  dp-cmdp ledger verify ledger.sqlite --pinned 2:9f3c...

A total and its unit, whom a record is, are set once and never change; for a total from before units
were stated, the same command adds the unit. Releases debit the ledger before they read data;
nothing is refunded, and what protects another change than earlier debits is refused. Note the head
that `show` prints where the ledger's writer cannot reach it, and give it to `verify` later: without
it, a whole file that was replaced goes unseen."""


def add_parser(commands) -> None:
    parser = commands.add_parser(
        "ledger",
        help="create, show or verify a privacy ledger",
        description="The (epsilon, delta) budgets of private databases, in one SQLite file.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    create = actions.add_parser("create", help="set the total budget of a database, once")
    create.add_argument("--identity", required=True, help="public name of the database")
    create.add_argument("--unit", required=True, help='whom a record is: "one patient"')
    create.add_argument("--epsilon", required=True, help="for example 2 or 1/3")
    create.add_argument("--delta", required=True, help="for example 1e-3")
    show = actions.add_parser("show", help="totals, debits, what remains, and the head")
    verify = actions.add_parser("verify", help="check every link, sum and page of the file")
    verify.add_argument("--pinned", metavar="HEAD", help="a head that was noted earlier")
    for part, run in ((create, run_create), (show, run_show), (verify, run_verify)):
        part.add_argument("file", type=Path, metavar="FILE")
        part.add_argument("--json", action="store_true", help="print one JSON document")
        part.set_defaults(run=run)


def run_create(options: argparse.Namespace) -> int:
    from dp_cmdp.accounting.budget import PrivacyBudget
    from dp_cmdp.accounting.ledger import PrivacyLedger

    ledger = PrivacyLedger(options.file)
    total = PrivacyBudget(options.epsilon, options.delta)
    ledger.create(options.identity, total, options.unit)
    _print(options, ledger.balances(), ledger.head())
    return 0


def run_show(options: argparse.Namespace) -> int:
    from dp_cmdp.accounting.ledger import PrivacyLedger

    ledger = PrivacyLedger(options.file)
    debits = [
        {
            "entry": entry.index,
            "time": entry.time,
            "identity": entry.identity,
            "epsilon": str(entry.epsilon),
            "delta": str(entry.delta),
            "note": entry.note,
        }
        for entry in ledger.entries()
    ]
    _print(options, ledger.balances(), ledger.head(), debits=debits)
    return 0


def run_verify(options: argparse.Namespace) -> int:
    from dp_cmdp.accounting.ledger import PrivacyLedger

    report = PrivacyLedger(options.file).verify(options.pinned)
    _print(options, list(report.balances), report.head, verified=True, pinned=report.pinned)
    return 0


def _print(
    options: argparse.Namespace, balances: list[Balance], head: LedgerHead, **more: Any
) -> None:
    rows = [_row(balance) for balance in balances]
    if options.json:
        print_json({"balances": rows, "head": str(head), **more})
        return
    print_table([{key: row[key] for key in row if not key.startswith("exact")} for row in rows])
    if more.get("debits"):
        print()
        print_table(more["debits"])
    if more.get("verified"):
        against = "the pinned head" if more["pinned"] else "itself only: no head was pinned"
        print(f"\nthe ledger is whole; checked against {against}")
    print(f"\nhead to pin  {head}")


def _row(balance: Balance) -> dict[str, Any]:
    return {
        "identity": balance.identity,
        "unit": balance.unit or "not stated",
        "total": balance.total.rounded_down(),
        "spent": balance.spent.rounded_up(),
        "remaining": balance.remaining.rounded_down(),
        "exact_total": [str(balance.total.epsilon), str(balance.total.delta)],
        "exact_spent": [str(balance.spent.epsilon), str(balance.spent.delta)],
        "exact_remaining": [str(balance.remaining.epsilon), str(balance.remaining.delta)],
    }
