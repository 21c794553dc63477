"""Tabular Gymnasium environments as CMDPs.

FrozenLake, CliffWalking, Taxi and their kind publish their model as ``P[state][action]``, a list of
(probability, next_state, reward, terminated). An episode that terminates earns and costs nothing
any more: its transition leads to one added absorbing state of zero reward and zero cost, whose
index is the environment's number of states. Occupancy measures count the time after the end there,
so they sum to 1/(1 − γ) as always. Time limits (``TimeLimit``) are not part of P and are ignored:
where costs are not negative, an episode cut short costs at most what the model says. Negative costs
need the caller's word (``endless``) that there is none: an environment may truncate episodes by
itself, later than it is played here.

**The environment must do what P says**, or a certificate for P says nothing about it. Wrappers that
may change what happens are refused by name, and a copy of the environment is played against P.

**Hazards that end an episode.** Nobody acts in a state in which the episode has ended, so costs
there are charged *on entering* it: by ``cost(state, action, next_state)``, or, where they are
private, by ``ParametricCMDP.for_states(..., on="entering")``. The model's ``arrivals`` say which
states every move enters, moves that terminate included. FrozenLake's holes are such hazards.
CliffWalking's P leads from the brink straight to the start and names no cliff cell; `through` says
which one was fallen into.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dp_cmdp import _check
from dp_cmdp._check import FloatArray
from dp_cmdp._door import door
from dp_cmdp.cmdp.cost_function import CostFunction, cost_reader
from dp_cmdp.cmdp.model import CMDP
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.frontends.agreement import refuse_departures
from dp_cmdp.frontends.exploration import explore
from dp_cmdp.frontends.keys import KeyFunction, naming
from dp_cmdp.frontends.table import PassedState, Table
from dp_cmdp.frontends.tabular import Passed, TabularModel, least_shape, own_grid, placed
from dp_cmdp.frontends.unwrapping import (
    HARMLESS,
    check_endless,
    is_limited,
    opened,
    played,
    start_of,
    table_of,
)

__all__ = ["HARMLESS", "cmdp_from_gymnasium", "import_gymnasium"]

#: Relative rounding of an expected cost that is not taken for a difference.
COST_ROUNDING = 1e-9


@door
def cmdp_from_gymnasium(
    env: Any,
    *,
    cost: CostFunction,
    f0: ArrayLike,
    gamma: float,
    mu: ArrayLike | None = None,
    options: Mapping[str, Any] | None = None,
    through: PassedState | None = None,
    check: bool = True,
    endless: bool = False,
) -> CMDP:
    """Read the model of a tabular Gymnasium environment.

    Parameters
    ----------
    env : gymnasium.Env or str
        An environment whose ``unwrapped`` has ``P``, or the id of one. Wrappers outside
        ``HARMLESS`` are refused; if one does not matter, pass ``env.unwrapped``.
    cost : callable
        ``cost(state, action)`` or ``cost(state, action, next_state)``, a number or K of them. With
        three arguments the expectation over P is taken; `next_state` is then the environment's
        own, also where the transition terminates. With two, a cost of states in which episodes end
        would never be charged; such a cost is refused.
    f0 : (K,)
        Tolerances of the discounted costs.
    gamma : float
        Discount.
    mu : (environment's num_states,), optional
        Initial distribution; by default the environment's ``initial_state_distrib`` or start state.
        One that is given is not compared with where the environment starts.
    options : mapping, optional
        Keyword arguments of ``gymnasium.make`` when `env` is an id.
    through : callable, optional
        ``through(state, action, next_state, reward)`` of a transition of P: a state that it passes
        on the way to `next_state` and that P does not name, or None. It is entered as well.
    check : bool
        Step a copy of the environment some thousand times, with a seed of its own, and refuse it
        if it is seen to leave P (:mod:`dp_cmdp.frontends.agreement`). That can find a departure,
        not exclude one. Off: P is taken on trust.
    endless : bool
        Your word that nothing truncates episodes. Negative costs are refused without it, and it is
        refused where a time limit is seen.

    Returns
    -------
    CMDP
        With one state more than the environment: the terminal one, last. Its `arrivals` are the
        environment's own states, also where a transition terminates; the terminal state is never
        entered.

    Notes
    -----
    **Privacy.** *Public*: everything read here is the environment's and the caller's.

    Examples
    --------
    A cliff cell is entered by the moves that pay −100:

    >>> from dp_cmdp import cmdp_from_gymnasium
    >>> def fallen(state, action, next_state, reward):
    ...     return (37 if state >= 36 else state + 12) if reward == -100 else None
    >>> cliff = cmdp_from_gymnasium(
    ...     "CliffWalking-v1", cost=lambda s, a: 0, f0=0, gamma=0.9, through=fallen
    ... )
    >>> float(cliff.arrivals[25 * 4 + 2, 37])
    1.0
    """
    source, made = opened(env, options)
    try:
        table, start, is_cut = _published(played(source), mu, check=check)
    finally:
        if made:
            source.close()
    certain = check_endless(endless, limited=is_cut or is_limited(source))
    T, arrivals = table.transitions(), table.arrivals(through)
    limits = _check.vector("f0", np.atleast_1d(_check.array("f0", f0)))
    f = _costs(table, cost_reader(cost), limits.size)
    if (f < 0.0).any() and not certain:
        raise InvalidArgumentError(
            "cost must not be negative unless endless=True says that no time limit (TimeLimit, or "
            "one of env's own) cuts episodes short: what is not earned back any more would be "
            "certified as if it were. Pass env.unwrapped if env is played without its TimeLimit"
        )
    mu = np.append(start, 0.0)
    return CMDP(T, table.rewards(), f=f, f0=limits, mu=mu, gamma=gamma, arrivals=arrivals)


@door
def import_gymnasium(
    env: Any,
    *,
    gamma: float,
    options: Mapping[str, Any] | None = None,
    mu: ArrayLike | None = None,
    through: PassedState | None = None,
    check: bool = True,
    key: KeyFunction | None = None,
    seed: int | None = None,
    max_states: int = 10_000,
    reward: Callable[[float], float] | None = None,
    cell: Callable[[Any], Any] | None = None,
    endless: bool = False,
) -> TabularModel:
    """Read the public model of an environment, to which private costs can be added.

    Parameters
    ----------
    env : gymnasium.Env or str
        An environment with a table ``P`` (FrozenLake, CliffWalking, Taxi), or a deterministic one
        without, which is explored by stepping copies of it (MiniGrid's rooms, your own); or the id
        of one.
    gamma : float
        Discount.
    options, mu, through, check, endless
        As in :func:`cmdp_from_gymnasium`; `mu` is of environments with a table, and it is negative
        severities that need `endless`.
    key : callable, optional
        Without a table: ``key(env)`` of the environment below its wrappers, everything that decides
        what happens next, as something hashable. By default the position, direction, load and grid
        of a MiniGrid room, and a Discrete observation of other environments.
    seed : int, optional
        Without a table: with which ``reset`` makes what is explored, where that is drawn.
    max_states : int
        Without a table: more states than this are refused.
    reward : callable, optional
        Without a table: what the model is to earn, of what a step paid. It is needed where pay
        depends on more than state and action, as MiniGrid's does on the time.
    cell : callable, optional
        ``cell(key)``: row and column of a state, for pictures and for hazards that are given by
        place (with a table the key is the state's number). By default known of FrozenLake,
        CliffWalking and MiniGrid.

    Notes
    -----
    Time limits are not part of the model: see the top of :mod:`dp_cmdp.frontends.gymnasium`.
    **Privacy.** *Public*: everything read here is the environment's and the caller's.

    Examples
    --------
    >>> from dp_cmdp import import_gymnasium
    >>> import_gymnasium("CliffWalking-v1", gamma=0.9)
    TabularModel(num_states=48, num_actions=4, gamma=0.9, grid 4×12)
    """
    source, made = opened(env, options)
    try:
        base, limited = played(source), is_limited(source)
        named = naming(base, key) if getattr(base, "P", None) is None else None
        if named is None:
            _refuse_given({"key": key, "seed": seed, "reward": reward})
            table, start, is_cut = _published(base, mu, check=check)
            keys: tuple[Any, ...] = tuple(range(table.num_states))
        else:
            _refuse_given({"mu": mu}, why="what is explored starts where reset says")
            limit = _check.size("max_states", max_states, low=1)
            chosen = None if seed is None else _check.seed("seed", seed)
            found = explore(base, named, seed=chosen, max_states=limit, reward=reward, check=check)
            table, keys = Table.of(found.P), found.keys
            is_cut = found.is_cut
            start = 1.0 * (np.arange(table.num_states) == found.start)
        cells, shape = own_grid(base, keys)
        limited |= is_cut
    finally:
        if made:
            source.close()
    if cell is not None:
        cells = placed(cell, keys)
        shape = least_shape(cells)
    rewards = table.rewards()
    return TabularModel(
        public=CMDP(
            table.transitions(),
            rewards,
            f=np.zeros((1, *rewards.shape)),
            f0=[0.0],
            mu=np.append(start, 0.0),
            gamma=gamma,
            arrivals=table.arrivals(through),
        ),
        keys=keys,
        cells=cells,
        shape=shape,
        ends=tuple(sorted(table.ends())),
        is_limited=limited,
        is_endless=check_endless(endless, limited=limited),
        seed=seed,
        passed=_passed(table, through),
        numbers={key: number for number, key in enumerate(keys)},
        name=named,
    )


def _published(base: Any, mu: ArrayLike | None, *, check: bool) -> tuple[Table, FloatArray, bool]:
    """Table and start of an environment that does what it says, and whether it truncates."""
    table = Table.of(table_of(base))
    given = start_of(base, table.num_states) if mu is None else mu
    start = _check.vector("mu", given, size=table.num_states)
    is_cut = check and refuse_departures(base, table, start, is_own=mu is None)
    return table, start, is_cut


def _refuse_given(
    arguments: Mapping[str, Any], *, why: str = "env publishes its table P, which says it"
) -> None:
    for name, value in arguments.items():
        if value is not None:
            raise InvalidArgumentError(f"{name} must be left out: {why}")


def _passed(table: Table, through: PassedState | None) -> Passed:
    """How often moves that look alike pass a state, in the mean."""
    mass: dict[tuple[int, int, int], float] = {}
    shares: dict[tuple[int, int, int], dict[int, float]] = {}
    for move, state in table.passed(through):
        if move.probability > 0.0:
            part = shares.setdefault((move.state, move.action, move.successor), {})
            part[state] = part.get(state, 0.0) + move.probability
    for move in table.moves if shares else ():
        place = move.state, move.action, move.successor
        mass[place] = mass.get(place, 0.0) + move.probability
    return {
        place: {state: weight / mass[place] for state, weight in part.items()}
        for place, part in shares.items()
    }


def _costs(table: Table, price: Callable[[int, int, int], FloatArray], K: int) -> FloatArray:
    """Expected costs of every pair; refused if they charge a state only where an episode is over.

    Whoever acts in state n pays at least min_a f(n, a). If a transition that ends the episode in n
    costs less than that, the rest of the price of n is never paid.
    """
    steps = [_sized(price(m.state, m.action, m.successor), K) for m in table.moves]
    f = table.expected(steps, K)
    least = f.min(axis=2)
    for step, (s, a, p, n, _, over) in zip(steps, table.moves, strict=True):
        if over and p > 0.0 and (step < least[:, n] - COST_ROUNDING * np.abs(least[:, n])).any():
            raise InvalidArgumentError(
                f"cost must charge what ends an episode when it happens: state {n} costs at least "
                f"{least[:, n].max():g} to act in, but the move from state {s} by action {a} ends "
                "the episode there for less, and nobody acts there any more. Give "
                f"cost(state, action, next_state), or 0 in state {n} if nothing is meant"
            )
    return f


def _sized(cost: FloatArray, num_constraints: int) -> FloatArray:
    if cost.size != num_constraints:
        raise InvalidArgumentError(
            f"cost must return {num_constraints} numbers to match f0, got {cost.size}"
        )
    return cost
