"""The state of an environment, and the way back to it, without a copy of all that hangs on it.

A snapshot notes what every container within reach of an environment holds: attributes, dicts,
lists, sets, arrays. Putting that back restores the state, whatever a step did, in the time of as
many assignments. Random generators are not put back but watched: whoever draws is refused. What
keeps its contents where Python does not see them (an object of a compiled library) cannot be noted;
such an environment is copied as a whole for every step.
"""

from __future__ import annotations

import copy
import pickle
import random
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Collection, Iterable
from enum import Enum
from fractions import Fraction
from functools import cache
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

import numpy as np

from dp_cmdp._src.base.errors import InvalidArgumentError

GENERATORS = (np.random.Generator, np.random.RandomState, random.Random)
#: What nobody changes, and copies share.
FIXED = frozenset(
    {type(None), bool, int, float, complex, str, bytes, range, slice, type, Fraction}
    | {type(...), FunctionType, BuiltinFunctionType}
)
#: Nor objects of these kinds.
UNCHANGED = (Enum, type, np.dtype, np.number, np.bool, np.character)
#: How a container that was cleared is filled.
FILLED: dict[type, Callable[[Any, Any], Any]] = {
    **{kind: kind.update for kind in (dict, OrderedDict, defaultdict, set)},
    **{kind: kind.extend for kind in (list, deque, bytearray)},
}


class Generators:
    """Random generators, Python's and numpy's own among them, and the states they are to keep."""

    def __init__(self) -> None:
        self._kept: dict[int, tuple[Any, Any]] = {}
        self.watch([random.getstate.__self__, np.random.get_state.__self__])  # pyright: ignore

    def watch(self, generators: Iterable[Any]) -> None:
        for part in generators:
            if id(part) not in self._kept:
                self._kept[id(part)] = part, _state(part)

    def shared(self) -> dict[int, Any]:
        """What a copy shares with the original."""
        return {number: part for number, (part, _) in self._kept.items()}

    def moved(self) -> bool:
        return any(_state(part) != kept for part, kept in self._kept.values())


def _state(part: Any) -> Any:
    if isinstance(part, random.Random):
        return part.getstate()
    held = part.bit_generator.state if isinstance(part, np.random.Generator) else part.get_state()
    return pickle.dumps(held)


class _Attributes:
    """An object of this size has room for attributes and nothing else."""


class Snapshot:
    """An environment in one state, whose generators are watched from now on."""

    def __init__(self, env: Any, generators: Generators) -> None:
        self._env, self._generators = env, generators
        self._objects, self._containers, self._arrays = [], [], []
        self._copied = not self._is_noted(env)
        if self._copied:
            self._env = self._copy()

    def restored(self) -> Any:
        """The environment in that state, to be stepped."""
        if self._copied:
            return self._copy()
        for part, kind, held in self._objects:
            if type(part) is not kind:
                object.__setattr__(part, "__class__", kind)
            object.__setattr__(part, "__dict__", held.copy())
        for part, fill, held in self._containers:
            part.clear()
            fill(part, held)
        for part, held in self._arrays:
            part[...] = held
        return self._env

    def _copy(self) -> Any:
        memo = self._generators.shared()
        try:
            made = copy.deepcopy(self._env, memo)
        except Exception as error:
            raise InvalidArgumentError(
                f"env must be one that can be copied; deepcopy raised {type(error).__name__}"
            ) from None
        self._generators.watch(part for part in memo.values() if isinstance(part, GENERATORS))
        return made

    def _is_noted(self, env: Any) -> bool:
        """Whether everything within reach could be."""
        met, waiting = set[int](), [env]
        while waiting:
            part = waiting.pop()
            if id(part) in met or type(part) in FIXED:
                continue
            met.add(id(part))
            within = self._noted(part)
            if within is None:
                return False
            if not FIXED.issuperset(map(type, within)):
                waiting.extend(within)
        return True

    def _noted(self, part: Any) -> Collection[Any] | None:
        """What hangs on a part that is noted; None if it cannot be."""
        kind = type(part)
        way = _way(kind)
        if way is tuple:
            return part
        if way is object:
            self._objects.append((part, kind, part.__dict__.copy()))
            return part.__dict__.values()
        if way is dict:
            self._containers.append((part, FILLED[kind], part.copy()))
            return (*part, *part.values())
        if way is list:
            self._containers.append((part, FILLED[kind], part.copy()))
            return part
        if way is np.ndarray:
            return self._array(part)
        if way is MethodType:
            return (part.__self__,)
        if way is random:
            self._generators.watch([part])
        return () if way else None

    def _array(self, part: Any) -> Collection[Any] | None:
        if part.flags.writeable:
            self._arrays.append((part, part.copy()))
        return None if part.dtype.hasobject else ()


@cache
def _way(kind: type) -> Any:
    """How parts of a type are noted: as one of these; None if they cannot be."""
    if kind in FILLED:
        return dict if issubclass(kind, dict) else list
    if kind is np.ndarray or kind is MethodType:
        return kind
    if issubclass(kind, GENERATORS):
        return random
    if issubclass(kind, UNCHANGED) or kind is object:
        return type
    if issubclass(kind, tuple | frozenset):
        return None if kind.__dictoffset__ else tuple
    only_attributes = kind.__dictoffset__ < 0 and kind.__basicsize__ == _Attributes.__basicsize__
    return object if only_attributes else None
