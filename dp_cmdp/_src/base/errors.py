"""Every exception and warning of the package.

A message names the argument, the rule, the *public* value found and what to do next. It never
contains a private value.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Error(Exception):
    """Base class of every error raised by this package."""

    #: What was published before an error that came after the debit; None before it.
    release: Any = None

    def __init__(self, message: str = "", **kept: Any) -> None:
        super().__init__(message)
        self.__dict__.update(kept)  # goes through pickle: worker processes send errors home


class InvalidArgumentError(Error, ValueError):
    """An argument breaks a stated rule."""


class InvalidTypeError(InvalidArgumentError, TypeError):
    """An argument is of another kind than its annotation says."""


class MissingExtraError(Error, ImportError):
    """A package is needed that this installation lacks; the message names what to install."""


class PrivacyLeakError(Error):
    """The call would let private values cross the privacy boundary."""


class RefusedError(Error):
    """The question has no answer that holds for every database of the envelope.

    Attributes
    ----------
    repairs : mapping of str to float
        The smallest repair per row or variable: how far it must be relaxed; empty where the
        refusal is not about rows.
    """

    repairs: Mapping[str, float] = {}


class BudgetExceededError(Error):
    """The ledger refuses a debit that would exceed the budget of its account.

    Attributes
    ----------
    requested, remaining : PrivacyBudget or None
        Exact (ε, δ) asked for and left; None when no ledger was involved.
    """

    requested: Any = None
    remaining: Any = None


class LedgerError(Error):
    """The ledger file is missing, unreadable, not writable or not a ledger."""


class LedgerBusyError(LedgerError):
    """Another process held the ledger's lock for longer than the timeout."""


class LedgerCorruptError(LedgerError):
    """The ledger contradicts itself, or a head that was noted elsewhere.

    Attributes
    ----------
    index : int or None
        The first entry that is wrong; None when the file as a whole is.
    """

    index: int | None = None


class AnswerError(Error):
    """No answer came of data that were paid for; what was published is kept.

    Attributes
    ----------
    release : Release
        What the budget bought: ``answer(problem, error.release)`` asks again, at no cost.
    """


class SolverError(Error):
    """The optimisation engine could not deliver a usable answer."""


class InfeasibleError(SolverError):
    """No point satisfies the constraints.

    Attributes
    ----------
    ray : array of float, or None
        Weights ≥ 0 of the constraints, summing to 1, that prove it (None when not computed).
    violation : float or None
        Every point exceeds its limits by at least this much, weighted by `ray`.
    """

    ray: NDArray[np.float64] | None = None
    violation: float | None = None


class UnboundedError(SolverError):
    """The objective can grow without limit."""


class ConvergenceError(SolverError):
    """An iterative method stopped before reaching its tolerance."""


class PrivacyWarning(UserWarning):
    """The privacy parameters are legal but weak, or floats that are probably not what was meant."""
