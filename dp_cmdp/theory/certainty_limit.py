"""How much any private mechanism must lose on an instance, if its answers are certain.

Let a mechanism be (ε, δ)-private and its answer feasible for the true database with certainty,
whatever that is. On database D it then answers a point infeasible for D′, n changes away, with
probability at most δ_n = δ(e^(nε) − 1)/(e^ε − 1). For neighbours D′_1 … D′_J let S be the set of
those that the answer violates, and V(S) the best value, at D, of answers feasible for D and for
every D′_j, j ∉ S. The answer's value is at most V(S), so

    E[value]  ≤  max{Σ_S p_S V(S) : Σ_S p_S = 1,  Σ_{S∋j} p_S ≤ δ_{n_j} for every j,  p ≥ 0}
              =  min{u + Σ_j δ_{n_j} y_j : u + Σ_{j∈S} y_j ≥ V(S) for every S,  y ≥ 0}.

How the maximum is bounded is in :mod:`dp_cmdp.theory.violated_sets`, how neighbours are chosen in
:mod:`dp_cmdp.theory.neighbours`; the proof is in ``docs/theory.md``.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dp_cmdp import _check
from dp_cmdp import _exact as exact
from dp_cmdp._check import FloatArray
from dp_cmdp._door import door
from dp_cmdp.accounting.budget import PrivacyBudget
from dp_cmdp.cmdp.parametric import ParametricCMDP
from dp_cmdp.data.curator import CuratorOnly
from dp_cmdp.data.database import Database
from dp_cmdp.data.envelope import Envelope
from dp_cmdp.errors import InvalidArgumentError, SolverError
from dp_cmdp.program.certified import solve_certified
from dp_cmdp.program.parametric import ParametricLP
from dp_cmdp.theory.guarded_program import GuardedProgram
from dp_cmdp.theory.neighbours import Neighbour, harmful_neighbour, nearest_rows
from dp_cmdp.theory.public_interval import as_program
from dp_cmdp.theory.violated_sets import largest_mean

#: The most neighbours: the program has one variable per set of them.
MOST_NEIGHBOURS = 12
#: Distances are tried in windows of up to this many; as many windows end near the last distance.
WINDOWS = 3
#: All windows are tried with this many neighbours, and the best ones with all.
SCREENED, REFINED = 5, 4
#: No neighbour is looked for further away.
FURTHEST = 500
#: Where the rows' prices find no neighbour, this many rows are looked at one by one.
ROWS_TRIED = 8
#: Room for rounding in δ_n, relative: exp multiplies the rounding of nε ≤ 709 by as much.
CHANCE_ROOM = 2.0**-40


@dataclass(frozen=True, slots=True)
class CertaintyLimit:
    """What no private mechanism with certain answers can exceed on an instance: *curator only*.

    Attributes
    ----------
    optimum : CuratorOnly
        c(D)ᵀx*, rounded down.
    value : CuratorOnly
        No mechanism's mean value c(D)ᵀx is larger.
    guarded : CuratorOnly
        The best value of answers that are feasible for all neighbours, rounded up: the limit for
        δ → 0 with these neighbours.
    distances : tuple of CuratorOnly
        Changes between the true database and each neighbour; which were chosen depends on it.
    probabilities : tuple of CuratorOnly
        Per neighbour: with what probability an answer may violate it, δ_n.

    Examples
    --------
    >>> from dp_cmdp import Affine, Database, Envelope, ParametricLP, PrivacyBudget
    >>> from dp_cmdp.theory.certainty_limit import certainty_limit
    >>> price = Affine((1, 2), at=([0, 0], [0, 1]), entry=[0, 1])
    >>> envelope = Envelope(1, 2, radius=0.02, shape=2)
    >>> program = ParametricLP(envelope, c=[3, 2], A=price, b=[8], upper=8)
    >>> limit = certainty_limit(program, Database([1.2, 1.1], envelope), PrivacyBudget(1, "1/1000"))
    >>> round(float(limit.loss), 2), round(float(limit.suboptimality_percent), 1)
    (1.72, 8.6)
    """

    optimum: CuratorOnly
    value: CuratorOnly
    guarded: CuratorOnly
    distances: tuple[CuratorOnly, ...]
    probabilities: tuple[CuratorOnly, ...]

    @property
    def loss(self) -> CuratorOnly:
        """No mechanism's mean of c(D)ᵀx* − c(D)ᵀx is smaller."""
        lost = math.nextafter(float(self.optimum) - float(self.value), -math.inf)
        return CuratorOnly(max(lost, 0.0))

    @property
    def suboptimality_percent(self) -> CuratorOnly:
        """The loss in percent of |c(D)ᵀx*|, as studies report it."""
        if float(self.optimum) == 0.0:
            raise InvalidArgumentError("a relative limit has no meaning: the optimum is 0")
        return CuratorOnly(100.0 * float(self.loss) / abs(float(self.optimum)))


@door
def certainty_limit(
    program: ParametricLP | ParametricCMDP,
    database: Database,
    budget: PrivacyBudget,
    *,
    distances: Sequence[int] | None = None,
    neighbours: int = 8,
) -> CertaintyLimit:
    """A bound of the mean value of every private mechanism whose answers are certain.

    Parameters
    ----------
    program : ParametricLP or ParametricCMDP
        Its objective may be private: values are those at the true database.
    database : Database
    budget : PrivacyBudget
    distances : sequence of int, optional
        How many changes away neighbours are looked for, at most 500. By default several windows of
        distances below the first with δ_n ≥ 1 are tried, and the smallest bound is returned.
    neighbours : int
        The most neighbours, 1 to 12. More take longer, and the bound may be smaller.

    Returns
    -------
    CertaintyLimit

    Raises
    ------
    InvalidArgumentError
        The value of the program cannot be bounded because its variables are not.

    Notes
    -----
    ``value`` and ``guarded`` are proved in exact arithmetic. ``optimum`` is the value of a point
    that satisfies inequality rows exactly, and equality rows to 2^-44 of their terms. The limit of
    a larger budget holds for smaller ones too, and the search may find a smaller one there.
    **Paper.** Ours.
    **Privacy.** *Curator only*: it is computed from the true data and must not be published.

    Examples
    --------
    >>> from dp_cmdp import Affine, Database, Envelope, ParametricLP, PrivacyBudget
    >>> from dp_cmdp.theory.certainty_limit import certainty_limit
    >>> price = Affine((1, 2), at=([0, 0], [0, 1]), entry=[0, 1])
    >>> envelope = Envelope(1, 2, radius=0.02, shape=2)
    >>> program = ParametricLP(envelope, c=[3, 2], A=price, b=[8], upper=8)
    >>> database = Database([1.2, 1.1], envelope)
    >>> limit = certainty_limit(program, database, PrivacyBudget(1, "1/1000"))
    >>> round(float(limit.optimum), 2), round(float(limit.value), 2)
    (20.0, 18.28)
    """
    most = _check.integer("neighbours", neighbours, low=1, high=MOST_NEIGHBOURS)
    lp = as_program(program)
    lp.check_owns(database)
    asked = None
    if distances is not None:
        asked = _check.integers("distances", distances, low=1, high=FURTHEST + 1).ravel().tolist()
        if not asked:
            raise InvalidArgumentError("distances must hold at least one number of changes")
    case = _Case(lp, database.values, budget)
    menus = [tuple(asked)] if asked else windows(lp.envelope, budget)
    if len(menus) > REFINED:
        menus.sort(key=lambda menu: case.limit(menu, min(most, SCREENED)).rank)
    found = [case.limit(menu, most) for menu in menus[:REFINED]]
    best = min(found, key=lambda part: part.rank)
    optimum = _optimum(lp, database.values)
    return CertaintyLimit(
        optimum=CuratorOnly(optimum),
        value=CuratorOnly(best.bound),
        guarded=CuratorOnly(best.guarded),
        distances=tuple(CuratorOnly(part.distance) for part in best.neighbours),
        probabilities=tuple(
            CuratorOnly(violation_chance(budget, part.distance)) for part in best.neighbours
        ),
    )


@door
def violation_chance(budget: PrivacyBudget, distance: int) -> float:
    """δ_n: the largest probability of an answer that is infeasible n changes away, rounded up.

    Notes
    -----
    **Paper.** Ours. **Privacy.** *Public*.

    Examples
    --------
    >>> from dp_cmdp import PrivacyBudget
    >>> from dp_cmdp.theory.certainty_limit import violation_chance
    >>> [round(violation_chance(PrivacyBudget(1, "1/1000"), n), 4) for n in (1, 2, 5)]
    [0.001, 0.0037, 0.0858]
    """
    n = _check.size("distance", distance)
    epsilon, delta = float(budget.epsilon), float(budget.delta)
    if n == 0:
        return 0.0
    power = (n - 1) * epsilon
    if power > 700.0:  # δ is at least 1e-300, so the product exceeds 1
        return 1.0
    ratio = math.exp(power) * math.expm1(-n * epsilon) / math.expm1(-epsilon)
    return min(delta * ratio * (1.0 + CHANCE_ROOM), 1.0)


def windows(envelope: Envelope, budget: PrivacyBudget) -> list[tuple[int, ...]]:
    """Distances to look at: up to three in a row, just below the first with δ_n ≥ 1 and nearer."""
    steps = np.ceil((envelope.upper - envelope.lower) / envelope.radius)
    furthest = np.zeros(int(envelope.records.max()) + 1)
    np.maximum.at(furthest, envelope.records, steps)
    last = int(min(furthest.sum(), FURTHEST))
    last = bisect_left(range(1, last + 1), 1.0, key=lambda n: violation_chance(budget, n)) or 1
    ends = {*range(last - WINDOWS + 1, last + 1), last // 2, last // 4}
    spans = {
        (max(end - length + 1, 1), end)
        for end in ends
        if end > 0
        for length in range(1, WINDOWS + 1)
    }
    return [tuple(range(first, end + 1)) for first, end in sorted(spans, reverse=True)]


@dataclass(frozen=True, slots=True)
class _Found:
    """A valid bound and the neighbours it rests on."""

    bound: float
    guarded: float
    neighbours: tuple[Neighbour, ...]

    @property
    def rank(self) -> tuple[float, float]:
        """Smaller is better; among equal bounds the neighbours that ask for more."""
        return self.bound, self.guarded


@dataclass(frozen=True, slots=True, eq=False)
class _Case:
    """One true database, and the budget of the mechanisms."""

    program: ParametricLP
    values: FloatArray
    budget: PrivacyBudget

    def limit(self, distances: Sequence[int], most: int) -> _Found:
        """The bound from up to `most` neighbours, in turn at the given distances."""
        found = self._neighbours(distances, most)
        case = GuardedProgram(self.program, self.values, [part.values for part in found])
        chances = np.array([violation_chance(self.budget, part.distance) for part in found])
        bound, guarded = largest_mean(case, chances)
        return _Found(bound, guarded, tuple(found))

    def _neighbours(self, distances: Sequence[int], most: int) -> list[Neighbour]:
        """Each harms the best answer for those before it."""
        found: list[Neighbour] = []
        case = GuardedProgram(self.program, self.values, [])
        best, idle, turn = case.solve(), 0, 0
        while len(found) < most and idle < len(distances):
            n = distances[turn % len(distances)]
            turn += 1
            new = self._harming(best.x, case.prices(best), n)
            if new is None:
                idle += 1
                continue
            wider = GuardedProgram(
                self.program, self.values, [part.values for part in (*found, new)]
            )
            try:
                best = wider.solve()
            except SolverError:  # nothing is feasible for all of them, as far as is known
                idle += 1
                continue
            case, idle = wider, 0
            found.append(new)
        return found

    def _harming(self, x: FloatArray, prices: FloatArray, distance: int) -> Neighbour | None:
        """A neighbour that x violates: by the rows' prices, else by the rows with least slack."""
        choices = [prices] if prices.any() else []
        rows = nearest_rows(self.program, self.values, x=x)[:ROWS_TRIED]
        choices += [np.eye(1, prices.size, int(row)).ravel() for row in rows]
        tried = (
            harmful_neighbour(self.program, self.values, x=x, prices=part, distance=distance)
            for part in choices
        )
        return next((new for new in tried if new is not None), None)


def _optimum(program: ParametricLP, values: FloatArray) -> float:
    """c(D)ᵀx of a feasible x that is as good as optimal, rounded down."""

    def slack_of(x: FloatArray) -> FloatArray:
        return program.worst_case_slack(x, lower=values, upper=values)

    x = solve_certified(program.at(values), slack_of=slack_of).x
    c = program.c
    parts = [
        np.concatenate([-c.constant, -c.coefficient]),
        np.concatenate([np.ones(c.shape[0]), values[c.entry]]),
        np.concatenate([x, x[c.row]]),
    ]
    where = np.zeros(parts[0].size, dtype=int)
    return -float(exact.row_sums_up(where, parts, num_rows=1)[0])
