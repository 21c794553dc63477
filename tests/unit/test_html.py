"""What notebooks show: small tables, escaped, and nothing of a private value."""

import html
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dp_cmdp import (
    Affine,
    Database,
    Envelope,
    ParametricCMDP,
    ParametricLP,
    Policy,
    PrivacyBudget,
    PrivacyLedger,
    Release,
    Solution,
    release_and_solve,
    release_and_synthesize,
    release_database,
    solve_private,
)
from dp_cmdp._html import MOST_ROWS, facts_table, rows_table
from dp_cmdp.cmdp.private_policy import PrivatePolicy
from dp_cmdp.cmdp.synthesis import safe_policy
from dp_cmdp.release.solve import PrivateAnswer
from tests.marked import MARKS, is_marked
from tests.problems import SpyDatabase, two_ways

BUDGET = PrivacyBudget(1, "1/1000")
NASTY = "<script>alert('x')</script>&\"<b>"


def envelope(labels: Any = ("a", "b")) -> Envelope:
    return Envelope(0.0, 1.0, radius=0.1, labels=labels, name="price")


def program() -> ParametricLP:
    A = Affine((1, 2), at=([0, 0], [0, 1]), entry=[0, 1])
    return ParametricLP(envelope(), c=[1.0, 1.0], A=A, b=[1.0], upper=9.0, variables=["x", NASTY])


def shows(thing: Any) -> str:
    return thing._repr_html_()


def release() -> Release:
    database = Database([0.5, 0.5], envelope())
    return release_database(database, BUDGET, rng=np.random.default_rng(0))


def answer() -> PrivateAnswer:
    database = Database(MARKS[:2], envelope())
    return release_and_solve(program(), database, BUDGET, rng=np.random.default_rng(0))


def private_policy() -> PrivatePolicy:
    """A private cost of state 1, which the safest policy avoids."""
    public = two_ways()
    made = Envelope(0.0, 1.0, radius=0.1)
    costs = Affine((1, 6), at=([0, 0], [2, 3]), entry=[0, 0])
    model = ParametricCMDP(
        made,
        T=public.T,
        r=public.r,
        mu=public.mu,
        gamma=public.gamma,
        cost=costs,
        tolerance=Affine(1, constant=[1.0]),
    )
    database = Database(MARKS[:1], made)
    return release_and_synthesize(model, database, BUDGET, rng=np.random.default_rng(0))


def things(tmp_path: Any) -> dict[str, Any]:
    ledger = PrivacyLedger(tmp_path / "ledger.sqlite")
    ledger.create("<people>", PrivacyBudget(2, "1/100"), "one person")
    ledger.debit("<people>", BUDGET)
    solution: Solution = solve_private(program(), release())
    return {
        "Envelope": envelope(),
        "Database": Database(MARKS[:2], envelope(), identity=NASTY),
        "Release": release(),
        "Solution": solution,
        "Policy": Policy([[0.5, 0.5], [1.0, 0.0]]),
        "SafePolicy": safe_policy(two_ways()),
        "PrivacyBudget": BUDGET,
        "PrivacyLedger": ledger,
        "PrivateAnswer": answer(),
        "PrivatePolicy": private_policy(),
        "Choice": answer().choice,
    }


def test_everything_a_notebook_meets_is_a_closed_table(tmp_path):
    for name, thing in things(tmp_path).items():
        text = shows(thing)
        assert f"<caption>{name}" in text
        for tag in ("table", "caption", "tbody", "tr", "th", "td"):
            assert text.count(f"<{tag}>") == text.count(f"</{tag}>")
        assert set(re.findall(r"<(\w+)", text)) <= {
            "table", "caption", "thead", "tbody", "tr", "th", "td",
        }  # fmt: skip


def test_the_ledger_shows_what_remains(tmp_path):
    text = shows(things(tmp_path)["PrivacyLedger"])
    assert "&lt;people&gt;" in text
    assert "(ε = 1, δ = 0.009)" in text
    empty = PrivacyLedger(tmp_path / "none.sqlite")
    assert "not read" in shows(empty)


def test_two_databases_of_one_envelope_look_alike():
    """Values, and whether they were read, change nothing that is shown."""
    SpyDatabase.reads = 0
    found = {
        kind(values, envelope(), identity="x")._repr_html_()
        for kind in (Database, SpyDatabase)
        for values in ([0.0, 1.0], MARKS[:2], [1.0, 0.0])
    }
    frame = pd.Series(MARKS[:2], index=["b", "a"])
    found.add(shows(Database.from_frame(frame, envelope(), identity="x")))
    waiting = Database.deferred(lambda: 1 / 0, envelope(), identity="x")
    found.add(shows(waiting))
    assert len(found) == 1
    assert SpyDatabase.reads == 0
    assert not is_marked(found.pop())


@pytest.mark.parametrize("table", ["entries", "totals", "looks"])
def test_a_release_shows_no_value_it_was_made_from(table):
    database = Database(MARKS[:2], envelope())
    found = release_database(database, BUDGET, rng=np.random.default_rng(0))
    assert not is_marked(shows(found))
    assert not is_marked(found.to_frame(table).to_csv())


def test_what_one_call_answers_is_shown_without_a_value_it_was_made_from():
    for found in (answer(), private_policy()):
        text = shows(found)
        assert "without data" in text
        assert str(found.choice.plan) in text
        assert html.escape(str(found.release.guarantee)) in text
        assert not is_marked(text + shows(found.choice))
    text = shows(answer().choice)
    assert text.count("<tr>") == 1 + len(answer().choice.scores)
    assert html.escape(NASTY) in shows(answer())


def test_labels_and_names_are_escaped():
    made = envelope([NASTY, "b"])
    text = shows(made)
    assert "<script>" not in text
    assert html.escape(NASTY) in text
    assert "<script>" not in shows(Database([0.5, 0.5], made, identity=NASTY))
    assert html.escape(NASTY) in shows(solve_private(program(), release()))
    assert "<" not in re.sub(r"</?(table|caption|tbody|thead|tr|th|td)>", "", facts_table("<", []))


def test_long_tables_show_their_first_rows_and_say_so():
    text = shows(Envelope(0.0, 1.0, shape=1000))
    assert text.count("<tr>") == MOST_ROWS + 1
    assert f"({MOST_ROWS} of 1000 shown)" in text
    assert "shown" not in rows_table("t", ["a"], [(1,)], count=1)
    assert shows(Policy.uniform(500, 2)).count("<tr>") == MOST_ROWS + 1
