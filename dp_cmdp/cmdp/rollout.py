"""Playing a policy in an environment.

An episode gives G = Σ_t γ^t r_t and, for each constraint, Σ_t γ^t c_t, where c_t is the cost of
the pair (s_t, a_t). Means over episodes estimate what :mod:`dp_cmdp.cmdp.evaluation` computes.

**Truncation.** An episode cut off at step H, by a time limit or by `max_steps`, leaves out
Σ_{t≥H} γ^t r_t, at most γ^H·max|r|/(1 − γ) in size. Each episode reports its γ^H as `tail` (0 if it
terminated by itself), so the bias of a mean is at most ``tail_weight``·max|r|/(1 − γ).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dp_cmdp import _check
from dp_cmdp._check import FloatArray
from dp_cmdp._door import door
from dp_cmdp._student import half_width
from dp_cmdp.cmdp.cost_function import CostFunction, cost_reader
from dp_cmdp.cmdp.policy import Policy
from dp_cmdp.errors import InvalidArgumentError

if TYPE_CHECKING:
    import pandas

#: Without `max_steps`, episodes are cut where γ^H falls below this.
NEGLIGIBLE_TAIL = 1e-6

Act = Callable[[Any], Any]
Episode = tuple[float, FloatArray, int, float]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Rollout:
    """Discounted returns and costs, one entry per episode.

    Attributes
    ----------
    returns : (episodes,)
    costs : (episodes, K)
        K = 0 when the environment reports no cost and none was given.
    lengths : (episodes,) int
    tail : (episodes,)
        γ^length where the episode was cut off, 0 where it terminated.
    gamma : float

    Examples
    --------
    >>> import gymnasium as gym
    >>> from dp_cmdp import Policy, rollout
    >>> env = gym.make("dp_cmdp/HazardGridCorridor-v0")
    >>> policy = Policy.uniform(env.observation_space.n, env.action_space.n)
    >>> played = rollout(env, policy, episodes=3, seed=0, gamma=0.9, max_steps=20)
    >>> played.to_frame().columns.tolist()
    ['episode', 'return', 'cost_0', 'length', 'tail']
    """

    returns: FloatArray
    costs: FloatArray
    lengths: NDArray[np.int64]
    tail: FloatArray
    gamma: float

    @property
    def mean_return(self) -> float:
        return float(self.returns.mean())

    @property
    def mean_costs(self) -> FloatArray:
        return self.costs.mean(axis=0)

    @property
    def tail_weight(self) -> float:
        """Mean tail; times max|r|/(1 − γ) it bounds the bias of the mean return."""
        return float(self.tail.mean())

    @door
    def return_interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Student's t-interval of the mean return.

        Examples
        --------
        >>> import gymnasium as gym
        >>> from dp_cmdp import Policy, rollout
        >>> env = gym.make("dp_cmdp/HazardGridCorridor-v0")
        >>> policy = Policy.uniform(env.observation_space.n, env.action_space.n)
        >>> played = rollout(env, policy, episodes=5, seed=0, gamma=0.9, max_steps=20)
        >>> low, high = played.return_interval()
        >>> low <= played.mean_return <= high
        True
        """
        low, high = _interval(self.returns[:, None], confidence)[0]
        return float(low), float(high)

    @door
    def cost_intervals(self, confidence: float = 0.95) -> FloatArray:
        """Student's t-intervals of the mean costs, (K, 2)."""
        return _interval(self.costs, confidence)

    @door
    def to_frame(self, names: Sequence[str] | None = None) -> pandas.DataFrame:
        """One row per episode: episode, return, cost_0 …, length, tail.

        Parameters
        ----------
        names : sequence of str, optional
            Of the costs, as in ``model.names``, for their columns.
        """
        import pandas

        own = ("episode", "return", "length", "tail")
        K = self.costs.shape[1]
        called = (
            tuple(f"cost_{i}" for i in range(K)) if names is None else _check.names("names", names)
        )
        if len(called) != K or len({*called, *own}) < K + len(own):
            raise InvalidArgumentError(
                f"names must hold {K} distinct names, one per cost, none of {', '.join(own)}"
            )
        columns: dict[str, Any] = {"episode": np.arange(self.returns.size), "return": self.returns}
        columns |= {name: self.costs[:, i] for i, name in enumerate(called)}
        return pandas.DataFrame(columns | {"length": self.lengths, "tail": self.tail})

    def __repr__(self) -> str:
        with np.printoptions(precision=6, threshold=6):
            return (
                f"Rollout(episodes={self.returns.size}, mean_return={self.mean_return:.6g}, "
                f"mean_costs={self.mean_costs}, tail_weight={self.tail_weight:.2g})"
            )


@door
def rollout(
    env: Any,
    policy: Any,
    *,
    episodes: int,
    seed: int,
    gamma: float,
    max_steps: int | None = None,
    cost: CostFunction | None = None,
    progress: bool = False,
) -> Rollout:
    """Play `policy` in `env` for a number of episodes.

    Parameters
    ----------
    env : gymnasium.Env or gymnasium.vector.VectorEnv
        Observations are state indices if `policy` is a :class:`Policy`. A vector environment must
        reset at the next step (Gymnasium's default).
    policy : Policy or any object with ``predict(observation) -> (action, state)``
        A :class:`Policy` draws from `seed`; other objects bring their own randomness.
    episodes : int
    seed : int
        Seeds the environment's first reset and, independently, the policy's draws.
    gamma : float
        Discount, in [0, 1].
    max_steps : int, optional
        Cut episodes off here; by default where γ^H ≤ 10⁻⁶.
    cost : callable, optional
        ``cost(state, action[, next_state])``; by default ``info["cost"]`` of each step.
    progress : bool
        Show a bar.

    Notes
    -----
    **Privacy.** *Curator only* where the environment holds the true hazards: costs depend on them.

    Examples
    --------
    >>> import gymnasium as gym
    >>> from dp_cmdp import Policy, rollout
    >>> env = gym.make("dp_cmdp/HazardGridCorridor-v0")
    >>> policy = Policy.uniform(env.observation_space.n, env.action_space.n)
    >>> played = rollout(env, policy, episodes=3, seed=0, gamma=0.9, max_steps=20)
    >>> played.returns.shape, played.costs.shape
    ((3,), (3, 1))
    """
    from tqdm import tqdm

    discount = _check.real("gamma", gamma, low=0.0, high=1.0)
    count = _check.size("episodes", episodes, low=1)
    limit = _limit(max_steps, discount)
    seed = _check.seed("seed", seed)
    act = _actor(policy, seed)
    price = None if cost is None else cost_reader(cost)
    if not (hasattr(env, "reset") and hasattr(env, "step")):
        raise InvalidArgumentError(
            f"env must be a Gymnasium environment with reset and step, got {type(env).__name__}"
        )
    play = _vector_episodes if hasattr(env, "num_envs") else _episodes
    stream = play(env, act, seed=seed, gamma=discount, limit=limit, price=price)
    look = {"total": count, "desc": "episodes", "unit": "ep", "disable": not progress}
    returns, costs, lengths, tails = zip(*tqdm(islice(stream, count), **look), strict=True)
    if len({len(c) for c in costs}) != 1:
        raise InvalidArgumentError('env must report info["cost"] with the same size at every step')
    return Rollout(
        returns=_check.frozen(np.array(returns)),
        costs=_check.frozen(np.array(costs, dtype=np.float64).reshape(count, -1)),
        lengths=_check.frozen(np.array(lengths, dtype=np.int64)),
        tail=_check.frozen(np.array(tails)),
        gamma=discount,
    )


def _episodes(
    env: Any, act: Act, *, seed: int, gamma: float, limit: int, price: Any
) -> Iterator[Episode]:
    state, _ = parts("reset", env.reset(seed=seed), 2)
    while True:
        total, spent, weight, length, ended, truncated = 0.0, 0.0, 1.0, 0, False, False
        while length < limit and not (ended or truncated):
            action = act(state)
            successor, reward, ended, truncated, info = parts("step", env.step(action), 5)
            ended = _check.truth("terminated", ended)
            truncated = _check.truth("truncated", truncated)
            step = price(state, action, successor) if price else _reported(info)
            total, spent = total + weight * _check.number("reward", reward), spent + weight * step
            weight, length, state = weight * gamma, length + 1, successor
        yield total, np.asarray(spent), length, 0.0 if ended else weight
        state, _ = parts("reset", env.reset(), 2)


def _vector_episodes(
    envs: Any, act: Act, *, seed: int, gamma: float, limit: int, price: Any
) -> Iterator[Episode]:
    """The first episode of every sub-environment after each reset of all of them."""
    mode = getattr(envs, "metadata", {}).get("autoreset_mode")
    if mode is not None and mode.name != "NEXT_STEP":
        raise InvalidArgumentError(
            f"env must be a vector environment that resets at the next step, got {mode.name}"
        )
    states, _ = parts("reset", envs.reset(seed=seed), 2)
    while True:
        total, spent, weight = np.zeros(envs.num_envs), np.zeros((envs.num_envs, 1)), 1.0
        length = np.zeros(envs.num_envs, dtype=np.int64)
        tail, running = np.zeros(envs.num_envs), np.ones(envs.num_envs, dtype=bool)
        for _ in range(limit):
            actions = act(states)
            successors, rewards, terminated, truncated, info = parts("step", envs.step(actions), 5)
            if price:
                step = np.array([price(*x) for x in zip(states, actions, successors, strict=True)])
            else:
                step = np.asarray(_reported(info)).reshape(envs.num_envs, -1)
            total += np.where(running, weight * rewards, 0.0)
            spent = spent + np.where(running[:, None], weight * step, 0.0)  # (num_envs, K)
            weight, length, states = weight * gamma, length + running, successors
            tail[running] = np.where(terminated, 0.0, weight)[running]
            running &= ~(terminated | truncated)
            if not running.any():
                break
        yield from zip(total.tolist(), spent, length.tolist(), tail.tolist(), strict=True)
        states, _ = parts("reset", envs.reset(), 2)


def parts(method: str, said: Any, count: int) -> tuple[Any, ...]:
    """What a method of an environment returned, if it has as many parts as Gymnasium says."""
    if not isinstance(said, tuple) or len(said) != count:
        what = "info" if count == 2 else "reward, terminated, truncated, info"
        raise InvalidArgumentError(
            f"env must be Gymnasium's: {method} returns (observation, {what})"
        )
    return said


def _reported(info: Any) -> FloatArray:
    if not _check.is_mapping(info):
        raise InvalidArgumentError(f"info must be a mapping, got {type(info).__name__}")
    return np.atleast_1d(_check.array('info["cost"]', info.get("cost", ())))


def _actor(policy: Any, seed: int) -> Act:
    if isinstance(policy, Policy):
        rng = np.random.default_rng(np.random.SeedSequence(seed).spawn(1)[0])
        return lambda observation: policy.sample(observation, rng)
    if not hasattr(policy, "predict"):
        raise InvalidArgumentError(
            f"policy must be a Policy or have predict(observation), got {type(policy).__name__}"
        )
    return lambda observation: policy.predict(observation)[0]


def _limit(max_steps: int | None, gamma: float) -> int:
    if max_steps is not None:
        return _check.size("max_steps", max_steps, low=1)
    if gamma == 1.0:
        raise InvalidArgumentError("max_steps must be given when gamma is 1")
    return 1 if gamma == 0.0 else max(1, math.ceil(math.log(NEGLIGIBLE_TAIL) / math.log(gamma)))


def _interval(samples: FloatArray, confidence: float) -> FloatArray:
    level = _check.real("confidence", confidence, low=0.0, high=1.0)
    if samples.shape[0] < 2:
        raise InvalidArgumentError("an interval needs at least two episodes, got 1")
    mean, half = samples.mean(axis=0), half_width(samples, level)
    return np.stack([mean - half, mean + half], axis=1)
