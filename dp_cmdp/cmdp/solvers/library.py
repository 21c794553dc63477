"""Deterministic policies of one dynamics with their occupancies: the columns of a solve.

A policy is kept as its actions π(s) and state occupancy y(s), with the residual of the flow
equations to which y is known. Its costs under any table f are Σ_s f(s, π(s)) y(s).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dp_cmdp import _check
from dp_cmdp._check import FloatArray, frozen
from dp_cmdp.cmdp.model import CMDP
from dp_cmdp.cmdp.solvers.krylov import chain_of, occupy
from dp_cmdp.cmdp.solvers.mixture import mean_occupancy, occupancy_measure, total
from dp_cmdp.cmdp.solvers.pricing import MANY, dynamics_of, sweep
from dp_cmdp.cmdp.solvers.solution import CMDPSolution, relative_gap

COLUMN_ARRAYS = ("_policies", "_occupancies", "_values", "_residuals", "_used")
#: Flow residual ‖μ − (I − γT_πᵀ)y‖₁ of the columns that the answer mixes.
FLOW = 1e-14
#: Sweeps of value iteration towards the first policy, and flow residual of its occupancy.
FIRST_SWEEPS, FIRST_RESIDUAL = 50, 1e-3


class PolicyLibrary:
    """Policies with their occupancies; the least recently useful are dropped.

    Parameters
    ----------
    cmdp : CMDP
        Its T, r, mu and gamma are used; its costs and tolerances are not looked at.
    capacity : int, optional
        Policies kept between solves; see :class:`dp_cmdp.cmdp.solvers.pool.PolicyPool`.

    Notes
    -----
    **Paper.** ``def:cmdp``. **Privacy.** *Post-processing* of the draws whose policies it holds.
    """

    def __init__(self, cmdp: CMDP, *, capacity: int | None = None) -> None:
        _check.instance("cmdp", cmdp, CMDP)
        if capacity is None:
            few, many = 2**26 // cmdp.num_states, 2**18 // cmdp.num_states
            capacity = max(min(256, max(16, few)), min(1024, many))
        self.capacity = _check.integer("capacity", capacity, low=2)
        self.shape = cmdp.r.shape
        self.dynamics = dynamics_of(cmdp)
        self.reward: FloatArray = frozen(np.ascontiguousarray(cmdp.r).reshape(-1))
        self.reward_scale = float(np.abs(self.reward).max())
        self.guess = np.zeros(cmdp.num_states)
        self.to_go = np.zeros((2, cmdp.num_states))  # last values of reward and cost
        self.rank = np.arange(cmdp.num_states, dtype=np.uint32)
        self._size = 0
        self._clock = 0
        self._numbers: dict[int, int] = {}
        self._policies = np.empty((4, cmdp.num_states), np.int32)
        self._occupancies = np.empty((4, cmdp.num_states))
        self._values = np.empty(4)
        self._residuals = np.empty(4)
        self._used = np.zeros(4, np.int64)

    def __len__(self) -> int:
        return self._size

    @property
    def policies(self) -> NDArray[np.int32]:
        """Actions (size, num_states) of the pooled policies."""
        return self._policies[: self._size]

    @property
    def occupancies(self) -> FloatArray:
        """State occupancies (size, num_states)."""
        return self._occupancies[: self._size]

    @property
    def values(self) -> FloatArray:
        """Discounted rewards (size,)."""
        return self._values[: self._size]

    def prepare(self) -> None:
        """Make room for what the next solves find; the first policy is good without costs."""
        if self._size > self.capacity:
            self._make_room()
        if self._size == 0:
            policy = np.zeros(self.shape[0], np.int32)
            for _ in range(FIRST_SWEEPS):
                before = policy.copy()
                sweep(self.dynamics, self.reward, self.guess, policy)
                if np.count_nonzero(policy != before) * MANY <= policy.size:
                    break
            self.add(policy, [], [], residual=FIRST_RESIDUAL)

    def add(
        self,
        policy: NDArray[np.int32],
        names: ArrayLike,
        mix: ArrayLike,
        *,
        residual: float,
    ) -> int:
        """Number of a policy, new or known; a new one's occupancy is found from a mixture's."""
        p = self._number(policy)
        if self._residuals[p] == np.inf:
            mean_occupancy(
                self._occupancies,
                np.asarray(names, np.int64),
                np.asarray(mix, np.float64),
                self._occupancies[p],
            )
        self.refine(p, residual=residual)
        self.touch([p])
        return p

    def insert(self, policy: NDArray[np.int32], occupancy: FloatArray, *, residual: float) -> int:
        """Number of a policy, new or known, whose occupancy is given with its flow residual."""
        p = self._number(policy)
        if self._residuals[p] > residual:
            self._occupancies[p] = occupancy
            self._found(p, residual=residual)
        return p

    def _number(self, policy: NDArray[np.int32]) -> int:
        """Number of a policy; a new one gets an empty place."""
        key = hash(policy.tobytes())
        p = self._numbers.get(key, self._size)
        if p == self._size:
            if p == len(self._values):
                self._resize(2 * p)
            self._size += 1
            self._numbers[key] = p
            self._policies[p] = policy
            self._residuals[p] = np.inf
        return p

    def refine(self, p: int, *, residual: float) -> bool:
        """Solve the flow equations of policy `p` more exactly; False when they already were."""
        if self._residuals[p] <= residual:
            return False
        chain = chain_of(self.dynamics, self._policies[p], self.rank)
        occupy(self.dynamics, chain, self._occupancies[p], self.rank, residual)
        self._found(p, residual=residual)
        return True

    def _found(self, p: int, *, residual: float) -> None:
        """The occupancy of policy `p` is now this exact."""
        self._residuals[p] = residual
        self._values[p] = total(self.reward, self._policies[p], self._occupancies[p])

    def refine_all(self, *, residual: float) -> None:
        """Solve the flow equations of every policy that exactly."""
        for p in np.flatnonzero(self._residuals[: self._size] > residual).tolist():
            self.refine(p, residual=residual)

    def mixture(
        self,
        names: Sequence[int] | NDArray[np.int64],
        mix: FloatArray,
        *,
        value: float,
        costs: FloatArray,
        dual: FloatArray,
        bound: float,
        iterations: int,
    ) -> CMDPSolution:
        """The solution that mixes some of the policies, which are marked as useful."""
        policies, occupancy = self.policies[names], np.zeros(self.shape)
        occupancy_measure(policies, self.occupancies[names], mix, occupancy)
        self.touch(names)
        return CMDPSolution(
            occupancy=frozen(occupancy),
            value=value,
            costs=frozen(costs),
            dual=frozen(dual),
            upper_bound=bound,
            gap=relative_gap(bound, value, reward_scale=self.reward_scale),
            engine="policies",
            iterations=iterations,
            weights=frozen(mix),
            policies=frozen(policies),
        )

    def touch(self, names: Sequence[int] | NDArray[np.int64]) -> None:
        """Mark policies as useful now."""
        self._clock += 1
        self._used[names] = self._clock

    def _make_room(self) -> None:
        keep = np.sort(np.argsort(self._used[: self._size])[-(self.capacity // 2) :])
        for array in (getattr(self, name) for name in COLUMN_ARRAYS):
            array[: keep.size] = array[keep]
        self._size = keep.size
        self._numbers = {hash(row.tobytes()): p for p, row in enumerate(self.policies)}

    def _resize(self, rows: int) -> None:
        for name in COLUMN_ARRAYS:
            old = getattr(self, name)
            new = np.empty((rows, *old.shape[1:]), old.dtype)
            new[: len(old)] = old
            setattr(self, name, new)
