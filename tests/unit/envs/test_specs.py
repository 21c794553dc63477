"""The arguments that Gymnasium keeps, prints and pickles hold no hazards and no seed of any."""

import copy
import json
import pickle
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest
from gymnasium.envs.registration import EnvSpec

from dp_cmdp import envs
from dp_cmdp.envs import HazardGridEnv, Hazards, parse_map
from dp_cmdp.envs.specs import WITHHELD, GuardedSpec
from dp_cmdp.errors import InvalidArgumentError
from tests.problems import hazard_grid

SEED = 57913579
LAYOUT = parse_map("S?.\n?.G")
IDS = [*envs.REGISTERED, "dp_cmdp/HazardGrid25-v0"]


def spec_of(env: Any) -> EnvSpec:
    assert isinstance(env.spec, EnvSpec)
    return env.spec


def shown(spec: EnvSpec) -> str:
    """All that a specification tells, as text and as bytes."""
    pictures = [repr(spec), str(spec.kwargs), str(spec.pprint(disable_print=True, print_all=True))]
    if spec.kwargs.get("vectorization_mode") is None:
        pictures.append(spec.to_json())
    for twin in (spec, copy.copy(spec), copy.deepcopy(spec)):
        pictures += [repr(twin), repr(pickle.dumps(twin)), repr(vars(twin))]
    packed = [repr(SEED.to_bytes(4, order))[2:-1] for order in ("little", "big")]
    text = "".join(pictures)
    return "leak" if any(mark in text for mark in (str(SEED), *packed)) else "nothing"


@pytest.mark.parametrize("env_id", IDS)
def test_the_seed_of_the_hazards_is_in_no_spec(env_id):
    env = gym.make(env_id, access="curator", hazards=SEED, render_mode="rgb_array")
    layers = [env]
    while isinstance(layers[-1], gym.Wrapper):
        layers.append(layers[-1].env)
    assert len(layers) > 2
    for layer in layers:
        assert spec_of(layer).kwargs["hazards"] == WITHHELD
        assert shown(spec_of(layer)) == "nothing"
        assert str(SEED) not in f"{layer}{layer!r}"
    assert str(SEED) not in str(gym.registry[env_id])


@pytest.mark.parametrize("count", [1, 2])
def test_a_vector_of_curators_environments_shows_no_seed(count):
    vector: Any = gym.make_vec(
        IDS[0], num_envs=count, vectorization_mode="sync", access="curator", hazards=SEED
    )
    assert spec_of(vector).kwargs["hazards"] == WITHHELD
    assert shown(spec_of(vector)) == "nothing"
    assert str(SEED) not in f"{vector}{vector!r}"
    assert all(shown(single.spec) == "nothing" for single in vector.envs)
    drawn = Hazards.draw(HazardGridEnv().layout, seed=SEED)
    assert vector.envs[0].unwrapped.tolerance.tolist() == drawn.tolerance.tolist()
    vector.close()


def test_an_id_of_ones_own_shows_no_hazards_either(tmp_path):
    spec = EnvSpec("Mine-v0", "envs:HazardGridEnv", kwargs={"layout": LAYOUT})
    path = tmp_path / "57913579.json"
    path.touch()
    for source in (SEED, Hazards.draw(LAYOUT, seed=SEED), str(path), Path(path)):
        env = gym.make(spec, access="curator", hazards=source)
        for layer in (env, env.unwrapped):
            assert spec_of(layer).kwargs["hazards"] == WITHHELD
    assert "hazards" not in spec.kwargs


def test_an_environment_is_not_made_again_with_other_hazards_unawares():
    env = gym.make(IDS[0], access="curator", hazards=SEED)
    for spec in (spec_of(env), EnvSpec.from_json(spec_of(env).to_json())):
        with pytest.raises(InvalidArgumentError, match="give them again"):
            gym.make(spec)
    again = hazard_grid(spec_of(env), hazards=SEED)
    first = env.get_wrapper_attr("database")()
    assert again.database().values.tolist() == first.values.tolist()
    assert hazard_grid(spec_of(gym.make(IDS[0]))).access == "public"


@pytest.mark.parametrize("env_id", [IDS[0], IDS[-1]])
@pytest.mark.parametrize(
    "wrong", [{"hazzards": 1}, {"slips": 0.1, "x": 2}, {"layout": 3}, {"slip": "much"}, {"size": 0}]
)
def test_a_wrong_argument_does_not_quote_the_right_ones(env_id, wrong):
    with pytest.raises(InvalidArgumentError) as caught:
        gym.make(env_id, access="curator", hazards=SEED, **wrong)
    assert str(SEED) not in f"{caught.value}{caught.value.__context__}{caught.value.__cause__}"


def test_the_registered_specs_guard_themselves():
    for env_id in IDS:
        assert isinstance(gym.registry[env_id], GuardedSpec)
        assert json.loads(gym.registry[env_id].to_json())["id"] == env_id
