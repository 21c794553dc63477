"""``python -m paper NAME``: a published table and its figure, from a seed.

Records are kept in DIR/NAME.sqlite as they are made: a run that was stopped goes on from there. DIR
also gets NAME.csv, NAME.manifest.json (seed, settings, versions) and NAME.png. In full the studies
take minutes to hours, with --quick seconds to a few minutes.
"""

from __future__ import annotations

import argparse
import json
import sys
import textwrap
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

import dp_cmdp as dp
from paper.runner import Row, manifest, run
from paper.studies import STUDIES
from paper.study import Study

#: Characters of a line at most.
WIDTH = 100


def main(arguments: Sequence[str] | None = None) -> int:
    """Make one study, or all of them, or list them."""
    options = _parser().parse_args(arguments)
    warnings.simplefilter("ignore", dp.errors.PrivacyWarning)
    if options.name is None:
        for study in STUDIES.values():
            print(f"{study.name:<16} {study.about}")
        return 0
    names = list(STUDIES) if options.name == "all" else [options.name]
    made = {}
    for name in names:
        folder = (options.out or Path("out")) / (
            name if options.out is None or len(names) > 1 else ""
        )
        try:
            made[name] = _make(STUDIES[name], options, folder)
        except dp.errors.Error as error:
            print(f"paper: error: {error}", file=sys.stderr)
            return 2
    if options.json:
        content = made if options.name == "all" else made[options.name]
        print(json.dumps(content, ensure_ascii=False, allow_nan=False))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m paper",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "name", nargs="?", choices=[*STUDIES, "all"], metavar="NAME", help="a study, or all"
    )
    parser.add_argument("--quick", action="store_true", help="fewer draws (and settings)")
    parser.add_argument("--draws", type=int, help="draws per setting (default: as published)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, help="processes (default: all cores)")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="of a Dask cluster")
    parser.add_argument("--out", type=Path, metavar="DIR", help="default: out/NAME")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    return parser


def _make(study: Study, options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Run what is missing, write records, table and picture, and print the table."""

    sweeps = study.planned(quick=options.quick, draws=options.draws)
    start = time.perf_counter()
    frame = run(
        sweeps,
        seed=options.seed,
        store=folder / f"{study.name}.sqlite",
        workers=options.workers,
        scheduler=options.scheduler,
        progress="" if options.json else study.name,
    )
    seconds, now = time.perf_counter() - start, frame.attrs["made_now"]
    rows = study.table(frame)
    said = study.summary(rows)
    about = json.dumps(manifest(study.name, sweeps, seed=options.seed), indent=2)
    (folder / f"{study.name}.manifest.json").write_text(about + "\n", encoding="utf-8")
    frame.to_csv(folder / f"{study.name}.csv", index=False)
    picture = dp.figures.save_figure(study.picture(rows), folder / f"{study.name}.png")
    if not options.json:
        _print(study, rows)
        if "note" in said:
            print("\n" + textwrap.fill(said["note"], WIDTH))
        pace = f" in {seconds:.1f} s" if now else ""
        print(f"\n{len(frame)} draws, {now} of them made now{pace}\nfigure {picture}")
    return {"rows": rows, **said}


def _print(study: Study, rows: list[Row]) -> None:
    """The table; two ends of an interval stand in brackets behind their mean."""
    shown: dict[str, list[str]] = {}
    for name in rows[0]:
        if name.endswith(("_low", "_high", "_low_percent", "_high_percent")):
            continue
        if not study.columns or name in study.columns:
            shown[name] = [_text(row[name]) + _interval(row, name) for row in rows]
    print(pd.DataFrame(shown).to_string(index=False))


def _interval(row: Row, name: str) -> str:
    stem = {"suboptimality_percent": "ci", "cost_of_privacy_percent": "ci"}.get(name)
    if stem is None or f"{stem}_low" not in row:
        return ""
    return f" [{row[f'{stem}_low']:.3g}, {row[f'{stem}_high']:.3g}]"


def _text(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, list | tuple):
        return ", ".join(map(_text, value)) or "-"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    sys.exit(main())
