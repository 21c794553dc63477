"""Facts that single out each method: limits without noise, published numbers, named refusals."""

import math
import subprocess
import sys

import numpy as np
import pytest

from dp_cmdp.accounting.budget import PrivacyBudget
from dp_cmdp.baselines import METHODS
from dp_cmdp.baselines.parts.composition import epsilon_per_step
from dp_cmdp.baselines.parts.optimistic import optimistic_value
from dp_cmdp.baselines.parts.players import split
from dp_cmdp.baselines.parts.simplex_rows import simplex_rows
from dp_cmdp.data.affine import Affine
from dp_cmdp.data.database import Database
from dp_cmdp.data.envelope import Envelope
from dp_cmdp.errors import AssumptionError, InvalidArgumentError
from dp_cmdp.program.parametric import ParametricLP

BARELY_PRIVATE = 1_000_000


def run(name, program, database, *, epsilon=1.0, delta=0.1, seed=0, **options):
    rng = np.random.default_rng(seed)
    return METHODS[name].run(program, database, PrivacyBudget(epsilon, delta), rng=rng, **options)


def loss(program, database, x):
    c = program.at(database.values).c
    best = float(c @ run("nonprivate", program, database).x)
    return 1 - float(c @ x) / best


def slack(program, database, x):
    return program.worst_case_slack(x, lower=database.values, upper=database.values)


def test_the_registry_imports_no_cvxpy():
    code = "import sys, dp_cmdp.baselines; sys.exit('cvxpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("steps", [1, 10, 1000])
@pytest.mark.parametrize("epsilon", [0.05, 1.0, 20.0, 1e6])
def test_the_steps_compose_to_the_budget_and_no_further(epsilon, steps):
    step = epsilon_per_step(epsilon, 0.1, steps=steps)

    def total(e):
        if e > 50:
            return steps * e
        advanced = e * math.sqrt(2 * steps * math.log(10)) + steps * e * math.expm1(e)
        return min(steps * e, advanced)

    assert total(step) <= epsilon * (1 + 1e-9)
    assert total(1.001 * step) > epsilon


def test_our_composition_is_at_least_as_generous_as_the_published_one():
    for epsilon in (0.1, 0.5, 1.0):
        theirs = epsilon / math.sqrt(8 * 200 * math.log(1 / 0.1))
        assert epsilon_per_step(epsilon, 0.1, steps=200) >= theirs


@pytest.mark.parametrize(
    ("epsilon", "share"), [("0.00003", 0.125), ("0.0001", 0.0455), ("0.0002", 0.0238)]
)
def test_munoz_support_explains_their_untruncated_violations(epsilon, share):
    """Ten advertisers, Δ = 100, δ = 1e-4: Laplace noise passes s as often as they report."""
    budgets = Envelope(1e7 - 5000, 1e7 + 5000, radius=100.0, shape=10)
    program = ParametricLP(
        budgets,
        c=np.ones(10),
        A=Affine((10, 10), constant=np.eye(10)),
        b=Affine(10, at=np.arange(10), entry=np.arange(10)),
        A_ub=np.ones((3, 10)),
        b_ub=np.full(3, 1e9),
    )
    database = Database(np.full(10, 1e7), budgets)
    release = run("munoz2021", program, database, epsilon=epsilon, delta=1e-4).release
    assert release is not None
    (noise,) = release.noise
    assert noise.support is not None
    assert 0.5 * math.exp(-noise.support / noise.scale) == pytest.approx(share, rel=0.01)


def smallest_slack(name, program, database, *, draws, **options):
    """Smallest slack of the sensitive rows per draw."""
    answers = (run(name, program, database, seed=s, **options).x for s in range(draws))
    return np.array([slack(program, database, x)[:3].min() for x in answers])


def test_munoz_without_truncation_violates(small):
    program = small.auction("b")
    database = small.draw(program, 1)
    options = {"epsilon": 0.05, "draws": 20}
    found = smallest_slack("munoz2021", program, database, truncated=False, **options)
    assert found.min() < 0


def test_plain_laplace_noise_violates_and_the_shift_repairs_it(small):
    program = small.auction()
    database = small.draw(program, 1)
    plain, shifted = (
        smallest_slack("laplace", program, database, draws=20, shift=s) for s in (0.0, 1.0)
    )
    assert (plain < 0).sum() > 5
    assert (shifted < 0).sum() <= 1


def test_the_realised_mask_is_recorded_as_a_leak(small):
    program = small.auction()
    found = run("benvenuti2025", program, small.draw(program, 1), realised_mask_NOT_PRIVATE=True)
    assert "realised zero pattern" in found.note
    assert found.release is not None
    assert found.release.leaks


def test_benvenuti_2024_never_loses_more_than_the_worst_case_reference(small):
    program = small.auction()
    database = small.draw(program, 1)
    worst = loss(program, database, run("sup_A_exact_c", program, database).x)
    for epsilon in (0.01, 1, 100):
        found = run("benvenuti2024", program, database, epsilon=epsilon).x
        assert loss(program, database, found) <= worst + 1e-9


def test_hsu_approaches_the_optimum_without_noise(small):
    program = small.auction()
    database = small.draw(program, 1)
    options = {"rounds": 3000, "realised_optimum_NOT_PRIVATE": True}
    found = run("hsu2014", program, database, epsilon=BARELY_PRIVATE, **options)
    assert found.converged
    assert abs(loss(program, database, found.x)) < 0.06
    assert slack(program, database, found.x).min() > -0.06
    assert "NOT PRIVATE" in found.note


@pytest.mark.parametrize("name", ["hsu2014", "munoz2021"])
def test_an_objective_share_that_starves_the_rows_is_refused(name, small):
    program = small.auction()
    with pytest.raises(InvalidArgumentError, match="objective_share"):
        run(name, program, small.draw(program, 1), objective_share=1)


def test_hsu_takes_its_scale_from_public_data(small):
    program = small.auction()
    assert optimistic_value(program, np.ones(12), method="hsu2014") == pytest.approx(4.0)


def test_hsu_score_sensitivity_bounds_every_adjacent_change(small):
    program = small.auction()
    rng = np.random.default_rng(0)
    envelope = program.envelope
    here = small.draw(program, 1).values
    rows = simplex_rows(program, here, scale=4.0)
    y = rng.dirichlet(np.ones(13))
    bound = rows.score_sensitivity(y)
    seen = 0.0
    for entry in range(envelope.num_entries):
        near = here.copy()
        up = near[entry] + envelope.radius[entry] <= envelope.upper[entry]
        near[entry] += envelope.radius[entry] if up else -envelope.radius[entry]
        other = simplex_rows(program, near, scale=4.0)
        change = np.abs((other.a @ y - other.beta) - (rows.a @ y - rows.beta)).max()
        moved = abs(other.a - rows.a)[:3].sum(axis=1)
        assert (moved <= rows.row_sensitivity() * (1 + 1e-9)).all()
        seen = max(seen, change)
    assert seen <= bound * (1 + 1e-9)
    assert seen == pytest.approx(bound)


def test_hsu_needs_a_public_scale():
    envelope = Envelope(0.0, 1.0, shape=1)
    program = ParametricLP(envelope, c=[1.0], A=Affine((1, 1), at=([0], [0]), entry=[0]), b=[1.0])
    with pytest.raises(AssumptionError, match="public bound"):
        run("hsu2014", program, Database([0.5], envelope))


def test_cummings_approaches_the_optimum_without_noise(small):
    program = small.auction()
    database = small.draw(program, 1)
    found = run("cummings2015", program, database, epsilon=BARELY_PRIVATE, rounds=6000)
    assert slack(program, database, found.x).min() > -0.02
    assert loss(program, database, found.x) < 0.1


def test_players_keep_the_rows_that_only_they_meet(small):
    program = small.auction()
    advertiser = np.tile(np.arange(3), 4)
    assert not split(program, advertiser).coupling.any()
    assert split(program, advertiser).coupling_public.all()
    assert split(program).coupling.all()
    database = small.draw(program, 1)
    found = run("cummings2015", program, database, players=advertiser, rounds=20)
    assert slack(program, database, found.x)[:3].min() > -1e-7


def test_an_entry_read_by_two_players_is_refused():
    envelope = Envelope(0.0, 1.0, shape=1)
    program = ParametricLP(
        envelope,
        c=[1.0, 1.0],
        A=Affine((1, 2), at=([0, 0], [0, 1]), entry=[0, 0]),
        b=[1.0],
        upper=1.0,
    )
    with pytest.raises(AssumptionError, match="several players"):
        run("cummings2015", program, Database([0.5], envelope), players=[0, 1])


def test_dvorkin_keeps_equalities_in_every_draw_and_rows_with_their_probability():
    """At most 3 of 40 violations are expected; 15 has probability below 1e-6."""
    envelope = Envelope(0.5, 1.5, radius=0.01, shape=1)
    program = ParametricLP(
        envelope,
        c=[1.0, 2.0, 0.0],
        A=Affine((1, 3), constant=[[1.0, 2.0, 0.0]]),
        b=Affine(1, at=[0], entry=[0]),
        A_eq=[[1.0, 1.0, 1.0]],
        b_eq=[1.0],
        upper=1.0,
    )
    database = Database([1.0], envelope)
    options = {"epsilon": 4, "violation_probability": 0.075, "sensitivity": 0.02}
    broken = 0
    for seed in range(40):
        x = run("dvorkin2020", program, database, seed=seed, **options).x
        assert x is not None
        assert x.sum() == pytest.approx(1.0, abs=1e-6)
        broken += slack(program, database, x)[0] < 0
    assert broken < 15


def test_dvorkin_releases_a_part_and_lets_the_rest_react():
    envelope = Envelope(0.5, 1.5, radius=0.01, shape=1)
    program = ParametricLP(
        envelope,
        c=[1.0, 0.5],
        A=Affine((1, 2), constant=[[1.0, 0.0]]),
        b=Affine(1, at=[0], entry=[0]),
        A_eq=[[1.0, 1.0]],
        b_eq=[2.0],
        upper=2.0,
    )
    found = run("dvorkin2020", program, Database([1.0], envelope), released=[0], sensitivity=0.01)
    assert found.x is not None
    assert found.x.sum() == pytest.approx(2.0, abs=1e-6)
    assert "estimated" not in found.note
