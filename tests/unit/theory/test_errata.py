"""Each slip of the paper: the printed form fails, the repaired one holds."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.integrate import trapezoid

from dp_cmdp.accounting.budget import PrivacyBudget
from dp_cmdp.cmdp.parametric import ParametricCMDP
from dp_cmdp.data.affine import Affine
from dp_cmdp.data.database import Database
from dp_cmdp.data.envelope import Envelope
from dp_cmdp.errors import AssumptionError, InfeasibleError, InvalidArgumentError
from dp_cmdp.experiments.cost_of_privacy import published_curves
from dp_cmdp.metrics import cost_of_privacy
from dp_cmdp.noise.laws import Laplace, TruncatedLaplace
from dp_cmdp.problems.ad_auction import ad_auction_program
from dp_cmdp.program.linear_program import LinearProgram, solve
from dp_cmdp.program.parametric import ParametricLP
from dp_cmdp.release.blocks import release_blocks
from dp_cmdp.release.solve import solve_private
from dp_cmdp.theory.feasible_set import concentration_radius, diameter_bound
from dp_cmdp.theory.paper.printed_bound import optimality_system, paper_bound, repaired_terms
from dp_cmdp.theory.paper.standard_form import StandardForm
from dp_cmdp.theory.release_noise import release_noise

BUDGET = PrivacyBudget(1, 0.1)


def small_program() -> ParametricLP:
    """Two variables, two private rows, private right-hand sides and objective."""
    envelope = Envelope.join(
        {
            "A": Envelope(0.2, 1.0, radius=0.02, shape=(2, 2)),
            "b": Envelope(0.8, 1.2, radius=0.02, shape=2),
            "c": Envelope(0.5, 1.5, radius=0.02, shape=2),
        }
    )
    row, col = np.indices((2, 2))
    return ParametricLP(
        envelope,
        c=Affine(2, at=[0, 1], entry=envelope.index("c")),
        A=Affine((2, 2), at=(row, col), entry=envelope.index("A")),
        b=Affine(2, at=[0, 1], entry=envelope.index("b")),
    )


@pytest.fixture
def truth():
    program = small_program()
    values = {"A": [[0.5, 0.3], [0.25, 0.6]], "b": [1.0, 1.0], "c": [1.0, 0.9]}
    return program, Database(values, program.envelope)


def draws(program, database, count, *, seed=0, budget=BUDGET):
    """Private problems of Algorithm 1 with their primal and dual solutions."""
    rng = np.random.default_rng(seed)
    n, m = program.num_variables, program.A.shape[0]
    for _ in range(count):
        made = release_blocks(
            database, budget, program=program, alphas=program.equal_shares, rng=rng
        )
        A = made.group("A")["upper"].reshape(m, n)
        b, c = made.group("b")["lower"], made.group("c")["estimate"]
        found = solve(LinearProgram(c, A, b=b), certify=False)
        yield A, b, c, found


def test_the_dual_has_its_inequality_the_other_way(truth):
    program, database = truth
    lp = program.at(database.values)
    A, primal = lp.A.toarray(), solve(lp, certify=False).objective

    def smallest(rows, sides):  # minimise bᵀμ
        return -solve(LinearProgram(-lp.b, rows, b=sides), certify=False).objective

    assert smallest(A.T, lp.c) == pytest.approx(0.0)  # printed: μᵀA ≤ cᵀ
    assert smallest(-A.T, -lp.c) == pytest.approx(primal)


def test_the_optimal_pair_solves_the_repaired_system_and_not_the_printed_one():
    lp = LinearProgram([1.0, 0.2], [[1.0, 1.0], [0.5, 2.0]], b=[1.0, 1.0])
    A, best = lp.A.toarray(), solve(lp, certify=False)
    z = np.concatenate([best.x, best.dual])
    for printed in (False, True):
        G, C = optimality_system(A, lp.b, lp.c, printed=printed)
        sign = -1.0 if printed else 1.0
        g = np.concatenate([sign * lp.b, -sign * lp.c, np.zeros(4)])
        assert abs(C @ z) == pytest.approx(0.0, abs=1e-7)
        solves = (G @ z - g <= 1e-7).all()
        assert bool(solves) == (not printed)


def test_the_primal_residual_of_a_private_pair_is_zero(truth):
    program, database = truth
    lp = program.at(database.values)
    for _, _, _, found in draws(program, database, 40):
        assert (lp.A @ found.x - lp.b <= 1e-9).all()


def test_the_printed_dual_bound_divides_by_zero_and_the_repaired_one_holds(truth):
    program, database = truth
    assert paper_bound(program, database, budget=BUDGET, form="printed").dual_bound == math.inf
    case = StandardForm.of(program, database, budget=BUDGET)
    w = np.maximum(case.slater, case.chi - case.slater)
    gain = case.c @ (case.solution - case.slater)
    for _, _, c, found in draws(program, database, 60):
        bound = (gain + np.abs(c - case.c) @ w) / case.slater_slack
        assert found.dual.sum() <= bound + 1e-7


def test_the_lowest_right_hand_side_and_not_the_highest_limits_the_noise():
    program = small_program()
    values = {"A": np.full((2, 2), 0.5), "b": [1.2, 1.2], "c": [1.0, 1.0]}
    database = Database(values, program.envelope)
    case = StandardForm.of(program, database, budget=BUDGET)
    printed, repaired = (np.linalg.norm(case.b - end) for end in (case.b_sup, case.b_inf))
    moved = [np.linalg.norm(case.b - b) for _, b, _, _ in draws(program, database, 20)]
    assert max(moved) > printed == 0.0
    assert max(moved) <= repaired + 1e-12


def test_a_private_answer_may_exceed_every_optimal_point_but_no_feasible_one():
    envelope = Envelope(0.0, 1.0, shape=1)
    program = ParametricLP(
        envelope,
        c=Affine(2, constant=[2.0, 0.0], at=[1], entry=[0], coefficient=0.1),
        A_ub=[[1.0, 0.1]],
        b_ub=[1.0],
    )
    database = Database([0.5], envelope)
    ends = [solve(program.at([v]), certify=False).x.max() for v in (0.0, 0.5, 1.0)]
    chi_printed = max(ends)  # (1, 0) is optimal for every database
    case = StandardForm.of(program, database, budget=BUDGET)
    rng = np.random.default_rng(0)
    found = [
        solve_private(
            program,
            release_blocks(
                database, PrivacyBudget("1/10", 0.1), program=program, alphas={"c": 1}, rng=rng
            ),
        ).x.max()
        for _ in range(30)
    ]
    assert max(found) > chi_printed
    assert max(found) <= case.chi.max() + 1e-9


def gap_terms(count=4000, seed=1):
    """max c x, x ≤ b in one variable: p = z x̃ and q = y μ̃ (y = b̃ − b ≤ 0) over the noise."""
    rng = np.random.default_rng(seed)
    z, y = Laplace(0.5).sample(rng, count), TruncatedLaplace(0.1, 0.3).sample(rng, count) - 0.3
    x = np.where(1.0 + z > 0, 1.0 + y, 0.0)
    return z * x, y * np.maximum(1.0 + z, 0.0)


def test_the_cross_term_is_not_negative():
    p, q = gap_terms()
    cross = -2 * p * q
    assert cross.mean() - 6 * cross.std() / math.sqrt(cross.size) > 0.0  # printed: ≤ 0
    assert np.mean((q - p) ** 2) > np.mean(p**2) + np.mean(q**2)
    assert ((q - p) ** 2 <= 2 * p**2 + 2 * q**2).all()


def test_the_square_of_a_sum_of_shifted_noises_grows_with_the_square_of_their_number():
    m, law = 6, TruncatedLaplace(0.5, 1.2)
    y = law.sample(np.random.default_rng(0), 20_000 * m).reshape(-1, m) - law.support
    mean = np.mean(y.sum(axis=1) ** 2)
    assert mean > 2 * law.scale**2 + law.support**2
    repaired = m * law.variance + m**2 * law.support**2
    assert mean == pytest.approx(repaired, rel=0.05)


def test_the_noise_of_the_objective_correlates_with_the_answer():
    n, chi, sigma = 12, 2.0, 0.7
    z = Laplace(sigma).sample(np.random.default_rng(0), 20_000 * n).reshape(-1, n)
    x = np.where(z > 0, chi, 0.0)  # the answer of max zᵀx, 0 ≤ x ≤ χ
    mean = np.mean((z * x).sum(axis=1) ** 2)
    assert mean > 2 * chi**2 * n * sigma**2
    assert mean <= chi**2 * (n**2 + n) * sigma**2


def test_the_norm_of_the_objective_noise_grows_with_its_dimension():
    n, sigma = 9, 0.3
    z = Laplace(sigma).sample(np.random.default_rng(0), 5000 * n).reshape(-1, n)
    mean = np.linalg.norm(z, axis=1).mean()
    assert mean > 2 * sigma
    assert mean <= math.sqrt(2 * n) * sigma


@pytest.mark.parametrize("epsilon", [0.5, 20])
def test_both_cases_of_the_repaired_rho_hold_whether_or_not_the_envelope_is_reached(truth, epsilon):
    program, database = truth
    budget = PrivacyBudget(epsilon, 0.1)
    case = StandardForm.of(program, database, budget=budget)
    bound = paper_bound(program, database, budget=budget)
    terms = repaired_terms(case)
    dual, gap = [], []
    for A, b, c, found in draws(program, database, 120, budget=budget):
        part = np.maximum((A - case.A).T @ found.dual - (c - case.c), 0.0)
        dual.append(part @ part)
        gap.append(((case.c - c) @ found.x - (case.b - b) @ found.dual) ** 2)
    norm = np.mean(np.sqrt(np.add(dual, gap)))
    assert np.mean(dual) <= terms["dual"]
    assert np.mean(gap) <= terms["gap"]
    assert norm <= min(bound.rho_noise, bound.rho_envelope)


@pytest.mark.parametrize("form", ["printed-slater", "repaired"])
def test_rho_is_of_order_one_over_epsilon(truth, form):
    program, database = truth
    small, tiny = (
        paper_bound(program, database, budget=PrivacyBudget(eps, 0.1), form=form).rho
        for eps in ("1/1000", "1/100000")
    )
    order = math.log(tiny / small) / math.log(100)
    assert order == pytest.approx(1.0, abs=0.1)  # printed: 1/2


def test_the_repaired_theorem_holds_and_is_far_above_the_truth(truth):
    program, database = truth
    lp = program.at(database.values)
    optimum = solve(lp, certify=False).objective
    gap = optimum - np.mean([lp.c @ found.x for *_, found in draws(program, database, 60)])
    bound = paper_bound(program, database, budget=BUDGET)
    assert bound.hoffman.exact
    assert bound.value == bound.at_least > 10 * gap
    assert paper_bound(program, database, budget=BUDGET, form="printed").value == math.inf


def test_the_concentration_bound_points_the_other_way(truth):
    program, database = truth
    lp = program.at(database.values)
    best = solve(lp, certify=False).x
    far = np.array([np.linalg.norm(f.x - best) for *_, f in draws(program, database, 200)])
    t = 0.1
    radius = concentration_radius(diameter_bound(lp), failure=t)
    above = np.mean(far - far.mean() >= radius)
    assert above < 1 - t  # printed: P(R − E R ≥ radius) ≥ 1 − t
    assert above <= t


def test_feasibility_of_every_database_is_not_enough():
    envelope = Envelope(0.0, 1.0, shape=1)
    A = Affine((1, 2), constant=[[1.0, 0.0]], at=([0, 0], [0, 1]), entry=0, coefficient=[-1.0, 1.0])
    program = ParametricLP(envelope, c=[-1.0, -1.0], A=A, b=[1.5], lower=[1.0, 1.0])
    for theta in (0.0, 1.0):  # A = [1 0] and A = [0 1]
        solve(program.at([theta]), certify=False)
    independent = Envelope(0.0, 1.0, shape=2)  # what Algorithm 1 perturbs: the two entries of A
    A = Affine((1, 2), at=([0, 0], [0, 1]), entry=[0, 1])
    entries = ParametricLP(independent, c=[-1.0, -1.0], A=A, b=[1.5], lower=[1.0, 1.0])
    with pytest.raises(AssumptionError):
        entries.check_robust_feasibility()


def test_larger_coefficients_loosen_a_row_where_x_is_negative():
    envelope = Envelope(0.5, 2.0, radius=0.1, shape=1)
    A = Affine((1, 1), at=([0], [0]), entry=[0])
    program = ParametricLP(envelope, c=[1.0], A=A, b=[-0.5], lower=-2.0, upper=0.0)
    theta = 1.0
    printed = solve(program.at([2.0]), certify=False).x  # Ã = Â
    assert theta * printed[0] > -0.5
    robust = solve(program.robust([0.5], [2.0]), certify=False).x
    assert theta * robust[0] <= -0.5


def test_the_occupancy_measure_already_holds_the_discount():
    gamma = 0.8
    envelope = Envelope(0.0, 2.0, shape=1)
    cmdp = ParametricCMDP(
        envelope,
        T=np.ones((1, 1, 1)),
        r=[[1.0]],
        mu=[1.0],
        gamma=gamma,
        cost=Affine((1, 1), at=([0], [0]), entry=[0]),
        tolerance=Affine(1, constant=[20.0]),
    )
    lp = cmdp.program().at([1.0])
    row = (lp.A @ solve(lp, certify=False).x)[0]
    series = sum(gamma**t for t in range(400))
    assert row == pytest.approx(series)
    assert gamma * row < 0.9 * series  # the printed row counts γ twice


def hazards(tolerance: float) -> ParametricCMDP:
    """Two hazardous states that take turns, for ever."""
    return ParametricCMDP(
        Envelope(0.0, 1.0, shape=2),
        T=np.array([[[0.0, 1.0]], [[1.0, 0.0]]]),
        r=[[1.0], [1.0]],
        mu=[1.0, 0.0],
        gamma=0.8,
        cost=Affine((1, 2), at=([0, 0], [0, 1]), entry=[0, 1]),
        tolerance=Affine(1, constant=[tolerance]),
    )


def test_the_severity_of_a_hazard_is_paid_once_per_visit_and_not_squared():
    beta = 0.6
    lp = hazards(20.0).program().at([beta, beta])
    row = (lp.A @ solve(lp, certify=False).x)[0]
    visits = 1 / (1 - 0.8)
    assert row == pytest.approx(beta * visits)
    assert beta**2 * visits < 0.7 * row  # printed: Σ γ^t β f with f = β


def test_a_tolerance_bounds_the_sum_over_states_and_not_each_of_them():
    beta, tolerance = 0.6, 2.0
    lp = hazards(20.0).program().at([beta, beta])
    found = solve(lp, certify=False).x
    assert (beta * found <= tolerance).all()  # printed: for all s and a
    assert beta * found.sum() > tolerance
    with pytest.raises(InfeasibleError):
        solve(hazards(tolerance).program().at([beta, beta]))


def test_the_cost_of_privacy_is_a_loss_and_not_negative():
    for best, private in ((2.0, 1.0), (-1.0, -3.0)):
        assert cost_of_privacy(best, private) > 0
    assert (1.0 - 2.0) / 2.0 < 0  # printed: (v_priv − v*)/v*


def test_delta_zero_has_no_bounded_noise():
    with pytest.raises(InvalidArgumentError, match="delta"):
        PrivacyBudget(1, 0)
    supports = [
        float(release_noise(small_program(), PrivacyBudget(1, d)).support[0]) for d in (1e-3, 1e-9)
    ]
    assert supports[1] > 2.5 * supports[0]


def test_the_noise_is_the_difference_of_what_is_published_and_the_data():
    law, data = TruncatedLaplace(scale=0.5, support=1.5), 2.0
    u = np.linspace(data - law.support, data + law.support, 20_001)
    masses = [
        trapezoid(np.exp(-np.abs(u + sign * data) / law.scale) / law.normalisation, u)
        for sign in (-1.0, 1.0)
    ]
    assert masses[0] == pytest.approx(1.0, abs=1e-6)
    assert masses[1] < 0.02  # printed: |u + A(D)|


@pytest.mark.parametrize(("m", "n"), [(1, 1), (3, 4)])
def test_the_mass_of_the_outer_points_is_delta_at_the_printed_support(m, n):
    epsilon, delta, change = 0.8, 0.05, 0.3
    s = change / epsilon * math.log(m * n * math.expm1(epsilon) / delta + 1)
    law = TruncatedLaplace(scale=change / epsilon, support=s)
    mass = n * m * 2 * float(law.cdf(-s + change))
    printed = n * m * math.expm1(epsilon) / (1 - math.exp(-epsilon * s / change))
    assert mass == pytest.approx(delta)
    assert mass == pytest.approx(n * m * math.expm1(epsilon) / math.expm1(epsilon * s / change))
    assert printed > 1.0


def test_delta_is_halved_and_epsilon_divided_by_the_allocation(truth):
    program, database = truth
    alphas = {"A": "1/2", "b": "1/4", "c": "1/4"}
    release = release_blocks(database, BUDGET, program=program, alphas=alphas)
    spent = {part.block: (part.epsilon, part.delta) for part in release.noise}
    assert spent == {
        block: (BUDGET.epsilon * Fraction(alphas[block]), BUDGET.delta * half)
        for block, half in (("A", Fraction(1, 2)), ("b", Fraction(1, 2)), ("c", Fraction(0)))
    }
    assert sum(delta for _, delta in spent.values()) == BUDGET.delta
    printed = sum(BUDGET.delta * Fraction(alphas[block]) for block in ("A", "b"))
    assert printed < BUDGET.delta  # with α_A δ and α_b δ, the share of c would be lost


def test_the_sensitive_entries_of_the_objective_are_those_that_get_noise():
    envelope = Envelope(0.5, 1.5, radius=0.1, shape=2)
    program = ParametricLP(
        envelope,
        c=Affine(4, constant=[0.0, 0.0, 3.0, 0.0], at=[1, 3], entry=[0, 1]),
        A_ub=np.ones((1, 4)),
        b_ub=[1.0],
    )
    database = Database([0.75, 1.25], envelope)
    rng = np.random.default_rng(0)
    release = release_blocks(database, BUDGET, program=program, alphas={"c": 1}, rng=rng)
    assert release.groups == (("c", (2,)),)
    assert (release.estimate != database.values).all()


def test_a_truncated_law_varies_less_than_the_whole_one():
    for scale, support in ((0.5, 0.5), (0.5, 2.0), (1.0, 10.0)):
        law = TruncatedLaplace(scale, support)
        z = np.linspace(-support, support, 200_001)
        assert law.variance == pytest.approx(trapezoid(z**2 * law.pdf(z), z), rel=1e-6)
        assert law.variance < 2 * scale**2  # printed: equal
    assert TruncatedLaplace(0.5, 0.5).variance < 0.2 * 2 * 0.5**2


def test_groups_have_visitors_and_advertisers_have_budgets():
    groups, advertisers = 4, 3
    program = ad_auction_program(groups, advertisers)
    assert program.num_variables == groups * advertisers
    assert program.A.shape[0] == advertisers
    assert program.b_ub.size == groups


def test_the_published_curves_say_less_than_the_text_beside_them():
    curves = published_curves()
    at = {round(float(e), 1): k for k, e in enumerate(curves["epsilon"])}
    ours, theirs = curves["algorithm1_percent"], curves["munoz2021_percent"]
    gap = ours - theirs
    found = ours[at[1.0]], gap[at[1.0]], gap[at[3.0]]
    assert found == pytest.approx((0.2097, 0.2012, 0.1159), abs=5e-5)
    printed = (0.22, 0.21, 0.11)
    assert all(
        f"{number:.2f}" != f"{text:.2f}" for number, text in zip(found, printed, strict=True)
    )
    assert all(f"{number:.2f}" == "0.22" for number in ours[: at[0.8] + 1])
