"""Every public name has an example, which runs by itself and prints what it says."""

import ast
import doctest
import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import pytest

import dp_cmdp

ROOT = Path(dp_cmdp.__file__).parent
REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
FILES = sorted({*ROOT.rglob("*.py"), *ROOT.joinpath("envs").glob("*.py")})
Documented = ast.Module | ast.ClassDef | ast.FunctionDef

#: Modules whose faces (``__all__``) are all public.
FACES = ("dp_cmdp", "dp_cmdp.envs", "dp_cmdp.frontends.cvxpy", "dp_cmdp.figures")
#: On a face, but data: there is no docstring to put an example in.
DATA = {"dp_cmdp.envs:REGISTERED"}
#: Methods where a user would look.
METHODS = {
    "dp_cmdp:Affine": "at bounds extremes sensitivity",
    "dp_cmdp:CMDP": "load save with_constraints",
    "dp_cmdp:Database": "deferred from_frame",
    "dp_cmdp:Envelope": "contains encloses from_frame index join load save to_frame",
    "dp_cmdp:Laplace": "calibrate sample",
    "dp_cmdp:LinearProgram": "slack",
    "dp_cmdp:ParametricCMDP": "at for_states load program robust save tightened",
    "dp_cmdp:ParametricLP": (
        "at check_boundedness check_robust_feasibility load robust robust_over save sensitivity "
        "worst_case_slack"
    ),
    "dp_cmdp:Plan": "budgets",
    "dp_cmdp:Policy": "deterministic from_sb3 load predict reseed sample save to_frame uniform",
    "dp_cmdp:PolicyPool": "solve solve_many",
    "dp_cmdp:PrivacyLedger": (
        "balances create debit entries head remaining spent to_frame total verify"
    ),
    "dp_cmdp:Release": "facts group load plot polytope save to_frame",
    "dp_cmdp:Solution": "load save to_frame",
    "dp_cmdp:TruncatedLaplace": "calibrate sample",
    "dp_cmdp.envs:GridModel": "cmdp cost_table parametric",
    "dp_cmdp.envs:HazardGridEnv": "cmdp database model",
    "dp_cmdp.envs:Hazards": "database draw from_frame load place",
    "dp_cmdp.envs:Layout": "cell envelope replace",
    "dp_cmdp.frontends.cvxpy:CompiledProblem": "database",
    "dp_cmdp.advice.report:Advice": "to_frame",
    "dp_cmdp.baselines:Method": "run",
    "dp_cmdp.cmdp.rollout:Rollout": "return_interval",
    "dp_cmdp.cmdp.synthesis:SafePolicy": "to_frame",
    "dp_cmdp.frontends.private_costs:TabularCMDP": "cost_at database",
    "dp_cmdp.frontends.tabular:TabularModel": (
        "occupancy state_of states_at where with_private_costs"
    ),
    "dp_cmdp.release.planner:Choice": "to_frame",
}
#: What is entered through a room rather than a face, and what the doors return.
ROOMS = {
    "dp_cmdp.accounting.budget": "Share allocate exact weak_budgets",
    "dp_cmdp.accounting.hashchain": "Amount LedgerHead",
    "dp_cmdp.advice.adviser": "expected_saturation forced_changes",
    "dp_cmdp.advice.block_split": "best_split",
    "dp_cmdp.advice.planning": "smallest_epsilon",
    "dp_cmdp.advice.plans": "PlanAdvice advise_plans",
    "dp_cmdp.advice.report": "Advice",
    "dp_cmdp.audit.subject": "audit",
    "dp_cmdp.audit.suite": "audit_everything",
    "dp_cmdp.baselines": "Answer Method",
    "dp_cmdp.cmdp.certificate": "PolicyCertificate certify_policy",
    "dp_cmdp.cmdp.evaluation": "Evaluation",
    "dp_cmdp.cmdp.occupancy": "occupancy_of",
    "dp_cmdp.cmdp.private_policy": "PrivatePolicy",
    "dp_cmdp.cmdp.rollout": "Rollout",
    "dp_cmdp.cmdp.synthesis": "SafePolicy check_robust_policy",
    "dp_cmdp.data.curator": "CuratorOnly",
    "dp_cmdp.data.polytope": "Polytope",
    "dp_cmdp.data.release": "Guarantee",
    "dp_cmdp.experiments.records": "export",
    "dp_cmdp.experiments.runner": "run_sweep",
    "dp_cmdp.experiments.sweep": "Sweep stream",
    "dp_cmdp.frontends.cvxpy.solve": "Checked",
    "dp_cmdp.frontends.lp_file": "LpModel read_lp",
    "dp_cmdp.frontends.lp_spec": "PrivateBlock read_spec",
    "dp_cmdp.frontends.private_costs": "TabularCMDP",
    "dp_cmdp.frontends.private_lp": "PrivateLp private_program",
    "dp_cmdp.frontends.tabular": "TabularModel",
    "dp_cmdp.metrics": "Saturation Violation",
    "dp_cmdp.noise.mean_shift": "mean_shift mean_shift_lower_bound",
    "dp_cmdp.problems.ad_auction": (
        "ad_auction_program auction_program growing_auction random_auction random_prices split"
    ),
    "dp_cmdp.problems.hazard_grids": "random_grid",
    "dp_cmdp.program.entrywise": "entrywise",
    "dp_cmdp.program.linear_program": "FeasibilityCertificate",
    "dp_cmdp.release.planner": "Choice",
    "dp_cmdp.release.solve": "PrivateAnswer",
    "dp_cmdp.theory.certainty_limit": "certainty_limit violation_chance",
    "dp_cmdp.theory.feasible_set": "concentration_radius coordinate_ranges diameter_bound",
    "dp_cmdp.theory.mean_limit": "mean_upper_limit",
    "dp_cmdp.theory.one_release": "instance_bound",
    "dp_cmdp.theory.paper.hoffman": "hoffman_constant",
    "dp_cmdp.theory.paper.printed_bound": "paper_bound",
    "dp_cmdp.theory.public_interval": "public_interval",
    "dp_cmdp.theory.release_noise": "ReleaseNoise release_noise",
    "dp_cmdp.theory.simulated_loss": "sampled_mean",
    "dp_cmdp.verification.files": "Report",
}
#: Examples that do not belong into the default run, by a word in their text.
MARKS = {"audit_everything": pytest.mark.long, "stable_baselines3": pytest.mark.rl}


def documented(node: ast.AST, name: str) -> Iterator[tuple[str, Documented]]:
    """A module, class or function and those inside of it, with their qualified names."""
    if isinstance(node, Documented):
        yield name, node
        for child in node.body:
            yield from documented(child, f"{name}.{getattr(child, 'name', '')}")


def examples() -> Iterator[tuple[str, str, doctest.DocTest]]:
    """Name, docstring and test of every docstring of the package that holds an example."""
    parser = doctest.DocTestParser()
    for path in FILES:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for name, node in documented(tree, str(path.relative_to(ROOT.parent))):
            if ">>>" in (text := ast.get_docstring(node) or ""):
                space, line = {"__name__": "__main__"}, node.body[0].lineno
                yield name, text, parser.get_doctest(text, space, name, str(path), line)


EXAMPLES = list(examples())


def referenced(text: str) -> Iterator[str]:
    """Classes and functions that a page of the reference documents, as ``module:name``."""
    module = ""
    for word, name in re.findall(
        r"^\.\. (currentmodule|autoclass|autofunction):: (\S+)$", text, re.MULTILINE
    ):
        if word == "currentmodule":
            module = name
        else:
            # an attribute of the face, no module that could be imported by this name
            owner = "dp_cmdp:cvxpy." if module == "dp_cmdp.cvxpy" else f"{module}:"
            yield f"{owner}{name}"


def public() -> Iterator[str]:
    """Whatever must have an example, as ``module:name``."""
    for page in sorted(REFERENCE.glob("*.md")):
        yield from referenced(page.read_text(encoding="utf-8"))
    for face in FACES:
        yield from (f"{face}:{name}" for name in importlib.import_module(face).__all__)
    for room, names in ROOMS.items():
        yield from (f"{room}:{name}" for name in names.split())
    for owner, names in METHODS.items():
        yield from (f"{owner}.{name}" for name in names.split())


def has_example(thing: Any) -> bool:
    return bool(doctest.DocTestParser().get_examples(getattr(thing, "__doc__", None) or ""))


@pytest.mark.parametrize("name", sorted(set(public()) - DATA))
def test_every_public_name_has_an_example(name):
    assert has_example(resolve_name(name)), f"{name}: add an Examples section to its docstring"


def test_pages_of_the_reference_are_read():
    page = ".. currentmodule:: dp_cmdp\n\n.. autoclass:: CMDP\n.. autofunction:: solve\n"
    assert list(referenced(page)) == ["dp_cmdp:CMDP", "dp_cmdp:solve"]
    assert {"dp_cmdp.errors:SolverError", "dp_cmdp:verify"} < set(public())


def test_a_name_without_an_example_is_noticed():
    assert not has_example(has_example)
    assert not has_example(object())


@pytest.mark.parametrize(
    "test",
    [
        pytest.param(test, id=name, marks=[MARKS[word] for word in MARKS if word in text])
        for name, text, test in EXAMPLES
    ],
)
def test_an_example_runs_by_itself_and_prints_what_it_says(test, tmp_path, monkeypatch):
    """In an empty folder and namespace, so that it can be copied as it stands."""
    monkeypatch.chdir(tmp_path)
    said: list[str] = []
    result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=said.append)
    assert result.failed == 0, "".join(said)
    assert result.attempted == len(test.examples) > 0


def ends_with_examples(text: str) -> bool:
    """Whether all examples stand below one heading, and no other section follows it."""
    before, *rest = text.split("Examples\n--------\n")
    return len(rest) == 1 and ">>>" not in before and "\n---" not in rest[0]


def test_examples_are_the_last_section_of_a_docstring():
    assert [name for name, text, _ in EXAMPLES if not ends_with_examples(text)] == []
