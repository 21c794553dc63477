"""The candidates of one kind of cost: which states or pairs each of them stands for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dp_cmdp import _check
from dp_cmdp.cmdp.charges import ACTING, ENTERING, OCCUPYING, Charges, Places, met_states
from dp_cmdp.cmdp.model import CMDP
from dp_cmdp.data.envelope import Envelope
from dp_cmdp.data.labels import Axis, Labels
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.frontends.hazard_table import Columns
from dp_cmdp.frontends.tabular import TabularModel

if TYPE_CHECKING:
    from dp_cmdp.frontends.kinds import PrivateCost

IntArray = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """Places of one kind, and the candidate that each belongs to.

    Attributes
    ----------
    on : str
    states : (places,) int
    actions : (places,) int, or None
        Of costs on acting.
    owner : (places,) int
        The candidate, in the order in which they were given.
    columns : mapping
        How a table of hazards may name the candidates; first as they were given.
    """

    on: str
    states: IntArray
    actions: IntArray | None
    owner: IntArray
    columns: Columns

    @classmethod
    def of(cls, source: TabularModel, cost: PrivateCost) -> Candidates:
        """The candidates of a kind, one per entry of its severity."""
        on = cost.on or (OCCUPYING if cost.actions is None else ACTING)
        if (on == ACTING) != (cost.actions is not None):
            raise InvalidArgumentError(
                f"actions must be given for costs on {ACTING!r}, and only for them; on is {on!r}"
            )
        if on == ACTING:
            found = _actions(source, cost)
        elif (cost.states is None) == (cost.cells is None):
            raise InvalidArgumentError(
                "states or cells must be given, and not both: the public candidates"
            )
        else:
            found = _states(source, cost, on) if cost.cells is None else _cells(source, cost, on)
        count = int(found.owner.max()) + 1
        if count != cost.lowest.size:
            raise InvalidArgumentError(
                f"severity must have {count} entries, one per candidate; it has "
                f"{cost.lowest.size}. For equal bounds say Envelope(lower, upper, shape={count})"
            )
        return found

    def charges(self, public: CMDP) -> Charges:
        """What is charged for them, in the order of candidates."""
        if self.actions is None:
            places = Places("cell" if self.labels.names == ("row", "col") else "state", self._names)
            charges = Charges.of(public, self.states, on=self.on, places=places)
        else:
            charges = Charges.of_actions(public, self.states, self.actions)
        return replace(charges, candidate=self.owner[charges.candidate])

    @property
    def _names(self) -> list[Any]:
        """The label of the candidate that each place belongs to."""
        found = self.labels.axes[0].labels
        return [found[number] for number in self.owner.tolist()]

    @property
    def labels(self) -> Labels:
        """The candidates as labels of their severities, named as columns of a table are."""
        names, places = next(iter(self.columns.items()))
        found = sorted(places, key=places.__getitem__)
        return Labels((Axis(tuple(p if len(names) > 1 else p[0] for p in found), names),))

    def labelled(self, name: str, severity: Envelope) -> Envelope:
        """The bounds of severities, with the candidates as their labels.

        Which entry is whose severity is then a part of the envelope: a database or a release of
        other candidates, or of these in another order, does not fit.
        """
        wanted = self.labels
        if len(severity.groups) != 1:
            raise InvalidArgumentError(f"severity of {name!r} must hold a single group")
        given = severity.labels[0]
        if given and not _agree(given, wanted):
            raise InvalidArgumentError(
                f"severity of {name!r} must have its candidates as labels, in their order: they "
                f"are {' and '.join(wanted.names)} {wanted.shown(range(severity.num_entries))}; "
                "leave its labels out, or correct them"
            )
        return Envelope(
            severity.lower,
            severity.upper,
            radius=severity.radius,
            records=severity.records,
            labels=wanted,
            name=severity.groups[0][0],
        )


def _states(source: TabularModel, cost: PrivateCost, on: str) -> Candidates:
    states = _distinct("states", cost.states, source.num_states)
    numbers = {(state,): place for place, state in enumerate(states.tolist())}
    columns: dict[tuple[str, ...], Mapping[tuple[int, ...], int]] = {("state",): numbers}
    if source.cells is not None:
        cells = [tuple(map(int, source.cells[state])) for state in states]
        if len(set(cells)) == len(cells):
            columns["row", "col"] = {cell: place for place, cell in enumerate(cells)}
        columns["state", "row", "col"] = {
            (state, *cells[place]): place for (state,), place in numbers.items()
        }
    return Candidates(on, states, None, np.arange(states.size), columns)


def _cells(source: TabularModel, cost: PrivateCost, on: str) -> Candidates:
    given = _check.integers("cells", cost.cells)
    if given.ndim != 2 or given.shape[1] != 2 or not given.size:
        raise InvalidArgumentError("cells must be a list of (row, column)")
    places = [tuple(place) for place in given.tolist()]
    if len(set(places)) != len(places):
        raise InvalidArgumentError("cells must name each cell once")
    met = met_states(source.public, on=ENTERING)
    if on == OCCUPYING:  # states in which episodes end stay in, to be refused
        met |= met_states(source.public, on=OCCUPYING)
    states, owner = [], []
    both: dict[tuple[int, ...], int] = {}
    for number, (row, col) in enumerate(places):
        here = source.states_at(row, col)
        both |= {(state, row, col): number for state in here.tolist()}
        charged = here[met[here]] if met[here].any() else here
        states.append(charged)
        owner.append(np.full(charged.size, number))
    columns: dict[tuple[str, ...], Mapping[tuple[int, ...], int]] = {
        ("row", "col"): {place: number for number, place in enumerate(places)},
        ("state", "row", "col"): both,
    }
    return Candidates(on, np.concatenate(states), None, np.concatenate(owner), columns)


def _actions(source: TabularModel, cost: PrivateCost) -> Candidates:
    if cost.cells is not None:
        raise InvalidArgumentError("cells must be left out for costs on acting; give states")
    if cost.states is not None:
        return _pairs(source, cost)
    actions = _distinct("actions", cost.actions, source.num_actions)
    acting = np.flatnonzero(met_states(source.public, on=ACTING)[: source.num_states])
    columns = {("action",): {(action,): place for place, action in enumerate(actions.tolist())}}
    return Candidates(
        ACTING,
        np.tile(acting, actions.size),
        np.repeat(actions, acting.size),
        np.repeat(np.arange(actions.size), acting.size),
        columns,
    )


def _pairs(source: TabularModel, cost: PrivateCost) -> Candidates:
    states = _check.integers("states", cost.states, high=source.num_states)
    actions = _check.integers("actions", cost.actions, high=source.num_actions)
    if states.ndim != 1 or actions.shape != states.shape or not states.size:
        raise InvalidArgumentError(
            "states and actions must be lists of one length: one pair per candidate"
        )
    pairs = list(zip(states.tolist(), actions.tolist(), strict=True))
    if len(set(pairs)) != len(pairs):
        raise InvalidArgumentError("states and actions must name each pair once")
    columns: dict[tuple[str, ...], Mapping[tuple[int, ...], int]] = {
        ("state", "action"): {pair: place for place, pair in enumerate(pairs)}
    }
    if source.cells is not None:
        columns["state", "action", "row", "col"] = {
            (*pair, *map(int, source.cells[pair[0]])): place for place, pair in enumerate(pairs)
        }
    return Candidates(ACTING, states, actions, np.arange(states.size), columns)


def _agree(given: Labels, wanted: Labels) -> bool:
    """Whether labels name the same places in the same order, and nothing else by their levels."""
    if len(given.names) != len(wanted.names):
        return False
    levels = zip(given.names, wanted.names, strict=True)
    return given.flat() == wanted.flat() and all(own in ("", name) for own, name in levels)


def _distinct(name: str, given: object, high: int) -> IntArray:
    found = _check.integers(name, given, high=high)
    if found.ndim != 1 or not found.size or np.unique(found).size != found.size:
        places = "; rows and columns are given as cells" if found.ndim == 2 else ""
        raise InvalidArgumentError(
            f"{name} must be a list of distinct numbers from 0 to {high - 1}{places}"
        )
    return found
