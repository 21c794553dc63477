"""A policy's constraints for every database of an uncertainty set, with certainty.

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

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from dp_cmdp._src.base import exact
from dp_cmdp._src.base.errors import SolverError
from dp_cmdp._src.base.validation import FloatArray
from dp_cmdp._src.cmdp.certificate import cost_bounds, occupancy_within, up
from dp_cmdp._src.cmdp.chain import DiscountedChain, occupancy
from dp_cmdp._src.cmdp.model import MDP
from dp_cmdp._src.cmdp.policy import Policy
from dp_cmdp._src.data.uncertainty import UncertaintySet
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
    chain: DiscountedChain,
    exactly: bool = False,
) -> FloatArray:
    """Certain upper bounds on cost_i(θ) − limit_i(θ) over the set; `exactly` for small models."""
    theta, wrong = _worst_corner(mdp, rows, policy, links=links, chain=chain)
    own = rows.rows
    costs, rest = corner(mdp, own, theta[own.A_pair], theta[own.b_pair])
    worst = mdp.with_costs(costs, np.zeros(len(costs)))
    if exactly:
        from dp_cmdp._src.cmdp.exact_costs import exact_costs

        bounds = exact_costs(worst, policy)
    else:
        bounds = cost_bounds(worst, policy, chain).tolist()
    proved = _of_inequalities(rows, theta, links)
    parts = zip(bounds, rest.tolist(), proved.tolist(), wrong.tolist(), strict=True)
    return np.array(list(map(_sum_up, parts)))


def _worst_corner(
    mdp: MDP, rows: RobustRows, policy: Policy, *, links: FloatArray, chain: DiscountedChain
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
    x, error = occupancy_within(mdp, policy, chain)
    pair, (left, right) = own.weight_terms(x.ravel())
    z, rounding, _ = exact.sum_bounds(
        np.concatenate([pair, meeting]),
        [np.concatenate([left, -weight]), np.concatenate([right, links[link]])],
        num_rows=rows.row.size,
    )
    largest = np.zeros(rows.row.size)
    np.maximum.at(largest, own.A_pair, 2.0 * np.abs(own.A.coefficient))
    theta[hard] = np.where(z > 0.0, rows.high, rows.low)[hard]
    with np.errstate(all="ignore"):
        off = up(rounding + up(largest * error)) - np.abs(z)
        width = up(rows.high - rows.low)
        most = np.where(off >= 0.0, up(up(off) * width), 0.0)[hard]
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
        return exact.float_above(sum(map(Fraction, parts), Fraction(0)))
    except OverflowError:
        return np.inf


def worst_databases(
    mdp: MDP, rows: UncertainRows, policy: Policy, known: UncertaintySet
) -> FloatArray:
    """Per constraint, a database of the set that maximises cost − limit, (K, entries)."""
    weights = rows.table(rows.weights(occupancy(mdp, policy).ravel())).toarray()
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
