"""Mechanisms broken on purpose: an audit that passes them is worth nothing."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from dp_cmdp._check import FloatArray
from dp_cmdp.accounting.budget import PrivacyBudget
from dp_cmdp.audit.layers.coupling import Coupling
from dp_cmdp.audit.layers.noise_law import law_facts
from dp_cmdp.audit.outcomes import Outcomes, repeated
from dp_cmdp.audit.subject import Subject
from dp_cmdp.audit.subjects.looks import (
    plan_from_the_data,
    sensitivity_not_rounded_up,
    weights_from_the_data,
)
from dp_cmdp.audit.subjects.programs import blocks_coupling, wide_sampler
from dp_cmdp.audit.subjects.releases import CHEAP_RUNS, DELTA, EPSILON
from dp_cmdp.data.database import Database
from dp_cmdp.data.release import Release
from dp_cmdp.noise.laws import Laplace, TruncatedLaplace
from dp_cmdp.program.parametric import ParametricLP
from dp_cmdp.release.blocks import release_blocks

Law = Laplace | TruncatedLaplace
THIRD = Fraction(1, 3)


def injected_bugs() -> dict[str, Callable[[], Subject]]:
    """Makers of broken subjects, by the name of the bug."""
    honest = TruncatedLaplace.calibrate(1.0, EPSILON, delta=DELTA)
    short = TruncatedLaplace(honest.scale, 0.8 * honest.support)
    narrow = TruncatedLaplace(0.8 * honest.scale, honest.support)
    float_law = Laplace.calibrate(1.0, THIRD)
    return {
        "mask from realised zeros": realised_mask,
        "scale x 0.8": lambda: additive("scale x 0.8", drawn=narrow, claimed=honest),
        "support x 0.8": lambda: additive("support x 0.8", drawn=short, claimed=honest),
        "float noise, gaps of 2^-53": lambda: additive(
            "float noise", drawn=float_law, claimed=float_law, epsilon=THIRD, representation=True
        ),
        "exception that depends on data": data_dependent_exception,
        "totals: sensitivity not rounded up": sensitivity_not_rounded_up,
        "totals: weights from the data": weights_from_the_data,
        "totals: plan that reads the data": plan_from_the_data,
    }


def additive(
    name: str,
    *,
    drawn: Law,
    claimed: Law,
    epsilon: Fraction = EPSILON,
    representation: bool = False,
) -> Subject:
    """One value plus noise of the law `drawn`, claimed to be of the law `claimed`."""

    def sample(runs: int, rng: np.random.Generator) -> tuple[Outcomes, Outcomes]:
        first, second = (side + drawn.sample(rng, runs)[:, None] for side in (0.0, 1.0))
        return Outcomes.of(first), Outcomes.of(second)

    return Subject(
        name=name,
        epsilon=epsilon,
        delta=DELTA,
        sample=sample,
        couplings=(Coupling("output", lambda s, rng: s + drawn.sample(rng, 1), np.ones(1)),),
        noise=lambda size, rng: drawn.sample(rng, size),
        facts=law_facts(claimed),
        representation=representation,
        least_runs=CHEAP_RUNS,
    )


def realised_mask() -> Subject:
    """Algorithm 1 that leaves realised zeros unprotected, as the published numbers suggest."""
    pair = (0.0, 0.5)

    def release(
        database: Database, program: ParametricLP, rng: np.random.Generator | None
    ) -> Release:
        return release_blocks(
            database,
            PrivacyBudget(EPSILON, DELTA),
            program=program,
            alphas={"A": "1/3", "b": "1/3", "c": "1/3"},
            rng=rng,
            realised_mask_NOT_PRIVATE=True,
        )

    return Subject(
        name="mask from realised zeros",
        epsilon=EPSILON,
        delta=DELTA,
        sample=wide_sampler(release, shared=True, pair=pair),
        couplings=(blocks_coupling(release, pair=pair),),
    )


def data_dependent_exception() -> Subject:
    """Good noise, and a complaint about a large value."""
    law = TruncatedLaplace.calibrate(1.0, EPSILON, delta=DELTA)

    def mechanism(values: FloatArray, rng: np.random.Generator) -> FloatArray:
        if values.max() > 0.9:
            raise ValueError("value out of range")
        return values + law.sample(rng, values.size)

    return Subject(
        name="exception that depends on data",
        epsilon=EPSILON,
        delta=DELTA,
        sample=repeated(mechanism, (np.zeros(1), np.ones(1))),
        couplings=(
            Coupling("output", lambda s, rng: mechanism(np.full(1, float(s)), rng), np.ones(1)),
        ),
        representation=False,
        most_runs=500,
    )
