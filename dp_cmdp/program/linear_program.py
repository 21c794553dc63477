"""Linear programs, and answers whose feasibility is a fact and not a tolerance.

    maximise  cᵀx   subject to   A x ≤ b,   A_eq x = b_eq,   lower ≤ x ≤ upper

HiGHS (through highspy) is the engine. highspy rather than scipy's wrapper because the certificate
changes right-hand sides and bounds and solves again: that is a warm start from the last basis here
and a cold solve there.

A solver's point satisfies A x ≤ b up to about 1e-7; most points violate a row by 1e-13 or so. The
*certificate* is stronger: A x ≤ b and the bounds hold in exact arithmetic, and the equality rows to
a residual that is evaluated exactly and reported (:mod:`dp_cmdp.program.certified`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from dp_cmdp import _check
from dp_cmdp import _exact as exact
from dp_cmdp._check import FloatArray
from dp_cmdp._documents import Origin
from dp_cmdp._door import door
from dp_cmdp._extras import require
from dp_cmdp._html import MOST_ROWS, facts_table, rows_table
from dp_cmdp.data.labels import Labels
from dp_cmdp.errors import InvalidArgumentError

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dp_cmdp.data.release import Release
    from dp_cmdp.program.parametric import ParametricLP

ENGINES = ("highs", "cvxpy")


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
    **Privacy.** *Post-processing* of a Release; a program built from true data stays with its
    curator.

    Examples
    --------
    maximise 3x + 2y subject to x + y ≤ 4 and x ≤ 2:

    >>> from dp_cmdp import LinearProgram
    >>> lp = LinearProgram([3, 2], [[1, 1], [1, 0]], b=[4, 2])
    >>> lp.slack([2, 1])
    array([1., 0.])
    """

    c: FloatArray
    A: sparse.csr_array
    b: FloatArray
    A_eq: sparse.csr_array
    b_eq: FloatArray
    lower: FloatArray
    upper: FloatArray

    @door
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

    @door
    def slack(self, x: ArrayLike) -> FloatArray:
        """b − A x per row: the exact rational value, rounded once (so its sign is exact).

        Examples
        --------
        >>> from dp_cmdp import LinearProgram
        >>> LinearProgram([1, 1], [[0.1, 0.2]], b=[0.3]).slack([1, 1])  # as rational numbers
        array([-2.77555756e-17])
        """
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
    rows, factors = slack_terms(A, b, x)
    return exact.row_sums(rows, factors, num_rows=b.size)


def tight_slack(A: sparse.csr_array, b: FloatArray, *, x: FloatArray) -> FloatArray:
    """b − A x: exact where a row is tight or may have the least slack, else a lower bound.

    Signs and minimum are those of :func:`inequality_slack` (:func:`dp_cmdp._exact.tight_sums`).
    """
    rows, factors = slack_terms(A, b, x)
    return exact.tight_sums(rows, factors, num_rows=b.size)


def slack_terms(
    A: sparse.csr_array, b: FloatArray, x: FloatArray
) -> tuple[NDArray[np.intp], list[FloatArray]]:
    """The terms of b − A x: rows and factors, but for x_j = 0."""
    m, x_term = b.size, x[A.indices]
    used = np.flatnonzero(x_term)
    rows = np.repeat(np.arange(m), np.diff(A.indptr))[used]
    return np.concatenate([rows, np.arange(m)]), [
        np.concatenate([-A.data[used], b]),
        np.concatenate([x_term[used], np.ones(m)]),
    ]


@dataclass(frozen=True, slots=True)
class FeasibilityCertificate:
    """Proof that a point satisfies every inequality row and bound in exact arithmetic.

    Attributes
    ----------
    verified : bool
    worst_slack : float
        Smallest b_i − A_i x, computed exactly and rounded once (∞ without rows).
    equality_residual : float
        Largest |A_eq x − b_eq|, evaluated exactly, relative to Σ|terms| of its row
        (:func:`dp_cmdp.program.certified.equality_residuals`): 1 is a row missed completely.
        2^-51 or less unless equality rows nearly depend on each other. Few equalities have a
        solution in floats: 0 cannot be promised.
    equality_tolerance : float
        What it must not exceed, 2^-44: the point is refused otherwise.
    margin : float
        Largest amount by which a right-hand side had to be shrunk.
    attempts : int
        Solves it took.

    Examples
    --------
    >>> from dp_cmdp import LinearProgram, solve
    >>> certificate = solve(LinearProgram([3, 2], [[1, 1]], b=[4])).certificate
    >>> certificate.verified, certificate.worst_slack >= 0  # no tolerance
    (True, True)
    """

    verified: bool
    worst_slack: float
    equality_residual: float
    equality_tolerance: float
    margin: float
    attempts: int

    @property
    def equalities_exact(self) -> bool:
        """Whether the equality rows hold as rational numbers too."""
        return self.equality_residual == 0.0


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
    multipliers : FloatArray
        Of the row facts of a polytope of databases (:mod:`dp_cmdp.program.polytope_rows`); with
        them the certificate can be checked again. Empty over a box.
    variables : Labels
        Of the variables, where the program has them.

    Notes
    -----
    **Privacy.** *Post-processing* of the program; curator only when that was built from true data.

    Examples
    --------
    >>> from dp_cmdp import LinearProgram, solve
    >>> solution = solve(LinearProgram([3, 2], [[1, 1], [1, 0]], b=[4, 2]))
    >>> solution.dual.round(6)  # what one more unit of each right-hand side is worth
    array([2., 1.])
    >>> solution.certificate.verified
    True
    """

    x: FloatArray
    objective: float
    dual: FloatArray
    dual_eq: FloatArray
    certificate: FeasibilityCertificate | None
    engine: str
    multipliers: FloatArray = field(default_factory=lambda: np.empty(0))
    variables: Labels = field(default_factory=Labels)

    def to_frame(self) -> pd.DataFrame:
        """One row per variable, indexed by its label: ``x``.

        Examples
        --------
        >>> from dp_cmdp import LinearProgram, solve
        >>> solve(LinearProgram([3, 2], [[1, 1], [1, 0]], b=[4, 2])).to_frame().round(6)
             x
        0  2.0
        1  2.0
        """
        import pandas as pd

        index = self.variables.index() if self.variables else pd.RangeIndex(self.x.size)
        return pd.DataFrame({"x": self.x}, index=index)

    @door
    def plot(self, *, ax: Axes | None = None) -> Figure:
        """A picture of x by the labels of its variables, two levels of them as a table.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure otherwise.

        Notes
        -----
        **Privacy.** *Post-processing* of the program; curator only when that was built from true
        data.

        Examples
        --------
        >>> from dp_cmdp import LinearProgram, solve
        >>> solution = solve(LinearProgram([3.0, 2.0], A=[[1.0, 1.0]], b=[4.0]))
        >>> solution.plot().axes[0].get_title(loc="left")
        'objective 12, every row holds: proved'
        """
        from dp_cmdp.figures.solution import solution_figure

        return solution_figure(self, ax=ax)

    @door
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

        Examples
        --------
        >>> from dp_cmdp import LinearProgram, Solution, solve
        >>> solution = solve(LinearProgram([3, 2], [[1, 1]], b=[4]))
        >>> Solution.load(solution.save("solution.npz")).x.round(6)
        array([4., 0.])
        """
        from dp_cmdp.program.solution_file import SolutionFile

        return SolutionFile(self, Origin.of(release, program, name)).document().write(path)

    @classmethod
    @door
    def load(cls, path: str | Path) -> Solution:
        """Read a solution written by :meth:`save`; its certificate is a claim until verified.

        That the point is feasible is a claim about it, its program and its release together: see
        :func:`dp_cmdp.verification.files.verify`.

        Examples
        --------
        >>> from dp_cmdp import LinearProgram, Solution, solve
        >>> solution = solve(LinearProgram([3, 2], [[1, 1]], b=[4]))
        >>> loaded = Solution.load(solution.save("solution.npz"))
        >>> bool((loaded.x == solution.x).all())
        True
        """
        from dp_cmdp.program.solution_file import SolutionFile

        return SolutionFile.load(path).solution

    def __repr__(self) -> str:
        proof = "certified" if self.certificate and self.certificate.verified else "uncertified"
        return f"Solution(objective={self.objective:.10g}, {self.x.size} variables, {proof})"

    def _repr_html_(self) -> str:
        proof = self.certificate
        facts = [
            ("objective", self.objective),
            ("feasible", "in exact arithmetic" if proof and proof.verified else "not certified"),
            ("smallest slack", proof.worst_slack if proof else "unknown"),
        ]
        few = self.to_frame()["x"].head(MOST_ROWS)
        rows = zip(few.index.tolist(), few.tolist(), strict=True)
        return facts_table("Solution", facts) + rows_table(
            "Variables", ["variable", "x"], rows, count=self.x.size
        )


@dataclass(frozen=True, slots=True)
class RawSolution:
    """What an engine returns before anything is verified."""

    x: FloatArray
    dual: FloatArray
    dual_eq: FloatArray


class Engine(Protocol):
    """An engine bound to one program; only right-hand sides and bounds change between runs."""

    def run(self, b: FloatArray) -> RawSolution:
        """Maximise with right-hand side `b`."""
        ...

    def correct(self, x: FloatArray, gap: FloatArray, gap_eq: FloatArray) -> RawSolution:
        """Move x by d: maximise cᵀd, A d ≤ gap, A_eq d = gap_eq, lower ≤ x + d ≤ upper."""
        ...


def magnification(gap: FloatArray, gap_eq: FloatArray) -> float:
    """The power of two, at least 1, that brings the largest violation to size 1."""
    worst = max(-float(gap.min(initial=0.0)), float(np.abs(gap_eq).max(initial=0.0)))
    return 2.0 ** min(max(0.0, -np.floor(np.log2(worst))), 900.0) if worst > 0.0 else 1.0


@door
def solve(lp: LinearProgram, *, engine: str = "highs", certify: bool = True) -> Solution:
    """Solve a linear program.

    Parameters
    ----------
    lp : LinearProgram
    engine : {"highs", "cvxpy"}
        cvxpy (Clarabel) is slower and independent: a second opinion.
    certify : bool
        Prove A x ≤ b in exact arithmetic and refine A_eq x = b_eq, correcting the point if needed.

    Raises
    ------
    InfeasibleError, UnboundedError
        With what to do about it.
    SolverError
        When the engine fails, or when the rows leave no room at all in which a point made of
        floats could satisfy them: inequalities exactly, equalities to their rounding.

    Notes
    -----
    **Privacy.** *Post-processing* when `lp` is public; curator only otherwise.

    Examples
    --------
    >>> from dp_cmdp import LinearProgram, solve
    >>> solution = solve(LinearProgram([3, 2], [[1, 1], [1, 0]], b=[4, 2]))
    >>> solution.x.round(6), round(solution.objective, 6)
    (array([2., 2.]), 10.0)
    >>> solution.certificate.verified  # A x ≤ b as rational numbers, not up to a tolerance
    True
    """
    if certify:
        from dp_cmdp.program.certified import solve_certified

        return solve_certified(lp, engine=engine, slack_of=lambda x: tight_slack(lp.A, lp.b, x=x))
    raw = make_engine(lp, engine).run(lp.b)
    return solution_at(lp, np.clip(raw.x, lp.lower, lp.upper), raw=raw, engine=engine)


def solution_at(
    lp: LinearProgram,
    x: FloatArray,
    *,
    raw: RawSolution,
    engine: str,
    certificate: FeasibilityCertificate | None = None,
) -> Solution:
    """The point x with the multipliers that an engine found."""
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
        from dp_cmdp.program.engines.highs import HighsEngine

        return HighsEngine(lp)
    require("cvxpy")
    from dp_cmdp.program.engines.cvxpy import CvxpyEngine

    return CvxpyEngine(lp)
