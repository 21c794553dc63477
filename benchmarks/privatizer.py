"""Releasing the costs of a large model and tightening it, against one solve of that size.

Every state is a candidate: 10⁶ states are 10⁶ private entries, each with exact noise from the
operating system.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable

import numpy as np

from benchmarks.measurement import Clock, measure
from benchmarks.problems import grid_cmdp
from benchmarks.records import Records
from dp_cmdp.accounting.budget import PrivacyBudget
from dp_cmdp.cmdp.model import CMDP
from dp_cmdp.cmdp.parametric import ParametricCMDP
from dp_cmdp.data.database import Database
from dp_cmdp.data.envelope import Envelope
from dp_cmdp.release.entries import release_database

BUDGET = PrivacyBudget(1, "1/1000")


def _private(model: CMDP) -> tuple[ParametricCMDP, Database]:
    program = ParametricCMDP.for_states(
        model,
        np.arange(model.num_states),
        severity=Envelope(0.0, 1.0, radius=0.02, shape=model.num_states),
        tolerance=Envelope(0.0, 10.0, radius=0.1, shape=1),
    )
    values = {"severity": model.f[0, :, 0], "tolerance": [1.0]}
    return program, Database(values, program.envelope)


def release(model: CMDP) -> Callable[[], None]:
    """The release alone."""
    _, database = _private(model)

    def run() -> None:
        release_database(database, BUDGET)

    return run


def release_and_tighten(model: CMDP) -> Callable[[], None]:
    """The release and the tightened model built from it."""
    program, database = _private(model)

    def run() -> None:
        program.tightened(release_database(database, BUDGET))

    return run


def memory(model: CMDP) -> Callable[[], float]:
    """Bytes per entry that the release and the tightening allocate at their peak."""
    program, database = _private(model)

    def run() -> float:
        tracemalloc.start()
        program.tightened(release_database(database, BUDGET))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak / model.num_states

    return run


def privatizer(n: int, *, records: Records, clock: Clock, limit: float = 300.0) -> None:
    """A line for n² entries; the solve is our line of the same size, where there is one."""
    model, small = grid_cmdp(n, binding=False), grid_cmdp(4, binding=False)
    whole, alone, traced = (
        measure(path, model, small=small, limit=limit, clock=clock, repeats=3)
        for path in (release_and_tighten, release, memory)
    )
    solved = [line for line in records.select("single", size=n * n) if line["ours_s"]]
    records.add(
        "privatizer",
        n * n,
        ours_s=whole.seconds,
        peer="one solve of that size (ours)",
        peer_s=solved[0]["ours_s"] if solved else None,
        status=whole.status if solved or whole.status != "ok" else "not solved in this run",
        release_s=alone.seconds,
        peak_gib=whole.peak_gib,
        bytes_per_entry=traced.answer,
    )
