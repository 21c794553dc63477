"""One-line faults where promises are kept; `python -m tests.faults.run` sees them caught."""
