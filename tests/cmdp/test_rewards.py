"""Rewards that come from the private database: they decide what is best, never what is safe."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dp_cmdp as dp
from tests.cmdp.models import random_model, random_set

InvalidArgumentError = dp.errors.InvalidArgumentError
PAYS = {"pay": [0.2, 0.9], "cost": [0.6]}


def shops(cost: Any = None) -> tuple[dp.Envelope, dp.ParametricCMDP]:
    """Two shops of unknown pay; working in the second costs something unknown."""
    T = np.array([[[0.9, 0.1], [0.1, 0.9]], [[0.8, 0.2], [0.2, 0.8]]])
    one = dp.Envelope(0, 1, radius=0.1, shape=1)
    theta = dp.Envelope.join({"pay": dp.Envelope(0, 1, radius=0.1, shape=2), "cost": one})
    pay = theta["pay"].reshape(2, 1) * np.ones((2, 2))
    costs = dp.PrivateCost(theta["cost"] if cost is None else cost, 3.0, states=[1])
    return theta, dp.ParametricCMDP(T, pay, gamma=0.9, costs=costs)


@pytest.mark.parametrize("seed", range(6))
def test_the_best_policy_is_that_of_the_estimate_and_safe_for_all(seed: int):
    rng = np.random.default_rng(seed)
    while True:
        model, policy = random_model(rng, rewarded=True)
        known = random_set(rng)
        estimate = rng.uniform(known.lower, known.upper)
        public = dp.ParametricCMDP(
            model.T, model.at(estimate).r, gamma=model.gamma, start=model.start,
            costs={
                name: dp.PrivateCost(model.cost[[k]].reshape(model.r.shape), model.limit[k])
                for k, name in enumerate(model.names)
            },
        )  # fmt: skip
        try:
            expected = public.answer(known, estimate)
        except (dp.errors.InfeasibleError, dp.errors.SolverError):
            continue
        break
    found = model.answer(known, estimate)
    assert found.problem is model
    assert found.certificate.verified
    scale = 1 + abs(expected.value)
    assert found.value == pytest.approx(expected.value, abs=1e-6 * scale)
    assert found.value == pytest.approx(dp.evaluate(model.at(estimate), found.policy).value)
    assert found.bound >= expected.value - 1e-9 * scale
    assert np.allclose(found.weights.toarray(), expected.weights.toarray(), atol=1e-4 * scale)
    # the reward has no part in what is proved
    assert np.array_equal(model.certify(policy, known).slack, public.certify(policy, known).slack)
    assert np.array_equal(model.signs.toarray(), public.signs.toarray())


def test_a_private_reward_is_released_and_its_estimate_decides(tmp_path: Path):
    _, model = shops()
    found = dp.solve(model, PAYS, epsilon=8, delta=1e-3, strategy="entries")
    assert found.certificate.verified
    assert np.abs(found.estimate[:2] - PAYS["pay"]).max() < 0.1
    assert found.value == pytest.approx(model.value(found.policy, found.estimate))
    compared = dp.curator.compare(found, PAYS)
    truth = np.array([0.2, 0.9, 0.6])
    assert compared.best == pytest.approx(dp.answer(model.at(truth)).value)
    assert compared.value == pytest.approx(dp.evaluate(model.at(truth), found.policy).value)
    assert dp.curator.limit(model, PAYS, epsilon=8, delta=1e-3) >= 0
    runs = dp.simulate(model, PAYS, epsilon=8, delta=1e-3, strategy="entries", draws=3)
    assert (runs.to_frame()["best"] == runs.best).all()
    again = dp.Answer.load(found.save(tmp_path))
    assert again.value == pytest.approx(found.value)
    assert again.problem.envelope == model.envelope
    assert dp.verify(tmp_path, problem=model)


def test_a_value_that_is_not_that_of_the_estimate_is_found(tmp_path: Path):
    found = dp.answer(shops()[1])
    assert dp.verify(found.save(tmp_path / "right"))
    other = replace(found, estimate=found.estimate + np.array([0.1, 0, 0]))
    report = dp.verify(other.save(tmp_path / "wrong"))
    assert not report
    assert "its value is that of its decision" in str(report)


def test_rewards_of_another_envelope_or_size_are_refused():
    with pytest.raises(InvalidArgumentError, match=r"rewards use: .*Envelope\.join"):
        shops(dp.Envelope(0, 1))
    theta, model = shops()
    with pytest.raises(InvalidArgumentError, match="r must be an array"):
        dp.ParametricCMDP(
            model.T, theta["pay"], gamma=0.9, costs=dp.PrivateCost(theta["cost"], 3, states=[1])
        )
    huge = dp.Envelope(0, 1e307, shape=3)
    with pytest.raises(InvalidArgumentError, match="r must be at most"):
        dp.ParametricCMDP(
            model.T, huge[:2].reshape(2, 1) * np.ones((2, 2)), gamma=0.9,
            costs=dp.PrivateCost(huge[2], 3, states=[1]),
        )  # fmt: skip
