"""Random problems of every family, judged exactly; ``python -m benchmarks.fuzz`` runs 50,000."""

import pytest

from benchmarks.fuzz.worker import run


@pytest.mark.long
def test_two_thousand_models_are_answered_without_a_wrong_value_bound_or_verdict(tmp_path):
    lines = run(2_000, tmp_path / "fuzz.jsonl", quiet=True)
    assert [line for line in lines if line["faults"]] == []
    assert [line for line in lines if line["unanswered"]] == []
