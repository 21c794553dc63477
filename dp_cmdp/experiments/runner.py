"""Runs a sweep: on processes of this machine (joblib), or on an existing Dask cluster.

Scheduling is theirs; here results are stored as they arrive, finished chunks are skipped, and a
progress bar with an estimate of the time left is shown.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from dp_cmdp import _check
from dp_cmdp.errors import DPCMDPError, InvalidArgumentError, PrivacyWarning
from dp_cmdp.experiments.records import RecordStore
from dp_cmdp.experiments.sweep import Chunk, Row, Sweep

if TYPE_CHECKING:
    import pandas as pd

ENGINES = ("joblib", "dask")


def run_sweep(
    sweep: Sweep,
    *,
    store: str | Path | None = None,
    engine: str = "joblib",
    workers: int | None = None,
    scheduler: str | None = None,
    progress: bool = False,
) -> pd.DataFrame:
    """Run what is missing of a sweep and return all of its records.

    Parameters
    ----------
    sweep : Sweep
    store : path, optional
        SQLite file of records; an interrupted sweep continues from it.
    engine : {"joblib", "dask"}
    workers : int, optional
        Processes for joblib; all cores by default, 1 runs in this process.
    scheduler : str, optional
        Address of the Dask scheduler.
    progress : bool

    Returns
    -------
    pandas.DataFrame
        One row per draw, in an order that does not depend on how it was run;
        ``attrs["made_now"]`` is how many were not in the store yet.
    """
    import pandas as pd
    from tqdm import tqdm

    _check.one_of("engine", engine, ENGINES)
    if engine == "dask" and not scheduler:
        raise InvalidArgumentError("scheduler must be the address of a Dask scheduler")
    chunks, records = sweep.chunks(), RecordStore(store)
    try:
        done = records.done()
        missing = [chunk for chunk in chunks if chunk.key not in done]
        results = (
            _on_dask(missing, scheduler or "")
            if engine == "dask"
            else _on_processes(missing, workers or os.cpu_count() or 1)
        )
        with tqdm(
            total=len(chunks) * sweep.chunk,
            initial=(len(chunks) - len(missing)) * sweep.chunk,
            desc=sweep.name,
            unit="draw",
            disable=not progress,
        ) as bar:
            for chunk, rows in results:
                records.add(chunk, rows)
                bar.update(sweep.chunk)
        frame = pd.DataFrame(records.rows(chunks))
        frame.attrs["made_now"] = sum(chunk.count for chunk in missing)
        return frame
    finally:
        records.close()


def _run(chunk: Chunk) -> tuple[Chunk, list[Row]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)  # workers do not inherit filters
        return chunk, chunk.run()


def _on_processes(chunks: list[Chunk], workers: int) -> Iterator[tuple[Chunk, list[Row]]]:
    if workers == 1 or len(chunks) <= 1:
        yield from map(_run, chunks)
        return
    from joblib import Parallel, delayed

    parallel = Parallel(n_jobs=workers, return_as="generator_unordered")
    yield from cast(Any, parallel(delayed(_run)(chunk) for chunk in chunks))


def _on_dask(chunks: list[Chunk], scheduler: str) -> Iterator[tuple[Chunk, list[Row]]]:
    try:
        from distributed import Client, as_completed  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise DPCMDPError("the Dask engine needs: pip install 'dp-cmdp[dask]'") from None
    with Client(scheduler, timeout="30s") as client:
        futures = client.map(_run, chunks, pure=True, retries=5)
        for future in as_completed(futures):
            yield future.result()
            future.release()
