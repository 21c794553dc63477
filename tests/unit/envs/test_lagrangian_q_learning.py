"""The example of a learner trained through the wrapper."""

import json
import runpy
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parents[3] / "examples" / "lagrangian_q_learning.py"


def test_the_learner_beats_a_random_walk_and_is_certified_safe(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(sys, "argv", [str(EXAMPLE), "--quick", "--compare", "--out", str(tmp_path)])
    runpy.run_path(str(EXAMPLE), run_name="__main__")
    table, where = capsys.readouterr().out.split("curator only ")
    true = json.loads(Path(where.strip()).read_text())
    rows = [line.split() for line in table.splitlines()[2:4]]
    numbers = {name: [float(number) for number in columns] for name, *columns in rows}
    assert numbers["learner"][0] > numbers["uniform"][0]
    assert true["learner"] <= numbers["learner"][1]
    assert table.endswith("learner certified safe for everything the release allows: yes\n")
