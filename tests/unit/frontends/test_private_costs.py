"""Private costs of imported environments: the same as by hand, exact, and silent about data."""

import re
from fractions import Fraction

import gymnasium as gym
import numpy as np
import pandas as pd
import pytest
from gymnasium.envs.toy_text.taxi import TaxiEnv

import dp_cmdp as dp
from dp_cmdp import Envelope, PrivateCost, envs, import_gymnasium
from dp_cmdp.cmdp.evaluation import evaluate
from dp_cmdp.cmdp.parametric import ParametricCMDP
from dp_cmdp.cmdp.policy import Policy
from dp_cmdp.cmdp.synthesis import robust_policy, synthesize
from dp_cmdp.errors import AssumptionError, InvalidArgumentError
from dp_cmdp.frontends.gymnasium import cmdp_from_gymnasium
from dp_cmdp.release.entries import release_database
from tests import rooms
from tests.marked import MARKS, leaks_from_error
from tests.problems import same_matrix

HOLES = [5, 7, 11, 12]
CLIFF = list(range(37, 47))
BUDGET = dp.PrivacyBudget(4, "1/1000")


def fallen(state, action, next_state, reward):
    return (37 if state >= 36 else state + 12) if reward == -100 else None


def bounds(count, top=1.0, radius=0.1):
    return Envelope(0.0, top, radius=radius, shape=count)


def lake(slippery=True, gamma=0.95, **kinds):
    env = gym.make("FrozenLake-v1", is_slippery=slippery)
    return import_gymnasium(env, gamma=gamma).with_private_costs(**kinds)


def holes(on="entering", tolerance=None, **more):
    limit = Envelope(0.05, 0.5, radius=0.01) if tolerance is None else tolerance
    return {"states": HOLES, "on": on, "severity": bounds(4), "tolerance": limit, **more}


def cliff(slippery=True, tolerance=2.0):
    source = import_gymnasium(
        "CliffWalking-v1", gamma=0.8, options={"is_slippery": slippery}, through=fallen
    )
    return source.with_private_costs(
        states=CLIFF, on="entering", severity=bounds(10), tolerance=tolerance
    )


def exact_cost(P, start, probs, price, gamma):
    """Discounted cost of a policy on a table P, in fractions, by elimination."""
    size, gamma = len(P), Fraction(gamma)
    rows = []
    for state in range(size):
        row = [Fraction(int(state == n)) for n in range(size)] + [Fraction(0)]
        weights = [Fraction(float(p)) for p in probs[state]]
        for action, weight in enumerate(weights):
            mass = sum(Fraction(float(p)) for p, *_ in P[state][action])
            for p, successor, _, over in P[state][action]:
                chance = weight / sum(weights) * Fraction(float(p)) / mass
                row[-1] += chance * price(state, action, successor)
                if not over:
                    row[successor] -= gamma * chance
        rows.append(row)
    for pivot in range(size):
        scale = rows[pivot][pivot]
        rows[pivot] = [entry / scale for entry in rows[pivot]]
        for other in range(size):
            if other != pivot and rows[other][pivot]:
                factor = rows[other][pivot]
                rows[other] = [
                    a - factor * b for a, b in zip(rows[other], rows[pivot], strict=True)
                ]
    masses = [Fraction(float(p)) for p in start]
    return sum(p * row[-1] for p, row in zip(masses, rows, strict=True)) / sum(masses)


@pytest.mark.parametrize("slippery", [True, False])
def test_the_imported_model_is_the_one_built_by_hand(slippery):
    model = lake(slippery, **holes(tolerance=Envelope([0.05], [0.5], radius=0.01)))
    public = cmdp_from_gymnasium(
        "FrozenLake-v1",
        cost=lambda s, a: 0,
        f0=0,
        gamma=0.95,
        options={"is_slippery": slippery},
    )
    by_hand = ParametricCMDP.for_states(
        public,
        HOLES,
        severity=Envelope(0.0, 1.0, radius=0.1, labels={"state": HOLES}),
        tolerance=Envelope([0.05], [0.5], radius=0.01),
        on="entering",
    )
    assert model.document().digest == by_hand.document().digest
    database = model.database([0.3, 1.0, 0.0, 0.7], tolerance=0.2)
    release = release_database(database, BUDGET, rng=np.random.default_rng(0))
    ours, theirs = synthesize(model, release), synthesize(by_hand, release)
    assert ours.policy == theirs.policy
    assert ours.value == theirs.value
    assert ours.certificate.worst_case_cost == theirs.certificate.worst_case_cost


@pytest.mark.parametrize("slippery", [True, False])
def test_the_certificate_holds_in_fractions_on_the_environments_own_table(slippery):
    env = gym.make("FrozenLake-v1", is_slippery=slippery)
    model = lake(slippery, **holes())
    severity, tolerance = np.array([1.0, 0.25, 0.75, 0.5]), 0.1
    database = model.database(severity, tolerance=tolerance)
    safe = dp.release_and_synthesize(model, database, BUDGET, rng=np.random.default_rng(1)).safe
    true = dict(zip(HOLES, map(Fraction, severity.tolist()), strict=True))
    cost = exact_cost(
        env.unwrapped.P,  # type: ignore[attr-defined]
        env.unwrapped.initial_state_distrib,  # type: ignore[attr-defined]
        safe.policy.probs,
        lambda state, action, successor: true.get(successor, 0),
        0.95,
    )
    assert safe.certificate.verified
    assert cost <= Fraction(float(safe.certificate.worst_case_cost[0]))
    assert cost <= Fraction(tolerance)
    careless = exact_cost(  # the check can fail
        env.unwrapped.P,  # type: ignore[attr-defined]
        env.unwrapped.initial_state_distrib,  # type: ignore[attr-defined]
        Policy.uniform(17, 4).probs,
        lambda state, action, successor: true.get(successor, 0),
        0.95,
    )
    assert careless > Fraction(tolerance)


def swept(P, start, probs, price, gamma):
    """Discounted cost by sweeps; price(s, a, n, reward)."""
    value = np.zeros(len(P))
    for _ in range(600):
        fresh = np.zeros(len(P))
        for s, actions in enumerate(P):
            for a, moves in enumerate(P[actions] if isinstance(P, dict) else actions):
                for p, n, reward, over in moves:
                    later = 0.0 if over else gamma * value[n]
                    fresh[s] += probs[s, a] * p * (price(s, a, n, reward) + later)
        value = fresh
    return float(np.dot(start, value))


@pytest.mark.parametrize(
    ("kind", "price"),
    [
        ({"states": [0, 1, 4], "severity": bounds(3)}, lambda s, a, n: {0: 0, 1: 1, 4: 2}.get(s)),
        (
            {"states": [5, 0, 1], "on": "entering", "severity": bounds(3)},
            lambda s, a, n: {5: 0, 0: 1, 1: 2}.get(n),
        ),
        ({"actions": [1, 3], "severity": bounds(2)}, lambda s, a, n: {1: 0, 3: 1}.get(a)),
        (
            {"states": [0, 0, 4], "actions": [1, 2, 1], "severity": bounds(3)},
            lambda s, a, n: {(0, 1): 0, (0, 2): 1, (4, 1): 2}.get((s, a)),
        ),
        (
            {"cells": [(0, 0), (1, 1)], "on": "entering", "severity": bounds(2)},
            lambda s, a, n: {0: 0, 5: 1}.get(n),
        ),
    ],
    ids=["occupying", "entering", "acting", "pairs", "cells"],
)
def test_each_kind_charges_what_it_says(kind, price):
    env = gym.make("FrozenLake-v1", is_slippery=True)
    model = lake(tolerance=5.0, **kind)
    severity = np.linspace(0.25, 1.0, model.envelope.num_entries)
    policy = Policy(np.random.default_rng(3).dirichlet(np.ones(4), 17))
    P = [[env.unwrapped.P[s][a] for a in range(4)] for s in range(16)]  # type: ignore[attr-defined]
    expected = swept(
        P,
        env.unwrapped.initial_state_distrib,  # type: ignore[attr-defined]
        policy.probs,
        lambda s, a, n, _: 0.0 if (i := price(s, a, n)) is None else severity[i],
        0.95,
    )
    assert evaluate(model.at(severity), policy).costs[0] == pytest.approx(expected, rel=1e-9)
    assert expected > 0.05


@pytest.mark.parametrize("slippery", [True, False])
def test_step_costs_have_the_mean_of_the_model(slippery):
    """Given what is seen of a step; states that are passed on the way count in the mean."""
    for model, name, through in (
        (lake(slippery, **holes()), "FrozenLake-v1", None),
        (cliff(slippery), "CliffWalking-v1", fallen),
    ):
        P = gym.make(name, is_slippery=slippery).unwrapped.P  # type: ignore[attr-defined]
        cost = model.cost_at()
        f = model.robust().f[0]
        for s in range(len(P)):
            for a in range(4):
                mean = sum(p * cost(s, a, n) for p, n, _, _ in P[s][a])
                assert mean == pytest.approx(f[s, a], abs=1e-12)
        assert f.max() > 0.3, through


def test_several_kinds_are_several_constraints_with_private_and_public_parts():
    model = lake(
        kinds={
            "hole": PrivateCost(
                states=HOLES, on="entering", severity=bounds(4), tolerance=Envelope(0.1, 0.5)
            ),
            "left": PrivateCost(actions=[0], public_severity=[1.0], tolerance=Envelope(2.0, 9.0)),
            "ice": PrivateCost(states=[0, 1], severity=bounds(2), tolerance=8.0),
        }
    )
    assert model.names == ("hole", "left", "ice")
    assert [name for name, _ in model.envelope.groups] == [
        "hole.severity", "hole.tolerance", "left.tolerance", "ice.severity",
    ]  # fmt: skip
    frame = pd.DataFrame(
        {"kind": ["hole", "ice", "hole"], "state": [5, 1, 12], "severity": [0.5, 0.75, 1.0]}
    )
    database = model.database(frame, tolerance=[0.3, 5.0])
    assert database.values.tolist() == [0.5, 0.0, 0.0, 1.0, 0.3, 5.0, 0.0, 0.75]
    same = model.database({"hole": [0.5, 0, 0, 1], "ice": [0, 0.75]}, tolerance=[0.3, 5.0])
    assert np.array_equal(same.values, database.values)
    truth = model.at(database.values)
    assert truth.f0.tolist() == [0.3, 5.0, 8.0]
    assert truth.f[1, :16, 0].tolist().count(1.0) == 11  # where somebody acts
    assert not truth.f[1, :, 1:].any()
    assert not truth.f[1, 16].any()  # the time after the end is free
    safe = robust_policy(model)
    assert safe.certificate.verified
    assert model.cost_at()(0, 0, 4).tolist() == [0.0, 1.0, 1.0]


def test_public_costs_are_those_of_cmdp_from_gymnasium():
    model = lake(states=HOLES, on="entering", public_severity=[1, 0.5, 0.3, 0.1],
                 tolerance=Envelope(0.1, 0.4))  # fmt: skip
    price = dict(zip(HOLES, (1, 0.5, 0.3, 0.1), strict=True))
    public = cmdp_from_gymnasium(
        "FrozenLake-v1", cost=lambda s, a, n: price.get(n, 0.0), f0=0.1, gamma=0.95
    )
    reached = [s for s in range(16) if s not in HOLES and s != 15]
    ours, theirs = model.robust().f[0, reached], public.f[0, reached]
    assert ours == pytest.approx(theirs, rel=1e-12)
    assert (ours >= theirs * (1 - 1e-15)).all()


def test_one_candidate_is_all_states_in_its_cell():
    model = import_gymnasium(
        rooms.Locked(),
        gamma=0.9,
        key=lambda env: (env.place, env.opened),
        cell=lambda key: key[0],
    )
    private = model.with_private_costs(
        cells=[(0, 1), (0, 2)], on="entering", severity=bounds(2), tolerance=1.0
    )
    f = private.at(np.array([0.25, 1.0])).f[0]
    for state, (place, _) in enumerate(model.keys):
        if place == (0, 0):
            assert f[state].tolist() == [0.0, 0.0, 0.25, 0.0]
        if place == (0, 1):
            assert f[state, 2] == 1.0


def test_a_cell_in_which_some_episodes_end_is_charged_on_entering_it_only():
    """A taxi's drop-off ends the episode in its cell, where nobody acts any more."""
    taxi = import_gymnasium("Taxi-v4", gamma=0.9, cell=lambda s: (s // 100, s // 20 % 5))
    corner = {"cells": [(0, 0)], "severity": bounds(1), "tolerance": 9.0}
    with pytest.raises(InvalidArgumentError, match="moves end the episode in"):
        taxi.with_private_costs(**corner)
    taxi.with_private_costs(on="entering", **corner)
    taxi.with_private_costs(**{**corner, "cells": [(2, 2)]})


@pytest.mark.parametrize(
    "records",
    [
        {"severity": [0, 0, 1, 2], "tolerance": 0},
        {"severity": ["ann", "ann", "bob", "cid"], "tolerance": "ann"},
    ],
)
def test_records_may_reach_across_kinds(records):
    model = import_gymnasium("FrozenLake-v1", gamma=0.9).with_private_costs(
        states=HOLES,
        on="entering",
        severity=bounds(4),
        tolerance=Envelope(0.1, 0.5),
        records=records,
    )
    assert model.envelope.record_size == 3


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"severity": bounds(3)}, r"severity must have 4 entries.*shape=4"),
        ({"severity": Envelope(0, 1)}, r"severity must have 4 entries"),
        ({"states": None}, "states or cells must be given"),
        ({"cells": [(0, 0)]}, "states or cells must be given, and not both"),
        ({"states": [5, 5, 7, 11]}, "distinct"),
        ({"states": [(1, 1), (1, 3)]}, "given as cells"),
        ({"states": {5, 7, 11, 12}}, "sort the set"),
        ({"states": [5, 7, 11, 16]}, "states"),
        ({"states": [0, 1, 2, 15], "on": "occupying"}, "moves end the episode in state 15"),
        ({"on": "acting"}, "actions must be given"),
        ({"actions": [1]}, "actions must be given for costs on 'acting'"),
        ({"on": "leaving"}, "on must be"),
        ({"states": None, "actions": [4], "on": None}, "actions"),
        ({"states": [5, 7, 11, 12], "actions": [0, 0, 0, 0], "on": None}, "ever acts in"),
        ({"tolerance": bounds(2)}, "tolerance must have one entry"),
        ({"tolerance": "low"}, "tolerance must be"),
        ({"tolerance": None}, "severity and tolerance must be given"),
        ({"severity": Envelope(-1, 1, shape=4)}, "must not be negative where a time limit"),
        ({"severity": None, "public_severity": [1] * 4, "tolerance": 0.5}, "nothing private"),
        ({"severity": [1, 1, 1, 1]}, r"severity must be an Envelope.*private numbers go to"),
        ({"severity": None}, "severity or public_severity must be given"),
        ({"public_severity": [1] * 4}, "severity or public_severity must be given, and not both"),
        ({"kinds": {}}, "kinds must stand alone"),
        (
            {"states": None, "cells": [(0, 1), (0, 2), (1, 1), (3, 3)], "on": "occupying"},
            r"cells must be left by an action.*in cells \(1, 1\), \(3, 3\), where",
        ),
        (
            {"states": None, "cells": [(0, 0), (0, 1), (1, 0), (1, 1)], "on": "occupying"},
            r"\(1, 1\)",
        ),
        (
            {"severity": None, "public_severity": pd.Series([1.0] * 4, index=HOLES)},
            "in the order of",
        ),
    ],
)
def test_what_a_certificate_could_not_cover_is_refused(change, rule):
    with pytest.raises(InvalidArgumentError, match=rule):
        lake(**{**holes(), **change})


def test_a_tolerance_below_nothing_is_refused_without_naming_states_that_pay_nothing():
    with pytest.raises(AssumptionError) as error:
        robust_policy(lake(slippery=False, **holes(tolerance=-0.1)))
    assert "still pays" not in str(error.value)
    assert not re.search(r": ;|\.$", str(error.value))
    dear = lake(states=[0], severity=Envelope(0.5, 1, shape=1), tolerance=0.1)
    with pytest.raises(AssumptionError, match=r"pays for what it does in: state \d+ \("):
        robust_policy(dear)


def test_credits_are_certified_where_no_limit_cuts_episodes_short():
    env = gym.make("FrozenLake-v1").unwrapped
    credits = {"states": [0, 1], "severity": Envelope(-1, 1, shape=2), "tolerance": 9.5}
    with pytest.raises(InvalidArgumentError, match="endless=True"):
        import_gymnasium(env, gamma=0.9).with_private_costs(**credits)
    model = import_gymnasium(env, gamma=0.9, endless=True).with_private_costs(**credits)
    assert robust_policy(model).certificate.verified


@pytest.mark.parametrize("limit", [1, 3, 10, 100])
def test_an_episode_cut_short_costs_at_most_what_is_certified(limit):
    """Time limits are not in the model: costs up to the limit, by sweeps over P."""
    env = gym.make("FrozenLake-v1", is_slippery=True, max_episode_steps=limit)
    model = import_gymnasium(env, gamma=0.99).with_private_costs(**holes())
    safe = robust_policy(model)
    P, cost = env.unwrapped.P, np.zeros(16)  # type: ignore[attr-defined]
    for _ in range(limit):
        cost = np.array(
            [
                sum(
                    safe.policy.probs[s, a] * p * ((n in HOLES) + (0 if over else 0.99 * cost[n]))
                    for a in range(4)
                    for p, n, _, over in P[s][a]
                )
                for s in range(16)
            ]
        )
    assert cost[0] <= safe.certificate.worst_case_cost[0]
    unlimited = import_gymnasium(env.unwrapped, gamma=0.99).with_private_costs(**holes())
    assert unlimited.document().digest == model.document().digest


def test_a_limit_of_the_environments_own_counts_as_one():
    class Limited(rooms.Walk):
        max_steps = 9

    with pytest.raises(InvalidArgumentError, match="time limit"):
        import_gymnasium(Limited(), gamma=0.9).with_private_costs(
            states=[1], severity=Envelope(-1, 1, shape=1), tolerance=9.5
        )


ORDERS = {
    "states": ({"states": HOLES, "on": "entering"}, ["state"]),
    "cells": ({"cells": [(0, 1), (1, 0), (2, 2)]}, ["row", "col"]),
    "actions": ({"actions": [0, 1, 3]}, ["action"]),
    "pairs": ({"states": [0, 1, 0], "actions": [2, 2, 1]}, ["state", "action"]),
}


def turned(places):
    return {name: v if isinstance(v, str) else v[::-1] for name, v in places.items()}


@pytest.mark.parametrize("kind", ORDERS)
@pytest.mark.parametrize("shape", [int, lambda count: (1, count)])
def test_what_belongs_to_other_candidates_or_to_another_order_does_not_fit(kind, shape):
    places, names = ORDERS[kind]
    count = len(next(iter(places.values())))
    facts = {"severity": Envelope(0, 1, radius=0.1, shape=shape(count)), "tolerance": 30.0}
    curator, agent = lake(**places, **facts), lake(**turned(places), **facts)
    database = curator.database(np.linspace(0.0, 1.0, count))
    release = release_database(database, BUDGET, rng=np.random.default_rng(0))
    for misread in (
        lambda: synthesize(agent, release),
        lambda: agent.cost_at(release),
        lambda: dp.release_and_synthesize(agent, database, BUDGET),
        lambda: envs.PrivateCostWrapper(gym.make("FrozenLake-v1"), release, agent),
    ):
        with pytest.raises(InvalidArgumentError, match=r"labels of their entries|share one Env"):
            misread()
    shown = release.to_frame(group="severity").index
    assert list(shown.names) == names
    assert (
        shown.tolist()
        == {
            "states": HOLES,
            "cells": [(0, 1), (1, 0), (2, 2)],
            "actions": [0, 1, 3],
            "pairs": [(0, 2), (1, 2), (0, 1)],
        }[kind]
    )
    assert synthesize(lake(**places, **facts), release).certificate.verified


@pytest.mark.parametrize(
    ("kind", "labels", "fits"),
    [
        ("states", {"state": HOLES}, True),
        ("states", pd.Index(HOLES), True),
        ("states", {"state": HOLES[::-1]}, False),
        ("states", {"action": HOLES}, False),
        ("states", ["a", "b", "c", "d"], False),
        ("cells", pd.MultiIndex.from_tuples([(0, 1), (1, 0), (2, 2)], names=["row", "col"]), True),
        ("cells", pd.MultiIndex.from_tuples([(0, 1), (1, 0), (2, 2)], names=["col", "row"]), False),
        ("cells", [1, 4, 10], False),
        ("pairs", [(0, 2), (1, 2), (0, 1)], True),
        ("pairs", [(2, 0), (2, 1), (1, 0)], False),
    ],
)
def test_labels_of_the_users_own_are_the_candidates_or_refused(kind, labels, fits):
    places, _ = ORDERS[kind]
    named = {"severity": Envelope(0, 1, radius=0.1, labels=labels), "tolerance": 30.0}
    plain = {"severity": bounds(len(labels) if kind != "states" else 4), "tolerance": 30.0}
    if fits:
        assert lake(**places, **named).envelope == lake(**places, **plain).envelope
    else:
        with pytest.raises(InvalidArgumentError, match="must have its candidates as labels"):
            lake(**places, **named)


def test_a_severity_of_one_candidate_needs_no_shape_and_keeps_records():
    single = lake(states=[5], on="entering", severity=Envelope(0, 1), tolerance=0.4)
    assert single.envelope.groups == (("severity", (1,)),)
    assert single.database([0.5]).values.tolist() == [0.5]
    shared = Envelope(0, 1, radius=0.1, shape=4, records=[0, 0, 1, 1])
    assert lake(**holes(severity=shared)).envelope.record_size == 2
    with pytest.raises(InvalidArgumentError, match="single group"):
        lake(**holes(severity=Envelope.join({"a": bounds(2), "b": bounds(2)})))


def frame(**columns):
    return pd.DataFrame(columns)


PLACES = {"row": [1, 1], "col": [1, 3]}


@pytest.mark.parametrize(
    "table",
    [
        frame(state=[5, 7], severity=MARKS[:2]),
        frame(**PLACES, severity=MARKS[:2]),
        frame(Row=[1, 1], Column=[1, 3], Severity=MARKS[:2]),
        frame(state=[7.0, 5.0], severity=MARKS[1::-1]),
        frame(state=[5, 7], severity=MARKS[:2], note=["a", "b"]),
    ],
)
def test_tables_of_hazards_name_them_by_state_or_by_place(table, tmp_path):
    model = lake(**holes(tolerance=0.4))
    expected = [MARKS[0], MARKS[1], 0.0, 0.0]
    assert model.database(table).values.tolist() == expected
    path = tmp_path / "hazards.csv"
    table.to_csv(path, index=False)
    assert model.database(path).values.tolist() == expected
    assert model.database(str(path)).values.tolist() == expected


def test_a_mapping_from_place_to_severity_says_the_same():
    model, expected = lake(**holes(tolerance=0.4)), [MARKS[0], 0.0, 0.0, MARKS[1]]
    for given in (
        {5: MARKS[0], 12: MARKS[1]},
        {(1, 1): MARKS[0], (3, 0): MARKS[1]},
        {"hazard": {5: MARKS[0], 12: MARKS[1]}},
        {np.int64(12): MARKS[1], 5: MARKS[0]},
    ):
        assert model.database(given).values.tolist() == expected


def indexed(values, index, **names):
    return pd.Series(values, index=pd.Index(index, **names))


CELLS = pd.MultiIndex.from_tuples([(3, 0), (1, 1)])


@pytest.mark.parametrize(
    "series",
    [
        indexed([MARKS[1], MARKS[0]], [12, 5]),
        indexed([MARKS[1], MARKS[0]], [12, 5], name="state"),
        indexed([0.0, MARKS[1], 0.0, MARKS[0]], HOLES[2:] + HOLES[1::-1]),
        pd.Series([MARKS[1], MARKS[0]], index=CELLS),
        pd.Series([MARKS[1], MARKS[0]], index=CELLS.set_names(["row", "col"])),
        pd.Series([MARKS[1], MARKS[0]], index=CELLS.swaplevel().set_names(["col", "row"])),
        pd.Series([MARKS[0], 0.0, 0.0, MARKS[1]], name="severity"),
    ],
)
def test_a_series_is_read_by_its_index(series):
    model, expected = lake(**holes(tolerance=0.4)), [MARKS[0], 0.0, 0.0, MARKS[1]]
    assert model.database(series).values.tolist() == expected
    assert model.database({"hazard": series}).values.tolist() == expected


def test_numbers_of_pandas_own_that_could_be_candidates_are_refused():
    facts = {"severity": bounds(3), "tolerance": 30.0}
    series = pd.Series([0.1, 0.2, 0.3])
    assert lake(states=[0, 1, 2], **facts).database(series).values.tolist() == [0.1, 0.2, 0.3]
    turned_round = lake(states=[2, 1, 0], **facts)
    with pytest.raises(InvalidArgumentError, match="without an index of its own"):
        turned_round.database(series)
    named = turned_round.database(series.rename_axis("state"))
    assert named.values.tolist() == [0.3, 0.2, 0.1]


def test_tolerances_of_a_series_are_read_by_the_names_of_kinds():
    kinds = {
        name: PrivateCost(
            states=HOLES, on="entering", severity=bounds(4), tolerance=Envelope(0.05, 0.5)
        )
        for name in ("fall", "harm")
    }
    model = import_gymnasium("FrozenLake-v1", gamma=0.9).with_private_costs(kinds)
    hazards = {name: [0.1] * 4 for name in kinds}
    for given in ([0.2, 0.3], pd.Series([0.2, 0.3]), pd.Series({"harm": 0.3, "fall": 0.2})):
        values = model.database(hazards, tolerance=given).values
        assert values[model.envelope.index("fall.tolerance")].item() == 0.2
        assert values[model.envelope.index("harm.tolerance")].item() == 0.3
    with pytest.raises(InvalidArgumentError, match="as its index") as error:
        model.database(hazards, tolerance=pd.Series({"harm": MARKS[0], "hurt": MARKS[1]}))
    assert leaks_from_error(error.value) == []


BOTH = {"row": [1, 1], "col": [1, 3], "severity": MARKS[:2]}


@pytest.mark.parametrize("places", [{"states": [5, 7]}, {"cells": [(1, 1), (1, 3)]}])
def test_state_and_place_in_one_table_must_agree(places):
    model = lake(**holes(tolerance=0.4, severity=bounds(2), **{"states": None, **places}))
    assert model.database(frame(state=[5, 7], **BOTH)).values.tolist() == list(MARKS[:2])
    with pytest.raises(InvalidArgumentError, match="they must mean one place") as error:
        model.database(frame(state=[7, 5], **BOTH))
    assert leaks_from_error(error.value) == []


def test_the_place_of_a_state_is_checked_where_many_states_share_it():
    taxi = import_gymnasium(TaxiEnv(), gamma=0.9, cell=lambda s: (s // 100, s // 20 % 5))
    model = taxi.with_private_costs(
        states=[1, 2], actions=[0, 0], severity=bounds(2), tolerance=30.0
    )
    table = frame(state=[1], action=[0], row=[0], col=[0], severity=[0.5])
    assert model.database(table).values.tolist() == [0.5, 0.0]
    with pytest.raises(InvalidArgumentError, match="they must mean one place"):
        model.database(table.assign(row=4))


WRONG = {
    "a Series that names no candidate": indexed(MARKS[:2], [5, 6]),
    "a Series that names one twice": indexed(MARKS[:2], [5, 5]),
    "a Series with another name": indexed(MARKS[:2], [5, 7], name="action"),
    "a Series with marks for states": indexed([1.0, 0.0], MARKS[:2]),
    "a Series with too many levels": pd.Series(
        MARKS[:1], index=pd.MultiIndex.from_tuples([(1, 1, 1)])
    ),
    "a Series of too few": pd.Series(MARKS[:3]),
    "a Series indexed by its own name": indexed(MARKS[:2], [5, 7], name="severity"),
    "a place that is no candidate": {6: MARKS[0]},
    "a place of another kind": {(1, 1, 1): MARKS[0]},
    "a text for a place": {"5": MARKS[0]},
    "no number for a place": {5: f"{MARKS[0]}"},
    "infinite": {5: np.inf},
    "outside the bounds": frame(state=[5], severity=[5 + MARKS[0]]),
    "no candidate": frame(state=[6], severity=MARKS[:1]),
    "twice": frame(state=[5, 5], severity=MARKS[:2]),
    "no number": frame(state=[5], severity=[f"{MARKS[0]}x"]),
    "missing number": frame(state=[5, 7], severity=[MARKS[0], np.nan]),
    "no whole state": frame(state=[MARKS[0]], severity=MARKS[:1]),
    "a text for a state": frame(state=[f"{MARKS[0]}"], severity=MARKS[:1]),
    "no severity": frame(state=[5], harm=MARKS[:1]),
    "no place": frame(where=MARKS[:1], severity=MARKS[:1]),
    "too few numbers": MARKS[:3],
    "a truth value": frame(state=[5], severity=[True]),
    "two columns of one name": pd.DataFrame(
        [[5, MARKS[0], 1.0]], columns=["state", "severity", "severity"]
    ),
    "a number beside a table": {"hazard": MARKS[:3]},
    "another kind": {"other": MARKS[:4]},
}  # fmt: skip


@pytest.mark.parametrize("fault", WRONG)
def test_errors_show_nothing_of_the_table(fault, tmp_path):
    model = lake(**holes())
    table = WRONG[fault]
    with pytest.raises(InvalidArgumentError) as error:
        model.database(table, tolerance=0.1)
    assert leaks_from_error(error.value) == []
    assert "hazards" in str(error.value) or "severity" in str(error.value)
    if isinstance(table, pd.DataFrame):
        path = tmp_path / "hazards.csv"
        table.to_csv(path, index=False)
        with pytest.raises(InvalidArgumentError) as error:
            model.database(path, tolerance=0.1)
        assert leaks_from_error(error.value) == []


def test_messages_show_the_public_bounds():
    model = lake(**holes())
    with pytest.raises(InvalidArgumentError, match="from 0 to 1; some"):
        model.database([0.1, 5.0, 0, 0], tolerance=0.1)
    with pytest.raises(InvalidArgumentError, match=r"\[0.05, 0.5\]"):
        model.database([0.1, 0.5, 0, 0], tolerance=0.7)
    with pytest.raises(InvalidArgumentError, match="tolerance must be given"):
        model.database([0.1, 0.5, 0, 0])
    with pytest.raises(InvalidArgumentError, match="there is none"):
        lake(**holes(tolerance=0.4)).database([0.1, 0.5, 0, 0], tolerance=0.3)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfe\x00",
        b"state,severity\n5,0.1,7,8\n6\n",
        b"state,severity\n5,7,0.9\n7,5,0.1\n",
        b"state,severity\n5,0,9\n7,0,1\n",
        b"state,severity\n5,0.9,\n7,0.1,\n",
        b"state,severity\n5,0.9\n7,0.1,1\n",
        b"state,severity,severity\n5,0.9,0.1\n",
    ],
)
def test_files_that_are_no_tables_are_refused(content, tmp_path):
    path = tmp_path / "hazards.csv"
    path.write_bytes(content)
    model = lake(**holes(tolerance=0.4))
    with pytest.raises(InvalidArgumentError, match="hazards"):
        model.database(path)
    with pytest.raises(InvalidArgumentError, match=r"gone\.csv cannot"):
        model.database(tmp_path / "gone.csv")


def test_costs_come_from_a_release_or_from_public_bounds_only():
    model = lake(**holes())
    database = model.database([1, 0.2, 0.8, 0], tolerance=0.3)
    release = release_database(database, BUDGET, rng=np.random.default_rng(0))
    cost = model.cost_at(release)
    upper = release.group("severity")["upper"]
    assert [cost(4, 1, n) for n in HOLES] == upper.tolist()
    assert [model.cost_at()(4, 1, n) for n in HOLES] == [1.0] * 4
    assert cost(4, 1, 8) == 0.0
    with pytest.raises(InvalidArgumentError, match="release must be"):
        model.cost_at(database)  # type: ignore[arg-type]
    other = cliff()
    with pytest.raises(InvalidArgumentError, match="does not fit"):
        other.cost_at(release)


def test_the_model_holds_no_private_number_and_saves_as_a_parametric_cmdp(tmp_path):
    model = lake(**holes())
    model.database(MARKS[:4], tolerance=0.1)
    path = model.save(tmp_path / "model.npz")
    assert ParametricCMDP.load(path).document().digest == model.document().digest
    assert type(ParametricCMDP.load(path)) is ParametricCMDP
    assert "FrozenLake" not in repr(model)
    assert same_matrix(ParametricCMDP.load(path).public.T, model.public.T)
