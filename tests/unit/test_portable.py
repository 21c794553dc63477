"""``make test-portable``: what it takes for a success, and what its table tells."""

import dataclasses
import importlib.util
import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def portable(monkeypatch):
    place = ROOT / ".ci/portable.py"
    spec = importlib.util.spec_from_file_location(place.stem, place)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, place.stem, module)  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def report(**changes):
    good = {"status": 0, "passed": 5, "failed": 0, "skipped": 1, "seconds": 2, "wrong": []}
    return {**good, "seen": {"blas": "Haswell", "threads": "4"}, **changes}


def test_a_run_in_effect_whose_tests_pass_is_a_success(portable):
    setting = portable.Setting("Haswell", wanted={"blas": ("Haswell",)})
    assert setting.problem(report()) == ""
    assert portable.row(setting, report()) == ("Haswell", "5", "0", "1", "2", "blas Haswell")


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"seen": {"blas": "SkylakeX"}}, "not in effect: blas"),
        ({"seen": {"blas": "Haswell or SkylakeX"}}, "not in effect: blas"),  # one worker differs
        ({"seen": {}}, "not in effect: blas"),
        ({"failed": 1, "status": 1}, "failed"),
        ({"status": -4}, "failed"),  # killed by a signal
        ({"passed": 0, "status": 5}, "failed"),
        ({"passed": 0}, "failed"),
    ],
)
def test_nothing_else_is_a_success(portable, changes, why):
    setting = portable.Setting("Haswell", wanted={"blas": ("Haswell",)})
    assert why in setting.problem(report(**changes))
    assert why.upper() in portable.row(setting, report(**changes))[-1]


def test_what_cannot_run_is_named_with_the_reason(portable):
    line = portable.row(portable.Setting("Zen", cannot="the processor lacks avx2"), None)
    shown = portable.table([line, portable.row(portable.Setting("as it is"), report())])
    assert "Zen" in shown
    assert "cannot run here: the processor lacks avx2" in shown
    assert len(shown.splitlines()) == 3


def test_kernels_that_the_processor_or_openblas_lacks_are_not_asked_for(portable, monkeypatch):
    monkeypatch.setattr(portable, "probe", lambda env: {"blas": "Haswell"})
    found = {one.name: one.cannot for one in portable.blas_settings({"pni", "avx2", "fma"})}
    assert found["Haswell"] == ""
    assert "OpenBLAS takes: Haswell" in found["Zen"]
    assert "OpenBLAS takes: Haswell" in found["Prescott"]
    assert "lacks sse4_2" in found["Nehalem"]
    assert "avx512f" in found["SkylakeX"]


def test_features_are_switched_off_from_the_last(portable):
    both, last = portable.feature_settings(["X86_V3", "X86_V4"])
    assert both.env["NPY_DISABLE_CPU_FEATURES"] == "X86_V3 X86_V4"
    assert both.wanted == {"features": ("none",)}
    assert last.env["NPY_DISABLE_CPU_FEATURES"] == "X86_V4"
    assert last.wanted == {"features": ("X86_V3",)}
    (none,) = portable.feature_settings([])
    assert none.cannot


def test_combinations_are_of_what_can_be_had_and_the_same_every_time(portable):
    axes = [
        [portable.Setting("a", {"A": "1"}), portable.Setting("b", {"A": "2"}, cannot="no")],
        [portable.Setting("c", {"C": "1"}, ("-x",), {"k": ("v",)}, spaced=True)],
        [portable.Setting("d", cannot="no")],
    ]
    first, *middle, last = portable.settings(axes)
    assert first.env == {}
    assert [one.name for one in middle[:4]] == ["a", "b", "c", "d"]
    assert last == portable.settings(axes)[-1]
    assert dataclasses.astuple(last)[1:] == (
        {"A": "1", "C": "1"}, ("-x",), {"k": ("v",)}, True, (), "",
    )  # fmt: skip


def test_a_finished_setting_is_not_run_again_until_something_changes(
    portable, monkeypatch, tmp_path
):
    runs, trees = [], ["one"]
    monkeypatch.setattr(portable, "OUT", tmp_path / "out")
    monkeypatch.setattr(portable, "tree", lambda: trees[-1])
    monkeypatch.setattr(portable, "run", lambda *given: runs.append(given) or report())
    setting = portable.Setting("hash seed 0", {"PYTHONHASHSEED": "0"}, ("-x",))

    def times(arguments=("tests",), *, again=False, of=setting):
        assert portable.kept(of, arguments, again=again)["passed"] == 5
        return len(runs)

    assert [times(), times()] == [1, 1]
    assert json.loads((tmp_path / "out/hash-seed-0.json").read_text())["seconds"] == 2
    assert times(again=True) == 2
    assert times(("tests/unit",)) == 3
    trees.append("other")
    assert times(("tests/unit",)) == 4
    assert times(("tests/unit",), of=setting & portable.Setting("", {"TZ": "UTC"})) == 5


def test_a_run_that_was_broken_off_is_not_kept(portable, monkeypatch, tmp_path):
    monkeypatch.setattr(portable, "OUT", tmp_path)
    monkeypatch.setattr(portable, "tree", lambda: "one")
    monkeypatch.setattr(portable, "run", lambda *_: report(status=2))
    portable.kept(portable.Setting("as it is"), (), again=False)
    assert not list(tmp_path.iterdir())
