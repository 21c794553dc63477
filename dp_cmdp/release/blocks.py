"""The sensitive entries of A, b and c, published separately: the paper's Algorithm 1.

Each block is perturbed with its own share of the budget (``algo:solve``). Published are intervals
that contain the true entries with certainty, as for :mod:`dp_cmdp.release.entries`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from dp_cmdp._door import door
from dp_cmdp.accounting.budget import BLOCKS, Number, PrivacyBudget, allocate
from dp_cmdp.accounting.ledger import PrivacyLedger
from dp_cmdp.data.database import Database
from dp_cmdp.data.release import REALISED_MASK, Guarantee, Release
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.noise.plans import lattice_step
from dp_cmdp.program.entrywise import entry_values
from dp_cmdp.program.parametric import ParametricLP
from dp_cmdp.release.block_plans import (
    block_rounding,
    checked_entrywise,
    plan_block,
    unprotected_blocks,
)
from dp_cmdp.release.debit import check_call, debited
from dp_cmdp.release.paid import finished


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
        As in :func:`~dp_cmdp.release.entries.release_database`.
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

    Examples
    --------
    >>> import numpy as np
    >>> from dp_cmdp import PrivacyBudget, release_blocks, solve_private
    >>> from dp_cmdp.problems.ad_auction import ad_auction_program, random_auction, split
    >>> program = ad_auction_program(4, 3)
    >>> database = random_auction(program, np.random.default_rng(0))
    >>> release = release_blocks(
    ...     database, PrivacyBudget(1, "1/1000"), program=program, alphas=split("1/2")
    ... )
    >>> release.method, solve_private(program, release).certificate.verified
    ('blocks', True)
    """
    check_call(database, rng=rng, calibration=calibration, ledger=ledger)
    if calibration == "optimal":
        raise InvalidArgumentError('calibration must be "paper" or "tight" for release_blocks')
    program.check_owns(database)
    shares = allocate(budget, alphas)
    leaks = unprotected_blocks(program, shares, allow_leak=allow_leak)
    target = checked_entrywise(program)
    plans = {
        block: plan_block(program, block, share=shares[block], calibration=calibration, rng=rng)
        for block, _ in target.envelope.groups
    }
    debit = debited(ledger, database, budget, note="release_blocks")
    if realised_mask_NOT_PRIVATE:
        leaks = (*leaks, REALISED_MASK)
    values = entry_values(program, database.values)

    def draw() -> Release:
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
                [lattice_step(plan, values[block].size) for block, plan in plans.items()]
            ),
            ledger=debit,
        )

    return finished(draw)
