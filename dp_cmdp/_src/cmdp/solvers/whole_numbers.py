"""A model in whole numbers: bounds and worths that no rounding of doubles has touched.

At a tolerance that only the safest policies keep, the multiplier λ may be as large as one likes,
and so may the values v of the reward r − λᵀf. Their rounding in doubles, times 1/(1 − γ), can then
exceed the gap that is asked for, and so can that of the costs from which λ is found. Here a number
x is the integer ⌊x·2^PLACES⌋. Linear systems are solved by iterative refinement: residuals in whole
numbers, corrections in doubles. Whatever v is,

    optimum ≤ μᵀv + max_{s,a} δ(s, a) Σγᵗ + λᵀf0,    δ = r − λᵀf + γ T v − v,

and what the last places lose is added.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.sparse import linalg

from dp_cmdp._check import FloatArray
from dp_cmdp.cmdp.model import CMDP

#: Binary places behind the point: five times those of a double.
PLACES = 256
#: Refinements of one solution, at most: each gains ten digits or more.
WHOLE_REFINEMENTS = 10
#: What is left of a residual, in last places, once more refinement is of no use.
NO_REMAINDER = 1 << 64
#: An action is better if it gains more than so many last places.
BETTER = 1 << 96
#: Improvements of a policy, at most.
WHOLE_IMPROVEMENTS = 50

Wholes = NDArray[np.object_]


def whole(numbers: ArrayLike) -> Wholes:
    """⌊x·2^PLACES⌋ of every float x, in one row."""
    fraction, exponent = np.frexp(np.ravel(numbers))
    digits = np.ldexp(fraction, 53).astype(np.int64).tolist()
    shifts = (exponent + (PLACES - 53)).tolist()
    found = np.empty(len(digits), object)
    found[:] = [d << s if s >= 0 else d >> -s for d, s in zip(digits, shifts, strict=True)]
    return found


def rounded(numbers: Wholes) -> FloatArray:
    """The nearest doubles."""
    return np.array([number / (1 << PLACES) for number in numbers.tolist()])


def exactly(number: int) -> Fraction:
    """The number that an integer stands for."""
    return Fraction(number, 1 << PLACES)


class WholeModel:
    """Transitions, rewards and costs of a CMDP in whole numbers.

    Notes
    -----
    **Paper.** ``def:cmdp``. **Privacy.** *Post-processing* of `cmdp`.
    """

    def __init__(self, cmdp: CMDP) -> None:
        self.cmdp = cmdp
        self.r, self.mu = whole(cmdp.r), whole(cmdp.mu)
        self.f = [whole(table) for table in cmdp.f]
        self.weights = (whole(cmdp.gamma) * whole(cmdp.T.data)) >> PLACES  # of γT

    def net(self, dual: FloatArray, *, reward: bool = True) -> Wholes:
        """r − λᵀf, or −λᵀf."""
        total = self.r if reward else 0 * self.r
        for multiplier, table in zip(whole(dual), self.f, strict=True):
            total = total - ((multiplier * table) >> PLACES)
        return total

    def advantages(self, net: Wholes, v: Wholes) -> Wholes:
        """δ(s, a), one row to a state."""
        T, shape = self.cmdp.T, self.cmdp.r.shape
        sums = np.add.reduceat(self.weights * v[T.indices], T.indptr[:-1])
        return (net + (sums >> PLACES)).reshape(shape) - v[:, None]

    def best(self, net: Wholes, policy: NDArray[Any]) -> tuple[NDArray[np.int32], Wholes]:
        """The best policy for a reward, by improvements of a first one, and its values."""
        v = self.r[:0]
        for _ in range(WHOLE_IMPROVEMENTS):
            v = WholeChain(self, policy).values(net)
            gain = self.advantages(net, v)
            better = gain.max(axis=1) > BETTER
            if not better.any():
                break
            policy = np.where(better, gain.argmax(axis=1), policy)
        return np.asarray(policy, np.int32), v

    def bound(self, net: Wholes, v: Wholes, dual: FloatArray, *, paid: list[Fraction]) -> Fraction:
        """μᵀv + max δ Σγᵗ + λᵀ`paid`, with all that whole numbers have lost."""
        T, own = self.cmdp.T, self.cmdp
        length = int(np.diff(T.indptr).max())
        largest = int(abs(v).max() >> PLACES) + 1
        sizes = float(dual.sum()) + float(np.abs(own.f).max()) + float(np.abs(own.r).max())
        lost = 4 * (length + dual.size + 8) * (largest + int(np.ceil(sizes)) + 2)
        most = int(self.advantages(net, v).max()) + lost
        sums = np.add.reduceat(self.weights, T.indptr[:-1])
        edge = int(sums.max()) + 2 * length if most > 0 else int(sums.min())
        left = 1 - exactly(edge)
        if left <= 0:
            raise OverflowError("the transitions of a state sum to 1/γ or more")
        mass = sum(map(Fraction, own.mu.tolist()), Fraction(0))
        start = (int((self.mu * v).sum()) >> PLACES) + (largest + 2) * (own.num_states + 1)
        charged = sum((Fraction(own) * b for own, b in zip(dual.tolist(), paid, strict=True)),
                      Fraction(0))  # fmt: skip
        return exactly(start) + exactly(most) * mass / left + charged


class WholeChain:
    """The chain of a deterministic policy; its factors in doubles serve every refinement."""

    def __init__(self, model: WholeModel, policy: NDArray[Any]) -> None:
        own, T = model.cmdp, model.cmdp.T
        self.model, self.states = model, np.arange(own.num_states)
        self.rows = self.states * own.num_actions + policy
        lengths = np.diff(T.indptr)[self.rows]
        self.start = np.concatenate([[0], np.cumsum(lengths)[:-1]])
        places = np.repeat(T.indptr[self.rows] - self.start, lengths) + np.arange(lengths.sum())
        self.weights, self.successors = model.weights[places], T.indices[places]
        self.state = np.repeat(self.states, lengths)
        chain = sparse.eye_array(own.num_states) - own.gamma * cast(sparse.csr_array, T[self.rows])
        self.factors: Any = linalg.splu(sparse.csc_array(chain))

    def values(self, net: Wholes) -> Wholes:
        """Of a reward, from every state."""

        def residual(v: Wholes) -> Wholes:
            ahead = np.add.reduceat(self.weights * v[self.successors], self.start) >> PLACES
            return net[self.rows] + ahead - v

        return _refined(residual, self.factors.solve, size=self.states.size)

    def visits(self) -> Wholes:
        """Discounted visits of every state, from μ."""

        def residual(y: Wholes) -> Wholes:
            moved = 0 * y
            np.add.at(moved, self.successors, self.weights * y[self.state])
            return self.model.mu + (moved >> PLACES) - y

        return _refined(residual, lambda b: self.factors.solve(b, trans="T"), size=self.states.size)


def _refined(
    residual: Callable[[Wholes], Wholes], solve: Callable[[FloatArray], FloatArray], *, size: int
) -> Wholes:
    """The x whose residual is nothing, nearly."""
    x = whole(np.zeros(size))
    for _ in range(WHOLE_REFINEMENTS):
        left = residual(x)
        if abs(left).max() <= NO_REMAINDER:
            break
        x = x + whole(solve(rounded(left)))
    return x
