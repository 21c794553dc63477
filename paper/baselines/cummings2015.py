"""Cummings, Kearns, Roth and Wu 2015: noisy prices by multiplicative weights, players best-respond.

    maximise Σ_p c_pᵀx_p   subject to   Σ_p A_p x_p ≤ b,   x_p ∈ X_p

For T rounds: the prices λ ≥ 0 of the coupling rows follow multiplicative weights on the excess
Σ_p A_p x_p − b plus Laplace noise; each player answers with the x_p ∈ X_p that maximises
(c_p − λᵀA_p)x_p. The answer is the average of the players' answers.

Protected: A, b and c. Adjacency: all data of one player change, to anything in the envelope (or one
record of a coupling b, by its radius). Guaranteed: **joint** (ε, δ)-differential privacy: the noisy
prices are private, and each player's part of x depends on them and on that player's own data. What
the *others* receive says little about a player; the whole x does not hide it. This is a weaker
model than that of the other methods. Coupling rows hold up to an error; local rows exactly up to
the solver's tolerance.

Differences from the publication
1. Reconstructed from its mathematics for linear programs; no code was published.
2. Players are the records of the envelope, or the option ``players`` (a label per variable).
3. Prices are bounded by a public number Λ, the optimistic optimum (strong duality bounds Σ λ_i b_i
   by the optimum), and carry the objective; the publication guesses the optimum instead.
4. The bounds u of X_p follow from public data, rows divided by their smallest b.
5. ε per round solves the composition theorem exactly.
6. There is no test of convergence: T rounds are played, and the answer says so.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

import dp_cmdp as dp
from paper.baselines.composition import epsilon_per_step
from paper.baselines.method import Answer, Method, Task
from paper.baselines.optimistic import optimistic_program, optimistic_value, require_nonnegative
from paper.baselines.players import Players, split
from paper.baselines.simplex_rows import ROUND_UP
from paper.blocks import Form
from paper.linear import Floats, LinearProgram, solve


def answer(task: Task, *, rounds: int = 100, players: ArrayLike | None = None) -> Answer:
    """Distributed multiplicative weights.

    Parameters
    ----------
    rounds : int
        T.
    players : int array, optional
        Player of each variable; by default the record that the variable reads.
    """
    part, budget = task.part, task.budget
    require_nonnegative(part, method="cummings2015")
    market = _Market.of(part, split(part, players))
    T = rounds
    step = epsilon_per_step(float(budget.epsilon), float(budget.delta), steps=T)
    truth = part.at(task.values)
    rows = sparse.csr_array(sparse.diags_array(1 / market.magnitude) @ truth.A[market.coupling])
    b = truth.b[market.coupling] / market.magnitude
    rate = math.sqrt(math.log(b.size + 1) / T) / market.width
    log_weight, total = np.zeros(b.size + 1), np.zeros(part.num_variables)
    for _ in range(T):
        weight = np.exp(log_weight - log_weight.max())
        price = market.price_bound * weight[:-1] / weight.sum()
        x = _best_responses(truth, market, truth.c - rows.T @ price)
        total += x
        excess = rows @ x - b
        if market.sensitivity > 0:
            excess += task.rng.laplace(scale=market.sensitivity / step, size=b.size)
        log_weight[:-1] += rate * excess
    return Answer(total / T, converged=True, note=f"joint privacy; {T} rounds, no test")


@dataclass(frozen=True, slots=True)
class _Market:
    """What is public about the rows that couple players."""

    coupling: np.ndarray
    local: np.ndarray
    upper: Floats
    magnitude: Floats
    sensitivity: float
    width: float
    price_bound: float

    @classmethod
    def of(cls, part: Form, players: Players) -> _Market:
        couples = players.coupling
        ends = part.b.extremes(part.envelope.lower, part.envelope.upper)
        b_low, b_high = (end.toarray().ravel() for end in ends)
        magnitude = b_low[couples]
        if players.coupling_equal.any() or (magnitude <= 0).any():
            raise dp.errors.RefusedError(
                "cummings2015 needs packing rows between its players: no equality may join "
                "several players, and the right-hand side of every coupling row must be positive "
                "for every database"
            )
        best = part.c.extremes(part.envelope.lower, part.envelope.upper)[1].toarray().ravel()
        upper = _variable_bounds(part)
        ranges, b_range = _player_ranges(part, players, upper), (b_high - b_low)[couples]
        shares = ranges[:, couples] / magnitude
        return cls(
            coupling=np.flatnonzero(couples),
            local=np.flatnonzero(~couples),
            upper=upper,
            magnitude=magnitude,
            sensitivity=ROUND_UP
            * (float(shares.sum(axis=1).max()) + _b_sensitivity(part, couples, b_low)),
            width=float((shares.sum(axis=0) + 1 + b_range / magnitude).max(initial=1.0)),
            price_bound=max(optimistic_value(part, best, method="cummings2015"), 0.0),
        )


def _best_responses(truth: LinearProgram, market: _Market, gain: Floats) -> Floats:
    """Every player's best answer to the prices: blocks do not meet, so one program holds all."""
    if not market.local.size and not truth.b_eq.size:
        return np.where(gain > 0, market.upper, 0.0)
    own = {"A": truth.A[market.local], "b": truth.b[market.local], "upper": market.upper}
    return solve(replace(truth, c=gain, **own)).x


def _variable_bounds(part: Form) -> Floats:
    """Public upper bounds of the variables: their own, or b_sup/A_inf of a row with A_inf ≥ 0."""
    relaxed = optimistic_program(part, np.zeros(part.num_variables))
    upper = np.array(part.upper)
    entries = sparse.coo_array(relaxed.A)
    row, col = entries.coords
    lowest = np.full(relaxed.b.size, 0.0)
    np.minimum.at(lowest, row, entries.data)
    use = (entries.data > 0) & (lowest[row] >= 0)
    np.minimum.at(upper, col[use], relaxed.b[row[use]] / entries.data[use])
    if np.isinf(upper).any():
        raise dp.errors.RefusedError(
            "cummings2015 needs a public upper bound for every variable; give the program finite "
            "upper bounds"
        )
    return upper


def _player_ranges(part: Form, players: Players, upper: Floats) -> Floats:
    """Per player and row, how far the player's part of the row can move over X_p and envelope."""
    table = np.zeros((players.count, part.A.shape[0]))
    fixed, owner = sparse.coo_array(part.A.public), players.of_variable
    place = owner[fixed.coords[1]], fixed.coords[0]
    np.add.at(table, place, np.abs(fixed.data) * upper[fixed.coords[1]])
    row, col, _ = part.A.places
    least, most = part.A.ends(part.envelope.lower, part.envelope.upper)
    moved = np.maximum(most, 0.0) - np.minimum(least, 0.0)
    np.add.at(table, (owner[col], row), moved * upper[col])
    return table


def _b_sensitivity(part: Form, couples: np.ndarray, b_low: Floats) -> float:
    """ℓ1 change of the coupling b, in units of the magnitudes, when one record moves."""
    b = part.b
    used = couples[b.row]
    if not used.any():
        return 0.0
    row = b.row[used]
    weight = np.abs(b.coefficient[used]) / b_low[row]
    return float((part.change[:, b.entry[used]] @ weight).max())


METHOD = Method(
    "cummings2015",
    private="Abc",
    promises_feasibility=False,
    solver=answer,
    model="joint differential privacy",
)
