"""Tiny databases on coarse lattices, every pair of adjacent ones, and the queries put to them."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, pairwise, product

import numpy as np
from scipy import sparse

from dp_cmdp._src.accounting.budget import PrivacyBudget, amount
from dp_cmdp._src.data.envelope import Envelope
from dp_cmdp._src.noise.laws import Laplace, Law
from dp_cmdp._src.noise.one_sided import OneSided
from dp_cmdp._src.release.measurement import LargestQuery, Query
from tests.kernel.enumeration import laplace_weights, table_weights

#: What one record changes at most: rows are records.
ADJACENCY: dict[str, tuple[list[list[float]], int | None]] = {
    "own entries": ([[0.3, 0, 0], [0, 0.5, 0], [0, 0, 1.0]], None),
    "disjoint records": ([[0.3, 0.5, 0], [0, 0, 1.0]], None),
    "overlapping people": ([[0.3, 0.5, 0], [0, 0.25, 1.0], [0.2, 0, 0.7]], None),
    "one of three": ([[0.3, 0.5, 1.0]], 1),
    "two of three": ([[0.3, 0.5, 1.0]], 2),
}
#: Every entry is in two of them; the last row is used alone where one move is asked for.
SHARED = np.array([[2, 1, 0], [0, -1, 1], [1, 0, 1]])
CENTRES = (1, 0, 2)
#: Cells per entry.
CELLS = 4


def budget(epsilon: str | int, delta: str | int) -> PrivacyBudget:
    """A budget that no warning is given of."""
    return amount(Fraction(epsilon), Fraction(delta))


def world(name: str) -> Envelope:
    """Three entries of four cells each; the lattice must have been made coarse before."""
    change, limit = ADJACENCY[name]
    matrix = sparse.csr_array(np.array(change))
    step = np.exp2(np.frexp(matrix.max(axis=0).toarray().ravel())[1] - 1.0)
    return Envelope(0.0, (CELLS - 0.5) * step, change=matrix, entries_per_record=limit)


def queries(envelope: Envelope) -> dict[str, Query]:
    """What is measured: entries, queries that share all of them, and the worst row."""
    moves = np.array(envelope.moves.max(axis=0).toarray()).ravel()
    return {
        "entries": Query(envelope, np.diag(max(moves) * np.ones(3, dtype=int) // moves)),
        "queries": Query(envelope, SHARED),
        "one query": Query(envelope, SHARED[:1]),
        "worst row": LargestQuery(envelope, SHARED, CENTRES),
    }


def reachable(envelope: Envelope) -> list[dict[int, set[int]]]:
    """By how many cells each record can move each entry: from pairs of real numbers."""
    found = []
    change = envelope.change.toarray()
    for record in change:
        moved: dict[int, set[int]] = {}
        for k in np.flatnonzero(record):
            step = Fraction(float(envelope.step[k]))
            places = [step * i / 16 for i in range(16 * CELLS - 7)]
            reach = Fraction(float(record[k]))
            pairs = product(places, repeat=2)
            moved[int(k)] = {b // step - a // step for a, b in pairs if abs(a - b) <= reach}
        found.append(moved)
    return found


def neighbours(envelope: Envelope) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Cells of two databases that differ in one record."""
    limit = envelope.entries_per_record or envelope.size
    for moved in reachable(envelope):
        for chosen in combinations(moved, min(limit, len(moved))):
            for here in product(range(CELLS), repeat=envelope.size):
                for moves in product(*(moved[k] for k in chosen)):
                    there = list(here)
                    for k, move in zip(chosen, moves, strict=True):
                        there[k] += move
                    if all(0 <= n < CELLS for n in there):
                        yield here, tuple(there)


def moves_of(query: Query) -> set[tuple[int, ...]]:
    """By how much the true integers of adjacent databases differ, over all of them."""
    envelope = query.envelope
    true = {
        cells: query.true_integers((np.array(cells) + 0.25) * envelope.step)
        for cells in product(range(CELLS), repeat=envelope.size)
    }
    pairs = set(neighbours(envelope))
    return {
        tuple(b - a for a, b in zip(true[here], true[there], strict=True)) for here, there in pairs
    }


def weights_of(law: Law) -> list[int]:
    """The law that is drawn from, from its least to its greatest integer."""
    if isinstance(law, Laplace):
        return laplace_weights(law.thresholds, law.support)
    assert isinstance(law, OneSided)
    return table_weights(law.weights, law.cell)


def rows(matrix: sparse.csr_array) -> list[list[tuple[int, int]]]:
    """Entry and weight of every term, row by row."""
    terms = list(zip(matrix.indices.tolist(), matrix.data.tolist(), strict=True))
    return [terms[a:b] for a, b in pairwise(matrix.indptr.tolist())]
