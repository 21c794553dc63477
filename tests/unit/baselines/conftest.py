"""Small programs for the tests of the compared methods, as one fixture."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from dp_cmdp.data.affine import Affine
from dp_cmdp.data.database import Database
from dp_cmdp.data.envelope import Envelope
from dp_cmdp.problems.ad_auction import auction_program
from dp_cmdp.program.parametric import ParametricLP

GROUPS, ADVERTISERS = 4, 3
PUBLIC_PRICES = np.random.default_rng(5).uniform(0.2, 1.0, (GROUPS, ADVERTISERS))


def auction(blocks: str = "Abc") -> ParametricLP:
    """An ad auction in which only the given blocks read the database.

    Prices of A and of c are the same database entries when both are private, as in the paper.
    """
    parts = {}
    if set(blocks) & set("Ac"):
        parts["prices"] = Envelope(0.0, 1.0, radius=0.1, shape=(GROUPS, ADVERTISERS))
    if "b" in blocks:
        parts["budgets"] = Envelope(0.9, 1.1, radius=0.001, shape=ADVERTISERS)
    envelope = Envelope.join(parts)
    group = {"A": "prices", "b": "budgets", "c": "prices"}
    private = {block: envelope.index(group[block]) for block in blocks}
    return auction_program(envelope, private=private, prices=PUBLIC_PRICES)


def draw(program: ParametricLP, seed: int) -> Database:
    """A database of :func:`auction`, some of whose prices are zero."""
    rng = np.random.default_rng(seed)
    values = {}
    for name, shape in program.envelope.groups:
        low, high = (0.0, 1.0) if name == "prices" else (0.9, 1.1)
        values[name] = rng.uniform(low, high, shape)
        if name == "prices":
            values[name][rng.random(shape) < 0.2] = 0.0
    return Database(values, program.envelope)


def awkward() -> ParametricLP:
    """Entries read several times, with constants and factors that no float sum holds exactly."""
    envelope = Envelope(-0.3, 0.7, radius=0.1, shape=4)
    return ParametricLP(
        envelope,
        c=Affine(3, constant=[1.0, 0.7, 0.1], at=[0, 2], entry=[0, 3], coefficient=0.3),
        A=Affine(
            (2, 3),
            constant=[[1.1, 0.3, 0.2], [0.1, 1.7, 0.9]],
            at=([0, 0, 1, 1], [0, 1, 1, 2]),
            entry=[0, 1, 1, 2],
            coefficient=[0.1, 0.7, 1 / 3, -0.3],
        ),
        b=Affine(2, constant=[2.3, 1.9], at=[0, 1], entry=[2, 3], coefficient=[0.7, 1 / 3]),
        A_ub=[[1.0, 1.0, 1.0]],
        b_ub=[2.0],
        upper=1.5,
    )


def draw_awkward(program: ParametricLP, seed: int) -> Database:
    return Database(np.random.default_rng(seed).uniform(-0.3, 0.7, 4), program.envelope)


WEIGHTS, GAINS, CAPACITY = np.array([0.5, 0.8, 0.3, 0.6]), np.array([0.5, 0.55, 0.45, 0.52]), 1.2


def knapsack(block: str) -> tuple[ParametricLP, np.ndarray]:
    """A program whose answer every entry of one private block moves, and that block's values."""
    every = np.arange(4)
    if block == "b":
        envelope, values = Envelope([1.0], [2.0], radius=0.01), np.array([CAPACITY])
    else:
        envelope = Envelope(0.1, 5.0, radius=0.1, shape=4)  # wide: noise does not reach the ends
        values = WEIGHTS if block == "A" else GAINS
    program = ParametricLP(
        envelope,
        c=Affine(4, at=every, entry=every) if block == "c" else GAINS,
        A=Affine((1, 4), at=(0, every), entry=every)
        if block == "A"
        else Affine((1, 4), constant=WEIGHTS[None]),
        b=Affine(1, at=[0], entry=[0]) if block == "b" else [CAPACITY],
        upper=1.0,
    )
    return program, values


def flow() -> ParametricLP:
    """Two states, two actions, public balance equations: an occupancy program."""
    envelope = Envelope(0.0, 1.0, radius=0.2, shape=2)
    return ParametricLP(
        envelope,
        c=[1.0, 0.0, 0.5, 0.2],
        A=Affine((1, 4), at=([0, 0], [0, 2]), entry=[0, 1]),
        b=[6.0],
        A_eq=[[0.1, 1.0, -0.9, 0.0], [0.0, -0.9, 1.0, 0.1]],
        b_eq=[0.5, 0.5],
    )


@pytest.fixture(scope="session")
def small() -> SimpleNamespace:
    """The builders of this file."""
    return SimpleNamespace(
        auction=auction,
        draw=draw,
        awkward=awkward,
        draw_awkward=draw_awkward,
        knapsack=knapsack,
        flow=flow,
    )
