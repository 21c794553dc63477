"""What a release protects: entries by name, how far each may change, and whose records they are.

Losses of several releases add up (paper: ``lem:comp``) for one notion of adjacency. Releases about
some of the entries of a larger database share one if a unit exists whose part in each release is
at most one of its records: every entry changes by the same radius wherever it is released, and
entries that belong to one record in one release, or are linked through records of several, never
belong to two records of another.

Records that overlap, or that change a few of their entries at once (`entries_per_record`), are
compared as a whole: releases that share a group must then state one and the same adjacency.

Everything here is public. A :class:`Adjacency` is exact (radii are floats in their shortest text,
which is read back as the same float) and short: one JSON text per notion, compressed.
"""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import product
from typing import Any, cast

from dp_cmdp._src.base.errors import InvalidArgumentError, LedgerCorruptError

_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True)
_REPAIR = (
    "nothing was recorded: losses add up for one and the same change only. State the radius and "
    "the records as before; name the group or label its entries otherwise if these are other "
    "numbers of the same people; or debit another account if they are numbers of other people"
)


Entry = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """Entries of one name: `labels` by axis and level, ready for JSON, or none; then by place."""

    name: str
    shape: tuple[int, ...]
    levels: tuple[tuple[str, ...], ...]
    labels: tuple[tuple[Any, ...], ...]
    radius: tuple[float, ...]
    records: tuple[int, ...]

    @property
    def naming(self) -> tuple[Any, ...]:
        """How entries are told apart: by labels on named axes, or by place in one shape."""
        return ("labels", self.levels) if self.labels else ("places", self.shape)

    def entries(self) -> Iterator[Entry]:
        """The name of each entry: its group, and its labels as texts or its place."""
        axes = self.labels or tuple(range(size) for size in self.shape)
        return product([self.name], *([_plain(label) for label in axis] for axis in axes))


@dataclass(frozen=True, slots=True)
class Adjacency:
    """The groups of entries that a release is about, and which records change them.

    Disjoint records are numbered through all groups. Others are listed in `change`: for each
    record the entries it changes, in flat positions, and how far; `entries_per_record` is the
    number that it changes at once, None for all of them.
    """

    groups: tuple[Group, ...]
    change: tuple[tuple[tuple[int, float], ...], ...] = ()
    entries_per_record: int | None = None

    @property
    def is_disjoint(self) -> bool:
        """Whether every entry belongs to one record, which changes as a whole."""
        return not self.change

    @property
    def text(self) -> str:
        """Canonical JSON: equal for equal adjacencies."""
        names = [part.name for part in fields(Group)]
        said = [{name: getattr(group, name) for name in names} for group in self.groups]
        if self.is_disjoint:
            return _CANONICAL.encode(said)
        more = {"change": self.change, "entries_per_record": self.entries_per_record}
        return _CANONICAL.encode({"groups": said, **more})

    @property
    def digest(self) -> str:
        """SHA-256 of the canonical text."""
        return _sha256(self.text)

    def owners(self) -> Iterator[tuple[Entry, int]]:
        """Every entry, and the number of its record."""
        for group in self.groups:
            yield from zip(group.entries(), group.records, strict=True)

    @classmethod
    def parse(cls, text: str) -> Adjacency:
        """Read what :attr:`text` wrote."""
        said: Any = json.loads(text)
        whole: dict[str, Any] = {"groups": said} if isinstance(said, list) else said
        parts = [{name: _tuples(part) for name, part in one.items()} for one in whole["groups"]]
        return cls(
            tuple(Group(**part) for part in parts),
            _tuples(whole.get("change", [])),
            whole.get("entries_per_record"),
        )


def stated(adjacency: Adjacency, earlier: Sequence[tuple[int, str]]) -> str:
    """What a debit records: the digest, and the whole adjacency where it is new to the account.

    `earlier`: index and recorded text of each debit of the account that states an adjacency; one
    that protects another change is refused.
    """
    digest = adjacency.digest
    known: list[Adjacency] = []
    for index, text in earlier:
        said, found = _read(index, text)
        if said == digest:
            return _CANONICAL.encode({"sha256": digest})
        known += found
    if (reason := difference([*known, adjacency])) is not None:
        raise InvalidArgumentError(f"{reason}; {_REPAIR}")
    packed = base64.b64encode(zlib.compress(adjacency.text.encode("ascii"), 9)).decode("ascii")
    return _CANONICAL.encode({"sha256": digest, "zlib": packed})


def difference(adjacencies: Sequence[Adjacency]) -> str | None:
    """Why no unit fits all of these adjacencies, of which the last is new; None if one does."""
    return next(_differences(adjacencies), None)


def _differences(adjacencies: Sequence[Adjacency]) -> Iterator[str]:
    naming: dict[str, tuple[Any, ...]] = {}
    radius: dict[Entry, float] = {}
    groups = [group for adjacency in adjacencies for group in adjacency.groups]
    for group in groups:
        if naming.setdefault(group.name, group.naming) != group.naming:
            yield (
                f"the entries of {group.name!r} cannot be compared with those of an earlier debit: "
                "they have other axes, another shape, or labels in one of the two only"
            )
    for group in groups:
        for entry, own in zip(group.entries(), group.radius, strict=True):
            if (known := radius.setdefault(entry, own)) != own:
                yield (
                    f"{_shown(entry)} changes by at most {own} here and by at most {known} in an "
                    "earlier debit of this account"
                )
    *earlier, new = adjacencies
    names = {group.name for group in new.groups}
    for before in earlier:  # records that overlap or change in part are stated alike
        shared = names & {group.name for group in before.groups}
        disjoint = before.is_disjoint and new.is_disjoint
        if shared and not disjoint and before.text != new.text:
            yield (
                f"the records of {min(shared)!r} are others than in an earlier debit of this "
                "account (who shares entries, by how much, or how many change at once)"
            )
    yield from _other_records([adjacency for adjacency in adjacencies if adjacency.is_disjoint])


def _other_records(adjacencies: Sequence[Adjacency]) -> Iterator[str]:
    """Link every entry with its record in each adjacency: no two records may then be linked."""
    parent: dict[Entry, Entry] = {}

    def root(node: Entry) -> Entry:
        while (above := parent.setdefault(node, node)) != node:
            parent[node] = node = parent[above]
        return node

    for number, adjacency in enumerate(adjacencies):
        for entry, record in adjacency.owners():
            parent[root(entry)] = root((number, record))
    for adjacency in adjacencies:
        owner: dict[Entry, tuple[int, Entry]] = {}
        for entry, record in adjacency.owners():
            known, other = owner.setdefault(root(entry), (record, entry))
            if known != record:
                yield (
                    f"{_shown(other)} and {_shown(entry)} belong to one record in one debit of "
                    "this identity (perhaps through records of several) and to two in another"
                )


def _read(index: int, text: str) -> tuple[str, list[Adjacency]]:
    """The digest that a debit recorded, and the adjacency unless it only repeats one."""
    try:
        said = json.loads(text)
        digest = str(said["sha256"])
        if "zlib" not in said:
            return digest, []
        found = zlib.decompress(base64.b64decode(said["zlib"], validate=True)).decode("ascii")
        if _sha256(found) == digest:
            return digest, [Adjacency.parse(found)]
    except (ValueError, TypeError, KeyError, zlib.error):
        pass
    raise LedgerCorruptError(f"entry {index} does not hold the adjacency it names", index=index)


def _shown(entry: Entry) -> str:
    return f"{entry[0]}[{', '.join(map(str, entry[1:]))}]"


def _plain(label: Any) -> Any:
    """A label as text: 10, 10.0 and "10" are one entry, whoever wrote them."""
    if isinstance(label, dict):
        return " ".join(map(str, cast(dict[str, str], label).values()))
    if isinstance(label, list | tuple):
        return tuple(_plain(part) for part in cast(Sequence[Any], label))
    return str(int(label) if isinstance(label, float) and label.is_integer() else label)


def _tuples(said: Any) -> Any:
    """Lists of JSON as the tuples they were."""
    if not isinstance(said, list):
        return said
    return tuple(_tuples(part) for part in cast(list[Any], said))


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("ascii")).hexdigest()
