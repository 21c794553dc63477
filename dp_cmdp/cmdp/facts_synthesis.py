"""From certain facts about a database to a policy that is certainly safe.

A release with totals leaves a polytope of databases. The constraints of a policy's occupancy for
all of them are linear, with auxiliary variables (:mod:`dp_cmdp.program.polytope_rows`): the best
occupancy is found in floats (:mod:`dp_cmdp.cmdp.solvers.row_solution`), its policy is certified
(:mod:`dp_cmdp.cmdp.facts_certificate`), and what rounding breaks a margin mends, as in
:mod:`dp_cmdp.cmdp.synthesis`.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from dp_cmdp import _check
from dp_cmdp._check import FloatArray
from dp_cmdp._door import door
from dp_cmdp.cmdp.chain import DiscountedChain
from dp_cmdp.cmdp.facts_certificate import certify_over
from dp_cmdp.cmdp.model import CMDP
from dp_cmdp.cmdp.occupancy import policy_of
from dp_cmdp.cmdp.parametric import ParametricCMDP
from dp_cmdp.cmdp.solvers.row_solution import INTERIOR, LARGE, RowSolution, solve_rows_of
from dp_cmdp.cmdp.synthesis import MARGIN_ATTEMPTS, SafePolicy, rounding_allowance, value_of
from dp_cmdp.data.polytope import Polytope
from dp_cmdp.errors import SolverError
from dp_cmdp.program.counterpart import Counterpart
from dp_cmdp.program.parametric import ParametricLP
from dp_cmdp.program.polytope_rows import PolytopeRows, check_consistent
from dp_cmdp.release.row_solver import Solver

if TYPE_CHECKING:
    from dp_cmdp.cmdp.solvers.pool import PolicyPool

#: First margin, relative to the size of the tolerance and of the largest discounted cost.
FIRST_ROW_MARGIN = 2.0**-34
#: Relative gap asked for: of a policy, and of a proposal, which nobody plays.
POLICY_GAP, PROPOSAL_GAP = 1e-6, 1e-5
#: Policies kept from one solve to the next: each makes the masters of all later ones slower.
ROW_POLICIES = 32
#: Where a likely entry stands between its bounds, as in the first public trial of a plan.
LIKELY = 0.35
#: Shares of the tolerances that the first policies of a large model leave unused.
SPARED = (0.0, 0.03, 0.1)


@door
def policy_over(
    model: ParametricCMDP,
    polytope: Polytope,
    *,
    guess: ArrayLike | None = None,
    pool: PolicyPool | None = None,
) -> SafePolicy:
    """The best policy that is certainly safe for every database of a polytope.

    Parameters
    ----------
    model : ParametricCMDP
    polytope : Polytope
        Of databases of the model.
    guess : array_like, optional
        Likely values of the entries; a start for large models.
    pool : PolicyPool, optional
        Policies of earlier solves on the same dynamics, to start from.

    Returns
    -------
    SafePolicy
        Certified also where the solver did not converge; `upper_bound` says how much better the
        best policy may be.

    Raises
    ------
    InfeasibleError
        If no policy is safe for all of them.
    SolverError
        If none could be found and certified.

    Notes
    -----
    **Privacy.** *Post-processing*.
    """
    _check.instance("model", model, ParametricCMDP)
    _check.instance("polytope", polytope, Polytope)
    size = model.envelope.num_entries
    likely = None if guess is None else _check.vector("guess", guess, size=size)
    program = model.program()
    rows = program.polytope_rows(polytope).counterpart()
    check_consistent(polytope)
    box = model.robust(polytope.lower, polytope.upper)
    own = started_pool(model, pool, box=box) if box.num_states > LARGE else None
    if own is not None and likely is not None:
        _learn(own, model.at(likely))
    margin = FIRST_ROW_MARGIN * (
        np.abs(box.f0) + np.abs(box.f).max(axis=(1, 2)) / (1.0 - box.gamma)
    )
    for _ in range(MARGIN_ATTEMPTS):
        kept = replace(rows, b=rows.b - margin)
        solution = solve_rows_of(
            program, model.public, kept, objective=model.public.r.ravel(), gap=POLICY_GAP, pool=own
        )
        found = _certified(model, polytope, box, rows=kept, solution=solution, margin=margin)
        if found.certificate.verified:
            return found
        excess = np.maximum(-found.certificate.slack, 0.0)
        margin = 2.0 * margin + 4.0 * np.where(np.isfinite(excess), excess, 0.0)
    raise SolverError("no policy could be certified for every database that the facts allow")


def row_solver(model: ParametricCMDP, *, pool: PolicyPool | None = None) -> Solver | None:
    """A solver of proposals (:mod:`dp_cmdp.release.proposal`) for the program of a model.

    None, which is HiGHS, where there are few states. Each solve starts from the policies of those
    before, which a `pool` keeps. Without one, or with a new :func:`public_pool`, a solver depends
    on the model and on what it is given alone.

    Notes
    -----
    **Privacy.** *Public*.
    """
    if model.public.num_states < INTERIOR:
        return None
    own = public_pool(model) if pool is None else pool

    def solve(
        program: ParametricLP, rows: PolytopeRows, objective: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        found = solve_rows_of(
            program,
            model.public,
            rows.counterpart(),
            objective=objective,
            gap=PROPOSAL_GAP,
            pool=own,
        )
        multipliers = found.auxiliary[found.auxiliary.size - rows.num_multipliers :]
        return found.occupancy.ravel(), np.maximum(multipliers, 0.0)

    return solve


def public_pool(model: ParametricCMDP) -> PolicyPool:
    """A new pool that has seen public data alone.

    It knows policies that are safe for all databases and, of a large model, for a likely one.

    Notes
    -----
    **Privacy.** *Public*.
    """
    own, envelope = started_pool(model, None, box=model.robust()), model.envelope
    if model.public.num_states > LARGE:
        _learn(own, model.at(envelope.lower + LIKELY * (envelope.upper - envelope.lower)))
    return own


def started_pool(model: ParametricCMDP, pool: PolicyPool | None, *, box: CMDP) -> PolicyPool:
    """A pool with policies that are safe for a whole box, if there are any."""
    from dp_cmdp.cmdp.solvers.pool import PolicyPool

    own = PolicyPool(model.public, capacity=ROW_POLICIES) if pool is None else pool
    with suppress(SolverError):
        own.solve(box.f, box.f0)
    return own


def _learn(pool: PolicyPool, cmdp: CMDP) -> None:
    """Policies for likely costs, at tolerances that leave more or less for what is not known."""
    for spared in SPARED:
        with suppress(SolverError):
            pool.solve(cmdp.f, cmdp.f0 - spared * np.abs(cmdp.f0))


def _certified(
    model: ParametricCMDP,
    polytope: Polytope,
    box: CMDP,
    *,
    rows: Counterpart,
    solution: RowSolution,
    margin: FloatArray,
) -> SafePolicy:
    """The policy of a solution, certified or not."""
    public, y = model.public, solution.dual
    policy = policy_of(box, solution.occupancy)
    chain = DiscountedChain(public, policy)
    A = sparse.vstack([rows.A, rows.A_aux], format="csr")[:, : public.r.size]
    table = public.r - (A.T @ y).reshape(public.r.shape)
    pull = float(y @ np.abs(np.concatenate([rows.b, rows.b_aux])))
    allowance = rounding_allowance(chain, public, table=table, pull=pull)
    return SafePolicy(
        policy=policy,
        value=value_of(chain, public, occupancy=solution.occupancy),
        certificate=certify_over(model, policy, polytope, chain=chain),
        upper_bound=solution.upper_bound + float(y[: margin.size] @ margin) + allowance,
        margin=float(margin.max()),
    )
