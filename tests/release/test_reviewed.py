"""What a review found: sums of weights, composed releases, unproved answers, lazy mappings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import dp_cmdp as dp
from dp_cmdp._src.base.errors import InvalidArgumentError
from dp_cmdp.extend import Query


def program() -> Any:
    theta = dp.Envelope(0, 100, radius=1, shape=3)
    return dp.ParametricLP(maximize=[1, 1, 1], A=np.eye(3), b=theta[:])


def test_weights_stated_several_times_are_refused() -> None:
    """1,024 times 2^53 at one place is −2^63 in int64, of which no size is seen."""
    many, zeros = np.full(1024, 1 << 53), np.zeros(1024, int)
    envelope = dp.Envelope(0, 1, radius=1, shape=2)
    for table in (
        sparse.coo_array((many, (zeros, zeros)), shape=(1, 2)),
        sparse.csr_array((many, zeros, [0, 1024]), shape=(1, 2)),
    ):
        with pytest.raises(InvalidArgumentError, match="once"):
            Query(envelope, table)


def test_a_later_answer_states_what_all_of_its_release_spent(tmp_path: Any) -> None:
    lp = program()
    first = dp.solve(lp, [10, 20, 30], epsilon=1, delta=1e-4)
    assert first.release is not None
    second = dp.solve(lp, [10, 20, 30], epsilon=1, delta=1e-4, after=first.release)
    assert (second.epsilon, second.delta) == (2, second.release.budget.delta)  # type: ignore[union-attr]
    assert dp.verify(second.save(tmp_path / "second"), problem=lp)


class Dose:
    """Its own arithmetic may miss a limit by a rounding."""

    def __init__(self, envelope: dp.Envelope) -> None:
        self.envelope = envelope

    def answer(self, known: Any, estimate: Any = None) -> Any:
        more = 1.0 if (known.upper == self.envelope.upper).all() else 1.0 + 2.0**-40
        return dp.extend.certified(
            self, more * 9.9 / known.upper.sum() * (1 + (more > 1) / 9), known
        )

    def value(self, decision: Any, values: Any) -> float:
        return float(decision)

    def slack(self, decision: Any, theta: Any) -> Any:
        return (10 - decision * theta.sum()).reshape(1)


def test_an_answer_that_is_not_proved_gives_way_to_the_robust_one() -> None:
    problem = Dose(dp.Envelope(1, 5, radius=0.2, shape=4))
    found = dp.solve(problem, [2, 3, 1, 4], epsilon=2, delta=1e-4, strategy="entries")
    assert found.certificate
    assert found.source == "robust"


class Lazy(Mapping[str, Any]):
    """Reads when it is asked for an item, as an open file does."""

    def __init__(self) -> None:
        self.read: list[str] = []

    def __getitem__(self, key: str) -> Any:
        self.read.append(key)
        return [1.0, 2.0]

    def __iter__(self) -> Iterator[str]:
        return iter(("a", "b"))

    def __len__(self) -> int:
        return 2


def test_a_mapping_is_not_read_before_the_debit() -> None:
    part = dp.Envelope(0, 9, radius=0.1, shape=2)
    envelope, values = dp.Envelope.join({"a": part, "b": part}), Lazy()
    database = dp.Database(values, envelope)
    assert values.read == []
    assert database.read().tolist() == [1.0, 2.0, 1.0, 2.0]


def test_a_program_without_private_numbers_is_answered() -> None:
    lp = dp.ParametricLP(maximize=[1], A=[[1.0]], b=[1])
    found = dp.solve(lp, [], epsilon=1, delta=1e-3)
    assert found.x.tolist() == [1.0]
