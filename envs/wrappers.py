"""Training on released costs: everything a learner sees is post-processing of one release."""

from __future__ import annotations

from typing import Any

import gymnasium as gym

from dp_cmdp import _check
from dp_cmdp._check import FloatArray
from dp_cmdp._door import door
from dp_cmdp.cmdp.parametric import ParametricCMDP
from dp_cmdp.data.release import Release
from dp_cmdp.envs.drawing import Image
from dp_cmdp.envs.hazard_grid import PUBLIC, HazardGridEnv, cost_at
from dp_cmdp.errors import InvalidArgumentError, PrivacyLeakError
from dp_cmdp.frontends.private_costs import TabularCMDP
from dp_cmdp.frontends.tabular import TabularModel


class StateObservation(gym.Wrapper[int, int, Any, int], gym.utils.RecordConstructorArgs):
    """Observe the number of the state, as policies of an imported model do.

    Parameters
    ----------
    env : gymnasium.Env
        What was imported, or another one made alike.
    model : TabularModel or TabularCMDP

    Notes
    -----
    ``reset`` always makes what was imported: where the model was explored from a seed, with that
    seed. A state that the model does not have is an error. **Privacy.** *Public*.

    Examples
    --------
    >>> import gymnasium as gym
    >>> from dp_cmdp import import_gymnasium
    >>> from dp_cmdp.envs import StateObservation
    >>> model = import_gymnasium("CliffWalking-v1", gamma=0.9)
    >>> env = StateObservation(gym.make("CliffWalking-v1"), model)
    >>> env.reset(seed=0)[0]
    36
    """

    @door
    def __init__(self, env: gym.Env[Any, Any], model: TabularModel | TabularCMDP) -> None:
        gym.utils.RecordConstructorArgs.__init__(self, _disable_deepcopy=True, model=model)
        super().__init__(env)
        self._model = model.source if isinstance(model, TabularCMDP) else model
        _check_size("action_space", env.action_space, (self._model.num_actions,))
        states: Any = gym.spaces.Discrete(self._model.num_states)
        self.observation_space = states

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[int, dict[str, Any]]:
        drawn = seed if self._model.seed is None else self._model.seed
        observation, info = self.env.reset(seed=drawn, options=options)
        return self._model.state_of(self.env.unwrapped, observation), info

    def step(self, action: int) -> tuple[int, Any, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(action)
        state = self._model.state_of(self.env.unwrapped, observation)
        return state, reward, terminated, truncated, info


class PrivateCostWrapper(gym.Wrapper[int, int, int, int], gym.utils.RecordConstructorArgs):
    """Report what a step costs at most, by a release, in ``info["cost"]``.

    Each severity is taken at the upper end of its released interval.

    Parameters
    ----------
    env : gymnasium.Env
        A *public* hazard grid, or any environment whose observations are the states of `model`
        (:class:`StateObservation` makes them so), under any number of wrappers.
    release : Release, optional
        A release of its database (method ``database``). Without one, costs are the largest that
        the public bounds allow.
    model : ParametricCMDP, optional
        Of an environment that is no hazard grid: what is charged, and for which states. One of
        ``with_private_costs`` charges what is seen to happen; another its expected cost of a pair.

    Notes
    -----
    The true severity is at most the released upper end, and the true tolerance at least
    :attr:`tolerance`, with certainty: a policy whose expected discounted *released* cost is within
    :attr:`tolerance` is safe for the true database. A cost that `env` itself reports is replaced.
    **Paper.** ``lem:arbitrary``. **Privacy.** *Post-processing*: any learner trained through the
    wrapper is as private as the release, however long it trains.

    Examples
    --------
    >>> import gymnasium as gym
    >>> from dp_cmdp import PrivacyBudget, release_database
    >>> from dp_cmdp.envs import HazardGridEnv, PrivateCostWrapper
    >>> database = HazardGridEnv("corridor", access="curator").database()
    >>> release = release_database(database, PrivacyBudget(1, "1/1000"))
    >>> env = PrivateCostWrapper(gym.make("dp_cmdp/HazardGridCorridor-v0"), release)
    >>> observation, info = env.reset(seed=0)
    >>> "cost" in env.step(2)[-1]  # what any learner may be trained on
    True
    """

    @door
    def __init__(
        self,
        env: gym.Env[int, int],
        release: Release | None = None,
        model: ParametricCMDP | None = None,
    ) -> None:
        gym.utils.RecordConstructorArgs.__init__(
            self, _disable_deepcopy=True, release=release, model=model
        )
        super().__init__(env)
        grid = env.unwrapped
        self._grid = grid if isinstance(grid, HazardGridEnv) else None
        self._state = 0
        self.release = release
        if self._grid is not None:
            if model is not None:
                raise InvalidArgumentError("model must be left out: a hazard grid has its own")
            self._costs = _grid_costs(self._grid, release)
            self._tightened = _tightened(self._grid.model(), release)
        elif model is None:
            raise InvalidArgumentError(
                f"model must be given unless env is a hazard grid: {type(grid).__name__} does not "
                "say which of its states are charged. Make one with import_gymnasium(env, ...)"
                ".with_private_costs(...)"
            )
        else:
            self._price = model.cost_at(release) if isinstance(model, TabularCMDP) else None
            self._tightened = _tightened(model, release)
            self._check_spaces(model)

    def _check_spaces(self, model: ParametricCMDP) -> None:
        sizes = (model.public.num_states,)
        if isinstance(model, TabularCMDP):
            sizes = (model.source.num_states, *sizes)
        _check_size("observation_space", self.env.observation_space, sizes)
        _check_size("action_space", self.env.action_space, (model.public.num_actions,))

    @property
    def tolerance(self) -> FloatArray:
        """Released tolerance of each kind, certainly at most the true one."""
        return _check.frozen(self._tightened.f0.copy())

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[int, dict[str, Any]]:
        self._state, info = self.env.reset(seed=seed, options=options)
        return self._state, info

    def step(self, action: int) -> tuple[int, Any, bool, bool, dict[str, Any]]:
        before = self._state if self._grid is None else self._grid.state
        observation, reward, terminated, truncated, info = self.env.step(action)
        self._state = observation
        cost = self._cost(before, action, observation)
        return observation, reward, terminated, truncated, {**info, "cost": cost}

    def _cost(self, before: int, action: int, after: int) -> float | FloatArray:
        if self._grid is not None:
            return cost_at(self._costs, before)
        if self._price is not None:
            return self._price(before, action, after)
        return cost_at(self._tightened.f[:, :, action], before)

    def render(self) -> Any:
        if self._grid is None:
            return self.env.render()
        if self.render_mode is None:
            return self._grid.render()
        picture: Image | str | None = self._grid.picture(self._costs, hatched=True)
        return picture


class SixTupleWrapper(gym.Wrapper[Any, Any, Any, Any], gym.utils.RecordConstructorArgs):
    """``step`` as Safety-Gymnasium and OmniSafe have it, with the cost beside the reward.

    (observation, reward, cost, terminated, truncated, info), where cost is a float.

    Parameters
    ----------
    env : gymnasium.Env
        One that reports ``info["cost"]``, such as a :class:`PrivateCostWrapper`.
    kind : int, optional
        Of several kinds of cost the one to report, counted from 0.

    Notes
    -----
    **Privacy.** *Post-processing* of what `env` reports.

    Examples
    --------
    >>> import gymnasium as gym
    >>> from dp_cmdp.envs import SixTupleWrapper
    >>> env = SixTupleWrapper(gym.make("dp_cmdp/HazardGridCorridor-v0"))
    >>> observation, info = env.reset(seed=0)
    >>> observation, reward, cost, terminated, truncated, info = env.step(2)
    >>> reward, cost
    (-1.0, 0.0)
    """

    @door
    def __init__(self, env: gym.Env[Any, Any], kind: int | None = None) -> None:
        gym.utils.RecordConstructorArgs.__init__(self, _disable_deepcopy=True, kind=kind)
        super().__init__(env)
        self._kind = None if kind is None else _check.integer("kind", kind, high=10**6)

    def step(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, action: Any
    ) -> tuple[Any, Any, float, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(action)
        if "cost" not in info:
            raise InvalidArgumentError(
                'env must report info["cost"]; put a PrivateCostWrapper around it'
            )
        costs = _check.array('info["cost"]', info["cost"]).ravel()
        kind = 0 if self._kind is None and costs.size == 1 else self._kind
        if kind is None or kind >= costs.size:
            raise InvalidArgumentError(
                f"kind must say which of the {costs.size} costs to report, 0 to {costs.size - 1}"
            )
        return observation, reward, float(costs[kind]), terminated, truncated, info


def _grid_costs(grid: HazardGridEnv, release: Release | None) -> FloatArray:
    if grid.access != PUBLIC:
        raise PrivacyLeakError(
            "env must be public: a learner could reach the database of a curator's environment"
        )
    if release is None:
        return grid.grid_model.worst_cost_table()
    if release.method != "database" or release.groups != grid.layout.envelope().groups:
        raise InvalidArgumentError(
            "release must be a release of this environment's database: its groups are "
            f"{release.groups}, those of the layout {grid.layout.envelope().groups}"
        )
    return grid.grid_model.cost_table(release.group("severity")["upper"])


def _tightened(model: ParametricCMDP, release: Release | None) -> Any:
    return model.robust() if release is None else model.tightened(release)


def _check_size(name: str, space: Any, sizes: tuple[int, ...]) -> None:
    if not isinstance(space, gym.spaces.Discrete) or space.start != 0 or space.n not in sizes:
        found = f"Discrete({space.n})" if isinstance(space, gym.spaces.Discrete) else space
        raise InvalidArgumentError(
            f"env must have the {name} Discrete({sizes[0]}) of the model, got {found}; "
            "envs.StateObservation(env, model) observes the states of a model"
        )
