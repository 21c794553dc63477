"""Numbers in MPS files that are none: HiGHS reads ``1,5`` as 1 and ``abc`` as 0 without a word."""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Iterable
from pathlib import Path

from dp_cmdp.errors import InvalidArgumentError

#: Sections whose lines end in one or two pairs of a row and a number.
_PAIRS = ("COLUMNS", "RHS", "RANGES")
#: Kinds of bounds that end in a number.
_NUMBERED = ("UP", "LO", "FX", "UI", "LI", "SC")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([ed][+-]?\d+)?|[+-]?inf(inity)?", re.IGNORECASE)


def check_numbers(source: Path, ending: str) -> None:
    """Raise if a number of an MPS file is none.

    Its line is named, not its text, which may be private. LP files are parsed strictly by HiGHS.
    """
    if not ending.startswith(".mps"):
        return
    zipped = ending.endswith(".gz")
    try:
        with gzip.open(source, "rt") if zipped else source.open() as lines:
            wrong = _first_wrong(lines)
    except (OSError, UnicodeDecodeError, EOFError, zlib.error):
        raise InvalidArgumentError(
            f"{source.name} cannot be read as {'a gzipped text' if zipped else 'text'}"
        ) from None
    if wrong:
        raise InvalidArgumentError(
            f"{source.name}, line {wrong}: a number is none (it may be private and is not shown); "
            "write decimal points and no thousands separators"
        )


def _first_wrong(lines: Iterable[str]) -> int | None:
    section, rows = "", set[str]()
    for number, line in enumerate(lines, start=1):
        fields = line.split()
        if not fields or line.startswith("*"):
            continue
        if not line[0].isspace():
            section = fields[0].upper()
        elif section == "ROWS":
            rows.add(fields[-1])
        elif not all(map(_NUMBER.fullmatch, _number_fields(section, fields, rows))):
            return number
    return None


def _number_fields(section: str, fields: list[str], rows: set[str]) -> list[str]:
    """The fields of a line that must be numbers; names may hold spaces in files of fixed form."""
    if section == "BOUNDS":
        return fields[-1:] if fields[0].upper() in _NUMBERED else []
    if section not in _PAIRS or "'MARKER'" in fields:
        return []
    return fields[-3::2] if len(fields) >= 4 and fields[-4] in rows else fields[-1:]
