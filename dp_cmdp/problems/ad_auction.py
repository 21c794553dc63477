"""The ad auction of the paper (``opt:EX1``).

N groups of pages with n_i visitors, M advertisers. Advertiser j pays p_ij per visit of group i and
at most its budget: maximise Σ p_ij x_ij subject to Σ_j x_ij ≤ n_i (public) and Σ_i p_ij x_ij ≤ b_j.
Prices and budgets are private. A price is 0 with probability 0.2 and uniform on [0, 1] otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dp_cmdp import _check
from dp_cmdp._check import FloatArray
from dp_cmdp._door import door
from dp_cmdp.accounting.budget import exact
from dp_cmdp.data.affine import Affine
from dp_cmdp.data.database import Database
from dp_cmdp.data.envelope import Envelope
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.program.parametric import BLOCKS, ParametricLP

#: Visitors per group and budget per advertiser, as in Muñoz Medina et al. 2021.
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

    Examples
    --------
    >>> from dp_cmdp.problems.ad_auction import ad_auction_program
    >>> program = ad_auction_program(10, 5)  # ten groups of visitors, five advertisers
    >>> program.envelope
    Envelope(prices[10, 5], budgets[5], record_size=1)
    >>> program.sensitive_blocks
    ('A', 'b', 'c')
    """
    N = _check.size("num_groups", num_groups, low=1)
    M = _check.size("num_advertisers", num_advertisers, low=1)
    parts = {"prices": Envelope(0.0, 1.0, radius=price_radius, shape=(N, M))}
    if private_budgets:
        parts["budgets"] = Envelope(0.9 * BUDGET, 1.1 * BUDGET, radius=budget_radius, shape=M)
    envelope = Envelope.join(parts)
    price = envelope.index("prices")
    private = {"A": price, "c": price}
    if private_budgets:
        private["b"] = envelope.index("budgets")
    return auction_program(
        envelope, private=private, prices=np.zeros((N, M)), budget=BUDGET, visitors=VISITORS
    )


@door
@lru_cache(maxsize=32)
def growing_auction(
    num_groups: int, num_advertisers: int = 5, *, radius: float = 0.1
) -> ParametricLP:
    """An auction whose budgets grow with it: private prices in [0, 1], one visitor per group.

    Every budget is publicly a tenth of the visitors, and 1 for up to ten groups.

    Parameters
    ----------
    num_groups, num_advertisers : int
    radius : float
        How much a price may change between adjacent databases; 1: to anything.

    Notes
    -----
    **Paper.** ``opt:EX1``, with public budgets (case (i)). **Privacy.** *Public*.

    Examples
    --------
    >>> from dp_cmdp.problems.ad_auction import growing_auction
    >>> growing_auction(100).envelope
    Envelope(prices[100, 5], record_size=1)
    """
    N = _check.size("num_groups", num_groups, low=1)
    M = _check.size("num_advertisers", num_advertisers, low=1)
    envelope = Envelope(0.0, 1.0, radius=radius, shape=(N, M), name="prices")
    price = envelope.index("prices")
    return auction_program(
        envelope,
        private={"A": price, "c": price},
        prices=np.zeros((N, M)),
        budget=max(1.0, 0.1 * N),
    )


@door
def auction_program(
    envelope: Envelope,
    *,
    private: Mapping[str, ArrayLike],
    prices: ArrayLike,
    budget: float = 1.0,
    visitors: float = 1.0,
) -> ParametricLP:
    """An auction in which some of A, b and c read the database and the others are public.

    Parameters
    ----------
    envelope : Envelope
    private : mapping
        The entry of each price, (num_groups, num_advertisers), for "A" and "c", or of each budget,
        (num_advertisers,), for "b"; a block without a key is public.
    prices : (num_groups, num_advertisers)
        Of the public ones among A and c.
    budget, visitors : float
        Of every advertiser, if b is public, and of every group.

    Notes
    -----
    **Paper.** ``opt:EX1``. **Privacy.** *Public*.

    Examples
    --------
    >>> import numpy as np
    >>> from dp_cmdp import Envelope
    >>> from dp_cmdp.problems.ad_auction import auction_program
    >>> envelope = Envelope(0.5, 1.5, radius=0.1, shape=2, name="budgets")
    >>> program = auction_program(envelope, private={"b": [0, 1]}, prices=np.ones((3, 2)))
    >>> program.sensitive_blocks
    ('b',)
    """
    from scipy import sparse

    public = _check.array("prices", prices)
    if public.ndim != 2 or not public.size or not set(private) <= set(BLOCKS):
        raise InvalidArgumentError(
            "prices must be a table, groups × advertisers, and private may name A, b and c"
        )
    N, M = public.shape
    group, advertiser = np.indices((N, M))
    x, place = group * M + advertiser, np.arange(M)
    at = {"A": (advertiser, x), "b": place, "c": x}
    shape = {"A": (M, N * M), "b": M, "c": N * M}
    spent = sparse.csr_array((public.ravel(), (advertiser.ravel(), x.ravel())), shape=shape["A"])
    blocks: dict[str, Any] = {
        "A": Affine(shape["A"], constant=spent),
        "b": np.full(M, budget),
        "c": public.ravel(),
    }
    for block, entry in private.items():
        blocks[block] = Affine(shape[block], at=at[block], entry=entry)
    return ParametricLP(
        envelope,
        **blocks,
        A_ub=sparse.kron(sparse.eye_array(N), np.ones((1, M)), format="csr"),
        b_ub=np.full(N, visitors),
        row_names=[f"budget of advertiser {j}" for j in range(M)],
    )


@door
def random_prices(shape: tuple[int, ...], rng: np.random.Generator) -> FloatArray:
    """0 with probability 0.2, uniform on [0, 1] otherwise: *public*.

    Examples
    --------
    >>> import numpy as np
    >>> from dp_cmdp.problems.ad_auction import random_prices
    >>> random_prices((2, 3), np.random.default_rng(0)).round(2)
    array([[0.61, 0.73, 0.  ],
           [0.  , 0.82, 0.  ]])
    """
    size = _check.shape("shape", shape)
    return np.where(rng.random(size) < 0.2, 0.0, rng.random(size))


@door
def random_auction(program: ParametricLP, rng: np.random.Generator) -> Database:
    """Draw prices as the paper does; budgets are 1e7: *curator only*.

    Examples
    --------
    >>> import numpy as np
    >>> from dp_cmdp.problems.ad_auction import ad_auction_program, random_auction
    >>> random_auction(ad_auction_program(10, 5), np.random.default_rng(0))
    Database(<private>, prices[10, 5], budgets[5])
    """
    groups = dict(program.envelope.groups)
    if "prices" not in groups:
        raise InvalidArgumentError("program must be an auction: its envelope has no prices")
    shape = groups["prices"]
    values = {"prices": random_prices(shape, rng)}
    if "budgets" in groups:
        values["budgets"] = np.full(shape[1], BUDGET)
    return Database(values, program.envelope)


@door
def split(alpha_c: str) -> dict[str, str]:
    """α_c for the objective, the rest shared equally by A and b.

    Examples
    --------
    >>> from dp_cmdp.problems.ad_auction import split
    >>> split("1/2")
    {'A': '1/4', 'b': '1/4', 'c': '1/2'}
    """
    rest = (1 - exact("alpha_c", alpha_c)) / 2
    return {"A": str(rest), "b": str(rest), "c": alpha_c}
