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
        name = getattr(self.propose, "__qualname__", type(self.propose).__name__)
        said: dict[str, Any] = {
            "propose": name, "epsilon": str(self.epsilon), "delta": str(self.delta)
        }  # fmt: skip
        if is_dataclass(self.propose):
            options = {f.name: getattr(self.propose, f.name) for f in fields(self.propose)}
            prior = options.pop("prior", None)
            said |= {key: _plain(value) for key, value in options.items()}
            said["prior"] = prior is not None and prior.values is not None
        return said


def _plain(option: Any) -> Any:
    return option if isinstance(option, str | int | float) else getattr(option, "__name__", "own")


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
        for of in ("epsilon", "delta"):
            total = sum((getattr(step, of) for step in steps), Fraction(0))
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
        proposals = ((Entries(noise), part), (kind(safety, shift, noise), rest))
        steps = (Step(propose, epsilon=each, delta=each) for propose, each in proposals if each)
        return cls(*steps, name=f"{kind.word}(share={part}, safety={safety:g}, shift={shift:g})")

    @classmethod
    def named(cls, name: str) -> Strategy:
        """One of the strategies with a name, but "auto"."""
        return {"entries": cls.entries, "queries": cls.queries, "worst row": cls.worst_row}[name]()

    def given(self, prior: Prior) -> Strategy:
        """The same strategy, whose own proposals believe in `prior`."""
        steps = [
            replace(step, propose=replace(step.propose, prior=prior))
            if isinstance(step.propose, LinearQueries)
            else step
            for step in self.steps
        ]
        return Strategy(*steps, name=self.name)

    def document(self) -> dict[str, Any]:
        """The strategy as JSON, for the files of its releases."""
        return {"name": self.name, "steps": [step.document() for step in self.steps]}

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
        if law == "auto" and _one_sided_pays(problem, query, budget):
            law = "one-sided"
        return Measurement(query, _class(law), budget, name="entries")


def _one_sided_pays(problem: Problem, query: Query, budget: PrivacyBudget) -> bool:
    """Whether one-sided noise can gain: one end matters only, and a record moves one entry."""
    scaled = float(budget.epsilon) - math.log(float(budget.delta)) <= math.log(BADLY_SCALED)
    one_end = not objective_entries(problem).size and bool(problem.signs.nnz)
    return one_end and scaled and budget.epsilon >= WORTH_A_TABLE and query.sensitivity().count == 1


def _class(law: Any) -> Any:
    if not isinstance(law, str):
        return law
    return OneSided if law == "one-sided" else Laplace


@dataclass(frozen=True)
class LinearQueries:
    """One linear query per row, where no entry dominates it."""

    safety: float = 1.25
    shift: float = 0.5
    law: Any = "auto"
    prior: Prior = NOTHING_KNOWN

    word: ClassVar[str] = "queries"

    def __call__(
        self, problem: Problem, release: Release, budget: PrivacyBudget
    ) -> Measurement | None:
        return self.measurement(problem, self.proposal(problem, release, budget), release, budget)

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
            alone=isinstance(self, WorstRow),
        )

    def measurement(
        self, problem: Problem, found: Proposal | None, release: Release, budget: PrivacyBudget
    ) -> Measurement | None:
        """What the proposal asks for, in integers; None where nothing is left of it."""
        weights = None if found is None else found.integers(problem.envelope)
        if weights is None or not weights.nnz:
            return None
        query = self._query(problem, weights, release)
        return Measurement(query, _class(self.law), budget, name=self.word)

    def _query(self, problem: Problem, weights: sparse.csr_array, release: Release) -> Query:
        return Query(problem.envelope, weights)


@dataclass(frozen=True)
class WorstRow(LinearQueries):
    """One integer: how far the worst row is beyond what is believed. One noise proves all rows."""

    word: ClassVar[str] = "worst row"

    def _query(self, problem: Problem, weights: sparse.csr_array, release: Release) -> Query:
        belief = believed(problem, release, self.prior).mean
        centres = Query(problem.envelope, weights).true_integers(belief)
        return LargestQuery(problem.envelope, weights, tuple(centres))


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
