"""A wrapper under which a learner keeps its limits in expectation while it trains."""

from __future__ import annotations

import copy
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.error import ResetNeeded
from numpy.typing import NDArray
from scipy import sparse

from dp_cmdp._src.base import validation as check
from dp_cmdp._src.base.errors import InvalidArgumentError
from dp_cmdp._src.base.validation import FloatArray, validated
from dp_cmdp._src.cmdp.answer import PolicyAnswer
from dp_cmdp._src.cmdp.shield import Guard
from dp_cmdp._src.frontends.gymnasium.released import Following, ReleasedCosts, StateObservation
from dp_cmdp._src.frontends.gymnasium.table import Table, played


class Shield(Following, gym.utils.RecordConstructorArgs):
    """Keep the expected cost of every episode within its limit, whatever a learner proposes.

    An action is played if the cost that it adds to what the certified policy would cost from here
    fits into a *bank*, for every constraint and every database that the release allows; it is then
    taken from the bank, which grows with the discount. Otherwise a draw of the certified policy is
    played, and nothing is taken.

    Parameters
    ----------
    env : gymnasium.Env
        What the problem was loaded from, or another one made alike; a hazard grid of an agent; or
        one that observes the states of the problem.
    found : PolicyAnswer
        With its certificate: the policy to fall back on, and what is known of the database.
    improve : bool
        Whether only actions are played whose reward, followed by the certified policy, is at least
        what that policy earns. No learner then earns less than the policy, before and while it
        learns; without, greedy ones may.
    observe_bank : bool
        Whether observations are ``{"obs": …, "bank": …, "time": …}``: what `env` shows, and how
        full the banks and how old the episode is, between 0 and 1. What is allowed depends on the
        banks, so a learner that does not see them sees the environment change.
    seed : int, optional
        Makes draws of the certified policy repeatable. Whoever knows it can foresee them, and the
        promise holds for learners that cannot.

    Raises
    ------
    InvalidArgumentError
        If env is not the environment of the answer's problem or a wrapper changes what it does,
        the answer is not certified, or its costs may be negative: an episode cut short would not
        earn them back.
    PrivacyLeakError
        If env is a curator's: a learner could reach its database.

    Notes
    -----
    ``info["shield"]`` says which action was `played`, whether it was `replaced`, and the least that
    is left in each `bank`. :meth:`action_masks` is what MaskablePPO of sb3-contrib asks for.

    The promise is about costs as the problem sums them, discounted if it has a discount; where it
    has a horizon, episodes are truncated there. It needs
    an environment that does what the model says: an episode that starts or goes on where the model
    does not is refused when it is met. It holds for learners that neither foresee nor choose the
    environment's randomness: give seeds without looking at what they lead to. Every episode that
    was started counts: a learner that resets until a start is dear pays for the cheap ones with it.

    **Privacy.** *Post-processing* of the release: only released costs move the bank.

    Examples
    --------
    >>> import gymnasium as gym
    >>> import dp_cmdp as dp
    >>> holes = dp.PrivateCost(states=[5, 7], on="entering", cost=dp.Envelope(0, 1), limit=0.3)
    >>> model = dp.gymnasium.load("FrozenLake-v1", gamma=0.9, costs=holes)
    >>> env = dp.gymnasium.Shield(gym.make("FrozenLake-v1"), dp.answer(model))
    >>> observation, info = env.reset(seed=0)
    >>> sorted(observation), sorted(env.step(1)[-1]["shield"])
    (['bank', 'obs', 'time'], ['bank', 'played', 'replaced'])
    """

    @validated
    def __init__(
        self,
        env: Any,
        found: PolicyAnswer,
        *,
        improve: bool = True,
        observe_bank: bool = True,
        seed: int | None = None,
    ) -> None:
        gym.utils.RecordConstructorArgs.__init__(
            self, _disable_deepcopy=True, found=found, improve=improve, observe_bank=observe_bank
        )
        problem = _certified(found)
        super().__init__(env, problem)
        _refuse_other(env, problem)
        self._guard, self._improve = Guard(found), check.flag("improve", improve)
        self._fallback = copy.copy(found.policy)  # with a generator of its own
        if seed is not None:
            self._fallback.reseed(seed)
        self._time, self._over = 0, True
        self._keep(self._guard.first)
        self._horizon = problem.mdp.horizon
        self._length = self._horizon or getattr(env.spec, "max_episode_steps", None)
        self._shows_bank = check.flag("observe_bank", observe_bank)
        if self._shows_bank:
            self.observation_space = gym.spaces.Dict({
                "obs": env.observation_space,
                "bank": gym.spaces.Box(0.0, 1.0, (len(problem.names),), np.float32),
                "time": gym.spaces.Box(0.0, 1.0, (1,), np.float32),
            })  # fmt: skip

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        if options:
            raise InvalidArgumentError(
                "options must be left out: the promise is about starts that the model draws"
            )
        self._over = True  # until the start is known to be one of the model's
        observation, info = self.env.reset(seed=seed)
        self._state = self._state_of(observation)
        if not self.problem.start[self._state] > 0.0:
            raise _departed(f"an episode starts in state {self._state}")
        self._keep(self._guard.first)
        self._time, self._over = 0, False
        return self._shown(observation), info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        if self._over:
            raise ResetNeeded("call reset() before step(): the episode is over")
        given = action[()] if isinstance(action, np.ndarray) else action  # as SB3 predicts
        proposed = check.integer("action", given, low=0, high=self.problem.num_actions - 1)
        replaced, time = not self._playable()[proposed], self._time
        played = self._fallback.predict(self._state, time)[0] if replaced else proposed
        self._over = True  # until the move is known to be one of the model's
        observation, reward, terminated, truncated, info = self.env.step(played)
        self._keep(self._guard.after(self._bank, self._state, None if replaced else played, time))
        truncated = bool(truncated) or time + 1 == self._horizon
        self._move(played, self._state_of(observation), bool(terminated))
        self._time, self._over = time + 1, bool(terminated) or truncated
        told = {"played": played, "replaced": replaced, "bank": self._left}
        return self._shown(observation), reward, terminated, truncated, {**info, "shield": told}

    def action_masks(self) -> NDArray[np.bool_]:
        """Tell which actions would be played as they are; all where none would.

        Returns
        -------
        (num_actions,) bool array
            Where it is all True because nothing is allowed, the certified policy is played.
        """
        found = self._playable()
        return found if found.any() else np.ones_like(found)

    def _playable(self) -> NDArray[np.bool_]:
        place = self._state, self._time
        found = self._guard.allowed(self._bank, *place)
        return found & self._guard.improving(*place) if self._improve else found

    def _move(self, action: int, successor: int, terminated: bool) -> None:
        """Follow the environment, if the model can."""
        mdp, pair = self.problem.mdp, self._state * self.problem.num_actions + action
        table = mdp.arrivals if terminated else mdp.T
        span = slice(table.indptr[pair], table.indptr[pair + 1])
        if not (table.data[span][table.indices[span] == successor] > 0.0).any():
            raise _departed(f"action {action} leads from state {self._state} to {successor}")
        self._state = successor

    def _keep(self, bank: FloatArray) -> None:
        """A bank, and what is certainly left in it."""
        self._bank, self._left = bank, np.maximum(self._guard.known.least(bank), 0.0)

    def _shown(self, observation: Any) -> Any:
        if not self._shows_bank:
            return observation
        left, scale = self._left, self._guard.scale
        length = self._time + self.problem.mdp.steps if self._length is None else self._length
        return {
            "obs": observation,
            "bank": (left / (left + scale)).astype(np.float32),
            "time": np.array([min(self._time / length, 1.0)], dtype=np.float32),
        }


def _certified(found: PolicyAnswer) -> Any:
    """The problem of an answer that a shield may rest on."""
    if not found.certificate.verified:
        raise InvalidArgumentError(f"found must be certified; it is {found.certificate!r}")
    low = found.problem._lowest_costs(found.known)
    for name, least in zip(found.problem.names, low.tolist(), strict=True):
        if least < 0.0:
            raise InvalidArgumentError(
                f"found must have costs that are not negative; {name!r} may cost {least:.3g}. An "
                "episode cut short, by a time limit or by the learner, would not earn back what "
                "was spent on that account"
            )
    return found.problem


def _refuse_other(env: Any, problem: Any) -> None:
    """Refuse an environment that is seen to be another than the problem's."""
    base = played(env, StateObservation, ReleasedCosts)
    grid = getattr(base, "grid_model", None)
    if grid is not None:
        own = grid.T
    elif hasattr(problem, "environment"):
        if getattr(base, "P", None) is None:
            return  # an explored one: its states are looked up at every step
        own = Table.of(base.P).transitions()
    else:
        return
    own, mine = sparse.csr_array(own), problem.mdp.T
    if own.shape != mine.shape or abs(own - mine).max() > 0.0:
        raise InvalidArgumentError(
            "env must be the environment of the answer's problem: its moves have other "
            "probabilities. Load the environment that is played, and solve that"
        )


def _departed(what: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"env must do what the model of the answer says, where this cannot happen: {what}. The "
        "promise of the shield does not hold for this environment"
    )
