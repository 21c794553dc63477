"""Rows as the studies make them, invented: what pictures and tables of reproductions are given."""

from __future__ import annotations

from itertools import product
from typing import Any

from dp_cmdp.experiments import ad_epsilon, ad_size, table1

Row = dict[str, Any]


def mean(value: float, spread: float = 0.1) -> Row:
    return {
        "suboptimality_percent": value,
        "ci_low": (1 - spread) * value,
        "ci_high": (1 + spread) * value,
    }


def violated(value: float) -> Row:
    names = ("violated", "violated_budgets")
    return {
        f"{name}_{part}": value for name in names for part in ("percent", "ci_low", "ci_high")
    } | {"worst_violation": value / 10}


def other() -> Row:
    return {"converged_percent": 100.0, "seconds": 0.0123456}


def ad_headline_rows() -> list[Row]:
    methods = ("benvenuti2025-realised-mask", "benvenuti2025", "database", "planned")
    rows = [
        {"method": m, "epsilon": e, "alpha": 1 / 3 if k < 2 else None}
        | mean((60 - 12 * k) / (1 + e))
        | {"draws": 400, "violations": 0}
        for k, m in enumerate(methods)
        for e in (0.25, 0.5, 1.0, 2.0, 4.0)
    ]
    return [*rows, rows[2] | {"alpha": 0.99, "suboptimality_percent": 16.8}]


def ad_epsilon_rows() -> list[Row]:
    return [
        {"method": m, "case": case, "epsilon": e, "draws": 200}
        | mean((10 + 5 * k) / (0.5 + e))
        | violated(24.0 if m.startswith("hsu") else 0.0)
        | other()
        | {f"over_case_i_{part}": 1.5 for part in ("percent", "low", "high")}
        for k, (m, case) in enumerate(ad_epsilon.CURVES)
        for e in (0.25, 0.5, 1.0, 1.5, 2.0)
    ]


def ad_size_rows(sizes: tuple[int, ...] = ad_size.SIZES) -> list[Row]:
    return [
        {"method": m, "case": case, "advertisers": size, "draws": 100}
        | mean(-92.0 if m.startswith("hsu") and size == 5 else 10.0 + 5 * k)
        | violated(20.0 if m.startswith("hsu") else 0.0)
        | other()
        for k, (m, case) in enumerate(ad_size.CURVES)
        for size in sizes
    ]


def ad_budget_rows() -> list[Row]:
    pairs = product((0.5, 1.0, 2.0), ("benvenuti2025-realised-mask", "benvenuti2025"))
    rows = [
        {"method": m, "epsilon": e, "alpha": a, "draws": 200} | mean(30 * (1.2 - a) / e)
        for e, m in pairs
        for a in (1 / 3, 0.5, 0.75, 0.99)
    ]
    return [
        *rows,
        *({"method": "database", "epsilon": e, "alpha": None, "draws": 200} | mean(13.0 / e)
          for e in (0.5, 1.0, 2.0)),
    ]  # fmt: skip


def table1_rows() -> list[Row]:
    return [
        {
            "method": method,
            "model": "joint differential privacy",
            "private": ["A", "b", "c"],
            "evidence": "A coupled, b unprotected, c leaking (realised mask)",
            "paper_private": ["A"] if k % 2 else None,
            "promises_feasibility": bool(k % 2),
            "paper_feasible": None,
            "draws": 400,
            "violated_percent": 7.0 * (k % 3),
            "worst_violation": 0.1 * (k % 3),
        }
        | mean(4.0 * k - 15.0)
        | {"ci_low": 4.0 * k - 16.0, "ci_high": 4.0 * k - 14.0}
        | other()
        for k, method in enumerate(table1.SYSTEMS)
    ]


def munoz_ads_rows() -> list[Row]:
    return [
        {"epsilon": e, "noise": noise, "draws": 400, "violated_percent": 5.0}
        | {"ci_low": 4.0, "ci_high": 6.0, "expected_percent": 4.7, "published_percent": 4.7}
        | {"violated_supplies_percent": 0.0, "revenue_ratio": 1 - 5e-6}
        | {"revenue_ci_low": 1 - 5.3e-6, "revenue_ci_high": 1 - 4.7e-6}
        for e in (3e-5, 1e-4, 2e-4)
        for noise in ("truncated Laplace", "Laplace, same shift")
    ]


def mean_shift_rows() -> list[Row]:
    return [
        {"delta": d, "epsilon": e, "paper": 5 / e, "tight": 4 / e, "optimal": 3 / e, "bound": 2 / e}
        | {"optimal_over_bound": 1.5, "optimal_saves_percent": 25.0}
        for d in (0.1, 1e-3, 1e-6)
        for e in (0.25, 0.5, 1.0, 2.0, 5.0, 10.0)
    ]


def hsu_cmdp_rows() -> list[Row]:
    return [
        {"method": "hsu2014", "epsilon": e, "draws": 200, "own_test_passed_percent": 80.0}
        | {"converged_percent": 0.0, "balance_missed_median": 9.0, "balance_missed_least": 2.0}
        | {"violated_percent": 90.0}
        for e in (0.1, 1.0, 10.0)
    ]


def bounds_rows() -> list[Row]:
    return [
        {"problem": problem, "epsilon": e, "loss_percent": 3 / e, "instance_percent": 3 / e}
        | {"sampled_percent": 4 / e, "certified_mean_percent": 5 / e}
        | {"certified_certain_percent": 20.0, "repaired_percent": 9e3 / e}
        | {"printed_percent": None if problem == "auction" else 8e3 / e}
        | {"loss_low_percent": 2 / e, "loss_high_percent": 4 / e, "ratio": 1.3}
        | {"sampled_ratio": 1.2, "databases": 20, "losing": 20}
        for problem in ("small", "auction", "list-price", "hazard-grid")
        for e in (0.25, 1.0, 4.0)
    ]


def cost_of_privacy_rows() -> list[Row]:
    methods = ("benvenuti2025", "benvenuti2025-as-published", "munoz2021", "database", "planned")
    return [
        {"method": m, "epsilon": e, "cost_of_privacy_percent": 0.2 / (k + e)}
        | {"ci_low": 0.19 / (k + e), "ci_high": 0.21 / (k + e), "draws": 200, "violations": 0}
        for k, m in enumerate(methods, start=1)
        for e in (0.1, 1.0, 5.0, 10.0)
    ]


def scale_rows() -> list[Row]:
    grids = (12, 20)
    families = {"auction": (10, 30, 100, 300, 1000), "grid corner": grids, "grid uniform": grids}
    rows = []
    for problem, radius in product(families, (0.1, 1.0)):
        base = {"robust": 60, "benvenuti2025": 20, "database": 12, "limit": 0.3}
        for method, size in ((m, s) for m in (*base, "planned") for s in families[problem]):
            lost = base.get(method, 60.0 / size)
            rows.append(
                {"problem": problem, "size": size}
                | {"epsilon": 0.0 if method == "robust" else 1.0}
                | {"delta": 0.0 if method == "robust" else 1e-3, "radius": radius, "method": method}
                | mean(lost)
                | {"draws": 100, "violations": 0, "ratio_95": 0.4}
                | {"plan": "totals(share=0.35, caution=1.25, lift=0.5) in 3 of 4, database in 1"}
            )
    return rows


ROWS = {
    "ad-headline": ad_headline_rows,
    "ad-epsilon": ad_epsilon_rows,
    "ad-size": ad_size_rows,
    "ad-budget": ad_budget_rows,
    "cost-of-privacy": cost_of_privacy_rows,
    "hsu-cmdp": hsu_cmdp_rows,
    "table1": table1_rows,
    "munoz-ads": munoz_ads_rows,
    "mean-shift": mean_shift_rows,
    "bounds": bounds_rows,
    "scale": scale_rows,
}
