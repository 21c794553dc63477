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

from dp_cmdp import _check
from dp_cmdp._check import FloatArray
from dp_cmdp._door import door
from dp_cmdp.errors import InvalidArgumentError

#: The user's mechanism: ``mechanism(values, rng)`` returns a vector.
Mechanism = Callable[[FloatArray, np.random.Generator], ArrayLike]
#: ``sampler(runs, rng)``: outcomes on a database and on its neighbour.
Sampler = Callable[[int, np.random.Generator], "tuple[Outcomes, Outcomes]"]

NORMAL = "vector"
#: Characters of an exception's text that are kept.
LONGEST_TEXT = 1000


@dataclass(frozen=True, slots=True, eq=False)
class Outcomes:
    """Independent runs on one database.

    Attributes
    ----------
    values : (runs, size) array
        The vectors; NaN where there was none.
    kind : (runs,) array of str
        ``"vector"``, the type of an exception or of what is no vector, or the odd shape of an
        output.
    text : (runs,) array of str
        `kind` with the text of the exception or output.
    """

    values: FloatArray
    kind: NDArray[Any]
    text: NDArray[Any]

    @classmethod
    @door
    def of(cls, values: ArrayLike) -> Outcomes:
        """Runs that all returned a vector."""
        table = _check.array("values", values)
        if table.ndim != 2:
            raise InvalidArgumentError(f"values must have a row per run, got shape {table.shape}")
        labels = np.full(table.shape[0], NORMAL)
        return cls(table, labels, labels)

    @property
    def runs(self) -> int:
        return self.values.shape[0]

    def __getitem__(self, part: slice) -> Outcomes:
        return Outcomes(self.values[part], self.kind[part], self.text[part])


def repeated(mechanism: Mechanism, pair: tuple[FloatArray, FloatArray]) -> Sampler:
    """The sampler that runs `mechanism` again and again on both databases of a pair."""

    def sample(runs: int, rng: np.random.Generator) -> tuple[Outcomes, Outcomes]:
        shown = [[_show(mechanism, values, rng) for _ in range(runs)] for values in pair]
        size = max((vector.size for side in shown for vector, _, _ in side), default=0)
        first, second = (_table(side, size) for side in shown)
        return first, second

    return sample


def refuse_silence(first: Outcomes, second: Outcomes) -> None:
    """Refuse a mechanism that raised in every run: most likely it was not called as it should be.

    Only the types of the exceptions are named; their texts may quote data.
    """
    kinds = sorted({*first.kind.tolist(), *second.kind.tolist()})
    if kinds and NORMAL not in kinds:
        raise InvalidArgumentError(
            "mechanism raised in every run on both databases, or returned what is no vector "
            f"({', '.join(kinds)}), so there is nothing to audit; it is called as "
            "mechanism(values, rng) and must return a vector"
        )


def _show(
    mechanism: Mechanism, values: FloatArray, rng: np.random.Generator
) -> tuple[FloatArray, str, str]:
    try:
        said = mechanism(values.copy(), rng)
    except Exception as error:
        said, vector = error, None
    else:
        vector = _check.float_array(said)  # not of texts, and no mask or imaginary part is dropped
    if vector is None:
        kind = type(said).__name__
        return np.empty(0), kind, f"{kind}: {_shortened(_check.text_of(said))}"
    return vector.ravel(), NORMAL, NORMAL


def _shortened(text: str) -> str:
    """A long text by its beginning and its digest: different texts stay different."""
    if len(text) <= LONGEST_TEXT:
        return text
    digest = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
    return f"{text[:LONGEST_TEXT]}… ({digest})"


def _table(side: list[tuple[FloatArray, str, str]], size: int) -> Outcomes:
    values = np.full((len(side), size), np.nan)
    kinds: list[str] = []
    texts: list[str] = []
    for row, (vector, kind, text) in enumerate(side):
        values[row, : vector.size] = vector
        odd = kind == NORMAL and vector.size != size
        kinds.append(f"{vector.size} entries" if odd else kind)
        texts.append(kinds[-1] if kind == NORMAL else text)
    return Outcomes(values, np.array(kinds), np.array(texts))


def checked_pair(pair: Any) -> tuple[FloatArray, FloatArray]:
    """A database and its neighbour, as flat float vectors of one size."""
    sides = _check.items("pair", pair, most=2)
    if len(sides) != 2:
        raise InvalidArgumentError("pair must hold two vectors: a database, its neighbour")
    first, second = (
        _check.vector("a vector of pair", side, size=np.size(side), private=True) for side in sides
    )
    if first.size != second.size or first.size == 0:
        raise InvalidArgumentError("pair must hold two vectors of one size, at least 1")
    return first, second
