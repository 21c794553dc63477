"""Databases some changes away that an answer would violate.

A *change* moves one record, each of its entries by at most its radius and inside the envelope; the
*distance* of two databases is the number of changes that lead from one to the other. Prices π ≥ 0
of the sensitive rows make of a point x one harm per entry, ω_k = Σ_i π_i w_ik(x): how fast
πᵀ(A(θ)x − b(θ)) grows with θ_k. The neighbour at distance n spends its changes where they harm
most, on one record several times if that is best: what another change adds to a record's harm
never grows, so the n largest steps of all are a best choice.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import nextafter

import numpy as np

from dp_cmdp._check import FloatArray
from dp_cmdp.data.affine import IntArray
from dp_cmdp.data.envelope import Envelope
from dp_cmdp.program.parametric import ParametricLP


@dataclass(frozen=True, slots=True, eq=False)
class Neighbour:
    """A database and how many changes away it is at most: *curator only*."""

    values: FloatArray
    distance: int


def harmful_neighbour(
    program: ParametricLP,
    values: FloatArray,
    *,
    x: FloatArray,
    prices: FloatArray,
    distance: int,
) -> Neighbour | None:
    """The database at most `distance` changes from `values` that harms x most, at given prices.

    Returns
    -------
    Neighbour or None
        None when no change harms x, or when x stays feasible.

    Notes
    -----
    **Paper.** Ours. **Privacy.** *Curator only*.
    """
    envelope, pairs = program.envelope, program.uncertain_rows
    harm = np.zeros(envelope.num_entries)
    np.add.at(harm, pairs.entry, pairs.weights(x) * prices[pairs.row])
    changes = _changes(envelope, values, harm, distance)
    if not changes.any():
        return None
    moved = _moved(envelope, values, np.sign(harm), changes[envelope.records])
    slack = pairs.exact_slack(x, moved, moved)
    return Neighbour(moved, int(changes.sum())) if (slack < 0.0).any() else None


def nearest_rows(program: ParametricLP, values: FloatArray, *, x: FloatArray) -> IntArray:
    """The sensitive rows that changes can harm, by slack in units of what all of them can add."""
    envelope, pairs = program.envelope, program.uncertain_rows
    w, k = pairs.weights(x), pairs.entry
    room = np.where(w > 0, envelope.upper[k] - values[k], values[k] - envelope.lower[k])
    slack = pairs.exact_slack(x, values, values)
    most = np.bincount(pairs.row, weights=np.abs(w) * room, minlength=slack.size)
    rows = np.flatnonzero(most > 0.0)
    return rows[np.argsort(slack[rows] / most[rows], kind="stable")]


def _changes(envelope: Envelope, values: FloatArray, harm: FloatArray, distance: int) -> IntArray:
    """How often each record is changed: the `distance` most harmful changes of all."""
    room = np.where(harm > 0, envelope.upper - values, values - envelope.lower)
    records, size = envelope.records, int(envelope.records.max()) + 1

    def step(number: int, part: IntArray) -> FloatArray:
        """Harm that change `number` of a record adds, over the given entries."""
        ends = (np.minimum(q * envelope.radius[part], room[part]) for q in (number - 1, number))
        before, after = ends
        total = np.zeros(size)
        np.add.at(total, records[part], np.abs(harm[part]) * (after - before))
        return total

    first = step(1, np.arange(harm.size))
    found = np.zeros(size, dtype=np.int64)
    top = np.argsort(-first, kind="stable")[:distance]
    top = top[first[top] > 0.0]
    part = np.flatnonzero(np.isin(records, top) & (harm != 0.0))
    if not part.size:
        return found
    most = int(min(distance, np.ceil((room[part] / envelope.radius[part]).max())))
    table = np.stack([step(number, part)[top] for number in range(1, max(most, 1) + 1)])
    chosen = np.argsort(-table, axis=None, kind="stable")[:distance]
    chosen = chosen[table.ravel()[chosen] > 0.0]
    np.add.at(found, top[chosen % top.size], 1)
    return found


def _moved(
    envelope: Envelope, values: FloatArray, sign: FloatArray, changes: IntArray
) -> FloatArray:
    """The entries moved by that many radii, at most, in exact arithmetic."""
    moved = np.array(values)
    for k in np.flatnonzero((changes > 0) & (sign != 0.0)):
        most = int(changes[k]) * Fraction(envelope.radius[k])
        true = Fraction(values[k])
        wanted = values[k] + sign[k] * changes[k] * envelope.radius[k]
        end = float(np.clip(wanted, envelope.lower[k], envelope.upper[k]))
        while abs(Fraction(end) - true) > most:
            end = nextafter(end, float(values[k]))
        moved[k] = end
    return moved
