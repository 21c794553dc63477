"""A grid under design: what an address says, and what a click does."""

from urllib.parse import parse_qsl, urlsplit

import pytest

from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.explorer.grid_design import GridDesign, with_table
from dp_cmdp.explorer.settings import address

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


def candidate(design):
    return design.grid().kinds[0].cells[0]


@pytest.mark.parametrize(
    "design",
    [
        GridDesign(),
        DRAWN.clicked(candidate(DRAWN), "hazard", severity=0.35),
        GridDesign(layout="blank-5x7").clicked(0, "wall"),
        GridDesign(horizon=40),
        GridDesign(layout="two_hazards").clicked(26, "hazard", kind=1, severity=0.1 + 0.2),
    ],
)
def test_an_address_brings_back_the_same_design(design):
    parts = dict(parse_qsl(urlsplit(address("grid", design.query())).query))
    assert GridDesign.from_query(parts) == design


@pytest.mark.parametrize(
    ("parts", "named"),
    [
        ({"epsilon": "much"}, "epsilon"),
        ({"delta": "0.7"}, "delta"),
        ({"strategy": "best"}, "strategy"),
        ({"radius": "nan"}, "radius"),
        ({"noise": "1.5"}, "noise"),
        ({"layout": "../../etc/passwd"}, "layout"),
        ({"horizon": "0"}, "horizon"),
        ({"horizon": "401"}, "horizon"),
        ({"layout": "random-2-0"}, "size"),
        ({"rows": "S.G/.?"}, "map"),
        ({"rows": "/".join(["S" + "." * 70 + "G?"])}, "rows"),
        ({"hazards": "0.1:--"}, "severity"),
    ],
)
def test_an_address_that_cannot_be_used_is_refused_by_name(parts, named):
    with pytest.raises(InvalidArgumentError, match=named):
        GridDesign.from_query(parts)


@pytest.mark.parametrize("tool", ["hazard", "candidate", "wall"])
def test_a_second_click_takes_the_first_back(tool):
    design = GridDesign(hazards=())
    cell = candidate(design) if tool == "hazard" else 11
    once = design.clicked(cell, tool)
    assert once != design
    again = once.clicked(cell, tool)
    assert again.problem().envelope == design.problem().envelope
    assert (again.values()["cost"] == design.values()["cost"]).all()


@pytest.mark.parametrize(
    ("cell", "tool", "kind"),
    [(0, "hazard", 0), (0, "goal", 0), (-1, "wall", 0), (100, "wall", 0), (1, "x", 0),
     (1, "candidate", 1)],
)  # fmt: skip
def test_a_click_that_makes_no_layout_is_refused(cell, tool, kind):
    with pytest.raises(InvalidArgumentError):
        GridDesign().clicked(cell, tool, kind=kind)


def test_a_table_becomes_invented_hazards_and_its_errors_show_nothing_of_it(tmp_path):
    path = tmp_path / "hazards.csv"
    path.write_text("row,col,severity\n0,6,0.25\n1,2,0.75\n")
    design = with_table(GridDesign(), path)
    assert design.hazards == ((0, 6, 0.25), (0, 12, 0.75))
    path.write_text("row,col,severity\n0,6,57913579\n")
    with pytest.raises(InvalidArgumentError) as error:
        with_table(GridDesign(), path)
    assert "57913579" not in str(error.value)
