"""The ad auction of the paper (``opt:EX1``).

N groups of pages with n_i visitors, M advertisers. Advertiser j pays p_ij per visit of group i and
at most its budget: maximise Σ p_ij x_ij subject to Σ_i p_ij x_ij ≤ b_j and Σ_j x_ij ≤ n_i (public).
Prices and budgets are private. A price is 0 with probability 0.2 and uniform on [0, 1] otherwise.
The rows are the budgets first, then the visitors.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from scipy import sparse

import dp_cmdp as dp
from paper.linear import Floats

#: Visitors per group and budget per advertiser, as in Muñoz Medina et al. 2021.
VISITORS = 1e7
BUDGET = 1e7
DELTA = "1/10"
THIRD = "1/3"


@lru_cache(maxsize=32)
def ad_auction(
    num_groups: int = 10,
    num_advertisers: int = 5,
    *,
    price_radius: float = 0.1,
    budget_radius: float = 1.0,
    private_budgets: bool = True,
) -> dp.ParametricLP:
    """The auction with private prices in [0, 1] and private budgets within 10 % of 1e7.

    With ``private_budgets=False`` only prices are private (the paper's case (i)); budgets are 1e7.
    """
    N, M = num_groups, num_advertisers
    parts = {"prices": dp.Envelope(0.0, 1.0, radius=price_radius, shape=(N, M))}
    if private_budgets:
        parts["budgets"] = dp.Envelope(0.9 * BUDGET, 1.1 * BUDGET, radius=budget_radius, shape=M)
    envelope = dp.Envelope.join(parts)
    private = {"A": envelope["prices"], "c": envelope["prices"]}
    if private_budgets:
        private["b"] = envelope["budgets"]
    return auction(private, prices=np.zeros((N, M)), budget=BUDGET, visitors=VISITORS)


@lru_cache(maxsize=32)
def growing_auction(
    num_groups: int, num_advertisers: int = 5, *, radius: float = 0.1
) -> dp.ParametricLP:
    """An auction whose budgets grow with it: private prices in [0, 1], one visitor per group.

    Every budget is publicly a tenth of the visitors, and 1 for up to ten groups.
    """
    N, M = num_groups, num_advertisers
    envelope = dp.Envelope.join({"prices": dp.Envelope(0.0, 1.0, radius=radius, shape=(N, M))})
    private = {"A": envelope["prices"], "c": envelope["prices"]}
    return auction(private, prices=np.zeros((N, M)), budget=max(1.0, 0.1 * N))


def auction(
    private: Mapping[str, dp.Affine], *, prices: Any, budget: float = 1.0, visitors: float = 1.0
) -> dp.ParametricLP:
    """An auction in which the prices in "A" and "c" and the budgets "b" are private, or public."""
    public = np.asarray(prices, dtype=float)
    N, M = public.shape
    group, advertiser = np.indices((N, M))
    x = (group * M + advertiser).ravel()
    shape, at = (M + N, N * M), (advertiser.ravel(), x)
    supply = sparse.coo_array(sparse.kron(sparse.eye_array(N), np.ones((1, M))))
    served = sparse.csr_array((supply.data, (supply.row + M, supply.col)), shape=shape)
    spent = sparse.csr_array((public.ravel(), at), shape=shape)
    limits = np.concatenate([np.full(M, 0.0 if "b" in private else budget), np.full(N, visitors)])
    A: Any = served + spent
    if "A" in private:
        A = dp.Affine.sparse(private["A"].reshape(N * M), at, shape=shape, constant=served)
    b: Any = np.eye(M + N, M) @ private["b"] + limits if "b" in private else limits
    c: Any = private["c"].reshape(N * M) if "c" in private else public.ravel()
    return dp.ParametricLP(maximize=c, A=A, b=b)


def random_prices(shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
    """0 with probability 0.2, uniform on [0, 1] otherwise."""
    return np.where(rng.random(shape) < 0.2, 0.0, rng.random(shape))


def random_auction(program: dp.ParametricLP, rng: np.random.Generator) -> Floats:
    """Prices as the paper draws them; budgets are 1e7."""
    shape = next(group.shape for group in program.envelope.groups if group.name == "prices")
    prices = random_prices(shape, rng).ravel()
    return np.concatenate([prices, np.full(program.envelope.size - prices.size, BUDGET)])


def split(alpha_c: str) -> dict[str, Fraction]:
    """α_c for the objective, the rest shared equally by A and b."""
    rest = (1 - Fraction(alpha_c)) / 2
    return {"A": rest, "b": rest, "c": Fraction(alpha_c)}
