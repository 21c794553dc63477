"""``dp-cmdp audit`` and ``dp-cmdp explore``: is the promise kept, and a page to look at."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from dp_cmdp._src.cli import report
from dp_cmdp._src.cli.folder import writable_folder, write_json
from dp_cmdp._src.cli.parser import at_least, command

AUDIT = """examples:
  dp-cmdp audit                 every kind of measurement and strategy, on invented data
  dp-cmdp audit --quick         fewer runs
  dp-cmdp audit --json          one JSON document on standard output

A correct package is accused with probability at most 1e-6 per subject; exit code 1 when something
fails. DIR gets audit.json, and audit.png where matplotlib is installed. A mechanism of your own is
audited by dp_cmdp.audit.audit."""
EXPLORE = """examples:
  dp-cmdp explore --port 0 --no-browser
  dp-cmdp explore --layout my.json --hazards mine.csv --limits limits.csv \\
      --ledger site.ledger --account site-7
  dp-cmdp explore --model model.mps --private spec.toml --data values.csv \\
      --ledger site.ledger --account plant-3
  dp-cmdp explore --auction 10x5 --data prices.csv --ledger site.ledger --account auction-1

The page is for this machine alone: it listens on 127.0.0.1, answers to that name only, refuses what
other pages ask, and opens for who has the address that is printed at its start. Data that is
invented in the page spends nothing. A real database is named here, with a ledger that knows it; it
is read by a press of Release, after the debit, and never drawn."""
EXIT_FAILED = 1
#: What names a real database, wholly or not at all: the explorer judges it.
NAMES: dict[str, tuple[Any, str, str]] = {
    "layout": (None, "NAME|FILE", "the public layout of a grid"),
    "hazards": (Path, "FILE", "its private hazards, JSON or CSV"),
    "limits": (Path, "FILE", "of hazards in CSV: kind,limit (CSV)"),
    "model": (Path, "FILE", "a public .mps or .lp program"),
    "private": (Path, "SPEC", "what is private in it, TOML"),
    "data": (Path, "FILE", "private numbers of the program (CSV, MPS, LP), prices of the auction"),
    "auction": (None, "GROUPSxADVERTISERS", "an ad auction"),
    "price_radius": (float, "R", "how far a price of the auction may move (default: 0.1)"),
}
PORT = 8733


def add_parsers(commands: Any) -> None:
    text = "test the privacy of everything that is shipped, on invented data"
    parser = command(commands, "audit", audit, text, AUDIT, "--seed", "--out")
    parser.add_argument("--quick", action="store_true", help="fewer runs")
    text, account = "a local page to design a private safe policy", ("--ledger", "--account")
    parser = command(commands, "explore", explore, text, EXPLORE, *account, "--out")
    parser.add_argument("--port", type=at_least(0), default=PORT, help=f"0: any (default: {PORT})")
    parser.add_argument("--no-browser", action="store_true", help="print the address only")
    real = parser.add_argument_group("a real database (a grid, a program or an auction)")
    for name, (kind, metavar, help) in NAMES.items():
        real.add_argument(f"--{name.replace('_', '-')}", type=kind, metavar=metavar, help=help)


def audit(options: argparse.Namespace) -> int:
    from dp_cmdp._src.verbs.suite import QUICK_RUNS, RUNS, audit_release

    with writable_folder(options.out, "audit.json", "audit.png") as folder:
        runs = QUICK_RUNS if options.quick else RUNS
        found = audit_release(runs=runs, seed=options.seed, progress=not options.json)
        write_json(folder / "audit.json", found.to_dict())
        report.draw(found, folder / "audit.png")
    if not options.json:
        print(found)
    report.say(options, found.to_dict(), ("written", f"{options.out}/"))
    return 0 if found else EXIT_FAILED


def explore(options: argparse.Namespace) -> int:
    from dp_cmdp.explorer import run

    print("dp-cmdp explore: starting …", file=sys.stderr)

    def say(address: str) -> None:
        lines = ("explorer", address), ("", "stop it with Ctrl+C")
        report.say(options, {"address": address}, *lines)

    named = {name: getattr(options, name) for name in (*NAMES, "ledger", "account")}
    run(port=options.port, browser=not options.no_browser, say=say, out=options.out, **named)
    return 0
