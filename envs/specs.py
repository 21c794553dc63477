"""Specifications of environments, which everybody may see, without the hazards.

Gymnasium keeps the arguments of ``make`` in ``env.spec`` and ``vector_env.spec``, prints them, and
writes them to JSON and pickles. The seed of simulated hazards is as private as what it draws.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from gymnasium.envs.registration import EnvSpec

from dp_cmdp._src.base.errors import InvalidArgumentError, InvalidTypeError

P = ParamSpec("P")
R = TypeVar("R")

#: Stands in a specification for hazards that were given; no environment is made from it.
WITHHELD = "<private>"


class GuardedSpec(EnvSpec):
    """A specification that withholds the argument `hazards`, and so do its copies."""

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, _without_hazards(value) if name == "kwargs" else value)


def without_type_errors(function: Callable[P, R]) -> Callable[P, R]:
    """The same without TypeErrors, beside which Gymnasium quotes all arguments, hazards too."""

    @wraps(function)
    def called(*given: P.args, **named: P.kwargs) -> R:
        refusal = ""
        try:
            return function(*given, **named)
        except InvalidTypeError as error:
            refusal = str(error)
        raise InvalidArgumentError(refusal)

    return called


def guarded(spec: EnvSpec | None) -> EnvSpec | None:
    """The same specification, its hazards withheld."""
    if spec is not None:
        spec.kwargs = _without_hazards(spec.kwargs)
    return spec


def _without_hazards(arguments: dict[str, Any]) -> dict[str, Any]:
    if arguments.get("hazards") is None:
        return arguments
    return {**arguments, "hazards": WITHHELD}
