"""Solutions as public files that name the release and the program they were made from."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from math import prod
from pathlib import Path
from typing import Any

from dp_cmdp import _check
from dp_cmdp._documents import Document, Origin, read_document, unpacked
from dp_cmdp._door import door
from dp_cmdp.data.labels import Labels
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.program.certified import MAX_ATTEMPTS
from dp_cmdp.program.linear_program import ENGINES, FeasibilityCertificate, Solution

FORMAT = "dp_cmdp.Solution/2"
#: Of solutions whose variables have labels; others are written as before.
LABELLED = "dp_cmdp.Solution/3"
ARRAYS = ("x", "dual", "dual_eq", "multipliers")
_NUMBERS = ("worst_slack", "equality_residual", "equality_tolerance", "margin")


@dataclass(frozen=True, slots=True)
class SolutionFile:
    """A solution, and what it says it was made from."""

    solution: Solution
    origin: Origin

    def document(self) -> Document:
        """The content of the solution's file."""
        made = self.solution
        facts: dict[str, Any] = {
            "origin": self.origin.facts(),
            "objective": made.objective,
            "engine": made.engine,
            "certificate": made.certificate and _pack(made.certificate),
        }
        if made.variables:
            facts["variables"] = made.variables.facts()
        arrays = {name: getattr(made, name) for name in ARRAYS}
        return Document(LABELLED if made.variables else FORMAT, facts, arrays)

    @classmethod
    @door
    def load(cls, path: str | Path) -> SolutionFile:
        """Read a file written by :meth:`dp_cmdp.program.linear_program.Solution.save`."""
        source = read_document(path, FORMAT, arrays=ARRAYS, labelled=LABELLED)
        return unpacked(path, source, cls._build)

    @classmethod
    def _build(cls, source: Document) -> SolutionFile:
        facts = source.facts
        solution = Solution(
            **{name: _check.vector(name, source.arrays[name]) for name in ARRAYS},
            objective=_check.real("objective", facts["objective"]),
            certificate=facts["certificate"] and _unpack(facts["certificate"]),
            engine=_check.one_of("engine", facts["engine"], ENGINES),
            variables=Labels.from_facts(facts.get("variables", [])),
        )
        if solution.variables and prod(solution.variables.shape) != solution.x.size:
            raise InvalidArgumentError("variables must have one label per variable")
        return cls(solution, Origin(**facts["origin"]))


def _pack(proof: FeasibilityCertificate) -> dict[str, Any]:
    """Ready for JSON; the slack of a program without rows, ∞, is written as null."""
    slack = proof.worst_slack if math.isfinite(proof.worst_slack) else None
    return asdict(proof) | {"worst_slack": slack}


def _unpack(said: dict[str, Any]) -> FeasibilityCertificate:
    slack = math.inf if said["worst_slack"] is None else said["worst_slack"]
    proof = FeasibilityCertificate(**{**said, "worst_slack": slack})
    if not isinstance(proof.verified, bool):
        raise InvalidArgumentError("verified must be true or false")
    _check.integer("attempts", proof.attempts, low=1, high=MAX_ATTEMPTS)
    for name in _NUMBERS:
        number = getattr(proof, name)
        if not isinstance(number, float) or math.isnan(number):
            raise InvalidArgumentError(f"{name} must be a number")
    if not 0.0 <= proof.margin < math.inf:
        raise InvalidArgumentError("margin must be finite and not negative")
    return proof
