"""The hazard grid as a Gymnasium environment with a privacy boundary through its middle."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from operator import index
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.envs.registration import EnvSpec
from gymnasium.error import ResetNeeded

from dp_cmdp._src.base import validation as check
from dp_cmdp._src.base.errors import InvalidArgumentError, PrivacyLeakError
from dp_cmdp._src.base.validation import FloatArray, validated
from dp_cmdp._src.cmdp.parametric import ParametricCMDP
from dp_cmdp._src.data.database import Database
from dp_cmdp.envs.catalogue import as_layout
from dp_cmdp.envs.dynamics import NUM_ACTIONS, GridModel
from dp_cmdp.envs.hazards import Hazards
from dp_cmdp.envs.layout import Layout
from dp_cmdp.envs.specs import WITHHELD, guarded, without_type_errors

if TYPE_CHECKING:
    from dp_cmdp._src.accounting.ledger import PrivacyLedger
    from dp_cmdp.envs.drawing import Image
    from dp_cmdp.envs.window import Window

AGENT, CURATOR = "agent", "curator"


class HazardGridEnv(gym.Env[Any, Any]):
    """
    A walk to the goal across cells of which some *may* be hazardous; which ones is private.

    ## Description
    The agent walks on a grid of free cells and walls. Everybody knows the *candidate* cells, where
    a hazard may be. Which candidates are hazardous, how severe each is, and how much discounted
    severity is allowed are private: they are a database, and only its curator sees it.

    The environment opens from two sides. With `access="agent"` (the default) it holds no private
    data at all, so nothing can be read from it: costs are the public worst case, until a release
    of the database is put in their place by `gymnasium.ReleasedCosts`. With `access="curator"` it
    holds the hazards, reports true costs, draws them, and refuses to be pickled.

    ## Action Space
    `Discrete(4)`: 0 left, 1 down, 2 right, 3 up. With probability `slip` the step goes at right
    angles to the chosen direction, half of it to each side. A step into a wall or the border
    leaves the agent where it is.

    ## Observation Space
    `Discrete(rows * cols)`: the number `row * cols + col` of the agent's cell.

    ## Starting State
    Drawn from the layout's start distribution; `reset(options={"start": cell})` chooses the cell.

    ## Rewards
    `step_reward` (−1) for every step, and `goal_reward` more for the step that enters a goal.

    ## Episode Termination
    The episode terminates in a goal, which is absorbing and costs and pays nothing more. Registered
    environments are truncated at their `max_episode_steps`.

    ## Information
    `step` returns `info["cost"]`: the severity of the cell in which the action was *taken*, so that
    the discounted sum of the costs is the cost of the constrained MDP. A float, or a vector when
    there are several kinds of hazard. It is the true cost for the curator and, for an agent, the
    largest that the public bounds allow (0 outside the candidates). `info["cost_sum"]` is the sum
    over the kinds in this step. `reset` returns no information. `env.cost_limit` is the limit.

    ## Arguments
    * `layout="paper"`: a name (`envs.layout_names()`), a layout file, the content of one, a map
      as a text of several lines, or an `envs.Layout`.
    * `access="agent"`: or `"curator"`.
    * `hazards=None`: for the curator only. An `envs.Hazards` (of a DataFrame or a CSV file:
      `envs.Hazards.from_frame`), the seed of simulated ones, or a JSON file; `None` takes the
      simulation that comes with the layout. They are read when they are first needed, by a release
      after its debit, and are not kept in the environment's `spec`.
    * `slip`, `gamma`, `step_reward`, `goal_reward`: replace the layout's.
    * `render_mode=None`: `"ansi"` (text), `"rgb_array"` (pixels) or `"human"` (a matplotlib window;
      the text, printed, where no window can be opened).

    ## Version History
    * v0: first version

    Examples
    --------
    >>> import gymnasium as gym
    >>> import dp_cmdp  # registers the ids
    >>> env = gym.make("dp_cmdp/HazardGridCorridor-v0")  # an agent's: no hazard is in it
    >>> observation, info = env.reset(seed=0)
    >>> observation, reward, terminated, truncated, info = env.step(2)
    >>> float(info["cost"])  # the public worst case of the cell that was left
    0.0
    """

    metadata: dict[str, Any] = {  # noqa: RUF012
        "render_modes": ["human", "ansi", "rgb_array"],
        "render_fps": 8,
    }

    @without_type_errors
    @validated
    def __init__(
        self,
        layout: Layout | Mapping[str, Any] | str | Path = "paper",
        *,
        access: str = AGENT,
        hazards: Hazards | int | str | Path | None = None,
        slip: float | None = None,
        gamma: float | None = None,
        step_reward: float | None = None,
        goal_reward: float | None = None,
        render_mode: str | None = None,
        **unknown: Any,
    ) -> None:
        if unknown:  # Gymnasium would quote all arguments, the hazards too, beside a TypeError
            raise InvalidArgumentError(
                f"a hazard grid has no argument called {', '.join(unknown)}; see its docstring"
            )
        changes = {
            "slip": slip, "gamma": gamma, "step_reward": step_reward, "goal_reward": goal_reward,
        }  # fmt: skip
        given = {name: value for name, value in changes.items() if value is not None}
        self.layout: Layout = as_layout(layout).replace(**given)
        self.access: str = check.one_of("access", access, (AGENT, CURATOR))
        if render_mode is not None:
            check.one_of("render_mode", render_mode, tuple(self.metadata["render_modes"]))
        self.render_mode = render_mode
        self.grid_model: GridModel = GridModel(self.layout)
        if access == CURATOR:
            if isinstance(hazards, str) and hazards == WITHHELD:
                raise InvalidArgumentError(
                    "hazards are not kept in the spec of a curator's environment; give them again"
                )
            self._hazards = Hazards.of(self.layout, hazards)
        elif hazards is not None:
            raise PrivacyLeakError(
                'hazards must be left to the curator: open the grid with access="curator"'
            )
        self.observation_space: spaces.Space[Any] = spaces.Discrete(self.layout.num_cells)
        self.action_space: spaces.Space[Any] = spaces.Discrete(NUM_ACTIONS)
        self._spec: EnvSpec | None = None
        self._state: int | None = None
        self._drawn: tuple[FloatArray | None, Image] | None = None
        self._window: Window | None = None

    @property
    def spec(self) -> EnvSpec | None:
        """What Gymnasium made the environment from, without its hazards."""
        return self._spec

    @spec.setter
    def spec(  # pyright: ignore[reportIncompatibleVariableOverride]
        self, spec: EnvSpec | None
    ) -> None:
        self._spec = guarded(spec)

    @cached_property
    def _values(self) -> FloatArray:
        """The private numbers, read and checked as a release would; the curator's only."""
        return self.database().read()

    @cached_property
    def _costs(self) -> FloatArray:
        """What ``info["cost"]`` reports, by kind and state: true for the curator."""
        if self.access != CURATOR:
            return self.grid_model.cost_table()
        groups = [group for group in self.model().envelope.groups if group.name.endswith("cost")]
        found = [self._values[group.start : group.stop] for group in groups]
        return self.grid_model.cost_table(np.concatenate(found))

    @property
    def state(self) -> int:
        """The agent's cell."""
        if self._state is None:
            raise ResetNeeded("call reset() before asking for the state, stepping or rendering")
        return self._state

    @property
    def limit(self) -> FloatArray:
        """Highest cost of each kind that is allowed, discounted or per episode.

        The true one for the curator, the public lower bound otherwise.
        """
        if self.access != CURATOR:
            return check.frozen(np.array([kind.limit[0] for kind in self.layout.kinds]))
        groups = [group for group in self.model().envelope.groups if group.name.endswith("limit")]
        return check.frozen(np.array([self._values[group.start] for group in groups]))

    @property
    def cost_limit(self) -> float | FloatArray:
        """`limit`, a number where there is one: where safe-RL libraries look for it."""
        return cost_at(self.limit[:, None], 0)

    @validated
    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[int, dict[str, Any]]:
        super().reset(seed=None if seed is None else check.seed("seed", seed))
        choice = dict(options or {})
        start = choice.pop("start", None)
        if choice:
            raise InvalidArgumentError("options may hold 'start' only")
        if start is None:
            cells, chances = zip(*self.layout.starts, strict=True)
            start = cells[int(self.np_random.choice(len(cells), p=np.array(chances)))]
        elif not check.is_integer(start) or not self._is_free(start):
            raise InvalidArgumentError(
                "options['start'] must be a cell of the grid that is no wall; "
                f"cells run from 0 to {self.layout.num_cells - 1}"
            )
        self._state = int(start)
        if self.render_mode == "human":
            self.render()
        return self._state, {}

    def _is_free(self, cell: int) -> bool:
        return 0 <= cell < self.layout.num_cells and cell not in self.layout.walls

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        before = self.state
        after = self.grid_model.sample(before, _action(action), rng=self.np_random)
        reward = 0.0
        if not self.grid_model.absorbing[before]:
            entered = after in self.layout.goals
            reward = self.layout.step_reward + (self.layout.goal_reward if entered else 0.0)
        self._state = after
        if self.render_mode == "human":
            self.render()
        told = cost_at(self._costs, before)
        info = {"cost": told, "cost_sum": float(np.sum(told))}
        return after, reward, after in self.layout.goals, False, info

    def render(self) -> Image | str | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        if self.render_mode is None:
            gym.logger.warn(
                "render() needs a render mode; give one when making the environment, for example "
                'gymnasium.make("dp_cmdp/HazardGrid-v0", render_mode="rgb_array")'
            )
            return None
        return self._picture(self._costs if self.access == CURATOR else None, hatched=False)

    def _picture(self, costs: FloatArray | None, *, hatched: bool) -> Image | str | None:
        """What the render mode gives, candidates coloured by `costs` (kinds, cells) if there are
        any, and otherwise hatched."""
        from dp_cmdp.envs.drawing import Grid, draw_agent, draw_grid, draw_text

        if self.render_mode == "ansi":
            return draw_text(self.layout, agent=self.state, costs=costs)
        grid = Grid.of(self.layout, costs)
        if self._drawn is None or self._drawn[0] is not costs:
            self._drawn = (costs, draw_grid(grid, hatched=hatched or costs is None))
        image = draw_agent(self._drawn[1], grid, agent=self.state)
        if self.render_mode == "rgb_array":
            return image
        text = draw_text(self.layout, agent=self.state, costs=costs)
        if self._window is None:
            from dp_cmdp.envs.window import Window

            self._window = Window(title="HazardGrid", fps=self.metadata["render_fps"])
        self._window.show(image, text=text)
        return None

    def close(self) -> None:
        if self._window is not None:
            self._window.close()

    @cached_property
    def _model(self) -> ParametricCMDP:
        return self.grid_model.parametric()

    def model(
        self, *, gamma: float | None = None, horizon: int | None = None, total: bool = False
    ) -> ParametricCMDP:
        """The constrained MDP that `step` simulates, as a function of the private database.

        Parameters
        ----------
        gamma, horizon, total : optional
            Over which steps rewards and costs are summed, as of :class:`ParametricCMDP`; by default
            all, with the layout's discount.

        Returns
        -------
        ParametricCMDP
            Its private numbers are the groups ``"cost"``, one severity per candidate cell, and
            ``"limit"``; of several kinds ``"<kind>.cost"`` and ``"<kind>.limit"``.

        Notes
        -----
        **Privacy.** *Public*.

        Examples
        --------
        >>> import dp_cmdp as dp
        >>> dp.answer(dp.envs.HazardGridEnv("corridor").model()).certificate.verified
        True
        """
        if gamma is None and horizon is None and not total:
            return self._model
        return self.grid_model.parametric(gamma=gamma, horizon=horizon, total=total)

    def database(self, *, ledger: PrivacyLedger | None = None) -> Database:
        """The private hazards, for a mechanism to read.

        Parameters
        ----------
        ledger : PrivacyLedger, optional
            The account from which releases of the hazards are debited.

        Returns
        -------
        Database
            Of the envelope of `model()`.

        Raises
        ------
        PrivacyLeakError
            If the environment is an agent's: it holds none.

        Notes
        -----
        **Privacy.** *Curator only*.

        Examples
        --------
        >>> import dp_cmdp as dp
        >>> dp.envs.HazardGridEnv("corridor").database()
        Traceback (most recent call last):
            ...
        dp_cmdp._src.base.errors.PrivacyLeakError: ...
        """
        if self.access != CURATOR:
            raise PrivacyLeakError(
                'an agent\'s environment holds no database; open it with access="curator"'
            )
        return Database(self._hazards.values, self._model, ledger=ledger)


@without_type_errors
@validated
def random_hazard_grid(
    *,
    size: int = 25,
    density: float = 0.3,
    wall_density: float = 0.0,
    kinds: int = 1,
    layout_seed: int = 0,
    **arguments: Any,
) -> HazardGridEnv:
    """A hazard grid whose layout is drawn (:func:`random_layout`); `arguments` are the grid's.

    Parameters
    ----------
    size, density, wall_density, kinds : int or float
        As in :func:`random_layout`.
    layout_seed : int
        The `seed` of :func:`random_layout`.
    **arguments : object
        Those of :class:`HazardGridEnv`, but `layout`.

    Returns
    -------
    HazardGridEnv
        The environment.

    Raises
    ------
    InvalidArgumentError
        If a layout is given.
    """
    if "layout" in arguments:
        raise InvalidArgumentError("a random hazard grid draws its layout; leave layout out")
    from dp_cmdp.envs.random_layouts import random_layout

    layout = random_layout(
        size, seed=layout_seed, density=density, wall_density=wall_density, kinds=kinds
    )
    return HazardGridEnv(layout, **arguments)


def _action(action: Any) -> int:
    try:
        chosen = index(action)
    except Exception:
        chosen = -1
    if isinstance(action, bool) or not 0 <= chosen < NUM_ACTIONS:
        found = check.shown(chosen) if chosen >= NUM_ACTIONS else type(action).__name__
        raise InvalidArgumentError(f"action must be 0, 1, 2 or 3, got {found}")
    return chosen


def cost_at(table: FloatArray, state: int) -> float | FloatArray:
    """What ``info["cost"]`` holds: a float for one kind of hazard, a fresh vector for several."""
    costs = table[:, state]
    return float(costs[0]) if costs.size == 1 else costs.copy()
