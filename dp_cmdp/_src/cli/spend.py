"""``dp-cmdp solve`` and ``publish``: the two commands that spend a budget."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from dp_cmdp._src.base.errors import InvalidArgumentError
from dp_cmdp._src.cli import report
from dp_cmdp._src.cli.folder import CURATOR_FOLDER, AnswerFolder, answer_folder, write_private
from dp_cmdp._src.cli.parser import BUDGET, PROBLEM, command
from dp_cmdp._src.cli.problem import FORMS, Named, named, prior_numbers

PAID = f"""{FORMS}
The noise is exact and comes from the operating system: it has no seed. The ledger is debited before
private numbers are read; that they cannot be used is said then, not how, and nothing is refunded.
What is printed, the exit code and the public files depend on the release alone. A release that a
ledger paid for is never written over: name another DIR then. It is written as soon as it is drawn,
and an interrupted command leaves it: dp-cmdp answer goes on from there."""
SOLVE = f"""examples:
  dp-cmdp solve --epsilon 1 --delta 1e-6
  dp-cmdp solve my.json --data hazards.json --epsilon 1 --delta 1e-6 \\
      --ledger clinic.ledger --account site-7 --out out/site
  dp-cmdp solve model.mps --private spec.toml --data values.csv --epsilon 1 --delta 1e-6

{PAID}

DIR gets problem.npz, release.npz, answer.npz (which dp-cmdp verify DIR judges), certificate.json, a
picture answer.png where matplotlib is installed, layout.json of a grid and solution.csv of a linear
program, all safe to publish, in place of those of an earlier run."""
PUBLISH = f"""examples:
  dp-cmdp publish rooms --data hazards.json --epsilon 1 --delta 1e-6
  dp-cmdp answer out/publish                  anybody, as often as they like

{PAID}

DIR gets release.npz, and problem.npz (with layout.json of a grid) to answer from, all public."""
SPENDING = (*PROBLEM, "--data", *BUDGET, "--ledger", "--account", "--unit", "--out")


def add_parsers(commands: Any) -> None:
    text = "a private answer that is feasible for the true data with certainty"
    aliases = ["synthesize", "lp"]
    command(commands, "solve", solve, text, SOLVE, *SPENDING, "--compare", aliases=aliases)
    command(commands, "publish", publish, "a private release to answer from", PUBLISH, *SPENDING)


@contextmanager
def _paid(options: argparse.Namespace) -> Iterator[tuple[AnswerFolder, Named, Any, Any]]:
    """Folder, problem, release (which is in the folder by then) and what was spent.

    All that public data can refuse is refused before the debit.
    """
    import dp_cmdp as dp
    from dp_cmdp._src.release.publish import carrying

    budget, ledger = dp.PrivacyBudget(options.epsilon, options.delta), _ledger(options)
    with answer_folder(options.out) as folder:
        which = named(options)
        release = dp.publish(
            which.problem,
            which.database(options.data, ledger),
            epsilon=budget.epsilon,
            delta=budget.delta,
            strategy=options.strategy,
            prior=prior_numbers(options, which),
            progress=not options.json,
        )
        with carrying(lambda: release):
            folder.keep(release)
            yield folder, which, release, budget


def _ledger(options: argparse.Namespace) -> Any:
    """The account that pays, if any."""
    from dp_cmdp import PrivacyLedger

    for name in ("account", "unit"):
        if getattr(options, name) is not None and options.ledger is None:
            raise InvalidArgumentError(f"--{name} needs --ledger: without one nothing is debited")
    if options.ledger is None:
        return None
    if options.account is None:
        raise InvalidArgumentError("--account must name the database when --ledger is given")
    ledger = PrivacyLedger(options.ledger, options.account)
    if options.unit not in (None, ledger.unit):
        raise InvalidArgumentError(
            f"--unit must be that of the account, {ledger.unit!r}, got {options.unit[:60]!r}: "
            "losses of different units do not add up"
        )
    return ledger


def solve(options: argparse.Namespace) -> int:
    with _paid(options) as (folder, which, release, budget):
        answer = partial(_answer, options, which, release, budget)
        found = report.under_bar(options, "answer", answer)
        summary = report.answer_summary(which, found)
        files = partial(report.write_answer, which, found, summary)
        report.under_bar(options, "files", lambda: folder.write(files))
    place = str(options.out / CURATOR_FOLDER) if options.compare else None
    lines = report.answer_lines(which, found, options.out, summary["robust"]["value"])
    if place:
        lines += [("curator", f"the comparison goes to {place}/: not to be published")]
    report.say(options, {**summary, "comparison": place}, *lines)
    if options.compare:
        sys.stdout.flush()  # what is public is out before the truth is looked at
        write_private(options.out, "comparison.json", partial(_compared, options, which, found))
    return 0


def _answer(options: argparse.Namespace, which: Named, release: Any, budget: Any) -> Any:
    """What the verb solve makes of a release once it is published."""
    from dp_cmdp._src.release.publish import answered
    from dp_cmdp._src.verbs.arguments import prior_of
    from dp_cmdp._src.verbs.spend import finished, robust_answer

    problem, strategy = which.problem, report.strategy_name(release)
    prior = prior_of(prior_numbers(options, which), problem.envelope)
    robust = robust_answer(problem)
    found = answered(problem, release, robust, prior)
    return finished(problem, found, robust, release, strategy, budget)  # type: ignore[arg-type]


def _compared(options: argparse.Namespace, which: Named, found: Any, folder: Path) -> Any:
    """What privacy cost, with its picture. *Curator only.*"""
    from dp_cmdp import curator

    against = curator.compare(found, which.database(options.data))
    report.draw(against, folder / "comparison.png")
    names = ("loss", "violated", "value", "best", "robust")
    return {name: getattr(against, name) for name in names}


def publish(options: argparse.Namespace) -> int:
    with _paid(options) as (folder, which, release, budget):
        folder.write(lambda to: report.write_problem(which, to))
    spent = {"epsilon": float(budget.epsilon), "delta": float(budget.delta)}
    summary = {"problem": which.name, "strategy": report.strategy_name(release), **spent}
    summary["release"] = report.release_summary(release)
    lines = [report.problem_line(which), *report.release_lines(release)]
    report.say(options, summary, *lines, ("written", f"{options.out}/"))
    return 0
