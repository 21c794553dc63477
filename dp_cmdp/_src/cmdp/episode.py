"""A policy over the steps of a horizon: backwards for values and costs, forwards for visits.

**Costs.** V_H = 0, V_t = f_π + γT_πV_{t+1}, with rows of T and π divided by their sums. Each float
is raised by γ_m times the same sums with moduli (m roundings: Higham), plus 2⁻¹⁰⁰⁰, and to the next
float, so V_t is never below the exact one; it is left at exactly 0 only where no term is different
from 0, so that an underflow is not taken for absence.

**Visits.** Costs do not depend on the step, so only x(s, a) = Σ_t γ^t P(s_t = s, a_t = a) matters.
All terms are non-negative, so x̂ has a small relative error in every entry: each state's is bounded
by the number M of roundings on a path there, η = Mu/(1 − 2Mu). A state that cannot be left, as the
one after an episode's end, passes no error on. What underflows is added: its mass is lost, no more.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import ClassVar, Literal

import numpy as np

from dp_cmdp._src.base.validation import FloatArray
from dp_cmdp._src.cmdp.model import CMDP, MDP
from dp_cmdp._src.cmdp.policy import Policy, Step
from dp_cmdp._src.cmdp.solvers.steps import UNDERFLOW, UNIT, Stepper


class EpisodeChain:
    """The steps of `policy` in the episodes of `mdp`, which have a horizon."""

    #: What a certificate says is limited.
    subject: ClassVar[Literal["cost per episode"]] = "cost per episode"

    def __init__(self, mdp: MDP, policy: Policy, stepper: Stepper | None = None) -> None:
        self.policy, self._mdp = policy, mdp
        self._horizon = mdp.horizon or 0
        self._stepper = Stepper(mdp) if stepper is None else stepper
        same = policy._step(0) if policy.horizon is None else None
        self.step: Callable[[int], Step] = policy._step if same is None else lambda t: same

    def backward(self, costs: FloatArray, *, certain: bool = False) -> FloatArray:
        """Costs (K, states) from each state at the first step, of tables (K, states, actions)."""
        table = np.ascontiguousarray(costs.reshape(len(costs), -1).T, np.float64)
        value = np.zeros((self._mdp.num_states, len(costs)))
        for t in reversed(range(self._horizon)):
            value = self._stepper.costs(self.step(t), table, value, certain=certain)
        return value.T

    def table_values(self, table: FloatArray) -> FloatArray:
        """Values from each state of a (states, actions) table of rewards."""
        return self.backward(table[None])[0]

    def largest_value(self, table: FloatArray) -> float:
        """No value of the table is larger in modulus, at any step."""
        return self._mdp.steps * float(np.abs(table).max())

    def occupancy(self, guess: FloatArray | None = None) -> FloatArray:
        """x(s, a): expected visits of pairs, step t at weight γ^t."""
        x, visits, weight = np.zeros(self._mdp.r.size), self._mdp.start.copy(), 1.0
        visits /= math.fsum(visits)
        for t in range(self._horizon):
            visits = self._stepper.visits(self.step(t), visits, x, weight)
            weight *= self._mdp.gamma
        return x.reshape(self._mdp.r.shape)

    def visits(self) -> Iterator[FloatArray]:
        """Where the agent is, step by step: a distribution of the states."""
        now = self._mdp.start / math.fsum(self._mdp.start)
        for t in range(self._horizon):
            yield now
            now = self._stepper.visits(self.step(t), now)

    def occupancy_within(self) -> tuple[FloatArray, FloatArray]:
        """x̂, and per pair a certain bound on what it is off by."""
        x, mdp = self.occupancy(), self._mdp
        into = np.bincount(mdp.T.indices, minlength=mdp.num_states)
        origin = np.repeat(np.arange(mdp.num_states), np.diff(mdp.T.indptr[:: mdp.num_actions]))
        kept = np.bincount(origin[mdp.T.indices != origin], minlength=mdp.num_states) == 0
        longest = int(np.diff(mdp.T.indptr).max())
        passed = int(into[~kept].max(initial=0)) + longest + mdp.num_actions + 6
        own = np.where(kept, into, 0) + passed
        roundings = (self._horizon + 1) * own + 2 * self._horizon + np.count_nonzero(mdp.start) + 8
        share = roundings * UNIT / (1.0 - 2.0 * roundings * UNIT) * (1.0 + 8.0 * UNIT)
        return x, np.nextafter(share[:, None] * x + UNDERFLOW, np.inf)

    def cost_bounds(self, cmdp: CMDP, policy: Policy) -> FloatArray:
        """Upper bounds (K,) on the exact costs of `policy`, of the same dynamics."""
        own = self if policy is self.policy else EpisodeChain(cmdp, policy, self._stepper)
        values = own.backward(cmdp.cost, certain=True)
        return np.array([mean_above(cmdp.start, value) for value in values])


def mean_above(start: FloatArray, values: FloatArray) -> float:
    """startᵀvalues/Σ start, rounded up."""
    products, total = start * values, math.fsum(start)
    modulus = math.fsum(np.abs(products)) / total
    if not math.isfinite(modulus):
        return math.inf
    mean = math.fsum(products) / total
    if not values[start > 0.0].any():
        return mean
    error = math.nextafter(8.0 * UNIT * modulus + UNDERFLOW, math.inf)
    return math.nextafter(mean + error, math.inf)
