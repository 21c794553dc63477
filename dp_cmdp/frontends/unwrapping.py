"""What an environment is below its wrappers: its table, its start, its time limit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from dp_cmdp import _check
from dp_cmdp.errors import InvalidArgumentError

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


def opened(env: Any, options: Mapping[str, Any] | None) -> tuple[Any, bool]:
    """The environment, made here if it was named by its id, and whether it was."""
    import gymnasium

    if not isinstance(env, str):
        if options is not None:
            raise InvalidArgumentError("options must be None unless env is an id to be made")
        if isinstance(env, type) or hasattr(env, "num_envs"):
            what = "a class: make an environment of it" if isinstance(env, type) else "several"
            raise InvalidArgumentError(f"env must be one environment, got {what}")
        return env, False
    try:
        return gymnasium.make(env, **(options or {})), True
    except (gymnasium.error.Error, TypeError) as error:
        raise InvalidArgumentError(
            f"env must be the id of a Gymnasium environment; {env!r} could not be made "
            f"({str(error).splitlines()[0]})"
        ) from error


def wrappers(env: Any) -> Iterator[Any]:
    """What is around the environment, from the outside."""
    base = getattr(env, "unwrapped", env)
    while env is not base:
        yield env
        env = env.env


def is_limited(env: Any) -> bool:
    """Whether a time limit cuts episodes short: Gymnasium's, or one of the environment's own."""
    limit = any(type(layer).__name__ == "TimeLimit" for layer in wrappers(env))
    return limit or hasattr(getattr(env, "unwrapped", env), "max_steps")


def check_endless(endless: Any, *, limited: bool) -> bool:
    """The caller's word that nothing cuts episodes short, unless something was seen to."""
    if _check.truth("endless", endless) and limited:
        raise InvalidArgumentError(
            "endless must be False: env has a time limit (a TimeLimit, max_steps, or steps that "
            "were truncated). Import env.unwrapped if it is played without its TimeLimit"
        )
    return endless


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


def table_of(base: Any) -> Any:
    """What the environment publishes as P."""
    model = getattr(base, "P", None)
    if model is None:
        raise InvalidArgumentError(
            f"env must be tabular, with its transitions in env.unwrapped.P; "
            f"{type(base).__name__} has none. "
            "import_gymnasium explores deterministic environments without one; for others build a "
            "CMDP of their arrays"
        )
    return model


def start_of(base: Any, num_states: int) -> Any:
    """The environment's own start, as a distribution over its states."""
    distribution = getattr(base, "initial_state_distrib", None)
    if distribution is not None:
        return distribution
    start = getattr(base, "start_state", getattr(base, "start_state_index", None))
    if start is None:
        raise InvalidArgumentError(
            "mu must be given: env has neither initial_state_distrib nor start_state"
        )
    return np.arange(num_states) == _check.integer("start_state", start, high=num_states - 1)
