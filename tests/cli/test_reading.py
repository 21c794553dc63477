"""Private numbers are looked at when they are paid for, and refused without a word on which or why.

Whatever stands where a private number should (far outside its bounds, no number, none at all): the
account is debited, and one text says that the values cannot be used.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import dp_cmdp as dp

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
ONCE = ("--epsilon", "1", "--delta", "1/1000", "--strategy", "entries", "--out", "out")
PAID = ("--ledger", "one.ledger", "--account", "account")
SPEC = ("--private", "spec.toml")


def spec(kind: str) -> str:
    name = {"cost": "objective"}.get(kind, kind)
    return f'[[private]]\nkind = "{name}"\n{PLACES[kind]}\nupper = 5\nradius = 0.1\n'


@pytest.fixture
def refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, say: Any) -> Any:
    """What a command writes when its private numbers cannot be used; its account is debited."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> str:
        Path("one.ledger").unlink(missing_ok=True)
        ledger = dp.PrivacyLedger.create("one.ledger", "account", epsilon=2, delta="1/500")
        code, out, err = say("solve", *arguments, *ONCE, *PAID)
        assert (code, out) == (2, "")
        assert ledger.spent.epsilon == 1, err
        return err

    return run


@pytest.mark.parametrize("kind", PLACES)
@pytest.mark.parametrize("file", FORMATS)
def test_a_model_file_with_private_numbers_is_refused_after_the_debit_in_one_text(
    tmp_path: Path, refused: Any, file: str, kind: str
) -> None:
    """Also where the solver would not take the number, or take it for infinite or for no row."""
    (tmp_path / "spec.toml").write_text(spec(kind))
    wrong = WRONG if file.endswith(".lp") else (*WRONG, "nan", "1,5", "four")
    if file.endswith(".lp"):  # where a coefficient of -3 is a sign and a number
        wrong = tuple(text for text in wrong if kind == "rhs" or text[0] != "-")
    texts = set()
    for text in wrong:
        (tmp_path / file).write_text(FORMATS[file](**{kind: text}))
        texts.add(refused(file, *SPEC))
    assert len(texts) == 1
    assert "cannot be used" in texts.pop()


def test_sides_that_meet_outside_their_bounds_are_no_equality_before_the_debit(
    tmp_path: Path, refused: Any
) -> None:
    (tmp_path / "spec.toml").write_text(
        '[[private]]\nkind = "rhs"\nrows = ["LAND"]\nside = "upper"\nlower = 4\nupper = 5\n'
        'record = "row"\nname = "high"\n'
        '[[private]]\nkind = "rhs"\nrows = ["LAND"]\nside = "lower"\nlower = 1\nupper = 2\n'
        'record = "row"\nname = "low"\n'
    )
    for width in ("0", "1e30"):
        text = mps().replace("BOUNDS", f"RANGES\n    RNG LAND {width}\nBOUNDS")
        (tmp_path / "model.mps").write_text(text)
        assert "cannot be used" in refused("model.mps", *SPEC)


def test_public_numbers_of_such_a_file_are_still_refused_before_the_debit(
    farm: Path, account: dp.PrivacyLedger, say: Any
) -> None:
    (farm / "spec.toml").write_text(spec("rhs"))
    for kind, text in (("coefficient", "1e16"), ("cost", "inf")):
        (farm / "model.mps").write_text(mps(**{kind: text}))
        code, _, err = say("solve", "model.mps", *SPEC, *ONCE, *PAID)
        assert (code, "model.mps" in err) == (2, True)
    assert account.spent.epsilon == 0


def table(*lines: str) -> str:
    return "\n".join(["group,row,value", *lines]) + "\n"


TABLES = (
    *(table(f"rhs,LAND,{text}") for text in (*WRONG, *UNREADABLE)),
    table(),
    table("rhs,LAND,4", "rhs,LAND,4"),
    table("rhs,WORK,4"),
    table("rhs,LAND,4,9"),
    table("objective,LAND,4"),
    "",
    "value\n",
    "\x00\n",
)


@pytest.mark.parametrize("second", [False, True], ids=["table", "second model"])
def test_a_file_of_private_numbers_is_refused_after_the_debit_in_one_text(
    tmp_path: Path, refused: Any, second: bool
) -> None:
    (tmp_path / "spec.toml").write_text(spec("rhs"))
    (tmp_path / "model.mps").write_text(mps())
    name = "data.mps" if second else "data.csv"
    contents = [mps(rhs=text) for text in WRONG] if second else TABLES
    texts = set()
    for content in (*contents, mps(rhs="4", cost="7") if second else ""):
        (tmp_path / name).write_text(content)
        texts.add(refused("model.mps", *SPEC, "--data", name))
    assert len(texts) == 1
    assert "cannot be used" in texts.pop()


def test_a_table_of_hazards_is_read_by_its_labels(gate: Path, refused: Any, said: Any) -> None:
    good = "group,row,col,value\nlimit,,,0.7\ncost,0,1,0.25\n"
    (gate / "hazards.csv").write_text(good)
    how = ("gate.json", "--data", "hazards.csv")
    assert said("solve", *how, *ONCE)["certificate"]["verified"]
    assert said("evaluate", "out", "--curator", *how[1:])
    text = (gate / "out/curator_only/evaluation.json").read_text()
    assert "0.7" in text
    texts = set()
    for bad in (
        "",
        good.replace("0.25", "1e30"),
        good.replace("0.25", "nan"),
        good.replace("0,1,", "7,7,"),
        good + "cost,0,1,0.25\n",
        "group,row,value\ncost,0,0.25\n",
    ):
        (gate / "hazards.csv").write_text(bad)
        texts.add(refused(*how))
    assert len(texts) == 1
