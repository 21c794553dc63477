"""What a release claims, judged from its file alone, in integers and fractions.

Every record is moved by its worst and the integers moved are compared with those its noise is
certified for; every published number must be what such noise makes of some database of the
envelope. The reasons are in `dp_cmdp.verification` at commit 2e23627.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, isfinite
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import linprog

from tests.oracles.frozen.noise import Certificate
from tests.oracles.frozen.release import Envelope, Noise, Release, Totals, check, load

ENTRIES, TOTALS = "database", "totals"
CALIBRATIONS = {"truncated-laplace": ("tight", "paper"), "table": ("optimal",)}
FLOAT_LIMIT, SPLITTER = 2**53, 134217729.0
BITS, ENTRY_BITS = 20, 46
PLAN_FACTS, TRIAL_FACTS = {"share", "caution", "lift"}, {"plan", "proposed", "losses"}
LONGEST_PLAN = 100
#: Facts that contradict each other by less than this, relative to their terms, are not refused.
TOO_CLOSE_TO_CALL = 2.0**-24
DAMAGE = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError)


@dataclass(frozen=True)
class Claim:
    """A statement about a file, whether it holds, and why it does not."""

    claim: str
    holds: bool
    why: str = ""


def verify(path: Path) -> list[Claim]:
    """Every claim of a file; the first is that it is in order."""
    in_order = "the file is in order"
    try:
        release = load(path)
    except (*DAMAGE, OSError) as error:
        return [Claim(in_order, False, str(error))]
    return [Claim(in_order, True), *(_judged(name, release) for name in CLAIMS)]


def passed(path: Path) -> bool:
    """Whether nothing is wrong with a file."""
    return all(claim.holds for claim in verify(path))


def _judged(name: str, release: Release) -> Claim:
    try:
        CLAIMS[name](release)
    except DAMAGE as error:
        return Claim(name, False, str(error))
    return Claim(name, True)


def _looks(release: Release) -> None:
    named = [part.block for part in release.noise]
    check(named == sorted(set(named)) and set(named) <= {ENTRIES, TOTALS}, "its noise is misnamed")
    check((TOTALS in named) == (release.totals is not None), "totals and their noise go together")


def _laws(release: Release) -> None:
    for part in release.noise:
        proof, totals = part.certificate, release.totals if part.block == TOTALS else None
        steps = release.step if totals is None else totals.step
        check(proof.law == part.law, f"{part.block}: its law is {proof.law}")
        check(part.calibration in CALIBRATIONS[proof.law], f"{part.block}: its calibration is odd")
        check(proof.check(), f"{part.block}: its certificate proves nothing")
        check(bool((steps > 0).all()), f"{part.block}: a lattice step is missing")
        stated = float(proof.entries / proof.epsilon), proof.width / 2 / float(proof.steps)
        check((part.scale, part.support) == stated, f"{part.block}: scale or support differ")


def _spent(release: Release) -> None:
    for part in release.noise:
        proof = part.certificate
        check(proof.epsilon == part.epsilon, f"{part.block}: its certificate is for another ε")
        times = part.delta / proof.delta if proof.delta else Fraction(part.delta == 0)
        even = times.denominator == 1 and times.numerator % 2 == 0 and times > 0
        fits = even if part.calibration == "paper" else times == 1
        check(fits, f"{part.block}: its certificate is for another δ")
    _planned(release)
    epsilon = sum((part.epsilon for part in release.noise), Fraction(0))
    delta = sum((part.delta for part in release.noise), Fraction(0))
    check((epsilon, delta) == (release.epsilon, release.delta), "its parts spend something else")


def _planned(release: Release) -> None:
    """The looks spend the shares of the budget that the plan says."""
    plan = release.plan
    if plan is None:
        return
    tried = plan.get("trials", [])
    scored = isinstance(tried, list) and all(map(_is_score, tried))
    check(PLAN_FACTS <= set(plan) <= PLAN_FACTS | {"trials"} and scored, "its plan is odd")
    share, numbers = Fraction(plan["share"]), (plan["caution"], plan["lift"])
    real = all(type(number) in (int, float) and 0 <= number <= 100 for number in numbers)
    check(real, "its plan is odd")
    spent = {part.block: (part.epsilon, part.delta) for part in release.noise}
    check(0 <= share <= 1 and (share > 0) == (ENTRIES in spent), "its share is not what it spends")
    if TOTALS in spent:
        pairs = zip(spent.get(ENTRIES, (0, 0)), spent[TOTALS], strict=True)
        even = all(a * (1 - share) == b * share for a, b in pairs)
        check(even, "its looks do not spend the shares that its plan says")


def _is_score(said: Any) -> bool:
    if not isinstance(said, dict) or set(said) != TRIAL_FACTS or not isinstance(said["plan"], str):
        return False
    numbers = [0.0 if said["proposed"] is None else said["proposed"], *said["losses"]]
    real = all(type(number) in (int, float) and isfinite(number) for number in numbers)
    return len(said["plan"]) <= LONGEST_PLAN and real


def _moved(release: Release) -> None:
    """No record moves more integers than are certified."""
    for part in release.noise:
        if part.block == TOTALS:
            assert release.totals is not None
            _totals_moved(release.envelope, release.totals, part.certificate)
        else:
            _entries_moved(release.envelope, release.step, part.certificate)


def _entries_moved(envelope: Envelope, step: np.ndarray, proof: Certificate) -> None:
    radius, each = map(Fraction, envelope.radius.tolist()), map(Fraction, step.tolist())
    counts = [far / g for far, g in zip(radius, each, strict=True)]
    moves: dict[int, list[int]] = defaultdict(list)
    for record, count in zip(envelope.records.tolist(), counts, strict=True):
        moves[record].append(ceil(count))
    largest = max(max(each) for each in moves.values())
    total = max(sum(each) for each in moves.values())
    whole = proof.steps * proof.entries
    check(largest <= proof.steps and total <= whole, "a record moves more than is certified")
    check(total == whole, "the certificate was made for other records")
    check(all(count == proof.steps for count in counts), "the lattice is of other radii")
    alone = max(map(len, moves.values())) == 1
    check(proof.law != "table" or alone, "a table covers one entry, a record moves more")


def _totals_moved(envelope: Envelope, totals: Totals, proof: Certificate) -> None:
    pairs = zip(envelope.radius.tolist(), totals.grid.tolist(), strict=True)
    far = [ceil(Fraction(radius) / Fraction(g)) for radius, g in pairs]
    moved: dict[tuple[int, int], int] = defaultdict(int)
    whole: dict[int, int] = defaultdict(int)
    V = totals.counts.tocoo()
    for row, entry, count in zip(V.row.tolist(), V.col.tolist(), V.data.tolist(), strict=True):
        record, steps = int(envelope.records[entry]), abs(int(count)) * far[entry]
        moved[record, row] += steps
        whole[record] += steps
    largest, most = max(moved.values(), default=0), max(whole.values(), default=0)
    certified = (proof.steps, proof.steps * proof.entries)
    check((largest, most) == certified, "a record moves other integers than are certified")


def _inside(release: Release) -> None:
    low, high = release.envelope.lower, release.envelope.upper
    inside = (low <= release.lower).all() and (release.upper <= high).all()
    check(bool(inside), "an interval leaves the public bounds")
    if all(part.block == TOTALS for part in release.noise):
        published = (release.estimate, release.lower, release.upper)
        same = map(np.array_equal, published, ((low + high) / 2, low, high))
        check(all(same), "without noise in the entries the intervals are the public bounds")
        guess = release.draws
        check(bool(((low <= guess) & (guess <= high)).all()), "its guess leaves the bounds")


def _drawn(release: Release) -> None:
    """Its numbers are what such noise makes on the lattice."""
    low, high = release.envelope.lower, release.envelope.upper
    for part in release.noise:
        if part.block == TOTALS:
            assert release.totals is not None
            _totals_drawn(release, release.totals, part)
            continue
        cut = np.clip(release.draws, low, high)
        check(np.array_equal(cut, release.estimate), "its estimates are not its draws, cut")
        off = _off_lattice(part.certificate, release)
        check(not off.any(), f"no draw of its noise gives entry {int(np.argmax(off))}")


def _totals_drawn(release: Release, totals: Totals, part: Noise) -> None:
    envelope = release.envelope
    check(totals.support == part.certificate.support, "totals: their support is not their noise's")
    check(bool((totals.grid == entry_grid(envelope)).all()), "totals: the grid is not the entries'")
    ends = zip(envelope.lower.tolist(), envelope.upper.tolist(), totals.grid.tolist(), strict=True)
    cells = [
        (floor(Fraction(a) / Fraction(g)), floor(Fraction(b) / Fraction(g))) for a, b, g in ends
    ]
    V = totals.counts
    for i, index in enumerate(totals.index.tolist()):
        span = slice(V.indptr[i], V.indptr[i + 1])
        pairs = zip(V.indices[span].tolist(), V.data[span].tolist(), strict=True)
        reach = [(int(v) * cells[k][0], int(v) * cells[k][1]) for k, v in pairs]
        least = sum(map(min, reach)) - totals.support
        most = sum(map(max, reach)) + totals.support
        check(least <= index <= most, f"total {i}: no database of the envelope gives it")
    _consistent(release, totals)


def entry_grid(envelope: Envelope) -> np.ndarray:
    """A power of two per entry: about 2^-20 of its radius, more where its bounds are huge."""
    largest = np.maximum(abs(envelope.lower), abs(envelope.upper))
    fine = np.frexp(envelope.radius)[1] - 1 - BITS
    coarse = np.frexp(largest)[1] - ENTRY_BITS
    return np.ldexp(1.0, np.maximum(fine, np.where(largest > 0.0, coarse, fine)))


def _consistent(release: Release, totals: Totals) -> None:
    """Some database satisfies all facts, to the accuracy of HiGHS (here through scipy)."""
    width, W = release.upper - release.lower, totals.W
    largest = np.maximum(abs(release.lower), abs(release.upper))
    room = np.array([float(limit) for limit in totals.q]) - W @ release.lower
    room = room + TOO_CLOSE_TO_CALL * (abs(W) @ largest)
    parts = (W * width).toarray()
    unit = abs(parts).max(axis=1)
    unit[unit == 0.0] = 1.0
    rows, limits = parts / unit[:, None], room / unit
    found = linprog(np.zeros(width.size), rows, limits, bounds=(0.0, 1.0), method="highs")
    check(found.status == 0, "the facts contradict each other")


def _off_lattice(proof: Certificate, release: Release) -> np.ndarray:
    """The entries that no draw of the noise gives."""
    step, width = release.step, proof.width
    check(bool((step > 0).all()), "a lattice step is missing")
    published = (release.draws, release.lower, release.upper)
    bounds = (release.envelope.lower, release.envelope.upper)
    limit = float(FLOAT_LIMIT - width - 2)
    found = np.zeros(step.size, dtype=bool)
    for middle in {proof.mean_shift, width - proof.mean_shift}:
        guesses = (
            release.upper / step - 1,
            release.lower / step + width,
            release.draws / step + middle - 0.5,
        )
        for guess in guesses:
            for near in (-1, 0, 1):
                top = np.clip(np.rint(guess) + near, -limit, limit)
                made = published_at(top, step, width=width, middle=middle, bounds=bounds)
                same = [a == b for a, b in zip(made, published, strict=True)]
                found |= np.logical_and.reduce(same)
    return ~found


def published_at(
    top: np.ndarray,
    step: np.ndarray,
    *,
    width: int,
    middle: Any,
    bounds: tuple[np.ndarray, np.ndarray],
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What a release publishes when the noise leads to `top`; NaN where that cannot be."""
    estimate = (top - middle + 0.5) * step
    (low, below), (high, above) = _product(top - width, step), _product(top + 1, step)
    low = np.where(below < 0, np.nextafter(low, -np.inf), low)
    high = np.where(above > 0, np.nextafter(high, np.inf), high)
    possible = (low <= bounds[1]) & (high >= bounds[0])
    return np.where(possible, estimate, np.nan), np.clip(low, *bounds), np.clip(high, *bounds)


def _product(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """a·b as floats and its exact rounding error (Dekker's product)."""
    p = a * b
    big = SPLITTER * a
    a_high = big - (big - a)
    a_low = a - a_high
    big = SPLITTER * b
    b_high = big - (big - b)
    b_low = b - b_high
    return p, a_low * b_low - (((p - a_high * b_high) - a_low * b_high) - a_high * b_low)


def _exact(release: Release) -> None:
    check(release.secure, "secure is false: a simulation, not proved private")


CLAIMS: dict[str, Callable[[Release], None]] = {
    "its noise belongs to its looks": _looks,
    "its noise is what it says, certificates holding in fractions": _laws,
    "what its parts spend is what it says, in fractions": _spent,
    "no record moves more integers than are certified": _moved,
    "its intervals lie in the envelope": _inside,
    "its numbers are what such noise makes on the lattice": _drawn,
    "the noise is exact": _exact,
}
