"""Finds the command, runs it, and turns named errors into one clear line and an exit code."""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module

from dp_cmdp import __version__
from dp_cmdp.cli.parser import Parser
from dp_cmdp.errors import DPCMDPError, PrivacyWarning

COMMANDS = (
    "synthesize",
    "lp",
    "rollout",
    "evaluate",
    "verify",
    "advise",
    "audit",
    "ledger",
    "reproduce",
    "explore",
)

EXIT_ERROR = 2
EXIT_INTERRUPTED = 130


def build_parser() -> argparse.ArgumentParser:
    """The parser with every command's own options."""
    parser = Parser(
        prog="dp-cmdp",
        description="Private safe decisions: linear programs and constrained MDPs solved under "
        "differential privacy, with answers that satisfy the true constraints with certainty.",
        epilog="Every command has --help with examples, and --json for machines.",
    )
    parser.add_argument("--version", action="version", version=f"dp-cmdp {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name in COMMANDS:
        import_module(f"dp_cmdp.cli.{name}").add_parser(commands)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code."""
    warnings.showwarning = _one_line
    options = build_parser().parse_args(arguments)
    try:
        return options.run(options)
    except DPCMDPError as error:
        print(f"dp-cmdp {options.command}: error: {error}", file=sys.stderr)
        return EXIT_ERROR
    except KeyboardInterrupt:
        print(f"\ndp-cmdp {options.command}: interrupted; finished work is kept", file=sys.stderr)
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        where = "" if error.filename is None else f": {error.filename}"
        reason = error.strerror or type(error).__name__
        print(f"dp-cmdp {options.command}: error: {reason}{where}", file=sys.stderr)
        return EXIT_ERROR


def _one_line(message, category, filename, lineno, file=None, line=None) -> None:
    if not issubclass(category, PrivacyWarning):
        print(f"dp-cmdp: {category.__name__}: {message}", file=sys.stderr)
    else:
        print(f"dp-cmdp: note: {message}", file=sys.stderr)
