"""How long a strategy takes to choose, in solves of a peer: HiGHS on the robust linear program.

    python -m benchmarks.choosing                    seven layouts, an auction, a knapsack, staffing
    python -m benchmarks.choosing --rounds 9 NAME…   some of them, measured more often

The peer is one `scipy.optimize.linprog(method="highs")` of the program at the worst corner of the
public bounds, built anew each time. Choosing and peer alternate in one process, in processor time;
the first round of both is not counted. A ratio is reported with an interval for its median: the
least and the greatest of `rounds` ratios hold it with probability 1 − 2^(1 − rounds). One JSON line
per problem; where tests/oracles/data/choosing.jsonl has one of the same problem, `recorded` is the
ratio there. `second_stage_ratio`: what is chosen after the entries, in the same unit.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from scipy.optimize import linprog

import dp_cmdp as dp
from dp_cmdp._src.cmdp.solvers.occupancy_lp import flow_matrix
from dp_cmdp._src.release.belief import NOTHING_KNOWN
from dp_cmdp._src.release.choose import Simulator, choose
from paper.problems.auction import growing_auction
from paper.problems.families import knapsack, staffing

LAYOUTS = ("cliff", "corridor", "crossing", "islands", "paper", "rooms", "two_hazards")
NAMES = (*LAYOUTS, "auction 30", "knapsack 20 x 1000", "staffing")
BUDGET = dp.PrivacyBudget(1, "1/1000")
RECORDED = Path(__file__).parents[1] / "tests/oracles/data/choosing.jsonl"
#: A peer is solved so often per round that it takes about so many seconds.
ENOUGH = 0.1


def problem(name: str) -> dp.ParametricLP | dp.ParametricCMDP:
    """A problem of :data:`NAMES`."""
    if name in LAYOUTS:
        return dp.envs.HazardGridEnv(name).model()
    if name.startswith("auction"):
        return growing_auction(int(name.split()[1]), radius=0.1)
    return (knapsack if name.startswith("knapsack") else staffing)()[0]


def chosen(asked: dp.ParametricLP | dp.ParametricCMDP) -> str:
    """The strategy that `solve` chooses from public data, the robust answer included."""
    return str(choose(Simulator(asked, NOTHING_KNOWN), BUDGET).strategy)


def second_stage(asked: dp.ParametricLP | dp.ParametricCMDP) -> Callable[[], Any]:
    """The choice of queries once the entries of an invented database are known."""
    first, then = dp.Strategy.best_queries().steps
    known = Simulator(asked, NOTHING_KNOWN).trial(0).after((first,), BUDGET)
    return lambda: then.propose(asked, known, then.part(BUDGET))


def robust_program(asked: dp.ParametricLP | dp.ParametricCMDP) -> dict[str, Any]:
    """The linear program at the worst corner, which of these problems is the robust one."""
    known = asked.envelope.uncertainty
    middle = (known.lower + known.upper) / 2
    if isinstance(asked, dp.ParametricCMDP):
        worst = asked.worst(known)
        rows = worst.cost.reshape(worst.num_constraints, -1)
        return {"c": -worst.r.ravel(), "A_ub": rows, "b_ub": worst.limit, "bounds": (0.0, None),
                "A_eq": flow_matrix(worst), "b_eq": worst.start}  # fmt: skip
    sign = 1.0 if asked.minimizes else -1.0
    return {
        "c": sign * asked.objective.at(middle),
        "A_ub": asked.A.at(known.upper),
        "b_ub": asked.b.at(known.upper),
        "bounds": list(zip(asked.lower, asked.upper, strict=True)),
    }


def solve(program: dict[str, Any]) -> float:
    """The least c·x of the peer."""
    found = linprog(**program, method="highs")
    assert found.fun is not None, found.message
    return found.fun


def seconds(work: Callable[[], Any], *, times: int = 1) -> float:
    began = time.process_time()
    for _ in range(times):
        work()
    return (time.process_time() - began) / times


def measured(name: str, rounds: int) -> dict[str, Any]:
    """Choosing against the peer, of one problem."""
    asked = problem(name)
    program, strategy = robust_program(asked), chosen(asked)
    solve(program)
    times = max(1, round(ENOUGH / max(seconds(lambda: solve(program)), 1e-4)))
    then = second_stage(asked)
    pairs = [
        (
            seconds(lambda: chosen(asked)),
            seconds(lambda: solve(program), times=times),
            seconds(then),
        )
        for _ in range(rounds)
    ]
    ratios = sorted(own / peer for own, peer, _ in pairs)
    return {
        "problem": name,
        "strategy": strategy,
        "rounds": rounds,
        "ratio": round(median(ratios), 3),
        "ratio_interval": [round(ratios[0], 3), round(ratios[-1], 3)],
        "choose_s": round(median(own for own, _, _ in pairs), 5),
        "peer_s": round(median(peer for _, peer, _ in pairs), 5),
        "second_stage_ratio": round(median(after / peer for _, peer, after in pairs), 3),
        "recorded": recorded().get(name),
    }


def recorded() -> dict[str, float]:
    """Ratios of the version before, by problem."""
    if not RECORDED.exists():
        return {}
    lines = map(json.loads, RECORDED.read_text(encoding="utf-8").splitlines())
    return {line["problem"]: line["ratio"] for line in lines}


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
