"""Labels: what a user calls the entries of a group, or the variables of a program.

A group of shape (n, m) has one axis of n labels and one of m, as a table has rows and columns. An
axis may have several levels, as a pandas MultiIndex has: its labels are then tuples. Labels are
public, like everything an envelope says, and have one form (:mod:`dp_cmdp.data.names`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from dp_cmdp import _check
from dp_cmdp.data.moments import packed, plain_moment, unpacked
from dp_cmdp.data.names import LARGEST_INTEGER, check_normal, kind, plain, refuse_kinds
from dp_cmdp.errors import InvalidArgumentError

if TYPE_CHECKING:
    import pandas as pd

KINDS = "texts, integers, floats, truth values, dates, times, durations, or tuples of these"
#: Labels that a message shows: as many as fit on a line.
SHOWN = 3


@dataclass(frozen=True, slots=True)
class Axis:
    """Distinct labels along one axis, and the name of each of their levels ("" for none)."""

    labels: tuple[Any, ...]
    names: tuple[str, ...] = ("",)

    def level(self, number: int) -> pd.Index:
        """One level of the labels, as pandas holds it."""
        import pandas as pd

        single = len(self.names) == 1
        parts = self.labels if single else [label[number] for label in self.labels]
        return pd.Index(list(parts), name=self.names[number] or None, tupleize_cols=False)

    def facts(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {"names": list(self.names), "labels": [packed(label) for label in self.labels]}


@dataclass(frozen=True, slots=True)
class Labels:
    """One :class:`Axis` per dimension of what is labelled; without axes there are no labels."""

    axes: tuple[Axis, ...] = ()

    def __post_init__(self) -> None:
        given = [name for name in self.names if name]
        if len(set(given)) < len(given):
            raise InvalidArgumentError(
                f"labels must have levels of different names, got {', '.join(given)}"
            )

    def __bool__(self) -> bool:
        return bool(self.axes)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(axis.labels) for axis in self.axes)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all levels, axis by axis."""
        return tuple(name for axis in self.axes for name in axis.names)

    @classmethod
    def of(cls, given: Any, *, name: str = "labels") -> Labels:
        """Labels as a caller states them.

        A sequence or a pandas Index is one axis, a mapping has one axis per item, with its name.
        """
        if given is None:
            return cls()
        if isinstance(given, Labels):
            return given
        if _check.is_mapping(given):
            named = {check_normal(f"an axis of {name}", key): given[key] for key in list(given)}
            if not named:
                raise InvalidArgumentError(f"{name} must have at least one axis")
            axes = [axis_of(part, name=f"{name}[{key!r}]") for key, part in named.items()]
            return cls(tuple(_renamed(a, key) for a, key in zip(axes, named, strict=True)))
        return cls((axis_of(given, name=name),))

    def index(self) -> pd.Index:
        """One label per entry in the order of the flat group: an Index, or a MultiIndex."""
        import pandas as pd

        levels = [(a, k) for a, axis in enumerate(self.axes) for k in range(len(axis.names))]
        if len(levels) == 1:
            return self.axes[0].level(0)
        places = np.unravel_index(np.arange(prod(self.shape)), self.shape)
        return pd.MultiIndex.from_arrays([self.axes[a].level(k).take(places[a]) for a, k in levels])

    def flat(self) -> list[Any]:
        """One label per entry: itself, or a tuple where there are several levels."""
        return self.index().tolist()

    def shown(self, entries: Sequence[int]) -> str:
        """The labels of some entries, for messages and tables."""
        return _listed([self._at(int(k)) for k in entries[:SHOWN]], len(entries))

    def _at(self, entry: int) -> Any:
        parts: list[Any] = []
        for axis, place in zip(self.axes, np.unravel_index(entry, self.shape), strict=True):
            label = axis.labels[int(place)]
            parts += label if len(axis.names) > 1 else (label,)
        return parts[0] if len(parts) == 1 else tuple(parts)

    def facts(self) -> list[Any]:
        """Ready for JSON."""
        return [axis.facts() for axis in self.axes]

    @classmethod
    def from_facts(cls, said: Any) -> Labels:
        """What :meth:`facts` said, checked again."""
        return cls(tuple(_axis_from_facts(part) for part in _check.items("labels", said)))


def axis_of(given: Any, *, name: str) -> Axis:
    """The axis of a sequence or a pandas Index."""
    if hasattr(type(given), "columns") or isinstance(given, set | frozenset):
        raise InvalidArgumentError(
            f"{name} must be a sequence in order, or an Index; got {type(given).__name__} (of a "
            "table, pass frame.index)"
        )
    names = tuple("" if part is None else plain(str(part)) for part in getattr(given, "names", ()))
    found = tuple(_label(item, name=name) for item in _check.items(name, given))
    if not found:
        raise InvalidArgumentError(f"{name} must hold at least one label")
    widths = {len(label) if isinstance(label, tuple) else 0 for label in found}
    if len(widths) > 1:
        raise InvalidArgumentError(f"{name} must be tuples of one length, or no tuples at all")
    refuse_kinds(name, found)
    if len(set(found)) < len(found):
        seen: set[Any] = set()
        twice = next(label for label in found if label in seen or seen.add(label))
        raise InvalidArgumentError(f"{name} must be distinct; {twice!r} is there twice")
    levels = max(1, widths.pop())
    return Axis(found, names if len(names) == levels else ("",) * levels)


def is_default(index: pd.Index) -> bool:
    """Whether pandas numbered the rows by itself: 0, 1, … without a name. Such labels say nothing.

    Two tables with such indices would be matched by place, whatever their rows are about.
    """
    import pandas as pd

    if not isinstance(index, pd.RangeIndex) or index.name is not None:
        return False
    return (index.start, index.step) == (0, 1)


def positions(wanted: pd.Index, found: pd.Index) -> NDArray[np.intp] | None:
    """Where each of the wanted labels is in `found`; None unless both hold the same, each once.

    Levels are matched by their names, where all have one, and otherwise by their order, which no
    name may contradict. Nothing is said about what differs, and no error leaves: labels of a
    private table may be private.
    """
    try:
        if found.nlevels != wanted.nlevels or len(found) != len(wanted) or is_default(found):
            return None
        wanted, found = _plain_index(wanted), _plain_index(found)
        if kind(wanted[0]) != kind(found[0]):
            return None
        own, given = level_names(wanted), level_names(found)
        if wanted.nlevels == 1:
            found = found.get_level_values(0)
        elif all((*own, *given)):
            found = cast(Any, found.set_names(given)).reorder_levels(own)
            given = own
        if contradict(own, given):
            return None
        place = np.asarray(found.get_indexer(wanted)) if found.is_unique else np.array([-1])
        return None if (place < 0).any() else place
    except Exception:
        return None


def _plain_index(index: pd.Index) -> pd.Index:
    """The index with every label in its one form, all of one kind."""
    import pandas as pd

    levels = []
    for number, name in enumerate(index.names):
        labels = [plain(label) for label in index.get_level_values(number).tolist()]
        refuse_kinds("labels", labels)
        levels.append(pd.Index(labels, name=name, tupleize_cols=False))
    return levels[0] if len(levels) == 1 else pd.MultiIndex.from_arrays(levels)


def level_names(index: pd.Index) -> list[str]:
    """Names of the levels, "" for none."""
    return ["" if name is None else plain(str(name)) for name in index.names]


def contradict(wanted: Sequence[str], found: Sequence[str]) -> bool:
    """Whether a level has another name than the one it is matched with; "" is no name."""
    return any(
        there and (there != name if name else there in wanted)
        for name, there in zip(wanted, found, strict=True)
    )


def _renamed(axis: Axis, name: str) -> Axis:
    return Axis(axis.labels, (name,)) if len(axis.names) == 1 else axis


def _listed(labels: Sequence[Any], count: int) -> str:
    text = ", ".join(str(label) for label in labels)
    return f"{text} and {count - len(labels)} more" if count > len(labels) else text


def _label(item: Any, *, name: str) -> Any:
    """A label in its one form, or a refusal."""
    label = plain(item)
    parts = label if isinstance(label, tuple) and label else (label,)
    if not all(map(_is_label, parts)):
        raise InvalidArgumentError(
            f"{name} must be {KINDS}, none of them missing; got "
            f"{item if isinstance(item, float) else type(item).__name__} (convert others, for "
            "example with frame.index.map(str); several axes are a mapping from name to labels)"
        )
    for part in parts:
        if isinstance(part, str):
            _check.text(f"an item of {name}", part)
    return label


def _is_label(part: Any) -> bool:
    """Whether a part of a label is of a kind that files keep."""
    if isinstance(part, float):
        return math.isfinite(part)
    if _check.is_integer(part):
        return -LARGEST_INTEGER <= part < LARGEST_INTEGER
    return isinstance(part, str | bool) or plain_moment(part) is not None


def _axis_from_facts(said: Mapping[str, Any]) -> Axis:
    found = axis_of([unpacked(label) for label in said["labels"]], name="labels")
    names = _check.names("names of labels", said["names"])
    if len(names) != len(found.names):
        raise InvalidArgumentError("labels must have one name per level")
    return Axis(found.labels, names)
