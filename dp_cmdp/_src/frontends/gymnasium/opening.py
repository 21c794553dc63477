"""What an environment is below its wrappers: its table, its start, its time limit."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from dp_cmdp._src.base import validation as check
from dp_cmdp._src.base.errors import InvalidArgumentError
from dp_cmdp._src.base.extras import is_installed

#: Wrappers of Gymnasium that change neither what an action does nor what is observed and earned.
HARMLESS = (
    "HumanRendering",
    "OrderEnforcing",
    "PassiveEnvChecker",
    "RecordEpisodeStatistics",
    "RecordVideo",
    "RenderCollection",
    "TimeLimit",
)


#: Packages whose environments are registered when they are imported, by the start of their ids.
_REGISTERED_BY = {"MiniGrid-": "minigrid", "BabyAI-": "minigrid"}


@contextmanager
def opened(env: Any) -> Iterator[Any]:
    """The environment; made here, and closed again, if it was named by its id."""
    if isinstance(env, str):
        made = _made(env)
        try:
            yield made
        finally:
            made.close()
        return
    if isinstance(env, type) or hasattr(env, "num_envs"):
        what = "a class: make an environment of it" if isinstance(env, type) else "several"
        raise InvalidArgumentError(f"env must be one environment, got {what}")
    yield env


def _made(name: str) -> Any:
    import gymnasium

    for start, package in _REGISTERED_BY.items():
        if name.startswith(start) and is_installed(package):
            importlib.import_module(package)
    try:
        return gymnasium.make(name)
    except (gymnasium.error.Error, TypeError) as error:
        raise InvalidArgumentError(
            f"env must be the id of a Gymnasium environment; {name!r} could not be made "
            f"({str(error).splitlines()[0]})"
        ) from error


def wrappers(env: Any) -> Iterator[Any]:
    """What is around the environment, from the outside."""
    base = getattr(env, "unwrapped", env)
    while env is not base:
        yield env
        env = env.env


def played(env: Any) -> Any:
    """The environment below its wrappers, if none of them changes what it does."""
    import gymnasium

    harmless = [getattr(gymnasium.wrappers, name) for name in HARMLESS]
    for layer in wrappers(env):
        if type(layer) not in harmless:
            raise InvalidArgumentError(
                f"env must do what P says, which is not known of its wrapper "
                f"{type(layer).__name__}: a certificate would hold for the environment below it "
                "only. Pass env.unwrapped if the wrapper does not matter"
            )
    base = getattr(env, "unwrapped", env)
    if getattr(base, "fickle_passenger", False):
        raise InvalidArgumentError(
            "env must follow P: a fickle passenger changes the destination, which P does not say. "
            "Make it with fickle_passenger=False"
        )
    return base


def start_of(base: Any, num_states: int) -> Any:
    """The environment's own start, as a distribution over its states."""
    distribution = getattr(base, "initial_state_distrib", None)
    if distribution is not None:
        return distribution
    start = getattr(base, "start_state", getattr(base, "start_state_index", None))
    if start is None:
        raise InvalidArgumentError(
            "env must say where it starts: it has neither initial_state_distrib nor start_state"
        )
    return np.arange(num_states) == check.integer("start_state", start, high=num_states - 1)
