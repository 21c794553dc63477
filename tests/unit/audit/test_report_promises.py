"""The verdict of an audit report, and the enclosure of entries that a method leaves bare."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dp_cmdp import Database, Envelope, ParametricLP, PrivacyBudget
from dp_cmdp.audit.report import (
    LAYERS,
    AuditReport,
    InjectedBug,
    MethodAudit,
    Verdict,
    WorstRecords,
)
from dp_cmdp.baselines.parts.blocks import publish_blocks
from dp_cmdp.data.affine import Affine

FINE = {layer: Verdict(True, "") for layer in LAYERS}
METHOD = MethodAudit("method", Fraction(1), Fraction(1, 10), 0.0, FINE)
RECORDS = WorstRecords(
    "release", programs=1, refused=0, records=5, uncovered=0, reached=1, closest=1.0
)


def objecting(layer: str) -> MethodAudit:
    return replace(METHOD, layers=FINE | {layer: Verdict(False, "")})


@pytest.mark.parametrize("layer", LAYERS)
def test_one_objecting_layer_fails_a_method_and_the_report(layer):
    assert METHOD.passed
    assert not objecting(layer).passed
    assert objecting(layer).objecting == (layer,)
    assert AuditReport((METHOD,), ()).passed
    assert not AuditReport((METHOD, objecting(layer)), ()).passed


def test_a_bug_that_nobody_noticed_fails_the_report():
    assert AuditReport((METHOD,), (InjectedBug("seen", objecting("coupling")),)).passed
    assert not AuditReport((METHOD,), (InjectedBug("unseen", METHOD),)).passed


def test_an_uncovered_record_fails_the_report():
    assert AuditReport((METHOD,), (), (RECORDS,)).passed
    assert not AuditReport((METHOD,), (), (RECORDS, replace(RECORDS, uncovered=1))).passed
    assert not AuditReport((METHOD,), (), (replace(RECORDS, records=0),)).passed


def test_entries_left_bare_are_enclosed_however_their_sums_were_rounded():
    envelope = Envelope(0.0, 1.0, shape=1)
    A = Affine((1, 1), constant=[[1e16]], at=(0, 0), entry=[0], coefficient=0.3)
    program = ParametricLP(envelope, c=[1.0], A=A, b=[1e17], upper=1.0)
    for value in (0.1, 0.5, 0.9):
        database = Database([value], envelope)
        release = publish_blocks(program, database, PrivacyBudget(1, "1/1000"), noise={})
        truth = Fraction(1e16) + Fraction(0.3) * Fraction(value)
        assert Fraction(np.float64(release.lower[0])) <= truth <= Fraction(release.upper[0])
