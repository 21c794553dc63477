"""A file's program with private numbers: the same program, and nothing public from private ones."""

import re
from fractions import Fraction

import numpy as np
import pytest

from dp_cmdp import PrivacyBudget, release_and_solve, solve
from dp_cmdp.errors import AssumptionError, InvalidArgumentError
from dp_cmdp.frontends.lp_file import read_lp
from dp_cmdp.frontends.lp_spec import private_blocks
from dp_cmdp.frontends.private_lp import private_program
from tests.lp_files import planning, random_model, written

HOURS = {"kind": "rhs", "name": "hours", "rows": ["HOURS"], "lower": 80, "upper": 120, "radius": 1}
CHAIR = {
    "kind": "coefficient",
    "name": "chair",
    "rows": ["HOURS"],
    "columns": ["CHAIR"],
    "lower": 1.5,
    "upper": 2.5,
}
SPACE = {"kind": "coefficient", "name": "space", "rows": ["SPACE"], "lower": 1, "upper": 2}
PROFIT = {"kind": "objective", "name": "profit", "columns": ["CHAIR"], "lower": 10, "upper": 30}
ROOM = {"kind": "rhs", "name": "room", "side": "upper", "rows": ["SPACE"], "lower": 40, "upper": 60}
FLOOR = {
    "kind": "rhs",
    "name": "floor",
    "side": "lower",
    "rows": ["SPACE"],
    "lower": -9,
    "upper": 9,
}
ORDER = {"kind": "rhs", "name": "order", "rows": ["ORDER"], "lower": 0, "upper": 8}
STOCK = {
    "kind": "bound",
    "name": "stock",
    "side": "upper",
    "columns": ["STOCK"],
    "lower": 15,
    "upper": 30,
}
#: Another file with other numbers at the places of all blocks above, within their bounds.
OTHER = {
    "profit": 13,
    "chair": 2.25,
    "space": 1.25,
    "hours": 90.5,
    "order": 7,
    "room": 55.5,
    "stock": 17.5,
}
TOGETHER = [{**ROOM, "record": "row"}, {**FLOOR, "record": "row"}]
ALL = [HOURS, CHAIR, {**SPACE, "pattern": "file"}, PROFIT, *TOGETHER, ORDER, STOCK]


def made(path, *blocks, public_model=False):
    found = private_blocks({"private": list(blocks)})
    return private_program(read_lp(path), found, public_model=public_model)


def refusal(path, *blocks, public_model=False):
    with pytest.raises(InvalidArgumentError) as found:
        made(path, *blocks, public_model=public_model)
    return str(found.value)


@pytest.mark.parametrize("numbers", [{}, OTHER])
def test_the_program_at_the_private_numbers_is_that_of_the_file(tmp_path, numbers):
    path = planning(tmp_path, **numbers)
    private, model = made(path, *ALL), read_lp(path)
    truth, plain = private.program.at(private.values(model)), model.program()
    assert truth.c.tolist() == plain.c.tolist()
    assert truth.b_eq.tolist() == plain.b_eq.tolist()
    for x in np.random.default_rng(0).uniform(-1.0, 14.0, (20, 3)):
        bound = np.array([model.upper[2] - x[2]])  # a private bound is a row
        wanted = np.sort(np.concatenate([plain.slack(x), bound]))
        # four terms below 1,000, which may cancel
        assert np.sort(truth.slack(x)) == pytest.approx(wanted, abs=4 * 1000 * 2.0**-52)
    assert solve(truth).objective == pytest.approx(solve(plain).objective)


@pytest.mark.parametrize("seed", range(6))
def test_random_files_with_all_inequalities_private_are_the_same_program(tmp_path, seed):
    path = written(random_model(seed), tmp_path / "model.mps")
    model = read_lp(path)
    rows = [n for n, equal in zip(model.row_names, model.equal, strict=True) if not equal]
    wide = {"lower": -99, "upper": 99}
    blocks = [
        {"kind": "coefficient", "rows": rows, **wide},
        {"kind": "objective", "columns": ["*"], **wide},
    ]
    private = made(path, *blocks, public_model=True)
    truth = private.program.at(private.values(model))
    assert solve(truth).objective == pytest.approx(solve(model.program()).objective, abs=1e-7)


def test_nothing_public_depends_on_private_numbers_of_the_model_file(tmp_path):
    one, other = planning(tmp_path, "one.mps"), planning(tmp_path, "other.mps", **OTHER)
    first, second = made(one, *ALL), made(other, *ALL)
    assert first.program.document().digest == second.program.document().digest
    assert first.program.row_names == second.program.row_names
    for name in ("c", "row_lower", "row_upper", "lower", "upper"):
        assert np.array_equal(getattr(first.model, name), getattr(second.model, name)), name
    assert abs(first.model.A - second.model.A).max() == 0
    assert first.values(read_lp(one)).tolist() != second.values(read_lp(other)).tolist()


MEETING = {"lower": -5, "upper": 60}  # the other side of SPACE lies 50 below


@pytest.mark.parametrize(
    ("blocks", "rule"),
    [
        ([{**HOURS, "relative": True}], "relative bounds would be made from the private numbers"),
        ([SPACE], 'pattern = "file" if it is public which of them the file has'),
        ([{**PROFIT, "columns": ["*"]}], "say which of the coefficients may be non-zero"),
        ([{**CHAIR, "rows": ["BALANCE"], "columns": ["TABLE"]}], "BALANCE is an equality row"),
        (
            [{**HOURS, "rows": ["BALANCE"]}],
            "equalities: BALANCE.*No answer can satisfy an eq",
        ),
        ([{**HOURS, "rows": ["BALANCE"], "side": "upper"}], "BALANCE is an equality row, or a ran"),
        ([{**ROOM, "side": "lower", "rows": ["HOURS"]}], r"HOURS has no lower side \(≥\)"),
        ([ROOM], "SPACE is a range: its file states both sides by one right-hand side"),
        ([ROOM, FLOOR], 'both with record = "row"'),
        ([{**TOGETHER[0], **MEETING}, TOGETHER[1]], "two sides may meet within the public bounds"),
        ([{**ROOM, "side": None}], "equalities: SPACE. Of a range, say which side is private"),
        ([{**STOCK, "lower": 0}], "the two bounds of STOCK may meet"),
        ([{**STOCK, "lower": -2}], "the two bounds of STOCK may meet"),
        ([{**STOCK, "side": None}], "say which bound of the columns is private"),
        ([{**HOURS, "rows": ["*"], "equalities": "public"}], "a range whose sides meet looks like"),
        ([HOURS, {**HOURS, "name": "again"}], "the right-hand side of HOURS is named twice"),
        ([{**HOURS, "rows": ["HOUR"]}], "the model has no row 'HOUR'; did you mean HOURS"),
        ([{**HOURS, "rows": ["Z*"]}], r"the model has no row 'Z\*'"),
        ([{**HOURS, "radius": 99}], "hours: radius must not exceed upper − lower"),
        ([{**HOURS, "rows": ["HOURS", "ORDER"]}], "some of its rows are ≤ and some ≥"),
        (
            [{**SPACE, "rows": ["HOURS"], "columns": ["STOCK"], "pattern": "file"}],
            "the model has none of the numbers it names",
        ),
    ],
)
def test_refusals_say_the_same_whatever_the_private_numbers_are(tmp_path, blocks, rule):
    blocks = [{k: v for k, v in block.items() if v is not None} for block in blocks]
    one, other = planning(tmp_path, "one.mps"), planning(tmp_path, "other.mps", **OTHER)
    text = refusal(one, *blocks)
    assert refusal(other, *blocks) == text
    assert re.search(rule, text), text


def test_a_bound_that_meets_the_other_is_refused_as_one_that_may(tmp_path):
    block = {**STOCK, "lower": 0}
    zero = planning(tmp_path, "zero.mps", stock=0)
    assert refusal(zero, block) == refusal(planning(tmp_path), block)
    assert "may meet" in refusal(zero, block)


def test_with_a_public_model_bounds_may_be_relative_and_one_side_private(tmp_path):
    share = {"relative": True, "lower": 0.9, "upper": 1.1, "radius": 0.01}
    blocks = [{**HOURS, **share}, {**ROOM, **share}, {**SPACE, **share}, {**STOCK, "lower": 0}]
    envelope = made(planning(tmp_path), *blocks, public_model=True).program.envelope
    assert envelope.lower.tolist() == [0.9 * 100, 0.9 * 45, 0.9 * 1.5, 0.0]
    assert envelope.radius.tolist() == [1.0, 0.45, 0.015, 30.0]
    zero = {**share, "kind": "rhs", "rows": ["BALANCE"], "side": "upper"}
    assert "0 or infinite in the model" in refusal(planning(tmp_path), zero, public_model=True)


def test_patterns_take_the_sides_that_exist_and_leave_out_what_is_said(tmp_path):
    upper = {"kind": "rhs", "side": "upper", "rows": ["*"], "lower": -1e3, "upper": 1e3}
    assert "BALANCE is an equality row" in refusal(planning(tmp_path), upper, public_model=True)
    wide = {**upper, "equalities": "public", "lower": 30}
    private = made(planning(tmp_path), wide, public_model=True)
    assert private.program.row_names == ("HOURS", "WOOD", "SPACE (upper side)")
    cost = {"kind": "bound", "side": "upper", "columns": "*", "lower": 1, "upper": 99}
    private = made(planning(tmp_path), {**cost, "pattern": "file"}, public_model=True)
    assert private.program.row_names == ("upper bound of STOCK",)
    every = {"kind": "coefficient", "columns": "*", "equalities": "public", "lower": 0, "upper": 9}
    assert made(planning(tmp_path), every, public_model=True).groups[0].size == 6


def test_negative_numbers_have_ordered_relative_bounds(tmp_path):
    block = {"kind": "objective", "columns": ["STOCK"], "relative": True, "lower": 0.5, "upper": 2}
    envelope = made(planning(tmp_path), block, public_model=True).program.envelope
    assert (envelope.lower[0], envelope.upper[0]) == (-2.0, -0.5)


def test_records_reach_across_blocks_that_say_the_same(tmp_path):
    by_row = {"record": "row"}
    private = made(planning(tmp_path), {**HOURS, **by_row}, {**CHAIR, **by_row}, ORDER)
    assert private.program.envelope.records.tolist() == [0, 0, 1]
    assert private.program.envelope.record_size == 2


def test_private_numbers_come_from_a_table_or_a_file_of_the_same_model(tmp_path):
    blocks = [HOURS, {**SPACE, "columns": ["STOCK"]}, PROFIT]
    private = made(planning(tmp_path), *blocks, public_model=True)
    table = tmp_path / "values.csv"
    table.write_text(
        "group,row,column,value\nspace,SPACE,STOCK,1.25\nprofit,,CHAIR,13\nhours,HOURS,,90.5\n"
    )
    wanted = [90.5, 1.25, 13.0]
    assert private.values(table).tolist() == wanted
    other = planning(tmp_path, "other.mps", hours=90.5, space=1.25, profit=13)
    assert private.values(other).tolist() == wanted
    text = other.read_text().replace(" L HOURS\n L WOOD\n", " L WOOD\n L HOURS\n")
    other.write_text(text)
    assert private.values(other).tolist() == wanted


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("row,value\nHOURS,7351\nHOURS,7351\n", "line 3: it is there twice"),
        ("row,value\nWOOD,7351\n", "line 2: no private number stands there"),
        ("row,value\nHOURS,x7351\n", "line 2: the value is not a finite number"),
        ("row,value\nHOURS,nan\n", "line 2: the value is not a finite number"),
        ("row,value\nHOURS,7351,5\n", "line 2: it has more fields than the header"),
        ("row,value\n\nHOURS,7351\n", r"bounds: the right-hand side of HOURS \(hours, line 3\)$"),
        ("row,value\nHOURS,-7351\n", r"bounds: the right-hand side of HOURS \(hours, line 2\)$"),
        ("row,value\n", "must have a line for every private number; hours, HOURS is missing"),
        ("HOURS,7351\n", "must have the header group,row,column,value"),
        ("", "must have the header group,row,column,value"),
    ],
)
def test_a_table_that_does_not_fit_is_refused_by_line_and_quotes_no_number(tmp_path, text, rule):
    private = made(planning(tmp_path), HOURS, public_model=True)
    table = tmp_path / "values.csv"
    table.write_text(text)
    with pytest.raises(InvalidArgumentError, match=rule) as refused:
        private.values(table)
    assert "7351" not in str(refused.value)


@pytest.mark.parametrize(
    ("block", "key", "words"),
    [
        (HOURS, "hours", "the right-hand side of HOURS"),
        (CHAIR, "chair", "the coefficient of CHAIR in HOURS"),
        (PROFIT, "profit", "the cost of CHAIR"),
        (STOCK, "stock", "the bound of STOCK"),
    ],
)
def test_the_curator_learns_which_number_of_a_model_file_is_out_of_bounds(
    tmp_path, block, key, words
):
    private = made(planning(tmp_path), block, public_model=True)
    with pytest.raises(InvalidArgumentError, match=f"outside their public bounds: {words}") as no:
        private.values(planning(tmp_path, "other.mps", **{key: 7351}))
    assert "7351" not in str(no.value)


def test_a_second_file_must_agree_wherever_numbers_are_public(tmp_path):
    private = made(planning(tmp_path), HOURS, public_model=True)
    for change in ({"chair": 2.5}, {"profit": 21}, {"order": 4}, {"stock": 21}):
        with pytest.raises(InvalidArgumentError, match="agree with the model wherever"):
            private.values(planning(tmp_path, "other.mps", **change))
    fewer = tmp_path / "fewer.mps"
    fewer.write_text(planning(tmp_path).read_text().replace("CHAIR", "SOFA"))
    with pytest.raises(InvalidArgumentError, match="must have the model's columns"):
        private.values(fewer)


@pytest.mark.parametrize("plan", ["database", "totals"])
def test_the_answer_keeps_the_true_rows_of_the_file_in_fractions(tmp_path, plan):
    path = planning(tmp_path, **OTHER)
    private, model = made(path, *ALL), read_lp(path)
    for seed in range(3):
        answer = release_and_solve(
            private.program,
            private.database(model),
            PrivacyBudget(1, "1/1000"),
            plan=plan,
            rng=np.random.default_rng(seed),
        )
        x = [Fraction(v) for v in answer.solution.x.tolist()]
        for row, low, high in zip(
            model.A.toarray().tolist(), model.row_lower, model.row_upper, strict=True
        ):
            total = sum((Fraction(a) * v for a, v in zip(row, x, strict=True)), Fraction(0))
            if low < high:
                assert low <= total <= high
            else:
                assert abs(total - Fraction(low)) <= Fraction(1, 10**12)
        assert all(lo <= v <= hi for lo, v, hi in zip(model.lower, x, model.upper, strict=True))


def test_rows_and_columns_at_fault_have_the_files_names(tmp_path):
    impossible = made(planning(tmp_path), {**ORDER, "lower": 0, "upper": 90})
    with pytest.raises(AssumptionError, match=r"relax ORDER by \d.*lower that of a row ≥") as error:
        impossible.program.check_robust_feasibility()
    assert error.value.rows == ("ORDER",)
    text = planning(tmp_path).read_text().replace("CHAIR WOOD 4", "CHAIR WOOD -4")
    path = tmp_path / "free.mps"
    path.write_text(text.replace("L HOURS", "G HOURS"))
    free = made(path, {**HOURS, "side": "lower"})
    with pytest.raises(AssumptionError) as error:
        free.program.check_boundedness()
    renamed = free.renamed(error.value)
    assert "CHAIR can grow without limit" in str(renamed)
    assert renamed.rows == ("CHAIR",)


#: Blocks that no answer can keep for every database, the repair, and its change of the block.
REPAIRS = [
    ({**HOURS, "lower": -40}, "raise the right-hand side of HOURS by", "lower", 1),
    ({**ORDER, "upper": 90}, "lower the right-hand side of ORDER by", "upper", -1),
    (
        {**ROOM, "lower": -4, "upper": 60},
        "raise the upper side of SPACE by",
        "lower",
        1,
    ),
    (
        {**FLOOR, "lower": -9, "upper": 44},
        "lower the lower side of SPACE by",
        "upper",
        -1,
    ),
    ({**STOCK, "lower": 0}, "raise the upper bound of STOCK by", "lower", 1),
    (
        {**STOCK, "side": "lower", "lower": 0, "upper": 19},
        "lower the lower bound of STOCK by",
        "upper",
        -1,
    ),
]


@pytest.mark.parametrize(("block", "words", "key", "sign"), REPAIRS)
def test_the_repair_that_is_named_repairs_whichever_side_it_is(tmp_path, block, words, key, sign):
    text = planning(tmp_path).read_text()
    path = tmp_path / "tight.mps"
    # tables and so stock, at least 1 or at most 12, leave too little room for the block
    bound = " LO BND TABLE 1" if sign > 0 else " UP BND TABLE 12"
    text = text.replace("RNG SPACE 50", "RNG SPACE 99")
    path.write_text(text.replace("ENDATA", f"{bound}\nENDATA"))
    private = made(path, block, public_model=True)
    with pytest.raises(AssumptionError) as refused:
        private.program.check_robust_feasibility()
    error = private.renamed(refused.value)
    assert words in str(error)
    amount = error.relaxation[0] + 1e-6
    repaired = {**block, key: block[key] + sign * amount}
    made(path, repaired, public_model=True).program.check_robust_feasibility()


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("RHS SPACE", "RHS BALANCE 50\n RHS SPACE", "move the right-hand side of BALANCE by"),
        ("WOOD 240", "WOOD -240", "raise the right-hand side of WOOD by"),
        ("RHS SPACE 45", "RHS SPACE 145", "lower the lower side of SPACE by"),
    ],
)
def test_public_rows_that_contradict_each_other_are_named(tmp_path, old, new, words):
    path = tmp_path / "contradiction.mps"
    path.write_text(planning(tmp_path).read_text().replace(old, new))
    private = made(path, {**HOURS, "upper": 1000}, public_model=True)
    with pytest.raises(AssumptionError) as refused:
        private.program.check_robust_feasibility()
    error = private.renamed(refused.value)
    assert "public rows and bounds contradict each other" in str(error)
    assert words in str(error)


def test_public_bounds_that_cross_are_refused_by_name_of_the_column(tmp_path):
    path = tmp_path / "crossed.mps"
    path.write_text(planning(tmp_path).read_text().replace("ENDATA", " UP BND CHAIR -4\nENDATA"))
    for public_model in (True, False):
        said = refusal(path, HOURS, public_model=public_model)
        assert said == (
            "the lower bound must not exceed the upper one; in the model it does for CHAIR"
        )


def test_a_database_says_nothing_of_its_numbers(tmp_path):
    path = planning(tmp_path, hours=7351)
    private = made(path, HOURS)
    database = private.database(read_lp(path))
    with pytest.raises(InvalidArgumentError) as refused:
        database.values  # noqa: B018
    assert "7351" not in str(refused.value)
    assert refused.value.__context__ is None


def test_what_is_not_text_is_refused_and_nothing_of_it_kept(tmp_path):
    private = made(planning(tmp_path), HOURS)
    file = tmp_path / "values.csv"
    file.write_bytes(b"group,row,column,value\nhours,HOURS,,\xfc97\n")
    with pytest.raises(InvalidArgumentError, match=r"values.csv must be a table") as refused:
        private.values(file)
    assert refused.value.__context__ is None
