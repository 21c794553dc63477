"""The compiled kernels: made of these sources, exact where they say so, and not needed."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from dp_cmdp import CMDP, Policy
from dp_cmdp._src.cmdp.chain import discounted_chain
from dp_cmdp._src.cmdp.model import MDP
from dp_cmdp._src.cmdp.solvers.compiled import SWITCH, Workspace, kernels
from dp_cmdp._src.cmdp.solvers.kernels import build

SOLVE = """
import numpy as np
import dp_cmdp as dp
from dp_cmdp._src.cmdp.solvers.pool import PolicyPool
rng = np.random.default_rng(0)
T = rng.dirichlet(np.ones(6), size=(6, 3))
cost = rng.uniform(size=(2, 6, 3))
start = np.full(6, 1 / 6)
cmdp = dp.CMDP(T, rng.normal(size=(6, 3)), cost=cost, limit=[4.0, 4.2], start=start, gamma=0.9)
found = PolicyPool(cmdp).solve(cost, cmdp.limit)
kept = (np.einsum("sa,ksa->k", found.occupancy, cost) <= cmdp.limit + 1e-9).all()
print(found.engine, repr(float(found.value)), found.gap <= 1e-8, kept)
answer = dp.answer(cmdp)
print(answer.certificate.verified, repr(float(answer.value)))
"""


def run(code, **variables):
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()


@pytest.mark.kernels
def test_without_the_kernels_the_answers_are_the_same_and_come_from_highs():
    with_kernels, without = run(SOLVE), run(SOLVE, **{SWITCH: "1"})
    one, other = with_kernels[0].split(), without[0].split()
    assert (one[0], other[0]) == ("policies", "lp")
    assert one[2:] == other[2:] == ["True", "True"]
    assert float(one[1]) == pytest.approx(float(other[1]), rel=1e-8)
    for lines in (with_kernels, without):
        assert lines[1].split()[0] == "True"
        assert float(lines[1].split()[1]) == pytest.approx(float(one[1]), rel=1e-7)


@pytest.mark.kernels
def test_a_library_of_other_sources_is_not_used(tmp_path):
    copy = tmp_path / "dp_cmdp"
    package = Path(build.__file__).parents[4]
    shutil.copytree(package, copy, symlinks=False, ignore=shutil.ignore_patterns("__pycache__"))
    source = copy / "_src/cmdp/solvers/kernels/sweep.c"
    source.write_text(source.read_text() + "/* changed */\n")
    code = "from dp_cmdp._src.cmdp.solvers.compiled import kernels; print(kernels())"
    command = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "older than their sources" in done.stderr
    silent = subprocess.run([sys.executable, "-W", "ignore", "-c", code], cwd=tmp_path,
                            capture_output=True, text=True, check=True)  # fmt: skip
    assert silent.stdout.strip() == "None"


def test_without_a_compiler_nothing_is_built_and_that_is_said(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("CC", "no-such-compiler")
    assert build.build(tmp_path / "kernels.so") is None
    assert "no C compiler" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def chain(kind, size, gamma, rng):
    """One row of transitions per state."""
    if kind == "line":
        T = np.diag(np.full(size - 1, 0.7), 1) + np.diag(np.full(size - 1, 0.3), -1)
        T[0, 0], T[-1] = 0.3, np.eye(size)[-1]
        T[0, 1] = 0.7
    elif kind == "mixed":
        T = np.zeros((size, size))
        for state in range(size):
            T[state, rng.choice(size, 5, replace=False)] = rng.dirichlet(np.ones(5))
    else:
        T = np.eye(size)[rng.permutation(size)]
    return CMDP(sparse.csr_array(T), np.zeros((size, 1)), cost=np.zeros((size, 1)), limit=1.0,
                start=np.full(size, 1 / size), gamma=gamma)  # fmt: skip


@pytest.mark.parametrize("gamma", [0.0, 0.9, 0.999, 0.99999])
@pytest.mark.parametrize("kind", ["line", "mixed", "permutation"])
def test_values_and_visits_of_chains_are_exact_to_rounding(kind, gamma):
    rng = np.random.default_rng(3)
    cmdp = chain(kind, 200, gamma, rng)
    matrix = np.eye(200) - gamma * cmdp.T.toarray()
    reward = rng.normal(size=200)
    found = discounted_chain(cmdp, Policy.uniform(200, 1))
    v, y = found.values(reward), found.visits(cmdp.start)
    assert np.abs(matrix @ v - reward).max() <= 1e-13 * (1.0 + np.abs(v).max())
    assert np.abs(matrix.T @ y - cmdp.start).sum() <= 1e-13 * (1.0 + y.sum())


@pytest.mark.kernels
def test_the_bound_holds_for_any_values_exactly():
    rng, library = np.random.default_rng(5), kernels()
    assert library is not None
    for gamma in (0.0, 0.9, 0.9999):
        T = rng.dirichlet(np.ones(4), size=12).round(3)
        T[:, -1] += 1.0 - T.sum(axis=1)
        r, start = rng.normal(size=(4, 3)), np.full(4, 0.25)
        space = Workspace(library, MDP(sparse.csr_array(T), r, gamma=gamma, start=start))
        income, w, policy = rng.normal(size=12), rng.normal(size=4), np.zeros(4, np.int32)
        bound = space.price(income, w, policy, tolerance=1e-9)
        loose = space.price(income, np.zeros(4), policy.copy(), tolerance=1e9)
        own = np.arange(4) * 3 + policy
        worth = 0.25 * np.linalg.solve(np.eye(4) - gamma * T[own, :4], income[own]).sum()
        rounding = 1e-12 * (1.0 + abs(worth)) / (1.0 - gamma)  # of the dense solve
        assert worth - rounding <= bound <= worth + rounding + 1e-9
        assert bound <= loose + 1e-12
