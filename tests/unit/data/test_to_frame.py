"""Tables out: what was released, with the labels of its user and nothing else."""

import numpy as np
import pandas as pd
import pytest

from dp_cmdp import (
    Affine,
    Database,
    Envelope,
    ParametricLP,
    Plan,
    PrivacyBudget,
    Release,
    release_blocks,
    release_database,
    release_looks,
    saturation,
)
from dp_cmdp.errors import InvalidArgumentError

N, M = 6, 2
GROUPS, ADVERTISERS = [f"group {k}" for k in range(N)], ["Acme", "B&Co"]


def auction() -> ParametricLP:
    price = Envelope(
        0.2, 1.0, radius=0.02, labels={"group": GROUPS, "advertiser": ADVERTISERS}, name="price"
    )
    budget = Envelope(30.0, 60.0, radius=0.5, labels={"advertiser": ADVERTISERS})
    envelope = Envelope.join({"price": price, "budget": budget})
    x, entry = np.arange(N * M), envelope.index("price").ravel()
    return ParametricLP(
        envelope,
        c=np.ones(N * M),
        A=Affine((M, N * M), at=(np.tile([0, 1], N), x), entry=entry),
        b=Affine(M, at=[0, 1], entry=envelope.index("budget")),
        A_ub=np.kron(np.eye(N), np.ones(M)),
        b_ub=np.full(N, 40.0),
    )


def truth(program: ParametricLP) -> Database:
    rng = np.random.default_rng(3)
    prices = pd.DataFrame(rng.uniform(0.3, 0.9, (N, M)), index=GROUPS, columns=ADVERTISERS)
    budgets = pd.Series([40.0, 50.0], index=ADVERTISERS)
    return Database.from_frame({"price": prices, "budget": budgets}, program.envelope)


@pytest.fixture(scope="module")
def looked() -> Release:
    program = auction()
    found = release_looks(
        truth(program),
        PrivacyBudget(4, "1/1000"),
        program=program,
        plan=Plan("0.25"),
        rng=np.random.default_rng(0),
    )
    assert found.totals is not None
    return found


def test_entries_stand_beside_their_public_bounds(looked):
    frame = looked.to_frame()
    assert frame.index.names == ["group", "label"]
    assert frame.loc[("budget", "B&Co"), "lower"] == looked.lower[-1]
    assert frame["public_upper"].tolist() == [1.0] * (N * M) + [60.0] * M
    envelope = looked.envelope
    assert frame["saturated"].mean() == saturation(looked, envelope).whole
    wide = looked.to_frame(group="price")["upper"].unstack()[ADVERTISERS].loc[GROUPS]
    assert wide.to_numpy().tolist() == looked.group("price")["upper"].tolist()


def test_every_total_has_a_row_with_its_bound_and_what_was_known_without_it(looked):
    frame, totals = looked.to_frame("totals"), looked.totals
    assert len(frame) == len(totals) > 0
    assert frame.index.name == "total"
    assert frame["bound"].tolist() == totals.q.tolist()
    assert frame["estimate"].tolist() == totals.estimate.tolist()
    assert frame["entries"].tolist() == np.diff(totals.W.indptr).tolist()
    assert frame["support"].tolist() == (totals.step * totals.support).tolist()
    W, envelope = totals.W.toarray(), looked.envelope
    for column, low, high in (
        ("public_bound", envelope.lower, envelope.upper),
        ("interval_bound", looked.lower, looked.upper),
    ):
        most = np.maximum(W * low, W * high).sum(axis=1)
        np.testing.assert_allclose(frame[column], most, rtol=1e-12)
    assert (frame["interval_bound"] <= frame["public_bound"] * (1 + 1e-12)).all()
    assert (frame["look"] == 2).all()
    assert (frame["share"] == 0.75).all()
    assert (frame["epsilon"] == 3.0).all()
    assert "price, group" in frame["weighs"][0]


def test_the_scale_of_a_total_is_that_of_its_noise(looked):
    """Support/scale of a truncated Laplace law is ln(1 + …/δ): the same in steps and in units."""
    frame, noise = looked.to_frame("totals"), looked.noise[-1]
    np.testing.assert_allclose(frame["support"] / frame["scale"], noise.support / noise.scale)


def test_looks_add_up_to_the_guarantee(looked):
    frame = looked.to_frame("looks")
    assert frame.index.tolist() == [1, 2]
    assert frame["block"].tolist() == ["database", "totals"]
    assert frame["share"].sum() == 1.0
    assert frame["epsilon"].sum() == float(looked.guarantee.epsilon)


def test_a_release_without_totals_or_looks_has_empty_tables():
    envelope = Envelope(0, 1, radius=0.1, labels=["a", "b"])
    database = Database([0.5, 0.5], envelope)
    release = release_database(database, PrivacyBudget(1, 0.001), rng=np.random.default_rng(0))
    assert release.to_frame("totals").empty
    assert "bound" in release.to_frame("totals")
    assert release.to_frame("looks")["share"].tolist() == [1.0]
    for wrong in ("total", "", "rows"):
        with pytest.raises(InvalidArgumentError, match="table must be one of entries, totals"):
            release.to_frame(wrong)
    with pytest.raises(InvalidArgumentError, match="group must be one of values"):
        release.to_frame(group="price")
    with pytest.raises(InvalidArgumentError, match="group must be None"):
        release.to_frame("looks", group="values")


def test_blocks_are_shown_without_bounds_that_they_do_not_have():
    program = auction()
    release = release_blocks(
        truth(program),
        PrivacyBudget(2, "1/1000"),
        program=program,
        alphas={"A": "1/2", "b": "1/2"},
        rng=np.random.default_rng(0),
    )
    assert list(release.to_frame().columns) == ["group", "entry", "estimate", "lower", "upper"]
    assert release.to_frame("totals").empty
    assert len(release.to_frame("looks")) == 2
