"""Private numbers are looked at when they are paid for, and refused without a word on which or why.

Whatever stands where a private number should (far outside its bounds, no number, none at all): the
account is debited, and one text says that the values cannot be used.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.promises.adapter import (
    command,
    new_account,
    private_parameter,
    spend_cvxpy,
    spent,
)

#: Far outside, at the edges of what a solver takes for infinite, and what is no number at all.
WRONG = ("-1", "6", "1e14", "1e15", "-3e17", "1e20", "1e30", "-1e31", "1e300", "inf", "-inf")
UNREADABLE = ("nan", "1,5", "", "four")


def mps(*, rhs: str = "4", coefficient: str = "2", cost: str = "3", bound: str = "4") -> str:
    return f"""NAME FARM
OBJSENSE
    MAX
ROWS
 N VALUE
 L LAND
 L WORK
COLUMNS
    X VALUE {cost} LAND 1
    X WORK {coefficient}
    Y VALUE 2 LAND 1
    Y WORK 1
RHS
    RHS LAND {rhs} WORK 1e30
BOUNDS
 UP BND X {bound}
 UP BND Y 1e30
ENDATA
"""


def lp(*, rhs: str = "4", coefficient: str = "2", cost: str = "3", bound: str = "4") -> str:
    return f"""max
 value: {cost} X + 2 Y
st
 LAND: X + Y <= {rhs}
 WORK: {coefficient} X + Y <= 1e30
bounds
 X <= {bound}
 Y <= 1e30
end
"""


PLACES = {
    "rhs": 'rows = ["LAND"]\nlower = 3',
    "coefficient": 'rows = ["WORK"]\ncolumns = ["X"]\nlower = 1',
    "cost": 'columns = ["X"]\nlower = 1',
    "bound": 'columns = ["X"]\nside = "upper"\nlower = 3',
}
FORMATS = {"model.mps": mps, "model.lp": lp}


def spec(kind: str) -> str:
    name = {"cost": "objective"}.get(kind, kind)
    return f'[[private]]\nkind = "{name}"\n{PLACES[kind]}\nupper = 5\nradius = 0.1\n'


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def said(capsys: Any, place: Path, *arguments: str) -> str:
    """What a command writes when its private numbers cannot be used; its account is debited."""
    ledger = new_account(place / "ledger.sqlite")
    account = ("--ledger", "ledger.sqlite", "--account", "account", "--out", "out")
    budget = ("--epsilon", "1", "--delta", "1/1000", "--strategy", "entries")
    try:
        assert command(*arguments, *budget, *account) == 2
    finally:
        shown = capsys.readouterr()
    assert spent(ledger) == 1.0, shown.err
    assert shown.out == ""
    (place / "ledger.sqlite").unlink()
    return shown.err


@pytest.mark.parametrize("kind", PLACES)
@pytest.mark.parametrize("file", FORMATS)
def test_a_model_file_with_private_numbers_is_refused_after_the_debit_in_one_text(
    place: Path, capsys: Any, file: str, kind: str
) -> None:
    """Also where the solver would not take the number, or take it for infinite or for no row."""
    (place / "spec.toml").write_text(spec(kind))
    wrong = WRONG if file.endswith(".lp") else (*WRONG, "nan", "1,5", "four")
    if file.endswith(".lp"):  # where a coefficient of -3 is a sign and a number
        wrong = tuple(text for text in wrong if kind == "rhs" or text[0] != "-")
    texts = set()
    for text in wrong:
        (place / file).write_text(FORMATS[file](**{kind: text}))
        texts.add(said(capsys, place, "solve", file, "--private", "spec.toml"))
    assert len(texts) == 1
    assert "cannot be used" in texts.pop()


def test_sides_that_meet_outside_their_bounds_are_no_equality_before_the_debit(
    place: Path, capsys: Any
) -> None:
    (place / "spec.toml").write_text(
        '[[private]]\nkind = "rhs"\nrows = ["LAND"]\nside = "upper"\nlower = 4\nupper = 5\n'
        'record = "row"\nname = "high"\n'
        '[[private]]\nkind = "rhs"\nrows = ["LAND"]\nside = "lower"\nlower = 1\nupper = 2\n'
        'record = "row"\nname = "low"\n'
    )
    for width in ("0", "1e30"):
        text = mps().replace("BOUNDS", f"RANGES\n    RNG LAND {width}\nBOUNDS")
        (place / "model.mps").write_text(text)
        assert "cannot be used" in said(
            capsys, place, "solve", "model.mps", "--private", "spec.toml"
        )


def test_public_numbers_of_such_a_file_are_still_refused_before_the_debit(
    place: Path, capsys: Any
) -> None:
    ledger = new_account(place / "ledger.sqlite")
    (place / "spec.toml").write_text(spec("rhs"))
    for kind, text in (("coefficient", "1e16"), ("cost", "inf")):
        (place / "model.mps").write_text(mps(**{kind: text}))
        account = ("--ledger", "ledger.sqlite", "--account", "account")
        budget = ("--epsilon", "1", "--delta", "1/1000")
        assert command("solve", "model.mps", "--private", "spec.toml", *budget, *account) == 2
        assert "model.mps" in capsys.readouterr().err
    assert spent(ledger) == 0


def table(*lines: str) -> str:
    return "\n".join(["group,row,column,value", *lines]) + "\n"


TABLES = (
    *(table(f"rhs,LAND,,{text}") for text in (*WRONG, *UNREADABLE)),
    table(),
    table("rhs,LAND,,4", "rhs,LAND,,4"),
    table("rhs,WORK,,4"),
    table("rhs,LAND,,4,9"),
    "",
    "value\n",
    "\x00\n",
)


@pytest.mark.parametrize("second", [False, True], ids=["table", "second model"])
def test_a_file_of_private_numbers_is_refused_after_the_debit_in_one_text(
    place: Path, capsys: Any, second: bool
) -> None:
    (place / "spec.toml").write_text(spec("rhs"))
    (place / "model.mps").write_text(mps())
    name = "data.mps" if second else "data.csv"
    contents = [mps(rhs=text) for text in WRONG] if second else TABLES
    texts = set()
    for content in contents:
        (place / name).write_text(content)
        how = ("solve", "model.mps", "--private", "spec.toml", "--data", name)
        texts.add(said(capsys, place, *how))
    assert len(texts) == 1


def test_numbers_of_a_cvxpy_problem_are_refused_after_the_debit_in_one_text(tmp_path: Path) -> None:
    import cvxpy as cp

    texts = set()
    for number, values in enumerate(([1e30, 4], [float("nan"), 4], [0, 4], [4, float("inf")])):
        ledger = new_account(tmp_path / f"{number}.sqlite")
        cap = private_parameter(2, lower=1, upper=9, radius=0.2)
        flow = cp.Variable(2, nonneg=True)
        problem = cp.Problem(cp.Maximize(cp.sum(flow)), [flow <= cap])
        with pytest.raises(Exception, match="cannot be used") as refused:
            spend_cvxpy(problem, {cap: values}, ledger)
        texts.add(str(refused.value))
        assert spent(ledger) == 1.0
    assert len(texts) == 1
