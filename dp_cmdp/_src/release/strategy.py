"""What to measure: a strategy is a list of steps, each a share of the budget and a proposal.

A proposal is public: it sees the problem, the release so far and its part of the budget, and names
a measurement, or None where nothing is worth one. Adaptive composition adds the parts up.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from dp_cmdp._src.accounting.budget import Number, PrivacyBudget, exact
from dp_cmdp._src.base import validation as check
from dp_cmdp._src.base.errors import InvalidArgumentError, InvalidTypeError
from dp_cmdp._src.base.validation import validated
from dp_cmdp._src.noise.laws import Laplace
from dp_cmdp._src.noise.one_sided import OneSided
from dp_cmdp._src.program.answer import Problem
from dp_cmdp._src.release.belief import (
    NOTHING_KNOWN,
    Prior,
    believed,
    helping,
    objective_entries,
)
from dp_cmdp._src.release.measurement import LargestQuery, Measurement, Query
from dp_cmdp._src.release.proposal import Proposal, propose
from dp_cmdp._src.release.release import Release

#: Lattice steps that one record moves an entry by, in bits.
ENTRY_BITS = 27
#: One-sided noise of a smaller ε is within 1 % of truncated Laplace noise.
WORTH_A_TABLE = Fraction(1, 8)
#: Where e^ε/δ is larger, its program may be too badly scaled: ε = 10, δ = 1e-8 takes 40 s.
BADLY_SCALED = 1e11

#: Laws by the names that strategies have for them.
LAWS: dict[Any, Any] = {"auto": Laplace, "laplace": Laplace, "one-sided": OneSided}
#: (problem, release so far, part of the budget) → what to measure; None: nothing is worth it.
Propose = Callable[[Problem, Release, PrivacyBudget], Measurement | None]


@dataclass(frozen=True)
class Step:
    """A proposal and its shares of ε and δ.

    Parameters
    ----------
    propose : callable
        From (problem, release, budget) to a :class:`~dp_cmdp.extend.Measurement`, or None where
        nothing is worth measuring. It is public: `release` holds what earlier steps published.
    epsilon, delta : number in (0, 1]
        The step's shares of the budget; those of all steps sum to at most 1.

    Raises
    ------
    InvalidArgumentError
        A share is outside (0, 1], or `propose` cannot be called.

    Notes
    -----
    **Privacy.** *Public*.

    Examples
    --------
    >>> from dp_cmdp.extend import Step
    >>> Step(lambda problem, release, budget: None, epsilon="1/2", delta="1/2").epsilon
    Fraction(1, 2)
    """

    propose: Propose
    epsilon: Fraction
    delta: Fraction

    @validated
    def __init__(self, propose: Callable, *, epsilon: Number = 1, delta: Number = 1) -> None:
        object.__setattr__(self, "propose", propose)
        for name, value in (("epsilon", epsilon), ("delta", delta)):
            share = exact(name, value)
            if not 0 < share <= 1:
                raise InvalidArgumentError(
                    f"{name} must lie in (0, 1], it is the step's share of the budget; got "
                    f"{float(share):g}. Write 1 for all of it"
                )
            object.__setattr__(self, name, share)

    def part(self, budget: PrivacyBudget) -> PrivacyBudget:
        return PrivacyBudget(self.epsilon * budget.epsilon, self.delta * budget.delta)

    def document(self) -> dict[str, Any]:
        """Its shares and options as JSON, without public prior numbers."""
        name = getattr(self.propose, "__qualname__", type(self.propose).__name__)
        said: dict[str, Any] = {
            "propose": name, "epsilon": str(self.epsilon), "delta": str(self.delta)
        }  # fmt: skip
        for field in fields(self.propose) if is_dataclass(self.propose) else ():
            option = getattr(self.propose, field.name)
            if field.name == "prior":
                said["prior"] = option is not None and option.values is not None
            elif isinstance(option, str | int | float):
                said[field.name] = option
            else:
                said[field.name] = getattr(option, "__name__", "own")
        if is_dataclass(self.propose):
            said.setdefault("prior", False)
        return said


@dataclass(frozen=True)
class Strategy:
    """What to measure with a budget, step by step.

    Wherever a strategy is asked for, the names ``"auto"`` (chosen by simulation), ``"entries"``,
    ``"queries"`` and ``"worst row"`` do too.

    Parameters
    ----------
    *steps : Step
        Their shares of ε sum to at most 1, and so do those of δ.
    name : str

    Raises
    ------
    InvalidArgumentError
        There is no step, or the shares sum to more than 1.

    Notes
    -----
    **Privacy.** *Public*.

    Examples
    --------
    >>> import dp_cmdp as dp
    >>> dp.Strategy.entries()
    Strategy('entries': 1 step)
    >>> dp.Strategy.queries(share="1/4")
    Strategy('queries(share=1/4, safety=1.25, shift=0.5)': 2 steps)
    """

    steps: tuple[Step, ...]
    name: str

    NAMES: ClassVar[tuple[str, ...]] = ("auto", "entries", "queries", "worst row")

    @validated
    def __init__(self, *steps: Step, name: str) -> None:
        if not steps:
            raise InvalidArgumentError("steps must not be empty: give at least one Step")
        epsilon = delta = Fraction(0)
        for step in steps:
            epsilon, delta = epsilon + step.epsilon, delta + step.delta
        for of, total in (("epsilon", epsilon), ("delta", delta)):
            if total > 1:
                raise InvalidArgumentError(
                    f"the steps' shares of {of} must sum to at most 1; they sum to {total}. Lower "
                    "them, for example Step(propose, epsilon='1/2', delta='1/2')"
                )
        object.__setattr__(self, "steps", tuple(steps))
        object.__setattr__(self, "name", name)

    @classmethod
    @validated
    def entries(cls, *, law: Any = "auto") -> Strategy:
        """Every entry by itself, with the whole budget.

        Parameters
        ----------
        law : {"auto", "laplace", "one-sided"} or Law
            ``"auto"``: one-sided noise where one end of the intervals matters only and a record is
            one entry, else truncated Laplace noise.

        Returns
        -------
        Strategy

        Examples
        --------
        >>> import dp_cmdp as dp
        >>> len(dp.Strategy.entries(law="laplace").steps)
        1
        """
        return cls(Step(Entries(_law(law))), name="entries")

    @classmethod
    @validated
    def queries(
        cls, *, share: Number = "7/20", safety: float = 1.25, shift: float = 0.5, law: Any = "auto"
    ) -> Strategy:
        """A share of the budget for the entries, the rest for linear queries proposed from them.

        Parameters
        ----------
        share : number in [0, 1]
            Of ε and δ, for the entries; 1 is :meth:`entries`.
        safety : float
            How many supports of the noise the proposed answer can pay.
        shift : float
            The proposal is repeated for queries that lie so many standard deviations higher than
            believed.
        law : {"auto", "laplace", "one-sided"} or Law

        Returns
        -------
        Strategy

        Raises
        ------
        InvalidArgumentError
            `share` is outside [0, 1], or another argument outside [0, 100].

        Examples
        --------
        >>> import dp_cmdp as dp
        >>> [str(step.epsilon) for step in dp.Strategy.queries(share="1/4").steps]
        ['1/4', '3/4']
        """
        return cls._two(LinearQueries, share, safety, shift, law)

    @classmethod
    @validated
    def worst_row(
        cls, *, share: Number = "7/20", safety: float = 1.25, shift: float = 0.5, law: Any = "auto"
    ) -> Strategy:
        """As :meth:`queries`, with one noise for all rows: their largest excess over a belief.

        Parameters
        ----------
        share, safety, shift, law
            As in :meth:`queries`.

        Returns
        -------
        Strategy

        Examples
        --------
        >>> import dp_cmdp as dp
        >>> dp.Strategy.worst_row().name
        'worst row(share=7/20, safety=1.25, shift=0.5)'
        """
        return cls._two(WorstRow, share, safety, shift, law)

    @classmethod
    def _two(
        cls, kind: type[LinearQueries], share: Number, safety: float, shift: float, law: Any
    ) -> Strategy:
        part = exact("share", share)
        if not 0 <= part <= 1:
            raise InvalidArgumentError(
                f"share must lie in [0, 1], it is the entries' part of the budget; got {share}"
            )
        noise, rest = _law(law), 1 - part
        safety = check.real("safety", safety, low=0.0, high=100.0)
        shift = check.real("shift", shift, low=0.0, high=100.0)
        steps = []
        for own, each in ((Entries(noise), part), (kind(safety, shift, noise), rest)):
            if each:
                steps.append(Step(own, epsilon=each, delta=each))
        return cls(*steps, name=f"{kind.word}(share={part}, safety={safety:g}, shift={shift:g})")

    @classmethod
    def named(cls, name: str) -> Strategy:
        """One of the strategies with a name, but "auto"."""
        return {"entries": cls.entries, "queries": cls.queries, "worst row": cls.worst_row}[name]()

    def given(self, prior: Prior) -> Strategy:
        """The same strategy, whose own proposals believe in `prior`."""
        steps = list(self.steps)
        for place, step in enumerate(steps):
            if isinstance(step.propose, LinearQueries):
                steps[place] = replace(step, propose=replace(step.propose, prior=prior))
        return Strategy(*steps, name=self.name)

    def document(self) -> dict[str, Any]:
        """The strategy as JSON, for the files of its releases."""
        return {"name": self.name, "steps": list(map(Step.document, self.steps))}

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        count = len(self.steps)
        return f"Strategy({self.name!r}: {count} step{'' if count == 1 else 's'})"


def _law(law: Any) -> Any:
    if isinstance(law, str):
        check.one_of("law", law, ("auto", "laplace", "one-sided"))
    elif not hasattr(law, "calibrate"):
        raise InvalidTypeError(
            "law must be 'auto', 'laplace', 'one-sided' or a class with calibrate and delta; got "
            f"{type(law).__name__}"
        )
    return law


@dataclass(frozen=True)
class Entries:
    """Every entry by itself, weighted so that a record moves each by as many integers."""

    law: Any = "auto"

    def __call__(
        self, problem: Problem, release: Release, budget: PrivacyBudget
    ) -> Measurement | None:
        envelope = problem.envelope
        moves = envelope.moves.max(axis=0).toarray().ravel()
        entry = np.flatnonzero(moves)
        if not entry.size:
            return None
        weight = np.maximum((1 << ENTRY_BITS) // moves[entry], 1)
        weight[helping(problem)[entry]] *= -1  # one-sided noise is tight at the sign of the weight
        place = np.arange(entry.size), entry
        query = Query(envelope, sparse.csr_array((weight, place), (entry.size, envelope.size)))
        law = self.law
        if law == "auto":  # one-sided noise gains where one end matters, and a record is one entry
            scaled = float(budget.epsilon) - math.log(float(budget.delta)) <= math.log(BADLY_SCALED)
            one_end = not objective_entries(problem).size and problem.signs.nnz
            table = one_end and scaled and budget.epsilon >= WORTH_A_TABLE
            law = "one-sided" if table and query.sensitivity().count == 1 else "laplace"
        return Measurement(query, LAWS.get(law, law), budget, name="entries")


@dataclass(frozen=True)
class LinearQueries:
    """One linear query per row, where no entry dominates it."""

    safety: float = 1.25
    shift: float = 0.5
    law: Any = "auto"
    prior: Prior = NOTHING_KNOWN

    word: ClassVar[str] = "queries"
    #: Whether one noise serves all rows.
    alone: ClassVar[bool] = False

    def __call__(
        self, problem: Problem, release: Release, budget: PrivacyBudget
    ) -> Measurement | None:
        found = self.proposal(problem, release, budget)
        return self.measurement(problem, release, budget, found)

    def proposal(
        self, problem: Problem, release: Release, budget: PrivacyBudget
    ) -> Proposal | None:
        """Weights and scales of the queries, and the answer that they would serve."""
        belief = believed(problem, release, self.prior)
        return propose(
            problem,
            release.uncertainty,
            belief,
            budget,
            safety=self.safety,
            shift=self.shift,
            alone=self.alone,
        )

    def measurement(
        self, problem: Problem, release: Release, budget: PrivacyBudget, found: Proposal | None
    ) -> Measurement | None:
        """What the proposal asks for, in integers; None where nothing is left of it."""
        weights = None if found is None else found.integers(problem.envelope)
        if weights is None or not weights.nnz:
            return None
        query = Query(problem.envelope, weights)
        if self.alone:
            belief, _ = believed(problem, release, self.prior).moments()
            query = LargestQuery(problem.envelope, weights, tuple(query.true_integers(belief)))
        return Measurement(query, LAWS.get(self.law, self.law), budget, name=self.word)


@dataclass(frozen=True)
class WorstRow(LinearQueries):
    """One integer: how far the worst row is beyond what is believed. One noise proves all rows."""

    word: ClassVar[str] = "worst row"
    alone: ClassVar[bool] = True


#: What a strategy is chosen from, the plain release of the entries first.
MENU = (
    Strategy.entries(),
    Strategy.queries(share=0),
    Strategy.queries(),
    Strategy.queries(safety=1.5, shift=1.0),
    Strategy.queries(share="13/20", safety=1.5, shift=1.0),
)
#: What it is chosen from where solves are long.
SHORT_MENU = (MENU[0], MENU[1], MENU[2], MENU[4])
