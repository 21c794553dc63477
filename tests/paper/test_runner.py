"""Sweeps: same numbers however they are run, nothing lost when they are stopped."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import dp_cmdp as dp
from paper.runner import Records, Sweep, manifest, run, stream
from paper.studies import STUDIES
from paper.studies.comparison import auction_setting, draw_auction

SLOW = """
import sys, time
from paper.runner import Sweep, run, stream

def slow(setting, seed, draw):
    time.sleep(0.02)
    return {"x": float(stream(seed, draw, setting["name"]).random())}

sweep = Sweep(slow, ({"name": "a"}, {"name": "b"}), draws=40, chunk=4)
print(len(run((sweep,), store=sys.argv[1], workers=1)))
"""


def small(chunk: int = 2) -> Sweep:
    settings = tuple(auction_setting("database", epsilon) for epsilon in ("2", "4"))
    return Sweep(draw_auction, settings, 6, chunk)


def made(*sweeps: Sweep, **options: Any) -> pd.DataFrame:
    """Records without the times, which differ."""
    return run(sweeps, seed=3, **options).drop(columns="seconds")


def finished(path) -> int:
    with closing(Records(path)) as records:
        return len(records.done())


def test_records_do_not_depend_on_workers_or_on_what_else_runs():
    alone = made(small(), workers=1)
    pd.testing.assert_frame_equal(alone, made(small(), workers=2))
    one = Sweep(draw_auction, small().settings[1:], 6, chunk=3)
    part = alone[alone["epsilon"] == "4"].reset_index(drop=True)
    pd.testing.assert_frame_equal(part.sort_values("draw"), made(one, workers=1))


def test_a_finished_store_is_not_computed_again(tmp_path):
    store = tmp_path / "records.sqlite"
    first, again = (run((small(),), store=store, workers=1) for _ in range(2))
    assert (first.attrs.pop("made_now"), again.attrs.pop("made_now")) == (12, 0)
    pd.testing.assert_frame_equal(first, again)


def test_a_function_that_other_processes_cannot_find_is_refused():
    def inner(setting, seed, draw):
        return {}

    unnamed: list[Any] = [inner, lambda *_: {}, partial(draw_auction), "package.module:draw"]
    for function in unnamed:
        with pytest.raises(dp.errors.InvalidArgumentError, match="function of a module"):
            Sweep(function, small().settings, 6)


def test_a_killed_sweep_goes_on_without_losing_a_finished_chunk(tmp_path):
    store, script = tmp_path / "records.sqlite", tmp_path / "slow.py"
    script.write_text(SLOW)
    environment = {**os.environ, "PYTHONPATH": str(Path.cwd())}
    command = [sys.executable, str(script), str(store)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, env=environment)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and (not store.exists() or finished(store) < 3):
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    kept = finished(store)
    assert 3 <= kept < 20
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.strip() == "80"
    assert finished(store) == 20


def test_streams_are_independent_of_order_and_differ_by_label():
    assert stream(0, 5).random() == stream(0, 5).random()
    values = {stream(0, 5).random(), stream(0, 6).random(), stream(0, 5, "noise").random()}
    assert len(values | {stream(1, 5).random()}) == 4


def test_the_manifest_says_what_is_needed_to_make_the_records_again():
    said = json.loads(json.dumps(manifest("x", (small(),), seed=3)))
    assert said["seed"] == 3
    (sweep,) = said["sweeps"]
    assert sweep["function"] == "paper.studies.comparison:draw_auction"
    assert (sweep["draws"], len(sweep["settings"])) == (6, 2)
    assert set(said["versions"]) >= {"dp-cmdp", "numpy", "highspy"}


@pytest.mark.parametrize("name", STUDIES)
def test_the_quick_run_of_a_study_is_a_part_of_it_and_names_every_chunk_once(name):
    study = STUDIES[name]
    chunks = [c for sweep in study.planned() for c in sweep.chunks(0)]
    assert len({c.key for c in chunks}) == len(chunks)
    quick = [c for sweep in study.planned(quick=True) for c in sweep.chunks(0)]
    assert 0 < len(quick) <= len(chunks)
    with pytest.raises(dp.errors.InvalidArgumentError, match="interval"):
        study.planned(draws=study.fewest_draws - 1)


def test_the_laboratory_uses_the_public_face_only():
    sources = Path("paper").rglob("*.py")
    assert not [path for path in sources if "dp_cmdp._src" in path.read_text(encoding="utf-8")]
