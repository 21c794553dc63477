"""HiGHS: a verdict on every program, in whatever units it is stated."""

import numpy as np
import pytest

from dp_cmdp._src.base.errors import InfeasibleError, UnboundedError
from dp_cmdp._src.program.certified import solve_certified
from dp_cmdp._src.program.highs import HighsEngine
from tests.program.programs import linear

INF = np.inf

#: Programs on which a first run of HiGHS ends without a verdict (kUnknown or kSolveError).
CONTRADICTORY = {
    "a row and its opposite, free variables": linear(
        [0.01, -0.008, 0.008, 2000.0, 0.03],
        [[0.02, 7e3, 200.0, 0, 0], [-0.02, -7e3, -200.0, 0, 0], [0, 0.005, 0, 500.0, -0.007]],
        b=[-1.0, -99.0, 0.0],
        lower=[-INF, -INF, 0.0, -INF, -INF],
    ),
    "a row and its opposite, by 1e-5": linear(
        [0.005, 100.0, 0.0, -50.0, -0.007],
        [[2.0, 0, 5e3, -0.7, 2.0], [-2.0, 0, -5e3, 0.7, -2.0]],
        b=[-1.0, 0.99999],
        lower=[-INF, -INF, -INF, -INF, 0.0],
        upper=[INF, INF, INF, INF, 0.01],
    ),
    "a variable at 0 and above 3e-5": linear(
        [-2e-5, -6e5],
        [[5e-5, 0.0], [-300.0, 1e-6]],
        b=[0.0, -0.01],
        A_eq=[[500.0, 0.0], [500.0, 0.0]],
        b_eq=[0.0, 1e-8],
        lower=[0.0, -INF],
        upper=[INF, 1e-6],
    ),
}
Z = 0.09999 / 0.005001
SOLVABLE = {
    "rows of sizes 1e-7 to 1e9": (
        linear(
            [-50.0, 4e-9],
            [[-7e-6, 0.0], [0.0, 0.0], [1e-7, 1e4]],
            b=[1.0, 0.0, 1e8],
            A_eq=[[0.0, 2e9], [-3.0, 5e8]],
            b_eq=[-0.01, 0.0],
            lower=-INF,
            upper=[1e7, 1e8],
        ),
        # 2e9 y = -0.01 and 3 x = 5e8 y leave one point
        -50.0 * (5e8 * -5e-12 / 3) + 4e-9 * -5e-12,
    ),
    "columns of sizes 1e-6 to 1e6": (
        linear(
            [90.0, -0.0005, -1e5],
            [[0.007, 1e3, -0.05], [0.0, -1e6, -1e-6]],
            b=[0.0, 1e-5],
            A_eq=[[0.0, 1e6, -0.005]],
            b_eq=[-0.1],
            lower=[0.0, -INF, 0.0],
            upper=[INF, 100.0, 1e4],
        ),
        # y = (0.005 z - 0.1)/1e6; the second row asks for z >= Z, the first gives x, and z is dear
        90.0 * (0.049995 * Z + 1e-4) / 0.007 - 0.0005 * (0.005 * Z - 0.1) / 1e6 - 1e5 * Z,
    ),
}


@pytest.mark.parametrize("name", CONTRADICTORY)
def test_infeasible_programs_are_called_infeasible_where_highs_has_no_verdict(name):
    for solve in (solve_certified, lambda lp: HighsEngine(lp).run()):
        with pytest.raises(InfeasibleError):
            solve(CONTRADICTORY[name])


def test_unbounded_programs_are_called_unbounded_where_highs_has_no_verdict():
    lp = linear(
        [2000.0, 1.0],
        [[0.0, -300.0], [-7.0, 0.0], [0.0, -0.01]],
        b=[0.0, 1e-6, -1e6],
        lower=[0.0, -INF],
        upper=[0.1, INF],
    )
    with pytest.raises(UnboundedError):
        solve_certified(lp)


@pytest.mark.parametrize("name", SOLVABLE)
def test_feasible_programs_are_solved_where_highs_has_no_verdict(name):
    lp, best = SOLVABLE[name]
    solution = solve_certified(lp)
    assert (lp.slack(solution.x) >= 0).all()
    assert solution.worst_eq <= 1e-15
    assert lp.c @ solution.x == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("spread", [4, 7, 10])
def test_units_of_variables_do_not_change_the_verdict(spread):
    # maximise x + y over x + y <= 1, x <= 3 y in units of 10^±spread: coefficients would vanish
    unit = np.array([10.0**spread, 10.0**-spread])
    lp = linear(
        unit, np.array([[1.0, 1.0], [1.0, -3.0]]) * unit, b=[1.0, 0.0], lower=[0.5 / unit[0], 0.0]
    )
    solution = solve_certified(lp)
    assert lp.c @ solution.x == pytest.approx(1.0, rel=1e-12)
    assert (lp.slack(solution.x) >= 0).all()


@pytest.mark.parametrize("scale", [1e-12, 1e-9, 1.0, 1e9])
def test_verdicts_do_not_depend_on_the_scale_of_rows_or_objective(scale):
    with pytest.raises(UnboundedError):
        solve_certified(linear([scale]))
    tiny = solve_certified(linear([scale], [[scale]], b=[5 * scale]))
    assert tiny.x == pytest.approx([5.0])
    assert tiny.raw.dual == pytest.approx([1.0])
    with pytest.raises(InfeasibleError):
        solve_certified(linear([1.0], [[scale]], b=[-scale]))


def test_equality_rows_free_variables_and_their_multipliers():
    lp = linear([1.0, -1.0], A_eq=[[1.0, 1.0]], b_eq=[1.0], lower=[-INF, -2.0], upper=[5.0, INF])
    found = solve_certified(lp)
    assert found.x == pytest.approx([3.0, -2.0])
    assert found.raw.dual_eq == pytest.approx([1.0])
