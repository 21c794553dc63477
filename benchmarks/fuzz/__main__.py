"""Run the fuzz: one line per problem in a file, failures on the screen."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from benchmarks.fuzz.check import check
from benchmarks.fuzz.worker import LIMIT, run


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problems", type=int, default=50_000)
    parser.add_argument("--out", type=Path, default=Path("out/fuzz.jsonl"))
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds per problem")
    parser.add_argument("--replay", metavar="KEY", help="check one problem and print its line")
    options = parser.parse_args()
    if options.replay:
        line = check(options.replay).line
        print(json.dumps(line, indent=1, ensure_ascii=False))
        return 1 if line["faults"] else 0
    lines = run(options.problems, options.out, limit=options.limit)
    count = {name: sum(bool(line[name]) for line in lines)
             for name in ("faults", "unanswered", "short")}  # fmt: skip
    print(
        f"{len(lines):,} problems: {count['faults']:,} with faults, {count['unanswered']:,} left "
        f"without an answer, {count['short']:,} short of the gap; see {options.out}"
    )
    return 1 if count["faults"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
