"""``dp-cmdp answer``, ``certify``, ``advise``, ``simulate`` and ``verify``: no private data."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import Any

from dp_cmdp._src.base.errors import InvalidArgumentError
from dp_cmdp._src.cli import report
from dp_cmdp._src.cli.folder import answer_folder, writable_folder, write_json
from dp_cmdp._src.cli.parser import BUDGET, PROBLEM, command
from dp_cmdp._src.cli.problem import FORMS, RELEASE, Named, named, prior_numbers
from dp_cmdp._src.cli.problem import PROBLEM as PROBLEM_FILE

EXIT_NOT_PROVED = 1
ANSWER = f"""examples:
  dp-cmdp answer rooms                                   the robust answer: no data at all
  dp-cmdp answer rooms --release out/publish/release.npz
  dp-cmdp answer out/publish                             the problem and the release in a folder

{FORMS}
DIR gets what dp-cmdp solve writes. Nothing is spent, whatever is asked of a release."""
CERTIFY = f"""examples:
  dp-cmdp certify out/solve                              the answer in a folder, from its files
  dp-cmdp certify rooms out/solve                        … of the problem as you know it
  dp-cmdp certify rooms policy.npz --release release.npz
  dp-cmdp certify out/solve solution.csv                 a decision of your own

{FORMS}
Exit code 1 where it is not proved."""
ADVISE = f"""examples:
  dp-cmdp advise rooms
  dp-cmdp advise rooms --epsilon 1/2,1,2,4 --delta 1e-6 --loss 0.02
  dp-cmdp advise model.mps --private spec.toml --prior guess.csv --json

{FORMS}
Databases are invented within the public bounds, or around --prior: advice may be asked for freely
and published. DIR gets advice.json, and advice.png where matplotlib is installed."""
SIMULATE = f"""examples:
  dp-cmdp simulate rooms --epsilon 1 --delta 1e-6 --draws 100 --seed 0
  dp-cmdp simulate rooms --data 7 --epsilon 1 --delta 1e-6 --strategy queries

{FORMS}
The numbers of --data must be invented or public: what is printed tells them. The noise is fast and
of a seed, and nothing is spent. DIR gets simulation.csv, one row per draw."""
VERIFY = f"""examples:
  dp-cmdp verify out/solve
  dp-cmdp verify out/solve --problem rooms               compared with the problem as you know it
  dp-cmdp verify release.npz problem.npz --json

{FORMS}
Proved: the privacy of each measurement by a count of its own, in fractions; that no record moves
more than is certified; that answers hold for everything their release allows. Not provable from
files: that the integers came from the data, with exact noise, and who made the files: whoever
invents them all can make them agree. Exit code 0 only if all that can be judged holds, else 1."""


def add_parsers(commands: Any) -> None:
    text = "an answer from a release, or without any data"
    command(commands, "answer", answer, text, ANSWER, *PROBLEM, "--release", "--out")
    text = "whether a decision is feasible for every database that a release allows"
    certified = command(commands, "certify", certify, text, CERTIFY, *PROBLEM, "--release")
    told = "a folder that holds an answer, a policy (.npz) or the x of a linear program (.csv)"
    certified.add_argument("decision", metavar="DECISION", type=Path, help=told)
    drawn = ("--prior", "--draws", "--seed", "--workers", "--out")
    text = "what a private release would be worth, from public data"
    advised = command(commands, "advise", advise, text, ADVISE, *PROBLEM, *drawn)
    advised.add_argument("--epsilon", default="1/2,1,2,4", metavar="LIST", help="e.g. 1/2,1,2")
    advised.add_argument("--delta", default="1e-6", help="default: 1e-6")
    told = "also the smallest ε whose mean loss is at most this share of the best value"
    advised.add_argument("--loss", type=float, metavar="SHARE", help=told)
    text = "what solve would give on invented data, many times"
    spending = (*PROBLEM, "--data", *BUDGET, *drawn[1:])
    command(commands, "simulate", simulate, text, SIMULATE, *spending).set_defaults(draws=100)
    own = ("--problem", *PROBLEM[1:])
    verified = command(commands, "verify", verify, "what public files prove", VERIFY, *own)
    verified.add_argument("files", nargs="+", metavar="FILE", help="an .npz, or a folder of them")


def _release(options: argparse.Namespace, *folders: Any) -> Path | None:
    """The file of the release that is named, or that lies in the first of these folders."""
    own = [Path(folder) / RELEASE for folder in folders if folder and Path(folder).is_dir()]
    found = [path for path in own if path.is_file()]
    return options.release or (found[0] if found else None)


def answer(options: argparse.Namespace) -> int:
    import dp_cmdp as dp

    which, file = named(options), _release(options, options.problem)
    release = None if file is None else dp.Release.load(file)
    with answer_folder(options.out, given=file) as folder:
        find = partial(dp.answer, which.problem, release)
        found: Any = report.under_bar(options, "answer", find)
        summary = report.answer_summary(which, found)
        if release is not None:
            folder.keep(release)
        folder.write(partial(report.write_answer, which, found, summary))
    lines = report.answer_lines(which, found, options.out, summary["robust"]["value"])
    report.say(options, summary, *lines)
    return 0


def certify(options: argparse.Namespace) -> int:
    import dp_cmdp as dp

    which, decision, release = decided(options)
    prove = partial(dp.certify, which.problem, decision, release)
    proof = report.under_bar(options, "proof", prove)
    summary = {"problem": which.name, "certificate": report.certificate_summary(proof)}
    lines = [("decision", str(options.decision)), ("", repr(proof))]
    report.say(options, summary, report.problem_line(which), *lines)
    return 0 if proof else EXIT_NOT_PROVED


def decided(options: argparse.Namespace) -> tuple[Named, Any, Any]:
    """The problem (that beside the decision, if none is named), the decision and the release."""
    import dp_cmdp as dp

    path: Path = options.decision
    folder = path if path.is_dir() else path.parent
    own = options.problem is None and (folder / PROBLEM_FILE).is_file()
    which = named(options, str(folder) if own else None)
    file = _release(options, path, options.problem)
    release = None if file is None else dp.Release.load(file)
    if path.is_dir():
        return which, dp.Answer.load(path), release
    if path.suffix == ".csv":
        return which, _column(path, which.problem), release
    return which, dp.Policy.load(path), release


def _column(path: Path, problem: Any) -> Any:
    """The x of a linear program from a table like solution.csv, in the order of its variables."""
    import pandas as pd

    from dp_cmdp._src.base.storage import check_is_file
    from dp_cmdp._src.data.labels import flat_index

    try:
        table = pd.read_csv(check_is_file(path, "CSV"))
        if labels := getattr(problem, "variables", None):
            names = flat_index(labels).to_frame(index=False).astype(str).to_numpy()
            if not (table.iloc[:, :-1].astype(str).to_numpy() == names).all():
                raise ValueError("its labels are not those of the variables, in their order")
        return table.iloc[:, -1].to_numpy(float)
    except ValueError as error:
        raise InvalidArgumentError(f"{path} must be a table like solution.csv: {error}") from None


def _drawn(options: argparse.Namespace, which: Named) -> dict[str, Any]:
    chosen = {name: getattr(options, name) for name in ("delta", "draws", "seed", "workers")}
    return {**chosen, "prior": prior_numbers(options, which)}


def advise(options: argparse.Namespace) -> int:
    import dp_cmdp as dp

    which, epsilons = named(options), options.epsilon.split(",")
    with writable_folder(options.out, "advice.json", "advice.png") as folder:

        def work() -> tuple[Any, dict[str, Any]]:
            advice = dp.advise(which.problem, epsilon=epsilons, **_drawn(options, which))
            rows = advice.to_frame().to_dict("records")
            summary = {"problem": which.name, "strategy": advice.strategy.name, "rows": rows}
            if options.loss is not None:
                smallest = advice.smallest_epsilon(loss=options.loss)
                summary |= {"loss": options.loss, "smallest_epsilon": smallest}
            write_json(folder / "advice.json", summary)
            report.draw(advice, folder / "advice.png")
            return advice, summary

        advice, summary = report.under_bar(options, "advice", work)
    if not options.json:
        print(advice)
    lines = [] if options.loss is None else [("ε needed", f"{summary['smallest_epsilon']:.3g}")]
    report.say(options, summary, *lines, ("written", f"{options.out}/"))
    return 0


def simulate(options: argparse.Namespace) -> int:
    import dp_cmdp as dp

    which = named(options)
    with writable_folder(options.out, "simulation.csv") as folder:
        values, more = which.numbers(options.data), _drawn(options, which)
        more |= {"epsilon": options.epsilon, "strategy": options.strategy}
        runs = report.under_bar(
            options, "draws", lambda: dp.simulate(which.problem, values, **more)
        )
        frame = runs.to_frame()
        frame.to_csv(folder / "simulation.csv", index_label="draw")
    mean = {name: float(frame[name].mean()) for name in ("value", "loss", "recovered")}
    summary = {"simulated": True, "problem": which.name, "strategy": runs.strategy.name}
    summary |= {"draws": len(runs), "seed": options.seed, "best": runs.best, "mean": mean}
    report.say(
        options,
        {**summary, "robust": {"value": runs.robust}},
        ("SIMULATED", f"{len(runs)} draws of {runs.strategy.name} on invented numbers"),
        ("value", f"{mean['value']:.6g}; best {runs.best:.6g}, robust {runs.robust:.6g}"),
        ("loss", f"{mean['loss']:.3%}; {mean['recovered']:.0%} of the robust loss recovered"),
        ("written", f"{options.out}/"),
    )
    return 0


def verify(options: argparse.Namespace) -> int:
    import dp_cmdp as dp

    own = None if options.problem is None else named(options).problem
    found = report.under_bar(options, "claims", lambda: dp.verify(*options.files, problem=own))
    if not options.json:
        print(found)
    report.say(options, found.to_dict())
    return 0 if found else EXIT_NOT_PROVED
