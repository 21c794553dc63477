"""What a release, an answer and an error say is what they are."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np
import pytest

from tests.promises.adapter import (
    Envelope,
    Found,
    linear_program,
    private_parameter,
    shown,
    shown_in_notebook,
    simulate,
    solve,
    value,
)

PRIVATE: dict[str, Any] = {"epsilon": 1, "delta": "1/1000"}
VALUES = [1.1, 1.2, 1.5, 10]
STRATEGIES = pytest.mark.parametrize("strategy", ["entries", "queries"])


def program(*, private_objective: bool = False) -> Any:
    """Two variables, two prices and a limit; their worth is public, or an entry each."""
    theta = Envelope([0.5, 0.5, 0.5, 8], [2, 2, 2, 12], radius=[0.05, 0.05, 0.05, 0.5])
    return linear_program(
        theta,
        maximize=[1, 2] if private_objective else [3, 2],
        private_objective=private_objective,
        rows=[{0: 0, 1: 1}],
        limits=[3],
        upper=6,
    )


def simulated(strategy: str, **facts: Any) -> tuple[Any, Found]:
    lp = program(**facts)
    return lp, simulate(lp, VALUES, **PRIVATE, strategy=strategy)[0]


# ------------------------------------------------------------------------------------- simulations


@STRATEGIES
@pytest.mark.parametrize("show", [shown, shown_in_notebook])
def test_a_private_release_says_what_it_promises(strategy: str, show: Any) -> None:
    release = solve(program(), VALUES, **PRIVATE, strategy=strategy).release
    parts = len(release.outcomes) if strategy == "queries" else 2
    said = {1: "(ε = 0.35, δ = 0.00035)", 2: "(ε = 1, δ = 0.001)"}[parts]  # what it spent
    assert f"{said}-differential privacy" in show(release)
    assert "SIMULATED" not in show(release)


@STRATEGIES
@pytest.mark.parametrize("show", [shown, shown_in_notebook])
def test_a_simulated_release_says_so_and_promises_nothing(strategy: str, show: Any) -> None:
    said = show(simulated(strategy)[1].release)
    assert "-differential privacy" not in said
    assert "SIMULATED" in said


@STRATEGIES
def test_an_answer_from_a_simulated_release_says_so(strategy: str) -> None:
    said = shown(simulated(strategy)[1])
    assert "-differential privacy" not in said
    assert "SIMULATED" in said


# ----------------------------------------------------------------------------------- the estimate


def test_a_value_is_that_of_the_decision_where_the_objective_is_public() -> None:
    for strategy in ("entries", "queries"):
        lp, found = simulated(strategy)
        assert found.value == pytest.approx(value(lp, found.decision, found.estimate), rel=1e-9)


@STRATEGIES
def test_a_value_can_be_computed_again_from_the_estimate_beside_it(strategy: str) -> None:
    """Also where the objective is private: decision and estimate are all that it takes."""
    lp, found = simulated(strategy, private_objective=True)
    again = value(lp, found.decision, np.asarray(found.estimate))
    assert found.value == pytest.approx(again, rel=1e-9)


# ------------------------------------------------------------------------------------------- cvxpy


def test_solving_a_private_model_without_privacy_points_to_the_private_call() -> None:
    capacity = private_parameter(3, lower=1, upper=10, radius=0.2)
    flow = cp.Variable(3, nonneg=True)
    problem = cp.Problem(cp.Maximize(cp.sum(flow)), [flow <= capacity])
    with pytest.raises(Exception) as caught:
        problem.solve()
    assert "private" in str(caught.value)
    assert "solve(problem" in str(caught.value)
