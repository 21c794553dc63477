"""Playing a policy in an environment.

An episode gives G = Σ_t γ^t r_t and, for each constraint, Σ_t γ^t c_t, where c_t is the cost of the
step at time t. Means over episodes estimate what :mod:`dp_cmdp._src.cmdp.evaluate` computes.

**What is charged.** The upper ends of all private costs together are, after linear queries, no
database that the release allows: charged with them, a policy that is certified at 3 may seem to
cost 6. An answer is charged, for each constraint, with the database of its set in which it has
least left of the limit, so that mean costs are comparable with the limit that was certified.

**Horizons.** Where the criterion has one, an episode is over after that many steps, and nothing is
left out; a policy that knows the time is told it.

**Truncation.** An episode cut off at step H, by a time limit or by `max_steps`, leaves out
Σ_{t≥H} γ^t r_t, at most γ^H·max|r|/(1 − γ) in size. Each episode reports its γ^H as `tail` (0 if it
terminated by itself), so the bias of a mean is at most ``tail_weight``·max|r|/(1 − γ).
"""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dp_cmdp._src.base import validation as check
from dp_cmdp._src.base.errors import InvalidArgumentError
from dp_cmdp._src.base.validation import FloatArray, validated
from dp_cmdp._src.cmdp.answer import PolicyAnswer
from dp_cmdp._src.cmdp.charges import ACTING, ENTERING
from dp_cmdp._src.cmdp.model import Criterion
from dp_cmdp._src.cmdp.policy import Policy

if TYPE_CHECKING:
    import pandas

    from dp_cmdp._src.cmdp.parametric import ParametricCMDP

#: Without `max_steps`, episodes are cut where γ^H falls below this.
NEGLIGIBLE_TAIL = 1e-6
REPORTED = 'costs as env reports them in info["cost"]'
GIVEN = "costs as given"

Act = Callable[[Any, int], Any]
Price = Callable[[Any, Any, Any], FloatArray]
Episode = tuple[float, FloatArray, int, float]


class _Rules(NamedTuple):
    """How episodes are played, cut off and summed."""

    act: Act
    state_of: Callable[[Any], Any]
    seed: int
    gamma: float
    limit: int
    price: Price | None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class StepCosts:
    """``cost(state, action, next_state)``: one number per constraint, at known databases.

    `taken` (K, states, actions) is paid for acting, `entered` (K, states) for entering.
    """

    taken: FloatArray
    entered: FloatArray
    charged: str

    @classmethod
    def of(cls, problem: ParametricCMDP, databases: FloatArray, charged: str) -> StepCosts:
        """The costs of constraint i at the i-th database."""
        taken = np.zeros((len(databases), *problem.mdp.r.shape))
        entered = np.zeros(taken.shape[:2])
        parts = zip(problem.constraints.candidates, problem.constraints.prices, strict=True)
        for row, (places, prices) in enumerate(parts):
            if places is None or prices is None:
                table = problem.cost.at(databases[row])[[row]].toarray()
                taken[row] = table.reshape(problem.mdp.r.shape)
                continue
            price = np.asarray(prices.at(databases[row]))[places.owner]
            if places.on == ENTERING:
                entered[row, places.states] = price
            elif places.on == ACTING:
                taken[row, places.states, places.actions] = price
            else:
                taken[row, places.states] = price[:, None]
        return cls(check.frozen(taken), check.frozen(entered), charged)

    @classmethod
    def worst(cls, answer: PolicyAnswer) -> StepCosts:
        """The costs of the worst databases for an answer's policy."""
        which = "the envelope" if answer.release is None else "the release"
        charged = f"costs of the worst database of {which} for this policy"
        return cls.of(answer.problem, answer.worst_databases(), charged)

    def __call__(self, state: int, action: int, next_state: int) -> FloatArray:
        return self.taken[:, state, action] + self.entered[:, next_state]

    def __repr__(self) -> str:
        return f"StepCosts({self.charged})"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Rollout:
    """Returns and costs, discounted by γ^t, one entry per episode.

    Attributes
    ----------
    returns : (episodes,)
    costs : (episodes, K)
        K = 0 when the environment reports no cost and none was given.
    lengths : (episodes,) int
    tail : (episodes,)
        γ^length where the episode was cut off, 0 where it terminated.
    gamma : float
    charged : str
        Which costs these are.
    names : tuple of str
        Of the costs.
    """

    returns: FloatArray
    costs: FloatArray
    lengths: NDArray[np.int64]
    tail: FloatArray
    gamma: float
    charged: str
    names: tuple[str, ...]

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

    def return_interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Student's t-interval of the mean return."""
        low, high = _interval(self.returns[:, None], confidence)[0]
        return float(low), float(high)

    def cost_intervals(self, confidence: float = 0.95) -> FloatArray:
        """Student's t-intervals of the mean costs, (K, 2)."""
        return _interval(self.costs, confidence)

    def to_frame(self) -> pandas.DataFrame:
        """One row per episode: episode, return, the costs by name, length, tail."""
        import pandas

        columns: dict[str, Any] = {"episode": np.arange(self.returns.size), "return": self.returns}
        columns |= {name: self.costs[:, i] for i, name in enumerate(self.names)}
        return pandas.DataFrame(columns | {"length": self.lengths, "tail": self.tail})

    def __repr__(self) -> str:
        with np.printoptions(precision=6, threshold=6):
            costs = f"mean_costs={self.mean_costs} ({self.charged}), " if self.names else ""
            return (
                f"Rollout(episodes={self.returns.size}, mean_return={self.mean_return:.6g}, "
                f"{costs}tail_weight={self.tail_weight:.2g})"
            )


@validated
def rollout(
    env: Any,
    policy: Any,
    *,
    episodes: int = 100,
    seed: int = 0,
    gamma: float | None = None,
    cost: Any = None,
    max_steps: int | None = None,
) -> Rollout:
    """Play a policy in an environment for a number of episodes.

    Parameters
    ----------
    env : gymnasium.Env, gymnasium.vector.VectorEnv or str
        Observations are states of the model, or what :func:`dp_cmdp.gymnasium.load` read them
        from. A vector environment must reset at the next step (Gymnasium's default).
    policy : PolicyAnswer, Policy or any object with ``predict(observation) -> (action, state)``
        An answer or a policy draws from `seed`; other objects bring their own randomness.
    episodes : int
        How many episodes to play.
    seed : int
        Seeds the environment's first reset and, independently, the policy's draws.
    gamma : float, optional
        Discount, in [0, 1]; by default that of the answer's problem, or 1 for a policy that knows
        the time.
    cost : callable or "reported", optional
        ``cost(state, action[, next_state])``, a number or one per constraint; or what the
        environment reports in ``info["cost"]``. By default an answer is charged, per constraint,
        with the worst database of its release for its policy, which the result says; anything else
        as reported.
    max_steps : int, optional
        Cut episodes off here; by default after the horizon, or where γ^H ≤ 10⁻⁶. Totals are played
        until the episode ends.

    Returns
    -------
    Rollout
        Means of return and costs over the episodes, with their spread.

    Raises
    ------
    InvalidArgumentError
        If an argument is none of these, or the environment is not Gymnasium's.

    Notes
    -----
    **Privacy.** *Curator only* where the environment holds private numbers and reports costs made
    of them; otherwise *post-processing*.

    Examples
    --------
    >>> import dp_cmdp as dp
    >>> played = dp.rollout("FrozenLake-v1", dp.Policy.uniform(16, 4), episodes=3, gamma=0.9)
    >>> played.returns.shape, played.costs.shape
    ((3,), (3, 0))
    """
    found = policy if isinstance(policy, PolicyAnswer) else None
    whole = _criterion(gamma, policy)
    discount, horizon = whole.gamma, whole.horizon
    count, limit = check.size("episodes", episodes, low=1), _limit(max_steps, whole, gamma)
    seed, source = check.seed("seed", seed), _opened(env)
    price, charged = _price(cost, found)
    table = policy if found is None else found.policy
    if found is None or getattr(found.problem, "environment", None) is None:
        _refuse_other_states(source, table)
    act = _actor(table, seed)
    play = _vector_episodes if hasattr(source, "num_envs") else _episodes
    state_of = _state_of(source, found)
    stream = play(source, _Rules(act, state_of, seed, discount, limit, price))
    returns, costs, lengths, tails = zip(*islice(stream, count), strict=True)
    tails = np.array(tails) * (horizon is None or np.array(lengths) < horizon)
    if len({len(c) for c in costs}) != 1:
        raise InvalidArgumentError('env must report info["cost"] with the same size at every step')
    paid = np.array(costs, dtype=np.float64).reshape(count, -1)
    K = paid.shape[1]
    names = () if found is None else found.problem.names
    return Rollout(
        returns=check.frozen(np.array(returns)),
        costs=check.frozen(paid),
        lengths=check.frozen(np.array(lengths, dtype=np.int64)),
        tail=check.frozen(tails),
        gamma=discount,
        charged=charged,
        names=names if len(names) == K else tuple(f"cost_{i}" for i in range(K)),
    )


def _opened(env: Any) -> Any:
    if isinstance(env, str):
        import gymnasium

        return gymnasium.make(env)
    if not (hasattr(env, "reset") and hasattr(env, "step")):
        raise InvalidArgumentError(
            f"env must be a Gymnasium environment with reset and step, or the id of one, got "
            f"{type(env).__name__}"
        )
    return env


def _refuse_other_states(env: Any, policy: Any) -> None:
    """Refuse to play a table in an environment with another number of states.

    A table may have one state more than the environment: the one after an episode's end.
    """
    space = getattr(env, "single_observation_space", getattr(env, "observation_space", None))
    size = getattr(space, "n", None)
    if size is None or not isinstance(policy, Policy):
        return
    if policy.num_states - int(size) not in (0, 1):
        raise InvalidArgumentError(
            f"env must have the states of the policy: it has {size}, the policy "
            f"{policy.num_states}; pass the environment that the model is of"
        )


def _price(cost: Any, found: PolicyAnswer | None) -> tuple[Price | None, str]:
    """What a step costs, None where the environment says it, and whose costs these are."""
    if cost is None and found is not None:
        worst = StepCosts.worst(found)
        return worst, worst.charged
    if cost is None or (isinstance(cost, str) and cost == "reported"):
        return None, REPORTED
    if isinstance(cost, StepCosts):
        return cost, cost.charged
    if not callable(cost):
        raise InvalidArgumentError(
            f"cost must be a function of a step or 'reported', got {type(cost).__name__}"
        )
    return cost_reader(cost), GIVEN


def cost_reader(cost: Callable[..., Any]) -> Price:
    """A cost function of two or three arguments as one of (state, action, next_state)."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    try:
        parameters = inspect.signature(cost).parameters.values()
    except (TypeError, ValueError):
        parameters = ()  # a built-in function that does not say
    arguments = sum(p.kind in kinds and p.default is p.empty for p in parameters)
    if arguments not in (2, 3):
        raise InvalidArgumentError(
            "cost must take two arguments (state, action) or three (state, action, next_state), "
            f"got {arguments}"
        )

    def read(state: Any, action: Any, successor: Any) -> FloatArray:
        given = (state, action, successor)[:arguments]
        return check.vector("cost(...)", np.atleast_1d(check.array("cost(...)", cost(*given))))

    return read


def _state_of(env: Any, found: PolicyAnswer | None) -> Callable[[Any], Any]:
    """The state that an observation shows."""
    known = None if found is None else getattr(found.problem, "environment", None)
    if known is None or hasattr(env, "num_envs"):
        return lambda observation: observation
    return lambda observation: known.state_of(env, observation)


def _episodes(env: Any, rules: _Rules) -> Iterator[Episode]:
    act, state_of, seed, gamma, limit, price = rules
    state = state_of(parts("reset", env.reset(seed=seed), 2)[0])
    while True:
        total, weight, length, ended, truncated = 0.0, 1.0, 0, False, False
        spent: Any = 0.0
        while length < limit and not (ended or truncated):
            action = act(state, length)
            seen, reward, ended, truncated, info = parts("step", env.step(action), 5)
            ended = check.truth("terminated", ended)
            truncated = check.truth("truncated", truncated)
            successor = state_of(seen)
            step = price(state, action, successor) if price else _reported(info)
            total, spent = total + weight * check.number("reward", reward), spent + weight * step
            weight, length, state = weight * gamma, length + 1, successor
        yield total, np.asarray(spent), length, 0.0 if ended else weight
        state = state_of(parts("reset", env.reset(), 2)[0])


def _vector_episodes(envs: Any, rules: _Rules) -> Iterator[Episode]:
    """The first episode of every sub-environment after each reset of all of them."""
    act, state_of, seed, gamma, limit, price = rules
    mode = getattr(envs, "metadata", {}).get("autoreset_mode")
    if mode is not None and mode.name != "NEXT_STEP":
        raise InvalidArgumentError(
            f"env must be a vector environment that resets at the next step, got {mode.name}"
        )
    states = state_of(parts("reset", envs.reset(seed=seed), 2)[0])
    while True:
        total, spent, weight = np.zeros(envs.num_envs), np.zeros((envs.num_envs, 1)), 1.0
        length = np.zeros(envs.num_envs, dtype=np.int64)
        tail, running = np.zeros(envs.num_envs), np.ones(envs.num_envs, dtype=bool)
        for t in range(limit):
            actions = act(states, t)
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
        states = state_of(parts("reset", envs.reset(), 2)[0])


def parts(method: str, given: Any, count: int) -> tuple[Any, ...]:
    """What a method of an environment returned, if it has as many parts as Gymnasium says."""
    if not isinstance(given, tuple) or len(given) != count:
        what = "info" if count == 2 else "reward, terminated, truncated, info"
        raise InvalidArgumentError(
            f"env must be Gymnasium's: {method} returns (observation, {what})"
        )
    return given


def _reported(info: Any) -> FloatArray:
    if not check.is_mapping(info):
        raise InvalidArgumentError(f"info must be a mapping, got {type(info).__name__}")
    return np.atleast_1d(check.array('info["cost"]', info.get("cost", ())))


def _actor(policy: Any, seed: int) -> Act:
    if isinstance(policy, Policy):
        rng = np.random.default_rng(np.random.SeedSequence(seed).spawn(1)[0])
        if policy.horizon is None:
            return lambda observation, t: policy.sample(observation, rng)
        return lambda observation, t: policy.sample(
            observation, rng, np.full(np.shape(observation), t)
        )
    if not hasattr(policy, "predict"):
        raise InvalidArgumentError(
            f"policy must be an answer, a Policy or have predict(observation), got "
            f"{type(policy).__name__}"
        )
    return lambda observation, t: policy.predict(observation)[0]


def _criterion(gamma: float | None, policy: Any) -> Criterion:
    """What is summed: of an answer as its problem says, unless another discount is asked for."""
    if isinstance(policy, PolicyAnswer) and gamma is None:
        return policy.problem.criterion
    own = policy.policy if isinstance(policy, PolicyAnswer) else policy
    horizon = own.horizon if isinstance(own, Policy) else None
    if gamma is None and horizon is None:
        raise InvalidArgumentError("gamma must be given for a policy that is no answer")
    return Criterion(1.0 if gamma is None else check.real("gamma", gamma, low=0, high=1), horizon)


def _limit(max_steps: int | None, whole: Criterion, asked: float | None) -> int:
    gamma, horizon = whole.gamma, whole.horizon
    if max_steps is not None:
        return check.size("max_steps", max_steps, low=1)
    if horizon is not None:
        return horizon
    if gamma == 1.0 and asked is not None:
        raise InvalidArgumentError("max_steps must be given when gamma is 1")
    if gamma == 1.0:  # the problem says that every episode ends
        return sys.maxsize
    return 1 if gamma == 0.0 else max(1, math.ceil(math.log(NEGLIGIBLE_TAIL) / math.log(gamma)))


def _interval(samples: FloatArray, confidence: float) -> FloatArray:
    level = check.real("confidence", confidence, low=0.0, high=1.0)
    if samples.shape[0] < 2:
        raise InvalidArgumentError("an interval needs at least two episodes, got 1")
    from scipy.special import stdtrit  # as scipy.stats.t, without its slow import

    count, mean = samples.shape[0], samples.mean(axis=0)
    half = stdtrit(count - 1, 0.5 + level / 2) * samples.std(axis=0, ddof=1) / math.sqrt(count)
    return np.stack([mean - half, mean + half], axis=1)
