"""A linear program as its file states it, with neutral numbers at private places.

    minimise or maximise  cᵀx + offset
    subject to            lower ≤ [A; I] x ≤ upper

The sides of the file's rows come first, then the bounds of its columns.
Numbers of 1e20 and more are infinite, as in other readers of these formats.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, isfinite
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dp_cmdp._src.base.errors import InvalidArgumentError
from dp_cmdp._src.base.validation import FloatArray, listed
from dp_cmdp._src.frontends.lpfile import lp, mps
from dp_cmdp._src.frontends.lpfile.outline import (
    NO_NUMBER,
    GrammarError,
    Outline,
    Stated,
    number,
    numbered_lines,
)

ENDINGS = (".mps", ".lp", ".mps.gz", ".lp.gz")
#: Numbers of this size are infinite; coefficients of that size are refused, as by HiGHS.
INFINITE, LARGEST_COEFFICIENT = 1e20, 1e15
#: In the place of private numbers: rows keep their sides apart, bounds are none a file has.
_NEUTRAL = {
    "offset": 0.0,
    "objective": 1.0,
    "coefficient": 1.0,
    "rhs": 1.0,
    "range": 2.0,
    "bound": 999983.75,
}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Model:
    """The numbers of a file; `equal`: both sides, or bounds, are stated by one number."""

    name: str
    maximize: bool
    offset: float
    c: FloatArray
    A: sparse.csr_array
    lower: FloatArray
    upper: FloatArray
    equal: NDArray[np.bool_]
    row_names: tuple[str, ...]
    column_names: tuple[str, ...]

    @property
    def num_rows(self) -> int:
        return len(self.row_names)

    @property
    def num_columns(self) -> int:
        return len(self.column_names)

    def side(self, name: str | None) -> FloatArray:
        """The lower or the upper sides."""
        return self.upper if name == "upper" else self.lower


def read_outline(source: Path, *, relax: bool) -> Outline:
    """What a file states, by the strict grammar of its ending; refused by line."""
    ending = ending_of(source)
    grammar = mps if ending.startswith(".mps") else lp
    try:
        found = grammar.outline(numbered_lines(source))
    except GrammarError as error:
        raise InvalidArgumentError(f"{source.name}, line {error.line}: {error.rule}") from None
    if not found.columns:
        raise InvalidArgumentError(f"{source.name} has no columns: there is nothing to decide")
    if found.semicontinuous:
        raise InvalidArgumentError(
            f"{source.name} has semi-continuous columns ({listed(sorted(found.semicontinuous))}), "
            "which no linear program has"
        )
    if found.integer and not relax:
        names = [name for name in found.columns if name in found.integer]
        raise InvalidArgumentError(
            f"{source.name} has integer columns ({listed(names)}): answers are certified for "
            "linear programs. relax=True (--relax) takes the relaxation, whose answer need not be "
            "integer"
        )
    return found


def ending_of(source: Path) -> str:
    """The ending by which a file's format is known."""
    ending = next((end for end in ENDINGS if source.name.lower().endswith(end)), None)
    if ending is None:
        raise InvalidArgumentError(
            f"path must name a file that ends in {', '.join(ENDINGS)}; got {source.name!r}"
        )
    return ending


def model_of(
    outline: Outline, source: Path, private: Callable[[Stated], bool] = lambda spot: False
) -> Model:
    """The model, with neutral numbers wherever a number is `private`; zeros stay zeros."""
    rows = {name: i for i, name in enumerate(outline.rows)}
    columns = {name: j for j, name in enumerate(outline.columns)}
    c, offset = np.zeros(len(columns)), 0.0
    right, width = np.zeros(len(rows)), np.full(len(rows), np.nan)
    bounds = {"l": np.zeros(len(columns)), "u": np.full(len(columns), inf)}
    fixed = np.zeros(len(columns), dtype=bool)
    bounds["u"][[columns[name] for name in outline.binary]] = 1.0
    for (end, name), value in outline.bounds.items():
        bounds[end][columns[name]] = value
    terms: list[tuple[int, int, float]] = []
    minus = -1.0 if ending_of(source).startswith(".mps") else 1.0
    for spot in outline.stated:
        value = _neutral(spot) if private(spot) else _number(spot, source)
        if spot.kind == "coefficient":
            terms.append((rows[spot.row], columns[spot.column], value))
        elif spot.kind == "objective":
            c[columns[spot.column]] = value
        elif spot.kind == "offset":
            offset = minus * value + 0.0
        elif spot.kind == "bound":
            for end in spot.ends:
                bounds[end][columns[spot.column]] = value
            fixed[columns[spot.column]] = spot.ends == "lu"
        else:
            (right if spot.kind == "rhs" else width)[rows[spot.row]] = value
    i, j, a = zip(*terms, strict=True) if terms else ((), (), ())
    A = sparse.csr_array((np.array(a, dtype=float), (i, j)), shape=(len(rows), len(columns)))
    A.eliminate_zeros()
    kinds = np.array(list(outline.rows.values()), dtype="U1")
    low, high, equal = _sides(kinds, right, width)
    lower, upper = np.concatenate([low, bounds["l"]]), np.concatenate([high, bounds["u"]])
    wrong = np.flatnonzero((lower == inf) | (upper == -inf))
    if wrong.size:
        names = [*rows, *columns]
        raise InvalidArgumentError(
            f"{source.name}: no point can keep {listed([names[k] for k in wrong])}: a lower side "
            "is ∞ or an upper one −∞ (numbers of 1e20 and more are infinite)"
        )
    return Model(
        name=source.name[: -len(ending_of(source))],
        maximize=outline.maximize,
        offset=offset,
        c=c,
        A=A,
        lower=lower,
        upper=upper,
        equal=np.concatenate([equal, fixed]),
        row_names=tuple(rows),
        column_names=tuple(columns),
    )


def _sides(
    kinds: NDArray, right: FloatArray, width: FloatArray
) -> tuple[FloatArray, FloatArray, NDArray[np.bool_]]:
    """Sides of rows, and which are equalities: a range R opens an L row downwards, a G row upwards
    and an E row to the side of its sign."""
    ranged = ~np.isnan(width)
    size = np.where(ranged, np.abs(width), 0.0)
    below = (kinds == "L") | ((kinds == "E") & (width < 0.0))
    lower = np.where(below, right - size, right)
    upper = np.where(below, right, right + size)
    lower[(kinds == "L") & ~ranged] = -inf
    upper[(kinds == "G") & ~ranged] = inf
    lower = np.where(lower <= -INFINITE, -inf, lower)
    upper = np.where(upper >= INFINITE, inf, upper)
    return lower, upper, ((kinds == "E") & ~ranged) | (ranged & (width == 0.0))


def _number(spot: Stated, source: Path) -> float:
    """The number of a text, or a refusal that does not quote it."""
    value = number(spot.text)
    if value is None:
        raise InvalidArgumentError(f"{source.name}, line {spot.line}: {NO_NUMBER}")
    if spot.kind in ("bound", "rhs"):
        return value if abs(value) < INFINITE else float(np.copysign(inf, value))
    limit = LARGEST_COEFFICIENT if spot.kind == "coefficient" else INFINITE
    if not isfinite(value) or abs(value) >= limit:
        raise InvalidArgumentError(
            f"{source.name}, line {spot.line}: a coefficient, cost or range is not finite, or "
            f"{limit:g} or more in size"
        )
    return value


def _neutral(spot: Stated) -> float:
    """A number that says nothing but whether the private one is 0."""
    is_zero = spot.kind != "range" and number(spot.text) == 0.0
    return 0.0 if is_zero else _NEUTRAL[spot.kind]
