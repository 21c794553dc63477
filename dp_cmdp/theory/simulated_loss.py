"""The mean loss, from simulated releases: an upper limit that is right but for a stated chance.

The curator has the data and may try releases out as often as they like; nothing is published and
no budget is spent. A trial draws the noise by inversion from uniform numbers, solves the private
program and measures its true loss cᵀx* − cᵀx̃, which lies in [0, R] with R a certain bound.
:func:`~dp_cmdp.theory.mean_limit.mean_upper_limit` turns the losses into a limit of their mean that
is too small with probability at most `failure`, over the trials, whatever their number.

The simulated noise is that of a release with ``rng=``, in floats; exact releases differ from it by
the rounding to their lattice, less than 2^-18 of an entry's radius.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dp_cmdp import _check
from dp_cmdp._check import FloatArray
from dp_cmdp.data.curator import CuratorOnly
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.program.linear_program import solve
from dp_cmdp.theory.mean_limit import mean_upper_limit
from dp_cmdp.theory.release_noise import ReleaseNoise

#: Probability with which a sampled limit may be too small.
FAILURE = 1e-6
#: Room for the solver's tolerances, relative to the optimum and the values.
OPTIMUM_ROOM = 1e-7


@dataclass(frozen=True, slots=True)
class SampledMean:
    """What simulated releases say about the mean loss: *curator only*.

    Attributes
    ----------
    limit : CuratorOnly
        The mean loss exceeds it with probability at most `failure`.
    estimate : CuratorOnly
        The mean of the simulated losses.
    draws : int
    failure : float
    """

    limit: CuratorOnly
    estimate: CuratorOnly
    draws: int
    failure: float


def sampled_mean(
    noise: ReleaseNoise,
    values: FloatArray,
    *,
    optimum: float,
    largest: float,
    draws: int,
    rng: np.random.Generator,
    failure: float = FAILURE,
) -> SampledMean:
    """Simulate releases of a database and bound their mean loss.

    Parameters
    ----------
    noise : ReleaseNoise
        The release.
    values : FloatArray
        The true database.
    optimum, largest : float
        cᵀx*, and a bound R of the loss that is certain and finite.
    draws : int
    rng : numpy.random.Generator
        The same state gives common random numbers over budgets.
    failure : float

    Notes
    -----
    One linear program per draw. **Paper.** Ours. **Privacy.** *Curator only*; nothing is spent.

    Examples
    --------
    >>> import numpy as np
    >>> from dp_cmdp import Affine, Envelope, ParametricLP, PrivacyBudget
    >>> from dp_cmdp.theory.release_noise import release_noise
    >>> from dp_cmdp.theory.simulated_loss import sampled_mean
    >>> price = Affine((1, 2), at=([0, 0], [0, 1]), entry=[0, 1])
    >>> program = ParametricLP(Envelope(1, 2, radius=0.02, shape=2), c=[3, 2], A=price, b=[8])
    >>> noise = release_noise(program, PrivacyBudget(1, "1/1000"))
    >>> true, rng = np.array([1.2, 1.1]), np.random.default_rng(0)
    >>> found = sampled_mean(noise, true, optimum=20.0, largest=8.0, draws=50, rng=rng)
    >>> bool(found.estimate <= found.limit)
    True
    """
    count = _check.integer("draws", draws, low=1)
    source = _check.generator("rng", rng)
    check_bounded(largest)
    losses = optimum - simulated_values(
        noise, np.broadcast_to(values, (count, values.size)), source.random((count, noise.size))
    )
    return loss_limit(losses, optimum=optimum, largest=largest, failure=failure)


def check_bounded(largest: float) -> None:
    """Raise unless a certain bound of the loss is finite."""
    if not np.isfinite(largest):
        raise InvalidArgumentError(
            "draws need a bounded loss: bound the variables of the program (upper, A_ub)"
        )


def loss_limit(
    losses: FloatArray, *, optimum: float, largest: float, failure: float = FAILURE
) -> SampledMean:
    """The limit of the mean of a loss in [0, largest], from simulated ones: *curator only*."""
    top = largest + OPTIMUM_ROOM * (abs(optimum) + largest)
    limit = mean_upper_limit(np.clip(losses, 0.0, top), top=top, failure=failure)
    return SampledMean(CuratorOnly(limit), CuratorOnly(losses.mean()), losses.size, failure)


def simulated_values(
    noise: ReleaseNoise, databases: FloatArray, uniforms: FloatArray
) -> FloatArray:
    """c(θ)ᵀx̃ of one simulated release per row of `databases` and `uniforms`.

    Notes
    -----
    **Privacy.** *Curator only* for true databases; public for invented ones.
    """
    program, found = noise.program, np.empty(len(databases))
    for number, (theta, row) in enumerate(zip(databases, uniforms, strict=True)):
        lower, upper, estimate = noise.box(noise.entries(theta), noise.noise(row))
        lp = noise.target.robust(lower, upper, estimate=estimate)
        x = solve(lp, certify=False).x[: program.num_variables]
        found[number] = program.c.at(theta) @ x
    return found
