"""Public databases on which plans are tried, with common random numbers.

Entries are looked at with simulated noise, totals are measured with the middle of theirs. The score
of a plan in a trial is (v* − v)/(v* − v_robust): 0 is as good as without privacy, 1 as the robust
answer, which uses no data.

The prior: entries stand at a level l of their bounds, Beta(al, a(1 − l)) each, so that small a
makes some entries large and most small; entries that only widen a row (tolerances) are uniform.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from dp_cmdp import _check
from dp_cmdp._check import FloatArray
from dp_cmdp.accounting.budget import PrivacyBudget
from dp_cmdp.data.database import Database
from dp_cmdp.data.polytope import Polytope
from dp_cmdp.data.release import Release
from dp_cmdp.data.totals import Totals
from dp_cmdp.errors import SolverError
from dp_cmdp.noise.lattice import Lattice
from dp_cmdp.program.parametric import ParametricLP
from dp_cmdp.program.polytope_rows import PolytopeRows
from dp_cmdp.release.entries import harmful_sides, release_database, suited_noise
from dp_cmdp.release.looks import (
    checked_guess,
    look_at,
    objective_estimate,
    propose_totals,
    public_release,
)
from dp_cmdp.release.measure import Measured, combine
from dp_cmdp.release.plan import Plan
from dp_cmdp.release.proposal import Proposal
from dp_cmdp.release.row_solver import INTERIOR_ROWS, RowSolver, Solver, solved
from dp_cmdp.release.totals import TotalsPlan, integer_totals

#: (level, concentration) of the prior, trial by trial.
LEVELS = ((0.35, 2.0), (0.5, 2.0), (0.35, 0.5))
#: Standard deviation of the databases around a public guess, as a share of their bounds.
AROUND_GUESS = 0.1


def prior_database(
    program: ParametricLP,
    rng: np.random.Generator,
    *,
    level: float,
    concentration: float,
    guess: ArrayLike | None = None,
) -> FloatArray:
    """A database drawn from the public prior, or around a guess."""
    envelope, pairs = program.envelope, program.uncertain_rows
    width = envelope.upper - envelope.lower
    centre = checked_guess(envelope, guess)
    if centre is not None:
        moved = centre + AROUND_GUESS * width * rng.standard_normal(width.size)
        return np.clip(moved, envelope.lower, envelope.upper)
    share = rng.beta(concentration * level, concentration * (1.0 - level), size=width.size)
    widening = np.ones(width.size, dtype=bool)
    widening[pairs.entry[pairs.signs() >= 0]] = False
    widening[program.c.entry] = False
    share = np.where(widening, rng.random(width.size), share).round(6)  # no entries of 1e-30
    return np.clip(envelope.lower + share * width, envelope.lower, envelope.upper)


class Trials:
    """Trial t is the same for every budget and plan.

    Notes
    -----
    **Privacy.** *Public*.
    """

    def __init__(
        self,
        program: ParametricLP,
        *,
        guess: ArrayLike | None = None,
        seed: int = 0,
        solver: Solver | None = None,
    ) -> None:
        _check.seed("seed", seed)
        envelope = program.envelope
        self.program, self.seed, self.solver = program, seed, solver
        self.guess = checked_guess(envelope, guess)
        # in large programs the basis of another database is a bad start
        self._solver = RowSolver(most_rows=INTERIOR_ROWS) if solver is None else solver
        public = Polytope(envelope.lower, envelope.upper)
        self.robust = self.best(public, (envelope.lower + envelope.upper) / 2)

    def trial(self, number: int, budget: PrivacyBudget) -> Trial:
        """A database, and what the best and the robust answer are worth on it."""
        level, concentration = LEVELS[number % len(LEVELS)]
        theta = prior_database(
            self.program,
            np.random.default_rng([self.seed, number]),
            level=level,
            concentration=concentration,
            guess=self.guess,
        )
        return Trial(self, number, budget, theta)

    def best(self, polytope: Polytope, estimate: FloatArray) -> FloatArray:
        """The best answer for all that a polytope allows."""
        rows = PolytopeRows(self.program.uncertain_rows, polytope)
        return solved(self._solver, self.program, rows, self.program.c.at(estimate))[0]


def middling_totals(look: TotalsPlan, theta: FloatArray) -> Totals:
    """Totals of a *public* database, measured with noise 0, the middle of its law.

    Totals are few: with a noise of their own one trial would tell of luck more than of plans.
    """
    index = integer_totals(look.counts, Lattice(look.grid, 1).index(theta))
    return Totals(
        look.counts,
        np.array([int(total) for total in index], dtype=np.int64),
        support=look.noise.support,
        step=look.step,
        grid=look.grid,
    )


class Trial:
    """One public database, and what plans lose on it as a share of the robust answer's loss.

    Where that is nothing, every plan loses nothing.

    Notes
    -----
    **Privacy.** *Public*.
    """

    def __init__(
        self, trials: Trials, number: int, budget: PrivacyBudget, theta: FloatArray
    ) -> None:
        self._trials, self._number, self._budget = trials, number, budget
        self._theta, self._database = theta, Database(theta, trials.program.envelope)
        self._objective = trials.program.c.at(theta)
        self._best = float(self._objective @ trials.best(Polytope(theta, theta), theta))
        lost = self._best - float(self._objective @ trials.robust)
        self._scale = lost if lost > 1e-9 * (1.0 + abs(self._best)) else 0.0
        self._losses: dict[Plan, float] = {}
        self._looks: dict[Fraction, Release] = {}
        self._proposals: dict[Plan, Proposal | None] = {}

    def loss(self, plan: Plan) -> float:
        """Of the answer from a release as planned; of the robust one where the solver gives up."""
        if plan not in self._losses:
            self._losses[plan] = self._answered_loss(plan) if self._scale else 0.0
        return self._losses[plan]

    def proposed_loss(self, plan: Plan) -> float | None:
        """Of the answer that totals are proposed for, which pays for more than their usual noise.

        It takes no solve over measured totals. None where there is nothing to measure.
        """
        if not self._scale:
            return 0.0
        proposal = self._proposal(plan)
        return None if proposal is None else self._lost(proposal.x)

    def _answered_loss(self, plan: Plan) -> float:
        try:
            release = self._release(plan)
            estimate = objective_estimate(self._trials.program, release)
            return self._lost(self._trials.best(release.polytope, estimate))
        except SolverError:
            return 1.0

    def _lost(self, x: FloatArray) -> float:
        return (self._best - float(self._objective @ x)) / self._scale

    def _release(self, plan: Plan) -> Release:
        seen, second = self._look(plan.share), plan.budgets(self._budget)[1]
        look = second and look_at(self._trials.program, self._proposal(plan), second)
        if second is None or look is None:
            return seen
        found = Measured(
            self._trials.program.envelope,
            middling_totals(look, self._theta),
            look.facts(second),
            secure=False,
            ledger=None,
        )
        return combine(seen, found)

    def _look(self, share: Fraction) -> Release:
        """The look at the entries, the same for all plans that give it the same share."""
        if share not in self._looks:
            program, first = self._trials.program, Plan(share).budgets(self._budget)[0]
            self._looks[share] = (
                public_release(program.envelope, self._trials.guess)
                if first is None
                else release_database(
                    self._database,
                    first,
                    rng=np.random.default_rng([self._trials.seed, self._number, 1]),
                    calibration=suited_noise(program, first),
                    close=harmful_sides(program),
                )
            )
        return self._looks[share]

    def _proposal(self, plan: Plan) -> Proposal | None:
        """The totals that the look at the entries makes worth measuring."""
        if plan not in self._proposals:
            second, solver = plan.budgets(self._budget)[1], self._trials.solver
            self._proposals[plan] = second and propose_totals(
                self._trials.program, self._look(plan.share), second, plan=plan, solver=solver
            )
        return self._proposals[plan]
