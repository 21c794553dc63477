"""A frozen lake with thin ice, of which linear queries were released."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import dp_cmdp as dp

LIMIT = 3.0


@pytest.fixture(scope="session")
def thin_ice() -> Any:
    """Thin ice on a frozen lake: how bad each place is, is private; the limit is public."""
    lake: Any = gym.make("FrozenLake-v1").unwrapped
    ice = np.flatnonzero(lake.desc.ravel() == b"F")
    costs = dp.PrivateCost(states=ice, cost=dp.Envelope(0, 1, radius=0.1), limit=LIMIT)
    model = dp.gymnasium.load("FrozenLake-v1", gamma=0.95, costs=costs)
    true = np.random.default_rng(0).uniform(0, 0.6, ice.size)
    (made,) = dp.simulate(
        model, {"cost": true}, epsilon=2, delta="1/1000", strategy="queries", draws=1
    )
    assert made.certificate.verified
    assert made.value > made.robust.value
    assert made.release.uncertainty.q.size
    return made
