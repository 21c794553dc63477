"""What every compared method owes, whatever its mathematics."""

import importlib
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

import dp_cmdp as dp
from paper.baselines import METHODS
from paper.blocks import form, true_slack
from tests.paper.conftest import (
    draw_auction,
    draw_rounded,
    flow,
    one_block,
    rounded,
    small_auction,
)

EVERY = tuple(METHODS)
SURE = tuple(name for name, method in METHODS.items() if method.promises_feasibility)
DELTA = Fraction(1, 10)
EPSILONS = (0.05, 0.5, 2, 20)
HIDDEN = tuple((name, block) for name in EVERY for block in METHODS[name].private)
BARE = tuple((name, block) for name in EVERY for block in "Abc" if (name, block) not in HIDDEN)
#: ε that a run is told to spend, and one at which noise is small.
CLAIMED, HARDLY_ANY_NOISE = 0.5, 100
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


def answer(name, program, values, *, epsilon=2.0, seed=0, **options) -> Any:
    budget = dp.PrivacyBudget(epsilon, DELTA)
    return METHODS[name].run(program, values, budget, rng=np.random.default_rng(seed), **options)


def value(program, values, x):
    return float(form(program).at(values).c @ x)


class View:
    """What can be seen of one private block, between the two databases that differ most.

    Of all databases one record away (each entry, either way, by its whole radius) the one is taken
    on which the method's own answer, with little noise, differs most.
    """

    def __init__(self, name, problem):
        self.name, (self.program, self.values) = name, problem
        self.entry, self.other = 0, self.values

    def runs(self, values, seeds, epsilon):
        options = QUICK.get(self.name, {})
        found = (answer(self.name, self.program, values, epsilon=epsilon, seed=s, **options)
                 for s in seeds)  # fmt: skip
        return np.array([run.x for run in found]).round(9)

    def seen(self, x, entry):
        """What others see: in the joint model, not the owner's part of the answer."""
        if METHODS[self.name].model != "joint differential privacy":
            return x
        part = form(self.program)
        own = part.A.col[part.A.entry == entry], part.c.row[part.c.entry == entry]
        return np.delete(x, np.union1d(*own), axis=-1)

    def typical(self, values):
        """The answer with little noise: the median of three."""
        return np.median(self.runs(values, range(3), HARDLY_ANY_NOISE), axis=0)

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
        p = stats.beta.ppf(FALSE_ALARM / 2, hits[0], HELD_OUT - hits[0] + 1) if hits[0] else 0.0
        rest = HELD_OUT - hits[1]
        q = stats.beta.ppf(1 - FALSE_ALARM / 2, hits[1] + 1, rest) if rest else 1.0
        return p - math.exp(CLAIMED) * q > DELTA


@pytest.mark.parametrize("name", EVERY)
def test_the_module_says_what_is_protected_and_numbers_its_differences(name):
    text = importlib.import_module(METHODS[name].solver.__module__).__doc__ or ""
    for word in ("Protected:", "Guaranteed:", "Differences from the publication\n1. "):
        assert word in text


@pytest.mark.parametrize("name", EVERY)
def test_the_same_randomness_gives_the_same_answer(name):
    program = small_auction()
    first, second = (answer(name, program, draw_auction(program, 1), seed=3) for _ in range(2))
    assert first.x is not None
    np.testing.assert_array_equal(first.x, second.x)
    assert (first.converged, first.note) == (second.converged, second.note)


@pytest.mark.parametrize(("name", "block"), HIDDEN)
def test_a_block_declared_private_is_hidden_by_noise_or_not_read_at_all(name, block):
    view = View(name, one_block(block))
    moved = view.most_visible_change()
    if (name, block) in UNREAD:
        assert moved == 0.0
    assert not view.tells_apart(CLAIMED)


@pytest.mark.parametrize("block", "Abc")
def test_an_answer_that_reads_a_block_without_noise_is_found_out(block):
    view = View("nonprivate", one_block(block))
    assert view.most_visible_change() > 0.0
    assert view.tells_apart(CLAIMED)


@pytest.mark.parametrize(("name", "block"), BARE)
def test_a_block_not_declared_private_is_read_as_it_is(name, block):
    program = small_auction(block)
    values = draw_auction(program, 1)
    first, second = (answer(name, program, values, epsilon=0.05, seed=s) for s in range(2))
    np.testing.assert_array_equal(first.x, second.x)
    best = value(program, values, answer("nonprivate", program, values).x)
    assert value(program, values, first.x) == pytest.approx(best, rel=1e-6)
    assert f"block {block} unprotected" in first.note


@pytest.mark.parametrize("name", EVERY)
def test_the_note_names_exactly_the_blocks_that_leak(name):
    program = small_auction()
    note = answer(name, program, draw_auction(program, 1)).note
    found = tuple(block for block in "Abc" if f"block {block} unprotected" in note)
    assert found == METHODS[name].leaks(program)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("name", SURE)
def test_a_promise_of_feasibility_holds_exactly_at_any_epsilon(name, epsilon):
    for build, draw in ((small_auction, draw_auction), (rounded, draw_rounded)):
        program = build()
        for seed in range(4):
            values = draw(program, seed)
            x = answer(name, program, values, epsilon=epsilon, seed=seed).x
            assert true_slack(program, values, x).min() >= 0
            assert ((program.lower <= x) & (x <= program.upper)).all()


@pytest.mark.parametrize(
    ("name", "options"),
    [("hsu2014", {"rounds": 1, "tolerance": 0.0}), ("dvorkin2020", {"sensitivity": 1e6})],
)
def test_failure_to_converge_is_a_recorded_result(name, options):
    program = small_auction()
    found = answer(name, program, draw_auction(program, 1), epsilon=20, **options)
    assert not found.converged
    assert found.note


@pytest.mark.parametrize("name", ["hsu2014", "cummings2015"])
def test_methods_that_need_nonnegative_variables_say_so(name):
    theta = dp.Envelope(0.0, 1.0, shape=1)
    program = dp.ParametricLP(maximize=[1.0], A=[[1.0 + theta[0]]], b=[1.0], lower=-1.0)
    with pytest.raises(dp.errors.RefusedError, match=f"{name} works on x ≥ 0"):
        answer(name, program, np.array([0.5]))


@pytest.mark.parametrize("name", EVERY)
def test_a_program_with_balance_equations_is_answered_or_refused_by_name(name):
    program, values = flow(), np.array([0.2, 0.6])
    if name == "cummings2015":
        with pytest.raises(dp.errors.RefusedError, match=r"several records|join several players"):
            answer(name, program, values)
        return
    found = answer(name, program, values)
    if found.converged and name != "hsu2014":
        np.testing.assert_allclose(program.A_eq @ found.x, program.b_eq, atol=1e-6)
