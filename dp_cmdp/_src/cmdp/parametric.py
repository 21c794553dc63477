"""Constrained MDPs whose costs and limits come from a private database.

    maximise  E[Σ γ^t r]   subject to   E[Σ γ^t cost_i(θ; s, a)] ≤ limit_i(θ),   i = 1 … K

over all steps, the first H, or until the episode ends. Dynamics, start and criterion are public;
reward, cost and limit are affine in the database θ. An
occupancy measure x is non-negative and the constraints are linear in it, so that they hold for
every θ of a set when K rows A(θ)x ≤ b(θ) do: the same robust rows as those of a linear program. A
private reward decides what is best for an estimate of θ, and never what is safe.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from dp_cmdp._src.base import validation as check
from dp_cmdp._src.base.errors import InvalidArgumentError
from dp_cmdp._src.base.validation import FloatArray, validated
from dp_cmdp._src.cmdp import synthesis
from dp_cmdp._src.cmdp.answer import PolicyAnswer
from dp_cmdp._src.cmdp.certificate import corner
from dp_cmdp._src.cmdp.chain import chain_of, fitted
from dp_cmdp._src.cmdp.costs import Constraints, PrivateCost, constraints_of, sums_up
from dp_cmdp._src.cmdp.model import CMDP, MDP, Criterion, reject_beyond
from dp_cmdp._src.cmdp.policy import Policy
from dp_cmdp._src.data.affine import Affine, common_envelope
from dp_cmdp._src.data.envelope import Envelope, UncertaintySet, is_everything
from dp_cmdp._src.program.answer import Certificate, Problem
from dp_cmdp._src.program.rows import RobustRows, UncertainRows


class ParametricCMDP(Problem):
    """A constrained MDP with private costs and limits, as public structure.

    Parameters
    ----------
    T : (num_states, num_actions, num_states) dense, or (num_states·num_actions, num_states) sparse
        Transition probabilities T[state, action, next]; each row sums to 1. Where there are as many
        states as actions, a transposed T or r cannot be told from the right one.
    r : (num_states, num_actions) numbers or Affine
        Expected immediate reward. Where entries of an envelope are in it (``theta["pay"]``), it is
        private: policies are the best for the estimate that the release gives.
    gamma : float
        Discount, 0 ≤ γ < 1; with `horizon` 0 ≤ γ ≤ 1, and 1 if it is left out.
    horizon : int
        Number of steps of an episode, instead of `gamma` or with it. Policies know the time then.
    total : bool
        Instead of both: undiscounted sums over episodes that all end by themselves; see
        :class:`CMDP`.
    start : int or (num_states,)
        First state, or its distribution.
    costs : PrivateCost, or mapping from names to PrivateCost
        One constraint each. Private numbers have the keys ``"cost"`` and ``"limit"`` in the
        database, or ``"hole.cost"`` and ``"hole.limit"`` for the one named ``"hole"``.
    arrivals : as T, optional
        Expected number of times a move enters each state, for costs on entering; see
        :class:`CMDP`.

    Attributes
    ----------
    envelope : Envelope
        Bounds and adjacency of the private numbers.
    names : tuple of str
        Of the constraints.
    objective : Affine or None
        The private reward of every pair of a state and an action; `r` is then the reward in the
        middle of the bounds.

    Raises
    ------
    InvalidArgumentError
        If shapes do not match, or a candidate can never be charged, or is charged for some of the
        visits only, because episodes end in it; the message names it and says what to do.

    Notes
    -----
    **Paper.** ``def:cmdp``, ``app:cmdp``. **Privacy.** *Public*: it holds no value of any database.

    Examples
    --------
    >>> import dp_cmdp as dp
    >>> T = [[[1, 0], [0, 1]], [[0, 1], [1, 0]]]  # T[state, action, next]
    >>> cost = dp.PrivateCost(
    ...     states=[1], cost=dp.Envelope(0, 1, radius=0.1), limit=dp.Envelope(4, 6, radius=0.1)
    ... )
    >>> dp.ParametricCMDP(T, [[0, 0], [1, 1]], gamma=0.9, costs=cost)
    ParametricCMDP(2 states, 2 actions, gamma=0.9, limits: cost; 2 private numbers)
    """

    mdp: MDP
    envelope: Envelope
    cost: Affine
    limit: Affine
    names: tuple[str, ...]
    constraints: Constraints
    rows: UncertainRows
    objective: Affine | None

    @validated
    def __init__(
        self,
        T: Any,
        r: ArrayLike | Affine,
        *,
        gamma: float | None = None,
        horizon: int | None = None,
        total: bool = False,
        start: Any = 0,
        costs: PrivateCost | Mapping[str, PrivateCost],
        arrivals: Any = None,
    ) -> None:
        said: dict[str, Any] = {"gamma": gamma, "horizon": horizon, "total": total}
        table, objective = reward_of(r)
        mdp = MDP(T, table, **said, start=start, arrivals=arrivals)
        self._fill(mdp, constraints_of(mdp, costs, reward=objective), objective)

    @classmethod
    def _made(cls, mdp: MDP, constraints: Constraints, objective: Affine | None = None) -> Self:
        """The model of an MDP, constraints and a private reward that are known to fit."""
        made = cls.__new__(cls)
        made._fill(mdp, constraints, objective)
        return made

    def _fill(self, mdp: MDP, constraints: Constraints, objective: Affine | None = None) -> None:
        if objective is not None:
            reject_beyond("r", largest_reward(objective), steps=mdp.steps)
        self.mdp, self.envelope, self.objective = mdp, constraints.envelope, objective
        self.cost, self.limit = constraints.cost, constraints.limit
        self.names, self.constraints = constraints.names, constraints
        if mdp.ending is not None:
            for name, part in (("r", objective), ("costs", self.cost)):
                if part is not None:
                    flat = part.reshape(-1, mdp.r.size)
                    mdp.ending.refuse_costs(name, _costly(flat, mdp.r.shape))
        none = np.zeros(mdp.r.size)
        self.rows = UncertainRows(
            self.cost,
            self.limit,
            entries=self.envelope.size,
            lower=none,
            upper=np.full(mdp.r.size, np.inf),
        )

    @classmethod
    def _of_public(cls, cmdp: CMDP) -> ParametricCMDP:
        """A model without private numbers: those of `cmdp`, whoever's they are."""
        empty = Envelope._empty()
        names = tuple(f"constraint {i}" for i in range(cmdp.num_constraints))
        cost = Affine.of(sparse.csr_array(cmdp.cost.reshape(len(names), -1)), empty)
        limit = Affine.of(cmdp.limit, empty)
        none = (None,) * len(names)
        return cls._made(cmdp, Constraints(empty, cost, limit, names, none, none))

    @property
    def T(self) -> sparse.csr_array:
        """Transition probabilities, (num_states · num_actions, num_states), one row per pair."""
        return self.mdp.T

    @property
    def r(self) -> FloatArray:
        """Rewards, (num_states, num_actions)."""
        return self.mdp.r

    @property
    def gamma(self) -> float:
        """Discount factor."""
        return self.mdp.gamma

    @property
    def criterion(self) -> Criterion:
        """Over which steps rewards and costs are summed."""
        return self.mdp.criterion

    @property
    def start(self) -> FloatArray:
        """Probability of each state at the start."""
        return self.mdp.start

    @property
    def num_states(self) -> int:
        """Number of states, that of the time after an episode's end included."""
        return self.mdp.num_states

    @property
    def num_actions(self) -> int:
        """Number of actions, the same in every state."""
        return self.mdp.num_actions

    @property
    def signs(self) -> sparse.csr_array:
        """Constraints × entries: ±1 where a constraint only gets worse (better) as one grows."""
        return self.rows.table(self.rows.sign)

    @validated
    def at(self, values: Any) -> CMDP:
        """The CMDP at given private numbers: what a curator compares with.

        Parameters
        ----------
        values : array_like, mapping from group to numbers, table, path of a csv file or Database
            One number per entry of the envelope.

        Returns
        -------
        CMDP
            The model, with nothing private left to hide in it.

        Raises
        ------
        RefusedError
            If the values cannot be used; which of them is not said.

        Notes
        -----
        **Privacy.** *Curator only* when they are the true ones.

        Examples
        --------
        >>> import dp_cmdp as dp
        >>> cost = dp.PrivateCost(states=[0], cost=dp.Envelope(0, 1), limit=2)
        >>> dp.ParametricCMDP([[[1]]], [[1]], gamma=0.5, costs=cost).at([0.5]).cost
        array([[[0.5]]])
        """
        theta = self._numbers(values)
        cost = self.cost.at(theta).toarray().reshape(-1, *self.mdp.r.shape)
        mdp = self.mdp if self.objective is None else self._earning(theta).mdp
        return mdp._with_costs(check.frozen(cost), check.frozen(self.limit.at(theta)))

    def _earning(self, theta: FloatArray) -> ParametricCMDP:
        """The same model with the private reward of one database."""
        assert self.objective is not None
        table = check.frozen(sums_up(self.objective, theta[self.objective.entry]))
        return ParametricCMDP._made(self.mdp._earning(table), self.constraints)

    def worst(self, known: UncertaintySet) -> CMDP:
        """The CMDP with every number at its worst over the bounds of a set, one by one.

        Parameters
        ----------
        known : UncertaintySet
            The databases that are possible.

        Returns
        -------
        CMDP
            Its policies are safe for the whole set; no others are where :attr:`signs` are known.
        """
        low, high, entry = known.lower, known.upper, self.cost.entry
        dear = np.where(self.cost.coefficient > 0.0, high[entry], low[entry])
        entry = self.limit.entry
        tight = np.where(self.limit.coefficient > 0.0, low[entry], high[entry])
        costs, limits = corner(self.mdp, self.rows, dear, tight)
        return self.mdp._with_costs(costs, -limits)

    @cached_property
    def solved(self) -> ParametricCMDP:
        """The model in which policies are looked for: this one, or the discounted one of the same
        policies where episodes end by themselves."""
        ending = self.mdp.ending
        if ending is None:
            return self
        kinds = self.constraints
        scale = sparse.diags_array(np.repeat(ending.scale, self.num_actions), format="csr")
        none = (None,) * len(self.names)
        scaled = Constraints(self.envelope, self.cost @ scale, self.limit, kinds.names, none, none)
        return ParametricCMDP._made(ending.model, scaled)

    def answer(
        self,
        known: UncertaintySet,
        estimate: FloatArray | None = None,
        *,
        start: PolicyAnswer | None = None,
        certify: bool = True,
    ) -> PolicyAnswer:
        if self.objective is not None:
            theta = known.lower + (known.upper - known.lower) / 2 if estimate is None else estimate
            model = self._earning(theta)
            found = synthesis.answer(model, known, theta, start=start, certified=certify)
            return replace(found, problem=self)
        if certify and is_everything(known, self.envelope):
            return self._robust if estimate is None else replace(self._robust, estimate=estimate)
        return synthesis.answer(self, known, estimate, start=start, certified=certify)

    @cached_property
    def _robust(self) -> PolicyAnswer:
        """The answer that needs no data: no estimate changes it where rewards are public."""
        return synthesis.answer(self, self.envelope.uncertainty, None, start=None, certified=True)

    def value(self, decision: Policy, values: FloatArray) -> float:
        mdp = self.mdp if self.objective is None else self._earning(values).mdp
        return float(np.vdot(mdp.r, chain_of(mdp, fitted(decision, mdp)).occupancy()))

    def certify(self, decision: Policy, known: UncertaintySet) -> Certificate:
        decision = fitted(decision, self.mdp)
        chain = chain_of(self.mdp, decision)
        return synthesis.proof(self, decision, RobustRows(self.rows, known), chain=chain)[0]

    def _lowest_costs(self, known: UncertaintySet) -> FloatArray:
        """The lowest cost (K,) of any pair over the bounds of a set, with the right sign."""
        cost = self.cost
        cheap = np.where(cost.coefficient > 0.0, known.lower[cost.entry], known.upper[cost.entry])
        return -sums_up(-cost, cheap).max(axis=1)

    def document(self) -> dict[str, Any]:
        mdp = self.mdp
        return {
            "problem": "constrained MDP",
            "T": mdp.T,
            "r": mdp.r if self.objective is None else self.objective._document(),
            **mdp.criterion.document(),
            "start": mdp.start,
            "arrivals": None if mdp.arrivals is mdp.T else mdp.arrivals,
            "envelope": self.envelope.document(),
            "cost": self.cost._document(),
            "limit": self.limit._document(),
            "names": list(self.names),
        }

    @classmethod
    def from_document(cls, said: Mapping[str, Any]) -> ParametricCMDP:
        check.one_of("problem", said["problem"], ("constrained MDP",))
        envelope, names = Envelope.from_document(said["envelope"]), tuple(said["names"])
        objective = None
        if isinstance(said["r"], Mapping):
            objective = Affine._from(said["r"], envelope)
        table, objective = reward_of(said["r"] if objective is None else objective)
        mdp = MDP(
            said["T"],
            table,
            **Criterion.arguments(said),
            start=said["start"],
            arrivals=said["arrivals"],
        )
        cost, limit = (Affine._from(said[part], envelope) for part in ("cost", "limit"))
        if cost.shape != (len(names), mdp.r.size) or limit.shape != (len(names),):
            raise InvalidArgumentError("costs and limits must fit the model and its names")
        none = (None,) * len(names)
        return cls._made(mdp, Constraints(envelope, cost, limit, names, none, none), objective)

    def __repr__(self) -> str:
        count = self.envelope.size
        return (
            f"ParametricCMDP({self.num_states} states, {self.num_actions} actions, "
            f"{self.criterion}, limits: {', '.join(self.names)}; {count} private "
            f"number{'s' if count != 1 else ''})"
        )


def _costly(cost: Affine, shape: tuple[int, ...]) -> Any:
    """Pairs that may cost something."""
    found = np.zeros(int(np.prod(shape)), dtype=bool)
    found[cost.constant.indices[cost.constant.data != 0.0]] = True
    found[cost.col[cost.coefficient != 0.0]] = True
    return found.reshape(shape)


def reward_of(r: Any) -> tuple[Any, Affine | None]:
    """A table of rewards and, where they are private, what they are as functions of the database.

    The table of private rewards is that of the middle of the bounds.
    """
    envelope = common_envelope(r)
    if not envelope.size:
        return r, None
    objective = Affine.of(r, envelope)
    middle = envelope.lower + (envelope.upper - envelope.lower) / 2
    return sums_up(objective, middle[objective.entry]), objective


def largest_reward(objective: Affine) -> FloatArray:
    """What no reward exceeds in size, whatever the database."""
    envelope = objective.envelope
    most = np.maximum(np.abs(envelope.lower), np.abs(envelope.upper))[objective.entry]
    sizes = np.bincount(
        objective.reshape(objective.size).row,
        weights=np.abs(objective.coefficient) * most,
        minlength=objective.size,
    )
    return np.add(sizes, np.abs(objective.constant.toarray().ravel()), dtype=np.float64)
