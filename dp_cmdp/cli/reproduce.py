"""``dp-cmdp reproduce NAME``: a published table or figure, from its seed."""

from __future__ import annotations

import argparse
import textwrap
import time
import warnings
from pathlib import Path

from dp_cmdp.cli.tables import print_json, print_table
from dp_cmdp.cli.values import at_least, writable_folder
from dp_cmdp.errors import PrivacyWarning
from dp_cmdp.reproductions import REPRODUCTIONS

EPILOG = """examples:
  dp-cmdp reproduce ad-headline --quick          fewer draws, wide intervals
  dp-cmdp reproduce ad-headline                  the published table and figure
  dp-cmdp reproduce ad-headline --quick --json   one JSON document on standard output

Records are kept in DIR/NAME.sqlite as they are made: a run that was stopped goes on from there.
DIR also gets NAME.csv, NAME.manifest.json (seed, settings, versions) and NAME.png. What is printed
fits 100 columns; --json has every column.

Seconds are those of --quick with one process on a core mostly its own, rounded up; three processes
on that core made it two to five times as many. In full the studies take minutes to hours."""


def add_parser(commands) -> None:
    parser = commands.add_parser(
        "reproduce",
        help="make a published table or figure again",
        description="Make a published table or figure again, with intervals, from its seed.",
        epilog=f"names, and seconds of --quick:\n{_names()}\n\n{EPILOG}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "name", choices=REPRODUCTIONS, metavar="NAME", help="one of the names below"
    )
    parser.add_argument("--quick", action="store_true", help="fewer draws (and settings)")
    parser.add_argument(
        "--draws", type=at_least(1), help="draws per setting (default: as published)"
    )
    parser.add_argument("--seed", type=at_least(0), default=0)
    parser.add_argument("--workers", type=at_least(1), help="processes (default: all cores)")
    parser.add_argument("--engine", choices=("joblib", "dask"), default="joblib")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="of a Dask cluster")
    parser.add_argument("--out", type=Path, metavar="DIR", help="default: out/NAME")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.set_defaults(run=run)


def _names() -> str:
    return "\n".join(
        f"  {name:<15} {made.quick_seconds:>3} s  {made.about}"
        for name, made in REPRODUCTIONS.items()
    )


def run(options: argparse.Namespace) -> int:
    with writable_folder(options.out or Path("out") / options.name) as folder:
        return _reproduce(options, folder)


def _reproduce(options: argparse.Namespace, folder: Path) -> int:
    from dp_cmdp.experiments.records import export
    from dp_cmdp.experiments.runner import run_sweep
    from dp_cmdp.figures import save_figure

    warnings.simplefilter("ignore", PrivacyWarning)
    made = REPRODUCTIONS[options.name]
    study = made.study()
    sweep = made.sweep(quick=options.quick, draws=options.draws, seed=options.seed)
    start = time.perf_counter()
    frame = run_sweep(
        sweep,
        store=folder / f"{sweep.name}.sqlite",
        engine=options.engine,
        workers=options.workers,
        scheduler=options.scheduler,
        progress=not options.json,
    )
    seconds = time.perf_counter() - start
    rows = study.rows(frame)
    records = export(frame, sweep, folder=folder)
    picture = save_figure(study.figure(rows), folder / f"{sweep.name}.png")
    facts = study.summary(rows)
    if options.json:
        print_json({"rows": rows, **facts})
        return 0
    print_table(rows, columns=study.columns, caption=True)
    if "note" in facts:
        print("\n" + textwrap.fill(facts["note"], 100))
    now = frame.attrs["made_now"]
    pace = f" in {seconds:.1f} s ({now / seconds:.2g} per second)" if now else ""
    print(f"\n{len(frame)} draws, {now} of them made now{pace}")
    print(f"records {records}\nfigure  {picture}")
    return 0
