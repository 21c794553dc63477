"""From what is known of a database to a policy that certainly keeps its limits.

The best occupancy under the robust rows is found in floats: by compiled policies where every number
has one worst end, as over boxes, else with auxiliary variables and multipliers
(``solvers/row_solver.py``). Its policy is extracted, and a proven bound on what *that policy* may
exceed its limits by decides. Rounding may break a limit by a hair: then the solve is repeated with
a margin, until the certificate holds. Where the limits leave no room for a margin, the program is
solved without one, and the costs of a small model are found as fractions.

The multipliers y of the program with limits − margin bound the value at the limits as well,

    max_π (r_π − yᵀa_π) + yᵀlimit = (the bound at limit − margin) + yᵀmargin,

which is the upper bound reported, plus an allowance for rounding.

Over a horizon the policies mixed are those of backward passes; for totals all of this is done in
the discounted model of the same policies (:mod:`dp_cmdp._src.cmdp.ending`), and proved in the model
itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dp_cmdp._src.base.errors import InfeasibleError, SolverError
from dp_cmdp._src.base.validation import FloatArray, frozen
from dp_cmdp._src.cmdp.answer import PolicyAnswer
from dp_cmdp._src.cmdp.certificate import UNIT, excess_of
from dp_cmdp._src.cmdp.chain import chain_of
from dp_cmdp._src.cmdp.model import CMDP, MDP, reject_beyond
from dp_cmdp._src.cmdp.policy import Policy
from dp_cmdp._src.cmdp.solvers.occupancy_lp import Solution
from dp_cmdp._src.cmdp.solvers.pool import PolicyPool
from dp_cmdp._src.cmdp.solvers.row_solver import INTERIOR, LARGE, solve_rows
from dp_cmdp._src.data.envelope import UncertaintySet, is_everything
from dp_cmdp._src.program.answer import Certificate
from dp_cmdp._src.program.rows import RobustRows, check_consistent

if TYPE_CHECKING:
    from dp_cmdp._src.cmdp.chain import Chain
    from dp_cmdp._src.cmdp.parametric import ParametricCMDP
    from dp_cmdp._src.cmdp.solvers.horizon import EpisodePool

#: Margins tried at most, each larger than the last.
MARGIN_ATTEMPTS = 20
#: First margins, relative to the size of the limit and of the largest discounted cost: of compiled
#: policies, and of linear programs.
FIRST_MARGIN, FIRST_ROW_MARGIN = 2.0**-42, 2.0**-34
#: Relative gaps asked for: of compiled policies; of rows; and of a proposal, which nobody plays.
GAP, ROW_GAP, PROPOSAL_GAP = 1e-8, 1e-6, 1e-5
#: Without room for a margin, models of at most so many states are certified in fractions.
EXACT_STATES = 40
#: A first margin is for so many steps of a horizon.
STEPS_OF_A_MARGIN = 32
#: Policies kept from one answer to the next: each makes the masters of all later ones slower.
WARM_POLICIES = 32
#: Shares of the limits that the first policies of a large model leave unused.
SPARED = (0.0, 0.03, 0.1)
#: Occupancies below this fraction of Σx are a solver's noise.
NOISE = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Warm:
    """What an answer leaves to later ones of the same dynamics: policies with their occupancies,
    and bases of linear programs by their shape."""

    policies: NDArray[np.int32]
    occupancies: FloatArray
    bases: Mapping[tuple[int, ...], Any]


@dataclass(frozen=True, slots=True, eq=False)
class _Search:
    """A question, and how the best occupancy for it is found.

    `mdp` is what is solved: that of the problem, or the discounted one of its policies. There,
    `inner` are the rows, `worst` has every number at its worst, one by one, and A x ≤ b are the
    rows over the pairs. An occupancy x of it is scale·x in the problem, which is proved by `rows`.
    `pool` may be None where there are auxiliary variables.
    """

    problem: ParametricCMDP
    rows: RobustRows
    mdp: MDP
    inner: RobustRows
    scale: FloatArray | float
    estimate: FloatArray
    row_gap: float
    pool: PolicyPool | EpisodePool | None
    bases: dict[tuple[int, ...], Any]
    first_margin: FloatArray
    worst: CMDP
    A: Any
    b: FloatArray

    def solve(self, margin: FloatArray) -> Solution:
        """The best occupancy that keeps every limit by its margin."""
        pool, box = self.pool, not self.inner.extra
        if isinstance(pool, PolicyPool):
            if box:
                return pool.solve(self.worst.cost, self.worst.limit - margin, gap=GAP)
        elif pool is not None:
            if box and margin.size == 1:
                return pool.solve(float((self.worst.limit - margin)[0]), gap=GAP)
            pool = type(pool)(self.mdp, sparse.csr_array(self.A[: margin.size if box else 0]))
        shape = self.b.shape
        found = solve_rows(
            self.mdp,
            self.inner,
            margin=margin,
            gap=self.row_gap,
            pool=pool,
            basis=self.bases.get(shape),
        )
        self.bases[shape] = found.basis
        return found


def answer(
    problem: ParametricCMDP,
    known: UncertaintySet,
    estimate: FloatArray | None,
    *,
    start: PolicyAnswer | None,
    certified: bool,
) -> PolicyAnswer:
    """:meth:`ParametricCMDP.answer`."""
    if certified:
        check_consistent(known)
    theta = known.lower + (known.upper - known.lower) / 2 if estimate is None else estimate
    rows = RobustRows(problem.rows, known)
    try:
        search = _search(problem, rows, theta, start=start, certified=certified)
        return _found(search, certified=certified)
    except InfeasibleError:
        if is_everything(known, problem.envelope) and problem.envelope.size:
            from dp_cmdp._src.cmdp.refusals import refusal

            raise refusal(problem, rows) from None
        raise
    except SolverError:
        if known.is_box:
            raise
        box = UncertaintySet.box(known.lower, known.upper)  # may still give a policy
        found = answer(problem, box, theta, start=start, certified=certified)
        shape = (len(problem.names), known.q.size)
        return replace(found, multipliers=sparse.csr_array(shape), source="release", _known=known)


def _search(
    problem: ParametricCMDP,
    rows: RobustRows,
    estimate: FloatArray,
    *,
    start: PolicyAnswer | None,
    certified: bool,
) -> _Search:
    model, inner, scale = problem, rows, 1.0
    if problem.mdp.ending is not None:
        model, scale = problem.solved, problem.mdp.ending.scale[:, None]
        inner = RobustRows(model.rows, rows.known)
    mdp, worst = model.mdp, model.worst(rows.known)
    reject_beyond("cost", worst.cost, steps=mdp.steps)
    warm = start._warm if start is not None and start.problem.mdp.T is problem.mdp.T else None
    bases = {} if warm is None else dict(warm.bases)
    size = np.abs(worst.limit) + np.abs(worst.cost).max(axis=(1, 2)) * mdp.steps
    pool, large, box = None, mdp.num_states > LARGE, not rows.extra
    if mdp.horizon is not None:
        from dp_cmdp._src.cmdp.solvers.horizon import EpisodePool

        size *= max(1.0, mdp.horizon / STEPS_OF_A_MARGIN)
        few = sparse.csr_array(worst.cost.reshape(size.size, -1))
        pool = EpisodePool(mdp, few if box else few[:0])
    elif box or large or (not certified and mdp.num_states >= INTERIOR):
        pool = PolicyPool(mdp, capacity=None if box else WARM_POLICIES)
        if warm is not None:  # policies of an earlier answer about the same dynamics
            pool.learn(warm.policies, warm.occupancies)
    if box:
        margin, A, b = FIRST_MARGIN * size, worst.cost.reshape(size.size, -1), worst.limit
    else:
        margin, (A, b) = FIRST_ROW_MARGIN * size, inner.counterpart
        if isinstance(pool, PolicyPool):
            with suppress(SolverError):
                pool.solve(worst.cost, worst.limit)
            if large:
                _learn(model, estimate, pool)
    gap = ROW_GAP if certified else PROPOSAL_GAP
    own = problem, rows, mdp, inner, scale, estimate, gap, pool, bases, margin, worst
    return _Search(*own, A[:, : mdp.r.size], b)


def _learn(problem: ParametricCMDP, estimate: FloatArray, pool: PolicyPool) -> None:
    """Policies for likely costs, at limits that leave more or less for what is not known."""
    cmdp = problem.at(estimate)
    for spared in SPARED:
        with suppress(SolverError):
            pool.solve(cmdp.cost, cmdp.limit - spared * np.abs(cmdp.limit))


def _found(search: _Search, *, certified: bool) -> PolicyAnswer:
    """The best policy, with margins that grow until its certificate holds."""
    none, problem = np.zeros_like(search.first_margin), search.problem
    if not certified:
        return _unproved(search, search.solve(none))
    margin = search.first_margin
    for _ in range(MARGIN_ATTEMPTS):
        try:
            solution = search.solve(margin)
        except InfeasibleError:
            break  # of the program with the margin: it says nothing about the problem itself
        found = _proved(search, solution, margin)
        if found.certificate.verified:
            return found
        excess = np.maximum(-found.certificate.slack, 0.0)
        margin = 2.0 * margin + 4.0 * np.where(np.isfinite(excess), excess, 0.0)
    found = _proved(search, search.solve(none), none)
    few = problem.mdp.num_states * (problem.mdp.horizon or 1) <= EXACT_STATES
    if not found.certificate.verified and few:
        sure, _ = proof(problem, found.policy, search.rows, exactly=True)
        found = replace(found, certificate=sure)
    if found.certificate.verified:
        return found
    raise SolverError(
        "the limits leave no room at all, so no policy can be certified; raise a limit a little "
        "(its public lower bound, for a private one)"
    )


def _proved(search: _Search, solution: Solution, margin: FloatArray) -> PolicyAnswer:
    """The policy of a solution at limits − margin, certified at the limits or not."""
    problem, mdp, y = search.problem, search.problem.mdp, solution.dual
    policy = solution.policy
    if policy is None:
        policy = policy_of(search.worst, solution.occupancy)
    chain, solved = chain_of(mdp, policy), search.mdp
    x = chain.occupancy((solution.occupancy * search.scale).sum(axis=1))
    certificate, links = proof(problem, policy, search.rows, chain=chain, x=x)
    table = solved.r - np.asarray(search.A.T @ y).reshape(mdp.r.shape)
    priced = float(y[: margin.size] @ margin)
    pull = float(y @ np.abs(search.b)) + priced
    inner = chain if solved is mdp else chain_of(solved, policy)
    allowance = _rounding_allowance(inner, solved, table=table, pull=pull)
    value, bound = float(mdp.r.ravel() @ x.ravel()), solution.bound + priced + allowance
    return _made(search, policy, x, links, certificate, value=value, bound=bound)


def _unproved(search: _Search, solution: Solution) -> PolicyAnswer:
    """A solution as it is: for proposals and trials, whose policies nobody plays."""
    x, names = np.maximum(solution.occupancy, 0.0) * search.scale, search.problem.names
    total = x.sum(axis=1, keepdims=True)
    even = np.full_like(x, 1.0 / x.shape[1])
    policy = Policy._of(np.divide(x, total, out=even, where=total > 0.0))
    links = np.maximum(solution.auxiliary[solution.auxiliary.size - search.inner.links :], 0.0)
    none = np.full(len(names), -np.inf)
    asked = Certificate(False, none, names, subject="cost", reason="no proof was asked for")
    return _made(search, policy, x, links, asked, value=solution.value, bound=solution.bound)


def _made(
    search: _Search,
    policy: Policy,
    x: FloatArray,
    links: FloatArray,
    certificate: Certificate,
    *,
    value: float,
    bound: float,
) -> PolicyAnswer:
    problem, rows = search.problem, search.rows
    known = np.zeros((0, problem.mdp.num_states), np.int32), np.zeros((0, problem.mdp.num_states))
    if isinstance(search.pool, PolicyPool):
        known = search.pool.known(WARM_POLICIES)
    return PolicyAnswer(
        decision=policy,
        value=value,
        estimate=frozen(np.array(search.estimate, dtype=np.float64)),
        bound=bound,
        certificate=certificate,
        weights=problem.rows.table(problem.rows.weights(x.ravel())),
        multipliers=rows.multipliers(links),
        problem=problem,
        source="robust" if is_everything(rows.known, problem.envelope) else "release",
        _warm=Warm(*known, search.bases) if problem.envelope.size else None,
        _known=rows.known,
    )


def proof(
    problem: ParametricCMDP,
    policy: Policy,
    rows: RobustRows,
    *,
    chain: Chain | None = None,
    x: FloatArray | None = None,
    exactly: bool = False,
) -> tuple[Certificate, FloatArray]:
    """What is proved of a policy over a set, and the multipliers of its links."""
    mdp = problem.mdp
    own = chain_of(mdp, policy) if chain is None else chain
    links = np.zeros(0)
    if rows.links:
        visits = own.occupancy() if x is None else x
        links = rows.best_links(visits.ravel())
    excess = excess_of(mdp, rows, policy, links=links, chain=own, exactly=exactly)
    slack, worst, reason = 0.0 - excess, int(np.argmax(excess)), ""
    if excess[worst] > 0.0:
        reason = f"{problem.names[worst]!r} may exceed its limit by {excess[worst]:.3g}"
    everywhere = is_everything(rows.known, problem.envelope) and problem.envelope.size > 0
    certificate = Certificate(
        verified=not reason,
        slack=frozen(slack),
        names=problem.names,
        subject=own.subject,
        everywhere=everywhere,
        reason=reason,
    )
    return certificate, links


def policy_of(cmdp: CMDP, x: FloatArray) -> Policy:
    """π(a|s) = x(s, a)/Σ_a' x(s, a') where that says something, elsewhere the safest action.

    Entries of at most :data:`NOISE`·Σx count as zero. States that keep none are visited rarely or
    never; their action depends on public data only and not on the solver's noise.
    """
    kept = np.maximum(x, 0.0)
    kept[kept <= NOISE * kept.sum()] = 0.0
    total = kept.sum(axis=1)
    silent = total == 0.0
    if silent.any():
        from dp_cmdp._src.cmdp.safest import safest_policy

        kept[silent], total[silent] = safest_policy(cmdp).probabilities[silent], 1.0
    kept /= total[:, None]
    return Policy._of(kept)


def _rounding_allowance(chain: Chain, mdp: MDP, *, table: FloatArray, pull: float) -> float:
    """What rounding may take from a Lagrangian bound with the rewards `table`.

    A Bellman residual sums so many products of the size V of the Lagrangian's state values, which
    the policy found shows, and is divided by 1 − γ; the evaluation of a value, a linear solve of
    condition 2/(1 − γ), errs as much. Over a horizon every step adds as much. Both are allowed for,
    twice. `pull` is the size of the multipliers' own part.
    """
    size = chain.largest_value(table) + float(np.abs(table).max())
    terms = 2 * int(np.diff(mdp.T.indptr).max()) + np.count_nonzero(mdp.start) + 8
    return 4.0 * UNIT * (terms * size * mdp.steps + 8.0 * pull)
