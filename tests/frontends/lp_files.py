"""Linear programs as files, for tests."""

from __future__ import annotations

import locale
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import highspy
import numpy as np
from scipy import sparse

#: Every kind of row and column; private numbers are to be put in for the names in braces.
PLANNING = """NAME PLANNING
OBJSENSE
    MAX
ROWS
 N PROFIT
 L HOURS
 L WOOD
 G ORDER
 E BALANCE
 L SPACE
 N NOTE
COLUMNS
 CHAIR PROFIT {profit} HOURS {chair}
 CHAIR WOOD 4 ORDER 1
 TABLE PROFIT 50 HOURS 3
 TABLE WOOD 9 BALANCE 1
 TABLE NOTE 5
 STOCK BALANCE -1 PROFIT -1
 STOCK SPACE {space}
RHS
 RHS HOURS {hours} WOOD 240
 RHS ORDER {order} PROFIT -7
 RHS SPACE {room}
RANGES
 RNG SPACE 50
BOUNDS
 UP BND STOCK {stock}
 LO BND CHAIR -3
ENDATA
"""
NUMBERS = {
    "profit": 20,
    "chair": 2,
    "space": 1.5,
    "hours": 100,
    "order": 5,
    "room": 45,
    "stock": 20,
}


def planning(folder: Path, name: str = "planning.mps", **numbers: float | str) -> Path:
    """The planning problem as a file, with some of its numbers changed."""
    path = folder / name
    path.write_text(PLANNING.format(**{**NUMBERS, **numbers}))
    return path


def random_model(seed: int) -> highspy.HighsLp:
    """A feasible, bounded program with every kind of row, bound, sense and an offset."""
    rng = np.random.default_rng(seed)
    m, n = int(rng.integers(4, 16)), int(rng.integers(3, 12))
    A = np.where(rng.random((m, n)) < 0.6, rng.normal(size=(m, n)).round(2), 0.0)
    lower = rng.choice([-np.inf, -4.0, 0.0, 1.0], n)
    upper = rng.choice([5.0, 8.0, np.inf], n)
    lower[0] = upper[0] = 1.5  # a fixed column
    x = np.clip(rng.uniform(-2.0, 4.0, n).round(1), lower, upper)
    kind = rng.integers(0, 5, m)
    kind[0] = 4
    A[1] = 0.0  # an empty row
    down, up = A @ x - rng.uniform(0.1, 2.0, m), A @ x + rng.uniform(0.1, 2.0, m)
    equal = (A @ x).round(6)
    box = np.eye(n)
    model = highspy.HighsLp()
    model.num_row_, model.num_col_ = m + n, n
    model.sense_ = highspy.ObjSense.kMaximize if seed % 2 else highspy.ObjSense.kMinimize
    model.offset_ = float(rng.integers(-9, 9))
    model.col_cost_ = rng.normal(size=n).round(3)
    model.col_lower_, model.col_upper_ = lower, upper
    rows = [
        np.select([kind == 0, kind == 3, kind == 4], [-np.inf, equal, -np.inf], down),
        np.select([kind == 1, kind == 3, kind == 4], [np.inf, equal, np.inf], up),
    ]
    model.row_lower_ = np.concatenate([rows[0], np.full(n, -50.0)])
    model.row_upper_ = np.concatenate([rows[1], np.full(n, 50.0)])
    columns = sparse.csc_array(np.vstack([A, box]))
    model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    model.a_matrix_.start_ = columns.indptr
    model.a_matrix_.index_ = columns.indices
    model.a_matrix_.value_ = columns.data
    model.row_names_ = [f"row{i}" for i in range(m + n)]
    model.col_names_ = [f"x{j}" for j in range(n)]
    return model


@contextmanager
def decimal_points() -> Iterator[None]:
    """Where the locale has decimal commas HiGHS writes them into files, and reads none else."""
    before = locale.setlocale(locale.LC_NUMERIC)
    locale.setlocale(locale.LC_NUMERIC, "C")
    try:
        yield
    finally:
        locale.setlocale(locale.LC_NUMERIC, before)


def written(model: highspy.HighsLp, path: Path) -> Path:
    """The model as HiGHS writes it."""
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.passModel(model)
    with decimal_points():
        assert highs.writeModel(str(path)) != highspy.HighsStatus.kError
    return path


def plain_optimum(path: Path) -> float:
    """What HiGHS finds for a file, integer columns relaxed."""
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    with decimal_points():
        highs.readModel(str(path))
    model = highs.getLp()
    model.integrality_ = []
    highs.passModel(model)
    highs.run()
    assert highs.getModelStatus() == highspy.HighsModelStatus.kOptimal
    return highs.getInfo().objective_function_value
