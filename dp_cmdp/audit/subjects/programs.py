"""Private programs as subjects of the audit: Algorithm 1 and the methods it is compared with.

The wide program consists of many separate copies of

    maximise  c(θ)·x   subject to   θ_a x ≤ θ_b,   0 ≤ x ≤ 10

so one answer shows many runs at once: x of a copy depends on the published entries of that copy
alone. Methods that mix the copies are run again and again on one copy instead.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from dp_cmdp._check import FloatArray
from dp_cmdp.accounting.budget import PrivacyBudget
from dp_cmdp.audit.layers.certificates import certificates_of
from dp_cmdp.audit.layers.coupling import Coupling
from dp_cmdp.audit.outcomes import Outcomes, Sampler, repeated
from dp_cmdp.audit.subject import MOST_RUNS, Subject
from dp_cmdp.audit.subjects.releases import DELTA, EPSILON, claiming
from dp_cmdp.baselines import METHODS, Answer, Method
from dp_cmdp.data.affine import Affine
from dp_cmdp.data.database import Database
from dp_cmdp.data.envelope import Envelope
from dp_cmdp.data.release import Release
from dp_cmdp.program.entrywise import entry_values
from dp_cmdp.program.parametric import ParametricLP
from dp_cmdp.release.blocks import release_blocks
from dp_cmdp.release.solve import solve_private

#: Copies per wide program.
COPIES = 1000
#: Adjacent values of one entry of A and of b.
A_PAIR, B_PAIR = (100.0, 100.5), (200.0, 201.0)
#: Methods whose answer to one copy depends on the others, with options that keep them short.
#: One unit of b moves x = b/a by 1/100: the sensitivity that dvorkin2020 must be told.
ONE_BY_ONE: dict[str, dict[str, Any]] = {
    "hsu2014": {"rounds": 3, "guesses": 1},
    "dvorkin2020": {"sensitivity": 0.01},
}
#: Runs of those methods: enough to see a value that is left unprotected.
FEW_RUNS = 100

Blocks = Callable[[Database, ParametricLP, np.random.Generator | None], Release]


@lru_cache(maxsize=8)
def copies(count: int, *, shared: bool, lowest: float = 1.0) -> ParametricLP:
    """`count` copies; with `shared` the objective reads the entry of A too."""
    envelope = Envelope.join(
        {
            "a": Envelope(lowest, 201.0, radius=0.5, shape=count),
            "b": Envelope(1.0, 401.0, radius=1.0, shape=count),
        }
    )
    place = np.arange(count)
    objective = Affine(count, at=place, entry=place, coefficient=np.full(count, 0.01))
    return ParametricLP(
        envelope,
        c=objective if shared else np.ones(count),
        A=Affine((count, count), at=(place, place), entry=place),
        b=Affine(count, at=place, entry=count + place),
        upper=10.0,
    )


def program_subjects() -> list[Callable[[], Subject]]:
    """Makers of the subjects: Algorithm 1 with exact noise, and every private baseline."""
    methods = [m for m in METHODS.values() if m.model == "differential privacy"]
    return [
        lambda: blocks_subject("paper"),
        lambda: blocks_subject("tight"),
        *(lambda method=method: method_subject(method) for method in methods),
    ]


def algorithm_1(**options: Any) -> Blocks:
    """``release_blocks`` with the audited budget, shared equally, under the given options."""

    def release(
        database: Database, program: ParametricLP, rng: np.random.Generator | None
    ) -> Release:
        budget, alphas = PrivacyBudget(EPSILON, DELTA), {"A": "1/3", "b": "1/3", "c": "1/3"}
        return release_blocks(database, budget, program=program, alphas=alphas, rng=rng, **options)

    return release


def blocks_subject(calibration: str) -> Subject:
    """``release_blocks`` with exact noise, then the private solve."""
    release = algorithm_1(calibration=calibration)
    program = copies(2, shared=True)
    first = _database(program, np.zeros(2, dtype=int), ("A", "b", "c"))
    return claiming(
        name=f"release_blocks, {calibration}",
        sample=wide_sampler(release, shared=True),
        certificates=certificates_of(release(first, program, None)),
        couplings=(blocks_coupling(release),),
    )


def wide_sampler(release: Blocks, *, shared: bool, pair: tuple[float, float] = A_PAIR) -> Sampler:
    """x and the published entries of every copy, from wide block releases."""
    program = copies(COPIES, shared=shared, lowest=min(1.0, *pair))

    def answer(side: np.ndarray, rng: np.random.Generator) -> FloatArray:
        values = np.concatenate([np.choose(side, pair), np.full(COPIES, B_PAIR[0])])
        published = release(Database(values, program.envelope), program, None)
        return _shown(solve_private(program, published).x, published)

    return _alternating(answer)


def blocks_coupling(release: Blocks, pair: tuple[float, float] = A_PAIR) -> Coupling:
    """The published estimates move with the entries of A and c."""
    program = copies(2, shared=True, lowest=min(1.0, *pair))
    values = [np.array([a, pair[0], *B_PAIR]) for a in pair]
    entries = [np.concatenate(list(entry_values(program, side).values())) for side in values]

    def run(side: int, rng: np.random.Generator) -> FloatArray:
        return release(Database(values[side], program.envelope), program, rng).estimate

    return Coupling("release", run, entries[1] - entries[0])


def method_subject(method: Method) -> Subject:
    """A method of the comparison, on data that differ in a block it protects.

    Their noise is a simulation in floats: its law is audited, its bits are not.
    """
    options = ONE_BY_ONE.get(method.name, {})
    shared = set(method.private) == {"A", "b", "c"}
    count = 1 if method.name in ONE_BY_ONE else COPIES
    program = copies(count, shared=shared)

    def run(side: np.ndarray, rng: np.random.Generator) -> Answer:
        database = _database(program, side, method.private)
        return method.run(program, database, PrivacyBudget(EPSILON, DELTA), rng=rng, **options)

    if count > 1:
        sample = _alternating(lambda side, rng: _shown_answer(run(side, rng)))
    else:
        sides = (np.zeros(1), np.ones(1))
        sample = repeated(
            lambda side, rng: _shown_answer(run(side.astype(int), rng)).ravel(), sides
        )
    return claiming(
        name=f"{method.name} (simulation)",
        sample=sample,
        representation=False,
        most_runs=FEW_RUNS if count == 1 else MOST_RUNS,
    )


def _database(program: ParametricLP, side: np.ndarray, private: tuple[str, ...]) -> Database:
    """Copies whose side is 1 are at the neighbour's value of a protected entry."""
    in_a = "A" in private
    a = np.choose(side if in_a else 0 * side, A_PAIR)
    b = np.choose(0 * side if in_a else side, B_PAIR)
    return Database({"a": a, "b": b}, program.envelope)


def _alternating(answer: Callable[[np.ndarray, np.random.Generator], FloatArray]) -> Sampler:
    side = np.arange(COPIES) % 2

    def sample(runs: int, rng: np.random.Generator) -> tuple[Outcomes, Outcomes]:
        rounds = -(-2 * runs // COPIES)
        shown = np.concatenate([answer(side, rng) for _ in range(rounds)])
        return Outcomes.of(shown[0::2][:runs]), Outcomes.of(shown[1::2][:runs])

    return sample


def _shown_answer(answer: Answer) -> FloatArray:
    if answer.x is None:
        return np.full((1, 1), np.nan)
    return _shown(answer.x, answer.release)


def _shown(x: FloatArray, release: Release | None) -> FloatArray:
    """One row per copy: x and what was published of its entries."""
    columns = [x]
    if release is not None:
        columns += [
            part.reshape(-1, x.size)
            for numbers in (release.estimate, release.lower, release.upper)
            for part in [np.where(np.isfinite(numbers), numbers, 0.0)]
        ]
    return np.vstack(columns).T
