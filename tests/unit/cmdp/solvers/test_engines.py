"""Column generation: known answers, certificates, pools and refusals."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from dp_cmdp.cmdp.model import CMDP
from dp_cmdp.cmdp.occupancy import flow_matrix
from dp_cmdp.cmdp.solvers.compiled import LOST, kernels
from dp_cmdp.cmdp.solvers.door import solve_cmdp
from dp_cmdp.cmdp.solvers.pool import PolicyPool, usable_cores
from dp_cmdp.cmdp.solvers.solution import FEASIBILITY
from dp_cmdp.errors import (
    ConvergenceError,
    InfeasibleError,
    InvalidArgumentError,
    SolverError,
)

ENGINES = ("policies", "lp")


def one_state(f0, *, gamma=0.5):
    """One state; action 1 earns 1 and costs 1, action 0 nothing."""
    return CMDP(np.ones((1, 2, 1)), [[0.0, 1.0]], f=[[0.0, 1.0]], f0=f0, mu=[1.0], gamma=gamma)


def corridor(length, *, f0, gamma=0.99, seed=0):
    """A slippery corridor with an absorbing end: go forward, or cautiously and slowly."""
    rng = np.random.default_rng(seed)
    T = np.zeros((length, 2, length))
    last = length - 1
    for state in range(last):
        T[state, 0, state + 1], T[state, 0, max(state - 1, 0)] = 0.8, 0.2
        T[state, 1, state + 1], T[state, 1, state] = 0.5, 0.5
    T[last, :, last] = 1.0
    r = np.full((length, 2), -1.0)
    r[last] = 0.0
    f = np.stack([rng.uniform(0.0, 1.0, length), np.zeros(length)], axis=1)
    mu = np.eye(length)[0]
    return CMDP(T, r, f=f, f0=f0, mu=mu, gamma=gamma)


@pytest.mark.parametrize("engine", ENGINES)
def test_one_state_mixes_its_two_actions_by_hand(engine):
    solution = solve_cmdp(one_state(0.5), engine=engine)
    np.testing.assert_allclose(solution.occupancy, [[1.5, 0.5]], atol=1e-9)
    assert solution.value == pytest.approx(0.5, abs=1e-9)
    assert solution.dual == pytest.approx([1.0], abs=1e-9)
    assert solution.upper_bound == pytest.approx(0.5, abs=1e-8)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_loose_constraint_has_no_price(engine):
    solution = solve_cmdp(one_state(10.0), engine=engine)
    assert solution.value == pytest.approx(2.0)
    assert solution.dual == pytest.approx([0.0])


@pytest.mark.parametrize("engine", ENGINES)
def test_the_margin_is_kept_free(engine):
    solution = solve_cmdp(corridor(30, f0=6.0), engine=engine, margin=0.25)
    assert solution.costs[0] <= 5.75 + 1e-9
    assert solution.costs[0] == pytest.approx(5.75)


@pytest.mark.parametrize("engine", ENGINES)
def test_infeasibility_comes_with_a_ray_and_the_least_excess(engine):
    cmdp = CMDP(np.ones((1, 2, 1)), [[0.0, 1.0]], f=[[3.0, 1.0]], f0=1.5, mu=[1.0], gamma=0.5)
    with pytest.raises(InfeasibleError) as caught:
        solve_cmdp(cmdp, engine=engine)
    assert caught.value.ray is not None
    assert caught.value.violation / caught.value.ray.sum() == pytest.approx(0.5)
    assert "1.5" not in str(caught.value)


@pytest.mark.parametrize("engine", ENGINES)
def test_two_costs_that_exclude_each_other_are_infeasible_together(engine):
    f = [[[1.0, 0.0]], [[0.0, 1.0]]]
    cmdp = CMDP(np.ones((1, 2, 1)), [[0.0, 1.0]], f=f, f0=[0.5, 0.5], mu=[1.0], gamma=0.5)
    with pytest.raises(InfeasibleError) as caught:
        solve_cmdp(cmdp, engine=engine)
    assert caught.value.ray is not None
    assert caught.value.ray / caught.value.ray.sum() == pytest.approx([0.5, 0.5])
    assert caught.value.violation == pytest.approx(0.5)


def test_a_tolerance_that_only_the_safest_policy_meets_is_feasible():
    solution = solve_cmdp(corridor(30, f0=0.0), engine="policies")
    assert solution.costs[0] <= 1e-9
    np.testing.assert_allclose(solution.occupancy[:-1, 0], 0.0, atol=1e-9)


def test_the_mixture_satisfies_the_flow_equations_to_rounding():
    cmdp = corridor(300, f0=20.0)
    solution = solve_cmdp(cmdp)
    residual = flow_matrix(cmdp) @ solution.occupancy.ravel() - cmdp.mu
    assert np.abs(residual).sum() < 1e-11
    assert solution.occupancy.min() >= 0.0
    assert solution.occupancy.sum() == pytest.approx(100.0, rel=1e-12)


def test_the_mixture_is_of_at_most_one_policy_more_than_constraints():
    solution = solve_cmdp(corridor(200, f0=20.0), engine="policies")
    assert solution.weights is not None
    assert solution.policies is not None
    assert solution.weights.size == len(solution.policies) == 2
    assert solution.weights.sum() == pytest.approx(1.0)


def test_the_bound_of_a_loose_gap_still_holds():
    exact = solve_cmdp(corridor(200, f0=20.0), engine="policies", gap=1e-11)
    loose = solve_cmdp(corridor(200, f0=20.0), engine="policies", gap=1e-2)
    assert loose.gap <= 1e-2
    assert loose.value <= exact.upper_bound + 1e-9
    assert loose.upper_bound >= exact.value - 1e-9


def test_a_pool_answers_every_draw_as_a_fresh_solve_does():
    cmdp = corridor(80, f0=10.0)
    pool = PolicyPool(cmdp, capacity=8)
    rng = np.random.default_rng(1)
    for _ in range(40):
        f = cmdp.f * rng.uniform(0.5, 1.5, cmdp.f.shape)
        f0 = rng.uniform(3.0, 12.0)
        fresh = solve_cmdp(cmdp.with_constraints(f, f0), engine="policies")
        pooled = pool.solve(f, f0)
        assert pooled.value == pytest.approx(fresh.value, rel=3e-8)
        assert pooled.gap <= 1e-8
        assert pooled.costs[0] <= f0 + 1e-9
    assert len(pool) <= 8 + 40


def test_a_repeated_draw_is_recognised_by_the_pool():
    cmdp = corridor(80, f0=10.0)
    pool = PolicyPool(cmdp)
    first = pool.solve(cmdp.f, cmdp.f0)
    again = pool.solve(cmdp.f, cmdp.f0)
    assert again.iterations == 1 < first.iterations
    assert again.value == pytest.approx(first.value, rel=2e-8)  # both within the gap of 1e-8


@pytest.mark.parametrize("K", [1, 2])
@pytest.mark.parametrize("length", [40, 320])
def test_a_batch_of_draws_is_answered_as_one_by_one(length, K):
    cmdp = corridor(length, f0=10.0)
    rng = np.random.default_rng(3)
    f = cmdp.f[0] * rng.uniform(0.9, 1.1, (60, K, *cmdp.f[0].shape))
    f0 = rng.uniform(3.0, 6.0, (60, K))
    together, alone = PolicyPool(cmdp).solve_many(f, f0).all(), PolicyPool(cmdp)
    for answer, table, tolerance in zip(together, f, f0, strict=True):
        assert answer.value == pytest.approx(alone.solve(table, tolerance).value, rel=3e-8)
        assert answer.gap <= 1e-8
        assert answer.upper_bound >= answer.value - 1e-9
        assert (answer.costs <= tolerance + 1e-9).all()
        np.testing.assert_allclose((answer.occupancy * table).sum(axis=(1, 2)), answer.costs)
        residual = flow_matrix(cmdp) @ answer.occupancy.ravel() - cmdp.mu
        assert np.abs(residual).sum() < 1e-11
    assert np.median([answer.iterations for answer in together]) < together[0].iterations


def test_a_batch_of_several_costs_keeps_every_margin():
    cmdp = corridor(30, f0=5.0)
    rng = np.random.default_rng(4)
    f = rng.uniform(0.0, 1.0, (50, 3, *cmdp.r.shape))
    f[..., 1] *= 0.5
    f[..., -1, :] = 0.0
    f0 = rng.uniform(14.0, 16.0, (50, 3))
    for answer, table, tolerance in zip(
        PolicyPool(cmdp).solve_many(f, f0, margin=0.5).all(), f, f0, strict=True
    ):
        single = solve_cmdp(cmdp.with_constraints(table, tolerance), engine="lp", margin=0.5)
        assert answer.value == pytest.approx(single.value, rel=1e-7)
        assert (answer.costs <= tolerance - 0.5 + 1e-9).all()


@pytest.mark.parametrize("K", [1, 2])
@pytest.mark.parametrize("length", [40, 320])
def test_infeasible_draws_are_named_and_do_not_end_the_batch(length, K):
    cmdp = corridor(length, f0=10.0)
    draws, impossible = 40, (0, 7, 20, 39)
    rng = np.random.default_rng(6)
    f = cmdp.f[0] * rng.uniform(0.9, 1.1, (draws, K, *cmdp.f[0].shape))
    f0 = rng.uniform(3.0, 6.0, (draws, K))
    f0[impossible, -1] = -1.0
    found, alone = PolicyPool(cmdp).solve_many(f, f0), PolicyPool(cmdp)
    assert found.infeasible == tuple(found.errors) == impossible
    for d, answer in enumerate(found.solutions):
        if d in impossible:
            assert answer is None
            error = found.errors[d]
            assert isinstance(error, InfeasibleError)
            assert error.ray is not None
            assert error.violation is not None
            assert error.ray @ -f0[d] >= error.violation > 0  # costs are not negative
            assert error.__traceback__ is None
        else:
            assert answer is not None
            assert answer.value == pytest.approx(alone.solve(f[d], f0[d]).value, rel=3e-8)
    with pytest.raises(InfeasibleError, match=r"4 of 40 draws have no solution: 0, 7, 20, 39\. "):
        found.all()


def test_threads_are_as_many_as_the_cores_that_may_be_used(monkeypatch):
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 3, 5}, raising=False)
    assert usable_cores() == 3
    monkeypatch.delattr("os.sched_getaffinity")
    monkeypatch.setattr("os.cpu_count", lambda: 7)
    assert usable_cores() == 7


def without_whole_numbers(monkeypatch):
    monkeypatch.setattr("dp_cmdp.cmdp.solvers.exact_columns.STATES", 0)


def test_a_draw_that_does_not_converge_is_no_infeasible_one(monkeypatch):
    cmdp = corridor(40, f0=5.0)
    pool = PolicyPool(cmdp)
    space = workspace_of(pool)
    solve, stubborn = space.solve, lost(space)
    monkeypatch.setattr(
        space, "solve", lambda f, b, **rest: (stubborn if b[0] == 4.0 else solve)(f, b, **rest)
    )
    without_whole_numbers(monkeypatch)
    monkeypatch.setattr("dp_cmdp.cmdp.solvers.pool.LP_LIMIT", 0)
    found = pool.solve_many(np.repeat(cmdp.f, 3, axis=0), [5.0, 4.0, 6.0], threads=1)
    assert (found.infeasible, list(found.errors)) == ((), [1])
    assert [answer is None for answer in found.solutions] == [False, True, False]
    with pytest.raises(SolverError, match=r"1 of 3 draws .*: 1\. .*relative gap"):
        found.all()


@pytest.mark.parametrize("K", [1, 2, 3])
def test_answers_do_not_depend_on_the_number_of_threads(K):
    cmdp = corridor(60, f0=10.0)
    rng = np.random.default_rng(5)
    f = cmdp.f[0] * rng.uniform(0.9, 1.1, (90, K, *cmdp.f[0].shape))
    f0 = rng.uniform(3.0, 6.0, (90, K))
    f0[13] = -1.0
    one, *others = (PolicyPool(cmdp).solve_many(f, f0, threads=count) for count in (1, 2, 5))
    for other in others:
        assert other.infeasible == one.infeasible == (13,)
        for ours, theirs in zip(one.solutions, other.solutions, strict=True):
            assert (ours is None) == (theirs is None)
            if ours is not None and theirs is not None:
                np.testing.assert_array_equal(ours.occupancy, theirs.occupancy)
                assert (ours.value, ours.upper_bound) == (theirs.value, theirs.upper_bound)


@pytest.mark.parametrize(
    ("shape", "f0", "match"),
    [
        ((29, 2), 1.0, "f must have shape"),
        ((30, 2), 1.0, "f must have shape"),
        ((3, 30, 2), [1.0, 2.0], "f0"),
        ((3, 2, 30, 2), np.ones((2, 3)), "f0"),
        ((3, 30, 2), [1.0, np.nan, 1.0], "f0"),
    ],
)
def test_a_batch_of_another_shape_is_refused(shape, f0, match):
    with pytest.raises(InvalidArgumentError, match=match):
        PolicyPool(corridor(30, f0=5.0)).solve_many(np.zeros(shape), f0)


@pytest.mark.parametrize("K", [1, 2, 3])
def test_a_batch_may_meet_a_pool_of_one_policy(K):
    cmdp = corridor(20, f0=5.0)
    f = np.random.default_rng(K).random((40, K, *cmdp.r.shape))
    f[..., 1] *= 0.5
    f[..., -1, :] = 0.0
    f0 = np.full((40, K), 1000.0)
    f0[20:, 0] = 11.0  # loose draws first, so that one policy is all there is
    for answer, table, tolerance in zip(
        PolicyPool(cmdp).solve_many(f, f0).all(), f, f0, strict=True
    ):
        single = solve_cmdp(cmdp.with_constraints(table, tolerance), engine="lp")
        assert answer.value == pytest.approx(single.value, rel=1e-7)


def test_an_empty_batch_has_no_answers():
    assert PolicyPool(corridor(30, f0=5.0)).solve_many(np.zeros((0, 1, 30, 2)), []).all() == []


def test_a_pool_recovers_from_an_infeasible_draw():
    cmdp = corridor(40, f0=5.0)
    pool = PolicyPool(cmdp)
    with pytest.raises(InfeasibleError):
        pool.solve(cmdp.f, -1.0)
    assert pool.solve(cmdp.f, 5.0).value == pytest.approx(solve_cmdp(cmdp, engine="lp").value)


def test_a_pool_of_other_dynamics_is_refused():
    with pytest.raises(InvalidArgumentError, match="pool"):
        solve_cmdp(corridor(30, f0=5.0), pool=PolicyPool(corridor(30, f0=5.0, gamma=0.9)))


def test_a_pool_refuses_costs_of_another_shape():
    with pytest.raises(InvalidArgumentError, match="f must have shape"):
        PolicyPool(corridor(30, f0=5.0)).solve(np.zeros((29, 2)), 1.0)
    with pytest.raises(InvalidArgumentError, match="no array of numbers"):
        PolicyPool(corridor(30, f0=5.0)).solve("dear", 1.0)
    with pytest.raises(InvalidArgumentError, match="gap"):
        PolicyPool(corridor(30, f0=5.0)).solve(np.zeros((30, 2)), 1.0, gap=-1.0)


def test_a_gap_below_double_precision_is_refused_honestly():
    with pytest.raises(ConvergenceError, match="gap"):
        solve_cmdp(corridor(100, f0=11.3, gamma=0.999), engine="policies", gap=0.0)


def test_auto_takes_policies_where_there_are_kernels():
    assert solve_cmdp(corridor(5, f0=9.0)).engine == "policies"
    assert solve_cmdp(corridor(900, f0=9.0)).engine == "policies"


def test_a_large_model_with_a_cost_that_is_the_same_everywhere_is_solved():
    rng = np.random.default_rng(7)
    size, num_actions = 1500, 3
    pairs = size * num_actions
    rows, successors = np.repeat(np.arange(pairs), 4), rng.integers(0, size, pairs * 4)
    T = sparse.csr_array(
        (rng.dirichlet(np.ones(4), pairs).ravel(), (rows, successors)), shape=(pairs, size)
    )
    f = np.stack([np.ones((size, num_actions)), rng.random((size, num_actions))])
    r, mu = -rng.random((size, num_actions)), np.full(size, 1.0 / size)
    cmdp = CMDP(T, r, f=f, f0=[100.0, 45.0], mu=mu, gamma=0.99)
    answer = solve_cmdp(cmdp, engine="policies")
    assert answer.gap <= 1e-8
    np.testing.assert_array_less(answer.costs, cmdp.f0 + 1e-7)
    assert answer.occupancy.sum() == pytest.approx(100.0)


def test_a_cost_that_is_always_zero_decides_by_its_tolerance_alone():
    zero = np.zeros((1, 2))
    cmdp = CMDP(np.ones((1, 2, 1)), [[0.0, 1.0]], f=zero, f0=0.0, mu=[1.0], gamma=0.5)
    assert solve_cmdp(cmdp, engine="policies").value == pytest.approx(2.0)
    with pytest.raises(InfeasibleError):
        solve_cmdp(cmdp, engine="policies", margin=0.1)


def test_a_zero_discount_and_a_zero_reward_are_solved():
    cmdp = CMDP(np.ones((1, 2, 1)), [[0.0, 0.0]], f=[[0.0, 1.0]], f0=0.5, mu=[1.0], gamma=0.0)
    solution = solve_cmdp(cmdp, engine="policies")
    assert solution.value == 0.0
    assert solution.costs[0] <= 0.5


def workspace_of(pool):
    assert pool.library is not None
    return pool.library.workspace


def lost(space):
    """A workspace's solve that finds the policies and no bound."""
    solve = space.solve

    def stubborn(costs, b, **options):
        return replace(solve(costs, b, **options), status=LOST, bound=np.inf)

    return stubborn


def test_what_policies_do_not_decide_the_linear_program_does(monkeypatch):
    cmdp = corridor(60, f0=9.0)
    pool = PolicyPool(cmdp)
    expected = pool.solve(cmdp.f, cmdp.f0)
    space = workspace_of(pool)
    monkeypatch.setattr(space, "solve", lost(space))
    without_whole_numbers(monkeypatch)
    answer = solve_cmdp(cmdp, pool=pool)
    assert (expected.engine, answer.engine) == ("policies", "lp")
    assert answer.value == pytest.approx(expected.value)
    monkeypatch.setattr("dp_cmdp.cmdp.solvers.pool.LP_LIMIT", 59)
    with pytest.raises(ConvergenceError, match="relative gap of inf"):
        solve_cmdp(cmdp, pool=pool)


def test_two_threads_may_share_a_pool():
    cmdp = corridor(120, f0=10.0)
    rng = np.random.default_rng(8)
    f = cmdp.f[0] * rng.uniform(0.9, 1.1, (24, *cmdp.f[0].shape))
    pool, alone = PolicyPool(cmdp), PolicyPool(cmdp)
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda table: pool.solve(table, [4.0]).value, f))
    for value, table in zip(found, f, strict=True):
        assert value == pytest.approx(alone.solve(table, [4.0]).value, rel=3e-8)


def test_a_pool_can_be_copied_and_sent_to_another_process():
    cmdp = corridor(40, f0=5.0)
    pool = PolicyPool(cmdp)
    value = pool.solve(cmdp.f, 5.0).value  # within the gap of 1e-8, as the others
    for other in (pickle.loads(pickle.dumps(pool)), copy.deepcopy(pool)):
        assert len(other) == len(pool)
        assert other.solve(cmdp.f, 5.0).value == pytest.approx(value, rel=2e-8)


def test_a_margin_beyond_the_range_of_doubles_is_refused():
    pool = PolicyPool(corridor(20, f0=5.0))
    with pytest.raises(InvalidArgumentError, match="f0 less margin"):
        pool.solve(np.zeros((1, 20, 2)), [-1e308], margin=1.7e308)


def test_a_bound_in_extended_precision_allows_for_rows_that_do_not_sum_to_one():
    """The exact optimum is 1.807e-3: (1 − γ · 0.9999999999999999) is not 1 − γ."""
    f = [[-5.031219605801506e-13, -1.216248133341406e-12, 8.349715884065845e-13]]
    cmdp = CMDP(
        [[[0.9999999999999999], [1.0], [1.0]]],
        [[1e6, 0.0, 0.0]],
        f=f,
        f0=[-1.2162481339815851e-05],
        mu=[1.0],
        gamma=0.9999999,
    )
    with suppress(ConvergenceError):  # which claims nothing
        assert solve_cmdp(cmdp).upper_bound >= 1.807e-3


SWITCHING = np.array([[[1.0, 0], [0, 1]], [[0, 1], [1, 0]]])  # action 1 changes the state
PAID = np.array([[0.0, 0], [1, 1]])


@pytest.mark.parametrize("engine", ["auto", "lp"])
@pytest.mark.parametrize(("size", "gamma"), [(1e308, 0.5), (2e305, 0.999), (2e301, 0.9999999)])
def test_rewards_and_costs_whose_discounted_sums_overflow_are_refused(engine, size, gamma):
    costly = CMDP(SWITCHING, PAID, f=size * PAID, f0=[0.5 * size], mu=[1, 0], gamma=gamma)
    with pytest.raises(InvalidArgumentError, match=r"^f must be at most .* rescale"):
        solve_cmdp(costly, engine=engine)
    rich = CMDP(SWITCHING, size * PAID, f=PAID, f0=[0.5], mu=[1, 0], gamma=gamma)
    with pytest.raises(InvalidArgumentError, match=r"^r must be at most .* rescale"):
        solve_cmdp(rich, engine=engine)


def test_a_pool_refuses_the_same_costs_and_no_costs():
    pool = PolicyPool(CMDP(SWITCHING, PAID, f=PAID, f0=[1.0], mu=[1, 0], gamma=0.5))
    with pytest.raises(InvalidArgumentError, match=r"^f must be at most"):
        pool.solve(1e308 * PAID, [1.0])
    with pytest.raises(InvalidArgumentError, match=r"^f must hold at least one cost"):
        pool.solve(np.zeros((0, 2, 2)), [])
    with pytest.raises(InvalidArgumentError, match=r"^f0 less margin"):
        pool.solve_many([PAID] * 4, [1e307, 1e307, 1e307, -1.79e308], margin=1e307)
    assert len(pool) == 0  # nothing was solved before that
    assert pool.solve(4e306 * PAID, [2e306]).value == pytest.approx(0.5)


@pytest.mark.parametrize("K", [1, 2])  # with more, a row is missed by less than HiGHS notices
def test_both_engines_draw_the_line_of_feasibility_at_the_sum_of_the_excesses(K):
    def missed(share):
        short = share * FEASIBILITY * 2.0  # in units of max|f|/(1 - gamma)
        model = CMDP(np.ones((1, 1, 1)), [[1.0]], f=np.ones((K, 1, 1)), f0=np.full(K, 2.0 - short),
                     mu=[1], gamma=0.5)  # fmt: skip
        return [verdict(model, engine) for engine in ("auto", "lp")]

    assert missed(0.9 / K) == ["answered"] * 2
    assert missed(1.1 / K) == ["InfeasibleError"] * 2


def verdict(model, engine):
    try:
        solve_cmdp(model, engine=engine)
    except SolverError as error:
        return type(error).__name__
    return "answered"


@pytest.mark.skipif(kernels() is None, reason="engine='policies' needs the kernels")
def test_an_error_of_policies_does_not_send_the_reader_to_policies():
    model = CMDP(SWITCHING, PAID, f=PAID, f0=[0.5], mu=[1, 0], gamma=0.5)
    with pytest.raises(ConvergenceError, match=r"ask for a larger gap$"):
        solve_cmdp(model, engine="policies", gap=1e-17)
