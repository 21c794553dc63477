"""What is wrong with a file's program from public data alone, in the words of the file.

A program's rows are A x ≤ b; the file's may be ≥, ranges and bounds of columns. So a repair says
which number of the file is to be raised or lowered.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from dp_cmdp import _check
from dp_cmdp.errors import AssumptionError
from dp_cmdp.frontends.lp_file import LpModel
from dp_cmdp.program.assumptions import public_repair
from dp_cmdp.program.parametric import ParametricLP

_BOUND = re.compile(r"(lower|upper) bound of \S+")
_SIDE = re.compile(r"(.*) \((lower|upper) side\)")


def in_file_words(
    error: AssumptionError, program: ParametricLP, model: LpModel, public_rows: Sequence[str]
) -> AssumptionError:
    """The error about the file's rows and columns, with the direction of each repair."""
    if error.label == "ass:feast" and error.relaxation:
        repairs = _repairs(model, error.rows, error.relaxation)
        text = (
            "no point is feasible for every database within the public bounds, so no private "
            f"answer could be feasible with certainty. Smallest repair: {repairs}; or narrow the "
            "public bounds of the private numbers in these rows. No data was read"
        )
        return AssumptionError(
            text, label=error.label, rows=error.rows, relaxation=error.relaxation
        )
    equal = [model.row_names[i] for i in np.flatnonzero(model.equal)]
    if error.label == "ass:feast" and (found := public_repair(program, [*public_rows, *equal])):
        text = (
            "the public rows and bounds contradict each other, whatever the private numbers are. "
            f"Smallest repair: {_repairs(model, *found)}. No data was read"
        )
        return AssumptionError(text, label=error.label, rows=found[0], relaxation=found[1])

    def name(found: re.Match[str]) -> str:
        return model.column_names[int(found[1])]

    return AssumptionError(
        re.sub(r"x\[(\d+)\]", name, str(error)),
        label=error.label,
        rows=tuple(re.sub(r"^x\[(\d+)\]$", name, row) for row in error.rows),
        relaxation=error.relaxation,
    )


def _repairs(model: LpModel, rows: Sequence[str], amounts: Sequence[float]) -> str:
    shown = ", ".join(
        _repair(model, row, amount)
        for row, amount in list(zip(rows, amounts, strict=True))[: _check.SHOWN]
    )
    return shown + (f" and {len(rows) - _check.SHOWN} more" if len(rows) > _check.SHOWN else "")


def _repair(model: LpModel, row: str, amount: float) -> str:
    """Which number to move which way; names in files hold no spaces."""
    if bound := _BOUND.fullmatch(row):
        return f"{'raise' if bound[1] == 'upper' else 'lower'} the {row} by {amount:.6g}"
    if side := _SIDE.fullmatch(row):
        verb = "raise" if side[2] == "upper" else "lower"
        return f"{verb} the {side[2]} side of {side[1]} by {amount:.6g}"
    at = model.row_names.index(row)
    if model.equal[at]:
        return f"move the right-hand side of {row} by {amount:.6g}"
    verb = "raise" if np.isfinite(model.row_upper[at]) else "lower"
    return f"{verb} the right-hand side of {row} by {amount:.6g}"
