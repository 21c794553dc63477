"""Upper bounds on the discounted costs of a policy that hold with certainty.

**What is bounded.** The floats of `cmdp` and `policy` are read as exact rationals. Rows of T, rows
of π and μ miss 1 by rounding, so each is divided by its own sum *in exact arithmetic*: this defines
one stochastic model, one policy and one number C_i = μᵀv_i per constraint, with
v_i = f_π + γP_π v_i. The bound holds for these numbers; no tolerance enters anywhere.

**Theorem.** Let v̂ be any vector, R a set of states that P_π never leaves and that holds the support
of μ, and ρ(s) = f_π(s) + γ(P_π v̂)(s) − v̂(s) ≤ ρ⁺ on R for some ρ⁺ ≥ 0. Then
C ≤ μᵀv̂ + ρ⁺/(1 − γ). *Proof.* On R, v − v̂ = (I − γP_π)⁻¹ρ = Σ_t γ^t P_π^t ρ ≤ ρ⁺ Σ_t γ^t. ∎

**Rounding.** With P_π stochastic, ρ may be written around v̂(s),

    ρ(s) = Σ_a p_a·[f(s,a) + γ Σ_j t_aj·(v̂_j − v̂_s)/Σ_j t_aj]/Σ_a p_a − (1 − γ)·v̂_s,

and evaluated in this order in double precision (u = 2⁻⁵³). Each elementary product on the way to
the result is multiplied by at most m = 2·(longest row of T) + 2·num_actions + 8 factors (1 + d)^±1
with |d| ≤ u: one for v̂_j − v̂_s, one per product and quotient, fewer than the number of terms for
each sum in whatever order it is taken, denominators included (their terms are positive). So the
computed value differs from ρ(s) by at most θB, θ = mu/(1 − mu), where B is the same expression with
every product replaced by its modulus (Higham, *Accuracy and Stability of Numerical Algorithms*,
lemma 3.1). B is computed with no more factors, hence B ≤ B̃/(1 − θ), and θ/(1 − θ) = mu/(1 − 2mu).
A product or quotient that underflows errs by at most 2⁻¹⁰⁷⁴ more, later factors multiply that by
less than 8, and fewer than 2⁶⁰ are made per state: 2⁻¹⁰⁰⁰ covers them. The last operations are
rounded up with ``nextafter``. μᵀv̂ uses correctly rounded sums of rounded products. Overflow yields
the bound +∞, which is true.

**Exact zeros.** By walking the graph of π: R is what μ reaches, and v = 0 in states that reach no
state of non-zero cost. There v̂ = 0 makes every product 0, so no rounding term is due and a policy
that avoids all cost is certified at exactly 0.

**Tightness.** v̂ is a computed solution raised to a *supersolution*: the computed bound on ρ, plus a
margin, is solved for as a cost and added, which makes ρ ≤ 0 in every state of R. The excess is then
rounding weighted by the visits of the policy instead of its maximum times 1/(1 − γ).
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from dp_cmdp import _check
from dp_cmdp._check import FloatArray
from dp_cmdp._door import door
from dp_cmdp.cmdp.chain import DiscountedChain, choice_matrix
from dp_cmdp.cmdp.model import CMDP
from dp_cmdp.cmdp.policy import Policy

#: Unit roundoff of doubles.
UNIT = 2.0**-53
#: More than all underflows of one state's residual together.
UNDERFLOW = 2.0**-1000
#: Attempts to raise the approximate cost function to a supersolution.
LIFTS = 3
FORMAT = "dp_cmdp.PolicyCertificate/2"

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class PolicyCertificate:
    """Proof that a policy keeps its tolerances, or the reason why there is none.

    Attributes
    ----------
    worst_case_cost : (K,)
        Upper bounds on the exact discounted costs. On a tightened model (costs at their highest,
        tolerances at their lowest over a release's box) they hold for every database in the box.
    tolerance : (K,)
        f0 of the model: the lowest tolerance.
    joint : (K,), optional
        Upper bounds on cost − tolerance, both of the same database: where facts about both are
        known together, this can be ≤ 0 although the highest cost exceeds the lowest tolerance.

    Examples
    --------
    >>> from dp_cmdp import robust_policy
    >>> from dp_cmdp.envs import HazardGridEnv
    >>> certificate = robust_policy(HazardGridEnv("corridor").model()).certificate
    >>> certificate.verified, bool((certificate.worst_case_cost <= certificate.tolerance).all())
    (True, True)
    """

    worst_case_cost: FloatArray
    tolerance: FloatArray
    joint: FloatArray | None = None

    @property
    def kept(self) -> NDArray[np.bool_]:
        """Whether each tolerance is kept, with certainty."""
        apart = self.worst_case_cost <= self.tolerance
        return apart if self.joint is None else apart | (self.joint <= 0.0)

    @property
    def verified(self) -> bool:
        """Whether every tolerance is kept, with certainty."""
        return bool(self.kept.all())

    @property
    def slack(self) -> FloatArray:
        """What every tolerance has left at least; non-negative exactly when verified."""
        slack = self.tolerance - self.worst_case_cost
        apart = np.where(slack == 0.0, 0.0, np.nextafter(slack, -np.inf))
        return _check.frozen(apart if self.joint is None else np.maximum(apart, -self.joint))

    def text(self) -> list[str]:
        """One sentence per constraint."""
        pairs = zip(self.worst_case_cost.tolist(), self.tolerance.tolist(), strict=True)
        told = []
        for i, (cost, most) in enumerate(pairs):
            line = f"worst-case cost {cost:.9g}, tolerance {most:.9g}"
            if self.joint is not None and cost > most:
                line += f" at least; of one database, cost − tolerance ≤ {self.joint[i]:.3g}"
            told.append(line)
        return told

    def to_json(self) -> str:
        """The certificate as one line of JSON; an infinite bound is written as null."""
        bounds = [cost if math.isfinite(cost) else None for cost in self.worst_case_cost.tolist()]
        return json.dumps(
            {
                "format": FORMAT,
                "verified": self.verified,
                "worst_case_cost": bounds,
                "tolerance": self.tolerance.tolist(),
                "joint": None if self.joint is None else self.joint.tolist(),
            }
        )


@door
def certify_policy(
    cmdp: CMDP, policy: Policy, *, chain: DiscountedChain | None = None
) -> PolicyCertificate:
    """Bound every discounted cost of `policy` from above, with certainty.

    Parameters
    ----------
    cmdp : CMDP
        The model; for a private policy the *tightened* one, which is public.
    policy : Policy
        The randomised policy itself. Playing it with ``deterministic=True`` is another policy.
    chain : DiscountedChain, optional
        Of this policy in any model with the same dynamics, when it is at hand. Its answers are
        only guesses that the bound corrects: a wrong one costs tightness, not rigour.

    Returns
    -------
    PolicyCertificate

    Notes
    -----
    Takes one factorisation and a few passes over the non-zeros of T. The excess over the true
    cost is a few roundings: about 10⁻¹⁶ × (longest row of T) × (cost along the policy's own path).

    **Paper.** Certain constraint satisfaction of ``thm:feasible``, checked on the delivered policy.
    **Privacy.** *Post-processing* of the tightened model; curator only on the true one.

    Examples
    --------
    >>> from dp_cmdp import Policy
    >>> from dp_cmdp.cmdp.certificate import certify_policy
    >>> from dp_cmdp.envs import HazardGridEnv
    >>> worst = HazardGridEnv("corridor").model().robust()
    >>> right = Policy.deterministic([2] * worst.num_states, 4)  # through the hazards
    >>> certify_policy(worst, right).verified
    False
    """
    if chain is None:
        chain = DiscountedChain(cmdp, policy)
    chain.check_fits(cmdp, policy)
    compiled = chain.compiled and chain.compiled.cost_bounds(cmdp, policy.probs)
    found = _cost_bounds(cmdp, policy, chain=chain) if compiled is None else compiled
    return PolicyCertificate(worst_case_cost=_check.frozen(found), tolerance=cmdp.f0)


def _cost_bounds(cmdp: CMDP, policy: Policy, *, chain: DiscountedChain) -> FloatArray:
    """What ``solvers/kernels/proof.c`` does, without it."""
    graph = _graph(cmdp, policy)
    reached = _reached(graph, cmdp.mu > 0.0)
    bounds = []
    for cost in cmdp.f:
        costly = ((cost != 0.0) & (policy.probs > 0.0)).any(axis=1)
        live = reached & _reached(sparse.csr_array(graph.T), costly)
        with np.errstate(all="ignore"):
            bounds.append(_cost_bound(cmdp, policy, chain=chain, cost=cost, live=live))
    return np.array(bounds)


def _cost_bound(
    cmdp: CMDP, policy: Policy, *, chain: DiscountedChain, cost: FloatArray, live: Mask
) -> float:
    mean = np.einsum("sa,sa->s", policy.probs, cost)
    estimate = np.where(live, chain.values(mean), 0.0)
    bound = math.inf
    for _ in range(1 + LIFTS):
        high, margin = _residual(cmdp, policy, cost=cost, estimate=estimate, live=live)
        top = float(np.max(high, initial=0.0))
        bound = min(bound, _total_bound(cmdp, estimate, top))
        if top == 0.0 or not math.isfinite(top):
            break
        estimate = np.where(live, estimate + chain.values(np.where(live, high + margin, 0.0)), 0.0)
    return bound


def _residual(
    cmdp: CMDP, policy: Policy, *, cost: FloatArray, estimate: FloatArray, live: Mask
) -> tuple[FloatArray, FloatArray]:
    """Upper bounds on ρ in live states (0 elsewhere, exactly), and a margin that covers them."""
    T, num_actions = cmdp.T, cmdp.num_actions
    lengths = np.diff(T.indptr)
    origin = np.repeat(estimate, num_actions)
    change = T.data * (estimate[T.indices] - np.repeat(origin, lengths))
    mass = np.add.reduceat(T.data, T.indptr[:-1])
    weight = policy.probs / policy.probs.sum(axis=1, keepdims=True)

    def expression(cost: FloatArray, change: FloatArray, stay: FloatArray) -> FloatArray:
        move = (np.add.reduceat(change, T.indptr[:-1]) / mass).reshape(weight.shape)
        return (weight * (cost + cmdp.gamma * move)).sum(axis=1) - (1.0 - cmdp.gamma) * stay

    value = expression(cost, change, estimate)
    modulus = expression(np.abs(cost), np.abs(change), -np.abs(estimate))
    factors = 2 * int(lengths.max()) + 2 * num_actions + 8
    theta = _up(factors * UNIT / (1.0 - 2.0 * factors * UNIT)) * (1.0 + 4.0 * UNIT)
    error = _up(_up(theta * modulus) + UNDERFLOW)
    high = np.where(live, _up(value + error), 0.0)
    margin = 2.0 * error + 8.0 * UNIT * (np.abs(estimate) + modulus)
    return np.where(np.isnan(high), np.inf, high), margin


def _total_bound(cmdp: CMDP, estimate: FloatArray, top: float) -> float:
    """μᵀv̂ + top/(1 − γ), rounded up."""
    products = cmdp.mu * estimate
    if not math.isfinite(np.abs(products).sum()) or not math.isfinite(top):
        return math.inf
    total = math.fsum(cmdp.mu)
    mean = math.fsum(products) / total
    modulus = math.fsum(np.abs(products)) / total
    if estimate[cmdp.mu > 0.0].any():
        mean = _up(mean + _up(_up(8.0 * UNIT * modulus) + UNDERFLOW))
    if top == 0.0:
        return float(mean)
    return float(_up(mean + _up(top / np.nextafter(1.0 - cmdp.gamma, 0.0))))


def _graph(cmdp: CMDP, policy: Policy) -> sparse.csr_array:
    """Which states can follow which under the policy; counts of ways, so nothing underflows."""
    choices = choice_matrix(policy)
    choices.data[:] = 1.0
    moves = sparse.csr_array(
        ((cmdp.T.data > 0.0).astype(np.float64), cmdp.T.indices, cmdp.T.indptr), shape=cmdp.T.shape
    )
    graph = sparse.csr_array(choices @ moves)
    graph.eliminate_zeros()
    return graph


def _reached(graph: sparse.csr_array, start: Mask) -> Mask:
    """The states on some path from `start`, itself included."""
    size, first = start.size, np.flatnonzero(start)
    extended = sparse.csr_array(
        (
            np.concatenate([graph.data, np.ones(first.size)]),
            np.concatenate([graph.indices, first.astype(graph.indices.dtype)]),
            np.append(graph.indptr, graph.indptr[-1] + first.size),
        ),
        shape=(size + 1, size + 1),
    )
    order = csgraph.breadth_first_order(extended, size, return_predecessors=False)
    reached = np.zeros(size + 1, dtype=bool)
    reached[order] = True
    return reached[:size]


def _up(value: FloatArray | float) -> FloatArray:
    return np.nextafter(value, np.inf)
