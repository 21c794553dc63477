"""Where a database certainly is: intervals around its entries, and bounds on sums of them.

    P = { θ : lower ≤ θ ≤ upper,  W θ ≤ q }          box facts and row facts, all public

Answers are made so that their constraints hold for every θ in P
(:mod:`dp_cmdp.program.polytope_rows`). Without row facts P is a box.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from dp_cmdp import _check
from dp_cmdp._check import FloatArray
from dp_cmdp._door import door
from dp_cmdp._exact import row_sums
from dp_cmdp.errors import InvalidArgumentError


@dataclass(frozen=True, slots=True, eq=False)
class Polytope:
    """Box facts lower ≤ θ ≤ upper and row facts Wθ ≤ q about a database θ.

    Parameters
    ----------
    lower, upper : array_like
        One number per entry.
    W : sparse or array_like, (facts, entries), optional
        Weights of the row facts; none by default.
    q : array_like, optional
        Their limits.

    Notes
    -----
    **Privacy.** *Public*.

    Examples
    --------
    >>> from dp_cmdp.data.polytope import Polytope
    >>> known = Polytope([0, 0], [1, 1], W=[[1, 1]], q=[1.5])  # two entries, and their sum
    >>> known.contains([0.5, 1.0]), known.contains([1.0, 1.0])
    (True, False)
    """

    lower: FloatArray
    upper: FloatArray
    W: sparse.csr_array
    q: FloatArray

    @door
    def __init__(
        self, lower: ArrayLike, upper: ArrayLike, *, W: Any = None, q: ArrayLike = ()
    ) -> None:
        low = _check.vector("lower", lower, private=True)
        high = _check.vector("upper", upper, size=low.size, private=True)
        if (low > high).any():
            raise InvalidArgumentError("lower must not exceed upper")
        limit = _check.vector("q", q)
        weights = sparse.csr_array((limit.size, low.size)) if W is None else W
        weights = _check.matrix("W", weights, columns=low.size)
        if weights.shape[0] != limit.size:
            raise InvalidArgumentError(f"q must have {weights.shape[0]} entries, one per row of W")
        for name, value in (("lower", low), ("upper", high), ("W", weights), ("q", limit)):
            object.__setattr__(self, name, value)

    @property
    def num_entries(self) -> int:
        return self.lower.size

    @property
    def is_box(self) -> bool:
        """Whether there are no row facts."""
        return self.q.size == 0

    @door
    def contains(self, values: ArrayLike) -> bool:
        """Whether θ satisfies every fact, in exact arithmetic: *curator only* of true values."""
        theta = _check.vector("values", values, size=self.num_entries, private=True)
        inside = bool(((self.lower <= theta) & (theta <= self.upper)).all())
        return inside and bool((self.room(theta) >= 0.0).all())

    def room(self, values: FloatArray) -> FloatArray:
        """q − Wθ: exact values, rounded once."""
        facts = np.arange(self.q.size)
        return row_sums(
            np.concatenate([np.repeat(facts, np.diff(self.W.indptr)), facts]),
            [
                np.concatenate([-self.W.data, self.q]),
                np.concatenate([values[self.W.indices], np.ones(facts.size)]),
            ],
            num_rows=facts.size,
        )

    def __repr__(self) -> str:
        return f"Polytope({self.num_entries} intervals, {self.q.size} bounds on totals)"
