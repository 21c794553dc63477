"""One-sided noise Z in {0, …, high} of least mean, for records that move one query at most.

Among all laws that are (ε, δ)-private for every shift of at most Δ, the least E[Z] is a linear
program. On cells of width Δ/h with masses p_j, each spread evenly over the points of its cell,

    minimise  Σ_j (j + 1/2)·p_j/h
    subject to  Σ_j t_{d,j} ≤ δ,   t_{d,j} ≥ p_j − e^ε·p_{j∓d},   t ≥ 0,   d = 1, …, h, both signs,
                Σ_j p_j = 1,   p ≥ 0.

The answer of the floating-point solver is not trusted: it is made of integers over 2^256 and
accepted only when the exact divergence of every shift, in both directions, is at most δ. Where it
is not, a little (ε, δ/2)-private truncated Laplace noise is mixed in (divergences are convex); if
the solver fails, coarser cells are tried, and at last truncated Laplace noise itself is used (as
happens beyond ε ≈ 15 with δ below 1e-6, where the program is too badly scaled).

A law is a table of integer weights over 2^256: Z = cell·J + U with P(J = j) = w_j/2^256 and U
uniform on {0, …, cell − 1}.

**Shifts inside a cell cost nothing.** Shift the law by d·cell + f, 0 ≤ f < cell. A share
1 − f/cell of each cell then faces the cell d places back and a share f/cell the one d + 1 back, so
with H_d = Σ_j max(w_j − e^ε w_{j−d}, 0)/2^256 the hockey-stick divergence of d whole cells,

    H_{d·cell + f} = (1 − f/cell)·H_d + (f/cell)·H_{d+1}.

So (ε, δ)-privacy for whole cells d ≤ h is (ε, δ)-privacy for every shift of at most h·cell points.

The tight side is the sign of a weight: y − low is close above Σ w·n, so noise of small mean makes
the upper end of an entry close where its weight is positive, the lower where it is negative.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, count, zip_longest
from operator import mul
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dp_cmdp._src.accounting.budget import PrivacyBudget
from dp_cmdp._src.base.errors import InvalidArgumentError
from dp_cmdp._src.noise.laws import (
    CERTAIN,
    LARGEST,
    MAX_EPSILON,
    MIN_DELTA,
    ONE,
    PRECISION,
    FloatArray,
    Laplace,
    Noise,
    Sensitivity,
    Source,
    check_budget,
    exp_lower,
    half_width,
    narrowest_laplace,
    random_bytes,
)

#: Bits of a draw that are compared first, one machine word, and those that settle ties.
HEAD = 64
REST = PRECISION - HEAD
#: Cells per Δ at most, and cells in all (about): the size of the linear program.
RESOLUTION = 32
CELLS = 72
#: Cells per Δ of truncated Laplace noise, where it is the last resort.
FINE = 64
#: Beyond this width (in Δ) the gain over truncated Laplace noise is below 0.1 %.
WIDEST = 1000.0
#: Beyond this width (in Δ) the table of its cells, at least one per Δ, is refused.
REFUSED = 20_000.0
#: Coefficients of the program above these are lowered, which only makes it more careful.
CLIPS = (1e8, 1e6)
#: The program is solved for a δ smaller by this share; then seldom anything is to be mended.
MARGIN = 1e-6
#: Simplex iterations at most; usual are 100 to 2,500.
ITERATIONS = 20_000
MIXTURES = tuple(map(Fraction, np.ldexp(1.0, np.arange(-24, -2, 3)).tolist()))
#: Cells of a table, and products of cells and shifts, beyond what any law that is built needs: a
#: file that claims more is not worth hours of checking.
MAX_CELLS = 1 << 17
MAX_WORK = 1 << 19


@dataclass(frozen=True)
class OneSided(Noise):
    """Z = cell·K + V, K by a table of weights over 2^256, V uniform on {0, …, cell − 1}.

    Parameters
    ----------
    cell : int
        Lattice points per cell.
    weights : tuple of int
        Of the cells; they sum to 2^256.

    Notes
    -----
    **Privacy.** *Public*.
    """

    cell: int
    weights: tuple[int, ...]
    low: int = field(init=False, repr=False, compare=False)
    high: int = field(init=False, repr=False, compare=False)
    mean: float = field(init=False, repr=False, compare=False)
    variance: float = field(init=False, repr=False, compare=False)
    #: Probabilities of the cells, in floats.
    chances: FloatArray = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not 0 < len(self.weights) <= MAX_CELLS or not 0 < self.cell <= LARGEST:
            raise InvalidArgumentError(f"weights must be at most {MAX_CELLS}, of positive cells")
        if self.cell * len(self.weights) > LARGEST:
            raise InvalidArgumentError("the noise must stay below 2^61 steps")
        if min(self.weights) < 0 or sum(self.weights) != ONE:
            raise InvalidArgumentError("weights must be non-negative and sum to 2^256")
        chances = np.array(self.weights, dtype=object) / ONE
        chances = chances.astype(np.float64)
        middle = sum(map(mul, self.weights, count())) / ONE
        place = np.arange(chances.size) - middle
        within = (float(self.cell) ** 2 - 1) / 12
        variance = float(self.cell) ** 2 * float(place**2 @ chances) + within
        mean = self.cell * middle + (self.cell - 1) / 2
        vars(self).update(low=0, high=self.cell * chances.size - 1, chances=chances)
        vars(self).update(mean=mean, variance=variance)

    @classmethod
    def calibrate(cls, sensitivity: Sensitivity, budget: PrivacyBudget) -> OneSided:
        # of least mean, and private at every shift in both directions
        check_budget(budget, lowest_delta=MIN_DELTA)
        if sensitivity.count > 1:
            raise InvalidArgumentError(
                f"one-sided noise is for records that move one query; here one moves "
                f"{sensitivity.count}: use Laplace"
            )
        wide = 2 * half_width(1, 1, budget.epsilon, budget.delta)
        if wide > REFUSED:
            raise InvalidArgumentError(
                f"epsilon and delta ask for one-sided noise {wide:.3g} sensitivities wide; its "
                f"table ends at {REFUSED:g}. Raise epsilon, or use Laplace, as good there"
            )
        return _least_mean(cls, max(sensitivity.largest, 1), budget.epsilon, budget.delta)

    def delta(self, sensitivity: Sensitivity, epsilon: Fraction) -> Fraction:
        if sensitivity.count > 1 or not 0 < epsilon <= MAX_EPSILON:
            return CERTAIN
        shifts = -(-sensitivity.largest // self.cell)
        if shifts * len(self.weights) > MAX_WORK:
            return CERTAIN
        if not shifts:
            return Fraction(0)
        return min(CERTAIN, hockey_stick(self.weights, range(1, shifts + 1), exp_lower(epsilon)))

    def pmf(self, point: int) -> Fraction:
        """P(Z = point), exactly.

        Parameters
        ----------
        point : int
            Any integer.

        Returns
        -------
        Fraction
            Its probability.
        """
        if not 0 <= point <= self.high:
            return Fraction(0)
        return Fraction(self.weights[point // self.cell], ONE * self.cell)

    def log_weight(self, z: FloatArray) -> FloatArray:
        place = np.clip(np.asarray(z) // self.cell, 0, len(self.weights) - 1).astype(np.int64)
        with np.errstate(divide="ignore"):
            return np.log(self.chances)[place]

    def sample(self, size: int, source: Source) -> list[int]:
        cells = draw_cells(self.weights, size, source)
        return (cells * self.cell + draw_inside(self.cell, size, source)).tolist()

    def sample_floats(self, rng: np.random.Generator, size: int) -> FloatArray:
        ends = np.cumsum(self.chances)
        cells = np.searchsorted(ends / ends[-1], rng.random(size), side="right")
        cells = np.minimum(cells, len(self.weights) - 1)
        return cells * float(self.cell) + rng.integers(0, self.cell, size)

    def document(self) -> dict[str, Any]:
        return {
            "law": "one-sided",
            "cell": f"{self.cell:x}",
            "weights": [f"{each:x}" for each in self.weights],
        }


@lru_cache(maxsize=64)
def _least_mean(kind: type[OneSided], largest: int, epsilon: Fraction, delta: Fraction) -> OneSided:
    """The law on the finest cells for which one is found."""
    wide = 2 * half_width(1, 1, epsilon, delta)
    finest = max(1, min(RESOLUTION, round(CELLS / wide)))
    if wide <= WIDEST:
        for count in sorted({finest, max(1, finest // 2), max(1, finest // 4)}, reverse=True):
            cell = -(-largest // count)
            weights = _optimal_weights(epsilon, delta, -(-largest // cell))
            if weights is not None:
                return kind(cell, weights)
    cell = -(-largest // max(1, min(FINE, round(8 * FINE / wide))))
    return kind(cell, integer_weights(_laplace_masses(epsilon, delta, -(-largest // cell))))


@lru_cache(maxsize=64)
def _optimal_weights(epsilon: Fraction, delta: Fraction, shifts: int) -> tuple[int, ...] | None:
    """Weights better than truncated Laplace and exactly private up to `shifts` cells, if found."""
    simple = narrowest_laplace(shifts, shifts, epsilon, delta).support  # its mean, from 0 on
    ratio = exp_lower(epsilon)
    for clip in CLIPS:
        masses = _solve(float(epsilon), float(delta) * (1 - MARGIN), shifts=shifts, clip=clip)
        if masses is None:
            continue
        answer = list(map(Fraction, np.trim_zeros(masses, "b").tolist()))
        for part in (None, *MIXTURES):  # with more and more truncated Laplace noise, until private
            weights = integer_weights(answer)
            if part is not None:
                weights = _mixture(answer, _laplace_masses(epsilon, delta / 2, shifts), part)
            if hockey_stick(weights, range(1, shifts + 1), ratio) <= delta:
                if sum(map(mul, weights, count())) < simple * ONE:
                    return weights
                break
    return None


def _mixture(answer: list[Fraction], mender: list[Fraction], part: Fraction) -> tuple[int, ...]:
    whole = sum(answer)
    pairs = zip_longest(answer, mender, fillvalue=Fraction(0))
    return integer_weights([(1 - part) * a / whole + part * b for a, b in pairs])


def _laplace_masses(epsilon: Fraction, delta: Fraction, shifts: int) -> list[Fraction]:
    law: Laplace = narrowest_laplace(shifts, shifts, epsilon, delta)
    half = list(map(law.pmf, range(law.support + 1)))
    return half[:0:-1] + half


def _solve(epsilon: float, delta: float, *, shifts: int, clip: float) -> FloatArray | None:
    """The linear program, in units in which truncated Laplace noise is about 1 everywhere."""
    from scipy.optimize import linprog

    half_width = math.log1p(math.expm1(epsilon) / (2 * delta)) / epsilon
    cells = math.ceil(2 * half_width * shifts) + 1
    place = np.arange(cells)
    edge = np.minimum(place, cells - 1 - place)
    scale = np.minimum(1.0, delta * np.exp(np.minimum(epsilon * edge / shifts, 700.0)))
    scale /= scale.sum()
    blocks: list[Any] = []
    for shift in range(1, shifts + 1):
        for sign in (1, -1):
            blocks.append(_excess(scale, shift * sign, factor=math.exp(epsilon), clip=clip))
    number = len(blocks)
    budget = sparse.block_diag([scale[None, :] / delta] * number)
    rows = sparse.hstack([sparse.vstack(blocks), -sparse.eye_array(number * cells)])
    limits = sparse.hstack([sparse.coo_array((number, cells)), budget])
    A_ub: Any = sparse.csr_array(sparse.vstack([rows, limits]))
    none = np.zeros(number * cells)
    answer = linprog(
        np.concatenate([scale * (place + 0.5) / shifts, none]),
        A_ub=A_ub,
        b_ub=np.concatenate([none, np.ones(number)]),
        A_eq=np.concatenate([scale, none])[None, :],
        b_eq=[1.0],
        method="highs-ds",
        options={"primal_feasibility_tolerance": 1e-10, "maxiter": ITERATIONS},
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


def hockey_stick(weights: Sequence[int], shifts: Iterable[int], ratio: Fraction) -> Fraction:
    """The greatest Σ max(w_j − ratio·w_{j∓shift}, 0)/2^256 over shifts and directions, exactly."""
    top, bottom, size, worst = ratio.numerator, ratio.denominator, len(weights), 0
    for shift in shifts:
        for sign in (-shift, shift):
            total = 0
            for j, weight in enumerate(weights):
                other = weights[j + sign] if 0 <= j + sign < size else 0
                total += max(weight * bottom - top * other, 0)
            worst = max(worst, total)
    return Fraction(worst, bottom * ONE)


def integer_weights(masses: Sequence[Fraction]) -> tuple[int, ...]:
    """Non-negative masses as integers that sum to 2^256; the remainder goes to the heaviest."""
    total = sum(masses)
    weights: list[int] = []
    for mass in masses:
        weights.append(int(mass * ONE / total))
    heaviest = max(range(len(weights)), key=weights.__getitem__)
    weights[heaviest] += ONE - sum(weights)
    return tuple(weights)


def draw_cells(weights: Sequence[int], size: int, source: Source) -> NDArray[np.int64]:
    """`size` exact draws of J by inversion: 64 random bits, 192 more in a tie."""
    ends = list(accumulate(weights[:-1]))
    top = np.array(ends, dtype=object) >> REST
    heads = np.minimum(top, (1 << HEAD) - 1).astype(np.uint64)
    words = np.frombuffer(random_bytes(source, size * (HEAD // 8)), dtype=np.uint64)
    cells = np.searchsorted(heads, words, side="right")
    for tie in np.flatnonzero(np.isin(words, heads)):
        point = int(words[tie]) << REST | int.from_bytes(random_bytes(source, REST // 8), "little")
        cells[tie] = sum(end <= point for end in ends)
    return cells.astype(np.int64)


def draw_inside(cell: int, size: int, source: Source) -> NDArray[np.int64]:
    """`size` exact uniform draws from {0, …, cell − 1}: 64 random bits modulo `cell`.

    Words beyond the last whole multiple of `cell` (a share below cell/2^64) are drawn again.
    """
    if cell == 1:
        return np.zeros(size, dtype=np.int64)
    last = np.uint64((1 << HEAD) // cell * cell - 1)
    words = np.frombuffer(random_bytes(source, size * (HEAD // 8)), dtype=np.uint64).copy()
    while (again := np.flatnonzero(words > last)).size:
        words[again] = np.frombuffer(
            random_bytes(source, again.size * (HEAD // 8)), dtype=np.uint64
        )
    return (words % np.uint64(cell)).astype(np.int64)
