"""``dp-cmdp advise``: what privacy would cost, before any is spent."""

from __future__ import annotations

import argparse
import math
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dp_cmdp.cli.problem import add_problem_options, open_as_curator, open_public, say_written
from dp_cmdp.cli.tables import WIDTH, print_json
from dp_cmdp.cli.values import at_least, writable_folder
from dp_cmdp.errors import InvalidArgumentError

if TYPE_CHECKING:
    from dp_cmdp.advice.plans import PlanAdvice
    from dp_cmdp.data.database import Database

DELTA = "1/1000"
PLAN = "plan.json"
EPILOG = """examples:
  dp-cmdp advise --layout rooms
  dp-cmdp advise --layout rooms --epsilons 1/2,1,2,4 --deltas 1e-6,1e-3 --radii 1/2,1
  dp-cmdp advise --auction 10 5 --json
  dp-cmdp advise --auction 100 5 --plans    would measured totals lose less than entries?
  dp-cmdp advise --layout rooms --target 2 --delta 1/1000    curator only: smallest ε for 2 %

No data is read (unless --target is given), so advice may be asked for freely and published.
DIR gets advice.png; with --target it gets curator_only/plan.json instead, not to be published."""


def add_parser(commands) -> None:
    parser = commands.add_parser(
        "advise",
        help="what a private release would be worth, from public data",
        description="From public data alone: how much of the loss of the robust answer (no data, "
        "ε = 0) a release wins back, the smallest ε at which it is worth its budget, and what "
        "would change that.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_problem_options(parser)
    parser.add_argument(
        "--auction",
        nargs=2,
        type=at_least(1),
        metavar=("N", "M"),
        help="the ad auction instead of a grid",
    )
    parser.add_argument("--epsilons", default="1/4,1/2,1,2,4,8", metavar="LIST")
    parser.add_argument("--deltas", default="1e-6,1e-3,1e-1", metavar="LIST")
    parser.add_argument("--radii", default="1", metavar="LIST", help="multiples of the radius")
    parser.add_argument("--draws", type=at_least(1), default=16, help="trials per setting")
    parser.add_argument(
        "--plans",
        action="store_true",
        help="also what each plan (entries, totals) promises to lose at every ε, for the middle δ",
    )
    parser.add_argument(
        "--target", metavar="PERCENT", type=float,
        help="curator only: the smallest ε whose cost of privacy is at most this",
    )  # fmt: skip
    parser.add_argument("--delta", help=f"δ for --target (default: {DELTA})")
    parser.add_argument("--seed", type=at_least(0), default=0)
    parser.add_argument("--out", type=Path, default=Path("out/advise"), metavar="DIR")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    grid = [name for name in ("layout", "env", "hazards") if getattr(options, name) is not None]
    if options.auction is not None and grid:
        raise InvalidArgumentError(f"--auction is no grid: leave --{' and --'.join(grid)} out")
    if options.target is not None:
        return _plan(options)
    _refuse_unread(options)
    with writable_folder(options.out):
        return _advise(options)


def _refuse_unread(options: argparse.Namespace) -> None:
    """Without --target nothing reads the hazards or a single δ: to give them is a mistake."""
    if options.hazards is not None:
        raise InvalidArgumentError(
            "--hazards needs --target: without it advice is made from public data and no hazards "
            "are read"
        )
    if options.delta is not None:
        raise InvalidArgumentError("--delta needs --target; the values to advise on are --deltas")


def _advise(options: argparse.Namespace) -> int:
    from dp_cmdp import _check
    from dp_cmdp.accounting.budget import exact
    from dp_cmdp.advice.adviser import advise
    from dp_cmdp.figures import advice_figure, save_figure

    if options.auction is not None:
        from dp_cmdp.problems.ad_auction import ad_auction_program

        program = ad_auction_program(*options.auction)
    else:
        program = open_public(options).model()
    advice = advise(
        program,
        epsilons=options.epsilons.split(","),
        deltas=options.deltas.split(","),
        radii=[_check.real("radii", exact("radii", part)) for part in options.radii.split(",")],
        draws=options.draws,
        seed=options.seed,
        progress=not options.json,
    )
    picture = save_figure(advice_figure(advice), options.out / "advice.png")
    plans = _plans(options, program) if options.plans else None
    if options.json:
        print_json(advice.facts() | ({"plans": plans.facts()} if plans else {}))
    else:
        for line in advice.summary().splitlines():
            print(line if line.startswith(" ") else textwrap.fill(line, WIDTH))
        if plans is not None:
            print("\nplans, predicted loss as a share of the robust answer's [95 % interval]")
            print(_plan_table(plans))
        print(f"\nfigure {picture}")
    return 0


def _plans(options: argparse.Namespace, program: Any) -> PlanAdvice:
    from dp_cmdp.advice.plans import advise_plans

    deltas = options.deltas.split(",")
    return advise_plans(
        program,
        epsilons=options.epsilons.split(","),
        delta=deltas[len(deltas) // 2],
        seed=options.seed,
        progress=not options.json,
    )


def _plan_table(plans: PlanAdvice) -> str:
    """One line per plan, one column per ε."""
    frame = plans.to_frame()
    frame["text"] = [f"{row.loss:.3g}" for row in plans.rows]
    table = frame.pivot_table(
        index="plan", columns="epsilon", values="text", aggfunc="first", sort=False
    )
    table.columns = [f"ε = {epsilon:g}" for epsilon in table.columns]
    return table.to_string(index_names=False, line_width=WIDTH)


def _plan(options: argparse.Namespace) -> int:
    from dp_cmdp import _check
    from dp_cmdp.accounting.budget import PrivacyBudget
    from dp_cmdp.data.curator import report_to_curator

    _check.real("target", options.target, low=0.0)
    PrivacyBudget(1, options.delta or DELTA)
    program, read = _true_problem(options)
    with writable_folder(options.out) as folder:
        if not options.json:  # a bar would show how far the search went, which the data decide
            print("looking for the smallest ε: seconds to minutes", file=sys.stderr)
        written = report_to_curator(folder, PLAN, lambda _: _planned(options, program, read()))
    say_written(written, as_json=options.json)
    return 0


def _true_problem(options: argparse.Namespace) -> tuple[Any, Callable[[], Database]]:
    """The public program, and what reads its true database."""
    if options.auction is None:
        env = open_as_curator(options)
        return env.model(), env.database
    import numpy as np

    from dp_cmdp.problems.ad_auction import ad_auction_program, random_auction

    program = ad_auction_program(*options.auction)
    return program, lambda: random_auction(program, np.random.default_rng(options.seed))


def _planned(options: argparse.Namespace, program: Any, database: Database) -> dict[str, Any]:
    from dp_cmdp.advice.planning import smallest_epsilon

    plan = smallest_epsilon(
        program,
        database,
        target=options.target / 100.0,
        delta=options.delta or DELTA,
        seed=options.seed,
    )
    cost, robust = 100.0 * float(plan.cost.mean), 100.0 * float(plan.robust_cost)
    if plan.reachable:
        summary = (
            f"ε = {plan.epsilon:.3g} [{plan.low:.3g}, {plan.high:.3g}] costs {cost:.3g} % (target "
            f"{options.target:g} %, δ = {plan.delta:g}); the robust answer costs {robust:.3g} % "
            "and no privacy"
        )
    else:
        summary = (
            f"no ε up to 100 reaches {options.target:g} % at δ = {plan.delta:g}; the best costs "
            f"{cost:.3g} %. A smaller radius or a larger δ would help"
        )
    return {
        "summary": summary,
        "target_percent": 100.0 * plan.target,
        "delta": plan.delta,
        "epsilon": float(plan.epsilon) if plan.reachable else None,
        "ci_low": float(plan.low) if math.isfinite(plan.low) else None,
        "ci_high": float(plan.high) if math.isfinite(plan.high) else None,
        "cost_percent": cost,
        "robust_cost_percent": robust,
        "draws": plan.draws,
    }
