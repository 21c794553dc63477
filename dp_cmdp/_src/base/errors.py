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

    Parameters
    ----------
    message : str
        The text.
    repairs : mapping of str to float, optional
        Kept as an attribute.

    Attributes
    ----------
    repairs : dict of str to float
        The smallest repair per row or variable: how far it must be relaxed; empty where the
        refusal is not about rows.
    """

    def __init__(self, message: str, *, repairs: Mapping[str, float] | None = None) -> None:
        super().__init__(message)
        self.repairs: dict[str, float] = dict(repairs or {})

    def __reduce__(self) -> Any:
        return _rebuilt, (type(self), str(self), self.__dict__)


class BudgetExceededError(Error):
    """The ledger refuses a debit that would exceed the budget of its account.

    Parameters
    ----------
    message : str
        The text.
    requested, remaining : PrivacyBudget or None
        Kept as attributes.

    Attributes
    ----------
    requested, remaining : Amount or None
        Exact (ε, δ) asked for and left; None when no ledger was involved.
    """

    def __init__(self, message: str, *, requested: Any = None, remaining: Any = None) -> None:
        super().__init__(message)
        self.requested = requested
        self.remaining = remaining

    def __reduce__(self) -> Any:
        return _rebuilt, (type(self), str(self), self.__dict__)


class LedgerError(Error):
    """The ledger file is missing, unreadable, not writable or not a ledger."""


class LedgerBusyError(LedgerError):
    """Another process held the ledger's lock for longer than the timeout."""


class LedgerCorruptError(LedgerError):
    """The ledger contradicts itself, or a head that was noted elsewhere.

    Parameters
    ----------
    message : str
        The text.
    index : int or None
        Kept as an attribute.

    Attributes
    ----------
    index : int or None
        The first entry that is wrong; None when the file as a whole is.
    """

    def __init__(self, message: str, *, index: int | None = None) -> None:
        super().__init__(message)
        self.index = index

    def __reduce__(self) -> Any:
        return _rebuilt, (type(self), str(self), self.__dict__)


class AnswerError(Error):
    """No answer came of data that were paid for; what was published is kept.

    Parameters
    ----------
    message : str
        The text.
    release : Release
        Kept as an attribute.

    Attributes
    ----------
    release : Release
        What the budget bought: ``answer(problem, error.release)`` asks again, at no cost.
    """

    def __init__(self, message: str, *, release: Any = None) -> None:
        super().__init__(message)
        self.release = release

    def __reduce__(self) -> Any:
        return _rebuilt, (type(self), str(self), self.__dict__)


class SolverError(Error):
    """The optimisation engine could not deliver a usable answer."""


class InfeasibleError(SolverError):
    """No point satisfies the constraints.

    Parameters
    ----------
    message : str
        The text.
    ray : float array or None
        Kept as an attribute.
    violation : float or None
        Kept as an attribute.

    Attributes
    ----------
    ray : array of float, or None
        Weights ≥ 0 of the constraints, summing to 1, that prove it (None when not computed).
    violation : float or None
        Every point exceeds its limits by at least this much, weighted by `ray`.
    """

    def __init__(
        self,
        message: str,
        *,
        ray: NDArray[np.float64] | None = None,
        violation: float | None = None,
    ) -> None:
        super().__init__(message)
        self.ray = ray
        self.violation = violation

    def __reduce__(self) -> Any:
        return _rebuilt, (type(self), str(self), self.__dict__)


class UnboundedError(SolverError):
    """The objective can grow without limit."""


class ConvergenceError(SolverError):
    """An iterative method stopped before reaching its tolerance."""


class PrivacyWarning(UserWarning):
    """The privacy parameters are legal but weak, or floats that are probably not what was meant."""


def _rebuilt(kind: type[Error], message: str, attributes: dict[str, Any]) -> Error:
    """Unpickle an error with attributes: worker processes send errors home."""
    error = kind(message)
    error.__dict__.update(attributes)
    return error
