"""``dp-cmdp audit``: does what is shipped keep its privacy promise?"""

from __future__ import annotations

import argparse
from typing import Any

from dp_cmdp._src.cli import report
from dp_cmdp._src.cli.folder import writable_folder, write_json
from dp_cmdp._src.cli.parser import command

EPILOG = """examples:
  dp-cmdp audit                 every kind of measurement and strategy, on invented data
  dp-cmdp audit --quick         fewer runs
  dp-cmdp audit --json          one JSON document on standard output

A correct package is accused with probability at most 1e-6 per subject; exit code 1 when something
fails. DIR gets audit.json, and audit.png where matplotlib is installed. A mechanism of your own is
audited by dp_cmdp.audit.audit."""
EXIT_FAILED = 1


def add_parsers(commands: Any) -> None:
    text = "test the privacy of everything that is shipped, on invented data"
    parser = command(commands, "audit", audit, text, EPILOG, "--seed", "--out")
    parser.add_argument("--quick", action="store_true", help="fewer runs")


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
