"""``dp-cmdp``: finds the command, runs it, and turns named errors into one line and a code."""

from __future__ import annotations

import _thread
import os
import sys
import threading
import warnings
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from dp_cmdp import __version__
from dp_cmdp._src.base.errors import Error, PrivacyWarning
from dp_cmdp._src.cli.parser import EXIT_USAGE, Parser

#: Modules of commands, in the order of the help.
MODULES = ("spend", "public", "policies", "ledger", "tools")
EXIT_INTERRUPTED = 130
START = """Linear programs and constrained MDPs solved under differential privacy, with certainty.
  dp-cmdp solve rooms --epsilon 1 --delta 1e-6   a private, certainly safe policy of a grid
  dp-cmdp solve model.mps --private spec.toml --data values.csv --epsilon 1 --delta 1e-6
  dp-cmdp publish | answer | certify             release once; answer, and prove, as often as needed
  dp-cmdp advise rooms                           what a release would be worth, from public data
  dp-cmdp simulate rooms --epsilon 1 --delta 1e-6
  dp-cmdp verify out/solve                       what public files prove
  dp-cmdp evaluate | rollout out/solve           what a policy earns and costs
  dp-cmdp ledger | audit | explore               budgets, privacy tests, a page to look at
Every command has --help with examples, and --json for machines."""


def build_parser() -> Parser:
    """The parser with every command's own options."""
    parser = Parser(prog="dp-cmdp", description=START.splitlines()[0])
    parser.add_argument("--version", action="version", version=f"dp-cmdp {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for name in MODULES:
        import_module(f"dp_cmdp._src.cli.{name}").add_parsers(commands)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code."""
    warnings.showwarning = _one_line
    sys.unraisablehook = _interrupt_again
    options = build_parser().parse_args(arguments)
    if options.command is None:
        print(START)
        return 0
    try:
        return options.run(options)
    except Error as error:
        return _refuse(options, str(error))
    except KeyboardInterrupt:
        print(f"\ndp-cmdp {options.command}: interrupted; finished work is kept", file=sys.stderr)
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        where = "" if error.filename is None else f": {error.filename}"
        return _refuse(options, f"{error.strerror or type(error).__name__}{where}")


def _interrupt_again(lost: Any) -> None:
    """Python drops a Control-C that arrives within a finalizer: it is sent again a moment later."""
    if issubclass(lost.exc_type, KeyboardInterrupt):
        threading.Timer(0.01, _thread.interrupt_main).start()
    else:
        sys.__unraisablehook__(lost)


def _refuse(options: Any, why: str) -> int:
    print(f"dp-cmdp {options.command}: error: {why}", file=sys.stderr)
    return EXIT_USAGE


def _one_line(message, category, filename, lineno, file=None, line=None) -> None:
    if issubclass(category, PrivacyWarning):  # others may come of reading private files
        print(f"dp-cmdp: note: {message}", file=sys.stderr)
