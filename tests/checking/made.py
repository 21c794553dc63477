"""Problems, answers and files for the checker, and edits of their content."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from dp_cmdp._src.accounting.budget import PrivacyBudget
from dp_cmdp._src.base.documents import read_document, write_document
from dp_cmdp._src.cmdp.costs import PrivateCost
from dp_cmdp._src.cmdp.parametric import ParametricCMDP
from dp_cmdp._src.data.database import Database
from dp_cmdp._src.data.envelope import Envelope
from dp_cmdp._src.noise.laws import Laplace
from dp_cmdp._src.program.answer import Answer
from dp_cmdp._src.program.parametric import ParametricLP
from dp_cmdp._src.release.measurement import LargestQuery, Measurement, Query, System
from dp_cmdp._src.release.publish import publish
from dp_cmdp._src.release.release import Release
from dp_cmdp._src.release.strategy import Step, Strategy

#: Weights as arrays: what `Query` takes, and its annotation does not say.
array: Any = np.array
BUDGET = PrivacyBudget(10, "1/1000")
SIZE = 6


def envelope(change: Any = None, entries_per_record: int | None = None) -> Envelope:
    """Six entries; by default of overlapping people."""
    own = [[0, 1, 2], [2, 3], [4], [5]] if change is None else change
    record = np.repeat(np.arange(len(own)), [len(each) for each in own])
    far = np.array([0.05, 0.05, 0.025, 0.05, 0.05, 0.02])[np.concatenate(own)]
    table = sparse.csr_array((far, (record, np.concatenate(own))), shape=(len(own), SIZE))
    return Envelope(
        [0.05] * SIZE, [1.0] * SIZE, change=table, entries_per_record=entries_per_record
    )


@cache
def program() -> ParametricLP:
    """Two rows over the same entries and an equality row."""
    theta = envelope()
    return ParametricLP(
        maximize=[theta[0] + 1.0, 1.2, 1.1, 1.3, 1.0, 1.4],
        A=[[theta[k] for k in range(SIZE)], [theta[k] * (0.5 + 0.1 * k) for k in range(SIZE)]],
        b=[1.5, theta[5] + 0.6],
        A_eq=[[1, -1, 0, 0, 0, 0]],
        b_eq=[0],
        upper=1.0,
    )


def _both(problem: Any, release: Release, budget: PrivacyBudget) -> Measurement:
    weights = array([[3, 2, 1, 4, 0, 1], [0, 1, 0, 1, -2, 5]])
    return Measurement(Query(problem.envelope, weights), Laplace, budget, "queries")


def _largest(problem: Any, release: Release, budget: PrivacyBudget) -> Measurement:
    query = LargestQuery(problem.envelope, array([[1] * 6, [5, 6, 7, 8, 9, 10]]), (70000, -3))
    return Measurement(query, Laplace, budget, "worst row")


EVERYTHING = Strategy(
    *Strategy.queries(share="1/2", law="laplace").steps[:1],
    Step(_both, epsilon="1/4", delta="1/4"),
    Step(_largest, epsilon="1/4", delta="1/4"),
    name="everything",
)


@cache
def release(strategy: Strategy | str = EVERYTHING) -> Release:
    """Entries, two linear queries and a worst row of one database."""
    chosen = Strategy.named(strategy) if isinstance(strategy, str) else strategy
    source = System(np.random.default_rng(5).bytes)
    database = Database([0.4] * SIZE, program())
    return publish(program(), database, BUDGET, chosen, source)


@cache
def answer() -> Answer[Any]:
    return answered(program(), release())


def answered(problem: Any, made: Release) -> Answer[Any]:
    found = problem.answer(made.uncertainty)
    spent = {"epsilon": made.budget.epsilon, "delta": made.budget.delta}
    return replace(found, release=made, strategy=EVERYTHING, **spent)


@cache
def model(limit: float = 1.5) -> ParametricCMDP:
    """Eight states, three of which may cost; the limit is private, too."""
    rng = np.random.default_rng(3)
    T = rng.random((8, 2, 8)) * (rng.random((8, 2, 8)) < 0.4)
    T[:, :, 0] += 0.1
    T /= T.sum(axis=2, keepdims=True)
    bounds = Envelope(limit, limit + 1, radius=0.1)
    costs = PrivateCost(states=[2, 4, 5], cost=Envelope(0, 1, radius=0.1), limit=bounds)
    return ParametricCMDP(T, rng.random((8, 2)), gamma=0.9, start=0, costs=costs)


@cache
def policy_answer(strategy: str = "queries", limit: float = 1.5) -> Any:
    problem = model(limit)
    values = {"cost": [0.3, 0.5, 0.2], "limit": limit + 0.5}
    source = System(np.random.default_rng(7).bytes)
    database = Database._of(values, problem.envelope)
    return answered(
        problem,
        publish(problem, database, PrivacyBudget(8, "1/100"), Strategy.named(strategy), source),
    )


def content(path: Path) -> dict[str, Any]:
    """What a file states, free to be edited."""
    return deepcopy(read_document(path)[2])


def forged(path: Path, said: Any) -> Path:
    """The file, written again with other content and a digest that fits."""
    kind = read_document(path)[0]
    return write_document(path.with_name(f"forged-{path.name}"), kind, said)


def leaves(said: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Every text, number, truth value, None and array of a document, with its place."""
    if isinstance(said, dict):
        for key, value in said.items():
            yield from leaves(value, (*place, key))
    elif isinstance(said, list) and said:
        for key, value in enumerate(said):
            yield from leaves(value, (*place, key))
    else:
        yield place, said


def changed(said: Any, place: tuple[Any, ...], value: Any) -> Any:
    """The document with another leaf."""
    made = deepcopy(said)
    part = made
    for key in place[:-1]:
        part = part[key]
    part[place[-1]] = value
    return made


def edits(leaf: Any) -> Iterator[Any]:
    """Other values of a leaf: of numbers, one at a time."""
    matrix: Any = leaf
    if isinstance(leaf, bool):
        yield not leaf
    elif isinstance(leaf, int):
        yield from (leaf + 1, -leaf - 1)
    elif isinstance(leaf, str):
        yield from (f"{leaf}1", "")
    elif leaf is None:
        yield 1
    elif isinstance(leaf, np.ndarray) and leaf.size:
        for number in range(min(leaf.size, 7)):
            for value in {leaf.ravel()[number] * 2 + 3, -leaf.ravel()[number] - 1}:
                other = leaf.copy()
                other.ravel()[number] = value
                yield other
        yield leaf[:-1]
        yield np.concatenate([leaf, leaf[-1:]])
    elif hasattr(matrix, "indptr") and matrix.nnz:
        for number in range(min(matrix.nnz, 5)):
            other = matrix.copy()
            other.data[number] = other.data[number] * 2 + 3
            yield other
        yield matrix[:-1]
        yield matrix[:, :-1]
