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
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dp_cmdp._src.accounting.budget import PrivacyBudget
from dp_cmdp._src.base.errors import (
    AnswerError,
    InvalidArgumentError,
    RefusedError,
    SolverError,
)
from dp_cmdp._src.data.database import Database
from dp_cmdp._src.program.answer import Answer, Problem
from dp_cmdp._src.release.belief import Prior, estimated, objective_entries
from dp_cmdp._src.release.measurement import Measurement
from dp_cmdp._src.release.release import Release, is_empty
from dp_cmdp._src.release.strategy import Step, Strategy

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
    release = _start(problem, strategy.document() | (notes or {}), source, after)
    step, first = _first(problem, release, strategy, budget)  # refuses, from public data
    if first is None:
        return release  # public data show that there is nothing to measure: nothing is spent
    release = _debited(release, database, budget, strategy)
    paid = _Paid(release)
    with carrying(lambda: paid.release):
        values = database.read()
        paid.add(first, values, source)
        for later in strategy.steps[step + 1 :]:
            measurement, why = attempted(problem, paid.release, later, budget)
            if measurement is not None:
                paid.add(measurement, values, source)
            elif why is not None:
                paid.skip(later, why)
        if after is not None and is_empty(paid.release.uncertainty):
            raise AnswerError(CONTRADICTION, release=paid.release)
        return paid.release


def _start(
    problem: Problem, document: dict[str, Any], source: Any, after: Release | None
) -> Release:
    """What was published before, with how it goes on."""
    release = after or Release(problem.envelope)
    if release.strategy_document is not None:
        document = document | {"after": dict(release.strategy_document)}
    simulated = release.simulated or source.simulated
    return replace(release, strategy_document=document, simulated=simulated)


def _debited(
    release: Release, database: Database, budget: PrivacyBudget, strategy: Strategy
) -> Release:
    """Spend first, read later: whatever fails after this line has cost its budget."""
    ledger: Any = database.ledger
    if ledger is None:
        return release
    reference = ledger.debit(budget, release.envelope, note=f"publish {strategy.name}")
    references = filter(None, (release.ledger_reference, str(reference)))
    return replace(release, ledger_reference=", ".join(references))


def _first(
    problem: Problem, release: Release, strategy: Strategy, budget: PrivacyBudget
) -> tuple[int, Measurement | None]:
    """The first step with something to measure: what is wrong with it is raised, unpaid."""
    for number, step in enumerate(strategy.steps):
        measurement, why = _proposed(problem, release, step, budget)
        if why is not None:
            raise InvalidArgumentError(f"strategy: step {number} {why}; nothing was spent")
        if measurement is not None:
            return number, measurement
    return len(strategy.steps), None


def attempted(
    problem: Problem, release: Release, step: Step, budget: PrivacyBudget
) -> tuple[Measurement | None, str | None]:
    """What a later step proposes, if anything, and why it counts as none where it is wrong."""
    try:
        return _proposed(problem, release, step, budget)
    except Exception as error:  # it saw public data only, and refusing now would cost the budget
        return None, f"raised {type(error).__name__}"


def _proposed(
    problem: Problem, release: Release, step: Step, budget: PrivacyBudget
) -> tuple[Measurement | None, str | None]:
    part = step.part(budget)
    measurement: Any = step.propose(problem, release, part)
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
    certify: bool = True,
) -> Answer:
    """The best answer for what is believed among what is safe for all that the release allows.

    Where none is found, or it is no better: the robust answer, safe for the whole envelope.
    """
    estimate = estimated(problem, release, prior)
    try:
        found = problem.answer(release.uncertainty, estimate, start=robust, certify=certify)
    except (SolverError, RefusedError, InvalidArgumentError):
        if robust is None:
            raise
        found = None
    if robust is None:
        assert found is not None
        return found
    value = problem.value(robust.decision, estimate)
    spare = amended(robust, estimate=estimate, value=value, source="robust")
    if found is None or not better(problem, found.value, spare.value):
        return spare
    return found


def amended(answer: Answer, **changes: Any) -> Answer:
    """A copy with other attributes; `dataclasses.replace` would solve for those that are lazy."""
    made = copy(answer)
    vars(made).update(changes)
    return made


def better(problem: Problem, value: float, than: float) -> bool:
    """Whether a value is better by more than rounding; of a problem that minimises, lower is."""
    return bool(sense(problem) * (value - than) > ROUNDING * (abs(value) + abs(than)))


@dataclass
class _Paid:
    """A release that grows, and is on whatever is raised meanwhile."""

    release: Release

    def add(self, measurement: Measurement, values: Any, source: Any) -> None:
        """Control-C that comes while noise is drawn is raised afterwards: half is nothing."""
        usual: Any = signal.getsignal(signal.SIGINT)
        main = threading.current_thread() is threading.main_thread()
        if not main or not callable(usual):
            self.release = self.release + measurement.draw(values, source)
            return
        pressed: list[Any] = []
        signal.signal(signal.SIGINT, lambda *what: pressed.append(what))
        try:
            self.release = self.release + measurement.draw(values, source)
        finally:
            signal.signal(signal.SIGINT, usual)
        if pressed:
            usual(*pressed[0])

    def skip(self, step: Step, why: str) -> None:
        document = dict(self.release.strategy_document or {})
        document["skipped"] = [*document.get("skipped", []), step.document() | {"why": why}]
        self.release = replace(self.release, strategy_document=document)


@contextmanager
def carrying(release: Callable[[], Release]) -> Iterator[None]:
    """Whatever is raised within, Control-C too, carries the release."""
    try:
        yield
    except BaseException as error:
        if not isinstance(getattr(error, "release", None), Release):
            with suppress(AttributeError, TypeError):  # of a class that takes no attributes
                error.release = release()  # type: ignore[attr-defined]
        if isinstance(getattr(error, "release", None), Release):
            error.add_note(NOTE)
        raise


def sense(problem: Any) -> float:
    """1 where more is better, −1 where less is."""
    less = getattr(problem, "minimizes", not getattr(problem, "maximizes", True))
    return -1.0 if less else 1.0


def tells_nothing(problem: Problem, release: Release) -> bool:
    """Whether a release leaves every database of the envelope possible, where it matters.

    Lower bounds of entries that only harm rows do not matter, nor upper ones of those that help.
    """
    known, envelope = release.uncertainty, problem.envelope
    signs = problem.signs.tocoo()
    matters = np.zeros((2, envelope.size), dtype=bool)  # upper, lower
    matters[0, signs.col[signs.data >= 0]] = True
    matters[1, signs.col[signs.data <= 0]] = True
    matters[:, objective_entries(problem)] = True
    tighter = np.stack([known.upper < envelope.upper, known.lower > envelope.lower])
    if (tighter & matters).any():
        return False
    largest = known.W.maximum(0) @ envelope.upper + known.W.minimum(0) @ envelope.lower
    return bool((largest <= known.q).all())
