"""The public face, the weight of importing it, and the direction of imports."""

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
