"""Answers to cvxpy problems: the same as by hand, certified, and silent about the truth."""

# pyright: reportArgumentType=false, reportAttributeAccessIssue=false
# pyright: reportOptionalMemberAccess=false

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import dp_cmdp as dp
from dp_cmdp import Affine, Envelope, ParametricLP
from dp_cmdp.cvxpy import PrivateParameter, load
from dp_cmdp.errors import InvalidArgumentError, RefusedError
from tests.frontends.cvxpy_models import MODELS, plain
from tests.frontends.exact_cvxpy import fractions, shortfall

N, M = 4, 2
GROUP, BUYER = np.indices((N, M))
DRAW: dict[str, Any] = {"epsilon": 2, "delta": "1/1000"}
RNG = np.random.default_rng(3)
PRICES, BUDGETS = RNG.random((N, M)), RNG.uniform(1, 3, M)


def simulated(problem, values, *, seed=0, strategy="entries"):
    """An answer from simulated noise; variables have its values."""
    found: Any
    (found,) = dp.simulate(problem, values, **DRAW, strategy=strategy, draws=1, seed=seed)
    for variable, value in found.values.items():
        variable.save_value(value)
    return found


def auction(by_buyer=False):
    """The ad auction in cvxpy: its parameters and its problem."""
    price = PrivateParameter(
        (N, M), lower=0, upper=1, radius=0.1, name="price", records=BUYER if by_buyer else None
    )
    budget = PrivateParameter(
        M, lower=1, upper=3, radius=0.2, name="budget", records=range(M) if by_buyer else None
    )
    x = cp.Variable((N, M), nonneg=True, name="x")
    spent = cp.sum(cp.multiply(price, x), axis=0)
    rows = [cp.sum(x, axis=1) <= 2, spent <= budget]
    return price, budget, cp.Problem(cp.Maximize(cp.sum(cp.multiply(price, x))), rows)


def by_hand(by_buyer=False):
    """The same as a program with private data, in cvxpy's order of a matrix of variables."""
    records = {"price": BUYER, "budget": np.arange(M)} if by_buyer else None
    theta = Envelope.join(
        {
            "price": Envelope(0, 1, radius=0.1, shape=(N, M)),
            "budget": Envelope(1, 3, radius=0.2, shape=M),
        },
        records=records,
    )
    column = (BUYER * N + GROUP).ravel()
    price = theta["price"].reshape(-1)
    spent = Affine.sparse(price, (BUYER.ravel() + N, column), (N + M, N * M))
    shown = np.vstack([np.tile(np.eye(N), M), np.zeros((M, N * M))])
    limits = np.concatenate([np.full(N, 2.0), np.zeros(M)])
    last = np.vstack([np.zeros((N, M)), np.eye(M)])
    return ParametricLP(
        maximize=Affine.sparse(price, (column, 0 * column), (N * M, 1)).reshape(-1),
        A=spent + shown,
        b=last @ theta["budget"] + limits,
    )


@pytest.mark.parametrize("by_buyer", [False, True])
def test_the_auction_in_cvxpy_is_the_auction_by_hand(by_buyer):
    price, _, problem = auction(by_buyer)
    made, stated = load(problem), by_hand(by_buyer)
    assert made.envelope == stated.envelope
    for block in ("A", "b", "objective"):
        one, other = getattr(made, block), getattr(stated, block)
        for part in ("row", "col", "entry", "coefficient"):
            assert np.array_equal(getattr(one, part), getattr(other, part)), (block, part)
        assert abs(one.constant - other.constant).max() == 0.0
    assert (made.lower == 0).all()
    data = np.concatenate([PRICES.ravel(), BUDGETS])
    ours = simulated(problem, {price: PRICES, "budget": BUDGETS}, strategy="queries")
    (theirs,) = dp.simulate(stated, data, **DRAW, strategy="queries", draws=1)
    assert np.array_equal(ours.release.lower, theirs.release.lower)
    assert np.array_equal(ours.values.point, theirs.x)
    assert ours.value == pytest.approx(theirs.value, rel=1e-12)


def test_variables_status_and_value_are_set_as_cvxpy_sets_them():
    price, budget, problem = auction()
    found = dp.solve(problem, {price: PRICES, budget: BUDGETS}, **DRAW)
    (x,) = problem.variables()
    assert problem.status == cp.OPTIMAL
    assert problem.value == found.value
    assert np.array_equal(x.value, found.values[x])
    assert found.robust.values[x].shape == x.value.shape == (N, M)
    assert found.certificate.verified
    assert price.value is budget.value is problem.objective.value is None
    data = {"price": fractions(PRICES), "budget": fractions(BUDGETS)}
    assert shortfall(problem, data) <= 0
    table = found.to_frame()
    assert table.loc["x[1, 0]", "value"] == found.values[x][1, 0]


def test_an_answer_without_data_is_certified_and_can_be_again():
    problem = auction()[2]
    found = dp.answer(problem)
    assert found.value == pytest.approx(M / 2)  # every budget at 1, every price at 1, half to show
    assert dp.certify(problem, found.values).verified
    with pytest.raises(InvalidArgumentError, match=r"found\.values"):
        dp.certify(problem, found.values[problem.variables()[0]])


@pytest.mark.parametrize("name", MODELS)
def test_plans_of_ones_own_are_certified_as_the_answers_they_equal(name):
    """Of a variable's values alone: those of cvxpy's own variables for its atoms are found."""
    problem = MODELS[name](private)
    found = dp.answer(problem)
    plan: dict[Any, Any] = dict(found.values)
    assert dp.certify(problem, plan)
    plan = {v: getattr(value, "toarray", lambda value=value: value)() for v, value in plan.items()}
    for variable, value in plan.items():
        away = 1e6 * (np.eye(len(value)) if variable.attributes["diag"] else 1.0)
        assert not all(dp.certify(problem, plan | {variable: value + far}) for far in (away, -away))
    with pytest.raises(InvalidArgumentError, match="decision"):
        dp.certify(problem, dict(list(plan.items())[1:]))


CURVES = {
    "squares": lambda x: cp.Minimize(cp.sum_squares(x - [1, 2, 3])),
    "a 2-norm": lambda x: cp.Minimize(cp.norm(x - 2)),
    "logarithms": lambda x: cp.Maximize(cp.sum(cp.log(x + 1))),
    "exponentials": lambda x: cp.Minimize(cp.log_sum_exp(-x) + cp.sum(x) / 8),
    "a square and a kink": lambda x: cp.Minimize(cp.sum_squares(x - 1) + cp.norm1(x - 0.5)),
}


@pytest.mark.parametrize("name", CURVES)
def test_curved_public_objectives_have_the_value_of_cvxpy_and_an_exact_certificate(name):
    a = PrivateParameter(3, lower=0, upper=1, radius=0.1, name="a")
    b = PrivateParameter(lower=1, upper=2, radius=0.1, name="b")
    x = cp.Variable(3, nonneg=True)
    rows = [a @ x <= b, cp.sum(x) == 0.75, cp.abs(x[0] - x[1]) <= b]
    problem = cp.Problem(CURVES[name](x), rows)
    true_a, true_b = np.array([0.25, 0.5, 0.75]), 1.5
    found = simulated(problem, {a: true_a, b: true_b})
    assert found.certificate.verified
    for ends in (found.release.lower, found.release.upper, [*true_a, true_b]):
        data = {"a": fractions(ends[:3]), "b": fractions(ends[3])}
        assert shortfall(problem, data) <= 0
    assert found.value == pytest.approx(problem.objective.value, rel=1e-5)
    # cvxpy's own answer over the released box: a at its top, b at its bottom, for x >= 0
    worst_a, worst_b = found.release.upper[:3], found.release.lower[3]
    y = cp.Variable(3, nonneg=True)
    worst = [worst_a @ y <= worst_b, cp.sum(y) == 0.75, cp.abs(y[0] - y[1]) <= worst_b]
    theirs = cp.Problem(CURVES[name](y), worst)
    theirs.solve(solver=cp.CLARABEL)
    assert found.value == pytest.approx(theirs.value, rel=1e-5, abs=1e-6)
    with pytest.raises(InvalidArgumentError, match="the objective is curved"):
        load(problem)


def test_a_private_linear_part_of_a_curved_objective_is_at_its_estimate():
    gain = PrivateParameter(2, lower=0, upper=1, radius=0.01, name="gain")
    x = cp.Variable(2, nonneg=True)
    problem = cp.Problem(cp.Maximize(gain @ x - cp.sum_squares(x)), [gain @ x <= 1])
    found = simulated(problem, {gain: [0.5, 0.25]})
    point = found.values[x]
    assert point == pytest.approx(found.estimate / 2, abs=1e-4)
    by_hand = float(found.estimate @ point - (point**2).sum())
    assert found.value == pytest.approx(by_hand, rel=1e-9)


def test_one_record_across_parameters_is_protected_as_one():
    assert (load(auction(by_buyer=True)[2]).envelope.change.toarray() > 0).sum(axis=1).tolist() == [
        N + 1
    ] * M
    named = PrivateParameter(2, lower=0, upper=1, records=["ann", "bob"], name="a")
    other = PrivateParameter(2, lower=0, upper=1, records=["bob", "cid"], name="b")
    alone = PrivateParameter((), lower=0, upper=1, name="c")
    x = cp.Variable(2, bounds=[0, 1])
    problem = cp.Problem(cp.Maximize(named @ x + alone), [other @ x <= 1])
    change = load(problem).envelope.change.toarray() > 0
    assert change.astype(int).tolist() == [
        [1, 0, 0, 0, 0],
        [0, 0, 1, 1, 0],
        [0, 0, 0, 0, 1],
        [0, 1, 0, 0, 0],
    ] or sorted(change.sum(axis=1).tolist()) == [1, 1, 1, 2]


def test_a_parameter_takes_every_adjacency_of_an_envelope():
    few = PrivateParameter(4, lower=0, upper=9, radius=1, entries_per_record=2, name="few")
    x = cp.Variable(4, bounds=[0, 1])
    envelope = load(cp.Problem(cp.Maximize(cp.sum(x)), [x <= few])).envelope
    assert envelope.entries_per_record == 2
    changed = PrivateParameter(2, lower=0, upper=9, change=[[1, 0.5], [0, 2]], name="changed")
    envelope = load(cp.Problem(cp.Maximize(cp.sum(x)), [x[:2] <= changed])).envelope
    assert envelope.change.toarray().tolist() == [[1, 0.5], [0, 2]]
    named = PrivateParameter(2, lower=0, upper=9, records=["a", "b"], name="named")
    with pytest.raises(InvalidArgumentError, match="entries_per_record and change"):
        load(cp.Problem(cp.Maximize(cp.sum(x)), [x <= few, x[:2] <= named]))


def test_a_public_parameter_counts_with_the_value_it_has():
    p = PrivateParameter(2, lower=0, upper=1, name="p")
    u = cp.Parameter(nonneg=True, name="u")
    x = cp.Variable(2, nonneg=True)
    problem = cp.Problem(cp.Maximize(cp.sum(x)), [u * (p @ x) <= 1, x <= u])
    for size in (1.0, 2.0):
        u.value = size
        assert dp.answer(problem).value == pytest.approx(1 / size)
        assert u.value == size


def test_an_answer_can_be_saved_and_judged_by_others(tmp_path):
    price, budget, problem = auction()
    found = dp.solve(problem, {price: PRICES, budget: BUDGETS}, **DRAW, strategy="entries")
    folder = found.save(tmp_path / "answer")
    for known in (problem, load(problem)):
        report = dp.verify(folder, problem=known)
        assert report
        assert report.heading == "adjacency compared with that of your problem"
    weaker = auction(by_buyer=True)[2]
    assert not dp.verify(folder, problem=weaker)
    curved = cp.Problem(cp.Minimize(cp.sum_squares(problem.variables()[0])), problem.constraints)
    with pytest.raises(InvalidArgumentError, match=r"problem .* curved objective"):
        dp.verify(folder, problem=curved)
    again = type(found).load(folder)
    assert np.array_equal(again.x, found.values.point)
    assert again.value == pytest.approx(found.value, rel=1e-12)


def test_exactness_does_not_depend_on_how_a_bound_is_spelled():
    p = PrivateParameter(lower=0, upper=1, name="p")
    worst = []
    for spelled in (lambda x: x <= 0.1, lambda x: 4 * x <= 0.4, lambda x: 3 * x <= 0.3):
        x = cp.Variable(bounds=[-1, 1])
        problem = cp.Problem(cp.Maximize(x), [p * x <= 1, spelled(x)])
        simulated(problem, {p: 0.5})
        worst.append(shortfall(problem, {"p": fractions(0.5)}))
    assert max(worst) <= 0


def private(name, shape, lower, upper):
    return PrivateParameter(shape, lower=lower, upper=upper, radius=(upper - lower) / 50, name=name)


def drawn(problem, seed):
    """Values of the parameters without one, within their bounds."""
    rng = np.random.default_rng(seed)
    return {
        p.name(): p.envelope.lower.reshape(p.shape)
        + rng.random(p.shape) * (p.envelope.upper - p.envelope.lower).reshape(p.shape)
        for p in problem.parameters()
        if isinstance(p, PrivateParameter)
    }


@pytest.mark.filterwarnings("ignore::UserWarning")  # cvxpy's, of what makes it slow
@pytest.mark.parametrize("name", MODELS)
def test_a_model_at_its_numbers_has_the_value_that_cvxpy_finds(name):
    ours, theirs = MODELS[name](private), MODELS[name](plain)
    data = drawn(ours, seed=0)
    for parameter in theirs.parameters():
        if parameter.name() in data:
            parameter.value = data[parameter.name()]
    theirs.solve(solver=cp.CLARABEL)
    lp = load(ours)
    flat = np.concatenate([np.ravel(data[group.name]) for group in lp.envelope.groups])
    assert dp.answer(lp.at(flat)).value == pytest.approx(theirs.value, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("strategy", ["entries", "queries"])
@pytest.mark.parametrize("name", MODELS)
def test_a_certified_answer_of_a_model_keeps_its_rows_in_fractions(name, strategy):
    problem = MODELS[name](private)
    data = drawn(problem, seed=1)
    try:
        found = simulated(problem, data, strategy=strategy)
    except RefusedError:  # not every model has an answer for all of its bounds
        return
    assert found.certificate.verified
    known = {name: fractions(value) for name, value in data.items()}
    assert shortfall(problem, known) <= 0
