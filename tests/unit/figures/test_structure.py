"""Golden structure: panels, labels, legends, artists; and no text on another or beyond the edge."""

from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from dp_cmdp import (
    Envelope,
    LinearProgram,
    PrivacyBudget,
    import_gymnasium,
    release_and_synthesize,
    solve,
)
from dp_cmdp.advice.adviser import advise
from dp_cmdp.audit.report import AuditReport
from dp_cmdp.envs import HazardGridEnv
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.experiments import cost_of_privacy, hsu_cmdp
from dp_cmdp.figures import (
    ad_epsilon_figure,
    ad_headline_figure,
    ad_size_figure,
    advice_figure,
    audit_figure,
    bounds_figure,
    cost_of_privacy_figure,
    hsu_cmdp_figure,
    idea_figure,
    policy_figure,
    release_figure,
    safe_policy_figure,
    solution_figure,
)
from dp_cmdp.problems.ad_auction import ad_auction_program
from dp_cmdp.reproductions import REPRODUCTIONS
from tests.drawn import collisions, covered_axes, cut_off, legend_labels, rendered, span
from tests.figure_rows import ROWS, ad_headline_rows, ad_size_rows, hsu_cmdp_rows

#: Reproduction: number of panels, labels of y, entries of the legend.
GOLDEN = {
    "ad-headline": (1, {"sub-optimality (%)"}, 6),
    "ad-epsilon": (3, {"sub-optimality (%)", "violated constraints (%)"}, 8),
    "ad-size": (1, {"sub-optimality (%)"}, 9),
    "ad-budget": (3, {"sub-optimality (%)", ""}, 4),
    "cost-of-privacy": (3, {"cost of privacy ξ (%)", ""}, 6),
    "hsu-cmdp": (1, {"balance equations missed, Σ|residual|"}, 3),
    "table1": (3, {""}, 0),
    "munoz-ads": (2, {"overrun budgets (%)", "lost revenue (millionths)"}, 4),
    "mean-shift": (3, {"mean shift (units of Δ)", ""}, 4),
    "bounds": (4, {"loss (% of the optimum)"}, 6),
    "scale": (6, {"loss (%)", ""}, 5),
}


def picture(name: str) -> Figure:
    rows = ROWS[name]()
    if name == "cost-of-privacy":
        more = {
            "published": cost_of_privacy.published_curves(),
            "hazards": cost_of_privacy.named_hazards(),
        }
        return cost_of_privacy_figure(rows, note="a note of some length " * 12, **more)
    return REPRODUCTIONS[name].study().figure(rows)


def private(layout: str):
    curator = HazardGridEnv(layout, access="curator")
    made = release_and_synthesize(
        curator.model(),
        curator.database(),
        PrivacyBudget(4, "1/1000"),
        rng=np.random.default_rng(0),
    )
    return made, curator.layout


@pytest.fixture(scope="module", params=["corridor", "two_hazards", "rooms"])
def made(request):
    return private(request.param)


def check_texts(figure: Figure) -> None:
    assert collisions(figure) == []
    assert cut_off(figure) == []


def test_every_reproduction_has_a_golden_structure():
    assert set(GOLDEN) == set(ROWS) == set(REPRODUCTIONS)


@pytest.mark.parametrize("name", GOLDEN)
def test_panels_labels_and_legend_are_those_of_the_study(name):
    panels, labels, entries = GOLDEN[name]
    figure = picture(name)
    assert len(figure.axes) == panels
    assert {ax.get_ylabel() for ax in figure.axes} == labels
    assert len(legend_labels(figure)) == len(set(legend_labels(figure))) == entries
    check_texts(figure)


@pytest.mark.parametrize("name", GOLDEN)
def test_legends_lie_beside_the_panels_and_curves_carry_no_labels(name):
    figure = picture(name)
    assert covered_axes(figure) == []
    if name not in ("table1", "cost-of-privacy"):
        assert not any(ax.texts for ax in figure.axes)


@pytest.mark.parametrize("name", sorted(set(GOLDEN) - {"table1"}))
def test_whatever_has_a_label_is_explained_and_looks_like_nothing_else(name):
    figure = picture(name)
    told = set(legend_labels(figure))
    for ax in figure.axes:
        lines = [line for line in ax.lines if not str(line.get_label()).startswith("_")]
        assert {line.get_label() for line in lines} <= told
        looks = {(x.get_color(), x.get_marker(), x.get_linestyle()) for x in lines}
        assert len(looks) == len({line.get_label() for line in lines})


@pytest.mark.parametrize("name", GOLDEN)
def test_no_axis_is_empty_beyond_what_is_drawn(name):
    figure = rendered(picture(name))
    for ax in figure.axes:
        if ax.lines and ax.axison:
            level = [other for other in figure.axes if other.get_ylim() == ax.get_ylim()]
            (left, _), (right, _) = span(ax)
            top = span(*(other for other in level if other.lines))[1][1]
            assert left <= 0.25
            assert right >= 0.75
            assert top >= 0.7


def test_the_axis_of_losses_ends_with_them_and_what_is_cut_is_told():
    rows = [row | {"ci_high": 20.0, "suboptimality_percent": 15.0} for row in ROWS["ad-epsilon"]()]
    figure = ad_epsilon_figure(rows)
    assert figure.axes[0].get_ylim()[1] == figure.axes[1].get_ylim()[1] <= 32
    low = [row | {"ci_low": -80.0, "suboptimality_percent": -50.0} for row in rows]
    figure = ad_epsilon_figure([*rows[:-1], low[-1]])
    assert figure.axes[0].get_ylim()[0] == figure.axes[1].get_ylim()[0] >= -15
    assert "lower than -10 % (violates)" in legend_labels(figure)


def test_an_interval_that_reaches_nought_is_drawn_to_the_end_of_a_logarithmic_axis():
    rows = [row | {"loss_low_percent": 0.0} for row in ROWS["bounds"]()]
    for ax in bounds_figure(rows).axes:
        (band,) = ax.collections
        low = band.get_datalim(ax.transData).y0
        assert ax.get_yscale() == "log"
        assert 0 < low < ax.get_ylim()[0]


@pytest.mark.parametrize("sizes", [(5, 10), (5, 10, 20), (5, 100)])
def test_the_axis_of_sizes_ends_with_the_data(sizes):
    (ax,) = ad_size_figure(ad_size_rows(sizes)).axes
    low, high = ax.get_xlim()
    assert 0.9 * sizes[0] <= low <= sizes[0]
    assert sizes[-1] <= high <= 1.1 * sizes[-1]
    assert [text.get_text() for text in ax.get_xticklabels()] == [str(size) for size in sizes]


@pytest.mark.parametrize(
    "draw",
    [
        lambda ax: ad_headline_figure(ad_headline_rows(), ax=ax),
        lambda ax: ad_size_figure(ad_size_rows(), ax=ax),
        lambda ax: hsu_cmdp_figure(hsu_cmdp_rows(), converged=hsu_cmdp.CONVERGED, ax=ax),
        lambda ax: solution_figure(
            solve(LinearProgram([1.0, 1.0], A=[[1.0, 1.0]], b=[4.0])), ax=ax
        ),
    ],
)
def test_a_picture_with_one_panel_can_be_drawn_on_given_axes(draw):
    figure = Figure()
    left, right = figure.subplots(ncols=2)
    assert draw(right) is figure
    assert len(figure.axes) == 2
    assert not left.has_data()
    assert right.has_data()


def test_a_policy_is_drawn_with_its_release_its_proof_and_what_no_data_would_earn(made):
    answer, layout = made
    figure = answer.plot(layout)
    titles = [ax.get_title(loc="left").split("\n")[0] for ax in figure.axes]
    assert titles == [
        f"private policy, {answer.release.guarantee.budget}",
        "released: severity of the candidates",
        "released: bounds on weighted totals",
        "worst-case cost ≤ tolerance: proved",
        "value (discounted reward)",
    ]
    told = " ".join(text.get_text() for text in figure.axes[-1].get_yticklabels())
    assert f"{answer.robust.value:.5g}" in told
    assert f"{answer.safe.value:.5g}" in told
    check_texts(figure)


def test_candidates_are_hatched_by_whether_the_release_excludes_the_worst(made):
    answer, layout = made
    figure = answer.plot(layout)
    worst = layout.envelope().upper[layout.envelope().index("severity")]
    upper = answer.release.group("severity")["upper"].ravel()
    cells = [cell for kind in layout.kinds for cell in kind.cells]
    opened = {cell for cell, u, w in zip(cells, upper, worst, strict=True) if u >= w}
    hatches = [patch.get_hatch() for patch in figure.axes[0].patches if patch.get_hatch()]
    assert hatches.count("////") == len(opened)
    assert len(hatches) == len(layout.candidates)


def test_pictures_of_answers_have_no_text_on_another(made):
    answer, layout = made
    check_texts(answer.release.plot())
    check_texts(answer.safe.plot())
    check_texts(answer.safe.plot(layout))
    check_texts(policy_figure(answer.safe, layout=layout, release=answer.release))


@pytest.mark.parametrize("name", ["lake", "cells"])
def test_imported_environments_are_drawn_with_their_release(name):
    model = import_gymnasium("FrozenLake-v1", gamma=0.9)
    which: dict[str, Any] = {"states": [5, 7]} if name == "lake" else {"cells": [(1, 1), (1, 3)]}
    severity, tolerance = Envelope(0, 1, radius=0.1, shape=2), Envelope(0.2, 0.5, radius=0.02)
    model = model.with_private_costs(on="entering", severity=severity, tolerance=tolerance, **which)
    database = model.database([1.0, 0.1], tolerance=0.4)
    rng = np.random.default_rng(0)
    answer = release_and_synthesize(model, database, PrivacyBudget(4, "1/1000"), rng=rng)
    figure = answer.plot(model)
    assert figure.axes[1].get_title(loc="left").startswith("released: severity of the candidates")
    check_texts(figure)


def test_the_map_alone_fits_given_axes(made):
    answer, layout = made
    figure = Figure()
    ax = figure.subplots()
    assert answer.plot(layout, ax=ax) is figure
    assert figure.axes == [ax]
    assert answer.safe.plot(ax=Figure().subplots()).axes[0].patches


def test_the_idea_has_three_maps_and_says_what_is_earned():
    answer, layout = private("corridor")
    figure = rendered(idea_figure(answer, layout=layout))
    assert [ax.get_title(loc="left")[0] for ax in figure.axes] == ["1", "2", "3"]
    told = " ".join(text.get_text() for text in figure.axes[2].texts)
    assert f"{answer.safe.value:.2f}" in told
    assert f"{answer.robust.value:.2f}" in told
    check_texts(figure)


def test_advice_audits_and_solutions_have_no_text_on_another():
    advice = advise(ad_auction_program(2, 2), epsilons=[1, 4], deltas=[0.1, 0.01], draws=4)
    for figure in (
        advice_figure(advice),
        audit_figure(AuditReport((), ())),
        solve(LinearProgram([3.0, 2.0], A=[[1.0, 1.0]], b=[4.0])).plot(),
    ):
        check_texts(figure)
        assert covered_axes(figure) == []


def test_what_a_picture_has_no_room_for_is_refused_by_name():
    answer, _ = private("corridor")
    with pytest.raises(InvalidArgumentError, match="ax has room for the costs alone"):
        safe_policy_figure(answer.safe, robust=answer.robust, ax=Figure().subplots())
    with pytest.raises(InvalidArgumentError, match="release needs a layout"):
        answer.safe.plot(release=answer.release)
    two, hazards = private("two_hazards")
    with pytest.raises(InvalidArgumentError, match="one kind of hazard"):
        idea_figure(two, layout=hazards)
    assert release_figure(two.release).axes
