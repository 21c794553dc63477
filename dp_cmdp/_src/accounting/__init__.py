"""What may be spent, and what has been."""

from dp_cmdp._src.accounting.budget import PrivacyBudget, weak_budgets

__all__ = ["PrivacyBudget", "weak_budgets"]
