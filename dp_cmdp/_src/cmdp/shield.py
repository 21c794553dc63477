"""Which actions a learner may take in place of a certified policy, whatever it does.

Let π be a policy that keeps its limits for every database θ of a set, and for each constraint

    Q_θ(s, a) = cost_θ(s, a) + γ Σ_j T(s, a, j) V_θ(j),     A_θ(s, a) = Q_θ(s, a) − V_θ(s),

with Σ_a π(a|s) A_θ(s, a) ≤ 0 in every state within reach. Over a horizon π, Q, V and A know the
step, and V = 0 after the last; of total costs γ = 1, and V = 0 after the end. A *bank* b starts at
limit(θ) − startᵀV_θ ≥ 0. An action is allowed if A_θ ≤ b for every θ of the set and every
constraint; then b ← (b − A_θ)/γ. Otherwise a draw of π is played and b ← b/γ, whichever action was
drawn.

**Theorem.** The expected cost of an episode is at most limit(θ), for every θ of the set, whatever
proposes the actions, if proposals do not depend on draws of π that are still to come. *Proof.*
C_t = Σ_{i<t} γ^i cost_i + γ^t (V_θ(s_t) + b_t) is a supermartingale: of an allowed action
E C_{t+1} − C_t = γ^t (A_θ + γb_{t+1} − b_t) = 0, of a draw of π it is γ^t ΣπA_θ ≤ 0. Costs, V and b
are not negative, so Σ_{i<t} γ^i cost_i ≤ C_t at every t, and E C_0 = limit(θ). ∎

A draw of π must not be booked as if it had been proposed: the learner would keep what cheap draws
save and not pay for dear ones. Only the costs of the uncertainty set move the bank.

**Affine in θ.** Costs, V, A and b are kept as coefficients (1, θ_1 … θ_m) of the entries that occur
in inequalities of the set, or harm and help; all other entries stand at their worst ends, and over
a box m = 0. b(θ) ≥ 0 over {L ≤ θ ≤ U, Wθ ≤ q} is proved by any λ ≥ 0,

    b(θ) ≥ b_0 − λᵀq + Σ_k min{(b_k + (Wᵀλ)_k) θ_k : L_k ≤ θ_k ≤ U_k},

a concave function of λ that is raised one inequality at a time.

**Rounding.** Every number is the exact one of floats that are read as rationals, distributions
divided by their sums, as in :mod:`dp_cmdp._src.cmdp.certificate`. The kept bank is a lower bound of
the exact one: what its operations may round off is taken from the coefficient of 1, with |θ_k| at
its largest; what those of A may round off is added to A. An allowed action keeps the exact bank
non-negative, because it does so for the lower bound. V is a computed solution raised until
ΣπA_θ ≤ 0 is proved.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dp_cmdp._src.base import exact
from dp_cmdp._src.base import validation as check
from dp_cmdp._src.base.errors import InvalidArgumentError
from dp_cmdp._src.base.validation import FloatArray
from dp_cmdp._src.cmdp.answer import PolicyAnswer
from dp_cmdp._src.cmdp.certificate import UNDERFLOW, UNIT, corner, up
from dp_cmdp._src.cmdp.chain import chain_of
from dp_cmdp._src.cmdp.charges import acting_states
from dp_cmdp._src.cmdp.cost_bounds import LIFTS
from dp_cmdp._src.cmdp.model import MDP
from dp_cmdp._src.program.rows import RobustRows

#: Numbers in the tables of a shield: 1 GB.
MOST_NUMBERS = 2**27
#: Times that every inequality's multiplier is raised to its best in turn.
SWEEPS = 2
#: Banks beyond this stop to grow.
HUGE = 2.0**500
#: Pairs of state and step of which both are kept for the next visit.
REMEMBERED = 2**14


@dataclass(frozen=True, eq=False)
class Polytope:
    """What is known of the m entries that banks depend on: {L ≤ θ ≤ U, Wθ ≤ q}.

    `size` is (1, largest |θ_1|, …, largest |θ_m|).
    """

    entries: NDArray[np.int64]
    low: FloatArray
    high: FloatArray
    W: FloatArray
    q: FloatArray
    size: FloatArray

    @classmethod
    def of(cls, robust: RobustRows) -> Polytope:
        """The entries of a model's rows that have no single worst end, and their inequalities."""
        known = robust.known
        entries = np.unique(robust.entry[robust.hard])
        linked = np.unique(robust.link_inequality)
        W = sparse.csr_array(known.W[linked])
        fixed = np.ones(known.lower.size, dtype=bool)
        fixed[entries] = False
        rest = sparse.coo_array(W)
        rest_row, rest_col = (part.astype(np.int64) for part in rest.coords)
        kept = fixed[rest_col]
        q = exact.row_sums_up(
            np.concatenate([np.arange(linked.size), rest_row[kept]]),
            [
                np.concatenate([known.q[linked], -rest.data[kept]]),
                np.concatenate([np.ones(linked.size), known.lower[rest_col[kept]]]),
            ],
            num_rows=linked.size,
        )
        low, high = known.lower[entries], known.upper[entries]
        size = np.concatenate([[1.0], np.maximum(np.abs(low), np.abs(high))])
        return cls(entries, low, high, W[:, entries].toarray(), q, size)

    def least(self, banks: FloatArray) -> FloatArray:
        """Certain lower bounds of the banks (…, 1 + m) over the set."""
        fixed, own = banks[..., 0], banks[..., 1:]
        if not own.shape[-1] and not self.q.size:  # nothing is added, so nothing is rounded
            return fixed
        lam = np.zeros((*fixed.shape, self.q.size))
        best = self._bound(fixed, own, lam)
        for _ in range(SWEEPS if self.q.size else 0):
            for j in range(self.q.size):
                lam = self._raised(own, lam, j)
                best = np.maximum(best, self._bound(fixed, own, lam))
        return best

    def _bound(self, fixed: FloatArray, own: FloatArray, lam: FloatArray) -> FloatArray:
        """What multipliers prove, less all that rounding may have added."""
        z = own + lam @ self.W
        value = fixed - lam @ self.q + np.minimum(z * self.low, z * self.high).sum(axis=-1)
        modulus = np.abs(fixed) + lam @ np.abs(self.q)
        modulus = modulus + (np.abs(own) + lam @ np.abs(self.W)) @ self.size[1:]
        terms = 4 * (self.size.size + self.q.size) + 8
        return down(value, 2.0 * terms * UNIT * modulus)

    def _raised(self, own: FloatArray, lam: FloatArray, j: int) -> FloatArray:
        """λ with the j-th multiplier at its best: where the slope of a concave function ends."""
        w = self.W[j]
        at = own + lam @ self.W - lam[..., j : j + 1] * w  # z without the j-th inequality
        with np.errstate(all="ignore"):
            breaks = np.where(w == 0.0, np.inf, np.maximum(-at / w, 0.0))
        order = np.argsort(breaks, axis=-1)
        ends = np.take_along_axis(breaks, order, -1)
        # beyond its break an entry stands at the end that makes w·θ least, before it at the other
        before = np.where(w > 0.0, w * self.high, w * self.low)
        step = np.abs(w) * (self.high - self.low)
        slope = before.sum() - self.q[j] - np.cumsum(step[order], axis=-1)
        place = (slope <= 0.0).argmax(axis=-1)[..., None]
        found = np.take_along_axis(ends, place, -1)[..., 0]
        stop = (before.sum() <= self.q[j]) | ~np.isfinite(found) | (slope[..., -1] > 0.0)
        raised = lam.copy()
        raised[..., j] = np.where(stop, 0.0, found)
        return raised


def down(value: FloatArray, off: FloatArray) -> FloatArray:
    """What is certainly below a number that may be off; itself where nothing was rounded."""
    return np.where(off > 0.0, np.nextafter(value - up(off + UNDERFLOW), -np.inf), value)


class Guard:
    """The rule of a shield around the policy of an answer; it keeps no state of an episode."""

    def __init__(self, found: PolicyAnswer) -> None:
        problem = found.problem
        mdp: MDP = problem.mdp
        if mdp.gamma == 0.0:
            raise InvalidArgumentError(
                "found must have a gamma above 0: a shield spends over time, and without weight "
                "on later steps nothing is left to spend"
            )
        robust = RobustRows(problem.rows, found.known)
        self.mdp, self.policy, self.known = mdp, found.policy, Polytope.of(robust)
        self._mass = np.add.reduceat(mdp.T.data, mdp.T.indptr[:-1])
        self._reached = acting_states(mdp)
        width = len(problem.names) * self.known.size.size
        numbers = width * mdp.num_states * (4 * mdp.num_actions + (mdp.horizon or 0))
        if numbers > MOST_NUMBERS:
            raise InvalidArgumentError(
                f"found must have a model that a shield can hold: its tables would have "
                f"{numbers:.3g} numbers; release entries alone, or take a smaller model"
            )
        self.costs, limits = self._affine(problem, robust)
        self.value = self._values(self.costs, certain=True)
        self.first = self._opened(limits)
        earned = mdp.r if problem.objective is None else problem.at(found.estimate).r
        self._earned = earned[:, :, None, None]
        self._ahead = self._values(self._earned)

    @cached_property
    def _kept(self) -> Any:
        """Advantages, and actions that improve, by state and step: the last ones remembered."""
        return [lru_cache(REMEMBERED)(own) for own in (self._advantages_of, self._improving_in)]

    def __getstate__(self) -> dict[str, Any]:
        """What is remembered stays in its process."""
        return {name: part for name, part in vars(self).items() if name != "_kept"}

    def _odds(self, time: int) -> FloatArray:
        """π (states, actions) at a step."""
        if self.policy.horizon is None:
            return self.policy.probabilities
        return self.policy._step(time).table(self.mdp.num_actions)

    def _affine(self, problem: Any, robust: RobustRows) -> tuple[FloatArray, FloatArray]:
        """Costs (states, actions, K, 1 + m) and limits (K, 1 + m) as coefficients."""
        rows, entries = problem.rows, self.known.entries
        low, high = robust.known.lower, robust.known.upper
        inside = np.isin(rows.entry, entries)
        worst = np.where(rows.sign > 0, high[rows.entry], low[rows.entry])
        theta = np.where(inside, 0.0, worst)
        fixed, limit = corner(self.mdp, rows, theta[rows.A_pair], theta[rows.b_pair])
        K, shape = rows.num_rows, self.mdp.r.shape
        costs = np.zeros((K, self.mdp.r.size, 1 + entries.size))
        limits = np.zeros((K, 1 + entries.size))
        costs[:, :, 0], limits[:, 0] = fixed.reshape(K, -1), -limit
        for table, part in ((costs, rows.A), (limits[:, None], rows.b)):
            own = np.isin(part.entry, entries)
            place = 1 + np.searchsorted(entries, part.entry[own])
            col = part.col[own] if table is costs else np.zeros(own.sum(), dtype=np.int64)
            np.add.at(table, (part.row[own], col, place), part.coefficient[own])
        return costs.transpose(1, 0, 2).reshape(*shape, K, -1), limits

    def _values(self, tables: FloatArray, *, certain: bool = False) -> FloatArray:
        """What π costs or earns from each state, (steps, states, K, 1 + m): of one step, or of
        those of the horizon and the end; costs may be raised to be certain."""
        mdp, shape = self.mdp, (self.mdp.num_states, *tables.shape[2:])
        if mdp.horizon is None:
            chain, value = chain_of(mdp, self.policy), np.empty(shape)
            for k, j in np.ndindex(*shape[1:]):
                value[:, k, j] = chain.table_values(tables[:, :, k, j])
            return self._raised(value[None], 0) if certain else value[None]
        value = np.zeros((mdp.horizon + 1, *shape))
        for t in reversed(range(mdp.horizon)):
            ahead = (mdp.T @ value[t + 1].reshape(len(value[t]), -1)).reshape(tables.shape)
            value[t] = np.einsum("sa,sakj->skj", self._odds(t), tables + mdp.gamma * ahead)
            value = self._raised(value, t) if certain else value
        return value

    def _raised(self, value: FloatArray, time: int) -> FloatArray:
        """V at a step, raised until ΣπA ≤ 0, within reach, for all θ within the bounds."""
        for attempt in range(2 + LIFTS):
            left = self._left(value, time)
            if not (left > 0.0).any():
                return value
            more, own = 2.0 * self._lift(left, attempt), value[time, :, :, 0]
            value[time, :, :, 0] = np.where(more > 0.0, up(own + more), own)
        raise InvalidArgumentError("found must have a policy whose costs floats can bound")

    def _lift(self, left: FloatArray, attempt: int) -> FloatArray:
        """What is to be added to V (states, K) to make up for what is left."""
        if self.mdp.horizon is not None:
            return left
        if attempt < LIFTS:
            chain = chain_of(self.mdp, self.policy)
            tables = np.repeat(left.T[:, :, None], self.mdp.num_actions, axis=2)
            return np.array([np.maximum(chain.table_values(table), 0.0) for table in tables]).T
        ending, most = self.mdp.ending, left.max(axis=0)
        if ending is not None:
            return ending.lengths[:, None] * most
        return np.broadcast_to(most / (1.0 - self.mdp.gamma), left.shape)

    def _left(self, value: FloatArray, time: int) -> FloatArray:
        """Certain upper bounds (states, K) of ΣπA over all θ within the bounds, 0 if negative or
        out of reach."""
        table, error = self._between(0, self.mdp.num_states, self.costs, value, time)
        odds = self._odds(time)
        weight = odds / odds.sum(axis=1, keepdims=True)
        mean = np.einsum("sa,sakj->skj", weight, table)
        mean[..., 1:] = np.abs(mean[..., 1:])
        spread = np.einsum("sa,sakj->skj", weight, error)
        left = -down(-(mean @ self.known.size), 2.0 * (spread @ self.known.size))
        return np.where(self._reached[:, None], np.maximum(left, 0.0), 0.0)

    def _between(
        self, first: int, last: int, costs: FloatArray, values: FloatArray, time: int
    ) -> tuple[FloatArray, FloatArray]:
        """A in the states from first to before last, (states, actions, K, 1 + m), and what each
        number may be off by."""
        value, following = values[time], values[0 if len(values) == 1 else time + 1]
        mdp, actions = self.mdp, self.mdp.num_actions
        pairs = slice(first * actions, last * actions)
        begin = mdp.T.indptr[first * actions : last * actions + 1]
        span = slice(begin[0], begin[-1])
        origin = np.repeat(value[first:last], actions, axis=0)
        chance = mdp.T.data[span, None, None]
        step = following[mdp.T.indices[span]] - np.repeat(origin, np.diff(begin), axis=0)
        at, mass = begin[:-1] - begin[0], self._mass[pairs, None, None]
        own = costs.reshape(-1, *costs.shape[2:])[pairs]
        drift = (1.0 - mdp.gamma) * origin
        change = chance * step
        found = own + mdp.gamma * (np.add.reduceat(change, at) / mass) - drift
        moved = np.add.reduceat(np.abs(change), at) / mass
        size = np.abs(own) + mdp.gamma * moved + np.abs(drift)
        factors = 2 * (int(np.diff(begin).max()) + actions + value.shape[-1]) + 16
        error = np.where(size > 0.0, 2.0 * factors * UNIT * size + UNDERFLOW, 0.0)
        shape = (last - first, actions, *value.shape[1:])
        return found.reshape(shape), error.reshape(shape)

    def advantages(self, state: int, time: int = 0) -> FloatArray:
        """A (actions, K, 1 + m) at a step, rounded up."""
        return self._kept[0](state, time if self.mdp.horizon else 0)

    def _advantages_of(self, state: int, time: int) -> FloatArray:
        table, error = self._between(state, state + 1, self.costs, self.value, time)
        table[..., 0] = -down(-table[..., 0], 2.0 * (error @ self.known.size))
        return check.frozen(table[0])

    def _opened(self, limits: FloatArray) -> FloatArray:
        """The bank (K, 1 + m) of a new episode; −∞, so that π is always played, where limits have
        no room for rounding."""
        start = self.mdp.start / self.mdp.start.sum()
        bank = limits - np.einsum("s,skj->kj", start, self.value[0])
        size = np.abs(limits) + np.einsum("s,skj->kj", start, np.abs(self.value[0]))
        terms = np.count_nonzero(start) + self.known.size.size + 8
        bank = self._rounded(bank, 4.0 * terms * UNIT * (size @ self.known.size))
        bank[self.known.least(bank) < 0.0, 0] = -np.inf
        return check.frozen(bank)

    def _rounded(self, bank: FloatArray, off: FloatArray) -> FloatArray:
        bank[..., 0] = down(bank[..., 0], off)
        return bank

    def _next(self, bank: FloatArray) -> FloatArray:
        """A bank whose numbers were rounded at most once, one step later."""
        if np.abs(bank).max() > HUGE:  # a number that floats hold, and that pays for everything
            bank = np.where(np.arange(bank.shape[-1]) == 0, self.known.least(bank)[:, None], 0.0)
            bank = np.minimum(bank, HUGE)
        if self.mdp.gamma == 1.0:
            return self._rounded(bank.copy(), 2.0 * UNIT * (np.abs(bank) @ self.known.size))
        later = bank / self.mdp.gamma
        return self._rounded(later, 8.0 * UNIT * (np.abs(later) @ self.known.size))

    def allowed(self, bank: FloatArray, state: int, time: int = 0) -> NDArray[np.bool_]:
        """Actions that every limit has room for."""
        left = bank - self.advantages(state, time)
        return np.all(self.known.least(left) >= 0.0, axis=-1)

    def improving(self, state: int, time: int = 0) -> NDArray[np.bool_]:
        """Actions that earn no less than π, if π follows them; up to rounding."""
        return self._kept[1](state, time if self.mdp.horizon else 0)

    def _improving_in(self, state: int, time: int) -> NDArray[np.bool_]:
        gain, error = self._between(state, state + 1, self._earned, self._ahead, time)
        return check.frozen(gain[0, :, 0, 0] >= -error[0, :, 0, 0])

    def after(self, bank: FloatArray, state: int, action: int | None, time: int = 0) -> FloatArray:
        """The bank after an allowed action; after a draw of the policy (None) of any action."""
        return self._next(bank if action is None else bank - self.advantages(state, time)[action])

    @cached_property
    def scale(self) -> FloatArray:
        """What one step costs at most, per constraint; 1 where nothing does."""
        most = -self.known.least(-self.costs).min(axis=(0, 1))
        return np.where(most > 0.0, most, 1.0)
