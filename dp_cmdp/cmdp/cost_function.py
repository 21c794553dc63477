"""Costs stated as a function of what happens in one step."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from dp_cmdp import _check
from dp_cmdp._check import FloatArray
from dp_cmdp._door import door
from dp_cmdp.errors import InvalidArgumentError

#: cost(state, action) or cost(state, action, next_state), a number or one number per constraint.
CostFunction = Callable[..., ArrayLike]


@door
def cost_reader(cost: CostFunction) -> Callable[[int, int, int], FloatArray]:
    """A cost function of two or three arguments as one of (state, action, next_state)."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    try:
        parameters = inspect.signature(cost).parameters.values()
    except Exception:
        parameters = ()  # a built-in function that does not say
    arguments = sum(p.kind in kinds and p.default is p.empty for p in parameters)
    if arguments not in (2, 3):
        raise InvalidArgumentError(
            "cost must take two arguments (state, action) or three (state, action, next_state), "
            f"got {arguments}"
        )

    def read(state: int, action: int, successor: int) -> FloatArray:
        given = (state, action, successor)[:arguments]
        return _check.vector("cost(...)", np.atleast_1d(_check.array("cost(...)", cost(*given))))

    return read
