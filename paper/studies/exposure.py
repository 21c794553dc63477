"""What a method shows of A, b and c, block by block: records beside those of Table 1.

On an auction in which only one block reads the database the method is run on D with two seeds, on
an adjacent D' and on a distant D''. The block is

* *unprotected* when the seeds do not matter and the data do,
* *unread* when neither matters,
* *noisy* when the seeds matter; and if the method publishes its noisy numbers, *coupled* when the
  same noise on D and D' moves them by exactly what the measured integers moved, and *leaking* when
  it does not. Of a release in steps the first is tested: what the next measures depends on it.

In D one entry is zero that is not in D', which a mask made from the data cannot survive. Data and
seeds are fixed: one draw per method and block, and the seed of the sweep changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

import dp_cmdp as dp
from paper.baselines import Answer
from paper.blocks import BLOCKS, entrywise
from paper.linear import Floats
from paper.problems.auction import auction
from paper.runner import Row, Setting, Sweep
from paper.studies.comparison import variant

#: Groups and advertisers: a verdict needs only that every block reads several entries.
N, M = 4, 3
#: Small beside the envelope, so that no noise reaches its ends.
RADIUS = 1e-3
#: Of the coupling test: one that fails does so at every seed.
SEEDS = (0, 1, 2)
#: Verdicts under which a block counts as private.
HIDDEN = ("coupled", "noisy", "unread")
#: Short runs of the iterative methods.
SHORT = {"hsu2014": {"rounds": 20, "guesses": 1}, "cummings2015": {"rounds": 20}}


@lru_cache(maxsize=3)
def lone_block(block: str) -> dp.ParametricLP:
    """An auction whose prices in A, budgets b or prices in c, and they alone, are private.

    The envelope is much wider than the noise, so that nothing is cut off.
    """
    low, high, shape = (0.5, 1.5, (M,)) if block == "b" else (-1.0, 1.0, (N, M))
    envelope = dp.Envelope(low, high, radius=RADIUS, shape=shape)
    prices = 0.3 + 0.05 * np.arange(N * M).reshape(N, M)
    return auction({block: envelope[:]}, prices=prices)


def sweep(methods: Sequence[str]) -> Sweep:
    """Every block of every method or variant."""
    settings = tuple({"method": name, "block": block} for name in methods for block in BLOCKS)
    return Sweep(draw_verdict, settings, draws=1)


def draw_verdict(setting: Setting, seed: int, draw: int) -> Row:
    """The verdict on one block of one method."""
    return {"verdict": verdict(setting["method"], setting["block"])}


def verdict(name: str, block: str) -> str:
    """What a method or variant shows of a block, on invented data."""
    program = lone_block(block)
    here = np.linspace(0.6, 0.9, program.envelope.size)
    if block != "b":
        here[0] = 0.0
    near, far = here.copy(), here[::-1].copy()
    near[0] += RADIUS
    first, again = (_run(name, program, here, seed) for seed in (0, 1))
    if _same(first, again):
        return "unread" if _same(first, _run(name, program, far, 0)) else "unprotected"
    if not first.outcomes:
        return "noisy"
    coupled = all(
        _coupled(program, (here, near), [_run(name, program, v, seed) for v in (here, near)])
        for seed in SEEDS
    )
    return "coupled" if coupled else "leaking"


def _run(name: str, program: dp.ParametricLP, values: Floats, seed: int) -> Answer:
    method, options = variant(name)
    options |= SHORT.get(method.name, {})
    budget, rng = dp.PrivacyBudget(1, "1/10"), np.random.default_rng(seed)
    return method.run(program, values, budget, rng=rng, **options)


def _same(one: Answer, other: Answer) -> bool:
    """Whether two answers show the same."""
    integers = [[outcome.integers for outcome in answer.outcomes] for answer in (one, other)]
    return integers[0] == integers[1] and bool(np.all(one.x == other.x))


def _coupled(program: dp.ParametricLP, values: Sequence[Floats], answers: Sequence[Answer]) -> bool:
    """Whether the same noise moved the first published integers as the data moved."""
    queries = [answer.outcomes[0].measurement.query for answer in answers]
    if queries[0].weights.shape != queries[1].weights.shape:
        return False
    if queries[0].envelope != program.envelope:
        values = [entrywise(program).values(part) for part in values]
    true = [query.true_integers(part) for query, part in zip(queries, values, strict=True)]
    noise = [
        [y - n for y, n in zip(answer.outcomes[0].integers, numbers, strict=True)]
        for answer, numbers in zip(answers, true, strict=True)
    ]
    same = (queries[0].weights != queries[1].weights).nnz == 0
    return same and noise[0] == noise[1]
