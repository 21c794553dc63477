"""Private costs and limits, as public structure: which pairs each number is charged for.

What is *public* is said here in full: which states, cells or actions are candidates, on what they
are charged, the bounds of their costs and limits, and the radius by which one of these numbers may
differ between adjacent databases. The numbers themselves are the private database.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from dp_cmdp._src.base import exact
from dp_cmdp._src.base import validation as check
from dp_cmdp._src.base.errors import InvalidArgumentError
from dp_cmdp._src.base.validation import FloatArray, validated
from dp_cmdp._src.cmdp.charges import (
    ACTING,
    CHARGED,
    ENTERING,
    LISTED,
    OCCUPYING,
    Charges,
    IntArray,
    Mask,
    charges_of,
    met_states,
)
from dp_cmdp._src.cmdp.model import MDP, transposed
from dp_cmdp._src.data.affine import Affine
from dp_cmdp._src.data.envelope import Envelope, Group

#: States in a cell of a grid, for models that have one.
StatesAt = Callable[[int, int], IntArray]


class PrivateCost:
    """One kind of cost and its limit: one constraint.

    Parameters
    ----------
    cost : Envelope, Affine or array_like
        What each candidate costs. An Envelope states bounds and radius of private numbers, one per
        candidate (one without `shape` stands for all candidates); an Affine is built from the
        entries of an envelope; plain numbers are public. Without candidates, an Affine or numbers
        of shape (num_states, num_actions).
    limit : Envelope, Affine or float
        Highest cost that is allowed, summed as the model does: discounted, or per episode.
    states : array_like of int, optional
        Candidates by the number of their state.
    cells : array_like of (row, column), optional
        Candidates by their place in the grid of an environment, instead; one candidate is all
        states in its cell.
    actions : array_like of int, optional
        With ``on="acting"``: one candidate per action, wherever it is taken, or with `states` one
        per pair of a state and an action.
    on : {"occupying", "entering", "acting"}, optional
        What is charged: every action taken in a candidate, every move that enters one (moves that
        end the episode included), or one action. By default acting where `actions` are given, else
        occupying.

    Raises
    ------
    InvalidArgumentError
        If arguments contradict each other. Candidates are compared with the dynamics where the
        model is made.

    Notes
    -----
    **Privacy.** *Public*.

    Examples
    --------
    Which holes there are is public, how bad each is and how much is allowed is not:

    >>> import dp_cmdp as dp
    >>> dp.PrivateCost(
    ...     states=[5, 7], on="entering",
    ...     cost=dp.Envelope(0, 1, radius=0.1), limit=dp.Envelope(0.1, 0.3, radius=0.01),
    ... )
    PrivateCost(states=[5, 7], on='entering')
    """

    __slots__ = ("actions", "cells", "cost", "limit", "on", "states")

    @validated
    def __init__(
        self,
        cost: Envelope | Affine | ArrayLike,
        limit: Envelope | Affine | float,
        *,
        states: ArrayLike | None = None,
        cells: Any = None,
        actions: ArrayLike | None = None,
        on: Literal["occupying", "entering", "acting"] | None = None,
    ) -> None:
        self.cost: Any = cost if isinstance(cost, Envelope | Affine) else _numbers("cost", cost)
        self.limit: Any = limit
        if isinstance(limit, Envelope | Affine):
            if limit.size != 1:
                raise InvalidArgumentError(f"limit must be one number, got {limit.size}")
        else:
            self.limit = check.real("limit", limit)
        places = {"states": states, "cells": cells, "actions": actions}
        for name, given in places.items():
            if isinstance(given, set | frozenset):
                raise InvalidArgumentError(
                    f"{name} must have an order, in which numbers belong to them: sort the set"
                )
            setattr(self, name, None if given is None else check.integers(name, given))
        if on is not None:
            check.one_of("on", on, CHARGED)
        self.on = on or (OCCUPYING if actions is None else ACTING)
        self._check_places(on)

    def _check_places(self, on: str | None) -> None:
        if self.is_table:
            if on is not None or isinstance(self.cost, Envelope):
                raise InvalidArgumentError(
                    "states, cells or actions must be given: the public candidates that cost "
                    "something; without them cost is an Affine or numbers (states, actions)"
                )
        elif (self.on == ACTING) != (self.actions is not None):
            raise InvalidArgumentError(
                f"actions must be given for costs on {ACTING!r}, and only for them; on is "
                f"{self.on!r}"
            )
        elif self.cells is not None and (self.states is not None or self.actions is not None):
            raise InvalidArgumentError("cells must be given alone, or states or actions instead")

    @property
    def is_table(self) -> bool:
        """Whether there are no candidates: every pair has its cost."""
        return self.states is None and self.cells is None and self.actions is None

    def __repr__(self) -> str:
        given = {name: getattr(self, name) for name in ("states", "cells", "actions")}
        parts = [f"{n}={v.tolist()}" for n, v in given.items() if v is not None]
        return f"PrivateCost({', '.join([*parts, f'on={self.on!r}'])})"


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """Places of one kind of cost, the candidate that owns each, and one label per candidate.

    `actions` are those of costs on acting; `names` are the levels of the labels, as ("row", "col").
    """

    on: str
    states: IntArray
    actions: IntArray | None
    owner: IntArray
    names: tuple[str, ...]
    labels: list[Any]

    @classmethod
    def of(cls, mdp: MDP, cost: PrivateCost, states_at: StatesAt | None) -> Candidates:
        """The candidates of a kind of cost in a model."""
        if cost.cells is not None:
            return _cells(mdp, cost, states_at)
        if cost.on == ACTING:
            return _actions(mdp, cost)
        states = _distinct("states", cost.states, mdp.num_states)
        return cls(cost.on, states, None, np.arange(states.size), ("state",), states.tolist())

    @property
    def count(self) -> int:
        return len(self.labels)

    @property
    def what(self) -> str:
        """What a caller calls the places: states, or cells with several states each."""
        return "cell" if self.names == ("row", "col") else "state"

    def listed(self, chosen: Mask) -> str:
        """Those of the chosen places, each once."""
        places = self.states.tolist()
        if self.what == "cell":
            places = [self.labels[k] for k in self.owner.tolist()]
        found = list(dict.fromkeys(places[k] for k in np.flatnonzero(chosen).tolist()))
        return f"{self.what}{'s' if len(found) > 1 else ''} {check.listed(map(str, found))}"

    def charges(self, mdp: MDP) -> Charges:
        """What is charged for them; `place` is the candidate."""
        found = charges_of(mdp, self)
        return replace(found, place=self.owner[found.place])


def _cells(mdp: MDP, cost: PrivateCost, states_at: StatesAt | None) -> Candidates:
    if states_at is None:
        raise InvalidArgumentError("cells must be left out of a model without a grid; give states")
    given = cost.cells
    if given.ndim != 2 or given.shape[1] != 2 or not given.size:
        raise InvalidArgumentError("cells must be a list of (row, column)")
    places = [tuple(place) for place in given.tolist()]
    if len(set(places)) != len(places):
        raise InvalidArgumentError("cells must name each cell once")
    met = met_states(mdp, on=ENTERING)
    if cost.on == OCCUPYING:  # states in which episodes end stay in, to be refused
        met |= met_states(mdp, on=OCCUPYING)
    here = [states_at(row, col) for row, col in places]
    here = [found[met[found]] if met[found].any() else found for found in here]
    owner = np.repeat(np.arange(len(here)), [found.size for found in here])
    return Candidates(cost.on, np.concatenate(here), None, owner, ("row", "col"), places)


def _actions(mdp: MDP, cost: PrivateCost) -> Candidates:
    if cost.states is None:
        actions = _distinct("actions", cost.actions, mdp.num_actions)
        acting = np.flatnonzero(met_states(mdp, on=ACTING))
        return Candidates(
            ACTING,
            np.tile(acting, actions.size),
            np.repeat(actions, acting.size),
            np.repeat(np.arange(actions.size), acting.size),
            ("action",),
            actions.tolist(),
        )
    states = check.integers("states", cost.states, high=mdp.num_states)
    actions = check.integers("actions", cost.actions, high=mdp.num_actions)
    if states.ndim != 1 or actions.shape != states.shape or not states.size:
        raise InvalidArgumentError(
            "states and actions must be lists of one length: one pair per candidate"
        )
    pairs = list(zip(states.tolist(), actions.tolist(), strict=True))
    if len(set(pairs)) != len(pairs):
        raise InvalidArgumentError("states and actions must name each pair once")
    names = ("state", "action")
    return Candidates(ACTING, states, actions, np.arange(states.size), names, pairs)


def _distinct(name: str, given: Any, high: int) -> IntArray:
    found = check.integers(name, given, high=high)
    if found.ndim != 1 or not found.size or np.unique(found).size != found.size:
        places = "; rows and columns are given as cells" if found.ndim == 2 else ""
        raise InvalidArgumentError(
            f"{name} must be a list of distinct numbers from 0 to {high - 1}{places}"
        )
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Constraints:
    """K constraints over the pairs of a model: cost(θ) (K, pairs), limit(θ) (K,) and their names.

    Of every kind, `prices` are what its `candidates` cost; of costs that are whole tables, and of
    models that were read from a file, there are none.
    """

    envelope: Envelope
    cost: Affine
    limit: Affine
    names: tuple[str, ...]
    candidates: tuple[Candidates | None, ...]
    prices: tuple[Affine | None, ...]


def constraints_of(
    mdp: MDP,
    costs: PrivateCost | Mapping[str, PrivateCost],
    states_at: StatesAt | None = None,
    *,
    reward: Affine | None = None,
) -> Constraints:
    """The constraints that kinds of costs make of a model, whose reward may be private, too."""
    alone = isinstance(costs, PrivateCost)
    kinds = {"cost": costs} if alone else dict(costs)
    if not kinds or not all(isinstance(kind, PrivateCost) for kind in kinds.values()):
        raise InvalidArgumentError(
            "costs must be a PrivateCost, or a mapping from names to at least one PrivateCost"
        )
    candidates = {
        name: None if kind.is_table else Candidates.of(mdp, kind, states_at)
        for name, kind in kinds.items()
    }
    prefix = {name: "" if alone else f"{name}." for name in kinds}
    envelope = _envelope(kinds, candidates, prefix, [] if reward is None else [reward])

    def part(given: Any, key: str) -> Affine:
        return envelope[key] if isinstance(given, Envelope) else Affine.of(given, envelope)

    rows, limits, prices = [], [], []
    for name, kind in kinds.items():
        places = candidates[name]
        price = _prices(part(kind.cost, f"{prefix[name]}cost"), places, name)
        rows.append(_pairs(mdp, price, places, name))
        limits.append(part(kind.limit, f"{prefix[name]}limit").reshape(1))
        prices.append(None if places is None else price)
    return Constraints(
        envelope,
        _stacked(envelope, rows, mdp.r.size),
        _stacked(envelope, limits, 1).reshape(len(limits)),
        tuple(kinds),
        tuple(candidates.values()),
        tuple(prices),
    )


def _envelope(
    kinds: Mapping[str, PrivateCost],
    candidates: Mapping[str, Candidates | None],
    prefix: Mapping[str, str],
    shared: list[Affine],
) -> Envelope:
    """That of the expressions, or the private numbers of all kinds as groups."""
    groups: dict[str, Envelope] = {}
    for name, kind in kinds.items():
        for part, places in (("cost", candidates[name]), ("limit", None)):
            given, key = getattr(kind, part), prefix[name] + part
            if isinstance(given, Affine):
                shared.append(given)
            elif isinstance(given, Envelope):
                groups[key] = given if places is None else _labelled(key, given, places)
    if shared and groups:
        raise InvalidArgumentError(
            f"{next(iter(groups))} must be entries of the envelope that other costs, limits or "
            "rewards use: put all private numbers together with Envelope.join({name: envelope, …})"
        )
    if shared:
        first = shared[0].envelope
        if any(part.envelope is not first and part.envelope != first for part in shared):
            raise InvalidArgumentError("costs and limits must be expressions of one envelope")
        return first
    if not groups:
        raise InvalidArgumentError(
            "cost or limit must be an Envelope or an Affine: with public numbers alone there is "
            "nothing private; give them to CMDP"
        )
    return Envelope.join(groups)


def _labelled(key: str, given: Envelope, places: Candidates) -> Envelope:
    """The bounds of costs, one per candidate."""
    if len(given.groups) != 1:
        raise InvalidArgumentError(f"{key} must hold a single group")
    if given.groups[0].shape == ():
        radius, owned = given.radius[0], given.entries_per_record
        given = Envelope(
            given.lower[0],
            given.upper[0],
            radius=radius,
            shape=places.count,
            entries_per_record=owned,
        )
    if given.size != places.count:
        raise InvalidArgumentError(
            f"{key} must have {places.count} entries, one per candidate; it has {given.size}. For "
            "equal bounds say Envelope(lower, upper) without shape"
        )
    known, labels = given.groups[0].labels, _index(places)
    if known and not known[0].equals(labels):
        raise InvalidArgumentError(
            f"{key} must have its candidates as labels, in their order: they are "
            f"{' and '.join(places.names)} {places.labels[:LISTED]}; leave its labels out, "
            "or correct them"
        )
    return Envelope._of(
        given.lower,
        given.upper,
        given.change,
        entries_per_record=given.entries_per_record,
        groups=(Group("values", (given.size,), 0, (labels,)),),
    )


def _index(places: Candidates) -> Any:
    """The candidates as labels of their numbers."""
    import pandas as pd

    if len(places.names) == 1:
        return pd.Index(places.labels, name=places.names[0])
    return pd.MultiIndex.from_tuples(places.labels, names=places.names)


def _prices(cost: Affine, places: Candidates | None, name: str) -> Affine:
    """What each candidate costs, (candidates,); a whole table as it is."""
    if places is None or cost.shape == (places.count,):
        return cost
    if cost.shape != () or not (cost.is_public or places.count == 1):
        raise InvalidArgumentError(
            f"cost of {name!r} must have {places.count} entries, one per candidate, got shape "
            f"{cost.shape}"
        )
    return cost + np.zeros(places.count)


def _pairs(mdp: MDP, cost: Affine, places: Candidates | None, name: str) -> Affine:
    """What each pair costs, (pairs,), never rounded down."""
    size = mdp.r.size
    if places is None:
        if cost.shape != mdp.r.shape:
            hint = transposed("cost", cost.shape, mdp.r.shape) or (
                "cost.T" if cost.shape == mdp.r.shape[::-1] else ""
            )
            raise InvalidArgumentError(
                f"cost of {name!r} must have shape {mdp.r.shape}, one number per state and action, "
                f"or states, cells or actions must name what costs; got shape {cost.shape}"
                f"{hint and f': pass {hint}'}"
            )
        return cost.reshape(size)
    charges = places.charges(mdp)
    fixed = _fixed(charges, cost, size)
    counted = sparse.csr_array(
        (charges.count, (charges.pair, charges.place)), shape=(size, places.count)
    )
    private = cost - cost.constant.toarray().ravel()
    return private.__rmatmul__(counted) + fixed  # scipy would not ask the right operand


def _fixed(charges: Charges, cost: Affine, size: int) -> FloatArray:
    """Public part of every pair's cost, and what negative costs must be raised by.

    Counts that are too high charge negative costs too little: with θ ≥ lowest and
    0 ≤ count − n ≤ excess, count·θ + excess·max(0, −lowest) ≥ n·θ.
    """
    constant, envelope = cost.constant.toarray().ravel(), cost.envelope
    cheap = cost.coefficient > 0.0
    below = sums_up(-cost, np.where(cheap, envelope.lower[cost.entry], envelope.upper[cost.entry]))
    below = np.maximum(below, 0.0)
    parts = [
        np.concatenate([charges.count, charges.excess]),
        np.concatenate([constant[charges.place], below[charges.place]]),
    ]
    return exact.row_sums_up(np.tile(charges.pair, 2), parts, num_rows=size)


def sums_up(part: Affine, numbers: FloatArray) -> FloatArray:
    """An expression where θ is given term by term, never rounded down."""
    fixed, flat = part.constant.tocoo(), part.reshape(part.size)
    place = np.ravel_multi_index(fixed.coords, fixed.shape)
    terms = [
        np.concatenate([fixed.data, flat.coefficient]),
        np.concatenate([np.ones(place.size), numbers]),
    ]
    rows = np.concatenate([place, flat.row])
    return exact.row_sums_up(rows, terms, num_rows=part.size).reshape(part.shape)


def _stacked(envelope: Envelope, rows: list[Affine], width: int) -> Affine:
    """One row per vector, a sparse (rows, width) array."""
    return Affine._of(
        envelope,
        (len(rows), width),
        np.repeat(np.arange(len(rows)), [part.entry.size for part in rows]),
        np.concatenate([part.row for part in rows]),
        np.concatenate([part.entry for part in rows]),
        np.concatenate([part.coefficient for part in rows]),
        sparse.vstack([part.constant.T for part in rows], format="csr"),
    )


def _numbers(name: str, given: Any) -> FloatArray:
    found = check.array(name, given)
    check.reject_non_finite(name, found.ravel())
    return check.frozen(found)
