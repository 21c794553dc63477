"""The verbs that spend nothing: answer and certify from a release, or from public data alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from dp_cmdp._src.base.errors import InvalidArgumentError, RefusedError, SolverError
from dp_cmdp._src.base.validation import validated
from dp_cmdp._src.program.answer import Answer, Certificate
from dp_cmdp._src.release.belief import NOTHING_KNOWN
from dp_cmdp._src.release.publish import amended, answered
from dp_cmdp._src.release.release import Release
from dp_cmdp._src.verbs.arguments import Problem, as_problem, release_of
from dp_cmdp._src.verbs.spend import robust_answer

if TYPE_CHECKING:
    import cvxpy as cp

    from dp_cmdp._src.cmdp.answer import PolicyAnswer
    from dp_cmdp._src.cmdp.model import CMDP
    from dp_cmdp._src.frontends.cvxpy import CvxpyAnswer
    from dp_cmdp._src.verbs.arguments import A, Asks


@overload
def answer(problem: Asks[A], release: Release | None = None) -> A: ...
@overload
def answer(problem: CMDP, release: Release | None = None) -> PolicyAnswer: ...
@overload
def answer(problem: cp.Problem, release: Release | None = None) -> CvxpyAnswer: ...
@validated
def answer(problem: Any, release: Any = None) -> Any:
    """Return the best decision that is safe for every database a release allows; reads no data.

    Parameters
    ----------
    problem : ParametricLP, ParametricCMDP, CMDP, cvxpy.Problem or extend.Problem
        The problem.
    release : Release, optional
        A release of the problem's envelope. Without one the answer is robust: safe for every
        database of the envelope.

    Returns
    -------
    Answer
        Of the type of the problem.

    Raises
    ------
    RefusedError
        No decision is safe for every database of the envelope.
    InvalidArgumentError
        `release` is of another envelope.

    Notes
    -----
    **Privacy.** *Post-processing* of the release; without one *public*.

    Examples
    --------
    >>> import dp_cmdp as dp
    >>> theta = dp.Envelope([0.5, 0.5, 8], [2, 2, 12], radius=[0.1, 0.1, 0.5])
    >>> lp = dp.ParametricLP(maximize=[3, 2], A=[[theta[0], theta[1]]], b=[theta[2]])
    >>> dp.answer(lp).x
    array([4., 0.])
    """
    asked = as_problem(problem)
    known = release_of("release", release, asked.envelope)
    if known is None:
        found = robust_answer(asked)
    else:
        try:
            found = answered(asked, known, None, NOTHING_KNOWN)
        except (SolverError, RefusedError, InvalidArgumentError):
            found = answered(asked, known, robust_answer(asked), NOTHING_KNOWN)
        name = (known.strategy_document or {}).get("name")
        found = amended(
            found,
            release=known,
            strategy=name,
            epsilon=known.budget.epsilon,
            delta=known.budget.delta,
        )
    if hasattr(asked, "apply"):
        asked.apply(found)
    return found


@validated
def certify(problem: Problem, decision: Any, release: Release | None = None) -> Certificate:
    """Prove in exact arithmetic that a decision is safe for every database a release allows.

    Parameters
    ----------
    problem : ParametricLP, ParametricCMDP, cvxpy.Problem or extend.Problem
        The problem.
    decision : array_like, Policy, mapping from variable to numbers, …
        A decision from any source, of the kind of the `decision` of the problem's answers.
    release : Release, optional
        A release of the problem's envelope; without one, every database of the envelope counts.

    Returns
    -------
    Certificate
        True if every constraint is proved.

    Raises
    ------
    InvalidArgumentError
        `decision` does not fit the problem, or `release` is of another envelope.

    Notes
    -----
    **Privacy.** *Post-processing* of the release and of the decision.

    Examples
    --------
    >>> import dp_cmdp as dp
    >>> theta = dp.Envelope([0.5, 0.5, 8], [2, 2, 12], radius=[0.1, 0.1, 0.5])
    >>> lp = dp.ParametricLP(maximize=[3, 2], A=[[theta[0], theta[1]]], b=[theta[2]])
    >>> bool(dp.certify(lp, [4, 0])), bool(dp.certify(lp, [4, 1]))
    (True, False)
    """
    asked = as_problem(problem)
    known = release_of("release", release, asked.envelope)
    if decision is None or isinstance(decision, Release):
        raise InvalidArgumentError(
            "decision must be what shall be certified, such as found.decision; got "
            f"{type(decision).__name__}. Arguments come as (problem, decision, release)"
        )
    given = decision.decision if isinstance(decision, Answer) else decision
    return asked.certify(given, (known or asked.envelope).uncertainty)
