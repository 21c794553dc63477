"""What the explorer says, in sentences."""

from __future__ import annotations

import math
from typing import Any

import dp_cmdp as dp

#: What is said of a failure that is not one of ours: nothing of its text, which may quote data.
UNEXPECTED = "something failed inside; nothing of it is shown, because its text could quote data"
EXACT = "exact noise from the operating system"


def refusal(error: BaseException) -> str:
    """Our own errors never quote private values; of all others only the kind is named."""
    if isinstance(error, dp.errors.Error):
        return str(error)
    return f"{UNEXPECTED} ({type(error).__name__})"


def percent(share: float) -> str:
    """A share as text: 0.42 → 42 %."""
    return f"{100 * share:.0f} %"


def loss_words(loss: float | None) -> str:
    """A loss in percent as text; one that is not known is a dash."""
    return "–" if loss is None else f"{loss:.3g} %"


def strategy_words(asked: str, taken: str) -> str:
    """The strategy that was asked for, and what it measured; its numbers are in the files."""
    kind = taken.partition("(")[0]
    return asked if kind == asked else f"{asked}: {kind}"


def certificate_words(answer: Any) -> list[str]:
    """What is proved of a policy from a release, one sentence per constraint."""
    sentences = []
    summed = "discounted cost" if answer.policy.horizon is None else "cost per episode"
    for name, cost, limit, slack, _ in answer.to_frame().itertuples():
        if cost > limit and slack >= 0.0:
            sentences.append(
                f"{name}: for everything the release allows, its {summed} stays below its "
                f"limit (limit − cost ≥ {slack:.3g})."
            )
        else:
            sentences.append(
                f"{name}: for everything the release allows, its {summed} is at most "
                f"{cost:.5g}; the limit is at least {limit:.5g}."
            )
    sentences.append(
        "Verified in exact arithmetic, so it holds for the true data with certainty."
        if answer.certificate
        else "NOT PROVED: this policy must not be used."
    )
    return sentences


def certified_cells(answer: Any) -> tuple[str, str]:
    """Costs and limits for a table.

    With linear queries a cost and a limit may be proved to fit each other although their own
    bounds, taken one by one, do not show it; then the bounds are not shown.
    """
    costs, limits = [], []
    for _, cost, limit, slack, _ in answer.to_frame().itertuples():
        jointly = cost > limit and slack >= 0.0
        costs.append("≤ limit" if jointly else f"{cost:.4g}")
        limits.append("by a query" if jointly else f"{limit:.4g}")
    return ", ".join(costs), ", ".join(limits)


def saturation_words(share: float) -> str:
    """How much of the release says no more than the public bounds."""
    if share <= 0.0:
        return "Saturation: the release says something of every number."
    if share >= 0.995:
        return "Saturation: of no number does the release say more than its public bounds."
    return f"Saturation: of {percent(share)} of the numbers the release says nothing new."


def guarantee_words(release: dp.Release) -> str:
    """What is promised to whom, and by which noise."""
    if not release.simulated:
        return f"{release.guarantee}; {EXACT}."
    return f"{release.guarantee}: it is drawn from a seed, not to be used for real data."


def limit_words(epsilon: float, found: float | None) -> str:
    """What is known about the least that any private mechanism with certain answers loses."""
    if found is None:
        return "No limit could be computed here."
    if found < 0.005:
        return (
            f"Limit at ε = {epsilon:g}: none was found; whether some private mechanism with "
            "certain answers loses nothing here is open."
        )
    return (
        f"Limit at ε = {epsilon:g}: no private mechanism whose answers are certain loses less "
        f"than {found:.3g} % on average."
    )


def advice_words(row: Any, half: float) -> str:
    """The adviser's sentence, from public data alone: a budget, and the ε that wins back half."""
    if row.robust_loss <= 1e-9:
        return "The robust answer is already as good as the best one: release nothing."
    low, high = max(row.recovered_low, -9.99), min(row.recovered_high, 1.0)
    sentence = (
        f"Before any data is read: at ε = {row.epsilon:g}, δ = {row.delta:g} a release by the "
        f"strategy {row.strategy.name.partition('(')[0]} should win back {percent(row.recovered)} "
        f"[{percent(low)}, {percent(high)}] of the {100 * row.robust_loss:.3g} % that the robust "
        "answer loses"
    )
    if math.isinf(half):
        return f"{sentence}. In these trials no ε up to 100 wins back half of it."
    return f"{sentence}. Half of it takes ε ≈ {half:.2g}."
