"""The noise with the smallest mean shift, when one record changes exactly one entry.

Publish θ + W with 0 ≤ W ≤ width, never below θ. Among all laws of W that are (ε, δ)-private for
every shift of at most Δ, the least E[W] is a linear program. On cells of width Δ/h with masses p_j
(spread evenly over their cells, see :mod:`dp_cmdp.noise.weight_table`)

    minimise  Σ_j (j + 1/2)·p_j/h
    subject to  Σ_j t_{d,j} ≤ δ,   t_{d,j} ≥ p_j − e^ε·p_{j∓d},   t ≥ 0,   d = 1, …, h, both signs,
                Σ_j p_j = 1,   p ≥ 0.

The answer of the floating-point solver is not trusted. It is made of integers over 2^256 and
accepted only when the exact divergence of every shift is at most δ; where it is not, a little
(ε, δ/2)-private truncated Laplace noise is mixed in (divergences are convex, so this mends small
violations). If the solver fails, coarser cells are tried, and at last truncated Laplace noise
itself is used (as happens beyond ε ≈ 15 with δ below 1e-6, where the program is too badly scaled).

It is **not** valid when a change spreads over several entries: use
:class:`~dp_cmdp.noise.truncated.LatticeTruncatedLaplace` there.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import zip_longest
from typing import Any

import numpy as np
from scipy import sparse

from dp_cmdp import _check
from dp_cmdp._check import FloatArray
from dp_cmdp._door import door
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.noise.certificate import MAX_STEPS, NoiseCertificate, checked_budget
from dp_cmdp.noise.digits import ONE, IntArray, Source, exp_lower
from dp_cmdp.noise.truncated import LatticeTruncatedLaplace
from dp_cmdp.noise.weight_table import (
    draw_cells,
    draw_inside,
    integer_weights,
    worst_hockey_stick,
)

#: Cells per Δ at most, and cells in all (about): the size of the linear program.
RESOLUTION = 32
CELLS = 72
#: Cells per Δ of truncated Laplace noise, where it is the last resort.
FINE = 64
#: Beyond this width (in Δ) the gain over truncated Laplace noise is below 0.1 %.
WIDEST = 1000.0
#: Beyond this width (in Δ) the table of its cells, at least one per Δ, is refused.
REFUSED = 20_000.0
#: Coefficients of the program above these are lowered, which only makes it more cautious.
CLIPS = (1e8, 1e6)
#: The program is solved for a δ smaller by this share; then seldom anything is to be mended.
MARGIN = 1e-6
#: Simplex iterations at most; usual are 100 to 2,500.
LAW_ITERATIONS = 20_000
MIXTURES = tuple(Fraction(1, 2**power) for power in range(24, 2, -3))


@dataclass(frozen=True, slots=True)
class OptimalNoise:
    """One-sided integer noise W in {0, …, width} of least mean; see :meth:`calibrate`.

    The end of an interval on the chosen *side* sits at mean distance :attr:`mean_shift` from the
    value, the other end at ``width − mean_shift``. Where both ends matter equally, symmetric
    truncated Laplace noise is the better choice.

    Notes
    -----
    **Privacy.** *Public*: the law is; a draw spends the budget.
    """

    certificate: NoiseCertificate

    def __post_init__(self) -> None:
        _check.instance("certificate", self.certificate, NoiseCertificate)
        if self.certificate.law != "table" or not self.certificate.check():
            raise InvalidArgumentError("certificate must prove a table law")

    @classmethod
    @door
    def calibrate(
        cls, epsilon: Any, delta: Any, *, steps: int, resolution: int = RESOLUTION
    ) -> OptimalNoise:
        """Noise for one entry that moves by at most `steps` lattice steps.

        Parameters
        ----------
        resolution : int
            Cells per Δ at most; fewer are used when the noise is many Δ wide.

        Raises
        ------
        InvalidArgumentError
            If the noise would be more than :data:`REFUSED` Δ wide: its law is kept as a table.
        """
        eps, dlt = checked_budget(epsilon, delta)
        steps = _check.integer("steps", steps, low=1, high=MAX_STEPS)
        resolution = _check.integer("resolution", resolution, low=1, high=256)
        wide = 2 * _tight(eps, dlt)
        if wide > REFUSED:
            raise InvalidArgumentError(
                f"epsilon and delta ask for optimal noise {wide:.3g} sensitivities wide; its table "
                f"ends at {REFUSED:g}. Raise epsilon, or use truncated Laplace noise "
                "(calibration 'tight'), which is as good there"
            )
        cells = CELLS * max(1, resolution / RESOLUTION)
        finest = max(1, min(resolution, round(cells / wide)))
        cell, weights = _best_cells(eps, dlt, steps=steps, finest=finest)
        shifts = -(-steps // cell)
        ratio = exp_lower(eps)
        proof = NoiseCertificate(
            law="table",
            epsilon=eps,
            delta=dlt,
            steps=steps,
            entries=Fraction(1),
            support=cell * len(weights) - 1,
            cell=cell,
            ratio=ratio,
            outer_mass=worst_hockey_stick(weights, shifts, ratio),
            thresholds=weights,
        )
        return cls(proof)

    @property
    def width(self) -> int:
        """The largest possible W, in steps."""
        return self.certificate.cell * len(self.certificate.thresholds) - 1

    @property
    def mean_shift(self) -> float:
        """E[W] in steps."""
        cell = self.certificate.cell
        return cell * _mean(self.certificate.thresholds) + (cell - 1) / 2

    @door
    def pmf(self, point: int) -> Fraction:
        """P(W = point), exactly."""
        if not 0 <= point <= self.width:
            return Fraction(0)
        cell = self.certificate.cell
        return Fraction(self.certificate.thresholds[point // cell], ONE * cell)

    @door
    def sample_shift(self, size: int, *, source: Source = os.urandom) -> IntArray:
        """`size` independent draws of W (curator only)."""
        size = _check.size("size", size)
        cells = draw_cells(self.certificate.thresholds, size, source)
        return cells * self.certificate.cell + draw_inside(self.certificate.cell, size, source)


def _tight(epsilon: Fraction, delta: Fraction) -> float:
    eps = float(epsilon)
    return math.log1p(math.expm1(eps) / (2 * float(delta))) / eps


def _mean(weights: tuple[int, ...]) -> float:
    return float(Fraction(sum(j * weight for j, weight in enumerate(weights)), ONE))


def _best_cells(
    epsilon: Fraction, delta: Fraction, *, steps: int, finest: int
) -> tuple[int, tuple[int, ...]]:
    """Steps per cell and integer weights of the cells."""
    if 2 * _tight(epsilon, delta) <= WIDEST:
        for count in sorted({finest, max(1, finest // 2), max(1, finest // 4)}, reverse=True):
            cell = -(-steps // count)
            weights = _optimal_weights(epsilon, delta, -(-steps // cell))
            if weights is not None:
                return cell, weights
    cell = -(-steps // max(1, min(FINE, round(4 * FINE / _tight(epsilon, delta)))))
    return cell, integer_weights(_laplace_masses(epsilon, delta, -(-steps // cell)))


@lru_cache(maxsize=64)
def _optimal_weights(epsilon: Fraction, delta: Fraction, shifts: int) -> tuple[int, ...] | None:
    """Weights better than truncated Laplace and exactly private up to `shifts` cells, if found."""
    simple = _mean(integer_weights(_laplace_masses(epsilon, delta, shifts)))
    for clip in CLIPS:
        for weights in _mixtures(epsilon, delta, shifts=shifts, clip=clip):
            if worst_hockey_stick(weights, shifts, exp_lower(epsilon)) <= delta:
                if _mean(weights) < simple:
                    return weights
                break
    return None


def _laplace_masses(epsilon: Fraction, delta: Fraction, shifts: int) -> list[Fraction]:
    law = LatticeTruncatedLaplace.calibrate(epsilon, delta, steps=shifts)
    half = [law.pmf(point) for point in range(law.support + 1)]
    return half[:0:-1] + half


def _mixtures(
    epsilon: Fraction, delta: Fraction, *, shifts: int, clip: float
) -> Iterator[tuple[int, ...]]:
    """The program's answer with more and more truncated Laplace noise mixed in."""
    masses = _solve(float(epsilon), float(delta) * (1 - MARGIN), shifts=shifts, clip=clip)
    if masses is None:
        return
    answer = [Fraction(float(mass)) for mass in np.trim_zeros(masses, "b")]
    yield integer_weights(answer)
    whole = sum(answer)
    mender = _laplace_masses(epsilon, delta / 2, shifts)
    for part in MIXTURES:
        pairs = zip_longest(answer, mender, fillvalue=Fraction(0))
        yield integer_weights([(1 - part) * a / whole + part * b for a, b in pairs])


def _solve(epsilon: float, delta: float, *, shifts: int, clip: float) -> FloatArray | None:
    """The linear program, in units in which truncated Laplace noise is about 1 everywhere."""
    from scipy.optimize import linprog

    half_width = math.log1p(math.expm1(epsilon) / (2 * delta)) / epsilon
    cells = math.ceil(2 * half_width * shifts) + 1
    place = np.arange(cells)
    edge = np.minimum(place, cells - 1 - place)
    scale = np.minimum(1.0, delta * np.exp(np.minimum(epsilon * edge / shifts, 700.0)))
    scale /= scale.sum()
    blocks = [
        _excess(scale, shift * sign, factor=math.exp(epsilon), clip=clip)
        for shift in range(1, shifts + 1)
        for sign in (1, -1)
    ]
    count = len(blocks)
    budget = sparse.block_diag([scale[None, :] / delta] * count)
    rows = sparse.hstack([sparse.vstack(blocks), -sparse.eye_array(count * cells)])
    limits = sparse.hstack([sparse.coo_array((count, cells)), budget])
    A_ub: Any = sparse.csr_array(sparse.vstack([rows, limits]))
    none = np.zeros(count * cells)
    answer = linprog(
        np.concatenate([scale * (place + 0.5) / shifts, none]),
        A_ub=A_ub,
        b_ub=np.concatenate([none, np.ones(count)]),
        A_eq=np.concatenate([scale, none])[None, :],
        b_eq=[1.0],
        method="highs-ds",
        options={"primal_feasibility_tolerance": 1e-10, "maxiter": LAW_ITERATIONS},
    )
    if answer.status != 0 or answer.x is None:
        return None
    return np.maximum(answer.x[:cells] * scale, 0.0)


def _excess(scale: FloatArray, shift: int, *, factor: float, clip: float) -> sparse.csr_array:
    """Rows p_j − e^ε·p_{j−shift}, each divided by the scale of its p_j."""
    size = scale.size
    band = np.arange(max(shift, 0), size + min(shift, 0))
    ratio = np.minimum(factor * scale[band - shift] / scale[band], clip)
    entries = sparse.coo_array((ratio, (band, band - shift)), shape=(size, size))
    return sparse.csr_array(sparse.eye_array(size) - entries)
