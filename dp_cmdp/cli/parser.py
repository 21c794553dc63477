"""The parser of every command: an empty value is no value, and a refusal is one line.

A script whose variable is unset passes ``--layout ""``. Taken for "not given", it would release
another database than the one meant; as a folder it would be the current one.
"""

from __future__ import annotations

import argparse
import sys
import textwrap
from pathlib import Path
from typing import Any, NoReturn

EXIT_USAGE = 2
#: Characters of a line of a description; options are folded to the terminal by argparse.
HELP_WIDTH = 80


class Parser(argparse.ArgumentParser):
    """Refuses empty texts and paths, in each option and position, before a command runs."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.description is not None:
            self.description = textwrap.fill(self.description, HELP_WIDTH)
        self.register("type", None, _filled)
        self.register("type", Path, lambda text: Path(_filled(text)))

    def add_subparsers(self, **kwargs: Any):
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
