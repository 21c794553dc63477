"""Answers over boxes and polytopes: safe in fractions, as good as scipy's, and bounded."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy import sparse

from dp_cmdp._src.base.errors import InfeasibleError, InvalidArgumentError, UnboundedError
from dp_cmdp._src.data.envelope import Envelope, UncertaintySet
from dp_cmdp._src.program.answer import Answer
from dp_cmdp._src.program.parametric import LPAnswer, ParametricLP
from tests.program.programs import (
    affine,
    certain_slack,
    exact_slack,
    knapsack,
    random_program,
    random_set,
    written_out,
)


@pytest.mark.parametrize("inequalities", [0, 1, 3])
@pytest.mark.parametrize("block", range(5))
def test_answers_are_safe_in_fractions_as_good_as_scipys_and_bounded(block, inequalities):
    for seed in range(20 * block, 20 * block + 20):
        rng = np.random.default_rng(seed)
        scale = 10.0 ** rng.integers(-9, 10) if seed % 3 == 0 else 1.0
        lp = random_program(rng, scale=scale, equalities=seed % 4 == 0)
        known = random_set(rng, lp.envelope, inequalities=inequalities)
        estimate = (known.lower + known.upper) / 2
        found = lp.answer(known, estimate)
        slack = certain_slack(lp, known, found.x, found.multipliers)
        assert min(slack) >= 0
        assert found.certificate.verified
        pairs = zip(found.certificate.slack.tolist(), slack, strict=True)
        assert all(Fraction(claimed) <= proved for claimed, proved in pairs)
        assert ((lp.lower <= found.x) & (found.x <= lp.upper)).all()
        assert found.certificate.equality_residual <= 2.0**-44
        best, sense = written_out(lp, known, estimate), -1.0 if lp.minimizes else 1.0
        assert found.value == pytest.approx(best, rel=1e-7, abs=1e-7)
        assert sense * (found.bound - found.value) >= 0.0
        assert found.bound == pytest.approx(best, rel=1e-6, abs=1e-6)
        assert lp.certify(found.x, known)


def test_over_a_box_the_certified_slack_is_that_of_the_worst_corner():
    for seed in range(30):
        rng = np.random.default_rng(seed)
        lp = random_program(rng)
        box = random_set(rng, lp.envelope, inequalities=0)
        x = np.clip(rng.normal(size=lp.lower.size), lp.lower, lp.upper)
        corners = product(*zip(box.lower, box.upper, strict=True))
        least = list(map(min, zip(*(exact_slack(lp, c, x) for c in corners), strict=True)))
        proof = lp.certify(x, box)
        assert proof.verified == (min(least) >= 0)
        assert proof.worst_slack == pytest.approx(float(min(least)), rel=1e-15)
        assert all(
            Fraction(s) <= exact for s, exact in zip(proof.slack.tolist(), least, strict=True)
        )


def test_no_database_of_a_polytope_breaks_a_row():
    from scipy.optimize import linprog

    for seed in range(20):
        rng = np.random.default_rng(seed)
        lp = random_program(rng)
        known = random_set(rng, lp.envelope, inequalities=3)
        found = lp.answer(known)
        for weight in found.weights.toarray():
            worst = linprog(
                -weight,
                A_ub=known.W.toarray(),
                b_ub=known.q,
                bounds=list(zip(known.lower, known.upper, strict=True)),
            ).x
            slack = exact_slack(lp, worst, found.x)
            size = 1 + np.abs(found.x).max()
            assert float(min(slack)) >= -1e-8 * size


def test_an_entry_on_both_sides_of_a_row_is_optimised_jointly():
    # θ x ≤ 1 + θ, 0 ≤ θ ≤ 2, x ≥ 0. Jointly x ≤ 1.5 (at θ = 2); entry by entry it would be 0.5.
    theta = Envelope([0.0], [2.0])
    lp = ParametricLP([1.0], A=[[theta[0]]], b=[1 + theta[0]], upper=10)
    assert lp.answer(theta.uncertainty).x[0] == pytest.approx(1.5)


@pytest.mark.parametrize(("sense", "best"), [("maximize", 0.5), ("minimize", -1.0)])
def test_free_variables_meet_the_worse_end_of_either_sign(sense, best):
    # θ x ≤ 1 with −1 ≤ θ ≤ 2: −1 ≤ x ≤ 1/2
    theta = Envelope([-1.0], [2.0])
    lp = ParametricLP(**{sense: [1.0]}, A=[[theta[0]]], b=[1.0], lower=-np.inf)
    found = lp.answer(theta.uncertainty)
    assert found.value == pytest.approx(best)
    assert (found.bound - best) * (1 if sense == "maximize" else -1) >= 0
    assert found.bound == pytest.approx(best)


def test_a_sum_that_is_known_is_worth_more_than_its_parts():
    theta = Envelope([1.0, 1.0], [2.0, 2.0])
    lp = ParametricLP([1.0, 1.0], A=[theta[:]], b=[6.0], upper=2.0)
    total = UncertaintySet(
        theta.lower, theta.upper, sparse.csr_array([[1.0, 1.0]]), np.array([3.0])
    )
    robust, found = lp.answer(theta.uncertainty), lp.answer(total)
    assert (robust.value, found.value) == (pytest.approx(3.0), pytest.approx(4.0))
    assert (robust.source, found.source) == ("robust", "release")
    assert found.multipliers.toarray() == pytest.approx(np.array([[2.0]]))
    assert found.weights.toarray() == pytest.approx(np.array([[2.0, 2.0]]))


def test_inequalities_are_combined_where_they_share_entries():
    # of θ0 + θ1 ≤ 1 and θ1 + θ2 ≥ 2 (entries in [0, 1]) follows θ0 ≤ 0, though row 0 reads θ0 alone
    theta = Envelope([0.0] * 3, [1.0] * 3)
    lp = ParametricLP([1.0], A=[[1.0 + 9 * theta[0]]], b=[1.0], upper=5)
    W = sparse.csr_array([[1.0, 1.0, 0.0], [0.0, -1.0, -1.0]])
    found = lp.answer(UncertaintySet(theta.lower, theta.upper, W, np.array([1.0, -2.0])))
    assert found.value == pytest.approx(1.0)
    assert found.bound == pytest.approx(1.0)


def test_signs_say_where_a_row_only_gets_worse():
    theta = Envelope([1.0] * 4, [2.0] * 4)
    A = [[theta[0], -theta[1], 0.0], [theta[2], 0.0, theta[0]]]
    lp = ParametricLP(np.ones(3), A=A, b=[theta[3], 1.0], lower=[0, 0, -1], upper=5)
    assert lp.signs.nnz == 5  # the sign of θ0 in row 1 depends on x: a stored 0
    assert lp.signs.toarray().tolist() == [[1, -1, 0, -1], [0, 0, 1, 0]]


@pytest.mark.parametrize("size", [2.0**-300, 2.0**300])
def test_extreme_units_are_certified(size):
    theta = Envelope([0.5], [2.0])
    lp = ParametricLP([1.0], A=[[size * theta[0]]], b=[5 * size])
    found = lp.answer(theta.uncertainty)
    assert found.x[0] == pytest.approx(2.5)
    assert found.certificate
    assert found.bound == pytest.approx(2.5)


def test_a_start_changes_the_way_and_not_the_answer():
    rng = np.random.default_rng(3)
    lp = knapsack(30, low=0.1)
    robust = lp.answer(lp.envelope.uncertainty)
    lower = rng.uniform(0.1, 0.6, 30)
    known = UncertaintySet.box(lower, lower + 0.2)
    cold, warm = lp.answer(known), lp.answer(known, start=robust)
    assert warm.value == pytest.approx(cold.value)
    assert warm.certificate
    other = knapsack(7)
    assert other.answer(other.envelope.uncertainty, start=robust).certificate  # of another shape


def test_what_contradicts_itself_comes_from_no_database():
    lp = knapsack(3)
    low, high = lp.envelope.lower, lp.envelope.upper
    empty = UncertaintySet.box(high, low)
    W = sparse.csr_array([[1.0, 1.0, 1.0], [-1.0, -1.0, -1.0]])
    contrary = UncertaintySet(low, high, W, np.array([1.0, -1.5]))
    for known in (empty, contrary):
        with pytest.raises(InvalidArgumentError, match="contradict each other"):
            lp.answer(known)
        with pytest.raises(InvalidArgumentError, match="contradict each other"):
            lp.certify(np.zeros(3), known)
    just = UncertaintySet(low, high, W, np.array([1.0, -1.0]))
    assert lp.answer(just).certificate


def test_infeasible_and_unbounded_programs_without_private_numbers_are_named():
    none = ParametricLP([1.0], A=[[1.0]], b=[-1.0])
    with pytest.raises(InfeasibleError, match="relax"):
        none.answer(none.envelope.uncertainty)
    free = ParametricLP([1.0], A=np.zeros((0, 1)), b=np.zeros(0))
    with pytest.raises(UnboundedError, match="upper bounds"):
        free.answer(free.envelope.uncertainty)


def test_certify_names_what_fails():
    theta = Envelope([1.0], [2.0])
    lp = ParametricLP(
        [1.0, 1.0], A=[[theta[0], 0.0], [0.0, 1.0]], b=[4.0, 3.0], A_eq=[[1.0, 1.0]], b_eq=[3.0]
    )
    box = theta.uncertainty
    good = lp.certify([1.0, 2.0], box)
    assert good.verified
    assert bool(good)
    assert good.everywhere
    assert "every database of the envelope" in repr(good)
    assert "row 0 may be exceeded by 2" in repr(lp.certify([3.0, 0.0], box))
    assert "row 1" in repr(lp.certify([-1.0, 4.0], box))
    assert "variable 0 is outside" in repr(lp.certify([-1.0, 3.0], box))
    assert "equality row is missed" in repr(lp.certify([1.0, 1.0], box))
    narrow = lp.certify([1.5, 1.5], UncertaintySet.box(np.array([1.0]), np.array([1.1])))
    assert "the release allows" in repr(narrow)
    with pytest.raises(InvalidArgumentError, match="2 entries"):
        lp.certify([1.0], box)
    with pytest.raises(InvalidArgumentError, match="finite"):
        lp.certify([1.0, np.nan], box)


def test_residues_below_the_rounding_of_floats_are_seen():
    above = 1.0 + 2.0**-52
    theta = Envelope([0.0], [above])
    lp = ParametricLP([1.0], A=[[above * theta[0]]], b=[1.0 + 3 * 2.0**-52])
    assert lp.certify([1.0], theta.uncertainty)
    assert not lp.certify([above], theta.uncertainty)  # off by 2^-104


def test_bounds_hold_for_programs_that_nothing_bounds():
    # x0 − x1 ≤ θ, maximise x0 − x1: both are unlimited, the optimum is not
    theta = Envelope([1.0], [2.0])
    lp = ParametricLP([1.0, -1.0], A=[[1.0, -1.0]], b=[theta[0]])
    found = lp.answer(theta.uncertainty)
    assert found.bound == pytest.approx(1.0)
    assert found.bound >= found.value


def test_the_bound_is_exact_where_rows_bound_every_variable():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 8))
        theta = Envelope(0.3, 1.0, shape=(2, n))
        lp = ParametricLP(rng.random(n) / 3, A=theta[:], b=rng.random(2) + 1)
        found = lp.answer(theta.uncertainty)
        assert found.value <= found.bound <= found.value * (1 + 1e-12)


def test_saved_answers_are_proved_again_when_they_are_loaded(tmp_path):
    lp = knapsack(3, low=0.2)
    found = lp.answer(lp.envelope.uncertainty)
    assert found.save(tmp_path / "answer") == tmp_path / "answer"
    loaded = Answer.load(tmp_path / "answer")
    assert isinstance(loaded, LPAnswer)
    assert loaded.x.tolist() == found.x.tolist()
    assert loaded.certificate.slack.tolist() == found.certificate.slack.tolist()
    assert (loaded.value, loaded.bound) == (found.value, found.bound)
    assert loaded.problem.envelope == lp.envelope


def test_an_answer_to_another_problem_is_refused_when_it_is_loaded(tmp_path):
    folder = tmp_path / "answer"
    knapsack(3, low=0.2, capacity=2.0).answer(
        knapsack(3, low=0.2, capacity=2.0).envelope.uncertainty
    ).save(folder)
    knapsack(3, low=0.2).save(folder / "problem.npz")
    with pytest.raises(InvalidArgumentError, match="not verified"):
        Answer.load(folder)
    (folder / "answer.npz").unlink()
    with pytest.raises(InvalidArgumentError, match="existing file"):
        Answer.load(folder)


def test_terms_of_sums_that_are_no_floats_are_kept_exactly():
    theta = Envelope([1.0], [1.0 + 2.0**-30])
    A = affine(theta, (1, 1), at=([0, 0], [0, 0]), entry=[0, 0], coefficient=[1.0, 2.0**-60])
    lp = ParametricLP([1.0], A=A, b=[1.0])
    assert not lp.certify([1.0], UncertaintySet.box(np.array([1.0]), np.array([1.0])))
    found = lp.answer(theta.uncertainty)
    assert min(certain_slack(lp, theta.uncertainty, found.x, found.multipliers)) >= 0


def test_answers_to_a_release_are_saved_with_it(tmp_path):
    import dp_cmdp as dp

    lp = knapsack(3, low=0.2)
    found = dp.solve(lp, [0.3, 0.5, 0.9], epsilon=1, delta=1e-3, strategy="queries")
    loaded = Answer.load(found.save(tmp_path / "answer"))
    assert loaded.release is not None
    assert loaded.certificate.slack.tolist() == found.certificate.slack.tolist()
    assert loaded.multipliers.toarray().tolist() == found.multipliers.toarray().tolist()
    assert (loaded.epsilon, loaded.delta) == (1, Fraction(1, 1000))
    assert loaded.robust.value <= loaded.value + 1e-9
    robust = lp.answer(lp.envelope.uncertainty)
    assert Answer.load(robust.save(tmp_path / "answer")).release is None  # no file is left behind


def test_an_answer_is_not_proved_by_the_release_of_a_narrower_envelope(tmp_path):
    import dp_cmdp as dp

    wide, narrow = Envelope([1.0], [4.0], radius=0.1), Envelope([0.1], [0.2], radius=0.1)
    lp = ParametricLP([1.0], A=[[wide[0]]], b=[2.0], upper=9)
    folder = dp.solve(lp, [3.9], epsilon=1, delta=1e-3, strategy="entries").save(tmp_path / "one")
    dp.publish(narrow, [0.15], epsilon=1, delta=1e-3, strategy="entries").save(
        folder / "release.npz"
    )
    with pytest.raises(InvalidArgumentError, match="another envelope"):
        Answer.load(folder)


def test_negative_multipliers_prove_nothing():
    """−1 times an inequality that never binds, θ₀ + θ₁ ≤ 9, would prove what is false."""
    theta = Envelope(0.0, 1.0, shape=2, radius=0.1)
    lp = ParametricLP([1.0], A=[[theta[0] + theta[1]]], b=[1.0], upper=9.0)
    known = UncertaintySet(np.zeros(2), np.ones(2), sparse.csr_array([[1.0, 1.0]]), np.array([9.0]))
    assert lp._certificate(np.array([0.5]), known, sparse.csr_array([[0.0]]))
    for multiplier in (0.0, -1.0):
        assert not lp._certificate(np.array([1.0]), known, sparse.csr_array([[multiplier]]))


@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_multipliers_that_are_no_numbers_prove_nothing(number):
    known = UncertaintySet(np.zeros(2), np.ones(2), sparse.csr_array([[1.0, 1.0]]), np.array([1.5]))
    lp = knapsack(2, low=0.0)
    multipliers = sparse.csr_array([[number]])
    with pytest.raises(InvalidArgumentError, match="finite"):
        lp._certificate(np.ones(2), known, multipliers)
