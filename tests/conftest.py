"""Problems shared by the tests.

Generated examples are the same in every run, so that a red run can be repeated; `make test-long`
generates new and more ones (HYPOTHESIS_PROFILE=explore).
"""

import os

import numpy as np
import pytest
from hypothesis import settings

from dp_cmdp.data.affine import Affine
from dp_cmdp.data.envelope import Envelope
from dp_cmdp.program.parametric import ParametricLP

settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("explore", deadline=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))


def random_parametric_lp(rng: np.random.Generator) -> ParametricLP:
    """A random bounded program that is feasible for every database, with repeated entries."""
    n, m, k = (int(v) for v in rng.integers((1, 1, 2), (6, 4, 7)))
    lower = rng.uniform(0.0, 1.0, k)
    upper = lower + rng.uniform(0.1, 2.0, k)
    envelope = Envelope(lower, upper, radius=(upper - lower) * rng.uniform(0.1, 1.0, k))
    terms = int(rng.integers(1, 2 * n * m + 1))
    A = Affine(
        (m, n),
        constant=rng.uniform(0.0, 1.0, (m, n)) * (rng.random((m, n)) < 0.5),
        at=(rng.integers(0, m, terms), rng.integers(0, n, terms)),
        entry=rng.integers(0, k, terms),
        coefficient=rng.uniform(-0.5, 2.0, terms),
    )
    b = Affine(
        m,
        constant=rng.uniform(2.0, 5.0, m),
        at=rng.integers(0, m, 2),
        entry=rng.integers(0, k, 2),
        coefficient=rng.uniform(0.0, 0.5, 2),
    )
    c = Affine(n, constant=rng.uniform(0.1, 1.0, n), at=[0], entry=[0], coefficient=[0.3])
    free = rng.random(n) < 0.3
    return ParametricLP(
        envelope,
        c=c,
        A=A,
        b=b,
        lower=np.where(free, -1.0, 0.0),
        upper=np.full(n, 4.0),
        A_ub=np.ones((1, n)),
        b_ub=[float(rng.uniform(1.0, 4.0))],
    )


@pytest.fixture
def small_auction() -> ParametricLP:
    from dp_cmdp.problems.ad_auction import ad_auction_program

    return ad_auction_program(4, 3)
