"""The constrained Markov decision process, as public data.

A CMDP is (S, A, T, r, f, f0, μ, γ): choose a policy π that maximises the discounted reward
E[Σ γ^t r(s_t, a_t)] from s_0 ~ μ while each of the K discounted costs
E[Σ γ^t f_i(s_t, a_t)] stays at most f0_i (paper: ``def:cmdp``).

State-action pairs are numbered s·num_actions + a everywhere, so T is one sparse matrix with a row
per pair and a column per successor state.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from dp_cmdp import _check
from dp_cmdp._check import FloatArray
from dp_cmdp._documents import Document, read_document, unpacked
from dp_cmdp._door import door
from dp_cmdp.data.packing import pack_sparse, sparse_names, unpack_sparse
from dp_cmdp.errors import InvalidArgumentError

#: A row of T may miss 1 by this much (rounding of the probabilities a user wrote down).
ROW_SUM_TOLERANCE = 1e-9
FORMAT = "dp_cmdp.CMDP/2"
#: Orders of the axes that users write: as here, the action first, the next state before it.
ORDERS = ((0, 1, 2), (1, 0, 2), (0, 2, 1))
TABLES = ("r", "f", "f0", "mu")
#: What models share that differ in their constraints.
SHARED = ("T", "r", "mu", "gamma", "arrivals")
ARRAYS = (*TABLES, *sparse_names("T"))
#: Of a model whose arrivals are not its transitions.
ARRIVALS = sparse_names("arrivals")


@dataclass(frozen=True, slots=True, eq=False)
class CMDP:
    """A finite, discounted constrained MDP.

    Parameters
    ----------
    T : (num_states, num_actions, num_states) dense, or (num_states·num_actions, num_states) sparse
        Transition probabilities T[state, action, next]; each row sums to 1. Other shapes are
        refused, and the text says how to transpose them. Where there are as many states as actions,
        T of shape (action, state, next) cannot be told from this, nor can transposed r and f; nor
        can, ever, a sparse matrix whose rows are in another order than state·num_actions + action.
    r : (num_states, num_actions)
        Expected immediate reward.
    f : (K, num_states, num_actions), or (num_states, num_actions) for K = 1
        Immediate costs.
    f0 : (K,)
        Tolerances of the discounted costs.
    mu : (num_states,)
        Initial distribution.
    gamma : float
        Discount, 0 ≤ γ < 1.
    arrivals : as T, optional
        Expected number of times a move enters each state, for costs that are charged on entering
        (:mod:`dp_cmdp.cmdp.charges`). By default T itself. It differs where a move ends the
        episode: it enters one state and goes on in another, absorbing one.

    Notes
    -----
    **Paper.** ``def:cmdp``. **Privacy.** *Post-processing* of a Release; one built from true data
    stays with its curator.

    Examples
    --------
    Two states; action 1 moves to the other one, and acting in the second costs 1:

    >>> import numpy as np
    >>> from dp_cmdp import CMDP
    >>> T = np.array([[[1, 0], [0, 1]], [[0, 1], [1, 0]]])  # T[state, action, next]
    >>> r, f = np.array([[0, 0], [1, 1]]), np.array([[0, 0], [1, 1]])
    >>> CMDP(T, r, f=f, f0=[3], mu=[1, 0], gamma=0.9)
    CMDP(num_states=2, num_actions=2, num_constraints=1, gamma=0.9)
    """

    T: sparse.csr_array
    r: FloatArray
    f: FloatArray
    f0: FloatArray
    mu: FloatArray
    gamma: float
    arrivals: sparse.csr_array

    @door
    def __init__(
        self,
        T: Any,
        r: ArrayLike,
        *,
        f: ArrayLike,
        f0: ArrayLike,
        mu: ArrayLike,
        gamma: float,
        arrivals: Any = None,
    ) -> None:
        reward = _table("r", r, ndim=2)
        num_states, num_actions = reward.shape
        object.__setattr__(self, "r", reward)
        self._set_constraints(f, f0)
        discount = _check.real("gamma", gamma, low=0.0)
        if discount >= 1.0:
            raise InvalidArgumentError(
                f"gamma must be below 1, got {discount:g}: undiscounted costs may be infinite"
            )
        start = _check.vector("mu", mu, size=num_states)
        if (start < 0).any() or abs(start.sum() - 1.0) > ROW_SUM_TOLERANCE:
            raise InvalidArgumentError("mu must be a probability distribution over the states")
        object.__setattr__(self, "T", _transitions(T, num_states, num_actions))
        entered = self.T
        if arrivals is not None and arrivals is not T:
            entered = _pair_matrix("arrivals", arrivals, num_states, num_actions)
        object.__setattr__(self, "arrivals", entered)
        object.__setattr__(self, "mu", start)
        object.__setattr__(self, "gamma", discount)
        # the largest row sum is only looked for where it may matter
        if discount * (1.0 + ROW_SUM_TOLERANCE) >= 1.0 and discount * self.T.sum(axis=1).max() >= 1:
            raise InvalidArgumentError(
                "gamma times every row sum of T must be below 1, or visits are infinite; divide "
                "the rows by their sums, or take a smaller gamma"
            )

    def _set_constraints(self, f: ArrayLike, f0: ArrayLike) -> None:
        given = _check.array("f", f)
        costs = _table("f", given[None] if given.ndim == 2 else given, ndim=3)
        if costs.shape[1:] != self.r.shape:
            told = _transposed("f", costs.shape, (costs.shape[0], *self.r.shape))
            told = "f.T" if told and given.ndim == 2 else told
            raise InvalidArgumentError(
                f"f must have shape (K, {', '.join(map(str, self.r.shape))}) to match r (K costs, "
                f"states, actions), got {given.shape}{told and f': pass {told}'}"
            )
        object.__setattr__(self, "f", costs)
        object.__setattr__(self, "f0", _check.vector("f0", f0, size=costs.shape[0]))

    @property
    def num_states(self) -> int:
        return self.r.shape[0]

    @property
    def num_actions(self) -> int:
        return self.r.shape[1]

    @property
    def num_constraints(self) -> int:
        return self.f.shape[0]

    @door
    def with_constraints(self, f: ArrayLike, f0: ArrayLike) -> CMDP:
        """The same dynamics, reward and start with other costs and tolerances.

        Examples
        --------
        >>> from dp_cmdp import CMDP, evaluate, Policy
        >>> cmdp = CMDP([[[1.0]]], [[1.0]], f=[[1.0]], f0=[4.0], mu=[1.0], gamma=0.5)
        >>> doubled = cmdp.with_constraints(2 * cmdp.f, cmdp.f0)
        >>> evaluate(doubled, Policy.uniform(1, 1)).costs
        array([4.])
        """
        other = object.__new__(CMDP)
        for name in SHARED:  # read-only, and checked when this one was made
            object.__setattr__(other, name, getattr(self, name))
        other._set_constraints(f, f0)
        return other

    def document(self) -> Document:
        """The content of the model's file."""
        arrays = {name: getattr(self, name) for name in TABLES}
        entered = None if self.arrivals is self.T else self.arrivals
        facts = {
            "T": pack_sparse("T", self.T, arrays),
            "gamma": self.gamma,
            "arrivals": None if entered is None else pack_sparse("arrivals", entered, arrays),
        }
        return Document(FORMAT, facts, arrays)

    def save(self, path: str | Path) -> Path:
        """Write the model to an ``.npz`` file, atomically and without pickle.

        Examples
        --------
        >>> from dp_cmdp import CMDP
        >>> cmdp = CMDP([[[1.0]]], [[1.0]], f=[[1.0]], f0=[4.0], mu=[1.0], gamma=0.5)
        >>> CMDP.load(cmdp.save("model.npz")).gamma
        0.5
        """
        return self.document().write(path)

    @classmethod
    @door
    def load(cls, path: str | Path) -> CMDP:
        """Read a model written by :meth:`save`; everything in it is checked again.

        Examples
        --------
        >>> from dp_cmdp import CMDP
        >>> cmdp = CMDP([[[1.0]]], [[1.0]], f=[[1.0]], f0=[4.0], mu=[1.0], gamma=0.5)
        >>> CMDP.load(cmdp.save("model.npz")).num_states
        1
        """
        source = read_document(path, FORMAT, arrays=ARRAYS, optional=ARRIVALS)
        return unpacked(path, source, cls.from_document)

    @classmethod
    def from_document(cls, source: Document) -> CMDP:
        """The model that a document holds."""
        part, entered = source.arrays, source.facts["arrivals"]
        return cls(
            unpack_sparse("T", source.facts["T"], part),
            part["r"],
            f=part["f"],
            f0=part["f0"],
            mu=part["mu"],
            gamma=source.facts["gamma"],
            arrivals=entered and unpack_sparse("arrivals", entered, part),
        )

    def __repr__(self) -> str:
        return (
            f"CMDP(num_states={self.num_states}, num_actions={self.num_actions}, "
            f"num_constraints={self.num_constraints}, gamma={self.gamma:g})"
        )


def _table(name: str, value: ArrayLike, *, ndim: int) -> FloatArray:
    array = _check.array(name, value)
    if array.ndim != ndim or 0 in array.shape:
        raise InvalidArgumentError(
            f"{name} must be a non-empty {ndim}-dimensional array, got shape {array.shape}"
        )
    _check.reject_non_finite(name, array.ravel())
    return _check.frozen(array)


def _pair_matrix(name: str, value: Any, num_states: int, num_actions: int) -> sparse.csr_array:
    flat = num_states * num_actions, num_states
    if not sparse.issparse(value):
        dense = _check.array(name, value, what="an array (state, action, next) of real numbers")
        if dense.shape != (num_states, num_actions, num_states):
            raise _pair_refusal(name, dense.shape, num_states, num_actions)
        value = dense.reshape(flat)
    csr = _check.matrix(name, value, round_sums=True)
    if csr.shape != flat:
        raise _pair_refusal(name, csr.shape, num_states, num_actions)
    if (csr.data < 0).any():
        what = "probabilities" if name == "T" else "expected numbers of entries"
        raise InvalidArgumentError(f"{name} must hold {what}; it has a negative entry")
    return csr


def _pair_refusal(name: str, shape: tuple[int, ...], S: int, A: int) -> InvalidArgumentError:
    """The refusal of a shape, with what to do: the matrix, r, or both may be transposed."""
    told = _transposed(name, shape, (S, A, S))
    if shape == (S * A, S):
        told = f"{name}.reshape({S}, {A}, {S}), if its rows are in this order"
    elif not told and shape == (S * A, A):
        told = "r.T"
    elif not told and (there := _transposed(name, shape, (A, S, A))):
        told = f"{'' if there == name else f'{there} and '}r.T"
    return InvalidArgumentError(
        f"{name} must have shape (S, A, S) = ({S}, {A}, {S}), or sparse (S·A, S) = ({S * A}, {S}) "
        f"with rows in the order state·A + action, as r has shape (S, A) = ({S}, {A}); got {shape}"
        f"{told and f': pass {told}'}"
    )


def _transposed(name: str, shape: tuple[int, ...], wanted: tuple[int, ...]) -> str:
    """The expression that brings what users transpose to the wanted shape, if there is one."""
    for order in ORDERS:
        if len(order) == len(shape) and tuple(shape[axis] for axis in order) == wanted:
            return name if order == (0, 1, 2) else f"{name}.transpose{order}"
    return ""


def _transitions(T: Any, num_states: int, num_actions: int) -> sparse.csr_array:
    csr = _pair_matrix("T", T, num_states, num_actions)
    off = np.abs(csr.sum(axis=1) - 1.0)
    worst = int(np.argmax(off))
    if off[worst] > ROW_SUM_TOLERANCE:
        state, action = divmod(worst, num_actions)
        raise InvalidArgumentError(
            f"T must have rows that sum to 1; the row of state {state}, action {action} is off by "
            f"{off[worst]:.3g}"
        )
    return csr
