"""Refusals of the linear program in terms of the user's constraints and variables."""

from __future__ import annotations

import numpy as np

from dp_cmdp._check import SHOWN
from dp_cmdp.errors import AssumptionError, SolverError
from dp_cmdp.frontends.cvxpy.compiled import CompiledProblem
from dp_cmdp.program.engines.elastic import elastic_program
from dp_cmdp.program.linear_program import solve as solve_linear


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
    if error.label == "ass:feast" and (public := _public_repair(compiled)):
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


def _public_repair(compiled: CompiledProblem) -> tuple[tuple[str, ...], tuple[float, ...]] | None:
    """Public rows that must give way, and by how much; None if the public rows agree."""
    program = compiled.program
    n, m, k = program.num_variables, program.b_ub.size, program.b_eq.size
    elastic = elastic_program(
        program.A_ub,
        program.b_ub,
        A_eq=program.A_eq,
        b_eq=program.b_eq,
        lower=program.lower,
        upper=program.upper,
    )
    try:
        given = solve_linear(elastic, certify=False).x[n:]
    except SolverError:
        return None
    amount = np.concatenate([given[:m], given[m : m + k] + given[m + k :]])
    failing = np.flatnonzero(amount > 1e-8 * (1 + np.abs(np.append(program.b_ub, program.b_eq))))
    names = compiled.public_row_names()
    return (
        (tuple(names[i] for i in failing), tuple(amount[failing].tolist()))
        if failing.size
        else None
    )
