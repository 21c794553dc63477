"""The compiled kernels, and what the solvers ask of them.

The library is made when the package is built (``kernels/build.py``) and loaded when it is first
needed. Where it is missing, or does not belong to the sources beside it, :func:`kernels` is None
and models are solved as linear programs by HiGHS: the same answers, certified in the same way, more
slowly. ``DP_CMDP_WITHOUT_KERNELS=1`` asks for that.
"""

from __future__ import annotations

import ctypes
import os
import warnings
import weakref
from collections.abc import Sequence
from ctypes import Structure, byref, c_char_p, c_double, c_int, c_int64, c_uint32, c_void_p
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dp_cmdp._src.base.errors import InvalidArgumentError
from dp_cmdp._src.base.validation import FloatArray
from dp_cmdp._src.cmdp.model import MDP
from dp_cmdp._src.cmdp.solvers.kernels import build

#: Set to 1 to do without the compiled kernels.
SWITCH = "DP_CMDP_WITHOUT_KERNELS"
#: Steps of Newton's method before column generation takes over; usual are 5 to 20.
NEWTON_STEPS = 40
#: How a solve ended, as kernels/solve.h numbers it.
SOLVED, NO_MEMORY, LOST, INFEASIBLE = range(4)
#: What the functions of the library take and return, a letter each.
KINDS = {"p": c_void_p, "n": c_int64, "i": c_int, "u": c_uint32, "d": c_double, "": None}
SIGNATURES = {
    "chain_room": ("p", "n"),
    "chain_new": ("nn", "p"),
    "chain_free": ("p", ""),
    "rank_states": ("ppp", "i"),
    "chain_of": ("ppp", "i"),
    "evaluate": ("pnnpppdd", "i"),
    "occupy": ("pppd", "i"),
    "price": ("pppppddi", "d"),
    "bound_of": ("pippp", "d"),
    "sweep": ("pippppdi", "n"),
    "measure_of": ("nnnpppp", ""),
    "mixture_room": ("pp", "n"),
    "mixture": ("ppppp", ""),
    "cost_bounds": ("ppippp", "i"),
    "episode_back": ("puinppppp", ""),
    "episode_costs": ("pipppnppdp", ""),
    "episode_visits": ("ppnppdppp", ""),
    "solve": ("pipppdippppp", "i"),
}
#: T must have fewer non-zeros: the kernels count them in 32 bits.
MOST_TRANSITIONS = 2**31


def _all(kind: Any, *names: str) -> list[tuple[str, Any]]:
    """Fields of one type."""
    return [(name, kind) for name in names]


class Dynamics(Structure):
    """Transitions, start and discount as the kernels see them; keeps the arrays alive."""

    _fields_ = (
        *_all(c_int64, "num_states", "num_actions"),
        *_all(c_void_p, "indptr", "indices", "data", "mu"),
        *_all(c_double, "gamma"),
    )
    arrays: Sequence[NDArray[Any]]

    @classmethod
    def of(cls, mdp: MDP) -> Dynamics:
        """Of a model with fewer than :data:`MOST_TRANSITIONS` non-zeros."""
        T, shape = mdp.T, mdp.r.shape
        rows = (_unsigned(T.indptr), _unsigned(T.indices), np.ascontiguousarray(T.data, np.float64))
        start = np.ascontiguousarray(mdp.start, np.float64)
        return cls.over((*rows, start), shape=shape, gamma=mdp.gamma)

    @classmethod
    def over(
        cls, arrays: Sequence[NDArray[Any]], *, shape: tuple[int, ...], gamma: float
    ) -> Dynamics:
        """Over indptr, indices (both unsigned), data and mu, which are shared."""
        made = cls(*shape, *map(address, arrays), gamma)
        made.arrays = arrays
        return made


class Given(Structure):
    """Policies to start from, with their exact occupancies and values; keeps the arrays alive."""

    _fields_ = (
        *_all(c_int64, "count", "costly"),
        *_all(
            c_void_p,
            "policies",
            "occupancies",
            "values",
            "states",
            "policies_there",
            "occupancies_there",
        ),
    )
    arrays: Sequence[NDArray[Any]]


class _Answer(Structure):
    _fields_ = (
        *_all(c_double, "value", "bound"),
        *_all(c_int64, "steps", "count"),
        *_all(c_void_p, "costs", "multiplier", "weights", "policies", "occupancies", "measure"),
    )


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """How one solve ended: a mixture of policies and its bound, or the proof that there is none."""

    status: int
    value: float  # of the mixture; the excess where there is none
    bound: float
    costs: FloatArray
    multiplier: FloatArray
    weights: FloatArray
    policies: NDArray[np.int32]
    occupancies: FloatArray
    measure: FloatArray  # occupancy measure of the mixture, (num_states, num_actions)


def address(array: NDArray[Any]) -> int:
    """Where the first entry is; quicker than `array.ctypes`, which makes an object."""
    return array.__array_interface__["data"][0]


def _unsigned(numbers: NDArray[Any]) -> NDArray[np.uint32]:
    """As the kernels count, without a copy where that can be."""
    if numbers.dtype == np.int32 and numbers.flags.c_contiguous:
        return numbers.view(np.uint32)
    return np.ascontiguousarray(numbers, np.uint32)


@cache
def kernels() -> ctypes.CDLL | None:
    """The library, or None where models are solved without it."""
    if os.environ.get(SWITCH) == "1" or not build.LIBRARY.exists():
        return None
    try:
        library = ctypes.CDLL(str(build.LIBRARY))
        made_of = c_char_p.in_dll(library, "kernels_digest").value
    except (OSError, ValueError):
        return None
    if build.SOURCES and (made_of or b"").decode() != build.digest():
        warnings.warn(
            "the compiled kernels are older than their sources and are not used; run "
            f"python {build.__file__}",
            stacklevel=2,
        )
        return None
    for name, (takes, gives) in SIGNATURES.items():
        function = getattr(library, name)
        function.argtypes, function.restype = list(map(KINDS.get, takes)), KINDS[gives]
    return library


class Workspace:
    """A model, and room in which one thread at a time solves on its dynamics."""

    def __init__(self, library: ctypes.CDLL, mdp: MDP) -> None:
        if mdp.T.nnz >= MOST_TRANSITIONS:
            raise InvalidArgumentError("T must have fewer than 2³¹ non-zeros")
        self.library, self.shape = library, mdp.r.shape
        self._dynamics = Dynamics.of(mdp)
        self._reward = np.ascontiguousarray(mdp.r, np.float64)
        room = library.chain_room(byref(self._dynamics))
        chains = library.chain_new(self.shape[0], room), library.chain_new(self.shape[0], room)
        for chain in filter(None, chains):
            weakref.finalize(self, library.chain_free, chain)
        if not all(chains):
            raise MemoryError
        self._chain, self._other = chains

    def solve(
        self,
        costs: FloatArray,
        b: FloatArray,
        *,
        gap: float,
        given: Given,
        x: FloatArray,
        newton_steps: int = NEWTON_STEPS,
    ) -> Outcome:
        """Solve for costs (K, pairs) of at most b, from policies given with occupancies and values.

        `x` (num_states, K + 1) are values to start from if any are given, and those it ended with.
        """
        costs, b = np.ascontiguousarray(costs, np.float64), np.ascontiguousarray(b, np.float64)
        rows, n = len(b), self.shape[0]
        paid, multiplier, weights = np.zeros(rows), np.zeros(rows), np.zeros(rows + 1)
        policies, occupancies = np.empty((rows + 1, n), np.int32), np.empty((rows + 1, n))
        measure = np.zeros(self.shape)
        outputs = (paid, multiplier, weights, policies, occupancies, measure)
        answer = _Answer(0.0, np.inf, 0, 0, *map(address, outputs))
        status = self.library.solve(
            byref(self._dynamics), rows, address(self._reward), address(costs), address(b),
            gap, newton_steps, byref(given), address(x), self._chain, self._other, byref(answer),
        )  # fmt: skip
        if status == NO_MEMORY:
            raise MemoryError
        mixed = slice(answer.count)
        return Outcome(
            status, answer.value, answer.bound, paid, multiplier, weights[mixed],
            policies[mixed], occupancies[mixed], measure,
        )  # fmt: skip

    def price(
        self, income: FloatArray, w: FloatArray, policy: NDArray[np.int32], *, tolerance: float
    ) -> float:
        """The best policy for one reward, from the guesses `w` and `policy`, in place.

        Returns an upper bound on its value, every rounding allowed for.
        """
        dynamics, net = byref(self._dynamics), np.ascontiguousarray(income, np.float64)
        self.library.price(
            dynamics, address(net), address(w), address(policy), self._chain, tolerance,
            np.inf, 0,
        )  # fmt: skip
        one = np.ones(1)
        return self.library.bound_of(dynamics, 1, address(net), address(one), address(w))

    def occupancy(
        self, policy: NDArray[np.int32], guess: FloatArray, *, residual: float
    ) -> FloatArray:
        """Occupancy of the states under a deterministic policy."""
        dynamics, y = byref(self._dynamics), np.array(guess, np.float64)
        self.library.rank_states(self._other, dynamics, address(policy))
        if self.library.chain_of(self._other, dynamics, address(policy)) < 0:
            raise MemoryError
        self.library.occupy(self._other, self._dynamics.mu, address(y), residual)
        return y
