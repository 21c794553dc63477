"""Wrappers: costs that learners may see, and observations that policies of a model understand."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

from dp_cmdp._src.base import validation as check
from dp_cmdp._src.base.errors import InvalidArgumentError, PrivacyLeakError
from dp_cmdp._src.base.validation import FloatArray, validated
from dp_cmdp._src.cmdp.certificate import worst_databases
from dp_cmdp._src.cmdp.parametric import ParametricCMDP
from dp_cmdp._src.cmdp.rollout import StepCosts
from dp_cmdp._src.data.envelope import UncertaintySet
from dp_cmdp._src.frontends.gymnasium.load import EnvironmentCMDP
from dp_cmdp._src.release.release import Release


def worst_costs(problem: ParametricCMDP, known: UncertaintySet) -> StepCosts:
    """What a step costs, for each constraint at a worst database of the set."""
    if known.is_box:  # one for every policy
        rows = problem.rows
        theta = np.tile(known.lower, (len(problem.names), 1))
        up = rows.sign >= 0
        theta[rows.row[up], rows.entry[up]] = known.upper[rows.entry[up]]
        return StepCosts.of(problem, theta, "costs of the worst database of the set")
    policy = problem.answer(known).policy
    databases = worst_databases(problem.mdp, problem.rows, policy, known)
    charged = "costs of the worst database of the set for the policy certified for it"
    return StepCosts.of(problem, databases, charged)


class Following(gym.Wrapper[Any, Any, Any, Any]):
    """An agent's environment, and the state of a problem's model that it is in."""

    def __init__(self, env: Any, problem: ParametricCMDP) -> None:
        if hasattr(env, "num_envs") or not isinstance(env, gym.Env):
            raise InvalidArgumentError(
                "env must be one gymnasium.Env; of a vector environment wrap every environment: "
                "gymnasium.make_vec(…, wrappers=[…])"
            )
        super().__init__(env)
        if getattr(env.unwrapped, "access", None) == "curator":
            raise PrivacyLeakError(
                "env must be an agent's: a learner could reach the database of a curator's"
            )
        self._environment = getattr(problem, "environment", None)
        self.problem, self._state = problem, 0
        check_size("action_space", env.action_space, problem.num_actions)
        if self._environment is None:
            sizes = problem.num_states, problem.num_states - 1  # a state after the end
            check_size("observation_space", env.observation_space, *sizes)

    def _state_of(self, observation: Any) -> int:
        if self._environment is None:
            return int(observation)
        return self._environment.state_of(self.env, observation)


class ReleasedCosts(Following, gym.utils.RecordConstructorArgs):
    """Report in ``info["cost"]`` what a step costs at the worst database that a release allows.

    Parameters
    ----------
    env : gymnasium.Env
        What the problem was loaded from, or another one made alike, under any number of wrappers; a
        hazard grid of an agent; or one that observes the states of the problem.
    problem : ParametricCMDP
        The model whose costs are released.
    release : Release, optional
        Of the problem's database. Without one, the worst database within the public bounds.

    Attributes
    ----------
    limit : float array
        A certain lower bound of each limit.
    cost_limit : float or float array
        The same, a number where there is one: where safe-RL libraries look for it.

    Raises
    ------
    InvalidArgumentError
        If env has other states or actions than the problem, or the release is of another envelope.
    PrivacyLeakError
        If env is a curator's: a learner could reach its database.

    Notes
    -----
    Within bounds alone, one database is the worst for every policy. Where linear queries were
    released, no database has all entries at their upper ends: the costs are those of the worst
    database for the policy that is certified for the release, and ``repr`` says so. Whatever a
    learner finds is proved with ``certify(problem, policy, release)``. A cost that `env` itself
    reports is replaced; ``info["cost_sum"]`` is the sum over the kinds of cost in this step.
    **Privacy.** *Post-processing* of the release, however long a learner trains.

    Examples
    --------
    >>> import gymnasium as gym
    >>> import dp_cmdp as dp
    >>> holes = dp.PrivateCost(states=[5, 7], on="entering", cost=dp.Envelope(0, 1), limit=0.3)
    >>> model = dp.gymnasium.load("FrozenLake-v1", gamma=0.9, costs=holes)
    >>> env = dp.gymnasium.ReleasedCosts(gym.make("FrozenLake-v1"), model)
    >>> observation, info = env.reset(seed=0)
    >>> env.step(1)[-1]["cost"]
    0.0
    """

    @validated
    def __init__(self, env: Any, problem: ParametricCMDP, release: Release | None = None) -> None:
        gym.utils.RecordConstructorArgs.__init__(
            self, _disable_deepcopy=True, problem=problem, release=release
        )
        super().__init__(env, problem)
        if release is not None and release.envelope != problem.envelope:
            raise InvalidArgumentError(
                "release must be of the problem's envelope; it is of another database"
            )
        known = problem.envelope.uncertainty if release is None else release.uncertainty
        self._price, self.release = worst_costs(problem, known), release
        self.limit = check.frozen(problem.worst(known).limit)
        self.cost_limit = alone(self.limit)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        observation, info = self.env.reset(seed=seed, options=options)
        self._state = self._state_of(observation)
        return observation, info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        before = self._state
        observation, reward, terminated, truncated, info = self.env.step(action)
        self._state = self._state_of(observation)
        costs = self._price(before, int(action), self._state)
        told = {"cost": alone(costs), "cost_sum": float(costs.sum())}
        return observation, reward, terminated, truncated, {**info, **told}

    def render(self) -> Any:
        # of a hazard grid, candidates in the colour of their costs
        draw = getattr(self.env.unwrapped, "_picture", None)
        if draw is None or self.render_mode is None:
            return self.env.render()
        return draw(self._price.taken[:, :, 0], hatched=True)

    def __repr__(self) -> str:
        return f"<ReleasedCosts{self.env}, {self._price.charged}>"

    __str__ = __repr__


class StateObservation(gym.Wrapper[int, int, Any, int], gym.utils.RecordConstructorArgs):
    """Observe the number of the state, as policies of a loaded model do.

    Parameters
    ----------
    env : gymnasium.Env
        What the model was loaded from, or another one made alike.
    model : ParametricCMDP
        Made by :func:`load`.

    Raises
    ------
    InvalidArgumentError
        If env has other actions than the model, or enters a state that the model does not have.

    Notes
    -----
    ``reset`` always makes what was loaded: where the model was explored from a seed, with that
    seed. **Privacy.** *Public*.

    Examples
    --------
    >>> import gymnasium as gym
    >>> import dp_cmdp as dp
    >>> model = dp.gymnasium.load("CliffWalking-v1", gamma=0.9)
    >>> env = dp.gymnasium.StateObservation(gym.make("CliffWalking-v1"), model)
    >>> env.reset(seed=0)[0]
    36
    """

    @validated
    def __init__(self, env: Any, model: EnvironmentCMDP) -> None:
        gym.utils.RecordConstructorArgs.__init__(self, _disable_deepcopy=True, model=model)
        super().__init__(env)
        self._known = model.environment
        check_size("action_space", env.action_space, model.num_actions)
        states: Any = gym.spaces.Discrete(self._known.num_states)
        self.observation_space = states

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[int, dict[str, Any]]:
        drawn = seed if self._known.seed is None else self._known.seed
        observation, info = self.env.reset(seed=drawn, options=options)
        return self._known.state_of(self.env, observation), info

    def step(self, action: int) -> tuple[int, Any, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(action)
        state = self._known.state_of(self.env, observation)
        return state, reward, terminated, truncated, info


def alone(numbers: FloatArray) -> float | FloatArray:
    """One number as a float, several as they are."""
    return float(numbers[0]) if numbers.size == 1 else numbers


def check_size(name: str, space: Any, *sizes: int) -> None:
    """Refuse a space that is not Discrete of one of these sizes."""
    if not isinstance(space, gym.spaces.Discrete) or space.start != 0 or space.n not in sizes:
        found = f"Discrete({space.n})" if isinstance(space, gym.spaces.Discrete) else space
        raise InvalidArgumentError(
            f"env must have the {name} Discrete({sizes[0]}) of the problem, got {found}; "
            "StateObservation(env, model) observes the states of a model that was loaded"
        )
