"""How private a law of noise is, from its document, in integers and fractions of its own.

Each function takes the members of a law's document and returns a :class:`Law`: its support, and an
upper bound of the δ that it needs where a record moves integers by at most a given
:class:`~dp_cmdp._src.checking.verify.adjacency.CountedSensitivity`.

``laplace``, ``unbounded laplace``: a magnitude with independent binary digits, digit i being 1 with
probability a_i/2^256, and a sign; (−, 0) and magnitudes above the support are rejected. From
2^t − 1 to 2^t the law changes by the factor

    a_t Π_{i<t}(2^256 − a_i) / ((2^256 − a_t) Π_{i<t} a_i),

and every unit step is one of these. If each lies in [e^(−ε/l1), 1], then only what the shifted
support does not cover needs δ: at most (l1/largest)·P(one of the `largest` outermost points of one
side), because such masses are convex in the shift.

``one-sided``: cells of equal width with integer weights over 2^256, for records that move one
integer. By how much is not known, so the divergence of every shift up to the largest counts, in
both directions; between whole cells it is the mean of its neighbours, so whole cells are enough.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from math import prod
from typing import Any

from dp_cmdp._src.checking.verify.adjacency import CountedSensitivity
from dp_cmdp._src.checking.verify.reading import member, read, refuse_unless, sequence, text

ONE = 1 << 256
#: Bits behind the point of bounds of e^x: more than any producer's, whose laws must pass.
BITS = 640
#: Nothing is computed for larger ε, supports or tables: no law that is built comes near.
LARGEST_EPSILON = 100
LARGEST_SUPPORT = 1 << 61
MOST_DIGITS = 64
MOST_CELLS = 1 << 17
MOST_WORK = 1 << 19
_HEX = re.compile("0|[1-9a-f][0-9a-f]*")


@dataclass(frozen=True)
class Law:
    """A law of noise as a file states it: the least and greatest noise (None: unbounded), and the
    δ it needs at ε where records move so many integers."""

    name: str
    low: int | None
    high: int | None
    delta: Callable[[CountedSensitivity, Fraction], Fraction]


def law_of(said: Any) -> Law | None:
    """The law of a document; None for one that is not known here."""
    name = text(member(said, "law"), "the name of a law")
    return _LAWS[name](said) if name in _LAWS else None


def _laplace(said: Mapping[str, Any]) -> Law:
    parts = read(said, law=text, support=_hexadecimal, thresholds=_thresholds)
    support, digits = parts["support"], parts["thresholds"]
    refuse_unless(
        support <= LARGEST_SUPPORT and support < 1 << len(digits),
        "the support is larger than the magnitudes that its digits write",
    )

    def delta(moved: CountedSensitivity, epsilon: Fraction) -> Fraction:
        if not moved.l1:
            return Fraction(0)
        if moved.largest > support or not _steps_hold(digits, moved.l1, epsilon):
            return Fraction(1)
        inside = _weight_below(digits, support + 1)
        outer = inside - _weight_below(digits, support + 1 - moved.largest)
        whole = 2 * inside - _weight_below(digits, 1)
        return min(Fraction(1), Fraction(moved.l1, moved.largest) * Fraction(outer, whole))

    return Law("laplace", -support, support, delta)


def _unbounded_laplace(said: Mapping[str, Any]) -> Law:
    parts = read(said, law=text, thresholds=_thresholds, onward=_hexadecimal)
    digits, onward = parts["thresholds"], parts["onward"]
    refuse_unless(digits and 0 < onward < ONE, "thresholds must lie between 0 and 2^256")

    def delta(moved: CountedSensitivity, epsilon: Fraction) -> Fraction:
        if not moved.l1:
            return Fraction(0)
        # from the last magnitude that the digits write to the next block
        up, down = onward * prod(ONE - each for each in digits), ONE * prod(digits)
        ratio = exp_below(epsilon / moved.l1)
        onwards = up <= down and up * ratio.numerator >= down * ratio.denominator
        return Fraction(int(not (onwards and _steps_hold(digits, moved.l1, epsilon))))

    return Law("unbounded laplace", None, None, delta)


def _one_sided(said: Mapping[str, Any]) -> Law:
    parts = read(said, law=text, cell=_hexadecimal, weights=_many)
    cell, weights = parts["cell"], parts["weights"]
    refuse_unless(1 <= cell <= LARGEST_SUPPORT, "a cell must hold at least one integer")
    refuse_unless(sum(weights) == ONE, "the weights of a table must add up to 2^256")
    high = cell * len(weights) - 1
    refuse_unless(high < LARGEST_SUPPORT, "the noise must stay below 2^61 steps")

    def delta(moved: CountedSensitivity, epsilon: Fraction) -> Fraction:
        if not moved.queries:
            return Fraction(0)
        shifts = -(-moved.largest // cell)
        if moved.queries > 1 or shifts * len(weights) > MOST_WORK or epsilon > LARGEST_EPSILON:
            return Fraction(1)
        return _worst_divergence(weights, shifts, epsilon)

    return Law("one-sided", 0, high, delta)


_LAWS: dict[str, Callable[[Mapping[str, Any]], Law]] = {
    "laplace": _laplace,
    "unbounded laplace": _unbounded_laplace,
    "one-sided": _one_sided,
}


@lru_cache(maxsize=256)
def exp_below(exponent: Fraction) -> Fraction:
    """A lower bound of e^x, x ≥ 0: partial sums of its series, every term rounded down."""
    order, term, total = 0, 1 << BITS, 0
    while term:
        total += term
        order += 1
        term = term * exponent.numerator // (exponent.denominator * order)
    return Fraction(total, 1 << BITS)


def _steps_hold(digits: Sequence[int], l1: int, epsilon: Fraction) -> bool:
    """Whether no unit step away from 0 raises the law, or lowers it by more than e^(ε/l1)."""
    if not 0 < epsilon <= LARGEST_EPSILON:
        return False
    ratio = exp_below(epsilon / l1)
    before, after = 1, 1  # Π a_i and Π (2^256 − a_i) of the lower digits
    for each in digits:
        up, down = each * after, (ONE - each) * before
        if up > down or up * ratio.numerator < down * ratio.denominator:
            return False
        before, after = before * each, after * (ONE - each)
    return True


def _weight_below(digits: Sequence[int], end: int) -> int:
    """P(magnitude < end), in units of 2^(−256 L): by its leading digit, then the next."""
    total, chosen = 0, 1
    for place in range(len(digits) - 1, -1, -1):
        half, rest = 1 << place, ONE**place
        if end >= half << 1:
            return total + chosen * ONE * rest
        if end > half:
            total += chosen * (ONE - digits[place]) * rest
            chosen *= digits[place]
            end -= half
        else:
            chosen *= ONE - digits[place]
    return total + chosen * int(end > 0)


@cache
def _worst_divergence(weights: tuple[int, ...], shifts: int, epsilon: Fraction) -> Fraction:
    """The greatest Σ max(P(z) − e^ε P(z ± shift), 0) over shifts of 1 … `shifts` cells."""
    ratio = exp_below(epsilon)
    top, bottom = ratio.numerator, ratio.denominator
    ours, theirs = [bottom * weight for weight in weights], [top * weight for weight in weights]
    worst = 0
    for shift in range(1, shifts + 1):
        nothing = [0] * min(shift, len(weights))
        for shifted in (nothing + theirs[:-shift], theirs[shift:] + nothing):
            gain = sum(a - b for a, b in zip(ours, shifted, strict=True) if a > b)
            worst = max(worst, gain)
    return Fraction(worst, bottom * ONE)


def _thresholds(texts: Any, what: str) -> tuple[int, ...]:
    found = _many(texts, what, MOST_DIGITS)
    refuse_unless(all(0 < each < ONE for each in found), f"{what} must lie between 0 and 2^256")
    return found


def _many(texts: Any, what: str, most: int = MOST_CELLS) -> tuple[int, ...]:
    found = sequence(texts, what)
    refuse_unless(len(found) <= most, f"{what} must be at most {most} integers")
    return tuple(_hexadecimal(each, what) for each in found)


def _hexadecimal(text: Any, what: str) -> int:
    refuse_unless(
        isinstance(text, str) and len(text) <= 70 and _HEX.fullmatch(text),
        f"{what} must be written in hexadecimal digits",
    )
    return int(text, 16)


def tail_of(said: Any) -> Callable[[int], Fraction] | None:
    """P(Z ≥ z) of a law, from its document; None for one that is not known here."""
    name = member(said, "law")
    if name == "one-sided":
        cell, weights = _hexadecimal(said["cell"], "cell"), _many(said["weights"], "weights")

        def table(z: int) -> Fraction:
            whole, part = divmod(max(z, 0), cell)
            here = weights[whole] if whole < len(weights) else 0
            return Fraction(cell * sum(weights[whole:]) - part * here, cell * ONE)

        return table
    if name != "laplace" and name != "unbounded laplace":
        return None
    digits = _thresholds(member(said, "thresholds"), "thresholds")
    onward = _hexadecimal(said.get("onward", "0"), "onward")
    size, again = 1 << len(digits), Fraction(onward, ONE)
    end = _hexadecimal(said["support"], "support") + 1 if name == "laplace" else None

    def below(end: int) -> Fraction:
        """P(magnitude < end) before any is rejected."""
        block, rest = divmod(end, size)
        here = Fraction(_weight_below(digits, rest), ONE ** len(digits))
        return 1 - again**block + again**block * (1 - again) * here

    kept = Fraction(1) if end is None else below(end)
    whole = 2 * kept - below(1)

    def tail(z: int) -> Fraction:
        far = max(abs(z), 0) if z > 0 else 1 - z
        beyond = max(kept - below(far), Fraction(0)) / whole
        return beyond if z > 0 else 1 - beyond

    return tail
