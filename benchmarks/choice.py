"""What the default strategy loses, in this checkout and in an earlier one, on the same problems.

    git worktree add ../before REVISION && make -C ../before demo
    python benchmarks/choice.py --before ../before [--draws 8] [--epsilon 1,10] [--only queue]

Problems and databases are those of the list REPORTED of ``paper/problems/classes.py`` in this
checkout, and so are the seeds; each checkout simulates its own noise with its own interpreter. A
revision needs ``Simulator`` and ``choose`` in ``release/choose.py``: 7183a81 is the first that the
table of docs/scale.md was measured against.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
#: Losses in percent below this count as this much: what differs there is rounding.
LEAST = 0.05
#: Radius of every entry, δ, and the seed of the simulated noise.
RADIUS, DELTA, SEED = 0.1, "1/1000", 77


def losses(only: str, draws: int, budgets: list[str]) -> list[dict[str, Any]]:
    """Mean losses in percent of the optimum, by whichever dp_cmdp this interpreter has."""
    import dp_cmdp as dp
    from dp_cmdp._src.release.belief import NOTHING_KNOWN
    from dp_cmdp._src.release.choose import Simulator, choose
    from paper.problems import classes

    rows = []
    for name, size, seed in classes.REPORTED:
        if only not in name:
            continue
        problem: Any = classes.CLASSES[name](np.random.default_rng(seed), RADIUS, **size)
        values = [classes.truth(problem, np.random.default_rng([seed, d])) for d in range(draws)]
        for epsilon in budgets:
            budget = dp.PrivacyBudget(epsilon, DELTA)
            strategy = choose(Simulator(problem, NOTHING_KNOWN), budget).strategy
            simulator = Simulator(problem, NOTHING_KNOWN, seed=SEED)
            lost = []
            for number, known in enumerate(values):
                trial = simulator.of(known, number)
                value = problem.value(trial.answer(strategy, budget).decision, known)
                lost.append(100 * problem.sense * (trial.best - value) / abs(trial.best))
            title = " ".join([name, *map(str, size.values())])
            rows.append({"problem": title, "epsilon": epsilon, "loss_percent": np.mean(lost)})
    return rows


def run(checkout: Path, options: argparse.Namespace) -> list[dict[str, Any]]:
    """The losses that a checkout's own interpreter finds, with the problems of this one."""
    given = ["--only", options.only, "--draws", str(options.draws), "--epsilon", options.epsilon]
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "paper").symlink_to(ROOT / "paper")
        command = [str(checkout / ".venv/bin/python"), __file__, "--worker", *given]
        env = {**os.environ, "PYTHONPATH": folder}
        done = subprocess.run(command, env=env, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description="Losses of two checkouts")
    parser.add_argument("--before", type=Path)
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--only", default="", help="problems whose name has this in it")
    parser.add_argument("--draws", type=int, default=8)
    parser.add_argument("--epsilon", default="3/10,1,3,10")
    options = parser.parse_args()
    budgets = options.epsilon.split(",")
    if options.worker:
        warnings.simplefilter("ignore")
        rows = losses(options.only, options.draws, budgets)
        sys.stdout.write(json.dumps(rows))
        return
    if options.before is None:
        parser.error("--before must name a checkout with an environment of its own in .venv")
    ratios: dict[str, list[float]] = {epsilon: [] for epsilon in budgets}
    pairs = zip(run(options.before.resolve(), options), run(ROOT, options), strict=True)
    for old, new in pairs:
        then, now = old["loss_percent"], new["loss_percent"]
        ratios[new["epsilon"]].append(max(now, LEAST) / max(then, LEAST))
        print(f"{new['problem']:22} ε = {new['epsilon']:5} {then:8.3g} → {now:8.3g}")
    for epsilon, found in ratios.items():
        print(f"ε = {epsilon}: {np.exp(np.log(found).mean()):.3f} in the geometric mean")
    every = np.concatenate(list(ratios.values()))
    worse = int((every > 1.05).sum())
    print(f"all {every.size}: {np.exp(np.log(every).mean()):.3f}; over 1.05 in {worse}")


if __name__ == "__main__":
    main()
