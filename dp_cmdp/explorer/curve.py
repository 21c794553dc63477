"""The cost-of-privacy curve of an invented database: points, the limit, and the chart.

Points are computed one by one, in another process, so that a page can show them as they come.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from dp_cmdp.accounting.budget import PrivacyBudget, weak_budgets
from dp_cmdp.advice.adviser import advise
from dp_cmdp.cmdp.parametric import ParametricCMDP
from dp_cmdp.errors import InvalidArgumentError, SolverError
from dp_cmdp.explorer.words import advice_words
from dp_cmdp.metrics import mean_interval
from dp_cmdp.program.parametric import ParametricLP
from dp_cmdp.release.plan import Plan
from dp_cmdp.theory.certainty_limit import certainty_limit, windows

#: ε of the curve.
EPSILONS = ("1/4", "1/2", "1", "2", "4", "8")
DRAWS = 6
#: Entries from which the limit is looked for at one distance only, and advice rests on few trials.
LARGE = 150
#: Priority of processes that compute what may arrive later.
PATIENT = 15
COLOURS = {"private": "#00734d", "robust": "#111827", "limit": "#c2410c", "now": "#db2777"}
#: What the lines are called, in the page and in its files.
MEAN, ROBUST, LIMIT, NOW = (
    "mean of simulated releases",
    "robust (no data)",
    "limit: none loses less",
    "this release",
)


def politely(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function in a process that leaves the processor to the page, which must not wait."""
    if os.getpriority(os.PRIO_PROCESS, 0) < PATIENT:
        os.setpriority(os.PRIO_PROCESS, 0, PATIENT)
    return function(*arguments)


class Invented(Protocol):
    """A design whose truth is invented: what can be judged against it."""

    def budget(self) -> PrivacyBudget: ...

    def anywhere(self) -> Invented:
        """The same at one ε for all: what the curve depends on."""
        ...

    def public(self) -> Any:
        """The program or model."""
        ...

    def trial(self, budget: PrivacyBudget, plan: str | Plan, seed: int) -> float:
        """Loss in percent of one simulated release."""
        ...

    def robust_loss(self) -> float: ...

    def limit(self, find: Callable[..., Any], **how: Any) -> Any:
        """`find(program, database, …)` of the invented database."""
        ...


@dataclass(frozen=True, slots=True)
class Point:
    """Mean loss in percent at one ε, with a 95 % confidence interval."""

    epsilon: float
    loss: float
    low: float
    high: float


@dataclass(slots=True)
class Curve:
    """What is known so far of the cost of privacy of an invented database, in percent.

    Attributes
    ----------
    points : dict
        By the ε of :data:`EPSILONS`.
    robust : float or None
        Loss of the answer without data.
    limits : dict
        ε → what no private mechanism with certain answers can beat.
    now : (float, float) or None
        ε and loss of the release that is shown.
    """

    points: dict[str, Point] = field(default_factory=dict)
    robust: float | None = None
    limits: dict[float, float] = field(default_factory=dict)
    now: tuple[float, float] | None = None

    def ordered(self) -> list[Point]:
        """The points from left to right."""
        return sorted(self.points.values(), key=lambda point: point.epsilon)


def curve_point(design: Invented, epsilon: str, plan: Mapping[str, Any] | None) -> Point:
    """The loss at one ε, over a few simulated releases; `plan` as :meth:`Plan.facts` gives it.

    Notes
    -----
    **Privacy.** *Curator only*, of a database that was invented in the explorer.
    """
    chosen = Plan(1) if plan is None else Plan.from_facts(plan)
    with weak_budgets():
        budget = PrivacyBudget(epsilon, design.budget().delta)
        losses = np.array([design.trial(budget, chosen, 1000 + draw) for draw in range(DRAWS)])
    found = mean_interval(losses)
    return Point(float(budget.epsilon), found.mean, max(found.low, 0.0), found.high)


def limit_percent(design: Invented, epsilon: str | None = None) -> float | None:
    """No private mechanism with certain answers loses less on average, in percent; None: unknown.

    Notes
    -----
    **Privacy.** *Curator only*, of a database that was invented in the explorer.
    """
    envelope = design.public().envelope
    with weak_budgets():
        delta = design.budget().delta
        budget = PrivacyBudget(epsilon or design.budget().epsilon, delta)
        how: dict[str, Any] = {"neighbours": 4}
        if envelope.num_entries > LARGE:  # a bound at one distance is a bound
            how = {"neighbours": 2, "distances": windows(envelope, budget)[0][-1:]}
        try:
            found = design.limit(certainty_limit, budget=budget, **how)
        except (InvalidArgumentError, SolverError):  # a value that cannot be bounded
            return None
    if float(found.optimum) == 0.0:
        return None
    return float(found.suboptimality_percent)


def advice_sentence(design: Invented) -> str:
    """The adviser's sentence at the design's budget.

    Notes
    -----
    **Privacy.** *Public*: no database is read.
    """
    return _advice(design.public(), design.budget())


def public_advice(program: ParametricLP | ParametricCMDP, epsilon: str, delta: str) -> str:
    """The adviser's sentence for a program or model.

    Notes
    -----
    **Privacy.** *Public*: no database is read.
    """
    with weak_budgets():
        return _advice(program, PrivacyBudget(epsilon, delta))


def _advice(program: ParametricLP | ParametricCMDP, budget: PrivacyBudget) -> str:
    draws = 4 if program.envelope.num_entries > LARGE else 8
    return advice_words(
        advise(program, epsilons=[budget.epsilon], deltas=[budget.delta], draws=draws)
    )


def chart(curve: Curve) -> dict[str, Any]:
    """Options of the chart: the curve with its intervals, the robust answer, the limit, and now."""
    ordered, robust, now = curve.ordered(), curve.robust, curve.now
    series: list[dict[str, Any]] = [
        _line(MEAN, [(p.epsilon, p.loss) for p in ordered], "private"),
        _band("95 % interval", ordered),
    ]
    if robust is not None:
        ends = [as_number(EPSILONS[0]), as_number(EPSILONS[-1])]
        series.append(_line(ROBUST, [(x, robust) for x in ends], "robust", "dashed"))
    if curve.limits:
        below = sorted(curve.limits.items())
        series.append(_line(LIMIT, below, "limit", "dotted", "triangle"))
    if now is not None:
        series.append(_now(now))
    return {
        "animation": False,
        "grid": {"left": 60, "right": 24, "top": 84, "bottom": 44},
        "legend": {"top": 0, "data": [part["name"] for part in series if part["name"]]},
        "tooltip": {"trigger": "item"},
        "xAxis": {
            "type": "log",
            "logBase": 2,
            "min": 0.25,
            "max": 8,
            "name": "ε (smaller is more private)",
            "nameLocation": "middle",
            "nameGap": 26,
        },
        "yAxis": {
            "type": "value",
            "min": 0,
            "name": "cost of privacy, %",
            "nameLocation": "middle",
            "nameGap": 40,
        },
        "series": series,
    }


def as_number(text: str) -> float:
    """An ε of the curve as a float."""
    return float(Fraction(text))


def _line(
    name: str,
    data: Sequence[tuple[float, float]],
    colour: str,
    style: str = "solid",
    symbol: str = "circle",
) -> dict[str, Any]:
    return {
        "name": name,
        "type": "line",
        "data": [[x, _rounded(y)] for x, y in data],
        "symbol": "none" if style == "dashed" else symbol,
        "symbolSize": 8,
        "lineStyle": {"type": style, "width": 2, "color": COLOURS[colour]},
        "itemStyle": {"color": COLOURS[colour]},
    }


def _band(name: str, points: Sequence[Point]) -> dict[str, Any]:
    """Upright ends of the intervals, as lines that are broken between them."""
    data: list[Any] = []
    for point in points:
        data += [[point.epsilon, _rounded(point.low)], [point.epsilon, _rounded(point.high)]]
        data.append([point.epsilon, None])
    return {
        "name": name,
        "type": "line",
        "data": data,
        "symbol": "none",
        "lineStyle": {"width": 5, "color": COLOURS["private"], "opacity": 0.3},
        "itemStyle": {"color": COLOURS["private"], "opacity": 0.3},
    }


def _now(now: tuple[float, float]) -> dict[str, Any]:
    return {
        "name": NOW,
        "type": "scatter",
        "data": [[min(max(now[0], 0.25), 8.0), _rounded(now[1])]],
        "symbol": "diamond",
        "symbolSize": 16,
        "itemStyle": {"color": COLOURS["now"], "borderColor": "white", "borderWidth": 1},
    }


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")
