"""What the explorer says, in sentences."""

from __future__ import annotations

from collections.abc import Sequence

from dp_cmdp.advice.report import Advice
from dp_cmdp.cmdp.synthesis import SafePolicy
from dp_cmdp.data.release import Release
from dp_cmdp.errors import DPCMDPError

#: What is said of a failure that is not one of ours: nothing of its text, which may quote data.
UNEXPECTED = "something failed inside; nothing of it is shown, because its text could quote data"


def refusal(error: BaseException) -> str:
    """Our own errors never quote private values; of all others only the kind is named."""
    if isinstance(error, DPCMDPError):
        return str(error)
    return f"{UNEXPECTED} ({type(error).__name__})"


def percent(share: float) -> str:
    """A share as text: 0.42 → 42 %."""
    return f"{100 * share:.0f} %"


def certificate_words(safe: SafePolicy, names: Sequence[str], *, release: bool) -> list[str]:
    """What the certificate of a policy proves, one sentence per constraint."""
    proof = safe.certificate
    whom = "everything the release allows" if release else "every database within the public bounds"
    told = []
    for i, name in enumerate(names):
        cost, limit = float(proof.worst_case_cost[i]), float(proof.tolerance[i])
        if proof.joint is not None and cost > limit:
            told.append(
                f"{name}: for {whom}, its discounted cost stays below its tolerance "
                f"(cost − tolerance ≤ {float(proof.joint[i]):.3g})."
            )
        else:
            told.append(
                f"{name}: for {whom}, its discounted cost is at most {cost:.5g}; "
                f"at least {limit:.5g} is tolerated."
            )
    told.append(
        "Verified in exact arithmetic, so it holds for the true data with certainty."
        if proof.verified
        else "NOT PROVED: this policy must not be used."
    )
    return told


def certified_cells(safe: SafePolicy) -> tuple[str, str]:
    """Costs and tolerances for a table.

    With totals a cost and a tolerance may be proved to fit each other although their own bounds,
    taken one by one, do not show it; then the bounds are not shown.
    """
    proof = safe.certificate
    costs, limits = [], []
    for cost, limit in zip(proof.worst_case_cost, proof.tolerance, strict=True):
        jointly = proof.joint is not None and cost > limit
        costs.append("≤ tolerated" if jointly else f"{cost:.4g}")
        limits.append("by a total" if jointly else f"{limit:.4g}")
    return ", ".join(costs), ", ".join(limits)


def saturation_words(share: float, what: str = "reach the public worst case") -> str:
    """How much of the release says nothing: the share of intervals that do `what`."""
    if share <= 0.0:
        return f"Saturation: no intervals {what}."
    if share >= 0.995:
        return f"Saturation: all intervals {what}, so they say nothing new."
    return f"Saturation: {percent(share)} of the intervals {what}, where the release is silent."


def guarantee_words(release: Release) -> str:
    """What is promised to whom, and by which noise."""
    noise = (
        "exact noise from the operating system"
        if release.secure
        else "simulated noise from a seed, not to be used for real data"
    )
    return f"{release.guarantee}; {noise}."


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


def advice_words(advice: Advice) -> str:
    """The adviser's sentence, from public data alone."""
    if advice.nothing_to_win:
        return "The robust answer is already as good as the best one: release nothing."
    row, limit = advice.rows[0], advice.thresholds[0]
    low, high = max(row.recovered_low, -9.99), row.recovered_high
    told = (
        f"Before any data is read: at ε = {row.epsilon:g}, δ = {row.delta:g} a database release "
        f"should win back {percent(row.recovered)} [{percent(low)}, {percent(high)}] of what the "
        "robust answer loses"
    )
    if limit.worthwhile is False:
        return f"{told}. No ε makes it worth its budget ({percent(advice.worth)} asked for)."
    if limit.worthwhile is None or limit.high is None:
        return f"{told}. Whether some ε makes it worth its budget is undecided by these trials."
    at = limit.high if limit.epsilon is None else limit.epsilon
    return (
        f"{told}. It is worth its budget ({percent(advice.worth)} won back) from ε ≈ {at:.2g} on."
    )
