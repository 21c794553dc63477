"""Tabular Gymnasium environments as CMDPs.

FrozenLake, CliffWalking, Taxi and their kind publish their model as ``P[state][action]``, a list of
(probability, next_state, reward, terminated). An episode that terminates earns and costs nothing
any more: its transition leads to one added absorbing state of zero reward and zero cost, whose
index is the environment's number of states. Occupancy measures count the time after the end there,
so they sum to 1/(1 − γ) as always. Time limits (``TimeLimit``) are not part of P and are ignored:
where costs are not negative, an episode cut short costs at most what the model says.

**Hazards that end an episode.** Nobody acts in a state in which the episode has ended, so costs
there are charged *on entering* it: by ``cost(state, action, next_state)``, or, where they are
private, by ``ParametricCMDP.for_states(..., on="entering")``. The model's ``arrivals`` say which
states every move enters, moves that terminate included. FrozenLake's holes are such hazards.
CliffWalking's P leads from the brink straight to the start and names no cliff cell; `through` says
which one was fallen into.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from dp_cmdp import _check
from dp_cmdp._check import FloatArray
from dp_cmdp._door import door
from dp_cmdp.cmdp.cost_function import CostFunction, cost_reader
from dp_cmdp.cmdp.model import CMDP
from dp_cmdp.errors import InvalidArgumentError

#: through(state, action, next_state, reward): a state passed on the way, or None.
PassedState = Callable[[int, int, int, float], int | None]
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
) -> CMDP:
    """Read the model of a tabular Gymnasium environment.

    Parameters
    ----------
    env : gymnasium.Env or str
        An environment whose ``unwrapped`` has ``P``, or the id of one.
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
    options : mapping, optional
        Keyword arguments of ``gymnasium.make`` when `env` is an id.
    through : callable, optional
        ``through(state, action, next_state, reward)`` of a transition of P: a state that it passes
        on the way to `next_state` and that P does not name, or None. It is entered as well.

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
        table = _table(_model(source))
        own = _start(source, table.num_states) if mu is None else _check.vector("mu", mu)
    finally:
        if opened:
            source.close()
    T, arrivals = table.transitions(), table.arrivals(through)
    limits = _check.vector("f0", np.atleast_1d(_check.array("f0", f0)))
    f = _costs(table, cost_reader(cost), limits.size)
    start = np.append(own, 0.0)
    return CMDP(T, table.rewards(), f=f, f0=limits, mu=start, gamma=gamma, arrivals=arrivals)


@dataclass(frozen=True, slots=True)
class _Table:
    """P as one row per transition: state, action, probability, next state, reward, terminated."""

    num_states: int
    num_actions: int
    moves: list[tuple[int, int, float, int, float, bool]]

    def transitions(self) -> sparse.coo_array:
        """T, with the terminal state last."""
        end, actions = self.num_states, range(self.num_actions)
        entries = [(s, a, end if over else n, p) for s, a, p, n, _, over in self.moves]
        return self._matrix(entries + [(end, a, end, 1.0) for a in actions])

    def arrivals(self, through: PassedState | None) -> sparse.coo_array:
        """How often each pair's move is expected to enter each state of the environment."""
        entries = [(s, a, n, p) for s, a, p, n, _, _ in self.moves]
        for s, a, p, n, reward, _ in self.moves:
            passed = None if through is None else through(s, a, n, reward)
            if passed is not None:
                high = self.num_states - 1
                entries.append((s, a, _check.integer("through(...)", passed, high=high), p))
        return self._matrix(entries)

    def rewards(self) -> FloatArray:
        r = np.zeros((self.num_states + 1, self.num_actions))
        for s, a, p, _, reward, _ in self.moves:
            r[s, a] += p * reward
        return r

    def _matrix(self, entries: list[tuple[int, int, int, float]]) -> sparse.coo_array:
        states, actions, columns, data = (np.array(part) for part in zip(*entries, strict=True))
        size = self.num_states + 1
        rows = states * self.num_actions + actions
        return sparse.coo_array((data, (rows, columns)), shape=(size * self.num_actions, size))


def _table(model: Any) -> _Table:
    table, kind = None, "none found"
    try:
        num_states, num_actions = len(model), len(model[0])
        moves = [
            (state, action, *_move(step, num_states))
            for state, action in np.ndindex(num_states, num_actions)
            for step in model[state][action]
        ]
        table = _Table(num_states, num_actions, moves)
    except InvalidArgumentError:
        raise
    except Exception as error:
        kind = type(error).__name__
    if table is None or not table.moves:
        raise InvalidArgumentError(
            "env must have transitions P[state][action] for states and actions 0, 1, …: lists of "
            f"(probability, next state, reward, terminated), not empty ({kind})"
        )
    return table


def _move(step: Any, num_states: int) -> tuple[float, int, float, bool]:
    probability, successor, reward, terminated = step
    return (
        _check.real("a probability in P", probability, low=0.0, high=1.0),
        _check.integer("a next state in P", successor, high=num_states - 1),
        _check.real("a reward in P", reward),
        _check.truth("terminated in P", terminated),
    )


def _costs(table: _Table, price: Callable[[int, int, int], FloatArray], K: int) -> FloatArray:
    """Expected costs of every pair; refused if they charge a state only where an episode is over.

    Whoever acts in state n pays at least min_a f(n, a). If a transition that ends the episode in n
    costs less than that, the rest of the price of n is never paid.
    """
    f = np.zeros((K, table.num_states + 1, table.num_actions))
    steps = [_sized(price(s, a, n), K) for s, a, _, n, _, _ in table.moves]
    for step, (s, a, p, _, _, _) in zip(steps, table.moves, strict=True):
        f[:, s, a] += p * step
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


def _model(env: Any) -> Any:
    model = getattr(getattr(env, "unwrapped", env), "P", None)
    if model is None:
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
