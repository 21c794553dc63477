"""``dp-cmdp audit``: does what is shipped keep its privacy promise, and would a bug be seen?"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

from dp_cmdp.cli.tables import print_json, print_table
from dp_cmdp.cli.values import at_least, writable_folder

EPILOG = """examples:
  dp-cmdp audit                 every shipped method, and bugs that must be caught
  dp-cmdp audit --quick         fewer runs
  dp-cmdp audit --json          one JSON document on standard output

Layers: certificate (exact fractions), coupling (same noise on two databases), noise law (draws
against their exact law), black box (probabilities of events on two databases). A correct method is
accused with probability at most 1e-6. Worst records: on programs that are awkward for floats, every
record is moved by its worst pattern, and the integers moved are compared with those certified,
exactly. Exit code 1 when a method fails, a bug goes unseen or a record is not covered.
DIR gets audit.json and audit.png. To audit a mechanism of your own:
dp_cmdp.audit.subject.audit."""

EXIT_FAILED = 1
WORDS = {True: "pass", False: "FAIL", None: "-"}


def add_parser(commands) -> None:
    parser = commands.add_parser(
        "audit",
        help="test the privacy of everything that is shipped",
        description="Test the privacy claims of every shipped method on invented data, and show "
        "that mechanisms broken on purpose are caught.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="fewer runs (took three minutes with one process on two busy cores)",
    )
    parser.add_argument("--seed", type=at_least(0), default=0)
    parser.add_argument("--workers", type=at_least(1), help="processes (default: all cores)")
    parser.add_argument("--out", type=Path, default=Path("out/audit"), metavar="DIR")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    with writable_folder(options.out):
        return _audit(options)


def _audit(options: argparse.Namespace) -> int:
    from dp_cmdp.audit.report import FALSE_ALARM, LAYERS
    from dp_cmdp.audit.suite import QUICK_RUNS, RUNS, audit_everything
    from dp_cmdp.data.curator import write_public_json
    from dp_cmdp.figures import audit_figure, save_figure

    start = time.perf_counter()
    report = audit_everything(
        runs=QUICK_RUNS if options.quick else RUNS,
        seed=options.seed,
        workers=options.workers or os.cpu_count() or 1,
        progress=not options.json,
    )
    seconds = time.perf_counter() - start
    document = report.to_dict()
    written = write_public_json(options.out / "audit.json", document)
    picture = save_figure(audit_figure(report), options.out / "audit.png")
    code = 0 if report.passed else EXIT_FAILED
    if options.json:
        print_json(document)
        return code
    print_table(
        [
            {
                "method": method.name,
                "epsilon": float(method.epsilon),
                "epsilon_lower_bound": method.epsilon_lower_bound,
                **{layer: WORDS[method.layers[layer].passed] for layer in LAYERS},
            }
            for method in report.methods
        ]
    )
    print()
    print_table(
        [
            {
                "injected bug": bug.bug,
                "caught": "yes" if bug.caught else "NO",
                "by": ", ".join(bug.found.objecting) or "-",
            }
            for bug in report.injected
        ]
    )
    print("\nworst records: integers moved against integers certified")
    print_table([row.to_dict() | {"passed": WORDS[row.passed]} for row in report.worst])
    print(f"\n{'passed' if report.passed else 'FAILED'} in {seconds:.1f} s; a correct method is")
    print(f"accused with probability at most {FALSE_ALARM:g}. A pass is no proof, but for the")
    print(f"certificate layer and the worst records.\nreport  {written}\nfigure  {picture}")
    return code
