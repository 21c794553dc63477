"""Answers and their proofs, whatever the problem.

A *problem* has public structure and constraints that are affine in a private database; its answer
over an uncertainty set holds for every database of that set, with an exact certificate.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Generic, Literal, TypeVar

import numpy as np
from scipy import sparse

from dp_cmdp._src.accounting.budget import stated
from dp_cmdp._src.base import validation as check
from dp_cmdp._src.base.errors import InvalidArgumentError
from dp_cmdp._src.base.extras import lazily
from dp_cmdp._src.base.html import rows_table, values_table
from dp_cmdp._src.base.saved import Saved
from dp_cmdp._src.base.validation import FloatArray, validated
from dp_cmdp._src.data.database import Database
from dp_cmdp._src.data.envelope import Envelope, UncertaintySet

D = TypeVar("D")
#: Files of an answer's folder.
PROBLEM, RELEASE, ANSWER = "problem.npz", "release.npz", "answer.npz"
#: What a kind of answer is read with: its own class and that of its problem, by name.
CLASSES = {
    "linear program": ("program.parametric.LPAnswer", "program.parametric.ParametricLP"),
    "constrained MDP": ("cmdp.answer.PolicyAnswer", "cmdp.parametric.ParametricCMDP"),
}
_RELEASE_CLASS = "release.release.Release"


class Problem(Saved):
    """What the verbs know of a linear program, a constrained MDP, …

    Attributes
    ----------
    envelope : Envelope
        What is public of the private numbers.
    sense : float
        1 where more is better, −1 where less is.
    signs : (constraints, entries) sparse array
        ±1 where a constraint only ever gets worse (better) as an entry grows, a stored 0 where that
        depends on the decision.
    """

    envelope: Envelope
    sense: float = 1.0
    signs: Any
    _file = "problem"

    def answer(
        self,
        known: UncertaintySet,
        estimate: FloatArray | None = None,
        *,
        start: Any = None,
        certify: bool = True,
    ) -> Answer[Any]:
        """The best decision for the estimate of all that are safe for a whole set.

        Parameters
        ----------
        known : UncertaintySet
            The databases that are possible.
        estimate : float array, optional
            The database at which the decision is valued; by default the middle of the set.
        start : Answer, optional
            An earlier answer to the same problem, from which to start.
        certify : bool
            Whether the decision is proved; without, it is as accurate as the solver.

        Returns
        -------
        Answer
            The best decision, with its certificate.

        Raises
        ------
        RefusedError
            If `known` is the whole envelope and no decision is safe for it.
        SolverError
            If none is for another set.
        """
        raise NotImplementedError

    def value(self, decision: Any, values: FloatArray) -> float:
        """What a decision is worth at a database.

        Parameters
        ----------
        decision : object
            What an answer decides: variables, a policy, …
        values : float array
            One number per entry of the envelope.

        Returns
        -------
        float
            Its objective.
        """
        raise NotImplementedError

    def certify(self, decision: Any, known: UncertaintySet) -> Certificate:
        """What is proved of any decision for every database of a set, in exact arithmetic.

        Parameters
        ----------
        decision : object
            Wherever it comes from.
        known : UncertaintySet
            The databases that are possible.

        Returns
        -------
        Certificate
            True where every constraint holds.
        """
        raise NotImplementedError

    def refuse_if_unanswerable(self) -> None:
        """Raise RefusedError, with a repair, unless an answer holds for the whole envelope."""

    def _numbers(self, values: Any) -> FloatArray:
        """One number per entry, of an array, a table, a mapping, a path or a Database."""
        if check.float_array(values) is None:
            return Database._of(values, self.envelope).read()
        return check.vector("values", values, size=self.envelope.size, private=True)


@dataclass(frozen=True, eq=False, repr=False)
class Certificate:
    """What is proved, in exact arithmetic, of a decision; it is true where everything is.

    Attributes
    ----------
    verified : bool
    slack : float array
        A certain lower bound per constraint of limit − cost over all databases that are possible,
        rounded down.
    names : tuple of str
        Of the constraints.
    equality_residual : float
        Largest |A_eq x − b_eq|, evaluated exactly, relative to the terms of its row: 2^-51 or less
        unless rows nearly depend on each other. Few equalities have a solution in floats.
    subject : {"row", "cost", "cost per episode"}
    everywhere : bool
        Whether it is proved for the whole envelope, so without data.
    reason : str
        Why it is not verified; empty if it is.
    """

    verified: bool
    slack: FloatArray
    names: tuple[str, ...]
    equality_residual: float = 0.0
    subject: Literal["row", "cost", "cost per episode"] = "row"
    everywhere: bool = False
    reason: str = ""

    @property
    def worst_slack(self) -> float:
        """The least slack; infinite without constraints."""
        return float(self.slack.min(initial=np.inf))

    def __bool__(self) -> bool:
        return self.verified

    def __repr__(self) -> str:
        if not self.verified:
            return f"not verified: {self.reason or 'nothing was proved'}"
        what = "A(θ)x ≤ b(θ)" if self.subject == "row" else f"{self.subject} ≤ limit"
        scope = "of the envelope" if self.everywhere else "the release allows"
        slack = f" (slack {self.worst_slack:.2g})" if self.slack.size else ""
        return f"verified: {what} for every database {scope}{slack}"

    def _repr_html_(self) -> str:
        rows = zip(self.names, self.slack.tolist(), strict=False)
        return values_table("Certificate", [("verified", repr(self))]) + rows_table(
            "Slack", [self.subject, "slack"], rows, count=len(self.names)
        )

    def _document(self) -> dict[str, Any]:
        """What files hold."""
        return {
            "verified": self.verified,
            "slack": self.slack,
            "names": list(self.names),
            "equality_residual": np.array([self.equality_residual]),
            "subject": self.subject,
            "everywhere": self.everywhere,
        }


#: Of answers that were asked for without a proof.
NOT_ASKED = Certificate(False, np.zeros(0), (), reason="no certificate was asked for")


@dataclass(frozen=True, eq=False, repr=False)
class Answer(Generic[D]):
    """A decision that holds for every database a release allows, and its proof.

    Attributes
    ----------
    decision
        What was asked for; `x`, `policy` or `values` by the type of the problem.
    value : float
        ``problem.value(decision, estimate)``.
    estimate : float array
        The database for which the decision was optimised: made from the release alone.
    bound : float
        No decision that is safe for the release is worth more at the estimate (less, where the
        problem minimises).
    certificate : Certificate
    weights : (constraints, entries) sparse array
        What each constraint asks of the database.
    multipliers : (constraints, inequalities) sparse array
        How each constraint is proved from the released inequalities.
    source : {"release", "robust"}
        "robust": the decision needs no data.
    robust : Answer
        What is possible without data; made when first asked for.
    release, strategy, epsilon, delta
        How the data were read; release is None where none were.

    Notes
    -----
    **Privacy.** *Post-processing*.
    """

    decision: D
    value: float
    estimate: FloatArray
    bound: float
    certificate: Certificate
    weights: sparse.csr_array
    multipliers: sparse.csr_array
    problem: Any
    source: Literal["release", "robust"] = "release"
    release: Any = None
    strategy: Any = None
    epsilon: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)
    _warm: Any = None

    #: Of :data:`CLASSES`; a subclass whose answers are saved has one.
    kind: ClassVar[str] = ""

    @cached_property
    def robust(self) -> Any:
        """What is possible without data."""
        if self.source == "robust":
            return self
        return self.problem.answer(self.problem.envelope.uncertainty, self.estimate)

    @validated
    def save(self, folder: str | Path) -> Path:
        """Write the public files of the answer to a folder, made if need be.

        ``problem.npz``, ``release.npz`` if there is a release, and ``answer.npz``.

        Parameters
        ----------
        folder : str or Path
            Where to write.

        Returns
        -------
        Path
            The folder.
        """
        from dp_cmdp._src.base.documents import write_document

        target = Path(folder)
        target.mkdir(parents=True, exist_ok=True)
        self.problem.save(target / PROBLEM)
        if self.release is None:
            (target / RELEASE).unlink(missing_ok=True)
        else:
            self.release.save(target / RELEASE)
        write_document(target / ANSWER, "answer", self._document())
        return target

    def _document(self) -> dict[str, Any]:
        """What the answer's own file holds."""
        return {
            "answer": self.kind,
            "decision": self._decision_document(),
            "value": np.array([self.value]),
            "bound": np.array([self.bound]),
            "estimate": self.estimate,
            "weights": self.weights,
            "multipliers": self.multipliers,
            "certificate": self.certificate._document(),
            "source": self.source,
            "strategy": None if self.strategy is None else str(self.strategy),
            "epsilon": str(self.epsilon),
            "delta": str(self.delta),
        }

    @classmethod
    @validated
    def load(cls, folder: str | Path) -> Answer[Any]:
        """Read the files written by :meth:`save`, and prove the certificate again.

        Parameters
        ----------
        folder : str or Path
            The folder.

        Returns
        -------
        Answer
            Of the type of its problem.

        Raises
        ------
        InvalidArgumentError
            If a file is missing or damaged, or the decision cannot be proved from the files.
        """
        from dp_cmdp._src.base.documents import read_document

        source = Path(folder)
        _, _, said = read_document(source / ANSWER, "answer")
        try:
            own, problem_class = (_class(name) for name in CLASSES[said["answer"]])
            problem = problem_class.load(source / PROBLEM)
            path, release = source / RELEASE, None
            if path.exists():
                release = _class(_RELEASE_CLASS).load(path)
            return own._proved(problem, release, said)
        except (LookupError, TypeError, AttributeError, ArithmeticError, ValueError) as error:
            why = error if isinstance(error, InvalidArgumentError) else type(error).__name__
            raise InvalidArgumentError(
                f"folder must hold an answer that its files prove; {source} does not ({why})"
            ) from None

    @classmethod
    def _proved(cls, problem: Any, release: Any, said: Mapping[str, Any]) -> Answer[Any]:
        """The answer that a document states, if its decision is as safe as it says."""
        if release is not None and release.envelope != problem.envelope:
            raise InvalidArgumentError("its release is of another envelope than its problem")
        known = problem.envelope.uncertainty if release is None else release.uncertainty
        estimate = check.vector("estimate", said["estimate"], size=problem.envelope.size)
        box = problem.envelope
        if not ((box.lower <= estimate) & (estimate <= box.upper)).all():
            raise InvalidArgumentError("its estimate lies outside of the envelope")
        epsilon, delta = stated(said["epsilon"]), stated(said["delta"])
        spent = None if release is None else release.budget
        if spent is not None and (spent.epsilon > epsilon or spent.delta > delta):
            raise InvalidArgumentError("it states less than its release spent")
        decision = cls._decision_from(said["decision"])
        multipliers = sparse.csr_array(said["multipliers"])
        certificate = cls._certified(problem, decision, known, multipliers)
        if certificate.verified != said["certificate"]["verified"]:
            raise InvalidArgumentError(f"its decision is {certificate!r}")
        return cls(
            decision=decision,
            value=problem.value(decision, estimate),
            estimate=check.frozen(estimate),
            bound=float(said["bound"][0]),
            certificate=certificate,
            weights=sparse.csr_array(said["weights"]),
            multipliers=multipliers,
            problem=problem,
            source="robust" if said["source"] == "robust" else "release",
            release=release,
            strategy=said["strategy"],
            epsilon=epsilon,
            delta=delta,
        )

    @classmethod
    def _certified(
        cls, problem: Any, decision: D, known: UncertaintySet, multipliers: sparse.csr_array
    ) -> Certificate:
        return problem.certify(decision, known)

    def _decision_document(self) -> dict[str, Any]:
        """The decision, for a file."""
        raise InvalidArgumentError(f"a {type(self).__name__} cannot be saved")

    @classmethod
    def _decision_from(cls, said: Mapping[str, Any]) -> Any:
        """The decision, from a file."""
        raise NotImplementedError

    def to_frame(self) -> Any:
        """The decision as a table."""
        raise NotImplementedError

    @validated
    def plot(self) -> Any:
        """A picture of the decision (needs matplotlib).

        Returns
        -------
        matplotlib.figure.Figure
            To be shown, or written by `dp_cmdp.figures.save_figure`.

        Raises
        ------
        MissingExtraError
            If matplotlib is not installed.
        """
        return lazily("dp_cmdp._src.figures.answer", "answer_figure")(self)

    def _numbers(self) -> list[tuple[str, Any]]:
        shown: list[tuple[str, Any]] = [("value", self.value)]
        robust = self.__dict__.get("robust")
        if robust is not None:
            shown.append(("robust", float(robust.problem.value(robust.decision, self.estimate))))
        return shown

    def _guarantee(self) -> str:
        if self.release is None:
            return "no data read"
        text = str(self.release.guarantee)
        return f"SIMULATED {text}" if self.release.simulated and "SIMULATED" not in text else text

    def __repr__(self) -> str:
        shown = ", ".join(f"{name} {number:.6g}" for name, number in self._numbers())
        same = self.source == "robust" and self.release is not None
        source = ", equals the robust answer, which needs no data" if same else ""
        return f"{type(self).__name__}({shown}, {self.certificate!r}, {self._guarantee()}{source})"

    def _repr_html_(self) -> str:
        shown = [*self._numbers(), ("bound", self.bound), ("certificate", repr(self.certificate))]
        shown.append(("guarantee", self._guarantee()))
        if self.release is not None:
            shown.append(("saturation", float(self.release.saturation)))
        return values_table(type(self).__name__, shown)

    def __getstate__(self) -> dict[str, Any]:
        """A solver's state stays in its process."""
        return {**self.__dict__, "_warm": None}


def _class(name: str) -> Any:
    module, _, own = f"dp_cmdp._src.{name}".rpartition(".")
    return getattr(import_module(module), own)
