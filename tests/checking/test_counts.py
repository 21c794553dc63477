"""What a record moves: the checker's count, the producer's, and brute force."""

from __future__ import annotations

import itertools
import subprocess
import sys
from fractions import Fraction
from math import ceil, floor
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from dp_cmdp._src.checking.verify.adjacency import Adjacency, CountedSensitivity
from dp_cmdp._src.checking.verify.reading import Refused
from dp_cmdp._src.data.envelope import Envelope
from dp_cmdp._src.release.measurement import LargestQuery, Query
from tests.checking.made import array

RADII = [2.0**-20, 1e-9, 0.1, 0.25, 1 / 3, 0.7, 1.0, 7.0]


@st.composite
def queries(draw: st.DrawFn, largest: bool = False) -> Query:
    size, records, rows = (draw(st.integers(1, most)) for most in (5, 4, 3))
    radius = [draw(st.sampled_from(RADII)) for _ in range(size)]
    lower = np.array([draw(st.floats(-5, 5)) for _ in range(size)])
    upper = lower + np.array(radius) * draw(st.sampled_from([1.0, 1.5, 1000.0])) + 1e-12
    owners = np.array([[draw(st.integers(0, 3)) for _ in range(size)] for _ in range(records)])
    owners[0] = np.maximum(owners[0], 3)  # everybody is in somebody's record
    change = sparse.csr_array(np.minimum(owners * np.array(radius) / 3, upper - lower))
    limit = draw(st.one_of(st.none(), st.integers(1, 5)))
    envelope = Envelope(lower, upper, change=change, entries_per_record=limit)
    weights = array([[draw(st.integers(-3, 5)) for _ in range(size)] for _ in range(rows)])
    if largest:
        centres = tuple(draw(st.integers(-9, 9)) for _ in range(rows))
        return LargestQuery(envelope, weights, centres)
    return Query(envelope, weights)


def recount(query: Query) -> CountedSensitivity:
    table = query.weights.tocoo()
    weights = zip(*(part.tolist() for part in (*table.coords, table.data)), strict=True)
    largest = isinstance(query, LargestQuery)
    return Adjacency.read(query.envelope.document()).sensitivity(weights, largest=largest)


@given(st.one_of(queries(), queries(largest=True)))
def test_checker_and_producer_count_alike(query: Query) -> None:
    theirs, ours = query.sensitivity(), recount(query)
    assert (ours.l1, ours.largest, ours.queries) == (theirs.l1, theirs.largest, theirs.count)
    # both round √ up, to different digits
    assert abs(ours.l2_squared - theirs.l2_squared) <= 1 + theirs.l2_squared * 2.0**-30


@given(queries())
def test_no_subset_and_no_signs_of_a_record_move_more(query: Query) -> None:
    counted, envelope = recount(query), query.envelope
    moves, W = envelope.moves.toarray(), query.weights.toarray()
    limit = envelope.entries_per_record or envelope.size
    for row in moves.tolist():
        for chosen in itertools.combinations(range(len(row)), min(limit, len(row))):
            for signs in itertools.product((1, -1), repeat=len(chosen)):
                by = [0] * len(row)
                for entry, sign in zip(chosen, signs, strict=True):
                    by[entry] = sign * row[entry]
                moved = [
                    abs(sum(int(w) * d for w, d in zip(w_row, by, strict=True))) for w_row in W
                ]
                found = (
                    sum(moved),
                    sum(m * m for m in moved),
                    max(moved),
                    sum(m > 0 for m in moved),
                )
                assert all(a <= b for a, b in zip(found, counted, strict=True))


@given(queries())
def test_lattice_and_moves_are_those_of_the_envelope(query: Query) -> None:
    envelope = query.envelope
    ours = Adjacency.read(envelope.document())
    assert ours.step == [Fraction(step) for step in envelope.step.tolist()]
    theirs = envelope.moves.toarray()
    for entry, own in enumerate(ours.moves):
        assert dict(own) == {r: int(t) for r, t in enumerate(theirs[:, entry]) if t}


def test_moves_are_exact_where_floats_are_not() -> None:
    """1 + 2^-54 cells; and cells of value 1e6 and radius 1e-9."""
    step = Fraction(Envelope(0, 4, radius=1.0).step[0])
    far = float(np.nextafter(1.0, 2.0))
    adjacency = Adjacency.read(Envelope(0, 4, radius=far).document())
    assert adjacency.moves[0][0][1] == ceil(Fraction(far) / step) == 2**16 + 1
    for lower, upper, radius in ((0.0, 1e6, 1e-9), (-3.3, 1e6, 0.1)):
        try:
            envelope = Envelope(lower, upper, radius=radius)
        except ValueError:
            continue  # refused by the producer: more than 2^62 cells
        ours = Adjacency.read(envelope.document())
        assert ours.cells[0][1] == floor(Fraction(upper) / ours.step[0])


def document(**changes: Any) -> dict[str, Any]:
    return Envelope([0, 0], [1, 1], radius=0.1).document() | changes


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"change": np.array([0.1, -0.1])}, "negative"),
        ({"change": np.array([0.1, np.nan])}, "finite"),
        ({"change_entry": np.array([0, 0]), "change_record": np.array([0, 0])}, "twice"),
        ({"change_entry": np.array([0, 2])}, "does not exist"),
        ({"change_record": np.array([0, 2])}, "does not exist"),
        ({"change_record": np.array([0])}, "one length"),
        ({"entries_per_record": 0}, "at least 1"),
        ({"entries_per_record": 1.5}, "integer"),
        ({"entries_per_record": True}, "integer"),
        ({"records": -1}, "at least 0"),
        ({"lower": np.array([0.0, 2.0])}, "above"),
        ({"lower": np.array([0.0])}, "as many"),
        ({"upper": np.array([1.0, np.inf])}, "finite"),
        ({"change": np.array([0.1, 1e-320])}, "too small"),
        ({"upper": np.array([1e300, 1e300]), "change": np.array([1e-5, 1e-5])}, "2\\^62"),
        ({"step": np.array([1.0, 1.0])}, "step"),
    ],
)
def test_a_forged_adjacency_is_refused(changes: dict[str, Any], why: str) -> None:
    with pytest.raises(Refused, match=why):
        Adjacency.read(document(**changes))


def test_adjacencies_are_compared_in_every_part() -> None:
    ours = Adjacency.read(document())
    assert ours.difference(Adjacency.read(document())) is None
    halved = np.array([0.05, 0.1])
    for changes in (
        {"lower": np.array([0.0, 0.5])},
        {"upper": np.array([1.0, 1.5])},
        {"entries_per_record": 1},
        {"change": halved},
        {"change_record": np.array([0, 0])},  # one person instead of two
    ):
        assert ours.difference(Adjacency.read(document(**changes))) is not None
    fewer = {name: document()[name][:1] for name in ("change", "change_record", "change_entry")}
    assert ours.difference(Adjacency.read(document(**fewer))) is not None
    other = Envelope.join({"a": Envelope(0, 1, radius=0.1), "b": Envelope(0, 1, radius=0.1)})
    assert ours.difference(Adjacency.read(other.document())) is not None


def test_the_checker_loads_nothing_of_those_who_make_the_files() -> None:
    code = (
        "import sys, dp_cmdp._src.checking.verify, dp_cmdp._src.checking.audit.mechanism\n"
        "own = [m for m in sys.modules if m.startswith('dp_cmdp._src.')]\n"
        "print([m for m in own if m.split('.')[2] in ('release', 'program', 'cmdp', 'data')])"
    )
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert made.stdout.strip() == "[]"
