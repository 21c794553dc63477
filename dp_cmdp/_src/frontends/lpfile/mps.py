"""MPS files by a strict grammar: every field of every line has its meaning, or the line is refused.

Fields are parted by spaces, so no name holds one. Each row, column, right-hand side, range and
bound stands once; of rows without a side (N) the first is the objective.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import inf

from dp_cmdp._src.frontends.lpfile.outline import GrammarError, Outline, Stated

_SECTIONS = ("NAME", "OBJSENSE", "ROWS", "COLUMNS", "RHS", "RANGES", "BOUNDS", "ENDATA")
_QUADRATIC = ("QUADOBJ", "QMATRIX", "QSECTION", "QCMATRIX")
_SENSES = ("MIN", "MAX", "MINIMIZE", "MAXIMIZE", "MINIMISE", "MAXIMISE")
#: The ends of a column that each kind of bound sets; the first ones come with a number.
_NUMBERED = {"UP": "u", "LO": "l", "FX": "lu", "UI": "u", "LI": "l", "SC": "u"}
_ALONE = {"MI": "l", "PL": "u", "FR": "lu", "BV": "lu"}


def outline(lines: Iterable[tuple[int, str]]) -> Outline:
    """What the file states; GrammarError for the first line outside the grammar."""
    reader, at = _Reader(), 0
    for at, line in lines:
        fields = line.split()
        if fields and not line.startswith("*"):
            reader.read(at, line, fields)
    if reader.section != "ENDATA":
        raise GrammarError(max(at, 1), "the file ends without ENDATA")
    reader.found.binary = reader.marked - {name for what, name in reader.once if what in "lu"}
    return reader.found


class _Reader:
    def __init__(self) -> None:
        self.found = Outline()
        self.section = ""
        self.once: set[tuple[str, str]] = set()
        self.marked: set[str] = set()
        self._free_rows: list[str] = []
        self._column = ""
        self._integer = False
        self._sets: dict[str, str | None] = {}

    def read(self, at: int, line: str, fields: list[str]) -> None:
        word = fields[0].upper()
        if self.section == "ENDATA":
            raise GrammarError(at, "text after ENDATA")
        if word in _QUADRATIC:
            raise GrammarError(at, "a quadratic objective or row; the program must be linear")
        if not line[0].isspace() and word in _SECTIONS:
            self._head(at, word, fields)
        elif self.section in ("", "NAME"):
            raise GrammarError(
                at, f"a section must begin at the line's start, one of {', '.join(_SECTIONS)}"
            )
        else:
            getattr(self, f"_{self.section.lower()}")(at, fields)

    def _head(self, at: int, word: str, fields: list[str]) -> None:
        if self.section and _SECTIONS.index(word) <= _SECTIONS.index(self.section):
            raise GrammarError(at, f"sections stand once, in the order {', '.join(_SECTIONS)}")
        if _SECTIONS.index(word) > _SECTIONS.index("ROWS") and not self._free_rows:
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
        self.found.maximize = fields[0].upper().startswith("MAX")

    def _rows(self, at: int, fields: list[str]) -> None:
        if len(fields) != 2 or fields[0].upper() not in ("N", "L", "G", "E"):
            raise GrammarError(at, "a row must be one of N, L, G, E and a name without spaces")
        kind, name = fields[0].upper(), fields[1]
        self._check_name(at, name)
        if name in self.found.rows or name in self._free_rows:
            raise GrammarError(at, "the row stands twice")
        if kind == "N":
            self._free_rows.append(name)
        else:
            self.found.rows[name] = kind

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
            self._column = name
        if self._integer:
            self.found.integer.add(name)
            self.marked.add(name)
        for row, text in self._pairs(at, fields[1:]):
            self._only(at, f"entry of {name}", row)
            if row == self._free_rows[0]:
                self.found.stated.append(Stated(at, text, "objective", column=name))
            elif row in self.found.rows:
                self.found.stated.append(Stated(at, text, "coefficient", row, name))

    def _pairs(self, at: int, fields: list[str]) -> list[tuple[str, str]]:
        """One or two pairs of a row and a number."""
        if len(fields) not in (2, 4):
            raise GrammarError(
                at, "one or two pairs of a row and a number must stand here (names hold no spaces)"
            )
        pairs = list(zip(fields[::2], fields[1::2], strict=True))
        for row, _ in pairs:
            if row not in self.found.rows and row not in self._free_rows:
                raise GrammarError(at, "the section ROWS has no row of this name")
        return pairs

    def _rhs(self, at: int, fields: list[str]) -> None:
        for row, text in self._set_of_pairs(at, fields):
            self._only(at, "RHS", row)
            if row in self.found.rows:
                self.found.stated.append(Stated(at, text, "rhs", row))
            elif row == self._free_rows[0]:
                self.found.stated.append(Stated(at, text, "offset"))

    def _ranges(self, at: int, fields: list[str]) -> None:
        for row, text in self._set_of_pairs(at, fields):
            if row in self._free_rows:
                raise GrammarError(at, "a row without a side (N) has no range")
            self._only(at, "RANGES", row)
            self.found.stated.append(Stated(at, text, "range", row))

    def _set_of_pairs(self, at: int, fields: list[str]) -> list[tuple[str, str]]:
        named = len(fields) % 2 == 1
        self._one_set(at, fields[0] if named else None)
        return self._pairs(at, fields[named:])

    def _bounds(self, at: int, fields: list[str]) -> None:
        kind = fields[0].upper()
        if kind not in _NUMBERED and kind not in _ALONE:
            known = ", ".join((*_NUMBERED, *_ALONE))
            raise GrammarError(at, f"a bound must begin with one of {known}")
        rest = fields[1:]
        text = rest.pop() if kind in _NUMBERED and len(rest) > 1 else None
        if len(rest) not in (1, 2) or (text is None and kind in _NUMBERED):
            raise GrammarError(
                at,
                "a bound must be its kind, the name of the set, a column and, but for "
                f"{', '.join(_ALONE)}, a number (names hold no spaces)",
            )
        self._one_set(at, rest[0] if len(rest) == 2 else None)
        column = rest[-1]
        if column not in self.found.columns:
            raise GrammarError(at, "the section COLUMNS has no column of this name")
        ends = (_NUMBERED | _ALONE)[kind]
        for end in ends:
            self._only(at, end, column)
        if text is not None:
            self.found.stated.append(Stated(at, text, "bound", column=column, ends=ends))
        else:
            limits = (0.0, 1.0) if kind == "BV" else (-inf, inf)
            self.found.bounds |= {(end, column): limits[end == "u"] for end in ends}
        if kind in ("UI", "LI", "BV"):
            self.found.integer.add(column)
        if kind == "SC":
            self.found.semicontinuous.add(column)

    def _check_name(self, at: int, name: str) -> None:
        if name.upper() in _SECTIONS:
            raise GrammarError(at, "a row, column or set has the name of a section")

    def _only(self, at: int, what: str, name: str) -> None:
        if (what, name) in self.once:
            raise GrammarError(at, "the row or column has such a number already: it stands twice")
        self.once.add((what, name))

    def _one_set(self, at: int, name: str | None) -> None:
        """Some readers take all sets of a section, others the first one only."""
        if name is not None and name.upper() != self.section:
            self._check_name(at, name)
        if self._sets.setdefault(self.section, name) != name:
            raise GrammarError(at, f"the lines of {self.section} must belong to one set")
