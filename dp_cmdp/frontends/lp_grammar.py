"""LP files by a strict grammar, refused by line where HiGHS would guess.

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
from dataclasses import replace
from math import inf, isfinite
from typing import NamedTuple

from dp_cmdp.frontends.file_outline import GrammarError, Outline, Stated, number

_SECTIONS = {
    "objective": [
        *("min", "minimize", "minimise", "minimum"),
        *("max", "maximize", "maximise", "maximum"),
    ],
    "rows": ["st", "s.t.", "st.", "subject to", "such that"],
    "bounds": ["bounds", "bound"],
    "gen": ["gen", "general", "generals", "integer", "integers"],
    "bin": ["bin", "binary", "binaries"],
    "semi": ["semi", "semis", "semi-continuous"],
    "end": ["end"],
}
#: Of equal rank: in any order.
_RANK = {"": 0, "objective": 1, "rows": 2, "bounds": 3, "gen": 4, "bin": 4, "semi": 4, "end": 5}
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


class _Token(NamedTuple):
    kind: str
    text: str
    line: int
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)


def outline(lines: Iterable[tuple[int, str]], *, any_number: bool = False) -> Outline:
    """What the file states; GrammarError for the first line outside the grammar.

    With `any_number`, numbers may also be infinite where they must not be.
    """
    reader, at = _Reader(any_number), 0
    for at, line in lines:
        text = line.partition("\\")[0]
        head = _HEAD.match(text)
        if head:
            reader.begin(at, _SECTION_OF[" ".join(head[1].lower().split())])
            text = " " * head.end() + text[head.end() :]
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
            raise GrammarError(at, "nan, or a name that begins with inf or nan: HiGHS misreads it")
        tokens.append(_Token(kind, word, at, match.start(str(match.lastgroup))))
        start = match.end()
    return tokens


class _Reader:
    def __init__(self, any_number: bool) -> None:
        self.found = Outline()
        self._any_number = any_number
        self.section = ""
        self._tokens: list[_Token] = []
        self._at = 0
        self._row_names: set[str] = set()
        self._begun: set[str] = set()

    def begin(self, at: int, section: str) -> None:
        self._close()
        late = _RANK[section] < _RANK[self.section] or section in self._begun
        if late or (self.section == "" and section != "objective"):
            raise GrammarError(
                at, "sections stand once and in order: min or max, st, bounds, gen, bin, semi, end"
            )
        self._begun.add(section)
        self.section = section

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
            if self.section == "objective":
                self._objective()
            elif self.section == "rows":
                self._row()
            elif self.section == "bounds":
                self._bound()
            else:
                self._known(self._take("name"))
        self._tokens = []

    def _peek(self, ahead: int = 0) -> str:
        at = self._at + ahead
        return self._tokens[at].kind if at < len(self._tokens) else ""

    def _take(self, *kinds: str) -> _Token:
        if self._peek() not in kinds:
            self._refuse(f"a {' or '.join(kinds)} must stand here")
        self._at += 1
        return self._tokens[self._at - 1]

    def _refuse(self, rule: str) -> None:
        at = min(self._at, len(self._tokens) - 1)
        raise GrammarError(self._tokens[at].line, rule)

    def _begins_line(self) -> None:
        if self._at and self._tokens[self._at].line == self._tokens[self._at - 1].line:
            self._refuse(
                "a row is its terms, one of <= >= =, and one number; the next begins a new line"
                if self.section == "rows"
                else "a bound is one of x free, x <= 3, x >= 3, x = 3, -1 <= x, -1 <= x <= 3"
            )

    def _label(self) -> str | None:
        if self._peek() == "name" and self._peek(1) == "colon":
            self._at += 2
            return self._tokens[self._at - 2].text
        return None

    def _objective(self) -> None:
        self._label()
        self.found.costs = self._terms(constants=1)
        if self._peek():
            self._refuse("the objective is a sum of terms: sign, number, name")

    def _row(self) -> None:
        self._begins_line()
        name = self._label()
        if name is not None and name in self._row_names:
            self._refuse("must name each row once; this name stands twice")
        if name is not None:
            self._row_names.add(name)
        elif self._peek() == "relation":
            self._refuse("a row must have a term, on its left, or a name")
        row = f"HiGHS_R{len(self.found.sides)}" if name is None else name
        self.found.coefficients += self._terms(constants=0, row=row)
        if self._take("relation") and self._peek() not in ("sign", "number"):
            self._refuse("one number must stand on the right of a row, and terms on its left")
        self.found.sides.append(self._number("rhs", row=row))

    def _terms(self, *, constants: int, row: str | None = None) -> list[float]:
        """The coefficients of a sum: of a row, or of the objective."""
        values, names, first = [], set[str](), True
        while self._peek() in ("sign", "number", "name"):
            if not first and self._peek() != "sign":
                self._refuse("a sign must stand between two terms")
            negative = self._peek() == "sign" and self._take("sign").text == "-"
            before = self._tokens[self._at]
            size = self._finite() if self._peek() == "number" else 1.0
            if self._peek() == "name":
                name = self._take("name")
                if before.kind == "number":
                    kind = "objective" if row is None else "coefficient"
                    spot = before.line, before.start, before.end, kind, row or "", name.text
                    self.found.stated.append(Stated(*spot))
                self._check_name(name)
                if name.text in names:
                    raise GrammarError(name.line, "a name stands twice in one sum: add them up")
                names.add(name.text)
                self.found.columns[name.text] = None
                values.append(-size if negative else size)
            elif constants and self._tokens[self._at - 1].kind == "number":
                constants -= 1
            else:
                self._refuse(
                    "a term is a sign, a number or none, and a name; constants stand on the right "
                    "of a row (and once in the objective)"
                )
            first = False
        return values

    def _finite(self) -> float:
        token = self._take("number")
        value = number(token.text)
        if value is None or not (isfinite(value) or self._any_number):
            raise GrammarError(token.line, "a coefficient or cost is not finite")
        return value

    def _number(self, kind: str, **place: str) -> float:
        before = self._tokens[self._at] if self._peek() else None
        sign = -1.0 if self._peek() == "sign" and self._take("sign").text == "-" else 1.0
        token = self._take("number")
        first = before if before is not None and before.line == token.line else token
        self.found.stated.append(Stated(token.line, first.start, token.end, kind, **place))
        return sign * float(token.text)

    def _check_name(self, name: _Token) -> None:
        if name.text.lower() in _TAKEN:
            raise GrammarError(name.line, "a name is a word of the format (st, end, free, …)")

    def _known(self, name: _Token) -> str:
        if name.text not in self.found.columns:
            raise GrammarError(name.line, "neither the objective nor a row has this name")
        return name.text

    def _bound(self) -> None:
        """One bound; a number on the left is a lower one."""
        self._begins_line()
        line, ends = self._tokens[self._at].line, dict[str, float]()
        left = self._peek() != "name"
        first = len(self.found.stated)
        if left:
            ends["l"] = self._number("bound", ends="l")
            self._relation("<=")
        name = self._known(self._take("name"))
        if not left and self._peek() == "name" and self._tokens[self._at].text.lower() == "free":
            self._at += 1
            ends = {"l": -inf, "u": inf}
        elif not left or self._peek() == "relation":
            sides = self._relation(*(("<=",) if left else ("<=", ">=", "=")))
            ends |= dict.fromkeys(sides, self._number("bound", ends=sides))
        stated = self.found.stated
        stated[first:] = [replace(spot, column=name) for spot in stated[first:]]
        if self._tokens[self._at - 1].line != line:
            raise GrammarError(line, "a bound must stand on one line")
        for end, value in ends.items():
            if (end, name) in self.found.bounds:
                raise GrammarError(line, "the bound stands twice")
            self.found.bounds[end, name] = value

    def _relation(self, *allowed: str) -> str:
        """The ends that a number on the right of this sign bounds."""
        token = self._take("relation")
        if token.text not in allowed:
            raise GrammarError(token.line, "a number on the left must be a lower bound: <=")
        return {"<=": "u", ">=": "l", "=": "lu"}[token.text]
