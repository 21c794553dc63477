"""The same sweep on a real Dask cluster of several processes, one of which is killed."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pandas as pd
import pytest

from paper import runner
from paper.__main__ import main
from paper.runner import Sweep, run
from paper.studies.comparison import auction_setting, draw_auction
from tests.paper.test_runner import finished

pytest.importorskip("distributed", reason="needs: pip install '.[dask]'")

WORKERS = 3


def small() -> Sweep:
    settings = tuple(auction_setting("database", epsilon) for epsilon in ("1", "2", "4"))
    return Sweep(draw_auction, settings, 60, chunk=3)


@contextlib.contextmanager
def cluster():
    """A scheduler and workers as separate processes on loopback: (address, worker processes)."""
    environment = {**os.environ, "PYTHONPATH": str(Path.cwd())}
    scheduler = subprocess.Popen(
        [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1",
         "--port", "0", "--no-dashboard"],
        stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, env=environment,
    )  # fmt: skip
    workers: list[subprocess.Popen] = []
    try:
        address = None
        assert scheduler.stderr is not None
        for line in scheduler.stderr:
            if found := re.search(r"tcp://127\.0\.0\.1:\d+", line):
                address = found.group()
                break
        assert address is not None
        threading.Thread(target=scheduler.stderr.read, daemon=True).start()
        for _ in range(WORKERS):
            workers.append(
                subprocess.Popen(
                    [sys.executable, "-m", "distributed.cli.dask_worker", address,
                     "--nthreads", "1", "--no-nanny", "--no-dashboard", "--host", "127.0.0.1"],
                    stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=environment,
                )
            )  # fmt: skip
        yield address, workers
    finally:
        for process in (*workers, scheduler):
            process.kill()
            process.wait()
        if scheduler.stderr is not None:
            scheduler.stderr.close()


def refused(capsys, folder, scheduler) -> str:
    """What a study says when it refuses a scheduler: one line, and nothing written."""
    arguments = ["ad-headline", "--quick", "--json", "--scheduler", scheduler]
    assert main([*arguments, "--out", str(folder / "out")]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "--scheduler" in said
    assert not (folder / "out").exists()
    return said


@pytest.mark.parametrize("address", ["x", "tcp://x", "tcp://127.0.0.1:no", "foo://x:1", "[::1"])
def test_what_is_no_address_is_refused_with_the_rule_and_an_example(capsys, tmp_path, address):
    said = refused(capsys, tmp_path, address)
    assert "host and port, for example tcp://127.0.0.1:8786" in said
    assert repr(address) in said


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "tls://127.0.0.1:1"])
def test_a_scheduler_that_does_not_answer_is_one_line(capsys, tmp_path, monkeypatch, address):
    monkeypatch.setattr(runner, "PATIENCE_SECONDS", 1)
    assert "no Dask scheduler can be reached" in refused(capsys, tmp_path, address)


@pytest.mark.filterwarnings("ignore")
def test_a_killed_worker_loses_and_doubles_no_draw(tmp_path):
    alone = run((small(),), seed=1, workers=1)
    store = tmp_path / "records.sqlite"
    with cluster() as (address, workers):

        def kill_one():
            deadline = time.monotonic() + 120
            while time.monotonic() < deadline and (not store.exists() or finished(store) < 5):
                time.sleep(0.05)
            os.kill(workers[0].pid, signal.SIGKILL)
            done_at_kill.append(finished(store))

        done_at_kill: list[int] = []
        killer = threading.Thread(target=kill_one)
        killer.start()
        frame = run((small(),), seed=1, store=store, scheduler=address)
        killer.join()
        assert done_at_kill[0] < len(small().chunks(1)), "the kill came too late to mean anything"
        assert workers[0].wait() == -signal.SIGKILL
    pd.testing.assert_frame_equal(
        frame.drop(columns="seconds"), alone.drop(columns="seconds"), check_like=True
    )
    assert finished(store) == len(small().chunks(1))
