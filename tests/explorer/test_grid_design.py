"""A grid under design: what an address says, and what a click does."""

from urllib.parse import parse_qsl, urlsplit

import pytest

from dp_cmdp.envs import GridModel, layout_names
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.explorer.grid_design import TOOLS, GridDesign, with_table
from dp_cmdp.explorer.settings import address, slider_place, slider_text

DRAWN = GridDesign(
    layout="rooms",
    epsilon="1/3",
    delta="1e-6",
    strategy="auto",
    noise=7,
    radius=2.5,
    limit=0.75,
    seed=3,
).clicked(14, "candidate")


def envelope(layout):
    return GridModel(layout).parametric().envelope


def candidate(design):
    return design.grid().kinds[0].cells[0]


@pytest.mark.parametrize(
    "design",
    [
        GridDesign(),
        DRAWN,
        DRAWN.clicked(candidate(DRAWN), "hazard", severity=0.35),
        GridDesign(layout="random-12-4"),
        GridDesign(layout="blank-5x7").clicked(0, "wall"),
        GridDesign(layout="two_hazards", hazards=()),
        GridDesign(layout="two_hazards").clicked(26, "hazard", kind=1, severity=0.1 + 0.2),
    ],
)
def test_an_address_brings_back_the_same_design(design):
    parts = dict(parse_qsl(urlsplit(address("grid", design.query())).query))
    assert GridDesign.from_query(parts) == design


def test_an_address_names_only_what_differs_from_the_start():
    assert GridDesign().query() == {}
    assert GridDesign(epsilon="1").query() == {"epsilon": "1"}


@pytest.mark.parametrize(
    ("parts", "named"),
    [
        ({"epsilon": "-1"}, "epsilon"),
        ({"epsilon": "much"}, "epsilon"),
        ({"delta": "0.7"}, "delta"),
        ({"strategy": "best"}, "strategy"),
        ({"radius": "0"}, "radius"),
        ({"radius": "nan"}, "radius"),
        ({"limit": "1e9"}, "limit"),
        ({"limit": "x"}, "limit"),
        ({"noise": "1.5"}, "noise"),
        ({"seed": "-1"}, "seed"),
        ({"layout": "nowhere"}, "layout"),
        ({"layout": "../../etc/passwd"}, "layout"),
        ({"layout": "random-2-0"}, "size"),
        ({"layout": "random-999-0"}, "size"),
        ({"layout": "blank-65x5"}, "size"),
        ({"rows": "S.G/.?"}, "map"),
        ({"rows": "S.G/.?x"}, "map"),
        ({"rows": "/".join(["S" + "." * 70 + "G?"])}, "rows"),
        ({"rows": "x" * 9000}, "rows"),
        ({"hazards": "0.1"}, "hazards"),
        ({"hazards": "0.1:--"}, "severity"),
    ],
)
def test_an_address_that_cannot_be_used_is_refused_by_name(parts, named):
    with pytest.raises(InvalidArgumentError, match=named):
        GridDesign.from_query(parts)


@pytest.mark.parametrize("name", [*layout_names(), "random-6-1", "blank-4x4"])
def test_factors_of_one_leave_a_layout_as_it_is(name):
    base, grid = GridDesign(layout=name).grid(), GridDesign(layout=name, radius=1.0).grid()
    assert envelope(base) == envelope(grid)
    twice = GridDesign(layout=name, limit=2.0, radius=0.5).grid()
    for old, new in zip(base.kinds, twice.kinds, strict=True):
        assert new.limit == tuple(2.0 * end for end in old.limit)
        assert new.severity_radius == 0.5 * (old.severity_radius or 0.0)


def test_a_radius_is_cut_at_the_range():
    grid = GridDesign(radius=100.0).grid()
    assert grid.kinds[0].severity_radius == 1.0
    low, high = grid.kinds[0].limit
    assert grid.kinds[0].limit_radius == high - low


@pytest.mark.parametrize("tool", ["hazard", "candidate", "wall"])
def test_a_second_click_takes_the_first_back(tool):
    design = GridDesign(hazards=())
    cell = candidate(design) if tool == "hazard" else 11
    once = design.clicked(cell, tool)
    assert once != design
    again = once.clicked(cell, tool)
    assert again.problem().envelope == design.problem().envelope
    assert (again.values()["cost"] == design.values()["cost"]).all()


def test_start_and_goal_move():
    design = GridDesign(layout="blank-4x4").clicked(1, "start").clicked(14, "goal")
    assert design.grid().starts == ((1, 1.0),)
    assert design.grid().goals == (14,)


def test_a_hazard_goes_with_its_candidate():
    design = GridDesign(hazards=())
    cell = candidate(design)
    with_hazard = design.clicked(cell, "hazard", severity=0.6)
    assert with_hazard.values()["cost"].max() == 0.6
    assert with_hazard.clicked(cell, "free").values()["cost"].max() == 0.0


@pytest.mark.parametrize(
    ("cell", "tool", "kind"),
    [(0, "hazard", 0), (0, "goal", 0), (-1, "wall", 0), (100, "wall", 0), (1, "x", 0),
     (1, "candidate", 1)],
)  # fmt: skip
def test_a_click_that_makes_no_layout_is_refused(cell, tool, kind):
    with pytest.raises(InvalidArgumentError):
        GridDesign().clicked(cell, tool, kind=kind)


def test_every_tool_is_known():
    for tool in TOOLS:
        cell = candidate(GridDesign()) if tool == "hazard" else 55
        GridDesign().clicked(cell, tool)


def test_a_table_becomes_invented_hazards_and_its_errors_show_nothing_of_it(tmp_path):
    path = tmp_path / "hazards.csv"
    path.write_text("row,col,severity\n0,6,0.25\n1,2,0.75\n")
    design = with_table(GridDesign(), path)
    assert design.hazards == ((0, 6, 0.25), (0, 12, 0.75))
    path.write_text("row,col,severity\n0,6,57913579\n")
    with pytest.raises(InvalidArgumentError) as error:
        with_table(GridDesign(), path)
    assert "57913579" not in str(error.value)


def test_stops_of_a_slider_are_found_from_numbers_and_back():
    for eighths in range(-24, 33):
        assert slider_place(slider_text(eighths / 8, base=2), base=2) == eighths / 8
    assert slider_place("lots", base=2) == 0
