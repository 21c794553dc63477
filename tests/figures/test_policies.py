"""Pictures of policies: one statement of what is proved, and a map where there is a grid."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import dp_cmdp as dp
from dp_cmdp.figures import Places, View
from tests.figures.drawn import check_texts, texts, titles

EVERY = "for every database the release allows"
NUMBER = r"[-+]?\d+(?:\.\d*)?(?:e[-+]?\d+)?"
PROOF = rf"^verified: cost ≤ limit {EVERY} \(slack {NUMBER}\)$"
BUDGET: dict[str, Any] = {"epsilon": 2, "delta": "1/1000"}
HOLES = (5, 7, 11, 12)


def places_of(problem: Any) -> Places:
    found = Places.of(problem)
    assert found is not None
    return found


def simulated(model: Any, strategy: str, values: Any = None) -> Any:
    envelope = model.envelope
    truth = (envelope.lower + envelope.upper) / 2 if values is None else values
    (found,) = dp.simulate(model, truth, strategy=strategy, draws=1, **BUDGET)
    assert found.certificate.verified
    return found


def lake() -> Any:
    limit = dp.Envelope(0.05, 0.2, radius=0.01)
    holes = dp.PrivateCost(dp.Envelope(0, 1, radius=0.1), limit, states=HOLES, on="entering")
    return dp.gymnasium.load("FrozenLake-v1", gamma=0.95, costs=holes)


@pytest.fixture(scope="module", params=["paper", "rooms", "two_hazards", "lake"])
def model(request: pytest.FixtureRequest) -> Any:
    name = request.param
    return lake() if name == "lake" else dp.envs.HazardGridEnv(name).model()


def test_without_data_everything_is_proved_of_the_envelope() -> None:
    figure = dp.answer(dp.envs.HazardGridEnv("corridor").model()).plot()
    assert any("cost ≤ limit for every database of the envelope" in t for t in texts(figure))
    assert "no data read" in texts(figure)
    assert not any("robust" in text for text in texts(figure))


def test_every_picture_has_texts_that_can_be_read(model: Any) -> None:
    for strategy in ("entries", "queries"):
        found = simulated(model, strategy)
        check_texts(found.plot())
        check_texts(found.release.plot())
    check_texts(dp.answer(model).plot())


def test_arrows_are_the_actions_and_the_path_follows_them() -> None:
    layout = dp.envs.parse_map(["S.?", "..G"])
    places = places_of(dp.envs.HazardGridEnv(layout).model())
    actions = [1, 2, 1, 2, 2, 0]  # down, then right
    view = View.of(places, dp.Policy.deterministic(actions, 4))
    assert view.path == (0, 3, 4, 5)
    assert view.weights[[0, 3, 4]].argmax(axis=1).tolist() == [1, 2, 2]
    assert not view.weights[5].any()
    assert np.isnan(view.visits[5])


def test_without_a_grid_there_are_the_proof_and_the_values(tmp_path: Any) -> None:
    costs = dp.PrivateCost(
        states=[1], cost=dp.Envelope(0, 1, radius=0.1), limit=dp.Envelope(4, 6, radius=0.1)
    )
    T = [[[1, 0], [0, 1]], [[0, 1], [1, 0]]]
    model = dp.ParametricCMDP(T, [[0, 0], [1, 1]], gamma=0.9, costs=costs)
    assert Places.of(model) is None
    found = simulated(model, "entries", {"cost": [0.6], "limit": 5})
    told = titles(found.plot())
    assert re.match(PROOF, told[0])
    assert told[1].startswith("value")
    assert len(told) == 2
    check_texts(found.plot())
    lost = dp.Answer.load(simulated(lake(), "entries").save(tmp_path / "answer"))
    assert len(lost.plot().axes) == 2  # its file does not hold the grid
    check_texts(dp.answer(model.at([0.6, 5.0])).plot())
