"""Releases tried out on paper: what they would achieve, with common random numbers.

A trial is a database and one uniform number per released entry. The same uniforms give the noise of
every budget by inversion, so that curves over ε are smooth and differences between budgets have
little variance; uniforms come in pairs u, 1 − u.

The databases of the *adviser* are public: drawn from the envelope, no data needed. The *planner*
puts the true database in their place and is for the curator only.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dp_cmdp import _check
from dp_cmdp._check import FloatArray, frozen
from dp_cmdp.advice.recovery import CONFIDENCE, share_interval
from dp_cmdp.metrics import Interval
from dp_cmdp.program.linear_program import solve
from dp_cmdp.program.parametric import ParametricLP
from dp_cmdp.theory.public_interval import harmful_ends
from dp_cmdp.theory.release_noise import ReleaseNoise
from dp_cmdp.theory.simulated_loss import simulated_values

POSITIONS = ("average", "middle", "harmless")


@dataclass(frozen=True, slots=True, eq=False)
class Trials:
    """Databases to try, what is best for each, and what the robust answer gets.

    Attributes
    ----------
    program : ParametricLP
    databases : FloatArray, (draws, entries)
    optimum, robust : FloatArray, (draws,)
        Value of the best answer, and of the answer that uses no data: feasible for the whole
        envelope, best for the objective at mid-envelope.
    """

    program: ParametricLP
    databases: FloatArray
    seed: int
    optimum: FloatArray
    robust: FloatArray

    @classmethod
    def of(cls, program: ParametricLP, databases: FloatArray, *, seed: int) -> Trials:
        """Solve each database exactly and robustly."""
        envelope = program.envelope
        lp = program.robust(envelope.lower, envelope.upper)
        x = solve(lp, certify=False).x[: program.num_variables]
        optimum, robust, known = [], [], {}
        for theta in databases:
            key = theta.tobytes()
            if key not in known:
                truth = program.at(theta)
                known[key] = solve(truth, certify=False).objective, float(truth.c @ x)
            best, without = known[key]
            optimum.append(best)
            robust.append(without)
        return cls(program, frozen(np.array(databases)), seed, np.array(optimum), np.array(robust))

    @property
    def draws(self) -> int:
        return self.databases.shape[0]

    def achieved(self, noise: ReleaseNoise) -> FloatArray:
        """c(θ)ᵀx̃ of every trial under the given noise."""
        uniforms = paired_uniforms(self.draws, noise.size, seed=self.seed)
        return simulated_values(noise, self.databases, uniforms)

    def recovery(self, noise: ReleaseNoise, *, confidence: float = CONFIDENCE) -> Interval:
        """Share of what the robust answer loses that a release wins back; at most 1.

        Below 0 the release is worse than no data; 1 when there is nothing to lose.
        """
        lost = self.optimum - self.robust
        scale = 1e-9 * (1.0 + float(np.abs(self.optimum).mean()))
        if float(lost.mean()) <= scale:
            return Interval(1.0, 1.0, 1.0, self.draws)
        return share_interval(self.achieved(noise) - self.robust, lost, confidence=confidence)


def crossing(reached: Callable[[float], bool], ends: tuple[float, float], *, step: float) -> float:
    """The least ε of a range at which something is `reached`, by bisection to a `step` of ln ε.

    0 when the first end reaches it, ∞ when the last does not. What trials say of ε is nearly
    monotone because they share their uniforms.
    """
    first, last = ends
    if not reached(last):
        return math.inf
    if reached(first):
        return 0.0
    low, high = math.log(first), math.log(last)
    while high - low > step:
        middle = (low + high) / 2
        low, high = (low, middle) if reached(math.exp(middle)) else (middle, high)
    return math.exp(high)


def paired_uniforms(draws: int, size: int, *, seed: int) -> FloatArray:
    """Uniform numbers in antithetic pairs: rows 2i and 2i + 1 add up to 1."""
    half = np.random.default_rng([seed, size]).random(((draws + 1) // 2, size))
    return np.stack([half, 1.0 - half], axis=1).reshape(-1, size)[:draws]


def reference_databases(
    program: ParametricLP, *, position: str, draws: int, seed: int
) -> FloatArray:
    """Public databases to reason about.

    Parameters
    ----------
    program : ParametricLP
    position : {"average", "middle", "harmless"}
        Every entry uniform over its interval; at its middle; or at the end that tightens no row
        (the middle when both do), where a release has most to win.

    Notes
    -----
    **Privacy.** *Public*.
    """
    _check.one_of("position", position, POSITIONS)
    envelope = program.envelope
    if position == "average":
        share = paired_uniforms(draws, envelope.num_entries, seed=seed + 1)
        return envelope.lower + share * (envelope.upper - envelope.lower)
    middle = (envelope.lower + envelope.upper) / 2
    return np.tile(middle if position == "middle" else harmless_values(program), (draws, 1))


def harmless_values(program: ParametricLP) -> FloatArray:
    """Every entry at the end of its interval that tightens no row; in the middle when both do."""
    low, high = harmful_ends(program)
    lower, upper = program.envelope.lower, program.envelope.upper
    return np.where(low == high, (lower + upper) / 2, np.where(high, lower, upper))
