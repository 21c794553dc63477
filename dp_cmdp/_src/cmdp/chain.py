"""The Markov chain that a policy makes of a CMDP, and its two linear systems.

Under π the states form a chain with transitions P_π(s, s') = Σ_a π(a|s) T(s, a, s'). Everything
discounted about it is one matrix M = I − γP_π:

* values  M v = g_π with g_π(s) = Σ_a π(a|s) g(s, a), for a reward or a cost g;
* visits  Mᵀd = μ, the discounted number of visits of each state from s_0 ~ μ.

M is a row-diagonally dominant M-matrix, so elimination on the diagonal is stable and keeps a
symmetric ordering: on planar models its factors stay small (2·10⁷ bytes per 10⁵ states and less
than a second). The compiled kernels (:class:`CompiledChain`) combine incomplete factors, which stay
small in well-mixed graphs too, with Krylov steps. They are asked first; without them, or where they
do not reach rounding, chains are eliminated, and answers refined against their residuals.

Undiscounted totals are sums of the discounted model that :mod:`dp_cmdp._src.cmdp.ending` makes;
over a horizon a chain is its steps (:mod:`dp_cmdp._src.cmdp.episode`).
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from contextlib import suppress
from ctypes import CDLL, byref
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu

from dp_cmdp._src.base.errors import InvalidArgumentError, InvalidTypeError
from dp_cmdp._src.base.validation import FloatArray
from dp_cmdp._src.cmdp.charges import after_the_end
from dp_cmdp._src.cmdp.model import CMDP, MDP
from dp_cmdp._src.cmdp.policy import Policy
from dp_cmdp._src.cmdp.solvers.compiled import (
    MOST_TRANSITIONS,
    Dynamics,
    address,
    kernels,
)

if TYPE_CHECKING:
    from dp_cmdp._src.cmdp.episode import EpisodeChain

    Chain: TypeAlias = "DiscountedChain | EpisodeChain"

#: Corrections of an answer by its residual, at most.
REFINEMENTS = 6
#: Error of values of which only the size is asked, relative to the largest reward.
ROUGH = 0.1


class DiscountedChain:
    """The chain of `policy` in `mdp`, ready to be solved for values and visits."""

    __slots__ = ("_factors", "_matrix", "_mdp", "policy", "start")

    #: What a certificate says is limited.
    subject: ClassVar[Literal["cost", "cost per episode"]] = "cost"

    def __init__(self, mdp: MDP, policy: Policy) -> None:
        self.policy, self.start, self._mdp = policy, mdp.start, mdp
        self._matrix: sparse.csr_array | None = None
        self._factors: Any = None

    @property
    def matrix(self) -> sparse.csr_array:
        """I − γP_π, made when it is first asked for."""
        if self._matrix is None:
            identity = sparse.eye_array(self._mdp.num_states, format="csr")
            chances = sparse.csr_array(choice_matrix(self.policy) @ self._mdp.T)
            self._matrix = sparse.csr_array(identity - self._mdp.gamma * chances)
        return self._matrix

    def average(self, table: FloatArray) -> FloatArray:
        """g_π: the mean over the policy's actions of a (num_states, num_actions) table."""
        return np.einsum("sa,sa->s", self.policy.probabilities, table)

    def table_values(self, table: FloatArray) -> FloatArray:
        """Values from each state of a (states, actions) table of rewards."""
        return self.values(self.average(table))

    def occupancy(self, guess: FloatArray | None = None) -> FloatArray:
        """x(s, a), from a guess of the visits of states if there is one."""
        visits = np.maximum(self.visits(self.start, guess=guess), 0.0)
        return visits[:, None] * self.policy.probabilities

    def values(self, rewards: FloatArray, *, guess: FloatArray | None = None) -> FloatArray:
        """Solve (I − γP_π)v = `rewards`, from a guess of v if there is one."""
        return self._solve(rewards, transposed=False)

    def visits(self, start: FloatArray, *, guess: FloatArray | None = None) -> FloatArray:
        """Solve (I − γP_π)ᵀd = `start`, from a guess of d if there is one."""
        return self._solve(start, transposed=True)

    def largest_value(self, table: FloatArray) -> float:
        """No value of the table is larger in modulus, up to rounding; found at little cost."""
        return float(np.abs(self.table_values(table)).max())

    def cost_bounds(self, cmdp: CMDP, policy: Policy) -> FloatArray:
        """Certain upper bounds (K,) on the costs of `policy` in `cmdp`, within a few roundings.

        They hold whatever this chain is, and are tight if it is that of `policy` in `cmdp`.
        """
        from dp_cmdp._src.cmdp.cost_bounds import cost_bounds

        return cost_bounds(cmdp, policy, self)

    def _solve(self, right: FloatArray, *, transposed: bool) -> FloatArray:
        """By elimination."""
        matrix = sparse.csr_array(self.matrix.T) if transposed else self.matrix
        if self._factors is None:
            self._factors = splu(
                sparse.csc_array(self.matrix),
                permc_spec="MMD_AT_PLUS_A",
                diag_pivot_thresh=0.0,
                options={"SymmetricMode": True},
            )
        return _refined(
            matrix, right, partial(self._factors.solve, trans="T" if transposed else "N")
        )


class CompiledChain(DiscountedChain):
    """The chain with factors of the compiled kernels, which are asked first."""

    __slots__ = ("__weakref__", "_chain", "_first", "_library")

    def __init__(self, library: CDLL, mdp: MDP, policy: Policy) -> None:
        super().__init__(mdp, policy)
        states, dynamics = mdp.num_states, Dynamics.of(mdp)
        given = np.ascontiguousarray(policy.probabilities)
        room = library.mixture_room(byref(dynamics), address(given))
        if room >= MOST_TRANSITIONS:
            raise MemoryError
        rows, columns = np.empty(states + 1, np.uint32), np.empty(room, np.uint32)
        chances, first = np.empty(room), np.zeros(states, np.int32)
        arrays = (rows, columns, chances)
        library.mixture(byref(dynamics), address(given), *map(address, arrays))
        own = Dynamics.over((*arrays, dynamics.arrays[3]), shape=(states, 1), gamma=mdp.gamma)
        self._chain = library.chain_new(states, room)
        if not self._chain:
            raise MemoryError
        weakref.finalize(self, library.chain_free, self._chain)
        library.rank_states(self._chain, byref(own), address(first))
        if library.chain_of(self._chain, byref(own), address(first)) < 0:
            raise MemoryError
        self._library, self._first = library, first

    def values(self, rewards: FloatArray, *, guess: FloatArray | None = None) -> FloatArray:
        answer = np.zeros(rewards.size) if guess is None else np.array(guess, np.float64)
        return answer if self._evaluated(rewards, answer) else super().values(rewards)

    def visits(self, start: FloatArray, *, guess: FloatArray | None = None) -> FloatArray:
        if (start < 0.0).any():  # the kernels cut off negative mass
            return self.visits(np.maximum(start, 0.0)) - self.visits(np.maximum(-start, 0.0))
        first = np.ascontiguousarray(start, np.float64)
        answer = np.zeros(start.size) if guess is None else np.array(guess, np.float64)
        exact = self._library.occupy(self._chain, address(first), address(answer), 0.0) >= 0
        return answer if exact else super().visits(start)

    def largest_value(self, table: FloatArray) -> float:
        """Values with the residual ρ are off by at most max|ρ|/(1 − γ)."""
        rewards = self.average(table)
        rough, shrink = np.zeros(rewards.size), ROUGH * (1.0 - self._mdp.gamma)
        if not self._evaluated(rewards, rough, shrink=shrink):
            return float(np.abs(self.values(rewards)).max())
        return float(np.abs(rough).max() + ROUGH * np.abs(rewards).max())

    def cost_bounds(self, cmdp: CMDP, policy: Policy) -> FloatArray:
        dynamics, costs = Dynamics.of(cmdp), np.ascontiguousarray(cmdp.cost)
        given, bounds = np.ascontiguousarray(policy.probabilities), np.empty(len(costs))
        status = self._library.cost_bounds(
            byref(dynamics), address(given), len(costs), address(costs), self._chain,
            address(bounds),
        )  # fmt: skip
        return bounds if status == 0 else super().cost_bounds(cmdp, policy)

    def _evaluated(self, rewards: FloatArray, v: FloatArray, *, shrink: float = 0.0) -> bool:
        """Values of `rewards` (num_states,) from the guess v, in place.

        Whether they are exact to rounding or, with `shrink`, leave at most that share of the
        residual of the guess.
        """
        table = np.ascontiguousarray(rewards, np.float64)
        return self._library.evaluate(
            self._chain, 1, 1, address(table), address(self._first), address(v), 0.0, shrink
        ) >= 0  # fmt: skip


def discounted_chain(mdp: MDP, policy: Policy) -> DiscountedChain:
    """The chain in a discounted model: compiled, but for models too large for the kernels."""
    library = kernels()
    if library is not None and mdp.T.nnz < MOST_TRANSITIONS:
        with suppress(MemoryError):
            return CompiledChain(library, mdp, policy)
    return DiscountedChain(mdp, policy)


def chain_of(mdp: MDP, policy: Policy) -> Chain:
    """The chain of a policy under the model's criterion."""
    if mdp.horizon is not None:
        from dp_cmdp._src.cmdp.episode import EpisodeChain

        return EpisodeChain(mdp, policy)
    if mdp.ending is not None:
        from dp_cmdp._src.cmdp.ending import TotalChain

        return TotalChain(mdp, policy)
    return discounted_chain(mdp, policy)


def fitted(policy: Any, mdp: MDP) -> Policy:
    """The policy, if it has the states, the actions and the steps of a model.

    Rows for the time after an episode's end, where no action matters, may be left out.
    """
    if not isinstance(policy, Policy):
        raise InvalidTypeError(f"policy must be a Policy, got {type(policy).__name__}")
    if policy.horizon is not None and policy.horizon != mdp.horizon:
        steps = "has no horizon" if mdp.horizon is None else f"has {mdp.horizon}"
        raise InvalidArgumentError(
            f"policy must know as many steps as the model: it knows {policy.horizon}, the model "
            f"{steps}"
        )
    own, shape = (policy.num_states, policy.num_actions), mdp.r.shape
    if own == (shape[0] - 1, shape[1]) and after_the_end(mdp)[-1]:
        return policy._with_one_more()
    if own != shape:
        raise InvalidArgumentError(
            f"policy must have probabilities of shape {shape} (states, actions) to match the "
            f"model, got {own}"
        )
    return policy


def choice_matrix(policy: Policy) -> sparse.csr_array:
    """The (num_states, num_states·num_actions) matrix of π: row s holds π(·|s) at s's pairs."""
    count, width = policy.probabilities.shape
    states, actions = np.nonzero(policy.probabilities)
    indptr = np.searchsorted(states, np.arange(count + 1))
    return sparse.csr_array(
        (policy.probabilities[states, actions], states * width + actions, indptr),
        shape=(count, count * width),
    )


def _refined(
    matrix: sparse.csr_array, right: FloatArray, solve: Callable[[FloatArray], FloatArray]
) -> FloatArray:
    """Correct an approximate solution by its residual for as long as that halves the residual."""
    answer = solve(right)
    residual = right - matrix @ answer
    for _ in range(REFINEMENTS):
        better = answer + solve(residual)
        smaller = right - matrix @ better
        improved = np.abs(smaller).max() <= 0.5 * np.abs(residual).max()
        if np.abs(smaller).max() <= np.abs(residual).max():
            answer, residual = better, smaller
        if not improved:
            break
    return answer
