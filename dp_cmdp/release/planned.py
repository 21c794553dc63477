"""Plan, looks, facts: a release as planned, in one call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from dp_cmdp._door import door
from dp_cmdp.accounting.budget import PrivacyBudget
from dp_cmdp.accounting.ledger import PrivacyLedger
from dp_cmdp.data.database import Database
from dp_cmdp.data.release import Release
from dp_cmdp.program.parametric import ParametricLP
from dp_cmdp.release.entries import harmful_sides, release_database, suited_noise
from dp_cmdp.release.looks import release_looks
from dp_cmdp.release.paid import Keep, carrying
from dp_cmdp.release.plan import Plan
from dp_cmdp.release.planner import Choice, planned
from dp_cmdp.release.row_solver import Solver


@door
def release_planned(
    database: Database,
    budget: PrivacyBudget,
    *,
    program: ParametricLP,
    plan: str | Plan = "auto",
    guess: ArrayLike | None = None,
    rng: np.random.Generator | None = None,
    calibration: str | None = None,
    close: str | Mapping[str, str] | None = None,
    ledger: PrivacyLedger | None = None,
    solver: Solver | None = None,
    short: bool = False,
    progress: bool = False,
) -> tuple[Release, Choice]:
    """Publish certain facts about a database, those that promise to serve a program best.

    Parameters
    ----------
    database : Database
    budget : PrivacyBudget
    program : ParametricLP
        What the facts are for.
    plan : {"auto", "database", "totals"} or Plan
        Which facts: intervals around all entries, bounds on totals besides, or what promises to
        lose least on public trial databases (:mod:`dp_cmdp.release.planner`).
    guess : array_like, optional
        A public guess of the database, within its bounds, for the planning.
    rng, calibration, close, ledger
        As in :func:`dp_cmdp.release.entries.release_database`; `calibration` and `close` are read
        off the program by default (:func:`dp_cmdp.release.entries.suited_noise`,
        :func:`dp_cmdp.release.entries.harmful_sides`).
    solver : callable, optional
        Solves trials and proposals; HiGHS by default.
    short : bool
        Choose from fewer plans on one trial, for programs whose solves are long.
    progress : bool
        Show a bar while planning, when it takes longer than two seconds.

    Returns
    -------
    Release
        Its `plan` says which one was followed, and how those tried did.
    Choice

    Raises
    ------
    InvalidArgumentError
        If the database belongs to another program.
    AssumptionError
        If no x is feasible for every database of the envelope, or the objective may be unbounded
        for one of them: no facts would serve such a program. Nothing is read or spent.

    Notes
    -----
    **Privacy.** *Spends the budget*.

    Examples
    --------
    >>> from dp_cmdp import Affine, Database, Envelope, ParametricLP, PrivacyBudget
    >>> from dp_cmdp import release_planned
    >>> price = Affine((1, 2), at=([0, 0], [0, 1]), entry=[0, 1])
    >>> program = ParametricLP(Envelope(1, 2, radius=0.02, shape=2), c=[3, 2], A=price, b=[8])
    >>> database = Database([1.2, 1.1], program.envelope)
    >>> release, choice = release_planned(database, PrivacyBudget(1, "1/1000"), program=program)
    >>> choice.plan in [score.plan for score in choice.scores]
    True
    """
    program.check_owns(database)
    program.check_robust_feasibility()
    program.check_boundedness()
    return release_for_checked(
        database,
        budget,
        program=program,
        plan=plan,
        guess=guess,
        rng=rng,
        calibration=calibration,
        close=close,
        ledger=ledger,
        new_solver=lambda: solver,
        short=short,
        progress=progress,
    )


def release_for_checked(
    database: Database,
    budget: PrivacyBudget,
    *,
    program: ParametricLP,
    plan: str | Plan = "auto",
    guess: ArrayLike | None = None,
    rng: np.random.Generator | None = None,
    calibration: str | None = None,
    close: str | Mapping[str, str] | None = None,
    ledger: PrivacyLedger | None = None,
    new_solver: Callable[[], Solver | None] = lambda: None,
    short: bool = False,
    progress: bool = False,
    keep: Keep | None = None,
) -> tuple[Release, Choice]:
    """:func:`release_planned` for a program with a robust answer, and a database of it.

    Planning and the looks have a solver each, so that a plan proposes the same totals whether it
    was chosen just now or is given.

    Notes
    -----
    **Privacy.** *Spends the budget*, whether or not the program has an answer.
    """
    solver = None if isinstance(plan, Plan) else new_solver()  # a given plan needs no trials
    choice = planned(
        plan, program, budget, guess=guess, solver=solver, short=short, progress=progress
    )
    if plan == "database":
        release = release_database(
            database,
            budget,
            rng=rng,
            calibration=suited_noise(program, budget) if calibration is None else calibration,
            close=harmful_sides(program) if close is None else close,
            ledger=ledger,
        )
        return _kept(release, keep), choice
    release = release_looks(
        database,
        budget,
        program=program,
        plan=choice.plan,
        guess=guess,
        rng=rng,
        calibration=calibration,
        close=close,
        ledger=ledger,
        solver=new_solver(),
    )
    return _kept(replace(release, plan=choice.facts()), keep), choice


def _kept(release: Release, keep: Keep | None) -> Release:
    """The release, once whoever asked for it has it."""
    with carrying(release):
        if keep is not None:
            keep(release)
    return release
