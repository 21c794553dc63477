"""Pictures: the public one cannot depend on private data; the others show what they are given."""

import numpy as np
import pytest

from dp_cmdp.envs import GridModel, Hazards, layout_names, named_layout, parse_map, random_layout
from dp_cmdp.envs.drawing import cell_side, draw_agent, draw_grid, draw_text
from dp_cmdp.envs.window import Window

LAYOUT = parse_map("S1?\n#2G", kinds=[{}, {"severity": (0.0, 2.0)}])


@pytest.mark.parametrize("name", layout_names())
def test_a_picture_has_whole_cells_and_three_channels(name):
    layout = named_layout(name)
    image = draw_agent(draw_grid(layout), layout, agent=layout.starts[0][0])
    side = cell_side(layout)
    assert image.shape == (layout.rows * side, layout.cols * side, 3)
    assert image.dtype == np.uint8


def test_large_grids_get_small_cells():
    assert cell_side(random_layout(25, seed=0)) == 28
    assert cell_side(LAYOUT) == 64


def test_every_sort_of_cell_looks_different():
    side = cell_side(LAYOUT)
    image = draw_grid(LAYOUT)
    tiles = [image[r * side :, c * side :][:side, :side] for r in range(2) for c in range(3)]
    looks = {tile[2:-2, 2:-2].tobytes() for tile in tiles}
    assert len(looks) == 6


def test_a_worse_severity_is_a_darker_cell():
    model = GridModel(LAYOUT)
    means = []
    for severity in (0.0, 0.5, 1.0):
        image = draw_grid(LAYOUT, costs=model.cost_table([severity, 0, 0, 0]), hatched=False)
        means.append(image[4:60, 68:124].mean())
    assert means[0] > means[1] > means[2]


def test_the_agent_changes_its_own_cell_only():
    grid = draw_grid(LAYOUT)
    image = draw_agent(grid, LAYOUT, agent=2)
    changed = (image != grid).any(axis=2)
    assert changed[:64, 128:].any()
    changed[:64, 128:] = False
    assert not changed.any()


def test_text_shows_the_map_with_the_agent_in_it():
    assert draw_text(LAYOUT, agent=0) == "@1?\n#2G\n"


def test_text_shows_costs_in_tenths_of_the_public_bound():
    costs = GridModel(LAYOUT).cost_table([0.55, 1.0, 0.0, 0.4])
    assert draw_text(LAYOUT, agent=0, costs=costs) == "@59\n#2G\n"


def test_without_a_display_the_window_prints_the_text(capsys):
    import matplotlib as mpl

    mpl.use("agg")
    window = Window(title="test", fps=1000)
    window.show(draw_grid(LAYOUT), text="the grid")
    window.close()
    assert capsys.readouterr().out == "the grid\n"


def test_with_a_display_the_window_shows_every_picture(monkeypatch):
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.setattr(Window, "available", staticmethod(lambda: True))
    window = Window(title="test", fps=1000)
    grid = draw_grid(LAYOUT)
    moved = draw_agent(grid, LAYOUT, agent=2)
    window.show(grid, text="")
    window.show(moved, text="")
    assert window._drawn is not None
    assert np.array_equal(np.asarray(window._drawn[1].get_array()), moved)
    window.close()
    window.close()
    assert window._drawn is None


def test_the_shipped_hazards_change_the_curators_picture_only():
    layout = named_layout("paper")
    truth = GridModel(layout).cost_table(Hazards.of(layout, None).severity)
    assert not np.array_equal(draw_grid(layout), draw_grid(layout, costs=truth, hatched=False))
