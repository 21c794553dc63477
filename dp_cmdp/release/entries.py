"""All entries of a database, published once with the whole budget: our mechanism, the default.

Adjacent databases differ in one record of at most m entries, so (θ_k/Δ_k)_k has ℓ1-sensitivity m
and ℓ∞-sensitivity 1 however many places of A, b and c read it. Published are intervals
[θ̃ − s, θ̃ + s] cut to the envelope, which contain the true entries with certainty.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dp_cmdp import _check
from dp_cmdp._door import door
from dp_cmdp.accounting.budget import PrivacyBudget
from dp_cmdp.accounting.ledger import PrivacyLedger
from dp_cmdp.data.database import Database
from dp_cmdp.data.envelope import Envelope
from dp_cmdp.data.release import Debit, Guarantee, Release
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.noise.plans import NoisePlan, Query, lattice_step, truncated_plan
from dp_cmdp.program.parametric import ParametricLP
from dp_cmdp.release.debit import check_call, debited
from dp_cmdp.release.paid import finished

#: Optimal noise of a smaller ε is within 1 % of truncated Laplace noise.
WORTH_A_TABLE = Fraction(1, 8)
#: Where e^ε/δ is larger, its program may be too badly scaled: ε = 10, δ = 1e-8 takes 40 s.
BADLY_SCALED = 1e11


@door
def release_database(
    database: Database,
    budget: PrivacyBudget,
    *,
    rng: np.random.Generator | None = None,
    calibration: str = "tight",
    close: str | Mapping[str, str] = "upper",
    ledger: PrivacyLedger | None = None,
) -> Release:
    """Publish intervals around all entries of a database, spending the budget once.

    Parameters
    ----------
    database : Database
    budget : PrivacyBudget
    rng : numpy.random.Generator, optional
        By default the noise is exact and comes from the operating system. A Generator asks for
        fast float noise instead: reproducible, for simulation, marked ``secure=False``.
    calibration : {"tight", "paper", "optimal"}
        Support of the noise, see :mod:`dp_cmdp.noise.laws`; ``optimal`` keeps one end of each
        interval as close to the value as privacy allows (records of one entry only).
    close : {"upper", "lower"} or mapping from group to one of them
        For ``optimal``: the end that matters, upper for coefficients, lower for right-hand sides.
    ledger : PrivacyLedger, optional
        Debited before any value is read; needs ``database.identity``.

    Returns
    -------
    Release

    Notes
    -----
    Per entry θ̃_k = θ_k + Δ_k Z_k with Z_k i.i.d. truncated Laplace, σ = m/ε; the interval is
    [θ̃_k − sΔ_k, θ̃_k + sΔ_k] ∩ [lo_k, hi_k].
    **Paper.** Ours; it replaces ``algo:solve``. **Privacy.** *Spends the budget*.

    Examples
    --------
    >>> from dp_cmdp import Database, Envelope, PrivacyBudget, release_database
    >>> database = Database([0.2, 0.5], Envelope(0, 1, radius=0.01, shape=2))
    >>> release = release_database(database, PrivacyBudget(1, "1/1000"))
    >>> release.polytope.contains([0.2, 0.5])  # the intervals hold the truth, with certainty
    True
    """
    check_call(database, rng=rng, calibration=calibration, ledger=ledger)
    envelope = database.envelope
    plan = plan_database(envelope, budget, calibration=calibration, close=close, rng=rng)
    debit = debited(ledger, database, budget, note="release_database")
    return drawn_entries(database, budget, plan=plan, rng=rng, ledger=debit)


def drawn_entries(
    database: Database,
    budget: PrivacyBudget,
    *,
    plan: NoisePlan,
    rng: np.random.Generator | None,
    ledger: Debit | None,
) -> Release:
    """The release itself, once it is paid for."""
    envelope, values = database.envelope, database.values

    def draw() -> Release:
        cut = plan.draw(values).clipped(envelope.lower, envelope.upper)
        spent = {"epsilon": budget.epsilon, "delta": budget.delta}
        return Release(
            estimate=np.clip(cut.estimate, envelope.lower, envelope.upper),
            draws=cut.estimate,
            lower=cut.lower,
            upper=cut.upper,
            guarantee=Guarantee(budget.epsilon, budget.delta, envelope.record_size),
            method="database",
            groups=envelope.groups,
            noise=(replace(cut.noise, block="database", **spent),),
            secure=rng is None,
            envelope=envelope,
            step=lattice_step(plan, envelope.num_entries),
            ledger=ledger,
        )

    return finished(draw)


@door
def plan_database(
    envelope: Envelope,
    budget: PrivacyBudget,
    *,
    calibration: str = "tight",
    close: str | Mapping[str, str] = "upper",
    rng: np.random.Generator | None = None,
) -> NoisePlan:
    """The noise of :func:`release_database`, from public data alone."""
    sides = _closest(envelope, close)
    return truncated_plan(
        Query.of_entries(envelope),
        epsilon=budget.epsilon,
        delta=budget.delta,
        calibration=calibration,
        num_entries=envelope.num_entries,
        high=close_ends(envelope, sides) if calibration == "optimal" else None,
        rng=rng,
    )


def close_ends(envelope: Envelope, close: str | Mapping[str, str]) -> NDArray[np.bool_]:
    """For optimal noise: which entries keep their upper end close (public)."""
    if envelope.record_size > 1:
        raise InvalidArgumentError(
            'calibration="optimal" is private only when records hold one entry each; this '
            f'envelope has records of {envelope.record_size}: use "tight"'
        )
    high = np.empty(envelope.num_entries, dtype=bool)
    for name, side in _closest(envelope, close).items():
        high[envelope.index(name)] = side == "upper"
    return high


@door
def harmful_sides(program: ParametricLP) -> dict[str, str]:
    """The end of each group's intervals that matters to a program, for ``close``.

    Coefficients tighten their rows from above; groups that only widen rows, such as tolerances and
    budgets, from below.

    Notes
    -----
    **Privacy.** *Public*.
    """
    pairs = program.uncertain_rows
    widening = np.zeros(program.envelope.num_entries, dtype=bool)
    widening[pairs.entry[pairs.signs() < 0]] = True
    widening[pairs.entry[pairs.signs() >= 0]] = False
    return {
        name: "lower" if widening[program.envelope.index(name)].all() else "upper"
        for name, _ in program.envelope.groups
    }


@door
def suited_noise(program: ParametricLP, budget: PrivacyBudget) -> str:
    """The calibration that suits a program.

    ``optimal`` where it can gain: one end of an interval matters when the objective is public, and
    records hold one entry. Below :data:`WORTH_A_TABLE` it gains next to nothing, beyond
    :data:`BADLY_SCALED` it may not be found.

    Notes
    -----
    **Privacy.** *Public*.
    """
    one_end = program.c.is_public and program.envelope.record_size == 1
    scaled = float(budget.epsilon) - math.log(float(budget.delta)) <= math.log(BADLY_SCALED)
    return "optimal" if one_end and scaled and budget.epsilon >= WORTH_A_TABLE else "tight"


def check_close(envelope: Envelope, close: str | Mapping[str, str]) -> None:
    """Raise unless `close` names one end, or one for every group."""
    _closest(envelope, close)


def _closest(envelope: Envelope, close: str | Mapping[str, str]) -> dict[str, str]:
    """The end that matters, group by group."""
    names = [name for name, _ in envelope.groups]
    sides = dict.fromkeys(names, close) if isinstance(close, str) else dict(close)
    if set(sides) != set(names):
        raise InvalidArgumentError(f"close must name the groups {', '.join(names)}")
    return {name: _check.one_of("close", side, ("upper", "lower")) for name, side in sides.items()}
