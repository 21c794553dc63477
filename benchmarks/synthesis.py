"""What certainty and privacy add to a solve of the same model, from nothing.

Each is timed on the model that it solves: `answer(model)` on a case of a family, `answer(problem,
release)` on the release of a grid's costs, whose worst model is solved. Both are measured in turns:
the speed of a machine changes from one second to the next, and the ratio is of interest here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np

import dp_cmdp as dp
from benchmarks import peers
from benchmarks.families import Case
from benchmarks.measurement import Clock, measure
from benchmarks.problems import private_grid, releases
from benchmarks.records import Records

BUDGET = dp.PrivacyBudget(1, "1/1000")
FAMILIES = ("grid", "garnet", "corridor")
#: Runs of which the shortest counts: at 100 states they take less than a millisecond.
REPEATS = 25
#: Turns of either, of which the shortest counts.
TURNS = 3
SIZES = (100, 300, 1_000, 3_000, 4_900, 5_100, 10_000, 30_000, 100_000)


def certified(asked: tuple[Any, ...]) -> Callable[[], None]:
    """`answer`, of a model or of a problem and its release."""

    def run() -> None:
        dp.answer(*asked)

    return run


def synthesis(
    sizes: Iterable[int],
    *,
    records: Records,
    clock: Clock,
    seed: int,
    limit: float = 120.0,
    turns: int = TURNS,
) -> None:
    """Two lines per size and family: ours_s is the certified call, peer_s the solve."""
    small = Case("grid", 16).build()
    for size in sizes:
        for family in FAMILIES:
            model = Case(family, size, seed=seed).build()
            _compare("answer(model)", (model,), (small,), (model, small),
                     records=records, clock=clock, limit=limit, turns=turns,
                     family=family)  # fmt: skip
        released, little = _released(Case("grid", size, seed=seed).build()), _released(small)
        worst = released[0].worst(released[1].uncertainty), small
        _compare("answer(problem, release)", released, little, worst,
                 records=records, clock=clock, limit=limit, turns=turns,
                 family="grid")  # fmt: skip


def _released(model: dp.CMDP) -> tuple[dp.ParametricCMDP, dp.Release]:
    problem, values = private_grid(model, radius=0.02)
    return problem, next(releases(problem, values, BUDGET))


def _compare(
    call: str,
    problem: Any,
    small: Any,
    solved: tuple[dp.CMDP, dp.CMDP],
    *,
    records: Records,
    clock: Clock,
    limit: float,
    turns: int,
    family: str,
) -> None:
    timed = partial(measure, limit=limit, clock=clock, repeats=REPEATS)
    found = [
        (timed(certified, problem, small=small), timed(peers.ours, solved[0], small=solved[1]))
        for _ in range(turns)
    ]
    whole, solve = (min(own, key=lambda m: m.seconds or np.inf) for own in zip(*found, strict=True))
    overhead = whole.seconds / solve.seconds if whole.seconds and solve.seconds else None
    records.add(
        "synthesis",
        solved[0].num_states,
        ours_s=whole.seconds,
        peer="a solve of the same model",
        peer_s=solve.seconds,
        call=call,
        family=family,
        overhead=overhead,
        status=whole.status,
    )
