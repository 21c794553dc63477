"""The public face, the weight of importing it, and where heavy packages are used.

That imports point one way is held by import-linter (``make lint``).
"""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import dp_cmdp

ROOT = Path(dp_cmdp.__file__).parent
HEAVY = {"gymnasium", "cvxpy", "matplotlib", "dask", "distributed", "pandas", "scipy"}

#: Packages of extras; and places behind a door that asks for them: a room's `__init__`, a function.
OPTIONAL = {"cvxpy", "matplotlib", "distributed", "nicegui"}
DOORS = {
    "dp_cmdp/frontends/cvxpy/": "dp_cmdp/frontends/cvxpy/__init__.py",
    "dp_cmdp/explorer/page/": "dp_cmdp/cli/explore.py",
    "dp_cmdp/figures/": "dp_cmdp/figures/__init__.py",
    "dp_cmdp/program/engines/cvxpy.py": "dp_cmdp/program/linear_program.py",
}

PUBLIC = [
    "Affine",
    "CMDP",
    "Database",
    "Envelope",
    "Laplace",
    "LinearProgram",
    "ParametricCMDP",
    "ParametricLP",
    "Plan",
    "Policy",
    "PolicyPool",
    "PrivacyBudget",
    "PrivacyLedger",
    "PrivateCost",
    "Release",
    "Solution",
    "TruncatedLaplace",
    "accuracy_bound",
    "advise",
    "choose_plan",
    "cmdp_from_gymnasium",
    "cost_of_privacy",
    "cvxpy",
    "evaluate",
    "import_gymnasium",
    "release_and_solve",
    "release_and_synthesize",
    "release_blocks",
    "release_database",
    "release_looks",
    "release_planned",
    "robust_policy",
    "rollout",
    "saturation",
    "solve",
    "solve_cmdp",
    "solve_private",
    "suboptimality",
    "synthesize",
    "verify",
    "violation",
]


def test_the_public_face_is_pinned():
    assert sorted(vars(dp_cmdp)["__all__"]) == sorted(PUBLIC)
    for name in PUBLIC:
        assert getattr(dp_cmdp, name).__name__.split(".")[-1] == name


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="nonsense"):
        getattr(dp_cmdp, "nonsense")  # noqa: B009


def test_importing_the_package_pulls_in_nothing_heavy():
    code = f"import sys, dp_cmdp; print(sorted({HEAVY!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_solving_a_linear_program_needs_none_of_the_optional_weight():
    code = (
        "import sys; from dp_cmdp import LinearProgram, solve\n"
        "solve(LinearProgram([1.0], upper=1))\n"
        "print(sorted({'gymnasium', 'cvxpy', 'matplotlib', 'dask'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def _is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def _imports(path: Path):
    """Modules imported when the code runs; those for type checkers only do not count."""
    waiting: list[ast.AST] = [ast.parse(path.read_text())]
    while waiting:
        node = waiting.pop()
        waiting.extend(child for child in ast.iter_child_nodes(node) if not _is_for_types(child))
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            if node.module == "dp_cmdp":
                yield from (f"dp_cmdp.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


@pytest.mark.parametrize(
    ("package", "allowed"),
    [
        (
            "gymnasium",
            {"envs", "dp_cmdp/frontends/unwrapping.py", "dp_cmdp/cmdp/rollout.py", "dp_cmdp/cli"},
        ),
        ("matplotlib", {"dp_cmdp/figures", "envs/window.py"}),
        (
            "cvxpy",
            {
                "dp_cmdp/frontends/cvxpy",
                "dp_cmdp/program/engines/cvxpy.py",
                "dp_cmdp/baselines/dvorkin2020.py",
            },
        ),
    ],
)
def test_heavy_packages_stay_in_their_rooms(package, allowed):
    for base in (ROOT, ROOT.parent / "envs"):
        for path in base.rglob("*.py"):
            name = str(path.relative_to(base.parent))
            if any(name.startswith(room) for room in allowed):
                continue
            used = any(module.split(".")[0] == package for module in _imports(path))
            assert not used, f"{name} imports {package}"


def test_every_import_of_an_extra_has_a_door_that_asks_for_it():
    asked = set()
    for base in (ROOT, ROOT.parent / "envs"):
        for path in base.rglob("*.py"):
            name = str(path.relative_to(base.parent))
            door = next((own for place, own in DOORS.items() if name.startswith(place)), name)
            text = (base.parent / door).read_text()
            for package in {module.split(".")[0] for module in _imports(path)} & OPTIONAL:
                assert f'require("{package}")' in text or f'is_installed("{package}")' in text, name
                asked.add(package)
    assert asked == OPTIONAL
