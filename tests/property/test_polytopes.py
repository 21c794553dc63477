"""Rows over bounds on totals: the counterpart is exact, and its certificate never too good."""

import hashlib
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dp_cmdp import Envelope, LinearProgram, ParametricLP, solve
from dp_cmdp.data.affine import Affine
from dp_cmdp.data.polytope import Polytope
from dp_cmdp.errors import InfeasibleError, InvalidArgumentError, SolverError
from dp_cmdp.program.polytope_rows import Links, PolytopeRows, check_consistent
from dp_cmdp.release.solve import solve_over
from tests.polytopes import corner_rows, slacks, vertices, worst_slacks
from tests.problems import random_parametric_lp

#: Of the programs below, before there were facts about totals.
BOX_PROGRAMS = "807eef38557cf98bbb75264a97919676b34cd84e026622f3ac80c16f566aadb2"

#: Terms of A: row, column, entry, coefficient. Terms of b: row, entry, coefficient.
ROWS = {
    "one entry, one row": ([(0, 0, 0, 1)], []),
    "an entry thrice in a row": ([(0, 0, 0, 1), (0, 1, 0, -2), (0, 0, 0, 3)], []),
    "an entry on both sides": ([(0, 0, 0, 2), (0, 1, 1, 1)], [(0, 0, 1), (0, 2, 1)]),
    "rows that share entries": ([(0, 0, 0, 1), (0, 1, 1, 1), (1, 0, 1, -1), (1, 1, 2, 2)], []),
    "tolerances alone": ([], [(0, 0, 1), (0, 1, -1), (1, 2, 3)]),
    "all of it": (
        [(0, 0, 0, 1), (0, 1, 1, 2), (0, 0, 2, -1), (1, 1, 0, 1), (1, 0, 2, 1), (1, 0, 2, 1)],
        [(0, 1, 1), (1, 2, -2)],
    ),
}
#: Facts about three entries, each within [0, 2], [-1, 1] and [1, 3]: weights, limits.
FACTS = {
    "none": ([], []),
    "one entry": ([[1, 0, 0]], [1]),
    "a total": ([[1, 1, 1]], [3]),
    "differences": ([[1, -1, 0], [-1, 0, 2]], [1, 3]),
    "shared": ([[1, 1, 0], [0, 1, 1], [2, 0, 1]], [1, 2, 4]),
    "redundant": ([[1, 1, 1], [1, 1, 1], [2, 2, 2], [1, 1, 1]], [3, 4, 6, 100]),
    "about entries no row reads": ([[0, 1, 1]], [1]),
    "through entries no row reads": ([[1, 1, 0], [0, -1, 0]], [1, 0.5]),
    "a face": ([[1, 1, 0], [-1, -1, 0]], [1, -1]),
    "a single database": ([[1, 1, 1], [-1, -1, -1]], [0, 0]),
    "an empty fact": ([[0, 0, 0], [1, 0, 1]], [0, 2]),
}
BOXES = {
    "wide": ([0, -1, 1], [2, 1, 3]),
    "one entry known": ([0, 0.5, 1], [2, 0.5, 3]),
}
POINTS = ([1, 1], [-1, 2], [3, -0.5])


def make_program(in_A, in_b, *, entries: int = 3, **parts) -> ParametricLP:
    rows = 1 + max([t[0] for t in (*in_A, *in_b)])
    at = [list(part) for part in zip(*in_A, strict=True)] or [[]] * 4
    right = [list(part) for part in zip(*in_b, strict=True)] or [[]] * 3
    return ParametricLP(
        Envelope(np.full(entries, -1e3), np.full(entries, 1e3)),
        c=[1.0, 1.0],
        A=Affine(
            (rows, 2),
            constant=np.full((rows, 2), 0.25),
            at=(at[0], at[1]),
            entry=at[2],
            coefficient=at[3],
        ),
        b=Affine(
            rows,
            constant=np.full(rows, 8.0),
            at=right[0],
            entry=right[1],
            coefficient=right[2],
        ),
        **parts,
    )


def facts_of(box, facts) -> Polytope:
    weights, limits = facts
    W = np.array(weights, dtype=float).reshape(len(limits), 3)
    return Polytope(*(np.array(end, dtype=float) for end in box), W=W, q=limits)


def best_multipliers(program: ParametricLP, x, polytope: Polytope) -> np.ndarray:
    """Of the program that pushes every row's slack at x as high as its multipliers can prove."""
    rows = program.polytope_rows(polytope)
    part = rows.counterpart()
    m, n, aux = program.A.shape[0], program.num_variables, part.num_auxiliary
    columns = np.concatenate([part.A.toarray(), np.eye(m)], axis=1)
    defining = np.concatenate([part.A_aux.toarray(), np.zeros((part.b_aux.size, m))], axis=1)
    floor = np.full(aux, -np.inf)
    floor[aux - part.num_positive :] = 0.0
    lp = LinearProgram(
        np.concatenate([np.zeros(n + aux), np.ones(m)]),
        np.concatenate([columns, defining]),
        b=np.concatenate([part.b, part.b_aux]),
        lower=np.concatenate([x, floor, np.full(m, -np.inf)]),
        upper=np.concatenate([x, np.full(aux + m, np.inf)]),
    )
    found = solve(lp, certify=False).x[n : n + aux]
    return np.maximum(found[aux - part.num_multipliers :], 0.0)


def check_rows(program: ParametricLP, x, polytope: Polytope) -> None:
    """No multipliers prove more than is true; the best ones prove it all."""
    x = np.array(x, dtype=float)
    truth = worst_slacks(program, x, polytope)
    count = program.polytope_rows(polytope).num_multipliers
    tried = [np.zeros(count), np.ones(count), np.arange(count) % 3 * 0.7, np.full(count, 1e-9)]
    best = best_multipliers(program, x, polytope)
    for multipliers in (*tried, best, best * 1.5, best[::-1].copy()):
        proved = program.certain_slack(x, polytope, multipliers=multipliers)
        for said, true in zip(proved, truth, strict=True):
            assert said <= float(true)  # both rounded once: no multipliers prove more
    proved = program.certain_slack(x, polytope, multipliers=best)
    size = [1 + abs(float(true)) for true in truth]
    assert (np.abs(proved - [float(true) for true in truth]) <= 1e-9 * np.array(size)).all()


def test_over_a_box_the_counterpart_is_the_program_it_was_before_there_were_totals():
    digest = hashlib.sha256()
    for seed in range(40):
        rng = np.random.default_rng([seed, 20])
        program = random_parametric_lp(rng)
        envelope = program.envelope
        ends = np.sort(rng.uniform(envelope.lower, envelope.upper, (2, envelope.num_entries)), 0)
        for lp in (program.robust(*ends), program.robust_over(Polytope(*ends))):
            parts = [lp.c, lp.A.toarray(), lp.b, lp.A_eq.toarray(), lp.b_eq, lp.lower, lp.upper]
            bits = b"".join(np.ascontiguousarray(part, dtype="<f8").tobytes() for part in parts)
        digest.update(bits)
    assert digest.hexdigest() == BOX_PROGRAMS


def test_facts_about_entries_that_no_row_can_use_change_no_bit():
    program = make_program([(0, 0, 0, 1), (0, 1, 0, -1)], [])
    box = [np.array(end, dtype=float) for end in BOXES["wide"]]
    plain, with_fact = (
        program.robust_over(polytope)
        for polytope in (Polytope(*box), Polytope(*box, W=[[0.0, 1.0, 1.0]], q=[2.0]))
    )
    for name in ("c", "b", "lower", "upper"):
        assert getattr(plain, name).tobytes() == getattr(with_fact, name).tobytes()
    assert plain.A.toarray().tobytes() == with_fact.A.toarray().tobytes()


@pytest.mark.parametrize("facts", FACTS)
@pytest.mark.parametrize("rows", ROWS)
def test_the_worst_row_over_a_polytope_is_that_of_its_worst_corner(rows, facts):
    program = make_program(*ROWS[rows])
    for box in BOXES.values():
        polytope = facts_of(box, FACTS[facts])
        if vertices(polytope):
            for x in POINTS:
                check_rows(program, x, polytope)


@pytest.mark.parametrize("engine", ["highs", "cvxpy"])
@pytest.mark.parametrize("lower", [0.0, -3.0])
@pytest.mark.parametrize("facts", FACTS)
def test_the_best_answer_over_a_polytope_is_that_of_all_its_corners(facts, lower, engine):
    """The counterpart by one solver, the rows at all corners by the other."""
    other = {"highs": "cvxpy", "cvxpy": "highs"}[engine]
    polytope = facts_of(BOXES["wide"], FACTS[facts])
    for rows in ("an entry on both sides", "rows that share entries", "all of it"):
        program = make_program(*ROWS[rows], lower=lower, upper=4.0)
        found = solve(program.robust_over(polytope), engine=engine, certify=False).objective
        A, b = corner_rows(program, polytope)
        corners = LinearProgram(found_c(program), A, b=b, lower=program.lower, upper=program.upper)
        known = solve(corners, engine=other, certify=False).objective
        assert found == pytest.approx(known, rel=1e-6, abs=1e-6)


def found_c(program: ParametricLP) -> np.ndarray:
    return np.asarray(program.c.constant)


@pytest.mark.parametrize("facts", FACTS)
def test_an_answer_over_a_polytope_is_certified_for_every_corner(facts):
    polytope = facts_of(BOXES["wide"], FACTS[facts])
    program = make_program(*ROWS["all of it"], lower=-3.0, upper=4.0)
    answer = solve_over(program, polytope)
    proved = program.certain_slack(answer.x, polytope, multipliers=answer.multipliers)
    assert answer.certificate is not None
    assert proved.min() == answer.certificate.worst_slack >= 0
    for corner in vertices(polytope):
        assert min(slacks(program, answer.x, corner)) >= 0


CONTRADICTIONS = {
    "beyond the box": ([[1, 1, 1]], [-1]),
    "each other": ([[1, 1, 0], [-1, -1, 0]], [1, -1.5]),
    "in a ring": ([[1, -1, 0], [0, 1, -1], [-1, 0, 1]], [-1, -1, -1]),
    "an empty sum": ([[0, 0, 0]], [-1]),
    "about entries no row reads": ([[0, 1, 1]], [-1]),
}


@pytest.mark.parametrize("scale", [2.0**-400, 2.0**-34, 2.0**100])
@pytest.mark.parametrize("facts", CONTRADICTIONS)
def test_contradictions_are_seen_at_any_scale_of_the_data(facts, scale):
    W, q = CONTRADICTIONS[facts]
    lower, upper = (scale * np.array(end, dtype=float) for end in BOXES["wide"])
    with pytest.raises(InvalidArgumentError, match="cannot come from one database"):
        check_consistent(Polytope(lower, upper, W=W, q=scale * np.array(q, dtype=float)))
    check_consistent(Polytope(lower, upper, W=W, q=scale * np.full(len(q), 100.0)))


@pytest.mark.parametrize("facts", CONTRADICTIONS)
def test_facts_that_contradict_each_other_are_refused_by_name(facts):
    polytope = facts_of(BOXES["wide"], CONTRADICTIONS[facts])
    assert vertices(polytope) == []
    program = make_program(*ROWS["one entry, one row"], upper=4.0)
    with pytest.raises(InvalidArgumentError, match="cannot come from one database"):
        solve_over(program, polytope)


@pytest.mark.parametrize("scale", [2.0**-60, 2.0**-30, 2.0**-10, 2.0**10, 2.0**30, 2.0**60])
@pytest.mark.parametrize("unit", [2.0**-30, 1.0, 2.0**30])
def test_at_tiny_and_huge_scales_an_answer_is_certified_or_refused_never_wrong(scale, unit):
    """θ in units of `scale`, facts stated in units of `unit`."""
    program = make_program([(0, 0, 0, 1 / scale), (0, 1, 1, 2 / scale)], [(0, 2, 1 / scale)],
                           upper=4.0)  # fmt: skip
    ends = [scale * np.array(end, dtype=float) for end in BOXES["wide"]]
    W = np.array([[1.0, 1.0, -1.0]]) / scale * unit
    polytope = Polytope(*ends, W=W, q=[0.5 * unit])
    for multipliers in (0.0, 0.5 / unit, 2.0 / unit):
        proved = program.certain_slack([1.0, 0.5], polytope, multipliers=[multipliers])
        assert proved[0] <= float(worst_slacks(program, [1.0, 0.5], polytope)[0])
    try:
        answer = solve_over(program, polytope)
    except (SolverError, InvalidArgumentError):
        assert not 2.0**-30 <= scale <= 2.0**30 or unit != 1.0
        return
    for corner in vertices(polytope):
        assert slacks(program, answer.x, corner)[0] >= 0


def test_a_negative_multiplier_and_a_missing_one_are_refused():
    program = make_program(*ROWS["all of it"])
    polytope = facts_of(BOXES["wide"], FACTS["a total"])
    with pytest.raises(InvalidArgumentError, match="must not be negative"):
        program.certain_slack([1.0, 1.0], polytope, multipliers=[-1e-300, 0.0])
    with pytest.raises(InvalidArgumentError, match="multipliers"):
        program.certain_slack([1.0, 1.0], polytope, multipliers=[0.5])


def test_a_row_is_linked_with_all_facts_it_can_use_and_with_no_other():
    program = make_program([(0, 0, 0, 1), (1, 0, 2, 1)], [])
    W = np.array([[1.0, 1.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]])
    polytope = Polytope([0, 0, 0], [1, 1, 1], W=W, q=np.ones(4))
    links = Links.of(program.uncertain_rows, polytope.W)
    pairs = set(zip(links.row.tolist(), links.fact.tolist(), strict=True))
    assert pairs == {(0, 0), (0, 1), (1, 2)}
    assert PolytopeRows(program.uncertain_rows, polytope).num_multipliers == 3


def test_an_interval_of_its_own_holds_for_one_row_only():
    """As the proposals use it: each pair of row and entry has its interval."""
    program = make_program([(0, 0, 0, 1), (1, 0, 0, 1)], [])
    pairs = program.uncertain_rows
    polytope = Polytope([0, 0, 0], [2, 1, 1], W=[[1.0, 1.0, 0.0]], q=[5.0])
    rows = PolytopeRows(pairs, polytope, low=np.array([1.0, 0.0]), high=np.array([1.0, 2.0]))
    x = np.array([1.0, 0.0])
    assert rows.exact_slack(x, np.zeros(2)).tolist() == [8 - 0.25 - 1, 8 - 0.25 - 2]


small = st.integers(-4, 4).map(float)


@st.composite
def polytopes_and_rows(draw):
    entries = draw(st.integers(1, 3))
    low = draw(st.lists(small, min_size=entries, max_size=entries))
    width = draw(st.lists(st.integers(0, 3), min_size=entries, max_size=entries))
    facts = draw(st.integers(0, 3))
    weights = draw(
        st.lists(
            st.lists(small, min_size=entries, max_size=entries), min_size=facts, max_size=facts
        )
    )
    limits = draw(st.lists(st.integers(-2, 12), min_size=facts, max_size=facts))
    upper = [a + b for a, b in zip(low, width, strict=True)]
    W = np.array(weights).reshape(facts, entries)
    place = st.tuples(st.integers(0, 1), st.integers(0, 1), st.integers(0, entries - 1), small)
    right = st.tuples(st.integers(0, 1), st.integers(0, entries - 1), small)
    in_A = draw(st.lists(place, min_size=1, max_size=5))
    in_b = draw(st.lists(right, max_size=2))
    x = draw(st.lists(small.map(lambda v: v / 2), min_size=2, max_size=2))
    polytope = Polytope(low, upper, W=W, q=limits)
    return make_program(in_A, in_b, entries=entries, lower=-4.0, upper=4.0), polytope, x


@settings(max_examples=100)
@given(polytopes_and_rows())
def test_rows_over_any_small_polytope_are_those_of_its_corners(case):
    program, polytope, x = case
    if vertices(polytope):
        check_rows(program, x, polytope)
    else:
        with pytest.raises(InvalidArgumentError, match="cannot come from one database"):
            solve_over(program, polytope)


@settings(max_examples=60)
@given(polytopes_and_rows())
def test_answers_over_any_small_polytope_hold_at_its_corners_and_are_the_best(case):
    program, polytope, _ = case
    if not vertices(polytope):
        return
    A, b = corner_rows(program, polytope)
    corners = LinearProgram(found_c(program), A, b=b, lower=program.lower, upper=program.upper)
    try:
        known = solve(corners, certify=False).objective
    except InfeasibleError:
        with pytest.raises(SolverError):
            solve_over(program, polytope)
        return
    try:
        answer = solve_over(program, polytope)
    except SolverError:  # rows without interior need not hold for a point made of floats
        tighter = LinearProgram(corners.c, A, b=b - 1e-7, lower=program.lower, upper=program.upper)
        with pytest.raises(InfeasibleError):
            solve(tighter, certify=False)
        return
    assert answer.objective == pytest.approx(known, rel=1e-6, abs=1e-6)
    for corner in vertices(polytope):
        assert min(slacks(program, answer.x, corner)) >= 0


def test_whether_a_database_satisfies_the_facts_is_decided_in_fractions():
    polytope = Polytope([0, 0], [1, 1], W=[[0.1, 0.2]], q=[0.3])
    exact = Fraction(0.1) + Fraction(0.2) <= Fraction(0.3)
    assert polytope.contains([1.0, 1.0]) is exact is False
    assert polytope.contains([1.0, 1 - 2.0**-52])
