"""`radius` left out: an entry may change to anything. Legal, and never silently for nothing."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest

from tests.promises.adapter import (
    Envelope,
    UselessReleaseWarning,
    account,
    linear_program,
    load_environment,
    private_cost,
    shown,
    simulate,
    solve,
    spent,
)

PRIVATE: dict[str, Any] = {"epsilon": 1, "delta": "1/1000"}


def program(radius: float | None) -> tuple[Any, list[float]]:
    theta = Envelope(0.5, 2, radius=radius, shape=3)
    lp = linear_program(theta, maximize=[3, 2], rows=[{0: 0, 1: 1}], limits=[2])
    return lp, [1, 1.2, 1.5]


def lake(radius: float | None) -> tuple[Any, list[float]]:
    costs = private_cost(
        Envelope(0, 1, radius=radius, shape=4), 0.03, states=[5, 7, 11, 12], on="entering"
    )
    return load_environment("FrozenLake-v1", gamma=0.95, costs=costs), [0.9, 0.1, 0.5, 0.2]


BOTH = pytest.mark.parametrize("problem", [program, lake])


@BOTH
def test_a_release_that_will_tell_nothing_is_warned_of_before_anything_is_spent(
    problem: Any, tmp_path: Path
) -> None:
    model, values = problem(None)
    looks: list[int] = []

    def read() -> list[float]:
        looks.append(1)
        return values

    database, ledger = account(tmp_path / "ledger", model, read)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UselessReleaseWarning)
        with pytest.raises(UselessReleaseWarning, match="radius"):
            solve(model, database, **PRIVATE, ledger=ledger)
    assert spent(ledger) == 0
    assert looks == []
    with warnings.catch_warnings(record=True) as told:  # whoever goes on is let
        warnings.simplefilter("always")
        found = solve(model, database, **PRIVATE, ledger=ledger)
    assert [part.category for part in told] == [UselessReleaseWarning]
    assert spent(ledger) == 1
    assert found.certificate.verified
    small, values = problem(0.02)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        solve(small, values, **PRIVATE)


@BOTH
def test_an_answer_says_that_it_equals_the_robust_one(problem: Any) -> None:
    model, values = problem(0.02)
    (better,) = simulate(model, values, **PRIVATE)
    assert better.value > better.robust_value
    assert "equals the robust" not in shown(better)
    model, values = problem(None)
    (same,) = simulate(model, values, **PRIVATE)
    assert same.value == same.robust_value
    assert "equals the robust" in shown(same)
