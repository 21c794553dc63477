"""The program over its own coefficients: bounds and adjacency, recounted in fractions."""

from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from scipy import sparse

from dp_cmdp._src.data.envelope import Envelope
from dp_cmdp._src.program.parametric import ParametricLP
from tests.program.programs import affine, exact_slack


def program(theta: Envelope, rng: np.random.Generator) -> ParametricLP:
    """Three variables, two rows, entries in several places, constants below them."""

    def part(shape, terms):
        at = tuple(rng.integers(0, size, terms) for size in shape)
        return affine(
            theta,
            shape,
            constant=rng.normal(size=shape) * (rng.random(shape) < 0.5),
            at=at if len(shape) == 2 else at[0],
            entry=rng.integers(0, theta.size, terms),
            coefficient=rng.choice([1.0, -1.0, 0.1, 1 / 3, 2.0], terms),
        )

    return ParametricLP(part((3,), 2), A=part((2, 3), 5), b=part((2,), 2), upper=4.0)


def exact_coefficients(lp: ParametricLP, theta: list[Fraction]) -> list[Fraction]:
    """Private coefficients of A, b and c by place, in fractions."""
    found = []
    for part in (lp.A, lp.b, lp.objective):
        constant = part.constant.toarray()
        values = {}
        for i, j, k, g in zip(part.row, part.col, part.entry, part.coefficient, strict=True):
            start = Fraction(float(constant[i, j]))
            values[i, j] = values.get((i, j), start) + Fraction(float(g)) * theta[k]
        found += [values[place] for place in sorted(values)]
    return found


def moves(theta: Envelope):
    """Every move of a record: to all ends of at most so many of its entries."""
    most = theta.entries_per_record or theta.size
    for record in theta.change.toarray().tolist():
        entries = [k for k, far in enumerate(record) if far > 0]
        for count in range(1, min(most, len(entries)) + 1):
            for chosen in combinations(entries, count):
                for signs in product((-1, 1), repeat=count):
                    yield {k: s * Fraction(record[k]) for k, s in zip(chosen, signs, strict=True)}


@pytest.mark.parametrize("most", [None, 1, 2, 3])
def test_no_record_changes_coefficients_by_more_than_is_stated(most):
    for seed in range(15):
        rng = np.random.default_rng(seed)
        change = rng.choice([0.0, 1.0, 0.1, 2.0**-54, 0.3], (3, 4))
        change[0] = [1.0, 2.0**-54, 0.5, 0.25]
        change[2] = np.maximum(change[2], 0.1)  # no entry is moved by tiny numbers alone
        theta = Envelope(
            -np.ones(4), [1.0, 2.0, 3.0, 4.0], change=sparse.csr_array(change),
            entries_per_record=most,
        )  # fmt: skip
        lp = program(theta, rng)
        own, M, m = lp.entrywise()
        bound = own.envelope.change.toarray()
        per_record = own.envelope.entries_per_record
        assert (per_record is None) == (most is None)
        base = exact_coefficients(lp, [Fraction(0)] * 4)
        assert M.shape == (len(base), 4)
        assert [Fraction(float(number)) for number in m] == base
        largest = np.zeros(m.size)
        for move in moves(theta):
            moved = exact_coefficients(lp, [move.get(k, Fraction(0)) for k in range(4)])
            far = [abs(a - b) for a, b in zip(moved, base, strict=True)]
            owners = [
                all(f <= Fraction(float(c)) for f, c in zip(far, row, strict=True)) for row in bound
            ]
            assert any(owners)
            largest = np.maximum(largest, [float(f) for f in far])
            if per_record is not None:
                assert sum(f > 0 for f in far) <= per_record
        assert (bound.max(axis=0) <= largest * (1 + 1e-9) + 1e-12).all()  # and not by much


def test_own_records_move_what_they_move_and_nothing_is_carried_over():
    theta = Envelope(0.0, 1.0, shape=3, radius=0.25, entries_per_record=1)
    lp = ParametricLP([theta[0], 1.0], A=[[theta[0], theta[1]], [theta[2], 1.0]], b=[9.0, 9.0])
    own, _, _ = lp.entrywise()
    assert own.envelope.entries_per_record == 2  # θ0 is in A and in c
    assert [(g.name, g.size) for g in own.envelope.groups] == [("A", 3), ("c", 1)]
    assert own.envelope.radius.tolist() == [0.25] * 4


def test_bounds_enclose_the_coefficients_and_what_floats_make_of_them():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        theta = Envelope(np.array([-1.0, 0.1, -(2.0**-20)]), np.array([0.3, 0.7, 2.0**-19]))
        lp = program(theta, rng)
        own, M, m = lp.entrywise()
        low, high = own.envelope.lower, own.envelope.upper
        for corner in product(*zip(theta.lower, theta.upper, strict=True)):
            exact = exact_coefficients(lp, [Fraction(float(v)) for v in corner])
            assert all(
                Fraction(float(a)) <= v <= Fraction(float(b))
                for a, v, b in zip(low, exact, high, strict=True)
            )
            made = M @ np.array(corner) + m
            assert ((low <= made) & (made <= high)).all()


def test_coefficients_computed_in_floats_move_by_no_more_than_is_stated():
    """Sums of large entries are rounded by more than the radius is small."""
    rng = np.random.default_rng(1)
    theta = Envelope(0.0, 1000.0, shape=3, radius=0.1)
    lp = ParametricLP([1.0], A=[[theta[0] * 0.3 + theta[1] * 0.7 + theta[2] / 3]], b=[1.0])
    own, M, m = lp.entrywise()
    for _ in range(50):
        values = rng.uniform(1.0, 999.0, 3)
        beside = values + theta.radius * np.eye(3)
        for record, each in enumerate(beside):
            far = abs((M @ each + m)[0] - (M @ values + m)[0])
            assert far <= own.envelope.change.toarray()[record, 0]


def test_single_entries_are_not_widened():
    theta = Envelope([0.1, 0.2], [0.7, 0.9], radius=[0.1, 0.3])
    lp = ParametricLP([1.0], A=[[theta[0]]], b=[-theta[1] + 0.0])
    own = lp.entrywise()[0].envelope
    assert own.lower.tolist() == [0.1, -0.9]
    assert own.upper.tolist() == [0.7, -0.2]
    assert own.change.toarray().tolist() == [[0.1, 0.0], [0.0, 0.3]]


def test_its_answers_are_safe_for_the_program_itself():
    theta = Envelope(0.2, 1.0, shape=(2, 3), radius=0.1)
    lp = ParametricLP(theta[0], A=theta[:] + 0.5, b=[theta[0, 0] + 3, 4.0], upper=5)
    own, M, m = lp.entrywise()
    rng = np.random.default_rng(0)
    values = rng.uniform(0.2, 1.0, 6)
    made = M @ values + m
    found = own.answer(own.envelope.uncertainty, made)
    assert found.certificate
    assert min(exact_slack(lp, values, found.x)) >= 0
    assert own.value(found.x, made) == pytest.approx(lp.value(found.x, values))
    assert found.value <= lp.answer(theta.uncertainty, values).value + 1e-9


def test_programs_without_private_numbers_are_their_own():
    lp = ParametricLP([1.0], A=[[2.0]], b=[4.0])
    own, M, m = lp.entrywise()
    assert (own.envelope.size, M.shape, m.size) == (0, (0, 0), 0)
    assert own.answer(own.envelope.uncertainty).x == pytest.approx([2.0])
