"""Lattice noise seen from outside: how far records move it, and what it can publish.

**Moves.** Let g_k be the lattice step of entry k, and let a record change, each of its entries by
at most its radius. |⌊x/g⌋ − ⌊y/g⌋| ≤ ⌈|x − y|/g⌉, so entry k of a database release moves by at most
⌈Δ_k/g_k⌉ integers, and a position p of a block of Algorithm 1, a sum of floats, by at most
⌈(Σ|coefficient|·Δ + 2·rounding_p)/g_p⌉, the sum taken over the record's terms at p.

**Numbers.** With integer noise in {0, …, width} an entry is published as functions of an integer,

    estimate = (top − middle + 1/2)·g,   lower = g·(top − width) down,   upper = g·(top + 1) up,

then widened by the rounding of a block's sums and cut to the public bounds
(:class:`dp_cmdp.noise.plans.LatticeBounded`). An entry whose three numbers no integer gives was not
drawn from that noise.
"""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dp_cmdp._check import FloatArray
from dp_cmdp.data.affine import Affine
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.noise.certificate import NoiseCertificate
from dp_cmdp.noise.lattice import FLOAT_LIMIT, Lattice
from dp_cmdp.noise.optimal import OptimalNoise

if TYPE_CHECKING:
    from dp_cmdp.data.envelope import Envelope

Mask = NDArray[np.bool_]
Interval = tuple[FloatArray, FloatArray, FloatArray]


def made_for(envelope: Envelope, step: FloatArray, proof: NoiseCertificate) -> bool:
    """Whether every radius is exactly the certified number of lattice steps."""
    pairs = np.unique(np.stack([envelope.radius, step]), axis=1).T.tolist()
    return all(Fraction(radius) == proof.steps * Fraction(each) for radius, each in pairs)


def entry_moves(envelope: Envelope, step: FloatArray) -> dict[int, list[int]]:
    """⌈radius/step⌉ of every entry, by record."""
    pairs, which = np.unique(np.stack([envelope.radius, step]), axis=1, return_inverse=True)
    counts = [ceil(Fraction(radius) / Fraction(each)) for radius, each in pairs.T.tolist()]
    moves: dict[int, list[int]] = defaultdict(list)
    for record, place in zip(envelope.records.tolist(), which.ravel().tolist(), strict=True):
        moves[record].append(counts[place])
    return moves


def position_moves(envelope: Envelope, part: Affine, step: FloatArray) -> dict[int, list[int]]:
    """⌈(Σ|coefficient|·radius + 2·rounding)/step⌉ of every position a record meets, by record."""
    room = [2 * Fraction(error) for error in part.rounding(envelope.lower, envelope.upper).tolist()]
    size = [Fraction(each) for each in step.tolist()]
    moved: dict[tuple[int, int], Fraction] = defaultdict(Fraction)
    terms = zip(
        envelope.records[part.entry].tolist(),
        part.sensitive()[2].tolist(),
        part.coefficient.tolist(),
        envelope.radius[part.entry].tolist(),
        strict=True,
    )
    for record, position, coefficient, radius in terms:
        moved[record, position] += abs(Fraction(coefficient)) * Fraction(radius)
    moves: dict[int, list[int]] = defaultdict(list)
    for (record, position), far in moved.items():
        moves[record].append(ceil((far + room[position]) / size[position]))
    return moves


def off_lattice(
    proof: NoiseCertificate,
    step: FloatArray,
    *,
    published: Interval,
    bounds: tuple[FloatArray, FloatArray],
    error: FloatArray | None,
) -> Mask:
    """The entries that no draw of the noise gives.

    Parameters
    ----------
    proof : NoiseCertificate
        Of a law that has been proved.
    step : FloatArray
        Lattice step per entry.
    published : (estimate, lower, upper)
        The estimates before they were cut to the bounds.
    bounds : (lower, upper)
        Public bounds to which intervals were cut.
    error : FloatArray or None
        Widening of the intervals of a block (Algorithm 1); None for a database release.
    """
    if not (step > 0.0).all():
        raise InvalidArgumentError("a lattice step is missing")
    if proof.law == "laplace" or proof.support is None:
        return _off_unbounded(step, published, bounds)
    if proof.law == "table":
        width, shift = proof.support, OptimalNoise(proof).mean_shift
    else:
        width, shift = 2 * proof.support, float(proof.support)
    lattice = Lattice(step, proof.steps)
    found = np.zeros(step.size, dtype=bool)
    for middle in {shift, width - shift}:
        for top in _candidates(step, published, width=width, middle=middle):
            made = _published(lattice, top, width=width, middle=middle, bounds=bounds, error=error)
            same = [np.equal(ours, theirs) for ours, theirs in zip(made, published, strict=True)]
            found |= np.logical_and.reduce(same)
    return ~found


def _candidates(step: FloatArray, published: Interval, *, width: int, middle: float):
    """Integers near those that each of the three numbers stands for."""
    estimate, lower, upper = published
    guesses = (upper / step - 1, lower / step + width, estimate / step + middle - 0.5)
    limit = float(FLOAT_LIMIT - width - 2)
    for guess in guesses:
        for near in (-1, 0, 1):
            yield np.clip(np.rint(guess) + near, -limit, limit).astype(np.int64)


def _published(
    lattice: Lattice,
    top: NDArray[np.int64],
    *,
    width: int,
    middle: float,
    bounds: tuple[FloatArray, FloatArray],
    error: FloatArray | None,
) -> Interval:
    """What a release publishes when the noise leads to `top`; NaN where that cannot be."""
    estimate = (top - middle + 0.5) * lattice.step
    low, high = lattice.floor(top - width), lattice.ceil(top + 1)
    if error is not None:
        low = np.where(error > 0.0, np.nextafter(low - error, -np.inf), low)
        high = np.where(error > 0.0, np.nextafter(high + error, np.inf), high)
    possible = (low <= bounds[1]) & (high >= bounds[0])
    return np.where(possible, estimate, np.nan), np.clip(low, *bounds), np.clip(high, *bounds)


def _off_unbounded(
    step: FloatArray, published: Interval, bounds: tuple[FloatArray, FloatArray]
) -> Mask:
    """Untruncated noise: the interval is the public one, the estimate the middle of some cell."""
    estimate, lower, upper = published
    place = estimate / step - 0.5
    near = [np.equal((np.rint(place) + shift + 0.5) * step, estimate) for shift in (-1, 0, 1)]
    on_cell = np.logical_or.reduce(near) | (np.abs(place) >= FLOAT_LIMIT / 2)
    return ~(on_cell & (lower == bounds[0]) & (upper == bounds[1]))
