"""The certificate layer: comparisons of fractions, no samples.

Every certificate is checked again from its integers, and together they may not spend more than is
claimed (basic composition, ``lem:comp``). It is the only layer that sees a support that is a hair
too short at δ = 1e-6.
"""

from __future__ import annotations

import json
from fractions import Fraction

from dp_cmdp.audit.report import Verdict
from dp_cmdp.data.release import Release
from dp_cmdp.noise.certificate import NoiseCertificate


def certificates_of(release: Release) -> tuple[NoiseCertificate, ...]:
    """The certificates a release carries, one per block with exact noise."""
    return tuple(
        NoiseCertificate.from_json(json.dumps(dict(noise.certificate)))
        for noise in release.noise
        if noise.certificate is not None
    )


def certify(
    certificates: tuple[NoiseCertificate, ...], *, epsilon: Fraction, delta: Fraction
) -> Verdict:
    """Check the certificates and their sum against the claim."""
    if not certificates:
        return Verdict(None, "does not apply: the noise carries no certificate")
    for number, certificate in enumerate(certificates):
        if not certificate.check():
            return Verdict(False, f"certificate {number} ({certificate.law}) proves nothing")
    spent = sum((each.epsilon for each in certificates), Fraction(0))
    risked = sum((each.outer_mass for each in certificates), Fraction(0))
    numbers = {"epsilon_proved": float(spent), "delta_proved": float(risked)}
    if spent > epsilon or risked > delta:
        return Verdict(False, "the certificates prove less privacy than is claimed", numbers)
    laws = ", ".join(each.law for each in certificates)
    return Verdict(True, f"{laws}: proved in exact fractions", numbers)
