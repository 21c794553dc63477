"""Time the CMDP solver against general LP solvers, side by side, one JSON line per comparison.

    python benchmarks/cmdp_solve.py --quick          # under three minutes
    python benchmarks/cmdp_solve.py --states 100000  # ours alone at one size, with peak memory

The model is an n×n grid with four slippery moves, an absorbing goal, a cost for every step (the
same everywhere, or rough terrain), γ = 0.99 and one binding row of hazards. ``cold`` rows solve one
model from nothing; ``sweep`` rows solve many draws of the hazard row on the same dynamics, ours
with a pool of policies, HiGHS warm from its last basis. Peers that are not installed are left out.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from collections.abc import Callable, Iterator
from typing import Any

import highspy
import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from dp_cmdp.cmdp import CMDP
from dp_cmdp.cmdp.lp_engine import solve_lp
from dp_cmdp.cmdp.occupancy import flow_matrix
from dp_cmdp.cmdp.pool import PolicyPool
from dp_cmdp.cmdp.solver import solve_cmdp
from dp_cmdp.errors import InfeasibleError

SLIP = 0.2
HAZARDS = 0.15
MOVES = ((-1, 0), (0, 1), (1, 0), (0, -1))


def grid_cmdp(n: int, seed: int = 0, *, gamma: float = 0.99, rough: bool = False) -> CMDP:
    """The benchmark grid; its tolerance lies half-way between indifference and utmost caution.

    On `rough` terrain a step costs between 1/2 and 3/2 instead of 1; large rough grids have valleys
    in which it pays to stay, which slows every iterative method down.
    """
    rng = np.random.default_rng(seed)
    states = np.arange(n * n)
    row, column = np.divmod(states, n)
    landing = [
        np.clip(row + down, 0, n - 1) * n + np.clip(column + right, 0, n - 1)
        for down, right in MOVES
    ]
    goal = n * n - 1
    moving = states < goal
    pairs, successors, chances = [goal * 4 + np.arange(4)], [np.full(4, goal)], [np.ones(4)]
    for action in range(4):
        for turn, chance in ((0, 1.0 - SLIP), (1, SLIP / 2), (3, SLIP / 2)):
            pairs.append(states[moving] * 4 + action)
            successors.append(landing[(action + turn) % 4][moving])
            chances.append(np.full(goal, chance))
    T = sparse.csr_array(
        (np.concatenate(chances), (np.concatenate(pairs), np.concatenate(successors))),
        shape=(4 * n * n, n * n),
    )
    step_cost = rng.uniform(0.5, 1.5, n * n) if rough else np.ones(n * n)
    r = np.where(moving, -step_cost, 0.0)
    hazard = moving & (rng.random(n * n) < HAZARDS)
    f = np.where(hazard, rng.uniform(0.5, 1.0, n * n), 0.0)
    mu = np.where(moving, 1.0 / goal, 0.0)
    spread = np.ones((1, 4))
    model = CMDP(T, r[:, None] * spread, f=f[:, None] * spread, f0=0.0, mu=mu, gamma=gamma)
    return model.with_constraints(model.f, _binding_tolerance(model))


def _binding_tolerance(model: CMDP) -> float:
    pool = PolicyPool(model)
    reckless = float(pool.solve(model.f, 1e9, gap=1e-3).costs[0])
    try:
        pool.solve(model.f, 0.0)
    except InfeasibleError as error:
        return 0.5 * (reckless + float(error.violation or 0.0))
    return 0.5 * reckless


def best_of(repeats: int, solve: Callable[[], Any]) -> tuple[float, Any]:
    """Shortest wall time of some runs, and the last answer."""
    seconds, answer = np.inf, None
    for _ in range(repeats):
        begin = time.perf_counter()
        answer = solve()
        seconds = min(seconds, time.perf_counter() - begin)
    return seconds, answer


def draws(model: CMDP, number: int) -> Iterator[tuple[np.ndarray, float]]:
    """Hazard rows as a private release would redraw them."""
    rng = np.random.default_rng(1)
    for _ in range(number):
        f = np.where(model.f > 0.0, model.f + rng.uniform(0.0, 0.2, model.f.shape), 0.0)
        yield f, float(model.f0[0]) * rng.uniform(0.95, 1.05)


def cold_peers(model: CMDP) -> Iterator[tuple[str, Callable[[], float]]]:
    """Peers for one cold solve; each returns its optimal value."""
    flow, gain = flow_matrix(model), model.r.ravel()
    costs = model.f.reshape(1, -1)
    yield "highs (engine lp)", lambda: solve_lp(model, model.f0, gap=1e-6).value
    for method in ("highs-ds", "highs-ipm"):
        yield (
            f"scipy {method}",
            lambda method=method: (
                -linprog(
                    -gain, A_ub=costs, b_ub=model.f0, A_eq=flow, b_eq=model.mu, method=method
                ).fun
            ),
        )
    try:
        import cvxpy as cp
    except ImportError:
        return

    def clarabel() -> float:
        x = cp.Variable(gain.size, nonneg=True)
        rows = [flow @ x == model.mu, costs @ x <= model.f0]
        return float(cp.Problem(cp.Maximize(gain @ x), rows).solve(solver=cp.CLARABEL))

    yield "cvxpy clarabel", clarabel


class WarmHighs:
    """HiGHS with the hazard row replaced between solves, restarted from its last basis."""

    def __init__(self, model: CMDP) -> None:
        flow = flow_matrix(model)
        self.model = model
        self.highs = highspy.Highs()
        self.highs.setOptionValue("output_flag", False)
        self.highs.setOptionValue("simplex_strategy", 4)
        costs = sparse.csr_array(np.ones((1, model.r.size)))
        rows = sparse.vstack([flow, costs], format="csr")
        lp = highspy.HighsLp()
        lp.num_row_, lp.num_col_ = rows.shape
        lp.sense_ = highspy.ObjSense.kMaximize
        lp.col_cost_ = model.r.ravel()
        lp.col_lower_ = np.zeros(model.r.size)
        lp.col_upper_ = np.full(model.r.size, highspy.kHighsInf)
        lp.row_lower_ = np.append(model.mu, -highspy.kHighsInf)
        lp.row_upper_ = np.append(model.mu, 0.0)
        lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        lp.a_matrix_.start_, lp.a_matrix_.index_ = rows.indptr, rows.indices
        lp.a_matrix_.value_ = rows.data
        self.highs.passModel(lp)

    def solve(self, f: np.ndarray, f0: float) -> float:
        last = self.model.num_states
        for pair, cost in enumerate(f.ravel()):
            self.highs.changeCoeff(last, pair, float(cost))
        self.highs.changeRowBounds(last, -highspy.kHighsInf, f0)
        self.highs.run()
        return float(self.highs.getInfo().objective_function_value)


def report(name: str, size: int, *, ours: float, peer: str, peer_s: float, gap: float) -> None:
    known = np.isfinite(peer_s)
    line = {
        "name": name,
        "size": size,
        "ours_s": float(f"{ours:.4g}"),
        "peer": peer,
        "peer_s": float(f"{peer_s:.4g}") if known else None,
        "ratio": round(peer_s / ours, 2) if known else None,
        "gap": float(f"{gap:.2g}"),
    }
    print(json.dumps(line), flush=True)


def cold(n: int, *, repeats: int, peers: bool, rough: bool = False, gap: float = 1e-8) -> None:
    """One model from nothing, ours and the peers."""
    model = grid_cmdp(n, rough=rough)
    label = "cold, rough terrain" if rough else "cold"
    ours, solution = best_of(repeats, lambda: solve_cmdp(model, engine="columns", gap=gap))
    if not peers:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        report(label, n * n, ours=ours, peer=f"none (peak {peak:.2f} GiB)", peer_s=np.inf,
               gap=solution.gap)  # fmt: skip
        return
    for name, solve in cold_peers(model):
        seconds, value = best_of(max(repeats // 3, 1), solve)
        if abs(value - solution.value) > 1e-5 * abs(value):
            raise SystemExit(f"{name} disagrees: {value} against {solution.value}")
        report(label, n * n, ours=ours, peer=name, peer_s=seconds, gap=solution.gap)


def sweep(n: int, *, number: int, peer_number: int) -> None:
    """Many draws of the hazard row: a pool of policies against HiGHS, warm and cold."""
    model = grid_cmdp(n)
    rows = list(draws(model, number))
    pool = PolicyPool(model)
    seconds, answers = best_of(1, lambda: [pool.solve(f, f0) for f, f0 in rows])
    worst = max(answer.gap for answer in answers)
    warm = WarmHighs(model)
    some = rows[:peer_number]
    peers = {
        "highs warm": lambda: [warm.solve(f, f0) for f, f0 in some],
        "highs cold": lambda: [
            solve_lp(model.with_constraints(f, f0), np.array([f0]), gap=1e-6).value
            for f, f0 in some
        ],
    }
    for name, solve in peers.items():
        peer_s, values = best_of(1, solve)
        for answer, value in zip(answers, values, strict=False):
            if abs(answer.value - value) > 1e-5 * abs(value):
                raise SystemExit(f"{name} disagrees: {value} against {answer.value}")
        report("sweep, per solve", n * n, ours=seconds / number, peer=name,
               peer_s=peer_s / peer_number, gap=worst)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="small sizes only")
    parser.add_argument("--states", type=int, help="ours alone, at about this many states")
    parser.add_argument("--gap", type=float, default=1e-8, help="with --states")
    parser.add_argument("--rough", action="store_true", help="with --states")
    options = parser.parse_args()
    solve_cmdp(grid_cmdp(4), engine="columns")
    if options.states:
        n = round(options.states**0.5)
        cold(n, repeats=1, peers=False, rough=options.rough, gap=options.gap)
        return
    cold(10, repeats=9, peers=True)
    cold(32, repeats=9, peers=True)
    sweep(10, number=2000, peer_number=200)
    sweep(32, number=50, peer_number=10)
    cold(100, repeats=3, peers=not options.quick)
    cold(100, repeats=3, peers=False, rough=True)
    if not options.quick:
        cold(316, repeats=1, peers=False)


if __name__ == "__main__":
    main()
