"""One simulator: common random numbers, shared first steps, the same whoever computes it."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

import dp_cmdp as dp
from dp_cmdp._src.release.belief import NOTHING_KNOWN
from dp_cmdp._src.release.choose import Simulator
from dp_cmdp._src.release.measurement import Measurement

from .cases import SMALL, budget, dense, small

ASKED: dict[str, Any] = {"epsilon": 1, "delta": "1/1000"}


def frame(**how: Any) -> Any:
    return dp.simulate(small(), SMALL, **{**ASKED, "strategy": "entries", **how}).to_frame()


def test_draw_i_is_the_same_whatever_the_number_of_draws_and_workers() -> None:
    many = frame(draws=6)
    assert frame(draws=3).equals(many.head(3))
    assert frame(draws=6, workers=2).equals(many)
    assert not frame(draws=6, seed=1).equals(many)


def test_every_answer_is_marked_simulated_and_safe() -> None:
    runs = dp.simulate(small(), SMALL, **ASKED, strategy="queries", draws=4)
    assert len(runs) == len(list(runs)) == 4
    for found in runs:
        assert found.certificate
        assert found.release.simulated
        assert "SIMULATED" in repr(found.release)
        assert np.array(SMALL) in found.release.uncertainty
        assert dp.curator.compare(found, SMALL).violated == 0
    assert "SIMULATED" in repr(runs)


def test_the_frame_says_what_is_lost() -> None:
    table = frame(draws=8)
    assert (table["value"] <= table["best"] + 1e-9).all()
    assert table["loss"].between(0, 1).all()
    assert table["recovered"].between(-1e-9, 1).all()
    expected = (table["best"] - table["value"]) / table["best"]
    assert np.allclose(table["loss"], expected)


def test_larger_budgets_lose_less_draw_by_draw() -> None:
    """Common random numbers: the same noise, scaled."""
    losses = [frame(draws=10, epsilon=e, delta="1/1000")["loss"] for e in (1, 2, 4, 8)]
    assert all((b <= a + 1e-9).all() for a, b in pairwise(losses))


def test_a_minimisation_loses_upwards() -> None:
    theta = dp.Envelope(1, 3, radius=0.1, shape=2)
    problem = dp.ParametricLP(minimize=[1, 1], A=-np.eye(2), b=-theta[:])
    table = dp.simulate(problem, [1.5, 2], **ASKED, draws=4).to_frame()
    assert (table["value"] >= table["best"]).all()
    assert (table["loss"] > 0).all()
    assert table["recovered"].between(0, 1).all()


def test_strategies_with_the_same_first_step_share_its_outcome(monkeypatch: Any) -> None:
    drawn: list[str] = []
    usual = Measurement.draw

    def draw(self: Measurement, values: Any, source: Any) -> Any:
        drawn.append(self.name)
        return usual(self, values, source)

    monkeypatch.setattr(Measurement, "draw", draw)
    trial = Simulator(dense(2, 30), NOTHING_KNOWN).trial(0)
    asked = dp.Strategy.queries(), dp.Strategy.queries(safety=1.5)
    releases = [trial.release(strategy, budget(2)) for strategy in asked]
    assert drawn == ["entries", "queries", "queries"]
    assert releases[0].outcomes[0] is releases[1].outcomes[0]
    trial.release(asked[0], budget(2))
    assert len(drawn) == 3
