"""Any legal budget and lattice gives a law whose certificate checks."""

import math
from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from dp_cmdp.noise.laplace import LatticeLaplace
from dp_cmdp.noise.truncated import LatticeTruncatedLaplace

epsilons = st.fractions(Fraction(1, 50), 40, max_denominator=1000)
deltas = st.fractions(Fraction(1, 10**12), Fraction(1, 2), max_denominator=10**12).filter(bool)


@settings(max_examples=60)
@given(epsilons, deltas, st.integers(1, 1 << 40), st.integers(1, 50))
def test_every_truncated_law_is_certified_and_short(epsilon, delta, steps, entries):
    law = LatticeTruncatedLaplace.calibrate(epsilon, delta, steps=steps, entries=entries)
    assert law.certificate.verified
    each = float(epsilon / entries)
    tight = math.log1p(entries * math.expm1(each) / (2 * float(delta))) / each
    assert law.support <= tight * steps * (1 + 1e-12) + 1
    assert abs(law.sample(10)).max() <= law.support


@settings(max_examples=40)
@given(epsilons, st.integers(1, 1 << 40))
def test_every_plain_law_is_certified(epsilon, steps):
    proof = LatticeLaplace.calibrate(epsilon, steps=steps).certificate
    assert proof.verified
    assert proof.thresholds[-1] < 1 << (256 - 64)
