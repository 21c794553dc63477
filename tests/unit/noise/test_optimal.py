"""The noise of least mean shift: exactly private, and close to what nothing can beat."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.noise.certificate import NoiseCertificate
from dp_cmdp.noise.digits import ONE, exp_lower
from dp_cmdp.noise.mean_shift import mean_shift, mean_shift_lower_bound
from dp_cmdp.noise.optimal import OptimalNoise
from dp_cmdp.noise.weight_table import draw_cells, draw_inside, hockey_stick, integer_weights

BUDGETS = [
    ("1", "0.1"),
    ("2", "0.1"),
    ("5", "0.1"),
    ("10", "1e-3"),
    ("1", "1e-6"),
    ("0.05", "1e-9"),
    ("0.25", "1/2"),
    ("20", "1/2"),
]


def divergence(law: OptimalNoise, shift: int, epsilon: Fraction) -> Fraction:
    """Both directions of the hockey-stick divergence, point by point of the lattice."""
    factor = exp_lower(epsilon)
    points = range(-shift, law.width + shift + 1)
    return max(
        sum(
            (max(law.pmf(k) - factor * law.pmf(k - move), Fraction(0)) for k in points), Fraction(0)
        )
        for move in (shift, -shift)
    )


@pytest.mark.parametrize(("epsilon", "delta"), [("1", "0.1"), ("5", "1e-3"), ("0.3", "1/2")])
@pytest.mark.parametrize(("steps", "resolution"), [(6, 6), (12, 4), (11, 4)])
def test_every_shift_of_the_lattice_is_private_point_by_point(epsilon, delta, steps, resolution):
    law = OptimalNoise.calibrate(epsilon, delta, steps=steps, resolution=resolution)
    assert sum(law.pmf(k) for k in range(law.width + 1)) == 1
    for shift in range(1, steps + 1):
        assert divergence(law, shift, Fraction(epsilon)) <= Fraction(delta)


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_the_mean_shift_lies_between_the_bound_and_truncated_laplace(epsilon, delta):
    law = OptimalNoise.calibrate(epsilon, delta, steps=1 << 20)
    bound = mean_shift("bound", epsilon=epsilon, delta=delta)
    tight = mean_shift("tight", epsilon=epsilon, delta=delta)
    assert law.certificate.verified
    assert bound <= law.mean_shift / (1 << 20) <= tight
    assert mean_shift("optimal", epsilon=epsilon, delta=delta) * (1 << 20) == law.mean_shift


@pytest.mark.parametrize(
    ("epsilon", "delta", "share"), [("2", "0.1", 0.12), ("10", "1e-3", 0.36), ("20", "1/2", 0.45)]
)
def test_it_saves_what_it_is_built_for(epsilon, delta, share):
    saved = 1 - mean_shift("optimal", epsilon=epsilon, delta=delta) / mean_shift(
        "tight", epsilon=epsilon, delta=delta
    )
    assert saved >= share


@pytest.mark.parametrize(("epsilon", "delta"), [("2", "0.1"), ("10", "1e-3")])
def test_a_finer_program_gains_less_than_three_percent(epsilon, delta):
    usual = OptimalNoise.calibrate(epsilon, delta, steps=1 << 20)
    finer = OptimalNoise.calibrate(epsilon, delta, steps=1 << 20, resolution=40)
    assert finer.certificate.cell < usual.certificate.cell
    assert usual.mean_shift <= 1.03 * finer.mean_shift


def test_without_a_program_truncated_laplace_noise_steps_in():
    law = OptimalNoise.calibrate("1/200", "1e-9", steps=1 << 20)
    assert law.certificate.verified
    tight = mean_shift("tight", epsilon="1/200", delta="1e-9")
    assert law.mean_shift / (1 << 20) == pytest.approx(tight, rel=1e-3)


@pytest.mark.parametrize(
    ("epsilon", "delta", "tight", "bound"),
    [
        (1, "0.1", 2.26, 1.76),
        (1, "1e-6", 13.7, 13.1),
        (5, "0.1", 1.32, 0.91),
        (10, "1e-3", 1.62, 1.00),
    ],
)
def test_published_values_of_the_bound_are_met(epsilon, delta, tight, bound):
    assert mean_shift_lower_bound(epsilon, delta) == pytest.approx(bound, rel=6e-3)
    assert mean_shift("tight", epsilon=epsilon, delta=delta) == pytest.approx(tight, rel=6e-3)


def test_the_supports_of_the_paper_and_of_records_are_as_stated():
    paper = mean_shift("paper", epsilon="1/3", delta="0.1", entries=750)
    assert paper == pytest.approx(3 * math.log(1 + 750 * math.expm1(1 / 3) / 0.1))
    record = mean_shift("tight", epsilon=10, delta="0.1", entries=5)
    assert record / 5 == pytest.approx(0.51, abs=0.005)


def test_a_certificate_of_a_table_checks_what_it_says():
    proof = OptimalNoise.calibrate(1, "0.1", steps=8, resolution=8).certificate
    assert NoiseCertificate.from_json(proof.to_json()) == proof
    weights = list(proof.thresholds)
    weights[0] += ONE // 100
    weights[-1] -= ONE // 100
    for change in (
        {"delta": Fraction(9, 100), "outer_mass": Fraction(9, 100)},
        {"epsilon": Fraction(9, 10)},
        {"steps": 9},
        {"entries": Fraction(2)},
        {"support": 3},
        {"thresholds": tuple(weights)},
        {"thresholds": proof.thresholds[:-1]},
    ):
        assert not replace(proof, **change).check()
        with pytest.raises(InvalidArgumentError):
            OptimalNoise(replace(proof, **change))


def test_a_shift_inside_a_cell_is_a_mixture_of_two_whole_ones():
    law = OptimalNoise.calibrate(2, "0.1", steps=16, resolution=4)
    cell, weights = law.certificate.cell, law.certificate.thresholds
    assert cell == 4
    whole = [hockey_stick(weights, d, exp_lower(Fraction(2))) for d in (1, 2)]
    for part in range(cell + 1):
        mixed = Fraction(cell - part, cell) * whole[0] + Fraction(part, cell) * whole[1]
        assert divergence(law, cell + part, Fraction(2)) <= mixed


def test_a_tie_of_the_inversion_is_broken_exactly():
    weights = integer_weights([Fraction(1), Fraction(0), Fraction(2)])
    edge = weights[0]
    head, rest = divmod(edge, 1 << 192)
    for tail, cell in ((rest - 1, 0), (rest, 2), (rest + 1, 2)):
        stream = [head.to_bytes(8, "little"), tail.to_bytes(24, "little")]
        assert draw_cells(weights, 1, lambda count, s=stream: s.pop(0)[:count]).tolist() == [cell]


def test_words_beyond_the_last_multiple_are_drawn_again():
    stream = [b"\xff" * 16, b"\xff" * 8 + bytes(8), (7).to_bytes(8, "little")]
    drawn = draw_inside(5, 2, lambda count: stream.pop(0))
    assert drawn.tolist() == [2, 0]


def test_draws_stay_in_the_support():
    law = OptimalNoise.calibrate(2, "0.1", steps=1000)
    draws = law.sample_shift(20_000)
    assert draws.dtype == np.int64
    assert draws.min() >= 0
    assert draws.max() <= law.width
    assert law.pmf(-1) == law.pmf(law.width + 1) == 0


@pytest.mark.parametrize("change", [{"steps": 0}, {"resolution": 0}, {"resolution": 1000}])
def test_bad_parameters_are_refused_by_name(change):
    with pytest.raises(InvalidArgumentError, match=next(iter(change))):
        OptimalNoise.calibrate(1, "0.1", **({"steps": 4} | change))


def test_bad_kinds_and_entries_are_refused():
    with pytest.raises(InvalidArgumentError, match="kind"):
        mean_shift("loose", epsilon=1, delta="0.1")
    with pytest.raises(InvalidArgumentError, match="entries"):
        mean_shift("optimal", epsilon=1, delta="0.1", entries=2)


def test_budgets_whose_table_would_not_end_are_refused_by_name():
    with pytest.raises(InvalidArgumentError, match="epsilon and delta ask for optimal noise"):
        OptimalNoise.calibrate("1e-9", "1e-12", steps=1000)
    with pytest.raises(InvalidArgumentError, match="epsilon and delta"):
        mean_shift("optimal", epsilon="1e-9", delta="1e-12")
    wide = OptimalNoise.calibrate("0.01", "1e-9", steps=4)
    assert 2_000 < wide.width / 4 < 20_000


def test_a_table_covers_whole_cells_and_not_a_step_more():
    proof = OptimalNoise.calibrate(1, "0.1", steps=1 << 20).certificate
    shifts = -(-proof.steps // proof.cell)
    assert proof.cell > 1
    assert replace(proof, steps=shifts * proof.cell).check()
    assert not replace(proof, steps=shifts * proof.cell + 1).check()
