"""The audit of what is shipped: every kind of measurement, for records of every kind."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product

import numpy as np
from scipy import sparse

from dp_cmdp._src.accounting.budget import amount, weak_budgets
from dp_cmdp._src.base import validation as check
from dp_cmdp._src.base.progress import with_bar
from dp_cmdp._src.base.validation import validated
from dp_cmdp._src.checking.audit.black_box import black_box
from dp_cmdp._src.checking.audit.measured import FALSE_ALARM, Measured, exact_divergence
from dp_cmdp._src.checking.audit.mechanism import HEADING
from dp_cmdp._src.checking.report import Report
from dp_cmdp._src.data.database import Database
from dp_cmdp._src.data.envelope import Envelope
from dp_cmdp._src.noise.laws import Laplace, Sensitivity
from dp_cmdp._src.noise.one_sided import OneSided
from dp_cmdp._src.noise.unbounded import UnboundedLaplace
from dp_cmdp._src.program.parametric import ParametricLP
from dp_cmdp._src.release.belief import Prior
from dp_cmdp._src.release.measurement import LargestQuery, Measurement, Query, System
from dp_cmdp._src.release.publish import publish
from dp_cmdp._src.release.release import Release
from dp_cmdp._src.release.strategy import Strategy

#: Training (and held-out) runs per database; a strategy with a proposal takes longer.
RUNS, QUICK_RUNS, STRATEGY_RUNS = 5_000, 1_000, 300
BUDGET = amount(Fraction(1), Fraction(1, 10))
#: Upper bounds (lower ones are 0) and radii that floats add up to too little, or hardly tell apart.
NUMBERS: dict[str, tuple[tuple[float, ...], tuple[float, ...]]] = {
    "sums that round down": ((1.0,) * 5, (1.0, 0.1, 0.7, 0.1, 0.7)),
    "thirds": ((1.0,) * 5, (1 / 3, 1 / 3, 2 / 3, 1 / 7, 0.9)),
    "large bounds": ((1e9, 1e9, 1.0, 1e9, 1.0), (7.0, 0.1, 0.7, 0.3, 0.6)),
    "one ulp": ((1.0,) * 5, (0.7, 0.1 + 2.0**-56, 0.7 - 2.0**-53, 0.1 - 2.0**-56, 0.7)),
}
#: Who owns the five entries: records of one, several, overlapping people; entries at once.
RECORDS: dict[str, tuple[list[list[int]], int | None]] = {
    "own entries": ([[0], [1], [2], [3], [4]], None),
    "pairs": ([[0, 1], [2, 3], [4]], None),
    "one record": ([[0, 1, 2, 3, 4]], None),
    "overlapping people": ([[0, 1, 2], [2, 3], [3, 4, 0]], None),
    "two entries at once": ([[0, 1, 2, 3, 4]], 2),
}
SHARED = [[3, -2, 0, 0, 5], [1, 1, 1, 1, 1], [0, 0, -7, 2, 1]]


@validated
def audit_release(*, runs: int = RUNS, seed: int = 0, progress: bool = False) -> Report:
    """Audit every kind of measurement and strategy that is shipped.

    Parameters
    ----------
    runs : int
        Training and held-out runs per database and measurement.
    seed : int
        Of everything that is random here; nothing of it is published.
    progress : bool
        Show a bar when it takes longer than two seconds.

    Returns
    -------
    Report
        It fails for a correct package with probability at most 1e-6 per subject.

    Notes
    -----
    **Privacy.** *Public*: every database here is invented.
    """
    check.integer("runs", runs, low=100, high=1_000_000)
    rng = np.random.default_rng(check.seed("seed", seed))
    tasks = [*measurements(), *map(_exact_task, (Laplace, OneSided))]
    tasks += map(_strategy_task, ("entries", "queries", "worst row"))
    report = Report((), HEADING)
    with weak_budgets():
        for task in with_bar(tasks, progress, total=len(tasks), name="subjects"):
            report += task(runs, rng)
    return report


def measurements() -> list[Callable[[int, np.random.Generator], Report]]:
    """Tasks: each kind of measurement, for every kind of record."""
    return [_task(kind, owned) for kind in KINDS for owned in RECORDS if _possible(kind, owned)]


def _possible(kind: str, owned: str) -> bool:
    return kind != "entries, one-sided" or owned == "own entries"


def _task(kind: str, owned: str) -> Callable[[int, np.random.Generator], Report]:
    def judge(runs: int, rng: np.random.Generator) -> Report:
        found = []
        for sizes, numbers in NUMBERS.items():
            subject = Measured(
                f"{kind}: {owned}", KINDS[kind](_envelope(*RECORDS[owned], *numbers))
            )
            if sizes == "thirds":
                found += subject.judge(None, runs=runs, rng=rng)
            else:
                found += [subject.certificate(), subject.worst_records()]
        return Report(tuple(found))

    return judge


def _exact_task(kind: type) -> Callable[[int, np.random.Generator], Report]:
    """Laws for a few integers: every move that such a record makes, enumerated."""

    def judge(runs: int, rng: np.random.Generator) -> Report:
        found = []
        for most, moved in product((1, 2, 3), (1, 2)):
            if kind is OneSided and moved > 1:
                continue
            sensitivity = Sensitivity(most * moved, most * most * moved, most, moved)
            moves = list(product(range(-most, most + 1), repeat=moved))
            law = kind.calibrate(sensitivity, BUDGET)
            subject = f"{kind.__name__}, {moved} queries moved by {most}"
            found.append(exact_divergence(subject, law, moves, BUDGET))
        return Report(tuple(found))

    return judge


def _envelope(
    own: list[list[int]], limit: int | None, upper: tuple[float, ...], radius: tuple[float, ...]
) -> Envelope:
    record = np.repeat(np.arange(len(own)), [len(each) for each in own])
    entry = np.concatenate(own)
    change = sparse.csr_array((np.array(radius)[entry], (record, entry)))
    return Envelope(np.zeros(len(upper)), np.array(upper), change=change, entries_per_record=limit)


def _diagonal(envelope: Envelope) -> Query:
    return Query(envelope, sparse.csr_array(np.eye(envelope.size, dtype=np.int64)))


def _weights(envelope: Envelope) -> sparse.csr_array:
    return sparse.csr_array(np.array(SHARED)[:, : envelope.size])


KINDS: dict[str, Callable[[Envelope], Measurement]] = {
    "entries": lambda e: Measurement(_diagonal(e), Laplace, BUDGET, "entries"),
    "entries, one-sided": lambda e: Measurement(_diagonal(e), OneSided, BUDGET, "entries"),
    "entries, unbounded": lambda e: Measurement(_diagonal(e), UnboundedLaplace, BUDGET, "entries"),
    "queries": lambda e: Measurement(Query(e, _weights(e)), Laplace, BUDGET, "queries"),
    "worst row": lambda e: Measurement(
        LargestQuery(e, _weights(e), (0, 7, -5)), OneSided, BUDGET, "worst row"
    ),
    "Algorithm 1": lambda e: Measurement(_diagonal(_coefficients(e)), Laplace, BUDGET, "A"),
}


def _program(envelope: Envelope) -> ParametricLP:
    """Two rows that read the first entry twice."""
    theta, last = envelope, envelope.size - 1
    return ParametricLP(
        maximize=[1.0, 1.0],
        A=[[theta[0], theta[1] * 0.3], [theta[0] - theta[2], theta[1]]],
        b=[theta[last] + 1.0, 3.0],
        upper=1.0,
    )


def _coefficients(envelope: Envelope) -> Envelope:
    """The envelope of a program's own coefficients, which Algorithm 1 measures."""
    return _program(envelope).entrywise()[0].envelope


def _strategy_task(name: str) -> Callable[[int, np.random.Generator], Report]:
    def judge(runs: int, rng: np.random.Generator) -> Report:
        envelope = _envelope([[0, 1], [1, 2]], None, (2.0, 2.0, 2.0), (0.5, 0.5, 0.5))
        program, strategy = _program(envelope), Strategy.named(name).given(Prior())

        def mechanism(values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
            database = Database._of(values, envelope)
            return _seen(publish(program, database, BUDGET, strategy, System(rng.bytes)))

        pair = np.array([0.5, 1.0, 1.5]), np.array([0.5, 1.5, 1.0])
        few = min(runs, STRATEGY_RUNS)
        named, bits = f"strategy {name}", {"alpha": FALSE_ALARM, "representation": False}
        return Report((black_box(named, mechanism, pair, BUDGET, runs=few, rng=rng, **bits),))

    return judge


def _seen(release: Release) -> np.ndarray:
    """What a release shows, as a vector of one size: intervals, and how much was measured."""
    count = sum(len(outcome.integers) for outcome in release.outcomes)
    return np.concatenate([release.lower, release.upper, release.estimate, [float(count)]])
