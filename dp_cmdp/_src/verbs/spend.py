"""The two verbs that spend the budget: solve and publish."""

from __future__ import annotations

import warnings
from contextlib import suppress
from typing import TYPE_CHECKING, Any, overload

from dp_cmdp._src.accounting.budget import Number, PrivacyBudget
from dp_cmdp._src.base.errors import InvalidArgumentError, PrivacyWarning, SolverError
from dp_cmdp._src.base.validation import validated
from dp_cmdp._src.data.envelope import Envelope
from dp_cmdp._src.program.answer import Answer
from dp_cmdp._src.release.belief import Prior
from dp_cmdp._src.release.choose import Choice, Simulator, choose, promises_nothing
from dp_cmdp._src.release.measurement import System
from dp_cmdp._src.release.publish import amended, answered, carrying
from dp_cmdp._src.release.publish import publish as published
from dp_cmdp._src.release.release import Release
from dp_cmdp._src.release.strategy import Strategy
from dp_cmdp._src.verbs.arguments import (
    Data,
    Problem,
    as_problem,
    budget_of,
    database_of,
    prior_of,
    release_of,
    strategy_of,
)

if TYPE_CHECKING:
    import cvxpy as cp

    from dp_cmdp._src.frontends.cvxpy import CvxpyAnswer
    from dp_cmdp._src.verbs.arguments import A, Asks

USELESS = (
    "this release will tell nothing: in simulations its noise covers the whole range of every "
    "entry, and the answer is the robust one, which answer(problem) gives at no cost. Give a "
    "radius smaller than the range (radius=None says that an entry may change to anything), or "
    "raise epsilon"
)


@overload
def solve(
    problem: Asks[A], data: Data, *, epsilon: Number, delta: Number,
    strategy: str | Strategy = "auto", prior: Data | None = None, after: Release | None = None,
    progress: bool = False,
) -> A: ...  # fmt: skip
@overload
def solve(
    problem: cp.Problem, data: Data, *, epsilon: Number, delta: Number,
    strategy: str | Strategy = "auto", prior: Data | None = None, after: Release | None = None,
    progress: bool = False,
) -> CvxpyAnswer: ...  # fmt: skip
@validated
def solve(
    problem: Any,
    data: Any = None,
    *,
    epsilon: Any = None,
    delta: Any = None,
    strategy: Any = "auto",
    prior: Any = None,
    after: Any = None,
    progress: bool = False,
) -> Any:
    """Spend a budget on a release and return the best answer that is certainly feasible.

    In this order: check that a robust answer exists, choose a strategy, debit the ledger, read the
    data, publish, and answer.

    Parameters
    ----------
    problem : ParametricLP, ParametricCMDP, cvxpy.Problem or extend.Problem
        The problem; its type decides the type of the answer.
    data : array_like, mapping from group to numbers, table, path of a csv file or Database
        The private numbers; a Database may have a ledger.
    epsilon, delta : number or text
        The budget; texts such as ``"1/3"`` are exact.
    strategy : {"auto", "entries", "queries", "worst row"} or Strategy
        What is measured; "auto" takes what loses least in simulations on invented databases.
    prior : like data, optional
        Public estimates of the private numbers, assumed to be off by an eighth of each range.
    after : Release, optional
        An earlier release of the same, unchanged data. The answer uses both, and their budgets
        add up.
    progress : bool
        Show a bar while a strategy is chosen, when it takes long.

    Returns
    -------
    Answer
        Of the type of the problem. If the release gives no better answer, it is the robust one
        (``source="robust"``).

    Raises
    ------
    RefusedError
        No decision is safe for every database of the envelope; nothing was read or spent. Or the
        private values cannot be used.
    BudgetExceededError
        The ledger has less left; nothing was read or spent.
    InvalidArgumentError
        An argument is refused; nothing was read or spent.
    AnswerError
        The data contradict the release `after`.

    Notes
    -----
    Exceptions raised after the debit, Control-C included, carry the release in their attribute
    ``release``; ``answer(problem, error.release)`` continues from it.

    **Privacy.** *Spends the budget*, whatever the answer.

    Examples
    --------
    >>> import dp_cmdp as dp
    >>> theta = dp.Envelope([0.5, 0.5, 8], [2, 2, 12], radius=[0.1, 0.1, 0.5])
    >>> lp = dp.ParametricLP(maximize=[3, 2], A=[[theta[0], theta[1]]], b=[theta[2]])
    >>> found = dp.solve(lp, [1, 1.2, 10], epsilon=2, delta=1e-3)
    >>> bool(found.certificate), found.value >= found.robust.value
    (True, True)
    """
    asked = as_problem(problem)
    budget = budget_of("solve", epsilon, delta)
    database = database_of(data, asked.envelope)
    belief = prior_of(prior, asked.envelope)
    wanted = strategy_of(strategy, belief)
    earlier = release_of("after", after, asked.envelope)
    robust = robust_answer(asked)
    choice = _chosen(asked, budget, wanted, belief, robust, progress)
    release = published(
        asked, database, budget, choice.strategy, System(), after=earlier, notes=choice.document()
    )
    with carrying(lambda: release):
        found = answered(asked, release, robust, belief)
        spent = budget if earlier is None else budget + earlier.budget
        found = finished(asked, found, robust, release, choice.strategy, spent)
        if hasattr(asked, "apply"):
            asked.apply(found)  # the variables of a cvxpy problem get their values
        return found


@validated
def publish(
    problem: Problem | Envelope,
    data: Data,
    *,
    epsilon: Number,
    delta: Number,
    strategy: str | Strategy = "auto",
    prior: Data | None = None,
    after: Release | None = None,
    progress: bool = False,
) -> Release:
    """Spend a budget on a release: inequalities that certainly hold for the private numbers.

    Parameters
    ----------
    problem : ParametricLP, ParametricCMDP, cvxpy.Problem, extend.Problem or Envelope
        The problem that the release is for. An Envelope alone needs the strategy "entries".
    data, epsilon, delta, strategy, prior, after, progress : of the same kinds
        As in :func:`solve`.

    Returns
    -------
    Release
        Public: save it, and compute any number of answers from it.

    Raises
    ------
    RefusedError, BudgetExceededError, InvalidArgumentError, AnswerError
        As :func:`solve`.

    Notes
    -----
    **Privacy.** *Spends the budget*.

    Examples
    --------
    >>> import dp_cmdp as dp
    >>> theta = dp.Envelope(0, 9, radius=1, shape=3)
    >>> release = dp.publish(theta, [3, 4, 5], epsilon=1, delta=1e-3, strategy="entries")
    >>> bool((release.lower <= [3, 4, 5]).all() and (release.upper >= [3, 4, 5]).all())
    True
    """
    asked: Any = as_problem(problem)
    budget = budget_of("publish", epsilon, delta)
    database = database_of(data, asked.envelope)
    belief = prior_of(prior, asked.envelope)
    wanted = strategy_of(strategy, belief)
    robust = None if isinstance(problem, Envelope) else robust_answer(asked)
    earlier = release_of("after", after, asked.envelope)
    choice = _chosen(asked, budget, wanted, belief, robust, progress)
    return published(
        asked, database, budget, choice.strategy, System(), after=earlier, notes=choice.document()
    )


def robust_answer(asked: Any) -> Answer[Any]:
    """The answer without data; refused, from public data, where there is none."""
    asked.refuse_if_unanswerable()
    found = asked.answer(asked.envelope.uncertainty)
    return amended(found, source="robust")


def _chosen(
    asked: Any,
    budget: PrivacyBudget,
    wanted: Strategy | None,
    prior: Prior,
    robust: Answer[Any] | None,
    progress: bool,
) -> Choice:
    """The strategy, and a warning where simulation says that it will tell nothing."""
    if robust is None:  # an envelope alone
        chosen = wanted or Strategy.entries()
        if any(step.believes for step in chosen.steps):
            raise InvalidArgumentError(
                f"strategy must be 'entries' for an Envelope, got {chosen}: queries are proposed "
                "for a problem; pass one"
            )
        return Choice(chosen)
    simulator = Simulator(asked, prior, robust=robust)
    choice = choose(simulator, budget, progress=progress) if wanted is None else Choice(wanted)
    with suppress(SolverError):
        if promises_nothing(simulator, choice.strategy, budget):
            warnings.warn(USELESS, PrivacyWarning, stacklevel=4)
    return choice


def finished(
    asked: Any,
    found: Answer[Any],
    robust: Answer[Any],
    release: Release,
    strategy: Strategy,
    budget: PrivacyBudget,
) -> Answer[Any]:
    """The answer with all that belongs to it, beside the robust one at the same estimate."""
    own = {
        "estimate": found.estimate,
        "release": release,
        "strategy": strategy,
        "epsilon": budget.epsilon,
        "delta": budget.delta,
    }
    value = asked.value(robust.decision, found.estimate)
    return amended(found, **own, robust=amended(robust, estimate=found.estimate, value=value))
