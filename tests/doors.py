"""Every public callable, found by introspection, with a base call that it accepts.

Public is what has a public name in a module that is not inside a room (:data:`INSIDE`): functions,
constructors, public methods and class methods. The arguments of a base call come from their
parameters' names (:data:`VALUES`, :data:`SPECIAL`), so a new callable with known names is met
without being listed.
"""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, is_dataclass, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any, get_origin

import numpy as np
import pandas as pd
from scipy import sparse

import dp_cmdp
from dp_cmdp import (
    CMDP,
    Database,
    Envelope,
    LinearProgram,
    ParametricLP,
    Policy,
    PrivacyBudget,
    PrivacyLedger,
    Release,
    envs,
    release_database,
)
from dp_cmdp.advice.plans import advise_plans
from dp_cmdp.cmdp.policy import PolicyFile
from dp_cmdp.data.adjacency import adjacency_of
from dp_cmdp.data.affine import Affine
from dp_cmdp.data.polytope import Polytope
from dp_cmdp.data.release import Debit
from dp_cmdp.envs.layout_files import layout_to_dict
from dp_cmdp.errors import AssumptionError
from dp_cmdp.metrics import Interval
from dp_cmdp.program.solution_file import SolutionFile
from dp_cmdp.release.measure import measure_totals
from dp_cmdp.release.plan import Plan
from dp_cmdp.release.planner import choose_plan
from dp_cmdp.release.proposal import Proposal
from tests.lp_files import planning
from tests.marked import MARKS
from tests.problems import SpyDatabase
from tests.rooms import Walk

CHECKED = "behind the door: takes what its callers have checked"
BELOW = "hands what it is given to the environment below"
#: Modules and callables that callers do not enter, with the reason.
INSIDE: dict[str, str] = {
    "dp_cmdp._check": "the checks themselves, tested in unit/test_check.py",
    "dp_cmdp._scalars": "the checks themselves, tested in unit/test_check.py",
    "dp_cmdp._door": "the checks themselves, tested in unit/test_check.py",
    "dp_cmdp.errors": "exceptions: made by the package, not by callers",
    "dp_cmdp._documents": CHECKED,
    "dp_cmdp._progress": CHECKED,
    "dp_cmdp._html": CHECKED,
    "dp_cmdp.accounting.lock": CHECKED,
    "dp_cmdp.advice.recovery": CHECKED,
    "dp_cmdp.advice.remedies": CHECKED,
    "dp_cmdp.advice.trials": CHECKED,
    "dp_cmdp.data.affine.Affine.base": CHECKED,
    "dp_cmdp.data.release_file": CHECKED,
    "dp_cmdp.program.parametric_file": CHECKED,
    "dp_cmdp.data.affine.Affine.dense": CHECKED,
    "dp_cmdp.data.affine.Affine.bounds": CHECKED,
    "dp_cmdp.data.affine.Affine.extremes": CHECKED,
    "dp_cmdp.data.affine.Affine.filled": CHECKED,
    "dp_cmdp.data.affine.Affine.rounding": CHECKED,
    "dp_cmdp.data.affine.Affine.sensitivity": CHECKED,
    "dp_cmdp.advice.adviser.expected_saturation": CHECKED,
    "dp_cmdp.advice.adviser.forced_changes": CHECKED,
    "dp_cmdp.audit.layers": CHECKED,
    "dp_cmdp.audit.outcomes.checked_pair": CHECKED,
    "dp_cmdp.audit.outcomes.refuse_silence": CHECKED,
    "dp_cmdp.audit.outcomes.repeated": CHECKED,
    "dp_cmdp.audit.subjects": CHECKED,
    "dp_cmdp.baselines.parts.blocks": CHECKED,
    "dp_cmdp.baselines.parts.composition": CHECKED,
    "dp_cmdp.baselines.parts.optimistic": CHECKED,
    "dp_cmdp.baselines.parts.players": CHECKED,
    "dp_cmdp.baselines.parts.simplex_rows": CHECKED,
    "dp_cmdp.baselines.planned.plan_of": CHECKED,
    "dp_cmdp.baselines.planned.robust_point": CHECKED,
    "dp_cmdp.release.block_plans": CHECKED,
    "dp_cmdp.release.entries.drawn_entries": CHECKED,
    "dp_cmdp.release.paid": CHECKED,
    "dp_cmdp.explorer": "behind a page: designs check their fields, tested in unit/explorer",
    "dp_cmdp.cli": "commands: their texts are parsed by argparse, tested in unit/test_cli.py",
    "dp_cmdp._extras": CHECKED,
    "dp_cmdp.cmdp.chain": CHECKED,
    "dp_cmdp.cmdp.charges": CHECKED,
    "dp_cmdp.cmdp.model.CMDP.from_document": CHECKED,
    "dp_cmdp.cmdp.exact_costs": CHECKED,
    "dp_cmdp.cmdp.facts_certificate.best_multipliers": CHECKED,
    "dp_cmdp.cmdp.facts_certificate.occupancy_within": CHECKED,
    "dp_cmdp.cmdp.facts_synthesis.row_solver": CHECKED,
    "dp_cmdp.cmdp.facts_synthesis.public_pool": CHECKED,
    "dp_cmdp.cmdp.facts_synthesis.started_pool": CHECKED,
    "dp_cmdp.cmdp.solvers.row_columns": CHECKED,
    "dp_cmdp.cmdp.solvers.row_solution": CHECKED,
    "dp_cmdp.cmdp.synthesis.rounding_allowance": CHECKED,
    "dp_cmdp.cmdp.solvers.compiled": CHECKED,
    "dp_cmdp.cmdp.solvers.compiled_chain": CHECKED,
    "dp_cmdp.cmdp.solvers.kernels.build": "run when the package is built",
    "dp_cmdp.cmdp.solvers.library": CHECKED,
    "dp_cmdp.cmdp.solvers.lp_engine": CHECKED,
    "dp_cmdp.cmdp.solvers.exact_columns": CHECKED,
    "dp_cmdp.cmdp.solvers.pool.usable_cores": "takes no arguments",
    "dp_cmdp.cmdp.solvers.fractions_simplex": CHECKED,
    "dp_cmdp.cmdp.solvers.whole_numbers": CHECKED,
    "dp_cmdp.cmdp.safest": CHECKED,
    "dp_cmdp.cmdp.solvers.solution.infeasible": CHECKED,
    "dp_cmdp.cmdp.solvers.solution.distance": CHECKED,
    "dp_cmdp.cmdp.solvers.solution.relative_gap": CHECKED,
    "dp_cmdp.cmdp.solvers.solution.reject_beyond": CHECKED,
    "dp_cmdp.cmdp.rollout.parts": CHECKED,
    "dp_cmdp.frontends.agreement": CHECKED,
    "dp_cmdp.frontends.candidates": CHECKED,
    "dp_cmdp.frontends.exploration": CHECKED,
    "dp_cmdp.frontends.hazard_table": CHECKED,
    "dp_cmdp.frontends.keys": CHECKED,
    "dp_cmdp.frontends.kinds.cost_rows": CHECKED,
    "dp_cmdp.frontends.kinds.group_of": CHECKED,
    "dp_cmdp.frontends.kinds.joined_envelope": CHECKED,
    "dp_cmdp.frontends.kinds.refuse_credits": CHECKED,
    "dp_cmdp.frontends.kinds.tolerance_rows": CHECKED,
    "dp_cmdp.frontends.step_costs": CHECKED,
    "dp_cmdp.frontends.tabular.TabularModel.state_of": CHECKED,
    "dp_cmdp.frontends.tabular.least_shape": CHECKED,
    "dp_cmdp.frontends.tabular.own_grid": CHECKED,
    "dp_cmdp.frontends.tabular.placed": CHECKED,
    "dp_cmdp.frontends.unwrapping": CHECKED,
    "dp_cmdp.cmdp.learned": CHECKED,
    "dp_cmdp.frontends.cvxpy.affine_map": CHECKED,
    "dp_cmdp.frontends.cvxpy.canonical": CHECKED,
    "dp_cmdp.frontends.cvxpy.compiled.CompiledProblem.cone_constraints": CHECKED,
    "dp_cmdp.frontends.cvxpy.compiled.CompiledProblem.cone_rows": CHECKED,
    "dp_cmdp.frontends.cvxpy.compiled.CompiledProblem.flat": CHECKED,
    "dp_cmdp.frontends.cvxpy.compiled.CompiledProblem.least_value": CHECKED,
    "dp_cmdp.frontends.cvxpy.compiled.CompiledProblem.named": CHECKED,
    "dp_cmdp.frontends.cvxpy.compiled.CompiledProblem.public_row_names": CHECKED,
    "dp_cmdp.frontends.cvxpy.compiled.CompiledProblem.unpack": CHECKED,
    "dp_cmdp.frontends.cvxpy.compiled.CompiledProblem.user_value": CHECKED,
    "dp_cmdp.frontends.cvxpy.compiled.CompiledProblem.variable_name": CHECKED,
    "dp_cmdp.frontends.cvxpy.curved": CHECKED,
    "dp_cmdp.frontends.cvxpy.parameter.group_names": CHECKED,
    "dp_cmdp.frontends.cvxpy.parameter.joined": CHECKED,
    "dp_cmdp.frontends.cvxpy.refusals": CHECKED,
    "dp_cmdp.frontends.cvxpy.rows": CHECKED,
    "dp_cmdp.frontends.cvxpy.tensors": CHECKED,
    "dp_cmdp.frontends.cvxpy.user_words": CHECKED,
    "dp_cmdp.frontends.cvxpy.values": CHECKED,
    "dp_cmdp.frontends.gymnasium.cost_reader": CHECKED,
    "dp_cmdp.frontends.file_outline": CHECKED,
    "dp_cmdp.frontends.lp_file.outline_of": CHECKED,
    "dp_cmdp.frontends.lp_file.shown": CHECKED,
    "dp_cmdp.frontends.lp_grammar": CHECKED,
    "dp_cmdp.frontends.lp_places": CHECKED,
    "dp_cmdp.frontends.lp_repairs": CHECKED,
    "dp_cmdp.frontends.lp_rows": CHECKED,
    "dp_cmdp.frontends.lp_sides": CHECKED,
    "dp_cmdp.frontends.lp_values": CHECKED,
    "dp_cmdp.frontends.mps_grammar": CHECKED,
    "dp_cmdp.frontends.table": "the checks themselves, tested in unit/frontends/test_table.py",
    "dp_cmdp.program.assumptions.public_repair": CHECKED,
    "dp_cmdp.program.engines": CHECKED,
    "dp_cmdp._exact": CHECKED,
    "dp_cmdp.experiments.ad_budget": "a reproduction: called by its sweep",
    "dp_cmdp.experiments.ad_epsilon": "a reproduction: called by its sweep",
    "dp_cmdp.experiments.ad_headline": "a reproduction: called by its sweep",
    "dp_cmdp.experiments.ad_size": "a reproduction: called by its sweep",
    "dp_cmdp.experiments.auction_comparison.comparison_rows": "called by its sweep",
    "dp_cmdp.experiments.auction_comparison.draw_auction": "called by its sweep",
    "dp_cmdp.experiments.bounds": "a reproduction: called by its sweep",
    "dp_cmdp.reproductions": "the list of reproductions",
    "dp_cmdp.experiments.cost_of_privacy": "a reproduction: called by its sweep",
    "dp_cmdp.experiments.exposure": "a reproduction: called by its sweep",
    "dp_cmdp.experiments.hsu_cmdp": "a reproduction: called by its sweep",
    "dp_cmdp.experiments.mean_shift": "a reproduction: called by its sweep",
    "dp_cmdp.experiments.munoz_ads": "a reproduction: called by its sweep",
    "dp_cmdp.experiments.records": CHECKED,
    "dp_cmdp.experiments.scale": "a reproduction: called by its sweep",
    "dp_cmdp.experiments.scale_cases": "a reproduction: called by its sweep",
    "dp_cmdp.experiments.sweep.name_of": CHECKED,
    "dp_cmdp.experiments.table1": "a reproduction: called by its sweep",
    "dp_cmdp.figures.ad_curves": "a picture of a reproduction's records",
    "dp_cmdp.figures.ad_auction.ad_headline_figure": "a picture of a reproduction's records",
    "dp_cmdp.figures.advice": "a picture of a reproduction's records",
    "dp_cmdp.figures.audit": "a picture of a reproduction's records",
    "dp_cmdp.figures.bands": CHECKED,
    "dp_cmdp.figures.bounds": "a picture of a reproduction's records",
    "dp_cmdp.figures.cost_of_privacy": "a picture of a reproduction's records",
    "dp_cmdp.figures.grid_map": CHECKED,
    "dp_cmdp.figures.grid_view": CHECKED,
    "dp_cmdp.figures.proof.draw_costs": CHECKED,
    "dp_cmdp.figures.proof.draw_values": CHECKED,
    "dp_cmdp.figures.release.name_places": CHECKED,
    "dp_cmdp.figures.severities": CHECKED,
    "dp_cmdp.figures.style.blank_figure": CHECKED,
    "dp_cmdp.figures.style.colour": CHECKED,
    "dp_cmdp.figures.style.column_beside": CHECKED,
    "dp_cmdp.figures.style.dress": CHECKED,
    "dp_cmdp.figures.style.explain": CHECKED,
    "dp_cmdp.figures.style.heading": CHECKED,
    "dp_cmdp.figures.style.log_numbers": CHECKED,
    "dp_cmdp.figures.style.legend_below": CHECKED,
    "dp_cmdp.figures.style.mark": CHECKED,
    "dp_cmdp.figures.style.on_axes": CHECKED,
    "dp_cmdp.figures.style.small_legend": CHECKED,
    "dp_cmdp.figures.hsu_cmdp": "a picture of a reproduction's records",
    "dp_cmdp.figures.mean_shift": "a picture of a reproduction's records",
    "dp_cmdp.figures.munoz_ads": "a picture of a reproduction's records",
    "dp_cmdp.figures.scale": "a picture of a reproduction's records",
    "dp_cmdp.figures.table1": "a picture of a reproduction's records",
    "dp_cmdp.program.entrywise.entry_values": CHECKED,
    "dp_cmdp.data.envelope.describe": CHECKED,
    "dp_cmdp.data.envelope.whole_range": CHECKED,
    "dp_cmdp.data.from_frame": CHECKED,
    "dp_cmdp.data.html": CHECKED,
    "dp_cmdp.data.labels": CHECKED,
    "dp_cmdp.data.moments": CHECKED,
    "dp_cmdp.data.records": CHECKED,
    "dp_cmdp.data.packing": CHECKED,
    "dp_cmdp.data.private_frame": CHECKED,
    "dp_cmdp.data.to_frame": CHECKED,
    "dp_cmdp.data.polytope.Polytope.room": CHECKED,
    "dp_cmdp.data.guarantee.Noise.from_facts": CHECKED,
    "dp_cmdp.data.totals.short_steps": CHECKED,
    "dp_cmdp.noise.lattice.Lattice.integers_moved": CHECKED,
    "dp_cmdp.noise.movement": CHECKED,
    "dp_cmdp.noise.plans": CHECKED,
    "dp_cmdp.accounting.adjacency": CHECKED,
    "dp_cmdp.accounting.hashchain": CHECKED,
    "dp_cmdp.accounting.ledger_file": CHECKED,
    "dp_cmdp.program.linear_program.constraint_block": CHECKED,
    "dp_cmdp.program.linear_program.inequality_slack": CHECKED,
    "dp_cmdp.program.linear_program.make_engine": CHECKED,
    "dp_cmdp.program.linear_program.slack_terms": CHECKED,
    "dp_cmdp.program.linear_program.tight_slack": CHECKED,
    "dp_cmdp.program.certified": CHECKED,
    "dp_cmdp.program.linear_program.magnification": CHECKED,
    "dp_cmdp.program.linear_program.solution_at": CHECKED,
    "dp_cmdp.release.entries.check_close": CHECKED,
    "dp_cmdp.release.entries.close_ends": CHECKED,
    "dp_cmdp.release.debit": CHECKED,
    "dp_cmdp.cmdp.occupancy.policy_of": CHECKED,
    "dp_cmdp.cmdp.synthesis.value_of": CHECKED,
    "dp_cmdp.release.looks.objective_estimate": CHECKED,
    "dp_cmdp.release.looks.plan_look": CHECKED,
    "dp_cmdp.release.measure.measured": CHECKED,
    "dp_cmdp.release.measure.Measured": CHECKED,
    "dp_cmdp.theory.planned_bound": CHECKED,
    "dp_cmdp.release.looks.checked_guess": CHECKED,
    "dp_cmdp.release.looks.public_release": CHECKED,
    "dp_cmdp.release.looks.look_at": CHECKED,
    "dp_cmdp.release.row_solver": CHECKED,
    "dp_cmdp.release.trials": CHECKED,
    "dp_cmdp.release.plan.check_menu": CHECKED,
    "dp_cmdp.release.planned.release_for_checked": CHECKED,
    "dp_cmdp.release.planner.planned": CHECKED,
    "dp_cmdp.release.planner.with_bar": CHECKED,
    "dp_cmdp.release.posterior": CHECKED,
    "dp_cmdp.release.proposal": CHECKED,
    "dp_cmdp.release.solve.solve_over": CHECKED,
    "dp_cmdp.release.totals.TotalsPlan": CHECKED,
    "dp_cmdp.release.totals.entry_grid": CHECKED,
    "dp_cmdp.release.totals.integer_totals": CHECKED,
    "dp_cmdp.data.names.plain": CHECKED,
    "dp_cmdp.data.names.kind": CHECKED,
    "dp_cmdp.data.names.refuse_kinds": CHECKED,
    "dp_cmdp.data.names.check_normal": CHECKED,
    "dp_cmdp.release.totals.record_moves": CHECKED,
    "dp_cmdp.accounting.budget.short": CHECKED,
    "dp_cmdp.accounting.budget.shown_down": CHECKED,
    "dp_cmdp.accounting.budget.shown_up": CHECKED,
    "dp_cmdp.accounting.budget.weak_budgets": CHECKED,
    "dp_cmdp.program.counterpart": CHECKED,
    "dp_cmdp.program.parametric.ParametricLP.polytope_rows": CHECKED,
    "dp_cmdp.program.parametric.ParametricLP.with_rows": CHECKED,
    "dp_cmdp.program.polytope_rows": CHECKED,
    "dp_cmdp.noise.certificate.outer_mass": CHECKED,
    "dp_cmdp.noise.certificate.NoiseCertificate": "a record; check() judges it as it stands",
    "dp_cmdp.noise.digits": CHECKED,
    "dp_cmdp.noise.weight_table": CHECKED,
    "dp_cmdp._storage": CHECKED,
    "dp_cmdp._student": CHECKED,
    "dp_cmdp.theory.accepted_points": CHECKED,
    "dp_cmdp.theory.certainty_limit.windows": CHECKED,
    "dp_cmdp.theory.guarded_program": CHECKED,
    "dp_cmdp.theory.laws": CHECKED,
    "dp_cmdp.theory.neighbours": CHECKED,
    "dp_cmdp.theory.price_bound": CHECKED,
    "dp_cmdp.theory.positive_part": CHECKED,
    "dp_cmdp.theory.paper.printed_bound.optimality_constant": CHECKED,
    "dp_cmdp.theory.paper.printed_bound.optimality_system": CHECKED,
    "dp_cmdp.theory.paper.printed_bound.repaired_terms": CHECKED,
    "dp_cmdp.theory.public_interval.harmful_ends": CHECKED,
    "dp_cmdp.theory.public_interval.optimistic_value": CHECKED,
    "dp_cmdp.theory.public_interval.robust_solution": CHECKED,
    "dp_cmdp.theory.public_interval.worst_objective": CHECKED,
    "dp_cmdp.theory.release_noise": CHECKED,
    "dp_cmdp.theory.row_tails": CHECKED,
    "dp_cmdp.theory.mean_limit": CHECKED,
    "dp_cmdp.theory.simulated_loss": CHECKED,
    "dp_cmdp.theory.paper.standard_form": CHECKED,
    "dp_cmdp.theory.violated_sets": CHECKED,
    "dp_cmdp.theory.worst_answer": CHECKED,
    "dp_cmdp.envs.drawing": CHECKED,
    "dp_cmdp.envs.catalogue.data_file": CHECKED,
    "dp_cmdp.envs.hazard_grid.HazardGridEnv.picture": CHECKED,
    "dp_cmdp.envs.hazard_grid.cost_at": CHECKED,
    "dp_cmdp.envs.dynamics.GridModel.sample": "behind HazardGridEnv.step, once per step",
    "dp_cmdp.envs.layout.connected": CHECKED,
    "dp_cmdp.envs.specs.GuardedSpec": "a specification of Gymnasium, made by the registration",
    "dp_cmdp.envs.window": CHECKED,
    "dp_cmdp.envs.wrappers.SixTupleWrapper.step": BELOW,
    "dp_cmdp.envs.wrappers.StateObservation.reset": BELOW,
    "dp_cmdp.envs.wrappers.StateObservation.step": BELOW,
    "dp_cmdp.verification.claims": CHECKED,
    "dp_cmdp.verification.lattice": CHECKED,
    "dp_cmdp.verification.parts": CHECKED,
    "dp_cmdp.verification.solutions": CHECKED,
    "dp_cmdp.verification.totals": CHECKED,
}


@dataclass(frozen=True)
class Door:
    """A public callable: a function, a constructor, or a method of an instance or a class."""

    name: str
    target: Any
    owner: type | None = None

    @property
    def needs_instance(self) -> bool:
        return self.owner is not None and inspect.isfunction(self.target)

    @property
    def parameters(self) -> list[inspect.Parameter]:
        found = list(inspect.signature(self.target).parameters.values())
        return found[1:] if self.needs_instance else found


def modules() -> Iterator[ModuleType]:
    yield dp_cmdp
    for found in pkgutil.walk_packages(dp_cmdp.__path__, "dp_cmdp."):
        if found.name.startswith("dp_cmdp.explorer.page."):  # widgets: need an extra
            continue
        if found.name != "dp_cmdp.__main__":  # runs when imported
            yield importlib.import_module(found.name)


def is_inside(name: str) -> bool:
    return any(name == inner or name.startswith(f"{inner}.") for inner in INSIDE)


def is_record(kind: type) -> bool:
    """A dataclass whose constructor stores what it is given: nothing there can fail."""
    return (
        is_dataclass(kind)
        and not hasattr(kind, "__post_init__")
        and kind.__init__.__code__.co_filename == "<string>"
    )


def doors() -> list[Door]:
    """All of them, in the order of modules and definitions."""
    return [
        door
        for module in modules()
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__
        for door in _doors_of(f"{module.__name__}.{name}", value)
        if not is_inside(door.name)
    ]


def _doors_of(name: str, value: Any) -> Iterator[Door]:
    if not inspect.isclass(value):
        if inspect.isfunction(inspect.unwrap(value)):
            yield Door(name, value)
        return
    if getattr(value, "_is_protocol", False):
        return
    if not is_record(value):
        yield Door(name, value)
    for method, member in vars(value).items():
        if method.startswith("_"):
            continue
        if isinstance(member, classmethod | staticmethod):
            yield Door(f"{name}.{method}", getattr(value, method), value)
        elif inspect.isfunction(member):
            yield Door(f"{name}.{method}", member, value)


class SpyLedger(PrivacyLedger):
    """Counts debits; it keeps no file."""

    debits = 0

    def __init__(self) -> None:
        pass

    def debit(self, *arguments: Any, **named: Any) -> Any:
        SpyLedger.debits += 1


class World:
    """Small, valid things of every kind, in a folder of their own; private numbers are marked."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.count = 0

    def path(self, suffix: str = ".npz") -> Path:
        self.count += 1
        return self.folder / f"file-{self.count % 64}{suffix}"

    envelope = cached_property(lambda self: Envelope([0.05, 0.05], [1.0, 1.0], radius=0.25))
    budget = cached_property(lambda self: PrivacyBudget(1, "1/1000"))

    @cached_property
    def program(self) -> ParametricLP:
        return ParametricLP(
            self.envelope,
            c=[1.0],
            A=Affine((1, 1), at=([0], [0]), entry=[0]),
            b=Affine(1, at=[0], entry=[1]),
            upper=4.0,
        )

    @cached_property
    def database(self) -> Database:
        return SpyDatabase(MARKS[:2], self.envelope, identity="spy")

    @cached_property
    def facts_frame(self) -> pd.DataFrame:
        facts = {"lower": [0.05, 0.05], "upper": [1.0, 1.0], "radius": [0.25, 0.25]}
        return pd.DataFrame(facts | {"person": ["a", "b"]}, index=["x", "y"])

    labelled = cached_property(lambda self: Envelope.from_frame(self.facts_frame))

    @cached_property
    def release(self) -> Release:
        database = Database(MARKS[:2], self.envelope)
        return release_database(database, self.budget, rng=np.random.default_rng(0))

    @cached_property
    def proposal(self) -> Proposal:
        W = sparse.csr_array([[1.0, 0.5]])
        return Proposal(W, np.array([1.0]), np.zeros(2))

    @cached_property
    def polytope(self) -> Polytope:
        return Polytope([0.05, 0.05], [1.0, 1.0], W=[[1.0, -0.5]], q=[0.75])

    @cached_property
    def cmdp(self) -> CMDP:
        T = np.array([[[1.0, 0.0], [0.5, 0.5]], [[0.0, 1.0], [0.0, 1.0]]])
        table = np.array([[1.0, 0.0], [0.0, 2.0]])
        return CMDP(T, table, f=table / 4, f0=[9.0], mu=[0.5, 0.5], gamma=0.5)

    policy = cached_property(lambda self: Policy([[0.5, 0.5], [1.0, 0.0]]))
    affine = cached_property(lambda self: Affine(2, at=[0, 1], entry=[0, 1]))
    lp = cached_property(lambda self: LinearProgram([1.0, 1.0], [[1.0, 1.0]], b=[1.0]))
    solution = cached_property(lambda self: dp_cmdp.solve_private(self.program, self.release))
    model = cached_property(lambda self: _model(self))
    layout = cached_property(lambda self: envs.parse_map(["S?.", "..G"]))

    @cached_property
    def hazards(self) -> envs.Hazards:
        kind = self.layout.kinds[0]
        return envs.Hazards(self.layout, MARKS[: len(kind.cells)], tolerance=[MARKS[60]])

    @cached_property
    def ledger(self) -> PrivacyLedger:
        found = PrivacyLedger(self.folder / "ledger.sqlite")
        found.create("spy", PrivacyBudget(100, "1/2"), "one person")
        return found

    @cached_property
    def cvxpy_parameter(self) -> Any:
        return dp_cmdp.cvxpy.PrivateParameter(2, lower=0.05, upper=1, radius=0.25, name="a")

    @cached_property
    def cvxpy_problem(self) -> Any:
        import cvxpy as cp

        x = cp.Variable(2, bounds=[0, 4])
        return cp.Problem(cp.Maximize(cp.sum(x)), [self.cvxpy_parameter @ x <= 1])

    @cached_property
    def cvxpy_compiled(self) -> Any:
        return dp_cmdp.cvxpy.compile(self.cvxpy_problem)

    cvxpy_values = cached_property(lambda self: {self.cvxpy_parameter: MARKS[:2]})

    def env(self, **named: Any) -> Any:
        env = envs.HazardGridEnv(self.layout, **named)
        env.reset(seed=0)
        return env

    @cached_property
    def certificate(self) -> Any:
        from dp_cmdp.noise.truncated import LatticeTruncatedLaplace

        return LatticeTruncatedLaplace.calibrate(1, "1/1000", steps=8).certificate

    @cached_property
    def laplace_certificate(self) -> Any:
        from dp_cmdp.noise.laplace import LatticeLaplace

        return LatticeLaplace.calibrate(1, steps=8).certificate

    @cached_property
    def optimal_certificate(self) -> Any:
        from dp_cmdp.noise.optimal import OptimalNoise

        return OptimalNoise.calibrate(1, "1/10", steps=8).certificate

    @cached_property
    def sweep(self) -> Any:
        from dp_cmdp.experiments.mean_shift import sweep

        return replace(sweep(draws=1), settings=sweep(draws=1).settings[:1])

    @cached_property
    def subject(self) -> Any:
        from dp_cmdp.audit.subjects.releases import database_subject

        return database_subject("tight")

    @cached_property
    def lattice(self) -> Any:
        from dp_cmdp.noise.lattice import Lattice

        return Lattice.of([0.25, 0.25], largest=1.0, bits=3)

    @cached_property
    def lattice_noise(self) -> Any:
        from dp_cmdp.noise.truncated import LatticeTruncatedLaplace

        return LatticeTruncatedLaplace(self.certificate)

    @cached_property
    def lattice_laplace(self) -> Any:
        from dp_cmdp.noise.laplace import LatticeLaplace

        return LatticeLaplace(self.laplace_certificate)

    @cached_property
    def optimal_noise(self) -> Any:
        from dp_cmdp.noise.optimal import OptimalNoise

        return OptimalNoise(self.optimal_certificate)

    @cached_property
    def advice(self) -> Any:
        return dp_cmdp.advise(self.program, draws=2, epsilons=[1], deltas=["1/10"])

    @cached_property
    def bound(self) -> Any:
        return dp_cmdp.accuracy_bound(self.program, self.database, self.budget)

    @cached_property
    def method(self) -> Any:
        from dp_cmdp.baselines import METHODS

        return METHODS["database"]

    @cached_property
    def answer(self) -> Any:
        return self.method.run(
            self.program, self.database, self.budget, rng=np.random.default_rng(0)
        )

    @cached_property
    def report(self) -> Any:
        from dp_cmdp.audit.report import AuditReport, InjectedBug
        from dp_cmdp.audit.subject import audit_subject

        found = audit_subject(self.subject, rng=np.random.default_rng(0), runs=100, draws=100)
        return AuditReport(methods=(found,), injected=(InjectedBug("none", found),))

    @cached_property
    def worst_records(self) -> Any:
        from dp_cmdp.audit.report import WorstRecords

        return WorstRecords("none", 1, 0, 1, 0, 1, 1.0)

    @cached_property
    def played(self) -> Any:
        from dp_cmdp.cmdp.rollout import rollout

        policy = Policy.uniform(6, 4)
        return rollout(self.env(), policy, episodes=3, seed=0, gamma=0.5)

    @cached_property
    def pool(self) -> Any:
        from dp_cmdp.cmdp.solvers.pool import PolicyPool

        return PolicyPool(self.cmdp)

    @cached_property
    def auction(self) -> ParametricLP:
        from dp_cmdp.problems.ad_auction import ad_auction_program

        return ad_auction_program(2, 2)

    @cached_property
    def figure(self) -> Any:
        from dp_cmdp.figures.style import new_figure

        return new_figure(1.0, 1.0)[0]

    @cached_property
    def private(self) -> Any:
        from dp_cmdp.cmdp.private_policy import release_and_synthesize

        env = envs.HazardGridEnv(self.layout, access="curator", hazards=self.hazards)
        rng = np.random.default_rng(0)
        return release_and_synthesize(
            env.model(), env.database(), self.budget, plan="database", rng=rng
        )

    @cached_property
    def layout_file(self) -> Path:
        return envs.save_layout(self.layout, self.folder / "layout.json")

    @cached_property
    def hazard_file(self) -> Path:
        path = self.folder / "hazards.json"
        kinds = {"hazard": {"severity": [[0, 1, 0.5]], "tolerance": 0.75}}
        path.write_text(json.dumps({"format": "dp_cmdp.Hazards/1", "kinds": kinds}))
        return path

    @cached_property
    def hazard_release(self) -> Release:
        rng = np.random.default_rng(0)
        return release_database(self.hazards.database(), self.budget, rng=rng)

    @cached_property
    def tabular(self) -> Any:
        return dp_cmdp.import_gymnasium("FrozenLake-v1", gamma=0.5)

    @cached_property
    def tabular_model(self) -> Any:
        return self.tabular.with_private_costs(
            states=[5, 7],
            on="entering",
            severity=Envelope(0.0, 1.0, shape=2),
            tolerance=Envelope(0.05, 1.0),
        )

    def lake(self) -> Any:
        """FrozenLake that reports a cost."""
        import gymnasium

        env = envs.PrivateCostWrapper(gymnasium.make("FrozenLake-v1"), None, self.tabular_model)
        env.reset(seed=0)
        return env

    @cached_property
    def learner(self) -> Any:
        """Predicts as Stable-Baselines3's models without probabilities do."""
        from types import SimpleNamespace

        return SimpleNamespace(
            observation_space=SimpleNamespace(n=3),
            action_space=SimpleNamespace(n=2),
            predict=lambda states, deterministic: (np.asarray(states) % 2, None),
        )

    def wrapped(self) -> Any:
        env = envs.PrivateCostWrapper(self.env(), self.hazard_release)
        env.reset(seed=0)
        return env

    @cached_property
    def lp_path(self) -> Path:
        return planning(self.folder)

    @cached_property
    def lp_model(self) -> Any:
        from dp_cmdp.frontends.lp_file import read_lp

        return read_lp(self.lp_path)

    @cached_property
    def lp_spec(self) -> Path:
        path = self.folder / "spec.toml"
        path.write_text('[[private]]\nkind = "rhs"\nrows = ["HOURS"]\nlower = 80\nupper = 120\n')
        return path

    @cached_property
    def lp_blocks(self) -> Any:
        from dp_cmdp.frontends.lp_spec import read_spec

        return read_spec(self.lp_spec)

    @cached_property
    def private_lp(self) -> Any:
        from dp_cmdp.frontends.private_lp import private_program

        return private_program(self.lp_model, self.lp_blocks)

    @cached_property
    def safe_policy(self) -> Any:
        from dp_cmdp.cmdp.synthesis import safe_policy

        return safe_policy(self.cmdp)


def _model(world: World) -> Any:
    from dp_cmdp.cmdp.parametric import ParametricCMDP

    return ParametricCMDP(
        world.envelope,
        T=world.cmdp.T,
        r=world.cmdp.r,
        mu=world.cmdp.mu,
        gamma=0.5,
        cost=Affine((1, 4), at=([0, 0], [0, 1]), entry=[0, 0]),
        tolerance=Affine(1, constant=[9.0], at=[0], entry=[1]),
    )


def _fact(world: World) -> Any:
    from dp_cmdp.data.polytope import Polytope

    low, high = world.envelope.lower, world.envelope.upper
    return Polytope(low, high, W=np.ones((1, low.size)), q=[float(high.sum())])


Builder = Callable[[World], Any]


def _generator(world: World) -> np.random.Generator:
    return np.random.default_rng(0)


def _spent(world: World) -> dict[str, str]:
    return {"A": "1/2", "b": "1/2"}


def _saved(name: str, suffix: str = ".npz") -> Builder:
    """A file that holds the named thing of the world."""

    def make(world: World) -> Path:
        path = world.folder / f"{name}{suffix}"
        if not path.exists():
            getattr(world, name).save(path)
        return path

    return make


#: What a parameter of this name is given, whatever it belongs to.
VALUES: dict[str, Builder] = {
    "action": lambda w: 0,
    "actions": lambda w: [0, 1],
    "alpha_c": lambda w: "1/3",
    "alphas": _spent,
    "at": lambda w: [0],
    "block": lambda w: "A",
    "budget": lambda w: w.budget,
    "c": lambda w: [1.0, 1.0],
    "cell": lambda w: 0,
    "cells": lambda w: [1],
    "cmdp": lambda w: w.cmdp,
    "col": lambda w: 0,
    "cols": lambda w: 3,
    "content": lambda w: {"a": 1},
    "cost": lambda w: lambda state, action: 0.5,
    "database": lambda w: w.database,
    "delta": lambda w: "1/1000",
    "diameter": lambda w: 1.0,
    "distance": lambda w: 2,
    "draw": lambda w: 0,
    "entry": lambda w: [0],
    "env": lambda w: w.env(),
    "envelope": lambda w: w.envelope,
    "envelopes": lambda w: {"a": w.envelope},
    "episodes": lambda w: 2,
    "epsilon": lambda w: 1,
    "f": lambda w: w.cmdp.f,
    "f0": lambda w: [9.0],
    "failure": lambda w: 0.05,
    "folder": lambda w: w.folder,
    "feasible": lambda w: LinearProgram([1.0], upper=1.0),
    "gamma": lambda w: 0.5,
    "goals": lambda w: [5],
    "hash": lambda w: "0" * 64,
    "identity": lambda w: "spy",
    "index": lambda w: np.array([1, 2]),
    "kind": lambda w: "tight",
    "labels": lambda w: "text",
    "largest": lambda w: 1.0,
    "lattice": lambda w: INSTANCES["dp_cmdp.noise.lattice.Lattice"](w),
    "layout": lambda w: w.layout,
    "ledger": lambda w: "spy",
    "look": lambda w: lambda folder: {"looked": MARKS[0]},
    "lower": lambda w: [0.05, 0.05],
    "lp": lambda w: w.lp,
    "mechanism": lambda w: lambda values, rng: values + rng.random(values.size),
    "model": lambda w: w.model,
    "mu": lambda w: [0.5, 0.5],
    "ends": lambda w: "ci",
    "name": lambda w: "values",
    "nonprivate_value": lambda w: 2.0,
    "num_actions": lambda w: 2,
    "number": lambda w: MARKS[0],
    "num_states": lambda w: 2,
    "observation": lambda w: 0,
    "other": lambda w: w.envelope,
    "p": lambda w: [0.25, 0.5],
    "pair": lambda w: ([0.0, 0.5], [1.0, 0.5]),
    "path": lambda w: w.path(),
    "point": lambda w: 1,
    "plan": lambda w: Plan("0.35"),
    "policy": lambda w: w.policy,
    "polytope": lambda w: w.polytope,
    "private_value": lambda w: 1.0,
    "probs": lambda w: [[0.5, 0.5]],
    "program": lambda w: w.program,
    "public": lambda w: w.cmdp,
    "r": lambda w: w.cmdp.r,
    "radius": lambda w: [0.25, 0.25],
    "release": lambda w: w.release,
    "result": lambda w: 1.0,
    "rng": _generator,
    "row": lambda w: 0,
    "rows": lambda w: 2,
    "runs": lambda w: 100,
    "samples": lambda w: [1.0, 2.0, 3.0],
    "scale": lambda w: 1.0,
    "seed": lambda w: 0,
    "sensitivity": lambda w: 1.0,
    "settings": lambda w: ({"epsilon": "1"},),
    "severities": lambda w: {(0, 1): MARKS[0]},
    "severity": lambda w: MARKS[:1],
    "shift": lambda w: [0.5],
    "size": lambda w: 3,
    "start": lambda w: 0,
    "state": lambda w: 0,
    "states": lambda w: [0],
    "steps": lambda w: 8,
    "subject": lambda w: w.subject,
    "support": lambda w: 2.0,
    "sweep": lambda w: w.sweep,
    "T": lambda w: w.cmdp.T,
    "W": lambda w: [[1.0, -0.5]],
    "target": lambda w: 0.5,
    "text": lambda w: ["S?.", "..G"],
    "title": lambda w: "title",
    "tolerance": lambda w: [MARKS[60]],
    "upper": lambda w: [1.0, 1.0],
    "value": lambda w: 1.5,
    "values": lambda w: MARKS[:2],
    "x": lambda w: [0.01],
    "z": lambda w: [0.5],
}

#: What a parameter is given where its name alone does not say it: callable.parameter.
SPECIAL: dict[str, Builder] = {
    "dp_cmdp.data.affine.Affine.shape": lambda w: 2,
    "dp_cmdp.audit.outcomes.Outcomes.of.values": lambda w: [[0.5], [0.6]],
    "dp_cmdp.baselines.dvorkin2020.answer.budget": lambda w: PrivacyBudget(100, "1/10"),
    "dp_cmdp.baselines.parts.method.Answer.converged": lambda w: True,
    "dp_cmdp.cmdp.facts_certificate.certify_over.polytope": lambda w: _fact(w),
    "dp_cmdp.cmdp.facts_synthesis.policy_over.polytope": lambda w: _fact(w),
    "dp_cmdp.cmdp.model.CMDP.load.path": _saved("cmdp"),
    "dp_cmdp.cmdp.occupancy.policy_from_occupancy.x": lambda w: np.full((2, 2), 0.5),
    "dp_cmdp.cmdp.parametric.ParametricCMDP.cost": lambda w: w.model.cost,
    "dp_cmdp.cmdp.parametric.ParametricCMDP.tolerance": lambda w: w.model.tolerance,
    "dp_cmdp.cmdp.parametric.ParametricCMDP.for_states.severity": lambda w: Envelope(
        0.0, 1.0, shape=1
    ),
    "dp_cmdp.cmdp.parametric.ParametricCMDP.for_states.tolerance": lambda w: Envelope(
        1.0, 2.0, shape=1
    ),
    "dp_cmdp.cmdp.parametric.ParametricCMDP.robust.lower": lambda w: w.envelope.lower,
    "dp_cmdp.cmdp.parametric.ParametricCMDP.robust.upper": lambda w: w.envelope.upper,
    "dp_cmdp.cmdp.parametric.ParametricCMDP.load.path": _saved("model"),
    "dp_cmdp.cmdp.policy.Policy.load.path": _saved("policy"),
    "dp_cmdp.cmdp.policy.PolicyFile.load.path": _saved("policy"),
    "dp_cmdp.data.database.Database.deferred.read": lambda w: lambda: MARKS[:2],
    "dp_cmdp.data.guarantee.Debit.index": lambda w: 1,
    "dp_cmdp.cmdp.solvers.pool.PolicyPool.solve_many.f": lambda w: np.stack([w.cmdp.f] * 2),
    "dp_cmdp.cmdp.solvers.pool.PolicyPool.solve_many.f0": lambda w: [[9.0], [9.0]],
    "dp_cmdp.cmdp.rollout.rollout.policy": lambda w: Policy.uniform(6, 4),
    "dp_cmdp.frontends.cvxpy.compiled.CompiledProblem.database.values": lambda w: w.cvxpy_values,
    "dp_cmdp.frontends.cvxpy.compiled.compile.problem": lambda w: w.cvxpy_problem,
    "dp_cmdp.frontends.cvxpy.parameter.PrivateParameter.save_value.val": lambda w: None,
    "dp_cmdp.frontends.cvxpy.solve.check.problem": lambda w: w.cvxpy_problem,
    "dp_cmdp.frontends.cvxpy.solve.solve.problem": lambda w: w.cvxpy_problem,
    "dp_cmdp.frontends.cvxpy.solve.solve.values": lambda w: w.cvxpy_values,
    "dp_cmdp.frontends.lp_file.checked_file.path": lambda w: w.lp_path,
    "dp_cmdp.frontends.lp_file.read_lp.path": lambda w: w.lp_path,
    "dp_cmdp.frontends.lp_file.LpModel.value.objective": lambda w: 1.0,
    "dp_cmdp.frontends.lp_neutral.read_public_part.blocks": lambda w: w.lp_blocks,
    "dp_cmdp.frontends.lp_neutral.read_public_part.path": lambda w: w.lp_path,
    "dp_cmdp.frontends.lp_spec.private_blocks.content": lambda w: {
        "private": [{"kind": "rhs", "rows": ["HOURS"], "lower": 80, "upper": 120}]
    },
    "dp_cmdp.frontends.lp_spec.read_spec.path": lambda w: w.lp_spec,
    "dp_cmdp.frontends.private_lp.PrivateLp.database.source": lambda w: w.lp_path,
    "dp_cmdp.frontends.private_lp.PrivateLp.renamed.error": lambda w: AssumptionError(
        "x[0] can grow", label="ass:bounded", rows=("x[0]",)
    ),
    "dp_cmdp.frontends.private_lp.PrivateLp.value.objective": lambda w: 1.0,
    "dp_cmdp.frontends.private_lp.PrivateLp.values.source": lambda w: w.lp_path,
    "dp_cmdp.frontends.private_lp.private_program.blocks": lambda w: w.lp_blocks,
    "dp_cmdp.frontends.private_lp.private_program.model": lambda w: w.lp_model,
    "dp_cmdp.frontends.gymnasium.cmdp_from_gymnasium.env": lambda w: "FrozenLake-v1",
    "dp_cmdp.frontends.gymnasium.import_gymnasium.env": lambda w: "FrozenLake-v1",
    "dp_cmdp.frontends.kinds.PrivateCost.tolerance": lambda w: Envelope(0.05, 1.0),
    "dp_cmdp.frontends.private_costs.TabularCMDP.source": lambda w: w.tabular,
    "dp_cmdp.frontends.private_costs.TabularCMDP.kinds": lambda w: w.tabular_model.kinds,
    "dp_cmdp.frontends.private_costs.TabularCMDP.database.hazards": lambda w: MARKS[:2],
    "dp_cmdp.frontends.private_costs.TabularCMDP.occupancy.policy": lambda w: Policy.uniform(17, 4),
    "dp_cmdp.frontends.tabular.TabularModel.occupancy.policy": lambda w: Policy.uniform(17, 4),
    "dp_cmdp.frontends.tabular.TabularModel.where.chosen": lambda w: lambda key: key > 3,
    "dp_cmdp.cmdp.policy.Policy.from_sb3.model": lambda w: w.learner,
    "dp_cmdp.envs.layout.Layout.occupancy.policy": lambda w: Policy.uniform(6, 4),
    "dp_cmdp.problems.ad_auction.auction_program.private": lambda w: {"b": [0, 1]},
    "dp_cmdp.problems.ad_auction.auction_program.prices": lambda w: np.eye(2),
    "dp_cmdp.problems.ad_auction.growing_auction.num_groups": lambda w: 3,
    "dp_cmdp.problems.hazard_grids.random_grid.size": lambda w: 4,
    "dp_cmdp.problems.hazard_grids.random_grid.start": lambda w: "corner",
    "dp_cmdp.problems.ad_auction.random_auction.program": lambda w: w.auction,
    "dp_cmdp.problems.ad_auction.random_prices.shape": lambda w: (2, 2),
    "dp_cmdp.experiments.auction_comparison.auction_setting.method": lambda w: "database",
    "dp_cmdp.experiments.auction_comparison.judge.answer": lambda w: w.answer,
    "dp_cmdp.experiments.auction_comparison.variant.name": lambda w: "database",
    "dp_cmdp.experiments.sweep.Sweep.draws": lambda w: 2,
    "dp_cmdp.experiments.sweep.Sweep.function": lambda w: w.sweep.function,
    "dp_cmdp.figures.ad_auction.allocation_figure.allocations": lambda w: {"private": np.eye(2)},
    "dp_cmdp.figures.grid.comparison_figure.occupancies": lambda w: (np.full((6, 4), 0.1),) * 2,
    "dp_cmdp.figures.grid.comparison_figure.policies": lambda w: (Policy.uniform(6, 4),) * 2,
    "dp_cmdp.figures.grid.comparison_figure.severity": lambda w: np.full((1, 6), 0.5),
    "dp_cmdp.figures.grid.policy_figure.occupancy": lambda w: np.full((6, 4), 0.1),
    "dp_cmdp.figures.grid.policy_figure.policy": lambda w: Policy.uniform(6, 4),
    "dp_cmdp.figures.idea.idea_figure.private": lambda w: w.private,
    "dp_cmdp.figures.proof.safe_policy_figure.safe": lambda w: w.safe_policy,
    "dp_cmdp.figures.solution.solution_figure.solution": lambda w: w.solution,
    "dp_cmdp.figures.style.save_figure.figure": lambda w: w.figure,
    "dp_cmdp.figures.style.save_figure.path": lambda w: w.path(".png"),
    "dp_cmdp.accounting.ledger.PrivacyLedger.debit.adjacency": lambda w: adjacency_of(w.envelope),
    "dp_cmdp.accounting.ledger.PrivacyLedger.create.unit": lambda w: "one person",
    "dp_cmdp.accounting.ledger.PrivacyLedger.unit": lambda w: "one person",
    "dp_cmdp.accounting.ledger.PrivacyLedger.create.identity": lambda w: f"new-{w.path().name}",
    "dp_cmdp.program.linear_program.Solution.load.path": _saved("solution"),
    "dp_cmdp.program.parametric.ParametricLP.load.path": _saved("program"),
    "dp_cmdp.program.solution_file.SolutionFile.load.path": _saved("solution"),
    "dp_cmdp.verification.files.verify.paths": _saved("release"),
    "dp_cmdp.program.linear_program.LinearProgram.slack.x": lambda w: [0.25, 0.25],
    "dp_cmdp.accounting.budget.exact.name": lambda w: "epsilon",
    "dp_cmdp.data.guarantee.Guarantee.delta": lambda w: Fraction(1, 1000),
    "dp_cmdp.data.guarantee.Guarantee.epsilon": lambda w: Fraction(1),
    "dp_cmdp.data.guarantee.Guarantee.record_size": lambda w: 1,
    "dp_cmdp.data.release.Release.estimate": lambda w: [0.5, 0.5],
    "dp_cmdp.data.release.Release.groups": lambda w: w.release.groups,
    "dp_cmdp.data.release.Release.guarantee": lambda w: w.release.guarantee,
    "dp_cmdp.data.database.Database.from_frame.envelope": lambda w: w.labelled,
    "dp_cmdp.data.database.Database.from_frame.frame": lambda w: pd.DataFrame(
        {"value": MARKS[1::-1]}, index=["y", "x"]
    ),
    "dp_cmdp.data.envelope.Envelope.from_frame.frame": lambda w: w.facts_frame,
    "dp_cmdp.data.envelope.Envelope.load.path": _saved("labelled"),
    "dp_cmdp.data.release.Release.load.path": _saved("release"),
    "dp_cmdp.data.release.Release.method": lambda w: "database",
    "dp_cmdp.data.release.Release.noise": lambda w: w.release.noise,
    "dp_cmdp.data.release.Release.secure": lambda w: False,
    "dp_cmdp.data.totals.Totals.counts": lambda w: [[3.0, -2.0]],
    "dp_cmdp.data.totals.Totals.grid": lambda w: [0.25, 0.5],
    "dp_cmdp.data.totals.Totals.index": lambda w: [4],
    "dp_cmdp.data.totals.Totals.step": lambda w: [0.125],
    "dp_cmdp.data.totals.Totals.support": lambda w: 9,
    "dp_cmdp.release.looks.propose_totals.seen": lambda w: w.release,
    "dp_cmdp.release.measure.measure_totals.proposal": lambda w: w.proposal,
    "dp_cmdp.release.measure.combine.seen": lambda w: w.release,
    "dp_cmdp.release.measure.combine.found": lambda w: measure_totals(
        Database(MARKS[:2], w.envelope), w.budget, proposal=w.proposal, rng=_generator(w)
    ),
    "dp_cmdp.release.plan.Plan.from_facts.said": lambda w: Plan("0.35").facts(),
    "dp_cmdp.release.totals.plan_totals.scale": lambda w: [1.0],
    "dp_cmdp.noise.laplace.LatticeLaplace.certificate": lambda w: w.laplace_certificate,
    "dp_cmdp.noise.optimal.OptimalNoise.certificate": lambda w: w.optimal_certificate,
    "dp_cmdp.noise.truncated.LatticeTruncatedLaplace.certificate": lambda w: w.certificate,
    "dp_cmdp.theory.paper.hoffman.hoffman_constant.G": lambda w: [[1.0, 0.0], [0.0, 1.0]],
    "dp_cmdp.envs.catalogue.named_layout.name": lambda w: "islands",
    "dp_cmdp.envs.hazards.Hazards.load.path": lambda w: w.hazard_file,
    "dp_cmdp.envs.hazards.Hazards.from_frame.hazards": lambda w: pd.DataFrame(
        {"row": [0], "col": [1], "severity": MARKS[:1]}
    ),
    "dp_cmdp.envs.hazards.Hazards.of.source": lambda w: 0,
    "dp_cmdp.envs.specs.guarded.spec": lambda w: w.env().spec,
    "dp_cmdp.envs.layout.Layout.kinds": lambda w: w.layout.kinds,
    "dp_cmdp.envs.layout_files.layout_from_dict.content": lambda w: layout_to_dict(w.layout),
    "dp_cmdp.envs.layout_files.load_layout.path": lambda w: w.layout_file,
    "dp_cmdp.envs.layout_files.save_layout.path": lambda w: w.path(".json"),
    "dp_cmdp.envs.wrappers.PrivateCostWrapper.release": lambda w: w.hazard_release,
    "dp_cmdp.envs.wrappers.SixTupleWrapper.env": lambda w: w.lake(),
    "dp_cmdp.envs.wrappers.StateObservation.env": lambda w: w.lake(),
    "dp_cmdp.envs.wrappers.StateObservation.model": lambda w: w.tabular,
}

#: An instance of each class that has public methods.
INSTANCES: dict[str, Builder] = {
    "dp_cmdp.advice.block_split.Split": lambda w: w.advice.split,
    "dp_cmdp.advice.plans.PlanAdvice": lambda w: advise_plans(w.program, epsilons=[1], draws=2),
    "dp_cmdp.advice.report.Advice": lambda w: w.advice,
    "dp_cmdp.release.planner.Choice": lambda w: choose_plan(w.program, w.budget),
    "dp_cmdp.data.affine.Affine": lambda w: w.affine,
    "dp_cmdp.audit.report.AuditReport": lambda w: w.report,
    "dp_cmdp.audit.report.InjectedBug": lambda w: w.report.injected[0],
    "dp_cmdp.audit.report.MethodAudit": lambda w: w.report.methods[0],
    "dp_cmdp.audit.report.WorstRecords": lambda w: w.worst_records,
    "dp_cmdp.audit.report.Verdict": lambda w: w.report.methods[0].layers["black_box"],
    "dp_cmdp.baselines.parts.method.Method": lambda w: w.method,
    "dp_cmdp.cmdp.certificate.PolicyCertificate": lambda w: w.safe_policy.certificate,
    "dp_cmdp.cmdp.model.CMDP": lambda w: w.cmdp,
    "dp_cmdp.cmdp.parametric.ParametricCMDP": lambda w: w.model,
    "dp_cmdp.cmdp.policy.Policy": lambda w: w.policy,
    "dp_cmdp.cmdp.policy.PolicyFile": lambda w: PolicyFile.load(_saved("policy")(w)),
    "dp_cmdp.cmdp.solvers.pool.PolicyPool": lambda w: w.pool,
    "dp_cmdp.cmdp.solvers.solution.SweepSolution": lambda w: w.pool.solve_many(
        np.stack([w.cmdp.f] * 2), [[9.0], [9.0]]
    ),
    "dp_cmdp.cmdp.rollout.Rollout": lambda w: w.played,
    "dp_cmdp.metrics.Interval": lambda w: Interval(1.0, 0.5, 1.5, 2),
    "dp_cmdp.cmdp.private_policy.PrivatePolicy": lambda w: w.private,
    "dp_cmdp.cmdp.synthesis.SafePolicy": lambda w: w.safe_policy,
    "dp_cmdp.frontends.cvxpy.compiled.CompiledProblem": lambda w: w.cvxpy_compiled,
    "dp_cmdp.frontends.cvxpy.parameter.PrivateParameter": lambda w: w.cvxpy_parameter,
    "dp_cmdp.data.database.Database": lambda w: w.database,
    "dp_cmdp.data.envelope.Envelope": lambda w: w.envelope,
    "dp_cmdp.data.polytope.Polytope": lambda w: w.polytope,
    "dp_cmdp.experiments.sweep.Chunk": lambda w: w.sweep.chunks()[0],
    "dp_cmdp.experiments.sweep.Sweep": lambda w: w.sweep,
    "dp_cmdp.accounting.ledger.PrivacyLedger": lambda w: w.ledger,
    "dp_cmdp.program.linear_program.LinearProgram": lambda w: w.lp,
    "dp_cmdp.noise.laws.Laplace": lambda w: dp_cmdp.Laplace(1.0),
    "dp_cmdp.noise.laws.TruncatedLaplace": lambda w: dp_cmdp.TruncatedLaplace(1.0, 2.0),
    "dp_cmdp.frontends.lp_file.LpModel": lambda w: w.lp_model,
    "dp_cmdp.frontends.private_lp.PrivateLp": lambda w: w.private_lp,
    "dp_cmdp.program.parametric.ParametricLP": lambda w: w.program,
    "dp_cmdp.data.guarantee.Debit": lambda w: Debit("spy", 1, "0" * 64),
    "dp_cmdp.data.guarantee.Noise": lambda w: w.release.noise[0],
    "dp_cmdp.data.release.Release": lambda w: w.release,
    "dp_cmdp.release.plan.Plan": lambda w: Plan("0.35"),
    "dp_cmdp.program.linear_program.Solution": lambda w: w.solution,
    "dp_cmdp.program.solution_file.SolutionFile": lambda w: SolutionFile.load(
        _saved("solution")(w)
    ),
    "dp_cmdp.verification.files.Report": lambda w: dp_cmdp.verify(_saved("release")(w)),
    "dp_cmdp.noise.lattice.Lattice": lambda w: w.lattice,
    "dp_cmdp.noise.laplace.LatticeLaplace": lambda w: w.lattice_laplace,
    "dp_cmdp.noise.optimal.OptimalNoise": lambda w: w.optimal_noise,
    "dp_cmdp.noise.truncated.LatticeTruncatedLaplace": lambda w: w.lattice_noise,
    "dp_cmdp.envs.dynamics.GridModel": lambda w: envs.GridModel(w.layout),
    "dp_cmdp.envs.hazard_grid.HazardGridEnv": lambda w: w.env(access="curator", hazards=w.hazards),
    "dp_cmdp.envs.hazards.Hazards": lambda w: w.hazards,
    "dp_cmdp.envs.layout.Layout": lambda w: w.layout,
    "dp_cmdp.envs.wrappers.PrivateCostWrapper": lambda w: w.wrapped(),
    "dp_cmdp.frontends.private_costs.TabularCMDP": lambda w: w.tabular_model,
    "dp_cmdp.frontends.tabular.TabularModel": lambda w: w.tabular,
}

#: Optional arguments of the base calls, where they bring other rules into play or save time.
VARIANTS: dict[str, list[dict[str, Builder]]] = {
    "dp_cmdp.frontends.gymnasium.import_gymnasium": [
        {"check": lambda w: False},
        {"env": lambda w: Walk(), "key": lambda w: lambda env: env.place},
    ],
    "dp_cmdp.frontends.kinds.PrivateCost": [
        {"severity": lambda w: Envelope(0.0, 1.0, shape=2)},
        {"public_severity": lambda w: [1.0, 2.0]},
    ],
    "dp_cmdp.frontends.private_costs.TabularCMDP.database": [{"tolerance": lambda w: MARKS[30]}],
    "dp_cmdp.frontends.tabular.TabularModel.with_private_costs": [
        {"kinds": lambda w: w.tabular_model.kinds},
        {
            "states": lambda w: [5, 7],
            "on": lambda w: "entering",
            "severity": lambda w: Envelope(0.0, 1.0, shape=2),
            "tolerance": lambda w: Envelope(0.05, 1.0),
        },
        {
            "actions": lambda w: [0, 1],
            "public_severity": lambda w: [1.0, 2.0],
            "tolerance": lambda w: Envelope(5.0, 6.0),
        },
    ],
    "dp_cmdp.envs.wrappers.PrivateCostWrapper": [
        {},
        {"env": lambda w: w.lake(), "release": lambda w: None, "model": lambda w: w.tabular_model},
    ],
    "dp_cmdp.advice.adviser.advise": [
        {"epsilons": lambda w: [1], "deltas": lambda w: ["1/10"], "draws": lambda w: 2}
    ],
    "dp_cmdp.advice.block_split.best_split": [{"draws": lambda w: 2, "steps": lambda w: 2}],
    "dp_cmdp.advice.planning.smallest_epsilon": [
        {"draws": lambda w: 4},
        {"draws": lambda w: 4, "mechanism": lambda w: "blocks"},
    ],
    "dp_cmdp.audit.subject.audit": [
        {"additive": lambda w: True, "law": lambda w: dp_cmdp.Laplace(1.0), "runs": lambda w: 100}
    ],
    "dp_cmdp.cmdp.rollout.rollout": [{}, {"cost": VALUES["cost"]}],
    "dp_cmdp.audit.suite.audit_everything": [{"runs": lambda w: 100}],
    "dp_cmdp.audit.subject.audit_subject": [{"draws": lambda w: 100}],
    "dp_cmdp.baselines.cummings2015.answer": [{"rounds": lambda w: 2}],
    "dp_cmdp.baselines.hsu2014.answer": [{"rounds": lambda w: 2}],
    "dp_cmdp.experiments.runner.run_sweep": [{"workers": lambda w: 1}],
    "dp_cmdp.program.linear_program.solve": [{}, {"engine": lambda w: "cvxpy"}],
    "dp_cmdp.cmdp.private_policy.release_and_synthesize": [
        {"ledger": lambda w: SpyLedger()},
        {"ledger": lambda w: SpyLedger(), "plan": lambda w: Plan("0.5")},
    ],
    "dp_cmdp.cmdp.facts_certificate.certify_over": [{}, {"multipliers": lambda w: [0.5]}],
    "dp_cmdp.cmdp.facts_synthesis.policy_over": [{}, {"guess": lambda w: w.envelope.lower}],
    "dp_cmdp.frontends.cvxpy.parameter.PrivateParameter": [{"shape": lambda w: 2}],
    "dp_cmdp.frontends.cvxpy.solve.solve": [
        {"ledger": lambda w: SpyLedger(), "identity": lambda w: "spy"},
        {"plan": lambda w: "database", "ledger": lambda w: SpyLedger(), "identity": lambda w: "s"},
    ],
    "dp_cmdp.release.solve.release_and_solve": [{"ledger": lambda w: SpyLedger()}],
    "dp_cmdp.release.blocks.release_blocks": [{"ledger": lambda w: SpyLedger()}],
    "dp_cmdp.release.entries.release_database": [
        {"ledger": lambda w: SpyLedger()},
        {"ledger": lambda w: SpyLedger(), "calibration": lambda w: "optimal"},
    ],
    "dp_cmdp.data.envelope.Envelope": [{}, {"labels": lambda w: ["x", "y"]}],
    "dp_cmdp.data.envelope.Envelope.from_frame": [
        {"record": lambda w: "person"},
        {
            "frame": lambda w: {"lower": pd.DataFrame([[0.0]], index=["x"], columns=["y"])},
            "upper": lambda w: 1.0,
            "radius": lambda w: None,
        },
    ],
    "dp_cmdp.data.release.Release.to_frame": [{}, {"table": lambda w: "totals"}],
    "dp_cmdp.data.polytope.Polytope": [
        {},
        {"W": lambda w: [[1.0, -0.5]], "q": lambda w: [0.75]},
    ],
    "dp_cmdp.program.parametric.ParametricLP.certain_slack": [{"multipliers": lambda w: [0.5]}],
    "dp_cmdp.release.planned.release_planned": [
        {"ledger": lambda w: SpyLedger(), "plan": lambda w: Plan("0.5")},
        {"ledger": lambda w: SpyLedger(), "short": lambda w: True},
    ],
    "dp_cmdp.release.measure.measure_totals": [{"ledger": lambda w: SpyLedger()}],
    "dp_cmdp.release.looks.release_looks": [
        {"ledger": lambda w: SpyLedger(), "rng": _generator},
        {
            "ledger": lambda w: SpyLedger(),
            "plan": lambda w: Plan(0),
            "guess": lambda w: np.array([0.5, 0.5]),
        },
    ],
    "dp_cmdp.theory.accuracy.accuracy_bound": [
        {"draws": lambda w: 4, "rng": _generator},
        {"mechanism": lambda w: "blocks"},
        {"mechanism": lambda w: "planned", "plan": lambda w: Plan("1/2")},
        {
            "mechanism": lambda w: "planned",
            "plan": lambda w: Plan(0),
            "guess": lambda w: np.array([0.5, 0.5]),
            "draws": lambda w: 2,
            "rng": _generator,
        },
    ],
    "dp_cmdp.theory.certainty_limit.certainty_limit": [
        {"distances": lambda w: [1], "neighbours": lambda w: 2},
    ],
    "dp_cmdp.envs.hazard_grid.HazardGridEnv": [{}, {"access": lambda w: "curator"}],
}


def takes_function(door: Door, parameter: inspect.Parameter) -> bool:
    """Whether the annotation of a parameter is a kind of function, maybe by an alias."""
    names = vars(importlib.import_module(door.target.__module__))
    kinds = str(parameter.annotation).split(" | ")
    return any("Callable[" in kind or get_origin(names.get(kind)) is Callable for kind in kinds)


def base_calls(door: Door, world: World) -> list[dict[str, Any]]:
    """Arguments that the door takes: all required ones, and those of its variants."""
    required = {
        parameter.name: builder_of(door, parameter.name)(world)
        for parameter in door.parameters
        if parameter.default is parameter.empty and parameter.kind is not parameter.VAR_KEYWORD
    }
    extra = VARIANTS.get(door.name, [{}])
    return [
        required | {name: builder(world) for name, builder in chosen.items()} for chosen in extra
    ]


def builder_of(door: Door, parameter: str) -> Builder:
    found = SPECIAL.get(f"{door.name}.{parameter}", VALUES.get(parameter))
    if found is None:
        raise LookupError(f"no value for {door.name}({parameter}): add it to VALUES or SPECIAL")
    return found


def opened(door: Door, world: World) -> Callable[..., Any]:
    """The callable itself, bound to an instance where it needs one, all arguments by name."""
    if not door.needs_instance:
        return _by_name(door)
    assert door.owner is not None
    owner = f"{door.owner.__module__}.{door.owner.__qualname__}"
    if owner not in INSTANCES:
        raise LookupError(f"no instance of {owner}: add it to INSTANCES")
    return door.target.__get__(INSTANCES[owner](world))


def _by_name(door: Door) -> Callable[..., Any]:
    """The door for callers that name every argument; of `*parts` one is given."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.VAR_POSITIONAL)
    last = max((k for k, p in enumerate(door.parameters) if p.kind in kinds), default=-1)
    order = [parameter.name for parameter in door.parameters[: last + 1]]

    def call(**named: Any) -> Any:
        given = [named.pop(name) for name in order]
        return door.target(*given, **named)

    return call if order else door.target
