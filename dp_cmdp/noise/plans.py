"""Noisy values, as intervals that certainly contain the true ones.

A value v plus bounded noise W, |W| ≤ s, gives the interval [v + W − s, v + W + s], which contains v
whatever the noise was. A :class:`NoisePlan` is made from public numbers alone; everything that can
be refused is refused then. Only :meth:`NoisePlan.draw` reads private values.

Exact plans round to a lattice and draw integers from the operating system
(:mod:`dp_cmdp.noise.truncated`); float plans need a numpy Generator and are for simulation.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dp_cmdp._check import FloatArray
from dp_cmdp.data.envelope import Envelope
from dp_cmdp.data.release import Noise
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.noise.laplace import LatticeLaplace
from dp_cmdp.noise.lattice import FLOAT_LIMIT, Lattice
from dp_cmdp.noise.laws import Laplace, TruncatedLaplace
from dp_cmdp.noise.movement import Movement
from dp_cmdp.noise.optimal import OptimalNoise
from dp_cmdp.noise.truncated import LatticeTruncatedLaplace


@dataclass(frozen=True, slots=True)
class Intervals:
    """Estimates with certain lower and upper bounds, and facts about the noise."""

    estimate: FloatArray
    lower: FloatArray
    upper: FloatArray
    noise: Noise

    def clipped(self, lower: FloatArray, upper: FloatArray) -> Intervals:
        """The intervals cut to public bounds."""
        return replace(
            self,
            lower=np.clip(self.lower, lower, upper),
            upper=np.clip(self.upper, lower, upper),
        )

    def widened(self, error: FloatArray) -> Intervals:
        """The intervals with room for values that are known only up to `error`."""
        low, high = self.lower - error, self.upper + error
        inexact = error > 0.0
        return replace(
            self,
            lower=np.where(inexact, np.nextafter(low, -np.inf), low),
            upper=np.where(inexact, np.nextafter(high, np.inf), high),
        )

    def with_unprotected(self, mask: NDArray[np.bool_], values: FloatArray) -> Intervals:
        """The masked entries replaced by their true values: NOT PRIVATE."""
        estimate, lower, upper = (
            np.where(mask, values, part) for part in (self.estimate, self.lower, self.upper)
        )
        return replace(self, estimate=estimate, lower=lower, upper=upper)


class NoisePlan(Protocol):
    """Noise that is fixed and checked before any value is read."""

    def draw(self, values: FloatArray) -> Intervals:
        """Perturb private values: *spends the budget*."""
        ...


@dataclass(frozen=True, slots=True)
class Query:
    """Public facts about the numbers to be perturbed.

    Attributes
    ----------
    unit : FloatArray
        Per value, its radius: in these units no value moves by more than 1 and all of them
        together by at most `record_size`, which is 1 where the unit is the whole sensitivity.
    largest : FloatArray
        Public bound on the absolute value of each.
    movement : Movement
        How far each record moves each value.
    record_size : int
    """

    unit: FloatArray
    largest: FloatArray
    movement: Movement
    record_size: int = 1

    @classmethod
    def of_entries(cls, envelope: Envelope, *, radius: FloatArray | None = None) -> Query:
        """All entries of a database, each in units of its radius (the envelope's by default)."""
        unit = envelope.radius if radius is None else radius
        return cls(
            unit,
            np.maximum(np.abs(envelope.lower), np.abs(envelope.upper)),
            Movement.of_entries(unit, envelope.records),
            record_size=envelope.record_size,
        )

    def lattice(self) -> Lattice:
        """The lattice of the units, with the steps that one record is counted to move."""
        lattice = Lattice.of(self.unit, largest=self.largest)
        each, whole = self.movement.integers(lattice)
        return replace(lattice, steps=max(each, -(-whole // self.record_size)))


@dataclass(frozen=True, slots=True)
class Unprotected:
    """No noise at all: NOT PRIVATE, for blocks whose leak the caller has agreed to."""

    def draw(self, values: FloatArray) -> Intervals:
        return Intervals(values, values, values, Noise("", "none", "none", 0.0, 0.0))


@dataclass(frozen=True, slots=True)
class FloatTruncated:
    """Truncated Laplace noise in floats: a simulation."""

    query: Query
    law: TruncatedLaplace
    calibration: str
    rng: np.random.Generator

    def draw(self, values: FloatArray) -> Intervals:
        estimate = values + self.query.unit * self.law.sample(self.rng, values.size)
        half_width = self.law.support * self.query.unit
        pad = 2.0**-50 * (
            np.abs(estimate) + half_width
        )  # more than three operations can round away
        noise = Noise(
            "", "truncated Laplace (float)", self.calibration, self.law.scale, self.law.support
        )
        return Intervals(estimate, estimate - half_width - pad, estimate + half_width + pad, noise)


@dataclass(frozen=True, slots=True)
class FloatLaplace:
    """Laplace noise in floats: a simulation."""

    query: Query
    law: Laplace
    rng: np.random.Generator

    def draw(self, values: FloatArray) -> Intervals:
        estimate = values + self.query.unit * self.law.sample(self.rng, values.size)
        return unbounded(estimate, Noise("", "Laplace (float)", "pure", self.law.scale, None))


@dataclass(frozen=True, slots=True)
class LatticeBounded:
    """Bounded integer noise on a lattice; `high` marks the values whose upper end is kept close."""

    lattice: Lattice
    noise: LatticeTruncatedLaplace | OptimalNoise
    calibration: str
    high: NDArray[np.bool_]
    rng: np.random.Generator | None

    def draw(self, values: FloatArray) -> Intervals:
        source = os.urandom if self.rng is None else self.rng.bytes
        law, width = self.noise, self.noise.width
        shift = law.sample_shift(values.size, source=source)
        top = self.lattice.index(values) + np.where(self.high, shift, width - shift)
        middle = np.where(self.high, law.mean_shift, width - law.mean_shift)
        per_unit = float(law.certificate.steps)
        facts = Noise(
            block="",
            law=law.certificate.law,
            calibration=self.calibration,
            scale=float(law.certificate.entries / law.certificate.epsilon),
            support=width / 2 / per_unit,
            certificate=json.loads(law.certificate.to_json()),
        )
        return Intervals(
            estimate=(top - middle + 0.5) * self.lattice.step,
            lower=self.lattice.floor(top - width),
            upper=self.lattice.ceil(top + 1),
            noise=facts,
        )


@dataclass(frozen=True, slots=True)
class LatticeUnbounded:
    """Two-sided geometric noise on a lattice, never truncated."""

    lattice: Lattice
    noise: LatticeLaplace
    rng: np.random.Generator | None = None

    def draw(self, values: FloatArray) -> Intervals:
        source = os.urandom if self.rng is None else self.rng.bytes
        index = self.noise.perturb(self.lattice.index(values), source=source)
        proof = self.noise.certificate
        facts = Noise(
            "", proof.law, "pure", 1 / float(proof.epsilon), None, json.loads(proof.to_json())
        )
        return unbounded((index + 0.5) * self.lattice.step, facts)


def unbounded(estimate: FloatArray, noise: Noise) -> Intervals:
    """Estimates that nothing bounds: of noise that is never truncated, or of what was not read."""
    everywhere = np.full(estimate.size, np.inf)
    return Intervals(estimate, -everywhere, everywhere, noise)


def lattice_step(plan: NoisePlan, size: int) -> FloatArray:
    """Lattice step of each of `size` entries; 0 where the noise has none."""
    exact = isinstance(plan, LatticeBounded | LatticeUnbounded)
    return plan.lattice.step if exact else np.zeros(size)


def truncated_plan(
    query: Query,
    *,
    epsilon: Fraction,
    delta: Fraction,
    calibration: str,
    num_entries: int,
    high: NDArray[np.bool_] | None = None,
    rng: np.random.Generator | None,
) -> NoisePlan:
    """Bounded noise that makes `query` (ε, δ)-private.

    Parameters
    ----------
    query : Query
    epsilon, delta : Fraction
    calibration : {"tight", "paper", "optimal"}
        ``optimal`` has the least mean shift of one end; only when one value moves at a time.
    num_entries : int
        Number of values that ``paper`` counts.
    high : bool array, optional
        For ``optimal``: the values whose upper end is kept close (all by default).
    rng : Generator or None
        None: exact noise from the operating system.

    Notes
    -----
    **Privacy.** *Public*: nothing private is read.
    """
    record_size = query.record_size
    if rng is not None and calibration != "optimal":
        law = TruncatedLaplace.calibrate(
            float(record_size),
            epsilon,
            delta=delta,
            calibration=calibration,
            num_entries=num_entries,
            record_size=record_size,
        )
        return FloatTruncated(query, law, calibration, rng)
    lattice = query.lattice()
    side = np.ones(query.unit.size, dtype=bool) if high is None else high
    if calibration == "optimal":
        noise = _optimal(epsilon, delta, lattice.steps)
    else:
        # the paper's support for k entries is the tight one for δ/(2k)
        share = delta / (2 * num_entries) if calibration == "paper" else delta
        noise = _truncated(epsilon, share, lattice.steps, record_size)
    query.movement.check_covered(lattice, noise.certificate)
    farthest = float((query.largest / lattice.step).max()) + 2.0 * noise.width
    if farthest >= FLOAT_LIMIT:
        raise InvalidArgumentError(
            f"epsilon and delta ask for noise of {noise.width / lattice.steps:.3g} radii, too wide "
            "for exact arithmetic; such a release would say nothing: use the robust answer"
        )
    return LatticeBounded(lattice, noise, calibration, side, rng)


def laplace_plan(query: Query, *, epsilon: Fraction, rng: np.random.Generator | None) -> NoisePlan:
    """Untruncated noise that makes `query` (ε, 0)-private.

    Notes
    -----
    **Paper.** ``lem:lap_mech``. **Privacy.** *Public*: nothing private is read.
    """
    if rng is not None:
        return FloatLaplace(query, Laplace.calibrate(1.0, epsilon), rng)
    lattice = query.lattice()
    noise = LatticeLaplace.calibrate(epsilon, steps=lattice.steps)
    query.movement.check_covered(lattice, noise.certificate)
    return LatticeUnbounded(lattice, noise)


@lru_cache(maxsize=64)
def _truncated(
    epsilon: Fraction, delta: Fraction, steps: int, record_size: int
) -> LatticeTruncatedLaplace:
    return LatticeTruncatedLaplace.calibrate(epsilon, delta, steps=steps, entries=record_size)


@lru_cache(maxsize=64)
def _optimal(epsilon: Fraction, delta: Fraction, steps: int) -> OptimalNoise:
    return OptimalNoise.calibrate(epsilon, delta, steps=steps)
