"""Runs sweeps: many independent draws of many settings, on all cores or a Dask cluster.

Each setting is cut into chunks of consecutive draws: the unit of work, of storage and of resuming.
The seed of a draw is made of the root seed and the draw's number alone, so numbers do not depend on
order, on the number of workers, or on which other settings run. Finished chunks are kept in one
SQLite file, a transaction each: a sweep that was killed goes on from there.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import sqlite3
import sys
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from tqdm import tqdm

import dp_cmdp as dp

Row = dict[str, Any]
Setting = Mapping[str, Any]
#: From a setting, a seed and the number of a draw to one row; a function of a module.
Draw = Callable[[Setting, int, int], Row]

#: How long a Dask scheduler may take to answer.
PATIENCE_SECONDS = 30
ADDRESS_RULE = (
    "scheduler (--scheduler) must be the address of a Dask scheduler, host and port, for example "
    "tcp://127.0.0.1:8786"
)
PACKAGES = ("dp-cmdp", "numpy", "scipy", "highspy", "gymnasium")
_SCHEMA = "CREATE TABLE IF NOT EXISTS chunks (key TEXT PRIMARY KEY, rows TEXT NOT NULL)"


@dataclass(frozen=True, slots=True)
class Chunk:
    """Consecutive draws of one setting, which is canonical JSON."""

    function: Draw
    setting: str
    seed: int
    first: int
    count: int

    @property
    def key(self) -> str:
        """Its name in a store: made from the function's name, not from its code."""
        name = name_of(self.function)
        text = f"{name}|{self.setting}|{self.seed}|{self.first}|{self.count}"
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    def run(self) -> list[Row]:
        """One row per draw; the setting and the draw's number are part of each row."""
        setting, rows = json.loads(self.setting), []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", dp.errors.PrivacyWarning)  # such as the paper's δ = 0.1
            for draw in range(self.first, self.first + self.count):
                rows.append({**setting, "draw": draw, **self.function(setting, self.seed, draw)})
        return rows


@dataclass(frozen=True, slots=True)
class Sweep:
    """A function of one draw, the settings it is called with, and how often each."""

    function: Draw
    settings: tuple[Setting, ...]
    draws: int
    chunk: int = 25

    def __post_init__(self) -> None:
        name_of(self.function)

    def chunks(self, seed: int) -> list[Chunk]:
        """All units of work, interleaved so that partial results cover every setting."""
        texts = [json.dumps(dict(setting), sort_keys=True) for setting in self.settings]
        return [
            Chunk(self.function, text, seed, first, min(self.chunk, self.draws - first))
            for first in range(0, self.draws, self.chunk)
            for text in texts
        ]


def name_of(function: Draw) -> str:
    """``"package.module:function"``, where that is indeed the function."""
    module, name = (getattr(function, part, None) for part in ("__module__", "__qualname__"))
    if name is None or getattr(sys.modules.get(str(module)), str(name), None) is not function:
        raise dp.errors.InvalidArgumentError(
            "function must be a function of a module, so that other processes find it by name; "
            f"got {name or type(function).__name__}"
        )
    return f"{module}:{name}"


def stream(seed: int, draw: int, *labels: str) -> np.random.Generator:
    """The random stream of one draw, independent for different labels."""
    key = (draw, *(zlib.crc32(label.encode()) for label in labels))
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


class Records:
    """Finished chunks by key, in one SQLite file; only the process that drives the sweep writes."""

    def __init__(self, path: str | Path | None) -> None:
        if path is not None:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
        try:
            self._database = sqlite3.connect(":memory:" if path is None else path)
            with self._database:
                self._database.execute("PRAGMA journal_mode=WAL")
                self._database.execute("PRAGMA synchronous=FULL")
                self._database.execute(_SCHEMA)
        except sqlite3.DatabaseError as error:
            raise dp.errors.InvalidArgumentError(f"{path} is not a record file ({error})") from None

    def done(self) -> set[str]:
        return {key for (key,) in self._database.execute("SELECT key FROM chunks")}

    def add(self, chunk: Chunk, rows: Iterable[Row]) -> None:
        """Store a finished chunk durably; storing it twice changes nothing."""
        text = json.dumps(list(rows))
        with self._database:
            self._database.execute("INSERT OR IGNORE INTO chunks VALUES (?, ?)", (chunk.key, text))

    def rows(self, chunks: Iterable[Chunk]) -> list[Row]:
        """Rows of the given chunks, in their order; unfinished ones are left out."""
        found: list[Row] = []
        for chunk in chunks:
            hit = self._database.execute("SELECT rows FROM chunks WHERE key = ?", (chunk.key,))
            if (text := hit.fetchone()) is not None:
                found.extend(json.loads(text[0]))
        return found

    def close(self) -> None:
        self._database.close()


def run(
    sweeps: Sequence[Sweep],
    *,
    seed: int = 0,
    store: str | Path | None = None,
    workers: int | None = None,
    scheduler: str | None = None,
    progress: str = "",
) -> pd.DataFrame:
    """Run what is missing of some sweeps: one row per draw, in the order of the sweeps.

    An interrupted run goes on from its `store`, a SQLite file. It uses so many processes as
    `workers` says (all cores by default, 1 is this process), or a Dask scheduler at an address.
    ``attrs["made_now"]`` of the records is how many were not in the store yet.
    """
    chunks = [chunk for sweep in sweeps for chunk in sweep.chunks(seed)]
    connection = nullcontext() if scheduler is None else _connected(scheduler)
    with connection as client, closing(Records(store)) as records:
        done = records.done()
        missing = [chunk for chunk in chunks if chunk.key not in done]
        results = (
            _on_processes(missing, workers or os.cpu_count() or 1)
            if client is None
            else _on_dask(missing, client)
        )
        with tqdm(
            total=sum(chunk.count for chunk in chunks),
            initial=sum(chunk.count for chunk in chunks if chunk.key in done),
            desc=progress,
            unit="draw",
            disable=not progress,
        ) as bar:
            for chunk, rows in results:
                records.add(chunk, rows)
                bar.update(chunk.count)
        frame = pd.DataFrame(records.rows(chunks))
    frame.attrs["made_now"] = sum(chunk.count for chunk in missing)
    return frame


def manifest(name: str, sweeps: Sequence[Sweep], *, seed: int) -> dict[str, Any]:
    """What is needed to make the records again: seed, settings, versions."""
    return {
        "name": name,
        "seed": seed,
        "sweeps": [
            {
                "function": name_of(sweep.function),
                "draws": sweep.draws,
                "settings": [dict(setting) for setting in sweep.settings],
            }
            for sweep in sweeps
        ],
        "python": platform.python_version(),
        "versions": {package: metadata.version(package) for package in PACKAGES},
    }


def _run(chunk: Chunk) -> tuple[Chunk, list[Row]]:
    return chunk, chunk.run()


def _on_processes(chunks: list[Chunk], workers: int) -> Iterator[tuple[Chunk, list[Row]]]:
    if workers == 1 or len(chunks) <= 1:
        yield from map(_run, chunks)
        return
    parallel = Parallel(n_jobs=workers, return_as="generator_unordered")
    yield from cast(Any, parallel(delayed(_run)(chunk) for chunk in chunks))


def _on_dask(chunks: list[Chunk], client: Any) -> Iterator[tuple[Chunk, list[Row]]]:
    from distributed import as_completed

    futures = client.map(_run, chunks, pure=True, retries=5)
    for future in as_completed(futures):
        yield future.result()
        future.release()


def _connected(address: str) -> Any:
    """A client of the scheduler there; one clear error when there can be none."""
    from distributed import Client
    from distributed.comm.addressing import get_address_host

    try:
        get_address_host(address)
    except ValueError:
        raise dp.errors.InvalidArgumentError(f"{ADDRESS_RULE}; got {address[:60]!r}") from None
    try:
        return Client(address, timeout=PATIENCE_SECONDS)
    except Exception as error:  # also what the transports make of a missing configuration
        waited = f"nobody answered within {PATIENCE_SECONDS:g} seconds"
        reason = waited if isinstance(error, OSError) else f"{type(error).__name__}: {error}"[:200]
        raise dp.errors.Error(
            f"no Dask scheduler can be reached at {address[:60]!r} ({reason}); start one with "
            "dask-scheduler, or correct --scheduler"
        ) from None
