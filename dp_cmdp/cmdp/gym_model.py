"""Tabular Gymnasium environments as CMDPs.

FrozenLake, CliffWalking, Taxi and their kind publish their model as ``P[state][action]``, a list of
(probability, next_state, reward, terminated). An episode that terminates earns and costs nothing
any more: its transition leads to one added absorbing state of zero reward and zero cost, whose
index is the environment's number of states. Occupancy measures count the time after the end there,
so they sum to 1/(1 − γ) as always. Time limits (``TimeLimit``) are not part of P and are ignored.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from dp_cmdp import _check
from dp_cmdp._check import FloatArray
from dp_cmdp._door import door
from dp_cmdp.cmdp.model import CMDP
from dp_cmdp.errors import InvalidArgumentError

#: cost(state, action) or cost(state, action, next_state), a number or one number per constraint.
CostFunction = Callable[..., ArrayLike]


@door
def cmdp_from_gymnasium(
    env: Any,
    *,
    cost: CostFunction,
    f0: ArrayLike,
    gamma: float,
    mu: ArrayLike | None = None,
    options: Mapping[str, Any] | None = None,
) -> CMDP:
    """Read the model of a tabular Gymnasium environment.

    Parameters
    ----------
    env : gymnasium.Env or str
        An environment whose ``unwrapped`` has ``P``, or the id of one.
    cost : callable
        ``cost(state, action)`` or ``cost(state, action, next_state)``, a number or K of them. With
        three arguments the expectation over P is taken; `next_state` is then the environment's
        own, also where the transition terminates.
    f0 : (K,)
        Tolerances of the discounted costs.
    gamma : float
        Discount.
    mu : (environment's num_states,), optional
        Initial distribution; by default the environment's ``initial_state_distrib`` or start state.
    options : mapping, optional
        Keyword arguments of ``gymnasium.make`` when `env` is an id.

    Returns
    -------
    CMDP
        With one state more than the environment: the terminal one, last.

    Notes
    -----
    **Privacy.** Public: everything read here is the environment's and the caller's.
    """
    source, opened = _environment(env, options)
    try:
        model = _model(source)
        num_states, num_actions = len(model), len(model[0])
        limits = _check.vector("f0", np.atleast_1d(_check.array("f0", f0)))
        price, num_constraints = cost_reader(cost), limits.size
        r = np.zeros((num_states + 1, num_actions))
        f = np.zeros((num_constraints, num_states + 1, num_actions))
        entries: list[tuple[int, int, float]] = []
        for state, action in np.ndindex(num_states, num_actions):
            for probability, successor, reward, terminated in model[state][action]:
                target = num_states if terminated else int(successor)
                entries.append((state * num_actions + action, target, probability))
                r[state, action] += probability * reward
                step = _sized(price(state, action, int(successor)), num_constraints)
                f[:, state, action] += probability * step
        entries += [(num_states * num_actions + a, num_states, 1.0) for a in range(num_actions)]
        own = _start(source, num_states) if mu is None else _check.vector("mu", mu)
        start = np.append(own, 0.0)
    finally:
        if opened:
            source.close()
    rows, columns, data = zip(*entries, strict=True)
    shape = ((num_states + 1) * num_actions, num_states + 1)
    T = sparse.coo_array((np.array(data), (np.array(rows), np.array(columns))), shape=shape)
    return CMDP(T, r, f=f, f0=limits, mu=start, gamma=gamma)


def cost_reader(cost: CostFunction) -> Callable[[int, int, int], FloatArray]:
    """A cost function of two or three arguments as one of (state, action, next_state)."""
    if not callable(cost):
        raise InvalidArgumentError(
            "cost must be a function cost(state, action) or cost(state, action, next_state), got "
            f"{type(cost).__name__}"
        )
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    try:
        parameters = inspect.signature(cost).parameters.values()
    except Exception:
        parameters = ()  # a built-in function that does not say
    arguments = sum(p.kind in kinds and p.default is p.empty for p in parameters)
    if arguments not in (2, 3):
        raise InvalidArgumentError(
            "cost must take two arguments (state, action) or three (state, action, next_state), "
            f"got {arguments}"
        )

    def read(state: int, action: int, successor: int) -> FloatArray:
        given = (state, action, successor)[:arguments]
        return _check.vector("cost(...)", np.atleast_1d(np.asarray(cost(*given))))

    return read


def _environment(env: Any, options: Mapping[str, Any] | None) -> tuple[Any, bool]:
    import gymnasium

    if not isinstance(env, str):
        if options is not None:
            raise InvalidArgumentError("options must be None unless env is an id to be made")
        return env, False
    try:
        return gymnasium.make(env, **(options or {})), True
    except (gymnasium.error.Error, TypeError) as error:
        raise InvalidArgumentError(
            f"env must be the id of a Gymnasium environment; {env!r} could not be made "
            f"({str(error).splitlines()[0]})"
        ) from error


def _model(env: Any) -> Any:
    model = getattr(getattr(env, "unwrapped", env), "P", None)
    if not model:
        raise InvalidArgumentError(
            f"env must be tabular, with its transitions in env.unwrapped.P; "
            f"{type(env).__name__} has none. "
            "Build a CMDP from its arrays instead"
        )
    return model


def _start(env: Any, num_states: int) -> FloatArray:
    base = getattr(env, "unwrapped", env)
    distribution = getattr(base, "initial_state_distrib", None)
    if distribution is not None:
        return _check.vector("initial_state_distrib", distribution, size=num_states)
    start = getattr(base, "start_state", getattr(base, "start_state_index", None))
    if start is None:
        raise InvalidArgumentError(
            "mu must be given: env has neither initial_state_distrib nor start_state"
        )
    start_distribution = np.zeros(num_states)
    start_distribution[_check.integer("start_state", start, high=num_states - 1)] = 1.0
    return start_distribution


def _sized(cost: FloatArray, num_constraints: int) -> FloatArray:
    if cost.size != num_constraints:
        raise InvalidArgumentError(
            f"cost must return {num_constraints} numbers to match f0, got {cost.size}"
        )
    return cost
