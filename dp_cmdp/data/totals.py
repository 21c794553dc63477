"""Weighted sums of a database's entries, published as certain upper bounds: row facts.

Entry k is read on a grid of step g_k, n_k = ⌊θ_k/g_k⌋, and total i in steps of h_i, with integer
counts V_ik in place of weights W_ik = V_ik h_i/g_k. So the sum that is perturbed is an integer,

    index_i = Σ_k V_ik n_k + Z_i,      |Z_i| ≤ support.

Because g_k n_k ≤ θ_k < g_k (n_k + 1), whatever the noise was,

    Σ_k W_ik θ_k  ≤  q_i = h_i (index_i + support + Σ_{V_ik > 0} V_ik).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from dp_cmdp import _check
from dp_cmdp._check import FloatArray
from dp_cmdp._door import door
from dp_cmdp._exact import rounded_up
from dp_cmdp.errors import InvalidArgumentError

#: Weights V h/g are floats without rounding when V has at most so many bits, …
COUNT_LIMIT = 2.0**41
#: … and h, in binary, at most so many.
STEP_BITS = 12
#: Sums of counts below this are exact in floats.
EXACT_SUM = 2.0**53
#: Indices and what is added to them stay below this, so that they fit 64-bit integers.
INDEX_LIMIT = 2**61
#: Steps stay below this, so that bounds on totals, at most 2^63 of them, are floats.
LARGEST_STEP = 2.0**930


@dataclass(frozen=True, slots=True, eq=False)
class Totals:
    """Measured totals of a database, and the row facts that follow.

    Parameters
    ----------
    counts : sparse, (totals, entries)
        V: integers.
    index : array of int, (totals,)
        The perturbed integers.
    support : int
        The largest noise, in steps.
    step : array, (totals,)
        h: floats of at most 12 significant bits.
    grid : array, (entries,)
        g: powers of two.

    Attributes
    ----------
    W : csr_array
        Weights of the totals: V h/g, exactly.
    q : FloatArray
        Their certain upper bounds, rounded up.
    estimate : FloatArray
        The measured totals.

    Notes
    -----
    **Privacy.** *Public*: `index` is what the mechanism publishes, the rest was public before.
    """

    counts: sparse.csr_array
    index: NDArray[np.int64]
    support: int
    step: FloatArray
    grid: FloatArray
    W: sparse.csr_array
    q: FloatArray
    estimate: FloatArray

    @door
    def __init__(
        self, counts: Any, index: ArrayLike, *, support: int, step: ArrayLike, grid: ArrayLike
    ) -> None:
        cells = _check.vector("grid", grid)
        V = _check.matrix("counts", counts, columns=cells.size)
        places = _check.integers("index", index, low=-INDEX_LIMIT, high=INDEX_LIMIT)
        steps = _check.vector("step", step, size=V.shape[0])
        if places.shape != steps.shape:
            raise InvalidArgumentError(f"index must have {steps.size} entries, one per total")
        _check.integer("support", support, low=0, high=INDEX_LIMIT)
        if (np.rint(V.data) != V.data).any() or (np.abs(V.data) > COUNT_LIMIT).any():
            raise InvalidArgumentError("counts must be integers of at most 41 bits")
        if (cells <= 0).any() or (np.frexp(cells)[0] != 0.5).any():
            raise InvalidArgumentError("grid must hold powers of two")
        if (steps <= 0).any() or (short_steps(steps) != steps).any():
            raise InvalidArgumentError(f"step must hold positive floats of {STEP_BITS} bits")
        if (steps >= LARGEST_STEP).any():
            raise InvalidArgumentError("step must be below 2^930; measure in larger units")
        row = np.repeat(np.arange(steps.size), np.diff(V.indptr))
        with np.errstate(over="ignore", under="ignore"):
            weights = V.data * steps[row] / cells[V.indices]
        size = np.abs(weights)
        if ((size < 2.0**-900) | (size > 2.0**900)).any():
            raise InvalidArgumentError("counts, step and grid must give weights within 2^±900")
        above = np.zeros(steps.size)
        np.add.at(above, row, np.maximum(V.data, 0.0))
        middle = np.zeros(steps.size)
        np.add.at(middle, row, V.data / 2)
        if (above >= EXACT_SUM).any():
            raise InvalidArgumentError("counts must add up to less than 2^53 in every total")
        room = [
            Fraction(h) * (int(n) + support + int(v))
            for h, n, v in zip(steps.tolist(), places.tolist(), above.tolist(), strict=True)
        ]
        limits = np.array([rounded_up(limit) for limit in room])
        for name, value in (
            ("counts", V),
            ("index", _check.frozen(places.astype(np.int64))),
            ("support", support),
            ("step", steps),
            ("grid", cells),
            ("W", sparse.csr_array((weights, V.indices, V.indptr), shape=V.shape)),
            ("q", _check.frozen(limits)),
            ("estimate", _check.frozen(steps * (places + middle))),
        ):
            object.__setattr__(self, name, value)

    def __len__(self) -> int:
        return self.step.size


def short_steps(size: FloatArray) -> FloatArray:
    """The least floats of at most 12 significant bits that are not below `size`."""
    mantissa, exponent = np.frexp(size)
    return np.ldexp(np.ceil(np.ldexp(mantissa, STEP_BITS)), exponent - STEP_BITS)
