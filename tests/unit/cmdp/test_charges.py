"""Costs on occupying and on entering: what they charge, and what they refuse to certify."""

from fractions import Fraction

import gymnasium
import numpy as np
import pytest

from dp_cmdp import Database, Envelope, PrivacyBudget, release_database
from dp_cmdp.cmdp.certificate import certify_policy
from dp_cmdp.cmdp.charges import acting_states
from dp_cmdp.cmdp.evaluation import evaluate
from dp_cmdp.cmdp.model import CMDP
from dp_cmdp.cmdp.parametric import ParametricCMDP
from dp_cmdp.cmdp.policy import Policy
from dp_cmdp.cmdp.synthesis import robust_policy, synthesize
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.frontends.gymnasium import cmdp_from_gymnasium
from dp_cmdp.release.blocks import release_blocks
from tests.problems import same_matrix

LAKES = {
    "4x4": {"map_name": "4x4", "is_slippery": True},
    "8x8": {"map_name": "8x8", "is_slippery": True},
    "firm": {"map_name": "4x4", "is_slippery": False},
}


def free(state, action):
    return 0.0


def fallen(state, action, next_state, reward):
    """The cliff cell behind a move that pays −100."""
    return (37 if state >= 36 else state + 12) if reward == -100 else None


def imported(name, gamma=0.95, through=None, **options):
    return cmdp_from_gymnasium(
        name, cost=free, f0=0.0, gamma=gamma, options=options, through=through
    )


def holes_of(options):
    lake: object = gymnasium.make("FrozenLake-v1", **options).unwrapped
    return np.flatnonzero(np.ravel(lake.desc) == b"H")  # type: ignore[attr-defined]


def private(public, states, *, on, tolerance=(0.01, 0.5), top=1.0):
    return ParametricCMDP.for_states(
        public,
        states,
        severity=Envelope(0.0, top, radius=0.1 * top, shape=len(states)),
        tolerance=Envelope([tolerance[0]], [tolerance[1]], radius=0.01),
        on=on,
    )


def swept_cost(env, policy, price, gamma, sweeps=2500):
    """Discounted cost of a policy by sweeps over P; price(s, a, n, reward) of every transition."""
    P = env.unwrapped.P
    step, moves = np.zeros(len(P)), np.zeros((len(P), len(P)))
    for s in P:
        for a in P[s]:
            for p, n, reward, over in P[s][a]:
                step[s] += policy.probs[s, a] * p * price(s, a, int(n), reward)
                moves[s, int(n)] += 0.0 if over else policy.probs[s, a] * p
    cost = np.zeros(len(P))
    for _ in range(sweeps):
        cost = step + gamma * moves @ cost
    return float(env.unwrapped.initial_state_distrib @ cost)


@pytest.mark.parametrize("lake", LAKES)
def test_holes_that_end_the_episode_are_refused_as_occupied_states(lake):
    holes = holes_of(LAKES[lake])
    with pytest.raises(InvalidArgumentError, match=f"'entering'.*{holes[0]}, {holes[1]}"):
        private(imported("FrozenLake-v1", **LAKES[lake]), holes, on="occupying")


def test_one_hole_among_other_candidates_is_enough_to_refuse_them():
    holes = holes_of(LAKES["4x4"])
    with pytest.raises(InvalidArgumentError, match=f"'entering'.*state {holes[0]},"):
        private(imported("FrozenLake-v1", **LAKES["4x4"]), [1, int(holes[0])], on="occupying")


@pytest.mark.parametrize("lake", LAKES)
def test_the_certificate_covers_the_falls_of_the_released_policy(lake):
    # In the 8x8 lake at γ = 0.99 and a true tolerance of 0.015, occupied holes were certified to
    # cost 0 while the policy fell at a true cost of 0.055.
    holes, gamma = holes_of(LAKES[lake]), 0.99
    model = private(
        imported("FrozenLake-v1", gamma, **LAKES[lake]), holes, on="entering", tolerance=(0.01, 0.1)
    )
    values = np.append(np.ones(holes.size), 0.015)
    rng = np.random.default_rng(3)
    release = release_database(Database(values, model.envelope), PrivacyBudget(4, 0.01), rng=rng)
    safe = synthesize(model, release)
    env = gymnasium.make("FrozenLake-v1", **LAKES[lake])
    true = swept_cost(env, safe.policy, lambda s, a, n, r: float(n in holes), gamma)
    assert safe.certificate.verified
    assert true <= safe.certificate.worst_case_cost[0] + 1e-9
    assert safe.certificate.worst_case_cost[0] <= 0.015
    assert evaluate(model.at(values), safe.policy).costs[0] == pytest.approx(true, abs=1e-9)


def test_tolerances_bind_the_falls_and_a_looser_one_earns_more():
    lake = imported("FrozenLake-v1", 0.99, **LAKES["8x8"])
    holes = holes_of(LAKES["8x8"])
    values, costs = zip(
        *(
            (safe.value, safe.certificate.worst_case_cost[0])
            for low in (0.001, 0.015, 0.04)
            for safe in [robust_policy(private(lake, holes, on="entering", tolerance=(low, 0.1)))]
        ),
        strict=True,
    )
    assert values[0] < values[1] < values[2]
    assert costs == pytest.approx((0.001, 0.015, 0.04), rel=1e-6)


@pytest.mark.parametrize("slippery", [False, True])
def test_the_cliff_is_charged_where_moves_pass_through_it(slippery):
    cliff, gamma = np.arange(37, 47), 0.95
    silent = imported("CliffWalking-v1", gamma, is_slippery=slippery)
    for on in ("occupying", "entering"):
        with pytest.raises(InvalidArgumentError, match=r"states 37, 38.*and 2 more"):
            private(silent, cliff, on=on)
    public = imported("CliffWalking-v1", gamma, through=fallen, is_slippery=slippery)
    model = private(public, cliff, on="entering", top=2.0)
    severity = np.linspace(0.2, 2.0, 10)
    policy = Policy(np.random.default_rng(1).dirichlet(np.ones(4), 49))

    def price(s, a, n, reward):
        cell = fallen(s, a, n, reward)
        return 0.0 if cell is None else severity[cell - 37]

    env = gymnasium.make("CliffWalking-v1", is_slippery=slippery)
    expected = swept_cost(env, policy, price, gamma)
    found = evaluate(model.at(np.append(severity, 0.5)), policy).costs[0]
    assert expected > 0.1
    assert found == pytest.approx(expected, rel=1e-9)
    # a fall puts the walker at the start, which is entered too
    start = private(public, [36], on="entering")
    expected = swept_cost(env, policy, lambda s, a, n, r: float(n == 36), gamma)
    assert evaluate(start.at([1.0, 0.5]), policy).costs[0] == pytest.approx(expected, rel=1e-9)


def test_a_taxi_ride_that_ends_is_charged_on_entering_only():
    taxi = imported("Taxi-v4" if "Taxi-v4" in gymnasium.registry else "Taxi-v3", 0.9)
    ends = [0, 85, 410, 475]  # the passenger stands at the destination
    with pytest.raises(InvalidArgumentError, match=r"'entering'.*states 0, 85, 410, 475"):
        private(taxi, ends, on="occupying")
    model = private(taxi, ends, on="entering")
    f = model.at([1.0, 1.0, 1.0, 1.0, 0.5]).f[0]
    assert f[taxi.r == 20.0].tolist() == [1.0] * 4
    assert f[acting_states(taxi)].sum() == 4.0
    with pytest.raises(InvalidArgumentError, match=r"within reach.*state 20 "):
        private(taxi, [20], on="entering")


def line(mu=(1.0, 0.0, 0.0, 0.0), gamma=0.5, **facts):
    """0 → 1 → 2 → 2, one action; 3 → 0, but nothing leads to 3."""
    T = np.zeros((4, 1, 4))
    T[0, 0, 1] = T[1, 0, 2] = T[2, 0, 2] = T[3, 0, 0] = 1.0
    zero = np.zeros((4, 1))
    return CMDP(T, zero, f=zero, f0=1.0, mu=mu, gamma=gamma, **facts)


ONLY = Policy(np.ones((4, 1)))


@pytest.mark.parametrize(
    ("state", "on", "cost"),
    [
        (1, "occupying", 0.5),  # γ¹, acted in at step 1
        (1, "entering", 1.0),  # γ⁰, entered by the move of step 0
        (0, "occupying", 1.0),
        (2, "occupying", 0.5),  # γ² + γ³ + …
        (2, "entering", 1.0),  # γ + γ² + …: staying enters again
    ],
)
def test_a_charge_has_the_weight_of_the_step_that_causes_it(state, on, cost):
    model = private(line(), [state], on=on)
    assert evaluate(model.at([1.0, 0.5]), ONLY).costs[0] == pytest.approx(cost)
    assert certify_policy(model.at([1.0, 0.5]), ONLY).worst_case_cost[0] >= cost


def test_arrivals_of_ones_own_charge_an_absorbing_hazard_once():
    arrivals = line().T.toarray()[:, None]
    arrivals[2, 0, 2] = 0.0
    model = private(line(arrivals=arrivals), [2], on="entering")
    assert evaluate(model.at([1.0, 0.5]), ONLY).costs[0] == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("states", "on", "facts", "named"),
    [
        ([1, 3], "occupying", {}, "state 3,"),
        ([1, 3], "entering", {}, r"state 3 \("),
        ([0, 1], "entering", {}, "state 0 .*starting there is no entry.*'occupying'"),
        ([1], "occupying", {"gamma": 0.0}, "state 1,"),
        ([2], "entering", {"gamma": 0.0}, "state 2 "),
        ([1], "leaving", {}, "on must be one of occupying, entering"),
        ([1, 4], "entering", {}, r"in \[0, 3\]"),
        ([-1, 1], "entering", {}, r"in \[0, 3\]"),
    ],
)
def test_what_can_never_be_met_is_refused_by_name(states, on, facts, named):
    with pytest.raises(InvalidArgumentError, match=named):
        private(line(**facts), states, on=on)


def test_a_state_named_twice_is_refused_even_if_the_distinct_ones_fit():
    with pytest.raises(InvalidArgumentError, match="2 distinct"):
        ParametricCMDP.for_states(
            line(),
            [1, 1, 2],
            severity=Envelope(0.0, 1.0, shape=2),
            tolerance=Envelope([0.5], [3.0]),
        )


def test_a_state_where_only_some_moves_end_is_not_charged_in_part():
    # 1 is acted in after most visits, but one move in ten ends the episode there (in state 2)
    T = np.array([[[0.0, 0.9, 0.1]], [[1.0, 0.0, 0.0]], [[0.0, 0.0, 1.0]]])
    arrivals = np.array([[[0.0, 1.0, 0.0]], [[1.0, 0.0, 0.0]], [[0.0, 0.0, 0.0]]])
    zero = np.zeros((3, 1))
    public = CMDP(T, zero, f=zero, f0=1.0, mu=[1.0, 0, 0], gamma=0.5, arrivals=arrivals)
    with pytest.raises(InvalidArgumentError, match=r"'entering'.*state 1,"):
        private(public, [1], on="occupying")
    cost = evaluate(private(public, [1], on="entering").at([1.0, 0.5]), Policy(np.ones((3, 1))))
    assert cost.costs[0] == pytest.approx(1 / (1 - 0.9 * 0.25))
    with pytest.raises(InvalidArgumentError, match="state 2 "):
        private(public, [2], on="entering")  # the end is no place that is entered


def test_moves_of_probability_zero_lead_nowhere():
    T = np.array([[[1.0, 0.0]], [[0.0, 1.0]]])
    model = CMDP(T, [[0.0]] * 2, f=[[0.0]] * 2, f0=1.0, mu=[1.0, 0.0], gamma=0.5)
    assert acting_states(model).tolist() == [True, False]


def test_uncertain_entries_are_rounded_up_and_certain_ones_are_exact():
    lake = imported("FrozenLake-v1", **LAKES["4x4"])
    f = private(lake, [5, 7], on="entering").at([1.0, 1.0, 0.5]).f[0]
    assert (f >= lake.arrivals[:, [5, 7]].sum(axis=1).reshape(f.shape)).all()
    assert f[4] == pytest.approx([0.0, 1 / 3, 1 / 3, 1 / 3], rel=1e-12)
    firm = imported("FrozenLake-v1", **LAKES["firm"])
    assert set(private(firm, [5, 7], on="entering").at([0.3, 0.3, 0.5]).f.ravel()) == {0.0, 0.3}


class Chances:
    """State 0 moves to 1, 2, … with given probabilities; all of these moves end there, or none."""

    start_state = 0

    def __init__(self, p, *, over):
        moves = [(q, 1 + n, 0.0, over) for n, q in enumerate(p)]
        self.P = {0: {0: moves}} | {s: {0: [(1.0, s, 0.0, True)]} for s in range(1, 1 + len(p))}


@pytest.mark.parametrize("over", [False, True])
@pytest.mark.parametrize(
    "p", [[1 / 3] * 3, [0.1] * 10, [0.7, 0.2, 0.1], [1.0], [0.333333333] * 3, [1 - 1e-16, 1e-310]]
)
@pytest.mark.parametrize(
    ("low", "high"), [(-1.0, -0.5), (-1.0, 1.0), (-0.7, 0.0), (0.1, 1.0), (-1e-310, 0.3), (-1e9, 1)]
)
def test_entering_is_charged_in_full_whatever_the_sign_of_the_severity(p, over, low, high):
    public = cmdp_from_gymnasium(Chances(p, over=over), cost=free, f0=0.0, gamma=0.5)
    model = ParametricCMDP.for_states(
        public,
        np.arange(1, 1 + len(p)),
        severity=Envelope(low, high, shape=len(p)),
        tolerance=Envelope([0.1], [0.2]),
        on="entering",
    )
    shares = [Fraction(q) / sum(map(Fraction, p)) for q in p]
    counts = model.cost.coefficient[model.cost.col == 0].tolist()
    assert all(Fraction(n) >= share for n, share in zip(counts, shares, strict=True))
    alternating = np.where(np.arange(len(p)) % 2, low, high)
    for theta in (np.full(len(p), low), np.full(len(p), high), alternating):
        values = np.append(theta, 0.1)
        charged = Fraction(float(model.robust(values, values).f[0, 0, 0]))
        due = sum(n * Fraction(x) for n, x in zip(shares, theta.tolist(), strict=True))
        assert due <= charged <= due + Fraction(1, 10**11) * Fraction(max(abs(low), high))
    if low >= 0.0 or len(p) == 1:
        assert not model.cost.constant.nnz  # nothing is charged where nothing is at stake


def test_a_certified_credit_is_no_larger_than_the_true_one():
    # entering 1 earns 0.5·0.5·p: certified at −0.2 while the exact cost was 6e-15 above it
    T = np.zeros((3, 2, 3))
    T[0, 0, 1] = T[0, 0, 2] = 0.5
    T[0, 1, 2] = T[1, :, 2] = T[2, :, 2] = 1.0
    zero = np.zeros((3, 2))
    public = CMDP(T, zero, f=zero, f0=0.0, mu=[1.0, 0.0, 0.0], gamma=0.5)
    model = ParametricCMDP.for_states(
        public,
        [1],
        severity=Envelope([-1.0], [-0.5]),
        tolerance=Envelope([-0.2], [-0.1]),
        on="entering",
    )
    for k in range(60):
        p = 0.8 * (1 - k * 1e-15)
        policy = Policy([[p, 1 - p], [1, 0], [1, 0]])
        share = Fraction(p) / (Fraction(p) + Fraction(1 - p))
        for theta in (-1.0, -0.5):
            values = [theta, -0.2]
            bound = certify_policy(model.robust(values, values), policy).worst_case_cost[0]
            assert Fraction(float(bound)) >= share * Fraction(theta) / 2


def test_the_time_after_the_end_is_no_place_for_a_cost():
    lake = imported("FrozenLake-v1", **LAKES["4x4"])
    for on in ("occupying", "entering"):
        with pytest.raises(InvalidArgumentError, match="state 16 "):
            private(lake, [4, 16], on=on)


@pytest.mark.parametrize("block", ["database", "blocks"])
def test_entering_costs_are_released_by_either_mechanism(block):
    lake = imported("FrozenLake-v1", 0.9, **LAKES["4x4"])
    model = private(lake, [5, 7, 11, 12], on="entering", tolerance=(0.3, 0.5))
    values = np.array([0.2, 0.9, 0.0, 0.4, 0.35])
    database, budget = Database(values, model.envelope), PrivacyBudget(2, 0.01)
    rng = np.random.default_rng(5)
    if block == "database":
        release = release_database(database, budget, rng=rng)
    else:
        release = release_blocks(
            database, budget, program=model.program(), alphas={"A": 0.5, "b": 0.5}, rng=rng
        )
    safe = synthesize(model, release)
    assert certify_policy(model.at(values), safe.policy).verified


def test_the_model_keeps_its_arrivals_in_files_and_copies(tmp_path):
    lake = imported("FrozenLake-v1", **LAKES["4x4"])
    lake.save(tmp_path / "lake.npz")
    line().save(tmp_path / "line.npz")
    same, plain = CMDP.load(tmp_path / "lake.npz"), CMDP.load(tmp_path / "line.npz")
    assert plain.arrivals is plain.T
    again = private(lake, [5], on="entering").public.with_constraints(lake.f, lake.f0)
    for copy in (same, again):
        assert same_matrix(copy.arrivals, lake.arrivals)
        private(copy, [5], on="entering")


@pytest.mark.parametrize(
    ("arrivals", "rule"),
    [
        (-np.eye(4)[:, None], "negative"),
        (np.eye(3)[:, None], r"arrivals must have shape \(S, A, S\) = \(4, 1, 4\)"),
        (np.eye(4), r"pass arrivals.reshape\(4, 1, 4\)"),
        ("x", "real"),
    ],
)
def test_arrivals_must_be_counts_of_every_pair(arrivals, rule):
    with pytest.raises(InvalidArgumentError, match=rule):
        line(arrivals=arrivals)
