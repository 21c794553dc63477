"""A benchmark run can be stopped, and its report says what was measured."""

import json
import time

import pytest

from benchmarks.family_figure import family_figures
from benchmarks.measurement import Child, Clock
from benchmarks.records import Records, read_lines
from benchmarks.report import filled
from benchmarks.required import requirement_rows


def add_part(records, key):
    with records.part(key) as due:
        if due:
            records.add("family", 100, ours_s=1.0, peer="highs", peer_s=2.0)
    return due


def test_a_part_that_is_done_is_not_done_again(tmp_path):
    path = tmp_path / "run.jsonl"
    assert add_part(Records(path), "a")
    with path.open("a", encoding="utf-8") as file:
        file.write('{"name": "fam')  # killed while it wrote
    again = Records(path, resume=True)
    assert not add_part(again, "a")
    assert add_part(again, "b")
    assert [line["part"] for line in read_lines(path)] == ["a", "b"]
    assert add_part(Records(path), "a")  # a new run


def stopped_part(records):
    with records.part("a"):
        records.add("family", 100)
        raise ZeroDivisionError


def test_lines_of_a_part_that_was_not_finished_are_not_kept(tmp_path):
    records = Records(tmp_path / "run.jsonl")
    with pytest.raises(ZeroDivisionError):
        stopped_part(records)
    assert read_lines(records.path) == []
    records.drop()
    assert records.lines == []


def test_times_of_other_sources_are_not_mixed_in(tmp_path):
    path = tmp_path / "run.jsonl"
    path.write_text(json.dumps({"name": "machine", "sources": "other"}) + "\n", encoding="utf-8")
    with pytest.raises(ValueError, match="other sources"):
        Records(path, resume=True)


def worker(seconds):
    """A solver that takes so many processor seconds, or fails where they are less than none."""

    def run():
        if seconds < 0:
            raise ValueError
        end = time.process_time() + seconds
        while time.process_time() < end:
            pass
        return seconds, None

    return run


def test_a_solver_that_is_late_is_stopped_and_serves_the_next_problem():
    child, clock = Child(worker, small=0.001), Clock()
    try:
        late = child.measure(60.0, limit=0.3, clock=clock)
        done = child.measure(0.01, limit=30.0, clock=clock, repeats=2)
        broken = child.measure(-1.0, limit=30.0, clock=clock)
    finally:
        child.stop()
    assert late.status == "time limit"
    assert late.seconds is not None
    assert late.seconds >= 0.3
    assert done.status == "ok"
    assert len(done.times) == 2
    assert broken.status == "failed: ValueError"


def family_line(**facts):
    usual = {"name": "family", "family": "grid", "size": 10_000, "gamma": 0.99, "costs": 1,
             "seed": 100, "ours_s": 0.1, "peer": "highs hipo", "peer_s": 20.0, "ratio": 200.0,
             "gap": 1e-9, "tolerance": "tight", "start": "uniform", "status": "ok",
             "ours_status": "ok", "methods": {"highs hipo": "20"}, "peak_gib": 0.2,
             "key": "k"}  # fmt: skip
    return usual | facts


def test_requirements_are_judged_by_medians_over_seeds():
    slow = family_line(ours_s=1.0, ratio=0.5, seed=101)
    lines = [family_line(), family_line(seed=102), slow]
    rows = {row[0]: row[1:] for row in requirement_rows(lines)}
    assert rows["grid 10⁴, K = 1, against HiPO"] == ["≥ 100×", "200×", "yes"]
    assert rows["`auto`, every case, share of HiGHS's own time"] == ["≤ 1.5×", "2×", "**no**"]
    assert rows["grid 10⁶, K = 1"] == ["≤ 60 s", "–", "–"]
    lost = {row[0]: row[3] for row in requirement_rows([slow])}
    assert lost["median over families"] == "**no**"


def test_a_peer_that_was_stopped_gives_a_lower_bound():
    line = family_line(methods={"highs hipo": "> 20"}, status="time limit")
    rows = {row[0]: row[2] for row in requirement_rows([line])}
    assert rows["grid 10⁴, K = 1, against HiPO"] == "> 200×"


def test_a_table_without_lines_stays_as_it_is():
    page = "<!-- bench:begin storm -->\nold\n<!-- bench:end -->"
    assert filled(page, [family_line()]) == page
    assert "7×" in filled(page, [family_line(peer="storm", ratio=7.0)])


def test_where_no_peer_wins_the_page_says_so():
    page = "<!-- bench:begin lost -->\nold\n<!-- bench:end -->"
    assert "None." in filled(page, [family_line()])
    assert "0.5×" in filled(page, [family_line(ratio=0.5)])
    assert filled(page, [{"name": "sweep"}]) == page


def test_every_family_of_a_run_has_a_figure(tmp_path):
    lines = [family_line(), family_line(size=1000), family_line(family="tree"),
             family_line(family="ring", start="single")]  # fmt: skip
    paths = family_figures(lines, tmp_path)
    assert [path.name for path in paths] == ["grid.png", "tree.png"]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in paths)
    page = filled("<!-- bench:begin family-figures -->\n<!-- bench:end -->", lines)
    assert page.count("](families/") == 2


def test_sweeps_are_judged_in_processor_time_and_by_the_clock():
    line = {"name": "grids", "size": 1024, "grid": "median", "radius": 0.1, "costs": 1,
            "median_ratio": 8.0, "clock_ratio": 16.0}  # fmt: skip
    label = "sweep of 1,024 states, K = 1, radius 0.1, against warm HiGHS"
    rows = {row[0]: row[2:] for row in requirement_rows([line])}
    assert rows[label] == ["8×; by the clock 16×", "by the clock"]
    slower = {row[0]: row[3] for row in requirement_rows([line | {"clock_ratio": 9.0}])}
    assert slower[label] == "**no**"
