"""Printed tables fit a terminal, lose nothing in silence, and say what is the same once."""

import pytest

from dp_cmdp.cli.tables import WIDTH, print_fact, print_table
from dp_cmdp.reproductions import REPRODUCTIONS
from tests.figure_rows import ROWS


def printed(capsys, rows, **look) -> list[str]:
    print_table(rows, **look)
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("name", REPRODUCTIONS)
def test_the_table_of_a_reproduction_fits_and_names_what_it_leaves_out(name, capsys):
    rows = ROWS[name]()
    lines = printed(capsys, rows, columns=REPRODUCTIONS[name].study().columns, caption=True)
    assert max(map(len, lines)) <= WIDTH
    shown = " ".join(lines)
    for column in rows[0]:
        words = column.replace("low", "").replace("high", "").replace("ci", "").split("_")
        assert all(word in shown for word in words if word), column


def test_ends_of_an_interval_stand_behind_their_mean(capsys):
    row = {"epsilon": 1.0, "loss_percent": 12.0, "ci_low": 11.0, "ci_high": 13.0}
    lines = printed(capsys, [row, row | {"loss_percent": None, "ci_low": None, "ci_high": None}])
    assert lines[:2] == ["         loss", "epsilon  percent"]
    assert lines[3] == "      1  12 [11, 13]"
    assert lines[4].split() == ["1", "-"]


def test_ends_without_a_mean_before_them_are_a_column_of_their_own(capsys):
    row = {"problem": "small", "ratio": 1.3, "loss_low_percent": 2.0, "loss_high_percent": 4.0}
    lines = printed(capsys, [row])
    assert lines[-1].split() == ["small", "1.3", "[2,", "4]"]


def test_what_is_the_same_in_all_rows_is_said_once_but_never_the_first_column(capsys):
    rows = [{"method": "a", "draws": 20, "loss": loss} for loss in (1.0, 2.0)]
    assert printed(capsys, rows, caption=True) == [
        "in all rows: draws 20",
        "",
        "method  loss",
        "------  ----",
        "a          1",
        "a          2",
    ]
    assert "draws" in printed(capsys, rows)[0]
    assert "in all rows" not in "".join(printed(capsys, rows[:1], caption=True))


def test_long_texts_are_folded_and_every_word_is_printed(capsys):
    rows = [
        {"outcome": "proved", "claim": "what is claimed " * 6, "why": "because of that " * 9},
        {"outcome": "not provable", "claim": "short", "why": "-"},
    ]
    lines = printed(capsys, rows)
    assert max(map(len, lines)) <= WIDTH
    text = " ".join(lines)
    assert text.count("claimed") == 6
    assert text.count("because") == 9


def test_columns_that_do_not_fit_are_left_out_from_the_right_and_named(capsys):
    row = {f"number_{k}": 123456.0 + k for k in range(30)}
    lines = printed(capsys, [row, {name: value / 7 for name, value in row.items()}], caption=True)
    assert max(map(len, lines)) <= WIDTH
    assert lines[1].split()[0] == "0"
    missing = " ".join(lines).split("with --json also: ")[1]
    assert missing.endswith("number 29")


def test_lists_are_read_as_words_and_no_rows_print_nothing(capsys):
    assert printed(capsys, [{"private": ["A", "b"], "x": ()}])[-1].split() == ["A,", "b", "-"]
    assert printed(capsys, []) == []


def test_a_named_line_is_folded_below_its_text_and_words_stay_whole(capsys):
    print_fact("release", "(2, 0.001)-differential privacy " * 5)
    print_fact("", "short")
    *first, last = capsys.readouterr().out.splitlines()
    assert len(first) > 1
    assert max(map(len, first)) <= WIDTH
    assert [text[:10].strip() for text in first] == ["release", *[""] * (len(first) - 1)]
    words = " ".join(text[10:].strip() for text in first).split()
    assert words == ["(2,", "0.001)-differential", "privacy"] * 5
    assert last == "          short"
