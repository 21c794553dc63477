"""What a planned release costs: bounds that hold whatever its looks show.

A planned release (:mod:`dp_cmdp.release.looks`) publishes a polytope P = {θ : L ≤ θ ≤ U, Wθ ≤ q}
that contains the database, and the answer x̃ is optimal for c̃ = c(θ̂) over X̃ = {x : A(θ)x ≤ b(θ) for
every θ in P}. A point y that is feasible for a set of databases which contains P is in X̃: it is
*accepted*, c̃ᵀx̃ ≥ c̃ᵀy, and the bounds of :mod:`dp_cmdp.theory.accuracy` follow.

**With a first look at the entries** (share > 0) P lies in the box [L, U] that this look publishes,
which is a database release with its part of the budget. Whatever accepts y over the box accepts y
over P: the points of :mod:`dp_cmdp.theory.accepted_points` at the first look's noise serve, with
their probabilities. What the totals add is not used here: their weights depend on what the first
look shows. It is seen in :attr:`~dp_cmdp.theory.accuracy.AccuracyBound.sampled` only.

**Without one** (share = 0) W, the steps h and the law of the noise are public and fixed. Total i is
published as the integer n_i + Z_i, n_i that of the database, and

    q_i  =  h_i (n_i + Z_i + support + Σ_k V_ik⁺)  ≤  q_i(z)  whenever Z_i ≤ z,

q_i(z) the same with z in place of Z_i. P ⊆ P(z) = {θ in the envelope : Wθ ≤ q(z)} unless some noise
exceeds z; the m noises are independent, so y_z, the best point over P(z), is rejected with
probability at most 1 − (1 − P(Z > z))^m. z = support is certain: y_support is always accepted. The
tail P(Z > z) is a fraction of integers, exact. W is what the release itself will propose, from the
same public data by the same solver.

**A private objective** is taken at posterior means θ̂, which lie in [L, U]. Both L_k and U_k stay in
the worst interval of the first look (the envelope without one), so its ends less θ_k bound the
error of θ̂_k surely, and :mod:`dp_cmdp.theory.worst_answer` turns an accepted y into a loss ℓ(y)
that is not exceeded when y is accepted. Posterior means have no law in closed form, so the mean is
bounded by the staircase over the ℓ(y) of accepted points: E loss ≤ ℓ_0 + Σ_f (ℓ_{f+1} − ℓ_f) p_f.

All this is of the optimal x̃. Should the engine fail on a released program, the robust answer is
published in its place; a simulated draw with such a failure counts as the certain bound.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from dp_cmdp._check import FloatArray
from dp_cmdp.accounting.budget import PrivacyBudget
from dp_cmdp.cmdp.facts_synthesis import row_solver
from dp_cmdp.cmdp.parametric import ParametricCMDP
from dp_cmdp.cmdp.solvers.row_solution import LARGE
from dp_cmdp.data.database import Database
from dp_cmdp.data.polytope import Polytope
from dp_cmdp.data.totals import Totals
from dp_cmdp.errors import SolverError
from dp_cmdp.noise.digits import weight_below
from dp_cmdp.noise.lattice import Lattice
from dp_cmdp.noise.truncated import LatticeTruncatedLaplace
from dp_cmdp.program.linear_program import LinearProgram, solve
from dp_cmdp.program.parametric import ParametricLP
from dp_cmdp.release.entries import check_close, harmful_sides, suited_noise
from dp_cmdp.release.looks import objective_estimate, plan_look, public_release
from dp_cmdp.release.plan import Plan
from dp_cmdp.release.planned import release_planned
from dp_cmdp.release.planner import planned
from dp_cmdp.release.row_solver import Solver
from dp_cmdp.release.totals import SCALE_BITS, TotalsPlan, integer_totals
from dp_cmdp.theory.accepted_points import Candidate, Comparison, frontier, staircase
from dp_cmdp.theory.public_interval import as_program
from dp_cmdp.theory.release_noise import ReleaseNoise, release_noise
from dp_cmdp.theory.simulated_loss import SampledMean, check_bounded, loss_limit
from dp_cmdp.theory.worst_answer import WorstAnswer, direction_ranges, objective_directions

#: Probabilities, besides 0, with which points of totals alone are rejected.
REJECTIONS = (1e-5, 1e-3, 0.01, 0.05, 0.2, 0.5, 0.8)


@dataclass(frozen=True, slots=True, eq=False)
class PlannedRelease:
    """A planned release that has not been made yet: *public*.

    Attributes
    ----------
    program : ParametricLP
    budget : PrivacyBudget
    plan : Plan
    calibration : str
    close : str or mapping
    guess : array_like, optional
    first : ReleaseNoise or None
        The noise of the look at the entries.
    totals : TotalsPlan or None
        The look at totals, where it is known beforehand: without a look at the entries.
    new_solver : callable
        Makes a solver of proposals, one for every release.
    """

    program: ParametricLP
    budget: PrivacyBudget
    plan: Plan
    calibration: str
    close: str | Mapping[str, str]
    guess: ArrayLike | None
    first: ReleaseNoise | None
    totals: TotalsPlan | None
    new_solver: Callable[[], Solver | None]

    @classmethod
    def of(
        cls,
        model: ParametricLP | ParametricCMDP,
        budget: PrivacyBudget,
        *,
        plan: str | Plan,
        guess: ArrayLike | None,
        calibration: str | None,
        close: str | Mapping[str, str] | None,
    ) -> PlannedRelease:
        """The release that a program or a model would get, planned in the same way."""
        program, new_solver, short = as_program(model), (lambda: None), False
        if isinstance(model, ParametricCMDP):
            new_solver, short = partial(row_solver, model), model.public.num_states > LARGE
        solver = new_solver()
        chosen = planned(plan, program, budget, guess=guess, solver=solver, short=short).plan
        first, second = chosen.budgets(budget)
        kind = suited_noise(program, first or budget) if calibration is None else calibration
        ends = harmful_sides(program) if close is None else close
        check_close(program.envelope, ends)
        noise = release_noise(program, first or budget, calibration=kind, close=ends)
        if second is not None:  # a budget that a look at totals would refuse
            LatticeTruncatedLaplace.calibrate(second.epsilon, second.delta, steps=2**SCALE_BITS)
        look = None
        if first is None:
            seen = public_release(program.envelope, guess)
            look = plan_look(program, seen, second, plan=chosen, solver=new_solver())
        entries = None if first is None else noise
        return cls(program, budget, chosen, kind, ends, guess, entries, look, new_solver)

    def worst_box(self, entries: FloatArray) -> tuple[FloatArray, FloatArray]:
        """An interval per entry that contains every released one: *curator only*."""
        if self.first is None:
            return self.program.envelope.lower, self.program.envelope.upper
        return self.first.worst_box(entries)

    def answer(self, database: Database, rng: np.random.Generator) -> FloatArray:
        """x̃ of one simulated release: *curator only*."""
        program = self.program
        release, _ = release_planned(
            database,
            self.budget,
            program=program,
            plan=self.plan,
            guess=self.guess,
            rng=rng,
            calibration=self.calibration,
            close=self.close,
            solver=self.new_solver(),
        )
        estimate = objective_estimate(program, release)
        lp = program.robust_over(release.polytope, estimate=estimate)
        return solve(lp, certify=False).x[: program.num_variables]


@dataclass(frozen=True, slots=True, eq=False)
class PlannedCase:
    """One database and a planned release of it: *curator only*."""

    release: PlannedRelease
    database: Database
    truth: LinearProgram
    optimum: float
    worst: WorstAnswer

    @property
    def plan(self) -> Plan:
        return self.release.plan

    @classmethod
    def of(cls, release: PlannedRelease, database: Database) -> PlannedCase:
        program, entries = release.program, database.values
        program.check_owns(database)
        truth = program.at(entries)
        optimum = solve(truth, certify=False).objective
        read, direction = objective_directions(program.c, truth.num_variables)
        low, high = release.worst_box(entries)
        limits = (high - entries)[read], (entries - low)[read]
        span = direction_ranges(truth, direction)
        worst = WorstAnswer(truth, optimum, direction, span, limits)
        return cls(release, database, truth, optimum, worst)

    def candidates(self) -> list[Candidate]:
        """Points of increasing loss and decreasing rejection; the last is certainly accepted."""
        noise, c = self.release.first, self.truth.c
        if noise is not None:
            return Comparison(noise, self.database.values, c, c, self.optimum).candidates()
        envelope, look = self.release.program.envelope, self.release.totals
        if look is None:
            return [self._best_over(Polytope(envelope.lower, envelope.upper), rejection=0.0)]
        found: list[Candidate] = []
        for chance in (0.0, *REJECTIONS):
            part = largest_totals(look, self.database.values, exceeded=chance)
            over = Polytope(envelope.lower, envelope.upper, W=part.W, q=part.q)
            found.append(self._best_over(over, rejection=chance))
        return frontier(found)

    def mean(self, found: list[Candidate]) -> float:
        """Bound of the mean loss, over the best accepted candidate."""
        if self.worst.direction.shape[0] == 0:
            return staircase(found)
        return staircase(frontier([replace(p, loss=self.worst.loss(p.y)) for p in found]))

    def sampled(self, *, largest: float, draws: int, rng: np.random.Generator) -> SampledMean:
        """An upper limit of the mean loss from simulated releases."""
        check_bounded(largest)
        losses = np.empty(draws)
        for number in range(draws):
            try:
                x = self.release.answer(self.database, rng)
                losses[number] = self.optimum - float(self.truth.c @ x)
            except SolverError:
                losses[number] = largest
        return loss_limit(losses, optimum=self.optimum, largest=largest)

    def _best_over(self, polytope: Polytope, *, rejection: float) -> Candidate:
        program = self.release.program
        lp = program.robust_over(polytope, estimate=self.database.values)
        y = solve(lp, certify=False).x[: program.num_variables]
        return Candidate(y, max(self.optimum - float(self.truth.c @ y), 0.0), rejection)


def largest_totals(look: TotalsPlan, values: FloatArray, *, exceeded: float) -> Totals:
    """Bounds on totals that a look publishes smaller ones than, but for a chance: *curator only*.

    With probability at least 1 − `exceeded` none of the published bounds is larger.
    """
    each = -np.expm1(np.log1p(-exceeded) / look.step.size)
    z = upper_quantile(look.noise, Fraction(float(each)))
    true = integer_totals(look.counts, Lattice(look.grid, 1).index(values))
    return Totals(
        look.counts,
        np.array([n + z for n in true], dtype=np.int64),
        support=look.noise.support,
        step=look.step,
        grid=look.grid,
    )


def upper_quantile(noise: LatticeTruncatedLaplace, chance: Fraction) -> int:
    """The least z with P(Z > z) ≤ chance, exactly.

    Notes
    -----
    **Privacy.** *Public*.
    """
    thresholds, s = noise.certificate.thresholds, noise.support
    inside = weight_below(thresholds, s + 1)
    everything = 2 * inside - weight_below(thresholds, 1)

    def above(z: int) -> int:
        """Weight of the noises above z."""
        if z < 0:
            return everything - above(-z - 1)
        return inside - weight_below(thresholds, z + 1)

    return bisect_left(range(2 * s), True, key=lambda i: above(i - s) <= chance * everything) - s
