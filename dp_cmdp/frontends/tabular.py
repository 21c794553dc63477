"""An environment as a public model: states with names and places, and what a move enters."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dp_cmdp import _check
from dp_cmdp._check import FloatArray
from dp_cmdp._door import door
from dp_cmdp.cmdp.charges import ENTERING, OCCUPYING, met_states
from dp_cmdp.cmdp.model import CMDP
from dp_cmdp.cmdp.occupancy import occupancy_of
from dp_cmdp.cmdp.policy import Policy
from dp_cmdp.data.envelope import Envelope
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.frontends.keys import Named, RoomKey

if TYPE_CHECKING:
    from dp_cmdp.frontends.kinds import PrivateCost
    from dp_cmdp.frontends.private_costs import TabularCMDP

#: (state, action, successor) → {state passed on the way: how often, in the mean}.
Passed = Mapping[tuple[int, int, int], Mapping[int, float]]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TabularModel:
    """The public model of an environment, made by :func:`dp_cmdp.import_gymnasium`.

    Attributes
    ----------
    public : CMDP
        Dynamics, reward, start and discount, without costs; the last state is the one after the
        end of an episode.
    keys : tuple
        What names each state of the environment: its number, or its key where it was explored.
    cells : (num_states, 2) int, or None
        Row and column of each state, where the environment is a grid.
    shape : (int, int), or None
        Rows and columns of the grid.
    ends : tuple of int
        States in which some move ends the episode.
    is_limited : bool
        Whether a time limit was seen to cut episodes short; it is not part of the model.
    is_endless : bool
        Whether the caller says that there is none; severities may then be negative.
    seed : int or None
        With which ``reset`` makes what was explored.
    passed : mapping
        What moves pass on their way (`through`).
    numbers : mapping
        From key to the state's number.
    name : callable or None
        From (environment, observation) to the key of an explored state.

    Notes
    -----
    **Privacy.** *Public*: everything here is the environment's and the caller's.

    Examples
    --------
    >>> from dp_cmdp import import_gymnasium
    >>> lake = import_gymnasium("FrozenLake-v1", gamma=0.9)
    >>> lake.shape, lake.ends, lake.public.num_states  # one more: after the end
    ((4, 4), (5, 7, 11, 12, 15), 17)
    """

    public: CMDP
    keys: tuple[Any, ...]
    cells: NDArray[np.int64] | None
    shape: tuple[int, int] | None
    ends: tuple[int, ...]
    is_limited: bool
    is_endless: bool
    seed: int | None
    passed: Passed
    numbers: Mapping[Hashable, int]
    name: Named | None

    @property
    def num_states(self) -> int:
        """States of the environment: one fewer than the model's."""
        return len(self.keys)

    @property
    def num_actions(self) -> int:
        return self.public.num_actions

    @door
    def where(self, chosen: Callable[[Any], bool]) -> NDArray[np.int64]:
        """Numbers of the states within reach of the start whose key a function says yes to.

        Examples
        --------
        >>> from dp_cmdp import import_gymnasium
        >>> import_gymnasium("FrozenLake-v1", gamma=0.9).where(lambda state: state % 4 == 1)
        array([ 1,  5,  9, 13])
        """
        answers = [_check.truth("chosen(...)", chosen(key)) for key in self.keys]
        met = met_states(self.public, on=ENTERING) | met_states(self.public, on=OCCUPYING)
        return np.flatnonzero(met[: len(self.keys)] & answers)

    @door
    def states_at(self, row: int, col: int) -> NDArray[np.int64]:
        """Numbers of the states in a cell of the grid: several, where they differ in more.

        Examples
        --------
        >>> from dp_cmdp import import_gymnasium
        >>> import_gymnasium("FrozenLake-v1", gamma=0.9).states_at(1, 1)
        array([5])
        """
        if self.cells is None:
            raise InvalidArgumentError(
                "row and col need a grid, and none is known of this environment: import it with "
                "cell=lambda key: (row, col)"
            )
        place = _check.integer("row", row, high=10**9), _check.integer("col", col, high=10**9)
        found = np.flatnonzero((self.cells == place).all(axis=1))
        if not found.size:
            raise InvalidArgumentError(
                f"row and col must be a cell that has states; row {place[0]}, column {place[1]} "
                f"has none (rows and columns count from 0, the grid is {self.shape})"
            )
        return found

    @door
    def occupancy(self, policy: Policy) -> FloatArray:
        """Expected discounted visits of every pair, (num_states + 1, num_actions).

        Examples
        --------
        >>> from dp_cmdp import Policy, import_gymnasium
        >>> lake = import_gymnasium("FrozenLake-v1", gamma=0.9)
        >>> round(float(lake.occupancy(Policy.uniform(17, 4)).sum()), 6)  # 1/(1 - gamma)
        10.0
        """
        return occupancy_of(self.public, policy)

    def state_of(self, env: Any, observation: Any) -> int:
        """Number of the state that an environment is in, of what it observes.

        Examples
        --------
        >>> import gymnasium as gym
        >>> from dp_cmdp import import_gymnasium
        >>> env = gym.make("FrozenLake-v1")
        >>> lake = import_gymnasium(env, gamma=0.9)
        >>> observation, info = env.reset(seed=0)
        >>> lake.state_of(env, observation)
        0
        """
        key = _plain(observation) if self.name is None else self.name(env, observation)
        try:
            return self.numbers[key]
        except (KeyError, TypeError):
            raise InvalidArgumentError(
                "env must stay in the model: it is in a state that was not imported, so no policy "
                "of the model says what to do. Reset it with the seed that was imported, or import "
                "this environment"
            ) from None

    @door
    def with_private_costs(
        self,
        kinds: Mapping[str, PrivateCost] | None = None,
        *,
        states: ArrayLike | None = None,
        cells: ArrayLike | None = None,
        actions: ArrayLike | None = None,
        on: str | None = None,
        severity: Any = None,
        public_severity: ArrayLike | None = None,
        tolerance: Envelope | float | None = None,
        name: str = "hazard",
        records: Mapping[str, Any] | None = None,
    ) -> TabularCMDP:
        """The model with private costs: one kind, or several by name.

        Parameters
        ----------
        kinds : mapping of str to PrivateCost, optional
            Several kinds, one constraint each. Instead of the arguments below.
        states, cells, actions, on, severity, public_severity, tolerance
            One kind, as in :class:`~dp_cmdp.frontends.kinds.PrivateCost`.
        name : str
            Its name, for messages.
        records : mapping of str to array_like, optional
            Names of the entries' records by group, of any type, where one person's record reaches
            across groups (as in ``Envelope.join``).

        Returns
        -------
        TabularCMDP
            A ``ParametricCMDP`` with the groups ``severity`` and ``tolerance`` (of several kinds
            ``<name>.severity`` and ``<name>.tolerance``), less what is public.

        Notes
        -----
        **Privacy.** *Public*: which states are candidates, bounds, radius and records are said
        here; severities and tolerances are not.

        Examples
        --------
        >>> from dp_cmdp import Envelope, import_gymnasium, robust_policy
        >>> lake = import_gymnasium("FrozenLake-v1", gamma=0.9)
        >>> model = lake.with_private_costs(
        ...     states=[5, 7, 11, 12],
        ...     on="entering",
        ...     severity=Envelope(0, 1, radius=0.1, shape=4),
        ...     tolerance=Envelope(0.1, 0.3),
        ... )
        >>> robust_policy(model).certificate.verified
        True
        """
        from dp_cmdp.frontends.kinds import PrivateCost
        from dp_cmdp.frontends.private_costs import TabularCMDP

        one = (states, cells, actions, on, severity, public_severity, tolerance)
        if kinds is None:
            if tolerance is None:
                raise InvalidArgumentError(
                    "severity and tolerance must be given: an Envelope each, for private numbers "
                    "(a tolerance that is public may be a number); or several kinds by name"
                )
            cost = PrivateCost(
                states=states,
                cells=cells,
                actions=actions,
                on=on,
                severity=severity,
                public_severity=public_severity,
                tolerance=tolerance,
            )
            return TabularCMDP(self, {_check.text("name", name): cost}, records=records)
        if any(part is not None for part in one):
            raise InvalidArgumentError(
                "kinds must stand alone: with several kinds of cost, states, actions, severity and "
                "tolerance belong to each of them"
            )
        return TabularCMDP(self, kinds, records=records)

    def __repr__(self) -> str:
        grid = "" if self.shape is None else f", grid {self.shape[0]}×{self.shape[1]}"
        return (
            f"TabularModel(num_states={self.num_states}, num_actions={self.num_actions}, "
            f"gamma={self.public.gamma:g}{grid})"
        )


def _plain(observation: Any) -> Any:
    return observation.item() if isinstance(observation, np.ndarray | np.generic) else observation


def placed(cell: Callable[[Any], Any], keys: tuple[Hashable, ...]) -> NDArray[np.int64]:
    """Row and column of every state, as a function of its key says."""
    found = np.empty((len(keys), 2), dtype=np.int64)
    for number, key in enumerate(keys):
        place = _check.items("cell(...)", cell(key), most=2)
        if len(place) != 2:
            raise InvalidArgumentError(
                f"cell must return (row, column) of every key, got {len(place)} numbers"
            )
        found[number] = [_check.integer("cell(...)", part, high=10**6) for part in place]
    return _check.frozen(found)


def least_shape(cells: NDArray[np.int64]) -> tuple[int, int]:
    """Rows and columns that hold all cells."""
    rows, cols = cells.max(axis=0) + 1
    return int(rows), int(cols)


def own_grid(base: Any, keys: tuple[Hashable, ...]) -> tuple[Any, Any]:
    """Cells and shape of Gymnasium's and MiniGrid's own grids; None of others."""
    if keys and all(isinstance(key, RoomKey) for key in keys):
        return placed(lambda key: (key.row, key.col), keys), (base.height, base.width)
    if not all(isinstance(key, int) for key in keys):
        return None, None
    for given in (
        getattr(getattr(base, "desc", None), "shape", None),
        getattr(base, "shape", None),
    ):
        if isinstance(given, tuple) and len(given) == 2 and np.prod(given) == len(keys):
            rows, cols = given
            return np.stack(np.divmod(np.arange(rows * cols), cols), axis=1), given
    return None, None
