"""Certificates come from compiled code or from Python: promises are tried both ways."""

import pytest

from dp_cmdp._src.cmdp import chain, safest
from dp_cmdp._src.cmdp.solvers import steps


@pytest.fixture(params=[pytest.param("kernels", marks=pytest.mark.kernels), "python"])
def both_ways(request, monkeypatch):
    if request.param == "python":
        monkeypatch.setattr(chain, "kernels", lambda: None)
        monkeypatch.setattr(safest, "swept_actions", lambda *args, **named: None)
        monkeypatch.setattr(steps, "kernels", lambda: None)
