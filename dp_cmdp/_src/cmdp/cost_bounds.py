"""Upper bounds on the costs of a policy that hold with certainty.

Over a horizon they are those of :mod:`dp_cmdp._src.cmdp.episode`; discounted and total ones follow.
``solvers/kernels/proof.c`` does the same for discounted ones.

**What is bounded.** The floats of model and policy are read as exact rationals. Rows of T, rows of
π and the start miss 1 by rounding, so each is divided by its own sum *in exact arithmetic*: this
defines one stochastic model, one policy and one number C = startᵀv per cost, with v = f_π + γP_π v.
The bounds hold for these numbers; no solver's tolerance enters anywhere.

**Theorem.** Let v̂ be any vector, R a set of states that P_π never leaves and that holds the support
of the start, and ρ(s) = f_π(s) + γ(P_π v̂)(s) − v̂(s) ≤ ρ⁺ on R for some ρ⁺ ≥ 0. Then
C ≤ startᵀv̂ + ρ⁺/(1 − γ). *Proof.* On R, v − v̂ = (I − γP_π)⁻¹ρ = Σ_t γ^t P_π^t ρ ≤ ρ⁺ Σ_t γ^t. ∎

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
rounded up with ``nextafter``. startᵀv̂ uses correctly rounded sums of rounded products. Overflow
yields the bound +∞, which is true.

**Exact zeros.** By walking the graph of π: R is what the start reaches, and v = 0 in states that
reach no state of non-zero cost. There v̂ = 0 makes every product 0, so no rounding term is due and a
policy that avoids all cost is certified at exactly 0.

**Tightness.** v̂ is a computed solution raised to a *supersolution*: the computed bound on ρ, plus a
margin, is solved for as a cost and added, which makes ρ ≤ 0 in every state of R. The excess is then
rounding weighted by the visits of the policy instead of its maximum times 1/(1 − γ).

**Totals** (γ = 1, every episode ends). *Theorem.* Let v̂ = w = 0 in states after the end, w ≥ 0, and
on the other states that π reaches 0 < δ(s) ≤ w(s) − (P_π w)(s); ρ as above with γ = 1 and
κ = max ρ⁺(s)/δ(s). Then π ends surely, and C ≤ startᵀv̂ + κ·startᵀw. *Proof.*
w ≥ min δ·Σ_{t<N} P_π^t 1 for all N; v − v̂ = Σ_t P_π^t ρ ≤ κ Σ_t P_π^t δ ≤ κw. ∎ In the same way an
occupancy with the residual ρ is off by at most Σ|ρ|w/min δ. (An earlier version without the maximum
with 0 was wrong where all residuals are negative.) w are the lengths of the model's
:class:`~dp_cmdp._src.cmdp.ending.Ending`, δ is computed for the policy, rounded down.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import sparse

from dp_cmdp._src.base.validation import FloatArray
from dp_cmdp._src.cmdp.certificate import UNDERFLOW, UNIT, up, weights_of
from dp_cmdp._src.cmdp.chain import DiscountedChain, choice_matrix
from dp_cmdp._src.cmdp.charges import Mask, reached
from dp_cmdp._src.cmdp.episode import mean_above
from dp_cmdp._src.cmdp.model import CMDP, MDP
from dp_cmdp._src.cmdp.policy import Policy

#: Attempts to raise the approximate cost function to a supersolution.
LIFTS = 3


def cost_bounds(cmdp: CMDP, policy: Policy, chain: DiscountedChain) -> FloatArray:
    """Upper bounds (K,) on the exact costs of `policy`, within a few roundings.

    Answers of the chain are only guesses that the bounds correct: a wrong one costs tightness.
    """
    graph = _graph(cmdp, policy)
    within = reached(graph, cmdp.start > 0.0)
    bounds = []
    for cost in cmdp.cost:
        costly = ((cost != 0.0) & (policy.probabilities > 0.0)).any(axis=1)
        live = within & reached(sparse.csr_array(graph.T), costly)
        with np.errstate(all="ignore"):
            bounds.append(_cost_bound(cmdp, policy, chain=chain, cost=cost, live=live))
    return np.array(bounds)


def _cost_bound(
    mdp: MDP, policy: Policy, *, chain: DiscountedChain, cost: FloatArray, live: Mask
) -> float:
    """An approximate cost function, lifted until it bounds the cost."""
    estimate = np.where(live, chain.values(chain.average(cost)), 0.0)
    bound = math.inf
    for _ in range(1 + LIFTS):
        high, margin = _residual(mdp, policy, cost=cost, estimate=estimate, live=live)
        top = float(np.max(high, initial=0.0))
        bound = min(bound, _total_bound(mdp, policy, estimate=estimate, high=high))
        if top == 0.0 or not math.isfinite(top):
            break
        estimate = np.where(live, estimate + chain.values(np.where(live, high + margin, 0.0)), 0.0)
    return bound


def _residual(
    mdp: MDP, policy: Policy, *, cost: FloatArray, estimate: FloatArray, live: Mask
) -> tuple[FloatArray, FloatArray]:
    """Upper bounds on ρ in live states (0 elsewhere, exactly), and a margin that covers them."""
    T, num_actions = mdp.T, mdp.num_actions
    lengths = np.diff(T.indptr)
    origin = np.repeat(estimate, num_actions)
    change = T.data * (estimate[T.indices] - np.repeat(origin, lengths))
    mass = np.add.reduceat(T.data, T.indptr[:-1])
    weight = weights_of(policy)

    def expression(cost: FloatArray, change: FloatArray, stay: FloatArray) -> FloatArray:
        move = (np.add.reduceat(change, T.indptr[:-1]) / mass).reshape(weight.shape)
        return (weight * (cost + mdp.gamma * move)).sum(axis=1) - (1.0 - mdp.gamma) * stay

    value = expression(cost, change, estimate)
    modulus = expression(np.abs(cost), np.abs(change), -np.abs(estimate))
    factors = 2 * int(lengths.max()) + 2 * num_actions + 8
    theta = up(factors * UNIT / (1.0 - 2.0 * factors * UNIT)) * (1.0 + 4.0 * UNIT)
    error = up(up(theta * modulus) + UNDERFLOW)
    high = np.where(live, up(value + error), 0.0)
    margin = 2.0 * error + 8.0 * UNIT * (np.abs(estimate) + modulus)
    return np.where(np.isnan(high), np.inf, high), margin


def _total_bound(mdp: MDP, policy: Policy, *, estimate: FloatArray, high: FloatArray) -> float:
    """startᵀv̂ + top/(1 − γ), or startᵀv̂ + κ·startᵀw, rounded up."""
    mean, top = mean_above(mdp.start, estimate), float(np.max(high, initial=0.0))
    if not math.isfinite(mean) or not math.isfinite(top):
        return math.inf
    if top == 0.0:
        return mean
    if mdp.ending is None:
        return float(up(mean + up(top / np.nextafter(1.0 - mdp.gamma, 0.0))))
    least = least_drop(mdp, policy)
    ratio = float(up(top / least)) if least > 0.0 else math.inf
    return float(up(mean + up(ratio * mean_above(mdp.start, mdp.ending.lengths))))


def least_drop(mdp: MDP, policy: Policy) -> float:
    """A lower bound on δ = w − P_π w in the states that are not after the end."""
    assert mdp.ending is not None
    w, none = mdp.ending.lengths, np.zeros_like(mdp.r)
    rise, _ = _residual(mdp, policy, cost=none, estimate=w, live=w > 0.0)
    return float(-rise[w > 0.0].max(initial=-1.0))


def _graph(mdp: MDP, policy: Policy) -> sparse.csr_array:
    """Which states can follow which under the policy; counts of ways, so nothing underflows."""
    choices = choice_matrix(policy)
    choices.data[:] = 1.0
    moves = sparse.csr_array(
        ((mdp.T.data > 0.0).astype(np.float64), mdp.T.indices, mdp.T.indptr), shape=mdp.T.shape
    )
    graph = sparse.csr_array(choices @ moves)
    graph.eliminate_zeros()
    return graph
