"""``dp-cmdp synthesize``: a policy that is private and certainly safe."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dp_cmdp.cli.problem import add_problem_options, open_as_curator
from dp_cmdp.cli.tables import print_json
from dp_cmdp.cli.values import at_least, writable_folder
from dp_cmdp.errors import InvalidArgumentError

if TYPE_CHECKING:
    import numpy as np

    from dp_cmdp.cmdp.parametric import ParametricCMDP
    from dp_cmdp.database import Database
    from dp_cmdp.privacy import PrivacyBudget
    from dp_cmdp.release import Release

METHODS = ("database", "benvenuti2025", "robust")
#: What is written: all safe to publish but the last.
FILES = POLICY, RELEASE, LAYOUT, CERTIFICATE, PICTURE, COMPARISON = (
    "policy.npz",
    "release.npz",
    "layout.json",
    "certificate.json",
    "policy.png",
    "CURATOR_ONLY_comparison.png",
)

EPILOG = """examples:
  dp-cmdp synthesize --epsilon 1 --delta 1e-6
  dp-cmdp synthesize --layout rooms --epsilon 2 --delta 1e-4 --out out/rooms
  dp-cmdp synthesize --env dp_cmdp/HazardGrid25-v0 --epsilon 1 --delta 1e-3 --seed 7 --json
  dp-cmdp synthesize --layout my.json --hazards mine.json --epsilon 1 --delta 1e-6 \\
      --ledger ledger.sqlite --identity site-7

The noise is exact and comes from the operating system. --seed asks for reproducible float noise
instead: a simulation, marked secure=false; do not publish it for real data.

DIR gets policy.npz, release.npz, layout.json, certificate.json and policy.png, all safe to publish
(dp-cmdp verify judges the first three), and CURATOR_ONLY_comparison.png, which is not."""


def add_parser(commands) -> None:
    parser = commands.add_parser(
        "synthesize",
        help="a private policy that is safe with certainty",
        description="Release the hazards of a grid world under differential privacy and synthesise "
        "the best policy that is safe for everything the release allows, hence for the truth.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_problem_options(parser)
    parser.add_argument("--epsilon", required=True, help="privacy, e.g. 1 or 1/3")
    parser.add_argument("--delta", required=True, help="privacy, e.g. 1e-6; in (0, 1/2]")
    parser.add_argument("--method", choices=METHODS, default="database")
    parser.add_argument("--seed", type=at_least(0), help="simulate with float noise (not secure)")
    parser.add_argument("--ledger", type=Path, metavar="FILE", help="debit this privacy ledger")
    parser.add_argument("--identity", help="name of the database in the ledger")
    parser.add_argument("--out", type=Path, default=Path("out/synthesize"), metavar="DIR")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from dp_cmdp.privacy import PrivacyBudget

    budget = PrivacyBudget(options.epsilon, options.delta)
    if options.ledger is not None and not options.identity:
        raise InvalidArgumentError("--identity must name the database when --ledger is given")
    if options.identity is not None and options.ledger is None:
        raise InvalidArgumentError("--identity needs --ledger: without one nothing is debited")
    with writable_folder(options.out, *FILES):  # before data is read or a ledger debited
        return _synthesize(options, budget)


def _synthesize(options: argparse.Namespace, budget: PrivacyBudget) -> int:
    from dp_cmdp.cmdp.synthesis import robust_policy, synthesize

    env = open_as_curator(options)
    model = env.model()
    robust = robust_policy(model)  # public; refuses what cannot be made safe before data is read
    release = None
    answer = robust
    if options.method != "robust":
        release = _release(options, model, env.database(), budget)
        answer = synthesize(model, release)
    report = {
        "method": options.method,
        "layout": env.layout.name,
        "epsilon": float(budget.epsilon) if release else 0.0,
        "delta": float(budget.delta) if release else 0.0,
        "secure": release.secure if release else True,
        "leaks": list(release.leaks) if release else [],
        **answer.facts(),
        "robust_value": robust.value,
        "saturation": _saturation(model, release) if release else None,
        "release_worth_it": answer.value > robust.value + 1e-9 * abs(robust.value),
    }
    _write(options.out, env, answer, release, report)
    curator = _compare(options.out, env, answer, report)
    if options.json:
        print_json({**report, "curator_only": curator})
    else:
        _print_summary(options, env, report, curator, release)
    return 0


def _release(
    options: argparse.Namespace, model: ParametricCMDP, database: Database, budget: PrivacyBudget
) -> Release:
    import numpy as np

    from dp_cmdp.database import Database
    from dp_cmdp.ledger.ledger import PrivacyLedger
    from dp_cmdp.privatizer import release_blocks, release_database

    rng: np.random.Generator | None = None
    if options.seed is not None:
        rng = np.random.default_rng(options.seed)
    ledger = None
    if options.ledger is not None:
        ledger = PrivacyLedger(options.ledger)
        database = Database(database.values, database.envelope, identity=options.identity)
    if options.method == "database":
        return release_database(database, budget, rng=rng, ledger=ledger)
    alphas = {"A": "99/100", "b": "1/100"}  # the paper's split
    return release_blocks(
        database, budget, program=model.program(), alphas=alphas, rng=rng, ledger=ledger
    )


def _saturation(model: ParametricCMDP, release: Release) -> float:
    """Share of the released intervals whose harmful end is the public worst case."""
    from dp_cmdp.entrywise import entrywise

    database = release.method == "database"
    envelope = model.envelope if database else entrywise(model.program()).envelope
    costs, *tolerances = (name for name, _ in release.groups)
    high = release.group(costs)["upper"] >= envelope.upper[envelope.index(costs)]
    low = [
        release.group(name)["lower"] <= envelope.lower[envelope.index(name)] for name in tolerances
    ]
    ends = [high.ravel(), *(part.ravel() for part in low)]
    return float(sum(part.sum() for part in ends) / sum(part.size for part in ends))


def _write(folder: Path, env: Any, answer: Any, release: Any, report: dict[str, Any]) -> None:
    """The public artefacts."""
    from dp_cmdp.curator import write_public_json
    from dp_cmdp.figures.grid import policy_figure
    from dp_cmdp.figures.style import save_figure
    from envs import save_layout

    answer.policy.save(folder / POLICY, release=release, model=env.model(), name=env.layout.name)
    save_layout(env.layout, folder / LAYOUT)
    if release is not None:
        release.save(folder / RELEASE)
    write_public_json(folder / CERTIFICATE, report)
    title = f"{env.layout.name}: " + (
        f"private policy, ε = {report['epsilon']:g}, δ = {report['delta']:g}"
        if release is not None
        else "robust policy, no data used"
    )
    save_figure(policy_figure(env.layout, answer.policy, title=title), folder / PICTURE)


def _compare(folder: Path, env: Any, answer: Any, report: dict[str, Any]) -> dict[str, Any]:
    """What privacy cost, against the truth: curator only."""
    from dp_cmdp.cmdp.evaluation import evaluate
    from dp_cmdp.cmdp.synthesis import safe_policy
    from dp_cmdp.figures.grid import comparison_figure
    from dp_cmdp.figures.style import save_figure
    from dp_cmdp.metrics import cost_of_privacy

    truth = env.cmdp()
    best = safe_policy(truth)
    judged = evaluate(truth, answer.policy)
    figure = comparison_figure(
        env.layout,
        answer.policy,
        best.policy,
        severity=truth.f.max(axis=2),
        title=f"{env.layout.name}, ε = {report['epsilon']:g}",
    )
    save_figure(figure, folder / COMPARISON, private=True)
    costs = judged.costs.tolist()
    return {
        "nonprivate_value": best.value,
        "cost_of_privacy_percent": 100.0 * float(cost_of_privacy(best.value, judged.value)),
        "true_cost": costs if len(costs) > 1 else costs[0],
        "true_tolerance": truth.f0.tolist() if truth.num_constraints > 1 else float(truth.f0[0]),
    }


def _print_summary(
    options: argparse.Namespace, env: Any, report: dict[str, Any], curator: dict[str, Any], release
) -> None:
    layout, proof = env.layout, report["certificate"]
    print(
        f"layout    {layout.name}: {layout.rows}×{layout.cols}, {len(layout.candidates)} public "
        f"candidate cells, {layout.num_kinds} constraint(s), γ = {layout.gamma:g}"
    )
    if release is not None:
        print(f"release   {options.method}: {release.guarantee}")
        kind = "exact noise" if release.secure else "FLOAT NOISE FROM A SEED: a simulation only"
        print(f"          {kind}; secure = {release.secure}")
        share = 100 * report["saturation"]
        print(f"          {share:.0f} % of the intervals reach the public worst case")
    cost, tolerance = _text(proof["worst_case_cost"]), _text(proof["tolerance"])
    print(f"policy    value {report['value']:.6g}")
    print(f"          worst-case cost {cost} ≤ tolerance {tolerance}: verified, rigorously")
    print(f"robust    value {report['robust_value']:.6g} with no data at all (ε = 0)")
    if not report["release_worth_it"]:
        print("          as good as the private one: no budget need be spent here")
    print(
        f"curator   value without privacy {curator['nonprivate_value']:.6g}; cost of privacy "
        f"{curator['cost_of_privacy_percent']:.4g} %; true cost {_text(curator['true_cost'])} ≤ "
        f"{_text(curator['true_tolerance'])}"
    )
    print(f"written   {options.out}/")


def _text(value: Any) -> str:
    values = value if isinstance(value, list) else [value]
    return ", ".join(f"{number:.6g}" for number in values)
