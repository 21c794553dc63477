"""Errors and warnings: texts name the argument, the rule, the public value and a repair."""

from dp_cmdp._src.base.errors import AnswerError as AnswerError
from dp_cmdp._src.base.errors import BudgetExceededError as BudgetExceededError
from dp_cmdp._src.base.errors import ConvergenceError as ConvergenceError
from dp_cmdp._src.base.errors import Error as Error
from dp_cmdp._src.base.errors import InfeasibleError as InfeasibleError
from dp_cmdp._src.base.errors import InvalidArgumentError as InvalidArgumentError
from dp_cmdp._src.base.errors import InvalidTypeError as InvalidTypeError
from dp_cmdp._src.base.errors import LedgerBusyError as LedgerBusyError
from dp_cmdp._src.base.errors import LedgerCorruptError as LedgerCorruptError
from dp_cmdp._src.base.errors import LedgerError as LedgerError
from dp_cmdp._src.base.errors import MissingExtraError as MissingExtraError
from dp_cmdp._src.base.errors import PrivacyLeakError as PrivacyLeakError
from dp_cmdp._src.base.errors import PrivacyWarning as PrivacyWarning
from dp_cmdp._src.base.errors import RefusedError as RefusedError
from dp_cmdp._src.base.errors import SolverError as SolverError
from dp_cmdp._src.base.errors import UnboundedError as UnboundedError

__all__ = [
    "AnswerError",
    "BudgetExceededError",
    "ConvergenceError",
    "Error",
    "InfeasibleError",
    "InvalidArgumentError",
    "InvalidTypeError",
    "LedgerBusyError",
    "LedgerCorruptError",
    "LedgerError",
    "MissingExtraError",
    "PrivacyLeakError",
    "PrivacyWarning",
    "RefusedError",
    "SolverError",
    "UnboundedError",
]
