"""What a method shows of A, b and c, block by block: records beside those of Table 1.

On an auction in which only one block reads the database the method is run on D with two seeds, on
an adjacent D' and on a distant D''. The block is

* *unprotected* when the seeds do not matter and the data do,
* *unread* when neither matters,
* *noisy* when the seeds matter; and if the method publishes its noisy numbers, *coupled* when they
  pass the audit's coupling test (the same noise on D and D' moves them exactly as the data moved),
  and *leaking* when they do not. Of a release in looks the first is tested: what the second
  measures depends on it (the audit's own layers cover both).

In D one entry is zero that is not in D', which a mask made from the data cannot survive. Data and
seeds are fixed: one draw per method and block, and the seed of the sweep changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from dp_cmdp._check import FloatArray
from dp_cmdp.accounting.budget import BLOCKS, PrivacyBudget
from dp_cmdp.audit.layers.coupling import Coupling
from dp_cmdp.baselines import Answer
from dp_cmdp.data.database import Database
from dp_cmdp.data.envelope import Envelope
from dp_cmdp.data.totals import Totals
from dp_cmdp.experiments.auction_comparison import variant
from dp_cmdp.experiments.sweep import Row, Setting, Sweep
from dp_cmdp.problems.ad_auction import auction_program
from dp_cmdp.program.entrywise import entry_values
from dp_cmdp.program.parametric import ParametricLP

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
def lone_block(block: str) -> ParametricLP:
    """An auction whose prices in A, budgets b or prices in c, and they alone, are private.

    The envelope is much wider than the noise, so that nothing is cut off: *public*.
    """
    low, high, shape = (0.5, 1.5, (M,)) if block == "b" else (-1.0, 1.0, (N, M))
    envelope = Envelope(low, high, radius=RADIUS, shape=shape)
    entry = np.arange(envelope.num_entries).reshape(shape)
    prices = 0.3 + 0.05 * np.arange(N * M).reshape(N, M)
    return auction_program(envelope, private={block: entry}, prices=prices)


def sweep(methods: Sequence[str], *, seed: int = 0) -> Sweep:
    """Every block of every method or variant."""
    settings = tuple({"method": name, "block": block} for name in methods for block in BLOCKS)
    return Sweep("exposure", draw_verdict, settings, draws=1, seed=seed)


def draw_verdict(setting: Setting, seed: int, draws: Sequence[int]) -> list[Row]:
    """The verdict on one block of one method."""
    found = verdict(setting["method"], setting["block"])
    return [{"verdict": found} for _ in draws]


def verdict(name: str, block: str) -> str:
    """What a method or variant shows of a block, on invented data."""
    program = lone_block(block)
    size = program.envelope.num_entries
    here = np.linspace(0.6, 0.9, size)
    if block != "b":
        here[0] = 0.0
    near, far = here.copy(), here[::-1].copy()
    near[0] += RADIUS
    first, again = (_run(name, program, here, np.random.default_rng(s)) for s in (0, 1))
    if np.array_equal(_shown(first), _shown(again)):
        other = _run(name, program, far, np.random.default_rng(0))
        return "unread" if np.array_equal(_shown(first), _shown(other)) else "unprotected"
    if first.release is None:
        return "noisy"

    def estimate(side: int, rng: np.random.Generator) -> FloatArray:
        return _published(_run(name, program, (here, near)[side], rng))

    moved = near - here
    if first.release.method == "blocks":
        moved = entry_values(program, near)[block] - entry_values(program, here)[block]
    elif (totals := _totals_alone(first)) is not None:  # which read entries in steps of a grid
        steps = np.floor(near / totals.grid) - np.floor(here / totals.grid)
        moved = totals.W @ (totals.grid * steps)
    test = Coupling(block, estimate, moved)
    return "coupled" if all(test.objection(seed) is None for seed in SEEDS) else "leaking"


def _run(name: str, program: ParametricLP, values: FloatArray, rng: np.random.Generator) -> Answer:
    method, options = variant(name)
    options |= SHORT.get(method.name, {})
    database = Database(values, program.envelope)
    return method.run(program, database, PrivacyBudget(1, "1/10"), rng=rng, **options)


def _shown(answer: Answer) -> FloatArray:
    return np.concatenate([np.empty(0) if answer.x is None else answer.x, _published(answer)])


def _published(answer: Answer) -> FloatArray:
    """The noisy numbers of the first look: entries, or totals where no entries were looked at."""
    totals = _totals_alone(answer)
    if totals is not None:
        return totals.estimate
    return np.empty(0) if answer.release is None else answer.release.estimate


def _totals_alone(answer: Answer) -> Totals | None:
    """The totals of a release that has no look at the entries."""
    release = answer.release
    return None if release is None or len(release.noise) != 1 else release.totals
