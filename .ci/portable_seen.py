"""Plugin of pytest that reports what a run of ``portable.py`` had, from the processes that ran it.

A wish in the environment may be ignored without a word: OpenBLAS takes its own choice for a name
that it does not know. So what is in effect is asked of numpy, OpenBLAS and Python where tests run.
"""

from __future__ import annotations

import json
import locale
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.linalg  # noqa: F401 (it brings an OpenBLAS of its own)
from numpy._core import _multiarray_umath as core
from threadpoolctl import threadpool_info, threadpool_limits

import dp_cmdp

#: numpy's and scipy's OpenBLAS; those of cvxpy's solvers come later and use names of their own.
OURS = {pool["filepath"] for pool in threadpool_info() if pool["internal_api"] == "openblas"}
#: Names the file that the report goes to.
REPORT = "PORTABLE_REPORT"


def take_effect() -> None:
    """Ask for what the environment alone does not bring about.

    OpenBLAS starts at most one thread per processor by itself, and C libraries write decimal commas
    only after a program (a notebook, a window) has asked for the user's locale.
    """
    if threads := os.environ.get("OPENBLAS_NUM_THREADS"):
        threadpool_limits(int(threads), user_api="blas")
    locale.setlocale(locale.LC_ALL, "")


def _blas(key: str) -> str:
    """What numpy's and scipy's OpenBLAS say of themselves."""
    pools = [pool for pool in threadpool_info() if pool["filepath"] in OURS]
    return " and ".join(sorted({str(pool[key]) for pool in pools})) or "no OpenBLAS"


def _privileged() -> bool:
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return os.geteuid() == 0 or any(
        int(line.split()[1], 16) for line in lines if line.startswith("CapEff:")
    )


def seen() -> dict[str, str]:
    """What is in effect in this process."""
    features = [name for name in core.__cpu_dispatch__ if core.__cpu_features__[name]]
    return {
        "blas": _blas("architecture"),
        "threads": _blas("num_threads"),
        "features": " ".join(features) or "none",
        "hash": f"{hash('dp_cmdp') & 0xFFFFFF:06x}",
        "zone": time.strftime("%z"),
        "decimal": f"{1.5:n}",
        "folder": "with spaces" if " " in str(Path(dp_cmdp.__file__).parent) else "without",
        "user": "root" if _privileged() else "not root",
    }


def merged(reports: list[dict[str, str]]) -> dict[str, str]:
    """One report of all processes; where they differ, it shows."""
    keys = {key for report in reports for key in report}
    return {
        key: " or ".join(sorted({report.get(key, "?") for report in reports}))
        for key in sorted(keys)
    }


class Reporter:
    """Collects reports of the workers of pytest-xdist, or of the one process there is."""

    def __init__(self) -> None:
        self.reports: list[dict[str, str]] = []

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config) -> None:
        found = seen()
        random = config.pluginmanager.has_plugin("randomly")
        found["order"] = "shuffled" if random else "as written"
        if hasattr(config, "workeroutput"):
            config.workeroutput["seen"] = found  # pyright: ignore[reportAttributeAccessIssue]
        else:
            self.reports.append(found)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        self.reports.append(getattr(node, "workeroutput", {}).get("seen", {}))

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        terminal = session.config.pluginmanager.get_plugin("terminalreporter")
        if terminal is None or hasattr(session.config, "workeroutput"):
            return
        stats = terminal.stats
        wrong = [report.nodeid for kind in ("failed", "error") for report in stats.get(kind, [])]
        report = {
            "status": int(exitstatus),
            "passed": len(stats.get("passed", [])),
            "failed": len(wrong),
            "skipped": len(stats.get("skipped", [])) + len(stats.get("xfailed", [])),
            "wrong": sorted(set(wrong)),
            "seen": merged(self.reports),
        }
        Path(os.environ[REPORT]).write_text(json.dumps(report), encoding="utf-8")


def pytest_configure(config: pytest.Config) -> None:
    take_effect()
    config.pluginmanager.register(Reporter())


if __name__ == "__main__":
    take_effect()
    np.linalg.solve(np.eye(64) + np.ones((64, 64)), np.ones(64))  # a wrong processor dies here
    print(json.dumps(seen()))
