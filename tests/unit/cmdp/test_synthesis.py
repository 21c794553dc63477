"""From a release to a certified policy."""

import numpy as np
import pytest

from dp_cmdp import Database, Envelope, PrivacyBudget, cost_of_privacy, evaluate, release_database
from dp_cmdp.cmdp import synthesis
from dp_cmdp.cmdp.certificate import certify_policy
from dp_cmdp.cmdp.model import CMDP
from dp_cmdp.cmdp.occupancy import flow_matrix
from dp_cmdp.cmdp.parametric import ParametricCMDP
from dp_cmdp.cmdp.policy import Policy
from dp_cmdp.cmdp.rollout import rollout
from dp_cmdp.cmdp.solvers.door import solve_cmdp
from dp_cmdp.cmdp.synthesis import check_robust_policy, robust_policy, safe_policy, synthesize
from dp_cmdp.data.affine import Affine
from dp_cmdp.envs import HazardGridEnv
from dp_cmdp.errors import AssumptionError, InfeasibleError, InvalidArgumentError, SolverError
from dp_cmdp.frontends.gymnasium import cmdp_from_gymnasium
from dp_cmdp.release.blocks import release_blocks
from tests.problems import scipy_optimum, two_ways


def shortcut(f0: float = 1.0, gamma: float = 0.9) -> CMDP:
    """State 0 chooses for ever: action 1 earns 1 and costs 1, action 0 does neither."""
    T = np.zeros((2, 2, 2))
    T[:, :, 0] = 1.0
    r = np.array([[0.0, 1.0], [0.0, 0.0]])
    return CMDP(T, r, f=r, f0=f0, mu=[1.0, 0.0], gamma=gamma)


def with_private_severity(tolerance=(1.0, 3.0)) -> ParametricCMDP:
    """Two ways from 0: over state 1 (pays 1, private cost) or over state 2 (pays 0.5, safe)."""
    return ParametricCMDP.for_states(
        two_ways(),
        [1],
        severity=Envelope([0.0], [1.0], radius=0.1),
        tolerance=Envelope([tolerance[0]], [tolerance[1]], radius=0.1),
    )


def test_the_constrained_optimum_in_closed_form():
    # cost and reward coincide, so the value is the tolerance: play action 1 a share f0(1 − γ)
    safe = safe_policy(shortcut(f0=1.0))
    assert safe.value == pytest.approx(1.0, abs=1e-9)
    assert safe.policy.probs[0, 1] == pytest.approx(0.1, abs=1e-9)
    assert safe.certificate.verified
    assert safe.certificate.worst_case_cost[0] <= 1.0


def test_one_binding_constraint_mixes_two_deterministic_policies():
    safe = safe_policy(shortcut(f0=1.0))
    assert (safe.policy.probs.max(axis=1) < 1.0).sum() == 1


def test_a_loose_tolerance_gives_the_unconstrained_optimum():
    safe = safe_policy(shortcut(f0=100.0))
    assert safe.value == pytest.approx(10.0)
    assert safe.policy.probs[0].tolist() == [0.0, 1.0]


def test_a_private_policy_is_safe_for_the_truth_and_between_robust_and_nonprivate():
    model = with_private_severity()
    robust = robust_policy(model)
    for seed in range(30):
        rng = np.random.default_rng(seed)
        values = np.array([rng.random(), rng.uniform(1.0, 3.0)])
        database = Database(values, model.envelope)
        truth = model.at(values)
        release = release_database(database, PrivacyBudget(2, "1/100"), rng=rng)
        safe = synthesize(model, release)
        best = safe_policy(truth)
        assert safe.certificate.verified
        assert certify_policy(truth, safe.policy).verified
        assert robust.value - 1e-9 <= safe.value <= best.value + 1e-9
        assert cost_of_privacy(best.value, safe.value) >= 0.0


def test_algorithm_1_on_a_cmdp_charges_one_state_for_all_its_actions():
    model = with_private_severity()
    program = model.program()
    assert program.sensitivity("A") == pytest.approx(0.2)  # two actions
    database = Database([0.4, 2.0], model.envelope)
    for calibration in ("paper", "tight"):
        release = release_blocks(
            database,
            PrivacyBudget(5, "1/100"),
            program=program,
            alphas={"A": "99/100", "b": "1/100"},
            calibration=calibration,
            rng=np.random.default_rng(0),
        )
        safe = synthesize(model, release)
        assert certify_policy(model.at(database.values), safe.policy).verified


def test_the_tightened_model_is_the_worst_of_its_box():
    model = with_private_severity()
    worst = model.robust(np.array([0.2, 1.5]), np.array([0.7, 2.5]))
    assert worst.f[0, 1].tolist() == [0.7, 0.7]
    assert worst.f0.tolist() == [1.5]
    assert model.robust().f[0, 1].tolist() == [1.0, 1.0]


def test_robust_infeasibility_names_constraint_amount_and_states_without_data():
    T = np.ones((1, 1, 1))
    public = CMDP(T, [[1.0]], f=[[0.0]], f0=1.0, mu=[1.0], gamma=0.5)
    model = ParametricCMDP.for_states(
        public, [0], severity=Envelope([0.0], [1.0]), tolerance=Envelope([0.5], [3.0])
    )
    with pytest.raises(AssumptionError, match=r"hazard by 1\.5.*state 0 \(2\)") as caught:
        check_robust_policy(model)
    assert caught.value.relaxation == pytest.approx([1.5])
    with pytest.raises(AssumptionError):
        robust_policy(model)


def test_an_infeasible_cmdp_is_named():
    with pytest.raises(InfeasibleError):
        safe_policy(shortcut(f0=-1.0))


@pytest.mark.parametrize("layout", ["rooms", "paper", "cliff"])
def test_the_upper_bound_is_that_of_the_tolerances_and_not_of_those_less_the_margin(layout):
    model = HazardGridEnv(layout).model()
    safe = robust_policy(model)
    assert safe.margin > 0.0
    assert safe.value <= safe.upper_bound <= safe.value + 1e-7 * max(1.0, abs(safe.value))
    assert solve_cmdp(model.robust()).value <= safe.upper_bound


def test_the_upper_bound_covers_a_margin_that_matters(monkeypatch):
    # value = tolerance: with a margin of about 1 % the program's own bound would be 0.99
    monkeypatch.setattr(synthesis, "FIRST_MARGIN", 1e-3)
    safe = safe_policy(shortcut(f0=1.0))
    assert safe.value < 0.995
    assert safe.upper_bound == pytest.approx(1.0, abs=1e-9)
    assert safe.upper_bound >= 1.0


def without_slack(num_states: int) -> CMDP:
    """Every policy costs exactly 2, the tolerance."""
    size = num_states
    return CMDP(
        np.eye(size)[:, None],
        np.ones((size, 1)),
        f=np.ones((1, size, 1)),
        f0=[2.0],
        mu=np.full(size, 1.0 / size),
        gamma=0.5,
    )


def test_tolerances_met_exactly_are_certified_without_a_margin():
    safe = safe_policy(without_slack(2))
    assert safe.margin == 0.0
    assert safe.certificate.verified
    assert safe.certificate.worst_case_cost.tolist() == [2.0]


def test_a_feasible_model_without_room_is_never_called_infeasible():
    with pytest.raises(SolverError, match="no room") as caught:
        safe_policy(without_slack(64))
    assert not isinstance(caught.value, InfeasibleError)


@pytest.mark.parametrize("layout", ["cliff", "paper"])
def test_long_horizons_and_large_rewards_are_solved(layout):
    safe = robust_policy(HazardGridEnv(layout, gamma=0.9999999, goal_reward=1e12).model())
    assert safe.certificate.verified
    assert safe.value <= safe.upper_bound <= safe.value * (1 + 1e-6)


def test_a_long_horizon_that_no_policy_survives_is_an_assumption_and_not_a_status():
    with pytest.raises(AssumptionError, match="hazard by"):
        robust_policy(HazardGridEnv("islands", gamma=0.9999999, goal_reward=1e12).model())


def test_missing_arguments_are_named():
    model = with_private_severity()
    for call, name in (
        (lambda: synthesize(None, None), "model"),  # type: ignore[arg-type]
        (lambda: synthesize(model, None), "release"),  # type: ignore[arg-type]
        (lambda: robust_policy(None), "model"),  # type: ignore[arg-type]
        (lambda: check_robust_policy(None), "model"),  # type: ignore[arg-type]
        (lambda: safe_policy(None), "cmdp"),  # type: ignore[arg-type]
        (lambda: evaluate(shortcut(), None), "policy"),  # type: ignore[arg-type]
        (lambda: evaluate(None, None), "cmdp"),  # type: ignore[arg-type]
    ):
        with pytest.raises(InvalidArgumentError, match=f"^{name} must be a .*NoneType"):
            call()


def test_one_entry_in_cost_and_tolerance_is_named_as_such():
    # cost θ in the only state, discounted 2θ, tolerance 2.5θ: safe for every θ, yet 2·1 > 2.5·0.5
    model = ParametricCMDP(
        Envelope([0.5], [1.0]),
        T=np.ones((1, 1, 1)),
        r=[[1.0]],
        mu=[1.0],
        gamma=0.5,
        cost=Affine((1, 1), at=([0], [0]), entry=[0]),
        tolerance=Affine(1, at=[0], entry=[0], coefficient=2.5),
    )
    model.program().check_robust_feasibility()
    with pytest.raises(AssumptionError, match="is in both") as caught:
        robust_policy(model)
    assert caught.value.label == "ass:feast"


@pytest.mark.parametrize(
    ("states", "named"), [([0, 0], "distinct"), ([0.5, 1.0], "integers"), ([0], "distinct")]
)
def test_bad_candidates_are_refused(states, named):
    with pytest.raises(InvalidArgumentError, match=named):
        ParametricCMDP.for_states(
            shortcut(),
            states,
            severity=Envelope(0.0, 1.0, shape=2),
            tolerance=Envelope([0.5], [3.0]),
        )


GYM = {
    "FrozenLake-v1": ({"map_name": "8x8"}, (19, 29, 35, 41, 42, 46, 49, 52, 54, 59), "entering"),
    "CliffWalking-v1": ({}, range(25, 35), "occupying"),
    "Taxi-v4": ({}, [s for s in range(0, 500, 7) if s // 4 % 5 != s % 4], "occupying"),
}


@pytest.mark.parametrize("name", GYM)
def test_tabular_gymnasium_models_are_solved_privatised_and_rolled_out(name):
    import gymnasium as gym

    options, candidates, on = GYM[name]
    gamma = 0.95
    known = name if name in gym.registry else name[:-1] + "3"
    public = cmdp_from_gymnasium(
        known, cost=lambda state, action: 0.0, f0=1.0, gamma=gamma, options=options
    )
    states = np.array(list(candidates))
    charged = ParametricCMDP.for_states(
        public,
        states,
        severity=Envelope(0.0, 1.0, shape=states.size),
        tolerance=Envelope([0.0], [1.0]),
        on=on,
    )
    loosest = _least_cost(charged.robust())
    model = ParametricCMDP.for_states(
        public,
        states,
        severity=Envelope(0.0, 1.0, shape=states.size, radius=0.1),
        tolerance=Envelope([loosest + 0.05], [loosest + 2.0], radius=0.1),
        on=on,
    )
    rng = np.random.default_rng(0)
    values = np.append(rng.random(states.size), loosest + 0.5)
    release = release_database(Database(values, model.envelope), PrivacyBudget(4, "1/100"), rng=rng)
    safe = synthesize(model, release)
    tightened = model.tightened(release)
    assert safe.value == pytest.approx(_independent_optimum(tightened), rel=1e-6, abs=1e-7)
    assert certify_policy(model.at(values), safe.policy).verified
    env = gym.make(known, **options)
    severity = dict(zip(states.tolist(), values[:-1], strict=True))
    played = rollout(
        env,
        Policy(safe.policy.probs[:-1]),
        episodes=150,
        seed=0,
        gamma=gamma,
        cost=lambda s, action, n: severity.get(int(s if on == "occupying" else n), 0.0),
    )
    exact = evaluate(model.at(values), safe.policy)
    # 99.9999 % intervals: a false alarm in one run of a million per quantity
    low, high = played.return_interval(0.999999)
    assert low - 1e-6 <= exact.value <= high + 1e-6
    (cost_low, cost_high), *_ = played.cost_intervals(0.999999)
    assert cost_low - 1e-6 <= exact.costs[0] <= cost_high + 1e-6


def _occupancy_lp(cmdp: CMDP, objective, **rows):
    gain = np.asarray(objective).ravel()
    return -scipy_optimum(-gain, A_eq=flow_matrix(cmdp), b_eq=cmdp.mu, **rows).fun


def _independent_optimum(cmdp: CMDP) -> float:
    """scipy's own linear program, without any of the package's solvers."""
    return _occupancy_lp(cmdp, cmdp.r, A_ub=cmdp.f.reshape(1, -1), b_ub=cmdp.f0)


def _least_cost(cmdp: CMDP) -> float:
    return -_occupancy_lp(cmdp, -cmdp.f[0])


def test_a_robust_policy_is_solved_for_once(monkeypatch):
    solved = []

    def counted(*args, **named):
        solved.append(args)
        return solve_cmdp(*args, **named)

    monkeypatch.setattr("dp_cmdp.cmdp.solvers.door.solve_cmdp", counted)
    assert robust_policy(HazardGridEnv("corridor").model()).certificate.verified
    assert len(solved) == 1
