"""The code before a change against this checkout, in turns on one machine.

    python benchmarks/before.py --revision main~1 --case grid/100000/0.99/1/tight/uniform/100

The model is written to a file; each version solves it in processes of its own, three times in turn,
and the shortest times are compared. Lines are appended to out/bench/before.jsonl.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.families import REPORTING, Case
from benchmarks.records import Records

ROOT = Path(__file__).parent.parent
SOLVE = """
import json, sys, time
from dp_cmdp.cmdp.model import CMDP
from dp_cmdp.cmdp.solvers.door import solve_cmdp
gap = float(sys.argv[2])
solve_cmdp(CMDP.load(sys.argv[3]), engine="policies", gap=gap)
model = CMDP.load(sys.argv[1])
begin = time.process_time()
solution = solve_cmdp(model, engine="policies", gap=gap)
print(json.dumps([time.process_time() - begin, solution.value, solution.gap]))
"""
ROUNDS = 3


def compare(case: Case, revision: str, *, gap: float, records: Records) -> None:
    """One line: ours_s of this checkout, peer_s of the revision."""
    with tempfile.TemporaryDirectory() as folder:
        tree, place = Path(folder) / "tree", Path(folder)
        _git("worktree", "add", "--detach", str(tree), revision)
        try:
            model, small = case.build().save(place / "model.npz"), place / "small.npz"
            Case("grid", 16).build().save(small)
            rounds = [[_solve(root, model, small, gap) for root in (ROOT, tree)]
                      for _ in range(ROUNDS)]  # fmt: skip
        finally:
            _git("worktree", "remove", "--force", str(tree))
    ours, before = (min(times) for times in zip(*rounds, strict=True))
    records.add("before", case.size, ours_s=ours[0], peer=revision, peer_s=before[0], gap=ours[2],
                family=case.family, gamma=case.gamma, costs=case.costs, seed=case.seed,
                key=case.key, difference=abs(ours[1] - before[1]) / abs(ours[1]))  # fmt: skip


def _solve(root: Path, model: Path, small: Path, gap: float) -> list[float]:
    done = subprocess.run([sys.executable, "-c", SOLVE, str(model), str(gap), str(small)],
                          env=os.environ | {"PYTHONPATH": str(root)}, cwd=root, check=True,
                          capture_output=True, text=True)  # fmt: skip
    return json.loads(done.stdout)


def _git(*arguments: str) -> None:
    subprocess.run(["git", "-C", str(ROOT), *arguments], check=True, capture_output=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--revision", required=True, help="of the code before")
    parser.add_argument("--case", action="append", help="keys; grid 10⁵ by default")
    parser.add_argument("--gap", type=float, default=1e-8)
    parser.add_argument("--out", type=Path, default=Path("out/bench"))
    options = parser.parse_args()
    records = Records(options.out / "before.jsonl")
    usual = [Case("grid", 100_000, seed=seed).key for seed in REPORTING]
    for key in options.case or usual:
        with records.part(f"before {key}"):
            compare(Case.of(key), options.revision, gap=options.gap, records=records)


if __name__ == "__main__":
    main()
