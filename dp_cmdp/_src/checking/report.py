"""What was checked, one finding per claim: a :class:`Report` is true if nothing failed."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any

from dp_cmdp._src.base.extras import lazily

if TYPE_CHECKING:
    import pandas as pd

#: Characters per line of a printed report.
WIDTH = 100
OUTCOMES = {True: "proved", False: "FAILED", None: "not provable"}


@dataclass(frozen=True, slots=True)
class Finding:
    """A claim about one subject, and the outcome.

    `holds` is None where nothing that was given proves or refutes the claim. Such a finding is
    `open` if something that was not given could: then a report is not true.
    """

    subject: str
    claim: str
    holds: bool | None
    why: str = ""
    word: str | None = None
    open: bool = False
    numbers: Mapping[str, float] = field(default_factory=dict[str, float])

    @property
    def outcome(self) -> str:
        """``proved``, ``FAILED``, ``not provable``, or the finding's own word."""
        return self.word or OUTCOMES[self.holds]

    def to_dict(self) -> dict[str, Any]:
        found = asdict(self)
        del found["word"], found["open"]
        return found | {"outcome": self.outcome, "numbers": dict(self.numbers)}


@dataclass(frozen=True, slots=True, repr=False)
class Report:
    """What was checked: true if every claim that can be judged holds.

    ``print(report)`` shows one line per claim, ``report.to_frame()`` the same as a table.
    """

    findings: tuple[Finding, ...]
    heading: str = ""

    def __bool__(self) -> bool:
        judged = [found.holds for found in self.findings]
        lacking = any(found.open for found in self.findings)
        return True in judged and False not in judged and not lacking

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    @property
    def failed(self) -> tuple[Finding, ...]:
        """The findings that do not hold."""
        return tuple(found for found in self.findings if found.holds is False)

    def __add__(self, other: Report) -> Report:
        return Report(self.findings + other.findings, self.heading or other.heading)

    def __repr__(self) -> str:
        lines = [self.heading] if self.heading else []
        subject = None
        for found in self.findings:
            if found.subject != subject:
                subject = found.subject
                lines.append(subject)
            lines += textwrap.wrap(
                f"{found.outcome}: {found.claim}" + (f" ({found.why})" if found.why else ""),
                WIDTH,
                initial_indent="  ",
                subsequent_indent="      ",
            )
        return "\n".join([*lines, self._summary()])

    def _summary(self) -> str:
        counted: dict[str, int] = {}
        for found in self.findings:
            counted[found.outcome] = counted.get(found.outcome, 0) + 1
        counts = ", ".join(f"{number} {word}" for word, number in counted.items())
        return f"{'all that can be judged holds' if self else 'NOT all holds'}: {counts}"

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>"

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "passed": bool(self),
            "heading": self.heading,
            "findings": [found.to_dict() for found in self.findings],
        }

    def to_frame(self) -> pd.DataFrame:
        """One row per finding."""
        import pandas as pd

        columns = ["subject", "claim", "outcome", "holds", "why"]
        table = [[getattr(found, name) for name in columns] for found in self.findings]
        return pd.DataFrame(table, columns=columns)

    def plot(self) -> Any:
        """A picture of the outcomes, subject by subject (needs matplotlib)."""
        return lazily("dp_cmdp._src.figures.results", "report_figure")(self)
