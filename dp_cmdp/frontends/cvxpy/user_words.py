"""Refusals of the linear program in terms of the user's constraints and variables."""

from __future__ import annotations

from dp_cmdp._check import SHOWN
from dp_cmdp.errors import AssumptionError
from dp_cmdp.frontends.cvxpy.compiled import CompiledProblem
from dp_cmdp.program.assumptions import public_repair


def in_user_words(compiled: CompiledProblem, error: AssumptionError) -> AssumptionError:
    """The same refusal about the user's constraints and variables."""
    if error.label == "ass:feast" and error.relaxation:
        text = (
            "no answer is feasible for all data within the public bounds, so none could be "
            f"feasible with certainty. Smallest repair: relax {_listed(error)}; or narrow the "
            "public bounds of the parameters in them; or give them a slack variable that the "
            "objective charges. No data was read"
        )
        return AssumptionError(
            text, label=error.label, rows=error.rows, relaxation=error.relaxation
        )
    if error.label == "ass:feast" and (
        public := public_repair(compiled.program, compiled.public_row_names())
    ):
        found = AssumptionError("", label=error.label, rows=public[0], relaxation=public[1])
        text = (
            "the public constraints contradict each other, whatever the private data is. Smallest "
            f"repair: relax {_listed(found)}. No data was read"
        )
        return AssumptionError(text, label=error.label, rows=found.rows, relaxation=public[1])
    if error.label == "ass:bounded" and error.rows:
        names = tuple(compiled.variable_name(int(row[2:-1])) for row in error.rows)
        text = (
            "the objective may be unbounded for some data within the public bounds: "
            f"{', '.join(names[:SHOWN])} can grow without limit. Give them bounds. No data was read"
        )
        return AssumptionError(text, label=error.label, rows=names)
    return error


def _listed(error: AssumptionError) -> str:
    """Rows and by how much each must give way, as text."""
    pairs = list(zip(error.rows, error.relaxation, strict=True))
    shown = ", ".join(f"{name} by {amount:.6g}" for name, amount in pairs[:SHOWN])
    return shown + (f" and {len(pairs) - SHOWN} more" if len(pairs) > SHOWN else "")
