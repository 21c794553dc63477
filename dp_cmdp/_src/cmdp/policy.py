"""Stationary randomised policies.

A policy π gives every state s a distribution π(·|s) over the actions. For a discounted CMDP these
are enough: some stationary policy is optimal, and an optimal one mixes actions in at most K states.

Two policies are mixed through their *occupancies*, not their tables: the state-wise average of two
tables visits other states than either and may break a limit that both keep.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dp_cmdp._src.base import validation as check
from dp_cmdp._src.base.errors import InvalidArgumentError
from dp_cmdp._src.base.html import MOST_ROWS, rows_table
from dp_cmdp._src.base.validation import FloatArray

if TYPE_CHECKING:
    import pandas as pd

#: A row of probabilities may miss 1 by this much before it is refused: some hundred roundings of
#: numbers in single precision, as networks compute them.
SINGLE_ROUNDING = 1e-5


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Policy:
    """A table of action probabilities that acts as Stable-Baselines3 models do.

    Parameters
    ----------
    probabilities : (num_states, num_actions)
        Row s is the distribution π(·|s). A row may miss 1 by rounding, also that of single
        precision (up to 10⁻⁵); it is then divided by its sum. Rows that already sum to 1 up to the
        rounding of doubles are kept bit for bit. What a certificate is about is each row divided
        by its own sum, in exact arithmetic.

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

    probabilities: FloatArray
    _random: np.random.Generator | None = field(compare=False)

    def __init__(self, probabilities: ArrayLike) -> None:
        object.__setattr__(self, "probabilities", _distributions(probabilities))
        object.__setattr__(self, "_random", None)

    @classmethod
    def _of(cls, probabilities: FloatArray) -> Policy:
        """Of rows that are distributions; the array becomes read-only."""
        made = cls.__new__(cls)
        object.__setattr__(made, "probabilities", check.frozen(probabilities))
        object.__setattr__(made, "_random", None)
        return made

    @classmethod
    def deterministic(cls, actions: ArrayLike, num_actions: int) -> Policy:
        """The policy that takes ``actions[s]`` in state s.

        Parameters
        ----------
        actions : (num_states,) array_like of int
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
    def num_states(self) -> int:
        """Number of states."""
        return self.probabilities.shape[0]

    @property
    def num_actions(self) -> int:
        """Number of actions, the same in every state."""
        return self.probabilities.shape[1]

    @property
    def is_deterministic(self) -> bool:
        """Whether every state has one action of positive probability."""
        return bool((np.count_nonzero(self.probabilities, axis=1) == 1).all())

    def sample(self, observation: ArrayLike, rng: np.random.Generator) -> Any:
        """Draw an action for a state (an int), or one for each entry of an array of states.

        Parameters
        ----------
        observation : int or array of int
            One state, or several.
        rng : numpy.random.Generator
            The source of randomness.

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
        cumulative = np.cumsum(self.probabilities[states], axis=-1)
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
            A state, or one per environment of a vector environment.
        state, episode_start : object, optional
            Memory of recurrent policies; this one has none, `state` is handed back.
        deterministic : bool
            Take the most probable action (the first of equals) instead of drawing. Guarantees of
            a randomised policy do not cover this mode.

        Returns
        -------
        (action, state)
            An int for one observation, an int64 array for an array of them.

        Examples
        --------
        >>> import dp_cmdp as dp
        >>> policy = dp.Policy([[1.0, 0.0], [0.25, 0.75]])
        >>> policy.predict([0, 1], deterministic=True)
        (array([0, 1]), None)
        """
        if check.flag("deterministic", deterministic):
            states = self._states(observation)
            return _action(np.argmax(self.probabilities[states], axis=-1)), state
        return self.sample(observation, self._own_random()), state

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

    def save(self, path: str | Path) -> Path:
        """Write the policy to an ``.npz`` file, atomically and without pickle.

        Parameters
        ----------
        path : str or Path
            The file.

        Returns
        -------
        Path
            The file that was written.

        Notes
        -----
        **Privacy.** *Post-processing*.
        """
        from dp_cmdp._src.base.documents import write_document

        return write_document(path, "policy", self.document())

    @classmethod
    def load(cls, path: str | Path) -> Policy:
        """Read a policy written by :meth:`save`; everything in it is checked again.

        That it is safe is a claim about it, its problem and its release together: see
        :func:`dp_cmdp.verify`.

        Parameters
        ----------
        path : str or Path
            The file.

        Returns
        -------
        Policy
            The policy that the file holds.

        Raises
        ------
        InvalidArgumentError
            If the file is damaged or of another kind.

        Examples
        --------
        >>> import dp_cmdp as dp
        >>> policy = dp.Policy.uniform(2, 4)
        >>> dp.Policy.load(policy.save("policy.npz")) == policy
        True
        """
        from dp_cmdp._src.base.documents import read_document

        return cls.from_document(read_document(path, "policy")[2])

    def document(self) -> dict[str, Any]:
        """The content of the policy's file.

        Returns
        -------
        dict
            Texts, numbers and arrays, without objects of this package.
        """
        return {"probabilities": self.probabilities}

    @classmethod
    def from_document(cls, content: dict[str, Any]) -> Policy:
        """The policy that a file holds.

        Parameters
        ----------
        content : mapping
            What `document` returned, read from a file.

        Returns
        -------
        Policy
            The same policy.
        """
        return cls(content["probabilities"])

    def to_frame(self) -> pd.DataFrame:
        """The probabilities as a table: one row per state, one column per action.

        Returns
        -------
        pandas.DataFrame
            Labelled by the numbers of states and actions.
        """
        import pandas as pd

        index, columns = (
            pd.RangeIndex(size, name=name)
            for name, size in zip(("state", "action"), self.probabilities.shape, strict=True)
        )
        return pd.DataFrame(self.probabilities.copy(), index=index, columns=columns)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Policy):
            return NotImplemented
        return np.array_equal(self.probabilities, other.probabilities)

    def __hash__(self) -> int:
        return hash((self.probabilities.shape, self.probabilities.tobytes()))

    def __reduce__(self) -> tuple[type[Policy], tuple[FloatArray]]:
        return Policy, (self.probabilities,)

    def __repr__(self) -> str:
        kind = "deterministic" if self.is_deterministic else "randomised"
        return f"Policy({self.num_states} states, {self.num_actions} actions, {kind})"

    def _repr_html_(self) -> str:
        head = ["state", *(f"action {a}" for a in range(self.num_actions))]
        rows = ((s, *row) for s, row in enumerate(self.probabilities[:MOST_ROWS].tolist()))
        return rows_table(repr(self), head, rows, count=self.num_states)


def _distributions(probabilities: ArrayLike) -> FloatArray:
    table = check.array("probabilities", probabilities)
    if table.ndim != 2 or table.size == 0:
        raise InvalidArgumentError(
            f"probabilities must have shape (states, actions), got {table.shape}"
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
