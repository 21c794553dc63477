"""Linear programs with private numbers: how they are stated, kept in files, and changed."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from dp_cmdp._src.base.errors import InvalidArgumentError
from dp_cmdp._src.data.affine import Affine
from dp_cmdp._src.data.database import Database
from dp_cmdp._src.data.envelope import Envelope, UncertaintySet
from dp_cmdp._src.program.parametric import ParametricLP
from tests.program.programs import affine, exact_slack, knapsack, random_program


def small() -> tuple[Envelope, ParametricLP]:
    theta = Envelope([0.5, 0.5, 8], [2, 2, 12], radius=[0.1, 0.1, 0.5])
    return theta, ParametricLP([3, 2], A=[[theta[0], theta[1]]], b=[theta[2]])


def test_a_program_is_stated_as_it_is_written():
    theta, lp = small()
    assert lp.envelope is theta
    assert not lp.minimizes
    found = lp.answer(theta.uncertainty)
    assert found.x == pytest.approx([4.0, 0.0])
    assert repr(lp) == (
        "ParametricLP(2 variables, 1 rows with private numbers, 0 public rows, 3 private numbers)"
    )


def test_rows_mix_private_and_public_numbers():
    theta, _ = small()
    lp = ParametricLP(
        [1.0, 1.0],
        A=[[2 * theta[0] - 1, 3], [0.0, 1.0]],
        b=[theta[2] + theta[0], 2.5],
        upper=[4, 4],
    )
    plain = lp.at([1.0, 1.0, 9.0])
    assert plain.envelope.size == 0
    assert plain.A.constant.toarray().tolist() == [[1.0, 3.0], [0.0, 1.0]]
    assert plain.b.constant.toarray().ravel().tolist() == [10.0, 2.5]
    assert lp.signs.toarray().tolist() == [[0, 0, -1], [0, 0, 0]]
    assert lp.signs.nnz == 2  # row 0 reads θ0 with a sign that depends on x, row 1 reads nothing


def test_minimisation_reports_the_minimised_objective():
    theta = Envelope([1.0, 2.0], [2.0, 4.0], radius=0.1)
    lp = ParametricLP(minimize=theta[:], A=-np.ones((1, 2)), b=[-3.0])
    found = lp.answer(theta.uncertainty, np.array([1.0, 3.0]))
    assert found.x == pytest.approx([3.0, 0.0])
    assert found.value == pytest.approx(3.0)
    assert found.bound <= found.value
    assert found.bound == pytest.approx(3.0)
    assert lp.value(found.x, np.array([2.0, 9.0])) == pytest.approx(6.0)
    assert lp.at([1.0, 2.0]).minimizes


def test_with_objective_keeps_the_rows():
    theta, lp = small()
    other = lp.with_objective([1, 1])
    assert other.value([2.0, 3.0], np.zeros(3)) == 5.0
    assert other.answer(theta.uncertainty).value == pytest.approx(4.0)
    least = lp.with_objective(minimize=[theta[0], 1])
    assert least.minimizes
    assert least.answer(theta.uncertainty).value == pytest.approx(0.0)
    assert lp.value([2.0, 3.0], np.zeros(3)) == 12.0
    public = ParametricLP([1.0, 1.0], A=[[1.0, 2.0]], b=[4.0])
    assert public.with_objective(theta[:2]).envelope is theta
    with pytest.raises(InvalidArgumentError, match="one envelope"):
        lp.with_objective(Envelope([0.0], [1.0], shape=2)[:])
    with pytest.raises(InvalidArgumentError, match="2 entries"):
        lp.with_objective([1.0])
    with pytest.raises(InvalidArgumentError, match="exactly one"):
        lp.with_objective()


def test_the_optimum_at_values_is_an_answer_without_private_numbers():
    theta, lp = small()
    exact = lp.at([1.0, 1.2, 10.0])
    found = exact.answer(exact.envelope.uncertainty)
    assert found.value == pytest.approx(30.0)
    assert found.certificate
    assert "every database" in repr(found.certificate)
    for values in ((1, 1.2, 10), np.array([1, 1.2, 10]), Database([1, 1.2, 10], theta)):
        assert exact.answer(exact.envelope.uncertainty).value == pytest.approx(
            lp.at(values).answer(exact.envelope.uncertainty).value
        )
    with pytest.raises(InvalidArgumentError, match="3 entries"):
        lp.at([1.0])


@pytest.mark.parametrize(
    ("parts", "named"),
    [
        ({}, "exactly one of maximize and minimize"),
        ({"maximize": 1.0}, "must be a vector"),
        ({"maximize": [np.nan]}, "finite"),
        ({"maximize": [1.0], "A": [[1.0, 2.0]]}, "A must have 1 columns"),
        ({"maximize": [1.0], "b": [1.0, 2.0]}, "b must have 1 entries"),
        ({"maximize": [1.0], "A_eq": [[1.0]]}, "A_eq and b_eq must be given together"),
        ({"maximize": [1.0], "lower": 2.0, "upper": 1.0}, "lower must not exceed upper"),
    ],
)
def test_ill_formed_programs_are_refused_by_name(parts, named):
    with pytest.raises(InvalidArgumentError, match=named):
        ParametricLP(**{"A": [[1.0]], "b": [1.0], **parts})


def test_private_equalities_and_two_envelopes_are_refused():
    one, two = Envelope([0.0], [1.0]), Envelope([0.0], [2.0])
    with pytest.raises(InvalidArgumentError, match="must be public"):
        ParametricLP([1.0], A=[[1.0]], b=[1.0], A_eq=[[one[0]]], b_eq=[1.0])
    with pytest.raises(InvalidArgumentError, match="must be public"):
        ParametricLP([1.0], A=[[1.0]], b=[1.0], A_eq=[[1.0]], b_eq=[one[0]])
    with pytest.raises(InvalidArgumentError, match="one envelope"):
        ParametricLP([1.0], A=[[one[0]]], b=[two[0]])
    with pytest.raises(InvalidArgumentError, match="one envelope"):
        ParametricLP([one[0]], A=[[1.0]], b=[two[0]])


def test_sparse_rows_read_one_entry_per_place():
    use = sparse.random_array((30, 80), density=0.1, rng=0).tocoo()
    theta = Envelope(0, 1, radius=0.01, shape=use.nnz)
    A = Affine.sparse(theta[:], (use.row, use.col), shape=(30, 80))
    lp = ParametricLP(np.ones(80), A=A, b=np.full(30, 1.0), upper=1)
    known = UncertaintySet.box(np.maximum(use.data - 0.1, 0), np.minimum(use.data + 0.1, 1))
    found = lp.answer(known)
    assert found.certificate
    assert min(exact_slack(lp, known.upper, found.x)) >= 0
    assert lp.signs.nnz == use.nnz


def test_private_rows_with_right_hand_side_0_are_certified_for_every_database():
    n = 12
    ratios = np.linspace(0.3, 0.6, n - 1)
    theta = Envelope(0.9 * ratios, 1.1 * ratios, radius=0.02 * ratios)
    above = np.arange(n - 1)
    A = affine(
        theta, (n - 1, n), constant=np.eye(n)[1:], at=(above, above), entry=above, coefficient=-1.0
    )
    lp = ParametricLP(
        np.ones(n), A=A, b=np.zeros(n - 1), upper=np.append(1e-9, np.full(n - 1, np.inf))
    )
    for seed in range(10):
        low = np.random.default_rng(seed).uniform(theta.lower, ratios)
        x = lp.answer(UncertaintySet.box(low, np.minimum(low + 0.02, theta.upper))).x
        assert x[0] == 1e-9
        for i, least in enumerate(low):
            assert 0 < Fraction(x[i + 1]) <= Fraction(least) * Fraction(x[i])


def test_programs_are_read_as_they_were_written(tmp_path):
    for seed in range(6):
        lp = random_program(np.random.default_rng(seed), equalities=seed % 2 == 0)
        loaded = ParametricLP.load(lp.save(tmp_path / f"{seed}.npz"))
        assert loaded.envelope == lp.envelope
        assert loaded.minimizes == lp.minimizes
        for name in ("objective", "A", "b"):
            one, other = getattr(lp, name), getattr(loaded, name)
            assert one.shape == other.shape
            for part in ("row", "col", "entry", "coefficient"):
                assert getattr(one, part).tolist() == getattr(other, part).tolist()
            assert (one.constant != other.constant).nnz == 0
        for name in ("b_eq", "lower", "upper"):
            assert getattr(lp, name).tolist() == getattr(loaded, name).tolist()
        assert loaded.row_names == lp.row_names
        box = lp.envelope.uncertainty
        assert loaded.answer(box).x.tolist() == lp.answer(box).x.tolist()


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda said: said["A"]["entry"].fill(7), "entry must hold integers"),
        (lambda said: said["b"].update(shape=[2]), "b must have|constant"),
        (lambda said: said.update(row_names=["a", "b"]), "row_names must hold 1"),
        (lambda said: said.update(minimizes="no"), "minimizes must be True or False"),
        (lambda said: said.pop("lower"), "KeyError"),
        (lambda said: said.update(problem="riddle"), "problem must be one of"),
    ],
)
def test_edited_files_are_refused(tmp_path, change, named):
    from dp_cmdp._src.base.documents import write_document

    _, lp = small()
    said = lp.document()
    said["A"]["entry"] = said["A"]["entry"].copy()
    change(said)
    path = write_document(tmp_path / "lp.npz", "problem", said)
    with pytest.raises(InvalidArgumentError, match=named):
        ParametricLP.load(path)


def test_structure_holds_no_value_of_any_database():
    import pickle

    lp = knapsack(2)
    database = Database([0.123456789, 0.5], lp.envelope)
    plain = pickle.dumps(lp)
    assert np.float64(0.123456789).tobytes() not in plain
    assert "0.1234" not in repr(lp) + repr(database)
