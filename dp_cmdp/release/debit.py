"""What every mechanism does before a value is read: check the call, then debit the ledger."""

from __future__ import annotations

import numpy as np

from dp_cmdp import _check
from dp_cmdp.accounting.budget import PrivacyBudget
from dp_cmdp.accounting.ledger import PrivacyLedger
from dp_cmdp.data.adjacency import adjacency_of
from dp_cmdp.data.database import Database
from dp_cmdp.data.release import Debit
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.noise.laws import CALIBRATIONS


def check_call(
    database: Database,
    *,
    rng: np.random.Generator | None,
    calibration: str,
    ledger: PrivacyLedger | None,
) -> None:
    """Refuse what no mechanism can do, from public facts."""
    if ledger is not None and database.identity is None:
        raise InvalidArgumentError("database must have an identity when a ledger is given")
    if rng is not None:
        _check.generator("rng", rng)
    _check.one_of("calibration", calibration, (*CALIBRATIONS, "optimal"))


def debited(
    ledger: PrivacyLedger | None, database: Database, budget: PrivacyBudget, *, note: str
) -> Debit | None:
    """Spend first, read later: a failure after this line has cost its budget."""
    if ledger is None or database.identity is None:
        return None
    adjacency = adjacency_of(database.envelope)
    entry = ledger.debit(database.identity, budget, note=note, adjacency=adjacency)
    return None if entry is None else Debit(ledger.ledger_id(), entry.index, entry.hash)
