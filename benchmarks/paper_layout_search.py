"""The search that found ``envs/data/layouts/paper.json`` and its hazards.

The grid, the discount, the slip and the rewards of the published cost-of-privacy figure are not
known. Three numbers are: the plateaus at small ε, 0.22 % (Algorithm 1, which then sees severity
0.9 in every candidate) and 0.0088 % (Munoz, true severities), and the cost of the unconstrained
optimum, about 0.317 (from the steps of Munoz's curve, see ``docs/cost-of-privacy.md``).

1. Draw grids of 4 to 7 rows and columns from a seed: candidates, hazards, slip, γ, goal reward.
2. Keep those nearest to the three numbers; move γ, slip and goal reward until they are met
   (least squares), and round these to 4, 3 and 0 decimals.
3. Of those within 3 % of both plateaus on which the database release costs at most 0.45 times
   (ε = 1) and 0.08 times (ε = 3) what Algorithm 1 does, take the one whose as-published variant
   is nearest to the published Algorithm 1 curve at thirteen values of ε.

    python benchmarks/paper_layout_search.py                 the search, as it was run
    python benchmarks/paper_layout_search.py --write DIR     also write the two JSON files
"""

from __future__ import annotations

import argparse
import json
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy.optimize import least_squares

from dp_cmdp._storage import write_text
from dp_cmdp.cmdp.solvers.pool import PolicyPool
from dp_cmdp.envs.dynamics import GridModel
from dp_cmdp.envs.hazards import FORMAT, Hazards
from dp_cmdp.envs.layout import HazardKind, Layout
from dp_cmdp.envs.layout_files import save_layout
from dp_cmdp.errors import DPCMDPError, PrivacyWarning
from dp_cmdp.experiments.cost_of_privacy import (
    FITTED,
    Scenario,
    publish,
    published_curves,
    scenario_of,
)
from dp_cmdp.experiments.sweep import stream

SEVERITY, TOLERANCE, SUP, INF = 0.6, 0.6, 0.9, 0.3
#: The cost of the unconstrained optimum.
FREE_COST = 0.317
#: P(f̃0 = 0.3) at small ε: support 2 on either side of 0.6.
CLIPPED = 0.925
UNREACHABLE = np.full(3, 100.0)
EPSILONS = ("1/2", "1", "3/2", "2", "5/2", "3", "4", "5", "6", "7", "8", "9", "10")


@dataclass(frozen=True, slots=True)
class Guess:
    """A grid with hazards; cells are numbers."""

    shape: tuple[int, int]
    start: int
    goal: int
    candidates: tuple[int, ...]
    hazards: frozenset[int]
    slip: float
    gamma: float
    goal_reward: float

    def layout(self) -> Layout:
        kind = HazardKind(
            cells=self.candidates,
            severity=(0.0, SUP),
            severity_radius=0.1,
            tolerance=(INF, SUP),
            tolerance_radius=0.1,
        )
        return Layout(
            rows=self.shape[0],
            cols=self.shape[1],
            start=self.start,
            goals=[self.goal],
            kinds=[kind],
            slip=self.slip,
            gamma=self.gamma,
            goal_reward=self.goal_reward,
            name="paper",
        )

    def hazards_of(self, layout: Layout) -> Hazards:
        severity = [SEVERITY if cell in self.hazards else 0.0 for cell in layout.kinds[0].cells]
        return Hazards(layout, severity, tolerance=TOLERANCE)


@dataclass(frozen=True, slots=True)
class Losses:
    """Loss in percent as a function of the tolerance, for true and for worst severities."""

    free_cost: float
    munoz: Callable[[float], float]
    algorithm: Callable[[float], float]

    def residuals(self) -> np.ndarray:
        """How far the grid is from the three published numbers."""
        algorithm, munoz = self.plateaus()
        return np.array(
            [
                math.log(algorithm / FITTED["benvenuti2025"]),
                math.log(munoz / FITTED["munoz2021"]),
                self.free_cost - FREE_COST,
            ]
        )

    def plateaus(self) -> tuple[float, float]:
        """Mean losses at small ε: (Algorithm 1, Munoz)."""
        between = INF + (TOLERANCE - INF) * (np.arange(8) + 0.5) / 8
        first, second = (
            CLIPPED * loss(INF) + (1 - CLIPPED) * float(np.mean([loss(b) for b in between]))
            for loss in (self.algorithm, self.munoz)
        )
        return first, second


def draw_guess(rng: np.random.Generator) -> Guess:
    rows, cols = (int(n) for n in rng.integers(4, 8, size=2))
    cells = rows * cols
    mixed = rng.permutation(cells).tolist()
    start, goal = (0, cells - 1) if rng.random() < 0.6 else (mixed[0], mixed[1])
    rest = [cell for cell in mixed if cell not in (start, goal)]
    hazards = int(rng.integers(2, cells // 4 + 1))
    harmless = int(rng.integers(1, cells // 5 + 1))
    return Guess(
        shape=(rows, cols),
        start=start,
        goal=goal,
        candidates=tuple(sorted(rest[: hazards + harmless])),
        hazards=frozenset(rest[:hazards]),
        slip=float(rng.choice([0.05, 0.1, 0.15, 0.2, 0.25, 0.3])),
        gamma=float(rng.choice([0.9, 0.95, 0.97, 0.98, 0.99])),
        goal_reward=float(rng.choice([20, 50, 100, 200, 500, 1000])),
    )


def losses(guess: Guess) -> Losses | None:
    """The losses, or None where the published plateaus are out of reach."""
    model = GridModel(guess.layout())
    severity = np.array([SEVERITY if c in guess.hazards else 0.0 for c in guess.candidates])
    pool = PolicyPool(model.cmdp(severity, tolerance=TOLERANCE))

    def solve(severities: np.ndarray, tolerance: float):
        f = model.cmdp(severities, tolerance=tolerance).f
        return pool.solve(f, [tolerance], gap=1e-9)

    best = solve(severity, TOLERANCE)

    def loss(severities: np.ndarray) -> Callable[[float], float]:
        return lambda b: 100.0 * (best.value - solve(severities, b).value) / abs(best.value)

    found = Losses(float(best.costs[0]), loss(severity), loss(np.full(severity.size, SUP)))
    return found if found.munoz(INF) > 1e-6 and found.algorithm(INF) > 1e-6 else None


def residuals(guess: Guess) -> np.ndarray:
    try:
        found = losses(guess)
        return UNREACHABLE if found is None else found.residuals()
    except DPCMDPError:  # no policy is robustly safe there
        return UNREACHABLE


def tuned(guess: Guess) -> Guess:
    """The guess with γ, slip and goal reward moved to the published numbers, then rounded."""

    def at(x: np.ndarray) -> Guess:
        gamma, slip, reward = 1.0 - math.exp(x[0]), math.exp(x[1]), math.exp(x[2])
        return replace(guess, gamma=gamma, slip=slip, goal_reward=reward)

    first = np.log([1.0 - guess.gamma, guess.slip, guess.goal_reward])
    solve: Any = least_squares
    best = at(
        solve(
            lambda x: residuals(at(x)),
            first,
            bounds=(np.log([0.001, 0.01, 5.0]), np.log([0.5, 0.5, 5000.0])),
            diff_step=1e-3,
            max_nfev=30,
        ).x
    )
    return replace(
        best,
        gamma=round(best.gamma, 4),
        slip=round(best.slip, 3),
        goal_reward=float(round(best.goal_reward)),
    )


def mean_cost(grid: Scenario, method: str, *, epsilon: str, draws: int) -> float:
    """Mean cost of privacy in percent, without certificates."""
    pool, costs = PolicyPool(grid.truth), []
    for draw in range(draws):
        rng = stream(1, draw, method, epsilon)
        tight = grid.model.tightened(publish(grid, method, epsilon=epsilon, rng=rng))
        value = pool.solve(tight.f, tight.f0).value
        costs.append(100.0 * (grid.optimum - value) / abs(grid.optimum))
    return float(np.mean(costs))


def verdict(guess: Guess) -> dict[str, float]:
    """What :func:`judged` says; a grid that some solver gives up on is refused."""
    warnings.simplefilter("ignore", PrivacyWarning)
    try:
        return judged(guess)
    except DPCMDPError:
        return {"score": math.inf}


def judged(guess: Guess) -> dict[str, float]:
    """Plateaus, ratios and the distance of the as-published curve; score ∞ when refused."""
    failed = {"score": math.inf}
    found = losses(guess)
    if found is None:
        return failed
    algorithm, munoz = found.plateaus()
    facts = {"algorithm1": algorithm, "munoz2021": munoz, "free_cost": found.free_cost}
    near = abs(algorithm / FITTED["benvenuti2025"] - 1), abs(munoz / FITTED["munoz2021"] - 1)
    if max(near) > 0.03:
        return facts | failed
    grid = scenario_of(guess.hazards_of(guess.layout()))
    for epsilon, most in (("1", 0.45), ("3", 0.08)):
        ours, theirs = (
            mean_cost(grid, method, epsilon=epsilon, draws=100)
            for method in ("database", "benvenuti2025")
        )
        facts[f"ratio at ε = {epsilon}"] = ours / theirs
        if ours > most * theirs:
            return facts | failed
    published = published_curves()
    numbers = [float(Fraction(epsilon)) for epsilon in EPSILONS]
    expected = np.interp(numbers, published["epsilon"], published["algorithm1_percent"])
    curve = [
        mean_cost(grid, "benvenuti2025-as-published", epsilon=epsilon, draws=40)
        for epsilon in EPSILONS
    ]
    return facts | {"score": float(np.sqrt(np.mean((curve - expected) ** 2)))}


def write(guess: Guess, folder: Path) -> None:
    """``layouts/paper.json`` and ``hazards/paper.json``."""
    save_layout(guess.layout(), folder / "layouts" / "paper.json")
    placed = [[*divmod(cell, guess.shape[1]), SEVERITY] for cell in sorted(guess.hazards)]
    kinds = {"hazard": {"severity": placed, "tolerance": TOLERANCE}}
    content = json.dumps({"format": FORMAT, "kinds": kinds}, indent=2) + "\n"
    write_text(folder / "hazards" / "paper.json", content)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--draws", type=int, default=4_000, help="grids drawn")
    parser.add_argument("--keep", type=int, default=40, help="grids tuned")
    parser.add_argument("--seed", type=int, default=3)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--write", type=Path, metavar="DIR")
    options = parser.parse_args()
    run: Any = Parallel(n_jobs=options.workers)
    guesses = [draw_guess(stream(options.seed, draw)) for draw in range(options.draws)]
    apart = np.array(list(run(delayed(residuals)(guess) for guess in guesses)))
    far = np.abs(apart * [1.0, 1.0, 5.0]).sum(axis=1)
    order = np.argsort(far, kind="stable")[: options.keep]
    print(f"{options.draws} grids drawn; the nearest {options.keep} are tuned", flush=True)
    near = list(run(delayed(tuned)(guesses[index]) for index in order))
    found = list(run(delayed(verdict)(guess) for guess in near))
    ranked = sorted(zip(found, near, strict=True), key=lambda pair: pair[0]["score"])
    for facts, guess in ranked[:10]:
        print({name: round(value, 5) for name, value in facts.items()}, guess)
    if options.write is not None:
        write(ranked[0][1], options.write)


if __name__ == "__main__":
    main()
