"""What each plan for a release promises to lose, side by side, before any data is read.

Every plan of the menu runs on the same public trial databases (:mod:`dp_cmdp.release.planner`). The
loss is a share of what the robust answer loses: 0 as good as without privacy, 1 as without data.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from dp_cmdp import _check
from dp_cmdp._door import door
from dp_cmdp._progress import with_bar
from dp_cmdp.accounting.budget import Number, PrivacyBudget, weak_budgets
from dp_cmdp.advice.recovery import CONFIDENCE
from dp_cmdp.cmdp.parametric import ParametricCMDP
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.metrics import Interval, mean_interval
from dp_cmdp.program.parametric import ParametricLP
from dp_cmdp.release.plan import MENU, Plan, check_menu
from dp_cmdp.release.trials import Trials
from dp_cmdp.theory.public_interval import as_program

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class PlanRow:
    """The predicted loss of one plan at one budget."""

    epsilon: float
    delta: float
    plan: Plan
    loss: Interval


@dataclass(frozen=True, slots=True)
class PlanAdvice:
    """Predicted losses of plans, as shares of the robust answer's loss.

    Notes
    -----
    **Privacy.** *Public*.

    Examples
    --------
    >>> from dp_cmdp import Affine, Envelope, ParametricLP
    >>> from dp_cmdp.advice.plans import advise_plans
    >>> price = Affine((1, 2), at=([0, 0], [0, 1]), entry=[0, 1])
    >>> program = ParametricLP(Envelope(1, 2, radius=0.02, shape=2), c=[3, 2], A=price, b=[8])
    >>> len(advise_plans(program, epsilons=[1], draws=2).rows)  # one per plan
    5
    """

    rows: tuple[PlanRow, ...]

    def facts(self) -> list[dict[str, Any]]:
        """Ready for JSON."""
        return [
            {
                "epsilon": row.epsilon,
                "delta": row.delta,
                "plan": str(row.plan),
                "loss": row.loss.mean,
                "ci_low": row.loss.low,
                "ci_high": row.loss.high,
                "trials": row.loss.draws,
            }
            for row in self.rows
        ]

    def to_frame(self) -> pd.DataFrame:
        """One row per budget and plan."""
        import pandas as pd

        return pd.DataFrame(self.facts())


@door
def advise_plans(
    program: ParametricLP | ParametricCMDP,
    *,
    epsilons: Iterable[Number] = ("1/2", 1, 2, 4),
    delta: Number = "1/1000",
    menu: Sequence[Plan] = MENU,
    guess: ArrayLike | None = None,
    draws: int = 6,
    seed: int = 0,
    progress: bool = False,
) -> PlanAdvice:
    """The predicted loss of every plan at every ε, with confidence intervals over the trials.

    Parameters
    ----------
    program : ParametricLP or ParametricCMDP
    epsilons, delta : numbers
    menu : sequence of Plan
    guess : array_like, optional
        A public guess of the database, around which the trials are.
    draws : int
        Trials, the same for all plans and budgets.
    progress : bool
        Show a bar.

    Notes
    -----
    **Privacy.** *Public*: no data is read.

    Examples
    --------
    >>> from dp_cmdp import Affine, Envelope, ParametricLP
    >>> from dp_cmdp.advice.plans import advise_plans
    >>> price = Affine((1, 2), at=([0, 0], [0, 1]), entry=[0, 1])
    >>> program = ParametricLP(Envelope(1, 2, radius=0.02, shape=2), c=[3, 2], A=price, b=[8])
    >>> advice = advise_plans(program, epsilons=[1], draws=2)
    >>> advice.to_frame().columns.tolist()
    ['epsilon', 'delta', 'plan', 'loss', 'ci_low', 'ci_high', 'trials']
    """
    lp = as_program(program)
    count = _check.size("draws", draws, low=2)
    plans = check_menu(menu)
    with weak_budgets():  # they are part of the question
        budgets = [PrivacyBudget(one, delta) for one in _check.items("epsilons", epsilons)]
        if not budgets:
            raise InvalidArgumentError("epsilons must not be empty")
        trials = Trials(lp, guess=guess, seed=seed)
        steps = [(budget, trial) for budget in budgets for trial in range(count)]
        losses: dict[tuple[PrivacyBudget, Plan], list[float]] = {}
        for budget, trial in with_bar(steps, progress, total=len(steps), name="plans"):
            tried = trials.trial(trial, budget)
            for plan in plans:
                losses.setdefault((budget, plan), []).append(tried.loss(plan))
    return PlanAdvice(
        tuple(
            PlanRow(
                float(budget.epsilon),
                float(budget.delta),
                plan,
                mean_interval(np.array(part), confidence=CONFIDENCE),
            )
            for (budget, plan), part in losses.items()
        )
    )
