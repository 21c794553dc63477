"""Certificates of noise laws that are not private, each made to pass all checks but one."""

from dataclasses import replace
from fractions import Fraction

import pytest

from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.noise.certificate import NoiseCertificate, outer_mass
from dp_cmdp.noise.digits import ONE, exp_lower
from dp_cmdp.noise.laplace import LatticeLaplace
from dp_cmdp.noise.optimal import OptimalNoise
from dp_cmdp.noise.truncated import LatticeTruncatedLaplace
from dp_cmdp.noise.weight_table import worst_hockey_stick

HALF = Fraction(1, 2)


def truncated(thresholds, *, support, steps=1, epsilon=4, delta: Fraction | int = HALF, entries=1):
    """A certificate that says of these thresholds what is true of them."""
    entries = Fraction(entries)
    return NoiseCertificate(
        law="truncated-laplace",
        epsilon=Fraction(epsilon),
        delta=Fraction(delta),
        steps=steps,
        entries=entries,
        support=support,
        cell=1,
        ratio=exp_lower(Fraction(epsilon) / (entries * steps)),
        outer_mass=outer_mass(thresholds, support=support, steps=steps, entries=entries),
        thresholds=thresholds,
    )


def tabled(weights, *, cell=1, steps=1, epsilon=1, delta=HALF):
    ratio = exp_lower(Fraction(epsilon))
    return NoiseCertificate(
        law="table",
        epsilon=Fraction(epsilon),
        delta=Fraction(delta),
        steps=steps,
        entries=Fraction(1),
        support=cell * len(weights) - 1,
        cell=cell,
        ratio=ratio,
        outer_mass=worst_hockey_stick(weights, max(1, steps // cell), ratio),
        thresholds=tuple(weights),
    )


def test_an_honest_certificate_of_small_integers_checks():
    assert truncated((ONE // 4,), support=1).check()
    assert tabled([ONE // 2, ONE // 2]).check()


def test_a_law_that_rises_away_from_zero_is_not_certified():
    # P(1) = 3 P(0): the outermost point weighs 3/7 ≤ δ, and the mass of smaller shifts is no less
    assert not truncated((3 * ONE // 4,), support=1).check()


def test_a_law_that_falls_faster_than_its_ratio_is_not_certified():
    assert not truncated((ONE // 100,), support=1).check()


def test_a_support_that_the_digits_cannot_reach_is_not_certified():
    law = LatticeTruncatedLaplace.calibrate(4, HALF, steps=1).certificate
    far = 1 << len(law.thresholds)
    assert not replace(law, support=far, outer_mass=Fraction(0)).check()


@pytest.mark.parametrize("steps", [2, 3, 100])
def test_a_support_shorter_than_the_steps_is_not_certified(steps):
    # all points may leave, and the mass of more points than there are comes out as 0 or less
    assert not truncated((ONE // 2,), support=1, steps=steps, epsilon=50, delta=1).check()


def test_a_mass_that_is_stated_too_small_is_not_certified():
    law = LatticeTruncatedLaplace.calibrate(1, "1/100", steps=4).certificate
    assert law.check()
    assert not replace(law, outer_mass=law.outer_mass / 2).check()


def test_a_mass_above_delta_is_not_certified():
    law = LatticeTruncatedLaplace.calibrate(1, "1/100", steps=4).certificate
    assert not replace(law, delta=law.outer_mass / 2).check()


def test_a_mass_that_is_exactly_known_is_rounded_up():
    thirds = (ONE // 3,)
    stated = outer_mass(thirds, support=1, steps=1, entries=Fraction(1))
    whole = 2 * ONE - (ONE - ONE // 3)
    assert stated >= Fraction(ONE // 3, whole)
    assert stated - Fraction(ONE // 3, whole) < Fraction(1, ONE)


@pytest.mark.parametrize("onward", [0, 1, ONE - 1])
def test_a_plain_law_that_breaks_between_its_blocks_is_not_certified(onward):
    law = LatticeLaplace.calibrate(1, steps=4).certificate
    assert law.check()
    assert not replace(law, thresholds=(*law.thresholds[:-1], onward)).check()


def test_a_plain_law_that_claims_to_spend_delta_is_not_certified():
    law = LatticeLaplace.calibrate(1, steps=4).certificate
    assert not replace(law, outer_mass=Fraction(1, 100)).check()


def test_a_table_is_judged_by_whole_cells_rounded_up():
    # one step inside a cell of three is private, two cells apart is not: five steps reach both
    weights = [ONE // 2, ONE // 4, ONE // 4]
    inside = worst_hockey_stick(weights, 1, exp_lower(Fraction(1)))
    law = replace(tabled(weights, cell=3, steps=5), outer_mass=inside, delta=inside)
    assert worst_hockey_stick(weights, 2, law.ratio) > inside
    assert not law.check()


def test_a_table_of_several_moving_entries_is_not_certified():
    assert not replace(tabled([ONE // 2, ONE // 2]), entries=Fraction(2)).check()


def test_a_table_with_negative_weights_is_not_certified():
    eighth = ONE // 8
    weights = [eighth, 2 * eighth, eighth, -1, eighth + 1, 2 * eighth, eighth]
    law = tabled(weights, epsilon=50)
    assert sum(weights) == ONE
    assert law.outer_mass <= law.delta
    assert not law.check()


@pytest.mark.parametrize("weights", [[1, 3], [3, 1]])
def test_a_table_is_judged_in_both_directions(weights):
    law = tabled([weight * ONE // 4 for weight in weights])
    assert law.outer_mass == Fraction(3, 4)
    assert not replace(law, outer_mass=HALF).check()


@pytest.mark.parametrize("off", [-1, 1])
def test_a_table_that_does_not_sum_to_one_is_not_certified(off):
    assert not replace(tabled([ONE // 2, ONE // 2 + off]), outer_mass=HALF).check()


@pytest.mark.parametrize(
    ("law", "certificate"),
    [
        (LatticeTruncatedLaplace, truncated((3 * ONE // 4,), support=1)),
        (LatticeLaplace, replace(LatticeLaplace.calibrate(1, steps=4).certificate, steps=8)),
        (OptimalNoise, tabled([ONE // 2, ONE // 2], delta=Fraction(1, 10))),
    ],
)
def test_no_law_is_built_from_a_certificate_that_does_not_check(law, certificate):
    assert not certificate.check()
    with pytest.raises(InvalidArgumentError, match="certificate must prove"):
        law(certificate)
