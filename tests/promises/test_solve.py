"""One call refuses, spends, reads and answers."""

from __future__ import annotations

import numpy as np

from tests.promises.adapter import Envelope, linear_program, solve


def test_an_answer_is_proved_and_at_least_as_good_as_the_robust_one() -> None:
    theta = Envelope([0.5, 0.5, 8], [2, 2, 12], radius=[0.1, 0.1, 0.5])
    lp = linear_program(theta, maximize=[3, 2], rows=[{0: 0, 1: 1}], limits=[2])
    found = solve(lp, [1, 1.2, 10], epsilon=2, delta="1/1000")
    assert found.certificate.verified
    assert found.value >= found.robust_value
    assert np.all(np.asarray(found.decision) >= 0)
