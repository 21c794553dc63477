"""Gymnasium environments as constrained MDPs.

FrozenLake, CliffWalking, Taxi and their kind publish their model as ``P[state][action]``, a list of
(probability, next_state, reward, terminated); deterministic environments without one (MiniGrid's
rooms) are explored by stepping copies. An episode that terminates earns and costs nothing any more:
its move leads to one added absorbing state, whose index is the environment's number of states.
Time limits are not part of a discounted model: where costs are not negative, an episode cut short
costs at most what the model says. With a horizon they are: costs are sums over an episode.

**The environment must do what the model says**, or a certificate says nothing about it. Wrappers
that may change what happens are refused by name, and copies of the environment are played against
the model.

**Hazards that end an episode.** Nobody acts where the episode has ended, so costs there are charged
*on entering*: the model's ``arrivals`` say which states every move enters, moves that terminate
included. FrozenLake's holes are such hazards.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

import numpy as np

from dp_cmdp._src.base import validation as check
from dp_cmdp._src.base.errors import InvalidArgumentError
from dp_cmdp._src.base.validation import validated
from dp_cmdp._src.cmdp.costs import PrivateCost, constraints_of
from dp_cmdp._src.cmdp.model import MDP
from dp_cmdp._src.cmdp.parametric import ParametricCMDP
from dp_cmdp._src.frontends.gymnasium.agreement import refuse_departures
from dp_cmdp._src.frontends.gymnasium.exploration import explore
from dp_cmdp._src.frontends.gymnasium.states import (
    Environment,
    KeyFunction,
    naming,
    own_grid,
    placed,
)
from dp_cmdp._src.frontends.gymnasium.table import Table, opened, played, start_of


class EnvironmentCMDP(ParametricCMDP):
    """A ParametricCMDP that knows the environment it was read from (`environment`).

    A saved one is a ParametricCMDP, which certifies the same; load the environment again to play.
    """

    environment: Environment


@validated
def load(
    env: Any,
    *,
    gamma: float | None = None,
    horizon: int | None = None,
    total: bool = False,
    costs: PrivateCost | Mapping[str, PrivateCost] | None = None,
    reward: Callable[[float], float] | None = None,
    key: KeyFunction | None = None,
    cell: Callable[[Any], Any] | None = None,
    seed: int | None = None,
    check: bool = True,
) -> EnvironmentCMDP:
    """Read an environment as a constrained MDP with private costs.

    Parameters
    ----------
    env : gymnasium.Env or str
        An environment with a table ``P`` (FrozenLake, CliffWalking, Taxi), or a deterministic one
        without, which is explored by stepping copies of it (MiniGrid's rooms, your own); or the id
        of one. Wrappers that may change what happens are refused; if one does not matter, pass
        ``env.unwrapped``.
    gamma : float, optional
        Discount.
    horizon : int, optional
        Costs and rewards are sums over episodes of so many steps, and policies know the time. If
        neither `gamma`, `horizon` nor `total` is given, the environment's own time limit.
    total : bool
        Costs and rewards are sums over episodes that all end by themselves.
    costs : PrivateCost, or mapping from names to several
        What costs, where, and what is public about it. By default there is no cost and no private
        number.
    reward : callable, optional
        What the model is to earn, of what a step paid. An environment without a table needs it
        where pay depends on more than state and action, as MiniGrid's does on the time.
    key : callable, optional
        Without a table: ``key(env)`` of the environment below its wrappers, everything that decides
        what happens next, as something hashable. By default the position, direction, load and grid
        of a MiniGrid room, and a Discrete observation of other environments.
    cell : callable, optional
        ``cell(key)``: row and column of a state, for pictures and for costs by cell (with a table
        the key is the state's number). Known of FrozenLake, CliffWalking and MiniGrid.
    seed : int, optional
        Without a table: with which ``reset`` makes what is explored, where that is drawn.
    check : bool
        Step a copy of the environment some thousand times and refuse it if it is seen to leave the
        model. That can find a departure, not exclude one.

    Returns
    -------
    ParametricCMDP
        With one state more than the environment: the one after an episode's end, last.

    Raises
    ------
    InvalidArgumentError
        If the environment has no model, or is seen to leave it.

    Notes
    -----
    **Privacy.** *Public*: everything read here is the environment's and the caller's.

    Examples
    --------
    >>> import dp_cmdp as dp
    >>> holes = dp.PrivateCost(
    ...     states=[5, 7, 11, 12], on="entering", cost=dp.Envelope(0, 1, radius=0.1), limit=0.2
    ... )
    >>> model = dp.gymnasium.load("FrozenLake-v1", gamma=0.9, costs=holes)
    >>> dp.answer(model).certificate.verified
    True
    """
    with opened(env) as source:
        base = played(source)
        if gamma is None and horizon is None and not total:
            horizon = _time_limit(source, base)
        said = {"gamma": gamma, "horizon": horizon, "total": total}
        found = _read(base, said, reward, key, cell, seed, check)
    if costs is None:
        free = found.mdp._with_costs(np.zeros((1, *found.mdp.r.shape)), np.zeros(1))
        model = cast(EnvironmentCMDP, EnvironmentCMDP._of_public(free))
    else:
        constraints = constraints_of(found.mdp, costs, found.states_at)
        model = EnvironmentCMDP._made(found.mdp, constraints)
        _refuse_negative(model)
    model.environment = found
    return model


def _time_limit(env: Any, base: Any) -> int:
    """The number of steps after which an environment ends its episodes."""
    steps = getattr(getattr(env, "spec", None), "max_episode_steps", None)
    while steps is None and env is not base:  # a TimeLimit around a class without a spec
        steps, env = getattr(env, "_max_episode_steps", None), env.env
    steps = getattr(base, "max_steps", None) if steps is None else steps
    if not check.is_integer(steps):
        raise InvalidArgumentError(
            "gamma, horizon or total must be given: env has no time limit (max_episode_steps) of "
            "its own"
        )
    return int(cast(int, steps))


def _read(
    base: Any,
    said: Mapping[str, Any],
    reward: Callable[[float], float] | None,
    key: KeyFunction | None,
    cell: Callable[[Any], Any] | None,
    seed: int | None,
    check_steps: bool,
) -> Environment:
    """The public model of an environment below its wrappers."""
    named = naming(base, key) if getattr(base, "P", None) is None else None
    if named is None:
        _refuse_given({"key": key, "seed": seed, "reward": reward})
        table = Table.of(base.P)
        start = check.vector("start", start_of(base, table.num_states), size=table.num_states)
        if check_steps:
            refuse_departures(base, table, start)
        keys: tuple[Any, ...] = tuple(range(table.num_states))
    else:
        chosen = None if seed is None else check.seed("seed", seed)
        found = explore(base, named, seed=chosen, reward=reward, check_steps=check_steps)
        table, keys = Table.of(found.P), found.keys
        start = 1.0 * (np.arange(table.num_states) == found.start)
    cells, shape = own_grid(base, keys)
    if cell is not None:
        cells = placed(cell, keys)
        shape = tuple((cells.max(axis=0) + 1).tolist())
    return Environment(
        mdp=MDP(
            table.transitions(),
            table.rewards(),
            **said,
            start=np.append(start, 0.0),
            arrivals=table.arrivals(),
        ),
        keys=keys,
        cells=cells,
        shape=shape,
        seed=seed,
        numbers={key: number for number, key in enumerate(keys)},
        name=named,
    )


def _refuse_given(arguments: Mapping[str, Any]) -> None:
    for name, value in arguments.items():
        if value is not None:
            raise InvalidArgumentError(
                f"{name} must be left out: env publishes its table P, which says it"
            )


def _refuse_negative(model: ParametricCMDP) -> None:
    """Refuse costs that may be below 0: a time limit cuts off what they earn back."""
    least = model._lowest_costs(model.envelope.uncertainty)
    for name, lowest in zip(model.names, least.tolist(), strict=True):
        if lowest < 0.0:
            raise InvalidArgumentError(
                f"{name} must not be negative: where a time limit cuts episodes short, what is not "
                "earned back any more would be certified as if it were. If nothing does, build a "
                "ParametricCMDP of arrays"
            )
