"""Files that commit 2e23627 wrote: ledger, releases, policy, solution; and forged ones."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import dp_cmdp as dp
from dp_cmdp._documents import Document
from dp_cmdp.cmdp.policy import PolicyFile
from dp_cmdp.envs import HazardGridEnv
from dp_cmdp.problems.ad_auction import ad_auction_program, random_auction
from dp_cmdp.program.solution_file import SolutionFile
from tests.oracles import adapter, problems

BUDGET = dp.PrivacyBudget(2, "1/1000")


def write(folder: Path) -> None:
    """Good files first, each debited from the ledger, then the forged ones."""
    ledger = dp.PrivacyLedger(folder / "ledger.sqlite")
    for identity in ("prices", "severities", "untouched"):
        ledger.create(identity, dp.PrivacyBudget(20, "1/100"))
    _entries(folder, ledger)
    _programs(folder, ledger)
    _policy(folder, ledger)
    ledger.debit("prices", dp.PrivacyBudget("1/3", "1/1000000"), note="by hand, in thirds")
    for name, edit in FORGED.items():
        source = dp.Release.load(folder / f"{name.partition('-')[0]}.npz").document()
        _forge(folder / f"forged-{name}.npz", source, edit)
    for name, edit in FORGED_ANSWERS.items():
        path = folder / f"{'-'.join(name.split('-')[:2])}.npz"
        load = PolicyFile.load if "policy" in name else SolutionFile.load
        _forge(folder / f"forged-{name}.npz", load(path).document(), edit)


def _forge(path: Path, source: Document, edit: Callable[..., None]) -> None:
    facts = json.loads(json.dumps(dict(source.facts)))
    arrays = {name: np.array(part) for name, part in source.arrays.items()}
    edit(facts, arrays)
    Document(source.format, facts, arrays).write(path)


def bundles(folder: Path) -> list[list[str]]:
    """What is judged together: a release alone, an answer with its release and program."""
    found = []
    for path in sorted(folder.glob("*.npz")):
        needs = []
        if "policy" in path.name:
            needs = ["severities.npz"]
        elif "solution" in path.name:
            needs = ["program.npz", f"{path.name.removeprefix('forged-').split('-')[0]}.npz"]
        found.append([path.name, *needs])
    return found


def _entries(folder: Path, ledger: dp.PrivacyLedger) -> None:
    """Releases of intervals: two laws, records of two, labels, a simulation, Algorithm 1."""
    box = dp.Envelope([0.0] * 4, [1.0, 1.0, 2.0, 2.0], radius=2.0**-5)
    pairs = dp.Envelope(0.0, 1.0, radius=2.0**-6, records=[0, 0, 1, 2], shape=4)
    named = dp.Envelope(0.0, 1.0, radius=0.1, labels={"town": ["Bern", "Basel"], "day": [1, 2]})
    values = [0.5, 0.01, 1.25, 1.9]

    def database(envelope: dp.Envelope, numbers: Any = values) -> dp.Database:
        return dp.Database(numbers, envelope, identity="prices")

    def save(name: str, release: dp.Release) -> None:
        release.save(folder / f"{name}.npz")

    save("entries", dp.release_database(database(box), BUDGET, ledger=ledger))
    optimal = dp.release_database(
        database(box), BUDGET, calibration="optimal", close="lower", ledger=ledger
    )
    save("optimal", optimal)
    half = [0.5, 0.25, 0.125, 0.75]
    save("records", dp.release_database(database(pairs, half), BUDGET, ledger=ledger))
    paper = dp.release_database(database(box), BUDGET, calibration="paper", ledger=ledger)
    save("paper", paper)
    square = [[0.1, 0.2], [0.3, 0.4]]
    save("labels", dp.release_database(database(named, square), BUDGET, ledger=ledger))
    rng = np.random.default_rng(0)
    save("simulated", dp.release_database(dp.Database(values, box), BUDGET, rng=rng))
    program = ad_auction_program(2, 2)
    auction = random_auction(program, np.random.default_rng(0))
    thirds = dict.fromkeys("Abc", "1/3")
    save("blocks", dp.release_blocks(auction, BUDGET, program=program, alphas=thirds))


def _programs(folder: Path, ledger: dp.PrivacyLedger) -> None:
    """A program with its solutions over linear queries, alone and after a look at the entries."""
    numbers = problems.knapsack(2, 12)
    program = adapter.linear_program(numbers)
    program.save(folder / "program.npz")
    plans = {"queries": dp.Plan(0), "both": dp.Plan("0.35")}
    for name, plan in plans.items():
        database = dp.Database(numbers.values, program.envelope, identity="prices")
        found = dp.release_and_solve(program, database, BUDGET, plan=plan, ledger=ledger)
        assert found.release.totals is not None
        found.release.save(folder / f"{name}.npz")
        found.solution.save(
            folder / f"{name}-solution.npz", release=found.release, program=program, name="knapsack"
        )


def _policy(folder: Path, ledger: dp.PrivacyLedger) -> None:
    """A policy of a shipped layout."""
    curator = HazardGridEnv("paper", access="curator")
    model = curator.model()
    database = dp.Database(curator.database().values, model.envelope, identity="severities")
    found = dp.release_and_synthesize(model, database, BUDGET, plan=dp.Plan(0), ledger=ledger)
    found.release.save(folder / "severities.npz")
    found.safe.policy.save(
        folder / "severities-policy.npz", release=found.release, model=model, name="paper"
    )


Facts = dict[str, Any]
Arrays = dict[str, np.ndarray]


def _less_spent(facts: Facts, arrays: Arrays) -> None:
    facts["epsilon"] = "1"


def _less_everywhere(facts: Facts, arrays: Arrays) -> None:
    facts["epsilon"] = facts["noise"][0]["epsilon"] = "1"
    facts["noise"][0]["certificate"]["epsilon"] = "1"


def _narrower(facts: Facts, arrays: Arrays) -> None:
    arrays["upper"][2] = (arrays["lower"][2] + arrays["upper"][2]) / 2


def _off_lattice(facts: Facts, arrays: Arrays) -> None:
    for name in ("estimate", "draws", "lower", "upper"):
        arrays[name][2] += arrays["step"][2] / 2


def _smaller_radius(facts: Facts, arrays: Arrays) -> None:
    arrays["envelope.radius"] /= 2


def _larger_radius(facts: Facts, arrays: Arrays) -> None:
    arrays["envelope.radius"] *= 2


def _joined(facts: Facts, arrays: Arrays) -> None:
    arrays["envelope.records"] = np.arange(arrays["envelope.records"].size) // 2
    facts["record_size"] = 2
    facts["adjacency"] = "one record (up to 2 entries) changes, each entry by at most its radius"


def _apart(facts: Facts, arrays: Arrays) -> None:
    arrays["envelope.records"] = np.arange(arrays["envelope.records"].size)
    facts["record_size"] = 1
    facts["adjacency"] = "one entry changes by at most its radius"


def _shorter_support(facts: Facts, arrays: Arrays) -> None:
    proof = facts["noise"][0]["certificate"]
    proof["support"] -= 1
    facts["noise"][0]["support"] = proof["support"] / proof["steps"]


def _other_threshold(facts: Facts, arrays: Arrays) -> None:
    proof = facts["noise"][0]["certificate"]
    proof["thresholds"][0] = f"{int(proof['thresholds'][0], 16) - 1:x}"


def _leak(facts: Facts, arrays: Arrays) -> None:
    facts["leaks"] = ["block database unprotected"]


def _heavier(facts: Facts, arrays: Arrays) -> None:
    arrays["totals.counts.data"][0] += 1.0


def _lower_index(facts: Facts, arrays: Arrays) -> None:
    arrays["totals.index"][0] -= 1 << 55


def _coarser_grid(facts: Facts, arrays: Arrays) -> None:
    arrays["totals.grid"] *= 2


def _other_share(facts: Facts, arrays: Arrays) -> None:
    facts["plan"]["share"] = "1/2"


def _no_queries(facts: Facts, arrays: Arrays) -> None:
    facts["noise"] = facts["noise"][:1]


def _not_exact(facts: Facts, arrays: Arrays) -> None:
    facts["secure"] = False


def _reversed(facts: Facts, arrays: Arrays) -> None:
    facts["noise"].reverse()


#: What was forged: the file it is made of, and how. Every digest fits.
FORGED: dict[str, Callable[[Facts, Arrays], None]] = {
    "entries-less-spent": _less_spent,
    "entries-less-everywhere": _less_everywhere,
    "entries-narrower": _narrower,
    "entries-off-lattice": _off_lattice,
    "entries-smaller-radius": _smaller_radius,
    "entries-larger-radius": _larger_radius,
    "entries-joined": _joined,
    "entries-shorter-support": _shorter_support,
    "entries-other-threshold": _other_threshold,
    "entries-leak": _leak,
    "records-apart": _apart,
    "optimal-shorter-support": _shorter_support,
    "optimal-other-threshold": _other_threshold,
    "optimal-larger-radius": _larger_radius,
    "queries-heavier": _heavier,
    "queries-lower-index": _lower_index,
    "queries-coarser-grid": _coarser_grid,
    "queries-joined": _joined,
    "queries-smaller-radius": _smaller_radius,
    "queries-narrower": _narrower,
    "queries-not-exact": _not_exact,
    "both-reversed": _reversed,
    "both-other-share": _other_share,
    "both-no-queries": _no_queries,
    "both-narrower": _narrower,
}


def _uniform(facts: Facts, arrays: Arrays) -> None:
    arrays["probs"] = np.full_like(arrays["probs"], 1 / arrays["probs"].shape[1])


def _other_model(facts: Facts, arrays: Arrays) -> None:
    facts["origin"]["name"], facts["origin"]["program"] = "corridor", "0" * 64


def _larger(facts: Facts, arrays: Arrays) -> None:
    arrays["x"] *= 1.001


def _praised(facts: Facts, arrays: Arrays) -> None:
    facts["objective"] *= 1.01


def _surer(facts: Facts, arrays: Arrays) -> None:
    facts["certificate"]["worst_slack"] += 0.01


FORGED_ANSWERS: dict[str, Callable[[Facts, Arrays], None]] = {
    "severities-policy-uniform": _uniform,
    "severities-policy-other-model": _other_model,
    "queries-solution-larger": _larger,
    "queries-solution-praised": _praised,
    "both-solution-surer": _surer,
}
