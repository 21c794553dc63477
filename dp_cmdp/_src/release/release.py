"""What has been published of a database: the only thing that crosses the privacy boundary.

A release is an envelope and the outcomes of measurements. All that follows from it, intervals,
inequalities, estimates and answers, is post-processing. It holds what its guarantee rests on, so
that its file can be judged alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dp_cmdp._src.accounting.budget import NOTHING, PrivacyBudget, shown_up
from dp_cmdp._src.base.errors import InvalidArgumentError, SolverError
from dp_cmdp._src.base.extras import lazily, require
from dp_cmdp._src.base.html import values_table
from dp_cmdp._src.base.saved import Saved
from dp_cmdp._src.base.validation import FloatArray, validated
from dp_cmdp._src.data.envelope import Envelope, UncertaintySet
from dp_cmdp._src.program.rows import check_consistent
from dp_cmdp._src.release.measurement import Outcome

if TYPE_CHECKING:
    import pandas as pd

TABLES = ("entries", "queries")
_KEYS = {"envelope", "simulated", "strategy", "ledger", "outcomes"}


@dataclass(frozen=True, eq=False, repr=False)
class Release(Saved):
    """An envelope and all that was published about one database of it.

    Attributes
    ----------
    envelope : Envelope
    outcomes : tuple of Outcome
        What each measurement published.
    simulated : bool
        Whether noise of a seed was used: such a release is not private.
    strategy_document : mapping or None
        How the measurements were chosen, in words ready for JSON.
    ledger_reference : str or None
        The entry of the ledger that was debited.

    Notes
    -----
    **Privacy.** *Public*: safe to publish, save and pickle.

    Examples
    --------
    >>> import dp_cmdp as dp
    >>> envelope = dp.Envelope(0, 9, radius=0.1, shape=2)
    >>> release = dp.publish(envelope, [3, 5], epsilon=1, delta=1e-3, strategy="entries")
    >>> bool((release.lower <= [3, 5]).all() and ([3, 5] <= release.upper).all())
    True
    """

    envelope: Envelope
    outcomes: tuple[Outcome, ...] = ()
    simulated: bool = False
    strategy_document: Mapping[str, Any] | None = None
    ledger_reference: str | None = None

    _file = "release"

    @cached_property
    def uncertainty(self) -> UncertaintySet:
        """Every database that the release allows; the true one is among them."""
        known = self.envelope.uncertainty
        for outcome in self.outcomes:
            known = known & outcome.inequalities()
        return known

    @cached_property
    def budget(self) -> PrivacyBudget:
        """(ε, δ) of all measurements together."""
        parts = (outcome.measurement.budget for outcome in self.outcomes)
        return sum(parts, NOTHING)

    @property
    def guarantee(self) -> str:
        """What is promised, and under which adjacency, in words."""
        if not self.outcomes:
            return "nothing was read"
        if self.simulated:
            return f"SIMULATED noise of {self.budget}: no privacy"
        pair = f"(ε = {shown_up(self.budget.epsilon)}, δ = {shown_up(self.budget.delta)})"
        return f"{pair}-differential privacy when {_adjacency(self.envelope)}"

    @property
    def lower(self) -> FloatArray:
        """Certain lower bounds of the entries."""
        return self.uncertainty.lower

    @property
    def upper(self) -> FloatArray:
        """Certain upper bounds of the entries."""
        return self.uncertainty.upper

    @cached_property
    def estimate(self) -> FloatArray:
        """Measured entries less the mean of their noise; the middle of the bounds elsewhere."""
        total, precision = np.zeros(self.envelope.size), np.zeros(self.envelope.size)
        for outcome in self.outcomes:
            query, law = outcome.measurement.query, outcome.measurement.law
            if not query.linear:
                continue
            W, lone = query.weights, np.flatnonzero(np.diff(query.weights.indptr) == 1)
            entry, weight = W.indices[W.indptr[lone]], W.data[W.indptr[lone]]
            step = self.envelope.step[entry]
            drawn = np.array(outcome.integers, dtype=object)[lone].astype(np.float64) - law.mean
            certain = (weight / step) ** 2 / max(law.variance, 1e-300)
            np.add.at(total, entry, certain * ((drawn / weight + 0.5) * step))
            np.add.at(precision, entry, certain)
        known = self.uncertainty
        middle = known.lower / 2 + known.upper / 2
        found = np.divide(total, precision, out=middle, where=precision > 0)
        return np.clip(found, known.lower, known.upper)

    @cached_property
    def saturation(self) -> float:
        """Share of the entries of which the release says no more than the envelope."""
        known, envelope = self.uncertainty, self.envelope
        silent = (known.lower <= envelope.lower) & (known.upper >= envelope.upper)
        most = known.W.maximum(0) @ known.upper + known.W.minimum(0) @ known.lower
        told = known.W[np.flatnonzero(known.q < most)]
        silent[told.indices] = False
        return float(silent.mean()) if silent.size else 0.0

    def __add__(self, outcome: Outcome) -> Release:
        """The release with one outcome more."""
        return replace(self, outcomes=(*self.outcomes, outcome))

    def __and__(self, other: Release) -> Release:
        """What two releases of one unchanged database say together; their budgets add up.

        Raises
        ------
        InvalidArgumentError
            If they are of different envelopes or adjacency, or contradict each other: then the
            data changed between them.
        """
        if not isinstance(other, Release):
            return NotImplemented
        if self.envelope != other.envelope:
            differs = self.envelope._difference(other.envelope)
            raise InvalidArgumentError(
                f"releases must be of one envelope: {differs}, so their budgets do not add up"
            )
        references = [
            entry
            for part in (self.ledger_reference, other.ledger_reference)
            for entry in (part or "").split(", ")
            if entry
        ]
        both = Release(
            self.envelope,
            (*self.outcomes, *(new for new in other.outcomes if new not in self.outcomes)),
            self.simulated or other.simulated,
            _joined(self.strategy_document, other.strategy_document),
            ", ".join(dict.fromkeys(references)) or None,
        )
        if is_empty(both.uncertainty):
            raise InvalidArgumentError(
                "releases must be of one unchanged database: no database of the envelope agrees "
                "with both, so the data changed between them; use the later one alone"
            )
        return both

    def document(self) -> dict[str, Any]:
        from dp_cmdp._src.release.documents import outcome_document

        strategy = self.strategy_document
        return {
            "envelope": self.envelope.document(),
            "simulated": self.simulated,
            "strategy": None if strategy is None else dict(strategy),
            "ledger": self.ledger_reference,
            "outcomes": list(map(outcome_document, self.outcomes)),
        }

    @classmethod
    def from_document(cls, said: Mapping[str, Any]) -> Release:
        from dp_cmdp._src.release.documents import outcome_from

        if set(said) != _KEYS or not isinstance(said["simulated"], bool):
            raise InvalidArgumentError("it must hold an envelope, a strategy and outcomes")
        reference = said["ledger"] or ""
        printable = isinstance(reference, str) and reference.isprintable()
        if not printable or not isinstance(said["strategy"], dict | None):
            raise InvalidArgumentError("its strategy and its entry of a ledger must be as written")
        envelope = Envelope.from_document(said["envelope"])
        outcomes = tuple(outcome_from(envelope, part) for part in said["outcomes"])
        made = cls(envelope, outcomes, said["simulated"], said["strategy"], said["ledger"])
        if is_empty(made.uncertainty):
            raise InvalidArgumentError("no database of its envelope allows its integers")
        return made

    @validated
    def to_frame(self, table: str = "entries") -> pd.DataFrame:
        """What was released, with the labels of the envelope.

        Parameters
        ----------
        table : {"entries", "queries"}
            One row per entry: its interval, an estimate, the public bounds. Or one row per measured
            integer: the entries it weighs, the integer, its noise, and what its measurement spent.

        Returns
        -------
        pandas.DataFrame
            Labelled as the envelope is.

        Raises
        ------
        InvalidArgumentError
            If there is no such table.
        """
        require("pandas")
        if table not in TABLES:
            raise InvalidArgumentError(f"table must be one of {TABLES}; got {table[:60]!r}")
        if table == "queries":
            from dp_cmdp._src.release.documents import queries_frame

            return queries_frame(self)
        from dp_cmdp._src.data.frames import entries_frame

        return entries_frame(
            self.envelope,
            {
                "lower": self.lower,
                "estimate": self.estimate,
                "upper": self.upper,
                "public_lower": self.envelope.lower,
                "public_upper": self.envelope.upper,
            },
        )

    @validated
    def plot(self) -> Any:
        """A picture of the intervals within the public bounds, and of the queries.

        Returns
        -------
        matplotlib.figure.Figure
            To be shown, or written by `dp_cmdp.figures.save_figure`.
        """
        return lazily("dp_cmdp._src.figures.release", "release_figure")(self)

    def __repr__(self) -> str:
        names = [outcome.measurement.name or "measurement" for outcome in self.outcomes]
        said = f"{' + '.join(names)} of " if names else ""
        return (
            f"Release({said}{self.envelope.size} entries; {self.guarantee}; "
            f"saturation {self.saturation:.0%})"
        )

    def _repr_html_(self) -> str:
        lines = [
            ("entries", self.envelope.size),
            *(
                (outcome.measurement.name or "measurement", f"{len(outcome.integers)} integers, "
                 f"{outcome.measurement.budget}")
                for outcome in self.outcomes
            ),
            ("guarantee", self.guarantee),
            ("noise", "SIMULATED: not private" if self.simulated else "exact"),
            ("saturation", f"{self.saturation:.0%}"),
        ]  # fmt: skip
        return values_table("Release", lines)


def _adjacency(envelope: Envelope) -> str:
    """Which databases must look alike, in words that promise no more than holds for every entry."""
    whole = (envelope.radius >= envelope.upper - envelope.lower).all()
    far = "over its whole range" if whole else "by at most its radius"
    alone = envelope.changes == "one entry changes"
    return f"{envelope.changes}{' ' if alone else ', each '}{far}"


def is_empty(known: UncertaintySet) -> bool:
    """Whether no database agrees with all bounds and inequalities; True only where it is clear."""
    try:
        check_consistent(known)
    except InvalidArgumentError:
        return True
    except SolverError:
        return False
    return False


def _joined(
    first: Mapping[str, Any] | None, second: Mapping[str, Any] | None
) -> Mapping[str, Any] | None:
    """The strategies of two releases."""
    parts = [part for part in (first, second) if part is not None]
    return {"several": [dict(part) for part in parts]} if parts else None
