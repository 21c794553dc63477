"""Policies: distributions, drawing, the Stable-Baselines3 face, files."""

import copy
import pickle
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dp_cmdp import Policy
from dp_cmdp.errors import InvalidArgumentError
from tests.cmdp.models import private_way

MIXED = [[0.5, 0.5, 0.0], [0.0, 0.25, 0.75], [1.0, 0.0, 0.0]]


def test_rows_that_sum_to_one_are_kept_bit_for_bit():
    probabilities = np.random.default_rng(0).dirichlet(np.ones(7), size=200)
    assert np.array_equal(Policy(probabilities).probabilities, probabilities)


def test_the_table_is_a_read_only_copy():
    table = np.array(MIXED)
    policy = Policy(table)
    table[0] = 7.0
    assert policy.probabilities[0, 0] == 0.5
    with pytest.raises(ValueError, match="read-only"):
        policy.probabilities[0, 0] = 1.0


@pytest.mark.parametrize(
    ("probabilities", "rule"),
    [
        ([[0.5, 0.6]], "sums to 1.1"),
        ([[1.5, -0.5]], "negative"),
        ([[np.nan, 1.0]], "finite"),
        ([0.5, 0.5], "shape"),
        (np.zeros((0, 2)), "shape"),
        ([["a", "b"]], "real numbers"),
    ],
)
def test_a_table_that_is_not_a_policy_is_refused(probabilities, rule):
    with pytest.raises(InvalidArgumentError, match=rule):
        Policy(probabilities)


def test_one_observation_gives_an_int_and_an_array_gives_an_array():
    policy = Policy(MIXED)
    for observation in (1, np.int64(1), np.array(1)):
        action, state = policy.predict(observation)
        assert type(action) is int
        assert action in (1, 2)
        assert state is None
    actions, _ = policy.predict(np.array([2, 2, 2, 0]))
    assert actions.shape == (4,)
    assert actions.dtype == np.int64
    assert policy.predict(np.array([[2], [2]]))[0].shape == (2, 1)


def test_predict_takes_the_arguments_of_stable_baselines3():
    memory = object()
    action, state = Policy(MIXED).predict(2, memory, np.array([True]), True)
    assert (action, state) == (0, memory)


def test_the_deterministic_mode_takes_the_most_probable_action():
    actions, _ = Policy(MIXED).predict(np.arange(3), deterministic=True)
    assert actions.tolist() == [0, 2, 0]


def test_an_action_of_probability_zero_is_never_drawn():
    class Extreme(np.random.Generator):
        def random(self, size: Any, *_: Any, **__: Any) -> Any:
            return np.full(size, level)

    policy = Policy([[0.0, 0.1, 0.2, 0.7, 0.0], [0.0, 0.7, 0.2, 0.1, 0.0]])
    for level in (0.0, np.nextafter(1.0, 0.0)):
        drawn = policy.sample([0, 1], Extreme(np.random.PCG64(0)))
        assert drawn.tolist() == ([1, 1] if level == 0.0 else [3, 3])


def test_reseeding_repeats_the_draws_and_copies_draw_afresh():
    policy = Policy.uniform(1, 1000)
    observations = np.zeros(20, dtype=int)
    policy.reseed(5)
    first = policy.predict(observations)[0]
    policy.reseed(5)
    again = policy.predict(observations)[0]
    assert np.array_equal(first, again)
    policy.reseed(5)
    for twin in (copy.deepcopy(policy), pickle.loads(pickle.dumps(policy))):
        assert twin == policy
        assert hash(twin) == hash(policy)
        assert not np.array_equal(twin.predict(observations)[0], first)


@pytest.mark.parametrize("observation", [3, -1, 0.5, [0, 3], True, "0"])
def test_an_observation_that_is_no_state_is_refused(observation):
    with pytest.raises(InvalidArgumentError, match="observation"):
        Policy(MIXED).predict(observation)


def test_named_constructors():
    policy = Policy.deterministic([2, 0], 3)
    assert policy.probabilities.tolist() == [[0, 0, 1], [1, 0, 0]]
    assert policy.is_deterministic
    assert not Policy.uniform(2, 3).is_deterministic
    assert Policy.uniform(2, 3).probabilities.tolist() == [[1 / 3] * 3] * 2
    for actions in ([3, 0], [[0]], [], [0.5]):
        with pytest.raises(InvalidArgumentError, match="actions"):
            Policy.deterministic(actions, 3)


def test_a_saved_policy_comes_back_bit_for_bit(tmp_path):
    policy = Policy(np.random.default_rng(1).dirichlet(np.ones(3), size=50))
    policy.save(tmp_path / "policy.npz")
    assert Policy.load(tmp_path / "policy.npz") == policy


def test_a_damaged_or_foreign_file_is_refused(tmp_path):
    path = Policy(MIXED).save(tmp_path / "policy.npz")
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(InvalidArgumentError):
        Policy.load(path)
    private_way().save(path)
    with pytest.raises(InvalidArgumentError, match="problem"):
        Policy.load(path)
    with pytest.raises(InvalidArgumentError, match="does not exist"):
        Policy.load(tmp_path / "absent.npz")


def test_rows_of_single_precision_are_taken_and_divided_by_their_sums():
    rng = np.random.default_rng(0)
    for actions in (2, 7, 300):
        logits = rng.normal(size=(50, actions)).astype(np.float32)
        single = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True, dtype=np.float32)
        assert single.dtype == np.float32
        assert np.abs(single.astype(np.float64).sum(axis=1) - 1.0).max() > 1e-9
        for given in (single, single.astype(np.float64), single.tolist()):
            policy = Policy(given)
            off = np.abs(policy.probabilities.sum(axis=1) - 1.0)
            assert off.max() <= actions * np.finfo(np.float64).eps
            assert policy.probabilities == pytest.approx(single, rel=1e-5)
    with pytest.raises(InvalidArgumentError, match="sums to"):
        Policy([[0.5, 0.5001]])


class Learner:
    """What Stable-Baselines3 says of a model without probabilities (DQN)."""

    observation_space = SimpleNamespace(n=3, start=0)
    action_space = SimpleNamespace(n=2)

    def predict(self, observation, deterministic=False):
        assert deterministic
        return np.asarray(observation) % 2, None


def test_greedy_learners_become_deterministic_tables():
    policy = Policy.from_sb3(Learner(), num_states=4)
    assert policy.probabilities.tolist() == [[1, 0], [0, 1], [1, 0], [0.5, 0.5]]
    assert Policy.from_sb3(Learner()).is_deterministic
    with pytest.raises(InvalidArgumentError, match="num_states"):
        Policy.from_sb3(Learner(), num_states=2)


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"observation_space": SimpleNamespace(n=3, start=1)}, "count from 0"),
        ({"predict": lambda states, deterministic: (states + 5, None)}, "actions"),
        ({"predict": lambda states, deterministic: (states[:1], None)}, "shape"),
        ({"predict": lambda states: (states, None)}, "actions"),
    ],
)
def test_learners_of_another_kind_are_refused(change, rule):
    learner = Learner()
    for name, value in change.items():
        setattr(learner, name, value)
    with pytest.raises(InvalidArgumentError, match=rule):
        Policy.from_sb3(learner)
