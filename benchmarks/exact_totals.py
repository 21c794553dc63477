"""Very many private solves with measured totals, each checked in exact arithmetic.

Beside :mod:`exact_feasibility`: the release of a program has bounds on totals (``release_looks``),
with shares 0, .35 and .65 of the budget for the entries. Programs have five to ten entries; an
entry is met by several rows, in A, b and the objective, and with both signs; records hold one to
four entries; entries of one program are scaled by a power of two between 2^−40 and 2^40, whole rows
between 2^−10 and 2^10. Two things are checked with Python integers: the released facts contain the
true database, and the answer satisfies the true constraints. A program counts as one with totals
when a measured total has weights on its entries.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from benchmarks.exact_feasibility import SCALE, Batch, feasibility_sweep, integers, violated
from dp_cmdp._check import FloatArray
from dp_cmdp.accounting.budget import PrivacyBudget
from dp_cmdp.data.affine import Affine
from dp_cmdp.data.database import Database
from dp_cmdp.data.envelope import Envelope
from dp_cmdp.data.polytope import Polytope
from dp_cmdp.data.release import Release
from dp_cmdp.errors import InvalidArgumentError, SolverError
from dp_cmdp.experiments.sweep import Row, Setting, Sweep, stream
from dp_cmdp.program.parametric import ParametricLP
from dp_cmdp.release.looks import release_looks
from dp_cmdp.release.plan import Plan
from dp_cmdp.release.solve import robust_solution, solve_private

#: Programs per block-diagonal batch, and programs solved on their own next to it.
BATCH, SINGLES = 100, 4
PLANS = ("0", "0.35", "0.65")
EPSILONS = ("1", "4", "20", "100")
NOISES = ("float", "exact")
#: Exponents of the scales of a program's entries, and of its rows.
ENTRY_SCALE, ROW_SCALE = 40, 10
#: Part of all solves that are planned with totals; in about 3 of 5 of them there are some worth it.
PART = Fraction(9, 25)


def all_solves_sweep(*, solves: int, seed: int = 0) -> Sweep:
    """At least `solves` private solves, those planned with totals first."""
    planned = math.ceil(PART * solves)
    others = feasibility_sweep(solves=solves - planned, seed=seed)
    return replace(totals_sweep(solves=planned, seed=seed), beside=(others,))


def totals_sweep(*, solves: int, seed: int = 0) -> Sweep:
    """At least `solves` private solves, spread evenly over plans, ε and kinds of noise."""
    settings = tuple(
        {"method": f"totals {share}", "share": share, "epsilon": epsilon, "noise": noise}
        for share in PLANS
        for epsilon in EPSILONS
        for noise in NOISES
    )
    return Sweep(
        name="exact-totals",
        function=draw_totals,
        settings=settings,
        draws=max(1, math.ceil(solves / ((BATCH + SINGLES) * len(settings)))),
        seed=seed,
        chunk=1,
    )


def draw_totals(setting: Setting, seed: int, draws: Sequence[int]) -> list[Row]:
    """One row per batch: solves, those with totals, violated programs, solves of the loop."""
    labels = (setting["method"], setting["epsilon"], setting["noise"])
    rows: list[Row] = []
    for draw in draws:
        rng = stream(seed, draw, *labels)
        found = [_solve(setting, count, rng) for count in (BATCH, *(1,) * SINGLES)]
        rows.append(
            {
                "solves": BATCH + SINGLES,
                **{key: sum(part[key] for part in found) for key in ("totals", "violations")},
                "robust": sum(part["robust"] for part in found),
                "attempts": max(part["attempts"] for part in found),
            }
        )
    return rows


def _solve(setting: Setting, count: int, rng: np.random.Generator) -> dict[str, int]:
    batch = random_totals_batch(rng, count)
    caution, lift = ((1.25, 0.5), (1.5, 1.0))[int(rng.integers(2))]
    release = release_looks(
        batch.database,
        PrivacyBudget(setting["epsilon"], "1/1000"),
        program=batch.program,
        plan=Plan(setting["share"], caution=caution, lift=lift),
        rng=rng if setting["noise"] == "float" else None,
    )
    try:
        solution, robust = solve_private(batch.program, release), 0
    except (SolverError, InvalidArgumentError):  # as release_and_solve does
        solution, robust = robust_solution(batch.program), count
    broken = violated(batch, solution.x)
    if not holds(release.polytope, batch.database.values):
        broken = set(range(count))  # the facts are wrong: no answer made from them counts
    proof = solution.certificate
    return {
        "totals": len(with_totals(batch, release)),
        "violations": len(broken),
        "robust": robust,
        "attempts": 0 if proof is None else proof.attempts,
    }


def random_totals_batch(rng: np.random.Generator, count: int) -> Batch:
    """`count` programs for which x = 0 is feasible whatever the database says.

    Notes
    -----
    **Privacy.** *Curator only*: it holds a database.
    """
    n, m, k = rng.integers(2, 5, count), rng.integers(1, 4, count), rng.integers(5, 11, count)
    first_x, first_row, first_entry = (np.cumsum(part) - part for part in (n, m, k))
    entry_owner, row_owner = np.repeat(np.arange(count), k), np.repeat(np.arange(count), m)
    variable_owner = np.repeat(np.arange(count), n)
    unit = np.ldexp(1.0, rng.integers(-ENTRY_SCALE, ENTRY_SCALE + 1, count))
    row_unit = np.ldexp(1.0, rng.integers(-ROW_SCALE, ROW_SCALE + 1, row_owner.size))
    owner = np.repeat(np.arange(count), k * m)
    row = first_row[owner] + rng.integers(0, m[owner])
    entry = first_entry[owner] + rng.integers(0, k[owner])
    A = Affine(
        (row_owner.size, variable_owner.size),
        at=(row, first_x[owner] + rng.integers(0, n[owner])),
        entry=entry,
        coefficient=rng.uniform(-0.2, 1.0, owner.size) * row_unit[row] / unit[owner],
    )
    met = first_entry[row_owner] + rng.integers(0, k[row_owner])
    b = Affine(
        row_owner.size,
        constant=rng.uniform(0.2, 1.5, row_owner.size) * row_unit,
        at=np.arange(row_owner.size),
        entry=met,
        coefficient=rng.uniform(0.0, 0.5, row_owner.size) * row_unit / unit[row_owner],
    )
    private = rng.random(count) < 0.5  # objectives
    c = Affine(
        variable_owner.size,
        constant=rng.uniform(0.1, 1.0, variable_owner.size),
        at=first_x[private],
        entry=first_entry[private],
        coefficient=rng.uniform(0.0, 1.0, count)[private] / unit[private],
    )
    envelope = _envelope(rng, unit[entry_owner], entry_owner)
    free = rng.random(variable_owner.size) < 0.3
    program = ParametricLP(envelope, c=c, A=A, b=b, lower=np.where(free, -1.0, 0.0), upper=4.0)
    database = Database(_values(rng, envelope, entry_owner), envelope)
    return Batch(program, database, row_owner, variable_owner)


def _envelope(rng: np.random.Generator, unit: FloatArray, owner: np.ndarray) -> Envelope:
    """Bounds, radii and records, in each program's own unit."""
    lower = rng.uniform(0.0, 0.3, owner.size)
    width = rng.uniform(0.1, 1.0, owner.size)
    people = 4 * owner + rng.integers(0, 4, owner.size)  # up to four records per program
    alone = rng.random(owner.max() + 1) < 0.5
    records = np.where(alone[owner], 4 * (owner.max() + 1) + np.arange(owner.size), people)
    return Envelope(
        lower * unit,
        (lower + width) * unit,
        radius=width * rng.uniform(0.005, 0.1, owner.size) * unit,
        records=records,
    )


def _values(rng: np.random.Generator, envelope: Envelope, owner: np.ndarray) -> FloatArray:
    """Each program's entries near the lower ends, near the upper ones, at them, or anywhere."""
    kind = rng.integers(0, 4, owner.max() + 1)[owner]
    anywhere = rng.random(owner.size)
    share = np.choose(kind, [anywhere**4, 1.0 - anywhere**4, np.rint(anywhere), anywhere])
    inside = envelope.lower + share * (envelope.upper - envelope.lower)
    return np.clip(inside, envelope.lower, envelope.upper)


def with_totals(batch: Batch, release: Release) -> set[int]:
    """The small programs about whose entries a total was measured."""
    if release.totals is None:
        return set()
    program, owner = batch.program, np.empty(batch.database.values.size, dtype=np.int64)
    owner[program.A.entry] = batch.row_owner[program.A.row]
    owner[program.b.entry] = batch.row_owner[program.b.row]
    return {int(found) for found in owner[release.totals.W.indices]}


def holds(facts: Polytope, values: FloatArray) -> bool:
    """Whether the facts contain the database, in integers: *curator only*."""
    if not ((facts.lower <= values) & (values <= facts.upper)).all():
        return False
    row = np.repeat(np.arange(facts.q.size), np.diff(facts.W.indptr))
    room = [limit << SCALE for limit in integers(facts.q)]
    theta, weight = integers(values), integers(facts.W.data)
    for i, e, w in zip(row, facts.W.indices, weight, strict=True):
        room[i] -= w * theta[e]
    return min(room, default=0) >= 0
