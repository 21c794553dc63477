"""Episodes that end by themselves, and the discounted model with the same policies.

**Ended** is a state that no action leaves and in which nothing is earned. *Every* policy surely
gets there exactly if the largest set Z of reachable live states each of which has an action that
stays in Z is empty: it is found by removing states, and pairs that lead out, until nothing changes.

**Lengths.** w(s) is about the largest expected number of steps from s: w − T_a w ≥ δ > 0 for every
action. It is computed with a discount γ' just below 1, for which w = max_a (1 + γ'T_a w), so
w − T_a w ≥ 1 − (1 − γ')·max w. With it, undiscounted sums become discounted ones: for
β = max (Tw)/w < 1,

    T'(s, a, s') = T(s, a, s')·w(s')/(β w(s)),   r' = r·c/w,   start' = start·w/c,   c = startᵀw,

is a model with the discount β whose policies are the same and whose values are those of the first
one: x'(s, a) = x(s, a)·w(s)/c. What rows of T' leave over leads to an ended state. Solvers work
there; what is certain is proved in the first model.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dp_cmdp._src.base.errors import InvalidArgumentError
from dp_cmdp._src.base.validation import FloatArray, frozen
from dp_cmdp._src.cmdp.chain import DiscountedChain, discounted_chain
from dp_cmdp._src.cmdp.charges import LISTED, acting_states
from dp_cmdp._src.cmdp.safest import optimal_actions

if TYPE_CHECKING:
    from dp_cmdp._src.cmdp.model import MDP
    from dp_cmdp._src.cmdp.policy import Policy

Mask = NDArray[np.bool_]
#: The discount with which lengths are found, and the longest that may be: δ ≥ 1 − 2⁻⁵.
NEARLY_ONE = 1.0 - 2.0**-30
LONGEST = 2.0**25


@dataclass(frozen=True, slots=True, eq=False)
class Ending:
    """How the episodes of a model end.

    `ended` are the states after the end, `lengths` is w, `model` the discounted one, and `scale`
    c/w per state: x = scale·x'.
    """

    ended: Mask
    lengths: FloatArray
    model: MDP
    scale: FloatArray

    @property
    def longest(self) -> float:
        """The largest expected number of steps, roughly; at least 1."""
        return max(float(self.lengths.max()), 1.0)

    def earning(self, r: FloatArray) -> Ending:
        """The same with other rewards."""
        return replace(self, model=self.model._earning(frozen(r * self.scale[:, None])))

    def refuse_costs(self, name: str, costly: Mask) -> None:
        """Refuse costs, a mask (states, actions), in states where episodes have ended."""
        wrong = np.flatnonzero(costly.any(axis=1) & self.ended)
        if wrong.size:
            raise InvalidArgumentError(
                f"{name} must be 0 where the episode has ended, or a total would be infinite: "
                f"nothing leaves state {wrong[0]}"
            )


class TotalChain(DiscountedChain):
    """The chain of `policy` until episodes end, by the discounted model of the same policies."""

    __slots__ = ("_inner", "_inverse", "_lengths")

    subject = "cost per episode"

    def __init__(self, mdp: MDP, policy: Policy) -> None:
        super().__init__(mdp, policy)
        assert mdp.ending is not None
        self._inner, w = discounted_chain(mdp.ending.model, policy), mdp.ending.lengths
        self._lengths, self._inverse = w, np.divide(1.0, w, out=np.zeros_like(w), where=w > 0.0)

    def values(self, rewards: FloatArray, *, guess: FloatArray | None = None) -> FloatArray:
        w, inverse = self._lengths, self._inverse
        scaled = None if guess is None else guess * inverse
        return w * self._inner.values(rewards * inverse, guess=scaled)

    def visits(self, start: FloatArray, *, guess: FloatArray | None = None) -> FloatArray:
        w, inverse = self._lengths, self._inverse
        scaled = None if guess is None else guess * w
        return inverse * self._inner.visits(start * w, guess=scaled)


def ending_of(mdp: MDP) -> Ending:
    """How episodes end, or a refusal that names a loop which need not be left."""
    ended = _ended(mdp)
    acting = acting_states(mdp)
    _refuse_loops(mdp, acting & ~ended)
    live = acting & ~ended
    lengths = _lengths(mdp, live)
    return Ending(frozen(ended), frozen(lengths), *_discounted(mdp, live, lengths))


def _ended(mdp: MDP) -> Mask:
    """States that no action leaves and where nothing is earned."""
    T = mdp.T
    origin = np.repeat(np.arange(mdp.num_states), np.diff(T.indptr[:: mdp.num_actions]))
    left = np.bincount(origin[(T.indices != origin) & (T.data > 0.0)], minlength=mdp.num_states)
    return (left == 0) & ~mdp.r.any(axis=1)


def _refuse_loops(mdp: MDP, live: Mask) -> None:
    staying = _staying(mdp, live)
    if not staying.any():
        return
    loop = _loop(mdp, staying)
    shown = " → ".join(map(str, loop[:LISTED])) + (" → …" if len(loop) > LISTED else "")
    raise InvalidArgumentError(
        "total must be of a model whose episodes all end by themselves: a policy may stay for ever "
        f"in states {shown} → {loop[0]}. Give horizon= for episodes of so many steps, or gamma="
    )


def _staying(mdp: MDP, live: Mask) -> Mask:
    """Pairs (states, actions) that stay in the largest set which some policy never leaves."""
    into = sparse.csc_array(mdp.T, copy=True)
    into.eliminate_zeros()
    stays = np.repeat(live, mdp.num_actions)
    fresh = np.flatnonzero(~live)
    left = live.copy()
    while fresh.size:
        pairs = into[:, fresh].indices
        stays[pairs] = False
        none = ~stays.reshape(mdp.r.shape).any(axis=1)
        fresh = np.flatnonzero(left & none)
        left[fresh] = False
    return stays.reshape(mdp.r.shape)


def _loop(mdp: MDP, staying: Mask) -> list[int]:
    """States that follow each other under staying actions, until one comes again."""
    state, path = int(np.flatnonzero(staying.any(axis=1))[0]), []
    while state not in path:
        path.append(state)
        pair = state * mdp.num_actions + int(staying[state].argmax())
        span = slice(mdp.T.indptr[pair], mdp.T.indptr[pair + 1])
        state = int(mdp.T.indices[span][mdp.T.data[span] > 0.0][0])
    return path[path.index(state) :]


def _lengths(mdp: MDP, live: Mask) -> FloatArray:
    """w: 0 in states that are not live."""
    from dp_cmdp._src.cmdp.model import MDP

    one = np.where(live[:, None], np.ones_like(mdp.r), 0.0)
    step = MDP(mdp.T, one, gamma=NEARLY_ONE, start=mdp.start)
    _, values = optimal_actions(step, one, allowed=np.ones(one.shape, dtype=bool))
    values = np.where(live, np.maximum(values, 1.0), 0.0)
    if values.max() > LONGEST:
        raise InvalidArgumentError(
            f"total must be of episodes of at most {LONGEST:.2g} steps on average, they may last "
            f"{values.max():.2g}: give horizon= or gamma="
        )
    return values


def _discounted(mdp: MDP, live: Mask, w: FloatArray) -> tuple[MDP, FloatArray]:
    """The discounted model and c/w per state."""
    from dp_cmdp._src.cmdp.model import MDP

    T, pairs = mdp.T, mdp.r.size
    owner = np.repeat(live, mdp.num_actions)
    ahead = np.where(owner, T @ w, 0.0)
    here = np.where(owner, np.repeat(w, mdp.num_actions), 1.0)
    beta = max(float(np.nextafter((ahead / here).max(), 1.0)), 0.5)
    row = np.repeat(np.arange(pairs), np.diff(T.indptr))
    kept = owner[row] & (w[T.indices] > 0.0)
    chance = T.data[kept] * w[T.indices[kept]] / (beta * here[row[kept]])
    rest = np.maximum(1.0 - np.bincount(row[kept], chance, pairs), 0.0)
    end = np.where(owner, int(np.argmin(live)), np.repeat(np.arange(live.size), mdp.num_actions))
    moves = sparse.coo_array(
        (np.append(chance, rest), (np.append(row[kept], np.arange(pairs)),
                                   np.append(T.indices[kept], end))), shape=T.shape)  # fmt: skip
    first = mdp.start * w
    scale = np.divide(first.sum(), w, out=np.zeros_like(w), where=w > 0.0)
    begin = first / first.sum() if first.any() else mdp.start
    model = MDP(moves, mdp.r * scale[:, None], gamma=beta, start=begin)
    return model, frozen(scale)
