"""A policy's constraints for every database of an uncertainty set, with certainty.

**What is bounded.** As in :mod:`dp_cmdp._src.cmdp.cost_bounds`, the floats of model and policy are
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

from dp_cmdp._src.base import exact
from dp_cmdp._src.base.errors import SolverError
from dp_cmdp._src.base.validation import FloatArray
from dp_cmdp._src.cmdp.chain import DiscountedChain, chain_of
from dp_cmdp._src.cmdp.model import MDP
from dp_cmdp._src.cmdp.policy import Policy
from dp_cmdp._src.data.envelope import UncertaintySet
from dp_cmdp._src.program.highs import HighsEngine
from dp_cmdp._src.program.linear import LinearProgram
from dp_cmdp._src.program.rows import RobustRows, UncertainRows

if TYPE_CHECKING:
    from dp_cmdp._src.cmdp.chain import Chain


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
        bounds = chain.cost_bounds(worst, policy).tolist()
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
    total = Fraction(0)
    for part in parts:
        total += Fraction(part)
    try:
        return exact.float_above(total)
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
#: Occupancies below this are left to the residual: products with them would underflow.
LEAST = 2.0**-400
#: Corrections of the approximate occupancy by its own residual.
CORRECTIONS = 2


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
    if not isinstance(chain, DiscountedChain):
        return chain.occupancy_within()
    weight = weights_of(policy)
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
        from dp_cmdp._src.cmdp.cost_bounds import least_drop

        lengths = mdp.ending.lengths
        total = math.nextafter(math.fsum(up(residual * lengths[:, None]).ravel()), math.inf)
        least = least_drop(mdp, policy)
        return x, float(up(total / least)) if least > 0.0 else math.inf


def weights_of(policy: Policy) -> FloatArray:
    """π, every row divided by its sum."""
    return policy.probabilities / policy.probabilities.sum(axis=1, keepdims=True)


def up(value: FloatArray | float) -> FloatArray:
    """The next float above."""
    return np.nextafter(value, np.inf)
