"""Pictures of decisions, releases, advice, reports and comparisons; and their files."""

from __future__ import annotations

import copy
import os
import pickle
import re
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image

import dp_cmdp as dp
from dp_cmdp.errors import InvalidArgumentError
from tests.figures.drawn import check_texts, legend_labels, texts, titles

BUDGET: dict[str, Any] = {"epsilon": 2, "delta": "1/1000"}
TRUTH = [1, 1.2, 10]


def program() -> dp.ParametricLP:
    theta = dp.Envelope([0.5, 0.5, 8], [2, 2, 12], radius=[0.1, 0.1, 0.5])
    return dp.ParametricLP(maximize=[3, 2], A=[[theta[0], theta[1]]], b=[theta[2]])


def auction(ads: int = 3, words: int = 5) -> dp.ParametricLP:
    """Advertisers with private budgets share keywords: x has labels of two levels."""
    bids = np.random.default_rng(0).uniform(1, 3, (ads, words))
    sellers, keywords = ([f"{name} {k}" for k in range(count)]
                         for name, count in (("$ad", ads), ("word", words)))  # fmt: skip
    theta = dp.Envelope(5, 20, radius=0.5, labels=pd.Index(sellers, name="advertiser"))
    spent, shown = np.zeros((ads, ads * words)), np.tile(np.eye(words), ads)
    for k in range(ads):
        spent[k, k * words : (k + 1) * words] = bids[k]
    return dp.ParametricLP(
        maximize=bids.ravel(),
        A=np.vstack([spent, shown]),
        b=[*(theta[k] for k in range(ads)), *[4] * words],
        variables={"advertiser": sellers, "keyword": keywords},
    )


@pytest.fixture(scope="module")
def found() -> Any:
    return dp.solve(program(), TRUTH, strategy="entries", **BUDGET)


@pytest.fixture(scope="module")
def sold() -> Any:
    return dp.solve(auction(), [10, 8, 15], strategy="entries", **BUDGET)


def test_the_robust_answer_is_beside_a_point(found: Any) -> None:
    figure = found.plot()
    assert legend_labels(figure) == ["this answer", "robust, no data"]
    heights = [bar.get_height() for bar in figure.axes[0].patches]
    assert heights == [*found.x.tolist(), *found.robust.x.tolist()]
    alone = dp.answer(program()).plot()
    assert legend_labels(alone) == ["this answer"]
    check_texts(alone)


def test_simulated_answers_say_so() -> None:
    (answer,) = dp.simulate(program(), TRUTH, draws=1, **BUDGET)
    for figure in (answer.plot(), answer.release.plot()):
        assert any("SIMULATED" in text for text in texts(figure))
        check_texts(figure)


def test_a_release_is_drawn_within_its_public_bounds(sold: Any) -> None:
    (ax,) = sold.release.plot().axes
    assert [t.get_text() for t in ax.get_xticklabels()] == [r"\$ad 0", r"\$ad 1", r"\$ad 2"]
    public, released = (part.get_segments() for part in ax.collections)
    assert np.array(public)[:, :, 1].tolist() == [[5, 20]] * 3
    ends = np.stack([sold.release.lower, sold.release.upper], axis=1)
    assert np.array(released)[:, :, 1].tolist() == ends.tolist()


def test_queries_are_drawn_as_shares_of_what_the_public_bounds_allow() -> None:
    theta = dp.Envelope(0, 1, radius=0.01, labels=["a", "b", "c", "d"])
    lp = dp.ParametricLP(maximize=[1], A=[[theta[0] + theta[1] + theta[2]]], b=[2], upper=4)
    release = dp.publish(lp, [0.2, 0.3, 0.4, 0.5], strategy="queries", **BUDGET)
    figure = release.plot()
    queries = figure.axes[1]
    assert titles(figure) == ["values: 4", "released linear queries: 1"]
    assert [t.get_text() for t in queries.get_yticklabels()] == ["1: a, b, c"]
    public, released = queries.patches
    assert (public.get_x(), public.get_width()) == (0.0, 1.0)
    known = release.uncertainty
    top = known.q[known.W[:, [0]].toarray().ravel() > 0] / known.W.max() / 3
    assert released.get_x() + released.get_width() == pytest.approx(min(1.0, top[0]))
    assert released.get_x() <= 0.3 <= released.get_x() + released.get_width()
    assert "released query" in legend_labels(figure)
    check_texts(figure)


def test_advice_says_which_way_privacy_grows() -> None:
    advice = dp.advise(program(), epsilon=[1, 4], delta=1e-3, draws=4)
    figure = advice.plot()
    for ax in figure.axes:
        assert ax.get_xlabel() == "ε (smaller is more private)"
        assert [t.get_text() for t in ax.get_xticklabels()] == ["1", "4"]
    assert "robust answer, no data" in legend_labels(figure)
    check_texts(figure)


def test_an_audit_is_a_table_of_subjects_and_layers() -> None:
    def honest(values: Any, rng: np.random.Generator) -> Any:
        return rng.integers(0, 2, size=values.shape).astype(float)

    def leaking(values: Any, rng: np.random.Generator) -> Any:
        return values + rng.laplace(scale=0.05, size=values.shape)

    pair, claim = ([0.0], [1.0]), {"epsilon": 1, "delta": "1/1000"}
    report = dp.audit.audit(leaking, pair, **claim)
    told = texts(report.plot())
    assert any("NOT all holds" in text for text in told)
    assert any(re.search(r"FAILED, ε ≥ \d", text) for text in told)
    check_texts(report.plot())
    assert not any("FAILED" in t for t in texts(dp.audit.audit(honest, pair, **claim).plot()))


@pytest.fixture(scope="module")
def compared() -> Any:
    curator = dp.envs.HazardGridEnv("paper", access="curator")
    answer = dp.solve(curator.model(), curator.database(), strategy="entries", **BUDGET)
    return dp.curator.compare(answer, curator.database())


def test_a_comparison_has_three_maps_and_is_for_the_curator_only(compared: Any) -> None:
    figure = compared.plot()
    assert any("CURATOR ONLY" in text for text in texts(figure))
    values = (compared.value, compared.robust, compared.best)
    names = ("this answer", "robust, no data", "no privacy")
    told = [f"{name}: value {value:.5g}" for name, value in zip(names, values, strict=True)]
    assert titles(figure)[:3] == told
    assert "true hazard: the deeper, the worse" in legend_labels(figure)
    check_texts(figure)


def test_a_comparison_shows_the_truth_in_its_picture_only(compared: Any) -> None:
    assert "_found" not in repr(compared)
    for copied in (pickle.loads(pickle.dumps(compared)), copy.copy(compared)):
        assert copied == compared
        assert copied._best is None
        with pytest.raises(InvalidArgumentError, match="compare"):
            copied.plot()


def test_notebooks_show_a_picture_also_of_a_process_without_pyplot(found: Any) -> None:
    assert pickle.loads(pickle.dumps(found.plot()))._repr_png_().startswith(b"\x89PNG")


def test_files_hold_the_picture_and_nothing_about_the_machine(found: Any, tmp_path: Path) -> None:
    path = dp.figures.save_figure(found.plot(), tmp_path / "new" / "answer.png")
    with Image.open(path) as image:
        assert image.format == "PNG"
        assert set(image.info) <= {"Software", "dpi"}
        assert image.info["Software"] == "dp_cmdp"
    assert list(path.parent.iterdir()) == [path]
    again = dp.figures.save_figure(found.plot(), tmp_path / "again.png")
    assert path.read_bytes() == again.read_bytes()


@pytest.mark.skipif(os.name != "posix", reason="modes of files")
def test_a_picture_for_the_curator_can_be_read_by_its_owner_only(
    compared: Any, found: Any, tmp_path: Path
) -> None:
    path = dp.figures.save_figure(compared.plot(), tmp_path / "compared.png")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    (tmp_path / "any.txt").touch()
    public = dp.figures.save_figure(found.plot(), tmp_path / "public.png")
    assert public.stat().st_mode == (tmp_path / "any.txt").stat().st_mode
