"""Series can be told apart by every eye, and by their marks."""

from itertools import combinations

import pytest

from dp_cmdp.figures.advice import LOOKS
from dp_cmdp.figures.style import COLOURS, NAMES, colour, mark
from tests.colours import difference, lab

#: CIE 1976 units; the widely used palette of Okabe and Ito has 17.0 by the same measure.
LEAST_DIFFERENCE = 18.0
SERIES = sorted(set(COLOURS.values()))


@pytest.mark.parametrize(("one", "other"), list(combinations(SERIES, 2)))
def test_any_two_series_colours_differ_to_normal_protan_and_deutan_eyes(one, other):
    assert difference(one, other) >= LEAST_DIFFERENCE


def test_the_measure_would_have_refused_colours_that_look_alike_without_red_or_green():
    assert difference("#c2410c", "#a16207") < 3.0
    assert difference("#dc2626", "#00734d") < LEAST_DIFFERENCE
    assert difference("#000000", "#ffffff") == pytest.approx(100.0, abs=0.1)


@pytest.mark.parametrize("shade", SERIES)
def test_series_stand_out_on_white(shade):
    assert lab(shade)[0] < 78.0


def test_variants_that_share_a_colour_have_marks_of_their_own():
    apart = [n for n in NAMES if n not in ("benvenuti2025-as-published", "laplace-unshifted")]
    assert len({(colour(name), mark(name)) for name in apart}) == len(apart)


def test_the_curves_of_advice_differ_in_colour_and_in_mark():
    shades, marks = zip(*LOOKS, strict=True)
    assert len(set(shades)) == len(set(marks)) == len(LOOKS)
    assert set(shades) <= set(COLOURS.values())
