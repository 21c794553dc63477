"""A certificate says first that it holds, then what: never in numbers that seem to contradict it.

Where a release tells of costs and limits together, the highest cost and the lowest limit that it
allows belong to different databases. The first may exceed the second although every database keeps
its limit, so the two are never shown as if they belonged together.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.promises.adapter import (
    Envelope,
    Found,
    HazardGridEnv,
    Policy,
    bars_against_limit,
    certify,
    highest_cost,
    linear_program,
    lowest_limit,
    picture,
    shown,
    shown_in_notebook,
    simulate,
)

COST, ROWS = "cost ≤ limit", "A(θ)x ≤ b(θ)"
EVERY = "for every database the release allows"
NUMBER = r"[-+]?\d+(?:\.\d*)?(?:e[-+]?\d+)?"


def proof(inequality: str) -> str:
    """verified: cost ≤ limit for every database the release allows (slack 2e-9)"""
    return rf"\bverified\W{{1,3}}{re.escape(inequality)} {EVERY} \(slack {NUMBER}\)"


def in_one_line(text: str) -> str:
    return " ".join(text.split())


def shows(text: str, number: float) -> bool:
    """Whether a number stands in a text, to three digits."""
    return any(abs(float(n) - number) <= 5e-3 * abs(number) for n in re.findall(NUMBER, text))


@pytest.fixture(scope="module")
def policy() -> Found:
    """Certified by what is known of cost and limit together."""
    curator = HazardGridEnv("paper", access="curator")
    private = {"epsilon": 2, "delta": "1/1000", "strategy": "queries"}
    (found,) = simulate(curator.model(), curator.database(), **private)
    assert found.certificate.verified
    assert highest(found) > 1.1 * lowest(found)
    return found


@pytest.fixture(scope="module")
def point() -> Found:
    theta = Envelope([0.5, 0.5, 8], [2, 2, 12], radius=[0.1, 0.1, 0.5])
    lp = linear_program(theta, maximize=[3, 2], rows=[{0: 0, 1: 1}], limits=[2])
    (found,) = simulate(lp, [1, 1.2, 10], epsilon=2, delta="1/1000")
    assert found.certificate.verified
    return found


def highest(found: Found) -> float:
    return highest_cost(found.problem, found.decision, found.release)


def lowest(found: Found) -> float:
    return lowest_limit(found.problem, found.release)


def misleads(text: str, found: Found) -> bool:
    """Whether the highest cost and the lowest limit, of different databases, are both shown."""
    return shows(text, highest(found)) and shows(text, lowest(found))


def texts(figure: Any) -> list[str]:
    from matplotlib.text import Text

    return [in_one_line(part.get_text()) for part in figure.findobj(Text)]


# ------------------------------------------------------------------------------------- as repr


def test_a_policys_certificate_begins_with_verified_and_what_that_means(policy: Found) -> None:
    assert re.match(r"(\w+\()?" + proof(COST), in_one_line(repr(policy.certificate)))


def test_a_policys_certificate_does_not_show_numbers_of_different_databases(policy: Found) -> None:
    assert not misleads(repr(policy.certificate), policy)


def test_a_programs_certificate_begins_with_verified_and_what_that_means(point: Found) -> None:
    assert re.match(r"(\w+\()?" + proof(ROWS), in_one_line(repr(point.certificate)))


def test_what_is_not_proved_begins_with_not_verified(policy: Found) -> None:
    model = policy.problem
    states, actions = model.num_states, model.num_actions
    anything = Policy([[1 / actions] * actions] * states)
    failed = certify(model, anything, policy.release)
    assert not failed.verified
    text = in_one_line(repr(failed))
    assert EVERY not in text
    assert re.match(r"(\w+\()?not verified\b", text, re.IGNORECASE)


def test_a_policy_says_in_one_line_what_is_proved_of_it(policy: Found) -> None:
    assert not misleads(shown(policy), policy)
    assert re.search(proof(COST), shown(policy))


def test_a_point_says_in_one_line_what_is_proved_of_it(point: Found) -> None:
    assert re.search(proof(ROWS), shown(point))


def test_a_policy_shows_cost_and_limit_of_one_database_in_its_table(policy: Found) -> None:
    assert not misleads(shown_in_notebook(policy), policy)
    table = policy.inner.to_frame()
    assert (table["cost"] <= table["limit"] + 1e-9).all()  # to the accuracy of the solver


# ------------------------------------------------------------------------------------- as files


# ---------------------------------------------------------------------------------- as pictures


def test_the_picture_of_a_policy_says_what_is_proved_of_it(policy: Found) -> None:
    told = texts(picture(policy))
    assert not misleads(" ".join(told), policy)
    assert any(re.search(proof(COST), text) for text in told)


def test_the_picture_of_a_policy_draws_no_cost_beyond_a_limit_of_another_database(
    policy: Found,
) -> None:
    assert max(bars_against_limit(picture(policy))) <= 1.0


def test_the_picture_of_a_point_says_what_is_proved_of_it(point: Found) -> None:
    assert any(re.search(proof(ROWS), text) for text in texts(picture(point)))
