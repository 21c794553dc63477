"""Hsu, Roth, Roughgarden and Ullman 2014: multiplicative weights with a private choice of rows.

Find y in the simplex with a_i·y ≤ β_i for all i (their Algorithm 5, low-sensitivity constraints).
For T rounds: the exponential mechanism picks a row i with a large a_i·y − β_i; that row plus
Laplace noise is the loss ℓ; y_j ← y_j exp(−η ℓ_j/ρ), normalised. The answer is the average of y.

A program reaches this form by x = S y with a public bound S ≥ Σx (:mod:`.simplex_rows`) and the
objective as the row ĉᵀx ≥ K for a guess K of the optimum, with ĉ = c + Laplace(Δ_c/ε_c). K is found
by bisection between two numbers that are public once ĉ is: the robust and the optimistic optimum.

Protected: A and b (exponential mechanism and Laplace noise), c (Laplace noise). Adjacency: one
record changes, each entry by at most its radius. Guaranteed: (ε, δ)-differential privacy. Rows hold
up to an error that shrinks with T and grows with the noise; none is certain.

Differences from the publication
1. Algorithm 5 is reconstructed from secondary descriptions of it.
2. S comes from public data (option ``scale``, or an LP over the optimistic envelope). The
   publication scales by the ℓ1 norm of the optimal solution, which leaks.
3. K is found by bisection whose every run, and every noisy test of its result, is paid for (tests
   get a quarter of the rows' ε). With ``realised_optimum_NOT_PRIVATE`` the true optimum is used in
   a single run, as experiments in the literature appear to do.
4. Noise is added only to the entries of a row that may differ between databases, and the score's
   sensitivity is that at the current y, which is public: less noise than published.
5. The steps per round are two (choice and row), not d + 1: one record moves a row by its ℓ1
   sensitivity. Their ε' is replaced by the exact solution of the composition theorem they use.
6. T, the split of ε and the tolerance are not given for any experiment; they are options here.
7. A result that fails its test is returned with ``converged=False``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

import dp_cmdp as dp
from paper.baselines.composition import epsilon_per_step
from paper.baselines.method import Answer, Method, Task
from paper.baselines.optimistic import optimistic_value, require_nonnegative
from paper.baselines.simplex_rows import SimplexRows, simplex_rows
from paper.blocks import Form
from paper.linear import Floats, solve

Number = int | str | Fraction

#: Share of the rows' ε for the tests of the guesses.
TEST_SHARE = 0.25


def answer(
    task: Task,
    *,
    rounds: int = 100,
    guesses: int = 3,
    tolerance: float = 0.25,
    objective_share: Number = "1/2",
    scale: float | None = None,
    realised_optimum_NOT_PRIVATE: bool = False,
) -> Answer:
    """Algorithm 5 with a private objective.

    Parameters
    ----------
    rounds : int
        T, per guess.
    guesses : int
        Bisection steps for K.
    tolerance : float
        A guess is accepted when no row exceeds its right-hand side by more than this, relative to
        the row's public magnitude.
    objective_share : number
        Share of ε for c, when c reads the database (all of it when only c does).
    scale : float, optional
        S, a public bound on Σx; by default the largest Σx that any database allows.
    realised_optimum_NOT_PRIVATE : bool
        Take K from the true data, and run once.
    """
    part = task.part
    require_nonnegative(part, method="hsu2014")
    ones = np.ones(part.num_variables)
    S = optimistic_value(part, ones, method="hsu2014") if scale is None else scale
    runs = 1 if realised_optimum_NOT_PRIVATE else guesses
    epsilon, c_hat = _private_objective(task, _objective_share(part, objective_share))
    rows, delta = simplex_rows(part, task.values, scale=S), float(task.budget.delta)
    game = _Game(
        rows=rows,
        row_sensitivity=rows.row_sensitivity(),
        reward=np.append(S * c_hat, 0.0),
        rounds=rounds,
        step=epsilon_per_step((1 - TEST_SHARE) * epsilon, delta, steps=2 * rounds * runs),
        test=TEST_SHARE * epsilon / runs,
        tolerance=tolerance,
        rng=task.rng,
    )
    if realised_optimum_NOT_PRIVATE:
        y, passed = game.play(solve(part.at(task.values)).objective)
        notes = ["NOT PRIVATE: the guess of the optimum is the true one"]
    else:
        y, passed = _bisect(game, *_interval(task.program, part, c_hat), guesses=guesses)
        notes = []
    if not passed:
        notes.append("no guess of the optimum passed the test of its rows")
    return Answer(S * y[:-1], converged=passed, note="; ".join(notes))


def _objective_share(part: Form, share: Number) -> Fraction:
    """The share of ε for c: all of it when nothing else reads the database."""
    alpha = Fraction(share)
    if part.A.is_public and part.b.is_public:
        return Fraction(1)
    if not (part.c.is_public or 0 < alpha < 1):
        raise dp.errors.InvalidArgumentError(
            "objective_share must lie in (0, 1): c and the rows both spend"
        )
    return alpha


def _private_objective(task: Task, alpha: Fraction) -> tuple[float, Floats]:
    """ε left for the rows, and ĉ."""
    part, epsilon = task.part, task.budget.epsilon
    c = part.c.at(task.values).toarray().ravel()
    if part.c.is_public:
        return float(epsilon), c
    positions = part.c.places[0]
    scale = part.sensitivity("c") / float(alpha * epsilon)
    c[positions] += task.rng.laplace(scale=scale, size=positions.size)
    return float((1 - alpha) * epsilon) if alpha < 1 else math.inf, c


def _interval(program: dp.ParametricLP, part: Form, c_hat: Floats) -> tuple[float, float]:
    """Robust and optimistic optimum for ĉ: public, since ĉ is."""
    robust = dp.answer(program.with_objective(maximize=c_hat))
    return float(c_hat @ robust.x), optimistic_value(part, c_hat, method="hsu2014")


def _bisect(game: _Game, low: float, high: float, *, guesses: int) -> tuple[Floats, bool]:
    """The answer to the largest guess that passed its test, or to the smallest tried."""
    best: Floats | None = None
    last = np.empty(0)
    for _ in range(guesses):
        middle = (low + high) / 2
        last, passed = game.play(middle)
        if passed:
            best, low = last, middle
        else:
            high = middle
    return (last, False) if best is None else (best, True)


@dataclass(frozen=True, slots=True)
class _Game:
    """Rows, a reward that must reach the guess K, and the privacy of each look at the rows."""

    rows: SimplexRows
    row_sensitivity: Floats
    reward: Floats
    rounds: int
    step: float
    test: float
    tolerance: float
    rng: np.random.Generator

    def play(self, guess: float) -> tuple[Floats, bool]:
        """The average y of one run, and whether its rows passed the noisy test."""
        size = abs(guess) or max(float(np.abs(self.reward).max()), 1.0)
        goal, target = -self.reward / size, -guess / size
        d = goal.size
        width = max(self.rows.width, float(np.abs(goal).max()), np.finfo(float).tiny)
        rate = math.sqrt(math.log(d) / self.rounds)
        log_y, total = np.zeros(d), np.zeros(d)
        for _ in range(self.rounds):
            y = _simplex(log_y)
            total += y
            log_y -= rate / width * self._loss(y, goal, target)
        mean = total / self.rounds
        return mean, self._passes(mean, goal, target)

    def _loss(self, y: Floats, goal: Floats, target: float) -> Floats:
        """A row chosen by the exponential mechanism, plus Laplace noise on its private entries."""
        rows = self.rows
        score = np.append(rows.a @ y - rows.beta, goal @ y - target)
        sensitivity = rows.score_sensitivity(y)
        if sensitivity > 0:
            score = score + 2 * sensitivity / self.step * self.rng.gumbel(size=score.size)
        chosen = int(np.argmax(score))
        if chosen == score.size - 1:
            return goal
        row = rows.a[[chosen]].toarray().ravel()
        if chosen < rows.num_own and (moved := self.row_sensitivity[chosen]) > 0:
            noise = self.rng.laplace(scale=moved / self.step, size=row.size)
            row = row + noise * rows.mask[[chosen]].toarray().ravel()
        return row

    def _passes(self, y: Floats, goal: Floats, target: float) -> bool:
        excess = np.append(self.rows.a @ y - self.rows.beta, goal @ y - target).max()
        sensitivity = self.rows.score_sensitivity(y)
        if sensitivity > 0:
            excess += self.rng.laplace(scale=sensitivity / self.test)
        return bool(excess <= self.tolerance)


def _simplex(log_weights: Floats) -> Floats:
    weights = np.exp(log_weights - log_weights.max())
    return weights / weights.sum()


METHOD = Method("hsu2014", private="Abc", promises_feasibility=False, solver=answer)
