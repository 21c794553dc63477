"""Tabular Gymnasium environments as CMDPs.

FrozenLake, CliffWalking, Taxi and their kind publish their model as ``P[state][action]``, a list of
(probability, next_state, reward, terminated). An episode that terminates earns and costs nothing
any more: its transition leads to one added absorbing state of zero reward and zero cost, whose
index is the environment's number of states. Occupancy measures count the time after the end there,
so they sum to 1/(1 − γ) as always. Time limits (``TimeLimit``) are not part of P and are ignored:
where costs are not negative, an episode cut short costs at most what the model says. Negative
public costs under a time limit are refused.

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

from collections.abc import Callable, Iterator, Mapping
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
from dp_cmdp.frontends.table import PassedState, Table

#: Wrappers of Gymnasium that change neither what an action does nor what is observed and earned.
HARMLESS = (
    "HumanRendering",
    "OrderEnforcing",
    "PassiveEnvChecker",
    "RecordEpisodeStatistics",
    "RecordVideo",
    "RenderCollection",
    "TimeLimit",
)
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
) -> CMDP:
    """Read the model of a tabular Gymnasium environment.

    Parameters
    ----------
    env : gymnasium.Env or str
        An environment whose ``unwrapped`` has ``P``, or the id of one. Wrappers outside
        :data:`HARMLESS` are refused; if one does not matter, pass ``env.unwrapped``.
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

    Returns
    -------
    CMDP
        With one state more than the environment: the terminal one, last. Its `arrivals` are the
        environment's own states, also where a transition terminates; the terminal state is never
        entered.

    Examples
    --------
    A cliff cell is entered by the moves that pay −100:

    >>> def fallen(state, action, next_state, reward):
    ...     return (37 if state >= 36 else state + 12) if reward == -100 else None
    >>> cliff = cmdp_from_gymnasium(
    ...     "CliffWalking-v1", cost=lambda s, a: 0, f0=0, gamma=0.9, through=fallen
    ... )
    >>> float(cliff.arrivals[25 * 4 + 2, 37])
    1.0

    Notes
    -----
    **Privacy.** *Public*: everything read here is the environment's and the caller's.
    """
    source, opened = _environment(env, options)
    try:
        base = _base(source)
        table = Table.of(_model(base))
        given = _start(base, table.num_states) if mu is None else mu
        start = _check.vector("mu", given, size=table.num_states)
        if check:
            refuse_departures(base, table, start, is_own=mu is None)
    finally:
        if opened:
            source.close()
    T, arrivals = table.transitions(), table.arrivals(through)
    limits = _check.vector("f0", np.atleast_1d(_check.array("f0", f0)))
    f = _costs(table, cost_reader(cost), limits.size)
    if (f < 0.0).any() and any(type(layer).__name__ == "TimeLimit" for layer in _wrappers(source)):
        raise InvalidArgumentError(
            "cost must not be negative where a TimeLimit cuts episodes short: what is not earned "
            "back any more would be certified as if it were. Pass env.unwrapped if env is played "
            "without the limit"
        )
    mu = np.append(start, 0.0)
    return CMDP(T, table.rewards(), f=f, f0=limits, mu=mu, gamma=gamma, arrivals=arrivals)


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


def _wrappers(env: Any) -> Iterator[Any]:
    """What is around the environment, from the outside."""
    base = getattr(env, "unwrapped", env)
    while env is not base:
        yield env
        env = env.env


def _base(env: Any) -> Any:
    """The environment below its wrappers, if none of them changes what it does."""
    import gymnasium

    harmless = [getattr(gymnasium.wrappers, name) for name in HARMLESS]
    for layer in _wrappers(env):
        if type(layer) not in harmless:
            raise InvalidArgumentError(
                f"env must do what P says, which is not known of its wrapper "
                f"{type(layer).__name__}: a certificate would hold for the environment below it "
                "only. Pass env.unwrapped if the wrapper does not matter"
            )
    base = getattr(env, "unwrapped", env)
    if getattr(base, "fickle_passenger", False):
        raise InvalidArgumentError(
            "env must follow P: a fickle passenger changes the destination, which P does not say. "
            "Make it with fickle_passenger=False"
        )
    return base


def _model(base: Any) -> Any:
    model = getattr(base, "P", None)
    if model is None:
        raise InvalidArgumentError(
            f"env must be tabular, with its transitions in env.unwrapped.P; "
            f"{type(base).__name__} has none. "
            "Build a CMDP from its arrays instead"
        )
    return model


def _start(base: Any, num_states: int) -> Any:
    distribution = getattr(base, "initial_state_distrib", None)
    if distribution is not None:
        return distribution
    start = getattr(base, "start_state", getattr(base, "start_state_index", None))
    if start is None:
        raise InvalidArgumentError(
            "mu must be given: env has neither initial_state_distrib nor start_state"
        )
    return np.arange(num_states) == _check.integer("start_state", start, high=num_states - 1)


def _sized(cost: FloatArray, num_constraints: int) -> FloatArray:
    if cost.size != num_constraints:
        raise InvalidArgumentError(
            f"cost must return {num_constraints} numbers to match f0, got {cost.size}"
        )
    return cost
