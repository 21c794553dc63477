"""What a solution's file proves, from its program and its release.

Every number that the program and the point determine is computed again, by the functions that the
certificate is made with, and must be the one stated. What depends on the solver's way to the point
(margin, number of solves, engine, multipliers) determines nothing and proves nothing.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from dp_cmdp._check import FloatArray
from dp_cmdp.data.polytope import Polytope
from dp_cmdp.data.release import Release
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.program.certified import EQUALITY_TOLERANCE, equality_residuals
from dp_cmdp.program.entrywise import entrywise
from dp_cmdp.program.linear_program import Solution, inequality_slack
from dp_cmdp.program.parametric import ParametricLP
from dp_cmdp.release.looks import objective_estimate
from dp_cmdp.verification.claims import Claim


def solution_claims(program: ParametricLP, made: Release | None, answer: Solution) -> list[Claim]:
    """What is proved of a solution over everything its release (None: its envelope) allows."""
    _check_sizes(program, answer)
    target = program if made is None or made.method == "database" else entrywise(program)
    facts = made.polytope if made is not None else Polytope(*_public_bounds(target))
    slack = target.certain_slack(answer.x, facts, multipliers=answer.multipliers)
    worst = float(slack.min(initial=np.inf))
    residual = equality_residuals(program.A_eq, program.b_eq, x=answer.x)[1]
    off = float(residual.max(initial=0.0))
    inside = bool(((program.lower <= answer.x) & (answer.x <= program.upper)).all())
    return [
        Claim(
            "every inequality row holds with certainty",
            worst >= 0,
            f"{slack.size} rows, least slack {worst:.9g}, in exact arithmetic",
        ),
        Claim("the variables lie in their bounds", inside, f"{answer.x.size} variables"),
        Claim(
            f"equality rows hold to {EQUALITY_TOLERANCE:.2g} of their own terms",
            off <= EQUALITY_TOLERANCE,
            f"{residual.size} rows, largest residual {off:.3g}" if residual.size else "none",
        ),
        _objective_claim(target, made, answer),
        _certificate_claim(answer, worst, off),
        Claim(
            "the multipliers of inequality rows are not negative",
            bool((answer.dual >= 0).all()),
            "their signs only",
        ),
        Claim("no other answer is better", None, "the multipliers are the solver's word"),
        Claim(
            "engine, margin and attempts are as stated",
            None,
            "how the solver came to its point cannot be seen from the point",
        ),
    ]


def _check_sizes(program: ParametricLP, answer: Solution) -> None:
    rows = program.A.shape[0] + program.b_ub.size
    for name, size, what in (
        ("x", program.num_variables, "variables"),
        ("dual", rows, "inequality rows"),
        ("dual_eq", program.b_eq.size, "equality rows"),
    ):
        found = getattr(answer, name).size
        if found != size:
            raise InvalidArgumentError(f"its {name} has {found} numbers, its program {size} {what}")


def _public_bounds(target: ParametricLP) -> tuple[FloatArray, FloatArray]:
    return target.envelope.lower, target.envelope.upper


def _objective_claim(target: ParametricLP, made: Release | None, answer: Solution) -> Claim:
    """cᵀx, stated as a sum of floats: it may differ from the exact one by their rounding."""
    low, high = _public_bounds(target)
    theta = (low + high) / 2 if made is None else objective_estimate(target, made)
    cost = target.c.at(theta)
    minus = sparse.csr_array(-cost[None])
    found = float(inequality_slack(minus, np.zeros(1), x=answer.x)[0])
    room = cost.size * 2.0**-52 * float(np.abs(cost) @ np.abs(answer.x))
    return Claim(
        "its objective is that of the point, to the rounding of its sum",
        bool(abs(found - answer.objective) <= room),
        f"stated {answer.objective:.9g}, found {found:.9g}",
    )


def _certificate_claim(answer: Solution, worst: float, off: float) -> Claim:
    """The certificate's numbers, bit for bit."""
    claim = "its certificate states what is found"
    proof = answer.certificate
    if proof is None:
        return Claim(claim, False, "it has none")
    facts = {
        "verified": (proof.verified, True),
        "worst_slack": (proof.worst_slack, worst),
        "equality_residual": (proof.equality_residual, off),
        "equality_tolerance": (proof.equality_tolerance, EQUALITY_TOLERANCE),
    }
    wrong = [
        f"{name} {said!r}, found {found!r}"
        for name, (said, found) in facts.items()
        if said != found
    ]
    return Claim(claim, not wrong, "; ".join(wrong) or ", ".join(facts))
