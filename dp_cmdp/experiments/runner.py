"""Runs a sweep: on processes of this machine (joblib), or on an existing Dask cluster.

Scheduling is theirs; here results are stored as they arrive, finished chunks are skipped, and a
progress bar with an estimate of the time left is shown.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from dp_cmdp import _check
from dp_cmdp._door import door
from dp_cmdp._extras import require
from dp_cmdp.errors import DPCMDPError, InvalidArgumentError
from dp_cmdp.experiments.records import RecordStore
from dp_cmdp.experiments.sweep import Chunk, Row, Sweep

if TYPE_CHECKING:
    import pandas as pd

ENGINES = ("joblib", "dask")
#: How long a Dask scheduler may take to answer.
PATIENCE_SECONDS = 30
ADDRESS_RULE = (
    "scheduler (--scheduler) must be the address of a Dask scheduler, host and port, for example "
    "tcp://127.0.0.1:8786"
)


@door
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
        Address of the Dask scheduler, for example ``tcp://127.0.0.1:8786``; for dask only.
    progress : bool

    Returns
    -------
    pandas.DataFrame
        One row per draw, in an order that does not depend on how it was run;
        ``attrs["made_now"]`` is how many were not in the store yet.

    Examples
    --------
    >>> from dp_cmdp.experiments.mean_shift import draw_mean_shift
    >>> from dp_cmdp.experiments.runner import run_sweep
    >>> from dp_cmdp.experiments.sweep import Sweep
    >>> sweep = Sweep("mean-shift", draw_mean_shift, ({"epsilon": "1", "delta": "1/10"},), draws=1)
    >>> records = run_sweep(sweep, store="records.sqlite", workers=1)
    >>> records[["epsilon", "tight", "bound"]].round(2)
      epsilon  tight  bound
    0       1   2.26   1.76
    >>> run_sweep(sweep, store="records.sqlite", workers=1).attrs["made_now"]  # nothing twice
    0
    """
    address = _address(engine, scheduler)
    store = None if store is None else _check.path("store", store)
    workers = None if workers is None else _check.integer("workers", workers, low=1, high=1024)
    with nullcontext() if address is None else _connected(address) as client:
        records = RecordStore(store)
        try:
            return _completed(sweep, records, client=client, workers=workers, progress=progress)
        finally:
            records.close()


def _completed(
    sweep: Sweep, records: RecordStore, *, client: Any, workers: int | None, progress: bool
) -> pd.DataFrame:
    """All records, after what was missing has been made."""
    import pandas as pd
    from tqdm import tqdm

    chunks, done = sweep.chunks(), records.done()
    missing = [chunk for chunk in chunks if chunk.key not in done]
    results = (
        _on_processes(missing, workers or os.cpu_count() or 1)
        if client is None
        else _on_dask(missing, client)
    )
    with tqdm(
        total=sum(chunk.count for chunk in chunks),
        initial=sum(chunk.count for chunk in chunks if chunk.key in done),
        desc=sweep.name,
        unit="draw",
        disable=not progress,
    ) as bar:
        for chunk, rows in results:
            records.add(chunk, rows)
            bar.update(chunk.count)
    frame = pd.DataFrame(records.rows(chunks))
    frame.attrs["made_now"] = sum(chunk.count for chunk in missing)
    return frame


def _run(chunk: Chunk) -> tuple[Chunk, list[Row]]:
    return chunk, chunk.run()


def _on_processes(chunks: list[Chunk], workers: int) -> Iterator[tuple[Chunk, list[Row]]]:
    if workers == 1 or len(chunks) <= 1:
        yield from map(_run, chunks)
        return
    from joblib import Parallel, delayed

    parallel = Parallel(n_jobs=workers, return_as="generator_unordered")
    yield from cast(Any, parallel(delayed(_run)(chunk) for chunk in chunks))


def _on_dask(chunks: list[Chunk], client: Any) -> Iterator[tuple[Chunk, list[Row]]]:
    from distributed import as_completed

    futures = client.map(_run, chunks, pure=True, retries=5)
    for future in as_completed(futures):
        yield future.result()
        future.release()


def _address(engine: str, scheduler: str | None) -> str | None:
    """Where the Dask scheduler is, or None when none is needed."""
    if _check.one_of("engine", engine, ENGINES) == "dask":
        if not isinstance(scheduler, str) or not scheduler.strip():
            raise InvalidArgumentError(f"{ADDRESS_RULE}; none was given")
        return scheduler
    if scheduler is not None:
        raise InvalidArgumentError(
            f"scheduler (--scheduler) is for the engine dask; {engine} would not use it: leave it "
            "out or choose --engine dask"
        )
    return None


def _connected(address: str) -> Any:
    """A client of the scheduler there; one clear error when there can be none."""
    require("distributed")
    from distributed import Client
    from distributed.comm.addressing import get_address_host

    try:
        get_address_host(address)
    except ValueError:
        raise InvalidArgumentError(f"{ADDRESS_RULE}; got {address[:60]!r}") from None
    try:
        return Client(address, timeout=PATIENCE_SECONDS)
    except Exception as error:  # also what the transports make of a missing configuration
        waited = f"nobody answered within {PATIENCE_SECONDS:g} seconds"
        reason = waited if isinstance(error, OSError) else f"{type(error).__name__}: {error}"[:200]
        raise DPCMDPError(
            f"no Dask scheduler can be reached at {address[:60]!r} ({reason}); start one with "
            "dask-scheduler, or correct --scheduler"
        ) from None
