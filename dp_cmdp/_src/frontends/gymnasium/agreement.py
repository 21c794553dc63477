"""Does an environment do what its P says? A copy of it is stepped and compared.

Two ways, with a fixed seed: random walks from ``reset``; and, where the environment keeps its state
in ``s`` (Gymnasium's own do), one step from every pair of a state and an action in turn. Every
successor, reward, termination and start must have positive probability in P, and frequencies must
not differ from P's by more than chance does once in 10⁹ readings: under P the number of times the
i-th outcome of a pair was seen, less its probabilities, is a martingale with steps in an interval
of length 1, so |it| > √(n/2 · ln(2/α)) has probability at most α (Azuma–Hoeffding).

A sample can find that an environment leaves P. It cannot exclude it.
"""

from __future__ import annotations

import copy
import math
import operator
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np

from dp_cmdp._src.base.errors import InvalidArgumentError
from dp_cmdp._src.base.validation import FloatArray
from dp_cmdp._src.cmdp.rollout import parts
from dp_cmdp._src.frontends.gymnasium.table import Table

#: Of each of the two ways.
STEPS, SECONDS = 2000, 0.4
#: Steps of a walk that does not end.
WALK = 200
SEED = 20240229
#: Probability of refusing an environment that does follow P.
FALSE_ALARM = 1e-9
#: Relative difference of rewards that is rounding.
ROUNDING = 1e-9
REMEDY = (
    "A certificate for P would say nothing about env. Correct P, or build a model of what env "
    "does; check=False takes P on trust"
)

Pair = tuple[int, int]


def refuse_departures(base: Any, table: Table, start: FloatArray) -> None:
    """Refuse an environment that is seen to leave `table` or `start`.

    `base` itself, its generator and the global generators of Python and numpy are left as they
    are. What has no ``reset`` and ``step`` is a table: there is nothing to compare.
    """
    if not (hasattr(base, "reset") and hasattr(base, "step")):
        return
    with global_generators_kept():
        seen = _Seen(fresh(base), table, start)
        seen.walks()
        seen.pairs(table.acting(start))
        seen.compare_frequencies()


@dataclass(slots=True)
class _Seen:
    """A copy of an environment, and what has been seen of it."""

    env: Any
    table: Table
    start: FloatArray
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(SEED))
    starts: list[int] = field(default_factory=list)
    outcomes: dict[Pair, list[tuple[int, bool, float, float]]] = field(default_factory=dict)
    surplus: dict[int, float] = field(default_factory=dict)
    steps: int = 0

    def __post_init__(self) -> None:
        for s, a, p, n, reward, over in self.table.moves:
            if p > 0.0:
                self.outcomes.setdefault((s, a), []).append((n, over, reward, p))
        for pair, listed in self.outcomes.items():
            self.outcomes[pair] = _merged(listed)

    def walks(self) -> None:
        deadline = perf_counter() + SECONDS
        state, length = self.reset(SEED), 0
        for _ in range(STEPS):
            state, ended = self.step(state, int(self.rng.integers(self.table.num_actions)))
            length += 1
            if perf_counter() > deadline:
                break
            if ended or length == WALK:
                state, length = self.reset(), 0

    def pairs(self, states: list[int]) -> None:
        """One step from each pair in turn, if it is ``s`` that decides where a step leads."""
        if not self._is_settable(states):
            return
        deadline = perf_counter() + SECONDS
        pairs = [(s, a) for s in states for a in range(self.table.num_actions)]
        order = self.rng.permutation(len(pairs))
        for turn in range(STEPS):
            if perf_counter() > deadline:
                break
            state, action = pairs[order[turn % len(pairs)]]
            self.reset()
            self.env.s = state
            self.step(state, action)

    def _is_settable(self, states: list[int]) -> bool:
        """Whether the same draw leads elsewhere from another ``s``: it is no mere report."""
        if not hasattr(self.env, "s"):
            return False
        led = set()
        for state in states[:: max(1, len(states) // 32)]:
            self._called("reset", seed=SEED)
            try:
                self.env.s = state
                led.add(operator.index(self.env.step(0)[0]))
            except Exception:
                return False
        self._called("reset", seed=SEED + 1)
        return len(led) > 1

    def reset(self, seed: int | None = None) -> int:
        given = self._called("reset") if seed is None else self._called("reset", seed=seed)
        state = self._state(parts("reset", given, 2)[0])
        if not self.start[state] > 0.0:
            raise InvalidArgumentError(
                f"env must start as it says: reset led to state {state}, to which its start "
                "distribution gives probability 0"
            )
        self.starts.append(state)
        return state

    def step(self, state: int, action: int) -> tuple[int, bool]:
        given = parts("step", self._called("step", action), 5)
        successor, reward, over, cut = self._state(given[0]), given[1], bool(given[2]), given[3]
        listed = self.outcomes[state, action]
        rank = next((i for i, o in enumerate(listed) if _same(o, successor, over, reward)), None)
        if rank is None:
            raise InvalidArgumentError(
                f"env must follow P: from state {state} action {action} led to state {successor} "
                f"with reward {float(reward):g}, terminated {over}, to which P gives probability "
                f"0. {REMEDY}"
            )
        for i, outcome in enumerate(listed):
            self.surplus[i] = self.surplus.get(i, 0.0) + (i == rank) - outcome[3]
        self.steps += 1
        return successor, over or bool(cut)

    def compare_frequencies(self) -> None:
        largest = max(map(abs, self.surplus.values()), default=0.0)
        if largest > _chance(self.steps, len(self.surplus)):
            raise InvalidArgumentError(
                f"env must follow P: in {self.steps} steps the outcomes that P lists at one place "
                f"of a pair were seen {largest:.0f} times more or less often than P says. {REMEDY}"
            )
        times = np.bincount(self.starts, minlength=self.table.num_states)
        off = float(np.abs(times - len(self.starts) * self.start).max())
        if off > _chance(len(self.starts), self.table.num_states):
            raise InvalidArgumentError(
                f"env must start as it says: of {len(self.starts)} resets, {off:.0f} more or less "
                "led to one state than its start distribution says"
            )

    def _state(self, observation: Any) -> int:
        try:
            state = operator.index(observation)
        except TypeError:
            state = -1
        if not 0 <= state < self.table.num_states:
            raise InvalidArgumentError(
                f"env must observe the states of P, 0 to {self.table.num_states - 1}, got "
                f"{state if state >= 0 else type(observation).__name__}: a policy for P cannot be "
                "played in it"
            )
        return state

    def _called(self, name: str, *given: Any, **options: Any) -> Any:
        call: Callable[..., Any] = getattr(self.env, name)
        try:
            return call(*given, **options)
        except Exception as error:
            raise InvalidArgumentError(
                f"env must take every action of P: {name} raised {type(error).__name__}. {REMEDY}"
            ) from error


def _merged(listed: list[tuple[int, bool, float, float]]) -> list[tuple[int, bool, float, float]]:
    """Outcomes that look alike as one, at the first one's place."""
    total: dict[tuple[int, bool, float], float] = {}
    for *seen, p in listed:
        total[tuple(seen)] = total.get(tuple(seen), 0.0) + p  # type: ignore[index]
    return [(*seen, p) for seen, p in total.items()]


def _same(outcome: tuple[int, bool, float, float], successor: int, over: bool, reward: Any) -> bool:
    return outcome[:2] == (successor, over) and math.isclose(
        outcome[2], float(reward), rel_tol=ROUNDING, abs_tol=ROUNDING
    )


def _chance(number: int, sums: int) -> float:
    """What none of `sums` martingales exceeds after `number` steps, but for a false alarm."""
    return math.sqrt(number / 2 * math.log(4 * max(sums, 1) / FALSE_ALARM))


def fresh(base: Any) -> Any:
    """A copy of the environment that shows nothing: the caller's stays where it is."""
    try:
        made = copy.deepcopy(base)
    except Exception:  # of a window, for example
        spec = getattr(base, "spec", None)
        try:
            made = spec.make(render_mode=None).unwrapped  # type: ignore[union-attr]
        except Exception:
            raise InvalidArgumentError(
                f"env must be one that can be copied, to try out what it does: "
                f"{type(base).__name__} cannot. check=False takes P on trust"
            ) from None
    if getattr(made, "render_mode", None) is not None:
        made.render_mode = None
    return made


@contextmanager
def global_generators_kept() -> Iterator[None]:
    """Environments that draw from them do not move the caller's."""
    python, numpy = random.getstate(), np.random.get_state()  # noqa: NPY002
    try:
        yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)  # noqa: NPY002
