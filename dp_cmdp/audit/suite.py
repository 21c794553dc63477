"""The audit of everything: all shipped private methods must pass, all injected bugs must fail."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any, TypeVar

import numpy as np

from dp_cmdp import _check
from dp_cmdp._door import door
from dp_cmdp._progress import with_bar
from dp_cmdp.accounting.budget import weak_budgets
from dp_cmdp.audit.layers.worst_records import shipped_readings, worst_row
from dp_cmdp.audit.layers.worst_totals import worst_totals
from dp_cmdp.audit.report import AuditReport, InjectedBug, MethodAudit
from dp_cmdp.audit.subject import MOST_RUNS, Subject, audit_subject
from dp_cmdp.audit.subjects.injected import injected_bugs
from dp_cmdp.audit.subjects.looks import looks_subjects
from dp_cmdp.audit.subjects.programs import program_subjects
from dp_cmdp.audit.subjects.releases import shipped_subjects

Found = TypeVar("Found")

#: Training (and held-out) runs per database.
RUNS, QUICK_RUNS = 10_000, 3_000


@door
def audit_everything(
    *, runs: int = RUNS, seed: int = 0, workers: int = 1, progress: bool = False
) -> AuditReport:
    """Audit all that is shipped, and the bugs that must be seen.

    Parameters
    ----------
    runs : int
        Training and held-out runs per database and subject.
    seed : int
        Of everything except exact noise, which comes from the operating system.
    workers : int
        Processes.
    progress : bool
        On a terminal, show a bar when it takes longer than two seconds.

    Returns
    -------
    AuditReport

    Notes
    -----
    **Privacy.** *Public*: every database here is invented.

    Examples
    --------
    >>> from dp_cmdp.audit.suite import audit_everything
    >>> audit_everything(runs=1000).passed  # takes minutes
    True
    """
    _check.integer("runs", runs, low=100, high=MOST_RUNS)
    _check.integer("seed", seed, high=2**64 - 1)
    _check.integer("workers", workers, low=1, high=1024)
    number = len(makers())
    bugs = list(injected_bugs())
    tasks = [(place, runs, seed) for place in range(number)]
    found = _map(_one, tasks, workers, bar="subjects" if progress else None)
    records = [(name,) for name in shipped_readings()]
    split = number - len(bugs)
    return AuditReport(
        methods=tuple(found[:split]),
        injected=tuple(
            InjectedBug(bug, each) for bug, each in zip(bugs, found[split:], strict=True)
        ),
        worst=(
            *_map(worst_row, records, workers, bar="worst records" if progress else None),
            worst_totals(),
        ),
    )


def makers() -> list[Callable[[], Subject]]:
    """All subjects: methods first, then the injected bugs."""
    return [
        *shipped_subjects(),
        *looks_subjects(),
        *program_subjects(),
        *injected_bugs().values(),
    ]


def _one(place: int, runs: int, seed: int) -> MethodAudit:
    """Audit one subject; the subject is made here, so that only numbers cross processes."""
    with weak_budgets():
        subject = makers()[place]()
        rng = np.random.default_rng([seed, place])
        return audit_subject(subject, rng=rng, runs=runs)


def _map(
    function: Callable[..., Found], tasks: list[tuple[Any, ...]], workers: int, *, bar: str | None
) -> list[Found]:
    """What `function` makes of each task, on several processes, perhaps under a bar."""
    if workers == 1:
        results: Iterable[Found] = (function(*task) for task in tasks)
    else:
        joblib: Any = import_module("joblib")  # has no types
        pool = joblib.Parallel(n_jobs=workers, return_as="generator")
        results = pool(joblib.delayed(function)(*task) for task in tasks)
    return list(with_bar(results, bar is not None, total=len(tasks), name=bar or ""))
