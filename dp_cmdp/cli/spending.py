"""Options of commands that spend a budget: what is released, with which noise, on which account."""

from __future__ import annotations

import argparse
from pathlib import Path

from dp_cmdp.cli.values import at_least
from dp_cmdp.errors import InvalidArgumentError

PLANS = ("auto", "database", "totals")
NOISES = ("tight", "optimal")


def add_spending_options(parser: argparse.ArgumentParser) -> None:
    """``--plan``, ``--noise``, ``--seed``, ``--ledger`` and ``--identity``."""
    parser.add_argument(
        "--plan",
        choices=PLANS,
        help="what a database release says: intervals (database), totals besides, or what promises "
        "to lose least (auto, the default)",
    )
    parser.add_argument(
        "--noise",
        choices=NOISES,
        help="tight: both ends equally close; optimal: one end close, for one-entry records. "
        "Default: optimal where the objective is public and records hold one entry",
    )
    parser.add_argument("--seed", type=at_least(0), help="simulate with float noise (not secure)")
    parser.add_argument("--ledger", type=Path, metavar="FILE", help="debit this privacy ledger")
    parser.add_argument("--identity", help="name of the database in the ledger")


def check_account(options: argparse.Namespace) -> None:
    """Raise unless ledger and identity come together."""
    if options.ledger is not None and not options.identity:
        raise InvalidArgumentError("--identity must name the database when --ledger is given")
    if options.identity is not None and options.ledger is None:
        raise InvalidArgumentError("--identity needs --ledger: without one nothing is debited")
