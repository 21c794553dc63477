"""Arguments of the verbs: checked here and nowhere else, before anything is read or spent."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

import numpy as np

from dp_cmdp._src.accounting.budget import PrivacyBudget
from dp_cmdp._src.base import validation as check
from dp_cmdp._src.base.errors import InvalidArgumentError, InvalidTypeError, RefusedError
from dp_cmdp._src.data.database import Database
from dp_cmdp._src.data.envelope import Envelope, UncertaintySet
from dp_cmdp._src.program.answer import Answer
from dp_cmdp._src.release.belief import NOTHING_KNOWN, Prior
from dp_cmdp._src.release.release import Release
from dp_cmdp._src.release.strategy import Strategy

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import cvxpy as cp
    import pandas as pd
    from numpy.typing import ArrayLike

    from dp_cmdp._src.cmdp.parametric import ParametricCMDP
    from dp_cmdp._src.program.parametric import ParametricLP
    from dp_cmdp._src.verbs.problems import UserProblem

    Numbers: TypeAlias = ArrayLike | pd.DataFrame | pd.Series | Mapping[Any, Any] | os.PathLike[str]
    Data: TypeAlias = Numbers | Callable[[], Any] | Database
    Problem: TypeAlias = ParametricLP | ParametricCMDP | cp.Problem | UserProblem
    A = TypeVar("A", covariant=True)

    class Asks(Protocol[A]):
        """A problem, by the type of its answers."""

        envelope: Envelope

        def answer(self, known: UncertaintySet, estimate: Any = None) -> A: ...
else:  # the verbs check them
    Data = Problem = object

#: What a problem of the package has.
OWN = ("envelope", "answer", "value", "certify")
#: What a user's problem has.
USERS = ("envelope", "answer", "value", "slack")
#: Draws of a simulation beyond which something else is meant.
MOST_DRAWS = 10**7
#: Endings of files of linear programs, which hold no table.
PROGRAMS = (".mps", ".lp", ".mps.gz", ".lp.gz")
#: What is never data.
NO_DATA = (PrivacyBudget, Release, Strategy, Envelope, UncertaintySet, bool, bytes)


def as_problem(problem: Any) -> Any:
    """What the verbs work with; refused where it is no problem."""
    if isinstance(problem, Envelope):
        from dp_cmdp._src.verbs.problems import Nothing

        return Nothing(problem)
    for kind in type(problem).__mro__:  # by name: others go without cvxpy and without CMDPs
        whose = kind.__module__.split(".")[0]
        if (whose, kind.__name__) == ("cvxpy", "Problem"):
            from dp_cmdp._src.frontends.cvxpy import as_problem as from_cvxpy

            return from_cvxpy(problem)
        if (whose, kind.__name__) == ("dp_cmdp", "CMDP"):
            from dp_cmdp._src.cmdp.parametric import ParametricCMDP

            return ParametricCMDP._of_public(problem)
    if isinstance(problem, type):
        raise InvalidTypeError(
            f"problem must be a problem, got the class {problem.__name__}: make one of it first"
        )
    has = partial(hasattr, problem)
    if all(map(has, OWN)):
        return problem
    if all(map(has, USERS)):
        if not isinstance(problem.envelope, Envelope):
            raise InvalidTypeError(
                "problem.envelope must be an Envelope, got " + type(problem.envelope).__name__
            )
        from dp_cmdp._src.verbs.problems import Own

        return Own(problem)
    raise InvalidTypeError(
        "problem must be a ParametricLP, a ParametricCMDP, a cvxpy.Problem or a problem of your "
        f"own ({', '.join(USERS)}); got {type(problem).__name__}. Arguments come as (problem, data)"
    )


def budget_of(verb: str, epsilon: Any, delta: Any) -> PrivacyBudget:
    """The budget of a verb that spends, or simulates spending."""
    for name, value in (("epsilon", epsilon), ("delta", delta)):
        if value is None:
            raise InvalidTypeError(
                f"{name} must be given: {verb} asks what a privacy budget buys, for example "
                "epsilon=1, delta=1e-3. Without private data there is answer(problem), which "
                "spends nothing"
            )
        if isinstance(value, PrivacyBudget | bool):
            raise InvalidTypeError(
                f"{name} must be a number or a text such as '1/3', got {type(value).__name__}; "
                "verbs take epsilon= and delta="
            )
    return PrivacyBudget(epsilon, delta)


def database_of(data: Any, envelope: Envelope, name: str = "data") -> Database:
    """The data of a verb, unread."""
    odd = data is None or isinstance(data, (*NO_DATA, Answer))
    if odd or isinstance(data, type):
        raise InvalidTypeError(
            f"{name} must be numbers (an array, a mapping from group to numbers, a table, the path "
            f"of a csv file) or a Database; got {type(data).__name__}. Arguments come as "
            f"(problem, {name})"
        )
    if isinstance(data, str | os.PathLike):
        if not Path(data).is_file():
            raise InvalidArgumentError(f"{name} must be the path of a csv file; there is no {data}")
        if os.fspath(data).lower().endswith(PROGRAMS):
            raise InvalidArgumentError(
                f"{name} must be the path of a csv file; {data} is the file of a program: pass "
                "dp.lpfile.values(path, spec)"
            )
    return Database._of(data, envelope)


def public_values(name: str, data: Any, envelope: Envelope) -> Any:
    """Public or invented numbers, one per entry, within the bounds."""
    if isinstance(data, Database):
        raise InvalidTypeError(
            f"{name} must be public or invented numbers; got a Database, whose values are private"
        )
    try:
        return database_of(data, envelope, name).read()
    except RefusedError:
        raise InvalidArgumentError(
            f"{name} must be {envelope.size} numbers within the public bounds, one per entry, by "
            f"the envelope's groups and labels{_outside(data, envelope)}"
        ) from None


def _outside(data: Any, envelope: Envelope) -> str:
    found = check.float_array(data) if not isinstance(data, str | os.PathLike) else None
    if found is None or found.ndim != 1 or found.size != envelope.size:
        return ""
    away = np.flatnonzero(~((found >= envelope.lower) & (found <= envelope.upper)))
    if not away.size:
        return ""
    k = int(away[0])
    low, high = envelope.lower[k], envelope.upper[k]
    return f"; it is {found[k]:g} at entry {k}, whose bounds are {low:g} and {high:g} (clip it)"


def prior_of(prior: Any, envelope: Envelope) -> Prior:
    """Public numbers near which the private ones are believed to be."""
    return NOTHING_KNOWN if prior is None else Prior(public_values("prior", prior, envelope))


def strategy_of(strategy: Any, prior: Prior) -> Strategy | None:
    """The strategy asked for; None: to be chosen."""
    if isinstance(strategy, Strategy):
        return strategy.given(prior) if prior.values is not None else strategy
    if not isinstance(strategy, str):
        raise InvalidTypeError(
            f"strategy must be a Strategy or one of {_names()}; got {type(strategy).__name__}"
        )
    if strategy not in Strategy.NAMES:
        raise InvalidArgumentError(f"strategy must be one of {_names()}; got {strategy[:60]!r}")
    return None if strategy == "auto" else Strategy.named(strategy).given(prior)


def _names() -> str:
    return ", ".join(map(repr, Strategy.NAMES))


def release_of(name: str, release: Any, envelope: Envelope) -> Release | None:
    """A release of the problem's envelope, or none."""
    if release is None:
        return None
    if not isinstance(release, Release):
        raise InvalidTypeError(
            f"{name} must be a Release or None; got {type(release).__name__}. Data go to solve or "
            "publish, which spend a budget"
        )
    if release.envelope != envelope:
        raise InvalidArgumentError(
            f"{name} must be of the problem's envelope; of the two, "
            f"{envelope._difference(release.envelope)}"
        )
    return release


def draws_of(draws: Any, *, least: int = 1) -> int:
    return check.integer("draws", draws, low=least, high=MOST_DRAWS)


def workers_of(workers: Any) -> int:
    found = check.integer("workers", workers, low=-1024, high=1024)
    if found == 0:
        raise InvalidArgumentError(
            "workers must be a number of processes, or −1 for one per processor; got 0"
        )
    return found
