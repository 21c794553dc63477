"""What a release file claims, proved again from the file alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from typing import Any

from dp_cmdp._src.checking.report import Finding
from dp_cmdp._src.checking.verify.adjacency import Adjacency, CountedSensitivity, Triple
from dp_cmdp._src.checking.verify.known import Known
from dp_cmdp._src.checking.verify.laws import Law, law_of
from dp_cmdp._src.checking.verify.reading import (
    Refused,
    anything,
    fraction,
    integer,
    integers,
    mapping,
    member,
    read,
    refuse_unless,
    sequence,
    table,
    text,
)

WEIGHTS = ("weight_row", "weight_entry", "weight")
KINDS = ("linear", "largest")
HALF = Fraction(1, 2)
LONGEST_NAME = 200
#: Turns a law's document into its law, where whoever verifies trusts it; else None.
Trust = Callable[[Mapping[str, Any]], Law | None]


@dataclass
class Outcome:
    """One measurement and what it gave, as a file states them."""

    name: str
    largest: bool
    rows: int
    weights: list[Triple]
    centres: list[int]
    law: Mapping[str, Any]
    epsilon: Fraction
    delta: Fraction
    integers: list[int]

    @classmethod
    def read(cls, said: Any, adjacency: Adjacency) -> Outcome:
        parts = read(
            said,
            **dict.fromkeys(("name", "kind"), text),
            **dict.fromkeys(("centres", "integers", *WEIGHTS), integers),
            **dict.fromkeys(("epsilon", "delta"), fraction),
            rows=partial(integer, low=0),
            law=mapping,
        )
        rows, kind = parts["rows"], parts.pop("kind")
        columns = [parts.pop(name) for name in WEIGHTS]
        weights = table("the table of weights", columns, (rows, adjacency.size))
        made = cls(**parts, largest=kind == "largest", weights=weights)
        refuse_unless(len(made.name) <= LONGEST_NAME, "the name of a measurement must be short")
        refuse_unless(kind in KINDS, f"a measurement must be one of {', '.join(KINDS)}")
        refuse_unless(made.epsilon > 0 and made.delta <= HALF, "a budget must have ε > 0, δ ≤ 1/2")
        refuse_unless(
            len(made.centres) == (rows if made.largest else 0),
            "the largest query has a centre per query",
        )
        refuse_unless(
            len(made.integers) == (min(rows, 1) if made.largest else rows),
            "there is one published integer per query",
        )
        return made

    @cached_property
    def by_row(self) -> list[dict[int, int]]:
        found: list[dict[int, int]] = [{} for _ in range(self.rows)]
        for row, entry, weight in self.weights:
            found[row][entry] = weight
        return found

    def check_possible(self, adjacency: Adjacency, law: Law) -> str:
        """Refuse integers that no database within the bounds gives with such noise."""
        if law.low is None or law.high is None:
            return "any integer"
        ends: list[tuple[int, int]] = []
        for weights in self.by_row:
            least = most = 0
            for entry, weight in weights.items():
                low, high = (weight * cell for cell in adjacency.cells[entry])
                least, most = least + min(low, high), most + max(low, high)
            ends.append((least, most))
        if self.largest and ends:
            shifted = [
                (low - e, high - e) for (low, high), e in zip(ends, self.centres, strict=True)
            ]
            ends = [(max(low for low, _ in shifted), max(high for _, high in shifted))]
        for place, (y, (least, most)) in enumerate(zip(self.integers, ends, strict=True)):
            refuse_unless(
                least + law.low <= y <= most + law.high,
                f"no database within the bounds gives integer {place}",
            )
        return f"{len(ends)} integers"

    def inform(self, known: Known, adjacency: Adjacency, law: Law) -> None:
        """Add what follows of the database."""
        wide: list[tuple[dict[int, int], int]] = []
        for row, given in enumerate(self.by_row):
            weights = {entry: weight for entry, weight in given.items() if weight}
            y = self.integers[0] + self.centres[row] if self.largest else self.integers[row]
            if len(weights) == 1:
                ((entry, weight),) = weights.items()
                least = None if law.high is None or self.largest else y - law.high
                most = None if law.low is None else y - law.low
                known.bound(entry, weight, adjacency.step[entry], least, most)
            elif weights:
                wide.append((weights, y))
        if law.low is not None:
            for weights, y in wide:
                known.add(weights, adjacency.step, y - law.low, sign=1)
        if law.high is not None and not self.largest:
            for weights, y in wide:
                known.add(weights, adjacency.step, law.high - y, sign=-1)


@dataclass
class ReleaseFile:
    """A release, read from its file."""

    subject: str
    adjacency: Adjacency
    simulated: bool
    ledger: str | None
    strategy: Any
    outcomes: list[Outcome]
    laws: list[Law | None]

    @classmethod
    def read(cls, subject: str, said: Any, trust: Trust) -> ReleaseFile:
        parts = read(
            said,
            envelope=mapping,
            simulated=anything,
            strategy=anything,
            ledger=lambda value, what: None if value is None else text(value, what),
            outcomes=sequence,
        )
        adjacency, simulated = Adjacency.read(parts["envelope"]), parts["simulated"]
        outcomes = [Outcome.read(part, adjacency) for part in parts["outcomes"]]
        laws = [law_of(each.law) or trust(each.law) for each in outcomes]
        refuse_unless(isinstance(simulated, bool), "simulated must be true or false")
        return cls(
            subject, adjacency, simulated, parts["ledger"], parts["strategy"], outcomes, laws
        )

    @cached_property
    def budget(self) -> tuple[Fraction, Fraction]:
        """What all measurements spend together."""
        zero = Fraction(0)
        return (
            sum((each.epsilon for each in self.outcomes), zero),
            sum((each.delta for each in self.outcomes), zero),
        )

    @cached_property
    def known(self) -> Known:
        """All databases that the release allows."""
        known = Known.box(self.adjacency)
        for outcome, law in zip(self.outcomes, self.laws, strict=True):
            if law is not None:
                outcome.inform(known, self.adjacency, law)
        return known

    def judge(self) -> list[Finding]:
        """All claims, with the outcome."""
        found = [
            self._try(claim, prove)
            for outcome, law in zip(self.outcomes, self.laws, strict=True)
            for claim, prove in self._claims(outcome, law)
        ]
        epsilon, delta = self.budget
        found += [
            self._try("its measurements add up", lambda: f"ε = {epsilon}, δ = {delta}"),
            self._try("some database within the bounds agrees with all of it", self._consistent),
        ]
        if self.strategy is not None:
            claim = "each measurement has a step's share of what its strategy spends"
            found.append(self._try(claim, self._shared))
        claim = "its noise is exact"
        if self.simulated:
            why = "SIMULATED: drawn for a study; it is not private"
            found.append(Finding(self.subject, claim, False, why))
        else:
            found.append(Finding(self.subject, claim, True, "by its own word", "declared"))
        ledger = f"it names {self.ledger}" if self.ledger else "it names no ledger"
        unprovable = [
            "the noise was drawn from its law, once, with good randomness",
            "the data lie in the envelope, and records are as it says",
            "queries and strategy were chosen from public data and outcomes",
            f"what it spent is in a ledger ({ledger})",
        ]
        none = "no file can show it"
        return [*found, *(Finding(self.subject, claim, None, none) for claim in unprovable)]

    def _claims(
        self, outcome: Outcome, law: Law | None
    ) -> list[tuple[str, Callable[[], str | Finding]]]:
        label = f"{outcome.name}: " if outcome.name else ""
        private = f"{label}({outcome.epsilon}, {outcome.delta})-private for every record"
        if law is None:
            name = str(member(outcome.law, "law"))[:60]
            why = f"the law {name!r} is not known here; trusted_laws= takes it"
            unknown = Finding(self.subject, private, None, why, "not proved", open=True)
            return [(private, lambda: unknown)]
        possible = f"{label}such noise gives its integers for some database within the bounds"
        return [
            (f"{label}some record changes every measured entry", lambda: self._owned(outcome)),
            (private, lambda: self._private(outcome, law)),
            (possible, lambda: outcome.check_possible(self.adjacency, law)),
        ]

    def _owned(self, outcome: Outcome) -> str:
        measured = {entry for _, entry, weight in outcome.weights if weight}
        unowned = [entry for entry in sorted(measured) if not self.adjacency.is_changed(entry)]
        refuse_unless(not unowned, f"no record changes entry {unowned[:1]}: noise protects nobody")
        return f"{len(measured)} entries"

    def _private(self, outcome: Outcome, law: Law) -> str:
        moved = self.adjacency.sensitivity(outcome.weights, largest=outcome.largest)
        needed = law.delta(moved, outcome.epsilon)
        words = (
            f"a record moves {moved.l1} integers, {moved.largest} in one of {moved.queries} queries"
        )
        refuse_unless(
            needed <= outcome.delta,
            f"{words}: {law.name} noise needs δ = {float(needed):.3g}",
        )
        return f"{words}: {law.name} noise needs δ ≤ {float(needed):.4g}"

    def _consistent(self) -> str:
        refuse_unless(not self.known.is_empty(), "its integers contradict each other")
        return f"{len(self.known.rows)} inequalities and the bounds"

    def _shared(self) -> str:
        """Outcomes are those of some of the steps, in order, and spend what these may."""
        parts = iter(parts_of(self.strategy))
        for outcome in self.outcomes:
            spent = outcome.epsilon, outcome.delta
            fits = any(spent[0] <= part[0] and spent[1] <= part[1] for part in parts)
            refuse_unless(
                fits, f"no step that is left has a share of ε = {spent[0]}, δ = {spent[1]}"
            )
        return f"{len(self.outcomes)} measurements"

    def _try(self, claim: str, prove: Callable[[], str | Finding]) -> Finding:
        try:
            found = prove()
        except Refused as error:
            return Finding(self.subject, claim, False, str(error))
        return found if isinstance(found, Finding) else Finding(self.subject, claim, True, found)


def parts_of(said: Any) -> list[tuple[Fraction, Fraction]]:
    """What the steps of a strategy may spend each, after those of the releases before it."""
    strategy = mapping(said, "the strategy")
    if "several" in strategy:
        several = sequence(strategy["several"], "several")
        return [part for each in several for part in parts_of(each)]
    earlier = parts_of(strategy["after"]) if "after" in strategy else []
    names = ("epsilon", "delta")
    whole = [fraction(member(strategy, name), name) for name in names]
    steps = sequence(member(strategy, "steps"), "steps")
    shares = [
        [fraction(member(step, name), f"a share of {name}") for name in names] for step in steps
    ]
    for share in zip(*shares, strict=True):
        refuse_unless(sum(share) <= 1, "its steps have more than the whole budget")
    return earlier + [(whole[0] * first, whole[1] * second) for first, second in shares]


def trusting(laws: Sequence[Any]) -> Trust:
    """Laws of the verifier's own choice: classes or instances that say whose document it is."""

    def trust(said: Mapping[str, Any]) -> Law | None:
        for each in laws:
            made = getattr(each, "from_document", None) if isinstance(each, type) else None
            law: Any = made(dict(said)) if made else each
            if law is not None and law.document() == dict(said):
                return Law(str(said["law"]), law.low, law.high, _delta_of(law))
        return None

    return trust


def _delta_of(law: Any) -> Callable[[CountedSensitivity, Fraction], Fraction]:
    from dp_cmdp._src.noise import laws

    return lambda moved, epsilon: Fraction(law.delta(laws.Sensitivity(*moved), epsilon))
