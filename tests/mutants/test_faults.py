"""The list of faults stays true: each stands once in its file and can be put in."""

import ast
from collections import Counter
from pathlib import Path

import pytest

from tests.mutants.fault import Fault
from tests.mutants.faults.catalogue import FAULTS
from tests.mutants.record import CAUGHT, EQUIVALENT, SHARED, SURVIVED, Records, table
from tests.mutants.workshop import Workshop

ROOT = Path(__file__).resolve().parents[2]
FEWEST = 300


@pytest.mark.parametrize("path", sorted({fault.path for fault in FAULTS}))
def test_the_line_of_every_fault_stands_exactly_once_and_a_faulty_module_is_python(path):
    text = (ROOT / path).read_text(encoding="utf-8")
    for fault in (fault for fault in FAULTS if fault.path == path):
        assert len(fault.places(text)) == 1, fault.name
        faulty = fault.put_into(text)
        pairs = zip(text.split("\n"), faulty.split("\n"), strict=True)
        assert [old.strip() for old, new in pairs if old != new] == [fault.line], fault.name
        if path.endswith(".py"):
            ast.parse(faulty)


def test_there_are_hundreds_of_faults_with_names_promises_and_tests_of_their_own():
    assert len(FAULTS) >= FEWEST
    assert Counter(fault.name for fault in FAULTS).most_common(1)[0][1] == 1
    assert all(fault.promise and fault.tests for fault in FAULTS)
    assert len({(fault.path, fault.line, fault.faulty, fault.within) for fault in FAULTS}) == len(
        FAULTS
    )


def test_the_tests_that_should_notice_exist():
    for test in {test for fault in FAULTS for test in fault.tests}:
        path, _, name = test.partition("::")
        assert f"def {name}" in (ROOT / path).read_text(encoding="utf-8")


def small_tree(root: Path, *, double: str) -> Path:
    (root / "dp_cmdp").mkdir(parents=True)
    (root / "tests").mkdir()
    (root / "dp_cmdp" / "__init__.py").write_text(f"def double(x):\n    return {double}\n")
    test = "from dp_cmdp import double\n\ndef test_twice():\n    assert double(2) == 4\n"
    (root / "tests" / "test_double.py").write_text(test)
    for shared in SHARED:
        (root / shared).write_text("")
    return root


def fault_of(faulty: str) -> Fault:
    path, tests = "dp_cmdp/__init__.py", ("tests/test_double.py",)
    return Fault("small", "twice is twice", "return 2 * x", faulty, path=path, tests=tests)


def test_a_fault_is_caught_in_a_copy_and_the_tree_stays_as_it_is(tmp_path):
    root = small_tree(tmp_path / "tree", double="2 * x")
    (tmp_path / "copy").mkdir()
    shop = Workshop(root, tmp_path / "copy")
    before = (root / "dp_cmdp" / "__init__.py").read_bytes()
    wrong = shop.with_fault(fault_of("return 3 * x"), ["tests/test_double.py"], seconds=60)
    assert (wrong.passed, wrong.test) == (False, "tests/test_double.py::test_twice")
    assert shop.run(["tests"], seconds=60).passed
    assert (root / "dp_cmdp" / "__init__.py").read_bytes() == before


def test_a_record_holds_until_what_it_rests_on_changes(tmp_path):
    root = small_tree(tmp_path / "tree", double="2 * x")
    fault, records = fault_of("return 3 * x"), Records(tmp_path / "records", root=root)
    other = root / "tests" / "test_other.py"
    assert records.find(fault) is None
    caught = records.keep(fault, CAUGHT, "tests/test_double.py::test_twice")
    other.write_text("")
    assert records.find(fault) == caught
    assert caught.holds
    survived = records.keep(fault, SURVIVED, "")
    assert records.find(fault) == survived
    assert not survived.holds
    other.write_text("# more")
    assert records.find(fault) is None
    records.keep(fault, CAUGHT, "tests/test_other.py::test_this")
    assert records.find(fault_of("return 4 * x")) is None
    other.write_text("# and more")
    assert records.find(fault) is None
    records.keep(fault, CAUGHT, "tests/test_other.py::test_this")
    (root / fault.path).write_text("def double(x):\n    return 2 * x  # twice\n")
    assert records.find(fault) is None


def test_the_table_names_the_test_or_the_reason(tmp_path):
    root = small_tree(tmp_path / "tree", double="2 * x")
    records = Records(tmp_path / "records", root=root)
    caught = fault_of("return 3 * x")
    same = Fault("same", "twice", "return 2 * x", "return x + x", "it is", path=caught.path)
    rows = [
        records.keep(caught, CAUGHT, "tests/test_double.py::test_twice[1]"),
        records.keep(same, EQUIVALENT, ""),
    ]
    text = table([caught, same], rows)
    assert "| small | twice is twice | caught: `test_double.py::test_twice` |" in text
    assert "| same | twice | changes nothing: it is |" in text
    assert "1 caught, 1 changes nothing" in text
