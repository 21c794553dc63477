"""A release in looks: at the entries, then at the totals that what was seen makes worth measuring.

The first look is :func:`~dp_cmdp.release.entries.release_database` with a share of the budget. From
it alone, totals are proposed (:mod:`dp_cmdp.release.proposal`) and measured with the rest
(:mod:`dp_cmdp.release.totals`). What is proposed depends on the first release and on public data
only: adaptive composition adds up ε and δ.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from dp_cmdp import _check
from dp_cmdp._check import FloatArray
from dp_cmdp._door import door
from dp_cmdp.accounting.budget import PrivacyBudget
from dp_cmdp.accounting.ledger import PrivacyLedger
from dp_cmdp.data.database import Database
from dp_cmdp.data.envelope import Envelope
from dp_cmdp.data.polytope import Polytope
from dp_cmdp.data.release import Guarantee, Release
from dp_cmdp.errors import InvalidArgumentError, SolverError
from dp_cmdp.noise.certificate import NoiseCertificate
from dp_cmdp.noise.laws import TruncatedLaplace
from dp_cmdp.noise.plans import NoisePlan
from dp_cmdp.noise.truncated import LatticeTruncatedLaplace
from dp_cmdp.program.parametric import ParametricLP
from dp_cmdp.release.debit import check_call, debited
from dp_cmdp.release.entries import (
    check_close,
    drawn_entries,
    harmful_sides,
    plan_database,
    suited_noise,
)
from dp_cmdp.release.measure import combine, measured
from dp_cmdp.release.paid import carrying, finished
from dp_cmdp.release.plan import Plan
from dp_cmdp.release.posterior import Posterior
from dp_cmdp.release.proposal import Proposal, propose
from dp_cmdp.release.row_solver import RowSolver, Solver
from dp_cmdp.release.totals import SCALE_BITS, TotalsPlan, plan_totals

#: How far a public guess is trusted to be off, as a share of an entry's interval.
GUESS_ERROR = 0.125


@door
def release_looks(
    database: Database,
    budget: PrivacyBudget,
    *,
    program: ParametricLP,
    plan: Plan,
    guess: ArrayLike | None = None,
    rng: np.random.Generator | None = None,
    calibration: str | None = None,
    close: str | Mapping[str, str] | None = None,
    ledger: PrivacyLedger | None = None,
    solver: Solver | None = None,
) -> Release:
    """Publish certain facts about a database: intervals and, as planned, bounds on totals.

    Parameters
    ----------
    database : Database
    budget : PrivacyBudget
        Of all looks together; debited once, before the first. Where the first look leaves nothing
        worth measuring, the rest of it is not used: `guarantee` is what was spent on the data. With
        no first look nothing is debited then.
    program : ParametricLP
        What the facts are for: it says which totals matter.
    plan : Plan
    guess : array_like, optional
        A public guess of the database, used where there is no look at the entries.
    rng, calibration, close, ledger
        As in :func:`~dp_cmdp.release.entries.release_database`; `calibration` and `close` are read
        off the program by default (:func:`~dp_cmdp.release.entries.suited_noise`,
        :func:`~dp_cmdp.release.entries.harmful_sides`).
    solver : callable, optional
        Solves the proposals; HiGHS by default.

    Notes
    -----
    **Privacy.** *Spends the budget*, whether or not the program has an answer:
    :func:`~dp_cmdp.release.planned.release_planned` asks that first.

    Examples
    --------
    >>> from dp_cmdp import Affine, Database, Envelope, ParametricLP, Plan, PrivacyBudget
    >>> from dp_cmdp import release_looks
    >>> price = Affine((1, 8), at=([0] * 8, range(8)), entry=range(8))
    >>> envelope = Envelope(0, 1, radius=0.05, shape=8)
    >>> program = ParametricLP(envelope, c=[1] * 8, A=price, b=[2], upper=1)
    >>> database = Database([0.1, 0.3] * 4, envelope)
    >>> plan = Plan(0)  # totals only
    >>> release = release_looks(database, PrivacyBudget(4, "1/1000"), program=program, plan=plan)
    >>> len(release.totals) > 0, release.polytope.contains([0.1, 0.3] * 4)
    (True, True)
    """
    first, second = plan.budgets(budget)
    if calibration is None:
        calibration = suited_noise(program, first or budget)
    check_call(database, rng=rng, calibration=calibration, ledger=ledger)
    program.check_owns(database)
    envelope = database.envelope
    ends = harmful_sides(program) if close is None else close
    seen = public_release(envelope, guess)
    noise = _planned_early(envelope, first, second, calibration=calibration, close=ends, rng=rng)
    look = None if first else plan_look(program, seen, second, plan=plan, solver=solver)
    if first is None and look is None:
        return seen  # public data show that there is nothing to measure: nothing is spent
    debit = debited(ledger, database, budget, note=f"release_looks {plan}")
    _ = database.values  # read here: Control-C does not stop what comes next
    if first is not None and noise is not None:
        seen = drawn_entries(database, first, plan=noise, rng=rng, ledger=debit)
    release = replace(seen, secure=rng is None, ledger=debit, plan=plan.facts())
    with carrying(release) if first is not None else nullcontext():
        if first is not None:
            look = second and plan_look(program, seen, second, plan=plan, solver=solver)
        if second is None or look is None:
            return release
        found = partial(measured, look, database, second, rng=rng, ledger=debit)
        return finished(lambda: replace(combine(release, found()), plan=plan.facts()))


def _planned_early(
    envelope: Envelope,
    first: PrivacyBudget | None,
    second: PrivacyBudget | None,
    *,
    calibration: str,
    close: str | Mapping[str, str],
    rng: np.random.Generator | None,
) -> NoisePlan | None:
    """The noise of the first look; what a look would refuse is refused before anything is spent."""
    check_close(envelope, close)
    if second is not None:
        LatticeTruncatedLaplace.calibrate(second.epsilon, second.delta, steps=2**SCALE_BITS)
    if first is None:
        return None
    return plan_database(envelope, first, calibration=calibration, close=close, rng=rng)


def plan_look(
    program: ParametricLP,
    seen: Release,
    budget: PrivacyBudget | None,
    *,
    plan: Plan,
    solver: Solver | None,
) -> TotalsPlan | None:
    """The look at totals that the first look suggests; None where there is nothing to measure."""
    if budget is None:
        return None
    return look_at(program, propose_totals(program, seen, budget, plan=plan, solver=solver), budget)


def look_at(
    program: ParametricLP, proposal: Proposal | None, budget: PrivacyBudget
) -> TotalsPlan | None:
    """The look at proposed totals; None where there are none, or none that a lattice holds."""
    if proposal is None:
        return None
    try:
        return plan_totals(program.envelope, budget, W=proposal.W, scale=proposal.scale)
    except InvalidArgumentError:  # what was seen stands
        return None


@door
def propose_totals(
    program: ParametricLP,
    seen: Release,
    budget: PrivacyBudget,
    *,
    plan: Plan,
    solver: Solver | None = None,
) -> Proposal | None:
    """The totals worth measuring with `budget` after a release; None when there are none.

    Notes
    -----
    **Privacy.** *Post-processing*.
    """
    seen.check_fits(program.envelope)
    belief = _belief(program, seen)
    box, support = Polytope(seen.lower, seen.upper), _support(budget)
    estimate, found = belief.mean, None
    solver = RowSolver() if solver is None else solver  # the second pass starts from the first
    try:
        for _ in range(2):
            found = propose(
                program,
                box,
                estimate=estimate,
                payment=plan.caution * support,
                previous=found,
                solver=solver,
            )
            if not found.W.nnz:
                return None
            estimate = _lifted(belief, found, plan.lift)
    except (SolverError, InvalidArgumentError):  # no answer, or none that floats hold
        pass
    return found and found.measured()


@door
def posterior_mean(program: ParametricLP, release: Release) -> FloatArray:
    """The mean of each entry given all that a release says; within its intervals.

    Notes
    -----
    **Privacy.** *Post-processing*.
    """
    release.check_fits(program.envelope)
    belief, totals = _belief(program, release), release.totals
    if totals is None:
        return belief.mean
    noise = release.noise[-1]
    proof = NoiseCertificate.from_facts(noise.certificate or {})
    deviation = math.sqrt(2.0) * totals.step * float(proof.steps * proof.entries / proof.epsilon)
    W = totals.W
    for i in range(len(totals)):
        span = slice(W.indptr[i], W.indptr[i + 1])
        entry, weight = W.indices[span].astype(np.int64), W.data[span]
        believed, spread = weight @ belief.mean[entry], weight**2 @ belief.variance[entry]
        share = spread / (spread + deviation[i] ** 2)
        total = float(believed + share * (totals.estimate[i] - believed))
        belief = belief.tilted(entry, weight, total=total)
    return belief.mean


def objective_estimate(program: ParametricLP, release: Release) -> FloatArray:
    """The entries an objective is taken at: the released ones, or posterior means beside totals.

    Where entries alone are released, posterior means are no better: in auctions of 10 groups whose
    prices may change to anything they lose up to a tenth more (docs/scale.md).
    """
    return release.estimate if release.totals is None else posterior_mean(program, release)


def public_release(envelope: Envelope, guess: ArrayLike | None = None) -> Release:
    """What is known before any look: the envelope, and a guess of the entries.

    Draws that are not the middle are a guess, so a guess at the very middle is moved by one float.
    """
    middle = (envelope.lower + envelope.upper) / 2
    centre = checked_guess(envelope, guess)
    if centre is not None and np.array_equal(centre, middle):
        centre = np.nextafter(middle, envelope.lower)
    return Release(
        estimate=middle,
        lower=envelope.lower,
        upper=envelope.upper,
        guarantee=Guarantee(Fraction(0), Fraction(0), envelope.record_size),
        method="database",
        groups=envelope.groups,
        noise=(),
        secure=True,
        envelope=envelope,
        draws=middle if centre is None else centre,
    )


def checked_guess(envelope: Envelope, guess: ArrayLike | None) -> FloatArray | None:
    """A public guess of the database, if there is one; raise unless it lies within the bounds."""
    if guess is None:
        return None
    if isinstance(guess, bool):
        raise InvalidArgumentError("guess must be numbers, one for every entry of the database")
    found = _check.vector("guess", guess, size=envelope.num_entries)
    outside = (found < envelope.lower) | (found > envelope.upper)
    if outside.any():
        at = int(np.argmax(outside))
        raise InvalidArgumentError(
            f"guess must lie within the public bounds; it is {found[at]:g} at entry {at}, whose "
            f"bounds are {envelope.lower[at]:g} and {envelope.upper[at]:g} (clip it)"
        )
    return found


def _belief(program: ParametricLP, seen: Release) -> Posterior:
    """Beliefs about the entries after a look at them, or before any."""
    envelope, pairs = program.envelope, program.uncertain_rows
    box = Polytope(seen.lower, seen.upper)
    public = Polytope(envelope.lower, envelope.upper)
    looked = [part for part in seen.noise if part.block == "database"]
    guessed = seen.draws is not None and not np.array_equal(seen.draws, seen.estimate)
    draws = seen.draws if looked or guessed else None
    scale = envelope.radius * looked[0].scale if looked else (box.upper - box.lower) * GUESS_ERROR
    belief = Posterior.of(box, draws=draws, scale=scale)
    raised = pairs.signs() > 0
    for row in np.unique(pairs.row[raised]):
        entry = pairs.entry[raised & (pairs.row == row)]
        belief = belief.levelled(entry, bounds=public, draws=draws, scale=scale)
    return belief


def _lifted(belief: Posterior, proposal: Proposal, lift: float) -> FloatArray:
    """The believed entries when each proposed total lies `lift` standard deviations higher."""
    variance = belief.variance
    deviation = np.sqrt(proposal.W.power(2) @ variance)
    rows = np.divide(lift, deviation, np.zeros_like(deviation), where=deviation > 0.0)
    moved = belief.mean + variance * (proposal.W.T @ rows)
    return np.clip(moved, belief.lower, belief.lower + belief.width)


def _support(budget: PrivacyBudget) -> float:
    """Support of the noise of a total, in units of its scale."""
    return TruncatedLaplace.calibrate(1.0, budget.epsilon, delta=budget.delta).support
