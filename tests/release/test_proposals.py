"""What linear queries are proposed: weights under caps, scales that records can pay."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dp_cmdp as dp
from dp_cmdp._src.release.publish import publish
from dp_cmdp._src.release.release import Release
from dp_cmdp._src.release.strategy import (
    QUERY_BITS,
    LinearQueries,
    Proposal,
    WorstRow,
)

from .cases import budget, dense, repeatable, shared

ADJACENCIES: dict[str, dict[str, Any]] = {
    "own": {},
    "records of three": {"records": [k // 3 for k in range(12)]},
    "two at once": {"entries_per_record": 2},
}


def proposal_of(problem: Any, *, alone: bool = False, epsilon: Any = 4) -> Proposal:
    kind = WorstRow if alone else LinearQueries
    found = kind().proposal(problem, Release(problem.envelope), budget(epsilon))
    assert found is not None
    return found


def loads(problem: Any, found: Proposal, *, alone: bool) -> np.ndarray:
    """What each record is loaded with, in units of the scales, counted one record at a time."""
    envelope = problem.envelope
    scale = np.where(found.scale > 0, found.scale, 1.0)
    load = np.abs(found.weights.toarray()) * envelope.radius / scale[:, None]
    most = envelope.entries_per_record or envelope.size
    result = []
    for record in envelope.change.toarray() > 0:
        groups = load if alone else load.sum(axis=0, keepdims=True)
        result += [np.sort(np.where(record, row, 0.0))[-most:].sum() for row in groups]
    return np.array(result)


@pytest.mark.parametrize("alone", [False, True])
@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_no_record_is_loaded_with_more_than_one_scale(adjacency: str, alone: bool) -> None:
    problem = shared(3, 12, **ADJACENCIES[adjacency])
    found = proposal_of(problem, alone=alone)
    worst = loads(problem, found, alone=alone).max()
    assert worst <= 1 + 1e-9
    assert worst > 0.9  # scales are as small as records allow


@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_integers_are_rounded_towards_nothing_and_cost_the_promised_sensitivity(
    adjacency: str,
) -> None:
    problem = shared(3, 12, **ADJACENCIES[adjacency])
    found = proposal_of(problem)
    integers = found.integers(problem.envelope)
    step = problem.envelope.step
    kept = np.flatnonzero(np.diff(found.weights.indptr))
    wanted = found.weights.toarray()[kept] * step * 2.0**QUERY_BITS / found.scale[kept, None]
    assert (np.abs(integers.toarray()) <= np.abs(wanted)).all()
    assert (np.abs(integers.toarray()) > np.abs(wanted) - 1).all()
    query = dp.extend.Query(problem.envelope, integers)
    lattice = 1 + 2.0**-12  # moves are radii rounded up to lattice steps
    assert query.sensitivity().l1 <= 2**QUERY_BITS * lattice


def test_a_row_that_an_entry_dominates_pays_for_it_alone() -> None:
    """Weights follow the answer, but for the cap: no weight above its share of the scale."""
    problem = dense(2, 40)
    found = proposal_of(problem)
    asked = found.answer.weights.toarray()
    weights = found.weights.toarray()
    assert (np.abs(weights) <= np.abs(asked) + 1e-12).all()
    assert (weights * asked >= 0).all()


def test_there_is_nothing_to_measure_where_noise_is_larger_than_all() -> None:
    problem = dense(3, 20, radius=1.0)
    assert LinearQueries()(problem, Release(problem.envelope), budget("1/2")) is None


def test_what_is_proposed_depends_on_public_data_only_and_is_the_same_twice() -> None:
    problem = dense(2, 30)
    first, second = (proposal_of(problem) for _ in range(2))
    assert np.array_equal(first.weights.toarray(), second.weights.toarray())
    assert np.array_equal(first.scale, second.scale)


def test_the_worst_row_has_integer_centres_where_it_is_believed_to_be() -> None:
    problem = dense(3, 30)
    found = WorstRow()(problem, Release(problem.envelope), budget(4))
    assert found is not None
    assert found.sensitivity.count == 1
    assert all(isinstance(centre, int) for centre in found.query.centres)  # type: ignore
    assert found.query.size == 1


def test_less_is_left_to_pay_after_the_entries_are_known() -> None:
    """Queries proposed after a look at the entries are weighted around what was seen."""
    problem = dense(1, 30)
    values = np.linspace(0.1, 0.9, 30)
    strategy = dp.Strategy.queries(share="1/2")
    release = publish(problem, dp.Database(values, problem), budget(4), strategy, repeatable())
    names = [outcome.measurement.name for outcome in release.outcomes]
    assert names == ["entries", "queries"]
    assert values in release.uncertainty
