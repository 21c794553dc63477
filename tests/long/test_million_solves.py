"""Exact feasibility on a large scale; ``benchmarks/million_solves.py`` is the whole million."""

import pytest

from benchmarks.exact_feasibility import feasibility_rows
from benchmarks.exact_totals import all_solves_sweep
from dp_cmdp.experiments.runner import run_sweep


@pytest.mark.long
def test_a_hundred_thousand_private_solves_violate_nothing(tmp_path):
    sweep = all_solves_sweep(solves=100_000, seed=1)
    rows = feasibility_rows(run_sweep(sweep, store=tmp_path / "records.sqlite", workers=1))
    assert rows[-1]["solves"] >= 100_000
    assert rows[-1]["with_totals"] >= 20_000
    assert all(row["violations"] == 0 for row in rows)
