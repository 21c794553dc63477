"""The bounds experiment orders its curves rightly; figures are drawn from records."""

import numpy as np
import pytest

from dp_cmdp.advice.adviser import advise
from dp_cmdp.data.affine import Affine
from dp_cmdp.data.envelope import Envelope
from dp_cmdp.experiments import bounds
from dp_cmdp.figures.advice import advice_figure
from dp_cmdp.figures.bounds import bounds_figure
from dp_cmdp.figures.style import save_figure
from dp_cmdp.program.parametric import ParametricLP


@pytest.fixture(scope="module")
def rows():
    import pandas as pd

    sweep = bounds.sweep(draws=1, simulated=60)
    small = [chunk for chunk in sweep.chunks() if '"small"' in chunk.setting][:2]
    return bounds.rows(pd.DataFrame([row for chunk in small for row in chunk.run()]))


def test_certified_bounds_lie_between_the_loss_and_the_papers_theorem(rows):
    assert len(rows) == 2
    for row in rows:
        assert 0 < row["loss_percent"] <= row["certified_mean_percent"]
        assert row["certified_mean_percent"] < row["repaired_percent"]
        assert row["loss_percent"] < row["sampled_percent"] <= row["certified_certain_percent"]


def test_the_figure_of_bounds_is_drawn_from_rows(rows, tmp_path):
    assert save_figure(bounds_figure(rows), tmp_path / "bounds.png").stat().st_size > 1000


def test_the_figure_of_advice_is_drawn_from_advice(tmp_path):
    every = np.arange(3)
    A = Affine((1, 3), at=(np.zeros(3, dtype=int), every), entry=every)
    envelope = Envelope(0.0, 1.0, radius=0.1, shape=3)
    program = ParametricLP(envelope, c=np.ones(3), A=A, b=[1.0], upper=1.0)
    advice = advise(program, epsilons=[1, 4], deltas=[0.1], draws=4)
    assert save_figure(advice_figure(advice), tmp_path / "advice.png").stat().st_size > 1000
