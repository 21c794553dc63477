"""Randomised policies, stationary or of the time.

A policy π gives every state s a distribution π(·|s) over the actions. For a discounted CMDP these
are enough: some stationary policy is optimal, and an optimal one mixes actions in at most K states.
Over a horizon it also depends on the step: a table of actions per step, and, for the few pairs of
step and state that mix, their probabilities.

Two policies are mixed through their *occupancies*, not their tables: the state-wise average of two
tables visits other states than either and may break a limit that both keep.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dp_cmdp._src.base import validation as check
from dp_cmdp._src.base.errors import InvalidArgumentError
from dp_cmdp._src.base.html import MOST_ROWS, rows_table
from dp_cmdp._src.base.saved import Saved
from dp_cmdp._src.base.validation import FloatArray

if TYPE_CHECKING:
    import pandas as pd

#: A row of probabilities may miss 1 by this much before it is refused: some hundred roundings of
#: numbers in single precision, as networks compute them.
SINGLE_ROUNDING = 1e-5
#: What to do about observations that show the time in another way.
AWARE = (
    "use gymnasium.wrappers.TimeAwareObservation(env, flatten=False, normalize_time=False), or "
    "none and pass the clock as `state`"
)


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """What a policy does at one step: an action per state, and the odds of those that mix.

    `mixed` are states in ascending order, `odds` (mixed, actions) their distributions.
    """

    actions: NDArray[Any]
    mixed: NDArray[np.int64]
    odds: FloatArray

    @classmethod
    def of(cls, table: FloatArray) -> Step:
        """Of probabilities (states, actions)."""
        mixed = np.flatnonzero(np.count_nonzero(table, axis=1) > 1)
        actions = table.argmax(axis=1).astype(small(table.shape[1]))
        return cls(actions, mixed, np.ascontiguousarray(table[mixed]))

    def table(self, num_actions: int) -> FloatArray:
        """The probabilities (states, actions)."""
        found = np.zeros((self.actions.size, num_actions))
        found[np.arange(self.actions.size), self.actions] = 1.0
        found[self.mixed] = self.odds
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Schedule:
    """A policy per step: `actions` (steps, states), and the odds of the places step·states + state
    in `mixed`, in ascending order."""

    actions: NDArray[Any]
    mixed: NDArray[np.int64]
    odds: FloatArray

    @classmethod
    def of(cls, steps: list[Step]) -> Schedule:
        count = steps[0].actions.size
        places = [step.mixed + t * count for t, step in enumerate(steps)]
        return cls(
            check.frozen(np.stack([step.actions for step in steps])),
            check.frozen(np.concatenate(places)),
            check.frozen(np.concatenate([step.odds for step in steps])),
        )

    def at(self, t: int) -> Step:
        count = self.actions.shape[1]
        first, last = np.searchsorted(self.mixed, (t * count, (t + 1) * count))
        own = slice(first, last)
        return Step(self.actions[t], self.mixed[own] - t * count, self.odds[own])


def small(num_actions: int) -> Any:
    """The type in which actions are kept."""
    return np.uint8 if num_actions <= 256 else np.int64


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Policy(Saved):
    """A table of action probabilities that acts as Stable-Baselines3 models do.

    Parameters
    ----------
    probabilities : array_like
        Of shape (num_states, num_actions), or (horizon, num_states, num_actions): row s is the
        distribution π(·|s), of every step, or of the steps one after the other. A row
        may miss 1 by rounding, also that of single precision (up to 10⁻⁵); it is then divided by
        its sum. Rows that already sum to 1 up to the rounding of doubles are kept bit for bit.
        What a certificate is about is each row divided by its own sum, in exact arithmetic.

    Attributes
    ----------
    horizon : int or None
        How many steps it knows; None if it does the same at all of them.

    Raises
    ------
    InvalidArgumentError
        If a row is no distribution.

    Notes
    -----
    **Randomness.** :meth:`sample` draws from the Generator it is given. :meth:`predict` has
    Stable-Baselines3's signature, which has no place for one, so each policy owns a Generator
    started from the operating system's entropy; :meth:`reseed` makes it repeatable. That Generator
    is no part of equality, hashing, pickling, copying or saved files.

    **Privacy.** *Post-processing* of a release; curator only when solved from private numbers.

    Examples
    --------
    >>> import dp_cmdp as dp
    >>> policy = dp.Policy([[1.0, 0.0], [0.25, 0.75]])
    >>> policy.predict(0)  # as models of Stable-Baselines3 do: (action, state)
    (0, None)
    """

    _table: FloatArray | None
    _schedule: Schedule | None
    horizon: int | None
    #: How many states it is for.
    num_states: int
    #: How many actions there are.
    num_actions: int
    _random: np.random.Generator | None = field(compare=False)

    _file = "policy"

    def __init__(self, probabilities: ArrayLike) -> None:
        table = check.array("probabilities", probabilities)
        if table.ndim == 3 and table.size:
            steps = [Step.of(_distributions(step)) for step in table]
            self._fill(None, Schedule.of(steps), table.shape[2])
        else:
            table = _distributions(table)
            self._fill(table, None, table.shape[1])

    def _fill(self, table: FloatArray | None, schedule: Schedule | None, num_actions: int) -> None:
        known: Any = table if schedule is None else schedule.actions.T
        horizon = None if schedule is None else known.shape[1]
        for name, value in (
            ("_table", table),
            ("_schedule", schedule),
            ("_random", None),
            ("horizon", horizon),
            ("num_states", known.shape[0]),
            ("num_actions", num_actions),
        ):
            object.__setattr__(self, name, value)

    @classmethod
    def _of(cls, probabilities: FloatArray) -> Policy:
        """Of rows that are distributions; the array becomes read-only."""
        made = cls.__new__(cls)
        made._fill(check.frozen(probabilities), None, probabilities.shape[1])
        return made

    @classmethod
    def _scheduled(cls, schedule: Schedule, num_actions: int) -> Policy:
        """Of a table per step that is known to be sound."""
        made = cls.__new__(cls)
        made._fill(None, schedule, num_actions)
        return made

    @property
    def probabilities(self) -> FloatArray:
        """The table (states, actions) or, of a policy that knows the time, one per step."""
        if self._table is not None:
            return self._table
        steps = range(self.horizon or 0)
        return check.frozen(np.stack([self._step(t).table(self.num_actions) for t in steps]))

    def _step(self, t: int) -> Step:
        """What it does at one step, counted from 0."""
        if self._schedule is not None:
            return self._schedule.at(t)
        return Step.of(self._table)  # type: ignore[arg-type]

    def _with_one_more(self) -> Policy:
        """The same with one state more, the last, where no action matters."""
        width = self.num_actions
        if self._table is not None:
            return Policy(np.vstack([self._table, np.full(width, 1.0 / width)]))
        steps = [self._step(t) for t in range(self.horizon or 0)]
        any_action = np.zeros(1, small(width))
        more = [Step(np.append(own.actions, any_action), own.mixed, own.odds) for own in steps]
        return Policy._scheduled(Schedule.of(more), width)

    @classmethod
    def deterministic(cls, actions: ArrayLike, num_actions: int) -> Policy:
        """The policy that takes ``actions[s]`` in state s.

        Parameters
        ----------
        actions : array_like of int
            The action of each state.
        num_actions : int
            How many actions there are.

        Returns
        -------
        Policy
            Every probability is 0 or 1.

        Raises
        ------
        InvalidArgumentError
            If an action is out of range, or there is none.
        """
        width = check.size("num_actions", num_actions, low=1)
        chosen = check.integers("actions", actions, high=width)
        if chosen.ndim != 1 or chosen.size == 0:
            raise InvalidArgumentError(
                f"actions must hold one action per state, got shape {chosen.shape}"
            )
        probabilities = np.zeros(check.shape("num_actions", (chosen.size, width)))
        probabilities[np.arange(chosen.size), chosen] = 1.0
        return cls(probabilities)

    @classmethod
    def uniform(cls, num_states: int, num_actions: int) -> Policy:
        """The policy that takes every action with the same probability.

        Parameters
        ----------
        num_states, num_actions : int
            At least 1 each.

        Returns
        -------
        Policy
            The same probability everywhere.

        Raises
        ------
        InvalidArgumentError
            If one of them is 0.
        """
        height, width = check.shape("num_states and num_actions", (num_states, num_actions))
        if not (height and width):
            raise InvalidArgumentError("num_states and num_actions must be at least 1")
        return cls(np.full((height, width), 1.0 / width))

    @classmethod
    def from_sb3(cls, model: Any, *, num_states: int | None = None) -> Policy:
        """The table of what a Stable-Baselines3 model does in every state.

        Parameters
        ----------
        model : stable_baselines3.common.base_class.BaseAlgorithm
            Trained on Discrete observations, the numbers of the states, with Discrete actions.
            Of PPO and A2C the probabilities are read; of models without any (DQN) the greedy
            actions.
        num_states : int, optional
            Rows of the table; those beyond the observations take every action alike. A model of
            :func:`dp_cmdp.gymnasium.load` has one such row, for the time after an episode.

        Notes
        -----
        **Privacy.** *Post-processing* of what the model was trained on.
        """
        from dp_cmdp._src.cmdp.learned import learned_probabilities

        return cls(learned_probabilities(model, num_states))

    @property
    def is_deterministic(self) -> bool:
        """Whether every state has one action of positive probability, at every step."""
        odds = self._table if self._schedule is None else self._schedule.odds
        return bool((np.count_nonzero(cast(FloatArray, odds), axis=1) == 1).all())

    def sample(self, observation: ArrayLike, rng: np.random.Generator, time: Any = None) -> Any:
        """Draw an action for a state (an int), or one for each entry of an array of states.

        Parameters
        ----------
        observation : int or array of int
            One state, or several.
        rng : numpy.random.Generator
            The source of randomness.
        time : int or array of int, optional
            The step, 0 at first, or one for each state: of a policy that knows the time.

        Returns
        -------
        int or int64 array
            An action per state, in the shape of `observation`.

        Examples
        --------
        >>> import numpy as np
        >>> import dp_cmdp as dp
        >>> policy = dp.Policy([[1.0, 0.0], [0.25, 0.75]])
        >>> policy.sample([0, 1, 1, 1], np.random.default_rng(0))
        array([0, 1, 0, 0])
        """
        rng = check.generator("rng", rng)
        states = self._states(observation)
        cumulative = np.cumsum(self._odds(states, time), axis=-1)
        # u < 1 keeps the level strictly below the total, so an action of probability 0 is never
        # drawn: the first cumulative sum above the level is also above its predecessor.
        level = rng.random(states.shape)[..., None] * cumulative[..., -1:]
        return _action(np.argmax(cumulative > level, axis=-1))

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = False,
    ) -> tuple[Any, Any]:
        """Choose actions with Stable-Baselines3's signature.

        Parameters
        ----------
        observation : int or array of int
            A state, or one per environment of a vector environment; or {"obs": …, "time": …}, as
            Gymnasium's TimeAwareObservation(flatten=False, normalize_time=False) shows them.
        state : int or array of int, optional
            The clock of a policy that knows the time: the number of steps taken since the episode
            began, as the last call returned it. Other policies have no memory and hand it back.
        episode_start : bool or array of bool, optional
            Whether `observation` is the first of an episode; its clock starts again. A Gymnasium
            vector environment shows the last observation of an episode once more, and ignores the
            action: the next observation is the first one.
        deterministic : bool
            Take the most probable action (the first of equals) instead of drawing. Guarantees of
            a randomised policy do not cover this mode.

        Returns
        -------
        (action, state)
            An int for one observation, an int64 array for an array of them.

        Raises
        ------
        InvalidArgumentError
            If the time is needed and not known: without it, step 0 would be played for ever.

        Examples
        --------
        >>> import dp_cmdp as dp
        >>> policy = dp.Policy([[1.0, 0.0], [0.25, 0.75]])
        >>> policy.predict([0, 1], deterministic=True)
        (array([0, 1]), None)
        >>> hasty = dp.Policy([[[1.0, 0.0]], [[0.0, 1.0]]])  # one state, two steps
        >>> action, clock = hasty.predict(0, episode_start=True)
        >>> action, clock, hasty.predict(0, clock)
        (0, 1, (1, 2))
        """
        seen, time = observation, None
        if self.horizon is not None:
            seen, time = self._timed(observation, state, episode_start)
            state = _action(np.minimum(time + 1, self.horizon))
        if not check.flag("deterministic", deterministic):
            return self.sample(seen, self._own_random(), time), state
        return _action(np.argmax(self._odds(self._states(seen), time), axis=-1)), state

    def _timed(self, observation: Any, state: Any, start: Any) -> tuple[Any, NDArray[np.int64]]:
        """The states and the steps of an observation."""
        if check.is_mapping(observation) and {*observation} == {"obs", "time"}:
            shape = np.shape(observation["obs"])
            given = np.asarray(observation["time"])
            if given.dtype.kind not in "iu" or given.size != max(int(np.prod(shape)), 1):
                raise InvalidArgumentError(f"observation must show whole steps: {AWARE}")
            return observation["obs"], self._clock(given.reshape(shape), shape)
        seen = np.asarray(observation)
        shape = seen.shape
        if shape and seen.dtype.kind == "f":
            raise InvalidArgumentError(f"observation must be states, without the time: {AWARE}")
        begun = np.zeros(shape, bool) if start is None else np.asarray(start, bool).reshape(shape)
        if state is None and not begun.all():
            raise InvalidArgumentError(
                "state must be given: this policy needs the time. Pass what the last call returned "
                "with the action, or episode_start=True where an episode begins"
            )
        clock = np.zeros(shape, np.int64) if state is None else self._clock(state, shape)
        return observation, np.where(begun, 0, clock)

    def _clock(self, given: Any, shape: tuple[int, ...]) -> NDArray[np.int64]:
        """Steps of environments; of several, one whose time is up may wait for its reset."""
        clock = check.integers("state", given, high=(self.horizon or 0) + 1)
        if clock.shape != shape:
            raise InvalidArgumentError(f"state must have the shape {shape} of the observation")
        if not shape and clock == self.horizon:
            raise InvalidArgumentError(
                f"state must be a step below {self.horizon}: the horizon of the policy is over. "
                "Reset the environment and pass episode_start=True"
            )
        return clock

    def _odds(self, states: NDArray[np.int64], time: Any) -> FloatArray:
        """The distributions of states at steps, (..., actions)."""
        if self._schedule is None:
            return cast(FloatArray, self._table)[states]
        if time is None:
            raise InvalidArgumentError("time must be given: this policy knows the step")
        own, (steps, count) = self._schedule, self._schedule.actions.shape
        at = np.minimum(check.integers("time", time, high=steps + 1), steps - 1)
        found = np.eye(self.num_actions)[own.actions[at, states]]
        place = np.atleast_1d(at * count + states)
        near = np.minimum(np.searchsorted(own.mixed, place), max(own.mixed.size - 1, 0))
        if own.mixed.size:
            mixes = own.mixed[near] == place
            np.atleast_2d(found)[mixes] = own.odds[near[mixes]]
        return found

    def reseed(self, seed: int) -> None:
        """Restart the Generator behind :meth:`predict` from `seed`.

        Parameters
        ----------
        seed : int
            At least 0.
        """
        fresh = np.random.default_rng(check.seed("seed", seed))
        object.__setattr__(self, "_random", fresh)

    def _own_random(self) -> np.random.Generator:
        """Made when it is first asked for: most policies are judged and never played."""
        if self._random is None:
            object.__setattr__(self, "_random", np.random.default_rng())
        return cast(np.random.Generator, self._random)

    def _states(self, observation: Any) -> NDArray[np.int64]:
        states = check.integers("observation", observation, high=self.num_states)
        if states.size == 0:
            raise InvalidArgumentError("observation must hold at least one state")
        return states

    def document(self) -> dict[str, Any]:
        # of a table per step, what changes from the last
        own = self._schedule
        if own is None:
            return {"probabilities": self.probabilities}
        changed = own.actions.copy()
        changed[1:] ^= own.actions[:-1]
        mixes = {"mixed": own.mixed, "odds": own.odds}
        return {"changes": changed, **mixes, "actions": np.array([self.num_actions])}

    @classmethod
    def from_document(cls, said: Mapping[str, Any]) -> Policy:
        if "probabilities" in said:
            return cls(said["probabilities"])
        width = check.size("actions", int(said["actions"][0]), low=1)
        changes, mixed = said["changes"], said["mixed"]
        if changes.dtype != small(width) or changes.ndim != 2 or not changes.size:
            raise InvalidArgumentError("changes must hold an action per step and state")
        actions = np.bitwise_xor.accumulate(changes, axis=0)
        ascending = mixed.ndim == 1 and (np.diff(mixed) > 0).all()
        inside = not mixed.size or (mixed[0] >= 0 and mixed[-1] < actions.size)
        if actions.min() < 0 or actions.max() >= width or not (ascending and inside):
            raise InvalidArgumentError("changes and mixed must be of actions and places there are")
        odds = said["odds"].reshape(mixed.size, width)
        odds = _distributions(odds) if mixed.size else odds
        return cls._scheduled(Schedule(check.frozen(actions), mixed, odds), width)

    def to_frame(self) -> pd.DataFrame:
        """The probabilities: a row per state, or step and state, and a column per action.

        Returns
        -------
        pandas.DataFrame
            Labelled by the numbers of steps, states and actions.
        """
        import pandas as pd

        table = self.probabilities
        names, sizes = ("step", "state")[-table.ndim + 1 :], table.shape[:-1]
        index = pd.MultiIndex.from_product([range(size) for size in sizes], names=names)
        if table.ndim == 2:
            index = pd.RangeIndex(self.num_states, name="state")
        columns = pd.RangeIndex(self.num_actions, name="action")
        return pd.DataFrame(table.reshape(-1, self.num_actions).copy(), index, columns)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Policy):
            return NotImplemented
        return self._parts() == other._parts()

    def __hash__(self) -> int:
        return hash(self._parts())

    def _parts(self) -> tuple[Any, ...]:
        own = self._schedule
        arrays = (self._table,) if own is None else (own.actions, own.mixed, own.odds)
        return tuple((part.shape, part.tobytes()) for part in arrays if part is not None)

    def __reduce__(self) -> tuple[Any, ...]:
        if self._schedule is None:
            return Policy, (self.probabilities,)
        own = self._schedule
        return _scheduled, (own.actions, own.mixed, own.odds, self.num_actions)

    def __repr__(self) -> str:
        kind = "deterministic" if self.is_deterministic else "randomised"
        steps = "" if self.horizon is None else f"{self.horizon} steps, "
        return f"Policy({steps}{self.num_states} states, {self.num_actions} actions, {kind})"

    def _repr_html_(self) -> str:
        head = ["state", *(f"action {a}" for a in range(self.num_actions))]
        first = self._step(0).table(self.num_actions)[:MOST_ROWS]
        rows = ((s, *row) for s, row in enumerate(first.tolist()))
        when = "" if self.horizon is None else " at the first step"
        return rows_table(repr(self) + when, head, rows, count=self.num_states)


def _scheduled(actions: Any, mixed: Any, odds: Any, num_actions: int) -> Policy:
    return Policy._scheduled(Schedule(actions, mixed, odds), num_actions)


def _distributions(probabilities: ArrayLike) -> FloatArray:
    table = check.array("probabilities", probabilities)
    if table.ndim != 2 or table.size == 0:
        raise InvalidArgumentError(
            "probabilities must have shape (states, actions), or (steps, states, actions), got "
            f"{table.shape}"
        )
    check.reject_non_finite("probabilities", table.ravel())
    table += 0.0  # turns −0 into 0, so that equal policies have equal bytes
    totals = table.sum(axis=1)
    off = np.where((table < 0).any(axis=1), np.inf, np.abs(totals - 1.0))
    worst = int(np.argmax(off))
    if off[worst] > SINGLE_ROUNDING:
        raise InvalidArgumentError(
            "probabilities must have rows that are probability distributions; the row of state "
            f"{worst} "
            + ("has a negative entry" if off[worst] == np.inf else f"sums to {totals[worst]:.12g}")
        )
    loose = off > table.shape[1] * np.finfo(np.float64).eps
    if loose.any():
        table[loose] /= totals[loose, None]
    return check.frozen(table)


def _action(chosen: Any) -> Any:
    return int(chosen) if np.ndim(chosen) == 0 else chosen
