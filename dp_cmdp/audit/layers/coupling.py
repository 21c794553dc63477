"""The coupling layer: the same noise on two databases.

If output = data + noise, then with the same randomness the outputs on D and D' must differ by the
(rounded) difference of the data, and the noise must have been asked for in the same way: the same
number of draws with the same parameters. One run shows a mask taken from the data, a scale computed
from it, a value left unprotected or a branch on it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dp_cmdp._check import FloatArray
from dp_cmdp.audit.report import Verdict

#: Relative rounding of sums of floats that a simulation is allowed.
SUM_ROUNDING = 2.0**-40

#: ``run(side, rng)``: the output on the database (side 0) or its neighbour (side 1).
SideRun = Callable[[int, np.random.Generator], FloatArray]


class RecordedGenerator(np.random.Generator):
    """A Generator that remembers what was asked of it."""

    def __init__(self, seed: int) -> None:
        super().__init__(np.random.PCG64(seed))
        self.calls: list[tuple[str, ...]] = []


def _recorded(name: str) -> Callable[..., Any]:
    original = getattr(np.random.Generator, name)

    def method(self: RecordedGenerator, *arguments: Any, **named: Any) -> Any:
        self.calls.append((name, *map(_trace, arguments), *map(_trace, sorted(named.items()))))
        return original(self, *arguments, **named)

    method.__name__ = name
    return method


def _trace(argument: Any) -> str:
    return argument.tobytes().hex() if isinstance(argument, np.ndarray) else repr(argument)


for _name, _method in vars(np.random.Generator).items():
    if callable(_method) and not _name.startswith("_") and _name not in ("spawn", "bit_generator"):
        setattr(RecordedGenerator, _name, _recorded(_name))


@dataclass(frozen=True, slots=True, eq=False)
class Coupling:
    """One thing that must move with the data.

    Attributes
    ----------
    name : str
    run : SideRun
    moved : FloatArray
        The difference that the outputs must have.
    is_exact : bool
        True for integer noise on a lattice: not a bit of rounding is allowed.
    """

    name: str
    run: SideRun
    moved: FloatArray
    is_exact: bool = False

    def objection(self, seed: int) -> str | None:
        """What is wrong, without quoting any value; None when nothing is."""
        shown: list[FloatArray | str] = []
        calls: list[list[tuple[str, ...]]] = []
        for side in (0, 1):
            rng = RecordedGenerator(seed)
            try:
                shown.append(np.asarray(self.run(side, rng), dtype=np.float64).ravel())
            except Exception as error:
                shown.append(type(error).__name__)
            calls.append(rng.calls)
        first, second = shown
        if isinstance(first, str) or isinstance(second, str):
            same = isinstance(first, str) and first == second
            return None if same else "raises on one database and not on the other"
        if calls[0] != calls[1]:
            return "asks for other noise when the data change"
        if first.size != second.size or first.size != self.moved.size:
            return "has an output whose size depends on the data"
        room = 0.0 if self.is_exact else SUM_ROUNDING * (1 + np.abs(first) + np.abs(second))
        off = ~(np.abs(second - first - self.moved) <= room)
        return f"does not move with the data in {int(off.sum())} entries" if off.any() else None


def coupling(couplings: tuple[Coupling, ...], *, seeds: int, seed: int) -> Verdict:
    """Run each coupling with `seeds` different seeds."""
    if not couplings:
        return Verdict(None, "does not apply: the output is not data plus noise")
    for each in couplings:
        for offset in range(seeds):
            if (objection := each.objection(seed + offset)) is not None:
                return Verdict(False, f"{each.name} {objection}")
    names = ", ".join(each.name for each in couplings)
    return Verdict(True, f"{names}: same noise, outputs differ exactly as the data do")
