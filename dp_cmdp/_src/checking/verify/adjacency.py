"""What one record changes, counted from a file in whole numbers, by nobody else's count.

The adjacency of a file is its table of changes C (records × entries) and perhaps
`entries_per_record`, c. On the lattice of step h_k, which is computed again here, record R moves
entry k by at most

    t_Rk = min(⌈C_Rk/h_k⌉, ⌊U_k/h_k⌋ − ⌊L_k/h_k⌋)

integers, and integer query i by at most m_Ri = Σ_k |w_ik| t_Rk; with c, by the c largest terms. No
file can show that the table describes the people whose data went in: whoever verifies compares it
with his own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from heapq import nlargest
from math import ceil, floor, frexp, isqrt
from typing import Any, NamedTuple

from dp_cmdp._src.checking.verify.reading import (
    anything,
    integer,
    integers,
    numbers,
    read,
    refuse_unless,
    table,
)

#: Lattice steps per radius, in bits.
BITS = 16
#: No entry has more cells on its lattice, and no record moves it further.
LARGEST_CELL = 1 << 62

Triple = tuple[int, int, int]


class CountedSensitivity(NamedTuple):
    """What one record moves at most, in integers: the four numbers that a law is judged by."""

    l1: int
    l2_squared: int
    largest: int
    queries: int


@dataclass(frozen=True)
class Adjacency:
    """What a file states as public about a database."""

    lower: tuple[float, ...]
    upper: tuple[float, ...]
    change: Mapping[tuple[int, int], float]
    records: int
    entries_per_record: int | None
    groups: Any

    @classmethod
    def read(cls, said: Any) -> Adjacency:
        """From the document of an envelope, refused if it says what no envelope says."""
        parts = read(
            said,
            **dict.fromkeys(("lower", "upper", "change"), numbers),
            **dict.fromkeys(("change_record", "change_entry"), integers),
            records=partial(integer, low=0),
            entries_per_record=anything,
            groups=anything,
        )
        lower, upper, most = (parts[name] for name in ("lower", "upper", "entries_per_record"))
        refuse_unless(len(lower) == len(upper), "there are as many lower as upper bounds")
        ordered = all(low <= high for low, high in zip(lower, upper, strict=True))
        refuse_unless(ordered, "a lower bound is above its upper bound")
        columns = [parts[name] for name in ("change_record", "change_entry", "change")]
        rows = table("the table of changes", columns, (parts["records"], len(lower)))
        change: dict[tuple[int, int], float] = {row[:2]: row[2] for row in rows}
        refuse_unless(min(change.values(), default=0) >= 0, "a change is negative")
        most = None if most is None else integer(most, "entries_per_record", 1)
        made = cls(tuple(lower), tuple(upper), change, parts["records"], most, parts["groups"])
        _ = made.moves  # a lattice that is too fine is refused
        return made

    @property
    def size(self) -> int:
        return len(self.lower)

    @cached_property
    def owners(self) -> list[list[tuple[int, float]]]:
        """Per entry the records that change it, with how much."""
        found: list[list[tuple[int, float]]] = [[] for _ in self.lower]
        for (record, entry), far in self.change.items():
            found[entry].append((record, far))
        return found

    @cached_property
    def step(self) -> list[Fraction]:
        """The lattice step of every entry."""
        radius = [max((far for _, far in own), default=0.0) for own in self.owners]
        return list(map(lattice_step, radius))

    @cached_property
    def cells(self) -> list[tuple[int, int]]:
        """The lattice cells of the two bounds of every entry."""
        return [
            (floor(Fraction(low) / step), floor(Fraction(high) / step))
            for low, high, step in zip(self.lower, self.upper, self.step, strict=True)
        ]

    @cached_property
    def moves(self) -> list[list[tuple[int, int]]]:
        """Per entry the records that move it, with how many integers at most."""
        found: list[list[tuple[int, int]]] = []
        for own, step, (low, high) in zip(self.owners, self.step, self.cells, strict=True):
            whole = {far: min(ceil(Fraction(far) / step), high - low) for _, far in own}
            refuse_unless(
                max(map(abs, (low, high))) <= LARGEST_CELL, "an entry has more than 2^62 cells"
            )
            found.append([(record, whole[far]) for record, far in own if whole[far]])
        return found

    def is_changed(self, entry: int) -> bool:
        """Whether the table says of some record that it changes the entry."""
        return any(far > 0 for _, far in self.owners[entry])

    def difference(self, other: Adjacency) -> str | None:
        """Where this differs from another adjacency, in words; None where it does not."""
        for what, ours, theirs in (
            ("the number of entries", self.size, other.size),
            ("lower bounds", self.lower, other.lower),
            ("upper bounds", self.upper, other.upper),
            ("the number of records", self.records, other.records),
            ("entries_per_record", self.entries_per_record, other.entries_per_record),
            ("the table of changes", *(_positive(each.change) for each in (self, other))),
            ("groups and labels", _plain(self.groups), _plain(other.groups)),
        ):
            if ours != theirs:
                return f"{what} differ from those of the problem"
        return None

    def sensitivity(self, weights: Iterable[Triple], *, largest: bool) -> CountedSensitivity:
        """What the worst record moves integer queries by; `largest`: only their largest.

        With c = `entries_per_record` the c largest terms count: also of the square, since norms of
        sums are at most sums of norms.
        """
        columns: dict[int, dict[int, list[tuple[int, int]]]] = {}
        for query, entry, weight in weights:
            if weight:
                for record, far in self.moves[entry]:
                    own = columns.setdefault(record, {}).setdefault(entry, [])
                    own.append((query, abs(weight) * far))
        found = CountedSensitivity(0, 0, 0, 0)
        for own in columns.values():
            most = self.entries_per_record or len(own)
            by_query: dict[int, list[int]] = {}
            for terms in own.values():
                for query, term in terms:
                    by_query.setdefault(query, []).append(term)
            l1 = _top(most, (sum(term for _, term in terms) for terms in own.values()))
            largest_one = max(_top(most, terms) for terms in by_query.values())
            full = sum(sum(terms) ** 2 for terms in by_query.values())
            norms = nlargest(most, (sum(term**2 for _, term in terms) for terms in own.values()))
            square = min(_sum_of_roots_squared(norms), l1 * largest_one, full)
            count = min(_top(most, map(len, own.values())), len(by_query))
            found = CountedSensitivity(
                *map(max, found, CountedSensitivity(l1, square, largest_one, count))
            )
        if largest:
            most = found.largest
            return CountedSensitivity(most, most**2, most, int(most > 0))
        return found


def lattice_step(radius: float) -> Fraction:
    """2^-17 times the least power of two above the radius; 2^-16 for an entry that none changes."""
    exponent = frexp(radius if radius > 0 else 1.0)[1] - 1 - BITS
    refuse_unless(exponent >= -1074, "a radius is too small for a lattice")
    return Fraction(2) ** exponent


def _top(most: int, terms: Iterable[int]) -> int:
    return sum(nlargest(most, terms))


def _sum_of_roots_squared(squares: list[int]) -> int:
    """An upper bound of (Σ √n)², within one part in 2^60 of it: exact for a single n."""
    if len(squares) <= 1:
        return sum(squares)
    bits = 64
    roots = sum(isqrt((square << 2 * bits) - 1) + 1 for square in squares if square)
    return -(-(roots**2) // (1 << 2 * bits))


def _positive(change: Mapping[tuple[int, int], float]) -> dict[tuple[int, int], float]:
    return {place: far for place, far in change.items() if far > 0}


def _plain(value: Any) -> Any:
    """Nested lists instead of arrays and tuples, so that two documents compare."""
    said: Any = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, Mapping):
        return {str(key): _plain(said[key]) for key in said}
    return list(map(_plain, said)) if isinstance(value, list | tuple) else said
