"""All faults, in the order of the table."""

from tests.mutants.faults import (
    audits,
    boundary,
    certificates,
    environments,
    explorer,
    files,
    intervals,
    laws,
    ledger,
    lp_files,
    policies,
    programs,
    releases,
    sensitivity,
    tables,
    totals,
)

FAULTS = (
    *laws.FAULTS,
    *intervals.FAULTS,
    *sensitivity.FAULTS,
    *releases.FAULTS,
    *totals.FAULTS,
    *programs.FAULTS,
    *ledger.FAULTS,
    *policies.FAULTS,
    *certificates.FAULTS,
    *boundary.FAULTS,
    *files.FAULTS,
    *tables.FAULTS,
    *lp_files.FAULTS,
    *environments.FAULTS,
    *audits.FAULTS,
    *explorer.FAULTS,
)
