"""Very many private solves with measured linear queries, each checked in exact arithmetic.

Beside :mod:`exact_feasibility`: the release of a program has bounds on linear queries, with shares
0, .35 and .65 of the budget for the entries. Programs have five to ten entries; an entry is met by
several rows, in A, b and the objective, and with both signs; records hold one to four entries;
entries of one program are scaled by a power of two between 2^−40 and 2^40, whole rows between 2^−10
and 2^10. Two things are checked with Python integers: the released uncertainty set contains the
true database, and the answer satisfies the true constraints. A program counts as one with queries
when a measured query has weights on its entries.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

import dp_cmdp as dp
from benchmarks.exact_feasibility import (
    SCALE,
    Batch,
    Floats,
    integers,
    objective,
    released,
    violated,
)
from dp_cmdp._src.data.envelope import UncertaintySet
from paper.runner import Row, Setting, Sweep, stream

#: Programs per block-diagonal batch, and programs solved on their own next to it.
BATCH, SINGLES = 100, 4
SHARES = ("0", "0.35", "0.65")
EPSILONS = ("1", "4", "20", "100")
NOISES = ("float", "exact")
#: Exponents of the scales of a program's entries, and of its rows.
ENTRY_SCALE, ROW_SCALE = 40, 10
#: Part of all solves that ask for queries; in about 3 of 5 of them there are some worth it.
PART = Fraction(9, 25)


def totals_sweep(*, solves: int) -> Sweep:
    """At least `solves` private solves, spread evenly over shares, ε and kinds of noise."""
    settings = tuple(
        {"method": f"queries {share}", "share": share, "epsilon": epsilon, "noise": noise}
        for share in SHARES
        for epsilon in EPSILONS
        for noise in NOISES
    )
    draws = math.ceil(solves / ((BATCH + SINGLES) * len(settings)))
    return Sweep(draw_totals, settings, draws=max(1, draws), chunk=1)


def draw_totals(setting: Setting, seed: int, draw: int) -> Row:
    """A batch and a few single programs: solves, those with queries, violated, robust answers."""
    rng = stream(seed, draw, setting["method"], setting["epsilon"], setting["noise"])
    found = [_solve(setting, count, rng) for count in (BATCH, *(1,) * SINGLES)]
    sums = {name: sum(part[name] for part in found) for name in found[0]}
    return {"solves": BATCH + SINGLES, **sums}


def _solve(setting: Setting, count: int, rng: np.random.Generator) -> dict[str, int]:
    batch = random_totals_batch(rng, count)
    safety, shift = ((1.25, 0.5), (1.5, 1.0))[int(rng.integers(2))]
    strategy = dp.Strategy.queries(share=Fraction(setting["share"]), safety=safety, shift=shift)
    source = rng if setting["noise"] == "float" else None
    release = released(batch.program, batch.values, setting["epsilon"], strategy, source)
    known, robust = release.uncertainty, 0
    try:
        found = dp.answer(batch.program, release)
    except dp.errors.SolverError:  # as `solve` does
        found, robust = dp.answer(batch.program), count
    broken = violated(batch, found.decision)
    if not holds(known, batch.values):
        broken = set(range(count))  # the set is wrong: no answer made from it counts
    return {
        "queries": len(with_queries(batch, known)),
        "violations": len(broken),
        "robust": robust,
    }


def random_totals_batch(rng: np.random.Generator, count: int) -> Batch:
    """`count` programs for which x = 0 is feasible whatever the database says."""
    n, m, k = rng.integers(2, 5, count), rng.integers(1, 4, count), rng.integers(5, 11, count)
    first_x, first_row, first_entry = (np.cumsum(part) - part for part in (n, m, k))
    entry_owner, row_owner = np.repeat(np.arange(count), k), np.repeat(np.arange(count), m)
    variable_owner = np.repeat(np.arange(count), n)
    unit = np.ldexp(1.0, rng.integers(-ENTRY_SCALE, ENTRY_SCALE + 1, count))
    row_unit = np.ldexp(1.0, rng.integers(-ROW_SCALE, ROW_SCALE + 1, row_owner.size))
    envelope = _envelope(rng, unit[entry_owner], entry_owner)
    theta = envelope[:]
    owner = np.repeat(np.arange(count), k * m)
    row = first_row[owner] + rng.integers(0, m[owner])
    entry = first_entry[owner] + rng.integers(0, k[owner])
    A = dp.Affine.sparse(
        theta[entry] * (rng.uniform(-0.2, 1.0, owner.size) * row_unit[row] / unit[owner]),
        (row, first_x[owner] + rng.integers(0, n[owner])),
        shape=(row_owner.size, variable_owner.size),
    )
    met = first_entry[row_owner] + rng.integers(0, k[row_owner])
    share = rng.uniform(0.0, 0.5, row_owner.size) * row_unit / unit[row_owner]
    b = theta[met] * share + rng.uniform(0.2, 1.5, row_owner.size) * row_unit
    private = rng.random(count) < 0.5  # objectives
    weight = rng.uniform(0.0, 1.0, count)[private] / unit[private]
    known = rng.uniform(0.1, 1.0, variable_owner.size)
    c = objective(theta[first_entry[private]] * weight, first_x[private], known)
    free = np.where(rng.random(variable_owner.size) < 0.3, -1.0, 0.0)
    program = dp.ParametricLP(maximize=c, A=A, b=b, lower=free, upper=4.0)
    return Batch(program, _values(rng, envelope, entry_owner), row_owner, variable_owner)


def _envelope(rng: np.random.Generator, unit: Floats, owner: np.ndarray) -> dp.Envelope:
    """Bounds, radii and records, in each program's own unit."""
    lower = rng.uniform(0.0, 0.3, owner.size)
    width = rng.uniform(0.1, 1.0, owner.size)
    people = 4 * owner + rng.integers(0, 4, owner.size)  # up to four records per program
    alone = rng.random(owner.max() + 1) < 0.5
    records = np.where(alone[owner], 4 * (owner.max() + 1) + np.arange(owner.size), people)
    return dp.Envelope(
        lower * unit,
        (lower + width) * unit,
        radius=width * rng.uniform(0.005, 0.1, owner.size) * unit,
        records=records,
    )


def _values(rng: np.random.Generator, envelope: dp.Envelope, owner: np.ndarray) -> Floats:
    """Each program's entries near the lower ends, near the upper ones, at them, or anywhere."""
    kind = rng.integers(0, 4, owner.max() + 1)[owner]
    anywhere = rng.random(owner.size)
    share = np.choose(kind, [anywhere**4, 1.0 - anywhere**4, np.rint(anywhere), anywhere])
    inside = envelope.lower + share * (envelope.upper - envelope.lower)
    return np.clip(inside, envelope.lower, envelope.upper)


def with_queries(batch: Batch, known: UncertaintySet) -> set[int]:
    """The small programs about whose entries a query was measured."""
    program, owner = batch.program, np.full(batch.values.size, -1)
    owner[program.A.entry] = batch.row_owner[program.A.row]
    owner[program.b.entry] = batch.row_owner[program.b.row]
    return {int(found) for found in owner[known.W.indices]} - {-1}


def holds(known: UncertaintySet, values: Floats) -> bool:
    """Whether the set contains the database, in integers: *curator only*."""
    if not ((known.lower <= values) & (values <= known.upper)).all():
        return False
    row = np.repeat(np.arange(known.q.size), np.diff(known.W.indptr))
    room = [limit << SCALE for limit in integers(known.q)]
    theta, weight = integers(values), integers(known.W.data)
    for i, e, w in zip(row, known.W.indices, weight, strict=True):
        room[i] -= w * theta[e]
    return min(room, default=0) >= 0
