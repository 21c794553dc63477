"""What privacy cost, and whether anything was violated.

:func:`suboptimality`, :func:`violation` and :func:`cost_of_privacy` compare with the truth and are
for the curator only; :func:`saturation` reads public objects. Averages come with intervals.
"""

from __future__ import annotations

from dataclasses import dataclass

from numpy.typing import ArrayLike

from dp_cmdp import _check
from dp_cmdp._door import door
from dp_cmdp._student import half_width
from dp_cmdp.data.curator import CuratorOnly
from dp_cmdp.data.database import Database
from dp_cmdp.data.envelope import Envelope
from dp_cmdp.data.release import Release
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.program.linear_program import solve
from dp_cmdp.program.parametric import ParametricLP


@door
def suboptimality(
    program: ParametricLP, database: Database, *, x: ArrayLike, optimum: float | None = None
) -> CuratorOnly:
    """(c(D)ᵀx* − c(D)ᵀx)/|c(D)ᵀx*|, as a fraction.

    Parameters
    ----------
    program : ParametricLP
    database : Database
    x : array_like
        The answer to judge.
    optimum : float, optional
        c(D)ᵀx*, when already known; otherwise the true program is solved.

    Notes
    -----
    Negative only if x violates constraints. **Paper.** ``sec:sim``. **Privacy.** *Curator only*.

    Examples
    --------
    >>> from dp_cmdp import Affine, Database, Envelope, ParametricLP, suboptimality
    >>> price = Affine((1, 2), at=([0, 0], [0, 1]), entry=[0, 1])
    >>> program = ParametricLP(Envelope(1, 2, shape=2), c=[3, 2], A=price, b=[8])
    >>> database = Database([1, 2], program.envelope)
    >>> round(float(suboptimality(program, database, x=[6, 0])), 6)  # the best is (8, 0)
    0.25
    """
    point = _check.vector("x", x, size=program.num_variables)
    if optimum == 0.0:
        raise InvalidArgumentError("optimum must not be 0: the relative loss has no meaning")
    truth = program.at(database.values)
    best = solve(truth, certify=False).objective if optimum is None else float(optimum)
    return _relative_loss(best, float(truth.c @ point))


@door
def cost_of_privacy(nonprivate_value: float, private_value: float) -> CuratorOnly:
    """ξ = (v* − v)/|v*| of two true values, as a fraction; rounding below 0 is cut off.

    Notes
    -----
    **Paper.** ``app:cmdp`` with its sign mended. **Privacy.** *Curator only*.

    Examples
    --------
    >>> from dp_cmdp import cost_of_privacy
    >>> cost_of_privacy(20.0, 19.0)
    0.05 (curator only)
    """
    return CuratorOnly(max(_relative_loss(float(nonprivate_value), float(private_value)), 0.0))


def _relative_loss(best: float, achieved: float) -> CuratorOnly:
    if best == 0.0:
        raise InvalidArgumentError("the relative loss has no meaning: the best value is 0")
    return CuratorOnly((best - achieved) / abs(best))


@dataclass(frozen=True, slots=True)
class Violation:
    """How far a point is from satisfying the true constraints: curator only.

    Attributes
    ----------
    worst : CuratorOnly
        Largest A_i(D)x − b_i(D), 0 if none is positive: exact, rounded once.
    violated_rows, num_rows : int

    Examples
    --------
    >>> from dp_cmdp import Affine, Database, Envelope, ParametricLP, violation
    >>> price = Affine((1, 2), at=([0, 0], [0, 1]), entry=[0, 1])
    >>> program = ParametricLP(Envelope(1, 2, shape=2), c=[3, 2], A=price, b=[8])
    >>> found = violation(program, Database([1, 2], program.envelope), x=[9, 0])
    >>> found.violated_rows, found.num_rows, found.worst
    (1, 1, 1.0 (curator only))
    """

    worst: CuratorOnly
    violated_rows: int
    num_rows: int


@door
def violation(program: ParametricLP, database: Database, *, x: ArrayLike) -> Violation:
    """Violation of the true inequality rows, in exact arithmetic.

    Notes
    -----
    **Privacy.** *Curator only*.

    Examples
    --------
    >>> from dp_cmdp import Affine, Database, Envelope, ParametricLP, violation
    >>> price = Affine((1, 2), at=([0, 0], [0, 1]), entry=[0, 1])
    >>> program = ParametricLP(Envelope(1, 2, shape=2), c=[3, 2], A=price, b=[8])
    >>> database = Database([1, 2], program.envelope)
    >>> violation(program, database, x=[6, 0]).violated_rows
    0
    >>> float(violation(program, database, x=[6, 2]).worst)
    2.0
    """
    point = _check.vector("x", x, size=program.num_variables)
    truth = database.values
    slack = program.worst_case_slack(point, lower=truth, upper=truth)
    worst = max(-float(slack.min(initial=0.0)), 0.0)
    return Violation(CuratorOnly(worst), int((slack < 0).sum()), slack.size)


@dataclass(frozen=True, slots=True)
class Saturation:
    """Share of released entries whose interval reaches the public bounds.

    Examples
    --------
    >>> from dp_cmdp import Database, Envelope, PrivacyBudget, release_database, saturation
    >>> envelope = Envelope(0, 1, radius=0.01, shape=2)
    >>> release = release_database(Database([0.5, 0.0], envelope), PrivacyBudget(1, "1/1000"))
    >>> saturation(release, envelope).upper  # no interval reaches the upper bound
    0.0
    """

    lower: float
    upper: float
    whole: float


@door
def saturation(release: Release, envelope: Envelope) -> Saturation:
    """How many released intervals reach the envelope: there the release says nothing.

    Parameters
    ----------
    release : Release
    envelope : Envelope
        Of the released entries (of ``entrywise(program)`` for a block release).

    Notes
    -----
    **Privacy.** *Post-processing*.

    Examples
    --------
    >>> from dp_cmdp import Database, Envelope, PrivacyBudget, release_database, saturation
    >>> envelope = Envelope(0, 1, radius=0.01, shape=2)
    >>> release = release_database(Database([0.5, 0.0], envelope), PrivacyBudget(1, "1/1000"))
    >>> saturation(release, envelope).whole  # no interval is as wide as the public bounds
    0.0
    """
    if release.groups != envelope.groups:
        raise InvalidArgumentError("envelope must be the one of the released entries")
    low, high = release.lower <= envelope.lower, release.upper >= envelope.upper
    return Saturation(float(low.mean()), float(high.mean()), float((low & high).mean()))


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with a confidence interval."""

    mean: float
    low: float
    high: float
    draws: int

    @door
    def row(self, name: str, *, ends: str) -> dict[str, float]:
        """The mean as `name` and its interval as ``{ends}_low`` and ``{ends}_high``."""
        return {name: self.mean, f"{ends}_low": self.low, f"{ends}_high": self.high}

    def __format__(self, spec: str) -> str:
        spec = spec or ".4g"
        return f"{self.mean:{spec}} [{self.low:{spec}}, {self.high:{spec}}]"


@door
def mean_interval(samples: ArrayLike, *, confidence: float = 0.95) -> Interval:
    """Mean of independent samples with Student's interval."""
    values = _check.vector("samples", samples)
    level = _check.real("confidence", confidence, low=0.5, high=0.999999)
    if values.size < 2:
        raise InvalidArgumentError("samples must hold at least two numbers for an interval")
    mean, half = float(values.mean()), float(half_width(values, level))
    return Interval(mean, mean - half, mean + half, values.size)
