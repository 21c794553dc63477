"""How far a record moves the positions of a block, counted by hand."""

import numpy as np

from dp_cmdp import Envelope
from dp_cmdp.data.affine import Affine
from dp_cmdp.verification.lattice import entry_moves, position_moves


def test_a_part_of_a_lattice_step_counts_as_a_whole_one():
    envelope = Envelope(0.0, 1.0, radius=[1.0, 0.75, 0.5], records=[0, 0, 1], shape=3)
    plain = Affine(3, at=[0, 1, 2], entry=[0, 1, 2])
    step = np.array([0.375, 0.25, 0.5])
    assert entry_moves(envelope, step) == {0: [3, 3], 1: [1]}
    assert not plain.rounding(envelope.lower, envelope.upper).any()
    assert position_moves(envelope, plain, step) == {0: [3, 3], 1: [1]}


def test_the_terms_of_a_record_at_one_position_are_added_before_they_are_rounded():
    envelope = Envelope(0.0, 1.0, radius=0.25, records=[0, 0, 1], shape=3)
    summed = Affine(1, at=[0, 0, 0], entry=[0, 1, 2], coefficient=[2.0, -1.0, 1.0])
    assert position_moves(envelope, summed, np.array([0.5])) == {0: [2], 1: [1]}


def test_the_rounding_of_a_sum_moves_it_too():
    """Beside 2^52 the floats are one apart: a radius of 0.5 may move the sum by more than 0.5."""
    envelope = Envelope(0.0, 1.0, radius=0.5, shape=1)
    coarse = Affine(1, constant=[2.0**52], at=[0], entry=[0])
    (error,) = coarse.rounding(envelope.lower, envelope.upper)
    assert error >= 1.0
    (moves,) = position_moves(envelope, coarse, np.array([0.5])).values()
    assert moves == [int(np.ceil((0.5 + 2 * error) / 0.5))]
    assert moves[0] >= 5
