"""Markov decision processes, and constrained ones whose numbers are all known.

A CMDP is (S, A, T, r, cost, limit, start, criterion): choose a policy π that maximises the reward
E[Σ γ^t r(s_t, a_t)] from s_0 ~ start while each of the K costs E[Σ γ^t cost_i(s_t, a_t)] stays at
most limit_i (paper: ``def:cmdp``). The criterion says over which steps is summed: all of them at
γ < 1, the first H, or, at γ = 1, all until the episode ends.

State-action pairs are numbered s·num_actions + a everywhere, so T is one sparse matrix with a row
per pair and a column per successor state.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from dp_cmdp._src.base import validation as check
from dp_cmdp._src.base.errors import InvalidArgumentError
from dp_cmdp._src.base.validation import FloatArray

if TYPE_CHECKING:
    from dp_cmdp._src.cmdp.ending import Ending

#: A row of T may miss 1 by this much (rounding of the probabilities a user wrote down).
ROW_SUM_TOLERANCE = 1e-9
#: Orders of the axes that users write: as here, the action first, the next state before it.
ORDERS = ((0, 1, 2), (1, 0, 2), (0, 2, 1))
#: Discounted sums must stay below this, or doubles run out.
LARGEST_SUM = 1e307


#: Steps × states at most: the table of a policy, a byte for each, is to fit into memory.
MOST_PLACES = 2**31


@dataclass(frozen=True, slots=True)
class Criterion:
    """Over which steps rewards and costs are summed, with weights γ^t: `horizon`, or all."""

    gamma: float
    horizon: int | None = None

    @classmethod
    def of(cls, gamma: float | None, horizon: int | None = None, total: bool = False) -> Criterion:
        """The criterion that the arguments of a model name: one of them, or gamma with horizon."""
        if check.flag("total", total):
            if gamma is not None or horizon is not None:
                raise InvalidArgumentError("total must be given without gamma and horizon")
            return cls(1.0)
        steps = None if horizon is None else check.size("horizon", horizon, low=1)
        if gamma is None:
            if steps is None:
                raise InvalidArgumentError(
                    "gamma, horizon or total must be given: the discount, the number of steps of "
                    "an episode, or total=True where every episode ends by itself"
                )
            return cls(1.0, steps)
        discount = check.real("gamma", gamma, low=0.0, high=1.0)
        if discount == 1.0 and steps is None:
            raise InvalidArgumentError(
                "gamma must be below 1, got 1: undiscounted costs may be infinite. Give horizon= "
                "for episodes of that many steps, or total=True where every episode ends by itself"
            )
        return cls(discount, steps)

    @property
    def is_total(self) -> bool:
        return self.gamma == 1.0 and self.horizon is None

    @property
    def steps(self) -> float:
        """Σ γ^t of a horizon, or discounted."""
        if self.horizon is None:
            return 1.0 / (1.0 - self.gamma)
        if self.gamma == 1.0:
            return float(self.horizon)
        return (1.0 - self.gamma**self.horizon) / (1.0 - self.gamma)

    @property
    def word(self) -> str:
        """What rewards and costs are called under it."""
        return "discounted" if self.gamma < 1.0 and self.horizon is None else "per episode"

    def document(self) -> dict[str, Any]:
        """Of the problem's file; a discount alone is what files held before there was a choice."""
        steps = {} if self.horizon is None else {"horizon": np.array([self.horizon])}
        return {"gamma": np.array([self.gamma])} | steps

    @staticmethod
    def arguments(said: Any) -> dict[str, Any]:
        """What a model is made with, from its file."""
        gamma, steps = float(said["gamma"][0]), said.get("horizon")
        if steps is None:
            return {"total": True} if gamma == 1.0 else {"gamma": gamma}
        return {"gamma": gamma, "horizon": int(steps[0])}

    def __str__(self) -> str:
        if self.horizon is None:
            return "total" if self.is_total else f"gamma={self.gamma:g}"
        discount = "" if self.gamma == 1.0 else f"gamma={self.gamma:g}, "
        return f"{discount}horizon={self.horizon}"


@dataclass(frozen=True, slots=True, eq=False, init=False, repr=False)
class MDP:
    """Dynamics, reward, criterion and start: what is public of every model.

    `T` is (num_states·num_actions, num_states) sparse, `start` a distribution, and `arrivals` the
    expected number of times a move enters each state: T itself, unless moves end the episode.
    `gamma` is 1 where sums are not discounted, `horizon` None where there is no last step, and
    `steps` the largest expected sum of the weights of an episode's steps, Σ γ^t. `ending` is known
    where the criterion is the total: how episodes end.
    """

    T: sparse.csr_array
    r: FloatArray
    criterion: Criterion
    gamma: float
    horizon: int | None
    steps: float
    start: FloatArray
    arrivals: sparse.csr_array
    num_states: int
    num_actions: int
    ending: Ending | None

    def __init__(
        self,
        T: Any,
        r: ArrayLike,
        *,
        gamma: float | None = None,
        horizon: int | None = None,
        total: bool = False,
        start: Any = 0,
        arrivals: Any = None,
    ) -> None:
        criterion = Criterion.of(gamma, horizon, total)
        reward = _table("r", r)
        num_states, num_actions = reward.shape
        if (criterion.horizon or 0) * num_states > MOST_PLACES:
            raise InvalidArgumentError(
                f"horizon must be at most {MOST_PLACES // num_states} with {num_states} states, "
                f"got {criterion.horizon}: a policy has an action for every step and state, and "
                "they must fit into memory"
            )
        moves = _transitions(T, num_states, num_actions)
        entered = moves
        if arrivals is not None and arrivals is not T:
            entered = _pair_matrix("arrivals", arrivals, num_states, num_actions)
        _set(self, T=moves, r=reward, arrivals=entered, ending=None)
        _set(self, criterion=criterion, gamma=criterion.gamma, horizon=criterion.horizon)
        _set(self, start=_distribution(start, num_states))
        _set(self, num_states=num_states, num_actions=num_actions)
        if criterion.is_total:
            from dp_cmdp._src.cmdp.ending import ending_of

            ending = ending_of(self)
            _set(self, ending=ending, steps=ending.longest)
        else:
            _set(self, steps=criterion.steps)
        discount = criterion.gamma if criterion.horizon is None else 0.0
        # the largest row sum is only looked for where it may matter
        near = 1.0 > discount >= 1.0 - 2.0 * ROW_SUM_TOLERANCE
        if near and discount * moves.sum(axis=1).max() >= 1:
            raise InvalidArgumentError(
                "gamma times every row sum of T must be below 1, or visits are infinite; divide "
                "the rows by their sums, or take a smaller gamma"
            )
        reject_beyond("r", reward, steps=self.steps)

    def _with_costs(self, cost: FloatArray, limit: FloatArray) -> CMDP:
        """The CMDP of these dynamics with costs (K, num_states, num_actions) and limits (K,), which
        are not copied and not checked."""
        made = object.__new__(CMDP)
        for name in SHARED:
            object.__setattr__(made, name, getattr(self, name))
        object.__setattr__(made, "cost", cost)
        object.__setattr__(made, "limit", limit)
        return made

    def _earning(self, r: FloatArray) -> MDP:
        """These dynamics with other rewards (num_states, num_actions), which are not checked."""
        made = object.__new__(MDP)
        for name in SHARED:
            object.__setattr__(made, name, getattr(self, name))
        _set(made, r=r, ending=None if self.ending is None else self.ending.earning(r))
        return made

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.num_states} states, {self.num_actions} actions, "
            f"{self.criterion})"
        )


#: What an MDP consists of.
SHARED = (
    "T", "r", "criterion", "gamma", "horizon", "steps", "start", "arrivals", "num_states",
    "num_actions", "ending",
)  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False, init=False, repr=False)
class CMDP(MDP):
    """A finite constrained MDP whose numbers are all public.

    Parameters
    ----------
    T : (num_states, num_actions, num_states) dense, or (num_states·num_actions, num_states) sparse
        Transition probabilities T[state, action, next]; each row sums to 1. Other shapes are
        refused, and the message says how to transpose them. Where there are as many states as
        actions, T of shape (action, state, next) cannot be told from this, nor can transposed r and
        cost; nor can a sparse matrix whose rows are in another order than
        state·num_actions + action.
    r : (num_states, num_actions)
        Expected immediate reward.
    cost : (K, num_states, num_actions), or (num_states, num_actions) for K = 1
        Immediate costs.
    limit : (K,), or a number
        Highest costs that are allowed: of all steps, discounted, or per episode.
    gamma : float
        Discount, 0 ≤ γ < 1; with `horizon` 0 ≤ γ ≤ 1, and 1 if it is left out.
    horizon : int
        Number of steps of an episode, instead of `gamma` or with it. Policies know the time then.
    total : bool
        Instead of both: undiscounted sums over episodes that end by themselves, in states which no
        action leaves and where nothing is earned or paid. Every policy must surely get there.
    start : int or (num_states,)
        First state, or its distribution.
    arrivals : as T, optional
        Expected number of times a move enters each state, for costs on entering. By default T
        itself. It differs where a move ends the episode: it enters one state and goes on in
        another, absorbing one.

    Raises
    ------
    InvalidArgumentError
        If shapes do not match, T, start or the criterion are not of an MDP, or sums may be
        infinite: with `total`, a loop that never ends is named.

    Notes
    -----
    **Privacy.** *Public* if its numbers are; one built from private numbers stays with its curator.

    Examples
    --------
    Two states; action 1 moves to the other one, and acting in the second costs 1:

    >>> import dp_cmdp as dp
    >>> T = [[[1, 0], [0, 1]], [[0, 1], [1, 0]]]  # T[state, action, next]
    >>> dp.CMDP(T, r=[[0, 0], [1, 1]], cost=[[0, 0], [1, 1]], limit=3, gamma=0.9)
    CMDP(2 states, 2 actions, 1 limit, gamma=0.9)
    """

    cost: FloatArray
    limit: FloatArray

    def __init__(
        self,
        T: Any,
        r: ArrayLike,
        *,
        cost: ArrayLike,
        limit: ArrayLike,
        gamma: float | None = None,
        horizon: int | None = None,
        total: bool = False,
        start: Any = 0,
        arrivals: Any = None,
    ) -> None:
        said: dict[str, Any] = {"gamma": gamma, "horizon": horizon, "total": total}
        MDP.__init__(self, T, r, **said, start=start, arrivals=arrivals)
        costs = cost_table("cost", cost, self.r.shape)
        reject_beyond("cost", costs, steps=self.steps)
        if self.ending is not None:
            self.ending.refuse_costs("cost", np.asarray(costs.any(axis=0)))
        limits = np.atleast_1d(check.array("limit", limit))
        _set(self, cost=costs, limit=check.vector("limit", limits, size=costs.shape[0]))

    @property
    def num_constraints(self) -> int:
        """Number of costs, each with its limit."""
        return self.cost.shape[0]

    def __repr__(self) -> str:
        limits = f"{self.num_constraints} limit{'s' if self.num_constraints > 1 else ''}"
        return (
            f"CMDP({self.num_states} states, {self.num_actions} actions, {limits}, "
            f"{self.criterion})"
        )


def _set(model: MDP, **parts: Any) -> None:
    for name, value in parts.items():
        object.__setattr__(model, name, value)


def _table(name: str, value: ArrayLike) -> FloatArray:
    array = check.array(name, value)
    if array.ndim != 2 or 0 in array.shape:
        raise InvalidArgumentError(
            f"{name} must be an array (states, actions), got shape {array.shape}"
        )
    check.reject_non_finite(name, array.ravel())
    return check.frozen(array)


def cost_table(name: str, value: ArrayLike, shape: tuple[int, ...]) -> FloatArray:
    """Costs (K, states, actions), where K may be left out."""
    given = check.array(name, value)
    costs = given[None] if given.ndim == 2 else given
    if costs.shape[1:] != shape or not costs.size:
        hint = transposed(name, costs.shape, (*costs.shape[:1], *shape))
        hint = f"{name}.T" if hint and given.ndim == 2 else hint
        raise InvalidArgumentError(
            f"{name} must have shape (K, {', '.join(map(str, shape))}) to match r (K costs, "
            f"states, actions), got {given.shape}{hint and f': pass {hint}'}"
        )
    check.reject_non_finite(name, costs.ravel())
    return check.frozen(costs)


def _distribution(start: Any, num_states: int) -> FloatArray:
    if check.is_integer(start):
        chosen = check.integer("start", start, low=0)
        if chosen >= num_states:
            raise InvalidArgumentError(f"start must be a state below {num_states}, got {chosen}")
        return check.frozen(np.eye(1, num_states, chosen)[0])
    found = check.vector("start", start, size=num_states)
    if (found < 0).any() or abs(found.sum() - 1.0) > ROW_SUM_TOLERANCE:
        raise InvalidArgumentError(
            "start must be a state or a probability distribution over the states"
        )
    return found


def _pair_matrix(name: str, value: Any, num_states: int, num_actions: int) -> sparse.csr_array:
    flat = num_states * num_actions, num_states
    if not sparse.issparse(value):
        dense = check.array(name, value, what="an array (state, action, next) of real numbers")
        if dense.shape != (num_states, num_actions, num_states):
            raise _pair_refusal(name, dense.shape, num_states, num_actions)
        value = dense.reshape(flat)
    csr = check.matrix(name, value, round_sums=True)
    if csr.shape != flat:
        raise _pair_refusal(name, csr.shape, num_states, num_actions)
    if (csr.data < 0).any():
        what = "probabilities" if name == "T" else "expected numbers of entries"
        raise InvalidArgumentError(f"{name} must hold {what}; it has a negative entry")
    return csr


def _pair_refusal(name: str, shape: tuple[int, ...], S: int, A: int) -> InvalidArgumentError:
    """The refusal of a shape, with what to do: the matrix, r, or both may be transposed."""
    hint = transposed(name, shape, (S, A, S))
    if shape == (S * A, S):
        hint = f"{name}.reshape({S}, {A}, {S}), if its rows are in this order"
    elif not hint and shape == (S * A, A):
        hint = "r.T"
    elif not hint and (there := transposed(name, shape, (A, S, A))):
        hint = f"{'' if there == name else f'{there} and '}r.T"
    return InvalidArgumentError(
        f"{name} must have shape (S, A, S) = ({S}, {A}, {S}), or sparse (S·A, S) = ({S * A}, {S}) "
        f"with rows in the order state·A + action, as r has shape (S, A) = ({S}, {A}); got {shape}"
        f"{hint and f': pass {hint}'}"
    )


def transposed(name: str, shape: tuple[int, ...], wanted: tuple[int, ...]) -> str:
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


def reject_beyond(name: str, table: FloatArray, *, steps: float) -> None:
    """Refuse rewards or costs whose sums over so many steps may not be finite."""
    if float(np.abs(table).max()) > LARGEST_SUM / steps:
        raise InvalidArgumentError(
            f"{name} must be at most {LARGEST_SUM / steps:g} in size, so that sums over an "
            "episode are finite; rescale it"
        )
