"""Problems of a user's own, and an envelope that asks nothing."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from dp_cmdp._src.base import validation as check
from dp_cmdp._src.base.errors import InvalidArgumentError, RefusedError
from dp_cmdp._src.base.validation import validated
from dp_cmdp._src.data.affine import Affine
from dp_cmdp._src.data.envelope import Envelope, UncertaintySet
from dp_cmdp._src.program.answer import Answer, Certificate, Problem
from dp_cmdp._src.program.parametric import ParametricLP

FloatArray = NDArray[np.float64]


@runtime_checkable
class UserProblem(Protocol):
    """A problem of one's own: four attributes, from which everything else is derived.

    Attributes
    ----------
    envelope : Envelope
        What is public about the private numbers.

    Notes
    -----
    **Privacy.** *Public*: none of its methods is given private values, but for `value`, which the
    functions of the curator call with them.

    Examples
    --------
    >>> import dp_cmdp as dp
    >>> class Speed:  # the fastest speed that keeps every private limit
    ...     def __init__(self, envelope): self.envelope = envelope
    ...     def answer(self, known, estimate=None):
    ...         return dp.extend.certified(self, known.lower.min(), known)
    ...     def value(self, decision, values): return decision
    ...     def slack(self, decision, theta): return theta - decision
    >>> dp.answer(Speed(dp.Envelope(30, 120, radius=5, shape=8))).value
    30.0
    """

    envelope: Envelope

    def answer(self, known: UncertaintySet, estimate: FloatArray | None = None) -> Any:
        """The best decision for the estimate that is safe for every database of the set.

        Parameters
        ----------
        known : UncertaintySet
            The databases that are possible.
        estimate : float array, optional
            The database at which the decision is valued; by default the middle of the set.

        Returns
        -------
        Answer
            Of :func:`certified`; or the decision alone, which is then proved the same way.
        """
        ...

    def value(self, decision: Any, values: FloatArray) -> float:
        """What a decision is worth at a database; the more, the better.

        Parameters
        ----------
        decision : object
            What `answer` decided.
        values : float array
            One number per entry of the envelope.

        Returns
        -------
        float
            Its worth.
        """
        ...

    def slack(self, decision: Any, theta: Affine) -> Any:
        """What must be at least 0: an array of terms affine in `theta`.

        Parameters
        ----------
        decision : object
            What `answer` decided.
        theta : Affine
            The private numbers, as an expression.

        Returns
        -------
        Affine
            One term per constraint.
        """
        ...


class Nothing(Problem):
    """An envelope alone: entries are published, and nothing is asked of them."""

    def __init__(self, envelope: Envelope) -> None:
        self.envelope = envelope
        self.signs = sparse.csr_array((0, envelope.size))
        self.objective_entries = np.arange(envelope.size)

    def answer(self, *given: Any, **how: Any) -> Answer[Any]:
        raise InvalidArgumentError(
            "problem must ask something, an Envelope does not; publish(envelope, …, "
            "strategy='entries') publishes its entries"
        )

    certify: Any = answer
    value: Any = answer
    save: Any = answer
    refuse_if_unanswerable: Any = answer


class Own(Problem):
    """A user's problem, with what the kernel derives from its slack.

    Signs, weights and multipliers only decide what is worth measuring; the certificate is computed
    from the slack itself, as that of a linear program whose only variable is fixed.
    """

    def __init__(self, problem: Any) -> None:
        self.problem, self.envelope = problem, problem.envelope

    @cached_property
    def objective_entries(self) -> NDArray[np.int64]:
        return np.asarray(getattr(self.problem, "objective_entries", []), dtype=np.int64)

    @cached_property
    def signs(self) -> sparse.csr_array:
        """Of the rows at the robust decision."""
        return self.rows(self._decision(self.envelope.uncertainty, None)).signs

    def refuse_if_unanswerable(self) -> None:
        robust = self.answer(self.envelope.uncertainty)
        if not robust.certificate:
            raise RefusedError(
                "the problem's answer for the whole envelope must be safe for all of it, and "
                f"it is {robust.certificate!r}. No data was read"
            )

    def answer(
        self,
        known: UncertaintySet,
        estimate: Any = None,
        *,
        start: Any = None,
        certify: bool = True,
    ) -> Answer[Any]:
        middle = (known.lower + known.upper) / 2 if estimate is None else estimate
        return certified(self.problem, self._decision(known, middle), known, estimate=middle)

    def _decision(self, known: UncertaintySet, estimate: Any) -> Any:
        found = self.problem.answer(known, estimate)
        return found.decision if isinstance(found, Answer) else found

    def value(self, decision: Any, values: FloatArray) -> float:
        return float(self.problem.value(decision, values))

    def certify(self, decision: Any, known: UncertaintySet) -> Certificate:
        return self.rows(decision).certify([1.0], known)

    def rows(self, decision: Any) -> ParametricLP:
        """−slack(θ)·x ≤ 0 with x = 1: the rows of the problem at a decision."""
        slack = self.problem.slack(decision, self.envelope[:])
        terms = Affine.of(slack, self.envelope).reshape(-1)
        count = terms.shape[0]
        return ParametricLP(
            maximize=[0.0], A=-terms.reshape(count, 1), b=np.zeros(count), lower=1, upper=1
        )

    def save(self, path: str | Path) -> Path:
        raise InvalidArgumentError(
            "a problem of your own is not saved with its answer; save the release "
            "(found.release.save(path)) and keep the problem's source"
        )


@validated
def certified(
    problem: UserProblem,
    decision: Any,
    known: UncertaintySet,
    *,
    estimate: ArrayLike | None = None,
) -> Answer[Any]:
    """The answer that a user's problem gives: its decision, and what is proved of it.

    Parameters
    ----------
    problem : extend.Problem
        Whose `slack` is proved.
    decision : object
        Of any type.
    known : UncertaintySet
        What the decision must be safe for.
    estimate : array, optional
        The database at which the decision is valued; by default the middle of the set.

    Returns
    -------
    Answer
        Its certificate says whether slack(decision, θ) ≥ 0 for every θ of the set, in exact
        arithmetic.

    Raises
    ------
    InvalidArgumentError
        `slack` is no array of terms affine in θ.

    Notes
    -----
    **Privacy.** *Post-processing*.

    Examples
    --------
    >>> import dp_cmdp as dp
    >>> class Speed:
    ...     envelope = dp.Envelope(30, 120, radius=5, shape=2)
    ...     def answer(self, known, estimate=None): return known.lower.min()
    ...     def value(self, decision, values): return decision
    ...     def slack(self, decision, theta): return theta - decision
    >>> dp.extend.certified(Speed(), 40.0, Speed.envelope.uncertainty).certificate.verified
    False
    """
    own = Own(problem)
    rows = own.rows(decision)
    certificate = rows.certify([1.0], known)
    middle = (known.lower + known.upper) / 2
    if estimate is not None:
        middle = check.vector("estimate", estimate, size=middle.size)
    shape = (rows.signs.shape[0], known.q.size)
    weights, multipliers = rows.signs * 0.0, sparse.csr_array(shape)
    if certificate:
        proof = rows.answer(known, middle, certify=False)
        weights, multipliers = proof.weights, proof.multipliers
    value = own.value(decision, middle)
    return Answer(
        decision=decision,
        value=value,
        estimate=middle,
        bound=float("inf"),
        certificate=certificate,
        weights=weights,
        multipliers=multipliers,
        problem=problem,
    )
