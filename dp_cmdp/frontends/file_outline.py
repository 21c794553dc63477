"""What a file of a linear program says, read apart from HiGHS.

HiGHS drops or changes without a word what it does not understand: ``1,5`` is read as 1, a constant
on the left of a row is left out, a misspelt column in a bound becomes a new one. So a file is first
read by a strict grammar (:mod:`dp_cmdp.frontends.mps_grammar`,
:mod:`dp_cmdp.frontends.lp_grammar`), and what HiGHS made of it is compared with that.
"""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dp_cmdp._check import FloatArray
from dp_cmdp.errors import InvalidArgumentError

if TYPE_CHECKING:
    from dp_cmdp.frontends.lp_file import LpModel

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([ed][+-]?\d+)?|[+-]?inf(inity)?", re.IGNORECASE)
#: Spaces and control characters that not everybody takes for spaces.
_STRANGE = re.compile(r"[^\S \t\n]|[\x00-\x08\x0b-\x1f\x7f]")


class GrammarError(Exception):
    """A line outside the strict grammar: its number, and the rule; nothing of its text."""

    def __init__(self, line: int, rule: str) -> None:
        super().__init__(line, rule)
        self.line, self.rule = line, rule


@dataclass(frozen=True, slots=True)
class Stated:
    """Where a number stands in a file, and what it is of; `ends` ("l", "u") of a bound."""

    line: int
    start: int
    end: int
    kind: str
    row: str = ""
    column: str = ""
    ends: str = ""


@dataclass(slots=True)
class Outline:
    """What a file states: columns, the right-hand side of each row, bounds ("l", "u"), numbers.

    Of a file with private numbers `stated` is read alone, and no number is refused.
    """

    columns: dict[str, None] = field(default_factory=dict)
    sides: list[float] = field(default_factory=list)
    bounds: dict[tuple[str, str], float] = field(default_factory=dict)
    coefficients: list[float] = field(default_factory=list)
    costs: list[float] = field(default_factory=list)
    stated: list[Stated] = field(default_factory=list)

    def fits(self, model: LpModel, smallest: float) -> bool:
        """Is the model what is stated? Coefficients up to `smallest` may be missing."""
        if len(self.sides) != model.num_rows or set(self.columns) != set(model.column_names):
            return False
        at = {name: j for j, name in enumerate(model.column_names)}
        ends = {"l": model.lower, "u": model.upper}
        made = np.array([ends[end][at[name]] for end, name in self.bounds])
        sides, bounds = _limited(self.sides), _limited(list(self.bounds.values()))
        return bool(
            (_close(sides, model.row_lower) | _close(sides, model.row_upper)).all()
            and _close(bounds, made).all()
            and _alike(self.coefficients, model.A.data, smallest)
            and _alike(self.costs, model.c, 0.0)
        )


def _limited(values: list[float]) -> FloatArray:
    """Numbers of 1e20 and more are infinite to HiGHS."""
    numbers = np.array(values, dtype=np.float64)
    return np.where(np.abs(numbers) >= 1e20, np.copysign(np.inf, numbers), numbers)


def _close(stated: FloatArray, made: FloatArray) -> NDArray[np.bool_]:
    """The same but for the last bits, in which readers of decimals may differ."""
    return np.isclose(stated, made, rtol=1e-14, atol=0.0)


def _alike(stated: list[float], made: FloatArray, smallest: float) -> bool:
    mine, theirs = np.array(stated, dtype=np.float64), np.asarray(made)
    mine = np.sort(mine[np.abs(mine) > smallest])
    theirs = np.sort(theirs[np.abs(theirs) > smallest])
    return mine.size == theirs.size and bool(_close(mine, theirs).all())


def number(text: str) -> float | None:
    """The number that all of a text is, or None."""
    if not _NUMBER.fullmatch(text):
        return None
    return float(text.lower().replace("d", "e"))


def numbered_lines(source: Path, *, zipped: bool) -> Iterator[tuple[int, str]]:
    """The lines of a text file with their numbers, from 1."""
    try:
        with gzip.open(source, "rt", newline="\n") if zipped else source.open(newline="\n") as file:
            for at, line in enumerate(file, start=1):
                text = line.rstrip("\r\n")
                if _STRANGE.search(text):
                    raise GrammarError(at, "only spaces and tabs may stand between words")
                yield at, text
    except (OSError, UnicodeDecodeError, EOFError, zlib.error):
        raise InvalidArgumentError(
            f"{source.name} cannot be read as {'a gzipped text' if zipped else 'text'}"
        ) from None
