"""Private policies on random grids keep the true constraints: certified, then checked exactly.

The tolerances are set just above what a careful policy costs at worst, so that the constraints
bind and a policy that is a hair too bold would be caught.
"""

from dataclasses import replace

import numpy as np
import pytest

from dp_cmdp.accounting.budget import PrivacyBudget
from dp_cmdp.cmdp.certificate import certify_policy
from dp_cmdp.cmdp.exact_costs import verify_exact
from dp_cmdp.cmdp.occupancy import policy_from_occupancy
from dp_cmdp.cmdp.solvers.pool import PolicyPool
from dp_cmdp.cmdp.synthesis import synthesize
from dp_cmdp.envs.catalogue import random_layout
from dp_cmdp.envs.dynamics import GridModel
from dp_cmdp.envs.hazards import Hazards
from dp_cmdp.envs.layout import Layout
from dp_cmdp.release.blocks import release_blocks
from dp_cmdp.release.entries import release_database

EPSILONS = ("1/10", "1/2", "1", "3", "10", "20")


def tight_layout(seed: int) -> Layout:
    """A random grid whose tolerances leave a careful policy 2 % of room, whatever the data."""
    rng = np.random.default_rng(seed)
    layout = random_layout(
        int(rng.integers(3, 8)),
        seed=seed,
        density=float(rng.uniform(0.2, 0.6)),
        wall_density=float(rng.choice([0.0, 0.1])),
        kinds=int(rng.integers(1, 3)),
        slip=float(rng.choice([0.0, 0.05, 0.2])),
        gamma=float(rng.choice([0.9, 0.97, 0.99])),
    )
    floors = 1.02 * GridModel(layout).cautious_costs() + 0.02
    kinds = [
        replace(kind, tolerance=(floor, 1.5 * floor), tolerance_radius=0.1 * floor)
        for kind, floor in zip(layout.kinds, floors.tolist(), strict=True)
    ]
    return layout.replace(kinds=kinds)


def run(seed: int, *, policies: int, exactly_every: int) -> tuple[int, int]:
    """(violations, policies at a tolerance) on one random grid."""
    rng = np.random.default_rng(seed)
    layout = tight_layout(seed)
    database = Hazards.draw(layout, seed=seed, share=float(rng.uniform(0.3, 1.0))).database()
    model = GridModel(layout).parametric()
    program, truth = model.program(), model.at(database.values)
    pool, broken, binding = PolicyPool(truth), 0, 0
    for number in range(policies):
        budget = PrivacyBudget(EPSILONS[number % len(EPSILONS)], "1/1000")
        if number % 2:
            alphas = {"A": "1/2", "b": "1/2"}
            release = release_blocks(database, budget, program=program, alphas=alphas, rng=rng)
        else:
            release = release_database(database, budget, rng=rng)
        made = synthesize(model, release, pool=pool)
        kept = (
            verify_exact(truth, made.policy)
            if number % exactly_every == 0
            else certify_policy(truth, made.policy).verified
        )
        broken += not (made.certificate.verified and kept)
        binding += bool((made.certificate.slack < 1e-6 * made.certificate.tolerance).any())
    return broken, binding


def test_no_private_policy_violates_the_true_constraints():
    results = np.array([run(seed, policies=20, exactly_every=10) for seed in range(5)])
    assert results[:, 0].sum() == 0
    assert results[:, 1].sum() >= 50  # of 100: the constraints are felt


@pytest.mark.long
@pytest.mark.parametrize("block", range(20))
def test_none_of_ten_thousand_private_policies_violates(block):
    seeds = range(1_000 + 10 * block, 1_010 + 10 * block)
    results = np.array([run(seed, policies=51, exactly_every=25) for seed in seeds])
    assert results[:, 0].sum() == 0
    assert results[:, 1].sum() >= 100  # of 510


def test_policies_that_ignore_the_hazards_are_caught():
    caught = 0
    for seed in range(5):
        layout = tight_layout(seed)
        hazards = Hazards.draw(layout, seed=seed, share=1.0)
        truth = GridModel(layout).parametric().at(hazards.database().values)
        free = PolicyPool(truth).solve(np.zeros_like(truth.f), truth.f0)
        policy = policy_from_occupancy(truth, free.occupancy)
        caught += not (certify_policy(truth, policy).verified or verify_exact(truth, policy))
    assert caught > 0
