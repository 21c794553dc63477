"""The black box layer compares both databases with each other, whichever comes first."""

import numpy as np
import pytest

from dp_cmdp.audit.layers.black_box import black_box
from dp_cmdp.audit.outcomes import Outcomes


def sides(runs: int, order: int) -> tuple[Outcomes, Outcomes]:
    """Always 0; and 1 in every tenth run, else 0; or the other way round."""
    rare = np.arange(runs) % 10 == 0
    never, some = Outcomes.of(np.zeros((runs, 1))), Outcomes.of(rare[:, None].astype(float))
    return (never, some) if order == 1 else (some, never)


@pytest.mark.parametrize("order", [1, -1])
def test_an_output_that_only_one_database_gives_is_found_whichever_it_is(order):
    """Seen from the database that lacks it, nothing is 1.2 times as likely as from the other."""
    verdict, bound = black_box(
        lambda runs, rng: sides(runs, order),
        epsilon=1.0,
        delta=0.0,
        runs=2000,
        rng=np.random.default_rng(0),
        alpha=0.01,
    )
    assert verdict.passed is False
    assert bound > 2.0
