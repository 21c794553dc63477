"""Durable records of a sweep: one SQLite file, one transaction per finished chunk.

A killed sweep loses only the chunks under way; run again with the same file it does the rest. No
scratch format of ours: any SQLite tool reads it, and :func:`export` writes CSV with a manifest.
"""

from __future__ import annotations

import json
import platform
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dp_cmdp._extras import is_installed
from dp_cmdp._storage import write_text
from dp_cmdp.data.curator import refuse_curator_values
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.experiments.sweep import Chunk, Row, Sweep, name_of

if TYPE_CHECKING:
    import pandas as pd

_SCHEMA = "CREATE TABLE IF NOT EXISTS chunks (key TEXT PRIMARY KEY, rows TEXT NOT NULL)"


class RecordStore:
    """Finished chunks by key. Only one process writes: the one that drives the sweep.

    Examples
    --------
    >>> from dp_cmdp.experiments.mean_shift import draw_mean_shift
    >>> from dp_cmdp.experiments.records import RecordStore
    >>> from dp_cmdp.experiments.sweep import Sweep
    >>> sweep = Sweep("mean-shift", draw_mean_shift, ({"epsilon": "1", "delta": "1/10"},), draws=1)
    >>> (chunk,) = sweep.chunks()
    >>> store = RecordStore("records.sqlite")
    >>> store.add(chunk, [{"epsilon": "1", "tight": 2.26}])
    >>> store.rows([chunk]), chunk.key in RecordStore("records.sqlite").done()
    ([{'epsilon': '1', 'tight': 2.26}], True)
    """

    def __init__(self, path: str | Path | None) -> None:
        self.path = None if path is None else Path(path)
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._database = sqlite3.connect(":memory:" if self.path is None else self.path)
            with self._database:
                self._database.execute("PRAGMA journal_mode=WAL")
                self._database.execute("PRAGMA synchronous=FULL")
                self._database.execute(_SCHEMA)
        except sqlite3.DatabaseError as error:
            raise InvalidArgumentError(f"{path} is not a record file ({error})") from None

    def done(self) -> set[str]:
        """Keys of the finished chunks."""
        return {key for (key,) in self._database.execute("SELECT key FROM chunks")}

    def add(self, chunk: Chunk, rows: Iterable[Row]) -> None:
        """Store a finished chunk durably; storing it twice changes nothing.

        Curator-only results are refused: an experiment on invented data says ``float(result)``.
        """
        found = list(rows)
        refuse_curator_values(found, where="rows")
        text = json.dumps(found)
        with self._database:
            self._database.execute("INSERT OR IGNORE INTO chunks VALUES (?, ?)", (chunk.key, text))

    def rows(self, chunks: Iterable[Chunk]) -> list[Row]:
        """Rows of the given chunks, in their order; unfinished ones are left out."""
        found: list[Row] = []
        with closing(self._database.cursor()) as cursor:
            for chunk in chunks:
                hit = cursor.execute("SELECT rows FROM chunks WHERE key = ?", (chunk.key,))
                if (text := hit.fetchone()) is not None:
                    found.extend(json.loads(text[0]))
        return found

    def close(self) -> None:
        self._database.close()


def manifest(sweep: Sweep) -> dict[str, Any]:
    """What is needed to make the records again: seed, settings, versions."""
    packages = ["dp-cmdp", "numpy", "scipy", "highspy", "gymnasium"]
    packages += ["cvxpy"] if is_installed("cvxpy") else []
    return _plan(sweep) | {
        "python": platform.python_version(),
        "versions": {name: metadata.version(name) for name in packages},
    }


def _plan(sweep: Sweep) -> dict[str, Any]:
    beside = {"beside": [_plan(part) for part in sweep.beside]} if sweep.beside else {}
    return {
        "name": sweep.name,
        "function": name_of(sweep.function),
        "seed": sweep.seed,
        "draws": sweep.draws,
        "settings": [dict(setting) for setting in sweep.settings],
        **beside,
    }


def export(frame: pd.DataFrame, sweep: Sweep, *, folder: str | Path) -> Path:
    """Write ``NAME.csv`` and ``NAME.manifest.json`` atomically; returns the path of the CSV.

    Examples
    --------
    >>> from dp_cmdp.experiments.mean_shift import draw_mean_shift
    >>> from dp_cmdp.experiments.records import export
    >>> from dp_cmdp.experiments.runner import run_sweep
    >>> from dp_cmdp.experiments.sweep import Sweep
    >>> sweep = Sweep("mean-shift", draw_mean_shift, ({"epsilon": "1", "delta": "1/10"},), draws=1)
    >>> export(run_sweep(sweep, workers=1), sweep, folder="out").name
    'mean-shift.csv'
    """
    target = Path(folder)
    write_text(target / f"{sweep.name}.manifest.json", json.dumps(manifest(sweep), indent=2) + "\n")
    return write_text(target / f"{sweep.name}.csv", frame.to_csv(index=False))
