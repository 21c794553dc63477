"""The public face, the weight of importing it, and the direction of imports."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import dp_cmdp

ROOT = Path(dp_cmdp.__file__).parent
HEAVY = {"gymnasium", "cvxpy", "matplotlib", "dask", "distributed", "pandas", "numba", "scipy"}

PUBLIC = [
    "LinearProgram",
    "Solution",
    "solve",
    "PrivacyBudget",
    "PrivacyLedger",
    "Laplace",
    "TruncatedLaplace",
    "Envelope",
    "Database",
    "Release",
    "ParametricLP",
    "release_database",
    "release_blocks",
    "solve_private",
    "CMDP",
    "Policy",
    "evaluate",
    "suboptimality",
    "violation",
    "cost_of_privacy",
    "saturation",
    "accuracy_bound",
    "advise",
]


def test_the_public_face_is_pinned():
    assert sorted(dp_cmdp.__all__) == sorted(PUBLIC)
    for name in PUBLIC:
        assert getattr(dp_cmdp, name).__name__ == name


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="nonsense"):
        _ = dp_cmdp.nonsense


def test_importing_the_package_pulls_in_nothing_heavy():
    code = f"import sys, dp_cmdp; print(sorted({HEAVY!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_solving_a_linear_program_needs_none_of_the_optional_weight():
    code = (
        "import sys; from dp_cmdp import LinearProgram, solve\n"
        "solve(LinearProgram([1.0], upper=1))\n"
        "print(sorted({'gymnasium', 'cvxpy', 'matplotlib', 'dask', 'numba'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


#: Later rooms may import earlier ones, never the other way round.
ORDER = [
    {"errors"},
    {"_check", "storage", "documents", "privacy", "curator"},
    {"exact", "lp", "solution_files", "engines", "mechanisms", "ledger"},
    {"sampling"},
    {"envelope", "affine", "structure_files"},
    {"database", "release", "release_parts", "release_claims", "lattice_claims", "robust"},
    {"parametric", "intervals"},
    {"assumptions", "entrywise"},
    {"block_noise"},
    {"privatizer"},
    {"cmdp"},
    {"metrics", "baselines"},
    {"theory"},
    {"advice", "audit"},
    {"envs"},
    {"verification"},
    {"experiments"},
    {"figures"},
    {"cli"},
]
#: Imports inside functions that close a convenient circle on purpose.
LAZY = {("parametric", "assumptions"), ("experiments", "figures")}
RANK = {room: rank for rank, rooms in enumerate(ORDER) for room in rooms}


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


def _room(module: str) -> str | None:
    parts = module.split(".")
    if parts[0] == "envs":
        return "envs"
    return parts[1] if parts[0] == "dp_cmdp" and len(parts) > 1 and parts[1] in RANK else None


def test_imports_point_one_way():
    wrong = []
    for base in (ROOT, ROOT.parent / "envs"):
        for path in sorted(base.rglob("*.py")):
            inside = path.relative_to(base.parent).with_suffix("")
            if inside.parts == ("dp_cmdp", "__init__"):
                continue
            here = _room(".".join(inside.parts))
            assert here is not None, f"{inside} has no place in ORDER"
            for module in _imports(path):
                there = _room(module)
                if there and RANK[there] > RANK[here] and (here, there) not in LAZY:
                    wrong.append(f"{inside} imports {module}")
    assert not wrong


@pytest.mark.parametrize(
    ("package", "allowed"),
    [
        (
            "gymnasium",
            {"envs", "dp_cmdp/cmdp/gym_model.py", "dp_cmdp/cmdp/rollout.py", "dp_cmdp/cli"},
        ),
        ("matplotlib", {"dp_cmdp/figures", "envs/window.py"}),
        ("cvxpy", {"dp_cmdp/engines/cvxpy.py", "dp_cmdp/baselines/dvorkin2020.py"}),
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
