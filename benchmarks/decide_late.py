"""Totals or entries, decided after the first look: does it lose less than a plan made beforehand?

    python benchmarks/decide_late.py [--draws 50] [--seed 0] [--json]

After a first look at the entries with a share of the budget, the rest goes either into totals, as
now, or into a second look at the entries, whose intervals are cut with those of the first. *Late*
chooses by post-processing of the first look: the value of the proposal against the value over the
intervals that a second look is expected to leave.
*Imagined* chooses by the answers that both would give on databases drawn from the beliefs after the
first look. *Hindsight* takes the better of both after the fact (curator only): no rule of this kind
does better. *Chosen* is the plan that public trials chose beforehand, *entries* one look with all.
Losses are in percent of what the robust answer loses; solves are not certified.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dp_cmdp._check import FloatArray
from dp_cmdp.accounting.budget import PrivacyBudget
from dp_cmdp.cli.tables import print_table
from dp_cmdp.data.database import Database
from dp_cmdp.data.polytope import Polytope
from dp_cmdp.data.release import Release
from dp_cmdp.errors import PrivacyWarning
from dp_cmdp.experiments.scale_cases import layout_case
from dp_cmdp.experiments.sweep import Row, stream
from dp_cmdp.problems.ad_auction import growing_auction, random_prices
from dp_cmdp.program.parametric import ParametricLP
from dp_cmdp.program.polytope_rows import PolytopeRows
from dp_cmdp.release.entries import harmful_sides, release_database, suited_noise
from dp_cmdp.release.looks import (
    objective_estimate,
    posterior_mean,
    propose_totals,
    release_looks,
)
from dp_cmdp.release.plan import Plan
from dp_cmdp.release.planner import choose_plan
from dp_cmdp.release.posterior import Posterior
from dp_cmdp.release.row_solver import RowSolver
from dp_cmdp.release.totals import plan_totals

SHARES = ("0.35", "0.65")
DATABASES = ("usual", "near upper", "near lower", "a few large")
AUCTIONS = {"auction 30": 30, "auction 100": 100}
NAMES = (*AUCTIONS, "rooms", "islands", "two_hazards")
#: Second looks that are imagined to see what intervals to expect.
IMAGINED = 8
#: Databases that are imagined after the first look.
SAMPLES = 4


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """A program with the plan chosen for it and its robust answer."""

    name: str
    program: ParametricLP
    usual: FloatArray | None  # the database it comes with; None: drawn as the paper does
    budget: PrivacyBudget
    chosen: Plan
    robust: FloatArray

    def answer(self, facts: Polytope, estimate: FloatArray) -> FloatArray:
        rows = PolytopeRows(self.program.uncertain_rows, facts)
        return RowSolver()(self.program, rows, self.program.c.at(estimate))[0]

    def database(self, kind: str, rng: np.random.Generator) -> Database:
        """A database of one kind: *curator only*."""
        envelope = self.program.envelope
        u = rng.random(envelope.num_entries)
        if kind == "usual" and self.usual is not None:
            return Database(self.usual, envelope)
        share = {
            "usual": random_prices(u.shape, rng),
            "near upper": 1.0 - 0.1 * u,
            "near lower": 0.1 * u,
            "a few large": np.where(u < 0.05, 1.0, 0.05 * u),
        }[kind]
        width = envelope.upper - envelope.lower
        inside = np.clip(envelope.lower + share * width, envelope.lower, envelope.upper)
        return Database(inside, envelope)


def problems(budget: PrivacyBudget, names: Sequence[str] = NAMES) -> Iterator[Problem]:
    """Auctions and layouts."""
    for name in names:
        if name in AUCTIONS:
            program, usual = growing_auction(AUCTIONS[name]), None
        else:
            case = layout_case(name)
            program, usual = case.program, case.database.values
        envelope = program.envelope
        rows = PolytopeRows(program.uncertain_rows, Polytope(envelope.lower, envelope.upper))
        robust = RowSolver()(program, rows, program.c.at((envelope.lower + envelope.upper) / 2))[0]
        chosen = choose_plan(program, budget).plan
        yield Problem(name, program, usual, budget, chosen, robust)


def one_draw(problem: Problem, kind: str, seed: int, draw: int) -> dict[str, float]:
    """Losses of every rule on one database, with common random numbers."""
    program, budget = problem.program, problem.budget
    truth = problem.database(kind, stream(seed, draw, problem.name, kind))
    objective = program.c.at(truth.values)
    best = float(objective @ problem.answer(Polytope(truth.values, truth.values), truth.values))
    lost = best - float(objective @ problem.robust)

    def loss(x: FloatArray) -> float:
        return 100.0 * (best - float(objective @ x)) / lost if lost > 1e-9 * abs(best) else 0.0

    def planned(plan: Plan) -> Release:
        rng = stream(seed, draw, problem.name, kind, "noise")
        return release_looks(truth, budget, program=program, plan=plan, rng=rng)

    def from_release(release: Release) -> float:
        estimate = objective_estimate(program, release)
        return loss(problem.answer(release.polytope, estimate))

    found = {
        "chosen": from_release(planned(problem.chosen)),
        "entries": from_release(planned(Plan(1))),
    }
    for share in SHARES:
        plan = Plan(share, caution=1.5, lift=1.0)
        first, second = plan.budgets(budget)
        assert first is not None
        assert second is not None
        noise = stream(seed, draw, problem.name, kind, "noise")
        seen = release_looks(truth, first, program=program, plan=Plan(1), rng=noise)
        totals = from_release(planned(plan))
        again = _look(truth, second, program, stream(seed, draw, problem.name, kind, "again"))
        box, estimate = both(program, seen, again)
        entries = loss(problem.answer(box, estimate))
        late = promises_totals(problem, seen, second, plan, stream(seed, draw, "imagined"))
        imagined = imagines_totals(problem, seen, second, plan, stream(seed, draw, "samples"))
        found |= {
            f"totals {share}": totals,
            f"late {share}": totals if late else entries,
            f"imagined {share}": totals if imagined else entries,
            f"hindsight {share}": min(totals, entries),
            f"measured {share}": float(late),
        }
    return found


def _look(
    database: Database, budget: PrivacyBudget, program: ParametricLP, rng: np.random.Generator
) -> Release:
    return release_database(
        database,
        budget,
        rng=rng,
        calibration=suited_noise(program, budget),
        close=harmful_sides(program),
    )


def promises_totals(
    problem: Problem, seen: Release, budget: PrivacyBudget, plan: Plan, rng: np.random.Generator
) -> bool:
    """Whether totals promise a better answer than a second look: *post-processing* of `seen`."""
    program = problem.program
    proposal = propose_totals(program, seen, budget, plan=plan)
    if proposal is None:
        return False
    believed = posterior_mean(program, seen)
    imagined = Database(believed, program.envelope)
    looks = [_look(imagined, budget, program, rng) for _ in range(IMAGINED)]
    low = np.maximum(seen.lower, np.mean([look.lower for look in looks], axis=0))
    high = np.minimum(seen.upper, np.mean([look.upper for look in looks], axis=0))
    x = problem.answer(Polytope(np.minimum(low, high), high), believed)
    return float(program.c.at(believed) @ (proposal.x - x)) >= 0.0


def imagines_totals(
    problem: Problem, seen: Release, budget: PrivacyBudget, plan: Plan, rng: np.random.Generator
) -> bool:
    """Whether totals do better on imagined databases: *post-processing* of `seen`."""
    program, envelope = problem.program, problem.program.envelope
    proposal = propose_totals(program, seen, budget, plan=plan)
    if proposal is None:
        return False
    measure = plan_totals(envelope, budget, W=proposal.W, scale=proposal.scale)
    assert seen.draws is not None
    scale = envelope.radius * seen.noise[0].scale
    belief = believed(program, Polytope(seen.lower, seen.upper), seen.draws, scale)
    gain = 0.0
    for _ in range(SAMPLES):
        theta = _sample(belief, rng)
        totals = replace(
            seen,
            totals=measure.draw(theta, rng),
            noise=(*seen.noise, measure.facts(budget)),
            plan=plan.facts(),
        )
        with_totals = problem.answer(totals.polytope, objective_estimate(program, totals))
        again = _look(Database(theta, envelope), budget, program, rng)
        gain += float(
            program.c.at(theta) @ (with_totals - problem.answer(*both(program, seen, again)))
        )
    return gain >= 0.0


def both(program: ParametricLP, one: Release, two: Release) -> tuple[Polytope, FloatArray]:
    """What two looks at the entries say together: intervals, and posterior means."""
    low, high = np.maximum(one.lower, two.lower), np.minimum(one.upper, two.upper)
    box = Polytope(low, np.maximum(low, high))
    assert one.draws is not None
    assert two.draws is not None
    scales = [program.envelope.radius * part.noise[0].scale for part in (one, two)]
    weight = scales[1] ** 2 / (scales[0] ** 2 + scales[1] ** 2)
    draws = weight * one.draws + (1.0 - weight) * two.draws
    scale = np.sqrt(weight) * scales[0]  # of the weighted mean
    return box, believed(program, box, draws, scale).mean


def believed(
    program: ParametricLP, box: Polytope, draws: FloatArray, scale: FloatArray
) -> Posterior:
    """Beliefs about the entries, as :mod:`dp_cmdp.release.looks` has them after one look."""
    envelope, pairs = program.envelope, program.uncertain_rows
    public = Polytope(envelope.lower, envelope.upper)
    belief = Posterior.of(box, draws=draws, scale=scale)
    raised = pairs.signs() > 0
    for row in np.unique(pairs.row[raised]):
        entry = pairs.entry[raised & (pairs.row == row)]
        belief = belief.levelled(entry, bounds=public, draws=draws, scale=scale)
    return belief


def _sample(belief: Posterior, rng: np.random.Generator) -> FloatArray:
    density = belief.density
    place = (density.cumsum(axis=0) < rng.random(belief.width.size)).sum(axis=0)
    inside = np.minimum(place + rng.random(place.size), density.shape[0]) / density.shape[0]
    return np.clip(belief.lower + inside * belief.width, belief.lower, belief.lower + belief.width)


def summary(problem: Problem, kind: str, found: list[dict[str, float]]) -> Row:
    means = {key: round(float(np.mean([part[key] for part in found])), 2) for key in found[0]}
    return {"problem": problem.name, "database": kind, "plan": str(problem.chosen), **means}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--draws", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--epsilon", default="1")
    parser.add_argument("--only", action="append", choices=NAMES)
    parser.add_argument("--json", action="store_true", help="one line per problem and database")
    options = parser.parse_args()
    warnings.simplefilter("ignore", PrivacyWarning)
    rows: list[Row] = []
    for problem in problems(PrivacyBudget(options.epsilon, "1/1000"), options.only or NAMES):
        for kind in DATABASES:
            found = [one_draw(problem, kind, options.seed, draw) for draw in range(options.draws)]
            rows.append(summary(problem, kind, found) | {"draws": options.draws})
            if options.json:
                print(json.dumps(rows[-1] | {"seed": options.seed}), flush=True)
    if not options.json:
        print_table(rows)


if __name__ == "__main__":
    main()
