"""Publish: propose, debit, read, measure; and the answer from what was published.

What can be refused is refused from public data, before the debit; the debit comes before anything
is read and is never refunded. After it, a proposal that raises or asks for more than its part of
the budget counts as none, which the release records; whatever else is raised, Control-C too,
carries the release as its attribute ``release``.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

from dp_cmdp._src.accounting.budget import PrivacyBudget
from dp_cmdp._src.base.errors import (
    AnswerError,
    InvalidArgumentError,
    RefusedError,
    SolverError,
)
from dp_cmdp._src.data.database import Database
from dp_cmdp._src.program.answer import Answer, Problem
from dp_cmdp._src.release.belief import Prior, estimated
from dp_cmdp._src.release.measurement import Measurement
from dp_cmdp._src.release.release import Release, is_empty
from dp_cmdp._src.release.strategy import Propose, Strategy

NOTE = (
    "the release that was paid for is not lost: it is this exception's attribute `release`; save "
    "it with error.release.save(path), and answer from it again without spending anything"
)
CONTRADICTION = (
    "the releases contradict each other: no database agrees with all of them, so the data changed "
    "in between. This exception's `release` has both; answer from a new release alone"
)
#: An answer that is better than the robust one by less, relative, is not better: rounding.
ROUNDING = 1e-12


def publish(
    problem: Problem,
    database: Database,
    budget: PrivacyBudget,
    strategy: Strategy,
    source: Any,
    *,
    after: Release | None = None,
    notes: dict[str, Any] | None = None,
) -> Release:
    """What the strategy measures of the database, added to what was published `after`."""
    steps = []
    for step in strategy.steps:  # what is wrong with a part is said unpaid
        steps.append((step, step.part(budget)))
    release = after or Release(problem.envelope)
    document = strategy.document(budget) | (notes or {})
    if release.strategy_document is not None:
        document["after"] = dict(release.strategy_document)
    simulated = release.simulated or source.simulated
    release = replace(release, strategy_document=document, simulated=simulated)
    first = None
    while steps and first is None:  # refuses, from public data
        step, part = steps.pop(0)
        first, why = attempted(problem, release, step.propose, part, first=True)
        if why is not None:
            number = len(strategy.steps) - len(steps) - 1
            raise InvalidArgumentError(f"strategy: step {number} {why}; nothing was spent")
    if first is None:
        return release  # public data show that there is nothing to measure: nothing is spent
    if database.ledger is not None:  # whatever fails after this line has cost its budget
        note = f"publish {strategy.name}"
        reference = str(database.ledger.debit(budget, release.envelope, note=note))
        before = release.ledger_reference
        reference = f"{before}, {reference}" if before else reference
        release = replace(release, ledger_reference=reference)
    with carrying(lambda: release):
        values = database.read()
        with _uninterrupted():
            release = release + first.draw(values, source)
        for step, part in steps:
            measurement, why = attempted(problem, release, step.propose, part)
            if measurement is not None:
                with _uninterrupted():
                    release = release + measurement.draw(values, source)
            elif why is not None:
                skipped = [*document.get("skipped", []), step.document() | {"why": why}]
                document = document | {"skipped": skipped}
                release = replace(release, strategy_document=document)
        if after is not None and is_empty(release.uncertainty):
            raise AnswerError(CONTRADICTION, release=release)
        return release


def attempted(
    problem: Problem,
    release: Release,
    propose: Propose,
    part: PrivacyBudget,
    *,
    first: bool = False,
) -> tuple[Measurement | None, str | None]:
    """What a step proposes, if anything, and why it counts as none where it is wrong.

    A later step that raises counts as none, too: it saw public data only, and refusing now would
    cost the budget.
    """
    try:
        measurement: Any = propose(problem, release, part)
    except Exception as error:
        if first:
            raise
        return None, f"raised {type(error).__name__}"
    if measurement is None:
        return None, None
    if not isinstance(measurement, Measurement):
        return None, f"proposes a {type(measurement).__name__}, no Measurement"
    if not measurement.budget.fits(part):
        return None, "asks for more than its share of the budget"
    if measurement.query.envelope != problem.envelope:
        return None, "measures another envelope than the problem's"
    return measurement, None


def answered(
    problem: Problem,
    release: Release,
    robust: Answer | None,
    prior: Prior,
    *,
    start: Answer | None = None,
    certify: bool = True,
) -> Answer:
    """The best answer for what is believed among what is safe for all that the release allows.

    Where none is found, or it is no better: the robust answer, safe for the whole envelope.
    """
    estimate = estimated(problem, release, prior)
    try:
        found = problem.answer(
            release.uncertainty, estimate, start=start or robust, certify=certify
        )
        if certify and robust is not None and not found.certificate.verified:
            raise SolverError("the answer is not proved")  # of a problem of the user's own
    except (SolverError, RefusedError, InvalidArgumentError):
        if robust is None:
            raise
        found = None
    if robust is None:
        assert found is not None
        return found
    value = problem.value(robust.decision, estimate)
    spare = amended(robust, estimate=estimate, value=value, source="robust")
    if found is None:
        return spare
    gain, size = problem.sense * (found.value - value), abs(found.value) + abs(value)
    return found if gain > ROUNDING * size else spare  # not for rounding alone


def amended(answer: Answer, **changes: Any) -> Answer:
    """A copy with other attributes; a solver's state and what was found later stay behind."""
    made = object.__new__(type(answer))
    vars(made).update(vars(answer) | {"_warm": None})
    vars(made).pop("robust", None)
    vars(made).update(changes)
    return made


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Control-C that comes while noise is drawn is raised afterwards: half is nothing."""
    usual: Any = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(usual):
        yield
        return
    pressed: list[Any] = []
    signal.signal(signal.SIGINT, lambda *what: pressed.append(what))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
    if pressed:
        usual(*pressed[0])


@contextmanager
def carrying(release: Callable[[], Release]) -> Iterator[None]:
    """Whatever is raised within, Control-C too, carries the release."""
    try:
        yield
    except BaseException as error:
        if not isinstance(getattr(error, "release", None), Release):
            with suppress(AttributeError, TypeError):  # of a class that takes no attributes
                error.release = release()  # type: ignore[attr-defined]
        carried = getattr(error, "release", None)
        if isinstance(carried, Release) and carried.outcomes:  # else nothing was measured
            error.add_note(NOTE)
        raise
