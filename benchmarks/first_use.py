"""The one-off cost of the compiled engine: compiled for the first time, then loaded."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from measurement import Clock
from records import Records

FIRST_SOLVE = """
import time
from problems import grid_cmdp
model = grid_cmdp(4, binding=False)
model = model.with_constraints(model.f, 1e9)
begin = time.perf_counter()
from dp_cmdp.cmdp.solvers.door import solve_cmdp
solve_cmdp(model, engine="policies")
print(time.perf_counter() - begin)
"""


def first_use(*, records: Records, clock: Clock) -> None:
    """Lines for a first solve with an empty and with a full compilation cache."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("compiled for the first time", "loaded from the cache"):
            seconds, status = None, "ok"
            try:
                seconds = _first_solve(folder, limit=min(120.0, clock.left()))
            except (subprocess.SubprocessError, ValueError) as error:
                status = f"failed: {type(error).__name__}"
            records.add("first use", 16, ours_s=seconds, peer=name, status=status)


def _first_solve(cache: str, *, limit: float) -> float:
    here = str(Path(__file__).parent)
    path = os.pathsep.join([here, *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = os.environ | {"NUMBA_CACHE_DIR": cache, "PYTHONPATH": path}
    done = subprocess.run(
        [sys.executable, "-c", FIRST_SOLVE],
        env=environment,
        cwd=here,
        timeout=max(limit, 1.0),
        capture_output=True,
        check=True,
        text=True,
    )
    return float(done.stdout)
