"""All faults, in the order of the table."""

from tests.mutants.faults import boundary, ledger, noise, policies, programs, releases

FAULTS = (
    *noise.FAULTS,
    *releases.FAULTS,
    *programs.FAULTS,
    *ledger.FAULTS,
    *policies.FAULTS,
    *boundary.FAULTS,
)
