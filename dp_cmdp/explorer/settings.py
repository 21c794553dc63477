"""What every tab of the explorer asks for: budget, plan, and the seed of the simulated noise."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any, TypeVar
from urllib.parse import urlencode

from dp_cmdp import _check
from dp_cmdp.accounting.budget import PrivacyBudget, weak_budgets
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.release.planner import PLANS

#: Longest text of one parameter in an address: a map of 64 × 64 cells fits.
LONGEST = 8192
#: Factors of a layout's radii and tolerances that the page offers.
SMALLEST_FACTOR, LARGEST_FACTOR = 0.01, 100.0

#: Between two stops of a slider, in powers of its base.
STOP = 0.125

D = TypeVar("D", bound="Settings")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Budget, plan and noise of a release.

    Parameters
    ----------
    epsilon, delta : str
        Texts of exact numbers, such as "1/3".
    plan : {"database", "totals", "auto"}
    noise : int
        Seed of the simulated noise: the same design shows the same release.

    Notes
    -----
    **Privacy.** *Public*.
    """

    epsilon: str = "2"
    delta: str = "1/1000"
    plan: str = "database"
    noise: int = 0

    def budget(self) -> PrivacyBudget:
        """The budget, or a refusal that says what is wrong with it."""
        with weak_budgets():
            return PrivacyBudget(self.epsilon, self.delta)

    def check(self) -> None:
        """Raise unless budget, plan and seed are usable."""
        self.budget()
        _check.one_of("plan", self.plan, PLANS)
        _check.integer("noise", self.noise, low=0, high=10**9)

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
        for name in ("epsilon", "delta", "plan")
        if name in parts
    }
    if "noise" in parts:
        read["noise"] = whole("noise", parts["noise"], high=10**9)
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


def next_stops(text: str, *, base: float) -> tuple[str, str]:
    """The numbers at the stops of a slider left and right of a number."""
    here = slider_place(text, base=base)
    return slider_text(here - STOP, base=base), slider_text(here + STOP, base=base)


def number(name: str, text: str, *, low: float, high: float) -> float:
    """A number of an address or a field."""
    try:
        value = float(text)
    except (TypeError, ValueError):
        raise InvalidArgumentError(
            f"{name} must be a number from {low:g} to {high:g}, got {str(text)[:40]!r}"
        ) from None
    return _check.real(name, value, low=low, high=high)


def whole(name: str, text: str, *, low: int = 0, high: int) -> int:
    """A whole number of an address or a field."""
    try:
        value = int(text)
    except (TypeError, ValueError):
        raise InvalidArgumentError(
            f"{name} must be a whole number from {low} to {high}, got {str(text)[:40]!r}"
        ) from None
    return _check.integer(name, value, low=low, high=high)


def short_text(name: str, text: Any) -> str:
    """A text that is not too long for an address."""
    if not isinstance(text, str) or len(text) > LONGEST:
        raise InvalidArgumentError(f"{name} must be a text of at most {LONGEST} characters")
    return text
