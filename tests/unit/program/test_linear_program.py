"""Linear programs and their certificates."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from dp_cmdp import LinearProgram, solve
from dp_cmdp.errors import InfeasibleError, InvalidArgumentError, SolverError, UnboundedError


def exactly_feasible(lp: LinearProgram, x: np.ndarray) -> bool:
    A = lp.A.toarray()
    for row, b in zip(A, lp.b, strict=True):
        total = sum((Fraction(a) * Fraction(v) for a, v in zip(row, x, strict=True)), Fraction(0))
        if total > Fraction(b):
            return False
    return all(lo <= v <= hi for lo, v, hi in zip(lp.lower, x, lp.upper, strict=True))


def random_lp(rng: np.random.Generator) -> LinearProgram:
    n, m = rng.integers(2, 20), rng.integers(1, 10)
    return LinearProgram(
        rng.random(n), rng.random((m, n)), b=rng.random(m) + 0.5, upper=rng.uniform(1, 5, n)
    )


def test_closed_form_in_two_variables():
    # max 3x + 2y, x + y <= 4, x + 3y <= 6: the corner (4, 0)
    solution = solve(LinearProgram([3, 2], [[1, 1], [1, 3]], b=[4, 6]))
    assert solution.objective == pytest.approx(12.0)
    assert solution.x == pytest.approx([4.0, 0.0])
    assert solution.dual == pytest.approx([3.0, 0.0])


def test_a_binding_mixture_in_closed_form():
    # max x + y, 2x + y <= 4, x + 2y <= 4: x = y = 4/3
    solution = solve(LinearProgram([1, 1], [[2, 1], [1, 2]], b=[4, 4]))
    assert solution.x == pytest.approx([4 / 3, 4 / 3])
    assert solution.dual == pytest.approx([1 / 3, 1 / 3])


def test_certified_points_are_feasible_in_rational_arithmetic_where_plain_ones_are_not():
    rng = np.random.default_rng(0)
    programs = [random_lp(rng) for _ in range(100)]
    plain = [exactly_feasible(lp, solve(lp, certify=False).x) for lp in programs]
    assert sum(plain) < 90, "plain HiGHS points are expected to fail often; is the test still real?"
    for lp in programs:
        solution = solve(lp)
        assert solution.certificate is not None
        assert solution.certificate.verified
        assert solution.certificate.worst_slack >= 0
        assert exactly_feasible(lp, solution.x)
        assert solution.objective == pytest.approx(solve(lp, certify=False).objective, rel=1e-9)


def test_sparse_and_dense_matrices_give_the_same_answer():
    A = np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 1.0]])
    dense = solve(LinearProgram([1, 1, 1], A, b=[2, 3]))
    for kind in (sparse.csr_array, sparse.csc_matrix, sparse.coo_array):
        assert solve(LinearProgram([1, 1, 1], kind(A), b=[2, 3])).objective == dense.objective


def test_the_cvxpy_engine_agrees():
    rng = np.random.default_rng(1)
    for _ in range(15):
        lp = random_lp(rng)
        ours, theirs = solve(lp), solve(lp, engine="cvxpy")
        assert theirs.objective == pytest.approx(ours.objective, rel=1e-6)
        assert exactly_feasible(lp, theirs.x)


def test_equality_rows_free_variables_and_their_multipliers():
    lp = LinearProgram(
        [1.0, -1.0], A_eq=[[1.0, 1.0]], b_eq=[1.0], lower=[-np.inf, -2.0], upper=[5.0, np.inf]
    )
    solution = solve(lp)
    assert solution.x == pytest.approx([3.0, -2.0])
    assert solution.dual_eq == pytest.approx([1.0])
    assert solution.certificate is not None
    assert solution.certificate.equality_residual <= solution.certificate.equality_tolerance


def test_an_unconstrained_but_bounded_program_has_no_rows():
    lp = LinearProgram([1.0], upper=[2.0])
    assert lp.A.shape == (0, 1)
    assert lp.A_eq.shape == (0, 1)
    assert solve(lp).x.tolist() == [2.0]


def test_infeasible_and_unbounded_are_named():
    with pytest.raises(InfeasibleError, match="relax"):
        solve(LinearProgram([1.0], [[1.0]], b=[-1.0]))
    with pytest.raises(UnboundedError, match="upper bounds"):
        solve(LinearProgram([1.0]))
    with pytest.raises(InfeasibleError):
        solve(LinearProgram([1.0], [[1.0]], b=[-1.0]), engine="cvxpy")
    with pytest.raises(UnboundedError):
        solve(LinearProgram([1.0]), engine="cvxpy")


def test_a_feasible_set_without_interior_cannot_be_certified_and_says_so():
    # x/3 <= 1/10 and -x/3 <= -1/10: one real point, which no float hits
    lp = LinearProgram([1.0], [[1 / 3], [-1 / 3]], b=[0.1, -0.1])
    with pytest.raises(SolverError, match="equalities"):
        solve(lp)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"c": []}, "c must"),
        ({"c": [np.nan]}, "c must be finite"),
        ({"c": ["x"]}, "c must"),
        ({"c": [1.0], "A": [[1.0, 2.0]], "b": [1.0]}, "A must have 1 columns"),
        ({"c": [1.0], "A": [[1.0]], "b": [1.0, 2.0]}, "b must have 1 entries"),
        ({"c": [1.0], "A": [[1.0]]}, "A and b must be given together"),
        ({"c": [1.0], "A": [[np.inf]], "b": [1.0]}, "A must be finite"),
        ({"c": [1.0], "A": [1.0], "b": [1.0]}, "A must be two-dimensional"),
        ({"c": [1.0], "lower": 2.0, "upper": 1.0}, "lower must not exceed upper"),
        ({"c": [1.0], "upper": np.nan}, "upper must contain no NaN"),
        ({"c": [1.0], "b_eq": [1.0]}, "A_eq and b_eq"),
    ],
)
def test_ill_formed_programs_are_refused_by_name(arguments, named):
    with pytest.raises(InvalidArgumentError, match=named):
        LinearProgram(**arguments)


def test_an_unknown_engine_is_refused():
    with pytest.raises(InvalidArgumentError, match="engine must be one of highs, cvxpy"):
        solve(LinearProgram([1.0], upper=1.0), engine="abacus")


def test_programs_and_solutions_are_read_only():
    lp = LinearProgram([1.0], [[1.0]], b=[1.0])
    for array in (lp.c, lp.A.data, lp.b, solve(lp).x):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 7.0


@pytest.mark.parametrize("scale", [1e-12, 1e-9, 1.0, 1e9])
def test_verdicts_do_not_depend_on_the_scale_of_rows_or_objective(scale):
    with pytest.raises(UnboundedError):
        solve(LinearProgram([scale]))
    tiny = solve(LinearProgram([scale], [[scale]], b=[5 * scale]))
    assert tiny.x == pytest.approx([5.0])
    assert tiny.dual == pytest.approx([1.0])
    with pytest.raises(InfeasibleError):
        solve(LinearProgram([1.0], [[scale]], b=[-scale]))
