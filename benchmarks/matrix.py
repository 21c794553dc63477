"""The families, ours against the best of HiGHS's methods and Storm, side by side.

A line per case: ``{"name": "family", "family", "size", "gamma", "costs", "seed", "ours_s", "peer",
"peer_s", "ratio", "gap"}``, its kind of limits and start, and the seconds of every method. A
method is stopped once it has taken longer than another one that finished (``> `` in `methods`); a
status other than "ok" says that no peer finished, or none agrees.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.families import FAMILIES, GAMMAS, LIMITS, REPORTING, STARTS, Case
from benchmarks.measurement import Child, Clock, Measured
from benchmarks.records import Records
from dp_cmdp import CMDP

#: Relative difference of two values that is more than their precision explains.
DISAGREEMENT = 1e-5
#: A method is stopped at so many times the best time so far: then it is not the best.
BEHIND = 1.1
#: Peers get so many times our time, but at least and at most so many seconds.
PATIENCE, LEAST, MOST = 150.0, 20.0, 60.0
#: HiGHS keeps its limits itself, but none shorter than this; it is stopped at so many times them.
SHORTEST, GRACE = 0.05, 6.0
#: Our own limit.
OURS = 300.0
#: From so many states on, the general LP solvers are not asked, and a gap of 1e-6 will do.
LARGE, HUGE = 50_000, 500_000
#: From so many states on, every measurement has a process of its own, to see its memory.
ALONE = 50_000


def quick_cases(seeds: Iterable[int] = REPORTING[:1]) -> Iterator[Case]:
    """A sample of every family, in rounds, the most telling first."""
    rounds = (
        (1000, 0.99, 1),
        (1000, 0.9999, 2),
        (3000, 0.999, 1),
        (300, 0.9, 3),
        (10_000, 0.99, 1),
    )
    for (size, gamma, costs), seed, family in product(rounds, seeds, FAMILIES):
        yield Case(family, size, gamma, costs, seed=seed)


def required_cases(seeds: Sequence[int] = REPORTING) -> Iterator[Case]:
    """The cases with a requirement of their own, seed after seed."""
    for seed in seeds:
        for costs in (1, 2, 3, 5):
            yield Case("grid", 10_000, 0.99, costs, seed=seed)
        for gamma in (0.999, 0.9999):
            yield Case("corridor", 10_000, gamma, seed=seed)
        yield Case("grid", 100_000, seed=seed)
    yield Case("grid", 1_000_000, seed=seeds[0])


def main_cases(seeds: Sequence[int] = REPORTING) -> Iterator[Case]:
    """Every family, discount and number of costs at 10³ states, and a sample at 10⁴; one seed."""
    one = seeds[0]
    for costs, gamma, family in product((1, 2, 3), GAMMAS, FAMILIES):
        yield Case(family, 1000, gamma, costs, seed=one)
    for gamma, costs in ((0.99, 1), (0.999, 2), (0.9999, 3)):
        for family in FAMILIES:
            yield Case(family, 10_000, gamma, costs, seed=one)


def further_cases(seeds: Sequence[int] = REPORTING) -> Iterator[Case]:
    """Other limits, starts and sizes; then more seeds."""
    one, *others = seeds
    for kind, gamma, family in product(LIMITS[1:], (0.99, 0.9999), FAMILIES):
        yield Case(family, 1000, gamma, 2, kind, seed=one)
    for start, family in product(STARTS[1:], FAMILIES):
        yield Case(family, 3000, 0.999, 1, start=start, seed=one)
    for size, family in product((100, 100_000), FAMILIES):
        yield Case(family, size, seed=one)
    for costs, family in product((4, 5), FAMILIES):
        yield Case(family, 1000, 0.99, costs, seed=one)
    for seed, costs, gamma, family in product(others, (1, 2, 3), GAMMAS, FAMILIES):
        yield Case(family, 1000, gamma, costs, seed=seed)
    for seed in others:
        yield Case("grid", 1_000_000, seed=seed)
    for costs, gamma, family in product((1, 2, 3), GAMMAS, FAMILIES):
        yield Case(family, 10_000, gamma, costs, seed=one)


class Stable:
    """The solvers of the matrix, each in its own process."""

    def __init__(self, records: Records, clock: Clock, *, most: float, storm: bool) -> None:
        small = Case("grid", 16).build()
        self.records, self.clock, self.most = records, clock, most
        self.ours = {gap: Child(partial(peers.ours, gap=gap), small=small) for gap in (1e-8, 1e-6)}
        self.highs = {
            f"highs {method}": Child(
                partial(peers.highs_within, method=method), small=(small, LEAST)
            )
            for method in peers.METHODS
        }
        self.storm = Child(peers.storm, small=small) if storm else None

    def run(self, case: Case) -> None:
        """Solve a case with everything that applies, and add its lines."""
        model = case.build()
        self.alone = model.num_states >= ALONE
        mine = self._time(self.ours[1e-6 if case.size >= HUGE else 1e-8], model, OURS)
        limit = min(max(LEAST, PATIENCE * (mine.seconds or 0.0)), self.most)
        found: dict[str, Measured] = {}
        if case.size < LARGE:
            for name, child in self.highs.items():
                done = [m.seconds for m in found.values() if agrees(mine, m, model) and m.seconds]
                own = max(min([limit, *(BEHIND * s for s in done)]), SHORTEST)
                found[name] = self._time(child, (model, own), GRACE * own)
        self._line(case, model, mine, best(mine, found, model), found)
        if self.storm is not None and storm_applies(case):
            self._line(case, model, mine, "storm", {"storm": self._time(self.storm, model, limit)})

    def _time(self, child: Child, problem: Any, limit: float) -> Measured:
        if self.alone:
            child.stop()
        return child.measure(problem, limit=limit, clock=self.clock, repeats=3, enough=1.0)

    def stop(self) -> None:
        for child in (*self.ours.values(), *self.highs.values(), self.storm):
            if child is not None:
                child.stop()

    def _line(
        self, case: Case, model: CMDP, mine: Measured, name: str | None, found: dict[str, Measured]
    ) -> None:
        theirs = found[name] if name else Measured(status="no peer at this size")
        if found and name is None:
            theirs = Measured(status="no peer answered, or none agrees")
        more: dict[str, Any] = {"status": theirs.status, "ours_status": mine.status}
        if mine.answer and theirs.answer:
            more["difference"] = difference(mine, theirs, model)
            if theirs.status == "ok" and not agrees(mine, theirs, model):
                more["status"] = "disagrees"
        self.records.add(
            "family",
            case.size,
            ours_s=mine.seconds,
            peer=name,
            peer_s=theirs.seconds,
            gap=mine.answer[1] if mine.answer else None,
            family=case.family,
            gamma=case.gamma,
            costs=case.costs,
            seed=case.seed,
            limits=case.limits,
            start=case.start,
            key=case.key,
            peak_gib=mine.peak_gib,
            **more,
            methods={peer: told(mine, theirs, model) for peer, theirs in found.items()},
        )


def difference(mine: Measured, theirs: Measured, model: CMDP) -> float:
    """Of two values, relative; 0 where both say that there is no solution."""
    one, two = mine.answer[0], theirs.answer[0]
    if one == two:
        return 0.0
    return abs(one - two) / max(abs(one), float(np.abs(model.r).max()), 1e-300)


def agrees(mine: Measured, theirs: Measured, model: CMDP) -> bool:
    """Whether a peer finished with our value; with any value where we have none."""
    if theirs.status != "ok" or not theirs.answer:
        return False
    return not mine.answer or difference(mine, theirs, model) <= DISAGREEMENT


def best(mine: Measured, found: dict[str, Measured], model: CMDP) -> str | None:
    """The fastest method that agrees; otherwise one that was stopped."""
    done = [name for name in found if agrees(mine, found[name], model)]
    late = [name for name in found if found[name].status == "time limit"]
    return min(done or late, key=lambda name: found[name].seconds or np.inf, default=None)


def told(mine: Measured, theirs: Measured, model: CMDP) -> str:
    """A time as text; ``> `` where it is a lower bound; what is wrong where something is."""
    if theirs.status == "time limit":
        return f"> {theirs.seconds:.4g}"
    if theirs.status != "ok":
        return theirs.status
    return f"{theirs.seconds:.4g}" + ("" if agrees(mine, theirs, model) else " (disagrees)")


def storm_applies(case: Case) -> bool:
    """One binding cost, up to 10⁵ states; it needs a discount that is not too close to 1."""
    plain = case.limits == "tight" and case.start == "uniform" and case.gamma <= 0.99
    return case.costs == 1 and plain and case.size <= 100_000


def families(
    cases: Iterable[Case], *, records: Records, clock: Clock, most: float = MOST, storm: bool = True
) -> None:
    """Run the cases that the file does not hold yet."""
    stable = Stable(records, clock, most=most, storm=storm)
    try:
        for case in cases:
            if clock.left() < 3.0:
                break
            with records.part(f"family {case.key}") as due:
                if due:
                    stable.run(case)
    finally:
        stable.stop()
