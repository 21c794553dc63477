"""What is known of a database: bounds of its entries and linear inequalities."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dp_cmdp._src.base.validation import FloatArray


@dataclass(frozen=True, eq=False)
class UncertaintySet:
    """{θ : lower ≤ θ ≤ upper, Wθ ≤ q}."""

    lower: FloatArray
    upper: FloatArray
    W: sparse.csr_array
    q: FloatArray

    @classmethod
    def box(cls, lower: FloatArray, upper: FloatArray) -> UncertaintySet:
        """Bounds alone."""
        return cls(lower, upper, sparse.csr_array((0, lower.size), dtype=np.float64), np.zeros(0))

    @property
    def is_box(self) -> bool:
        """Whether there are no inequalities but the bounds."""
        return self.q.size == 0

    @property
    def is_empty(self) -> bool:
        """Whether the bounds contradict each other; inequalities are not looked at."""
        return bool((self.lower > self.upper).any())

    def tightened(
        self, entries: NDArray[np.integer], lower: FloatArray, upper: FloatArray
    ) -> UncertaintySet:
        """The same set, with these bounds of these entries too."""
        low, high = self.lower.copy(), self.upper.copy()
        np.maximum.at(low, entries, lower)
        np.minimum.at(high, entries, upper)
        return UncertaintySet(low, high, self.W, self.q)

    def __and__(self, other: UncertaintySet) -> UncertaintySet:
        """What both say."""
        return UncertaintySet(
            np.maximum(self.lower, other.lower),
            np.minimum(self.upper, other.upper),
            sparse.csr_array(sparse.vstack([self.W, other.W], format="csr")),
            np.concatenate([self.q, other.q]),
        )

    def __contains__(self, values: FloatArray) -> bool:
        """Whether a database is in the set, exactly."""
        if not ((self.lower <= values) & (values <= self.upper)).all():
            return False
        theta = [Fraction(value) for value in np.asarray(values).tolist()]
        weights = [Fraction(weight) for weight in self.W.data.tolist()]
        entries = self.W.indices.tolist()
        return all(
            sum(weights[p] * theta[entries[p]] for p in range(first, last)) <= Fraction(limit)
            for (first, last), limit in zip(
                pairwise(self.W.indptr.tolist()), self.q.tolist(), strict=True
            )
        )
