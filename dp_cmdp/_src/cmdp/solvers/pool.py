"""A pool of policies shared by every CMDP with the same dynamics and reward.

Dynamics are public, so the occupancy measure of a policy is a valid column for every draw of the
costs f and tolerances f0, and a good start for the next: the best mixture of pooled policies gives
the first multipliers and policy of Newton's method (``kernels/newton.c``; where that does not
settle, column generation, ``kernels/columns.c``). Sweeps are solved in batches. The draws of a
batch all start from what was known before it, so answers do not depend on how many threads share
the work.

A draw that rounding does not let them decide is solved as one linear program, in models of at most
:data:`LP_LIMIT` states; small models are also solved in whole numbers
(:mod:`dp_cmdp.cmdp.solvers.exact_columns`), very small ones before. Without the compiled kernels
every draw is a linear program.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dp_cmdp import _check
from dp_cmdp._check import FloatArray, frozen
from dp_cmdp._door import door
from dp_cmdp.cmdp.model import CMDP
from dp_cmdp.cmdp.solvers.compiled import INFEASIBLE, SOLVED, Outcome, Workspace, kernels
from dp_cmdp.cmdp.solvers.exact_columns import exact_solution, refined_bound
from dp_cmdp.cmdp.solvers.library import PolicyLibrary
from dp_cmdp.cmdp.solvers.lp_engine import solve_lp
from dp_cmdp.cmdp.solvers.solution import (
    FEASIBILITY,
    CMDPSolution,
    SweepSolution,
    distance,
    infeasible,
    reject_beyond,
)
from dp_cmdp.errors import ConvergenceError, InfeasibleError, InvalidArgumentError, SolverError

#: Draws in the largest batch; the first is of one draw, each next one twice as large.
LARGEST_BATCH = 64
#: Models with more states are not handed to HiGHS.
LP_LIMIT = 20_000
#: Up to so many states whole numbers come before HiGHS, whose tolerances may hide the answer.
EXACT_FIRST = 100
#: From so many states on, by default, threads share a sweep: below, handing over takes longer.
THREADED_STATES = 300


def usable_cores() -> int:
    """Cores that this process may use: more threads would only take turns."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


def _undecided(answer: CMDPSolution | SolverError) -> bool:
    return isinstance(answer, SolverError) and not isinstance(answer, InfeasibleError)


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
    **Paper.** ``def:cmdp``. **Privacy.** *Post-processing* when every draw came from a Release,
    curator only otherwise: the pool remembers policies that were optimal for earlier draws.

    Examples
    --------
    >>> import numpy as np
    >>> from dp_cmdp import CMDP, PolicyPool
    >>> T = np.array([[[1, 0], [0, 1]], [[0, 1], [1, 0]]])  # action 1 changes the state
    >>> r = f = np.array([[0, 0], [1, 1]])
    >>> pool = PolicyPool(CMDP(T, r, f=f, f0=[1], mu=[1, 0], gamma=0.5))
    >>> [round(pool.solve(f, [f0]).value, 6) for f0 in (0.25, 0.5)]
    [0.25, 0.5]
    """

    def __init__(self, cmdp: CMDP, *, capacity: int | None = None) -> None:
        _check.instance("cmdp", cmdp, CMDP)
        if capacity is not None:
            _check.integer("capacity", capacity, low=2)
        reject_beyond("r", cmdp.r, gamma=cmdp.gamma)
        self._cmdp = cmdp
        self.library = None if kernels() is None else PolicyLibrary(cmdp, capacity=capacity)
        self._values: dict[int, FloatArray] = {}  # of the last draw, by its number of costs
        self._twins: list[Workspace] = []
        self.lock = Lock()  # of the workspaces: compiled code runs outside Python's own

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_twins": [], "lock": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, lock=Lock())
        if self.library is not None and kernels() is None:
            self.library = None

    def __len__(self) -> int:
        """Number of policies it knows."""
        return 0 if self.library is None else len(self.library)

    @door
    def fits(self, cmdp: CMDP) -> bool:
        """Whether `cmdp` has the pool's dynamics, reward, start and discount."""
        own = self._cmdp
        return (
            cmdp.r.shape == own.r.shape
            and cmdp.gamma == own.gamma
            and cmdp.T.nnz == own.T.nnz
            and np.array_equal(cmdp.T.indptr, own.T.indptr)
            and np.array_equal(cmdp.T.indices, own.T.indices)
            and np.array_equal(cmdp.T.data, own.T.data)
            and np.array_equal(cmdp.r, own.r)
            and np.array_equal(cmdp.mu, own.mu)
        )

    @door
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
        **Paper.** ``def:cmdp``. **Privacy.** *Post-processing* of f and f0.

        Examples
        --------
        >>> import numpy as np
        >>> from dp_cmdp import CMDP, PolicyPool
        >>> T = np.array([[[1, 0], [0, 1]], [[0, 1], [1, 0]]])  # action 1 changes the state
        >>> r = f = np.array([[0, 0], [1, 1]])
        >>> pool = PolicyPool(CMDP(T, r, f=f, f0=[1], mu=[1, 0], gamma=0.5))
        >>> round(pool.solve(2 * f, [0.5]).value, 6)  # costs that are twice as high
        0.25
        """
        table = self._costs(f, form="(K, {}, {})").reshape(-1, self._cmdp.r.size)
        tolerance = _check.vector("f0", f0, size=len(table))
        with np.errstate(over="ignore"):  # refused below
            tolerance = tolerance - _check.vector("margin", margin, size=len(table))
        _check.reject_non_finite("f0 less margin", tolerance)
        accuracy = _check.real("gap", gap, low=0.0)
        (answer,) = self._solve_batch(table[None], tolerance[None], gap=accuracy, threads=1)
        if isinstance(answer, SolverError):
            raise answer
        return answer

    @door
    def solve_many(
        self,
        f: ArrayLike,
        f0: ArrayLike,
        *,
        gap: float = 1e-8,
        margin: ArrayLike = 0.0,
        threads: int | None = None,
    ) -> SweepSolution:
        """Solve a sweep of draws; the same answers as one :meth:`solve` per draw, within the gap.

        A draw without a solution does not end the sweep: it is named, with the reason, in the
        result.

        Parameters
        ----------
        f : (draws, K, num_states, num_actions), or (draws, num_states, num_actions) for K = 1
        f0 : (draws, K), or (draws,) for K = 1
        gap : float
        margin : (K,)
        threads : int, optional
            How many share the work; by default as many as there are cores that this process may
            use, and one in small models. The answers are the same for any number.

        Notes
        -----
        **Paper.** ``def:cmdp``. **Privacy.** *Post-processing* of the draws.

        Examples
        --------
        The third draw has no solution, and does not end the sweep:

        >>> import numpy as np
        >>> from dp_cmdp import CMDP, PolicyPool
        >>> T = np.array([[[1, 0], [0, 1]], [[0, 1], [1, 0]]])  # action 1 changes the state
        >>> r = f = np.array([[0, 0], [1, 1]])
        >>> pool = PolicyPool(CMDP(T, r, f=f, f0=[1], mu=[1, 0], gamma=0.5))
        >>> pool.solve_many([f, f, f], [0.25, 0.5, -1.0]).infeasible
        (2,)
        """
        tables = self._costs(f, form="(draws, K, {}, {})")
        draws, rows = len(tables), 1 if tables.ndim == 3 else tables.shape[1]
        tables = tables.reshape(draws, rows, self._cmdp.r.size)
        accuracy = _check.real("gap", gap, low=0.0)
        few = self._cmdp.num_states < THREADED_STATES
        workers = 1 if few else usable_cores()
        workers = workers if threads is None else _check.size("threads", threads, low=1)
        b = _check.float_array(f0)
        if b is not None and b.shape == (draws,) and rows == 1:
            b = b[:, None]
        if b is None or b.shape != (draws, rows):
            raise InvalidArgumentError(f"f0 must have shape ({draws}, {rows}), one row per draw")
        _check.reject_non_finite("f0", b.ravel())
        with np.errstate(over="ignore"):
            b = b - _check.vector("margin", margin, size=rows)
        _check.reject_non_finite("f0 less margin", b.ravel())
        answers: list[CMDPSolution | SolverError] = []
        size = 1
        while len(answers) < draws:
            own = slice(len(answers), len(answers) + size)
            answers += self._solve_batch(tables[own], b[own], gap=accuracy, threads=workers)
            size = min(2 * size, LARGEST_BATCH)
        return SweepSolution(
            solutions=tuple(None if isinstance(a, SolverError) else a for a in answers),
            errors={d: a for d, a in enumerate(answers) if isinstance(a, SolverError)},
        )

    def _costs(self, f: ArrayLike, *, form: str) -> FloatArray:
        """The costs as an array of the given form, in which K may be left out."""
        table, dimensions = _check.float_array(f, copy=False), form.count(",") + 1
        shape = self._cmdp.r.shape
        if (
            table is None
            or table.ndim not in (dimensions - 1, dimensions)
            or table.shape[-2:] != shape
        ):
            found = "no array of numbers" if table is None else str(table.shape)
            raise InvalidArgumentError(
                f"f must have shape {form.format(*shape)}, with or without K; got {found}"
            )
        if table.ndim == dimensions and table.shape[-3] == 0:
            raise InvalidArgumentError("f must hold at least one cost")
        _check.reject_non_finite("f", table.ravel())
        reject_beyond("f", table, gamma=self._cmdp.gamma)
        return table

    def _solve_batch(
        self, tables: FloatArray, b: FloatArray, *, gap: float, threads: int
    ) -> list[CMDPSolution | SolverError]:
        """Answers to draws that start from what is known now; then the pool learns from them."""
        with self.lock:
            return self._solve_locked(tables, b, gap=gap, threads=threads)

    def _solve_locked(
        self, tables: FloatArray, b: FloatArray, *, gap: float, threads: int
    ) -> list[CMDPSolution | SolverError]:
        library = self.library
        if library is None:
            return [self._by_lp(own, gap=gap) for own in map(self._draw, tables, b)]
        library.make_room()
        given, columns = library.given(tables), tables.shape[1] + 1
        start = self._values.get(columns, np.zeros((library.shape[0], columns)))
        found: dict[int, tuple[Outcome, FloatArray, CMDPSolution | SolverError]] = {}
        draws: SimpleQueue[int] = SimpleQueue()
        for d in range(len(tables)):
            draws.put(d)

        def work(space: Workspace) -> None:
            with suppress(Empty):
                while True:
                    d, x = draws.get_nowait(), start.copy()
                    outcome = space.solve(tables[d], b[d], gap=gap, given=given, x=x)
                    found[d] = outcome, x, self._answer(outcome, tables[d], b[d], gap=gap)

        workers = min(threads, len(tables))
        if workers <= 1:
            work(library.workspace)
        else:
            spaces = [library.workspace, *map(self._twin, range(workers - 1))]
            with ThreadPoolExecutor(workers) as threads_at_work:
                list(threads_at_work.map(work, spaces))
        for d in range(len(tables)):
            outcome, x, _ = found[d]
            if outcome.status == SOLVED:
                mixed = zip(outcome.policies, outcome.occupancies, strict=True)
                library.touch([library.insert(policy, y) for policy, y in mixed])
                self._values[columns] = x
        return [found[d][2] for d in range(len(tables))]

    def _twin(self, k: int) -> Workspace:
        """Workspace of another thread, kept for the next batch."""
        assert self.library is not None
        while len(self._twins) <= k:
            self._twins.append(self.library.workspace.twin())
        return self._twins[k]

    def _answer(
        self, outcome: Outcome, table: FloatArray, b: FloatArray, *, gap: float
    ) -> CMDPSolution | SolverError:
        """The solution, or the error that says why there is none."""
        if outcome.status == SOLVED:
            return self._solution(outcome, outcome.bound)
        if outcome.status == INFEASIBLE:
            return infeasible(outcome.multiplier, outcome.value)
        own = self._draw(table, b)
        small = own.num_states <= EXACT_FIRST
        answer = exact_solution(own, outcome.policies, gap=gap) if small else None
        if answer is None:
            answer = self._refined(outcome, own, gap=gap)
        if _undecided(answer) and own.num_states <= LP_LIMIT:
            by_lp = self._by_lp(own, gap=gap)
            answer = answer if _undecided(by_lp) else by_lp
        if _undecided(answer) and not small:
            answer = exact_solution(own, outcome.policies, gap=gap) or answer
        return answer

    def _refined(self, outcome: Outcome, own: CMDP, *, gap: float) -> CMDPSolution | SolverError:
        """The mixture found, where rounding is all that is left between its value and the bound."""
        reached = np.inf
        most = FEASIBILITY * np.abs(own.f).max(axis=(1, 2)) / (1.0 - own.gamma)
        if outcome.weights.size and (outcome.costs - own.f0 <= most).all():
            heaviest = outcome.policies[outcome.weights.argmax()]
            paid = np.maximum(own.f0, outcome.costs)  # raised where they can just not be kept
            bound = refined_bound(own, outcome.multiplier, policy=heaviest, f0=paid)
            found = self._solution(outcome, min(bound, outcome.bound))
            if found.gap <= gap:
                return found
            reached = found.gap
        return ConvergenceError(
            f"the policies found reach a relative gap of {reached:.2g}, above the {gap:g} "
            "asked for: double precision does not decide; ask for a larger gap"
        )

    def _solution(self, outcome: Outcome, bound: float) -> CMDPSolution:
        """The mixture found, below a bound."""
        assert self.library is not None
        return CMDPSolution(
            occupancy=frozen(outcome.measure),
            value=outcome.value,
            costs=frozen(outcome.costs),
            dual=frozen(outcome.multiplier),
            upper_bound=bound,
            gap=distance(bound, outcome.value, reward_scale=self.library.reward_scale),
            engine="policies",
            iterations=outcome.steps,
            weights=frozen(outcome.weights),
            policies=frozen(outcome.policies),
        )

    def _by_lp(self, own: CMDP, *, gap: float) -> CMDPSolution | SolverError:
        """One draw as a linear program: without the kernels, or where rounding defeats them."""
        try:
            return solve_lp(own, own.f0, gap=gap)
        except SolverError as error:
            return error.with_traceback(None)  # which would keep the tables of the draw alive

    def _draw(self, table: FloatArray, b: FloatArray) -> CMDP:
        """The model of one draw."""
        return self._cmdp.with_constraints(table.reshape(-1, *self._cmdp.r.shape), b)
