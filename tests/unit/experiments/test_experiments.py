"""Sweeps: same numbers however they are run, nothing lost when they are stopped."""

import hashlib
import os
import pickle
import signal
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial
from typing import Any

import pandas as pd
import pytest

from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.experiments import ad_headline
from dp_cmdp.experiments.records import export, manifest
from dp_cmdp.experiments.runner import run_sweep
from dp_cmdp.experiments.sweep import Sweep, stream
from tests.problems import finished

SLOW = """
import sys, time
from dp_cmdp.experiments import sweep
from dp_cmdp.experiments.runner import run_sweep

def slow(setting, seed, draws):
    rows = []
    for draw in draws:
        time.sleep(0.02)
        rows.append({"x": float(sweep.stream(seed, draw, setting["name"]).random())})
    return rows

plan = sweep.Sweep("slow", slow, ({"name": "a"}, {"name": "b"}), draws=40, chunk=4)
print(len(run_sweep(plan, store=sys.argv[1], workers=1)))
"""


def small(draws: int = 6) -> Sweep:
    sweep = ad_headline.sweep(draws=draws, seed=3)
    settings = tuple(part for part in sweep.settings if part["method"] == "database")[-2:]
    return Sweep(sweep.name, sweep.function, settings, draws, seed=3, chunk=2)


def test_records_do_not_depend_on_workers_or_on_what_else_runs():
    alone = run_sweep(small(), workers=1)
    together = run_sweep(small(), workers=2)
    pd.testing.assert_frame_equal(alone, together)
    one = Sweep("x", small().function, small().settings[1:], 6, seed=3, chunk=3)
    part = alone[alone["epsilon"] == "4"].reset_index(drop=True)
    pd.testing.assert_frame_equal(
        part.sort_values("draw"), run_sweep(one, workers=1).sort_values("draw")
    )


def test_a_finished_store_is_not_computed_again(tmp_path):
    store = tmp_path / "records.sqlite"
    first = run_sweep(small(), store=store, workers=1)
    again = run_sweep(small(), store=store, workers=1)
    assert (first.attrs.pop("made_now"), again.attrs.pop("made_now")) == (12, 0)
    pd.testing.assert_frame_equal(first, again)


def test_records_are_stored_under_the_name_of_their_function():
    """The key of a record that versions with functions as texts have stored."""
    chunk = ad_headline.sweep(draws=25).chunks()[0]
    text = (
        "dp_cmdp.experiments.ad_headline:draw|"
        '{"alpha": "1/3", "epsilon": "1/4", "method": "benvenuti2025-realised-mask"}|0|0|25'
    )
    assert chunk.key == hashlib.sha256(text.encode()).hexdigest()[:32]
    assert pickle.loads(pickle.dumps(chunk)) == chunk


def test_a_function_that_other_processes_cannot_find_is_refused():
    def inner(setting, seed, draws):
        return [{} for _ in draws]

    unnamed: list[Any] = [inner, lambda *_: [], partial(ad_headline.draw), "package.module:draw"]
    for function in unnamed:
        with pytest.raises(InvalidArgumentError, match="function must be a function of a module"):
            Sweep("x", function, small().settings, 6)


def test_sweeps_beside_each_other_share_store_records_and_manifest(tmp_path):
    other = Sweep("y", small().function, small().settings[:1], 3, seed=4, chunk=2)
    both = replace(small(), beside=(other,))
    frame = run_sweep(both, store=tmp_path / "records.sqlite", workers=1)
    assert len(frame) == frame.attrs["made_now"] == 2 * 6 + 3
    alone = run_sweep(other, store=tmp_path / "records.sqlite", workers=1)
    assert alone.attrs["made_now"] == 0
    pd.testing.assert_frame_equal(alone, frame[12:].reset_index(drop=True), check_like=True)
    (beside,) = manifest(both)["beside"]
    assert (beside["name"], beside["seed"], beside["draws"]) == ("y", 4, 3)
    with pytest.raises(InvalidArgumentError, match="beside must hold sweeps"):
        replace(both, beside=("y",))


def test_a_killed_sweep_goes_on_without_losing_a_finished_chunk(tmp_path):
    store = tmp_path / "records.sqlite"
    script = tmp_path / "slow.py"
    script.write_text(SLOW)
    command = [sys.executable, str(script), str(store)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and (not store.exists() or finished(store) < 3):
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    kept = finished(store)
    assert 3 <= kept < 20
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "80"
    assert finished(store) == 20


def test_streams_are_independent_of_order_and_differ_by_label():
    assert stream(0, 5).random() == stream(0, 5).random()
    values = {stream(0, 5).random(), stream(0, 6).random(), stream(0, 5, "noise").random()}
    assert len(values | {stream(1, 5).random()}) == 4


def test_records_are_exported_with_a_manifest(tmp_path):
    frame = run_sweep(small(), workers=1)
    path = export(frame, small(), folder=tmp_path)
    assert len(pd.read_csv(path)) == len(frame)
    assert '"seed": 3' in (tmp_path / "ad-headline.manifest.json").read_text()


def test_headline_rows_have_the_published_columns():
    rows = ad_headline.rows(run_sweep(small(), workers=1))
    assert [row["method"] for row in rows] == ["database", "database"]
    assert all(row["violations"] == 0 and row["draws"] == 6 for row in rows)
    assert all(row["ci_low"] <= row["suboptimality_percent"] <= row["ci_high"] for row in rows)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"engine": "abacus"}, "engine"),
        ({"engine": "dask"}, "scheduler"),
        ({"engine": "dask", "scheduler": " "}, "scheduler"),
        ({"engine": "joblib", "scheduler": "tcp://127.0.0.1:8786"}, "scheduler"),
        ({"scheduler": "x"}, "scheduler"),
    ],
)
def test_bad_options_are_refused(options, named):
    with pytest.raises(InvalidArgumentError, match=named):
        run_sweep(small(), **options)


def test_a_file_that_is_no_record_store_is_refused(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("these are notes, not records" * 100)
    with pytest.raises(InvalidArgumentError, match="not a record file"):
        run_sweep(small(), store=path)
