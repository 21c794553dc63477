"""A bar appears on a terminal when something takes long, and nowhere else."""

import io
import sys
import threading
import time

import pytest

from dp_cmdp import _progress
from dp_cmdp._progress import line, with_bar
from dp_cmdp.advice.adviser import advise
from dp_cmdp.problems.ad_auction import ad_auction_program


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(monkeypatch, stream, run) -> str:
    monkeypatch.setattr(sys, "stderr", stream)
    run()
    return stream.getvalue()


def counted(progress: bool) -> list[int]:
    return list(with_bar(iter(range(3)), progress, total=3, name="counting"))


@pytest.mark.parametrize("progress", [True, False])
def test_the_steps_are_the_same_with_and_without_a_bar(progress):
    assert counted(progress) == [0, 1, 2]


def test_a_bar_is_shown_on_a_terminal_only_and_after_some_patience(monkeypatch):
    assert shown(monkeypatch, Terminal(), lambda: counted(True)) == ""
    monkeypatch.setattr(_progress, "PATIENCE", 0.0)
    assert "counting" in shown(monkeypatch, Terminal(), lambda: counted(True))
    assert shown(monkeypatch, Terminal(), lambda: counted(False)) == ""
    assert shown(monkeypatch, io.StringIO(), lambda: counted(True)) == ""


def test_advice_is_the_same_with_a_bar_and_shows_one(monkeypatch):
    monkeypatch.setattr(_progress, "PATIENCE", 0.0)
    program = ad_auction_program(2, 2)
    ask = {"epsilons": [1, 4], "deltas": [0.1], "draws": 4}
    quiet = advise(program, **ask)
    found = []
    told = shown(
        monkeypatch, Terminal(), lambda: found.append(advise(program, progress=True, **ask))
    )
    assert "advice" in told
    assert found[0].facts() == quiet.facts()


def test_a_bar_shows_life_while_its_first_step_takes_long(monkeypatch):
    monkeypatch.setattr(_progress, "PATIENCE", 0.1)

    def long_steps():
        time.sleep(0.6)
        yield 0

    told = shown(
        monkeypatch, Terminal(), lambda: list(with_bar(long_steps(), True, total=1, name="waiting"))
    )
    assert told.count("waiting:   0%") >= 2
    assert not [thread for thread in threading.enumerate() if thread.name == "progress"]


def worked(progress: bool) -> None:
    with line("drawing …", progress):
        pass


def test_a_line_is_shown_on_a_terminal_only_and_taken_away(monkeypatch):
    told = shown(monkeypatch, Terminal(), lambda: worked(True))
    assert told.startswith("drawing …")
    assert told.endswith("\r" + " " * len("drawing …") + "\r")
    assert shown(monkeypatch, Terminal(), lambda: worked(False)) == ""
    assert shown(monkeypatch, io.StringIO(), lambda: worked(True)) == ""
