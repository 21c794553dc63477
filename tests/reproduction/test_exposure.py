"""What every compared method shows of A, b and c is what it declares."""

import pytest

from dp_cmdp.baselines import METHODS
from dp_cmdp.experiments import exposure as study
from dp_cmdp.experiments.exposure import HIDDEN


def exposure(name: str) -> dict[str, str]:
    """The verdict on each block, by the records of the sweep."""
    records = [row for chunk in study.sweep([name]).chunks() for row in chunk.run()]
    return {row["block"]: row["verdict"] for row in records}


@pytest.mark.parametrize("name", tuple(METHODS))
def test_the_blocks_measured_as_hidden_are_those_declared_private(name):
    found = tuple(block for block, verdict in exposure(name).items() if verdict in HIDDEN)
    assert found == METHODS[name].private or METHODS[name].model == "none"


@pytest.mark.parametrize(
    "name", ["munoz2021", "benvenuti2024", "benvenuti2025", "database", "planned", "totals"]
)
def test_published_numbers_of_protected_blocks_pass_the_coupling_test(name):
    found = exposure(name)
    assert {found[block] for block in METHODS[name].private} == {"coupled"}


def test_the_realised_mask_leaks_prices_in_the_constraints_and_in_the_objective():
    assert exposure("benvenuti2025-realised-mask") == {
        "A": "leaking",
        "b": "coupled",
        "c": "leaking",
    }


def test_the_robust_program_reads_nothing_and_the_nonprivate_one_hides_nothing():
    assert set(exposure("robust").values()) == {"unread"}
    assert set(exposure("nonprivate").values()) == {"unprotected"}
