"""What is wrong with the answers to one problem: an empty list, or a sentence per fault.

A model may be left without an answer, which is counted, and an answer may be further from the best
than was asked, if it says so: neither is a fault.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from benchmarks.fuzz.exact_model import exact_worth, lagrangian_bound, scaled
from benchmarks.fuzz.problem import Problem, problem
from benchmarks.peers import highs
from dp_cmdp import CMDP, Policy, evaluate
from dp_cmdp._src.cmdp.solvers.occupancy_lp import FEASIBILITY, Solution
from dp_cmdp._src.cmdp.solvers.pool import PolicyPool
from dp_cmdp.errors import InfeasibleError, SolverError

#: What rounding may add to a value, relative to max|r|/(1 − γ): the solver's own for costs.
ROUNDING = FEASIBILITY
#: The least feasibility tolerance that HiGHS accepts.
TIGHTEST = 1e-10
#: Seconds for HiGHS, which circles for ever on some infeasible models.
PATIENCE = 10.0
#: Relative difference from HiGHS that its precision does not explain.
DISAGREEMENT = 1e-6

Answer = Solution | SolverError


@dataclass(slots=True)
class Verdict:
    """Faults of a problem, why draws are left without an answer, how many are short of the gap."""

    key: str
    words: str
    faults: list[str]
    unanswered: list[str]
    short: int
    ours_s: float
    highs_s: float | None = None

    @property
    def line(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


def check(key: str) -> Verdict:
    """Solve the problem of a key and judge every answer."""
    own = problem(key)
    answers, seconds = answers_of(own)
    found = Verdict(key, own.words, [], [], 0, round(seconds, 6))
    for model, answer in zip(own.draws, answers, strict=True):
        if isinstance(answer, SolverError) and not isinstance(answer, InfeasibleError):
            found.unanswered.append(f"{type(answer).__name__}: {str(answer)[:80]}")
            continue
        found.short += isinstance(answer, Solution) and answer.gap > own.gap
        if key.startswith("small"):
            found.faults += small_faults(model, answer)
        else:
            value, found.highs_s = float_optimum(model)
            found.faults += large_faults(model, answer, value)
    return found


def answers_of(own: Problem) -> tuple[list[Answer], float]:
    """One answer per draw, and the seconds per draw."""
    pool, answers = PolicyPool(own.model), []
    begin = time.perf_counter()
    for draw in own.draws:
        try:
            answers.append(pool.solve(draw.cost, draw.limit, gap=own.gap))
        except SolverError as error:
            answers.append(error)
    return answers, (time.perf_counter() - begin) / len(answers)


def small_faults(model: CMDP, answer: Answer) -> list[str]:
    """Everything that is claimed, in rational numbers.

    A policy that is worth its value, and a bound that no policy exceeds: the best lies between.
    """
    if isinstance(answer, InfeasibleError):
        return ray_faults(model, answer)
    assert isinstance(answer, Solution)
    value, *costs = exact_worth(model, weights_of(answer))
    excess = [cost - Fraction(float(b)) for cost, b in zip(costs, model.limit, strict=True)]
    faults = [
        f"cost {k} exceeds its limit by {float(more):.3g}, allowed {most:.3g}"
        for k, (more, most) in enumerate(zip(excess, allowed(model), strict=True))
        if more > Fraction(float(most))
    ]
    if abs(Fraction(answer.value) - value) > rounding(model):
        faults.append(f"its policy is worth {float(value):.15g}, it says {answer.value:.15g}")
    short = lagrangian_bound(model, answer.dual, reward=True) - Fraction(answer.bound)
    if short > 0:
        relative = float(short) / max(abs(answer.bound), 1e-300)
        faults.append(f"upper bound too low by {float(short):.3g} ({relative:.2g}, relative)")
    return faults


def weights_of(answer: Solution) -> np.ndarray:
    """Weights of the actions in every state: its occupancies, the first action elsewhere."""
    weights = np.maximum(answer.occupancy, 0.0)
    weights[weights.sum(axis=1) == 0.0, 0] = 1.0
    return weights


def allowed(model: CMDP) -> np.ndarray:
    """The documented excess over the limits."""
    return 2.0 * FEASIBILITY * np.abs(model.cost).max(axis=(1, 2)) / (1.0 - model.gamma)


def rounding(model: CMDP) -> Fraction:
    """What rounding may add to a value."""
    return Fraction(ROUNDING * float(np.abs(model.r).max()) / (1.0 - model.gamma))


def ray_faults(model: CMDP, error: InfeasibleError) -> list[str]:
    """The proof of an infeasibility, weighed exactly."""
    if error.ray is None or error.violation is None:
        return ["infeasible without a proof"]
    if (error.ray < 0.0).any():
        return ["the proof of infeasibility has negative weights"]
    excess = -lagrangian_bound(model, error.ray, reward=False)
    if excess >= Fraction(error.violation):
        return []
    if excess <= 0:
        return ["called infeasible, which its ray does not prove"]
    relative = float(1 - excess / Fraction(error.violation))
    return [f"the violation {error.violation:.6g} is too large by {relative:.2g} of itself"]


def large_faults(model: CMDP, answer: Answer, optimum: float | None) -> list[str]:
    """Agreement with HiGHS, within its precision; where there is none, proofs in fractions."""
    if isinstance(answer, InfeasibleError):
        proved = optimum is None or proves(model, answer)
        return [] if proved else [f"called infeasible; HiGHS finds {optimum:.10g}"]
    assert isinstance(answer, Solution)
    faults = []
    costs = model.cost.reshape(model.limit.size, -1) @ answer.occupancy.ravel()
    excess = np.maximum(costs - model.limit, 0.0)
    if optimum is not None:  # what HiGHS calls infeasible may be feasible: the costs tell
        room = DISAGREEMENT * max(abs(optimum), float(np.abs(model.r).max()))
        if answer.bound < optimum - room and not bounds(model, answer):
            faults.append(f"upper bound {answer.bound:.10g} below HiGHS's {optimum:.10g}")
        above = answer.value > optimum + room + float(answer.dual @ excess)
        if above and not attains(model, answer):
            faults.append(f"value {answer.value:.10g} above HiGHS's {optimum:.10g}")
    if (excess > allowed(model)).any():
        faults.append(f"a cost exceeds its limit by {float(excess.max()):.3g}")
    return faults


def proves(model: CMDP, error: InfeasibleError) -> bool:
    """Whether the ray proves infeasibility, in fractions."""
    if error.ray is None or (error.ray < 0.0).any():
        return False
    return lagrangian_bound(model, error.ray, reward=False) < 0


def bounds(model: CMDP, answer: Solution) -> bool:
    """Whether no policy exceeds the upper bound at the multipliers."""
    most = lagrangian_bound(model, answer.dual, reward=True)
    return most <= Fraction(answer.bound) + rounding(model)


def attains(model: CMDP, answer: Solution) -> bool:
    """Whether its policy is worth what it says and keeps the limits, up to rounding."""
    weights = weights_of(answer)
    found = evaluate(model, Policy(weights / weights.sum(axis=1, keepdims=True)))
    kept = (found.costs <= model.limit + 2.0 * allowed(model)).all()
    return bool(kept) and abs(found.value - answer.value) <= 2.0 * float(rounding(model))


def float_optimum(model: CMDP) -> tuple[float | None, float]:
    """HiGHS's value by its simplex method, None where it finds none, and its seconds.

    It gets rewards and costs on one scale and its tightest precision.
    """
    largest = float(np.abs(model.r).max()) or 1.0
    run = highs(scaled(model), method="simplex", tolerance=TIGHTEST, limit=PATIENCE)
    begin = time.perf_counter()
    try:
        value = run()[0]
    except (RuntimeError, TimeoutError):
        value = -np.inf
    seconds = time.perf_counter() - begin
    return value * largest if np.isfinite(value) else None, seconds
