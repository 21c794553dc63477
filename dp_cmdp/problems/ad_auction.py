"""The ad auction of the paper (``opt:EX1``).

N groups of pages with n_i visitors, M advertisers. Advertiser j pays p_ij per visit of group i and
at most its budget: maximise Σ p_ij x_ij subject to Σ_j x_ij ≤ n_i (public) and Σ_i p_ij x_ij ≤ b_j.
Prices and budgets are private. A price is 0 with probability 0.2 and uniform on [0, 1] otherwise.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from dp_cmdp import _check
from dp_cmdp._door import door
from dp_cmdp.accounting.budget import exact
from dp_cmdp.data.affine import Affine
from dp_cmdp.data.database import Database
from dp_cmdp.data.envelope import Envelope
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.program.parametric import ParametricLP

if TYPE_CHECKING:
    pass

VISITORS = 1e7
BUDGET = 1e7
DELTA = "1/10"
THIRD = "1/3"


@door
@lru_cache(maxsize=32)
def ad_auction_program(
    num_groups: int = 10,
    num_advertisers: int = 5,
    *,
    price_radius: float = 0.1,
    budget_radius: float = 1.0,
    private_budgets: bool = True,
) -> ParametricLP:
    """The auction with private prices in [0, 1] and private budgets within 10 % of 1e7.

    With ``private_budgets=False`` only the prices are private (case (i) of the paper) and every
    budget is publicly 1e7.

    Notes
    -----
    **Paper.** ``opt:EX1``. **Privacy.** *Public*.
    """
    N = _check.size("num_groups", num_groups, low=1)
    M = _check.size("num_advertisers", num_advertisers, low=1)
    parts = {"prices": Envelope(0.0, 1.0, radius=price_radius, shape=(N, M))}
    if private_budgets:
        parts["budgets"] = Envelope(0.9 * BUDGET, 1.1 * BUDGET, radius=budget_radius, shape=M)
    envelope = Envelope.join(parts)
    price, place = envelope.index("prices"), np.arange(M)
    group, advertiser = np.indices((N, M))
    x = group * M + advertiser
    return ParametricLP(
        envelope,
        c=Affine(N * M, at=x, entry=price),
        A=Affine((M, N * M), at=(advertiser, x), entry=price),
        b=Affine(M, at=place, entry=envelope.index("budgets"))
        if private_budgets
        else np.full(M, BUDGET),
        A_ub=_supply(N, M),
        b_ub=np.full(N, VISITORS),
        row_names=[f"budget of advertiser {j}" for j in range(M)],
    )


def _supply(num_groups: int, num_advertisers: int):
    from scipy import sparse

    return sparse.kron(sparse.eye_array(num_groups), np.ones((1, num_advertisers)), format="csr")


@door
def random_auction(program: ParametricLP, rng: np.random.Generator) -> Database:
    """Draw prices as the paper does; budgets are 1e7: *curator only*."""
    groups = dict(program.envelope.groups)
    if "prices" not in groups:
        raise InvalidArgumentError("program must be an auction: its envelope has no prices")
    shape = groups["prices"]
    values = {"prices": np.where(rng.random(shape) < 0.2, 0.0, rng.random(shape))}
    if "budgets" in groups:
        values["budgets"] = np.full(shape[1], BUDGET)
    return Database(values, program.envelope)


@door
def split(alpha_c: str) -> dict[str, str]:
    """α_c for the objective, the rest shared equally by A and b."""
    rest = (1 - exact("alpha_c", alpha_c)) / 2
    return {"A": str(rest), "b": str(rest), "c": alpha_c}
