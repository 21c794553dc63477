"""Privacy budgets in exact fractions: what may be spent, how it is split, how it adds up.

A mechanism M is (ε, δ)-differentially private when P[M(D) ∈ T] ≤ e^ε P[M(D') ∈ T] + δ for all
adjacent D, D' and all T (paper: ``def:dp``). Releases of the same database add up:
(ε₁ + ε₂, δ₁ + δ₂) (``lem:comp``). Sums are made in :class:`fractions.Fraction`, so a budget of
1/10 can be spent exactly ten times 1/100 and not a hair more.
"""

from __future__ import annotations

import math
import numbers
import re
import warnings
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from dp_cmdp._src.base import validation as check
from dp_cmdp._src.base.errors import InvalidArgumentError, InvalidTypeError, PrivacyWarning
from dp_cmdp._src.base.html import values_table

Number = int | float | str | Fraction | Decimal

#: Beyond these the formal guarantee is legal but says little: a warning, not an error.
WEAK_EPSILON = Fraction(20)
WEAK_DELTA = Fraction(1, 1000)
HALF = Fraction(1, 2)
LARGEST_EPSILON = 10**6
#: Below this a number cannot be told from 0 in floating point.
SMALLEST = Fraction(1, 10**300)
#: Texts that would make astronomically long fractions are not read.
LONGEST_TEXT = 1000
LARGEST_EXPONENT = 400
EXPONENT = re.compile(r"e([-+]?[\d_]+)\s*$", re.IGNORECASE)


def exact(name: str, value: Any) -> Fraction:
    """A number as the fraction its user wrote: 0.1 is 1/10, "1/3" is 1/3.

    A float of any width stands for its shortest decimal text, not for its binary expansion.
    """
    if not (check.is_real(value) or isinstance(value, str | Decimal)):
        raise InvalidTypeError(f"{name} must be a real number, got {type(value).__name__}")
    try:
        if isinstance(value, numbers.Rational):
            return Fraction(int(value.numerator), int(value.denominator))
        if not isinstance(value, str) and not math.isfinite(value):
            raise InvalidArgumentError(f"{name} must be finite, got {value}")
        return _fraction(name, value if isinstance(value, str) else _written(value))
    except InvalidArgumentError:
        raise
    except (ValueError, ZeroDivisionError, OverflowError):
        shown = str(value)[:60]
        raise InvalidArgumentError(f"{name} must be a real number, got {shown!r}") from None


def _written(value: Any) -> str:
    """Shortest decimal text of a number: numpy's own for floats of other widths than Python's."""
    text = str(value)
    if isinstance(value, Decimal) or (hasattr(value, "dtype") and type(value)(text) == value):
        return text
    return repr(float(value))


def _warn_of_rounding(name: str, value: Any, found: Fraction) -> None:
    """Warn where a float is not, but nearly is, a short fraction: sums such as 0.1 + 0.2.

    Nearly is within 16 units of the float's precision. Of numbers drawn at random one in 10⁸ is
    so near to one of the 3·10⁵ fractions per unit with denominators to 1,000.
    """
    if not isinstance(value, numbers.Real) or isinstance(value, numbers.Rational):
        return
    unit = Fraction(10) ** math.floor(math.log10(found.numerator) - math.log10(found.denominator))
    meant = (found / unit).limit_denominator(1000) * unit
    kind = value.dtype if isinstance(value, np.floating) else np.float64
    precision = max(np.finfo(np.float64).eps, np.finfo(kind).eps)  # pyright: ignore
    if 0 < abs(meant - found) <= 16 * Fraction(float(precision)) * found:
        warnings.warn(
            f"{name} = {_written(value)} is a rounded float and is taken as it is written, not as "
            f'{meant}; if that is meant, write {name}="{meant}" or Fraction({meant.numerator}, '
            f"{meant.denominator})",
            PrivacyWarning,
            stacklevel=3,
        )


def _fraction(name: str, text: str) -> Fraction:
    """The fraction a text stands for; refused unread when it could be astronomically long."""
    if len(text) > LONGEST_TEXT:
        raise InvalidArgumentError(
            f"{name} must be a number of at most {LONGEST_TEXT} characters, got {len(text)}"
        )
    exponent = EXPONENT.search(text)
    if exponent is not None and abs(int(exponent[1])) > LARGEST_EXPONENT:
        raise InvalidArgumentError(
            f"{name} must have an exponent between -{LARGEST_EXPONENT} and {LARGEST_EXPONENT}, "
            f"got {text[:60]!r}"
        )
    return Fraction(text)


def stated(text: Any) -> Fraction:
    """A fraction of a file, as files write it: a short text is no endless number."""
    plain = isinstance(text, str) and len(text) <= 1000 and re.fullmatch(r"\d+(/\d+)?", text)
    if not plain or str(Fraction(text)) != text:
        raise InvalidArgumentError("epsilon and delta must be fractions in lowest terms, as text")
    return Fraction(text)


@dataclass(frozen=True, slots=True)
class PrivacyBudget:
    """An (ε, δ) pair, 1e-300 ≤ ε ≤ 10⁶ and 1e-300 ≤ δ ≤ 1/2, kept as exact fractions.

    Parameters
    ----------
    epsilon, delta : number or text
        Numbers, or text such as ``"1/3"``. A float, also a float32, is read by its shortest
        decimal text. Where that is a short fraction but for rounding, as of ``0.1 + 0.2`` or
        ``1 / 3``, a :class:`~dp_cmdp.errors.PrivacyWarning` says what is taken and what to write.

    Raises
    ------
    InvalidArgumentError
        If one of them is not a number, or outside its range.

    Notes
    -----
    **Paper.** ``def:dp``, ``lem:comp``. δ = 0 is refused: no mechanism with bounded noise attains
    it, so no answer could be feasible with certainty.
    **Privacy.** *Public*.

    Examples
    --------
    >>> from dp_cmdp import PrivacyBudget
    >>> PrivacyBudget(0.1, "1/1000")
    PrivacyBudget(epsilon=Fraction(1, 10), delta=Fraction(1, 1000))
    >>> PrivacyBudget("1/3", "1/1000").epsilon * 3
    Fraction(1, 1)
    """

    epsilon: Fraction
    delta: Fraction

    def __init__(self, epsilon: Number, delta: Number) -> None:
        eps, dlt = exact("epsilon", epsilon), exact("delta", delta)
        if eps <= 0:
            raise InvalidArgumentError(f"epsilon must be positive, got {short(eps)}")
        if eps > LARGEST_EPSILON:
            raise InvalidArgumentError(
                f"epsilon must be at most {LARGEST_EPSILON}, got {short(eps)}: it protects nobody"
            )
        if not 0 < dlt <= HALF:
            raise InvalidArgumentError(f"delta must lie in (0, 1/2], got {short(dlt)}")
        for name, given, value in (("epsilon", epsilon, eps), ("delta", delta, dlt)):
            if value < SMALLEST:
                raise InvalidArgumentError(f"{name} must be at least 1e-300, got less")
            _warn_of_rounding(name, given, value)
        if eps > WEAK_EPSILON or dlt > WEAK_DELTA:
            warnings.warn(
                f"(epsilon, delta) = ({float(eps):g}, {float(dlt):g}) promises little: epsilon "
                f"above {WEAK_EPSILON} or delta above {float(WEAK_DELTA):g} suits experiments, "
                "not real people's data",
                PrivacyWarning,
                stacklevel=2,
            )
        object.__setattr__(self, "epsilon", eps)
        object.__setattr__(self, "delta", dlt)

    def __add__(self, other: PrivacyBudget) -> PrivacyBudget:
        return amount(self.epsilon + other.epsilon, self.delta + other.delta)

    def __sub__(self, other: PrivacyBudget) -> PrivacyBudget:
        return amount(self.epsilon - other.epsilon, self.delta - other.delta)

    def __mul__(self, factor: Number) -> PrivacyBudget:
        share = exact("factor", factor)
        return amount(self.epsilon * share, self.delta * share)

    __rmul__ = __mul__

    def __truediv__(self, divisor: Number) -> PrivacyBudget:
        number = exact("divisor", divisor)
        if number == 0:
            raise InvalidArgumentError("divisor must not be 0")
        return self * (1 / number)

    def fits(self, other: PrivacyBudget) -> bool:
        """Whether this amount is at most `other`, in ε and in δ.

        Parameters
        ----------
        other : PrivacyBudget
            The amount to stay within.

        Returns
        -------
        bool
            True where neither ε nor δ exceeds that of `other`.
        """
        return self.epsilon <= other.epsilon and self.delta <= other.delta

    def split(self, shares: Iterable[Number]) -> tuple[PrivacyBudget, ...]:
        """One part per share; shares are non-negative and sum to at most 1, exactly.

        Parameters
        ----------
        shares : iterable of number or text
            Fractions of this budget, exact.

        Returns
        -------
        tuple of PrivacyBudget
            One part per share, in order.

        Raises
        ------
        InvalidArgumentError
            If a share is negative, or they sum to more than 1.
        """
        parts = [exact("a share", share) for share in shares]
        if any(part < 0 for part in parts) or sum(parts) > 1:
            raise InvalidArgumentError(
                "shares must be non-negative and sum to at most 1, exactly: write fractions as "
                f'texts such as "1/3"; got {", ".join(map(short, parts))[:60]}'
            )
        return tuple(self * part for part in parts)

    def __str__(self) -> str:
        return f"(ε = {_short(self.epsilon)}, δ = {_short(self.delta)})"

    def rounded_down(self) -> str:
        """Text of an amount that remains: never overstated.

        Returns
        -------
        str
            Decimals of ε and δ, rounded towards 0.
        """
        return f"(ε = {shown_down(self.epsilon)}, δ = {shown_down(self.delta)})"

    def _repr_html_(self) -> str:
        shown = [("ε", shown_up(self.epsilon)), ("δ", shown_up(self.delta))]
        return values_table("PrivacyBudget", shown)


def amount(epsilon: Fraction, delta: Fraction) -> PrivacyBudget:
    """What was spent, is left or is a share: it may be zero, and is not validated."""
    made = PrivacyBudget.__new__(PrivacyBudget)
    object.__setattr__(made, "epsilon", Fraction(epsilon))
    object.__setattr__(made, "delta", Fraction(delta))
    return made


NOTHING = amount(Fraction(0), Fraction(0))


@contextmanager
def weak_budgets() -> Generator[None, None, None]:
    """Budgets that promise little are part of the question: no :class:`PrivacyWarning`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        yield


def short(value: Fraction) -> str:
    """Text of a number of any size, for messages."""
    try:
        return f"{float(value):g}"
    except OverflowError:
        return "a number beyond 1e308" if value > 0 else "a number below -1e308"


def shown_up(value: Fraction) -> str:
    """Decimal text of a non-negative fraction, rounded up so that a loss is never understated."""
    return _shown(value, math.ceil)


def _short(value: Fraction) -> str:
    """A decimal where that is exact, else the fraction, else a decimal rounded up."""
    text = shown_up(value)
    return text if Fraction(text) == value or len(str(value)) > len("1/10000000") else str(value)


def shown_down(value: Fraction) -> str:
    """Decimal text of a non-negative fraction, rounded down: what remains is never overstated."""
    return _shown(value, math.floor)


def _shown(value: Fraction, whole: Callable[[Fraction], int], digits: int = 6) -> str:
    if value == 0:
        return "0"
    exponent = math.floor(math.log10(value.numerator) - math.log10(value.denominator))
    exponent += value >= Fraction(10) ** (exponent + 1)  # the logarithms may round down
    unit = Fraction(10) ** (exponent - digits + 1)
    return f"{float(whole(value / unit) * unit):.{digits}g}"
