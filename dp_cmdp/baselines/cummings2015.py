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

from dp_cmdp import _check
from dp_cmdp._check import FloatArray
from dp_cmdp._door import door
from dp_cmdp.accounting.budget import PrivacyBudget
from dp_cmdp.baselines.parts.composition import epsilon_per_step
from dp_cmdp.baselines.parts.method import MOST_ROUNDS, Answer, Method
from dp_cmdp.baselines.parts.optimistic import (
    optimistic_program,
    optimistic_value,
    require_nonnegative,
)
from dp_cmdp.baselines.parts.players import LABEL, Players, split
from dp_cmdp.baselines.parts.simplex_rows import ROUND_UP
from dp_cmdp.data.database import Database
from dp_cmdp.errors import AssumptionError
from dp_cmdp.noise.laws import Laplace
from dp_cmdp.program.linear_program import LinearProgram, solve
from dp_cmdp.program.parametric import ParametricLP


@door
def answer(
    program: ParametricLP,
    database: Database,
    budget: PrivacyBudget,
    *,
    rng: np.random.Generator,
    rounds: int = 100,
    players: ArrayLike | None = None,
) -> Answer:
    """Distributed multiplicative weights.

    Parameters
    ----------
    rounds : int
        T.
    players : int array, optional
        Player of each variable; by default the record that the variable reads.

    Notes
    -----
    **Privacy.** *Spends the budget*, in the joint model.
    """
    require_nonnegative(program, method="cummings2015")
    market = _Market.of(program, split(program, players))
    T = _check.integer("rounds", rounds, low=1, high=MOST_ROUNDS)
    step = epsilon_per_step(float(budget.epsilon), float(budget.delta), steps=T)
    noise = Laplace(market.sensitivity / step) if market.sensitivity > 0 else None
    truth = program.at(database.values)
    rows = sparse.csr_array(sparse.diags_array(1 / market.magnitude) @ truth.A[market.coupling])
    b = truth.b[market.coupling] / market.magnitude
    rate = math.sqrt(math.log(b.size + 1) / T) / market.width
    log_weight, total = np.zeros(b.size + 1), np.zeros(program.num_variables)
    for _ in range(T):
        weight = np.exp(log_weight - log_weight.max())
        price = market.price_bound * weight[:-1] / weight.sum()
        x = _best_responses(truth, market, truth.c - rows.T @ price)
        total += x
        excess = rows @ x - b
        if noise is not None:
            excess += noise.sample(rng, b.size)
        log_weight[:-1] += rate * excess
    return Answer(total / T, converged=True, note=f"joint privacy; {T} rounds, no test")


@dataclass(frozen=True, slots=True)
class _Market:
    """What is public about the coupling rows (all rows, sensitive then public, are numbered)."""

    coupling: np.ndarray
    local: np.ndarray
    upper: FloatArray
    magnitude: FloatArray
    sensitivity: float
    width: float
    price_bound: float

    @classmethod
    def of(cls, program: ParametricLP, players: Players) -> _Market:
        couples = np.concatenate([players.coupling, players.coupling_public])
        b_low, b_high = _ends_b(program)
        magnitude = b_low[couples]
        if players.coupling_equal.any() or (magnitude <= 0).any():
            raise AssumptionError(
                "cummings2015 needs packing rows between its players: no equality may join "
                "several players, and the right-hand side of every coupling row must be positive "
                "for every database",
                label=LABEL,
            )
        best = program.c.extremes(program.envelope.lower, program.envelope.upper)[1]
        upper = _variable_bounds(program)
        ranges, b_range = _player_ranges(program, players, upper), (b_high - b_low)[couples]
        shares = ranges[:, couples] / magnitude
        return cls(
            coupling=np.flatnonzero(couples),
            local=np.flatnonzero(~couples),
            upper=upper,
            magnitude=magnitude,
            sensitivity=ROUND_UP
            * (float(shares.sum(axis=1).max()) + _b_sensitivity(program, couples, b_low)),
            width=float((shares.sum(axis=0) + 1 + b_range / magnitude).max(initial=1.0)),
            price_bound=max(optimistic_value(program, best, method="cummings2015"), 0.0),
        )


def _best_responses(truth: LinearProgram, market: _Market, gain: FloatArray) -> FloatArray:
    """Every player's best answer to the prices: blocks do not meet, so one program holds all."""
    if not market.local.size and not truth.b_eq.size:
        return np.where(gain > 0, market.upper, 0.0)
    own = {"A": truth.A[market.local], "b": truth.b[market.local], "upper": market.upper}
    return solve(replace(truth, c=gain, **own), certify=False).x


def _variable_bounds(program: ParametricLP) -> FloatArray:
    """Public upper bounds of the variables: their own, or b_sup/A_inf of a row with A_inf ≥ 0."""
    relaxed = optimistic_program(program, np.zeros(program.num_variables))
    upper = np.array(program.upper)
    entries = sparse.coo_array(relaxed.A)
    row, col = entries.coords
    lowest = np.full(relaxed.num_rows, 0.0)
    np.minimum.at(lowest, row, entries.data)
    use = (entries.data > 0) & (lowest[row] >= 0)
    np.minimum.at(upper, col[use], relaxed.b[row[use]] / entries.data[use])
    if np.isinf(upper).any():
        raise AssumptionError(
            "cummings2015 needs a public upper bound for every variable; give the program finite "
            "upper bounds",
            label=LABEL,
        )
    return upper


def _player_ranges(program: ParametricLP, players: Players, upper: FloatArray) -> FloatArray:
    """Per player and row, how far the player's part of the row can move over X_p and envelope."""
    low, high = program.envelope.lower, program.envelope.upper
    row, col, _ = program.A.sensitive()
    rows = program.A.shape[0] + program.b_ub.size
    table = np.zeros((players.count, rows))
    fixed = sparse.coo_array(sparse.vstack([program.A.filled(0.0), program.A_ub]))
    owner = players.of_variable
    place = owner[fixed.coords[1]], fixed.coords[0]
    np.add.at(table, place, np.abs(fixed.data) * upper[fixed.coords[1]])
    least, most = program.A.bounds(low, high)
    moved = np.maximum(most, 0.0) - np.minimum(least, 0.0)
    np.add.at(table, (owner[col], row), moved * upper[col])
    return table


def _ends_b(program: ParametricLP) -> tuple[FloatArray, FloatArray]:
    """Smallest and largest right-hand sides over the envelope."""
    low, high = program.b.extremes(program.envelope.lower, program.envelope.upper)
    return np.concatenate([low, program.b_ub]), np.concatenate([high, program.b_ub])


def _b_sensitivity(program: ParametricLP, couples: np.ndarray, b_low: FloatArray) -> float:
    """ℓ1 change of the coupling b, in units of the magnitudes, when one record moves."""
    b, envelope = program.b, program.envelope
    used = couples[b.row]
    if not used.any():
        return 0.0
    moved = np.abs(b.coefficient) * envelope.radius[b.entry]
    scaled = moved[used] / b_low[b.row[used]]
    return float(np.bincount(envelope.records[b.entry[used]], weights=scaled).max())


METHOD = Method(
    name="cummings2015",
    label="Cummings et al. 2015",
    private=("A", "b", "c"),
    promises_feasibility=False,
    model="joint differential privacy",
    solver=answer,
)
