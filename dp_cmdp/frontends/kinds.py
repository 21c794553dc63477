"""Kinds of private costs, as public facts, and the constraints they make.

What is *public* is said here in full: which states, cells or actions are candidates, on what they
are charged, the bounds of their severities and tolerances, and the radius by which one of these
numbers may differ between adjacent databases. The severities themselves, and tolerances that are
given as an Envelope, are the private database.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from dp_cmdp import _check
from dp_cmdp import _exact as exact
from dp_cmdp._check import FloatArray
from dp_cmdp.cmdp.charges import CHARGED, Charges
from dp_cmdp.data.affine import Affine
from dp_cmdp.data.envelope import Envelope
from dp_cmdp.data.labels import is_default
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.frontends.hazard_table import is_series
from dp_cmdp.frontends.tabular import TabularModel

if TYPE_CHECKING:
    from dp_cmdp.frontends.candidates import Candidates


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PrivateCost:
    """One kind of cost: one constraint.

    Parameters
    ----------
    states : array_like of int, optional
        Candidates by the number of their state.
    cells : array_like of (row, column), optional
        Candidates by their place in the grid, instead; one candidate is all states in its cell.
    actions : array_like of int, optional
        With ``on="acting"``: one candidate per action, wherever it is taken, or with `states` one
        per pair of a state and an action.
    on : {"occupying", "entering", "acting"}, optional
        What is charged: every action taken in a candidate, every move that enters one (moves that
        end the episode included), or one action. By default acting where `actions` are given, else
        occupying.
    severity : Envelope, optional
        Bounds and radius of one private severity per candidate. Its labels are the candidates; it
        may have them already.
    public_severity : array_like, optional
        Numbers that everybody may know, instead.
    tolerance : Envelope or float
        Bounds and radius of the private tolerance; or a number, which is public.

    Notes
    -----
    **Privacy.** *Public*.

    Examples
    --------
    Where holes are is public, how bad each is and how much is tolerated is not:

    >>> from dp_cmdp import Envelope, PrivateCost, import_gymnasium
    >>> holes = PrivateCost(
    ...     states=[5, 7, 11, 12],
    ...     on="entering",
    ...     severity=Envelope(0, 1, radius=0.1, shape=4),
    ...     tolerance=Envelope(0.1, 0.3),
    ... )
    >>> lake = import_gymnasium("FrozenLake-v1", gamma=0.9)
    >>> lake.with_private_costs({"holes": holes}).envelope
    Envelope(severity[4], tolerance[], record_size=1)
    """

    tolerance: Envelope | float
    severity: Envelope | None = None
    public_severity: ArrayLike | None = None
    states: ArrayLike | None = None
    cells: ArrayLike | None = None
    actions: ArrayLike | None = None
    on: str | None = None

    def __post_init__(self) -> None:
        for name in ("states", "cells", "actions"):
            given = getattr(self, name)
            if isinstance(given, set | frozenset):
                raise InvalidArgumentError(
                    f"{name} must have an order, in which severities belong to them: sort the set"
                )
            if given is not None:
                object.__setattr__(self, name, _check.integers(name, given))
        if self.on is not None:
            _check.one_of("on", self.on, CHARGED)
        tolerance = self.tolerance
        if isinstance(tolerance, Envelope):
            if tolerance.num_entries != 1:
                raise InvalidArgumentError(
                    f"tolerance must have one entry, got {tolerance.num_entries}"
                )
        elif not _check.is_real(tolerance):
            raise InvalidArgumentError(
                "tolerance must be an Envelope (private) or a number (public), got "
                f"{type(tolerance).__name__}"
            )
        else:
            object.__setattr__(self, "tolerance", _check.real("tolerance", tolerance))
        if self.severity is not None and not isinstance(self.severity, Envelope):
            raise InvalidArgumentError(
                f"severity must be an Envelope, got {type(self.severity).__name__}: a model says "
                "bounds and radius only, private numbers go to model.database(...). Numbers that "
                "everybody may know are public_severity"
            )
        if self.public_severity is not None:
            if is_series(self.public_severity) and not is_default(self.public_severity.index):
                raise InvalidArgumentError(
                    "public_severity must be in the order of the candidates: the index of a Series "
                    "is not read here; bring it into their order and give a list"
                )
            given = np.atleast_1d(_check.array("public_severity", self.public_severity))
            object.__setattr__(self, "public_severity", _check.vector("public_severity", given))
        if (self.severity is None) == (self.public_severity is None):
            raise InvalidArgumentError("severity or public_severity must be given, and not both")

    @property
    def lowest(self) -> FloatArray:
        """The least that each severity can be."""
        return self.fixed if self.severity is None else self.severity.lower

    @property
    def fixed(self) -> FloatArray:
        """The public severities, where they are."""
        numbers: Any = self.public_severity
        return numbers


def group_of(kinds: Mapping[str, Any], name: str, part: str) -> str:
    return part if len(kinds) == 1 else f"{name}.{part}"


def joined_envelope(
    kinds: Mapping[str, PrivateCost],
    candidates: tuple[Candidates, ...],
    records: Mapping[str, Any] | None,
) -> Envelope:
    """The private numbers of all kinds; severities have their candidates as labels."""
    groups: dict[str, Envelope] = {}
    for (name, cost), places in zip(kinds.items(), candidates, strict=True):
        if cost.severity is not None:
            groups[group_of(kinds, name, "severity")] = places.labelled(name, cost.severity)
        if isinstance(cost.tolerance, Envelope):
            groups[group_of(kinds, name, "tolerance")] = cost.tolerance
    if not groups:
        raise InvalidArgumentError(
            "severity or tolerance must be an Envelope: with public numbers alone there is nothing "
            "private; give cmdp_from_gymnasium its cost and solve_cmdp the result"
        )
    return Envelope.join(groups, records=records)


def refuse_credits(source: TabularModel, kinds: Mapping[str, PrivateCost]) -> None:
    """Refuse negative severities, unless nothing cuts off what they earn back."""
    for name, cost in kinds.items():
        if source.is_endless or not (cost.lowest < 0.0).any():
            continue
        if source.is_limited:
            raise InvalidArgumentError(
                f"severity of {name!r} must not be negative where a time limit cuts episodes "
                "short: what is not earned back any more would be certified as if it were. If env "
                "is played without its TimeLimit, import env.unwrapped, with endless=True"
            )
        raise InvalidArgumentError(
            f"severity of {name!r} must not be negative unless the model is imported with "
            "endless=True, your word that env has no time limit of its own: one that was not seen "
            "would cut off what is certified as earned back"
        )


def cost_rows(
    source: TabularModel,
    kinds: Mapping[str, PrivateCost],
    candidates: tuple[Candidates, ...],
    envelope: Envelope,
) -> Affine:
    """One row per kind: public parts as constants, private ones as terms."""
    size = source.public.r.size
    constant = np.zeros((len(kinds), size))
    rows, pairs, entries, counts = [], [], [], []
    for row, (name, cost) in enumerate(kinds.items()):
        charges = candidates[row].charges(source.public)
        allowance = charges.allowance(cost.lowest, size)
        if isinstance(cost.severity, Envelope):
            index = envelope.index(group_of(kinds, name, "severity")).ravel()
            constant[row] = allowance
            rows.append(np.full(charges.pair.size, row))
            pairs.append(charges.pair)
            entries.append(index[charges.candidate])
            counts.append(charges.count)
        else:
            constant[row] = _added_up(_fixed(charges, cost.fixed, size), allowance)
    if not rows:
        return Affine((len(kinds), size), constant=constant)
    return Affine(
        (len(kinds), size),
        constant=constant if constant.any() else None,
        at=(np.concatenate(rows), np.concatenate(pairs)),
        entry=np.concatenate(entries),
        coefficient=np.concatenate(counts),
    )


def _fixed(charges: Charges, severity: FloatArray, size: int) -> FloatArray:
    """Public costs of every pair, not rounded down."""
    return exact.row_sums_up(
        charges.pair, [charges.count, severity[charges.candidate]], num_rows=size
    )


def _added_up(fixed: FloatArray, allowance: FloatArray) -> FloatArray:
    """Sums that are not rounded down; exact where nothing is added."""
    total = fixed + allowance
    return np.where(allowance > 0.0, np.nextafter(total, np.inf), total)


def tolerance_rows(kinds: Mapping[str, PrivateCost], envelope: Envelope) -> Affine:
    known = [0.0 if isinstance(c.tolerance, Envelope) else c.tolerance for c in kinds.values()]
    private = [
        (row, int(envelope.index(group_of(kinds, name, "tolerance")).ravel()[0]))
        for row, (name, cost) in enumerate(kinds.items())
        if isinstance(cost.tolerance, Envelope)
    ]
    at, entry = [row for row, _ in private], [entry for _, entry in private]
    return Affine(len(kinds), constant=np.array(known), at=at, entry=entry)
