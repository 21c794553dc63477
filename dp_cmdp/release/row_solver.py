"""The best answer over given rows, to a solver's accuracy: what proposals and trials ask for."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from dp_cmdp import _check
from dp_cmdp._check import FloatArray
from dp_cmdp.errors import InvalidArgumentError, SolverError
from dp_cmdp.program.engines.highs import HighsEngine
from dp_cmdp.program.parametric import ParametricLP
from dp_cmdp.program.polytope_rows import PolytopeRows

if TYPE_CHECKING:
    import highspy

#: Programs with at least so many rows are solved by interior points: three to fifteen times as fast
#: as simplex in auctions of 300 and 1,000 groups, and no faster in small ones.
INTERIOR_ROWS = 1_000

#: Solves a program over given rows, to a solver's accuracy: (x, multipliers).
Solver = Callable[[ParametricLP, PolytopeRows, FloatArray], tuple[FloatArray, FloatArray]]


class RowSolver:
    """HiGHS; a program of a shape met before starts from the last basis of that shape.

    Which of several best answers is found depends on what was solved before, so whoever must not
    depend on that takes a new one.

    Parameters
    ----------
    most_rows : float
        Programs with as many rows or more always start afresh.

    Notes
    -----
    **Privacy.** *Post-processing* of the rows it is given.
    """

    def __init__(self, *, most_rows: float = np.inf) -> None:
        self._most_rows = most_rows
        self._bases: dict[tuple[int, int], highspy.HighsBasis] = {}

    def __call__(
        self, program: ParametricLP, rows: PolytopeRows, objective: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        lp = program.with_rows(rows.counterpart(), objective)
        shape = (lp.num_rows, lp.num_variables)
        engine = HighsEngine(lp)
        if shape in self._bases and lp.num_rows < self._most_rows:
            engine = engine.starting_at(self._bases[shape])
        elif lp.num_rows >= INTERIOR_ROWS:
            engine = engine.by_interior_points()
        found = engine.run(lp.b).x
        self._bases[shape] = engine.basis
        multipliers = found[found.size - rows.num_multipliers :]
        return found[: program.num_variables], np.maximum(multipliers, 0.0)


def solved(
    solver: Solver, program: ParametricLP, rows: PolytopeRows, objective: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """What a solver returns, once it is a point and multipliers that are not negative."""
    found: Any = solver(program, rows, objective)
    if not isinstance(found, tuple) or len(found) != 2:
        raise SolverError("the solver must return x and multipliers")
    try:
        x = _check.vector("x", found[0], size=program.num_variables)
        multipliers = _check.vector("multipliers", found[1], size=rows.num_multipliers)
    except InvalidArgumentError as error:
        raise SolverError(f"the solver must return x and multipliers: {error}") from None
    return x, np.maximum(multipliers, 0.0)
