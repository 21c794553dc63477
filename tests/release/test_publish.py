"""Refuse, debit, read, measure: in this order, and whatever was paid for is kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dp_cmdp as dp
from dp_cmdp._src.data.envelope import is_everything
from dp_cmdp._src.noise.laws import Laplace
from dp_cmdp._src.release import publish as module
from dp_cmdp._src.release.measurement import Measurement, Query
from dp_cmdp._src.release.publish import publish
from dp_cmdp._src.release.release import Release
from dp_cmdp.extend import Step

from .cases import SMALL, Recorded, budget, dense, repeatable, shared, small


def total(problem: Any, release: Any, budget: Any) -> Measurement:
    """One query: the sum of all lattice cells."""
    weights = np.ones((1, problem.envelope.size), dtype=int)
    return Measurement(Query(problem.envelope, weights), Laplace, budget, name="total")


def then(propose: Any, *, share: str = "1/2") -> dp.Strategy:
    first = Step(total, epsilon="1/2", delta="1/2")
    return dp.Strategy(first, Step(propose, epsilon=share, delta=share), name="two")


def published(strategy: dp.Strategy, source: Any = None, **how: Any) -> tuple[Release, Recorded]:
    recorded = Recorded(SMALL, small())
    release = publish(small(), recorded.database, budget(), strategy, source or repeatable(), **how)
    return release, recorded


# ------------------------------------------------------------------------------------- the order


@pytest.mark.parametrize("name", ["entries", "queries", "worst row"])
def test_the_budget_is_debited_once_and_before_the_data_are_read_once(name: str) -> None:
    release, recorded = published(dp.Strategy.named(name))
    assert recorded.events == ["debit 1 0.001", "read"]
    assert release.budget.fits(budget())
    assert release.ledger_reference == "reference"


@pytest.mark.parametrize("name", ["auto", "entries", "queries", "worst row"])
def test_so_do_the_verbs(name: str) -> None:
    for verb in (dp.solve, dp.publish):
        recorded = Recorded(SMALL, small())
        verb(small(), recorded.database, epsilon=1, delta="1/1000", strategy=name)
        assert recorded.events == ["debit 1 0.001", "read"]


def test_a_debit_that_is_refused_leaves_the_data_unread() -> None:
    refusal = dp.errors.BudgetExceededError("nothing remains")
    recorded = Recorded(SMALL, small(), fail=refusal)
    with pytest.raises(dp.errors.BudgetExceededError) as raised:
        dp.solve(small(), recorded.database, epsilon=1, delta="1/1000")
    assert recorded.events == []
    assert raised.value.release is None


def refused(problem: Any, release: Any, budget: Any) -> Any:
    raise dp.errors.InvalidArgumentError("not this")


def too_much(problem: Any, release: Any, part: Any) -> Measurement:
    return total(problem, release, part * 3)


def elsewhere(problem: Any, release: Any, part: Any) -> Measurement:
    return total(dense(1, 3), release, part)


def nonsense(problem: Any, release: Any, part: Any) -> Any:
    return "all of it"


WRONG = [refused, too_much, elsewhere, nonsense]


@pytest.mark.parametrize("propose", WRONG)
def test_what_is_wrong_with_the_first_step_is_refused_unpaid(propose: Any) -> None:
    recorded = Recorded(SMALL, small())
    strategy = dp.Strategy(Step(propose), name="wrong")
    with pytest.raises(dp.errors.InvalidArgumentError):
        dp.publish(small(), recorded.database, epsilon=1, delta="1/1000", strategy=strategy)
    assert recorded.events == []


@pytest.mark.parametrize(
    "arguments",
    [
        {"epsilon": -1},
        {"delta": 1},
        {"strategy": "everything"},
        {"strategy": 3},
        {"prior": [1, 2]},
        {"prior": [0, 0, 0]},
        {"after": [1, 1.2, 10]},
        {"after": Release(dense(1, 3).envelope)},
        {"progress": "yes"},
    ],
)
def test_what_is_refused_costs_nothing(arguments: dict[str, Any]) -> None:
    for verb in (dp.solve, dp.publish):
        recorded = Recorded(SMALL, small())
        with pytest.raises(dp.errors.InvalidArgumentError, match=next(iter(arguments))):
            verb(small(), recorded.database, **{"epsilon": 1, "delta": "1/1000", **arguments})
        assert recorded.events == []


def test_a_problem_without_a_robust_answer_costs_nothing() -> None:
    theta = dp.Envelope([-1, 1], [2, 2], radius=0.1)
    problem = dp.ParametricLP(maximize=[1], A=[[theta[1]]], b=[theta[0]])
    for verb in (dp.solve, dp.publish):
        recorded = Recorded([1.0, 1.0], problem)
        with pytest.raises(dp.errors.RefusedError) as raised:
            verb(problem, recorded.database, epsilon=1, delta="1/1000")
        assert raised.value.repairs
        assert recorded.events == []


def test_data_of_another_problem_cost_nothing() -> None:
    recorded = Recorded(SMALL, small())
    other = dp.ParametricLP(maximize=[1], A=[[1]], b=[dp.Envelope(0, 1, radius=0.1, shape=1)[0]])
    with pytest.raises(dp.errors.InvalidArgumentError):
        dp.solve(other, recorded.database, epsilon=1, delta="1/1000")
    assert recorded.events == []


def test_where_public_data_show_that_nothing_is_worth_measuring_nothing_is_spent() -> None:
    problem = dense(3, 20, radius=1.0)
    recorded = Recorded(np.full((3, 20), 0.5), problem)
    strategy = dp.Strategy.queries(share=0)
    release = publish(problem, recorded.database, budget("1/2"), strategy, repeatable())
    assert recorded.events == []
    assert release.outcomes == ()


# --------------------------------------------------------------------------------- after the debit


@pytest.mark.parametrize("propose", WRONG)
def test_after_the_debit_a_proposal_that_is_wrong_counts_as_none_and_is_recorded(
    propose: Any,
) -> None:
    release, recorded = published(then(propose))
    assert recorded.events == ["debit 1 0.001", "read"]
    assert [outcome.measurement.name for outcome in release.outcomes] == ["total"]
    (skipped,) = release.strategy_document["skipped"]  # type: ignore[index]
    assert skipped["propose"] == propose.__name__
    assert skipped["why"]


def test_values_that_cannot_be_used_are_refused_without_a_word_on_which() -> None:
    for values in ([1, 1.2, 77.0], [1, 1.2], [1, 1.2, float("nan")], "secret 77", {"a": 77}):
        recorded = Recorded(values, small())
        with pytest.raises(dp.errors.RefusedError) as raised:
            dp.solve(small(), recorded.database, epsilon=1, delta="1/1000")
        assert recorded.events == ["debit 1 0.001", "read"]
        assert "77" not in str(raised.value)
        assert raised.value.__cause__ is None
        assert raised.value.__context__ is None
        assert raised.value.release.outcomes == ()
        assert raised.value.release.ledger_reference == "reference"


class Breaking:
    """A source that breaks at a draw."""

    simulated = False

    def __init__(self, error: BaseException, after: int) -> None:
        self.error, self.left, self.exact = error, after, repeatable()

    def draw(self, law: Any, size: int) -> list[int]:
        if self.left == 0:
            raise self.error
        self.left -= 1
        return self.exact.draw(law, size)


ERRORS = [KeyboardInterrupt, MemoryError, ValueError, OSError, SystemExit]


@pytest.mark.parametrize("error", ERRORS)
def test_between_two_steps_the_first_one_is_carried(error: type[BaseException]) -> None:
    def interrupted(problem: Any, release: Any, part: Any) -> Any:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as raised:
        published(then(interrupted))
    assert [o.measurement.name for o in raised.value.release.outcomes] == ["total"]  # type: ignore
    with pytest.raises(error) as broken:
        published(then(total), Breaking(error(), after=1))
    release: Any = broken.value.release  # type: ignore[attr-defined]
    assert float(release.budget.epsilon) == 0.5
    assert np.array(SMALL) in release.uncertainty
    assert any("release" in note for note in broken.value.__notes__)


@pytest.mark.parametrize("error", ERRORS)
def test_whatever_breaks_the_answer_carries_the_release(
    error: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    problem, usual = small(), type(small()).answer

    def answer(self: Any, known: Any, *given: Any, **named: Any) -> Any:
        if not is_everything(known, self.envelope) and named.get("certify", True):
            raise error
        return usual(self, known, *given, **named)

    with monkeypatch.context() as patch:
        patch.setattr(type(problem), "answer", answer)
        with pytest.raises(error) as raised:
            dp.solve(problem, SMALL, epsilon=1, delta="1/1000", strategy="entries")
    release: Any = raised.value.release  # type: ignore[attr-defined]
    assert dp.answer(problem, release).certificate


def test_an_engine_that_gives_up_leaves_the_robust_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    problem, usual = small(), type(small()).answer

    def answer(self: Any, known: Any, *given: Any, **named: Any) -> Any:
        if not is_everything(known, self.envelope):
            raise dp.errors.SolverError("numerical trouble")
        return usual(self, known, *given, **named)

    monkeypatch.setattr(type(problem), "answer", answer)
    found = dp.solve(problem, SMALL, epsilon=1, delta="1/1000", strategy="entries")
    assert found.source == "robust"
    assert found.x == pytest.approx(found.robust.x)
    assert found.certificate
    assert found.value == found.robust.value
    assert found.release is not None


# ------------------------------------------------------------------------------- several releases


def test_a_second_release_counts_both_and_their_budgets() -> None:
    first, _ = published(dp.Strategy.entries())
    second, recorded = published(dp.Strategy.queries(), repeatable(1), after=first)
    assert recorded.events == ["debit 1 0.001", "read"]
    assert len(second.outcomes) == 3
    assert float(second.budget.epsilon) == pytest.approx(2)
    assert np.array(SMALL) in second.uncertainty
    assert (second.lower >= first.lower).all()
    assert (second.upper <= first.upper).all()
    assert second.ledger_reference == "reference, reference"
    found = dp.solve(small(), SMALL, epsilon=1, delta="1/1000", after=second)
    assert found.release.budget.epsilon == second.budget.epsilon + 1
    assert found.epsilon == 3  # of all that its release spent


def test_releases_that_contradict_each_other_say_that_the_data_changed() -> None:
    problem = dense(1, 4, radius=0.001)
    first = dp.publish(problem, np.zeros((1, 4)), epsilon=4, delta="1/1000", strategy="entries")
    with pytest.raises(dp.errors.AnswerError, match="the data changed in between") as raised:
        dp.publish(
            problem, np.ones((1, 4)), epsilon=4, delta="1/1000", strategy="entries", after=first
        )
    assert len(raised.value.release.outcomes) == 2


def test_carrying_keeps_the_fullest_release() -> None:
    inner = Release(small().envelope)
    error = dp.errors.AnswerError("no answer", release=inner)
    with pytest.raises(dp.errors.AnswerError), module.carrying(lambda: Release(small().envelope)):
        raise error
    assert error.release is inner


# ----------------------------------------------------------------------------------------- coupling


@pytest.mark.parametrize("name", ["entries", "queries", "worst row"])
def test_nothing_but_the_measured_integers_depends_on_the_data(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two databases whose true integers are made equal give byte-equal releases and answers."""
    problem = shared(3, 12, records=[k // 2 for k in range(12)])
    fixed: dict[int, list[int]] = {}
    usual = Query.true_integers

    def same(self: Query, values: Any) -> list[int]:
        key = self.weights.nnz
        return fixed.setdefault(key, usual(self, values))

    monkeypatch.setattr(Query, "true_integers", same)
    found = []
    for seed in range(2):
        values = np.random.default_rng(seed).random(12)
        source = repeatable()
        release = publish(
            problem, dp.Database(values, problem), budget(4), dp.Strategy.named(name), source
        )
        found.append((release, dp.answer(problem, release)))
    (first, one), (second, two) = found
    assert repr(first.document()) == repr(second.document())
    assert one.x.tobytes() == two.x.tobytes()
    assert one.certificate.slack.tobytes() == two.certificate.slack.tobytes()
    assert one.estimate.tobytes() == two.estimate.tobytes()


def test_a_part_of_the_budget_that_is_refused_is_refused_before_the_debit(tmp_path: Path) -> None:
    ledger = dp.PrivacyLedger.create(tmp_path / "l.sqlite", "a", epsilon=9, delta="1/10")
    entries = dp.Strategy.entries().steps[0].propose
    tiny = dp.extend.Step(lambda *given: None, epsilon="1/2", delta="1e-299")
    strategy = dp.Strategy(dp.extend.Step(entries, epsilon="1/2", delta="1/2"), tiny, name="own")
    data = dp.Database(SMALL, small(), ledger=ledger)
    with pytest.raises(dp.errors.InvalidArgumentError, match="1e-300"):
        dp.publish(small(), data, epsilon=1, delta="1/1000", strategy=strategy)
    assert not ledger.entries()


@pytest.mark.parametrize("name", ["model.mps", "model.LP", "model.mps.gz"])
def test_the_file_of_a_program_is_no_table_of_values(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text("")
    with pytest.raises(dp.errors.InvalidArgumentError, match=r"dp\.lpfile\.values"):
        dp.solve(small(), path, epsilon=1, delta="1/1000")
