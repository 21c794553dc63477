"""How much privacy costs: bounds that hold, for the curator who chooses a budget.

Let x* be optimal for the true data (A, b, c), X its feasible set, and x̃ the private answer, optimal
for c̃ over X̃, the points that are feasible for everything a release allows.

**Certified bound.** Every released box lies in the worst box W (:mod:`dp_cmdp.reach`), so the set
X_W of points feasible for all of W satisfies X_W ⊆ X̃ ⊆ X. For any y ∈ X_W, c̃ᵀx̃ ≥ c̃ᵀy gives

    cᵀx* − cᵀx̃  ≤  (cᵀx* − cᵀy) + (c̃ − c)ᵀ(x̃ − y)      surely.

With c̃ − c = Σ_k e_k h_k (h_k: how entry k enters the objective) and
χ⁻_k ≤ h_kᵀx ≤ χ⁺_k on X, the last term has mean at most
Σ_k E e_k⁺ (χ⁺_k − h_kᵀy) + E e_k⁻ (h_kᵀy − χ⁻_k). It is linear in y, so the best y maximises
(c + Σ_k (E e_k⁺ − E e_k⁻) h_k)ᵀy over X_W: one linear program. With a public objective the term
vanishes and the bound holds surely.

**With probability.** Replacing W by a box that contains the released one with probability 1 − β
gives a smaller bound that holds with that probability; mixing both, β·(sure) + (1 − β)·(likely)
bounds the mean.

**Instance bound.** Given a release and any w that is strictly feasible for all it allows,
φ_i(w) = max_{θ in the box} A_i(θ)w − b_i(θ) = −r_i < 0, let v_i = φ_i(x*)⁺ and
λ = max_i v_i/(v_i + r_i). φ_i is convex, so x_λ = (1 − λ)x* + λw ∈ X̃ and

    cᵀx* − cᵀx̃  ≤  λ(cᵀx* − cᵀw) + (c̃ − c)ᵀ(x̃ − x_λ).

Proofs and the paper's own theorem: ``docs/theory.md``, :mod:`dp_cmdp.printed_bound`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from dp_cmdp import _check
from dp_cmdp._check import FloatArray
from dp_cmdp.affine import IntArray
from dp_cmdp.cmdp.parametric import ParametricCMDP
from dp_cmdp.curator import CuratorOnly
from dp_cmdp.database import Database
from dp_cmdp.entrywise import entrywise
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.extent import coordinate_ranges
from dp_cmdp.lp import LinearProgram, solve
from dp_cmdp.objective_error import PricedError
from dp_cmdp.parametric import ParametricLP
from dp_cmdp.privacy import Number, PrivacyBudget
from dp_cmdp.public_interval import as_program, public_interval
from dp_cmdp.reach import Reach, reach
from dp_cmdp.release import Release

__all__ = ["AccuracyBound", "accuracy_bound", "instance_bound", "public_interval"]

#: Failure probabilities tried for the bound of the mean.
FAILURES = (0.001, 0.01, 0.05, 0.2, 0.5)


@dataclass(frozen=True, slots=True)
class AccuracyBound:
    """Bounds of cᵀx* − cᵀx̃: *curator only*.

    Attributes
    ----------
    optimum : CuratorOnly
        cᵀx*.
    tightening : CuratorOnly
        cᵀx* − cᵀx_W: the part that comes from the constraints; it holds surely.
    sure : CuratorOnly
        No draw exceeds it; ∞ when plain Laplace noise perturbs the objective.
    mean : CuratorOnly
        The mean over draws does not exceed it.
    likely : CuratorOnly
        Exceeded with probability at most `failure`.
    failure : float
    """

    optimum: CuratorOnly
    tightening: CuratorOnly
    sure: CuratorOnly
    mean: CuratorOnly
    likely: CuratorOnly
    failure: float

    def relative(self) -> dict[str, CuratorOnly]:
        """The bounds divided by |cᵀx*|."""
        size = abs(float(self.optimum))
        if size == 0.0:
            raise InvalidArgumentError("a relative bound has no meaning: the optimum is 0")
        return {
            key: CuratorOnly(float(getattr(self, key)) / size) for key in ("sure", "mean", "likely")
        }


def accuracy_bound(
    program: ParametricLP | ParametricCMDP,
    database: Database,
    budget: PrivacyBudget,
    *,
    mechanism: str = "database",
    alphas: Mapping[str, Number] | None = None,
    calibration: str | None = None,
    failure: float = 0.05,
) -> AccuracyBound:
    """The certified bound of what privacy will cost on this database.

    Parameters
    ----------
    program : ParametricLP or ParametricCMDP
    database : Database
    budget : PrivacyBudget
    mechanism, alphas, calibration
        The release, see :func:`dp_cmdp.reach.reach`.
    failure : float
        Probability with which :attr:`AccuracyBound.likely` may be exceeded.

    Returns
    -------
    AccuracyBound

    Notes
    -----
    A handful of linear programs, and two per database entry in the objective.
    **Paper.** Ours; it answers ``prob:accurate`` and replaces ``thm:lp_accuracy_e``.
    **Privacy.** *Curator only*: the bound is computed from the true data and must not be published.
    """
    beta = _check.real("failure", failure, low=0.0, high=0.999)
    lp = as_program(program)
    noise = reach(lp, budget, mechanism=mechanism, alphas=alphas, calibration=calibration)
    case = _Case.of(noise, database)
    worst = case.comparison(0.0)
    tightening = case.loss(worst)
    error = case.mean_error(worst, worst)
    likely = case.comparison(beta) if beta > 0 else worst
    mixed = [tightening + error, case.priced_mean(worst)]
    for chance in FAILURES if case.mixing_helps() else ():
        y = case.comparison(chance)
        part = (1.0 - chance) * case.loss(y) + chance * tightening
        mixed.append(part + case.mean_error(y, worst))
    return AccuracyBound(
        optimum=CuratorOnly(case.optimum),
        tightening=CuratorOnly(tightening),
        sure=CuratorOnly(tightening + case.largest_error(worst)),
        mean=CuratorOnly(min(mixed)),
        likely=CuratorOnly(case.loss(likely) + case.largest_error(likely)),
        failure=beta,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Case:
    """One true program and the noise it would meet."""

    noise: Reach
    entries: FloatArray
    truth: LinearProgram
    optimum: float
    direction: sparse.csr_array  # h_k as rows, one per entry that the objective reads
    read: IntArray  # those entries' numbers
    span: tuple[FloatArray, FloatArray]  # χ⁻, χ⁺

    @classmethod
    def of(cls, noise: Reach, database: Database) -> _Case:
        if noise.program.envelope is not database.envelope:
            raise InvalidArgumentError("program and database must share one Envelope object")
        truth = noise.program.at(database.values)
        objective = noise.target.c
        read = np.unique(objective.entry)
        number = np.searchsorted(read, objective.entry)
        direction = sparse.csr_array(
            (objective.coefficient, (number, objective.row)), shape=(read.size, truth.num_variables)
        )
        return cls(
            noise=noise,
            entries=noise.entries(database.values),
            truth=truth,
            optimum=solve(truth, certify=False).objective,
            direction=direction,
            read=read,
            span=coordinate_ranges(truth, direction),
        )

    def comparison(self, failure: float) -> FloatArray:
        """The best point that is feasible for every box of probability 1 − `failure`."""
        target = self.noise.target
        lower, upper = self.noise.worst_box(self.entries, failure=failure)
        lp = target.robust(lower, upper)
        up, down = (part[self.read] for part in self.noise.error_means(self.entries))
        c = np.zeros(lp.num_variables)
        c[: target.num_variables] = self.truth.c + (up - down) @ self.direction
        return solve(_with_objective(lp, c), certify=False).x[: target.num_variables]

    def mixing_helps(self) -> bool:
        """Whether a shorter reach than the sure one changes anything that a row reads."""
        used = self.noise.in_rows() & np.isfinite(self.noise.support)
        q = self.noise.quantile(FAILURES[-1])
        return bool((q[used] < 0.99 * self.noise.support[used]).any())

    def loss(self, y: FloatArray) -> float:
        """cᵀx* − cᵀy; rounding below 0 is cut off."""
        return max(self.optimum - float(self.truth.c @ y), 0.0)

    def mean_error(self, y: FloatArray, other: FloatArray) -> float:
        """Mean of the objective term when the comparison point is y or `other`."""
        up, down = (part[self.read] for part in self.noise.error_means(self.entries))
        low, high = self.span
        at, too = self.direction @ y, self.direction @ other
        return float(up @ (high - np.minimum(at, too)) + down @ (np.maximum(at, too) - low))

    def priced_mean(self, y: FloatArray) -> float:
        """The bound of the mean by prices (:mod:`dp_cmdp.objective_error`); ∞ if not needed."""
        if self.read.size == 0:
            return float("inf")
        up, down = (part[self.read] for part in self.noise.error_means(self.entries))
        gain = float(self.truth.c @ y + (up - down) @ (self.direction @ y))
        span = coordinate_ranges(self.truth)
        return PricedError(self.noise, self.entries, self.truth, self.optimum, span).best(gain)

    def largest_error(self, y: FloatArray) -> float:
        """The objective term at its largest."""
        up, down = (part[self.read] for part in self.noise.error_limits(self.entries))
        low, high = self.span
        at = self.direction @ y
        with np.errstate(invalid="ignore"):
            terms = np.fmax(up * (high - at), down * (at - low))
        return float(terms.sum())


def instance_bound(
    program: ParametricLP | ParametricCMDP,
    release: Release,
    *,
    database: Database,
    x: Any,
) -> CuratorOnly:
    """A bound of cᵀx* − cᵀx̃ for one release, from one strictly feasible point.

    Parameters
    ----------
    program : ParametricLP or ParametricCMDP
    release : Release
    database : Database
    x : array_like
        The private answer x̃ made from `release` (used only when the objective is private).

    Returns
    -------
    CuratorOnly
        The smallest bound over a few strictly feasible points; ∞ when there is none.

    Notes
    -----
    **Paper.** Ours; it follows ``app:accuracy`` without a Hoffman constant.
    **Privacy.** *Curator only.*
    """
    lp = as_program(program)
    target = lp if release.method == "database" else entrywise(lp)
    truth = lp.at(database.values)
    best = solve(truth, certify=False).x
    answer = _check.vector("x", x, size=lp.num_variables)
    c_released = target.c.at(release.estimate)
    sides = {"lower": release.lower, "upper": release.upper}
    rows = lp.A.shape[0]
    excess = np.maximum(-target.worst_case_slack(best, **sides)[:rows], 0.0)
    found = [np.inf]
    for w in _interior_points(target, release, truth.c):
        room = target.worst_case_slack(w, **sides)[:rows]
        if (room[excess > 0] <= 0).any() or (room < 0).any():
            continue
        weight = float(np.max(excess / np.where(excess > 0, excess + room, 1.0), initial=0.0))
        x_weighted = (1.0 - weight) * best + weight * w
        error = float((c_released - truth.c) @ (answer - x_weighted))
        found.append(weight * float(truth.c @ (best - w)) + error)
    return CuratorOnly(min(found))


def _interior_points(target: ParametricLP, release: Release, c: FloatArray) -> list[FloatArray]:
    """Points whose rows keep a share of the largest common slack, from little to most of it."""
    lp = target.robust(release.lower, release.upper)
    m, n = target.A.shape[0], target.num_variables
    unit = np.zeros(lp.num_rows)
    unit[:m] = np.maximum(np.abs(lp.b[:m]), 1e-12 + np.abs(lp.b[:m]).max(initial=0.0) * 1e-6)
    unit[:m] = np.where(unit[:m] > 0, unit[:m], 1.0)
    widest = LinearProgram(
        np.append(np.zeros(lp.num_variables), 1.0),
        sparse.hstack([lp.A, sparse.csr_array(unit[:, None])]),
        b=lp.b,
        A_eq=sparse.hstack([lp.A_eq, sparse.csr_array((lp.b_eq.size, 1))]),
        b_eq=lp.b_eq,
        lower=np.append(lp.lower, 0.0),
        upper=np.append(lp.upper, 1e6),
    )
    slack = solve(widest, certify=False).x[-1]
    full = np.append(c, np.zeros(lp.num_variables - n))
    return [
        solve(_with_objective(lp, full, lp.b - share * slack * unit), certify=False).x[:n]
        for share in (0.02, 0.1, 0.3, 0.6, 0.95)
    ]


def _with_objective(lp: LinearProgram, c: FloatArray, b: FloatArray | None = None) -> LinearProgram:
    return LinearProgram(
        c,
        lp.A,
        b=lp.b if b is None else b,
        A_eq=lp.A_eq,
        b_eq=lp.b_eq,
        lower=lp.lower,
        upper=lp.upper,
    )
