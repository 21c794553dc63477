"""What would make a private release worth its budget, computed from public data.

Certain feasibility costs much when one entry may change by much of its range: the answer must then
be safe for the changed database too. Four things can change that: a smaller radius (a weaker
promise per person), a larger δ, a larger tolerance (right-hand sides), and fewer candidates
(entries that are known to be harmless).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dp_cmdp.accounting.budget import PrivacyBudget
from dp_cmdp.advice.recovery import CONFIDENCE
from dp_cmdp.advice.trials import Trials, harmless_values
from dp_cmdp.data.affine import IntArray
from dp_cmdp.data.envelope import Envelope
from dp_cmdp.metrics import Interval
from dp_cmdp.program.linear_program import Solution, solve
from dp_cmdp.program.parametric import ParametricLP
from dp_cmdp.theory.release_noise import ReleaseNoise, release_noise


@dataclass(frozen=True, slots=True)
class Remedy:
    """One change and its effect.

    Attributes
    ----------
    change : str
    measure : str
        What is compared: ``"recovered"`` (share of the robust answer's loss that a release wins
        back) or ``"robust value"`` (at mid-envelope objective; no release at all).
    before, after : Interval
        With confidence intervals of what trials say; a robust value is certain.
    """

    change: str
    measure: str
    before: Interval
    after: Interval


def remedies(
    trials: Trials, budget: PrivacyBudget, *, confidence: float = CONFIDENCE
) -> tuple[Remedy, ...]:
    """The effect of a smaller radius, a larger δ, more tolerance and fewer candidates.

    Notes
    -----
    **Privacy.** *Post-processing* of its `trials`, which are public.
    """
    program = trials.program

    def recovery(noise: ReleaseNoise) -> Interval:
        return trials.recovery(noise, confidence=confidence)

    now = recovery(release_noise(program, budget))
    found = [
        Remedy(
            f"radius times {factor:g}",
            "recovered",
            now,
            recovery(release_noise(program, budget, radius=factor * program.envelope.radius)),
        )
        for factor in (0.5, 0.1)
    ]
    larger = min(10 * budget.delta, PrivacyBudget(1, "1/2").delta)
    if larger > budget.delta:
        wider = recovery(release_noise(program, PrivacyBudget(budget.epsilon, larger)))
        found.append(Remedy(f"delta {float(larger):g}", "recovered", now, wider))
    return (*found, *_robust_remedies(program))


def _robust_remedies(program: ParametricLP) -> list[Remedy]:
    low, high = program.envelope.lower, program.envelope.upper
    lp = program.robust(low, high)
    base = solve(lp, certify=False)
    rows = slice(program.A.shape[0])
    b = np.array(lp.b)
    b[rows] += 0.1 * np.abs(b[rows])
    found = []
    if (b != lp.b).any():
        after = solve(replace(lp, b=b), certify=False).objective
        change = "sensitive right-hand sides 10 % larger"
        found.append(Remedy(change, "robust value", _certain(base.objective), _certain(after)))
    costly = costliest_entries(program, base)
    if costly.size:
        known = np.isin(np.arange(low.size), costly)
        ends = (np.where(known, harmless_values(program), end) for end in (low, high))
        fewer = program.robust(*ends, estimate=(low + high) / 2)
        after = solve(fewer, certify=False).objective
        names = ", ".join(entry_name(program.envelope, k) for k in costly)
        change = f"known to be harmless: {names}"
        found.append(Remedy(change, "robust value", _certain(base.objective), _certain(after)))
    return found


def _certain(value: float) -> Interval:
    return Interval(value, value, value, 1)


def costliest_entries(program: ParametricLP, solution: Solution, *, count: int = 3) -> IntArray:
    """The entries whose uncertainty costs the robust answer most, by shadow prices.

    Entry k costs about Σ_i μ_i |w_ik(x)| (hi_k − lo_k), μ the dual of the robust program.
    """
    pairs, width = program.uncertain_rows, program.envelope.upper - program.envelope.lower
    w = np.zeros((program.A.shape[0], width.size))
    w[pairs.row, pairs.entry] = pairs.weights(solution.x)
    cost = solution.dual[: w.shape[0]] @ np.abs(w) * width
    order = np.argsort(-cost, kind="stable")[:count]
    return order[cost[order] > 1e-9 * (1.0 + abs(solution.objective))]


def entry_name(envelope: Envelope, entry: int) -> str:
    """Group and position of a database entry, as text."""
    for name, _ in envelope.groups:
        index = envelope.index(name)
        if index.ravel()[0] <= entry <= index.ravel()[-1]:
            where = np.unravel_index(int(entry - index.ravel()[0]), index.shape)
            return f"{name}[{', '.join(str(int(i)) for i in where)}]"
    return f"entry {entry}"
