"""What `verify` says can be read by people, and its count of linear queries is its own."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest

from tests.promises.adapter import (
    CHECKER,
    COUNT_OF_PRODUCER,
    Envelope,
    Found,
    command,
    halved_count,
    is_proved,
    linear_program,
    load_environment,
    private_cost,
    save_policy,
    solve,
    verify,
)

ROOT = Path(__file__).parents[2]


# ------------------------------------------------------------------------------------ missing files


@pytest.fixture(scope="module")
def found() -> Found:
    """A policy for a frozen lake: its model is no layout that comes with the package."""
    holes = [5, 7, 11, 12]
    costs = private_cost(Envelope(0, 1, radius=0.02, shape=4), 0.03, states=holes, on="entering")
    lake = load_environment("FrozenLake-v1", gamma=0.95, costs=costs)
    private = {"epsilon": 2, "delta": "1/1000", "strategy": "entries"}
    found = solve(lake, [0.1, 0.1, 0.1, 0.1], **private)  # no simulation, which proves less
    assert found.value > found.robust_value  # its policy needs the release
    return found


@pytest.fixture
def files(found: Found, tmp_path: Path) -> dict[str, Path]:
    return {
        "policy": save_policy(found, tmp_path / "policy.npz"),
        "release": found.release.save(tmp_path / "release.npz"),
        "model": found.problem.save(tmp_path / "model.npz"),
    }


def test_a_policy_is_proved_with_its_release_and_its_model(files: dict[str, Path]) -> None:
    assert command("verify", *map(str, files.values())) == 0


@pytest.mark.parametrize("missing", ["model", "release"])
def test_a_missing_file_is_named_and_nothing_is_said_to_have_failed(
    missing: str, files: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    given = [str(path) for name, path in files.items() if name != missing]
    assert command("verify", *given) != 0
    text = capsys.readouterr().out
    assert "FAILED" not in text
    assert "missing" in text
    assert missing in text


def test_a_report_is_printed_in_lines_that_people_read(files: dict[str, Path]) -> None:
    for given in (list(files.values()), [files["policy"]]):
        text = str(verify(*given))
        assert "Finding(" not in text
        assert all(str(path) in text for path in given)
        assert max(map(len, text.splitlines())) <= 100 + max(len(str(path)) for path in given)


# ------------------------------------------------------------------------------------ own count


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("counted")


def test_noise_for_half_of_what_a_record_moves_is_seen_whoever_counted(folder: Path) -> None:
    size = 12
    theta = Envelope([0.05] * size, [1.0] * size, radius=0.25)
    rows, maximize = [{j: j for j in range(size)}], np.ones(size)
    lp = linear_program(theta, maximize=maximize, rows=rows, limits=[2.0], upper=1.0)
    private = {"epsilon": 2, "delta": "1/1000", "strategy": "queries"}
    honest = solve(lp, [0.5] * size, **private).release.save(folder / "honest.npz")
    assert is_proved(honest)
    with halved_count():
        path = solve(lp, [0.5] * size, **private).release.save(folder / "short.npz")
        proved = is_proved(path)
    assert not is_proved(path)  # by who counts in full
    assert not proved


def test_the_checker_imports_nothing_of_who_counts_for_the_noise() -> None:
    paths = sorted((ROOT / CHECKER).rglob("*.py"))
    assert paths
    assert not {module for path in paths for module in imported(path)} & {COUNT_OF_PRODUCER}


def imported(path: Path) -> set[str]:
    """Modules that a file imports anywhere, for type checkers too."""
    found = set[str]()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found
