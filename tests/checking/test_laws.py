"""The checker's own bound of δ: exact enumeration, the producer's laws, and forged ones."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dp_cmdp._src.accounting.budget import PrivacyBudget
from dp_cmdp._src.checking.audit.measured import exact_divergence
from dp_cmdp._src.checking.verify.adjacency import CountedSensitivity
from dp_cmdp._src.checking.verify.laws import exp_below, law_of, tail_of
from dp_cmdp._src.checking.verify.reading import Refused
from dp_cmdp._src.noise.laws import Laplace, Sensitivity
from dp_cmdp._src.noise.one_sided import OneSided
from dp_cmdp._src.noise.unbounded import UnboundedLaplace

CASES = [(1, 1), (3, 1), (5, 1), (1, 2), (2, 2), (1, 3)]  # largest move, queries moved
BUDGETS = [PrivacyBudget(1, "1/10"), PrivacyBudget("1/3", "1/20"), PrivacyBudget(3, "1/1000")]
ONE = 1 << 256


def made(kind: Any, most: int, count: int, budget: PrivacyBudget) -> tuple[Any, CountedSensitivity]:
    moved = CountedSensitivity(most * count, most * most * count, most, count)
    return kind.calibrate(Sensitivity(*moved), budget), moved


def delta(document: Any, moved: CountedSensitivity, epsilon: Any) -> Fraction:
    law = law_of(document)
    assert law is not None
    return law.delta(moved, Fraction(epsilon))


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("kind", [Laplace, OneSided, UnboundedLaplace])
def test_honest_laws_are_proved_and_bounds_are_not_below_the_exact_divergence(
    kind: Any, case: tuple[int, int], budget: PrivacyBudget
) -> None:
    if kind is OneSided and case[1] > 1:
        return
    law, moved = made(kind, *case, budget)
    bound = delta(law.document(), moved, budget.epsilon)
    assert bound <= law.delta(Sensitivity(*moved), budget.epsilon)
    assert bound <= budget.delta
    if kind is UnboundedLaplace or (case[1] > 1 and law.high ** case[1] > 1500):
        return
    moves = itertools.product(range(-case[0], case[0] + 1), repeat=case[1])
    exact = exact_divergence("law", law, moves, budget)
    assert exact.holds
    assert exact.numbers["delta"] <= float(bound) * (1 + 1e-12)


@pytest.mark.parametrize("kind", [Laplace, OneSided, UnboundedLaplace])
def test_a_law_is_not_private_for_more_than_it_was_made_for(kind: Any) -> None:
    """At real sizes: 2^16 steps, several queries; one step more breaks it."""
    budget, count = PrivacyBudget(1, "1/1000"), 1 if kind is OneSided else 4
    law, moved = made(kind, 65536, count, budget)
    said = law.document()
    assert delta(said, moved, 1) <= budget.delta
    if kind is not OneSided:
        assert delta(said, moved._replace(l1=moved.l1 + moved.l1 // 1000), 1) > budget.delta
        assert delta(said, moved, Fraction(999, 1000)) > budget.delta
    else:
        assert delta(said, moved._replace(queries=2), 1) == 1
        assert delta(said, moved._replace(largest=2 * moved.largest), 1) > budget.delta
        assert delta(said, moved, Fraction(9, 10)) > budget.delta


def test_more_of_anything_never_needs_less() -> None:
    for kind in (Laplace, OneSided, UnboundedLaplace):
        law, moved = made(kind, 3, 1, BUDGETS[0])
        for name in CountedSensitivity._fields:
            more = moved._replace(**{name: getattr(moved, name) + 1})
            assert delta(law.document(), more, 1) >= delta(law.document(), moved, 1)


def test_a_record_that_moves_nothing_needs_nothing() -> None:
    for kind in (Laplace, OneSided, UnboundedLaplace):
        law, _ = made(kind, 2, 1, BUDGETS[0])
        assert delta(law.document(), CountedSensitivity(0, 0, 0, 0), 1) == 0


def one_sided(weights: list[int], cell: int = 1) -> dict[str, Any]:
    return {"law": "one-sided", "cell": f"{cell:x}", "weights": [f"{w:x}" for w in weights]}


def test_a_table_is_judged_at_every_shift_and_in_both_directions() -> None:
    """Certified at its full shift alone such tables leak up to everything."""
    law, moved = made(OneSided, 5, 1, BUDGETS[0])
    honest = list(law.weights) if law.cell == 1 else None
    assert delta(law.document(), moved, 1) <= BUDGETS[0].delta
    # alternating cells: private at even shifts, disjoint at odd ones
    comb = one_sided([ONE // 8 if j % 2 == 0 else 0 for j in range(16)])
    assert delta(comb, CountedSensitivity(2, 4, 2, 1), 1) == 1
    # falling slowly to the right, from a cliff: private in one direction only
    falling = [ONE >> (j + 1) for j in range(12)]
    falling[-1] += ONE - sum(falling)
    assert delta(one_sided(falling), CountedSensitivity(1, 1, 1, 1), 1) >= Fraction(1, 4)
    assert delta(one_sided(falling[::-1]), CountedSensitivity(1, 1, 1, 1), 1) >= Fraction(1, 4)
    if honest is not None:  # the dilated table: right at multiples of five, wrong between them
        dilated = [0] * (5 * len(honest))
        dilated[::5] = honest
        assert delta(one_sided(dilated), CountedSensitivity(5, 25, 5, 1), 1) == 1
        spread = one_sided(honest, cell=5)
        assert delta(spread, CountedSensitivity(25, 625, 25, 1), 1) <= BUDGETS[0].delta


@pytest.mark.parametrize("kind", [Laplace, OneSided, UnboundedLaplace])
def test_tails_are_those_of_the_law(kind: Any) -> None:
    law, _ = made(kind, 3, 1, BUDGETS[0])
    tail = tail_of(law.document())
    assert tail is not None
    low, high = (-40, 40) if law.low is None else (law.low, law.high)
    assert low is not None
    for z in range(low, high + 1):
        assert tail(z) - tail(z + 1) == law.pmf(z)
    if law.low is not None:
        assert (tail(low), tail(high + 1)) == (1, 0)


def test_bounds_of_the_exponential_function_are_below_it_and_near() -> None:
    for x in (Fraction(0), Fraction(1, 10**9), Fraction(1, 3), Fraction(7), Fraction(100)):
        below = exp_below(x)
        assert float(below) == pytest.approx(math.exp(x), rel=1e-15)
        assert below == 1 or exp_below(x / 2) ** 2 <= below * (1 + Fraction(1, 2**600))
    assert exp_below(Fraction(1)) < Fraction("2.71828182845904523536028747135266249775724709369996")


def laplace(**changes: Any) -> dict[str, Any]:
    return made(Laplace, 3, 1, BUDGETS[0])[0].document() | changes


@pytest.mark.parametrize(
    "said",
    [
        laplace(support="-5"),
        laplace(support=5),
        laplace(support="05"),
        laplace(support="F"),
        laplace(support="f" * 40),
        laplace(thresholds=["0"]),
        laplace(thresholds=[f"{ONE:x}"]),
        laplace(thresholds="abc"),
        laplace(more="1"),
        {"law": "laplace", "support": "1"},
        {"law": 3},
        {},
        {"law": "unbounded laplace", "thresholds": [], "onward": "1"},
        one_sided([ONE - 1]),
        one_sided([ONE], cell=0),
        one_sided([ONE], cell=1 << 62),
        one_sided([]),
    ],
    ids=str,
)
def test_a_document_that_no_law_writes_is_refused(said: Any) -> None:
    with pytest.raises(Refused):
        law_of(said)


def test_every_changed_digit_of_a_law_is_seen_or_harmless() -> None:
    """A threshold, the support or a weight: no changed law is private by more than it was."""
    budget = PrivacyBudget(1, "1/1000")
    law, moved = made(Laplace, 65536, 2, budget)
    said = law.document()
    for place, text in enumerate(said["thresholds"]):
        for change in (-1, 1):
            texts = [*said["thresholds"]]
            texts[place] = f"{int(text, 16) + change * (ONE >> 20):x}"
            assert delta(said | {"thresholds": texts}, moved, 1) > budget.delta
    shorter = f"{law.support - 1:x}"
    assert delta(said | {"support": shorter}, moved, 1) > budget.delta
    table, moved = made(OneSided, 65536, 1, budget)
    weights = [int(each, 16) for each in table.document()["weights"]]
    seen = 0
    for place in range(1, len(weights)):
        other = [*weights]
        other[0], other[place] = other[0] + other[place] // 2, other[place] - other[place] // 2
        seen += delta(one_sided(other, table.cell), moved, 1) > budget.delta
    assert seen == len(weights) - 1


def test_an_unknown_law_is_not_judged() -> None:
    assert law_of({"law": "gaussian", "variance": "3"}) is None
    assert tail_of({"law": "gaussian"}) is None
    said = np.array([1.0])
    with pytest.raises(Refused):
        law_of(said)


def test_a_law_that_rises_away_from_0_is_not_proved() -> None:
    """Its outermost points are its likeliest: the bound by tails does not hold for it."""
    rising = {"law": "laplace", "support": "1", "thresholds": [f"{3 << 254:x}"]}
    assert delta(rising, CountedSensitivity(1, 1, 1, 1), 4) == 1
