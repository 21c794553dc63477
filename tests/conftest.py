"""Fixtures and settings of every test.

Generated examples are the same in every run, so that a red run can be repeated; `make test-long`
generates new and more ones (HYPOTHESIS_PROFILE=explore).
"""

import os

from hypothesis import settings

settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("explore", deadline=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))
