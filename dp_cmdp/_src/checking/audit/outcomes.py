"""What a mechanism showed in many independent runs, exceptions included.

Privacy is a statement about everything that can be seen. A run that raises has an output too: the
kind of the exception and its text.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]
#: ``mechanism(values, rng)`` returns a vector.
Mechanism = Callable[[FloatArray, np.random.Generator], ArrayLike]
#: ``sample(runs, rng)``: outcomes on a database and on its neighbour.
Sampler = Callable[[int, np.random.Generator], "tuple[Outcomes, Outcomes]"]

VECTOR = "vector"
#: Characters of an exception's text that are kept.
LONGEST_TEXT = 1000


@dataclass(frozen=True, slots=True, eq=False)
class Outcomes:
    """Independent runs on one database: the vectors (NaN where there was none), what kind of
    output each run had, and that kind with the text of the exception or odd output."""

    values: FloatArray
    kind: NDArray[Any]
    text: NDArray[Any]

    @classmethod
    def of(cls, values: ArrayLike) -> Outcomes:
        """Runs that all returned a vector, one per row."""
        table = np.asarray(values, dtype=np.float64)
        labels = np.full(table.shape[0], VECTOR)
        return cls(table, labels, labels)

    @property
    def runs(self) -> int:
        return self.values.shape[0]

    def __getitem__(self, part: slice) -> Outcomes:
        return Outcomes(self.values[part], self.kind[part], self.text[part])


def repeated(mechanism: Mechanism, pair: tuple[FloatArray, FloatArray]) -> Sampler:
    """The sampler that runs `mechanism` again and again on both databases of a pair."""

    def sample(runs: int, rng: np.random.Generator) -> tuple[Outcomes, Outcomes]:
        seen = [[_run(mechanism, values, rng) for _ in range(runs)] for values in pair]
        size = max((vector.size for side in seen for vector, _, _ in side), default=0)
        first, second = (_table(side, size) for side in seen)
        return first, second

    return sample


def _run(
    mechanism: Mechanism, values: FloatArray, rng: np.random.Generator
) -> tuple[FloatArray, str, str]:
    try:
        said: Any = mechanism(values.copy(), rng)
        vector = np.asarray(said)
        if vector.dtype.kind in "fiub":
            return vector.astype(np.float64).ravel(), VECTOR, VECTOR
    except Exception as error:  # somebody else's function
        said = error
    kind = type(said).__name__
    try:
        text = str(said)
    except Exception as error:  # somebody else's text
        text = f"no text: {type(error).__name__}"
    if len(text) > LONGEST_TEXT:  # different texts stay different
        digest = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
        text = f"{text[:LONGEST_TEXT]}… ({digest})"
    return np.empty(0), kind, f"{kind}: {text}"


def _table(side: list[tuple[FloatArray, str, str]], size: int) -> Outcomes:
    values = np.full((len(side), size), np.nan)
    kinds: list[str] = []
    texts: list[str] = []
    for row, (vector, kind, text) in enumerate(side):
        values[row, : vector.size] = vector
        odd = kind == VECTOR and vector.size != size
        kinds.append(f"{vector.size} entries" if odd else kind)
        texts.append(kinds[-1] if kind == VECTOR else text)
    return Outcomes(values, np.array(kinds), np.array(texts))
