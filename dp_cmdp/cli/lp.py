"""``dp-cmdp lp``: a linear program of a file, solved privately and with certainty."""

from __future__ import annotations

import argparse
import csv
import io
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dp_cmdp.cli.spending import (
    PaidRelease,
    add_spending_options,
    check_account,
    check_guess,
    read_guess,
)
from dp_cmdp.cli.tables import print_fact, print_json
from dp_cmdp.cli.values import writable_folder
from dp_cmdp.errors import AssumptionError, InvalidArgumentError

if TYPE_CHECKING:
    from dp_cmdp.accounting.budget import PrivacyBudget
    from dp_cmdp.frontends.private_lp import PrivateLp
    from dp_cmdp.program.linear_program import Solution
    from dp_cmdp.release.paid import Keep
    from dp_cmdp.release.solve import PrivateAnswer

#: What is written, all of it safe to publish.
FILES = SOLUTION, TABLE, RELEASE, PROGRAM, CERTIFICATE = (
    "solution.npz",
    "solution.csv",
    "release.npz",
    "program.npz",
    "certificate.json",
)

#: What --check --curator writes, for the curator.
VALUES = "values.json"

EPILOG = """examples:
  dp-cmdp lp model.mps --private spec.toml --data values.csv --epsilon 1 --delta 1e-6 --out out/lp
  dp-cmdp lp model.mps.gz --private spec.toml --epsilon 1 --delta 1e-6 --out out/lp --json
  dp-cmdp lp model.mps --private spec.toml --check
  dp-cmdp lp model.mps --private spec.toml --data values.csv --check --curator --out out/lp

spec.toml says which numbers are private and what is public about them:

  [[private]]
  kind = "rhs"        # or "coefficient", "objective", "bound"
  rows = ["CAP*"]
  lower = 0
  upper = 50
  radius = 1

With --data the model is public, and bounds may be relative to its numbers (relative = true); the
private numbers come from a table (group,row,column,value) or from a second file of the same model.
Without it the model's own numbers are the private ones, and bounds must be absolute.

The ledger is debited before private numbers are used; that they are wrong is said then, not how,
and nothing is refunded. --check reads no private number of --data and spends nothing. With
--curator it reads them too, and writes what is wrong, by line and name, to
DIR/curator_only/values.json: for their curator alone. What it prints does not depend on them.

DIR gets solution.npz, solution.csv, release.npz, program.npz and certificate.json, all safe to
publish, in place of those of an earlier run (dp-cmdp verify judges the three .npz files). But a
release that a ledger paid for is never written over: name another DIR then. It is written as soon
as it is drawn, so that nothing that happens later loses it."""


def add_parser(commands) -> None:
    parser = commands.add_parser(
        "lp",
        help="a private solution of an MPS or LP file that is feasible with certainty",
        description="Release the private numbers of a linear program under differential privacy "
        "and solve it so that its rows hold for everything the release allows: for the truth too.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("model", type=Path, metavar="MODEL", help=".mps or .lp, plain or .gz")
    parser.add_argument("--private", type=Path, required=True, metavar="SPEC", help="a TOML file")
    parser.add_argument(
        "--data", type=Path, metavar="FILE", help="private numbers; makes MODEL public"
    )
    parser.add_argument("--epsilon", help="privacy, e.g. 1 or 1/3")
    parser.add_argument("--delta", help="privacy, e.g. 1e-6; in (0, 1/2]")
    add_spending_options(parser)
    parser.add_argument("--relax", action="store_true", help="take integer columns as continuous")
    parser.add_argument("--out", type=Path, default=Path("out/lp"), metavar="DIR")
    parser.add_argument(
        "--check", action="store_true", help="check the public side alone; spend nothing"
    )
    parser.add_argument(
        "--curator",
        action="store_true",
        help="with --check: what is wrong with the private numbers goes to DIR/curator_only/",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from dp_cmdp.accounting.budget import PrivacyBudget

    if options.curator and not options.check:
        raise InvalidArgumentError("--curator needs --check: an answer tells no more to a curator")
    if options.check:
        return _check(options)
    if options.epsilon is None or options.delta is None:
        raise InvalidArgumentError("--epsilon and --delta must be given (not with --check)")
    budget = PrivacyBudget(options.epsilon, options.delta)
    check_account(options)
    check_guess(options, private=options.data or options.model)
    # before data is used or a ledger debited
    with writable_folder(options.out, *FILES), PaidRelease(options.out, FILES) as paid:
        private = _open(options)
        answer = _answer(options, private, budget, keep=paid.keep)
        report = _report(options, private, answer, budget)
        _write(options.out, private, answer, report)
    if options.json:
        print_json(report)
    else:
        _print_summary(options, private, report, answer)
    return 0


def _open(options: argparse.Namespace) -> PrivateLp:
    """The public side of the files; no private number is looked at."""
    from dp_cmdp._storage import check_is_file
    from dp_cmdp.frontends.lp_file import read_lp
    from dp_cmdp.frontends.lp_neutral import read_public_part
    from dp_cmdp.frontends.lp_spec import read_spec
    from dp_cmdp.frontends.private_lp import private_program

    blocks = read_spec(options.private)
    if options.data is None:
        model = read_public_part(options.model, blocks, relax=options.relax)
        return private_program(model, blocks)
    check_is_file(options.data, "CSV, MPS or LP")
    model = read_lp(options.model, relax=options.relax)
    return private_program(model, blocks, public_model=True)


def _answer(
    options: argparse.Namespace,
    private: PrivateLp,
    budget: PrivacyBudget,
    *,
    keep: Keep,
) -> PrivateAnswer:
    import numpy as np

    from dp_cmdp.accounting.ledger import PrivacyLedger
    from dp_cmdp.release.paid import handed_on
    from dp_cmdp.release.solve import release_and_solve

    source = options.data or options.model
    try:
        return release_and_solve(
            private.program,
            private.database(source, identity=options.identity),
            budget,
            plan=options.plan or "auto",
            guess=read_guess(options, private.values),
            calibration=options.noise,
            rng=None if options.seed is None else np.random.default_rng(options.seed),
            ledger=None
            if options.ledger is None
            else PrivacyLedger(options.ledger, unit=options.unit),
            progress=not options.json,
            keep=keep,
        )
    except AssumptionError as error:
        raise handed_on(error, private.renamed(error)) from None


def _check(options: argparse.Namespace) -> int:
    """What can be known without data: is there an answer for every database?"""
    from dp_cmdp.release.solve import robust_solution

    check_guess(options, private=options.data or options.model)
    private = _open(options)
    read_guess(options, private.values)
    try:
        robust = robust_solution(private.program)
    except AssumptionError as error:
        raise private.renamed(error) from None
    report = {**_facts(options, private), "robust_value": private.value(robust.objective)}
    if options.curator:
        report["curator_only"] = str(_tell_curator(options, private))
    if options.json:
        print_json(report)
    else:
        _print_model(private, report)
        print(f"robust    objective {report['robust_value']:.9g} with no data at all (ε = 0)")
        print("          every row holds for every database within the public bounds: ready")
        if options.curator:
            print(f"curator-only results written to {report['curator_only']}")
    return 0


def _tell_curator(options: argparse.Namespace, private: PrivateLp) -> Path:
    """Are the private numbers as they should be? Only their curator learns it."""
    from dp_cmdp.data.curator import report_to_curator

    source = options.data or options.model

    def look(_: Path) -> dict[str, Any]:
        return {"usable": True, "numbers": private.values(source).size}

    with writable_folder(options.out) as folder:
        return report_to_curator(folder, VALUES, look)


def _facts(options: argparse.Namespace, private: PrivateLp) -> dict[str, Any]:
    return {
        "model": private.model.name,
        "rows": private.model.num_rows,
        "columns": private.model.num_columns,
        "private": {group.name: group.size for group in private.groups},
        "record_size": private.program.envelope.record_size,
        "private_numbers_in": "the model file" if options.data is None else "a file of their own",
        "relaxed": bool(options.relax),
    }


def _report(
    options: argparse.Namespace, private: PrivateLp, answer: PrivateAnswer, budget: PrivacyBudget
) -> dict[str, Any]:
    solution, robust = answer.solution, answer.robust
    assert solution.certificate is not None
    gain = solution.objective - robust.objective
    return {
        **_facts(options, private),
        "epsilon": float(budget.epsilon),
        "delta": float(budget.delta),
        "plan": str(answer.choice.plan),
        "secure": answer.release.secure,
        "leaks": list(answer.release.leaks),
        "objective": private.value(solution.objective),
        "robust_value": private.value(robust.objective),
        "release_worth_it": gain > 1e-9 * abs(robust.objective),
        "certificate": _certificate(solution),
    }


def _certificate(solution: Solution) -> dict[str, Any]:
    """The certificate as JSON, which has no infinity: no inequality rows, no slack."""
    from math import isfinite

    facts = asdict(solution.certificate)  # pyright: ignore[reportArgumentType]
    return {
        name: None if isinstance(value, float) and not isfinite(value) else value
        for name, value in facts.items()
    }


def _write(folder: Path, private: PrivateLp, answer: PrivateAnswer, report: dict[str, Any]) -> None:
    """The public artefacts, in place of those of an earlier run."""
    from dp_cmdp._storage import replaced_files, write_text
    from dp_cmdp.data.curator import write_public_json

    table = io.StringIO()
    lines = csv.writer(table, lineterminator="\n")
    lines.writerow(["column", "value"])
    pairs = zip(private.model.column_names, answer.solution.x.tolist(), strict=True)
    lines.writerows((name, repr(value)) for name, value in pairs)
    with replaced_files(folder, FILES) as staged:
        answer.solution.save(
            staged / SOLUTION,
            release=answer.release,
            program=private.program,
            name=private.model.name,
        )
        write_text(staged / TABLE, table.getvalue())
        answer.release.save(staged / RELEASE)
        private.program.save(staged / PROGRAM)
        write_public_json(staged / CERTIFICATE, report)


def _print_model(private: PrivateLp, report: dict[str, Any]) -> None:
    model = private.model
    print_fact("model", f"{model.name}: {model.num_rows} rows, {model.num_columns} columns")
    for group in private.groups:
        side = f", {group.side} side" if group.side else ""
        print_fact("private", f"{group.name}: {group.size} numbers ({group.kind}{side})")
    where = report["private_numbers_in"]
    print_fact("", f"in {where}; records of up to {report['record_size']}")


def _print_summary(
    options: argparse.Namespace, private: PrivateLp, report: dict[str, Any], answer: PrivateAnswer
) -> None:
    release, proof = answer.release, report["certificate"]
    _print_model(private, report)
    print_fact("release", f"plan {report['plan']}: {release.guarantee}")
    if release.totals is not None:
        print(f"          {len(release.totals)} measured total(s) besides the intervals")
    kind = "exact noise" if release.secure else "FLOAT NOISE FROM A SEED: a simulation only"
    print(f"          {kind}; secure = {release.secure}")
    print(f"solution  objective {report['objective']:.9g}")
    if proof["worst_slack"] is not None:
        print(f"          every row holds with certainty: least slack {proof['worst_slack']:.3g}")
    if private.program.b_eq.size:
        print(f"          equality rows hold to {proof['equality_residual']:.2g} of their terms")
    print(f"robust    objective {report['robust_value']:.9g} with no data at all (ε = 0)")
    if not report["release_worth_it"]:
        print("          as good as the private one: no budget need be spent here")
    print(f"written   {options.out}/")
