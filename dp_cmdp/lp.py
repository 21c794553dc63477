"""Linear programs, and answers whose feasibility is a fact and not a tolerance.

    maximise  cᵀx   subject to   A x ≤ b,   A_eq x = b_eq,   lower ≤ x ≤ upper

HiGHS (through highspy) is the engine. highspy rather than scipy's wrapper because the certificate
loop below changes right-hand sides and solves again: that is a warm start from the last basis here
and a cold solve there.

A solver's point satisfies A x ≤ b up to about 1e-7; most points violate a row by 1e-13 or so. The
*certificate* is stronger: x is clipped to its bounds and every row is evaluated exactly (see
:mod:`dp_cmdp.exact`); rows that fail get a smaller right-hand side and the program is solved again,
until A x ≤ b holds in exact arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from dp_cmdp import _check, exact
from dp_cmdp._check import FloatArray
from dp_cmdp.documents import Origin
from dp_cmdp.errors import InfeasibleError, InvalidArgumentError, SolverError

if TYPE_CHECKING:
    from dp_cmdp.parametric import ParametricLP
    from dp_cmdp.release import Release

ENGINES = ("highs", "cvxpy")
#: Equality rows hold up to this, relative to 1 + Σ|terms|; the residual is reported.
EQUALITY_TOLERANCE = 1e-7
MAX_ATTEMPTS = 25
#: First margin of a row that fails its exact check, relative to Σ|terms|.
ROUNDING = 2.0**-44


@dataclass(frozen=True, slots=True, eq=False)
class LinearProgram:
    """maximise cᵀx subject to A x ≤ b, A_eq x = b_eq, lower ≤ x ≤ upper.

    Parameters
    ----------
    c : (n,) array_like
    A, b : (m, n) matrix, dense or sparse, and (m,) array_like; optional
    A_eq, b_eq : optional
    lower, upper : array_like
        Bounds of the variables; 0 and ∞ by default, −∞ allowed for free variables.

    Notes
    -----
    **Paper.** ``opt:primal``. Absent parts are stored as matrices with no rows, never as None.
    **Privacy.** Public when built from a Release; a program built from true data stays with its
    curator.
    """

    c: FloatArray
    A: sparse.csr_array
    b: FloatArray
    A_eq: sparse.csr_array
    b_eq: FloatArray
    lower: FloatArray
    upper: FloatArray

    def __init__(
        self,
        c: ArrayLike,
        A: Any = None,
        *,
        b: ArrayLike | None = None,
        A_eq: Any = None,
        b_eq: ArrayLike | None = None,
        lower: ArrayLike = 0.0,
        upper: ArrayLike = np.inf,
    ) -> None:
        cost = _check.vector("c", c)
        n = cost.size
        if n == 0:
            raise InvalidArgumentError("c must have at least one entry")
        lo = _check.vector("lower", lower, size=n, finite=False)
        hi = _check.vector("upper", upper, size=n, finite=False)
        if (lo > hi).any() or (lo == np.inf).any() or (hi == -np.inf).any():
            raise InvalidArgumentError(
                f"lower must not exceed upper; first offending variable {int(np.argmax(lo > hi))}"
            )
        object.__setattr__(self, "c", cost)
        for left, right, rows, rhs in (("A", "b", A, b), ("A_eq", "b_eq", A_eq, b_eq)):
            matrix, vector = constraint_block(left, right, rows=rows, rhs=rhs, columns=n)
            object.__setattr__(self, left, matrix)
            object.__setattr__(self, right, vector)
        object.__setattr__(self, "lower", lo)
        object.__setattr__(self, "upper", hi)

    @property
    def num_variables(self) -> int:
        return self.c.size

    @property
    def num_rows(self) -> int:
        return self.b.size

    def slack(self, x: ArrayLike) -> FloatArray:
        """b − A x per row: the exact rational value, rounded once (so its sign is exact)."""
        point = _check.vector("x", x, size=self.num_variables)
        return inequality_slack(self.A, self.b, x=point)

    def __repr__(self) -> str:
        return (
            f"LinearProgram({self.num_variables} variables, {self.num_rows} inequality rows, "
            f"{self.b_eq.size} equality rows)"
        )


def constraint_block(
    left: str, right: str, *, rows: Any, rhs: ArrayLike | None, columns: int
) -> tuple[sparse.csr_array, FloatArray]:
    """A checked (matrix, vector) pair of constraint rows; absent means no rows."""
    if (rows is None) != (rhs is None):
        raise InvalidArgumentError(f"{left} and {right} must be given together")
    if rows is None or rhs is None:
        empty = _check.frozen_sparse(sparse.csr_array((0, columns), dtype=np.float64))
        return empty, _check.vector(right, np.empty(0))
    matrix = _check.matrix(left, rows, columns=columns)
    return matrix, _check.vector(right, rhs, size=matrix.shape[0])


def inequality_slack(A: sparse.csr_array, b: FloatArray, *, x: FloatArray) -> FloatArray:
    """Exact b − A x, each row rounded once."""
    m = b.size
    rows = np.repeat(np.arange(m), np.diff(A.indptr))
    return exact.row_sums(
        np.concatenate([rows, np.arange(m)]),
        [np.concatenate([-A.data, b]), np.concatenate([x[A.indices], np.ones(m)])],
        num_rows=m,
    )


@dataclass(frozen=True, slots=True)
class FeasibilityCertificate:
    """Proof that a point satisfies every inequality row and bound in exact arithmetic.

    Attributes
    ----------
    verified : bool
    worst_slack : float
        Smallest b_i − A_i x, computed exactly and rounded once (∞ without rows).
    equality_residual : float
        Largest |A_eq x − b_eq|, relative to 1 + Σ|terms|; at most `equality_tolerance`.
    margin : float
        Largest amount by which a right-hand side had to be shrunk.
    attempts : int
        Solves it took.
    """

    verified: bool
    worst_slack: float
    equality_residual: float
    equality_tolerance: float
    margin: float
    attempts: int


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """An optimal point with its proof of feasibility.

    Attributes
    ----------
    x : FloatArray
    objective : float
        cᵀx of the program that was solved.
    dual, dual_eq : FloatArray
        Multipliers of A x ≤ b (≥ 0) and of A_eq x = b_eq.
    certificate : FeasibilityCertificate or None
        None when the caller asked for no certificate.
    engine : str
    """

    x: FloatArray
    objective: float
    dual: FloatArray
    dual_eq: FloatArray
    certificate: FeasibilityCertificate | None
    engine: str

    def save(
        self,
        path: str | Path,
        *,
        release: Release | None = None,
        program: ParametricLP | None = None,
        name: str = "",
    ) -> Path:
        """Write the solution to an ``.npz`` file, atomically and without pickle.

        `release` and `program` are what it was made from; the file names them by their digests,
        and by `name`, so that ``dp-cmdp verify`` can judge it.
        """
        from dp_cmdp.solution_files import SolutionFile

        return SolutionFile(self, Origin.of(release, program, name)).document().write(path)

    @classmethod
    def load(cls, path: str | Path) -> Solution:
        """Read a solution written by :meth:`save`; its certificate is a claim until verified.

        That the point is feasible is a claim about it, its program and its release together: see
        :func:`dp_cmdp.verification.verify`.
        """
        from dp_cmdp.solution_files import SolutionFile

        return SolutionFile.load(path).solution

    def __repr__(self) -> str:
        proof = "certified" if self.certificate and self.certificate.verified else "uncertified"
        return f"Solution(objective={self.objective:.10g}, {self.x.size} variables, {proof})"


@dataclass(frozen=True, slots=True)
class RawSolution:
    """What an engine returns before anything is verified."""

    x: FloatArray
    dual: FloatArray
    dual_eq: FloatArray


class Engine(Protocol):
    """An engine bound to one program; only the right-hand side b changes between runs."""

    def run(self, b: FloatArray) -> RawSolution: ...


def solve(lp: LinearProgram, *, engine: str = "highs", certify: bool = True) -> Solution:
    """Solve a linear program.

    Parameters
    ----------
    lp : LinearProgram
    engine : {"highs", "cvxpy"}
        cvxpy (Clarabel) is slower and independent: a second opinion.
    certify : bool
        Prove A x ≤ b in exact arithmetic, solving again if needed.

    Raises
    ------
    InfeasibleError, UnboundedError
        With what to do about it.
    SolverError
        When the engine fails or no exactly feasible point is found.

    Notes
    -----
    **Privacy.** Post-processing when `lp` is public.
    """
    if not certify:
        raw = make_engine(lp, engine).run(lp.b)
        return _solution(lp, raw, np.clip(raw.x, lp.lower, lp.upper), None, engine)
    return solve_certified(lp, engine=engine, slack_of=lp.slack)


def solve_certified(
    lp: LinearProgram, *, slack_of: Callable[[FloatArray], FloatArray], engine: str = "highs"
) -> Solution:
    """Solve and shrink b until `slack_of(x)`, the exact slack of the leading rows, is ≥ 0."""
    bound = make_engine(lp, engine)
    shrink = np.zeros(lp.num_rows)
    for attempt in range(1, MAX_ATTEMPTS + 1):
        try:
            raw = bound.run(lp.b - shrink)
        except InfeasibleError:
            if attempt == 1:
                raise
            break
        x = np.clip(raw.x, lp.lower, lp.upper)
        slack = slack_of(x)
        if (slack >= 0).all():
            certificate = _certificate(lp, x, slack, shrink, attempt)
            return _solution(lp, raw, x, certificate, engine)
        _enlarge(shrink[: slack.size], slack, lp, x)
    raise SolverError(
        "no point satisfies the inequality rows in exact arithmetic with any margin: the feasible "
        "set has no interior. State rows that always bind together as equalities (A_eq, b_eq), or "
        "relax them"
    )


def _enlarge(shrink: FloatArray, slack: FloatArray, lp: LinearProgram, x: FloatArray) -> None:
    """Grow, in place, the margin of the rows that failed or nearly did."""
    rows = slice(slack.size)
    rounding = ROUNDING * (abs(lp.A[rows]) @ np.abs(x) + np.abs(lp.b[rows]))
    tight = slack < rounding
    step = np.maximum(-4.0 * slack, rounding)
    shrink[tight] = 2.0 * shrink[tight] + step[tight]


def _certificate(
    lp: LinearProgram, x: FloatArray, slack: FloatArray, shrink: FloatArray, attempts: int
) -> FeasibilityCertificate:
    residual = 0.0
    if lp.b_eq.size:
        scale = 1.0 + abs(lp.A_eq) @ np.abs(x) + np.abs(lp.b_eq)
        residual = float(np.max(np.abs(inequality_slack(lp.A_eq, lp.b_eq, x=x)) / scale))
        if residual > EQUALITY_TOLERANCE:
            raise SolverError(
                f"the equality rows hold only to {residual:.2g} (relative); rescale A_eq and b_eq "
                f"so that {EQUALITY_TOLERANCE:g} can be reached"
            )
    return FeasibilityCertificate(
        verified=True,
        worst_slack=float(slack.min(initial=np.inf)),
        equality_residual=residual,
        equality_tolerance=EQUALITY_TOLERANCE,
        margin=float(shrink.max(initial=0.0)),
        attempts=attempts,
    )


def _solution(
    lp: LinearProgram,
    raw: RawSolution,
    x: FloatArray,
    certificate: FeasibilityCertificate | None,
    engine: str,
) -> Solution:
    return Solution(
        x=_check.frozen(x),
        objective=float(lp.c @ x),
        dual=_check.frozen(raw.dual),
        dual_eq=_check.frozen(raw.dual_eq),
        certificate=certificate,
        engine=engine,
    )


def make_engine(lp: LinearProgram, engine: str) -> Engine:
    """The named engine, bound to `lp`; engines are imported on first use."""
    if _check.one_of("engine", engine, ENGINES) == "highs":
        from dp_cmdp.engines.highs import HighsEngine

        return HighsEngine(lp)
    from dp_cmdp.engines.cvxpy import CvxpyEngine

    return CvxpyEngine(lp)
