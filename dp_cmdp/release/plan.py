"""How a budget is divided over looks at entries and at totals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dp_cmdp import _check
from dp_cmdp._door import door
from dp_cmdp.accounting.budget import Number, PrivacyBudget, exact
from dp_cmdp.errors import InvalidArgumentError


@dataclass(frozen=True, slots=True)
class Plan:
    """Shares of the budget, and how totals are proposed.

    Parameters
    ----------
    share : number in [0, 1]
        ρ: part of ε and δ for a first look at the entries; the rest measures totals. 1: a database
        release, 0: totals alone.
    caution : float
        m: how many supports of the noise the proposed answer can pay, see
        :mod:`dp_cmdp.release.proposal`.
    lift : float
        κ: the proposal is repeated for totals that lie so many standard deviations higher.

    Notes
    -----
    **Privacy.** *Public*.

    Examples
    --------
    >>> from dp_cmdp import Plan, PrivacyBudget
    >>> plan = Plan("1/4")  # a quarter of the budget for the entries, the rest for totals
    >>> entries, totals = plan.budgets(PrivacyBudget(2, "1/1000"))
    >>> entries.epsilon, totals.epsilon
    (Fraction(1, 2), Fraction(3, 2))
    """

    share: Fraction
    caution: float
    lift: float

    @door
    def __init__(self, share: Number = 1, *, caution: float = 1.25, lift: float = 0.5) -> None:
        part = exact("share", share)
        if not 0 <= part <= 1:
            raise InvalidArgumentError("share must lie in [0, 1]: it is the part of the budget")
        object.__setattr__(self, "share", part)
        object.__setattr__(self, "caution", _check.real("caution", caution, low=0.0, high=100.0))
        object.__setattr__(self, "lift", _check.real("lift", lift, low=0.0, high=100.0))

    @property
    def measures_totals(self) -> bool:
        return self.share < 1

    @door
    def budgets(self, budget: PrivacyBudget) -> tuple[PrivacyBudget | None, PrivacyBudget | None]:
        """What the look at the entries and the look at the totals spend; None: no such look.

        Examples
        --------
        >>> from dp_cmdp import Plan, PrivacyBudget
        >>> Plan(1).budgets(PrivacyBudget(1, "1/1000"))[1] is None  # a database release
        True
        """
        entries, totals = (
            PrivacyBudget(part * budget.epsilon, part * budget.delta) if part else None
            for part in (self.share, 1 - self.share)
        )
        return entries, totals

    def facts(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {"share": str(self.share), "caution": self.caution, "lift": self.lift}

    @classmethod
    @door
    def from_facts(cls, said: Mapping[str, Any]) -> Plan:
        """The plan that a release says it was made by."""
        if not {"share", "caution", "lift"} <= set(said):
            raise InvalidArgumentError("said must hold share, caution and lift")
        return cls(said["share"], caution=said["caution"], lift=said["lift"])

    def __str__(self) -> str:
        if not self.measures_totals:
            return "database"
        return f"totals(share={float(self.share):g}, caution={self.caution:g}, lift={self.lift:g})"


#: The whole budget for one look at the entries.
DATABASE = Plan(1)
#: What a plan is chosen from.
MENU = (
    DATABASE,
    Plan(0, caution=1.25, lift=0.5),
    Plan("0.35", caution=1.25, lift=0.5),
    Plan("0.35", caution=1.5, lift=1.0),
    Plan("0.65", caution=1.5, lift=1.0),
)
#: What it is chosen from where solves are long: two sizes of a look at the entries, and none.
SHORT_MENU = (DATABASE, MENU[1], MENU[2], MENU[4])


def check_menu(menu: Sequence[Plan]) -> tuple[Plan, ...]:
    """The plans of a menu, each once; raise unless there are some."""
    given = _check.items("menu", menu)
    for plan in given:
        _check.instance("an item of menu", plan, Plan)
    plans = tuple(dict.fromkeys(given))
    if not plans:
        raise InvalidArgumentError("menu must not be empty: give at least one Plan")
    return plans
