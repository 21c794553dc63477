"""Upper bounds on the costs of a policy that hold with certainty.

Over a horizon they are those of :mod:`dp_cmdp._src.cmdp.episode`; discounted and total ones follow.

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

A policy's constraints for every database of an uncertainty set, with certainty.

**What is bounded.** As in :mod:`dp_cmdp._src.cmdp.certificate`, the floats of model and policy are
exact rationals and each distribution is divided by its own sum. x is the discounted occupancy of
the policy in that model. The *excess* of constraint i is the largest cost_i(θ)ᵀx − limit_i(θ) over
all θ with lower ≤ θ ≤ upper, Wθ ≤ q.

**Bound.** For any multipliers λ ≥ 0 of the inequalities, weak duality bounds the excess by the
maximum over the box alone of

    E(θ) = cost_i(θ)ᵀx − limit_i(θ) + λᵀ(q − Wθ) = constant + Σ_k z_k θ_k,

z_k = w_k(x) − (Wᵀλ)_k with w_k(x) what the constraint asks of entry k. Let θ̄ be a corner of the box
that is meant to be the worst: θ̄_k is the upper end where an approximate z_k is positive. Then

    max E ≤ E(θ̄) + Σ_k (upper_k − lower_k)·max(0, e_k − |ẑ_k|)

whenever |z_k − ẑ_k| ≤ e_k, because an end is the wrong one only where |z_k| ≤ e_k − |ẑ_k|. Where
x ≥ 0 fixes the sign of z_k, the term is 0: over a box of costs none is left. E(θ̄) is the cost of
one policy in one MDP with known costs, rounded up, plus a sum that is evaluated exactly.

**The error e_k** is that of a sum of floats plus the largest coefficient of θ_k in the cost times a
certain bound on ‖x − x̂‖₁.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from dp_cmdp._src.base import exact
from dp_cmdp._src.base.errors import SolverError
from dp_cmdp._src.base.validation import FloatArray
from dp_cmdp._src.cmdp.chain import Chain, DiscountedChain, chain_of, choice_matrix
from dp_cmdp._src.cmdp.episode import EpisodeChain, mean_above
from dp_cmdp._src.cmdp.model import CMDP, MDP
from dp_cmdp._src.cmdp.policy import Policy
from dp_cmdp._src.data.envelope import UncertaintySet
from dp_cmdp._src.program.highs import HighsEngine
from dp_cmdp._src.program.linear import LinearProgram
from dp_cmdp._src.program.rows import RobustRows, UncertainRows

if TYPE_CHECKING:
    from numpy.typing import NDArray


def excess_of(
    mdp: MDP,
    rows: RobustRows,
    policy: Policy,
    *,
    links: FloatArray,
    chain: Chain,
    exactly: bool = False,
) -> FloatArray:
    """Certain upper bounds on cost_i(θ) − limit_i(θ) over the set; `exactly` for small models."""
    theta, wrong = _worst_corner(mdp, rows, policy, links=links, chain=chain)
    own = rows.rows
    costs, rest = corner(mdp, own, theta[own.A_pair], theta[own.b_pair])
    worst = mdp._with_costs(costs, np.zeros(len(costs)))
    if exactly:
        from dp_cmdp._src.cmdp.exact_costs import exact_costs

        bounds = exact_costs(worst, policy)
    else:
        bounds = cost_bounds(worst, policy, chain).tolist()
    proved = _of_inequalities(rows, theta, links)
    parts = zip(bounds, rest.tolist(), proved.tolist(), wrong.tolist(), strict=True)
    return np.array(list(map(_sum_up, parts)))


def _worst_corner(
    mdp: MDP, rows: RobustRows, policy: Policy, *, links: FloatArray, chain: Chain
) -> tuple[FloatArray, FloatArray]:
    """θ̄ per pair of row and entry, and per row what the wrong ends among them may cost."""
    own, (meeting, link, weight) = rows.rows, rows.pull
    sign = np.ones(rows.row.size, dtype=np.int64)
    sign[: own.keys.size] = own.sign
    sign[meeting[links[link] > 0.0]] = 0
    theta = np.where(sign > 0, rows.high, rows.low)
    hard = np.flatnonzero((sign == 0) & (rows.low < rows.high))
    if not hard.size:
        return theta, np.zeros(own.num_rows)
    x, off = occupancy_within(mdp, policy, chain)
    pair, (left, right) = own.weight_terms(x.ravel())
    z, rounding, _ = exact.sum_bounds(
        np.concatenate([pair, meeting]),
        [np.concatenate([left, -weight]), np.concatenate([right, links[link]])],
        num_rows=rows.row.size,
    )
    error = np.zeros(rows.row.size)
    size = 2.0 * np.abs(own.A.coefficient)  # twice, for the roundings of sums and products here
    theta[hard] = np.where(z > 0.0, rows.high, rows.low)[hard]
    with np.errstate(all="ignore"):
        if isinstance(off, np.ndarray):
            np.add.at(error, own.A_pair, size * off.ravel()[own.A.col])
        else:
            np.maximum.at(error, own.A_pair, size)
            error = up(error * off)
        wide = up(rounding + error) - np.abs(z)
        width = up(rows.high - rows.low)
        most = np.where(wide >= 0.0, up(up(wide) * width), 0.0)[hard]
    wrong = np.bincount(rows.row[hard], weights=most, minlength=own.num_rows).astype(np.float64)
    return theta, wrong * (1.0 + hard.size * 2.0**-52)


def corner(
    mdp: MDP, rows: UncertainRows, in_cost: FloatArray, in_limit: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Costs (K, num_states, num_actions) and −limits (K,), never rounded down.

    θ is given per term of the costs and per term of the limits.
    """
    K, pairs = rows.num_rows, mdp.r.size
    fixed = rows.A.constant.tocoo()
    place = fixed.coords[0].astype(np.int64) * pairs + fixed.coords[1]
    place = np.append(place, rows.A.row * pairs + rows.A.col)
    first = np.concatenate([fixed.data, rows.A.coefficient])
    second = np.concatenate([np.ones(fixed.data.size), in_cost])
    places, which, count = np.unique(place, return_inverse=True, return_counts=True)
    costs = np.zeros(K * pairs)
    costs[places] = _sums_up(which, first, second, count)
    terms = [-np.concatenate([rows.constant, rows.b.coefficient]),
             np.concatenate([np.ones(K), in_limit])]  # fmt: skip
    limits = exact.row_sums_up(np.concatenate([np.arange(K), rows.b.row]), terms, num_rows=K)
    return costs.reshape(K, *mdp.r.shape), limits


def _sums_up(
    which: NDArray[np.intp], first: FloatArray, second: FloatArray, count: NDArray[np.intp]
) -> FloatArray:
    """Sums of products, rounded up; a lone product by 1 is itself."""
    plain = (count[which] == 1) & (np.abs(first) == 1.0)
    sums = np.empty(count.size)
    sums[which[plain]] = first[plain] * second[plain]
    left = np.ones(count.size, dtype=bool)
    left[which[plain]] = False
    number, rest = np.cumsum(left) - 1, ~plain
    found = exact.row_sums_up(
        number[which[rest]], [first[rest], second[rest]], num_rows=int(left.sum())
    )
    sums[left] = found
    return sums


def _of_inequalities(rows: RobustRows, theta: FloatArray, links: FloatArray) -> FloatArray:
    """λᵀ(q − Wθ̄) per row, rounded up."""
    K, (meeting, link, weight) = rows.rows.num_rows, rows.pull
    if not rows.links:
        return np.zeros(K)
    q = rows.known.q[rows.link_inequality]
    return exact.row_sums_up(
        np.concatenate([rows.link_row, rows.link_row[link]]),
        [
            np.concatenate([q, -weight]),
            np.concatenate([links, links[link]]),
            np.concatenate([np.ones(q.size), theta[meeting]]),
        ],
        num_rows=K,
    )


def _sum_up(parts: tuple[float | Fraction, ...]) -> float:
    """The least float that is not below an exact sum; infinite if a part is no number."""
    if not np.isfinite(list(map(float, parts))).all():
        return np.inf
    try:
        return exact.float_above(sum([Fraction(part) for part in parts], Fraction(0)))
    except OverflowError:
        return np.inf


def worst_databases(
    mdp: MDP, rows: UncertainRows, policy: Policy, known: UncertaintySet
) -> FloatArray:
    """Per constraint, a database of the set that maximises cost − limit, (K, entries)."""
    x = chain_of(mdp, policy).occupancy()
    weights = rows.table(rows.weights(x.ravel())).toarray()
    return np.array([_worst_database(row, known) for row in weights])


def _worst_database(weights: FloatArray, known: UncertaintySet) -> FloatArray:
    """A database of the set at which Σ weights·θ is largest, to the solver's accuracy."""
    end = np.where(weights > 0.0, known.upper, known.lower)
    if known.is_box:
        return end
    none = sparse.csr_array((0, end.size))
    lp = LinearProgram(weights, known.W, known.q, none, np.zeros(0), known.lower, known.upper)
    try:
        return np.clip(HighsEngine(lp).run().x, known.lower, known.upper)
    except SolverError:
        return end


#: Unit roundoff of doubles.
UNIT = 2.0**-53
#: More than all underflows of one state's residual together.
UNDERFLOW = 2.0**-1000
#: Attempts to raise the approximate cost function to a supersolution.
LIFTS = 3
#: Occupancies below this are left to the residual: products with them would underflow.
LEAST = 2.0**-400
#: Corrections of the approximate occupancy by its own residual.
CORRECTIONS = 2

Mask = NDArray[np.bool_]


def cost_bounds(cmdp: CMDP, policy: Policy, chain: Chain) -> FloatArray:
    """Upper bounds (K,) on the exact costs of `policy`, within a few roundings.

    Answers of the chain are only guesses that the bounds correct: a wrong one costs tightness.
    """
    if isinstance(chain, EpisodeChain):
        return chain.cost_bounds(cmdp)
    found = None
    if cmdp.ending is None and chain.compiled:
        found = chain.compiled.cost_bounds(cmdp, policy.probabilities)
    if found is not None:
        return found
    graph = _graph(cmdp, policy)
    reached = _reached(graph, cmdp.start > 0.0)
    bounds = []
    for cost in cmdp.cost:
        costly = ((cost != 0.0) & (policy.probabilities > 0.0)).any(axis=1)
        live = reached & _reached(sparse.csr_array(graph.T), costly)
        with np.errstate(all="ignore"):
            bounds.append(_cost_bound(cmdp, policy, chain=chain, cost=cost, live=live))
    return np.array(bounds)


def _cost_bound(
    mdp: MDP, policy: Policy, *, chain: DiscountedChain, cost: FloatArray, live: Mask
) -> float:
    """What ``solvers/kernels/proof.c`` does, without it."""
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
    weight = _weights(policy)

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


def _weights(policy: Policy) -> FloatArray:
    return policy.probabilities / policy.probabilities.sum(axis=1, keepdims=True)


def _total_bound(mdp: MDP, policy: Policy, *, estimate: FloatArray, high: FloatArray) -> float:
    """startᵀv̂ + top/(1 − γ), or startᵀv̂ + κ·startᵀw, rounded up."""
    mean, top = mean_above(mdp.start, estimate), float(np.max(high, initial=0.0))
    if not math.isfinite(mean) or not math.isfinite(top):
        return math.inf
    if top == 0.0:
        return mean
    if mdp.ending is None:
        return float(up(mean + up(top / np.nextafter(1.0 - mdp.gamma, 0.0))))
    least = _least_drop(mdp, policy)
    ratio = float(up(top / least)) if least > 0.0 else math.inf
    return float(up(mean + up(ratio * mean_above(mdp.start, mdp.ending.lengths))))


def _least_drop(mdp: MDP, policy: Policy) -> float:
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


def occupancy_within(
    mdp: MDP, policy: Policy, chain: Chain
) -> tuple[FloatArray, float | FloatArray]:
    """An occupancy measure x̂ ≥ 0, and a certain bound on its ℓ1-distance from the exact one x; over
    a horizon, on what every entry is off by.

    x is the fixed point of F(x)(s, a) = π(a|s)·[start(s) + γ Σ_{s',a'} T(s', a', s)·x(s', a')],
    which shrinks ℓ1-distances by γ, so ‖x − x̂‖₁ ≤ ‖F(x̂) − x̂‖₁/(1 − γ). Every term of F(x̂) is a
    product of non-negative floats and quotients that passes, in state s, at most
    m = (moves into s) + (longest row of T) + num_actions + 10 factors (1 + d)^±1, |d| ≤ 2⁻⁵³.
    """
    if isinstance(chain, EpisodeChain):
        return chain.occupancy_within()
    weight = _weights(policy)
    mass = np.add.reduceat(mdp.T.data, mdp.T.indptr[:-1])
    start, moved = mdp.start / math.fsum(mdp.start), mdp.T.T

    def arrivals(x: FloatArray) -> FloatArray:
        return start + mdp.gamma * (moved @ (x.ravel() / mass))

    with np.errstate(all="ignore"):
        visits = np.maximum(chain.visits(start), 0.0)
        for _ in range(CORRECTIONS):
            gap = arrivals(visits[:, None] * weight) - visits
            visits = np.maximum(visits + chain.visits(gap), 0.0)
        x = visits[:, None] * weight
        x[x < LEAST] = 0.0
        live = np.ones(visits.size) if mdp.ending is None else 1.0 * (mdp.ending.lengths > 0.0)
        x *= live[:, None]
        image = (live * arrivals(x))[:, None] * weight
        into = np.bincount(mdp.T.indices, minlength=mdp.num_states)
        factors = (into + int(np.diff(mdp.T.indptr).max()) + mdp.num_actions + 10) * UNIT
        theta = up(factors / (1.0 - 2.0 * factors)) * (1.0 + 4.0 * UNIT)
        wrong = up(up(theta[:, None] * up(image + x)) + UNDERFLOW)
        residual = up(up(np.abs(image - x)) + wrong)
        if not np.isfinite(residual).all():
            return np.zeros_like(x), math.inf
        if mdp.ending is None:
            total = math.nextafter(math.fsum(residual.ravel()), math.inf)
            return x, float(up(total / np.nextafter(1.0 - mdp.gamma, 0.0)))
        lengths = mdp.ending.lengths
        total = math.nextafter(math.fsum(up(residual * lengths[:, None]).ravel()), math.inf)
        least = _least_drop(mdp, policy)
        return x, float(up(total / least)) if least > 0.0 else math.inf


def up(value: FloatArray | float) -> FloatArray:
    """The next float above."""
    return np.nextafter(value, np.inf)
