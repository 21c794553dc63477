"""Sides of rows and columns that private numbers may not have: equalities, ranges that collapse.

What is refused here follows from names, public numbers and public bounds. A row of two sides that
meet is an equality to HiGHS; so that its verdict never depends on a private number, sides that
*may* meet within the public bounds are refused in the same words.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dp_cmdp.data.envelope import Envelope
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.frontends.lp_file import LpModel, shown
from dp_cmdp.frontends.lp_places import Group
from dp_cmdp.frontends.lp_spec import PrivateBlock


def check_sides(
    model: LpModel,
    groups: Sequence[Group],
    envelope: Envelope,
    blocks: Sequence[PrivateBlock],
    *,
    public_model: bool,
) -> None:
    """Raise unless every private number stands where noise can leave room for an answer."""
    sides = _Sides(model, groups, envelope)
    for group in groups:
        if group.kind == "coefficient":
            _refuse_equalities(model, group)
        elif group.kind == "rhs":
            sides.check_rows(group)
        elif group.kind == "bound":
            sides.check_columns(group, public_model=public_model)
    if not public_model:
        _check_shared_numbers(model, groups, blocks)


def check_crossed(public: LpModel) -> None:
    """Raise if bounds of a column cross in the public part of a model."""
    crossed = np.flatnonzero(public.lower > public.upper)
    if crossed.size:
        raise InvalidArgumentError(
            "the lower bound must not exceed the upper one; in the model it does for "
            + shown([public.column_names[j] for j in crossed])
        )


def _refuse_equalities(model: LpModel, group: Group) -> None:
    wrong = group.row[model.equal[group.row]]
    if wrong.size:
        raise InvalidArgumentError(
            f"{group.name}: {model.row_names[wrong[0]]} is an equality row. No answer can satisfy "
            "an equality with a private coefficient with certainty: write it as two inequalities "
            "with room between them (a range), or leave it public"
        )


class _Sides:
    """The least that upper sides and the most that lower sides can be, over the public bounds."""

    def __init__(self, model: LpModel, groups: Sequence[Group], envelope: Envelope) -> None:
        self._model = model
        self._rows = {"lower": model.row_lower.copy(), "upper": model.row_upper.copy()}
        self._columns = {"lower": model.lower.copy(), "upper": model.upper.copy()}
        for group in groups:
            ends = envelope.lower if group.side == "upper" else envelope.upper
            if group.kind == "rhs":
                self._rows[str(group.side)][group.row] = ends[envelope.index(group.name)]
            elif group.kind == "bound":
                self._columns[str(group.side)][group.column] = ends[envelope.index(group.name)]

    def check_rows(self, group: Group) -> None:
        model, row = self._model, group.row
        own = model.row_upper if group.side == "upper" else model.row_lower
        without = ~np.isfinite(own[row]) & ~model.equal[row]
        if without.any():
            name = model.row_names[row[np.argmax(without)]]
            sign = "≤" if group.side == "upper" else "≥"
            raise InvalidArgumentError(
                f"{group.name}: {name} has no {group.side} side ({sign}) whose right-hand side "
                "could be private"
            )
        meet = model.equal[row] | (self._rows["lower"][row] >= self._rows["upper"][row])
        if meet.any():
            raise InvalidArgumentError(
                f"{group.name}: {model.row_names[row[np.argmax(meet)]]} is an equality row, or a "
                "range whose two sides may meet within the public bounds. No answer can satisfy it "
                "for every database: write an equality as two inequalities with room between them, "
                "or choose public bounds that keep the sides apart"
            )

    def check_columns(self, group: Group, *, public_model: bool) -> None:
        model, column = self._model, group.column
        lower, upper = self._columns["lower"][column], self._columns["upper"][column]
        wrong = lower > upper
        if not public_model:  # a fixed column states both its bounds by one number
            wrong |= (lower == upper) | (model.lower[column] == model.upper[column])
        if wrong.any():
            name = model.column_names[column[np.argmax(wrong)]]
            raise InvalidArgumentError(
                f"{group.name}: the two bounds of {name} may {'cross' if public_model else 'meet'} "
                "within the public bounds: choose public bounds that keep them apart"
                + ("" if public_model else ", or give the private numbers in a file of their own")
            )


def _check_shared_numbers(
    model: LpModel, groups: Sequence[Group], blocks: Sequence[PrivateBlock]
) -> None:
    """Numbers of the file from which a public side would follow."""
    records: dict[str, dict[int, str]] = {"lower": {}, "upper": {}}
    for group, block in zip(groups, blocks, strict=True):
        if group.kind == "rhs":
            records[str(group.side)].update(dict.fromkeys(group.row.tolist(), block.record))
        if group.kind == "bound" and group.side == "upper" and block.lower < 0.0:
            raise InvalidArgumentError(
                f"{group.name}: in the model file a negative upper bound may change the lower one, "
                "which is public. Choose lower ≥ 0, or give the private numbers in a file of their "
                "own (--data)"
            )
    two = np.isfinite(model.row_lower) & np.isfinite(model.row_upper)
    for side, other in (("lower", "upper"), ("upper", "lower")):
        for row, record in records[side].items():
            if two[row] and (record not in ("row", "all") or records[other].get(row) != record):
                raise InvalidArgumentError(
                    f"{model.row_names[row]} is a range: its file states both sides by one "
                    "right-hand side, so that they are private together. Make the other side "
                    'private too, both with record = "row" (or "all"), or give the private numbers '
                    "in a file of their own (--data)"
                )
