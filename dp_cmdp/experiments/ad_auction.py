"""The ad auction of the paper (``opt:EX1``), and its headline table.

N groups of pages with n_i visitors, M advertisers. Advertiser j pays p_ij per visit of group i and
at most its budget: maximise Σ p_ij x_ij subject to Σ_j x_ij ≤ n_i (public) and Σ_i p_ij x_ij ≤ b_j.
Prices and budgets are private. A price is 0 with probability 0.2 and uniform on [0, 1] otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from dp_cmdp.affine import Affine
from dp_cmdp.database import Database
from dp_cmdp.envelope import Envelope
from dp_cmdp.experiments.sweep import Row, Setting, Sweep, stream
from dp_cmdp.lp import solve
from dp_cmdp.metrics import mean_interval, suboptimality, violation
from dp_cmdp.parametric import ParametricLP
from dp_cmdp.privacy import PrivacyBudget
from dp_cmdp.privatizer import release_blocks, release_database, solve_private
from dp_cmdp.release import Release

if TYPE_CHECKING:
    import pandas as pd

VISITORS = 1e7
BUDGET = 1e7
DELTA = "1/10"
THIRD = "1/3"


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
    **Paper.** ``opt:EX1``. **Privacy.** Public.
    """
    N, M = num_groups, num_advertisers
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


def random_auction(program: ParametricLP, rng: np.random.Generator) -> Database:
    """Draw prices as the paper does; budgets are 1e7: *curator only*."""
    groups = dict(program.envelope.groups)
    shape = groups["prices"]
    values = {"prices": np.where(rng.random(shape) < 0.2, 0.0, rng.random(shape))}
    if "budgets" in groups:
        values["budgets"] = np.full(shape[1], BUDGET)
    return Database(values, program.envelope)


#: The rows of the headline table: method, ε, α_c.
HEADLINE = (
    *(("benvenuti2025-realised-mask", eps, THIRD) for eps in ("1/4", "1/2", "1", "2", "4")),
    ("benvenuti2025-realised-mask", "1", "99/100"),
    *(("benvenuti2025", eps, THIRD) for eps in ("1/4", "1/2", "1", "2", "4")),
    *(("database", eps, None) for eps in ("1/4", "1/2", "1", "2", "4")),
)


def headline(*, draws: int, seed: int = 0) -> Sweep:
    """The sweep behind ``dp-cmdp reproduce ad-headline``."""
    return Sweep(
        name="ad-headline",
        function="dp_cmdp.experiments.ad_auction:draw_headline",
        settings=tuple({"method": m, "epsilon": e, "alpha": a} for m, e, a in HEADLINE),
        draws=draws,
        seed=seed,
    )


def draw_headline(setting: Setting, seed: int, draws: Sequence[int]) -> list[Row]:
    """Sub-optimality and exact violations of one method, one row per draw."""
    program = ad_auction_program()
    rows: list[Row] = []
    for draw in draws:
        database = random_auction(program, stream(seed, draw))
        release = _release(setting, program, database, stream(seed, draw, "noise"))
        x = solve_private(program, release).x
        best = solve(program.at(database.values), certify=False).objective
        broken = violation(program, database, x=x)
        rows.append(
            {
                "suboptimality": float(suboptimality(program, database, x=x, optimum=best)),
                "violated_rows": broken.violated_rows,
            }
        )
    return rows


def _release(
    setting: Setting, program: ParametricLP, database: Database, rng: np.random.Generator
) -> Release:
    budget = PrivacyBudget(setting["epsilon"], DELTA)
    if setting["method"] == "database":
        return release_database(database, budget, rng=rng)
    return release_blocks(
        database,
        budget,
        program=program,
        alphas=split(setting["alpha"]),
        rng=rng,
        realised_mask_NOT_PRIVATE=setting["method"].endswith("realised-mask"),
    )


def split(alpha_c: str) -> dict[str, str]:
    """α_c for the objective, the rest shared equally by A and b."""
    from fractions import Fraction

    rest = (1 - Fraction(alpha_c)) / 2
    return {"A": str(rest), "b": str(rest), "c": alpha_c}


def headline_rows(frame: pd.DataFrame) -> list[Row]:
    """The printed table: means in percent with 95 % intervals, violations counted exactly."""
    from fractions import Fraction

    rows: list[Row] = []
    for (method, epsilon, alpha), part in frame.groupby(
        ["method", "epsilon", "alpha"], sort=False, dropna=False
    ):
        mean = mean_interval(100.0 * part["suboptimality"].to_numpy())
        rows.append(
            {
                "method": method,
                "epsilon": float(Fraction(str(epsilon))),
                "alpha": None if not isinstance(alpha, str) else float(Fraction(alpha)),
                "suboptimality_percent": mean.mean,
                "ci_low": mean.low,
                "ci_high": mean.high,
                "draws": mean.draws,
                "violations": int(part["violated_rows"].sum()),
            }
        )
    return rows
