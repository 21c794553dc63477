"""Measured totals seen from outside: how far records move them, and what they can be.

Entry k moves by at most ⌈Δ_k/g_k⌉ cells of its grid, so a record moves total i by at most
Σ|V_ik|⌈Δ_k/g_k⌉ integers, summed over its entries, and all totals by the sum of that. Total i lies
between the sums of V_ik⌊θ_k/g_k⌋ at the ends of the public bounds, give or take its noise.
"""

from __future__ import annotations

from fractions import Fraction
from math import floor, isfinite
from typing import TYPE_CHECKING, Any

from dp_cmdp.data.totals import Totals
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.noise.certificate import NoiseCertificate
from dp_cmdp.program.polytope_rows import check_consistent
from dp_cmdp.release.plan import Plan
from dp_cmdp.release.totals import entry_grid, record_moves
from dp_cmdp.verification.parts import TOTALS, envelope_of, refuse_unless

if TYPE_CHECKING:
    from dp_cmdp.data.release import Release

#: What a plan may say, and what of a plan that was tried.
PLAN_FACTS = {"share", "caution", "lift", "trials"}
TRIAL_FACTS = {"plan", "proposed", "losses"}
#: Characters of a plan in words, at most.
LONGEST_PLAN = 100


def totals_moved(release: Release, proof: NoiseCertificate) -> str:
    """What the worst record moves, which must be what the noise is certified for."""
    totals = _totals(release)
    largest, whole = record_moves(envelope_of(release), totals.counts, totals.grid)
    refuse_unless(
        largest == proof.steps and whole == proof.steps * proof.entries,
        f"totals: a record moves {largest} integers in one total and {whole} in all, certified "
        f"are {proof.steps} and {proof.steps * proof.entries}",
    )
    return f"totals: {whole} of {proof.steps * proof.entries}"


def check_totals_drawn(release: Release, proof: NoiseCertificate) -> None:
    """Raise unless the totals may be what such noise makes of some database of the envelope."""
    totals, envelope = _totals(release), envelope_of(release)
    refuse_unless(totals.support == proof.support, "totals: their support is not their noise's")
    refuse_unless(
        bool((totals.grid == entry_grid(envelope)).all()), "totals: their grid is not the entries'"
    )
    cells = [
        (floor(Fraction(low) / Fraction(step)), floor(Fraction(high) / Fraction(step)))
        for low, high, step in zip(
            envelope.lower.tolist(), envelope.upper.tolist(), totals.grid.tolist(), strict=True
        )
    ]
    V = totals.counts
    for i, index in enumerate(totals.index.tolist()):
        span = slice(V.indptr[i], V.indptr[i + 1])
        ends = [
            (int(count) * cells[entry][0], int(count) * cells[entry][1])
            for entry, count in zip(V.indices[span].tolist(), V.data[span].tolist(), strict=True)
        ]
        refuse_unless(
            sum(map(min, ends)) - totals.support <= index <= sum(map(max, ends)) + totals.support,
            f"total {i}: no database of the envelope gives it",
        )
    check_consistent(release.polytope)


def check_planned(release: Release) -> None:
    """Raise unless the looks spend the shares of the budget that the plan says."""
    if release.plan is None:
        return
    tried = release.plan.get("trials", [])
    refuse_unless(
        set(release.plan) <= PLAN_FACTS and isinstance(tried, list) and all(map(_is_score, tried)),
        "its plan says what no plan has",
    )
    share = Plan.from_facts(release.plan).share
    spent = {part.block: (part.epsilon, part.delta) for part in release.noise}
    entries, totals = (spent.get(name, (Fraction(0),) * 2) for name in ("database", TOTALS))
    refuse_unless(
        0 <= share <= 1
        and (share > 0) == ("database" in spent)
        and (
            TOTALS not in spent
            or all(a * (1 - share) == b * share for a, b in zip(entries, totals, strict=True))
        ),
        "its looks do not spend the shares that its plan says",
    )


def _is_score(said: Any) -> bool:
    """Whether this is how a plan may have done in its trials: a name and losses, nothing else."""
    if not isinstance(said, dict) or set(said) != TRIAL_FACTS:
        return False
    name, losses = said["plan"], said["losses"]
    numbers = [0.0 if said["proposed"] is None else said["proposed"]]
    numbers += losses if isinstance(losses, list) else [None]
    return (
        isinstance(name, str)
        and len(name) <= LONGEST_PLAN
        and all(type(number) in (int, float) and isfinite(number) for number in numbers)
    )


def _totals(release: Release) -> Totals:
    if release.totals is None:
        raise InvalidArgumentError("it has no totals")
    return release.totals
