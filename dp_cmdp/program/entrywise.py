"""A program in which every sensitive entry of A, b and c is a database entry of its own.

That is how Algorithm 1 sees a linear program: it perturbs the entries of A(D), b(D), c(D) and never
looks at the database behind them. Its robust counterpart is Ã = min(Ā, Â), b̃ = max(b̄, b_inf)
(paper: ``eq:abarpost``, ``eq:bbarpost``).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dp_cmdp._check import FloatArray
from dp_cmdp._door import door
from dp_cmdp.accounting.budget import BLOCKS
from dp_cmdp.data.affine import Affine
from dp_cmdp.data.envelope import Envelope
from dp_cmdp.noise.movement import Movement
from dp_cmdp.program.parametric import ParametricLP


@door
def entrywise(program: ParametricLP) -> ParametricLP:
    """The same program over its own sensitive entries: groups ``A``, ``b``, ``c``.

    Notes
    -----
    **Privacy.** *Public*.

    Examples
    --------
    >>> from dp_cmdp.problems.ad_auction import ad_auction_program
    >>> from dp_cmdp.program.entrywise import entrywise
    >>> entrywise(ad_auction_program(4, 3)).envelope
    Envelope(A[12], b[3], c[12], record_size=1)
    """
    parts: dict[str, Affine] = {block: getattr(program, block) for block in BLOCKS}
    envelopes, start, blocks = {}, 0, {}
    for block, part in parts.items():
        count = part.sensitive()[0].size
        blocks[block] = _own_entries(part, start)
        if count:
            envelopes[block] = _entry_envelope(program.envelope, part)
            start += count
    return replace(program, envelope=Envelope.join(envelopes), **blocks)


def entry_values(program: ParametricLP, values: FloatArray) -> dict[str, FloatArray]:
    """Values of the sensitive entries of each block: *curator only*.

    They are in the order of the groups of :func:`entrywise`.
    """
    found = {}
    for block in BLOCKS:
        part: Affine = getattr(program, block)
        row, col, position = part.sensitive()
        moved = np.bincount(
            position, weights=part.coefficient * values[part.entry], minlength=row.size
        )
        found[block] = part.base(row, col) + moved
    return found


def _own_entries(part: Affine, start: int) -> Affine:
    """Constants stay where no database entry is read; each sensitive position reads its own."""
    row, col, _ = part.sensitive()
    at = row if len(part.shape) == 1 else (row, col)
    own = np.arange(start, start + row.size)
    return Affine(part.shape, constant=part.filled(0.0), at=at, entry=own)


def _entry_envelope(envelope: Envelope, part: Affine) -> Envelope:
    low, high = part.bounds(envelope.lower, envelope.upper)
    movement = Movement.of_block(part, envelope)
    radius = np.zeros(low.size)
    np.maximum.at(radius, movement.number, movement.amount)
    return Envelope(low, high, radius=np.minimum(radius, high - low))
