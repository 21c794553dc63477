"""Stationary randomised policies.

A policy π gives every state s a distribution π(·|s) over the actions. For a discounted CMDP these
are enough: some stationary policy is optimal, and an optimal one mixes actions in at most K states.

Two policies are mixed through their *occupancies*, not their tables: average the occupancy
measures and apply :func:`dp_cmdp.cmdp.occupancy.policy_from_occupancy`. The state-wise average of
two tables visits other states than either and may break a constraint that both satisfy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dp_cmdp import _check
from dp_cmdp._check import FloatArray
from dp_cmdp._documents import Document, Origin, read_document, unpacked
from dp_cmdp._door import door
from dp_cmdp._html import MOST_ROWS, rows_table
from dp_cmdp.data.labels import Labels
from dp_cmdp.errors import InvalidArgumentError

if TYPE_CHECKING:
    import pandas as pd

    from dp_cmdp.cmdp.parametric import ParametricCMDP
    from dp_cmdp.data.release import Release
    from dp_cmdp.envs.layout import Layout

#: A row of probabilities may miss 1 by this much before it is refused: some hundred roundings of
#: numbers in single precision, as networks compute them.
SINGLE_ROUNDING = 1e-5
FORMAT = "dp_cmdp.Policy/2"
#: Of policies that remember the layout they are for; others are written as before.
LAID_OUT = "dp_cmdp.Policy/3"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Policy:
    """A table of action probabilities that acts as Stable-Baselines3 models do.

    Parameters
    ----------
    probs : (num_states, num_actions)
        Row s is the distribution π(·|s). A row may miss 1 by rounding, also that of single
        precision (up to 10⁻⁵); it is then divided by its sum. Rows that already sum to 1 up to the
        rounding of doubles are kept bit for bit. What a certificate is about is each row divided
        by its own sum, in exact arithmetic.

    Notes
    -----
    **Randomness.** :meth:`sample` draws from the Generator it is given. :meth:`predict` has
    Stable-Baselines3's signature, which has no place for one, so each policy owns a Generator
    started from the operating system's entropy; :meth:`reseed` makes it repeatable. That Generator
    is no part of equality, hashing, pickling, copying or saved files.

    **Privacy.** *Post-processing* of a Release; curator only when solved from true data.

    Examples
    --------
    >>> from dp_cmdp import Policy
    >>> policy = Policy([[1.0, 0.0], [0.25, 0.75]])
    >>> policy.predict(0)  # as models of Stable-Baselines3 do: (action, state)
    (0, None)
    """

    probs: FloatArray
    _random: np.random.Generator | None = field(compare=False)

    @door
    def __init__(self, probs: ArrayLike) -> None:
        object.__setattr__(self, "probs", _distributions(probs))
        object.__setattr__(self, "_random", None)

    @classmethod
    @door
    def deterministic(cls, actions: ArrayLike, num_actions: int) -> Policy:
        """The policy that takes ``actions[s]`` in state s.

        Examples
        --------
        >>> from dp_cmdp import Policy
        >>> Policy.deterministic([1, 0], num_actions=2).probs
        array([[0., 1.],
               [1., 0.]])
        """
        width = _check.size("num_actions", num_actions, low=1)
        chosen = _indices("actions", actions, high=width)
        if chosen.ndim != 1 or chosen.size == 0:
            raise InvalidArgumentError(
                f"actions must hold one action per state, got shape {chosen.shape}"
            )
        probs = np.zeros(_check.shape("num_actions", (chosen.size, width)))
        probs[np.arange(chosen.size), chosen] = 1.0
        return cls(probs)

    @classmethod
    @door
    def uniform(cls, num_states: int, num_actions: int) -> Policy:
        """The policy that takes every action with the same probability.

        Examples
        --------
        >>> from dp_cmdp import Policy
        >>> Policy.uniform(2, 4).probs
        array([[0.25, 0.25, 0.25, 0.25],
               [0.25, 0.25, 0.25, 0.25]])
        """
        height, width = _check.shape("num_states and num_actions", (num_states, num_actions))
        if not (height and width):
            raise InvalidArgumentError("num_states and num_actions must be at least 1")
        return cls(np.full((height, width), 1.0 / width))

    @classmethod
    @door
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
            :func:`dp_cmdp.import_gymnasium` has one such row, for the time after an episode.

        Notes
        -----
        **Privacy.** *Post-processing* of what the model was trained on.

        Examples
        --------
        With the extra ``rl``:

        >>> from stable_baselines3 import PPO
        >>> from dp_cmdp import Policy
        >>> model = PPO("MlpPolicy", "FrozenLake-v1", n_steps=64, batch_size=64).learn(64)
        >>> Policy.from_sb3(model).num_states
        16
        """
        from dp_cmdp.cmdp.learned import learned_probabilities

        return cls(learned_probabilities(model, num_states))

    @property
    def num_states(self) -> int:
        return self.probs.shape[0]

    @property
    def num_actions(self) -> int:
        return self.probs.shape[1]

    @property
    def is_deterministic(self) -> bool:
        """Whether every state has one action of positive probability."""
        return bool((np.count_nonzero(self.probs, axis=1) == 1).all())

    def sample(self, observation: ArrayLike, rng: np.random.Generator) -> Any:
        """Draw an action for a state index (an int), or one for each entry of an array of them.

        Examples
        --------
        >>> import numpy as np
        >>> from dp_cmdp import Policy
        >>> policy = Policy([[1.0, 0.0], [0.25, 0.75]])
        >>> policy.sample([0, 1, 1, 1], np.random.default_rng(0))
        array([0, 1, 0, 0])
        """
        rng = _check.generator("rng", rng)
        states = _indices("observation", observation, high=self.num_states)
        cumulative = np.cumsum(self.probs[states], axis=-1)
        # u < 1 keeps the level strictly below the total, so an action of probability 0 is never
        # drawn: the first cumulative sum above the level is also above its predecessor.
        level = rng.random(states.shape)[..., None] * cumulative[..., -1:]
        return _action(np.argmax(cumulative > level, axis=-1))

    def predict(
        self,
        observation: ArrayLike,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = False,
    ) -> tuple[Any, Any]:
        """Choose actions with Stable-Baselines3's signature.

        Parameters
        ----------
        observation : int or array of int
            State index, or one per environment of a vector environment.
        state, episode_start
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
        >>> from dp_cmdp import Policy
        >>> policy = Policy([[1.0, 0.0], [0.25, 0.75]])
        >>> policy.predict([0, 1], deterministic=True)
        (array([0, 1]), None)
        """
        if _check.flag("deterministic", deterministic):
            states = _indices("observation", observation, high=self.num_states)
            return _action(np.argmax(self.probs[states], axis=-1)), state
        return self.sample(observation, self._own_random()), state

    @door
    def reseed(self, seed: int) -> None:
        """Restart the Generator behind :meth:`predict` from `seed`.

        Examples
        --------
        >>> from dp_cmdp import Policy
        >>> policy = Policy.uniform(1, 4)
        >>> policy.reseed(0)
        >>> first = [policy.predict(0)[0] for _ in range(5)]
        >>> policy.reseed(0)
        >>> first == [policy.predict(0)[0] for _ in range(5)]
        True
        """
        fresh = np.random.default_rng(_check.seed("seed", seed))
        object.__setattr__(self, "_random", fresh)

    def _own_random(self) -> np.random.Generator:
        """Made when it is first asked for: most policies are judged and never played."""
        if self._random is None:
            object.__setattr__(self, "_random", np.random.default_rng())
        return cast(np.random.Generator, self._random)

    @door
    def save(
        self,
        path: str | Path,
        *,
        release: Release | None = None,
        model: ParametricCMDP | None = None,
        name: str = "",
        layout: Layout | None = None,
    ) -> Path:
        """Write the policy to an ``.npz`` file, atomically and without pickle.

        Parameters
        ----------
        path : str or Path
        release, model : Release and ParametricCMDP, optional
            What it was made from; the file names them by their digests, so that ``dp-cmdp
            verify`` can judge it.
        name : str
            Of the model; by default that of the layout.
        layout : Layout, optional
            The grid it is for, all of it public: kept in the file, so that ``dp-cmdp rollout``,
            ``evaluate`` and ``verify`` need no other.

        Notes
        -----
        **Privacy.** *Post-processing*.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> from dp_cmdp import Policy, robust_policy
        >>> from dp_cmdp.envs import HazardGridEnv
        >>> env = HazardGridEnv("corridor")
        >>> safe = robust_policy(env.model())
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder) / "policy.npz"
        ...     written = safe.policy.save(path, model=env.model(), layout=env.layout)
        ...     Policy.load(path) == safe.policy
        True
        """
        facts = None if layout is None else layout.facts()
        called = name or ("" if layout is None else layout.name)
        return PolicyFile(self, Origin.of(release, model, called), facts).document().write(path)

    @classmethod
    @door
    def load(cls, path: str | Path) -> Policy:
        """Read a policy written by :meth:`save`; everything in it is checked again.

        That it is safe is a claim about it, its model and its release together: see
        :func:`dp_cmdp.verification.files.verify`.

        Examples
        --------
        >>> from dp_cmdp import Policy
        >>> policy = Policy.uniform(2, 4)
        >>> Policy.load(policy.save("policy.npz")) == policy
        True
        """
        return PolicyFile.load(path).policy

    @door
    def to_frame(self, *, states: Any = None, actions: Any = None) -> pd.DataFrame:
        """The probabilities as a table: one row per state, one column per action.

        Parameters
        ----------
        states, actions : sequence, pandas Index or mapping, optional
            Labels; by default the numbers of states and actions. A mapping names their axes:
            ``states={"row": range(3), "col": range(4)}`` are twelve states, row by row.

        Examples
        --------
        >>> from dp_cmdp import Policy
        >>> policy = Policy([[1.0, 0.0], [0.25, 0.75]])
        >>> policy.to_frame(states=["home", "road"], actions=["stay", "go"])
              stay    go
        home  1.00  0.00
        road  0.25  0.75
        """
        import pandas as pd

        index, columns = (
            _named(name, given, size)
            for name, given, size in zip(
                ("states", "actions"), (states, actions), self.probs.shape, strict=True
            )
        )
        return pd.DataFrame(self.probs.copy(), index=index, columns=columns)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Policy):
            return NotImplemented
        return np.array_equal(self.probs, other.probs)

    def __hash__(self) -> int:
        return hash((self.probs.shape, self.probs.tobytes()))

    def __reduce__(self) -> tuple[type[Policy], tuple[FloatArray]]:
        return Policy, (self.probs,)

    def __repr__(self) -> str:
        return (
            f"Policy(num_states={self.num_states}, num_actions={self.num_actions}, "
            f"{'deterministic' if self.is_deterministic else 'randomised'})"
        )

    def _repr_html_(self) -> str:
        kind = "deterministic" if self.is_deterministic else "randomised"
        head = ["state", *(f"action {a}" for a in range(self.num_actions))]
        rows = ((s, *row) for s, row in enumerate(self.probs[:MOST_ROWS].tolist()))
        title = f"Policy: {self.num_states} states, {kind}"
        return rows_table(title, head, rows, count=self.num_states)


@dataclass(frozen=True, slots=True)
class PolicyFile:
    """A policy, what it says it was made from, and the layout it remembers.

    Attributes
    ----------
    policy : Policy
    origin : Origin
    layout : mapping, optional
        The facts of a layout, as in its JSON file; a claim until it is compared with the origin.
    """

    policy: Policy
    origin: Origin
    layout: Mapping[str, Any] | None = None

    def document(self) -> Document:
        """The content of the policy's file."""
        facts: dict[str, Any] = {"origin": self.origin.facts()}
        if self.layout is not None:
            facts["layout"] = dict(self.layout)
        form = FORMAT if self.layout is None else LAID_OUT
        return Document(form, facts, {"probs": self.policy.probs})

    @classmethod
    @door
    def load(cls, path: str | Path) -> PolicyFile:
        """Read a file written by :meth:`Policy.save`."""

        def build(source: Document) -> PolicyFile:
            layout = source.facts["layout"] if source.format == LAID_OUT else None
            if layout is not None and not isinstance(layout, dict):
                raise InvalidArgumentError("layout must be an object")
            origin = Origin(**source.facts["origin"])
            return cls(Policy(source.arrays["probs"]), origin, layout)

        read = read_document(path, FORMAT, arrays=("probs",), labelled=LAID_OUT)
        return unpacked(path, read, build)


def _distributions(probs: ArrayLike) -> FloatArray:
    table = _check.array("probs", probs)
    if table.ndim != 2 or table.size == 0:
        raise InvalidArgumentError(
            f"probs must have shape (num_states, num_actions), got {table.shape}"
        )
    _check.reject_non_finite("probs", table.ravel())
    table += 0.0  # turns −0 into 0, so that equal policies have equal bytes
    totals = table.sum(axis=1)
    off = np.where((table < 0).any(axis=1), np.inf, np.abs(totals - 1.0))
    worst = int(np.argmax(off))
    if off[worst] > SINGLE_ROUNDING:
        raise InvalidArgumentError(
            f"probs must have rows that are probability distributions; the row of state {worst} "
            + ("has a negative entry" if off[worst] == np.inf else f"sums to {totals[worst]:.12g}")
        )
    loose = off > table.shape[1] * np.finfo(np.float64).eps
    if loose.any():
        table[loose] /= totals[loose, None]
    return _check.frozen(table)


def _named(name: str, given: Any, size: int) -> pd.Index:
    """The labels of states or actions, or their numbers."""
    import pandas as pd

    if given is None:
        return pd.RangeIndex(size, name=name.removesuffix("s"))
    index = Labels.of(given, name=name).index()
    if len(index) != size:
        raise InvalidArgumentError(f"{name} must have {size} labels, got {len(index)}")
    return index


def _indices(name: str, value: ArrayLike, *, high: int) -> NDArray[np.int64]:
    array = _check.integers(name, value, high=high)
    if array.size == 0:
        raise InvalidArgumentError(f"{name} must hold at least one integer")
    return array


def _action(chosen: Any) -> Any:
    return int(chosen) if np.ndim(chosen) == 0 else chosen
