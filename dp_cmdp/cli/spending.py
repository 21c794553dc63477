"""Options of commands that spend a budget: what is released, with which noise, on which account."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from dp_cmdp.cli.values import at_least
from dp_cmdp.errors import InvalidArgumentError

if TYPE_CHECKING:
    from dp_cmdp._check import FloatArray

PLANS = ("auto", "database", "totals")
NOISES = ("tight", "optimal")


def add_spending_options(parser: argparse.ArgumentParser) -> None:
    """``--plan``, ``--guess``, ``--noise``, ``--seed``, and whose ledger is debited."""
    parser.add_argument(
        "--plan",
        choices=PLANS,
        help="what a database release says: intervals (database), totals besides, or what promises "
        "to lose least (auto, the default)",
    )
    parser.add_argument(
        "--guess",
        type=Path,
        metavar="FILE",
        help="a PUBLIC guess of the private numbers, in a file like theirs: plans are tried around "
        "it, and it may be published with the release",
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
    parser.add_argument("--unit", help="whom a record is; refused where the ledger says otherwise")


def check_guess(options: argparse.Namespace, *, private: object) -> None:
    """Raise where a guess would not be used, or is the file of the private numbers itself."""
    if options.guess is None:
        return
    if options.plan == "database":
        raise InvalidArgumentError("--guess serves --plan auto and totals: leave it out")
    if not options.guess.is_file():
        raise InvalidArgumentError(f"--guess must be a file; there is none at {options.guess}")
    if isinstance(private, Path) and private.is_file() and options.guess.samefile(private):
        raise InvalidArgumentError(
            "--guess must be public, and may be published; this is the file of the private numbers"
        )


def read_guess(
    options: argparse.Namespace, read: Callable[[Path], FloatArray]
) -> FloatArray | None:
    """The public guess that ``--guess`` names, entry by entry."""
    if options.guess is None:
        return None
    try:
        return read(options.guess)
    except InvalidArgumentError as error:
        raise InvalidArgumentError(f"--guess: {error}") from None


def check_account(options: argparse.Namespace) -> None:
    """Raise unless ledger and identity come together."""
    if options.ledger is not None and not options.identity:
        raise InvalidArgumentError("--identity must name the database when --ledger is given")
    if options.identity is not None and options.ledger is None:
        raise InvalidArgumentError("--identity needs --ledger: without one nothing is debited")
    if options.unit is not None and options.ledger is None:
        raise InvalidArgumentError("--unit needs --ledger: it is the ledger's that is compared")
