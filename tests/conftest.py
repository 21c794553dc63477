"""Fixtures and settings of every test.

Generated examples are the same in every run, so that a red run can be repeated; `make test-long`
generates new and more ones (HYPOTHESIS_PROFILE=explore).
"""

import os

import pytest
from hypothesis import settings

from dp_cmdp.program.parametric import ParametricLP

settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("explore", deadline=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))


@pytest.fixture
def small_auction() -> ParametricLP:
    from dp_cmdp.problems.ad_auction import ad_auction_program

    return ad_auction_program(4, 3)
