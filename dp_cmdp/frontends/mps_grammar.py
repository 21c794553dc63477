"""MPS files by a strict grammar: every field of every line has its meaning, or the line is refused.

Fields are parted by spaces, so that no name holds one. Each row, column, right-hand side, range and
bound stands once; of rows without a side (N) the first is the objective.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from math import inf, isfinite, nan

from dp_cmdp.frontends.file_outline import GrammarError, Outline, Stated, number

_SECTIONS = ("NAME", "OBJSENSE", "ROWS", "COLUMNS", "RHS", "RANGES", "BOUNDS", "ENDATA")
_QUADRATIC = ("QUADOBJ", "QMATRIX", "QSECTION", "QCMATRIX")
_SENSES = ("MIN", "MAX", "MINIMIZE", "MAXIMIZE", "MINIMISE", "MAXIMISE")
#: The ends of a column that each kind of bound sets; the first ones come with a number.
_NUMBERED = {"UP": "u", "LO": "l", "FX": "lu", "UI": "u", "LI": "l", "SC": "u"}
_ALONE = {"MI": "l", "PL": "u", "FR": "lu", "BV": "lu"}
_NO_NUMBER = (
    "a number is none (it may be private and is not shown); write decimal points and no thousands "
    "separators"
)


def outline(lines: Iterable[tuple[int, str]], *, any_number: bool = False) -> Outline:
    """What the file states; GrammarError for the first line outside the grammar.

    With `any_number`, whatever stands where a number should is taken for one.
    """
    reader = _Reader(any_number)
    at = 0
    for at, line in lines:
        fields = line.split()
        if fields and not line.startswith("*"):
            reader.read(at, line, fields)
    if reader.section != "ENDATA":
        raise GrammarError(max(at, 1), "the file ends without ENDATA")
    return reader.found


class _Reader:
    def __init__(self, any_number: bool) -> None:
        self.found = Outline()
        self._any_number = any_number
        self._spans: list[tuple[int, int]] = []
        self.section = ""
        self._kinds: dict[str, str] = {}
        self._objective: str | None = None
        self._entries: set[str] = set()
        self._column = ""
        self._integer = False
        self._sets: dict[str, str | None] = {}
        self._side_of: dict[str, int] = {}
        self._stated: set[tuple[str, str]] = set()

    def read(self, at: int, line: str, fields: list[str]) -> None:
        word = fields[0].upper()
        self._spans = [field.span() for field in re.finditer(r"\S+", line)]
        if self.section == "ENDATA":
            raise GrammarError(at, "text after ENDATA")
        if word in _QUADRATIC:
            raise GrammarError(at, "a quadratic objective or row; the program must be linear")
        if not line[0].isspace() and word in _SECTIONS:
            self._head(at, word, fields)
        elif self.section in ("", "NAME", "ENDATA"):
            raise GrammarError(
                at,
                f"a section must begin at the line's start, one of {', '.join(_SECTIONS)}",
            )
        else:
            getattr(self, f"_{self.section.lower()}")(at, fields)

    def _head(self, at: int, word: str, fields: list[str]) -> None:
        if self.section and _SECTIONS.index(word) <= _SECTIONS.index(self.section):
            raise GrammarError(at, f"sections stand once, in the order {', '.join(_SECTIONS)}")
        if word in ("COLUMNS", "RHS", "RANGES", "BOUNDS", "ENDATA") and not self._kinds:
            raise GrammarError(at, "the section ROWS must come first and name the objective (N)")
        self.section = word
        if word == "OBJSENSE" and len(fields) == 2:
            self._objsense(at, fields[1:])
        elif word != "NAME" and len(fields) > 1:
            raise GrammarError(at, f"nothing may stand after {word}")

    def _objsense(self, at: int, fields: list[str]) -> None:
        if len(fields) > 1 or fields[0].upper() not in _SENSES or "sense" in self._sets:
            raise GrammarError(at, "OBJSENSE must be one word, MAX or MIN")
        self._sets["sense"] = None

    def _rows(self, at: int, fields: list[str]) -> None:
        if len(fields) != 2 or fields[0].upper() not in ("N", "L", "G", "E"):
            raise GrammarError(at, "a row must be one of N, L, G, E and a name without spaces")
        kind, name = fields[0].upper(), fields[1]
        if name in self._kinds:
            raise GrammarError(at, "the row stands twice")
        self._check_name(at, name)
        self._kinds[name] = kind
        if kind != "N":
            self._side_of[name] = len(self.found.sides)
            self.found.sides.append(0.0)
        elif self._objective is None:
            self._objective = name

    def _columns(self, at: int, fields: list[str]) -> None:
        if len(fields) == 3 and fields[1] == "'MARKER'":
            if fields[2] != ("'INTEND'" if self._integer else "'INTORG'"):
                raise GrammarError(at, "markers must be 'INTORG' and 'INTEND', in turns")
            self._integer = not self._integer
            return
        name = fields[0]
        if name != self._column:
            if name in self.found.columns:
                raise GrammarError(at, "the entries of a column must follow each other")
            self._check_name(at, name)
            self.found.columns[name] = None
            self._column, self._entries = name, set()
        for row, value, span in self._pairs(at, fields[1:]):
            if row in self._entries:
                raise GrammarError(at, "the entry stands twice")
            self._entries.add(row)
            if not (isfinite(value) or self._any_number):
                raise GrammarError(at, "a coefficient or cost is not finite")
            if row == self._objective:
                self.found.costs.append(value)
                self.found.stated.append(Stated(at, *span, "objective", column=name))
            elif self._kinds[row] != "N":
                self.found.coefficients.append(value)
                self.found.stated.append(Stated(at, *span, "coefficient", row, name))

    def _pairs(self, at: int, fields: list[str]) -> list[tuple[str, float, tuple[int, int]]]:
        """One or two pairs of a row and a number, with the place of this."""
        if len(fields) not in (2, 4):
            raise GrammarError(
                at, "one or two pairs of a row and a number must stand here (names hold no spaces)"
            )
        pairs, spans = [], self._spans[-len(fields) + 1 :: 2]
        for row, text, span in zip(fields[::2], fields[1::2], spans, strict=True):
            value = self._number(at, text)
            if row not in self._kinds:
                raise GrammarError(at, "the section ROWS has no row of this name")
            pairs.append((row, value, span))
        return pairs

    def _number(self, at: int, text: str | None) -> float:
        value = None if text is None else number(text)
        if value is None and (text is None or not self._any_number):
            raise GrammarError(at, _NO_NUMBER)
        return nan if value is None else value

    def _rhs(self, at: int, fields: list[str]) -> None:
        named = len(fields) % 2 == 1
        self._one_set(at, fields[0] if named else None)
        for row, value, span in self._pairs(at, fields[named:]):
            self._once(at, "RHS", row)
            if row in self._side_of:
                self.found.sides[self._side_of[row]] = value
                self.found.stated.append(Stated(at, *span, "rhs", row))

    def _ranges(self, at: int, fields: list[str]) -> None:
        named = len(fields) % 2 == 1
        self._one_set(at, fields[0] if named else None)
        for row, _, span in self._pairs(at, fields[named:]):
            if self._kinds[row] == "N":
                raise GrammarError(at, "a row without a side (N) has no range")
            self._once(at, "RANGES", row)
            self.found.stated.append(Stated(at, *span, "range", row))

    def _bounds(self, at: int, fields: list[str]) -> None:
        kind = fields[0].upper()
        if kind not in _NUMBERED and kind not in _ALONE:
            known = ", ".join((*_NUMBERED, *_ALONE))
            raise GrammarError(at, f"a bound must begin with one of {known}")
        rest, value = fields[1:], None
        if kind in _NUMBERED:
            value = self._number(at, rest.pop() if len(rest) > 1 else None)
        if len(rest) not in (1, 2):
            raise GrammarError(
                at,
                "a bound must be its kind, the name of the set, a column and, but for "
                f"{', '.join(_ALONE)}, a number (names hold no spaces)",
            )
        self._one_set(at, rest[0] if len(rest) == 2 else None)
        if rest[-1] not in self.found.columns:
            raise GrammarError(at, "the section COLUMNS has no column of this name")
        ends = (_NUMBERED | _ALONE)[kind]
        if value is not None:
            spot = Stated(at, *self._spans[-1], "bound", column=rest[-1], ends=ends)
            self.found.stated.append(spot)
        for end in ends:
            self._once(at, end, rest[-1])
            alone = {"l": -inf, "u": inf} if kind != "BV" else {"l": 0.0, "u": 1.0}
            self.found.bounds[end, rest[-1]] = alone[end] if value is None else value

    def _check_name(self, at: int, name: str) -> None:
        if name.upper() in _SECTIONS:
            raise GrammarError(at, "a row, column or set has the name of a section")

    def _once(self, at: int, what: str, name: str) -> None:
        if (what, name) in self._stated:
            raise GrammarError(at, "the row or column has such a number already: it stands twice")
        self._stated.add((what, name))

    def _one_set(self, at: int, name: str | None) -> None:
        """HiGHS reads all sets of a section, others the first one only."""
        if name is not None and name.upper() != self.section:
            self._check_name(at, name)
        if self._sets.setdefault(self.section, name) != name:
            raise GrammarError(at, f"the lines of {self.section} must belong to one set")
