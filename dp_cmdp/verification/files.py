"""Public files judged without the curator: what they prove, what they do not, and why.

:func:`verify` reads releases, policies, solutions, programs, models and layouts, looks up what each
answer says it was made from, and proves again

* of a release, every claim that its content can prove (:mod:`dp_cmdp.verification.claims`);
* of a policy, a bound on its costs, certain at everything its release allows;
* of a solution, every row at everything its release allows, in exact arithmetic, and every number
  it states that can be computed again (:mod:`dp_cmdp.verification.solutions`).

Files that agree with each other may still be invented as a whole: nothing here proves who made
them, that data went in, or that an answer used the release and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dp_cmdp._documents import Origin, format_of
from dp_cmdp._door import door
from dp_cmdp.cmdp import certificate, policy
from dp_cmdp.cmdp import parametric as cmdp_parametric
from dp_cmdp.cmdp.exact_costs import verify_exact
from dp_cmdp.cmdp.facts_certificate import certify_for
from dp_cmdp.cmdp.parametric import ParametricCMDP
from dp_cmdp.cmdp.policy import PolicyFile
from dp_cmdp.cmdp.synthesis import EXACT_STATES
from dp_cmdp.data import release_file
from dp_cmdp.data.release import Release
from dp_cmdp.errors import DPCMDPError, InvalidArgumentError
from dp_cmdp.program import parametric_file
from dp_cmdp.program import solution_file as solution_files
from dp_cmdp.program.parametric import ParametricLP
from dp_cmdp.program.solution_file import SolutionFile
from dp_cmdp.verification.claims import Claim, privacy_claims, release_claims
from dp_cmdp.verification.solutions import solution_claims

#: Endings of files that are read as layouts.
LAYOUTS = (".json", ".txt")
_READERS: dict[str | None, Callable[[Path], ParametricLP | ParametricCMDP]] = {
    parametric_file.FORMAT: ParametricLP.load,
    parametric_file.LABELLED: ParametricLP.load,
    cmdp_parametric.FORMAT: ParametricCMDP.load,
    cmdp_parametric.LABELLED: ParametricCMDP.load,
}
WORDS = {True: "proved", False: "FAILED", None: "not provable"}
#: Of what a file says of itself.
DECLARED = "declared"


@dataclass(frozen=True, slots=True)
class Finding:
    """A claim about one file, and the outcome.

    Examples
    --------
    >>> from dp_cmdp.verification.files import Finding
    >>> Finding("r.npz", "the noise is exact", True, "by its own word", declared=True).outcome
    'declared'
    >>> Finding("r.npz", "its noise is what it says", False, "a threshold was changed").outcome
    'FAILED'
    """

    file: str
    claim: str
    holds: bool | None
    why: str
    declared: bool = False

    @property
    def outcome(self) -> str:
        """``proved``, ``declared`` (the file says so of itself), ``FAILED`` or ``not provable``."""
        return DECLARED if self.holds and self.declared else WORDS[self.holds]


@dataclass(frozen=True, slots=True)
class Report:
    """What :func:`verify` found.

    Examples
    --------
    >>> from dp_cmdp import Database, Envelope, PrivacyBudget, release_database, verify
    >>> database = Database([0.2, 0.5], Envelope(0, 1, radius=0.01, shape=2))
    >>> release = release_database(database, PrivacyBudget(1, "1/1000"))
    >>> report = verify(release.save("release.npz"))
    >>> report.findings[0].claim, report.findings[0].outcome
    ('the file is in order', 'proved')
    """

    findings: tuple[Finding, ...]

    @property
    def passed(self) -> bool:
        """Whether nothing failed; what no file can prove does not count."""
        return bool(self.findings) and all(found.holds is not False for found in self.findings)

    def __bool__(self) -> bool:
        return self.passed

    def facts(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "passed": self.passed,
            "findings": [asdict(found) | {"outcome": found.outcome} for found in self.findings],
        }


@dataclass(slots=True)
class _Shelf:
    """What the given files hold, by digest."""

    releases: dict[str, Release] = field(default_factory=dict)
    programs: dict[str, ParametricLP | ParametricCMDP] = field(default_factory=dict)
    policies: list[tuple[str, PolicyFile]] = field(default_factory=list)
    solutions: list[tuple[str, SolutionFile]] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    def say(self, file: str, claims: Sequence[Claim]) -> None:
        self.findings += [
            Finding(file, each.claim, each.holds, each.why, each.declared) for each in claims
        ]


@door
def verify(*paths: str | Path) -> Report:
    """Verify public files from their content alone.

    Parameters
    ----------
    *paths
        Files written by ``save`` of a Release, Policy, Solution, ParametricLP or ParametricCMDP,
        and layouts (``.json``, ``.txt``). A policy needs its release among them and, unless it
        remembers its layout, its model or layout (layouts that come with the package are found by
        name), a solution its release and program.

    Returns
    -------
    Report
        One finding per claim; a file that is refused is a finding too.

    Notes
    -----
    **Paper.** ``def:dp`` and ``thm:feasible``, of the files themselves. **Privacy.** *Public*.

    Examples
    --------
    >>> from dp_cmdp import Database, Envelope, PrivacyBudget, release_database, verify
    >>> database = Database([0.2, 0.5], Envelope(0, 1, radius=0.01, shape=2))
    >>> release = release_database(database, PrivacyBudget(1, "1/1000"))
    >>> report = verify(release.save("release.npz"))
    >>> report.passed
    True
    >>> for finding in report.findings:
    ...     if finding.outcome == "not provable":  # by any file
    ...         print(finding.claim)
    the noise was drawn from its law, once, with good randomness
    the data lie in the envelope, and a label joins all that one person gave
    what it spent is in a ledger
    """
    if not paths:
        raise InvalidArgumentError("paths must name at least one file")
    shelf = _Shelf()
    for path in dict.fromkeys(map(Path, paths)):
        try:
            _place(shelf, path)
        except InvalidArgumentError as error:
            shelf.say(str(path), [Claim("the file is in order", False, str(error))])
    for file, made in shelf.policies:
        shelf.say(file, _judged(lambda made=made: _policy_claims(shelf, made)))
    for file, answer in shelf.solutions:
        shelf.say(file, _judged(lambda answer=answer: _solution_claims(shelf, answer)))
    return Report(tuple(shelf.findings))


def _place(shelf: _Shelf, path: Path) -> None:
    """Read a file, put its content where answers look for it, and judge it if it can be alone."""
    file = str(path)
    if path.suffix.lower() in LAYOUTS:
        _add_layout(shelf, path)
        shelf.say(file, [Claim("the file is in order", True, "a layout: public facts, no claim")])
        return
    said = format_of(path)
    if said in (release_file.FORMAT, release_file.LABELLED):
        made = Release.load(path)
        shelf.releases[made.document().digest] = made
        in_order = Claim("the file is in order", True, f"release {made.document().digest}")
        shelf.say(file, [in_order, *release_claims(made), *privacy_claims(made)])
    elif said in (policy.FORMAT, policy.LAID_OUT):
        shelf.policies.append((file, PolicyFile.load(path)))
    elif said in (solution_files.FORMAT, solution_files.LABELLED):
        shelf.solutions.append((file, SolutionFile.load(path)))
    elif said in _READERS:
        program = _READERS[said](path)
        shelf.programs[program.document().digest] = program
        shelf.say(file, [Claim("the file is in order", True, f"{program!r}: public, no claim")])
    else:
        raise InvalidArgumentError(
            f"path must name a release, policy, solution, program, model or layout; {path} says "
            f"{(said or 'nothing')[:60]!r}"
        )


def _add_layout(shelf: _Shelf, layout: str | Path | Mapping[str, Any]) -> str:
    """Put the model of a layout on the shelf; returns its digest."""
    from dp_cmdp.envs.hazard_grid import HazardGridEnv

    model = HazardGridEnv(layout).model()
    digest = model.document().digest
    shelf.programs.setdefault(digest, model)
    return digest


def _judged(claims: Callable[[], list[Claim]]) -> list[Claim]:
    """The claims of an answer; what cannot be put together is a failed one."""
    try:
        return claims()
    except DPCMDPError as error:
        return [Claim("it fits its release and its program", False, str(error))]


def _program_of(shelf: _Shelf, origin: Origin) -> Any:
    if origin.program is None:
        raise InvalidArgumentError("it names no program or model: nothing to judge it by")
    if origin.program not in shelf.programs and origin.name:
        from dp_cmdp.envs.catalogue import layout_names

        if origin.name in layout_names():
            _add_layout(shelf, origin.name)
    if origin.program not in shelf.programs:
        raise InvalidArgumentError(
            f"its program or model ({origin.name or 'unnamed'}, {origin.program[:16]}…) is not "
            "among the files: give its .npz file, or the layout's .json file"
        )
    return shelf.programs[origin.program]


def _release_of(shelf: _Shelf, origin: Origin, program: ParametricLP) -> Release | None:
    """The release an answer names, once it belongs to the program."""
    if origin.release is None:
        return None
    if origin.release not in shelf.releases:
        raise InvalidArgumentError(
            f"its release ({origin.release[:16]}…) is not among the files, or was refused"
        )
    made = shelf.releases[origin.release]
    _check_belongs(made, program)
    return made


def _check_belongs(made: Release, program: ParametricLP) -> None:
    """The release must be of this program's database: the same public facts, bit for bit."""
    whole = program.document()
    theirs = made.document()
    same = {name: array for name, array in theirs.arrays.items() if name.startswith("envelope.")}
    same |= {
        name.removeprefix("blocks."): array
        for name, array in theirs.arrays.items()
        if name.startswith("blocks.")
    }
    facts = {"envelope": theirs.facts["envelope"], **(theirs.facts["blocks"] or {})}
    if any(whole.facts[key] != said for key, said in facts.items()) or any(
        not np.array_equal(whole.arrays[name], array) for name, array in same.items()
    ):
        raise InvalidArgumentError(
            "its release is of another envelope or other blocks than its program"
        )


def _origin_claims(made: Release | None, name: str) -> list[Claim]:
    scope = "every database of the envelope" if made is None else "everything its release allows"
    return [
        Claim(
            "its release and its program are at hand and fit",
            True,
            f"{name or 'unnamed program'}; judged over {scope}",
        ),
        Claim(
            "it was made from these and nothing else",
            None,
            "an answer cannot show what its maker looked at",
        ),
    ]


def _layout_claims(shelf: _Shelf, file: PolicyFile) -> list[Claim]:
    """Whether the layout that a policy remembers is the one it names: by the model it gives."""
    if file.layout is None:
        return []
    own = _add_layout(shelf, file.layout) == file.origin.program
    why = "its model is the one named" if own else "its model is another than the one named"
    return [Claim("its layout belongs to it", own, why)]


def _policy_claims(shelf: _Shelf, file: PolicyFile) -> list[Claim]:
    remembered = _layout_claims(shelf, file)
    if any(not claim.holds for claim in remembered):
        return remembered
    model = _program_of(shelf, file.origin)
    if not isinstance(model, ParametricCMDP):
        raise InvalidArgumentError("a policy belongs to a model or layout, not to a linear program")
    made = _release_of(shelf, file.origin, model.program())
    tightened = model.robust() if made is None else model.tightened(made)
    if file.policy.probs.shape != tightened.r.shape:
        raise InvalidArgumentError(
            f"it has the shape {file.policy.probs.shape}, its model {tightened.r.shape}"
        )
    if made is None:
        proof = certificate.certify_policy(tightened, file.policy)
    else:
        proof = certify_for(model, file.policy, made)
    small = tightened.num_states <= EXACT_STATES
    holds = proof.verified or (small and verify_exact(tightened, file.policy))
    why = "; ".join(proof.text())
    return [
        *remembered,
        *_origin_claims(made, file.origin.name),
        Claim("the policy keeps every tolerance with certainty", holds, why),
    ]


def _solution_claims(shelf: _Shelf, file: SolutionFile) -> list[Claim]:
    program = _program_of(shelf, file.origin)
    program = program.program() if isinstance(program, ParametricCMDP) else program
    made = _release_of(shelf, file.origin, program)
    return [*_origin_claims(made, file.origin.name), *solution_claims(program, made, file.solution)]
