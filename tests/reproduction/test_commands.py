"""Every reproduction is one command: rows as JSON, records, manifest and figure."""

import json
from contextlib import contextmanager

import pytest

from dp_cmdp.baselines import Method
from dp_cmdp.cli import main
from dp_cmdp.experiments.sweep import Chunk

TABLE1_KEYS = {
    "method",
    "private",
    "promises_feasibility",
    "draws",
    "violated_percent",
    "worst_violation",
    "suboptimality_percent",
    "converged_percent",
    "seconds",
}


@contextmanager
def nothing_may_run():
    """Tables and figures come from stored records alone."""

    def refuse(*_, **__):
        raise AssertionError("a table or figure runs what should be a record")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Method, "run", refuse)
        patch.setattr(Chunk, "run", refuse)
        yield


def reproduce(name, folder, capsys):
    options = ["--quick", "--draws", "2", "--workers", "1", "--json", "--out", str(folder)]
    assert main(["reproduce", name, *options]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("name", ["ad-budget", "ad-epsilon", "ad-size", "munoz-ads"])
def test_a_command_leaves_rows_records_manifest_and_figure(name, tmp_path, capsys):
    rows = reproduce(name, tmp_path, capsys)["rows"]
    assert all(row["draws"] == 2 and row["ci_low"] <= row["ci_high"] for row in rows)
    for ending in ("sqlite", "csv", "manifest.json", "png"):
        assert (tmp_path / f"{name}.{ending}").stat().st_size > 0
    with nothing_may_run():
        assert reproduce(name, tmp_path, capsys)["rows"] == rows


def test_table_1_names_every_system_its_model_and_what_was_measured(tmp_path, capsys):
    document = reproduce("table1", tmp_path, capsys)
    with nothing_may_run():  # the verdicts are records too
        assert reproduce("table1", tmp_path, capsys) == document
    rows = {row["method"]: row for row in document["rows"]}
    assert all(set(row) >= TABLE1_KEYS for row in rows.values())
    assert rows["cummings2015"]["model"] == "joint differential privacy"
    assert rows["benvenuti2025-realised-mask"]["model"] == "none"
    assert rows["database"]["private"] == ["A", "b", "c"]
    sure = [row for row in rows.values() if row["promises_feasibility"]]
    assert all(row["violated_percent"] == row["worst_violation"] == 0 for row in sure)
    for name in ("hsu2014", "cummings2015", "munoz2021", "benvenuti2024", "benvenuti2025"):
        assert rows[name]["private"] == rows[name]["paper_private"]
