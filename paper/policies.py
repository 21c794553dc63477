"""Algorithm 1 on constrained MDPs: noise on every cost (state, action) and on every limit.

The blocks A and b of the occupancy program are the costs and the limits; the reward is public. One
severity sits in as many entries of A as there are actions.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from scipy import sparse

import dp_cmdp as dp
from paper.baselines.perturb import Perturbed, perturb
from paper.blocks import allocated, entrywise
from paper.linear import Floats


@lru_cache(maxsize=16)
def occupancy_program(model: dp.ParametricCMDP) -> dp.ParametricLP:
    """The linear program of the occupancy measures x(s, a)."""
    states, actions = model.num_states, model.num_actions
    arrive = sparse.kron(sparse.eye_array(states), np.ones((1, actions)))
    return dp.ParametricLP(
        maximize=model.r.ravel(),
        A=model.cost,
        b=model.limit,
        A_eq=sparse.csr_array(arrive - model.gamma * model.T.T),
        b_eq=model.start,
    )


@lru_cache(maxsize=16)
def entrywise_policies(model: dp.ParametricCMDP, *, own_records: bool) -> dp.ParametricCMDP:
    """The model over its costs and limits; with `own_records` each of them is one person's."""
    whole = entrywise(occupancy_program(model))
    envelope, part = whole.program.envelope, whole.part
    if own_records:
        sizes = [group.size for group in envelope.groups]
        ends = zip(np.cumsum([0, *sizes[:-1]]).tolist(), np.cumsum(sizes).tolist(), strict=True)
        envelope = dp.Envelope.join(
            {
                group.name: dp.Envelope(
                    envelope.lower[a:b], envelope.upper[a:b], radius=envelope.radius[a:b]
                )
                for group, (a, b) in zip(envelope.groups, ends, strict=True)
            }
        )
    shape = model.r.shape
    row, pair, _ = part.A.places
    public, limits = part.A.public.toarray(), part.b.constant.toarray().ravel()
    limit_row = part.b.places[0].tolist()
    costs: dict[str, Any] = {}
    for i, name in enumerate(model.names):
        own = np.flatnonzero(row == i)
        cost: Any = public[i].reshape(shape)
        if own.size:
            at = np.divmod(pair[own], shape[1])
            cost = dp.Affine.sparse(envelope["A"][own], at, shape=shape, constant=cost)
        private = i in limit_row
        limit: Any = envelope["b"][limit_row.index(i)] if private else float(limits[i])
        costs[name] = dp.PrivateCost(cost, limit)
    return dp.ParametricCMDP(model.T, model.r, gamma=model.gamma, start=model.start, costs=costs)


def perturbed_costs(
    model: dp.ParametricCMDP,
    values: Floats,
    budget: dp.PrivacyBudget,
    *,
    alphas: Mapping[str, Fraction],
    rng: np.random.Generator,
    own_records: bool = False,
) -> tuple[dp.ParametricCMDP, Perturbed]:
    """The entrywise model, and what is known of its entries: blocks without a share leak."""
    made = entrywise_policies(model, own_records=own_records)
    shares = allocated(budget, alphas)
    whole = entrywise(occupancy_program(model))
    return made, perturb(whole, values, shares, envelope=made.envelope, rng=rng)


def kept(model: dp.ParametricCMDP, values: Floats, policy: dp.Policy) -> bool:
    """Whether a policy is proved to keep the true limits."""
    return bool(model.certify(policy, dp.extend.UncertaintySet.box(values, values)))


def optimum(model: dp.ParametricCMDP, values: Floats) -> float:
    """The value of the best policy for the true database."""
    return float(model.answer(dp.extend.UncertaintySet.box(values, values), values).value)
