"""Answers through the cvxpy door: the same as by hand, certified, and silent about the truth."""

# pyright: reportArgumentType=false, reportAttributeAccessIssue=false
# pyright: reportOptionalMemberAccess=false

import pickle
import sys
import warnings

import cvxpy as cp
import numpy as np
import pytest

import dp_cmdp
from dp_cmdp import Affine, Database, Envelope, ParametricLP, PrivacyBudget, PrivacyLedger
from dp_cmdp.errors import BudgetExceededError, SolverError
from dp_cmdp.frontends.cvxpy import PrivateParameter, check, compile, solve
from dp_cmdp.release.plan import Plan
from dp_cmdp.release.solve import release_and_solve
from tests.exact_cvxpy import fractions, shortfall
from tests.marked import MARKS, leaks_from_object

N, M = 4, 2
GROUP, BUYER = np.indices((N, M))


def auction(**facts):
    """The ad auction in cvxpy: its parameters and its problem."""
    price = PrivateParameter((N, M), lower=0, upper=1, radius=0.1, name="price", **facts)
    budget = PrivateParameter(M, lower=1, upper=3, radius=0.2, name="budget", **_of_buyers(facts))
    x = cp.Variable((N, M), nonneg=True, name="x")
    spent = cp.sum(cp.multiply(price, x), axis=0)
    rows = [cp.sum(x, axis=1) <= 2, spent <= budget]
    return price, budget, cp.Problem(cp.Maximize(cp.sum(cp.multiply(price, x))), rows)


def _of_buyers(facts):
    return {"records": np.arange(M)} if facts else {}


def by_hand(**facts):
    """The same as a program with private data, stated entry by entry."""
    price = Envelope(0.0, 1.0, radius=0.1, shape=(N, M))
    budget = Envelope(1.0, 3.0, radius=0.2, shape=M)
    records = {"price": BUYER, "budget": np.arange(M)} if facts else None
    envelope = Envelope.join({"price": price, "budget": budget}, records=records)
    column = BUYER * N + GROUP  # cvxpy's order of a matrix of variables
    return ParametricLP(
        envelope,
        c=Affine(N * M, at=column, entry=envelope.index("price")),
        A=Affine((M, N * M), at=(BUYER, column), entry=envelope.index("price")),
        b=Affine(M, at=np.arange(M), entry=envelope.index("budget")),
        A_ub=np.tile(np.eye(N), M),
        b_ub=np.full(N, 2.0),
    )


RNG = np.random.default_rng(3)
PRICES, BUDGETS = RNG.random((N, M)), RNG.uniform(1, 3, M)
DRAW = {"epsilon": 2, "delta": "1/1000"}


@pytest.mark.parametrize("facts", [{}, {"records": BUYER}], ids=["entries", "buyers"])
@pytest.mark.parametrize(
    "plan", ["database", "auto", Plan("0.35")], ids=["database", "auto", "looks"]
)
def test_the_auction_through_the_door_is_the_auction_by_hand(plan, facts):
    price, _, problem = auction(**facts)
    ours = solve(
        problem,
        {price: PRICES, "budget": BUDGETS},
        **DRAW,
        plan=plan,
        rng=np.random.default_rng(0),
    )
    program = by_hand(**facts)
    assert compile(problem).envelope == program.envelope
    database = Database({"price": PRICES, "budget": BUDGETS}, program.envelope)
    theirs = release_and_solve(
        program, database, PrivacyBudget(2, "1/1000"), plan=plan, rng=np.random.default_rng(0)
    )
    assert np.array_equal(ours.release.lower, theirs.release.lower)
    assert np.array_equal(ours.solution.x, theirs.solution.x)
    # nonnegative terms, fewer than 1,000, summed in another order
    rel = 1000 * 2.0**-52
    assert ours.value == pytest.approx(theirs.solution.objective, rel=rel)
    assert ours.robust_value == pytest.approx(theirs.robust.objective, rel=rel)


def test_the_compiled_program_is_the_program_by_hand():
    made, stated = compile(auction()[2]).program, by_hand()
    for block in ("A", "b", "c"):
        for part in ("row", "col", "entry", "coefficient"):
            assert np.array_equal(
                getattr(getattr(made, block), part), getattr(getattr(stated, block), part)
            )
    assert np.array_equal(made.A_ub.toarray(), stated.A_ub.toarray())
    assert made.b_eq.size == 0
    assert (made.lower == 0).all()


def test_variables_status_and_value_are_set_as_cvxpy_sets_them():
    price, budget, problem = auction()
    answer = solve(problem, {price: PRICES, budget: BUDGETS}, **DRAW)
    (x,) = problem.variables()
    assert problem.status == cp.OPTIMAL
    assert problem.value == answer.value
    assert x.value.shape == (N, M)
    assert answer.certificate.verified
    assert price.value is budget.value is problem.objective.value is None
    data = {"price": fractions(PRICES), "budget": fractions(BUDGETS)}
    assert shortfall(problem, data) <= 0


def public_twin(kind, objective):
    """One problem with a private right-hand side, and cvxpy's own at the worst of it."""
    b = PrivateParameter(2, lower=1, upper=1.5, name="b") if kind == "private" else np.ones(2)
    x = cp.Variable(3)
    rows = [cp.sum(x) == 2, np.array([[1.0, 2, 0], [0, 1, 1]]) @ x <= b, 2 * x[0] >= x[1]]
    return objective(np.array([3.0, 1, 2]) @ x), [*rows, cp.abs(x) <= 3]


@pytest.mark.parametrize("sense", [1, -1, 2])
def test_dual_values_are_those_of_cvxpy(sense):
    def objective(cost):
        if sense == 2:
            return cp.Minimize(cp.square(cost) + cost)
        return cp.Maximize(cost) if sense > 0 else cp.Minimize(cost)

    goal, rows = public_twin("private", objective)
    problem = cp.Problem(goal, rows)
    compiled = compile(problem)
    robust = check(compiled).robust
    compiled.unpack(robust, value=0.0, status="optimal")
    goal, theirs = public_twin("public", objective)
    cp.Problem(goal, theirs).solve(solver=cp.CLARABEL)
    for ours, other in zip(rows[:3], theirs[:3], strict=True):
        assert ours.dual_value == pytest.approx(other.dual_value, abs=1e-6)


def test_a_row_that_is_a_mere_bound_has_no_dual_value():
    price, budget, problem = auction()
    bound = problem.variables()[0] <= 4
    problem = cp.Problem(problem.objective, [*problem.constraints, bound])
    solve(problem, {price: PRICES, budget: BUDGETS}, **DRAW)
    assert bound.dual_value is None
    assert problem.constraints[0].dual_value is not None


def test_repeated_solves_spend_one_ledger_until_it_refuses(tmp_path):
    price, budget, problem = auction()
    ledger = PrivacyLedger(tmp_path / "ledger.sqlite")
    ledger.create("auction", PrivacyBudget(4, "1/500"), "one person")
    values = {price: PRICES, budget: BUDGETS}
    compiled = compile(problem)
    for _ in range(2):
        solve(compiled, values, **DRAW, ledger=ledger, identity="auction")
    with pytest.raises(BudgetExceededError):
        solve(problem, values, **DRAW, ledger=ledger, identity="auction")


def test_a_draw_for_simulations_needs_a_generator_and_says_so():
    price, budget, problem = auction()
    values = {price: PRICES, budget: BUDGETS}
    drawn = [solve(problem, values, **DRAW, rng=np.random.default_rng(7)) for _ in range(2)]
    assert not drawn[0].release.secure
    assert np.array_equal(drawn[0].solution.x, drawn[1].solution.x)
    assert solve(problem, values, **DRAW).release.secure


def test_check_spends_nothing_and_leaves_the_variables_alone():
    problem = auction()[2]
    found = check(problem)
    assert found.value == pytest.approx(M / 2)  # every budget at 1, every price at 1, half to show
    assert problem.variables()[0].value is None
    assert dp_cmdp.advise(found.program, epsilons=[1], deltas=["1/10"], draws=2) is not None


def test_public_facts_survive_pickling_and_nothing_else_is_there():
    price = auction(records=BUYER)[0]
    again = pickle.loads(pickle.dumps(price))
    assert again.envelope == price.envelope
    assert again.labels == price.labels
    assert "within [0, 1]" in repr(again)


def test_a_guess_is_public_and_broadcast():
    price, budget, problem = auction()
    values = {price: PRICES, budget: BUDGETS}
    guess = {price: 0.5, "budget": [2, 2]}
    assert solve(problem, values, **DRAW, guess=guess).certificate.verified


def visible(problem, answer):
    """All that anybody sees after a private solve."""
    numbers = [v.value for v in problem.variables()] + [c.dual_value for c in problem.constraints]
    state = [problem.status, problem.value, str(problem), repr(problem), repr(answer)]
    hidden = [p.value for p in problem.parameters()]
    return [*numbers, *state, *hidden, answer.value, answer.robust_value, answer.certificate]


@pytest.mark.parametrize("curved", [False, True])
def test_what_is_visible_depends_on_the_release_only(curved, monkeypatch, capfd):
    """Two databases, one release for both: everything that is seen afterwards is the same."""
    price, budget, problem = auction()
    if curved:
        goal = cp.Minimize(cp.sum_squares(problem.variables()[0] - 1))
        problem = cp.Problem(goal, problem.constraints)
    first, second = {price: PRICES, budget: BUDGETS}, {price: 1 - PRICES, budget: 4 - BUDGETS}
    release = solve(problem, first, **DRAW, plan="database").release
    monkeypatch.setattr(
        sys.modules["dp_cmdp.release.planned"], "release_database", lambda *_, **__: release
    )
    pictures = []
    for values in (first, second):
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            answer = solve(problem, values, **DRAW, plan="database")
        seen = visible(problem, answer)
        pictures.append([*seen, [str(w.message) for w in heard], capfd.readouterr()])
    for left, right in zip(*pictures, strict=True):
        assert np.array_equal(left, right) if isinstance(left, np.ndarray) else left == right


@pytest.mark.parametrize("curved", [False, True])
def test_no_private_number_can_be_reached_from_what_is_left(curved):
    a = PrivateParameter(3, lower=0, upper=1, radius=0.1, name="a")
    x = cp.Variable(3, nonneg=True)
    goal = cp.Minimize(cp.sum_squares(x - 1)) if curved else cp.Maximize(cp.sum(x))
    problem = cp.Problem(goal, [a @ x <= 1, x <= 2])
    compiled = compile(problem)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        answer = solve(compiled, {a: MARKS[:3]}, **DRAW, rng=np.random.default_rng(0))
    assert not [w for w in heard if "57913579" in str(w.message)]
    for thing in (problem, compiled, answer, a, x, goal):
        assert leaks_from_object(thing) == []


CURVES = {
    "squares": lambda x: cp.Minimize(cp.sum_squares(x - [1, 2, 3])),
    "a quadratic form": lambda x: cp.Minimize(cp.quad_form(x, np.diag([1.0, 2, 4]) + 0.5)),
    "a 2-norm": lambda x: cp.Minimize(cp.norm(x - 2)),
    "logarithms": lambda x: cp.Maximize(cp.sum(cp.log(x + 1))),
    "entropy": lambda x: cp.Maximize(cp.sum(cp.entr(x + 0.25)) + x[0]),
    "exponentials": lambda x: cp.Minimize(cp.log_sum_exp(-x) + cp.sum(x) / 8),
    "a square root": lambda x: cp.Maximize(cp.sum(cp.sqrt(x + 1))),
    "a geometric mean": lambda x: cp.Maximize(cp.geo_mean(x + 1)),
    "a square and a kink": lambda x: cp.Minimize(cp.sum_squares(x - 1) + cp.norm1(x - 0.5)),
    "huber": lambda x: cp.Minimize(cp.sum(cp.huber(x - 2))),
}


@pytest.mark.parametrize("name", CURVES)
def test_curved_public_objectives_have_the_value_of_cvxpy_and_an_exact_certificate(name):
    a = PrivateParameter(3, lower=0, upper=1, radius=0.1, name="a")
    b = PrivateParameter(lower=1, upper=2, radius=0.1, name="b")
    x = cp.Variable(3, nonneg=True)
    rows = [a @ x <= b, cp.sum(x) == 0.75, cp.abs(x[0] - x[1]) <= b]
    problem = cp.Problem(CURVES[name](x), rows)
    true_a, true_b = np.array([0.25, 0.5, 0.75]), 1.5
    answer = solve(problem, {a: true_a, b: true_b}, epsilon=4, delta="1/100")
    assert answer.certificate.verified
    assert answer.release.envelope.num_entries == 4
    for ends in (answer.release.lower, answer.release.upper, [*true_a, true_b]):
        data = {"a": fractions(ends[:3]), "b": fractions(ends[3])}
        assert shortfall(problem, data) <= 0
    assert problem.value == pytest.approx(problem.objective.value, rel=1e-5)
    # cvxpy's own answer over the released box: a at its top, b at its bottom, for x >= 0
    worst_a, worst_b = answer.release.upper[:3], answer.release.lower[3]
    y = cp.Variable(3, nonneg=True)
    worst = [worst_a @ y <= worst_b, cp.sum(y) == 0.75, cp.abs(y[0] - y[1]) <= worst_b]
    theirs = cp.Problem(CURVES[name](y), worst)
    theirs.solve(solver=cp.CLARABEL)
    assert problem.value == pytest.approx(theirs.value, rel=1e-5, abs=1e-6)


def test_a_private_linear_part_of_a_curved_objective_is_at_its_estimate():
    gain = PrivateParameter(2, lower=0, upper=1, radius=0.1, name="gain")
    x = cp.Variable(2, nonneg=True)
    problem = cp.Problem(cp.Maximize(gain @ x - cp.sum_squares(x)), [gain @ x <= 1])
    answer = solve(problem, {gain: [0.5, 0.25]}, epsilon=8, delta="1/10")
    estimate = np.clip(answer.release.estimate, 0, 1)
    assert x.value == pytest.approx(np.clip(estimate / 2, 0, 1), abs=0.1)


@pytest.mark.filterwarnings("ignore")
def test_the_old_spelling_of_an_inequality_is_one():
    p = PrivateParameter(lower=0, upper=1, name="p")
    x = cp.Variable()
    problem = cp.Problem(cp.Maximize(x), [cp.NonPos(x + p - 3)])
    assert compile(problem).is_linear
    assert check(problem).value == pytest.approx(2)


def test_one_record_across_parameters_is_protected_as_one():
    facts = compile(auction(records=BUYER)[2]).envelope
    assert facts.record_size == N + 1
    assert compile(auction()[2]).envelope.record_size == 1
    named = PrivateParameter(2, lower=0, upper=1, records=["ann", "bob"], name="a")
    other = PrivateParameter(2, lower=0, upper=1, records=["bob", "cid"], name="b")
    x = cp.Variable(2, bounds=[0, 1])
    problem = cp.Problem(cp.Maximize(named @ x), [other @ x <= 1])
    assert compile(problem).envelope.records.tolist() == [0, 1, 1, 2]


def test_a_public_parameter_counts_with_the_value_it_has():
    p = PrivateParameter(2, lower=0, upper=1, name="p")
    u = cp.Parameter(nonneg=True, name="u")
    x = cp.Variable(2, nonneg=True)
    problem = cp.Problem(cp.Maximize(cp.sum(x)), [u * (p @ x) <= 1, x <= u])
    for size in (1.0, 2.0):
        u.value = size
        assert check(problem).value == pytest.approx(1 / size)
        assert u.value == size


def test_an_answer_can_be_saved_and_judged_by_others(tmp_path):
    price, budget, problem = auction()
    answer = solve(problem, {price: PRICES, budget: BUDGETS}, **DRAW, plan="database")
    answer.release.save(tmp_path / "release.npz")
    answer.program.save(tmp_path / "program.npz")
    answer.solution.save(
        tmp_path / "solution.npz", release=answer.release, program=answer.program, name="auction"
    )
    files = [tmp_path / f"{name}.npz" for name in ("release", "program", "solution")]
    assert dp_cmdp.verify(*files).passed


def test_exactness_does_not_depend_on_how_a_bound_is_spelled():
    p = PrivateParameter(lower=0, upper=1, name="p")
    found = []
    for spelled in (lambda x: x <= 0.1, lambda x: 4 * x <= 0.4, lambda x: 3 * x <= 0.3):
        x = cp.Variable(bounds=[-1, 1])
        problem = cp.Problem(cp.Maximize(x), [p * x <= 1, spelled(x)])
        solve(problem, {p: 0.5}, **DRAW)
        found.append(shortfall(problem, {"p": fractions(0.5)}))
    assert max(found) <= 0


@pytest.mark.parametrize("name", [*CURVES, "a kink"])
def test_the_value_of_a_public_objective_is_the_objective_at_the_answer(name):
    a = PrivateParameter(3, lower=0.1, upper=1, radius=0.05, name="a")
    x = cp.Variable(3, nonneg=True)
    goal = CURVES[name](x) if name in CURVES else cp.Minimize(cp.max(cp.abs(x - 3)))
    problem = cp.Problem(goal, [a @ x <= 2])
    checked = check(problem)
    assert x.value is None
    answer = solve(problem, {a: [0.3, 0.4, 0.5]}, **DRAW, rng=np.random.default_rng(0))
    assert problem.value == answer.value == problem.objective.value
    assert answer.robust_value == checked.value


@pytest.mark.parametrize("curved", [False, True])
def test_an_engine_that_fails_after_the_release_leaves_the_robust_answer_and_says_so(
    curved, monkeypatch
):
    a = PrivateParameter(3, lower=0.1, upper=1, radius=0.05, name="a")
    x = cp.Variable(3, nonneg=True)
    objective = cp.Minimize(cp.sum_squares(x - 3)) if curved else cp.Maximize(cp.sum(x))
    problem = cp.Problem(objective, [a @ x <= 2])
    robust = check(problem)

    def failing(*_, **__):
        raise SolverError("the engine failed")

    module = "frontends.cvxpy.solve" if curved else "release.solve"
    name = "curved_over" if curved else "solve_private"
    monkeypatch.setattr(sys.modules[f"dp_cmdp.{module}"], name, failing)
    answer = solve(problem, {a: [0.3, 0.4, 0.5]}, **DRAW, plan="database")
    assert problem.status == "optimal_inaccurate"
    assert answer.certificate.verified
    assert np.array_equal(answer.solution.x, robust.robust.x)
    assert shortfall(problem, {"a": fractions([0.3, 0.4, 0.5])}) <= 0


def test_expressions_have_values_where_private_bounds_are_rows():
    cap = PrivateParameter(2, lower=1, upper=2, name="cap")
    inside, beside = cp.Variable(2, bounds=[0, cap]), cp.Variable(2, nonneg=True)
    problem = cp.Problem(cp.Maximize(cp.sum(inside) + cp.sum(beside)), [beside <= cap])
    answer = solve(problem, {cap: [1.5, 1.5]}, **DRAW)
    assert cp.sum(inside).value is None  # cvxpy's rule: a parameter of its bounds has no value
    assert inside.value.sum() + cp.sum(beside).value == pytest.approx(answer.value)
