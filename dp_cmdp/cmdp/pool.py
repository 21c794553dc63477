"""A pool of policies shared by every CMDP with the same dynamics and reward.

Dynamics are public, so the occupancy measure of a policy is a valid column for every draw of the
costs f and tolerances f0. A deterministic policy is kept as its actions π(s) and state occupancy
y(s); its costs under a new draw are Σ_s f(s, π(s)) y(s), one compiled pass over the pool. In a
sweep most draws then need one pricing problem, to certify the mixture the pool already offers.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dp_cmdp import _check
from dp_cmdp._check import FloatArray, frozen
from dp_cmdp.cmdp.batch import FEW_STATES, solve_together
from dp_cmdp.cmdp.columns import ColumnGeneration
from dp_cmdp.cmdp.krylov import occupy
from dp_cmdp.cmdp.mixture import mean_occupancy, occupancy_measure
from dp_cmdp.cmdp.newton import total
from dp_cmdp.cmdp.model import CMDP
from dp_cmdp.cmdp.pricing import dynamics_of, price
from dp_cmdp.cmdp.solution import CMDPSolution, relative_gap
from dp_cmdp.errors import ConvergenceError, InvalidArgumentError

COLUMN_ARRAYS = ("_policies", "_occupancies", "_values", "_residuals", "_used")
ONE = np.ones(1)
#: In models with more states, columns are loose where that will do.
EXACT_STATES = 500
#: States over all draws of a batch, at most; the first batches are smaller.
LARGEST_BATCH = 2**17
#: Accuracy of the first policy, relative to max|r|/(1 − γ).
FIRST = 1e-3


class PolicyPool:
    """Policies and occupancies of one dynamics, and the sweep of solves they serve.

    Parameters
    ----------
    cmdp : CMDP
        Its T, r, mu and gamma are used; its costs and tolerances are not looked at.
    capacity : int, optional
        Policies kept between solves; the least recently useful are dropped first. By default 256,
        more in small models (up to 1,024, with 2¹⁸ states over all policies) and fewer in large
        ones (at most 2²⁶ states over all policies, but never below 16 policies).

    Notes
    -----
    **Paper.** ``def:cmdp``. **Privacy.** The pool remembers policies that were optimal for earlier
    draws, so it is as private as all draws it has served: *post-processing* when every draw came
    from a Release, *curator only* otherwise.
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
        self._states = self.rank.copy()
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

    def fits(self, cmdp: CMDP) -> bool:
        """Whether `cmdp` has the pool's dynamics, reward, start and discount."""
        own = self.dynamics
        return (
            cmdp.r.shape == self.shape
            and cmdp.gamma == own.gamma
            and cmdp.T.nnz == own.data.size
            and np.array_equal(cmdp.T.indptr, own.indptr)
            and np.array_equal(cmdp.T.indices, own.indices)
            and np.array_equal(cmdp.T.data, own.data)
            and np.array_equal(cmdp.r.reshape(-1), self.reward)
            and np.array_equal(cmdp.mu, own.mu)
        )

    def solve(
        self, f: ArrayLike, f0: ArrayLike, *, gap: float = 1e-8, margin: ArrayLike = 0.0
    ) -> CMDPSolution:
        """Solve the CMDP with costs `f` and tolerances `f0` − `margin` on the pool's dynamics.

        Parameters
        ----------
        f : (K, num_states, num_actions), or (num_states, num_actions) for K = 1
        f0, margin : (K,)
        gap : float
            Largest certified relative duality gap.

        Raises
        ------
        InfeasibleError
            No policy meets the tolerances; `ray` and `violation` prove it.

        Notes
        -----
        **Paper.** ``def:cmdp``. **Privacy.** *post-processing* of f and f0.
        """
        table = self._costs(f, form="(K, {}, {})").reshape(-1, self.reward.size)
        tolerance = _check.vector("f0", f0, size=len(table))
        tolerance = tolerance - _check.vector("margin", margin, size=len(table))
        accuracy = _check.real("gap", gap, low=0.0)
        answer = self._solve_together(table[None], tolerance[None], gap=accuracy)[0]
        return self._solve(table, tolerance, gap=accuracy) if answer is None else answer

    def solve_many(
        self, f: ArrayLike, f0: ArrayLike, *, gap: float = 1e-8, margin: ArrayLike = 0.0
    ) -> list[CMDPSolution]:
        """Solve a sweep of draws; the same answers as one :meth:`solve` per draw, within the gap.

        In models of at most :data:`~dp_cmdp.cmdp.batch.FEW_STATES` states, batches of draws are
        solved together, in rounds; larger models are solved draw by draw.

        Parameters
        ----------
        f : (draws, K, num_states, num_actions), or (draws, num_states, num_actions) for K = 1
        f0 : (draws, K), or (draws,) for K = 1
        gap : float
        margin : (K,)

        Raises
        ------
        InfeasibleError
            A draw has no policy that meets its tolerances.

        Notes
        -----
        **Paper.** ``def:cmdp``. **Privacy.** *post-processing* of the draws.
        """
        tables = self._costs(f, form="(draws, K, {}, {})")
        draws, rows = len(tables), 1 if tables.ndim == 3 else tables.shape[1]
        tables = tables.reshape(draws, rows, self.reward.size)
        accuracy = _check.real("gap", gap, low=0.0)
        b = _check.float_array(f0)
        if b is not None and b.shape == (draws,) and rows == 1:
            b = b[:, None]
        if b is None or b.shape != (draws, rows):
            raise InvalidArgumentError(f"f0 must have shape ({draws}, {rows}), one row per draw")
        _check.reject_non_finite("f0", b.ravel())
        b = b - _check.vector("margin", margin, size=rows)
        answers: list[CMDPSolution] = []
        size, most = 1, max(1, LARGEST_BATCH // self.shape[0])
        while len(answers) < draws:
            own = slice(len(answers), len(answers) + size)
            found = self._solve_together(tables[own], b[own], gap=accuracy)
            answers += [
                self._solve(table, tolerance, gap=accuracy) if answer is None else answer
                for answer, table, tolerance in zip(found, tables[own], b[own], strict=True)
            ]
            size = min(2 * size, most)
        return answers

    def _costs(self, f: ArrayLike, *, form: str) -> FloatArray:
        """The costs as an array of the given form, in which K may be left out."""
        table, dimensions = _check.float_array(f), form.count(",") + 1
        if (
            table is None
            or table.ndim not in (dimensions - 1, dimensions)
            or table.shape[-2:] != self.shape
        ):
            found = "no array of numbers" if table is None else str(table.shape)
            raise InvalidArgumentError(
                f"f must have shape {form.format(*self.shape)}, with or without K; got {found}"
            )
        _check.reject_non_finite("f", table.ravel())
        return table

    def _solve_together(
        self, tables: FloatArray, b: FloatArray, *, gap: float
    ) -> list[CMDPSolution | None]:
        """What can be settled with one cost row, or in rounds where states are few."""
        self._prepare()
        if b.shape[1] > 1 and self.shape[0] > FEW_STATES:
            return [None] * len(tables)
        return solve_together(self, tables, b, gap=gap)

    def _prepare(self) -> None:
        """Make room; an empty pool gets the best policy without costs."""
        if self._size > self.capacity:
            self._make_room()
        if self._size == 0:
            policy = np.zeros(self.shape[0], np.int32)
            tolerance = FIRST * self.reward_scale / (1.0 - self.dynamics.gamma)
            price(self.dynamics, self.reward, self.guess, policy, self.rank, tolerance, np.inf, policy.size == 0)
            self.add(policy, [], [], residual=FIRST)

    def _solve(self, table: FloatArray, b: FloatArray, *, gap: float) -> CMDPSolution:
        """Column generation; in large models with loose columns first."""
        self._prepare()
        table = frozen(table.view())
        if self.shape[0] > EXACT_STATES:
            with suppress(ConvergenceError):
                return ColumnGeneration(self, table, b, gap=gap, exact=False).run()
        return ColumnGeneration(self, table, b, gap=gap, exact=True).run()

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
        if p == self._size - 1 and self._residuals[p] == np.inf:
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

    def _number(self, policy):
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
        occupy(self.dynamics, self._policies[p], self._occupancies[p], self.rank, residual)
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
            engine="columns",
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
