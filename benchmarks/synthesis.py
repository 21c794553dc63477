"""What certainty and privacy add to a solve: `safe_policy` and `synthesize` against `solve_cmdp`.

Each is timed on the model that it solves: `safe_policy` on a case of a family, `synthesize` on the
release of a grid's costs, whose tightened model `solve_cmdp` gets. Both are measured in turns: the
speed of a machine changes from one second to the next, and the ratio is of interest here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.families import Case
from benchmarks.measurement import Clock, measure
from benchmarks.problems import private_grid
from benchmarks.records import Records
from dp_cmdp.accounting.budget import PrivacyBudget
from dp_cmdp import CMDP
from dp_cmdp.cmdp.parametric import ParametricCMDP
from dp_cmdp.data.release import Release
from dp_cmdp.release.entries import release_database

BUDGET = PrivacyBudget(1, "1/1000")
FAMILIES = ("grid", "garnet", "corridor")
#: Runs of which the shortest counts: at 100 states they take less than a millisecond.
REPEATS = 25
#: Turns of either, of which the shortest counts.
TURNS = 3
SIZES = (100, 300, 1_000, 3_000, 4_900, 5_100, 10_000, 30_000, 100_000)


def certified(model: CMDP) -> Callable[[], None]:
    """`safe_policy`, from nothing."""
    from dp_cmdp.cmdp.synthesis import safe_policy

    peers.load_compiled()

    def run() -> None:
        safe_policy(model)

    return run


def private(problem: tuple[ParametricCMDP, Release]) -> Callable[[], None]:
    """`synthesize`, from a release."""
    from dp_cmdp.cmdp.synthesis import synthesize

    peers.load_compiled()

    def run() -> None:
        synthesize(*problem)

    return run


def plain(model: CMDP) -> Callable[[], Any]:
    """`solve_cmdp` as a user calls it."""
    return peers.ours(model, engine="auto")


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
            _compare("safe_policy", certified, model, small, (model, small),
                     records=records, clock=clock, limit=limit, turns=turns,
                     family=family)  # fmt: skip
        model = Case("grid", size, seed=seed).build()
        released, little = _released(model), _released(small)
        tightened = released[0].tightened(released[1]), small
        _compare("synthesize", private, released, little, tightened,
                 records=records, clock=clock, limit=limit, turns=turns,
                 family="grid")  # fmt: skip


def _released(model: CMDP) -> tuple[ParametricCMDP, Release]:
    program, database = private_grid(model, radius=0.02)
    return program, release_database(database, BUDGET)


def _compare(
    call: str,
    prepare: Callable[[Any], Callable[[], Any]],
    problem: Any,
    small: Any,
    solved: tuple[CMDP, CMDP],
    *,
    records: Records,
    clock: Clock,
    limit: float,
    turns: int,
    family: str,
) -> None:
    timed = partial(measure, limit=limit, clock=clock, repeats=REPEATS)
    found = [
        (timed(prepare, problem, small=small), timed(plain, solved[0], small=solved[1]))
        for _ in range(turns)
    ]
    whole, solve = (min(own, key=lambda m: m.seconds or np.inf) for own in zip(*found, strict=True))
    overhead = whole.seconds / solve.seconds if whole.seconds and solve.seconds else None
    records.add(
        "synthesis",
        solved[0].num_states,
        ours_s=whole.seconds,
        peer="solve_cmdp of the same model",
        peer_s=solve.seconds,
        call=call,
        family=family,
        overhead=overhead,
        status=whole.status,
    )
