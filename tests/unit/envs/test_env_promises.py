"""Small promises of the environments, where a weak release would hide their loss."""

import numpy as np
import pytest

from dp_cmdp.accounting.budget import PrivacyBudget
from dp_cmdp.envs import HazardGridEnv, Hazards, PrivateCostWrapper, named_layout
from dp_cmdp.envs.drawing import draw_grid, draw_text
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.release.entries import release_database
from tests.problems import hazard_grid


def test_a_learner_sees_the_released_cost_where_it_is_below_the_public_one():
    truth = HazardGridEnv("islands", access="curator", hazards=0)
    budget = PrivacyBudget(20, "1/1000")
    release = release_database(truth.database(), budget, rng=np.random.default_rng(0))
    upper = release.group("severity")["upper"]
    public = HazardGridEnv("islands")
    env = PrivateCostWrapper(public, release)
    cells = public.grid_model.cells
    below = np.flatnonzero(upper < 0.9)
    assert below.size > 3
    for place in below:
        env.reset(options={"start": int(cells[place])})
        *_, info = env.step(0)
        assert info["cost"] == upper[place]


def test_the_public_picture_hatches_the_candidates_and_colours_none():
    layout = named_layout("islands")
    for mode in ("ansi", "rgb_array"):
        env = HazardGridEnv(layout, render_mode=mode)
        state, _ = env.reset(seed=0)
        if mode == "ansi":
            assert env.render() == draw_text(layout, agent=state)
        else:
            shown = np.asarray(env.render()) == draw_grid(layout, hatched=True)
            assert shown.mean() > 0.95  # all but the agent


def test_an_error_about_a_hazard_outside_the_candidates_does_not_say_where():
    layout = named_layout("islands")
    free = next(cell for cell in range(layout.num_cells) if cell not in layout.candidates)
    for place in (divmod(free, layout.cols), (layout.rows + 7, 3)):
        with pytest.raises(InvalidArgumentError) as caught:
            Hazards.place(layout, {place: 0.5}, tolerance=layout.kinds[0].tolerance[0])
        assert not any(letter.isdigit() for letter in str(caught.value))


def test_the_reported_costs_of_several_kinds_are_the_learners_own():
    env = hazard_grid("dp_cmdp/HazardGridTwoKinds-v0")
    env.reset(options={"start": int(env.grid_model.cells[0])})
    *_, info = env.step(0)
    before = env._costs.copy()
    info["cost"][:] = 7.0
    assert np.array_equal(env._costs, before)
