"""Worst records of measured totals: every sign pattern of every record, against what is certified.

As in :mod:`dp_cmdp.audit.layers.worst_records`, with two counts: what a record can move in the raw
structure, Σ|V_ik|⌈radius_k/grid_k⌉ in fractions, and what adjacent databases on either side of cell
boundaries did move when they went through the shipped look with the same noise.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import product

import numpy as np

from dp_cmdp._check import FloatArray
from dp_cmdp.accounting.budget import PrivacyBudget
from dp_cmdp.audit.layers.worst_records import EPSILON, PLACES, SEED, TINY_DELTA, RecordMove
from dp_cmdp.audit.report import WorstRecords
from dp_cmdp.audit.subjects.awkward import awkward_envelopes
from dp_cmdp.data.envelope import Envelope
from dp_cmdp.release.totals import TotalsPlan, plan_totals

#: Weights of totals of the five awkward entries.
WEIGHTS = {
    "a sum": [[1.0, 1.0, 1.0, 1.0, 1.0]],
    "sums that share entries": [[1.0, 0.5, 0.0, 0.0, 2.0], [0.0, 0.3, 0.7, 1.0, 1.0]],
    "both signs": [[1.0, -1.0, 0.1, -0.7, 1.0], [-1.0, 0.3, 0.0, 1e-3, 2.0]],
}


def worst_totals() -> WorstRecords:
    """Looks at totals, on every awkward envelope.

    Notes
    -----
    **Privacy.** *Public*: every database here is invented.
    """
    moves: list[RecordMove] = []
    seen = 0
    for program, weights in product(awkward_envelopes(), WEIGHTS.values()):
        seen += 1
        envelope, W = program.envelope, np.array(weights)
        room = np.abs(W) @ (envelope.radius + 2.0**-30 * envelope.upper)
        look = plan_totals(envelope, PrivacyBudget(EPSILON, TINY_DELTA), W=W, scale=room)
        moves += record_moves(envelope, look)
    return WorstRecords(
        release="release_looks, totals",
        programs=seen,
        refused=0,
        records=len(moves),
        uncovered=sum(not move.covered for move in moves),
        reached=sum(move.moved == move.certified for move in moves),
        closest=max(float(move.moved / move.certified) for move in moves),
    )


def record_moves(envelope: Envelope, look: TotalsPlan) -> Iterator[RecordMove]:
    """Every record that the totals read, at its worst."""
    proof, V = look.noise.certificate, look.counts.toarray()
    pairs = [_far_apart(envelope, look.grid, k) for k in range(envelope.num_entries)]
    for record in np.unique(envelope.records):
        own = np.flatnonzero((envelope.records == record) & V.any(axis=0))
        if not own.size:
            continue
        possible = [
            sum(abs(int(row[k])) * _cells(envelope, look.grid, int(k)) for k in own) for row in V
        ]
        moved = max((_moved(look, pairs, own, signs) for signs in _patterns(own)), key=sum)
        yield RecordMove(
            moved=sum(moved),
            moved_each=max(moved),
            possible=sum(possible),
            possible_each=max(possible),
            certified=proof.entries * proof.steps,
            steps=proof.steps,
        )


def _patterns(own: np.ndarray) -> Iterator[tuple[int, ...]]:
    return product((1, -1), repeat=own.size)


def _cells(envelope: Envelope, grid: FloatArray, entry: int) -> int:
    """Cell boundaries that an entry can cross."""
    return math.ceil(Fraction(float(envelope.radius[entry])) / Fraction(float(grid[entry])))


def _moved(
    look: TotalsPlan, pairs: list[tuple[float, float]], own: np.ndarray, signs: tuple[int, ...]
) -> list[int]:
    """Integers by which the totals move, with the same noise."""
    ends = np.array([[start for start, _ in pairs]] * 2)
    for entry, sign in zip(own.tolist(), signs, strict=True):
        ends[:, entry] = pairs[entry][::sign]
    shown = [look.draw(end, np.random.default_rng(SEED)).index.tolist() for end in ends]
    return [abs(b - a) for a, b in zip(*shown, strict=True)]


def _far_apart(envelope: Envelope, grid: FloatArray, entry: int) -> tuple[float, float]:
    """Values within a radius of each other with as many cell boundaries between as can be."""
    low, high = float(envelope.lower[entry]), float(envelope.upper[entry])
    radius, cell = Fraction(float(envelope.radius[entry])), Fraction(float(grid[entry]))
    best, most = (low, low), 0
    for share in PLACES:
        near = Fraction(low) + Fraction(share) * (Fraction(high) - Fraction(low))
        edge = float((math.floor(near / cell) + 1) * cell)
        for start in (edge, math.nextafter(edge, -math.inf), low):
            start = min(max(start, low), high)
            end = min(float(Fraction(start) + radius), high)
            if Fraction(end) - Fraction(start) > radius:
                end = math.nextafter(end, start)
            crossed = math.floor(Fraction(end) / cell) - math.floor(Fraction(start) / cell)
            if crossed > most:
                best, most = (start, end), crossed
    return best
