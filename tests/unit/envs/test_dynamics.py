"""Transitions, rewards and costs of a grid."""

import numpy as np
import pytest

from dp_cmdp.envs import GridModel, Hazards, layout_names, named_layout, parse_map
from tests.problems import same_matrix

LEFT, DOWN, RIGHT, UP = range(4)


@pytest.mark.parametrize("name", layout_names())
def test_every_row_of_the_transition_table_is_a_distribution(name):
    model = GridModel(named_layout(name))
    assert np.allclose(model.T.sum(axis=1), 1.0, atol=1e-12)
    assert model.T.data.min() > 0


def test_a_slip_goes_half_to_each_side():
    model = GridModel(parse_map("...\n.S?\n..G", slip=0.3))
    row = model.T[[4 * 4 + RIGHT]].toarray()[0]
    assert row.tolist() == pytest.approx([0, 0.15, 0, 0, 0, 0.7, 0, 0.15, 0])


def test_walls_and_borders_keep_the_agent_in_place():
    model = GridModel(parse_map("S#\n?G", slip=0.2))
    row = model.T[[0 * 4 + UP]].toarray()[0]
    assert row.tolist() == pytest.approx([1.0, 0, 0, 0])
    row = model.T[[0 * 4 + DOWN]].toarray()[0]
    assert row.tolist() == pytest.approx([0.2, 0, 0.8, 0])


def test_goals_and_walls_absorb_without_reward_or_cost():
    layout = named_layout("rooms")
    model = GridModel(layout)
    cmdp = model.cmdp(Hazards.draw(layout, seed=0).severity, tolerance=1.0)
    for cell in (*layout.goals, *layout.walls):
        assert model.T[[4 * cell + 1]].toarray()[0, cell] == 1.0
        assert not cmdp.r[cell].any()
        assert not cmdp.f[:, cell].any()


def test_the_reward_of_a_pair_counts_the_chance_of_entering_the_goal():
    model = GridModel(parse_map("...\n.S?\n..G", slip=0.3, step_reward=-2.0, goal_reward=10.0))
    assert model.r[7, RIGHT] == pytest.approx(-2.0 + 10.0 * 0.7)
    assert model.r[7, DOWN] == pytest.approx(-2.0 + 10.0 * 0.15)
    assert model.r[0, RIGHT] == -2.0


def test_costs_stand_in_the_row_of_their_kind_and_the_column_of_their_cell():
    model = GridModel(parse_map("S1?\n.2G", kinds=[{}, {"severity": (0.0, 2.0)}]))
    table = model.cost_table([0.1, 0.2, 0.3, 0.4])
    assert table.tolist() == [[0, 0.1, 0.2, 0, 0, 0], [0, 0, 0.3, 0, 0.4, 0]]
    assert model.worst_cost_table().tolist() == [[0, 1, 1, 0, 0, 0], [0, 0, 2, 0, 2, 0]]


@pytest.mark.parametrize("name", layout_names())
def test_the_parametric_model_at_the_data_is_the_true_model(name):
    layout = named_layout(name)
    model = GridModel(layout)
    hazards = Hazards.draw(layout, seed=1)
    found = model.parametric().at(hazards.database().values)
    expected = model.cmdp(hazards.severity, tolerance=hazards.tolerance)
    assert np.array_equal(found.f, expected.f)
    assert np.array_equal(found.f0, expected.f0)
    assert np.array_equal(found.r, expected.r)
    assert np.array_equal(found.mu, expected.mu)
    assert same_matrix(found.T, expected.T)


def test_the_robust_model_has_the_worst_costs_and_the_smallest_tolerances():
    layout = named_layout("two_hazards")
    model = GridModel(layout)
    robust = model.parametric().robust()
    assert np.array_equal(robust.f[:, :, 0], model.worst_cost_table())
    assert robust.f0.tolist() == [kind.tolerance[0] for kind in layout.kinds]


def test_a_cautious_policy_takes_a_short_safe_detour():
    corridor = GridModel(parse_map("#####\n#S?G#\n#...#\n#####", slip=0.0))
    assert corridor.cautious_costs() == pytest.approx([0.0])
    forced = GridModel(parse_map("S?G", slip=0.0, gamma=0.9))
    assert forced.cautious_costs(step_price=5.0) == pytest.approx([0.9])
