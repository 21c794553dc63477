"""The environment: Gymnasium's contract, and the privacy boundary."""

import copy
import json
import pickle
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pandas as pd
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env

import dp_cmdp as dp
from dp_cmdp import envs
from dp_cmdp.envs import HazardGridEnv, Hazards, named_layout, parse_map
from dp_cmdp.envs.layout_files import layout_to_dict
from dp_cmdp.envs.specs import WITHHELD, GuardedSpec
from dp_cmdp.errors import InvalidArgumentError, PrivacyLeakError, RefusedError

IDS = [*envs.REGISTERED, "dp_cmdp/HazardGrid25-v0"]
LAYOUT = parse_map("S?.\n?.G")
SEED = 57913579


def placed(severity=0.7351, limit=0.8642):
    return Hazards.place(LAYOUT, {(0, 1): severity}, limit=limit)


def curator(hazards=None, layout: Any = LAYOUT, **options) -> HazardGridEnv:
    return HazardGridEnv(layout, access="curator", hazards=hazards, **options)


@pytest.mark.parametrize("access", ["agent", "curator"])
@pytest.mark.parametrize("env_id", IDS)
def test_the_environment_checker_is_silent(env_id, access, capsys):
    import matplotlib as mpl

    mpl.use("agg")
    check_env(gym.make(env_id, access=access).unwrapped)


def test_a_step_pays_costs_and_ends_as_the_layout_says():
    env = HazardGridEnv(LAYOUT, slip=0.0, goal_reward=7.0)
    env.reset(options={"start": 2})
    assert env.step(1) == (5, 6.0, True, False, {"cost": 0.0, "cost_sum": 0.0})
    assert env.step(0) == (5, 0.0, True, False, {"cost": 0.0, "cost_sum": 0.0})
    two = gym.make("dp_cmdp/HazardGridTwoKinds-v0")
    two.reset(seed=0)
    assert two.step(1)[-1]["cost"].shape == (2,)


def test_the_cost_is_that_of_the_cell_in_which_the_action_was_taken():
    for env, expected in (
        (curator(placed(), slip=0.0), [0.0, 0.7351, 0.0]),  # the true one
        (HazardGridEnv(LAYOUT, slip=0.0), [0.0, 1.0, 0.0]),  # the public worst case
    ):
        env.reset()
        assert [env.step(action)[-1]["cost"] for action in (2, 2, 1)] == expected
    assert HazardGridEnv(LAYOUT).limit.tolist() == [0.5]
    assert curator(placed()).limit.tolist() == [0.8642]


@pytest.mark.parametrize(
    "arguments",
    [
        {"slip": 1.5},
        {"gamma": 1.0},
        {"access": "root"},
        {"layout": "atlantis"},
        {"access": "curator", "hazards": -1},
        {"access": "curator", "hazards": "missing.json"},
    ],
)
def test_bad_arguments_are_refused(arguments):
    with pytest.raises(InvalidArgumentError):
        HazardGridEnv(**arguments)


# ---------------------------------------------------------------------------- the privacy boundary


def test_an_agents_environment_holds_no_database():
    for hazards in (placed(), 3, "hazards.json"):
        with pytest.raises(PrivacyLeakError, match="curator"):
            HazardGridEnv(LAYOUT, hazards=hazards)
    with pytest.raises(PrivacyLeakError, match="curator"):
        HazardGridEnv(LAYOUT).database()


@pytest.mark.parametrize("env_id", IDS)
def test_everything_an_agent_sees_is_a_function_of_the_layout(env_id):
    """A second environment built from the public layout alone tells and shows the same."""
    first: Any = gym.make(env_id, render_mode="rgb_array").unwrapped
    again = json.loads(json.dumps(layout_to_dict(first.layout)))
    second = HazardGridEnv(again, render_mode="rgb_array")
    for env in (first, second):
        env.reset(seed=0)
    for step in range(30):
        mine, other = first.step(step % 4), second.step(step % 4)
        assert mine[:4] == other[:4]
        assert np.array_equal(mine[4]["cost"], other[4]["cost"])
    assert np.array_equal(np.asarray(first.render()), np.asarray(second.render()))
    assert not any(isinstance(value, Hazards) for value in vars(first).values())
    for twin in (pickle.loads(pickle.dumps(first)), copy.deepcopy(first)):
        assert twin.layout == first.layout


@pytest.mark.parametrize("used", [False, True])
def test_a_curators_environment_refuses_to_be_pickled(used):
    env: Any = gym.make("dp_cmdp/HazardGrid-v0", access="curator", hazards=7)
    env.reset(seed=0)
    if used:
        env.step(0)
    with pytest.raises(PrivacyLeakError):
        pickle.dumps(env)
    assert copy.deepcopy(env).step(0)[0] in env.observation_space


def test_a_curators_file_is_opened_when_it_is_needed_and_not_before(tmp_path):
    path = tmp_path / "hazards.json"
    path.write_text("not yet")
    env = curator(path)
    env.reset(seed=0)
    model, database = env.model(), env.database()
    assert model.envelope == database.envelope
    with pytest.raises(RefusedError, match="cannot be used"):
        env.step(0)
    kind = {"severity": [[0, 1, 0.7351]], "limit": 0.8642}
    path.write_text(json.dumps({"format": "dp_cmdp.Hazards/2", "kinds": {"hazard": kind}}))
    assert database.read().tolist() == [0.7351, 0.0, 0.8642]
    assert env.limit.tolist() == [0.8642]


def test_texts_about_a_curators_environment_show_no_value():
    env: Any = gym.make("dp_cmdp/HazardGrid-v0", layout=LAYOUT, access="curator", hazards=placed())
    inner = env.unwrapped
    text = f"{env}{env!r}{env.spec}{inner}{inner.database()}{inner.model()}{placed()!r}"
    assert "7351" not in text
    assert "8642" not in text


def shown(spec: EnvSpec) -> bool:
    """Whether a specification tells the seed, as text or as bytes."""
    pictures = [repr(spec), str(spec.kwargs), str(spec.pprint(disable_print=True, print_all=True))]
    if spec.kwargs.get("vectorization_mode") is None:
        pictures.append(spec.to_json())
    for twin in (spec, copy.copy(spec), copy.deepcopy(spec)):
        pictures += [repr(twin), repr(pickle.dumps(twin)), repr(vars(twin))]
    packed = [repr(SEED.to_bytes(4, order))[2:-1] for order in ("little", "big")]
    return any(mark in "".join(pictures) for mark in (str(SEED), *packed))


@pytest.mark.parametrize("env_id", IDS)
def test_the_seed_of_the_hazards_is_in_no_specification(env_id):
    env: Any = gym.make(env_id, access="curator", hazards=SEED, render_mode="rgb_array")
    layers = [env]
    while isinstance(layers[-1], gym.Wrapper):
        layers.append(layers[-1].env)
    for layer in layers:
        assert layer.spec.kwargs["hazards"] == WITHHELD
        assert not shown(layer.spec)
        assert str(SEED) not in f"{layer}{layer!r}"
    assert isinstance(gym.registry[env_id], GuardedSpec)
    with pytest.raises(InvalidArgumentError, match="give them again"):
        gym.make(env.spec)
    vector: Any = gym.make_vec(env_id, 2, "sync", access="curator", hazards=SEED)
    assert not shown(vector.spec)
    vector.close()


@pytest.mark.parametrize("env_id", [IDS[0], IDS[-1]])
@pytest.mark.parametrize("wrong", [{"hazzards": 1}, {"layout": 3}, {"slip": "much"}, {"size": 0}])
def test_a_wrong_argument_does_not_quote_the_right_ones(env_id, wrong):
    with pytest.raises(InvalidArgumentError) as caught:
        gym.make(env_id, access="curator", hazards=SEED, **wrong)
    assert str(SEED) not in f"{caught.value}{caught.value.__context__}{caught.value.__cause__}"


# ----------------------------------------------------------------------------------------- hazards


def database(hazards, **account):
    return HazardGridEnv(hazards.layout, access="curator", hazards=hazards).database(**account)


def read(hazards):
    return database(hazards).read().tolist()


TWO = parse_map(["S12.", "?..G"], kinds=({"name": "mud"}, {"name": "ice", "severity": (0.0, 2.0)}))


def test_hazards_are_placed_by_hand_by_table_by_file_or_drawn(tmp_path):
    by_hand = Hazards.place(TWO, [{(1, 0): 0.25}, {(0, 2): 1.5, (1, 0): 0.5}], limit=[0.6, 0.7])
    wanted = [0.0, 0.25, 0.6, 1.5, 0.5, 0.7]
    assert read(by_hand) == wanted
    assert read(Hazards(TWO, [0.0, 0.25, 1.5, 0.5], limit=[0.6, 0.7])) == wanted
    severity = [1.5, 0.25, 0.5]
    table = {"kind": ["ice", "mud", "ice"], "row": [0, 1, 1], "col": [2, 0, 0]}
    frame = pd.DataFrame({**table, "severity": severity})
    path = tmp_path / "hazards.csv"
    frame.to_csv(path, index=False)
    by_state = frame.assign(state=4 * frame["row"] + frame["col"]).drop(columns=["row", "col"])
    for source in (frame, path, str(path), by_state):
        assert read(Hazards.from_frame(TWO, source, limit=[0.6, 0.7])) == wanted
    layout = named_layout("two_hazards")
    first, again, other = (read(Hazards.draw(layout, seed=seed)) for seed in (5, 5, 6))
    assert first == again != other
    assert set(read(Hazards.of(named_layout("paper"), None))) == {0.0, 0.6}


UNUSABLE = [
    {(0, 2): 0.7351},  # no candidate
    {(0, 1): -0.7351},
    {(0, 1): 1.7351},
    {(0, 1): float("nan")},
    {3: 0.7351},
    {("1", "0"): 0.7351},
    {(0, 1): "much"},
    {(0, 1): None},
]


def test_hazards_that_cannot_be_are_refused_after_the_debit_in_one_text(tmp_path):
    texts = set()
    for number, severities in enumerate(UNUSABLE):
        account = dp.PrivacyLedger.create(tmp_path / str(number), "grid", epsilon=1, delta="1/100")
        hazards = Hazards.place(LAYOUT, severities, limit=0.8)
        data = database(hazards, ledger=account)
        with pytest.raises(RefusedError, match="cannot be used") as refused:
            dp.publish(data.envelope, data, epsilon=1, delta="1/100", strategy="entries")
        assert refused.value.__context__ is refused.value.__cause__ is None
        assert account.spent.epsilon == 1
        texts.add(str(refused.value))
    for content in ("", "{}", '{"format": "dp_cmdp.Hazards/1", "kinds": {}}', "\x00"):
        path = tmp_path / "hazards.json"
        path.write_text(content)
        with pytest.raises(RefusedError) as refused:
            read(Hazards.load(LAYOUT, path))
        texts.add(str(refused.value))
    for change in ({"kind": ["snow"]}, {"row": [7]}, {"severity": [9.0]}, {"severity": ["high"]}):
        row = {"kind": ["mud"], "row": [1], "col": [0], "severity": [0.5]} | change
        with pytest.raises(RefusedError) as refused:
            read(Hazards.from_frame(TWO, pd.DataFrame(row), limit=[0.6, 0.7]))
        texts.add(str(refused.value))
    assert len(texts) == 1


def test_sources_of_hazards_are_refused_unseen():
    for source in (-7351, 0.7351, True, b"7351", ["7351"]):
        with pytest.raises(InvalidArgumentError, match="an integer") as caught:
            Hazards.of(LAYOUT, source)
        assert "7351" not in str(caught.value)
    with pytest.raises(InvalidArgumentError, match="must belong to the layout"):
        Hazards.of(named_layout("rooms"), placed())
    with pytest.raises(InvalidArgumentError, match="1; got 2"):
        Hazards.place(LAYOUT, [{}, {}], limit=1.0)
    with pytest.raises(InvalidArgumentError, match="can be read"):
        Hazards.from_frame(LAYOUT, Path("missing.csv"), limit=1.0)
    with pytest.raises(PrivacyLeakError):
        pickle.dumps(placed())
    hazards = placed()
    assert copy.deepcopy({"a": [hazards]})["a"][0] is hazards


# ---------------------------------------------------------------------------------------- pictures


@pytest.mark.parametrize("mode", ["ansi", "rgb_array"])
def test_only_the_curators_picture_depends_on_the_hazards(mode):
    def rendered(**arguments):
        env = HazardGridEnv(LAYOUT, render_mode=mode, **arguments)
        env.reset(seed=0)
        return np.asarray(env.render())

    mild, bad = (rendered(access="curator", hazards=placed(severity=s)) for s in (0.1, 0.9))
    assert not np.array_equal(mild, bad)
    assert not np.array_equal(mild, rendered())
