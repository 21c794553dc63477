"""What a design of a grid leads to: release, policies, certificate, and the invented truth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from dp_cmdp._check import FloatArray
from dp_cmdp.accounting.budget import PrivacyBudget, weak_budgets
from dp_cmdp.cmdp.evaluation import evaluate
from dp_cmdp.cmdp.occupancy import occupancy_of
from dp_cmdp.cmdp.parametric import ParametricCMDP
from dp_cmdp.cmdp.policy import Policy
from dp_cmdp.cmdp.private_policy import PrivatePolicy, release_and_synthesize
from dp_cmdp.cmdp.synthesis import SafePolicy, robust_policy, safe_policy, synthesize
from dp_cmdp.data.release import Release
from dp_cmdp.envs import GridModel, Hazards, Layout
from dp_cmdp.errors import InvalidArgumentError, SolverError
from dp_cmdp.explorer.grid_design import GridDesign
from dp_cmdp.explorer.settings import Settings, next_stops
from dp_cmdp.metrics import cost_of_privacy
from dp_cmdp.program.parametric import ParametricLP
from dp_cmdp.release.entries import harmful_sides, plan_database, suited_noise
from dp_cmdp.release.plan import DATABASE, Plan
from dp_cmdp.release.planned import release_for_checked
from dp_cmdp.release.planner import Choice

#: An episode that is shown has at most so many steps.
LONGEST_EPISODE = 400


@dataclass(frozen=True, slots=True, eq=False)
class GridAnswer:
    """All that the tab *Grid* shows of a design: its truth is invented.

    Attributes
    ----------
    layout : Layout
    model : ParametricCMDP
    private : PrivatePolicy
    best : SafePolicy
        Without privacy, for the invented hazards.
    severity : (num_kinds, num_cells)
        Of the invented hazards.
    tolerance, true_costs : (num_kinds,)
        Invented tolerances, and what the private policy really costs.
    loss_percent : float or None
        Cost of privacy; None where it has no meaning.
    """

    layout: Layout
    model: ParametricCMDP
    private: PrivatePolicy
    best: SafePolicy
    severity: FloatArray
    tolerance: FloatArray
    true_costs: FloatArray
    loss_percent: float | None


@lru_cache(maxsize=16)
def dynamics(layout: Layout) -> GridModel:
    """Public transitions and rewards of a layout; the last few are kept."""
    return GridModel(layout)


@lru_cache(maxsize=16)
def grid_model(layout: Layout) -> ParametricCMDP:
    """The public model of a layout; the last few are kept."""
    return dynamics(layout).parametric()


@lru_cache(maxsize=16)
def robust_of(layout: Layout) -> SafePolicy:
    """The policy without data; the last few are kept, because no slider of a budget moves it.

    Notes
    -----
    **Privacy.** *Public*.
    """
    return robust_policy(grid_model(layout))


@lru_cache(maxsize=16)
def _best(layout: Layout, severity: tuple[float, ...], tolerance: tuple[float, ...]) -> SafePolicy:
    """The policy that knows the invented truth; the last few are kept, as the robust one."""
    return safe_policy(dynamics(layout).cmdp(severity, tolerance=tolerance))


def best_of(layout: Layout, hazards: Hazards) -> SafePolicy:
    """The policy without privacy. *Curator only*, of hazards that were invented in the explorer."""
    return _best(layout, tuple(hazards.severity.tolist()), tuple(hazards.tolerance.tolist()))


def release_grid(
    design: GridDesign, budget: PrivacyBudget, plan: str | Plan, *, rng: np.random.Generator
) -> tuple[Release, PrivatePolicy | None]:
    """The simulated release of a design; where a plan was made for it, the policy came along.

    Notes
    -----
    **Privacy.** *Curator only*, of a database that was invented in the explorer.
    """
    model, database = grid_model(design.grid()), design.invented().database()
    with weak_budgets():
        if plan not in ("database", DATABASE):
            made = release_and_synthesize(model, database, budget, plan=plan, rng=rng)
            return made.release, made
        release, _ = release_for_checked(
            database, budget, program=_program(design.grid()), plan="database", rng=rng
        )
        return release, None


def foresee_noise(design: GridDesign) -> None:
    """Compute the law of the noise at the next stops of the slider of ε, which is then at hand.

    Notes
    -----
    **Privacy.** *Public*: no database is read.
    """
    program = _program(design.grid())
    with weak_budgets():
        for epsilon in next_stops(design.epsilon, base=2):
            there = PrivacyBudget(epsilon, design.budget().delta)
            plan_database(
                program.envelope,
                there,
                calibration=suited_noise(program, there),
                close=harmful_sides(program),
            )


@lru_cache(maxsize=16)
def _program(layout: Layout) -> ParametricLP:
    return grid_model(layout).program()


def private_policy(layout: Layout, release: Release, made: PrivatePolicy | None) -> PrivatePolicy:
    """What :func:`dp_cmdp.release_and_synthesize` makes of a release, with the robust policy kept.

    Notes
    -----
    **Privacy.** *Post-processing*.
    """
    if made is not None:
        return made
    robust = robust_of(layout)
    try:
        safe = synthesize(grid_model(layout), release)
    except (SolverError, InvalidArgumentError):  # facts too tight for the engine
        safe = robust
    return PrivatePolicy(safe=safe, release=release, robust=robust, choice=Choice(DATABASE, ()))


@dataclass(frozen=True, slots=True, eq=False)
class GridSketch:
    """What is known of a design before its policies are: public facts, invented truth, release."""

    layout: Layout
    severity: FloatArray
    release: Release | None


def answer_grid(
    design: GridDesign, *, tell: Callable[[GridSketch], Any] = lambda _: None
) -> GridAnswer:
    """Simulate the release that a design asks for, and find its policies.

    Parameters
    ----------
    design : GridDesign
    tell : callable
        Gets what is known already: the grid, then the release.

    Notes
    -----
    The noise is simulated from the design's seed, so that a moved slider shows its own effect.
    **Privacy.** *Curator only*, of a database that was invented in the explorer.
    """
    design.check()
    layout = design.grid()
    hazards, rng = design.invented(), np.random.default_rng(design.noise)
    truth = dynamics(layout).cmdp(hazards.severity, tolerance=hazards.tolerance)
    severity = truth.f.max(axis=2)
    tell(GridSketch(layout, severity, None))
    robust_of(layout)  # refuses a grid on which no policy is safe, before anything is released
    release, made = release_grid(design, design.budget(), design.plan, rng=rng)
    tell(GridSketch(layout, severity, release))
    private = private_policy(layout, release, made)
    best, judged = best_of(layout, hazards), evaluate(truth, private.safe.policy)
    lost = None if best.value == 0.0 else 100.0 * float(cost_of_privacy(best.value, judged.value))
    return GridAnswer(
        layout=layout,
        model=grid_model(layout),
        private=private,
        best=best,
        severity=severity,
        tolerance=hazards.tolerance,
        true_costs=judged.costs,
        loss_percent=lost,
    )


@dataclass(frozen=True, slots=True)
class InventedGrid:
    """A design as the curve sees it (:class:`dp_cmdp.explorer.curve.Invented`)."""

    design: GridDesign

    def budget(self) -> PrivacyBudget:
        return self.design.budget()

    def public(self) -> ParametricCMDP:
        return grid_model(self.design.grid())

    def anywhere(self) -> InventedGrid:
        return InventedGrid(self.design.replace(epsilon=Settings().epsilon))

    def trial(self, budget: PrivacyBudget, plan: str | Plan, seed: int) -> float:
        """Loss in percent of one simulated release. *Curator only.*"""
        rng = np.random.default_rng([self.design.noise, seed])
        made = private_policy(self.design.grid(), *release_grid(self.design, budget, plan, rng=rng))
        return self._loss(made.safe.value)

    def robust_loss(self) -> float:
        """Loss in percent of the policy without data. *Curator only.*"""
        return self._loss(robust_of(self.design.grid()).value)

    def limit(self, find: Callable[..., Any], **how: Any) -> Any:
        """`find` of the model and the invented database. *Curator only.*"""
        return find(self.public(), self.design.invented().database(), **how)

    def _loss(self, value: float) -> float:
        best = best_of(self.design.grid(), self.design.invented()).value
        return 0.0 if best == 0.0 else 100.0 * float(cost_of_privacy(best, value))


def visits(model: ParametricCMDP, policy: Policy) -> FloatArray:
    """Expected discounted visits of each cell."""
    return occupancy_of(model.public, policy).sum(axis=1)


def saturation_share(model: ParametricCMDP, release: Release) -> float:
    """Share of the released intervals whose harmful end is the public worst case.

    Notes
    -----
    **Privacy.** *Post-processing*.
    """
    bounds = model.envelope
    costs, limits = bounds.index("severity"), bounds.index("tolerance")
    high = release.upper[costs] >= bounds.upper[costs]
    low = release.lower[limits] <= bounds.lower[limits]
    return float(np.concatenate([high, low]).mean())


def highest_costs(layout: Layout, release: Release | None) -> FloatArray:
    """The most that a step in each cell can cost, by kind: as released, or publicly.

    Notes
    -----
    **Privacy.** *Post-processing*.
    """
    model = dynamics(layout)
    if release is None:
        return model.worst_cost_table()
    return model.cost_table(release.group("severity")["upper"].ravel())


def episode(layout: Layout, policy: Policy, *, seed: int) -> tuple[int, ...]:
    """Cells of one episode, drawn by a seed; policies with one seed meet the same luck."""
    model, luck = dynamics(layout), np.random.default_rng([seed, 0])
    choice = np.random.default_rng([seed, 1])
    cells, chances = zip(*layout.starts, strict=True)
    path = [int(cells[int(choice.choice(len(cells), p=np.array(chances)))])]
    while path[-1] not in layout.goals and len(path) <= LONGEST_EPISODE:
        action = int(policy.sample(path[-1], choice))
        path.append(model.sample(path[-1], action, rng=luck))
    return tuple(path)


def spent(layout: Layout, path: tuple[int, ...], costs: FloatArray) -> list[tuple[float, float]]:
    """Discounted reward and largest discounted cost after each step of an episode.

    Parameters
    ----------
    layout : Layout
    path : tuple of int
    costs : (num_kinds, num_cells)
        Per step in each cell: invented ones, or the most that a release allows.
    """
    weight, reward, cost = 1.0, 0.0, np.zeros(costs.shape[0])
    told = [(0.0, 0.0)]
    for here, there in pairwise(path):
        reward += weight * (layout.step_reward + layout.goal_reward * (there in layout.goals))
        cost = cost + weight * costs[:, here]
        weight *= layout.gamma
        told.append((reward, float(cost.max())))
    return told
