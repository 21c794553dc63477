"""The ad auction with private prices, as a linear program; its code is shown in the page."""

import numpy as np

import dp_cmdp as dp


def auction(groups: int, advertisers: int, radius: float) -> dp.ParametricLP:
    """Visits of page groups are sold to advertisers, who pay a private price per visit each."""
    labels = {"group": range(groups), "advertiser": range(advertisers)}
    theta = dp.Envelope.join({"price": dp.Envelope(0, 1, radius=radius, labels=labels)})
    group, advertiser = np.indices((groups, advertisers)).reshape(2, -1)
    pair = np.arange(group.size)
    visitors = np.zeros((advertisers + groups, pair.size))
    visitors[advertisers + group, pair] = 1  # Σ_j x_ij ≤ visitors of group i
    price = theta["price"].reshape(-1)  # Σ_i price_ij x_ij ≤ budget of advertiser j
    rows = dp.Affine.sparse(price, (advertiser, pair), shape=visitors.shape, constant=visitors)
    most = np.full(advertisers + groups, 1e7)
    return dp.ParametricLP(maximize=price, A=rows, b=most, variables=labels)
