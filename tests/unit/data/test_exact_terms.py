"""Numbers written several times are added exactly, and what underflows is not taken for zero."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from dp_cmdp import _exact as exact
from dp_cmdp.accounting.budget import PrivacyBudget
from dp_cmdp.cmdp.certificate import certify_policy
from dp_cmdp.cmdp.model import CMDP
from dp_cmdp.cmdp.parametric import ParametricCMDP
from dp_cmdp.cmdp.policy import Policy
from dp_cmdp.data.affine import Affine
from dp_cmdp.data.database import Database
from dp_cmdp.data.envelope import Envelope
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.program.entrywise import entry_values
from dp_cmdp.program.linear_program import LinearProgram, solve
from dp_cmdp.program.parametric import ParametricLP
from dp_cmdp.release.entries import release_database
from dp_cmdp.release.solve import solve_private

LOST = [1e16, 1.0, -1e16]  # 1 in exact arithmetic, 0 in floats
TINY = 1e-200  # its square underflows


def total(values) -> Fraction:
    return sum(map(Fraction, np.asarray(values).tolist()), Fraction(0))


@pytest.mark.parametrize(
    "terms",
    [LOST, [0.1, 0.2], [0.1, 0.7, -0.3], [1e308, 1.0], [5e-324, 1.0, -1.0], [1e300, 1e-300]],
)
@pytest.mark.parametrize("order", [1, -1])
def test_repeated_terms_keep_their_exact_sum_in_pieces_of_one_sign(terms, order):
    terms = terms[::order]
    together = Affine(2, at=[1] * len(terms), entry=[0] * len(terms), coefficient=terms)
    matrix = Affine((1, 2), at=(0, [1] * len(terms)), entry=[0] * len(terms), coefficient=terms)
    for affine in (together, matrix):
        assert total(affine.coefficient) == total(terms)
        assert np.unique(np.sign(affine.coefficient)).size == 1
        assert (affine.entry == 0).all()


def test_terms_that_cancel_leave_nothing_to_read():
    gone = Affine(1, at=[0] * 4, entry=[0] * 4, coefficient=[0.1, 0.2, -0.1, -0.2])
    assert gone.is_public
    assert Affine(1, at=[0], entry=[0], coefficient=0.0).is_public


def test_terms_that_add_up_beyond_the_floats_are_refused():
    with pytest.raises(InvalidArgumentError, match="coefficient"):
        Affine(1, at=[0, 0], entry=[0, 0], coefficient=[1.7e308, 1.7e308])


def test_a_private_answer_satisfies_the_row_as_it_was_written():
    """θ·(1e16 + 1 − 1e16)·x ≤ 1 with θ near 150: x = 1 would break it by 149."""
    envelope = Envelope([100.0], [200.0], radius=[1.0])
    program = ParametricLP(
        envelope,
        c=np.ones(1),
        A=Affine((1, 1), at=(0, [0, 0, 0]), entry=[0, 0, 0], coefficient=LOST),
        b=[1.0],
        upper=1.0,
    )
    release = release_database(Database([150.0], envelope), PrivacyBudget(1, "1e-6"))
    x = solve_private(program, release).x
    assert total(LOST) * 150 * Fraction(float(x[0])) <= 1
    assert entry_values(program, np.array([150.0]))["A"].tolist() == [150.0]


def duplicated(format: str, data):
    size = len(data)
    zeros = np.zeros(size, dtype=np.int32)
    ends = np.array([0, size])
    if format == "csr":
        return sparse.csr_array((np.array(data), zeros, ends), shape=(1, 1))
    if format == "csc":
        return sparse.csc_array((np.array(data), zeros, ends), shape=(1, 1))
    return sparse.coo_array((np.array(data), (zeros, zeros)), shape=(1, 1))


@pytest.mark.parametrize("format", ["coo", "csr", "csc"])
def test_entries_of_a_matrix_given_several_times_are_added_exactly_or_refused(format):
    row = duplicated(format, LOST)
    lp = LinearProgram([1.0], row, b=[3.0])
    assert lp.A.toarray().tolist() == [[1.0]]
    assert solve(lp).x.tolist() == [3.0]
    assert Affine((1, 1), constant=row).constant.toarray().tolist() == [[1.0]]
    assert row.nnz == 3  # the caller's own matrix is left alone
    for lost in ([0.1, 0.2], [1.7e308, 1.7e308]):
        with pytest.raises(InvalidArgumentError, match=r"A has several entries at row 0, column 0"):
            LinearProgram([1.0], duplicated(format, lost), b=[1.0])


def test_probabilities_given_several_times_are_rounded_once():
    third = [1 / 3] * 3
    cmdp = CMDP(duplicated("coo", third), [[0.0]], f=[[0.0]], f0=[1.0], mu=[1.0], gamma=0.5)
    assert cmdp.T.toarray()[0, 0] == float(3 * Fraction(1 / 3))


@pytest.mark.parametrize("factor", [TINY, -TINY, 1.1 * TINY])
@pytest.mark.parametrize("constant", [0.0, 5e-324, -1e-300, 1.0])
def test_bounds_enclose_products_that_underflow(factor, constant):
    part = Affine(1, constant=[constant], at=[0], entry=[0], coefficient=factor)
    low, high = np.array([1e-300]), np.array([TINY])
    found = part.bounds(low, high)
    for theta in (low, high):
        exact_value = Fraction(constant) + Fraction(factor) * Fraction(float(theta[0]))
        assert Fraction(float(found[0][0])) <= exact_value <= Fraction(float(found[1][0]))
        error = abs(Fraction(float(part.at(theta)[0])) - exact_value)
        assert error <= Fraction(float(part.rounding(low, high)[0]))


@pytest.mark.parametrize(("constant", "factor"), [(0.3, 1.0), (0.3, -1.0), (0.0, 0.7), (1e16, 1.0)])
def test_sums_that_round_are_within_their_bound_on_rounding(constant, factor):
    part = Affine(1, constant=[constant], at=[0], entry=[0], coefficient=factor)
    low, high = np.array([0.1]), np.array([0.9])
    off = []
    for theta in np.linspace(0.1, 0.9, 50):
        value = Fraction(constant) + Fraction(factor) * Fraction(float(theta))
        off.append(abs(Fraction(float(part.at(np.array([theta]))[0])) - value))
    assert 0 < max(off) <= Fraction(float(part.rounding(low, high)[0]))
    assert Affine(1, at=[0], entry=[0]).rounding(low, high).tolist() == [0.0]


def test_bounds_of_entries_that_are_zero_are_the_constant_itself():
    part = Affine(2, constant=[0.3, 0.0], at=[0, 1], entry=[0, 0], coefficient=0.7)
    found = part.bounds(np.zeros(1), np.zeros(1))
    assert found[0].tolist() == found[1].tolist() == [0.3, 0.0]


def test_a_cost_that_underflows_is_not_certified_as_zero():
    envelope = Envelope([TINY / 2], [TINY])
    model = ParametricCMDP(
        envelope,
        T=np.ones((1, 1, 1)),
        r=[[1.0]],
        mu=[1.0],
        gamma=0.5,
        cost=Affine((1, 1), at=(0, [0]), entry=[0], coefficient=TINY),
        tolerance=Affine(1, constant=[0.0]),
    )
    stay = Policy(np.ones((1, 1)))
    proof = certify_policy(model.robust(), stay)
    assert Fraction(float(proof.worst_case_cost[0])) >= 2 * Fraction(TINY) ** 2
    assert not proof.verified
    roomy = model.robust().with_constraints(model.robust().f, [1e-290])
    assert certify_policy(roomy, stay).verified


def test_a_candidate_state_given_twice_is_refused():
    public = CMDP(
        np.eye(2)[:, None], [[0.0], [0.0]], f=np.zeros((2, 1)), f0=[1.0], mu=[1, 0], gamma=0.5
    )
    with pytest.raises(InvalidArgumentError, match="distinct"):
        ParametricCMDP.for_states(
            public, [0, 0], severity=Envelope([0.0], [1.0]), tolerance=Envelope([0.0], [1.0])
        )


@pytest.mark.parametrize(
    "terms", [[0.1, 0.7], [0.1, 0.2], [1.0, 2.0**-60], [1e300, 1e-300], [5e-324], [-0.1, -0.7]]
)
def test_sums_rounded_up_are_the_least_floats_above(terms):
    (found,) = exact.row_sums_up(
        np.zeros(len(terms), dtype=int), [np.array(terms), np.ones(len(terms))], num_rows=1
    )
    assert Fraction(np.nextafter(found, -np.inf)) < total(terms) <= Fraction(found)


def test_a_sum_beyond_the_floats_is_rounded_up_to_infinity():
    found = exact.row_sums_up(np.zeros(2, dtype=int), [np.full(2, 1.7e308)], num_rows=1)
    assert found.tolist() == [np.inf]


@pytest.mark.parametrize("shape", [3, (2, 3)])
def test_a_dense_array_is_the_filled_one(shape):
    places, constant = (
        ([0, 2], [1.0, 2.0, 3.0]) if shape == 3 else (([0, 1], [2, 0]), np.ones(shape))
    )
    affine = Affine(shape, constant=constant, at=places, entry=[0, 1], coefficient=[1.0, -2.0])
    numbers = np.array([7.0, 8.0])
    filled = affine.filled(numbers)
    assert np.array_equal(affine.dense(numbers), filled if shape == 3 else filled.toarray())
