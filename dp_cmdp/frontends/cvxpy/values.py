"""Private values of a cvxpy problem, looked at when a budget has been spent on them.

Which parameters have values, in which shapes, is public and checked at once. Whether the numbers
keep their bounds is not: an answer to that for free would tell a number by halving its bounds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dp_cmdp import _check
from dp_cmdp.data.database import Database
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.frontends.cvxpy.compiled import CompiledProblem


def deferred_database(
    compiled: CompiledProblem, values: Mapping[Any, Any], *, identity: str | None
) -> Database:
    """The values as a database that is read by its release; keys and shapes are checked now."""
    given = compiled.named(values)
    for name, shape in compiled.envelope.groups:
        _check_form(f"values[{name!r}]", given[name], shape)
    return Database.deferred(lambda: given, compiled.envelope, identity=identity)


def _check_form(name: str, value: Any, shape: tuple[int, ...]) -> None:
    """Raise if the kind of container or its shape is wrong, whatever is in it."""
    if not isinstance(value, list | tuple | np.ma.MaskedArray):  # whose items would be looked at
        reason = _check.why_no_array(value)
        if reason is not None:
            raise InvalidArgumentError(f"{name} must be {_check.PURE}; {reason}")
    index = getattr(value, "index", None)
    if hasattr(index, "dtype") and type(index).__name__ != "RangeIndex":
        raise InvalidArgumentError(
            f"{name} has an index of its own, which would not be read: pass its numbers in the "
            "order of the parameter's entries (.to_numpy())"
        )
    found = _shape(value)
    if found is not None and found != shape:
        raise InvalidArgumentError(f"{name} must have shape {shape}, got {found}")


def _shape(value: Any) -> tuple[int, ...] | None:
    """The shape of nested lists or of an array; None if it cannot be told."""
    if isinstance(value, np.ndarray):
        return value.shape
    try:
        return np.asarray(value, dtype=object).shape
    except Exception:
        return None
