"""Choosing a strategy: what the trials say, and nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dp_cmdp as dp
from dp_cmdp._src.release import choose as module
from dp_cmdp._src.release.belief import NOTHING_KNOWN
from dp_cmdp._src.release.choose import (
    KEPT,
    Choice,
    Simulator,
    choose,
    menu,
)
from dp_cmdp._src.release.measurement import Measurement, Outcome
from dp_cmdp._src.release.publish import publish
from dp_cmdp._src.release.strategy import Strategy

from .cases import budget, dense, repeatable, shared

ROOT = Path(__file__).parents[2]


def chosen(problem: Any, epsilon: Any = 1) -> Choice:
    return choose(Simulator(problem, NOTHING_KNOWN), budget(epsilon))


def test_a_choice_depends_on_public_data_and_the_seed_only() -> None:
    first, second = (chosen(dense(2, 30)) for _ in range(2))
    assert first == second
    assert first.document() == second.document()
    assert len({score.strategy for score in first.scores}) == len(first.scores)


def test_a_choice_does_not_depend_on_the_process() -> None:
    code = (
        "from tests.release.test_choose import *\n"
        "print(json.dumps(chosen(dense(2, 30)).document()))"
    )
    found = set()
    for seed, threads in (("1", "1"), ("2", "2")):
        env = {**os.environ, "PYTHONHASHSEED": seed, "OMP_NUM_THREADS": threads, "LC_ALL": "C"}
        run = [sys.executable, "-c", code]
        done = subprocess.run(run, cwd=ROOT, env=env, capture_output=True, text=True, check=True)
        found.add(done.stdout)
    assert found == {json.dumps(chosen(dense(2, 30)).document()) + "\n"}


def test_the_strategy_that_wins_the_race_is_chosen() -> None:
    choice = chosen(dense(2, 60), 2)
    rounds = [[s for s in choice.scores if len(s.losses) >= n] for n in (1, 2, 3)]
    assert [len(found) for found in rounds] == [len(menu(False)), *KEPT[:2]]
    assert choice.strategy == min(rounds[-1], key=lambda score: score.typical).taken
    plain = next(score for score in choice.scores if score.strategy.name == "entries")
    assert choice.strategy.name in choice.reason
    assert min(score.losses[0] for score in rounds[-1]) < plain.losses[0]


def replayed(problem: Any, values: Any, strategy: Any, integers: Any, monkeypatch: Any) -> Any:
    """An answer from given integers in the place of those that would be drawn."""
    usual, left = Measurement.draw, iter(integers)

    def draw(self: Measurement, values: Any, source: Any) -> Outcome:
        if source.simulated:
            return usual(self, values, source)
        return Outcome(self, next(left))

    with monkeypatch.context() as patch:
        patch.setattr(Measurement, "draw", draw)
        return dp.solve(problem, values, epsilon=6, delta="1/1000", strategy=strategy)


@pytest.mark.parametrize("share", ["1/10", "13/20"])
def test_the_same_integers_give_the_same_release_and_answer_whatever_the_data(
    share: str, monkeypatch: Any, tmp_path: Path
) -> None:
    problem, strategy = dense(2, 15, radius=0.02), Strategy.best_queries(share=share)
    values = np.linspace(0.2, 0.8, 30)
    first = dp.solve(problem, values, epsilon=6, delta="1/1000", strategy=strategy)
    integers = [outcome.integers for outcome in first.release.outcomes]
    assert len(integers) == 2
    again = [replayed(problem, v, strategy, integers, monkeypatch) for v in (values, values[::-1])]
    files = [a.release.save(tmp_path / f"{i}.npz").read_bytes() for i, a in enumerate(again)]
    assert files[0] == files[1] == first.release.save(tmp_path / "first.npz").read_bytes()
    assert all(np.array_equal(first.x, answer.x) for answer in again)


def test_queries_are_chosen_when_the_entries_are_known() -> None:
    """Which candidate is taken depends on what was published, and is measured as it proposes."""
    problem, strategy, found = dense(3, 20), Strategy.best_queries(), set()
    step: Any = strategy.steps[1]
    for seed in range(6):
        values = np.random.default_rng(seed).beta(0.5, 0.5 + seed, 60)
        first = Strategy(strategy.steps[0], name="first")
        release = publish(problem, dp.Database(values, problem), budget(8), first, repeatable(seed))
        part = step.part(budget(8))
        taken, again = (step.propose(problem, release, part) for _ in range(2))
        assert np.array_equal(taken.query.weights.toarray(), again.query.weights.toarray())
        own = [each(problem, release, part) for each in step.propose.candidates]
        same = [
            each.name == taken.name and (each.query.weights != taken.query.weights).nnz == 0
            for each in own
        ]
        found.add(same.index(True))
    assert len(found) > 1


@pytest.mark.parametrize(("problem", "worst"), [(dense(3, 10), 0), (shared(3, 10), 4)])
def test_worst_rows_are_tried_where_records_are_in_several(problem: Any, worst: int) -> None:
    names = [score.strategy.name for score in chosen(problem).scores]
    assert sum(name.startswith("worst row") for name in names) == worst


def test_where_nothing_is_lost_nothing_else_is_tried() -> None:
    theta = dp.Envelope(0, 1, radius=0.1, shape=2)
    free = dp.ParametricLP(maximize=[1, 1], A=theta[:].reshape(1, 2), b=[5.0], upper=1)
    choice = chosen(free)
    assert [score.strategy.name for score in choice.scores] == ["entries"]


def test_where_trials_cannot_be_solved_entries_are_released(monkeypatch: Any) -> None:
    def fails(*given: Any, **named: Any) -> Any:
        raise dp.errors.SolverError("numerical trouble")

    monkeypatch.setattr(module.Trial, "best", property(fails))
    assert chosen(dense(2, 30)).strategy.name == "entries"


def test_budgets_for_which_no_noise_is_built_leave_the_plain_release() -> None:
    tiny = dp.PrivacyBudget(1, "1/5000000000000000000")
    choice = choose(Simulator(dense(2, 30), NOTHING_KNOWN), tiny)
    assert {score.strategy for score in choice.scores} == {
        score.strategy for score in menu(False)[:2]
    }
