"""Answers of the kernels do not depend on compiler, optimisation or fused multiply-add.

The default tests compile the two variants that differ most; `make test-kernels` compiles all.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dp_cmdp._src.cmdp.solvers.kernels import build
from tests.cmdp.families import FAMILIES, family

pytestmark = pytest.mark.kernels

ROOT = Path(__file__).parents[2]
FUSED = ("-mfma", "-ffp-contract=fast")
VARIANTS = [
    (compiler, level, fused)
    for compiler in ("gcc", "clang")
    for level in ("-O1", "-O2", "-O3")
    for fused in (False, True)
]
DEFAULT = {("gcc", "-O1", False), ("gcc", "-O3", True)}
CASES = [(name, gamma, K) for name in FAMILIES for gamma, K in ((0.9, 1), (0.999, 3))]
SOLVE = """
import json, sys
from pathlib import Path
import numpy as np
from dp_cmdp._src.cmdp.solvers.kernels import build
from dp_cmdp._src.cmdp.solvers.pool import PolicyPool
from tests.cmdp.families import family
build.LIBRARY = Path(sys.argv[1])
for key in sys.argv[2:]:
    name, gamma, K = key.split()
    model = family(name, size=49, gamma=float(gamma), K=int(K))
    found = PolicyPool(model).solve(model.cost, model.limit)
    costs = np.einsum("sa,ksa->k", found.occupancy, model.cost)
    parts = found.value, found.bound, costs.tolist(), found.dual.tolist()
    print(json.dumps([found.engine, found.gap, *parts]))
"""


def answers(library):
    """What this library answers, in a process of its own."""
    env = {key: value for key, value in os.environ.items() if key != "LD_PRELOAD"}
    command = [
        sys.executable,
        "-c",
        SOLVE,
        str(library),
        *(" ".join(map(str, case)) for case in CASES),
    ]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def compiled(compiler, level, fused, folder):
    """The library of one variant, made as the package makes its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("LD_PRELOAD", raising=False)
        patch.setenv("CC", compiler)
        patch.setenv("CFLAGS", level)
        if fused:
            kept = [flag for flag in build.FLAGS if not flag.startswith("-ffp-contract")]
            patch.setattr(build, "FLAGS", (*kept, *FUSED))
        return build.build(folder / f"{compiler}{level}{fused}.so")


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """The answers of the library as it is built, and its file."""
    library = compiled("cc", build.OPTIMISED, False, tmp_path_factory.mktemp("plain"))
    return library, answers(library)


def check(model, one, other):
    """Weak duality: no value lies above a bound but for what its costs exceed, priced."""
    _, _, value, _, costs, _ = one
    _, _, _, bound, _, dual = other
    horizon = 1.0 / (1.0 - model.gamma)
    largest = np.abs(model.r).max() + np.asarray(dual) @ np.abs(model.cost).max(axis=(1, 2))
    # each is a sum over visits (which add up to the horizon), of rounded products
    rounding = 4 * np.finfo(float).eps * model.num_states * largest * horizon
    excess = np.maximum(np.asarray(costs) - model.limit, 0.0)
    assert value <= bound + np.asarray(dual) @ excess + rounding


@pytest.mark.parametrize(
    "variant",
    [
        pytest.param(
            one, marks=() if one in DEFAULT else pytest.mark.compilers, id="".join(map(str, one))
        )
        for one in VARIANTS
    ],
)
def test_every_variant_of_the_kernels_agrees_to_the_certified_gap(variant, plain, tmp_path):
    compiler, level, fused = variant
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    flags = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    if fused and " fma " not in flags:
        pytest.skip("the processor has no fused multiply-add")
    library = compiled(compiler, level, fused, tmp_path)
    assert library is not None
    reference, expected = plain
    assert (b"clang version" in library.read_bytes()) == (compiler == "clang")
    if fused or level != build.OPTIMISED:
        assert library.read_bytes() != reference.read_bytes()
    for case, ours, theirs in zip(CASES, answers(library), expected, strict=True):
        assert ours[0] == theirs[0] == "policies", case
        assert max(ours[1], theirs[1]) <= 1e-8, case
        name, gamma, K = case
        model = family(name, size=49, gamma=gamma, K=K)
        check(model, ours, theirs)
        check(model, theirs, ours)
