"""Every exception and warning of the package.

A message names the argument, the rule, the *public* value found and what to do next.
It never contains a private value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from dp_cmdp.accounting.hashchain import Amount


class DPCMDPError(Exception):
    """Base class of every error raised by this package."""


class InvalidArgumentError(DPCMDPError, ValueError):
    """An argument breaks a stated rule."""


class MissingExtraError(DPCMDPError, ImportError):
    """A package is needed that this installation lacks; the message names what to install."""


class PrivacyLeakError(DPCMDPError):
    """The call would let private values cross the privacy boundary."""


class BudgetExceededError(DPCMDPError):
    """The ledger refuses a debit that would exceed the budget of a database.

    Attributes
    ----------
    requested, remaining : dp_cmdp.accounting.hashchain.Amount or None
        Exact (ε, δ) asked for and left; None when no ledger was involved.
    """

    def __init__(
        self, message: str, *, requested: Amount | None = None, remaining: Amount | None = None
    ) -> None:
        super().__init__(message)
        self.requested = requested
        self.remaining = remaining


class LedgerError(DPCMDPError):
    """The ledger file is missing, unreadable, not writable or not a ledger."""


class LedgerBusyError(LedgerError):
    """Another process held the ledger's lock for longer than the timeout."""


class LedgerCorruptError(LedgerError):
    """The ledger contradicts itself, or a head that was noted elsewhere.

    Attributes
    ----------
    index : int or None
        The first entry at fault; None when the fault belongs to no single entry.
    """

    def __init__(self, message: str, *, index: int | None = None) -> None:
        super().__init__(message)
        self.index = index


class AssumptionError(DPCMDPError):
    """A theorem's assumption does not hold for the public data.

    Attributes
    ----------
    label : str
        The paper's label of the assumption, for example ``ass:feast``.
    rows : tuple of str
        Names of the rows (or variables) at fault.
    relaxation : tuple of float
        For each row, the amount by which it must be relaxed (empty when that has no meaning).
    """

    def __init__(
        self,
        message: str,
        *,
        label: str,
        rows: tuple[str, ...] = (),
        relaxation: tuple[float, ...] = (),
    ) -> None:
        super().__init__(message)
        self.label = label
        self.rows = rows
        self.relaxation = relaxation

    def __reduce__(self) -> Any:
        facts = {"label": self.label, "rows": self.rows, "relaxation": self.relaxation}
        return _rebuild, (type(self), str(self), facts)


class SolverError(DPCMDPError):
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


class UnboundedError(SolverError):
    """The objective can grow without limit."""


class ConvergenceError(SolverError):
    """An iterative method stopped before reaching its tolerance."""


class PrivacyWarning(UserWarning):
    """The privacy parameters are legal but weak."""


def _rebuild(kind: type[AssumptionError], message: str, facts: dict[str, Any]) -> AssumptionError:
    """Unpickle an AssumptionError: worker processes send errors home."""
    return kind(message, **facts)
