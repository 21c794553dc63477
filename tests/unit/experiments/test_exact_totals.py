"""The part of a million solves that has measured totals: its programs, its integer checks."""

from fractions import Fraction

import numpy as np
import pytest

from benchmarks.exact_feasibility import feasibility_rows, violated
from benchmarks.exact_totals import (
    BATCH,
    EPSILONS,
    NOISES,
    PART,
    PLANS,
    SINGLES,
    all_solves_sweep,
    draw_totals,
    holds,
    random_totals_batch,
    totals_sweep,
    with_totals,
)
from dp_cmdp.accounting.budget import PrivacyBudget
from dp_cmdp.data.polytope import Polytope
from dp_cmdp.release.looks import release_looks
from dp_cmdp.release.plan import Plan
from dp_cmdp.release.solve import robust_solution


def _released(seed, count, share="0.35"):
    rng = np.random.default_rng(seed)
    batch = random_totals_batch(rng, count)
    budget = PrivacyBudget(20, "1/1000")
    return batch, release_looks(
        batch.database, budget, program=batch.program, plan=Plan(share), rng=rng
    )


def test_the_programs_have_what_totals_may_trip_over():
    batch = random_totals_batch(np.random.default_rng(0), 60)
    program, envelope = batch.program, batch.program.envelope
    pairs = program.uncertain_rows
    assert envelope.record_size > 1
    assert (np.bincount(envelope.records) == 1).any()
    assert (np.bincount(pairs.entry) > 1).any()  # entries in several rows
    assert (np.bincount(batch.row_owner) > 1).any()
    assert (program.lower < 0.0).any()
    assert program.c.entry.size
    assert envelope.upper.max() / envelope.upper.min() > 2.0**60
    assert robust_solution(program).certificate is not None
    owners = [set() for _ in range(envelope.records.max() + 1)]
    for entry, row in zip(program.A.entry, program.A.row, strict=True):
        owners[envelope.records[entry]].add(int(batch.row_owner[row]))
    assert max(map(len, owners)) == 1  # no record joins two programs of a batch


@pytest.mark.parametrize("share", PLANS)
def test_most_programs_have_totals_and_the_facts_contain_the_truth(share):
    batch, release = _released(1, 30, share)
    found = with_totals(batch, release)
    assert 10 < len(found) <= 30
    assert holds(release.polytope, batch.database.values)


def test_the_integer_check_of_facts_agrees_with_fractions_to_the_last_bit():
    batch, release = _released(2, 10)
    totals, theta = release.totals, batch.database.values
    assert totals is not None
    truth = [
        sum(
            (
                Fraction(w) * Fraction(theta[e])
                for w, e in zip(part.data, part.indices, strict=True)
            ),
            Fraction(0),
        )
        for part in (totals.W[[i]] for i in range(len(totals)))
    ]
    for i, exact in enumerate(truth):
        q = totals.q.copy()
        q[i] = float(exact)  # to nearest, then one float to either side
        for limit in (np.nextafter(q[i], -np.inf), q[i], np.nextafter(q[i], np.inf)):
            q[i] = limit
            facts = Polytope(release.lower, release.upper, W=totals.W, q=q)
            assert holds(facts, theta) == (exact <= Fraction(float(limit)))


def test_an_interval_that_misses_its_entry_is_seen():
    batch, release = _released(3, 5)
    theta = batch.database.values
    lower = release.lower.copy()
    lower[0] = np.nextafter(theta[0], np.inf)
    upper = np.maximum(release.upper, lower)
    assert not holds(Polytope(lower, upper), theta)


def test_wrong_facts_count_as_violations(monkeypatch):
    monkeypatch.setattr("benchmarks.exact_totals.BATCH", 3)
    monkeypatch.setattr("benchmarks.exact_totals.SINGLES", 1)
    setting = {"method": "totals 0", "share": "0", "epsilon": "20", "noise": "float"}
    [row] = draw_totals(setting, 0, [0])
    assert (row["solves"], row["violations"], row["robust"]) == (4, 0, 0)
    assert row["totals"] > 0
    monkeypatch.setattr("benchmarks.exact_totals.holds", lambda *_: False)
    [row] = draw_totals(setting, 0, [0])
    assert row["violations"] == 4


def test_every_answer_of_a_batch_is_judged():
    batch = random_totals_batch(np.random.default_rng(4), 20)
    assert violated(batch, np.zeros(batch.program.num_variables)) == set()
    assert len(violated(batch, batch.program.upper)) > 10


def test_of_a_million_solves_more_than_a_third_are_planned_with_totals():
    sweep = all_solves_sweep(solves=1_000_000)
    [others] = sweep.beside
    size = sweep.draws * len(sweep.settings) * (BATCH + SINGLES)
    assert size >= PART * 1_000_000 > 333_333
    assert size + others.draws * len(others.settings) * 510 >= 1_000_000
    assert len(totals_sweep(solves=1).settings) == len(PLANS) * len(EPSILONS) * len(NOISES)


def test_rows_of_solves_without_totals_count_none():
    import pandas as pd

    frame = pd.DataFrame(
        [
            {"method": "totals 0", "solves": 4, "totals": 3, "violations": 0, "attempts": 2},
            {"method": "tight", "solves": 5, "violations": 0, "attempts": 1},
        ]
    )
    rows = {row["method"]: row for row in feasibility_rows(frame)}
    assert rows["tight"]["with_totals"] == 0
    assert (rows["all"]["solves"], rows["all"]["with_totals"]) == (9, 3)
