"""``dp-cmdp verify``: what public files prove, without the curator."""

from __future__ import annotations

import argparse
from pathlib import Path

from dp_cmdp.cli.tables import print_json, print_table

EPILOG = """examples:
  dp-cmdp verify out/demo/release.npz
  dp-cmdp verify out/demo/release.npz out/demo/policy.npz
  dp-cmdp verify release.npz solution.npz program.npz --json

A policy needs its release and, unless it remembers its layout, its model or layout (those that come
with the package are found by name); a solution needs its release and its program. No private data
is read.

Proved: noise certificates in fractions; the sum of what the parts spend; that no record moves more
integers than are certified; intervals in the envelope and on the lattice; policies and solutions
feasible for everything their release allows. Declared, and taken at the file's word: that nothing
was left unprotected and the noise was exact. Not provable from files: that the noise was really
drawn, that the data lie in the envelope, that an answer used its release only, and who made the
files: whoever invents them all can make them agree.

Exit code 0 only if nothing failed, 1 otherwise."""

EXIT_FAILED = 1


def add_parser(commands) -> None:
    parser = commands.add_parser(
        "verify",
        help="what releases, policies and solutions prove, from public files alone",
        description="Verify the claims of public files: privacy of releases in exact fractions, "
        "feasibility of policies and solutions for everything their release allows.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="an .npz or layout")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from dp_cmdp.verification.files import verify

    report = verify(*options.files)
    if options.json:
        print_json(report.facts())
    else:
        for file in dict.fromkeys(found.file for found in report.findings):
            print(f"{file}")
            print_table(
                [
                    {"outcome": found.outcome, "claim": found.claim, "why": found.why}
                    for found in report.findings
                    if found.file == file
                ]
            )
            print()
        failed = sum(found.holds is False for found in report.findings)
        print("all that can be proved holds" if report.passed else f"{failed} claim(s) FAILED")
    return 0 if report.passed else EXIT_FAILED
