"""What to measure: a strategy is a list of steps, each a share of the budget and a proposal.

A proposal is public: it sees the problem, the release so far and its part of the budget, and names
a measurement, or None where nothing is worth one. Adaptive composition adds the parts up.

Which linear queries to measure, proposed from public data.

A query is cheap to measure when no entry dominates it. Let θ̂ be a public estimate, s the support of
the noise in units of its scale, φ_ik shares of each record's budget (at most 1 together over its
pairs of row i and entry k), and m a *safety* factor. The problem's robust answer over the
hypothetical set

    { θ : θ between θ̂ and its worst end,   Σ_k φ_ik |θ_k − θ̂_k| / Δ_k ≤ m s  for every row i }

says what to measure. The multipliers λ_ij by which row i is proved from these inequalities sum to
the scale t_i of its query, and the weights are those of the answer, capped by what the multipliers
pay for: W_ik = sign(w_ik) min(|w_ik|, Σ_j λ_ij φ_jk/Δ_k). What exceeds the cap pays its own worst
case, so a row pays for the m·s largest of its entries (the budgeted uncertainty of Bertsimas and
Sim 2004). The set is inside the known one, so the answer exists whenever the robust one does.
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
from dp_cmdp._src.base.errors import (
    InvalidArgumentError,
    InvalidTypeError,
    RefusedError,
    SolverError,
)
from dp_cmdp._src.base.validation import FloatArray
from dp_cmdp._src.data.envelope import Envelope, UncertaintySet
from dp_cmdp._src.noise.laws import Laplace, Sensitivity, half_width
from dp_cmdp._src.noise.one_sided import OneSided
from dp_cmdp._src.program.answer import Answer, Problem
from dp_cmdp._src.release.belief import (
    NOTHING_KNOWN,
    Prior,
    believed,
    helping,
    objective_entries,
)
from dp_cmdp._src.release.measurement import LargestQuery, Measurement, Query
from dp_cmdp._src.release.release import Release

#: Weights below this share of the largest of their query are left to the bounds.
UNSEEN = 1e-9
#: Share of a record's budget that a pair which a proposal did not use keeps in the next one.
KEPT = 0.01
#: Lattice steps that one record moves a query by, in bits.
QUERY_BITS = 34


@dataclass(frozen=True, eq=False)
class Proposal:
    """Weights (rows × entries), the scale of each row's noise, and the answer they are for."""

    weights: sparse.csr_array
    scale: FloatArray
    answer: Answer

    def integers(self, envelope: Envelope) -> sparse.csr_array:
        """Weights of lattice cells, rounded towards 0: the bounds take what is rounded off."""
        W = self.weights.tocoo()
        unit = self.scale[W.row] / (envelope.step[W.col] * 2.0**QUERY_BITS)
        whole = np.trunc(np.divide(W.data, unit, np.zeros(W.nnz), where=unit > 0.0))
        keep = np.isfinite(whole) & (np.abs(whole) < 2.0**62) & (whole != 0.0)
        found = sparse.csr_array(
            (whole[keep].astype(np.int64), (W.row[keep], W.col[keep])), W.shape
        )
        return sparse.csr_array(found[np.diff(found.indptr) > 0])


class _Pairs:
    """Pairs of a row and an entry that it reads, and the records that own the entry.

    With `alone`, a record's budget is counted row by row, as the largest of several queries costs
    it.
    """

    def __init__(self, problem: Problem, alone: bool) -> None:
        envelope, signs = problem.envelope, problem.signs.tocoo()
        use = (envelope.radius[signs.col] > 0.0) & (signs.data != 0)
        self.row, self.entry = signs.row[use].astype(np.int64), signs.col[use].astype(np.int64)
        self.sign, self.shape = signs.data[use].astype(np.float64), signs.shape
        self.radius = envelope.radius[self.entry]
        self.most = envelope.entries_per_record
        owners = sparse.csc_array(envelope.change)
        count = np.diff(owners.indptr)[self.entry]
        self.pair = np.repeat(np.arange(self.entry.size), count)
        place = np.arange(self.pair.size) - np.repeat(np.cumsum(count) - count, count)
        owner = owners.indices[owners.indptr[self.entry][self.pair] + place].astype(np.int64)
        key = self.row[self.pair] * owners.shape[0] + owner if alone else owner
        self.group = np.unique(key, return_inverse=True)[1]
        meets = np.unique(owner * max(self.shape[0], 1) + self.row[self.pair])
        met = np.bincount(meets // max(self.shape[0], 1), minlength=1)
        #: Whether a record moves one measured integer at most, whatever rows are measured.
        self.single = alone or met.max() <= 1

    def heaviest(self, load: FloatArray) -> FloatArray:
        """Per pair, the most that a record which owns its entry is loaded with."""
        loads = load[self.pair]
        if self.most is None:
            total = np.bincount(self.group, weights=loads)
        else:
            total = self._worst_entries(loads, self.most)
        found = np.zeros(self.row.size)
        np.maximum.at(found, self.pair, total[self.group])
        return found

    def _worst_entries(self, loads: FloatArray, most: int) -> FloatArray:
        """Per record, the sum over the `most` entries that load it most."""
        key = self.group * self.shape[1] + self.entry[self.pair]
        unique, where = np.unique(key, return_inverse=True)
        per_entry = np.bincount(where, weights=loads)
        group = unique // self.shape[1]
        order = np.lexsort((-per_entry, group))
        start = np.searchsorted(group[order], group[order])
        first = np.arange(order.size) - start < most
        chosen = order[first]
        return np.bincount(group[chosen], weights=per_entry[chosen]).astype(float)

    def propose(
        self,
        problem: Problem,
        known: UncertaintySet,
        estimate: FloatArray,
        payment: float,
        previous: Proposal | None,
    ) -> Proposal:
        """The answer over the hypothetical set, and what its multipliers pay for."""
        share = self.shares(previous) / self.radius
        W = sparse.csr_array((self.sign * share, (self.row, self.entry)), self.shape)
        harmful, helpful = np.zeros((2, self.shape[1]), dtype=bool)
        harmful[self.entry[self.sign > 0]] = True
        helpful[self.entry[self.sign < 0]] = True
        lower = np.where(harmful & ~helpful, estimate, known.lower)
        upper = np.where(helpful & ~harmful, estimate, known.upper)
        hypothetical = UncertaintySet(lower, upper, W, W @ estimate + payment)
        start = None if previous is None else previous.answer
        answer = problem.answer(hypothetical, estimate, start=start, certify=False)
        prices = answer.multipliers.maximum(0.0)
        scale = np.asarray(prices.sum(axis=1), dtype=float).ravel()
        cap = _at(sparse.csr_array(prices @ W), self.row, self.entry)
        wanted = _at(answer.weights, self.row, self.entry)
        weight = np.minimum(np.abs(wanted), np.abs(cap))
        weight = np.where(np.sign(wanted) == self.sign, self.sign * weight, 0.0)
        # without negligible weights; scales as small as the records that meet them allow
        largest, tightest = np.zeros((2, scale.size))
        np.maximum.at(largest, self.row, np.abs(weight))
        keep = (np.abs(weight) > UNSEEN * largest[self.row]) & (scale[self.row] > 0.0)
        load = np.zeros(weight.size)
        load[keep] = np.abs(weight[keep]) * self.radius[keep] / scale[self.row[keep]]
        np.maximum.at(tightest, self.row[keep], self.heaviest(load)[keep])
        kept = sparse.csr_array((weight[keep], (self.row[keep], self.entry[keep])), self.shape)
        return Proposal(kept, scale * tightest, answer)

    def shares(self, previous: Proposal | None) -> FloatArray:
        """φ of every pair: equal parts of a record's budget, or as the last proposal used it."""
        used = np.ones(self.row.size)
        if previous is not None:
            load = np.abs(_at(previous.weights, self.row, self.entry)) * self.radius
            scale = previous.scale[self.row]
            used = KEPT * used / self.heaviest(used)
            used += np.divide(load, scale, np.zeros_like(load), where=scale > 0.0)
        return used / self.heaviest(used)


def _at(matrix: sparse.csr_array, row: Any, column: Any) -> FloatArray:
    """The numbers of a matrix at given places."""
    if not row.size:
        return np.empty(0)
    return np.asarray(matrix[row, column], dtype=np.float64).ravel()


#: Lattice steps that one record moves an entry by, in bits.
ENTRY_BITS = 27
#: One-sided noise of a smaller ε is within 1 % of truncated Laplace noise.
WORTH_A_TABLE = Fraction(1, 8)
#: Where e^ε/δ is larger, its program may be too badly scaled: ε = 10, δ = 1e-8 takes 40 s.
BADLY_SCALED = 1e11

#: Of δ, for the entries, where queries are measured after them: they can do with wide noise, while
#: queries pay for theirs in every row (5 to 13 % less loss than a share like that of ε).
ENTRIES_DELTA = Fraction(1, 20)

#: Laws by the names that strategies have for them.
LAWS: dict[Any, Any] = {"auto": None, "laplace": Laplace, "one-sided": OneSided}
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

    def __init__(self, propose: Propose, *, epsilon: Number = 1, delta: Number = 1) -> None:
        if not callable(propose):
            raise InvalidTypeError(f"propose must be a function, got {type(propose).__name__}")
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
        """The step's share of a budget, exactly.

        Parameters
        ----------
        budget : PrivacyBudget
            That of the whole strategy.

        Returns
        -------
        PrivacyBudget
            What this step may spend.
        """
        return PrivacyBudget(self.epsilon * budget.epsilon, self.delta * budget.delta)

    def document(self) -> dict[str, Any]:
        """The step's shares and options as JSON, without public prior numbers.

        Returns
        -------
        dict
            Texts, numbers and arrays, without objects of this package.
        """
        shares = {"epsilon": str(self.epsilon), "delta": str(self.delta)}
        return _said(self.propose) | shares

    @property
    def believes(self) -> bool:
        """Whether its proposal is for a problem, around a belief."""
        return isinstance(getattr(self.propose, "prior", None), Prior)


def _said(propose: Any) -> dict[str, Any]:
    """A proposal and its options as JSON, without public prior numbers."""
    name = getattr(propose, "__qualname__", type(propose).__name__)
    if not is_dataclass(propose):
        return {"propose": name}
    said: dict[str, Any] = {"propose": name, "prior": False}
    for field in fields(propose):
        option = getattr(propose, field.name)
        if field.name == "prior":
            said["prior"] = option is not None and option.values is not None
        elif isinstance(option, str | int | float):
            said[field.name] = option
        elif isinstance(option, tuple):
            said[field.name] = list(map(_said, option))
        else:
            said[field.name] = getattr(option, "__name__", "own")
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
        As it appears in tables and files.

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

    def __init__(self, *steps: Step, name: str) -> None:
        if not steps:
            raise InvalidArgumentError("steps must not be empty: give at least one Step")
        epsilon = delta = Fraction(0)
        for step in steps:
            if not isinstance(step, Step):
                raise InvalidTypeError(f"steps must be of Step, got {type(step).__name__}")
            epsilon, delta = epsilon + step.epsilon, delta + step.delta
        check.text("name", name)
        for of, total in (("epsilon", epsilon), ("delta", delta)):
            if total > 1:
                raise InvalidArgumentError(
                    f"the steps' shares of {of} must sum to at most 1; they sum to {total}. Lower "
                    "them, for example Step(propose, epsilon='1/2', delta='1/2')"
                )
        object.__setattr__(self, "steps", tuple(steps))
        object.__setattr__(self, "name", name)

    @classmethod
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
    def queries(
        cls, *, share: Number = "7/20", safety: float = 1.25, shift: float = 0.5, law: Any = "auto"
    ) -> Strategy:
        """A share of the budget for the entries, the rest for linear queries proposed from them.

        Parameters
        ----------
        share : number in [0, 1]
            Of ε, for the entries, with a twentieth of δ; 1 is :meth:`entries`.
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
    def worst_row(
        cls, *, share: Number = "7/20", safety: float = 1.25, shift: float = 0.5, law: Any = "auto"
    ) -> Strategy:
        """As :meth:`queries`, with one noise for all rows: their largest excess over a belief.

        Parameters
        ----------
        share : number or text
            As in :meth:`queries`.
        safety, shift : float
            As in :meth:`queries`.
        law : law or {"auto", "laplace", "one-sided"}
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
    def best_queries(cls, *, share: Number = "7/20", law: Any = "auto") -> Strategy:
        """As :meth:`queries` or :meth:`worst_row`, whichever suits the entries when they are known.

        Kind, safety and shift are those that lose least in simulations on databases drawn from
        what is believed after the entries were measured.

        Parameters
        ----------
        share : number in (0, 1)
            Of ε, for the entries, with a twentieth of δ.
        law : {"auto", "laplace", "one-sided"} or Law
            Of the entries.

        Returns
        -------
        Strategy

        Raises
        ------
        InvalidArgumentError
            `share` is outside (0, 1).

        Examples
        --------
        >>> import dp_cmdp as dp
        >>> dp.Strategy.best_queries(share="1/4")
        Strategy('best queries(share=1/4)': 2 steps)
        """
        from dp_cmdp._src.release.choose import BestQueries  # which simulates strategies

        part = exact("share", share)
        if not 0 < part < 1:
            raise InvalidArgumentError(
                f"share must lie in (0, 1): queries are chosen after the entries; got {share}"
            )
        steps = first_entries(part, BestQueries(), law=_law(law))
        return cls(*steps, name=f"best queries(share={part})")

    @classmethod
    def _two(
        cls, kind: type[LinearQueries], share: Number, safety: float, shift: float, law: Any
    ) -> Strategy:
        """A part of the budget for the entries, the rest for queries; no step without a part."""
        part = exact("share", share)
        if not 0 <= part <= 1:
            raise InvalidArgumentError(
                f"share must lie in [0, 1], it is the entries' part of the budget; got {share}"
            )
        safety = check.real("safety", safety, low=0.0, high=100.0)
        shift = check.real("shift", shift, low=0.0, high=100.0)
        steps = first_entries(part, kind(safety, shift, _law(law)), law=law)
        return cls(*steps, name=f"{kind.word}(share={part}, safety={safety:g}, shift={shift:g})")

    @classmethod
    def named(cls, name: str) -> Strategy:
        """One of the strategies with a name, but "auto".

        Parameters
        ----------
        name : {"entries", "queries", "worst row"}
            Which one.

        Returns
        -------
        Strategy
            With its default settings.
        """
        return {"entries": cls.entries, "queries": cls.queries, "worst row": cls.worst_row}[name]()

    def given(self, prior: Prior) -> Strategy:
        """The same strategy, whose own proposals believe in `prior`.

        Parameters
        ----------
        prior : Prior
            What is believed of the private numbers.

        Returns
        -------
        Strategy
            With the same name.
        """
        steps = list(self.steps)
        for place, step in enumerate(steps):
            if step.believes:
                believing: Any = step.propose
                steps[place] = replace(step, propose=replace(believing, prior=prior))
        return Strategy(*steps, name=self.name)

    def document(self, budget: PrivacyBudget) -> dict[str, Any]:
        """The strategy and what it spends as JSON, for the files of its releases.

        Parameters
        ----------
        budget : PrivacyBudget
            That of the whole strategy.

        Returns
        -------
        dict
            Texts, numbers and arrays, without objects of this package.
        """
        spent = {"epsilon": str(budget.epsilon), "delta": str(budget.delta)}
        return {"name": self.name, "steps": list(map(Step.document, self.steps))} | spent

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        count = len(self.steps)
        return f"Strategy({self.name!r}: {count} step{'' if count == 1 else 's'})"


def first_entries(share: Fraction, then: Propose, *, law: Any = "auto") -> list[Step]:
    """Entries with a share of ε, then a proposal with the rest; no step without a part."""
    if share in (0, 1):
        return [Step(Entries(law) if share else then)]
    return [
        Step(Entries(law), epsilon=share, delta=ENTRIES_DELTA),
        Step(then, epsilon=1 - share, delta=1 - ENTRIES_DELTA),
    ]


def _law(law: Any) -> Any:
    if (isinstance(law, str) and law in LAWS) or hasattr(law, "calibrate"):
        return law
    kind = InvalidArgumentError if isinstance(law, str) else InvalidTypeError
    raise kind("law must be 'auto', 'laplace', 'one-sided' or a class with calibrate and delta")


@dataclass(frozen=True)
class Entries:
    """Every entry by itself, weighted so that a record moves each by as many integers."""

    law: Any = "auto"

    def __call__(
        self, problem: Problem, release: Release, budget: PrivacyBudget
    ) -> Measurement | None:
        envelope = problem.envelope
        if not envelope.size:
            return None
        moves = envelope.moves.max(axis=0).toarray().ravel()
        entry = np.flatnonzero(moves)
        if not entry.size:
            return None
        weight = np.maximum((1 << ENTRY_BITS) // moves[entry], 1)
        weight[helping(problem)[entry]] *= -1  # one-sided noise is tight at the sign of the weight
        place = np.arange(entry.size), entry
        query = Query(envelope, sparse.csr_array((weight, place), (entry.size, envelope.size)))
        one_end = not objective_entries(problem).size and bool(problem.signs.nnz)
        law = _suited(self.law, budget, one_end and query.sensitivity().count == 1)
        return Measurement(query, law, budget, name="entries")


def _suited(law: Any, budget: PrivacyBudget, single: bool) -> Any:
    """The law asked for; else one-sided noise where it gains: one end matters, one integer moves.

    Its table must be worth making, and its program well enough scaled.
    """
    if law != "auto":
        return LAWS.get(law, law)
    scaled = float(budget.epsilon) - math.log(float(budget.delta)) <= math.log(BADLY_SCALED)
    return OneSided if single and scaled and budget.epsilon >= WORTH_A_TABLE else Laplace


def _margin(law: Any, budget: PrivacyBudget) -> float:
    """How far a query's certain bound is above it in the mean, in units of its scale."""
    if law is not OneSided:
        return half_width(1, 1, budget.epsilon, budget.delta)
    unit = 1 << QUERY_BITS
    return OneSided.calibrate(Sensitivity(unit, unit**2, unit, 1), budget).mean / unit


@dataclass(frozen=True)
class LinearQueries:
    """One linear query per row, where no entry dominates it."""

    safety: float = 1.25
    shift: float = 0.5
    law: Any = "auto"
    prior: Prior = NOTHING_KNOWN
    passes: int = 2

    word: ClassVar[str] = "queries"
    #: Whether one noise serves all rows.
    alone: ClassVar[bool] = False

    def __call__(
        self, problem: Problem, release: Release, budget: PrivacyBudget
    ) -> Measurement | None:
        found = self.proposal(problem, release, budget)
        weights = None if found is None else found.integers(problem.envelope)
        if weights is None or not weights.nnz:
            return None
        query = Query(problem.envelope, weights)
        if self.alone:
            belief, _ = believed(problem, release, self.prior).moments()
            query = LargestQuery(problem.envelope, weights, tuple(query.true_integers(belief)))
        law = _suited(self.law, budget, query.sensitivity().count == 1)
        return Measurement(query, law, budget, name=self.word)

    def proposal(
        self, problem: Problem, release: Release, budget: PrivacyBudget
    ) -> Proposal | None:
        """The queries worth measuring around a belief; None where there is nothing to measure.

        A second pass looks at queries that lie `shift` standard deviations higher than believed.
        """
        belief, pairs = believed(problem, release, self.prior), _Pairs(problem, self.alone)
        mean, variance = belief.moments()
        found, estimate = None, mean
        law = _suited(self.law, budget, pairs.single)
        payment = self.safety * _margin(law, budget)
        try:
            for _ in range(self.passes):
                found = pairs.propose(problem, release.uncertainty, estimate, payment, found)
                if not found.weights.nnz:
                    return None
                deviation = np.sqrt(found.weights.power(2) @ variance)
                none = np.zeros_like(deviation)
                rows = np.divide(self.shift, deviation, none, where=deviation > 0.0)
                moved = mean + variance * (found.weights.T @ rows)
                estimate = np.clip(moved, belief.lower, belief.lower + belief.width)
        except (SolverError, RefusedError, InvalidArgumentError):  # no answer that floats hold
            pass
        return found


@dataclass(frozen=True)
class WorstRow(LinearQueries):
    """One integer: how far the worst row is beyond what is believed. One noise proves all rows."""

    word: ClassVar[str] = "worst row"
    alone: ClassVar[bool] = True
