"""Linear programs whose data are affine in a private database.

    maximise  c(θ)ᵀx   subject to   A(θ)x ≤ b(θ),   A_eq x = b_eq,   lower ≤ x ≤ upper

Rows that read no entry of the database are public; like bounds and equality rows they are checked
exactly, too. The rows that hold for everything a release allows are in
:mod:`dp_cmdp._src.program.rows`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from dp_cmdp._src.base import validation as check
from dp_cmdp._src.base.errors import InvalidArgumentError, InvalidTypeError, SolverError
from dp_cmdp._src.base.html import MOST_ROWS, rows_table
from dp_cmdp._src.base.validation import FloatArray, validated
from dp_cmdp._src.data.affine import Affine, common_envelope
from dp_cmdp._src.data.envelope import Envelope, UncertaintySet, is_everything
from dp_cmdp._src.data.labels import Labels, flat_index, labels_of, pack_labels, unpack_labels
from dp_cmdp._src.program.answer import NOT_ASKED, Answer, Certificate, Problem
from dp_cmdp._src.program.bound import upper_bound
from dp_cmdp._src.program.certified import (
    EQUALITY_TOLERANCE,
    equality_residuals,
    solve_certified,
)
from dp_cmdp._src.program.entrywise import entrywise
from dp_cmdp._src.program.highs import HighsEngine, suits_interior
from dp_cmdp._src.program.linear import LinearProgram
from dp_cmdp._src.program.refusals import check_boundedness, refusal
from dp_cmdp._src.program.rows import RobustRows, UncertainRows, check_consistent


@dataclass(frozen=True, eq=False, repr=False)
class LPAnswer(Answer[FloatArray]):
    """The answer of a linear program.

    Attributes
    ----------
    x : float array
        The variables; see :class:`Answer` for the rest.

    Notes
    -----
    **Privacy.** *Post-processing*.
    """

    kind: ClassVar[str] = "linear program"

    @property
    def x(self) -> FloatArray:
        return self.decision

    def to_frame(self) -> Any:
        """One row per variable, indexed by its label: ``x``."""
        import pandas as pd

        labels = self.problem.variables
        return pd.DataFrame({"x": self.x}, index=flat_index(labels) if labels else None)

    def _repr_html_(self) -> str:
        few = self.to_frame()["x"].head(MOST_ROWS)
        rows = zip(few.index.tolist(), few.tolist(), strict=True)
        return super()._repr_html_() + rows_table(
            "Variables", ["variable", "x"], rows, count=self.x.size
        )

    def _decision_document(self) -> dict[str, Any]:
        return {"x": self.x}

    @classmethod
    def _decision_from(cls, said: Mapping[str, Any]) -> FloatArray:
        return check.vector("x", said["x"])

    @classmethod
    def _certified(
        cls, problem: Any, decision: Any, known: UncertaintySet, multipliers: sparse.csr_array
    ) -> Certificate:
        return problem._certificate(decision, known, multipliers)


class ParametricLP(Problem):
    """A linear program with private numbers, as public structure.

    Parameters
    ----------
    maximize, minimize : (n,) Affine or array_like
        The objective; exactly one of them.
    A, b : (m, n) and (m,) Affine, array_like, sparse, or nested lists of numbers and Affines
        The rows A x ≤ b.
    A_eq, b_eq : optional
        Public equality rows.
    lower, upper : array_like
        Bounds of the variables; −∞ for free ones.
    variables : sequence, pandas Index or mapping from axis to labels, optional
        Names of the variables; tables of answers show them.

    Notes
    -----
    **Privacy.** *Public*: it holds no value of any database.

    Examples
    --------
    maximise 3x + 2y subject to θ₀x + θ₁y ≤ θ₂, where the three θ are private:

    >>> import dp_cmdp as dp
    >>> theta = dp.Envelope([0.5, 0.5, 8], [2, 2, 12], radius=[0.1, 0.1, 0.5])
    >>> lp = dp.ParametricLP(maximize=[3, 2], A=[[theta[0], theta[1]]], b=[theta[2]])
    >>> dp.answer(lp).x.round(6)  # holds for every database of the envelope
    array([4., 0.])
    """

    envelope: Envelope
    objective: Affine
    A: Affine
    b: Affine
    A_eq: sparse.csr_array
    b_eq: FloatArray
    lower: FloatArray
    upper: FloatArray
    variables: Labels
    row_names: tuple[str, ...]
    minimizes: bool

    @validated
    def __init__(
        self,
        maximize: Any = None,
        *,
        minimize: Any = None,
        A: Any,
        b: Any,
        A_eq: Any = None,
        b_eq: Any = None,
        lower: ArrayLike = 0,
        upper: ArrayLike = inf,
        variables: Any = None,
    ) -> None:
        given = _one_objective(maximize, minimize)
        envelope = common_envelope(given, A, b)
        objective = _part("the objective", given, envelope, axes=1)
        n = objective.shape[0]
        rows = _part("A", A, envelope, axes=2)
        if rows.shape[1] != n:
            raise InvalidArgumentError(
                f"A must have {n} columns, one per variable of the objective; got {rows.shape[1]}"
            )
        right = _part("b", b, envelope, axes=1)
        if right.shape != rows.shape[:1]:
            raise InvalidArgumentError(
                f"b must have {rows.shape[0]} entries, one per row of A; got {right.shape[0]}"
            )
        labels = _one_per_variable(labels_of(variables, name="variables"), n)
        low, high = _bounds(lower, upper, n)
        equalities, equal = _equalities(A_eq, b_eq, n)
        self._fill(
            envelope,
            objective=objective,
            A=rows,
            b=right,
            A_eq=equalities,
            b_eq=equal,
            lower=low,
            upper=high,
            minimizes=maximize is None,
            variables=labels,
        )

    def _fill(
        self,
        envelope: Envelope,
        *,
        objective: Affine,
        A: Affine,
        b: Affine,
        A_eq: sparse.csr_array | None = None,
        b_eq: FloatArray | None = None,
        lower: FloatArray | None = None,
        upper: FloatArray | None = None,
        minimizes: bool = False,
        variables: Labels = (),
        row_names: Sequence[str] = (),
    ) -> None:
        n = objective.shape[0]
        self.envelope, self.objective, self.A, self.b = envelope, objective, A, b
        self.A_eq = sparse.csr_array((0, n)) if A_eq is None else A_eq
        self.b_eq = np.zeros(0) if b_eq is None else b_eq
        self.lower = np.zeros(n) if lower is None else lower
        self.upper = np.full(n, np.inf) if upper is None else upper
        self.minimizes, self.variables = minimizes, variables
        self.sense = -1.0 if minimizes else 1.0
        self.row_names = tuple(row_names) or tuple(f"row {i}" for i in range(b.shape[0]))

    @classmethod
    def _of(cls, envelope: Envelope, **parts: Any) -> ParametricLP:
        """A program from parts that are in order, for front ends: those of :meth:`_fill`."""
        made = cls.__new__(cls)
        made._fill(envelope, **parts)
        return made

    def _with(self, **parts: Any) -> ParametricLP:
        """The same program with other parts."""
        names = ("objective", "A", "b", "A_eq", "b_eq", "lower", "upper", "minimizes")
        names = (*names, "variables", "row_names", "envelope")
        return ParametricLP._of(**{**{name: getattr(self, name) for name in names}, **parts})

    @validated
    def at(self, values: Any) -> ParametricLP:
        """The same program with nothing private left: ``answer(lp.at(values))`` is its optimum.

        Parameters
        ----------
        values : array_like, mapping from group to numbers, table, path of a csv file or Database
            One number per entry of the envelope.

        Returns
        -------
        ParametricLP
            A program whose envelope is empty.

        Raises
        ------
        RefusedError
            If the values cannot be used; which of them is not said.

        Notes
        -----
        **Privacy.** *Curator only* where the values are true ones.
        """
        theta = self._numbers(values)
        none = Envelope._empty()
        parts = (self.objective, self.A, self.b)
        objective, A, b = (Affine._public(none, part.at(theta)) for part in parts)
        return self._with(envelope=none, objective=objective, A=A, b=b)

    @validated
    def with_objective(self, maximize: Any = None, *, minimize: Any = None) -> ParametricLP:
        """The same rows with another objective.

        Parameters
        ----------
        maximize, minimize : (n,) Affine or array_like
            Exactly one of them.

        Returns
        -------
        ParametricLP
            A program that takes the same releases.

        Raises
        ------
        InvalidArgumentError
            If the objective has another number of variables.
        """
        given = _one_objective(maximize, minimize)
        common_envelope(given, self.A, self.b)
        objective = _part("the objective", given, self.envelope, axes=1)
        if objective.shape != self.objective.shape:
            raise InvalidArgumentError(
                f"the objective must have {self.objective.shape[0]} entries, one per variable"
            )
        envelope = self.envelope if self.envelope.size else objective.envelope
        return self._with(envelope=envelope, objective=objective, minimizes=maximize is None)

    @cached_property
    def _rows(self) -> UncertainRows:
        return UncertainRows(
            self.A, self.b, entries=self.envelope.size, lower=self.lower, upper=self.upper
        )

    @cached_property
    def signs(self) -> sparse.csr_array:
        """±1 per row and entry that it reads, a stored 0 where the sign depends on x."""
        return self._rows.table(self._rows.sign.astype(np.int64))

    def value(self, decision: ArrayLike, values: FloatArray) -> float:
        return float(self.objective.at(values) @ np.asarray(decision, dtype=np.float64))

    def answer(
        self,
        known: UncertaintySet,
        estimate: FloatArray | None = None,
        *,
        start: LPAnswer | None = None,
        certify: bool = True,
    ) -> LPAnswer:
        if not (certify and is_everything(known, self.envelope)):
            return self._answer(known, estimate, start=start, certify=certify)
        if estimate is None and "_robust" in self.__dict__:
            return self._robust
        try:
            return self._answer(known, estimate, start=start, certify=True)
        except SolverError as error:
            raise (refusal(self, error) if self.envelope.size else error) from None

    @cached_property
    def _robust(self) -> LPAnswer:
        """The answer that needs no data, at the middle of the envelope."""
        return self.answer(self.envelope.uncertainty)

    def _answer(
        self,
        known: UncertaintySet,
        estimate: FloatArray | None,
        *,
        start: LPAnswer | None,
        certify: bool,
    ) -> LPAnswer:
        inside = check_consistent(known) if certify else known.lower
        theta = known.lower + (known.upper - known.lower) / 2 if estimate is None else estimate
        c = np.asarray(self.objective.at(theta), dtype=np.float64)
        robust, sense = RobustRows(self._rows, known), self.sense
        lp = self._over(robust, sense * c)
        warm = {} if start is None or start._warm is None else start._warm
        shape = (lp.b.size, lp.c.size)
        if certify:
            found = solve_certified(lp, robust.slack_at, start=warm.get(shape))
            point, raw, basis = found.x, found.raw, found.basis
        else:
            engine = HighsEngine(lp, start=warm.get(shape), interior=suits_interior(lp))
            raw = engine.run()
            point, basis = np.clip(raw.x, lp.lower, lp.upper), raw.basis
        x, links = robust.split(point)
        value, bound = float(c @ x), np.inf
        if certify:
            bound = max(upper_bound(lp, robust, raw, x, inside), sense * value)
        return LPAnswer(
            decision=check.frozen(x.copy()),
            value=value,
            estimate=check.frozen(np.array(theta, dtype=np.float64)),
            bound=sense * bound,
            certificate=self._proof(robust, x, links) if certify else NOT_ASKED,
            weights=self._rows.table(self._rows.weights(x)),
            multipliers=robust.multipliers(links),
            problem=self,
            source="robust" if is_everything(known, self.envelope) else "release",
            _warm={**warm, shape: basis},
        )

    def _over(self, robust: RobustRows, c: FloatArray) -> LinearProgram:
        """The robust program over a set: maximise cᵀx."""
        return robust.program(c, lower=self.lower, upper=self.upper, A_eq=self.A_eq, b_eq=self.b_eq)

    def certify(self, decision: ArrayLike, known: UncertaintySet) -> Certificate:
        x = check.vector("decision", decision, size=self.lower.size)
        check_consistent(known)
        robust = RobustRows(self._rows, known)
        links = robust.best_links(x)
        proof = self._proof(robust, x, links)
        if proof or not robust.links or not proof.worst_slack < 0.0:
            return proof
        none = sparse.csr_array((0, x.size))
        fixed = robust.program(0.0 * x, lower=x, upper=x, A_eq=none, b_eq=np.zeros(0))
        with suppress(SolverError):  # multipliers that are corrected until they prove every row
            links = robust.split(solve_certified(fixed, robust.slack_at).x)[1]
        return self._proof(robust, x, robust.nudged_links(x, links))

    def _certificate(
        self, x: FloatArray, known: UncertaintySet, multipliers: sparse.csr_array
    ) -> Certificate:
        """What given multipliers prove of x."""
        robust = RobustRows(self._rows, known)
        point = check.vector("x", x, size=self.lower.size)
        return self._proof(robust, point, robust.links_of(multipliers))

    def _proof(self, robust: RobustRows, x: FloatArray, links: FloatArray) -> Certificate:
        slack = robust.slack(x, links)
        slack = np.where(slack == 0.0, 0.0, np.nextafter(slack, -np.inf))
        off = float(equality_residuals(self.A_eq, self.b_eq, x)[1].max(initial=0.0))
        outside = np.flatnonzero(~((self.lower <= x) & (x <= self.upper)))
        reason = ""
        short = ~(slack >= 0.0)  # what is no number proves nothing
        if short.any():
            worst = int(np.argmin(np.where(short, slack, np.inf)))
            reason = f"{self.row_names[worst]} may be exceeded by {-slack[worst]:.3g}"
        elif outside.size:
            reason = f"variable {outside[0]} is outside of its bounds"
        elif off > EQUALITY_TOLERANCE:
            reason = f"an equality row is missed by {off:.3g} of its terms"
        everywhere = is_everything(robust.known, self.envelope) and self.envelope.size > 0
        return Certificate(
            not reason, check.frozen(slack), self.row_names, off, "row", everywhere, reason
        )

    def refuse_if_unanswerable(self) -> None:
        _ = self._robust
        check_boundedness(self)

    def entrywise(self) -> tuple[ParametricLP, sparse.csr_array, FloatArray]:
        """The problem over its own coefficients, and θ ↦ Mθ + m, which computes them.

        Returns
        -------
        (ParametricLP, csr_array, float array)
            The program, M and m.
        """
        return entrywise(self)

    def document(self) -> dict[str, Any]:
        return {
            "problem": "linear program",
            "envelope": self.envelope.document(),
            "minimizes": self.minimizes,
            "objective": self.objective._document(),
            "A": self.A._document(),
            "b": self.b._document(),
            "A_eq": self.A_eq,
            "b_eq": self.b_eq,
            "lower": self.lower,
            "upper": self.upper,
            "row_names": list(self.row_names),
            "variables": pack_labels(self.variables),
        }

    @classmethod
    def from_document(cls, said: Mapping[str, Any]) -> ParametricLP:
        check.one_of("problem", said["problem"], ("linear program",))
        envelope = Envelope.from_document(said["envelope"])
        parts = {name: Affine._from(said[name], envelope) for name in ("objective", "A", "b")}
        sense = "minimize" if check.flag("minimizes", said["minimizes"]) else "maximize"
        made = cls(
            **{sense: parts["objective"]},
            **{name: said[name] for name in ("A_eq", "b_eq", "lower", "upper")},
            A=parts["A"],
            b=parts["b"],
        )
        labels = _one_per_variable(unpack_labels(said["variables"]), made.lower.size)
        names = check.names("row_names", said["row_names"])
        if len(names) != made.b.shape[0]:
            raise InvalidArgumentError(f"row_names must hold {made.b.shape[0]} names")
        return made._with(envelope=envelope, row_names=names, variables=labels)

    def __repr__(self) -> str:
        private = np.unique(self._rows.row).size
        return (
            f"ParametricLP({self.lower.size} variables, {private} rows with private numbers, "
            f"{self.b.shape[0] - private + self.b_eq.size} public rows, "
            f"{self.envelope.size} private numbers)"
        )


def _one_objective(maximize: Any, minimize: Any) -> Any:
    if (maximize is None) == (minimize is None):
        raise InvalidArgumentError("give exactly one of maximize and minimize")
    return minimize if maximize is None else maximize


def _one_per_variable(labels: Labels, n: int) -> Labels:
    if labels and len(flat_index(labels)) != n:
        raise InvalidArgumentError(f"variables must have {n} labels, got {len(flat_index(labels))}")
    return labels


def _part(name: str, given: Any, envelope: Envelope, *, axes: int) -> Affine:
    """Numbers, Affines or both as an Affine with so many axes."""
    public = check.matrix(name, given) if sparse.issparse(given) else given
    try:
        found = Affine.of(public, envelope)
    except InvalidTypeError as error:
        raise InvalidTypeError(str(error).replace("the constant", name)) from None
    if len(found.shape) != axes:
        what = "a vector" if axes == 1 else "a matrix"
        raise InvalidArgumentError(f"{name} must be {what}, got shape {found.shape}")
    if axes == 1 and name != "b" and not found.shape[0]:
        raise InvalidArgumentError(f"{name} must have at least one entry")
    return found


def _equalities(A_eq: Any, b_eq: Any, n: int) -> tuple[sparse.csr_array, FloatArray]:
    if (A_eq is None) != (b_eq is None):
        raise InvalidArgumentError("A_eq and b_eq must be given together")
    if A_eq is None:
        return check.frozen_sparse(sparse.csr_array((0, n))), check.frozen(np.zeros(0))
    if any(common_envelope(part).size for part in (A_eq, b_eq)):
        raise InvalidArgumentError(
            "A_eq and b_eq must be public: no point satisfies an equality for every database; "
            "state private limits as rows A x ≤ b"
        )
    matrix = check.matrix("A_eq", A_eq, columns=n)
    return matrix, check.vector("b_eq", b_eq, size=matrix.shape[0])


def _bounds(lower: Any, upper: Any, n: int) -> tuple[FloatArray, FloatArray]:
    low = check.vector("lower", lower, size=n, finite=False)
    high = check.vector("upper", upper, size=n, finite=False)
    wrong = (low > high) | (low == np.inf) | (high == -np.inf)
    if wrong.any():
        raise InvalidArgumentError(
            f"lower must not exceed upper; first offending variable {int(np.argmax(wrong))}"
        )
    return low, high
