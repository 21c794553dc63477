"""The pictures of policies on their grids: what they explain, and to whom."""

import numpy as np
import pytest

from dp_cmdp.cmdp.policy import Policy
from dp_cmdp.envs import named_layout
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.figures import comparison_figure, policy_figure

LAYOUTS = ("islands", "rooms", "corridor", "two_hazards")


def pictures(name):
    """The public picture and the curator's one, of a uniform policy."""
    layout = named_layout(name)
    policy = Policy.uniform(layout.num_cells, 4)
    severity = np.zeros((layout.num_kinds, layout.num_cells))
    severity[0, next(iter(layout.candidates))] = 1.0
    occupancy = np.full((layout.num_cells, 4), 0.1)
    look = {"layout": layout, "title": "t"}
    both = {"occupancies": (occupancy, occupancy), "severity": severity}
    return (
        policy_figure(policy, occupancy=occupancy, **look),
        comparison_figure((policy, policy), **both, **look),
    )


def test_what_does_not_fit_the_grid_is_refused():
    layout = named_layout("islands")
    policy, look = Policy.uniform(layout.num_cells, 4), {"layout": layout, "title": "t"}
    with pytest.raises(InvalidArgumentError, match="occupancy must have one row per cell"):
        policy_figure(policy, occupancy=np.ones((3, 4)), **look)
    severity = np.zeros((layout.num_kinds, layout.num_cells))
    with pytest.raises(InvalidArgumentError, match="policies must be two"):
        comparison_figure([policy], occupancies=[policy.probs], severity=severity, **look)


def labels(figure) -> str:
    (legend,) = figure.legends
    return " | ".join(text.get_text() for text in legend.get_texts())


@pytest.mark.parametrize("name", LAYOUTS)
def test_the_legend_explains_every_mark(name):
    public, curators = pictures(name)
    for figure in (public, curators):
        for word in ("may be hazardous", "likeliest path", "goal", "action", "never visited"):
            assert word in labels(figure)
        assert ("wall" in labels(figure)) == bool(named_layout(name).walls)
    assert "true hazard" in labels(curators)
    assert "true hazard" not in labels(public)


@pytest.mark.parametrize("name", LAYOUTS)
def test_the_legend_lies_inside_the_figure_and_covers_no_grid(name):
    for figure in pictures(name):
        figure.draw_without_rendering()
        box = figure.legends[0].get_window_extent()
        assert box.x0 >= 0
        assert box.y0 >= 0
        assert box.x1 <= figure.bbox.x1
        for ax in figure.axes:
            assert not box.overlaps(ax.get_window_extent())
