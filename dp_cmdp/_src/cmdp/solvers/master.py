"""A linear program that gains columns between solves, kept warm in HiGHS."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from dp_cmdp._src.base.errors import ConvergenceError
from dp_cmdp._src.base.validation import FloatArray
from dp_cmdp._src.program.highs import _STATUS, _quiet_highs
from dp_cmdp._src.program.linear import LinearProgram, Scale


class GrowingProgram:
    """maximise cᵀz, rows z ≤ right (the last one is an equality), z ≥ 0; begins with c = 0."""

    def __init__(
        self, rows: sparse.csr_array, right: FloatArray, *, tolerance: float, iterations: int
    ) -> None:
        none = np.zeros(rows.shape[1])
        top = np.full(rows.shape[1], np.inf)
        lp = LinearProgram(none, rows[:-1], right[:-1], rows[-1:], right[-1:], none, top)
        self._highs: Any = _quiet_highs(lp, Scale.unit(lp), tolerance)
        for name, option in (
            ("presolve", "off"),
            ("simplex_strategy", 4),  # primal: new columns leave the last basis feasible
            ("simplex_iteration_limit", iterations),
        ):
            self._highs.setOptionValue(name, option)

    def add(self, worth: float, column: FloatArray) -> None:
        """A new variable ≥ 0."""
        at = np.flatnonzero(column).astype(np.int32)
        self._highs.addCol(worth, 0.0, np.inf, at.size, at, column[at])

    def set_cost(self, variable: int, worth: float) -> None:
        self._highs.changeColCost(variable, worth)

    def set_upper(self, variable: int, upper: float) -> None:
        self._highs.changeColBounds(variable, 0.0, upper)

    def solve(self) -> tuple[float, FloatArray, FloatArray]:
        """The optimum, the variables, and the multipliers of the rows."""
        for _ in range(2):
            self._highs.run()
            if self._highs.getModelStatus() == _STATUS.kOptimal:
                found = self._highs.getSolution()
                value = self._highs.getInfo().objective_function_value
                return float(value), np.asarray(found.col_value), np.asarray(found.row_dual)
            self._highs.clearSolver()
        raise ConvergenceError("HiGHS found no optimum of the master program")
