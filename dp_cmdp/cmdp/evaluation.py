"""Exact evaluation of a policy.

For the chain of π (:mod:`dp_cmdp.cmdp.chain`) the value function solves (I − γP_π)v = r_π, each
cost function solves the same system with f_π, and the occupancy measure is
x(s, a) = d(s)·π(a|s) with (I − γP_π)ᵀd = μ. "Exact" means by linear algebra instead of simulation,
in floating point; bounds that hold with certainty are in :mod:`dp_cmdp.cmdp.certificate`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dp_cmdp import _check
from dp_cmdp._check import FloatArray
from dp_cmdp._door import door
from dp_cmdp.cmdp.chain import DiscountedChain
from dp_cmdp.cmdp.model import CMDP
from dp_cmdp.cmdp.policy import Policy


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Evaluation:
    """What a policy earns, costs and visits.

    Attributes
    ----------
    value : float
        Discounted reward from s_0 ~ μ.
    costs, slack : (K,)
        Discounted costs from s_0 ~ μ, and f0 minus them.
    occupancy : (num_states, num_actions)
        Discounted visits of every pair; sums to 1/(1 − γ).
    value_function : (num_states,)
        Discounted reward from each state.
    cost_functions : (K, num_states)
        Discounted costs from each state.

    Examples
    --------
    >>> from dp_cmdp import CMDP, Policy, evaluate
    >>> cmdp = CMDP([[[1.0], [1.0]]], [[1, 0]], f=[[1, 0]], f0=[1], mu=[1], gamma=0.5)
    >>> evaluate(cmdp, Policy([[0.25, 0.75]])).slack.round(6)  # f0 minus the cost
    array([0.5])
    """

    value: float
    costs: FloatArray
    slack: FloatArray
    occupancy: FloatArray
    value_function: FloatArray
    cost_functions: FloatArray

    def __repr__(self) -> str:
        with np.printoptions(precision=6, threshold=6):
            return f"Evaluation(value={self.value:.6g}, costs={self.costs}, slack={self.slack})"


@door
def evaluate(cmdp: CMDP, policy: Policy) -> Evaluation:
    """Evaluate `policy` in `cmdp` by solving its linear systems.

    Parameters
    ----------
    cmdp : CMDP
        The model to evaluate in; it need not be the one the policy was computed from.
    policy : Policy
        One row per state of `cmdp`.

    Returns
    -------
    Evaluation

    Notes
    -----
    **Paper.** ``def:cmdp``, with the occupancy measure of its linear program recomputed from π.
    **Privacy.** *Post-processing* of a public `cmdp`; curator only on the true one.

    Examples
    --------
    >>> import numpy as np
    >>> from dp_cmdp import CMDP, Policy, evaluate
    >>> T = np.array([[[1, 0], [0, 1]], [[0, 1], [1, 0]]])  # action 1 changes the state
    >>> r = f = np.array([[0, 0], [1, 1]])
    >>> cmdp = CMDP(T, r, f=f, f0=[1.5], mu=[1, 0], gamma=0.5)
    >>> found = evaluate(cmdp, Policy.deterministic([1, 0], 2))  # go there and stay
    >>> round(found.value, 6), found.costs.round(6), found.slack.round(6)
    (1.0, array([1.]), array([0.5]))
    """
    chain = DiscountedChain(cmdp, policy)
    value_function = chain.values(chain.average(cmdp.r))
    cost_functions = np.array([chain.values(chain.average(cost)) for cost in cmdp.f])
    visits = np.maximum(chain.visits(cmdp.mu), 0.0)
    costs = cost_functions @ cmdp.mu
    return Evaluation(
        value=float(cmdp.mu @ value_function),
        costs=_check.frozen(costs),
        slack=_check.frozen(cmdp.f0 - costs),
        occupancy=_check.frozen(visits[:, None] * policy.probs),
        value_function=_check.frozen(value_function),
        cost_functions=_check.frozen(cost_functions),
    )
