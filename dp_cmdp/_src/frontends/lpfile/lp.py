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
from itertools import pairwise
from math import inf
from typing import NamedTuple

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
    rf"\s*(?:(?P<n>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)(?![{_IN_NAME}])"
    r"|(?P<r><=|>=|=)(?![<>=])"
    r"|(?P<s>[+-])"
    r"|(?P<c>:)(?!:)"
    rf"|(?P<x>(?:[^\W\d]|\.(?!\d))[{_IN_NAME}]*))\s*"
)
_NO_TOKEN = (
    "a number, name or sign is none (it may be private and is not shown); write decimal points, no "
    "thousands separators, a space between number and name, and <=, >= or ="
)
_A_TERM = (
    "a term is a sign (the first may lack it), a number or none, and a name; constants stand on "
    "the right of a row (and once in the objective)"
)
#: Statements by the kinds of their tokens: number n, relation r, sign s, colon c, name x, free f.
_STATEMENTS = {
    "min": ("(?:[xf]c)?(?P<sum>(?:s?n?x|s?n)?(?:sn?x|sn)*)", f"the objective is a sum; {_A_TERM}"),
    "rows": (
        "(?P<label>[xf]c)?(?P<sum>(?:s?n?x(?:sn?x)*)?)(?P<relation>r)(?P<right>s?n)",
        f"a row is terms, one of <= >= =, and one number; the next begins a new line; {_A_TERM}",
    ),
    "bounds": (
        "(?:(?P<left>s?n)(?P<lower>r))?(?P<name>x)(?:(?P<free>f)|(?P<relation>r)(?P<right>s?n))?",
        "a bound, on one line, is one of x free, x <= 3, x >= 3, x = 3, -1 <= x, -1 <= x <= 3",
    ),
    "gen": ("(?P<name>x)", "a name must stand here"),
}
_STATEMENTS |= {"max": _STATEMENTS["min"], "bin": _STATEMENTS["gen"], "semi": _STATEMENTS["gen"]}
_ENDS = {"<=": "u", ">=": "l", "=": "lu"}


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
        if kind == "x" and word.lower() == "free":
            kind = "f"
        elif kind == "x" and word.lower() in ("inf", "infinity"):
            kind = "n"
        elif kind == "x" and word.lower().startswith(("inf", "nan")):
            raise GrammarError(at, "nan, or a name that begins with inf or nan: readers differ")
        tokens.append(_Token(kind, word, at))
        start = match.end()
    return tokens


class _Reader:
    def __init__(self) -> None:
        self.found = Outline()
        self.section = ""
        self._tokens: list[_Token] = []
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
        tokens, at = self._tokens, 0
        kinds, self._tokens = "".join(token.kind for token in tokens), []
        pattern, rule = _STATEMENTS.get(self.section, ("", ""))
        read = {"rows": self._row, "bounds": self._bound}.get(self.section, self._name)
        while at < len(tokens):
            match, line = re.compile(pattern).match(kinds, at), tokens[at].line
            goes_on = at > 0 and line == tokens[at - 1].line and self.section in ("rows", "bounds")
            once = at > 0 and self.section in ("min", "max")
            if match is None or not match[0] or goes_on or once:
                raise GrammarError(line, rule)
            parts = {name: tokens[slice(*match.span(name))] for name in match.groupdict()}
            if self.section in ("min", "max"):
                self._terms(parts["sum"], "objective", "")
            else:
                read(line, {name: part for name, part in parts.items() if part})
            at = match.end()

    def _row(self, line: int, parts: dict[str, list[_Token]]) -> None:
        name = parts["label"][0].text if "label" in parts else None
        if name in self.found.rows:
            raise GrammarError(line, "must name each row once; this name stands twice")
        if name is None and "sum" not in parts:
            raise GrammarError(line, "a row must have a term, on its left, or a name")
        row = f"HiGHS_R{len(self.found.rows)}" if name is None else name
        if row in self.found.rows:
            raise GrammarError(line, "a row without a name would have that of another: name it")
        self.found.rows[row] = {"u": "L", "l": "G", "lu": "E"}[_ENDS[parts["relation"][0].text]]
        self._terms(parts.get("sum", []), "coefficient", row)
        self.found.stated.append(_number(parts["right"], "rhs", row=row))

    def _terms(self, tokens: list[_Token], kind: str, row: str) -> None:
        """A sum: of a row, or of the objective, where one constant may stand."""
        names: set[str] = set()
        written, at = "", 0
        for token, after in pairwise([*tokens, _Token("", "", 0)]):
            if token.kind == "s":
                written = token.text
            elif token.kind == "n" and after.kind == "x":
                written, at = written + token.text, token.line
            elif token.kind == "n":
                if "" in names:
                    raise GrammarError(token.line, _A_TERM)
                names.add("")
                self.found.stated.append(Stated(token.line, written + token.text, "offset"))
                written = ""
            else:
                if token.text.lower() in _TAKEN:
                    rule = "a name is a word of the format (st, end, free, …)"
                    raise GrammarError(token.line, rule)
                if token.text in names:
                    raise GrammarError(token.line, "a name stands twice in one sum: add them up")
                names.add(token.text)
                self.found.columns[token.text] = None
                text = written if at else f"{written}1"
                spot = Stated(at or token.line, text, kind, row, token.text)
                self.found.stated.append(spot)
                written, at = "", 0

    def _known(self, name: _Token) -> str:
        if name.text not in self.found.columns:
            raise GrammarError(name.line, "neither the objective nor a row has this name")
        return name.text

    def _name(self, line: int, parts: dict[str, list[_Token]]) -> None:
        name = self._known(parts["name"][0])
        if self.section == "semi":
            self.found.semicontinuous.add(name)
            return
        self.found.integer.add(name)
        if self.section == "bin":
            if {("l", name), ("u", name)} & self._once:
                raise GrammarError(line, "a binary column must have no bounds of its own")
            self.found.binary.add(name)

    def _bound(self, line: int, parts: dict[str, list[_Token]]) -> None:
        """One bound; a number on the left is a lower one."""
        name, stated = self._known(parts["name"][0]), list[Stated]()
        signs = {side: parts[side][0].text for side in ("lower", "relation") if side in parts}
        if len(parts) == 1 or any(token.line != line for part in parts.values() for token in part):
            raise GrammarError(line, _STATEMENTS["bounds"][1])
        if "left" in parts:
            if {*signs.values()} != {"<="} or "free" in parts:
                raise GrammarError(line, "a number on the left must be a lower bound: <=")
            stated.append(_number(parts["left"], "bound", column=name, ends="l"))
        if "right" in parts:
            ends = _ENDS[signs["relation"]]
            stated.append(_number(parts["right"], "bound", column=name, ends=ends))
        if "free" in parts:
            self.found.bounds |= {("l", name): -inf, ("u", name): inf}
        for end in "lu" if "free" in parts else "".join(spot.ends for spot in stated):
            if (end, name) in self._once:
                raise GrammarError(line, "the bound stands twice")
            self._once.add((end, name))
        self.found.stated += stated


def _number(tokens: list[_Token], kind: str, **of: str) -> Stated:
    return Stated(tokens[-1].line, "".join(token.text for token in tokens), kind, **of)
