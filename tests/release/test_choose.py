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
from dp_cmdp._src.release.choose import GUARD, Choice, Simulator, choose, menu, promises_nothing
from dp_cmdp._src.release.strategy import Strategy

from .cases import budget, dense

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


def test_the_chosen_strategy_loses_clearly_less_in_the_trials() -> None:
    choice = chosen(dense(2, 60), 2)
    scores = {score.strategy.name: score for score in choice.scores}
    taken, plain = scores[choice.strategy.name], scores["entries"]
    assert len(taken.losses) == len(plain.losses) == module.TRIALS
    assert np.mean(taken.losses) <= GUARD * np.mean(plain.losses)
    others = [s for s in choice.scores if len(s.losses) == 1]
    assert len(others) == module.FINALISTS - 1


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
    assert {score.strategy for score in choice.scores} == set(menu()[:2])


@pytest.mark.parametrize(("radius", "nothing"), [(None, True), (0.02, False)])
def test_a_release_that_will_tell_nothing_is_known_before(radius: Any, nothing: bool) -> None:
    theta = dp.Envelope(0.5, 2, radius=radius, shape=3)
    problem = dp.ParametricLP(maximize=[3, 2], A=[[theta[0], theta[1]]], b=[theta[2]])
    simulator = Simulator(problem, NOTHING_KNOWN)
    assert promises_nothing(simulator, Strategy.entries(), budget()) is nothing
