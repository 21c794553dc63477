"""Episodes over a horizon: ours against scipy's T @ V with bisection, and against HiGHS.

``python benchmarks/episodes.py [--quick]`` prints a row per case: seconds of an answer with its
certificate, of the peers, and the ratios. The scipy peer bisects the multiplier of one cost and has
neither policy nor certificate; HiGHS solves the time-expanded program where it ends in time.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import highspy
import numpy as np
from scipy import sparse

import dp_cmdp as dp

#: Relative gap at which the peers stop, and ours is judged.
GAP = 1e-6
#: Seconds that HiGHS gets.
PATIENCE = 60.0
#: (family, states, steps, costs, whether HiGHS is tried)
QUICK = (
    ("grid", 1024, 100, 1, False),
    ("garnet", 1000, 100, 1, False),
    ("grid", 1024, 20, 1, True),
)
FULL = (
    *QUICK,
    ("grid", 1024, 100, 3, False),
    ("grid", 10_000, 100, 1, False),
    ("grid", 10_000, 100, 3, False),
    ("garnet", 10_000, 100, 1, False),
    ("grid", 99_856, 100, 1, False),
)


def grid(states: int, K: int, rng: np.random.Generator) -> tuple[Any, ...]:
    """A slippery grid with walls, hazards and a goal."""
    side = round(states**0.5)
    s = np.arange(side * side)
    y, x = np.divmod(s, side)
    wall = rng.random(s.size) < 0.1
    wall[[0, -1]] = False
    following = []
    for dy, dx in ((-1, 0), (0, 1), (1, 0), (0, -1)):
        to = np.clip(y + dy, 0, side - 1) * side + np.clip(x + dx, 0, side - 1)
        following.append(np.where(wall[to] | (s == s[-1]), s, to))
    turns = ((0, 0.8), (1, 0.1), (3, 0.1))
    parts = [(4 * s + a, following[(a + turn) % 4], np.full(s.size, p))
             for a in range(4) for turn, p in turns]  # fmt: skip
    rows, columns, chances = map(np.concatenate, zip(*parts, strict=True))
    T = sparse.csr_array((chances, (rows, columns)), shape=(4 * s.size, s.size))
    T.sum_duplicates()
    r = np.repeat(rng.uniform(-0.03, 0, s.size)[:, None], 4, axis=1)
    r[-1] = 0.2
    hazard = (rng.random((K, s.size)) < 0.25) * rng.uniform(0.2, 1, (K, s.size))
    hazard[:, -1] = 0.0
    return T, r, np.repeat(hazard[:, :, None], 4, axis=2), (~wall) / (~wall).sum()


def garnet(states: int, K: int, rng: np.random.Generator) -> tuple[Any, ...]:
    """Five random successors of every pair."""
    pairs = 4 * states
    cuts = np.sort(rng.random((pairs, 4)), axis=1)
    chances = np.diff(np.hstack([np.zeros((pairs, 1)), cuts, np.ones((pairs, 1))]), axis=1)
    place = np.repeat(np.arange(pairs), 5), rng.integers(0, states, 5 * pairs)
    T = sparse.csr_array((chances.ravel(), place), shape=(pairs, states))
    T.sum_duplicates()
    f = rng.random((K, states, 4)) * (rng.random((K, states, 4)) < 0.5)
    return T, rng.random((states, 4)), f, np.full(states, 1 / states)


def bisected(model: dp.CMDP) -> float:
    """The value for one cost, by products in scipy and bisection of the multiplier."""
    T, r, f, limit = model.T, model.r, model.cost[0], model.limit[0]
    first = np.arange(model.num_states) * model.num_actions

    def at(multiplier: float) -> tuple[float, float]:
        V = np.zeros((model.num_states, 2))
        for _ in range(model.horizon or 0):
            Q = T @ V + np.column_stack([r.ravel(), f.ravel()])
            best = (Q[:, 0] - multiplier * Q[:, 1]).reshape(r.shape).argmax(axis=1) + first
            V = Q[best]
        value, cost = model.start @ V
        return float(value), float(cost)

    low, high = 0.0, 1.0
    dear = at(low)
    while (cheap := at(high))[1] > limit:
        low, high, dear = high, 2 * high, cheap
    bound = np.inf
    while True:
        middle = (low + high) / 2
        found = at(middle)
        bound = min(bound, found[0] - middle * (found[1] - limit))
        if found[1] <= limit:
            high, cheap = middle, found
        else:
            low, dear = middle, found
        share = (limit - cheap[1]) / (dear[1] - cheap[1])
        value = share * dear[0] + (1 - share) * cheap[0]
        if bound - value <= GAP * max(1.0, abs(value)) or high - low < 1e-14:
            return value


def expanded(model: dp.CMDP) -> float:
    """The value by HiGHS's interior points on the time-expanded program; NaN beyond its time."""
    n, A, H = model.num_states, model.num_actions, model.horizon or 0
    leave = sparse.kron(sparse.eye_array(n), np.ones((1, A)))
    flow: Any = sparse.kron(sparse.eye_array(H), leave)
    flow = flow - sparse.kron(sparse.eye_array(H, k=-1), model.T.T)
    costs = np.tile(model.cost.reshape(len(model.cost), -1), (1, H))
    A_all = sparse.csc_array(sparse.vstack([flow, sparse.csr_array(costs)]))
    start = np.append(model.start, np.zeros((H - 1) * n))
    lp, highs = highspy.HighsLp(), highspy.Highs()
    lp.num_row_, lp.num_col_ = A_all.shape
    lp.sense_ = highspy.ObjSense.kMaximize
    lp.col_cost_ = np.tile(model.r.ravel(), H)
    lp.col_lower_, lp.col_upper_ = np.zeros(lp.num_col_), np.full(lp.num_col_, np.inf)
    lp.row_lower_ = np.append(start, np.full(len(model.cost), -np.inf))
    lp.row_upper_ = np.append(start, model.limit)
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_, lp.a_matrix_.index_ = A_all.indptr, A_all.indices
    lp.a_matrix_.value_ = A_all.data
    for name, value in (("output_flag", False), ("threads", 1), ("solver", "ipm"),
                        ("run_crossover", "off"), ("time_limit", PATIENCE)):  # fmt: skip
        highs.setOptionValue(name, value)
    highs.passModel(lp)
    highs.run()
    done = highs.getModelStatus() == highspy.HighsModelStatus.kOptimal
    return float(highs.getInfo().objective_function_value) if done else float("nan")


def limited(family: str, states: int, steps: int, K: int) -> dp.CMDP:
    """A model whose limits lie a third of the way from the safest policy to the dearest."""
    make = {"grid": grid, "garnet": garnet}[family]
    T, r, f, start = make(states, K, np.random.default_rng(0))
    free = dp.CMDP(T, r, cost=f, limit=np.full(K, 1e6), horizon=steps, start=start)
    safe = dp.CMDP(T, -f.sum(axis=0), cost=f, limit=np.full(K, 1e6), horizon=steps, start=start)
    low, high = (dp.evaluate(free, dp.answer(each).policy).costs for each in (safe, free))
    return dp.CMDP(T, r, cost=f, limit=low + 0.35 * (high - low), horizon=steps, start=start)


def timed(run: Callable[[dp.CMDP], Any], model: dp.CMDP) -> tuple[float, Any]:
    """Seconds and result."""
    begun = time.perf_counter()
    found = run(model)
    return time.perf_counter() - begun, found


def main() -> None:
    """Print the rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="three small cases")
    for family, states, steps, K, lp in QUICK if parser.parse_args().quick else FULL:
        model = limited(family, states, steps, K)
        own, found = timed(dp.answer, model)
        gap = (found.bound - found.value) / max(1.0, abs(found.value))
        said = f"{family} {states} x {steps}, K = {K}: {own:.3f} s, gap {gap:.1e}"
        if K == 1:
            peer, value = timed(bisected, model)
            said += f"; scipy {peer:.3f} s, ratio {peer / own:.2f}, off {value - found.value:.1e}"
        if lp:
            peer, value = timed(expanded, model)
            said += f"; HiGHS {peer:.2f} s, ratio {peer / own:.0f}, off {value - found.value:.1e}"
        print(said, flush=True)


if __name__ == "__main__":
    main()
