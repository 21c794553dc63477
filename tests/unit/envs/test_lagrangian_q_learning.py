"""The example of a learner trained through the wrapper."""

import runpy
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parents[3] / "examples" / "lagrangian_q_learning.py"


def test_the_learner_beats_a_random_walk_within_the_released_tolerance(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [str(EXAMPLE), "--quick"])
    runpy.run_path(str(EXAMPLE), run_name="__main__")
    table = capsys.readouterr().out
    numbers = {
        row[0]: [float(n) for n in row[1:4]] for row in map(str.split, table.splitlines()[2:4])
    }
    assert numbers["learner"][0] > numbers["uniform"][0]
    assert numbers["learner"][2] <= numbers["learner"][1]
    assert table.endswith("learner within the released tolerance: yes\n")
