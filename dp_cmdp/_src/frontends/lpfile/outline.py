"""What a file of a linear program states: names, and numbers as texts with what they are of.

The two grammars fill an :class:`Outline`; :mod:`model` turns its texts into numbers. A number at a
private place stays a text, so nothing public can follow from it.
"""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from dp_cmdp._src.base.errors import InvalidArgumentError

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([ed][+-]?\d+)?|[+-]?inf(inity)?", re.IGNORECASE)
#: Spaces and control characters that some readers take for spaces and others do not.
_STRANGE = re.compile(r"[^\S \t\n]|[\x00-\x08\x0b-\x1f\x7f]")
NO_NUMBER = (
    "a number is none (it may be private and is not shown); write decimal points and no thousands "
    "separators"
)


class GrammarError(Exception):
    """A line outside the strict grammar: its number and the rule, nothing of its text."""

    def __init__(self, line: int, rule: str) -> None:
        super().__init__(line, rule)
        self.line, self.rule = line, rule


@dataclass(frozen=True, slots=True)
class Stated:
    """A number of a file; `ends` ("l", "u", "lu") says which bounds of its column it is."""

    line: int
    text: str
    kind: str  # objective, offset, coefficient, rhs, range or bound
    row: str = ""
    column: str = ""
    ends: str = ""


@dataclass(slots=True)
class Outline:
    """Rows with their kinds (L, G, E), columns, numbers, and bounds stated without a number."""

    maximize: bool = False
    rows: dict[str, str] = field(default_factory=dict)
    columns: dict[str, None] = field(default_factory=dict)
    stated: list[Stated] = field(default_factory=list)
    bounds: dict[tuple[str, str], float] = field(default_factory=dict)
    integer: set[str] = field(default_factory=set)
    binary: set[str] = field(default_factory=set)
    semicontinuous: set[str] = field(default_factory=set)


def number(text: str) -> float | None:
    """The number that all of a text is, or None."""
    return float(text.lower().replace("d", "e")) if _NUMBER.fullmatch(text) else None


def numbered_lines(source: Path) -> Iterator[tuple[int, str]]:
    """The lines of a text file, plain or gzipped by its name, with their numbers from 1."""
    zipped = source.name.lower().endswith(".gz")
    try:
        with (
            gzip.open(source, "rt", newline="\n", encoding="utf-8")
            if zipped
            else source.open(newline="\n", encoding="utf-8") as file
        ):
            for at, line in enumerate(file, start=1):
                text = line.rstrip("\r\n")
                if _STRANGE.search(text):
                    raise GrammarError(at, "only spaces and tabs may stand between words")
                yield at, text
    except (OSError, UnicodeDecodeError, EOFError, zlib.error):
        raise InvalidArgumentError(
            f"{source.name} cannot be read as {'a gzipped text' if zipped else 'text'}"
        ) from None
