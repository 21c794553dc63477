"""The environment: Gymnasium's contract, and the privacy boundary."""

import copy
import json
import pickle
from dataclasses import replace

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env

from dp_cmdp import PrivacyBudget, envs, release_blocks
from dp_cmdp.envs import HazardGridEnv, Hazards, named_layout, parse_map
from dp_cmdp.envs.layout_files import layout_to_dict
from dp_cmdp.errors import InvalidArgumentError, PrivacyLeakError
from tests.problems import hazard_grid

IDS = [*envs.REGISTERED, "dp_cmdp/HazardGrid25-v0"]
LAYOUT = parse_map("S?.\n?.G")


def load_layout_again(layout):
    return json.loads(json.dumps(layout_to_dict(layout)))


def secret(severity=0.7351, tolerance=0.8642):
    return Hazards.place(LAYOUT, {(0, 1): severity}, tolerance=tolerance)


@pytest.mark.parametrize("access", ["public", "curator"])
@pytest.mark.parametrize("env_id", IDS)
def test_the_environment_checker_is_silent(env_id, access, capsys):
    import matplotlib as mpl

    mpl.use("agg")
    check_env(gym.make(env_id, access=access).unwrapped)


@pytest.mark.parametrize("env_id", IDS)
def test_environments_are_made_with_and_without_naming_the_module(env_id):
    for name in (env_id, f"envs:{env_id}"):
        env = gym.make(name)
        observation, info = env.reset(seed=0)
        assert observation in env.observation_space
        assert info == {}


def test_a_step_is_a_five_tuple_with_a_cost():
    env = gym.make("dp_cmdp/HazardGrid-v0")
    env.reset(seed=0)
    observation, reward, terminated, truncated, info = env.step(1)
    assert observation in env.observation_space
    assert reward == -1.0
    assert terminated is False
    assert truncated is False
    assert type(info["cost"]) is float


def test_several_kinds_give_a_vector_of_costs():
    env = gym.make("dp_cmdp/HazardGridTwoKinds-v0")
    env.reset(seed=0)
    assert env.step(1)[-1]["cost"].shape == (2,)


def test_the_same_seed_gives_the_same_walk():
    def walk(seed):
        env = gym.make("dp_cmdp/HazardGridCrossing-v0", slip=0.5)
        states = [env.reset(seed=seed)[0]]
        for step in range(40):
            states.append(env.step(step % 4)[0])
        return states

    assert walk(3) == walk(3)
    assert walk(3) != walk(4)


def test_the_goal_ends_the_episode_and_pays_once():
    env = HazardGridEnv(LAYOUT, slip=0.0, goal_reward=7.0)
    env.reset(options={"start": 2})
    assert env.step(1) == (5, 6.0, True, False, {"cost": 0.0})
    assert env.step(0) == (5, 0.0, True, False, {"cost": 0.0})


def test_the_cost_is_that_of_the_cell_in_which_the_action_was_taken():
    env = HazardGridEnv(LAYOUT, slip=0.0, access="curator", hazards=secret())
    env.reset()
    assert env.step(2)[-1]["cost"] == 0.0
    assert env.step(2)[-1]["cost"] == 0.7351
    assert env.step(1)[-1]["cost"] == 0.0


def test_the_public_cost_is_the_public_worst_case():
    env = HazardGridEnv(LAYOUT, slip=0.0)
    env.reset(options={"start": 1})
    assert env.step(2)[-1]["cost"] == 1.0
    assert env.step(0)[-1]["cost"] == 0.0
    assert env.tolerance.tolist() == [0.5]


def test_options_choose_the_start():
    env = HazardGridEnv(LAYOUT)
    assert env.reset(options={"start": 4})[0] == 4
    walled = HazardGridEnv("rooms")
    for options in ({"start": 0}, {"start": 121}, {"start": "here"}, {"begin": 12}):
        with pytest.raises(InvalidArgumentError, match="options"):
            walled.reset(options=options)


def test_stepping_rendering_and_asking_before_reset_is_refused():
    env = HazardGridEnv(LAYOUT, render_mode="ansi")
    for call in (lambda: env.step(0), env.render, lambda: env.state):
        with pytest.raises(ResetNeeded):
            call()


@pytest.mark.parametrize("action", [4, -1, 1.5, None])
def test_an_impossible_action_is_refused(action):
    env = HazardGridEnv(LAYOUT)
    env.reset()
    with pytest.raises(InvalidArgumentError, match="action"):
        env.step(action)


@pytest.mark.parametrize(
    "facts",
    [
        {"slip": 1.5},
        {"gamma": 1.0},
        {"access": "root"},
        {"render_mode": "smell"},
        {"layout": "atlantis"},
        {"layout": "missing.json"},
        {"step_reward": float("nan")},
        {"access": "curator", "hazards": -1},
        {"access": "curator", "hazards": 1.5},
        {"access": "curator", "hazards": "missing.json"},
    ],
)
def test_bad_arguments_are_refused(facts):
    with pytest.raises(InvalidArgumentError):
        HazardGridEnv(**facts)


def test_arguments_replace_the_facts_of_the_layout():
    env = hazard_grid("dp_cmdp/HazardGrid-v0", slip=0.0, gamma=0.5, goal_reward=3.0)
    layout = env.layout
    assert (layout.slip, layout.gamma, layout.goal_reward) == (0.0, 0.5, 3.0)
    assert env.model().public.gamma == 0.5


def test_the_random_grid_takes_its_layout_from_a_seed():
    env = hazard_grid("dp_cmdp/HazardGrid25-v0", size=9, layout_seed=4, kinds=2)
    assert env.layout == envs.random_layout(9, seed=4, kinds=2)


@pytest.mark.parametrize("mode", ["sync", "async"])
@pytest.mark.parametrize("arguments", [{}, {"access": "curator", "hazards": 3}])
def test_vector_environments_report_costs(mode, arguments):
    vector = gym.make_vec(
        "dp_cmdp.envs:dp_cmdp/HazardGridTwoKinds-v0",
        num_envs=2,
        vectorization_mode=mode,
        **arguments,
    )
    vector.reset(seed=0)
    *_, info = vector.step(np.array([1, 2]))
    assert info["cost"].shape == (2, 2)
    assert info["_cost"].all()
    vector.close()


# --- the privacy boundary ---------------------------------------------------------------------


def test_a_public_environment_takes_no_hazards():
    for hazards in (secret(), 3, "hazards.json"):
        with pytest.raises(PrivacyLeakError, match="curator"):
            HazardGridEnv(LAYOUT, hazards=hazards)


def test_a_public_environment_has_no_database_and_no_true_model():
    env = HazardGridEnv(LAYOUT)
    for call in (env.database, env.cmdp):
        with pytest.raises(PrivacyLeakError, match="curator"):
            call()


@pytest.mark.parametrize("env_id", IDS)
def test_everything_public_is_a_function_of_the_layout(env_id):
    """A second environment built from the public layout alone tells and shows the same."""
    first = gym.make(env_id, render_mode="rgb_array").unwrapped
    assert isinstance(first, HazardGridEnv)
    second = HazardGridEnv(load_layout_again(first.layout), render_mode="rgb_array")
    for env in (first, second):
        env.reset(seed=0)
    for step in range(30):
        mine, other = first.step(step % 4), second.step(step % 4)
        assert mine[:4] == other[:4]
        assert np.array_equal(mine[4]["cost"], other[4]["cost"])
    assert np.array_equal(np.asarray(first.render()), np.asarray(second.render()))
    assert not any(isinstance(value, Hazards) for value in vars(first).values())


@pytest.mark.parametrize("env_id", IDS)
def test_a_public_environment_can_be_pickled_and_copied(env_id):
    env = gym.make(env_id)
    env.reset(seed=1)
    for twin in (pickle.loads(pickle.dumps(env)), copy.deepcopy(env)):
        assert twin.step(1)[0] in twin.observation_space
        assert twin.get_wrapper_attr("layout") == env.get_wrapper_attr("layout")
    assert env.spec is not None
    assert json.loads(env.spec.to_json())["id"] == env_id


@pytest.mark.parametrize("hazards", [None, 7])
@pytest.mark.parametrize("used", [False, True])
def test_a_curators_environment_refuses_to_be_pickled(hazards, used):
    env = gym.make("dp_cmdp/HazardGridPaper-v0", access="curator", hazards=hazards)
    env.reset(seed=0)
    if used:
        env.step(0)
    with pytest.raises(PrivacyLeakError):
        pickle.dumps(env)
    assert copy.deepcopy(env).step(0)[0] in env.observation_space


def test_a_curators_environment_opens_its_file_when_it_is_needed_and_not_before(tmp_path):
    path = tmp_path / "hazards.json"
    path.write_text("not yet")
    env = HazardGridEnv(LAYOUT, access="curator", hazards=path)
    env.reset(seed=0)
    model, database = env.model(), env.database()
    assert model.envelope == database.envelope
    with pytest.raises(InvalidArgumentError, match="cannot be used"):
        env.step(0)
    kind = {"severity": [[0, 1, 0.7351]], "tolerance": 0.8642}
    path.write_text(json.dumps({"format": "dp_cmdp.Hazards/1", "kinds": {"hazard": kind}}))
    assert database.values.tolist() == [0.7351, 0.0, 0.8642]
    path.unlink()
    assert env.tolerance.tolist() == [0.8642]
    assert env.cmdp().f[0, 1].tolist() == [0.7351] * 4


def test_texts_about_a_curators_environment_show_no_value():
    env = gym.make("dp_cmdp/HazardGrid-v0", layout=LAYOUT, access="curator", hazards=secret())
    inner = env.unwrapped
    assert isinstance(inner, HazardGridEnv)
    texts = f"{env}{env!r}{env.spec}{inner}{inner.database()}{inner.model()}"
    assert "7351" not in texts
    assert "8642" not in texts


def test_the_curators_side_gives_the_database_and_the_true_model():
    env = HazardGridEnv(LAYOUT, access="curator", hazards=secret())
    assert env.database().values.tolist() == [0.7351, 0.0, 0.8642]
    assert env.tolerance.tolist() == [0.8642]
    cmdp = env.cmdp()
    assert cmdp.f[0, 1].tolist() == [0.7351] * 4
    assert cmdp.f0.tolist() == [0.8642]
    assert env.model().envelope == env.database().envelope


def test_an_environment_owns_its_database_however_many_layouts_came_between():
    layout = parse_map("S?.\n?.G", kinds=[{"tolerance": (0.6, 1.0)}])
    env = HazardGridEnv(layout, access="curator", hazards=Hazards.place(layout, {}, tolerance=0.8))
    database = env.database()
    (kind,) = layout.kinds
    for number in range(1, 1101):
        layout.replace(kinds=[replace(kind, severity_radius=number / 2048)]).envelope()
    release = release_blocks(
        database,
        PrivacyBudget(1, "1/10"),
        program=env.model().program(),
        alphas={"A": "1/2", "b": "1/2"},
        rng=np.random.default_rng(0),
    )
    assert release.envelope == layout.envelope()


@pytest.mark.parametrize("mode", ["ansi", "rgb_array"])
def test_only_the_curators_rendering_depends_on_the_hazards(mode):
    def rendered(**arguments):
        env = HazardGridEnv(LAYOUT, render_mode=mode, **arguments)
        env.reset(seed=0)
        return np.asarray(env.render())

    mild, bad = (rendered(access="curator", hazards=secret(severity=s)) for s in (0.1, 0.9))
    assert not np.array_equal(mild, bad)
    assert not np.array_equal(mild, rendered())


def test_rendering_without_a_mode_says_how_to_choose_one():
    env = HazardGridEnv(LAYOUT)
    env.reset()
    with pytest.warns(UserWarning, match="render mode"):
        assert env.render() is None


def test_docstrings_follow_gymnasiums_headings():
    headings = (
        "Description", "Action Space", "Observation Space", "Starting State", "Rewards",
        "Episode Termination", "Information", "Arguments", "Version History",
    )  # fmt: skip
    for kind in (HazardGridEnv, envs.RandomHazardGridEnv):
        positions = [(kind.__doc__ or "").find(f"## {heading}") for heading in headings]
        assert -1 not in positions
        assert positions == sorted(positions)


def test_named_layouts_and_ids_agree():
    for env_id, (layout, steps) in envs.REGISTERED.items():
        env = gym.make(env_id)
        assert env.get_wrapper_attr("layout") == named_layout(layout)
        assert env.spec is not None
        assert env.spec.max_episode_steps == steps
