"""A pool of policies shared by every CMDP with the same dynamics and reward.

Dynamics are public, so the occupancy measure of a policy is a valid column for every draw of the
costs f and tolerances f0, and a good start for the next. Where states are few, batches of draws are
offered the mixtures that the pool knows (:mod:`dp_cmdp.cmdp.solvers.batch`). What these do not
settle is solved by Newton's method when there is one cost (:mod:`dp_cmdp.cmdp.solvers.newton`), and
by column generation (:mod:`dp_cmdp.cmdp.solvers.columns`).
"""

from __future__ import annotations

from contextlib import suppress

import numpy as np
from numpy.typing import ArrayLike

from dp_cmdp import _check
from dp_cmdp._check import FloatArray, frozen
from dp_cmdp._door import door
from dp_cmdp.cmdp.model import CMDP
from dp_cmdp.cmdp.solvers.batch import FEW_STATES, solve_batch
from dp_cmdp.cmdp.solvers.columns import ColumnGeneration
from dp_cmdp.cmdp.solvers.library import PolicyLibrary
from dp_cmdp.cmdp.solvers.newton import solve_one_row
from dp_cmdp.cmdp.solvers.solution import CMDPSolution, SweepSolution
from dp_cmdp.errors import ConvergenceError, InvalidArgumentError, SolverError

#: In models with more states, columns are loose where that will do.
EXACT_COLUMN_STATES = 500
#: Draws in a batch: few at first, while the pool still learns.
FIRST_BATCH, LARGEST_BATCH = 16, 128


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
        self.library = PolicyLibrary(cmdp, capacity=capacity)

    def __len__(self) -> int:
        """Number of policies it knows."""
        return len(self.library)

    @door
    def fits(self, cmdp: CMDP) -> bool:
        """Whether `cmdp` has the pool's dynamics, reward, start and discount."""
        library, own = self.library, self.library.dynamics
        return (
            cmdp.r.shape == library.shape
            and cmdp.gamma == own.gamma
            and cmdp.T.nnz == own.data.size
            and np.array_equal(cmdp.T.indptr, own.indptr)
            and np.array_equal(cmdp.T.indices, own.indices)
            and np.array_equal(cmdp.T.data, own.data)
            and np.array_equal(cmdp.r.reshape(-1), library.reward)
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
        table = self._costs(f, form="(K, {}, {})").reshape(-1, self.library.reward.size)
        tolerance = _check.vector("f0", f0, size=len(table))
        tolerance = tolerance - _check.vector("margin", margin, size=len(table))
        accuracy = _check.real("gap", gap, low=0.0)
        return self._solve(table, tolerance, gap=accuracy)

    @door
    def solve_many(
        self, f: ArrayLike, f0: ArrayLike, *, gap: float = 1e-8, margin: ArrayLike = 0.0
    ) -> SweepSolution:
        """Solve a sweep of draws; the same answers as one :meth:`solve` per draw, within the gap.

        A draw without a solution does not end the sweep: it is named, with the reason, in the
        result.

        In models of at most :data:`~dp_cmdp.cmdp.solvers.batch.FEW_STATES` states, batches of draws
        are first offered the mixtures that the pool knows; what these do not settle, and all draws
        of larger models, are solved one after the other.

        Parameters
        ----------
        f : (draws, K, num_states, num_actions), or (draws, num_states, num_actions) for K = 1
        f0 : (draws, K), or (draws,) for K = 1
        gap : float
        margin : (K,)

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
        tables = tables.reshape(draws, rows, self.library.reward.size)
        accuracy = _check.real("gap", gap, low=0.0)
        b = _check.float_array(f0)
        if b is not None and b.shape == (draws,) and rows == 1:
            b = b[:, None]
        if b is None or b.shape != (draws, rows):
            raise InvalidArgumentError(f"f0 must have shape ({draws}, {rows}), one row per draw")
        _check.reject_non_finite("f0", b.ravel())
        b = b - _check.vector("margin", margin, size=rows)
        answers: list[CMDPSolution | SolverError] = []
        size = FIRST_BATCH
        while len(answers) < draws:
            own = slice(len(answers), len(answers) + size)
            answers += self._solve_batch(tables[own], b[own], gap=accuracy)
            size = min(2 * size, LARGEST_BATCH)
        return SweepSolution(
            solutions=tuple(None if isinstance(a, SolverError) else a for a in answers),
            errors={d: a for d, a in enumerate(answers) if isinstance(a, SolverError)},
        )

    def _costs(self, f: ArrayLike, *, form: str) -> FloatArray:
        """The costs as an array of the given form, in which K may be left out."""
        table, dimensions = _check.float_array(f), form.count(",") + 1
        if (
            table is None
            or table.ndim not in (dimensions - 1, dimensions)
            or table.shape[-2:] != self.library.shape
        ):
            found = "no array of numbers" if table is None else str(table.shape)
            shape = form.format(*self.library.shape)
            raise InvalidArgumentError(f"f must have shape {shape}, with or without K; got {found}")
        _check.reject_non_finite("f", table.ravel())
        return table

    def _solve_batch(
        self, tables: FloatArray, b: FloatArray, *, gap: float
    ) -> list[CMDPSolution | SolverError]:
        """Settle together, where states are few, what can be; the others one by one."""
        found: list[CMDPSolution | None] = [None] * len(tables)
        if self.library.shape[0] <= FEW_STATES:
            self.library.prepare()
            found = solve_batch(self.library, tables, b, gap=gap)
        return [
            self._solve_or_say_why(table, tolerance, gap=gap) if answer is None else answer
            for answer, table, tolerance in zip(found, tables, b, strict=True)
        ]

    def _solve_or_say_why(
        self, table: FloatArray, b: FloatArray, *, gap: float
    ) -> CMDPSolution | SolverError:
        try:
            return self._solve(table, b, gap=gap)
        except SolverError as error:
            return error.with_traceback(None)  # which would keep the tables of the draw alive

    def _solve(self, table: FloatArray, b: FloatArray, *, gap: float) -> CMDPSolution:
        """Newton's method, then column generation; in large models with loose columns first."""
        self.library.prepare()
        table = frozen(table.view())  # to compiled code, read-only arrays are of another type
        if b.size == 1:
            answer = solve_one_row(self.library, table, b, gap=gap)
            if answer is not None:
                return answer
        if self.library.shape[0] > EXACT_COLUMN_STATES:
            with suppress(ConvergenceError):
                return ColumnGeneration(self.library, table, b, gap=gap, exact=False).run()
        return ColumnGeneration(self.library, table, b, gap=gap, exact=True).run()
