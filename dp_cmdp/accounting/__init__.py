"""The privacy ledger: exact fractions, debited before data is read, on disk before it is spent."""

from dp_cmdp.accounting.ledger import PrivacyLedger

__all__ = ["PrivacyLedger"]
