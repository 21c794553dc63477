"""A release drawn: every interval within its bounds, totals beside them, on any axes."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from dp_cmdp import Database, Envelope, Plan, PrivacyBudget, release_database, release_looks
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.figures import release_figure, save_figure
from tests.marked import MARKS, leaks_from_file
from tests.unit.data.test_to_frame import auction, truth

BUDGET = PrivacyBudget(4, "1/1000")


@pytest.fixture(scope="module")
def looked():
    program = auction()
    rng = np.random.default_rng(0)
    found = release_looks(truth(program), BUDGET, program=program, plan=Plan("0.25"), rng=rng)
    assert found.totals is not None
    return found


def small(labels=("a", "b", "$c$")):
    envelope = Envelope(0.0, 1.0, radius=0.02, labels=labels)
    return release_database(Database(MARKS[:3], envelope), BUDGET, rng=np.random.default_rng(0))


def segments(ax, number):
    return [path[:, 1].tolist() for path in ax.collections[number].get_segments()]


def test_each_group_has_its_own_axes_and_totals_theirs(looked):
    figure = looked.plot()
    titles = [ax.get_title(loc="left") for ax in figure.axes]
    assert titles == ["price: 12", "budget: 2", f"totals: {len(looked.totals)}"]
    price, budget, totals = figure.axes
    frame = looked.to_frame(group="price")
    assert segments(price, 0) == frame[["public_lower", "public_upper"]].to_numpy().tolist()
    assert segments(price, 1) == frame[["lower", "upper"]].to_numpy().tolist()
    assert [t.get_text() for t in budget.get_xticklabels()] == ["Acme", "B&Co"]
    heights = [[bar.get_height() for bar in group] for group in totals.containers]
    rows = looked.to_frame("totals")
    assert heights == [rows["public_bound"].tolist(), rows["bound"].tolist()]


def test_an_axis_of_numbers_says_what_they_count(looked):
    bare = Envelope(0.0, 1.0, radius=0.02, shape=3)
    release = release_database(Database(MARKS[:3], bare), BUDGET, rng=np.random.default_rng(0))
    (ax,) = release.plot().axes
    assert ax.get_xlabel() == "position"
    (ax,) = small().plot().axes
    assert ax.get_xlabel() == ""
    assert [part.get_xlabel() for part in looked.plot().axes][-1] == "total: entries it weighs"


def test_one_part_can_be_drawn_on_given_axes(looked):
    figure = Figure()
    left, right = figure.subplots(ncols=2)
    assert looked.plot(group="budget", ax=left) is figure
    assert release_figure(looked, table="totals", ax=right) is figure
    assert left.collections
    assert right.containers
    alone = Figure().subplots()
    assert small().plot(ax=alone) is alone.get_figure()


def test_a_figure_can_be_saved_and_shows_no_private_value(tmp_path):
    path = save_figure(small().plot(), tmp_path / "release.png")
    assert not leaks_from_file(path)
    many = Envelope(0.0, 1.0, radius=0.02, shape=300)
    release = release_database(
        Database(np.full(300, 0.5), many), BUDGET, rng=np.random.default_rng(0)
    )
    save_figure(release.plot(), tmp_path / "many.png")


def test_what_cannot_be_drawn_is_refused_by_name(looked):
    with pytest.raises(InvalidArgumentError, match=r"ax has room for one part; .*price, budget"):
        looked.plot(ax=Figure().subplots())
    with pytest.raises(InvalidArgumentError, match="has no totals"):
        small().plot("totals")
    with pytest.raises(InvalidArgumentError, match="table must be one of entries, totals"):
        small().plot("looks")
    with pytest.raises(InvalidArgumentError, match="group must be None for totals"):
        looked.plot("totals", group="price")
    with pytest.raises(InvalidArgumentError, match="group must be one of values"):
        small().plot(group="price")
