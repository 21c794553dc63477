"""How much any private mechanism must lose on an instance, if its answers are certain.

Let a mechanism be (ε, δ)-private and its answer feasible for the true database with certainty,
whatever that is. On database D it then answers a point infeasible for D′, n changes away, with
probability at most δ_n = δ(e^(nε) − 1)/(e^ε − 1). For neighbours D′_1 … D′_J let S be the set of
those that the answer violates, and V(S) the best value, at D, of answers feasible for D and for
every D′_j, j ∉ S. The answer's value is at most V(S), so

    E[value]  ≤  max{Σ_S p_S V(S) : Σ_S p_S = 1,  Σ_{S∋j} p_S ≤ δ_{n_j} for every j,  p ≥ 0}
              =  min{u + Σ_j δ_{n_j} y_j : u + Σ_{j∈S} y_j ≥ V(S) for every S,  y ≥ 0}.

V(S) is bounded by multipliers of rows (:mod:`dp_cmdp._src.program.bound`); if those of the
neighbours in N prove it, it bounds V(T) of every T without members of N. The program is solved with
such bounds, and V is computed for the sets that its solution uses, not for all of the 2^J. The
result is read off the dual side: whatever the solver's rounding, and wherever the search stops, the
bound is valid.

With *many* neighbours the dual side is guessed: u = V(∅), y_j = max(V({j}) − u, (v* − u)/2, 0).
Sets of two or more then have u + Σ y_j ≥ v* ≥ V(S), whatever they are: J + 2 programs are solved.
Many rows need many neighbours. The better of both bounds counts.

A *change* moves the entries of one record, each by at most what the adjacency says and inside the
envelope. Prices π ≥ 0 of the rows make of a point x one harm per entry, ω_k = Σ_i π_i w_ik(x); a
neighbour at distance n spends its changes, one after the other, where they harm most.

**Episodes.** Costs do not depend on the step, so over a horizon x are the visits of an episode, and
flow equations would need a copy of them per step. Instead V(S) is bounded by the multipliers y ≥ 0
of the rows and the best policy for them, max_π (r − Aᵀy)ᵀx_π + bᵀy: one pass backwards each.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dp_cmdp._src.accounting.budget import Number, PrivacyBudget
from dp_cmdp._src.base.errors import InvalidArgumentError, InvalidTypeError, SolverError
from dp_cmdp._src.base.validation import FloatArray, validated
from dp_cmdp._src.cmdp.certificate import UNIT
from dp_cmdp._src.cmdp.parametric import ParametricCMDP
from dp_cmdp._src.cmdp.solvers.horizon import EpisodePool
from dp_cmdp._src.cmdp.solvers.occupancy_lp import flow_matrix
from dp_cmdp._src.cmdp.solvers.row_columns import RowColumns
from dp_cmdp._src.data.affine import Affine
from dp_cmdp._src.data.envelope import Envelope, UncertaintySet
from dp_cmdp._src.program.bound import upper_bound
from dp_cmdp._src.program.entrywise import largest
from dp_cmdp._src.program.highs import HighsEngine
from dp_cmdp._src.program.linear import LinearProgram, RawSolution
from dp_cmdp._src.program.parametric import ParametricLP
from dp_cmdp._src.program.rows import RobustRows
from dp_cmdp._src.verbs.arguments import Data, Problem, as_problem, budget_of, database_of

IntArray = NDArray[np.int64]
#: A database, and how many changes it is away.
Neighbour = tuple[FloatArray, int]

#: Neighbours of one bound: the program has one variable per set of them.
NEIGHBOURS = 8
#: Distances are tried in windows of up to this many; as many windows end near the last distance.
WINDOWS = 3
#: All windows are tried with this many neighbours, and the best ones with all.
SCREENED, REFINED = 5, 4
#: So many neighbours, one per row and round, if their chances together are not above this.
MANY, UNION = 40, 0.9
#: Rounds in which they are looked for.
ROUNDS = 20
#: No neighbour is looked for further away.
FURTHEST = 500
#: Where the rows' prices find no neighbour, this many rows are looked at one by one.
ROWS_TRIED = 8
#: Room for rounding in δ_n, relative: exp multiplies the rounding of nε ≤ 709 by as much.
CHANCE_ROOM = 2.0**-40
#: Sets of smaller probability count as unused.
USED = 1e-9
#: Sets are no longer looked at when the last ones lowered the bound by less, of the loss it shows.
SETTLED = 1e-3
#: Relative gap between bound and value of programs over a horizon.
GAP = 1e-6
#: Room for rounding in sums of up to 50 numbers, relative to their sizes.
SUM_ROOM = 2.0**-46


@validated
def limit(problem: Problem, data: Data, *, epsilon: Number, delta: Number) -> float:
    """The least mean loss of any private mechanism whose answers are certain, on these data.

    Parameters
    ----------
    problem : ParametricLP or ParametricCMDP
        What is asked of the private numbers.
    data : array_like, mapping from group to numbers, table, path of a csv file or Database
        The true numbers, which are read.
    epsilon, delta : number or text
        The budget that the mechanisms have.

    Returns
    -------
    float
        As a share of |best|, as :attr:`~dp_cmdp.curator.Comparison.loss`: no mechanism that is
        (ε, δ)-private and safe with certainty loses less on average on these data.

    Raises
    ------
    InvalidArgumentError
        The value cannot be bounded, because variables are not; or the problem is of another kind.

    Notes
    -----
    **Paper.** Ours. **Privacy.** *Curator only*: it is computed from the true data. Do not publish
    it.

    Examples
    --------
    >>> import dp_cmdp as dp
    >>> theta = dp.Envelope(1, 2, radius=0.02, shape=2)
    >>> lp = dp.ParametricLP(maximize=[3, 2], A=[[theta[0], theta[1]]], b=[8], upper=8)
    >>> round(dp.curator.limit(lp, [1.2, 1.1], epsilon=1, delta="1/1000"), 3)
    0.086
    """
    asked = as_problem(problem)
    budget = budget_of("limit", epsilon, delta)
    _accepted(asked)
    truth = database_of(data, asked.envelope).read()
    program = _linear_program(asked, truth)
    case = _Case(program, truth, budget, _pool_of(asked, truth))
    menus = windows(program.envelope, budget)
    if len(menus) > REFINED:
        menus.sort(key=lambda menu: case.limit(menu, SCREENED))
    value, _ = min(case.limit(menu, NEIGHBOURS) for menu in menus[:REFINED])
    value = min(value, *(case.limit_of_many(n) for n in distances(program.envelope, budget)))
    best = asked.sense * asked.answer(UncertaintySet.box(truth, truth), truth).value
    if not best:
        raise InvalidArgumentError("a relative limit has no meaning: the best value is 0")
    return max(math.nextafter((best - value) / abs(best), -math.inf), 0.0)


def _accepted(asked: Any) -> None:
    if not isinstance(asked, (ParametricLP, ParametricCMDP)):
        raise InvalidTypeError(
            f"problem must be a ParametricLP or a ParametricCMDP; got {type(asked).__name__}"
        )


def _rewarded(asked: Any, truth: FloatArray) -> Any:
    """A model with its reward at the truth, where that is private."""
    return asked if asked.objective is None else asked._earning(truth)


def _linear_program(asked: Any, truth: FloatArray) -> ParametricLP:
    """A linear program itself, or that of a CMDP's visits; without their flow over a horizon."""
    if isinstance(asked, ParametricLP):
        return asked
    asked = _rewarded(asked, truth).solved
    flows = asked.num_states if asked.mdp.horizon is None else 0
    return ParametricLP._of(
        asked.envelope,
        objective=Affine.of(asked.r.ravel(), asked.envelope),
        A=asked.cost,
        b=asked.limit,
        A_eq=flow_matrix(asked.mdp)[:flows],
        b_eq=asked.start[:flows],
        upper=np.full(asked.r.size, (1.0 + 1e-9) * asked.mdp.steps),
    )


def _pool_of(asked: Any, truth: FloatArray) -> EpisodePool | None:
    """Of a problem with a horizon: policies, which all programs share."""
    if isinstance(asked, ParametricLP) or asked.mdp.horizon is None:
        return None
    return EpisodePool(_rewarded(asked, truth).mdp, sparse.csr_array((0, asked.r.size)))


def violation_chance(budget: PrivacyBudget, distance: int) -> float:
    """δ_n: the largest probability of an answer that is infeasible n changes away, rounded up."""
    epsilon, delta = float(budget.epsilon), float(budget.delta)
    power = (distance - 1) * epsilon
    if power > 700.0:  # δ is at least 1e-300, so the product exceeds 1
        return 1.0
    ratio = math.exp(power) * math.expm1(-distance * epsilon) / math.expm1(-epsilon)
    return min(delta * ratio * (1.0 + CHANCE_ROOM), 1.0)


def _last_below(envelope: Envelope, budget: PrivacyBudget, chance: float) -> int:
    """The last distance with a smaller δ_n, if the envelope is as wide."""
    radius = envelope.radius
    live = radius > 0.0
    steps = np.ceil((envelope.upper - envelope.lower)[live] / radius[live])
    last = int(min(steps.sum(), FURTHEST)) or 1
    return bisect_left(range(1, last + 1), chance, key=lambda n: violation_chance(budget, n)) or 1


def windows(envelope: Envelope, budget: PrivacyBudget) -> list[tuple[int, ...]]:
    """Distances to look at: up to three in a row, just below the first with δ_n ≥ 1 and nearer."""
    last = _last_below(envelope, budget, 1.0)
    ends = {*range(last - WINDOWS + 1, last + 1), last // 2, last // 4}
    spans = {
        (max(end - length + 1, 1), end)
        for end in ends
        if end > 0
        for length in range(1, WINDOWS + 1)
    }
    return [tuple(range(first, end + 1)) for first, end in sorted(spans, reverse=True)]


def distances(envelope: Envelope, budget: PrivacyBudget) -> list[int]:
    """Distances of many neighbours: the last with δ_n < ½, the two before, and nearer ones."""
    last = _last_below(envelope, budget, 0.5)
    return sorted({max(n, 1) for n in (last, last - 1, last - 2, last // 2, 2 * last // 3)})


@dataclass(frozen=True, eq=False)
class _Case:
    """One true database, and the budget of the mechanisms."""

    program: ParametricLP
    values: FloatArray
    budget: PrivacyBudget
    pool: EpisodePool | None = None

    def limit(self, distances: Sequence[int], most: int) -> tuple[float, float]:
        """Bounds of the mean value and of V(∅), from up to `most` neighbours."""
        found, chances = self._neighbours(distances, most)
        return largest_mean(self._guarded(found), np.array(chances))

    def _neighbours(
        self, distances: Sequence[int], most: int
    ) -> tuple[list[FloatArray], list[float]]:
        """Each harms the best answer for those before it, in turn at the given distances."""
        found: list[FloatArray] = []
        chances: list[float] = []
        case = self._guarded(found)
        best, idle, turn = case.solve(), 0, 0
        while len(found) < most and idle < len(distances):
            new = self._harming(case, best, distances[turn % len(distances)])
            turn += 1
            idle += 1
            if new is None:
                continue
            moved, changes = new
            wider = self._guarded([*found, moved])
            try:
                best = wider.solve()
            except SolverError:  # nothing is feasible for all of them, as far as is known
                continue
            case, idle = wider, 0
            found.append(moved)
            chances.append(violation_chance(self.budget, changes))
        return found, chances

    def limit_of_many(self, distance: int) -> float:
        """A bound of the mean value from neighbours at one distance, as many as may be."""
        found = self._many(distance)
        case = self._guarded([moved for moved, _ in found])
        chances = [violation_chance(self.budget, changes) for _, changes in found]
        return guessed_mean(case, np.array(chances))

    def _many(self, distance: int) -> list[Neighbour]:
        """Those that harm the best answer for those before, row by row; slack ones are dropped."""
        most = max(min(MANY, int(UNION / violation_chance(self.budget, distance))), 1)
        found: list[Neighbour] = []
        case = self._guarded([])
        best = case.solve()
        for _ in range(ROUNDS):
            x = case.point(best)
            if len(found) == most:
                found = [found[j] for j in case.binding(best)]
            new = [*islice(self._harmful(x, self._near(x), distance), most - len(found))]
            wider = self._guarded([moved for moved, _ in (*found, *new)])
            try:
                best = wider.solve()
            except SolverError:  # nothing is feasible for all of them, as far as is known
                break
            case, found = wider, [*found, *new]
            if not new:
                break
        return [found[j] for j in case.binding(case.solve())]

    def _guarded(self, others: Sequence[FloatArray]) -> _Guarded:
        return _Guarded(self.program, self.values, others, self.pool)

    def _harming(self, case: _Guarded, best: RawSolution, distance: int) -> Neighbour | None:
        """A neighbour that x violates: by the rows' prices, else by the rows with least slack."""
        x, prices = case.point(best), case.prices(best)
        first = [prices] if prices.any() else []
        choices = chain(first, islice(self._near(x), ROWS_TRIED))
        return next(self._harmful(x, choices, distance), None)

    def _near(self, x: FloatArray) -> Iterator[FloatArray]:
        """Prices of one row each that changes can harm, those with least slack for it first."""
        rows, envelope = self.program._rows, self.program.envelope
        weight, entry = rows.weights(x), rows.entry
        room = np.where(weight > 0, envelope.upper[entry] - self.values[entry], 0.0)
        room += np.where(weight < 0, self.values[entry] - envelope.lower[entry], 0.0)
        slack = self._slack(x, self.values)
        reach = np.bincount(rows.row, np.abs(weight) * room, minlength=slack.size)
        able = np.flatnonzero(reach > 0.0)
        order = able[np.argsort(slack[able] / reach[able], kind="stable")]
        return (np.eye(1, slack.size, row).ravel() for row in order.tolist())

    def _harmful(
        self, x: FloatArray, choices: Iterable[FloatArray], distance: int
    ) -> Iterator[Neighbour]:
        """The most harmful neighbour by each choice of prices, if x violates it."""
        envelope, rows = self.program.envelope, self.program._rows
        weight = rows.weights(x)
        for prices in choices:
            harm = np.bincount(rows.entry, weight * prices[rows.row], minlength=envelope.size)
            moved, changes = harmful_neighbour(envelope, self.values, harm.astype(float), distance)
            if changes and (self._slack(x, moved) < 0.0).any():
                yield moved, changes

    def _slack(self, x: FloatArray, values: FloatArray) -> FloatArray:
        """Of every row at one database: signs are exact."""
        known = UncertaintySet.box(values, values)
        return RobustRows(self.program._rows, known).slack(x, np.zeros(0))


def harmful_neighbour(
    envelope: Envelope, values: FloatArray, harm: FloatArray, distance: int
) -> tuple[FloatArray, int]:
    """The database that changes of `distance` records lead to, each the most harmful one left."""
    change = envelope.change.tocoo()
    record, entry, radius = change.row, change.col, change.data
    most = envelope.entries_per_record
    left = np.where(harm > 0, envelope.upper - values, values - envelope.lower)
    times, spent = np.zeros(entry.size, dtype=np.int64), 0
    for _ in range(distance):
        step = np.minimum(radius, left[entry]) * np.abs(harm[entry])
        if most is not None:
            kept = largest(record, step, most)
            step = np.bincount(kept, step[kept], minlength=step.size)
        gain = np.bincount(record, step, minlength=envelope.change.shape[0])
        best = int(np.argmax(gain)) if gain.size else 0
        if not gain.size or gain[best] <= 0.0:
            break
        moved = np.flatnonzero((record == best) & (step > 0.0))
        times[moved] += 1
        left[entry[moved]] -= np.minimum(radius[moved], left[entry[moved]])
        spent += 1
    return _moved(envelope, values, np.sign(harm), entry, radius, times), spent


def _moved(
    envelope: Envelope,
    values: FloatArray,
    sign: FloatArray,
    entry: NDArray[Any],
    radius: FloatArray,
    times: IntArray,
) -> FloatArray:
    """The entries moved by what the changes allow at most, in exact arithmetic."""
    moved = np.array(values)
    allowed: dict[int, Fraction] = {}
    for p in np.flatnonzero(times).tolist():
        k = int(entry[p])
        allowed[k] = allowed.get(k, Fraction(0)) + int(times[p]) * Fraction(radius[p])
    for k, most in allowed.items():
        true = Fraction(values[k])
        wanted = values[k] + sign[k] * float(most)
        end = float(np.clip(wanted, envelope.lower[k], envelope.upper[k]))
        while abs(Fraction(end) - true) > most:
            end = math.nextafter(end, float(values[k]))
        moved[k] = end
    return moved


class _Guarded:
    """The true program with the rows of other databases added: one program over all their entries.

    `owner` says of every row which of them it belongs to, −1 for the true one. With a `pool` the
    answers are mixtures of its policies.
    """

    def __init__(
        self,
        program: ParametricLP,
        values: FloatArray,
        others: Sequence[FloatArray],
        pool: EpisodePool | None = None,
    ) -> None:
        every = [values, *others]
        size, count = program.envelope.size, program.b.shape[0]
        pairs = program._rows
        kept = [np.arange(count)] + [
            np.unique(pairs.row[other[pairs.entry] != values[pairs.entry]]) for other in others
        ]
        self.owner = np.repeat(np.arange(-1, len(others)), [part.size for part in kept])
        self.number = np.concatenate(kept)
        self.count, self.minimizes = count, program.minimizes
        theta = np.concatenate(every)
        far = np.abs(theta) + 1.0
        envelope = Envelope._of(theta - far, theta + far, sparse.csr_array(sparse.diags_array(far)))
        A, b = (_stacked(part, envelope, kept, size) for part in (program.A, program.b))
        objective = np.asarray(program.objective.at(values), dtype=np.float64)
        whole = program._with(
            envelope=envelope,
            objective=Affine.of(objective, envelope),
            A=A,
            b=b,
            row_names=tuple(f"row {i}" for i in range(self.number.size)),
        )
        self.theta = theta
        self.robust = RobustRows(whole._rows, UncertaintySet.box(theta, theta))
        self.lp = program._over(self.robust, program.sense * objective)
        self._engine, self._pool = HighsEngine(self.lp), pool

    def solve(self, ignored: Sequence[int] = ()) -> RawSolution:
        """A best answer that need not be feasible for the databases `ignored`."""
        if self._pool is not None:
            return self._mixture(self._pool, ~np.isin(self.owner, ignored))
        b = self.lp.b.copy()
        b[: self.owner.size][np.isin(self.owner, ignored)] = np.inf
        return self._engine.run(b)

    def _mixture(self, pool: EpisodePool, kept: NDArray[np.bool_]) -> RawSolution:
        """The best mixture of policies under some of the rows; `dual_eq` is the bound it proves."""
        A, b = self.lp.A[kept], self.lp.b[kept]
        found = RowColumns(pool, A, b, num_rows=b.size, gap=GAP).run()
        mdp, x, dual = pool.mdp, found.occupancy.ravel(), np.zeros(kept.size)
        dual[kept] = found.dual
        income = float(np.max(np.abs(pool.reward) + abs(A).T @ found.dual))
        terms = 2 * int(np.diff(mdp.T.indptr).max()) + np.count_nonzero(mdp.start) + b.size + 8
        room = 4.0 * UNIT * (terms * income * mdp.steps**2 + 8.0 * float(found.dual @ np.abs(b)))
        return RawSolution(x, dual, np.array([found.bound + room]))

    def point(self, raw: RawSolution) -> FloatArray:
        return self.robust.split(np.clip(raw.x, self.lp.lower, self.lp.upper))[0]

    def prices(self, raw: RawSolution) -> FloatArray:
        """Multipliers of the rows, added up over the databases."""
        dual = np.maximum(raw.dual[: self.owner.size], 0.0)
        return np.bincount(self.number, dual, minlength=self.count).astype(float)

    def binding(self, raw: RawSolution) -> IntArray:
        """The databases whose rows have prices."""
        used = self.owner[raw.dual[: self.owner.size] > 0.0]
        return np.unique(used[used >= 0])

    def upper_bound(self, ignored: Sequence[int] = ()) -> tuple[float, IntArray]:
        """A bound of the best such answer's value, and the databases whose rows prove it.

        It holds for every answer that is feasible for the true database and for those named.
        """
        try:
            raw = self.solve(ignored)
        except SolverError:
            return math.inf, np.empty(0, dtype=np.int64)
        dual = np.maximum(raw.dual, 0.0)
        dual[: self.owner.size][np.isin(self.owner, ignored)] = 0.0
        proof = RawSolution(raw.x, dual, raw.dual_eq)
        if self._pool is not None:
            return float(raw.dual_eq[0]), self.binding(proof)
        bound = upper_bound(self.lp, self.robust, proof, self.point(raw), self.theta)
        return bound, self.binding(proof)


def _stacked(part: Affine, envelope: Envelope, kept: Sequence[IntArray], size: int) -> Affine:
    """Some rows of a part for each of several databases, of which the entries follow each other."""
    rows, at, cols, entries, coefficients, start = [], [], [], [], [], 0
    for number, chosen in enumerate(kept):
        place = np.full(part.shape[0], -1)
        place[chosen] = start + np.arange(chosen.size)
        start += chosen.size
        use = place[part.row] >= 0
        at.append(place[part.row][use])
        cols.append(part.col[use])
        entries.append(part.entry[use] + number * size)
        coefficients.append(part.coefficient[use])
        rows.append(chosen)
    constant = sparse.csr_array(part.constant[np.concatenate(rows)])
    shape = (start, *part.shape[1:])
    parts = (np.concatenate(p) for p in (at, cols, entries, coefficients))
    return Affine._of(envelope, shape, *parts, constant=constant)


def largest_mean(case: _Guarded, chances: FloatArray) -> tuple[float, float]:
    """Upper bounds of the mean value and of V(∅)."""
    count = chances.size
    sets = np.arange(1 << count)
    member = (sets[:, None] >> np.arange(count) & 1).astype(np.float64)
    values = np.full(sets.size, np.inf)
    _learn(case, values, sets.size - 1)
    if not np.isfinite(values).all():
        raise InvalidArgumentError(
            "the value of the program cannot be bounded in exact arithmetic; state finite bounds "
            "of its variables (lower, upper)"
        )
    _learn(case, values, 0)
    known, bound, used = {sets.size - 1, 0}, *_master(values, member, chances)
    while new := [int(chosen) for chosen in np.flatnonzero(used > USED) if chosen not in known]:
        before = values[new]
        for chosen in new:
            _learn(case, values, chosen)
        known.update(new)
        gained = float(used[new] @ (before - values[new]))
        bound, used = _master(values, member, chances)
        if gained <= SETTLED * (values[-1] - bound):
            break
    return bound, float(values[0])


def guessed_mean(case: _Guarded, chances: FloatArray) -> float:
    """An upper bound of the mean value, whatever sets of two or more are violated."""
    most, _ = case.upper_bound(range(chances.size))
    least, _ = case.upper_bound()
    if not math.isfinite(most - least):
        return most
    alone = np.array([case.upper_bound([j])[0] for j in range(chances.size)])
    y = np.maximum(np.minimum(alone, most) - least, max(most - least, 0.0) / 2)
    room = SUM_ROOM * (abs(most) + abs(least) + float(y.sum()))
    return min(least + float(chances @ y) + room, most)


def _learn(case: _Guarded, values: FloatArray, chosen: int) -> None:
    """Bound V of a set, and with it V of all sets without the neighbours that prove the bound."""
    ignored = [j for j in range(chosen.bit_length()) if chosen >> j & 1]
    found, needed = case.upper_bound(ignored)
    holds = (np.arange(values.size) & sum(1 << int(j) for j in needed)) == 0
    if math.isfinite(found):
        values[holds] = np.minimum(values[holds], found)


def _master(
    values: FloatArray, member: FloatArray, chances: FloatArray
) -> tuple[float, FloatArray]:
    """The dual value of the program over sets, rounded up, and the optimal probabilities."""
    gain = values - values[0]
    if not gain.any():
        return float(values[0]), np.zeros(values.size)
    ones = np.ones(values.size)
    found = HighsEngine(
        LinearProgram(
            gain / gain.max(),
            sparse.csr_array(member.T),
            chances,
            sparse.csr_array(ones[None, :]),
            np.ones(1),
            0 * ones,
            np.full(values.size, np.inf),
        )
    ).run()
    y = np.maximum(found.dual, 0.0) * gain.max()
    u = float((values - member @ y).max())
    room = SUM_ROOM * (float(np.abs(values).max()) + float(y.sum()))
    bound = u + float(chances @ y) + room
    return min(bound, float(values[-1])), found.x
