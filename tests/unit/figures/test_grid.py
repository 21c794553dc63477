"""The pictures of policies on their grids: what they explain, and to whom."""

from typing import Any

import numpy as np
import pytest
from matplotlib.patches import FancyBboxPatch
from matplotlib.quiver import Quiver

from dp_cmdp import Envelope, import_gymnasium
from dp_cmdp.cmdp.policy import Policy
from dp_cmdp.envs import named_layout
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.figures import comparison_figure, policy_figure
from dp_cmdp.figures.grid_map import FAINT, LONGEST_ARROW, candidate_names, entry_names
from dp_cmdp.figures.grid_view import policy_view
from tests.rooms import Locked

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
        for word in ("may be hazardous", "goal", "action"):
            assert word in labels(figure)
        lines = [line for ax in figure.axes for line in ax.lines if np.size(line.get_xydata()) > 2]
        assert ("likeliest path" in labels(figure)) == bool(lines)
        assert ("wall" in labels(figure)) == bool(named_layout(name).walls)
    assert "true hazard" in labels(curators)
    assert "true hazard" not in labels(public)


@pytest.mark.parametrize("seen", [True, False])
def test_cells_never_visited_are_explained_where_there_are_some(seen):
    layout = named_layout("islands")
    policy = Policy.uniform(layout.num_cells, 4)
    visits = np.full((layout.num_cells, 4), 0.1)
    fewer = visits.copy()
    fewer[1] = 0.1 if seen else 0.0
    look: dict[str, Any] = {"layout": layout, "title": "t"}
    severity = np.zeros((layout.num_kinds, layout.num_cells))
    for figure in (
        policy_figure(policy, occupancy=fewer, **look),
        comparison_figure([policy] * 2, occupancies=[visits, fewer], severity=severity, **look),
    ):
        faint = [part for part in figure.findobj(Quiver) if part.get_alpha() == FAINT]
        assert any(part.N for part in faint) == (not seen)
        assert ("never visited" in labels(figure)) == (not seen)


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


def imported(name):
    if name == "lake":
        model = import_gymnasium("FrozenLake-v1", gamma=0.9)
        return model.with_private_costs(
            states=[5, 7], on="entering", severity=Envelope(0, 1, shape=2), tolerance=0.5
        )
    if name == "cliff":
        return import_gymnasium("CliffWalking-v1", gamma=0.9)
    if name == "taxi":
        place = lambda state: (state // 100, state // 20 % 5)  # noqa: E731
        return import_gymnasium("Taxi-v4", gamma=0.9, cell=place)
    return import_gymnasium(
        Locked(), gamma=0.9, key=lambda env: (env.place, env.opened), cell=lambda key: key[0]
    )


@pytest.mark.parametrize("name", ["lake", "cliff", "taxi", "several states in a cell"])
def test_any_environment_with_a_grid_has_its_picture(name):
    model = imported(name)
    policy = Policy.uniform(*model.public.r.shape)
    figure = policy_figure(policy, occupancy=model.occupancy(policy), layout=model, title="t")
    figure.draw_without_rendering()
    box = figure.legends[0].get_window_extent()
    assert box.x0 >= 0
    assert box.y0 >= 0
    assert box.x1 <= figure.bbox.x1
    assert not any(box.overlaps(ax.get_window_extent()) for ax in figure.axes)


@pytest.mark.parametrize("name", ["lake", "cliff"])
@pytest.mark.parametrize(("action", "toward"), [(0, "left"), (1, "down"), (2, "right"), (3, "up")])
def test_arrows_point_where_actions_lead(name, action, toward):
    """CliffWalking counts its actions from up, FrozenLake from left; both slip or fall."""
    model = imported(name)
    number = action if name == "lake" else (3, 2, 1, 0)[action]
    policy = Policy.deterministic(np.full(model.public.num_states, number), 4)
    view = policy_view(model, policy, model.occupancy(policy))
    place = ("left", "down", "right", "up").index(toward)
    assert view.weights[:, place].tolist() == [1.0] * (view.rows * view.cols)


def test_where_a_cell_has_several_states_arrows_show_where_it_is_left_to():
    model = imported("several states in a cell")
    right = Policy.deterministic(np.full(model.public.num_states, 2), 4)
    view = policy_view(model, right, model.occupancy(right))
    assert view.path == (0, 1, 2)
    assert view.weights[0].tolist() == [0, 0, 1, 0]
    assert view.walls == (6,)
    assert set(view.goals) == {2, 5}
    assert np.nansum(view.visits) == pytest.approx(1 + 0.9)


def test_an_environment_without_a_grid_and_what_does_not_fit_are_refused():
    model = import_gymnasium("Taxi-v4", gamma=0.9)
    policy = Policy.uniform(501, 6)
    with pytest.raises(InvalidArgumentError, match="cell=lambda key"):
        policy_figure(policy, occupancy=model.occupancy(policy), layout=model, title="t")
    lake = imported("lake")
    with pytest.raises(InvalidArgumentError, match="policy must have probs of shape"):
        policy_figure(Policy.uniform(16, 4), occupancy=np.ones((16, 4)), layout=lake, title="t")


@pytest.mark.parametrize("name", LAYOUTS)
def test_arrows_are_as_long_as_actions_are_likely_and_lie_in_the_middle_of_their_cell(name):
    layout = named_layout(name)
    rng = np.random.default_rng(0)
    policy = Policy(rng.dirichlet(np.ones(4), layout.num_cells))
    figure = policy_figure(policy, layout=layout, title="t")
    quivers: list[Any] = [part for part in figure.axes[0].collections if isinstance(part, Quiver)]
    ends: dict[tuple[int, int], list] = {}
    for part in quivers:
        for x, y, u, v in zip(part.X, part.Y, part.U, part.V, strict=True):
            cell = round(float(x)), round(float(y))
            ends.setdefault(cell, []).append(((float(x), float(y)), (float(u), float(v))))
    for (col, row), arrows in ends.items():
        probs = policy.probs[layout.cell(row, col)]
        taken = sorted(p for p in probs if p > 0.01)
        assert sorted(np.hypot(u, v) for _, (u, v) in arrows) == pytest.approx(
            [LONGEST_ARROW * p for p in taken]
        )
        places = [at for (x, y), (u, v) in arrows for at in ((x, y), (x + u, y + v))]
        low, high = np.min(places, axis=0), np.max(places, axis=0)
        assert (low + high) / 2 == pytest.approx([col, row])


def test_frames_of_hazards_stay_inside_their_cells():
    layout = named_layout("two_hazards")
    policy = Policy.uniform(layout.num_cells, 4)
    severity = np.full((layout.num_kinds, layout.num_cells), 0.3)
    severity[0, 5] = 1.0
    occupancy = layout.occupancy(policy)
    figure = comparison_figure(
        [policy] * 3,
        occupancies=[occupancy] * 3,
        layout=layout,
        severity=severity,
        title="t",
        values=(3.0, 1.0, 4.0),
    )
    assert [ax.get_title(loc="left") for ax in figure.axes] == [
        "private: value 3",
        "robust, no data: value 1",
        "no privacy: value 4",
    ]
    figure.draw_without_rendering()
    for ax in figure.axes:
        frames = [part for part in ax.patches if isinstance(part, FancyBboxPatch)]
        assert len(frames) == layout.num_cells
        cell = ax.transData.transform([(0, 0), (1, 1)])
        side = abs(cell[1, 0] - cell[0, 0])
        widest = max(part.get_linewidth() for part in frames) * figure.dpi / 72
        for part in frames:
            box = part.get_path().get_extents(part.get_transform())
            assert box.width + widest <= side + 1.0
            assert box.height + widest <= side + 1.0


def test_a_comparison_needs_as_many_values_as_policies():
    layout = named_layout("islands")
    policy = Policy.uniform(layout.num_cells, 4)
    severity = np.zeros((layout.num_kinds, layout.num_cells))
    look = {"layout": layout, "severity": severity, "title": "t"}
    with pytest.raises(InvalidArgumentError, match="values as many"):
        comparison_figure([policy] * 2, occupancies=[policy.probs] * 2, values=[1.0], **look)


def test_kinds_of_hazards_have_letters_and_candidates_numbers():
    layout = named_layout("two_hazards")
    view = policy_view(layout, Policy.uniform(64, 4), np.full((64, 4), 0.1))
    names = candidate_names(view)
    assert list(names) == list(layout.candidates)
    for cell, text in names.items():
        kinds = "".join(
            letter for letter, kind in zip("ab", layout.kinds, strict=True) if cell in kind.cells
        )
        assert text.endswith(kinds)
        assert text[: -len(kinds)].isdigit()


def test_of_a_cell_with_two_hazards_each_severity_has_a_name_of_its_own():
    layout = named_layout("two_hazards")
    view = policy_view(layout, Policy.uniform(64, 4), np.full((64, 4), 0.1))
    names = entry_names(view, "severity")
    fire, flood = (kind.cells for kind in layout.kinds)
    assert set(fire) & set(flood)
    assert len(set(names)) == len(names) == len(fire) + len(flood)
    assert [name[-1] for name in names] == ["a"] * len(fire) + ["b"] * len(flood)
    cells = {text.rstrip("ab"): cell for cell, text in candidate_names(view).items()}
    assert [cells[name[:-1]] for name in names] == [*fire, *flood]
