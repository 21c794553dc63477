"""What every compared method owes, whatever its mathematics."""

import importlib
import math
from typing import Any, cast

import numpy as np
import pytest

from dp_cmdp.accounting.budget import PrivacyBudget
from dp_cmdp.audit.layers.black_box import lower_limit, upper_limit
from dp_cmdp.baselines import METHODS
from dp_cmdp.data.database import Database
from dp_cmdp.data.envelope import Envelope
from dp_cmdp.errors import AssumptionError, InvalidArgumentError

EVERY = tuple(METHODS)
SURE = tuple(name for name, method in METHODS.items() if method.promises_feasibility)
DELTA = 0.1
EPSILONS = (0.05, 0.5, 2, 20)
HIDDEN = tuple((name, block) for name in EVERY for block in METHODS[name].private)
BARE = tuple((name, block) for name in EVERY for block in "Abc" if (name, block) not in HIDDEN)


def answer(name, program, database, *, epsilon=2.0, seed=0, **options):
    rng = np.random.default_rng(seed)
    budget = PrivacyBudget(epsilon, DELTA)
    return METHODS[name].run(program, database, budget, rng=rng, **options)


def value(program, database, x):
    return float(program.at(database.values).c @ x)


#: ε that a run is told to spend, and one at which noise is negligible.
CLAIMED, HARDLY_ANY_NOISE = 0.5, 50_000
#: Exact noise, which totals are measured with, is built for ε ≤ 100.
LEAST_NOISE = {"planned": 100, "totals": 100}
#: Cases in which the declared block is not read, so that no noise is due.
UNREAD = (("robust", "A"), ("robust", "b"), ("robust", "c"), ("sup_A_exact_c", "A"))
#: Fewer rounds, and a sensitivity instead of its estimate, for speed.
QUICK = {
    "hsu2014": {"rounds": 20, "guesses": 2},
    "cummings2015": {"rounds": 100},
    "dvorkin2020": {"sensitivity": 0.04},
}
TRAINING, HELD_OUT = 4, 20
FALSE_ALARM = 1e-3  # per case; at 20 held-out runs, answers that never overlap are still seen


class View:
    """What can be seen of one private block, between the two databases that differ most.

    Of all databases one record away (each entry, either way, by its whole radius) the one is taken
    on which the method's own answer, with hardly any noise, differs most.
    """

    def __init__(self, name, problem):
        self.name, (self.program, self.values) = name, problem
        self.entry, self.other = 0, self.values
        self.hardly_any_noise = LEAST_NOISE.get(name, HARDLY_ANY_NOISE)

    def runs(self, values, seeds, epsilon):
        database, options = Database(values, self.program.envelope), QUICK.get(self.name, {})
        return np.array([
            answer(self.name, self.program, database, epsilon=epsilon, seed=s, **options).x
            for s in seeds
        ]).round(9)  # fmt: skip

    def seen(self, x, entry):
        """What others see: in the joint model, not the owner's part of the answer."""
        if METHODS[self.name].model != "joint differential privacy":
            return x
        A, c = self.program.A, self.program.c
        return np.delete(x, np.union1d(A.col[A.entry == entry], c.row[c.entry == entry]), axis=-1)

    def typical(self, values):
        """The answer with hardly any noise; the median of three where some is left."""
        seeds = range(3 if self.name in LEAST_NOISE else 1)
        return np.median(self.runs(values, seeds, self.hardly_any_noise), axis=0)

    def most_visible_change(self):
        """ℓ1 change of what is seen, at its largest; the pair of databases is kept."""
        start, most = self.typical(self.values), -1.0
        for entry, radius in enumerate(self.program.envelope.radius):
            for step in (-radius, radius):
                near = self.values + step * (np.arange(self.values.size) == entry)
                moved = np.abs(self.seen(self.typical(near) - start, entry)).sum()
                if moved > most:
                    most, self.entry, self.other = moved, entry, near
        return most

    def tells_apart(self, epsilon):
        """Whether p − e^ε q ≤ δ is refuted by an event that four runs of each suggest."""
        count = TRAINING + HELD_OUT
        one, two = (
            self.seen(self.runs(values, range(first, first + count), epsilon), self.entry)
            for values, first in ((self.values, 0), (self.other, 1000))
        )
        axis = one[:TRAINING].mean(axis=0) - two[:TRAINING].mean(axis=0)
        middle = 0.5 * axis @ (one[:TRAINING].mean(axis=0) + two[:TRAINING].mean(axis=0))
        hits = [int((x[TRAINING:] @ axis > middle).sum()) for x in (one, two)]
        p = lower_limit(hits[0], HELD_OUT, alpha=FALSE_ALARM / 2)
        q = upper_limit(hits[1], HELD_OUT, alpha=FALSE_ALARM / 2)
        return p - math.exp(CLAIMED) * q > DELTA


def test_the_registry_follows_the_order_of_the_papers_table():
    assert EVERY == (
        "hsu2014",
        "cummings2015",
        "dvorkin2020",
        "munoz2021",
        "benvenuti2024",
        "benvenuti2025",
        "database",
        "planned",
        "totals",
        "robust",
        "nonprivate",
        "laplace",
        "sup_A_exact_c",
    )


def test_the_records_carry_the_ticks_of_the_papers_table():
    ticks = {name: ("".join(m.private), m.promises_feasibility) for name, m in METHODS.items()}
    assert ticks["hsu2014"] == ("Abc", False)
    assert ticks["cummings2015"] == ("Abc", False)
    assert ticks["dvorkin2020"] == ("b", False)
    assert ticks["munoz2021"] == ("b", True)
    assert ticks["benvenuti2024"] == ("A", True)
    assert ticks["benvenuti2025"] == ("Abc", True)


def test_only_cummings_is_in_the_joint_model():
    joint = [name for name, m in METHODS.items() if m.model == "joint differential privacy"]
    assert joint == ["cummings2015"]


@pytest.mark.parametrize("name", EVERY)
def test_the_module_says_what_is_protected_and_numbers_its_differences(name):
    module = "database_release" if name == "database" else name
    text = importlib.import_module(f"dp_cmdp.baselines.{module}").__doc__ or ""
    for word in ("Protected:", "Guaranteed:", "Differences from the publication\n1. "):
        assert word in text


@pytest.mark.parametrize("name", EVERY)
def test_the_same_randomness_gives_the_same_answer(name, small):
    program = small.auction()
    database = small.draw(program, 1)
    first, second = (answer(name, program, database, seed=3) for _ in range(2))
    assert first.x is not None
    np.testing.assert_array_equal(first.x, second.x)
    assert (first.converged, first.note) == (second.converged, second.note)


@pytest.mark.parametrize(("name", "block"), HIDDEN)
def test_a_block_declared_private_is_hidden_by_noise_or_not_read_at_all(name, block, small):
    view = View(name, small.knapsack(block))
    moved = view.most_visible_change()
    assert (moved == 0.0) == ((name, block) in UNREAD)
    assert not view.tells_apart(CLAIMED)


@pytest.mark.parametrize(("name", "block"), [case for case in HIDDEN if case not in UNREAD])
def test_a_method_that_adds_hardly_any_noise_is_found_out(name, block, small):
    view = View(name, small.knapsack(block))
    view.most_visible_change()
    assert view.tells_apart(view.hardly_any_noise)


@pytest.mark.parametrize("block", "Abc")
def test_an_answer_that_reads_a_block_without_noise_is_found_out(block, small):
    view = View("nonprivate", small.knapsack(block))
    assert view.most_visible_change() > 0.0
    assert view.tells_apart(CLAIMED)


@pytest.mark.parametrize(("name", "block"), BARE)
def test_a_block_not_declared_private_is_read_as_it_is(name, block, small):
    program = small.auction(block)
    database = small.draw(program, 1)
    first, second = (answer(name, program, database, epsilon=0.05, seed=s) for s in range(2))
    np.testing.assert_array_equal(first.x, second.x)
    best = value(program, database, answer("nonprivate", program, database).x)
    assert value(program, database, first.x) == pytest.approx(best, rel=1e-6)
    assert f"block {block} unprotected" in first.note


@pytest.mark.parametrize("name", EVERY)
def test_the_note_names_exactly_the_blocks_that_leak(name, small):
    program = small.auction()
    note = answer(name, program, small.draw(program, 1)).note
    found = tuple(block for block in "Abc" if f"block {block} unprotected" in note)
    assert found == METHODS[name].leaks(program)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("name", SURE)
def test_a_promise_of_feasibility_holds_exactly_at_any_epsilon(name, epsilon, small):
    for build, draw in ((small.auction, small.draw), (small.awkward, small.draw_awkward)):
        program = build()
        for seed in range(4):
            database = draw(program, seed)
            x = answer(name, program, database, epsilon=epsilon, seed=seed).x
            truth = database.values
            assert program.worst_case_slack(x, lower=truth, upper=truth).min() >= 0
            assert ((program.lower <= x) & (x <= program.upper)).all()


@pytest.mark.parametrize("name", EVERY)
def test_bad_budgets_are_refused(name, small):
    program = small.auction()
    database = small.draw(program, 1)
    rng = np.random.default_rng(0)
    wrong: list[Any] = [(1.0, 0.1), 1.0, None]
    for budget in wrong:
        with pytest.raises(InvalidArgumentError, match="budget"):
            METHODS[name].run(program, database, budget, rng=rng)
    for epsilon, delta in ((0, 0.1), (-1, 0.1), (1, 0), (1, 0.6)):
        with pytest.raises(InvalidArgumentError):
            METHODS[name].run(program, database, PrivacyBudget(epsilon, delta), rng=rng)


@pytest.mark.parametrize("name", EVERY)
def test_foreign_databases_and_missing_randomness_are_refused(name, small):
    program = small.auction()
    budget = PrivacyBudget(1, 0.1)
    with pytest.raises(InvalidArgumentError, match="rng"):
        METHODS[name].run(program, small.draw(program, 1), budget, rng=cast(Any, 0))
    stranger = Database(program.envelope.lower, Envelope(program.envelope.lower, 1e6))
    with pytest.raises(InvalidArgumentError, match="share one Envelope"):
        METHODS[name].run(program, stranger, budget, rng=np.random.default_rng(0))


@pytest.mark.parametrize(
    ("name", "options"),
    [("hsu2014", {"rounds": 1, "tolerance": 0.0}), ("dvorkin2020", {"sensitivity": 1e6})],
)
def test_failure_to_converge_is_a_recorded_result(name, options, small):
    program = small.auction()
    found = answer(name, program, small.draw(program, 1), epsilon=20, **options)
    assert not found.converged
    assert found.note


@pytest.mark.parametrize("name", ["hsu2014", "cummings2015"])
def test_methods_that_need_nonnegative_variables_say_so(name, small):
    from dp_cmdp.data.affine import Affine
    from dp_cmdp.program.parametric import ParametricLP

    program = ParametricLP(
        Envelope(0.0, 1.0, shape=1),
        c=[1.0],
        A=Affine((1, 1), constant=[[1.0]], at=([0], [0]), entry=[0]),
        b=[1.0],
        lower=-1.0,
    )
    with pytest.raises(AssumptionError, match="x ≥ 0") as caught:
        answer(name, program, Database([0.5], program.envelope))
    assert caught.value.label.startswith(name)


@pytest.mark.parametrize("name", EVERY)
def test_a_program_with_balance_equations_is_answered_or_refused_by_name(name, small):
    program = small.flow()
    database = Database([0.2, 0.6], program.envelope)
    if name == "cummings2015":
        with pytest.raises(AssumptionError, match=r"several records|join several players"):
            answer(name, program, database)
        return
    found = answer(name, program, database)
    if found.converged and name not in ("hsu2014",):
        np.testing.assert_allclose(program.A_eq @ found.x, program.b_eq, atol=1e-6)
