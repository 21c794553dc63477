"""What the audit found, as records ready for JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from typing import Any

LAYERS = ("certificate", "coupling", "noise_law", "black_box")

#: Probability that a layer which draws samples accuses a correct mechanism, per method.
FALSE_ALARM = 1e-6


@dataclass(frozen=True, slots=True)
class Verdict:
    """One layer's finding; `passed` is None where the layer does not apply.

    Examples
    --------
    >>> from dp_cmdp.audit.report import Verdict
    >>> Verdict(None, "does not apply: no certificate was given").to_dict()
    {'passed': None, 'detail': 'does not apply: no certificate was given'}
    """

    passed: bool | None
    detail: str
    numbers: Mapping[str, float] = field(default_factory=dict[str, float])

    def to_dict(self) -> dict[str, Any]:
        return {"passed": self.passed, "detail": self.detail, **self.numbers}


@dataclass(frozen=True, slots=True)
class MethodAudit:
    """All layers' findings about one mechanism.

    Attributes
    ----------
    name : str
    epsilon, delta : Fraction
        What the mechanism claims.
    epsilon_lower_bound : float
        No mechanism that produced these runs is (ε', δ)-private for a smaller ε', with confidence
        1 − 5e-7.
    layers : mapping from layer to Verdict

    Examples
    --------
    >>> from fractions import Fraction
    >>> from dp_cmdp.audit.report import LAYERS, MethodAudit, Verdict
    >>> fine = dict.fromkeys(LAYERS, Verdict(True, "nothing found"))
    >>> layers = fine | {"black_box": Verdict(False, "outputs tell the data apart")}
    >>> report = MethodAudit("mine", Fraction(1), Fraction(1, 1000), 2.3, layers)
    >>> report.passed, report.objecting
    (False, ('black_box',))
    """

    name: str
    epsilon: Fraction
    delta: Fraction
    epsilon_lower_bound: float
    layers: Mapping[str, Verdict]

    @property
    def passed(self) -> bool:
        """No layer objects."""
        return all(verdict.passed is not False for verdict in self.layers.values())

    def __bool__(self) -> bool:
        return self.passed

    @property
    def objecting(self) -> tuple[str, ...]:
        """The layers that object, in their order."""
        return tuple(name for name in LAYERS if self.layers[name].passed is False)

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "claimed_epsilon": float(self.epsilon),
            "claimed_delta": float(self.delta),
            "passed": self.passed,
            "epsilon_lower_bound": self.epsilon_lower_bound,
            "layers": {name: self.layers[name].to_dict() for name in LAYERS},
        }


@dataclass(frozen=True, slots=True)
class InjectedBug:
    """A mechanism that was broken on purpose, and who noticed."""

    bug: str
    found: MethodAudit

    @property
    def caught(self) -> bool:
        return not self.found.passed

    def to_dict(self) -> dict[str, Any]:
        objecting = self.found.objecting
        return {
            "bug": self.bug,
            "caught": self.caught,
            "layer": objecting[0] if objecting else None,
            "all_layers": list(objecting),
            "claimed_epsilon": float(self.found.epsilon),
            "claimed_delta": float(self.found.delta),
            "epsilon_lower_bound": self.found.epsilon_lower_bound,
        }


@dataclass(frozen=True, slots=True)
class WorstRecords:
    """One shipped release over all awkward programs.

    Attributes
    ----------
    release : str
    programs, refused, records : int
        Programs planned, programs refused by name before anything is read, records moved.
    uncovered : int
        Records that can move, or were moved, further than the certificate covers.
    reached : int
        Records that were moved by exactly as many integers as are certified.
    closest : float
        The largest share of the certified integers that a record was moved by.
    """

    release: str
    programs: int
    refused: int
    records: int
    uncovered: int
    reached: int
    closest: float

    @property
    def passed(self) -> bool:
        return self.uncovered == 0 and self.records > 0

    def __bool__(self) -> bool:
        return self.passed

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"passed": self.passed}


@dataclass(frozen=True, slots=True)
class AuditReport:
    """The audit of everything shipped, and of bugs that it must see."""

    methods: tuple[MethodAudit, ...]
    injected: tuple[InjectedBug, ...]
    worst: tuple[WorstRecords, ...] = ()

    @property
    def passed(self) -> bool:
        """Every method passed, every bug was caught and every record is covered."""
        return (
            all(method.passed for method in self.methods)
            and all(bug.caught for bug in self.injected)
            and all(row.passed for row in self.worst)
        )

    def __bool__(self) -> bool:
        return self.passed

    def to_dict(self) -> dict[str, Any]:
        return {
            "passed": self.passed,
            "false_alarm_per_method": FALSE_ALARM,
            "false_alarm_of_the_run": FALSE_ALARM * len(self.methods),
            "methods": [method.to_dict() for method in self.methods],
            "injected": [bug.to_dict() for bug in self.injected],
            "worst_records": [row.to_dict() for row in self.worst],
        }
