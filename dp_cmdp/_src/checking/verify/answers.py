"""What is proved of an answer's decision over everything that its release allows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from dp_cmdp._src.checking.report import Finding
from dp_cmdp._src.checking.verify.known import (
    ROUNDING,
    Known,
    Multipliers,
    Row,
    matrix,
    read_multipliers,
)
from dp_cmdp._src.checking.verify.problems import CMDP, LINEAR, Judged, ProblemFile
from dp_cmdp._src.checking.verify.reading import fraction, member, numbers, refuse_unless, triples
from dp_cmdp._src.checking.verify.releases import ReleaseFile

#: Equality rows hold to this share of their own terms: few have a solution in floats.
EQUALITY_TOLERANCE = Fraction(1, 2**44)
SAFE = {
    LINEAR: "every row holds for every database that is possible",
    CMDP: "the policy keeps every limit for every database that is possible",
}


def answer_findings(
    subject: str, said: Mapping[str, Any], problem: ProblemFile, release: ReleaseFile | None
) -> Iterator[Finding]:
    """Every claim of an answer's file."""

    def claim(what: str, holds: bool | None, why: str = "") -> Finding:
        return Finding(subject, what, holds, why)

    refuse_unless(member(said, "answer") == problem.kind, "it answers another kind of problem")
    refuse_unless(member(said, "source") in ("release", "robust"), "it has an unknown source")
    proof, decision = member(said, "certificate"), member(said, "decision")
    given = None if member(proof, "everywhere") is True else release
    if given is not None and None in given.laws:
        why = "its release has noise of a law that is not known here"
        yield Finding(subject, SAFE[problem.kind], None, why, "not proved", open=True)
        return
    known = Known.box(problem.adjacency) if given is None else given.known
    multipliers = _multipliers(member(said, "multipliers"), problem, known, given is None)
    estimate = numbers(member(said, "estimate"), "the estimate")
    inside = zip(problem.adjacency.lower, estimate, problem.adjacency.upper, strict=True)
    judged = problem.judge(decision, known, multipliers)
    scope = ", whatever the data" if given is None else ""
    yield claim(SAFE[problem.kind], judged.holds, judged.words + scope)
    verified, residual = judged.holds, Fraction(0)
    if problem.kind == LINEAR:
        within, residual = judged.within, problem.residual(judged.x)
        count = problem.rows.A.shape[1]
        yield claim("the variables lie in their bounds", within, f"{count} variables")
        what = f"equality rows hold to {float(EQUALITY_TOLERANCE):.2g} of their own terms"
        yield claim(what, residual <= EQUALITY_TOLERANCE, f"largest residual {float(residual):.3g}")
        verified = verified and within and residual <= EQUALITY_TOLERANCE
    yield claim("its estimate lies within the bounds", all(a <= b <= c for a, b, c in inside))
    yield claim("its value is that of its decision", *_value(said, problem, judged, estimate))
    yield claim("its weights are those of its decision", _weights(said, problem, judged))
    yield claim(
        "its certificate states no more than is proved",
        *_certificate(proof, problem, judged, verified, residual),
    )
    if release is not None:
        spent = [fraction(member(said, name), name) for name in ("epsilon", "delta")]
        covers = all(given >= used for given, used in zip(spent, release.budget, strict=True))
        why = f"ε = {spent[0]}, δ = {spent[1]}"
        yield claim("it states no less than its release spent", covers, why)
    yield claim("no other answer is better", None, "its bound is the solver's word")
    why = "an answer cannot show what its maker looked at"
    yield claim("estimate and decision were made from public data and the release", None, why)


def _multipliers(said: Any, problem: ProblemFile, known: Known, alone: bool) -> Multipliers:
    """Those of the answer; over the bounds alone none are needed."""
    count = problem.rows.A.shape[0]
    if alone or getattr(said, "shape", None) == (count, 0):
        return [[] for _ in range(count)]
    return read_multipliers(said, count, known)


def _value(
    said: Mapping[str, Any], problem: ProblemFile, judged: Judged, estimate: Sequence[float]
) -> tuple[bool, str]:
    (stated,) = numbers(member(said, "value"), "the value")
    found, rounding = problem.value(judged.x, estimate, judged.missed)
    return abs(found - Fraction(stated)) <= rounding, f"{stated:.9g}, to {float(rounding):.2g}"


def _weights(said: Mapping[str, Any], problem: ProblemFile, judged: Judged) -> bool:
    """Whether stated weights are the exact ones, to the rounding of the terms of their row."""
    x, rounding = judged.x, problem.rows.rounding(judged.x, judged.missed)
    exact, stated = problem.rows.weights(x), matrix(member(said, "weights"), "the weights")
    refuse_unless(
        stated.shape == (len(exact), problem.adjacency.size), "the weights are of another problem"
    )
    left: list[Row] = [{**row} for row in exact]
    for row, entry, weight in triples(stated):
        left[row][entry] = left[row].get(entry, Fraction(0)) - Fraction(weight)
    return all(
        max(map(abs, rest.values()), default=0) <= most
        for rest, most in zip(left, rounding, strict=True)
    )


def _certificate(
    proof: Any, problem: ProblemFile, judged: Judged, verified: bool, residual: Fraction
) -> tuple[bool, str]:
    """What the certificate states, against what is found."""
    slack, names = numbers(member(proof, "slack"), "slacks"), list(member(proof, "names"))
    refuse_unless(
        len(slack) == len(judged.worst) and names == problem.names,
        "its certificate is of other constraints",
    )
    (off,) = numbers(member(proof, "equality_residual"), "the residual")
    subject = {LINEAR: "row", CMDP: "cost per episode" if problem.is_episodic else "cost"}
    wrong = [
        f"{name} states slack {each!r}"
        for name, each, worst in zip(names, slack, judged.worst, strict=True)
        if Fraction(each) > -worst
    ]
    if member(proof, "verified") is not verified:
        wrong.append(f"verified is {not verified}")
    if (
        abs(Fraction(off) - residual) > ROUNDING * residual
        or member(proof, "subject") != subject[problem.kind]
    ):
        wrong.append("its residual or subject is another")
    return not wrong, "; ".join(wrong[:3])
