"""The layer that moves every record of measured totals by its worst."""

from dataclasses import replace
from fractions import Fraction

import pytest

from dp_cmdp import Envelope, PrivacyBudget
from dp_cmdp.audit.layers.worst_totals import record_moves, worst_totals
from dp_cmdp.noise.truncated import LatticeTruncatedLaplace
from dp_cmdp.release.totals import plan_totals


@pytest.fixture(scope="module")
def envelope() -> Envelope:
    return Envelope(0.0, 1.0, radius=[0.1, 0.7, 1 / 3], records=[0, 0, 4])


def look_of(envelope: Envelope, *, steps: int = 0, entries: Fraction | None = None):
    """A look at two totals, with noise for other moves than it has."""
    made = plan_totals(
        envelope, PrivacyBudget(1, "1/1000"), W=[[1.0, 1.0, 1.0], [0.0, 1.0, 1.0]], scale=[2.0, 2.0]
    )
    proof = made.noise.certificate
    noise = LatticeTruncatedLaplace.calibrate(
        1, "1/1000", steps=proof.steps + steps, entries=entries or proof.entries
    )
    return replace(made, noise=noise)


def test_no_record_of_measured_totals_moves_more_than_is_certified():
    row = worst_totals()
    assert row.passed
    assert (row.uncovered, row.refused, row.closest) == (0, 0, 1.0)
    assert row.programs > 100
    assert row.reached > 50


def test_every_record_is_moved_and_the_worst_one_as_far_as_is_certified(envelope):
    moves = list(record_moves(envelope, look_of(envelope)))
    assert len(moves) == 2
    assert all(move.covered for move in moves)
    assert max(move.moved for move in moves) == moves[0].certified
    assert all(move.moved == move.possible for move in moves)


def test_noise_for_fewer_integers_or_fewer_totals_is_seen(envelope):
    for look in (look_of(envelope, steps=-1), look_of(envelope, entries=Fraction(1))):
        assert not all(move.covered for move in record_moves(envelope, look))


def test_weights_that_changed_after_the_noise_was_made_are_seen(envelope):
    look = look_of(envelope)
    heavier = replace(look, counts=2 * look.counts)
    assert not all(move.covered for move in record_moves(envelope, heavier))
