"""A sweep: many independent draws of many settings, as data.

A :class:`Sweep` holds a function and lists the settings it is called with. Each setting is cut into
chunks of consecutive draws; a chunk is the unit of work, of storage and of resuming. The seed of a
draw is a spawn key made of the root seed and the draw's number alone, so the numbers do not depend
on order, on the number of workers, or on which other settings run. A function that needs
independent noise per method derives it from :func:`stream`.
"""

from __future__ import annotations

import hashlib
import json
import sys
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dp_cmdp import _check
from dp_cmdp._door import door
from dp_cmdp.accounting.budget import weak_budgets
from dp_cmdp.errors import InvalidArgumentError

Row = dict[str, Any]
Setting = Mapping[str, Any]
#: From a setting, a seed and numbers of draws to one row per draw.
Draw = Callable[[Setting, int, Sequence[int]], list[Row]]


@dataclass(frozen=True, slots=True)
class Chunk:
    """Consecutive draws of one setting."""

    function: Draw
    setting: str  # canonical JSON
    seed: int
    first: int
    count: int

    @property
    def key(self) -> str:
        """Stable name of the chunk, for storage.

        Made from the function's module and name, not from its code: records stored by an older
        version are used again as long as the function is called the same. After a move or a new
        name they are left where they are, unused, and are made again.
        """
        name = name_of(self.function)
        text = f"{name}|{self.setting}|{self.seed}|{self.first}|{self.count}"
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    def run(self) -> list[Row]:
        """One row per draw; the setting and the draw's number are part of each row."""
        setting = json.loads(self.setting)
        draws = range(self.first, self.first + self.count)
        with weak_budgets():  # such as the paper's own δ = 0.1; the docs say so
            rows = self.function(setting, self.seed, draws)
        return [{**setting, "draw": draw, **row} for draw, row in zip(draws, rows, strict=True)]


@dataclass(frozen=True, slots=True)
class Sweep:
    """A function to run for every setting and draw.

    Attributes
    ----------
    name : str
    function : callable
        Called as ``function(setting, seed, draws)`` it returns one dict per draw. A function of a
        module, which is what other processes can find and what names stored records.
    settings : tuple of mappings
        JSON-able parameters.
    draws : int
        Draws per setting.
    seed : int
    chunk : int
        Draws per unit of work.
    beside : tuple of Sweep
        Sweeps of other functions whose records belong to the same table.

    Examples
    --------
    >>> from dp_cmdp.experiments.mean_shift import draw_mean_shift
    >>> from dp_cmdp.experiments.sweep import Sweep
    >>> settings = ({"epsilon": "1", "delta": "1/10"}, {"epsilon": "2", "delta": "1/10"})
    >>> sweep = Sweep("mean-shift", draw_mean_shift, settings, draws=1)
    >>> [chunk.setting for chunk in sweep.chunks()]
    ['{"delta": "1/10", "epsilon": "1"}', '{"delta": "1/10", "epsilon": "2"}']
    """

    name: str
    function: Draw
    settings: tuple[Setting, ...]
    draws: int
    seed: int = 0
    chunk: int = 25
    beside: tuple[Sweep, ...] = ()

    def __post_init__(self) -> None:
        _check.text("name", self.name)
        name_of(self.function)
        if not all(map(_check.is_mapping, _check.items("settings", self.settings))):
            raise InvalidArgumentError("settings must hold mappings of names to parameters")
        _check.size("draws", self.draws, low=1)
        _check.size("chunk", self.chunk, low=1)
        _check.seed("seed", self.seed)
        if not all(isinstance(part, Sweep) for part in _check.items("beside", self.beside)):
            raise InvalidArgumentError("beside must hold sweeps")

    def chunks(self) -> list[Chunk]:
        """All units of work, interleaved so that partial results cover every setting."""
        texts = [json.dumps(dict(s), sort_keys=True) for s in self.settings]
        own = [
            Chunk(self.function, text, self.seed, first, min(self.chunk, self.draws - first))
            for first in range(0, self.draws, self.chunk)
            for text in texts
        ]
        return own + [chunk for part in self.beside for chunk in part.chunks()]


@door
def stream(seed: int, draw: int, *labels: str) -> np.random.Generator:
    """The random stream of one draw, independent for different labels.

    Examples
    --------
    >>> from dp_cmdp.experiments.sweep import stream
    >>> same = stream(0, 7, "prices").random() == stream(0, 7, "prices").random()
    >>> same, stream(0, 7, "prices").random() == stream(0, 8, "prices").random()
    (True, False)
    """
    seed, draw = _check.seed("seed", seed), _check.size("draw", draw)
    key = (draw, *(zlib.crc32(_check.text("labels", label).encode()) for label in labels))
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


def name_of(function: Draw) -> str:
    """``"package.module:function"``, where that is indeed the function."""
    module, name = (getattr(function, part, None) for part in ("__module__", "__qualname__"))
    if name is None or getattr(sys.modules.get(str(module)), str(name), None) is not function:
        raise InvalidArgumentError(
            "function must be a function of a module, so that other processes find it by name; "
            f"got {name or type(function).__name__}"
        )
    return f"{module}:{name}"
