"""The face is 13 types and 9 verbs, light to import, and every name says what it promises."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import dp_cmdp as dp

TYPES = {
    "Affine", "Answer", "CMDP", "Database", "Envelope", "ParametricCMDP", "ParametricLP",
    "Policy", "PrivacyBudget", "PrivacyLedger", "PrivateCost", "Release", "Strategy",
}  # fmt: skip
VERBS = {
    "advise", "answer", "certify", "evaluate", "publish", "rollout", "simulate", "solve", "verify",
}  # fmt: skip
MODULES = {
    "audit", "curator", "cvxpy", "envs", "errors", "extend", "figures", "gymnasium", "lpfile",
}  # fmt: skip
TAGS = ("Public", "Spends the budget", "Post-processing", "Curator only")


def test_the_face_is_this_list() -> None:
    assert set(dp.__all__) == TYPES | VERBS
    assert set(dir(dp)) >= TYPES | VERBS | MODULES
    stub = ast.parse((Path(dp.__file__).parent / "__init__.pyi").read_text())
    listed = next(node.value for node in stub.body if isinstance(node, ast.Assign))
    assert set(ast.literal_eval(listed)) == TYPES | VERBS


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_importing_the_package_imports_nothing_heavy() -> None:
    heavy = "{'numpy', 'scipy', 'pandas', 'highspy', 'gymnasium', 'cvxpy', 'matplotlib'}"
    assert run(f"import sys, dp_cmdp; print({heavy} & set(sys.modules))") == "set()"
    assert run(f"import sys; from dp_cmdp import errors; print({heavy} & set(sys.modules))") == (
        "set()"
    )


def test_a_linear_program_is_solved_without_environments_or_cvxpy() -> None:
    code = (
        "import sys, dp_cmdp as dp; t = dp.Envelope(1, 2, radius=.1, shape=2)\n"
        "lp = dp.ParametricLP(maximize=[1], A=[[t[0]]], b=[t[1]])\n"
        "dp.solve(lp, [1.5, 1.5], epsilon=1, delta=1e-3)\n"
        "names = {'gymnasium', 'cvxpy', 'matplotlib', 'joblib', 'distributed'}\n"
        "print(names & set(sys.modules), [m for m in sys.modules if '_src.cmdp' in m])"
    )
    assert run(code) == "set() []"


@pytest.mark.parametrize("first", ["gymnasium", "dp_cmdp"])
def test_environments_are_registered_whichever_is_imported_first(first: str) -> None:
    second = {"gymnasium": "dp_cmdp", "dp_cmdp": "gymnasium"}[first]
    code = (
        f"import {first}, {second}\nimport gymnasium\n"
        "print(gymnasium.make('dp_cmdp/HazardGrid-v0').reset(seed=0)[0] is not None)"
    )
    assert run(code) == "True"


def public() -> list[Any]:
    """Every public callable: verbs, types and their methods, and what the submodules list."""
    pytest.importorskip("cvxpy")
    found: dict[str, Callable[..., Any]] = {name: getattr(dp, name) for name in TYPES | VERBS}
    for module in sorted(MODULES - {"envs", "figures", "errors"}):
        listed = getattr(dp, module).__all__
        found |= {f"{module}.{name}": getattr(getattr(dp, module), name) for name in listed}
    return [pytest.param(value, id=name) for name, value in sorted(found.items())]


@pytest.mark.parametrize("function", public())
def test_public_names_say_what_they_take_and_what_it_costs(function: Any) -> None:
    text = inspect.getdoc(function)
    assert text
    assert re.search(r"\*\*Privacy\.\*\* \*(" + "|".join(TAGS) + r")\*", text) or function in (
        *EXEMPT,
    )
    if inspect.isclass(function):
        return
    assert "Returns\n-------" in text
    assert "Examples\n--------" in text or function is dp.audit.audit_release  # takes minutes
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is not parameter.VAR_KEYWORD:
            described = text.partition("Parameters\n")[2].partition("Returns\n")[0]
            assert re.search(rf"(^|[ ,*]){name}\b[^\n]*(:|$)", described, re.M), name


#: Pieces for extending the package, and results of verbs: what they cost is said of the verb.
EXEMPT = (
    dp.extend.Certificate, dp.extend.Laplace, dp.extend.LargestQuery, dp.extend.Law,
    dp.extend.Measurement, dp.extend.OneSided, dp.extend.Query, dp.extend.Sensitivity,
    dp.extend.UncertaintySet, dp.extend.UnboundedLaplace, dp.audit.audit,
)  # fmt: skip
