"""How long planning takes, in answers: processor seconds, side by side in one process.

    python benchmarks/planning.py                 auctions, layouts and grids at ε = 1
    python benchmarks/planning.py --table         the same as a table for docs/scale.md

Per problem: planning (``plan="auto"``); one private answer with that plan given, of two proposals,
looks and a certified solve; and that last solve, over the totals of the release, alone. The
shortest of a few runs of each. One JSON line per problem.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from dp_cmdp.accounting.budget import PrivacyBudget
from dp_cmdp.cmdp.facts_synthesis import row_solver
from dp_cmdp.cmdp.synthesis import synthesize
from dp_cmdp.data.release import Release
from dp_cmdp.experiments.scale_cases import AuctionCase, Case, auction_case, grid_case, layout_case
from dp_cmdp.release.looks import release_looks
from dp_cmdp.release.plan import Plan
from dp_cmdp.release.planner import planned
from dp_cmdp.release.row_solver import Solver
from dp_cmdp.release.solve import solve_private

BUDGET = PrivacyBudget(1, "1/1000")
RADII = (0.1, 1.0)
AUCTIONS = (10, 30, 100, 300, 1000)
GRIDS = (12, 20, 30, 40)
LAYOUTS = ("corridor", "paper", "cliff", "rooms", "crossing", "two_hazards", "islands")
#: Runs are repeated until they took so many seconds, or so often.
ENOUGH, RUNS = 3.0, 3


def cases() -> Iterator[tuple[str, int, float, Case]]:
    """Problems of the scale study, from draws that are not in it."""
    draw = -1  # the study begins with 0
    for size in AUCTIONS:
        for radius in RADII:
            yield "auction", size, radius, auction_case(size, radius=radius, seed=0, draw=draw)
    for name in LAYOUTS:
        case = layout_case(name)
        yield f"layout {name}", case.model.public.num_states, 0.1, case
    for size in GRIDS:
        for start in ("corner", "uniform"):
            for radius in RADII:
                case = grid_case(size, radius=radius, start=start, seed=0, draw=draw)
                yield f"grid {start}", size, radius, case


def seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    """Processor time of the quickest run, and what it returned."""
    taken: list[float] = []
    while True:
        began = time.process_time()
        found = work()
        taken.append(time.process_time() - began)
        if len(taken) == RUNS or sum(taken) > ENOUGH:
            return min(taken), found


def row(problem: str, size: int, radius: float, case: Case) -> dict[str, Any]:
    """Planning against an answer, of one problem."""
    program, model = case.program, None if isinstance(case, AuctionCase) else case.model

    def solver() -> Solver | None:
        return None if model is None else row_solver(model)

    def plan(word: str) -> Plan:
        return planned(word, program, BUDGET, solver=solver()).plan

    plan_s, chosen = seconds(lambda: plan("auto"))
    taken = chosen if chosen.measures_totals else plan("totals")

    def look() -> Release:
        return release_looks(
            case.database,
            BUDGET,
            program=program,
            plan=taken,
            rng=np.random.default_rng(0),
            solver=solver(),
        )

    look_s, release = seconds(look)
    solve_s, _ = seconds(
        lambda: solve_private(program, release) if model is None else synthesize(model, release)
    )
    return {
        "problem": problem,
        "size": size,
        "radius": radius,
        "plan": str(chosen),
        "totals": 0 if release.totals is None else len(release.totals),
        "plan_s": plan_s,
        "answer_s": look_s + solve_s,
        "solve_s": solve_s,
        "answers": plan_s / (look_s + solve_s),
        "solves": plan_s / solve_s,
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--table", action="store_true", help="a Markdown table")
    options = parser.parse_args()
    if options.table:
        titles = ("problem", "size", "radius", "planning", "a private answer", "its solve",
                  "planning, in answers", "in solves")  # fmt: skip
        print(f"| {' | '.join(titles)} |")
        print("|" + "---|" * len(titles))
    for case in cases():
        found = row(*case)
        if options.table:
            place = f"{found['problem']} | {found['size']:,} | {found['radius']:g}"
            names = ("plan_s", "answer_s", "solve_s")
            times = " | ".join(f"{found[name]:.3f} s" for name in names)
            print(
                f"| {place} | {times} | {found['answers']:.1f} | {found['solves']:.1f} |",
                flush=True,
            )
        else:
            print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
