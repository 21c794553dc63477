"""How far one record moves the integers of a release: counted exactly, and never under-counted."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dp_cmdp.accounting.budget import BLOCKS, Share
from dp_cmdp.audit.layers import worst_records
from dp_cmdp.audit.layers.worst_records import (
    block_reading,
    record_moves,
    shipped_readings,
    worst_row,
)
from dp_cmdp.audit.report import AuditReport
from dp_cmdp.audit.subjects.awkward import awkward_envelopes, awkward_programs
from dp_cmdp.data.affine import Affine
from dp_cmdp.data.envelope import Envelope
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.noise.lattice import Lattice
from dp_cmdp.noise.movement import Movement
from dp_cmdp.noise.plans import LatticeBounded, Query
from dp_cmdp.noise.truncated import LatticeTruncatedLaplace
from dp_cmdp.program.parametric import ParametricLP
from dp_cmdp.release.block_plans import plan_block

#: Programs, records at least: the layer must have looked at that many.
LEAST = {"A": (290, 500), "b": (40, 80), "c": (40, 70), "t": (36, 96), "r": (36, 96), "l": (6, 30)}


def label_gap() -> ParametricLP:
    """0.1 + 0.7 rounds down in floats, and the label of entry 0 is not read."""
    envelope = Envelope([0, 0, 0], [1, 1, 1], radius=[1, 0.1, 0.7], records=[0, 1, 1])
    A = Affine((1, 2), at=(0, [0, 1]), entry=[1, 2])
    return ParametricLP(envelope, c=np.ones(2), A=A, b=[1.0], upper=1.0)


def exact_sensitivity(part: Affine, envelope: Envelope) -> Fraction:
    total: dict[int, Fraction] = {}
    for entry, factor in zip(part.entry.tolist(), part.coefficient.tolist(), strict=True):
        record = int(envelope.records[entry])
        moved = abs(Fraction(factor)) * Fraction(float(envelope.radius[entry]))
        total[record] = total.get(record, Fraction(0)) + moved
    return max(total.values())


@pytest.mark.parametrize("release", shipped_readings())
def test_no_record_moves_more_integers_than_are_certified(release):
    row = worst_row(release)
    programs, records = LEAST[release[-1]]
    assert row.uncovered == 0
    assert row.passed
    assert row.programs >= programs
    assert row.records >= records
    assert row.reached > 0  # the count is reached: nothing smaller would do
    assert row.closest == 1.0


def test_a_record_behind_a_gap_in_the_labels_is_covered_when_it_moves_furthest():
    (move,) = record_moves(block_reading(label_gap(), "A", "tight"))
    assert move.covered
    assert move.moved == move.certified == 2**20


def test_sensitivities_are_exact_sums_rounded_up():
    for program in [label_gap(), *awkward_programs()]:
        for block in BLOCKS:
            part = getattr(program, block)
            if part.is_public:
                continue
            found, wanted = program.sensitivity(block), exact_sensitivity(part, program.envelope)
            assert Fraction(found) >= wanted
            assert Fraction(np.nextafter(found, 0.0)) < wanted


def test_amounts_are_exact_sums_of_radii_and_roundings_rounded_up():
    for program in awkward_programs():
        part, envelope = program.A, program.envelope
        rounding = part.rounding(envelope.lower, envelope.upper).tolist()
        wanted: dict[tuple[int, int], Fraction] = {}
        for number, entry, factor in zip(
            part.sensitive()[2].tolist(),
            part.entry.tolist(),
            part.coefficient.tolist(),
            strict=True,
        ):
            pair = int(envelope.records[entry]), number
            moved = abs(Fraction(factor)) * Fraction(float(envelope.radius[entry]))
            wanted[pair] = wanted.get(pair, 2 * Fraction(rounding[number])) + moved
        movement = Movement.of_block(part, envelope)
        pairs = list(zip(movement.record.tolist(), movement.number.tolist(), strict=True))
        assert sorted(pairs) == sorted(wanted)
        for pair, amount in zip(pairs, movement.amount.tolist(), strict=True):
            assert Fraction(np.nextafter(amount, 0.0)) < wanted[pair] <= Fraction(amount)


def short_plan(reading, steps):
    """The plan of a reading with noise calibrated to fewer steps than it moves."""
    law = LatticeTruncatedLaplace.calibrate(1, "1e-9", steps=steps)
    return replace(reading, plan=replace(reading.plan, noise=law))


def test_a_count_that_is_one_step_short_is_seen():
    reading = block_reading(label_gap(), "A", "tight")
    steps = reading.plan.lattice.steps
    assert all(move.covered for move in record_moves(short_plan(reading, steps)))
    assert not all(move.covered for move in record_moves(short_plan(reading, steps - 1)))


def test_a_count_that_forgets_how_many_numbers_share_the_radius_is_seen():
    """2^bits alone, as if one record met one number."""
    seen = 0
    for program in awkward_envelopes():
        reading = block_reading(program, "b", "tight")
        short = short_plan(reading, int(reading.plan.lattice.steps) // 2**20 * 2**20 or 1)
        seen += not all(move.covered for move in record_moves(short))
    assert seen >= 10


def test_an_uncovered_record_fails_the_report(monkeypatch):
    whole = worst_row("release_blocks, tight, b")
    monkeypatch.setattr(
        worst_records,
        "block_reading",
        lambda program, block, calibration: short_plan(
            block_reading(program, block, calibration), 100
        ),
    )
    row = worst_row("release_blocks, tight, b")
    assert row.uncovered > 60
    assert AuditReport((), (), (whole,)).passed
    report = AuditReport((), (), (whole, row))
    assert not report.passed
    assert report.to_dict()["worst_records"][1]["uncovered"] == row.uncovered


def test_terms_of_one_record_at_one_place_move_it_together():
    envelope = Envelope(0.0, [1.0, 1.0, 1.0], radius=[0.5, 0.25, 1.0], records=[0, 0, 1])
    part = Affine(2, at=[0, 0, 1, 1], entry=[0, 1, 1, 2], coefficient=[1.0, -1.0, 2.0, 1.0])
    movement = Movement.of_block(part, envelope)
    found = dict(
        zip(zip(movement.record, movement.number, strict=True), movement.amount, strict=True)
    )
    assert found[0, 0] == pytest.approx(0.75)
    assert found[0, 1] == pytest.approx(0.5)
    assert found[1, 1] == pytest.approx(1.0)
    assert movement.total == pytest.approx(1.25)
    # 0.75 is what two entries move; the rest is the rounding of two float sums
    assert 0 < found[0, 0] - 0.75 < 1e-13


def test_every_block_of_a_shared_record_is_counted_number_by_number():
    """Four numbers of one record, each of which may straddle a lattice point."""
    envelope = Envelope(0.0, 1.0, radius=[0.1, 0.3, 0.7, 0.9], shape=4, records=[0, 0, 0, 0])
    program = ParametricLP(
        envelope, c=np.ones(4), A=Affine((1, 4), at=(0, np.arange(4)), entry=np.arange(4)), b=[1.0]
    )
    share = Share(Fraction(1), Fraction(1), Fraction(1, 100))
    plan = plan_block(program, "A", share=share, calibration="tight", rng=None)
    assert isinstance(plan, LatticeBounded)
    radius, step = envelope.radius.tolist(), Fraction(float(plan.lattice.step[0]))
    assert plan.lattice.steps == sum(-(-Fraction(each) // step) for each in radius) == 2**20 + 2


def test_a_database_is_counted_per_entry_and_per_record():
    envelope = Envelope(0.0, 1.0, radius=[0.1, 0.3, 0.7], shape=3, records=[5, 2, 5])
    query = Query.of_entries(envelope)
    lattice = query.lattice()
    assert query.movement.integers(lattice) == (2**20, 2**21)
    assert lattice.steps == 2**20
    assert query.record_size == 2
    assert Lattice.of(envelope.radius, largest=1.0).steps == 2**20


def test_a_certificate_must_cover_each_number_and_each_record():
    movement = Movement(np.array([0, 0, 1]), np.array([0, 1, 0]), np.array([3.0, 2.0, 4.5]))
    lattice = Lattice(np.ones(2), 1)
    assert movement.integers(lattice) == (5, 5)
    for steps, entries, covered in ((5, 1, True), (4, 2, False), (4, 1, False), (100, 1, True)):
        law = LatticeTruncatedLaplace.calibrate(1, "0.1", steps=steps, entries=entries)
        if covered:
            movement.check_covered(lattice, law.certificate)
        else:
            with pytest.raises(InvalidArgumentError, match="more than the noise covers"):
                movement.check_covered(lattice, law.certificate)


@pytest.mark.parametrize("end", [1e308, 1.7e308])
def test_a_range_beyond_the_floats_is_refused(end):
    with pytest.raises(InvalidArgumentError, match="finite"):
        Envelope([-end], [end])


def test_a_radius_rounded_above_the_range_only_promises_more():
    lower = 0.1 * np.arange(1, 10)
    upper = lower + 7.3
    envelope = Envelope(-lower, upper)
    ranges = [
        Fraction(high) + Fraction(low)
        for low, high in zip(lower.tolist(), upper.tolist(), strict=True)
    ]
    assert any(Fraction(d) < r for d, r in zip((upper + lower).tolist(), ranges, strict=True))
    assert all(Fraction(d) >= r for d, r in zip(envelope.radius.tolist(), ranges, strict=True))
    with pytest.raises(InvalidArgumentError, match="radius"):
        Envelope([0.0], [1.0], radius=[1.0 + 1e-9])
