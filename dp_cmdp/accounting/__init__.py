"""The privacy ledger: exact fractions, debited before data is read, on disk before it is spent."""
