"""Very many private solves of small random programs, each checked in exact arithmetic.

The promise under test: the answer to a private program satisfies the *true* constraints, not up to
a precision but as rational numbers. Some programs are solved on their own, most in batches: a
block-diagonal program of many separate small ones (2 to 4 variables, 1 to 3 private rows, database
entries that are read several times and with both signs), so that one release and one answer serve
all of them. The check is made with Python integers alone and shares no code with the package.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

import dp_cmdp as dp
from dp_cmdp._src.release.measurement import Simulated, System
from dp_cmdp._src.release.publish import publish
from paper.blocks import entrywise
from paper.runner import Row, Setting, Sweep, stream

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
#: Programs per block-diagonal batch, and programs solved on their own next to it.
BATCH, SINGLES = 500, 10
METHODS = ("laplace", "laplace-exact", "one-sided", "entrywise")
EPSILONS = ("1/10", "1", "5", "20")
DELTA = "1/1000"
#: Every float used is an integer multiple of 2^−SCALE, or is refused.
SCALE = 400


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Separate small programs side by side, and a database for all of them."""

    program: dp.ParametricLP
    values: Floats
    row_owner: np.ndarray  # the small program of each private row
    variable_owner: np.ndarray


def feasibility_sweep(*, solves: int) -> Sweep:
    """At least `solves` private solves, spread evenly over methods and ε."""
    settings = tuple({"method": m, "epsilon": e} for m in METHODS for e in EPSILONS)
    draws = math.ceil(solves / ((BATCH + SINGLES) * len(settings)))
    return Sweep(draw_feasibility, settings, draws=max(1, draws), chunk=1)


def draw_feasibility(setting: Setting, seed: int, draw: int) -> Row:
    """A batch and a few single programs: solves, and violated programs."""
    # labelled by setting, so that no two settings share programs
    rng = stream(seed, draw, setting["method"], setting["epsilon"])
    broken = 0
    for count in (BATCH, *(1,) * SINGLES):
        batch = random_batch(rng, count)
        broken += len(violated(batch, _decision(setting, batch, rng)))
    return {"solves": BATCH + SINGLES, "violations": broken}


def _decision(setting: Setting, batch: Batch, rng: np.random.Generator) -> Floats:
    program, values, method = batch.program, batch.values, setting["method"]
    if method == "entrywise":  # Algorithm 1 of the paper
        own = entrywise(program)
        program, values = own.program, own.values(values)
    law = dp.extend.OneSided if method == "one-sided" else dp.extend.Laplace
    release = released(
        program, values, setting["epsilon"], dp.Strategy.entries(law=law),
        None if method == "laplace-exact" else rng,
    )  # fmt: skip
    return dp.answer(program, release).decision


def released(
    program: dp.ParametricLP,
    values: Floats,
    epsilon: str,
    strategy: dp.Strategy,
    rng: np.random.Generator | None,
) -> dp.Release:
    """A release with exact noise, or simulated by a generator."""
    source = System() if rng is None else Simulated(rng)
    database = dp.Database(values, program.envelope)
    return publish(program, database, dp.PrivacyBudget(epsilon, DELTA), strategy, source)


def random_batch(rng: np.random.Generator, count: int) -> Batch:
    """`count` small programs for which x = 0 is feasible whatever the database says."""
    n, m = rng.integers(2, 5, count), rng.integers(1, 4, count)
    k = rng.integers(2, 5, count)
    first_x, first_row, first_entry = (np.cumsum(part) - part for part in (n, m, k))
    lower = rng.uniform(0.0, 1.0, k.sum())
    upper = lower + rng.uniform(0.1, 2.0, k.sum())
    theta = dp.Envelope(lower, upper, radius=(upper - lower) * rng.uniform(0.05, 1.0, k.sum()))[:]
    owner = np.repeat(np.arange(count), 2 * n * m)

    def inside(first: np.ndarray, size: np.ndarray) -> np.ndarray:
        return first[owner] + rng.integers(0, size[owner])

    at, entry = (inside(first_row, m), inside(first_x, n)), inside(first_entry, k)
    terms = theta[entry] * rng.uniform(-0.5, 2.0, owner.size)
    A = dp.Affine.sparse(terms, at, shape=(int(m.sum()), int(n.sum())))
    row_owner, variable_owner = np.repeat(np.arange(count), m), np.repeat(np.arange(count), n)
    met = first_entry[row_owner] + rng.integers(0, k[row_owner])
    b = rng.uniform(0.5, 4.0, row_owner.size) + theta[met] * rng.uniform(0.0, 0.5, row_owner.size)
    known = rng.uniform(0.1, 1.0, variable_owner.size)
    c = objective(theta[first_entry] * rng.uniform(0.0, 1.0, count), first_x, known)
    free = np.where(rng.random(variable_owner.size) < 0.3, -1.0, 0.0)
    program = dp.ParametricLP(maximize=c, A=A, b=b, lower=free, upper=4.0)
    share = rng.choice([0.0, 1.0, 0.5], size=lower.size) * rng.uniform(0.5, 1.0, lower.size)
    share = np.where(rng.random(lower.size) < 0.3, 1.0, share)
    values = np.clip(lower + share * (upper - lower), lower, upper)
    return Batch(program, values, row_owner, variable_owner)


def objective(terms: dp.Affine, at: np.ndarray, constant: Floats) -> dp.Affine:
    """A vector with private terms at some places."""
    shape = constant.size, 1
    found = dp.Affine.sparse(terms, (at, 0 * at), shape=shape, constant=constant.reshape(shape))
    return found.reshape(constant.size)


def violated(batch: Batch, x: Floats) -> set[int]:
    """The small programs whose true constraints x breaks, in integers from beginning to end."""
    program = batch.program
    theta, point = integers(batch.values), integers(x)
    A, b = program.A, program.b
    # everything in units of 2^(−3·SCALE): coefficient·θ·x on the left, b on the right
    left = [0] * b.shape[0]
    for i, j, e, g in zip(A.row, A.col, A.entry, integers(A.coefficient), strict=True):
        left[i] += g * theta[e] * point[j]
    right = [value << (2 * SCALE) for value in integers(b.constant.toarray().ravel())]
    for i, e, h in zip(b.row, b.entry, integers(b.coefficient), strict=True):
        right[i] += (h * theta[e]) << SCALE
    broken = {int(owner) for owner, a, r in zip(batch.row_owner, left, right, strict=True) if a > r}
    outside = ~((program.lower <= x) & (x <= program.upper))
    return broken | {int(owner) for owner in batch.variable_owner[outside]}


def integers(values: Floats) -> list[int]:
    """Floats times 2^SCALE, which must be integers."""
    found = []
    for value in values.tolist():
        top, bottom = value.as_integer_ratio()
        found.append((top << SCALE) // bottom)
        if bottom.bit_length() > SCALE:
            raise ArithmeticError("a float is too small for the integer check")
    return found


def feasibility_rows(frame: pd.DataFrame) -> list[Row]:
    """Solves, those with measured queries, violations and robust answers; per method and in all."""
    counted = ("solves", "queries", "violations", "robust")
    found = frame.reindex(columns=["method", *counted]).fillna(0)
    parts = [*found.groupby("method", sort=False), ("all", found)]
    return [
        {"method": method, **{name: int(part[name].sum()) for name in counted}}
        for method, part in parts
    ]
