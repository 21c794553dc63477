"""What cannot be answered for every database is refused from public data, with its repair."""

import numpy as np
import pytest

from dp_cmdp._src.base.errors import RefusedError
from dp_cmdp._src.data.envelope import Envelope, UncertaintySet
from dp_cmdp._src.program.parametric import ParametricLP
from tests.program.programs import knapsack, random_program


def test_the_whole_envelope_is_refused_and_a_release_is_not():
    theta = Envelope([1.0], [5.0])
    lp = ParametricLP(minimize=[1.0], A=[[-1.0]], b=[-theta[0]], upper=4.0)
    with pytest.raises(RefusedError, match="relax row 0 by 1"):
        lp.answer(theta.uncertainty)
    known = UncertaintySet.box(np.array([2.0]), np.array([3.0]))
    assert lp.answer(known).x == pytest.approx([3.0])


def test_several_rows_are_repaired_together():
    theta = Envelope([0.0, 0.0], [1.0, 1.0])
    lp = ParametricLP(
        [1.0, 1.0], A=-np.eye(2), b=[-3 - theta[0], -4 - 2 * theta[1]], upper=[3.5, 3.0]
    )
    with pytest.raises(RefusedError) as caught:
        lp.refuse_if_unanswerable()
    assert caught.value.repairs == pytest.approx({"row 0": 0.5, "row 1": 3.0})


def test_contradicting_public_rows_are_told_apart():
    theta = Envelope([0.0], [1.0])
    lp = ParametricLP([1.0], A=[[1.0], [1.0]], b=[theta[0], -1.0])
    with pytest.raises(RefusedError, match="public rows") as caught:
        lp.refuse_if_unanswerable()
    assert caught.value.repairs == pytest.approx({"row 1": 1.0})
    equal = ParametricLP([1.0], A=[[1.0]], b=[theta[0]], A_eq=[[1.0]], b_eq=[9.0], upper=4.0)
    with pytest.raises(RefusedError, match="equality row 0"):
        equal.refuse_if_unanswerable()


def test_unboundedness_for_some_database_names_the_variables():
    theta = Envelope([0.0], [1.0])
    c = [theta[0] - 0.5, 1.0]  # x0 is worth something only for θ > 1/2
    rows = {"A": np.zeros((0, 2)), "b": np.zeros(0)}
    with pytest.raises(RefusedError, match=r"x\[0\]"):
        ParametricLP(c, **rows, upper=[np.inf, 3.0]).refuse_if_unanswerable()
    ParametricLP(c, **rows, upper=3.0).refuse_if_unanswerable()
    costs = [0.5 - theta[0], -1.0]
    with pytest.raises(RefusedError, match=r"x\[0\]"):
        ParametricLP(minimize=costs, **rows, upper=[np.inf, 3.0]).refuse_if_unanswerable()


def test_rows_that_may_vanish_bound_nothing():
    theta = Envelope([0.0], [1.0])
    lp = ParametricLP([1.0], A=[[theta[0]]], b=[4.0])
    lp.answer(theta.uncertainty)  # at θ = 1, x ≤ 4
    with pytest.raises(RefusedError, match="unbounded"):
        lp.refuse_if_unanswerable()  # at θ = 0 nothing bounds x


def test_free_variables_are_held_by_rows_or_refused():
    theta = Envelope([0.5], [1.0])
    c = [theta[0]]
    held = ParametricLP(c, A=[[1.0], [-1.0]], b=[2.0, 2.0], lower=-np.inf)
    held.refuse_if_unanswerable()
    ParametricLP(c, A=[[1.0]], b=[2.0], lower=-np.inf).refuse_if_unanswerable()
    both = ParametricLP([2 * theta[0] - 1.5], A=[[1.0]], b=[2.0], lower=-np.inf)
    with pytest.raises(RefusedError):
        both.refuse_if_unanswerable()


@pytest.mark.parametrize("size", [1e-6, 1e-9, 1e-12, 1e-30, 1e-200])
def test_a_contradiction_with_an_equality_row_is_refused_at_any_size(size):
    theta = Envelope([0.5], [2.0], radius=0.1)
    lp = ParametricLP([1.0], A=[[theta[0]]], b=[0.0], A_eq=[[1.0]], b_eq=[size])
    with pytest.raises(RefusedError):
        lp.refuse_if_unanswerable()


def test_programs_that_have_an_answer_are_not_refused():
    for seed in range(30):
        random_program(np.random.default_rng(seed)).refuse_if_unanswerable()
    knapsack(4).refuse_if_unanswerable()
