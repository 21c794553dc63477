"""A file's program with private numbers: the same program, and nothing public from private ones."""

import re
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dp_cmdp as dp
from dp_cmdp.errors import InvalidArgumentError, RefusedError
from tests.frontends.lp_files import plain_optimum, planning, random_model, written

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
    return dp.lpfile.load(path, {"private": list(blocks)}, relative_to_model=public_model)


def values_of(path, *blocks, model=None):
    found = dp.lpfile.values(path, {"private": list(blocks)}, model=model)
    return np.concatenate(list(found.values()))


def same(one, other):
    """Whether two documents hold the same."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[k], other[k]) for k in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if hasattr(one, "toarray"):
        return np.array_equal(one.toarray(), other.toarray())
    return np.array_equal(one, other)


def refusal(path, *blocks, public_model=False):
    with pytest.raises(InvalidArgumentError) as found:
        made(path, *blocks, public_model=public_model)
    return str(found.value)


@pytest.mark.parametrize("numbers", [{}, OTHER])
def test_the_program_at_the_private_numbers_is_that_of_the_file(tmp_path, numbers):
    path = planning(tmp_path, **numbers)
    lp = made(path, *ALL)
    assert not lp.minimizes
    truth = lp.at(values_of(path, *ALL))
    assert dp.answer(truth).value == pytest.approx(plain_optimum(path), rel=1e-9)
    assert lp.variables[0].tolist() == ["CHAIR", "TABLE", "STOCK", "(constant)"]


@pytest.mark.parametrize("seed", range(6))
def test_random_files_with_all_inequalities_private_are_the_same_program(tmp_path, seed):
    path = written(random_model(seed), tmp_path / "model.mps")
    wide = {"lower": -99, "upper": 99}
    blocks = [
        {"kind": "coefficient", "rows": ["*"], "equalities": "public", **wide},
        {"kind": "objective", "columns": ["*"], **wide},
    ]
    lp = made(path, *blocks, public_model=True)
    truth = lp.at(values_of(path, *blocks, model=path))
    assert dp.answer(truth).value == pytest.approx(plain_optimum(path), rel=1e-7, abs=1e-7)


def test_nothing_public_depends_on_private_numbers_of_the_model_file(tmp_path):
    one, other = planning(tmp_path, "one.mps"), planning(tmp_path, "other.mps", **OTHER)
    assert same(made(one, *ALL).document(), made(other, *ALL).document())
    assert values_of(one, *ALL).tolist() != values_of(other, *ALL).tolist()


@pytest.mark.parametrize("text", ["1e300", "-1e31", "inf", "nan", "1,5", "four"])
@pytest.mark.parametrize("key", OTHER)
def test_whatever_stands_at_a_private_place_the_same_program_is_read(tmp_path, key, text):
    plain, wrong = planning(tmp_path), planning(tmp_path, "wrong.mps", **{key: text})
    assert same(made(plain, *ALL).document(), made(wrong, *ALL).document())


def test_a_public_number_that_is_none_is_still_refused_by_line(tmp_path):
    for key, text in (("chair", "1e16"), ("profit", "inf"), ("chair", "1,5")):
        with pytest.raises(InvalidArgumentError, match=r"planning\.mps, line \d+"):
            made(planning(tmp_path, **{key: text}), HOURS)


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


def test_with_a_public_model_bounds_may_be_relative_and_one_side_private(tmp_path):
    share = {"relative": True, "lower": 0.9, "upper": 1.1, "radius": 0.01}
    blocks = [{**HOURS, **share}, {**ROOM, **share}, {**SPACE, **share}, {**STOCK, "lower": 0}]
    envelope = made(planning(tmp_path), *blocks, public_model=True).envelope
    assert envelope.lower.tolist() == [0.9 * 100, 0.9 * 45, 0.9 * 1.5, 0.0]
    assert envelope.radius.tolist() == [1.0, 0.45, 0.015, 30.0]
    zero = {**share, "kind": "rhs", "rows": ["BALANCE"], "side": "upper"}
    assert "0 or infinite in the model" in refusal(planning(tmp_path), zero, public_model=True)


def test_records_reach_across_blocks_that_say_the_same(tmp_path):
    by_row = {"record": "row"}
    lp = made(planning(tmp_path), {**HOURS, **by_row}, {**CHAIR, **by_row}, ORDER)
    assert (lp.envelope.change.toarray() > 0).tolist() == [
        [True, True, False],
        [False, False, True],
    ]


def test_private_numbers_come_from_a_table_or_a_file_of_the_same_model(tmp_path):
    blocks = [HOURS, {**SPACE, "columns": ["STOCK"]}, PROFIT]
    path = planning(tmp_path)
    lp = made(path, *blocks, public_model=True)
    table = tmp_path / "values.csv"
    table.write_text(
        "group,row,column,value\nspace,SPACE,STOCK,1.25\nprofit,,CHAIR,13\nhours,HOURS,,90.5\n"
    )
    wanted = [90.5, 1.25, 13.0]
    assert dp.Database(table, lp).read().tolist() == wanted
    other = planning(tmp_path, "other.mps", hours=90.5, space=1.25, profit=13)
    assert values_of(other, *blocks, model=path).tolist() == wanted
    text = other.read_text().replace(" L HOURS\n L WOOD\n", " L WOOD\n L HOURS\n")
    other.write_text(text)
    assert values_of(other, *blocks, model=path).tolist() == wanted


def test_a_second_file_must_agree_wherever_numbers_are_public(tmp_path):
    path = planning(tmp_path)
    for change in ({"chair": 2.5}, {"profit": 21}, {"order": 4}, {"stock": 21}):
        other = planning(tmp_path, "other.mps", **change)
        with pytest.raises(InvalidArgumentError, match="agree with the model wherever"):
            values_of(other, HOURS, model=path)
    fewer = tmp_path / "fewer.mps"
    fewer.write_text(path.read_text().replace("CHAIR", "SOFA"))
    with pytest.raises(InvalidArgumentError, match="must have the model's columns"):
        values_of(fewer, HOURS, model=path)


@pytest.mark.parametrize("strategy", ["entries", "queries"])
def test_the_answer_keeps_the_true_rows_of_the_file_in_fractions(tmp_path, strategy):
    path = planning(tmp_path, **OTHER)
    lp, truth = made(path, *ALL), values_of(path, *ALL)
    at = lp.at(truth)
    found: Any
    runs = dp.simulate(lp, truth, epsilon=1, delta="1/1000", strategy=strategy, draws=3, seed=0)
    for found in runs:
        x = [Fraction(v) for v in found.x.tolist()]
        rows = zip(at.A.constant.toarray().tolist(), at.b.constant.toarray().ravel(), strict=True)
        for row, limit in rows:
            assert sum(Fraction(a) * v for a, v in zip(row, x, strict=True)) <= Fraction(limit)
        for row, right in zip(lp.A_eq.toarray().tolist(), lp.b_eq.tolist(), strict=True):
            total = sum(Fraction(a) * v for a, v in zip(row, x, strict=True))
            assert abs(total - Fraction(right)) <= Fraction(1, 10**12)
        assert all(lo <= v <= hi for lo, v, hi in zip(lp.lower, x, lp.upper, strict=True))


#: Blocks that no answer can keep for every database, the repair, and its change of the block.
REPAIRS = [
    ({**HOURS, "lower": -40}, "HOURS", "lower", 1),
    ({**ORDER, "upper": 90}, "ORDER", "upper", -1),
    (
        {**ROOM, "lower": -4, "upper": 60},
        "SPACE (upper side)",
        "lower",
        1,
    ),
    (
        {**FLOOR, "lower": -9, "upper": 44},
        "SPACE (lower side)",
        "upper",
        -1,
    ),
    ({**STOCK, "lower": 0}, "upper bound of STOCK", "lower", 1),
    (
        {**STOCK, "side": "lower", "lower": 0, "upper": 19},
        "lower bound of STOCK",
        "upper",
        -1,
    ),
]


@pytest.mark.parametrize(("block", "row", "key", "sign"), REPAIRS)
def test_the_repair_that_is_named_repairs_whichever_side_it_is(tmp_path, block, row, key, sign):
    text = planning(tmp_path).read_text()
    path = tmp_path / "tight.mps"
    # tables and so stock, at least 1 or at most 12, leave too little room for the block
    bound = " LO BND TABLE 1" if sign > 0 else " UP BND TABLE 12"
    text = text.replace("RNG SPACE 50", "RNG SPACE 99")
    path.write_text(text.replace("ENDATA", f"{bound}\nENDATA"))
    private = made(path, block, public_model=True)
    with pytest.raises(RefusedError) as refused:
        dp.answer(private)
    ((name, amount),) = refused.value.repairs.items()
    assert name == row
    repaired = {**block, key: block[key] + sign * (amount + 1e-6)}
    assert dp.answer(made(path, repaired, public_model=True)).certificate.verified
