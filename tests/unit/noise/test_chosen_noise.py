"""The shipped releases under chosen noise: none, the full width, both ends, every rounding."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dp_cmdp.accounting.budget import BLOCKS, PrivacyBudget, Share
from dp_cmdp.audit.layers.worst_records import block_reading
from dp_cmdp.audit.subjects.awkward import awkward_programs
from dp_cmdp.baselines import METHODS
from dp_cmdp.data.affine import Affine
from dp_cmdp.data.database import Database
from dp_cmdp.data.envelope import Envelope
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.noise.digits import draw_signs
from dp_cmdp.noise.laplace import LatticeLaplace
from dp_cmdp.noise.optimal import OptimalNoise
from dp_cmdp.noise.plans import (
    FloatLaplace,
    FloatTruncated,
    LatticeBounded,
    LatticeUnbounded,
    Query,
    laplace_plan,
    truncated_plan,
)
from dp_cmdp.noise.truncated import LatticeTruncatedLaplace
from dp_cmdp.program.parametric import ParametricLP
from dp_cmdp.release.block_plans import plan_block
from dp_cmdp.release.blocks import release_blocks
from dp_cmdp.release.entries import plan_database, release_database
from tests.chosen_noise import choosing

BUDGET = PrivacyBudget(4, "0.2")
RADIUS = np.array([0.1, 0.7, 1.0, 3.0, 1e-3, 1 / 3])


def exact(values):
    return [Fraction(float(value)) for value in values]


def envelope(records=None):
    return Envelope(-16 * RADIUS, 16 * RADIUS, radius=RADIUS, records=records)


def places(step):
    """On lattice points, just beside them, and between them; positive, negative and zero."""
    for number in (-3, -1, 0, 1, 12345):
        point = number * step
        yield from (point, np.nextafter(point, -np.inf), np.nextafter(point, np.inf))
        yield point + 0.37 * step


DATABASE_PLANS = [
    ("tight", None, "upper"),
    ("paper", None, "upper"),
    ("tight", [0, 0, 1, 1, 1, 4], "upper"),
    ("optimal", None, "upper"),
    ("optimal", None, "lower"),
]


def widest(law: Any) -> int:
    """The largest number the law can draw, counted from 0: from its certificate."""
    support = law.certificate.support
    return 2 * support if law.certificate.law == "truncated-laplace" else support


@pytest.mark.parametrize(("kind", "records", "close"), DATABASE_PLANS)
def test_intervals_hold_the_value_for_every_draw_and_every_place_and_not_a_step_more(
    kind, records, close
):
    plan = plan_database(envelope(records), BUDGET, calibration=kind, close=close)
    assert isinstance(plan, LatticeBounded)
    law, lattice = plan.noise, plan.lattice
    steps = exact(lattice.step)
    width = widest(law)
    for shift in (0, 1, width // 2, width - 1, width):
        up = width - shift if close == "lower" else shift
        for values in zip(*map(places, lattice.step), strict=True):
            found = replace(plan, rng=choosing(plan, shift)).draw(np.array(values))
            for low, value, high, g in zip(
                exact(found.lower), exact(values), exact(found.upper), steps, strict=True
            ):
                assert low <= value <= high
                # the ends are those of the integer ⌊θ/g⌋ + W, rounded outwards by one float at most
                top = value // g + up
                assert low <= (top - width) * g <= Fraction(np.nextafter(float(low), np.inf))
                assert Fraction(np.nextafter(float(high), -np.inf)) <= (top + 1) * g <= high


@pytest.mark.parametrize(("kind", "records", "close"), DATABASE_PLANS)
@pytest.mark.parametrize("end", ["none", "middle", "full"])
def test_a_release_of_the_database_holds_the_truth_at_both_ends_of_the_noise(
    monkeypatch, kind, records, close, end
):
    plan = plan_database(envelope(records), BUDGET, calibration=kind, close=close)
    assert isinstance(plan, LatticeBounded)
    width = widest(plan.noise)
    shift = {"none": 0, "middle": width // 2, "full": width}[end]
    for values in zip(*map(places, plan.lattice.step), strict=True):
        monkeypatch.setattr("dp_cmdp.noise.plans.os.urandom", choosing(plan, shift).bytes)
        release = release_database(
            Database(values, envelope(records)), BUDGET, calibration=kind, close=close
        )
        assert release.secure
        assert all(
            low <= value <= high
            for low, value, high in zip(
                exact(release.lower), exact(values), exact(release.upper), strict=True
            )
        )


def test_a_negative_zero_is_drawn_again():
    """Otherwise 0 would have twice its weight."""
    magnitude = np.array([0, 0, 3, 3, 0])
    signs = bytes([1, 0, 1, 0, 1])
    kept = draw_signs(magnitude, lambda count: signs[:count], keep=None)
    assert kept.tolist() == [0, -3, 3]
    kept = draw_signs(magnitude, lambda count: signs[:count], keep=magnitude < 3)
    assert kept.tolist() == [0]


def test_untruncated_noise_moves_the_value_by_the_chosen_integer():
    reading = block_reading(next(iter(awkward_programs())), "c", "paper")
    plan = reading.plan
    assert isinstance(plan, LatticeUnbounded)
    values = reading.values(np.full(5, 0.3))
    for number in (0, 1, -1, 12345, -(2**24) + 1):
        drawn = replace(plan, rng=choosing(plan, number)).draw(values)
        for found, value, g in zip(
            exact(drawn.estimate), exact(values), exact(plan.lattice.step), strict=True
        ):
            assert round(found / g - Fraction(1, 2)) == value // g + number
        assert (drawn.lower == -np.inf).all()
        assert (drawn.upper == np.inf).all()


def real_entries(program, theta):
    """Sensitive entries of A, b and c as fractions, straight from the structure."""
    values, found = exact(theta), []
    for block in BLOCKS:
        part: Affine = getattr(program, block)
        row, col, position = part.sensitive()
        numbers = exact(part.base(row, col))
        for place, entry, factor in zip(
            position.tolist(), part.entry.tolist(), exact(part.coefficient), strict=True
        ):
            numbers[place] += factor * values[entry]
        found += numbers
    return found


def chosen_shift(monkeypatch, share):
    """Let every bounded law draw this share of its width."""
    for law in (LatticeTruncatedLaplace, OptimalNoise):
        monkeypatch.setattr(
            law, "sample_shift", lambda self, size, source: np.full(size, int(share * self.width))
        )
    monkeypatch.setattr(LatticeLaplace, "_noise", lambda self, size, source: np.zeros(size, int))


@pytest.mark.parametrize("calibration", ["paper", "tight"])
@pytest.mark.parametrize("share", [0, 1])
def test_algorithm_1_holds_the_real_entries_at_both_ends_of_the_noise(
    monkeypatch, calibration, share
):
    chosen_shift(monkeypatch, share)
    budget = PrivacyBudget(12, "0.4")
    for program in list(awkward_programs())[::5]:
        theta = np.nextafter(0.3 * program.envelope.upper, np.inf)
        release = release_blocks(
            Database(theta, program.envelope),
            budget,
            program=program,
            alphas=dict.fromkeys(BLOCKS, "1/3"),
            calibration=calibration,
        )
        for low, value, high in zip(
            release.lower, real_entries(program, theta), release.upper, strict=True
        ):
            assert low == -np.inf or Fraction(float(low)) <= value
            assert high == np.inf or value <= Fraction(float(high))


@pytest.mark.parametrize("share", [0, 1])
@pytest.mark.parametrize("exposed", [False, True])
def test_the_ends_leave_room_for_sums_that_cancel(monkeypatch, share, exposed):
    """3·θ − 3e12 − 2^-5 is off by up to 2^-12 in floats, hundreds of lattice steps.

    At 1e12 + 85/8192 and the next float it is 0 in floats, and is not.
    """
    chosen_shift(monkeypatch, share)
    envelope = Envelope([1e12], [1e12 + 1], radius=[1.23e-4])
    A = Affine((1, 1), constant=[[-3e12 - 2.0**-5]], at=([0], [0]), entry=[0], coefficient=3.0)
    program = ParametricLP(envelope, c=[1.0], A=A, b=[5.0], upper=[10.0])
    missed = {-1: 0, 1: 0}
    for number in range(50, 100):
        theta = 1e12 + number / 8192
        release = release_blocks(
            Database([theta], envelope),
            PrivacyBudget(20, "1/2"),
            program=program,
            alphas={"A": 1},
            calibration="tight",
            realised_mask_NOT_PRIVATE=exposed,
        )
        (value,) = real_entries(program, [theta])
        off = Fraction(float(program.at([theta]).A.toarray()[0, 0])) - value
        missed[int(np.sign(off)) or 1] += off != 0
        assert Fraction(float(release.lower[0])) <= value <= Fraction(float(release.upper[0]))
    assert min(missed.values()) >= 10  # floats are off in both directions


def test_the_papers_support_is_the_tight_one_for_its_share_of_delta():
    budget = PrivacyBudget(1, "0.1")
    plan = plan_database(envelope(), budget, calibration="paper")
    assert isinstance(plan, LatticeBounded)
    assert plan.noise.certificate.delta == Fraction(1, 10) / (2 * RADIUS.size)
    program = next(iter(awkward_programs()))
    share = Share(Fraction(1), Fraction(1), Fraction(1, 10))
    for block, entries in (("A", 4), ("b", 2)):
        plan = plan_block(program, block, share=share, calibration="paper", rng=None)
        assert isinstance(plan, LatticeBounded)
        assert plan.noise.certificate.delta == Fraction(1, 10) / (2 * entries)


class ChosenQuantile(np.random.Generator):
    """A Generator whose uniform and Laplace draws are chosen."""

    def __init__(self, quantile, noise=0.0):
        super().__init__(np.random.PCG64(0))
        self.quantile, self.noise = quantile, noise

    def random(self, size: Any, *_: Any, **__: Any) -> Any:
        return np.full(size, self.quantile)

    def laplace(self, *_: Any, size: Any, **__: Any) -> Any:
        return np.full(size, self.noise)


@pytest.mark.parametrize("quantile", [0.0, 2.0**-53, 0.5, 1 - 2.0**-53])
def test_float_noise_of_a_simulation_holds_the_truth_at_both_ends(quantile):
    rng = ChosenQuantile(quantile)
    for records in (None, [0, 0, 1, 1, 1, 4]):
        for kind in ("tight", "paper"):
            plan = plan_database(envelope(records), BUDGET, calibration=kind, rng=rng)
            assert isinstance(plan, FloatTruncated)
            for share in (-16, -0.3, 0, 1e-17, 0.7, 16):
                values = share * RADIUS
                drawn = plan.draw(values)
                for low, value, high in zip(
                    exact(drawn.lower), exact(values), exact(drawn.upper), strict=True
                ):
                    assert low <= value <= high


def test_float_laplace_noise_is_counted_in_units_of_each_value():
    program = next(iter(awkward_programs()))
    plan = plan_block(
        program,
        "c",
        share=Share(Fraction(1), Fraction(1), Fraction(0)),
        calibration="paper",
        rng=ChosenQuantile(0.5, noise=2.0),
    )
    assert isinstance(plan, FloatLaplace)
    values = np.array([0.1, 0.2])
    np.testing.assert_allclose(plan.draw(values).estimate - values, 2.0 * program.sensitivity("c"))


@pytest.mark.parametrize("name", ["munoz2021", "benvenuti2024", "benvenuti2025", "database"])
@pytest.mark.parametrize("quantile", [0.0, 1 - 2.0**-53])
def test_methods_that_promise_feasibility_hold_the_real_entries_at_both_ends(name, quantile):
    """0.1·3 − 0.3 and the like: the float entries are not the real ones."""
    entries = Envelope([0.0, 0.0, 1.0], [3.0, 3.0, 9.0], radius=[0.1, 0.7, 0.3])
    program = ParametricLP(
        entries,
        c=np.ones(2),
        A=Affine((1, 2), at=(0, [0, 1]), entry=[0, 1], coefficient=[0.1, 1.1])
        if name != "munoz2021"
        else Affine((1, 2), constant=np.ones((1, 2))),
        b=Affine(1, constant=[0.3], at=[0], entry=[2], coefficient=0.7)
        if name != "benvenuti2024"
        else np.array([5.0]),
        upper=1.0,
    )
    theta = np.array([0.3, 0.7, 5.1])
    answer = METHODS[name].run(
        program, Database(theta, entries), PrivacyBudget(9, "0.3"), rng=ChosenQuantile(quantile)
    )
    release = answer.release
    assert release is not None
    wanted = real_entries(program, theta) if release.method == "blocks" else exact(theta)
    for low, value, high in zip(exact(release.lower), wanted, exact(release.upper), strict=True):
        assert low <= value <= high


@pytest.mark.parametrize("quantile", [0.0, 1 - 2.0**-53])
def test_simulated_methods_leave_room_for_sums_that_cancel(quantile):
    envelope = Envelope([1e12], [1e12 + 1], radius=[1.23e-4])
    program = ParametricLP(
        envelope,
        c=[1.0],
        A=Affine((1, 1), constant=[[1.0]]),
        b=Affine(1, constant=[-3e12 + 5], at=[0], entry=[0], coefficient=3.0),
        upper=1.0,
    )
    for number in range(50, 60):
        theta = 1e12 + number / 8192
        (value,) = real_entries(program, [theta])
        release = (
            METHODS["munoz2021"]
            .run(
                program,
                Database([theta], envelope),
                PrivacyBudget(9, "0.3"),
                rng=ChosenQuantile(quantile),
            )
            .release
        )
        assert release is not None
        assert Fraction(float(release.lower[0])) <= value <= Fraction(float(release.upper[0]))


def test_plans_refuse_what_their_certificate_does_not_cover():
    pair = Query.of_entries(Envelope([0.0, 0.0], [1.0, 1.0], records=[0, 0]))
    with pytest.raises(InvalidArgumentError, match="more than the noise covers"):
        laplace_plan(pair, epsilon=Fraction(1), rng=None)
    common = {"epsilon": Fraction(1), "delta": Fraction(1, 10), "num_entries": 2, "rng": None}
    with pytest.raises(InvalidArgumentError, match="query"):
        truncated_plan(pair, calibration="optimal", **common)
    alone = replace(pair, record_size=1)
    with pytest.raises(InvalidArgumentError, match="one number at a time"):
        truncated_plan(alone, calibration="optimal", **common)
