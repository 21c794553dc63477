"""Facts that single out each method: limits without noise, published numbers, named refusals."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dp_cmdp as dp
from paper.baselines import METHODS
from paper.baselines.composition import epsilon_per_step
from paper.baselines.players import split
from paper.baselines.simplex_rows import simplex_rows
from paper.blocks import form, true_slack
from tests.paper.conftest import draw_auction, small_auction

BARELY_PRIVATE = 1_000_000


def run(name, program, values, *, epsilon=1.0, delta="1/10", seed=0, **options) -> Any:
    rng = np.random.default_rng(seed)
    return METHODS[name].run(program, values, dp.PrivacyBudget(epsilon, delta), rng=rng, **options)


def loss(program, values, x):
    c = form(program).at(values).c
    return 1 - float(c @ x) / float(c @ run("nonprivate", program, values).x)


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


@pytest.mark.parametrize(
    ("epsilon", "share"), [("0.00003", 0.125), ("0.0001", 0.0455), ("0.0002", 0.0238)]
)
def test_munoz_support_explains_their_untruncated_violations(epsilon, share):
    """Ten advertisers, Δ = 100, δ = 1e-4: Laplace noise passes s as often as they report."""
    budgets = dp.Envelope(1e7 - 5000, 1e7 + 5000, radius=100.0, shape=10)
    program = dp.ParametricLP(maximize=np.ones(10), A=np.eye(10), b=budgets[:], upper=1e9)
    found = run("munoz2021", program, np.full(10, 1e7), epsilon=epsilon, delta="1/10000")
    ((measured,),) = ([outcome.measurement for outcome in found.outcomes],)
    scale = measured.sensitivity.l1 / float(epsilon)
    assert 0.5 * math.exp(-measured.law.high / scale) == pytest.approx(share, rel=0.01)


def test_the_paper_s_support_is_the_narrowest_for_a_union_bound():
    """s = σ ln(1 + k(e^ε − 1)/δ), σ = Δ/ε, for A of four rows and twelve columns: k = 84."""
    program = small_auction("A")
    found = run("benvenuti2024", program, draw_auction(program, 1), epsilon=0.8, delta="1/20")
    (outcome,) = found.outcomes
    l1, k = outcome.measurement.sensitivity.l1, 7 * 12
    s = l1 / 0.8 * math.log1p(k * math.expm1(0.8) / 0.05)
    assert outcome.measurement.law.high == pytest.approx(s, rel=1e-6)


def test_algorithm_1_divides_epsilon_as_asked_and_halves_delta():
    program = small_auction()
    alphas = {"A": Fraction(1, 2), "b": Fraction(1, 4), "c": Fraction(1, 4)}
    found = run("benvenuti2025", program, draw_auction(program, 1), alphas=alphas)
    spent = {o.measurement.name: o.measurement.budget for o in found.outcomes}
    budget = dp.PrivacyBudget(1, "1/10")
    assert {name: part.epsilon for name, part in spent.items()} == alphas
    assert spent["A"].delta == spent["b"].delta == budget.delta / 2
    assert spent["c"].delta <= budget.delta
    assert found.outcomes[2].measurement.law.delta(
        found.outcomes[2].measurement.sensitivity, spent["c"].epsilon
    ) == 0  # plain Laplace noise needs none  # fmt: skip


def smallest_slack(name, program, values, *, draws, **options):
    """Smallest slack of the budgets per draw."""
    answers = (run(name, program, values, seed=s, **options).x for s in range(draws))
    return np.array([true_slack(program, values, x)[:3].min() for x in answers])


def test_munoz_without_truncation_violates():
    program = small_auction("b")
    options = {"epsilon": 0.05, "draws": 20, "truncated": False}
    assert smallest_slack("munoz2021", program, draw_auction(program, 1), **options).min() < 0


def test_plain_laplace_noise_violates_and_the_shift_repairs_it():
    program = small_auction()
    values = draw_auction(program, 1)
    plain, shifted = (
        smallest_slack("laplace", program, values, draws=20, shift=s) for s in (0.0, 1.0)
    )
    assert (plain < 0).sum() > 5
    assert (shifted < 0).sum() <= 1


def test_the_realised_mask_is_recorded_as_a_leak():
    program = small_auction()
    values = draw_auction(program, 1)
    found = run("benvenuti2025", program, values, realised_mask_NOT_PRIVATE=True)
    assert "realised zero pattern" in found.note
    honest = run("benvenuti2025", program, values)
    assert len(found.outcomes[0].integers) < len(honest.outcomes[0].integers)


def test_benvenuti_2024_never_loses_more_than_the_worst_case_reference():
    program = small_auction()
    values = draw_auction(program, 1)
    worst = loss(program, values, run("sup_A_exact_c", program, values).x)
    for epsilon in (0.01, 1, 100):
        found = run("benvenuti2024", program, values, epsilon=epsilon).x
        assert loss(program, values, found) <= worst + 1e-9


def test_hsu_approaches_the_optimum_without_noise():
    program = small_auction()
    values = draw_auction(program, 1)
    options = {"rounds": 3000, "realised_optimum_NOT_PRIVATE": True}
    found = run("hsu2014", program, values, epsilon=BARELY_PRIVATE, **options)
    assert found.converged
    assert abs(loss(program, values, found.x)) < 0.06
    assert true_slack(program, values, found.x).min() > -0.06
    assert "NOT PRIVATE" in found.note


def test_hsu_score_sensitivity_bounds_every_adjacent_change():
    part, envelope = form(small_auction()), small_auction().envelope
    here = draw_auction(small_auction(), 1)
    rows = simplex_rows(part, here, scale=4.0)
    y = np.random.default_rng(0).dirichlet(np.ones(13))
    bound, seen = rows.score_sensitivity(y), 0.0
    for entry in range(envelope.size):
        near = here.copy()
        up = near[entry] + envelope.radius[entry] <= envelope.upper[entry]
        near[entry] += envelope.radius[entry] if up else -envelope.radius[entry]
        other = simplex_rows(part, near, scale=4.0)
        change = np.abs((other.a @ y - other.beta) - (rows.a @ y - rows.beta)).max()
        moved = abs(other.a - rows.a)[: rows.num_own].sum(axis=1)
        assert (moved <= rows.row_sensitivity() * (1 + 1e-9)).all()
        seen = max(seen, change)
    assert seen <= bound * (1 + 1e-9)
    assert seen == pytest.approx(bound)


def test_records_that_overlap_count_in_the_score_sensitivity():
    theta = dp.Envelope([0.0] * 3, [1.0] * 3, change=[[0.1, 0.2, 0.0], [0.0, 0.1, 0.3]])
    program = dp.ParametricLP(maximize=[1.0] * 3, A=theta[:].reshape(1, 3), b=[1.0], upper=1.0)
    rows = simplex_rows(form(program), np.full(3, 0.5), scale=1.0)
    assert rows.row_sensitivity() == pytest.approx([0.4])


def test_cummings_approaches_the_optimum_without_noise():
    program = small_auction()
    values = draw_auction(program, 1)
    found = run("cummings2015", program, values, epsilon=BARELY_PRIVATE, rounds=6000)
    assert true_slack(program, values, found.x).min() > -0.02
    assert loss(program, values, found.x) < 0.1


def test_players_keep_the_rows_that_only_they_meet():
    program = small_auction()
    advertiser, part = np.tile(np.arange(3), 4), form(program)
    coupling = split(part, advertiser).coupling
    assert not coupling[:3].any()
    assert coupling[3:].all()
    assert split(part).coupling.all()
    values = draw_auction(program, 1)
    found = run("cummings2015", program, values, players=advertiser, rounds=20)
    assert true_slack(program, values, found.x)[:3].min() > -1e-7


def test_an_entry_read_by_two_players_is_refused():
    theta = dp.Envelope(0.0, 1.0, shape=1)
    program = dp.ParametricLP(maximize=[1.0, 1.0], A=[[theta[0], theta[0]]], b=[1.0], upper=1.0)
    with pytest.raises(dp.errors.RefusedError, match="several players"):
        run("cummings2015", program, np.array([0.5]), players=[0, 1])


def test_overlapping_records_are_no_players():
    theta = dp.Envelope([0.0] * 2, [1.0] * 2, change=[[0.1, 0.1], [0.0, 0.1]])
    program = dp.ParametricLP(maximize=[1.0] * 2, A=theta[:].reshape(1, 2), b=[1.0], upper=1.0)
    with pytest.raises(dp.errors.RefusedError, match="several records"):
        run("cummings2015", program, np.array([0.5, 0.5]))


def test_dvorkin_keeps_chance_constraints_and_equalities():
    theta = dp.Envelope(0.5, 1.5, radius=0.01, shape=1)
    program = dp.ParametricLP(
        maximize=[1.0, 0.5], A=[[1.0, 0.0]], b=theta[:], A_eq=[[1.0, 1.0]], b_eq=[1.0], upper=1.0
    )
    options = {"epsilon": 4, "violation_probability": 0.075, "sensitivity": 0.02}
    broken = 0
    for seed in range(40):
        x = run("dvorkin2020", program, np.array([1.0]), seed=seed, **options).x
        assert x is not None
        assert x.sum() == pytest.approx(1.0, abs=1e-6)
        broken += true_slack(program, np.array([1.0]), x)[0] < 0
    assert broken < 15
