"""Training on released costs: everything a learner sees is post-processing of one release."""

from __future__ import annotations

from typing import Any

import gymnasium as gym

from dp_cmdp import _check
from dp_cmdp._check import FloatArray
from dp_cmdp._door import door
from dp_cmdp.data.release import Release
from dp_cmdp.envs.drawing import Image
from dp_cmdp.envs.hazard_grid import PUBLIC, HazardGridEnv, cost_at
from dp_cmdp.errors import InvalidArgumentError, PrivacyLeakError


class PrivateCostWrapper(gym.Wrapper[int, int, int, int], gym.utils.RecordConstructorArgs):
    """Report the released cost in ``info["cost"]``: the upper end of each severity's interval.

    Parameters
    ----------
    env : gymnasium.Env
        A *public* hazard grid, under any number of wrappers.
    release : Release
        A release of its database (method ``database``).

    Notes
    -----
    The true severity is at most the released upper end, and the true tolerance at least
    :attr:`tolerance`, with certainty: a policy whose expected discounted *released* cost is within
    :attr:`tolerance` is safe for the true database. **Paper.** ``lem:arbitrary``.
    **Privacy.** *Post-processing*: any learner trained through the wrapper is as private as the
    release, however long it trains.
    """

    @door
    def __init__(self, env: gym.Env[int, int], release: Release) -> None:
        gym.utils.RecordConstructorArgs.__init__(self, _disable_deepcopy=True, release=release)
        super().__init__(env)
        grid = env.unwrapped
        if not isinstance(grid, HazardGridEnv):
            raise InvalidArgumentError(f"env must be a hazard grid, got {type(grid).__name__}")
        if grid.access != PUBLIC:
            raise PrivacyLeakError(
                "env must be public: a learner could reach the database of a curator's environment"
            )
        if release.method != "database" or release.groups != grid.layout.envelope().groups:
            raise InvalidArgumentError(
                "release must be a release of this environment's database: its groups are "
                f"{release.groups}, those of the layout {grid.layout.envelope().groups}"
            )
        self._grid = grid
        self._costs = grid.grid_model.cost_table(release.group("severity")["upper"])
        self.release = release

    @property
    def tolerance(self) -> FloatArray:
        """Released tolerance of each kind, certainly at most the true one."""
        return _check.frozen(self.release.group("tolerance")["lower"].copy())

    def step(self, action: int) -> tuple[int, Any, bool, bool, dict[str, Any]]:
        before = self._grid.state
        observation, reward, terminated, truncated, info = self.env.step(action)
        cost = cost_at(self._costs, before)
        return observation, reward, terminated, truncated, {**info, "cost": cost}

    def render(self) -> Image | str | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        if self.render_mode is None:
            return self._grid.render()
        return self._grid.picture(self._costs, hatched=True)
