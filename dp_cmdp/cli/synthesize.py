"""``dp-cmdp synthesize``: a policy that is private and certainly safe."""

from __future__ import annotations

import argparse
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dp_cmdp._extras import require
from dp_cmdp._progress import line
from dp_cmdp.cli import comparison, evaluate, rollout
from dp_cmdp.cli.problem import add_problem_options, hazards_source, open_as_curator
from dp_cmdp.cli.spending import (
    PaidRelease,
    add_spending_options,
    check_account,
    check_guess,
    read_guess,
)
from dp_cmdp.cli.tables import print_fact, print_json
from dp_cmdp.cli.values import writable_folder
from dp_cmdp.errors import InvalidArgumentError

if TYPE_CHECKING:
    import numpy as np

    from dp_cmdp._check import FloatArray
    from dp_cmdp.accounting.budget import PrivacyBudget
    from dp_cmdp.cmdp.parametric import ParametricCMDP
    from dp_cmdp.cmdp.synthesis import SafePolicy
    from dp_cmdp.data.database import Database
    from dp_cmdp.data.release import Release
    from dp_cmdp.envs.hazard_grid import HazardGridEnv
    from dp_cmdp.release.paid import Keep

METHODS = ("database", "benvenuti2025", "robust")
#: What is written, all of it safe to publish.
FILES = POLICY, RELEASE, LAYOUT, CERTIFICATE, PICTURE = (
    "policy.npz",
    "release.npz",
    "layout.json",
    "certificate.json",
    "policy.png",
)
#: What a curator may have had written about the policy that is replaced.
CURATOR_FILES = (comparison.REPORT, comparison.PICTURE, rollout.REPORT, evaluate.REPORT)
OLD_COMPARISON = "CURATOR_ONLY_comparison.png"  # of versions that put it beside the public files

EPILOG = """examples:
  dp-cmdp synthesize --epsilon 1 --delta 1e-6
  dp-cmdp synthesize --layout rooms --epsilon 2 --delta 1e-4 --out out/rooms
  dp-cmdp synthesize --env dp_cmdp/HazardGrid25-v0 --epsilon 1 --delta 1e-3 --seed 7 --json
  dp-cmdp synthesize --layout my.json --hazards mine.json --epsilon 1 --delta 1e-6 \\
      --ledger ledger.sqlite --identity site-7

The noise is exact and comes from the operating system. --seed asks for reproducible float noise
instead: a simulation, marked secure=false; do not publish it for real data.

The ledger is debited before the hazards are read; that they are wrong is said then, not how, and
nothing is refunded.

DIR gets policy.npz, release.npz, layout.json, certificate.json and policy.png, all safe to publish
(dp-cmdp verify judges the first three), in place of those of an earlier run. But a release that a
ledger paid for is never written over: name another DIR then. It is written as soon as it is drawn,
so that nothing that happens later loses it. Output and exit code depend on these files alone.
--compare looks at the truth once more and writes DIR/curator_only/: not to be published."""


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
    add_spending_options(parser)
    parser.add_argument("--out", type=Path, default=Path("out/synthesize"), metavar="DIR")
    parser.add_argument(
        "--compare",
        action="store_true",
        help="curator only: what privacy cost, written to DIR/curator_only/",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from dp_cmdp.accounting.budget import PrivacyBudget

    require("matplotlib")  # the picture is drawn after the debit
    budget = PrivacyBudget(options.epsilon, options.delta)
    check_account(options)
    if options.method != "database" and (options.plan or options.noise or options.guess):
        raise InvalidArgumentError(
            "--plan, --guess and --noise serve --method database: leave them out"
        )
    check_guess(options, private=hazards_source(options.hazards))
    # before data is read or a ledger debited
    with writable_folder(options.out, *FILES), PaidRelease(options.out, FILES) as paid:
        _check_curator_folder(options.out)
        return _synthesize(options, budget, paid)


def _check_curator_folder(folder: Path) -> None:
    """Whatever is there under the name of the curator's folder can become one."""
    from dp_cmdp.data.curator import CURATOR_FOLDER, curator_folder

    if (folder / CURATOR_FOLDER).exists() or (folder / CURATOR_FOLDER).is_symlink():
        curator_folder(folder)


def _synthesize(options: argparse.Namespace, budget: PrivacyBudget, paid: PaidRelease) -> int:
    from dp_cmdp.envs import Hazards

    env = open_as_curator(options)  # its hazards are read by the release, after the debit
    model = env.model()
    guess = read_guess(options, lambda file: Hazards.load(env.layout, file).database().values)
    answer, robust, release, plan = _answer(
        options, model, env.database(), budget, guess=guess, keep=paid.keep
    )
    report = {
        "method": options.method,
        "plan": plan,
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
    with line("drawing the policy …", not options.json):
        _write(options.out, env, answer, robust, release, report)
    if options.json:
        print_json({**report, "comparison": str(_place(options)) if options.compare else None})
    else:
        _print_summary(options, env, answer, report, release)
    if options.compare:
        sys.stdout.flush()  # what is public is out before the truth is looked at
        _compare(options, env, answer, robust, report)
    return 0


def _place(options: argparse.Namespace) -> Path:
    """All that is said of a comparison is where it lies."""
    from dp_cmdp.data.curator import CURATOR_FOLDER

    return options.out / CURATOR_FOLDER


def _answer(
    options: argparse.Namespace,
    model: ParametricCMDP,
    database: Database,
    budget: PrivacyBudget,
    *,
    guess: FloatArray | None,
    keep: Keep,
) -> tuple[SafePolicy, SafePolicy, Release | None, str | None]:
    """The policy, the robust one, the release and its plan.

    What cannot be made safe is refused by the robust policy, which is public, before data is read.
    """
    import numpy as np

    from dp_cmdp.accounting.ledger import PrivacyLedger
    from dp_cmdp.cmdp.private_policy import release_and_synthesize
    from dp_cmdp.cmdp.synthesis import robust_policy, synthesize
    from dp_cmdp.data.database import Database
    from dp_cmdp.release.blocks import release_blocks
    from dp_cmdp.release.paid import carrying

    if options.method == "robust":
        robust = robust_policy(model)
        return robust, robust, None, None

    rng: np.random.Generator | None = None
    if options.seed is not None:
        rng = np.random.default_rng(options.seed)
    ledger = None
    if options.ledger is not None:
        ledger = PrivacyLedger(options.ledger, unit=options.unit)
        hazards = database
        database = Database.deferred(
            lambda: hazards.values, hazards.envelope, identity=options.identity
        )
    if options.method == "database":
        made = release_and_synthesize(
            model,
            database,
            budget,
            plan=options.plan or "auto",
            guess=guess,
            calibration=options.noise,
            rng=rng,
            ledger=ledger,
            progress=not options.json,
            keep=keep,
        )
        return made.safe, made.robust, made.release, str(made.choice.plan)
    robust = robust_policy(model)
    alphas = {"A": "99/100", "b": "1/100"}  # the paper's split
    release = release_blocks(
        database, budget, program=model.program(), alphas=alphas, rng=rng, ledger=ledger
    )
    with carrying(release):
        keep(release)
        return synthesize(model, release), robust, release, None


def _saturation(model: ParametricCMDP, release: Release) -> float:
    """Share of the released intervals whose harmful end is the public worst case."""
    from dp_cmdp.program.entrywise import entrywise

    database = release.method == "database"
    envelope = model.envelope if database else entrywise(model.program()).envelope
    costs, *tolerances = (name for name, _ in release.groups)
    high = release.group(costs)["upper"] >= envelope.upper[envelope.index(costs)]
    low = [
        release.group(name)["lower"] <= envelope.lower[envelope.index(name)] for name in tolerances
    ]
    ends = [high.ravel(), *(part.ravel() for part in low)]
    return float(sum(part.sum() for part in ends) / sum(part.size for part in ends))


def _write(
    folder: Path,
    env: HazardGridEnv,
    answer: SafePolicy,
    robust: SafePolicy,
    release: Release | None,
    report: dict[str, Any],
) -> None:
    """The public artefacts, in place of all that an earlier run left about another policy."""
    from dp_cmdp._storage import replaced_files
    from dp_cmdp.data.curator import CURATOR_FOLDER, write_public_json
    from dp_cmdp.envs import save_layout
    from dp_cmdp.figures import policy_figure, save_figure

    stale = [f"{CURATOR_FOLDER}/{name}" for name in CURATOR_FILES]
    with replaced_files(folder, [*FILES, *stale, OLD_COMPARISON]) as staged:
        answer.policy.save(staged / POLICY, release=release, model=env.model(), layout=env.layout)
        save_layout(env.layout, staged / LAYOUT)
        if release is not None:
            release.save(staged / RELEASE)
        write_public_json(staged / CERTIFICATE, report)
        title = f"{env.layout.name}: " + (
            f"private policy, ε = {report['epsilon']:g}, δ = {report['delta']:g}"
            if release is not None
            else "robust policy, no data used"
        )
        figure = policy_figure(
            answer, layout=env.layout, title=title, release=release, robust=robust
        )
        save_figure(figure, staged / PICTURE)
    with suppress(OSError):  # left empty, or not there
        (folder / CURATOR_FOLDER).rmdir()


def _compare(
    options: argparse.Namespace,
    env: HazardGridEnv,
    answer: SafePolicy,
    robust: SafePolicy,
    report: dict[str, Any],
) -> None:
    """Write what privacy cost."""
    from dp_cmdp.data.curator import report_to_curator

    title = f"{env.layout.name}, ε = {report['epsilon']:g}"
    report_to_curator(
        options.out,
        comparison.REPORT,
        lambda folder: comparison.compared(
            env, answer.policy, robust=robust, title=title, folder=folder
        ),
    )


def _print_summary(
    options: argparse.Namespace,
    env: HazardGridEnv,
    answer: SafePolicy,
    report: dict[str, Any],
    release: Release | None,
) -> None:
    layout = env.layout
    print_fact(
        "layout",
        f"{layout.name}: {layout.rows}×{layout.cols}, {len(layout.candidates)} public candidate "
        f"cells, {layout.num_kinds} constraint(s), γ = {layout.gamma:g}",
    )
    if release is not None:
        plan = f", plan {report['plan']}" if report["plan"] else ""
        print_fact("release", f"{options.method}{plan}: {release.guarantee}")
        if release.totals is not None:
            print(f"          {len(release.totals)} measured total(s) besides the intervals")
        kind = "exact noise" if release.secure else "FLOAT NOISE FROM A SEED: a simulation only"
        print(f"          {kind}; secure = {release.secure}")
        share = 100 * report["saturation"]
        print(f"          {share:.0f} % of the intervals reach the public worst case")
    print(f"policy    value {report['value']:.6g}")
    for text in answer.certificate.text():
        print_fact("", text)
    print("          safe: verified, with certainty")
    print(f"robust    value {report['robust_value']:.6g} with no data at all (ε = 0)")
    if not report["release_worth_it"]:
        print("          as good as the private one: no budget need be spent here")
    print(f"written   {options.out}/")
    if options.compare:
        print(f"curator   the comparison goes to {_place(options)}/: not to be published")
