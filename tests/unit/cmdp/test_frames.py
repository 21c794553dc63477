"""Policies, proofs and rollouts as tables, with the labels of their user."""

import numpy as np
import pytest

from dp_cmdp import Policy
from dp_cmdp.cmdp.rollout import Rollout
from dp_cmdp.cmdp.synthesis import safe_policy
from dp_cmdp.errors import InvalidArgumentError
from tests.problems import two_ways


def test_a_policy_is_a_table_of_states_and_actions():
    policy = Policy([[0.5, 0.5], [1.0, 0.0], [0.25, 0.75], [0.0, 1.0]])
    frame = policy.to_frame()
    assert frame.to_numpy().tolist() == policy.probs.tolist()
    assert (frame.index.name, frame.columns.name) == ("state", "action")
    grid = policy.to_frame(states={"row": [0, 1], "col": [0, 1]}, actions=["up", "down"])
    assert grid.loc[(1, 0), "down"] == 0.75
    with pytest.raises(InvalidArgumentError, match="states must have 4 labels, got 2"):
        policy.to_frame(states=["a", "b"])
    with pytest.raises(InvalidArgumentError, match="actions must be distinct"):
        policy.to_frame(actions=["a", "a"])


def test_a_table_of_a_policy_does_not_change_it():
    policy = Policy.uniform(2, 2)
    frame = policy.to_frame()
    frame.iloc[0, 0] = 7.0
    assert policy.probs.tolist() == [[0.5, 0.5]] * 2


def test_a_safe_policy_is_a_table_of_its_proof():
    safe = safe_policy(two_ways())
    frame = safe.to_frame(names=["fuel"])
    assert frame.index.tolist() == ["fuel"]
    assert frame.loc["fuel", "worst_case_cost"] == safe.certificate.worst_case_cost[0]
    assert frame["safe"].all()
    assert safe.to_frame().index.tolist() == [0]
    with pytest.raises(InvalidArgumentError, match="names must hold 1 names"):
        safe.to_frame(names=["a", "b"])


def test_costs_of_a_rollout_have_their_names():
    played = Rollout(
        returns=np.array([1.0, 2.0]),
        costs=np.array([[0.5, 0.1], [0.25, 0.2]]),
        lengths=np.array([3, 4]),
        tail=np.zeros(2),
        gamma=0.9,
    )
    frame = played.to_frame(names=["fire", "flood"])
    assert list(frame.columns) == ["episode", "return", "fire", "flood", "length", "tail"]
    assert frame["flood"].tolist() == [0.1, 0.2]
    for wrong in (["fire"], ["fire", "fire"], ["fire", "tail"]):
        with pytest.raises(InvalidArgumentError, match="names must hold 2 distinct names"):
            played.to_frame(names=wrong)
