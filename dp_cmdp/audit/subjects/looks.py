"""Releases in looks as subjects of the audit: the first look chooses what the second measures.

Given what the first look published, the second adds noise to integers. So with the same first
release and the same randomness, weights must not change with the data, and measured totals must
move by exactly the integers that the record moves. One record holds a coefficient and the tolerance
of its row and moves them in opposite directions: the worst pattern for their total.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

import numpy as np
from scipy import sparse

from dp_cmdp._check import FloatArray
from dp_cmdp.accounting.budget import PrivacyBudget
from dp_cmdp.audit.layers.certificates import certificates_of
from dp_cmdp.audit.layers.coupling import Coupling
from dp_cmdp.audit.layers.noise_law import law_facts
from dp_cmdp.audit.outcomes import Outcomes, repeated
from dp_cmdp.audit.subject import Subject
from dp_cmdp.audit.subjects.programs import A_PAIR, B_PAIR, COPIES, FEW_RUNS, copies
from dp_cmdp.audit.subjects.releases import CHEAP_RUNS, DELTA, EPSILON
from dp_cmdp.data.affine import Affine
from dp_cmdp.data.database import Database
from dp_cmdp.data.envelope import Envelope
from dp_cmdp.data.release import Release
from dp_cmdp.noise.lattice import Lattice
from dp_cmdp.noise.truncated import LatticeTruncatedLaplace
from dp_cmdp.program.parametric import ParametricLP
from dp_cmdp.release.looks import propose_totals, release_looks
from dp_cmdp.release.plan import Plan
from dp_cmdp.release.totals import TotalsPlan, integer_totals, plan_totals

#: Runs of the black box: a wide release in looks takes a second.
WIDE_LOOKS = 2000
FIRST_LOOK_SEED = 7
ROWS = 3
#: One record at its worst: a coefficient goes up, the tolerance of its row goes down.
PAIR = (
    np.array([A_PAIR[0]] * ROWS + [B_PAIR[1]] * ROWS),
    np.array([A_PAIR[1], *[A_PAIR[0]] * (ROWS - 1), B_PAIR[0], *[B_PAIR[1]] * (ROWS - 1)]),
)

#: ``choose(seen, values)``: the totals that a second look measures; only a bug uses the values.
Choose = Callable[[Release, FloatArray], TotalsPlan]


def looks_subjects() -> list[Callable[[], Subject]]:
    """Makers of the subjects: totals alone, and totals after a look at the entries."""
    return [lambda: looks_subject("0"), lambda: looks_subject("0.35")]


def looks_subject(share: str) -> Subject:
    """``release_looks`` with exact noise."""
    plan, program = Plan(share), owned_rows()
    release = _release(program, PAIR[0], plan, None)
    second = plan.budgets(PrivacyBudget(EPSILON, DELTA))[1]
    assert second is not None
    wide = _wide_totals(second)
    return Subject(
        name=f"release_looks, share {share}",
        epsilon=EPSILON,
        delta=DELTA,
        sample=lambda runs, rng: _wide_sample(plan, runs),
        certificates=certificates_of(release),
        couplings=(second_look_coupling(shipped_choice(plan), plan),),
        noise=lambda size, rng: wide.draw(np.zeros(wide.grid.size)).index[:size].astype(np.float64),
        facts=law_facts(wide.noise),
        most_runs=WIDE_LOOKS,
    )


@lru_cache(maxsize=1)
def owned_rows() -> ParametricLP:
    """Rows θ_a x ≤ θ_b, each owned by one person: coefficient and tolerance are one record."""
    own = np.arange(ROWS)
    envelope = Envelope.join(
        {
            "a": Envelope(1.0, 201.0, radius=A_PAIR[1] - A_PAIR[0], shape=ROWS),
            "b": Envelope(1.0, 401.0, radius=B_PAIR[1] - B_PAIR[0], shape=ROWS),
        },
        records={"a": own, "b": own},
    )
    return ParametricLP(
        envelope,
        c=np.ones(ROWS),
        A=Affine((ROWS, ROWS), at=(own, own), entry=own),
        b=Affine(ROWS, at=own, entry=ROWS + own),
        upper=10.0,
    )


def shipped_choice(plan: Plan) -> Choose:
    """The totals that a release in looks measures after `seen`."""
    program = owned_rows()
    budget = plan.budgets(PrivacyBudget(EPSILON, DELTA))[1]
    assert budget is not None

    def choose(seen: Release, values: FloatArray) -> TotalsPlan:
        proposal = propose_totals(program, seen, budget, plan=plan)
        assert proposal is not None
        return plan_totals(program.envelope, budget, W=proposal.W, scale=proposal.scale)

    return choose


def second_look_coupling(choose: Choose, plan: Plan) -> Coupling:
    """Weights and measured totals, the first release being the same for both databases."""
    rng = np.random.default_rng(FIRST_LOOK_SEED)
    seen = _release(owned_rows(), PAIR[0], plan, rng)
    look = choose(seen, PAIR[0])
    start, end = (_true_totals(look, side) for side in PAIR)
    moved = np.array([float(b - a) for a, b in zip(start, end, strict=True)])

    def run(side: int, rng: np.random.Generator) -> FloatArray:
        chosen = choose(seen, PAIR[side])
        index = chosen.draw(PAIR[side], rng).index.tolist()
        shown = [float(n - a) for n, a in zip(index, start, strict=True)]
        return np.concatenate([chosen.counts.toarray().ravel(), shown])

    return Coupling(
        "second look", run, np.concatenate([np.zeros(look.counts.shape).ravel(), moved]),
        is_exact=True,
    )  # fmt: skip


def peeking(name: str, choose: Choose) -> Subject:
    """A second look whose totals are chosen by the data."""
    plan = Plan(0)
    seen = _release(owned_rows(), PAIR[0], plan, np.random.default_rng(FIRST_LOOK_SEED))

    def mechanism(values: FloatArray, rng: np.random.Generator) -> FloatArray:
        look = choose(seen, values)
        return np.concatenate([look.counts.toarray().ravel(), look.draw(values).estimate])

    return Subject(
        name=name,
        epsilon=EPSILON,
        delta=DELTA,
        sample=repeated(mechanism, PAIR),
        couplings=(second_look_coupling(choose, plan),),
        most_runs=FEW_RUNS,
    )


def weights_from_the_data() -> Subject:
    """Totals proposed around the true entries."""
    program, budget = owned_rows(), PrivacyBudget(EPSILON, DELTA)

    def choose(seen: Release, values: FloatArray) -> TotalsPlan:
        rows = np.arange(ROWS)
        best = values[ROWS:] / values[:ROWS]  # of the program at the true entries
        weight = np.concatenate([best, -np.ones(ROWS)])
        W = sparse.csr_array((weight, (np.tile(rows, 2), np.arange(2 * ROWS))))
        return plan_totals(program.envelope, budget, W=W, scale=np.full(ROWS, 4.0))

    return peeking("weights from the data", choose)


def plan_from_the_data() -> Subject:
    """The row with most room is measured, the others are not."""
    program, budget = owned_rows(), PrivacyBudget(EPSILON, DELTA)

    def choose(seen: Release, values: FloatArray) -> TotalsPlan:
        row = int(np.argmin(values[:ROWS] - values[ROWS:]))
        W = sparse.csr_array(([2.0, -1.0], ([0, 0], [row, ROWS + row])), shape=(1, 2 * ROWS))
        return plan_totals(program.envelope, budget, W=W, scale=[4.0])

    return peeking("plan that reads the data", choose)


def sensitivity_not_rounded_up() -> Subject:
    """A total of one and a half steps, rounded after looking: it moves by two of them."""
    noise = LatticeTruncatedLaplace.calibrate(EPSILON, DELTA, steps=1, entries=Fraction(3, 2))

    def sample(runs: int, rng: np.random.Generator) -> tuple[Outcomes, Outcomes]:
        first, second = (
            np.floor(1.5 * cells) + noise.sample(runs, source=rng.bytes)[:, None]
            for cells in (1.0, 2.0)
        )
        return Outcomes.of(first), Outcomes.of(second)

    return Subject(
        name="sensitivity not rounded up",
        epsilon=EPSILON,
        delta=DELTA,
        sample=sample,
        certificates=(noise.certificate,),
        least_runs=CHEAP_RUNS,
    )


def _release(
    program: ParametricLP, values: FloatArray, plan: Plan, rng: np.random.Generator | None
) -> Release:
    database = Database(values, program.envelope)
    budget = PrivacyBudget(EPSILON, DELTA)
    return release_looks(database, budget, program=program, plan=plan, rng=rng)


def _true_totals(look: TotalsPlan, values: FloatArray) -> list[int]:
    return integer_totals(look.counts, Lattice(look.grid, 1).index(values))


def _wide_totals(budget: PrivacyBudget) -> TotalsPlan:
    """Many totals of one entry each: as many draws of one law."""
    envelope = Envelope(-1.0, 1.0, radius=1.0, shape=CHEAP_RUNS)
    each = sparse.eye_array(CHEAP_RUNS, format="csr")
    return plan_totals(envelope, budget, W=each, scale=np.ones(CHEAP_RUNS))


def _wide_sample(plan: Plan, runs: int) -> tuple[Outcomes, Outcomes]:
    """What is published of every copy of a wide program; every other copy is at the neighbour's."""
    side = np.arange(COPIES) % 2
    program = copies(COPIES, shared=False)
    values = np.concatenate([np.choose(side, A_PAIR), np.full(COPIES, B_PAIR[0])])
    shown: list[FloatArray] = []
    for _ in range(-(-2 * runs // COPIES)):
        release = _release(program, values, plan, None)
        totals = release.totals
        assert totals is not None
        assert len(totals) == COPIES
        own = slice(0, COPIES)
        parts = (release.lower[own], release.upper[own], totals.W.diagonal(), totals.estimate)
        shown.append(np.stack([np.asarray(part, dtype=np.float64) for part in parts], axis=1))
    whole = np.concatenate(shown)
    return Outcomes.of(whole[0::2][:runs]), Outcomes.of(whole[1::2][:runs])
