"""Laws driven with chosen random bytes, and a solver that does not keep its word."""

import os

import numpy as np
import pytest

from dp_cmdp import (
    Database,
    Envelope,
    ParametricLP,
    PrivacyBudget,
    release_blocks,
    release_database,
)
from dp_cmdp.data.affine import Affine
from dp_cmdp.noise import optimal as optimal_noise
from dp_cmdp.noise.digits import PRECISION
from dp_cmdp.noise.laplace import LatticeLaplace
from dp_cmdp.noise.optimal import OptimalNoise
from dp_cmdp.noise.truncated import LatticeTruncatedLaplace


@pytest.mark.parametrize("steps", [1, 3])
def test_shifts_are_draws_plus_the_support_and_reach_both_ends(steps):
    law = LatticeTruncatedLaplace.calibrate(1, "1/4", steps=steps)
    draws, shifts = (
        draw(4000, source=np.random.default_rng(0).bytes) for draw in (law.sample, law.sample_shift)
    )
    assert shifts.tolist() == (draws + law.support).tolist()
    assert (shifts.min(), shifts.max()) == (0, law.width)


@pytest.mark.parametrize("blocks", [1, 2, 5])
def test_plain_noise_goes_on_beyond_its_digits(blocks):
    law = LatticeLaplace.calibrate(1, steps=2)
    digits = len(law.certificate.thresholds) - 1
    left = [blocks - 1]

    def source(count: int) -> bytes:
        """Every coin shows heads, but "once more" only as often as is left."""
        if count != PRECISION // 8:
            return bytes(count)
        left[0] -= 1
        return (b"\0" if left[0] >= 0 else b"\xff") * count

    drawn = law.perturb(np.zeros(1, dtype=np.int64), source=source)
    assert drawn.tolist() == [(blocks + 1) * 2**digits - 1]


@pytest.mark.parametrize("excess", [1.0001, 1.5, 4.0])
def test_a_solver_that_overspends_delta_is_mended_or_replaced(monkeypatch, excess):
    honest = optimal_noise._solve

    def overspending(epsilon, delta, **options):
        return honest(epsilon, excess * delta, **options)

    monkeypatch.setattr(optimal_noise, "_solve", overspending)
    optimal_noise._optimal_weights.cache_clear()
    law = OptimalNoise.calibrate("3/2", "1/37", steps=64)
    optimal_noise._optimal_weights.cache_clear()
    assert law.certificate.check()
    assert law.certificate.outer_mass <= law.certificate.delta


@pytest.mark.parametrize("calibration", ["tight", "paper", "optimal"])
def test_noise_for_real_use_is_what_the_operating_system_gives(monkeypatch, calibration):
    database = Database(np.full(6, 0.5), Envelope(0.0, 1.0, radius=0.01, shape=6))

    def estimates(seed: int) -> list[float]:
        monkeypatch.setattr(os, "urandom", np.random.default_rng(seed).bytes)
        release = release_database(database, PrivacyBudget(1, "1/100"), calibration=calibration)
        assert release.secure
        return release.estimate.tolist()

    assert estimates(1) == estimates(1)
    assert estimates(1) != estimates(2)


def test_noise_on_every_block_is_what_the_operating_system_gives(monkeypatch):
    envelope = Envelope(0.1, 1.0, radius=0.01, shape=3)
    program = ParametricLP(
        envelope,
        c=Affine(1, at=[0], entry=[0]),
        A=Affine((1, 1), at=(0, 0), entry=[1]),
        b=Affine(1, at=[0], entry=[2]),
        upper=1.0,
    )
    alphas = {"A": "1/3", "b": "1/3", "c": "1/3"}

    def estimates(seed: int) -> np.ndarray:
        monkeypatch.setattr(os, "urandom", np.random.default_rng(seed).bytes)
        database, budget = Database(np.full(3, 0.5), envelope), PrivacyBudget(1, "1/100")
        return release_blocks(database, budget, program=program, alphas=alphas).estimate

    assert (estimates(1) == estimates(1)).all()
    assert (estimates(1) != estimates(2)).all()
