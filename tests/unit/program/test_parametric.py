"""Affine programs and their robust counterparts."""

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dp_cmdp import (
    Database,
    Envelope,
    ParametricLP,
    PrivacyBudget,
    release_blocks,
    release_database,
    solve,
    solve_private,
)
from dp_cmdp.data.affine import Affine
from dp_cmdp.errors import AssumptionError, InvalidArgumentError
from dp_cmdp.program.entrywise import entrywise
from tests.problems import same_matrix


def counterexample() -> ParametricLP:
    """A(1) = [1 0], A(2) = [0 1], b = 1.5, x1, x2 >= 1: a common point exists, Â has none."""
    envelope = Envelope([1.0], [2.0])
    A = Affine(
        (1, 2), constant=[[2.0, -1.0]], at=([0, 0], [0, 1]), entry=[0, 0], coefficient=[-1, 1]
    )
    return ParametricLP(
        envelope, c=[1.0, 1.0], A=A, b=[1.5], lower=1.0, upper=10.0, row_names=["safety"]
    )


def test_values_are_affine_in_the_database():
    envelope = Envelope(0.0, 1.0, shape=2)
    program = ParametricLP(
        envelope,
        c=Affine(2, constant=[1.0, 0.0], at=[1], entry=[1], coefficient=[3.0]),
        A=Affine((1, 2), constant=[[0.0, 5.0]], at=([0], [0]), entry=[0], coefficient=[2.0]),
        b=Affine(1, constant=[7.0], at=[0], entry=[1], coefficient=[-1.0]),
    )
    lp = program.at([0.5, 0.25])
    assert lp.c.tolist() == [1.0, 0.75]
    assert lp.A.toarray().tolist() == [[1.0, 5.0]]
    assert lp.b.tolist() == [6.75]


def test_an_entry_on_both_sides_of_a_row_is_optimised_jointly():
    # θ x ≤ 1 + θ, 0 ≤ θ ≤ 2, x ≥ 0. Jointly x ≤ 1.5 (at θ = 2); entry by entry it would be 0.5.
    program = ParametricLP(
        Envelope([0.0], [2.0]),
        c=[1.0],
        A=Affine((1, 1), at=([0], [0]), entry=[0]),
        b=Affine(1, constant=[1.0], at=[0], entry=[0]),
        upper=10.0,
    )
    assert solve(program.robust([0.0], [2.0])).x[0] == pytest.approx(1.5)


def test_free_variables_meet_the_worse_end_of_either_sign():
    # θ x ≤ 1 with −1 ≤ θ ≤ 2: −1 ≤ x ≤ 1/2
    for sign, best in ((1.0, 0.5), (-1.0, 1.0)):
        program = ParametricLP(
            Envelope([-1.0], [2.0]),
            c=[sign],
            A=Affine((1, 1), at=([0], [0]), entry=[0]),
            b=[1.0],
            lower=-np.inf,
        )
        assert solve(program.robust([-1.0], [2.0])).objective == pytest.approx(best)


def test_the_robust_counterpart_is_exactly_the_intersection_over_all_corners():
    from tests.problems import random_parametric_lp

    for seed in range(40):
        program = random_parametric_lp(np.random.default_rng(seed))
        envelope = program.envelope
        robust = solve(program.robust(envelope.lower, envelope.upper), certify=False).objective
        corners = itertools.product(*zip(envelope.lower, envelope.upper, strict=True))
        rows, sides = [], []
        for corner in corners:
            lp = program.at(corner)
            rows.append(lp.A.toarray())
            sides.append(lp.b)
        from dp_cmdp import LinearProgram

        middle = program.at((envelope.lower + envelope.upper) / 2)
        intersection = LinearProgram(
            middle.c,
            np.vstack(rows),
            b=np.concatenate(sides),
            lower=program.lower,
            upper=program.upper,
        )
        assert robust == pytest.approx(solve(intersection, certify=False).objective, abs=1e-7)


def test_the_counterexample_to_the_papers_feasibility_theorem_is_caught_before_any_data_is_read():
    program = counterexample()
    for theta in (1.0, 1.5, 2.0):  # the paper's assumption holds: (1, 1) suits every database
        assert program.at([theta]).slack([1.0, 1.0]).min() >= 0
    with pytest.raises(AssumptionError, match=r"safety by 0\.5") as caught:
        entrywise(program).check_robust_feasibility()
    assert caught.value.label == "ass:feast"
    assert caught.value.rows == ("safety",)
    assert caught.value.relaxation == pytest.approx([0.5])


def test_algorithm_1_refuses_the_counterexample_and_the_database_release_solves_it():
    program = counterexample()
    database = Database([1.25], program.envelope)
    budget, rng = PrivacyBudget(1, 0.1), np.random.default_rng(0)
    with pytest.raises(AssumptionError):
        release_blocks(database, budget, program=program, alphas={"A": 1}, rng=rng)
    program.check_robust_feasibility()
    x = solve_private(program, release_database(database, budget, rng=rng)).x
    assert program.worst_case_slack(x, lower=[1.25], upper=[1.25]).min() >= 0


def test_the_named_relaxation_repairs_the_program():
    program = counterexample()
    repaired = ParametricLP(
        program.envelope, c=program.c, A=program.A, b=[2.0 + 1e-6], lower=1.0, upper=10.0
    )
    entrywise(repaired).check_robust_feasibility()


def test_contradicting_public_rows_are_told_apart():
    program = ParametricLP(Envelope([0.0], [1.0]), c=[1.0], A_ub=[[1.0]], b_ub=[-1.0])
    with pytest.raises(AssumptionError, match="public rows"):
        program.check_robust_feasibility()


def test_unboundedness_for_some_database_names_the_variables():
    envelope = Envelope([0.0], [1.0])
    c = Affine(2, constant=[-0.5, 1.0], at=[0], entry=[0])  # positive only for θ > 1/2
    program = ParametricLP(envelope, c=c, upper=[np.inf, 3.0])
    with pytest.raises(AssumptionError, match=r"x\[0\]") as caught:
        program.check_boundedness()
    assert caught.value.label == "ass:bounded"
    ParametricLP(envelope, c=c, upper=3.0).check_boundedness()


def test_noise_on_the_objective_needs_more_boundedness():
    envelope = Envelope([0.0], [1.0])
    c = Affine(1, constant=[-5.0], at=[0], entry=[0])  # always negative: bounded at x = 0
    program = ParametricLP(envelope, c=c)
    program.check_boundedness()
    with pytest.raises(AssumptionError):
        program.check_boundedness(any_objective=True)


def test_sensitivity_counts_every_place_an_entry_reaches():
    envelope = Envelope(0.0, 1.0, shape=3, radius=0.1, records=[0, 0, 1])
    A = Affine((1, 4), at=(0, np.arange(4)), entry=[0, 0, 1, 2], coefficient=[1.0, -2.0, 1.0, 3.5])
    program = ParametricLP(envelope, c=np.ones(4), A=A, b=[1.0])
    assert program.sensitivity("A") == pytest.approx(0.1 * (1 + 2 + 1))
    assert program.sensitivity("c") == 0.0


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda e: ParametricLP(e, c=[1.0], A=Affine((1, 2)), b=[1.0]), "A must be an Affine"),
        (lambda e: ParametricLP(e, c=[1.0], A=Affine((2, 1)), b=[1.0]), "b must have 2 entries"),
        (lambda e: ParametricLP(e, c=Affine(1, at=[0], entry=[9])), "reads database entry 9"),
        (
            lambda e: ParametricLP(e, c=[1.0], A=Affine((1, 1)), b=[1], row_names=["a", "b"]),
            "names",
        ),
        (lambda e: Affine(2, at=[2], entry=[0]), "at must index inside"),
        (lambda e: Affine(2, at=[0.5], entry=[0]), "at must hold integers"),
        (lambda e: Affine((2, 2), at=[0], entry=[0]), "at must be a pair"),
        (lambda e: Affine(2, at=[0], entry=[-1]), "entry must hold non-negative"),
        (lambda e: Affine(2, at=[0], entry=[0], coefficient=np.nan), "coefficient must be finite"),
        (lambda e: Affine((1, 1, 1)), "shape must be"),
        (lambda e: Affine((2, 2), constant=np.ones((3, 2))), "constant must have shape"),
        (lambda e: ParametricLP(e, c=[1.0]).robust([1.0], [0.0]), "lower must not exceed"),
    ],
)
def test_ill_formed_structures_are_refused_by_name(call, named):
    with pytest.raises(InvalidArgumentError, match=named):
        call(Envelope([0.0], [1.0]))


def test_terms_that_meet_are_added_and_cancelled_terms_are_public():
    v = Affine(2, at=[0, 0, 1, 1], entry=[0, 0, 0, 0], coefficient=[1.0, 2.0, 1.0, -1.0])
    assert v.coefficient.tolist() == [3.0]
    assert Affine(2, at=[0, 0], entry=[0, 0], coefficient=[3.0, -3.0]).is_public


def test_structure_holds_no_value_of_any_database():
    envelope = Envelope([0.0], [1.0])
    program = ParametricLP(envelope, c=Affine(1, at=[0], entry=[0]), upper=1.0)
    release_database(
        Database([0.123456789], envelope), PrivacyBudget(1, 0.1), rng=np.random.default_rng(0)
    )
    import pickle

    assert b"0.1234" not in pickle.dumps(program)
    assert np.float64(0.123456789).tobytes() not in pickle.dumps(program)


def test_assumption_errors_travel_between_processes():
    import pickle

    with pytest.raises(AssumptionError) as caught:
        entrywise(counterexample()).check_robust_feasibility()
    copied = pickle.loads(pickle.dumps(caught.value))
    assert (str(copied), copied.rows) == (str(caught.value), caught.value.rows)
    assert copied.relaxation == caught.value.relaxation


def test_public_costs_cannot_hide_an_unbounded_noisy_direction():
    # x0 ≤ x1 and x1 costs 100: bounded for every c in the envelope, not when c0 is noisy
    c = Affine(2, constant=[0.0, -100.0], at=[0], entry=[0])
    program = ParametricLP(Envelope([0.0], [1.0]), c=c, A_ub=[[1.0, -1.0]], b_ub=[0.0])
    program.check_boundedness()
    with pytest.raises(AssumptionError):
        program.check_boundedness(any_objective=True)


def test_a_free_variable_with_a_noisy_objective_must_be_held_by_rows():
    c = Affine(1, at=[0], entry=[0])
    free = ParametricLP(Envelope([0.5], [1.0]), c=c, A_ub=[[1.0]], b_ub=[2.0], lower=-np.inf)
    free.check_boundedness()
    with pytest.raises(AssumptionError):
        free.check_boundedness(any_objective=True)
    held = ParametricLP(
        Envelope([0.5], [1.0]), c=c, A_ub=[[1.0], [-1.0]], b_ub=[2.0, 2.0], lower=-np.inf
    )
    held.check_boundedness(any_objective=True)


def test_robust_infeasibility_is_seen_at_small_scales():
    program = ParametricLP(
        Envelope([-3e-9], [-1e-9]),
        c=[1.0],
        A=Affine((1, 1), constant=[[1.0]]),
        b=Affine(1, at=[0], entry=[0]),
    )
    with pytest.raises(AssumptionError):
        program.check_robust_feasibility()


def mixed_program():
    """Constants under sensitive positions, one entry in several places of both signs."""
    return ParametricLP(
        Envelope([0.0, -1.0, 0.1], [1.0, 2.0, 0.3]),
        c=Affine(2, constant=[0.1, 5.0], at=[0, 0], entry=[0, 1], coefficient=[0.3, -2.0]),
        A=Affine(
            (2, 2),
            constant=[[0.1, 7.0], [0.0, -3.0]],
            at=([0, 0, 1], [0, 0, 1]),
            entry=[0, 2, 1],
            coefficient=[0.7, -1.0, 2.0],
        ),
        b=Affine(2, constant=[4.0, 5.0], at=[1], entry=[1], coefficient=0.5),
    )


@pytest.mark.parametrize("block", ["A", "b", "c"])
def test_extremes_are_the_bounds_where_data_is_read_and_the_constants_elsewhere(block):
    program = mixed_program()
    part, box = getattr(program, block), (program.envelope.lower, program.envelope.upper)
    row, col, _ = part.sensitive()
    at = row if block != "A" else (row, col)
    constant = part.constant if block != "A" else part.constant.toarray()
    for whole, bound in zip(part.extremes(*box), part.bounds(*box), strict=True):
        expected = np.array(constant)
        expected[at] = bound
        found = whole if block != "A" else whole.toarray()
        assert found.tolist() == expected.tolist()
    assert part.extremes(*box)[0] is not part.constant


def test_a_program_with_another_objective_or_side_keeps_the_rest_and_is_checked():
    lp = mixed_program().at([0.5, 0.5, 0.2])
    other = replace(lp, c=[1.0, 2.0], b=[8.0, 9.0])
    assert other.c.tolist() == [1.0, 2.0]
    assert other.b.tolist() == [8.0, 9.0]
    assert same_matrix(other.A, lp.A)
    with pytest.raises(InvalidArgumentError, match="b must"):
        replace(lp, b=[1.0])


def test_the_pairs_of_rows_and_entries_are_made_once_and_weigh_as_the_rows_do():
    program, x = mixed_program(), np.array([0.5, 0.25])
    pairs = program.uncertain_rows
    program.robust(program.envelope.lower, program.envelope.upper)
    assert program.uncertain_rows is pairs
    assert replace(program, upper=1.0).uncertain_rows is not pairs
    found = dict(zip(zip(pairs.row, pairs.entry, strict=True), pairs.weights(x), strict=True))
    assert found == {(0, 0): 0.7 * 0.5, (0, 2): -0.5, (1, 1): 2.0 * 0.25 - 0.5}


def test_the_sensitive_blocks_share_a_budget_equally():
    program = mixed_program()
    assert program.sensitive_blocks == ("A", "b", "c")
    assert program.equal_shares == dict.fromkeys("Abc", Fraction(1, 3))
    public = replace(program, c=[1.0, 1.0])
    assert public.equal_shares == {"A": Fraction(1, 2), "b": Fraction(1, 2)}
    assert ParametricLP(Envelope([0.0], [1.0]), c=[1.0]).equal_shares == {}
