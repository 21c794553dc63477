"""What cannot be made private is refused by name, with what to change, before anything is spent."""

# pyright: reportArgumentType=false, reportOptionalMemberAccess=false

import cvxpy as cp
import numpy as np
import pytest

import dp_cmdp as dp
from dp_cmdp.cvxpy import PrivateParameter, load
from dp_cmdp.errors import InvalidArgumentError, PrivacyLeakError, RefusedError

p = PrivateParameter(3, lower=0, upper=1, radius=0.1, name="p")
q = PrivateParameter(3, lower=0, upper=1, radius=0.1, name="q")
x = cp.Variable(3, name="x")
u = cp.Parameter(3, name="u")
MOST = cp.Maximize(cp.sum(x))
SQUARES = cp.Minimize(cp.sum_squares(x))


def labelled(constraint, label):
    return constraint.set_label(label)


REFUSED = {
    "an equality": (MOST, [labelled(p @ x == 1, "balance")], "balance is an equality.*slack"),
    "an equality with no label": (MOST, [x <= 1, x[0] + q[1] == 1], r"constraint 1 \(x\[0\] \+ q"),
    "a definition": (MOST, [x == p], "can be replaced by its expression"),
    "a product of two": (MOST, [cp.multiply(p, q) @ x <= 1], "constraint 0.*not linear in p, q"),
    "a product in the objective": (cp.Maximize(p[0] * q[0] * x[0]), [x <= 1], "the objective is n"),
    "a square that multiplies": (MOST, [cp.square(p) @ x <= 1], "not linear in p"),
    "an exponential": (MOST, [cp.exp(p[0]) + x[0] <= 3], "private parameter p inside a curve"),
    "a private 2-norm": (MOST, [cp.norm(cp.multiply(p, x)) <= 3], "parameter p inside a curve"),
    "a public 2-norm": (MOST, [cp.norm(x) <= 3, p @ x <= 1], "constraint 0.*is curved"),
    "a curve hidden by the objective": (
        cp.Minimize(cp.norm(x)),
        [p @ x >= -1, cp.norm(x) <= 3],
        "constraint 1.*is curved",
    ),
    "private data in a square": (
        cp.Minimize(cp.sum_squares(x - p)),
        [],
        "objective has the privat",
    ),
    "private data in a norm": (cp.Minimize(cp.norm(x - p)), [], "objective has the private"),
    "a private matrix of squares": (cp.Minimize(cp.quad_form(x, cp.diag(p))), [], "the objective"),
    "a private weight of a square": (cp.Minimize(p[0] * cp.square(x[0])), [], "the objective has"),
    "not convex": (MOST, [cp.norm(x) >= 3, p @ x <= 1], "constraint 0.*DCP"),
    "integers": (
        cp.Maximize(cp.sum(cp.Variable(3, integer=True, name="k")) + p[0]),
        [],
        "k is bool",
    ),
    "complex": (
        cp.Minimize(cp.abs(cp.Variable(complex=True, name="k")) + p[0]),
        [],
        "k is complex",
    ),
    "a matrix cone": (MOST, [p @ x <= 1, cp.Variable((2, 2), PSD=True) <= 1], "is curved"),
    "no private parameter": (MOST, [x <= 1], "no private parameter"),
    "no variable": (cp.Minimize(p[0]), [p >= 0], "no variable"),
    "a public parameter without value": (
        MOST,
        [u @ x + p @ x <= 1],
        "public parameter u has no val",
    ),
    "two of one name": (
        MOST,
        [p @ x <= 1, PrivateParameter(lower=0, upper=1, name="p") <= 1],
        "different names.*p",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_problem_that_cannot_be_private_is_refused_by_name(case):
    objective, constraints, text = REFUSED[case]
    with pytest.raises(InvalidArgumentError, match=text):
        dp.answer(cp.Problem(objective, constraints))


@pytest.mark.parametrize("objective", [MOST, SQUARES])
def test_robust_infeasibility_names_the_users_constraint_and_the_smallest_repair(objective):
    rows = [labelled(x >= p, "floor"), x <= 0.75, x >= -1]
    with pytest.raises(RefusedError, match=r"relax floor\[0\] by 0.25.*No data was read") as found:
        dp.answer(cp.Problem(objective, rows))
    assert found.value.repairs == pytest.approx({f"floor[{k}]": 0.25 for k in range(3)})


def test_rows_inside_an_atom_bear_the_name_of_their_constraint():
    rows = [labelled(cp.norm1(x - p) <= 0.25, "near"), x[0] <= 2]
    assert {name.split("[")[0] for name in load(cp.Problem(MOST, rows)).row_names} == {"near"}
    with pytest.raises(RefusedError, match="near"):
        dp.answer(cp.Problem(MOST, rows))


def test_an_unbounded_objective_names_the_users_variable():
    with pytest.raises(RefusedError, match=r"x\[\d\] can grow"):
        dp.answer(cp.Problem(MOST, [p @ x <= 1]))


@pytest.mark.parametrize("objective", [MOST, SQUARES])
def test_public_rows_that_contradict_each_other_are_refused(objective):
    least = labelled(cp.sum(x) == 7, "total")
    with pytest.raises(RefusedError, match=r"public rows.*No data"):
        dp.answer(cp.Problem(objective, [p @ x <= 1, x <= 2, x >= -1, least]))


PROBLEM = cp.Problem(MOST, [p @ x <= 1, x >= 0, x <= 2])
ONCE = {"epsilon": 1, "delta": "1/1000", "strategy": "entries"}
WRONG = {
    "nothing": {},
    "another parameter": {p: np.ones(3) / 2, q: np.ones(3)},
    "an unknown name": {p: np.ones(3) / 2, "r": 1},
    "twice": {p: np.ones(3) / 2, "p": np.ones(3)},
}


@pytest.mark.parametrize("case", WRONG)
def test_keys_that_do_not_fit_cost_nothing(case):
    with pytest.raises(InvalidArgumentError, match="exactly the groups 'p'") as found:
        dp.solve(PROBLEM, WRONG[case], **ONCE)
    assert found.value.__context__ is None


@pytest.mark.parametrize("objective", [MOST, SQUARES])
def test_nothing_is_read_for_a_problem_that_is_refused(objective):
    def untouched():
        raise AssertionError

    problem = cp.Problem(objective, [p @ x <= 1, x >= 2, x <= 3])
    with pytest.raises(RefusedError, match="no point is feasible for every database"):
        dp.solve(problem, dp.Database(untouched, problem), **ONCE)
    with pytest.raises(InvalidArgumentError, match="is an equality"):
        dp.solve(cp.Problem(MOST, [p @ x == 1]), {p: [1, 1, 1]}, **ONCE)


def test_a_private_parameter_keeps_no_value():
    with pytest.raises(PrivacyLeakError, match=r"call dp_cmdp\.solve"):
        p.value = [0.5, 0.5, 0.5]
    with pytest.raises(PrivacyLeakError):
        p.save_value(np.ones(3))
    assert p.value is None


@pytest.mark.parametrize("shared", [1, "a", np.int64(1), np.str_("a")])
def test_a_label_joins_parameters_whatever_stands_beside_it(shared):
    other = "b" if shared == "a" else 7
    first = PrivateParameter(2, lower=0, upper=1, records=[shared, other], name="first")
    second = PrivateParameter((), lower=0, upper=1, records=shared, name="second")
    envelope = load(cp.Problem(MOST, [first @ x[:2] <= 1, x <= second + 1])).envelope
    assert sorted((envelope.change.toarray() > 0).astype(int).tolist()) == [[0, 1, 0], [1, 0, 1]]


def test_an_integer_and_its_text_are_not_taken_for_two_records_in_silence():
    first = PrivateParameter(2, lower=0, upper=1, records=np.array([1, "a"]), name="first")
    second = PrivateParameter((), lower=0, upper=1, records=1, name="second")
    with pytest.raises(InvalidArgumentError, match="the text '1' and the number 1"):
        load(cp.Problem(MOST, [first @ x[:2] <= 1, x <= second + 1]))


@pytest.mark.parametrize(
    ("row", "name"),
    [
        (x <= [1, np.nan, 2], r"constraint 1 \(x <= .*\[1\]"),
        (labelled(np.array([1, np.inf, 1]) @ x <= 1, "cap"), "cap"),
        (labelled(x[0] + x[1] == np.inf, "sum"), "sum"),
        (labelled(cp.multiply(p, [1, np.nan, 1]) @ x <= 1, "cap"), "cap"),
        (labelled(cp.norm1(x - [0, np.nan, 1]) <= 1, "cap"), "cap"),
    ],
)
def test_numbers_that_are_none_are_refused_by_the_name_of_their_constraint(row, name):
    with pytest.raises(InvalidArgumentError, match=f"^{name}.* NaN or infinite"):
        load(cp.Problem(MOST, [p @ x <= 1, row]))
