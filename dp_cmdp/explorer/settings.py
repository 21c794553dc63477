"""What every tab of the explorer asks for: budget, strategy, and the seed of simulated noise."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any, TypeVar
from urllib.parse import urlencode

import dp_cmdp as dp
from dp_cmdp.errors import InvalidArgumentError

#: Longest text of one parameter in an address: a map of 64 × 64 cells fits.
LONGEST = 8192
#: Factors of a layout's radii and limits that the page offers.
SMALLEST_FACTOR, LARGEST_FACTOR = 0.01, 100.0
LARGEST_SEED = 10**9
STRATEGIES = ("auto", "entries", "queries", "worst row")
#: Between two stops of a slider, in powers of its base.
STOP = 0.125

D = TypeVar("D", bound="Settings")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Budget, strategy and noise of a release; all of it is public.

    `epsilon` and `delta` are texts of exact numbers, such as "1/3"; `noise` is the seed of the
    simulated noise, so that the same design shows the same release.
    """

    epsilon: str = "2"
    delta: str = "1/1000"
    strategy: str = "auto"
    noise: int = 0

    def budget(self) -> dp.PrivacyBudget:
        """The budget, or a refusal that says what is wrong with it."""
        return dp.PrivacyBudget(self.epsilon, self.delta)

    def check(self) -> None:
        """Raise unless everything is usable."""
        self.budget()
        one_of("strategy", self.strategy, STRATEGIES)
        whole("noise", self.noise, high=LARGEST_SEED)

    def replace(self: D, **changes: Any) -> D:
        """The same with some parts changed."""
        return replace(self, **changes)

    def query(self) -> dict[str, str]:
        """What the address says: every part that is not the default, as text."""
        return {
            field.name: str(getattr(self, field.name))
            for field in fields(self)
            if getattr(self, field.name) != field.default
        }


def read_settings(parts: Mapping[str, Any]) -> dict[str, Any]:
    """What an address says about the settings; other parts are left."""
    read: dict[str, Any] = {
        name: short_text(name, parts[name])
        for name in ("epsilon", "delta", "strategy")
        if name in parts
    }
    if "noise" in parts:
        read["noise"] = whole("noise", parts["noise"], high=LARGEST_SEED)
    return read


def address(tab: str, parts: Mapping[str, str]) -> str:
    """The address of a tab in a given state, as seen from the page."""
    return "?" + urlencode({"tab": tab, **parts}, safe="/?.:,")


def slider_place(text: str, *, base: float) -> float:
    """The stop of a slider over powers of `base` that is next to a number."""
    try:
        return STOP * round(math.log(float(Fraction(text)), base) / STOP)
    except (ValueError, ZeroDivisionError, OverflowError):
        return 0.0


def slider_text(place: float, *, base: float) -> str:
    """The number at a stop of a slider."""
    return f"{base**place:.3g}"


def number(name: str, given: Any, *, low: float, high: float) -> float:
    """A number of an address or a field, or a refusal by name."""
    try:
        value = float(given)
    except (TypeError, ValueError):
        value = math.nan
    if not low <= value <= high:
        raise InvalidArgumentError(
            f"{name} must be a number from {low:g} to {high:g}, got {str(given)[:40]!r}"
        )
    return value


def whole(name: str, given: Any, *, low: int = 0, high: int) -> int:
    """A whole number of an address or a field, or a refusal by name."""
    try:
        value = int(given)
    except (TypeError, ValueError, OverflowError):
        value = low - 1
    if not low <= value <= high:
        raise InvalidArgumentError(
            f"{name} must be a whole number from {low} to {high}, got {str(given)[:40]!r}"
        )
    return value


def one_of(name: str, given: str, known: tuple[str, ...]) -> str:
    """One of the known texts, or a refusal by name."""
    if given not in known:
        raise InvalidArgumentError(
            f"{name} must be one of {', '.join(known)}; got {str(given)[:40]!r}"
        )
    return given


def short_text(name: str, text: Any) -> str:
    """A text that is not too long for an address."""
    if not isinstance(text, str) or len(text) > LONGEST:
        raise InvalidArgumentError(f"{name} must be a text of at most {LONGEST} characters")
    return text
