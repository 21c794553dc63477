"""LP files by a strict grammar, refused by line where other readers would guess.

    min | max        [name:] terms, and at most one constant
    st               each on a new line: [name:] terms, one of <= >= =, a number
    bounds           each on a line: x free, x <= 3, x >= 3, x = 3, -1 <= x, -1 <= x <= 3
    gen, bin, semi   names
    end

A term is a sign, a number or none, and a name; the sign of the first may be left out. A name stands
once in an expression, and a bound's name in the objective or a row.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from math import inf
from typing import NamedTuple, NoReturn

from dp_cmdp._src.frontends.lpfile.outline import GrammarError, Outline, Stated

_SECTIONS = {
    "min": ["min", "minimize", "minimise", "minimum"],
    "max": ["max", "maximize", "maximise", "maximum"],
    "rows": ["st", "s.t.", "st.", "subject to", "such that"],
    "bounds": ["bounds", "bound"],
    "gen": ["gen", "general", "generals", "integer", "integers"],
    "bin": ["bin", "binary", "binaries"],
    "semi": ["semi", "semis", "semi-continuous"],
    "end": ["end"],
}
#: Sections of equal rank stand in any order.
_RANK = {"": 0, "min": 1, "max": 1, "rows": 2, "bounds": 3, "gen": 4, "bin": 4, "semi": 4, "end": 5}
_SECTION_OF = {word: section for section, words in _SECTIONS.items() for word in words}
#: Words that may be taken for something else than a name.
_TAKEN = {*_SECTION_OF, "subject", "such", "free", "sos", "sos1", "sos2"}
_WORDS = "|".join(re.escape(word).replace(r"\ ", r"\s+") for word in sorted(_SECTION_OF, key=len))
_HEAD = re.compile(rf"\s*({_WORDS})(?=\s|$)", re.IGNORECASE)
_IN_NAME = r"\w.,;()!#$%&?@{}~'\"`|"
_TOKEN = re.compile(
    rf"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)(?![{_IN_NAME}])"
    r"|(?P<relation><=|>=|=)(?![<>=])"
    r"|(?P<sign>[+-])"
    r"|(?P<colon>:)(?!:)"
    rf"|(?P<name>(?:[^\W\d]|\.(?!\d))[{_IN_NAME}]*))\s*"
)
_NO_TOKEN = (
    "a number, name or sign is none (it may be private and is not shown); write decimal points, no "
    "thousands separators, a space between number and name, and <=, >= or ="
)
_A_ROW = "a row is its terms, one of <= >= =, and one number; the next begins a new line"
_A_BOUND = "a bound is one of x free, x <= 3, x >= 3, x = 3, -1 <= x, -1 <= x <= 3"


class _Token(NamedTuple):
    kind: str
    text: str
    line: int


def outline(lines: Iterable[tuple[int, str]]) -> Outline:
    """What the file states; GrammarError for the first line outside the grammar."""
    reader, at = _Reader(), 0
    for at, line in lines:
        text = line.partition("\\")[0]
        head = _HEAD.match(text)
        if head:
            reader.begin(at, _SECTION_OF[" ".join(head[1].lower().split())])
            text = text[head.end() :]
        if text.strip():
            reader.add(at, text)
    if reader.section != "end":
        raise GrammarError(max(at, 1), "the file ends without end")
    return reader.found


def _tokens(at: int, text: str) -> list[_Token]:
    if "[" in text:
        raise GrammarError(at, "a quadratic objective or row; the program must be linear")
    tokens, start = [], 0
    while start < len(text):
        match = _TOKEN.match(text, start)
        if match is None:
            raise GrammarError(at, _NO_TOKEN)
        kind = str(match.lastgroup)
        word = match[kind]
        if kind == "name" and word.lower() in ("inf", "infinity"):
            kind = "number"
        elif kind == "name" and word.lower().startswith(("inf", "nan")):
            raise GrammarError(at, "nan, or a name that begins with inf or nan: readers differ")
        tokens.append(_Token(kind, word, at))
        start = match.end()
    return tokens


class _Reader:
    def __init__(self) -> None:
        self.found = Outline()
        self.section = ""
        self._tokens: list[_Token] = []
        self._at = 0
        self._begun: set[str] = set()
        self._once: set[tuple[str, str]] = set()

    def begin(self, at: int, section: str) -> None:
        self._close()
        late = _RANK[section] < _RANK[self.section] or section in self._begun
        late = late or _RANK[section] == _RANK[self.section] == 1
        if late or (self.section == "" and _RANK[section] != 1):
            raise GrammarError(
                at, "sections stand once and in order: min or max, st, bounds, gen, bin, semi, end"
            )
        self._begun.add(section)
        self.section = section
        self.found.maximize |= section == "max"

    def add(self, at: int, text: str) -> None:
        if self.section in ("", "end"):
            raise GrammarError(
                at, "text after end" if self.section else "the file must begin with min or max"
            )
        self._tokens += _tokens(at, text)

    def _close(self) -> None:
        """Read what stands in the section that ends here."""
        self._at = 0
        while self._at < len(self._tokens):
            if self.section in ("min", "max"):
                self._objective()
            elif self.section == "rows":
                self._row()
            elif self.section == "bounds":
                self._bound()
            else:
                self._kind(self._take("name"))
        self._tokens = []

    def _peek(self, ahead: int = 0) -> str:
        at = self._at + ahead
        return self._tokens[at].kind if at < len(self._tokens) else ""

    def _take(self, *kinds: str) -> _Token:
        if self._peek() not in kinds:
            self._refuse(f"a {' or '.join(kinds)} must stand here")
        self._at += 1
        return self._tokens[self._at - 1]

    def _refuse(self, rule: str) -> NoReturn:
        at = min(self._at, len(self._tokens) - 1)
        raise GrammarError(self._tokens[at].line, rule)

    def _begins_line(self) -> None:
        if self._at and self._tokens[self._at].line == self._tokens[self._at - 1].line:
            self._refuse(_A_ROW if self.section == "rows" else _A_BOUND)

    def _label(self) -> str | None:
        if self._peek() == "name" and self._peek(1) == "colon":
            self._at += 2
            return self._tokens[self._at - 2].text
        return None

    def _objective(self) -> None:
        self._label()
        self._terms(None)
        if self._peek():
            self._refuse("the objective is a sum of terms: sign, number, name")

    def _row(self) -> None:
        self._begins_line()
        name = self._label()
        if name in self.found.rows:
            self._refuse("must name each row once; this name stands twice")
        if name is None and self._peek() == "relation":
            self._refuse("a row must have a term, on its left, or a name")
        row = f"HiGHS_R{len(self.found.rows)}" if name is None else name
        if row in self.found.rows:
            self._refuse("a row without a name would have that of another: name it")
        self.found.rows[row] = ""
        self._terms(row)
        relation = self._take("relation").text
        self.found.rows[row] = {"<=": "L", ">=": "G", "=": "E"}[relation]
        if self._peek() not in ("sign", "number"):
            self._refuse("one number must stand on the right of a row, and terms on its left")
        self.found.stated.append(self._number("rhs", row=row))

    def _terms(self, row: str | None) -> None:
        """A sum: of a row, or of the objective (None), where one constant may stand."""
        names, first, constants = set[str](), True, 0
        while self._peek() in ("sign", "number", "name"):
            if not first and self._peek() != "sign":
                self._refuse("a sign must stand between two terms")
            sign = self._take("sign").text if self._peek() == "sign" else ""
            size = self._take("number") if self._peek() == "number" else None
            line = self._tokens[min(self._at, len(self._tokens) - 1)].line
            if self._peek() == "name":
                name = self._take("name").text
                if name.lower() in _TAKEN:
                    raise GrammarError(line, "a name is a word of the format (st, end, free, …)")
                if name in names:
                    raise GrammarError(line, "a name stands twice in one sum: add them up")
                names.add(name)
                self.found.columns[name] = None
                text = sign + ("1" if size is None else size.text)
                kind = "objective" if row is None else "coefficient"
                at = line if size is None else size.line
                self.found.stated.append(Stated(at, text, kind, row or "", name))
            elif row is None and size is not None and not constants:
                constants += 1
                self.found.stated.append(Stated(size.line, sign + size.text, "offset"))
            else:
                self._at -= 1
                self._refuse(
                    "a term is a sign, a number or none, and a name; constants stand on the right "
                    "of a row (and once in the objective)"
                )
            first = False

    def _number(self, kind: str, *, row: str = "", column: str = "", ends: str = "") -> Stated:
        sign = self._take("sign").text if self._peek() == "sign" else ""
        token = self._take("number")
        return Stated(token.line, sign + token.text, kind, row, column, ends)

    def _known(self, name: _Token) -> str:
        if name.text not in self.found.columns:
            raise GrammarError(name.line, "neither the objective nor a row has this name")
        return name.text

    def _kind(self, token: _Token) -> None:
        name = self._known(token)
        if self.section == "semi":
            self.found.semicontinuous.add(name)
            return
        self.found.integer.add(name)
        if self.section == "bin":
            if {("l", name), ("u", name)} & self._once:
                raise GrammarError(token.line, "a binary column must have no bounds of its own")
            self.found.binary.add(name)

    def _bound(self) -> None:
        """One bound; a number on the left is a lower one."""
        self._begins_line()
        line = self._tokens[self._at].line
        stated: list[tuple[str, Stated]] = []
        left = self._peek() != "name"
        if left:
            stated.append(("l", self._number("bound")))
            self._relation("<=")
        name, free = self._known(self._take("name")), False
        if not left and self._peek() == "name" and self._tokens[self._at].text.lower() == "free":
            self._at += 1
            free = True
            self.found.bounds |= {("l", name): -inf, ("u", name): inf}
        elif not left or self._peek() == "relation":
            ends = self._relation(*(("<=",) if left else ("<=", ">=", "=")))
            stated.append((ends, self._number("bound")))
        if self._tokens[self._at - 1].line != line:
            raise GrammarError(line, "a bound must stand on one line")
        for ends in ["lu"] if free else [ends for ends, _ in stated]:
            for end in ends:
                if (end, name) in self._once:
                    raise GrammarError(line, "the bound stands twice")
                self._once.add((end, name))
        self.found.stated += [
            Stated(line, spot.text, "bound", column=name, ends=ends) for ends, spot in stated
        ]

    def _relation(self, *allowed: str) -> str:
        """The ends that a number on the right of this sign bounds."""
        token = self._take("relation")
        if token.text not in allowed:
            raise GrammarError(token.line, "a number on the left must be a lower bound: <=")
        return {"<=": "u", ">=": "l", "=": "lu"}[token.text]
