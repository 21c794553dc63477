"""What a policy earns, costs and visits, by linear algebra.

For the chain of π (:mod:`dp_cmdp._src.cmdp.chain`) the value function solves (I − γP_π)v = r_π,
each cost function solves the same system with cost_π, and the occupancy measure is
x(s, a) = d(s)·π(a|s) with (I − γP_π)ᵀd = start. All in floating point; bounds that hold with
certainty are those of :func:`dp_cmdp.certify`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dp_cmdp._src.base.validation import FloatArray, frozen, validated
from dp_cmdp._src.cmdp.chain import chain_of, fitted
from dp_cmdp._src.cmdp.model import CMDP
from dp_cmdp._src.cmdp.policy import Policy


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Evaluation:
    """What a policy earns, costs and visits.

    Attributes
    ----------
    value : float
        Reward from the start: discounted, or per episode, as the model sums.
    costs, slack : (K,)
        Costs from the start, summed alike, and limits minus them.
    occupancy : (num_states, num_actions)
        Expected visits of every pair, weighed alike; with a discount they sum to 1/(1 − γ).
    value_function : (num_states,)
        Reward from each state.
    cost_functions : (K, num_states)
        Costs from each state.
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


@validated
def evaluate(cmdp: CMDP, policy: Policy) -> Evaluation:
    """What a policy earns, costs and visits in a CMDP.

    Parameters
    ----------
    cmdp : CMDP
        The model to evaluate in; it need not be the one the policy was computed from.
    policy : Policy
        One row per state of `cmdp`; that of the time after an episode's end may be left out.

    Returns
    -------
    Evaluation
        Value, costs, slack of each limit and occupancy.

    Raises
    ------
    InvalidArgumentError
        If the policy has other states or actions than the model.

    Notes
    -----
    **Paper.** ``def:cmdp``, with the occupancy measure of its linear program recomputed from π.
    **Privacy.** *Post-processing* of a public `cmdp`; curator only on the true one.

    Examples
    --------
    >>> import dp_cmdp as dp
    >>> T = [[[1, 0], [0, 1]], [[0, 1], [1, 0]]]  # action 1 changes the state
    >>> cmdp = dp.CMDP(T, [[0, 0], [1, 1]], cost=[[0, 0], [1, 1]], limit=1.5, gamma=0.5)
    >>> found = dp.evaluate(cmdp, dp.Policy.deterministic([1, 0], 2))  # go there and stay
    >>> round(found.value, 6), found.costs.round(6), found.slack.round(6)
    (1.0, array([1.]), array([0.5]))
    """
    policy = fitted(policy, cmdp)
    chain = chain_of(cmdp, policy)
    value_function = chain.table_values(cmdp.r)
    cost_functions = np.array([chain.table_values(cost) for cost in cmdp.cost])
    costs = cost_functions @ cmdp.start
    return Evaluation(
        value=float(cmdp.start @ value_function),
        costs=frozen(costs),
        slack=frozen(cmdp.limit - costs),
        occupancy=frozen(chain.occupancy()),
        value_function=frozen(value_function),
        cost_functions=frozen(cost_functions),
    )
