"""The parser of every command, and every option that several commands have.

An empty value is no value: a script whose variable is unset passes ``--data ""``. Taken for "not
given", it would release another database than the one meant; as a folder it would be the current
one. A refusal is one line.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

EXIT_USAGE = 2
DEFAULT = "islands"


class Parser(argparse.ArgumentParser):
    """Refuses empty texts and paths, in each option and position, before a command runs."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.register("type", None, _filled)
        self.register("type", Path, lambda text: Path(_filled(text)))

    def add_subparsers(self, **kwargs: Any) -> Any:
        """Commands of this class; what follows a command's name is for its own parser to judge."""
        commands = super().add_subparsers(**kwargs)
        commands.type = str
        return commands

    def error(self, message: str) -> NoReturn:
        """One line that names the argument, and the exit code of a refusal."""
        print(f"{self.prog}: error: {message} (see {self.prog} --help)", file=sys.stderr)
        raise SystemExit(EXIT_USAGE)


def _filled(text: str) -> str:
    if not text.strip():
        raise argparse.ArgumentTypeError("must not be empty; leave it out or give a value")
    return text


def at_least(low: int) -> Callable[[str], int]:
    """Type of an option: an integer that is not below `low`."""

    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = low - 1
        if number < low:
            raise argparse.ArgumentTypeError(f"must be an integer ≥ {low}, got {text[:40]!r}")
        return number

    return read


def command(
    commands: Any, name: str, run: Any, help: str, epilog: str, *options: str, **more: Any
) -> argparse.ArgumentParser:
    """A command with these of the :data:`OPTIONS`, and ``--json``; `more` goes to its parser."""
    told = {"help": help, "description": help[0].upper() + help[1:] + ".", "epilog": epilog}
    raw = argparse.RawDescriptionHelpFormatter
    parser = commands.add_parser(name, formatter_class=raw, **told, **more)
    for option in (*options, "--json"):
        parser.add_argument(option, **OPTIONS[option])
    parser.set_defaults(run=run, **({"out": Path("out") / name} if "--out" in options else {}))
    return parser


def _taking(metavar: str | None, help: str, kind: Any = None, **more: Any) -> dict[str, Any]:
    return {"metavar": metavar, "help": help, "type": kind, **more}


_FLAG = {"action": "store_true"}
OPTIONS: dict[str, dict[str, Any]] = {
    "problem": _taking("PROBLEM", f"see below (default: grid {DEFAULT!r})", nargs="?"),
    "--problem": _taking("PROBLEM", "as you know it, to be compared with the files; see below"),
    "--private": _taking("SPEC", "of an LP file: what is private in it (TOML)", Path),
    "--relax": {**_FLAG, "help": "of an LP file: take integer columns as continuous"},
    "--relative-to-model": {
        **_FLAG, "help": "of an LP file: its own numbers are public (implied by --data)",
    },
    "--data": _taking(
        "FILE|SEED", "private (simulate: INVENTED) numbers: a table (.csv), hazards (.json), the "
        "seed of simulated ones, an LP file; default: the simulation of a grid, the LP file itself",
    ),
    "--prior": _taking("FILE", "PUBLIC guess of the private numbers, in a file like theirs"),
    "--epsilon": _taking(None, "e.g. 1 or 1/3; smaller is more private", required=True),
    "--delta": _taking(None, "e.g. 1e-6; in (0, 1/2], smaller is more private", required=True),
    "--strategy": {
        "choices": ("auto", "entries", "queries", "worst row"), "default": "auto",
        "help": "what is measured (default: auto, what loses least in simulations)",
    },
    "--ledger": _taking("FILE", "debit this privacy ledger", Path),
    "--account": _taking("NAME", "of the database in the ledger"),
    "--unit": _taking("TEXT", "whom a record is; refused unless it is the account's"),
    "--release": _taking(
        "FILE", "a release.npz (default: that of a named folder; else all databases)", Path
    ),
    "--horizon": _taking(
        "STEPS", "of a grid: sums over episodes of so many steps, undiscounted", at_least(1)
    ),
    "--total": {**_FLAG, "help": "of a grid: sums over episodes that all end by themselves"},
    "--draws": _taking(None, "default: %(default)s", at_least(1), default=16),
    "--workers": _taking(None, "processes (default: 1)", at_least(1), default=1),
    "--seed": _taking(None, "of public randomness (default: 0)", at_least(0), default=0),
    "--curator": {**_FLAG, "help": "use the true numbers; what they say is not to be published"},
    "--compare": {**_FLAG, "help": "curator only: what privacy cost, to DIR/curator_only/"},
    "--out": _taking("DIR", "the folder to write (default: %(default)s)", Path),
    "--json": {**_FLAG, "help": "print one JSON document"},
}  # fmt: skip
PROBLEM = ("problem", "--private", "--relax", "--relative-to-model", "--horizon", "--total")
BUDGET = ("--epsilon", "--delta", "--strategy", "--prior")
