"""Public files judged without the curator: what they prove, what they do not, and why.

:func:`verify` reads releases, answers, policies and problems as plain dictionaries and counts
everything again: lattice, sensitivity, laws and inequalities of a release
(:mod:`dp_cmdp._src.checking.verify.releases`), the rows of a linear program and the costs of a
policy over everything its release allows (:mod:`dp_cmdp._src.checking.verify.problems`). Nothing of
the modules that made the files is used.

Files that agree with each other may still be invented as a whole: nothing here proves who made
them, that data went in, or that an answer used the release and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from dp_cmdp._src.base.documents import read_document
from dp_cmdp._src.base.errors import Error, InvalidArgumentError
from dp_cmdp._src.base.extras import lazily
from dp_cmdp._src.base.validation import validated
from dp_cmdp._src.checking.report import Finding, Report
from dp_cmdp._src.checking.verify.adjacency import Adjacency
from dp_cmdp._src.checking.verify.answers import SAFE, answer_findings
from dp_cmdp._src.checking.verify.known import Known
from dp_cmdp._src.checking.verify.policies import PolicyFile
from dp_cmdp._src.checking.verify.problems import CMDP, ProblemFile
from dp_cmdp._src.checking.verify.reading import Refused
from dp_cmdp._src.checking.verify.releases import ReleaseFile, Trust, trusting

PROBLEM, RELEASE, ANSWER = "problem.npz", "release.npz", "answer.npz"
IN_ORDER = "the file is in order"
COMPARED = "adjacency compared with that of your problem"
NOT_COMPARED = "adjacency as the file states it, not compared with yours"
#: Of the files in a folder, those that are judged.
DOCUMENTS = ".npz"
DAMAGE = (Refused, LookupError, TypeError, ValueError, ArithmeticError, AttributeError)


@validated
def verify(*what: Any, problem: Any = None, trusted_laws: Sequence[Any] = ()) -> Report:
    """Verify public files from their content alone, by counts of its own.

    Parameters
    ----------
    *what : path, Release, Answer or Policy
        Files written by ``save`` of a release, an answer (a folder), a policy or a problem. A
        policy needs its problem, here or as `problem`, and the release it was made from. Other
        ``.npz`` files in an answer's folder are judged too; tables and pictures are not, and the
        report names them.
    problem : Problem, cvxpy.Problem, Envelope or path, optional
        The problem as *you* know it; a cvxpy problem counts as its linear program. Bounds,
        adjacency and rows are compared with it: a file alone can prove only what follows from the
        adjacency that it states.
    trusted_laws : sequence of laws
        Laws of noise of your own, or classes with ``from_document``, whose ``delta`` you believe.

    Returns
    -------
    Report
        True if every claim that can be judged holds; one finding per claim. What no file can prove
        is listed, too: that the integers came from the data with exact randomness, and that
        strategies were chosen from public data.

    Raises
    ------
    InvalidArgumentError
        If nothing is given, or `problem` cannot be read.

    Notes
    -----
    **Privacy.** *Public*.

    Examples
    --------
    >>> import dp_cmdp as dp
    >>> envelope = dp.Envelope(0, 1, radius=0.01, shape=2)
    >>> release = dp.publish(envelope, [0.2, 0.5], epsilon=1, delta=1e-3, strategy="entries")
    >>> report = dp.verify(release.save("release.npz"), problem=envelope)
    >>> bool(report), report.heading
    (True, 'adjacency compared with that of your problem')
    """
    if not what:
        raise InvalidArgumentError("what must name at least one file to verify")
    with TemporaryDirectory() as folder:
        own = None if problem is None else _own(problem, Path(folder))
        whole = own if isinstance(own, ProblemFile) else None
        expected = own.adjacency if isinstance(own, ProblemFile) else own
        files = Files(expected, whole, trusting(trusted_laws))
        for number, each in enumerate(what):
            files.place(each, Path(folder) / str(number))
        files.judge_all()
    return Report(tuple(files.findings), NOT_COMPARED if own is None else COMPARED)


def _own(problem: Any, folder: Path) -> Adjacency | ProblemFile:
    """What the verifier knows for himself: an adjacency, or a whole problem."""
    try:
        if hasattr(problem, "entries_per_record"):  # an envelope alone
            return Adjacency.read(problem.document())
        if not isinstance(problem, str | Path) and not hasattr(problem, "save"):
            problem = lazily("dp_cmdp._src.verbs.arguments", "as_problem")(problem)
        return ProblemFile.read(_content(_saved(problem, folder / "yours.npz"), "problem"))
    except (*DAMAGE, Error) as error:
        raise InvalidArgumentError(
            f"problem must be a problem, an envelope or the path of one; {_words(error)}"
        ) from None


def _saved(what: Any, path: Path) -> Path:
    """The file of a path or of an object that can be saved."""
    if isinstance(what, str | Path):
        return Path(what)
    if not hasattr(what, "save"):
        raise InvalidArgumentError(f"a {type(what).__name__} is no file and cannot be saved as one")
    return Path(what.save(path))


@dataclass
class Files:
    """What the given files hold, and what was found."""

    expected: Adjacency | None
    own: ProblemFile | None
    trust: Trust
    releases: list[ReleaseFile] = field(default_factory=list[ReleaseFile])
    problems: list[ProblemFile] = field(default_factory=list[ProblemFile])
    policies: list[tuple[str, Mapping[str, Any]]] = field(
        default_factory=list[tuple[str, Mapping[str, Any]]]
    )
    findings: list[Finding] = field(default_factory=list[Finding])

    def say(self, subject: str, claim: str, holds: bool | None, why: str = "", **more: Any) -> None:
        self.findings.append(Finding(subject, claim, holds, why, **more))

    def place(self, what: Any, folder: Path) -> None:
        """Read a file or folder and judge what can be judged alone."""
        subject = str(what) if isinstance(what, str | Path) else type(what).__name__
        try:
            path = _saved(
                what, folder if hasattr(what, "certificate") else folder.with_suffix(".npz")
            )
            if path.is_dir():
                self._answer(subject, path)
                self._others(path)
                return
            content = _content(path)
            kind = content.pop("kind")
            if kind == "release":
                self.releases.append(self._release(subject, content))
            elif kind == "problem":
                self.problems.append(self._problem(subject, content))
            elif kind == "policy":
                self.policies.append((subject, content))
            elif kind == "answer":
                raise Refused("an answer is verified with its folder, which holds its problem too")
            else:
                raise Refused(f"a document of the kind {kind[:60]!r} states nothing to verify")
        except (*DAMAGE, Error) as error:
            self.say(subject, IN_ORDER, False, _words(error))

    def _release(self, subject: str, content: Mapping[str, Any]) -> ReleaseFile:
        made = ReleaseFile.read(subject, content, self.trust)
        self.say(subject, IN_ORDER, True, f"a release of {made.adjacency.size} entries")
        self._compare(subject, made.adjacency)
        self.findings += made.judge()
        return made

    def _problem(self, subject: str, content: Mapping[str, Any]) -> ProblemFile:
        made = ProblemFile.read(content)
        self.say(subject, IN_ORDER, True, f"a {made.kind}: public")
        self._compare(subject, made.adjacency)
        if self.own is not None:
            same = made.digest == self.own.digest
            why = "" if same else "rows or objective are others"
            self.say(subject, "it is your problem", same, why)
        return made

    def _compare(self, subject: str, theirs: Adjacency) -> None:
        if self.expected is not None:
            claim = "bounds, records and entries_per_record are those of your problem"
            off = theirs.difference(self.expected)
            self.say(subject, claim, off is None, off or "")

    def judge_all(self) -> None:
        """Policies are judged last: by then their problem and release are read."""
        problems = self.problems if self.own is None else [self.own]
        for subject, content in self.policies:
            try:
                self._policy(subject, content, problems)
            except (*DAMAGE, Error) as error:
                self.say(subject, IN_ORDER, False, _words(error))

    def _policy(
        self, subject: str, content: Mapping[str, Any], problems: Sequence[ProblemFile]
    ) -> None:
        policy, claim = PolicyFile.read(content), SAFE[CMDP]
        self.say(subject, IN_ORDER, True, f"a policy of {policy.num_states} states")
        pairs = policy.num_states * policy.num_actions
        missing = "its model is not among the files: give it, or problem="
        for model in problems:
            if model.kind != CMDP or model.rows.A.shape[1] != pairs:
                continue
            near = [r for r in self.releases if r.adjacency.difference(model.adjacency) is None]
            missing = "" if near else "not proved over the envelope: its release is not given"
            for known in [release.known for release in near] or [Known.box(model.adjacency)]:
                judged = model.judge(content, known, None)
                if judged.holds or near:
                    self.say(subject, claim, judged.holds, judged.words)
                    missing = ""
        if missing:
            self.say(subject, claim, None, missing, word="missing", open=True)

    def _answer(self, subject: str, folder: Path) -> None:
        """An answer with its problem and release."""
        content = _content(folder / ANSWER, "answer")
        problem = self._problem(f"{subject}/{PROBLEM}", _content(folder / PROBLEM, "problem"))
        release = None
        if (folder / RELEASE).exists():
            file = f"{subject}/{RELEASE}"
            release = self._release(file, _content(folder / RELEASE, "release"))
            off = release.adjacency.difference(problem.adjacency)
            self.say(subject, "its release is of a database of its problem", off is None, off or "")
            if off is not None:
                return
            self.releases.append(release)
        self.problems.append(problem)
        self.findings += answer_findings(subject, content, self.own or problem, release)

    def _others(self, folder: Path) -> None:
        """What lies beside an answer: documents are judged, other files named."""
        beside = sorted({path.name for path in folder.iterdir()} - {PROBLEM, RELEASE, ANSWER})
        for name in beside:
            if name.endswith(DOCUMENTS):
                self.place(folder / name, folder)
        unread = ", ".join(name for name in beside if not name.endswith(DOCUMENTS))
        if unread:
            claim = "files beside it say what the answer says"
            self.say(str(folder), claim, None, f"{unread}: not read", word="not judged")


def _content(path: Path, kind: str | None = None) -> dict[str, Any]:
    """The content of a document of this package, with its kind as the member "kind"."""
    try:
        found, _, content = read_document(path, kind)
    except Error as error:
        raise Refused(f"not a file of this package that is in order: {error}") from None
    return content if kind else {**content, "kind": found}


def _words(error: Exception) -> str:
    if isinstance(error, Refused | Error):
        return str(error)
    return f"it does not hold what such a file holds ({type(error).__name__})"
