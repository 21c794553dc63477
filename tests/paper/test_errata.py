"""Each slip of the paper: the printed form fails, the repaired one holds."""

import math
from typing import Any

import numpy as np
import pytest
from scipy.integrate import trapezoid

import dp_cmdp as dp
from paper.baselines import METHODS
from paper.blocks import entrywise, form
from paper.bounds.noise import Law, release_noise
from paper.bounds.theorem import StandardForm, optimality_system, paper_bound, repaired_terms
from paper.linear import LinearProgram, coordinate_ranges, solve
from paper.metrics import relative_loss
from paper.policies import occupancy_program
from paper.problems.auction import ad_auction
from paper.studies.bounds import small_program

BUDGET = dp.PrivacyBudget(1, "1/10")
TRUTH = np.array([0.5, 0.3, 0.25, 0.6, 1.0, 1.0, 1.0, 0.9])


def draws(values, count, *, seed=0, budget=BUDGET):
    """Private problems of Algorithm 1 with their primal and dual solutions."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        made: Any = METHODS["benvenuti2025"].run(small_program(), values, budget, rng=rng)
        A, b, c = made.known.upper[:4].reshape(2, 2), made.known.lower[4:6], made.estimate[6:]
        yield A, b, c, solve(LinearProgram.of(c, A, b))


def true_program(values=TRUTH):
    return form(small_program()).at(values)


def truncated(scale, support, size, seed=0):
    """Draws of truncated Laplace noise, by inversion."""
    q = np.random.default_rng(seed).random(size) - 0.5
    inside = -math.expm1(-support / scale)
    return np.sign(q) * -scale * np.log1p(-2 * np.abs(q) * inside)


def test_the_dual_has_its_inequality_the_other_way():
    lp = true_program()
    A, primal = lp.A.toarray(), solve(lp).objective

    def smallest(rows, sides):  # minimise bᵀμ
        return -solve(LinearProgram.of(-lp.b, rows, sides)).objective

    assert smallest(A.T, lp.c) == pytest.approx(0.0)  # printed: μᵀA ≤ cᵀ
    assert smallest(-A.T, -lp.c) == pytest.approx(primal)


def test_the_optimal_pair_solves_the_repaired_system_and_not_the_printed_one():
    lp = LinearProgram.of([1.0, 0.2], [[1.0, 1.0], [0.5, 2.0]], [1.0, 1.0])
    A, best = lp.A.toarray(), solve(lp)
    z = np.concatenate([best.x, best.dual])
    for printed in (False, True):
        G, C = optimality_system(A, lp.b, lp.c, printed=printed)
        sign = -1.0 if printed else 1.0
        g = np.concatenate([sign * lp.b, -sign * lp.c, np.zeros(4)])
        assert abs(C @ z) == pytest.approx(0.0, abs=1e-7)
        assert bool((G @ z - g <= 1e-7).all()) == (not printed)


def test_the_primal_residual_of_a_private_pair_is_zero():
    lp = true_program()
    for _, _, _, found in draws(TRUTH, 40):
        assert (lp.A @ found.x - lp.b <= 1e-9).all()


def test_the_printed_dual_bound_divides_by_zero_and_the_repaired_one_holds():
    printed = paper_bound(small_program(), TRUTH, budget=BUDGET, form="printed")
    assert printed.dual_bound == math.inf
    case = StandardForm.of(small_program(), TRUTH, budget=BUDGET)
    w = np.maximum(case.slater, case.chi - case.slater)
    gain = case.c @ (case.solution - case.slater)
    for _, _, c, found in draws(TRUTH, 60):
        bound = (gain + np.abs(c - case.c) @ w) / case.slater_slack
        assert found.dual.sum() <= bound + 1e-7


def test_the_lowest_right_hand_side_and_not_the_highest_limits_the_noise():
    values = np.array([0.5] * 4 + [1.2, 1.2, 1.0, 1.0])
    case = StandardForm.of(small_program(), values, budget=BUDGET)
    printed, repaired = (np.linalg.norm(case.b - end) for end in (case.b_sup, case.b_inf))
    moved = [np.linalg.norm(case.b - b) for _, b, _, _ in draws(values, 20)]
    assert max(moved) > printed == 0.0
    assert max(moved) <= repaired + 1e-12


def test_a_private_answer_may_exceed_every_optimal_point_but_no_feasible_one():
    theta = dp.Envelope(0.0, 1.0, shape=1)
    program = dp.ParametricLP(maximize=[2.0, 0.1 * theta[0]], A=[[1.0, 0.1]], b=[1.0])
    optima: list[Any] = [solve(form(program).at(np.array([v]))).x for v in (0.0, 0.5, 1.0)]
    chi_printed = max(x.max() for x in optima)
    case = StandardForm.of(program, np.array([0.5]), budget=BUDGET)
    rng, budget = np.random.default_rng(0), dp.PrivacyBudget("1/10", "1/10")
    answers: list[Any] = [
        METHODS["benvenuti2025"].run(program, np.array([0.5]), budget, rng=rng) for _ in range(30)
    ]
    found = [answer.x.max() for answer in answers]
    assert max(found) > chi_printed
    assert max(found) <= case.chi.max() + 1e-9


def gap_terms(count=4000):
    """max c x, x ≤ b in one variable: p = z x̃ and q = y μ̃ (y = b̃ − b ≤ 0) over the noise."""
    z = np.random.default_rng(1).laplace(scale=0.5, size=count)
    y = truncated(0.1, 0.3, count) - 0.3
    return z * np.where(1.0 + z > 0, 1.0 + y, 0.0), y * np.maximum(1.0 + z, 0.0)


def test_the_cross_term_is_not_negative():
    p, q = gap_terms()
    cross = -2 * p * q
    assert cross.mean() - 6 * cross.std() / math.sqrt(cross.size) > 0.0  # printed: ≤ 0
    assert np.mean((q - p) ** 2) > np.mean(p**2) + np.mean(q**2)
    assert ((q - p) ** 2 <= 2 * p**2 + 2 * q**2).all()


def test_the_square_of_a_sum_of_shifted_noises_grows_with_the_square_of_their_number():
    m, scale, support = 6, 0.5, 1.2
    y = truncated(scale, support, 20_000 * m).reshape(-1, m) - support
    mean = np.mean(y.sum(axis=1) ** 2)
    assert mean > 2 * scale**2 + support**2
    variance = float(Law(np.array([scale]), np.array([support])).variance[0])
    assert mean == pytest.approx(m * variance + m**2 * support**2, rel=0.05)


def test_the_noise_of_the_objective_correlates_with_the_answer():
    n, chi, sigma = 12, 2.0, 0.7
    z = np.random.default_rng(0).laplace(scale=sigma, size=(20_000, n))
    x = np.where(z > 0, chi, 0.0)  # the answer of max zᵀx, 0 ≤ x ≤ χ
    mean = np.mean((z * x).sum(axis=1) ** 2)
    assert mean > 2 * chi**2 * n * sigma**2
    assert mean <= chi**2 * (n**2 + n) * sigma**2


def test_the_norm_of_the_objective_noise_grows_with_its_dimension():
    n, sigma = 9, 0.3
    z = np.random.default_rng(0).laplace(scale=sigma, size=(5000, n))
    mean = np.linalg.norm(z, axis=1).mean()
    assert 2 * sigma < mean <= math.sqrt(2 * n) * sigma


@pytest.mark.parametrize("epsilon", [0.5, 20])
def test_both_cases_of_the_repaired_rho_hold_whether_or_not_the_envelope_is_reached(epsilon):
    budget = dp.PrivacyBudget(epsilon, "1/10")
    case = StandardForm.of(small_program(), TRUTH, budget=budget)
    bound = paper_bound(small_program(), TRUTH, budget=budget)
    terms, dual, gap = repaired_terms(case), [], []
    for A, b, c, found in draws(TRUTH, 120, budget=budget):
        part = np.maximum((A - case.A).T @ found.dual - (c - case.c), 0.0)
        dual.append(part @ part)
        gap.append(((case.c - c) @ found.x - (case.b - b) @ found.dual) ** 2)
    assert np.mean(dual) <= terms["dual"]
    assert np.mean(gap) <= terms["gap"]
    assert np.mean(np.sqrt(np.add(dual, gap))) <= min(bound.rho_noise, bound.rho_envelope)


@pytest.mark.parametrize("kind", ["printed-slater", "repaired"])
def test_rho_is_of_order_one_over_epsilon(kind):
    small, tiny = (
        paper_bound(small_program(), TRUTH, budget=dp.PrivacyBudget(eps, "1/10"), form=kind).rho
        for eps in ("1/1000", "1/100000")
    )
    assert math.log(tiny / small) / math.log(100) == pytest.approx(1.0, abs=0.1)  # printed: 1/2


def test_the_repaired_theorem_holds_and_is_far_above_the_truth():
    lp = true_program()
    gap = solve(lp).objective - np.mean([lp.c @ found.x for *_, found in draws(TRUTH, 60)])
    bound = paper_bound(small_program(), TRUTH, budget=BUDGET)
    assert bound.value > 10 * gap
    assert paper_bound(small_program(), TRUTH, budget=BUDGET, form="printed").value == math.inf


def test_the_concentration_bound_points_the_other_way():
    lp = true_program()
    best = solve(lp).x
    far = np.array([np.linalg.norm(f.x - best) for *_, f in draws(TRUTH, 200)])
    low, high = coordinate_ranges(lp)
    radius = np.linalg.norm(high - low) * math.sqrt(math.log(1 / 0.1) / 2)
    assert np.mean(far - far.mean() >= radius) <= 0.1  # printed: ≥ 0.9


def test_feasibility_of_every_database_is_not_enough():
    theta = dp.Envelope(0.0, 1.0, shape=1)
    program = dp.ParametricLP(
        maximize=[-1.0, -1.0], A=[[1.0 - theta[0], theta[0]]], b=[1.5], lower=[1.0, 1.0]
    )
    for value in (0.0, 1.0):  # A = [1 0] and A = [0 1]
        assert dp.answer(program.at([value])).certificate.verified
    with pytest.raises(dp.errors.RefusedError):  # Algorithm 1 perturbs the two entries of A
        dp.answer(entrywise(program).program)


def test_larger_coefficients_loosen_a_row_where_x_is_negative():
    theta = dp.Envelope(0.5, 2.0, radius=0.1, shape=1)
    program = dp.ParametricLP(maximize=[1.0], A=[[theta[0]]], b=[-0.5], lower=-2.0, upper=0.0)
    assert dp.answer(program.at([2.0])).x[0] > -0.5  # printed: Ã = Â
    assert dp.answer(program).x[0] <= -0.5


def hazards(limit):
    """Two hazardous states that take turns, for ever."""
    cost = dp.PrivateCost(states=[0, 1], cost=dp.Envelope(0.0, 1.0, shape=2), limit=limit)
    T = [[[0.0, 1.0]], [[1.0, 0.0]]]
    return dp.ParametricCMDP(T, [[1.0], [1.0]], gamma=0.8, start=0, costs=cost)


def test_the_severity_of_a_hazard_is_paid_once_per_visit_at_its_discount():
    beta, visits = 0.6, 1 / (1 - 0.8)
    lp = form(occupancy_program(hazards(20.0))).at(np.array([beta, beta]))
    row = float((lp.A @ solve(lp).x)[0])
    assert row == pytest.approx(beta * visits)
    assert beta**2 * visits < 0.7 * row  # printed: Σ γ^t β f with f = β
    assert 0.8 * row < 0.9 * beta * visits  # printed: γ counted again


def test_a_limit_bounds_the_sum_over_states_and_not_each_of_them():
    beta, limit = 0.6, 2.0
    found = solve(form(occupancy_program(hazards(20.0))).at(np.array([beta, beta]))).x
    assert (beta * found <= limit).all()  # printed: for all s and a
    assert beta * found.sum() > limit
    with pytest.raises(dp.errors.InfeasibleError):
        solve(form(occupancy_program(hazards(limit))).at(np.array([beta, beta])))


def test_the_cost_of_privacy_is_a_loss_and_not_negative():
    for best, private in ((2.0, 1.0), (-1.0, -3.0)):
        assert relative_loss(best, private) > 0  # printed: (v_priv − v*)/v*


def test_delta_zero_has_no_bounded_noise():
    with pytest.raises(dp.errors.InvalidArgumentError, match="delta"):
        dp.PrivacyBudget(1, 0)
    supports = [
        float(release_noise(small_program(), dp.PrivacyBudget(1, d)).law.support[0])
        for d in (1e-3, 1e-9)
    ]
    assert supports[1] > 2.5 * supports[0]


@pytest.mark.parametrize(("m", "n"), [(1, 1), (3, 4)])
def test_the_mass_of_the_outer_points_is_delta_at_the_printed_support(m, n):
    epsilon, delta, change = 0.8, 0.05, 0.3
    s = change / epsilon * math.log(m * n * math.expm1(epsilon) / delta + 1)
    law = Law(np.array([change / epsilon]), np.array([s]))
    mass = n * m * 2 * float(law.tail(s - change)[0])
    printed = n * m * math.expm1(epsilon) / (1 - math.exp(-epsilon * s / change))
    assert mass == pytest.approx(delta)
    assert printed > 1.0


def test_a_truncated_law_varies_less_than_the_whole_one():
    for scale, support in ((0.5, 0.5), (0.5, 2.0), (1.0, 10.0)):
        z = np.linspace(-support, support, 200_001)
        density = np.exp(-np.abs(z) / scale)
        density /= trapezoid(density, z)
        law = Law(np.array([scale]), np.array([support]))
        assert float(law.variance[0]) == pytest.approx(trapezoid(z**2 * density, z), rel=1e-6)
        assert float(law.variance[0]) < 2 * scale**2  # printed: equal


def test_groups_have_visitors_and_advertisers_have_budgets():
    part = form(ad_auction(4, 3))
    assert part.num_variables == 12
    assert np.unique(part.A.row).tolist() == [0, 1, 2]
    assert part.A.shape[0] == 3 + 4
