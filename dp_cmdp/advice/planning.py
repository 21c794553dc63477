"""The smallest ε that reaches a target cost of privacy on the true data: for the curator.

The cost ξ(ε) = (v* − E[cᵀx̃])/|v*| is estimated on trials that share their uniform numbers over all
ε, so the estimated curve is (nearly) decreasing and its crossing with the target is found by
bisection on ln ε. The interval asks the same of the ends of the confidence interval of the mean:
from its upper end on the target is met with confidence, below its lower end it is missed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np

from dp_cmdp import _check
from dp_cmdp._door import door
from dp_cmdp.accounting.budget import Number, PrivacyBudget, weak_budgets
from dp_cmdp.advice.recovery import pair_means
from dp_cmdp.advice.trials import Trials, crossing
from dp_cmdp.cmdp.parametric import ParametricCMDP
from dp_cmdp.data.curator import CuratorOnly
from dp_cmdp.data.database import Database
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.metrics import Interval, mean_interval
from dp_cmdp.program.parametric import ParametricLP
from dp_cmdp.theory.public_interval import as_program
from dp_cmdp.theory.release_noise import release_noise


@dataclass(frozen=True, slots=True)
class EpsilonPlan:
    """The smallest ε found: *curator only*, because it depends on the data.

    Attributes
    ----------
    epsilon, low, high : CuratorOnly
        The estimate and its interval; ∞ where no ε of the range reaches the target, 0 where even
        the smallest does.
    cost : Interval
        Cost of privacy at `epsilon` (or at the largest ε when that is infinite).
    robust_cost : CuratorOnly
        Cost of the robust answer, which spends nothing.
    target : float
    delta : float
    draws : int

    Examples
    --------
    >>> from dp_cmdp import Affine, Database, Envelope, ParametricLP
    >>> from dp_cmdp.advice.planning import smallest_epsilon
    >>> price = Affine((1, 2), at=([0, 0], [0, 1]), entry=[0, 1])
    >>> program = ParametricLP(Envelope(1, 2, radius=0.02, shape=2), c=[3, 2], A=price, b=[8])
    >>> database = Database([1.2, 1.1], program.envelope)
    >>> plan = smallest_epsilon(program, database, delta="1/1000", target=0.1, draws=16)
    >>> plan.reachable, plan.target, plan.delta
    (True, 0.1, 0.001)
    """

    epsilon: CuratorOnly
    low: CuratorOnly
    high: CuratorOnly
    cost: Interval
    robust_cost: CuratorOnly
    target: float
    delta: float
    draws: int

    @property
    def reachable(self) -> bool:
        return math.isfinite(self.epsilon)


@door
def smallest_epsilon(
    program: ParametricLP | ParametricCMDP,
    database: Database,
    *,
    delta: Number,
    target: float,
    mechanism: str = "database",
    alphas: Mapping[str, Number] | None = None,
    draws: int = 64,
    seed: int = 0,
    confidence: float = 0.95,
    epsilons: tuple[float, float] = (0.01, 100.0),
) -> EpsilonPlan:
    """The smallest ε whose mean cost of privacy is at most `target`.

    Parameters
    ----------
    program : ParametricLP or ParametricCMDP
    database : Database
    delta : number
    target : float
        Relative loss, for example 0.1 for 10 %.
    mechanism, alphas
        The release, see :func:`dp_cmdp.theory.release_noise.release_noise`.
    draws, seed : int
        Trials (in antithetic pairs) and the seed of their common random numbers.
    confidence : float
    epsilons : pair of float
        The range searched.

    Notes
    -----
    **Paper.** The use of ``prob:accurate``. **Privacy.** *Curator only*. Choosing ε by looking at
    the data is itself not private: publish the plan's target, not its ε, or choose ε from
    :func:`dp_cmdp.advice.adviser.advise`, which is public.

    Examples
    --------
    >>> from dp_cmdp import Affine, Database, Envelope, ParametricLP
    >>> from dp_cmdp.advice.planning import smallest_epsilon
    >>> price = Affine((1, 2), at=([0, 0], [0, 1]), entry=[0, 1])
    >>> program = ParametricLP(Envelope(1, 2, radius=0.02, shape=2), c=[3, 2], A=price, b=[8])
    >>> database = Database([1.2, 1.1], program.envelope)
    >>> plan = smallest_epsilon(program, database, delta="1/1000", target=0.1, draws=16)
    >>> plan.reachable, bool(plan.low <= plan.epsilon <= plan.high)
    (True, True)
    """
    lp = as_program(program)
    lp.check_owns(database)
    goal = _check.real("target", target, low=0.0)
    if len(epsilons) != 2:
        raise InvalidArgumentError("epsilons must hold two numbers, the lowest and the highest")
    first, last = (_check.real("epsilons", end, low=1e-6, high=1e4) for end in epsilons)
    count, seed = _check.size("draws", draws, low=4), _check.seed("seed", seed)
    _check.real("confidence", confidence, low=0.5, high=0.999999)
    # refuses what is bad
    release_noise(lp, PrivacyBudget(1, delta), mechanism=mechanism, alphas=alphas)
    trials = Trials.of(lp, np.tile(database.values, (count, 1)), seed=seed)
    best = float(trials.optimum[0])
    if best == 0.0:
        raise InvalidArgumentError("the relative loss has no meaning: the best value is 0")

    @cache
    @weak_budgets()
    def cost(epsilon: float) -> Interval:
        budget = PrivacyBudget(epsilon, delta)
        noise = release_noise(lp, budget, mechanism=mechanism, alphas=alphas)
        loss = (best - trials.achieved(noise)) / abs(best)
        return mean_interval(pair_means(loss), confidence=confidence)

    epsilon, low, high = (
        crossing(lambda e, part=part: getattr(cost(e), part) <= goal, (first, last), step=0.02)
        for part in ("mean", "low", "high")
    )
    at = cost(min(max(epsilon, first), last))
    return EpsilonPlan(
        epsilon=CuratorOnly(epsilon),
        low=CuratorOnly(low),
        high=CuratorOnly(high),
        cost=Interval(CuratorOnly(at.mean), CuratorOnly(at.low), CuratorOnly(at.high), count),
        robust_cost=CuratorOnly((best - float(trials.robust[0])) / abs(best)),
        target=goal,
        delta=float(PrivacyBudget(1, delta).delta),
        draws=count,
    )
