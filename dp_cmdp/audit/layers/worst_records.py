"""Worst records: every record moved by its worst pattern, integers moved against certified.

The certificate of exact noise covers `steps` integers per number and entries·steps per record. How
far a record really moves the integers follows from the structure: which numbers it meets, with
which coefficients, where the floors flip. Two counts are compared with the certificate, both exact:

* *possible*: Σ ⌈(Σ|coefficient|·radius + 2·rounding)/step⌉ over the numbers of a record, in
  fractions, from the raw structure (none of the package's own sums is used);
* *moved*: two adjacent databases are built, each entry at a place where its floors flip, and run
  through the plan of the shipped release with the same noise; what comes out is read back as
  integers.

No draw decides anything, so the layer has no false alarm.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import product

import numpy as np

from dp_cmdp._check import FloatArray
from dp_cmdp.accounting.budget import PrivacyBudget, Share
from dp_cmdp.audit.report import WorstRecords
from dp_cmdp.audit.subjects.awkward import awkward_envelopes, awkward_programs
from dp_cmdp.data.affine import Affine
from dp_cmdp.data.envelope import Envelope
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.noise.plans import LatticeBounded, LatticeUnbounded, NoisePlan
from dp_cmdp.program.entrywise import entry_values
from dp_cmdp.program.parametric import ParametricLP
from dp_cmdp.release.block_plans import plan_block
from dp_cmdp.release.entries import plan_database

#: A budget as users choose it: δ far below one over the number of people.
EPSILON, TINY_DELTA = Fraction(1), Fraction(1, 10**9)
#: Where in its range (as a share) an entry is placed next to a lattice point.
PLACES = tuple(0.95 * number / 7 for number in range(8))
SEED = 20

LatticePlan = LatticeBounded | LatticeUnbounded


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """Numbers that a release perturbs: how they read the database, and the release's plan."""

    part: Affine
    envelope: Envelope
    values: Callable[[FloatArray], FloatArray]
    plan: LatticePlan


@dataclass(frozen=True, slots=True)
class RecordMove:
    """One record at its worst; `certified` integers in all and `steps` per number are covered."""

    moved: int
    moved_each: int
    possible: int
    possible_each: int
    certified: Fraction
    steps: int

    @property
    def covered(self) -> bool:
        return (
            max(self.moved, self.possible) <= self.certified
            and max(self.moved_each, self.possible_each) <= self.steps
        )


def worst_row(release: str) -> WorstRecords:
    """One of :func:`shipped_readings` on every awkward program.

    Notes
    -----
    **Privacy.** *Public*: every database here is invented.
    """
    make, seen, refused = shipped_readings()[release], 0, 0
    moves: list[RecordMove] = []
    for program in awkward_programs() if release.endswith("A") else awkward_envelopes():
        seen += 1
        try:
            reading = make(program)
        except InvalidArgumentError:
            refused += 1
            continue
        moves += record_moves(reading)
    return WorstRecords(
        release=release,
        programs=seen - refused,
        refused=refused,
        records=len(moves),
        uncovered=sum(not move.covered for move in moves),
        reached=sum(move.moved == move.certified for move in moves),
        closest=max((float(move.moved / move.certified) for move in moves), default=0.0),
    )


def shipped_readings() -> dict[str, Callable[[ParametricLP], Reading]]:
    """By the name of the release: the numbers it perturbs in a program, and its plan of noise."""
    database = {
        f"release_database, {kind}": partial(database_reading, calibration=kind)
        for kind in ("tight", "paper", "optimal")
    }
    blocks = {
        f"release_blocks, {kind}, {block}": partial(block_reading, block=block, calibration=kind)
        for kind, block in (*product(("paper", "tight"), "Ab"), ("paper", "c"))
    }
    return database | blocks


def database_reading(program: ParametricLP, calibration: str) -> Reading:
    """The entries of the database of a program."""
    envelope = program.envelope
    size = envelope.num_entries
    plan = plan_database(envelope, PrivacyBudget(EPSILON, TINY_DELTA), calibration=calibration)
    own = Affine(size, at=np.arange(size), entry=np.arange(size))
    return Reading(own, envelope, lambda theta: theta, _on_lattice(plan))


def block_reading(program: ParametricLP, block: str, calibration: str) -> Reading:
    """The sensitive entries of one block of a program."""
    share = Share(Fraction(1), EPSILON, Fraction(0) if block == "c" else TINY_DELTA)
    plan = plan_block(program, block, share=share, calibration=calibration, rng=None)
    return Reading(
        getattr(program, block),
        program.envelope,
        lambda theta: entry_values(program, theta)[block],
        _on_lattice(plan),
    )


def _on_lattice(plan: NoisePlan) -> LatticePlan:
    assert isinstance(plan, LatticePlan)
    return plan


def record_moves(reading: Reading) -> Iterator[RecordMove]:
    """Every record that the numbers read, at its worst."""
    proof = reading.plan.noise.certificate
    for record in np.unique(reading.envelope.records[reading.part.entry]):
        possible = list(possible_integers(reading, int(record)).values())
        moved = np.abs(_worst_move(reading, int(record)))
        yield RecordMove(
            moved=int(moved.sum()),
            moved_each=int(moved.max()),
            possible=sum(possible),
            possible_each=max(possible),
            certified=proof.entries * proof.steps,
            steps=proof.steps,
        )


def possible_integers(reading: Reading, record: int) -> dict[int, int]:
    """Per number that the record meets, the most integers it can move: fractions throughout."""
    part, envelope = reading.part, reading.envelope
    row, col, position = part.sensitive()
    base = part.base(row, col)
    change: dict[int, Fraction] = {}
    size: dict[int, list[Fraction]] = {}
    for number, entry, factor in zip(
        position.tolist(), part.entry.tolist(), part.coefficient.tolist(), strict=True
    ):
        ends = (envelope.lower[entry], envelope.upper[entry])
        largest = max(abs(Fraction(float(end))) for end in ends)
        size.setdefault(number, []).append(abs(Fraction(factor)) * largest)
        if envelope.records[entry] == record:
            moved = abs(Fraction(factor)) * Fraction(float(envelope.radius[entry]))
            change[number] = change.get(number, Fraction(0)) + moved
    plain = {n for n in change if base[n] == 0 and _is_one_entry(part, position == n)}
    step = reading.plan.lattice.step
    return {
        n: math.ceil(
            (moved + (0 if n in plain else 2 * _rounding(float(base[n]), size[n])))
            / Fraction(float(step[n]))
        )
        for n, moved in change.items()
    }


def _is_one_entry(part: Affine, here: np.ndarray) -> bool:
    """Whether the terms marked by `here` are a single entry with coefficient ±1."""
    return np.abs(part.coefficient[here]).tolist() == [1.0]


def _rounding(base: float, terms: list[Fraction]) -> Fraction:
    """Error of a sum of products in floats: n + 1 roundings of each term, and underflow."""
    count = len(terms) + 1
    each = Fraction(count, 2**53 - 2 * count)
    return each * (abs(Fraction(base)) + sum(terms)) + count * Fraction(1, 2**1074)


def _worst_move(reading: Reading, record: int) -> np.ndarray:
    """Integers by which the best pair of adjacent databases found moves the published numbers."""
    envelope = reading.envelope
    own = np.flatnonzero(envelope.records == record)
    own = own[np.isin(own, reading.part.entry)]
    pairs: dict[tuple[int, int], FloatArray] = {}
    best = np.zeros(1, dtype=np.int64)
    for signs in _patterns(reading, own):
        ends = np.stack([envelope.lower / 2 + envelope.upper / 2] * 2)
        for entry, sign in zip(own.tolist(), signs, strict=True):
            if (entry, sign) not in pairs:
                pairs[entry, sign] = np.array(list(_pairs(reading, entry, sign)))
            tried = np.repeat(ends[:, None], len(pairs[entry, sign]), axis=1)
            tried[:, :, entry] = pairs[entry, sign].T
            apart = np.abs(np.subtract(*_floors(reading, tried))).sum(axis=1)
            ends = tried[:, int(np.argmax(apart))]
        moved = _published_apart(reading, ends)
        if np.abs(moved).sum() > np.abs(best).sum():
            best = moved
    return best


def _floors(reading: Reading, theta: FloatArray) -> FloatArray:
    """Lattice indices of the numbers for many databases at once, to choose among them."""
    row, col, position = reading.part.sensitive()
    places = np.equal.outer(position, np.arange(row.size)).astype(np.float64)
    terms = theta[..., reading.part.entry] * reading.part.coefficient
    numbers = terms @ places + reading.part.base(row, col)
    return np.floor_divide(numbers, reading.plan.lattice.step)


def _patterns(reading: Reading, own: np.ndarray) -> list[tuple[int, ...]]:
    """Directions of the entries of a record: all up, and as each number that reads them asks."""
    part = reading.part
    position = part.sensitive()[2]
    wanted = {(1,) * own.size}
    for number in np.unique(position):
        signs = np.ones(own.size, dtype=int)
        for place, entry in enumerate(own):
            here = part.coefficient[(position == number) & (part.entry == entry)]
            signs[place] = -1 if here.sum() < 0 else 1
        wanted.add(tuple(signs.tolist()))
    return sorted(wanted)


def _pairs(reading: Reading, entry: int, sign: int) -> Iterator[tuple[float, float]]:
    """Values of one entry, a radius apart or a little less, that straddle lattice points."""
    envelope, part = reading.envelope, reading.part
    low, high = float(envelope.lower[entry]), float(envelope.upper[entry])
    radius = Fraction(float(envelope.radius[entry]))
    row, col, position = part.sensitive()
    base = part.base(row, col)
    for term in np.flatnonzero(part.entry == entry)[:2]:
        number, factor = int(position[term]), Fraction(float(part.coefficient[term]))
        step = Fraction(float(reading.plan.lattice.step[number]))
        for share in PLACES:
            near = Fraction(low) + Fraction(share) * (Fraction(high) - Fraction(low))
            offset = Fraction(float(base[number]))
            point = (math.floor((offset + factor * near) / step) + 1) * step
            target = float((point - offset) / factor)
            for start in (math.nextafter(target, -sign * math.inf), target):
                yield from _inside(start, sign, radius, low, high)
            for end in (target, math.nextafter(target, sign * math.inf)):
                yield from ((b, a) for a, b in _inside(end, -sign, radius, low, high))
    yield from _inside(low if sign > 0 else high, sign, radius, low, high)
    yield (low, low)


def _inside(
    start: float, sign: int, radius: Fraction, low: float, high: float
) -> Iterator[tuple[float, float]]:
    """`start` and the float farthest from it in the given direction, within radius and bounds."""
    if not low <= start <= high:
        return
    end = min(max(float(Fraction(start) + sign * radius), low), high)
    if abs(Fraction(end) - Fraction(start)) > radius:
        end = math.nextafter(end, start)
    yield start, end


def _published_apart(reading: Reading, ends: FloatArray) -> np.ndarray:
    """Published integers on two databases with the same noise, subtracted."""
    shown: list[list[int]] = []
    for theta in ends:
        plan = replace(reading.plan, rng=np.random.default_rng(SEED))
        drawn = plan.draw(reading.values(theta))
        bounded = isinstance(plan, LatticeBounded)
        ends = (drawn.upper if bounded else drawn.estimate).tolist()
        offset = Fraction(1) if bounded else Fraction(1, 2)
        steps = plan.lattice.step.tolist()
        shown.append(
            [
                round(Fraction(end) / Fraction(step) - offset)
                for end, step in zip(ends, steps, strict=True)
            ]
        )
    return np.array(shown[1]) - np.array(shown[0])
