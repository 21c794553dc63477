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
    """Base class of every error raised by this package.

    Examples
    --------
    >>> import dp_cmdp as dp
    >>> try:
    ...     dp.PrivacyBudget(-1, "1/1000")
    ... except dp.errors.DPCMDPError as error:
    ...     print(type(error).__name__)
    InvalidArgumentError
    """


class InvalidArgumentError(DPCMDPError, ValueError):
    """An argument breaks a stated rule.

    Examples
    --------
    >>> from dp_cmdp import PrivacyBudget
    >>> PrivacyBudget(1, 2)
    Traceback (most recent call last):
        ...
    dp_cmdp._src.base.errors.InvalidArgumentError: delta must lie in (0, 1/2], got 2
    """


class MissingExtraError(DPCMDPError, ImportError):
    """A package is needed that this installation lacks; the message names what to install.

    Examples
    --------
    >>> from dp_cmdp._src.base.errors import MissingExtraError
    >>> try:
    ...     from dp_cmdp import figures
    ...     figure = figures.allocation_figure({"private": [[1, 0], [0, 2]]}, title="visits")
    ... except MissingExtraError as error:
    ...     print(error)  # without matplotlib: … pip install '.[figures]'
    """


class PrivacyLeakError(DPCMDPError):
    """The call would let private values cross the privacy boundary.

    Examples
    --------
    >>> import pickle
    >>> from dp_cmdp import Database, Envelope
    >>> pickle.dumps(Database([0.5], Envelope(0, 1, shape=1)))
    Traceback (most recent call last):
        ...
    dp_cmdp._src.base.errors.PrivacyLeakError: a Database refuses to be pickled or copied; ...
    """


class BudgetExceededError(DPCMDPError):
    """The ledger refuses a debit that would exceed the budget of a database.

    Attributes
    ----------
    requested, remaining : dp_cmdp.accounting.hashchain.Amount or None
        Exact (ε, δ) asked for and left; None when no ledger was involved.

    Examples
    --------
    >>> from dp_cmdp import PrivacyBudget, PrivacyLedger
    >>> from dp_cmdp._src.base.errors import BudgetExceededError
    >>> ledger = PrivacyLedger("budgets.sqlite")
    >>> entry = ledger.create("demand 2026", PrivacyBudget(1, "1/1000"), "one customer")
    >>> try:
    ...     ledger.debit("demand 2026", PrivacyBudget(2, "1/1000"))
    ... except BudgetExceededError as error:
    ...     print(error.requested.epsilon, "asked for,", error.remaining.epsilon, "left")
    2 asked for, 1 left
    """

    def __init__(
        self, message: str, *, requested: Amount | None = None, remaining: Amount | None = None
    ) -> None:
        super().__init__(message)
        self.requested = requested
        self.remaining = remaining


class LedgerError(DPCMDPError):
    """The ledger file is missing, unreadable, not writable or not a ledger.

    Examples
    --------
    >>> from dp_cmdp import PrivacyLedger
    >>> PrivacyLedger("absent.sqlite").remaining("demand 2026")
    Traceback (most recent call last):
        ...
    dp_cmdp._src.base.errors.LedgerError: there is no ledger at ...; create(...) makes one
    """


class LedgerBusyError(LedgerError):
    """Another process held the ledger's lock for longer than the timeout.

    Examples
    --------
    >>> import sqlite3
    >>> from dp_cmdp import PrivacyBudget, PrivacyLedger
    >>> ledger = PrivacyLedger("budgets.sqlite")
    >>> entry = ledger.create("demand 2026", PrivacyBudget(1, "1/1000"), "one customer")
    >>> other = sqlite3.connect("budgets.sqlite", isolation_level=None)
    >>> locked = other.execute("BEGIN EXCLUSIVE")
    >>> PrivacyLedger("budgets.sqlite", timeout_seconds=0.1)
    Traceback (most recent call last):
        ...
    dp_cmdp._src.base.errors.LedgerBusyError: ... is locked by another process: nothing was ...
    """


class LedgerCorruptError(LedgerError):
    """The ledger contradicts itself, or a head that was noted elsewhere.

    Attributes
    ----------
    index : int or None
        The first entry at fault; None when the fault belongs to no single entry.

    Examples
    --------
    >>> from dp_cmdp import PrivacyBudget, PrivacyLedger
    >>> ledger = PrivacyLedger("budgets.sqlite")
    >>> entry = ledger.create("demand 2026", PrivacyBudget(1, "1/1000"), "one customer")
    >>> ledger.verify("7:" + 64 * "0")  # a head that was noted elsewhere
    Traceback (most recent call last):
        ...
    dp_cmdp._src.base.errors.LedgerCorruptError: the pinned head counts 7 entries, the ledger ...
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

    Examples
    --------
    >>> from dp_cmdp import Affine, Envelope, ParametricLP
    >>> from dp_cmdp._src.base.errors import AssumptionError
    >>> limit = Affine(1, at=[0], entry=[0])
    >>> program = ParametricLP(
    ...     Envelope(-1, 2, radius=0.1, shape=1), c=[1], A=Affine((1, 1), constant=[[1.0]]), b=limit
    ... )
    >>> try:  # 0 ≤ x ≤ −1 for some databases
    ...     program.check_robust_feasibility()
    ... except AssumptionError as error:
    ...     print(error.label, error.rows, error.relaxation)
    ass:feast ('row 0',) (1.0,)
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
    """The optimisation engine could not deliver a usable answer.

    Examples
    --------
    >>> from dp_cmdp import LinearProgram, solve
    >>> from dp_cmdp._src.base.errors import SolverError
    >>> try:
    ...     solve(LinearProgram([1.0], A=[[1.0]], b=[-1.0]))  # x >= 0
    ... except SolverError as error:
    ...     print(type(error).__name__)
    InfeasibleError
    """


class InfeasibleError(SolverError):
    """No point satisfies the constraints.

    Attributes
    ----------
    ray : array of float, or None
        Weights ≥ 0 of the constraints, summing to 1, that prove it (None when not computed).
    violation : float or None
        Every point exceeds its limits by at least this much, weighted by `ray`.

    Examples
    --------
    >>> from dp_cmdp import LinearProgram, solve
    >>> solve(LinearProgram([1.0], A=[[1.0]], b=[-1.0]))  # x >= 0
    Traceback (most recent call last):
        ...
    dp_cmdp._src.base.errors.InfeasibleError: no point satisfies A x ≤ b, A_eq x = b_eq and ...
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
    """The objective can grow without limit.

    Examples
    --------
    >>> from dp_cmdp import LinearProgram, solve
    >>> solve(LinearProgram([1.0], A=[[-1.0]], b=[1.0]))
    Traceback (most recent call last):
        ...
    dp_cmdp._src.base.errors.UnboundedError: the objective grows without limit; add upper ...
    """


class ConvergenceError(SolverError):
    """An iterative method stopped before reaching its tolerance.

    Examples
    --------
    >>> from dp_cmdp._src.base.errors import ConvergenceError, SolverError
    >>> issubclass(ConvergenceError, SolverError)  # caught where failures of solvers are
    True
    """


class PrivacyWarning(UserWarning):
    """The privacy parameters are legal but weak, or floats that are probably not what was meant.

    Examples
    --------
    >>> import warnings
    >>> from dp_cmdp import PrivacyBudget
    >>> with warnings.catch_warnings(record=True) as told:
    ...     warnings.simplefilter("always")
    ...     budget = PrivacyBudget(50, "1/1000")
    >>> told[0].category.__name__, str(told[0].message)[:44]
    ('PrivacyWarning', '(epsilon, delta) = (50, 0.001) promises litt')
    """


def _rebuild(kind: type[AssumptionError], message: str, facts: dict[str, Any]) -> AssumptionError:
    """Unpickle an AssumptionError: worker processes send errors home."""
    return kind(message, **facts)
