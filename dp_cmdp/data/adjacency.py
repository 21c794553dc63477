"""The adjacency that an envelope states, as the ledger records it."""

from __future__ import annotations

from math import prod

import numpy as np

from dp_cmdp._door import door
from dp_cmdp.accounting.adjacency import Adjacency, Group
from dp_cmdp.data.envelope import Envelope
from dp_cmdp.data.moments import packed


@door
def adjacency_of(envelope: Envelope) -> Adjacency:
    """Names, radii and records of the entries: what ``ledger.debit(…, adjacency=…)`` takes.

    Bounds are no part of it. Records are numbered in the order of their first entries, so that
    envelopes with the same records say the same.

    Notes
    -----
    **Privacy.** *Public*.

    Examples
    --------
    >>> from dp_cmdp import Envelope
    >>> from dp_cmdp.data.adjacency import adjacency_of
    >>> mine = Envelope(0, 1, shape=3, radius=0.1, records=["Acme", "Acme", "Bolt"])
    >>> yours = Envelope(0, 2, shape=3, radius=0.1, records=[7, 7, 5])
    >>> adjacency_of(mine) == adjacency_of(yours)
    True
    """
    _, first, numbers = np.unique(envelope.records, return_index=True, return_inverse=True)
    records = np.argsort(np.argsort(first))[numbers]
    groups: list[Group] = []
    start = 0
    for (name, shape), labels in zip(envelope.groups, envelope.labels, strict=True):
        own = slice(start, start + prod(shape))
        groups.append(
            Group(
                name=name,
                shape=shape,
                levels=tuple(axis.names for axis in labels.axes),
                labels=tuple(tuple(map(packed, axis.labels)) for axis in labels.axes),
                radius=tuple(envelope.radius[own].tolist()),
                records=tuple(records[own].tolist()),
            )
        )
        start = own.stop
    return Adjacency(tuple(groups))
