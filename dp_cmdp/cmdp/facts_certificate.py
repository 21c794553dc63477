"""A policy's constraints for every database of a polytope, with certainty.

**What is bounded.** As in :mod:`dp_cmdp.cmdp.certificate`, the floats of model and policy are exact
rationals and each distribution is divided by its own sum. Let x be the discounted occupancy of the
policy in that model, and cost_i(θ) and tolerance_i(θ) affine in the database θ. The *excess* of
constraint i is the largest cost_i(θ)ᵀx − tolerance_i(θ) over all θ with lower ≤ θ ≤ upper, Wθ ≤ q.

**Bound.** For any multipliers λ ≥ 0 of the row facts and any x̂, weak duality bounds the excess at x̂
in exact arithmetic (:mod:`dp_cmdp.program.polytope_rows`), and the excess at x is larger by at most
M_i·‖x − x̂‖₁, where M_i ≥ |cost_i(θ)| on the box. x is the fixed point of

    F(x)(s, a) = π(a|s)·[μ(s) + γ Σ_{s',a'} T(s', a', s)·x(s', a')],

which shrinks ℓ1-distances by γ, so ‖x − x̂‖₁ ≤ ‖F(x̂) − x̂‖₁/(1 − γ). *Proof.* x − x̂ = F(x) − F(x̂) +
F(x̂) − x̂, and ‖F(x) − F(x̂)‖₁ ≤ γ‖x − x̂‖₁. ∎

**Rounding.** With x̂ ≥ 0 every term of F(x̂) is a product of non-negative floats and quotients. In
state s each passes at most m = (moves into s) + (longest row of T) + num_actions + 10 factors
(1 + d)^±1, |d| ≤ u = 2⁻⁵³, so the computed F(x̂) − x̂ is wrong by at most mu/(1 − 2mu) times the
computed F(x̂) + x̂, plus what underflows; the last operations are rounded up.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from dp_cmdp import _check
from dp_cmdp._check import FloatArray
from dp_cmdp._door import door
from dp_cmdp.cmdp.certificate import UNDERFLOW, UNIT, PolicyCertificate, certify_policy
from dp_cmdp.cmdp.chain import DiscountedChain
from dp_cmdp.cmdp.model import CMDP
from dp_cmdp.cmdp.parametric import ParametricCMDP
from dp_cmdp.cmdp.policy import Policy
from dp_cmdp.data.affine import Affine
from dp_cmdp.data.polytope import Polytope
from dp_cmdp.data.release import Release
from dp_cmdp.errors import InvalidArgumentError, SolverError
from dp_cmdp.program.counterpart import Counterpart, UncertainRows
from dp_cmdp.program.linear_program import LinearProgram, make_engine
from dp_cmdp.program.polytope_rows import PolytopeRows

#: Corrections of the approximate occupancy by its own residual.
CORRECTIONS = 2


@door
def certify_for(model: ParametricCMDP, policy: Policy, release: Release) -> PolicyCertificate:
    """Bound every cost of `policy` for everything that a release allows, with certainty.

    Notes
    -----
    **Privacy.** *Post-processing*.
    """
    _check.instance("release", release, Release)
    if release.totals is None:
        return certify_policy(model.tightened(release), policy)
    release.check_fits(model.envelope)
    return certify_over(model, policy, release.polytope)


@door
def certify_over(
    model: ParametricCMDP,
    policy: Policy,
    polytope: Polytope,
    *,
    multipliers: ArrayLike | None = None,
    chain: DiscountedChain | None = None,
) -> PolicyCertificate:
    """Bound every cost of `policy` for every database of a polytope, with certainty.

    Parameters
    ----------
    model : ParametricCMDP
    policy : Policy
    polytope : Polytope
        Of databases of the model.
    multipliers : array_like, optional
        Of the row facts, as many as ``model.program().polytope_rows(polytope).num_multipliers``;
        by default the best ones for this policy. Any prove a bound.
    chain : DiscountedChain, optional
        Of this policy in any model with the same dynamics, when it is at hand.

    Returns
    -------
    PolicyCertificate
        `tolerance` is the lowest tolerance of the box; where it is private, `joint` bounds
        cost_i(θ) − tolerance_i(θ). Where row facts prove nothing, the box alone may
        (:func:`~dp_cmdp.cmdp.certificate.certify_policy`).

    Notes
    -----
    **Privacy.** *Post-processing*.
    """
    _check.instance("model", model, ParametricCMDP)
    _check.instance("polytope", polytope, Polytope)
    if chain is None:
        chain = DiscountedChain(model.public, policy)
    rows = model.program().polytope_rows(polytope)
    given = None
    if multipliers is not None:
        given = _check.vector("multipliers", multipliers, size=rows.num_multipliers)
        if (given < 0.0).any():
            raise InvalidArgumentError("multipliers must not be negative")
    box = model.robust(polytope.lower, polytope.upper)
    x, error = occupancy_within(model.public, policy, chain=chain)
    with np.errstate(all="ignore"):
        loose = _up(_largest_costs(model, polytope) * error)
        excess = _excess(rows, x.ravel(), loose=loose, multipliers=given)
        cost = _up(box.f0 + excess)
    cost = np.where(excess <= 0.0, np.minimum(cost, box.f0), cost)
    joint = None
    if not model.tolerance.is_public:
        joint = _check.frozen(excess)
        cost = _excess(_cost_rows(model, polytope), x.ravel(), loose=loose, multipliers=None)
    proof = PolicyCertificate(_check.frozen(cost), box.f0, joint)
    if proof.verified:
        return proof
    entrywise = certify_policy(box, policy, chain=chain).worst_case_cost
    return replace(proof, worst_case_cost=_check.frozen(np.minimum(cost, entrywise)))


def _excess(
    rows: PolytopeRows, x: FloatArray, *, loose: FloatArray, multipliers: FloatArray | None
) -> FloatArray:
    """Certain upper bounds on the rows at every occupancy that is close enough to x."""
    factors = best_multipliers(rows.counterpart(), x) if multipliers is None else multipliers
    with np.errstate(all="ignore"):
        excess = _up(loose - np.nextafter(rows.exact_slack(x, factors), -np.inf))
    return np.where(np.isnan(excess), np.inf, excess)


def _cost_rows(model: ParametricCMDP, polytope: Polytope) -> PolytopeRows:
    """The costs alone: rows with tolerance 0."""
    pairs = model.public.r.size
    uncertain = UncertainRows(
        model.cost,
        Affine(model.cost.shape[0]),
        num_entries=model.envelope.num_entries,
        x_lower=np.zeros(pairs),
        x_upper=np.full(pairs, np.inf),
    )
    return PolytopeRows(uncertain, polytope)


def occupancy_within(
    cmdp: CMDP, policy: Policy, *, chain: DiscountedChain
) -> tuple[FloatArray, float]:
    """An occupancy measure x̂ ≥ 0, and a certain bound on its ℓ1-distance from the exact one."""
    weight = policy.probs / policy.probs.sum(axis=1, keepdims=True)
    mass = np.add.reduceat(cmdp.T.data, cmdp.T.indptr[:-1])
    start, moved = cmdp.mu / math.fsum(cmdp.mu), cmdp.T.T

    def arrivals(x: FloatArray) -> FloatArray:
        return start + cmdp.gamma * (moved @ (x.ravel() / mass))

    with np.errstate(all="ignore"):
        visits = np.maximum(chain.visits(start), 0.0)
        for _ in range(CORRECTIONS):
            gap = arrivals(visits[:, None] * weight) - visits
            visits = np.maximum(visits + chain.visits(gap), 0.0)
        x = visits[:, None] * weight
        image = arrivals(x)[:, None] * weight
        into = np.bincount(cmdp.T.indices, minlength=cmdp.num_states)
        factors = (into + int(np.diff(cmdp.T.indptr).max()) + cmdp.num_actions + 10) * UNIT
        theta = _up(factors / (1.0 - 2.0 * factors)) * (1.0 + 4.0 * UNIT)
        wrong = _up(_up(theta[:, None] * _up(image + x)) + UNDERFLOW)
        residual = _up(_up(np.abs(image - x)) + wrong)
        if not np.isfinite(residual).all():
            return np.zeros_like(x), math.inf
        total = math.nextafter(math.fsum(residual.ravel()), math.inf)
        return x, float(_up(total / np.nextafter(1.0 - cmdp.gamma, 0.0)))


def best_multipliers(rows: Counterpart, x: FloatArray) -> FloatArray:
    """The multipliers of the row facts that bound the rows best at a given x, or zeros."""
    if not rows.num_multipliers:
        return np.empty(0)
    n, floor = x.size, np.full(rows.num_auxiliary, -np.inf)
    floor[rows.num_auxiliary - rows.num_positive :] = 0.0
    lp = LinearProgram(
        -np.asarray(rows.A[:, n:].sum(axis=0)).ravel(),
        rows.A_aux[:, n:],
        b=rows.b_aux - rows.A_aux[:, :n] @ x,
        lower=floor,
        upper=np.inf,
    )
    try:
        found = make_engine(lp, "highs").run(lp.b).x
    except SolverError:
        return np.zeros(rows.num_multipliers)
    return np.maximum(found[found.size - rows.num_multipliers :], 0.0)


def _largest_costs(model: ParametricCMDP, polytope: Polytope) -> FloatArray:
    """M_i: no cost of constraint i is larger, in modulus, for any database of the box."""
    ends = model.cost.extremes(polytope.lower, polytope.upper)
    return np.max([abs(end).max(axis=1).toarray().ravel() for end in ends], axis=0)


def _up(value: FloatArray | float) -> FloatArray:
    return np.nextafter(value, np.inf)
