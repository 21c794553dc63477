"""What a step costs, for playing: a function of what is seen of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dp_cmdp import _check
from dp_cmdp._check import FloatArray
from dp_cmdp.cmdp.charges import ACTING, ENTERING
from dp_cmdp.frontends.candidates import Candidates
from dp_cmdp.frontends.tabular import Passed, TabularModel


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class StepCosts:
    """``cost(state, action, next_state)``: a number, or one per kind.

    Attributes
    ----------
    taken : (K, num_states + 1, num_actions)
        For acting in a state, whatever comes of it.
    entered : (K, num_states + 1)
        For entering one.
    passed : mapping
        What moves pass on their way, in the mean of those that look alike.

    Notes
    -----
    **Privacy.** *Post-processing* of what it was made from.
    """

    taken: FloatArray
    entered: FloatArray
    passed: Passed

    @classmethod
    def of(
        cls,
        source: TabularModel,
        candidates: Sequence[Candidates],
        severities: Sequence[FloatArray],
    ) -> StepCosts:
        """The costs at given severities, one per candidate of each kind."""
        taken = np.zeros((len(candidates), *source.public.r.shape))
        entered = np.zeros(taken.shape[:2])
        for row, (places, severity) in enumerate(zip(candidates, severities, strict=True)):
            price = severity[places.owner]
            if places.on == ENTERING:
                entered[row, places.states] = price
            elif places.on == ACTING:
                taken[row, places.states, places.actions] = price
            else:
                taken[row, places.states] = price[:, None]
        return cls(_check.frozen(taken), _check.frozen(entered), source.passed)

    def __call__(self, state: int, action: int, next_state: int) -> Any:
        cost = self.taken[:, state, action] + self.entered[:, next_state]
        for place, share in self.passed.get((int(state), int(action), int(next_state)), {}).items():
            cost = cost + share * self.entered[:, place]
        return float(cost[0]) if cost.size == 1 else cost

    def __repr__(self) -> str:
        return f"StepCosts(kinds={len(self.taken)}, num_states={self.taken.shape[1] - 1})"
