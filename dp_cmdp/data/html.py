"""What notebooks show of envelopes, databases and releases: public facts and released numbers.

Of a database only its envelope is shown: its values are not read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dp_cmdp._html import MOST_ROWS, facts_table, rows_table
from dp_cmdp.data.envelope import Envelope, describe
from dp_cmdp.data.to_frame import TOTALS, entries_frame, envelope_frame, totals_frame

if TYPE_CHECKING:
    import pandas as pd

    from dp_cmdp.data.database import Database
    from dp_cmdp.data.release import Release


def envelope_html(envelope: Envelope) -> str:
    """The public facts of the first entries."""
    title = f"Envelope: {describe(envelope.groups)}, records of up to {envelope.record_size}"
    return _frame_table(title, envelope_frame(envelope))


def database_html(database: Database) -> str:
    """Identity and envelope of a database; nothing of its values."""
    facts = [("values", "private"), ("identity", database.identity or "none")]
    return facts_table("Database", facts) + envelope_html(database.envelope)


def release_html(release: Release) -> str:
    """Guarantee, intervals and totals of a release."""
    facts: list[tuple[str, Any]] = [
        ("guarantee", release.guarantee),
        ("looks", ", ".join(part.block for part in release.noise) or "none"),
        (
            "noise",
            "exact, from the operating system" if release.secure else "simulated: no promise",
        ),
    ]
    facts += [("LEAKS", ", ".join(release.leaks))] if release.leaks else []
    tables = facts_table(f"Release ({release.method})", facts)
    tables += _frame_table(f"Intervals: {describe(release.groups)}", entries_frame(release))
    if release.totals is not None:
        part = totals_frame(release)[["weighs", "entries", "bound", "public_bound", "share"]]
        tables += _frame_table(TOTALS.capitalize(), part)
    return tables


def _frame_table(title: str, frame: pd.DataFrame) -> str:
    """The first rows of a table, with its labels before them."""
    few = frame.head(MOST_ROWS)
    names = [str(name or "") for name in few.index.names]
    keys = few.index.tolist()
    keys = keys if few.index.nlevels > 1 else [(key,) for key in keys]
    rows = [(*key, *row) for key, row in zip(keys, few.itertuples(index=False), strict=True)]
    return rows_table(title, [*names, *map(str, few.columns)], rows, count=len(frame))
