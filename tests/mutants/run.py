"""Put faults in, one line at a time, and see which test notices: ``make test-mutants``.

Tests are judged by faults. Each fault of :mod:`tests.mutants.faults.catalogue` is put into a copy
of the repository; the tests that should notice run first, and all default tests if these pass. A
fault that no test notices is a hole in the tests, unless the list says why it changes nothing.

The list is written by hand. A generating tool (cosmic-ray 8 was tried) makes 12,354 mutants of the
30 files in which most promises are kept, many of them in texts, shapes and annotations: seven hours
with well-chosen tests on two cores, and days with the whole suite. It knows no promise, so its
survivors are sifted by hand all the same; and mutmut 3 changes nothing outside functions, such as
the settings of the ledger's file. What is asked here is whether *each promise* has a test, so each
fault names the one it breaks.

Records are kept in ``out/mutants``: a killed run goes on where it stopped, and what has not changed
is not run again.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections.abc import Sequence
from fnmatch import fnmatch
from pathlib import Path

from dp_cmdp._storage import write_text
from tests.mutants.fault import Fault
from tests.mutants.faults.catalogue import FAULTS
from tests.mutants.record import (
    CAUGHT,
    EQUIVALENT,
    REFUTED,
    SURVIVED,
    Record,
    Records,
    as_json,
    summary,
    table,
)
from tests.mutants.workshop import ALL_SECONDS, OWN_SECONDS, RedTestsError, Workshops

ROOT = Path(__file__).resolve().parents[2]
WRONG_BEFORE = 2


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    # a job in the background starts with Ctrl-C ignored, and some tests press it
    signal.signal(signal.SIGINT, signal.default_int_handler)
    faults = [
        fault
        for fault in FAULTS
        if not options.names or any(fnmatch(fault.name, name) for name in options.names)
    ]
    records = Records(options.records, root=ROOT)
    found = {} if options.fresh else {f.name: r for f in faults if (r := records.find(f))}
    try:
        with Workshops(options.processes, root=ROOT, deselected=options.deselect) as workshops:
            _try_all([f for f in faults if f.name not in found], workshops, records, found)
    except RedTestsError as error:
        print(f"the tests must pass without a fault: {error}", file=sys.stderr)
        return WRONG_BEFORE
    ended = [found[fault.name] for fault in faults]
    if options.table is not None:
        write_text(options.table, table(faults, ended))
    print(json.dumps(as_json(faults, ended), indent=2) if options.json else table(faults, ended))
    wrong = [record for record in ended if not record.holds]
    for record in wrong:
        print(f"{record.verdict}: {record.name} {record.test}", file=sys.stderr)
    print(", ".join(f"{n} {word}" for word, n in summary(ended).items()), file=sys.stderr)
    return 1 if wrong else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.mutants.run",
        description="Put faults in, one line at a time, and see which test notices.",
    )
    parser.add_argument("names", nargs="*", help="faults to try, with wildcards (default: all)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")
    parser.add_argument("--table", type=Path, metavar="FILE", help="write the table here too")
    parser.add_argument("--fresh", action="store_true", help="forget earlier records")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--deselect", action="append", default=[], metavar="TEST")
    parser.add_argument("--records", type=Path, default=ROOT / "out" / "mutants", metavar="DIR")
    return parser


def _try_all(
    faults: Sequence[Fault], workshops: Workshops, records: Records, found: dict[str, Record]
) -> None:
    """Each fault against its own tests; those that pass them against all default tests."""
    own = sorted({test for fault in faults for test in fault.tests})
    unnoticed = []
    tried = workshops.each(faults, lambda fault: fault.tests, before=own, seconds=OWN_SECONDS)
    for fault, outcome in tried:
        if fault.equivalent:
            verdict = EQUIVALENT if outcome.passed else REFUTED
        elif outcome.passed:
            unnoticed.append(fault)
            continue
        else:
            verdict = CAUGHT
        found[fault.name] = records.keep(fault, verdict, outcome.test)
    whole = ["tests"]
    tried = workshops.each(unnoticed, lambda _: whole, before=whole, seconds=ALL_SECONDS)
    for fault, outcome in tried:
        verdict = SURVIVED if outcome.passed else CAUGHT
        found[fault.name] = records.keep(fault, verdict, outcome.test)


if __name__ == "__main__":
    sys.exit(main())
