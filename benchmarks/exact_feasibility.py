"""Very many private solves of small random programs, each checked in exact arithmetic.

The promise under test: the answer to a private program satisfies the *true* constraints, not up to
a tolerance but as rational numbers. Some programs are solved on their own, most in batches: a
block-diagonal program of many separate small ones (2 to 4 variables, 1 to 3 private rows, database
entries that are read several times and with both signs), so that one release and one run of the
certificate loop answer all of them. The check is made with Python integers alone and shares no code
with the loop.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dp_cmdp._check import FloatArray
from dp_cmdp.accounting.budget import PrivacyBudget
from dp_cmdp.data.affine import Affine
from dp_cmdp.data.database import Database
from dp_cmdp.data.envelope import Envelope
from dp_cmdp.data.release import Release
from dp_cmdp.experiments.sweep import Row, Setting, Sweep, stream
from dp_cmdp.program.parametric import ParametricLP
from dp_cmdp.release.blocks import release_blocks
from dp_cmdp.release.entries import release_database
from dp_cmdp.release.solve import solve_private

if TYPE_CHECKING:
    import pandas as pd

#: Programs per block-diagonal batch, and programs solved on their own next to it.
BATCH, SINGLES = 500, 10
METHODS = ("tight", "tight-exact", "optimal", "blocks")
EPSILONS = ("1/10", "1", "5", "20")
#: Every float used is an integer multiple of 2^−SCALE, or is refused.
SCALE = 400


def feasibility_sweep(*, solves: int, seed: int = 0) -> Sweep:
    """At least `solves` private solves, spread evenly over methods and ε."""
    settings = tuple({"method": m, "epsilon": e} for m in METHODS for e in EPSILONS)
    return Sweep(
        name="exact-feasibility",
        function=draw_feasibility,
        settings=settings,
        draws=max(1, math.ceil(solves / ((BATCH + SINGLES) * len(settings)))),
        seed=seed,
        chunk=1,
    )


def draw_feasibility(setting: Setting, seed: int, draws: Sequence[int]) -> list[Row]:
    """One row per batch: solves, violated programs, solves of the certificate loop."""
    rows: list[Row] = []
    for draw in draws:
        # labelled by setting, so that no two settings share programs
        rng = stream(seed, draw, setting["method"], setting["epsilon"])
        found = [_solve(setting, count, rng) for count in (BATCH, *(1,) * SINGLES)]
        rows.append(
            {
                "solves": BATCH + SINGLES,
                "violations": sum(broken for broken, _ in found),
                "attempts": max(attempts for _, attempts in found),
            }
        )
    return rows


def _solve(setting: Setting, count: int, rng: np.random.Generator) -> tuple[int, int]:
    """Violated programs among `count`, and the solves that their certificate took."""
    batch = random_batch(rng, count)
    solution = solve_private(batch.program, _release(setting, batch, rng))
    proof = solution.certificate
    return len(violated(batch, solution.x)), 0 if proof is None else proof.attempts


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Separate small programs side by side, and a database for all of them."""

    program: ParametricLP
    database: Database
    row_owner: np.ndarray  # the small program of each private row
    variable_owner: np.ndarray


def random_batch(rng: np.random.Generator, count: int) -> Batch:
    """`count` small programs for which x = 0 is feasible whatever the database says."""
    n, m = rng.integers(2, 5, count), rng.integers(1, 4, count)
    k = rng.integers(2, 5, count)
    first_x, first_row, first_entry = (np.cumsum(part) - part for part in (n, m, k))
    lower = rng.uniform(0.0, 1.0, k.sum())
    upper = lower + rng.uniform(0.1, 2.0, k.sum())
    envelope = Envelope(lower, upper, radius=(upper - lower) * rng.uniform(0.05, 1.0, k.sum()))
    terms = 2 * n * m
    owner = np.repeat(np.arange(count), terms)

    def inside(first: np.ndarray, size: np.ndarray) -> np.ndarray:
        return first[owner] + rng.integers(0, size[owner])

    A = Affine(
        (int(m.sum()), int(n.sum())),
        at=(inside(first_row, m), inside(first_x, n)),
        entry=inside(first_entry, k),
        coefficient=rng.uniform(-0.5, 2.0, owner.size),
    )
    rows = np.arange(m.sum())
    row_owner, variable_owner = np.repeat(np.arange(count), m), np.repeat(np.arange(count), n)
    b = Affine(
        rows.size,
        constant=rng.uniform(0.5, 4.0, rows.size),
        at=rows,
        entry=first_entry[row_owner] + rng.integers(0, k[row_owner]),
        coefficient=rng.uniform(0.0, 0.5, rows.size),
    )
    c = Affine(
        variable_owner.size,
        constant=rng.uniform(0.1, 1.0, variable_owner.size),
        at=first_x,
        entry=first_entry,
        coefficient=rng.uniform(0.0, 1.0, count),
    )
    free = rng.random(variable_owner.size) < 0.3
    program = ParametricLP(envelope, c=c, A=A, b=b, lower=np.where(free, -1.0, 0.0), upper=4.0)
    share = rng.choice([0.0, 1.0, 0.5], size=lower.size) * rng.uniform(0.5, 1.0, lower.size)
    share = np.where(rng.random(lower.size) < 0.3, 1.0, share)
    values = np.clip(lower + share * (upper - lower), lower, upper)
    return Batch(program, Database(values, envelope), row_owner, variable_owner)


def _release(setting: Setting, batch: Batch, rng: np.random.Generator) -> Release:
    budget, method = PrivacyBudget(setting["epsilon"], "1/1000"), setting["method"]
    if method == "blocks":
        alphas = {"A": "1/3", "b": "1/3", "c": "1/3"}
        return release_blocks(batch.database, budget, program=batch.program, alphas=alphas, rng=rng)
    calibration = "optimal" if method == "optimal" else "tight"
    source = None if method == "tight-exact" else rng
    return release_database(batch.database, budget, rng=source, calibration=calibration)


def violated(batch: Batch, x: FloatArray) -> set[int]:
    """The small programs whose true constraints x breaks, in integers from beginning to end.

    Notes
    -----
    **Privacy.** *Curator only*.
    """
    program = batch.program
    theta, point = integers(batch.database.values), integers(x)
    A, b = program.A, program.b
    # everything in units of 2^(−3·SCALE): coefficient·θ·x on the left, b on the right
    left = [0] * program.b.shape[0]
    for i, j, e, g in zip(A.row, A.col, A.entry, integers(A.coefficient), strict=True):
        left[i] += g * theta[e] * point[j]
    right = [value << (2 * SCALE) for value in integers(b.constant)]
    for i, e, h in zip(b.row, b.entry, integers(b.coefficient), strict=True):
        right[i] += (h * theta[e]) << SCALE
    broken = {int(owner) for owner, a, r in zip(batch.row_owner, left, right, strict=True) if a > r}
    outside = ~((program.lower <= x) & (x <= program.upper))
    return broken | {int(owner) for owner in batch.variable_owner[outside]}


def integers(values: FloatArray) -> list[int]:
    """Floats times 2^SCALE, which must be integers."""
    found = []
    for value in values.tolist():
        top, bottom = value.as_integer_ratio()
        found.append((top << SCALE) // bottom)
        if bottom.bit_length() > SCALE:
            raise ArithmeticError("a float is too small for the integer check")
    return found


def feasibility_rows(frame: pd.DataFrame) -> list[Row]:
    """Solves, those with measured totals, and violations per method, then in all."""
    counted = frame.reindex(columns=[*frame.columns, *({"totals", "robust"} - {*frame.columns})])
    counted = counted.fillna({"totals": 0, "robust": 0})
    rows: list[Row] = []
    for method, part in [*counted.groupby("method", sort=False), ("all", counted)]:
        rows.append(
            {
                "method": method,
                "solves": int(part["solves"].sum()),
                "with_totals": int(part["totals"].sum()),
                "violations": int(part["violations"].sum()),
                "robust_answers": int(part["robust"].sum()),
                "worst_attempts": int(part["attempts"].max()),
            }
        )
    return rows
