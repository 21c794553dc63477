"""What may be spent, and what has been."""

from dp_cmdp._src.accounting.budget import Number, PrivacyBudget, exact, weak_budgets
from dp_cmdp._src.accounting.ledger import PrivacyLedger

__all__ = ["Number", "PrivacyBudget", "PrivacyLedger", "exact", "weak_budgets"]
