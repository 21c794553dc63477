"""``dp-cmdp explore``: a local page where a private safe policy is designed by looking."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from dp_cmdp._extras import require
from dp_cmdp.cli.values import at_least
from dp_cmdp.errors import InvalidArgumentError

if TYPE_CHECKING:
    from dp_cmdp.explorer.custody import Custody

PORT = 8733
LARGEST_PORT = 65535

EPILOG = """examples:
  dp-cmdp explore
  dp-cmdp explore --port 0 --no-browser
  dp-cmdp explore --layout my.json --hazards mine.json --ledger ledger.sqlite --identity site-7

The page is for this machine alone: it listens on 127.0.0.1, answers to that name only, refuses what
other pages ask, and opens for who has the address that is printed at its start. Data that is
invented in the page spends nothing. A real database is named here, with a ledger that knows it; it
is read by a press of Release, after the debit, and never drawn."""


def add_parser(commands) -> None:
    parser = commands.add_parser(
        "explore",
        help="a local page to design a private safe policy by looking",
        description="Draw a grid, invent hazards, move the budget, and see release, policies, "
        "certificate and price at once; or release a real database against its ledger.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--port", type=at_least(0), default=PORT, help=f"0: any that is free (default: {PORT})"
    )
    parser.add_argument("--no-browser", action="store_true", help="print the address only")
    real = parser.add_argument_group("a real database")
    real.add_argument("--layout", metavar="NAME|FILE", help="its public layout")
    real.add_argument("--hazards", type=Path, metavar="FILE", help="its private hazards, JSON")
    real.add_argument("--ledger", type=Path, metavar="FILE", help="the privacy ledger that pays")
    real.add_argument("--identity", help="name of the database in the ledger")
    real.add_argument(
        "--out",
        type=Path,
        default=Path("out/explore"),
        metavar="DIR",
        help="each release is written here too (default: out/explore)",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    if options.port > LARGEST_PORT:
        raise InvalidArgumentError(f"--port must be at most {LARGEST_PORT}, got {options.port}")
    custody = _custody(options)
    require("nicegui")
    require("matplotlib")
    from dp_cmdp.explorer.page.app import serve

    serve(port=options.port, browser=not options.no_browser, custody=custody)
    return 0


def _custody(options: argparse.Namespace) -> Custody | None:
    """The real database, if one is named; it is named wholly or not at all."""
    names = ("hazards", "ledger", "identity", "layout")
    given = [name for name in names if getattr(options, name) is not None]
    if not given:
        return None
    missing = [f"--{name}" for name in names if name not in given]
    if missing:
        raise InvalidArgumentError(
            f"a real database needs {', '.join(missing)} too: it is released against a ledger only"
        )
    from dp_cmdp.cli.values import writable_folder
    from dp_cmdp.envs import as_layout
    from dp_cmdp.explorer.custody import Custody

    with writable_folder(options.out):
        return Custody(
            as_layout(options.layout),
            options.hazards,
            options.ledger,
            options.identity,
            options.out,
        )
