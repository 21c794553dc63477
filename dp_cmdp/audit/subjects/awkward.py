"""Programs whose structure is awkward for floats: the cases in which a count may be one short.

Every combination of

* *records*: labels with gaps, shared entries, several sizes, one record of everything;
* *numbers*: radii whose sums round down (.1 + .7), thirds, powers of two, subnormals beside ones,
  bounds of 1e12;
* *readings*: a lone entry, one entry at several places, several entries at one place, negative and
  decimal coefficients, constants, repeated terms.

x = 0 is feasible for all of them and 0 ≤ x ≤ 1, so Algorithm 1 accepts them.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from dp_cmdp.data.affine import Affine
from dp_cmdp.data.envelope import Envelope
from dp_cmdp.program.parametric import ParametricLP

#: Record of each of the five entries.
RECORDS = {
    "own": (0, 1, 2, 3, 4),
    "gap and pair": (0, 1, 1, 2, 2),
    "pair and triple": (3, 3, 0, 0, 0),
    "interleaved": (1, 0, 1, 0, 1),
    "one": (0, 0, 0, 0, 0),
    "late gap": (0, 9, 9, 4, 9),
}
#: Upper bound (the lower one is 0) and radius of each of the five entries.
NUMBERS: dict[str, tuple[tuple[float, ...], tuple[float, ...]]] = {
    "sums that round down": ((1.0,) * 5, (1.0, 0.1, 0.7, 0.1, 0.7)),
    "tenths": ((2.0,) * 5, (0.1, 0.3, 0.6, 0.7, 0.2)),
    "thirds": ((1.0,) * 5, (1 / 3, 1 / 3, 2 / 3, 1 / 7, 0.9)),
    "powers of two": ((8.0,) * 5, (1.0, 0.5, 0.25, 2.0, 0.125)),
    "subnormal": ((1.0,) * 5, (1.0, 5e-324, 0.1, 1e-310, 0.7)),
    "large bounds": ((1e12, 1e12, 1.0, 1e12, 1.0), (7.0, 0.1, 0.7, 0.3, 0.6)),
    "one ulp": ((1.0,) * 5, (0.7, 0.1 + 2.0**-56, 0.7 - 2.0**-53, 0.1 - 2.0**-56, 0.7)),
}
#: Terms (row, column, entry, coefficient) of A.
READINGS: dict[str, tuple[tuple[int, int, int, float], ...]] = {
    "entries 1 and 2": ((0, 0, 1, 1.0), (0, 1, 2, 1.0)),
    "all but the first": ((0, 0, 1, 1.0), (0, 1, 2, 1.0), (1, 0, 3, 1.0), (1, 1, 4, 1.0)),
    "one entry, three places": ((0, 0, 2, 1.0), (0, 1, 2, 1.0), (1, 1, 2, -1.0)),
    "three entries, one place": ((0, 0, 0, 1.0), (0, 0, 1, -1.0), (0, 0, 2, 1.0)),
    "decimals and constants": ((0, 0, 0, 0.1), (0, 1, 1, -0.7), (1, 0, 2, 3.0), (1, 1, 2, 1e-3)),
    "repeated terms": ((0, 0, 1, 1e16), (0, 0, 1, 1.0), (0, 0, 1, -1e16), (1, 1, 2, 0.1)),
    "shared and mixed": ((0, 0, 0, 1.0), (0, 0, 2, 0.3), (0, 1, 2, 1.0), (1, 1, 4, 0.7)),
}
#: The constant of every entry of A; 0 elsewhere.
CONSTANT = {
    "one entry, three places": 0.3,
    "decimals and constants": 0.3,
    "shared and mixed": -1.1,
}
#: More than any row can need at x = 0.
ROOM = 1e3


def awkward_programs() -> Iterator[ParametricLP]:
    """All combinations."""
    for envelope in _envelopes():
        for readings in READINGS:
            yield _program(envelope, readings)


def awkward_envelopes() -> Iterator[ParametricLP]:
    """One program per combination of records and numbers, for what reads the database itself."""
    first = next(iter(READINGS))
    return (_program(envelope, first) for envelope in _envelopes())


def _envelopes() -> Iterator[Envelope]:
    for records, (upper, radius) in product(RECORDS.values(), NUMBERS.values()):
        yield Envelope(0.0, upper, radius=radius, records=records)


def _program(envelope: Envelope, readings: str) -> ParametricLP:
    row, col, entry, factor = (np.array(part) for part in zip(*READINGS[readings], strict=True))
    constant = np.full((2, 2), CONSTANT.get(readings, 0.0))
    return ParametricLP(
        envelope,
        c=Affine(2, at=[0, 1, 1], entry=[1, 2, 4], coefficient=[1.0, 1.0, 0.3]),
        A=Affine((2, 2), constant=constant, at=(row, col), entry=entry, coefficient=factor),
        b=Affine(2, constant=[0.0, ROOM], at=[0, 1, 1], entry=[4, 1, 3], coefficient=1.0),
        upper=1.0,
    )
