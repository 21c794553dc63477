"""What is wrong with the answers to one problem: an empty list, or a sentence per fault."""

from __future__ import annotations

import time
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from benchmarks.fuzz.exact_model import exact_optimum, exact_worth, least_exactly, scaled
from benchmarks.fuzz.problem import Problem, problem
from benchmarks.peers import highs
from dp_cmdp.cmdp.model import CMDP
from dp_cmdp.cmdp.occupancy import policy_from_occupancy
from dp_cmdp.cmdp.solvers.compiled import Workspace
from dp_cmdp.cmdp.solvers.door import solve_cmdp
from dp_cmdp.cmdp.solvers.exact_columns import Worth
from dp_cmdp.cmdp.solvers.pool import PolicyPool
from dp_cmdp.cmdp.solvers.solution import FEASIBILITY, CMDPSolution
from dp_cmdp.cmdp.solvers.whole_numbers import WholeModel
from dp_cmdp.errors import InfeasibleError, SolverError

#: What rounding may add to a value, relative to max|r|/(1 − γ): the solver's own for costs.
ROUNDING = FEASIBILITY
#: The least feasibility tolerance that HiGHS accepts.
TIGHTEST = 1e-10
#: Seconds for HiGHS, which circles for ever on some infeasible models.
PATIENCE = 10.0
#: Relative difference from HiGHS that its tolerances do not explain.
DISAGREEMENT = 1e-6

Answer = CMDPSolution | SolverError


@dataclass(frozen=True, slots=True)
class Verdict:
    """Faults of a problem, with the seconds of the solver and, of larger models, of HiGHS."""

    key: str
    words: str
    faults: list[str]
    ours_s: float
    highs_s: float | None

    @property
    def line(self) -> dict[str, Any]:
        return {
            "key": self.key,
            "words": self.words,
            "faults": self.faults,
            "ours_s": round(self.ours_s, 6),
            "highs_s": None if self.highs_s is None else round(self.highs_s, 6),
        }


def check(key: str) -> Verdict:
    """Solve the problem of a key and judge every answer."""
    own = problem(key)
    answers, seconds = answers_of(own)
    faults, highs_s = [], None
    for model, answer in zip(own.draws, answers, strict=True):
        if key.startswith("small"):
            faults += small_faults(model, answer, gap=own.gap)
        else:
            value, highs_s = float_optimum(model)
            faults += large_faults(model, answer, value, gap=own.gap)
    return Verdict(key, own.words, faults, seconds, highs_s)


def answers_of(own: Problem) -> tuple[list[Answer], float]:
    """One answer per draw, and the seconds per draw."""
    draws = own.draws
    begin = time.perf_counter()
    if own.engine == "pool":
        f, f0 = (np.array([getattr(draw, name) for draw in draws]) for name in ("f", "f0"))
        found = PolicyPool(own.model).solve_many(f, f0, gap=own.gap)
        answers: list[Answer] = [
            found.errors[d] if answer is None else answer
            for d, answer in enumerate(found.solutions)
        ]
    else:
        try:
            answers = [solve_cmdp(own.model, engine=own.engine, gap=own.gap)]
        except SolverError as error:
            answers = [error]
    return answers, (time.perf_counter() - begin) / len(draws)


def small_faults(model: CMDP, answer: Answer, *, gap: float) -> list[str]:
    """Everything that is claimed, in rational numbers."""
    if isinstance(answer, InfeasibleError):
        return ray_faults(model, answer)
    if isinstance(answer, SolverError):
        return [f"no answer ({type(answer).__name__}: {str(answer)[:80]})"]
    scale = np.abs(model.f).max(axis=(1, 2)) / (1.0 - model.gamma)
    policy = policy_from_occupancy(model, answer.occupancy, noise=0.0)
    value, *costs = exact_worth(model, policy.probs)
    excess = [cost - Fraction(float(f0)) for cost, f0 in zip(costs, model.f0, strict=True)]
    allowed = [Fraction(FEASIBILITY * float(s)) * 2 for s in scale]
    faults = [
        f"cost {k} exceeds its tolerance by {float(more):.3g}, allowed {float(most):.3g}"
        for k, (more, most) in enumerate(zip(excess, allowed, strict=True))
        if more > most
    ]
    if answer.gap > gap:
        faults.append(f"gap {answer.gap:.3g} above the {gap:g} asked for")
    room = Fraction(ROUNDING * float(np.abs(model.r).max()) / (1.0 - model.gamma))
    if abs(Fraction(answer.value) - value) > room:
        faults.append(f"its policy is worth {float(value):.15g}, it says {answer.value:.15g}")
    try:
        optimum = exact_optimum(model)
    except ArithmeticError:  # too many exact pivots
        return faults if _bounds(model, answer) else [*faults, "an upper bound without proof"]
    if optimum is None:
        return faults  # infeasible by so little that the documented excess allows an answer
    bound = Fraction(answer.upper_bound)
    if bound < optimum:
        short = float(optimum - bound)
        relative = short / max(abs(float(optimum)), 1e-300)
        faults.append(f"upper bound below the optimum by {short:.3g} ({relative:.2g}, relative)")
    if Fraction(answer.value) > optimum + room:
        own = exact_optimum(raised(model, excess))  # the best at what its policy costs
        assert own is not None
        if Fraction(answer.value) > own + room:
            above, over = float(Fraction(answer.value) - own), float(max(excess))
            faults.append(f"value above the optimum by {above:.3g} at an excess of {over:.3g}")
    return faults


def raised(model: CMDP, excess: list[Fraction]) -> CMDP:
    """The model with tolerances raised by the excess over them, rounded up."""
    costs = [Fraction(float(f0)) + max(more, Fraction(0))
             for f0, more in zip(model.f0, excess, strict=True)]  # fmt: skip
    above = [float(own) if Fraction(float(own)) >= own else float(np.nextafter(float(own), np.inf))
             for own in costs]  # fmt: skip
    return model.with_constraints(model.f, above)


def ray_faults(model: CMDP, error: InfeasibleError) -> list[str]:
    """The proof of an infeasibility, weighed exactly."""
    if error.ray is None or error.violation is None:
        return ["infeasible without a proof"]
    if (error.ray < 0.0).any():
        return ["the proof of infeasibility has negative weights"]
    allowed = sum((Fraction(float(w)) * Fraction(float(b))
                   for w, b in zip(error.ray, model.f0, strict=True)), Fraction(0))  # fmt: skip
    excess = least_exactly(model, error.ray) - allowed
    if excess >= Fraction(error.violation):
        return []
    if excess <= 0:
        optimum = exact_optimum(model)
        found = (
            "nothing is feasible" if optimum is None else f"the optimum is {float(optimum):.12g}"
        )
        return [f"called infeasible, which its ray does not prove; in truth {found}"]
    relative = float(1 - excess / Fraction(error.violation))
    return [f"the violation {error.violation:.6g} is too large by {relative:.2g} of itself"]


def large_faults(model: CMDP, answer: Answer, optimum: float | None, *, gap: float) -> list[str]:
    """Agreement with HiGHS, within its tolerances; where there is none, proofs in whole numbers."""
    if isinstance(answer, InfeasibleError):
        proved = optimum is None or _proves(model, answer)
        return [] if proved else [f"called infeasible; HiGHS finds {optimum:.10g}"]
    if isinstance(answer, SolverError):
        what = f"no answer ({type(answer).__name__}: {str(answer)[:80]})"
        return [what + ("" if optimum is not None else "; nor has HiGHS")]
    faults = []
    excess = np.maximum(answer.costs - model.f0, 0.0)
    if optimum is not None:  # what HiGHS calls infeasible may be feasible: the costs tell
        room = DISAGREEMENT * max(abs(optimum), float(np.abs(model.r).max()))
        if answer.upper_bound < optimum - room and not _bounds(model, answer):
            faults.append(f"upper bound {answer.upper_bound:.10g} below HiGHS's {optimum:.10g}")
        above = answer.value > optimum + room + float(answer.dual @ excess)
        if above and not _attains(model, answer):
            faults.append(f"value {answer.value:.10g} above HiGHS's {optimum:.10g}")
    if answer.gap > gap:
        faults.append(f"gap {answer.gap:.3g} above the {gap:g} asked for")
    scale = np.abs(model.f).max(axis=(1, 2)) / (1.0 - model.gamma)
    worst = float((excess / np.where(scale > 0.0, scale, 1.0)).max())
    if worst > 2.0 * FEASIBILITY:
        faults.append(f"a cost exceeds its tolerance by {worst:.3g} of its largest")
    return faults


def _proves(model: CMDP, error: InfeasibleError) -> bool:
    """Whether the ray proves infeasibility, in whole numbers."""
    if error.ray is None or (error.ray < 0.0).any():
        return False
    return _least_bound(model, error.ray, reward=False) < 0


def _bounds(model: CMDP, answer: CMDPSolution) -> bool:
    """Whether the upper bound holds: what no policy exceeds at the multipliers is not above it."""
    unit = Fraction(float(np.abs(model.r).max()) * ROUNDING / (1.0 - model.gamma))
    return _least_bound(model, answer.dual, reward=True) <= Fraction(answer.upper_bound) + unit


def _least_bound(model: CMDP, dual: np.ndarray, *, reward: bool) -> Fraction:
    """The Lagrangian bound in whole numbers, which holds whatever policy it starts from."""
    own, policy = WholeModel(model), np.zeros(model.num_states, np.int32)
    gains = (model.r if reward else 0.0) - np.tensordot(dual, model.f, axes=1)
    space = Workspace(model.T, reward=gains, mu=model.mu, gamma=model.gamma)
    unit = float(np.abs(gains).max()) / (1.0 - model.gamma)
    space.price(gains.ravel(), np.zeros(model.num_states), policy, tolerance=ROUNDING * unit)
    net = own.net(dual, reward=reward)
    _, v = own.best(net, policy)
    return own.bound(net, v, dual, paid=[Fraction(float(b)) for b in model.f0])


def _attains(model: CMDP, answer: CMDPSolution) -> bool:
    """Whether its policies are worth what it says and keep the tolerances, in whole numbers."""
    if answer.policies is None or answer.weights is None:
        return False
    own = WholeModel(model)
    worths = [Worth.of(own, policy) for policy in answer.policies]
    weights = [Fraction(float(weight)) for weight in answer.weights]
    value = sum((w * worth.value for w, worth in zip(weights, worths, strict=True)), Fraction(0))
    room = Fraction(ROUNDING * float(np.abs(model.r).max()) / (1.0 - model.gamma))
    scale = np.abs(model.f).max(axis=(1, 2)) / (1.0 - model.gamma)
    costs = [sum((w * worth.costs[k] for w, worth in zip(weights, worths, strict=True)),
                 Fraction(0)) for k in range(len(model.f0))]  # fmt: skip
    kept = all(cost <= Fraction(float(b)) + Fraction(2.0 * FEASIBILITY * float(s))
               for cost, b, s in zip(costs, model.f0, scale, strict=True))  # fmt: skip
    return kept and abs(value - Fraction(answer.value)) <= room


def float_optimum(model: CMDP) -> tuple[float | None, float]:
    """HiGHS's value by its simplex method, None where it finds none, and its seconds.

    It gets rewards and costs on one scale and its tightest tolerances.
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
