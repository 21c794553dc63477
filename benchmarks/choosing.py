"""How long a strategy takes to choose, in solves of a peer: HiGHS on the robust linear program.

    python -m benchmarks.choosing                    seven layouts, an auction, a knapsack, staffing
    python -m benchmarks.choosing --rounds 9 NAME…   some of them, measured more often

The peer is one `scipy.optimize.linprog(method="highs")` of the program at the worst corner of the
public bounds, built anew each time. Choosing and peer alternate in one process, in processor time;
the first round of both is not counted. A ratio is reported with an interval for its median: the
least and the greatest of `rounds` ratios hold it with probability 1 − 2^(1 − rounds). One JSON line
per problem. The recorded ones are in tests/oracles/data/choosing.json.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from statistics import median
from typing import Any

from scipy.optimize import linprog

from tests.oracles.adapter import NAMES, problem

#: A peer is solved so often per round that it takes about so many seconds.
ENOUGH = 0.1


def solve(lp: dict[str, Any]) -> float:
    """The greatest c·x of the peer."""
    equalities = {} if not lp["b_eq"].size else {"A_eq": lp["A_eq"], "b_eq": lp["b_eq"]}
    bounds = [(0.0, float(most)) for most in lp["upper"]]
    found = linprog(-lp["c"], lp["A"], lp["b"], **equalities, bounds=bounds, method="highs")
    assert found.fun is not None, found.message
    return -found.fun


def seconds(work: Callable[[], Any], *, times: int = 1) -> float:
    began = time.process_time()
    for _ in range(times):
        work()
    return (time.process_time() - began) / times


def measured(name: str, rounds: int) -> dict[str, Any]:
    """Choosing against the peer, of one problem."""
    case = problem(name)
    lp, strategy = case.peer(), case.choose()
    solve(lp)
    times = max(1, round(ENOUGH / max(seconds(lambda: solve(lp)), 1e-4)))
    pairs = [(seconds(case.choose), seconds(lambda: solve(lp), times=times)) for _ in range(rounds)]
    ratios = sorted(choose / peer for choose, peer in pairs)
    return {
        "problem": name,
        "strategy": strategy,
        "rounds": rounds,
        "ratio": round(median(ratios), 3),
        "ratio_interval": [round(ratios[0], 3), round(ratios[-1], 3)],
        "choose_s": round(median(choose for choose, _ in pairs), 5),
        "peer_s": round(median(peer for _, peer in pairs), 5),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", default=list(NAMES), metavar="NAME")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    for name in options.names:
        print(json.dumps(measured(name, options.rounds)), flush=True)


if __name__ == "__main__":
    main()
