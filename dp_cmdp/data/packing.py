"""Envelopes, affine expressions and sparse matrices as facts and arrays of a document.

Each ``pack`` puts arrays under dotted names into a mapping and returns the facts beside them; each
``unpack`` builds the object again through its own constructor, which checks everything.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from dp_cmdp import _check
from dp_cmdp._documents import Document, read_document, unpacked
from dp_cmdp.data.affine import Affine
from dp_cmdp.data.envelope import Envelope, Groups
from dp_cmdp.data.labels import Labels
from dp_cmdp.data.totals import Totals
from dp_cmdp.errors import InvalidArgumentError

Arrays = dict[str, np.ndarray]

ENVELOPE_FORMAT = "dp_cmdp.Envelope/1"
_SPARSE = ("data", "indices", "indptr")
_TERMS = ("row", "entry", "coefficient")
ENVELOPE_ARRAYS = tuple(f"envelope.{part}" for part in ("lower", "upper", "radius", "records"))


def sparse_names(name: str) -> tuple[str, ...]:
    """Names of the arrays of a sparse matrix."""
    return tuple(f"{name}.{part}" for part in _SPARSE)


def affine_names(name: str, *, matrix: bool) -> tuple[str, ...]:
    """Names of the arrays of an affine vector or matrix."""
    terms = tuple(f"{name}.{part}" for part in _TERMS)
    if matrix:
        return (*terms, f"{name}.col", *sparse_names(f"{name}.constant"))
    return (*terms, f"{name}.constant")


def pack_envelope(envelope: Envelope, into: Arrays) -> dict[str, Any]:
    for name in ENVELOPE_ARRAYS:
        into[name] = getattr(envelope, name.removeprefix("envelope."))
    facts: dict[str, Any] = {"groups": pack_groups(envelope.groups)}
    if any(envelope.labels):
        facts["labels"] = [labels.facts() for labels in envelope.labels]
    return facts


def unpack_envelope(facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Envelope:
    lower, upper, radius, records = (arrays[name] for name in ENVELOPE_ARRAYS)
    groups = unpack_groups(facts["groups"])
    size = sum(prod(shape) for _, shape in groups)
    if any(part.shape != (size,) for part in (lower, upper, radius, records)):
        raise InvalidArgumentError(f"the envelope must hold {size} entries, as its groups do")
    named = [Labels.from_facts(said) for said in facts.get("labels", [[]] * len(groups))]
    parts, owners, start = {}, {}, 0
    for (name, shape), own in zip(groups, named, strict=True):
        inside = slice(start, start := start + prod(shape))
        parts[name] = Envelope(
            lower[inside].reshape(shape),
            upper[inside].reshape(shape),
            radius=radius[inside].reshape(shape),
            shape=shape,
            name=name,
            labels=own,
        )
        owners[name] = records[inside].reshape(shape)
    return Envelope.join(parts, records=owners)


def load_envelope(path: str | Path) -> Envelope:
    """Read an envelope's file."""

    def build(source: Document) -> Envelope:
        return unpack_envelope(source.facts["envelope"], source.arrays)

    return unpacked(path, read_document(path, ENVELOPE_FORMAT, arrays=ENVELOPE_ARRAYS), build)


def pack_groups(groups: Groups) -> list[Any]:
    return [[name, list(shape)] for name, shape in groups]


def unpack_groups(parts: Any) -> Groups:
    """Names and shapes as they stand in a file."""
    pairs = [_check.items("a group", part) for part in _check.items("groups", parts)]
    if not all(len(pair) == 2 for pair in pairs):
        raise InvalidArgumentError("groups must hold pairs of a name and a shape")
    groups = tuple(
        (_check.text("groups", name), _check.shape("groups", _check.items("groups", shape)))
        for name, shape in pairs
    )
    if len({name for name, _ in groups}) < len(groups):
        raise InvalidArgumentError("groups must have different names")
    return groups


def pack_sparse(name: str, matrix: sparse.csr_array, into: Arrays) -> list[int]:
    for part in _SPARSE:
        into[f"{name}.{part}"] = getattr(matrix, part)
    return [int(size) for size in matrix.shape]


def unpack_sparse(name: str, shape: Any, arrays: Mapping[str, np.ndarray]) -> sparse.csr_array:
    height, width = (_check.integer(name, size, high=2**40) for size in shape)
    try:
        loose = sparse.csr_array(
            tuple(arrays[f"{name}.{part}"] for part in _SPARSE), shape=(height, width)
        )
    except ValueError as error:
        raise InvalidArgumentError(f"{name} must be a sparse matrix: {error}") from None
    return _check.matrix(name, loose)


def pack_affine(name: str, part: Affine, into: Arrays) -> dict[str, Any]:
    for term in _TERMS:
        into[f"{name}.{term}"] = getattr(part, term)
    if len(part.shape) == 1:
        into[f"{name}.constant"] = part.constant
    else:
        into[f"{name}.col"] = part.col
        pack_sparse(f"{name}.constant", part.constant, into)
    return {"shape": list(part.shape)}


def unpack_affine(name: str, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Affine:
    shape = tuple(_check.integer(name, size, high=2**40) for size in facts["shape"])
    row, entry, coefficient = (arrays[f"{name}.{term}"] for term in _TERMS)
    if len(shape) == 1:
        at: Any = row
        constant: Any = arrays[f"{name}.constant"]
    else:
        at = (row, arrays[f"{name}.col"])
        constant = unpack_sparse(f"{name}.constant", shape, arrays)
    return Affine(shape, constant=constant, at=at, entry=entry, coefficient=coefficient)


def pack_totals(totals: Totals, into: Arrays) -> dict[str, Any]:
    for part in _TOTALS:
        into[f"totals.{part}"] = getattr(totals, part)
    return {"counts": pack_sparse("totals.counts", totals.counts, into), "support": totals.support}


def unpack_totals(facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Totals:
    index, step, grid = (arrays[f"totals.{part}"] for part in _TOTALS)
    counts = unpack_sparse("totals.counts", facts["counts"], arrays)
    return Totals(counts, index, support=facts["support"], step=step, grid=grid)


_TOTALS = ("index", "step", "grid")
TOTALS_ARRAYS = (*(f"totals.{part}" for part in _TOTALS), *sparse_names("totals.counts"))
