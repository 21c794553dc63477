"""The releases of this package as subjects of the audit.

Noise is independent between records, so one release of a wide database, in which every other record
is at the neighbour's value, shows many runs of one record at once. No value is near its public
bounds, so nothing is hidden by cutting to them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np

from dp_cmdp._check import FloatArray
from dp_cmdp.accounting.budget import PrivacyBudget
from dp_cmdp.audit.layers.certificates import certificates_of
from dp_cmdp.audit.layers.coupling import Coupling
from dp_cmdp.audit.layers.noise_law import law_facts
from dp_cmdp.audit.outcomes import Outcomes, Sampler
from dp_cmdp.audit.subject import DRAWS, Subject
from dp_cmdp.data.database import Database
from dp_cmdp.data.envelope import Envelope
from dp_cmdp.data.release import Release
from dp_cmdp.noise.certificate import NoiseCertificate
from dp_cmdp.noise.optimal import OptimalNoise
from dp_cmdp.noise.plans import (
    LatticeBounded,
    LatticeUnbounded,
    Query,
    laplace_plan,
    truncated_plan,
)
from dp_cmdp.noise.truncated import LatticeTruncatedLaplace
from dp_cmdp.release.entries import release_database

#: A budget whose δ is large enough to be seen in a few thousand runs.
EPSILON, DELTA = Fraction(1), Fraction(1, 20)
claiming = partial(Subject, epsilon=EPSILON, delta=DELTA)
#: Public bound of the entries: far beyond the noise, so that no end is cut.
BOUND = 64.0
#: Runs of mechanisms of which one wide release shows thousands.
CHEAP_RUNS = 20_000
#: A record of the neighbour differs by its whole radius.
RADIUS = 1.0


def shipped_subjects() -> list[Callable[[], Subject]]:
    """Makers of the subjects: the database release in all its forms."""
    return [
        lambda: database_subject("tight"),
        lambda: database_subject("paper"),
        lambda: database_subject("optimal"),
        lambda: database_subject("tight", record_size=2),
        laplace_subject,
    ]


def database_subject(calibration: str, *, record_size: int = 1) -> Subject:
    """``release_database`` with exact noise, for records of `record_size` entries."""
    certificate = certificates_of(_release(np.zeros(DRAWS), record_size, calibration))[0]
    records = "" if record_size == 1 else f", records of {record_size} entries"
    return claiming(
        name=f"release_database, {calibration}{records}",
        sample=_wide(calibration, record_size),
        certificates=(certificate,),
        couplings=(
            _exact_coupling(calibration, record_size),
            _release_coupling(calibration, record_size),
        ),
        noise=_drawn_noise(calibration, record_size),
        facts=law_facts(_law(certificate)),
        least_runs=CHEAP_RUNS,
    )


def _release(
    values: FloatArray, record_size: int, calibration: str, rng: np.random.Generator | None = None
) -> Release:
    records = np.arange(values.size) // record_size
    envelope = Envelope(-BOUND, BOUND, radius=RADIUS, shape=values.size, records=records)
    budget = PrivacyBudget(EPSILON, DELTA)
    return release_database(Database(values, envelope), budget, rng=rng, calibration=calibration)


def _law(certificate: NoiseCertificate) -> LatticeTruncatedLaplace | OptimalNoise:
    table = certificate.law == "table"
    return OptimalNoise(certificate) if table else LatticeTruncatedLaplace(certificate)


def _wide(calibration: str, record_size: int) -> Sampler:
    def sample(runs: int, rng: np.random.Generator) -> tuple[Outcomes, Outcomes]:
        sides = np.tile([0.0, RADIUS], runs)
        release = _release(np.repeat(sides, record_size), record_size, calibration)
        parts = (release.estimate, release.lower, release.upper)
        shown = np.concatenate([part.reshape(-1, record_size) for part in parts], axis=1)
        return Outcomes.of(shown[0::2]), Outcomes.of(shown[1::2])

    return sample


def _drawn_noise(
    calibration: str, record_size: int
) -> Callable[[int, np.random.Generator], FloatArray]:
    """The noise in a release, read back from its upper ends, in lattice steps."""

    def noise(size: int, rng: np.random.Generator) -> FloatArray:
        release = _release(np.zeros(DRAWS), record_size, calibration)
        certificate = certificates_of(release)[0]
        law = _law(certificate)
        shift = release.upper / (RADIUS / certificate.steps) - 1
        return (shift - (0 if isinstance(law, OptimalNoise) else law.support))[:size]

    return noise


def _query(size: int, record_size: int = 1) -> Query:
    records = np.arange(size) // record_size
    return Query.of_entries(Envelope(-BOUND, BOUND, radius=RADIUS, shape=size, records=records))


def _exact_coupling(calibration: str, record_size: int) -> Coupling:
    """The noise plan of the release, with its bytes from a seeded generator."""
    plan = truncated_plan(
        _query(2 * record_size, record_size),
        epsilon=EPSILON,
        delta=DELTA,
        calibration=calibration,
        num_entries=2 * record_size,
        rng=None,
    )
    assert isinstance(plan, LatticeBounded)
    pair = _pair(record_size)

    def run(side: int, rng: np.random.Generator) -> FloatArray:
        return replace(plan, rng=rng).draw(pair[side]).upper

    return Coupling("exact noise", run, pair[1] - pair[0], is_exact=True)


def _release_coupling(calibration: str, record_size: int) -> Coupling:
    pair = _pair(record_size)

    def run(side: int, rng: np.random.Generator) -> FloatArray:
        return _release(pair[side], record_size, calibration, rng).estimate

    return Coupling("release", run, pair[1] - pair[0])


def _pair(record_size: int) -> tuple[FloatArray, FloatArray]:
    """One record is at 0 or at its radius; another one does not change."""
    first, second = np.zeros(2 * record_size), np.zeros(2 * record_size)
    second[:record_size] = RADIUS
    return first, second


def laplace_subject() -> Subject:
    """The untruncated noise of an objective, (ε, 0)-private."""
    plan = laplace_plan(_query(1), epsilon=EPSILON, rng=None)
    assert isinstance(plan, LatticeUnbounded)
    law, step = plan.noise, float(plan.lattice.step[0])

    def draw(values: FloatArray, rng: np.random.Generator | None) -> FloatArray:
        wide = laplace_plan(_query(values.size), epsilon=EPSILON, rng=None)
        assert isinstance(wide, LatticeUnbounded)
        return replace(wide, rng=rng).draw(values).estimate

    def sample(runs: int, rng: np.random.Generator) -> tuple[Outcomes, Outcomes]:
        shown = draw(np.tile([0.0, RADIUS], runs), None)[:, None]
        return Outcomes.of(shown[0::2]), Outcomes.of(shown[1::2])

    return claiming(
        name="Laplace noise of an objective",
        sample=sample,
        certificates=(law.certificate,),
        couplings=(
            Coupling(
                "exact noise",
                lambda side, rng: draw(np.array([0.0, side * RADIUS]), rng),
                np.array([0.0, RADIUS]),
                is_exact=True,
            ),
        ),
        noise=lambda size, rng: draw(np.zeros(size), None) / step - 0.5,
        facts=law_facts(law),
        least_runs=CHEAP_RUNS,
    )
