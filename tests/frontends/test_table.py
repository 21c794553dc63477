"""Tables P of one's own: read as written, or refused with the state, the action and the rule."""

import numpy as np
import pytest

from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.gymnasium import load


class Model:
    """A table and a start, and nothing that could be played."""

    def __init__(self, P, start_state=0):
        self.P, self.start_state = P, start_state


def imported(P):
    return load(Model(P), gamma=0.9)


def stay(*fields):
    """Two states and actions that are sound, but for the transitions of state 1, action 0."""
    sound = [(1.0, 0, 0.0, False)]
    return {0: {0: sound, 1: sound}, 1: {0: list(fields), 1: sound}}


SOUND = (1.0, 0, 0.0, False)


@pytest.mark.parametrize(
    ("P", "rule"),
    [
        ({}, "P must not be empty: it has no state"),
        ({1: {0: [SOUND]}, 2: {0: [SOUND]}}, "P must number its states from 0 to 1.*no state 0"),
        ({0: {1: [SOUND]}}, r"P\[0\] must number its actions from 0 to 0.*no action 0"),
        ({0: {0: [SOUND]}, 1: {0: [SOUND], 1: [SOUND]}}, "same actions.*state 1 has 2"),
        (stay(), r"P\[1\]\[0\] must have probabilities that sum to 1.*no transition"),
        (stay((0.5, 0, 0.0, False)), r"P\[1\]\[0\] must .*sum to 0\.5"),
        (stay((1.0, 2, 0.0, False)), r"next state of P\[1\]\[0\]\[0\] .*at most 1, got 2"),
        (stay((1.0, 0.9, 0.0, False)), r"next state of P\[1\]\[0\]\[0\] must be an integer"),
        (stay((1.5, 0, 0.0, False), (-0.5, 0, 0.0, False)), r"probability of P\[1\]\[0\]\[0\]"),
        (stay((np.nan, 0, 0.0, False)), r"probability of P\[1\]\[0\]\[0\] must be finite"),
        (stay((1.0, 0, None, False)), r"reward of P\[1\]\[0\]\[0\]"),
        (stay((1.0, 0, 0.0, None)), r"terminated of P\[1\]\[0\]\[0\] must be True or False"),
        (stay((*SOUND, 3)), r"P\[1\]\[0\]\[0\] must be \(probability.*got 5 items"),
    ],
)
def test_every_rule_is_named_with_the_place_that_breaks_it(P, rule):
    with pytest.raises(InvalidArgumentError, match=rule):
        imported(P)


def test_lists_and_numpys_own_numbers_are_tables_too():
    row = (np.float64(1.0), np.int64(1), np.float32(2.0), np.True_)
    for P in ([[[row]], [[row]]], {0: {0: (row,)}, 1: {0: [list(row)]}}):
        cmdp = imported(P)
        assert cmdp.r[:, 0].tolist() == [2.0, 2.0, 0.0]
        assert cmdp.T.toarray().tolist() == [[0.0, 0.0, 1.0]] * 3


def test_a_start_of_another_size_is_refused():
    with pytest.raises(InvalidArgumentError, match="start_state"):
        load(Model(stay(SOUND), 2), gamma=0.9)
