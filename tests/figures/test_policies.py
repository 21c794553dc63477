"""Pictures of policies: one statement of what is proved, and a map where there is a grid."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from matplotlib.quiver import Quiver

import dp_cmdp as dp
from dp_cmdp.figures import Places, View
from tests.figures.drawn import check_texts, legend_labels, texts, titles

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


@pytest.fixture(scope="module")
def joined() -> Any:
    """Certified by what is known of cost and limit together."""
    model = dp.envs.HazardGridEnv("paper").model()
    truth = {"cost": [0.9, 0.9, 0, 0, 0.9, 0.9], "limit": 0.6}
    answers = dp.simulate(model, truth, strategy="queries", draws=4, **BUDGET)
    found = max(answers, key=lambda answer: answer.to_frame()["cost"].iloc[0])
    frame = found.to_frame()
    assert found.certificate.verified
    assert frame["cost"].iloc[0] > 1.1 * frame["limit"].iloc[0]
    return found


@pytest.fixture(scope="module", params=["paper", "rooms", "two_hazards", "lake"])
def model(request: pytest.FixtureRequest) -> Any:
    name = request.param
    return lake() if name == "lake" else dp.envs.HazardGridEnv(name).model()


def shows(text: str, number: float) -> bool:
    """Whether a number stands in a text, to three digits."""
    return any(abs(float(n) - number) <= 5e-3 * abs(number) for n in re.findall(NUMBER, text))


def bars(figure: Any) -> list[float]:
    """Lengths of the bars of the panel that compares costs with limits."""
    (ax,) = (ax for ax in figure.axes if "verified" in ax.get_title(loc="left"))
    return [bar.get_width() for bar in ax.patches]


def test_a_policy_says_once_what_is_proved_of_it(joined: Any) -> None:
    told = [text for text in texts(joined.plot()) if "verified" in text]
    assert len(told) == 1
    assert re.match(PROOF, told[0])


def test_numbers_of_different_databases_are_not_shown_beside_each_other(joined: Any) -> None:
    told = " ".join(texts(joined.plot()))
    row = joined.to_frame().iloc[0]
    assert not (shows(told, row["cost"]) and shows(told, row["limit"]))


def test_no_bar_of_a_verified_policy_goes_beyond_its_limit(joined: Any) -> None:
    found = bars(joined.plot())
    assert len(found) == 1
    assert 0.9 < max(found) <= 1.0


def test_what_is_not_proved_says_so(joined: Any) -> None:
    table = np.zeros(joined.policy.probabilities.shape)
    table[:, 2] = 1.0  # to the right, wherever
    policy = dp.Policy(table)
    failed = dp.certify(joined.problem, policy, joined.release)
    assert not failed.verified
    figure = replace(joined, decision=policy, certificate=failed).plot()
    assert not any(EVERY in text for text in texts(figure))
    assert any(text.startswith("not verified") for text in texts(figure))
    assert max(bars(figure)) > 1.0


def test_without_data_everything_is_proved_of_the_envelope() -> None:
    figure = dp.answer(dp.envs.HazardGridEnv("corridor").model()).plot()
    assert any("cost ≤ limit for every database of the envelope" in t for t in texts(figure))
    assert "no data read" in texts(figure)
    assert not any("robust" in text for text in texts(figure))


def test_what_is_nearly_equal_looks_so(joined: Any) -> None:
    ax = joined.plot().axes[-1]
    assert ax.get_title(loc="left").startswith("value")
    low, high = ax.get_xlim()
    assert high - low >= 0.05 * abs(joined.value)
    told = " ".join(label.get_text() for label in ax.get_yticklabels())
    robust = joined.problem.value(joined.robust.policy, joined.estimate)
    for name, number in (("robust", robust), ("this", joined.value), ("bound", joined.bound)):
        assert re.search(rf"{name}[^:]*: {re.escape(f'{number:.5g}')}", told)


def test_simulated_noise_is_named_in_the_picture(joined: Any) -> None:
    assert any("SIMULATED" in text for text in texts(joined.plot()))


def test_only_what_the_release_says_has_a_panel(joined: Any) -> None:
    entries = simulated(joined.problem, "entries")
    assert [title.split(":")[0] for title in titles(entries.plot())[:2]] == ["policy", "released"]
    assert not any("queries" in title for title in titles(entries.plot()))
    assert titles(joined.plot())[1] == "released linear queries: 1"
    assert not any("cost of a visit" in title for title in titles(joined.plot()))


def test_candidates_have_their_intervals_and_their_numbers_on_the_map(model: Any) -> None:
    figure = simulated(model, "entries").plot()
    places = places_of(model)
    main, beside = figure.axes[:2]
    numbers = {int(text.get_text()) for text in main.texts}
    assert numbers == set(range(1, len(places.candidates) + 1))
    ticks = {int(label.get_text()) for label in beside.get_xticklabels()}
    assert ticks <= numbers
    assert "released interval" in legend_labels(figure)


def test_a_candidate_whose_worst_is_excluded_is_paler() -> None:
    model = lake()
    found = simulated(model, "entries", {"cost": [1, 0, 1, 0], "limit": 0.1})
    places = places_of(model)
    shares = places.shares(found.release.lower, found.release.upper)[0]
    assert shares[5] > shares[7]
    image: Any = found.plot().axes[0].images[0].get_array()
    side = image.shape[0] // 4
    green = [image[side + 8 : 2 * side - 8, col * side + 8 : (col + 1) * side - 8, 1].min()
             for col in (1, 3)]  # fmt: skip
    assert green[0] < green[1]
    assert any("the deeper, the worse" in label for label in legend_labels(found.plot()))


def test_every_picture_has_texts_that_can_be_read(model: Any) -> None:
    for strategy in ("entries", "queries"):
        found = simulated(model, strategy)
        check_texts(found.plot())
        check_texts(found.release.plot())
    check_texts(dp.answer(model).plot())


def test_walls_goals_and_starts_are_those_of_the_layout() -> None:
    for name in dp.envs.layout_names():
        layout = dp.envs.named_layout(name)
        places = places_of(dp.envs.HazardGridEnv(layout).model())
        assert places.shape == (layout.rows, layout.cols)
        assert set(places.walls) == set(layout.walls)
        assert set(places.goals) == set(layout.goals)
        assert set(places.starts) == {cell for cell, _ in layout.starts}
        assert set(places.candidates) == set(layout.candidates)


def test_holes_and_the_goal_of_a_lake_end_episodes() -> None:
    places = places_of(lake())
    assert places.walls == ()
    assert places.goals == (15,)  # holes are candidates
    assert tuple(places.candidates) == HOLES
    bare = places_of(dp.gymnasium.load("FrozenLake-v1", gamma=0.9))
    assert bare.goals == (*HOLES, 15)


def test_arrows_are_the_actions_and_the_path_follows_them() -> None:
    layout = dp.envs.parse_map(["S.?", "..G"])
    places = places_of(dp.envs.HazardGridEnv(layout).model())
    actions = [1, 2, 1, 2, 2, 0]  # down, then right
    view = View.of(places, dp.Policy.deterministic(actions, 4))
    assert view.path == (0, 3, 4, 5)
    assert view.weights[[0, 3, 4]].argmax(axis=1).tolist() == [1, 2, 2]
    assert not view.weights[5].any()
    assert np.isnan(view.visits[5])


def test_several_states_of_a_cell_are_shown_as_one() -> None:
    taxi = dp.gymnasium.load(
        "Taxi-v4", gamma=0.9, cell=lambda key: (key // 100, key // 20 % 5),
        costs=dp.PrivateCost(cells=[(2, 2)], cost=dp.Envelope(0, 1, radius=0.1), limit=5),
    )  # fmt: skip
    found = dp.answer(taxi)
    places = places_of(taxi)
    assert places.shape == (5, 5)
    view = View.of(places, found.policy)
    assert np.nansum(view.visits) > 1.0
    sums = view.weights.sum(axis=1)
    assert np.all((np.abs(sums - 1.0) < 1e-9) | (sums == 0.0))
    check_texts(found.plot())


@pytest.mark.parametrize("never", [True, False])
def test_actions_in_cells_never_visited_are_faint_and_explained(never: bool) -> None:
    layout = dp.envs.parse_map(["S.G", "#?#"]).replace(slip=0.0)
    model = dp.envs.HazardGridEnv(layout).model()
    sideways = [2, 2, 0, 0, 3, 0] if never else [2, 1, 0, 0, 3, 0]
    policy = dp.Policy.deterministic(sideways, 4)
    figure = replace(dp.answer(model), decision=policy).plot()
    arrows = [part for part in figure.axes[0].collections if isinstance(part, Quiver)]
    assert ("action in a cell never visited" in legend_labels(figure)) == never
    assert sum(part.N > 0 for part in arrows) == 1 + never


def test_large_grids_have_no_numbers() -> None:
    figure = dp.answer(dp.envs.random_hazard_grid(size=25, layout_seed=1).model()).plot()
    assert not figure.axes[0].texts
    check_texts(figure)


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
