"""The privacy boundary: private values go in, a Release comes out, and the rest is public.

* :func:`release_database` publishes the database once, with the whole budget. Adjacent databases
  differ in one record of at most m entries, so (θ_k/Δ_k)_k has ℓ1-sensitivity m and ℓ∞-sensitivity
  1 however many places of A, b and c read it.
* :func:`release_blocks` is the paper's Algorithm 1 (``algo:solve``): the entries of A, b and c are
  perturbed separately, each block with its share of the budget.
* :func:`solve_private` sees the Release only.

Both publish intervals [θ̃ − s, θ̃ + s] cut to the envelope, which contain the true entries with
certainty; the program is then solved for all of them (:mod:`dp_cmdp.program.counterpart`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dp_cmdp import _check
from dp_cmdp._check import FloatArray
from dp_cmdp._door import door
from dp_cmdp.accounting.budget import BLOCKS, Number, PrivacyBudget, allocate
from dp_cmdp.data.database import Database
from dp_cmdp.data.envelope import Envelope
from dp_cmdp.data.release import REALISED_MASK, Debit, Guarantee, Release
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.noise.laws import CALIBRATIONS
from dp_cmdp.noise.plans import (
    LatticeBounded,
    LatticeUnbounded,
    NoisePlan,
    Query,
    truncated_plan,
)
from dp_cmdp.program.certified import solve_certified
from dp_cmdp.program.entrywise import entry_values
from dp_cmdp.program.linear_program import Solution
from dp_cmdp.program.parametric import ParametricLP
from dp_cmdp.release.block_plans import (
    block_rounding,
    checked_entrywise,
    plan_block,
    unprotected_blocks,
)

if TYPE_CHECKING:
    from dp_cmdp.accounting.ledger import PrivacyLedger


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
    """
    _check_call(database, budget, rng, calibration, ledger)
    envelope = database.envelope
    plan = plan_database(envelope, budget, calibration=calibration, close=close, rng=rng)
    debit = _debit(ledger, database, budget, "release_database")
    cut = plan.draw(database.values).clipped(envelope.lower, envelope.upper)
    return Release(
        estimate=np.clip(cut.estimate, envelope.lower, envelope.upper),
        lower=cut.lower,
        upper=cut.upper,
        guarantee=Guarantee(budget.epsilon, budget.delta, envelope.record_size),
        method="database",
        groups=envelope.groups,
        noise=(replace(cut.noise, block="database", epsilon=budget.epsilon, delta=budget.delta),),
        secure=rng is None,
        envelope=envelope,
        step=_lattice_step(plan, envelope.num_entries),
        ledger=debit,
    )


def plan_database(
    envelope: Envelope,
    budget: PrivacyBudget,
    *,
    calibration: str = "tight",
    close: str | Mapping[str, str] = "upper",
    rng: np.random.Generator | None = None,
) -> NoisePlan:
    """The noise of :func:`release_database`, from public data alone."""
    return truncated_plan(
        Query.of_entries(envelope),
        epsilon=budget.epsilon,
        delta=budget.delta,
        calibration=calibration,
        num_entries=envelope.num_entries,
        high=close_ends(envelope, close) if calibration == "optimal" else None,
        rng=rng,
    )


@door
def release_blocks(
    database: Database,
    budget: PrivacyBudget,
    *,
    program: ParametricLP,
    alphas: Mapping[str, Number],
    rng: np.random.Generator | None = None,
    calibration: str = "paper",
    allow_leak: bool = False,
    realised_mask_NOT_PRIVATE: bool = False,
    ledger: PrivacyLedger | None = None,
) -> Release:
    """Publish the sensitive entries of A, b and c separately: the paper's Algorithm 1.

    Parameters
    ----------
    database : Database
    budget : PrivacyBudget
    program : ParametricLP
        Says, publicly, which entries of A, b and c read the database.
    alphas : mapping
        Share of ε per block, summing to 1; leave out the blocks that are public.
    rng, ledger
        As in :func:`release_database`.
    calibration : {"paper", "tight"}
        ``paper`` counts all m·n entries of A and m of b.
    allow_leak : bool
        Publish a sensitive block that has no share *unprotected*. The Release records it.
    realised_mask_NOT_PRIVATE : bool
        Leave entries that happen to be zero untouched, as the paper's published numbers suggest.
        It publishes the zero pattern of the data; for reproduction only. The Release records it.

    Returns
    -------
    Release
        Its entries are the sensitive entries of A, b, c in this order.

    Raises
    ------
    AssumptionError
        If no x is feasible for Â and b_inf, or the program may be unbounded: told from public data,
        before anything is read or spent.

    Notes
    -----
    **Paper.** ``algo:solve``, ``rem:modify``, ``eq:barA``, ``eq:barB``. **Privacy.** *Spends the
    budget*.
    """
    _check_call(database, budget, rng, calibration, ledger)
    _check.instance("program", program, ParametricLP)
    if calibration == "optimal":
        raise InvalidArgumentError('calibration must be "paper" or "tight" for release_blocks')
    if program.envelope is not database.envelope:
        raise InvalidArgumentError("program and database must share one Envelope object")
    shares = allocate(budget, alphas)
    leaks = unprotected_blocks(program, shares, allow_leak=allow_leak)
    target = checked_entrywise(program)
    plans = {
        block: plan_block(program, block, share=shares[block], calibration=calibration, rng=rng)
        for block, _ in target.envelope.groups
    }
    debit = _debit(ledger, database, budget, "release_blocks")
    values = entry_values(program, database.values)
    done = {}
    for block, plan in plans.items():
        index = target.envelope.index(block)
        drawn = plan.draw(values[block])
        if realised_mask_NOT_PRIVATE and block in ("A", "c"):
            drawn = drawn.with_unprotected(values[block] == 0.0, values[block])
        cut = drawn.widened(block_rounding(program, block)).clipped(
            target.envelope.lower[index], target.envelope.upper[index]
        )
        spent = {"epsilon": shares[block].epsilon, "delta": shares[block].delta}
        done[block] = replace(cut, noise=replace(cut.noise, block=block, **spent))
    if realised_mask_NOT_PRIVATE:
        leaks = (*leaks, REALISED_MASK)
    return Release(
        estimate=np.concatenate([part.estimate for part in done.values()]),
        lower=np.concatenate([part.lower for part in done.values()]),
        upper=np.concatenate([part.upper for part in done.values()]),
        guarantee=Guarantee(budget.epsilon, budget.delta, database.envelope.record_size),
        method="blocks",
        groups=target.envelope.groups,
        noise=tuple(part.noise for part in done.values()),
        secure=rng is None,
        leaks=leaks,
        envelope=database.envelope,
        blocks={block: getattr(program, block) for block in BLOCKS},
        step=np.concatenate(
            [_lattice_step(plan, values[block].size) for block, plan in plans.items()]
        ),
        ledger=debit,
    )


@door
def solve_private(program: ParametricLP, release: Release) -> Solution:
    """Solve the program so that its constraints hold for everything the release allows.

    Parameters
    ----------
    program : ParametricLP
    release : Release
        Of the database (``release_database``) or of the blocks (``release_blocks``) of `program`.

    Returns
    -------
    Solution
        With a certificate, in exact arithmetic, that A(θ)x ≤ b(θ) for every θ in the released
        intervals, hence for the true database.

    Notes
    -----
    **Paper.** ``opt:DP``, ``thm:feasible``. **Privacy.** *Post-processing*: no private value is
    seen.
    """
    _check.instance("program", program, ParametricLP)
    _check.instance("release", release, Release)
    target = program if release.method == "database" else checked_entrywise(program)
    if target.envelope.groups != release.groups:
        raise InvalidArgumentError(
            "release does not fit program: their groups of entries differ; release the database "
            "that belongs to this program"
        )
    if not target.envelope.encloses(release.lower, release.upper):
        raise InvalidArgumentError(
            "release does not fit program: its intervals leave the public bounds of the program's "
            "envelope; release the database that belongs to this program"
        )
    lp = target.robust(release.lower, release.upper, estimate=release.estimate)
    n = target.num_variables

    def slack_of(x: FloatArray) -> FloatArray:
        return target.worst_case_slack(x[:n], lower=release.lower, upper=release.upper)

    solution = solve_certified(lp, slack_of=slack_of)
    rows = program.A.shape[0] + program.b_ub.size
    return replace(solution, x=_check.frozen(solution.x[:n]), dual=solution.dual[:rows])


def _check_call(
    database: Database,
    budget: PrivacyBudget,
    rng: np.random.Generator | None,
    calibration: str,
    ledger: PrivacyLedger | None,
) -> None:
    _check.instance("database", database, Database)
    _check.instance("budget", budget, PrivacyBudget)
    if ledger is not None:
        from dp_cmdp.accounting.ledger import PrivacyLedger

        _check.instance("ledger", ledger, PrivacyLedger)
        if database.identity is None:
            raise InvalidArgumentError("database must have an identity when a ledger is given")
    if rng is not None:
        _check.generator("rng", rng)
    _check.one_of("calibration", calibration, (*CALIBRATIONS, "optimal"))


def close_ends(envelope: Envelope, close: str | Mapping[str, str]) -> NDArray[np.bool_]:
    """For optimal noise: which entries keep their upper end close (public)."""
    if envelope.record_size > 1:
        raise InvalidArgumentError(
            'calibration="optimal" is private only when records hold one entry each; this '
            f'envelope has records of {envelope.record_size}: use "tight"'
        )
    if not isinstance(close, str | Mapping):
        raise InvalidArgumentError('close must be "upper", "lower" or a mapping from group to one')
    names = [name for name, _ in envelope.groups]
    sides = dict.fromkeys(names, close) if isinstance(close, str) else dict(close)
    if set(sides) != set(names):
        raise InvalidArgumentError(f"close must name the groups {', '.join(names)}")
    high = np.empty(envelope.num_entries, dtype=bool)
    for name, side in sides.items():
        high[envelope.index(name)] = _check.one_of("close", side, ("upper", "lower")) == "upper"
    return high


def _lattice_step(plan: NoisePlan, size: int) -> FloatArray:
    """Lattice step of each entry; 0 where the noise has none."""
    exact = isinstance(plan, LatticeBounded | LatticeUnbounded)
    return plan.lattice.step if exact else np.zeros(size)


def _debit(
    ledger: PrivacyLedger | None, database: Database, budget: PrivacyBudget, note: str
) -> Debit | None:
    """Spend first, read later: a failure after this line has cost its budget."""
    if ledger is None or database.identity is None:
        return None
    entry = ledger.debit(database.identity, budget, note=note)
    return None if entry is None else Debit(ledger.ledger_id(), entry.index, entry.hash)
