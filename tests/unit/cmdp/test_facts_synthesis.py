"""From facts about a database to a certified policy, by every engine."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from dp_cmdp import Database, Envelope, PrivacyBudget, verify
from dp_cmdp.cmdp import facts_synthesis
from dp_cmdp.cmdp.certificate import certify_policy
from dp_cmdp.cmdp.exact_costs import exact_costs
from dp_cmdp.cmdp.facts_certificate import certify_for, certify_over
from dp_cmdp.cmdp.facts_synthesis import policy_over, row_solver
from dp_cmdp.cmdp.model import CMDP
from dp_cmdp.cmdp.parametric import ParametricCMDP
from dp_cmdp.cmdp.policy import Policy
from dp_cmdp.cmdp.private_policy import release_and_synthesize
from dp_cmdp.cmdp.solvers import row_columns
from dp_cmdp.cmdp.solvers.pool import PolicyPool
from dp_cmdp.cmdp.solvers.row_columns import RowColumns
from dp_cmdp.cmdp.solvers.row_solution import solve_row_lp, solve_rows_of
from dp_cmdp.cmdp.synthesis import robust_policy, safe_policy, synthesize
from dp_cmdp.data.affine import Affine
from dp_cmdp.data.polytope import Polytope
from dp_cmdp.envs import HazardGridEnv
from dp_cmdp.errors import InfeasibleError, InvalidArgumentError
from dp_cmdp.frontends.gymnasium import cmdp_from_gymnasium
from dp_cmdp.problems.hazard_grids import random_grid
from dp_cmdp.release.entries import release_database
from dp_cmdp.release.looks import release_looks
from dp_cmdp.release.plan import Plan

BUDGET = PrivacyBudget(1, "1/1000")
TOTALS = Plan("0.35")
MOVES = ((-1, 0), (1, 0), (0, -1), (0, 1))


def grid(n, *, radius=0.1, corner=False, seed=0):
    """A slippery n×n grid with a goal; every third cell is a candidate, some of them hazards."""
    rng, size, goal = np.random.default_rng(seed), n * n, n * n - 1
    T = np.zeros((size, 4, size))
    for state, action, slip in np.ndindex(size, 4, 4):
        row, col = divmod(state, n)
        there = [min(max(x + d, 0), n - 1) for x, d in zip((row, col), MOVES[slip], strict=True)]
        T[state, action, there[0] * n + there[1]] += 0.05 + 0.8 * (slip == action)
    T[goal] = 0.0
    T[goal, :, goal] = 1.0
    r = np.full((size, 4), -1.0)
    r[goal] = 0.0
    mu = np.full(size, 1 / size)
    if corner:
        mu = np.eye(size)[0]
    states = np.sort(rng.permutation(np.arange(1, goal))[: size // 3])
    theta = np.where(rng.random(states.size) < 0.3, rng.uniform(0.5, 1, states.size), 0.03)
    f = np.zeros((size, 4))
    f[states] = 1.0
    public = CMDP(T, r, f=f, f0=1e9, mu=mu, gamma=0.95)
    cheapest = certify_policy(public, safest(public)).worst_case_cost[0]
    model = ParametricCMDP(
        Envelope(0.0, 1.0, radius=radius, shape=states.size, name="severity"),
        T=sparse.csr_array(T.reshape(-1, size)),
        r=r,
        mu=mu,
        gamma=0.95,
        cost=Affine(
            (1, 4 * size),
            at=(0, (4 * states[:, None] + np.arange(4)).ravel()),
            entry=np.repeat(np.arange(states.size), 4),
        ),
        tolerance=Affine(1, constant=[1.02 * cheapest]),
    )
    return model, Database({"severity": theta}, model.envelope)


def safest(cmdp):
    from dp_cmdp.cmdp.safest import safest_policy

    return safest_policy(cmdp)


def garnet(seed, *, rows, states=30, entries=12):
    """A random model with entries of both signs, in several pairs, constraints and tolerances."""
    rng = np.random.default_rng(seed)
    pairs, terms = 3 * states, 40
    T = rng.dirichlet(np.full(4, 0.5), size=(states, 3))
    full = np.zeros((states, 3, states))
    for s, a in np.ndindex(states, 3):
        full[s, a, rng.choice(states, 4, replace=False)] = T[s, a]
    model = ParametricCMDP(
        Envelope(0.0, 1.0, radius=0.1, shape=entries, name="entries"),
        T=full,
        r=rng.normal(size=(states, 3)),
        mu=rng.dirichlet(np.ones(states)),
        gamma=0.9,
        cost=Affine(
            (rows, pairs),
            constant=rng.normal(size=(rows, pairs)),
            at=(rng.integers(0, rows, terms), rng.integers(0, pairs, terms)),
            entry=rng.integers(0, entries, terms),
            coefficient=rng.normal(size=terms),
        ),
        tolerance=Affine(rows, at=np.arange(rows), entry=np.arange(rows), coefficient=-1.0),
    )
    return model, rng.uniform(0.2, 0.8, entries), rng


def facts_around(theta, rng, *, count=3):
    W = rng.normal(size=(count, theta.size))
    return Polytope(theta - 0.2, theta + 0.2, W=W, q=W @ theta + 0.01)


@pytest.fixture
def patient(monkeypatch):
    """Column generation goes on, however slowly."""
    monkeypatch.setattr(row_columns, "PATIENCE", 10**9)


def both_engines(model, rows):
    """Values of the linear program and of column generation, which must bound each other."""
    program, objective = model.program(), model.public.r.ravel()
    one = solve_row_lp(program, model.public, rows, objective=objective)
    library = PolicyPool(model.public).library
    assert library is not None
    other = RowColumns(library, rows, objective=objective, gap=1e-8).run()
    assert one.value <= other.upper_bound + 1e-7
    assert other.value <= one.upper_bound + 1e-7
    return one, other


@pytest.mark.kernels
@pytest.mark.parametrize(
    ("n", "radius"), [(6, 0.1), (8, 0.1), (11, 0.1), (15, 0.1), (10, 1.0), (13, 1.0)]
)
@pytest.mark.usefixtures("patient")
def test_linear_program_and_column_generation_agree_on_grids(n, radius):
    model, database = grid(n, radius=radius)
    program = model.program()
    plan = TOTALS if radius < 1 else Plan(0)
    release = release_looks(
        database, BUDGET, program=program, plan=plan, rng=np.random.default_rng(n)
    )
    assert release.totals is not None
    one, other = both_engines(model, program.polytope_rows(release.polytope).counterpart())
    assert other.value == pytest.approx(one.value, rel=1e-6)


@pytest.mark.kernels
@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.usefixtures("patient")
def test_linear_program_and_column_generation_agree_on_random_models(seed, rows):
    model, theta, rng = garnet(seed, rows=rows)
    polytope = facts_around(theta, rng)
    counterpart = model.program().polytope_rows(polytope).counterpart()
    x = model.public.r.size
    uniform = np.full(x, 10.0 / x)
    loose = replace(counterpart, b=counterpart.b + 0.3 * np.abs(counterpart.A[:, :x] @ uniform))
    try:
        one, other = both_engines(model, loose)
    except InfeasibleError:
        with pytest.raises(InfeasibleError):
            solve_row_lp(model.program(), model.public, loose, objective=model.public.r.ravel())
        pool = PolicyPool(model.public)
        with pytest.raises(InfeasibleError):
            solve_rows_of(
                model.program(),
                model.public,
                loose,
                objective=model.public.r.ravel(),
                gap=1e-8,
                pool=pool,
            )
        return
    assert other.value == pytest.approx(one.value, rel=1e-6, abs=1e-7)


def test_a_policy_over_a_polytope_attains_its_bound_and_beats_the_box():
    model, database = grid(8)
    release = release_looks(
        database,
        BUDGET,
        program=model.program(),
        plan=TOTALS,
        rng=np.random.default_rng(0),
    )
    found = synthesize(model, release)
    assert found.certificate.verified
    assert found.value <= found.upper_bound <= found.value + 1e-6 * abs(found.value)
    assert found.value > safe_policy(model.tightened(release)).value + 0.1
    assert certify_for(model, found.policy, release).verified


def test_large_models_are_served_by_column_generation(monkeypatch):
    model, database = grid(9)
    release = release_looks(
        database, BUDGET, program=model.program(), plan=TOTALS, rng=np.random.default_rng(0)
    )
    small = synthesize(model, release)
    monkeypatch.setattr(facts_synthesis, "LARGE", 0)
    monkeypatch.setattr("dp_cmdp.cmdp.solvers.row_solution.LARGE", 0)
    large = synthesize(model, release)
    assert large.certificate.verified
    assert large.value == pytest.approx(small.value, rel=1e-4)
    assert small.value <= large.upper_bound + 1e-9


@pytest.mark.kernels
def test_an_unconverged_answer_is_safe_and_says_how_far_it_may_be_from_the_best(monkeypatch):
    model, database = grid(9, radius=1.0)
    release = release_looks(
        database, BUDGET, program=model.program(), plan=Plan(0), rng=np.random.default_rng(0)
    )
    best = synthesize(model, release)
    monkeypatch.setattr(facts_synthesis, "LARGE", 0)
    monkeypatch.setattr("dp_cmdp.cmdp.solvers.row_solution.LARGE", 0)
    monkeypatch.setattr(row_columns, "ROW_ITERATIONS", 6)
    found = policy_over(model, release.polytope)
    assert found.certificate.verified
    assert certify_policy(model.at(database.values), found.policy).verified
    assert found.value < best.value - 1e-6
    assert found.upper_bound >= best.value


@pytest.mark.parametrize("limit", [0.0, 0.02, 0.2])
def test_where_masters_cycle_the_linear_program_answers(monkeypatch, limit):
    model, database = grid(9)
    program, objective = model.program(), model.public.r.ravel()
    release = release_looks(
        database, BUDGET, program=program, plan=TOTALS, rng=np.random.default_rng(0)
    )
    rows = program.polytope_rows(release.polytope).counterpart()
    best = solve_row_lp(program, model.public, rows, objective=objective)
    monkeypatch.setattr(row_columns, "MASTER_ITERATIONS", limit)
    found = solve_rows_of(
        program, model.public, rows, objective=objective, gap=1e-6, pool=PolicyPool(model.public)
    )
    assert found.value == pytest.approx(best.value, rel=1e-6)


@pytest.mark.kernels
def test_rows_that_no_policy_satisfies_are_proved_infeasible():
    model, _ = grid(6)
    full = np.ones(model.envelope.num_entries)
    polytope = Polytope(0 * full, full, W=full[None], q=[full.size])
    rows = model.program().polytope_rows(polytope).counterpart()
    tight = replace(rows, b=rows.b - 1.0 * rows.b)
    with pytest.raises(InfeasibleError):
        both_engines(model, tight)
    library = PolicyPool(model.public).library
    assert library is not None
    with pytest.raises(InfeasibleError):
        RowColumns(library, tight, objective=model.public.r.ravel(), gap=1e-8).run()


def test_facts_that_contradict_each_other_are_refused():
    model, _ = grid(6)
    full = np.ones(model.envelope.num_entries)
    with pytest.raises(InvalidArgumentError, match="contradict"):
        policy_over(model, Polytope(0.5 * full, full, W=full[None], q=[1.0]))


def test_proposals_of_both_engines_are_equally_good(monkeypatch):
    from dp_cmdp.release import looks

    model, database = grid(10)
    program = model.program()
    seen = release_database(database, BUDGET, rng=np.random.default_rng(0))
    proposals = []
    for limit in (10**9, 0):
        monkeypatch.setattr(facts_synthesis, "INTERIOR", limit)
        found = looks.propose_totals(program, seen, BUDGET, plan=TOTALS, solver=row_solver(model))
        assert found is not None
        proposals.append(found)
    one, other = proposals
    reward = model.public.r.ravel()
    assert reward @ other.x == pytest.approx(reward @ one.x, rel=1e-4)
    plain = looks.propose_totals(program, seen, BUDGET, plan=TOTALS)
    assert plain is not None
    assert reward @ one.x == pytest.approx(reward @ plain.x, rel=1e-6)


def family():
    yield from (grid(7, radius=0.1), grid(7, radius=1.0), grid(7, corner=True, seed=1))
    for layout in ("rooms", "islands", "cliff"):
        env = HazardGridEnv(layout, access="curator")
        yield env.model(), env.database()


def test_a_bound_on_the_cost_holds_where_only_the_difference_to_a_private_tolerance_is_proved():
    env = HazardGridEnv("corridor", access="curator")
    model, database = env.model(), env.database()
    apart = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        made = release_and_synthesize(model, database, BUDGET, plan=Plan(0), rng=rng)
        proof, truth = made.safe.certificate, model.at(database.values)
        (cost,) = exact_costs(truth, made.safe.policy)
        assert cost <= Fraction(float(proof.worst_case_cost[0]))
        assert Fraction(float(proof.tolerance[0])) <= Fraction(float(truth.f0[0]))
        assert proof.verified
        assert made.safe.to_frame()["safe"].all()
        apart += proof.worst_case_cost[0] > proof.tolerance[0]
        told = "of one database" in proof.text()[0]
        assert told == (proof.worst_case_cost[0] > proof.tolerance[0])
    assert apart > 0


@pytest.mark.parametrize("case", range(6))
def test_every_answer_is_safe_for_the_true_database_and_no_worse_than_the_robust_one(case):
    model, database = list(family())[case]
    truth = model.at(database.values)
    measured = 0
    for number, plan in enumerate((Plan(0), TOTALS, Plan("0.65", caution=1.5, lift=1.0))):
        rng = np.random.default_rng(number)
        answer = release_and_synthesize(model, database, BUDGET, plan=plan, rng=rng)
        assert answer.safe.certificate.verified
        assert certify_policy(truth, answer.safe.policy).verified
        assert answer.safe.value >= answer.robust.value
        measured += answer.release.totals is not None
    assert measured


def test_costs_of_moves_that_end_the_episode_are_covered_by_facts():
    lake = cmdp_from_gymnasium("FrozenLake-v1", cost=lambda s, a: 0, f0=0, gamma=0.9)
    model = ParametricCMDP.for_states(
        lake,
        [5, 7, 11, 12],
        severity=Envelope(0, 1, radius=0.1, shape=4),
        tolerance=Envelope([0.012], [0.3], radius=0.1),
        on="entering",
    )
    truth = np.array([0.2, 0.9, 0.1, 0.5, 0.15])
    W = np.array([[1.0, 1.0, 1.0, 1.0, 0.0], [0.0, 0.0, 0.0, 0.0, -1.0]])
    polytope = Polytope(model.envelope.lower, model.envelope.upper, W=W, q=W @ truth + 0.01)
    found = policy_over(model, polytope)
    assert found.certificate.verified
    assert certify_policy(model.at(truth), found.policy).verified
    assert found.value > robust_policy(model).value + 1e-3
    assert found.value <= found.upper_bound <= found.value + 1e-6
    assert found.certificate.worst_case_cost >= 0.0


def test_a_plan_without_totals_is_the_database_release():
    model, database = grid(6)
    planned, plain = (
        release_and_synthesize(
            model,
            database,
            BUDGET,
            rng=np.random.default_rng(0),
            plan=plan,
        )
        for plan in (Plan(1), "database")
    )
    assert planned.release.totals is None
    assert planned.release.lower.tolist() == plain.release.lower.tolist()
    assert planned.safe.policy == plain.safe.policy
    assert plain.safe.policy == synthesize(model, plain.release).policy


def test_a_policy_from_totals_is_verified_from_public_files_alone(tmp_path):
    model, database = grid(7)
    answer = release_and_synthesize(model, database, BUDGET, plan=TOTALS)
    assert answer.release.totals is not None
    assert not certify_policy(model.tightened(answer.release), answer.safe.policy).verified
    careless = Policy.uniform(*model.public.r.shape)
    assert not certify_over(model, careless, answer.release.polytope).verified
    files = [model.save(tmp_path / "model.npz"), answer.release.save(tmp_path / "release.npz")]
    for name, policy, passed in (
        ("good", answer.safe.policy, True),
        ("careless", careless, False),
        ("robust", robust_policy(model).policy, True),
    ):
        file = policy.save(tmp_path / f"{name}.npz", release=answer.release, model=model)
        report = verify(*files, file)
        assert report.passed is passed, report.findings


@pytest.mark.kernels
def test_what_is_published_depends_on_neither_a_pool_nor_how_the_plan_came(monkeypatch):
    monkeypatch.setattr(facts_synthesis, "INTERIOR", 100)
    model, database = random_grid(12, np.random.default_rng(0), radius=1.0, start="uniform")
    pool = PolicyPool(model.public)
    safe_policy(model.at(database.values), pool=pool)  # it has seen the truth
    budget = PrivacyBudget(1, "1/1000")

    def made(**more):
        return release_and_synthesize(model, database, budget, rng=np.random.default_rng(0), **more)

    plain, pooled = made(), made(pool=pool)
    given = made(plan=plain.choice.plan)
    assert plain.release.totals is not None
    assert pooled.release.plan == plain.release.plan
    assert pooled.robust.value == plain.robust.value
    facts = plain.release.polytope
    for other in (pooled.release.polytope, given.release.polytope):
        assert np.array_equal(other.W.toarray(), facts.W.toarray())
        assert np.array_equal(other.q, facts.q)
